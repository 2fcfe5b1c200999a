"""Questions about what was late, in units that columns tell, without a value, of sums, and with words that say nothing.

Golds are SQL over a shop for tools that the test writes. The refused questions are near misses of those that are read.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kbkit.kb import KnowledgeBase
from kbkit.questions.lexicon import KindLabels, label_words
from tests.questions.golds import check_gold, check_refused

NAME = "rentals"
SCRIPT = """
create table person (person_id int primary key, name text, town text, heard_about_us text);
insert into person values (1, 'Ann Lee', 'Kelso', 'advert'), (2, 'Ben Orr', 'Hawick', 'friend'),
    (3, 'Cy Fox', 'Kelso', 'advert');
create table tool (tool text primary key, "Motor kW" real, warranty_years int, charging_minutes int);
insert into tool values ('Saw', 2.5, 2, 45), ('Drill', 0.8, null, 90), ('Mower', 4, 3, 25), ('Planer', 1.5, null, 60);
create table tool_owners (tool text references tool(tool), person_id int references person(person_id));
insert into tool_owners values ('Saw', 1), ('Drill', 1), ('Mower', 2), ('Planer', 3);
create table rental (rental_id int primary key, tool text references tool(tool), person_id int references
    person(person_id), taken_on date, due_on date, returned_on date, deposit_value real, kind text);
insert into rental values (11, 'Saw', 2, '2023-01-02', '2023-01-09', '2023-01-12', 50, 'trade'),
    (12, 'Saw', 3, '2023-02-01', '2023-02-08', '2023-02-08', 50, 'private'),
    (13, 'Mower', 3, '2024-05-01', '2024-05-04', '2024-05-09', 80, 'trade'),
    (14, 'Drill', 2, '2024-06-01', '2024-06-03', null, 20, 'private');
"""
_LATE = "returned_on > due_on"
READ = {
    # when something was done, and when it was due
    "rentals returned late": f"select rental_id from rental where {_LATE}",
    "How many rentals were late?": f"select count(*) from rental where {_LATE}",
    "rentals that were returned on time": "select rental_id from rental where returned_on <= due_on",
    "How many rentals were returned late in 2024?": "select 1",
    # units, also in camel case, and one or half of them
    "tools that charge for more than an hour": "select tool from tool where charging_minutes > 60",
    "tools charging for less than half an hour": "select 'Mower'",
    "the average motor power of the tools in kW": 'select avg("Motor kW") from tool',
    "tool with the biggest motor": "select 'Mower'",
    # what has no value, and who owns what
    "tools with no warranty": "select tool from tool where warranty_years is null",
    "which persons own more than one tool?": "select 'Ann Lee'",
    # how, and what says nothing
    "How did Ann Lee hear about us?": "select 'advert'",
    "tools that were never actually rented": "select 'Planer'",
    "tools on file": "select tool from tool",
    "what is the deposit value for rental 11 at our shop": "select 50",
    "the highest deposit value anybody ever paid": "select 80",
    # what neighbours add up to, and the greatest of them
    "persons whose deposit value totals over 100": "select 'Cy Fox'",
    "persons whose deposit values add up to more than 100": "select 'Cy Fox'",
    "persons with a total of over 100 in deposits": "select 'Cy Fox'",
    "tools whose largest deposit is over 60": "select 'Mower'",
    # of two relations, the one that the verb says
    "persons who haven't rented any tool": "select 'Ann Lee'",
    # an amount that is added up for each group
    "deposit value by kind of rental": "select kind, sum(deposit_value) from rental group by 1",
}
REFUSED = {
    "rentals that were not returned late": "'not'",
    "persons who are late": "'late'",
    "how was rental 11 returned": "'how'",
    "tools with a motor of more than a gallon": "",
}


@pytest.mark.parametrize("question", READ)
def test_golds(kb: KnowledgeBase, database: Path, question: str) -> None:
    check_gold(kb, database, question, READ[question])


@pytest.mark.parametrize("question", REFUSED)
def test_near_misses_are_refused(kb: KnowledgeBase, question: str) -> None:
    check_refused(kb, question, REFUSED[question])


@pytest.mark.parametrize(
    ("label", "words"), [("System kW", ["system", "kw"]), ("soilPH", ["soil", "ph"]), ("pH", ["ph"])]
)
def test_units_in_camel_case_are_one_word(label: str, words: list[str]) -> None:
    assert label_words(label) == words


def test_digits_are_similar_to_nothing() -> None:
    assert KindLabels([["person"], ["trench"]]).similarity("4").max() == 0
