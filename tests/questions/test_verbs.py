"""What verbs say: who did something to whom, when it was done, and what a KB has nothing of.

The potters are made in the test; the answers beside each question are written by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import kbkit
from kbkit.kb import KnowledgeBase
from tests.questions.golds import answers

FILES = {
    "potters": "id,name,birth_year,living\np1,Ada Quill,1950,yes\np2,Ben Orme,1960,no\n"
    "p3,Cy Vance,1970,yes\np4,Di Sorel,1980,yes",
    "bowls": "id,name,height_cm,fired_year\nb1,Red Moon,10,1990\nb2,Blue Moon,20,1995\n"
    "b3,Grey Moon,30,2000\nb4,Low Tide,8,2000",
    "fairs": "id,name,city\nf1,Spring Fair,Arles\nf2,Harbour Fair,Bergen",
    "trained": "potter,student\np1,p2\np1,p3\np2,p4",
    "copy_of": "bowl,earlier_bowl\nb2,b1\nb3,b1\nb4,b2",
    "shaped": "potter,bowl\np1,b1\np1,b2\np2,b3\np3,b4",
    "glazed": "potter,bowl,year\np2,b1,1991\np3,b2,1996\np2,b3,2001\np4,b3,2002",
    "exhibited_at": "potter,fair,year,role\np1,f1,2005,seller\np2,f1,2006,judge\np3,f2,2005,seller\np4,f2,2006,judge",
}
READ: dict[str, object] = {
    # who does it to whom
    "Which potters trained Di Sorel?": {"Ben Orme"},
    "Which potters did Ada Quill train?": {"Ben Orme", "Cy Vance"},
    "Who trained Cy Vance?": {"Ada Quill"},
    "By whom was Cy Vance trained?": {"Ada Quill"},
    "potters trained by Ben Orme": {"Di Sorel"},
    "Which living potters were trained by Ada Quill?": {"Cy Vance"},
    "How many potters did Ada Quill train?": 2,
    "Did Ada Quill train Ben Orme?": True,
    "Did Ben Orme train Ada Quill?": False,
    "Which potter trained the most potters?": {"Ada Quill"},
    "potters that have not trained any potter": {"Cy Vance", "Di Sorel"},
    # a noun says what the head of a relation is of the tail
    "copies of Red Moon": {"Blue Moon", "Grey Moon"},
    "Red Moon's copies": {"Blue Moon", "Grey Moon"},
    "How many copies does Red Moon have?": 2,
    "What is Low Tide a copy of?": {"Blue Moon"},
    "Is Blue Moon a copy of Red Moon?": True,
    "Is Red Moon a copy of Blue Moon?": False,
    # plain verbs, and verbs that are similar to what the KB has
    "Who shaped Low Tide?": {"Cy Vance"},
    "Which bowls were made by Ada Quill?": None,  # shaped, or glazed?
    "Which potters have never exhibited?": None,
    "bowls that Ben Orme glazed": {"Red Moon", "Grey Moon"},
    "Is Ada Quill living?": True,
}
REFUSED = (
    # verbs that say something else
    "Who inherited Low Tide?",
    "Which bowls did Ada Quill insure?",
    "Who won the Spring Fair?",
    "Which potters were rejected by the Spring Fair?",
    "potters who never photographed a bowl",
    "the most photographed bowl",
    "bowls that glow",
    "Which potters who swim exhibited at the Spring Fair?",
    "Why was Cy Vance trained?",
    # one of two relations that no word says
    "Which potter has the most bowls?",
    "potters without bowls",
    "bowls by Cy Vance",
    # when something else happened
    "Which potters glazed Grey Moon in 1960?",
    "Which bowls did Ben Orme glaze in 2000?",
    "In what year was Red Moon shaped?",
    "Where was Ada Quill born?",
)


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder: Path = tmp_path_factory.mktemp("potters")
    for name, text in FILES.items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    with kbkit.ingest(folder, out=folder / "potters.kb", stores=["adjacency", "text"]) as made:
        yield made


def test_verbs_are_followed_in_their_direction(kb: KnowledgeBase) -> None:
    assert {question: answers(kb, question) for question in READ} == READ


@pytest.mark.parametrize("question", REFUSED)
def test_what_is_not_said_is_not_answered(kb: KnowledgeBase, question: str) -> None:
    result = kb.ask(question)
    assert not result.is_sure, result.expression
