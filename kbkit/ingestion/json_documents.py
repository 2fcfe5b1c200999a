"""Files of other formats that are read as the object of a JSON file: XML, YAML, OBO, bibliographies, GEDCOM, mailboxes.

To read another format, add it to :data:`READERS`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kbkit.errors import NoRecordsError
from kbkit.ingestion import json_resources
from kbkit.ingestion.json_wholes import lists_in
from kbkit.readers import (
    bibliographies,
    family_trees,
    mailboxes,
    obo_documents,
    property_lists,
    tagged_references,
    xml_records,
    yaml_documents,
)

XML = (".xml", ".opml", ".rss", ".atom", ".kml", ".gpx", ".osm")
"""Endings of XML files."""
TAGGED = (".ris", ".enw")
"""Endings of bibliographies with a tag before each field."""


@functools.lru_cache(4)
def _document(path: Path, _: int) -> dict[str, Any]:
    """Return the only document of a YAML file, or the list of the resources, records or documents in it."""
    documents = [one for one in yaml_documents.read(path) if one is not None]
    if found := json_resources.listed(documents):
        return {"records": found}
    if len(documents) == 1 and isinstance(documents[0], dict):
        return documents[0]
    rows = documents[0] if len(documents) == 1 else documents
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise NoRecordsError(f"{path} has no list of records", "Records are mappings. Convert it to CSV or JSON")
    return {"records": rows}


@functools.lru_cache(2)
def _entries(path: Path, _: int) -> dict[str, Any]:
    return {"entries": bibliographies.read(path)}


@functools.lru_cache(2)
def _references(path: Path, _: int) -> dict[str, Any]:
    return {"references": tagged_references.read(path)}


@functools.lru_cache(2)
def _terms(path: Path, _: int) -> dict[str, Any]:
    return {"terms": obo_documents.read(path)}


@functools.lru_cache(4)
def _elements(path: Path, _: int) -> dict[str, Any]:
    """Return the lists of elements of an XML file, which are inside of other elements, by their names; the object of a
    property list, the resources of a map.
    """
    root, top = xml_records.read_document(path)
    if root == _PROPERTY_LIST:
        return property_lists.read(path)
    if root == _MAP and (found := json_resources.listed(_map_elements(top))):
        return {"records": found}
    lists: dict[str, Any] = {}
    inside = [top]
    while inside and not lists:  # the lists that are nearest to the first element
        members = [(name, value) for one in inside for name, value in one.items()]
        lists = {name: value for name, value in members if name in lists_in({name: value})}
        inside = [value for _, value in members if isinstance(value, dict)]
    if not lists:
        hint = "Records are elements of one name with attributes or elements inside. Convert it to CSV or JSON"
        raise NoRecordsError(f"{path} has no list of records", hint)
    return lists


_PROPERTY_LIST, _MAP = "plist", "osm"
"""Names of the first elements of documents that are no lists of elements of one kind."""


def _map_elements(top: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the elements of an XML file of OpenStreetMap as in the JSON of Overpass."""
    return [
        {
            **{name: value for name, value in one.items() if name not in ("tag", "nd", "member")},
            "type": kind,
            "id": int(one["id"]),
            "tags": {tag["k"]: tag["v"] for tag in _listed(one.get("tag"))},
            "nodes": [int(node["ref"]) for node in _listed(one.get("nd"))],
            "members": [{**member, "ref": int(member["ref"])} for member in _listed(one.get("member"))],
        }
        for kind in ("node", "way", "relation")
        for one in _listed(top.get(kind))
    ]


def _listed(value: Any) -> list[dict[str, Any]]:
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, dict)]


@functools.lru_cache(4)
def _tree(path: Path, _: int) -> dict[str, Any]:
    return dict(family_trees.read(path))


@functools.lru_cache(4)
def _mails(path: Path, _: int) -> dict[str, Any]:
    return dict(mailboxes.read(path))


READERS: Mapping[str, Callable[[Path, int], dict[str, Any]]] = {
    ".bib": _entries,
    ".ged": _tree,
    ".mbox": _mails,
    ".yaml": _document,
    ".yml": _document,
    ".obo": _terms,
    **dict.fromkeys(TAGGED, _references),
    **dict.fromkeys(XML, _elements),
}
"""Functions of a path and the time of its last change, by the ending of a file's name."""
