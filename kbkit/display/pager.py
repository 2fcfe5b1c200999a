"""Shows long texts screen by screen."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess

from kbkit.directory import systems


def paged(text: str) -> bool:
    """Show text in a pager (``$PAGER``, else less or more); False where there is none."""
    command = _pager()
    if not command:
        return False
    handler = signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C is the pager's affair
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
    """The words of ``$PAGER``, or the first pager there is."""
    with contextlib.suppress(ValueError):  # a quotation that does not end
        if words := systems.words(os.environ.get("PAGER", "")):
            return words
    return next(([name] for name in ("less", "more") if shutil.which(name)), [])
