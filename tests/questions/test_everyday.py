"""Questions as people type them about a boat club: states, dates, roles, units and rates that columns tell indirectly.

Golds are SQL over a club that the test writes. The refused questions name something that the club does not record.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kbkit.kb import KnowledgeBase
from tests.questions.golds import check_gold, check_refused

NAME, SCRIPT = (
    "club",
    """
CREATE TABLE member (member_no INTEGER PRIMARY KEY, name TEXT, joined DATE, birth_date DATE, active TEXT, town TEXT);
INSERT INTO member VALUES (1, 'Ann Bell', '1995-02-01', '1960-01-02', 'Y', 'Leeds'),
  (2, 'Bo Cruz', '2018-03-01', '1991-05-06', 'Y', 'York'), (3, 'Cy Dahl', '1992-05-01', '1955-07-08', 'N', 'Leeds'),
  (4, 'Di Eng', '2020-07-01', '2001-09-10', 'N', 'Hull');
CREATE TABLE boat (boat_id INTEGER PRIMARY KEY, name TEXT, class TEXT, license_expires DATE, length_m REAL,
  day_rate REAL, local_name TEXT);
INSERT INTO boat VALUES (11, 'Heron', 'Eight', '2022-05-01', 17.5, 80, 'Old Grey'), (12, 'Otter', 'Pair', '2025-06-01',
  7, 30, NULL), (13, 'Stoat', 'Pair', '2023-01-31', 6.5, 45, NULL), (14, 'Teal', 'Single', '2026-01-01', 8, 20, 'Duck');
CREATE TABLE trip (trip_no INTEGER PRIMARY KEY, boat_id INTEGER REFERENCES boat(boat_id), booked_on DATE,
  left_on DATE, back_on DATE, fare REAL, weather TEXT, requester TEXT);
INSERT INTO trip VALUES (501, 11, '2023-01-05', '2023-01-09', '2023-01-11', 80, 'fog', 'Mill School'),
  (502, 11, '2023-11-20', '2024-02-05', '2024-02-06', 60, 'clear', 'Mill School'),
  (503, 12, '2024-03-01', '2024-03-02', NULL, 30, 'clear', 'Ann Bell'),
  (504, 13, '2024-05-01', '2024-05-03', '2024-05-04', 45, 'rain', 'Town Hall');
CREATE TABLE crew (trip_no INTEGER REFERENCES trip(trip_no), member_no INTEGER REFERENCES member(member_no), seat TEXT);
INSERT INTO crew VALUES (501, 1, 'bow'), (501, 2, 'stroke'), (502, 2, 'bow'), (503, 1, 'bow'), (504, 3, 'bow');
CREATE TABLE inspection (id INTEGER PRIMARY KEY, boat_id INTEGER REFERENCES boat(boat_id), inspector TEXT,
  score INTEGER, finding TEXT);
INSERT INTO inspection VALUES (1, 11, 'Ray Fox', 7, 'rust'), (2, 12, 'Ray Fox', 9, 'none'), (3, 13, 'Sue Gray', 4,
  'rot'), (4, 13, 'Sue Gray', 6, 'rust');
""",
)
READ = {
    # of several dates the one that says when the trip was booked, and dates that words say
    "trips from 2023": "VALUES (501), (502)",
    "trips that left in 2024": "VALUES (502), (503), (504)",
    "how many trips were there between january and march 2024": "SELECT 1",
    "boats whose licence expired before 2024": "VALUES ('Heron'), ('Stoat')",
    "members who joined in the nineties": "VALUES ('Ann Bell'), ('Cy Dahl')",
    "which members were born after 1990": "VALUES ('Bo Cruz'), ('Di Eng')",
    "who is the oldest member and when were they born": "SELECT 'Cy Dahl', '1955-07-08'",
    # states, and what is there at all
    "members who are no longer active": "VALUES ('Cy Dahl'), ('Di Eng')",
    "boats that have a local name": "VALUES ('Heron'), ('Teal')",
    "which members have never been on a trip": "SELECT 'Di Eng'",
    # units, rates, prices
    "boats between 6 and 8 m": "VALUES ('Otter'), ('Stoat'), ('Teal')",
    "boats that cost less than 40 a day": "VALUES ('Otter'), ('Teal')",
    "is the Heron more expensive than the Teal": "SELECT 1",
    "what is our most expensive boat by day rate": "SELECT 'Heron'",
    # who did it, and how often something is
    "who requested trip 503": "SELECT 'Ann Bell'",
    "members who made only one trip": "SELECT 'Cy Dahl'",
    "top 1 boats by trips": "SELECT name FROM boat JOIN trip USING (boat_id) GROUP BY 1 ORDER BY count(*) DESC LIMIT 1",
    "members on both the Heron and the Otter": "SELECT 'Ann Bell'",
    # groups by what a column says, though a type is called similarly
    "average score per inspector": "SELECT inspector, avg(score) FROM inspection GROUP BY 1",
    "inspection count by finding": "SELECT finding, count(*) FROM inspection GROUP BY 1",
    "total fares by weather": "SELECT weather, sum(fare) FROM trip GROUP BY 1",
}
REFUSED = {
    "how old was Ann Bell when she joined": "",
    "which members have died": "'died'",
    "boats that cost more per passenger than the Teal": "",
    "what is the home ground of the Heron": "'ground'",
    "where do trips from the Heron go": "",
    "trips with more than 3 seasons": "",
}


@pytest.mark.parametrize("question", READ)
def test_golds(kb: KnowledgeBase, database: Path, question: str) -> None:
    check_gold(kb, database, question, READ[question])


@pytest.mark.parametrize("question", REFUSED)
def test_what_is_not_recorded_is_refused(kb: KnowledgeBase, question: str) -> None:
    check_refused(kb, question, REFUSED[question])
