"""What an audit found, as a table of checks and as a page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from kbkit.benchmarks.duplicates import NEAR
from kbkit.benchmarks.stark.audit import STATUSES, UNPROVED, StarkAudit
from kbkit.display.reports import PageSection, ReportPage

SUMMARY = pl.Schema(
    {
        "check": pl.String(),
        "unit": pl.String(),
        "count": pl.Int64(),
        "of": pl.Int64(),
        "percent": pl.Float64(),
        "examples": pl.List(pl.String),
    }
)
"""A row per check: the number of queries or answers (``unit``) for which it holds, and the first queries."""
_EXAMPLES = 3
_LONGEST = 50
"""Rows of each section of a page."""


class QueryCheck(NamedTuple):
    """A check of queries: which rows it holds for, and why that matters."""

    name: str
    holds: pl.Expr
    note: str
    columns: tuple[str, ...]


QUERY_CHECKS = (
    QueryCheck(
        "no answer is searched",
        pl.col("answers") == pl.col("unknown"),
        "None of the answers is a node of the searched types, so every system scores 0.",
        ("answers",),
    ),
    QueryCheck(
        "an answer is named in the query",
        pl.col("named_answers") > 0,
        "The query has the name of one of its answers, or of another node of that name: a search for names finds it.",
        ("names", "named_answers"),
    ),
    QueryCheck(
        "equal words as another query",
        pl.col("duplicates").list.len() > 0,
        "The same query occurs more than once, except for case and punctuation.",
        ("split", "duplicates"),
    ),
    QueryCheck(
        "almost the words of another query",
        pl.col("near_duplicates").list.len() > 0,
        f"Two queries share {NEAR:.0%} of their sequences of three words or more.",
        ("split", "near_duplicates"),
    ),
    QueryCheck(
        "same names and answers as another query",
        pl.col("twins").list.len() > 0,
        "Two queries name the same nodes and have the same answers: they probably ask the same.",
        ("split", "names", "twins"),
    ),
    QueryCheck(
        "leaks into another split",
        pl.col("leaks").list.len() > 0,
        "Another split has the same query, or a near duplicate with the same answers.",
        ("split", "leaks"),
    ),
    QueryCheck(
        "text alone finds an answer first",
        pl.col("text_rank") == 1,
        "A full-text search for the query, which sees no relations, ranks an answer first.",
        ("answers",),
    ),
    QueryCheck(
        "text alone decides",
        pl.col("text_decides"),
        "The first hits of that search are the answers, all and no others: the query needs no relations.",
        ("answers",),
    ),
    QueryCheck(
        "relations alone decide",
        pl.col("relations_decide"),
        "The expression has the answers, all and no others: the query needs no text.",
        ("answers",),
    ),
)


def summary(audit: StarkAudit) -> pl.DataFrame:
    """Return :data:`SUMMARY`: the answers by status, then the checks of the queries."""
    rows = [*_of_answers(audit), *_of_queries(audit)]
    return pl.DataFrame(rows, schema=SUMMARY, orient="row")


def _of_answers(audit: StarkAudit) -> Iterator[tuple[object, ...]]:
    answers = audit.answers
    for status in STATUSES:
        with_status = answers.filter(pl.col("status") == status)
        examples = with_status["query"].unique(maintain_order=True).head(_EXAMPLES).to_list()
        yield (
            f"relations: {status}",
            "answer",
            with_status.height,
            answers.height,
            _percent(with_status, answers),
            examples,
        )


def _of_queries(audit: StarkAudit) -> Iterator[tuple[object, ...]]:
    rows = audit.rows
    for check in QUERY_CHECKS:
        if check.name == "relations alone decide" and not audit.has_expressions:
            continue
        concerned = rows.filter(check.holds)
        yield (
            check.name,
            "query",
            concerned.height,
            rows.height,
            _percent(concerned, rows),
            concerned["query"].head(_EXAMPLES).to_list(),
        )


def _percent(part: pl.DataFrame, whole: pl.DataFrame) -> float | None:
    return round(100 * part.height / whole.height, 2) if whole.height else None


def page(audit: StarkAudit, title: str, remarks: list[str]) -> ReportPage:
    """Return the page of a dataset: the summary, then the answers and queries that each check is about."""
    checks = summary(audit)
    how = (
        "Relations are proved by the expressions of the queries."
        if audit.has_expressions
        else "The dataset has no expressions: an answer is proved if a path of at most two relations leads to it from"
        " each node that the query names."
    )
    unproved = audit.answers.filter(pl.col("status") == UNPROVED)
    sections = [
        PageSection("Summary", how, checks),
        PageSection(
            "Answers without a proof",
            f"{unproved.height:,} answers that no path or expression supports.",
            unproved.select("query", "node", "name", "unrelated").head(_LONGEST),
        ),
    ]
    for check in QUERY_CHECKS:
        concerned = audit.rows.filter(check.holds)
        if concerned.height:
            shown = concerned.select("query", "text", *check.columns).head(_LONGEST)
            sections.append(
                PageSection(
                    check.name[:1].upper() + check.name[1:], f"{concerned.height:,} queries. {check.note}", shown
                )
            )
    return ReportPage(title, remarks, sections)
