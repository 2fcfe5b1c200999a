"""Phrases of categories, names with articles, plurals of types, and what an editor would strike."""

from __future__ import annotations

import pytest

from kbkit.english import categories, readable
from kbkit.english.names import named
from kbkit.english.types import type_plural


@pytest.mark.parametrize(
    ("label", "of_head", "of_tail"),
    [
        ("directed", "films that directed {name}", "films directed by {name}"),
        ("has the genre", "films with {name} as a genre", "films that are genres of {name}"),
        ("is about", "films about {name}", "films that {name} is about"),
        ("was made in", "films made in {name}", "films in which {name} was made"),
        ("is in the language", "films in the language {name}", "films that {name} is in"),
        ("has a coast on", "films with a coast on {name}", "films off the coast of {name}"),
        ("flows into", "films that flow into {name}", "films into which {name} flows"),
        ("passes", "films that pass {name}", "films passed by {name}"),
        ("carries", "films that carry {name}", "films carried by {name}"),
        ("lies in", "films in {name}", "films home to {name}"),
        ("wrote", "films that wrote {name}", "films written by {name}"),
        ("affiliated with", "films affiliated with {name}", "films with which {name} is affiliated"),
        ("in continent", "films in {name}", "films that {name} is in"),
        ("directed_by", "films directed by {name}", "films that directed {name}"),
        ("is a member of", "films that are members of {name}", "films of which {name} is a member"),
        ("is a parent or a child of", "films that are parents or children of {name}", None),
        ("part of", "films that are part of {name}", "films of which {name} is part"),
        ("adjacent to", "films adjacent to {name}", "films to which {name} is adjacent"),
        ("similar to", "films similar to {name}", "films to which {name} is similar"),
        ("is shown in, or shows", "films that are shown in, or show {name}", None),
        ("is not shown in, or does not show", "films that are not shown in, or do not show {name}", None),
        ("capital", "films with the capital {name}", "films that are capitals of {name}"),
        ("published in", "films published in {name}", "films in which {name} is published"),
        ("those who bought it also bought", "films such that those who bought them also bought {name}", None),
    ],
)
def test_labels_become_phrases(label: str, of_head: str, of_tail: str | None) -> None:
    assert categories.of_head("film", label) == of_head
    assert of_tail is None or categories.of_tail("film", label) == of_tail


@pytest.mark.parametrize(
    ("label", "other", "of_head"),
    [
        ("has the genre", "genre", "films in the {name} genre"),
        ("belongs to the genre", "genre", "films in the {name} genre"),
        ("is in the language", "language", "films in the {name} language"),
        ("is about", "keyword", 'films with the keyword "{name}"'),
        ("has the brand", "brand", "films with the brand {name}"),
        ("is rated", "content_rating", "films rated {name}"),
        ("has {} as a member", "person", "films with {name} as a member"),
        ("is expressed in, or expresses", "anatomy", "films that are expressed in, or express {name}"),
    ],
)
def test_phrases_name_the_other_type(label: str, other: str, of_head: str) -> None:
    assert categories.of_head("film", label, other) == of_head


@pytest.mark.parametrize(
    ("name", "node_type", "shown"),
    [
        ("Red Sea", "sea", "the Red Sea"),
        ("Hudson Bay", "sea", "Hudson Bay"),
        ("Nile", "river", "the Nile"),
        ("Lake Chad", "lake", "Lake Chad"),
        ("United States", "country", "the United States"),
        ("Chad", "country", "Chad"),
        ("African Union", "organisation", "the African Union"),
        ("BRICS", "organisation", "BRICS"),
        ("The Hague", "city", "The Hague"),
        ("Gulf of Silence", "film", "Gulf of Silence"),
        ("Euro", "currency", "the euro"),
    ],
)
def test_articles(name: str, node_type: str, shown: str) -> None:
    assert named(name, node_type) == shown


@pytest.mark.parametrize(
    ("pattern", "name", "reason"),
    [
        ("films about {name}", "/m/04nfpk", readable.MACHINE_ID),
        ("films about {name}", "Q4711", readable.MACHINE_ID),
        ("films about {name}", "sport/sports team", readable.SYMBOLS),
        ("films about {name}", "war_movie", readable.SYMBOLS),
        ("films about {name}", "the", readable.STOP_WORDS),
        ("films about {name}", "1984", readable.NUMBER),
        ("films about {name}", "None", readable.PLACEHOLDER),
        ("films rated {name}", "Unrated", readable.REPEATED),
        ('seas of the kind "{name}"', "sea", readable.REPEATED),
        ("films about about {name}", "war", readable.REPEATED),
        ("papers that published in {name}", "WSDM", readable.AGREEMENT),
        ("films that is about {name}", "war", readable.AGREEMENT),
        ("countries that pay in {name}", "Chad", ""),
        ("about {name}", "war", readable.NO_HEAD),
        ("films about {name}", "war", ""),
        ("films about {name}", "The Who", ""),
        ("films rated {name}", "PG-13", ""),
        ('films with the keyword "{name}"', "12 year old", ""),
    ],
)
def test_readability(pattern: str, name: str, reason: str) -> None:
    assert readable.objection(pattern.format(name=name), name, pattern) == reason


def test_people_who() -> None:
    assert categories.of_head("person", "acted in") == "people who acted in {name}"
    assert categories.of_tail("person", "capital") == "people who are capitals of {name}"


@pytest.mark.parametrize(
    ("attribute", "several", "pattern"),
    [
        ("pages", False, "films whose pages are {name}"),
        ("un_status", False, "films whose UN status is {name}"),
        ("series", False, "films whose series is {name}"),
        ("areas", False, "films whose areas are {name}"),
        ("basis", False, "films whose basis is {name}"),
        ("tags", True, "films whose tags include {name}"),
        ("genre", True, "films whose genre includes {name}"),
    ],
)
def test_attributes_agree(attribute: str, several: bool, pattern: str) -> None:
    assert categories.of_attribute("film", attribute, year=False, several=several) == pattern


@pytest.mark.parametrize(
    ("one", "many"),
    [
        ("country", "countries"),
        ("day", "days"),
        ("gene/protein", "genes or proteins"),
        ("field_of_study", "fields of study"),
        ("person", "people"),
        ("analysis", "analyses"),
        ("content_rating", "content ratings"),
        ("box", "boxes"),
    ],
)
def test_plurals(one: str, many: str) -> None:
    assert type_plural(one) == many
