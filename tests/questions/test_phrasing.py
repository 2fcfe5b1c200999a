"""Questions as colleagues put them: verbs of events, whose, rankings, units, states, and what is refused instead.

Golds are SQL over a shelter for animals that the test writes. The refused questions are near misses of those read.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kbkit.kb import KnowledgeBase
from tests.questions.golds import check_gold, check_refused

NAME, SCRIPT = (
    "shelter",
    """
CREATE TABLE pet (pet_id INTEGER PRIMARY KEY, name TEXT, species TEXT, intake_date DATE, weight_kg REAL,
  neutered TEXT, good_w_kids TEXT, loudness_db INTEGER, fee_eur INTEGER, status TEXT);
INSERT INTO pet VALUES (1, 'Truffle', 'dog', '2024-03-24', 21.5, 'Y', 'Y', 80, 150, 'on trial'),
  (2, 'Socks', 'cat', '2023-01-02', 4.5, 'Y', 'N', 40, 70, 'in care'),
  (3, 'Otis', 'dog', '2023-06-30', 5.5, 'N', 'Y', 90, 150, 'in care'),
  (4, 'Dexter', 'rabbit', '2022-11-11', 2.0, 'N', 'N', 20, 30, 'in care'),
  (5, 'Fudge', 'rabbit', '2024-02-01', 2.5, 'Y', 'Y', 25, 30, 'on trial');
CREATE TABLE adopter (adopter_id INTEGER PRIMARY KEY, name TEXT, fenced_yard TEXT, grade INTEGER);
INSERT INTO adopter VALUES (1, 'Gwen Ortega', 'Y', 3), (2, 'Boris Holt', 'N', 5), (3, 'Ines Silva', 'Y', 5);
CREATE TABLE adoption (adoption_id INTEGER PRIMARY KEY, pet_id INTEGER REFERENCES pet(pet_id),
  adopter_id INTEGER REFERENCES adopter(adopter_id), adopted_on DATE, returned_on DATE);
INSERT INTO adoption VALUES (31, 1, 1, '2024-05-10', NULL), (32, 2, 2, '2023-02-20', '2023-04-01'),
  (33, 2, 1, '2023-08-08', NULL), (34, 5, 3, '2024-02-14', NULL);
CREATE TABLE visit (visit_id INTEGER PRIMARY KEY, pet_id INTEGER REFERENCES pet(pet_id), vet_cost REAL);
INSERT INTO visit VALUES (71, 1, 100), (72, 1, 50), (73, 2, 120), (74, 3, 10), (75, 4, 20);
CREATE TABLE volunteer (volunteer_id INTEGER PRIMARY KEY, name TEXT, since DATE, usual_day TEXT);
INSERT INTO volunteer VALUES (51, 'Nettie Bixby', '2019-03-01', 'Sat'), (52, 'Marvin Keene', '2021-07-09', 'Sun'),
  (53, 'Wanda Lund', '2018-01-15', 'Mon'), (54, 'Elroy Finch', '2022-02-02', 'Sat');
""",
)

_ADOPTED = "FROM adoption JOIN pet USING (pet_id) JOIN adopter USING (adopter_id)"
READ = {
    # verbs of events
    "Who adopted a pet in February 2024?": "SELECT 'Ines Silva'",
    "Who adopted Truffle?": "SELECT 'Gwen Ortega'",
    "Has Fudge been adopted?": "SELECT 1",
    "Which dogs and rabbits have never been adopted?": "VALUES ('Otis'), ('Dexter')",
    "which pets were adopted in 2023?": "SELECT 'Socks'",
    # people
    "Whose adoptions were in 2023?": f"SELECT DISTINCT adopter.name {_ADOPTED} WHERE adopted_on LIKE '2023%'",
    "Who is our longest-standing volunteer?": "SELECT 'Wanda Lund'",
    # columns that say yes or no
    "Which dogs are neutered and good with kids?": "SELECT 'Truffle'",
    "Which adopters have a fenced yard?": "SELECT name FROM adopter WHERE fenced_yard = 'Y'",
    # days, states, ranks and units
    "volunteers on Saturday or Sunday": "SELECT name FROM volunteer WHERE usual_day IN ('Sat', 'Sun')",
    "rabbits that are on trial": "SELECT 'Fudge'",
    "fifth graders": "VALUES ('Boris Holt'), ('Ines Silva')",
    "pets weighing between 5 and 6 kg": "SELECT 'Otis'",
    "pets over 20 kg": "SELECT 'Truffle'",
    "pets under €50": "VALUES ('Dexter'), ('Fudge')",
    "What is our loudest pet?": "SELECT 'Otis'",
    # rankings, groups and comparisons
    "top 2 pets by total vet cost": (
        "SELECT name, sum(vet_cost) FROM visit JOIN pet USING (pet_id) GROUP BY 1 ORDER BY 2 DESC LIMIT 2"
    ),
    "average weight per species": "SELECT species, avg(weight_kg) FROM pet GROUP BY 1",
    "pets that have a higher weight than average": "SELECT 'Truffle'",
    "animals heavier than Otis": "SELECT 'Truffle'",
    "pets with two adoptions": "SELECT 'Socks'",
    "pets w/o adoptions": "VALUES ('Otis'), ('Dexter')",
    "the adoptions with their pets": f"SELECT CAST(adoption_id AS TEXT), pet.name {_ADOPTED}",
}
REFUSED = {
    "Did Socks like the volunteers?": "",
    "budget pets": "'budget'",
    "How many pets of each breed are there?": "'each'",
    "Which pet has sold the largest vet cost?": "",
    "Whose volunteer is Socks?": "'whose'",
}


@pytest.mark.parametrize("question", READ)
def test_golds(kb: KnowledgeBase, database: Path, question: str) -> None:
    check_gold(kb, database, question, READ[question])


@pytest.mark.parametrize("question", REFUSED)
def test_near_misses_are_not_answered(kb: KnowledgeBase, question: str) -> None:
    check_refused(kb, question, REFUSED[question])


def test_nothing_beyond_a_number_is_an_answer(kb: KnowledgeBase) -> None:
    result = kb.ask("pets over 200 kg")
    assert result.is_sure
    assert result.expression == "pet{weight_kg > 200}"
    assert len(result) == 0


def test_a_name_that_many_nodes_have_means_all_of_them(tmp_path: Path) -> None:
    import kbkit

    rows = "\n".join(f"{key},{'garlic' if key < 9 else 'salt'},{key}" for key in range(12))
    (tmp_path / "ingredient.csv").write_text(f"ingredient_id,name,recipe_id\n{rows}\n")
    recipes = "\n".join(f"{key},Dish {key}" for key in range(12))
    (tmp_path / "recipe.csv").write_text(f"recipe_id,name\n{recipes}\n")
    with kbkit.ingest(str(tmp_path), out=tmp_path / "food.kb") as kb:
        result = kb.ask("recipes with garlic")
        assert len(result) == 9, result.expression
