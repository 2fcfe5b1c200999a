"""Charts: their content, pages that load nothing from the network, and errors."""

from __future__ import annotations

import itertools
import json
import re
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from kbkit.display import charts
from kbkit.display.charts import Chart
from kbkit.errors import KbError
from tests.kbs import KBKIT
from tests.wording import Wording

NASTY = '</script><script>alert("1")</script> a.b[c] <b>&amp;'
FRAME = pl.DataFrame(
    {
        "size": ["2", "10", "1", "2", "10", "1"],
        "share.of[all]": [0.5, 0.25, 0.25, None, 1.0, 0.0],
        "data": ["first"] * 3 + [NASTY] * 3,
    }
)
BARS = Chart("Sizes & <shapes>", FRAME, "size", "share.of[all]", "data", percent=True, x_title="how many")


class Page(HTMLParser):
    """The tags of a page, and the text of its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "script" and data.strip():
            self.scripts.append(data)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("chart") / "out.html"
    charts.write([BARS, Chart("One", FRAME.head(3), "size", "share.of[all]")], path)
    return path.read_text(encoding="utf-8")


def svg(path: Path) -> ET.Element:
    return ET.fromstring(path.read_bytes())


def labels(root: ET.Element) -> list[str]:
    return [node.text for node in root.iter("{http://www.w3.org/2000/svg}text") if node.text]


@pytest.mark.core
def test_svg_shows_titles_labels_and_bars(tmp_path: Path) -> None:
    charts.write([BARS], tmp_path / "a.svg")
    root = svg(tmp_path / "a.svg")
    shown = labels(root)
    assert "Sizes & <shapes>" in shown
    assert "how many" in shown
    assert "share.of[all]" in shown
    assert "100%" in shown
    # in the order of the rows, not sorted
    assert [label for label in shown if label in ("1", "2", "10")] == ["2", "10", "1"]
    assert [label for label in shown if label in ("first", NASTY)] == ["first", NASTY]
    said = [node.get("aria-label", "") for node in root.iter() if node.get("aria-roledescription") == "bar"]
    assert len(said) == 5  # null is no bar
    assert any("how many: 10" in text and "first" in text and "25%" in text for text in said)


@pytest.mark.system
def test_stacked_bars_do_not_overlap(tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": ["a", "a"], "y": [0.25, 0.75], "part": ["p", "q"]})
    for name, stacked in (("beside.svg", False), ("on.svg", True)):
        charts.write([Chart("t", frame, "x", "y", "part", stacked=stacked)], tmp_path / name)

    def lefts(name: str) -> set[str]:
        bars = [n for n in svg(tmp_path / name).iter() if n.get("aria-roledescription") == "bar"]
        return {re.match(r"M([\d.]+),", bar.get("d", ""))[1] for bar in bars}  # type: ignore[index]

    assert len(lefts("beside.svg")) == 2
    assert len(lefts("on.svg")) == 1


def bars(root: ET.Element) -> list[tuple[float, float, float, float]]:
    """Left, top, right and bottom of each bar, in the order of the rows, within its chart."""
    found = []
    for node in root.iter():
        if node.get("aria-roledescription") == "bar":
            [place] = re.findall(r"^M([\d.]+),([\d.]+)h([\d.]+)v([\d.]+)", node.get("d", ""))
            left, top, width, height = map(float, place)
            found.append((left, top, left + width, top + height))
    return found


@pytest.mark.system
def test_bars_are_horizontal_when_labels_are_long(tmp_path: Path) -> None:
    names = [f"a name of some length {n}" for n in range(8)]
    frame = pl.DataFrame({"x": names, "y": [8000 - n for n in range(8)]})
    charts.write([Chart("t", frame, "x", "y")], tmp_path / "a.svg")
    root = svg(tmp_path / "a.svg")
    drawn = bars(root)
    assert {left for left, *_ in drawn} == {0.0}
    assert [top for _, top, *_ in drawn] == sorted({top for _, top, *_ in drawn})  # one below the other, in order
    assert [label for label in labels(root) if label in names] == names
    assert "7,993" in labels(root)  # each says how long it is
    short = pl.DataFrame({"x": ["a", "b"], "y": [2, 1]})
    for name, flat in (("up.svg", False), ("flat.svg", True)):
        charts.write([Chart("t", short, "x", "y", flat=flat)], tmp_path / name)
    assert {bottom for *_, bottom in bars(svg(tmp_path / "up.svg"))} == {220.0}  # they stand on the axis
    assert {left for left, *_ in bars(svg(tmp_path / "flat.svg"))} == {0.0}


@pytest.mark.system
def test_flat_bars_of_several_colours_do_not_overlap(tmp_path: Path) -> None:
    rows = [(f"the name of group {n}", colour, 1.0) for n in range(6) for colour in ("r", "g", "b")]
    frame = pl.DataFrame(rows, schema=["x", "c", "y"], orient="row")
    charts.write([Chart("t", frame, "x", "y", "c")], tmp_path / "a.svg")
    spans = sorted((top, bottom) for _, top, _, bottom in bars(svg(tmp_path / "a.svg")))
    assert len(spans) == 18
    assert all(bottom <= top + 0.01 for (_, bottom), (top, _) in itertools.pairwise(spans))


def line_points(root: ET.Element) -> list[list[tuple[float, float]]]:
    """The points of each line."""
    drawn = [node.get("d", "") for node in root.iter() if node.get("aria-roledescription") == "line mark"]
    return [[(float(x), float(y)) for x, y in re.findall(r"[ML](-?[\d.]+),(-?[\d.]+)", path)] for path in drawn]


@pytest.mark.system
def test_lines_on_logarithmic_axes(tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": [1, 10, 100, 1, 100], "y": [1.0, 0.1, 0.01, 1.0, 1.0], "of": ["a"] * 3 + [NASTY] * 2})
    charts.write([Chart("t", frame, "x", "y", "of", lines=True, percent=True, log="xy")], tmp_path / "a.svg")
    root = svg(tmp_path / "a.svg")
    falling, level = line_points(root)
    # A power law is a straight line: one step of ten is half the width and half the height.
    assert falling == [(0, 0), (280, 110), (560, 220)]
    assert level == [(0, 0), (560, 0)]
    assert {"100%", "10%", "1%", "a", NASTY} <= set(labels(root))
    charts.write([Chart("t", frame, "x", "y", "of", lines=True, log="x")], tmp_path / "b.svg")
    assert [round(y, 1) for _, y in line_points(svg(tmp_path / "b.svg"))[0]] == [0, 198, 217.8]  # from zero


def test_large_numbers_are_short_on_an_axis(tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": ["a", "b"], "y": [39_802_116, 7]})
    charts.write([Chart("t", frame, "x", "y", flat=True)], tmp_path / "a.svg")
    shown = labels(svg(tmp_path / "a.svg"))
    assert {"39,802,116", "7", "10M"} <= set(shown)
    assert "10,000,000" not in shown


@pytest.mark.system
def test_svg_has_the_same_bytes_for_the_same_charts(tmp_path: Path) -> None:
    for name in ("a.svg", "b.SVG"):
        charts.write([BARS, BARS], tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.SVG").read_bytes()
    other = Chart("t", FRAME.with_columns(pl.lit(0.125).alias("share.of[all]")), "size", "share.of[all]", "data")
    charts.write([other], tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_bytes() != (tmp_path / "b.SVG").read_bytes()


@pytest.mark.system
def test_png(tmp_path: Path) -> None:
    charts.write([BARS], tmp_path / "a.png")
    head = (tmp_path / "a.png").read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", head[16:24])
    assert width > 1000
    assert height > 400


def test_a_page_loads_nothing_from_the_network(page: str) -> None:
    tags = Page(page).tags
    assert {tag for tag, _ in tags} == {"html", "head", "meta", "title", "style", "script", "body", "div"}
    assert [(tag, attrs) for tag, attrs in tags if {"src", "href", "data", "action", "http-equiv"} & set(attrs)] == []
    # names of vocabularies and documentation, none of which is fetched
    hosts = set(re.findall(r"https?://([\w.-]+)", page))
    assert hosts <= {"www.w3.org", "vega.github.io", "github.com"}


def test_a_page_holds_names_as_data(page: str) -> None:
    parsed = Page(page)
    assert len(parsed.scripts) == 2  # the library, and the drawing: a name has not ended one
    specs: list[dict[str, Any]] = json.loads(parsed.scripts[1].removeprefix("draw(").removesuffix(");"))
    first, second = specs
    assert [spec["width"] for spec in specs] == ["container"] * 2
    assert {row["colour"] for row in first["data"]["values"]} == {"first", NASTY}
    assert [row["y"] for row in second["data"]["values"]] == [0.5, 0.25, 0.25]
    assert "Sizes &amp; &lt;shapes&gt;" in page


@pytest.mark.parametrize("ending", ["svg", *(pytest.param(e, marks=pytest.mark.system) for e in ("png", "html"))])
def test_characters_invalid_in_svg(ending: str, tmp_path: Path) -> None:
    text = "a\x1b\x00\x08\x0b\x0c\x0e\x1f\ufffe\uffffb"
    frame = pl.DataFrame({"x": [text, "c"], text: [1.0, 2.0], "data": [text, "d"]})
    path = tmp_path / f"a.{ending}"
    charts.write([Chart(text, frame, "x", text, "data", x_title=text)], path)
    if ending == "svg":
        assert labels(svg(path)).count("a" + 9 * "\ufffd" + "b") == 5  # title, two axes, a bar, the legend


def test_unsupported_suffix(tmp_path: Path, wording: Wording) -> None:
    with pytest.raises(KbError) as caught:
        charts.write([BARS], tmp_path / "a.pdf")
    wording(str(caught.value))


def test_missing_folder(tmp_path: Path, wording: Wording) -> None:
    with pytest.raises(KbError) as caught:
        charts.check(tmp_path / "none" / "a.svg")
    wording(str(caught.value))


@pytest.mark.system
def test_a_failed_write_leaves_no_file(tmp_path: Path, wording: Wording) -> None:
    (tmp_path / "a.svg").mkdir()
    with pytest.raises(KbError) as caught:
        charts.write([BARS], tmp_path / "a.svg")
    wording(str(caught.value))
    assert [path.name for path in tmp_path.iterdir()] == ["a.svg"]


@pytest.mark.system
@pytest.mark.skipif(sys.platform != "linux", reason="the limit has no effect elsewhere")
def test_an_engine_that_dies_is_an_error(world_kb: Path, tmp_path: Path) -> None:
    """V8 reserves much address space, and ends its process with a signal if it cannot."""
    words = ["sh", "-c", 'ulimit -v 4000000; exec "$0" "$@"', KBKIT, "info", world_kb, "--plot", tmp_path / "a.svg"]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
    assert (done.returncode, list(tmp_path.iterdir())) == (1, [])
    assert "The JavaScript engine of vl-convert failed: signal 5. Raise the limits of memory" in done.stderr


@pytest.mark.parametrize("library", ["altair", "vl_convert"])
def test_without_the_extra(library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: Wording) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(KbError) as caught:
        charts.check(tmp_path / "a.svg")
    wording(str(caught.value))


def test_a_page_follows_the_theme_of_the_browser(browser: Any, tmp_path: Path) -> None:
    """In the dark, text and lines are light on dark."""
    path = tmp_path / "out.html"
    charts.write([BARS, Chart("Long", FRAME.head(3), "size", "share.of[all]", flat=True)], path)
    found = {}
    for scheme in ("light", "dark"):
        page = browser.new_context(color_scheme=scheme).new_page()
        page.goto(path.as_uri())
        page.wait_for_selector("#charts > div:nth-child(2) svg .role-axis-label")
        styles = page.evaluate(
            """() => [...document.querySelectorAll("#charts svg")].map(svg => [
                 getComputedStyle(svg).backgroundColor,
                 ...new Set([...svg.querySelectorAll("text")].map(text => getComputedStyle(text).fill)),
               ])"""
        )
        found[scheme] = (page.evaluate("getComputedStyle(document.body).backgroundColor"), *styles)
    paper, ink, none = "rgb(20, 25, 31)", "rgb(230, 234, 239)", "rgba(0, 0, 0, 0)"
    assert found["dark"] == (paper, [none, ink], [none, ink])
    assert found["light"] == (none, *[["rgb(255, 255, 255)", "rgb(0, 0, 0)"]] * 2)
