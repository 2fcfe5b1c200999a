"""Full text: what matches, in which order, with which score, and what the snippets show."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from operator import mul
from random import Random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import kbkit
from kbkit.errors import UnknownNameError
from kbkit.kb import KnowledgeBase
from kbkit.schema import Schema, TextField
from kbkit.stores import documents
from kbkit.stores.arrays import compact
from kbkit.stores.text import ANALYZERS, NAME, NAME_WEIGHT, WHOLE_WEIGHT, analyzer, field_name
from kbkit.stores.text_query import STOP_WORDS, TextQuery, parse
from tests.examples import examples

Make = Callable[..., KnowledgeBase]

WORDS = ("amber", "birch", "cedar", "dune", "ember", "fjord", "grove", "harbour")


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Make]:
    """Build a KB of these nodes, (key, type, name, other types, texts), and open it."""
    opened: list[KnowledgeBase] = []

    def call(nodes: list[tuple[str, str, str, list[str], list[str]]], **options: str) -> KnowledgeBase:
        folder = tmp_path_factory.mktemp("text")
        rows = [{"key": k, "type": t, "name": n, "types": o} for k, t, n, o, _ in nodes]
        texts = [{"key": k, "type": t, "text": x} for k, t, _, _, all_ in nodes for x in all_]
        for name, lines in (
            ("nodes", rows),
            ("texts", texts or [{"key": nodes[0][0], "type": nodes[0][1], "text": "zz"}]),
        ):
            body = "".join(json.dumps(line) + "\n" for line in lines)
            (folder / f"{name}.jsonl").write_text(body, encoding="utf-8")
        first = nodes[0]
        edge = {"head": first[0], "head_type": first[1], "relation": "is", "tail": first[0], "tail_type": first[1]}
        (folder / "edges.jsonl").write_text(json.dumps(edge) + "\n", encoding="utf-8")
        opened.append(kbkit.ingest("table", folder, out=folder / "text.kb", **options, stores=["text"]))
        return opened[-1]

    yield call
    for kb in opened:
        kb.close()


def ids(kb: KnowledgeBase, query: str, k: int = 20, type_name: str | None = None) -> list[int]:
    within = compact(kb.session.members(kb.schema.type(type_name).name).astype(np.int64)) if type_name else None
    return kb.text.search(parse(query), k, within)[0].tolist()


# -- words ------------------------------------------------------------------------------------------------------------


def test_stop_words_are_left_out_unless_nothing_else_is_left(world: KnowledgeBase) -> None:
    assert world.text.words("the river of the north") == ["river", "north"]
    assert world.text.words("to be or not to be") == ["to", "be", "or", "not"]
    assert ids(world, "the and of", 3)


@pytest.mark.parametrize("word", sorted(STOP_WORDS))
def test_stop_words_are_left_out_unless_they_are_all_there_is(world: KnowledgeBase, word: str) -> None:
    assert world.text.words(f"{word} lake {word.upper()}") == ["lake"]
    assert len(world.text.words(word)) == 1


@pytest.mark.parametrize(
    ("query", "kept"), [("Ares god of war", "are"), ("a being of light", "be"), ("what he wills", "will")]
)
def test_words_whose_stem_is_a_stop_word_are_kept(world: KnowledgeBase, query: str, kept: str) -> None:
    assert kept in world.text.words(query)


@pytest.mark.parametrize("query", ["", "   ", "\t\n", "!?", '"', "+-(){}[]^~*:\\/&|", "\0", "🤧", "…"])
def test_a_query_without_words_finds_nothing(world: KnowledgeBase, query: str) -> None:
    found, scores = world.text.search(parse(query), 10)
    assert (len(found), len(scores)) == (0, 0)


@pytest.mark.parametrize(
    "query",
    ['"nile', 'nile"', "+nile -africa", "nile AND", "NOT nile", "name:nile", "text_description:nile", "nile~2",
     "nile^5", "[nile TO nile]", "(nile", "nile*", "/nile/", "nile\\", "IN [nile]", "nile:*", "'nile'"],
)  # fmt: skip
def test_operators_are_punctuation(world: KnowledgeBase, query: str) -> None:
    words = set(re.findall("[a-z0-9]+", query.lower()))
    assert "nile" in world.text.words(query)
    assert set(world.text.words(query)) <= words | {"africa", "descript", "text", "text_descript", "name"}
    assert world.find("river#nile") in ids(world, query, 10)


@examples(20)
@given(st.text(max_size=60))
@example('"' * 100)
def test_any_text_can_be_searched_for(world: KnowledgeBase, query: str) -> None:
    if any("\ud800" <= sign <= "\udfff" for sign in query):
        return
    found, scores = world.text.search(parse(query), 5)
    assert len(found) == len(scores) <= 5
    assert sorted(scores.tolist(), reverse=True) == scores.tolist()


def test_a_very_long_query(world: KnowledgeBase) -> None:
    found = ids(world, "nile " + " ".join(f"word{n}" for n in range(100_000)), 5)
    assert set(found) == set(ids(world, "nile", 5))  # in another order: no name holds all of the long query
    assert world.find("river#nile") in found
    assert len(world.text.words(" ".join(f"word{n}" for n in range(1000)))) == 256
    assert ids(world, "x" * 100_000) == []


def test_repeated_words_count_once(world: KnowledgeBase) -> None:
    once, often = (world.text.search(TextQuery(text), 5) for text in ("nile", "nile Nile NILE niles"))
    assert once[0].tolist() == often[0].tolist()
    assert once[1].tolist() == often[1].tolist()


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("english", "Running rivers ran", ["run", "river", "ran"]),
        ("simple", "Running rivers ran", ["running", "rivers", "ran"]),
        ("german", "Häuser Häusern", ["haus", "haus"]),
        ("french", "continuellement", ["continuel"]),
        ("simple", "Zoë's CAFÉ-Crème naïve", ["zoe", "s", "cafe", "creme", "naive"]),
        ("simple", "O'Brien 5-FU", ["o", "brien", "5", "fu"]),
        ("simple", "糖尿病 Инсулин", ["糖尿病", "инсулин"]),
        ("simple", "a" * 60 + " " + "b" * 59, ["b" * 59]),
    ],
)
def test_analyzers(name: str, text: str, words: list[str]) -> None:
    assert analyzer(name).analyze(text) == words


@pytest.mark.parametrize("name", ANALYZERS)
def test_every_analyzer_can_be_made(name: str) -> None:
    assert analyzer(name).analyze("x1") == ["x1"]


def test_unknown_analyzers_are_named() -> None:
    with pytest.raises(UnknownNameError, match=r"analyzer 'englisch'.*'english'"):
        analyzer("englisch")


def test_the_analyzer_of_the_kb_is_used(make: Make) -> None:
    nodes = [("a", "t", "one", [], ["rivers"]), ("b", "t", "two", [], ["the"])]
    stemmed, plain = make(nodes), make(nodes, analyzer="simple")
    assert ids(stemmed, "river") == [0]
    assert ids(plain, "river") == []
    assert ids(plain, "Rivers") == [0]
    assert plain.text.words("the rivers") == ["the", "rivers"]


# -- scores -----------------------------------------------------------------------------------------------------------


def bm25(
    documents: list[Counter[str]], words: list[str], k1: float = 1.2, b: float = 0.75, counts: list[int] | None = None
) -> list[float]:
    """Robertson's BM25 of each document, with Lucene's idf, which is never negative; ``counts`` says how many of each
    document there are.
    """
    counts = counts or [1] * len(documents)
    lengths = [sum(document.values()) for document in documents]
    mean = sum(map(mul, lengths, counts)) / sum(counts)
    scores = [0.0] * len(documents)
    for word in words:
        holding = sum(count for document, count in zip(documents, counts, strict=True) if word in document)
        idf = math.log(1 + (sum(counts) - holding + 0.5) / (holding + 0.5))
        for number, document in enumerate(documents):
            often = document[word]
            norm = k1 * (1 - b + b * lengths[number] / mean)
            scores[number] += idf * often * (k1 + 1) / (often + norm) if often else 0
    return scores


@pytest.fixture(scope="module")
def scored(make: Make) -> tuple[KnowledgeBase, list[Counter[str]], list[Counter[str]]]:
    """A KB of random names and texts, and the words of each. Lengths up to 40 words are kept exactly."""
    random = Random(7)
    names = [random.choices(WORDS, k=random.randint(1, 6)) for _ in range(120)]
    texts = [random.choices(WORDS[:7], k=random.randint(1, 34)) for _ in range(120)]
    nodes = [(str(n), "t", " ".join(names[n]), [], [" ".join(texts[n])]) for n in range(120)]
    return make(nodes, analyzer="simple"), [Counter(n) for n in names], [Counter(t) for t in texts]


@pytest.mark.core
@given(words=st.lists(st.sampled_from([*WORDS, "nowhere"]), min_size=1, max_size=5, unique=True), k=st.integers(1, 130))
def test_scores_are_bm25(
    scored: tuple[KnowledgeBase, list[Counter[str]], list[Counter[str]]], words: list[str], k: int
) -> None:
    kb, names, texts = scored
    documents = [name + text for name, text in zip(names, texts, strict=True)]
    pairs = zip(bm25(documents, words), bm25(names, words), strict=True)
    expected = [
        document + (NAME_WEIGHT + (WHOLE_WEIGHT if words_of.keys() >= set(words) else 0)) * name
        for (document, name), words_of in zip(pairs, names, strict=True)
    ]
    found, scores = kb.text.search(TextQuery(" ".join(words)), 1000)
    assert set(found.tolist()) == {n for n, score in enumerate(expected) if score > 0}
    assert scores.tolist() == pytest.approx([expected[n] for n in found], rel=1e-5)
    assert sorted(zip(-scores, found, strict=True)) == list(zip(-scores, found, strict=True))
    assert kb.text.search(TextQuery(" ".join(words)), k)[0].tolist() == found[:k].tolist()


def test_scores_of_chosen_fields_are_summed(
    scored: tuple[KnowledgeBase, list[Counter[str]], list[Counter[str]]],
) -> None:
    kb, names, texts = scored
    field = field_name(kb.schema.text_fields[0].name)
    words = list(WORDS[:3])
    for weights in ({NAME: 1.0}, {field: 1.0}, {NAME: 2.0, field: 0.5}):
        legs = {NAME: bm25(names, words), field: bm25(texts, words)}
        expected = [sum(weight * legs[one][n] for one, weight in weights.items()) for n in range(len(names))]
        found, scores = kb.text.search(TextQuery(" ".join(words)), 1000, None, weights)
        assert set(found.tolist()) == {n for n, score in enumerate(expected) if score > 0}
        assert scores.tolist() == pytest.approx([expected[n] for n in found], rel=1e-5)


def test_a_short_field_does_not_dominate(make: Make) -> None:
    """The name "birch" and a text about it: summing the scores of fields would rank the bare name first."""
    filler = [(f"f{n}", "t", f"{WORDS[n % 3 + 3]} {n}", [], [" ".join(WORDS[3:])]) for n in range(20)]
    told = ("told", "t", "dune", [], ["amber birch cedar " + " ".join(WORDS[3:])])
    kb = make([told, ("bare", "t", "birch", [], ["harbour"]), *filler])
    assert kb.text.search(TextQuery("amber birch cedar"), 2)[0].tolist() == [0, 1]


def test_a_name_counts_more_than_a_text(make: Make) -> None:
    kb = make([("a", "t", "nothing", [], ["amber"]), ("b", "t", "amber", [], ["nothing"])])
    found, scores = kb.text.search(TextQuery("amber"), 5)
    assert found.tolist() == [1, 0]
    assert scores[0] > scores[1]


def test_ties_are_by_id_also_at_the_cut(make: Make) -> None:
    kb = make([(str(n), "t", "amber", [], ["birch"]) for n in range(3000)])
    for k in (1, 10, 999):
        assert ids(kb, "birch", k) == list(range(k))
    assert ids(kb, "birch", 10**9) == list(range(3000))


# -- types ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def crowded(make: Make) -> KnowledgeBase:
    """Thousands of better hits of another type."""
    crowd = [(f"c{n}", "crowd", "amber amber amber", ["guest"] if n == 7 else [], ["amber"]) for n in range(2500)]
    rare = [
        (f"r{n}", "rare", f"birch {n}", [], ["a long text of many words, amber among them and far from the start"])
        for n in range(3)
    ]
    odd = [("o", 'odd type/with "quotes" AND crowd', "cedar", ["rare"], ["dune dune dune dune amber"])]
    return make([*crowd, *rare, *odd])


def test_types_filter_before_the_best_are_chosen(crowded: KnowledgeBase) -> None:
    rare = {crowded.find(f"rare#r{n}") for n in range(3)}
    odd = crowded.find("o")
    assert set(ids(crowded, "amber", 3, "rare")) <= rare | {odd}
    assert set(ids(crowded, "amber", 100, "rare")) == rare | {odd}
    assert len(ids(crowded, "amber", 1, "rare")) == 1
    assert set(ids(crowded, "amber", 1, "crowd")) == {0}


def test_k_beyond_the_hits(crowded: KnowledgeBase) -> None:
    assert ids(crowded, "cedar", 1000) == [crowded.find("o")]
    assert ids(crowded, "cedar", 0) == []
    assert crowded.text.documents == 2504


def test_other_types_count(crowded: KnowledgeBase) -> None:
    assert ids(crowded, "amber", 10, "guest") == [crowded.find("crowd#c7")]


def test_types_with_odd_names(crowded: KnowledgeBase) -> None:
    name = 'odd type/with "quotes" AND crowd'
    assert ids(crowded, "amber", 10, name) == [crowded.find("o")]
    assert ids(crowded, "nothing", 10, name) == []


def test_the_type_does_not_change_the_scores(crowded: KnowledgeBase) -> None:
    query, rare = TextQuery("amber birch"), crowded.session.members("rare").astype(np.int64)
    everyone = dict(zip(*(part.tolist() for part in crowded.text.search(query, 10_000)), strict=True))
    found, scores = crowded.text.search(query, 10, rare)
    assert found.tolist() == [node for node in everyone if node in set(rare.tolist())]
    assert scores.tolist() == pytest.approx([everyone[i] for i in found.tolist()], rel=1e-6)


# -- snippets ---------------------------------------------------------------------------------------------------------


def snippet(kb: KnowledgeBase, query: str, document: str, characters: int = 160) -> str:
    [made] = kb.text.snippets(set(kb.text.words(query)), [document], characters)
    return made


def test_snippets_mark_the_words(world: KnowledgeBase) -> None:
    assert snippet(world, "river", "The Rivers and a river.") == "The **Rivers** and a **river**."
    assert snippet(world, "nothing", "The Rivers") == "The Rivers"
    assert snippet(world, "river", "") == ""


def test_snippets_show_where_most_words_are(world: KnowledgeBase) -> None:
    filler = "nothing to see here " * 30
    document = filler + "one amber alone " + filler + "amber beside birch and cedar " + filler
    shown = snippet(world, "amber birch cedar", document)
    assert "**amber** beside **birch** and **cedar**" in shown
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert len(shown) <= 160 + 2 + 3 * 4 + 20
    assert shown.strip("…").replace("**", "") in document


PIECES = ["amber", "Amber", "Äämber", "é", "🤧", "糖尿病", "\0", "\x1b[31m", "\n", "Æ", "ﬁ"]


@examples(20)
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=60), st.integers(10, 200))
def test_snippets_are_pieces_of_the_document(world: KnowledgeBase, words: list[str], characters: int) -> None:
    document = " ".join(words)
    if any("\ud800" <= sign <= "\udfff" for sign in document) or "…" in document or "*" in document:
        return
    shown = snippet(world, "amber 糖尿病", document, characters)
    assert shown.strip("…").replace("**", "") in document
    assert shown.count("**") % 2 == 0
    marked = re.findall(r"\*\*(.*?)\*\*", shown, re.DOTALL)
    assert {analyzer("english").analyze(word)[0] for word in marked} <= {"amber", "糖尿病"}


def test_a_long_document_is_cut_in_time(world: KnowledgeBase) -> None:
    shown = snippet(world, "amber", "x " * 5_000_000 + "amber")
    assert len(shown) < 200


@pytest.mark.parametrize(
    ("texts", "words_each", "nodes_at_a_time"),
    [(0, 0, 100_000), (1000, 20, 100_000), (1000, 1000, 10_000), (10, 10**6, 1_000)],
)
def test_fewer_nodes_are_taken_at_a_time_where_texts_are_long(
    texts: int, words_each: int, nodes_at_a_time: int
) -> None:
    fields = (TextField("text", 1.0, texts, texts * words_each),) if texts else ()
    assert documents.step(Schema("t", "http://example.org/", (), (), fields)) == nodes_at_a_time
