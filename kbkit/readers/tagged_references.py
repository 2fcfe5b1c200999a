"""Read bibliographies with a tag before each field, as the records of JSON: RIS (``.ris``), and the tags of Refer and
EndNote (``.enw``).

A reference has its fields under names as in BibTeX; authors, editors and keywords are lists. Fields with a tag of
another program keep it as their name. Source: RIS format specifications (Reference Manager, 2011); refer(1).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kbkit.errors import BadInputError
from kbkit.readers.whole_files import text_of

MAX_BYTES = 256 << 20
"""Maximum bytes of a file, decompressed."""
_RIS = {
    "TY": "type", "ID": "key", "AU": "author", "A1": "author", "A2": "editor", "ED": "editor", "A4": "translator",
    "TI": "title", "T1": "title", "CT": "title", "T2": "journal", "JO": "journal", "JF": "journal",
    "J2": "abbreviation", "JA": "abbreviation", "BT": "booktitle", "T3": "series", "PY": "year", "Y1": "year",
    "DA": "date", "Y2": "accessed", "VL": "volume", "IS": "issue", "SP": "start_page", "EP": "end_page", "DO": "doi",
    "UR": "url", "L1": "file", "AB": "abstract", "N2": "abstract", "KW": "keywords", "PB": "publisher", "CY": "place",
    "SN": "issn", "LA": "language", "N1": "note", "ET": "edition", "DB": "database", "AN": "accession_number",
}  # fmt: skip
_REFER = {
    "0": "type", "F": "key", "A": "author", "E": "editor", "Y": "series_editor", "?": "translator", "T": "title",
    "J": "journal", "B": "booktitle", "S": "series", "D": "year", "8": "date", "V": "volume", "N": "issue",
    "P": "pages", "R": "doi", "U": "url", ">": "file", "X": "abstract", "K": "keywords", "I": "publisher",
    "C": "place", "@": "issn", "G": "language", "Z": "note", "7": "edition", "M": "accession_number", "W": "database",
    "+": "address", "9": "work_type", "O": "note", "!": "short_title",
}  # fmt: skip
_LISTS = frozenset(["author", "editor", "translator", "series_editor", "keywords"])
_RIS_LINE = re.compile(r"([A-Z][A-Z0-9]) {1,2}-(?: (.*))?$")
_REFER_LINE = re.compile(r"%(\S)(?: (.*))?$")
_YEAR = re.compile(r"\d{4}\b")


def read(path: Path) -> list[dict[str, Any]]:
    """Return the references in a file. Raises :class:`BadInputError` for invalid and large files."""
    text = text_of(path, MAX_BYTES, "bibliographies")
    is_ris = path.name.lower().removesuffix(".gz").endswith(".ris")
    return [_reference(fields, _RIS if is_ris else _REFER) for fields in _records(path, text, is_ris=is_ris)]


def _records(path: Path, text: str, *, is_ris: bool) -> Iterator[list[tuple[str, str]]]:
    """Yield the tags and texts of each reference; lines without a tag go on with the text before them."""
    line_of, first, fields = (_RIS_LINE, "TY", []) if is_ris else (_REFER_LINE, "0", list[tuple[str, str]]())
    for number, line in enumerate(text.splitlines(), 1):
        found = line_of.match(line.strip() if is_ris else line.rstrip())
        if found and (found[1] == first or (is_ris and found[1] == "ER")) and fields:
            yield fields
            fields = []
        if found and found[1] != "ER":
            fields.append((found[1], (found[2] or "").strip()))
        elif line.strip() and not found:
            if not fields:
                raise BadInputError(f"No tag in {path}, line {number}", "Each reference starts with its type")
            fields[-1] = (fields[-1][0], f"{fields[-1][1]} {line.strip()}".strip())
        elif not is_ris and not line.strip() and fields and not any(tag == first for tag, _ in fields):
            yield fields
            fields = []
    if fields:
        yield fields


def _reference(fields: list[tuple[str, str]], tags: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for tag, text in fields:
        name = tags.get(tag, tag)
        if not text:
            continue
        if name in _LISTS:
            parts = re.split(r"\s*[;\n]\s*", text) if name == "keywords" else [text.rstrip(",")]
            found[name] = [*found.get(name, []), *filter(None, parts)]
        elif name in found:  # T2 and JO, or several notes
            found[name] = found[name] if found[name] == text else f"{found[name]}; {text}"
        else:
            found[name] = text
    if (start := found.pop("start_page", "")) or "end_page" in found:
        found["pages"] = "-".join(filter(None, [start, found.pop("end_page", "")]))
    if year := _YEAR.match(found.get("year", "")):  # 2010/05/03/
        rest = found["year"].strip("/").replace("/", "-")
        found |= {"year": int(year[0])} | ({"date": rest} if rest != year[0] and "date" not in found else {})
    return found
