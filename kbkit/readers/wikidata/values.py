"""A snak of Wikibase's JSON -> the columns that the tables of statements and qualifiers share.

Whatever does not fit raises ``ValueError``, ``KeyError``, ``TypeError`` or ``AttributeError``: the reader of the line
says where.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from kbkit.readers.wikidata.literals import amount, date_time, language_tag, plain_number

Fields = tuple[
    str | None, str | None, int | None, str | None, float | None, float | None, float | None, str | None,
    float | None, float | None, str | None, str | None,
]  # fmt: skip
"""value, target, precision, calendar, amount, lower, upper, unit, latitude, longitude, globe, language"""

NOTHING: Fields = (None,) * 12
_REST: tuple[None, ...] = (None,) * 10
EARTH = "Q2"

_ID = re.compile(r"[A-Z][1-9][0-9]{0,17}(-[A-Z][1-9][0-9]{0,17})?")
_PROPERTY = re.compile(r"P[1-9][0-9]{0,17}")
_LETTERS = {"item": "Q", "property": "P", "lexeme": "L", "mediainfo": "M"}
_DATATYPES = {
    "globecoordinate": "globe-coordinate", "globe-coordinate": "globe-coordinate", "time": "time",
    "quantity": "quantity", "monolingualtext": "monolingualtext", "string": "string",
}  # fmt: skip
_BY_LETTER = {"Q": "wikibase-item", "P": "wikibase-property", "L": "wikibase-lexeme", "M": "wikibase-mediainfo"}
_SUB_ENTITIES = {"F": "wikibase-form", "S": "wikibase-sense"}


def property_id(name: object) -> str:
    """``name``, if it is the id of a property; raises ``ValueError``."""
    if not isinstance(name, str) or not _PROPERTY.fullmatch(name):
        raise ValueError(f"{str(name)[:50]!r} is no id of a property")
    return name


def entity_id(name: object) -> str:
    """``name``, if it is the id of an entity; raises ``ValueError``."""
    if not isinstance(name, str) or not _ID.fullmatch(name):
        raise ValueError(f"{str(name)[:50]!r} is no id of an entity")
    return name


def target(value: Mapping[str, Any]) -> str:
    """The entity that a value names; old dumps give its kind and number alone."""
    name = value.get("id")
    if name is None:
        name = f"{_LETTERS[value['entity-type']]}{int(value['numeric-id'])}"
    return entity_id(name)


def concept(address: object) -> str:
    """``Q11573`` of ``http://www.wikidata.org/entity/Q11573``: what units, calendars and globes are given by."""
    return entity_id(str(address).strip().rsplit("/", 1)[-1])


def datatype(snak: Mapping[str, Any]) -> str | None:
    """The datatype of a snak's property; dumps of the first years leave it to be seen from the value."""
    given = snak.get("datatype")
    if given not in (None, "wikibase-entityid", "globecoordinate"):
        if not isinstance(given, str):
            raise ValueError("a datatype that is no text")
        return given
    value = snak.get("datavalue")
    if value is None:
        return None
    kind = str(value["type"])
    if kind != "wikibase-entityid":
        return _DATATYPES.get(kind, kind)
    name = target(value["value"])
    sub = name.partition("-")[2]
    return _SUB_ENTITIES.get(sub[:1]) or _BY_LETTER.get(name[0], "entity-schema")


def fields(snak: Mapping[str, Any]) -> Fields:
    """What a snak's value is; all None for novalue and somevalue."""
    if snak["snaktype"] != "value":
        if snak["snaktype"] not in ("somevalue", "novalue"):
            raise ValueError(f"an unknown snaktype {str(snak['snaktype'])[:20]!r}")
        return NOTHING
    value = snak["datavalue"]
    return _READERS.get(value["type"], _other)(value["value"])


def _string(value: Any) -> Fields:
    if not isinstance(value, str):
        raise ValueError(f"{str(value)[:50]!r} is no text")
    return (value, None, *_REST)  # type: ignore[return-value]


def _other(value: Any) -> Fields:
    """A kind of value that came later than this reader: its text, if it has one."""
    return _string(value if isinstance(value, str) else str(value))


def _entity(value: Any) -> Fields:
    name = target(value)
    return (name, name, *_REST)  # type: ignore[return-value]


def _time(value: Any) -> Fields:
    precision, calendar = small(value["precision"]), concept(value["calendarmodel"])
    written = date_time(value["time"], precision, calendar) or value["time"]
    return (written, None, precision, calendar, None, None, None, None, None, None, None, None)


def small(number: object) -> int:
    """A precision or a zone of time; raises ``ValueError`` for what is none."""
    if type(number) is not int or not -(1 << 31) <= number < 1 << 31:
        raise ValueError(f"{str(number)[:50]!r} is no precision")
    return number


def unit(value: Mapping[str, Any]) -> str:
    """The unit of a quantity, ``1`` for none."""
    given = str(value.get("unit", "1")).strip()
    return "1" if given == "1" else concept(given)


def _quantity(value: Any) -> Fields:
    written = amount(value["amount"])
    lower, upper = value.get("lowerBound"), value.get("upperBound")
    return (
        written.removeprefix("+"), None, None, None, float(written),
        None if lower is None else float(amount(lower)), None if upper is None else float(amount(upper)),
        unit(value), None, None, None, None,
    )  # fmt: skip


def globe(value: Mapping[str, Any]) -> str:
    """What a coordinate lies on: the Earth, where nothing is said."""
    return concept(value.get("globe") or EARTH)


def _coordinate(value: Any) -> Fields:
    latitude, longitude = value["latitude"], value["longitude"]
    point = f"Point({plain_number(longitude)} {plain_number(latitude)})"
    return (
        point, None, None, None, None, None, None, None, float(latitude), float(longitude), globe(value), None,
    )  # fmt: skip


def _monolingual(value: Any) -> Fields:
    text = _string(value["text"])[0]
    return (
        text, None, None, None, None, None, None, None, None, None, None, language_tag(value["language"]),
    )  # fmt: skip


_READERS: dict[str, Callable[[Any], Fields]] = {
    "string": _string,
    "wikibase-entityid": _entity,
    "time": _time,
    "quantity": _quantity,
    "globecoordinate": _coordinate,
    "globe-coordinate": _coordinate,
    "monolingualtext": _monolingual,
}
