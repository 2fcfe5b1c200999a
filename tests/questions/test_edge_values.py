"""Questions that ask for the attributes of edges, by the names at their ends: prices at a shop, roles in a play."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbkit.kb import KnowledgeBase
from tests.questions.golds import check_gold, check_refused

NAME, SCRIPT = (
    "town",
    """
CREATE TABLE actor (actor_id INTEGER PRIMARY KEY, name TEXT, height_cm INTEGER);
INSERT INTO actor VALUES (1, 'Ida Lund', 171), (2, 'Max Orr', 180), (3, 'Eve Stone', 165);
CREATE TABLE play (play_id INTEGER PRIMARY KEY, name TEXT, acts INTEGER);
INSERT INTO play VALUES (1, 'The Red Lantern', 3), (2, 'Winter Tide', 5), (3, 'Old Bridges', 2);
CREATE TABLE acted_in (actor_id INTEGER, play_id INTEGER, role TEXT, since INTEGER, fee REAL, understudy BOOLEAN,
  PRIMARY KEY (actor_id, play_id), FOREIGN KEY (actor_id) REFERENCES actor(actor_id),
  FOREIGN KEY (play_id) REFERENCES play(play_id));
INSERT INTO acted_in VALUES (1, 1, 'lamp keeper', 2001, 300, 0), (2, 1, 'sea captain', 2003, 250, 1),
  (1, 2, 'queen', 2010, 500, 0), (3, 2, 'lamp keeper', 2011, 120, 0), (3, 3, 'widow', 2015, 80, 1);
CREATE TABLE jar (jar_id INTEGER PRIMARY KEY, name TEXT, list_price REAL);
INSERT INTO jar VALUES (1, 'Plum Jam', 4.5), (2, 'Fig Jam', 6);
CREATE TABLE stall (stall_id INTEGER PRIMARY KEY, name TEXT, street TEXT);
INSERT INTO stall VALUES (1, 'Green Awning', 'Mill Lane'), (2, 'North Gate', 'High Street');
CREATE TABLE sells (stall_id INTEGER, jar_id INTEGER, stall_price REAL, PRIMARY KEY (stall_id, jar_id),
  FOREIGN KEY (stall_id) REFERENCES stall(stall_id), FOREIGN KEY (jar_id) REFERENCES jar(jar_id));
INSERT INTO sells VALUES (1, 1, 5.25), (1, 2, 7), (2, 1, 4.75);
""",
)
READ = {
    "What role did Ida Lund play in The Red Lantern?": "SELECT 'lamp keeper'",
    "What was Max Orr's role in The Red Lantern?": "SELECT 'sea captain'",
    "role of Eve Stone in Winter Tide": "SELECT 'lamp keeper'",
    "When did Ida Lund join Winter Tide?": "SELECT 2010",
    "Since what year has Eve Stone acted in Old Bridges?": "SELECT 2015",
    "How much was Ida Lund paid for Winter Tide?": "SELECT 500",
    "Ida Lund fee in The Red Lantern": "SELECT 300",
    "How much does Plum Jam cost at North Gate?": "SELECT 4.75",
    "What is the price of Fig Jam at Green Awning?": "SELECT 7",
    # a value of the edges and one name
    "Who was the lamp keeper in Winter Tide?": "SELECT 'Eve Stone'",
    "lamp keeper of The Red Lantern": "SELECT 'Ida Lund'",
    "In which play is Eve Stone the widow?": "SELECT 'Old Bridges'",
    "Was Max Orr the sea captain in The Red Lantern?": "SELECT 1",
    "Was Ida Lund an understudy in Winter Tide?": "SELECT 0",
    # a function of the edges of one node, of all, and of each
    "roles of Ida Lund": "VALUES ('lamp keeper'), ('queen')",
    "average fee in The Red Lantern": "SELECT 275",
    "highest fee of Ida Lund": "SELECT 500",
    "What is the highest fee that an actor got?": "SELECT 500",
    "average fee per play": "VALUES ('The Red Lantern', 275), ('Winter Tide', 310), ('Old Bridges', 80)",
    "actors in Winter Tide and their roles": "VALUES ('Ida Lund', 'queen'), ('Eve Stone', 'lamp keeper')",
}
REFUSED = (
    "How many understudy actors are in The Red Lantern?",  # not all actors
    "Who won The Red Lantern?",  # not who acted in it
    "What role did Max Orr play in Old Bridges?",  # none
    "What blue role did Ida Lund play in The Red Lantern?",
    "How much did Ida Lund not earn for Winter Tide?",
    "When was Ida Lund born in Winter Tide?",
    "Where was the lamp keeper in Winter Tide?",
    "In what year was Eve Stone lamp keeper?",
    "fees and heights of Ida Lund",
)


@pytest.mark.parametrize("question", READ)
def test_golds(kb: KnowledgeBase, database: Path, question: str) -> None:
    check_gold(kb, database, question, READ[question])


@pytest.mark.parametrize("question", REFUSED)
def test_near_misses_are_refused(kb: KnowledgeBase, question: str) -> None:
    check_refused(kb, question)


def test_what_was_understood(kb: KnowledgeBase) -> None:
    result = kb.ask("What role did Ida Lund play in The Red Lantern?")
    assert "acted_in.role" in {match.meaning for match in result.matches}
    proof = result.why("play#1")
    assert proof is not None
    assert proof.facts == ("Ida Lund: [acted_in] -> The Red Lantern: role = lamp keeper",)


@pytest.mark.parametrize(
    ("question", "country", "year"),
    [
        ("population of Japan in 2000", "Japan", "2000"),
        ("What was the population of Brazil in 2020?", "Brazil", "2020"),
        ("How many people lived in Brazil in 2000?", "Brazil", "2000"),
    ],
)
def test_amounts_of_a_year(world: KnowledgeBase, question: str, country: str, year: str) -> None:
    result = world.ask(question)
    gold = world.sql(
        "SELECT people FROM had_population h JOIN country c ON c.id = h.head JOIN year y ON y.id = h.tail"
        " WHERE c.name = $country AND y.name = $year",
        country=country,
        year=year,
    )
    assert result.is_sure
    assert result.value == gold["people"].to_list()


@pytest.mark.parametrize(
    "question",
    [
        "population of Japan in 1990",
        "Which countries had more than 100 million people in 2000?",
        "Which country had the largest population in 2000?",
        "total population of Brazil and Chile in 2020",
    ],
)
def test_amounts_of_now_are_not_those_of_a_year(world: KnowledgeBase, question: str) -> None:
    assert not world.ask(question).is_sure
