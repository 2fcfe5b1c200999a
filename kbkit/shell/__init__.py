"""The shell: statements in four languages and dot-commands on one KB.

``executor`` runs them and knows of no terminal; ``completion`` and ``languages`` are pure; ``repl`` is the terminal.
"""
