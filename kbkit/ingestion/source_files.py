"""Find the files that a recipe declares, or all tables in files, folders and archives."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path

from kbkit.directory.generations import KbDirectory
from kbkit.errors import BadInputError, Option, UnknownNameError
from kbkit.ingestion import archives
from kbkit.ingestion.recipe import FileSpec, Recipe
from kbkit.ingestion.side_files import UNTYPED, is_side_file

_COMPRESSED = (".gz",)
FORMATS = {
    ".csv": "csv",
    **dict.fromkeys(UNTYPED, "csv"),
    ".psv": "psv",
    ".tsv": "tsv",
    ".txt": "tsv",
    ".tab": "tsv",
    ".gaf": "tsv",
    ".sif": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".json": "json",
    ".geojson": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".xml": "json",
    ".jsonld": "json",
    ".kml": "json",
    ".gpx": "json",
    ".osm": "json",
    ".bib": "json",
    ".ris": "json",
    ".enw": "json",
    ".obo": "json",
    ".ged": "json",
    ".mbox": "json",
    ".opml": "json",
    ".rss": "json",
    ".atom": "json",
    ".yaml": "json",
    ".yml": "json",
    ".sqlite": "database",
    ".sqlite3": "database",
    ".duckdb": "database",
    ".db": "database",
    ".xlsx": "excel",
    ".xlsm": "excel",
    ".graphml": "graph",
    ".gexf": "graph",
    ".gml": "graph",
    ".sql": "sql",
}
"""Formats by the ending of a file's name."""


def find_files(recipe: Recipe, paths: Sequence[Path], named: Mapping[str, Path]) -> dict[str, list[Path]]:
    """Return the files for each ``[files.NAME]`` of the recipe.

    ``paths`` are files and folders; ``named`` assigns single files. Raises :class:`BadInputError` for a missing or
    empty file, for a pattern with several matches, and for a file in ``paths`` that the recipe does not read.
    """
    _check_given(recipe, paths, named)
    listed = [path for path in paths if path.is_file() and not archives.is_archive(path)]
    deep = any("/" in pattern.removeprefix("./") for spec in recipe.files for pattern in spec.match)
    inside = (_inside(path, deep=deep) for path in paths if path not in listed)
    members = list(dict.fromkeys(chain.from_iterable(inside)))  # a folder may be given beside one in it
    files = _match_all(recipe, [*listed, *members], named, paths)
    taken = {path for paths_of in files.values() for path in paths_of}
    unread = [path for path in listed if path not in taken]
    if _may_have_any_name(recipe, files) and len(unread) == 1:
        only = unread.pop()
        files |= {spec.name: [only] for spec in _missing_files(recipe, files)}
    _check_complete(recipe, files, unread)
    return {spec.name: [path for path in files[spec.name] if not _has_no_rows(spec, path)] for spec in recipe.files}


def _check_given(recipe: Recipe, paths: Sequence[Path], named: Mapping[str, Path]) -> None:
    """Raise for a name that the recipe does not have, and for a path that does not exist."""
    known = [spec.name for spec in recipe.files]
    for name in named:
        if name not in known:
            raise UnknownNameError("file", name, known, f"recipe {recipe.name}")
    for path in (*paths, *named.values()):
        if not path.exists():
            raise BadInputError(f"{path} does not exist")


def _match_all(
    recipe: Recipe, offered: Sequence[Path], named: Mapping[str, Path], given: Sequence[Path]
) -> dict[str, list[Path]]:
    """Return the files for each name of the recipe: the one given by name, or those that match and are still free.

    Tables of one file share it.
    """
    files: dict[str, list[Path]] = {}
    taken: set[Path] = set()
    for spec in recipe.files:
        free = [path for path in offered if path not in taken or spec.table]
        files[spec.name] = [named[spec.name]] if spec.name in named else _matches(spec, free, given)
        taken.update(files[spec.name])
    return files


def _missing_files(recipe: Recipe, files: Mapping[str, Sequence[Path]]) -> list[FileSpec]:
    """Return the required files that were not found."""
    return [spec for spec in recipe.files if not spec.optional and not files[spec.name]]


def _may_have_any_name(recipe: Recipe, files: Mapping[str, Sequence[Path]]) -> bool:
    """Return whether the only required file of the recipe is missing, so that any file may be it."""
    required = {spec.match if spec.table else spec.name for spec in recipe.files if not spec.optional}
    return len(required) == 1 and _missing_files(recipe, files) != []


def _check_complete(recipe: Recipe, files: Mapping[str, Sequence[Path]], unread: Sequence[Path]) -> None:
    """Raise for a file that the recipe does not read, for a missing one, and for an empty one."""
    if unread:
        raise BadInputError(f"Recipe {recipe.name} does not read {unread[0]}", *_describe_files(recipe))
    for spec in _missing_files(recipe, files):
        raise BadInputError(f"Missing file {spec.name!r} of recipe {recipe.name}", *_describe_files(recipe))
    for spec in recipe.files:
        for path in files[spec.name]:
            if archives.size(path) == 0 and not _has_no_rows(spec, path):
                raise BadInputError(f"{path} is empty")


def _has_no_rows(spec: FileSpec, path: Path) -> bool:
    """Return whether a file is empty and may be so: optional, without a header, such as a split without queries."""
    return spec.optional and bool(spec.columns) and archives.size(path) == 0


def _inside(folder: Path, *, deep: bool) -> list[Path]:
    """List the files of an archive, or of a folder and the archives in it, with ``deep`` also of its subfolders.

    Links to folders are not followed, to avoid loops.
    """
    if archives.is_archive(folder):
        return sorted(archives.members(folder))
    walked = os.walk(folder) if deep else [(str(folder), [], [p.name for p in folder.iterdir() if p.is_file()])]
    listed = (Path(parent) / name for parent, _, names in walked for name in names)
    files = sorted(path for path in listed if path.is_file())  # no pipes, no links to nothing
    return [member for path in files for member in (_inside(path, deep=deep) if archives.is_archive(path) else [path])]


def matches(path: Path, patterns: Sequence[str], given: Sequence[Path]) -> bool:
    """Return whether a file in the given folders has a name or path of one of the patterns."""
    return bool(_matches(FileSpec("", tuple(patterns), many=True), [path], given))


def _matches(spec: FileSpec, offered: Iterable[Path], given: Sequence[Path]) -> list[Path]:
    def fits(path: Path, pattern: str) -> bool:
        """Match the file's name, the end of its path if the pattern has folders, or its path below a given folder."""
        name = plain_name(path).lower()
        if pattern.startswith("./"):
            parts, wanted = label(path, given).lower().split("/"), pattern[2:].lower().split("/")
            return len(parts) == len(wanted) and all(map(fnmatch.fnmatchcase, parts, wanted))
        if "/" in pattern:
            return fnmatch.fnmatch(f"/{path.with_name(name).as_posix().lower()}", f"*/{pattern.lower()}")
        return fnmatch.fnmatch(name, pattern.lower())

    offered = list(offered)
    if spec.many:
        return [path for path in offered if any(fits(path, pattern) for pattern in spec.match)]
    for pattern in spec.match:
        hits = [path for path in offered if fits(path, pattern)]
        if len(hits) > 1:
            examples = ", ".join(p.name for p in hits[:3])
            hint = ("Choose one with ", Option("files", f"{spec.name}=PATH"))
            raise BadInputError(f"Several files match {spec.name!r}: {examples}", *hint)
        if hits:
            return hits
    return []


def tables_in(paths: Sequence[Path], *, may_be_empty: bool = False) -> list[Path]:
    """Return the files with tables among ``paths``, and those in its folders and archives, without side files.

    A folder that has only folders is read with all of them. Raises :class:`BadInputError` for a missing or empty file,
    one of another format, and if there is none, unless the list ``may_be_empty``.
    """
    for path in (path for path in paths if not path.exists()):
        raise BadInputError(f"{path} does not exist")
    found = []
    for path in paths:
        if path.is_file() and not archives.is_archive(path):
            format_of(path)
            found.append(path)
        else:
            found += _tables_inside(path, deep=False) or ([] if path.is_file() else _tables_inside(path, deep=True))
    if not found and not may_be_empty:
        raise BadInputError(f"No tables in {', '.join(map(str, paths))}", _no_tables_hint(paths))
    for path in (path for path in found if archives.size(path) == 0):
        raise BadInputError(f"{path} is empty")
    _check_names(found)
    return list(dict.fromkeys(found))


def _check_names(paths: Sequence[Path]) -> None:
    """Raise :class:`BadInputError` for a name that is no text, and for two that differ in capitals only."""
    known: dict[tuple[Path, str], Path] = {}
    for path in paths:
        if not (shown := os.fsencode(path).decode(errors="replace")) == str(path):
            raise BadInputError(f"The name of {shown} is not UTF-8", "Rename it")
        other = known.setdefault((path.parent, path.name.casefold()), path)
        if other != path:
            message = f"The names of {other.name} and {path.name} in {path.parent} differ in capitals only"
            raise BadInputError(message, "Rename one of them")


def _tables_inside(folder: Path, *, deep: bool) -> list[Path]:
    """Return the files with tables in a folder or an archive, with ``deep`` also in its subfolders."""
    found = [path for path in _inside(folder, deep=deep) if suffix(path) in FORMATS and not is_side_file(path)]
    between = {path.parent: _between(folder, path) for path in found}
    left_out = {one for parents in between.values() for one in parents if is_left_out(one)}
    return [path for path in found if left_out.isdisjoint(between[path.parent])]


def beside(folder: Path) -> list[Path]:
    """Return all files in a folder or an archive, at any depth, except in subfolders that are left out; none of a
    file.
    """
    if not (folder.is_dir() or archives.is_archive(folder)):
        return []
    found = _inside(folder, deep=True)
    return [path for path in found if not any(map(is_left_out, _between(folder, path)))]


def _between(folder: Path, path: Path) -> list[Path]:
    """Return the folders between a folder and a file in it."""
    return [one for one in path.parents if one != folder and folder in one.parents]


def is_left_out(folder: Path) -> bool:
    """Return whether a subfolder is hidden, a KB or a recipe."""
    named = folder.name.startswith((".", "_")) or folder.name.endswith((".kb", ".recipe"))
    return named or (KbDirectory(folder).exists() and (folder / "generations").is_dir())


def _no_tables_hint(paths: Sequence[Path]) -> str:
    """Return the remedy for paths without tables: the formats of other files to convert, or those to use."""
    inside = (one for path in paths if path.is_dir() for one in _inside(path, deep=True))
    other = sorted({suffix(one) for one in inside if not is_side_file(one)} - {*FORMATS})[:_MOST_NAMED]
    start = f"Convert {', '.join(other)} files to CSV or JSON. " if other else ""
    return f"{start}Use files that end in " + ", ".join(sorted(filter(None, FORMATS)))


_MOST_NAMED = 5


def format_of(path: Path) -> str:
    """Return the format of a file, by its name. Raises :class:`BadInputError` for an unknown one."""
    if suffix(path) not in FORMATS or (not suffix(path) and path.is_file() and is_side_file(path)):
        listed = ", ".join(sorted(filter(None, FORMATS)))
        hint = f"If it is text with commas or tabs between columns, rename it to .csv. Otherwise use one of {listed}"
        raise BadInputError(f"Unsupported file type: {path}", hint)
    return FORMATS[suffix(path)]


def label(path: Path, given: Sequence[Path]) -> str:
    """Return what a file is called among the paths that a user gave: its path in a folder or archive, or its name."""
    above = next((one for one in given if one != path and path.is_relative_to(one)), path.parent)
    return path.relative_to(above).as_posix()


def suffix(path: Path) -> str:
    """Return the ending of a file's name in lower case, without that of its compression."""
    return Path(plain_name(path)).suffix.lower()


def plain_name(path: Path) -> str:
    """Return the name of a file without the ending of its compression."""
    return path.stem if path.suffix.lower() in _COMPRESSED else path.name


def _describe_files(recipe: Recipe) -> tuple[str, Option, str]:
    parts = [f"{spec.name}{' (optional)' if spec.optional else ''}: {' or '.join(spec.match)}" for spec in recipe.files]
    return f"The recipe reads {'; '.join(parts)}. Use ", Option("files", "NAME=PATH"), " to choose a file"
