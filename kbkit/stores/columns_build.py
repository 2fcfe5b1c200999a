"""Builds ``columns.duckdb`` from the quads of an RDF source; :mod:`kbkit.stores.columns` describes the result.

SQL parses the lines and numbers the terms, as fast as DuckDB reads strings. Escapes are decoded, and literals brought
to Oxigraph's form, once per distinct term.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from kbkit.directory import systems
from kbkit.schema import STANDARD_PREFIXES, Schema, literal
from kbkit.stores import ntriples
from kbkit.stores.columns import FILE, FOLDER, LANDMARK, SCHEMA
from kbkit.stores.table_build import WITHOUT_LOG
from kbkit.stores.tables import NO_EXTENSIONS

if TYPE_CHECKING:
    import pyarrow as pa

_MEMORY = "3000MB"  # larger sources spill to disk
_CHUNK = 1 << 20
_BLOCK = 1 << 16
"""Bytes of a block. With the default, four times as many, a small KB takes three times the space."""
_LITERALS = 500_000
"""Literals that Oxigraph holds in memory at a time."""
_STEPS = 8
"""Statements of SQL after the quads are read, for the progress."""
_XSD = STANDARD_PREFIXES["xsd"]

# A line ends with " .\n". A graph after the object contains no quotation mark, so that it follows the last one of a
# literal; only literals contain spaces.
_PARSE = """
SELECT s, p, if(g = '', rest, left(rest, length(rest) - length(g) - 1)) AS o, if(g = '', {graph}, g) AS g FROM (
  SELECT s, p, rest, split_part(if(starts_with(rest, '"'), split_part(rest, '"', -1), rest), ' ', 2) AS g FROM (
    SELECT s, p, substring(line, length(s) + length(p) + 3, length(line) - length(s) - length(p) - 5) AS rest FROM (
      SELECT line, split_part(line, ' ', 1) AS s, split_part(line, ' ', 2) AS p FROM {lines})))
"""

_MACROS = (
    # A part between escaped backslashes, so that the letter after one is not taken for an escape.
    r"""CREATE TEMP MACRO unescape_part(part) AS list_reduce(
      list_distinct(regexp_extract_all(part, '\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})', 1)),
      lambda done, code: replace(done, '\' || code, chr(('0x' || code[2:])::INTEGER)),
      replace(replace(replace(replace(replace(replace(replace(part, '\"', '"'), '\n', chr(10)), '\r', chr(13)),
        '\t', chr(9)), '\b', chr(8)), '\f', chr(12)), '\''', ''''))""",
    r"""CREATE TEMP MACRO unescape(text) AS CASE WHEN NOT contains(text, '\') THEN text ELSE list_aggregate(
      list_transform(string_split(text, '\\'), lambda part: unescape_part(part)), 'string_agg', '\') END""",
    # Without the closing bracket, or with the tag first. ``tag`` is what follows the last quote.
    """CREATE TEMP MACRO internal(term, tag) AS CASE
      WHEN starts_with(term, '<') THEN left(term, -1)
      WHEN starts_with(term, '_:') THEN '_' || substring(term, 3)
      WHEN term = '' THEN ''
      WHEN ends_with(term, '"') THEN '"' || left(term, -1)
      WHEN starts_with(tag, '@') THEN '"' || lower(tag) || left(term, -length(tag) - 1)
      ELSE '"^' || substring(tag, 4, length(tag) - 4) || left(term, -length(tag) - 1) END""",
)


def build(
    batches: Callable[[str], pa.RecordBatchReader],
    folder: Path,
    schema: Schema,
    quads: Path | None,
    progress: Callable[[int, int], None],
    total: int,
) -> dict[str, int]:
    """Write the columns of the source's ``quads`` and of what the tables add (``batches`` runs SQL over them).

    ``folder`` is that of the generation. ``total`` is an estimate of the lines, for ``progress``. Returns the numbers
    of ``quads``, ``terms`` and ``predicates``.
    """
    (folder / FOLDER).mkdir()
    spill = folder / FOLDER / "spill"
    con = duckdb.connect(config={**NO_EXTENSIONS, "memory_limit": _MEMORY, "temp_directory": str(spill)})
    try:
        con.execute("SET enable_progress_bar = false")
        # With it, one thread parses, and tables are held in memory until they are complete. ORDER BY is not affected.
        con.execute("SET preserve_insertion_order = false")
        con.execute(f"ATTACH {literal(str(folder / FILE))} AS {SCHEMA} (BLOCK_SIZE {_BLOCK}, {WITHOUT_LOG})")
        steps = _Steps(progress, total)
        _read(con, batches, schema, quads, steps)
        for statement in _MACROS:
            con.execute(statement)
        _number_terms(con, steps)
        _write_quads(con, steps)
        [counts] = con.execute(
            f"SELECT (SELECT count(*) FROM {SCHEMA}.quads), (SELECT count(*) FROM {SCHEMA}.terms),"
            f" (SELECT count(*) FROM {SCHEMA}.predicates)"
        ).fetchall()
        con.execute(f"DETACH {SCHEMA}")
    finally:
        con.close()
        systems.remove_tree(spill)
    return dict(zip(("quads", "terms", "predicates"), counts, strict=True))


class _Steps:
    """Progress in lines: reading is half of the work."""

    def __init__(self, progress: Callable[[int, int], None], total: int) -> None:
        self._progress, self._total, self._done = progress, max(total, 1), 0
        self._finished = 0

    def lines(self, count: int) -> None:
        """Report lines that were read."""
        self._done += count
        self._total = max(self._total, self._done)
        self._progress(self._done // 2, self._total)

    def finished(self) -> None:
        """Report a statement of SQL."""
        self._finished += 1
        self._progress(self._total * (_STEPS + self._finished) // (2 * _STEPS), self._total)


# -- reading ----------------------------------------------------------------------------------------------------------


def _read(
    con: duckdb.DuckDBPyConnection,
    batches: Callable[[str], pa.RecordBatchReader],
    schema: Schema,
    quads: Path | None,
    steps: _Steps,
) -> None:
    """Read all statements into the temporary table ``raw``, as terms in N-Quads syntax; ``g`` may be empty."""
    con.execute("CREATE TEMP TABLE raw(s VARCHAR, p VARCHAR, o VARCHAR, g VARCHAR)")
    sources = [("", _table_lines(batches, query)) for query in ntriples.queries(schema)]
    graph = f"<{ntriples.TABLES_GRAPH}>"
    sources += [(graph, _table_lines(batches, query)) for query in ntriples.table_queries(schema)]
    if quads is not None:
        sources.append(("", _file_lines(quads)))
    for name, chunks in sources:
        _insert(con, name, chunks, steps)


def _insert(con: duckdb.DuckDBPyConnection, graph: str, chunks: Iterable[bytes], steps: _Steps) -> None:
    """Parse whole lines and add them to ``raw``; those without a graph belong to ``graph``."""
    import pyarrow as pa

    failed: list[BaseException] = []

    def lines() -> Iterator[pa.RecordBatch]:
        try:
            for chunk in chunks:
                batch = pa.record_batch([_split(chunk)], ["line"])
                steps.lines(batch.num_rows)
                yield batch
        except BaseException as error:  # which DuckDB would turn into text
            failed.append(error)
            raise

    con.register("kbkit_lines", pa.RecordBatchReader.from_batches(pa.schema([("line", pa.large_string())]), lines()))
    try:
        con.execute(f"INSERT INTO raw {_PARSE.format(lines='kbkit_lines', graph=literal(graph))}")
    except Exception:
        if failed:
            raise failed[0] from None
        raise
    finally:
        con.unregister("kbkit_lines")


def _split(chunk: bytes) -> pa.Array:
    """Return the lines of a chunk, each with its line break, without copying them."""
    import numpy as np
    import pyarrow as pa

    ends = np.flatnonzero(np.frombuffer(chunk, np.uint8) == ord("\n")) + 1
    offsets = pa.py_buffer(np.concatenate([[0], ends]).astype(np.int64))
    return pa.Array.from_buffers(pa.large_string(), len(ends), [None, offsets, pa.py_buffer(chunk)])


def _file_lines(path: Path) -> Iterator[bytes]:
    """Yield the source's quads in chunks of whole lines."""
    rest = b""
    for chunk in ntriples.read_quads(path, _CHUNK):
        lines, end, rest = (rest + chunk).rpartition(b"\n")
        if end:
            yield lines + end
    if rest:
        yield rest + b"\n"


def _table_lines(batches: Callable[[str], pa.RecordBatchReader], query: str) -> Iterator[bytes]:
    """Yield the lines of a query of :mod:`kbkit.stores.ntriples`."""
    for batch in batches(query):
        lines = "".join(batch.column(0).to_pylist()).encode()
        if lines:
            yield lines


# -- terms ------------------------------------------------------------------------------------------------------------


def _number_terms(con: duckdb.DuckDBPyConnection, steps: _Steps) -> None:
    """Write ``terms``, and the temporary table ``ids(raw, id)`` of each distinct term as it was written."""
    columns = " UNION ".join(f"SELECT {name} AS raw FROM raw" for name in "sopg")
    con.execute(f"CREATE TEMP TABLE written AS {columns} UNION SELECT ''")
    steps.finished()
    _canonicalize(con)
    steps.finished()
    con.execute(
        "CREATE TEMP TABLE texts AS SELECT raw, unescape(internal(form, split_part(form, '\"', -1))) AS term"
        " FROM (SELECT raw, coalesce(canonical, raw) AS form FROM written LEFT JOIN canonical USING (raw))"
    )
    con.execute("DROP TABLE written; DROP TABLE canonical")
    steps.finished()
    con.execute(
        f"CREATE TABLE {SCHEMA}.terms AS SELECT (row_number() OVER () - 1)::INTEGER AS id, term"
        " FROM (SELECT DISTINCT term FROM texts ORDER BY term)"
    )
    steps.finished()
    con.execute(
        f"CREATE TABLE {SCHEMA}.landmarks AS SELECT id, term FROM {SCHEMA}.terms WHERE id % {LANDMARK} = 0 ORDER BY id"
    )
    con.execute(f"CREATE TEMP TABLE ids AS SELECT raw, id FROM texts JOIN {SCHEMA}.terms USING (term)")
    con.execute("DROP TABLE texts")
    steps.finished()


def _canonicalize(con: duckdb.DuckDBPyConnection) -> None:
    """Create the temporary table ``canonical(raw, canonical)`` of literals that Oxigraph stores in another form.

    It normalizes those of datatypes of XML Schema, and only Oxigraph knows how: they pass through a store in memory.
    """
    con.execute("CREATE TEMP TABLE canonical(raw VARCHAR, canonical VARCHAR)")
    con.execute(
        "CREATE TEMP TABLE typed AS SELECT (row_number() OVER ())::BIGINT AS number, raw FROM written"
        f" WHERE starts_with(raw, '\"') AND contains(raw, '\"^^<{_XSD}')"
    )
    [(count,)] = con.execute("SELECT count(*) FROM typed").fetchall()
    for first in range(1, count + 1, _LITERALS):
        part = f"FROM typed WHERE number BETWEEN {first} AND {first + _LITERALS - 1}"
        # Numbers in two parts, because each distinct IRI costs time.
        stored = _through_oxigraph(
            con.sql(
                f"SELECT '<s:' || number // 256 || '> <p:' || number % 256 || '> ' || raw || ' .\n' AS line {part}"
            ).to_arrow_table()
        )
        con.register("kbkit_stored", stored)
        parsed = _PARSE.format(lines="kbkit_stored", graph="''")
        con.execute(
            f"INSERT INTO canonical SELECT raw, o FROM typed JOIN ({parsed})"
            " ON number = 256 * s[4:-2]::BIGINT + p[4:-2]::BIGINT WHERE raw <> o"
        )
        con.unregister("kbkit_stored")
    con.execute("DROP TABLE typed")


def _through_oxigraph(lines: pa.Table) -> pa.Table:
    """Return lines of N-Triples as Oxigraph stores them, in any order."""
    import pyarrow as pa
    import pyoxigraph as ox

    store = ox.Store()
    text = "".join(lines.column(0).to_pylist()).encode()
    store.bulk_load(input=text, format=ox.RdfFormat.N_TRIPLES)
    stored = store.dump(format=ox.RdfFormat.N_TRIPLES, from_graph=ox.DefaultGraph())
    assert stored is not None
    return pa.table({"line": _split(stored)})


# -- quads ------------------------------------------------------------------------------------------------------------


def _write_quads(con: duckdb.DuckDBPyConnection, steps: _Steps) -> None:
    """Write the quads in both orders, and their statistics."""
    con.execute(
        "CREATE TEMP TABLE kinds AS SELECT k.p, k.g, p.id AS p_id, g.id AS g_id FROM (SELECT DISTINCT p, g FROM raw) k"
        " JOIN ids p ON p.raw = k.p JOIN ids g ON g.raw = k.g"
    )
    con.execute(
        "CREATE TEMP TABLE encoded AS SELECT DISTINCT k.p_id AS p, s.id AS s, o.id AS o, k.g_id AS g FROM raw"
        " JOIN ids s ON s.raw = raw.s JOIN ids o ON o.raw = raw.o JOIN kinds k ON k.p = raw.p AND k.g = raw.g"
    )
    con.execute("DROP TABLE raw; DROP TABLE ids")
    steps.finished()
    con.execute(f"CREATE TABLE {SCHEMA}.quads AS SELECT p, s, o, g FROM encoded ORDER BY p, s, o, g")
    steps.finished()
    con.execute(f"CREATE TABLE {SCHEMA}.quads_by_object AS SELECT p, s, o, g FROM encoded ORDER BY p, o, s, g")
    con.execute(
        f"CREATE TABLE {SCHEMA}.predicates AS SELECT p, g, count(*) AS quads, count(DISTINCT s) AS subjects,"
        " count(DISTINCT o) AS objects FROM encoded GROUP BY p, g ORDER BY p, g"
    )
    steps.finished()
