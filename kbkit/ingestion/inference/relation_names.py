"""Names of relations: of the columns that refer to rows, without words such as ``id``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from kbkit.ingestion.inference import names
from kbkit.ingestion.inference.table_link import TableLink

_UNNAMED = re.compile(r"column\d+")
"""Names of columns of files without a header."""
_FIELD = re.compile(r".*\b(?:field|link|property|relation) ?\(([^()]+)\)", re.IGNORECASE)
"""Names of columns that say only that they are fields before the name of the field: ``Custom field (Epic Link)``."""


def relations_of(links: Sequence[TableLink], folder: str, types: Mapping[str, str]) -> list[str]:
    """Return the relations of links to tables with ``types``. Of ``assignee`` and ``assignees``, the second keeps the
    name of its column.
    """
    found: list[str] = []
    fields = Counter(filter(None, (_in_brackets(link) for link in links)))
    short = [_of_field(link, fields) or _relation(link, folder, types) for link in links]
    for link, own in zip(links, short, strict=True):
        relation, whole = _written_out(own, link), names.identifier("_".join(names.words(link.columns[0])))
        relation = own if relation in short else relation
        found.append(whole if relation in found and names.is_plural(link.columns[0]) else relation)
    return found


def _in_brackets(link: TableLink) -> str:
    """Return the name of a field in brackets as a relation; empty for other columns."""
    found = _FIELD.fullmatch(link.columns[0]) if len(link.columns) == 1 else None
    parts = names.words(found[1]) if found else ()
    return names.identifier("_".join(parts)) if parts and not names.is_id(found[1] if found else "") else ""


def _of_field(link: TableLink, fields: Mapping[str, int]) -> str:
    """Return the name of a field in brackets, with the first word of the column if two columns have it."""
    own = _in_brackets(link)
    return own if fields.get(own, 0) <= 1 else names.identifier(f"{names.words(link.columns[0])[0]}_{own}")


def _written_out(relation: str, link: TableLink) -> str:
    """Return a relation with the noun of the type that its last word abbreviates: ``department`` for ``dept``."""
    start, _, last = relation.rpartition("_")
    noun = names.types([names.words(link.target)])[0].rpartition("_")[2] if link.target else ""
    return f"{start}_{noun}".lstrip("_") if names.is_abbreviation(last, noun) else relation


def _relation(link: TableLink, folder: str, types: Mapping[str, str]) -> str:
    """Return the relation of a column: its name without ``id`` and the like; that of names of folders says nothing."""
    target = tuple(types[link.target].split("_")) if link.target else ()
    others = [column for column, by in zip(link.columns, link.by, strict=False) if column != by]
    if len(link.columns) > 1 and len(others) == 1:
        return names.identifier("_".join(names.subject(others[0])))
    if len(link.columns) > 1 or (target and link.columns == (folder,)):
        return names.identifier("_".join(target))
    if target and _UNNAMED.fullmatch(link.columns[0]):
        return names.identifier("_".join(target))
    parts = names.subject(link.columns[0])
    parts = parts[-1:] if parts[-2:] == ("of", "parent") else parts
    own = names.words(link.columns[0])
    if target and link.columns == link.by and own[-1:] in _ADDRESSES:
        return names.identifier("_".join(target))  # the address of the same page, which is named after a site
    if target and own == (*target, *names.words(link.by[0])):
        parts = target  # compound_cid, of the key cid of compounds
    elif target and names.is_global_id(link.columns[0]) and names.is_same_global_id(link.columns[0], link.by[0]):
        parts = names.without_global_id(link.columns[0]) or target  # the billing of Billing email
    elif target and names.words(link.by[0]) != target and names.with_key(link.columns[0], link.by[0]):
        parts = own[: -len(names.words(link.by[0]))] or target  # mgr_ssn, or essn
    return names.identifier("_".join(parts)) if parts else names.identifier(link.columns[0])


_ADDRESSES = {("url",), ("uri",), ("link",), ("href",)}
