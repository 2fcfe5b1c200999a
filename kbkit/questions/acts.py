"""The relations between nodes of one type that words of a question say: *cite*, *supervised*, *depends*."""

from __future__ import annotations

from dataclasses import dataclass

from kbkit.english.words import lemmas_of
from kbkit.questions.directions import ACTIVE, agent_of
from kbkit.questions.elements import Elements
from kbkit.questions.lexicon import LITERAL
from kbkit.questions.question import Question
from kbkit.questions.question_link import QuestionLink


@dataclass(frozen=True)
class Act:
    """A relation between nodes of one type: ``done`` is the hop from those who act, ``by`` the one to them."""

    kind: int
    done: int
    by: int
    are_people: bool


def acts(elements: Elements, question: Question, links: list[QuestionLink]) -> dict[str, Act]:
    """Return the relations of one type that words of a question say which no link explains, by the word."""
    linked = {at for link in links for at in range(link.first, link.last)}
    words = {token.word for at, token in enumerate(question.tokens) if at not in linked} if elements.typed else ()
    said = {word: _said(elements, word) for word in words}
    return {word: act for word, act in said.items() if act is not None}


def _said(elements: Elements, word: str) -> Act | None:
    """Return the only relation that a word says, if it joins nodes of one type and says which of them acts."""
    similar = elements.labels.similarity(word)
    hops = [hop for hop in range(elements.hops) if similar[elements.label[hop]] >= LITERAL]
    best = max((similar[elements.label[hop]] for hop in hops), default=0.0)
    hops = [hop for hop in hops if similar[elements.label[hop]] == best]
    ends = {(elements.all[hop].name, *sorted((elements.all[hop].source, elements.all[hop].target))) for hop in hops}
    if len(ends) != 1 or "VERB" not in lemmas_of(word):
        return None
    [(name, kind, other)] = ends
    if kind != other or name in elements.mutual or not (agent := agent_of(name)):
        return None
    [forward] = [hop for hop in hops if elements.all[hop].forward]
    back = int(elements.inverse[forward])
    done, by = (forward, back) if agent == ACTIVE else (back, forward)
    return Act(kind, done, by, kind in elements.people)
