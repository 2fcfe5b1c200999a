"""Conversations to compare with: ConvQuestions (Christmann et al., CIKM 2019), and how they are matched.

Its files are JSON lists of ``{"conv_id", "domain", "seed_entity" (a URL of Wikidata), "seed_entity_text", "questions":
[{"turn", "question", "answer" (URLs or literals, joined by ";"), "answer_text"}, ...]}``. The form of Hugging Face's
copy, with lists ``questions``, ``answers`` and ``answer_texts``, is read too, as JSON or JSON lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from kbkit.assets.arguments import check_range
from kbkit.benchmarks.convkgyarn.conversations import Conversation
from kbkit.errors import BadInputError, KbError, Option
from kbkit.measures.records import JsonRecord, items
from kbkit.stores.folding import words

_HINT = "Expected a file of ConvQuestions: seed_entity, seed_entity_text, domain, questions"
_WIKIDATA = re.compile(r"Q[1-9]\d*\b")


@dataclass(frozen=True)
class ReferenceConversation:
    """A conversation of another dataset: ``turns`` are questions with answers, ``key`` is the entity's id if known."""

    id: str
    domain: str
    key: str
    name: str
    turns: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Match:
    """A conversation and a reference about the same entity, or of the same type, cut to the same number of turns.

    ``swapped``: the reference is shown first.
    """

    ours: Conversation
    reference: ReferenceConversation
    swapped: bool

    @property
    def id(self) -> str:
        """The item of a judgement."""
        return f"{self.ours.id}|{self.reference.id}"


def read_references(path: Path) -> list[ReferenceConversation]:
    """Read a file of ConvQuestions. Raises :class:`BadInputError` with the record that does not fit."""
    references = [_reference(record, number) for number, record in enumerate(items(path), 1)]
    if not references:
        raise BadInputError(f"No conversations in {path}", _HINT)
    return references


def _reference(record: JsonRecord, number: int) -> ReferenceConversation:
    fields = record.fields
    name, questions = fields.get("seed_entity_text"), fields.get("questions")
    if not isinstance(name, str) or not isinstance(questions, list) or not questions:
        raise record.error("Missing seed_entity_text or questions", _HINT)
    texts = fields.get("answer_texts")
    if all(isinstance(question, str) for question in questions):
        answers = texts if isinstance(texts, list) and len(texts) == len(questions) else [""] * len(questions)
        turns = tuple((question, str(answer)) for question, answer in zip(questions, answers, strict=True))
    else:
        turns = tuple(_turn(question, record) for question in questions)
    key = _WIKIDATA.search(str(fields.get("seed_entity") or ""))
    own = str(fields.get("conv_id", number))
    return ReferenceConversation(own, str(fields.get("domain") or ""), key[0] if key else "", name, turns)


def _turn(question: Any, record: JsonRecord) -> tuple[str, str]:
    if not isinstance(question, dict) or not isinstance(question.get("question"), str):
        raise record.error("Invalid question", _HINT)
    return question["question"], str(question.get("answer_text") or question.get("answer") or "")


def match(
    conversations: Iterable[Conversation],
    references: Sequence[ReferenceConversation],
    seed: int,
    types: Mapping[str, str] | None = None,
    *,
    deixis: bool = True,
) -> list[Match]:
    """Pair references with conversations about the same entity, in random order.

    As in the paper, conversations are of voice, without disfluencies and related entities. Entities are equal if their
    Wikidata ids or, without them, their names are. ``types`` maps domains of the references to types of the dataset:
    references of a domain are paired with entities of this type only, and one that is left then with another
    conversation of the type. The longer conversation is cut to the turns of the other. Raises :class:`KbError` if
    nothing matches.
    """
    check_range("seed", seed, 0)
    usable = [
        conversation
        for conversation in conversations
        if (conversation.interaction, conversation.deixis, conversation.disfluency) == ("voice", deixis, False)
        and conversation.related is None
    ]
    drawn = np.random.default_rng(seed)
    pool = _Pool([usable[i] for i in drawn.permutation(len(usable)).tolist()])
    shuffled = [references[i] for i in drawn.permutation(len(references)).tolist()]
    wanted = [(types or {}).get(reference.domain) for reference in shuffled]
    paired = [pool.same_entity(reference, kind) for reference, kind in zip(shuffled, wanted, strict=True)]
    for position, kind in enumerate(wanted):  # only then, so that no conversation is missing for its own entity
        if paired[position] is None and kind is not None:
            paired[position] = pool.same_type(kind)
    matches = [
        _cut(ours, reference, bool(drawn.integers(2)))
        for ours, reference in zip(paired, shuffled, strict=True)
        if ours is not None
    ]
    if not matches:
        hint = ("Make conversations about their entities, or pair by type with ", Option("domain", "movies=movie"))
        raise KbError("No conversation is about an entity of the references", *hint)
    return matches


def _cut(ours: Conversation, reference: ReferenceConversation, swapped: bool) -> Match:
    length = min(len(ours.turns), len(reference.turns))
    return Match(replace(ours, turns=ours.turns[:length]), replace(reference, turns=reference.turns[:length]), swapped)


class _Pool:
    """Conversations that are not paired yet; a group is used once."""

    def __init__(self, conversations: Sequence[Conversation]) -> None:
        self._keys: dict[str, list[Conversation]] = {}
        self._names: dict[str, list[Conversation]] = {}
        self._types: dict[str, list[Conversation]] = {}
        self._taken: set[str] = set()
        for conversation in conversations:
            self._keys.setdefault(conversation.entity.key, []).append(conversation)
            self._types.setdefault(conversation.entity.type, []).append(conversation)
            for name in {words(text) for text in (conversation.entity.name, *conversation.entity.aliases)}:
                self._names.setdefault(name, []).append(conversation)

    def same_entity(self, reference: ReferenceConversation, kind: str | None) -> Conversation | None:
        """Take a conversation about the entity of a reference, of this type if one is given."""
        known = self._keys.get(reference.key, []) or self._names.get(words(reference.name), [])
        return self._take([conversation for conversation in known if kind in (None, conversation.entity.type)])

    def same_type(self, kind: str) -> Conversation | None:
        """Take a conversation about an entity of a type."""
        return self._take(self._types.get(kind, []))

    def _take(self, candidates: Sequence[Conversation]) -> Conversation | None:
        for conversation in candidates:
            if conversation.group not in self._taken:
                self._taken.add(conversation.group)
                return conversation
        return None
