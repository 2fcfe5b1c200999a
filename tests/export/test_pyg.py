"""Arrays for graph neural networks hold the graph, as an independent query counts it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kbkit.kb import KnowledgeBase


@pytest.fixture(scope="module")
def folder(world: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("pyg") / "world"
    world.export("pyg", out)
    return out


def test_nodes_have_their_vectors_and_numbers(folder: Path, world: KnowledgeBase) -> None:
    rows = world.sql("SELECT id, height_m FROM mountain ORDER BY id")
    here = folder / "nodes" / "type=mountain"
    assert np.array_equal(np.load(here / "id.npy"), rows["id"].to_numpy())
    heights = rows["height_m"].cast(float).to_numpy().astype(np.float32)
    assert np.array_equal(np.load(here / "height_m.npy"), heights, equal_nan=True)
    assert np.array_equal(np.load(here / "x.npy"), np.asarray(world.stores.vectors.matrix)[rows["id"].to_numpy()])


def test_edges_are_those_of_the_tables(folder: Path, world: KnowledgeBase) -> None:
    """The positions lead to the same pairs of ids, for every relation and pair of types."""
    found = {}
    for path in (folder / "edges").rglob("edge_index.npy"):
        head, relation, tail = (part.partition("=")[2] for part in path.parts[-4:-1])
        ids = [np.load(folder / "nodes" / f"type={kind}" / "id.npy") for kind in (head, tail)]
        index = np.load(path)
        assert index.dtype == np.int64
        for a, b in zip(ids[0][index[0]], ids[1][index[1]], strict=True):
            found[relation, int(a), int(b)] = found.get((relation, int(a), int(b)), 0) + 1
    rows = world.sql("SELECT relation, head, tail, count(*) AS n FROM edges GROUP BY ALL").rows()
    assert found == {(relation, head, tail): n for relation, head, tail, n in rows}
    attributes = world.sql("SELECT people FROM had_population ORDER BY head, tail, people")["people"]
    people = np.load(folder / "edges" / "head=country" / "relation=had_population" / "tail=year" / "people.npy")
    assert np.array_equal(people, attributes.to_numpy().astype(np.float32))


def test_hetero_data_has_the_same_arrays(folder: Path, world: KnowledgeBase) -> None:
    pytest.importorskip("torch_geometric")
    data = world.to_pyg()
    data.validate()
    assert data["mountain"].num_nodes == world.schema.type("mountain").count
    index = np.load(folder / "edges" / "head=country" / "relation=borders" / "tail=country" / "edge_index.npy")
    assert np.array_equal(data["country", "borders", "country"].edge_index.numpy(), index)
