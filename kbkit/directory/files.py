"""Files that are written whole or not at all: aside, and then renamed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from kbkit.directory import systems
from kbkit.errors import KbError


def write(files: Mapping[Path, str | bytes]) -> None:
    """Write files, texts as UTF-8, in place of those of the same names, when all have been written aside; in order.

    Folders are made. Raises :class:`KbError` that names the file which cannot be written.
    """
    aside: dict[Path, Path] = {}
    path = Path()
    try:
        for path, content in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(prefix=".", suffix=".new", dir=path.parent)
            aside[path] = Path(name)
            with os.fdopen(handle, "wb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
            systems.make_readable(aside[path])
        for path, written in aside.items():
            systems.replace(written, path)
    except OSError as error:
        raise KbError(f"{path} cannot be written: {error.strerror or error}") from None
    finally:
        for written in aside.values():
            written.unlink(missing_ok=True)
