"""The exploration actions, on any KB: search, entry, examples, sparql (the SPINACH paper, section 4.1)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kbkit.agent import entries, wikidata
from kbkit.agent.names import Names, is_entity, line
from kbkit.agent.results import Entry, Examples, Found, Outcome, table
from kbkit.agent.search import PROPERTY, Searcher
from kbkit.errors import KbError, QueryError, QuerySyntaxError, QueryTimeoutError, UnknownNameError
from kbkit.graph.nodes import describe
from kbkit.questions.run import rewrite, sparql

if TYPE_CHECKING:
    from kbkit.stores import Stores

TIMEOUT = 60.0
"""Seconds that a query may take."""
ROWS = 10_000
"""Rows of a query that are taken."""

_PLACE = re.compile(r"error at (\d+):(\d+): ", re.DOTALL)


class Explorer:
    """Explores a KB as an expert does. Results have ``.text``, ``.to_json()`` and ``.folded`` (one line)."""

    def __init__(self, stores: Stores) -> None:
        self.stores, self.names = stores, Names(stores)
        self._searcher = Searcher(stores, self.names)

    def search(self, text: str) -> Found:
        """At most 8 entities, by names and aliases first, then by texts, and at most 4 properties: relations and
        attributes, in a KB of Wikidata its properties.
        """
        return self._searcher.search(text)

    def entry(self, id: str) -> Entry:  # noqa: A002
        """What leads out of a node, with labels beside ids and qualifiers; also what a property is.

        ``id`` is one that other actions show, or what :meth:`kbkit.kb.Stores.find` takes. Raises
        :class:`UnknownNameError` with the closest.
        """
        if self.names.wikidata:
            return wikidata.entry(self.stores, self.names, self.names.find(id))
        known = self.names.property(id)
        if known is not None and known.id == id.strip():
            return entries.property_entry(self.names, known)
        try:
            return entries.entry(self.stores, self.names, self.names.find(id))
        except UnknownNameError:
            if known is None:
                raise
            return entries.property_entry(self.names, known)

    def examples(self, property: str) -> Examples:  # noqa: A002
        """A few examples of how a relation or attribute is used, by its id, name or label.

        Raises :class:`UnknownNameError` with the closest.
        """
        if not self.names.wikidata:
            return entries.examples(self.stores, self.names, self.names.known_property(property))
        local = property.strip("<> ").rpartition("/")[2].rpartition(":")[2]
        node = self.names.find(local if is_entity(local.upper()) else f"{PROPERTY}:{property.strip()}")
        found = describe(self.stores, node)
        if PROPERTY not in (found.type, *found.other_types):
            raise KbError(f"{found.key} is an item and no property", "properties are called P and a number")
        return wikidata.examples(self.stores, node)

    def sparql(self, query: str, timeout: float | None = TIMEOUT, limit: int = ROWS) -> Outcome:
        """Run a query, and say plainly what became of it: results, empty, a syntax error with its place, a timeout.

        ``timeout`` is in seconds; at most ``limit`` rows are taken. Errors of the query are outcomes, never raised.
        """
        if not query.strip():
            return Outcome("syntax", query, message="the query is empty")
        try:
            frame = sparql(self.stores, query, timeout, limit=limit + 1)
        except QueryTimeoutError as error:
            return Outcome("timeout", query, message=f"{line(error.message)}; make the query simpler")
        except QueryError as error:
            return self._refused(query, error, limit + 1)
        if not frame.height:
            return Outcome("empty", query, frame)
        kept = frame.head(limit)
        return Outcome("results", query, kept, table(kept, self.names.shortened), cut=frame.height > limit)

    def _refused(self, query: str, error: QueryError, limit: int) -> Outcome:
        """A query that cannot be read (with line and column), or that the engine does not take."""
        message = line(str(error))
        if isinstance(error, QuerySyntaxError):
            place = f"line {error.line}, column {error.column}: " if error.line and "line " not in message else ""
            return Outcome("syntax", query, message=place + message)
        found = _PLACE.match(message)
        if not found:
            return Outcome("error", query, message=message)
        said = _plainly(message[found.end() :])
        if rewrite(self.stores, query, limit=limit).text == query:
            return Outcome("syntax", query, message=f"line {found[1]}, column {found[2]}: {said}")
        return Outcome("syntax", query, message=said)  # the place is one of the text that the engine had


def _plainly(message: str) -> str:
    """What Oxigraph's parser says, whose list of what may follow sometimes holds a sentence that says it all."""
    told = [
        part for part in message.removeprefix("expected one of ").split(", ") if re.fullmatch(r"[A-Z][\w ]+ .*", part)
    ]
    return told[0] if told else message
