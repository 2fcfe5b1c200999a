"""Questions about events: what is counted of them, what they add up to, whether one happened, and what has not ended.

Golds are SQL over a hire firm that the test writes. The refused questions are near misses of those read.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import kbkit
from kbkit.kb import KnowledgeBase
from tests.questions.golds import check_gold, check_refused

NAME, SCRIPT = (
    "firm",
    """
CREATE TABLE client (client_id INTEGER PRIMARY KEY, name TEXT, country_code TEXT, hired DATE);
INSERT INTO client VALUES (1, 'Ann Bell', 'BE', '2015-02-01'), (2, 'Bo Cruz', 'GB', '2018-03-01'),
  (3, 'Cy Dahl', 'FR', '2012-05-01'), (4, 'Di Eng', 'FR', '2020-07-01');
CREATE TABLE machine (machine_id INTEGER PRIMARY KEY, name TEXT, kind TEXT, seats INTEGER, rate_per_hr REAL,
  stock INTEGER, team TEXT);
INSERT INTO machine VALUES (11, 'Badger', 'x-ray', 12, 30, 0, 'Road Works'), (12, 'Otter', 'crane', 2, 90, 4, 'Yard'),
  (13, 'Stoat', 'crane', 3, 60, 2, 'Yard'), (14, 'Heron', 'van', 9, 25, 5, 'Road Works');
CREATE TABLE rental (rental_id INTEGER PRIMARY KEY, client_id INTEGER REFERENCES client(client_id),
  machine_id INTEGER REFERENCES machine(machine_id), begun DATE, returned_on DATE, hours REAL, damaged TEXT,
  voucher TEXT, outcome TEXT);
INSERT INTO rental VALUES
  (21, 1, 11, '2023-01-05', '2023-01-06', 8, 'Y', NULL, 'Kept'), (22, 1, 12, '2023-02-05', '2023-02-07', 16, 'N',
  NULL, 'Waived'), (23, 1, 13, '2023-03-01', '2023-03-02', 4, 'N', NULL, 'Cancelled by us'),
  (24, 2, 11, '2024-01-05', '2024-01-08', 30, 'Y', 'HALF', 'Kept'), (25, 2, 12, '2024-02-01', NULL, 5, 'Y', NULL,
  'Waived'), (26, 3, 11, '2024-03-01', '2024-03-02', 6, 'N', NULL, 'Cancelled by client');
CREATE TABLE payment (payment_id INTEGER PRIMARY KEY, client_id INTEGER REFERENCES client(client_id), amount REAL,
  method TEXT, paid_on DATE);
INSERT INTO payment VALUES (31, 1, 100, 'card', '2023-04-01'),
  (32, 1, 50, 'cash', '2023-05-01'), (33, 2, 700, 'card', '2024-04-01'), (34, 3, 20, 'cash', '2023-06-01');
CREATE TABLE course (course_id INTEGER PRIMARY KEY, client_id INTEGER REFERENCES client(client_id), topic TEXT,
  score INTEGER);
INSERT INTO course VALUES (41, 1, 'safety', 90), (42, 2, 'safety', 80), (43, 3, 'welding', 40), (44, 4, 'welding', 50);
""",
)

READ = {
    # conditions on what is counted
    "which client made the most payments in 2024?": "SELECT 'Bo Cruz'",
    # of several dates the one that all rentals have and that comes first
    "which client made the most rentals in 2024?": "SELECT 'Bo Cruz'",
    "hours at the Badger after 2022": "VALUES (8), (30), (6)",
    "client with the most damaged rentals": "SELECT 'Bo Cruz'",
    "clients with more than 1 damaged rental": "SELECT 'Bo Cruz'",
    "which French client made the most rentals": "SELECT 'Cy Dahl'",
    "top 2 clients by number of rentals": "VALUES ('Ann Bell'), ('Bo Cruz')",
    "which machine was rented most often": "SELECT 'Badger'",
    # what events add up to
    "total payments by method": "SELECT method, sum(amount) FROM payment GROUP BY 1",
    "top 2 machines by hours": (
        "SELECT name, sum(hours) FROM rental JOIN machine USING (machine_id) GROUP BY 1 ORDER BY 2 DESC LIMIT 2"
    ),
    "how much did Ann Bell pay?": "SELECT 150",
    "payments over 60": "VALUES (31), (33)",
    "which topics have an average score above 70?": "SELECT 'safety', 85",
    "top 2 clients by rentals": "VALUES ('Ann Bell'), ('Bo Cruz')",
    "top 1 clients by damaged rentals": "SELECT 'Bo Cruz'",
    "which clients made only one rental": "SELECT 'Cy Dahl'",
    "which outcome is recorded most often": "VALUES ('Kept', 2), ('Waived', 2)",
    "total revenue": "SELECT 870",
    "top 2 clients by revenue": "VALUES ('Bo Cruz', 700), ('Ann Bell', 150)",
    # whether something ever happened
    "Was the Heron ever rented out?": "SELECT 0",
    "Did Bo Cruz ever use a voucher?": "SELECT 1",
    # what has not ended
    "which rentals are still open?": "SELECT 25",
    "rentals that are not open": "VALUES (21), (22), (23), (24), (26)",
    "unreturned rentals": "SELECT 25",
    "rentals that have a voucher": "SELECT 24",
    # months of one year, hours as a unit, decades in words
    "rentals between january and march 2024": "VALUES (24), (25), (26)",
    "rentals of between 5 and 10 hours": "VALUES (21), (25), (26)",
    "rentals that took 16 hours": "SELECT 22",
    # rates, room and stock
    "machines under 40 an hour": "VALUES ('Badger'), ('Heron')",
    "machines for at least 10 people": "SELECT 'Badger'",
    "out of stock machines": "SELECT 'Badger'",
    # values by their initials, their first word, without a hyphen, and countries by their codes
    "machines of RW": "VALUES ('Badger'), ('Heron')",
    "waived rentals": "VALUES (22), (25)",
    "cancelled rentals": "VALUES (23), (26)",
    "xray machines": "SELECT 'Badger'",
    "clients from the United Kingdom": "SELECT 'Bo Cruz'",
    "clients outside France": "VALUES ('Ann Bell'), ('Bo Cruz')",
    # a number, of what stands between it and the comparison
    "is the rate for the Otter higher than for the Stoat?": "SELECT 1",
    "is the stock of the Badger over 3?": "SELECT 0",
    # orders and tenure
    "cranes, cheapest rate first": "VALUES ('Stoat'), ('Otter')",
    "which client has been with us the longest?": "SELECT 'Cy Dahl'",
    "clients who have been with us longer than Bo Cruz": "VALUES ('Ann Bell'), ('Cy Dahl')",
}
REFUSED = {
    "Did Ann Bell ever dance?": "'dance'",
    "most cited client": "'cited'",
    "client with the most late rentals": "",
    "clients with the most low scores": "",
    "topics with an average score above 95": "",
    "total courses by topic": "'total'",
    "how much did the clients hired in 2018 pay for vouchers": "",
    "machines whose rate exceeded the limit": "'exceeded'",
    "total minutes by client": "",
    "late or early rentals": "",
}


@pytest.mark.parametrize("question", READ)
def test_golds(kb: KnowledgeBase, database: Path, question: str) -> None:
    check_gold(kb, database, question, READ[question])


@pytest.mark.parametrize("question", REFUSED)
def test_near_misses_are_not_answered(kb: KnowledgeBase, question: str) -> None:
    check_refused(kb, question, REFUSED[question])


def test_rows_with_more_content_than_ends_are_nodes(tmp_path: Path) -> None:
    people = "\n".join(f"{key},Person {chr(65 + key)}" for key in range(10))
    (tmp_path / "person.csv").write_text(f"person_id,name\n{people}\n")
    races = "\n".join(f"{key},Race {chr(65 + key)}" for key in range(5))
    (tmp_path / "race.csv").write_text(f"race_id,name\n{races}\n")
    rows = [
        f"{at % 10},{at % 5 if at < 20 else (at + 1) % 5},{at},{'yes' if at % 10 == 0 or at < 5 else 'no'},{at % 4}"
        for at in range(30)
    ]
    (tmp_path / "start.csv").write_text("person_id,race_id,minutes,finished,rank\n" + "\n".join(rows) + "\n")
    with kbkit.ingest(str(tmp_path), out=tmp_path / "races.kb") as kb:
        assert [one.name for one in kb.schema.primary_types] == ["person", "race", "start"]
        result = kb.ask("which person has the most finished starts")
        assert "start{finished" in result.expression
