"""Headings of a node's page in words."""

from __future__ import annotations

from typing import Any

import pytest

from kbkit.display.places import coordinates
from kbkit.english.headings import attribute_heading, figure, relation_heading
from kbkit.kb import KnowledgeBase


@pytest.mark.parametrize(
    ("relation", "subject", "other", "of_head", "heading"),
    [
        ("speaks", "country", "language", True, "has the official or national language"),
        ("speaks", "language", "country", False, "is an official or national language of"),
        ("capital", "city", "country", False, "is the capital of"),
        ("flows_through", "country", "river", False, "rivers that flow through or along it"),
        ("member_of", "organisation", "country", False, "countries that are members of it"),
    ],
)
def test_relations(world: KnowledgeBase, relation: str, subject: str, other: str, of_head: bool, heading: str) -> None:
    assert relation_heading(world.schema, relation, subject, other, of_head=of_head) == heading


@pytest.mark.parametrize(
    ("name", "value", "heading", "shown"),
    [
        ("max_depth_m", 1642, "maximum depth (m)", 1642),
        ("area_km2", 147181.0, "area (km²)", "147,181"),
        ("budget", 12345.5, "budget", "12,345.5"),
        ("year", 2008, "year", 2008),
        ("zip_code", 90210, "zip code", 90210),
        ("active", True, "active", True),
        ("score", float("nan"), "score", None),
    ],
)
def test_attributes(name: str, value: Any, heading: str, shown: Any) -> None:
    assert attribute_heading(name) == heading
    assert shown is None or figure(name, value) == shown


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ({"latitude": 27.72, "longitude": "85.32"}, "27.72° N, 85.32° E"),
        ({"P625": ["Point(-70.5 -33.4)"]}, "33.40° S, 70.50° W"),
        ({"lat": 91, "lon": 0}, None),
        ({"lat": None, "lon": 0}, None),
    ],
)
def test_coordinates(attributes: dict[str, Any], text: str | None) -> None:
    place = coordinates(attributes)
    assert (None if place is None else str(place)) == text
