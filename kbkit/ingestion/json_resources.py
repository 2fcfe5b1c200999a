"""Records that say which kind they are of, and refer to others by kind and identifier: a table for each kind.

They are in one list or in several files, and are found by their shape; see :data:`STYLES`:

- resources of FHIR (``{"resourceType": "Patient", "id": "1"}``), alone or in a bundle, and ``{"reference":
  "Patient/1"}``;
- documents of JSON:API (``{"data": [{"type": "article", "id": "1", "attributes": {}, "relationships": {}}]}``);
- entries of catalogues (``{"apiVersion": "v1", "kind": "Component", "metadata": {"name": "cart"}, "spec": {}}``), and
  ``component:default/cart``.

To read another style, add it to :data:`STYLES`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kbkit.ingestion.json_records import MAIN, RecordTable, records_of_kind

KEY = "id"
"""The column with the identifiers of resources."""
Row = Mapping[str, Any]
Path = tuple[str, ...]


@dataclass(frozen=True)
class ResourceReference:
    """A reference to a resource."""

    kind: str
    key: str


@dataclass
class _Resource:
    """A resource: its fields, and ``also``, other texts that refer to it."""

    kind: str
    key: str
    fields: dict[str, Any]
    also: Sequence[str] = ()


@dataclass(frozen=True)
class _Style:
    """A way to write resources.

    ``documents`` returns the resources in a document, ``fits`` tells whether a record is one, ``read`` returns it, and
    ``refer`` the resource that a value refers to, a text if there is no such one, or None for other values. ``single``:
    most lists have one element.
    """

    documents: Callable[[Row], Sequence[Any]]
    fits: Callable[[Row], bool]
    read: Callable[[Row], _Resource]
    refer: Callable[[Any, _KnownResources], ResourceReference | str | None]
    single: bool = False


@dataclass
class _KnownResources:
    """The resources of a source: keys by kind, and what else refers to one."""

    keys: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    also: dict[str, ResourceReference] = field(default_factory=dict)


def listed(content: Any) -> list[dict[str, Any]]:
    """Return the resources in the content of a JSON file; none if it holds anything else."""
    rows = content if isinstance(content, list) else [content]
    if not rows or not all(isinstance(row, dict) for row in rows):
        return []
    for style in STYLES:
        found = [one for row in rows for one in style.documents(row)]
        if found and all(isinstance(one, dict) and style.fits(one) for one in found):
            return found
    return []


def tables(rows: Sequence[Row]) -> dict[str, RecordTable]:
    """Return the tables of resources, by the names of their kinds; none if the rows are no resources."""
    style = next((style for style in STYLES if rows and all(style.fits(row) for row in rows)), None)
    if style is None:
        return {}
    resources = _merged([style.read(row) for row in rows])
    known = _KnownResources()
    for one in resources:
        known.keys[one.kind].add(one.key)
        known.also |= dict.fromkeys(one.also, ResourceReference(one.kind, one.key))
    names = _table_names(list(known.keys))
    result: dict[str, RecordTable] = {}
    for kind, name in names.items():
        own = [_read_fields(one.fields, style, known) for one in resources if one.kind == kind]
        if style is _CATALOGUE:
            own = _with_named_references(own, kind, known)
        own = _without_single_lists(own) if style.single else own
        keys = [one.key for one in resources if one.kind == kind]
        table = _table([{KEY: key, **fields} for key, fields in zip(keys, own, strict=True)], names)
        parts = records_of_kind(table.rows, name, {*names.values(), *result})
        for part, inside in parts.items():
            own_links = {column: (to or name, by) for column, (to, by) in inside.links.items()}
            if part == MAIN:
                result[name] = RecordTable(inside.rows, KEY, {**own_links, **table.links}, _name_field(inside.rows))
            else:
                result[part] = RecordTable(inside.rows, inside.key, own_links)
    return result


def _merged(resources: Sequence[_Resource]) -> list[_Resource]:
    """Return resources without repeated ones, which several documents have."""
    found: dict[tuple[str, str], _Resource] = {}
    for one in resources:
        same = found.setdefault((one.kind, one.key), one)
        same.fields = {**one.fields, **{name: value for name, value in same.fields.items() if value is not None}}
    return list(found.values())


def _table_names(kinds: Sequence[str]) -> dict[str, str]:
    """Return the names of tables of kinds: ``tags`` of ``taxonomy_term--tags``, unless another kind is called so."""
    last = {kind: re.split(r"--|[./:]", kind)[-1] or kind for kind in kinds}
    folded = Counter(name.casefold() for name in last.values())
    whole = {kind: re.sub(r"\W+", "_", kind) for kind in kinds}
    return {kind: re.sub(r"\W+", "_", name) if folded[name.casefold()] == 1 else whole[kind]
            for kind, name in last.items()}  # fmt: skip


def _name_field(rows: Sequence[Row]) -> str:
    """Return the field with the name of resources without one: what their code means."""
    concepts = [name for row in rows for name in row if f"{name}_code" in row]
    if any("name" in row or "title" in row for row in rows):
        return ""
    ranked = sorted(dict.fromkeys(concepts), key=lambda name: (not re.search("[cC](ode|oncept)$", name), name))
    full = [name for name in ranked if name == "type" or re.search("[cC](ode|oncept)$", name)]
    return next((name for name in full if all(isinstance(row.get(name), str) for row in rows)), "")


# -- fields -----------------------------------------------------------------------------------------------------------


def _read_fields(fields: Row, style: _Style, known: _KnownResources) -> dict[str, Any]:
    """Return the fields of a resource with references, names and meanings of codes in place of their objects."""
    result: dict[str, Any] = {}
    for name, value in fields.items():
        values = value if isinstance(value, list) else [value]
        concepts = [found for one in values if (found := _concept(one))] if style.single else []
        if concepts and len(concepts) == len(values):
            texts, codes = ([one[place] for one in concepts] for place in (0, 1))
            result |= {name: texts if isinstance(value, list) else texts[0]}
            result |= {f"{name}_code": codes if isinstance(value, list) else codes[0]} if any(codes) else {}
        elif (read := _read(value, style, known)) not in _NOTHING:
            result[name] = read
    return result


def _read(value: Any, style: _Style, known: _KnownResources) -> Any:
    if isinstance(value, list):
        if style.single and (pairs := _extensions(value)):
            return pairs
        return [read for one in value if (read := _read(one, style, known)) not in _NOTHING]
    if (reference := style.refer(value, known)) is not None or not isinstance(value, dict):
        return value if reference is None else reference
    if style.single and isinstance(value.get("family"), str):
        given = value.get("given") or []
        return " ".join([*(given if isinstance(given, list) else [given]), value["family"]])
    if style.single and isinstance(value.get("value"), str) and set(value) <= _IDENTIFIER:
        return value["value"]
    result = _read_fields(value, style, known)
    only = next(iter(result.values())) if len(result) == 1 else None
    return only if _are_references(only) else result


_NOTHING: tuple[Any, ...] = (None, "", {}, [])
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


def _extensions(values: Sequence[Any]) -> dict[str, Any]:
    """Return pairs of names and values of ``[{"url": "https://.../birthsex", "valueCode": "F"}]``."""
    found = {}
    for one in values:
        fields = [name for name in one if name != "url"] if isinstance(one, dict) and "url" in one else []
        if len(fields) != 1 or not fields[0].startswith("value"):
            return {}
        found[str(one["url"]).rstrip("/").rpartition("/")[2]] = one[fields[0]]
    return found


def _without_single_lists(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return rows with the element of each list of which no row has several."""
    longest: Counter[Path] = Counter()

    def measure(value: Any, path: Path) -> None:
        if isinstance(value, list):
            longest[path] = max(longest[path], len(value))
        for name, one in ((n, o) for v in (value if isinstance(value, list) else [value]) for n, o in _members(v)):
            measure(one, (*path, name))

    def shortened(value: Any, path: Path) -> Any:
        if isinstance(value, list):
            each = [shortened(one, path) for one in value]
            return each if longest[path] > 1 else (each[0] if each else None)
        return {n: shortened(o, (*path, n)) for n, o in value.items()} if isinstance(value, dict) else value

    for row in rows:
        measure(row, ())
    return [shortened(row, ()) for row in rows]


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    yield from value.items() if isinstance(value, dict) else ()


# -- references -------------------------------------------------------------------------------------------------------


def _are_references(value: Any) -> bool:
    return isinstance(value, ResourceReference) or (
        isinstance(value, list) and value != [] and all(isinstance(one, ResourceReference) for one in value)
    )


def _table(rows: Sequence[Row], names: Mapping[str, str]) -> RecordTable:
    """Return rows with columns of keys in place of references: one for each kind that a field refers to."""
    taken = [_taken(row) for row in rows]
    kinds: dict[Path, dict[str, None]] = defaultdict(dict)
    many: set[tuple[Path, str]] = set()
    for _, found in taken:
        for path, references in found.items():
            counts = Counter(one.kind for one in references)
            kinds[path] |= dict.fromkeys(counts)
            many |= {(path, kind) for kind, count in counts.items() if count > 1}
    links: dict[str, tuple[str, str]] = {}
    result = [row for row, _ in taken]
    for path, of in kinds.items():
        for kind in of:
            column = "_".join(path if len(of) == 1 else (*path, names[kind]))
            links[column] = (names[kind], KEY)
            for row, found in taken:
                keys = [one.key for one in found.get(path, ()) if one.kind == kind]
                row[column] = keys if (path, kind) in many else next(iter(keys), None)
    return RecordTable(result, KEY, links)


def _taken(row: Row) -> tuple[dict[str, Any], dict[Path, list[ResourceReference]]]:
    """Return a row without references, and these by their path."""
    found: dict[Path, list[ResourceReference]] = defaultdict(list)

    def rest(value: Any, path: Path) -> Any:
        if isinstance(value, ResourceReference):
            found[path].append(value)
            return None
        if isinstance(value, list):
            each = [rest(one, path) for one in value]
            return [one for one in each if one not in (None, {})]
        if isinstance(value, dict):
            return {name: one for n, o in value.items() if (one := rest(o, (*path, (name := n)))) not in (None, [], {})}
        return value

    return rest(row, ()), found


# -- styles -----------------------------------------------------------------------------------------------------------


def _bundle(row: Row) -> Sequence[Any]:
    entries = row.get("entry") if "resourceType" in row else None
    if isinstance(entries, list):
        inside = [(one.get("fullUrl"), one["resource"]) for one in entries if isinstance(one, dict) and
                  isinstance(one.get("resource"), dict)]  # fmt: skip
        return [{**resource, "fullUrl": url} for url, resource in inside]
    return [row]


def _of_bundle(row: Row) -> _Resource:
    fields = {name: value for name, value in row.items() if name not in ("resourceType", "id", "fullUrl", "meta")}
    if isinstance(fields.get("text"), dict) and "div" in fields["text"]:
        del fields["text"]  # made of the other fields
    kind, key = row["resourceType"], str(row.get("id") or row.get("fullUrl") or "")
    listed = row.get("identifier")
    ids = [one for one in (listed if isinstance(listed, list) else [listed]) if isinstance(one, dict)]
    tokens = [f"{one.get('system') or ''}|{one['value']}" for one in ids if one.get("value")]
    also = [row.get("fullUrl") or "", *tokens, *(f"{kind}?identifier={token}" for token in tokens)]
    return _Resource(kind, key, fields, [text for text in also if text])


def _refers_in_bundle(value: Any, known: _KnownResources) -> ResourceReference | None:
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


def _of_document(row: Row) -> _Resource:
    attributes, related = row.get("attributes") or {}, row.get("relationships") or {}
    data = {name: one["data"] for name, one in related.items() if isinstance(one, dict) and one.get("data")}
    return _Resource(row["type"], row["id"], {**attributes, **data})


_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def _refers_in_document(value: Any, known: _KnownResources) -> ResourceReference | str | None:
    if not isinstance(value, dict) or not {"type", "id"} <= set(value) <= {"type", "id", "meta"}:
        return None
    kind, key = str(value["type"]), str(value["id"])
    if kind not in known.keys:
        return key
    is_word = not _UUID.fullmatch(key) and all(map(_UUID.fullmatch, known.keys[kind]))  # such as "missing"
    return "" if is_word else ResourceReference(kind, key)


def _items(row: Row) -> Sequence[Any]:
    items = row.get("items")
    return items if isinstance(items, list) and "apiVersion" in row and "metadata" in row else [row]


def _is_entry(row: Row) -> bool:
    named = isinstance(row.get("metadata"), dict) and isinstance(row["metadata"].get("name"), str)
    return named and isinstance(row.get("kind"), str) and isinstance(row.get("apiVersion"), str)


def _of_catalogue(row: Row) -> _Resource:
    about = {name: value for name, value in row["metadata"].items() if name != "annotations"}
    links = about.get("links")
    if isinstance(links, list):
        about["links"] = [one.get("url") if isinstance(one, dict) else one for one in links]
    rest = {name: value for name, value in row.items() if name not in ("apiVersion", "kind", "metadata", "spec")}
    spec = row.get("spec")
    return _Resource(row["kind"], about["name"], {**rest, **about, **(spec if isinstance(spec, dict) else {})})


def _with_named_references(rows: Sequence[dict[str, Any]], kind: str, known: _KnownResources) -> list[dict[str, Any]]:
    """Return rows with references in place of texts such as ``cart``, ``component:cart`` and ``component:default/cart``
    in fields most of whose values are names of entries.
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
    return list(rows)


def _split_reference(text: str, kinds: Mapping[str, str]) -> tuple[str, str]:
    """Return the kind, empty if the text has none, and the name of a reference."""
    kind, sign, rest = text.rpartition(":")
    of = kinds.get(kind.casefold(), "") if sign else ""
    return (of, rest.rpartition("/")[2]) if of or not sign else ("", text)


_BUNDLE = _Style(_bundle, lambda row: isinstance(row.get("resourceType"), str), _of_bundle, _refers_in_bundle, True)
_CATALOGUE = _Style(_items, _is_entry, _of_catalogue, lambda _value, _known: None)
STYLES = (_BUNDLE, _Style(_document, _is_resource_object, _of_document, _refers_in_document), _CATALOGUE)
"""Ways to write resources."""
