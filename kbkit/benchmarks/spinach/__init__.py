"""SPINACH (Liu et al. 2024): questions with SPARQL queries that people wrote, and an agent that answers them.

``files`` reads questions, ``features`` and ``stats`` describe their queries, ``execute`` runs them on a KB, ``run``
lets the agent answer, ``runs`` reads its answers, and ``evaluate`` scores them. ``paper`` has the published figures.
"""
