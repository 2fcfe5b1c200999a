"""The members of an answer set with their attributes, as a frame or a networkx graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kbkit.errors import MissingExtraError
from kbkit.schema import quote
from kbkit.stores import Stores
from kbkit.stores.adjacency import Ids

if TYPE_CHECKING:
    import polars as pl

_MEMBERS, _NUMBER = "kbkit_members", "kbkit_number"


def frame(stores: Stores, ids: Ids, node_type: str | None) -> pl.DataFrame:
    """Return nodes sorted by id: id, type, key, name; of one type, also its attributes."""
    nodes = stores.nodes.frame(ids, ("id", "type", "key", "name"))
    return nodes if node_type is None else nodes.join(_attributes(stores, ids, node_type), on="id", how="left")


def _attributes(stores: Stores, ids: Ids, node_type: str) -> pl.DataFrame:
    import polars as pl

    kind = stores.schema.type(node_type)
    columns = ", ".join(["id", *(quote(a.name) for a in kind.attributes)])
    sql = f"SELECT {columns} FROM {quote(kind.table)} SEMI JOIN {_MEMBERS} USING (id)"
    return stores.tables.lookup(sql, frames={_MEMBERS: pl.DataFrame({"id": ids})})


def network(stores: Stores, ids: Ids) -> Any:
    """Return nodes and the edges between them as a ``networkx.MultiDiGraph``.

    A node is its key, or ``type#key`` in a KB where two nodes share a key; it has ``type``, ``name``, ``aliases`` if
    any, and its attributes. The key of an edge is its relation, numbered from the second parallel edge on; it has
    ``relation`` and its attributes. Symmetric relations have an edge in each direction.
    """
    try:
        import networkx
    except ImportError:
        raise MissingExtraError("networkx", "networkx") from None
    import polars as pl

    tables, members = stores.tables, {_MEMBERS: pl.DataFrame({"id": ids})}
    nodes = tables.lookup(
        f"SELECT id, type, key, name, aliases FROM nodes SEMI JOIN {_MEMBERS} USING (id) ORDER BY id", frames=members
    )
    [shared] = tables.rows("SELECT count(*) > count(DISTINCT key) FROM nodes")[0]
    names = pl.format("{}#{}", "type", "key") if shared else pl.col("key")
    labels = dict(zip(nodes["id"].to_list(), nodes.select(names).to_series().to_list(), strict=True))
    graph = networkx.MultiDiGraph()
    for row in nodes.iter_rows(named=True):
        aliases = {"aliases": row["aliases"]} if row["aliases"] else {}
        graph.add_node(labels[row["id"]], type=row["type"], name=row["name"], **aliases)
    for kind in nodes["type"].unique(maintain_order=True):
        if stores.schema.type(kind).attributes:
            for row in _attributes(stores, ids, kind).iter_rows(named=True):
                graph.nodes[labels[row.pop("id")]].update(_present(row))
    edges = tables.lookup(
        f"SELECT *, row_number() OVER (PARTITION BY head, relation, tail) AS {_NUMBER} FROM edges"
        f" WHERE head IN (SELECT id FROM {_MEMBERS}) AND tail IN (SELECT id FROM {_MEMBERS})"
        f" ORDER BY head, relation, tail, {_NUMBER}",
        frames=members,
    )
    for row in edges.iter_rows(named=True):
        head, tail, number = (row.pop(name) for name in ("head", "tail", _NUMBER))
        key = row["relation"] if number == 1 else f"{row['relation']} {number}"
        graph.add_edge(labels[head], labels[tail], key=key, **_present(row))
    return graph


def _present(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}
