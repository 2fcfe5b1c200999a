"""Sketches: a second way to read a question, by filling the forms that expressions have with what its words may mean.

``words`` says how well each word expresses what a KB has, ``numbers`` and ``conditions`` what values, numbers and
columns of yes and no may select, ``sets`` joins them to sets of nodes, and ``forms`` asks something of these sets.
Each choice has features; ``judge`` weighs them. No rule names words of a subject: the weights are fitted to questions
about many databases, by ``tests/performance/sketch_training.py``.

Sketches do not answer. Where both ways read a question alike, the answer is almost certainly right; where no reading is
sure, sketches are offered to choose from.
"""
