"""Entities and statements as both readers, JSON and RDF, produce them, and as the writers of rows and quads take them.

Terms in N-Triples are strings (``<iri>``, ``"text"@en``). Columns are listed in ``parts.SCHEMAS``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kbkit.readers.wikidata.literals import CANONICAL, language_tag
from kbkit.readers.wikidata.options import ConversionOptions

RANKS = ("preferred", "normal", "deprecated")

NO_VALUE = ("novalue", *(None,) * 13)
SOME_VALUE = ("somevalue", *(None,) * 13)

Triple = tuple[str, str, str]


class ValueNode(NamedTuple):
    """A full value in RDF: its IRI, its lines, and the node of its normalized value, if any (may be itself)."""

    name: str
    lines: list[str]
    normal: ValueNode | None = None


class Object(NamedTuple):
    """A value as the object of a triple, and its value node if its datatype has them."""

    text: str
    node: ValueNode | None = None


class Snak(NamedTuple):
    """A property with a value. ``columns`` are those from ``snak`` to ``language`` of statements and qualifiers.

    ``object`` is missing unless ``columns[0]`` is ``value`` and triples are made. ``node`` is the hash of the value
    node in an RDF dump, which may describe the node far from the statement.
    """

    property: str
    columns: tuple[Any, ...]
    object: Object | None = None
    node: str | None = None


class Reference(NamedTuple):
    """A reference by its hash. ``snaks`` is None if the reference was already read in this piece."""

    hash: str
    snaks: Sequence[Snak] | None


class EntityStatement(NamedTuple):
    """A statement; ``best`` if it has the best rank among those of its property."""

    id: str
    rank: str
    best: bool
    main: Snak
    qualifiers: Sequence[Snak] = ()
    references: Sequence[Reference] = ()


class Sitelink(NamedTuple):
    """A page about an entity in a Wikimedia site (``enwiki``), with the ids of its badges."""

    site: str
    title: str
    url: str | None
    badges: Sequence[str] = ()


@dataclass(slots=True)
class Entity:
    """An entity, or a form or sense of a lexeme. ``terms`` are (term, language, value).

    ``links`` are (name, id) of other entities: language, lexical category, grammatical features.
    """

    id: str
    kind: str
    datatype: str | None = None
    terms: list[tuple[str, str, str]] = field(default_factory=list)
    statements: list[EntityStatement] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)


@dataclass(slots=True)
class EntityPage:
    """The content of an entity's page: the entity, for a lexeme also its forms and senses, and the sitelinks.

    A page from JSON has ``version``, ``modified`` and ``sitelink_count``. A page from RDF has its triples: ``own``, and
    ``shared`` ones about value nodes, references and sites.
    """

    id: str
    entities: list[Entity] = field(default_factory=list)
    sitelinks: list[Sitelink] = field(default_factory=list)
    version: int | None = None
    modified: str | None = None
    sitelink_count: int = 0
    own: list[Triple] = field(default_factory=list)
    shared: list[Triple] = field(default_factory=list)


class Languages:
    """The selected languages, with all codes that a dump may use for them."""

    def __init__(self, options: ConversionOptions) -> None:
        wanted = [*options.languages, "mul"] if options.languages else []
        tags = {language_tag(code): None for code in wanted}
        old = {tag: [code for code, new in CANONICAL.items() if new == tag] for tag in tags}
        self.codes = list(dict.fromkeys(code for tag in tags for code in (tag, *old[tag])))
        self.positions = {tag: position for position, tag in enumerate(tags)}
        self.tags = frozenset(tags)

    def select(self, terms: Any) -> Iterator[tuple[str, Any]]:
        """Yield (tag, content) for the selected languages in their order, or for all languages by default."""
        if not terms:  # PHP writes an empty map as []
            return
        for code in self.codes or terms:
            term = terms.get(code)
            if term is not None:
                yield language_tag(code), term
