"""Questions over a college: irregular plurals, prerequisites, part time, each of somebody's courses, prizes."""

from __future__ import annotations

from pathlib import Path

import pytest

from kbkit.kb import KnowledgeBase
from tests.questions.golds import check_gold, check_refused

NAME, SCRIPT = (
    "college",
    """
CREATE TABLE staff (staff_no INTEGER PRIMARY KEY, full_name TEXT, title TEXT, full_time TEXT, hired_on DATE,
  salary INTEGER);
INSERT INTO staff VALUES (1, 'Ulrike Brandt', 'Professor', 'yes', '1999-04-01', 80),
  (2, 'Henrik Aalto', 'Professor', 'no', '2010-10-01', 60), (3, 'Grace Mwangi', 'Lecturer', 'yes', '2021-03-01', 50),
  (4, 'Julien Roche', 'Lecturer', 'yes', '2020-09-01', 45);
CREATE TABLE course (code TEXT PRIMARY KEY, course_title TEXT, level TEXT, hours INTEGER, staff_no INTEGER,
  FOREIGN KEY (staff_no) REFERENCES staff(staff_no));
INSERT INTO course VALUES ('G1', 'Geology', 'Bachelor', 40, 1), ('G2', 'Mineralogy', 'Master', 60, 1),
  ('G3', 'Hydrology', 'Master', 30, 2), ('G4', 'Fossils', 'Bachelor', 20, 3);
CREATE TABLE prerequisite (code TEXT REFERENCES course(code), needs TEXT REFERENCES course(code),
  PRIMARY KEY (code, needs));
INSERT INTO prerequisite VALUES ('G2', 'G1'), ('G3', 'G1'), ('G3', 'G2');
CREATE TABLE student (student_no INTEGER PRIMARY KEY, name TEXT, sex TEXT, date_of_birth DATE, entry_year INTEGER,
  country TEXT);
INSERT INTO student VALUES (11, 'Ana Ribeiro', 'F', '2001-05-05', 2020, 'Portugal'),
  (12, 'Ben Cole', 'M', '2003-01-01', 2019, 'Ireland'), (13, 'Mei Lin', 'F', '1999-12-31', 2021, 'China');
CREATE TABLE enrolment (student_no INTEGER REFERENCES student(student_no), code TEXT REFERENCES course(code),
  mark INTEGER, PRIMARY KEY (student_no, code));
INSERT INTO enrolment VALUES (11, 'G1', 90), (11, 'G2', 60), (12, 'G1', 50), (12, 'G4', 95), (13, 'G2', 70);
CREATE TABLE thesis (thesis_id INTEGER PRIMARY KEY, thesis_title TEXT, field TEXT, pages INTEGER, submitted_on DATE,
  supervisor_no INTEGER REFERENCES staff(staff_no));
INSERT INTO thesis VALUES (21, 'Lava Tubes', 'Geology', 110, '2022-01-01', 2),
  (22, 'Karst Caves', 'Geology', 60, NULL, 3), (23, 'Snow Depth', 'Climate', 70, '2023-02-02', 2);
CREATE TABLE prize (prize_id INTEGER PRIMARY KEY, prize_name TEXT, prize_year INTEGER, thesis_id INTEGER,
  FOREIGN KEY (thesis_id) REFERENCES thesis(thesis_id));
INSERT INTO prize VALUES (31, 'Golden Hammer', 2022, 21), (32, 'Golden Hammer', 2023, 23),
  (33, 'Silver Pick', 2023, 21);
CREATE TABLE campus (campus_id INTEGER PRIMARY KEY, campus_name TEXT, town TEXT);
INSERT INTO campus VALUES (1, 'North Campus', 'Arlen'), (2, 'Harbour Campus', 'Brook'), (3, 'Old Campus', 'Corby');
CREATE TABLE shuttle (shuttle_id INTEGER PRIMARY KEY, origin INTEGER REFERENCES campus(campus_id),
  dest INTEGER REFERENCES campus(campus_id), minutes INTEGER, cancelled TEXT);
INSERT INTO shuttle VALUES (1, 1, 2, 10, 'N'), (2, 2, 3, 25, 'Y'), (3, 3, 1, 40, 'N');
CREATE TABLE trip (trip_id INTEGER PRIMARY KEY, shuttle_id INTEGER REFERENCES shuttle(shuttle_id), pax INTEGER);
INSERT INTO trip VALUES (1, 1, 12), (2, 1, 30);
CREATE TABLE tutoring (student_no INTEGER REFERENCES student(student_no), staff_no INTEGER REFERENCES staff(staff_no),
  since DATE, until DATE, PRIMARY KEY (student_no, staff_no));
INSERT INTO tutoring VALUES (11, 1, '2020-10-01', '2021-09-30'), (11, 3, '2021-10-01', NULL),
  (12, 2, '2019-10-01', NULL);
""",
)
READ = {
    # plurals that do not end in s alone
    "In which fields are there two or more theses?": "SELECT 'Geology', 2",
    "Which theses are longer than the average thesis?": "SELECT 'Lava Tubes'",
    "How many pages does the longest thesis have?": "SELECT 110",
    "Titles of the theses that haven't been handed in yet": "SELECT 'Karst Caves'",
    # what a noun says of two nodes of a type
    "Is Geology a prerequisite of Mineralogy?": "SELECT 1",
    "Is Mineralogy a prerequisite of Geology?": "SELECT 0",
    "Which courses have no prerequisites?": "SELECT 'Geology' UNION SELECT 'Fossils'",
    # who denies both
    "Which staff neither teach a course nor supervise a thesis?": "SELECT 'Julien Roche'",
    "Which students are neither from Portugal nor from China?": "SELECT 'Ben Cole'",
    "Who works part-time?": "SELECT 'Henrik Aalto'",
    # dates of people
    "Who is the oldest student?": "SELECT 'Mei Lin'",
    "Which staff member has worked at the college the longest?": "SELECT 'Ulrike Brandt'",
    "Which staff were taken on in 2020 or later, and when?": (
        "SELECT full_name, hired_on FROM staff WHERE hired_on >= '2020-01-01'"
    ),
    # a count of each
    "How many men and how many women are there?": "SELECT sex, count(*) FROM student GROUP BY sex",
    "How many women are in each course?": "SELECT 'Geology', 1 UNION SELECT 'Mineralogy', 2",
    "How many students are in each of Ulrike Brandt's courses?": "SELECT 'Geology', 2 UNION SELECT 'Mineralogy', 2",
    "Which two courses have the highest average marks?": "SELECT 'Fossils' UNION SELECT 'Geology'",
    # one of the nodes that share a name
    "Which thesis won the Golden Hammer in 2023?": "SELECT 'Snow Depth'",
    # two ends of one type
    "Which shuttles take over 20 minutes? Give the origin and destination towns.": (
        "SELECT 'Brook', 'Corby' UNION SELECT 'Corby', 'Arlen'"
    ),
    "How many passengers did we carry?": "SELECT 42",
    "How many shuttles are there, leaving out cancelled ones?": "SELECT 2",
    # what has not ended
    "Which staff are currently tutoring Ana Ribeiro?": "SELECT 'Grace Mwangi'",
    "Which courses last longer than 35 hours?": "SELECT 'Geology' UNION SELECT 'Mineralogy'",
}
REFUSED = {
    "Who are the full professors?": "'full'",
    "What is Geology a prerequisite of?": "the direction of 'prerequisite'",
}


@pytest.mark.parametrize("question", READ)
def test_gives_the_rows_of_the_sql(kb: KnowledgeBase, database: Path, question: str) -> None:
    check_gold(kb, database, question, READ[question])


@pytest.mark.parametrize("question", REFUSED)
def test_what_is_not_read_is_not_answered(kb: KnowledgeBase, question: str) -> None:
    check_refused(kb, question, REFUSED[question])
