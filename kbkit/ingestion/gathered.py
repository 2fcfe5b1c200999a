"""Files of one shape are one table: a file for each day in a folder for each channel, or one for each record.
Files of resources that refer to each other are also read together; see :func:`resources`.

Such files are in folders inside of a source, or beside each other with names that differ in digits or months only. What
the names of folders and files say is in the columns :data:`FOLDER` and :data:`FILE`.
"""

from __future__ import annotations

import csv
import filecmp
import gzip
import os
import re
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kbkit.errors import BadInputError
from kbkit.ingestion import source_files
from kbkit.ingestion.json_shapes import combined, copy_of, copy_of_object, is_xml, one_of_alike, records
from kbkit.ingestion.json_shapes import resources as resources_of
from kbkit.ingestion.side_files import is_side_file
from kbkit.readers.columns import YEAR, titles

FOLDER, FILE = "folder", "file"
"""Columns with the names of folders and files."""
ANCHOR = "./"
"""Start of a pattern that matches the path in the given folder, part by part."""
_MOST_FILES = 20_000
_SHAPED = 40
"""Records of a file that its shape is judged by."""
_LOOKED_AT = 25
"""Files of a folder whose shape is looked at."""
_ALIKE = 0.6
"""Fraction of the fields of the shape with fewer ones that two shapes must share."""
_SAME = 0.8
"""Fraction of the columns of two headers that both must have, if nothing in the names of files says the same."""
_FEWEST = 2
_LINES = 30
"""Lines at the start of a delimited file that may hold its header."""
_LONGEST = 1 << 16
"""Bytes of a line that are read at a time."""
_MONTHS = (
    "jan(uary|uar)?|feb(ruary|ruar)?|mar(ch)?|märz?|apr(il)?|may|mai|june?|juni|july?|juli|aug(ust)?"
    "|sept?(ember)?|o[ck]t(ober)?|nov(ember)?|de[cz](ember)?|q[1-4]"
)
_DIGITS = re.compile(rf"\d+|(?<![^\W\d_])({_MONTHS})(?![^\W_])", re.IGNORECASE)
"""What differs in the names of files of one table: numbers and months."""
_SHARD = re.compile(rf"[^\W_]{{1,2}}|\d+|(?=[a-f]*\d)[0-9a-f]+|{_MONTHS}", re.IGNORECASE)
"""Names of folders that only divide the files of one kind: letters, numbers, years, months, the start of a hash."""
DELIMITED = ("csv", "tsv", "psv")


@dataclass(frozen=True)
class FileGroup:
    """Files of one table: its name, their patterns below the given folder, and whether folders and names differ.

    ``copies`` are files equal to the only one.
    """

    name: str
    files: Sequence[Path]
    match: tuple[str, ...]
    folder: str = ""
    file: str = ""
    resources: bool = False
    copies: Sequence[Path] = ()

    def note(self, given: Sequence[Path], table: str) -> str:
        """Return the note that says that these files are one ``table``; ``given`` are the paths of the source."""
        first = source_files.label(self.files[0], given)
        if self.copies:
            return f"Read one of {len(self.copies) + 1:,} equal files: {first}"
        if self.resources:
            return f"Read {len(self.files):,} files together, with a table for each kind of record: {first} and others"
        return f"Read {len(self.files):,} files as one table, {table}: {first} and others like it"


@dataclass
class _FolderFiles:
    """Files of one format and shape in one folder; ``whole``: the folder has no other files of that format."""

    folder: Path
    ending: str
    files: list[Path]
    shape: frozenset[str]
    whole: bool = True

    def kind(self, root: Path) -> Path:
        """Return the folder that says what the files are: the next one above those that only divide them."""
        folder = self.folder
        while folder != root and _SHARD.fullmatch(folder.name):
            folder = folder.parent
        return folder


def resources(paths: Sequence[Path]) -> list[FileGroup]:
    """Return the group of all files of resources: files of ``paths``, and files in folders of them, at any depth.

    The list is empty for fewer than two such files.
    """
    found = [path for path in paths if path.is_file() and _has_resources(path)]
    match = [escaped(path.name) for path in found]
    folders = [(root, folder) for root in paths if root.is_dir() for folder in (root, *sorted(_folders(root)))]
    for root, folder in folders:
        files = [path for path in sorted(folder.iterdir()) if path.is_file()]
        own = [path for path in files if _has_resources(path)]
        found += own
        start = "".join(f"{escaped(part)}/" for part in folder.relative_to(root).parts)
        for ending in dict.fromkeys(source_files.suffix(path) for path in own):
            some = [path for path in own if source_files.suffix(path) == ending]
            whole = len(some) > 1 and some == [path for path in files if source_files.suffix(path) == ending]
            names = [f"*{ending}"] if whole else [escaped(path.name) for path in some]
            match += [f"{ANCHOR}{start}{name}" for name in names]
    return [FileGroup("records", found, tuple(match), resources=True)] if len(found) >= _FEWEST else []


def _has_resources(path: Path) -> bool:
    known = source_files.FORMATS.get(source_files.suffix(path)) == "json" and path.suffix.lower() != ".gz"
    return known and not is_xml(path) and source_files.suffix(path) != ".obo" and bool(resources_of(path))


def inside(root: Path, taken: Collection[Path] = ()) -> list[FileGroup]:
    """Return the groups of files in the folders inside of a folder, except folders with files that are ``taken``."""
    if not root.is_dir():
        return []
    found = []
    left_out = {path.parent for path in taken}
    candidates = [one for folder in sorted(_folders(root)) if folder not in left_out for one in _candidates(folder)]
    while candidates:
        first, *others = candidates
        alike = [first, *(one for one in others if _belong(root, first, one))]
        candidates = [one for one in others if one not in alike]
        if sum(len(one.files) for one in alike) >= _FEWEST:
            found.append(_group(root, alike))
    return found


def _folders(root: Path) -> Iterator[Path]:
    for folder in root.iterdir():
        if folder.is_dir() and not folder.is_symlink() and not source_files.is_left_out(folder):
            yield folder
            yield from _folders(folder)


def _candidates(folder: Path) -> Iterator[_FolderFiles]:
    """Yield the files of one format and shape in a folder."""
    by_ending: dict[str, list[Path]] = {}
    for path in sorted(folder.iterdir()):
        known = source_files.FORMATS.get(source_files.suffix(path)) in ("json", *DELIMITED)
        if known and path.is_file() and not is_side_file(path):
            by_ending.setdefault(source_files.suffix(path), []).append(path)
    for ending, files in by_ending.items():
        if (shape := common_fields(files, ending)) and len(files) <= _MOST_FILES:
            yield _FolderFiles(folder, ending, files, shape)
        elif len(files) <= _LOOKED_AT:
            yield from _by_shape(folder, ending, files)


def _by_shape(folder: Path, ending: str, files: Sequence[Path]) -> list[_FolderFiles]:
    """Return the files of a folder by their shape."""
    found: list[_FolderFiles] = []
    for path in files:
        if shape := fields_of(path):
            same = next((one for one in found if _alike(one.shape, shape, ending)), None)
            if same is None:
                found.append(_FolderFiles(folder, ending, [path], shape, whole=False))
            else:
                same.files.append(path)
    return found


def numbered(files: Sequence[Path]) -> Iterator[FileGroup]:
    """Yield the groups of files whose names differ in digits and months only, and which have one shape."""
    by_name: dict[str, list[Path]] = {}
    for path in files:
        by_name.setdefault(_DIGITS.sub("#", path.name), []).append(path)
    for name, some in by_name.items():
        if len(some) >= _FEWEST and "#" in name and common_fields(some):
            stem = source_files.plain_name(Path(name)).partition(".")[0]
            plain = re.sub(r"[\W_]*#[\W_]*", "_", stem).strip("_")
            plain = re.sub(r"[\W_]+(page|part|chunk|batch)$", "", plain) or "records"
            match = tuple(f"{ANCHOR}{escaped(path.name)}" for path in some)
            yield FileGroup(plain, some, match, file=free_column(FILE, common_fields(some)))


def common_fields(files: Sequence[Path], ending: str = "") -> frozenset[str]:
    """Return the fields of files of one shape; none for files of several. ``ending``: see :func:`_alike`."""
    known: frozenset[str] = frozenset()
    for path in files[:_LOOKED_AT]:
        shape = fields_of(path)
        if shape is None or (known and not _alike(known, shape, ending)):
            return frozenset()
        known |= shape
    return known


def _belong(root: Path, first: _FolderFiles, one: _FolderFiles) -> bool:
    beside = first.folder.parent == one.folder.parent or first.kind(root) == one.kind(root)
    return beside and first.ending == one.ending and _alike(first.shape, one.shape, one.ending)


def _alike(one: frozenset[str], other: frozenset[str], ending: str) -> bool:
    """Return whether files have one shape. Those of a delimited format, whose ``ending`` is given, have all columns."""
    if source_files.FORMATS.get(ending) in DELIMITED:
        return len(one & other) >= _SAME * len(one | other)
    return not other or len(one & other) >= _ALIKE * min(len(one), len(other))


def fields_of(path: Path) -> frozenset[str] | None:
    """Return the names of the fields of the first records of a file; None for what is no list of records."""
    if source_files.format_of(path) in DELIMITED:
        return _header(path)
    try:
        rows = records(path)
    except BadInputError:
        return None
    return frozenset(name for row in rows[:_SHAPED] for name in row)


def _header(path: Path) -> frozenset[str] | None:
    """Return the names in the header of a delimited file, None if it cannot be read or holds numbers."""
    if (rows := _first_lines(path)) is None:
        return None
    fields = [field.strip() for field in (rows[0] if rows else [])]
    numbers = [field for field in fields if field.replace(".", "").isdigit() and not YEAR.fullmatch(field)]
    return None if numbers else frozenset(fields)


def first_rows(path: Path) -> list[dict[str, Any]]:
    """Return the first records of a file; none if it holds no list of records."""
    if source_files.format_of(path) in DELIMITED:
        names, *rows = _first_lines(path) or [[]]
        return [dict(zip(map(str.strip, names), row, strict=False)) for row in rows]
    try:
        return records(path)[:_SHAPED]
    except BadInputError:
        return []


def _first_lines(path: Path) -> list[list[str]] | None:
    """Return the rows at the start of a delimited file, that with the names first; None if it cannot be read."""
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opener(path, "rb") as handle:
            content = b"".join(handle.readline(_LONGEST) for _ in range(_LINES))
    except (OSError, EOFError, zlib.error):
        return None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    lines = text.splitlines(keepends=True)
    sign = max(",;|\t", key=max(lines, key=len, default="").count)
    try:
        rows = [*csv.reader(lines, delimiter=sign)]
    except csv.Error:  # a field without end
        return None
    return rows[titles(rows) :] if rows else []


def _group(root: Path, alike: Sequence[_FolderFiles]) -> FileGroup:
    files = [path for one in alike for path in one.files]
    stems = {re.sub(r"[\W_\d]+$", "", path.stem) for path in files}
    kind = alike[0].kind(root)
    divided = kind != alike[0].folder
    parent = kind if divided else alike[0].folder.parent
    start = os.path.commonprefix([path.stem for path in files])  # noqa: RUF071 (by character)
    started = re.sub(r"(?<=[\W_])[^\W_]*$|[\W_\d]+$", "", start)
    if not alike[0].whole and all(filecmp.cmp(files[0], path, shallow=False) for path in files[1:]):  # copies
        only = f"{ANCHOR}{escaped(files[0].relative_to(root).as_posix())}"
        return FileGroup(started.strip("_- .") or parent.name, files[:1], (only,), copies=files[1:])
    if not alike[0].whole and len(alike) > 1:
        name = started.strip("_- .") or parent.name
    elif len(stems) == 1 and len(alike) > 1 and (stem := next(iter(stems))) and not _SHARD.fullmatch(stem):
        name = next(iter(stems))
    elif len(alike) == 1 and not divided:
        name = alike[0].folder.name
    else:
        name = parent.name if parent != root else "records"
    match = tuple(
        ANCHOR + "/".join([*map(escaped, one.folder.relative_to(root).parts), pattern])
        for one in alike
        for pattern in ([f"*{one.ending}"] if one.whole else [escaped(path.name) for path in one.files])
    )
    files_differ = len({path.stem for path in files}) > 1
    taken = {name for one in alike for name in one.shape}
    same = divided and files_differ and not any(YEAR.fullmatch(one.folder.name) for one in alike)
    folder = free_column(FOLDER, taken) if len(alike) > 1 and not same else ""
    return FileGroup(name, files, match, folder, free_column(FILE, taken) if files_differ else "")


def whole(group: FileGroup, folder: Path) -> Path:
    """Return a file called like a group that stands for all of its files: with the records of all, if they are JSON."""
    first = group.files[0]
    if group.resources and (top := one_of_alike(group.files)):
        return copy_of_object(top, folder / f"{group.name}.json")
    if source_files.format_of(first) == "json":
        return copy_of(combined(group.files, group.folder, group.file), folder / f"{group.name}.jsonl")
    folder.mkdir()
    target = folder / f"{group.name}{source_files.suffix(first)}"
    target.write_bytes(first.read_bytes())
    return target


def free_column(name: str, taken: Iterable[str]) -> str:
    """Return the name of a column, with another word if it is taken."""
    known = {one.casefold() for one in taken}
    return name if name not in known else f"{name}_name"


def escaped(name: str) -> str:
    """Return the pattern that matches a name only."""
    return re.sub(r"([*?[])", r"[\1]", name)
