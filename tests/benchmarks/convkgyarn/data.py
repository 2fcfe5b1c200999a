"""Small conversations about the sample KB in all eight configurations, for tests of what reads them."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

from kbkit.benchmarks.convkgyarn.conversations import (
    SETTINGS,
    ConvEntity,
    Conversation,
    Turn,
    TurnAnswer,
    write_conversations,
)
from kbkit.kb import KnowledgeBase

# predicate, kind, unit, words of the voice question (with a slot for the subject), words of the text question
PREDICATES = (
    ("capital", "entity", "", "What is the capital of {}?", "{} capital"),
    ("borders", "entity", "", "Which countries border {}?", "{} borders"),
    ("uses_currency", "entity", "", "What is the currency of {}?", "{} currency"),
    ("speaks", "entity", "", "Which languages does {} speak?", "{} languages"),
    ("area_km2", "number", "km2", "How large is {}?", "{} area"),
)
COUNTRIES = ("France", "Spain", "Brazil", "Kenya", "Germany", "Austria", "Chile", "Norway", "India", "Egypt")


def conversations(kb: KnowledgeBase, groups: int = 10, *, related: bool = True) -> Iterator[Conversation]:
    """Yield all configurations of each group; every second group has a related entity."""
    for number, name in enumerate(COUNTRIES[:groups]):
        other = COUNTRIES[(number + 1) % len(COUNTRIES)]
        entity = _entity(kb, name)
        about = _entity(kb, other) if related and number % 2 else None
        for setting in SETTINGS:
            interaction, deixis, disfluency, typo = setting
            noise = [mark for mark, on in (("d", deixis), ("f", disfluency), ("t", typo)) if on]
            turns = [_turn(kb, entity, "entity", position, setting) for position in range(len(PREDICATES))]
            if about is not None:
                turns += [_turn(kb, about, "related", position, setting) for position in (0, 2)]
            one = f"g{number}-{interaction}{''.join(noise)}"
            yield Conversation(one, f"g{number}", entity, about, interaction, deixis, disfluency, typo, turns)


def dataset(kb: KnowledgeBase, path: Path, groups: int = 10) -> Path:
    """Write the conversations to a file."""
    write_conversations(path, conversations(kb, groups))
    return path


def _entity(kb: KnowledgeBase, name: str) -> ConvEntity:
    node = kb.node(f"country:{name}")
    return ConvEntity(node.type, node.key, node.name, node.aliases)


def _turn(
    kb: KnowledgeBase, entity: ConvEntity, subject: str, position: int, setting: tuple[str, bool, bool, bool]
) -> Turn:
    predicate, kind, unit, voice, text = PREDICATES[position]
    interaction, deixis, disfluency, typo = setting
    follow = subject == "related" and position == 2 and deixis
    refers = deixis and (position > 0 if subject == "entity" else follow)
    question = (voice if interaction == "voice" else text).format("it" if refers else entity.name)
    if interaction == "text":
        question = question.lower()
    if disfluency:
        question = f"Um, {question[0].lower()}{question[1:-1]}, uh, thanks?"
    if typo:  # two neighbours swapped in the last word
        question = f"{question[:-2]}{question[-1]}{question[-2]}"
    return Turn(
        question,
        list(_answers(kb, entity.reference, predicate, kind)),
        kind,
        predicate,
        predicate,
        "t",
        "original",
        unit,
        subject=subject,
    )


@functools.cache  # all configurations ask for the same
def _answers(kb: KnowledgeBase, reference: str, predicate: str, kind: str) -> list[TurnAnswer]:
    if kind == "number":
        value = kb.node(reference).attributes[predicate]
        return [TurnAnswer(f"{value:,.0f} km²", value=str(value))]
    near = kb.neighbors(reference, predicate)
    near = near.filter(near["direction"] == "out").unique("id", maintain_order=True)
    nodes = [kb.node(node) for node in near["id"]]
    return [TurnAnswer(node.name, node.aliases, node.reference) for node in nodes]
