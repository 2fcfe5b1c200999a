"""Exploration of a KB by a person or a model: search, entry, examples, SPARQL; and the SPINACH agent.

``actions`` are the steps, ``agent`` is the loop of the SPINACH paper (section 4).
"""
