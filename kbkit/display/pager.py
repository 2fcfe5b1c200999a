"""Shows long texts in a pager."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess

from kbkit.directory import systems


def paged(text: str) -> bool:
    """Show text in a pager (``$PAGER``, else less or more); return False if there is none."""
    command = _pager()
    if not command:
        return False
    handler = signal.signal(signal.SIGINT, lambda *_: None)  # the pager handles Ctrl-C
    try:
        environment = {"LESS": "-RFX", **os.environ}
        process = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment, text=True, encoding="utf-8")
        process.communicate(text)
    except OSError:
        return False
    finally:
        signal.signal(signal.SIGINT, handler)
    return True


def _pager() -> list[str]:
    """Return the words of ``$PAGER``, or the first pager found."""
    with contextlib.suppress(ValueError):  # an unterminated quote
        if words := systems.words(os.environ.get("PAGER", "")):
            return words
    return next(([name] for name in ("less", "more") if shutil.which(name)), [])
