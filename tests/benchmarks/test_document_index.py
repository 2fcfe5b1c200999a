"""Datasets with documents of their own: systems search these, not the texts of the KB."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import kbkit
from kbkit.benchmarks.document_index import INDEX, document_index, titled_nodes
from kbkit.benchmarks.quest import bench as benches
from kbkit.benchmarks.quest.bench import without_domain
from kbkit.benchmarks.quest.dataset import QuestDataset
from kbkit.directory.generations import KbDirectory
from kbkit.errors import BadInputError
from kbkit.kb import KnowledgeBase
from tests.conftest import Run

NODES = {"lake": ["Ohrid", "Prespa", "Shkodra"], "town": ["Ohrid", "Bitola"]}
DOCUMENTS = [
    {"title": "Ohrid (lake)", "text": "It is deep. Trout live in it."},
    {"title": "Ohrid (town)", "text": "It lies on a lake."},
    {"title": "Prespa", "text": "Pelicans nest here."},
    {"title": "Unheard of", "text": "Pelicans and trout."},
]
OWNERS = {"Ohrid (lake)": ("lake", "ohrid"), "Ohrid (town)": ("town", "ohrid"), "Prespa": ("lake", "prespa")}


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """A KB whose own texts say nothing of fish or birds."""
    rows = [{"type": kind, "key": name.lower(), "name": name} for kind, names in NODES.items() for name in names]
    nodes = pl.DataFrame(rows)
    texts = nodes.select("type", "key", text=pl.lit("water and stone"))
    out = tmp_path_factory.mktemp("lakes") / "lakes.kb"
    with kbkit.from_frames(nodes, texts=texts, out=out, analyzer="simple") as opened:
        yield opened


def lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """A folder that is a QUEST and a STaRK dataset."""
    folder = tmp_path / "fauna"
    (folder / "stark_qa").mkdir(parents=True)
    lines(folder / "documents.jsonl", DOCUMENTS)
    owners = [{"title": title, "type": kind, "key": key} for title, (kind, key) in OWNERS.items()]
    lines(folder / "documents.nodes.jsonl", owners)
    (folder / "train.jsonl").touch()
    lines(folder / "test.jsonl", [
        {"query": "trout", "docs": ["Ohrid (lake)"], "metadata": {"template": "_", "domain": "lake"}},
        {"query": "pelicans", "docs": ["Prespa"], "metadata": {"template": "_", "domain": "birds"}},
    ])  # fmt: skip
    table = 'id,query,answer_ids\n0,trout,"[""lake#ohrid""]"\n1,pelicans,"[""lake#prespa""]"\n'
    (folder / "stark_qa" / "stark_qa.csv").write_text(table, encoding="utf-8")
    return folder


def test_quest_searches_the_documents_of_the_domain(kb: KnowledgeBase, dataset: Path, tmp_path: Path) -> None:
    with document_index(dataset, tmp_path, kb, ["bm25"]) as index:
        assert index is not None
        assert index.documents["title"].to_list() == [one["title"] for one in DOCUMENTS]
        bench = benches.Bench.of(kb, QuestDataset.open(dataset), 10, index)
        part = bench.part("test")
        found = bench.searched.named(part.ranking("bm25"))
        # A domain that is a type of the KB means its documents, any other domain all documents.
        assert {q: n["node"].to_list() for (q,), n in found.group_by("query")} == {
            "trout": ["Ohrid (lake)"],
            "pelicans": ["Prespa", "Unheard of"],
        }
        assert bench.documents(pl.Series([0]))["text"].to_list() == [DOCUMENTS[0]["text"]]
        assert part.answers.sort("query")["id"].to_list() == [2, 0]
        [line] = benches.remarks(bench, part)
        assert line.startswith("Documents that are not exactly one node of this KB: 1;")


def test_modes_that_follow_relations_search_the_kb(kb: KnowledgeBase, dataset: Path, tmp_path: Path) -> None:
    with document_index(dataset, tmp_path, kb, ["bm25", "relational"]) as index:
        bench = benches.Bench.of(kb, QuestDataset.open(dataset), 10, index)
        ranking = bench.part("test").ranking("relational")
        assert ranking["id"].null_count() == 0
        assert set(bench.searched.named(ranking)["node"]) <= set(OWNERS)


def test_without_documents_there_is_no_index(kb: KnowledgeBase, dataset: Path, tmp_path: Path) -> None:
    (dataset / "documents.jsonl").unlink()
    with document_index(dataset, tmp_path, kb, ["bm25"]) as index:
        assert index is None
    assert not (tmp_path / INDEX).exists()


def test_an_index_is_built_once_and_again_for_other_documents(kb: KnowledgeBase, dataset: Path, tmp_path: Path) -> None:
    def generation(*modes: str) -> str:
        with document_index(dataset, tmp_path, kb, modes) as index:
            assert index is not None
            assert index.kb.manifest.store("text").settings["analyzer"] == "simple"  # as in the KB
            return index.kb.manifest.generation

    first = generation("bm25")
    assert generation("bm25", "hybrid") == first
    lines(dataset / "documents.jsonl", DOCUMENTS[:3])
    assert generation("bm25") > first
    assert KbDirectory(tmp_path / INDEX).generations() == [generation("bm25")]


@pytest.mark.parametrize("title", [None, "Prespa"])
def test_documents_need_titles_of_their_own(
    kb: KnowledgeBase, dataset: Path, tmp_path: Path, title: str | None
) -> None:
    lines(dataset / "documents.jsonl", [*DOCUMENTS, {"title": title, "text": "x"}])
    with pytest.raises(BadInputError, match="title"), document_index(dataset, tmp_path, kb, ["bm25"]):
        pass
    assert not (tmp_path / INDEX).exists()


def test_titles_decide_where_no_key_is_known(kb: KnowledgeBase) -> None:
    other = pl.DataFrame({"title": ["Bitola", "Prespa"], "type": ["city", "city"], "key": ["1", "2"]})
    found = titled_nodes(kb, other, ["lake", "town"])
    assert found.select("title", "type", "key").rows() == [("Prespa", "lake", "prespa"), ("Bitola", "town", "bitola")]
    keyed = pl.DataFrame({"title": ["Bitola", "x"], "type": ["city", "lake"], "key": ["1", "prespa"]})
    assert titled_nodes(kb, keyed, ["lake", "town"])["title"].to_list() == ["x"]


def test_both_commands_find_what_only_the_documents_say(
    here: Run, kb: KnowledgeBase, dataset: Path, tmp_path: Path
) -> None:
    options = ("-m", "bm25", "-f", "ndjson")
    quest = here("quest", "run", kb.directory.path, dataset, "-o", tmp_path / "quest", *options, "--classifier", "none",
                 "--table", 4)  # fmt: skip
    assert quest.returncode == 0, quest.stderr
    assert json.loads(quest.stdout)["recall@20"] == 1
    assert f"Searched the 4 documents of {dataset}\n" in quest.stderr
    stark = here("stark", "run", kb.directory.path, dataset, "--split", "", "--latency", 1, *options)
    assert stark.returncode == 0, stark.stderr
    assert json.loads(stark.stdout)["Hit@1"] == 100
    assert "Searched nodes without a document: 1; they cannot be found" in stark.stderr
    (dataset / "documents.jsonl").unlink()
    without = here("stark", "run", kb.directory.path, dataset, "--split", "", *options)
    assert json.loads(without.stdout)["Hit@1"] == 0


def test_a_made_dataset_can_be_ingested(here: Run, world_kb: Path, tmp_path: Path) -> None:
    """A single query leaves two splits empty."""
    made = here("-q", "quest", "make", world_kb, "-t", "river", "-n", 1, "--seed", 1, "-o", tmp_path / "made")
    assert made.returncode == 0, made.stderr
    assert (tmp_path / "made" / "val.jsonl").stat().st_size == 0
    done = here("ingest", "quest", tmp_path / "made", "-o", tmp_path / "made.kb", "--stores", "text")
    assert done.returncode == 0, done.stderr
    count = len((tmp_path / "made" / "documents.jsonl").read_text(encoding="utf-8").splitlines())
    with kbkit.open(tmp_path / "made.kb") as made_kb:
        assert made_kb.sql("SELECT count(*) FROM document").item() == count
    run = here("quest", "run", tmp_path / "made.kb", tmp_path / "made", "-o", tmp_path / "runs", "-m", "bm25",
               "--classifier", "none", "--table", 4)  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "The expressions of the dataset are not those of this KB, so queries are not parsed\n" in run.stderr


@pytest.mark.parametrize(
    ("text", "domain", "searched"),
    [
        ("War movies from 1999", "movie", "War from 1999"),
        ("Countries on the Danube", "country", "on the Danube"),
        ("Show me Movies", "movies", "Show me"),
        ("Movies", "movie", "Movies"),
        ("Removed moviegoers", "movie", "Removed moviegoers"),
    ],
)
def test_the_words_of_a_domain_are_not_searched_for(text: str, domain: str, searched: str) -> None:
    assert without_domain(text, domain).split() == searched.split()


@pytest.mark.skipif(importlib.util.find_spec("bm25s") is None, reason="bm25s is not installed")
def test_full_text_finds_as_much_as_bm25s(here: Run, imdb_kb: Path, tmp_path: Path) -> None:
    from tests.performance.dataset_documents import peer_recall, recalls

    own, peer = [], []
    for seed in (1, 2):  # the two differ by up to .02 on one dataset, either way
        folder = tmp_path / str(seed)
        made = here("-q", "quest", "make", imdb_kb, "-n", 140, "--seed", seed, "-o", folder)
        assert made.returncode == 0, made.stderr
        dataset = QuestDataset.open(folder)
        with kbkit.open(imdb_kb) as imdb:
            own.append(recalls(imdb, dataset, folder, ["bm25"])["bm25"])
        peer.append(peer_recall(dataset))
    assert sum(own) / 2 >= sum(peer) / 2 - 0.01
