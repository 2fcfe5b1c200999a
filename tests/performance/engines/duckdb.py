"""DuckDB: a sorted table for each relation and direction, and SEMI JOIN where sets meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb
import polars as pl

from tests.performance import data
from tests.performance.metapaths import RELATIONS

HOPS = {
    "author": "SELECT {row}tail AS id FROM {start} JOIN writes_out ON head = {author}",
    "cited": "SELECT {row}tail AS id FROM {start} JOIN cites_out ON head = {paper} WHERE tail <> {paper}",
    "field": "SELECT {row}head AS id FROM {start} JOIN has_topic_in ON tail = {field_of_study}",
    "institution": "SELECT {row}w.tail AS id FROM {start} JOIN affiliated_with_in f"
    " ON f.tail = {institution} JOIN writes_out w ON w.head = f.head",
    "same_author": "SELECT {row}w.tail AS id FROM {start} JOIN writes_in f ON f.tail = {paper}"
    " JOIN writes_out w ON w.head = f.head WHERE w.tail <> {paper}",
    "same_author_and_field": "WITH c AS (SELECT DISTINCT {row}{paper} AS x, w.tail AS id FROM {start}"
    " JOIN writes_in f ON f.tail = {paper} JOIN writes_out w ON w.head = f.head WHERE w.tail <> {paper})"
    " SELECT {crow}c.id FROM c SEMI JOIN (SELECT a.head AS x, b.head AS id FROM has_topic_out a"
    " JOIN has_topic_in b ON a.tail = b.tail WHERE a.head IN (SELECT x FROM c) AND b.head IN (SELECT id FROM c)) m"
    " ON m.x = c.x AND m.id = c.id",
    "institution_and_field": "WITH c AS (SELECT DISTINCT {row}{field_of_study} AS x, w.tail AS id FROM"
    " {start} JOIN affiliated_with_in f ON f.tail = {institution} JOIN writes_out w"
    " ON w.head = f.head) SELECT {crow}c.id FROM c SEMI JOIN has_topic_out t ON t.head = c.id AND t.tail = c.x",
}


class Engine:
    @staticmethod
    def path(scale: float) -> Path:
        return data.folder() / f"mag-{scale}.duckdb"

    @staticmethod
    def load(scale: float, path: Path) -> None:
        """Every relation twice, by its heads and by its tails, and the nodes."""
        source = data.source(scale)
        con = duckdb.connect(str(path), config={"threads": 2, "memory_limit": "8GB"})
        con.execute(f"CREATE TABLE nodes AS SELECT key::INTEGER AS id, type, name FROM '{source}/nodes.parquet'")
        for name in RELATIONS:
            rows = f"SELECT head::INTEGER AS head, tail::INTEGER AS tail FROM '{source}/edges.parquet'"
            for side, order in (("out", "head, tail"), ("in", "tail, head")):
                con.execute(f"CREATE TABLE {name}_{side} AS {rows} WHERE relation = '{name}' ORDER BY {order}")
        con.close()

    def __init__(self, scale: float) -> None:
        config = {"threads": 2, "memory_limit": "8GB"}
        self.con = duckdb.connect(str(self.path(scale)), read_only=True, config=config)

    def ids(self, name: str, row: Mapping[str, int]) -> list[int]:
        sql = f"SELECT DISTINCT id FROM ({_text(name, row)})"
        return [found[0] for found in self.con.execute(sql, dict(row)).fetchall()]

    def rows(self, name: str, row: Mapping[str, int]) -> list[tuple[object, ...]]:
        """Ids and names."""
        sql = f"SELECT id, n.name FROM (SELECT DISTINCT id FROM ({_text(name, row)})) JOIN nodes n USING (id)"
        return self.con.execute(sql, dict(row)).fetchall()

    def count(self, name: str, row: Mapping[str, int]) -> int:
        [(count,)] = self.con.execute(f"SELECT count(DISTINCT id) FROM ({_text(name, row)})", dict(row)).fetchall()
        return int(count)

    def many(self, name: str, table: pl.DataFrame) -> int:
        self.con.register("b", table.with_row_index("row").to_arrow())
        text = _text(name, table.columns, many=True)
        [(count,)] = self.con.execute(f"SELECT count(*) FROM (SELECT DISTINCT * FROM ({text}))").fetchall()
        return int(count)

    def close(self) -> None:
        self.con.close()


def _text(name: str, slots: Mapping[str, int] | Sequence[str], *, many: bool = False) -> str:
    text = HOPS[name].replace("{start}", "b" if many else "(SELECT 1)")
    for slot in slots:
        text = text.replace(f"{{{slot}}}", f"b.{slot}" if many else f"${slot}::INTEGER")
    return text.replace("{row}", "b.row, " if many else "").replace("{crow}", "c.row, " if many else "")
