"""The names in the text of a query: the order of its columns, and IRIs of the KB's vocabulary that do not exist.

The text is read token by token, without the grammar, whose loading takes longer than most queries.
"""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from kbkit.errors import KbError, UnknownNameError
from kbkit.schema import STANDARD_PREFIXES, Wikibase, iri_escape
from kbkit.sparql import wikidata_names
from kbkit.stores.sparql_formats import PLAIN
from kbkit.stores.sparql_text import Token, tokens

if TYPE_CHECKING:
    from kbkit.schema import Schema
    from kbkit.stores import Stores

WIKIDATA = "wikidata"
"""The dialect of KBs of Wikidata."""
_CORRECTED = re.compile(
    r"group_concat|\b(?:regex|replace)\b|\b(?:bds|ql|luc|lucene|stardog|bif):"
    r"|bigdata\.com/rdf/search|qlever|jena\.apache|ontotext",
    re.IGNORECASE,
)
"""Functions whose calls are rewritten or checked in every dialect (``standard.py``), and refused predicates."""
_MOST = 3
"""Maximum number of unknown names that are looked up."""
_TIMEOUT = 5.0
"""Seconds for the lookup of a name."""
_INVALID = re.compile(r'[<>"{}|^`\\\x00-\x20]')
_KINDS = {"rel": "relation", "type": "type", "attr": "attribute", "text": "text field"}
_STANDARD = {
    STANDARD_PREFIXES["rdf"]: "type first rest value subject predicate object nil List Property Statement Bag Seq Alt"
    " langString HTML XMLLiteral JSON",
    STANDARD_PREFIXES["rdfs"]: "label comment subClassOf subPropertyOf domain range seeAlso isDefinedBy member Class"
    " Resource Literal Datatype Container ContainerMembershipProperty",
    STANDARD_PREFIXES["skos"]: "prefLabel altLabel hiddenLabel definition note changeNote editorialNote example"
    " historyNote scopeNote notation broader broaderTransitive narrower narrowerTransitive related semanticRelation"
    " mappingRelation broadMatch narrowMatch closeMatch exactMatch relatedMatch inScheme hasTopConcept topConceptOf"
    " member memberList Concept ConceptScheme Collection OrderedCollection",
}
"""The terms of vocabularies of the W3C, by namespace."""


class IriName(NamedTuple):
    """An IRI in a query: as written, in full, and in its parts (the kind, or the type of a node, and the rest)."""

    written: str
    iri: str
    space: str
    local: str


def star_columns(text: str) -> list[str]:
    """Return the variables of a ``SELECT *`` in the order of the query; nothing for other queries."""
    words = (token for token in tokens(text) if token.kind not in ("space", "comment"))
    for token in words:
        if token.kind == "word" and token.text.lower() == "select":
            break
    chosen = next((token.text for token in words if token.text.lower() not in ("distinct", "reduced")), "")
    if chosen != "*":
        return []
    return list(dict.fromkeys(token.text[1:] for token in words if token.kind == "variable"))


def is_corrected(text: str) -> bool:
    """Return whether a query may have what no engine understands as the standard, or its writer, does."""
    return _CORRECTED.search(text) is not None


def unknown_names(stores: Stores, text: str) -> list[str]:
    """Return a sentence for each IRI of the KB's vocabulary or nodes that a query uses and the KB lacks.

    The same for terms of RDF, RDFS and SKOS that these do not define. The vocabulary is ``type:``, ``rel:``, ``attr:``
    and ``text:``. Nodes are those of a KB without an RDF source. The sentences have the closest names.
    """
    problems = []
    for error in _errors(stores, text):
        problems.append(str(error))
        if len(problems) == _MOST:
            break
    return problems


def _errors(stores: Stores, text: str) -> Iterator[KbError]:
    for name in _used(stores.schema, text):
        error = _error(stores, name)
        if error is not None and not _occurs(stores, name.iri):
            yield error
    if stores.schema.dialect == WIKIDATA:
        words = _resolved({**Wikibase.PREFIXES, **stores.schema.prefixes()}, text)
        for wikidata_id in wikidata_names.ids(words):
            error = wikidata_names.error(stores, wikidata_id)
            if error is not None:
                yield error
        yield from wikidata_names.misuses(stores, words)


def _used(schema: Schema, text: str) -> list[IriName]:
    """Return the IRIs in the KB's own namespaces, each once, but those that CONSTRUCT makes."""
    names: dict[str, IriName] = {}
    for word, iri in _resolved(schema.prefixes(), text):
        if iri:
            names.update(_names(schema, word.text, iri))
    return list(names.values())


def _resolved(prefixes: Mapping[str, str], text: str) -> list[tuple[Token, str]]:
    """Return the tokens of a query, without its prologue, each with its IRI (empty: it is not a known one)."""
    declared = dict[str, str]()
    resolved: list[tuple[Token, str]] = []
    previous = ""
    for word in _matched(text):
        iri = ""
        if word.kind == "iri":
            iri = word.text[1:-1]
            if previous.endswith(":"):  # PREFIX name: <...>
                declared[previous[:-1]] = iri
                del resolved[-2:]
                previous = ""
                continue
        elif word.kind == "name":
            prefix, _, local = word.text.partition(":")
            space = declared.get(prefix, prefixes.get(prefix))
            iri = space + local.replace("\\", "") if space is not None and local else ""
        resolved.append((word, iri))
        previous = word.text if word.kind == "name" else ""
    return resolved


def _matched(text: str) -> Iterator[Token]:
    """Yield the tokens of a query without space, comments and the template of a CONSTRUCT."""
    previous, depth = "", 0
    for token in tokens(text):
        if token.kind in ("space", "comment"):
            continue
        if token.text == "{" and (depth or previous == "construct"):
            depth += 1
        elif token.text == "}" and depth:
            depth -= 1
        elif not depth:
            yield token
        previous = token.text.lower()


def _names(schema: Schema, written: str, iri: str) -> Iterator[tuple[str, IriName]]:
    space, sign, local = iri[len(schema.base) :].partition("/")
    if iri.startswith(schema.base) and sign and local and "/" not in local:
        yield iri, IriName(written, iri, urllib.parse.unquote(space), urllib.parse.unquote(local))
    namespace = next((one for one in _STANDARD if iri.startswith(one)), "")
    if namespace and not iri[len(namespace) :].startswith("_"):  # rdf:_1, rdf:_2, ...
        yield iri, IriName(written, iri, namespace, iri[len(namespace) :])


def _error(stores: Stores, name: IriName) -> KbError | None:
    """Return the error of a name that is neither in the vocabulary nor a node."""
    schema = stores.schema
    known = _vocabulary(schema, name)
    if known is not None:
        if name.local in known or iri_escape(name.local) in known:
            return None
        return UnknownNameError(_KINDS.get(name.space, "term"), name.local, known, name.written)
    if schema.rdf_source or name.space not in {t.name for t in schema.node_types}:
        return None
    return None if stores.nodes.by_key(name.space, [name.local])[0] else _node_error(stores, name)


def _vocabulary(schema: Schema, name: IriName) -> set[str] | None:
    """Return the names of a kind; None if the name is not of the vocabulary."""
    if name.space in _STANDARD:
        return set(_STANDARD[name.space].split())
    if name.space not in _KINDS:
        return None
    if name.space == "text":
        return {field.name for field in schema.text_fields}
    if name.space == "attr":
        held = [*(t.attributes for t in schema.node_types), *(r.attributes for r in schema.relations)]
        return {attribute.name for attributes in held for attribute in attributes}
    return {t.name for t in schema.node_types} if name.space == "type" else {r.name for r in schema.relations}


def _node_error(stores: Stores, name: IriName) -> KbError:
    called = stores.nodes.by_name(name.space, [name.local.replace("_", " ")])[0]
    close = called or stores.nodes.closest(name.local, name.space, keys=True)
    shown = [f"{name.space}:{iri_escape(row.key)} ({row.name})" for row in close]
    hint = f"Did you mean {' or '.join(shown)}?" if shown else "No key is similar"
    return UnknownNameError(name.space, name.local, [], name.written, hint)


def _occurs(stores: Stores, iri: str) -> bool:
    """Return whether the store has statements with an IRI, which the tables may not know."""
    if _INVALID.search(iri):
        return True
    part = f"{{ <{iri}> ?p ?o }} UNION {{ ?s <{iri}> ?o }} UNION {{ ?s ?p <{iri}> }}"
    query = f"ASK {{ {{ {part} }} UNION {{ GRAPH ?g {{ {part} }} }} }}"
    try:
        with stores.triples.results(query, PLAIN, _TIMEOUT) as answer:
            return answer.read() == b"true"
    except KbError:
        return True
