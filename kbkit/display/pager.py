"""Shows long texts screen by screen, and starts other programs that use the terminal."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator

import click

_LESS = "-RFX"  # show colours, return at once from text that fits the screen, leave the text on the screen


def paged(text: str) -> bool:
    """Show text in a pager (``$PAGER``, else less); return False if ``$PAGER`` cannot be parsed or started."""
    given = os.environ.get("LESS")
    os.environ["LESS"] = given or _LESS
    try:
        with ctrl_c_ignored():
            click.echo_via_pager(text.removesuffix("\n"), color=True)
    except (OSError, ValueError):
        return False
    finally:
        os.environ.pop("LESS") if given is None else os.environ.update(LESS=given)
    return True


@contextlib.contextmanager
def ctrl_c_ignored() -> Iterator[None]:
    """Leave Ctrl-C to the program that runs in the foreground."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # A handler rather than SIG_IGN, which the program would inherit.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
