"""What a person expects of a search: names first, the type that is asked for, and no hits for gibberish.

``trusted/*.tsv`` are queries with the nodes expected, written before any result was seen. Of these, the figures are
those reached; a change may raise them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kbkit
from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase
from kbkit.search.ranking import Ranking
from kbkit.search.type_words import named_types, nouns_of, prefer
from kbkit.search.weak import Threshold, random_queries
from kbkit.stores.text_query import parse, superlative
from tests.conftest import Run
from tests.examples import first_some, some
from tests.loops import each
from tests.places import TESTS

MODES = ("bm25", "dense", "multivector", "hybrid", "relational")
FOLDER = TESTS / "trusted"
GIBBERISH = ["xqzvv blorptang", "asdfghjkl", "zzzz qqqq wwww"]

Figures = Mapping[str, tuple[int, int]]
"""Of 20 queries, how many have an expected node first, and among the first three, by mode."""


# -- the sixty queries ------------------------------------------------------------------------------------------------


def figures(kb: KnowledgeBase, name: str) -> dict[str, tuple[int, int]]:
    lines = (FOLDER / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    assert len(rows) == 20
    expected = {query: ids_of(kb, nodes) for _, query, nodes in rows}
    found = {}
    for mode in MODES:
        marks = []
        for query, ids in expected.items():
            hits = kb.search(query, k=3, mode=mode)["id"].to_list()
            marks.append([node in ids for node in hits] if ids else [not hits])
        found[mode] = (sum(any(mark[:1]) for mark in marks), sum(any(mark) for mark in marks))
    return found


def ids_of(kb: KnowledgeBase, nodes: str) -> set[int]:
    if nodes.startswith("WHERE"):
        return set(kb.sql(f"SELECT DISTINCT id FROM nodes LEFT JOIN texts USING (id) {nodes}")["id"])
    return {kb.find(reference) for reference in nodes.split(" | ") if reference}


def assert_reached(found: Figures, reached: Figures) -> None:
    assert {mode: (max(a, found[mode][0]), max(b, found[mode][1])) for mode, (a, b) in reached.items()} == found


@pytest.mark.system
def test_queries_on_world(world: KnowledgeBase) -> None:
    reached = {
        "bm25": (17, 18),
        "dense": (18, 18),
        "multivector": (18, 18),
        "hybrid": (17, 18),
        "relational": (18, 19),
    }
    assert_reached(figures(world, "world"), reached)


def test_queries_on_imdb(imdb_kb: Path) -> None:
    reached = {
        "bm25": (17, 19),
        "dense": (18, 18),
        "multivector": (18, 18),
        "hybrid": (18, 18),
        "relational": (18, 18),
    }
    with kbkit.open(imdb_kb) as kb:
        assert_reached(figures(kb, "imdb"), reached)


def test_queries_on_wn18rr(shared_data: Path, tmp_path: Path) -> None:
    reached = {
        "bm25": (19, 20),
        "dense": (20, 20),
        "multivector": (20, 20),
        "hybrid": (19, 20),
        "relational": (18, 19),
    }
    with kbkit.ingest("triples", shared_data / "wn18rr", out=tmp_path / "wn18rr.kb") as kb:
        assert_reached(figures(kb, "wn18rr"), reached)


def test_the_query_of_the_demo_finds_landlocked_countries_of_high_mountains(world: KnowledgeBase) -> None:
    from kbkit.cli.demo import _SEARCH

    assert set(world.search(_SEARCH, k=3, type="country")["key"]) <= {"AFG", "TJK", "KGZ", "NPL", "BTN"}


@pytest.mark.parametrize("mode", ["bm25", "hybrid", "relational", "auto"])
@pytest.mark.parametrize(("part", "name"), [("Turkana", "Lake Turkana"), ("Everest", "Mount Everest")])
def test_part_of_a_name_finds_the_name_before_texts_that_mention_it(
    world: KnowledgeBase, mode: str, part: str, name: str
) -> None:
    assert name in world.search(part, k=1, mode=mode)["name"].to_list()


# -- names ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """A KB whose names are stop words, in other scripts, or hostile."""
    folder = tmp_path_factory.mktemp("odd")
    (folder / "s").mkdir()
    nodes = [
        ("it", "film", "It", ""),
        ("who", "band", "The Who", ""),
        ("c", "language", "C", ""),
        ("cpp", "language", "C++", "see plus plus"),
        ("msk", "city", "Москва", "Moscow"),
        ("bj", "city", "北京", "Beijing"),
        ("bad", "film", "a\x07b\x1b[31mc", ""),
        ("x-1", "film", "Storm", ""),
        ("x-2", "band", "storm", ""),
        ("e", "film", "Élan Vital", ""),
        ("use", "film", "Use", ""),
        ("k", "film", "Kite Runners", ""),
        ("a11", "film", "Apollo 11", "Apollo Eleven"),
    ]
    header = "key,type,name,aliases\n"
    (folder / "s" / "nodes.csv").write_text(
        header + "".join(",".join(f'"{value}"' for value in row) + "\n" for row in nodes), encoding="utf-8"
    )
    (folder / "s" / "edges.csv").write_text("head,relation,tail\nit,near,who\n", encoding="utf-8")
    texts = "".join(
        f'{row[0]},"about it and the storm of Moscow, who used C in film {i}"\n' for i, row in enumerate(nodes)
    )
    (folder / "s" / "texts.csv").write_text("key,text\n" + texts, encoding="utf-8")
    with kbkit.ingest("table", folder / "s", out=folder / "odd.kb") as kb:
        yield kb


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("query", "key"),
    [
        ("USA", "USA"),
        ("usa", "USA"),
        ("Kilimanjaro", "kilimanjaro"),
        ("  ivory   COAST ", "CIV"),
        ("cote d ivoire", "CIV"),
        ("Chomolungma", "mount-everest"),
        ("parana", "parana"),
        ("kathmandoo", "kathmandu"),
    ],
)
def test_a_named_node_is_first(world: KnowledgeBase, mode: str, query: str, key: str) -> None:
    frame = world.search(query, k=5, mode=mode, explain=True)
    assert (frame["key"][0], frame["weak"][0], frame["why"][0][0]) == (key, False, "named by the query")
    assert frame["score"].to_list() == sorted(frame["score"], reverse=True)
    assert frame["id"].n_unique() == frame.height
    assert world.search(query, k=1, mode=mode)["key"].to_list() == [key]
    assert world.search_many([query], k=5, mode=mode)["key"][0] == key


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("query", "keys"),
    [
        ("It", {"it"}),
        ("it", {"it"}),
        ("the who", {"who"}),
        ("Who", {"who"}),
        ("c", {"c"}),
        ("C++", {"cpp"}),
        ("see plus plus", {"cpp"}),
        ("москва", {"msk"}),
        ("МОСКВА", {"msk"}),
        ("北京", {"bj"}),
        ("a\x07b\x1b[31mc", {"bad"}),
        ("X-1", {"x-1"}),
        ("storm", {"x-1", "x-2"}),
        ("elan vital", {"e"}),
        ("kite runner", {"k"}),
        ("kite runers", {"k"}),
    ],
)
def test_odd_names(odd: KnowledgeBase, mode: str, query: str, keys: set[str]) -> None:
    assert set(odd.search(query, k=len(keys), mode=mode)["key"]) == keys


@pytest.mark.parametrize("mode", MODES)
def test_a_stem_is_not_a_name(world: KnowledgeBase, odd: KnowledgeBase, mode: str) -> None:
    for kb in (world, odd):
        why = kb.search("used", k=20, mode=mode, explain=True)["why"].to_list()
        assert not any("named by the query" in lines for lines in each(why))


@pytest.mark.parametrize("mode", MODES)
def test_all_nodes_of_a_name_are_first_by_their_scores(world: KnowledgeBase, mode: str) -> None:
    frame = world.search("JORDAN", k=6, mode=mode)
    assert set(frame["key"][:2]) == {"JOR", "jordan"}
    assert frame["score"][0] >= frame["score"][1] > frame["score"][2]


@pytest.mark.parametrize("mode", MODES)
def test_names_respect_the_candidates(world: KnowledgeBase, mode: str) -> None:
    assert world.search("Jordan", k=1, mode=mode, type="river")["key"].to_list() == ["jordan"]
    assert "JOR" not in world.search("Jordan", mode=mode, type="river")["key"]
    others = [world.find("country#FRA"), world.find("country#DEU")]
    assert set(world.search("USA", mode=mode, within=others, include_weak=True)["id"]) <= set(others)
    assert world.search('"Kilimanjaro" mountain', k=1, mode=mode)["key"][0] != "USA"


def test_another_number_is_another_name(odd: KnowledgeBase) -> None:
    assert odd.search("apolo eleven", k=1)["key"].to_list() == ["a11"]
    why = odd.search("Apollo 12", k=9, include_weak=True, explain=True)["why"].to_list()
    assert not any("named by the query" in lines for lines in why)


def test_fields_without_names_do_not_rank_names_first(odd: KnowledgeBase) -> None:
    [field] = odd.schema.text_fields
    frame = odd.search("storm", mode="bm25", fields=[field.name], explain=True)
    assert not any("named by the query" in lines for lines in each(frame["why"].to_list()))


def test_a_name_that_is_first_anyway_keeps_its_score(world: KnowledgeBase) -> None:
    frame = world.search("Mount Everest", mode="bm25", k=3)
    assert (frame["name"][0], frame["score"][0]) == ("Mount Everest", frame["bm25"][0])


# -- types ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "types"),
    [
        ("mountain", {"mountain"}),
        ("highest mountains in Asia", {"mountain"}),
        ("Currencies of Africa", {"currency"}),
        ("countries and cities", {"country", "city"}),
        ("capital near a river", {"city", "river"}),  # of the description "a capital"
        ("shore of the Dead Sea", set()),
        ("shore of the dead seas", {"sea"}),
        ("volcano", set()),
        ("", set()),
    ],
)
def test_types_that_a_query_names(world: KnowledgeBase, query: str, types: set[str]) -> None:
    assert set(named_types(world.session, parse(query))) == types


@pytest.mark.parametrize(
    ("description", "nouns"),
    [
        ("a film; its key is its IMDB number", ["film"]),
        ("a director or actor; the source identifies people by name only", ["director", "actor"]),
        ("oceans, seas, gulfs, bays and straits", ["oceans", "seas", "gulfs", "bays", "straits"]),
        ("an international organisation of states", []),
        ("the members and observers of the United Nations, Taiwan and Kosovo", []),
        ("", []),
    ],
)
def test_nouns_of_a_description(description: str, nouns: list[str]) -> None:
    assert nouns_of(description) == nouns


@pytest.mark.parametrize("mode", ["dense", "hybrid", "relational"])
@pytest.mark.parametrize(("query", "node_type"), [("lakes in Kenya", "lake"), ("rivers with salmon", "river")])
def test_a_type_is_preferred(world: KnowledgeBase, mode: str, query: str, node_type: str) -> None:
    first = world.search(query, k=3, mode=mode)["type"].to_list()
    assert node_type in (first if mode == "hybrid" else first[:1])


def test_a_type_is_no_filter(world: KnowledgeBase) -> None:
    assert world.search("river Seine flows through Paris, a capital of France", k=20)["type"].n_unique() > 1


def test_a_much_better_hit_of_another_type_stays_ahead(world: KnowledgeBase) -> None:
    country, river = world.find("country#FRA"), world.find("river#nile")
    for scores, first in (([10.0, 2.0, 0.0], country), ([10.0, 6.0, 0.0], river)):
        ranking = Ranking(np.array([country, river, world.find("city#bern")]), np.array(scores))
        assert prefer(world.session, ranking, ("river",)).ids[0] == first
    assert prefer(world.session, ranking, ()) is ranking


@pytest.mark.parametrize("mode", MODES)
def test_the_first_hits_do_not_depend_on_their_number(world: KnowledgeBase, mode: str) -> None:
    ids = world.search("rivers and lakes of Africa", k=100, mode=mode)["id"].to_list()
    for k in (1, 7, 30):
        assert world.search("rivers and lakes of Africa", k=k, mode=mode)["id"].to_list() == ids[:k]


@pytest.mark.parametrize(
    ("stem", "form"), [("high", "highest"), ("larg", "largest"), ("big", "biggest"), ("late", "latest"), ("river", "")]
)
def test_superlatives(stem: str, form: str) -> None:
    assert superlative(stem) == form


def test_hybrid_matches_superlatives_but_not_of_names(world: KnowledgeBase) -> None:
    def found(query: str, superlatives: bool) -> list[int]:
        return world.text.search(parse(query), 2_000, superlatives=superlatives)[0].tolist()

    assert set(found("highest", True)) < set(found("high", True))
    assert found("High", True) == found("high", False)


# -- weak hits --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("query", first_some(GIBBERISH, 2))
def test_gibberish_finds_nothing(world: KnowledgeBase, mode: str, query: str) -> None:
    assert world.search(query, mode=mode).is_empty()
    everything = world.search(query, k=10, mode=mode, include_weak=True, explain=True)
    assert everything["weak"].all()
    assert all(lines[0].startswith("weak: ") for lines in everything["why"].to_list())
    assert everything.height == (0 if mode == "bm25" else 10)
    # Evaluations need complete rankings.
    assert world.search_many([query], k=10, mode=mode)["id"].to_list() == everything["id"].to_list()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("query", ["kilimanjro", "Deutschlnd", "Kathmandoo", "vulcano eruptoin"])
def test_a_misspelled_query_finds_something(world: KnowledgeBase, mode: str, query: str) -> None:
    assert not world.search(query, mode=mode)["weak"].all()


@pytest.mark.parametrize("mode", MODES)
def test_hits_with_a_word_of_the_query_are_not_weak(world: KnowledgeBase, mode: str) -> None:
    frame = world.search("snow and ice", k=50, mode=mode)
    with_word = frame["snippet"].str.contains("**", literal=True)
    assert not (frame["weak"] & with_word).any()
    similar = [frame[name].fill_null(-1) for name in ("dense", "multivector") if name in frame.columns]
    for part in similar:
        assert not (frame["weak"] & (part > world.stores.shared(Threshold).cosine)).any()


def test_a_known_word_keeps_all_hits(world: KnowledgeBase) -> None:
    frame = world.search("snow blorptang", k=50)
    assert frame.height == 50
    assert 0 < frame["weak"].sum() < 50


@pytest.mark.system
def test_the_threshold_is_that_of_random_queries(world: KnowledgeBase) -> None:
    queries = random_queries(world.stores)
    assert queries == random_queries(world.stores)
    assert len(set(queries)) == len(queries)
    asked = some(queries, 2)
    assert len(asked) >= 50
    best = [max(frame["dense"]) for frame in (world.search(q, k=1, mode="dense", include_weak=True) for q in asked)]
    beaten = np.mean(np.array(best) > Threshold(world.stores).cosine)
    assert 0 < beaten <= 0.05  # a word of these may be corrected, and be embedded with its correction


@pytest.mark.parametrize("mode", MODES)
def test_queries_without_content(world: KnowledgeBase, mode: str) -> None:
    for empty in ("", "  "):
        with pytest.raises(KbError):
            world.search(empty, mode=mode)
    assert not world.search("the of and", mode=mode)["weak"].all()
    assert world.search("?!", mode=mode).is_empty()
    assert world.search("озеро", mode=mode)["weak"].sum() == 0
    assert world.search("湖 " * 3, mode=mode).is_empty() or mode == "bm25"


@pytest.mark.parametrize("mode", MODES)
def test_ten_thousand_words(world: KnowledgeBase, mode: str) -> None:
    assert world.search("lake of ice " * 3_334, k=5, mode=mode).height == 5


def test_without_a_text_index_nothing_is_left_out(tiny: Path, tmp_path: Path) -> None:
    with kbkit.ingest("table", tiny, out=tmp_path / "t.kb", stores=["vectors"]) as kb:
        assert kb.search("xqzvv blorptang", mode="dense", k=3).height == 3
        [name] = kb.sql("SELECT name FROM nodes WHERE id = 0")["name"]
        assert kb.search(name, mode="dense", k=1)["id"].to_list() == [0]


@given(st.text(min_size=1, max_size=40), st.sampled_from(MODES))
def test_any_text_is_a_query(odd: KnowledgeBase, text: str, mode: str) -> None:
    try:
        frame = odd.search(text, mode=mode)
    except KbError:
        return
    assert frame["score"].to_list() == sorted(frame["score"], reverse=True)
    assert frame["id"].n_unique() == frame.height


# -- the command ------------------------------------------------------------------------------------------------------


def test_the_command_marks_weak_hits(here: Run, world_kb: Path) -> None:
    none = here("search", world_kb, "asdfghjkl")
    assert "0 rows" in none.stdout
    assert "--all" in none.stderr
    listed = here("search", world_kb, "asdfghjkl", "--all", "-k", "2")
    assert "weak" in listed.stdout
    assert "weak" not in here("search", world_kb, "Nile", "-k", "1").stdout
    rows = json.loads(here("search", world_kb, "asdfghjkl", "--all", "-k", "2", "--format", "json").stdout)
    assert [row["weak"] for row in rows] == [True, True]
    assert "weak: has no word" in here("search", world_kb, "asdfghjkl", "--all", "-k", "1", "--explain").stdout
