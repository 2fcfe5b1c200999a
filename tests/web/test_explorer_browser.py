"""The explorer in a browser, used as a person would: with the keyboard and the mouse, looking at what is shown."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest

import kbkit
from kbkit.benchmarks.people.labels import Labels
from kbkit.web.explore import links
from tests.explorer import Tab, served

pytestmark = pytest.mark.system

axe = pytest.importorskip("axe_playwright_python.sync_playwright")

ENDLESS = "SELECT count(*) FROM range(1000000000) a, range(1000000) b WHERE (a.range * b.range) % 7 = 3"
"""Runs for years."""


@pytest.fixture(scope="module")
def address(world_kb: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server at a port, of a copy of the KB, whose workspace is written."""
    copy = shutil.copytree(world_kb, tmp_path_factory.mktemp("explorer") / "world.kb")
    with kbkit.open(copy) as kb, served(kb) as (url, _):
        yield url.geturl()


@pytest.fixture
def tab(browser: Any, address: str) -> Iterator[Tab]:
    opened = Tab(browser, address)
    yield opened
    opened.context.close()
    assert opened.wrong == [], opened.wrong


def test_a_name_leads_to_its_page_by_keyboard(tab: Tab) -> None:
    page = tab.page
    assert page.url == f"{tab.address}/"  # the token has left the address
    page.get_by_text("Questions to try").wait_for()
    page.keyboard.press("/")
    page.keyboard.type("Ki")
    page.locator('.names [data-text$="Ki"] [role=option]').first.wait_for()
    held: list[Any] = []
    of_all = re.compile("/complete.*ribat$")
    page.route(of_all, lambda route: held.append(route))  # noqa: PLW0108 (playwright marks the handler)
    page.keyboard.type("ribat")
    page.keyboard.press("ArrowDown")  # the names are those of an earlier text
    assert page.locator("[role=option][aria-selected=true]").count() == 0
    for route in held:
        route.continue_()
    page.unroute(of_all)  # what is held when a route ends is continued by Playwright, too
    page.locator('.names [data-text$="Kiribat"] [role=option]').first.wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/node/country/KIR")
    assert page.get_by_role("heading", level=1).inner_text() == "Kiribati"
    page.get_by_role("link", name="Oceania").first.click()
    assert page.get_by_role("heading", level=1).inner_text() == "Oceania"


def test_words_and_a_question_are_searched(tab: Tab) -> None:
    page = tab.page
    box = page.get_by_role("combobox").first
    box.fill("Which countries border Nepal?")
    box.press("Enter")
    page.wait_for_url("**/search?q=*")
    reading = page.get_by_role("region", name="Reading of the question")
    assert reading.locator("#expression").input_value() == 'country:"Nepal" -> [borders] -> country'
    assert reading.get_by_role("link").all_inner_texts()[:2] == ["China", "India"]
    tab.go(links.page("/search", q="longest river", mode="compare"))
    assert len(page.locator(".columns section").all()) == 3


def test_a_graph_grows_shrinks_and_is_undone(tab: Tab) -> None:
    page = tab.page
    tab.go(links.page("/graph", node="country#NPL"))
    before = tab.drawn()
    assert before[0] == "Nepal"
    assert "Mongolia" not in before
    page.locator("#find").fill("China")
    page.locator("#find").press("Enter")
    page.get_by_role("button", name="Expand").click()
    after = tab.drawn(f"n > {len(before)}")
    assert set(before) < set(after)
    assert "Mongolia" in after
    assert page.locator("#panel").get_by_role("heading", name="China").is_visible()
    page.get_by_role("button", name="Pin").click()
    place = "kbkit.drawn.cy.$id('n' + kbkit.drawn.chosen).position()"
    pinned = page.evaluate(place)
    page.get_by_role("button", name="Collapse").click()
    assert tab.drawn(f"n === {len(before)}") == before
    assert page.evaluate(place) == pytest.approx(pinned)
    page.get_by_role("button", name="Undo").click()
    assert tab.drawn(f"n === {len(after)}") == after
    page.reload()  # every state is an address
    assert tab.drawn(f"n === {len(after)}") == after
    undo = page.get_by_role("button", name="Undo")
    undo.click()  # still one step, which the browser remembers
    assert tab.drawn(f"n === {len(before)}") == before
    assert undo.is_disabled()
    page.go_forward()
    assert tab.drawn(f"n === {len(after)}") == after
    assert undo.is_enabled()
    legend = page.locator("#legend").get_by_role("button", name=re.compile("river"))
    legend.click()
    assert legend.get_attribute("aria-pressed") == "true"
    with page.expect_download() as saved:
        page.locator("#files").get_by_text("GraphML").evaluate("link => link.click()")
    assert saved.value.suggested_filename == "world-Nepal.graphml"
    legend.click()
    page.locator("summary", has_text="Save").click()
    for kind in ("SVG", "PNG"):
        with page.expect_download() as saved:
            page.get_by_role("button", name=kind).click()
        assert saved.value.suggested_filename == f"world-Nepal.{kind.lower()}"
        content = saved.value.path().read_bytes()
        assert content.startswith(b"<svg" if kind == "SVG" else b"\x89PNG")
        if kind == "SVG":  # what the screen shows, and where it is from
            root = ElementTree.fromstring(content)
            texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
            labels = page.evaluate("kbkit.drawn.labelled.flatMap(({ text }) => text.split('\\n'))")
            assert set(labels) <= set(texts)
            assert len(labels) > 10
            assert any(text.startswith("KB world, generation 0001, built on") for text in texts if text)
    page.keyboard.press("Escape")
    names = "kbkit.drawn.data.nodes.filter((_, i) => kbkit.drawn.visible[i]).map(({ name }) => name)"
    legend_of = "document.querySelector('#legend').textContent.match(/country (\\d+)/)[1]"
    countries = int(page.evaluate(legend_of))
    page.locator("#find").fill("China")
    page.locator("#find").press("Enter")
    page.get_by_role("button", name="Hide").click()
    assert "China" not in page.evaluate(names)
    assert int(page.evaluate(legend_of)) < countries  # of what is drawn
    page.locator("summary", has_text="Filter").click()
    page.get_by_label("China").check()
    assert "China" in page.evaluate(names)


def test_a_graph_looks_as_chosen_and_is_saved_as_a_view(tab: Tab) -> None:
    page = tab.page
    radii = "kbkit.drawn.data.nodes.map((_, i) => kbkit.drawn.cy.$id(`n${i}`).data('r'))"
    colours = "new Set(kbkit.drawn.data.nodes.map((_, i) => kbkit.drawn.cy.$id(`n${i}`).data('colour'))).size"
    visible = "kbkit.drawn.visible.filter(Boolean).length"
    tab.go(links.page("/graph", node="country#NPL"))
    nodes = len(tab.drawn())
    page.locator("summary", has_text="Display").click()
    page.get_by_label("Size").select_option(label="PageRank")
    page.locator("#legend").get_by_text("Size: PageRank").wait_for()
    sizes = page.evaluate(radii)
    assert len(set(sizes)) > nodes / 3
    page.get_by_label("Size").select_option("population")
    page.locator("#legend").get_by_text(re.compile(r"Size: population.* \(by area\)")).wait_for()
    at = "kbkit.drawn.data.nodes.findIndex((node) => node.name === name)"
    area = f"(name) => kbkit.drawn.cy.$id(`n${{{at}}}`).data('r') ** 2"
    people = f"(name) => kbkit.drawn.data.values.find((one) => one.name === 'population').values[{at}]"
    china, nepal, most, some = (page.evaluate(what, name) for what in (area, people) for name in ("China", "Nepal"))
    assert china / nepal == pytest.approx(most / some)
    for name in ("China", "India"):
        page.wait_for_function(f"() => kbkit.drawn.labelled.some(({{ text }}) => text === '{name}')")
    page.get_by_label("Size").select_option(label="PageRank")
    page.locator("#legend").get_by_text("Size: PageRank").wait_for()
    page.get_by_label("Colour").select_option("height_m")
    assert page.evaluate(colours) > 5
    page.get_by_label("Layout").select_option("rings")
    page.keyboard.press("Escape")
    page.locator("summary", has_text="Filter").click()
    page.get_by_label("mountain").uncheck()
    shown = page.evaluate(visible)
    assert shown == nodes - 10
    page.get_by_label(re.compile(r"\bmember of")).uncheck()
    assert page.evaluate(visible) == shown - 6
    page.keyboard.press("Escape")
    page.locator("#find").fill("China")
    page.locator("#find").press("Enter")
    page.get_by_role("button", name="Pin").click()
    page.locator("summary", has_text="Save").click()
    page.get_by_label("View").fill("Himalaya")
    page.get_by_label("View").press("Enter")
    page.get_by_text("Saved.").wait_for()
    places = "kbkit.drawn.dots().map((dot) => [dot.id(), Math.round(dot.position().x), dot.locked()])"
    before = page.evaluate(places)
    tab.go("/graph")
    page.get_by_role("link", name="Himalaya").click()
    tab.drawn()
    assert page.evaluate(visible) == shown - 6
    assert page.evaluate(radii) == sizes
    after = page.evaluate(places)  # the panel is closed, so that the positions are scaled
    assert [(one, locked) for one, _, locked in after] == [(one, locked) for one, _, locked in before]
    ranks = [[sorted(x for _, x, _ in found).index(x) for _, x, _ in found] for found in (before, after)]
    assert ranks[0] == pytest.approx(ranks[1], abs=2)
    page.locator("#find").fill("Asia")
    page.locator("#find").press("Enter")
    page.get_by_role("button", name=re.compile(r"^Add 2[0-9] by lies in \(in continent\)")).click()
    tab.drawn(f"n >= {nodes + 20}")
    assert "layout=rings" in page.url


def test_paths_are_listed_and_drawn(tab: Tab) -> None:
    tab.go("/paths")
    for name, text in (("from", "Nepal"), ("to", "France")):
        tab.page.locator(f"[name={name}]").fill(text)
    tab.page.locator("[name=to]").press("Enter")
    tab.page.wait_for_url("**/paths?*")
    assert {"Nepal", "France"} <= set(tab.drawn())
    assert "member of" in tab.page.locator("#main").inner_text()
    tab.go(links.page("/paths", from_="Lake Chad", to="Mount Kilimanjaro"))
    tab.drawn()
    unnamed = """() => {
      const { data } = kbkit.drawn;
      const above = kbkit.drawn.columns(kbkit.drawn.lines());
      const texts = kbkit.drawn.labelled.map(({ text }) => text.replace("\\n", " "));
      const of = (edge) => [...new Set(edge.relations.map(([relation]) => data.relations[relation].label))].join(" | ");
      const gap = ({ s, t }) => Math.min(data.nodes[s].hop, data.nodes[t].hop);
      const own = data.edges.filter((edge) => above.get(gap(edge))?.text !== of(edge)).map(of);
      const wanted = [...[...above.values()].map(({ text }) => text), ...own];
      return [wanted, texts];
    }"""
    wanted, drawn = map(Counter, tab.page.evaluate(unnamed))  # every line has its relation, or its column has it
    assert (wanted.total() > 8, wanted - drawn) == (True, Counter())
    assert "The relation above a column" in tab.page.locator("#main").inner_text()
    tab.page.locator("summary", has_text="Save").click()
    with tab.page.expect_download() as saved:
        tab.page.get_by_role("button", name="SVG").click()
    content = saved.value.path().read_text()  # one file for a colleague: the drawing, and the paths in words
    assert len(re.findall(r">\d+\. Lake Chad [^<]* Mount Kilimanjaro \(\d+ steps, weight [\d.]+\)<", content)) == 10


def test_a_filter_keeps_hits_and_answers_and_is_removed_by_itself(tab: Tab) -> None:
    page = tab.page
    within = "(country{area_km2 > 1000000}) & (continent#asia -> [^in_continent] -> country)"
    tab.go(links.page("/search", q="Which countries border Nepal?", type="country", within=within))
    answer = page.get_by_role("region", name="Reading of the question")
    assert answer.get_by_role("link", name=re.compile("^(China|India|Nepal)$")).all_inner_texts() == ["China", "India"]
    tab.go(links.page("/search", q="Which countries border France?", type="country", within=within))
    answer.get_by_text("Not in this KB with this filter").wait_for()
    filters = page.get_by_role("list", name="Filters").get_by_role("link")
    assert [text.split("\n")[0] for text in filters.all_inner_texts()][-1] == "No filter"
    assert "area_km2 > 1000000 " in filters.nth(0).inner_text()
    assert "lies in: Asia " in filters.nth(1).inner_text()
    filters.nth(1).click()
    page.wait_for_load_state("networkidle")
    assert page.locator("[name=within]").input_value() == "(country{area_km2 > 1000000})"
    page.locator("#search-names-box").fill("Rhine")  # another text drops the filters, unless they are set with it
    page.get_by_label("Within").fill("river")
    page.locator("#search-names-box").press("Enter")
    page.wait_for_url("**/search?q=Rhine&*")
    assert [page.locator(f"[name={name}]").input_value() for name in ("type", "within")] == ["", "river"]


def test_namesakes_are_told_apart_on_every_page(browser: Any, tmp_path: Path) -> None:
    names = ["Ada Vogel", "Dmitri Berg", "Dmitri Berg", "Jonas Blanc"]
    nodes = pl.DataFrame({"key": [f"k{at}" for at in range(4)], "name": names, "type": "keeper", "born": range(4)})
    edges = pl.DataFrame({"head": ["k0", "k1", "k2"], "relation": "mentor", "tail": ["k1", "k2", "k3"]})
    edges = edges.with_columns(head_type=pl.lit("keeper"), tail_type=pl.lit("keeper"))
    made = kbkit.from_frames(nodes, edges, out=tmp_path / "b.kb", stores=["tables", "adjacency", "text"])
    with made as kb, served(kb) as (url, _):
        tab = Tab(browser, url.geturl())
        page = tab.page
        tab.go(links.page("/paths", from_="Ada Vogel", to="Jonas Blanc"))
        assert {"Dmitri Berg (k1)", "Dmitri Berg (k2)"} < set(tab.drawn())
        assert re.search(r"Dmitri Berg \(k1\).*Dmitri Berg \(k2\)", page.locator(".paths").inner_text())
        page.locator("[name=from]").fill("")
        page.locator("[name=from]").press_sequentially("Dmit")
        options = page.locator('#from-names[data-text="Dmit"] [role=option]')
        options.first.wait_for()
        assert [text.partition("; mentor")[0] for text in options.all_inner_texts()] == [
            "Dmitri Berg (k1) keeper; born 1",
            "Dmitri Berg (k2) keeper; born 2",
        ]
        tab.go(links.page("/search", q="Dmitri Berg"))
        assert {"Dmitri Berg (k1)", "Dmitri Berg (k2)"} <= set(page.locator(".hits .node").all_inner_texts())
        assert tab.wrong == []
        tab.context.close()


def test_a_query_is_completed_run_and_cancelled(tab: Tab) -> None:
    page = tab.page
    tab.go("/query")
    box = page.get_by_role("textbox", name=re.compile("^SQL, SPARQL"))
    box.press_sequentially("SELECT name FROM coun")
    page.get_by_role("option", name=re.compile("^country")).first.click()
    assert page.locator("#q").input_value() == box.inner_text() == "SELECT name FROM country"
    box.press_sequentially(" ORDER BY name LIMIT 2")
    box.press("Control+Enter")
    page.get_by_text("2 rows in").wait_for()
    assert page.locator("#result tbody tr").all_inner_texts() == ["Afghanistan", "Albania"]
    assert "LIMIT+2" in page.url
    page.go_back()  # the page is loaded again, with its editor
    page.get_by_role("heading", name="Examples").wait_for()
    page.go_forward()
    page.get_by_text("2 rows in").wait_for()

    def run(text: str) -> None:
        box.press("Control+a")
        page.keyboard.insert_text(text)
        box.press("Control+Enter")

    run(ENDLESS)
    page.get_by_text("Running …").wait_for()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("The query was cancelled.").wait_for()
    run("SELECT nonsense FROM country")
    page.locator("#result .problem").wait_for()
    assert page.locator(".wrong").inner_text() == "nonsense"  # in the editor
    page.get_by_role("button", name="Go to line 1, column 8").click()
    page.keyboard.type("1 AS ")
    assert box.inner_text() == "SELECT 1 AS nonsense FROM country"
    assert page.locator(".wrong").count() == 0
    assert "nonsense" in page.url  # an error can be shared, too
    tab.wrong.clear()  # the console reports the status of the refused query
    run('country:"Nepal" -> [borders] -> country')
    page.get_by_role("button", name="Why").first.click()
    page.locator(".proof").wait_for()
    assert "Nepal" in page.locator(".proof").inner_text()
    page.get_by_role("link", name="China").click()
    assert page.get_by_role("heading", level=1).inner_text() == "China"


def test_a_result_is_sorted_filtered_counted_and_drawn(tab: Tab) -> None:
    page = tab.page
    tab.go("/query")
    box = page.get_by_role("textbox", name=re.compile("^SQL, SPARQL"))
    box.press_sequentially("SELECT id, name, length_km FROM ")
    page.keyboard.press("Escape")
    pane = page.get_by_role("complementary", name="Names and queries")
    pane.get_by_label("Filter types, attributes and relations").fill("length")
    pane.get_by_role("button", name="river", exact=True).click()
    assert box.inner_text() == "SELECT id, name, length_km FROM river"
    page.keyboard.press("Control+Enter")
    page.get_by_text("293 rows in").wait_for()
    page.get_by_role("button", name="Save").first.click()  # leads to the name in the side pane
    page.keyboard.type("lengths")
    page.keyboard.press("Enter")
    saved_query = pane.get_by_role("link", name="lengths", exact=True)
    saved_query.wait_for()
    assert "q=SELECT+id%2C+name%2C+length_km+FROM+river" in (saved_query.get_attribute("href") or "")
    tab.go(links.page("/query", q="SELECT id, name, length_km FROM river", language="sql", view="chart", mark="point"))
    page.locator("#save-name").fill("drawn lengths")
    page.locator("#save-name").press("Enter")
    drawn = pane.get_by_role("link", name="drawn lengths", exact=True)
    drawn.wait_for()
    assert "view=chart&mark=point" in (drawn.get_attribute("href") or "")  # as it was shown
    page.go_back()
    page.get_by_text("293 rows in").wait_for()
    page.get_by_role("link", name="Next").click()
    page.get_by_text("Rows 101–200 of 293").wait_for()
    for arrow in "▲▼":
        page.locator("thead").get_by_role("link", name="length_km").click()
        page.get_by_text(arrow).wait_for()
    assert page.locator("#result tbody tr").first.inner_text().split() == [*_first_row(page), "Nile", "6,650"]
    page.locator("#filter-2").press_sequentially("<6000")
    page.get_by_text("match the filters").wait_for()
    assert page.evaluate("document.activeElement.id") == "filter-2"
    page.reload()  # every state is an address
    page.get_by_text("match the filters").wait_for()
    page.get_by_role("link", name="Columns").click()
    page.get_by_text("all differ").wait_for()
    page.get_by_title("Sort the rows").last.click()
    page.get_by_text("▼").wait_for()
    page.go_back()
    page.get_by_text("all differ").wait_for()
    assert "view=columns" in page.url
    page.get_by_role("link", name="Chart").click()
    page.get_by_text(re.compile("rows; the 40 largest")).wait_for()
    assert page.evaluate("kbkit_chart.view.data('rows').length") > 200
    assert page.locator("select[name=y] option").first.inner_text() == "automatic: length_km"
    page.get_by_label("Marks").select_option("point")
    page.wait_for_function("() => kbkit_chart.spec.mark.type === 'point'")
    assert "mark=point" in page.url
    page.go_back()
    page.wait_for_function("() => globalThis.kbkit_chart?.spec.mark.type === 'bar'")
    page.go_forward()
    page.wait_for_function("() => globalThis.kbkit_chart?.spec.mark.type === 'point'")
    page.get_by_label("Logarithmic").select_option("y")
    page.wait_for_function("() => kbkit_chart.spec.encoding.x.scale?.type === 'log'")
    assert "log=y" in page.url
    place = page.evaluate(
        "(() => { const are = (m) => m.marktype === 'symbol' && m.items.length > 9;"
        " const of = (m) => are(m) ? m : (m.items ?? []).map(of).find(Boolean);"
        " const [{ x, y }] = of(kbkit_chart.view.scenegraph().root).items, [left, top] = kbkit_chart.view.origin();"
        " const { left: beside, top: above } = kbkit_chart.view.padding();"
        " return [x + left + beside, y + top + above]; })()"
    )
    page.locator("#chart canvas").hover(position={"x": place[0], "y": place[1]})
    page.locator("#chart-tip", has_text="name: ").wait_for()
    told = page.locator("#chart-tip").inner_text()
    page.locator("#chart canvas").click(position={"x": place[0], "y": place[1]})
    page.wait_for_url("**/node/river/*")
    assert f"name: {page.get_by_role('heading', level=1).inner_text()}" in told
    page.go_back()
    page.wait_for_function("() => globalThis.kbkit_chart?.spec.mark.type === 'point'")
    with page.expect_download() as saved:
        page.get_by_role("button", name="SVG").click()
    assert "<svg" in Path(saved.value.path()).read_text()
    repeated = "SELECT c.name, c.population FROM country c JOIN borders b ON b.head = c.id"
    tab.go(links.page("/query", q=repeated, view="chart"))
    page.wait_for_function("() => globalThis.kbkit_chart?.spec.mark.type === 'point'")  # bars would be stacked
    several = page.get_by_text(re.compile("have several rows: each row is a point, not a bar"))
    several.wait_for()
    page.get_by_label("Marks").select_option("bar")
    page.get_by_text(re.compile("their values are stacked, as a sum")).wait_for()
    page.get_by_label("Total").select_option("max")
    page.wait_for_function("() => kbkit_chart.spec.encoding.x.aggregate === 'max'")
    assert several.count() == 0
    tab.go(links.page("/query", q='river:"Danube" -> [flows_through] -> country', view="graph"))
    assert {"Danube", "Austria"} < set(tab.drawn())
    page.locator(".drawn summary", has_text="Save").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="SVG").click()
    assert ">flows through or along</text>" in Path(saved.value.path()).read_text()  # a line's name in the legend
    opened = page.evaluate("history.length")
    asked = links.page("/query", q="river", language="answers", question="which rivers")  # as a form leads to it
    tab.go(asked)
    page.get_by_text("293 rows in").wait_for()
    assert page.evaluate("history.length") == opened + 1  # one step back leaves the page


def test_the_schema_shows_a_type(tab: Tab) -> None:
    page = tab.page
    tab.go("/schema")
    assert "river 293" in tab.drawn()
    page.get_by_label("Find a type in the drawing").fill("river")
    page.keyboard.press("Enter")
    panel = page.get_by_role("complementary", name="Type")
    panel.get_by_role("heading", name="river").wait_for()
    page.locator("#tables").get_by_role("link", name="mountain").first.click()
    panel.get_by_role("heading", name="mountain").wait_for()
    page.reload()  # the type is in the address
    panel.get_by_role("heading", name="mountain").wait_for()
    page.locator("#tables").get_by_role("link", name="river").first.click()
    panel.get_by_role("heading", name="river").wait_for()
    panel.get_by_role("link", name="river → flows_into → sea").click()
    page.get_by_text("162 rows in").wait_for()


def _first_row(page: Any) -> list[str]:
    return page.locator("#result tbody tr").first.locator("td").first.inner_text().split()  # type: ignore[no-any-return]


def test_hits_are_graded_by_keys_and_resumed(browser: Any, world_kb: Path, tmp_path: Path) -> None:
    with kbkit.open(shutil.copytree(world_kb, tmp_path / "k.kb")) as kb, served(kb) as (url, _):
        tab = Tab(browser, url.geturl())
        page, labels = tab.page, Labels(kb)
        tab.go("/label")
        page.get_by_label("Query", exact=True).fill("long rivers in Asia")
        page.get_by_label("Annotator").fill("ann")
        page.get_by_role("button", name="Find hits").click()
        page.wait_for_url("**/label/1")
        pool = labels.query("1").pool
        for done, key in enumerate("2102211020", 1):
            page.keyboard.press(key)
            page.get_by_text(f"{done} of {len(pool)} graded").wait_for()
        grades = [labels.grades("ann")["1", node].mark for node in pool[:10]]
        assert grades == [2, 1, 0, 2, 2, 1, 1, 0, 2, 0]
        page.keyboard.press("u")
        page.get_by_text(f"9 of {len(pool)} graded").wait_for()
        page.keyboard.press("n")
        page.wait_for_function("() => document.activeElement.name === 'note'")
        page.keyboard.type("not sure 2")
        page.keyboard.press("Enter")
        page.locator(".hit:nth-child(10)").get_by_text("Saved").wait_for()
        withdrawn = labels.grades("ann")["1", pool[9]]
        assert (withdrawn.mark, withdrawn.note) == (None, "not sure 2")
        page.wait_for_load_state("networkidle")  # a reload that meets a request of the page is aborted
        page.reload()  # the work goes on at the first hit without a grade
        assert page.evaluate("[...document.querySelectorAll('.hit')].indexOf(document.activeElement)") == 9
        page.keyboard.press("k")
        page.keyboard.press("1")
        page.locator(".hit:nth-child(9)[data-grade='1']").wait_for()
        assert labels.grades("ann")["1", pool[8]].mark == 1
        for _ in range(4):
            page.keyboard.press("k")
        page.keyboard.press("0")  # after a correction, the next hit without a grade
        page.locator(".hit:nth-child(6)[data-grade='0']").wait_for()
        page.wait_for_function("() => [...document.querySelectorAll('.hit')].indexOf(document.activeElement) === 9")
        assert page.locator(".graded h1").inner_text() == "long rivers in Asia"
        page.locator(".hit:nth-child(3) [name=note]").fill("left")
        page.locator(".hit:nth-child(5)").click()
        page.locator(".hit:nth-child(3)").get_by_text("Saved").wait_for()
        assert labels.grades("ann")["1", pool[2]].note == "left"
        assert tab.wrong == []
        page.locator(".hit:nth-child(5)").focus()
        other = labels.write("deep lakes", "ann")
        page.reload()
        page.keyboard.press("g")  # the next query to grade
        page.wait_for_url(f"**/label/{other.id}")
        page.go_back()
        page.locator(".hit:nth-child(5)").focus()
        page.keyboard.press("w")
        page.wait_for_url("**/label")
        assert page.get_by_label("Annotator").input_value() == "ann"
        page.go_back()
        page.locator(".grading").wait_for()
        shutil.move(kb.workspace.folder / "labels" / "grades", tmp_path / "grades")
        (kb.workspace.folder / "labels" / "grades").write_text("")
        page.locator(".hit:nth-child(10)").focus()
        page.keyboard.press("2")
        page.locator(".hit:nth-child(10) .problem").wait_for()  # what could not be saved is said, and not counted
        assert page.locator(".hit:nth-child(10)").get_attribute("data-grade") == ""
        tab.context.close()


def test_disagreements_are_decided_by_keys(browser: Any, world_kb: Path, tmp_path: Path) -> None:
    with kbkit.open(shutil.copytree(world_kb, tmp_path / "k.kb")) as kb, served(kb) as (url, _):
        tab = Tab(browser, url.geturl())
        page, labels = tab.page, Labels(kb)
        pool = labels.write("long rivers in Asia", "ann").pool[:3]
        for node in pool:
            labels.grade("1", node, 2, "ann")
            labels.grade("1", node, 0, "bob")
        tab.go("/label/disagreements?who=carl")
        page.get_by_text("0 of 3 decided").wait_for()
        for done, key in enumerate("21", 1):
            page.keyboard.press(key)
            page.get_by_text(f"{done} of 3 decided").wait_for()
        page.get_by_text("Decided by carl").nth(1).wait_for()
        assert sorted(one.mark for one in labels.decisions().values()) == [1, 2]
        page.keyboard.press("n")
        page.wait_for_function("() => document.activeElement.name === 'note'")
        page.keyboard.type("unclear")
        page.keyboard.press("Escape")
        page.keyboard.press("0")
        page.get_by_text("All 3 decided").wait_for()
        assert [one.note for one in labels.decisions().values() if one.mark == 0] == ["unclear"]
        assert tab.wrong == []
        tab.context.close()


def test_notes_and_marks_are_saved_apart(browser: Any, world_kb: Path, tmp_path: Path) -> None:
    """However a note is left, it is saved, and the grade, the decision or the tick beside it stays."""
    with kbkit.open(shutil.copytree(world_kb, tmp_path / "k.kb")) as kb, served(kb) as (url, _):
        tab = Tab(browser, url.geturl())
        page, labels = tab.page, Labels(kb)
        pool = labels.write("long rivers in Asia", "ann").pool[:4]
        for node in pool:
            labels.grade("1", node, 1, "bob")
            labels.grade("1", node, 0, "ann")
        hits = page.locator(".hit")

        def note(at: int, text: str) -> Any:
            hits.nth(at).get_by_label(re.compile("^Note on")).fill(text)
            return hits.nth(at).get_by_label(re.compile("^Note on"))

        def saved(at: int) -> None:
            hits.nth(at).get_by_text("Saved").wait_for()

        for path in ("/label/1?annotator=dan", "/label/disagreements?who=dan"):
            tab.go(path)
            hits.nth(0).get_by_role("button", name=re.compile("^2")).click()
            page.locator(".hit[data-grade='2']").first.wait_for()
            note(0, "left by Tab").press("Tab")
            saved(0)
            note(1, "before the grade").press("Escape")
            saved(1)
            page.keyboard.press("1")
            page.locator(".hit[data-grade='1']").first.wait_for()
            note(1, "left for a button")
            hits.nth(2).get_by_role("button", name=re.compile("^0")).click()
            page.locator(".hit[data-grade='0']").first.wait_for()
            note(2, "sent by Enter").press("Enter")
            saved(2)
            note(3, "left by a click")
            page.mouse.click(1190, 400)
            saved(3)
            page.reload()
            shown = "(hits) => hits.slice(0, 4).map((hit) => [hit.dataset.grade, hit.querySelector('.note').value])"
            assert hits.evaluate_all(shown) == [
                ["2", "left by Tab"],
                ["1", "left for a button"],
                ["0", "sent by Enter"],
                ["", "left by a click"],
            ]
        note(0, "of all")  # of a decision that is known
        saved(0)
        assert labels.decisions()["1", pool[0]].mark == 2
        tab.go("/check")
        pick = page.get_by_label(re.compile("^Choose: ")).first
        pick.check()
        field = page.locator("td .note").first
        field.fill("look it up")
        field.press("Enter")  # no button is pressed
        page.get_by_text("Judge the rows").first.click()
        rows = page.locator(".judged .record")
        rows.nth(0).get_by_role("checkbox").check()
        rows.nth(0).get_by_text("Saved").wait_for()
        rows.nth(1).locator(".note").fill("doubtful")
        rows.nth(1).get_by_text("Saved").wait_for()
        found = axe.Axe().run(page).response["violations"]
        assert [(v["id"], node["html"]) for v in found for node in v["nodes"]] == []
        names = rows.locator(".node").all_inner_texts()[:2]
        with page.expect_download() as report:
            page.get_by_role("button", name="Download the chosen findings").click()
        text = report.value.path().read_text()
        assert ("1 row judged fine left out" in text, f"| {names[0]} |" in text) == (True, False)
        assert re.search(rf"\| {names[1]} \|.* doubtful \|", text)
        pick.uncheck()
        page.get_by_text("0 findings chosen, saved").wait_for()
        page.reload()
        pick.check()
        assert field.input_value() == "look it up"
        assert tab.wrong == []
        tab.context.close()


def test_findings_are_chosen_and_saved(tab: Tab) -> None:
    page = tab.page
    tab.go("/check")
    note = page.get_by_label(re.compile("^Note on mountain")).first
    assert not note.is_visible()
    page.get_by_label(re.compile("^Choose: mountain")).first.check()
    page.get_by_text("1 finding chosen, saved").wait_for()
    page.get_by_label("Note on all chosen findings").fill("for the curator")
    note.fill("look it up")
    page.locator("tr:has(:checked) td:last-child a").click()  # at once: leaving loses nothing
    page.wait_for_url("**/query?*")
    page.get_by_role("link", name="Check", exact=True).click()
    assert note.input_value() == "look it up"
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download the chosen findings").click()
    assert saved.value.suggested_filename == "world-check-report.md"
    text = saved.value.path().read_text()
    assert "- for the curator\n" in text
    assert re.search(r"^## mountain: .*\n\nlook it up\n", text, re.M)
    assert note.input_value() == "look it up"  # the page stays


def test_pairs_are_decided_by_keys_and_resumed(browser: Any, tmp_path: Path) -> None:
    names = ["Elm Street Bakery", "Elm Street Bakry", "Acme Tools", "Acme Tols", "Johnson and Sons", "Jonson and Sons"]
    nodes = pl.DataFrame({"key": [f"k{at}" for at in range(6)], "name": names, "type": "firm"})
    made = kbkit.from_frames(nodes, out=tmp_path / "f.kb", stores=["tables", "adjacency", "text"])
    with made as kb, served(kb) as (url, _):
        tab = Tab(browser, url.geturl())
        page = tab.page
        tab.go("/check/duplicates")
        rows = page.locator(".grading > .hit")
        rows.nth(2).wait_for()
        for done, key in enumerate("ma", 1):
            page.keyboard.press(key)
            page.get_by_text(f"{done} of 3 decided").wait_for()
        tab.go("/check/duplicates?type=firm")
        page.get_by_text("2 of 3 decided").wait_for()
        marks = rows.evaluate_all("(rows) => rows.map((row) => row.dataset.grade)")
        assert marks == ["merge", "apart", ""]
        found = axe.Axe().run(page).response["violations"]
        assert [(v["id"], node["html"]) for v in found for node in v["nodes"]] == []
        rows.nth(1).get_by_role("button", name="Withdraw").click()
        page.get_by_text("1 of 3 decided").wait_for()
        assert tab.wrong == []
        tab.context.close()


def test_another_annotator_sees_no_grades_of_the_first(browser: Any, world_kb: Path, tmp_path: Path) -> None:
    with kbkit.open(shutil.copytree(world_kb, tmp_path / "k.kb")) as kb, served(kb) as (url, _):
        tab = Tab(browser, url.geturl())
        page, labels = tab.page, Labels(kb)
        query = labels.write("long rivers in Asia", "ana")
        for node in query.pool:
            labels.grade("1", node, 2, "ana")
        tab.go("/label/1?annotator=ana")
        page.get_by_text(f"All {len(query.pool)} graded").wait_for()
        tab.go("/label")
        page.get_by_role("link", name="Review the hits of long rivers in Asia").wait_for()
        page.get_by_label("Annotator").fill("ben")
        page.get_by_role("link", name="long rivers in Asia", exact=True).click()  # at once
        page.wait_for_url("**/label/1?*")
        assert page.get_by_text(f"0 of {len(query.pool)} graded").is_visible()
        page.locator("summary", has_text="Grade the rest").click()
        left = page.locator("[data-left]")
        assert left.inner_text() == str(len(query.pool))
        page.locator(".hit").first.focus()
        page.keyboard.press("0")
        page.get_by_text(f"1 of {len(query.pool)} graded").wait_for()
        assert left.inner_text() == str(len(query.pool) - 1)
        tab.go("/label")
        page.get_by_label("Annotator").fill("ana")
        page.get_by_role("link", name="Review the hits of long rivers in Asia").wait_for()  # the table is hers again
        assert labels.grades("ana")["1", query.pool[0]].mark == 2
        assert tab.wrong == []
        tab.context.close()


def test_names_do_not_cover_one_another_on_narrow_pages(browser: Any, address: str) -> None:
    """No label of a drawing of paths covers another one, or a node."""
    for width in (390, 800):
        tab = Tab(browser, address, width)
        tab.go(links.page("/paths", from_="Brazil", to="Angola", limit=25))
        tab.drawn()
        tab.page.wait_for_function("() => kbkit.drawn.labelled?.length > 9")
        boxes = tab.page.evaluate("kbkit.drawn.labelled.map(({ box }) => box)")
        dots = tab.page.evaluate(
            "kbkit.drawn.dots().map((dot) => [dot.renderedPosition().x, dot.renderedPosition().y])"
        )
        over = [(a, b) for at, a in enumerate(boxes) for b in boxes[:at] if _meet(a, b)]
        hidden = [(x, y) for x, y in dots for left, top, right, low in boxes if left < x < right and top < y < low]
        assert (width, over, hidden) == (width, [], [])
        tab.context.close()


LINES = """kbkit.drawn.data.edges.map(({ s, t }, e) => {
  const at = (i) => [kbkit.drawn.cy.$id(`n${i}`).position()].map(({ x, y }) => [x, y])[0];
  const line = kbkit.drawn.cy.$id(`e${e}`);
  const [bend, { x, y }] = [(line.data("bend") ?? 0) / 2, line.midpoint()];
  const pieces = kbkit.pieces(at(s), at(t), bend);
  const dots = kbkit.drawn.data.nodes.map((_, i) => i).filter((i) => i !== s && i !== t);
  return s === t ? [99, 0] : [
    Math.min(...dots.map((i) => kbkit.apart(at(i), pieces))), kbkit.apart([x, y], pieces),
  ];
})"""
"""Of each line the distance to the nearest node that is not its end, and from where Cytoscape.js draws its middle."""


def test_lines_pass_through_no_node_and_have_labels_of_their_own(browser: Any, address: str) -> None:
    """Else a line from Germany through Suriname reads as one of Suriname."""
    for width in (390, 1200):
        tab = Tab(browser, address, width)
        for path in (links.page("/paths", from_="France", to="Brazil"), "/schema"):
            tab.go(path)
            tab.drawn()
            tab.page.wait_for_function("() => kbkit.drawn.labelled?.length > 9")
            lines = tab.page.evaluate(LINES)
            assert (path, width, min(free for free, _ in lines) > 7) == (path, width, True)
            assert max(wrong for _, wrong in lines) < 3
        texts = tab.page.evaluate("kbkit.drawn.labelled.map(({ text }) => text)")
        assert any(text.startswith("member of") for text in texts) or width < 1200
        assert tab.wrong == []
        tab.context.close()


def _meet(a: list[float], b: list[float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def test_queries_come_from_a_file_and_get_nodes_by_name(browser: Any, world_kb: Path, tmp_path: Path) -> None:
    (tmp_path / "queries.txt").write_text("long rivers\nhigh mountains\n")
    with kbkit.open(shutil.copytree(world_kb, tmp_path / "k.kb")) as kb, served(kb) as (url, _):
        tab = Tab(browser, url.geturl())
        page, labels = tab.page, Labels(kb)
        tab.go("/label")
        page.get_by_label("Annotator").fill("ann")
        page.locator("summary", has_text="Several queries").click()
        page.get_by_label("Read queries from a file").set_input_files(tmp_path / "queries.txt")
        page.wait_for_function("() => document.getElementById('label-many').value.includes('mountains')")
        page.get_by_role("button", name="Save all").click()
        page.get_by_role("link", name="high mountains", exact=True).click()
        page.wait_for_url("**/label/2")
        page.locator("summary", has_text="Add nodes").click()
        page.get_by_label("A node").press_sequentially("Monac")
        page.locator('.names [data-text$="Monac"] [role=option]').first.wait_for()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Add the node").click()
        page.locator(".hit .node", has_text="Monaco").first.wait_for()
        assert labels.query("2").pool[-1] in ("country#MCO", "city#monaco")
        with tab.context.expect_page() as opened_page:
            page.locator(".hit .node").last.click()
        assert "/node/" in opened_page.value.url
        assert page.url.endswith("/label/2?answers=1")
        page.locator("summary", has_text="Delete").click()
        page.get_by_role("button", name="Delete").click()
        page.wait_for_url("**/label")
        assert [query.text for query in labels.queries()] == ["long rivers"]
        assert tab.wrong == []
        tab.context.close()


def test_a_page_says_that_its_server_is_gone(browser: Any, world_kb: Path) -> None:
    with kbkit.open(world_kb) as kb, served(kb) as (url, _):
        tab = Tab(browser, url.geturl())
        tab.go("/query?q=SELECT+1")
    tab.page.get_by_role("button", name="Run").click()
    tab.page.get_by_text("The server does not answer").wait_for()
    tab.context.close()


SCREENS = {
    "label": "/label?annotator=ann",
    "grades": "/label/1?annotator=ann",
    "disagreements": "/label/disagreements?who=ann",
    "home": "/",
    "search": links.page("/search", q="Which countries border Nepal?"),
    "refused": links.page("/search", q="countries with twice as many lakes as Canada?"),
    "facets": links.page("/search", q="country", type="country", within="country{area_km2 > 1000}"),
    "compare": links.page("/search", q="longest river", mode="compare"),
    "node": "/node/country/NPL?q=highest+peaks",
    "map": "/node/city/kathmandu",
    "views": "/graph",
    "looks": links.page(
        "/graph", node="country#NPL", size="*pagerank", colour="area_km2", layout="rings", hide="type:mountain"
    ),
    "graph": links.page("/graph", node="country#NPL"),
    "unknown node": links.page("/paths", from_="Nepal", to="xyzzyq"),
    "chosen paths": links.page("/paths", from_="Nepal", to="France", type=["country", "continent"], nohubs=1),
    "paths": links.page("/paths", from_="Nepal", to="France"),
    "query": links.page("/query", q='country:"Nepal" -> [borders] -> country'),
    **{
        f"query as {view}": links.page("/query", q="SELECT id, name, area_km2 FROM country", view=view)
        for view in ("table", "columns", "chart", "code", "graph")
    },
    "filtered chart": links.page(
        "/query", q="SELECT id, name, area_km2 FROM country", view="chart", log="x", f1="land", f2=">1000"
    ),
    "wrong query": links.page("/query", q="SELECT nme FROM country"),
    "schema": "/schema",
    "type": "/schema?type=river",
    "check": "/check",
    "similar nodes": "/check/duplicates",
    "suggested": "/label/draw?type=river&annotator=ann",
    "added": "/label/1?answers=40",
    "error": "/node/country/nowhere",
}


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (900, "dark"), (1920, "light")])
def test_every_screen_fits_and_is_accessible(browser: Any, address: str, width: int, scheme: str) -> None:
    """No screen scrolls sideways, and axe-core finds nothing (WCAG 2.2 AA and its best practices)."""
    tab = Tab(browser, address, width, scheme)
    tab.page.request.post(f"{address}/label", form={"q": "long rivers", "annotator": "ann"})
    for who, grade in (("ann", "2"), ("bob", "0")):
        form = {"node": "river#yangtze", "annotator": who, "grade": grade}
        tab.page.request.post(f"{address}/label/1", form=form)
    tab.page.request.post(f"{address}/label/1/add", form={"answers": "lake", "annotator": "ann"})
    tab.page.request.post(f"{address}/graph/views", form={"name": "a", "address": "?node=Nepal", "places": "{}"})
    for name, path in SCREENS.items():
        tab.go(path)
        if name in ("graph", "looks", "paths", "query as graph", "schema"):
            tab.drawn()
        if name in ("facets", "label", "grades"):
            tab.page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
        if name == "looks":
            tab.page.locator("#legend").get_by_text("Colour: area (km²)").wait_for()
            tab.page.locator("summary", has_text="Filter").click()
        assert tab.page.evaluate("document.documentElement.scrollWidth") <= width, name
        found = axe.Axe().run(tab.page).response["violations"]
        assert [(v["id"], node["html"]) for v in found for node in v["nodes"]] == [], name
    tab.context.clear_cookies()
    tab.page.goto(f"{address}/schema")  # which asks for the token
    found = axe.Axe().run(tab.page).response["violations"]
    assert [(v["id"], node["html"]) for v in found for node in v["nodes"]] == []
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= width
    tab.context.close()
