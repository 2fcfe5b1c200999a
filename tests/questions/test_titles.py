"""Names that are function words or have marks, and nouns for kinds in a graph without types."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import kbkit
from kbkit.kb import KnowledgeBase
from tests.questions.golds import answers

EDGES = """head,relation,tail
Heat,directed_by,Ann Bell
One on One,directed_by,Bob Cole
What's in a Name?,directed_by,Cleo Dun
Star!,directed_by,Ann Bell
Five,directed_by,Bob Cole
Rock 'n' Roll Night,directed_by,Dan Eck
2012,directed_by,Dan Eck
Heat,written_by,Ann Bell
Five,written_by,Ann Bell
Five,written_by,Cleo Dun
Star!,written_by,Ann Bell
Heat,release_year,2012
2012,release_year,2009
Star!,release_year,2001
Heat,has_genre,Crime
Star!,has_genre,Musical
"""
READ = {
    "who directed One on One": {"Bob Cole"},
    "who directed What's in a Name?": {"Cleo Dun"},
    "when was the movie Star! released": {"2001"},
    "who directed Rock 'n' Roll Night": {"Dan Eck"},
    "what film genre is Heat": {"Crime"},
    "what genre of film is Heat": {"Crime"},
    "what genre does Heat fall under": {"Crime"},
    "who are film co-writers of Cleo Dun": {"Ann Bell"},
    # one relation, which two words say
    "what year was Heat released": {"2012"},
    # statements
    "Five is a film directed by this person": {"Bob Cole"},
}


READ_OF_PLAIN = {
    "which movies share the director with Five": {"One on One"},
    "the director of Heat also directed movies": {"Star!"},
}
"""Questions that are read where no film is called as a year."""


def made(folder: Path, edges: str) -> KnowledgeBase:
    names = dict.fromkeys(name for line in edges.splitlines()[1:] for name in line.split(",")[::2])
    (folder / "nodes.csv").write_text("key,name\n" + "".join(f"{name},{name}\n" for name in names))
    (folder / "edges.csv").write_text(edges)
    return kbkit.ingest("table", folder, out=folder / "films.kb")


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    with made(tmp_path_factory.mktemp("films"), EDGES) as opened:
        yield opened


@pytest.mark.parametrize("question", READ)
def test_what_is_read(kb: KnowledgeBase, question: str) -> None:
    result = kb.ask(question)
    assert answers(kb, question) == READ[question], (result.expression, result.refusal)


def test_what_is_shared_and_what_a_statement_asks_for(tmp_path: Path) -> None:
    plain = "".join(line for line in EDGES.splitlines(keepends=True) if not line.startswith("2012"))
    with made(tmp_path, plain) as kb:
        assert {question: answers(kb, question) for question in READ_OF_PLAIN} == READ_OF_PLAIN
