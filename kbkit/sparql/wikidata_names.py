"""Ids of Wikidata in the text of a query that the KB lacks, and ids in the wrong namespace.

A query with ``?x wd:P31 wd:Q5``, or with an entity that is not in the part of Wikidata, is valid, and matches nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from kbkit.errors import KbError, UnknownNameError
from kbkit.schema import Wikibase
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
_OFTEN = ("wdt", "p", "ps", "pq", "pr")
_SPACES = {Wikibase.PREFIXES[prefix]: prefix for prefix in ("wd", *_MEANING)}
_TERMS = ("variable", "name", "iri", "string", "number")

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


def _true(stores: Stores, query: str) -> bool:
    try:
        with stores.triples.results(query, PLAIN, _TIMEOUT) as answer:
            return answer.read() == b"true"
    except KbError:
        return True
