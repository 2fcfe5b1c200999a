"""Values of Wikibase's JSON as objects of RDF: the simple form, and the node that holds it in full."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from kbkit.readers.wikidata import units, values
from kbkit.readers.wikidata.literals import (  # fmt: skip
    amount,
    date_time,
    iri,
    language_tag,
    plain_number,
    raw_url,
    text_literal,
    wiki_url,
)
from kbkit.schema import Wikibase

XSD = Wikibase.PREFIXES["xsd"]
TYPE = f"<{Wikibase.PREFIXES['rdf']}type>"
MATHML = "http://www.w3.org/1998/Math/MathML"
MEDIA = "http://commons.wikimedia.org/wiki/Special:FilePath/"
COMMONS_DATA = "http://commons.wikimedia.org/data/main/"

_AUTO_PRECISION = "0.0002777777777777778"
"""Degrees, a second of arc: what Wikibase writes where the precision of a coordinate is not known."""


class Node(NamedTuple):
    """A value in full: its name, what is said of it, and its normalized value, if it has one (maybe itself)."""

    name: str
    lines: list[str]
    normal: Node | None = None


class Object(NamedTuple):
    """A value as an object, and its node where its datatype has such nodes."""

    text: str
    node: Node | None = None


def of(datatype: str | None, value: Mapping[str, Any]) -> Object:
    """The object for a ``datavalue`` of a property with this datatype."""
    kind, content = value["type"], value["value"]
    if kind == "string":
        return Object(_STRINGS.get(datatype or "", text_literal)(content))
    return _KINDS[kind](content) if kind in _KINDS else Object(text_literal(str(content)))


def _node(kind: str, facts: list[tuple[str, str]], normal: Node | None = None) -> Node:
    """A node named by what it holds."""
    content = "\n".join(f"{name} {value}" for name, value in facts)
    code = hashlib.md5(f"{kind}\n{content}".encode(), usedforsecurity=False).hexdigest()
    name = f"<{Wikibase.PREFIXES['wdv']}{code}>"
    lines = [f"{name} {TYPE} <{Wikibase.ONTOLOGY}{kind}> .\n"]
    lines += [f"{name} {TYPE if fact == 'a' else f'<{Wikibase.ONTOLOGY}{fact}>'} {value} .\n" for fact, value in facts]
    return Node(name, lines, normal)


def _entity(content: Any) -> Object:
    return Object(f"<{Wikibase.ENTITY}{values.target(content)}>")


def _time(content: Any) -> Object:
    precision, zone = values.small(content["precision"]), values.small(content.get("timezone", 0))
    return _time_object(content["time"], precision, zone, values.concept(content["calendarmodel"]))


@lru_cache(1 << 14)  # the days on which sources were looked up repeat
def _time_object(time: str, precision: int, zone: int, calendar: str) -> Object:
    written = date_time(time, precision, calendar)
    text = text_literal(time) if written is None else f'"{written}"^^<{XSD}dateTime>'
    facts = [
        ("timeValue", text),
        ("timePrecision", f'"{precision}"^^<{XSD}integer>'),
        ("timeTimezone", f'"{zone}"^^<{XSD}integer>'),
        ("timeCalendarModel", f"<{Wikibase.ENTITY}{calendar}>"),
    ]
    return Object(text, _node("TimeValue", facts))


def _quantity(content: Any) -> Object:
    given = [content["amount"], content.get("upperBound"), content.get("lowerBound")]
    numbers = [None if number is None else amount(number) for number in given]
    unit = values.unit(content)
    node = _quantity_node(numbers, unit)
    changed = [None if number is None else units.normalized(number, unit) for number in numbers]
    if changed[0] is not None:
        base = changed[0][1]
        normal = node if base == unit else _quantity_node([pair and pair[0] for pair in changed], base)
        lines = [*node.lines, f"{node.name} <{Wikibase.ONTOLOGY}quantityNormalized> {normal.name} .\n"]
        own = f"{normal.name} <{Wikibase.ONTOLOGY}quantityNormalized> {normal.name} .\n"
        normal = Node(normal.name, [*normal.lines, own])
        node = Node(node.name, lines, normal)
    return Object(f'"{numbers[0]}"^^<{XSD}decimal>', node)


def _quantity_node(numbers: list[str | None], unit: str) -> Node:
    names = ("quantityAmount", "quantityUpperBound", "quantityLowerBound")
    facts = [
        (name, f'"{number}"^^<{XSD}decimal>') for name, number in zip(names, numbers, strict=True) if number is not None
    ]
    return _node("QuantityValue", [*facts, ("quantityUnit", f"<{Wikibase.ENTITY}{'Q199' if unit == '1' else unit}>")])


def _coordinate(content: Any) -> Object:
    latitude, longitude = plain_number(content["latitude"]), plain_number(content["longitude"])
    globe, precision = values.globe(content), content.get("precision")
    where = "" if globe == values.EARTH else f"<{Wikibase.ENTITY}{globe}> "
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


def _monolingual(content: Any) -> Object:
    return Object(f"{text_literal(content['text'])}@{language_tag(content['language'])}")


_KINDS: dict[str, Callable[[Any], Object]] = {
    "wikibase-entityid": _entity,
    "time": _time,
    "quantity": _quantity,
    "globecoordinate": _coordinate,
    "globe-coordinate": _coordinate,
    "monolingualtext": _monolingual,
}
_STRINGS: dict[str, Callable[[str], str]] = {
    "commonsMedia": lambda name: f"<{MEDIA}{raw_url(name)}>",
    "url": lambda text: iri(text) or text_literal(text),
    "math": lambda text: f"{text_literal(text)}^^<{MATHML}>",  # the query service has MathML; a dump has only the TeX
    "geo-shape": lambda name: f"<{COMMONS_DATA}{wiki_url(name)}>",
    "tabular-data": lambda name: f"<{COMMONS_DATA}{wiki_url(name)}>",
    "external-id": lambda text: text_literal(text.strip()),
}
