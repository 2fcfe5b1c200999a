"""The relations between nodes of one type that words of a question say: *cite*, *supervised*, *the students of*."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kbkit.english.agents import BOSSES, done_to
from kbkit.english.words import lemmas_of, singular
from kbkit.questions.directions import ACTIVE, agent_of, is_agent_noun
from kbkit.questions.elements import Elements
from kbkit.questions.lexicon import FAINT, LITERAL
from kbkit.questions.question import Question
from kbkit.questions.question_link import QuestionLink


@dataclass(frozen=True)
class Act:
    """A relation between nodes of one type: ``done`` is the hop from those who act, ``by`` the one to them."""

    kind: int
    done: int
    by: int
    are_people: bool
    noun: int = 0
    """1 if the word is a noun for those who act, -1 if it is one for those beside them, 0 if it is a verb."""
    is_twice: bool = False
    """Whether the relation is followed twice, to *grandparents*."""


def acts(elements: Elements, question: Question, links: list[QuestionLink]) -> dict[str, Act]:
    """Return the relations of one type that words of a question say which no link explains, by the word."""
    linked = {at for link in links for at in range(link.first, link.last)}
    words = {token.word for at, token in enumerate(question.tokens) if at not in linked} if elements.typed else ()
    said = {word: _said(elements, word) or _said_by_noun(elements, word) for word in words}
    return {word: act for word, act in said.items() if act is not None}


def without_ends(elements: Elements, links: list[QuestionLink]) -> list[QuestionLink]:
    """Return the links without nouns for an end of a relation, only similar to a type: *students*, to tutors."""
    return [link for link in links if not (_is_faint(link) and _said_by_noun(elements, link.text.casefold()))]


def _is_faint(link: QuestionLink) -> bool:
    return bool(link.labels) and " " not in link.text and link.labels[0].score < FAINT and bool(link.types())


def _said(elements: Elements, word: str) -> Act | None:
    """Return the only relation that a verb says, if it joins nodes of one type and says which of them acts."""
    return _only(elements, word) if "VERB" in lemmas_of(word) and word not in BOSSES else None


def _said_by_noun(elements: Elements, word: str) -> Act | None:
    """Return the only relation that a noun for one of its ends says: *supervisors*, *students*."""
    one = singular(word.removeprefix("grand"))
    found = [(act, 1) for act in [_only(elements, one)] if act is not None and is_agent_noun(one)]
    found += [(act, -1) for verb in done_to(one) if (act := _only(elements, verb)) is not None]
    is_one = len({act for act, _ in found}) == 1
    return replace(found[0][0], noun=found[0][1], is_twice=word.startswith("grand")) if is_one else None


def _only(elements: Elements, word: str) -> Act | None:
    similar = elements.labels.similarity(word)
    hops = np.flatnonzero(similar[elements.label[: elements.hops]] >= LITERAL).tolist()
    best = max((similar[elements.label[hop]] for hop in hops), default=0.0)
    hops = [hop for hop in hops if similar[elements.label[hop]] == best]
    relations = {elements.all[hop].name for hop in hops}
    ends = {end for hop in hops for end in (elements.all[hop].source, elements.all[hop].target)}
    if len(relations) != 1 or len(ends) != 1 or (relations & elements.mutual) or not (agent := agent_of(*relations)):
        return None
    [forward], [kind] = [hop for hop in hops if elements.all[hop].forward], ends
    back = int(elements.inverse[forward])
    done, by = (forward, back) if agent == ACTIVE else (back, forward)
    return Act(kind, done, by, kind in elements.people)
