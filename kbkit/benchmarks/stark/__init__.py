"""STaRK (Wu et al. 2024): generate datasets of queries on texts and relations, describe, run and score them.

``make`` generates a dataset in four stages (section 2.4 of the paper): ``relational`` draws templates and groundings,
``textual`` extracts properties from a gold answer's document, ``fuse`` words a query from both, and ``verify`` finds
the candidates that have the properties. ``dataset`` reads and writes the files.
"""
