"""Select the entities of a dump by class, property and id, with their neighbours, up to a limit.

Several classes, properties or ids are a union; class, property and ids together are an intersection. Only statements of
the best rank count. Neighbours are the entities that selected ones point to; the limit prefers fewer steps, then the
order of the dump.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kbkit.errors import BadInputError
from kbkit.readers.wikidata.options import ConversionOptions
from kbkit.readers.wikidata.parts import connect, copy, table_of

if TYPE_CHECKING:
    import duckdb

FILE = "chosen.parquet"

Name = tuple[str, int]
"""The letter and the number of an id."""

_MAX_BITS = 1 << 32


class IdSet:
    """A set of ids, with a bit for each number up to the largest."""

    def __init__(self) -> None:
        self._bits: dict[str, bytearray] = {}
        self._large: set[Name] = set()

    def add(self, name: Name) -> None:
        """Add an id."""
        letter, number = name
        if number >= _MAX_BITS:
            self._large.add(name)
            return
        bits = self._bits.setdefault(letter, bytearray())
        if number >> 3 >= len(bits):
            bits.extend(bytes(max(number // 8 + 1, 2 * len(bits)) - len(bits)))
        bits[number >> 3] |= 1 << (number & 7)

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, tuple):
            return False
        letter, number = name
        bits = self._bits.get(letter, b"")
        return bool(number >> 3 < len(bits) and bits[number >> 3] >> (number & 7) & 1) or name in self._large


def select(folder: Path, scanned: list[Path], options: ConversionOptions) -> Path:
    """Write the selected ids (``id``, ``hop``) to a file in ``folder``; raise :class:`BadInputError` for none."""
    target = folder / FILE
    if target.exists():
        return target
    con = connect(folder)
    try:
        con.execute(f"CREATE VIEW links AS FROM {table_of(scanned, 'links')}")
        con.execute(
            "CREATE TABLE known AS SELECT id, min(position) AS position FROM"
            f" (SELECT id, row_number() OVER () AS position FROM {table_of(scanned, 'known')}) GROUP BY id"
        )
        _select_seeds(con, options)
        for hop in range(1, options.hops + 1):
            con.execute(
                """INSERT INTO selected
                   SELECT DISTINCT target, ?::TINYINT FROM links
                   WHERE subject IN (SELECT id FROM selected WHERE hop = ?) AND target[1] <> 'P'
                   AND target IN (SELECT id FROM known) AND target NOT IN (SELECT id FROM selected)""",
                [hop, hop - 1],
            )
        limit = f"LIMIT {options.limit:d}" if options.limit else ""
        copy(con, f"SELECT id, hop FROM selected JOIN known USING (id) ORDER BY hop, position {limit}", target)
    finally:
        con.close()
    return target


def _select_seeds(con: duckdb.DuckDBPyConnection, options: ConversionOptions) -> None:
    """Create the table ``selected`` of the entities that the options name."""
    conditions: list[tuple[str, str]] = []
    if options.classes:
        con.execute(
            """CREATE TABLE below AS WITH RECURSIVE below(id) AS (
                 SELECT unnest(?) UNION SELECT subject FROM links JOIN below ON target = id WHERE property = 'P279'
               ) FROM below""",
            [list(options.classes)],
        )
        by_class = "SELECT subject AS id FROM links WHERE property = 'P31' AND target IN (SELECT id FROM below)"
        conditions.append((by_class, "is an instance of " + " or ".join(options.classes)))
    if options.properties:
        con.execute("CREATE TABLE wanted(property VARCHAR, value VARCHAR)")
        con.executemany("INSERT INTO wanted VALUES (?, ?)", [list(pair) for pair in options.properties])
        by_property = (
            "SELECT subject AS id FROM links JOIN wanted a ON links.property = a.property"
            " AND (a.value = '' OR links.value = a.value OR links.target = a.value)"
        )
        conditions_text = (f"{name}={value}" if value else name for name, value in options.properties)
        conditions.append((by_property, "has a statement " + " or ".join(conditions_text)))
    if options.ids:
        con.execute("CREATE TABLE named AS SELECT unnest(?) AS id", [list(options.ids)])
        first = ", ".join(options.ids[:5]) + (", ..." if len(options.ids) > 5 else "")
        conditions.append(("SELECT id FROM named", f"is one of {first}"))
    parts = " INTERSECT ".join(f"({query})" for query, _ in conditions)
    con.execute(f"""
        CREATE TABLE selected AS SELECT DISTINCT id, 0::TINYINT AS hop FROM ({parts})
        WHERE id IN (SELECT id FROM known)""")
    if con.execute("SELECT count(*) FROM selected").fetchone() == (0,):
        condition = " and ".join(text for _, text in conditions)
        raise BadInputError(
            f"No entity in the dump {condition}",
            "Look up ids on www.wikidata.org; only statements of the best rank count",
        )


def read_ids(file: Path) -> IdSet:
    """Return the selected ids, with the lexeme of each form or sense."""
    import duckdb  # workers import this module; few need a database

    ids = IdSet()
    with duckdb.connect() as con:
        batches = con.execute("SELECT DISTINCT split_part(id, '-', 1) FROM read_parquet(?)", [str(file)])
        while rows := batches.fetchmany(100_000):
            for (name,) in rows:
                ids.add((name[0], int(name[1:])))
    return ids


def count_unknown(file: Path, options: ConversionOptions) -> int:
    """Count the requested ids that the dump does not have."""
    import duckdb

    with duckdb.connect() as con:
        query = "SELECT count(*) FROM (SELECT unnest(?) AS id) WHERE id NOT IN (SELECT id FROM read_parquet(?))"
        row = con.execute(query, [list(options.ids), str(file)]).fetchone()
    return int(row[0]) if row and options.ids and not options.limit else 0
