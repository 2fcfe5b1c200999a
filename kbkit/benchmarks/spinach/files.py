"""Files of questions with their queries: SPINACH's, QALD's in both forms, WikiWebQuestions', anybody's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kbkit.errors import BadInputError
from kbkit.measures import records, rows
from kbkit.measures.records import JsonRecord
from kbkit.measures.rows import Result

QUERY = ("sparql", "query", "gold_sparql")
"""Where a record may hold its query, the first choice first."""
_TEXT = ("question", "utterance")
_ANSWERS = ("answers", "results", *rows.GOLD)
_HINT = 'e.g. {"id": "1", "question": "...", "sparql": "SELECT ..."}'


@dataclass(frozen=True)
class Question:
    """One question. ``text`` and ``sparql`` are empty, ``answers`` None, where the file has none; ``where`` is its
    place.
    """

    id: str
    text: str
    sparql: str
    answers: Result
    where: str


@dataclass(frozen=True)
class Dataset:
    """The questions of a file."""

    path: Path
    questions: tuple[Question, ...]


def read(path: Path, *, sparql: bool = True, question: bool = False) -> Dataset:
    """The questions of a file: a JSON list, JSON lines, or QALD's ``{"questions": [...]}``.

    A record has its query in ``sparql`` or ``query`` (a text, or QALD's object with ``sparql``); besides, as far as
    they are there, an ``id``, the words of the ``question`` (a text, or QALD's list of languages, of which English is
    taken, else the first), and ``answers`` or ``results``. A record without ``id`` is called by its question, else by
    its place. ``sparql`` and ``question`` say what no record may lack. Raises :class:`BadInputError` that names file
    and record.
    """
    found = records.load_records(path)
    if isinstance(found, dict):
        found = _listed(path, found)
    questions = [_question(item, place, sparql, question) for place, item in enumerate(found, 1)]
    seen: dict[str, Question] = {}
    for one in questions:
        if one.id in seen:
            hint = f"the first is {seen[one.id].where}; give each record an id of its own"
            raise BadInputError(f"{one.where} is a second record of {_short(one.id)}", hint)
        seen[one.id] = one
    return Dataset(path, tuple(questions))


def _listed(path: Path, whole: dict[str, Any]) -> list[JsonRecord]:
    """The records of an object with ``questions``; another object is one record."""
    if "questions" not in whole:
        return [JsonRecord(whole, f"{path}, record 1")]
    listed = whole["questions"]
    if not isinstance(listed, list) or not listed:
        raise BadInputError(f"{path}: questions is {_kind(listed)}", "a list of records should be there")
    for place, value in enumerate(listed, 1):
        if not isinstance(value, dict):
            raise BadInputError(f"{path}, record {place} is {_kind(value)}", f"a record is an object, {_HINT}")
    return [JsonRecord(value, f"{path}, record {place}") for place, value in enumerate(listed, 1)]


def _question(item: JsonRecord, place: int, needs_sparql: bool, needs_question: bool) -> Question:
    text = _words(item)
    if needs_question and not text:
        raise BadInputError(f"{item.where} has no question", _HINT)
    query = _query(item, needs_sparql)
    return Question(_id(item) or text or str(place), text, query, _answers(item), item.where)


def _id(item: JsonRecord) -> str:
    value = item.fields.get("id")
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise BadInputError(f"{item.where}: id is {_kind(value)}", "it should be a text or a whole number")
    return str(value)


def _words(item: JsonRecord) -> str:
    name, value = _first(item, _TEXT)
    if isinstance(value, list):
        value = _english(item, name, value)
    if value is None or isinstance(value, str):
        return (value or "").strip()
    raise BadInputError(
        f"{item.where}: {name} is {_kind(value)}", 'it should be a text, or a list of {"language", "string"}'
    )


def _english(item: JsonRecord, name: str, listed: Sequence[Any]) -> Any:
    """The English words of a question in several languages, else the first."""
    texts: dict[str, Any] = {}
    for one in listed:
        if not isinstance(one, dict) or not isinstance(one.get("string"), str | None):
            raise BadInputError(f"{item.where}: {name} holds {_kind(one)}", 'it should hold {"language", "string"}')
        if one.get("string"):
            texts.setdefault(str(one.get("language")), one["string"])
    return texts.get("en", next(iter(texts.values()), ""))


def _query(item: JsonRecord, needed: bool) -> str:
    name, value = _first(item, QUERY)
    if isinstance(value, dict):
        name, value = f"{name}.sparql", value.get("sparql")
    if value is not None and not isinstance(value, str):
        raise BadInputError(f"{item.where}: {name} is {_kind(value)}", "it should be a SPARQL text")
    if needed and not (value or "").strip():
        what = f"has no {QUERY[0]}" if not name else f"has no query: {name} is {_kind(value)}"
        raise BadInputError(f"{item.where} {what}", f"a record needs one of {QUERY[0]}, {QUERY[1]}; {_HINT}")
    return value or ""


def _first(item: JsonRecord, names: Sequence[str]) -> tuple[str, Any]:
    """The first of these fields that a record has, and its value; ("", None) if none."""
    return next(((name, item.fields[name]) for name in names if name in item.fields), ("", None))


def _answers(item: JsonRecord) -> Result:
    """The answers that a record holds; QALD's are a list of one SPARQL result."""
    name, value = _first(item, _ANSWERS)
    if name == "answers" and isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        value = value[0]
    return result(value, f"{item.where}, {name}")


def result(value: Any, where: str) -> Result:
    """A result as a file holds it: rows, SPARQL 1.1 JSON results, a boolean or null; ``where`` is for the error."""
    return rows._result(value, where)


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", bool: "true or false", type(None): "null", str: "a text"}
    if isinstance(value, list | str) and not value:
        return "empty"
    return names.get(type(value), "a number")
