"""Teach a KB the words of its questions: add synonyms, learn from examples, forget both."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

from kbkit.answers.answer_set import answers as expression_answers
from kbkit.directory.files import parse_json
from kbkit.errors import BadInputError, KbError, UnknownNameError, reason
from kbkit.questions import taught
from kbkit.questions.choices import ReadingChoices
from kbkit.questions.learn import TrainingPair, answer_texts, learn
from kbkit.questions.reader import QuestionReader
from kbkit.questions.taught import Learned, change
from kbkit.stores import Stores

_EXAMPLE = 'Write {"question": "Who directed Heat?", "answers": ["Michael Mann"]}, or "expression" instead of "answers"'


def add_synonym(stores: Stores, name: str, word: str) -> str:
    """Add a word for a relation or attribute; return its name as the schema spells it.

    Raises :class:`UnknownNameError` for a name that the KB lacks, and :class:`KbError` if the word is not one word.
    """
    known = {relation.name for relation in stores.schema.relations}
    known |= {attribute.name for node_type in stores.schema.node_types for attribute in node_type.attributes}
    found = next((one for one in sorted(known) if one.casefold() == name.casefold()), None)
    if found is None:
        raise UnknownNameError("relation or attribute", name, sorted(known))
    if not word.strip() or len(word.split()) > 1:
        raise KbError(f"Invalid synonym {word!r}", "Use one word, such as directed=helmed")
    change(stores, lambda taught: taught.with_synonym(found, word.strip().lower()))
    QuestionReader.renew(stores)
    return found


def forget(stores: Stores) -> None:
    """Delete all synonyms, chosen readings and learned weights of a KB."""
    taught.forget(stores)
    ReadingChoices.renew(stores)
    QuestionReader.renew(stores)


def learn_from(stores: Stores, path: Path, progress: Callable[[int, int], None] | None = None) -> tuple[Learned, bool]:
    """Learn from a file of :func:`read_pairs`; see :func:`kbkit.questions.learn.learn`."""
    return learn(stores, read_pairs(stores, path), progress)


def read_pairs(stores: Stores, path: Path) -> list[TrainingPair]:
    """Return the pairs of a file; raise :class:`BadInputError` with the line of a mistake.

    A file is JSON lines with ``question``, and ``answers`` (a list) or ``expression`` (whose answers are right); or CSV
    with the columns ``question`` and ``answer``, one row for each answer, as SQL returns them.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise KbError(f"Cannot read {path}: {reason(error)}") from None
    return _of_rows(path, text) if path.suffix.lower() == ".csv" else _of_lines(stores, path, text)


def _of_lines(stores: Stores, path: Path, text: str) -> list[TrainingPair]:
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = parse_json(line)
            question, answers, expression = row["question"], row.get("answers"), row.get("expression")
            if not isinstance(question, str) or not question.strip():
                raise ValueError
            is_list = isinstance(answers, list) and answers and expression is None
            if not is_list and not (isinstance(expression, str) and answers is None):
                raise ValueError
        except (ValueError, TypeError, KeyError, AttributeError):
            raise BadInputError(f"Invalid pair in {path}, line {number}", _EXAMPLE) from None
        if expression is not None:
            answers = _answers(stores, expression, f"{path}, line {number}")
        found.append(TrainingPair(question, frozenset(map(str, answers))))
    return found


def _answers(stores: Stores, expression: str, where: str) -> set[str]:
    try:
        found = answer_texts(stores, expression_answers(stores, expression))
    except KbError as error:
        raise BadInputError(f"Invalid expression in {where}: {error.message}", *error.hints) from None
    if not found:
        raise BadInputError(f"The expression in {where} has no answers", "Use examples that have answers")
    return found


def _of_rows(path: Path, text: str) -> list[TrainingPair]:
    rows = csv.DictReader(io.StringIO(text, newline=""))
    answers: dict[str, set[str]] = {}
    if not {"question", "answer"} <= {*(rows.fieldnames or ())}:
        raise BadInputError(f"{path} has no columns question and answer", "Write a row for each answer")
    try:
        for row in rows:
            if not (row["question"] or "").strip() or not row["answer"]:
                raise BadInputError(f"Invalid pair in {path}, line {rows.line_num}", "Write a question and an answer")
            answers.setdefault(row["question"], set()).add(row["answer"])
    except csv.Error as error:
        raise BadInputError(f"Invalid CSV in {path}, line {rows.line_num}: {error}") from None
    return [TrainingPair(question, frozenset(found)) for question, found in answers.items()]
