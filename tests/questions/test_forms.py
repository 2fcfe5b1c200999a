"""Forms of questions: which of two, averages of how long, quarters, trailing columns, best and worst, asides, units."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbkit.english.abbreviations import expanded
from kbkit.kb import KnowledgeBase
from kbkit.questions.plain_text import with_columns, with_months, without_asides
from kbkit.questions.reader import QuestionReader
from tests.questions.golds import check_gold, check_refused

NAME, SCRIPT = (
    "shelf",
    """
CREATE TABLE author (author_id INTEGER PRIMARY KEY, name TEXT, born DATE);
INSERT INTO author VALUES (1, 'Ada Moss', '1950-02-01'), (2, 'Ben Roe', '1962-05-05'), (3, 'Cid Vane', '1971-01-20');
CREATE TABLE book (book_id INTEGER PRIMARY KEY, title TEXT, author_id INTEGER, pages INTEGER, rating REAL,
  size_kb INTEGER, published DATE, record TEXT, price REAL, FOREIGN KEY (author_id) REFERENCES author(author_id));
INSERT INTO book VALUES (10, 'Tides', 1, 300, 4.5, 900, '2020-05-17', 'gold', 3),
  (11, 'Embers', 1, 120, 3.5, 300, '2021-02-02', 'silver', 9),
  (12, 'Ravens', 2, 500, 2.5, 2500, '2021-05-30', 'gold', 7),
  (13, 'Salt Road', 1, 220, 4.0, 1200, '2021-08-09', NULL, 5),
  (15, 'Why Not?', 3, 60, 3.0, 80, '2019-03-03', NULL, 2), (14, 'Dusk', 3, 90, 1.5, 150, '2022-11-11', NULL, 4);
CREATE TABLE loan (loan_id INTEGER PRIMARY KEY, book_id INTEGER, loan_date DATE, return_date DATE,
  FOREIGN KEY (book_id) REFERENCES book(book_id));
INSERT INTO loan VALUES (1, 10, '2021-01-05', '2021-01-15'), (2, 10, '2021-04-01', NULL), (3, 11, '2022-05-10', NULL);
CREATE TABLE laser (laser_id INTEGER PRIMARY KEY, name TEXT, wavelength_nm INTEGER, warmup_min INTEGER,
  error_rate REAL);
INSERT INTO laser VALUES (1, 'Ruby', 694, 12, 0.3), (2, 'Argon', 488, 30, 0.1), (3, 'Helium Neon', 633, 20, 0.2);
""",
)
ADA, RAVENS = "SELECT 'Ada Moss'", "SELECT 'Ravens'"
READ = {
    # which of what is named
    "Which has more books, Ada Moss or Ben Roe?": ADA,
    "Who has fewer books, Ada Moss or Ben Roe?": "SELECT 'Ben Roe'",
    "Which author has more books: Ben Roe or Ada Moss?": ADA,
    "Does Ada Moss or Ben Roe have more books?": ADA,
    "Tides, Dusk or Ravens: which has more pages": RAVENS,
    "Which book has the lower rating, Tides or Ravens?": RAVENS,
    "who is older, Ada Moss or Cid Vane?": ADA,
    "what's costlier, Tides or Dusk?": "SELECT 'Dusk'",
    # averages of how long
    "How long does the warmup take on average?": "SELECT avg(warmup_min) FROM laser",
    "How long are books on average?": "SELECT avg(pages) FROM book",
    # quarters and halves of years
    "how many books were published in the second quarter of 2021": "SELECT 1",
    "books published in Q3 2021": "SELECT 'Salt Road'",
    "loans before the second half of 2021": "SELECT loan_id FROM loan WHERE loan_date < '2021-07-01'",
    # columns after the question
    "What was published in 2021? title and pages": "SELECT title, pages FROM book WHERE published LIKE '2021%'",
    "list the lasers with name, wavelength and warmup": "SELECT name, wavelength_nm, warmup_min FROM laser",
    # best and worst
    "which book has the worst rating?": "SELECT 'Dusk'",
    "which laser has the worst error rate?": "SELECT 'Ruby'",
    "what is the best error rate": "SELECT 0.1",
    # asides, though a column is called record
    "how many books are on record?": "SELECT 6",
    "which books do you have on record": "SELECT title FROM book",
    "list all the lasers that you have in the database": "SELECT name FROM laser",
    # units in names of columns
    "which lasers have a wavelength over 0.6 micrometers": "SELECT name FROM laser WHERE wavelength_nm > 600",
    "which laser has the longest wavelength": "SELECT 'Ruby'",
    "books larger than 1 MB": "SELECT title FROM book WHERE size_kb > 1000",
}
REFUSED = {
    "How long do loans last on average?": "the time between two dates",
    "How heavy are books on average?": "'weight'",  # size_kb is no weight
    "which laser has the best wavelength": "which wavelength (nm) is the best",
    "the best laser": "which error rate is the best",
    "books published in the second quarter": "'quarter'",
    "which won more, Ada Moss or Ben Roe?": "'more'",
}


@pytest.mark.parametrize("question", READ)
def test_golds(kb: KnowledgeBase, database: Path, question: str) -> None:
    check_gold(kb, database, question, READ[question])


@pytest.mark.parametrize("question", REFUSED)
def test_what_is_not_read_is_not_answered(kb: KnowledgeBase, question: str) -> None:
    check_refused(kb, question, REFUSED[question])


@pytest.mark.parametrize(
    ("change", "text", "changed"),
    [
        (with_months, "sales in Q2 2021", "sales between April 2021 and June 2021"),
        (with_months, "since the 1st quarter of 2020", "since January 2020"),
        (with_months, "after the first half of 2020", "after June 2020"),
        (with_months, "2021-Q4 sales", "between October 2021 and December 2021 sales"),
        (with_months, "the third half of 2020", "the third half of 2020"),
        (without_asides, "how many songs are in our database?", "how many songs are there?"),
        (without_asides, "what do you have?", "what do you have?"),
        (without_asides, "songs of On Record", "songs of On Record"),
        (with_columns, "Which rooms are free? Name and price, please.", "Which rooms are free with Name and price"),
        (with_columns, "Is it free? and why", "Is it free? and why"),
    ],
)
def test_texts_are_read_as_other_texts(change: object, text: str, changed: str) -> None:
    assert callable(change)
    assert change(text) == changed


def test_a_question_mark_in_a_name_does_not_end_the_question(kb: KnowledgeBase) -> None:
    reader = QuestionReader.of(kb.stores)
    assert reader.read("the book Why Not? author").question.text == "the book Why Not? author"
    assert reader.read("Which books are there? author").question.text == "Which books are there with author"


def test_nm_is_a_unit_or_a_name() -> None:
    assert expanded(["wavelength", "nm"]) == ["wavelength", "nm"]
    assert expanded(["cust", "nm"]) == ["customer", "name"]
