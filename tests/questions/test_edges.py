"""Questions about the columns of a table that joins two others: grades of enrolments, roles of teachers.

Golds are SQL over a school that the test writes. The refused questions are near misses of those that are read.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kbkit.answers.parse import parse
from kbkit.kb import KnowledgeBase
from kbkit.questions.reading_words import ReadingWords
from tests.questions.golds import check_gold, check_refused

NAME, SCRIPT = (
    "school",
    """
CREATE TABLE student (student_id INTEGER PRIMARY KEY, name TEXT, city TEXT, age INTEGER);
INSERT INTO student VALUES (1, 'Nell Frost', 'Leeds', 19), (2, 'Omar Vale', 'Hull', 24), (3, 'Pia Wood', 'Hull', 21),
  (4, 'Quin Yates', 'York', 20), (5, 'Rosa Zane', 'York', 23);
CREATE TABLE course (course_id INTEGER PRIMARY KEY, name TEXT, room_fund INTEGER);
INSERT INTO course VALUES (1, 'Databases', 40), (2, 'Botany', 900), (3, 'Sculpture', 15);
CREATE TABLE enrolled (student_id INTEGER, course_id INTEGER, grade INTEGER, hours REAL, fund INTEGER,
  status TEXT, final_rank INTEGER, PRIMARY KEY (student_id, course_id),
  FOREIGN KEY (student_id) REFERENCES student(student_id), FOREIGN KEY (course_id) REFERENCES course(course_id));
INSERT INTO enrolled VALUES (1, 1, 4, 30, 10, 'passed', 2), (1, 2, 2, 12.5, 90, 'failed', 5),
  (2, 1, 3, 45, 20, 'passed', 3), (3, 1, 5, 20, 0, 'passed', 1), (3, 3, 3, 8, 50, 'withdrawn', 4),
  (4, 2, 5, 60, 70, 'passed', 1), (5, 3, 1, 2, NULL, 'failed', 6), (2, 3, 4, 10, 5, 'passed', 1);
""",
)
ENROLLED = "SELECT DISTINCT s.name FROM student s JOIN enrolled e USING (student_id) WHERE "
READ = {
    "students with a grade over 3 in Databases": ENROLLED + "grade > 3 AND course_id = 1",
    "students with a grade of 4 or more in Databases": ENROLLED + "grade >= 4 AND course_id = 1",
    "students in Hull with a grade of 5": ENROLLED + "grade = 5 AND city = 'Hull'",
    "how many students had a grade below 3 in Sculpture": "SELECT 1",
    "students enrolled for more than 40 hours in Botany": "SELECT 'Quin Yates'",
    "students who enrolled for less than 10 hours": "VALUES ('Pia Wood'), ('Rosa Zane')",
    "students enrolled for no longer than 10 hours in Sculpture": "VALUES ('Pia Wood'), ('Rosa Zane'), ('Omar Vale')",
    "students with status failed in Sculpture": "SELECT 'Rosa Zane'",
    "courses with withdrawn status": "SELECT 'Sculpture'",
    "who are the students with final rank 1 in Botany": "SELECT 'Quin Yates'",
    # what the edges of each add up to
    "which student has the most hours": "SELECT 'Quin Yates'",
    "which student has the most hours in Sculpture": "SELECT 'Omar Vale'",
    "which course has the highest average grade": "SELECT 'Databases'",
    "which student has the lowest grade": "SELECT 'Rosa Zane'",
    "top 2 students by hours": "VALUES ('Quin Yates'), ('Omar Vale')",
    "how many hours did Nell Frost spend on Botany": "SELECT 12.5",
    # an attribute of edges that is called what one of other nodes is called in part
    "which students have a fund over 60": "VALUES ('Nell Frost'), ('Quin Yates')",
}
REFUSED = (
    "students without a grade over 3 in Databases",
    "students who did not get a grade over 3",
    "courses with more than 2 students with a grade over 3",
    "students with a blue grade over 3",
    "students with a grade over 3 in Databases and a grade below 3 in Botany",
)


@pytest.mark.parametrize("question", READ)
def test_golds(kb: KnowledgeBase, database: Path, question: str) -> None:
    check_gold(kb, database, question, READ[question])


@pytest.mark.parametrize("question", REFUSED)
def test_near_misses_are_refused(kb: KnowledgeBase, question: str) -> None:
    check_refused(kb, question)


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        (
            'course:"Botany" -> [enrolled{grade > 3, status = "passed"}] -> student',
            "students (by enrolled whose grade is more than 3 and status is passed) of the course Botany",
        ),
        ('course:"Botany" -> [enrolled+] -> student', ""),
        ('course:"Botany" -> [!enrolled] -> student', ""),
    ],
)
def test_words_of_a_reading_have_the_conditions_on_edges(kb: KnowledgeBase, expression: str, words: str) -> None:
    assert ReadingWords(kb.schema).text(parse(expression)) == words


def test_what_was_understood(kb: KnowledgeBase) -> None:
    result = kb.ask("students with a grade over 3 in Databases")
    assert {match.meaning for match in result.matches} >= {"enrolled.grade", "course#1", "student"}
    proof = result.why("student#3")
    assert proof is not None
    assert proof.facts == ("[enrolled] -> Databases: grade = 5",)
