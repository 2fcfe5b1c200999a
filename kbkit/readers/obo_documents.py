"""Read ontologies in the OBO format as the records of JSON: one for each term and each individual.

A record has the tags of its stanza. ``is_a`` and each relation (``part_of``) are lists of identifiers, without the
names behind ``!``. Source: OBO Flat File Format 1.4. The definitions of relations (``[Typedef]``) are left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from kbkit.errors import BadInputError, reason
from kbkit.readers.whole_files import content_of

MAX_BYTES = 256 << 20
"""Maximum bytes of a file, decompressed."""
_KINDS = ("[Term]", "[Instance]")
_LISTS = frozenset(
    ["alt_id", "consider", "disjoint_from", "instance_of", "intersection_of", "is_a", "replaced_by", "subset",
     "synonym", "union_of", "xref"]
)  # fmt: skip
"""Tags that may repeat, whose values are lists in every record."""
_SINGLE = frozenset(("id", "name"))
"""Tags that have one value: of several, the first."""
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_BEHIND = re.compile(r"\s+(\{[^{}]*\})?\s*(! .*)?$")
_PAIR = 2


def read(path: Path) -> list[dict[str, Any]]:
    """Return the records of a file. Raises :class:`BadInputError` for invalid and large files."""
    try:
        text = content_of(path, MAX_BYTES, "OBO").decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInputError(f"Cannot read {path}: {reason(error)}") from None
    records: list[dict[str, Any]] = []
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("["):
            inside = line.strip() in _KINDS
            records += [{}] if inside else []
        elif inside and line.strip() and not line.startswith("!"):
            tag, sign, value = line.partition(":")
            if not sign:
                raise BadInputError(f"Invalid OBO in {path}, line {number}", "Write a tag and its value: name: cell")
            _add(records[-1], tag.strip(), value.strip())
    return [one for one in records if one.get("id")]


def _add(record: dict[str, Any], tag: str, value: str) -> None:
    quoted = _QUOTED.match(value)
    plain = re.sub(r"\\(.)", r"\1", quoted[1]) if quoted else _BEHIND.sub("", f"{value} ").strip()
    if tag == "relationship" and len(parts := plain.split()) >= _PAIR:
        _append(record, f"{parts[0]}_relation" if parts[0] in _SINGLE else parts[0], parts[1])
    elif tag in _LISTS or tag == "property_value":
        _append(record, tag, value if tag == "property_value" else plain)
    elif tag not in record:
        record[tag] = plain == "true" if plain in ("true", "false") else plain
    elif tag not in _SINGLE:
        _append(record, tag, plain)


def _append(record: dict[str, Any], name: str, value: str) -> None:
    known = record.setdefault(name, [])
    if not isinstance(known, list):
        record[name] = known = [known]
    known.append(value)
