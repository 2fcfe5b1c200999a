"""Runs for STaRK's leaderboard: a csv file with ``query_id`` and ``pred_rank``, a list of node numbers, best first.

These are the columns that STaRK's eval.py writes with ``--save_pred``; its other columns are ignored.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from kbkit.errors import BadInputError, KbError
from kbkit.measures.frames import RUN, checked_run
from kbkit.measures.records import content, describe, load_json
from kbkit.measures.stark import LINE, read_rows

QUERY, RANKING = "query_id", "pred_rank"
_INTEGER = r"^(0|[1-9][0-9]{0,17})$"
_NUMBERED = "Use a run of a dataset whose answer_ids are numbers, as those that kbkit stark make writes"


def is_one(path: Path) -> bool:
    """Return whether the header of a csv file has the column of rankings."""
    header = content(path).decode().split("\n", 1)[0]
    return RANKING in (name.strip().strip('"') for name in header.split(","))


def read_submission(path: Path) -> pl.DataFrame:
    """Read a run: query, node, score. The score of a node is its rank, negated."""
    frame = read_rows(path, (QUERY, RANKING), f"A run in csv has the columns {QUERY} and {RANKING}")
    queries: list[str] = []
    nodes: list[str] = []
    scores: list[float] = []
    lines: list[int] = []
    for query, text, line in frame.select(QUERY, RANKING, LINE).iter_rows():
        ranked = _ranking(text, f"{RANKING} of {path}, line {line}")
        nodes += ranked
        queries += [query] * len(ranked)
        scores += [-float(rank) for rank in range(1, len(ranked) + 1)]
        lines += [line] * len(ranked)
    rows = pl.DataFrame({"query": queries, "node": nodes, "score": scores}, schema=RUN)
    return checked_run(rows.with_columns(pl.Series("position", lines, dtype=pl.Int64)), path, "line")


def _ranking(text: str | None, where: str) -> list[str]:
    nodes: Any = load_json(text or "null", where)
    if not isinstance(nodes, list):
        raise BadInputError(f"Invalid value {describe(nodes)} in {where}", "Use a list, such as [601168, 947318]")
    for node in nodes:
        if type(node) is not int or node < 0:
            raise BadInputError(f"Invalid node {describe(node)} in {where}", "Use numbers of nodes")
    return [str(node) for node in nodes]


def write_submission(run: pl.DataFrame, path: Path) -> None:
    """Write an ordered run; raise :class:`KbError` for a query or node that is not a number."""
    for column in ("query", "node"):
        others = run.filter(~pl.col(column).str.contains(_INTEGER)).select(pl.col(column), of="query")
        for name, query in others.head(1).iter_rows():
            where = "" if column == "query" else f" of query {query!r}"
            message = f"{column.capitalize()} {name!r}{where} is not a number and cannot be written to {path}"
            raise KbError(message, _NUMBERED)
    nodes = pl.format("[{}]", pl.col("node").str.join(", ")).alias(RANKING)
    run.group_by(pl.col("query").alias(QUERY), maintain_order=True).agg(nodes.first()).write_csv(path)
