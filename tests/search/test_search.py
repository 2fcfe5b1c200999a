"""Search: its modes, its frame, words and quotations, misspellings, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import kbkit
from kbkit.errors import KbError, UnknownNameError
from kbkit.kb import KnowledgeBase
from kbkit.stores.embedders import load
from kbkit.stores.text import analyzer
from kbkit.stores.text_query import TextQuery, parse
from tests.examples import examples, first_some
from tests.wording import Wording

QUERY = "long river in Africa"
FIXED = {"rank": pl.Int64, "id": pl.Int32, "key": pl.String, "type": pl.String, "name": pl.String, "score": pl.Float64}
PARTS = {
    "bm25": ["bm25"],
    "dense": ["dense"],
    "multivector": ["multivector"],
    "hybrid": ["bm25", "dense"],
    "relational": ["bm25", "dense", "relational"],
}


@pytest.fixture(scope="module")
def kb(world_kb: Path) -> Iterator[KnowledgeBase]:
    with kbkit.open(world_kb) as opened:
        yield opened


@pytest.mark.core
@pytest.mark.parametrize("mode", PARTS)
@pytest.mark.parametrize("query", [QUERY, '"'])
def test_the_frame(kb: KnowledgeBase, mode: str, query: str) -> None:
    frame = kb.search(query, k=7, mode=mode)
    expected = {**FIXED, **dict.fromkeys(PARTS[mode], pl.Float64), "snippet": pl.String, "weak": pl.Boolean}
    assert list(frame.schema.items()) == list(expected.items())
    assert frame.height == (7 if query == QUERY else 0)
    assert frame["rank"].to_list() == list(range(1, frame.height + 1))
    for row in frame.iter_rows(named=True):
        node = kb.node(row["id"])
        assert (row["key"], row["type"], row["name"]) == (node.key, node.type, node.name)
        assert row["snippet"].replace("**", "").strip("…") in " ".join(text for _, text in node.texts)


@pytest.mark.parametrize("mode", PARTS)
def test_scores_descend_and_ties_are_by_id(kb: KnowledgeBase, mode: str) -> None:
    frame = kb.search("highest", k=200, mode=mode)  # names no type and no node
    pairs = list(zip((-frame["score"]).to_list(), frame["id"].to_list(), strict=True))
    assert pairs == sorted(pairs)
    assert frame["id"].n_unique() == 200
    if PARTS[mode] == [mode]:
        assert frame["score"].to_list() == frame[mode].to_list()


def test_dense_is_the_cosine_with_the_query(kb: KnowledgeBase) -> None:
    query = "long way through Africa"  # names no type
    [vector] = load("static").embed([query])
    scores = kb.vectors.matrix.products(vector[None])[0]
    frame = kb.search(query, k=15, mode="dense")
    assert frame["id"].to_list() == np.lexsort((np.arange(len(scores)), -scores))[:15].tolist()
    assert frame["score"].to_list() == pytest.approx(np.sort(scores)[::-1][:15].tolist(), abs=1e-6)


@pytest.mark.parametrize("mode", PARTS)
@pytest.mark.parametrize("type_name", ["country", "sea", "year", "Country"])
def test_types_filter_before_the_best_are_chosen(kb: KnowledgeBase, mode: str, type_name: str) -> None:
    frame = kb.search("river Nile", k=5, mode=mode, type=type_name)
    assert set(frame["type"]) <= {type_name.lower()}
    if mode != "bm25":
        assert frame.height == min(5, kb.schema.type(type_name).count)


@pytest.mark.parametrize("mode", PARTS)
def test_other_types_count(small: KnowledgeBase, mode: str) -> None:
    frame = small.search("hormone sugar blood", k=10, mode=mode, type="hormone")
    assert set(frame["key"]) <= {"g3", "a/b c"}
    assert frame["key"][0] == "g3"
    assert set(frame["type"]) <= {"gene/protein", "drug"}


def test_k_beyond_the_nodes(kb: KnowledgeBase) -> None:
    assert kb.search(QUERY, k=1_000_000, mode="dense").height == kb.schema.nodes
    assert kb.search(QUERY, k=1, mode="dense").height == 1


@pytest.mark.parametrize("k", [0, -1, 1_000_001, 10**9])
def test_k_out_of_range(kb: KnowledgeBase, k: int, wording: Wording) -> None:
    with pytest.raises(KbError) as caught:
        kb.search(QUERY, k=k)
    message = str(caught.value)
    assert [fact for fact in ["1", "1,000,000"] if fact not in message] == []
    wording(message)


def test_names_that_do_not_exist(kb: KnowledgeBase, wording: Wording) -> None:
    with pytest.raises(UnknownNameError) as caught:
        kb.search(QUERY, mode="bm26")
    message = str(caught.value)
    assert [fact for fact in ["'bm26'", "'bm25'"] if fact not in message] == []
    wording(message)
    with pytest.raises(UnknownNameError) as caught:
        kb.search(QUERY, mode="zzz")
    message = str(caught.value)
    assert [fact for fact in ["'zzz'"] if fact not in message] == []
    wording(message)
    with pytest.raises(UnknownNameError) as caught:
        kb.search(QUERY, type="contry")
    message = str(caught.value)
    assert [fact for fact in ["'contry'", "'country'"] if fact not in message] == []
    wording(message)


@pytest.mark.parametrize("mode", PARTS)
def test_empty_and_invalid_queries(kb: KnowledgeBase, mode: str, wording: Wording) -> None:
    messages = []
    for query in ("", "\n\t", "nile \udcff", "\ud800", '"\udfff nile"'):
        with pytest.raises(KbError) as caught:
            kb.search(query, mode=mode)
        messages.append(str(caught.value))
    assert ["Empty query" in message for message in messages] == [True, True, False, False, False]
    assert all("Invalid Unicode (unpaired surrogate) in query" in message for message in messages[2:])
    wording("\n".join(dict.fromkeys(messages)))


def test_a_node_is_found_by_its_name(kb: KnowledgeBase) -> None:
    for mode in PARTS:
        assert "Mount Kilimanjaro" in kb.search("mount kilimanjaro", k=3, mode=mode)["name"].to_list()
    assert kb.search("Deutschland", k=1, mode="bm25").height <= 1


# -- quotation marks --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "required"),
    [
        ('"amber birch" dune', ["amber birch"]),
        ('dune "amber"', ["amber"]),
        ('("amber")', ["amber"]),
        ('"amber", "birch"; "amber"', ["amber", "birch"]),
        ("\u201camber birch\u201d dune", ["amber birch"]),
        ("\u201eamber birch\u201c dune", ["amber birch"]),
        ("\u00abamber\u00bb dune", ["amber"]),
        ('\u201camber" dune', ["amber"]),
        ('a 5" pipe', []),
        ('a 5" pipe and a 6" pipe', []),
        ('a 5" pipe "of lead"', ["of lead"]),
        ('a "5" pipe" of lead', ["5"]),
        ('he said "amber', []),
        ('amber" he said', []),
        ('"" amber', []),
        ('" amber " birch', []),
        ('"amber "birch" cedar"', ["birch"]),
        ('"""amber"""', ["amber"]),
        ("amber's 'birch'", []),
        ('"amber\nbirch"', ["amber\nbirch"]),
        ("", []),
        ('"', []),
        ('"' * 999, []),
    ],
)
def test_what_is_required(text: str, required: list[str]) -> None:
    assert list(parse(text).required) == required
    assert parse(text, quotes=False) == TextQuery(text)


SIGNS = st.lists(
    st.sampled_from([*'"\u201c\u201d\u201e\u00ab\u00bb\u2018 \t\n\0\\(:-5ab', "\ud800", "word", '" "'])
).map("".join)


@examples(20)
@given(SIGNS | st.text())
@example('"a ' * 20_000)
@example('"' + " " * 50_000)
@example('"' + "a" * 50_000 + " ")
def test_any_text_is_a_query(text: str) -> None:
    query = parse(text)
    assert len(set(query.required)) == len(query.required)
    for part in query.required:
        assert f'"{part}"' in query.text
        assert part
        assert part == part.strip()
        assert '"' not in part
    assert len(query.text) == len(text)
    assert parse(text, quotes=False) == TextQuery(text, ())


def phrase_holders(kb: KnowledgeBase, phrases: list[str]) -> set[int]:
    """Nodes with all the phrases, each in one name, alias or text."""
    words = analyzer("english").analyze
    rows = kb.sql("SELECT id, name AS text FROM nodes UNION ALL SELECT id, unnest(aliases) FROM nodes"
                  " UNION ALL SELECT id, text FROM texts").rows()  # fmt: skip
    holders = [
        {node for node, text in rows if f" {' '.join(words(phrase))} " in f" {' '.join(words(text))} "}
        for phrase in phrases
    ]
    return set.intersection(*holders)


@pytest.mark.parametrize("mode", PARTS)
@pytest.mark.parametrize(
    ("query", "phrases"),
    [
        ('"most voluminous rivers" nile', ["most voluminous river"]),
        ('lake "africa" "river"', ["africa", "river"]),
        ("countries \u201cof the\u201d north", ["of the"]),
        ('"RIVERS"', ["river"]),
    ],
)
def test_quotations_hold_in_every_mode(kb: KnowledgeBase, mode: str, query: str, phrases: list[str]) -> None:
    holders = phrase_holders(kb, phrases)
    assert 0 < len(holders) < 1000
    frame = kb.search(query, k=1642, mode=mode)
    assert set(frame["id"]) == holders
    assert set(kb.search(query, k=3, mode=mode)["id"]) <= holders
    some = sorted(holders)[::2]
    assert set(kb.search(query, k=1642, mode=mode, within=[0, 1, *some])["id"]) == holders & {0, 1, *some}
    loose = kb.search(query, k=1642, mode=mode, quotes=False)
    if "of the" not in query and query != '"RIVERS"':  # whose words are stop words, or not more than are required
        assert loose.height > len(holders)


@pytest.mark.parametrize("mode", PARTS)
@pytest.mark.parametrize("query", ['"nile africa amazon"', '"xyzzyq" nile', '"nile" "xyzzyq"'])
def test_quotations_that_nothing_holds(kb: KnowledgeBase, mode: str, query: str) -> None:
    assert kb.search(query, mode=mode).is_empty()


@pytest.mark.parametrize("mode", PARTS)
@pytest.mark.parametrize("query", ['nile "!"', 'nile "-" amazon'])
def test_a_quotation_without_a_word_is_punctuation(kb: KnowledgeBase, mode: str, query: str) -> None:
    assert kb.search(query, mode=mode).height > 0


def test_quotations_hold_in_the_fields_that_are_searched(small: KnowledgeBase) -> None:
    assert small.search('"breast cancer"', mode="bm25", fields=["name"])["key"].to_list() == ["g1"]  # an alias
    assert small.search('"risk of breast cancer"', mode="bm25", fields=["name", "history"]).is_empty()
    assert small.search('"risk of breast cancer"', mode="bm25", fields=["summary"])["key"].to_list() == ["g1"]


# -- fields and weights -----------------------------------------------------------------------------------------------


@given(
    st.dictionaries(
        st.sampled_from(["name", "summary", "description", "biography", "history"]), st.floats(0.1, 9), min_size=1
    )
)
def test_a_score_is_the_weighted_sum_of_the_fields(small: KnowledgeBase, weights: dict[str, float]) -> None:
    query = "insulin cancer tonic DNA sugar blood brca1"
    total: dict[int, float] = {}
    for name, weight in weights.items():
        for node, score in small.search(query, mode="bm25", fields={name: 1}).select("id", "score").rows():
            total[node] = total.get(node, 0.0) + weight * score
    frame = small.search(query, mode="bm25", fields=weights)
    assert dict(frame.select("id", "score").rows()) == pytest.approx(total, rel=1e-5)


def test_fields_weigh_what_the_recipe_says_unless_told(small: KnowledgeBase) -> None:
    query = "insulin cancer tonic blood"
    named = small.search(query, mode="bm25", fields=["name"])["score"].to_list()
    plain = small.search(query, mode="bm25", fields={"name": 1})["score"].to_list()
    assert named == pytest.approx([small.schema.name_weight * score for score in plain], rel=1e-5)
    mixed = small.search(query, fields={"name": None, "summary": 2.0})
    assert mixed.columns[6:8] == ["bm25", "dense"]


@pytest.mark.parametrize(
    ("options", "facts"),
    [
        ({"fields": ["sumary"]}, ["'sumary'", "'summary'"]),
        ({"fields": {"zzz": 1.0}}, ["'zzz'"]),
        ({"fields": {"name": 0}}, ['0']),
        ({"fields": {"name": -1.5}}, ['-1.5', '0']),
        ({"fields": {"name": float("nan")}}, ['0']),
        ({"fields": {"name": float("inf")}}, ['0']),
        ({"fields": ["name"], "mode": "dense"},
         []),
        ({"fields": ["name"], "weights": {"dense": 1}},
         []),
    ],
)  # fmt: skip
def test_fields_that_are_refused(
    small: KnowledgeBase, options: dict[str, object], facts: list[str], wording: Wording
) -> None:
    with pytest.raises(KbError) as caught:
        small.search("insulin", **options)
    message = str(caught.value)
    assert [fact for fact in facts if fact not in message] == []
    wording(message)


def test_one_field_as_a_name(small: KnowledgeBase) -> None:
    try:
        one = small.search("insulin", mode="bm25", fields="name")
    except KbError as error:
        assert "'n'" not in str(error)
    else:
        assert one.equals(small.search("insulin", mode="bm25", fields=["name"]))


# -- misspelled words -------------------------------------------------------------------------------------------------


def table(folder: Path, nodes: list[tuple[str, str]], **options: str) -> KnowledgeBase:
    """A KB of nodes with these names and texts."""
    lines = {
        "nodes": [{"key": str(n), "type": "t", "name": name} for n, (name, _) in enumerate(nodes)],
        "texts": [{"key": str(n), "text": text} for n, (_, text) in enumerate(nodes) if text],
        "edges": [{"head": "0", "relation": "is", "tail": "1"}],
    }
    for name, rows in lines.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return kbkit.ingest("table", folder, out=folder / "x.kb", **options)


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """Words that are close to each other: ``grove`` in three texts, ``grave`` in one, and so on."""
    nodes = [("garden", "grove ox"), ("carbon", "grove fern"), ("a", "grove fern"), ("b", "grave of amber"),
             ("c", "sale and salt"), ("salz", "disease"), ("e", "amber"), ("fern", "harbour")]  # fmt: skip
    with table(tmp_path_factory.mktemp("words"), nodes, analyzer="simple") as opened:
        yield opened


Found = Callable[[str], list[int]]


@pytest.fixture
def found(words: KnowledgeBase) -> Found:
    return lambda query: sorted(words.search(query, mode="bm25")["id"])


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ("amer", "amber"),  # a letter left out
        ("ambber", "amber"),  # one added
        ("amper", "amber"),  # another
        ("abmer", "amber"),  # two swapped
        ("mber", "amber"),
        ("xmber", "amber"),  # the first letter too
        ("amxxr", None),  # two letters of five
        ("ambxxer", "amber"),  # two of seven
        ("ambxxxer", None),
        ("harobur", "harbour"),
        ("graove", "grove"),  # as far from grave, which is rarer
        ("gravee", "grave"),  # grove is more frequent, and farther
        ("grovee", "grove"),
        ("salx", "sale"),  # as far and as frequent as salt: by the alphabet
        ("oxx", "ox"),
        ("ax", None),  # too short to guess
        ("x", None),
        ("zzzzzzz", None),
        ("GRAVEE", "grave"),
        ("ambr zzzzzz gravve", "amber grave"),  # each word by itself
        ("ambr of", None),  # a word is known, so nothing is guessed
        ("ambr, grove", "grove"),
    ],
)
def test_misspelled_words(found: Found, query: str, meant: str | None) -> None:
    if query == "ambr of":
        assert found(query) == [3]
    else:
        assert found(query) == (found(meant) if meant else [])
        assert found(query) or not meant


def test_a_misspelled_query_is_embedded_with_its_correction(words: KnowledgeBase) -> None:
    dense = words.search("ambr", mode="dense", k=8, include_weak=True)["dense"].to_list()
    [vector] = words.embedder.embed(["ambr amber"])
    assert sorted(dense) == pytest.approx(sorted((words.vectors.matrix.products(vector[None])[0]).tolist()), abs=1e-6)
    assert words.search('"ambr"', mode="bm25").is_empty()
    assert words.search('"ambr" zzz', mode="hybrid").is_empty()
    hybrid = words.search("ambr", mode="hybrid", k=8)
    assert sorted(hybrid.drop_nulls("bm25")["id"]) == [3, 6]


def test_snippets_mark_what_the_words_were_read_as(words: KnowledgeBase) -> None:
    for mode in ("bm25", "hybrid", "relational"):
        frame = words.search("ambr gravve", mode=mode)
        assert dict(frame.select("id", "snippet").rows())[3] == "**grave** of **amber**"
    assert words.search("ambr", mode="bm25", within=[6])["snippet"].to_list() == ["**amber**"]


def test_the_closest_word_is_taken(found: Found) -> None:
    assert found("carden") == found("garden") == [0]


def test_a_word_is_read_as_one_of_the_fields_that_are_searched(words: KnowledgeBase) -> None:
    # One letter from salz, which is a name, and from sale and salt, which are not.
    assert words.search("salq", mode="bm25", fields=["name"])["id"].to_list() == [5]


@pytest.fixture(scope="module")
def stemmed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    with table(tmp_path_factory.mktemp("stemmed"), [("a", "a rare disease"), ("b", "rivers increase")]) as opened:
        yield opened


def test_a_misspelled_word_is_stemmed(stemmed: KnowledgeBase) -> None:
    assert stemmed.search("rivvers", mode="bm25")["snippet"].to_list() == ["**rivers** increase"]


@pytest.mark.parametrize(("query", "node"), [("disaese", 0), ("incraese", 1)])
def test_a_stem_is_not_stemmed_again(stemmed: KnowledgeBase, query: str, node: int) -> None:
    assert stemmed.search(query, mode="bm25")["id"].to_list() == [node]


# -- ties -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    with table(tmp_path_factory.mktemp("copies"), [("amber birch", "a cedar on a dune")] * 7) as opened:
        yield opened


def test_copies_rank_by_id_in_full_text(copies: KnowledgeBase) -> None:
    for k in (1, 3, 7):
        assert copies.search("cedar", mode="bm25", k=k)["id"].to_list() == list(range(k))
    assert copies.search("cedar", mode="bm25", k=2, within=[1, 4, 6])["id"].to_list() == [1, 4]


@pytest.mark.parametrize("mode", ["dense", "multivector", "hybrid"])
def test_copies_rank_by_id(copies: KnowledgeBase, mode: str) -> None:
    for query in ("cedar", "long river", "amber birch", "harbour"):
        assert copies.search(query, mode=mode, include_weak=True)["id"].to_list() == list(range(7)), query


# -- endless and odd queries ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", PARTS)
@pytest.mark.parametrize("query", ["the of and", "and"])
def test_only_stop_words(kb: KnowledgeBase, mode: str, query: str) -> None:
    frame = kb.search(query, mode=mode, k=5)
    assert frame.height == 5 or (mode == "bm25" and query == "and")
    assert frame.schema == kb.search("nile", mode=mode).schema


@pytest.mark.parametrize("mode", PARTS)
@pytest.mark.parametrize("query", ['"' * 10**5, "x" * 10**5, "\0" * 1000, "🤧" * 10**5])
def test_endless_queries_without_a_word(kb: KnowledgeBase, mode: str, query: str) -> None:
    frame = kb.search(query, mode=mode, k=5)
    assert frame.schema == kb.search("nile", mode=mode).schema
    assert frame["bm25"].null_count() == frame.height if "bm25" in PARTS[mode] else frame.height <= 5


@pytest.mark.parametrize("query", first_some(["nile river " * 20_000, '"nile ' * 40_000, "nile\0river\n" * 20_000], 3))
def test_endless_queries(kb: KnowledgeBase, query: str) -> None:
    frame = kb.search(query, mode="hybrid", k=5)
    assert frame.height == 5
    words = kb.search("nile river" if "river" in query else "nile", mode="bm25", k=1642)
    assert set(frame.drop_nulls("bm25")["id"]) <= set(words["id"])


def test_an_endless_quotation(kb: KnowledgeBase) -> None:
    assert kb.search('"' + "nile river " * 20_000 + 'nile"', mode="bm25").is_empty()
    assert kb.search(" ".join(f'"word{n}"' for n in range(2_000)), mode="hybrid").is_empty()
    assert kb.search('"nile" ' * 50_000, mode="bm25", k=3).height == 3


@pytest.mark.parametrize("mode", ["bm25", "relational"])
@pytest.mark.parametrize(
    "query",
    ["nile AND", "NOT nile", "name:nile", "nile~2^5", "[nile TO *]", "(nile", "nile\\", '"nile', "nile\0", "$nile"],
)
def test_operators_are_punctuation_in_every_mode(kb: KnowledgeBase, mode: str, query: str) -> None:
    frame = kb.search(query, mode=mode, k=1642)
    assert kb.find("river#nile") in frame["id"].to_list()
