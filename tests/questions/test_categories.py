"""Questions for the values that most nodes have, or fewest.

Golds are SQL over a plant nursery that the test writes.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kbkit.kb import KnowledgeBase
from tests.questions.golds import check_gold, check_refused

NAME, SCRIPT = (
    "nursery",
    """
CREATE TABLE grower (grower_id INTEGER PRIMARY KEY, name TEXT, county TEXT, licence TEXT);
INSERT INTO grower VALUES (81, 'Ines Falk', 'Kent', 'full'), (82, 'Jon Sund', 'Kent', 'full'),
  (83, 'Ottilie Brand', 'Devon', 'trial'), (84, 'Per Holt', 'Dorset', 'trial'), (85, 'Ida Moor', 'Dorset', 'trial'),
  (86, 'Una Reed', 'Dorset', 'full');
CREATE TABLE plant (plant_id INTEGER PRIMARY KEY, title TEXT, habit TEXT, colour TEXT, supplier TEXT, height REAL,
  grower_id INTEGER REFERENCES grower(grower_id));
INSERT INTO plant VALUES (501, 'Harbour Mist', 'shrub', 'white', 'Greenley', 1.5, 81),
  (502, 'Meadow Sun', 'shrub', 'white', 'Greenley', 2.5, 81), (503, 'Tall Ann', 'climber', 'pink', 'Potts', 3.0, 82),
  (504, 'Old Tom', 'climber', 'pink', 'Potts', 4.0, 83), (505, 'Gull Wing', 'shrub', 'blue', 'Potts', 2.0, 81),
  (506, 'Moor Fire', 'climber', 'blue', 'Ashdown', 3.5, 83), (507, 'Red Ember', 'climber', 'pink', 'Potts', 2.2, 84),
  (508, 'Silver Edge', 'shrub', 'white', 'Ashdown', 1.1, 86), (509, 'Night Bell', 'shrub', 'pink', 'Greenley', 0.9, 85);
CREATE TABLE purchase (purchase_id INTEGER PRIMARY KEY, plant_id INTEGER REFERENCES plant(plant_id), container TEXT,
  price REAL);
INSERT INTO purchase VALUES (9001, 501, 'tray', 30), (9002, 502, 'tray', 45), (9003, 503, 'tray', 60),
  (9004, 504, 'crate', 75), (9005, 507, 'crate', 20), (9006, 508, 'sack', 25);
""",
)


def _most(value: str, where: str = "1", order: str = "DESC", count: int = 1, tables: str = "plant") -> str:
    return f"SELECT {value}, count(*) FROM {tables} WHERE {where} GROUP BY 1 ORDER BY 2 {order} LIMIT {count}"


_GROWN = "plant JOIN grower USING (grower_id)"
READ = {
    # a verb between the values and what is counted
    "Which supplier provides the most plants?": _most("supplier"),
    "Which supplier supplies the fewest plants?": _most("supplier", order=""),
    "Which two suppliers provide the most plants?": _most("supplier", count=2),
    "Which supplier do we get the widest range of plants from?": _most("supplier"),
    "Which county do most of the growers come from?": _most("county", tables="grower"),
    # a value says what is counted
    "Which supplier offers the most climbers?": _most("supplier", "habit = 'climber'"),
    "Which supplier offers the most shrubs?": _most("supplier", "habit = 'shrub'"),
    "Which county has the most climbers?": _most("county", "habit = 'climber'", tables=_GROWN),
    "Which county has the fewest shrubs?": "SELECT 'Dorset', 2",
    # the superlative at the end
    "Which colour is the most common among climbers?": _most("colour", "habit = 'climber'"),
    "Which colour is the least common?": _most("colour", order=""),
    "Which colour of plant is the most popular in Kent?": _most("colour", "county = 'Kent'", tables=_GROWN),
    "Among growers with a full licence, which county is the most common?": _most(
        "county", "licence = 'full'", tables="grower"
    ),
    # a verb says what is counted
    "Which container do we purchase most often?": _most("container", tables="purchase"),
    "What are the two containers we purchase most often?": _most("container", count=2, tables="purchase"),
    "Which container do we purchase the least?": _most("container", order="", tables="purchase"),
}
REFUSED = {
    "Which colour is the most common in each county?": "",
    "Which supplier has the most plants in height?": "",
    "Which colour do we see most often?": "'see'",
    "Which supplier rejects the most climbers?": "rejects",
    "Which colour is most popular with growers with a full licence?": "",
}


@pytest.mark.parametrize("question", READ)
def test_golds(kb: KnowledgeBase, database: Path, question: str) -> None:
    check_gold(kb, database, question, READ[question])


@pytest.mark.parametrize("question", REFUSED)
def test_unclear_counts_are_refused(kb: KnowledgeBase, question: str) -> None:
    check_refused(kb, question, REFUSED[question])
