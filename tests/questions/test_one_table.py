"""Questions about one table without links: what is compared there, and what its rows leave open."""

from __future__ import annotations

import pytest

from kbkit.kb import KnowledgeBase

NAME, SCRIPT = (
    "games",
    """
CREATE TABLE medals (rank INTEGER, nation TEXT PRIMARY KEY, gold INTEGER, silver INTEGER, bronze INTEGER);
INSERT INTO medals VALUES (1, 'Algeria', 8, 3, 0), (2, 'Tunisia', 4, 3, 5), (3, 'Angola', 1, 0, 2),
  (4, 'Colombia', 1, 6, 2), (5, 'Venezuela', 0, 2, 7), (6, 'Peru', 0, 0, 1);
CREATE TABLE trophies (no INTEGER, player TEXT, county TEXT, cylinders TEXT);
INSERT INTO trophies VALUES (1, 'Ann Lee', 'Mayo', '2 inline'), (2, 'Ben Cox', 'Kerry', '4 inline'),
  (3, 'Ann Lee', 'Mayo', '6 inline'), (4, 'Dan Fox', 'Mayo', '8 inline');
CREATE TABLE album (title TEXT PRIMARY KEY, year INTEGER, seller TEXT);
INSERT INTO album VALUES ('Blue', 1999, 'Ann'), ('Red', 2001, 'Ben'), ('Grey', 1999, 'Ben');
""",
)

OFFERED = {
    "Which nation has more silver, Colombia or Venezuela?": (
        '(medal:"Colombia" | medal:"Venezuela"){max silver}',
        "Colombia",
    ),
    "Which nations have the same number of silver medals as Algeria?": (
        'medal{silver = values(medal:"Algeria", silver)} - medal:"Algeria"',
        "Tunisia",
    ),
}
OPEN = {
    "How many players are from Mayo?": "whether what repeats counts once",
    "Which player is listed first?": "Not answered",
    "Which player is below Ben Cox in the table?": "below ben cox in the table",
}


@pytest.mark.parametrize("question", OFFERED)
def test_comparisons_of_named_rows_are_offered(kb: KnowledgeBase, question: str) -> None:
    expression, name = OFFERED[question]
    assert kb.answers(expression).nodes()["name"].to_list() == [name]
    result = kb.ask(question)
    assert expression in [one.expression for one in result.offered(3)] or result.expression == expression


@pytest.mark.parametrize("question", OPEN)
def test_what_rows_leave_open_is_not_answered(kb: KnowledgeBase, question: str) -> None:
    result = kb.ask(question)
    assert not result.is_sure
    assert OPEN[question] in result.refusal


def test_what_appears_in_a_year_is_of_that_year(kb: KnowledgeBase) -> None:
    result = kb.ask("Which albums were released in 1999?")
    assert result.is_sure
    assert result.nodes()["name"].to_list() == ["Blue", "Grey"]


def test_distinct_values_are_counted_where_a_word_says_so(kb: KnowledgeBase) -> None:
    result = kb.ask("How many different players are from Mayo?")
    assert result.is_sure
    assert result.value == 2
