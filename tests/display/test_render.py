"""Every format with odd values; nothing of a KB's text can steer a terminal, a page or a table."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from kbkit.display.render import FORMATS, TABLE_ROWS, cell, clean, markdown, print_table, write, write_text
from kbkit.errors import KbError, UnknownNameError
from tests.console import one_line
from tests.examples import examples
from tests.wording import Wording

SCRIPT = Path(sys.executable).with_name("kbkit")
ESCAPES = "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b2J \x08\x7f\r\x00"
TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
LINE_BREAKS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
FRAME = pl.DataFrame(
    {
        "text": ['quote " comma, tab\t', "line\nbreak|pipe\\", ESCAPES, "", None, "[bold]x[/bold] :smile: é糖🤧"],
        "whole": [1, -2, None, 2**62, 0, 5],
        "fraction": [0.5, math.nan, math.inf, None, -1e-9, 1e20],
        "flag": [True, False, None, True, True, True],
        "day": [dt.date(2020, 1, 2), None, None, None, None, None],
        "moment": [dt.datetime(2020, 1, 2, 3, 4, 5), None, None, None, None, None],
        "lists": [["a", None, 'b"'], [], None, ["x"], ["y"], ["z"]],
        "structs": [{"a": 1, "b": "é"}, {"a": None, "b": None}, None, None, None, None],
        "nothing": [None] * 6,
    }
)


def written(frame: pl.DataFrame, kind: str, folder: Path) -> str:
    path = folder / "out"
    write(frame, kind, path)
    return path.read_bytes().decode()


# -- machines ---------------------------------------------------------------------------------------------------------


def test_json_and_ndjson_say_the_same(tmp_path: Path) -> None:
    rows = json.loads(written(FRAME, "json", tmp_path))
    assert rows == [json.loads(line) for line in written(FRAME, "ndjson", tmp_path).splitlines()]
    assert [row["text"] for row in rows] == FRAME["text"].to_list()
    assert [row["lists"] for row in rows] == FRAME["lists"].to_list()
    assert rows[0]["day"] == "2020-01-02"
    assert rows[1]["fraction"] is None
    assert rows[0]["structs"] == {"a": 1, "b": "é"}
    assert list(rows[0]) == FRAME.columns


PLAIN_BREAKS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters=LINE_BREAKS))


@examples(30)
@given(st.lists(st.tuples(PLAIN_BREAKS, st.none() | st.integers(0, 9)), max_size=5))
def test_json_round_trip(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, int | None]]) -> None:
    frame = pl.DataFrame(rows, schema={"a": pl.String, "b": pl.Int64}, orient="row")
    folder = tmp_path_factory.getbasetemp()
    expected = [{"a": a, "b": b} for a, b in rows]
    assert json.loads(written(frame, "json", folder)) == expected
    assert [json.loads(line) for line in written(frame, "ndjson", folder).split("\n")[:-1]] == expected


@pytest.mark.parametrize("sign", "\x85\u2028\u2029")
def test_json_with_other_line_breaks(tmp_path: Path, sign: str) -> None:
    assert json.loads(written(pl.DataFrame({"a": [f"x{sign}y"]}), "json", tmp_path)) == [{"a": f"x{sign}y"}]


@examples(30)
@given(st.lists(st.tuples(TEXT, TEXT), max_size=5))
def test_csv_round_trip(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]) -> None:
    frame = pl.DataFrame(rows, schema={"a": pl.String, 'b, "c"': pl.String}, orient="row")
    text = written(frame, "csv", tmp_path_factory.getbasetemp())
    found = list(csv.reader(io.StringIO(text, newline="")))
    assert found == [["a", 'b, "c"'], *map(list, rows)]


def test_csv_of_all_kinds(tmp_path: Path) -> None:
    found = list(csv.DictReader(io.StringIO(written(FRAME, "csv", tmp_path), newline="")))
    assert [row["text"] for row in found] == [text or "" for text in FRAME["text"]]
    assert [json.loads(row["lists"]) if row["lists"] else None for row in found] == FRAME["lists"].to_list()
    assert json.loads(found[0]["structs"]) == {"a": 1, "b": "é"}
    assert [row["whole"] for row in found] == ["1", "-2", "", str(2**62), "0", "5"]


def test_parquet_round_trip(tmp_path: Path) -> None:
    write(FRAME, "parquet", tmp_path / "out")
    assert pl.read_parquet(tmp_path / "out").equals(FRAME)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("frame", [FRAME.clear(), pl.DataFrame(), pl.DataFrame({"a": []})])
def test_empty_frames(tmp_path: Path, kind: str, frame: pl.DataFrame) -> None:
    write(frame, kind, tmp_path / "out")
    body = (tmp_path / "out").read_bytes()
    if kind == "json":
        assert json.loads(body) == []
    if kind == "ndjson":
        assert body == b""
    if kind == "csv" and frame.width:
        assert body.decode().splitlines() == [",".join(frame.columns)]
    if kind == "table":
        assert body.decode().rstrip().endswith("0 rows")


# -- eyes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["table", "markdown"])
def test_control_characters_do_not_reach_a_screen(tmp_path: Path, kind: str) -> None:
    frame = pl.DataFrame({"a" + ESCAPES: [ESCAPES], "l": [[ESCAPES]], "s": [{"k": ESCAPES}]})
    text = written(frame, kind, tmp_path)
    assert "red" in text.replace("\n", "")
    assert not set(text) & {chr(n) for n in [*range(10), *range(11, 32), *range(127, 160)]}


@given(
    st.lists(st.lists(st.text("ab漢", min_size=1, max_size=24), min_size=1, max_size=5), min_size=3, max_size=3),
    st.integers(40, 100),
)
def test_words_are_whole_where_another_column_has_room(words: list[list[str]], width: int) -> None:
    frame = pl.DataFrame({name: [" ".join(column)] for name, column in zip("xyz", words, strict=True)})
    stream = io.StringIO()
    print_table(frame, stream, width=width)
    shown = stream.getvalue()
    assert max(cell_len(line) for line in shown.splitlines()) <= width
    if sum(max(map(cell_len, column)) for column in words) + 2 * 3 <= width:
        assert set(shown.split()) >= {word for column in words for word in column}


def test_columns_share_the_room(tmp_path: Path) -> None:
    stream = io.StringIO()
    row = {"n": 1_000_000, "key": "organisation#un", "text": "many short words " * 5, "more": "a b " * 30}
    print_table(pl.DataFrame([row]), stream, width=60)
    lines = stream.getvalue().splitlines()
    assert lines[2] == "1000000  organisation#un  many short words  a b a b a b a b"
    assert len(lines[1]) == 60


@given(st.text())
def test_clean(text: str) -> None:
    made = clean(text)
    assert len(made) == len(text)
    for before, after in zip(text, made, strict=True):
        control = (ord(before) < 32 and before not in "\t\n") or 127 <= ord(before) < 160
        assert after == ("\ufffd" if control else before)


def test_markup_is_not_obeyed(tmp_path: Path) -> None:
    text = written(pl.DataFrame({"[red]a": ["[bold]x[/bold] [link=http://x]y[/] :smile:"]}), "table", tmp_path)
    assert "[bold]x[/bold] [link=http://x]y[/] :smile:" in text
    assert "[red]a" in text


def test_a_table_on_a_terminal_has_limited_rows(tmp_path: Path) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for rows, last in ((TABLE_ROWS + 1, "100 of 101 rows shown; other formats show all"), (TABLE_ROWS, "100 rows")):
        frame, terminal = pl.DataFrame({"a": range(rows)}), Terminal()
        write_text(frame, "table", terminal)
        assert terminal.getvalue().rstrip().splitlines()[-1] == f"\x1b[2m{last}\x1b[0m"
        assert terminal.getvalue().count("\n") == 100 + 3
        assert written(frame, "table", tmp_path).rstrip().endswith(f"{rows} rows")
    assert written(pl.DataFrame({"a": [1]}), "table", tmp_path).rstrip().endswith("1 row")


def cells(line: str) -> list[str]:
    """The cells of a line of a GitHub table: a pipe after a backslash is no border, nor is that of an escaped one."""
    result, current, signs = [], "", iter(line)
    for sign in signs:
        if sign == "\\":
            following = next(signs, "")
            current += following if following in "\\|" else sign + following
        elif sign == "|":
            result.append(current.strip())
            current = ""
        else:
            current += sign
    return [*result, current.strip()][1:-1]


@pytest.mark.parametrize("text", ["a|b", "a\nb", "||", "a | b", "`a|b`", ""])
def test_markdown_cells(text: str) -> None:
    lines = markdown(pl.DataFrame({"x|y": [text], "n": [1]})).splitlines()
    assert len(lines) == 3
    assert cells(lines[0]) == ["x|y", "n"]
    assert lines[1] == "| --- | ---: |"
    assert cells(lines[2]) == [text.replace("\n", " ").strip(), "1"]


@pytest.mark.parametrize("text", ["a\\|b", "\\|"])
def test_markdown_cells_with_backslashes(text: str) -> None:
    assert cells(markdown(pl.DataFrame({"x": [text], "n": [1]})).splitlines()[2]) == [text, "1"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ""),
        (0.0, "0"),
        (0.5, "0.5"),
        (1e20, "1e+20"),
        (["a", None, 1], "a, , 1"),
        ({"é": 1}, '{"é": 1}'),
        (True, "True"),
    ],
)
def test_cells(value: object, shown: str) -> None:
    assert cell(value) == shown


# -- where it goes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ending", "start"),
    [
        (".json", "[{"),
        (".ndjson", '{"a"'),
        (".jsonl", '{"a"'),
        (".csv", "a\n"),
        (".md", "| a |"),
        (".txt", " a"),
        (".parquet", "PAR1"),
    ],
)
def test_the_ending_says_the_format(here, tiny_kb: Path, tmp_path: Path, ending: str, start: str) -> None:
    out = tmp_path / f"out{ending}"
    done = here("sql", tiny_kb, "-c", "SELECT 1 AS a", "-o", out)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    body = out.read_bytes()
    assert body.startswith(start.encode()) or body.lstrip().startswith(start.strip().encode())


def test_the_format_wins_over_the_ending(here, tiny_kb: Path, tmp_path: Path) -> None:
    here("sql", tiny_kb, "-c", "SELECT 1 AS a", "-o", tmp_path / "x.csv", "-f", "json")
    assert json.loads((tmp_path / "x.csv").read_text()) == [{"a": 1}]


def test_what_cannot_be_written(here, tiny_kb: Path, tmp_path: Path, wording: Wording) -> None:
    for args, fact in (
        (("-o", tmp_path / "x.doc"), "x.doc"),
        (("-f", "parquet"), "parquet"),
        (("-f", "jsn"), "'ndjson'"),
        (("-o", tmp_path / "no" / "x.csv"), "no"),
        (("-o", tmp_path, "-f", "csv"), "folder"),
    ):
        message = one_line(here("sql", tiny_kb, "SELECT 1 AS a", *args))
        assert fact in message
        wording(message, "cli", replace={str(tmp_path): "DIR"})
    assert list(tmp_path.iterdir()) == []


def test_errors_of_write() -> None:
    with pytest.raises(UnknownNameError):
        write(FRAME, "xml")
    with pytest.raises(KbError):
        write(FRAME, None, Path("x.unknown"))


def test_ndjson_in_a_pipe(here, tiny_kb: Path) -> None:
    query = "SELECT 1 AS a, 'x' AS b UNION ALL SELECT 2, NULL ORDER BY a"
    assert here("sql", tiny_kb, query, "-f", "ndjson").stdout == '{"a":1,"b":"x"}\n{"a":2,"b":null}\n'


@pytest.mark.system
def test_a_terminal_gets_a_table(tiny_kb: Path) -> None:
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    command = [str(SCRIPT), "sql", str(tiny_kb), "-c", "SELECT 1 AS a, chr(27) || '[31mred' AS b"]
    env = {**os.environ, "TERM": "dumb", "COLUMNS": "80", "NO_COLOR": "1"}
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=env) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # Linux says so when the other side is closed
                break
            if not part:
                break
            shown += part
        assert process.wait() == 0
    os.close(ours)
    text = shown.decode()
    assert "{" not in text
    assert "1 row" in text
    assert "\ufffd[31mred" in text
    assert "\x1b[31mred" not in text


@pytest.mark.system
@pytest.mark.parametrize(  # the pipe breaks while rows are written, or when what is buffered goes out at the end
    ("kind", "rows"), [*((kind, 10_000) for kind in ("ndjson", "csv", "json", "table", "markdown")), ("ndjson", 1)]
)
def test_a_reader_that_goes_away_is_no_error(tiny_kb: Path, kind: str, rows: int) -> None:
    command = [str(SCRIPT), "sql", str(tiny_kb), "-f", kind, "-c", f"SELECT range AS a FROM range({rows})"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() in (0, 1, 141)


@pytest.mark.system
def test_an_output_that_knows_no_unicode(run, tiny_kb: Path) -> None:
    done = run("sql", tiny_kb, "-c", "SELECT 'é' AS a", env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert done.returncode == 0
