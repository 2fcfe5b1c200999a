"""Search by words and relations: what the graph joins to the nodes a question names, and what is said of it."""

from __future__ import annotations

import math
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import kbkit
from kbkit.kb import KnowledgeBase
from kbkit.questions import relational
from kbkit.questions.link import link
from kbkit.questions.relational import connections, paths
from tests.performance.known_items import known_items, questions

RECIPE = """\
title = "A graph with a symmetric relation"
infer = true
[files.nodes]
match = ["nodes.csv"]
[files.edges]
match = ["edges.csv"]
[files.texts]
match = ["texts.csv"]
[relations.married]
symmetric = true
"""
TRIPLE = re.compile(r"(.+) -> \[(.+)\] -> (.+)")
PLACE = re.compile(r"(bm25|dense|multivector|relational): ([\d,]+) of ([\d,]+)$|weak: |named by the query$")


def build(folder: Path, nodes: str, edges: str, texts: str = "k0,none\n") -> KnowledgeBase:
    """A KB of lines ``key,type,name``, ``head,relation,tail`` and ``key,text``, in which ``married`` is symmetric."""
    recipe = folder / "recipe"
    recipe.mkdir()
    (recipe / "recipe.toml").write_text(RECIPE, encoding="utf-8")
    (recipe / "load.sql").write_text("", encoding="utf-8")
    for name, header, lines in (
        ("nodes", "key,type,name", nodes),
        ("edges", "head,relation,tail", edges),
        ("texts", "key,text", texts),
    ):
        (folder / f"{name}.csv").write_text(f"{header}\n{lines}", encoding="utf-8")
    return kbkit.ingest(str(recipe), folder, out=folder / "x.kb")


# -- an oracle: the module's words, over a list of edges --------------------------------------------------------------


@dataclass
class Oracle:
    """Steps over the edges of a KB, kept in dictionaries: (relation, forward) -> node -> nodes."""

    moves: dict[tuple[str, bool], dict[int, set[int]]]

    @staticmethod
    def of(kb: KnowledgeBase) -> Oracle:
        moves: dict[tuple[str, bool], dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
        for head, relation, tail in kb.sql("SELECT head, relation, tail FROM edges").iter_rows():
            moves[relation, True][head].add(tail)
            moves[relation, False][tail].add(head)
        for relation in kb.schema.relations:
            if relation.symmetric:
                del moves[relation.name, False]
        return Oracle({move: dict(pairs) for move, pairs in moves.items()})

    def told(self, move: tuple[str, bool], nodes: set[int]) -> dict[int, float]:
        """Less where the step leads to many, and where many lead there."""
        relation, forward = move
        back = self.moves.get((relation, not forward)) or self.moves[move]
        return {n: 1 / (1 + relational.DAMPING * math.log2(len(nodes) * len(back[n]))) for n in nodes}

    def reached(self, start: int, senses: int) -> dict[int, float]:
        """What one named node gives to what it reaches, by the best path; one of several senses gives less."""
        best: dict[int, float] = {}
        for move, pairs in self.moves.items():
            near = pairs.get(start, set())
            if not 0 < len(near) <= relational.MAX_REACHED:
                continue
            first = {n: told / math.sqrt(senses) for n, told in self.told(move, near).items()}
            for n, told in first.items():
                best[n] = max(best.get(n, 0), told)
            for onward, others in self.moves.items():
                ends = [end for n in near for end in others.get(n, ())]
                far = set(ends) - {start}
                if far and len(ends) <= relational.MAX_REACHED:
                    for n, told in self.told(onward, far).items():
                        best[n] = max(best.get(n, 0), relational.SECOND_STEP * max(first.values()) * told)
        return best

    def connected(self, mentions: list[tuple[float, tuple[int, ...]]]) -> dict[int, float]:
        """What all names give to each node: of each name the best, weighed by what the names tell."""
        totals: dict[int, float] = defaultdict(float)
        for weight, nodes in mentions:
            best: dict[int, float] = {}
            for node in nodes:
                for n, told in self.reached(node, len(nodes)).items():
                    best[n] = max(best.get(n, 0), told)
            for n, told in best.items():
                totals[n] += weight * told / sum(weight for weight, _ in mentions)
        return totals


def named(kb: KnowledgeBase, question: str) -> list[tuple[float, tuple[int, ...]]]:
    return [(mention.weight, mention.nodes) for mention in link(kb.session, question).mentions]


def scores(kb: KnowledgeBase, question: str, within: object = None) -> dict[int, float]:
    found = connections(kb.session, link(kb.session, question), within)  # type: ignore[arg-type]
    pairs = list(zip((-found.scores).tolist(), found.ids.tolist(), strict=True))
    assert pairs == sorted(pairs)  # best first, ties by id
    return dict(zip(found.ids.tolist(), found.scores.tolist(), strict=True))


# -- by hand ----------------------------------------------------------------------------------------------------------

NODES = """\
dora,person,Dora Quill
axel,person,Axel Brandt
mina,person,Mina Falk
olaf,person,Olaf Stern
f9,film,Untitled
f1,film,Untitled
f2,film,Untitled
f3,film,Untitled
f4,film,Mirror
oslo,place,Oslo
rome,place,Rome
lake,place,Mirror Lake
flann,person,O'Brien
f5,film,Windows
"""
EDGES = """\
dora,directed,f1
dora,directed,f2
axel,acted_in,f1
axel,acted_in,f3
dora,married,mina
f1,set_in,oslo
f4,remake_of,f4
olaf,lives_in,rome
flann,directed,f5
"""


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """Films, of which four bear one name and have no text, and what they are joined to."""
    with build(tmp_path_factory.mktemp("films"), NODES, EDGES, "olaf,paints ships\n") as kb:
        yield kb


def keys(kb: KnowledgeBase, found: dict[int, float]) -> dict[str, float]:
    known = dict(kb.sql("SELECT id, key FROM nodes").iter_rows())
    return {known[node]: score for node, score in found.items()}


@pytest.mark.core
def test_connections_by_hand(films: KnowledgeBase) -> None:
    # One step: f1 and f2 are 2 that one leads to: 1 / (1 + 0.1 log2(2 x 1)); mina the only one of a relation: 1.
    step = 1 / 1.1
    # Two steps: 0.3 of the first, times 1 for oslo (one film is set there) and axel (one that acted in f1).
    assert keys(films, scores(films, "what did Dora Quill make")) == pytest.approx(
        {"f1": step, "f2": step, "mina": 1, "oslo": 0.3 * step, "axel": 0.3 * step / 1.1}
    )


def test_symmetric_relations_work_both_ways(films: KnowledgeBase) -> None:
    found = keys(films, scores(films, "whom did Mina Falk love"))
    assert found == pytest.approx({"dora": 1, "f1": 0.3 / 1.1, "f2": 0.3 / 1.1})
    moves = {path.moves for path in paths(films.session, link(films.session, "whom did Mina Falk love"))}
    assert moves == {(("married", True),), (("married", True), ("directed", True))}


def test_a_self_loop_leads_to_the_node_itself(films: KnowledgeBase) -> None:
    assert keys(films, scores(films, "tell of Mirror")) == {"f4": 1.0}
    why = films.search("tell of Mirror", mode="relational", explain=True)["why"].to_list()[0]
    assert why[2:] == ["relational: 1 of 1", "Mirror -> [remake_of] -> Mirror"]


def test_weights_of_two_names(films: KnowledgeBase) -> None:
    # Both names are of words that no other node has, so each gives half of what it tells.
    found = keys(films, scores(films, "by Dora Quill with Axel Brandt about love"))
    step, far = 1 / 1.1, 0.3 / 1.1 / 1.1
    assert found == pytest.approx(
        {"f1": step, "f2": step / 2, "f3": step / 2, "mina": 0.5, "oslo": 0.3 * step, "axel": far / 2, "dora": far / 2}
    )


@pytest.mark.parametrize("fusion", ["rrf", "minmax"])
def test_more_names_outrank_fewer_other_things_equal(films: KnowledgeBase, fusion: str) -> None:
    untitled = titled(films, "a tale by Dora Quill with Axel Brandt", fusion)
    # f9 is the first by id: ties are broken against the better ones.
    assert films.find("film#f9") < films.find("film#f1") < films.find("film#f2")
    assert untitled["dense"].n_unique() == untitled["bm25"].n_unique() == 1
    assert untitled["key"][0] == "f1"
    assert untitled["score"][0] > untitled["score"][1]


def titled(films: KnowledgeBase, question: str, fusion: str) -> pl.DataFrame:
    """The hits of one name and no text: nothing but their relations tells them apart."""
    frame = films.search(question, mode="relational", type="film", fusion=fusion)
    return frame.filter(pl.col("name") == "Untitled")


def test_one_name_outranks_none_other_things_equal(films: KnowledgeBase) -> None:
    untitled = titled(films, "a tale by Dora Quill with Axel Brandt", "minmax")
    assert untitled["key"].to_list() == ["f1", "f2", "f3", "f9"]


def test_one_name_outranks_none_other_things_equal_by_rank(films: KnowledgeBase) -> None:
    both = [films.find("film#f9"), films.find("film#f3")]
    question = "a tale by Dora Quill with Axel Brandt"
    assert films.search(question, mode="relational", within=both)["key"].to_list() == ["f3", "f9"]


# -- against the oracle -----------------------------------------------------------------------------------------------

SYLLABLES = ("ba", "de", "gi", "ko", "lu", "ma", "ne", "pi", "ro", "su", "ta", "ve", "zi")
TYPES = ("person", "film", "place")
RELATIONS = {  # relation -> its signatures
    "directed": [("person", "film")],
    "acted_in": [("person", "film")],
    "set_in": [("film", "place")],
    "near": [("place", "place")],
    "likes": [("person", "film"), ("person", "place"), ("person", "person")],
    "married": [("person", "person")],
    "remake_of": [("film", "film")],
}


def random_graph(seed: int) -> tuple[str, str, str]:
    """Twenty nodes of each type, most with names of their own; a hub; loops; texts of a few words."""
    drawn = random.Random(seed)
    names = [f"{a}{b}{c}x" for a in SYLLABLES for b in SYLLABLES for c in SYLLABLES]
    drawn.shuffle(names)
    nodes = [(f"{kind[0]}{i}", kind, names.pop().title()) for kind in TYPES for i in range(20)]
    nodes[5] = (*nodes[5][:2], nodes[25][2])  # a person and a film of one name
    nodes[6] = (*nodes[6][:2], nodes[25][2])
    edges = {("p0", "acted_in", f"f{i}") for i in range(20)} | {("f3", "remake_of", "f3"), ("l4", "near", "l4")}
    keyed = {"person": "p", "film": "f", "place": "l"}
    nodes = [(key.replace("p", "l", 1) if kind == "place" else key, kind, name) for key, kind, name in nodes]
    for relation, signatures in RELATIONS.items():
        for head, tail in signatures:
            for _ in range(14):
                edges.add((f"{keyed[head]}{drawn.randrange(20)}", relation, f"{keyed[tail]}{drawn.randrange(20)}"))
    words = ("storm", "garden", "music", "letters", "winter", "ship")
    texts = [(key, " ".join(drawn.sample(words, 3))) for key, _, _ in nodes if drawn.random() < 0.7]
    return tuple("".join(",".join(row) + "\n" for row in rows) for rows in (nodes, sorted(edges), texts))  # type: ignore[return-value]


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    with build(tmp_path_factory.mktemp("random"), *random_graph(3)) as opened:
        yield opened


@pytest.fixture(scope="module")
def oracle(kb: KnowledgeBase) -> Oracle:
    return Oracle.of(kb)


def asked(kb: KnowledgeBase, number: int, seed: int = 0) -> list[str]:
    """Questions that name one to three nodes, besides words of texts and types."""
    drawn = random.Random(seed)
    known = kb.sql("SELECT name FROM nodes ORDER BY id")["name"].to_list()
    shapes = ("what storm of {0}", "films with {0} and {1} in winter", "{0} {1} {2} music", "a ship near {0} by {1}")
    return [drawn.choice(shapes).format(*drawn.sample(known, 3)) for _ in range(number)]


def test_the_random_graph_is_what_it_should_be(kb: KnowledgeBase) -> None:
    assert [r.name for r in kb.schema.relations if r.symmetric] == ["married"]
    assert len(kb.neighbors("person#p0", "acted_in")) == 20
    [mention] = link(kb.session, kb.node("film#f5").name).mentions
    assert sorted(mention.nodes) == sorted(map(kb.find, ("person#p5", "person#p6", "film#f5")))


def test_connections_are_the_oracles(kb: KnowledgeBase, oracle: Oracle) -> None:
    shared = kb.node("film#f5").name
    reached = 0
    for question in [*asked(kb, 40), f"what storm of {shared}", f"{shared} and {kb.node('person#p0').name}, winter"]:
        expected = oracle.connected(named(kb, question))
        assert scores(kb, question) == pytest.approx(expected), question
        reached += len(expected)
    assert reached > 500


def test_connections_within(kb: KnowledgeBase, oracle: Oracle) -> None:
    for question in asked(kb, 10, seed=1):
        expected = oracle.connected(named(kb, question))
        for within in (range(20, 40), np.arange(0, 60, 3), np.empty(0, np.int64)):
            kept = {node: score for node, score in expected.items() if node in set(within)}
            assert scores(kb, question, within) == pytest.approx(kept)


@pytest.mark.parametrize("widest", [1, 2, 5, 19])
def test_steps_that_are_too_wide_tell_nothing(
    kb: KnowledgeBase, oracle: Oracle, monkeypatch: pytest.MonkeyPatch, widest: int
) -> None:
    hub = f"what storm of {kb.node('person#p0').name}"
    before = scores(kb, hub)
    monkeypatch.setattr(relational, "MAX_REACHED", widest)
    assert len(scores(kb, hub)) < len(before)
    for question in (hub, *asked(kb, 10, seed=2)):
        assert scores(kb, question) == pytest.approx(oracle.connected(named(kb, question))), question


@pytest.mark.parametrize("limit", [1, 7])
def test_steps_from_the_fewest_nodes_are_tried_first(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    linked = link(kb.session, f"what storm of {kb.node('person#p0').name}")
    everything = paths(kb.session, linked)
    monkeypatch.setattr(relational, "MAX_STEPS", limit)
    found = paths(kb.session, linked)
    firsts = {path.moves: len(path.nodes) for path in found if len(path.moves) == 1}
    assert firsts == {path.moves: len(path.nodes) for path in everything if len(path.moves) == 1}
    seconds = [path for path in found if len(path.moves) == 2]
    assert len(seconds) <= limit
    assert limit < 7 or seconds
    all_seconds = [path.moves for path in everything if len(path.moves) == 2]
    assert [path.moves for path in seconds] == all_seconds[: len(seconds)]
    widths = [firsts[(path.moves[0],)] for path in seconds]
    assert widths == sorted(widths)
    assert max(widths, default=0) < 20  # never the hub's


def test_paths_say_what_they_reach(kb: KnowledgeBase, oracle: Oracle) -> None:
    for question in asked(kb, 10, seed=3):
        linked = link(kb.session, question)
        for path in paths(kb.session, linked):
            assert path.start in linked.mentions[path.mention].nodes
            ends = {path.start}
            for move in path.moves:
                ends = {end for node in ends for end in oracle.moves[move[0], move[1]].get(node, ())}
            assert set(path.nodes.tolist()) == (ends if len(path.moves) < 2 else ends - {path.start})
            assert path.nodes.tolist() == sorted(path.nodes.tolist())
            assert ((path.weights > 0) & (path.weights <= 1)).all()


# -- the ranking ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "question", ["storm and music", "films of the winter", "zzqx", "places", "Q q", '"storm" ship']
)
@pytest.mark.parametrize("options", [{}, {"k": 3}, {"type": "place"}, {"fusion": "minmax"}])
def test_a_question_that_names_nothing_ranks_as_hybrid(
    kb: KnowledgeBase, question: str, options: dict[str, object]
) -> None:
    found = kb.search(question, mode="relational", explain=True, **options)  # type: ignore[arg-type]
    assert found["relational"].null_count() == found.height
    expected = kb.search(question, mode="hybrid", explain=True, **options)  # type: ignore[arg-type]
    assert found["linked"].list.len().sum() == 0
    assert found.drop("relational", "linked").equals(expected)


def test_a_question_that_names_what_is_joined_to_nothing_ranks_as_hybrid(films: KnowledgeBase) -> None:
    question = "who saw Mirror Lake"
    assert films.linked(question)["key"].to_list() == ["lake"]
    found = films.search(question, mode="relational").drop("relational")
    assert found.equals(films.search(question, mode="hybrid"))


def test_a_question_that_is_but_a_name_puts_the_node_first(kb: KnowledgeBase) -> None:
    counts = kb.sql("SELECT name, count(*) AS n FROM nodes GROUP BY name")
    unique = counts.filter(pl.col("n") == 1)["name"].to_list()
    found = kb.search_many({name: name for name in unique}, k=1, mode="relational")
    assert found["name"].to_list() == found["query"].to_list() == unique
    for sense in ("person#p5", "film#f5"):
        node = kb.node(sense)
        shown = kb.search(f"the {node.type} {node.name}", k=3, mode="relational", explain=True)
        assert shown["name"][0] == node.name
        assert shown["type"][0] == node.type


def test_search_many_agrees_with_search(kb: KnowledgeBase) -> None:
    texts = [*asked(kb, 12, seed=4), "storm", kb.node(7).name]
    found = kb.search_many(texts, k=8, mode="relational")
    for number, text in enumerate(texts, 1):
        one = kb.search(text, k=8, mode="relational").select("rank", "id", "key", "type", "name", "score")
        assert found.filter(pl.col("query") == str(number)).drop("query").equals(one)


@pytest.mark.parametrize("node_type", TYPES)
def test_types_hold(kb: KnowledgeBase, oracle: Oracle, node_type: str) -> None:
    members = set(kb.answers(node_type).ids.tolist())
    for question in asked(kb, 6, seed=5):
        found = kb.search(question, k=60, mode="relational", type=node_type)
        assert set(found["type"]) == {node_type}
        known = dict(found.select("id", "relational").drop_nulls().iter_rows())
        expected = oracle.connected(named(kb, question))
        assert known == pytest.approx({n: s for n, s in expected.items() if n in members})


@pytest.mark.parametrize(
    "within", ["film - (person#p0 -> [acted_in] -> film)", "person#p0 -> [likes|married] -> *", [41, 3]]
)
def test_within_holds(kb: KnowledgeBase, within: str | list[int]) -> None:
    kept = set(within) if isinstance(within, list) else set(kb.answers(within).ids.tolist())
    for question in [*asked(kb, 6, seed=6), kb.node("person#p0").name]:
        found = kb.search(question, k=60, mode="relational", within=within)
        assert set(found["id"]) <= kept
        assert found.height == len(kept)  # by meaning, all are found


def test_a_quotation_must_occur(kb: KnowledgeBase) -> None:
    name = kb.node("person#p0").name
    found = kb.search(f'{name} "storm"', k=60, mode="relational")
    held = kb.sql("SELECT id FROM texts WHERE text LIKE '%storm%'")["id"].to_list()
    assert sorted(found["id"]) == sorted(held)
    assert found["relational"].count() > 0


def test_other_types_than_the_one_asked_for_count_for_less(
    films: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(factor: float) -> dict[str, float]:
        monkeypatch.setattr(relational, "OTHER_TYPE", factor)
        frame = films.search("places that Dora Quill saw", k=20, mode="relational")
        return dict(frame.select("key", "score").iter_rows())

    whole, half = found(1.0), found(0.5)
    places = {"oslo", "rome", "lake"}
    assert places < set(half)
    assert half == pytest.approx({key: score * (1 if key in places else 0.5) for key, score in whole.items()})


def test_fewer_hits_are_the_first_of_more(films: KnowledgeBase) -> None:
    more = films.search("Dora Quill Mirror", k=14, mode="relational")["key"].to_list()
    assert films.search("Dora Quill Mirror", k=2, mode="relational")["key"].to_list() == more[:2]


def test_search_links_what_linked_says(films: KnowledgeBase) -> None:
    assert films.linked("OBrien")["key"].to_list() == ["flann"]
    found = films.search("OBrien", mode="relational").drop_nulls("relational")
    assert dict(found.select("key", "relational").iter_rows()) == {"flann": 1.0, "f5": 1.0}


# -- why --------------------------------------------------------------------------------------------------------------


def triples(why: list[str]) -> list[tuple[str, str, str]]:
    """The lines that are no places."""
    found = [TRIPLE.fullmatch(line) for line in why if not PLACE.fullmatch(line)]
    return [(match[1], match[2], match[3]) for match in found if match]


def on_paths(start: str, end: str, lines: list[tuple[str, str, str]]) -> set[tuple[str, str, str]]:
    """The lines that lie on a path of one or two of them between two names."""
    found = {line for line in lines if {line[0], line[2]} == {start, end}}
    for one in lines:
        for other in lines:
            middles = {one[0], one[2]} & {other[0], other[2]}
            if any({start, m} == {one[0], one[2]} and {m, end} == {other[0], other[2]} for m in middles):
                found |= {one, other}
    return found


def test_each_triple_joins_the_hit_to_a_name(kb: KnowledgeBase, oracle: Oracle) -> None:
    known = set(
        kb.sql(
            "SELECT h.name, e.relation, t.name AS tail FROM edges e JOIN nodes h ON h.id = e.head"
            " JOIN nodes t ON t.id = e.tail"
        ).rows()
    )
    names = dict(kb.sql("SELECT id, name FROM nodes").iter_rows())
    joined = 0
    for question in asked(kb, 8, seed=7):
        mentions = link(kb.session, question).mentions
        reach = [{n for node in m.nodes for n in oracle.reached(node, len(m.nodes))} for m in mentions]
        frame = kb.search(question, k=60, mode="relational", explain=True)
        for node, name, why in frame.select("id", "name", "why").iter_rows():
            lines = triples(why)
            assert len(lines) + sum(bool(PLACE.match(line)) for line in why) == len(why)
            assert set(lines) <= known
            used = set()
            for mention, reached in zip(mentions, reach, strict=True):
                found = [on_paths(names[start], name, lines) for start in mention.nodes]
                assert node not in reached or any(found), (question, name)
                used |= set().union(*found)
            assert set(lines) == used, (question, name)
            joined += len(lines)
    assert joined > 150


def test_why_by_hand(films: KnowledgeBase) -> None:
    frame = films.search("a tale by Dora Quill with Axel Brandt", k=20, mode="relational", explain=True)
    found = {key: triples(why) for key, why in frame.select("key", "why").iter_rows()}
    assert found["f1"] == [("Dora Quill", "directed", "Untitled"), ("Axel Brandt", "acted_in", "Untitled")]
    assert found["f2"] == [("Dora Quill", "directed", "Untitled")]
    assert found["oslo"] == [
        ("Dora Quill", "directed", "Untitled"),
        ("Untitled", "set_in", "Oslo"),
        ("Axel Brandt", "acted_in", "Untitled"),
    ]
    assert found["mina"] == [("Dora Quill", "married", "Mina Falk")]
    assert found["rome"] == []


@pytest.mark.parametrize("mode", ["bm25", "dense", "multivector", "hybrid", "relational"])
def test_places_are_those_of_the_parts(kb: KnowledgeBase, mode: str) -> None:
    parts = {"hybrid": ["bm25", "dense"], "relational": ["bm25", "dense", "relational"]}.get(mode, [mode])
    for question in asked(kb, 5, seed=8):
        frame = kb.search(question, k=1_000, mode=mode, explain=True)
        expected: dict[int, list[str]] = {node: [] for node in frame["id"]}
        for part in parts:
            scored = frame.select("id", part).drop_nulls().sort([-pl.col(part), pl.col("id")])
            for place, node in enumerate(scored["id"], 1):
                expected[node].append(f"{part}: {place:,} of {scored.height:,}")
        for node, why in frame.select("id", "why").iter_rows():
            assert [line for line in why if PLACE.fullmatch(line)] == expected[node]


@pytest.mark.parametrize("mode", ["bm25", "dense", "multivector", "hybrid", "relational"])
def test_explaining_changes_nothing_else(kb: KnowledgeBase, mode: str) -> None:
    for question in [*asked(kb, 4, seed=9), "zzqx", "storm", kb.node(3).name]:
        frame = kb.search(question, k=12, mode=mode, explain=True)
        assert frame.schema["why"] == pl.List(pl.String)
        assert ("linked" in frame.columns) == (mode == "relational")
        assert frame.drop("why", "linked", strict=False).equals(kb.search(question, k=12, mode=mode))
        assert mode == "relational" or frame["why"].list.join("").str.contains("->", literal=True).sum() == 0


# -- the README's figures ---------------------------------------------------------------------------------------------


def hit_at_10(kb: KnowledgeBase, asked: pl.DataFrame, mode: str, node_type: str | None = None) -> float:
    """The share of queries that have an answer among the first ten hits."""
    found = kb.search_many(asked.select("query", "text"), k=10, mode=mode, type=node_type)
    hits = found.join(asked.select("query", "answers").explode("answers"), on="query").filter(
        pl.col("id").cast(pl.Int64) == pl.col("answers")
    )
    return hits["query"].n_unique() / asked.height


def test_each_way_of_searching_is_worth_it(shared_data: Path, tmp_path: Path) -> None:
    stores = ["adjacency", "text", "vectors"]
    with kbkit.ingest("imdb", shared_data / "imdb", out=tmp_path / "imdb.kb", stores=stores) as imdb:
        films = questions(imdb, 60)
        items = known_items(imdb, "movie", 200, 3)
        of_names = {mode: hit_at_10(imdb, films, mode) for mode in ("hybrid", "relational")}
        of_items = {mode: hit_at_10(imdb, items, mode, "movie") for mode in ("bm25", "dense", "hybrid")}
    assert (films.height, items.height) == (60, 200)
    assert of_names["relational"] >= max(0.9, of_names["hybrid"] + 0.1)
    assert of_items["hybrid"] >= max(0.9, of_items["bm25"], of_items["dense"])
