"""Which nodes a question names: exact names and aliases, derived, stemmed and misspelled ones."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kbkit
from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase
from kbkit.questions.mentions import MAX_MENTIONS, MAX_NODES, MAX_WORDS, Mention
from kbkit.questions.question import MAX_TOKENS
from kbkit.questions.spelling import _edited
from tests.wording import Wording

NODES = """\
key,type,name,aliases,types
w1,city,Washington,,
w2,person,Washington,George W,
w3,river,Washington,,
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
ru,city,Москва,Moscow,
zh,city,東京,,
dr,drug,D7,,
af,continent,Africa,,
"""
TEXTS = "key,text\nny,A state of stone and foxes.\nlv,He played in pictures by the sea.\n"

Found = list[tuple[str, str, set[str]]]
QUESTIONS: list[tuple[str, Found]] = [
    # as written, whatever the case, accents and punctuation
    ("Who is Leonardo DiCaprio?", [("Leonardo DiCaprio", "exact", {"lv"})]),
    ("WHO IS LEONARDO DICAPRIO?", [("LEONARDO DICAPRIO", "exact", {"lv"})]),
    ("who is Leonardo_DiCaprio", [("Leonardo_DiCaprio", "exact", {"lv"})]),
    ("songs of zoe muller", [("zoe muller", "exact", {"zo"})]),
    ("ZOË  MÜLLER", [("ZOË  MÜLLER", "exact", {"zo"})]),
    ("O'Brien's songs", [("O'Brien", "exact", {"ob"})]),
    ("o brien", [("o brien", "exact", {"ob"})]),
    ("good sci fi", [("sci fi", "exact", {"sf"})]),
    ("Sci-Fi!", [("Sci-Fi", "exact", {"sf"})]),
    ("what does D7 do", [("D7", "exact", {"dr"})]),
    ("москва и 東京", [("москва", "exact", {"ru"}), ("東京", "exact", {"zh"})]),
    # several nodes
    ("in Washington", [("Washington", "exact", {"w1", "w2", "w3"})]),
    ("what is brca1", [("brca1", "exact", {"gp", "gd"})]),
    # aliases
    ("to moscow", [("moscow", "exact", {"ru"})]),
    ("rnf53 and breast-cancer 1", [("rnf53", "exact", {"gp"}), ("breast-cancer 1", "exact", {"gp"})]),
    # the longest first, then what it is without its first or last word
    ("big apple", [("big apple", "exact", {"nyc"})]),
    ("New York City", [("New York City", "exact", {"nyc"}), ("New York", "exact", {"ny"})]),
    ("New York", [("New York", "exact", {"ny"}), ("York", "exact", {"yk"})]),
    ("york", [("york", "exact", {"yk"})]),
    ("york or york", [("york", "exact", {"yk"}), ("york", "exact", {"yk"})]),
    # derived
    ("African cities", [("African", "derived", {"af"})]),
    ("african cities", [("african", "fuzzy", {"af"})]),
    ("two yorks", [("yorks", "derived", {"yk"})]),
    # exact, then stemmed
    ("running foxes", [("running foxes", "exact", {"fox"})]),
    ("running fox", [("running fox", "exact", {"f2"})]),
    ("it runs, fox, at night", [("runs, fox", "stemmed", {"fox", "f2"})]),
    ("two Leonardo DiCaprios", [("Leonardo DiCaprios", "stemmed", {"lv"})]),
    # misspelled, only where a word is unknown
    ("Leonrdo DiCaprio", [("Leonrdo DiCaprio", "fuzzy", {"lv"})]),
    ("Leonardo Di Caprio's pictures", [("Leonardo Di Caprio", "fuzzy", {"lv"})]),
    ("LEONRDO DICAPRYO", [("LEONRDO DICAPRYO", "fuzzy", {"lv"})]),
    ("a manhatten tale", [("manhatten", "fuzzy", {"hk"})]),
    ("obrien", [("obrien", "fuzzy", {"ob"})]),
    ("New Yrok", [("New Yrok", "fuzzy", {"ny"})]),
    ("Marla Stone", []),  # a letter from Maria Stone, but both words are parts of names
    ("lyn", []),  # too short
    ("manhxttxx", []),  # three letters away
    # common words are names only as the KB writes them
    ("The The", [("The The", "exact", {"tt"})]),
    ("the it of the", []),
    ("nobody has these words", []),
]


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """The KB of the names above, and more nodes of one name than are tried."""
    folder = tmp_path_factory.mktemp("names")
    many = "".join(f"k{i},person,Jane Smith,,\n" for i in range(MAX_NODES + 3))
    long = f"lw,film,{' '.join(f'w{i}' for i in range(MAX_WORDS))},,\nlx,film,{'x ' * MAX_WORDS}y,,\n"
    (folder / "nodes.csv").write_text(NODES + many + long, encoding="utf-8")
    edges = "lv,lives_in,nyc\nk7,lives_in,nyc\nk7,lives_in,hk\nk6,lives_in,nyc\n"
    (folder / "edges.csv").write_text("head,relation,tail\n" + edges, encoding="utf-8")
    (folder / "texts.csv").write_text(TEXTS, encoding="utf-8")
    with kbkit.ingest("table", folder, out=folder / "names.kb", stores=["adjacency", "text"]) as opened:
        yield opened


def linked(kb: KnowledgeBase, question: str) -> Found:
    """Return each mention: its text, how it was found, the keys of its nodes."""
    found: Found = []
    for text, how, key in kb.linked(question).select("text", "how", "key").iter_rows():
        if found and found[-1][:2] == (text, how) and key not in found[-1][2]:
            found[-1][2].add(key)
        else:
            found.append((text, how, {key}))
    return found


@pytest.mark.core
@pytest.mark.parametrize(("question", "expected"), QUESTIONS, ids=[question for question, _ in QUESTIONS])
def test_names(kb: KnowledgeBase, question: str, expected: Found) -> None:
    assert linked(kb, question) == expected


def test_the_frame(kb: KnowledgeBase) -> None:
    frame = kb.linked("did Washington see York and African foxes?")
    known = {"text": pl.String, "how": pl.String, "weight": pl.Float64, "id": pl.Int32}
    assert dict(frame.schema) == {**known, "key": pl.String, "type": pl.String, "name": pl.String}
    assert frame.select("text", "how", "weight").unique(maintain_order=True).rows() == [
        ("Washington", "exact", 1.0),
        ("York", "exact", 1.0),
        ("African", "derived", 0.9),
    ]
    for row in frame.iter_rows(named=True):
        node = kb.node(row["id"])
        assert (node.key, node.type, node.name) == (row["key"], row["type"], row["name"])


@pytest.mark.parametrize("question", ["", "  ", "?", "the of", "\x00", "nobody"])
def test_no_name_is_an_empty_frame(kb: KnowledgeBase, question: str) -> None:
    frame = kb.linked(question)
    assert (frame.height, frame.columns) == (0, ["text", "how", "weight", "id", "key", "type", "name"])


def test_of_many_nodes_of_a_name_the_best_connected_are_tried(kb: KnowledgeBase) -> None:
    keys = kb.linked("where does Jane Smith live")["key"].to_list()
    assert keys == ["k7", "k6", "k0", "k1", "k2"]


def test_limits(kb: KnowledgeBase, wording: Wording) -> None:
    assert linked(kb, " ".join(f"w{i}" for i in range(MAX_WORDS))) == [
        (" ".join(f"w{i}" for i in range(MAX_WORDS)), "exact", {"lw"})
    ]
    assert linked(kb, "x " * MAX_WORDS + "y") == []
    assert linked(kb, "so " * (MAX_TOKENS - 2) + "Zoe Mueller") == [("Zoe Mueller", "exact", {"zo"})]
    assert linked(kb, "so " * MAX_TOKENS + "Zoe Mueller") == []
    assert len(linked(kb, "Manhattan, gamma, D7, york, " * 5)) == MAX_MENTIONS
    with pytest.raises(KbError) as caught:
        kb.linked("New York \udcff")
    wording(str(caught.value))


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
    assert linked(kb, question) == [("Leonardo DiCaprio", "exact", {"lv"})]


def test_a_misspelled_name_in_a_long_question(kb: KnowledgeBase) -> None:
    question = "somebody told me once that one Leonrdo DiCaprio lived for years and years near a town of gothamites"
    assert linked(kb, question) == [("Leonrdo DiCaprio", "fuzzy", {"lv"})]


# -- any text ---------------------------------------------------------------------------------------------------------

NAMED = sorted({word for line in NODES.splitlines()[1:] for word in re.findall(r"[^\s,|]+", line)})
SENTENCES = st.lists(
    st.tuples(
        st.sampled_from([*NAMED, "the", "of", "zebra", "leonrdo"]), st.sampled_from([" ", ", ", "-", "? ", " 'n "])
    ),
    max_size=12,
).map(lambda parts: "".join(word + sign for word, sign in parts))


def folded(text: str) -> str:
    """Return a name's words without case and accents."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return " ".join(re.findall(r"[^\W_]+", plain.lower()))


@given(st.text(max_size=60) | SENTENCES)
def test_mentions_are_pieces_of_the_question(kb: KnowledgeBase, question: str) -> None:
    frame = kb.linked(question)
    assert frame["text"].n_unique() <= MAX_MENTIONS
    for text, how, node in frame.select("text", "how", "id").iter_rows():
        assert text in question
        known = kb.node(node)
        if how == "exact":
            assert folded(text) in {folded(name) for name in (known.name, *known.aliases)}
    assert frame.height <= MAX_MENTIONS * MAX_NODES


@given(SENTENCES)
def test_case_matters_to_no_exact_name_but_common_words(kb: KnowledgeBase, question: str) -> None:
    upper, lower = (kb.linked(text).filter(how="exact") for text in (question.upper(), question.lower()))
    assert upper["id"].to_list() == lower["id"].to_list()


def test_a_misspelled_word_keeps_its_first_letter() -> None:
    found = set(_edited("cat"))
    assert {"ct", "ca", "cta", "chat", "cats", "cot", "cab"} <= found
    assert {word[0] for word in found} == {"c"}
    assert {len(word) for word in found} == {2, 3, 4}


@pytest.mark.parametrize(
    ("text", "how", "same_case", "is_sure"),
    [
        ("big apple", "exact", (), True),
        ("the apple", "exact", (), False),
        ("apple", "exact", (), False),
        ("apple", "exact", (1,), False),
        ("Apple", "exact", (1,), True),
        ("big apple", "stemmed", (), False),
    ],
)
def test_a_name_is_sure_by_its_words_or_its_capitals(
    text: str, how: str, same_case: tuple[int, ...], is_sure: bool
) -> None:
    assert Mention(0, 2, text, (1,), how, frozenset(same_case)).is_sure is is_sure
