"""The columns: terms and statements of an RDF source as sorted integers in DuckDB, for SPARQL that becomes SQL.

Only KBs with an RDF source have this store; the tables of the others hold everything already. SQL sees these tables:

* ``columns.terms(id, term)``: the distinct terms, sorted, with ids from 0; id 0 is the default graph, an empty text
* ``columns.quads(p, s, o, g)``: the statements of the triplestore as ids of terms, sorted by p, s and o
* ``columns.quads_by_object(p, s, o, g)``: the same, sorted by p, o and s
* ``columns.predicates(p, g, quads, subjects, objects)``: numbers of statements, distinct subjects and distinct objects
* ``columns.landmarks(id, term)``: every 2048th term, to find a term without reading all of them

A term is a text without escapes. Two texts are equal exactly if the terms are, because literals have the form in which
Oxigraph stores them (``01`` of xsd:int is the integer 1):

* ``<http://example.org/a``: an IRI, without the closing bracket
* ``""text`` and ``"@en"text``: a string, without and with a language, which is in lower case
* ``"^http://www.w3.org/2001/XMLSchema#integer"5``: a literal of another datatype
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
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
"""Distance of the ids in ``landmarks``: the beginnings that terms share hide from DuckDB which blocks may hold one."""
_SHORT = 1000
"""Characters of the terms that are looked up only once: most constants of a query are in the next query as well."""


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
        self._ranges: dict[str, tuple[int, int]] = {}
        self._cached = lru_cache(4096)(self._lookup)

    def close(self) -> None:
        """Do nothing: the connections belong to the tables."""

    def find(self, term: str) -> int | None:
        """Return the id of a term, by its internal text; None if no statement has it."""
        return self._cached(term) if len(term) < _SHORT else self._lookup(term)

    def _lookup(self, term: str) -> int | None:
        [(first,)] = self._rows(f"SELECT max(id) FROM {SCHEMA}.landmarks WHERE term <= $term", {"term": term})
        ids = f"id BETWEEN {first} AND {first + LANDMARK - 1}"
        found = self._rows(f"SELECT id FROM {SCHEMA}.terms WHERE {ids} AND term = $term", {"term": term})
        return found[0][0] if found else None

    def range(self, prefix: str) -> tuple[int, int]:
        """Return the first id of the terms that start with a prefix, and the id after the last one."""
        if prefix not in self._ranges:
            after = prefix[:-1] + chr(ord(prefix[-1]) + 1)
            self._ranges[prefix] = (self._place(prefix), self._place(after))
        return self._ranges[prefix]

    def _place(self, text: str) -> int:
        """Return the number of terms before a text."""
        [(first,)] = self._rows(f"SELECT max(id) FROM {SCHEMA}.landmarks WHERE term < $text", {"text": text})
        ids = f"id BETWEEN {first} AND {first + LANDMARK - 1}"
        [(more,)] = self._rows(f"SELECT count(*) FROM {SCHEMA}.terms WHERE {ids} AND term < $text", {"text": text})
        return int(first + more)

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
