"""Tables fit their width: which words stay whole, what is cut on a terminal, and that nothing else is lost."""

from __future__ import annotations

import io
import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from kbkit.display.iris import prefixed
from kbkit.display.render import print_table
from kbkit.display.tables import LINES
from tests.console import good
from tests.examples import examples

WORD = st.text("abc漢ü\u0301-_/", min_size=1, max_size=12) | st.text("xyz/", min_size=20, max_size=60)
TEXT = st.lists(WORD, max_size=8).map(" ".join)
NUMBER = st.integers(0, 10**9)


@st.composite
def frames(draw: st.DrawFn, most: int = 20) -> pl.DataFrame:
    """Up to 20 columns of texts or numbers."""
    height = draw(st.integers(0, 3))
    columns = {}
    for number in range(draw(st.integers(1, most))):
        values = draw(st.sampled_from([TEXT, NUMBER]))
        name = draw(st.sampled_from(["n", "name", "duration_minutes", "漢字", "a long name", "officialnameofthething"]))
        kind = pl.Int64 if values is NUMBER else pl.String
        column = draw(st.lists(values, min_size=height, max_size=height))
        columns[f"{name}_{number}"] = pl.Series(column, dtype=kind)
    return pl.DataFrame(columns)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def shown(frame: pl.DataFrame, width: int, *, cut: bool) -> list[str]:
    """The lines of a table, without styles and the line below it."""
    stream = Terminal()
    print_table(frame, stream, width=width, count=False, cut=".wrap" if cut else "")
    lines = plain(stream.getvalue()).splitlines()
    return [line for line in lines if not line.endswith("shows whole cells")]


def letters(text: str) -> str:
    """What of a table is no layout, in a fixed order."""
    return "".join(sorted(re.sub(r"[\s─]|row ", "", text)))


@examples(30)
@given(frames(), st.integers(30, 140), st.booleans())
def test_every_line_fits(frame: pl.DataFrame, width: int, cut: bool) -> None:
    assert all(cell_len(line) <= width for line in shown(frame, width, cut=cut))


@examples(30)
@given(frames(), st.integers(30, 140))
def test_nothing_is_lost_without_cutting(frame: pl.DataFrame, width: int) -> None:
    lines = shown(frame, width, cut=False)
    values = [str(value) for row in frame.rows() for value in row]
    if lines[0] == "row 1":
        numbers = [str(number + 1) for number in range(frame.height)]
        assert letters("".join(lines)) == letters("".join([*values, *frame.columns * frame.height, *numbers]))
    else:
        commas = "," * "".join(lines).count(",") * (not frame.height)
        assert letters("".join(lines)) == letters("".join([*values, *frame.columns, commas]))


@examples(30)
@given(st.lists(st.lists(WORD, min_size=1, max_size=9), min_size=2, max_size=5), st.integers(40, 140), st.booleans())
def test_no_word_is_broken_where_there_is_room(cells: list[list[str]], width: int, cut: bool) -> None:
    """Words are whole if the longest of all columns fit side by side; if cells are cut, those that are shown."""
    frame = pl.DataFrame({str(number): [" ".join(words)] for number, words in enumerate(cells)})
    lines = shown(frame, width, cut=cut)[2:]
    if sum(max(map(cell_len, words)) for words in cells) + 2 * (len(cells) - 1) > width:
        return
    known = {word for words in cells for word in words}
    printed = [word for line in lines for word in line.split()]
    if cut:
        assert all(word in known or word.removesuffix("...") in known or word.endswith("...") for word in printed)
        assert len(lines) <= LINES
    else:
        assert set(printed) == known


@given(st.lists(NUMBER, min_size=1, max_size=4), st.integers(40, 100))
def test_numbers_are_aligned_right_and_texts_left(numbers: list[int], width: int) -> None:
    texts = [f"text of {number}" for number in numbers]
    lines = shown(pl.DataFrame({"text": texts, "n": numbers}), width, cut=True)
    assert len({len(line) for line in lines[2:]}) == 1
    assert [line.split("  ")[0] for line in lines[2:]] == texts
    assert [int(line.split()[-1]) for line in lines[2:]] == numbers


def test_names_stay_on_a_line_and_prose_has_three() -> None:
    row = {"name": "Organisation for Economic", "prose": "many short words " * 30, "n": 1}
    lines = shown(pl.DataFrame([row]), 70, cut=True)
    assert lines == [
        "name                       prose                                     n",
        "─" * 70,
        "Organisation for Economic  many short words many short words many    1",
        "                           short words many short words many short",
        "                           words many short words many short...",
    ]


def test_long_words_lose_their_middle_or_are_split_at_signs() -> None:
    iris = [f"https://example.org/a/very/long/path/to/{name}" for name in ("apples", "pears")]
    frame = pl.DataFrame({"a": iris, "b": iris, "文": ["漢字" * 30, "x"]})
    assert shown(frame, 60, cut=True)[2:] == [
        "https://...o/apples  https://.../apples  漢字漢字漢字漢字漢",
        "                                         字漢字漢字漢字漢字",
        "                                         漢字漢字漢字漢字...",
        "https://...to/pears  https://...o/pears  x",
    ]
    whole = shown(frame, 60, cut=False)
    assert [line.split()[0] for line in whole[2:5]] == ["https://example.", "org/a/very/long/", "path/to/apples"]
    assert "".join(whole).count("漢") == 30


def test_twenty_columns_are_listed_row_by_row() -> None:
    frame = pl.DataFrame({f"column_{number}": ["some words"] for number in range(20)})
    lines = shown(frame, 80, cut=True)
    assert lines[0] == "row 1"
    assert lines[1:] == [f"  {name:<9}  some words" for name in frame.columns]


def test_a_huge_cell_is_not_laid_out_in_full() -> None:
    frame = pl.DataFrame({"a": ["word " * 2_000_000]})
    assert len(shown(frame, 80, cut=True)) == 2 + LINES


# -- IRIs -------------------------------------------------------------------------------------------------------------

PREFIXES = {"e": "http://x/", "other": "http://x/", "ex": "http://x/e/", "q": "http://x/Q"}


@pytest.mark.parametrize(
    ("iri", "name"),
    [
        ("http://x/a", "e:a"),
        ("http://x/e/a", "ex:a"),
        ("http://x/Q42", "q:42"),
        ("http://x/a/b", "http://x/a/b"),
        ("http://x/", "http://x/"),
        ("http://x/a%20b", "e:a%20b"),
        ("http://x/a b", "http://x/a b"),
        ("http://x/a.", "http://x/a."),
        ("see http://x/a", "see http://x/a"),
        (None, None),
    ],
)
def test_prefixed_names(iri: str | None, name: str | None) -> None:
    frame = pl.DataFrame({"a": [iri], "n": [1]}, schema={"a": pl.String, "n": pl.Int64})
    assert prefixed(frame, PREFIXES).row(0) == (name, 1)
    assert prefixed(frame, {}).row(0) == (iri, 1)


# -- commands ---------------------------------------------------------------------------------------------------------

ALL = "SELECT * { ?s ?p ?o FILTER(?s = country:FRA) } ORDER BY ?p LIMIT 5"


def test_a_screen_has_prefixed_names_and_files_have_iris(here, world_kb: Path) -> None:
    for terminal in (True, False):
        printed = plain(good(here("sparql", world_kb, ALL, terminal=terminal, env={"COLUMNS": "80"}), None))
        assert printed.split("\n")[0].split() == ["s", "p", "o"]
        assert "country:FRA" in printed
        assert "http" not in printed
    printed = good(here("sparql", world_kb, ALL, "-f", "csv"), None)
    assert printed.startswith("s,p,o\n")
    assert "http://example.org/world/country/FRA" in printed
    assert "country:FRA" not in printed


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_terminal_gets_cut_cells_unless_wrap_is_given(here, world_kb: Path, width: int) -> None:
    query = "SELECT n.name, x.text, n.key FROM country n JOIN texts x USING (id) ORDER BY length(x.text) DESC LIMIT 3"
    columns = {"COLUMNS": str(width)}
    short = plain(good(here("sql", world_kb, query, terminal=True, env=columns), None))
    whole = plain(good(here("sql", world_kb, query, "--wrap", terminal=True, env=columns), None))
    assert short.splitlines()[-1] == "3 rows; --wrap shows whole cells"
    assert whole.splitlines()[-1] == "3 rows"
    assert short.count("...") >= 3
    assert max(map(len, [*short.splitlines(), *whole.splitlines()])) <= width
    assert good(here("sql", world_kb, query, env=columns), None) == whole  # a pipe gets everything
