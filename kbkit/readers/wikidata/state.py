"""What a folder of parts was made from, so that a later run knows whether it can go on with it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from kbkit.directory import systems
from kbkit.errors import BadInputError
from kbkit.readers.wikidata.options import Options

_FILE = "made_from.json"
_VERSION = 1
"""Counts the changes of what is written: parts of another version are made again."""


def prepare(folder: Path, paths: Sequence[Path], options: Options) -> None:
    """Empty the folder, unless it holds parts of the same files and options; half-written parts go in any case."""
    made_from = _described(paths, options)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / _FILE
    try:
        same = json.loads(file.read_text(encoding="utf-8")) == made_from
    except (OSError, ValueError):
        same = False
    for path in [folder.rglob("*.new")] if same else [folder.iterdir()]:
        for entry in list(path):
            _remove(entry)
    if not same:
        written = folder / (_FILE + ".new")
        written.write_text(json.dumps(made_from), encoding="utf-8", newline="\n")
        systems.replace(written, file)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        systems.remove_tree(path)
    else:
        systems.remove(path)


def _described(paths: Sequence[Path], options: Options) -> dict[str, object]:
    inputs = []
    for path in paths:
        try:
            status = path.stat()
        except OSError as error:
            raise BadInputError(f"{path} cannot be read: {error.strerror or error}") from None
        inputs.append([path.name, status.st_size, status.st_mtime_ns])
    return {"version": _VERSION, "inputs": inputs, "options": options.to_json()}
