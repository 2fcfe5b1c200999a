"""Whom stories are about, and what texts say their subjects are known for."""

from __future__ import annotations

import pytest

from kbkit.english.leads import story_lead
from kbkit.english.reputations import reputations


@pytest.mark.parametrize(
    ("plot", "said"),
    [
        ("a young writer tries to impress a girl he meets online", "a writer"),
        ("An alcoholic lawyer who successfully defended a gambler is hired again.", "an alcoholic lawyer"),
        ("two escaped convicts chained together must learn to get along", "two escaped convicts"),
        ("the story of a high school coach and his team", "a high school coach"),
        ("when a police officer is suspended, his friends investigate", "a police officer"),
        ("a charming bailiffs assistant poses as a butler", ""),  # a possessive without its apostrophe
        ("a married mans one night stand comes back to haunt him", ""),
        ("an unseen enemy threatens mankind", ""),
        ("a romantic and action packed story of three friends", ""),
        ("a stranger comes to town", ""),  # says too little
        ("a haunted house is sold", ""),
        ("Jack, a retired boxer, owes money", ""),
        ("a boxer", ""),
    ],
)
def test_whom_a_story_is_about(plot: str, said: str) -> None:
    lead = story_lead(plot)
    assert (lead.said if lead else "") == said
    if lead:
        assert plot[lead.start : lead.end] in lead.said


@pytest.mark.parametrize(
    ("text", "things"),
    [
        ("A core part of Yugoslavia, it is known for raspberries, plum brandy and brass bands.",
         ["raspberries", "plum brandy", "brass bands"]),
        ("A river famous for its vineyards and its tidal bore.", ["vineyards"]),
        ("It is known for tower houses, coffee from Mocha, the island of Socotra, and civil war since 2014.",
         ["tower houses", "coffee from Mocha", "the island of Socotra"]),
        ("It is known for marsupials and Aboriginal cultures, and exports iron ore and coal.",
         ["marsupials", "Aboriginal cultures"]),
        ("Its capital is noted for modernist buildings.", []),
        ("Peru is known for potatoes.", ["potatoes"]),
        ("A city known for having no traffic lights.", []),
        ("A bay once famous for pearls, and not known for crabs.", []),
        ("Known for its cuisine, wars against France and the United States.", []),
    ],
)  # fmt: skip
def test_what_a_text_says_its_subject_is_known_for(text: str, things: list[str]) -> None:
    assert [text[start:end] for start, end in reputations(text, ["Peru"])] == things
