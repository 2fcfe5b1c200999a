"""Read STaRK's questions: ``stark_qa/stark_qa.csv`` (id, query, answer_ids), ``split/NAME.index`` (an id per line)."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from kbkit.errors import BadInputError, UnknownNameError
from kbkit.measures.frames import JUDGEMENTS, Gold, checked_judgements
from kbkit.measures.records import content, describe, load_json, records

PARTS = ("train", "val", "test")
"""The splits that partition the questions; others, such as test-0.1, are parts of these."""
LINE = "\0line"
"""Name of a column for line numbers that no file has."""
_COLUMNS = "STaRK's questions have id, query, answer_ids"
_HUMAN = "stark_qa_human_generated_eval"
_HUMAN_SPLIT = "human_generated_eval"
_NUMBERED = pl.Schema({"node": pl.String, "type": pl.String, "key": pl.String})


def read_stark_gold(path: Path, split: str = "", *, answers: bool = True) -> Gold:
    """Read the questions of a CSV file, or of a folder with ``stark_qa/`` and ``split/``, with their answers.

    Without ``split``, return all; if there are index files, the column ``split`` names the split of each question
    (null: none). In a folder, the split ``human_generated_eval`` is the file of questions written by people.
    """
    table = _table(path, split)
    frame = read_rows(table, ("id", "query"), _COLUMNS)
    frame, rest = _splits(frame, table, "" if path.is_dir() and split == _HUMAN_SPLIT else split, path)
    judged = pl.DataFrame(schema={**JUDGEMENTS, "position": pl.Int64})
    if answers:
        if "answer_ids" not in frame.columns:
            raise BadInputError(f"Missing column answer_ids in {table}", _COLUMNS)
        rows = list(_answers(frame, table))
        judged = pl.DataFrame(rows, schema=judged.schema, orient="row")
    more = [c for c in frame.columns if c not in ("id", "query", "text", "answer_ids", LINE)]
    queries = frame.select("id", "query", *more).rename({"id": "query", "query": "text"})
    return Gold(checked_judgements(judged, table, "line"), queries.with_columns(rest) if rest is not None else queries)


def _table(path: Path, split: str) -> Path:
    """Return the CSV file of a path."""
    if not path.is_dir():
        return path
    name = f"{_HUMAN if split == _HUMAN_SPLIT else 'stark_qa'}.csv"
    for file in (path / "stark_qa" / name, path / name):
        if file.is_file():
            return file
    raise BadInputError(f"Missing file stark_qa/{name} in {path}", "Use a file or folder of STaRK's questions")


def read_rows(table: Path, columns: tuple[str, str], hint: str) -> pl.DataFrame:
    """Return the rows of a csv file, all columns as text, with the first line of each as ``LINE``.

    The first of the required ``columns`` identifies a row. Blank lines are skipped.
    """
    text = content(table)
    try:
        frame = pl.read_csv(io.BytesIO(text), infer_schema=False, missing_columns="raise")
    except pl.exceptions.PolarsError as error:
        problem = str(error).partition("\n")[0]
        raise BadInputError(f"Invalid CSV in {table}: {problem}", "Quote values that contain commas") from None
    for column in columns:
        if column not in frame.columns:
            raise BadInputError(f"Missing column {column} in {table}", hint)
    name = columns[0]
    breaks = pl.sum_horizontal(pl.all().fill_null("").str.count_matches("\n", literal=True))
    frame = frame.with_columns(**{LINE: pl.int_range(2, pl.len() + 2) + breaks.cum_sum().shift(1, fill_value=0)})
    frame = frame.filter(~pl.all_horizontal(pl.exclude(LINE).is_null()))
    for (line,) in frame.filter(pl.col(name).is_null() | (pl.col(name) == "")).select(LINE).head(1).iter_rows():
        raise BadInputError(f"Missing {name} in {table}, line {line}")
    for query, line in frame.filter(~pl.col(name).is_first_distinct()).select(name, LINE).head(1).iter_rows():
        raise BadInputError(f"Duplicate query {query!r} in {table}, line {line}")
    return frame


def _answers(frame: pl.DataFrame, table: Path) -> Iterator[tuple[str, str, int, int]]:
    for query, text, line in frame.select("id", "answer_ids", LINE).iter_rows():
        where = f"answer_ids of {table}, line {line}"
        nodes = load_json(text or "null", where)
        if not isinstance(nodes, list):
            raise BadInputError(f"Invalid value {describe(nodes)} in {where}", "Use a list, such as [601168, 947318]")
        for node in nodes:
            yield query, _node(node, where), 1, line


def _node(node: Any, where: str) -> str:
    if isinstance(node, bool) or not isinstance(node, int | str) or node == "":
        raise BadInputError(f"Invalid node {describe(node)} in {where}", "Use integers or strings")
    return str(node)


def _splits(frame: pl.DataFrame, table: Path, split: str, path: Path) -> tuple[pl.DataFrame, pl.Series | None]:
    """Return the rows of the split, and the column ``split`` if there are index files."""
    files = {} if table.stem == _HUMAN else _indexes(table)
    if split and split not in files:
        known = [*files, *([_HUMAN_SPLIT] if path.is_dir() and table.with_name(f"{_HUMAN}.csv").is_file() else [])]
        raise UnknownNameError("split", split, known, where=str(path))
    names = [split] if split else [name for name in PARTS if name in files]
    of: dict[str, str] = {}
    ids = set(frame["id"])
    for name in names:
        for line, query in _ids(files[name]):
            if query not in ids:
                message = f"Unknown query {query!r} in {files[name]}, line {line}"
                raise BadInputError(message, f"Check that it belongs to {table}")
            if of.setdefault(query, name) != name:
                message = f"Query {query!r} in {files[name]}, line {line}, is also in the split {of[query]}"
                raise BadInputError(message, "Splits must be disjoint")
    if split:
        frame = frame.filter(pl.col("id").is_in(list(of)))
    return frame, pl.Series("split", [of.get(query) for query in frame["id"]], dtype=pl.String) if names else None


def _indexes(table: Path) -> dict[str, Path]:
    """Map each split to its file."""
    for folder in (table.parent.parent / "split", table.parent / "split"):
        if folder.is_dir():
            return dict(sorted((path.stem, path) for path in folder.glob("*.index")))
    return {}


def _ids(path: Path) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(content(path, empty=True).decode().split("\n"), 1):
        if line.strip():
            yield number, line.strip()


def numbered_answers(path: Path) -> pl.DataFrame:
    """Return the nodes that the answers of ``queries.jsonl`` number: node (the number as text), type, key.

    There are none in datasets that do not number them, or without the file.
    """
    if not path.is_file():
        return numbered_nodes((), path)
    answers = (record.fields.get("answers") for record in records(path, content(path)))
    return numbered_nodes((node for nodes in answers if isinstance(nodes, list) for node in nodes), path)


def numbered_nodes(entities: Iterable[Any], path: Path) -> pl.DataFrame:
    """Return the entities of a file that have a number, each once: node (the number as text), type, key."""
    rows = [
        (str(entity["number"]), entity["type"], entity["key"])
        for entity in entities
        if isinstance(entity, dict)
        and type(entity.get("number")) is int
        and isinstance(entity.get("type"), str)
        and isinstance(entity.get("key"), str)
    ]
    known = pl.DataFrame(rows, schema=_NUMBERED, orient="row").unique(maintain_order=True)
    for (number,) in known.filter(pl.col("node").is_duplicated()).select("node").head(1).iter_rows():
        raise BadInputError(f"Duplicate number {number} in {path}", "Restore the file: a number has one type and key")
    return known
