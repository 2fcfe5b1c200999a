"""Questions that are read by their clauses: values, numbers, counts, totals, groups, order, yes or no.

Golds are SQL over a store of customers, orders and products, which the tests write; all three engines give the same.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

import polars as pl
import pytest

import kbkit
from kbkit.kb import KnowledgeBase
from tests.questions.golds import check_gold, check_refused

NAME, SCRIPT = (
    "store",
    """
CREATE TABLE country (code TEXT PRIMARY KEY, name TEXT, continent TEXT, area INTEGER);
INSERT INTO country VALUES ('FR', 'France', 'Europe', 550), ('BR', 'Brazil', 'South America', 8500),
  ('JP', 'Japan', 'Asia', 380), ('DE', 'Germany', 'Europe', 360);
CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT, gender TEXT, birth_year INTEGER, joined DATE, country TEXT,
  FOREIGN KEY (country) REFERENCES country(code));
INSERT INTO customer VALUES (1, 'Ann Bell', 'female', 1980, '2011-05-01', 'FR'),
  (2, 'Bob Cole', 'male', 1975, '2012-12-31', 'BR'), (3, 'Cleo Dun', 'female', 1990, '2013-01-01', 'BR'),
  (4, 'Dan Eck', 'male', 1965, '2012-01-01', 'JP'), (5, 'Eva Fox', 'female', 1990, NULL, 'DE');
CREATE TABLE product (id INTEGER PRIMARY KEY, name TEXT, category TEXT, unit_price REAL, award TEXT);
INSERT INTO product VALUES (1, 'Green tea', 'beverages', 4.5, 'No'), (2, 'Black coffee', 'beverages', 7.5, 'Gold'),
  (3, 'Olive oil', 'condiments', 12, 'Silver'), (4, 'Rye bread', 'bakery', 3, 'No');
CREATE TABLE purchase (id INTEGER PRIMARY KEY, name TEXT UNIQUE, customer INTEGER, product INTEGER, quantity INTEGER,
  FOREIGN KEY (customer) REFERENCES customer(id), FOREIGN KEY (product) REFERENCES product(id));
INSERT INTO purchase VALUES (1, 'A-1', 1, 1, 3), (2, 'A-2', 1, 3, 1), (3, 'A-3', 2, 2, 2), (4, 'B-1', 3, 1, 8),
  (5, 'B-2', 3, 2, 1), (6, 'B-3', 5, 3, 4);
""",
)

READ = {
    "female customers": "SELECT name FROM customer WHERE gender = 'female'",
    "How many customers are there?": "SELECT count(*) FROM customer",
    "Count the customers": "SELECT count(*) FROM customer",
    "Which customers are from Brazil?": "SELECT name FROM customer WHERE country = 'BR'",
    "Do you know which customers are from Brazil?": "SELECT name FROM customer WHERE country = 'BR'",
    "the youngest customer born before 1980": "SELECT name FROM customer WHERE birth_year = 1975",
    "customers born in 1975 or 1980": "SELECT name FROM customer WHERE birth_year IN (1975, 1980)",
    "customers who joined in 2012": "SELECT name FROM customer WHERE strftime('%Y', joined) = '2012'",
    "customers who joined after 2012": "SELECT name FROM customer WHERE joined > '2012-12-31'",
    "customers who joined between 2011 and 2012": "SELECT name FROM customer WHERE joined < '2013-01-01'",
    "products in the category bakery": "SELECT name FROM product WHERE category = 'bakery'",
    "products with a unit price between 4 and 8": "SELECT name FROM product WHERE unit_price BETWEEN 4 AND 8",
    "customers with a birth year of at least 1980": "SELECT name FROM customer WHERE birth_year >= 1980",
    "products whose category is not beverages": "SELECT name FROM product WHERE category <> 'beverages'",
    "What is the average unit price of the products?": "SELECT avg(unit_price) FROM product",
    "maximum unit price of products": "SELECT max(unit_price) FROM product",
    "How many different categories are there?": "SELECT count(DISTINCT category) FROM product",
    "number of products for each category": "SELECT category, count(*) FROM product GROUP BY category",
    "average unit price per category": "SELECT category, avg(unit_price) FROM product GROUP BY category",
    "names and birth years of customers": "SELECT name, birth_year FROM customer",
    "the 2 largest countries": "SELECT name FROM country ORDER BY area DESC LIMIT 2",
    "Which country is the smallest?": "SELECT name FROM country ORDER BY area LIMIT 1",
    "countries larger than France": "SELECT name FROM country WHERE area > 550",
    "products with a unit price above the average": (
        "SELECT name FROM product WHERE unit_price > (SELECT avg(unit_price) FROM product)"
    ),
    "customers without purchases": "SELECT name FROM customer WHERE id NOT IN (SELECT customer FROM purchase)",
    "customers with more than one purchase": (
        "SELECT name FROM customer WHERE (SELECT count(*) FROM purchase WHERE customer = customer.id) > 1"
    ),
    "customers whose average quantity is over 2": (
        "SELECT name FROM customer WHERE (SELECT avg(quantity) FROM purchase WHERE customer = customer.id) > 2"
    ),
    "names of customers with a total quantity of at least 4": (
        "SELECT name FROM customer WHERE (SELECT sum(quantity) FROM purchase WHERE customer = customer.id) >= 4"
    ),
    "products whose highest quantity is below 4": (
        "SELECT name FROM product WHERE (SELECT max(quantity) FROM purchase WHERE product = product.id) < 4"
    ),
    "How many customers have over 3 in quantity altogether?": "SELECT 3",
    "Who has over 3 in quantity in total?": (
        "SELECT name FROM customer WHERE (SELECT sum(quantity) FROM purchase WHERE customer = customer.id) > 3"
    ),
    "countries with more customers than purchases": "SELECT 'Japan'",
    "Which countries have fewer customers than purchases?": (
        "SELECT c.name FROM country c WHERE (SELECT count(*) FROM customer WHERE country = c.code)"
        " < (SELECT count(*) FROM customer u JOIN purchase p ON p.customer = u.id WHERE u.country = c.code)"
    ),
    "Is there a product with a unit price above 10?": "SELECT 1",
    "Are there any products with a unit price above 100?": "SELECT 0",
    "What is the most common category of products?": (
        "SELECT category, count(*) FROM product GROUP BY category ORDER BY 2 DESC LIMIT 1"
    ),
    "list all products": "SELECT name FROM product",
    "total quantity of the purchases": "SELECT sum(quantity) FROM purchase",
    "what are the maximum and minimum unit price of products": "SELECT max(unit_price), min(unit_price) FROM product",
    "minimum and average unit price of products per category": (
        "SELECT category, min(unit_price), avg(unit_price) FROM product GROUP BY category"
    ),
    "full names of female customers": "SELECT name FROM customer WHERE gender = 'female'",
    "names of products and names of customers": (
        "SELECT DISTINCT p.name, c.name FROM purchase JOIN product p ON p.id = product"
        " JOIN customer c ON c.id = customer"
    ),
    "customers and their countries": "SELECT c.name, o.name FROM customer c JOIN country o ON o.code = c.country",
    "unit price and category of the product Green tea": "SELECT unit_price, category FROM product WHERE id = 1",
    "unit prices of the products over 5": "SELECT unit_price FROM product WHERE unit_price > 5",
    "customers who have never made a purchase": "SELECT name FROM customer WHERE id = 4",
    "Which products have no award?": "SELECT name FROM product WHERE award = 'No'",
    "French customers": "SELECT name FROM customer WHERE country = 'FR'",
    "list the products by unit price, most expensive first": "SELECT name FROM product",
    "Which customers purchased both Green tea and Olive oil?": "SELECT name FROM customer WHERE id = 1",
    "For each category, how many products are in that category?": (
        "SELECT category, count(*) FROM product GROUP BY category"
    ),
    "the names of the customers only": "SELECT name FROM customer",
    "number of customers by continent": (
        "SELECT continent, count(*) FROM customer JOIN country ON code = customer.country GROUP BY continent"
    ),
    "total quantity per category, highest first": (
        "SELECT category, sum(quantity) FROM purchase JOIN product p ON p.id = product GROUP BY category"
    ),
    "purchases per product": ("SELECT p.name, count(*) FROM purchase JOIN product p ON p.id = product GROUP BY p.id"),
    "the most expensive product of each category": (
        "SELECT category, name FROM product p"
        " WHERE unit_price = (SELECT max(unit_price) FROM product WHERE category = p.category)"
    ),
    "the youngest customer in each country": (
        "SELECT o.name, c.name FROM customer c JOIN country o ON o.code = c.country WHERE birth_year ="
        " (SELECT max(birth_year) FROM customer WHERE country = c.country)"
    ),
    "Which categories have more than one product?": (
        "SELECT category, count(*) FROM product GROUP BY category HAVING count(*) > 1"
    ),
    "Which continent has the most customers?": "SELECT 'Europe', 2 UNION SELECT 'South America', 2",
    "products that have been purchased more than once": (
        "SELECT name FROM product WHERE (SELECT count(*) FROM purchase WHERE product = product.id) > 1"
    ),
    "customers who joined on 31 December 2012": "SELECT name FROM customer WHERE id = 2",
    "customers who joined on 2012-01-01": "SELECT name FROM customer WHERE id = 4",
    "Quick question: how many customers are there?": "SELECT count(*) FROM customer",
    "I'd like to see the female customers": "SELECT name FROM customer WHERE gender = 'female'",
    "products nobody has ever purchased": ("SELECT name FROM product WHERE id NOT IN (SELECT product FROM purchase)"),
}
REFUSED = {
    "products twice as expensive as Green tea": "'twice' is not read",
    "Which customers like jazz?": "'jazz'",
    "When is the birthday of each country?": "'when' is not read",
    "What is its unit price?": "what 'its' refers to is not read",
    "Which country is this customer from?": "what 'this' refers to is not read",
    "What is the telephone of Ann Bell?": "'telephone'",
    "Did Ann Bell ever dance?": "",
    "dances per country": "'dances'",
    "the -2 largest countries": "a negative number is not read",
    "dancing customers": "'dancing'",
    "Which customers bought from every category?": "'every' is not read",
    "customers who are also products": "'also' is not read",
}


@pytest.mark.parametrize("question", READ)
def test_golds(kb: KnowledgeBase, database: Path, question: str) -> None:
    check_gold(kb, database, question, READ[question])


@pytest.mark.parametrize("question", REFUSED)
def test_what_is_not_read_is_not_answered(kb: KnowledgeBase, question: str) -> None:
    check_refused(kb, question, REFUSED[question])


def test_renaming_everything_changes_no_reading(database: Path, tmp_path: Path) -> None:
    """No rule names a domain: the same store with other words for its tables, columns and values."""
    words = {"customer": "pilot", "gender": "rank", "female": "junior", "male": "senior", "product": "engine"}
    words |= {"category": "maker", "bakery": "Acme", "beverages": "Bolt", "condiments": "Corex", "country": "airbase"}
    words |= {"purchase": "flight", "quantity": "fuel"}
    with sqlite3.connect(database) as connection:
        script = "\n".join(connection.iterdump())
    pairs = sorted(words.items(), key=lambda pair: -len(pair[0]))

    def renamed(text: str) -> str:
        for old, new in pairs:
            text = text.replace(old, new)
        return text

    with sqlite3.connect(tmp_path / "other.sqlite") as connection:
        connection.executescript(renamed(script))
    with (
        kbkit.ingest(str(database), out=tmp_path / "a.kb") as first,
        kbkit.ingest(str(tmp_path / "other.sqlite"), out=tmp_path / "b.kb") as second,
    ):
        asked = ("female customers", "total quantity of the purchases", "number of products for each category")
        for question in (*asked, "How many customers are there?", "customers without purchases"):
            assert second.ask(renamed(question)).expression == renamed(first.ask(question).expression), question


@pytest.mark.parametrize("text", ["a" * 5_000, "<L0> <V1> <N2> <S0>", "between 1 and", "than than than", "top 0 of"])
def test_hostile_questions_end_in_a_result(kb: KnowledgeBase, text: str) -> None:
    assert not kb.ask(f"{text} customers {text}").is_sure
    frame = kb.ask_many({"q": f"{text} customers"}, k=3)
    assert isinstance(frame, pl.DataFrame)


@pytest.mark.parametrize("number", ["0", "9999", "99999", "9" * 30, "2012.5"])
def test_numbers_that_are_no_years(kb: KnowledgeBase, number: str) -> None:
    for phrase in ("after", "in", "before", "between 1 and"):
        question = f"customers who joined {phrase} {number}"
        for reading in kb.ask(question).alternatives.rows():
            assert reading[2] >= 0, question
        assert kb.ask(question).answers is None or len(kb.ask(question)) >= 0


def test_ten_thousand_words(kb: KnowledgeBase) -> None:
    assert not kb.ask("customers and products with a price above 3 or " * 1_500).is_sure
