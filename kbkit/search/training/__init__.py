"""Train retrieval systems on the questions of a dataset (extra ``train``): ``kbkit train``.

``questions`` has the questions, ``examples`` chooses hard negatives and exports pairs, ``work`` is the folder of a
training with its checkpoints, ``trainer`` trains any model, and one module per system says with which loss.

To add a system, write such a module and name it as the ``trainer`` of its kind (:mod:`kbkit.search.system_kinds`).
"""
