"""Drawings of neighbourhoods: their content, names as data in every format, and a page in a browser."""

from __future__ import annotations

import base64
import csv
import json
import re
import shutil
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET
import zlib
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kbkit
from kbkit.display import drawing
from kbkit.display.drawing import layout, text
from kbkit.display.drawing.page import html as page_of
from kbkit.display.drawing.spec import still
from kbkit.errors import KbError
from kbkit.graph.neighbourhoods import Neighbourhood
from kbkit.kb import KnowledgeBase
from tests.wording import Wording

NAMES = [
    '</script><script>document.title="owned"</script>',
    "<img src=x onerror=alert(1)> &amp; ]]> <!--",
    "quotes \" and ' and a backslash at the end \\",
    "two\nlines\r\nand a\ttab",
    "bell \x07 escape \x1b[31m nothing \x00 odd \ufffe \uffff".replace("\x00", ""),
    "emoji 👩‍🔬🏳️‍🌈 糖尿病",
    "שלום עולם \u202e reversed",
    "\\N \\G \\l {record|port} $& %s %d",
    "datum.x + 1; signal ${alert(1)} {{7*7}} #{x}",
    "long " * 60,
]
RELATION = '</script>"r\\'
SVG = "{http://www.w3.org/2000/svg}"
GRAPHML = "{http://graphml.graphdrawing.org/xmlns}"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neighbourhood]:
    """The first name in the middle of the others, two relations, a loop."""
    folder = tmp_path_factory.mktemp("hostile")
    with (folder / "nodes.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(
            [["key", "type", "name"], *([f"k{i}", f't"{i % 3}', name] for i, name in enumerate(NAMES))]
        )
    edges = [["k0", RELATION, f"k{i}"] for i in range(1, len(NAMES))] + [["k1", "x", "k0"], ["k0", "x", "k0"]]
    with (folder / "edges.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["head", "relation", "tail"], *edges])
    with (folder / "texts.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["key", "text"], *([f"k{i}", name] for i, name in enumerate(NAMES))])
    with kbkit.ingest("table", folder, out=folder / "x.kb", stores=["tables", "adjacency"]) as kb:
        yield kb.around("k0")


@pytest.fixture(scope="module")
def france(world: KnowledgeBase) -> Neighbourhood:
    return world.around("France", limit=30)


@pytest.fixture(scope="module")
def svg(france: Neighbourhood) -> ET.Element:
    return ET.fromstring(drawing.svg(france.drawing()))


@pytest.fixture(scope="module")
def page(hostile: Neighbourhood, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "graph.html"
    hostile.write(path)
    return path


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
        assert f"{name} ({count})" in shown or count == 1  # there are more types than colours
    assert len(counts) == 11
    assert "other types (1)" in shown
    names = [e.text for e in named(svg, "names")]
    assert "France" in names
    assert set(names) <= {text.short(name, 28) for name in france.nodes["name"]}
    assert len(names) >= 25


def test_a_crowded_picture_leaves_names_out(world: KnowledgeBase) -> None:
    crowded = world.around("Germany", 2, limit=120)
    placed = next(data["values"] for data in still(crowded.drawing())["data"] if data["name"] == "placed")
    with_room = [row["name"] for row in placed if row["zoom"] <= 1]
    assert 40 < len(with_room) < 120
    root = ET.fromstring(drawing.svg(crowded.drawing()))
    assert [e.text for e in named(root, "names")] == with_room
    assert len(named(root, "dots")) == 120


def test_types_with_a_common_prefix_have_distinct_colours(tmp_path: Path) -> None:
    long = "a type with a name of great length"
    (tmp_path / "nodes.csv").write_text(f"key,type,name\na,{long} 1,A\nb,{long} 2,B\n")
    (tmp_path / "edges.csv").write_text("head,relation,tail\na,r,b\n")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "x.kb", stores=["tables", "adjacency"]) as kb:
        root = ET.fromstring(drawing.svg(kb.around("a").drawing()))
    assert len({dot.get("fill") for dot in named(root, "dots")}) == 2


def test_the_same_graph_gives_the_same_bytes(world: KnowledgeBase, tmp_path: Path) -> None:
    pages = []
    for name in ("a", "b"):
        found = world.around("Moselle", 2, limit=25)
        for ending in ("svg", "graphml", "dot"):
            found.write(tmp_path / f"{name}.{ending}")
        pages.append(page_of(found.drawing()))
    for ending in ("svg", "graphml", "dot"):
        assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()
    assert len(list(tmp_path.iterdir())) == 6
    assert pages[0] == pages[1]


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


def test_hostile_names_in_a_picture(hostile: Neighbourhood) -> None:
    root = ET.fromstring(drawing.svg(hostile.drawing()))
    assert {e.tag for e in root.iter()} <= {SVG + tag for tag in ("svg", "g", "path", "rect", "text", "tspan", "line")}
    assert len(named(root, "dots")) == len(NAMES)
    assert len(named(root, "loops")) == 1
    assert text.short(NAMES[0], 40) in [e.text for e in named(root, "names")]


def test_a_notebook_gets_an_image_in_which_nothing_runs(hostile: Neighbourhood, small: KnowledgeBase) -> None:
    shown = hostile._repr_html_()
    assert set(re.findall(r"<(\w+)", re.sub(r"<table>.*</table>", "", shown))) == {"div", "style", "img"}
    image = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', shown)
    assert image
    assert base64.b64decode(image[1]).decode() == hostile._repr_svg_()


def test_labels_do_not_overlap() -> None:
    random = np.random.default_rng(5)
    labels = [layout.Label((x, y), 60.0, 12.0, 6.0) for x, y in random.uniform(0, 300, (60, 2)).tolist()]
    placed = layout.place(labels)
    for zoom in layout.ZOOMS:
        boxes = []
        for label, (least, align, dx, dy) in zip(labels, placed, strict=True):
            if least <= zoom:
                x = label.at[0] * zoom + dx - {"left": 0, "center": 30, "right": 60}[align]
                boxes.append((x, label.at[1] * zoom + dy - 6))
        for i, (x, y) in enumerate(boxes):
            assert not [1 for a, b in boxes[:i] if abs(a - x) < 60 - 1e-6 and abs(b - y) < 12 - 1e-6]
    shown = [sum(place[0] <= zoom for place in placed) for zoom in layout.ZOOMS]
    assert shown == sorted(shown)
    assert 0 < shown[0] < 60 == shown[-1]


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
            assert told["label"] == text.short(rows[name]["name"], 40)
            assert told["tooltip"].startswith(text.fit(rows[name]["name"]))
        edges = Counter((w[0], told["label"], w[2]) for w, told in statements if len(w) == 3 and w[1] == "->")
        once = Counter(
            (f"n{h}", r, f"n{t}") for h, r, t in graph.edges.iter_rows() if r not in graph.symmetric or h <= t
        )
        assert edges == once


# -- the page ---------------------------------------------------------------------------------------------------------


class Tags(HTMLParser):
    """The tags of a page with their attributes."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_a_page_holds_names_as_data(page: Path, hostile: Neighbourhood) -> None:
    source = page.read_text(encoding="utf-8")
    scripts = re.findall(r"<script>(.*?)</script>", source, re.DOTALL)
    assert len(scripts) == 2  # the library, and the drawing: no name has ended one
    spec: dict[str, Any] = json.loads(scripts[1].removeprefix("draw(").removesuffix(");"))
    placed = next(data for data in spec["data"] if data["name"] == "placed")["values"]
    assert [row["told"]["title"] for row in placed] == [text.short(name, 200) for name in hostile.nodes["name"]]
    assert "&lt;/script&gt;" in source[source.index("<title>") : source.index("</title>")]


def test_a_page_loads_nothing_from_the_network(page: Path) -> None:
    source = page.read_text(encoding="utf-8")
    assert "default-src 'none'" in source
    tags = Tags(source).found
    assert {tag for tag, _ in tags} == {"html", "head", "meta", "title", "style", "script", "body", "div", "p"}
    assert [(tag, named) for tag, named in tags if {"src", "href", "data", "action", "onload"} & set(named)] == []
    # names of vocabularies and documentation, none of which is fetched
    assert set(re.findall(r"https?://([\w.-]+)", source)) <= {"www.w3.org", "vega.github.io", "github.com"}


@pytest.fixture(scope="module")
def chromium() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if not found:
        pytest.skip("no chromium is on the path")
    return found


def browse(chromium: str, page: Path, folder: Path) -> tuple[str, str, np.ndarray]:
    """Render a page in a browser without network; return the document, the log and the picture."""
    shot = folder / "shot.png"
    done = subprocess.run(
        [
            chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-server=127.0.0.1:9", f"--user-data-dir={folder / 'user'}",
            "--window-size=500,400", "--virtual-time-budget=5000", "--enable-logging=stderr",
            f"--screenshot={shot}", "--dump-dom", page.as_uri(),
        ],
        capture_output=True, timeout=60, check=True,
    )  # fmt: skip
    log = "\n".join(line for line in done.stderr.decode(errors="replace").splitlines() if "CONSOLE" in line)
    return done.stdout.decode(), log, pixels(shot.read_bytes())


def pixels(data: bytes) -> np.ndarray:
    """Decode a PNG of 8 bits a channel without interlacing (https://www.w3.org/TR/png-3/): height, width, channels."""
    at, parts, head = 8, [], b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        head = data[at + 8 : at + 8 + size] if kind == b"IHDR" else head
        parts += [data[at + 8 : at + 8 + size]] if kind == b"IDAT" else []
        at += size + 12
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", head)
    assert (depth, interlaced) == (8, 0)
    step = {2: 3, 6: 4}[colour]
    rows = np.frombuffer(zlib.decompress(b"".join(parts)), np.uint8).reshape(height, 1 + width * step)
    before, result = bytearray(width * step), []
    for row in rows:
        line = bytearray(row[1:].tobytes())
        for i in range(len(line)) if row[0] else ():
            left, up = line[i - step] if i >= step else 0, before[i]
            corner = before[i - step] if i >= step else 0
            guess = left + up - corner
            nearest = min((left, up, corner), key=lambda value: abs(guess - value))
            line[i] = (line[i] + (0, left, up, (left + up) // 2, nearest)[row[0]]) & 255
        result.append(bytes(line))
        before = line
    return np.frombuffer(b"".join(result), np.uint8).reshape(height, width, step)


def test_a_browser_draws_the_page(chromium: str, page: Path, hostile: Neighbourhood, tmp_path: Path) -> None:
    document, log, picture = browse(chromium, page, tmp_path)
    assert log == ""  # no error of a script, nothing refused
    # the group of dots ends with the group
    dots = re.search(r'<g class="mark-symbol role-mark dots"[^>]*>(.*?)</g>', document, re.DOTALL)
    assert dots
    assert dots[1].count("<path") == len(NAMES) == hostile.nodes.height
    assert "<title>&lt;/script&gt;&lt;script&gt;document.title=" in document  # and "owned" it is not
    assert re.findall(r"<script", document[document.index("<body") :]) == ["<script"]
    colours, counts = np.unique(picture.reshape(-1, picture.shape[2])[:, :3], axis=0, return_counts=True)
    assert picture.shape[:2] == (400, 500)
    assert len(colours) > 20
    assert {tuple(c) for c in colours.tolist()} >= {(255, 255, 255), (0x3B, 0x6E, 0xA5), (0xD9, 0x73, 0x0D)}
    assert counts.max() < 0.99 * counts.sum()


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
    assert france._repr_svg_() is None
    assert "<table>" in france._repr_html_()
    france.write(tmp_path / "a.graphml")
