"""What was understood of a question, word by word, and readings in words, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kbkit.answers.wording import noun_phrase
from kbkit.english.headings import attribute_heading, relation_words

if TYPE_CHECKING:
    from kbkit.answers.answer_set import AnswerSet
    from kbkit.questions.ask import AskResult
    from kbkit.stores import Stores

_CERTAINTY = ((0.9, "almost certainly right"), (0.75, "probably right"), (0.5, "more likely right than wrong"))


class UnderstoodWords(NamedTuple):
    """Words of a question and their meaning: a ``kind`` (node, type, relation, attribute; "" for none) and its name."""

    words: str
    kind: str
    meaning: str


class ReadingInWords(NamedTuple):
    """A reading: its answer expression, the answers in words ("" if no phrase reads well), and their number."""

    expression: str
    phrase: str
    answers: int


def certainty(confidence: float) -> str:
    """Return a confidence (0 to 1) in words."""
    return next((words for least, words in _CERTAINTY if confidence >= least), "uncertain")


def understood(stores: Stores, result: AskResult) -> list[UnderstoodWords]:
    """Return what the words of a question were matched to, in the order of the question."""
    text = result.question.casefold()
    known = [UnderstoodWords(one.words, *_meaning(stores, one.meaning)) for one in result.matches]
    return sorted(dict.fromkeys(known), key=lambda one: text.find(one.words.casefold()) % (len(text) + 1))


def _meaning(stores: Stores, name: str) -> tuple[str, str]:
    schema = stores.schema
    kind, _, rest = name.partition("#")
    if rest and kind in {t.name for t in schema.node_types}:
        row = stores.nodes.row(stores.nodes.find(name))
        return kind, row.name or row.key
    if name in {t.name for t in schema.node_types}:
        return "type", name
    if name in {r.name for r in schema.relations}:
        return "relation", relation_words(schema.relation(name))
    _, _, attribute = name.rpartition(".")
    return ("attribute", attribute_heading(attribute)) if name else ("", "")


def in_words(answers: AnswerSet, stores: Stores) -> str:
    """Return the answers of a reading as a noun phrase; "" if none reads well."""
    found = noun_phrase(answers.plan, stores.schema) if answers.plan.total is None else None
    return found.text(is_plural=True) if found is not None else ""


def readings(stores: Stores, result: AskResult, limit: int) -> list[ReadingInWords]:
    """Return the best readings of a question in words, at most ``limit``; of several with the same words, the first."""
    found: dict[str, ReadingInWords] = {}
    for expression, answers in result.closest_sets(limit):
        one = ReadingInWords(expression, in_words(answers, stores), len(answers))
        found.setdefault(one.phrase or expression, one)
    return list(found.values())
