"""What formats of exports put around records, lists and values in JSON, and what is read instead.

- values of MongoDB's extended JSON (``{"$oid": "5f1e"}``): the value; see :data:`VALUES`;
- values beside the name of their kind (``{"id": "a", "type": "number", "number": 5}``), and texts in runs
  (``[{"plain_text": "A"}]``), as Notion writes them: the value, the text;
- dates in parts of bibliographies (``{"date-parts": [[2009, 5, 12]]}``): the date, as far as it is known;
- pages of lists (``{"data": [...], "has_more": false}``), and edges of GraphQL (``{"edges": [{"node": {...}}]}``): the
  list; see :data:`LISTS`;
- rows of SPARQL (``{"results": {"bindings": [{"x": {"type": "uri", "value": "http://..."}}]}}``): their values;
- names of columns beside lists of values (``{"columns": ["a"], "data": [[1]]}``): rows;
- lists of values below one of their names (``[["a", "b"], [1, 2]]``): rows;
- texts under codes (``{"AF": "Africa", "AS": "Asia", ...}``): a row for each;
- records of several models in one list (``{"model": "app.book", "pk": 1, "fields": {...}}``): a table for each model.

To read another marker of values or lists, add it to these tables.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

LISTS = frozenset(
    ["", "data", "results", "result", "items", "rows", "records", "entries", "hits", "values", "value", "response",
     "content", "nodes", "edges", "elements", "objects", "docs", "list", "payload",
     "row", "record", "item", "entry", "element", "object", "doc"]
)  # fmt: skip
"""Names of lists in replies of services, which say nothing about the records."""
MODEL_KEY = "pk"
"""The column with the keys of records of models."""
_MODEL = {"model", "pk", "fields"}
_PARTS = "date-parts"
_RUN = "plain_text"
_BESIDE_KIND = ("id", "type", "has_more")
"""Fields beside a value and its kind."""
_MOST_BESIDE = 8
"""Fields beside the list of a page: how many there are, the address of the next page."""
_PAIR = 2
_FEWEST_CODES = 5
"""Members from which an object of texts may be a list of them under their codes."""


def _date(value: Any) -> Any:
    """Return the time of a date, which is text, or a number of milliseconds since 1970."""
    number = _integer(value.get("$numberLong")) if isinstance(value, dict) else value
    if not isinstance(number, int):
        return value
    try:
        time = datetime.datetime.fromtimestamp(0, datetime.UTC) + datetime.timedelta(milliseconds=number)
    except OverflowError:
        return number
    return time.isoformat().replace("+00:00", "Z")


def _integer(value: Any) -> Any:
    try:
        return int(value)
    except (TypeError, ValueError):
        return value


VALUES: Mapping[str, Callable[[Any], Any]] = {
    "$oid": lambda value: value,
    "$uuid": lambda value: value,
    "$symbol": lambda value: value,
    "$date": _date,
    "$numberInt": _integer,
    "$numberLong": _integer,
    "$numberDouble": lambda value: value,
    "$numberDecimal": lambda value: value,
}
"""Functions of the value by the only field of an object. Source: MongoDB Extended JSON (v2)."""


def plain(value: Any) -> Any:
    """Return a value of JSON without markers, at any depth."""
    if isinstance(value, list):
        return _plain_list(value)
    if not isinstance(value, dict):
        return value
    if _PARTS in value and (date := _date_of_parts(value)):
        return date
    kind = value.get("type")
    if isinstance(kind, str) and kind != "type" and kind in value and value.keys() <= {kind, *_BESIDE_KIND}:
        return plain(value[kind])
    if len(value) == 1 and (known := VALUES.get(next(iter(value)))):
        return known(next(iter(value.values())))
    return {name: None if one == {} else plain(_without_prefix(_listed(one), name)) for name, one in value.items()}


def _plain_list(values: Sequence[Any]) -> Any:
    if values and all(isinstance(one, dict) and _RUN in one for one in values):
        return "".join(str(one[_RUN]) for one in values)
    kinds = {*map(type, values)}
    return _text(values) if {str, dict} <= kinds else [plain(one) for one in values]


def _date_of_parts(value: Mapping[str, Any]) -> str:
    """Return the date of a bibliography in ISO 8601, with a month and a day if it has them, or a range of two dates;
    empty if there is none. Source: CSL-JSON; Crossref also has the time.
    """
    if isinstance(time := value.get("date-time"), str):
        return time
    listed = value[_PARTS] if isinstance(value[_PARTS], list) else []
    dates = [[_integer(part) for part in date if part not in (None, "")] for date in listed if isinstance(date, list)]
    known = [date for date in dates if date and all(isinstance(part, int) for part in date)]
    return "/".join("-".join([f"{date[0]:04}", *(f"{part:02}" for part in date[1:3])]) for date in known)


def _without_prefix(value: Any, name: str) -> Any:
    """Return an object without its own name before its fields: ``{"team_id": 1, "team_name": "A"}`` at ``team``."""
    if not isinstance(value, dict) or f"{name}_id" not in value:
        return value
    short = {field.removeprefix(f"{name}_"): one for field, one in value.items()}
    return short if len(short) == len(value) and sum(field.startswith(f"{name}_") for field in value) > 1 else value


def _text(values: Sequence[Any]) -> Any:
    """Return the text of a list of its parts, some of which are objects: links and names in a message."""
    parts = [one.get("text") if isinstance(one, dict) else one for one in values]
    texts = [one for one in parts if isinstance(one, str)]
    return "".join(texts) if len(texts) == len(parts) else [plain(one) for one in values]


def without_wrappers(top: dict[str, Any]) -> dict[str, Any]:
    """Return an object with the list of each member that holds a list of records and little else.

    An object whose members are all objects stays as it is: they may be its records.
    """
    mixed = any(not isinstance(one, dict) for one in top.values())
    return {name: with_header(one) or _listed(one) for name, one in top.items()} if mixed else top


def bindings(top: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of an answer of SPARQL in JSON; none if it is another object."""
    head, results = top.get("head"), top.get("results")
    found = results.get("bindings") if isinstance(results, dict) and isinstance(head, dict) else None
    rows = found if isinstance(found, list) and isinstance(head, dict) and isinstance(head.get("vars"), list) else []
    terms = [one for row in rows if isinstance(row, dict) for one in row.values()]
    if not all(isinstance(row, dict) for row in rows) or not all(isinstance(one, dict) for one in terms):
        return []
    return [{name: _of_term(term) for name, term in row.items()} for row in rows]


_NUMBERS = re.compile(r"#(integer|int|long|short|decimal|double|float|nonNegativeInteger|positiveInteger)$")


def _of_term(term: Mapping[str, Any]) -> Any:
    value, datatype = term.get("value"), str(term.get("datatype", ""))
    if not isinstance(value, str) or not _NUMBERS.search(datatype):
        return value == "true" if datatype.endswith("#boolean") else value
    try:
        number = json.loads(value.removeprefix("+"))
    except ValueError:  # 01, INF
        return value
    return number if isinstance(number, int | float) else value


_COLUMNS = ("columns", "column_names", "fields", "header", "headers")


def split_rows(top: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of an object with the names of columns and a list of lists, as pandas writes tables that are
    split (``{"columns": ["a", "b"], "index": [0], "data": [[1, 2]]}``); none if it is another object.
    """
    columns: list[Any] = next((top[name] for name in _COLUMNS if isinstance(top.get(name), list)), [])
    lists = [one for name, one in top.items() if name in LISTS and isinstance(one, list)]
    rows = lists[0] if len(lists) == 1 else []
    given = [one.get("name") if isinstance(one, dict) else one for one in columns]
    names = [one for one in given if isinstance(one, str)]
    if not names or len(set(names)) < len(given):
        return []
    if not all(isinstance(row, list) and len(row) == len(names) for row in rows):
        return []
    return [dict(zip(names, row, strict=True)) for row in rows]


def with_header(value: Any) -> list[dict[str, Any]]:
    """Return the rows of a list of lists, the first of which names the columns; none if it is anything else."""
    lists = value if isinstance(value, list) and all(isinstance(one, list) for one in value) else []
    if len(lists) < _PAIR or not all(isinstance(name, str) and name for name in lists[0]):
        return []
    names, rows = lists[0], lists[1:]
    known = {type(cell) for row in rows for cell in row} - {str, int, float, bool, type(None)}
    typed = any(not isinstance(cell, str) and cell is not None for row in rows for cell in row)
    is_table = len(set(names)) == len(names) > 1 and all(len(row) == len(names) for row in rows)
    repeated = any(name in row for row in rows for name in names)
    return (
        [dict(zip(names, row, strict=True)) for row in rows]
        if is_table and typed and not known and not repeated
        else []
    )


def named_values(top: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a row for each member of an object of texts under codes (``{"AF": "Africa"}``), with the code as
    ``key``; none if its members may be the fields of one record, whose names are no codes of one form.
    """
    forms = {re.sub(r"[A-Z]", "A", re.sub(r"[a-z]", "a", re.sub(r"\d+", "9", name))) for name in top}
    texts = all(isinstance(value, str) for value in top.values())
    if len(top) < _FEWEST_CODES or len(forms) != 1 or not texts or not re.fullmatch("A{1,3}|a{2}|[Aa-]*9", max(forms)):
        return []
    return [{"key": name, "name": value} for name, value in top.items()]


def _listed(value: Any) -> Any:
    """Return the list of a page of records; other values as they are."""
    if not isinstance(value, dict):
        return value
    lists = [name for name, one in value.items() if isinstance(one, list)]
    others = [one for one in value.values() if not isinstance(one, list)]
    if len(lists) != 1 or lists[0] not in LISTS or len(others) > _MOST_BESIDE:
        return value
    rows = value[lists[0]]
    paged = all(not isinstance(one, dict) or _is_page_info(name) for name, one in value.items())
    if not paged or not all(isinstance(row, dict) for row in rows):
        return value
    if rows and all(set(row) <= {"node", "cursor"} and isinstance(row.get("node"), dict) for row in rows):
        return [row["node"] for row in rows]
    return rows


def _is_page_info(name: str) -> bool:
    return name.replace("_", "").lower() in ("pageinfo", "pagination", "paging", "links", "meta")


def models(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return the records of each model; none if the rows are no records of models."""
    if not rows or not all(set(row) == _MODEL and isinstance(row["fields"], dict) for row in rows):
        return {}
    last = {str(row["model"]): str(row["model"]).rpartition(".")[2] for row in rows}
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        model = str(row["model"])
        name = last[model] if [*last.values()].count(last[model]) == 1 else model.replace(".", "_")
        found.setdefault(name, []).append({MODEL_KEY: row["pk"], **row["fields"]})
    return found


def is_geojson(top: Mapping[str, Any]) -> bool:
    """Return whether an object is a collection of features of GeoJSON."""
    rows = top.get("features")
    is_list = isinstance(rows, list) and bool(rows) and all(isinstance(row, dict) for row in rows)
    return top.get("type") == "FeatureCollection" and is_list


def feature(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a feature: id, properties, and the place of a point or another geometry as it is."""
    properties = row.get("properties")
    result = {"id": row["id"]} if row.get("id") is not None else {}
    result |= properties if isinstance(properties, dict) else {}
    geometry = row.get("geometry")
    if isinstance(geometry, dict):
        place = geometry.get("coordinates")
        if geometry.get("type") == "Point" and isinstance(place, list) and len(place) > 1:
            result |= {"longitude": place[0], "latitude": place[1]}
        else:
            result["geometry"] = json.dumps(geometry, ensure_ascii=False)
    return result
