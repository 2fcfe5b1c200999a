"""Read files of questions with queries: SPINACH, QALD in both forms, WikiWebQuestions, WDQL, QAWiki, and your own."""

from __future__ import annotations

import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kbkit.benchmarks.spinach import qawiki
from kbkit.errors import BadInputError, clipped
from kbkit.measures import records, rows
from kbkit.measures.records import JsonRecord
from kbkit.measures.rows import Result

QUERY = ("sparql", "query", "gold_sparql")
"""Fields of a record that can contain its query, by precedence."""
_ARCHIVES = (".tar.gz", ".tgz", ".tar")
_TEXT = ("question", "utterance")
_ANSWERS = ("answers", "results", *rows.GOLD)
_HINT = 'Example: {"id": "1", "question": "...", "sparql": "SELECT ..."}'


@dataclass(frozen=True)
class SparqlQuestion:
    """A question of a file: ``where`` is its position. Missing ``text`` and ``sparql`` are "", ``answers`` None."""

    id: str
    text: str
    sparql: str
    answers: Result
    where: str


@dataclass(frozen=True)
class QuestionFile:
    """The questions of a file."""

    path: Path
    questions: tuple[SparqlQuestion, ...]


def read_questions(path: Path, *, sparql: bool = True, question: bool = False) -> QuestionFile:
    """Read the questions of a file: a JSON list, JSON lines, an archive of them such as WDQL's (``.tar.gz``), QALD's
    ``{"questions": [...]}``, or QAWiki's RDF.

    A record has its query in ``sparql`` or ``query`` (a string, or QALD's object with ``sparql``). Optional fields are
    ``id``, ``question`` (a string, or QALD's list of languages; English is preferred) and ``answers`` or ``results``.
    The default id is the question, or else the position. ``sparql`` and ``question`` say which fields are required.
    Raises :class:`BadInputError` that names file and record.
    """
    if qawiki.is_rdf(path):
        entries: list[JsonRecord] | dict[str, Any] = qawiki.questions(path)
    else:
        entries = _archived(path) if is_archive(path) else records.load_records(path)
    if isinstance(entries, dict):
        entries = _entries(path, entries)
    questions = [_question(item, position, sparql, question) for position, item in enumerate(entries, 1)]
    seen: dict[str, SparqlQuestion] = {}
    for one in questions:
        if one.id in seen:
            hint = f"It is also in {seen[one.id].where}. Each record needs its own id"
            raise BadInputError(f"Duplicate id {clipped(one.id)!r} in {one.where}", hint)
        seen[one.id] = one
    return QuestionFile(path, tuple(questions))


def is_archive(path: Path) -> bool:
    """Return whether a file is an archive of files."""
    return path.name.endswith(_ARCHIVES)


def _archived(path: Path) -> list[JsonRecord]:
    """Return the records of all files of JSON lines in an archive, by name."""
    found: list[JsonRecord] = []
    try:
        with tarfile.open(path) as archive:
            members = [one for one in archive if one.isfile() and one.name.endswith(".jsonl")]
            for member in sorted(members, key=lambda one: one.name):
                held = archive.extractfile(member)
                assert held is not None
                loaded = records.records_of(path / member.name, held.read().decode())
                assert isinstance(loaded, list)  # the name says that they are lines
                found += loaded
    except (OSError, EOFError, tarfile.TarError, UnicodeDecodeError) as error:
        raise BadInputError(f"Cannot read {path}: {error}") from None
    if not found:
        raise BadInputError(f"No .jsonl file in {path}", _HINT)
    return found


def _entries(path: Path, content: dict[str, Any]) -> list[JsonRecord]:
    """Return the records of an object with ``questions``; any other object is one record."""
    if "questions" not in content:
        return [JsonRecord(content, f"{path}, record 1")]
    entries = content["questions"]
    if not isinstance(entries, list) or not entries:
        raise BadInputError(f"Invalid questions in {path}: {_kind(entries)}", "Use a list of records")
    for position, value in enumerate(entries, 1):
        if not isinstance(value, dict):
            raise BadInputError(
                f"Invalid record in {path}, record {position}: {_kind(value)}", f"Use an object. {_HINT}"
            )
    return [JsonRecord(value, f"{path}, record {position}") for position, value in enumerate(entries, 1)]


def _question(item: JsonRecord, position: int, needs_sparql: bool, needs_question: bool) -> SparqlQuestion:
    text = _words(item)
    if needs_question and not text:
        raise BadInputError(f"Missing question in {item.where}", _HINT)
    query = _query(item, needs_sparql)
    return SparqlQuestion(_id(item) or text or str(position), text, query, _answers(item), item.where)


def _id(item: JsonRecord) -> str:
    value = item.fields.get("id")
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise BadInputError(f"Invalid id in {item.where}: {_kind(value)}", "Use a string or an integer")
    return str(value)


def _words(item: JsonRecord) -> str:
    name, value = _first(item, _TEXT)
    if isinstance(value, list):
        value = _english(item, name, value)
    if value is None or isinstance(value, str):
        return (value or "").strip()
    hint = 'Use a string, or a list of {"language", "string"}'
    raise BadInputError(f"Invalid {name} in {item.where}: {_kind(value)}", hint)


def _english(item: JsonRecord, name: str, entries: Sequence[Any]) -> Any:
    """Return the English text of a question in several languages, or else the first."""
    texts: dict[str, Any] = {}
    for one in entries:
        if not isinstance(one, dict) or not isinstance(one.get("string"), str | None):
            raise BadInputError(
                f"Invalid {name} in {item.where}: it contains {_kind(one)}", 'Use {"language", "string"}'
            )
        if one.get("string"):
            texts.setdefault(str(one.get("language")), one["string"])
    return texts.get("en", next(iter(texts.values()), ""))


def _query(item: JsonRecord, needed: bool) -> str:
    name, value = _first(item, QUERY)
    if isinstance(value, dict):
        name, value = f"{name}.sparql", value.get("sparql")
    if value is not None and not isinstance(value, str):
        raise BadInputError(f"Invalid {name} in {item.where}: {_kind(value)}", "Use a SPARQL string")
    if needed and not (value or "").strip():
        problem = f"Invalid {name} in {item.where}: {_kind(value)}" if name else f"Missing {QUERY[0]} in {item.where}"
        raise BadInputError(problem, f"Add {QUERY[0]} or {QUERY[1]}. {_HINT}")
    return value or ""


def _first(item: JsonRecord, names: Sequence[str]) -> tuple[str, Any]:
    """Return the first of these fields that a record has, and its value; ("", None) if none."""
    return next(((name, item.fields[name]) for name in names if name in item.fields), ("", None))


def _answers(item: JsonRecord) -> Result:
    """Return the answers of a record; QALD's are a list of one SPARQL result."""
    name, value = _first(item, _ANSWERS)
    if name == "answers" and isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        value = value[0]
    return result(value, f"{item.where}, {name}")


def result(value: Any, where: str) -> Result:
    """Return a result from a file: rows, SPARQL 1.1 JSON results, a boolean or null; ``where`` is for the error."""
    return rows._result(value, where)


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", bool: "true or false", type(None): "null", str: "a string"}
    if isinstance(value, list | str) and not value:
        return "empty"
    return names.get(type(value), "a number")
