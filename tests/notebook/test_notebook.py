"""What a notebook shows: pages as HTML, and the magic ``%kb`` in a real IPython."""

from __future__ import annotations

import ast
import copy
import dataclasses
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import textwrap
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NoReturn

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import kbkit
from kbkit.display import html as html_pages
from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase
from kbkit.notebook.magic import questions
from kbkit.search.hits import SearchResults
from tests.loops import each

HOSTILE = [
    "<script>alert(1)</script>",
    "</td></tr></table></details></div><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "' style='position:fixed",
    "]]><!-- a & b -->",
    "a\x00b\x1b[31mc\x07\x9b",
    "half \ud800 a pair",
    "$x^2$ **bold** &amp;",
    "n" * 100_000,
]
TABLE = {"table", "thead", "tbody", "tr", "th", "td"}
TAGS = {"div", "style", "b", "br", "code", "details", "summary", "ul", "li", "span", "mark", *TABLE}


class Shown(HTMLParser):
    """The tags of a page, its text without the style, and whether every tag is closed where it should be."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str | None]] = set()
        self.text = ""
        self.open: list[str] = []
        self.balanced = True
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= set(attrs)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self.balanced = self.balanced and bool(self.open) and self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data


def pages(text: str) -> list[str]:
    """Every kind of page, with the text wherever a KB has one."""
    group = {"relation": text, "label": text, "direction": "out", "type": text, "count": 7}
    group["neighbors"] = [{"reference": text, "name": text, text: text}]
    node = {"id": 3, "reference": text, "name": text, "aliases": [text], "other_types": [text]}
    node |= {"attributes": {text: text, "list": [text], "struct": {text: text}}, "attribute_labels": {text: text}}
    node |= {"texts": [{"field": text, "text": text}], "relations": [group, {**group, "direction": "in"}]}
    columns = ["rank", "id", "key", "type", "name", "score", text, "snippet", "why", "linked"]
    hit = (1, 0, text, text, text, 0.5, text, text, [text], [text])
    return [
        html_pages.node(node),
        html_pages.answers(text, text, 30, [(text, text, text)], [text, text]),
        html_pages.hits(columns, [hit], 1),
        html_pages.overview(text, text, [text], {text: ((text, "n"), [(text, 1)])}),
        html_pages.failure(text, text),
    ]


def check(page: str) -> Shown:
    """A page is well formed, of known parts, and neither runs nor fetches anything."""
    shown = Shown(page)
    assert shown.balanced
    assert shown.open == []
    assert shown.tags <= TAGS
    names = {name for name, _ in shown.attributes}
    assert names <= {"class"}
    assert {value for _, value in shown.attributes} <= {"kbkit tex2jax_ignore mathjax_ignore", "n", "dim", "text"}
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", page)
    [style] = re.findall(r"<style>(.*?)</style>", page)
    assert "url" not in style
    assert "@" not in style
    return shown


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_stays_text(text: str) -> None:
    for page in each(pages(text)):
        shown = check(page)
        beginning = re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", "\ufffd", text[:60]).replace("\ud800", "?")
        assert beginning.replace("**", "") in shown.text.replace("**", "")
        assert len(page) < 100_000


@given(st.text(max_size=400))
def test_any_text_stays_text(text: str) -> None:
    for page in pages(text):
        check(page)


def test_a_long_text_of_a_node_is_cut() -> None:
    page = pages("n" * 100_000)[0]
    assert page.count("n" * 10_000 + "…") == 1
    assert "n" * 10_001 not in page


# -- objects ----------------------------------------------------------------------------------------------------------


def test_a_kb(world: KnowledgeBase, world_kb: Path) -> None:
    shown = check(world._repr_html_())
    assert shown.text.startswith("world: Countries of the world and their relations1,642 nodes; 5,486 edges; ")
    assert f"; 1,640 texts; {world_kb}" in shown.text
    assert "11 types" in shown.text
    assert "is a member of" in shown.text


def test_a_kb_of_many_relations_shows_the_first() -> None:
    rows = [(f"r{n}", n) for n in range(5000)]
    page = html_pages.overview("n", "", [], {"relations": (("relation", "edges"), rows)})
    shown = check(page)
    assert "5,000 relations" in shown.text
    assert shown.text.endswith("r9999… and 4,900 more")


def test_an_answer_set(world: KnowledgeBase) -> None:
    shown = check(world.answers('country:"France" -> [borders] -> country')._repr_html_())
    assert shown.text.startswith('country:"France" -> [borders] -> country11 members of type countryname')
    assert "Andorracountry#AND" in shown.text
    assert shown.text.endswith("why AndorraFrance -> [borders] -> Andorra")
    many = check(world.answers("country")._repr_html_())
    assert many.text.count("country#") == 20
    assert "… and 177 more" in many.text
    one = check(world.answers('country:"Portugal" -> [borders] -> country')._repr_html_())
    assert "1 member of type country" in one.text
    none = check(world.answers('country:"France" - country')._repr_html_())
    assert none.text == 'country:"France" - country0 members of type country'


def test_unavailable_answers_show_the_reason(world: KnowledgeBase, tmp_path: Path) -> None:
    class Late:
        def ids(self, *_: object) -> NoReturn:
            raise KbError("Query cancelled after 1 s")

    assert "Query cancelled after 1 s" in check(world.answers("country", engine=Late())._repr_html_()).text
    with kbkit.ingest("world", out=tmp_path / "w.kb", stores=["tables"]) as kb:
        shown = check(kb.answers("country", engine="sql")._repr_html_())
        assert "197 members" in shown.text
        assert "why" not in shown.text
        assert "A landlocked country" in check(kb.node("Nepal")._repr_html_()).text


def test_a_page_shows_neighbours(world: KnowledgeBase) -> None:
    shown = check(world.page("Nepal")._repr_html_())
    assert shown.text.startswith("Nepalcountry#NPL (id 130)official_name")
    assert "area_km2147181" in shown.text
    assert "-> [borders] -> country: 2 China, India" in shown.text
    assert "<- [lies_in] <- mountain: 10 " in shown.text
    assert re.search(r"… and 5 more", shown.text)


def test_a_node_shows_what_it_is(world: KnowledgeBase) -> None:
    shown = check(world.node("Nepal")._repr_html_())
    assert shown.text.startswith("Nepalcountry#NPL (id 130)official_name")
    assert "area_km2147181" in shown.text
    assert "borders" not in shown.text


# -- search results ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def found(world: KnowledgeBase) -> SearchResults:
    return world.search("landlocked country", k=5, mode="bm25")


def test_hits(found: SearchResults, world: KnowledgeBase) -> None:
    page = found._repr_html_()
    shown = check(page)
    assert "<mark>landlocked</mark> <mark>country</mark>" in page
    assert "**" not in shown.text
    assert all(name in shown.text for name in found["name"])
    explained = world.search("Which countries border Nepal?", k=3, mode="relational", explain=True)._repr_html_()
    assert "Nepal: country#NPL" in check(explained).text
    assert check(world.search("zzzz", mode="bm25")._repr_html_()).text == "no hits"
    many = SearchResults(pl.concat([found] * 60))
    assert "… and 200 more" in check(many._repr_html_()).text


def test_results_are_a_frame(found: SearchResults) -> None:
    plain = pl.DataFrame(found.to_dict())
    assert isinstance(found, pl.DataFrame)
    assert_frame_equal(found, plain)
    assert_frame_equal(plain, found)
    assert found.equals(plain)
    assert (found == plain).select(pl.all_horizontal(pl.all())).to_series().all()
    top = pl.col("rank") <= 2
    for same in (
        lambda f: f.filter(top),
        lambda f: f.select("name", pl.col("score") * 2),
        lambda f: f.with_columns(x=1).drop("x"),
        lambda f: f.join(plain, on="id"),
        lambda f: plain.join(f, on="id", how="anti"),
        lambda f: pl.concat([f, plain]),
        lambda f: pl.concat([plain, f]),
        lambda f: f.lazy().filter(top).collect(),
        lambda f: f.group_by("type").len().sort("type"),
        lambda f: f.sort("name")[1:3],
        lambda f: f.vstack(plain).unique(maintain_order=True),
        lambda f: f.rename({"name": "n"}).cast(pl.String),
        lambda f: pl.DataFrame(f.to_arrow()),
        lambda f: pl.SQLContext(frame=f).execute("SELECT name FROM frame ORDER BY name", eager=True),
        lambda f: pickle.loads(pickle.dumps(f)),
        copy.deepcopy,
    ):
        assert_frame_equal(same(found), same(plain))  # type: ignore[no-untyped-call]
    assert str(found) == str(plain)


def test_without_its_columns_it_is_polars_table(found: SearchResults) -> None:
    fewer = SearchResults(found.drop("snippet"))
    assert fewer._repr_html_() == pl.DataFrame(fewer)._repr_html_()
    head = found.head(2)
    assert "kbkit" in head._repr_html_()


# -- the magic --------------------------------------------------------------------------------------------------------

SESSION = """
import json, sys
from IPython.core.displayhook import DisplayHook
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

settings = {"HistoryManager": {"enabled": False}, "InteractiveShell": {"colors": "nocolor"}}
shell = InteractiveShell.instance(config=Config(settings))
format = shell.display_formatter.format
records = []
for cell in json.load(sys.stdin):
    with capture_output() as captured:
        done = shell.run_cell(cell)
    value = done.result
    error = done.error_in_exec or done.error_before_exec
    data = {} if value is None else format(value)[0]
    records.append({
        "error": "" if error is None else f"{type(error).__name__}: {error}",
        "out": captured.stdout, "err": captured.stderr, "type": type(value).__name__,
        "shown": [sorted(o.data) for o in captured.outputs],
        "text": data.get("text/plain", ""), "html": data.get("text/html", ""),
    })
json.dump(records, open(sys.argv[1], "w"))
"""


def session(folder: Path, *cells: str) -> list[dict[str, Any]]:
    """Run cells in an IPython of their own; what each left."""
    out = folder / "records.json"
    done = subprocess.run(
        [sys.executable, "-c", SESSION, str(out)],
        input=json.dumps([textwrap.dedent(cell) for cell in cells]),
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "IPYTHONDIR": str(folder / "ipython"), "COLUMNS": "80"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    records: list[dict[str, Any]] = json.loads(out.read_text(encoding="utf-8"))
    return records


LOCKED = """
import pathlib
from kbkit.directory import systems
def free(path):
    with open(next(pathlib.Path(path).glob("generations/*/lock")), "rb") as handle:
        return systems.lock(handle, shared=False)
"""
CELLS = {
    "load": "%load_ext kbkit",
    "nothing open": "%kb SELECT 1",
    "no such KB": "%kb open nowhere.kb",
    "open": "%kb open world.kb",
    "frame": "df = %kb SELECT name FROM country ORDER BY name LIMIT 2",
    "frame used": "df['name'].to_list()",
    "SPARQL": "%kb SELECT ?n { country:NPL rdfs:label ?n }",
    "answers": '%kb country:"France" -> [borders] -> country',
    "why": "%kb .why 1",
    "search": "%kb landlocked mountain kingdom",
    "question": "%kb which kingdom is landlocked?",
    "question assigned": "hits = %kb which kingdom is landlocked?",
    "question used": "type(hits).__name__, hits.height",
    "page": "%kb .show Nepal",
    "around": "%kb .around Nepal",
    "path": "%kb .path Nepal France",
    "drawn": "%kb .path Nepal France p.html",
    "schema": "%kb .schema",
    "kb.schema": "get_ipython().run_line_magic('kb', '').schema",
    "info": "%kb .info",
    "parameters": """
        n, limit, name, keys, text, timeout = 3, 1e6, "it's $n \\" '; DROP", ["NPL", "BTN"], "t", 5
    """,
    "kb": "kb = %kb",
    "kb used": "node = kb.node('Nepal'); import numpy as np; number = np.int64(4); type(kb).__name__",
    "SQL parameters": "%kb FROM country SELECT name WHERE area_km2 > $limit ORDER BY name LIMIT $n",
    "typed": "x = %kb FROM (SELECT typeof($n) AS n, typeof($limit) AS most, $name AS name, $text AS text, $timeout AS t, $number AS four, $node AS node)",  # noqa: E501
    "typed used": "x.rows()",
    "list": "%kb FROM country SELECT name WHERE key IN (SELECT unnest($keys)) ORDER BY name",
    "quoted": '%kb FROM (SELECT \'$n\' AS a, "$limit" AS b FROM (SELECT 1 AS "$limit")) -- $nothing',
    "SPARQL parameters": "%kb SELECT ?n ?other { $node rel:borders ?c . ?c rdfs:label ?n } ORDER BY ?n LIMIT 5",
    "slots": "c = 'France'\nfrench = %kb country:<c> -> [borders] -> country",
    "slots used": "french.expression, len(french)",
    "slot of a node": "near = %kb country:<node> -> [borders] -> country",
    "slot of a node used": "near.nodes()['name'].to_list()",
    "local": """
        def borders(country):
            return get_ipython().run_line_magic("kb", "country:<country> -> [borders] -> country")
        len(borders("Portugal"))
    """,
    "no variable": "%kb country:<nobody>",
    "no SQL variable": "%kb FROM country SELECT $nobody",
    "no value": "%kb FROM country SELECT $df",
    "a mistake": "%kb FROM country SELECT nope",
    "a mistake in an expression": "%kb country -> [nope] -> country",
    "unknown command": "%kb .nope",
    "cell": "%%kb\nSELECT count(*) AS n\nFROM country;\n\nSELECT 2 AS two",
    "cell into": "%%kb big <<\ncountry\n  - (country:<c> -> [borders] -> country)",
    "cell used": "len(big)",
    "line into": "%kb n3 << FROM country SELECT count(*)",
    "line used": "n3.item()",
    "last": "%kb country\nlast = %kb _ & country",
    "last used": "len(last)",
    "cell with a command": "%%kb\ncountry:<c> -> [borders]\n  -> country\n.why 2\n\nlandlocked\nkingdom",
    "too long for a path": "%kb " + "x" * 400,
    "words after open": "words = %kb open access journals\ntype(words).__name__",
    "no expansion": "%kb FROM (SELECT '{n} $n' AS a)",
    "not free": LOCKED + "free('world.kb')",
    "another": "%kb other.kb",
    "old one is free": "free('world.kb'), free('other.kb')",
    "quit": "%kb .quit",
    "closed": "%kb SELECT 1",
    "both are free": "free('world.kb'), free('other.kb')",
    "reload": "%reload_ext kbkit",
    "open again": "%kb world.kb",
    "unload": "%unload_ext kbkit",
    "unloaded": "%kb SELECT 1",
    "free after all": "free('world.kb')",
}


@pytest.fixture(scope="module")
def cells(world_kb: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What each cell of the session left."""
    folder = tmp_path_factory.mktemp("notebook")
    shutil.copytree(world_kb, folder / "world.kb")  # a copy, which nobody else has open
    with kbkit.ingest("world", out=folder / "other.kb", stores=["tables"]):
        pass
    return dict(zip(CELLS, session(folder, *CELLS.values()), strict=True))


@pytest.mark.system
def test_graphs_are_drawn(cells: dict[str, dict[str, Any]]) -> None:
    assert [cells[name]["type"] for name in ("around", "path", "drawn")] == ["Neighbourhood", "Paths", "NoneType"]
    for name in ("around", "path"):
        assert cells[name]["html"].count("<iframe sandbox=") == 1
        assert "\u202e" not in cells[name]["html"]
    assert cells["path"]["text"].startswith("Nepal  (country#NPL)")
    assert cells["drawn"]["err"].startswith("p.html: ")


def test_prose_is_left_aligned(cells: dict[str, dict[str, Any]]) -> None:
    assert "text-align: right;" not in cells["SPARQL"]["html"]
    assert cells["SPARQL"]["html"].startswith('<div class="kbkit')
    assert "Nepal" in cells["SPARQL"]["html"]


def test_the_schema_is_a_table(cells: dict[str, dict[str, Any]], world: KnowledgeBase) -> None:
    assert cells["kb.schema"]["text"] == "<Schema 'world': 11 types, 12 relations>"
    shown = cells["kb.schema"]["html"]
    assert shown.count("<tr>") == 12
    assert "flows_through \N{RIGHTWARDS ARROW} country, flows_into \N{RIGHTWARDS ARROW} sea, river, lake" in shown
    named = dataclasses.replace(world.schema.node_types[0], name="<script>")
    hostile = dataclasses.replace(world.schema, node_types=(named,) * 50)
    assert "<script" not in hostile._repr_html_()
    assert "and 10 more types" in hostile._repr_html_()


@pytest.mark.core
def test_objects(cells: dict[str, dict[str, Any]]) -> None:
    kinds = {name: cells[name]["type"] for name in ("open", "SPARQL", "answers", "search", "question", "page")}
    assert kinds == {
        "open": "KnowledgeBase",
        "SPARQL": "DataFrame",
        "answers": "AnswerSet",
        "search": "SearchResults",
        "question": "SearchResults",
        "page": "Page",
    }
    for name in ("load", "frame", "question assigned", "kb", "slots", "line into"):
        assert (cells[name]["type"], cells[name]["error"], cells[name]["out"]) == ("NoneType", "", "")
    assert cells["frame used"]["text"] == "['Afghanistan', 'Albania']"
    assert "Nepal" in cells["SPARQL"]["text"]
    assert "11 members of type country" in cells["answers"]["html"]
    assert "<mark>" in cells["search"]["html"]
    assert cells["question used"]["text"] == "('SearchResults', 10)"
    assert cells["kb used"]["text"] == "'KnowledgeBase'"


def test_commands_print(cells: dict[str, dict[str, Any]]) -> None:
    assert cells["why"]["out"] == "Andorra\n  France -> [borders] -> Andorra\n"
    assert cells["info"]["out"].startswith("world: Countries of the world and their relations\n")
    assert cells["schema"]["out"].startswith("types\n")
    assert [kinds for kinds in cells["schema"]["shown"] if "text/html" in kinds]
    for name in ("why", "info", "schema"):
        assert (cells[name]["error"], cells[name]["type"]) == ("", "NoneType")


def test_variables_are_parameters(cells: dict[str, dict[str, Any]]) -> None:
    assert "Algeria" in cells["SQL parameters"]["text"]
    assert "shape: (3, 1)" in cells["SQL parameters"]["text"]
    [row] = eval(cells["typed used"]["text"])
    assert row == ("INTEGER", "DOUBLE", "it's $n \" '; DROP", "t", 5, 4, 130)
    assert "Bhutan" in cells["list"]["text"]
    assert "shape: (2, 1)" in cells["list"]["text"]
    assert "$n" in cells["quoted"]["text"]
    assert cells["quoted"]["error"] == ""
    assert "China" in cells["SPARQL parameters"]["text"]
    assert cells["slots used"]["text"] == "('country:\"France\" -> [borders] -> country', 11)"
    assert cells["slot of a node used"]["text"] == "['China', 'India']"
    assert "{n} $n" in cells["no expansion"]["text"]


def test_text_that_is_not_a_path_is_a_statement(cells: dict[str, dict[str, Any]]) -> None:
    assert cells["too long for a path"]["type"] == "SearchResults"
    assert cells["words after open"]["text"] == "'SearchResults'"


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("%kb who borders France?", ("", "who borders France?")),
        ("  x = %kb it's \\ what ?  ", ("  x = ", "it's \\ what ?")),
        ("a, b = %kb who??", ("a, b = ", "who??")),
        ("%kb?", None),
        ("%kbx who?", None),
        ("%kb who borders France", None),
        ("print('%kb who?')", None),
    ],
)
def test_question_marks_do_not_call_help(line: str, asked: tuple[str, str] | None) -> None:
    [found] = questions([line + "\n"])
    if asked is None:
        assert found == line + "\n"
    else:
        before, text = asked
        assert found.startswith(before + "get_ipython().run_line_magic('kb', ")
        assert ast.literal_eval(found.partition("'kb', ")[2].removesuffix(")\n")) == text
    assert questions(["%%bash\n", line + "\n"]) == ["%%bash\n", line + "\n"]


GUIDES = sorted((Path(kbkit.__file__).parent / "assets" / "guides").glob("*.md"))


@pytest.mark.system
def test_cells_of_the_guides(world_kb: Path, tmp_path: Path) -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in GUIDES)
    shown = re.findall(r"```ipython\n(.*?)```", text, re.DOTALL)
    if not shown:
        pytest.skip("no guide shows a cell")
    shutil.copytree(world_kb, tmp_path / "world.kb")
    for cell, left in zip(shown, session(tmp_path, *shown), strict=True):
        assert left["error"] == "", cell


def test_variables_of_a_function(cells: dict[str, dict[str, Any]]) -> None:
    assert (cells["local"]["text"], cells["local"]["error"]) == ("1", "")


@pytest.mark.parametrize(
    ("cell", "fact"),
    [
        ("nothing open", "%kb open KB"),
        ("closed", "%kb open KB"),
        ("no such KB", "nowhere.kb"),
        ("no variable", "<nobody>"),
        ("no SQL variable", "$nobody"),
        ("no value", "DataFrame"),
        ("a mistake", '"nope"'),
        ("a mistake in an expression", "olumn 13"),
        ("unknown command", "'.nope'"),
    ],
)
def test_errors_are_one_line(cell: str, fact: str, cells: dict[str, dict[str, Any]]) -> None:
    left = cells[cell]
    assert left["error"].startswith("UsageError: ")
    assert fact in left["error"]
    assert left["err"] == left["error"] + "\n"
    assert (left["out"], left["type"]) == ("", "NoneType")


def test_cells_of_several_lines(cells: dict[str, dict[str, Any]]) -> None:
    assert "two" in cells["cell"]["text"]
    assert cells["cell"]["shown"] == [["text/html", "text/plain"]]  # the first of the two
    assert cells["cell used"]["text"] == str(197 - 11)
    assert cells["line used"]["text"] == "197"
    assert cells["last used"]["text"] == "197"
    mixed = cells["cell with a command"]
    assert mixed["shown"] == [["text/html", "text/plain"]]
    assert mixed["out"].startswith("Belgium\n  France -> [borders] -> Belgium\n")
    assert mixed["type"] == "SearchResults"


def test_one_kb_at_a_time_and_no_lock_left(cells: dict[str, dict[str, Any]]) -> None:
    assert cells["not free"]["text"] == "False"
    assert cells["old one is free"]["text"] == "(True, False)"
    assert cells["quit"]["error"] == ""
    assert cells["both are free"]["text"] == "(True, True)"
    assert cells["open again"]["type"] == "KnowledgeBase"
    assert "`%kb` not found" in cells["unloaded"]["err"]
    assert cells["free after all"]["text"] == "True"


def test_ipython_is_imported_only_by_the_magic() -> None:
    code = "import sys, kbkit, kbkit.kb, kbkit.display.html; print('IPython' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
