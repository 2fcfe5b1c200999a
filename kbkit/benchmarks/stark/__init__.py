"""STaRK (Wu et al. 2024): generate datasets of queries on texts and relations, describe, run and score them.

``make`` generates a dataset with the stages of :mod:`kbkit.benchmarks.requirements`, which are those of section 2.4 of
the paper. ``dataset`` reads and writes the files.
"""
