"""Nodes by name, key, type and alias; their neighbours."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import kbkit
from kbkit.errors import KbError, UnknownNameError
from kbkit.kb import KnowledgeBase
from tests.wording import Wording


@pytest.mark.core
@pytest.mark.parametrize(
    "reference",
    [
        "FRA",
        "France",
        "france",
        "FRANCE",
        "country#FRA",
        "country:France",
        "country:FRA",
        "country:france",
    ],
)
def test_a_country_by_any_name(world: KnowledgeBase, reference: str) -> None:
    node = world.find(reference)
    assert (world.node(node).reference, world.node(node).name) == ("country#FRA", "France")
    assert world.find(node) == node


@pytest.mark.parametrize(
    ("reference", "key"),
    [
        ("gene/protein#g1", "g1"),
        ("gene/protein:BRCA1", "g1"),
        ("RNF53", "g1"),
        ("rnf53", "g1"),
        ('TP53 "the guardian"', "g2"),
        ("5-FU / fluorouracil", "1"),
        ("drug#1", "1"),
        ("00123", "00123"),
        ("O'Brien's tonic; DROP TABLE nodes; --", "00123"),
        ("C:\\temp\\new inhibitor", "a/b c"),
        ("drug:back\\slash", "a/b c"),
        ("a/b c", "a/b c"),
        ("diabetes mellitus 糖尿病", "x1"),
        ("} . ?s ?p ?o # <injection>", "x2"),
        ("ключ", "ключ"),
        ("ГРИПП", "ключ"),
        ("Nobody, Known", "p3"),
    ],
)
def test_odd_names(small: KnowledgeBase, reference: str, key: str) -> None:
    assert small.node(reference).key == key


@pytest.mark.parametrize("reference", ["%", "_", "BRCA_", "'", "' OR 1=1 --", "\\", "*"])
def test_names_are_no_patterns(small: KnowledgeBase, reference: str) -> None:
    with pytest.raises(UnknownNameError):
        small.find(reference)


@pytest.mark.parametrize(("reference", "choices"), [("Zoë Müller", "person#1, person#p2"), ("1", "drug#1, person#1")])
def test_ambiguous_names_are_listed(small: KnowledgeBase, reference: str, choices: str, wording: Wording) -> None:
    with pytest.raises(KbError) as caught:
        small.find(reference)
    assert choices in caught.value.hint
    wording(str(caught.value))


@pytest.mark.parametrize("reference", [-1, 12, 10**12])
def test_ids_that_do_not_exist(small: KnowledgeBase, reference: int) -> None:
    with pytest.raises(KbError) as caught:
        small.find(reference)
    assert str(reference) in caught.value.message
    assert "0 to 11" in caught.value.hint


def test_unknown_names_come_with_the_closest(world: KnowledgeBase, wording: Wording) -> None:
    with pytest.raises(UnknownNameError) as caught:
        world.find("Frence")
    assert "France" in caught.value.choices
    wording(str(caught.value))


def test_dissimilar_names_are_not_suggested(world: KnowledgeBase) -> None:
    for reference in ("#", "country:Frence"):
        with pytest.raises(UnknownNameError) as caught:
            world.find(reference)
        assert "There are " not in str(caught.value)


@pytest.mark.parametrize("kind", ["C#", "schema:Person", "a:b#c"])
def test_types_with_special_characters(tmp_path: Path, kind: str) -> None:
    pl.DataFrame({"key": ["x#1", "y:2"], "type": [kind, kind], "name": ["one", "two: three"]}).write_csv(
        tmp_path / "nodes.csv"
    )
    pl.DataFrame({"head": ["x#1"], "relation": ["is"], "tail": ["y:2"]}).write_csv(tmp_path / "edges.csv")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "out.kb", stores=["tables"]) as kb:
        for node in range(2):
            found = kb.node(node)
            assert kb.find(found.key) == node
            assert kb.find(found.name) == node
            assert kb.find(found.reference) == node
            assert kb.find(f"{found.type}:{found.name}") == node


def test_a_node(small: KnowledgeBase) -> None:
    node = small.node("g3")
    assert (node.type, node.name, node.other_types) == ("gene/protein", "insulin", ["drug", "hormone"])
    assert sorted(node.aliases) == ["INS", "Инсулин"]
    assert node.attributes["year"] == 1921
    assert node.attributes["approved"] is True
    assert node.attributes["code"] == "3630"
    assert "updated" not in node.attributes
    assert node.texts == [("summary", "A hormone that lets cells take up sugar from the blood.")]
    nobody = small.node("p3")
    assert (nobody.texts, nobody.aliases, nobody.other_types) == ([], [], [])
    several = small.node("g1").texts
    assert [field for field, _ in several] == ["history", "summary", "summary"]
    assert several[2][1] == "It was found on chromosome 17."


def test_a_node_as_html_is_escaped(small: KnowledgeBase) -> None:
    shown = small.node("x2")._repr_html_()
    assert "&lt;injection&gt;" in shown
    assert "<injection>" not in shown
    assert "<script" not in small._repr_html_()


def test_neighbours_out_and_in(small: KnowledgeBase) -> None:
    frame = small.neighbors("drug#1")
    found = {(r["relation"], r["direction"], r["key"]) for r in frame.iter_rows(named=True)}
    assert found == {
        ("order", "in", "1"),
        ("takes", "in", "1"),
        ("is treated by", "in", "x2"),
        ("targets", "out", "g2"),
        ("interacts", "out", "a/b c"),
    }
    # Parallel edges that differ are rows of their own.
    order = frame.filter(pl.col("relation") == "order")
    assert sorted(order["quantity"].to_list()) == [2, 3]
    assert set(order["type"]) == {"person"}


def test_neighbours_by_one_relation(small: KnowledgeBase) -> None:
    frame = small.neighbors("g2", "interacts")
    rows = sorted((r["direction"], r["key"]) for r in frame.iter_rows(named=True))
    assert rows == [("in", "g2"), ("out", "g1"), ("out", "g2")]
    with pytest.raises(UnknownNameError, match=r"'interact'.*'interacts'"):
        small.neighbors("g2", "interact")


def test_symmetric_relations_show_once(world: KnowledgeBase) -> None:
    frame = world.neighbors("country#PRT", "borders")
    assert frame.select("direction", "key").rows() == [("out", "ESP")]


def test_neighbours_of_a_node_without_edges(small: KnowledgeBase) -> None:
    frame = small.neighbors("p3")
    assert frame.height == 0
    assert frame.columns[:6] == ["relation", "direction", "id", "key", "type", "name"]
    assert small.degrees("p3") == []


def test_degrees_count_neighbours_not_edges(small: KnowledgeBase) -> None:
    counts = {(r.name, direction): count for r, direction, count in small.degrees("person#1")}
    assert counts == {("order", "out"): 1, ("takes", "out"): 1, ("knows", "out"): 1, ("knows", "in"): 1}


def test_names_in_a_batch_match_like_single_names(small: KnowledgeBase) -> None:
    nodes, names = small.stores.nodes, ["Zoë Müller", "zoë müller", "nobody"]
    for node_type in (None, "person"):
        assert nodes.by_name(node_type, names) == [nodes.by_name(node_type, [name])[0] for name in names]
    assert [len(rows) for rows in nodes.by_key(None, ["1", "nothing"])] == [2, 0]
