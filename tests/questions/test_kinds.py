"""Nouns that say which kind of nodes is asked for, in a KB with types and without; decades; pairs with several ways."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import kbkit
from kbkit.kb import KnowledgeBase
from tests.questions.golds import answers

BOOKS = {"Red Dawn": 1952, "Blue Hour": 1959, "Grey Tide": 1963, "Last Harbour": 1974}
PEOPLE, PLACES, GENRES = ("Ada Quill", "Ben Orme", "Cy Vance"), ("Arles", "Bergen"), ("Comedy", "mystery")
EDGES = (
    ("Red Dawn", "written_by", "Ada Quill"),
    ("Blue Hour", "written_by", "Ada Quill"),
    ("Grey Tide", "written_by", "Ben Orme"),
    ("Last Harbour", "written_by", "Ben Orme"),
    ("Red Dawn", "translated_by", "Ben Orme"),
    ("Blue Hour", "translated_by", "Cy Vance"),
    ("Grey Tide", "translated_by", "Cy Vance"),
    ("Red Dawn", "set_in", "Arles"),
    ("Grey Tide", "set_in", "Bergen"),
    ("Last Harbour", "set_in", "Bergen"),
    ("Red Dawn", "has_genre", "Comedy"),
    ("Blue Hour", "has_genre", "mystery"),
    ("Grey Tide", "has_genre", "Comedy"),
)
UNTYPED: dict[str, set[str]] = {
    "which novels did Ada Quill write": {"Red Dawn", "Blue Hour"},
    "what is a novel written by Ben Orme": {"Grey Tide", "Last Harbour"},
    "who translated the novel Red Dawn": {"Ben Orme"},
    "which novels have the same translator as Blue Hour": {"Grey Tide"},
    "what genres are the novels translated by Cy Vance": {"Comedy", "mystery"},
    "who translated the novels written by the writer of Blue Hour": {"Ben Orme"},
    "the novels written by the writer of Red Dawn were translated by who": {"Cy Vance"},
    "who is the author of Grey Tide": {"Ben Orme"},
    "who on earth wrote Grey Tide": {"Ben Orme"},
    "who wrote the story for Grey Tide": {"Ben Orme"},
    "what genre does Red Dawn fall under": {"Comedy"},
    "what is the main genre of Red Dawn": {"Comedy"},
}
TYPED: dict[str, object] = {
    "which books did Ada Quill write": {"Red Dawn", "Blue Hour"},
    "books of the 1950s": {"Red Dawn", "Blue Hour"},
    "books from the 60s": {"Grey Tide"},
    "books since the 60s": {"Grey Tide", "Last Harbour"},
    "books before the 1960s": {"Red Dawn", "Blue Hour"},
    "books between 1952 and 1963": {"Red Dawn", "Blue Hour", "Grey Tide"},
    "comedies": {"Red Dawn", "Grey Tide"},
    "Is Ben Orme in Red Dawn?": True,
    "Did Ada Quill write Blue Hour?": True,
    "Did Ada Quill translate Red Dawn?": False,
    "when was Red Dawn published": [1952],
    "Ben Orme books since 1960": {"Grey Tide", "Last Harbour"},
    "Ben Orme books": {"Red Dawn", "Grey Tide", "Last Harbour"},  # written or translated
}
REFUSED = (
    "which author wrote the most books with Ben Orme",  # not books with the most places
    "translators who know Ada Quill",  # not her books
    "when did Ben Orme write",
    "soundtrack of Red Dawn",  # no genre
    "books that Ben Orme illustrated",
    "haunted books by Ada Quill",  # not all of hers
    "which books did Ada Quill both write and translate",  # not the people
    "Did Ada Quill ever fly with Ben Orme?",  # they are not one person
    "how many times was Red Dawn translated",
)


@pytest.fixture(scope="module", params=[True, False], ids=["typed", "untyped"])
def kb(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder: Path = tmp_path_factory.mktemp("kinds")
    kinds = {"book": tuple(BOOKS), "person": PEOPLE, "place": PLACES, "genre": GENRES}
    lines = ["key,type,name,year" if request.param else "key,name"]
    for kind, names in kinds.items():
        lines += [f"{n},{kind},{n},{BOOKS.get(n, '')}" if request.param else f"{n},{n}" for n in names]
    (folder / "nodes.csv").write_text("\n".join(lines), encoding="utf-8")
    edges = ["head,relation,tail", *(",".join(edge) for edge in EDGES)]
    (folder / "edges.csv").write_text("\n".join(edges), encoding="utf-8")
    with kbkit.ingest("table", folder, out=folder / "x.kb", stores=["adjacency", "text"]) as made:
        yield made


def test_nouns_for_kinds(kb: KnowledgeBase) -> None:
    expected = UNTYPED if len(kb.schema.node_types) == 1 else TYPED
    assert {question: answers(kb, question) for question in expected} == expected


def test_another_kind_is_no_answer(kb: KnowledgeBase) -> None:
    assert {question: answers(kb, question) for question in REFUSED} == dict.fromkeys(REFUSED)
