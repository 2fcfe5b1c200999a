"""TREC's files: runs (``query Q0 document rank score tag``) and judgements (``query 0 document relevance``)."""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl

from kbkit.errors import BadInputError, KbError, plural
from kbkit.measures.frames import checked_judgements, checked_run

_RUN_FIELDS = ("query", "", "node", "", "score", "")
_GOLD_FIELDS = ("query", "", "node", "relevance")
_JSON = "a file that ends in .jsonl can hold it"


def read_run(path: Path, text: bytes) -> pl.DataFrame:
    """A run; the ranks and tags written in it are ignored, as trec_eval does."""
    rows = _fields(path, text, _RUN_FIELDS, "query Q0 document rank score tag")
    numbers = rows.with_columns(pl.col("score").cast(pl.Float64, strict=False))
    _refuse(path, rows, numbers, "score", "a number")
    return checked_run(numbers, path, "line")


def read_judgements(path: Path, text: bytes) -> pl.DataFrame:
    """Judgements, in the order of the file."""
    rows = _fields(path, text, _GOLD_FIELDS, "query 0 document relevance")
    numbers = rows.with_columns(pl.col("relevance").cast(pl.Int64, strict=False))
    _refuse(path, rows, numbers, "relevance", "a whole number")
    return checked_judgements(numbers, path, "line")


def fields(text: bytes) -> int:
    """How many fields the first line that is not blank has."""
    return next((len(line.split()) for line in text.split(b"\n") if line.strip()), 0)


def _fields(path: Path, text: bytes, names: tuple[str, ...], layout: str) -> pl.DataFrame:
    """The named fields of each line, and its number as ``place``. Only ASCII white space separates them."""
    blank, full = r"[ \t\r\x0b\x0c]", r"[^ \t\r\x0b\x0c]+"
    pattern = f"{blank}+".join(f"(?P<{name}>{full})" if name else full for name in names)
    lines = pl.read_csv(
        io.BytesIO(text), has_header=False, separator="\n", quote_char=None, schema={"line": pl.String}
    ).with_row_index("place", 1)
    wanted = [name for name in names if name]
    rows = (
        lines.lazy()
        .filter(pl.col("line").str.contains(full))
        .select("line", "place", pl.col("line").str.extract_groups(f"^{blank}*{pattern}{blank}*$").struct.unnest())
        .collect(engine="streaming")
        .sort("place")
    )
    for line, place in rows.filter(pl.col("query").is_null()).select("line", "place").head(1).iter_rows():
        count = len(line.encode().split())
        raise BadInputError(
            f"{path}, line {place}: {plural(count, 'field')} where {len(names)} should be",
            f"a line is: {layout}",
        )
    return rows.select(*wanted, "place")


def _refuse(path: Path, rows: pl.DataFrame, numbers: pl.DataFrame, column: str, what: str) -> None:
    """Name the first line whose ``column`` is not what it should be."""
    for value, place in rows.filter(numbers[column].is_null()).select(column, "place").head(1).iter_rows():
        raise BadInputError(f"{path}, line {place}: {column} {value!r} is not {what}", f"write {what}")


def write_run(run: pl.DataFrame, path: Path, tag: str) -> None:
    """Write a run that is in order; ranks count from 1. Scores keep all their digits."""
    check_tag(tag)
    _refuse_space(run, path)
    rank = pl.int_range(1, pl.len() + 1).over("query")
    lines = run.select("query", q=pl.lit("Q0"), node="node", rank=rank, score="score", tag=pl.lit(tag))
    lines.write_csv(path, include_header=False, separator=" ", quote_style="never")


def check_tag(tag: str) -> None:
    """Raise :class:`KbError` unless the name of a system is one word."""
    if not tag or len(tag.split()) != 1:
        raise KbError(f"tag {tag!r} is not one word", "a TREC run names its system in one word")


def write_judgements(judgements: pl.DataFrame, path: Path) -> None:
    """Write judgements."""
    _refuse_space(judgements, path)
    lines = judgements.select("query", zero=pl.lit("0"), node="node", relevance="relevance")
    lines.write_csv(path, include_header=False, separator=" ", quote_style="never")


def _refuse_space(frame: pl.DataFrame, path: Path) -> None:
    for column in ("query", "node"):
        # Any white space of Unicode: other readers split there.
        for (name,) in frame.filter(pl.col(column).str.contains(r"\s|^$")).select(column).head(1).iter_rows():
            raise KbError(f"{path}: the {column} {name!r} has white space or is empty, which TREC's form lacks", _JSON)
