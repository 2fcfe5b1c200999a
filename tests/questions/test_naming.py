"""Questions about tables whose names are short or other than the words that people use, and about their rows.

Golds are SQL over two small databases that the test writes: hotels with abbreviated names, and a club that logs planes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import kbkit
from kbkit.english.abbreviations import shortened, stands_for
from kbkit.kb import KnowledgeBase
from kbkit.questions.plain_text import with_columns
from tests.questions.golds import check_gold, check_refused, made

HOTELS = """
CREATE TABLE htl (htl_id INTEGER PRIMARY KEY, htl_nm TEXT, city TEXT, n_rms INTEGER, clsd_dt DATE, pool_yn TEXT,
  ph TEXT);
CREATE TABLE cmplnt (cmplnt_id INTEGER PRIMARY KEY, ttl TEXT, htl_id INTEGER, sev TEXT,
  FOREIGN KEY (htl_id) REFERENCES htl(htl_id));
INSERT INTO cmplnt VALUES (7, 'Noise', 1, 'High'), (8, 'Cold water', 1, 'Low'), (9, 'Noise', 3, 'Low');
INSERT INTO htl VALUES (1, 'Seaview Hotel', 'Brighton', 120, NULL, 'Y', 'open'),
  (2, 'Alpine Lodge', 'Davos', 40, NULL, 'N', 'open'), (3, 'Hotel Astor', 'Vienna', 310, NULL, 'Y', 'open'),
  (4, 'Harbour Hotel', 'Oslo', 95, '2021-10-31', 'N', 'sold');
CREATE TABLE gst (gst_id INTEGER PRIMARY KEY, gst_nm TEXT, ctry TEXT);
INSERT INTO gst VALUES (1, 'Anna Weber', 'Germany'), (2, 'Bruno Rossi', 'Italy'), (3, 'Clara Novak', 'Norway');
CREATE TABLE bkng (bkng_id INTEGER PRIMARY KEY, gst_id INTEGER, htl_id INTEGER, arr_dt DATE, amt_eur REAL, canc_yn TEXT,
  chnl TEXT, FOREIGN KEY (gst_id) REFERENCES gst(gst_id), FOREIGN KEY (htl_id) REFERENCES htl(htl_id));
INSERT INTO bkng VALUES (101, 1, 1, '2022-05-01', 300, 'N', 'Website'), (102, 1, 3, '2022-06-11', 820, 'Y', 'Phone'),
  (103, 2, 1, '2023-01-20', 150, 'N', 'Phone'), (104, 2, 4, '2021-03-05', 90, 'N', 'Website');
"""
CLUB = """
CREATE TABLE aircraft (aircraft_id INTEGER PRIMARY KEY, model TEXT, maker TEXT, engines INTEGER, range_km INTEGER,
  out_of_production INTEGER);
INSERT INTO aircraft VALUES (1, 'Concorde', 'BAC', 4, 7200, 1), (2, 'A320', 'Airbus', 2, 6100, 0),
  (3, 'Lancaster', 'Avro', 4, 4070, 1), (4, 'A380', 'Airbus', 4, 14800, 1), (5, 'Typhoon', 'Eurofighter', 2, 2900, 0);
CREATE TABLE member (member_id INTEGER PRIMARY KEY, full_name TEXT, town TEXT, joined DATE,
  is_committee_member INTEGER, paid_subscription INTEGER, left_on DATE);
INSERT INTO member VALUES (1, 'Alan Pike', 'York', '2001-04-03', 1, 1, NULL),
  (2, 'Beth Marsh', 'Leeds', '2010-09-12', 0, 0, '2022-09-01'), (3, 'Colin Day', 'York', '2015-01-30', 0, 0, NULL),
  (4, 'Dora Finch', 'Hull', '2018-02-02', 0, 0, NULL), (5, 'Evan Roper', 'Hull', '2019-02-02', 0, 0, NULL);
CREATE TABLE outing (outing_id INTEGER PRIMARY KEY, title TEXT, held_on DATE, seats_sold INTEGER);
INSERT INTO outing VALUES (1, 'Spring fair', '2020-04-04', 30), (2, 'Air show', '2021-06-06', 25),
  (3, 'Night flight', '2021-11-11', 20), (4, 'Museum day', '2022-03-03', 10);
CREATE TABLE attendance (attendance_id INTEGER PRIMARY KEY, member_id INTEGER, outing_id INTEGER, was_late INTEGER,
  excuse TEXT, reported DATE,
  FOREIGN KEY (member_id) REFERENCES member(member_id), FOREIGN KEY (outing_id) REFERENCES outing(outing_id));
INSERT INTO attendance VALUES (1, 1, 1, 0, NULL, NULL),
  (2, 2, 1, 1, 'Bad cold', '2020-04-05'), (3, 2, 2, 0, NULL, NULL), (4, 3, 2, 0, NULL, NULL),
  (5, 4, 2, 1, 'Train delay', '2021-06-07'), (6, 5, 4, 1, 'Bad cold', '2022-03-04');
CREATE TABLE airfield (airfield_id INTEGER PRIMARY KEY, field_name TEXT, county TEXT, runway_m INTEGER);
INSERT INTO airfield VALUES (1, 'Elvington', 'Yorkshire', 3094), (2, 'Duxford', 'Cambridgeshire', 1503),
  (3, 'Brough', 'Yorkshire', 1140);
CREATE TABLE log_entry (entry_id INTEGER PRIMARY KEY, aircraft_id INTEGER, member_id INTEGER, airfield_id INTEGER,
  spotted_on DATE, plane_count INTEGER, is_confirmed INTEGER, weather TEXT,
  FOREIGN KEY (aircraft_id) REFERENCES aircraft(aircraft_id), FOREIGN KEY (member_id) REFERENCES member(member_id),
  FOREIGN KEY (airfield_id) REFERENCES airfield(airfield_id));
INSERT INTO log_entry VALUES (11, 1, 1, 1, '2020-05-01', 1, 1, 'rain'), (12, 2, 1, 2, '2020-06-01', 3, 1, 'sunny'),
  (13, 3, 1, 1, '2021-05-01', 1, 0, 'sunny'), (14, 3, 2, 2, '2021-07-01', 2, 1, 'rain'),
  (15, 2, 2, 1, '2022-05-01', 5, 0, 'overcast'), (16, 4, 2, 2, '2022-08-01', 1, 1, 'sunny');
CREATE TABLE fault (fault_id INTEGER PRIMARY KEY, aircraft_id INTEGER, part TEXT,
  FOREIGN KEY (aircraft_id) REFERENCES aircraft(aircraft_id));
INSERT INTO fault VALUES (21, 1, 'Cracked window'), (22, 1, 'Loose rivet in wing'), (23, 2, 'Cracked window'),
  (24, 3, 'Leaking fuel pump'), (25, 3, 'Leaking fuel pump'), (26, 4, 'Loose rivet in wing'),
  (27, 5, 'Leaking oil pump');
CREATE TABLE airfield_owner (member_id INTEGER, airfield_id INTEGER, fee_gbp REAL,
  FOREIGN KEY (member_id) REFERENCES member(member_id), FOREIGN KEY (airfield_id) REFERENCES airfield(airfield_id));
INSERT INTO airfield_owner VALUES (1, 1, 30), (2, 1, 20), (1, 2, 45);
"""
OF_HOTELS = {
    # abbreviated words, units, flags
    "guests from Norway": "SELECT gst_nm FROM gst WHERE ctry = 'Norway'",
    "Which hotels have a pool?": "SELECT htl_nm FROM htl WHERE pool_yn = 'Y'",
    "How many bookings were cancelled?": "SELECT 1",
    "bookings that were not cancelled": "SELECT bkng_id FROM bkng WHERE canc_yn = 'N'",
    "average amount of bookings per channel": "SELECT chnl, avg(amt_eur) FROM bkng GROUP BY chnl",
    "number of hotels for each phase": "SELECT ph, count(*) FROM htl GROUP BY ph",
    "titles of the complaints about the Seaview Hotel": "VALUES ('Noise'), ('Cold water')",
    "How many complaints are there for each severity?": "SELECT sev, count(*) FROM cmplnt GROUP BY sev",
    # several columns beside a superlative
    "the two largest hotels by rooms, with the city": "SELECT htl_nm, city FROM htl WHERE n_rms >= 120",
    "the 2 largest hotels by rooms: city and phase": "SELECT htl_nm, city, ph FROM htl WHERE n_rms >= 120",
    # what is absent, and dates that are known of some
    "Which guests have never booked anything?": "SELECT 'Clara Novak'",
    "Are there any hotels that have no bookings? Which ones?": "SELECT 'Alpine Lodge'",
    "Which hotels have closed?": "SELECT 'Harbour Hotel'",
    "Which hotels have closed, and in what year?": "VALUES ('Harbour Hotel', '2021-10-31')",
}
OF_CLUB = {
    # nouns that stand for a type
    "planes with four engines": "SELECT model FROM aircraft WHERE engines = 4",
    "How many planes are there?": "SELECT 5",
    "Which planes are out of production?": "SELECT model FROM aircraft WHERE out_of_production",
    # conditions on one row, absences
    "Which aircraft has Alan Pike spotted at Elvington?": "VALUES ('Concorde'), ('Lancaster')",
    "Which planes has Beth Marsh spotted at Duxford?": "VALUES ('Lancaster'), ('A380')",
    "Which planes have never been spotted?": "SELECT 'Typhoon'",
    "Which planes have never been spotted in the rain?": "VALUES ('A320'), ('A380'), ('Typhoon')",
    "airfields with no owner on record": "SELECT 'Brough'",
    "Has anyone ever spotted a Concorde at Elvington?": "SELECT 1",
    "Has anyone ever spotted a Concorde at Duxford?": "SELECT 0",
    # flags, dates of verbs, several columns
    "unconfirmed log entries": "SELECT entry_id FROM log_entry WHERE NOT is_confirmed",
    "the committee members with their town and the date they joined": "VALUES ('Alan Pike', 'York', '2001-04-03')",
    # words of a value
    "faults with the fuel": "SELECT fault_id FROM fault WHERE part = 'Leaking fuel pump'",
    "Which aircraft have a loose rivet?": "SELECT model FROM aircraft WHERE aircraft_id IN (1, 4)",
    # what never was, more parts of the name of one column, a year that is no number of things
    "members who have never been late": "VALUES ('Alan Pike'), ('Colin Day')",
    "members who have paid their subscription": "SELECT 'Alan Pike'",
    "How many seats were sold in 2021?": "SELECT 45",
    "Which members have left?": "SELECT 'Beth Marsh'",
    # sums over edges
    "total fees by county": "VALUES ('Yorkshire', 50.0), ('Cambridgeshire', 45.0)",
    "Which member has paid the most in fees?": "SELECT 'Alan Pike'",
}
REFUSED_OF_HOTELS = {
    "Which restaurants have a pool?": "'restaurants'",
    "staff in Vienna": "'staff'",
    "hotels with no sauna": "",
    "hotels with a spa": "'spa'",
    "How many chefs are there?": "",
}
REFUSED_OF_CLUB = {
    "Which trains are out of production?": "'trains'",
    "Which trains has Alan Pike spotted?": "'trains'",
    "boats spotted in the rain": "'boats'",
    "airfields with no cafe": "",
    "faults of a pump": "'pump'",
    "members who have never missed anything": "",
    "How many planes did Beth Marsh spot?": "",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("naming")
    made(folder / "hotels.sqlite", HOTELS)
    made(folder / "club.sqlite", CLUB)
    return folder


def _ingested(database: Path) -> Iterator[KnowledgeBase]:
    with kbkit.ingest(str(database), out=database.with_suffix(".kb")) as kb:
        yield kb


@pytest.fixture(scope="module")
def hotels(folder: Path) -> Iterator[KnowledgeBase]:
    yield from _ingested(folder / "hotels.sqlite")


@pytest.fixture(scope="module")
def club(folder: Path) -> Iterator[KnowledgeBase]:
    yield from _ingested(folder / "club.sqlite")


@pytest.mark.parametrize("question", OF_HOTELS)
def test_golds_of_abbreviated_names(hotels: KnowledgeBase, folder: Path, question: str) -> None:
    check_gold(hotels, folder / "hotels.sqlite", question, OF_HOTELS[question])


@pytest.mark.parametrize("question", OF_CLUB)
def test_golds_of_a_log(club: KnowledgeBase, folder: Path, question: str) -> None:
    check_gold(club, folder / "club.sqlite", question, OF_CLUB[question])


@pytest.mark.parametrize("question", REFUSED_OF_HOTELS)
def test_near_misses_of_abbreviated_names_are_refused(hotels: KnowledgeBase, question: str) -> None:
    check_refused(hotels, question, REFUSED_OF_HOTELS[question])


@pytest.mark.parametrize("question", REFUSED_OF_CLUB)
def test_near_misses_of_a_log_are_refused(club: KnowledgeBase, question: str) -> None:
    check_refused(club, question, REFUSED_OF_CLUB[question])


def test_a_noun_that_stands_for_a_type_is_less_certain_than_its_name(club: KnowledgeBase) -> None:
    named, standing = club.ask("aircraft with four engines"), club.ask("planes with four engines")
    assert standing.expression == named.expression
    assert standing.confidence < named.confidence


@pytest.mark.parametrize(
    ("short", "word"),
    [("ctr", "centres"), ("cond", "conditions"), ("strt", "started"), ("flt", "flights"), ("ttl", "title")],
)
def test_abbreviations(short: str, word: str) -> None:
    assert stands_for(short, word)


@pytest.mark.parametrize(
    ("short", "word"), [("per", "percentage"), ("cat", "category"), ("trl", "track"), ("ctr", "cat"), ("no", "number")]
)
def test_what_is_no_abbreviation(short: str, word: str) -> None:
    assert not stands_for(short, word)


def test_of_two_abbreviations_none_is_meant() -> None:
    assert shortened("contract", ["cont", "ctrct"]) == ""
    assert shortened("contract", ["cont", "contr"]) == "contr"


def test_a_title_with_a_colon_is_no_list_of_columns() -> None:
    assert with_columns("actors of Alien: Resurrection and Heat") == "actors of Alien: Resurrection and Heat"
    assert with_columns("the 2 longest films: title and year") == "the 2 longest films with their title and year"
