"""RDF dumps -> what is said of each entity, as the Wikidata Query Service holds it.

As the query service does on loading: what is said of an entity's page moves to the entity, doubled labels
(``schema:name``, ``skos:prefLabel``) and types that hold for nearly everything go, blank nodes become IRIs. OWL's
declarations of predicates go too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import pyoxigraph as ox

from kbkit.errors import BadInputError
from kbkit.readers.wikidata.dump import AGAIN
from kbkit.readers.wikidata.entity import Languages
from kbkit.readers.wikidata.literals import iri, language_tag
from kbkit.readers.wikidata.objects import TYPE
from kbkit.readers.wikidata.worker import Request
from kbkit.schema import Wikibase

Triple = tuple[str, str, str]

LABEL, ALIAS = f"<{Wikibase.PREFIXES['rdfs']}label>", f"<{Wikibase.PREFIXES['skos']}altLabel>"
DESCRIPTION, LEMMA = f"<{Wikibase.SCHEMA}description>", f"<{Wikibase.ONTOLOGY}lemma>"
REPRESENTATION, DEFINITION = (
    f"<{Wikibase.PREFIXES['ontolex']}representation>",
    f"<{Wikibase.PREFIXES['skos']}definition>",
)
TERMS = {
    LABEL: "label", LEMMA: "label", REPRESENTATION: "label", DESCRIPTION: "description", DEFINITION: "description",
    ALIAS: "alias",
}  # fmt: skip
"""Predicates of terms, which are kept in the chosen languages only."""

_PAGES = ("<https://www.wikidata.org/wiki/Special:EntityData/", "<http://www.wikidata.org/wiki/Special:EntityData/")
_IN_ENTITY, _IN_STATEMENT = f"<{Wikibase.ENTITY}", f"<{Wikibase.PREFIXES['wds']}"
_IN_VALUE, _IN_REFERENCE = f"<{Wikibase.PREFIXES['wdv']}", f"<{Wikibase.PREFIXES['wdref']}"
_IN_PROP, _IN_ONTOLOGY, _WIKIDATA = f"<{Wikibase.PROP}", f"<{Wikibase.ONTOLOGY}", "<http://www.wikidata.org/"
_GROUP = f"<{Wikibase.ONTOLOGY}wikiGroup>"
_OF_PAGE = (f"<{Wikibase.SCHEMA}version>", f"<{Wikibase.SCHEMA}dateModified>")
_DOUBLED = (f"<{Wikibase.SCHEMA}name>", f"<{Wikibase.PREFIXES['skos']}prefLabel>")
_COMMON_TYPES = frozenset(
    f"<{Wikibase.ONTOLOGY}{name}>" for name in ("Item", "Lexeme", "Form", "Sense", "Statement", "Reference", "Value")
)
_TAGGED = re.compile(r'"@([A-Za-z0-9-]+)$')
_PLACE = re.compile(r"^Parser error[^:]*: |\(line [0-9]+\)$")
_NAME = re.compile(r"[A-Z][1-9][0-9]*")


@dataclass
class Group:
    """What a dump says of an entity: ``own`` triples (of it, its statements, its pages in Wikimedia's sites; of its
    forms and senses), and ``nodes``, the values, references and sites that stand with it.
    """

    name: str
    own: list[Triple] = field(default_factory=list)
    nodes: list[Triple] = field(default_factory=list)


def lines(request: Request) -> Iterator[str]:
    """The statements of a piece, in N-Triples; raises :class:`BadInputError` with file and line."""
    form = ox.RdfFormat.N_TRIPLES if request.data.lstrip().startswith((b"<", b"_:")) else ox.RdfFormat.TURTLE
    try:
        # Lenient: addresses and languages are mended later.
        parsed = ox.parse(request.data, format=form, lenient=True)
        text = ox.serialize(parsed, format=ox.RdfFormat.N_TRIPLES) or b""
    except SyntaxError as error:
        number = request.line + (error.lineno or 1) - 1
        reason = " ".join(_PLACE.sub("", error.msg).split())
        raise BadInputError(f"{request.where(number)}: {reason}", AGAIN) from None
    except ValueError as error:
        raise BadInputError(f"{request.path}, from {request.unit} {request.line:,} on: {error}", AGAIN) from None
    yield from filter(None, text.decode().split("\n"))  # other line breaks may stand inside a literal


def groups(request: Request, languages: Languages) -> Iterator[Group]:
    """The entities of a piece."""
    group: Group | None = None
    for line in lines(request):
        subject, predicate, rest = line.split(" ", 2)
        name = _entity(subject)
        if name is not None and (group is None or name != group.name):
            if group is not None:
                yield group
            group = Group(name)
        if group is None:  # the dump speaks of itself
            continue
        kept = munged(subject, predicate, rest[:-2], group.name, languages)
        if kept is not None:
            shared = subject.startswith((_IN_VALUE, _IN_REFERENCE)) or predicate == _GROUP
            (group.nodes if shared else group.own).append(kept)
    if group is not None:
        yield group


def _entity(subject: str) -> str | None:
    """The entity that a subject stands for, or lies within."""
    if subject.startswith(_PAGES):
        name = subject[len(_PAGES[0]) - (subject[5] == ":") : -1]
    elif subject.startswith(_IN_ENTITY) and not subject.startswith(_IN_STATEMENT):
        name = subject[len(_IN_ENTITY) : -1].partition("-")[0]
    else:
        return None
    return name if _NAME.fullmatch(name) else None


def munged(subject: str, predicate: str, value: str, name: str, languages: Languages) -> Triple | None:
    """A statement as the query service holds it; None for one that it leaves out."""
    if subject.startswith(_PAGES):
        if predicate not in _OF_PAGE and not predicate.startswith(_IN_ONTOLOGY):
            return None
        subject = f"{_IN_ENTITY}{name}>"
    elif subject.startswith((_IN_PROP, "_:", _IN_ONTOLOGY)):
        return None
    if predicate == TYPE and value in _COMMON_TYPES:
        return None
    if subject.startswith(_IN_ENTITY):
        if predicate in _DOUBLED or (predicate == LABEL and subject.startswith(f"{_IN_ENTITY}L")):
            return None
    elif not subject.startswith(_WIKIDATA):
        subject = iri(subject[1:-1]) or subject
    if value[0] == "_":
        value = f"<{Wikibase.GENID}{value[2:]}>"
    elif value[0] == "<":
        if not value.startswith(_WIKIDATA):
            value = iri(value[1:-1]) or f'"{value[1:-1]}"'
    elif (tagged := _TAGGED.search(value)) is not None:
        tag = language_tag(tagged[1])
        if predicate in TERMS and languages.tags and tag not in languages.tags:
            return None
        value = f"{value[: tagged.start() + 2]}{tag}"
    return subject, predicate, value


# -- reading terms ----------------------------------------------------------------------------------------------------

_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")
_SIGNS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}


def text(literal: str) -> tuple[str, str, str]:
    """(text, language tag, datatype) of a literal in N-Triples."""
    end = literal.rindex('"')
    content, rest = literal[1:end], literal[end + 1 :]
    if "\\" in content:
        content = _ESCAPE.sub(_unescaped, content)
    return content, rest[1:] if rest.startswith("@") else "", rest[3:-1] if rest.startswith("^^") else ""


def _unescaped(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    return chr(int(code, 16)) if code else _SIGNS.get(found[3], found[3])


@lru_cache(1 << 15)
def property_of(predicate: str) -> tuple[str, str]:
    """(``ps``, ``P31``) of a predicate in angle brackets; empty texts for one that is no property's."""
    if not predicate.startswith(_IN_PROP):
        return "", ""
    space, _, name = predicate[1:-1].rpartition("/")
    return _SPACES.get(space + "/", ""), name


_SPACES = {iri: prefix for prefix, iri in Wikibase.PREFIXES.items() if iri.startswith(Wikibase.PROP)}
