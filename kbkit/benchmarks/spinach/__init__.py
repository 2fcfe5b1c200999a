"""SPINACH: questions with the SPARQL that people wrote for them, and an agent that answers such (Liu et al. 2024).

``files`` reads questions; ``features`` and ``patterns`` describe their queries, and ``stats`` makes the paper's tables
of that. ``execute`` runs queries on a KB, ``check`` says which of a file run, ``run`` lets the agent answer, ``runs``
reads what it gave, and ``evaluate`` scores it. ``paper`` holds the published figures.
"""
