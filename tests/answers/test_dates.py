"""Functions of dates and numbers: year and month, the days between two dates, and products, in all engines."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import kbkit
from kbkit.answers.engines.spark_sql import to_spark
from kbkit.answers.parse import parse
from kbkit.answers.wording import noun_phrase
from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase
from kbkit.questions.reading_words import ReadingWords
from tests.answers import oracle
from tests.answers.completion import check_completion
from tests.answers.graphs import Case, build
from tests.answers.test_measures import same
from tests.wording import Wording

ENGINES = ("walk", "sql", "sparql")
DAY, TIME = dt.date, dt.datetime
LOANS: dict[str, dict[str, Any]] = {
    "1": {
        "lent": DAY(2022, 3, 1),
        "due": DAY(2022, 3, 15),
        "returned": TIME(2022, 3, 20, 9, 30),
        "fine": 2.5,
        "most": 10,
    },
    "2": {"lent": DAY(2022, 3, 10), "due": DAY(2022, 3, 24), "returned": TIME(2022, 3, 10, 23, 59), "fine": 0.5},
    "3": {"lent": DAY(2024, 2, 28), "due": DAY(2024, 3, 1), "fine": 1.0, "most": 1},
    "4": {"due": DAY(1900, 3, 1), "fine": 1.0},
    "5": {
        **{"lent": DAY(2023, 12, 31), "due": DAY(2023, 1, 1), "returned": TIME(2024, 1, 1), "fine": 4.0},
        "days": [DAY(2020, 1, 1), None, DAY(2020, 5, 1), DAY(2021, 1, 1)],
    },
}
BOOKS = {"b1": {"published": DAY(1999, 5, 1)}, "b2": {"published": DAY(2003, 2, 28)}, "b3": {}}
OF = {"1": "b1", "2": "b1", "3": "b2", "4": "b3", "5": "b2"}
READ = {
    ("p1", "b2"): ({"start": DAY(2021, 1, 1), "finish": DAY(2020, 12, 1)}, {"start": DAY(2021, 1, 1)}),
    ("p2", "b1"): ({"start": DAY(2020, 1, 1), "finish": DAY(2020, 1, 11)},),
}


@pytest.fixture(scope="module")
def library() -> Iterator[Case]:
    """Loans of books with dates, times, a list of dates, numbers, and missing ones; people read books on dates."""
    rows: list[tuple[str, dict[str, dict[str, Any]]]] = [
        ("loan", LOANS),
        ("book", BOOKS),
        ("person", {"p1": {}, "p2": {}}),
    ]
    nodes = [
        oracle.Node(kind, key, f"{kind} {key}", (), frozenset(), mine)
        for kind, some in rows
        for key, mine in some.items()
    ]
    edges = [(("loan", loan), "of", ("book", book)) for loan, book in OF.items()]
    edges += [(("person", p), "made", ("loan", loan)) for p, loan in (("p1", "1"), ("p1", "3"), ("p2", "5"))]
    edges += [(("person", p), "reads", ("book", b)) for p, b in READ]
    kinds = {"published": "DATE", "lent": "DATE", "due": "DATE", "returned": "TIMESTAMP", "fine": "DOUBLE"}
    kinds |= {"most": "BIGINT", "days": "DATE[]"}
    read = {(("person", p), "reads", ("book", b)): several for (p, b), several in READ.items()}
    yield build(oracle.graph(nodes, edges, kinds, (), read, {"reads": {"start": "DATE", "finish": "DATE"}}), "library")


VALUES: dict[str, Any] = {
    "count(loan by year(lent))": [(2022, 2), (2023, 1), (2024, 1)],
    "count(loan by month(lent))": [("2022-03", 2), ("2023-12", 1), ("2024-02", 1)],
    "count(loan by year(returned), month (returned))": [(2022, "2022-03", 2), (2024, "2024-01", 1)],
    "sum(loan, fine by year(due) order by year(due) desc limit 2)": [(2024, 1.0), (2023, 4.0)],
    "sum(loan, fine by YEAR)": "refused",
    "count(loan by -> book.year(published))": [(1999, 2), (2003, 2)],
    "values(loan by year(lent), -> book)": [
        (2022, "book#b1", "book b1"),
        (2023, "book#b2", "book b2"),
        (2024, "book#b2", "book b2"),
    ],
    "values(loan, days(lent, returned))": [0, 1, 19],
    "values(loan{fine > 1}, days(lent, due), year(lent) order by days(lent, due))": [
        ("loan#5", -364, 2023),
        ("loan#1", 14, 2022),
    ],
    "avg(loan, days(lent, returned))": 20 / 3,
    "sum(loan, times(fine, most))": 26.0,
    "values(loan, minus(most, fine))": [0.0, 7.5],
    "sum(loan, plus(fine, most) by year(due) order by year(due))": [
        (1900, 0.0),
        (2022, 12.5),
        (2023, 0.0),
        (2024, 2.0),
    ],
    "values(person, sum(-> loan, times(fine, most)))": [26.0],
    "sum(loan, days(lent, returned))": 20,
    "min, max(loan, days(lent, due))": [(-364, 14)],
    "count(loan, month(due))": 4,
    "count(loan by days(lent, due))": [(-364, 1), (2, 1), (14, 2)],
    "avg(loan, days(lent, due) by year(lent) having year(lent) > 2022 order by avg)": [(2023, -364.0), (2024, 2.0)],
    "values(loan, year(days))": [2020, 2021],
    "values(loan{not missing(days)}, month(days), year(days) order by year(days) desc)": [
        ("loan#5", ["2020-01", "2020-05", "2021-01"], [2020, 2021]),
    ],
    "count(loan by year(days))": [(2020, 1), (2021, 1)],
    "values(person, max(-> loan, month(lent)), avg(-> [reads] -> book, days(start, finish)))": [
        ("person#p1", "2024-02", -31.0),
        ("person#p2", "2023-12", 10.0),
    ],
    "values(person, count(-> [reads] -> book, year(start)) order by min(-> [reads] -> book, year(start)))": [
        ("person#p2", 1),
        ("person#p1", 1),
    ],
}


@pytest.mark.parametrize("text", VALUES)
def test_values(library: Case, text: str) -> None:
    expected = VALUES[text]
    if expected == "refused":
        with pytest.raises(KbError):
            library.kb.answers(text)
        return
    found = {engine: library.kb.answers(text, engine).value for engine in ENGINES}
    assert {engine: same(value, expected) for engine, value in found.items()} == dict.fromkeys(ENGINES, True), found
    assert same(oracle.value(library.graph, text), expected)
    tree = parse(text)
    assert parse(str(tree)) == tree


SETS = {
    "loan{days(lent, returned) > 5}": "1",
    "loan{days(lent, returned) > most}": "1",
    "loan{most <= days(lent, due)}": "1 3",
    "loan{days(lent, due) != days(lent, returned)}": "1 2 5",
    "loan{max days(lent, due)}": "1 2",
    "loan{max times(fine, most)}": "1",
    "loan{times(fine, most) < most}": "",
    "loan{bottom 2 days(lent, due)}": "3 5",
    "loan{max fine per year(lent)}": "1 3 5",
    "loan{max fine per month(due)}": "1 3 4 5",
    "loan{max days(lent, due) per -> book.year(published)}": "1 2 3",
    'loan{year(lent) = 2022, month(lent) = "2022-03"}': "1 2",
    'loan{month(lent) >= "2023-12"}': "3 5",
    "loan{year(days) = 2021}": "5",
    "loan{max year(days)}": "5",
    "loan{days(lent, due) = max(loan, days(lent, due))}": "1 2",
    "loan{year(lent) = values(loan, year(due))}": "1 2 3 5",
    "loan{days(lent, due) != values(loan, days(lent, due))}": "1 2 3 5",
    "loan{most = values(loan, days(lent, due))}": "",
    "loan{not (days(lent, returned) < 5)}": "1 3 4",
    "person{avg(-> loan, days(lent, due)) > 5}": "p1",
    "person{count(-> loan, year(lent)) = 2}": "p1",
    "person{sum(-> [reads] -> book, days(start, finish)) > 0}": "p2",
    "book{max(<- [reads] <- person, year(start)) = 2021}": "b2",
    "book{max(<- [reads{finish > start}] <- person, days(start, finish)) = 10}": "b1",
}


@pytest.mark.parametrize("text", SETS)
def test_sets(library: Case, text: str) -> None:
    expected = {key for _, key in oracle.answers(library.graph, text)}
    assert expected == set(SETS[text].split())
    found = {engine: {key for _, key in library.answers(text, engine)} for engine in ENGINES}
    assert found == dict.fromkeys(ENGINES, expected)


def test_a_slot_in_a_batch(library: Case) -> None:
    found = library.kb.answers_many("loan{days(lent, due) > <n>, max year(lent)}", {"n": [0, 10, 99]})
    keys = [(i, library.refs[node][1]) for i, node in found.rows()]
    assert keys == [(0, "3"), (1, "1"), (1, "2")]


WHY = {
    "loan{days(lent, returned) > 5}": "days(lent, returned) = 19 from 2022-03-01 to 2022-03-20 09:30:00",
    "loan{most < days(lent, returned)}": "most = 10 < 19 = days(lent, returned) from 2022-03-01 to 2022-03-20 09:30:00",
    "loan{days(lent, due) > most}": "days(lent, due) = 14 from 2022-03-01 to 2022-03-15 > 10 = most",
    "loan{max days(lent, due)}": "days(lent, due) = 14 from 2022-03-01 to 2022-03-15, the greatest of 4 nodes",
    "loan{max fine per year(lent)}": "fine = 2.5, the greatest per year(lent)",
    'loan{month(lent) = "2022-03"}': "month(lent) = 2022-03 from 2022-03-01",
    "loan - loan{year(lent) > 2022}": "not in loan{year(lent) > 2022}",
}


@pytest.mark.parametrize("text", WHY)
def test_why(library: Case, text: str) -> None:
    assert library.kb.answers(text).why("loan#1").lines() == [WHY[text]]


def test_derivations_have_the_value(library: Case) -> None:
    facts = library.kb.answers("loan{days(lent, returned) > most}").derivations().facts
    assert facts.select("attribute", "value").rows() == [("days(lent, returned)", "19"), ("most", "10")]


ERRORS = [
    "count(loan by year())",
    "count(loan by year(lent, due))",
    "values(loan, days(lent))",
    "count(loan by week(lent))",
    "loan{missing(year(lent))}",
    "year(loan)",
    "count(loan by year(fine))",
    "count(loan by year(name))",
    "count(loan by year(lnt))",
    "values(loan, days(lent, fine))",
    "values(loan, days(lent, days))",
    "sum(loan, month(lent))",
    "loan{month(lent) > 3}",
    "loan{days(lent, due) > count}",
    "loan{year(lent) = month(lent)}",
    "loan{days(lent, due) > lent}",
    "loan{year(lent) in [2022]}",
    "person -> [reads{days(start, finish) > 1}] -> book",
    "count(loan by year(lent) order by year(due))",
    "person{sum(-> [reads] -> book, days(start, published)) > 1}",
    "person{max(-> loan, month(lent)) > 3}",
]


@pytest.mark.parametrize("text", ERRORS)
def test_errors(library: Case, text: str, wording: Wording) -> None:
    with pytest.raises(KbError) as caught:
        library.kb.answers(text)
    assert caught.value.hints
    wording(str(caught.value))


def test_compiled_values(library: Case) -> None:
    found = library.kb.answers("count(loan by year(lent))")
    assert "JOIN (SELECT id, year(lent) AS value FROM loan WHERE year(lent) IS NOT NULL) g1" in str(found.value_sql)
    assert "BIND(YEAR(?lent_1) AS ?year_1)" in str(found.value_sparql)


def test_spark_refuses(library: Case) -> None:
    for text in ("loan{year(lent) = 2022}", "loan{max days(lent, due)}", "loan{max fine per month(lent)}"):
        with pytest.raises(KbError, match="functions of dates"):
            to_spark(library.kb.answers(text).sql)


def test_early_and_endless_dates(tmp_path: Path) -> None:
    """Dates before Christ, after the year 9999 and infinity: RDF numbers and writes them otherwise than DuckDB."""
    days = ["0044-03-15 (BC)", "0001-02-01 (BC)", "0800-12-25", "12345-06-07", "infinity"]
    rows = ", ".join(f"('{n}', 'event', DATE '{day}', DATE '2000-03-01')" for n, day in enumerate(days))
    frame = f"SELECT * FROM (VALUES {rows}) t(key, type, day, later)"
    with kbkit.ingest("table", _parquet(tmp_path, frame), out=tmp_path / "e.kb", stores=["adjacency", "triples"]) as kb:
        for text, expected in {
            "count(event by year(day))": [(-43, 1), (0, 1), (800, 1), (12345, 1)],
            "values(event, month(day))": ["-0043-03", "0000-02", "0800-12", "12345-06"],
            "values(event, days(day, later))": [-3778531, 437992, 730514, 746177],
        }.items():
            found = {engine: kb.answers(text, engine).value for engine in ENGINES}
            assert found == dict.fromkeys(ENGINES, expected), text


def _parquet(folder: Path, sql: str) -> Path:
    import duckdb

    duckdb.sql(f"COPY ({sql}) TO '{folder / 'nodes.parquet'}'")
    pl.DataFrame(schema={"head": pl.String, "relation": pl.String, "tail": pl.String}).write_parquet(
        folder / "edges.parquet"
    )
    return folder


BETWEEN = "days between the order date and the due date"
NAMED = {
    "order{days(`order date`, `due date`) > 14}": f"orders with more than 14 {BETWEEN}",
    "order{max days(`order date`, `due date`)}": f"orders with the most {BETWEEN}",
    "order{days(`due date`, paid) > 14}": None,
    "order{year(`due date`) = 2022}": None,
}


def test_in_words(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text(
        "key,type,order date,due date,paid\n1,order,2022-01-01,2022-02-01,2022-03-01\n2,shop,,,\n", encoding="utf-8"
    )
    (tmp_path / "edges.csv").write_text("head,relation,tail\n1,at,2\n", encoding="utf-8")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "o.kb", stores=["adjacency"]) as kb:
        phrases = {text: noun_phrase(kb.answers(text).plan, kb.schema) for text in NAMED}
        assert {text: phrase and phrase.text(is_plural=True, reduce=True) for text, phrase in phrases.items()} == NAMED
        words = ReadingWords(kb.schema)
        assert words.text(parse("avg(order, days(`order date`, paid) by year(paid))")) == (
            "average days from order date to paid of orders, for each year of paid"
        )


COMPLETED: dict[str, tuple[list[str], list[str]]] = {
    "loan{da¦": (["days("], []),
    "loan{days(¦": (["due", "lent", "returned"], ["fine", "name"]),
    "loan{days(lent ¦": ([", ", ") "], ["= "]),
    "loan{days(lent, ret¦": (["returned"], ["lent"]),
    "loan{days(lent, returned) ¦": (["= ", "> "], ["contains "]),
    "loan{days(lent, returned) > ¦": (["fine", "most"], ["lent"]),
    "loan{days(lent, returned) > 3, ¦": (["fine"], ["published"]),
    "loan{most > da¦": (["days("], []),
    "loan{most > days(lent, due) ¦": (["} ", ", "], []),
    "loan{max days(lent, due) ¦": (["} ", ", ", "per "], []),
    "loan{max fine per year(¦": (["lent"], ["fine"]),
    "loan{max fine per year(lent)} -> ¦": (["book"], ["lent"]),
    "count(loan by mo¦": (["month("], []),
    "count(loan by month(lent) ¦": (["having ", "order by ", ") "], ["= "]),
    "count(loan by month(lent), ¦": (["fine", "year("], ["published"]),
    "count(loan by -> book.ye¦": (["year("], []),
    "count(loan by -> book.year(¦": (["published"], ["lent"]),
    "person{avg(-> loan, days(¦": (["due", "lent"], ["fine"]),
    "person{avg(-> loan, days(lent, due)) ¦": (["= ", "> "], []),
    "person{ye¦": ([], ["year("]),
}


@pytest.mark.parametrize("row", COMPLETED)
def test_completion(library: Case, row: str) -> None:
    check_completion(library.kb, row, *COMPLETED[row])


def test_names_that_are_functions(tmp_path: Path) -> None:
    """Types and attributes called year, month and days, which functions take too."""
    (tmp_path / "nodes.csv").write_text(
        "key,type,year,month,days\n1,year,2022-01-01,2022-02-01,5\n2,days,,,\n3,year,2023-01-01,2022-02-01,6\n", "utf-8"
    )
    (tmp_path / "edges.csv").write_text("head,relation,tail\n1,month,2\n3,month,2\n", encoding="utf-8")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "y.kb", stores=["adjacency", "triples"]) as kb:
        texts: dict[str, Any] = {
            "values(year, days)": [5, 6],
            "count(year by year(year), year(month))": [(2022, 2022, 1), (2023, 2022, 1)],
            "values(year{days(month, year) < 0, days in [5]}, days(year, month))": [31],
            "count(days{max(<- [month] <- year, days(year, month)) > days(year, year)})": "refused",
            "values(days, max(<- [month] <- year, days(year, month)))": [31],
        }
        for text, expected in texts.items():
            for engine in ENGINES:
                assert _value(kb, text, engine) == expected, (text, engine)


def _value(kb: KnowledgeBase, text: str, engine: str) -> Any:
    try:
        return kb.answers(text, engine).value
    except KbError:
        return "refused"
