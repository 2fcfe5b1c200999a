"""Read bibliographies of BibTeX and BibLaTeX (``.bib``) as the records of JSON: one for each entry.

An entry has its citation key (``key``), its ``type``, and its fields in lower case, without braces and commands of
LaTeX. Persons (``author``, ``editor``, ``translator``) and ``keywords`` are lists. Abbreviations (``@string``) are
resolved. Source: the manuals of BibTeX (1988) and of BibLaTeX 3.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kbkit.errors import BadInputError, reason
from kbkit.readers.whole_files import text_of

MAX_BYTES = 256 << 20
"""Maximum bytes of a file, decompressed."""
CROSSREF = "crossref"
"""The field with the citation key of the entry that has further fields."""
_PERSONS = ("author", "editor", "translator")
_IGNORED = ("comment", "preamble")
_START = re.compile(r"@\s*([A-Za-z]+)\s*([{(])")
_FIELD = re.compile(r"\s*,?\s*([^\s=,{}()\"#%]+)\s*=\s*")
_KEY = re.compile(r"\s*([^\s,{}]+)\s*(?=[,})])")
_WORD = re.compile(r"[^\s,#{}()\"]+")
_PAIR = 2
_NAMES_OF_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS = {name: str(number) for number, name in enumerate(_NAMES_OF_MONTHS, 1)}
_AND = re.compile(r"\s+and\s+", re.IGNORECASE)
_ACCENTS = {"`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", "=": "\u0304", "u": "\u0306", ".": "\u0307",
            '"': "\u0308", "r": "\u030a", "H": "\u030b", "v": "\u030c", "c": "\u0327", "k": "\u0328"}  # fmt: skip
_LETTERS = {"ss": "ß", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "o": "ø", "O": "Ø", "aa": "å", "AA": "Å", "l": "ł",
            "L": "Ł", "i": "i", "j": "j"}  # fmt: skip
_ACCENT = re.compile(r"\\([`'^~=.\"]|[uvHckr](?![A-Za-z]))\s*\{?\s*\\?([A-Za-z])\s*\}?")
_LETTER = re.compile(rf"\\({'|'.join(sorted(_LETTERS, key=len, reverse=True))})(?![A-Za-z])\s?")
_COMMAND = re.compile(r"\\[A-Za-z]+\*?\s*")


def read(path: Path) -> list[dict[str, Any]]:
    """Return the entries of a file. Raises :class:`BadInputError` for invalid and large files."""
    text = text_of(path, MAX_BYTES, "BibTeX")
    known, entries = dict(_MONTHS), []
    place = 0
    while start := _START.search(text, place):
        kind, closing = start[1].lower(), "}" if start[2] == "{" else ")"
        try:
            if kind in _IGNORED:
                place = _end(text, start.end() - 1) if start[2] == "{" else start.end()
                continue
            key = None if kind == "string" else _KEY.match(text, start.end())
            fields, place = _fields(text, key.end() if key else start.end(), closing, known)
        except ValueError as error:
            line = text.count("\n", 0, start.start()) + 1
            raise BadInputError(f"Invalid BibTeX in {path}, line {line}: {reason(error)}") from None
        if kind == "string":
            known |= fields
        elif key:
            entries.append({"key": key[1], "type": kind, **dict(_clean(fields))})
    return entries


def _fields(text: str, place: int, closing: str, known: dict[str, str]) -> tuple[dict[str, str], int]:
    """Return the fields of an entry, and where it ends. Raises ValueError for an entry without end."""
    found: dict[str, str] = {}
    while field := _FIELD.match(text, place):
        value, place = _value(text, field.end(), known)
        found.setdefault(field[1].lower(), value)
    end = re.compile(rf"[\s,]*\{closing}").match(text, place)
    if end is None:
        raise ValueError("an entry without end")
    return found, end.end()


def _value(text: str, place: int, known: dict[str, str]) -> tuple[str, int]:
    """Return the value at a place, whose parts ``#`` joins, and where it ends."""
    parts = []
    while True:
        first = text[place : place + 1]
        if first == "{":
            end = _end(text, place)
            parts.append(text[place + 1 : end - 1])
        elif first == '"':
            end = _end_of_quotes(text, place)
            parts.append(text[place + 1 : end - 1])
        elif word := _WORD.match(text, place):
            end = word.end()
            parts.append(known.get(word[0].lower(), word[0]))
        else:
            raise ValueError("a field without value")
        joint = re.compile(r"\s*#\s*").match(text, end)
        if joint is None:
            return "".join(parts), end
        place = joint.end()


def _end(text: str, place: int) -> int:
    """Return where the braces that start at a place end."""
    depth = 0
    for brace in re.compile(r"\\.|[{}]", re.DOTALL).finditer(text, place):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if depth == 0 and brace[0] == "}":
            return brace.end()
    raise ValueError("a brace without end")


def _end_of_quotes(text: str, place: int) -> int:
    depth = 0
    for sign in re.compile(r"\\.|[{}\"]", re.DOTALL).finditer(text, place + 1):
        depth += {"{": 1, "}": -1}.get(sign[0], 0)
        if depth == 0 and sign[0] == '"':
            return sign.end()
    raise ValueError("a quote without end")


def _clean(fields: dict[str, str]) -> Iterator[tuple[str, Any]]:
    for name, value in fields.items():
        own = f"{name}_field" if name in ("key", "type") else name
        if name in _PERSONS:
            yield own, [one for person in _and(value) if (one := _last_first(person)) and one != "others"]
        elif name == "keywords":
            yield own, [one for part in re.split(r"[,;]", value) if (one := _plain(part))]
        elif plain := _plain(value):
            yield own, plain


def _and(value: str) -> list[str]:
    """Return the persons of a field: those of ``{Barnes and Noble}`` are one."""
    masked = re.sub(r"\{[^{}]*\}", lambda found: re.sub(r"\s", "\0", found[0]), value)
    return [one.replace("\0", " ") for one in _AND.split(masked)]


def _last_first(person: str) -> str:
    """Return a person with the last name first, which starts with any words in lower case: ``van Dijk, Jan``."""
    words = _plain(person).split()
    if "," in person or "{" in person or len(words) < _PAIR:
        return " ".join(words)
    last = next((place for place, word in enumerate(words) if word[0].islower()), len(words) - 1)
    first = " ".join(words[:last])
    return f"{' '.join(words[last:])}, {first}" if first else " ".join(words)


def _plain(value: str) -> str:
    """Return a text without braces and commands of LaTeX, with accents on their letters."""
    text = _ACCENT.sub(lambda found: found[2] + _ACCENTS[found[1]], value)
    text = _COMMAND.sub("", _LETTER.sub(lambda found: _LETTERS[found[1]], text))
    text = re.sub(r"\\([&%$#_{}])", r"\1", text.replace("~", " ").replace("---", "–").replace("--", "–"))
    return unicodedata.normalize("NFC", " ".join(re.sub(r"[{}]", "", text).split()))
