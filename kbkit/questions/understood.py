"""What was understood of a question, word by word, and readings in words, for people."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from kbkit.answers.wording import noun_phrase
from kbkit.english.headings import attribute_heading, relation_words
from kbkit.questions.reading_words import ReadingWords

if TYPE_CHECKING:
    from kbkit.answers.answer_set import AnswerSet
    from kbkit.questions.clause_reading import WordMatch
    from kbkit.stores import Stores

_CERTAINTY = ((0.9, "almost certainly right"), (0.75, "probably right"), (0.5, "more likely right than wrong"))


class UnderstoodWords(NamedTuple):
    """Words of a question and their meaning: a ``kind`` (node, type, relation, attribute; "" for none) and its name."""

    words: str
    kind: str
    meaning: str


class ReadingInWords(NamedTuple):
    """A reading: its answer expression, what it gives in words, and the number of nodes that it gives or uses."""

    expression: str
    phrase: str
    answers: int

    @property
    def text(self) -> str:
        """The words, or else the expression."""
        return self.phrase or self.expression


def certainty(confidence: float) -> str:
    """Return a confidence (0 to 1) in words."""
    return next((words for least, words in _CERTAINTY if confidence >= least), "uncertain")


def understood(stores: Stores, question: str, matches: Iterable[WordMatch]) -> list[UnderstoodWords]:
    """Return what the words of a question were matched to, in the order of the question."""
    text = question.casefold()
    known = [UnderstoodWords(one.words, *_meaning(stores, one.meaning)) for one in matches]
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
    """Return the answers of a reading as a noun phrase; "" for an expression that no reading has."""
    found = noun_phrase(answers.plan, stores.schema) if answers.plan.total is None else None
    return found.text(is_plural=True) if found is not None else ReadingWords(stores.schema).text(answers.tree)
