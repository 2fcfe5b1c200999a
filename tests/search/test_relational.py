"""Search mode ``relational``, and ``ask_many``: hybrid search with the answers of a trusted reading first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import kbkit
from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase
from kbkit.questions.read import SURE
from kbkit.questions.reader import QuestionReader
from tests.examples import some
from tests.performance.known_items import known_items, questions
from tests.places import TESTS
from tests.questions.table import WORLD
from tests.wording import Wording

READ = "Which rivers flow through Peru?"
TEXTS = ["long river", "deep and salty", "zzqx", "snow-covered volcano on an island", '"capital city"', "the of", "?!"]
"""Queries that no expression explains."""
HITS = ["rank", "id", "key", "type", "name", "score"]


def hybrid(kb: KnowledgeBase, query: str, **options: Any) -> pl.DataFrame:
    """Return the hybrid search that relational search starts from."""
    return kb.search(query, mode="hybrid", **options)


def answers(kb: KnowledgeBase, question: str) -> set[int]:
    """Return the ids of the answers of a question that is trusted."""
    result = kb.ask(question)
    assert result.is_trusted
    assert result.answers is not None
    return set(result.answers.ids.tolist())


def test_the_default_is_relational_where_a_query_is_read(world: KnowledgeBase) -> None:
    for text in TEXTS[:4]:
        assert world.search(text).equals(world.search(text, mode="hybrid"))
    found = world.search(READ, k=30, explain=True)
    read = answers(world, READ)
    assert set(found["id"].head(len(read)).to_list()) == read
    assert set(found["linked"].explode().to_list()) == {"Peru: country#PER"}
    assert not read & set(world.search(READ, k=3, within='country:"Chile"')["id"].to_list())


def test_what_is_sure_is_found_out_early_as_from_all_readings(world: KnowledgeBase) -> None:
    lines = (TESTS / "trusted" / "world.tsv").read_text(encoding="utf-8").splitlines()
    queries = [line.split("\t")[1] for line in lines if not line.startswith("#")]
    texts = [READ, *TEXTS, *queries, *some([question for question, _ in WORLD.values()], 2)]
    early = [QuestionReader(world.stores).read(text).is_sure for text in texts]
    read = [QuestionReader(world.stores).read(text) for text in texts]
    late = [one.confidence >= SURE and one.best is not None and one.best.is_trusted for one in read]
    assert early == late
    assert 20 < sum(late) < len(texts) - 20
    assert [one.reaches(0.85) for one in read] == [one.confidence >= 0.85 for one in read]


# -- queries that are not read ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", TEXTS)
@pytest.mark.parametrize("options", [{}, {"k": 3}, {"type": "lake"}, {"within": "country"}], ids=str)
def test_a_query_that_is_not_read_ranks_as_hybrid(world: KnowledgeBase, query: str, options: dict[str, Any]) -> None:
    found = world.search(query, mode="relational", explain=True, **options)
    assert found["relational"].null_count() == found.height
    assert found["linked"].list.len().sum() == 0
    assert found.drop("relational", "linked").equals(hybrid(world, query, explain=True, **options))


def test_a_name_in_full_is_no_question(tmp_path: Path) -> None:
    """A person called "Rebecca Director" is found; the director of "Rebecca" is not asked for."""
    nodes = {
        "film": pl.DataFrame({"key": ["r", "v"], "name": ["Rebecca", "Vertigo"]}),
        "person": pl.DataFrame({"key": ["a", "d"], "name": ["Alfred", "Rebecca Director"]}),
    }
    edges = {("film", "director", "person"): pl.DataFrame({"head": ["r", "v"], "tail": ["a", "a"]})}
    with kbkit.from_frames(nodes, edges, out=tmp_path / "films.kb", stores=["adjacency", "text", "vectors"]) as kb:
        asked = kb.search("director of Rebecca", mode="relational", explain=True)
        assert asked.filter(relational=1)["key"].to_list() == ["a"]
        named = kb.search("Rebecca director", mode="relational", explain=True)
        assert named["key"][0] == "d"
        assert named["relational"].null_count() == named.height


def test_chosen_weights_and_fusion_are_kept(world: KnowledgeBase) -> None:
    for options in ({"weights": {"bm25": 1.0, "dense": 3.0}}, {"fusion": "minmax"}, {"weights": {"bm25": 1.0}}):
        found = world.search("long river", mode="relational", **options).drop("relational")
        assert found.equals(world.search("long river", mode="hybrid", **options))


def test_without_adjacency_it_is_hybrid(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("key,type,name\na,person,Ann\nb,person,Bob\nc,city,Cid\n", encoding="utf-8")
    (tmp_path / "edges.csv").write_text("head,relation,tail\nb,lives in,c\n", encoding="utf-8")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "x.kb", stores=["text", "vectors"]) as kb:
        found = kb.search("Who lives in Cid?", mode="relational")
        assert found.drop("relational").equals(hybrid(kb, "Who lives in Cid?"))


# -- queries that are read --------------------------------------------------------------------------------------------


@pytest.mark.core
def test_answers_come_first_and_then_the_hybrid_hits(world: KnowledgeBase) -> None:
    expected = answers(world, READ)
    found = world.search(READ, k=30, mode="relational")
    first = found.head(len(expected))
    assert set(first["id"]) == expected
    assert first["relational"].to_list() == [1.0] * len(expected)
    rest = found.slice(len(expected))
    assert rest["relational"].null_count() == rest.height
    others = [node for node in hybrid(world, READ, k=60)["id"] if node not in expected]
    assert rest["id"].to_list() == others[: rest.height]
    assert found["score"].is_sorted(descending=True)
    assert world.search(READ, k=2, mode="relational")["id"].to_list() == found["id"].to_list()[:2]


@pytest.mark.parametrize("k", [1, 3, 50])
def test_filters_apply_before_the_top_k(world: KnowledgeBase, k: int) -> None:
    expected = answers(world, READ)
    kept = sorted(expected)[::2]
    within = [*kept, *world.answers("lake").ids.tolist()]
    found = world.search(READ, k=k, mode="relational", within=within)
    assert set(found["id"]) <= set(within)
    assert found.height == k
    assert set(found["id"][: min(k, len(kept))]) <= set(kept)
    assert found["relational"].count() == min(k, len(kept))
    of_type = world.search(READ, k=k, mode="relational", type="country")
    assert set(of_type["type"]) == {"country"}
    assert of_type["relational"].count() == 0
    assert world.search(READ, k=k, mode="relational", within=[], explain=True).is_empty()


def test_a_name_is_its_node_first(world: KnowledgeBase) -> None:
    names = ["Nepal", "Danube", "Mount Everest", "Spanish", "Lake Baikal", "Euro"]
    found = world.search_many(names, k=1, mode="relational")
    assert found["name"].to_list() == names


def test_search_many_agrees_with_search(world: KnowledgeBase) -> None:
    texts = [READ, "zzqx", "long river", "Nepal", "Which countries border both France and Spain?"]
    found = world.search_many(texts, k=8, mode="relational")
    for number, text in enumerate(texts, 1):
        one = world.search(text, k=8, mode="relational", include_weak=True, quotes=False).select(HITS)
        assert found.filter(pl.col("query") == str(number)).drop("query").equals(one)


def test_explain(world: KnowledgeBase) -> None:
    found = world.search(READ, k=12, mode="relational", explain=True)
    result = world.ask(READ)
    assert found.columns[-2:] == ["linked", "why"]
    assert set(map(tuple, found["linked"].to_list())) == {("Peru: country#PER",)}
    count = len(result)
    for rank, node, why in found.select("rank", "id", "why").iter_rows():
        lines = [line for line in why if "->" in line]
        if rank <= count:
            proof = result.why(node)
            assert proof is not None
            assert lines == [result.expression, *proof.lines()]
        else:
            assert lines == []
    plain = world.search(READ, k=12, mode="relational")
    assert found.drop("linked", "why").equals(plain)


# -- ask_many ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ranked(world: KnowledgeBase) -> pl.DataFrame:
    """The rankings of all questions about the world, and of queries that are not read."""
    return world.ask_many({**{name: question for name, (question, _) in WORLD.items()}, "text": "zzqx"}, k=25)


def test_ask_many_always_ranks(ranked: pl.DataFrame) -> None:
    assert ranked.columns == ["query", *HITS, "expression", "confidence"]
    sizes = ranked.group_by("query", maintain_order=True).agg(pl.len(), pl.col("rank").last())
    assert sizes["query"].to_list() == [*WORLD, "text"]
    assert set(sizes["len"]) == set(sizes["rank"]) == {25}
    assert ranked.filter(query="text")["expression"].null_count() == 25


def test_ask_many_has_the_answers_of_ask_first(world: KnowledgeBase, ranked: pl.DataFrame) -> None:
    """Question by question: the same reading, the same answers, the same confidence."""
    agree = 0
    for name, (question, _) in WORLD.items():
        rows = ranked.filter(query=name)
        result = world.ask(question)
        assert set(rows["confidence"]) == {result.confidence}, name
        answered = rows.drop_nulls("expression")
        assert answered["rank"].to_list() == list(range(1, answered.height + 1)), name
        assert answered.is_empty() == (not result.is_sure or len(result) == 0), name
        if answered.is_empty():
            continue
        agree += 1
        assert set(answered["expression"]) == {result.expression}
        assert result.answers is not None
        assert set(answered["id"]) <= set(result.answers.ids.tolist()), name
        assert answered.height == min(25, len(result)), name
    assert agree > 40


def test_ask_many_agrees_with_ask_on_the_tiny_graph(tiny_kb: Path) -> None:
    """Readings that a search leaves to its hits are answers here: they have a list of words, or no sure name."""
    questions = ["drugs that interact with drugs", "Which drugs are approved?", "approved drugs", "how many diseases"]
    questions += [
        "What does a person take?",
        "genes since 1950",
        "persons",
        "insulin",
        "drugs in Mars",
        "fluorouracil?",
    ]
    with kbkit.open(tiny_kb) as kb:
        ranked = kb.ask_many(questions, k=30)
        sure = 0
        for number, question in enumerate(questions, 1):
            rows, result = ranked.filter(query=str(number)), kb.ask(question)
            assert set(rows["confidence"]) == {result.confidence}, question
            answered = rows.drop_nulls("expression")
            expected = result.nodes()["id"].to_list() if result.is_sure else []
            assert sorted(answered["id"]) == expected, question
            assert set(answered["expression"]) <= {result.expression}
            sure += bool(expected)
        assert sure >= 4


def test_ask_many_takes_what_search_many_takes(world: KnowledgeBase, tmp_path: Path, wording: Wording) -> None:
    texts = [READ, "long river"]
    expected = world.ask_many(texts, k=5)
    assert expected["query"].unique(maintain_order=True).to_list() == ["1", "2"]
    numbered = {"1": texts[0], "2": texts[1]}
    (tmp_path / "q.jsonl").write_text(
        "".join(f'{{"query": "{name}", "text": "{text}"}}\n' for name, text in numbered.items()), encoding="utf-8"
    )
    frame = pl.DataFrame({"query": list(numbered), "text": texts})
    for given in (numbered, frame, tmp_path / "q.jsonl", str(tmp_path / "q.jsonl")):
        assert world.ask_many(given, k=5).equals(expected)
    seen: list[tuple[int, int]] = []
    world.ask_many(texts, k=5, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (2, 2)
    for faulty in ([], ["rivers \udcff"]):
        with pytest.raises(KbError) as caught:
            world.ask_many(faulty)
        wording(str(caught.value))


def test_ask_many_of_questions_that_only_look_faulty(world: KnowledgeBase) -> None:
    found = world.ask_many(["?!", "not", "哪些河流", "a" * 100_000], k=3)
    assert found["expression"].null_count() == found.height


# -- the README's figures ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def imdb(imdb_kb: Path) -> Iterator[KnowledgeBase]:
    with kbkit.open(imdb_kb) as kb:
        yield kb


def hit_at_10(kb: KnowledgeBase, asked: pl.DataFrame, mode: str, node_type: str | None = None) -> float:
    """Return the share of queries that have an answer among the first ten hits."""
    found = kb.search_many(asked.select("query", "text"), k=10, mode=mode, type=node_type)
    hits = found.join(asked.select("query", "answers").explode("answers"), on="query").filter(
        pl.col("id").cast(pl.Int64) == pl.col("answers")
    )
    return hits["query"].n_unique() / asked.height


def test_each_way_of_searching_is_worth_it(imdb: KnowledgeBase) -> None:
    films = questions(imdb, 60)
    items = known_items(imdb, "movie", 200, 3)
    of_names = {mode: hit_at_10(imdb, films, mode) for mode in ("hybrid", "relational")}
    of_items = {mode: hit_at_10(imdb, items, mode, "movie") for mode in ("bm25", "dense", "hybrid", "relational")}
    assert (films.height, items.height) == (60, 200)
    assert of_names["relational"] >= max(0.65, of_names["hybrid"] + 0.1)
    assert of_items["hybrid"] >= max(0.9, of_items["bm25"], of_items["dense"])
    assert of_items["relational"] >= of_items["hybrid"] - 0.01
