"""Many nodes, edges, types and relations, and long texts: still right, and still one command."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import kbkit

pytestmark = pytest.mark.system

STORES = ["adjacency", "triples"]


def test_two_thousand_relations_load_and_open(tmp_path: Path) -> None:
    def lines() -> Iterator[str]:
        yield "head,relation,tail"
        for n in range(4_000):
            yield f"n{n % 200},r{n % 2_000},n{(n * 7 + n // 2_000) % 200}"

    (tmp_path / "nodes.csv").write_text("key,type\n" + "".join(f"n{n},t{n % 3}\n" for n in range(200)))
    (tmp_path / "edges.csv").write_text("\n".join(lines()) + "\n")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "kb", stores=STORES) as kb:
        assert len(kb.schema.relations) == 2_000
        assert (
            kb.sql("SELECT head, tail FROM r1999 ORDER BY ALL").rows()
            == kb.sql("SELECT head, tail FROM edges WHERE relation = 'r1999' ORDER BY ALL").rows()
        )
        assert kb.sql("SELECT count(*) FROM r1999").item() == 2
        assert [problem for _, problem in kb.check() if problem] == []


def test_many_edges_are_counted_exactly(tmp_path: Path) -> None:
    random = np.random.default_rng(7)
    nodes, edges = 8_000, 80_000
    head, tail = random.integers(0, nodes + 50, edges), random.integers(0, nodes, edges) // 20
    relation = random.integers(0, 3, edges)
    kinds = [f"t{n % 4}" for n in range(nodes)]
    pl.DataFrame({"key": [f"{n:07d}" for n in range(nodes)], "type": kinds}).write_parquet(tmp_path / "nodes.parquet")
    pl.DataFrame(
        {
            "head": [f"{n:07d}" for n in head],
            "relation": [f"r{n}" for n in relation],
            "tail": [f"{n:07d}" for n in tail],
        }
    ).write_parquet(tmp_path / "edges.parquet")
    known = head < nodes
    distinct = np.unique(np.stack([head, relation, tail])[:, known], axis=1)
    with kbkit.ingest("table", tmp_path, out=tmp_path / "kb", skip_dangling=True, stores=STORES) as kb:
        assert kb.manifest.report["dangling_edges"] == int((~known).sum())
        assert kb.manifest.report["duplicate_edges"] == int(known.sum()) - distinct.shape[1]
        assert kb.schema.edges == distinct.shape[1]
        assert [(t.name, t.first, t.count) for t in kb.schema.node_types] == [
            (f"t{n}", 2_000 * n, 2_000) for n in range(4)
        ]
        number = {key: id_ for id_, key in kb.sql("SELECT id, key FROM nodes").iter_rows()}
        one = "0000003"
        expected = sorted(number[f"{n:07d}"] for n in distinct[0, (distinct[1] == 1) & (distinct[2] == 3)])
        assert kb.adjacency.backward("r1").neighbors(number[one]).tolist() == expected
        assert (
            kb.sql("SELECT head FROM r1 WHERE tail = $id ORDER BY head", id=number[one])["head"].to_list() == expected
        )
        assert kb.sparql("SELECT (COUNT(*) AS ?n) { ?h rel:r1 t3:0000003 }").item() == len(expected) > 50
        assert [problem for _, problem in kb.check() if problem] == []


def test_a_thousand_types_load_and_open(tmp_path: Path) -> None:
    lines = "".join(f"n{n},t{n % 1_000},{n if n % 1_000 < 3 else ''}\n" for n in range(2_000))
    (tmp_path / "nodes.csv").write_text("key,type,size\n" + lines)
    (tmp_path / "edges.csv").write_text("head,relation,tail\n" + "".join(f"n{n},next,n{n + 1}\n" for n in range(1_999)))
    with kbkit.ingest("table", tmp_path, out=tmp_path / "kb", stores=STORES) as kb:
        assert len(kb.schema.node_types) == 1_000
        assert kb.sql("SELECT size FROM t2 ORDER BY id")["size"].to_list() == [2, 1_002]
        assert kb.sql("SELECT key FROM t999 ORDER BY id")["key"].to_list() == ["n999", "n1999"]
        assert len(kb.schema.relation("next").signatures) == 1_000
        assert [problem for _, problem in kb.check() if problem] == []


def test_a_long_text_is_kept_whole_and_found_by_its_last_word(tmp_path: Path) -> None:
    text = "word " * 100_000 + "zyzzyva"
    (tmp_path / "nodes.csv").write_text("key\na\nb\n")
    (tmp_path / "edges.csv").write_text("head,relation,tail\na,r,b\n")
    (tmp_path / "texts.csv").write_text(f'key,text\na,"{text}"\nb,short\n')
    with kbkit.ingest("table", tmp_path, out=tmp_path / "kb", stores=["text", "triples"]) as kb:
        assert kb.node("a").texts == [("text", text)]
        assert kb.search("zyzzyva", k=5, mode="bm25")["key"].to_list() == ["a"]
        assert kb.sparql("SELECT (STRLEN(?t) AS ?n) { ?s text:text ?t } ORDER BY DESC(?n)")["n"].to_list() == [
            len(text),
            5,
        ]
