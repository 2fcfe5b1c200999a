"""Names by prefix and by words inside, and as completion ranks them."""

from __future__ import annotations

import shutil
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kbkit
from kbkit.executor.lookups import Lookups
from kbkit.kb import KnowledgeBase
from tests.loops import each

NODES = """type,key,name,aliases
person,p1,Donald Trump,["The Donald"]
person,p2,Trump,
person,p3,Ivana Trump,
person,p4,Zoë Ångström-Müller,
person,p5,O'Neill | Sons,
person,p6,New,
person,p7,Newark Lee,
place,n1,New York,["NYC","Big Apple"]
place,n2,New  York City,
place,n3,Newark,
place,n4,Universidad de Chile,
place,n5,University of York,
place,n6,Ørsted Universities,
place,n7,Москва,["Moscow"]
place,n8,Минск,
place,n9,1984,
place,n10,...,
place,n11,Trumpington,
"""
EDGES = """head,relation,tail
p1,born_in,n1
p1,born_in,n2
p3,born_in,n1
p2,born_in,n3
p7,born_in,n3
p4,born_in,n3
n1,near,n3
"""


@pytest.fixture(scope="module")
def names_kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("names")
    import polars as pl

    rows = [line.split(",", 3) for line in NODES.strip().splitlines()[1:]]
    nodes = pl.DataFrame(
        {
            "type": [r[0] for r in rows],
            "key": [r[1] for r in rows],
            "name": [r[2] for r in rows],
            "aliases": [r[3].strip('[]"').split('","') if r[3] else None for r in rows],
        },
        schema_overrides={"aliases": pl.List(pl.String)},
    )
    nodes.write_parquet(folder / "nodes.parquet")
    (folder / "edges.csv").write_text(EDGES, encoding="utf-8")
    out = folder / "names.kb"
    files = {"nodes": folder / "nodes.parquet", "edges": folder / "edges.csv"}
    kbkit.ingest("table", out=out, files=files, stores=("tables", "adjacency", "text")).close()
    return out


@pytest.fixture(scope="module")
def named(names_kb: Path) -> Iterator[KnowledgeBase]:
    with kbkit.open(names_kb) as opened:
        yield opened


def words(text: str) -> str:
    """Words without case and accents, by other means than the code under test."""
    letters = []
    for c in text.lower():
        base = {"ø": "o", "đ": "d", "ł": "l", "ı": "i", "ð": "d", "ʋ": "v"}.get(c) or unicodedata.normalize("NFD", c)[0]
        letters.append(base if base.isalnum() else " ")
    return " ".join("".join(letters).split())


def all_names(kb: KnowledgeBase) -> list[tuple[int, list[str]]]:
    rows = kb.tables.rows("SELECT id, name, aliases FROM nodes ORDER BY id")
    return [(node, [name, *(aliases or [])]) for node, name, aliases in rows]


def brute(kb: KnowledgeBase, prefix: str) -> list[int]:
    """The nodes with a name that starts so; a sign at the end ends the last word."""
    start = words(prefix)
    ends = bool(prefix) and not prefix[-1].isalnum()
    found = []
    for node, names in all_names(kb):
        known = [words(name) for name in names]
        if start and any(n == start or n.startswith(start + " " if ends else start) for n in known):
            found.append(node)
    return found


def shown(kb: KnowledgeBase, ids: np.ndarray) -> list[str]:
    return [kb.node(int(i)).name for i in ids]


# -- by the beginning, and by words inside ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        ("Tru", ["Trump", "Trumpington"]),
        ("TRUMP", ["Trump", "Trumpington"]),
        ("trump ", ["Trump"]),
        ("the do", ["Donald Trump"]),
        ("new", ["New", "Newark Lee", "New York", "New  York City", "Newark"]),
        ("new ", ["New", "New York", "New  York City"]),
        ("new york", ["New York", "New  York City"]),
        ("new-york c", ["New  York City"]),
        ("zoe angstrom m", ["Zoë Ångström-Müller"]),
        ("Zoë Ång", ["Zoë Ångström-Müller"]),
        ("orsted", ["Ørsted Universities"]),
        ("o'neill |", ["O'Neill | Sons"]),
        ("мос", ["Москва"]),
        ("мо", ["Москва"]),
        ("mos", ["Москва"]),
        ("19", ["1984"]),
        ("york", []),
        ("...", ["..."]),
        ("..", ["..."]),
        ("", []),
        (" ", []),
        (".*", []),
        ("new.*", ["New", "New York", "New  York City"]),
        ("n[e]w", []),
        ("\x00", []),
        ("new\x00york", ["New York", "New  York City"]),
    ],
)
def test_prefixes_by_hand(named: KnowledgeBase, prefix: str, expected: list[str]) -> None:
    assert shown(named, named.stores.nodes.starting(prefix, None)) == expected


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        ("trump", ["Donald Trump", "Trump", "Ivana Trump", "Trumpington"]),
        ("york c", ["New  York City"]),
        ("universi", ["Universidad de Chile", "University of York", "Ørsted Universities"]),
        ("universities", ["University of York", "Ørsted Universities"]),  # one stem
        ("of y", ["University of York"]),
        ("de chile", ["Universidad de Chile"]),
        ("chile de", []),
        ("zzz", []),
        ("", []),
    ],
)
def test_inner_words_by_hand(named: KnowledgeBase, prefix: str, expected: list[str]) -> None:
    assert shown(named, named.text.names_holding(prefix)) == expected


def test_only_nodes_of_the_type(named: KnowledgeBase) -> None:
    people = named.schema.type("person")
    nodes, everyone = named.stores.nodes, range(people.first, people.last + 1)
    assert shown(named, nodes.starting("new", "person")) == ["New", "Newark Lee"]
    assert shown(named, nodes.starting("new ", "person")) == ["New"]
    assert shown(named, named.text.names_holding("trump", everyone)) == ["Donald Trump", "Trump", "Ivana Trump"]
    for none in (range(0), np.empty(0, np.int64)):
        assert not len(named.text.names_holding("new", none))


def test_every_prefix_of_every_name_against_a_scan(world: KnowledgeBase) -> None:
    names = all_names(world)
    rivers = world.schema.type("river")
    prefixes = {name[:n] for _, known in names[::23] for name in known for n in (1, 2, 3, 5, 10, len(name))}
    normal = [(node, [words(n) for n in known]) for node, known in names]
    for prefix in each(sorted(prefixes)):
        start = words(prefix)
        if not start:
            continue
        bar = start if prefix[-1].isalnum() else start + " "
        expected = [node for node, known in normal if any(n == start or n.startswith(bar) for n in known)]
        assert world.stores.nodes.starting(prefix, None).tolist() == expected, prefix
        flowing = [node for node in expected if rivers.first <= node <= rivers.last]
        assert world.stores.nodes.starting(prefix, "river").tolist() == flowing, prefix


@given(st.text(max_size=30))
def test_any_text_can_be_looked_up(named: KnowledgeBase, prefix: str) -> None:
    """All names with these first words are found, and no others."""
    found = named.stores.nodes.starting(prefix, None).tolist()
    if prefix.isascii() and words(prefix):
        assert found == brute(named, prefix)
    named.text.names_holding(prefix, None, 3)


def test_long_prefixes(named: KnowledgeBase) -> None:
    for long in ("x" * 100_000, "new york " * 1_000):
        assert named.stores.nodes.starting(long, None).tolist() == []
    assert named.text.names_holding("new york " * 1_000).tolist() == []


# -- as completion ranks them -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def without_text(names_kb: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """The same KB without a text index."""
    source, out = names_kb.parent, tmp_path_factory.mktemp("names") / "names.kb"
    files = {"nodes": source / "nodes.parquet", "edges": source / "edges.csv"}
    with kbkit.ingest("table", out=out, files=files, stores=("adjacency",)) as kb:
        yield kb


@pytest.fixture(params=["text index", "scan"])
def found(named: KnowledgeBase, without_text: KnowledgeBase, request: pytest.FixtureRequest) -> Lookups:
    """Completion with and without a text index, which give the same names."""
    return Lookups(named if request.param == "text index" else without_text)


@pytest.mark.parametrize(
    ("typed", "node_type", "expected"),
    [
        ("trump", None, ["Trump", "Trumpington", "Donald Trump", "Ivana Trump"]),  # the same, a longer one, further on
        ("trump", "person", ["Trump", "Donald Trump", "Ivana Trump"]),
        ("new", None, ["New", "Newark", "New York", "Newark Lee", "New  York City"]),  # by neighbours: 4, 3, 1, 1
        ("new ", None, ["New", "New York", "New  York City"]),
        ("new", "place", ["Newark", "New York", "New  York City"]),
        ("nyc", None, ["New York"]),
        ("moscow", None, ["Москва"]),
        ("ångström", None, ["Zoë Ångström-Müller"]),
        ("york", "place", ["New York", "New  York City", "University of York"]),
        ("universi", None, ["Universidad de Chile", "University of York", "Ørsted Universities"]),
        ("zzz", None, []),
        ("...", None, ["..."]),
        ("x" * 1_000, None, []),
    ],
)
def test_ranked_names(found: Lookups, typed: str, node_type: str | None, expected: list[str]) -> None:
    assert [name for name, *_ in found.names(typed, node_type, 30)] == expected
    assert found.names(typed, node_type, 30) == found.names(typed.upper(), node_type, 30)
    assert [name for name, *_ in found.names(typed, node_type, 2)] == expected[:2]


def test_the_matching_alias_is_returned(found: Lookups) -> None:
    assert found.names("big a", None, 5) == [("New York", "place", "n1", "Big Apple")]
    assert found.names("new york", None, 1) == [("New York", "place", "n1", "")]


def test_a_small_type_is_listed_without_typed_text(named: KnowledgeBase) -> None:
    assert [name for name, *_ in Lookups(named).names("", "person", 3)] == ["Donald Trump", "Trump", "Ivana Trump"]


def test_keys(named: KnowledgeBase) -> None:
    look = Lookups(named)
    assert [key for _, _, key, _ in look.keys("n1", "place", 9)] == ["n1", "n10", "n11"]
    assert look.keys("n1", "person", 9) == []
    assert look.keys("n1", None, 1) == [("New York", "place", "n1", "")]
    assert look.keys("N1' OR true --", None, 9) == []


def test_a_kb_without_index_or_adjacency(tmp_path: Path, named: KnowledgeBase) -> None:
    (tmp_path / "nodes.csv").write_text("type,key,name\na,1,Beta\na,2,Alpha\na,3,Alphabet\n", encoding="utf-8")
    (tmp_path / "edges.csv").write_text("head,relation,tail\n1,r,2\n", encoding="utf-8")
    files = {"nodes": tmp_path / "nodes.csv", "edges": tmp_path / "edges.csv"}
    with kbkit.ingest("table", out=tmp_path / "x.kb", files=files, stores=("tables",)) as kb:
        look = Lookups(kb)
        assert [name for name, *_ in look.names("alp", None, 9)] == ["Alpha", "Alphabet"]
        assert look.names("alp", "no such type", 9) == []
    shutil.rmtree(tmp_path / "x.kb")
    assert look.names("alp", None, 9) == []  # nothing is said here
    assert look.keys("1", None, 9) == []


def test_secondary_types(wikidata_kb: Path) -> None:
    with kbkit.open(wikidata_kb) as kb:
        look = Lookups(kb)
        for (name,) in kb.tables.rows("SELECT name FROM physicist ORDER BY name"):
            assert name in [found for found, *_ in look.names(name[:3], "physicist", 30)]
        assert look.names("Douglas Adams", "physicist", 5) == []
        assert look.names("Douglas Adams", "human", 5)[0][:3] == ("Douglas Adams", "human", "Q42")


def test_lists(world: KnowledgeBase) -> None:
    look = Lookups(world)
    assert dict(look.queries())["world/landlocked"]
    assert len(look.queries()) == len({name for name, _ in look.queries()})
    assert all(title for _, title in look.queries())
    assert look.templates()
    assert dict(look.topics())["answers"]
    assert look.sets() == []
    assert look.columns("no such table") == []
