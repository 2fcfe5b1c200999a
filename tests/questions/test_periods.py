"""Questions by year and month, and about the days between two dates; and near misses, which are refused.

Golds are SQL over a lending library of tools that the test writes.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kbkit.kb import KnowledgeBase
from tests.questions.golds import check_gold, check_refused

NAME, SCRIPT = (
    "toolshed",
    """
CREATE TABLE member (member_id INTEGER PRIMARY KEY, name TEXT, joined_on DATE, town TEXT);
INSERT INTO member VALUES (81, 'Ines Falk', '2020-02-01', 'Aldby'), (82, 'Jon Sund', '2020-09-09', 'Varne'),
  (83, 'Ottilie Brand', '2021-04-30', 'Aldby');
CREATE TABLE tool (tool_id INTEGER PRIMARY KEY, title TEXT, made_on DATE, bought_on DATE, price REAL);
INSERT INTO tool VALUES (501, 'Band saw', '2018-03-01', '2019-05-11', 410.0),
  (502, 'Router', '2019-04-02', '2019-08-01', 95.5),
  (503, 'Lathe', '2018-11-20', '2021-01-15', 1200.0), (504, 'Jointer', NULL, '2021-02-02', 640.0);
CREATE TABLE loan (loan_id INTEGER PRIMARY KEY, member_id INTEGER REFERENCES member(member_id),
  tool_id INTEGER REFERENCES tool(tool_id), lent_on DATE, returned_on DATE, fee REAL);
INSERT INTO loan VALUES
  (9001, 81, 501, '2022-03-01', '2022-03-06', 5.5), (9002, 81, 502, '2022-03-14', '2022-04-02', 3),
  (9003, 82, 501, '2022-11-30', '2023-01-05', 5.5), (9004, 83, 503, '2023-01-07', '2023-01-09', 12),
  (9005, 83, 502, '2023-01-20', NULL, 3), (9006, 81, 503, '2023-06-02', '2023-06-03', 12);
CREATE TABLE visit (visit_id INTEGER PRIMARY KEY, member_id INTEGER REFERENCES member(member_id), seen_on DATE,
  minutes INTEGER);
INSERT INTO visit VALUES (31, 81, '2022-03-01', 20), (32, 82, '2022-03-02', 35), (33, 83, '2023-01-07', 10),
  (34, 81, '2023-02-07', 55);
CREATE TABLE alarm (alarm_id INTEGER PRIMARY KEY, place TEXT, rung_at TIMESTAMP, cleared_at TIMESTAMP);
INSERT INTO alarm VALUES (1, 'North door', '2023-05-01 10:00:00', '2023-05-01 10:45:00'),
  (2, 'Cellar', '2023-06-01 23:00:00', '2023-06-02 01:00:00');
CREATE TABLE score (score_id INTEGER PRIMARY KEY, year INTEGER, month TEXT, points INTEGER, noted DATE);
INSERT INTO score VALUES (1, 1999, 'May', 3, '2000-01-01'), (2, 1999, 'June', 5, '2001-01-01'),
  (3, 2004, 'May', 8, '2004-01-01');
""",
)

_VISITS = "SELECT CAST(strftime('%Y', seen_on) AS INTEGER), count(*) FROM visit GROUP BY 1"
_MONTHS = "SELECT strftime('%Y-%m', seen_on), {} FROM visit GROUP BY 1"
_KEPT = "julianday(returned_on) - julianday(lent_on)"
READ = {
    # the only date of what is counted or summed
    "number of visits per year": _VISITS,
    "How many visits were there in each year?": _VISITS,
    "visits by year": _VISITS,
    "Show the number of visits by year.": _VISITS,
    "visits per month": _MONTHS.format("count(*)"),
    "total minutes of visits by month": _MONTHS.format("sum(minutes)"),
    "average minutes per month": _MONTHS.format("avg(minutes)"),
    "number of members per year": "SELECT CAST(strftime('%Y', joined_on) AS INTEGER), count(*) FROM member GROUP BY 1",
    "number of visits of Ines Falk per year": "VALUES (2022, 1), (2023, 1)",
    "number of visits per member and year": "SELECT name, CAST(strftime('%Y', seen_on) AS INTEGER), count(*) FROM visit"
    " JOIN member USING (member_id) GROUP BY 1, 2",
    "number of loans per year": "VALUES (2022, 3), (2023, 3)",
    "number of alarms per year": "SELECT 2023, 2",
    # the date that the question names
    "number of tools by year bought": "VALUES (2019, 2), (2021, 2)",
    "number of loans per month lent": "SELECT strftime('%Y-%m', lent_on), count(*) FROM loan GROUP BY 1",
    "How many members joined per year?": "VALUES (2020, 2), (2021, 1)",
    "How many loans were returned each year?": "VALUES (2022, 2), (2023, 3)",
    "total fee of loans returned by month": "SELECT strftime('%Y-%m', returned_on), sum(fee) FROM loan"
    " WHERE returned_on IS NOT NULL GROUP BY 1",
    "most expensive tool bought in each year": "VALUES (2019, 'Band saw'), (2021, 'Lathe')",
    # the best of all periods
    "Which month had the most visits?": "SELECT '2022-03', 2",
    "Which year had the most visits longer than 15 minutes?": "SELECT 2022, 2",
    "Which year had the most visits by Ines Falk?": "VALUES (2022, 1), (2023, 1)",
    # attributes that are called so
    "number of scores per year": "VALUES (1999, 2), (2004, 1)",
    "total points by month": "VALUES ('May', 11), ('June', 5)",
    # days
    "What is the average number of days between lent and returned?": f"SELECT avg({_KEPT}) FROM loan",
    "average days between lent on and returned on per member": f"SELECT name, avg({_KEPT}) FROM loan"
    " JOIN member USING (member_id) GROUP BY 1",
    "maximum days between returned and lent": f"SELECT max({_KEPT}) FROM loan",
    "How many days are there between made and bought of the Lathe?": "SELECT 'Lathe', 787",
    "average time to return a loan": f"SELECT avg({_KEPT}) FROM loan",
    "What is the average time it takes to return a loan?": f"SELECT avg({_KEPT}) FROM loan",
    "average days to return loans of Ines Falk": f"SELECT avg({_KEPT}) FROM loan WHERE member_id = 81",
}
REFUSED = {
    "number of tools per month": "",
    "How many members borrowed per month?": "",
    "How many members with loans per year": "",
    "number of visits per week": "",
    "visits by day and hour": "",
    "total price by year sold": "",
    "average days between lent and bought": "",
    "number of days between lent and lent": "",
    "average time to lend a loan": "",
    "average time to clear an alarm": "",
    "average time between rung and cleared": "a time in hours",
    "average time to repair a tool": "",
    "average time": "",
    "Which tools were bought each year?": "'year'",
    "Which month had the most members?": "",
    "how many days between visits": "",
}


@pytest.mark.parametrize("question", READ)
def test_golds(kb: KnowledgeBase, database: Path, question: str) -> None:
    check_gold(kb, database, question, READ[question])


@pytest.mark.parametrize("question", REFUSED)
def test_near_misses_are_not_answered(kb: KnowledgeBase, question: str) -> None:
    check_refused(kb, question, REFUSED[question])
