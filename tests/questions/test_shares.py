"""Questions for percentages and shares: *what percentage of members are women*."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kbkit.kb import KnowledgeBase
from kbkit.questions.reply import reply
from kbkit.questions.share_words import asked_shares, share_parts
from tests.console import good
from tests.questions.golds import check_gold, check_refused

NAME, SCRIPT = (
    "club",
    """
CREATE TABLE town (town_id INTEGER PRIMARY KEY, name TEXT, coastal BOOLEAN);
INSERT INTO town VALUES (1, 'Kirby', 1), (2, 'Holt', 0);
CREATE TABLE member (member_id INTEGER PRIMARY KEY, name TEXT, gender TEXT, age INTEGER, town_id INTEGER,
  shoe_size INTEGER, FOREIGN KEY (town_id) REFERENCES town(town_id));
INSERT INTO member VALUES (1, 'Ann Ash', 'female', 61, 1, 38), (2, 'Bob Bay', 'male', 35, 1, 43),
  (3, 'Cat Cole', 'female', 22, 2, NULL), (4, 'Dan Dee', 'male', 70, 2, 44), (5, 'Eve Elm', 'female', 48, 2, 39);
CREATE TABLE parcel (parcel_id INTEGER PRIMARY KEY, weight_kg REAL, promised DATE, delivered DATE, fragile BOOLEAN,
  member_id INTEGER, FOREIGN KEY (member_id) REFERENCES member(member_id));
INSERT INTO parcel VALUES (10, 1.5, '2024-01-04', '2024-01-06', 1, 1), (11, 4, '2024-01-05', '2024-01-05', 0, 1),
  (12, 2.5, '2024-02-01', '2024-02-03', 0, 2), (13, 8, '2024-02-09', '2024-02-08', 1, 4);
""",
)
WOMEN = "SELECT {}avg(gender = 'female') FROM member"
READ = {
    "What percentage of members are female?": WOMEN.format("100.0 * "),
    "percentage of female members": WOMEN.format("100.0 * "),
    "What % of the members are women?": WOMEN.format("100.0 * "),
    "what share of members are women": WOMEN.format(""),
    "What proportion of our members is female?": WOMEN.format(""),
    "proportion of women among members": WOMEN.format(""),
    "What fraction of members are older than 40?": "SELECT avg(age > 40) FROM member",
    "percent of members who live in Holt": "SELECT 60",
    "What percentage of members in Holt are older than 45?": "SELECT 100.0 * 2 / 3",
    "What percentage of parcels were delivered after the promised date?": "SELECT 50",
    "percentage of fragile parcels": "SELECT 50",
    "What percentage of members have no parcels?": "SELECT 40",
    "share of members with more than one parcel": "SELECT 0.2",
    "percentage of women by town": "VALUES ('Kirby', 50), ('Holt', 200.0 / 3)",
    "percentage of female members per town": "VALUES ('Kirby', 50), ('Holt', 200.0 / 3)",
    "What percentage of members in each town are older than 60?": "VALUES ('Kirby', 50), ('Holt', 100.0 / 3)",
}
REFUSED = (
    "What percentage of members are blue?",
    "What percentage of Ann Ash are women?",
    "What proportion of members?",
    "What percentage of members have a shoe size over 40?",  # do those without a size count?
    "What percentage of members per moon are women?",
)


@pytest.mark.parametrize("question", READ)
def test_golds(kb: KnowledgeBase, database: Path, question: str) -> None:
    check_gold(kb, database, question, READ[question])


@pytest.mark.parametrize("question", REFUSED)
def test_near_misses_are_refused(kb: KnowledgeBase, question: str) -> None:
    check_refused(kb, question)


def test_the_command_shows_both_counts(kb: KnowledgeBase, here: Any) -> None:
    path = kb.directory.path
    assert good(here("ask", path, "What percentage of members are female?")).splitlines()[-1] == "60% (3 of 5 nodes)"
    assert good(here("ask", path, "What share of members are female?")).splitlines()[-1] == "0.6 (3 of 5 nodes)"
    csv = here("ask", path, "What percentage of members are female?", "-f", "csv")
    assert good(csv, None).splitlines() == ["percentage", "60.0"]
    told = reply(kb.ask("What percentage of members in Holt are older than 45?"))
    assert told.value_text == "66.67% (2 of 3 nodes)"
    assert told.phrase == (
        "percentage of members of the town Holt that are among members of the town Holt whose age is more than 45"
    )


def test_how_questions_are_split() -> None:
    [asked] = asked_shares("What percentage of the members are women?")
    assert (asked.in_percent, asked.rest, asked.group) == (True, "members are women", "")
    whole, parts = next(iter(share_parts(asked.rest)))
    assert whole == "members"
    assert parts[:3] == ("which members are women", "members that are women", "women members")
    grouped = next(iter(asked_shares("share of members per town that are women")))
    assert (grouped.rest, grouped.group) == ("members that are women", "per town")
    assert not list(asked_shares("Do Spain and Morocco share a border?"))
