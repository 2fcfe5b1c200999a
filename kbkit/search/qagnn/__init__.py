"""QAGNN: a graph neural network over the part of the KB around a question's nodes and hits (Yasunaga et al., 2021).

``subgraphs`` draws the parts from the adjacency arrays, ``network`` is the model in plain PyTorch, ``retriever`` the
system ``qagnn:MODEL``; :mod:`kbkit.search.training.qagnn` trains it. In STaRK it is a baseline (Table 6), whose code is
not published: this follows QA-GNN, with a score for each node in place of one for each answer choice.
"""
