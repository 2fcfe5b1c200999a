"""Graph embeddings: the rows against a dense oracle, ``related`` against brute force, and the whole commands."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kbkit
from kbkit.errors import KbError
from kbkit.graph.charts import degrees
from kbkit.kb import KnowledgeBase
from kbkit.stores.embedding_build import EmbeddingSettings, spectral, unit_rows
from kbkit.stores.embeddings import Embeddings
from tests.conftest import TESTS, Run
from tests.wording import Wording

TINY = TESTS / "tiny"


@pytest.fixture(scope="module")
def embedded(world_kb: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample with graph embeddings."""
    from kbkit.ingestion.build import rebuild

    out = tmp_path_factory.mktemp("embedded") / "world.kb"
    shutil.copytree(world_kb, out)
    rebuild(out, "embeddings")
    return out


def dense(head: np.ndarray, tail: np.ndarray, nodes: int) -> np.ndarray:
    """L of the module's docstring, computed densely."""
    adjacent = np.zeros((nodes, nodes))
    np.add.at(adjacent, (head, tail), 1)
    np.add.at(adjacent, (tail, head), 1)
    scale = 1 / np.sqrt(adjacent.sum(1) + adjacent.sum(1).mean())
    return scale[:, None] * adjacent * scale


def test_the_rows_are_scaled_eigenvectors() -> None:
    drawn = np.random.default_rng(3)
    head, tail = drawn.integers(0, 40, (2, 120))
    relation = np.zeros(120, int)
    rows = spectral(head, relation, tail, 40, EmbeddingSettings(dimension=38))
    values, vectors = np.linalg.eigh(dense(head, tail, 40))
    positive = values > 1e-9
    # Inner products do not depend on signs and on the basis of an eigenspace.
    np.testing.assert_allclose(rows @ rows.T, (vectors * np.where(positive, values, 0) ** 2) @ vectors.T, atol=1e-4)


def test_equal_seeds_give_equal_bytes_and_nodes_without_edges_have_none() -> None:
    head, tail = np.random.default_rng(5).integers(0, 300, (2, 900))
    relation = np.zeros(900, int)
    first, again = (spectral(head, relation, tail, 310, EmbeddingSettings(seed=7)).tobytes() for _ in range(2))
    assert first == again
    rows = unit_rows(spectral(head, relation, tail, 310, EmbeddingSettings()))
    lengths = np.linalg.norm(rows, axis=1)
    alone = ~np.isin(np.arange(310), [head, tail])
    assert alone.sum() >= 10
    assert (lengths[alone] == 0).all()
    np.testing.assert_allclose(lengths[~alone], 1, atol=1e-6)


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.booleans())
def test_nearest_is_brute_force(seed: int, k: int, some: bool) -> None:
    drawn = np.random.default_rng(seed)
    store = Embeddings.__new__(Embeddings)
    store.matrix = unit_rows(drawn.integers(-1, 2, (30, 3)).astype(np.float32))  # many ties, and zero rows
    nodes = drawn.integers(0, 30, 4)
    within = np.flatnonzero(drawn.random(30) < 0.5) if some else None
    found, products = store.nearest(nodes, k, within)
    candidates = range(30) if within is None else within.tolist()
    for node, ids, scores in zip(nodes.tolist(), found.tolist(), products.tolist(), strict=True):
        exact = [(-float(store.matrix[node] @ store.matrix[other]), other) for other in candidates if other != node]
        expected = sorted(score for score, _ in exact if score < -1e-6)[:k]
        kept = [score for one, score in zip(ids, scores, strict=True) if one >= 0 and score > 1e-6]
        np.testing.assert_allclose(kept, [-score for score in expected], atol=1e-5)
        assert node not in ids
        assert len({*ids} - {-1}) == len([one for one in ids if one >= 0])


@pytest.mark.core
def test_build_adds_embeddings_to_the_next_generation(here: Run, embedded: Path) -> None:
    with kbkit.open(embedded) as kb:
        record = kb.manifest.stores["embeddings"]
        assert record.counts == {"embeddings": kb.schema.nodes, "dimension": 64}
        assert record.settings == {"method": "spectral", "dimension": 64, "seed": 0, "epochs": 20}
        assert [problem for _, problem in kb.check() if problem] == []
        assert "embeddings" in [row["store"] for row in kb.info()["stores"]]
        assert kb.manifest.generation == "0002"
        assert kb.embeddings.matrix.dtype == np.float32
        before = kb.embeddings.matrix.tobytes()
    done = here("build", embedded, "embeddings")
    assert done.returncode == 0, done.stderr
    with kbkit.open(embedded) as kb:
        assert kb.embeddings.matrix.tobytes() == before
        path = kb.folder / "embeddings" / "matrix.npy"
        rows = np.load(path)
        assert rows.shape == (kb.schema.nodes, 64)


def test_related_nodes_of_the_sample(here: Run, embedded: Path) -> None:
    done = here("show", embedded, "country:France", "--similar", "-n", 5, "-f", "json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert {"Belgium", "Luxembourg", "Monaco"} <= {row["name"] for row in rows}
    assert [row["rank"] for row in rows] == [1, 2, 3, 4, 5]
    with kbkit.open(embedded) as kb:
        found = kb.related("country:France", k=400, type="river", min_degree=5)
        assert found["type"].unique().to_list() == ["river"]
        counts = degrees(kb.stores)
        assert found["degree"].to_list() == counts[found["id"].to_numpy()].tolist()
        assert found["degree"].min() == 5
        assert found["score"].is_sorted(descending=True)
        assert found["score"].min() > 0
        with pytest.raises(KbError, match="Unknown type"):
            kb.related("country:France", type="planet")


def test_errors(here: Run, world: KnowledgeBase, world_kb: Path, wording: Wording) -> None:
    with pytest.raises(KbError) as caught:
        world.related("country:France")
    assert "build KB embeddings" in caught.value.hint
    for options in (("--method", "magic"), ("--method", "pykeen"), ("--dimension", "0"), ("--seed", "-1")):
        done = here("build", world_kb, "embeddings", *options)
        assert done.returncode == 1
        wording(done.stderr, "cli")
    done = here("build", world_kb, "vectors", "--method", "spectral")
    assert done.returncode == 1
    wording(done.stderr, "cli")


def test_an_update_rebuilds_embeddings_and_keeps_them_if_the_graph_is_unchanged(tmp_path: Path, here: Run) -> None:
    out = tmp_path / "t.kb"
    kbkit.ingest("table", TINY, out=out, stores=["adjacency", "embeddings"]).close()
    with kbkit.open(out) as kb:
        first, nodes = kb.embeddings.matrix.copy(), kb.schema.nodes
        [key, kind] = kb.sql("SELECT key, type FROM nodes LIMIT 1").row(0)
    (tmp_path / "texts.csv").write_text(f"key,type,field,text\n{key},{kind},note,new words\n")
    assert here("update", out, "--texts", tmp_path / "texts.csv").returncode == 0
    with kbkit.open(out) as kb:
        assert (kb.embeddings.matrix == first).all()
    (tmp_path / "nodes.csv").write_text(f"key,type,name\nnew,{kind},New\n")
    assert here("update", out, "--nodes", tmp_path / "nodes.csv").returncode == 0
    with kbkit.open(out) as kb:
        assert len(kb.embeddings.matrix) == nodes + 1
        assert not kb.embeddings.matrix[kb.find(f"{kind}#new")].any()
        assert [problem for _, problem in kb.check() if problem] == []


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda rows: rows[:-1], "number of embeddings"),
        (lambda rows: rows[:, :-1], "embeddings: dimension: 63 instead of 64"),
        (None, "is damaged"),
    ],
)
def test_check_reports_damaged_embeddings(embedded: Path, tmp_path: Path, damage: Any, said: str) -> None:
    out = tmp_path / "damaged.kb"
    shutil.copytree(embedded, out)
    with kbkit.open(out) as kb:
        path = kb.folder / "embeddings" / "matrix.npy"
    if damage is None:
        path.write_bytes(path.read_bytes()[:1000])
    else:
        np.save(path, damage(np.load(path)))
        manifest = path.parents[1] / "manifest.json"  # else the size alone would tell
        data = json.loads(manifest.read_text())
        data["files"]["embeddings/matrix.npy"]["bytes"] = path.stat().st_size
        manifest.write_text(json.dumps(data))
    with kbkit.open(out) as kb:
        problems = dict(kb.check())
    assert said in problems["embeddings"]
    assert "embeddings/matrix.npy" in problems["files"]
    assert not problems["adjacency"]
