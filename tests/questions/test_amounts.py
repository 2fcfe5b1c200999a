"""Rankings of values, units that are asked for, what was paid, and what nodes have or never had.

Golds are SQL over an orchard and its school that the test writes.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kbkit.kb import KnowledgeBase
from tests.questions.golds import check_gold, check_refused

NAME = "orchard"
SCRIPT = """
create table trees (tree text primary key, variety text, planted int, grafted boolean);
insert into trees values ('Tree 1', 'Bramley', 1990, 1), ('Tree 2', 'Discovery', 2001, 0),
    ('Tree 3', 'Bramley', 2010, 0);
create table pickings (picking_id int primary key, tree text references trees(tree), picked_on date, fruit text,
    kg real, sugar_pct real);
insert into pickings values (1, 'Tree 1', '2023-09-01', 'apples', 20, 11),
    (2, 'Tree 1', '2024-09-01', 'apples', 30, 12),
    (3, 'Tree 2', '2024-09-02', 'windfalls', 5, 10), (4, 'Tree 2', '2023-09-03', 'apples', 10, 13);
create table pupils (pupil_id int primary key, full_name text, town text, badge text, listed boolean);
insert into pupils values (1, 'Ann Lee', 'Kelso', 'gold', 1), (2, 'Ben Orr', 'Kelso', null, 0),
    (3, 'Cy Fox', 'Hawick', null, 1);
create table bookings (booking_id int primary key, pupil_id int references pupils(pupil_id));
insert into bookings values (11, 1), (12, 1), (13, 2);
create table payments (payment_id int primary key, booking_id int references bookings(booking_id), paid_on date,
    amount real, method text);
insert into payments values (91, 11, '2024-01-05', 40, 'card'),
    (92, 12, '2024-02-05', 60, 'cash'),
    (93, 13, '2023-03-01', 25, 'card');
create table coaches (coach text primary key, hourly_rate int, hired_on date);
insert into coaches values ('Dee Ray', 30, '2019-01-01'), ('Eve Sol', 50, '2021-01-01'),
    ('Flo Tam', 40, '2015-01-01');
"""
_PAID = "select sum(amount) from payments"
_RATE = "select coach from coaches where hourly_rate"
READ = {
    # rankings
    "top 1 towns by number of pupils": "select town, count(*) from pupils group by 1 order by 2 desc limit 1",
    "bottom 1 methods by number of payments": "select method, count(*) from payments group by 1 order by 2 limit 1",
    "top 1 methods by total amount": "select method, sum(amount) from payments group by 1 order by 2 desc limit 1",
    "top two trees by total fruit picked": "select tree, sum(kg) from pickings group by 1 order by 2 desc limit 2",
    # units, kinds and amounts
    "How many kilos of fruit did we pick in 2024?": "select sum(kg) from pickings where picked_on like '2024%'",
    "Total kg per kind of fruit in 2023": "select fruit, sum(kg) from pickings where picked_on like '2023%' group by 1",
    "How much has Ann Lee paid us in total?": f"{_PAID} where booking_id in (11, 12)",
    "How much was paid by card in 2024?": f"{_PAID} where method = 'card' and paid_on like '2024%'",
    "How much money came in by card?": f"{_PAID} where method = 'card'",
    # what nodes have, and what they never had
    "pupils who hold a badge": "select full_name from pupils where badge is not null",
    "Which pupils don't have a badge?": "select full_name from pupils where badge is null",
    "Which trees have never given any fruit?": "select tree from trees where tree not in (select tree from pickings)",
    "listed pupils": "select full_name from pupils where listed",
    "pupils who are not listed": "select full_name from pupils where not listed",
    "Is Tree 1 a grafted tree?": "select grafted from trees where tree = 'Tree 1'",
    "Is Tree 2 a grafted tree?": "select grafted from trees where tree = 'Tree 2'",
    # rates
    "coaches who earn more per hour than the average coach": f"{_RATE} > (select avg(hourly_rate) from coaches)",
    "Who earns more per hour, Dee Ray or Flo Tam?": f"{_RATE} = 40",
}
REFUSED = {"top 2 towns by colour": "'colour'"}


@pytest.mark.parametrize("question", READ)
def test_amounts(kb: KnowledgeBase, database: Path, question: str) -> None:
    check_gold(kb, database, question, READ[question])


@pytest.mark.parametrize("question", REFUSED)
def test_other_amounts_are_refused(kb: KnowledgeBase, question: str) -> None:
    check_refused(kb, question, REFUSED[question])
