"""QUEST (Malaviya et al. 2023): queries with implicit set operations, generated on any KB, run and scored.

``make`` generates a dataset in stages: ``categories`` and ``families`` find sets of nodes, ``sample`` and ``draft``
draw set expressions, ``paraphrase`` words them and parses the words, ``label`` checks queries and answers.
"""
