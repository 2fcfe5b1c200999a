"""Questions that compare two columns of a row: dates, numbers and texts; and near misses, which are refused.

Golds are SQL over a workshop for bicycles that the test writes.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kbkit.kb import KnowledgeBase
from tests.questions.golds import check_gold, check_refused

NAME, SCRIPT = (
    "workshop",
    """
CREATE TABLE mechanic (mechanic_id INTEGER PRIMARY KEY, name TEXT, target INTEGER);
INSERT INTO mechanic VALUES (71, 'Rita Moss', 1), (72, 'Sam Oyelaran', 3), (73, 'Tove Lind', 2);
CREATE TABLE repair (repair_id INTEGER PRIMARY KEY, title TEXT, mechanic_id INTEGER REFERENCES mechanic(mechanic_id),
  received_on DATE, promised_date DATE, finished_at TIMESTAMP, estimated_hours REAL, actual_hours REAL, kind TEXT);
INSERT INTO repair VALUES
  (11, 'Bent wheel', 71, '2024-03-01', '2024-03-05', '2024-03-05 16:30:00', 2, 1.5, 'wheel'),
  (12, 'New chain', 71, '2024-03-02', '2024-03-06', '2024-03-08 09:00:00', 1, 2.5, 'drive'),
  (13, 'Loose brake', 72, '2024-03-04', '2024-03-07', '2024-03-06 11:15:00', 1, 1, 'brake'),
  (14, 'Cracked rim', 73, '2024-03-09', '2024-03-12', NULL, 3, NULL, 'wheel'),
  (15, 'Worn pads', 73, '2024-03-10', '2024-03-11', '2024-03-14 10:00:00', 1, 1.5, 'brake'),
  (16, 'Squeaky hub', 71, '2024-03-11', '2024-03-15', '2024-03-13 10:00:00', 1.5, 1, 'wheel');
CREATE TABLE part (part_id INTEGER PRIMARY KEY, part_name TEXT, price REAL, cost REAL, stock INTEGER,
  reorder_level INTEGER, maker TEXT, supplier TEXT);
INSERT INTO part VALUES (501, 'Saddle', 30, 22.5, 4, 6, 'Orbit', 'Orbit'), (502, 'Pedal', 12, 14, 9, 5, 'Vela', 'Nexo'),
  (503, 'Tyre', 25, 25, 2, 2, 'Nexo', 'Nexo'), (504, 'Bell', 8, 9.5, 1, 3, 'Vela', 'Orbit');
""",
)

_LATE = "date(finished_at) > promised_date"
READ = {
    # dates and times
    "Which repairs were finished after the promised date?": f"SELECT title FROM repair WHERE {_LATE}",
    "repairs finished later than promised": f"SELECT title FROM repair WHERE {_LATE}",
    "repairs finished before they were promised": "SELECT title FROM repair WHERE date(finished_at) < promised_date",
    "repairs finished on the promised date": "SELECT 'Bent wheel'",
    "repairs finished by the promised date": "SELECT title FROM repair WHERE date(finished_at) <= promised_date",
    "How many wheel repairs were finished before the promised date?": "SELECT 1",
    "repairs finished late": f"SELECT title FROM repair WHERE {_LATE}",
    "How many wheel repairs were finished on time?": "SELECT count(*) FROM repair WHERE kind = 'wheel' "
    "AND date(finished_at) <= promised_date",
    "Which mechanics have repairs finished after the promised date?": "VALUES ('Rita Moss'), ('Tove Lind')",
    "Which mechanic finished repairs after the promised date?": "VALUES ('Rita Moss'), ('Tove Lind')",
    # numbers
    "Which parts sell below their cost?": "VALUES ('Pedal'), ('Bell')",
    "parts whose price is higher than the cost": "SELECT 'Saddle'",
    "parts with a cost that exceeds the price": "VALUES ('Pedal'), ('Bell')",
    "Which parts have less stock than their reorder level?": "VALUES ('Saddle'), ('Bell')",
    "parts where the price equals the cost": "SELECT 'Tyre'",
    "parts with as much stock as the reorder level": "SELECT 'Tyre'",
    "parts whose price is not above the cost": "VALUES ('Pedal'), ('Tyre'), ('Bell')",
    "repairs with a higher number of actual hours than estimated hours": "VALUES ('New chain'), ('Worn pads')",
    "repairs with more actual hours than estimated hours": "VALUES ('New chain'), ('Worn pads')",
    "average actual hours of repairs whose actual hours exceed the estimated hours": "SELECT 2.0",
    "parts whose price is above the average cost": "VALUES ('Saddle'), ('Tyre')",
    "Is the price of the Bell below its cost?": "SELECT 1",
    "Is there a part whose stock is below the reorder level?": "SELECT 1",
    "parts whose price is below the cost and whose stock is below the reorder level": "SELECT 'Bell'",
    "mechanics with more repairs than their target": "SELECT 'Rita Moss'",
    # counts of the nodes that a condition is about
    "Which mechanic has the most repairs received after 2024-03-08?": "SELECT 'Tove Lind'",
    # texts
    "parts whose maker is different from the supplier": "VALUES ('Pedal'), ('Bell')",
    "parts with the same maker as supplier": "VALUES ('Saddle'), ('Tyre')",
}
REFUSED = {
    "repairs finished two days after the promised date": "",
    "repairs that were not finished after the promised date": "'after'",
    "repairs that were not finished late": "",
    "repairs finished after the invoice date": "'invoice date'",
    "repairs closed after the promised date": "'after'",
    "repairs finished after the estimated hours": "a comparison of finished_at and estimated_hours",
    "repairs whose promised date is higher than the actual hours": "a comparison of promised_date and actual_hours",
    "parts whose price is twice the cost": "",
    "parts whose price is above the wholesale cost": "'wholesale cost'",
    "parts whose price and stock are above the cost": "'and'",
    "parts whose price is above the cost and the stock": "'and'",
    "parts whose price is below the estimated hours": "'price' compared with 'estimated hours'",
    "How much is the price of the Saddle above its cost?": "",
}


@pytest.mark.parametrize("question", READ)
def test_golds(kb: KnowledgeBase, database: Path, question: str) -> None:
    check_gold(kb, database, question, READ[question])


@pytest.mark.parametrize("question", REFUSED)
def test_near_misses_are_not_answered(kb: KnowledgeBase, question: str) -> None:
    check_refused(kb, question, REFUSED[question])
