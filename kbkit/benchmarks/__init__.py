"""Generate and score benchmarks; each paper has its own package, and none imports another.

Shared modules: ``pipeline`` (resumable stages of typed rows), ``dataset`` (splits and other parts of every dataset),
``documents`` (texts of nodes and their sentences), ``evidence`` (phrases and names in texts), ``requirements`` (queries
on relations and texts), ``run`` (a system over the items of a dataset), ``rankings`` (rows of runs that rank nodes) and
``costs`` (time, tokens and money of runs).
"""
