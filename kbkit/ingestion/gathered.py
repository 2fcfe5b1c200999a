"""Files of one shape are one table: a file for each day in a folder for each channel, or one for each record.

Such files are in folders inside of a source, or beside each other with names that differ in digits only. What the names
of folders and files say is in the columns :data:`FOLDER` and :data:`FILE`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kbkit.errors import BadInputError
from kbkit.ingestion import source_files

FOLDER, FILE = "folder", "file"
"""Columns with the names of folders and files."""
ANCHOR = "./"
"""Start of a pattern that matches the path in the given folder, part by part."""
_MOST_FILES = 20_000
_MOST_BYTES = 256 << 20
"""Maximum bytes of a JSON file among those of one table."""
_SHAPED = 40
"""Records of a file that its shape is judged by."""
_LOOKED_AT = 25
"""Files of a folder whose shape is looked at."""
_ALIKE = 0.6
"""Fraction of the fields of the shape with fewer ones that two shapes must share."""
_FEWEST = 2
_DIGITS = re.compile(r"\d+")
_DELIMITED = ("csv", "tsv", "psv")


@dataclass(frozen=True)
class FileGroup:
    """Files of one table: its name, their patterns below the given folder, and whether folders and names differ."""

    name: str
    files: Sequence[Path]
    match: tuple[str, ...]
    folder: str = ""
    file: str = ""

    def note(self, given: Sequence[Path]) -> str:
        """Return the note that says that these files are one table; ``given`` are the paths of the source."""
        first = source_files.label(self.files[0], given)
        return f"Read {len(self.files):,} files as one table, {self.name}: {first} and others like it"


@dataclass
class _Candidate:
    """Files of one format in one folder."""

    folder: Path
    ending: str
    files: list[Path]
    shape: frozenset[str]


def inside(root: Path) -> list[FileGroup]:
    """Return the groups of files in the folders inside of a folder."""
    if not root.is_dir():
        return []
    found = []
    candidates = [one for folder in sorted(_folders(root)) for one in _candidates(folder)]
    while candidates:
        first, *others = candidates
        alike = [first, *(one for one in others if _belong(first, one))]
        candidates = [one for one in others if one not in alike]
        if sum(len(one.files) for one in alike) >= _FEWEST:
            found.append(_group(root, alike))
    return found


def _folders(root: Path) -> Iterator[Path]:
    for folder in root.iterdir():
        hidden = folder.name.startswith((".", "_")) or folder.suffix in (".kb", ".recipe")
        if folder.is_dir() and not folder.is_symlink() and not hidden:
            yield folder
            yield from _folders(folder)


def _candidates(folder: Path) -> Iterator[_Candidate]:
    """Yield the files of one format and shape in a folder, if all of that format have it."""
    by_ending: dict[str, list[Path]] = {}
    for path in sorted(folder.iterdir()):
        if path.is_file() and source_files.FORMATS.get(source_files.suffix(path)) in ("json", *_DELIMITED):
            by_ending.setdefault(source_files.suffix(path), []).append(path)
    for ending, files in by_ending.items():
        if (shape := _common(files)) and len(files) <= _MOST_FILES:
            yield _Candidate(folder, ending, files, shape)


def numbered(files: Sequence[Path]) -> Iterator[FileGroup]:
    """Yield the groups of files whose names differ in digits only, and which have one shape."""
    by_name: dict[str, list[Path]] = {}
    for path in files:
        by_name.setdefault(_DIGITS.sub("#", path.name), []).append(path)
    for name, some in by_name.items():
        if len(some) >= _FEWEST and "#" in name and _common(some):
            stem = source_files.plain_name(Path(name)).partition(".")[0]
            plain = re.sub(r"[\W_]*#[\W_]*", "_", stem).strip("_") or "records"
            match = tuple(f"{ANCHOR}{_escaped(path.name)}" for path in some)
            yield FileGroup(plain, some, match, file=_free(FILE, _common(some)))


def _common(files: Sequence[Path]) -> frozenset[str]:
    """Return the fields of files of one shape; none for files of several."""
    known: frozenset[str] = frozenset()
    for path in files[:_LOOKED_AT]:
        shape = _shape(path)
        if shape is None or (known and not _alike(known, shape)):
            return frozenset()
        known |= shape
    return known


def _belong(first: _Candidate, one: _Candidate) -> bool:
    return first.folder.parent == one.folder.parent and first.ending == one.ending and _alike(first.shape, one.shape)


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return not other or len(one & other) >= _ALIKE * min(len(one), len(other))


def _shape(path: Path) -> frozenset[str] | None:
    """Return the names of the fields of the first records of a file; None for what is no list of records."""
    if source_files.format_of(path) in _DELIMITED:
        from kbkit.ingestion.inference import dialect
        from kbkit.ingestion.sources import header

        try:
            found = dialect.detect(path)
            if found.columns or found.skip or found.encoding != "utf-8":
                return None
            return frozenset(header(path, found.delimiter, found.quote))
        except BadInputError:
            return None
    try:
        rows = records(path)
    except BadInputError:
        return None
    return frozenset(name for row in rows[:_SHAPED] for name in row)


def _group(root: Path, alike: Sequence[_Candidate]) -> FileGroup:
    files = [path for one in alike for path in one.files]
    stems = {re.sub(r"[\W_\d]+$", "", path.stem) for path in files}
    parent = alike[0].folder.parent
    if len(stems) == 1 and len(alike) > 1 and next(iter(stems)):
        name = next(iter(stems))
    elif len(alike) == 1:
        name = alike[0].folder.name
    else:
        name = parent.name if parent != root else "records"
    above = parent.relative_to(root).parts
    match = tuple(
        ANCHOR + "/".join([*map(_escaped, (*above, one.folder.name)), f"*{one.ending}"])
        for one in alike
    )  # fmt: skip
    files_differ = len({path.stem for path in files}) > 1
    taken = {name for one in alike for name in one.shape}
    folder = _free(FOLDER, taken) if len(alike) > 1 else ""
    return FileGroup(name, files, match, folder, _free(FILE, taken) if files_differ else "")


def whole(group: FileGroup, folder: Path) -> Path:
    """Return a file called like a group that stands for all of its files: with the records of all, if they are JSON."""
    from kbkit.ingestion.json_shapes import copy_of

    first = group.files[0]
    if source_files.format_of(first) == "json":
        return copy_of(combined(group.files, group.folder, group.file), folder / f"{group.name}.jsonl")
    folder.mkdir()
    target = folder / f"{group.name}{source_files.suffix(first)}"
    target.write_bytes(first.read_bytes())
    return target


def _free(name: str, taken: Iterable[str]) -> str:
    known = {one.casefold() for one in taken}
    return name if name not in known else f"{name}_name"


def _escaped(name: str) -> str:
    return re.sub(r"([*?[])", r"[\1]", name)


# -- JSON -------------------------------------------------------------------------------------------------------------


def records(path: Path) -> list[dict[str, Any]]:
    """Return the records of a JSON file: the objects of its list or lines, or its only object.

    Raises :class:`BadInputError` for another file.
    """
    hint = "Remove it, or name the files of a folder one by one"
    if path.stat().st_size > _MOST_BYTES:
        raise BadInputError(f"{path} is too large to be read with others", hint)
    try:
        text = path.read_text(encoding="utf-8-sig")
        try:
            found = json.loads(text)
        except ValueError:
            found = [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError, OSError) as error:
        raise BadInputError(f"{path} is not JSON: {str(error)[:100]}", hint) from None
    rows = found if isinstance(found, list) else [found]
    if not all(isinstance(row, dict) for row in rows):
        raise BadInputError(f"{path} does not hold records like the other files", hint)
    return rows


def combined(paths: Iterable[Path], folder: str, file: str) -> Iterator[Mapping[str, Any]]:
    """Yield the records of several files, with the columns of the names of their folders and files, if these are given.

    Raises the errors of :func:`records`.
    """
    for path in paths:
        names = {**({folder: path.parent.name} if folder else {}), **({file: path.stem} if file else {})}
        for row in records(path):
            yield {**names, **row}
