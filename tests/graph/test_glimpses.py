"""What a list says of nodes: facts that a query mentions come first, and none that the text beside it has."""

from __future__ import annotations

import pytest

from kbkit.graph.glimpses import facts
from kbkit.kb import KnowledgeBase


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("Which countries border Nepal?", "has a land border with (6): Nepal, "),
        ("countries where Hindi is spoken", "has the official or national language: "),
        ("big country by area", "area (km²) 3,287,263"),
        ("members of the Commonwealth of Nations", "is a member of (10): Commonwealth of Nations, "),
        ("what they pay with: Indian rupees", "uses: Indian rupee"),
        ("of the in", "official name Republic of India; has a land border"),
        ("", "official name Republic of India; has a land border"),
    ],
)
def test_what_the_query_mentions_comes_first(world: KnowledgeBase, query: str, first: str) -> None:
    india = world.find("India")
    assert facts(world.stores, {india: ""}, query)[india].startswith(first)


def test_a_fact_that_the_text_has_is_left_out(world: KnowledgeBase) -> None:
    nepal = world.find("country#NPL")
    whole = facts(world.stores, {nepal: ""})[nepal]
    assert "has a land border with: China, India" in whole
    beside = facts(world.stores, {nepal: "A country between India and China, with Kathmandu as its capital."})[nepal]
    assert "China" not in beside
    assert "has the capital: Kathmandu" in beside  # one name may be there by chance
    asked = facts(world.stores, {nepal: "A country between India and China."}, "neighbours of China")[nepal]
    assert asked.startswith("has a land border with: China, India")
