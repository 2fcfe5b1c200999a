"""Ladybug: prepared Cypher on one table a type and a relation."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import ladybug
import polars as pl

from tests.performance import data
from tests.performance.metapaths import RELATIONS, TYPES

LIMIT = 60_000
COUNT = "RETURN count(DISTINCT p.id)"
CYPHER = {
    "author": "MATCH (x:author {id: $author})-[:writes]->(p:paper)",
    "cited": "MATCH (x:paper {id: $paper})-[:cites]->(p:paper) WHERE p.id <> $paper",
    "field": "MATCH (x:field_of_study {id: $field_of_study})<-[:has_topic]-(p:paper)",
    "institution": "MATCH (x:institution {id: $institution})<-[:affiliated_with]-(:author)-[:writes]->(p:paper)",
    "same_author": "MATCH (x:paper {id: $paper})<-[:writes]-(:author)-[:writes]->(p:paper) WHERE p.id <> $paper",
    "same_author_and_field": "MATCH (x:paper {id: $paper})<-[:writes]-(:author)-[:writes]->(p:paper)"
    " WHERE p.id <> $paper WITH DISTINCT x, p WHERE EXISTS { MATCH (x)-[:has_topic]->(:field_of_study)"
    "<-[:has_topic]-(p) }",
    "institution_and_field": "MATCH (x:institution {id: $institution})<-[:affiliated_with]-(:author)-[:writes]->"
    "(p:paper)-[:has_topic]->(:field_of_study {id: $field_of_study})",
}


class Engine:
    @staticmethod
    def path(scale: float) -> Path:
        return data.folder() / f"mag-{scale}.lbug"

    @staticmethod
    def load(scale: float, path: Path) -> None:
        """COPY, straight from the Parquet files."""
        source = data.source(scale)
        database = ladybug.Database(str(path), buffer_pool_size=8 << 30)
        con = ladybug.Connection(database, num_threads=2)
        for name in TYPES:
            con.execute(f"CREATE NODE TABLE {name}(id INT64, name STRING, PRIMARY KEY(id))")
            rows = f"LOAD FROM '{source}/nodes.parquet' WHERE type = '{name}' RETURN CAST(key AS INT64), name"
            con.execute(f"COPY {name} FROM ({rows})")
        for name, (head, tail) in RELATIONS.items():
            con.execute(f"CREATE REL TABLE {name}(FROM {head} TO {tail})")
            rows = f"LOAD FROM '{source}/edges.parquet' WHERE relation = '{name}'"
            con.execute(f"COPY {name} FROM ({rows} RETURN CAST(head AS INT64), CAST(tail AS INT64))")
        con.execute("CHECKPOINT")
        con.close()
        database.close()

    def __init__(self, scale: float) -> None:
        self.database = ladybug.Database(str(self.path(scale)), buffer_pool_size=8 << 30)
        self.con = ladybug.Connection(self.database, num_threads=2)
        self.con.set_query_timeout(LIMIT)
        self.lists = {
            kind: {name: self.con.prepare(f"{text} RETURN DISTINCT {columns}") for name, text in CYPHER.items()}
            for kind, columns in (("ids", "p.id"), ("rows", "p.id, p.name"))
        }
        self.counts = {name: self.con.prepare(f"{text} {COUNT}") for name, text in CYPHER.items()}

    def ids(self, name: str, row: Mapping[str, int]) -> list[int]:
        return [found[0] for found in self.con.execute(self.lists["ids"][name], dict(row)).get_all()]

    def rows(self, name: str, row: Mapping[str, int]) -> list[list[object]]:
        """Ids and names."""
        return self.con.execute(self.lists["rows"][name], dict(row)).get_all()

    def count(self, name: str, row: Mapping[str, int]) -> int:
        return int(self.con.execute(self.counts[name], dict(row)).get_next()[0])

    def many(self, name: str, table: pl.DataFrame) -> int:
        """One statement over all bindings; Ladybug stops it after a minute."""
        text = CYPHER[name].replace("WITH DISTINCT x, p", "WITH DISTINCT b, x, p")
        for slot in table.columns:
            text = text.replace(f"${slot}", f"b.{slot}")
        text = f"UNWIND $bindings AS b {text} RETURN b, count(DISTINCT p.id)"
        bindings = table.with_row_index("row").to_dicts()
        return int(sum(row[1] for row in self.con.execute(text, {"bindings": bindings})))

    def close(self) -> None:
        self.con.close()
        self.database.close()
