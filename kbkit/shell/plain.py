"""The prompt of a terminal that cannot move its cursor (TERM=dumb, as in Emacs): plain lines, which it edits itself."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable


def ask(prompt: str, is_whole: Callable[[str], bool], text: str = "") -> str:
    """The lines that are typed, up to the one that makes a whole of them; ``text`` stands before them.

    The prompt goes to the terminal, also where results go to a file. Raises :class:`EOFError` at the end of the input.
    """
    screen = sys.stdout if sys.stdout.isatty() else sys.stderr
    lines = text.split("\n") if text else []
    rest = "... ".rjust(len(prompt))
    screen.write("".join(f"{rest if place else prompt}{line}\n" for place, line in enumerate(lines)))
    # Polars has a handler of its own, which lets a read go on; Python's own ends it, so that Ctrl-C is heard at once.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    while True:
        screen.write(rest if lines else prompt)
        screen.flush()
        try:
            lines.append(input())
        except UnicodeDecodeError:
            sys.stderr.write("the line is not UTF-8\n")
            continue
        except (KeyboardInterrupt, EOFError):
            screen.write("\n")
            raise
        whole = "\n".join(lines)
        if is_whole(whole):
            return whole.rstrip()
