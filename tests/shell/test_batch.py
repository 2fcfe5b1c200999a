"""``kbkit shell`` without a prompt: ``-c``, pipes, formats, files and exit codes."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import polars as pl
import pytest

from tests.conftest import SCRIPT, Run
from tests.examples import first_some, some

ONE, TWO = "SELECT 1 AS a;", "SELECT 2 AS a;"
SLOW = "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range % 7 = b.range % 11;"


def test_texts_run_one_after_another(here: Run, world_kb: Path) -> None:
    done = here("shell", world_kb, "-c", ONE)
    assert (done.returncode, done.stdout, done.stderr) == (0, "a\n─\n1\n1 row\n", "")
    done = here(
        "shell", world_kb, "-f", "ndjson", "-c", ONE + TWO, "-c", "SELECT 3 AS a\n\n", "-c", "SELECT a + 1 AS b FROM _"
    )
    assert (done.returncode, done.stdout) == (0, '{"a":1}\n{"a":2}\n{"a":3}\n{"b":4}\n')


@pytest.mark.core
def test_four_languages_in_one_pipe(here: Run, world_kb: Path) -> None:
    script = """\
-- neighbours, and what is near
country:"Nepal"
  -> [borders] -> country

SELECT name FROM _ ORDER BY name;
SELECT ?name { country:NPL rel:capital ?c . ?c rdfs:label ?name }

.search -k 1
flat-topped mountain above Cape Town
.format auto
.show 1"""
    done = here("shell", world_kb, "-f", "ndjson", stdin=script)
    assert done.returncode == 0
    rows = [json.loads(line) for line in done.stdout.splitlines()[:6]]
    assert [row["name"] for row in rows] == ["China", "India", "China", "India", "Kathmandu", "Table Mountain"]
    assert done.stderr == "search options: k 1\nformat auto\n"
    assert "Table Mountain\nmountain#table-mountain" in done.stdout
    assert "unknown" not in done.stdout


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("SELECT foo FROM country", 1),
        (".frobnicate", 1),
        ("country -> nope", 1),
        ("SELECT ?x {", 1),
        (f".timeout 0.05\n{SLOW}", 124),
        ("", 0),
        ("\n;\n-- nothing\n", 0),
        (".quit", 0),
        (".edit", 1),
    ],
)
def test_the_exit_code_reports_failure(here: Run, world_kb: Path, text: str, code: int) -> None:
    done = here("shell", world_kb, "-f", "ndjson", "-c", text, "-c", "SELECT 9 AS z")
    assert done.returncode == code
    assert ('"z":9' in done.stdout) == (code == 0 and text != ".quit")
    piped = here("shell", world_kb, stdin=text)
    assert (piped.returncode, piped.stdout) == (code, "")
    assert bool(piped.stderr) == (code != 0)
    assert piped.stderr.replace("stdin:1: ", "").replace("stdin:2: ", "") == done.stderr


def test_a_failure_stops_the_script(here: Run, world_kb: Path) -> None:
    done = here("shell", world_kb, "-f", "csv", stdin=f"{ONE}\n\ncountry ->\n  nope\n{TWO}\n")
    assert (done.returncode, done.stdout) == (1, "a\n1\n")
    lines = done.stderr.splitlines()
    assert lines[:2] == ["    nope", "    ^"]
    assert lines[2].startswith("stdin:4: ")
    assert "'nope'" in lines[2]
    assert len(lines) == 3


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("SELECT 'abc\n\n", ["  SELECT 'abc", "         ^", "stdin:2: Parser Error: unterminated string"]),
        ('country:"abc\n.mode\n', ['  country:"abc', "          ^", "stdin:2: Unexpected \"abc"]),
        ("SELECT (1;\n.mode\n", ["  SELECT (1;", "           ^", 'stdin:2: Parser Error: syntax error at or near ";']),
    ],
)  # fmt: skip
def test_the_engine_reports_an_unfinished_statement(here: Run, world_kb: Path, text: str, lines: list[str]) -> None:
    done = here("shell", world_kb, "-f", "ndjson", stdin=f"{ONE}\n{text}")
    assert (done.returncode, done.stdout) == (1, '{"a":1}\n')
    told = done.stderr.splitlines()
    assert told[1].strip() == "^"
    assert told[0] == lines[0]
    assert told[2].casefold().startswith(lines[2].casefold())


def test_remarks_are_not_among_the_rows(here: Run, world_kb: Path) -> None:
    script = f".timing on\n.mode\n{ONE}\n.rows 3\n"
    done = here("shell", world_kb, "-f", "ndjson", stdin=script)
    assert done.stdout == '{"a":1}\n'
    assert re.fullmatch(r"timing on\nmode auto\nrows 3\n", re.sub(r"\d+\.\d{3} s\n", "", done.stderr))
    assert len(re.findall(r" s\n", done.stderr)) == 4
    quiet = here("--quiet", "shell", world_kb, "-f", "ndjson", stdin=script + "SELECT foo;")
    assert (quiet.returncode, quiet.stdout) == (1, '{"a":1}\n')
    assert quiet.stderr.splitlines()[0] == "  SELECT foo"  # errors are told
    assert quiet.stderr.count("\n") == 3


FORMATS = {
    "csv": "id,name\n1,a|b\n2,\n",
    "ndjson": '{"id":1,"name":"a|b"}\n{"id":2,"name":null}\n',
    "json": '[{"id":1,"name":"a|b"},\n {"id":2,"name":null}]\n',
    "markdown": "| id | name |\n| ---: | --- |\n| 1 | a\\|b |\n| 2 |  |\n",
    "table": "id   name\n─────────\n 1   a|b\n 2\n2 rows\n",
}


@pytest.mark.parametrize("kind", first_some(list(FORMATS), 3))
def test_formats(here: Run, world_kb: Path, tmp_path: Path, kind: str) -> None:
    text = "SELECT * FROM (VALUES (1, 'a|b'), (2, NULL)) t(id, name);"
    assert here("shell", world_kb, "-f", kind, "-c", text).stdout == FORMATS[kind]
    assert here("shell", world_kb, stdin=f".format {kind}\n{text}").stdout == FORMATS[kind]
    out = tmp_path / "out.any"
    out.write_text("of yesterday", encoding="utf-8")
    done = here("shell", world_kb, "--format", kind, "-o", out, "-c", text + text)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert out.read_text(encoding="utf-8") == FORMATS[kind] * 2


def test_the_file_name_decides_the_format(here: Run, world_kb: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    done = here("shell", world_kb, "-o", out, "-c", ONE, "-c", TWO)
    assert (done.returncode, done.stdout) == (0, "")
    assert pl.read_parquet(out).rows() == [(2,)]
    here("shell", world_kb, "-o", tmp_path / "out.csv", "-c", ONE)
    assert (tmp_path / "out.csv").read_text(encoding="utf-8") == "a\n1\n"


@pytest.mark.parametrize(
    ("options", "fact"),
    [
        (["--language", "foo"], "sparql"),
        (["-f", "foo"], "ndjson"),
        (["-f", "parquet"], "parquet"),
        (["-o", "no/x.csv"], "no"),
        (["-o", "x.foo"], "x.foo"),
        (["-o", "."], "."),
    ],
)
def test_options_are_checked_before_anything_runs(
    here: Run, world_kb: Path, tmp_path: Path, options: list[str], fact: str
) -> None:
    done = here("shell", world_kb, *options, "-c", ONE, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert fact in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_kb_must_exist(here: Run, tmp_path: Path) -> None:
    done = here("shell", tmp_path / "nope.kb", "-c", ONE)
    assert (done.returncode, done.stdout) == (1, "")
    assert str(tmp_path / "nope.kb") in done.stderr


def test_a_mode_is_kept(here: Run, world_kb: Path) -> None:
    done = here(
        "shell",
        world_kb,
        "--language",
        "sql",
        "-f",
        "ndjson",
        stdin="FROM country c\nSELECT c.key\nLIMIT 1;\n.mode auto\nriver{length_km > 6600}\n",
    )
    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == '{"key":"AFG"}'
    assert json.loads(done.stdout.splitlines()[1])["name"] == "Nile"
    done = here("shell", world_kb, "--language", "search", "-f", "ndjson", "-c", "SELECT ?x", "-c", ".search")
    assert done.returncode == 0
    assert json.loads(done.stdout.splitlines()[0])["rank"] == 1


def test_a_page_is_text_or_json(here: Run, world_kb: Path) -> None:
    text = here("shell", world_kb, "-c", ".show Paris").stdout
    assert text.startswith("Paris\ncity#paris (id 333)\n")
    assert "1  France  (country#FRA; role capital)" in text
    page = json.loads(here("shell", world_kb, "-f", "json", "-c", ".show Paris").stdout)
    assert page["relations"][0]["neighbors"][0]["reference"] == "country#FRA"
    assert page == json.loads(here("show", world_kb, "Paris", "-f", "json").stdout)


def test_tables_for_programs_have_no_headings(here: Run, world_kb: Path) -> None:
    lines = here("shell", world_kb, "-f", "ndjson", "-c", ".schema").stdout.splitlines()
    assert {next(iter(json.loads(line))) for line in lines} == {"type", "relation"}


def test_control_characters_are_not_printed(here: Run, world_kb: Path) -> None:
    for text in (
        "SELECT \x1b[31mx",
        'country:"\x1b]0;x\x07"',
        ".show \x1b[2J",
        ".\x1b[2J",
        "SELECT ?x { \x1b }",
        "\x1b[31m red",
    ):
        for kind in some(("table", "ndjson", "csv", "markdown"), 3):
            done = here("shell", world_kb, "-f", kind, "-c", text)
            assert not set(done.stdout + done.stderr) & {"\x1b", "\x07"}, text
            assert "Internal" not in done.stderr
    done = here("shell", world_kb, "-f", "table", "-c", "SELECT '\x1b[31mred\x00' AS a")
    assert done.stdout == "a\n─────────\n\N{REPLACEMENT CHARACTER}[31mred\N{REPLACEMENT CHARACTER}\n1 row\n"
    done = here("shell", world_kb, stdin="SELECT 1\x00 AS a;\n")
    assert "\x00" not in done.stdout + done.stderr
    assert "Internal" not in done.stderr


@pytest.mark.system
def test_a_megabyte_in_one_line(here: Run, world_kb: Path) -> None:
    done = here("shell", world_kb, stdin=f"SELECT length('{'x' * 1_000_000}') AS n, foo;")
    assert done.returncode == 1
    assert all(len(line) <= 120 for line in done.stderr.splitlines())
    assert "foo" in done.stderr.splitlines()[0]
    done = here("shell", world_kb, "-f", "csv", stdin=f"SELECT length('{'x' * 1_000_000}') AS n;")
    assert (done.returncode, done.stdout) == (0, "n\n1000000\n")
    done = here("shell", world_kb, stdin="word " * 40_000)  # a search, which reads each word
    assert "Internal" not in done.stderr
    for statement in ("." + "x" * 1_000_000, "country -> " + "x" * 1_000_000, ".show " + "x" * 1_000_000):
        done = here("shell", world_kb, stdin=statement)
        assert done.returncode == 1
        assert "Internal" not in done.stderr
        assert len(done.stderr) < 3_000


def test_line_ends_and_marks_of_other_systems(here: Run, world_kb: Path) -> None:
    script = '\ufeffSELECT 1\r\nAS a;\r\n.rows 5\r\nCOUNTRY & country{name = "Nepal"}\r\n\r\n'
    done = here("shell", world_kb, "-f", "ndjson", stdin=script)
    assert (done.returncode, done.stderr) == (0, "rows 5\n")
    assert [json.loads(line).get("name") for line in done.stdout.splitlines()] == [None, "Nepal"]


def test_quit_leaves_at_once(here: Run, world_kb: Path) -> None:
    done = here("shell", world_kb, "-f", "ndjson", stdin=f"{ONE}\n.quit\n{TWO}\nSELECT foo;")
    assert (done.returncode, done.stdout, done.stderr) == (0, '{"a":1}\n', "")
    done = here("shell", world_kb, "-f", "ndjson", "-c", f"{ONE} .quit", "-c", TWO)
    assert (done.returncode, done.stdout) == (0, '{"a":1}\n')


# -- in a process of its own ------------------------------------------------------------------------------------------


def _process(world_kb: Path, *words: str, stdin: bytes = b"", out: int = subprocess.PIPE) -> tuple[int, bytes, bytes]:
    done = subprocess.run(
        [str(SCRIPT), "shell", str(world_kb), *words],
        input=stdin,
        stdout=out,
        stderr=subprocess.PIPE,
        env={**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "PYTHONUTF8": "1"},
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout or b"", done.stderr


@pytest.mark.system
def test_a_pipe_that_closes_is_no_error(world_kb: Path) -> None:
    read, written = os.pipe()
    os.close(read)
    try:
        code, _, err = _process(world_kb, "-c", "SELECT range AS r FROM range(5000)", "-c", TWO, out=written)
    finally:
        os.close(written)
    assert (code != 0, err) == (True, b"")


@pytest.mark.system
def test_input_that_is_not_utf8(world_kb: Path) -> None:
    code, out, err = _process(world_kb, "-f", "ndjson", stdin=b"SELECT 1 AS a;\nSELECT '\xff\xfe' AS b;\n")
    assert (code, out) == (1, b'{"a":1}\n')
    assert err.startswith(b"stdin:2: ")
    assert b"UTF-8" in err
