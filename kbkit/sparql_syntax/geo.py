"""``SERVICE wikibase:around`` and ``wikibase:box``: places near a point or in a rectangle.

https://www.mediawiki.org/wiki/Wikidata_Query_Service/User_Manual#Geospatial_search. The one triple of the service, and
filters over ``geof:distance``, ``geof:latitude`` and ``geof:longitude``, which the worker adds to the engine.
"""

from __future__ import annotations

from lark import Token

from kbkit.sparql_syntax import services
from kbkit.sparql_syntax.context import Context
from kbkit.sparql_syntax.parse import patterns
from kbkit.sparql_syntax.patterns import Triple, append, parents, put, tidy
from kbkit.sparql_syntax.printing import to_text
from kbkit.sparql_syntax.scope import visible
from kbkit.sparql_syntax.tree import Node, ParseTree, variables
from kbkit.wikibase import GEOF, ONTOLOGY

_AROUND = ("center", "radius", "distance", "globe")
_BOX = ("cornerSouthWest", "cornerNorthEast", "cornerWest", "cornerEast", "globe")


def locate(tree: ParseTree, context: Context) -> ParseTree:
    """Rewrite both services."""
    for service in services.of(tree, context, services.AROUND, services.BOX):
        around = bool(services.of(service, context, services.AROUND))
        given, triple = _parts(service, context, _AROUND if around else _BOX)
        point = to_text(triple.object)
        if around:
            bind, tests = _around(service, context, given, point)
        else:
            bind, tests = "", _box(service, context, given, point)
        if "globe" in given:
            tests.append(f"{context.names.short(GEOF + 'globe')}({point}) = {given['globe']}")
        _put(tree, service, triple, bind, tests, given)
        context.note(f"wikibase:{'around' if around else 'box'} computed with geof: functions")
    tidy(tree)
    return tree


def _parts(service: ParseTree, context: Context, known: tuple[str, ...]) -> tuple[dict[str, str], Triple]:
    name = str(service.children[-2])
    given, rest = services.parameters(service, context)
    found: dict[str, str] = {}
    for iri, value in given:
        short = iri.removeprefix(ONTOLOGY)
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
    """The BIND of the distance, where it is asked for, and the filters."""
    if "center" not in given or "radius" not in given:
        services.refuse(service, "SERVICE wikibase:around needs wikibase:center and wikibase:radius", "in kilometres")
    radius = _radius(service, given["radius"])
    distance = f"{context.names.short(GEOF + 'distance')}({point}, {given['center']})"
    if "distance" not in given:
        return "", [f"{distance} <= {radius}"]
    target = given["distance"]
    if not target.startswith(("?", "$")):
        services.refuse(service, "wikibase:distance gives a value and takes none: it needs a variable", "?distance")
    return f"BIND({distance} AS {target})", [f"{target} <= {radius}"]


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
    latitude, longitude = context.names.short(GEOF + "latitude"), context.names.short(GEOF + "longitude")
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


def _put(
    tree: ParseTree, service: ParseTree, triple: Triple, bind: str, tests: list[str], given: dict[str, str]
) -> None:
    """The triple in the service's place; the distance right after it where its centre is known by then."""
    group = parents(tree)[id(service)]
    at = next(i for i, part in enumerate(group.children) if part is service)
    known = set(visible(*group.children[:at])) | variables(triple.object) | variables(triple.subject)
    now = patterns(f"{to_text(triple.subject)} {to_text(triple.verb)} {to_text(triple.object)} .")
    new = patterns(f"{bind} FILTER({' && '.join(tests)})")
    needed = {text[1:] for text in given.values() if text.startswith(("?", "$"))} - {given.get("distance", "?")[1:]}
    if needed <= known:
        put(group, service, *now, *new)
    else:
        put(group, service, *now)
        append(group, *new)
