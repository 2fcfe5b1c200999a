"""Questions in plain English: entity linking, reading as answer expressions, proofs. No language model.

``ask`` is the entry point.
"""
