"""Phrases of relations that only name a type, and of nodes without a type, on small graphs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import kbkit
from kbkit.answers.parse import parse
from kbkit.answers.wording import noun_phrase, slot_nouns
from kbkit.benchmarks.fit_nodes import head_nouns, nameless_types, unnamed
from kbkit.english.headings import relation_heading
from kbkit.english.names import article_of, in_title_case, listed_names
from kbkit.english.relations import RECORDED, Link, is_bare_noun
from kbkit.english.roles import is_label, tail_noun
from kbkit.kb import KnowledgeBase
from kbkit.schema import Relation, Signature

FILMS = """\
Alpha,directed_by,Ann Lee
Alpha,starred_actors,Bo Ray
Alpha,release_year,1990
Alpha,has_tags,noir
Beta,directed_by,Ann Lee
Beta,starred_actors,Cy Dow
Beta,written_by,Bo Ray
Beta,has_tags,noir
"""


def relation(name: str, head: str = "node", tail: str = "node", *phrases: tuple[str, str]) -> Relation:
    return Relation(name, name, "", 1, 1, (Signature(head, tail, 1),), phrases=phrases)


@pytest.fixture
def films(tmp_path: Path) -> Iterator[KnowledgeBase]:
    """Films, whose triples give no types."""
    nodes = sorted({cell for line in FILMS.splitlines() for cell in line.split(",")[::2]})
    (tmp_path / "nodes.csv").write_text("key,type,name\n" + "".join(f"{name},node,{name}\n" for name in nodes))
    (tmp_path / "edges.csv").write_text("head,relation,tail\n" + FILMS)
    with kbkit.ingest("table", tmp_path, out=tmp_path / "films.kb") as kb:
        yield kb


# -- relations named like a type --------------------------------------------------------------------------------------


def test_a_foreign_key_is_worded_neutrally() -> None:
    own = relation("room", "reservation", "room")
    there, back = (Link(own, *ends, of_head=head) for ends, head in (
        (("reservation", "room"), True), (("room", "reservation"), False)))  # fmt: skip
    assert (there.is_record, back.is_record) == (True, True)
    assert (there.given, back.given) == ("has the room", "is listed for")
    clause = back.clause("<reservation>", is_named=True)
    assert clause is not None
    assert clause.reduced == "listed for <reservation>"
    assert back.clause("a reservation that ...", is_named=False) is None  # no chain of records


@pytest.mark.parametrize(
    ("name", "head", "tail", "is_record"),
    [
        ("building", "institution", "building", True),
        ("party_host", "party", "host", True),
        ("genre", "movie", "genre", False),
        ("director", "movie", "person", False),
        ("capital", "country", "city", False),
        ("books", "guest", "room", False),
    ],
)
def test_which_labels_say_no_more_than_types(name: str, head: str, tail: str, is_record: bool) -> None:
    assert Link(relation(name, head, tail), head, tail, of_head=True).is_record == is_record


def test_phrases_of_the_recipe_come_before_neutral_ones() -> None:
    link = Link(relation("room", "reservation", "room", ("head", "is for")), "reservation", "room", of_head=True)
    assert (link.is_record, link.given) == (False, "is for")


def test_a_recipe_can_say_that_a_relation_is_a_record() -> None:
    own = relation("schedule", "cinema", "film", ("head", RECORDED[True]), ("tail", RECORDED[False]))
    assert Link(own, "cinema", "film", of_head=True).is_record
    assert Link(own, "film", "cinema", of_head=False).is_record
    labels = ("schedule", "director", "genre", "acted in", "directed by")
    assert [is_bare_noun(label) for label in labels] == [True, False, False, False, False]


def test_the_recipe_of_a_link_table_says_so(tmp_path: Path) -> None:
    (tmp_path / "cinema.csv").write_text("cinema_id,name\n1,Odeon\n2,Rex\n")
    (tmp_path / "film.csv").write_text("film_id,title\n1,Alpha\n2,Beta\n3,Gamma\n")
    (tmp_path / "schedule.csv").write_text("cinema_id,film_id\n1,1\n1,2\n2,2\n2,3\n")
    files = [str(tmp_path / f"{name}.csv") for name in ("cinema", "film", "schedule")]
    with kbkit.ingest(*files, out=tmp_path / "town.kb") as kb:
        [own] = kb.schema.relations
        assert own.phrase("cinema", of_head=own.signatures[0].head == "cinema") in RECORDED.values()


def test_names_of_people_name_their_records(tmp_path: Path) -> None:
    rows = ["A,room,Blue Room,,", "1,reservation,ANN LEE,ANN,LEE", "2,reservation,BO RAY,BO,RAY"]
    (tmp_path / "nodes.csv").write_text("key,type,name,first_name,last_name\n" + "\n".join(rows) + "\n")
    (tmp_path / "edges.csv").write_text("head,relation,tail\n1,room,A\n2,room,A\n")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "inn.kb") as kb:
        assert article_of(kb.schema.type("reservation")) == "the reservation of"
        assert article_of(kb.schema.type("room")) == ""
        assert "recorded" not in relation_heading(kb.schema, "room", "reservation", "room", of_head=True)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["the reservation of Ann Lee", "the reservation of Bo Ray"], "the reservations of Ann Lee and Bo Ray"),
        (["the reservation of Ann Lee"], "the reservation of Ann Lee"),
        (["the Rhine", "the Nile"], "the Rhine and the Nile"),
        (["Chad", "the Bay of Fundy"], "Chad and the Bay of Fundy"),
    ],
)
def test_lists_of_names(names: list[str], text: str) -> None:
    assert listed_names(names) == text


@pytest.mark.parametrize(
    ("name", "shown"),
    [("ANN-MARIE O'NEILL", "Ann-Marie O'Neill"), ("NASA", "NASA"), ("USS ABC", "USS ABC"), ("Ann", "Ann")],
)
def test_names_in_capitals(name: str, shown: str) -> None:
    assert in_title_case(name) == shown


# -- nodes without a type ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "noun"),
    [
        ("directed_by", "director"),
        ("written_by", "writer"),
        ("starred_actors", "actor"),
        ("has_genre", "genre"),
        ("in_language", "language"),
        ("release_year", "release year"),
        ("cites", ""),
        ("part of", ""),
    ],
)
def test_what_a_tail_is(name: str, noun: str) -> None:
    assert tail_noun(relation(name)) == noun


def test_labels_explain_nothing() -> None:
    assert [is_label(noun) for noun in ("tag", "imdb vote", "rating", "genre")] == [True, True, True, False]


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("node:<x> -> [^directed_by] -> node", "films directed by <x>"),
        ("node:<x> -> [directed_by] -> node", "directors of <x>"),
        ("node:<x> -> [starred_actors] -> node", "actors in <x>"),
        ("node:<x> -> [directed_by] -> node -> [^directed_by] -> node", "films directed by a director of <x>"),
        ("node:<x> -> [^written_by] -> node -> [directed_by] -> node", "directors of a film written by <x>"),
        ("node:<x> -> [release_year] -> node", "release years of <x>"),
    ],
)
def test_roles_name_nodes_without_types(films: KnowledgeBase, expression: str, text: str) -> None:
    plan = films.session.resolved(parse(expression), expression)
    words = noun_phrase(plan, films.schema, head_nouns(films))
    assert words is not None
    assert words.text(is_plural=True, reduce=True) == text


def test_slots_have_roles_too(films: KnowledgeBase) -> None:
    heads = head_nouns(films)
    assert heads is not None
    expressions = ("node:<x> -> [directed_by] -> node", "node:<x> -> [^directed_by] -> node")
    plans = [films.session.resolved(parse(text), text) for text in expressions]
    assert [slot_nouns(plan, films.schema, heads) for plan in plans] == [{"x": "film"}, {"x": "director"}]


def test_heads_have_a_noun_only_if_it_is_sure(films: KnowledgeBase, world: KnowledgeBase, tmp_path: Path) -> None:
    assert set((head_nouns(films) or {}).values()) == {"film"}
    assert head_nouns(world) is None  # all nodes have types
    (tmp_path / "edges.csv").write_text("head,relation,tail\n" + FILMS.replace("starred_actors", "cites"))
    nodes = sorted({cell for line in FILMS.splitlines() for cell in line.split(",")[::2]})
    (tmp_path / "nodes.csv").write_text("key,type,name\n" + "".join(f"{name},node,{name}\n" for name in nodes))
    with kbkit.ingest("table", tmp_path, out=tmp_path / "works.kb") as kb:
        assert head_nouns(kb) == {}


# -- names ------------------------------------------------------------------------------------------------------------


def test_numbers_are_no_names(tmp_path: Path) -> None:
    rows = ["1,game,", "2,game,", "Q42,person,Q42", "d,person,Dee", "y,year,1990"]
    (tmp_path / "nodes.csv").write_text("key,type,name\n" + "\n".join(rows) + "\n")
    (tmp_path / "edges.csv").write_text("head,relation,tail\n1,won_by,d\n2,won_by,Q42\n1,played_in,y\n")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "games.kb") as kb:
        assert nameless_types(kb) == {"game"}
        keys = {row[0]: row[1] for row in kb.tables.rows("SELECT id, key FROM nodes")}
        assert {keys[node] for node in unnamed(kb, list(keys))} == {"1", "2", "Q42"}
