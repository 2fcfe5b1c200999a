"""Ids of Wikidata in a query that the KB lacks, ids in the wrong namespace, and predicates in a wrong place.

A query with ``?x wd:P31 wd:Q5``, with an entity that is not in the part of Wikidata, or with ``rdfs:label "x"``, is
valid, and matches nothing.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from kbkit.errors import KbError, UnknownNameError
from kbkit.schema import STANDARD_PREFIXES, Wikibase
from kbkit.stores.sparql_formats import PLAIN
from kbkit.stores.sparql_text import Token

if TYPE_CHECKING:
    from kbkit.stores import Stores

_TIMEOUT = 5.0
"""Seconds for the lookup of an id."""
_ID = re.compile(r"[PQL][1-9][0-9]*")
_MEANING = {
    "wdt": "statement", "wdtn": "statement", "p": "statement", "ps": "statement", "psv": "statement",
    "psn": "statement", "pq": "qualifier", "pqv": "qualifier", "pqn": "qualifier", "pr": "reference",
    "prv": "reference", "prn": "reference",
}  # fmt: skip
"""The namespaces of predicates by their usual prefix, and what has them."""
_OF_STATEMENTS = {
    **dict.fromkeys(("ps", "psv", "psn"), "p:{}"), **dict.fromkeys(("pq", "pqv", "pqn"), "p:P69"),
    **dict.fromkeys(("pr", "prv", "prn"), "p:P69/prov:wasDerivedFrom"),
}  # fmt: skip
"""Predicates that no entity has, and the path that leads to what has them."""
_OFTEN = ("wdt", "p", "ps", "pq", "pr")
_SPACES = {Wikibase.PREFIXES[prefix]: prefix for prefix in ("wd", *_MEANING)}
_TERMS = ("variable", "name", "iri", "string", "number")

_SMALL = re.compile(r"[pql][1-9][0-9]*")
_TEXTS = (STANDARD_PREFIXES["rdfs"] + "label", STANDARD_PREFIXES["skos"] + "altLabel", Wikibase.SCHEMA + "description")
"""Predicates whose values have a language."""
_SPELLED = {Wikibase.PREFIXES[prefix]: prefix for prefix in ("schema", "rdfs", "skos", "wikibase", "prov", "ontolex")}
_ALIKE = 0.8

_KNOWN: WeakKeyDictionary[Stores, dict[str, bool]] = WeakKeyDictionary()
"""IRIs by whether they occur as predicates, of the KBs that are open: a generation never changes."""


class WikidataId(NamedTuple):
    """An id in a query: as written, the usual prefix of its namespace, the id, and whether it is a predicate."""

    written: str
    space: str
    id: str
    is_verb: bool


def ids(words: Sequence[tuple[Token, str]]) -> Iterator[WikidataId]:
    """Yield the ids of Wikidata in the tokens of a query, given with their IRIs (empty: not an IRI), each once."""
    seen = set()
    in_values = False
    padded = [None, *words, None]
    for before, (word, iri), after in ((a, b, c) for (a, b), (_, c) in pairwise(pairwise(padded)) if b is not None):
        in_values = (in_values or word.text.lower() == "values") and word.text != "}"
        space, local = _split(iri)
        if not space:
            continue
        follows = before is not None and (before[0].kind in _TERMS or before[0].text in (";", "[", "/", "|", "^", "a"))
        leads = after is not None and (after[0].kind in _TERMS or after[0].text in ("[", "/", "|", "*", "+", "?", "("))
        wikidata_id = WikidataId(word.text, space, local, follows and leads and not in_values)
        if wikidata_id not in seen:
            seen.add(wikidata_id)
            yield wikidata_id


def _split(iri: str) -> tuple[str, str]:
    space, sign, local = iri.rpartition("/")
    return (_SPACES.get(space + sign, ""), local) if _ID.fullmatch(local) else ("", "")


def error(stores: Stores, name: WikidataId) -> KbError | None:
    """Return the error of an id that the KB lacks, or that is in the wrong namespace."""
    if name.space == "wd":
        return _entity_error(stores, name)
    if not name.id.startswith("P"):
        hint = f"Did you mean wd:{name.id}?"
        return UnknownNameError("property", name.id, [], name.written, hint)
    if _is_predicate(stores, name.space, name.id):
        return None
    known = [f"{prefix}:{name.id}" for prefix in _OFTEN if _is_predicate(stores, prefix, name.id)]
    if not known:
        return UnknownNameError("property", name.id, [], name.written, "No statement of the KB has it")
    label = _label(stores, name.id)
    return KbError(
        f"No {_MEANING[name.space]} has {name.written}{f' ({label})' if label else ''}",
        f"The property occurs as {', '.join(known)}",
    )


def misuses(stores: Stores, words: Sequence[tuple[Token, str]]) -> Iterator[KbError]:
    """Yield the errors of predicates that match nothing because of what is beside them, or of their spelling."""
    nothing = (Token("", "", 0), "")
    padded = [nothing, *words, nothing, nothing]
    in_values = False
    for before, (word, iri), after, last in zip(padded, padded[1:], padded[2:], padded[3:], strict=False):
        in_values = (in_values or word.text.lower() == "values") and word.text != "}"
        if in_values or (not iri and word.text != "a"):
            continue
        space, local = _split(iri)
        is_value = _split(after[1])[0] == "wd" and last[0].text not in ("/", "|", "*", "+", "?")
        follows = before[0].kind in _TERMS or before[0].text in (";", "[")
        if space == "p" and follows and is_value:
            hint = f"Did you mean wdt:{local} or p:{local}/ps:{local}?"
            yield KbError(f"{word.text} leads to statements, not to {after[0].text}", hint)
        elif space in _OF_STATEMENTS and _split(before[1])[0] == "wd" and after[0].kind in _TERMS:
            hint = f"Put its property before it, such as {_OF_STATEMENTS[space].format(local)}/{word.text}"
            yield KbError(f"{word.text} belongs to statements, not to {before[0].text}", hint)
        elif word.text in ("a", "rdf:type") and follows and is_value and not _has_type(stores, after[1]):
            yield KbError(f"Nothing has the rdf:type {after[0].text}", f"Did you mean wdt:P31 {after[0].text}?")
        elif iri in _TEXTS and after[0].kind == "string" and not last[0].text.startswith(("@", "^")):
            yield KbError(f"No {word.text} of the KB lacks a language", f"Add it, such as {after[0].text}@en")
        else:
            found = _misspelled(stores, word.text, iri)
            if found is not None:
                yield found


def _misspelled(stores: Stores, written: str, iri: str) -> KbError | None:
    """Return the error of an id with a small letter, or of a predicate that is similar to one of the KB."""
    head = re.match(r"(.*[/#])([^/#]+)", iri)
    if head is None:
        return None
    space, local = head.groups()
    if space in _SPACES and _SMALL.fullmatch(local):
        return KbError(f"Unknown id {written}", f"Did you mean {_SPACES[space]}:{local.upper()}?")
    if space not in _SPELLED or not stores.has("columns") or stores.columns.find(f"<{iri}") is not None:
        return None
    sql = "SELECT DISTINCT term FROM columns.predicates JOIN columns.terms ON id = p WHERE starts_with(term, $space)"
    known = [term[len(space) + 1 :] for (term,) in stores.tables.rows(sql, {"space": f"<{space}"})]
    close = difflib.get_close_matches(local, known, 1, _ALIKE)
    return KbError(f"Unknown predicate {written}", f"Did you mean {_SPELLED[space]}:{close[0]}?") if close else None


def _entity_error(stores: Stores, name: WikidataId) -> KbError | None:
    if name.is_verb and name.id.startswith("P"):
        if _is_predicate(stores, "wd", name.id):
            return None
        known = [f"{prefix}:{name.id}" for prefix in ("wdt", "p") if _is_predicate(stores, prefix, name.id)]
        hint = f"Did you mean {' or '.join(known)}?" if known else "Predicates are in wdt:, p:, ps: and pq:"
        return KbError(f"{name.written} is an entity, and never a predicate", hint)
    if stores.nodes.by_key(None, [name.id])[0] or _occurs(stores, Wikibase.ENTITY + name.id):
        return None
    return UnknownNameError("entity", name.id, [], name.written, "The KB may hold only a part of Wikidata")


def _label(stores: Stores, key: str) -> str:
    rows = stores.nodes.by_key(None, [key])[0]
    return rows[0].name if rows and rows[0].name != key else ""


def _is_predicate(stores: Stores, space: str, key: str) -> bool:
    """Return whether statements of the KB have a predicate."""
    known = _KNOWN.setdefault(stores, {})
    iri = Wikibase.PREFIXES[space] + key
    if iri not in known:
        known[iri] = _holds(stores, iri)
    return known[iri]


def _holds(stores: Stores, iri: str) -> bool:
    if stores.has("columns"):
        number = stores.columns.find(f"<{iri}")
        query = "SELECT count(*) FROM columns.predicates WHERE p = $number"
        return number is not None and stores.tables.rows(query, {"number": number}) != [(0,)]
    return _true(stores, f"ASK {{ ?s <{iri}> ?o }}")


def _occurs(stores: Stores, iri: str) -> bool:
    if stores.has("columns"):
        return stores.columns.find(f"<{iri}") is not None
    return _true(stores, f"ASK {{ {{ <{iri}> ?p ?o }} UNION {{ ?s ?p <{iri}> }} }}")


def _has_type(stores: Stores, iri: str) -> bool:
    return _true(stores, f"ASK {{ ?s a <{iri}> }}")


def _true(stores: Stores, query: str) -> bool:
    try:
        with stores.triples.results(query, PLAIN, _TIMEOUT) as answer:
            return answer.read() == b"true"
    except KbError:
        return True
