"""Sketches: a second opinion on answers, and readings to choose from where none is sure."""

from __future__ import annotations

from itertools import pairwise

import pytest

from kbkit.kb import KnowledgeBase
from kbkit.questions.question import Question
from kbkit.questions.read import AGREED, APART
from kbkit.questions.reader import QuestionReader
from kbkit.questions.sketches import judge
from kbkit.questions.sketches.numbers import asked_numbers
from kbkit.questions.sketches.reading import SketchReader
from kbkit.questions.sketches.words import SketchWords

NAME, SCRIPT = (
    "observatory",
    """
CREATE TABLE telescope (telescope_id INTEGER PRIMARY KEY, telescope_name TEXT, mirror_m REAL, built_year INTEGER,
  is_robotic TEXT);
INSERT INTO telescope VALUES (1, 'Argo', 2.2, 1984, 'no'), (2, 'Borea', 4.1, 1999, 'yes'),
  (3, 'Cygna', 1.0, 2007, 'yes'), (4, 'Draco', 0.6, 1962, 'no');
CREATE TABLE astronomer (astronomer_id INTEGER PRIMARY KEY, astronomer_name TEXT, country TEXT, salary INTEGER,
  hired_on DATE);
INSERT INTO astronomer VALUES (1, 'Ida Falk', 'Norway', 61000, '2001-03-01'), (2, 'Jo Grant', 'Ireland', 54000,
  '2010-09-15'), (3, 'Kim Hale', 'Norway', 72000, '1995-01-10'), (4, 'Lou Iver', 'Chile', 49000, '2015-06-01');
CREATE TABLE night (night_id INTEGER PRIMARY KEY, observed_on DATE, telescope_id INTEGER REFERENCES telescope,
  astronomer_id INTEGER REFERENCES astronomer, hours REAL, weather TEXT);
INSERT INTO night VALUES (1, '2019-05-02', 1, 1, 6.5, 'clear'), (2, '2020-06-03', 2, 1, 7.0, 'cloudy'),
  (3, '2020-07-09', 2, 3, 3.5, 'clear'), (4, '2021-01-20', 3, 2, 8.0, 'clear'), (5, '2021-02-11', 1, 3, 2.0, 'fog');
""",
)

NUMBERS = {
    "at least 5 nights": [(">=", "5")],
    "no more than two nights": [("<=", "2")],
    "between 10 and 20 m": [(">=", "10"), ("<=", "20")],
    "60 euros or more": [(">=", "60")],
    "in 1948 or 1949": [("=", "1948"), ("=", "1949")],
    "sold for 1.29": [("=", "1.29")],
    "over 3 million people": [(">", "3000000")],
    "built since 1990": [(">=", "1990")],
    "one of them": [],
}

OFFERED = {
    "which instruments are robotic?": "telescope{is_robotic = true}",
    "hours that Ida Falk has observed in total": 'sum(astronomer:"Ida Falk" -> [astronomer] -> night, hours)',
    "nights lost to fog": 'night{weather = "fog"}',
}


@pytest.mark.parametrize("text", NUMBERS)
def test_numbers_with_what_is_said_of_them(text: str) -> None:
    found = [(test.op, str(test.number)) for one in asked_numbers(Question.of(text)) for test in one.tests]
    assert found == NUMBERS[text]


def test_an_answer_that_a_sketch_confirms_is_almost_certain(kb: KnowledgeBase) -> None:
    result = kb.ask("Which telescopes were built after 1990?")
    assert result.nodes()["name"].to_list() == ["Borea", "Cygna"]
    assert result.confidence >= AGREED


def test_an_answer_that_the_best_sketch_does_not_share_is_less_certain(kb: KnowledgeBase) -> None:
    """No sketch is the second largest: the answer is right, but has no second opinion."""
    result = kb.ask("the second largest telescope")
    assert result.nodes()["name"].to_list() == ["Argo"]
    assert result.is_sure
    assert result.confidence == APART


@pytest.mark.parametrize("question", OFFERED)
def test_sketches_are_offered_where_no_reading_is_sure(kb: KnowledgeBase, question: str) -> None:
    result = kb.ask(question)
    assert OFFERED[question] in [one.expression for one in result.offered(3)]


def test_sketches_are_never_answers(kb: KnowledgeBase) -> None:
    reader = QuestionReader.of(kb.stores)
    for question in OFFERED:
        read = reader.read(question)
        assert not any(one.is_trusted for one in read.sketches)
        assert not read.is_sure or read.best not in read.sketches


@pytest.mark.parametrize("question", ["hello", "¹²³ 12 3.5", "; DROP TABLE zzqx"])
def test_what_names_nothing_has_no_sketches(kb: KnowledgeBase, question: str) -> None:
    assert not QuestionReader.of(kb.stores).read(question).sketches


@pytest.mark.parametrize(
    "question",
    ["astronomers from Norway with their salary", "which telescope has the most nights", "nights not in fog"],
)
def test_all_engines_agree_on_sketches(kb: KnowledgeBase, question: str) -> None:
    found = [one.expression for one in QuestionReader.of(kb.stores).read(question).sketches]
    results = [
        [(answers.ids.tolist(), answers.value) for answers in (kb.answers(one, engine=engine) for one in found)]
        for engine in ("walk", "sql", "sparql")
    ]
    assert found
    assert results[0] == results[1] == results[2]


def test_sketches_are_tried_in_the_order_of_their_scores(kb: KnowledgeBase) -> None:
    """The first ones do not change if fewer are tried."""
    reader = QuestionReader.of(kb.stores)
    read = reader.read("clear nights of robotic telescopes in 2020")
    words = SketchWords(reader.elements, read.question, read.by_clauses.links)
    sketches = SketchReader(reader.elements)
    every = judge.ranked(sketches.tried(words))
    assert all(one >= other for (one, _), (other, _) in pairwise(every))
    for most in (1, 3):
        some = judge.ranked(sketches.tried(words, most))[:most]
        assert [str(one.sketch.tree) for _, one in some] == [str(one.sketch.tree) for _, one in every[:most]]
