"""``SERVICE wikibase:around`` and ``wikibase:box``: places near a point or in a rectangle.

https://www.mediawiki.org/wiki/Wikidata_Query_Service/User_Manual#Geospatial_search. The one triple of the service, and
filters over ``geof:distance``, ``geof:latitude`` and ``geof:longitude``, which the worker adds to the engine.
"""

from __future__ import annotations

from lark import Token

from kbkit.schema import Wikibase
from kbkit.sparql import services
from kbkit.sparql.context import Context
from kbkit.sparql.parse import patterns
from kbkit.sparql.patterns import Triple, append, is_in_exists, parents, put, tidy
from kbkit.sparql.printing import to_text
from kbkit.sparql.scope import visible
from kbkit.sparql.tree import Node, ParseTree, variables

_AROUND = ("center", "radius", "distance", "globe")
_OPTIONAL = "optional_graph_pattern"
_BOX = ("cornerSouthWest", "cornerNorthEast", "cornerWest", "cornerEast", "globe")


def locate(tree: ParseTree, context: Context) -> ParseTree:
    """Rewrite both services."""
    parent_of = parents(tree)
    for service in services.of(tree, context, services.AROUND, services.BOX):
        around = bool(services.of(service, context, services.AROUND))
        given, triple = _parts(service, context, _AROUND if around else _BOX)
        point = to_text(triple.object)
        if around:
            distance, tests = _around(service, context, given, point)
        else:
            distance, tests = "", _box(service, context, given, point)
        if "globe" in given:
            tests.append(f"{context.names.short(Wikibase.GEOF + 'globe')}({point}) = {given['globe']}")
        _Place(service, triple, given, parent_of).put(distance, tests)
        context.note(f"wikibase:{'around' if around else 'box'} computed with geof: functions")
    tidy(tree)
    return tree


def _parts(service: ParseTree, context: Context, known: tuple[str, ...]) -> tuple[dict[str, str], Triple]:
    name = str(service.children[-2])
    given, rest = services.parameters(service, context)
    found: dict[str, str] = {}
    for iri, value in given:
        short = iri.removeprefix(Wikibase.ONTOLOGY)
        if short not in known or short == iri:
            services.refuse(
                service, f"SERVICE {name} has no parameter {context.names.short(iri)}", "it has " + ", ".join(known)
            )
        found[short] = _text(value)
    if len(rest) != 1 or not isinstance(rest[0].object, Token) or rest[0].object.type != "VAR":
        services.refuse(service, f"SERVICE {name} needs one triple", "as in: ?place wdt:P625 ?location")
    return found, rest[0]


def _text(value: Node) -> str:
    return to_text(value)


def _around(service: ParseTree, context: Context, given: dict[str, str], point: str) -> tuple[str, list[str]]:
    """The distance as an expression, where it is asked for, and the filters."""
    if "center" not in given or "radius" not in given:
        services.refuse(service, "SERVICE wikibase:around needs wikibase:center and wikibase:radius", "in kilometres")
    radius = _radius(service, given["radius"])
    distance = f"{context.names.short(Wikibase.GEOF + 'distance')}({point}, {given['center']})"
    if "distance" not in given:
        return "", [f"{distance} <= {radius}"]
    target = given["distance"]
    if not target.startswith(("?", "$")):
        services.refuse(service, "wikibase:distance gives a value and takes none: it needs a variable", "?distance")
    return distance, [f"{target} <= {radius}"]


def _radius(service: ParseTree, text: str) -> str:
    """Kilometres as a number; a variable's value is cast."""
    if text.startswith(("?", "$")):
        return f"<http://www.w3.org/2001/XMLSchema#double>({text})"
    number = text.partition("^^")[0].strip("\"'")
    try:
        value = float(number)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        services.refuse(service, f"wikibase:radius {text} is no distance", "give kilometres")
    return repr(value)


def _box(service: ParseTree, context: Context, given: dict[str, str], point: str) -> list[str]:
    """Filters on latitude and longitude; a box whose west is east of its east goes over the antimeridian."""
    latitude, longitude = (
        context.names.short(Wikibase.GEOF + "latitude"),
        context.names.short(Wikibase.GEOF + "longitude"),
    )
    if "cornerSouthWest" in given and "cornerNorthEast" in given:
        west, east = given["cornerSouthWest"], given["cornerNorthEast"]
        rows = [f"{latitude}({point}) >= {latitude}({west})", f"{latitude}({point}) <= {latitude}({east})"]
    elif "cornerWest" in given and "cornerEast" in given:
        west, east = given["cornerWest"], given["cornerEast"]
        a, b, at = f"{latitude}({west})", f"{latitude}({east})", f"{latitude}({point})"
        rows = [f"(({at} >= {a} && {at} <= {b}) || ({at} >= {b} && {at} <= {a}))"]
    else:
        services.refuse(
            service,
            "SERVICE wikibase:box needs two corners",
            "cornerSouthWest and cornerNorthEast, or cornerWest and cornerEast",
        )
    low, high = f"{longitude}({point}) >= {longitude}({west})", f"{longitude}({point}) <= {longitude}({east})"
    across = f"IF({longitude}({west}) <= {longitude}({east}), {low} && {high}, {low} || {high})"
    return [*rows, across]


class _Place:
    """Where a service stands, and what is known there."""

    def __init__(
        self, service: ParseTree, triple: Triple, given: dict[str, str], parent_of: dict[int, ParseTree]
    ) -> None:
        self.service, self.triple, self.given, self.parent_of = service, triple, given, parent_of
        self.group = parent_of[id(service)]
        self.target = given.get("distance", "")
        self.needed = {text[1:] for text in given.values() if text.startswith(("?", "$"))} - {self.target[1:]}

    def known(self, *parts: Node) -> set[str]:
        """What these parts of the group bind, with the service's triple."""
        return set(visible(*parts)) | variables(self.triple.object) | variables(self.triple.subject)

    def put(self, distance: str, tests: list[str]) -> None:
        """The triple in the service's place; the distance right after it where its centre is known by then."""
        at = _index(self.group, self.service)
        before, after = self.group.children[:at], self.group.children[at + 1 :]
        place = patterns(" ".join(to_text(part) for part in self.triple) + " .")
        bind = f"BIND({distance} AS {self.target})" if distance else ""
        missing = self.needed - self.known(*before, *after)
        if missing and not is_in_exists(self.service, self.parent_of):
            if distance:
                tests = [distance + tests[0].removeprefix(self.target), *tests[1:]]
            self.put_outside(bind, missing)
            bind = ""
        new = patterns(f"{bind} FILTER({' && '.join(tests)})")
        if self.needed <= self.known(*before):
            put(self.group, self.service, *place, *new)
        else:
            put(self.group, self.service, *place)
            append(self.group, *new)

    def put_outside(self, bind: str, missing: set[str]) -> None:
        """Compute the distance after the OPTIONAL: inside, only its filters see what is bound before it."""
        optional = self.parent_of[id(self.group)]
        outer = self.parent_of[id(optional)]
        names = ", ".join(f"?{name}" for name in sorted(missing))
        seen = set(visible(*outer.children[: _index(outer, optional)])) if optional.data == _OPTIONAL else set()
        if not missing <= seen:
            message = f"SERVICE {self.service.children[-2]} asks for {names}, which its group does not bind"
            services.refuse(self.service, message, "bind it in the same group")
        others = (part for part in self.group.children if part is not self.service)
        if any(self.target[1:] in variables(part) for part in others if self.target):
            message = f"{self.target} is used in the OPTIONAL that computes it, from a centre outside of it"
            services.refuse(self.service, message, f"use {self.target} after the OPTIONAL, or bind {names} in it")
        at = _index(outer, optional) + 1
        outer.children[at:at] = patterns(bind) if bind else []


def _index(group: ParseTree, part: Node) -> int:
    return next(at for at, other in enumerate(group.children) if other is part)
