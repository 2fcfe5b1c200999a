"""Read the question files of WikiTableQuestions, TableBench, HybridQA, WebQSP and CWQ (in RoG's form), and STaRK.

Questions of your own are JSON lines with ``question``, ``answers`` (a list), and ``table`` (the id of a table of the
KB) or ``topics`` (a list of ``type#key``); optionally ``id``, and ``sql`` (one SELECT over ``table_rows`` and
``passages``, see :mod:`kbkit.benchmarks.ska.solve`) or ``expression``.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from kbkit.directory.files import parse_json
from kbkit.errors import BadInputError, reason
from kbkit.measures.records import JsonRecord, content, items
from kbkit.readers.wikitables import unescape

WIKITABLES, TABLEBENCH, HYBRIDQA, ROG, STARK, OWN = (
    "wikitablequestions", "tablebench", "hybridqa", "rog", "stark", "own",
)  # fmt: skip
_WIKITABLES_HEADER = ["id", "utterance", "context", "targetValue"]
_HINT = (
    "Use a question file of WikiTableQuestions, TableBench, HybridQA, RoG-WebQSP, RoG-CWQ, or JSON lines of your own"
)


class AnswerNode(NamedTuple):
    """A place of the answer that HybridQA's authors found: the cell, and the link if a passage has the answer."""

    row: int
    column: int
    link: str


@dataclass(frozen=True)
class PublishedQuestion:
    """A published question. ``table`` is the id of its table, or ``header`` and ``rows`` are the table itself.

    ``nodes`` are HybridQA's places of the answer (None: not traced). ``topics`` and ``graph`` are the entities that a
    question of RoG names and its subgraph of (head, relation, tail). ``kind`` is TableBench's type of question.
    """

    dataset: str
    id: str
    text: str
    answers: list[str]
    table: str = ""
    header: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    nodes: list[AnswerNode] | None = None
    topics: list[str] = field(default_factory=list)
    graph: list[tuple[str, str, str]] = field(default_factory=list)
    kind: str = ""
    sql: str = ""
    expression: str = ""


def read_published_questions(path: Path) -> list[PublishedQuestion]:
    """Return the questions of a file; its format is found by its fields.

    Raises :class:`BadInputError` that names file, line and field.
    """
    if not path.is_file():
        raise BadInputError(f"{path} is not a file", _HINT)
    if path.suffix.lower() == ".tsv":
        return _wikitables(path)
    if path.suffix.lower() == ".csv":
        return _stark(path)
    records = _parquet(path) if path.suffix.lower() == ".parquet" else items(path)
    read_one = _reader(records[0])
    questions = [read_one(record, number) for number, record in enumerate(records, 1)]
    return _unique(questions, path)


def _reader(record: JsonRecord) -> Callable[[JsonRecord, int], PublishedQuestion]:
    """Return the reader of records like this one."""
    fields = record.fields
    if "graph" in fields:
        return _rog
    if "table_id" in fields and "answer-text" in fields:
        return _hybridqa
    if "table" in fields and "answer" in fields and ("qtype" in fields or not isinstance(fields["table"], str)):
        return _tablebench
    if "question" in fields and "answers" in fields and ("table" in fields or "topics" in fields):
        return _own
    if "table_id" in fields:
        raise record.error(
            "No field 'answer-text'", "The test questions of HybridQA have no answers; use dev.traced.json"
        )
    raise record.error("Unknown format of questions", _HINT)


def _unique(questions: Sequence[PublishedQuestion], path: Path) -> list[PublishedQuestion]:
    """Return questions without repeated ones: TableBench has each question once for each type of instruction."""
    by_id: dict[str, PublishedQuestion] = {}
    for question in questions:
        known = by_id.setdefault(question.id, question)
        if (known.text, known.answers) != (question.text, question.answers):
            raise BadInputError(f"Duplicate question {question.id!r} in {path}", "Questions need distinct ids")
    return list(by_id.values())


# -- WikiTableQuestions and STaRK -------------------------------------------------------------------------------------


def _wikitables(path: Path) -> list[PublishedQuestion]:
    lines = content(path).decode().rstrip("\r\n").split("\n")
    if lines[0].rstrip("\r").split("\t") != _WIKITABLES_HEADER:
        message = f"Unknown columns in {path}, line 1"
        raise BadInputError(message, f"The columns of WikiTableQuestions are {', '.join(_WIKITABLES_HEADER)}")
    questions = []
    for number, line in enumerate(lines[1:], 2):
        cells = line.rstrip("\r").split("\t")
        if len(cells) != len(_WIKITABLES_HEADER):
            raise BadInputError(f"{len(cells)} columns instead of {len(_WIKITABLES_HEADER)} in {path}, line {number}")
        name, text, table, target = cells
        answers = [unescape(answer) for answer in target.split("|")]
        questions.append(PublishedQuestion(WIKITABLES, name, unescape(text), answers, table))
    return _unique(questions, path)


def _stark(path: Path) -> list[PublishedQuestion]:
    with path.open(encoding="utf-8-sig", newline="") as handle:
        rows = list(csv.DictReader(handle))
    if not rows or not {"id", "query", "answer_ids"} <= set(rows[0]):
        raise BadInputError(f"Unknown columns in {path}, line 1", "The columns of STaRK are id, query, answer_ids")
    questions = []
    for number, row in enumerate(rows, 2):
        try:
            answers = parse_json(row["answer_ids"])
        except ValueError:
            raise BadInputError(f"Invalid answer_ids in {path}, line {number}", "Use a list such as [1, 2]") from None
        questions.append(PublishedQuestion(STARK, row["id"], row["query"], [str(answer) for answer in answers]))
    return _unique(questions, path)


# -- JSON -------------------------------------------------------------------------------------------------------------


def _tablebench(record: JsonRecord, number: int) -> PublishedQuestion:
    table = record.fields["table"]
    if isinstance(table, str):
        try:
            table = parse_json(table)
        except ValueError:
            raise record.error("Invalid JSON in field 'table'") from None
    if not isinstance(table, Mapping) or not all(isinstance(table.get(name), list) for name in ("columns", "data")):
        raise record.error("Invalid field 'table'", "A table has columns and data")
    rows = [[_cell(cell) for cell in row] for row in table["data"] if isinstance(row, list)]
    # Several answers are in one text, separated by commas; a text without separators stays whole.
    answer = record.fields["answer"]
    answers = [_cell(one) for one in answer] if isinstance(answer, list) else [_cell(answer)]
    return PublishedQuestion(
        TABLEBENCH, _id(record, number), _text(record, "question"), answers, kind=str(record.fields.get("qtype", "")),
        header=[_cell(cell) for cell in table["columns"]], rows=rows,
    )  # fmt: skip


def _hybridqa(record: JsonRecord, number: int) -> PublishedQuestion:
    nodes = None
    if "answer-node" in record.fields:
        nodes = [_node(record, value) for value in _list(record, "answer-node")]
    return PublishedQuestion(
        HYBRIDQA, _id(record, number, "question_id"), _text(record, "question"), [_text(record, "answer-text")],
        _text(record, "table_id"), nodes=nodes,
    )  # fmt: skip


def _node(record: JsonRecord, value: Any) -> AnswerNode:
    try:
        _, (row, column), link, kind = value
        return AnswerNode(int(row), int(column), str(link) if kind == "passage" else "")
    except (TypeError, ValueError):
        raise record.error("Invalid answer-node", "Use [text, [row, column], link, kind]") from None


def _rog(record: JsonRecord, number: int) -> PublishedQuestion:
    graph = []
    for triple in _list(record, "graph"):
        if not isinstance(triple, Sequence) or len(triple) != 3 or not all(isinstance(part, str) for part in triple):
            raise record.error("Invalid triple in field 'graph'", "Use [head, relation, tail]")
        graph.append((triple[0], triple[1].strip(), triple[2]))
    answers = _list(record, "answer" if "a_entity" not in record.fields else "a_entity")
    return PublishedQuestion(
        ROG, _id(record, number), _text(record, "question"), [str(one) for one in answers],
        topics=[str(one) for one in _list(record, "q_entity")], graph=graph,
    )  # fmt: skip


def _own(record: JsonRecord, number: int) -> PublishedQuestion:
    return PublishedQuestion(
        OWN, _id(record, number), _text(record, "question"), [_cell(one) for one in _list(record, "answers")],
        str(record.fields.get("table", "")), topics=[str(one) for one in record.fields.get("topics") or ()],
        sql=str(record.fields.get("sql", "")), expression=str(record.fields.get("expression", "")),
    )  # fmt: skip


def _id(record: JsonRecord, number: int, name: str = "id") -> str:
    return str(record.fields.get(name) or number)


def _text(record: JsonRecord, name: str) -> str:
    value = record.fields.get(name)
    if not isinstance(value, str) or not value.strip():
        raise record.error(f"Missing field {name!r}", "Use a text")
    return value


def _list(record: JsonRecord, name: str) -> list[Any]:
    value = record.fields.get(name)
    if not isinstance(value, list):
        raise record.error(f"Missing field {name!r}", "Use a list")
    return value


def _cell(value: Any) -> str:
    """Return a value as the text of a cell; null is empty."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _parquet(path: Path) -> list[JsonRecord]:
    import polars as pl

    try:
        frame = pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise BadInputError(f"Cannot read {path}: {reason(error)}") from None
    return [
        JsonRecord(row, f"{path}, row {number}", number) for number, row in enumerate(frame.iter_rows(named=True), 1)
    ]
