"""Row-major exact match and F1 of query results: the measures of SPINACH, section 5.1."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from scipy import sparse

from kbkit.errors import BadInputError, KbError
from kbkit.measures import records as files
from kbkit.measures.json_files import is_sparql
from kbkit.measures.matching import Incidence, assign
from kbkit.measures.records import Item, Scalar

Rows: TypeAlias = list[dict[str, dict[str, str]]]
"""Solutions as SPARQL 1.1 JSON writes them: {variable: {"type", "value", "datatype", "xml:lang"}}."""
Result: TypeAlias = Rows | bool | None
"""Rows, the boolean of an ASK query, or None where there is no result."""
_Term: TypeAlias = tuple[tuple[str, str], ...]

PREDICTED = ("predicted_answer_tuple", "predicted")
GOLD = ("gold_answer_tuple", "gold")
RESULT = ("results", "bindings", "answer_tuple", "boolean")
IGNORED = ("Label", "Description")
"""Gold columns whose names end so do not count, as in the authors' evaluator."""


@dataclass(frozen=True)
class Record:
    """One question: what was predicted, what is right, and the other fields of its record."""

    query: str
    predicted: Result
    gold: Result
    groups: dict[str, Scalar]


# -- scores -----------------------------------------------------------------------------------------------------------


def measure(records: Sequence[Record]) -> pl.DataFrame:
    """Row-major scores: ``query``, ``em`` and ``f1``, 0 to 1, null where they cannot be computed (:func:`reasons`).

    The recall of a gold row by a predicted row is the share of its cells that the predicted row has, counted as
    multisets of whole terms (type, value, datatype and language); names of variables do not matter, nor do further
    cells of the predicted row, nor gold columns whose names end in Label or Description. Rows are assigned one to one
    so that the sum of recalls, tp, is greatest; pairs of recall 0 are no pairs. With n gold rows, m predicted rows and
    r pairs, fn = n - tp, fp = m - r and F1 = 2 tp / (2 tp + fp + fn); EM is 1 where F1 is 1, decided in whole numbers.
    A gold row without any cell that counts has recall 0. Booleans score 1 where equal, a boolean against rows 0, and
    no prediction (None) 0.

    Where several assignments are best, that of most pairs counts (the highest F1); the paper leaves it open.
    Raises :class:`KbError` for a query whose rows overlap in more ways than memory is kept for (``MOST_OVERLAPS``).
    Source: Liu et al., SPINACH, Findings of EMNLP 2024, section 5.1.
    """
    scores = [_measured(record) for record in records]
    columns = {"em": [em for em, _ in scores], "f1": [f1 for _, f1 in scores]}
    return pl.DataFrame({"query": [r.query for r in records], **columns}, schema=_SCORES)


_SCORES = {"query": pl.String, "em": pl.Float64, "f1": pl.Float64}


def _measured(record: Record) -> tuple[float, float] | tuple[None, None]:
    if _reason(record):
        return None, None
    try:
        return _score(record.predicted, record.gold)
    except KbError as error:
        raise KbError(f"query {record.query!r}: {error.message}", *error.hints) from None


def queries(records: Sequence[Record]) -> pl.DataFrame:
    """One row a record: ``query``, and a column for each other field."""
    return files.frame([r.query for r in records], [r.groups for r in records])


def reasons(records: Sequence[Record], scores: pl.DataFrame) -> list[str]:
    """Why scores are null: a line for each reason, with its queries."""
    undefined = set(scores.filter(pl.col("f1").is_null())["query"])
    found: dict[str, list[str]] = {}
    for record in records:
        if record.query in undefined:
            found.setdefault(_reason(record), []).append(record.query)
    return [f"em and f1 could not be computed for {_listed(names)}: {why}" for why, names in found.items()]


def _listed(names: list[str], limit: int = 3) -> str:
    shown = ", ".join(repr(name) for name in names[:limit])
    if len(names) == 1:
        return f"query {shown}"
    return f"{len(names)} queries ({shown}{', ...' if len(names) > limit else ''})"


def _reason(record: Record) -> str:
    """Why a record has no score; empty if it has one."""
    if record.gold is None:
        return "the gold query has no result"
    if record.gold and isinstance(record.gold, list) and not any(map(_counted, record.gold)):
        return "the gold rows have no column that counts (names that end in Label or Description do not)"
    if record.gold == [] and record.predicted == []:
        return "there are neither gold nor predicted rows, so that 2tp + fp + fn is 0"
    return ""


def _score(predicted: Result, gold: Result) -> tuple[float, float]:
    """EM and F1 of a record that has them."""
    if predicted is None or gold is None:
        return 0.0, 0.0
    if isinstance(predicted, bool) or isinstance(gold, bool):
        same = float(predicted is gold)
        return same, same
    columns: dict[tuple[_Term, int], int] = {}
    wanted = [_counted(row) for row in gold]
    given = [[_term(cell) for cell in row.values()] for row in predicted]
    widths = np.array([len(row) for row in wanted], np.int64)
    found = assign(*_incidences(wanted, given, columns), widths)
    tp, missed = found.recall, len(gold) - found.recall
    extra = len(predicted) - found.pairs
    return float(not missed and not extra), float(2 * tp / (2 * tp + extra + missed))


def _term(cell: dict[str, str]) -> _Term:
    return tuple(sorted(cell.items()))


def _counted(row: dict[str, dict[str, str]]) -> list[_Term]:
    """The terms of a gold row's columns that count."""
    return [_term(cell) for name, cell in row.items() if not name.endswith(IGNORED)]


def _incidences(
    gold: list[list[_Term]], predicted: list[list[_Term]], columns: dict[tuple[_Term, int], int]
) -> tuple[Incidence, Incidence]:
    """Rows by cells. A term's i-th repeat in a row is a cell of its own, so that common cells count as in multisets."""
    coded = [
        [[columns.setdefault(cell, len(columns)) for cell in _numbered(row)] for row in side]
        for side in (gold, predicted)
    ]

    def incidence(rows: list[list[int]]) -> Incidence:
        lengths = np.array([len(row) for row in rows], np.int64)
        cells = np.array([cell for row in rows for cell in row], np.int64)
        starts = np.concatenate([[0], np.cumsum(lengths)])
        return sparse.csr_array((np.ones(len(cells), np.int64), cells, starts), shape=(len(rows), len(columns)))

    return incidence(coded[0]), incidence(coded[1])


def _numbered(row: list[_Term]) -> Iterable[tuple[_Term, int]]:
    """Each term with the number of its earlier repeats in the row."""
    if len(set(row)) == len(row):
        return ((term, 0) for term in row)
    return ((term, row[:place].count(term)) for place, term in enumerate(row))


# -- files ------------------------------------------------------------------------------------------------------------


def read(path: Path, gold: Path | None = None) -> list[Record]:
    """The records of a file (a JSON list or JSON lines), or of a file of predictions and one of ``gold`` results.

    One file: each record has ``predicted_answer_tuple`` and ``gold_answer_tuple`` (or ``predicted`` and ``gold``). Two
    files: SPARQL 1.1 JSON results both, of one query that is named as the gold file is; or records with ``results``,
    ``bindings`` or ``answer_tuple``, joined by ``id``, ``question`` or ``query``, by position where none has any; gold
    decides which queries there are, and one without prediction gets None. A result is a list of rows, a SPARQL JSON
    results object, a boolean or null. A row may be a list of cells too, and a cell a plain text or number (a literal).
    Raises :class:`BadInputError` that names file and line or record.
    """
    if gold is None:
        found = files.items(path)
        if is_sparql(found[0].fields) and not {*PREDICTED, *GOLD} & found[0].fields.keys():
            raise BadInputError(f"{path} holds results, but no gold ones", "give a file of gold results too")
        return [_record(n, i, PREDICTED, i, GOLD) for n, i in zip(files.names(found), found, strict=True)]
    ours, theirs = files.load(gold), files.load(path)
    if isinstance(ours, dict) != isinstance(theirs, dict):
        one, many = (gold, path) if isinstance(ours, dict) else (path, gold)
        raise BadInputError(f"{one} holds the result of one query, and {many} holds records", "give two of a kind")
    if isinstance(ours, dict):
        return [Record(gold.stem, _result(theirs, str(path)), _result(ours, str(gold)), {})]
    pairs = files.join(theirs, ours)
    return [_record(name, item, (*RESULT, *PREDICTED), right, (*RESULT, *GOLD)) for name, item, right in pairs]


def _record(name: str, item: Item | None, predicted: Sequence[str], right: Item, gold: Sequence[str]) -> Record:
    groups = right.groups(name, {"em", "f1", *RESULT, *predicted, *gold})
    return Record(name, None if item is None else _field(item, predicted), _field(right, gold), groups)


def _field(item: Item, names: Sequence[str]) -> Result:
    name = item.first(*names)
    return _result(item.fields[name], f"{item.where}, {name}")


def _result(value: Any, where: str) -> Result:
    """A result from any of its forms."""
    for _ in range(3):  # a record, SPARQL JSON, its results
        if isinstance(value, dict):
            value = next((value[name] for name in RESULT if name in value), value)
    if value is None or isinstance(value, bool):
        return value
    if not isinstance(value, list):
        raise files.wrong(where, value, "a result is a list of rows, SPARQL JSON results, true, false or null")
    return [_row(row, where, place) for place, row in enumerate(value, 1)]


def _row(row: Any, where: str, place: int) -> dict[str, dict[str, str]]:
    """A row; cells that are null are unbound. What is neither object nor list is a row of one column."""
    if not isinstance(row, dict):
        row = {str(column): cell for column, cell in enumerate(row if isinstance(row, list) else [row])}
    return {name: _cell(cell, where, place) for name, cell in row.items() if cell is not None}


def _cell(cell: Any, where: str, place: int) -> dict[str, str]:
    where = f"{where}: a cell of row {place}"
    if isinstance(cell, dict) and "value" in cell:
        if all(type(value) is str for value in cell.values()):
            return cell
        return {name: _plain(value, where) for name, value in cell.items()}
    if isinstance(cell, (dict, list)):
        raise files.wrong(where, cell, 'a cell is {"type": ..., "value": ...}, a text or a number')
    return {"type": "literal", "value": _plain(cell, where)}


def _plain(value: Any, where: str) -> str:
    """A value as text; 3.0 is 3, as JSON does not tell them apart, and a quoted triple stays JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    try:
        return json.dumps(value, sort_keys=True)
    except RecursionError:
        raise BadInputError(f"{where} is nested too deep", "a cell is flat, or a quoted triple") from None
