"""The interactive shell: the terminal around :mod:`kbkit.executor`."""
