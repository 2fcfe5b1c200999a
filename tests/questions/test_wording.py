"""Questions in other words than the columns have: abbreviations, synonyms, asides, prices, places, what is denied."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbkit.english.thesaurus import related_words
from kbkit.kb import KnowledgeBase
from tests.questions.golds import check_gold, check_refused

NAME, SCRIPT = (
    "depot",
    """
CREATE TABLE cust (cust_id INTEGER PRIMARY KEY, cust_nm TEXT, phone TEXT, city TEXT, insurer TEXT, newsletter TEXT,
  active INTEGER);
INSERT INTO cust VALUES (1, 'Ann Bell', '284.749.0453', 'Leeds', 'Aviva', 'Y', 1),
  (2, 'Bob Cole', '284.749.0111', 'Hull', NULL, 'N', 0), (3, 'Cleo Dun', '284.749.0222', 'Leeds', 'Aviva', 'Y', 1),
  (4, 'Dan Eck', '284.749.0333', 'York', 'Bupa', 'N', 1), (5, 'Eva Fox', '284.749.0444', 'York', NULL, 'Y', 0);
CREATE TABLE prod (prod_cd TEXT PRIMARY KEY, prod_nm TEXT, catg TEXT, unit_prc REAL, vegan INTEGER, grade TEXT);
INSERT INTO prod VALUES ('P1', 'Rye Loaf', 'bread', 3.5, 1, 'A-'), ('P2', 'Plum Tart', 'pastry', 5.0, 0, 'A+'),
  ('P3', 'Oat Slice', 'pastry', 2.5, 1, 'A+'), ('P4', 'Mint Brew', 'flavored tea', 2.0, 1, 'A-'),
  ('P5', 'Milk Bun', 'bread', 1.5, 0, 'A+');
CREATE TABLE ord (ord_no INTEGER PRIMARY KEY, cust_id INTEGER, prod_cd TEXT, ord_dt DATE, ship_dt DATE, paid_amt REAL,
  FOREIGN KEY (cust_id) REFERENCES cust(cust_id), FOREIGN KEY (prod_cd) REFERENCES prod(prod_cd));
INSERT INTO ord VALUES (70, 1, 'P1', '2023-12-30', '2024-01-02', 7), (71, 1, 'P2', '2024-02-01', NULL, 5),
  (72, 3, 'P3', '2024-03-01', '2024-03-03', 10), (73, 5, 'P1', '2024-04-01', NULL, 3.5);
""",
)

READ = {
    # abbreviations and synonyms of the names of tables and columns
    "how many clients are there": "SELECT 5",
    "which customers have no orders?": "SELECT cust_nm FROM cust WHERE cust_id IN (2, 4)",
    "what kinds of products are there": "SELECT DISTINCT catg FROM prod",
    "the towns of the clients": "SELECT DISTINCT city FROM cust",
    "flavoured teas": "SELECT 'Mint Brew'",
    # asides
    "which customers do we have on file?": "SELECT cust_nm FROM cust",
    "how many products do we stock in total?": "SELECT 5",
    "what is the highest paid amount ever recorded": "SELECT 10",
    # columns that say yes or no
    "inactive customers": "SELECT cust_nm FROM cust WHERE NOT active",
    "vegan pastries": "SELECT 'Oat Slice'",
    "which customers get our newsletter": "SELECT cust_nm FROM cust WHERE newsletter = 'Y'",
    "do we have any vegan bread?": "SELECT 1",
    # what is missing or denied
    "Which customers have no insurer?": "SELECT cust_nm FROM cust WHERE insurer IS NULL",
    "orders that were not yet shipped": "SELECT ord_no FROM ord WHERE ship_dt IS NULL",
    "customers that never ordered anything": "SELECT cust_nm FROM cust WHERE cust_id IN (2, 4)",
    # people, places, prices
    "who lives in Leeds?": "SELECT cust_nm FROM cust WHERE city = 'Leeds'",
    "Whose phone is 284.749.0453?": "SELECT 'Ann Bell'",
    "where does Dan Eck live": "SELECT 'York'",
    "how much is the Rye Loaf?": "SELECT 3.5",
    "products for under 2.5": "SELECT prod_nm FROM prod WHERE unit_prc < 2.5",
    "bread under 3 dollars": "SELECT 'Milk Bun'",
    # superlatives, dates, values with signs, keys
    "what is the second most expensive product": "SELECT 'Rye Loaf'",
    "which product gets ordered most often": "SELECT 'Rye Loaf'",
    "orders placed in 2023": "SELECT 70",
    "products with grade A-": "SELECT prod_nm FROM prod WHERE grade = 'A-'",
    "who placed more than 1 order": "SELECT 'Ann Bell'",
}
REFUSED = {
    "who came first": "'first' is not read",
    "orders that melted before 2024": "which of several dates is meant",
    "who lost the Rye Loaf": "'lost'",
    "orders per week": "'per' is not read",
    "German customers": "'german'",
    "customers in my town": "'in my town' is not read",
}


@pytest.mark.parametrize("question", READ)
def test_golds(kb: KnowledgeBase, database: Path, question: str) -> None:
    check_gold(kb, database, question, READ[question])


@pytest.mark.parametrize("question", REFUSED)
def test_what_is_not_read_is_not_answered(kb: KnowledgeBase, question: str) -> None:
    check_refused(kb, question, REFUSED[question])


def test_a_thesaurus_has_synonyms_general_nouns_and_places() -> None:
    assert "customer" in related_words("client").synonyms
    assert related_words("town").general["municipality"] == related_words("city").general["municipality"] == 0
    assert "united states" in related_words("american").places
    assert not any(related_words("zzz"))
