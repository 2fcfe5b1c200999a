"""Parts of an RDF dump -> the tables of a conversion: values get what their nodes say, wherever these stood."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb

from kbkit.readers.wikidata import parts
from kbkit.readers.wikidata.database import connect, copy, files, literal
from kbkit.readers.wikidata.finish import Laid
from kbkit.readers.wikidata.options import Options
from kbkit.readers.wikidata.passes import Made

_FROM_NODES = ("precision", "calendar", "lower", "upper", "unit", "globe")
_ROUNDS = 4
"""From a statement to its references, their values, and what these are normalized to."""


def lay(folder: Path, made: Made, options: Options) -> Laid:
    """Join what belongs together, and name the files of each table."""
    con = connect(folder)
    try:
        _datatypes(con, made.folders)
        for table in ("statements", "qualifiers"):
            if not (folder / f"{table}.parquet").exists():
                _joined(con, made.folders, table, folder / f"{table}.parquet")
        mentions = [part / "mentions.parquet" for part in made.folders]
        shared = folder / "shared.parquet"
        if options.triples:
            if not (shared.exists() and (folder / "named.parquet").exists()):
                _used(con, made.folders, folder)
            mentions.append(folder / "named.parquet")
    finally:
        con.close()
    tables = {table: [part / f"{table}.parquet" for part in made.folders] for table in parts.SCHEMAS}
    tables |= {table: [folder / f"{table}.parquet"] for table in ("statements", "qualifiers")}
    quads = [part / parts.QUADS for part in made.folders] if options.triples else []
    return Laid(tables, quads, [shared] if options.triples else [], mentions, formatters=False)


def _datatypes(con: duckdb.DuckDBPyConnection, made: Sequence[Path]) -> None:
    con.execute(
        f"CREATE TABLE datatypes AS SELECT id, any_value(datatype) AS datatype FROM {files(made, 'entities')}"
        " WHERE kind = 'property' AND datatype IS NOT NULL GROUP BY id"
    )


def _joined(con: duckdb.DuckDBPyConnection, made: Sequence[Path], table: str, target: Path) -> None:
    columns = ", ".join(f"any_value({name}) AS {name}" for name in _FROM_NODES)
    found = ", ".join(f"coalesce(r.{name}, v.{name}) AS {name}" for name in _FROM_NODES)
    copy(
        con,
        f"""SELECT r.* EXCLUDE (node, place) REPLACE (
                     {found}, CASE WHEN snak = 'value' OR d.datatype IS NOT NULL
                                   THEN coalesce(d.datatype, r.datatype) END AS datatype)
            FROM (SELECT *, row_number() OVER () AS place FROM {files(made, table)}) r
            LEFT JOIN (SELECT node, {columns} FROM {files(made, "values")} GROUP BY node) v ON r.node = v.node
            LEFT JOIN datatypes d ON d.id = r.property ORDER BY place""",
        target,
    )


def _used(con: duckdb.DuckDBPyConnection, made: Sequence[Path], folder: Path) -> None:
    """Keep the nodes that statements lead to, and note which entities they name."""
    con.execute(f"CREATE VIEW nodes AS FROM {files(made, 'nodes')}")
    con.execute(f"CREATE TABLE used AS SELECT DISTINCT node FROM {files(made, 'uses')}")
    for _ in range(_ROUNDS):
        con.execute("""
            INSERT INTO used SELECT DISTINCT object FROM nodes
            WHERE object IS NOT NULL AND object NOT IN (SELECT node FROM used)
            AND subject IN (SELECT node FROM used)""")
    lines = "SELECT DISTINCT line FROM nodes WHERE subject IN (SELECT node FROM used)"
    copy(con, f"{lines} ORDER BY line", folder / "shared.parquet")
    pattern = "<http://www.wikidata.org/entity/([QPLM][1-9][0-9]*)> \\.$"
    copy(
        con,
        f"""SELECT DISTINCT id FROM (
              SELECT unnest([regexp_extract(line, {literal(pattern)}, 1),
                             regexp_extract(line, {literal("/prop/[a-z/-]*(P[1-9][0-9]*)> ")}, 1)]) AS id
              FROM read_parquet({literal(folder / "shared.parquet")})) WHERE id <> '' ORDER BY id""",
        folder / "named.parquet",
    )
