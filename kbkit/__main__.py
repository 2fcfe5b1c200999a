"""``python -m kbkit`` is the program ``kbkit``."""

from kbkit.cli.app import entry

if __name__ == "__main__":
    entry()
