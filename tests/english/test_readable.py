"""Labels and names that cannot be part of a sentence, and predicates that nobody asks about."""

from __future__ import annotations

from pathlib import Path

import pytest

import kbkit
from kbkit.benchmarks.quest.families import families
from kbkit.benchmarks.requirements import relational
from kbkit.english import askable, readable
from kbkit.english.relations import REMEDY, Link, left_out, unworded
from kbkit.english.types import type_noun
from kbkit.errors import KbError
from kbkit.schema import Relation, Signature


@pytest.mark.core
@pytest.mark.parametrize(
    ("label", "problem"),
    [
        ("P1855", readable.MACHINE_ID),
        ("/m/04nfpk", readable.MACHINE_ID),
        ("/film/film/starring", readable.MACHINE_ID),
        ("film.film.starring", readable.MACHINE_ID),
        ("http://a.org/p", readable.MACHINE_ID),
        ("dc:title", readable.SYMBOLS),
        ("1984", readable.NUMBER),
        ("starred_extras", readable.BARE_OBJECT),
        ("bought products", readable.BARE_OBJECT),
        ("directed_by", ""),
        ("has the genre", ""),
        ("takes place in", ""),
        ("flows through or along", ""),
        ("is expressed in, or expresses", ""),
        ("can cause", ""),
        ("comes in the colour", ""),
        ("gene/protein", ""),
    ],
)
def test_labels(label: str, problem: str) -> None:
    assert readable.relation_problem(label) == problem


@pytest.mark.core
@pytest.mark.parametrize(
    ("label", "is_odd"),
    [
        ("maximum depth", False),
        ("GDP per capita", False),
        ("IMDb rating", False),
        ("Goldschmidt class", False),
        ("geochemical class", False),
        ("date of 1st race", False),
        ("allele", False),
        ("vdw radius", True),
        ("c6 gb", True),
        ("covalent radius pyykko", True),
        ("size it", True),
    ],
)
def test_words_of_attributes(label: str, is_odd: bool) -> None:
    assert readable.attribute_problem(label) == (readable.UNKNOWN_WORD if is_odd else "")


@pytest.mark.core
@pytest.mark.parametrize(
    ("label", "problem"),
    [
        ("years as tallest", readable.NO_HEAD),
        ("check out", readable.NO_HEAD),
        ("capacity percentage", readable.PERCENTAGE),
        ("percentage", ""),
        ("number of votes", ""),
        ("date of birth", ""),
        ("born in", ""),
        ("time in office", ""),
    ],
)
def test_attributes_without_a_noun(label: str, problem: str) -> None:
    assert readable.attribute_problem(label) == problem


@pytest.mark.core
@pytest.mark.parametrize(
    ("label", "lacks"),
    [("votes", True), ("score", True), ("average rating", True), ("IMDb rating", False), ("content rating", False)],
)
def test_ratings_need_a_rater(label: str, lacks: bool) -> None:
    assert askable.lacks_rater(label) == lacks


@pytest.mark.core
@pytest.mark.parametrize(
    ("text", "stands_for_nothing"), [("none", True), ("N/A", True), ("Unknown", True), ("Nona", False)]
)
def test_placeholders(text: str, stands_for_nothing: bool) -> None:
    assert readable.is_placeholder(text) == stands_for_nothing


@pytest.mark.parametrize(
    ("name", "key", "problem"),
    [
        ("/m/04nfpk", "x", readable.MACHINE_ID),
        ("Q42", "x", readable.MACHINE_ID),
        ("ZNF1234", "ZNF1234", readable.MACHINE_ID),
        ("ZNF1234", "7", ""),
        ("1984", "1984", ""),
        ("n/a", "1", readable.PLACEHOLDER),
        ("unknown", "1", readable.PLACEHOLDER),
        ("Paris", "Paris", ""),
    ],
)
def test_names(name: str, key: str, problem: str) -> None:
    assert readable.name_problem(name, key) == problem


@pytest.mark.parametrize(
    ("label", "kind", "reason"),
    [
        ("IMDb ID", "text", askable.IDENTIFIER),
        ("latitude", "number", askable.MEDIA),
        ("file name", "text", askable.MEDIA),
        ("coordinate location", "text", askable.MEDIA),
        ("property example", "entity", askable.MAINTENANCE),
        ("Wikidata property example", "entity", askable.MAINTENANCE),
        ("instance of", "entity", askable.STRUCTURE),
        ("has category", "entity", askable.GROUP),
        ("id", "entity", askable.IDENTIFIER),
        ("official name", "text", askable.A_NAME),
        ("birth name", "text", ""),
        ("area", "number", ""),
        ("director", "entity", ""),
    ],
)
def test_predicates(label: str, kind: str, reason: str) -> None:
    assert askable.unfit(label, kind) == reason


def relation(name: str, *phrases: tuple[str, str]) -> Relation:
    return Relation(name, name, "", 1, 1, (Signature("person", "movie", 1),), phrases=phrases)


def test_a_noun_of_the_tail_is_not_repeated() -> None:
    assert Link(relation("directed_movie"), "person", "movie", of_head=True).clause("<m>", is_named=True) is not None
    link = Link(relation("directed_movies"), "movie", "person", of_head=False)
    assert link.verb is not None
    assert link.verb.singular == "was directed by"


def test_phrases_of_the_recipe_need_no_label() -> None:
    link = Link(relation("starred_extras", ("head", "stars")), "person", "movie", of_head=True)
    assert (link.problem, link.verb and link.verb.singular) == ("", "stars")
    assert Link(relation("starred_extras"), "person", "movie", of_head=True).verb is None


def test_relations_that_cannot_be_worded_are_reported(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("key,type,name\na,movie,A\nb,person,B\n")
    (tmp_path / "edges.csv").write_text("head,relation,tail\na,starred_extras,b\na,directed_by,b\n")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "m.kb") as kb:
        found = unworded(kb.schema)
        assert found == {"starred_extras": readable.BARE_OBJECT}
        [line] = left_out(found)
        assert "starred_extras" in line
        assert "phrases = {" in line
        questions = kb.suggest_templates(10)["question"].to_list()
        assert questions
        assert not any("starred extras actors" in text or "that starred extras" in text for text in questions)


def test_a_kb_without_any_relation_that_can_be_worded_is_refused(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("key,type,name\na,movie,A\nb,person,B\nc,movie,C\n")
    (tmp_path / "edges.csv").write_text("head,relation,tail\na,starred_extras,b\nc,starred_extras,b\n")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "m.kb") as kb:
        with pytest.raises(KbError, match="the label of relation starred_extras has a noun after its verb") as refused:
            relational.templates(kb)
        assert REMEDY in str(refused.value.hints)
        assert not any(family.id.count("starred_extras") for family in families(kb, "movie"))


@pytest.mark.parametrize(
    ("node_type", "noun"),
    [("Film", "film"), ("human", "person"), ("entity", "thing"), ("BodyOfWater", "body of water"), ("RNA", "RNA")],
)
def test_nouns_of_types(node_type: str, noun: str) -> None:
    assert type_noun(node_type) == noun
