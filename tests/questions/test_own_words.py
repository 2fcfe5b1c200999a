"""Questions in the words of people who have not seen the names of the columns, about steamboats and their builders.

Golds are SQL over a fleet that the test writes. The refused questions ask for what the fleet does not record.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kbkit.kb import KnowledgeBase
from tests.questions.golds import check_gold, check_refused

NAME, SCRIPT = (
    "fleet",
    """
CREATE TABLE builder (id INTEGER PRIMARY KEY, full_name TEXT, school TEXT, birth_year INTEGER, death_year INTEGER);
INSERT INTO builder VALUES (1, 'Ada Lund', 'Functionalism', 1810, 1880), (2, 'Ben Moss', 'Brutalism', 1930, NULL),
  (3, 'Cal Ness', 'Functionalism', 1925, 1999);
CREATE TABLE steamboat (id INTEGER PRIMARY KEY, name TEXT, builder_id INTEGER REFERENCES builder(id),
  first_launched INTEGER, refitted_year INTEGER, hull_length_m REAL, hull_shape TEXT, est_value INTEGER, active TEXT,
  open_to_public TEXT, range_nmi REAL, annual_visitors INTEGER);
INSERT INTO steamboat VALUES (11, 'Heron', 1, 1799, 1950, 31, 'round', 900, 'N', 'Y', 40, 300),
  (12, 'Otter', 1, 1850, NULL, 22, 'flat', 400, 'Y', 'N', 90, 20), (13, 'Stoat', 2, 1955, 1960, 40, 'flat', 700, 'Y',
  'Y', 60, 80), (14, 'Teal', 3, 1960, 1999, 18, 'round', 100, 'N', 'N', 15, 5);
""",
)
READ = {
    # nouns that end the name of the table, or begin the names of several columns
    "Which boats were launched before 1900?": "VALUES ('Heron'), ('Otter')",
    "List all boats by Ada Lund": "VALUES ('Heron'), ('Otter')",
    "Name the two longest hulls": "VALUES ('Heron'), ('Stoat')",
    "What is the shape of Heron's hull?": "SELECT 'round'",
    # the years of a boat, of which each has the first
    "What is the oldest boat?": "SELECT 'Heron'",
    "In which year was Otter first launched and how long is it?": "SELECT 1850, 22",
    "Which boats were launched for the first time in the 18th century?": "SELECT 'Heron'",
    # what says yes or no, or is missing
    "Which builders are still alive?": "SELECT 'Ben Moss'",
    "Show the boats that are no longer in use": "VALUES ('Heron'), ('Teal')",
    "What is the oldest boat still in use?": "SELECT 'Otter'",
    "Which boats are closed to the public?": "VALUES ('Otter'), ('Teal')",
    # values and numbers under other words
    "How many boats are worth over 500?": "SELECT 2",
    "What is the fleet worth altogether?": "SELECT 2100",
    "Which boats have a range of more than 50 nautical miles?": "VALUES ('Otter'), ('Stoat')",
    "How many people a year visit Heron?": "SELECT 300",
    "How many people a year visit the boats in total?": "SELECT 405",
    "Which boats have more than 50 visitors a year?": "VALUES ('Heron'), ('Stoat')",
    "List the functionalists": "VALUES ('Ada Lund'), ('Cal Ness')",
    "What is the hull length of each boat?": "SELECT name, hull_length_m FROM steamboat",
    "Who made Stoat?": "SELECT 'Ben Moss'",
    "Who is Teal by?": "SELECT 'Cal Ness'",
    "What is the average value of the boats of each builder with at least two boats?": "SELECT 'Ada Lund', 650",
}
REFUSED = {
    "Who insured Stoat?": "",
    "Which boats were painted in the 19th century?": "",
    "Which boats are free to visit?": "",
}


@pytest.mark.parametrize("question", READ)
def test_golds(kb: KnowledgeBase, database: Path, question: str) -> None:
    check_gold(kb, database, question, READ[question])


@pytest.mark.parametrize("question", REFUSED)
def test_what_is_not_recorded_is_refused(kb: KnowledgeBase, question: str) -> None:
    check_refused(kb, question, REFUSED[question])
