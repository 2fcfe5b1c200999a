"""Calls of vl-convert, each in a process of its own.

Its JavaScript engine ends the process if it cannot have the memory or the files that it wants. That must not end ours.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from kbkit.errors import KbError, MissingExtraError

_MAX_REASON = 200


def check(what: str) -> None:
    """Raise :class:`MissingExtraError` without vl-convert; ``what`` needs it."""
    if importlib.util.find_spec("vl_convert") is None:
        raise MissingExtraError(what, "plot")


def call(function: str, *arguments: Any, **named: Any) -> Any:
    """Return the result of a function of vl-convert, for arguments in JSON.

    Raises :class:`KbError` if the engine cannot run.
    """
    script = Path(__file__).with_name("vega_worker.py")
    request = json.dumps([function, arguments, named]).encode()
    done = subprocess.run([sys.executable, "-P", str(script)], input=request, capture_output=True, check=False)
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        reason = lines[-1][:_MAX_REASON] if done.returncode > 0 and lines else f"signal {-done.returncode}"
        hint = "Raise the limits of memory and of open files (ulimit -v, ulimit -n)"
        raise KbError(f"The JavaScript engine of vl-convert failed: {reason}", hint)
    return done.stdout if function.endswith("_png") else json.loads(done.stdout)
