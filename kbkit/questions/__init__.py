"""Questions in plain English: linking names to nodes, relational search, proofs. No language model."""
