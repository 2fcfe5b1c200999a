"""The exploration actions on any KB: search, entry, examples, sparql (SPINACH paper, section 4.1)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kbkit.agent import entries, wikidata
from kbkit.agent.names import KbNames, is_entity, line
from kbkit.agent.results import Entry, Examples, Outcome, SearchHits, table
from kbkit.agent.search import PROPERTY, Searcher
from kbkit.assets.arguments import checked
from kbkit.errors import (
    KbError,
    QueryError,
    QuerySyntaxError,
    QueryTimeoutError,
    ResultTooLargeError,
    UnknownNameError,
)
from kbkit.graph.nodes import describe
from kbkit.sparql.run import REJECTED, SparqlQuery, is_nothing
from kbkit.sparql.run import query as sparql_query
from kbkit.stores.sql_results import ResultBounds

if TYPE_CHECKING:
    from kbkit.stores import Stores

TIMEOUT = 60.0
"""Default time limit of a query in seconds."""
ROWS = 10_000
"""Default maximum number of rows of a query."""
MOST_BYTES = 100 * 10**6
"""Maximum size of these rows."""

_PLACE = re.compile(r"error at (\d+):(\d+): ", re.DOTALL)


@checked
class Explorer:
    """Explores a KB. Results have ``.text``, ``.to_json()`` and ``.folded`` (one line)."""

    def __init__(self, stores: Stores) -> None:
        self.stores, self.names = stores, KbNames(stores)
        self._searcher = Searcher(stores, self.names)

    def search(self, text: str) -> SearchHits:
        """Search for at most 8 entities, by names and aliases first, then by texts, and for at most 4 properties:
        relations and attributes, in a Wikidata KB its properties.
        """
        return self._searcher.search(text)

    def entry(self, id: str) -> Entry:  # noqa: A002
        """Return the properties of a node with their values, labels next to ids, and qualifiers; or describe a
        property.

        ``id`` is an id shown by another action, or a reference (:meth:`kbkit.stores.nodes.Nodes.find`). Raises
        :class:`UnknownNameError` with the closest names.
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
        """Return a few examples of the use of a relation or attribute, given by id, name or label.

        Raises :class:`UnknownNameError` with the closest names.
        """
        if not self.names.wikidata:
            return entries.examples(self.stores, self.names, self.names.known_property(property))
        local = property.strip("<> ").rpartition("/")[2].rpartition(":")[2]
        node = self.names.find(local if is_entity(local.upper()) else f"{PROPERTY}:{property.strip()}")
        described = describe(self.stores, node)
        if PROPERTY not in (described.type, *described.other_types):
            raise KbError(f"{described.key} is an item, not a property", "Ids of properties are P and a number")
        return wikidata.examples(self.stores, node)

    def sparql(self, query: str, timeout: float | None = TIMEOUT, limit: int = ROWS) -> Outcome:
        """Run a query and report its outcome: results, empty, a syntax error with its position, or a timeout.

        ``timeout`` is in seconds, ``limit`` is the maximum number of rows, which may have 100 MB. Errors of the query
        are outcomes and are not raised.
        """
        if not query.strip():
            return Outcome("syntax", query, message="the query is empty")
        bounds = ResultBounds(limit + 1, MOST_BYTES)
        asked = sparql_query(self.stores, query, timeout, limit=limit + 1, bounds=bounds)
        try:
            frame, terms = asked.values_and_terms()
        except QueryTimeoutError as error:
            return Outcome("timeout", query, message=f"{line(error.message)}; make the query simpler")
        except ResultTooLargeError as error:
            return Outcome("error", query, message=line(str(error)))
        except QueryError as error:
            return self._refused(query, error)
        if not frame.height:
            return Outcome("empty", query, frame, why=self._why_empty(asked))
        kept = frame.head(limit)
        why = self._why_empty(asked) if is_nothing(frame) else asked.unknown_names()
        shown = table(kept, self.names.shortened)
        return Outcome("results", query, kept, shown, why, cut=frame.height > limit, terms=terms.head(limit))

    def _why_empty(self, asked: SparqlQuery) -> list[str]:
        """Return lines on a result without values: names that the KB lacks, and patterns that exclude each other."""
        reason = asked.why_empty()
        return [*asked.unknown_names(), *([] if reason is None else reason.lines)]

    def _refused(self, query: str, error: QueryError) -> Outcome:
        """Return the outcome of a query that cannot be parsed (with line and column) or that the engine rejects."""
        message = line(str(error))
        if isinstance(error, QuerySyntaxError):
            place = f"line {error.line}, column {error.column}: " if error.line and "line " not in message else ""
            return Outcome("syntax", query, message=place + message)
        if message.startswith(REJECTED):  # without a position, which would be that of another text
            return Outcome("syntax", query, message=_plainly(message.removeprefix(REJECTED)))
        match = _PLACE.match(message)
        if not match:
            return Outcome("error", query, message=message)
        return Outcome(
            "syntax", query, message=f"line {match[1]}, column {match[2]}: {_plainly(message[match.end() :])}"
        )


def _plainly(message: str) -> str:
    """Return the message of Oxigraph's parser; if its list of expected tokens contains a sentence, only that."""
    told = [
        part for part in message.removeprefix("expected one of ").split(", ") if re.fullmatch(r"[A-Z][\w ]+ .*", part)
    ]
    return told[0] if told else message
