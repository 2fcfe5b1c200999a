"""Generate and score benchmarks; each paper has its own package, and none imports another.

The same files have the same role in every package:

* ``make.py`` generates a dataset, ``records.py`` its records and report, ``settings.py`` what can be set
* ``run.py`` runs systems on a dataset, ``evaluate.py`` scores their runs
* ``stats.py`` describes a dataset, ``paper.py`` has the paper's figures, ``publish.py`` describes a publication
* ``annotate.py`` and ``ratings.py`` are the tasks of people and their tables

Shared modules: ``pipeline`` (resumable stages of typed rows), ``recorded`` (what a run was made with), ``dataset``
(splits and other parts of every dataset), ``documents`` (texts of nodes and their sentences), ``evidence`` (words,
phrases and names in texts), ``requirements`` (queries on relations and texts), ``run`` (a system over the items of a
dataset), ``retrieval`` (search modes over its queries), ``costs`` (time, tokens and money of runs), ``people`` (tasks
of raters, their judgements and labels) and ``report`` (our figures beside published ones).
"""
