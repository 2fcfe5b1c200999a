"""Files beside the tables of a folder, which are not read: documents such as a README, lock files, unknown formats."""

from __future__ import annotations

import csv
import os
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

_SYSTEM = frozenset({"thumbs.db", "desktop.ini"})
_DOCUMENT = re.compile(r"(readme|licen[cs]e|copying|change(s|log)|authors|contributing|notice|citation)s?\b", re.I)
_TEXTS = (".txt", ".csv", ".tsv", ".tab", ".psv")
_SIGNS = ",;\t|"
_LINES = 200
_LONGEST = 1 << 16
"""Characters of a line that are read at a time."""
_FEWEST_LINES = 3
_WORDS = 5
"""Words of a line of prose."""
_ALIKE = 0.9
"""Fraction of the lines of a table that have the same number of delimiters."""
_FEWEST_TABLE_LINES = 10
"""Lines of sentences from which a text without columns is a list of them."""
UNTYPED = ("", ".dat", ".data", ".asc", ".out")
"""Endings of files of any kind, and no ending, which are tables if they are text with columns."""
DOCUMENTS = (".md", ".rst", ".html", ".htm", ".pdf", ".docx", ".doc", ".rtf", ".odt")
"""Endings of documents, which hold no tables."""


def is_side_file(path: Path) -> bool:
    """Return whether a file of a folder is none of its tables: a file of the system or of an office program, or prose
    in a text file.
    """
    return is_of_system(path) or is_document(path)


def is_of_system(path: Path) -> bool:
    """Return whether the system or an open office program made a file, such as ``.DS_Store`` and ``~$book.xlsx``."""
    return path.name.startswith(("~$", ".")) or path.name.casefold() in _SYSTEM


def is_document(path: Path) -> bool:
    """Return whether a file is a document: by its paragraphs, or by the name of a text file, unless it has columns.

    ``authors.csv`` with one column is a table; a file of :data:`UNTYPED` is one only with columns.
    """
    ending, named = path.suffix.lower(), _DOCUMENT.match(path.name) is not None
    if not ending and os.path.lexists(path) and not path.is_file():
        return False  # a folder, a pipe, or a link to nothing
    if ending in UNTYPED and (ending or not named):
        lines = [line for line in _first_lines(path) if line.strip()]
        return any("\0" in line for line in lines) or not _has_columns(lines)
    if ending not in _TEXTS:
        return ending in DOCUMENTS or (named and not ending)
    if not (named or ending == ".txt"):
        return False
    lines = _first_lines(path)
    filled = [line for line in lines if line.strip()]
    if _has_columns(filled):
        return False
    wordy = sum(len(line.split()) >= _WORDS for line in filled)
    paragraphs = len(filled) >= _FEWEST_LINES and len(filled) < len(lines) and 2 * wordy >= len(filled)
    short = len(filled) < _FEWEST_TABLE_LINES and 2 * sum(map(_is_sentence, filled)) >= len(filled)
    return paragraphs or ((named or short) and ending == ".txt")


def _is_sentence(line: str) -> bool:
    return len(line.split()) >= _WORDS and line.rstrip().endswith((".", "!", "?", ":"))


def _first_lines(path: Path) -> list[str]:
    """Return the first lines of a text file, without blank ones at the end; none of a member of an archive."""
    if not path.is_file():  # a pipe would be waited for
        return []
    try:
        with path.open(encoding="utf-8", errors="replace") as handle:
            text = "".join(handle.readline(_LONGEST) for _ in range(_LINES))
    except OSError:
        return []
    return text.rstrip("\r\n ").splitlines()


def _has_columns(lines: Sequence[str]) -> bool:
    """Return whether nearly all lines have the same number of one delimiter, with or without those in quotes."""
    for sign in _SIGNS:
        for counts in (Counter(line.count(sign) for line in lines), _unquoted(lines, sign)):
            number, count = counts.most_common(1)[0] if counts else (0, 0)
            if number and counts.total() > 1 and count >= _ALIKE * counts.total():
                return True
    return False


def _unquoted(lines: Sequence[str], sign: str) -> Counter[int]:
    """Return how many rows have how many delimiters outside of quotes."""
    try:
        return Counter(len(row) - 1 for row in csv.reader(lines, delimiter=sign))
    except csv.Error:
        return Counter()
