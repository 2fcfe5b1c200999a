"""Questions in plain English: entity linking, relational search, proofs. No language model.

``run`` is the entry point for searches of any mode, and for SPARQL with ``SERVICE kb:search``.
"""
