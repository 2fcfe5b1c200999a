"""Doubts about a name with several meanings: *French* films, by a keyword of one film or by the language of many."""

from __future__ import annotations

from collections.abc import Sequence

from kbkit.answers.answer_set import AnswerSet
from kbkit.answers.syntax import Condition, Expression, Filter, Nodes, subtrees
from kbkit.english.attributes import words_of_name
from kbkit.english.types import type_noun
from kbkit.questions.elements import Elements
from kbkit.questions.lexicon import LITERAL, stem
from kbkit.questions.question import Question
from kbkit.questions.question_link import QuestionLink


def unclear_meaning(
    elements: Elements, question: Question, links: Sequence[QuestionLink], tree: Expression
) -> QuestionLink | None:
    """Return a name that is taken for the less common of its meanings though no word says which; None if none is.

    A meaning is as common as the number of nodes that are joined to the node, or have the value.
    """
    named = {at for link in links if link.is_value for at in range(link.first, link.last)}
    words = [question.tokens[at].word for at in question.content(named)]
    return next((link for link in links if link.is_value and _is_unclear(elements, words, link, tree)), None)


def meanings(elements: Elements, link: QuestionLink) -> list[str]:
    """Return what a name may be, in words: *keyword*, *color*."""
    kinds = dict.fromkeys(elements.type_number(node) for node in link.nodes)
    columns = dict.fromkeys(words_of_name(value.attribute).noun for value in link.values)
    return [*(type_noun(elements.types[kind].name) for kind in kinds), *columns]


def _is_unclear(elements: Elements, words: Sequence[str], link: QuestionLink, tree: Expression) -> bool:
    by_type: dict[int, list[int]] = {}
    for node in link.nodes:
        by_type.setdefault(elements.type_number(node), []).append(node)
    columns = {(value.type, value.attribute): value.value for value in link.values if value.type not in by_type}
    if not by_type or len(by_type) + len(columns) < 2:
        return False
    parts, tested = list(subtrees(tree)), {attribute for _, attribute in columns}
    selected = {part.type for part in parts if isinstance(part, Nodes) and part.selector is not None}
    used = [kind for kind in by_type if elements.types[kind].name in selected]
    if len(used) != 1 or any(isinstance(part, Condition) and part.attribute in tested for part in parts):
        return False
    if any(_says(elements, word, used[0]) for word in words):
        return False
    common = sum(map(elements.degree, by_type[used[0]]))
    others = (sum(map(elements.degree, nodes)) for kind, nodes in by_type.items() if kind != used[0])
    return any(count > common for count in others) or any(
        len(AnswerSet(elements.session, _with(elements, *column, value))) > common for column, value in columns.items()
    )


def _says(elements: Elements, word: str, kind: int) -> bool:
    """Return whether a word names a type or a relation of it, and no other type: *films* says no *film keyword*."""
    if called := elements.types_called(stem(word)):
        return kind in called
    labels = [elements.all[hop].label for hop in elements.from_type(kind).tolist()]
    said = max(elements.labels.similarity(word)[labels].max(initial=0.0), elements.type_labels.similarity(word)[kind])
    return bool(said >= LITERAL)


def _with(elements: Elements, kind: int, attribute: str, value: str) -> Filter:
    return Filter(Nodes(elements.types[kind].name), (Condition(attribute, "=", (value,)),))
