"""Which nodes a question names: how names are found, which of several is meant, and what names nothing."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kbkit
from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase
from kbkit.questions.link import MAX_NODES, MAX_WORDS, Linked, link
from tests.wording import Wording

NODES = """\
key,type,name,aliases,types
w1,city,Washington,,
w2,person,Washington,George W,
w3,river,Washington,,
ly,city,Lyon,,port
l2,person,Lyon,,
nyc,city,New York City,Big Apple|The Big Apple,
ny,state,New York,,
yk,city,York,,
fox,animal,Running Foxes,,
f2,animal,Running Fox,,
ob,person,O'Brien,,
sf,genre,Sci-Fi,,
gp,gene/protein,BRCA1,RNF53|breast cancer 1,
gd,drug,BRCA1,,
zo,person,Zoë Müller,Zoe Mueller,
ms,person,Maria Stone,,
mg,person,Marla Singer,,
lv,person,Leonardo DiCaprio,,
hk,city,Manhattan,,
ab,film,alpha beta,,
bg,film,beta gamma,,
gm,film,gamma,,
tt,band,The The,,
it,film,It,,
wh,film,The Who,,
ho,hotel,Ritz,,
ru,city,Москва,Moscow,
zh,city,東京,,
dr,drug,D7,,
x8,film,one two three four five six seven eight,,
x9,film,red two three four five six seven eight nine,,
"""
TEXTS = "key,text\nny,A state of stone and foxes.\nlv,He played in pictures by the sea.\n"
QUESTIONS = [
    # as written, whatever the case, accents and punctuation
    ("Who is Leonardo DiCaprio?", [("Leonardo DiCaprio", "exact", {"lv"})]),
    ("WHO IS LEONARDO DICAPRIO?", [("LEONARDO DICAPRIO", "exact", {"lv"})]),
    ("songs of zoe muller", [("zoe muller", "exact", {"zo"})]),
    ("ZOË  MÜLLER", [("ZOË  MÜLLER", "exact", {"zo"})]),
    ("O'Brien's songs", [("O'Brien", "exact", {"ob"})]),
    ("o brien", [("o brien", "exact", {"ob"})]),
    ("good sci fi", [("sci fi", "exact", {"sf"})]),
    ("Sci-Fi!", [("Sci-Fi", "exact", {"sf"})]),
    ("what does D7 do", [("D7", "exact", {"dr"})]),
    ("москва и 東京", [("москва", "exact", {"ru"}), ("東京", "exact", {"zh"})]),
    # aliases
    ("to moscow", [("moscow", "exact", {"ru"})]),
    ("rnf53 and breast-cancer 1", [("rnf53", "exact", {"gp"}), ("breast-cancer 1", "exact", {"gp"})]),
    ("life in the big apple", [("the big apple", "exact", {"nyc"})]),
    ("my big apple", [("big apple", "exact", {"nyc"})]),
    # exact, then stemmed
    ("running foxes", [("running foxes", "exact", {"fox"})]),
    ("running fox", [("running fox", "exact", {"f2"})]),
    ("it runs, fox, at night", [("runs, fox", "stemmed", {"fox", "f2"})]),
    ("two Leonardo DiCaprios", [("Leonardo DiCaprios", "stemmed", {"lv"})]),
    # the longest first, then from the left; no word twice
    ("New York City", [("New York City", "exact", {"nyc"})]),
    ("New York", [("New York", "exact", {"ny"})]),
    ("york", [("york", "exact", {"yk"})]),
    ("york new york", [("york", "exact", {"yk"}), ("new york", "exact", {"ny"})]),
    ("alpha beta gamma", [("alpha beta", "exact", {"ab"}), ("gamma", "exact", {"gm"})]),
    ("beta gamma alpha beta", [("beta gamma", "exact", {"bg"}), ("alpha beta", "exact", {"ab"})]),
    ("york or york", [("york", "exact", {"yk"}), ("york", "exact", {"yk"})]),
    ("one two three four five six seven eight", [("one two three four five six seven eight", "exact", {"x8"})]),
    # misspelled, only where a word is unknown
    ("Leonrdo DiCaprio", [("Leonrdo DiCaprio", "fuzzy", {"lv"})]),
    ("Leonardo Di Caprio's pictures", [("Leonardo Di Caprio", "fuzzy", {"lv"})]),
    ("LEONRDO DICAPRYO", [("LEONRDO DICAPRYO", "fuzzy", {"lv"})]),
    ("a manhatten tale", [("manhatten", "fuzzy", {"hk"})]),
    ("obrien", [("obrien", "fuzzy", {"ob"})]),
    ("New Yrok", [("New Yrok", "fuzzy", {"ny"})]),
    ("Marla Stone", []),  # a letter from Maria Stone, but both words are names' own
    ("lyn", []),  # too short to be guessed
    ("manhxttxx", []),  # three letters away
    # nothing
    ("", []),
    (" \t\n", []),
    ("?!", []),
    ("the it of the", []),
    ("The The", []),
    ("It", []),
    ("nobody has these words", []),
]


def build(folder: Path) -> Path:
    """The KB of the names above; fifty nodes are called Jane Smith, and one more John Smith."""
    many = "".join(f"k{i},person,Jane Smith,,\n" for i in range(MAX_NODES))
    more = "".join(f"j{i},person,John Smith,,\n" for i in range(MAX_NODES + 1))
    (folder / "nodes.csv").write_text(NODES + many + more, encoding="utf-8")
    (folder / "edges.csv").write_text("head,relation,tail\nlv,lives_in,nyc\n", encoding="utf-8")
    (folder / "texts.csv").write_text(TEXTS, encoding="utf-8")
    kbkit.ingest("table", folder, out=folder / "names.kb").close()
    return folder / "names.kb"


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    with kbkit.open(build(tmp_path_factory.mktemp("names"))) as opened:
        yield opened


def said(kb: KnowledgeBase, question: str) -> list[tuple[str, str, set[str]]]:
    """Each mention: its text, how it was found, the keys of its nodes."""
    return [(m.text, m.how, {kb.node(n).key for n in m.nodes}) for m in link(kb.session, question).mentions]


@pytest.mark.core
@pytest.mark.parametrize(("question", "expected"), QUESTIONS, ids=[question for question, _ in QUESTIONS])
def test_names(kb: KnowledgeBase, question: str, expected: list[tuple[str, str, set[str]]]) -> None:
    assert said(kb, question) == expected


# -- which of several -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "keys", "types"),
    [
        ("Washington", {"w1", "w2", "w3"}, ()),
        ("the city of Washington", {"w1"}, ("city",)),
        ("the cities of Washington", {"w1"}, ("city",)),
        ("Washington city", {"w1"}, ("city",)),
        ("along the Washington river", {"w3"}, ("river",)),
        ("RIVER WASHINGTON", {"w3"}, ("river",)),
        ("a person, Washington", {"w2"}, ("person",)),
        ("a film about Washington", {"w1", "w2", "w3"}, ("film",)),  # about is no stop word, and no film is called so
        ("the film of Washington", {"w1", "w2", "w3"}, ("film",)),
        ("which river is deep in Washington", {"w1", "w2", "w3"}, ("river",)),  # not beside the name
        ("the port of Lyon", {"ly"}, ("port",)),  # the type is one besides its primary one
        ("Lyon", {"ly", "l2"}, ()),
        ("the river George W", {"w2"}, ("river",)),  # one sense stays, whatever type is beside it
    ],
)
def test_a_type_beside_a_name_decides(kb: KnowledgeBase, question: str, keys: set[str], types: tuple[str, ...]) -> None:
    [(_, how, found)] = said(kb, question)
    assert (how, found) == ("exact", keys)
    assert link(kb.session, question).types == types


def test_names_of_types_are_not_entities(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("key,type,name\na,film,River\nb,river,Film\nc,river,Film Rivers\n")
    (tmp_path / "edges.csv").write_text("head,relation,tail\na,shows,b\n")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "t.kb") as kb:
        found = link(kb.session, "rivers in films, and a film")
        assert (found.mentions, found.types, found.is_name) == ((), ("river", "film"), False)
        assert said(kb, "film river") == [("film river", "stemmed", {"c"})]


def test_names_of_too_many_nodes_are_ignored(kb: KnowledgeBase) -> None:
    assert said(kb, "songs by Jane Smith") == [("Jane Smith", "exact", {f"k{i}" for i in range(MAX_NODES)})]
    assert said(kb, "songs by John Smith") == []
    assert said(kb, "songs by Jonh Smith") == []
    assert link(kb.session, "Jane Smith").is_name
    assert not link(kb.session, "John Smith").is_name


def test_the_limit_on_words_of_a_name(kb: KnowledgeBase) -> None:
    name = "red two three four five six seven eight nine"
    assert len(name.split()) == MAX_WORDS + 1
    assert said(kb, name) == []


@pytest.mark.parametrize(
    ("question", "whole"),
    [
        ("Leonardo DiCaprio", True),
        ("leonrdo dicaprio?", True),
        ("the person Leonardo DiCaprio", True),
        ("is it by Leonardo DiCaprio", True),
        ("Leonardo DiCaprio wins", False),
        ("Leonardo DiCaprio and York", False),
        ("person", False),
        ("", False),
    ],
)
def test_a_question_that_is_just_a_name(kb: KnowledgeBase, question: str, whole: bool) -> None:
    assert link(kb.session, question).is_name is whole


# -- what a name tells ------------------------------------------------------------------------------------------------


def weight(kb: KnowledgeBase, question: str) -> float:
    [mention] = link(kb.session, question).mentions
    return mention.weight


def test_weights_by_hand(kb: KnowledgeBase) -> None:
    nodes = kb.schema.nodes

    def telling(documents: int) -> float:
        return math.log((nodes + 1) / (documents + 1)) / math.log(nodes + 1)

    assert weight(kb, "Leonardo DiCaprio") == pytest.approx(telling(1))
    assert weight(kb, "Jane Smith") == pytest.approx(telling(MAX_NODES))
    assert weight(kb, "New York") == pytest.approx(telling(2))  # New is in two names, York in three
    assert weight(kb, "Running Foxes") == pytest.approx(telling(2))
    assert weight(kb, "runs fox") == pytest.approx(0.9 * telling(2))
    assert weight(kb, "Leonrdo DiCaprio") == pytest.approx(0.7)  # no node has the word as it is written
    assert 0 < weight(kb, "Jane Smith") < weight(kb, "Washington") < weight(kb, "Zoë Müller") < 1


# -- the frame --------------------------------------------------------------------------------------------------------


def test_the_frame(kb: KnowledgeBase) -> None:
    frame = kb.linked("did Washington see Leonrdo DiCaprio?")
    known = {"text": pl.String, "how": pl.String, "weight": pl.Float64, "id": pl.Int32}
    assert dict(frame.schema) == {**known, "key": pl.String, "type": pl.String, "name": pl.String}
    shown = frame.select("text", "how", "key").rows()
    assert sorted(shown[:3]) == [("Washington", "exact", key) for key in ("w1", "w2", "w3")]
    assert shown[3:] == [("Leonrdo DiCaprio", "fuzzy", "lv")]
    for row in frame.iter_rows(named=True):
        node = kb.node(row["id"])
        assert (node.key, node.type, node.name) == (row["key"], row["type"], row["name"])


@pytest.mark.parametrize("question", ["", "  ", "?", "the of", "\x00", "nobody"])
def test_no_name_is_an_empty_frame(kb: KnowledgeBase, question: str) -> None:
    frame = kb.linked(question)
    assert (frame.height, frame.columns) == (0, ["text", "how", "weight", "id", "key", "type", "name"])


# -- anything may be asked --------------------------------------------------------------------------------------------

NAMED = sorted({word for line in NODES.splitlines()[1:] for word in re.findall(r"[^\s,|]+", line)})
SENTENCES = st.lists(
    st.tuples(
        st.sampled_from([*NAMED, "the", "of", "zebra", "leonrdo"]), st.sampled_from([" ", ", ", "-", "? ", " 'n "])
    ),
    max_size=12,
).map(lambda parts: "".join(word + sign for word, sign in parts))


def assert_sound(kb: KnowledgeBase, question: str, found: Linked) -> None:
    """Mentions are pieces of the question, in its order, that do not overlap, of nodes that bear the name."""
    place = 0
    for mention in found.mentions:
        start = question.find(mention.text, place)
        assert start >= 0, (mention.text, question)
        place = start + len(mention.text)
        assert 1 <= len(mention.nodes) <= MAX_NODES
        assert list(mention.nodes) == sorted(set(mention.nodes))
        assert 0 <= mention.weight <= 1
    assert set(found.types) <= {t.name for t in kb.schema.node_types}
    assert found.is_name <= (len(found.mentions) == 1)


def folded(text: str) -> str:
    """A name's words without case and accents."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return " ".join(re.findall(r"\w+", plain.lower()))


def edits(one: str, other: str) -> int:
    """Letters to add, leave out, change, or swap with the next, between two texts (by the textbook's table)."""
    rows = [list(range(len(other) + 1))]
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(other, 1):
            swapped = i > 1 and j > 1 and (a, one[i - 2]) == (other[j - 2], b)
            best = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (a != b))
            row.append(min(best, rows[-2][j - 2] + 1) if swapped else best)
        rows.append(row)
    return rows[-1][-1]


@given(st.text(max_size=60))
@settings(max_examples=30, deadline=None)
def test_any_text_links(kb: KnowledgeBase, question: str) -> None:
    assert_sound(kb, question, link(kb.session, question))


@given(SENTENCES)
@settings(max_examples=30, deadline=None)
def test_nodes_bear_the_names_that_link_them(kb: KnowledgeBase, question: str) -> None:
    found = link(kb.session, question)
    assert_sound(kb, question, found)
    for mention in found.mentions:
        for node in map(kb.node, mention.nodes):
            names = [folded(name) for name in (node.name, *node.aliases)]
            away = min(edits(folded(mention.text), name) for name in names)
            assert away == 0 if mention.how == "exact" else mention.how == "stemmed" or 0 < away <= 2


@given(SENTENCES)
@settings(max_examples=25, deadline=None)
def test_case_does_not_matter_to_names(kb: KnowledgeBase, question: str) -> None:
    upper = link(kb.session, question.upper())
    lower = link(kb.session, question.lower())
    assert [(m.nodes, m.how) for m in upper.mentions] == [(m.nodes, m.how) for m in lower.mentions]
    assert upper.types == lower.types


@pytest.mark.parametrize(
    "question",
    [
        "Leonardo DiCaprio " + "and so on " * 100_000,
        "Leonardo DiCaprio " + "zqx" * 100_000,
        "Leonardo DiCaprio " + " ".join(f"zqxw{i}" for i in range(1_000)),
    ],
    ids=["words", "one word", "unknown words"],
)
def test_an_endless_question(kb: KnowledgeBase, question: str) -> None:
    found = link(kb.session, question)
    assert [m.text for m in found.mentions] == ["Leonardo DiCaprio"]


def test_words_beyond_the_first_256_are_not_read(kb: KnowledgeBase) -> None:
    assert [m.text for m in link(kb.session, "so " * 254 + "New York").mentions] == ["New York"]
    assert link(kb.session, "so " * 256 + "New York").mentions == ()


# -- defects ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("question", ["the gene/protein BRCA1", "BRCA1 gene protein"])
def test_types_of_several_words(kb: KnowledgeBase, question: str) -> None:
    assert link(kb.session, question).types == ("gene/protein",)
    assert said(kb, question) == [("BRCA1", "exact", {"gp"})]


def test_a_word_of_a_name_is_no_type(kb: KnowledgeBase) -> None:
    found = link(kb.session, "hotels in New York City")
    assert [m.text for m in found.mentions] == ["New York City"]
    assert found.types == ("hotel",)


def test_a_misspelled_name_in_a_long_question(kb: KnowledgeBase) -> None:
    question = (
        "somebody told me once that one Leonrdo DiCaprio lived for years and years near a town of gothamites I think"
    )
    assert [m.text for m in link(kb.session, question).mentions] == ["Leonrdo DiCaprio"]


def test_half_a_character(kb: KnowledgeBase, wording: Wording) -> None:
    with pytest.raises(KbError) as caught:
        kb.linked("New York \udcff")
    message = str(caught.value)
    wording(message)
