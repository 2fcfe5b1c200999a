"""Still drawings of neighbourhoods and paths, and graphs for other programs: content, names as data."""

from __future__ import annotations

import re
import struct
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import kbkit
from kbkit.display import drawing
from kbkit.display.drawing import layout, text
from kbkit.display.drawing.colours import of_types
from kbkit.errors import KbError
from kbkit.graph.neighbourhoods import Neighbourhood
from kbkit.kb import KnowledgeBase
from tests.hostile import NAMES
from tests.wording import Wording

SVG = "{http://www.w3.org/2000/svg}"
GRAPHML = "{http://graphml.graphdrawing.org/xmlns}"


@pytest.fixture(scope="module")
def france(world: KnowledgeBase) -> Neighbourhood:
    return world.around("France", limit=30)


@pytest.fixture(scope="module")
def svg(france: Neighbourhood) -> ET.Element:
    return ET.fromstring(drawing.svg(france.drawing()))


def named(root: ET.Element, mark: str) -> list[ET.Element]:
    """The items of a mark of the drawing."""
    [group] = [e for e in root.iter(f"{SVG}g") if mark in e.get("class", "").split()]
    return list(group)


# -- pictures ---------------------------------------------------------------------------------------------------------


def test_a_dot_for_each_node_and_a_line_for_each_pair(svg: ET.Element, france: Neighbourhood) -> None:
    assert len(named(svg, "dots")) == france.nodes.height == 30
    pairs = {frozenset(ends) for ends in france.edges.select("head", "tail").iter_rows() if ends[0] != ends[1]}
    assert len(named(svg, "lines")) == len(pairs)
    # an arrow head for each direction that an edge has, none for symmetric relations
    heads = {(h, t) for h, r, t in france.edges.iter_rows() if r not in france.symmetric}
    assert len(named(svg, "onward")) + len(named(svg, "backward")) == len(heads)


def test_the_picture_says_what_it_is(svg: ET.Element, france: Neighbourhood) -> None:
    shown = ["".join(e.itertext()) for e in svg.iter() if e.tag in (f"{SVG}text", f"{SVG}tspan")]
    assert "France: neighbourhood within 1 step" in shown
    assert france.summary in shown
    assert "more nodes omitted" in france.summary
    counts = Counter(france.nodes["type"])
    for name, count in counts.items():
        assert f"{name} ({count})" in shown
    assert len(counts) == 11
    names = [e.text for e in named(svg, "names")]
    assert "France" in names
    assert set(names) <= {text.middle(name, 28) for name in france.nodes["name"]}
    assert len(names) >= 25


@pytest.mark.system
def test_the_hub_of_a_crowded_picture_has_its_name(world: KnowledgeBase) -> None:
    crowded = world.around("Germany", 2, limit=300)
    root = ET.fromstring(drawing.svg(crowded.drawing()))
    assert named(root, "names")[0].text == "Germany"
    assert len(named(root, "dots")) == 300


@pytest.mark.system
def test_a_type_has_one_colour_in_all_drawings_of_a_kb(world: KnowledgeBase) -> None:
    colours: dict[str, set[str]] = {}
    for node in ("France", "Danube", "Nepal"):
        found = world.around(node, limit=20)
        dots = named(ET.fromstring(drawing.svg(found.drawing())), "dots")
        for kind, dot in zip(found.nodes["type"], dots, strict=True):
            colours.setdefault(kind, set()).add(dot.get("fill", ""))
    assert len(colours) > 5
    assert {len(found) for found in colours.values()} == {1}
    assert len(set.union(*colours.values())) == len(colours)
    assert {kind: {of_types([t.name for t in world.schema.node_types])[kind]} for kind in colours} == colours


def test_colours_of_many_types_are_distinct() -> None:
    names = [f"type {n}" for n in range(40)]
    colours = of_types(names)
    assert len(set(colours.values())) == 41
    assert of_types(names[:12]) == {name: colours[name] for name in [*names[:12], ""]}


def test_paths_are_drawn_in_columns(world: KnowledgeBase) -> None:
    found = world.paths("Nepal", "France")
    graph = found.drawing()
    assert graph.nodes["name"].to_list()[0] == "Nepal"
    assert (graph.nodes["hop"].max(), graph.nodes["name"][-1]) == (2, "France")
    assert graph.edges.height == 2 * len(found)
    root = ET.fromstring(drawing.svg(graph))
    shown = ["".join(e.itertext()) for e in root.iter() if e.tag in (f"{SVG}text", f"{SVG}tspan")]
    assert "Nepal to France: 6 shortest paths of 2 steps" in shown
    x = [float(re.findall(r"[-\d.]+", dot.get("transform", ""))[0]) for dot in named(root, "dots")]
    assert len(set(x[1:-1])) == 1
    assert x[0] < x[1] < x[-1]


def test_no_path_cannot_be_drawn(world: KnowledgeBase, tmp_path: Path, wording: Wording) -> None:
    none = world.paths("Iceland", "Madagascar", relations=["borders"])
    with pytest.raises(KbError) as caught:
        none.write(tmp_path / "a.dot")
    wording(str(caught.value))
    assert none._repr_html_()


@pytest.mark.system
def test_types_with_a_common_prefix_have_distinct_colours(tmp_path: Path) -> None:
    long = "a type with a name of great length"
    (tmp_path / "nodes.csv").write_text(f"key,type,name\na,{long} 1,A\nb,{long} 2,B\n")
    (tmp_path / "edges.csv").write_text("head,relation,tail\na,r,b\n")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "x.kb", stores=["tables", "adjacency"]) as kb:
        root = ET.fromstring(drawing.svg(kb.around("a").drawing()))
    assert len({dot.get("fill") for dot in named(root, "dots")}) == 2


@pytest.mark.system
def test_the_same_graph_gives_the_same_bytes(world: KnowledgeBase, tmp_path: Path) -> None:
    endings = ("svg", "graphml", "dot", "html")
    for name in ("a", "b"):
        found = world.around("Moselle", 2, limit=25)
        for ending in endings:
            found.write(tmp_path / f"{name}.{ending}")
    for ending in endings:
        assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()
    assert len(list(tmp_path.iterdir())) == 8


@pytest.mark.system
def test_a_png(hostile: Neighbourhood, tmp_path: Path) -> None:
    hostile.write(tmp_path / "a.PNG")
    data = (tmp_path / "a.PNG").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", data[16:24]) > (1000, 600)


def test_one_node_alone(small: KnowledgeBase, tmp_path: Path) -> None:
    alone = small.around("p3")
    assert len(named(ET.fromstring(drawing.svg(alone.drawing())), "dots")) == 1
    for ending in ("graphml", "dot"):
        alone.write(tmp_path / f"a.{ending}")


@pytest.mark.system
def test_hostile_names_in_a_picture(hostile: Neighbourhood) -> None:
    root = ET.fromstring(drawing.svg(hostile.drawing()))
    assert {e.tag for e in root.iter()} <= {SVG + tag for tag in ("svg", "g", "path", "rect", "text", "tspan", "line")}
    assert len(named(root, "dots")) == len(NAMES)
    assert len(named(root, "loops")) == 1
    assert text.middle(NAMES[0], 40) in [e.text for e in named(root, "names")]


def test_labels_do_not_overlap() -> None:
    random = np.random.default_rng(5)
    labels = [layout.PlacedLabel((x, y), 60.0, 12.0, 6.0) for x, y in random.uniform(0, 300, (60, 2)).tolist()]
    labels[-1].always = True
    placed = layout.place(labels)
    boxes = []
    for label, place in zip(labels[:-1], placed, strict=False):
        if place:
            align, dx, dy = place
            boxes.append((label.at[0] + dx - {"left": 0, "center": 30, "right": 60}[align], label.at[1] + dy - 6))
    for i, (x, y) in enumerate(boxes):
        assert not [1 for a, b in boxes[:i] if abs(a - x) < 60 - 1e-6 and abs(b - y) < 12 - 1e-6]
    assert 20 < len(boxes) < 59
    assert placed[-1]


@pytest.mark.parametrize(
    ("given", "limit", "expected"),
    [
        ("short", 10, "short"),
        ("exactly ten", 11, "exactly ten"),
        ("several words are cut", 16, "several words…"),
        ("onelongwordwithoutaspace", 10, "onelongwo…"),
        ("a\nb\t c", 10, "a b c"),
        ("a\x1b\ufffe", 10, "a\ufffd\ufffd"),
        ("right \u202e to left", 20, "right to left"),
    ],
)
def test_short(given: str, limit: int, expected: str) -> None:
    assert text.short(given, limit) == expected


@pytest.mark.parametrize(
    ("given", "limit", "expected"),
    [
        ("short", 10, "short"),
        ("The Lord of the Rings: The Two Towers", 24, "The Lord of th…wo Towers"),
    ],
)
def test_middle(given: str, limit: int, expected: str) -> None:
    assert text.middle(given, limit) == expected
    assert len(text.middle(given, limit)) <= limit


# -- graphs for other programs ----------------------------------------------------------------------------------------


def expected_nodes(graph: Neighbourhood) -> dict[str, dict[str, str]]:
    """What a file has to say of each node."""
    return {
        f"n{row['id']}": {
            "name": text.fit(row["name"]),
            "type": row["type"],
            "key": row["key"],
            "hop": str(row["hop"]),
            **({"text": text.fit(row["line"])} if row["line"] else {}),
        }
        for row in graph.nodes.iter_rows(named=True)
    }


def test_graphml(hostile: Neighbourhood, france: Neighbourhood, tmp_path: Path) -> None:
    for graph in (hostile, france):
        graph.write(tmp_path / "x.graphml")
        root = ET.parse(tmp_path / "x.graphml").getroot()
        declared = {key.get("id"): (key.get("for"), key.get("attr.type")) for key in root.iter(f"{GRAPHML}key")}
        assert declared["hop"] == ("node", "int")
        assert declared["relation"] == ("edge", "string")
        nodes = {node.get("id"): {data.get("key"): data.text for data in node} for node in root.iter(f"{GRAPHML}node")}
        assert nodes == expected_nodes(graph)
        edges = [(e.get("source"), e[0].text, e.get("target")) for e in root.iter(f"{GRAPHML}edge")]
        assert edges == [(f"n{h}", text.fit(r), f"n{t}") for h, r, t in graph.edges.iter_rows()]


def test_networkx_reads_graphml(hostile: Neighbourhood, tmp_path: Path) -> None:
    networkx = pytest.importorskip("networkx")
    hostile.write(tmp_path / "x.graphml")
    read = networkx.read_graphml(tmp_path / "x.graphml")
    assert read.is_directed()
    assert {n: {k: str(v) for k, v in data.items()} for n, data in read.nodes(data=True)} == expected_nodes(hostile)
    assert Counter((h, d["relation"], t) for h, t, d in read.edges(data=True)) == Counter(
        (f"n{h}", r, f"n{t}") for h, r, t in hostile.edges.iter_rows()
    )


_DOT = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|(->)|([A-Za-z_0-9]+)|([\[\]{};=,]))', re.DOTALL)


def tokens(source: str) -> list[str]:
    """DOT's words; a quoted string starts with a quotation mark, and is as Graphviz shows it."""
    result, place = [], 0
    source = source.rstrip()
    while place < len(source):
        found = _DOT.match(source, place)
        assert found, source[place : place + 60]
        quoted = found[1]
        if quoted is None:
            result.append(found[0].strip())
        else:
            result.append('"' + re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], quoted))
        place = found.end()
    return result


def dot_statements(source: str) -> list[tuple[list[str], dict[str, str]]]:
    """(words before the brackets, attributes) of each statement within the braces."""
    words = tokens(source)
    assert words[:3] == ["digraph", "around", "{"]
    assert words[-1] == "}"
    statements, now = [], []
    for word in words[3:-1]:
        if word == ";":
            statements.append(now)
            now = []
        else:
            now.append(word)
    assert not now
    result = []
    for statement in statements:
        cut = statement.index("[") if "[" in statement else len(statement)
        rest = statement[cut + 1 : -1]
        result.append((statement[:cut], {rest[i]: rest[i + 2].removeprefix('"') for i in range(0, len(rest), 4)}))
    return result


@pytest.mark.core
def test_dot(hostile: Neighbourhood, france: Neighbourhood, tmp_path: Path) -> None:
    for graph in (hostile, france):
        graph.write(tmp_path / "x.dot")
        statements = dot_statements((tmp_path / "x.dot").read_text(encoding="utf-8"))
        nodes = {words[0]: told for words, told in statements if len(words) == 1 and words[0] not in ("node", "edge")}
        rows = {f"n{row['id']}": row for row in graph.nodes.iter_rows(named=True)}
        assert set(nodes) == set(rows)
        for name, told in nodes.items():
            assert told["label"] == text.middle(rows[name]["name"], 40)
            assert told["tooltip"].startswith(text.fit(rows[name]["name"]))
        edges = Counter((w[0], told["label"], w[2]) for w, told in statements if len(w) == 3 and w[1] == "->")
        once = Counter(
            (f"n{h}", r, f"n{t}") for h, r, t in graph.edges.iter_rows() if r not in graph.symmetric or h <= t
        )
        assert edges == once


# -- what is refused --------------------------------------------------------------------------------------------------


def test_unsupported_suffix(france: Neighbourhood, tmp_path: Path, wording: Wording) -> None:
    with pytest.raises(KbError) as caught:
        france.write(tmp_path / "a.pdf")
    wording(str(caught.value))


def test_missing_folder(france: Neighbourhood, tmp_path: Path, wording: Wording) -> None:
    with pytest.raises(KbError) as caught:
        france.write(tmp_path / "none" / "a.svg")
    wording(str(caught.value))


def test_a_failed_write_leaves_no_file(france: Neighbourhood, tmp_path: Path, wording: Wording) -> None:
    (tmp_path / "a.dot").mkdir()
    with pytest.raises(KbError) as caught:
        france.write(tmp_path / "a.dot")
    wording(str(caught.value))
    assert [path.name for path in tmp_path.iterdir()] == ["a.dot"]


def test_too_many_nodes_to_draw(tmp_path: Path, wording: Wording) -> None:
    with pytest.raises(KbError) as caught:
        drawing.check(tmp_path / "a.html", 1001)
    wording(str(caught.value))
    drawing.check(tmp_path / "a.dot", 1001)


def test_without_the_extra(
    france: Neighbourhood, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(KbError) as caught:
        drawing.check(tmp_path / "a.svg")
    wording(str(caught.value))
    france.write(tmp_path / "a.graphml")
    france.write(tmp_path / "a.html")
