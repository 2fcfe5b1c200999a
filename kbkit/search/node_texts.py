"""The texts of nodes as models read them: name, texts, and if wanted the names of neighbours by relation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from kbkit.stores import Stores, documents

_SELECTED = "IN (SELECT unnest($ids))"


@dataclass(frozen=True)
class NodeTexts:
    """Reads the texts of the nodes of a KB."""

    stores: Stores
    relations: bool = True

    def of(self, ids: Sequence[int]) -> list[str]:
        """Return the text of each node."""
        sql = documents.selected_sql(self.stores.schema, _SELECTED, relations=self.relations)
        known = dict(self.stores.tables.rows(sql, {"ids": sorted(set(ids))}))
        return [known[node] for node in ids]

    def digests(self, progress: Callable[[int, int], None] = lambda *_: None) -> pl.DataFrame:
        """Return id, type, key, digest (of the text) of all nodes, sorted by id."""
        count, tables = self.stores.schema.nodes, self.stores.tables
        parts = [pl.DataFrame(schema={"id": pl.Int32, "type": pl.String, "key": pl.String, "digest": pl.String})]
        for first, last in self._ranges():
            sql = documents.documents_sql(self.stores.schema, first, last, relations=self.relations)
            digests = tables.lookup(
                "SELECT n.id, n.type::VARCHAR AS type, n.key, md5(d.document) AS digest"
                f" FROM ({sql}) d JOIN nodes n USING (id) ORDER BY n.id"
            )
            parts.append(digests.cast(parts[0].schema))
            progress(last + 1, count)
        return pl.concat(parts)

    def _ranges(self) -> Iterator[tuple[int, int]]:
        step, count = documents.step(self.stores.schema), self.stores.schema.nodes
        for first in range(0, count, step):
            yield first, min(first + step, count) - 1
