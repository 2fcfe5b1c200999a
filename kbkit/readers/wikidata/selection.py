"""Which entities of a dump are wanted: by class, property and id, with their neighbours, and no more than a limit.

Several classes, properties or ids each widen the choice; of class, property and ids all that are given must hold. Only
statements of the best rank count. Neighbours are what the chosen lead to; the limit keeps those fewest steps away, in
the order of the dump.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

from kbkit.errors import BadInputError
from kbkit.readers.wikidata.admission import IdSet
from kbkit.readers.wikidata.database import connect, copy, files
from kbkit.readers.wikidata.options import Options

FILE = "chosen.parquet"


def select(folder: Path, scanned: list[Path], options: Options) -> Path:
    """Write the chosen ids (``id``, ``hop``) to a file in ``folder``; raises :class:`BadInputError` for none."""
    target = folder / FILE
    if target.exists():
        return target
    con = connect(folder)
    try:
        con.execute(f"CREATE VIEW links AS FROM {files(scanned, 'links')}")
        con.execute(
            "CREATE TABLE known AS SELECT id, min(place) AS place FROM"
            f" (SELECT id, row_number() OVER () AS place FROM {files(scanned, 'known')}) GROUP BY id"
        )
        _seeds(con, options)
        for hop in range(1, options.hops + 1):
            con.execute(
                """INSERT INTO chosen
                   SELECT DISTINCT target, ?::TINYINT FROM links
                   WHERE subject IN (SELECT id FROM chosen WHERE hop = ?) AND target[1] <> 'P'
                   AND target IN (SELECT id FROM known) AND target NOT IN (SELECT id FROM chosen)""",
                [hop, hop - 1],
            )
        limit = f"LIMIT {options.limit:d}" if options.limit else ""
        copy(con, f"SELECT id, hop FROM chosen JOIN known USING (id) ORDER BY hop, place {limit}", target)
    finally:
        con.close()
    return target


def _seeds(con: duckdb.DuckDBPyConnection, options: Options) -> None:
    """Make the table ``chosen`` of those that the options name."""
    wanted: list[tuple[str, str]] = []
    if options.classes:
        con.execute(
            """CREATE TABLE below AS WITH RECURSIVE below(id) AS (
                 SELECT unnest(?) UNION SELECT subject FROM links JOIN below ON target = id WHERE property = 'P279'
               ) FROM below""",
            [list(options.classes)],
        )
        by_class = "SELECT subject AS id FROM links WHERE property = 'P31' AND target IN (SELECT id FROM below)"
        wanted.append((by_class, "is an instance of " + " or ".join(options.classes)))
    if options.properties:
        con.execute("CREATE TABLE asked(property VARCHAR, value VARCHAR)")
        con.executemany("INSERT INTO asked VALUES (?, ?)", [list(pair) for pair in options.properties])
        by_property = (
            "SELECT subject AS id FROM links JOIN asked a ON links.property = a.property"
            " AND (a.value = '' OR links.value = a.value OR links.target = a.value)"
        )
        listed = (f"{name}={value}" if value else name for name, value in options.properties)
        wanted.append((by_property, "has a statement " + " or ".join(listed)))
    if options.ids:
        con.execute("CREATE TABLE given AS SELECT unnest(?) AS id", [list(options.ids)])
        shown = ", ".join(options.ids[:5]) + (", ..." if len(options.ids) > 5 else "")
        wanted.append(("SELECT id FROM given", f"is one of {shown}"))
    parts = " INTERSECT ".join(f"({query})" for query, _ in wanted)
    con.execute(f"""
        CREATE TABLE chosen AS SELECT DISTINCT id, 0::TINYINT AS hop FROM ({parts})
        WHERE id IN (SELECT id FROM known)""")
    if con.execute("SELECT count(*) FROM chosen").fetchone() == (0,):
        what = " and ".join(text for _, text in wanted)
        raise BadInputError(f"no entity of the dump {what}", "see www.wikidata.org for ids; the best rank counts")


def chosen(file: Path) -> IdSet:
    """The chosen ids; a form or a sense stands for its lexeme."""
    ids = IdSet()
    with duckdb.connect() as con:
        batches = con.execute("SELECT DISTINCT split_part(id, '-', 1) FROM read_parquet(?)", [str(file)])
        while rows := batches.fetchmany(100_000):
            for (name,) in rows:
                ids.add((name[0], int(name[1:])))
    return ids


def unknown(file: Path, options: Options) -> int:
    """How many of the ids that were asked for the dump does not have."""
    with duckdb.connect() as con:
        query = "SELECT count(*) FROM (SELECT unnest(?) AS id) WHERE id NOT IN (SELECT id FROM read_parquet(?))"
        row = con.execute(query, [list(options.ids), str(file)]).fetchone()
    return int(row[0]) if row and options.ids and not options.limit else 0
