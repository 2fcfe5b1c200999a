"""Questions about tables as people put them: yes-or-no columns, pronouns, amounts, keys, units, typing errors.

Golds are SQL over a library that the test writes. The refused questions are near misses of those that are read.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kbkit.kb import KnowledgeBase
from tests.questions.golds import check_gold, check_refused

NAME, SCRIPT = (
    "library",
    """
CREATE TABLE branch (branch_id INTEGER PRIMARY KEY, name TEXT, city TEXT, has_cafe BOOLEAN, opened INTEGER);
INSERT INTO branch VALUES (1, 'Central', 'Leeds', 1, 1901), (2, 'Harbour', 'Hull', 0, 1965),
  (3, 'Meadow', 'York', 1, 1990), (4, 'Old Mill', 'Leeds', 0, 2004);
CREATE TABLE author (author_id INTEGER PRIMARY KEY, name TEXT, nationality TEXT, born INTEGER);
INSERT INTO author VALUES (1, 'Ada Quill', 'Norway', 1950), (2, 'Ben Roth', 'Germany', 1932),
  (3, 'Cora Lind', 'Sweden', 1971);
CREATE TABLE book (book_id INTEGER PRIMARY KEY, title TEXT, author_id INTEGER, pages INTEGER, in_print BOOLEAN,
  category TEXT, published DATE, duration_minutes INTEGER, FOREIGN KEY (author_id) REFERENCES author(author_id));
INSERT INTO book VALUES (1, 'The Quiet Tide', 1, 320, 1, 'fiction', '1988-03-04', 600),
  (2, 'Salt and Stone', 1, 210, 0, 'poetry', '1992-11-20', 120),
  (3, 'Iron Winter', 2, 540, 1, 'history', '1970-05-05', 900),
  (4, 'Green Cellars', 3, 180, 1, 'fiction', '2004-03-30', 240),
  (5, 'Old Roads', 2, 400, 0, 'travel', '2004-07-12', 500);
CREATE TABLE member (member_id INTEGER PRIMARY KEY, name TEXT, branch_id INTEGER, joined DATE, is_student BOOLEAN,
  fee REAL, FOREIGN KEY (branch_id) REFERENCES branch(branch_id));
INSERT INTO member VALUES (1, 'Nell Frost', 1, '2015-02-01', 1, 10), (2, 'Omar Vale', 1, '2016-06-11', 0, 25),
  (3, 'Pia Wood', 2, '2016-09-30', 0, 25), (4, 'Quin Yates', 3, '2018-03-15', 1, 10),
  (5, 'Rosa Zane', 2, '2020-12-24', 0, 30);
CREATE TABLE loan (loan_id INTEGER PRIMARY KEY, member_id INTEGER, book_id INTEGER, date DATE, fine REAL,
  FOREIGN KEY (member_id) REFERENCES member(member_id), FOREIGN KEY (book_id) REFERENCES book(book_id));
INSERT INTO loan VALUES (1, 1, 1, '2021-03-02', 0), (2, 1, 3, '2021-03-20', 2.5), (3, 2, 1, '2021-04-01', 1.0),
  (4, 3, 4, '2021-05-07', 0), (5, 3, 1, '2022-01-09', 4.0), (6, 5, 3, '2022-02-10', 0.5), (7, 1, 4, '2022-02-11', 0);
CREATE TABLE wallet (member_id INTEGER PRIMARY KEY, credit REAL, FOREIGN KEY (member_id) REFERENCES member(member_id));
INSERT INTO wallet VALUES (1, 5), (2, 40), (3, 12.5), (5, 0);
CREATE TABLE event (event_id INTEGER PRIMARY KEY, name TEXT, branch_id INTEGER, day DATE,
  FOREIGN KEY (branch_id) REFERENCES branch(branch_id));
INSERT INTO event VALUES (11, 'Poetry night', 1, '2021-06-01'), (12, 'Book swap', 2, '2021-07-15'),
  (13, 'Story hour', 1, '2022-01-20');
CREATE TABLE event_member (event_id INTEGER, member_id INTEGER, PRIMARY KEY (event_id, member_id),
  FOREIGN KEY (event_id) REFERENCES event(event_id), FOREIGN KEY (member_id) REFERENCES member(member_id));
INSERT INTO event_member VALUES (11, 1), (11, 2), (12, 3), (13, 1), (12, 1);
""",
)

READ = {
    # a column that says yes or no
    "branches with a cafe": "SELECT name FROM branch WHERE has_cafe",
    "branches in Leeds without a cafe": "SELECT name FROM branch WHERE NOT has_cafe AND city = 'Leeds'",
    "student members": "SELECT name FROM member WHERE is_student",
    "books that arent in print": "SELECT title FROM book WHERE NOT in_print",
    "does the Harbour branch have a cafe": "SELECT 0",
    # people and places that are asked for
    "who wrote Iron Winter": "SELECT 'Ben Roth'",
    "who came to the Poetry night event?": "SELECT name FROM member WHERE member_id IN (1, 2)",
    "anyone who attended both Poetry night and Story hour": "SELECT 'Nell Frost'",
    "who joined most recently": "SELECT 'Rosa Zane'",
    "books nobody borrowed": "SELECT title FROM book WHERE book_id NOT IN (SELECT book_id FROM loan)",
    "books by Quill": "SELECT title FROM book WHERE author_id = 1",
    # keys, spelling, peoples, months
    "who attended event 12": "SELECT name FROM member WHERE member_id IN (1, 3)",
    "authros born before 1950": "SELECT 'Ben Roth'",
    "books by norwegian authors": "SELECT title FROM book WHERE author_id = 1",
    "books published in March 2004": "SELECT 'Green Cellars'",
    "loans in february 2022": "SELECT loan_id FROM loan WHERE date > '2022-01-31'",
    # amounts
    "how much does Omar Vale have in his wallet?": "SELECT 40",
    "members with more than 10 in their wallet": "SELECT name FROM member WHERE member_id IN (2, 3)",
    "who has more credit than Pia Wood": "SELECT 'Omar Vale'",
    "what do Omar Vale and Pia Wood have in their wallets": "VALUES ('Omar Vale', 40), ('Pia Wood', 12.5)",
    "books longer than 5 hours": "SELECT title FROM book WHERE duration_minutes > 300",
    "member with the highest total fines": "SELECT 'Pia Wood', 4.0",
    # several nodes, comparisons with a node
    "members in Central and Meadow": "SELECT name FROM member WHERE branch_id IN (1, 3)",
    "pages of Iron Winter and Old Roads": "VALUES ('Iron Winter', 540), ('Old Roads', 400)",
    "books published after Iron Winter": "SELECT title FROM book WHERE published > '1970-05-05'",
    "authors who have written more books than Cora Lind": "SELECT name FROM author WHERE author_id < 3",
    # superlatives and order
    "the newest branch": "SELECT 'Old Mill'",
    "which branch opened first": "SELECT 'Central'",
    "which book is borrowed most": "SELECT 'The Quiet Tide'",
    "which category has the most books": "VALUES ('fiction', 2)",
    "the highest fee member": "SELECT 'Rosa Zane'",
    "top 2 books by pages": "SELECT title FROM book WHERE pages >= 400",
    "which branch has the highest average fee": "VALUES ('Harbour', 27.5)",
    # names beside attributes, lists, dates of verbs, flags, groups that a value stands for
    "members with their fees": "SELECT name, fee FROM member",
    "pages of Iron Winter, Old Roads and Green Cellars": "SELECT title, pages FROM book WHERE book_id IN (3, 4, 5)",
    "when was Ada Quill born": "SELECT 1950",
    "when did Nell Frost join": "SELECT '2015-02-01'",
    "how many student members are there": "SELECT 2",
    "books out of print": "SELECT title FROM book WHERE NOT in_print",
    "books that were never borrowed": "SELECT title FROM book WHERE book_id IN (2, 5)",
    "number of books per category, highest first": "SELECT category, count(*) FROM book GROUP BY category",
    "book with fewest pages in each category": (
        "SELECT category, title FROM book b WHERE pages = (SELECT min(pages) FROM book WHERE category = b.category)"
    ),
}
REFUSED = {
    "who borrowed Iron Winter": "'who'",
    "members who never smiled at anyone": "'smiled'",
    "which authors are the most popular": "a superlative",
    "books by Smith": "'smith'",
    "how much is Iron Winter": "'how much'",
    "loans of 3 days": "'days'",
    # what no word says, more than one question, words that are only similar
    "what score did Nell Frost get": "what is asked for",
    "who wrote Iron Winter and when": "'when'",
    "how did Nell Frost join": "'how'",
    "which members are insured": "no meaning found for 'insured'",
    "the northernmost branch": "a superlative",
    'which "purple volumes"': "",
    "members who borrowed fiction in 2022": "'fiction'",
    "participants in event 80": "'80'",
    # an adjective without a measure
    "long books": "'long'",
    "old branches in Leeds": "'old'",
    "long books by Ada Quill": "'long'",
}


@pytest.mark.parametrize("question", READ)
def test_golds(kb: KnowledgeBase, database: Path, question: str) -> None:
    check_gold(kb, database, question, READ[question])


@pytest.mark.parametrize("question", REFUSED)
def test_near_misses_are_refused(kb: KnowledgeBase, question: str) -> None:
    check_refused(kb, question, REFUSED[question])


def test_a_key_that_refers_back_is_no_link_of_the_table_it_refers_to(kb: KnowledgeBase) -> None:
    """Members and wallets share a key, but only wallets refer to members, and no member without one gets one."""
    relation = kb.schema.relation("member")
    assert {(one.head, one.tail) for one in relation.signatures} == {("loan", "member"), ("wallet", "member")}
    assert kb.schema.type("wallet").count == 4
