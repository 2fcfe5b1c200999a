"""Files beside each other that hold rows of one kind: of two projects, two regions, two boards."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kbkit.errors import BadInputError
from kbkit.ingestion import gathered, json_shapes, source_files
from kbkit.ingestion.gathered import FileGroup
from kbkit.ingestion.inference import names
from kbkit.ingestion.inference.nouns import SAYS_NOTHING

_READ = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".tab", ".psv", ".mbox", ".ged")
_MOST_FILES = 25
"""Files that are compared with each other."""
_FEWEST, _FEWEST_FIELDS = 2, 4
_SAME = 0.8
"""Fraction of the fields of two files that both must have."""


def groups(files: Sequence[Path]) -> Iterator[FileGroup]:
    """Yield the groups of files of one shape whose names start or end with the same word, or that hold objects with
    the same lists of records, such as the exports of two projects.
    """
    read = [path for path in files if source_files.suffix(path) in _READ]
    read = read if len(read) <= _MOST_FILES else []
    lists = {path: _lists_in(path) for path in read}  # each file is parsed once
    of_objects = {path for path, names_of in lists.items() if names_of}
    for same in _gather([path for path in read if path in of_objects], lambda a, b: _are_alike(lists[a], lists[b])):
        if _hold_the_same_lists(same):
            yield FileGroup(_name(same), same, _patterns(same), resources=True)
    for same in _gather([path for path in read if path not in of_objects], _are_of_one_kind):
        others = [path for path in read if path not in same and path.parent == same[0].parent]
        if others and not _tells(list(map(_words, same)), list(map(_words, others))):
            continue
        column = gathered.free_column(gathered.FILE, gathered.common_fields(same))
        yield FileGroup(_name(same), same, _patterns(same), file=column)


def _gather(files: Sequence[Path], are_alike: Callable[[Path, Path], bool]) -> Iterator[list[Path]]:
    """Yield the files of one folder and one ending that are like the first of them, where there are several."""
    left = list(files)
    while left:
        first, *others = left
        near = [path for path in others if (path.parent, path.suffix) == (first.parent, first.suffix)]
        same = [first, *(path for path in near if are_alike(first, path))]
        left = [path for path in others if path not in same]
        if len(same) >= _FEWEST:
            yield same


def _patterns(files: Sequence[Path]) -> tuple[str, ...]:
    return tuple(f"{gathered.ANCHOR}{gathered.escaped(path.name)}" for path in files)


def _name(files: Sequence[Path]) -> str:
    return "_".join(_shared_words(list(map(_words, files)))) or files[0].parent.name


def _lists_in(path: Path) -> frozenset[str]:
    """Return the names of the lists of records of a file that holds one object; none for fewer than two."""
    try:
        found = json_shapes.tables(path) if source_files.format_of(path) == "json" else {}
    except BadInputError:  # which reading it reports
        return frozenset()
    return frozenset(found) if len(found) >= _FEWEST else frozenset()


def _hold_the_same_lists(files: Sequence[Path]) -> bool:
    try:
        return json_shapes.one_of_alike(files) is not None
    except BadInputError:  # which reading it reports
        return False


def _are_alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= max(_FEWEST, _SAME * len(one | other) / 2)


def _words(path: Path) -> tuple[str, ...]:
    return names.words(Path(source_files.plain_name(path)).stem)


def _are_of_one_kind(one: Path, other: Path) -> bool:
    """Return whether two files hold rows of one kind: see :func:`groups`."""
    shared = _shared_words([_words(one), _words(other)])
    if not set(shared) - SAYS_NOTHING or _name_kinds([_words(one), _words(other)], shared):
        return False
    first, second = (gathered.fields_of(path) or frozenset() for path in (one, other))
    alike = len(first & second) >= max(_FEWEST_FIELDS, _SAME * len(first | second))
    rows = [gathered.first_rows(path) for path in (one, other)] if alike else []
    lists = all(len(some) >= _FEWEST for some in rows)  # the codes of countries are no fields of an object
    return alike and lists and not _share_identifiers(*rows)


def _name_kinds(of_names: Sequence[Sequence[str]], shared: Sequence[str]) -> bool:
    """Return whether the words that differ are kinds of things, and those before them the name of a source:
    ``northwind_customers`` and ``northwind_suppliers``.
    """
    rest = [[word for word in words if word not in shared and not word.isdigit()] for words in of_names]
    if not all(rest) or _start_of(of_names)[: len(shared)] != [*shared]:
        return False
    plural = all(names.is_plural(words[-1]) for words in rest)
    said = any(word in SAYS_NOTHING or names.is_noun(word) for word in shared)
    return plural or (not said and all(names.is_noun(words[-1]) for words in rest))


def _share_identifiers(rows: Sequence[Mapping[str, Any]], others: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether half of the first rows of a file have an identifier that rows of the other have: both number
    theirs from 1.
    """
    for name in (name for name in (rows[0] if rows else ()) if names.is_id(name)):
        here, there = ([str(row[name]) for row in some if row.get(name)] for some in (rows, others))
        unique = len(here) == len(set(here)) and len(there) == len(set(there))
        if unique and 2 * len(set(here) & set(there)) >= min(len(here), len(there)) > 0:
            return True
    return False


def _tells(same: Sequence[Sequence[str]], others: Sequence[Sequence[str]]) -> bool:
    """Return whether files share more than what all files start with, the name of the source."""
    start = [word for word in _start_of([*same, *others]) if not word.isdigit()]
    return not start or start != _shared_words(same)


def _shared_words(of_names: Sequence[Sequence[str]]) -> list[str]:
    """Return the words with which all names start, or else end, without numbers."""
    start = _start_of(of_names)
    return [word for word in start or _start_of([words[::-1] for words in of_names])[::-1] if not word.isdigit()]


def _start_of(of_names: Sequence[Sequence[str]]) -> list[str]:
    places = itertools.takewhile(lambda words: len(set(words)) == 1, zip(*of_names, strict=False))
    return [words[0] for words in places]
