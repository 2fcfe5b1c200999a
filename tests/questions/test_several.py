"""Questions for several things at once, and questions of which a part would be dropped, which are refused.

Golds are SQL over a pottery that the test writes.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kbkit.kb import KnowledgeBase
from tests.questions.golds import check_gold, check_refused

NAME, SCRIPT = (
    "pottery",
    """
CREATE TABLE potter (potter_id INTEGER PRIMARY KEY, name TEXT, town TEXT, joined_year INTEGER);
INSERT INTO potter VALUES (81, 'Ines Falk', 'Aldby', 2019), (82, 'Jon Sund', 'Varne', 2020),
  (83, 'Ottilie Brand', 'Aldby', 2021), (84, 'Per Holt', 'Varne', 2021);
CREATE TABLE pot (pot_id INTEGER PRIMARY KEY, title TEXT, kind TEXT, glaze TEXT, weight REAL, fired BOOLEAN,
  potter_id INTEGER REFERENCES potter(potter_id));
INSERT INTO pot VALUES (501, 'Harbour', 'bowl', 'celadon', 1.5, 1, 81), (502, 'Meadow', 'bowl', 'ash', 2.5, 1, 81),
  (503, 'Tall Ann', 'jug', 'ash', 3.0, 0, 82), (504, 'Old Tom', 'jug', 'salt', 4.0, 1, 83),
  (505, 'Gull', 'bowl', 'salt', 2.0, 0, 81), (506, 'Moor', 'jug', 'tenmoku', 3.5, 0, 83);
CREATE TABLE sale (sale_id INTEGER PRIMARY KEY, pot_id INTEGER REFERENCES pot(pot_id), sold_on DATE, price REAL,
  channel TEXT);
INSERT INTO sale VALUES (9001, 501, '2022-03-01', 30, 'shop'), (9002, 502, '2023-03-14', 45, 'fair'),
  (9003, 503, '2023-03-30', 60, 'shop'), (9004, 504, '2023-06-07', 75, 'fair');
CREATE TABLE workshop (workshop_id INTEGER PRIMARY KEY, name TEXT);
INSERT INTO workshop VALUES (301, 'Aldby Studio'), (302, 'Kiln Yard'), (303, 'Old Mill');
CREATE TABLE works_at (potter_id INTEGER REFERENCES potter(potter_id),
  workshop_id INTEGER REFERENCES workshop(workshop_id), role TEXT, since_year INTEGER,
  PRIMARY KEY (potter_id, workshop_id));
INSERT INTO works_at VALUES (81, 301, 'thrower', 2015), (81, 302, 'glazer', 2018), (82, 302, 'thrower', 2017);
""",
)
_COUNTED = "SELECT name, count(*) FROM potter JOIN pot USING (potter_id) GROUP BY 1"
_OF_KIND = "SELECT kind, avg(weight) FROM pot GROUP BY 1"
READ = {
    # the value beside the name
    "Which is the heaviest bowl and how much does it weigh?": "SELECT 'Meadow', 2.5",
    "Which potter has the most pots, and how many?": f"{_COUNTED} ORDER BY 2 DESC LIMIT 1",
    "Which potters have at least two pots, and how many?": f"{_COUNTED} HAVING count(*) >= 2",
    "List everyone with at least two pots and how many they have": f"{_COUNTED} HAVING count(*) >= 2",
    "Which pots are not fired, and which potter are they by?": "SELECT title, name FROM pot"
    " JOIN potter USING (potter_id) WHERE NOT fired",
    "Which potters made bowls, and when did they join?": "SELECT 'Ines Falk', 2019",
    "Where has Ines Falk worked, and as what?": "VALUES ('Aldby Studio', 'thrower'), ('Kiln Yard', 'glazer')",
    "Where has Ines Falk worked and since when?": "VALUES ('Aldby Studio', 2015), ('Kiln Yard', 2018)",
    "Which pots are sold in which channel?": "SELECT title, channel FROM pot JOIN sale USING (pot_id)",
    "Which potters joined before 2021 and have more than one pot?": "SELECT 'Ines Falk'",
    # a total of each value
    "average weight of bowls and jugs": _OF_KIND,
    "What is the average weight of bowls compared to jugs?": _OF_KIND,
    "average weight of bowls vs jugs": _OF_KIND,
    "average weight of bowls or jugs": "SELECT avg(weight) FROM pot",
    "average weight of bowls and jugs together": "SELECT avg(weight) FROM pot",
    "How many bowls compared to jugs?": "SELECT kind, count(*) FROM pot GROUP BY 1",
    "average weight of pots of Ines Falk and Jon Sund": "SELECT name, avg(weight) FROM pot"
    " JOIN potter USING (potter_id) WHERE potter_id < 83 GROUP BY 1",
    "average weight of the pots of potters in Aldby and Varne": "SELECT town, avg(weight) FROM pot"
    " JOIN potter USING (potter_id) GROUP BY 1",
    "What is the average weight and the total weight of bowls and jugs?": "SELECT kind, avg(weight), sum(weight)"
    " FROM pot GROUP BY 1",
    # each month of a year
    "How many sales were there in each month of 2023?": "VALUES ('2023-03', 2), ('2023-06', 1)",
    "How many sales came in each year?": "VALUES (2022, 1), (2023, 3)",
    # values that none of the denied nodes has
    "Which glazes of pots have never been in a sale by fair?": "VALUES ('celadon'), ('tenmoku')",
    "Which glazes are never used for jugs?": "SELECT 'celadon'",
    "List the pots with their kind, weight and potter": "SELECT title, kind, weight, name FROM pot"
    " JOIN potter USING (potter_id)",
    "sale price by kind of pot": "SELECT kind, sum(price) FROM sale JOIN pot USING (pot_id) GROUP BY 1",
    # columns of the nodes and their neighbours
    "List the sales in 2023 with the channel, the price and the pot": "SELECT channel, price, title FROM sale"
    " JOIN pot USING (pot_id) WHERE sold_on >= '2023-01-01'",
}
REFUSED = {
    "Which potters are fired?": "",
    "Which pot is heavier, Harbour or Meadow, and by how much?": "",
    "What can I buy if the Harbour is sold?": "'if'",
    "How many sales were there in each week of 2023?": "",
    "What did the pots of Ines Falk come to?": "",
    "Which pots were sold because of a fair?": "",
    "Which potter has the most pots, and how much?": "'how much'",
    "Which potters joined in 2021 and why?": "'why'",
}


@pytest.mark.parametrize("question", READ)
def test_golds(kb: KnowledgeBase, database: Path, question: str) -> None:
    check_gold(kb, database, question, READ[question])


@pytest.mark.parametrize("question", REFUSED)
def test_dropped_parts_are_refused(kb: KnowledgeBase, question: str) -> None:
    check_refused(kb, question, REFUSED[question])
