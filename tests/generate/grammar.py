"""Write the parser's tables: ``python -m tests.generate.grammar --write``, after each change of ``grammar.lark``."""

from __future__ import annotations

import sys

from kbkit.sparql import parse


def main() -> None:
    """Write the tables, or say whether they are those of the grammar and of the installed lark."""
    if "--write" in sys.argv:
        parse.write_tables()
    print("current" if parse.read_tables() is not None else "stale")


if __name__ == "__main__":
    main()
