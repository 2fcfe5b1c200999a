"""The process that runs SPARQL. It reads requests from standard input and ends with its parent.

A request is its length (8 bytes, little-endian) and JSON: the arguments of :func:`answer`. A response, on standard
output, is a sequence of frames: a length, a tag of 8 characters, and as many bytes. The first frame is empty and tagged
with the kind of the result, ``select``, ``ask`` or ``triples``; ``data`` frames and a ``last`` one hold the result in a
format of Oxigraph. An ``error`` or ``damaged`` frame, with a message, ends the response at any point.

Queries may call the functions of the Wikidata Query Service and kbkit's own (:func:`functions`).
"""

from __future__ import annotations

import functools
import io
import json
import math
import mmap
import os
import queue
import re
import signal
import sys
import threading
import urllib.parse
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import IO, Any

import pyoxigraph as ox

_CHUNK = 1 << 20
"""Bytes of a frame."""
_EARTH_RADIUS = 6371.0087714
"""Mean radius in km (IUGG 1980, as in spatial4j)."""
_UNITS = {
    **{f"{space}{name}": factor
       for space in ("http://www.opengis.net/def/uom/OGC/1.0/", "http://qudt.org/vocab/unit/", "http://qudt.org/vocab/unit#")
       for factor, names in ((1000.0, ("metre", "meter", "M", "Meter")), (1.0, ("kilometre", "KiloM", "Kilometer")),
                             (1 / 1.609344, ("mile", "statuteMile", "MI", "MileInternational")))
       for name in names},
    "http://www.opengis.net/def/uom/OGC/1.0/degree": 180 / math.pi / _EARTH_RADIUS,
    "http://www.opengis.net/def/uom/OGC/1.0/radian": 1 / _EARTH_RADIUS,
}  # fmt: skip
"""Units of distances, as GeoSPARQL and other endpoints write them, in a km."""
_ENTITY = "http://www.wikidata.org/entity/"
_EARTH = _ENTITY + "Q2"
_XSD = "http://www.w3.org/2001/XMLSchema#"
_KB = "urn:kbkit:"
_DOUBLE = ox.NamedNode(_XSD + "double")
_WKT = ox.NamedNode("http://www.opengis.net/ont/geosparql#wktLiteral")
_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
_DEFAULT_GRAPH = ox.DefaultGraph()
_SINGLE = (_LABEL, "http://schema.org/description")
"""Properties with at most one value in a language."""
_INDEXED = {
    verb: f" {verb}".encode() for verb in (*_SINGLE, "http://www.w3.org/2004/02/skos/core#altLabel")
}  # as in the records
_CACHED = 1 << 16
"""Points, and labels, that the process remembers."""
_NUMBER = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_POINT = re.compile(rf"\s*(?:<([^<>]*)>\s*)?Point\s*\(\s*({_NUMBER})[\s,]+({_NUMBER})\s*\)\s*", re.I)
_DURATION = re.compile(r"(-)?P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?")
_DATE = re.compile(r"(-?\d+-\d\d-\d\d)(T\d\d:\d\d:\d\d(?:\.\d+)?)?(Z|[-+]\d\d:\d\d)?")
_INTEGERS = {  # the bounds of the types derived from xsd:integer, to which the engine casts nothing
    **{name: (-(1 << bits - 1), (1 << bits - 1) - 1) for name, bits in (("byte", 8), ("short", 16), ("int", 32))},
    **{f"unsigned{name}": (0, (1 << bits) - 1) for name, bits in (("Byte", 8), ("Short", 16), ("Int", 32))},
    "long": (-(1 << 63), (1 << 63) - 1),
    "unsignedLong": (0, (1 << 64) - 1),
    "nonNegativeInteger": (0, math.inf),
    "positiveInteger": (1, math.inf),
    "nonPositiveInteger": (-math.inf, 0),
    "negativeInteger": (-math.inf, -1),
}

Term = ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple
Functions = dict[ox.NamedNode, Callable[..., Term | None]]
"""Functions by their IRI. None as a result is an expression error."""


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
    known: Functions = {}
    while True:
        request = json.loads(requests.get())
        try:
            if store is None:
                store = ox.Store.read_only(folder)
                labels = ValueLabels(store, LabelIndex(folder))
                known = functions(labels)
            answer(store, labels, known, out, **request)
        except (SyntaxError, ValueError, RuntimeError) as error:
            tag = "damaged" if store is None or "corrupt" in str(error).lower() else "error"
            _frame(out, tag, (error.msg if isinstance(error, SyntaxError) else str(error)).encode())
        except BaseException as error:  # noqa: BLE001 - a panic, too
            _frame(out, "damaged", str(error).encode())


def answer(
    store: ox.Store,
    labels: ValueLabels,
    known: Functions,
    out: IO[bytes],
    query: str,
    prefixes: dict[str, str],
    default_graphs: Sequence[str] | None,
    named_graphs: Sequence[str] | None,
    solutions: str,
    graph: str,
    columns: Sequence[Sequence[str]],
) -> None:
    """Run a query and write its result as frames.

    ``solutions`` and ``graph`` are the formats, by their file suffixes, of SELECT and ASK, and of CONSTRUCT and
    DESCRIBE; the result has no data if its format is empty. ``columns`` are those of a result in TSV (name, variable,
    and for labels the property and the languages); if empty, those of the query.
    """
    dataset: dict[str, Any] = {}
    if default_graphs is not None or named_graphs is not None:
        dataset["default_graph"] = [ox.NamedNode(name) for name in default_graphs or ()]
        dataset["named_graphs"] = [ox.NamedNode(name) for name in named_graphs or ()]
    result = store.query(query, prefixes=prefixes, custom_functions=known, **dataset)
    is_graph = isinstance(result, ox.QueryTriples)
    _frame(out, "triples" if is_graph else "ask" if isinstance(result, ox.QueryBoolean) else "select")
    frames = _Data(out)
    if graph if is_graph else solutions:
        stream = _Columns(frames, columns, labels.cell) if columns else frames
        with io.BufferedWriter(stream, _CHUNK) as data:
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


class _Columns(io.RawIOBase):
    """A stream that takes TSV and passes on the given columns, with the labels of values, a chunk at a time."""

    def __init__(self, out: io.RawIOBase, columns: Sequence[Sequence[str]], label: Callable[..., bytes]) -> None:
        self._out, self._columns, self._label = out, columns, label
        self._rest = b""
        self._variables: list[str] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        *lines, self._rest = (self._rest + bytes(data)).split(b"\n")
        if lines:
            self._out.write(b"".join(self._rows(lines)))
        return len(data)

    def _rows(self, lines: list[bytes]) -> Iterator[bytes]:
        if not self._variables:
            self._variables = lines.pop(0).decode().split("\t")
            yield "\t".join(f"?{name}" for name, *_ in self._columns).encode() + b"\n"
        if lines:
            cells = dict(zip(self._variables, zip(*[line.split(b"\t") for line in lines], strict=True), strict=True))
            columns = [self._labels(cells[f"?{variable}"], *more) for _, variable, *more in self._columns]
            yield b"\n".join(map(b"\t".join, zip(*columns, strict=True))) + b"\n"

    def _labels(self, cells: Sequence[bytes], verb: str = "", languages: str = "") -> Iterable[bytes]:
        """Return the label of each cell; without a property, the cell itself."""
        return map(self._label, cells, repeat(verb), repeat(languages)) if verb else cells


# -- places -----------------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=_CACHED)
def _point(text: str) -> tuple[float, float, str] | None:
    """Return longitude and latitude (degrees) and the globe of ``Point(12.5 41.9)``; the globe may precede it."""
    match = _POINT.fullmatch(text)
    if match is None:
        return None
    longitude, latitude = float(match[2]), float(match[3])
    return (longitude, latitude, match[1] or _EARTH) if abs(latitude) <= 90 else None


def _read(term: Term | None) -> tuple[float, float, str] | None:
    return _point(term.value) if isinstance(term, ox.Literal) else None


def distance(a: Term, b: Term, unit: Term | None = None) -> ox.Literal | None:
    """Return the distance of two points, by the haversine formula with Earth's mean radius; without a unit in km."""
    first, second = _read(a), _read(b)
    factor = 1.0 if unit is None else _UNITS.get(str(getattr(unit, "value", "")))
    if first is None or second is None or first[2] != second[2] or factor is None:
        return None
    (lon1, lat1), (lon2, lat2) = (map(math.radians, point[:2]) for point in (first, second))
    chord = math.sin((lat2 - lat1) / 2) ** 2 + math.cos(lat1) * math.cos(lat2) * math.sin((lon2 - lon1) / 2) ** 2
    return _double(factor * 2 * _EARTH_RADIUS * math.asin(min(1.0, math.sqrt(chord))))


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


def north_east(a: Term, b: Term) -> Term | None:
    """Return the north-eastern corner of the box between two points."""
    return _corner(a, b, max)


def south_west(a: Term, b: Term) -> Term | None:
    """Return the south-western corner of the box between two points."""
    return _corner(a, b, min)


def _corner(a: Term, b: Term, choose: Callable[[float, float], float]) -> ox.Literal | None:
    first, second = _read(a), _read(b)
    if first is None or second is None or first[2] != second[2]:
        return None
    globe_of = "" if first[2] == _EARTH else f"<{first[2]}> "
    numbers = (choose(one, other) for one, other in zip(first[:2], second[:2], strict=True))
    return ox.Literal(f"{globe_of}Point({' '.join(f'{number:.15g}' for number in numbers)})", datatype=_WKT)


def _double(value: float) -> ox.Literal:
    return ox.Literal(repr(value), datatype=_DOUBLE)


# -- times and casts --------------------------------------------------------------------------------------------------


def days(a: Term) -> Term:
    """Return a duration, such as the difference of two times, as a number of days; any other term as it is."""
    if not isinstance(a, ox.Literal) or a.datatype.value != _XSD + "dayTimeDuration":
        return a
    match = _DURATION.fullmatch(a.value)
    if match is None:
        return a
    sign, *parts = match.groups()
    whole, hours, minutes, seconds = (float(part or 0) for part in parts)
    return _double((-1 if sign else 1) * (whole + (hours * 3600 + minutes * 60 + seconds) / 86400))


def time(a: Term) -> Term:
    """Return a date as its midnight, and a time without a zone as one in UTC; any other term as it is."""
    if not isinstance(a, ox.Literal) or a.datatype.value not in (_XSD + "date", _XSD + "dateTime"):
        return a
    match = _DATE.fullmatch(a.value)
    if match is None:
        return a
    date, clock, zone = match.groups()
    return ox.Literal(f"{date}{clock or 'T00:00:00'}{zone or 'Z'}", datatype=ox.NamedNode(_XSD + "dateTime"))


def _cast(kind: str, low: float, high: float) -> Callable[[Term], ox.Literal | None]:
    """Return the cast to a type derived from ``xsd:integer``; a fraction is cut off."""
    datatype = ox.NamedNode(_XSD + kind)

    def cast(a: Term) -> ox.Literal | None:
        try:
            text = {"true": "1", "false": "0"}.get(a.value, a.value) if isinstance(a, ox.Literal) else ""
            number = int(text) if text.lstrip("+-").isdigit() else int(float(text))
        except (ValueError, OverflowError):
            return None
        return ox.Literal(str(number), datatype=datatype) if low <= number <= high else None

    return cast


def decode_uri(a: Term) -> ox.Literal | None:
    """Percent-decode a literal or an IRI."""
    return ox.Literal(urllib.parse.unquote(a.value)) if isinstance(a, (ox.Literal, ox.NamedNode)) else None


# -- labels -----------------------------------------------------------------------------------------------------------


class LabelIndex:
    """The index of labels beside a store (``label_index.py``)."""

    def __init__(self, folder: str | None = None) -> None:
        """Map the files; the index is empty if there are none."""
        names = ("labels.data", "labels.hashes", "labels.places")
        data, hashes, places = (b"" if folder is None else _mapped(Path(folder) / name) for name in names)
        self._data, self._hashes, self._places = data, memoryview(hashes).cast("I"), memoryview(places).cast("Q")

    def find(self, subject: bytes, verb: str, languages: str) -> tuple[bytes, list[bytes]] | None:
        """Return the first language with values of a property (or "") and these, or None if the store has to be asked.

        Other properties, and values with escapes, are left to the store.
        """
        ending, hashes = _INDEXED.get(verb), self._hashes
        if ending is None or not hashes:
            return None
        key = subject + ending
        value, record = zlib.crc32(key), b""
        at = bisect_left(hashes, value)
        while at < len(hashes) and hashes[at] == value:
            found = self._data[self._places[2 * at] : self._places[2 * at + 1]]
            if found.startswith(key + b"\t"):
                record += found[len(key) :]
            at += 1
        if b"\\" in record:
            return None
        for code, mark in _marks(languages):
            if mark in record:
                return code, [part.partition(b"\t")[0] for part in record.split(mark)[1:]]
        return b"", []


def _mapped(path: Path) -> bytes | mmap.mmap:
    if not path.exists() or not path.stat().st_size:
        return b""
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


class ValueLabels:
    """The values of properties in the best of several languages, from an index or else from the store."""

    def __init__(self, store: ox.Store, index: LabelIndex | None = None) -> None:
        self._store, self._index = store, index or LabelIndex()
        self._best = functools.lru_cache(maxsize=_CACHED)(self._find)
        self.cell = functools.lru_cache(maxsize=_CACHED)(self._cell)
        """Does the same as :meth:`in_language` with a cell of TSV, and returns one."""

    def in_language(self, a: Term, verb: Term, languages: Term, graph: Term | None = None) -> ox.Literal | None:
        """Return ``kb:inLanguage(?x, rdfs:label, "de,en")``, the function behind the label service.

        It is the value of a property in the first of these languages that has one; several values in it are joined by
        commas. Without any, a label is the id of an entity, or the term as text. The name of a graph may follow.
        """
        if not isinstance(verb, ox.NamedNode) or not isinstance(languages, ox.Literal):
            return None
        if isinstance(a, ox.NamedNode):
            where = graph.value if isinstance(graph, ox.NamedNode) else None
            return self._best(a.value, verb.value, languages.value, where)
        return ox.Literal(a.value) if isinstance(a, ox.Literal) and verb.value == _LABEL else None

    def _find(self, subject: str, verb: str, languages: str, graph: str | None) -> ox.Literal | None:
        label = None if graph is not None else self._index.find(subject.encode(), verb, languages)
        if label is None:
            language, values = best(self._store, subject, verb, languages, graph)
        else:
            language, values = label[0].decode(), [value.decode() for value in label[1]]
        if values:
            return ox.Literal(", ".join(sorted(values)), language=language)
        return ox.Literal(subject.removeprefix(_ENTITY)) if verb == _LABEL else None

    def _cell(self, cell: bytes, verb: str, languages: str) -> bytes:
        if not cell:
            return cell
        if cell.startswith(b"<") and not cell.startswith(b"<<"):
            found = self._index.find(cell[1:-1], verb, languages)
            if found is not None and len(found[1]) < 2:  # faster than by way of terms
                if found[1]:
                    return b'"%b"@%b' % (found[1][0], found[0])
                return b'"%b"' % cell[1:-1].removeprefix(_ENTITY.encode()) if verb == _LABEL else b""
            term: Term = ox.NamedNode(cell[1:-1].decode())
        else:
            solutions: Any = ox.parse_query_results(b"?x\n" + cell + b"\n", ox.QueryResultsFormat.TSV)
            [[term]] = solutions
        label = self.in_language(term, ox.NamedNode(verb), ox.Literal(languages))
        return b"" if label is None else str(label).encode()


def best(store: ox.Store, subject: str, verb: str, languages: str, graph: str | None = None) -> tuple[str, list[str]]:
    """Return the first of the languages in which a property has values (or ""), and these."""
    ranks, single = _ranks(languages), verb in _SINGLE
    values: list[str] = []
    language, rank = "", len(ranks)
    where = _DEFAULT_GRAPH if graph is None else ox.NamedNode(graph)
    for quad in store.quads_for_pattern(ox.NamedNode(subject), ox.NamedNode(verb), None, where):
        literal = quad.object
        if not isinstance(literal, ox.Literal):
            continue
        found = ranks.get(code := literal.language or "")
        if found is None or found > rank:
            continue
        values = [literal.value] if found < rank else [*values, literal.value]
        language, rank = code, found
        if not found and single:  # each further value would be read from the disk
            break
    return language, values


@functools.lru_cache(maxsize=64)
def _marks(languages: str) -> list[tuple[bytes, bytes]]:
    """Return the codes of languages, and what is before a value in them."""
    return [(code, b"\t%b@" % code) for code in languages.encode().split(b",")]


@functools.lru_cache(maxsize=64)
def _ranks(languages: str) -> Mapping[str, int]:
    return {code: rank for rank, code in reversed([*enumerate(languages.split(","))])}


# -- the table of functions -------------------------------------------------------------------------------------------

_PLACES: dict[str, Callable[..., Term | None]] = {
    "distance": distance, "latitude": latitude, "longitude": longitude, "globe": globe,
    "northEast": north_east, "southWest": south_west,
}  # fmt: skip
FUNCTIONS: Functions = {
    **{
        ox.NamedNode(namespace + name): function
        for namespace in ("http://www.opengis.net/def/geosparql/function/",  # the query service's own
                          "http://www.opengis.net/def/function/geosparql/")
        for name, function in _PLACES.items()
    },
    **{ox.NamedNode(_XSD + name): _cast(name, *bounds) for name, bounds in _INTEGERS.items()},
    ox.NamedNode("http://wikiba.se/ontology#decodeUri"): decode_uri,
    ox.NamedNode(_KB + "days"): days,
    ox.NamedNode(_KB + "time"): time,
}  # fmt: skip
"""The functions that need no store.

https://www.mediawiki.org/wiki/Wikidata_Query_Service/User_Manual#Extensions
"""


def functions(labels: ValueLabels) -> Functions:
    """Return all functions that queries may call."""
    return {**FUNCTIONS, ox.NamedNode(_KB + "inLanguage"): labels.in_language}


def _listen(requests: queue.Queue[bytes]) -> None:
    """Queue requests; end the process, even during a query, when the parent is gone."""
    stream = sys.stdin.buffer
    while len(head := stream.read(8)) == 8:
        requests.put(stream.read(int.from_bytes(head, "little")))
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
