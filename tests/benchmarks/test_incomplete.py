"""Categories that many nodes lack, answers named after the question, and acronyms of long names."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import kbkit
from kbkit.answers.parse import parse
from kbkit.answers.templates import Template
from kbkit.benchmarks.evidence import are_named_after
from kbkit.benchmarks.incomplete import gapped, uncategorized
from kbkit.benchmarks.requirements.relational import groundings
from kbkit.benchmarks.short_names import short_names
from kbkit.kb import KnowledgeBase
from tests.kbs import LIGHT

FILMS = 60
BOTH = "genre:<genre> -> [has_genre] -> film <- [directed] <- person:<person>"


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """Films of five directors, of which the last one's have no genre in part, and a body with a long name."""
    folder = tmp_path_factory.mktemp("films")
    nodes = ["key,type,name,aliases", *(f"f{n},film,Film {chr(65 + n % 26)}{n}," for n in range(FILMS))]
    nodes += [f"p{n},person,{name} Lee," for n, name in enumerate(("Ann", "Bo", "Cy", "Di", "Ed"))]
    nodes += ["g0,genre,Drama,", "g1,genre,Western,"]
    nodes += ["o0,organisation,Union of the Makers of Silent Films,UMSF|Silents"]
    edges = ["head,relation,tail", *(f"p{n % 5},directed,f{n}" for n in range(FILMS))]
    edges += [f"f{n},has_genre,g{n // 5 % 2}" for n in range(FILMS) if n % 5 < 4 or n < 15]
    edges += ["o0,supports,f0"]
    for name, lines in (("nodes", nodes), ("edges", edges)):
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with kbkit.ingest("table", folder, out=folder / "films.kb", stores=LIGHT) as kb:
        yield kb


def test_a_category_that_many_lack_is_asked_for_beside_something_else_alone(films: KnowledgeBase) -> None:
    assert len(uncategorized(films, "film", [("has_genre", True)])) == 9
    assert not len(uncategorized(films, "film", [("directed", False)]))
    alone, both = (films.session.resolved(parse(text), text).root for text in (BOTH.partition(" <-")[0], BOTH))
    assert (gapped(films, alone), gapped(films, both)) == ("has_genre", "")


def test_no_question_is_made_that_a_node_without_a_category_may_answer(films: KnowledgeBase) -> None:
    template = Template("t", BOTH, "film", "<genre> films by <person>")
    made = groundings(films, template, films.sample(template, 10, seed=0))
    named = {one.slots["person"].name for one in made}
    assert "Ann Lee" in named and "Ed Lee" not in named


@pytest.mark.parametrize(
    ("given", "answers", "are_named"),
    [
        (["pontiac"], ["Pontiac Catalina", "pontiac safari (sw)", "Lotus"], True),
        (["Back to the Future"], ["Back to the Future Part II", "Contact", "Flight"], False),
        (["saab", "bmw"], ["saab 99e", "bmw 2002"], True),
        (["Niger"], ["Nigeria", "Benin"], False),
        (["X"], [], False),
    ],
)
def test_answers_that_are_named_after_what_a_query_names(given: list[str], answers: list[str], are_named: bool) -> None:
    assert are_named_after(given, answers) is are_named


def test_bodies_with_long_names_have_acronyms(films: KnowledgeBase) -> None:
    assert list(short_names(films, range(films.schema.nodes)).values()) == ["the UMSF"]
