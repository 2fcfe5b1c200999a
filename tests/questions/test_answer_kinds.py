"""Answers of the kind that is asked for: people, a date, a number; and words for measures that are called otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbkit.kb import KnowledgeBase
from tests.questions.golds import check_gold, check_refused

NAME, SCRIPT = (
    "library",
    """
CREATE TABLE reader (id INTEGER PRIMARY KEY, name TEXT, sex TEXT, date_of_birth DATE, joined_on DATE);
INSERT INTO reader VALUES (1, 'Ann Bell', 'F', '1980-05-01', '2020-01-07'),
  (2, 'Bob Cole', 'M', '1975-02-11', '2021-03-09'), (3, 'Cleo Dun', 'F', '1990-11-30', '2021-04-02'),
  (4, 'Dan Eck', 'M', '1966-08-21', '2019-10-12');
CREATE TABLE book (id INTEGER PRIMARY KEY, title TEXT, form TEXT, age_group TEXT, price_eur REAL, weight_g INTEGER);
INSERT INTO book VALUES (1, 'Blue Hour', 'novel', 'adults', 20, 400), (2, 'Grey Tide', 'novel', 'children', 12, 300),
  (3, 'Red Fern', 'poetry', 'adults', 9, 150), (4, 'White Ash', 'novel', 'teens', 13, 350);
CREATE TABLE copy_order (id INTEGER PRIMARY KEY, book_id INTEGER REFERENCES book(id), copies INTEGER);
INSERT INTO copy_order VALUES (1, 1, 5), (2, 1, 3), (3, 3, 2), (4, 4, 7);
CREATE TABLE loan (id INTEGER PRIMARY KEY, book_id INTEGER REFERENCES book(id),
  reader_id INTEGER REFERENCES reader(id), state TEXT, borrowed_on DATE, returned_on DATE);
INSERT INTO loan VALUES (1, 1, 1, 'torn', '2023-01-02', '2023-02-01'), (2, 2, 1, 'good', '2023-03-04', NULL),
  (3, 3, 2, 'torn', '2023-03-05', '2023-03-30'), (4, 1, 3, 'good', '2023-05-01', NULL);
""",
)

READ = {
    "Which books have not been returned yet?": "SELECT 'Blue Hour' UNION SELECT 'Grey Tide'",
    "How many copies were ordered of each book?": (
        "SELECT title, sum(copies) FROM copy_order JOIN book ON book.id = book_id GROUP BY title"
    ),
    "What does a novel cost on average?": "SELECT 15",
    "What is the average cost of the novels?": "SELECT 15",
    "What age category is Blue Hour?": "SELECT 'adults'",
    "novels in the library": "SELECT title FROM book WHERE form = 'novel'",
    "average weight in g of the novels": "SELECT 350",
    "number of men among the readers": "SELECT count(*) FROM reader WHERE sex = 'M'",
}
REFUSED = {
    "When did Ann Bell become a reader?": "which of several dates is meant",
    "Who has borrowed torn?": "'who'",
    "Which books are cheaper than Blue Hour and of the same age group?": "what is shared",
}


@pytest.mark.parametrize("question", READ)
def test_golds(kb: KnowledgeBase, database: Path, question: str) -> None:
    check_gold(kb, database, question, READ[question])


@pytest.mark.parametrize("question", REFUSED)
def test_an_answer_of_another_kind_is_none(kb: KnowledgeBase, question: str) -> None:
    check_refused(kb, question, REFUSED[question])
