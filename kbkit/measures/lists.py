"""Score answer lists by precision, recall, F1 and rejection rate, the measures of SKA-Bench (sections 3 and 4.1)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from kbkit.measures import records as files
from kbkit.measures.records import JsonRecord, Scalar

PREDICTED = ("predicted", "prediction", "answer")
GOLD = ("gold", "answers", "answer")

REFUSALS = frozenset({
    "no", "none", "null", "nothing", "n/a", "not applicable", "unknown", "unsure", "no answer", "no answers", "no data",
    "no information", "not enough data", "not enough information", "insufficient data", "insufficient information",
    "unanswerable", "not answerable", "not available", "not found", "not given", "not known", "not mentioned",
    "not provided", "not specified",
})  # fmt: skip
"""Normalized answers that are refusals."""

REFUSING_STARTS = (
    "i don't know", "i dont know", "i do not know", "i don't have enough", "i do not have enough", "i'm not sure",
    "i am not sure", "i'm unable to", "i am unable to", "unable to answer", "unable to determine", "i can't answer",
    "i cannot answer", "i can not answer", "i can't determine", "i cannot determine", "i can't find", "i cannot find",
    "cannot answer", "can't answer", "cannot determine", "can't determine", "cannot be answered", "can't be answered",
    "can not be answered", "cannot be determined", "can't be determined", "it cannot be", "it can't be determined",
    "it is not possible to", "it is impossible to", "not possible to answer", "impossible to answer",
    "question cannot be", "question can't be", "question can not be", "question is unanswerable",
    "question is not answerable", "this question cannot be", "this question can't be", "this question is unanswerable",
    "answer cannot be", "answer is not", "answer is unknown", "there is no answer", "there is no information",
    "there is not enough", "there is insufficient", "there isn't enough", "no answer can be", "no answer found",
    "no answer is", "not enough information to", "insufficient information to", "provided information does not",
    "given information does not", "sorry, i", "sorry, but", "i'm sorry,", "i am sorry,",
)  # fmt: skip
"""Normalized beginnings, ending at a word boundary, of longer refusals."""


@dataclass(frozen=True)
class ListPrediction:
    """Predicted (None: no prediction) and gold answers of a question; ``groups`` are the other fields of its record."""

    query: str
    predicted: list[str] | None
    gold: list[str]
    groups: dict[str, Scalar]


# -- scores -----------------------------------------------------------------------------------------------------------


def measure(records: Sequence[ListPrediction]) -> pl.DataFrame:
    """Return ``query``, ``precision``, ``recall``, ``f1``, ``rejected`` of each record (0 to 1; null: undefined).

    Lists are compared as sets of normalized answers (:func:`normalize`), without blank ones. With gold answers, f1 is
    2 |both| / (|predicted| + |gold|), hence 0 if nothing is predicted, in which case precision is null; rejected is
    null. A record without gold answers belongs to the negative-rejection testbed: rejected is 1 if the prediction is a
    refusal (:func:`refuses`), else 0, and the rest is null. Macro-F1 is the mean of f1, the rejection rate the mean of
    rejected. Source: SKA-Bench, sections 3 (Negative Rejection) and 4.1; normalization and refusals are kbkit's own,
    since the paper defines none.
    """
    rows = [(r.query, *_scores(r)) for r in records]
    schema = {"query": pl.String} | dict.fromkeys(("precision", "recall", "f1", "rejected"), pl.Float64)
    return pl.DataFrame(rows, schema=schema, orient="row")


def queries(records: Sequence[ListPrediction]) -> pl.DataFrame:
    """Return a row per record: ``query``, and a column for each other field."""
    return files.frame([r.query for r in records], [r.groups for r in records])


def _scores(record: ListPrediction) -> tuple[float | None, float | None, float | None, float | None]:
    """Return precision, recall, f1, rejected."""
    gold, predicted = _set(record.gold), _set(record.predicted or [])
    if not gold:
        return None, None, None, float(refuses(record.predicted))
    both = len(gold & predicted)
    precision = both / len(predicted) if predicted else None
    return precision, both / len(gold), 2 * both / (len(predicted) + len(gold)), None


def _set(answers: Sequence[str]) -> set[str]:
    return {normalize(answer) for answer in answers} - {""}


def refuses(predicted: Sequence[str] | None) -> bool:
    """Return whether a prediction is empty or has only refusals (``REFUSALS``, ``REFUSING_STARTS``)."""
    return all(_refusal(answer) for answer in _set(predicted or []))


def _refusal(answer: str) -> bool:
    """Return whether a normalized answer is a refusal."""
    rest = [answer[len(start) :] for start in REFUSING_STARTS if answer.startswith(start)]
    return answer in REFUSALS or any(not text[:1].isalnum() for text in rest)


# -- normalization ----------------------------------------------------------------------------------------------------

_SAME = str.maketrans(dict.fromkeys("‘’‚‛`´ʼ′", "'") | dict.fromkeys("“”„‟«»″", '"') | dict.fromkeys("‐‑‒–—―−", "-"))
_OUTER = " \"'.,;:!?"
_START = re.compile(r"(?:[ \"',;:!?]|\.(?![0-9]))+")
_NUMBER = re.compile(r"([+-]?)(0|[1-9][0-9]*|[1-9][0-9]{0,2}(?:,[0-9]{3})+|(?=\.))(?:\.([0-9]+))?")
_ARTICLE = re.compile(r"(?:an?|the) (?=.)")


def normalize(text: str) -> str:
    """Return an answer in normal form for comparison (idempotent).

    1. Apply Unicode NFKC and case folding; straighten quotes; replace dashes and minus signs by ``-``.
    2. Collapse white space.
    3. Strip quotes and ``. , ; : ! ?`` at both ends, then a leading article (a, an, the), repeatedly; a text never
       becomes empty (``The`` gives ``the``).
    4. Remove thousands separators, trailing zeros and the plus sign of a number: ``1,234.50`` gives ``1234.5``. It
       stays text, so no digit is lost. Text with leading zeros is not a number.
    """
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).translate(_SAME)
    text = " ".join(text.split())
    while True:
        number = _NUMBER.fullmatch(text)
        if number:
            return _number(*number.groups(default=""))
        shorter = _peeled(text)
        if not shorter or shorter == text:
            return text
        text = shorter


def _peeled(text: str) -> str:
    """Strip outer quotes and punctuation; if there are none, strip a leading article."""
    start = _START.match(text)
    inner = text[start.end() if start else 0 :].rstrip(_OUTER)
    if inner != text:
        return inner
    article = _ARTICLE.match(text)
    return text[article.end() :] if article else text


def _number(sign: str, whole: str, fraction: str) -> str:
    whole, fraction = whole.replace(",", "") or "0", fraction.rstrip("0")
    value = f"{whole}.{fraction}" if fraction else whole
    return f"-{value}" if sign == "-" and value != "0" else value


# -- files ------------------------------------------------------------------------------------------------------------


def read_predictions(path: Path, gold: Path | None = None) -> list[ListPrediction]:
    """Read predictions and gold answers from one file (a JSON list or JSON lines) or from two.

    The prediction is the first of the fields ``predicted``, ``prediction``, ``answer`` (in a separate file also
    ``answers``); the gold answers are the first of ``gold``, ``answers``, ``answer`` that is not the prediction. Two
    files are matched as by :func:`kbkit.measures.rows.read_predictions`. Answers are a list, one string or number,
    or ``{"answer": ...}``; a prediction can be null. Raises :class:`BadInputError` that names file and line or record.
    """
    if gold is None:
        loaded = files.items(path)
        return [
            _prediction(name, record, PREDICTED, record)
            for name, record in zip(files.names(loaded), loaded, strict=True)
        ]
    pairs = files.join(files.items(path), files.items(gold))
    return [_prediction(name, record, (*PREDICTED, "answers"), right) for name, record, right in pairs]


def _prediction(query: str, record: JsonRecord | None, names: Sequence[str], right: JsonRecord) -> ListPrediction:
    """Return a record's prediction, if any, and gold answers, which may be in the same record."""
    field = record.first(*names) if record is not None else ""
    expected = right.first(*(name for name in GOLD if record is not right or name != field))
    predicted = _answers(record.fields[field], f"{record.where}, {field}") if record is not None else None
    answers = _answers(right.fields[expected], f"{right.where}, {expected}")
    if answers is None:
        raise files.invalid(f"{right.where}, {expected}", None, _HINT)
    groups = right.groups(query, {"precision", "recall", "f1", "rejected", *PREDICTED, *GOLD})
    return ListPrediction(query, predicted, answers, groups)


_HINT = "Use a list of strings and numbers, or [] for no answer"


def _answers(value: Any, where: str) -> list[str] | None:
    """Return a list of answers from any of its forms; None for null."""
    if isinstance(value, dict):
        value = next((value[key] for key in ("answer", "answers") if key in value), value)
    if value is None:
        return None
    return [_answer(element, where) for element in (value if isinstance(value, list) else [value])]


def _answer(value: Any, where: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return value
    raise files.invalid(where, value, _HINT)
