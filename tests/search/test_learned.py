"""Rankings learned from examples: what they change, what they refuse, and that they can be undone."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kbkit
from kbkit.errors import KbError
from kbkit.graph.nodes import degrees_of_all
from kbkit.ingestion.build import rebuild
from kbkit.kb import KnowledgeBase
from kbkit.measures.ranked_pairs import read_pairs
from kbkit.search.graph_hits import HUBS, NEAR, NamedNodes, graph_hits
from kbkit.search.learned import FILE
from kbkit.search.passages import K1, SENTENCE_LENGTH, B, Occurrences
from kbkit.stores.text import analyzer
from kbkit.stores.text_query import TextQuery
from tests.examples import examples

QUERIES = 120


def pairs(kb: KnowledgeBase, node_type: str = "country") -> list[dict[str, Any]]:
    """Queries of two words of a node's text, as somebody would ask who always wants that type."""
    drawn = random.Random(0)
    rows = kb.sql(
        "SELECT n.key, any_value(n.name) AS name, string_agg(text, ' ') AS text FROM texts JOIN nodes n USING (id)"
        " WHERE n.type = $type GROUP BY n.key ORDER BY n.key",
        type=node_type,
    )
    found = []
    for key, _, text in rows.rows():
        words = sorted(set(re.findall(r"[a-z]{4,}", text)))
        if len(words) >= 3 and len(found) < QUERIES:
            found.append({"query": "find " + " ".join(drawn.sample(words, 2)), "relevant": [key]})
    return found


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    # A query that was drawn twice is kept once.
    unique = {row["query"]: row for row in rows}
    path.write_text("".join(json.dumps(row) + "\n" for row in unique.values()), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, world_kb: Path) -> Path:
    """A KB of our own, with a file of pairs beside it."""
    place = tmp_path_factory.mktemp("learned")
    shutil.copytree(world_kb, place / "w.kb")
    with kbkit.open(place / "w.kb") as kb:
        write(place / "pairs.jsonl", pairs(kb))
    return place


@pytest.fixture(scope="module")
def kb(folder: Path) -> Iterator[KnowledgeBase]:
    """The KB with a learned ranking."""
    with kbkit.open(folder / "w.kb") as opened:
        assert opened.learn_ranking(folder / "pairs.jsonl").is_better
        yield opened


def model(kb: KnowledgeBase) -> Path:
    return kb.stores.workspace.folder / FILE


@pytest.mark.core
def test_examples_help_and_are_undone(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "w.kb", tmp_path / "w.kb")
    with kbkit.open(tmp_path / "w.kb") as kb:
        kb.forget_ranking()
        query = "find desert coast"
        before = kb.search(query)
        learned = kb.learn_ranking(folder / "pairs.jsonl")
        assert learned.is_better and learned.after > learned.before
        after = kb.search(query)
        assert "learned" in after.columns and "learned" not in before.columns
        assert (after["type"] == "country").sum() > (before["type"] == "country").sum()
        assert kb.forget_ranking() and not kb.forget_ranking()
        assert kb.search(query).equals(before)


@pytest.mark.system
def test_the_same_examples_give_the_same_model(kb: KnowledgeBase, folder: Path) -> None:
    first = model(kb).read_bytes()
    kb.learn_ranking(folder / "pairs.jsonl")
    assert model(kb).read_bytes() == first


def test_a_model_outlives_a_rebuild(folder: Path, kb: KnowledgeBase, tmp_path: Path) -> None:
    """Features name no nodes, so a new generation of the same schema keeps the ranking."""
    shutil.copytree(folder / "w.kb", tmp_path / "w.kb")
    expected = kb.search("find desert coast", mode="learned")
    rebuild(tmp_path / "w.kb", "text")
    with kbkit.open(tmp_path / "w.kb") as opened:
        assert opened.manifest.generation != kb.manifest.generation
        assert opened.search("find desert coast", mode="learned")["id"].equals(expected["id"])


def test_a_model_of_another_schema_is_refused(kb: KnowledgeBase, tiny_kb: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_kb, tmp_path / "t.kb")
    (tmp_path / "t.kb" / "workspace").mkdir(exist_ok=True)
    shutil.copy(model(kb), tmp_path / "t.kb" / "workspace" / FILE)
    with kbkit.open(tmp_path / "t.kb") as other:
        with pytest.raises(KbError, match="learned with another schema") as caught:
            other.search("a", mode="learned")
        assert "\n" not in str(caught.value)
        assert "learned" not in other.search("a").columns


DAMAGES = {
    "cut": lambda text: text[: len(text) // 2],
    "not JSON": lambda _: "{",
    "a list": lambda _: "[]",
    "deep": lambda _: "[" * 100_000,
    "bytes": lambda _: "\udcff",
    "version": lambda text: text.replace('"version": 3', '"version": 2'),
    "a weight is text": lambda text: re.sub(r'"fused": [-\d.e]+', '"fused": "x"', text),
    "not finite": lambda text: re.sub(r'"fused": [-\d.e]+', '"fused": NaN', text),
    "huge": lambda text: re.sub(r'"fused": [-\d.e]+', '"fused": 1e300', text),
    "missing": lambda text: re.sub(r'"fused": [-\d.e]+,', "", text),
    "no examples": lambda text: re.sub(r'"queries": \d+', '"queries": 0', text),
    "negative counts": lambda text: re.sub(r'"find": [\d.]+', '"find": -1', text),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_model_is_refused_in_one_line(kb: KnowledgeBase, damage: str) -> None:
    whole = model(kb).read_bytes()
    hybrid = kb.search("find desert coast", mode="hybrid")
    try:
        changed = DAMAGES[damage](whole.decode())
        assert changed.encode("utf-8", "surrogateescape") != whole
        model(kb).write_bytes(changed.encode("utf-8", "surrogateescape"))
        with pytest.raises(KbError) as caught:
            kb.search("find desert coast", mode="learned")
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 500
        assert kb.search("find desert coast")["id"].equals(hybrid["id"])  # auto searches as if there were none
    finally:
        model(kb).write_bytes(whole)
    assert "learned" in kb.search("find desert coast").columns


@pytest.mark.system
def test_hostile_examples_change_nothing(folder: Path, tmp_path: Path) -> None:
    """Examples that contradict each other, or say nothing, are discarded; strange texts are examples like others."""
    shutil.copytree(folder / "w.kb", tmp_path / "w.kb")
    with kbkit.open(tmp_path / "w.kb") as kb:
        kb.forget_ranking()
        rows = pairs(kb)
        before = kb.search("find desert coast")
        order = random.Random(1).sample(range(len(rows)), len(rows))
        names = kb.sql("SELECT key FROM nodes USING SAMPLE 200 ROWS (reservoir, 7)")["key"].to_list()
        strange = ['"', "\x00\x01", "' OR 1=1 --", "(" * 500, "x" * 50_000, "𝄞" * 300, "NOT AND OR", "*:*", "^~"]
        hostile = {
            "shuffled": [{**row, "relevant": rows[at]["relevant"]} for row, at in zip(rows, order, strict=True)],
            "random": [{**row, "relevant": [name]} for row, name in zip(rows, names, strict=False)],
            "strange": [{"query": f"{text} {n}", "relevant": names[:3]} for n, text in enumerate(strange * 5)],
        }
        for name, lines in hostile.items():
            try:
                learned = kb.learn_ranking(write(tmp_path / f"{name}.jsonl", lines))
                assert not learned.is_better, name
            except KbError as error:
                assert "\n" not in str(error)
            assert not model(kb).exists()
        assert kb.search("find desert coast").equals(before)


def test_too_few_or_unknown_examples(kb: KnowledgeBase, folder: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (folder / "pairs.jsonl").read_text().splitlines()]
    with pytest.raises(KbError, match="Too few examples: 5 queries"):
        kb.learn_ranking(write(tmp_path / "few.jsonl", rows[:5]))
    with pytest.raises(KbError, match="No node of the KB"):
        kb.learn_ranking(write(tmp_path / "unknown.jsonl", [{**row, "relevant": ["?"]} for row in rows]))
    with pytest.raises(KbError, match="Missing answers"):
        kb.learn_ranking(write(tmp_path / "invalid.jsonl", [{"query": "a"}]))


@pytest.mark.system
def test_trec_judgements_and_references_are_the_same_examples(kb: KnowledgeBase, folder: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (folder / "pairs.jsonl").read_text().splitlines()]
    expected = kb.learn_ranking(folder / "pairs.jsonl")
    (tmp_path / "q.tsv").write_text("".join(f"q{n}\t{row['query']}\n" for n, row in enumerate(rows)))
    (tmp_path / "a.qrels").write_text("".join(f"q{n} 0 {row['relevant'][0]} 1\n" for n, row in enumerate(rows)))
    assert kb.learn_ranking(tmp_path / "a.qrels", tmp_path / "q.tsv").weights == expected.weights
    named = [{**row, "relevant": [f"country#{row['relevant'][0]}"]} for row in rows]
    of_type, of_key = (
        read_pairs(kb.stores, path).pairs for path in (write(tmp_path / "b.jsonl", named), folder / "pairs.jsonl")
    )
    assert len(of_type) == len(of_key) > 0
    for one, other in zip(of_type, of_key, strict=True):  # other types have the same keys
        assert one.query == other.query and len(one.relevant) == 1 and one.relevant <= other.relevant
    with pytest.raises(KbError, match="no texts of queries"):
        kb.learn_ranking(tmp_path / "a.qrels")


def test_numbers_of_a_dataset_are_its_nodes(kb: KnowledgeBase, tmp_path: Path) -> None:
    """``stark make`` numbers the answers, as STaRK's loader needs them; ``queries.jsonl`` has their types and keys."""
    (tmp_path / "stark_qa").mkdir()
    (tmp_path / "stark_qa" / "stark_qa.csv").write_text("id,query,answer_ids\n0,a coast,[901]\n1,a desert,[902]\n")
    answers = [{"number": 901, "type": "country", "key": "FRA"}, {"number": 902, "type": "country", "key": "NER"}]
    lines = [json.dumps({"id": str(at), "answers": [answer]}) + "\n" for at, answer in enumerate(answers)]
    (tmp_path / "queries.jsonl").write_text("".join(lines))
    found = read_pairs(kb.stores, tmp_path)
    names = {pair.query: {kb.node(node).name for node in pair.relevant} for pair in found.pairs}
    assert (names, found.unknown) == ({"a coast": {"France"}, "a desert": {"Niger"}}, 0)


ASKED = tuple("desert coast river find old language of the mountain zz".split())  # noqa: SIM905
WORDS = st.lists(st.sampled_from(ASKED), min_size=1, max_size=6)


@examples(30)
@given(
    WORDS.map(" ".join),
    st.sampled_from([1, 3, 20, 50, 51, 200]),
    st.sampled_from([None, "river", "country", "language"]),
    st.sampled_from([None, 'continent:"Africa" -> country', "lake"]),
)
def test_hits_are_those_of_hybrid_and_of_the_graph_in_another_order(
    kb: KnowledgeBase, query: str, k: int, node_type: str | None, within: str | None
) -> None:
    options: dict[str, Any] = {"type": node_type, "within": within, "include_weak": True}
    if node_type and within:
        options["within"] = None
    learned = kb.search(query, k=k, mode="learned", **options)
    every = kb.search(query, k=max(k, 50), mode="hybrid", **options)
    of_graph = set(learned.filter(pl.col("graph").is_not_null())["id"])
    assert set(learned["id"]) - of_graph <= set(every["id"])
    assert learned.height >= min(k, every.height)
    assert len(of_graph) <= NEAR + HUBS
    if k >= 50 + NEAR + HUBS:
        assert set(learned["id"]) >= set(every["id"][: k - NEAR - HUBS])
    assert learned["score"].is_finite().all() and learned["score"].is_sorted(descending=True)
    assert node_type is None or set(learned["type"]) <= {node_type}
    assert not options["within"] or set(learned["id"]) <= set(kb.answers(within).ids.tolist())
    again = kb.search_many([query], k=k, mode="learned", type=node_type, within=options["within"])
    assert again["id"].to_list() == learned["id"].to_list()


@pytest.mark.parametrize("within", [None, 'continent:"Africa" -> country'])
def test_the_graph_suggests_neighbours_and_the_largest_nodes_of_a_type(kb: KnowledgeBase, within: str | None) -> None:
    stores = kb.stores
    expected = kb.answers(within or "country").ids.astype(np.int64)
    degrees = stores.shared(degrees_of_all)
    largest = set(expected[np.argsort(-degrees[expected], kind="stable")][:HUBS].tolist())
    river = kb.neighbors("river:Nile").filter(pl.col("type") == "country")["id"].to_list()
    near = set(river) & set(expected.tolist())
    query = TextQuery("which countries has the Nile")
    named = NamedNodes.of(stores, query, stores.text.words(query.text))
    hit = min(near)
    found = graph_hits(stores, named, {"country": 1.0}, None if within is None else expected, np.array([hit]))
    assert near - {hit} <= set(found.ids.tolist()) and largest - {hit} <= set(found.ids.tolist())
    assert hit not in found.ids and (within is None or set(found.ids.tolist()) <= set(expected.tolist()))
    assert set(kb.search("zzxq blorptang", mode="learned")["id"]) == set()


def test_names_stay_first(kb: KnowledgeBase) -> None:
    for name in ("Nile", "Lake Victoria", "Mount Kenya", "kilimanjaro"):
        hybrid, learned = (kb.search(name, k=1, mode=mode) for mode in ("hybrid", "learned"))
        assert learned["id"].to_list() == hybrid["id"].to_list(), name


def test_own_weights_and_fields_are_not_overruled(kb: KnowledgeBase) -> None:
    query = "find desert coast"
    for options in ({"weights": {"bm25": 1.0, "dense": 2.0}}, {"fields": "name"}):
        assert "learned" not in kb.search(query, **options).columns  # type: ignore[arg-type]


def test_explanations_name_the_type_that_is_asked_for(kb: KnowledgeBase) -> None:
    why = kb.search("find desert coast", mode="learned", explain=True)
    country = why.filter(pl.col("type") == "country")["why"].to_list()
    assert country and all(any("probably asked for" in line for line in lines) for lines in country)


def test_the_command_learns_and_forgets(here: Any, folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "w.kb", tmp_path / "w.kb")
    found = here("search", tmp_path / "w.kb", "--learn", folder / "pairs.jsonl")
    assert found.returncode == 0 and "kept; undo with --forget" in found.stdout
    assert here("search", tmp_path / "w.kb", "desert coast", "--mode", "learned").returncode == 0
    assert "Deleted the learned ranking" in here("search", tmp_path / "w.kb", "--forget").stderr
    assert "No ranking has been learned" in here("search", tmp_path / "w.kb", "x", "--mode", "learned").stderr
    assert "No query given" in here("search", tmp_path / "w.kb").stderr


def test_benchmarks_run_it_and_resume_it_with_the_same_weights(
    kb: KnowledgeBase, folder: Path, tmp_path: Path, here: Any
) -> None:
    shutil.copytree(folder / "w.kb", tmp_path / "w.kb")
    rows = [(place, row["query"], json.dumps(row["relevant"])) for place, row in enumerate(pairs(kb)[:3])]
    pl.DataFrame(rows, schema=["id", "query", "answer_ids"], orient="row").write_csv(tmp_path / "q.csv")
    kept = "--split", "", "--type", "country", "--latency", "0", "--runs", tmp_path / "runs"
    run = ("stark", "run", tmp_path / "w.kb", tmp_path / "q.csv", "-m", "learned", *kept)
    assert here(*run).returncode == 0
    expected = kb.search(rows[0][1], type="country", mode="learned", k=100, quotes=False)["key"].to_list()
    lines = (tmp_path / "runs" / "learned.trec").read_text(encoding="utf-8").splitlines()
    assert [line.split()[2] for line in lines if line.startswith("0 ")] == expected
    weights = json.loads((tmp_path / "w.kb" / "workspace" / FILE).read_bytes())
    name = next(iter(weights["weights"]))
    weights["weights"][name] += 1
    (tmp_path / "w.kb" / "workspace" / FILE).write_text(json.dumps(weights))
    assert "weights" in here(*run).stderr
    (tmp_path / "w.kb" / "workspace" / FILE).unlink()
    refused = here(*run)
    assert refused.returncode and "search KB --learn FILE" in refused.stderr


def test_benchmarks_learn_from_the_training_split(kb: KnowledgeBase, folder: Path, tmp_path: Path, here: Any) -> None:
    """Without a ranking in the workspace, which stays without one."""
    shutil.copytree(folder / "w.kb", tmp_path / "w.kb")
    (tmp_path / "w.kb" / "workspace" / FILE).unlink()
    rows = pairs(kb)[:60]
    stark, quest = tmp_path / "stark", tmp_path / "quest"
    for place in (stark / "stark_qa", stark / "split", quest):
        place.mkdir(parents=True)
    numbered = [(n, row["query"], json.dumps(row["relevant"])) for n, row in enumerate(rows)]
    table = pl.DataFrame(numbered, schema=["id", "query", "answer_ids"], orient="row")
    table.write_csv(stark / "stark_qa" / "stark_qa.csv")
    named = [{"query": row["query"], "docs": [kb.node(f"country#{row['relevant'][0]}").name]} for row in rows]
    for split, members in (("train", range(len(rows) - 3)), ("test", range(len(rows) - 3, len(rows)))):
        (stark / "split" / f"{split}.index").write_text("".join(f"{n}\n" for n in members))
        (quest / f"{split}.jsonl").write_text("".join(json.dumps(named[n]) + "\n" for n in members))
    run = ("stark", "run", tmp_path / "w.kb", stark, "-m", "learned", "--latency", "0")
    found = here(*run)
    assert found.returncode == 0 and f"learned from {len(rows) - 3} training queries" in found.stderr
    of_quest = ("-o", tmp_path / "runs", "-m", "learned", "--classifier", "none", "--no-parsed")
    found = here("quest", "run", tmp_path / "w.kb", quest, *of_quest)
    assert found.returncode == 0 and "learned: learned from" in found.stderr
    assert not (tmp_path / "w.kb" / "workspace" / FILE).exists()
    assert "search KB --learn FILE" in here(*run, "--split", "train").stderr


# -- the best sentence ------------------------------------------------------------------------------------------------

STEMS = analyzer("english").analyze
VOCABULARY = tuple("river rivers Rivière desert deserts the a of Über x1 1990 running run runs naïve".split())  # noqa: SIM905
MARKS = (".", "!", "\n", ",", "e.g.", "-", "3.5")
TEXTS = st.lists(st.lists(st.sampled_from((*VOCABULARY, *MARKS)), max_size=30).map(" ".join), min_size=1, max_size=6)


@examples(60)
@given(TEXTS, st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=5, unique=True))
def test_sentences_are_scored_as_in_plain_python(texts: list[str], words: list[str]) -> None:
    def stem(word: str) -> str:
        return next(iter(STEMS(word)), "")

    stems = list(dict.fromkeys(filter(None, map(stem, words))))
    weights = np.arange(1, len(stems) + 1, dtype=float)
    found = Occurrences.of(texts, stems, stem)
    for number, text in enumerate(texts):
        best = covered = 0.0
        for sentence in re.split(r"(?<=[.!?;])\s|\n", text):
            own = [stem(word) for word in re.findall(r"[^\W_]+", sentence)]
            norm = K1 * (1 - B + B * len(own) / SENTENCE_LENGTH)
            counts = [own.count(one) for one in stems]
            best = max(best, sum(w * c * (K1 + 1) / (c + norm) for w, c in zip(weights, counts, strict=True)))
            covered = max(covered, sum(w for w, c in zip(weights, counts, strict=True) if c))
        assert found.best(weights)[number] == pytest.approx(best)
        assert found.cover(weights)[number] == pytest.approx(covered)
        everything = [stem(word) for word in re.findall(r"[^\W_]+", text)]
        assert found.in_texts()[number].tolist() == [everything.count(one) for one in stems]
        assert found.text_lengths()[number] == len(everything)
