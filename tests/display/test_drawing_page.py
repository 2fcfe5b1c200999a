"""The page of a drawing: what it holds and what it may load, and how it looks and works in a browser."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import tomllib
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import kbkit
from kbkit import assets
from kbkit.display.drawing import page as pages
from kbkit.display.drawing import text
from kbkit.display.drawing.colours import luminance, of_types
from kbkit.graph.neighbourhoods import Neighbourhood
from kbkit.kb import KnowledgeBase
from tests.console import Done
from tests.hostile import NAMES

MANY = 60
"""Films of the studio, by one relation."""


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """A hub with ``MANY`` films, two of which have an actor, and an owner; a node with one neighbour."""
    folder = tmp_path_factory.mktemp("studio")
    films = [f"f{n}" for n in range(MANY)]
    nodes = ["hub,studio,Studio", "boss,person,Owner", "ann,person,Ann", *(f"{f},film,Film {f}" for f in films)]
    (folder / "nodes.csv").write_text("\n".join(["key,type,name", *nodes, ""]))
    edges = [f"{f},made_by,hub" for f in films] + ["boss,owns,hub", "ann,acts_in,f50", "ann,acts_in,f55"]
    (folder / "edges.csv").write_text("\n".join(["head,relation,tail", *edges, ""]))
    (folder / "texts.csv").write_text("key,text\nf0,The first film of the studio.\n")
    with kbkit.ingest("table", folder, out=folder / "studio.kb", stores=["tables", "adjacency"]) as kb:
        yield kb


def write(found: Neighbourhood, folder: Path) -> Path:
    path = folder / "graph.html"
    found.write(path)
    return path


# -- what it holds ----------------------------------------------------------------------------------------------------


class Tags(HTMLParser):
    """The tags of a page with their attributes, and the text of its scripts and styles."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.inner: dict[str, list[str]] = {"script": [], "style": []}
        self._in = ""
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._in = tag
        if tag in self.inner:
            self.inner[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        self._in = ""

    def handle_data(self, data: str) -> None:
        if self._in in self.inner:
            self.inner[self._in][-1] += data


@pytest.fixture(scope="module")
def source(hostile: Neighbourhood, tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(hostile, tmp_path_factory.mktemp("page")).read_text(encoding="utf-8")


def test_a_page_holds_names_as_data(source: str, hostile: Neighbourhood) -> None:
    tags = Tags(source)
    kinds = [attrs.get("type") for tag, attrs in tags.found if tag == "script"]
    assert kinds == ["application/json", *[None] * 7]  # no name has ended one
    data = json.loads(tags.inner["script"][0])
    assert [node["name"] for node in data["nodes"]] == [text.line(name)[:300] for name in hostile.nodes["name"]]
    assert [len(node["label"]) <= 30 for node in data["nodes"]] == [True] * len(NAMES)
    assert {"s": 0, "t": 0, "relations": [[1, 1]]} in data["edges"]
    assert "&lt;/script&gt;" in source[source.index("<title>") : source.index("</title>")]
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", source)


def test_a_page_runs_its_own_scripts_only(source: str) -> None:
    tags = Tags(source)
    [policy] = [attrs["content"] or "" for _, attrs in tags.found if "http-equiv" in attrs]
    rules = {name: rest for name, *rest in (part.split() for part in policy.split(";"))}
    assert rules["default-src"] == ["'none'"]
    assert "unsafe" not in policy

    def hashed(parts: list[str]) -> list[str]:
        return [f"'sha256-{base64.b64encode(hashlib.sha256(p.encode()).digest()).decode()}'" for p in parts]

    assert rules["script-src"] == hashed(tags.inner["script"][1:])
    assert rules["style-src"] == hashed(tags.inner["style"])
    assert [
        (tag, named) for tag, named in tags.found if {"src", "href", "action", "onload", "style"} & set(named)
    ] == []


def test_the_libraries_are_those_that_were_verified() -> None:
    folder = assets.web() / "vendor"
    record = json.loads((folder / "vendor.json").read_text())
    assert {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in record["files"]} == record[
        "files"
    ]
    licences = {f"LICENSE-{package['name'].removeprefix('@').replace('/', '-')}" for package in record["packages"]}
    assert {path.name for path in folder.iterdir()} == {*record["files"], "vendor.json"}
    assert licences < set(record["files"])
    project = tomllib.loads((Path(kbkit.__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert "kbkit/assets/web/vendor/LICENSE-*" in project["license-files"]


def test_more_neighbours_than_are_shown(studio: KnowledgeBase) -> None:
    """A group folds what is more than ``FOLD``, and counts what the page does not have."""
    whole = pages.content(studio.around("hub").drawing())
    films = [i for i, node in enumerate(whole["nodes"]) if node["key"].startswith("film#")]
    [group] = whole["groups"]
    assert (group["node"], len(group["hidden"]), group["missing"]) == (0, MANY - pages.FOLD, 0)
    assert set(group["hidden"]) < set(films)
    part = pages.content(studio.around("hub", limit=41).drawing())
    [group] = part["groups"]
    shown = sum(node["key"].startswith("film#") for node in part["nodes"])
    assert len(group["hidden"]) == shown - pages.FOLD
    assert group["missing"] == MANY - shown > 0
    assert part["nodes"][0]["command"] == "kbkit around studio.kb 'studio#hub' -n 1000 -o graph.html"
    few = pages.content(studio.around("boss").drawing())
    assert (len(few["nodes"]), few["groups"]) == (2, [])
    names = [relation["name"] for relation in few["relations"]]
    assert few["nodes"][1]["totals"] == [(names.index("made_by"), -1, MANY), (names.index("owns"), -1, 1)]


def test_colours_have_contrast_in_both_themes() -> None:
    """3 for dots and 4.5 for text (https://www.w3.org/TR/WCAG22/#contrast-minimum)."""
    style = (assets.web() / "graph.css").read_text()
    themes = [dict(re.findall(r"--(\w+): (#\w{6})", part)) for part in re.findall(r"{([^{}]*--ground:[^{}]*)}", style)]
    assert len(themes) == 3
    assert themes[1] == themes[2]

    def contrast(a: str, b: str) -> float:
        low, high = sorted((luminance(a), luminance(b)))
        return (high + 0.05) / (low + 0.05)

    for theme in themes:
        ground = theme["ground"]
        assert all(contrast(colour, ground) >= 3 for colour in of_types([str(n) for n in range(40)]).values())
        assert all(contrast(theme[name], ground) >= 4.5 for name in ("ink", "soft", "link"))


def test_a_notebook_shows_the_page_apart_from_its_own(hostile: Neighbourhood) -> None:
    tags = Tags(hostile._repr_html_())
    [frame] = [attrs for tag, attrs in tags.found if tag == "iframe"]
    assert frame["sandbox"] == "allow-scripts"
    assert "script" not in {tag for tag, _ in tags.found}
    assert Tags(frame["srcdoc"] or "").found[0][0] == "html"


@pytest.mark.system
@pytest.mark.core
def test_commands_draw(world_kb: Path, tmp_path: Path, run: Callable[..., Done]) -> None:
    for words, file in (
        (["around", world_kb, "Nepal"], "a.html"),
        (["path", world_kb, "Nepal", "France"], "b.html"),
    ):
        done = run(*words, "-o", tmp_path / file)
        assert done.stdout == ""
        assert "nodes" in done.stderr
        both = run(*words, "--plot", tmp_path / f"plot-{file}")
        assert "Nepal" in both.stdout
        assert (tmp_path / file).read_bytes() == (tmp_path / f"plot-{file}").read_bytes()
    assert html.escape("Nepal to France: 6 shortest paths of 2 steps") in (tmp_path / "b.html").read_text()


# -- in a browser -----------------------------------------------------------------------------------------------------


class Shown:
    """A drawing in a browser."""

    def __init__(self, browser: Any, path: Path, width: int, height: int = 800, scheme: str = "light") -> None:
        # Without motion, so that a click has its effect at once.
        self.context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
        )
        self.page, self.log, self.asked = self.context.new_page(), [], []
        self.page.on("console", lambda message: self.log.append(message.text))
        self.page.on("pageerror", lambda error: self.log.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())
        self.settle()

    def __enter__(self) -> Shown:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()

    def settle(self) -> None:
        """Wait until the labels are drawn."""
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        self.page.wait_for_function("() => !kbkit.drawn.waiting && kbkit.drawn.labelled")

    def labels(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.page.evaluate("kbkit.drawn.labelled")
        return found

    def dots(self) -> dict[str, tuple[float, float]]:
        """The positions of the nodes that are shown, within the graph."""
        script = "kbkit.drawn.dots().map(n => [n.id(), n.renderedPosition().x, n.renderedPosition().y])"
        return {name: (x, y) for name, x, y in self.page.evaluate(script)}

    def click(self, name: str) -> None:
        box = self.page.locator("#graph").bounding_box()
        x, y = self.dots()[name]
        self.page.mouse.click(box["x"] + x, box["y"] + y)
        self.page.mouse.move(box["x"] + 1, box["y"] + 1)
        self.settle()

    def panel(self) -> str:
        shown: str = self.page.locator("#panel").inner_text() if self.page.locator("#panel").is_visible() else ""
        return shown

    def size(self) -> tuple[int, int]:
        box = self.page.locator("#graph").bounding_box()
        return box["width"], box["height"]


def overlap(a: list[float], b: list[float]) -> bool:
    return a[0] < b[2] - 1e-6 and b[0] < a[2] - 1e-6 and a[1] < b[3] - 1e-6 and b[1] < a[3] - 1e-6


@pytest.mark.parametrize(("width", "scheme", "least"), [(360, "light", 35), (600, "dark", 60), (1400, "light", 110)])
def test_150_nodes_are_readable(
    browser: Any, world: KnowledgeBase, tmp_path: Path, width: int, scheme: str, least: int
) -> None:
    path = write(world.around("Germany", 2), tmp_path)
    with Shown(browser, path, width, 900, scheme) as shown:
        assert shown.log == []
        assert shown.asked == [path.as_uri()]
        assert shown.page.evaluate("document.documentElement.scrollWidth") <= width
        dots, (wide, high) = shown.dots(), shown.size()
        assert len(dots) == 150
        assert all(0 < x < wide and 0 < y < high for x, y in dots.values())
        across, down = ([p[axis] for p in dots.values()] for axis in (0, 1))
        assert max(across) - min(across) > 0.7 * wide
        assert max(down) - min(down) > 0.65 * high
        labels = shown.labels()
        assert labels[0]["text"] == "Germany"
        assert len(labels) > least
        boxes = [label["box"] for label in labels]
        assert not [(a, b) for i, a in enumerate(boxes) for b in boxes[:i] if overlap(a, b)]
        assert all(x >= 0 and y >= 0 and right <= wide and bottom <= high for x, y, right, bottom in boxes)
        assert not [n for n in labels[1:] if any(overlap(n["box"], [x, y, x, y]) for x, y in dots.values())]
        ground = shown.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == ("rgb(20, 25, 31)" if scheme == "dark" else "rgb(255, 255, 255)")
        shown.page.locator("#theme").click()
        assert shown.page.evaluate("getComputedStyle(document.body).backgroundColor") != ground


def test_a_click_shows_a_node(browser: Any, studio: KnowledgeBase, tmp_path: Path) -> None:
    with Shown(browser, write(studio.around("hub"), tmp_path), 1000) as shown:
        assert shown.panel() == ""
        shown.page.locator("#find").fill("film f0")
        shown.page.locator("#find").press("Enter")
        shown.settle()
        panel = shown.panel()
        assert "Film f0" in panel
        assert "film#f0" in panel
        assert "The first film of the studio." in panel
        assert "\N{RIGHTWARDS ARROW} made by 1" in panel
        shown.page.locator("#panel .link", has_text="Studio").click()
        shown.settle()
        assert f"\N{LEFTWARDS ARROW} made by {MANY}" in shown.panel()
        shown.page.keyboard.press("Escape")
        assert shown.panel() == ""


def test_more_expands_until_the_page_has_no_more(browser: Any, studio: KnowledgeBase, tmp_path: Path) -> None:
    with Shown(browser, write(studio.around("hub", limit=51), tmp_path), 1000) as shown:
        films = sum(name.startswith("n") for name in shown.dots())
        assert films == pages.FOLD + 2
        assert f"+{MANY - pages.FOLD} more" in [label["text"] for label in shown.labels()]
        shown.click("g0")
        assert len(shown.dots()) == 51 + 1
        assert f"+{MANY - 49} more" in [label["text"] for label in shown.labels()]
        before = shown.dots()
        assert len({(round(x), round(y)) for x, y in before.values()}) == len(before)
        shown.click("g0")
        assert "kbkit around studio.kb 'studio#hub' -n 1000 -o graph.html" in shown.panel()
        assert f"49 of {MANY}" in shown.panel()
        shown.page.locator("#reset").click()
        shown.settle()
        assert len(shown.dots()) == pages.FOLD + 3
        assert shown.log == []


def test_paths_lead_across_or_down_the_page(browser: Any, world: KnowledgeBase, tmp_path: Path) -> None:
    path = tmp_path / "p.html"
    world.paths("Nepal", "France").write(path)
    for width, axis in ((1200, 0), (360, 1)):
        with Shown(browser, path, width) as shown:
            places = [place[axis] for place in shown.dots().values()]
            assert round(places[0]) < round(places[1]) == round(places[2]) < round(places[-1])
            assert {"Nepal", "France", "member of"} <= {label["text"] for label in shown.labels()}


def test_hostile_names_are_text(browser: Any, hostile: Neighbourhood, tmp_path: Path) -> None:
    with Shown(browser, write(hostile, tmp_path), 500, 600) as shown:
        assert len(shown.dots()) == len(NAMES)
        for i in range(len(NAMES)):
            shown.page.evaluate(f"kbkit.drawn.choose({i})")
            assert shown.panel().split("\n")[1].strip().startswith(text.line(hostile.nodes["name"][i]).split()[0])
        assert shown.page.title().startswith("</script>")
        assert shown.page.locator("img, script[src], #panel script").count() == 0
        assert shown.log == []


def test_one_neighbour(browser: Any, studio: KnowledgeBase, tmp_path: Path) -> None:
    with Shown(browser, write(studio.around("boss"), tmp_path), 400, 400) as shown:
        assert {label["text"] for label in shown.labels()} == {"Owner", "Studio", "owns"}
        assert shown.log == []
