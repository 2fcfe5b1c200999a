"""Teach a KB the words of its questions: add synonyms, learn from examples, forget both."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kbkit.directory import systems
from kbkit.directory.files import parse_json
from kbkit.errors import BadInputError, KbError, UnknownNameError, reason
from kbkit.questions.learn import TrainingPair, learn
from kbkit.questions.reader import QuestionReader
from kbkit.questions.taught import FILE, Learned, Taught, write
from kbkit.stores import Stores


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
    write(stores.workspace.folder, Taught.of(stores).with_synonym(found, word.strip().lower()))
    QuestionReader.renew(stores)
    return found


def forget(stores: Stores) -> None:
    """Delete all synonyms and learned weights of a KB."""
    systems.remove_tree(stores.workspace.folder / FILE)
    QuestionReader.renew(stores)


def learn_from(stores: Stores, path: Path, progress: Callable[[int, int], None] | None = None) -> tuple[Learned, bool]:
    """Learn from a file of JSON lines with ``question`` and ``answers``; see :func:`kbkit.questions.learn.learn`."""
    return learn(stores, read_pairs(path), progress)


def read_pairs(path: Path) -> list[TrainingPair]:
    """Return the pairs of a file of JSON lines; raise :class:`BadInputError` with the line of a mistake."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise KbError(f"Cannot read {path}: {reason(error)}") from None
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = parse_json(line)
            question, answers = row["question"], row["answers"]
            if not isinstance(question, str) or not question.strip() or not isinstance(answers, list) or not answers:
                raise ValueError
        except (ValueError, TypeError, KeyError):
            raise BadInputError(
                f"Invalid pair in {path}, line {number}",
                'Write {"question": "Who directed Heat?", "answers": ["Michael Mann"]}',
            ) from None
        found.append(TrainingPair(question, frozenset(map(str, answers))))
    return found
