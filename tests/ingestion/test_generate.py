"""Synthetic graphs: as many nodes and edges as asked, well-formed, skewed, reproducible, and read by the recipe."""

from __future__ import annotations

import errno
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

import kbkit
from kbkit.errors import KbError, UnknownNameError
from kbkit.ingestion.generate import SHAPES, EdgeShape, End, GraphShape, _draw_pairs, generate
from kbkit.ingestion.generate_words import compose
from tests.kbs import mentions
from tests.loops import each
from tests.wording import Wording

TABLE_2 = {
    "amazon": (4, 5, 1_035_542, 9_443_802, 592_067_882),
    "mag": (4, 4, 1_872_968, 39_802_116, 212_602_571),
    "prime": (10, 18, 129_375, 8_100_498, 31_844_769),
}
SCALE = 0.001

Made = tuple[str, dict[str, int], pl.DataFrame, pl.DataFrame, pl.DataFrame]


def load(folder: Path) -> list[pl.DataFrame]:
    return [pl.read_parquet(folder / f"{name}.parquet") for name in ("nodes", "edges", "texts")]


@pytest.fixture(scope="module", params=sorted(SHAPES))
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A shape at a small scale: name, what was returned, nodes, edges with the types of both ends, texts."""
    folder = tmp_path_factory.mktemp(request.param)
    counts = generate(request.param, folder, scale=SCALE)
    nodes, edges, texts = load(folder)
    for end in ("head", "tail"):
        types = nodes.select(pl.col("key").alias(end), pl.col("type").alias(f"{end}_type"))
        edges = edges.join(types, on=end, how="left", maintain_order="left")
    return request.param, counts, nodes, edges, texts


def pairs_of_types(shape: GraphShape) -> dict[tuple[str, str, str], EdgeShape]:
    return {(r.name, r.head, r.tail): r for r in shape.relations}


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_shapes_add_up_to_the_published_totals(name: str) -> None:
    shape, (types, relations, nodes, edges, tokens) = SHAPES[name], TABLE_2[name]
    assert len(shape.types) == len({t.name for t in shape.types}) == types
    assert len({r.name for r in shape.relations}) == relations
    assert len(pairs_of_types(shape)) == len(shape.relations)
    assert sum(t.count for t in shape.types) == nodes
    assert sum(r.edges for r in shape.relations) == edges
    assert not shape.both_ways or all(r.edges % 2 == 0 for r in shape.relations)
    assert sum(t.count * t.words for t in shape.types) == pytest.approx(tokens, rel=0.002)
    assert {r.head for r in shape.relations} | {r.tail for r in shape.relations} == {t.name for t in shape.types}


def test_counts_are_as_asked(made: Made) -> None:
    name, counts, nodes, edges, texts = made
    shape = SHAPES[name]
    size = {t.name: max(3, round(t.count * SCALE)) for t in shape.types}
    assert dict(nodes["type"].value_counts().iter_rows()) == size
    assert nodes["type"].unique(maintain_order=True).to_list() == list(size)
    assert nodes["key"].to_list() == [str(n) for n in range(nodes.height)]
    ways = 2 if shape.both_ways else 1
    for (relation, head, tail), spec in pairs_of_types(shape).items():
        possible = size[head] * (size[head] - 1) // ways if head == tail else size[head] * size[tail]
        there = edges.filter(relation=relation, head_type=head, tail_type=tail).height
        expected = max(1, min(round(spec.edges * SCALE / ways), possible // 2))
        assert there == expected * (ways if head == tail else 1), (relation, head, tail)
    assert texts.height == sum(size[t.name] for t in shape.types if t.words)
    tokens = int(texts["text"].str.split(" ").list.len().sum())
    assert counts == {"nodes": nodes.height, "edges": edges.height, "texts": texts.height, "tokens": tokens}


def test_edges_are_distinct_and_join_what_they_should(made: Made) -> None:
    name, _, _, edges, _ = made
    assert edges.select("head", "relation", "tail").is_duplicated().sum() == 0
    assert edges.filter(pl.col("head") == pl.col("tail")).height == 0
    known = set(pairs_of_types(SHAPES[name]))
    seen = set(edges.select("relation", "head_type", "tail_type").unique().iter_rows())
    back = {(relation, tail, head) for relation, head, tail in known}
    assert seen == (known | back if SHAPES[name].both_ways else known)


def test_prime_has_every_edge_in_both_directions(made: Made) -> None:
    name, _, _, edges, _ = made
    there = set(edges.select("head", "relation", "tail").iter_rows())
    back = {(tail, relation, head) for head, relation, tail in there}
    assert (there == back) == (name == "prime")


def test_texts_begin_with_the_name_and_have_the_length(made: Made) -> None:
    name, _, nodes, _, texts = made
    joined = texts.join(nodes, on="key", how="left", maintain_order="left")
    assert joined.select(pl.col("text").str.starts_with(pl.col("name") + " ").all()).item()
    assert joined.filter(pl.col("text").str.contains("  ") | pl.col("text").str.contains(r"^\s|\s$")).height == 0
    fields = {t.name: t.field for t in SHAPES[name].types if t.words}
    assert dict(joined.select("type", "field").unique().iter_rows()) == fields
    for type_ in SHAPES[name].types:
        words = joined.filter(type=type_.name)["text"].str.split(" ").list.len()
        if len(words) > 200:
            assert float(words.mean()) == pytest.approx(type_.words, rel=0.1)
            assert float(words.std()) > 0.3 * type_.words


def test_attributes_belong_to_their_types(made: Made) -> None:
    name, _, nodes, _, _ = made
    for type_ in each(SHAPES[name].types):
        rows = nodes.filter(type=type_.name)
        own = {n.name: n for n in type_.numbers}
        for column in rows.drop("key", "type", "name", "source", strict=False).columns:
            values = rows[column].drop_nulls()
            assert (len(values) > 0) == (column in own)
            if column in own:
                assert own[column].low <= values.min() and values.max() <= own[column].high
                assert (rows[column].null_count() > 0) == (own[column].missing > 0)
        if "source" in rows.columns:
            assert rows["source"].unique().to_list() == [type_.source]


def test_names_are_unique_within_a_type_but_for_authors(tmp_path: Path) -> None:
    for shape, scale in (("amazon", 0.005), ("mag", 0.02), ("prime", 0.2)):
        generate(shape, tmp_path / shape, scale=scale, texts=False)
        nodes = pl.read_parquet(tmp_path / shape / "nodes.parquet")
        for type_ in each(SHAPES[shape].types):
            names = nodes.filter(type=type_.name)["name"]
            assert names.null_count() == 0
            assert names.str.contains(r"^\S.*\S$").all()
            shared = names.is_duplicated().mean()
            assert shared == 0 if type_.name != "author" else 0.02 < shared < 0.06, type_.name


def test_names_get_a_numeral_when_combinations_run_out() -> None:
    names = compose("{Shade} {hue}", np.arange(2 * 48 * 40 + 1), 7).to_pylist()
    assert len(set(names)) == len(names)
    assert names[1920] == f"{names[0]} 2"
    assert names[3840] == f"{names[0]} 3"


def test_degrees_are_skewed(tmp_path: Path) -> None:
    generate("mag", tmp_path, scale=0.02, texts=False)
    edges = pl.read_parquet(tmp_path / "edges.parquet")

    def degrees(relation: str, end: str) -> pl.Series:
        return edges.filter(relation=relation)[end].value_counts()["count"].sort(descending=True)

    papers, fields = edges.filter(relation="has_topic")["head"].n_unique(), degrees("has_topic", "tail")
    assert papers == round(700_244 * 0.02)  # every paper has a topic, every author a paper, every paper an author
    assert degrees("writes", "tail").len() == papers
    assert degrees("writes", "head").len() == round(1_104_554 * 0.02)
    assert 0.25 < fields[0] / papers < 0.75
    assert fields.median() < 0.02 * papers
    cited = degrees("cites", "tail")
    assert cited[0] > 20 * cited.mean()
    # What is popular in one relation is so in others.
    limit = [set(edges.filter(relation=r)["tail"].value_counts(sort=True)["tail"][:100]) for r in ("cites", "writes")]
    assert len(limit[0] & limit[1]) > 10  # by chance, one


def test_same_seed_same_graph_another_seed_another(tmp_path: Path) -> None:
    for shape in SHAPES:
        for folder, seed in (("one", 5), ("again", 5), ("other", 6)):
            generate(shape, tmp_path / shape / folder, scale=0.0005, seed=seed)
        one, again, other = (load(tmp_path / shape / folder) for folder in ("one", "again", "other"))
        assert all(a.equals(b) for a, b in zip(one, again, strict=True))
        assert not any(a.equals(b) for a, b in zip(one, other, strict=True))
        assert [a.shape for a in one] == [b.shape for b in other]
        assert one[0]["name"].to_list() != other[0]["name"].to_list()


@pytest.mark.core
def test_without_texts_the_rest_is_the_same(tmp_path: Path) -> None:
    full = generate("prime", tmp_path / "full", scale=SCALE)
    bare = generate("prime", tmp_path / "bare", scale=SCALE, texts=False)
    assert bare == full | {"texts": 0, "tokens": 0}
    assert sorted(p.name for p in (tmp_path / "bare").iterdir()) == ["edges.parquet", "nodes.parquet"]
    for name in ("nodes", "edges"):
        assert (tmp_path / "bare" / f"{name}.parquet").read_bytes() == (
            tmp_path / "full" / f"{name}.parquet"
        ).read_bytes()


@pytest.mark.parametrize("both_ways", [False, True])
@pytest.mark.parametrize("end", [End(3.0, 0.0), End(1.0, 0.0, every=True), End(0.0)])
@pytest.mark.parametrize("size", [2, 3, 40])
def test_the_most_crowded_relation_is_filled(end: End, both_ways: bool, size: int) -> None:
    wanted = size * (size - 1) // 4 or 1
    order = {"t": np.random.default_rng(1).permutation(size)}
    relation = EdgeShape("r", "t", "t", 0, end, end)
    heads, tails = _draw_pairs(np.random.default_rng(2), relation, wanted, order, both_ways)
    found = list(zip(heads.tolist(), tails.tolist(), strict=True))
    assert len(set(found)) == wanted
    assert all(0 <= h < size and 0 <= t < size and h != t for h, t in found)
    assert not both_ways or all(h < t for h, t in found)


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_the_smallest_graph_has_all_types_and_relations(shape: str, tmp_path: Path) -> None:
    counts = generate(shape, tmp_path, scale=1e-9)
    nodes, edges, _ = load(tmp_path)
    assert counts["nodes"] == 3 * len(SHAPES[shape].types)
    assert nodes["type"].n_unique() == len(SHAPES[shape].types)
    assert edges["relation"].n_unique() == TABLE_2[shape][1]


def test_the_table_recipe_reads_it_without_options(tmp_path: Path) -> None:
    counts = generate("prime", tmp_path / "files", scale=SCALE)
    with kbkit.ingest("table", tmp_path / "files", out=tmp_path / "kb", stores=["adjacency", "text"]) as kb:
        about = {"nodes": kb.schema.nodes, "edges": kb.schema.edges}
        about |= {"texts": sum(f.texts for f in kb.schema.text_fields)}
        assert about | {"tokens": sum(f.tokens for f in kb.schema.text_fields)} == counts
        assert [t.name for t in kb.schema.node_types] == [t.name for t in SHAPES["prime"].types]
        assert not any(kb.manifest.report.get(key) for key in ("duplicate_edges", "dangling_edges", "merged_nodes"))
        assert [problem for _, problem in kb.check() if problem] == []
        name = kb.sql("SELECT name FROM drug ORDER BY id LIMIT 1").item()
        assert kb.search(name, mode="bm25", k=1)["name"].to_list() == [name]
        assert kb.node(name).attributes == {"source": "DrugBank"}


@pytest.mark.parametrize("shape", ["amazon", "mag"])
def test_the_table_recipe_types_the_attributes(shape: str, tmp_path: Path) -> None:
    generate(shape, tmp_path / "files", scale=0.0002, texts=False)
    with kbkit.ingest("table", tmp_path / "files", out=tmp_path / "kb", stores=["tables"]) as kb:
        assert {t.name: [(a.name, a.type) for a in t.attributes] for t in kb.schema.node_types if t.attributes} == {
            "amazon": {"product": [("price", "DOUBLE"), ("sales_rank", "BIGINT")]},
            "mag": {"paper": [("year", "BIGINT")]},
        }[shape]


@pytest.mark.parametrize("scale", [0, 10.5, math.nan])
def test_a_scale_out_of_range_is_refused(scale: float, tmp_path: Path, wording: Wording) -> None:
    with pytest.raises(KbError) as caught:
        generate("mag", tmp_path / "out", scale=scale)
    wording(mentions(str(caught.value), "0 | 10"), replace={str(tmp_path): "DIR"})
    assert list(tmp_path.iterdir()) == []


def test_other_bad_arguments_are_refused(tmp_path: Path, wording: Wording) -> None:
    with pytest.raises(UnknownNameError) as caught:
        generate("amazn", tmp_path / "out")
    wording(mentions(str(caught.value), "'amazn' | 'amazon'"), replace={str(tmp_path): "DIR"})
    with pytest.raises(KbError) as caught:
        generate("mag", tmp_path / "out", seed=-1)
    wording(mentions(str(caught.value), "1"), replace={str(tmp_path): "DIR"})
    (tmp_path / "file").touch()
    with pytest.raises(KbError) as caught:
        generate("mag", tmp_path / "file")
    wording(mentions(str(caught.value), f"{tmp_path / 'file'}"), replace={str(tmp_path): "DIR"})
    with pytest.raises(KbError) as caught:
        generate("mag", tmp_path / "file" / "out")
    wording(
        mentions(str(caught.value), f"{tmp_path / 'file' / 'out'} | Not a directory"), replace={str(tmp_path): "DIR"}
    )
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("name", ["nodes.parquet", "texts.parquet"])
def test_files_that_are_there_are_kept(name: str, tmp_path: Path, wording: Wording) -> None:
    (tmp_path / name).write_text("mine")
    (tmp_path / "notes.md").write_text("also mine")
    with pytest.raises(KbError) as caught:
        generate("prime", tmp_path, scale=SCALE, texts=False)
    wording(mentions(str(caught.value), f"{name}"), replace={str(tmp_path): "DIR"})
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([name, "notes.md"])
    assert (tmp_path / name).read_text() == "mine"


def failing_at(stage: str) -> Callable[[str, int, int], None]:
    def progress(now: str, done: int, total: int) -> None:
        if now == stage:
            raise KeyboardInterrupt

    return progress


@pytest.mark.parametrize("stage", ["nodes", "edges", "texts"])
@pytest.mark.parametrize("made_before", [True, False])
def test_a_stop_leaves_nothing(stage: str, made_before: bool, tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    if made_before:
        out.mkdir(parents=True)
        (out / "notes.md").write_text("mine")
    with pytest.raises(KeyboardInterrupt):
        generate("prime", out, scale=SCALE, progress=failing_at(stage))
    left = [p.name for p in tmp_path.rglob("*") if p.is_file()]
    assert left == (["notes.md"] if made_before else [])
    assert (tmp_path / "new").exists() == made_before
    assert generate("prime", out, scale=SCALE)["nodes"] > 0


def test_a_full_disk_leaves_nothing_and_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    def full(self: object, table: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    with pytest.raises(KbError) as caught:
        generate("prime", tmp_path / "out", scale=SCALE)
    wording(mentions(str(caught.value), f"{tmp_path / 'out'} | No space left"), replace={str(tmp_path): "DIR"})
    assert list(tmp_path.iterdir()) == []


def test_a_failure_while_publishing_takes_back_what_was_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    rename = Path.rename

    def fail_at_last(self: Path, target: Path) -> Path:
        if self.name == "edges.parquet":
            assert (tmp_path / "nodes.parquet").exists()
            raise OSError(errno.EIO, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail_at_last)
    with pytest.raises(KbError) as caught:
        generate("prime", tmp_path, scale=SCALE)
    wording(mentions(str(caught.value), f"{tmp_path} | Input/output error"), replace={str(tmp_path): "DIR"})
    assert list(tmp_path.iterdir()) == []


def test_progress_ends_at_the_totals(tmp_path: Path) -> None:
    told: dict[str, list[tuple[int, int]]] = {}
    counts = generate(
        "mag",
        tmp_path,
        scale=SCALE,
        progress=lambda stage, done, total: told.setdefault(stage, []).append((done, total)),
    )
    assert list(told) == ["nodes", "edges", "texts"]
    for stage, steps in told.items():
        assert steps[-1] == (counts[stage], counts[stage])
        assert [done for done, _ in steps] == sorted(done for done, _ in steps)
        assert {total for _, total in steps} == {counts[stage]}
