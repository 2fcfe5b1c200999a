"""The command line: help, names of options, errors, exit codes, and the commands on one KB."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import kbkit
from kbkit import assets
from kbkit.cli.app import app
from kbkit.cli.commands import Program
from kbkit.errors import KbError
from tests.console import Done, good, one_line, records
from tests.loops import each
from tests.wording import Wording

STORES = ["tables", "nodes", "adjacency", "triples", "text", "vectors"]


def commands(command: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every command of the program with its path."""
    command = command or typer.main.get_command(app)
    yield path, command
    for name, child in getattr(command, "commands", {}).items():
        yield from commands(child, (*path, name))


ALL = dict(commands())


# -- help -------------------------------------------------------------------------------------------------------------


_METAVARS = """
ACTION COLUMN EMBEDDER EXPR FACTOR FIELD FIELDS FILE FOLDER FORMAT FRACTION FROM GOLD GUIDE HOW ID IN KB KIND LANGUAGE
METHOD MODE MODEL N NAME NAMES NODE ORIGIN OUT PART PATH PORT QUERIES QUERY QUESTION RELATION RUN SECONDS SHAPE SHELL
SOURCE STORE SYSTEM TEXT TO TYPE URL WORDS DATASET A B IN,OUT A,B,C LEG=N NAME=COLUMN NAME=FILE NAME=VALUE NAME=WORD
TABLE=COLUMN TABLE=TYPE TABLE=RELATION COLUMN=TABLE COLUMN=KIND ATTRIBUTE DIRECTION
"""
METAVARS = set(_METAVARS.split())
"""Metavars say which value is expected, never its Python type (TEXT is prepended text)."""

SEVERAL_WORDINGS = {
    "--engine": "the engine of answers, or of SPARQL",
    "--max-answers": "with or without a default",
    "--limit": "Number of ... or Maximum number of ..., of the command's results",
    "-k": "results, or the cutoffs of measure",
    "--output": "the output file or folder of the command",
    "--format": "export has formats of its own",
    "--replace": "the output that is replaced",
    "--type": "node types of results, or to pass through, or of the rows of a file",
    "--text": "text fields, or a column that becomes one",
    "--relation": "one relation, or several to follow",
    "--method": "of graph embeddings, or of communities",
    "--save": "answers as a set, or values as an attribute",
    "--within": "the nodes that are searched, or the part of a graph",
    "--samples": "nodes that paths start from, or samples to rate",
    "--mode": "one mode, or several with a default",
    "--all": "results that are weak, or triples of all proofs",
    "--explain": "the scores of results, or the words of a question",
    "--split": "splits that the dataset has",
    "--learn": "answers of questions, or relevant nodes of searches",
    "--forget": "what was learned from questions, or from searches",
    "--embedder": "any embedder to build with, or another address of the same",
    "--rerank": "kinds of rerankers",
    "--rerank-depth": "with or without a default",
    "--kb": "the purpose of the KB",
    "--licence": "of the data of a KB, or of a dataset",
    "--name": "of a KB, or of a dataset",
    "--paper": "rows of one dataset of a paper, or the dataset to compare with",
    "--export": "samples for other annotation programs, or pairs for other trainers",
    "--epochs": "of graph embeddings, or the most of a training",
    "--by": "beside the means, or instead of the table",
    "--tag": "with or without a default",
    "-c": "one query, or several statements",
    "--template": "templates, or whole catalogues",
    "--min-answers": "with or without a default",
    "--plot": "charts of a KB or a dataset, or the view of a query",
}
"""Options of one meaning whose help differs from command to command, and in which respect."""


def options(*paths: tuple[str, ...]) -> Iterator[tuple[str, str, Any]]:
    """Yield (command, name, option) for all options of all commands, or of some."""
    for path in paths or ALL:
        for parameter in ALL[path].params:
            if parameter.param_type_name == "option":
                for name in [*parameter.opts, *parameter.secondary_opts]:
                    yield " ".join(path), name, parameter


def test_the_panels_list_every_command() -> None:
    from kbkit.cli.commands import PANELS

    listed = [name for names in PANELS.values() for name in names]
    assert sorted(listed) == sorted({path[0] for path in ALL if path})
    assert len(listed) == len(set(listed))


@pytest.mark.core
def test_the_help_fits_one_screen(run) -> None:
    lines = run("--help", env={"COLUMNS": "80"}).stdout.splitlines()
    assert len(lines) <= 42
    assert max(map(len, lines)) <= 80


def test_every_command_has_a_short_summary_and_help() -> None:
    for path, command in ALL.items():
        summary = command.help.split("\n")[0]
        assert summary[0].isupper()
        assert summary.endswith(".")
        if path:
            assert len(summary) <= 51, path
            assert command.get_short_help_str(80 - 6 - 10) == summary  # no list truncates it
        for parameter in command.params:
            text = getattr(parameter, "help", None)
            assert text, f"{' '.join(path)} {parameter.name}"
            assert text.endswith(".")


def test_metavars_say_what_is_expected() -> None:
    for path, parameter in each((path, one) for path, command in ALL.items() for one in command.params):
        if not getattr(parameter, "is_flag", False):
            assert parameter.metavar in METAVARS, f"{' '.join(path)} {parameter.name}"


def test_a_name_has_one_meaning() -> None:
    """The same option takes the same kind of value, has the same other names, and the same help unless listed above."""
    meanings: dict[str, Any] = {}
    wordings: dict[str, set[str]] = {}
    for command, name, parameter in options():
        value = re.sub("^TABLE=", "", parameter.metavar or "")  # of one table
        kind = "flag" if parameter.is_flag else re.sub("^(FILE|FOLDER|KB|PATH)$", "PATH", value)
        other = frozenset([*parameter.opts, *parameter.secondary_opts])
        assert meanings.setdefault(name, (kind, other)) == (kind, other), f"{command} {name}"
        wordings.setdefault(name, set()).add(parameter.help)
    several = {name for name, texts in wordings.items() if len(texts) > 1}
    known = set(SEVERAL_WORDINGS) | {alias for name in SEVERAL_WORDINGS for alias in meanings[name][1]}
    assert several <= known
    assert set(SEVERAL_WORDINGS) <= several


def test_shared_names() -> None:
    names = {name: parameter for _, name, parameter in options()}
    pairs = ("-n --limit", "-o --output", "-f --format", "-t --type", "-p --param", "-m --mode", "-r --relation")
    for short, long in (pair.split() for pair in pairs):
        assert names[short].opts == names[long].opts
    assert {parameter.help for _, name, parameter in options() if name == "--seed"} == {
        "Random seed, for reproducible output."
    }
    assert {parameter.default for _, name, parameter in options() if name == "--timeout"} == {60}


def test_hints_name_options_that_exist() -> None:
    from kbkit.cli.spelling import NAMES

    assert set(NAMES.values()) <= {name for _, name, _ in options()}


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_help_is_printed(here, path: tuple[str, ...]) -> None:
    for flag in each(("--help", "-h") if not path else ("--help",)):
        done = here(*path, flag)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.lstrip().startswith(f"Usage: {' '.join(('kbkit', *path))} ")
        assert max(map(len, done.stdout.splitlines())) <= 80


def test_version(run) -> None:
    done = run("--version")
    assert (done.returncode, done.stdout) == (0, f"kbkit {kbkit.__version__}\n")


def test_the_module_is_the_program(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kbkit", "info", "missing.kb"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("kbkit: missing.kb does not exist.")


def test_an_end_of_input_is_not_an_interrupt(capsys: pytest.CaptureFixture[str]) -> None:
    program = typer.Typer(cls=Program)

    @program.callback()
    def options() -> None: ...

    @program.command()
    def read() -> None:
        raise EOFError("cut off")

    with pytest.raises(KbError, match=r"^Unexpected end of input: cut off"):
        program(["read"], standalone_mode=False)
    assert capsys.readouterr() == ("", "")


def test_usage_errors(here, tiny_kb: Path) -> None:
    for args, said in (
        (("serach", tiny_kb, "x"), "Unknown command 'serach'. Did you mean 'search'"),
        (("sql",), "Missing argument 'KB'"),
        (("search", tiny_kb, "x", "-k", "many"), "valid integer"),
        (("sql", tiny_kb, "--nope"), "Unknown option '--nope'"),
    ):
        done = here(*args)
        assert done.returncode == 2
        assert said in " ".join(done.stderr.split())
        assert "Traceback" not in done.stderr


def test_no_arguments_print_the_help(here) -> None:
    done = here()
    assert "Usage: kbkit" in done.stdout + done.stderr


# -- options before the command ---------------------------------------------------------------------------------------


def test_debug_shows_a_traceback(run, here, tmp_path: Path) -> None:
    plain, debug = here("info", tmp_path), run("--debug", "info", tmp_path)
    assert "Traceback" not in plain.stderr
    assert "Traceback" in debug.stderr
    assert "NotAKbError" in debug.stderr
    assert plain.returncode != 0 != debug.returncode


@pytest.mark.system
def test_quiet_builds_print_nothing(run, here, tiny: Path, tmp_path: Path) -> None:
    files = [f"--file={name}={tiny / name}.csv" for name in ("nodes", "edges", "texts")]
    done = run("-q", "ingest", "table", *files, "-o", tmp_path / "a.kb")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    loud = here("ingest", "table", *files, "-o", tmp_path / "b.kb")
    assert loud.returncode == 0
    assert "12 nodes of 5 types, 18 edges of 7 relations, 11 texts" in loud.stderr
    assert loud.stdout == ""


# -- info, check, queries, gc -----------------------------------------------------------------------------------------


@pytest.mark.core
def test_info(here, world_kb: Path) -> None:
    data = json.loads(here("info", world_kb, "-f", "json").stdout)
    assert (data["name"], data["generation"]) == ("world", "0001")
    assert data["nodes"] == sum(t["nodes"] for t in data["types"])
    assert data["edges"] == sum(r["edges"] for r in data["relations"])
    assert data["average_degree"] == pytest.approx(2 * data["edges"] / data["nodes"], abs=0.01)
    assert {t["type"]: t["nodes"] for t in data["types"]}["country"] == 197
    assert [s["store"] for s in data["stores"]] and {s["store"] for s in data["stores"]} == set(STORES)
    assert all(s["bytes"] > 0 for s in data["stores"])
    assert len(data["sources"]) >= 20
    assert all(len(s["sha256"]) == 64 for s in data["sources"])
    assert {"kbkit", "duckdb", "pyoxigraph", "tantivy", "lancedb"} <= set(data["versions"])
    for kind in ("csv", "ndjson", "markdown"):
        assert "type country" in here("info", world_kb, "-f", kind).stdout
    page = here("info", world_kb).stdout
    assert f"{data['nodes']:,} nodes, {data['edges']:,} edges" in page


@pytest.mark.core
def test_check(here, world_kb: Path) -> None:
    done = here("check", world_kb, "-f", "json")
    assert done.returncode == 0
    assert json.loads(done.stdout) == [{"what": what, "result": "ok", "problem": ""} for what in ("files", *STORES)]


def test_check_fails_where_a_file_changed(here, tiny_kb: Path, tmp_path: Path) -> None:
    kb = shutil.copytree(tiny_kb, tmp_path / "copy.kb")
    [vectors] = (kb / "generations" / "0001" / "vectors" / "lance").rglob("data/*.lance")
    body = bytearray(vectors.read_bytes())
    body[-1] ^= 1
    vectors.write_bytes(body)
    done = here("check", kb, "-f", "json")
    assert done.returncode == 1
    assert done.stderr == ""
    wrong = [row for row in json.loads(done.stdout) if row["result"] == "wrong"]
    assert [row["what"] for row in wrong] == ["files", "vectors"]
    assert f"data/{vectors.name}" in wrong[0]["problem"]


@pytest.mark.core
def test_query_list_and_show(here) -> None:
    rows = json.loads(here("query", "list", "-f", "json").stdout)
    assert rows
    assert all(row["answers"].endswith((".", "?")) for row in rows)
    assert {row["language"] for row in rows} == {"sql", "sparql"}
    name = rows[0]["query"]
    printed = here("query", "show", name).stdout
    assert printed.startswith("-- ")
    assert "SELECT" in printed.upper()
    assert f"'{name}'" in one_line(here("query", "show", name + "z"))


@pytest.mark.core
def test_docs(here) -> None:
    named = [line.split()[0] for line in here("docs").stdout.splitlines()]
    assert named[0] == "start"
    assert sorted(named) == sorted(path.stem for path in assets.guides().glob("*.md"))
    assert here("docs", "answers").stdout.startswith("# Answers: paths, sets and proofs\n")
    assert "'answers'" in one_line(here("docs", "answer"))


@pytest.mark.core
def test_gc(here, tiny_kb: Path, tmp_path: Path) -> None:
    kb = shutil.copytree(tiny_kb, tmp_path / "copy.kb")
    done = here("gc", kb)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "Nothing to remove\n")
    assert here("-q", "gc", kb).stderr == ""
    assert here("check", kb).returncode == 0


# -- show -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reference", ["France", "FRA", "country:France", "country#FRA", "france", "#ID"])
def test_show(here, world_kb: Path, reference: str) -> None:
    with kbkit.open(world_kb) as kb:
        node = kb.find("country#FRA")
    data = json.loads(here("show", world_kb, reference.replace("ID", str(node)), "-f", "json").stdout)
    assert (data["id"], data["reference"], data["name"]) == (node, "country#FRA", "France")
    assert data["attributes"]["un_status"] == "member"
    assert data["texts"][0]["field"] == "description"
    borders = next(r for r in data["relations"] if r["relation"] == "borders")
    assert borders["direction"] == "out"
    assert borders["count"] >= 8
    assert len(borders["neighbors"]) == 5


def test_show_by_alias_and_ambiguous(here, tiny_kb: Path) -> None:
    assert json.loads(here("show", tiny_kb, "Инсулин", "-f", "json").stdout)["reference"] == "gene/protein#g3"
    assert "person#1, person#p2" in one_line(here("show", tiny_kb, "Zoë Müller"))
    assert "12" in one_line(here("show", tiny_kb, "#12"))


def test_show_one_relation(here, tiny_kb: Path) -> None:
    rows = json.loads(here("show", tiny_kb, "drug#1", "-r", "order", "-f", "json").stdout)
    assert [(r["direction"], r["key"]) for r in rows] == [("in", "1"), ("in", "1")]
    assert sorted(r["quantity"] for r in rows) == [2, 3]
    assert "'order'" in one_line(here("show", tiny_kb, "drug#1", "-r", "orders"))


@pytest.mark.core
def test_show_prints_a_page(here, tiny_kb: Path) -> None:
    page = here("show", tiny_kb, "g3").stdout
    for line in ("insulin", "gene/protein#g3", "hormone", "year: 1921", "A hormone that lets cells take up sugar"):
        assert line in page
    assert "diabetes mellitus 糖尿病" in page
    assert here("show", tiny_kb, "p3", "-f", "table").stdout.startswith("Nobody, Known")


@pytest.mark.parametrize("number", ["0", "-1", "1"])
def test_show_few(here, world_kb: Path, number: str) -> None:
    done = here("show", world_kb, "France", "-n", number, "-f", "json")
    if done.returncode:
        assert "Traceback" not in done.stderr
    else:
        assert all(len(r["neighbors"]) <= max(int(number), 0) for r in json.loads(done.stdout)["relations"])


def test_show_a_superscript(here, tiny_kb: Path) -> None:
    assert "'#²'" in one_line(here("show", tiny_kb, "#²"))


# -- queries ----------------------------------------------------------------------------------------------------------


@pytest.mark.core
@pytest.mark.parametrize(
    ("command", "suffix", "text"),
    [
        ("sql", ".sql", "SELECT count(*) AS n FROM nodes"),
        ("sql", "", "/* all nodes */\nFROM (SELECT count(*) AS n FROM nodes)"),
        ("sparql", ".rq", "SELECT (COUNT(DISTINCT ?s) AS ?n) { ?s kb:type ?t }"),
        ("sparql", ".txt", "# all nodes\nprefix x: <http://x/> SELECT (COUNT(DISTINCT ?s) AS ?n) { ?s kb:type ?t }"),
    ],
)
def test_a_query_as_argument_option_file_and_input(
    run, here, tiny_kb: Path, tmp_path: Path, command: str, suffix: str, text: str
) -> None:
    path = tmp_path / f"q{suffix}"
    path.write_text(text, encoding="utf-8")
    process = run if suffix == ".sql" else here
    for done in (
        here(command, tiny_kb, text, "-f", "csv"),
        here(command, tiny_kb, "-c", text, "-f", "csv"),
        here(command, tiny_kb, path, "-f", "csv"),
        process(command, tiny_kb, "-", "-f", "csv", stdin=text),
    ):
        assert done == Done(0, "n\n12\n", "")


def test_a_file_is_preferred_to_a_shipped_query_and_to_text(here, tiny_kb: Path, tmp_path: Path) -> None:
    (tmp_path / "graph").mkdir()
    for name in ("graph/components", "SELECT 1"):
        (tmp_path / name).write_text("SELECT 'the file' AS a", encoding="utf-8")
        assert good(here("sql", tiny_kb, name, "-f", "csv", cwd=tmp_path)) == "a\nthe file\n"
    assert records("sql", tiny_kb, "components") == records("sql", tiny_kb, "graph/components")


@pytest.mark.parametrize(
    ("command", "argument", "fact"),
    [
        ("sql", "graph/component", "'graph/components'"),
        ("sql", "nosuch.sql", "nosuch.sql"),
        ("sql", "SELECT", "SELECT"),
        ("sql", "selected x", "selected x"),
        ("sparql", "graph/isolatd", "'graph/isolated'"),
        ("sparql", "x" * 5_000, "xxx"),
    ],
)
def test_an_argument_that_is_no_query(
    here, tiny_kb: Path, command: str, argument: str, fact: str, wording: Wording
) -> None:
    message = one_line(here(command, tiny_kb, argument))
    assert fact in message
    assert all(word in message for word in ("file", "shipped", {"sql": "SQL", "sparql": "SPARQL"}[command]))
    wording(message, "cli")


def test_a_query_with_a_syntax_error_reaches_the_engine(here, tiny_kb: Path) -> None:
    assert "shipped" not in one_line(here("sql", tiny_kb, "SELECT FROM WHERE"))
    assert "shipped" not in one_line(here("sparql", tiny_kb, "SELECT ?x { ?x"))


def test_a_table_in_a_pipe(run, tiny_kb: Path) -> None:
    """A pipe gets the same table without styles, in full width and with all rows."""
    text = "SELECT range AS a, repeat('word ', 30) AS b FROM range(150)"
    done = run("sql", tiny_kb, text, env={"COLUMNS": "", "NO_COLOR": ""})
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["a", "b"]
    assert lines[-1] == "150 rows"
    assert 100 < max(map(len, lines)) <= 120
    assert "\x1b" not in done.stdout
    assert done.stdout.count("word") == 150 * 30


def test_an_argument_that_is_not_utf8(run, tiny_kb: Path) -> None:
    # Python passes such bytes on as surrogates, which no engine accepts.
    done = run("sql", tiny_kb, "-c", "SELECT '\udcff'")
    assert "Traceback" not in done.stderr
    assert one_line(done)


def test_a_search_that_is_not_utf8(here, tiny_kb: Path) -> None:
    done = here("search", tiny_kb, "\udcff")
    assert done.returncode in (0, 1)
    assert "internal error" not in done.stderr.lower()


@pytest.mark.parametrize("command", ["sql", "sparql"])
def test_one_query_at_a_time(here, tiny_kb: Path, command: str, wording: Wording) -> None:
    for args in ((), ("x", "-c", "SELECT 1"), ("SELECT 1", "--timeout", "-1")):
        wording(one_line(here(command, tiny_kb, *args)), "cli")


@pytest.mark.parametrize("value", ["a", "=1", ""])
def test_invalid_parameters(here, tiny_kb: Path, value: str, wording: Wording) -> None:
    message = one_line(here("sql", tiny_kb, "SELECT $a", "-p", value))
    assert repr(value) in message
    wording(message, "cli")


def test_parameters_of_a_file(here, tiny_kb: Path, tmp_path: Path, wording: Wording) -> None:
    path = tmp_path / "q.sql"
    path.write_text("-- Title.\n-- $limit (integer): rows\nSELECT $limit AS n", encoding="utf-8")
    assert records("sql", tiny_kb, path, "--param", "limit=3") == [{"n": 3}]
    for args in ((), ("-p", "limits=3"), ("-p", "limit=x")):
        message = one_line(here("sql", tiny_kb, path, *args))
        assert "limit" in message
        wording(message, "cli", replace={str(path): "FILE"})


@pytest.mark.core
def test_search(here, world_kb: Path) -> None:
    rows = records("search", world_kb, "river nile", "-k", "3")
    assert [row["rank"] for row in rows] == [1, 2, 3]
    assert list(rows[0]) == ["rank", "id", "key", "type", "name", "score", "bm25", "dense", "snippet", "weak"]
    typed = here("search", world_kb, "nile", "-t", "country", "-m", "bm25", "-f", "json").stdout
    assert {row["type"] for row in json.loads(typed)} == {"country"}
    assert "river#nile" in here("search", world_kb, "nile").stdout


def test_no_kb(here, tmp_path: Path) -> None:
    for args in (("info",), ("check",), ("show", "x"), ("sql", "-c", "SELECT 1"), ("search", "x"), ("gc",)):
        for folder in (tmp_path, tmp_path / "none"):
            error = one_line(here(args[0], folder, *args[1:]))
            assert str(folder) in error
    assert list(tmp_path.iterdir()) == []


def test_queries_write_nothing(here, tiny_kb: Path, tmp_path: Path) -> None:
    before = sorted(p.relative_to(tiny_kb) for p in tiny_kb.rglob("*") if "lock" not in p.name)
    for args in (
        ("sql", "-c", "SELECT 1"),
        ("sparql", "-c", "ASK {}"),
        ("search", "insulin"),
        ("show", "g1"),
        ("check",),
    ):
        assert here(args[0], tiny_kb, *args[1:], cwd=tmp_path).returncode == 0
    assert sorted(p.relative_to(tiny_kb) for p in tiny_kb.rglob("*") if "lock" not in p.name) == before
    assert list(tmp_path.iterdir()) == []
