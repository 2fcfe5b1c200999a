"""Names of files and folders, as dot-commands take them: a path with spaces goes in quotes."""

from __future__ import annotations

import itertools
import os
import shlex
from pathlib import Path

from kbkit.executor.completion.ranking import MOST, Candidate, candidate

_MOST_READ = 2_000
"""Entries of a folder that are looked at: some hold millions."""


def files(raw: str, start: int, kb: bool = False) -> list[Candidate]:
    """Files that go on from ``raw``, the word as typed, quotes and all; folders end in ``/``.

    Hidden files come when their dot is typed. With ``kb`` folders only, KBs first.
    """
    quote = raw[0] if raw[:1] in ("'", '"') else ""
    typed = raw[1:] if quote else raw.replace("\\ ", " ")
    folder, slash, begin = typed.rpartition("/")
    entries = _entries(folder + slash, begin, kb)
    found = []
    for name, is_folder, is_kb in entries:
        path = f"{folder}{slash}{name}{'/' * (is_folder and not is_kb)}"
        meta = "KB" if is_kb else "folder" if is_folder else ""
        found.append(
            candidate(_quoted(path, quote, is_folder and not is_kb), start, path.rpartition("/")[2] or f"{name}/", meta)
        )
    return found


def _entries(folder: str, begin: str, kb: bool) -> list[tuple[str, bool, bool]]:
    """(name, whether it is a folder, whether it is a KB) of what starts with ``begin``, in another case last."""
    try:
        place = Path(folder or ".").expanduser()
        with os.scandir(place) as listed:
            known = [
                (entry.name, entry.is_dir())
                for entry in itertools.islice(listed, _MOST_READ)
                if entry.name.casefold().startswith(begin.casefold())
                and (begin.startswith(".") or not entry.name.startswith("."))
            ]
    except (OSError, ValueError, RuntimeError):  # no such folder, a zero byte, no such user
        return []
    known = [(name, is_folder) for name, is_folder in known if is_folder or not kb]
    known.sort(key=lambda entry: (not entry[0].startswith(begin), kb and not entry[0].endswith(".kb"), entry))
    return [(name, is_folder, is_folder and _is_kb(place / name)) for name, is_folder in known[:MOST]]


def _is_kb(folder: Path) -> bool:
    try:
        return (folder / "CURRENT").is_file()
    except OSError:
        return False


def _quoted(path: str, quote: str, goes_on: bool) -> str:
    """A path as one word; the quotes stay open after a folder, so that its files may follow."""
    home, slash, rest = path.partition("/") if path.startswith("~") else ("", "", path)
    if quote == '"':
        escaped = path.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}' if goes_on else f'"{escaped}"'
    if not quote and shlex.quote(rest) == rest:
        return path
    if not rest:
        return path
    written = shlex.quote(rest) if not quote else "'" + rest.replace("'", "'\"'\"'") + "'"
    if goes_on and "'" not in rest:
        written = written.removesuffix("'")
    return f"{home}{slash}{written}" if not quote else (written if not home else f"'{home}{slash}{written[1:]}")
