"""Why an agent failed: the classes of section 5.4, by rules on the record, its trace and both queries.

The authors read 20 questions with an F1 below 0.05. Here the first class counts whose rule holds, in this order:

* ``formatting``: the predicted rows are the gold rows written otherwise, such as a date for a year
* ``exploration``: the agent ran out of actions
* ``properties``: a property of the gold query is missing, or is used in another form (``wdt:P39`` for ``p:P39``)
* ``parsing``: all properties are there, and the predicted query has a clause that the gold query lacks
* ``complexity``: none of these: the query did not run, or it lacks filters, groups, unions or subqueries

Rules see queries, not intentions: a label is where to start reading, not a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from kbkit.benchmarks.report import beside
from kbkit.benchmarks.spinach import paper
from kbkit.benchmarks.spinach.evaluate import Scored
from kbkit.benchmarks.spinach.features import ParsedQuery, wikidata_id
from kbkit.benchmarks.spinach.run_files import AgentRecord
from kbkit.errors import QuerySyntaxError
from kbkit.measures import rows
from kbkit.measures.rows import Result
from kbkit.schema import Wikibase
from kbkit.sparql.parse import parse
from kbkit.sparql.tree import tokens

FORMATTING, EXPLORATION, PROPERTIES = "formatting", "exploration", "properties"
PARSING, COMPLEXITY = "parsing", "complexity"
CLASSES = (PROPERTIES, COMPLEXITY, EXPLORATION, PARSING, FORMATTING)
"""The classes in the paper's order."""
FAILED = 5.0
"""Questions with a lower F1, in percent, are failures."""
SAMPLE = 20
"""Number of failures that the authors read."""
_SAME = 0.5
"""F1 from which rows are the same except for how they are written."""
_DATE = re.compile(r"[+-]?(\d{4})-\d\d-\d\d(T.*)?")
_WITHOUT_ANSWER = ("limit", "nothing")
"""Outcomes of an agent that ran out of actions."""


@dataclass(frozen=True)
class AgentFailure:
    """A question with a low ``f1`` in percent, its class, and what tells so."""

    run: str
    query: str
    f1: float
    kind: str
    reason: str


def failures(scored: Sequence[Scored], limit: int = 0, seed: int = 0) -> list[AgentFailure]:
    """Classify the failures of runs; of each run at most ``limit`` at random (0: all), in the order of the run."""
    failed = []
    for scored_run in scored:
        low = scored_run.scores.filter((pl.col("f1") < FAILED) & pl.col("f1").is_not_null())
        low = low.filter(pl.col("query").is_in([name for name, record in scored_run.run.rows.items() if record.asked]))
        if limit and low.height > limit:
            chosen = np.random.default_rng(seed).choice(low.height, limit, replace=False)
            low = low[np.sort(chosen)]
        for query, f1 in low.select("query", "f1").iter_rows():
            failed.append(AgentFailure(scored_run.name, query, f1, *classify(scored_run.run.rows[query])))
    return failed


def classify(record: AgentRecord) -> tuple[str, str]:
    """Return the class of a failure and the reason."""
    return _by_result(record) or _by_queries(record)


def _by_result(record: AgentRecord) -> tuple[str, str] | None:
    if _is_written_otherwise(record.predicted_answer_tuple, record.gold_answer_tuple):
        return FORMATTING, "the values are those of the gold rows in another form"
    if record.outcome in _WITHOUT_ANSWER:
        return EXPLORATION, "no actions were left"
    return None


def _by_queries(record: AgentRecord) -> tuple[str, str]:
    gold = _read(record.gold_sparql)
    predicted = _read(record.predicted_sparql)
    if gold is None or predicted is None:
        return COMPLEXITY, record.error or "there is no valid query"
    wanted, used = _forms(gold), _forms(predicted)
    if missing := sorted(wanted.keys() - used.keys()):
        return PROPERTIES, f"missing: {', '.join(missing)}"
    if other := sorted(name for name in wanted if not wanted[name] & used[name]):
        return PROPERTIES, f"used in another form: {', '.join(other)}"
    if record.error:
        return COMPLEXITY, record.error
    if extra := sorted(used.keys() - wanted.keys()):
        return PARSING, f"only in the predicted query: {', '.join(extra)}"
    return COMPLEXITY, "the same properties with another structure"


def _read(text: str) -> ParsedQuery | None:
    try:
        return ParsedQuery(parse(text)) if text.strip() else None
    except QuerySyntaxError:
        return None


def _forms(query: ParsedQuery) -> Mapping[str, set[str]]:
    """Return the IRIs of each property in the relations of a query: by PID on Wikidata, else by IRI.

    ``wdt:`` is a form of its own; the parts of a statement (``p:``, ``ps:``, ``pq:``, ...) are another one.
    """
    forms: dict[str, set[str]] = {}
    for triple in query.triples:
        for token in tokens(triple.relation):
            iri = query.iri(token)
            if iri:
                name = wikidata_id(iri)
                direct = iri.startswith(Wikibase.PREFIXES["wdt"])
                forms.setdefault(name or iri, set()).add("direct" if direct or not name else "statement")
    return forms


def _is_written_otherwise(predicted: Result, gold: Result) -> bool:
    if not isinstance(predicted, list) or not isinstance(gold, list) or not predicted or not gold:
        return False
    pair = rows.RowsPrediction("", _plain(predicted), _plain(gold), {})
    [f1] = rows.measure([pair])["f1"]
    return f1 is not None and f1 >= _SAME


def _plain(result: rows.Rows) -> rows.Rows:
    """Return rows whose cells are texts in one form: IRIs by their end, dates by their year, without case."""
    return [{name: {"type": "literal", "value": _form(cell["value"])} for name, cell in row.items()} for row in result]


def _form(value: str) -> str:
    date = _DATE.fullmatch(value)
    if date:
        return date[1]
    plain = value.rsplit("/", 1)[-1] if value.startswith(("http://", "https://")) else value
    number = re.fullmatch(r"[+]?(-?\d+)(\.0+)?", plain)
    return number[1] if number else plain.strip().casefold()


# -- tables -----------------------------------------------------------------------------------------------------------


def table(failed: Sequence[AgentFailure]) -> pl.DataFrame:
    """Return the classes of each run beside the paper's: run, class, figures, failures, percent."""
    ours = pl.DataFrame(
        list(_counted(failed)),
        schema={"run": pl.String, "class": pl.String, "failures": pl.Int64, "percent": pl.Float64},
        orient="row",
    )
    return beside(ours, ["run", "class"], lambda _, kind: (None, paper.errors()[kind]))


def _counted(failed: Sequence[AgentFailure]) -> Iterator[tuple[str, str, int, float]]:
    for run in dict.fromkeys(failure.run for failure in failed):
        kinds = [failure.kind for failure in failed if failure.run == run]
        yield from ((run, kind, kinds.count(kind), round(100 * kinds.count(kind) / len(kinds), 1)) for kind in CLASSES)


def per_query(failed: Sequence[AgentFailure]) -> pl.DataFrame:
    """Return a row per failure: run, query, f1 in percent, class, reason."""
    rows = [(failure.run, failure.query, failure.f1, failure.kind, failure.reason) for failure in failed]
    schema = {"run": pl.String, "query": pl.String, "f1": pl.Float64, "class": pl.String, "reason": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")
