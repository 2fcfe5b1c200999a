"""What people judge (:mod:`~kbkit.benchmarks.people.tasks`) and their judgements, in one kind of file for all tasks.

:mod:`kbkit.measures.agreement` says how well they agree.
"""
