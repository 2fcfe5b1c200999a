"""The published formats of SPARQL results: names, file suffixes and media types."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kbkit.errors import UnknownNameError

SOLUTIONS, GRAPH = "solutions", "graph"
"""What a format holds: the rows of SELECT and the answer of ASK, or the triples of CONSTRUCT and DESCRIBE."""


@dataclass(frozen=True)
class Format:
    """A format: its name, what it holds, its file suffix (by which Oxigraph knows it), its media types, the first of
    which is the one that it is sent as, and other names that people use for it.
    """

    name: str
    holds: str
    suffix: str
    media_types: tuple[str, ...]
    aliases: tuple[str, ...] = ()


ALL = (
    Format("sparql-json", SOLUTIONS, ".srj", ("application/sparql-results+json", "application/json"), ("json", "srj")),
    Format(
        "sparql-xml",
        SOLUTIONS,
        ".srx",
        ("application/sparql-results+xml", "application/xml", "text/xml"),
        ("xml", "srx"),
    ),
    Format("sparql-csv", SOLUTIONS, ".csv", ("text/csv",), ("csv",)),
    Format("sparql-tsv", SOLUTIONS, ".tsv", ("text/tab-separated-values",), ("tsv",)),
    Format("turtle", GRAPH, ".ttl", ("text/turtle", "application/x-turtle", "application/turtle"), ("ttl", "n3")),
    Format("ntriples", GRAPH, ".nt", ("application/n-triples", "text/plain"), ("nt", "n-triples")),
    Format("jsonld", GRAPH, ".jsonld", ("application/ld+json", "application/json"), ("json-ld", "json")),
    Format("rdfxml", GRAPH, ".rdf", ("application/rdf+xml", "application/xml", "text/xml"), ("rdf", "rdf+xml", "xml")),
)
"""All formats; the first one of each kind is the default."""
NAMES = tuple(known.name for known in ALL)
SUFFIXES = {known.suffix: known for known in ALL if known.suffix != ".csv"}
"""Formats by the suffix of a file. CSV files are tables with typed columns, not SPARQL results."""

_TAKEN = ("json", "csv", "xml")


@dataclass(frozen=True)
class Formats:
    """The formats of a result whose kind is not known yet; None: results of this kind are refused."""

    solutions: Format | None = None
    graph: Format | None = None


def named(name: str) -> Format:
    """Return a format by its name. Raises :class:`UnknownNameError`."""
    for known in ALL:
        if known.name == name:
            return known
    raise UnknownNameError("format", name, NAMES)


def called(name: str) -> Formats | None:
    """Return the formats that people mean by a name, an alias or a media type (``json``); None if there are none."""
    wanted = name.strip().lower()
    hits = [known for known in ALL if wanted in (known.name, *known.aliases, *known.media_types)]
    return _first_of_each(hits) if hits else None


def of_file(name: str | None, output: Path | None) -> Format | None:
    """Return the format named, or that of the suffix of a file; None if this is no format of SPARQL results.

    ``json`` and ``csv`` are formats of tables with typed columns, and ``xml`` may mean two formats.
    """
    if name is not None:
        return next((known for known in ALL if name in (known.name, *known.aliases) and name not in _TAKEN), None)
    return SUFFIXES.get(output.suffix) if output is not None else None


def only(name: str) -> Formats:
    """Return the format ``name`` for its kind of result; results of the other kind are refused."""
    return _first_of_each([named(name)])


def _first_of_each(formats: Iterable[Format]) -> Formats:
    found: dict[str, Format] = {}
    for known in formats:
        found.setdefault(known.holds, known)
    return Formats(found.get(SOLUTIONS), found.get(GRAPH))


DEFAULT = _first_of_each(ALL)
"""SPARQL Results JSON and Turtle."""
PLAIN = Formats(named("sparql-tsv"), named("ntriples"))
"""The formats that are cheap to parse."""
