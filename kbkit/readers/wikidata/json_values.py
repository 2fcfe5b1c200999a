"""Read values of Wikibase's JSON: ids, datatypes, and values as columns or as objects of triples."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from kbkit.readers.wikidata import units
from kbkit.readers.wikidata.literals import (  # fmt: skip
    COMMONS_DATA,
    MATHML,
    MEDIA,
    TYPE,
    XSD,
    amount,
    date_time,
    iri,
    language_tag,
    plain_number,
    raw_url,
    text_literal,
    wiki_url,
)
from kbkit.readers.wikidata.model import Object, ValueNode
from kbkit.schema import Wikibase

Json = Mapping[str, Any]

EARTH = "Q2"
"""The globe of a coordinate that names none."""

_ID = re.compile(r"[A-Z][1-9][0-9]{0,17}(-[A-Z][1-9][0-9]{0,17})?")
_PROPERTY = re.compile(r"P[1-9][0-9]{0,17}")
LETTERS = {"item": "Q", "property": "P", "lexeme": "L", "mediainfo": "M"}
_DATATYPES = {
    "globecoordinate": "globe-coordinate", "globe-coordinate": "globe-coordinate", "time": "time",
    "quantity": "quantity", "monolingualtext": "monolingualtext", "string": "string",
}  # fmt: skip
_BY_LETTER = {"Q": "wikibase-item", "P": "wikibase-property", "L": "wikibase-lexeme", "M": "wikibase-mediainfo"}
_SUB_ENTITIES = {"F": "wikibase-form", "S": "wikibase-sense"}


def text_of(value: object) -> str:
    """Return a value if it is a string; raise ``ValueError`` otherwise."""
    if not isinstance(value, str):
        raise ValueError(f"{str(value)[:50]!r} is not a string")
    return value


# -- parts of values --------------------------------------------------------------------------------------------------


def property_id(name: object) -> str:
    """Return ``name`` if it is the id of a property; raise ``ValueError`` otherwise."""
    if not isinstance(name, str) or not _PROPERTY.fullmatch(name):
        raise ValueError(f"invalid property id {str(name)[:50]!r}")
    return name


def entity_id(name: object) -> str:
    """Return ``name`` if it is the id of an entity; raise ``ValueError`` otherwise."""
    if not isinstance(name, str) or not _ID.fullmatch(name):
        raise ValueError(f"invalid entity id {str(name)[:50]!r}")
    return name


def _target(value: Json) -> str:
    """Return the id in a value; early dumps have only entity type and number."""
    name = value.get("id")
    if name is None:
        name = f"{LETTERS[value['entity-type']]}{int(value['numeric-id'])}"
    return entity_id(name)


def _concept(address: object) -> str:
    """Return ``Q11573`` of ``http://www.wikidata.org/entity/Q11573``, the form of units, calendars and globes."""
    return entity_id(str(address).strip().rsplit("/", 1)[-1])


def datatype(snak: Json) -> str | None:
    """Return the datatype of a snak's property; early dumps show it only by the value."""
    known = snak.get("datatype")
    if known not in (None, "wikibase-entityid", "globecoordinate"):
        if not isinstance(known, str):
            raise ValueError("datatype is not a string")
        return known
    value = snak.get("datavalue")
    if value is None:
        return None
    kind = str(value["type"])
    if kind != "wikibase-entityid":
        return _DATATYPES.get(kind, kind)
    name = _target(value["value"])
    sub = name.partition("-")[2]
    return _SUB_ENTITIES.get(sub[:1]) or _BY_LETTER.get(name[0], "entity-schema")


def _small(number: object) -> int:
    """Return a precision or time zone; raise ``ValueError`` for an invalid one."""
    if type(number) is not int or not -(1 << 31) <= number < 1 << 31:
        raise ValueError(f"invalid precision {str(number)[:50]!r}")
    return number


def _unit(value: Json) -> str:
    """Return the unit of a quantity, ``1`` for none."""
    unit = str(value.get("unit", "1")).strip()
    return "1" if unit == "1" else _concept(unit)


def _globe(value: Json) -> str:
    """Return the globe of a coordinate, by default the Earth."""
    return _concept(value.get("globe") or EARTH)


# -- values as columns ------------------------------------------------------------------------------------------------

Columns = tuple[
    str | None, str | None, int | None, str | None, float | None, float | None, float | None, str | None,
    float | None, float | None, str | None, str | None,
]  # fmt: skip
"""value, target, precision, calendar, amount, lower, upper, unit, latitude, longitude, globe, language"""

_REST: tuple[None, ...] = (None,) * 10


def columns(value: Json) -> Columns:
    """Return the columns of a ``datavalue``."""
    return _COLUMNS.get(value["type"], _other_columns)(value["value"])


def _string_columns(value: Any) -> Columns:
    return (text_of(value), None, *_REST)  # type: ignore[return-value]


def _other_columns(value: Any) -> Columns:
    """Return a value of an unknown kind as text."""
    return _string_columns(value if isinstance(value, str) else str(value))


def _entity_columns(value: Any) -> Columns:
    name = _target(value)
    return (name, name, *_REST)  # type: ignore[return-value]


def _time_columns(value: Any) -> Columns:
    precision, calendar = _small(value["precision"]), _concept(value["calendarmodel"])
    text = date_time(value["time"], precision, calendar) or value["time"]
    return (text, None, precision, calendar, None, None, None, None, None, None, None, None)


def _quantity_columns(value: Any) -> Columns:
    text = amount(value["amount"])
    lower, upper = value.get("lowerBound"), value.get("upperBound")
    return (
        text.removeprefix("+"), None, None, None, float(text),
        None if lower is None else float(amount(lower)), None if upper is None else float(amount(upper)),
        _unit(value), None, None, None, None,
    )  # fmt: skip


def _coordinate_columns(value: Any) -> Columns:
    latitude, longitude = value["latitude"], value["longitude"]
    point = f"Point({plain_number(longitude)} {plain_number(latitude)})"
    return (
        point, None, None, None, None, None, None, None, float(latitude), float(longitude), _globe(value), None,
    )  # fmt: skip


def _monolingual_columns(value: Any) -> Columns:
    text, tag = text_of(value["text"]), language_tag(value["language"])
    return (text, None, None, None, None, None, None, None, None, None, None, tag)


_COLUMNS: dict[str, Callable[[Any], Columns]] = {
    "string": _string_columns,
    "wikibase-entityid": _entity_columns,
    "time": _time_columns,
    "quantity": _quantity_columns,
    "globecoordinate": _coordinate_columns,
    "globe-coordinate": _coordinate_columns,
    "monolingualtext": _monolingual_columns,
}


# -- values as objects of triples -------------------------------------------------------------------------------------

_AUTO_PRECISION = "0.0002777777777777778"
"""A second of arc in degrees: Wikibase's value for a coordinate of unknown precision."""


def _node(kind: str, facts: list[tuple[str, str]], normal: ValueNode | None = None) -> ValueNode:
    """Return a value node named by a hash of its content."""
    content = "\n".join(f"{name} {value}" for name, value in facts)
    code = hashlib.md5(f"{kind}\n{content}".encode(), usedforsecurity=False).hexdigest()
    name = f"<{Wikibase.PREFIXES['wdv']}{code}>"
    lines = [f"{name} {TYPE} <{Wikibase.ONTOLOGY}{kind}> .\n"]
    lines += [f"{name} {TYPE if fact == 'a' else f'<{Wikibase.ONTOLOGY}{fact}>'} {value} .\n" for fact, value in facts]
    return ValueNode(name, lines, normal)


def _entity_object(content: Any) -> Object:
    return Object(f"<{Wikibase.ENTITY}{_target(content)}>")


def _time_object(content: Any) -> Object:
    precision, zone = _small(content["precision"]), _small(content.get("timezone", 0))
    return _cached_time(content["time"], precision, zone, _concept(content["calendarmodel"]))


@lru_cache(1 << 14)  # the days on which sources were retrieved repeat
def _cached_time(time: str, precision: int, zone: int, calendar: str) -> Object:
    formatted = date_time(time, precision, calendar)
    text = text_literal(time) if formatted is None else f'"{formatted}"^^<{XSD}dateTime>'
    facts = [
        ("timeValue", text),
        ("timePrecision", f'"{precision}"^^<{XSD}integer>'),
        ("timeTimezone", f'"{zone}"^^<{XSD}integer>'),
        ("timeCalendarModel", f"<{Wikibase.ENTITY}{calendar}>"),
    ]
    return Object(text, _node("TimeValue", facts))


def _quantity_object(content: Any) -> Object:
    values = [content["amount"], content.get("upperBound"), content.get("lowerBound")]
    numbers = [None if number is None else amount(number) for number in values]
    unit = _unit(content)
    node = _quantity_node(numbers, unit)
    if (converted := units.normalized(numbers, unit)) is not None:
        base = converted[1]
        normal = node if base == unit else _quantity_node(*converted)
        lines = [*node.lines, f"{node.name} <{Wikibase.ONTOLOGY}quantityNormalized> {normal.name} .\n"]
        line = f"{normal.name} <{Wikibase.ONTOLOGY}quantityNormalized> {normal.name} .\n"
        normal = ValueNode(normal.name, [*normal.lines, line])
        node = ValueNode(node.name, lines, normal)
    return Object(f'"{numbers[0]}"^^<{XSD}decimal>', node)


def _quantity_node(numbers: Sequence[str | None], unit: str) -> ValueNode:
    names = ("quantityAmount", "quantityUpperBound", "quantityLowerBound")
    facts = [
        (name, f'"{number}"^^<{XSD}decimal>') for name, number in zip(names, numbers, strict=True) if number is not None
    ]
    return _node("QuantityValue", [*facts, ("quantityUnit", f"<{Wikibase.ENTITY}{'Q199' if unit == '1' else unit}>")])


def _coordinate_object(content: Any) -> Object:
    latitude, longitude = plain_number(content["latitude"]), plain_number(content["longitude"])
    globe, precision = _globe(content), content.get("precision")
    where = "" if globe == EARTH else f"<{Wikibase.ENTITY}{globe}> "
    facts = [
        ("geoLatitude", f'"{latitude}"^^<{XSD}double>'),
        ("geoLongitude", f'"{longitude}"^^<{XSD}double>'),
        ("geoPrecision", f'"{_AUTO_PRECISION if precision is None else plain_number(precision)}"^^<{XSD}double>'),
        ("geoGlobe", f"<{Wikibase.ENTITY}{globe}>"),
    ]
    if precision is None:
        facts.append(("a", f"<{Wikibase.ONTOLOGY}GeoAutoPrecision>"))
    text = f'"{where}Point({longitude} {latitude})"^^<{Wikibase.GEO}wktLiteral>'
    return Object(text, _node("GlobecoordinateValue", facts))


def _monolingual_object(content: Any) -> Object:
    return Object(f"{text_literal(content['text'])}@{language_tag(content['language'])}")


_OBJECTS: dict[str, Callable[[Any], Object]] = {
    "wikibase-entityid": _entity_object,
    "time": _time_object,
    "quantity": _quantity_object,
    "globecoordinate": _coordinate_object,
    "globe-coordinate": _coordinate_object,
    "monolingualtext": _monolingual_object,
}
_STRINGS: dict[str, Callable[[str], str]] = {
    "commonsMedia": lambda name: f"<{MEDIA}{raw_url(name)}>",
    "url": lambda text: iri(text) or text_literal(text),
    "math": lambda text: f"{text_literal(text)}^^<{MATHML}>",  # the query service has MathML, a dump only the TeX
    "geo-shape": lambda name: f"<{COMMONS_DATA}{wiki_url(name)}>",
    "tabular-data": lambda name: f"<{COMMONS_DATA}{wiki_url(name)}>",
    "external-id": lambda text: text_literal(text.strip()),
}


def object_of(of: str | None, value: Json) -> Object:
    """Return a ``datavalue`` of a property of this datatype as the object of a triple."""
    kind, content = value["type"], value["value"]
    if kind == "string":
        return Object(_STRINGS.get(of or "", text_literal)(content))
    return _OBJECTS[kind](content) if kind in _OBJECTS else Object(text_literal(str(content)))
