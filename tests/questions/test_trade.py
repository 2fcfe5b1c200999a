"""Questions in the words of a trade about a bike shop: who has left, takings, bosses, events by their verbs, notes.

Golds are SQL over a shop that the test writes. The refused questions say something that a reading would lose.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kbkit.kb import KnowledgeBase
from tests.questions.golds import check_gold, check_refused

NAME, SCRIPT = (
    "bikes",
    """
CREATE TABLE staff (id INTEGER PRIMARY KEY, name TEXT, dob DATE, started_on DATE, left_on DATE,
  boss_id INTEGER REFERENCES staff(id));
INSERT INTO staff VALUES (1, 'Moira Kent', '1970-04-02', '2010-03-01', NULL, NULL),
  (2, 'Tom Udal', '1985-09-12', '2014-06-01', NULL, 1), (3, 'Priya Shah', '1992-01-30', '2018-02-01', '2021-08-31', 1),
  (4, 'Lew Ott', '1999-11-05', '2020-05-01', NULL, 2), (5, 'Bea Finn', '2001-07-19', '2022-04-01', NULL, 2);
CREATE TABLE bike (id INTEGER PRIMARY KEY, nickname TEXT, make TEXT, in_window INTEGER, price REAL);
INSERT INTO bike VALUES (1, 'Rusty', 'Raleigh', 1, 310), (2, 'Comet', 'Trek', 0, 820), (3, 'Duchess', 'Raleigh', 0,
  540),
  (4, 'Onyx', 'Trek', 1, 990), (5, 'Pip', 'Giant', 0, 120), (6, 'Storm', 'Trek', 0, 760);
CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT, town TEXT);
INSERT INTO customer VALUES (1, 'Ana Ruiz', 'Leeds'), (2, 'Ben Cole', 'York'), (3, 'Cy Dunn', 'Leeds');
CREATE TABLE hire (id INTEGER PRIMARY KEY, bike_id INTEGER REFERENCES bike(id),
  customer_id INTEGER REFERENCES customer(id), staff_id INTEGER REFERENCES staff(id), out_on DATE, back_on DATE);
INSERT INTO hire VALUES (1, 1, 1, 2, '2023-05-01', '2023-05-02'), (2, 2, 1, 4, '2023-05-03', NULL),
  (3, 2, 2, 5, '2023-04-01', '2023-04-09'), (4, 3, 3, 5, '2023-06-01', '2023-06-02'), (5, 6, 2, 4, '2023-06-05', NULL);
CREATE TABLE repair (id INTEGER PRIMARY KEY, bike_id INTEGER REFERENCES bike(id), staff_id INTEGER REFERENCES staff(id),
  job_type TEXT, hours REAL, done_on DATE, note TEXT);
INSERT INTO repair VALUES (21, 2, 2, 'wheel', 2, '2023-05-05', 'hit a pothole on the ring road'),
  (22, 2, 4, 'brakes', 1, '2023-06-09', 'worn through'), (23, 1, 2, 'brakes', 1.5, '2023-04-02', 'worn through'),
  (24, 6, 5, 'wheel', 3, '2023-07-01', 'pothole again, front wheel'),
  (25, 6, 5, 'gears', 1, '2023-07-03', 'snapped cable');
CREATE TABLE sale (id INTEGER PRIMARY KEY, item TEXT, qty INTEGER, unit_price REAL, sold_on DATE, refunded TEXT);
INSERT INTO sale VALUES (31, 'helmet', 2, 25, '2023-05-01', 'N'), (32, 'lock', 3, 12.5, '2023-05-20', 'N'),
  (33, 'helmet', 1, 30, '2023-06-02', 'Y'), (34, 'bell', 4, 6.5, '2024-06-20', 'N'),
  (35, 'lock', 1, 18, '2024-01-20', 'Y');
CREATE TABLE fee (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customer(id), season INTEGER, due REAL,
  paid_date DATE);
INSERT INTO fee VALUES (41, 1, 2023, 20, '2023-01-05'), (42, 1, 2024, 22, NULL), (43, 2, 2023, 20, NULL),
  (44, 2, 2024, 22, '2024-02-01'), (45, 3, 2024, 22, '2024-03-01');
""",
)
READ = {
    # who is there, and what is left out
    "who's still with us?": "SELECT name FROM staff WHERE left_on IS NULL",
    "how many staff have we got at the moment, leavers out": "SELECT 4",
    "which bikes are still out?": "VALUES ('Comet'), ('Storm')",
    "total takings, not counting refunds": "SELECT 113.5",
    # bosses and first names
    "who's Lew's boss?": "SELECT 'Tom Udal'",
    "who reports to Tom?": "VALUES ('Lew Ott'), ('Bea Finn')",
    "whose boss is Moira Kent": "VALUES ('Tom Udal'), ('Priya Shah')",
    "when was Bea born?": "SELECT '2001-07-19'",
    # takings are quantities times prices of one
    "takings from helmets": "SELECT 80.0",
    "how much did we make from locks?": "SELECT 55.5",
    "which item brings in the most money?": "SELECT 'helmet', 80.0",
    # events by their verbs
    "who repaired Comet?": "VALUES ('Tom Udal'), ('Lew Ott')",
    "who hired Comet?": "VALUES ('Ana Ruiz'), ('Ben Cole')",
    "how many times has Comet been hired?": "SELECT 2",
    "when was Comet last repaired": "SELECT '2023-06-09'",
    # notes, ranks, years of a column that is called otherwise
    "which repairs were because of a pothole?": "VALUES (21), (24)",
    "second most expensive bike?": "SELECT 'Comet'",
    "unpaid 2024 fees": "SELECT 42",
}
REFUSED = {
    "is Trek the most common make?": "",
    "which bikes were sold because of a fair?": "",
    "did we hire out more in May than in June?": "",
}


@pytest.mark.parametrize(("question", "sql"), READ.items())
def test_words_of_a_trade_are_read(kb: KnowledgeBase, database: Path, question: str, sql: str) -> None:
    check_gold(kb, database, question, sql)


@pytest.mark.parametrize("question", REFUSED)
def test_what_a_reading_would_lose_is_refused(kb: KnowledgeBase, question: str) -> None:
    check_refused(kb, question, REFUSED[question])
