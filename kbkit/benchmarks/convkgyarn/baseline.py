"""A baseline without a model: each question is answered by ``kb.ask``, with the entity's name in place of pronouns.

It knows the entities that the conversation is about and the earlier questions, but no correct answers. A question is
completed in this order:

1. One that names an entity is asked unchanged.
2. One with no words of its own but the name (*And the Rhine?*) repeats the preceding question about this entity.
3. In one that refers to the entity (*its*, *he*, *that river*), the name takes the place of the reference.
4. To any other the name is added.

The name is that of the entity which a question named last; at first, that of the conversation's entity. On 60 groups
of the sample, 86 % of the deictic questions are answered like this, as many as of the original ones (85 %); 79 % if the
name is only added, and 5 % if they are asked unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kbkit.benchmarks.convkgyarn.conversations import ConvEntity, Conversation, TurnPrediction
from kbkit.benchmarks.recorded import kb_settings
from kbkit.errors import KbError
from kbkit.stores.folding import words

if TYPE_CHECKING:
    from kbkit.kb import KnowledgeBase
    from kbkit.questions.ask import AskResult

METHOD = "ask"
MAX_ANSWERS = 30
"""A reading with more answers is taken for a misreading: a longer list would match by chance."""
_POSSESSIVE = r"(?:his|its|their|hers|theirs)"
_PLAIN = r"(?:he|she|it|they|him|them)"
_DETERMINER = r"(?:this|that|the|these|those)"
_EMPTY = frozenset(
    ["and", "what", "about", "how", "or", "also", "of", "for", "a", "an", "the", "is", "was", "are", "were", "in", "on",
     "to", "with", "so", "ok", "okay", "then", "now", "it", "same"]
)  # fmt: skip
"""Words that do not make a question of their own."""


class ConvBaseline:
    """Answers the questions of conversations about a KB."""

    name = METHOD

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self.settings: Mapping[str, Any] = {"method": METHOD, **kb_settings(kb)}

    def answer(self, conversations: Sequence[Conversation]) -> list[list[TurnPrediction]]:
        """Return the predictions for the turns of each conversation."""
        return [self._turns(conversation) for conversation in conversations]

    def _turns(self, conversation: Conversation) -> list[TurnPrediction]:
        questions = [turn.question for turn in conversation.turns]
        entities = [entity for entity in (conversation.entity, conversation.related) if entity is not None]
        return [self._ask(text) for text in completed(questions, entities)]

    def _ask(self, question: str) -> TurnPrediction:
        try:
            result = self._kb.ask(question, 0)
            answers = _texts(result)
        except KbError:  # a question without words, or a reading that cannot be evaluated
            return TurnPrediction()
        return TurnPrediction(answers if len(answers) <= MAX_ANSWERS else [], reading=result.expression)


def _texts(result: AskResult) -> list[str]:
    if result.answers is None:
        return []
    value = result.value
    if value is None:
        return result.nodes()["name"].to_list() if len(result) <= MAX_ANSWERS else [""] * (MAX_ANSWERS + 1)
    values = value if isinstance(value, list) else [value]
    return [f"{one:g}" if isinstance(one, float) and abs(one) < 1e6 else str(one) for one in values]


def completed(questions: Sequence[str], entities: Sequence[ConvEntity]) -> list[str]:
    """Return the questions of a conversation about ``entities`` so that each can be understood alone."""
    focus = entities[0]
    rewritten: list[str] = []
    for question in questions:
        named = _named(question, entities)
        if named is not None:
            focus, name = named
            rest = [word for word in words(_without(question, name)).split() if word not in _EMPTY]
            if rest or not rewritten:
                rewritten.append(question)
            else:
                rewritten.append(_with_name(rewritten[-1], entities, focus))
        else:
            rewritten.append(_refer(question, focus))
    return rewritten


def _named(question: str, entities: Sequence[ConvEntity]) -> tuple[ConvEntity, str] | None:
    """Return the entity whose name a question contains, the longest name first, and this name."""
    text = f" {words(question)} "
    names = [(entity, name) for entity in entities for name in (entity.name, *entity.aliases) if len(words(name)) > 1]
    mentions = [(one, name) for one, name in names if f" {words(name)} " in text]
    return max(mentions, key=lambda pair: len(pair[1]), default=None)


def _pattern(name: str) -> re.Pattern[str]:
    """Return a pattern of a name in a text, whatever its case, and of a possessive ending."""
    inner = r"[\W_]+".join(re.escape(word) for word in re.findall(r"\w+", name))
    return re.compile(rf"(?<!\w){inner}(?!\w)", re.IGNORECASE)


def _without(question: str, name: str) -> str:
    return _pattern(name).sub(" ", question).replace("'s", " ").replace("’s", " ")


def _with_name(question: str, entities: Sequence[ConvEntity], focus: ConvEntity) -> str:
    """Return a question about another entity with the name of ``focus`` instead."""
    for one in sorted(entities, key=lambda entity: entity is focus):
        for name in (one.name, *one.aliases):
            if one is not focus and _pattern(name).search(question):
                return _pattern(name).sub(lambda _: focus.name, question, count=1)
    return question


def _refer(question: str, focus: ConvEntity) -> str:
    """Put the name of the entity in place of the first reference to it, or add it."""
    kind = r"[\W_]+".join(re.escape(word) for word in re.findall(r"\w+", focus.type))
    ends = r"(?=\W*$|[,.?!;])"  # "her" before these is not possessive
    patterns = (
        (rf"\b{_DETERMINER}\s+{kind}(?:'s|’s)", f"{focus.name}'s"),
        (rf"\b{_DETERMINER}\s+{kind}\b", focus.name),
        (rf"\b(?:{_POSSESSIVE}|her(?!{ends}))\b", f"{focus.name}'s"),
        (rf"\b(?:{_PLAIN}|her)\b", focus.name),
    )
    for pattern, name in patterns:
        match = re.search(pattern, question, re.IGNORECASE)
        if match:
            return question[: match.start()] + name + question[match.end() :]
    text = question.rstrip(" ?.!")
    return f"{text} {focus.name}{question[len(text) :].strip()}"
