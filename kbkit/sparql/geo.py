"""Rewrite ``SERVICE wikibase:around`` and ``wikibase:box``: places near a point or in a rectangle.

https://www.mediawiki.org/wiki/Wikidata_Query_Service/User_Manual#Geospatial_search. The result is the service's triple
and filters over ``geof:distance``, ``geof:latitude`` and ``geof:longitude``, functions that the worker adds to
Oxigraph.
"""

from __future__ import annotations

from lark import Token

from kbkit.schema import Wikibase
from kbkit.sparql.calls import name_of, parameters
from kbkit.sparql.context import Context
from kbkit.sparql.parse import patterns, refuse
from kbkit.sparql.printing import to_text
from kbkit.sparql.tree import (
    Node,
    ParseTree,
    Triple,
    append,
    index,
    is_in_exists,
    parents,
    put,
    variables,
    visible,
)

_AROUND = ("center", "radius", "distance", "globe")
_EARTH = f"<{Wikibase.ENTITY}Q2>"
_OPTIONAL = "optional_graph_pattern"
_BOX = ("cornerSouthWest", "cornerNorthEast", "cornerWest", "cornerEast", "globe")


def locate(tree: ParseTree, calls: list[ParseTree], context: Context) -> None:
    """Replace the calls of either service by triples and filters."""
    parent_of = parents(tree)
    for service in calls:
        around = context.is_iri(name_of(service), Wikibase.ONTOLOGY + "around")
        values, triple = _parts(service, context, _AROUND if around else _BOX)
        point = to_text(triple.object)
        if around:
            distance, tests = _around(service, context, values, point)
        else:
            distance, tests = "", _box(service, context, values, point)
        tests.append(f"{context.names.short(Wikibase.GEOF + 'globe')}({point}) = {values.get('globe', _EARTH)}")
        _Insertion(service, triple, values, parent_of).put(distance, tests)
        context.note(f"Rewrote SERVICE wikibase:{'around' if around else 'box'} with geof: functions")


def _parts(service: ParseTree, context: Context, known: tuple[str, ...]) -> tuple[dict[str, str], Triple]:
    name = str(service.children[-2])
    pairs, rest = parameters(service, context)
    arguments: dict[str, str] = {}
    for iri, value in pairs:
        short = iri.removeprefix(Wikibase.ONTOLOGY)
        if short not in known or short == iri:
            hint = "Valid parameters: " + ", ".join(known)
            refuse(service, f"Unknown parameter {context.names.short(iri)} of SERVICE {name}", hint)
        arguments[short] = to_text(value)
    if len(rest) != 1 or not isinstance(rest[0].object, Token) or rest[0].object.type != "VAR":
        refuse(service, f"SERVICE {name} needs one triple", "Write ?place wdt:P625 ?location")
    return arguments, rest[0]


def _around(service: ParseTree, context: Context, values: dict[str, str], point: str) -> tuple[str, list[str]]:
    """Return the expression of the distance (empty: not requested), and the filters."""
    if "center" not in values or "radius" not in values:
        hint = "The radius is in kilometres"
        refuse(service, "SERVICE wikibase:around needs wikibase:center and wikibase:radius", hint)
    radius = _radius(service, values["radius"])
    distance = f"{context.names.short(Wikibase.GEOF + 'distance')}({point}, {values['center']})"
    if "distance" not in values:
        return "", [f"{distance} <= {radius}"]
    target = values["distance"]
    if not target.startswith(("?", "$")):
        refuse(service, "The value of wikibase:distance must be a variable", "Write ?distance")
    return distance, [f"{target} <= {radius}"]


def _radius(service: ParseTree, text: str) -> str:
    """Return the kilometres as a number, or an expression that casts a variable."""
    if text.startswith(("?", "$")):
        return f"<http://www.w3.org/2001/XMLSchema#double>({text})"
    number = text.partition("^^")[0].strip("\"'")
    try:
        value = float(number)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        refuse(service, f"Invalid wikibase:radius {text}", "Use kilometres, 0 or more")
    return repr(value)


def _box(service: ParseTree, context: Context, values: dict[str, str], point: str) -> list[str]:
    """Return filters on latitude and longitude; a box whose west is east of its east crosses the antimeridian."""
    latitude, longitude = (
        context.names.short(Wikibase.GEOF + "latitude"),
        context.names.short(Wikibase.GEOF + "longitude"),
    )
    if "cornerSouthWest" in values and "cornerNorthEast" in values:
        west, east = values["cornerSouthWest"], values["cornerNorthEast"]
        rows = [f"{latitude}({point}) >= {latitude}({west})", f"{latitude}({point}) <= {latitude}({east})"]
    elif "cornerWest" in values and "cornerEast" in values:
        west, east = values["cornerWest"], values["cornerEast"]
        a, b, at = f"{latitude}({west})", f"{latitude}({east})", f"{latitude}({point})"
        rows = [f"(({at} >= {a} && {at} <= {b}) || ({at} >= {b} && {at} <= {a}))"]
    else:
        hint = "Use cornerSouthWest and cornerNorthEast, or cornerWest and cornerEast"
        refuse(service, "SERVICE wikibase:box needs two corners", hint)
    low, high = f"{longitude}({point}) >= {longitude}({west})", f"{longitude}({point}) <= {longitude}({east})"
    across = f"IF({longitude}({west}) <= {longitude}({east}), {low} && {high}, {low} || {high})"
    return [*rows, across]


class _Insertion:
    """Inserts the patterns of one service into its group."""

    def __init__(
        self, service: ParseTree, triple: Triple, values: dict[str, str], parent_of: dict[int, ParseTree]
    ) -> None:
        self.service, self.triple, self.values, self.parent_of = service, triple, values, parent_of
        self.group = parent_of[id(service)]
        self.target = values.get("distance", "")
        self.needed = {text[1:] for text in values.values() if text.startswith(("?", "$"))} - {self.target[1:]}

    def known(self, *parts: Node) -> set[str]:
        """Return the variables bound by parts of the group and by the service's triple."""
        return set(visible(*parts)) | variables(self.triple.object) | variables(self.triple.subject)

    def put(self, distance: str, tests: list[str]) -> None:
        """Replace the service by its triple; compute the distance right after it if the centre is bound by then."""
        at = index(self.group, self.service)
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
        """Compute the distance after the OPTIONAL: inside it, only filters see variables bound before it."""
        optional = self.parent_of[id(self.group)]
        outer = self.parent_of[id(optional)]
        names = ", ".join(f"?{name}" for name in sorted(missing))
        seen = set(visible(*outer.children[: index(outer, optional)])) if optional.data == _OPTIONAL else set()
        if not missing <= seen:
            message = f"SERVICE {self.service.children[-2]} uses {names}, which its group does not bind"
            refuse(self.service, message, "Bind it in the same group")
        others = (part for part in self.group.children if part is not self.service)
        if any(self.target[1:] in variables(part) for part in others if self.target):
            message = f"{self.target} is used in the OPTIONAL that computes it from a centre outside it"
            refuse(self.service, message, f"Use {self.target} after the OPTIONAL, or bind {names} in it")
        at = index(outer, optional) + 1
        outer.children[at:at] = patterns(bind) if bind else []
