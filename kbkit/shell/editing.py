"""Lets the user's editor change a text."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from kbkit.directory import systems
from kbkit.errors import KbError


def edited(text: str) -> str:
    """What ``$VISUAL``, ``$EDITOR`` or the system's plainest editor leaves of ``text``.

    Raises :class:`KbError` where the editor cannot be started, or fails: the text is not lost then, it is the caller's.
    """
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or systems.plainest_editor()
    with tempfile.TemporaryDirectory(prefix="kbkit-") as folder:
        path = Path(folder) / "statement.sql"
        path.write_text(text + "\n", encoding="utf-8", newline="\n")
        try:
            done = subprocess.run([*systems.words(command), str(path)], check=False)
        except (OSError, ValueError) as error:
            raise KbError(f"the editor {command!r} does not start: {error}", "$VISUAL or $EDITOR names one") from None
        if done.returncode:
            raise KbError(f"the editor {command!r} ended with code {done.returncode}", "the statement is as it was")
        return path.read_text(encoding="utf-8", errors="replace").rstrip("\n")
