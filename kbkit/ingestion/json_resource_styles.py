"""Ways to write records that state their kind and refer to others by kind and identifier; see :data:`STYLES`.

- resources of FHIR (``{"resourceType": "Patient", "id": "1"}``), alone or in a bundle, and ``{"reference":
  "Patient/1"}``;
- documents of JSON:API (``{"data": [{"type": "article", "id": "1", "attributes": {}, "relationships": {}}]}``);
- elements of OpenStreetMap (``{"type": "way", "id": 1, "nodes": [2, 3], "tags": {}}``) in answers of Overpass;
- nodes of JSON-LD (``{"@id": "b1", "@type": "Book", "author": {"@id": "p1"}}``), whose context may be elsewhere;
- entries of catalogues (``{"apiVersion": "v1", "kind": "Component", "metadata": {"name": "cart"}, "spec": {}}``), and
  ``component:default/cart``.

To read another style, add it to :data:`STYLES`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Row = Mapping[str, Any]


@dataclass(frozen=True)
class ResourceReference:
    """A reference to a resource."""

    kind: str
    key: str


@dataclass
class Resource:
    """A resource: its fields, and ``also``, other texts that refer to it."""

    kind: str
    key: str
    fields: dict[str, Any]
    also: Sequence[str] = ()


@dataclass
class KnownResources:
    """The resources of a source: keys by kind, and references by the other texts that refer to a resource."""

    keys: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    also: dict[str, ResourceReference] = field(default_factory=dict)


def _none(_value: Any) -> None:
    return None


def _unchanged(rows: list[dict[str, Any]], _kind: str, _known: KnownResources) -> list[dict[str, Any]]:
    return rows


@dataclass(frozen=True)
class ResourceStyle:
    """A way to write resources.

    - ``marker``: pattern of bytes that files of the style contain.
    - ``documents``: returns the resources in a document.
    - ``fits``: returns whether a record is a resource.
    - ``read``: returns the resource of a record.
    - ``refer``: returns the resource that a value refers to, a text if the source lacks it, None for other values.
    - ``concept``: returns the meaning and the code of a coded value, None for other values.
    - ``simplify``: returns a shorter form of a value, None for values that have none.
    - ``resolve``: returns the fields of all resources of a kind, with references in place of names.
    - ``single``: most lists have one element.
    """

    marker: bytes
    documents: Callable[[Row], Sequence[Any]]
    fits: Callable[[Row], bool]
    read: Callable[[Row], Resource]
    refer: Callable[[Any, KnownResources], ResourceReference | str | None]
    concept: Callable[[Any], tuple[str, str] | None] = _none
    simplify: Callable[[Any], Any] = _none
    resolve: Callable[[list[dict[str, Any]], str, KnownResources], list[dict[str, Any]]] = _unchanged
    single: bool = False


# -- bundles ----------------------------------------------------------------------------------------------------------


def _bundle(row: Row) -> Sequence[Any]:
    entries = row.get("entry") if "resourceType" in row else None
    if isinstance(entries, list):
        inside = [(one.get("fullUrl"), one["resource"]) for one in entries if isinstance(one, dict) and
                  isinstance(one.get("resource"), dict)]  # fmt: skip
        return [{**resource, "fullUrl": url} for url, resource in inside]
    return [row]


def _is_identified(row: Row) -> bool:
    return isinstance(row.get("resourceType"), str) and bool(row.get("id") or row.get("fullUrl"))


def _of_bundle(row: Row) -> Resource:
    fields = {name: value for name, value in row.items() if name not in ("resourceType", "id", "fullUrl", "meta")}
    if isinstance(fields.get("text"), dict) and "div" in fields["text"]:
        del fields["text"]  # made of the other fields
    kind, key = row["resourceType"], str(row.get("id") or row["fullUrl"])
    listed = row.get("identifier")
    ids = [one for one in (listed if isinstance(listed, list) else [listed]) if isinstance(one, dict)]
    tokens = [f"{one.get('system') or ''}|{one['value']}" for one in ids if one.get("value")]
    also = [row.get("fullUrl") or "", *tokens, *(f"{kind}?identifier={token}" for token in tokens)]
    return Resource(kind, key, fields, [text for text in also if text])


def _refers_in_bundle(value: Any, known: KnownResources) -> ResourceReference | None:
    if not isinstance(value, dict):
        return None
    text = value.get("reference")
    if isinstance(text, str):
        named = re.search(r"(?:^|/)([A-Z][A-Za-z]+)/([A-Za-z0-9.\-]{1,64})(?:/_history/.*)?$", text)
        if text not in known.also and named and named[1] in known.keys:
            return ResourceReference(named[1], named[2])
        return known.also.get(text)
    identifier = value.get("identifier")
    if isinstance(identifier, dict) and set(value) <= {"identifier", "display", "type"}:
        return known.also.get(f"{identifier.get('system') or ''}|{identifier.get('value')}")
    return None


_IDENTIFIER = {"use", "type", "system", "value", "period", "assigner", "rank"}
_CODING = {"system", "code", "display", "version", "userSelected"}


def _concept(value: Any) -> tuple[str, str] | None:
    """Return the meaning and the code of ``{"coding": [{"code": "1", "display": "Cold"}], "text": "Cold"}``."""
    if not isinstance(value, dict) or not value:
        return None
    codings = value.get("coding", [value])
    if not set(value) <= ({"coding", "text"} if "coding" in value or "text" in value else _CODING):
        return None
    first = codings[0] if isinstance(codings, list) and codings and isinstance(codings[0], dict) else {}
    text = value.get("text") or first.get("display") or first.get("code")
    return (str(text), str(first.get("code") or "")) if text and ("text" in value or "code" in first) else None


def _simplify(value: Any) -> Any:
    """Return the pairs of extensions, the name of a person, or the value of an identifier."""
    if isinstance(value, list):
        return _extensions(value) or None
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("family"), str):
        given = value.get("given")
        parts = [*(given if isinstance(given, list) else [given]), value["family"]]
        return " ".join(part for part in parts if isinstance(part, str))
    return value["value"] if isinstance(value.get("value"), str) and set(value) <= _IDENTIFIER else None


def _extensions(values: Sequence[Any]) -> dict[str, Any]:
    """Return pairs of names and values of ``[{"url": "https://.../birthsex", "valueCode": "F"}]``."""
    found = {}
    for one in values:
        fields = [name for name in one if name != "url"] if isinstance(one, dict) and "url" in one else []
        if len(fields) != 1 or not fields[0].startswith("value"):
            return {}
        found[str(one["url"]).rstrip("/").rpartition("/")[2]] = one[fields[0]]
    return found


# -- documents --------------------------------------------------------------------------------------------------------


def _document(row: Row) -> Sequence[Any]:
    data, included = row.get("data"), row.get("included")
    if isinstance(data, list | dict) and "type" not in row:
        return [*(data if isinstance(data, list) else [data]), *(included if isinstance(included, list) else [])]
    return [row]


def _is_resource_object(row: Row) -> bool:
    parts = [row[name] for name in ("attributes", "relationships") if name in row]
    named = isinstance(row.get("type"), str) and isinstance(row.get("id"), str)
    known = {"type", "id", "attributes", "relationships", "links", "meta"}
    return named and parts != [] and all(isinstance(part, dict) for part in parts) and set(row) <= known


def _of_document(row: Row) -> Resource:
    attributes, related = row.get("attributes") or {}, row.get("relationships") or {}
    data = {name: one["data"] for name, one in related.items() if isinstance(one, dict) and one.get("data")}
    return Resource(row["type"], row["id"], {**attributes, **data})


_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def _refers_in_document(value: Any, known: KnownResources) -> ResourceReference | str | None:
    if not isinstance(value, dict) or not {"type", "id"} <= set(value) <= {"type", "id", "meta"}:
        return None
    kind, key = str(value["type"]), str(value["id"])
    if kind not in known.keys:
        return key
    is_word = not _UUID.fullmatch(key) and all(map(_UUID.fullmatch, known.keys[kind]))  # such as "missing"
    return "" if is_word else ResourceReference(kind, key)


# -- catalogues -------------------------------------------------------------------------------------------------------


def _items(row: Row) -> Sequence[Any]:
    items = row.get("items")
    return items if isinstance(items, list) and "apiVersion" in row and "metadata" in row else [row]


def _is_entry(row: Row) -> bool:
    named = isinstance(row.get("metadata"), dict) and isinstance(row["metadata"].get("name"), str)
    return named and isinstance(row.get("kind"), str) and isinstance(row.get("apiVersion"), str)


def _of_catalogue(row: Row) -> Resource:
    about = {name: value for name, value in row["metadata"].items() if name != "annotations"}
    links = about.get("links")
    if isinstance(links, list):
        about["links"] = [one.get("url") if isinstance(one, dict) else one for one in links]
    rest = {name: value for name, value in row.items() if name not in ("apiVersion", "kind", "metadata", "spec")}
    spec = row.get("spec")
    return Resource(row["kind"], about["name"], {**rest, **about, **(spec if isinstance(spec, dict) else {})})


def _with_named_references(rows: list[dict[str, Any]], kind: str, known: KnownResources) -> list[dict[str, Any]]:
    """Return rows with references in place of texts in the fields where most values are names of entries.

    Such texts are ``cart``, ``component:cart`` and ``component:default/cart``.
    """
    kinds = {one.casefold(): one for one in known.keys}
    fields = dict.fromkeys(name for row in rows for name in row if name not in ("name", "title", "description", "type"))
    for name in fields:
        values = [row[name] for row in rows if name in row]
        texts = [one for value in values for one in (value if isinstance(value, list) else [value])]
        if not all(isinstance(one, str) for one in texts):
            continue
        split = [_split_reference(one, kinds) for one in texts]
        plain = [key for of, key in split if not of]
        shares = {of: sum(key in keys for key in plain) / max(len(plain), 1) for of, keys in known.keys.items()}
        named = [of for of in shares if name.casefold().removesuffix("s").endswith(of.casefold())]
        best = max(shares, key=lambda of: (shares[of] > 0.5 and of in named, shares[of], of == kind))
        if 2 * sum(bool(of) or key in known.keys[best] for of, key in split) <= len(split):
            continue
        for row in (row for row in rows if name in row):
            value = row[name]
            found = [ResourceReference(of or best, key)
                     for of, key in (_split_reference(one, kinds) for one in (value if isinstance(value, list) else
                                                                              [value]))]  # fmt: skip
            row[name] = found if isinstance(value, list) else found[0]
    return rows


def _split_reference(text: str, kinds: Mapping[str, str]) -> tuple[str, str]:
    """Return the kind, empty if the text has none, and the name of a reference."""
    kind, sign, rest = text.rpartition(":")
    of = kinds.get(kind.casefold(), "") if sign else ""
    return (of, rest.rpartition("/")[2]) if of or not sign else ("", text)


# -- maps -------------------------------------------------------------------------------------------------------------

_ELEMENTS = ("node", "way", "relation")


def _elements(row: Row) -> Sequence[Any]:
    elements = row.get("elements")
    return elements if isinstance(elements, list) and "version" in row and "generator" in row else [row]


def _is_element(row: Row) -> bool:
    number = isinstance(row.get("id"), int) and row.get("type") in _ELEMENTS
    return number and isinstance(row.get("tags", {}), dict) and not {"labels", "properties"} & set(row)


def _of_map(row: Row) -> Resource:
    """Return an element with its tags as fields, and its members in a field for each role."""
    fields = {name: value for name, value in row.items() if name not in ("type", "id", "tags", "nodes", "members")}
    tags = row.get("tags", {})
    fields |= {f"tag_{name}" if name in (*fields, "id") else name: value for name, value in tags.items()}
    nodes, others = (row[name] if isinstance(row.get(name), list) else [] for name in ("nodes", "members"))
    members: list[tuple[str, Any, Any]] = [("nodes", "node", number) for number in nodes]
    members += [(str(m.get("role") or "member"), m.get("type"), m.get("ref")) for m in others if isinstance(m, dict)]
    related: dict[str, list[dict[str, Any]]] = {}
    for role, kind, number in members:
        field_of = f"{role}_member" if role in fields else role
        related.setdefault(field_of, []).append({"element": kind, "ref": number})
    return Resource(row["type"], str(row["id"]), {**fields, **related})


def _refers_on_map(value: Any, _: KnownResources) -> ResourceReference | None:
    if not isinstance(value, dict) or set(value) != {"element", "ref"} or value["element"] not in _ELEMENTS:
        return None
    return ResourceReference(value["element"], str(value["ref"]))


# -- linked data ------------------------------------------------------------------------------------------------------


def _linked_nodes(row: Row) -> Sequence[Any]:
    """Return the nodes of a document, and those with a type and other fields that are inside of them."""
    graph = row.get("@graph")
    nodes = graph if isinstance(graph, list) else [row]
    return [*nodes, *(one for node in nodes for one in _inner_nodes(node))]


def _inner_nodes(value: Any) -> Iterator[Row]:
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        if isinstance(one, dict) and _is_linked_node(one):
            yield one
        yield from _inner_nodes(one)


def _is_linked_node(row: Row) -> bool:
    return isinstance(row.get("@id"), str) and bool(_kind_of_node(row))


def _kind_of_node(row: Row) -> str:
    """Return the first type of a node, without its namespace."""
    types = row.get("@type")
    first = types[0] if isinstance(types, list) and types else types
    return re.split(r"[/#:]", first)[-1] if isinstance(first, str) else ""


def _of_linked_data(row: Row) -> Resource:
    fields = {name: value for name, value in row.items() if not name.startswith("@")}
    return Resource(_kind_of_node(row), row["@id"], fields, [row["@id"]])


def _refers_in_linked_data(value: Any, known: KnownResources) -> ResourceReference | str | None:
    if not isinstance(value, dict) or not isinstance(value.get("@id"), str):
        return None
    return known.also.get(value["@id"]) or (value["@id"] if len(value) == 1 else None)


def _plain_literal(value: Any) -> Any:
    """Return the value of a literal, an object without its type."""
    if not isinstance(value, dict) or not any(name.startswith("@") for name in value):
        return None
    plain = {name: one for name, one in value.items() if not name.startswith("@")}
    return value.get("@value", plain)


# -- all styles -------------------------------------------------------------------------------------------------------

STYLES = (
    ResourceStyle(
        rb'"resourceType"',
        _bundle,
        _is_identified,
        _of_bundle,
        _refers_in_bundle,
        concept=_concept,
        simplify=_simplify,
        single=True,
    ),
    ResourceStyle(rb'"(attributes|relationships)"', _document, _is_resource_object, _of_document, _refers_in_document),
    ResourceStyle(
        rb'"?apiVersion"?\s*:', _items, _is_entry, _of_catalogue, lambda *_: None, resolve=_with_named_references
    ),
    ResourceStyle(
        rb'"@type"', _linked_nodes, _is_linked_node, _of_linked_data, _refers_in_linked_data, simplify=_plain_literal
    ),
    ResourceStyle(rb'"elements"', _elements, _is_element, _of_map, _refers_on_map),
)
"""Ways to write resources."""


def may_have_resources(start: bytes) -> bool:
    """Return whether the first bytes of a file contain the marker of a style."""
    return any(re.search(style.marker, start) for style in STYLES)
