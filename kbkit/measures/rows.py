"""Score query results by row-major exact match and F1, the measures of SPINACH (section 5.1)."""

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
from kbkit.measures.matching import Incidence, assign
from kbkit.measures.records import JsonRecord, Scalar, is_sparql

Rows: TypeAlias = list[dict[str, dict[str, str]]]
"""Solutions as SPARQL 1.1 JSON writes them: {variable: {"type", "value", "datatype", "xml:lang"}}."""
Result: TypeAlias = Rows | bool | None
"""Rows, the boolean of an ASK query, or None for no result."""
_Term: TypeAlias = tuple[tuple[str, str], ...]

PREDICTED = ("predicted_answer_tuple", "predicted")
GOLD = ("gold_answer_tuple", "gold")
RESULT = ("results", "bindings", "answer_tuple", "boolean")
IGNORED = ("Label", "Description")
"""Gold columns with these endings are ignored, as in the authors' evaluator."""


@dataclass(frozen=True)
class RowsPrediction:
    """Predicted and gold result of a query; ``groups`` are the other fields of its record."""

    query: str
    predicted: Result
    gold: Result
    groups: dict[str, Scalar]


# -- scores -----------------------------------------------------------------------------------------------------------


def measure(records: Sequence[RowsPrediction]) -> pl.DataFrame:
    """Return ``query``, ``em`` and ``f1`` (0 to 1; null: undefined, see :func:`reasons`).

    The recall of a gold row by a predicted row is the fraction of its cells in the predicted row, counted as multisets
    of terms (type, value, datatype and language). Variable names, extra cells of the predicted row, and gold columns
    that end in Label or Description are ignored. Rows are assigned one to one to maximize the sum of recalls, tp; pairs
    of recall 0 do not count. With n gold rows, m predicted rows and r pairs, fn = n - tp, fp = m - r and
    F1 = 2 tp / (2 tp + fp + fn). EM is 1 if F1 is 1, computed in integers. A gold row without cells has recall 0. Equal
    booleans score 1, a boolean against rows 0, a missing prediction (None) 0.

    If several assignments are optimal, the one with the most pairs (the highest F1) is used; the paper leaves this
    open. Raises :class:`KbError` for a query whose rows overlap in too many pairs for memory
    (``matching.MAX_OVERLAPS``). Source: Liu et al., SPINACH, Findings of EMNLP 2024, section 5.1.
    """
    scores = [_measured(record) for record in records]
    columns = {"em": [em for em, _ in scores], "f1": [f1 for _, f1 in scores]}
    return pl.DataFrame({"query": [r.query for r in records], **columns}, schema=_SCORES)


_SCORES = {"query": pl.String, "em": pl.Float64, "f1": pl.Float64}


def _measured(record: RowsPrediction) -> tuple[float, float] | tuple[None, None]:
    if _reason(record):
        return None, None
    try:
        return _score(record.predicted, record.gold)
    except KbError as error:
        raise KbError(f"Query {record.query!r}: {error.message}", *error.hints) from None


def queries(records: Sequence[RowsPrediction]) -> pl.DataFrame:
    """Return a row per record: ``query``, and a column for each other field."""
    return files.frame([r.query for r in records], [r.groups for r in records])


def reasons(records: Sequence[RowsPrediction], scores: pl.DataFrame) -> list[str]:
    """Return a note for each reason why scores are null, with its queries."""
    undefined = set(scores.filter(pl.col("f1").is_null())["query"])
    by_reason: dict[str, list[str]] = {}
    for record in records:
        if record.query in undefined:
            by_reason.setdefault(_reason(record), []).append(record.query)
    return [f"em and f1 are undefined for {_listed(names)}: {reason}" for reason, names in by_reason.items()]


def _listed(names: list[str], limit: int = 3) -> str:
    shown = ", ".join(repr(name) for name in names[:limit])
    if len(names) == 1:
        return f"query {shown}"
    return f"{len(names)} queries ({shown}{', ...' if len(names) > limit else ''})"


def _reason(record: RowsPrediction) -> str:
    """Return why a record has no score (empty: it has one)."""
    if record.gold is None:
        return "the gold query has no result"
    if record.gold and isinstance(record.gold, list) and not any(map(_counted, record.gold)):
        return "all gold columns end in Label or Description, which are ignored"
    if record.gold == [] and record.predicted == []:
        return "there are neither gold nor predicted rows (2tp + fp + fn = 0)"
    return ""


def _score(predicted: Result, gold: Result) -> tuple[float, float]:
    """Return EM and F1 of a record where they are defined."""
    if predicted is None or gold is None:
        return 0.0, 0.0
    if isinstance(predicted, bool) or isinstance(gold, bool):
        same = float(predicted is gold)
        return same, same
    columns: dict[tuple[_Term, int], int] = {}
    expected = [_counted(row) for row in gold]
    returned = [[_term(cell) for cell in row.values()] for row in predicted]
    widths = np.array([len(row) for row in expected], np.int64)
    assignment = assign(*_incidences(expected, returned, columns), widths)
    tp, missed = assignment.recall, len(gold) - assignment.recall
    extra = len(predicted) - assignment.pairs
    return float(not missed and not extra), float(2 * tp / (2 * tp + extra + missed))


def _term(cell: dict[str, str]) -> _Term:
    return tuple(sorted(cell.items()))


def _counted(row: dict[str, dict[str, str]]) -> list[_Term]:
    """Return the terms of a gold row, without ignored columns."""
    return [_term(cell) for name, cell in row.items() if not name.endswith(IGNORED)]


def _incidences(
    gold: list[list[_Term]], predicted: list[list[_Term]], columns: dict[tuple[_Term, int], int]
) -> tuple[Incidence, Incidence]:
    """Return rows by cells. Repeats of a term in a row are distinct cells, as in multisets."""
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
    """Return each term with its number of earlier occurrences in the row."""
    if len(set(row)) == len(row):
        return ((term, 0) for term in row)
    return ((term, row[:position].count(term)) for position, term in enumerate(row))


# -- files ------------------------------------------------------------------------------------------------------------


def read_predictions(path: Path, gold: Path | None = None) -> list[RowsPrediction]:
    """Read predictions and gold results from one file (a JSON list or JSON lines) or from two.

    One file: each record has ``predicted_answer_tuple`` and ``gold_answer_tuple`` (or ``predicted`` and ``gold``). Two
    files: either both are SPARQL 1.1 JSON results of one query, named after the gold file; or both have records with
    ``results``, ``bindings`` or ``answer_tuple``, matched by ``id``, ``question`` or ``query``, or by position if no
    record has any. The queries are those of the gold file; one without prediction gets None. A result is a list of
    rows, a SPARQL JSON results object, a boolean or null. A row can also be a list of cells, and a cell a string or
    number (a literal). Raises :class:`BadInputError` that names file and line or record.
    """
    if gold is None:
        records = files.items(path)
        if is_sparql(records[0].fields) and not {*PREDICTED, *GOLD} & records[0].fields.keys():
            raise BadInputError(f"{path} contains results without gold results", "Add a file of gold results")
        return [_prediction(n, i, PREDICTED, i, GOLD) for n, i in zip(files.names(records), records, strict=True)]
    ours, theirs = files.load_records(gold), files.load_records(path)
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return [RowsPrediction(gold.stem, _result(theirs, str(path)), _result(ours, str(gold)), {})]
    if isinstance(ours, dict) or isinstance(theirs, dict):
        one, many = (gold, path) if isinstance(ours, dict) else (path, gold)
        message = f"{one} contains the result of one query, but {many} contains records"
        raise BadInputError(message, "Use two files of the same kind")
    pairs = files.join(theirs, ours)
    return [_prediction(name, item, (*RESULT, *PREDICTED), right, (*RESULT, *GOLD)) for name, item, right in pairs]


def _prediction(
    query: str, item: JsonRecord | None, predicted: Sequence[str], right: JsonRecord, gold: Sequence[str]
) -> RowsPrediction:
    groups = right.groups(query, {"em", "f1", *RESULT, *predicted, *gold})
    return RowsPrediction(query, None if item is None else _field(item, predicted), _field(right, gold), groups)


def _field(item: JsonRecord, names: Sequence[str]) -> Result:
    name = item.first(*names)
    return _result(item.fields[name], f"{item.where}, {name}")


def _result(value: Any, where: str) -> Result:
    """Return a result from any of its forms."""
    for _ in range(3):  # a record, SPARQL JSON, its results
        if isinstance(value, dict):
            value = next((value[name] for name in RESULT if name in value), value)
    if value is None or isinstance(value, bool):
        return value
    if not isinstance(value, list):
        raise files.invalid(where, value, "Use a list of rows, SPARQL JSON results, a boolean or null")
    return [_row(row, f"{where}, row {position}") for position, row in enumerate(value, 1)]


def _row(row: Any, where: str) -> dict[str, dict[str, str]]:
    """Return a row; null cells are unbound. A value that is neither object nor list is a row of one column."""
    if not isinstance(row, dict):
        row = {str(column): cell for column, cell in enumerate(row if isinstance(row, list) else [row])}
    return {name: _cell(cell, where) for name, cell in row.items() if cell is not None}


def _cell(cell: Any, where: str) -> dict[str, str]:
    if isinstance(cell, dict) and "value" in cell:
        if all(type(value) is str for value in cell.values()):
            return cell
        return {name: _plain(value, where) for name, value in cell.items()}
    if isinstance(cell, (dict, list)):
        raise files.invalid(where, cell, 'A cell is {"type": ..., "value": ...}, a string or a number')
    return {"type": "literal", "value": _plain(cell, where)}


def _plain(value: Any, where: str) -> str:
    """Return a value as text; 3.0 is 3, which JSON does not distinguish, and a quoted triple stays JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    try:
        return json.dumps(value, sort_keys=True)
    except RecursionError:
        raise BadInputError(f"JSON nested too deeply in {where}") from None
