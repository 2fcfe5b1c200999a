"""The process that runs SPARQL. It reads requests from standard input and ends with its parent.

A request is its length (8 bytes, little-endian) and JSON: the arguments of :func:`answer`. A response, on standard
output, is a sequence of frames: a length, a tag of 8 characters, and as many bytes. The first frame is empty and tagged
with the kind of the result, ``select``, ``ask`` or ``triples``; ``data`` frames and a ``last`` one hold the result in a
format of Oxigraph. An ``error`` or ``damaged`` frame, with a message, ends the response at any point.

Queries may call the functions of the Wikidata Query Service (:data:`FUNCTIONS`).
"""

from __future__ import annotations

import functools
import io
import json
import math
import os
import queue
import re
import signal
import sys
import threading
import urllib.parse
from collections.abc import Callable, Sequence
from typing import IO, Any

import pyoxigraph as ox

_CHUNK = 1 << 20
"""Bytes of a frame."""
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
            answer(store, out, **request)
        except (SyntaxError, ValueError, RuntimeError) as error:
            tag = "damaged" if store is None or "corrupt" in str(error).lower() else "error"
            _frame(out, tag, (error.msg if isinstance(error, SyntaxError) else str(error)).encode())
        except BaseException as error:  # noqa: BLE001 - a panic, too
            _frame(out, "damaged", str(error).encode())


def answer(
    store: ox.Store,
    out: IO[bytes],
    query: str,
    prefixes: dict[str, str],
    default_graphs: Sequence[str] | None,
    named_graphs: Sequence[str] | None,
    solutions: str,
    graph: str,
) -> None:
    """Run a query and write its result as frames.

    ``solutions`` and ``graph`` are the formats, by their file suffixes, of SELECT and ASK, and of CONSTRUCT and
    DESCRIBE; the result has no data if its format is empty.
    """
    dataset: dict[str, Any] = {}
    if default_graphs is not None or named_graphs is not None:
        dataset["default_graph"] = [ox.NamedNode(name) for name in default_graphs or ()]
        dataset["named_graphs"] = [ox.NamedNode(name) for name in named_graphs or ()]
    result = store.query(query, prefixes=prefixes, custom_functions=FUNCTIONS, **dataset)
    is_graph = isinstance(result, ox.QueryTriples)
    _frame(out, "triples" if is_graph else "ask" if isinstance(result, ox.QueryBoolean) else "select")
    frames = _Data(out)
    if graph if is_graph else solutions:
        with io.BufferedWriter(frames, _CHUNK) as data:
            if isinstance(result, ox.QueryTriples):
                ox.serialize(result, data, ox.RdfFormat.from_extension(graph[1:]), prefixes=prefixes)
            else:
                result.serialize(data, ox.QueryResultsFormat.from_extension(solutions[1:]))
    _frame(out, "last", frames.pending)


def _frame(out: IO[bytes], tag: str, body: bytes = b"") -> None:
    out.write(len(body).to_bytes(8, "little") + tag.ljust(8).encode() + body)
    out.flush()


class _Data(io.RawIOBase):
    """A stream that writes ``data`` frames, except for what was written last: it is ``pending``."""

    def __init__(self, out: IO[bytes]) -> None:
        self._out, self.pending = out, b""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if self.pending:
            _frame(self._out, "data", self.pending)
        self.pending = bytes(data)
        return len(data)


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
