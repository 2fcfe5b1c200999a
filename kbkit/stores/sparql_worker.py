"""The process that runs SPARQL. It reads requests from standard input and ends with its parent.

A request is its length (8 bytes, little-endian) and JSON ``{"query", "prefixes"}``. A response, on standard output, is
a length, a status of 8 characters (``select``, ``ask``, ``triples``, ``error`` or ``damaged``) and the result in a
format of Oxigraph.

Queries may call the functions of the Wikidata Query Service (:data:`FUNCTIONS`).
"""

from __future__ import annotations

import functools
import json
import math
import os
import queue
import re
import signal
import sys
import threading
import urllib.parse
from collections.abc import Callable

import pyoxigraph as ox

_EARTH_RADIUS = 6371.0087714
"""Mean radius in km (IUGG 1980, as in spatial4j)."""
_EARTH = "http://www.wikidata.org/entity/Q2"
_DOUBLE = ox.NamedNode("http://www.w3.org/2001/XMLSchema#double")
_NUMBER = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_POINT = re.compile(rf"\s*(?:<([^<>]*)>\s*)?Point\s*\(\s*({_NUMBER})[\s,]+({_NUMBER})\s*\)\s*", re.I)

Term = ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple


def main(folder: str) -> None:
    """Process requests until standard input closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the process group; the parent decides
    out = os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)  # where panics of the engine would be printed; they are reported
    requests: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()
    store = None
    while True:
        request = json.loads(requests.get())
        try:
            store = store or ox.Store.read_only(folder)
            status, body = answer(store, **request)
        except (SyntaxError, ValueError, RuntimeError) as error:
            status = "damaged" if store is None or "corrupt" in str(error).lower() else "error"
            body = (error.msg if isinstance(error, SyntaxError) else str(error)).encode()
        except BaseException as error:  # noqa: BLE001 - a panic, too
            status, body = "damaged", str(error).encode()
        out.write(len(body).to_bytes(8, "little") + status.ljust(8).encode() + body)
        out.flush()


def answer(store: ox.Store, query: str, prefixes: dict[str, str]) -> tuple[str, bytes]:
    """Run a query and return its kind and its serialized result."""
    result = store.query(query, prefixes=prefixes, custom_functions=FUNCTIONS)
    if isinstance(result, ox.QueryBoolean):
        return "ask", result.serialize(format=ox.QueryResultsFormat.JSON) or b""
    if isinstance(result, ox.QueryTriples):
        return "triples", result.serialize(format=ox.RdfFormat.N_TRIPLES) or b""
    return "select", result.serialize(format=ox.QueryResultsFormat.TSV) or b""


@functools.lru_cache(maxsize=1 << 16)
def _point(text: str) -> tuple[float, float, str] | None:
    """Return longitude and latitude (degrees) and the globe of ``Point(12.5 41.9)``; the globe may precede it."""
    match = _POINT.fullmatch(text)
    if match is None:
        return None
    longitude, latitude = float(match[2]), float(match[3])
    return (longitude, latitude, match[1] or _EARTH) if abs(latitude) <= 90 else None


def _read(term: Term | None) -> tuple[float, float, str] | None:
    return _point(term.value) if isinstance(term, ox.Literal) else None


def distance(a: Term, b: Term) -> ox.Literal | None:
    """Return the distance of two points in km, by the haversine formula with Earth's mean radius."""
    first, second = _read(a), _read(b)
    if first is None or second is None or first[2] != second[2]:
        return None
    (lon1, lat1), (lon2, lat2) = (map(math.radians, point[:2]) for point in (first, second))
    chord = math.sin((lat2 - lat1) / 2) ** 2 + math.cos(lat1) * math.cos(lat2) * math.sin((lon2 - lon1) / 2) ** 2
    return _double(2 * _EARTH_RADIUS * math.asin(min(1.0, math.sqrt(chord))))


def latitude(a: Term) -> ox.Literal | None:
    """Return the latitude of a point in degrees north."""
    point = _read(a)
    return None if point is None else _double(point[1])


def longitude(a: Term) -> ox.Literal | None:
    """Return the longitude of a point in degrees east."""
    point = _read(a)
    return None if point is None else _double(point[0])


def globe(a: Term) -> ox.NamedNode | None:
    """Return the globe of a point (default: Earth)."""
    point = _read(a)
    return None if point is None else ox.NamedNode(point[2])


def decode_uri(a: Term) -> ox.Literal | None:
    """Percent-decode a literal or an IRI."""
    return ox.Literal(urllib.parse.unquote(a.value)) if isinstance(a, (ox.Literal, ox.NamedNode)) else None


def _double(value: float) -> ox.Literal:
    return ox.Literal(repr(value), datatype=_DOUBLE)


_GEOF = "http://www.opengis.net/def/function/geosparql/"
FUNCTIONS: dict[ox.NamedNode, Callable[..., Term | None]] = {
    ox.NamedNode(_GEOF + "distance"): distance,
    ox.NamedNode(_GEOF + "latitude"): latitude,
    ox.NamedNode(_GEOF + "longitude"): longitude,
    ox.NamedNode(_GEOF + "globe"): globe,
    ox.NamedNode("http://wikiba.se/ontology#decodeUri"): decode_uri,
}
"""The functions that the Wikidata Query Service adds to SPARQL. None as a result is an expression error.

https://www.mediawiki.org/wiki/Wikidata_Query_Service/User_Manual#Extensions
"""


def _listen(requests: queue.Queue[bytes]) -> None:
    """Queue requests; end the process, even during a query, when the parent is gone."""
    stream = sys.stdin.buffer
    while len(head := stream.read(8)) == 8:
        requests.put(stream.read(int.from_bytes(head, "little")))
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
