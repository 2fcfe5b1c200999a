"""Read family trees in GEDCOM as the records of JSON: individuals, families and sources, which refer to each other.

Source: The GEDCOM Standard 5.5.1 and 7.0. Events have a date and a place (``birth_date``, ``birth_place``) and the year
of the date; families refer to ``husband``, ``wife`` and ``children``. What links back (``FAMS``, ``FAMC``), and tags of
single programs (``_UID``), are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kbkit.errors import BadInputError
from kbkit.readers.whole_files import text_of

MAX_BYTES = 128 << 20
"""Maximum bytes of a file, decompressed."""
_LINE = re.compile(r"\s*(\d{1,2})[ \t]+(?:(@[^@\s][^@]*@)[ \t]+)?(\w{1,31})(?: ([^\n]*))?")
_POINTER = re.compile(r"@([^@#\s][^@]*)@")
_DAY = re.compile(r"(\d{1,2}) ([A-Z]{3}) (\d{3,4})")
_YEAR = re.compile(r"(?<!\d)\d{3,4}(?!\d)")
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_LISTS = {"INDI": "individuals", "FAM": "families", "SOUR": "sources", "REPO": "repositories"}
"""The lists of records by their tags."""
_EVENTS = {
    "BIRT": "birth", "DEAT": "death", "BURI": "burial", "CREM": "cremation", "BAPM": "baptism", "CHR": "christening",
    "CONF": "confirmation", "EMIG": "emigration", "IMMI": "immigration", "NATU": "naturalization", "CENS": "census",
    "RESI": "residence", "MARR": "marriage", "ENGA": "engagement", "DIV": "divorce", "GRAD": "graduation",
    "ADOP": "adoption", "EVEN": "event",
}  # fmt: skip
_FIELDS = {
    "SEX": "sex", "OCCU": "occupation", "RELI": "religion", "EDUC": "education", "NATI": "nationality",
    "TITL": "title", "AUTH": "author", "PUBL": "publication", "ABBR": "abbreviation", "NOTE": "notes", "TEXT": "text",
    "HUSB": "husband", "WIFE": "wife", "CHIL": "children", "SOUR": "sources", "REPO": "repository", "REFN": "number",
    "EMAIL": "email", "PHON": "phone", "ADDR": "address", "WWW": "page",
}  # fmt: skip
_SEVERAL = frozenset({"CHIL", "SOUR"})
"""Tags whose values are lists."""


@dataclass
class _Line:
    """A line with those below it."""

    pointer: str
    tag: str
    value: str
    below: list[_Line] = field(default_factory=list)

    def first(self, tag: str) -> str:
        return next((one.value for one in self.below if one.tag == tag and one.value), "")


def read(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the records by the names of their lists. Raises :class:`BadInputError` for invalid and large files."""
    tops = _lines(path, text_of(path, MAX_BYTES, "GEDCOM"))
    notes = {one.pointer: one.value for one in tops if one.tag in ("NOTE", "SNOTE") and one.pointer}
    found: dict[str, list[dict[str, Any]]] = {}
    for top in tops:
        if top.tag in _LISTS and top.pointer:
            found.setdefault(_LISTS[top.tag], []).append(_record(top, notes))
    return found


def _lines(path: Path, text: str) -> list[_Line]:
    """Return the lines of level 0, with those below them."""
    tops: list[_Line] = []
    above: list[_Line] = []
    for number, line in enumerate(text.splitlines(), 1):
        found = _LINE.match(line)
        if found is None:
            if not line.strip() or not above:
                continue
            above[-1].value += f"\n{line.strip()}"  # a text with line ends of its own
            continue
        level = int(found[1])
        if level > len(above):
            message = f"Level {level} below level {len(above) - 1} in {path}, line {number:,}"
            raise BadInputError(message, "Export the family tree again")
        one = _Line((found[2] or "").strip("@"), found[3].upper(), (found[4] or "").replace("@@", "@"))
        del above[level:]
        if one.tag in ("CONT", "CONC") and above:
            above[-1].value += ("\n" if one.tag == "CONT" else "") + one.value
            above.append(above[-1])  # lines below it belong to the same text
        else:
            (above[-1].below if above else tops).append(one)
            above.append(one)
    if not any(one.tag == "HEAD" for one in tops[:1]):
        raise BadInputError(f"{path} is no family tree in GEDCOM: line 1 is not 0 HEAD", "Export the family tree again")
    return tops


def _record(top: _Line, notes: dict[str, str]) -> dict[str, Any]:
    record: dict[str, Any] = {"id": top.pointer}
    for name, value in _fields(top, notes):
        if value and name in ("children", "sources"):
            record.setdefault(name, []).append(value)
        elif value and name == "notes" and name in record:
            record[name] += f"\n{value}"
        elif value:
            record.setdefault(name, value)
    return record


def _fields(top: _Line, notes: dict[str, str]) -> Iterator[tuple[str, Any]]:
    for one in top.below:
        pointer = _POINTER.fullmatch(one.value.strip())
        if one.tag == "NAME":
            yield "name", " ".join(one.value.replace("/", " ").split())
            own = re.fullmatch(r"[^/]*/([^/]*)/[^/]*", one.value)
            yield "surname", one.first("SURN") or (own[1].strip() if own else "")
            yield "nickname", one.first("NICK")
        elif one.tag in _EVENTS:
            date = one.first("DATE")
            yield f"{_EVENTS[one.tag]}_date", _date(date)
            yield f"{_EVENTS[one.tag]}_year", _year(date)
            yield f"{_EVENTS[one.tag]}_place", one.first("PLAC")
        elif one.tag in _FIELDS and pointer:
            yield _FIELDS[one.tag], notes.get(pointer[1], "") if one.tag == "NOTE" else pointer[1]
        elif one.tag in _FIELDS and one.tag not in _SEVERAL:
            yield _FIELDS[one.tag], one.value.strip()


def _date(text: str) -> str:
    """Return a date of the Gregorian calendar in ISO 8601; others (``ABT 1843``) as they are written."""
    found = _DAY.fullmatch(text.strip().upper())
    if found is None or found[2] not in _MONTHS:
        return text.strip()
    return f"{int(found[3]):04}-{_MONTHS.index(found[2]) + 1:02}-{int(found[1]):02}"


def _year(text: str) -> int | None:
    years = _YEAR.findall(text)
    return int(years[0]) if len(years) == 1 else None
