"""The columns: terms and quads of an RDF source as sorted integers in a DuckDB file, for SPARQL that becomes SQL.

Only KBs with an RDF source have this store; the tables of the others hold everything already. Tables, as SQL names them
on a connection of :class:`kbkit.stores.tables.Tables`:

``columns.terms(id, term)``
    The distinct terms, sorted, with ids from 0. ``term`` is the internal text of :data:`TERM_FORMS`. Id 0 is the
    default graph, whose text is empty.
``columns.quads(p, s, o, g)`` and ``columns.quads_by_object(p, s, o, g)``
    The statements of the triplestore as ids of terms, each once, sorted by predicate, subject and object, or by
    predicate, object and subject.
``columns.landmarks(id, term)``
    Every :data:`LANDMARK`-th term, to find a term without reading all of them: their common beginnings hide from DuckDB
    which blocks may hold it.
``columns.predicates(p, g, quads, subjects, objects)``
    Numbers of statements, distinct subjects and distinct objects, by predicate and graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbkit.directory.damage import damaged
from kbkit.errors import DamagedError
from kbkit.schema import literal

if TYPE_CHECKING:
    import duckdb

FOLDER = "columns"
FILE = f"{FOLDER}/columns.duckdb"
SCHEMA = "columns"
"""The SQL name before the tables."""

LANDMARK = 2048
"""Distance of the ids in ``landmarks``."""

TERM_FORMS: Mapping[str, str] = {
    "IRI": "<http://example.org/a",
    "blank node": "_label",
    "string": '""text',
    "string with a language": '"@en"text',
    "other literal": '"^http://www.w3.org/2001/XMLSchema#integer"5',
}
"""Examples of the internal text of a term, without escapes. Two texts are equal exactly if the terms are, because
literals have the form in which Oxigraph stores them."""


def attach(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Attach the file to a connection, read-only."""
    con.execute(f"ATTACH {literal(str(path))} AS {SCHEMA} (READ_ONLY)")


class Columns:
    """The columns of a generation, read by connections of its tables, to which the file is attached.

    ``run`` runs SQL with values of its parameters on one; ``error`` says why the file could not be attached, if so.
    """

    def __init__(
        self, path: Path, run: Callable[[str, Mapping[str, Any] | None], list[tuple[Any, ...]]], error: str
    ) -> None:
        if error:
            raise damaged(path, error, FOLDER)
        self._path, self._run = path, run

    def close(self) -> None:
        """Do nothing: the connections belong to the tables."""

    def find(self, term: str) -> int | None:
        """Return the id of a term, by its internal text; None if no statement has it."""
        [(first,)] = self._rows(f"SELECT max(id) FROM {SCHEMA}.landmarks WHERE term <= $term", {"term": term})
        ids = f"id BETWEEN {first} AND {first + LANDMARK - 1}"
        found = self._rows(f"SELECT id FROM {SCHEMA}.terms WHERE {ids} AND term = $term", {"term": term})
        return found[0][0] if found else None

    def counts(self) -> dict[str, int]:
        """Return the numbers of ``quads``, ``terms`` and ``predicates``, by the tables themselves."""
        names = ("quads", "terms", "predicates")
        query = ", ".join(f"(SELECT count(*) FROM {SCHEMA}.{name})" for name in names)
        return dict(zip(names, self._rows(f"SELECT {query}")[0], strict=True))

    def problems(self) -> list[str]:
        """Return what is inconsistent between the tables: ids, order of the terms, copies of the quads, statistics."""
        return [problem for query, problem in _CHECKS if self._rows(query) != [(0,)]]

    def _rows(self, query: str, params: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        try:
            return self._run(query, params)
        except DamagedError as error:  # which names the tables
            raise damaged(self._path, str(error.__cause__), FOLDER) from error


_SUM = "SELECT count(*), sum(hash(p, s, o, g)::HUGEINT)"
_CHECKS = (
    (
        f"SELECT count(*) FROM {SCHEMA}.quads, (SELECT count(*) AS n FROM {SCHEMA}.terms)"
        " WHERE least(p, s, o, g) < 0 OR greatest(p, s, o, g) >= n OR least(p, s, o) = 0",
        "quads with ids that are not in terms",
    ),
    (
        f"SELECT count(*) FROM (SELECT id, row_number() OVER () - 1 AS position, term,"
        f" lag(term) OVER () AS before FROM {SCHEMA}.terms)"
        " WHERE id <> position OR before >= term OR (id = 0) <> (term = '')",
        "terms are not in order, or not distinct",
    ),
    (
        f"SELECT count(*) FROM (SELECT id, term FROM {SCHEMA}.terms WHERE id % {LANDMARK} = 0"
        f" EXCEPT FROM {SCHEMA}.landmarks)",
        "landmarks are not terms",
    ),
    (
        f"SELECT count(*) FROM ({_SUM} FROM {SCHEMA}.quads EXCEPT {_SUM} FROM {SCHEMA}.quads_by_object)",
        "quads_by_object differs from quads",
    ),
    (
        f"SELECT count(*) FROM (SELECT p, g, count(*), count(DISTINCT s), count(DISTINCT o) FROM {SCHEMA}.quads"
        f" GROUP BY ALL EXCEPT FROM {SCHEMA}.predicates)",
        "the numbers in predicates differ from quads",
    ),
)
"""Queries that return 0 if all is well, and what is wrong otherwise."""
