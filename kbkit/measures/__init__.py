"""Measures of ranked runs, answer sets, result rows and answer lists.

Each scoring function returns *scores*: a frame with a row per query, ``query`` and a Float64 column per measure (null:
undefined). :mod:`kbkit.measures.scores` computes their means and paired tests, :mod:`kbkit.measures.files` reads and
writes runs and answers.
"""
