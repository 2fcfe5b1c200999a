"""Every dot-command of the shell: what it does, and what it says of bad input."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

import kbkit
from kbkit.assets import guidebook
from kbkit.errors import KbError
from kbkit.executor import dispatch
from kbkit.executor.commands import COMMANDS, find, words
from kbkit.executor.executor import Executor
from kbkit.executor.outcomes import Quit, StatementOutcome
from kbkit.executor.vocabulary import Vocabulary
from kbkit.kb import KnowledgeBase
from kbkit.shell.display import Display
from kbkit.shell.runner import Runner
from tests import kbs
from tests.wording import Wording

FRANCE = 'country:"France" -> [borders] -> country'
A = "a\n─\n1\n1 row\n"
"""The table of ``SELECT 1 AS a``."""


@pytest.fixture(scope="module")
def opened(world_kb: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """A copy of the world, since sets are saved in it."""
    copy = tmp_path_factory.mktemp("commands") / "world.kb"
    shutil.copytree(world_kb, copy)
    with kbkit.open(copy) as kb:
        yield kb


@dataclass
class Session:
    """A shell without a prompt: ``run`` says its exit code, what it printed, and what it remarked."""

    runner: Runner
    read: Callable[[], tuple[str, str]]

    def run(self, text: str) -> tuple[int, str, str]:
        code = self.runner.script(text)
        out, err = self.read()
        return code, out, err

    @property
    def executor(self) -> Executor:
        return self.runner.executor

    def said(self, text: str) -> str:
        """The line that a statement remarks; it prints nothing."""
        code, out, err = self.run(text)
        assert (code, out) == (0, "")
        return err.rstrip("\n")

    def printed(self, text: str) -> str:
        """What a statement prints; it remarks nothing."""
        code, out, err = self.run(text)
        assert (code, err) == (0, "")
        return out

    def refused(self, text: str, code: int = 1) -> str:
        """The last line that is told of a statement that fails."""
        left, out, err = self.run(text)
        assert (left, out) == (code, "")
        return err.rstrip("\n").split("\n")[-1]


def session(kb: KnowledgeBase, capsys: pytest.CaptureFixture[str]) -> Session:
    executor = Executor(kb)
    executor.settings.width = 80
    return Session(Runner(executor, Display(executor.settings)), lambda: tuple(capsys.readouterr()))  # type: ignore[arg-type, return-value]


@pytest.fixture
def shell(opened: KnowledgeBase, capsys: pytest.CaptureFixture[str]) -> Session:
    return session(opened, capsys)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


# -- all of them ------------------------------------------------------------------------------------------------------

EVERY = [
    *(
        "info",
        "schema",
        "tables",
        "show",
        "back",
        "path",
        "around",
        "graph",
        "queries",
        "query",
        "templates",
        "sets",
        "ask",
        "why",
        "explain",
        "search",
    ),
    *(
        "save",
        "more",
        "save-query",
        "drop-query",
        "output",
        "once",
        "open",
        "read",
        "edit",
        "history",
        "system",
        "mode",
        "format",
        "width",
        "rows",
        "pager",
        "wrap",
        "timing",
    ),
    *("timeout", "set", "help", "quit"),
]


def test_the_commands_are_these() -> None:
    assert list(COMMANDS) == EVERY
    assert list(words()) == EVERY


@pytest.mark.parametrize("name", EVERY)
def test_every_command_has_help(name: str, shell: Session) -> None:
    entry = COMMANDS[name]
    assert re.fullmatch(r"[A-Z].{10,70}\.", entry.help)
    assert bool(entry.usage) == bool(entry.arguments) or name in ("history", "set", "system")
    shown = shell.printed(f".help {name}")
    assert shown.startswith(f".{name} {entry.usage}".rstrip() + "\n\n" + entry.help)
    assert max(map(len, shown.split("\n"))) <= 80
    assert f".{name} {entry.usage}".rstrip() in shell.printed(".help")


def test_the_guide_has_a_line_for_every_command() -> None:
    if "shell" not in {guide.name for guide in guidebook.guides()}:
        pytest.skip("there is no guide of the shell yet")
    text = guidebook.load("shell")
    assert [name for name in EVERY if not re.search(rf"\.{name}\b", text)] == []


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        *(
            ("sch", "schema"),
            ("q", "quit"),
            ("exit", "quit"),
            ("h", "help"),
            ("he", "help"),
            ("t", None),
            ("s", None),
            ("shell", "system"),
            ("sy", "system"),
        ),
        *(("SHOW", "show"), ("Info", "info"), ("tem", "templates"), ("timi", "timing"), ("hi", "history"), ("", None)),
        *(("shows", None), ("f", "format"), ("b", "back"), ("e", None), ("ed", "edit"), ("w", None), ("wi", "width")),
    ],
)
def test_an_unambiguous_prefix_is_enough(typed: str, name: str | None) -> None:
    if name is not None:
        assert find(typed).name == name
    else:
        with pytest.raises(KbError, match=f"Unknown command '.{typed}'"):
            find(typed)


BAD_INPUT = {
    ".frobnicate": "'.frobnicate'",
    ".shw": "'.show'",
    ".s": ".schema or .show",
    ".": "'.'",
    "\\l": r"'\l'",
    ".info x": ".info",
    ".quit now": ".quit",
    ".back": ".show NODE",
    ".edit": "kbkit shell KB",
    ".history x": "kbkit shell KB",
    ".system": "!ls",
    ".schema nope": "'nope'",
    ".schema country city": "'country'",
    ".show": ".show NODE",
    ".show Frnce": "'France'",
    ".show xyzzy": "'xyzzy'",
    ".show #99999": "1641",
    ".path France": "not 1",
    ".path a b c": "not 3",
    ".path 'a": '"\'a"',
    ".around": ".around Nepal nepal.html",
    ".around a b c": ".around Nepal nepal.html",
    ".graph pagrank": "'pagerank'",
    ".graph pagerank relatoin=borders": "'relation'",
    ".graph pagerank damping=x": "'x'",
    ".graph pagerank damping=2": "0 to 1",
    ".graph spanning-tree heaviest=maybe": "on",
    ".graph distances": "start=NODE",
    ".queries most_connected limit=x": "limit",
    ".queries most_connected foo=1": "'foo'",
    ".queries most_connected limit": "'limit'",
    ".queries most_connected =3": "'=3'",
    ".why": "last result",
    ".explain .show x": ".show",
    ".search -k": ".search -k 20",
    ".search --mode": ".search --mode bm25",
    ".search -k 0 sea": "'0'",
    ".search --mode foo": "hybrid",
    ".search --mode foo sea": "hybrid",
    ".search --bogus 1 x": "--within",
    ".search --within 'sea": "'sea",
    ".search --within _ sea": "last result",
    ".save": "not 0",
    ".save a b": "not 2",
    ".save x": "last result",
    ".open a b": ".open my.kb",
    ".open nope.kb": "nope.kb",
    ".read nope.sql": "nope.sql",
    ".read .": "directory",
    ".mode foo": "sparql",
    ".more": "last result",
    ".more 0": "'0'",
    ".save-query": "not 0",
    ".save-query x": "last result",
    ".drop-query nope": "'nope'",
    ".query": ".queries",
    ".query nope": "'nope'",
    ".mode parquet": "sparql",
    ".once": "not 0",
    ".once |": ".output |less",
    ".once x.foo": "turtle",
    ".once no/x.csv": "no",
    ".mode sql now": "'sql'",
    ".format html": "markdown",
    ".format parquet": "markdown",
    ".width 19": "20",
    ".rows 0": "'0'",
    ".rows -1": "'-1'",
    ".pager maybe": "auto",
    ".timing maybe": "on",
    ".timeout x": "'x'",
    ".timeout -1": "'-1'",
    ".timeout nan": "'nan'",
    ".timeout inf": "'inf'",
    ".sets nope-at-all": "nope-at-all",
    "MATCH (n) RETURN n": "Cypher",
    "MATCH (n:country)-[:borders]->(m) RETURN m": "Cypher",
    "SELEC name FROM country": "SELEC",
    "show rivers": "quotes",
}
"""Statements, and what their message must contain."""


@pytest.mark.parametrize("statement", BAD_INPUT)
def test_bad_input_is_reported_in_one_line(
    world: KnowledgeBase, capsys: pytest.CaptureFixture[str], statement: str, wording: Wording
) -> None:
    message = session(world, capsys).refused(statement)
    assert BAD_INPUT[statement] in message
    wording(message, "shell")


def test_long_lists_of_names_are_shortened(shell: Session) -> None:
    for command in (
        ".queries nope",
        ".templates nope",
        ".help xyzzy",
        ".search --type nope sea",
        ".search --type nope",
    ):
        message = shell.refused(command)
        assert "nope" in message or "xyzzy" in message
        assert len(message) < 200
    assert "'open'" in shell.refused(".help nope")


# -- look -------------------------------------------------------------------------------------------------------------


def test_info_and_schema(shell: Session) -> None:
    shown = shell.printed(".info")
    assert shown.startswith("world: Countries of the world and their relations\n1,642 nodes, 5,486 edges")
    assert max(map(len, shown.split("\n"))) <= 80
    shell.run(".format table")
    shown = shell.printed(".schema")
    assert shown.startswith("types\ntype")
    assert "11 rows\n\nrelations\nrelation" in shown or re.search(r"11 rows\n\nrelations\n", shown)
    assert shell.printed(".schema country").startswith("attributes\n")
    assert shell.printed(".schema Country") == shell.printed(".schema `country`") == shell.printed(".sch country")
    assert shell.printed(".schema [capital]") == shell.printed(".schema capital")
    shell.run(".format ndjson")
    rows = [json.loads(line) for line in shell.printed(".schema capital").splitlines()]
    assert rows[0] == {"attribute": "role", "type": "VARCHAR", "label": ""}
    assert rows[1]["relation"] == "capital"
    assert rows[1]["edges"] == 209


def test_show_accepts_any_name_of_a_node(shell: Session) -> None:
    shell.run("SELECT 1 AS a")
    pages = {
        shell.printed(f".show {text}")
        for text in (
            *("France", "country:France", "country#FRA", "FRA", "#58", "République française"),
            *('"France"', "'France'", 'country:"France"', "country:'France'"),
        )
    }
    assert len(pages) == 1
    assert pages.pop().startswith("France\ncountry#FRA (id 58)\n")
    assert shell.printed(".show New Zealand").startswith("New Zealand\n")
    shell.run(".format json")
    assert json.loads(shell.printed(".show New Zealand"))["reference"] == "country#NZL"


def test_path_and_around(shell: Session, folder: Path) -> None:
    assert "-> [borders] -> India" in shell.printed(".path Nepal 'india'")
    assert "Germany  (country#DEU)" in shell.printed(".path France Germany")
    assert "11 country, 1 city" in shell.printed(".around France")
    note = shell.said(".around Nepal 'my nepal.svg'")
    assert note.startswith("my nepal.svg: ")
    assert (folder / "my nepal.svg").read_text(encoding="utf-8").lstrip().startswith("<")
    assert "nepal.foo" in shell.refused(".around Nepal nepal.foo")
    assert shell.said(".path Nepal France p.html").startswith("p.html: ")
    assert "Nepal to France" in (folder / "p.html").read_text(encoding="utf-8")


def test_graph_algorithms(shell: Session, folder: Path) -> None:
    assert "strong-components" in shell.printed(".graph")
    shell.run(".format csv")
    ranked = shell.printed(".graph pagerank relation=borders direction=both").splitlines()
    assert ranked[0] == "id,key,type,name,value"
    assert ",CHN,country,China,0.0" in ranked[1]
    assert "Beijing" in shell.printed(".show 1")
    assert shell.said(".save ranked").startswith("@ranked: ")
    assert "not of a query" in shell.refused(".save-query ranked")
    roads = shell.printed(".graph shortest-paths relation=borders,flows_into start=France end=India paths=2")
    assert roads.splitlines()[1].split(",")[:2] == ["1", "1"]
    assert shell.printed(".graph spanning-tree relation=borders heaviest=on").count("\n") > 100


def test_queries(shell: Session, folder: Path) -> None:
    shell.run(".format csv")
    assert "sql,world/landlocked," in shell.printed(".queries")
    found = shell.printed(".queries graph/most_connected limit=3 type=country")
    assert found.count("\n") == 4
    assert shell.printed("SELECT count(*) AS n FROM _") == "n\n3\n"
    assert shell.printed(".queries landlocked") == shell.printed(".queries world/landlocked")
    (folder / "my own.rq").write_text(
        "# Mine\n# $c (node): a country\nSELECT ?d { $c rel:capital ?d }\n", encoding="utf-8"
    )
    assert shell.printed('.queries "my own.rq" c=France').splitlines()[1].endswith("/city/paris")
    assert "Paris" in shell.printed("_")


def test_queries_are_saved(shell: Session, folder: Path, wording: Wording) -> None:
    shell.run(".format csv")
    shell.run(".set n=2")
    shell.run("SELECT name FROM lake\nORDER BY area_km2 DESC LIMIT $n;")
    first = "name\nCaspian Sea\n"
    assert (
        shell.said(".save-query 'big lakes'")
        == "query big lakes: SELECT name FROM lake ORDER BY area_km2 DESC LIMIT $n"
    )
    assert shell.printed(".query 'big lakes'") == shell.printed(".queries 'big lakes'") == first + "Lake Superior\n"
    assert shell.printed(".query 'big lakes' n=1") == first
    assert shell.executor.values == {"n": "2"}
    wording(shell.refused(".query 'big lakes' m=1"), "shell")
    shell.run('country:"Nepal" -> [borders] -> country')
    shell.run(".save-query near")
    shell.run(".set c=Portugal\ncountry:<c> -> [borders] -> country")
    shell.run(".save-query near")  # replaced
    listed = shell.printed(".queries").split("\n")
    assert [line.split(",")[:2] for line in listed[1:3]] == [["sql", "big lakes"], ["answers", "near"]]
    assert "Spain" in shell.printed(".query near")
    assert {word.name for word in Vocabulary.of(shell.executor.kb).queries()} >= {
        "big lakes",
        "near",
        "world/landlocked",
    }
    shell.run("SELECT id FROM country;")
    shell.run("_ & country")
    wording(shell.refused(".save-query x"), "shell")
    shell.run("SELECT 1 AS a;")
    for name in ("''", "x" * 101, "'a\tb'"):
        assert "Invalid name" in shell.refused(f".save-query {name}")
    assert shell.said(".save-query ../x") == "query ../x: SELECT 1 AS a"
    saved = sorted(path.name for path in shell.executor.kb.workspace.queries.folder.iterdir())
    assert saved == ["..%2Fx.json", "big%20lakes.json", "near.json"]
    for name in ("../x", "'big lakes'", "near"):
        shell.said(f".drop-query {name}")
    assert "'near'" in shell.refused(".query near")


def test_damaged_saved_queries_are_reported(shell: Session) -> None:
    folder = shell.executor.kb.workspace.queries.folder
    folder.mkdir(exist_ok=True)
    path = folder / "bad.json"
    for text in (
        "{",
        "[]",
        '{"name": "bad"}',
        '{"name": 1, "language": "sql", "statement": "", "saved": ""}',
        "\ufffd",
    ):
        path.write_text(text, encoding="utf-8")
        assert "bad.json" in shell.refused(".query bad")
    query = {"name": "bad", "language": "command", "statement": "!exit 3", "saved": ""}
    path.write_text(json.dumps(query), encoding="utf-8")
    assert "'command'" in shell.refused(".query bad")  # a saved query runs no command of the system
    path.unlink()


def test_more_shows_the_next_rows(shell: Session) -> None:
    shell.run(".rows 2")
    shown = shell.printed("SELECT range AS n FROM range(7);")
    assert shown.splitlines()[-3:] == ["0", "1", "2 of 7 rows shown; .more shows the next, other formats show all"]
    assert shell.printed(".more").splitlines()[-3:] == ["2", "3", "rows 3 to 4 of 7; .more shows the next"]
    assert shell.printed(".schema").count("2 of ") == 2  # a command does not change the last result
    assert shell.printed(".more 5").splitlines()[-4:] == ["4", "5", "6", "rows 5 to 7 of 7"]
    assert shell.said(".more") == "All 7 rows were shown"
    shell.run(FRANCE)
    assert [line.split()[0] for line in shell.printed(".more").splitlines()[2:4]] == ["3", "4"]
    shell.run(".format csv\nSELECT range AS n FROM range(7);")
    assert shell.said(".more") == "All 7 rows were shown"


def test_more_continues_a_page(shell: Session) -> None:
    whole = shell.executor.kb.page("France", 1000)
    seen: dict[tuple[str, str, str], list[str]] = {}
    assert "... and 6 more" in shell.printed(".show France")
    count = len(shell.executor.links)
    pages = [shell.executor.kb.page("France")]
    for command in (".more 4", ".more 1", ".more"):
        printed = shell.printed(command)
        assert printed.startswith("France\n")
        assert "description" not in printed
        assert shell.executor._page is not None
        pages.append(shell.executor._page)
        assert list(shell.executor.links) == pages[-1].links
        count += len(pages[-1].links)
    assert "more" not in printed
    assert count == len(whole.links)
    for page in pages:
        for group in page.data["relations"]:
            name = (group["relation"], group["direction"], group["type"])
            seen.setdefault(name, []).extend(neighbor["reference"] for neighbor in group["neighbors"])
    for group in whole.data["relations"]:
        name = (group["relation"], group["direction"], group["type"])
        assert seen[name] == [neighbor["reference"] for neighbor in group["neighbors"]]
    assert shell.said(".more") == "all neighbours of France were shown"
    shell.run(".rows 2\nSELECT range AS n FROM range(7);")
    assert shell.printed(".more").splitlines()[-1] == "rows 3 to 4 of 7; .more shows the next"


def test_templates(shell: Session) -> None:
    shell.run(".format csv")
    assert shell.printed(".templates suggest").startswith("expression,groundings\n")
    assert "landlocked" not in shell.printed(".templates")
    assert "drug" in shell.printed(".templates prime/shared_carriers")
    assert "drug" in shell.refused(".templates prime/shared_carriers drug=x drug2=y")


def test_sets(shell: Session) -> None:
    shell.run(".format csv")
    shell.run(FRANCE)
    assert shell.said(".save 'around France'") == "@`around France`: 11 nodes"
    assert "around France,country,11" in shell.printed(".sets")
    assert shell.printed(".sets around France").count("\n") == 12
    assert shell.printed("@`around France` & country{area_km2 > 1e6}").count("Brazil") == 1
    shell.run('country:"Nepal"')
    assert shell.said(".save nepal") == "@nepal: 1 node"
    assert shell.printed(".sets nepal") == shell.printed(".sets @nepal") == shell.printed("@nepal")


# -- answers ----------------------------------------------------------------------------------------------------------


def test_why(shell: Session, wording: Wording) -> None:
    shell.run(FRANCE)
    assert shell.printed(".why") == shell.printed(".why 1") == "Andorra\n  France -> [borders] -> Andorra\n"
    assert shell.printed(".why 11").startswith("Suriname\n")
    wording(shell.refused(".why 12"), "shell")
    assert "'0'" in shell.refused(".why 0")
    assert "'x'" in shell.refused(".why x")
    shell.run("SELECT id FROM country")
    wording(shell.refused(".why"), "shell")
    shell.run("flat-topped mountain above Cape Town")
    assert shell.printed(".why").startswith("1. Table Mountain  (mountain#table-mountain) ")
    assert "\n  bm25: 1 of " in shell.printed(".why 1")
    shell.run(".search --mode relational mountains near Cape Town")
    assert "Cape Town" in shell.printed(".why")


def test_explain(shell: Session) -> None:
    assert "Projection" in shell.printed(".explain SELECT name FROM country WHERE id = 3;").replace(
        "PROJECTION", "Projection"
    )
    assert shell.printed(".explain SELECT ?c { ?c a ?t };") == "SELECT ?c { ?c a ?t }\n"
    assert shell.executor.last is None
    shown = shell.printed(f".explain {FRANCE};")
    assert "FROM nodes" in shown
    assert "SELECT DISTINCT ?answer" in shown
    shell.run(FRANCE)
    assert shell.printed(".explain") == shown
    assert shell.run(".explain SELECT count(*) FROM _")[0] == 0
    assert shell.executor.result().language == "answers"
    assert "1. " in shell.printed(".explain landlocked mountains")
    assert shell.run(".explain SELECT foo FROM country")[2].split("\n")[:2] == [
        "  EXPLAIN SELECT foo FROM country",
        "                 ^",
    ]


def test_search_takes_options_and_keeps_them(shell: Session) -> None:
    assert shell.said(".search") == "search options: k 10"
    assert shell.said(".search -k 3 --type country") == "search options: k 3, type country"
    shell.run("high mountains")
    assert shell.executor.result().frame.height == 3
    assert set(shell.executor.result().frame["type"]) == {"country"}
    shell.run(".search -k 2 --mode bm25 -t mountain high mountains")
    assert set(shell.executor.result().frame["type"]) == {"mountain"}
    shell.run(f".search --within '{FRANCE}' landlocked")
    found = set(shell.executor.result().frame["name"])
    assert "Switzerland" in found
    assert len(found) == 3
    shell.run(".search -w _ --k 50 landlocked")
    assert set(shell.executor.result().frame["name"]) <= found
    assert shell.said(".search") == "search options: k 3, type country"
    before = dict(shell.executor.settings.search)
    for bad in (".search --mode foo", ".search --type foo", ".search --within '->'", ".search -k 5 --mode foo"):
        assert shell.run(bad)[0] == 1
    assert shell.executor.settings.search == before


# -- keep -------------------------------------------------------------------------------------------------------------

ROWS = "SELECT range AS n, 'a|b' AS name, [1, 2] AS list FROM range(2);"
CSV = 'n,name,list\n0,a|b,"[1, 2]"\n1,a|b,"[1, 2]"\n'
NDJSON = '{"n":0,"name":"a|b","list":[1,2]}\n{"n":1,"name":"a|b","list":[1,2]}\n'
JSON = '[{"n":0,"name":"a|b","list":[1,2]},\n {"n":1,"name":"a|b","list":[1,2]}]\n'
MARKDOWN = "| n | name | list |\n| ---: | --- | --- |\n| 0 | a\\|b | 1, 2 |\n| 1 | a\\|b | 1, 2 |\n"
TABLE = "n   name   list\n───────────────\n0   a|b    1, 2\n1   a|b    1, 2\n2 rows\n"
TEXTS = {"csv": CSV, "ndjson": NDJSON, "jsonl": NDJSON, "json": JSON, "md": MARKDOWN}


def test_save_writes_files(shell: Session, folder: Path) -> None:
    shell.run(ROWS)
    for ending, text in TEXTS.items():
        assert shell.said(f".save 'my rows.{ending}'") == f"my rows.{ending}: 2 rows"
        assert (folder / f"my rows.{ending}").read_text(encoding="utf-8") == text
    shell.run(".save x.txt")
    assert (folder / "x.txt").read_text(encoding="utf-8").endswith("2 rows\n")
    shell.run(".save x.parquet")
    assert pl.read_parquet(folder / "x.parquet").equals(shell.executor.result().frame)
    shell.run("SELECT 1 AS a;")
    assert shell.said(".save x.csv") == "x.csv: 1 row"
    assert (folder / "x.csv").read_text(encoding="utf-8") == "a\n1\n"  # not added to


def test_save_reports_invalid_targets(shell: Session, folder: Path, wording: Wording) -> None:
    shell.run(FRANCE)
    (folder / "dir.csv").mkdir()
    for target, fact in (
        ("no/x.csv", "no"),
        ("dir.csv", "dir.csv"),
        ("x.xlsx", ".parquet"),
        ("a/b", ".md"),
        ("@", "''"),
    ):
        message = shell.refused(f".save {target}")
        assert fact in message
        wording(message, "shell")
    shell.run("SELECT 1 AS a;")
    assert "not nodes" in shell.refused(".save numbers")
    assert list(folder.iterdir()) == [folder / "dir.csv"]


@pytest.mark.parametrize("ending", ["csv", "ndjson", "md"])
def test_output_redirects_results(shell: Session, folder: Path, ending: str) -> None:
    path = folder / f"out.{ending}"
    path.write_text("old", encoding="utf-8")
    assert shell.said(f".output {path.name}") == f"results go to {path.name}; .output resets this"
    assert path.read_text(encoding="utf-8") == ""
    assert shell.run(ROWS + ROWS) == (0, "", "")
    assert path.read_text(encoding="utf-8") == TEXTS[ending] * 2
    assert shell.run(".show Paris") == (0, "", "")
    assert path.read_text(encoding="utf-8").startswith(TEXTS[ending] * 2 + "Paris\ncity#paris")
    assert shell.refused("SELECT foo FROM country;").startswith("Binder Error")
    assert shell.said(".output") == "results go to the screen"
    assert shell.printed(ROWS) == TABLE
    shell.run(f".output {path.name}")
    shell.run(ROWS)
    assert path.read_text(encoding="utf-8") == TEXTS[ending]


def test_output_in_other_forms(shell: Session, folder: Path, wording: Wording) -> None:
    shell.run(f".output o.json\n{ROWS}\n.output o.txt\n{ROWS}\n.output")
    assert (folder / "o.json").read_text(encoding="utf-8") == JSON
    assert (folder / "o.txt").read_text(encoding="utf-8").endswith("2 rows\n")
    shell.run(f".output o.parquet\n{ROWS}\nSELECT 7 AS a;")
    assert pl.read_parquet(folder / "o.parquet").rows() == [(7,)]  # the last
    wording(shell.refused(".show Paris"), "shell")
    shell.run(f".output\n.format csv\n.output plain\n{ROWS}\n.output")
    assert (folder / "plain").read_text(encoding="utf-8") == CSV


def test_once_redirects_the_next_result(shell: Session, folder: Path) -> None:
    (folder / "one.csv").write_text("old", encoding="utf-8")
    assert shell.run(".once one.csv") == (0, "", "")
    assert shell.refused("SELECT foo FROM country;").startswith("Binder Error")
    assert shell.said("CREATE TEMP TABLE t AS SELECT 1 AS a;") == ""  # no result
    assert shell.printed(ROWS + ROWS) == TABLE
    assert (folder / "one.csv").read_text(encoding="utf-8") == CSV
    shell.run(f".output all.csv\n{ROWS}\n.once one.csv\nSELECT 1 AS a;\n{ROWS}")
    assert (folder / "one.csv").read_text(encoding="utf-8") == "a\n1\n"
    assert (folder / "all.csv").read_text(encoding="utf-8") == CSV * 2
    shell.run(".once one.md\n.output")  # back to the screen, for all results
    assert shell.printed(ROWS) == TABLE


def test_results_go_to_commands(shell: Session, folder: Path) -> None:
    shell.run(".mode csv")
    assert shell.run(f".once |cat > 'a b.txt'\n{ROWS}") == (0, "", "")
    assert (folder / "a b.txt").read_text(encoding="utf-8") == CSV
    assert shell.said(".output |cat >> all.txt") == "results go to |cat >> all.txt; .output resets this"
    assert shell.run(ROWS + ROWS) == (0, "", "")
    assert (folder / "all.txt").read_text(encoding="utf-8") == CSV * 2
    shell.run(".once |exit 3")
    assert shell.said(ROWS) == "exit 3: exit code 3"
    shell.run(".once |true")  # reads nothing
    assert shell.run("FROM range(200000);") == (0, "", "")
    shell.executor.system = None  # as in notebooks
    for command in (".once |cat", ".output | cat"):
        assert "only in the shell" in shell.refused(command)


def test_published_formats_of_sparql(shell: Session, folder: Path, wording: Wording) -> None:
    select, construct = "SELECT ?n { country:NPL rdfs:label ?n };", "CONSTRUCT WHERE { country:NPL rel:borders ?c };"
    assert shell.said(".format srj") == "format sparql-json"
    [row] = json.loads(shell.printed(select))["results"]["bindings"]
    assert row["n"]["value"] == "Nepal"
    assert shell.executor.last is None
    wording(shell.refused(construct), "shell")
    wording(shell.refused("SELECT 1 AS a;"), "shell")
    assert shell.printed(".schema").startswith("types\n")
    assert shell.said(".mode ntriples") == "format ntriples"
    triples = shell.printed(construct)
    assert triples.count(" .\n") == triples.count("\n") == 2
    shell.run(f".format auto\n.once x.nt\n{construct}")
    assert (folder / "x.nt").read_text(encoding="utf-8") == triples
    shell.run(f".format turtle\n.once x.csv\n{select}")  # the suffix decides
    assert (folder / "x.csv").read_text(encoding="utf-8") == "n\nNepal\n"


def test_tables_lists_names_of_sql(shell: Session) -> None:
    shell.run(".format csv")
    listed = shell.printed(".tables")
    assert 'country,"type, ' in listed
    assert "edges,table" in listed
    assert shell.printed(".tables COUNT").split("\n")[0::2] == ["table,holds", ""]
    assert shell.printed("\\dt") == listed


def test_output_reports_invalid_targets(shell: Session, folder: Path, wording: Wording) -> None:
    (folder / "dir.csv").mkdir()
    for target in ("dir.csv", "x.foo"):
        assert target in shell.refused(f".output {target}")
    assert shell.executor.settings.output is None
    shell.run(".output sub.csv")
    (folder / "sub.csv").unlink()
    (folder / "sub.csv").mkdir()
    wording(shell.refused(ROWS), "shell")
    assert shell.said(".output") == "results go to the screen"
    assert shell.printed(ROWS) == TABLE


# -- read -------------------------------------------------------------------------------------------------------------


def write(folder: Path, name: str, text: str) -> str:
    (folder / name).write_bytes(text.encode())
    return f".read '{name}'"


def test_a_file_is_read_like_typed_text(shell: Session, folder: Path) -> None:
    shell.run(".format csv")
    text = 'SELECT 1 AS a;\r\ncountry:"France"\r\n-> [capital] -> city\r\n\r\nSELECT ?x { VALUES ?x { 3 } }\r\n\r\n.show Paris'  # noqa: E501
    code, out, err = shell.run(write(folder, "all of it.txt", "\ufeff" + text))
    assert (code, err) == (0, "")
    assert out.startswith("a\n1\nid,type,key,name\n333,city,paris,Paris\nx\n3\nParis\ncity#paris")


def test_sql_and_rq_files_need_no_mode(shell: Session, folder: Path) -> None:
    shell.run(".mode search")
    shell.run(".format csv")
    sql = "-- a comment; with a sign\nFROM country c\nSELECT c.key\nWHERE c.name = 'France';\n\nSELECT 2\n AS b"
    assert shell.printed(write(folder, "q.sql", sql)) == "key\nFRA\nb\n2\n"
    rq = "#defaultView:Map\nPREFIX a: <http://b;c>\n\nSELECT ?k\n\n{ VALUES ?k { 'x;' } }\n;"
    assert shell.printed(write(folder, "q.rq", rq)) == "k\nx;\n"
    assert shell.printed(write(folder, "q.sparql", rq)) == "k\nx;\n"
    assert shell.executor.settings.mode == "search"


def test_a_file_can_set_the_mode(shell: Session, folder: Path) -> None:
    shell.run(".format csv")
    assert (
        shell.run(write(folder, "m.txt", ".mode sql\nFROM country c\nSELECT c.key LIMIT\n1;\n.mode auto\n"))[1]
        == "key\nAFG\n"
    )
    assert shell.run(".mode sql\nFROM country c\nSELECT c.key LIMIT\n1;\n.mode auto\n")[1] == "key\nAFG\n"


def test_files_read_files(shell: Session, folder: Path, wording: Wording) -> None:
    shell.run(".format csv")
    write(folder, "inner.txt", "SELECT 2 AS b;\n")
    assert (
        shell.printed(write(folder, "outer.txt", "SELECT 1 AS a;\n.read inner.txt\nSELECT 3 AS c;"))
        == "a\n1\nb\n2\nc\n3\n"
    )
    message = shell.refused(write(folder, "round.txt", ".read round.txt\n.mode"))
    assert message.startswith("round.txt: ")
    wording(message, "shell")
    assert shell.printed(write(folder, "empty.txt", "")) == ""
    assert shell.printed(write(folder, "comment.txt", "-- nothing\n\n# here\n")) == ""


def test_a_failure_stops_a_file(shell: Session, folder: Path) -> None:
    write(folder, "inner.sql", "-- first\nSELECT 2 AS b;\n\nSELECT name,\n  foo\nFROM country;\nSELECT 3 AS c;\n")
    command = write(folder, "outer.txt", "SELECT 1 AS a;\n.read inner.sql\nSELECT 4 AS d;\n")
    code, out, err = shell.run(command + "\nSELECT 5 AS e;")
    assert code == 1
    assert out == A + A.replace("a", "b").replace("1\n1", "2\n1")
    lines = err.splitlines()
    assert lines[:2] == ["    foo", "    ^"]
    assert lines[2].startswith('inner.sql:5: Binder Error: Referenced column "foo" not found')
    command = write(folder, "words.txt", "\n\n.frobnicate\n")
    assert shell.refused(command).startswith("words.txt:3: Unknown command '.frobnicate'")
    command = write(folder, "q.rq", "# a\nSELECT ?x {\n ?x nope:x ?y }")
    assert shell.refused(command).startswith("q.rq:3: ")
    command = write(folder, "q.sql", "-- a\n/* b\n */ SELECT\n foo;")
    assert shell.refused(command).startswith("q.sql:4: Binder Error")


def test_files_that_are_not_text(shell: Session, folder: Path, wording: Wording) -> None:
    (folder / "binary").write_bytes(b"\x00\xff\xfe\x80")
    wording(shell.refused(".read binary"), "shell")
    (folder / "nul").write_bytes(b"SELECT\x00 1;\n")
    code, out, err = shell.run(".read nul")
    assert (code, out) == (1, "")
    assert "\x00" not in err
    (folder / "big").write_bytes(b"")
    with (folder / "big").open("r+b") as stream:
        stream.truncate(50_000_001)
    wording(shell.refused(".read big"), "shell")


# -- open -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def small_copy(tmp_path: Path) -> Path:
    out = tmp_path / "small.kb"
    kbs.build(tmp_path / "v1", out, 1, stores=kbs.LIGHT)
    return out


ADA = "SELECT name FROM person WHERE key = 'a';"


def ada(version: int) -> str:
    """Return the table that ``ADA`` prints."""
    return f"name\n──────\nAda v{version}\n1 row\n"


def test_a_rebuilt_kb_is_announced_once_and_reloaded_on_demand(
    small_copy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = session(KnowledgeBase(small_copy), capsys)
    assert shell.printed(ADA) == ada(1)
    kbs.build(tmp_path / "v2", small_copy, 2, stores=kbs.LIGHT)
    code, out, err = shell.run(ADA)
    assert (code, out) == (0, ada(1))
    assert err == f"{small_copy} was rebuilt (generation 0002); .open loads it\n"
    assert shell.printed(ADA) == ada(1)
    assert "Ada v1" in shell.printed(".show a")
    kbs.build(tmp_path / "v3", small_copy, 3, stores=kbs.LIGHT)
    assert shell.run(ADA)[2] == f"{small_copy} was rebuilt (generation 0003); .open loads it\n"
    assert shell.said(".open") == f"{small_copy}: 4 nodes, 3 edges"
    assert shell.printed(ADA) == ada(3)
    shell.executor.close()


def test_opening_another_kb_discards_the_last_result(
    small_copy: Path, tmp_path: Path, world_kb: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = session(KnowledgeBase(small_copy), capsys)
    shell.run(".rows 7\nperson")
    shell.run(".show a")
    assert shell.said(f".open '{world_kb}'") == f"{world_kb}: 1,642 nodes, 5,486 edges"
    assert "last result" in shell.refused("SELECT * FROM _;")
    assert "previous page" in shell.refused(".back")
    assert shell.executor.settings.rows == 7
    assert shell.run(f".open {small_copy}\nperson")[1].endswith("2 rows\n")  # what is a type is known at once
    shell.executor.close()


def test_a_failed_open_keeps_the_old_kb(
    small_copy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], wording: Wording
) -> None:
    shell = session(KnowledgeBase(small_copy), capsys)
    wording(shell.refused(".path Bob Delft"), "shell")
    shell.run("person")
    broken = tmp_path / "broken.kb"
    shutil.copytree(small_copy, broken)
    (broken / "CURRENT").write_text("0009", encoding="utf-8")
    manifest = tmp_path / "manifest.kb"
    shutil.copytree(small_copy, manifest)
    (manifest / "generations" / "0001" / "manifest.json").write_text("{", encoding="utf-8")
    for path in (broken, manifest, tmp_path, tmp_path / "nope.kb", tmp_path / "v1" / "nodes.csv"):
        code, out, err = shell.run(f".open '{path}'")
        assert (code, out) == (1, ""), path
        assert err.count("\n") == 1, path
        assert "Internal" not in err
    assert shell.printed("SELECT count(*) AS n FROM _;") == "n\n─\n2\n1 row\n"
    shell.executor.close()


def test_a_kb_deleted_while_it_is_open(small_copy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shell = session(KnowledgeBase(small_copy), capsys)
    shell.run(ADA)
    small_copy.rename(tmp_path / "elsewhere.kb")
    code, out, err = shell.run(ADA)
    assert (code, out) == (0, ada(1))
    assert err.endswith("; queries still use the open generation\n")
    assert err.count("\n") == 1
    assert shell.printed(ADA) == ada(1)
    assert shell.run(".open")[0] == 1
    assert shell.printed(ADA) == ada(1)
    code, out, err = shell.run("lies on the Nile")  # a store that was never opened
    assert code in (0, 1)
    assert "Internal" not in err
    shell.executor.close()


# -- settings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "note"),
    [
        (".mode", "mode auto"),
        (".mode SQL", "mode sql"),
        (".format", "format auto"),
        (".format CSV", "format csv"),
        (".format auto", "format auto"),
        (".width auto", "width auto"),
        (".width 60", "width 60"),
        (".rows", "rows auto"),
        (".rows 5", "rows 5"),
        (".pager", "pager auto"),
        (".pager OFF", "pager off"),
        (".timing off", "timing off"),
        (".timeout", "timeout 60 s"),
        (".timeout 2.5", "timeout 2.5 s"),
        (".timeout 0", "timeout none"),
    ],
)
def test_settings_show_their_value(shell: Session, statement: str, note: str) -> None:
    assert shell.said(statement) == note


def test_formats(shell: Session) -> None:
    for name, text in {"csv": CSV, "ndjson": NDJSON, "json": JSON, "markdown": MARKDOWN}.items():
        shell.run(f".format {name}")
        assert shell.printed(ROWS) == text
    shell.run(".format auto")
    assert shell.printed(ROWS) == TABLE  # in a pipe, too


def test_rows_and_width_apply_to_tables(shell: Session) -> None:
    shell.run(".format table\n.rows 2\n.width 40")
    out = shell.printed("SELECT * FROM country;")
    assert "2 of 197 rows" in out
    assert max(map(len, out.split("\n"))) <= 40
    assert max(map(len, shell.printed(".show France").split("\n"))) <= 40
    shell.run(".format csv")
    assert shell.printed("SELECT * FROM country;").count("\n") == 198


def test_timing(shell: Session) -> None:
    code, out, err = shell.run(".timing\nSELECT 1 AS a;")
    assert (code, out) == (0, A)
    assert re.fullmatch(r"timing on\n\d\.\d{3} s\n\d+\.\d{3} s\n", err)
    assert re.search("timing off", shell.run(".timing")[2])
    assert shell.printed("SELECT 1 AS a;") == A


def test_timeout_cancels_a_query(shell: Session, wording: Wording) -> None:
    slow = "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range % 7 = b.range % 11;"
    shell.run(".timeout 0.05")
    message = shell.refused(slow, 124)
    assert "0.05 s" in message
    wording(message, "shell")
    assert shell.printed("SELECT 1 AS a;") == A


# -- the rest ---------------------------------------------------------------------------------------------------------


def test_help(shell: Session) -> None:
    everything = shell.printed(".help")
    assert [name for name in EVERY if f"\n.{name}" not in everything] == []
    assert "Ctrl-R" in shell.printed(".help shortcuts")
    assert shell.printed(".help .show") == shell.printed(".h show") == shell.printed(".help SHOW")
    assert shell.printed(".help answers").count("\n") > 40
    guide = guidebook.guides()[0].name
    assert len(shell.printed(f".help {guide}")) > 500


def test_history_comes_from_the_prompt(shell: Session) -> None:
    past = ["SELECT 1;", ".show France", "SELECT\n2;", ".edit"]
    shell.executor.history = lambda: past
    assert shell.printed(".history") == "SELECT 1;\n.show France\nSELECT\n2;\n.edit\n"
    assert shell.printed(".history select") == "SELECT 1;\nSELECT\n2;\n"
    assert shell.printed(".history nope") == ""
    shell.executor.history = lambda: [f"SELECT {i};" for i in range(60)]
    assert shell.printed(".history").count("\n") == 50
    shell.executor.history = lambda: ["SELECT \x1b[31m1;"]
    assert shell.printed(".history") == "SELECT \N{REPLACEMENT CHARACTER}[31m1;\n"


def test_edit_returns_the_last_statement(shell: Session) -> None:
    shell.executor.history = lambda: ["SELECT 1;", "SELECT\n2;", ".edit"]
    assert shell.run(".edit") == (0, "", "")
    assert shell.runner.pending == "SELECT\n2;"
    shell.executor.history = lambda: []
    shell.run(".edit")
    assert shell.runner.pending == ""


@pytest.mark.parametrize("statement", [".quit", ".exit", ".q", " .QUIT ", "exit", "quit;", "\\q"])
def test_quit_leaves(shell: Session, statement: str) -> None:
    with pytest.raises(Quit):
        shell.run(f"SELECT 1 AS a;\n{statement}\nSELECT 2 AS a;")
    assert shell.read() == (A, "")


def test_an_internal_error_does_not_end_the_session(shell: Session, wording: Wording) -> None:
    def fail(*_: object) -> StatementOutcome:
        raise RuntimeError("all\nwrong")

    shell.executor.show = fail  # type: ignore[method-assign, assignment]
    message = shell.refused(".show France", 70)
    assert message.startswith("Internal error: RuntimeError: all wrong.")
    wording(message, "shell")
    assert shell.printed("SELECT 1 AS a;") == A


def test_a_shortage_in_an_engine_does_not_end_the_session(shell: Session) -> None:
    class PanicException(BaseException):
        pass

    def fail(*_: object) -> StatementOutcome:
        raise PanicException("failed to spawn thread: Resource temporarily unavailable")

    shell.executor.show = fail  # type: ignore[method-assign, assignment]
    assert shell.refused(".show France", 1).startswith("Too many threads. Close other programs")
    assert shell.printed("SELECT 1 AS a;") == A


# -- set ---------------------------------------------------------------------------------------------------------------


def test_set_defines_parameters_and_slots(shell: Session) -> None:
    def rows(text: str) -> list[tuple[object, ...]]:
        frame = dispatch.run(shell.executor, text).frame
        assert frame is not None
        return frame.rows()

    assert dispatch.run(shell.executor, ".set c=Portugal n=2 'l=New York'").note == "c = Portugal, n = 2, l = New York"
    assert [row[3] for row in rows("country:<c> -> [borders] -> country")] == ["Spain"]
    assert len(rows("SELECT name FROM lake ORDER BY name LIMIT $n")) == 2
    assert rows("SELECT $n + 1 AS a, $l AS b, '$n' AS c") == [(3, "New York", "$n")]
    assert len(rows("SELECT ?x { ?x rdfs:label $c }")) == 1
    assert dispatch.run(shell.executor, ".set c=").note == "n = 2, l = New York"
    assert "<c>" in shell.refused("country:<c> -> [borders] -> country")
    assert dispatch.run(shell.executor, ".set n= l=").note == "no values are set"
    assert "NAME=VALUE" in shell.refused(".set c")


# -- as in psql and sqlite3 -------------------------------------------------------------------------------------------


@pytest.mark.core
def test_commands_of_other_shells(shell: Session) -> None:
    schema = shell.printed(".schema")
    for same in (r"\d", r"\d+"):
        assert shell.printed(same) == schema
    assert shell.printed(r"\d city") == shell.printed(r'\d "city"') == shell.printed(".schema city")
    assert shell.printed("help") == shell.printed("help;") == shell.printed(r"\?") == shell.printed(".help")
    assert shell.printed("help me").startswith("rank ")  # a search
    shell.run(".mode search")
    assert shell.executor.language("exit") == "search"
    assert shell.executor.language('"exit"') == "search"
    shell.run(".mode auto")


def test_system_commands(shell: Session) -> None:
    ran: list[str] = []
    shell.executor.system = lambda command: ran.append(command) or len(ran) - 1  # type: ignore[func-returns-value]
    assert shell.run("!ls -l; echo 'a b'") == (0, "", "")
    assert shell.said(r"\! false") == "exit code 1"
    assert shell.said(".system  x") == "exit code 2"
    assert ran == ["ls -l; echo 'a b'", "false", "x"]
    shell.executor.system = None
    assert "kbkit shell KB" in shell.refused("!ls")
