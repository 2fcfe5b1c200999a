"""Names by prefix, as somebody types: from the text index, and as completion ranks them."""

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
from kbkit.executor.lookups import Lookups, plain
from kbkit.kb import KnowledgeBase
from kbkit.stores import text_names

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


# -- the text store ---------------------------------------------------------------------------------------------------


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
        ("...", []),
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
    assert shown(named, named.text.names_starting(prefix)) == expected


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
    text, everyone = named.text, range(people.first, people.last + 1)
    assert shown(named, text.names_starting("new", everyone)) == ["New", "Newark Lee"]
    assert shown(named, text.names_starting("new ", everyone)) == ["New"]
    some = np.array([people.first + 6, people.last + 1])
    assert shown(named, text.names_starting("new", some)) == ["Newark Lee", "New York"]
    assert shown(named, text.names_holding("trump", everyone)) == ["Donald Trump", "Trump", "Ivana Trump"]
    for none in (range(0), np.empty(0, np.int64)):
        assert not len(text.names_starting("new", none))
        assert not len(text.names_holding("new", none))
    assert len(text.names_starting("new", None, 2)) == 2
    assert not len(text.names_starting("new", None, 0))


@pytest.mark.parametrize("few", [100_000, 0])
def test_every_prefix_of_every_name_against_a_scan(
    world: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    """Both ways: the one of small indexes finds all, the one of large ones some of them and nothing else."""
    monkeypatch.setattr(text_names, "_FEW_DOCUMENTS", few)
    names = all_names(world)
    rivers = world.schema.type("river")
    within = range(rivers.first, rivers.last + 1)
    prefixes = {name[:n] for _, known in names[::23] for name in known for n in (1, 2, 3, 5, 10, len(name))}
    normal = [(node, [words(n) for n in known]) for node, known in names]
    for prefix in sorted(prefixes):
        start, ends = words(prefix), not prefix[-1].isalnum()
        if not start:
            continue
        bar = start + " " if ends else start
        expected = {node for node, known in normal if any(n == start or n.startswith(bar) for n in known)}
        found, flowing = world.text.names_starting(prefix), world.text.names_starting(prefix, within)
        assert set(flowing.tolist()) <= {node for node in expected if node in within}, prefix
        assert bool(len(flowing)) == any(node in within for node in expected), prefix
        assert found.tolist() == sorted(set(found.tolist()))
        if few:
            assert set(found.tolist()) == expected, prefix
            assert set(flowing.tolist()) == {node for node in expected if node in within}
        else:
            assert set(found.tolist()) <= expected
            assert len(found) >= min(len(expected), 30), prefix
            assert found.tolist() == world.text.names_starting(prefix).tolist()


@given(st.text(max_size=30), st.integers(0, 5))
def test_any_text_can_be_looked_up(named: KnowledgeBase, prefix: str, limit: int) -> None:
    """Whatever starts so by the plain reading is found, and nothing else."""
    found = named.text.names_starting(prefix).tolist()
    if prefix.isascii():
        assert found == brute(named, prefix)
    assert named.text.names_starting(prefix, None, limit).tolist() == found[:limit]
    named.text.names_holding(prefix, None, limit)


def test_long_prefixes(named: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    assert named.text.names_starting("x" * 100_000).tolist() == []
    assert named.text.names_starting("new york " * 1_000).tolist() == []
    assert named.text.names_holding("new york " * 1_000).tolist() == []
    monkeypatch.setattr(text_names, "_MAX_REGEX", 4)
    assert shown(named, named.text.names_starting("new yo")) == ["New York", "New  York City"]
    people = named.schema.type("person")
    assert shown(named, named.text.names_starting("newar", range(people.first, people.last + 1))) == ["Newark Lee"]


def test_letters_that_may_follow() -> None:
    assert text_names.following("a") == " 0123456789abcdefghijklmnopqrstuvwxyz"
    assert text_names.following("a ") == "0123456789abcdefghijklmnopqrstuvwxyz"
    assert set("абвгдежзий") < set(text_names.following("м"))


# -- as completion ranks them -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["Zoë", "STRASSE", "Ørsted", "Æsir", "a_b-c", "  x  ", "Ⅳ", "é\u0301", "\ud800"])
def test_plain_words_are_those_of_the_index(named: KnowledgeBase, text: str) -> None:
    expected = {"Zoë": "zoe", "STRASSE": "strasse", "Ørsted": "orsted", "Æsir": "aesir", "a_b-c": "a b c", "  x  ": "x"}
    assert plain(text) == expected.get(text, plain(text))
    assert plain(plain(text)) == plain(text)


@pytest.fixture(params=["index", "tables"])
def found(named: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Lookups:
    """A KB without an index is read: the answers are the same."""
    look = Lookups(named)
    if request.param == "tables":
        monkeypatch.setattr(look, "_from_index", look._from_tables)
    return look


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
        ("...", None, []),
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


def test_secondary_types(wikidata_kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with kbkit.open(wikidata_kb) as kb:
        physicists = kb.tables.rows("SELECT name FROM physicist ORDER BY name")
        for read in (False, True):
            look = Lookups(kb)
            if read:
                monkeypatch.setattr(look, "_from_index", look._from_tables)
            for (name,) in physicists:
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
