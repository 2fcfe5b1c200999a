"""Synthesized rows of tables: plausible by column, unique by key, and never rows that the question uses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbkit.benchmarks.ska.instances import PASSAGE, ROW, Instance, KnowledgeUnit, Provenance
from kbkit.benchmarks.ska.solve import Solver
from kbkit.benchmarks.ska.statements import check_instance
from kbkit.benchmarks.ska.tables import noise
from kbkit.benchmarks.ska.tables.columns import columns_of, number_in
from kbkit.benchmarks.ska.tables.dependencies import determines, linear_relations
from kbkit.benchmarks.ska.tables.names import NameMaker
from kbkit.benchmarks.ska.tables.noise import extended, safe
from kbkit.benchmarks.ska.tables.synthesize import formatted, synthesize
from tests.examples import examples
from tests.loops import each

FIRST = ("Ba", "Do", "Fe", "Gi", "Ka", "Lu", "Mo", "Na")
HEADER = ["Team", "City", "Country", "Won", "Lost", "Played", "Budget", "Founded", "Time", "Last final"]
ROWS = [
    ["Reds", "Lyon", "France", "3", "1", "4", "$1,200,000", "1901", "1:02.44", "3rd"],
    ["Blue Stars", "Nice", "France", "2", "2", "4", "$900,000", "1899", "1:03.10", "1st"],
    ["Old Boys", "Lyon", "France", "1", "3", "4", "$750,000", "1912", "1:01.97", "2nd"],
    ["Racing Union", "Bonn", "Germany", "0", "2", "2", "$1,000,000", "1920", "1:04.02", "11th"],
    ["Western Rovers", "Bonn", "Germany", "4", "0", "4", "$2,500,000", "1904", "1:00.85", "4th"],
    ["Harbour Athletic", "Porto", "Portugal", "2", "1", "3", "$640,000", "1931", "1:02.00", "5th"],
    ["Garden City", "Porto", "Portugal", "1", "1", "2", "$310,000", "1908", "1:05.50", "7th"],
    ["Young Lions", "Nice", "France", "0", "3", "3", "$480,000", "1926", "1:06.31", "8th"],
]


NAMES = [first + last for last in ("lan", "mir", "nos", "rat", "vek", "tor", "dun") for first in FIRST]


def column(rows: Sequence[Sequence[str]], name: str) -> list[str]:
    return [row[HEADER.index(name)] for row in rows]


@pytest.fixture(scope="module")
def made() -> list[list[str]]:
    return synthesize(HEADER, ROWS, 400, seed=3)


def test_as_many_rows_as_are_wanted_with_new_names(made: list[list[str]]) -> None:
    assert len(made) == 400
    assert all(len(row) == len(HEADER) for row in made)
    names = column(made, "Team")
    assert len({name.casefold() for name in names}) == 400
    assert not {name.casefold() for name in names} & {name.casefold() for name in column(ROWS, "Team")}


def test_columns_that_depend_on_each_other_stay_together(made: list[list[str]]) -> None:
    places = set(zip(column(ROWS, "City"), column(ROWS, "Country"), strict=True))
    assert set(zip(column(made, "City"), column(made, "Country"), strict=True)) <= places
    for won, lost, played in zip(*(column(made, name) for name in ("Won", "Lost", "Played")), strict=True):
        assert int(won) + int(lost) == int(played)


def test_values_keep_range_and_format(made: list[list[str]]) -> None:
    known = [number_in(cell) or 0 for cell in column(ROWS, "Budget")]
    assert all(re.fullmatch(r"\$\d{1,3}(,\d{3})*", cell) for cell in column(made, "Budget"))
    assert all(min(known) <= (number_in(cell) or 0) <= max(known) for cell in column(made, "Budget"))
    assert len(set(column(made, "Budget"))) > 40  # not only those of the table
    assert all(1899 <= int(cell) <= 1931 for cell in column(made, "Founded"))
    assert all(re.fullmatch(r"1:0\d\.\d\d", cell) for cell in column(made, "Time"))
    assert {cell[:4] for cell in column(made, "Time")} <= {cell[:4] for cell in column(ROWS, "Time")}
    assert len(set(column(made, "Time"))) > 2 * len(ROWS)  # the last group is another
    assert set(column(made, "Last final")) <= {f"{i}{e}" for i, e in enumerate(["th", "st", "nd", "rd"] + ["th"] * 8)}


def test_rows_of_a_large_table_have_one_row_of_it() -> None:
    places = [("Peru", "Andes", "Peruvian sol"), ("Nepal", "Himalayas", "Nepalese rupee"), ("Chad", "Tibesti", "Franc")]
    rows = [[f"{name}a", str(1000 + 37 * n), *places[n * n % 3]] for n, name in enumerate(NAMES)]
    new = synthesize(["Mountain", "Height", "Country", "Range", "Currency"], rows, 100, seed=1)
    assert len(new) == 100
    assert {tuple(row[2:]) for row in new} <= set(places)


def test_adjectives_do_not_follow_a_name() -> None:
    rows = [[f"{one}ia", f"Republic of {one}ia", f"{one}ian franc"] for one in NAMES[:24]]
    new = synthesize(["Name", "Official name", "Currency"], rows, 30, seed=1)
    assert all(row[1] == f"Republic of {row[0]}" for row in new)
    assert {row[2] for row in new} <= {row[2] for row in rows}


def test_the_same_seed_gives_the_same_rows(made: list[list[str]]) -> None:
    assert synthesize(HEADER, ROWS, 400, seed=3) == made
    assert synthesize(HEADER, ROWS, 400, seed=4) != made


def test_spelled_words_have_the_letters_of_the_names() -> None:
    def groups(word: str) -> set[str]:
        return {f"  {word.lower()} "[at : at + 3] for at in range(len(word) + 1)}

    maker, rng = NameMaker(column(ROWS, "Team")), np.random.default_rng(0)
    known = set().union(*(groups(word) for name in column(ROWS, "Team") for word in name.split()))
    spelled = {maker._spelled("Rovers", rng) for _ in range(300)} - {""}
    assert len(spelled) > 10
    assert all(groups(word) <= known for word in spelled)


def test_names_of_other_things_are_not_made() -> None:
    made = column(synthesize(HEADER, ROWS, 30, seed=1), "Team")
    assert set(made[:5]).isdisjoint(column(synthesize(HEADER, ROWS, 30, seed=1, existing=made[:5]), "Team"))


def test_names_that_contain_the_key_follow_it() -> None:
    header = ["Name", "Official name", "Size"]
    rows = [[n, f"Republic of {n}", str(i)] for i, n in enumerate(["Chad", "Mali", "Togo", "Benin", "Gabon", "Kenya"])]
    for row in each(synthesize(header, rows, 50, seed=0)):
        assert row[1] == f"Republic of {row[0]}"


RELATIONS = [
    ({"a": [1, 2, 3, 4, 5, 9], "b": [4, 4, 1, 0, 2, 2], "c": [5, 6, 4, 4, 7, 11]}, ("c", ["a", "b"], [1, 1], 0.0)),
    ({"a": [9, 7, 3, 4, 5, 8], "b": [4, 4, 1, 0, 2, 3], "c": [5, 3, 2, 4, 3, 5]}, ("c", ["a", "b"], [1, -1], 0.0)),
    ({"a": [9, 7, 3, 4, 5, 8], "b": [1, 4, 1, 0, 2, 3], "c": [1, 1, 5, 2, 3, 7]}, None),
    # A total that is wrong in one of eight rows is one all the same.
    ({"a": [1, 2, 3, 4, 5, 9, 4, 6], "b": [4, 4, 1, 0, 2, 2, 7, 1], "c": [5, 6, 4, 4, 7, 11, 11, 8]},
     ("c", ["a", "b"], [1, 1], 0.0)),
]  # fmt: skip


@pytest.mark.parametrize(("numbers", "expected"), RELATIONS)
def test_linear_relations(
    numbers: dict[str, list[int]], expected: tuple[str, list[str], list[int], float] | None
) -> None:
    header = list(numbers)
    rows = [list(map(str, row)) for row in zip(*numbers.values(), strict=True)]
    found = linear_relations(columns_of(header, rows))
    named = [(header[p], [header[i] for i in parts], factors, constant) for p, parts, factors, constant in found]
    assert named == ([expected] if expected else [])


def test_a_constant_column_limits_the_others() -> None:
    header = ["Played", "Won", "Drawn", "Lost"]
    rows = [
        ["18", str(w), str(d), str(18 - w - d)] for w, d in [(14, 2), (9, 6), (8, 3), (8, 2), (7, 4), (6, 5), (2, 6)]
    ]
    [(position, parts, factors, constant)] = linear_relations(columns_of(header, rows))
    assert (header[position], parts, factors, constant) == ("Lost", [1, 2], [-1, -1], 18)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (["a", "a", "b", "b"], ["x", "x", "y", "y"], True),
        (["a", "a", "b", "b"], ["x", "x", "y", "z"], False),
        (["a", "b", "c", "d"], ["x", "x", "y", "y"], False),  # no value repeats, so that it shows nothing
        (["a", "a", "b", "b"], ["x", "x", "x", "x"], False),
        (["", "", "a", "a"], ["x", "y", "z", "z"], False),
    ],
)
def test_what_determines_a_column(left: list[str], right: list[str], expected: bool) -> None:
    assert determines(left, right) is expected


@pytest.mark.parametrize(
    ("value", "like", "expected"),
    [
        (1234567, "$9,999", "$1,234,567"), (12.345, "7.5%", "12.3%"), (-4, "+27", "-4"), (27, "+4", "+27"),
        (-3, "−5", "−3"), (5, "-3", "5"), (1500, "900", "1500"), (12000, "900", "12,000"), (3, "4 km", "3 km"),
    ],
)  # fmt: skip
def test_numbers_in_the_format_of_a_cell(value: float, like: str, expected: str) -> None:
    assert formatted(value, like) == expected


def test_dates_exist() -> None:
    rows = [[f"Cup {c}", f"{day} {month} 1990"] for c, day, month in zip("ABCDEF", (28, 31, 30, 29, 31, 30), (
        "February", "January", "April", "March", "May", "June"), strict=True)]  # fmt: skip
    for row in each(synthesize(["Name", "Date"], rows, 200, seed=0)):
        day, month, _ = row[1].split()
        assert int(day) <= {"February": 28, "April": 30, "June": 30}.get(month, 31)


# -- any table --------------------------------------------------------------------------------------------------------

CELL = st.one_of(
    st.sampled_from(
        ["", "Chad", "Mali", "New York", "12", "1,204", "7.5%", "1994", "3 May 1990", "8–4", "-", "=", "°"]
    ),
    st.text(max_size=10),
)
TABLE = st.integers(1, 5).flatmap(
    lambda width: st.tuples(
        st.lists(st.text(min_size=1, max_size=8), min_size=width, max_size=width, unique=True),
        st.lists(st.lists(CELL, min_size=width, max_size=width), max_size=9),
    )
)


@examples(30)
@given(TABLE, st.integers(0, 3))
def test_rows_of_any_table(table: tuple[list[str], list[list[str]]], seed: int) -> None:
    header, rows = table
    made = synthesize(header, rows, 25, seed)
    assert made == synthesize(header, rows, 25, seed)
    assert len(made) <= 25
    assert all(len(row) == len(header) for row in made)
    assert len({tuple(row) for row in [*rows, *made]}) == len({tuple(row) for row in rows}) + len(made)
    for one in columns_of(header, rows) if rows else ():
        cells = [row[one.position] for row in made]
        if one.kind == "key":
            folded = [cell.casefold() for cell in cells]
            assert len(set(folded)) == len(folded)
            assert not {cell.casefold() for cell in one.cells} & set(folded)
        elif one.kind in ("category", "constant"):
            assert set(cells) <= set(one.cells)


@examples(30)
@given(st.lists(st.text(min_size=1, max_size=15), min_size=1, max_size=12), st.integers(0, 9))
def test_made_names_are_new_and_distinct(names: list[str], seed: int) -> None:
    made = [name.casefold() for name in NameMaker(names).make(15, np.random.default_rng(seed))]
    assert len(set(made)) == len(made) <= 15
    assert not set(made) & {name.casefold() for name in names}


# -- rows that the question uses --------------------------------------------------------------------------------------


def instance(sql: str, question: str = "Which teams of Lyon were founded after 1910?", *used: int) -> Instance:
    units = [KnowledgeUnit(f"r{i}", ROW, row, ["t", str(i)], i) for i, row in enumerate(ROWS)]
    positive = [unit for i, unit in enumerate(units) if i in used]
    others = [unit for i, unit in enumerate(units) if i not in used]
    origin = Provenance("test", sql=sql)
    return Instance("x", "table", question, ["Old Boys"], positive, others, origin, "Teams", HEADER)


OF_LYON = """SELECT "Team" FROM table_rows WHERE "City" = 'Lyon' AND TRY_CAST("Founded" AS INT) > 1910"""


def test_rows_that_meet_the_condition_are_rejected(made: list[list[str]]) -> None:
    one, made = instance(OF_LYON, "Which team?", 2), made[:150]
    pairs = zip(column(made, "City"), column(made, "Founded"), strict=True)
    meeting = [city == "Lyon" and int(year) > 1910 for city, year in pairs]
    assert 5 < sum(meeting) < 145
    with Solver() as solver:
        assert safe(one, made, solver) == [not one for one in meeting]
        more = extended(one, 80, 5, solver)
        assert check_instance(more, solver) == []
        assert extended(one, 80, 5, solver) == more
    rows = [unit for unit in more.noise if unit.kind == ROW]
    assert len(rows) == 80
    assert {(unit.synthesized, unit.check) for unit in rows} == {("", ""), (noise.RULE, noise.SAFE)}
    places = sorted((unit.position, unit.content[0]) for unit in more.units)
    assert [place for place, _ in places] == list(range(81))
    original = column(ROWS, "Team")
    assert [name for _, name in places if name in original] == original
    assert [unit.content for unit in more.positive] == [ROWS[2]]


def test_rows_that_change_the_answer_only_together_are_rejected() -> None:
    sql = """SELECT max("Team") FROM table_rows GROUP BY "City" HAVING count(*) = 2 AND "City" = 'Lyon'"""
    one = instance(sql, "?", 0, 2)
    one = replace(one, answers=["Reds"])
    rows = [["A", "Lyon", *ROWS[0][2:]], ["B", "Nice", *ROWS[0][2:]]]
    with Solver() as solver:
        assert safe(one, rows, solver) == [False, True]


def test_without_a_query_answers_and_terms_decide() -> None:
    one = instance("", "Which team from Lyon in France was founded in 1912?", 2)
    rows = [
        ["New One", "Lyon", "France", "1", "1", "2", "$1", "1912", "", ""],
        ["New Two", "Lyon", "France", "1", "1", "2", "$1", "1913", "", ""],
        ["old boys", "Bonn", "Germany", "1", "1", "2", "$1", "1900", "", ""],
    ]
    with Solver() as solver:
        assert safe(one, rows, solver) == [False, True, False]


def test_passages_are_not_counted_as_rows() -> None:
    one = instance(OF_LYON, "?", 2)
    one.noise.append(KnowledgeUnit("t", PASSAGE, ["Reds", "Text"], ["team#1", "text", ""]))
    with Solver() as solver:
        more = extended(one, 20, 5, solver)
    assert sum(unit.kind == ROW for unit in more.noise) == 20
    assert len(more.noise) == 21
    assert len({unit.id for unit in more.units}) == len(more.units)
