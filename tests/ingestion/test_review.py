"""The review of an inferred recipe: corrections infer again, and the build writes the recipe of the command."""

from __future__ import annotations

import contextlib
import shlex
from pathlib import Path

import pytest

import kbkit
from kbkit.errors import BadInputError, KbError
from kbkit.ingestion.inference import infer
from kbkit.ingestion.request import IngestSettings
from kbkit.ingestion.review import IngestReview, reviewing
from kbkit.kb import KnowledgeBase
from tests.conftest import Run

FILES = {
    "films.csv": "film_id,title,year,director,genre,notes\n"
    "F1,Alien,1979,P1,horror,x\nF2,Blade Runner,1982,P1,science fiction,y\nF3,Gravity,2013,P2,science fiction,x\n",
    "people.csv": "id,full_name,country\nP1,Ridley Scott,UK\nP2,Alfonso Cuaron,Mexico\nP3,Sigourney Weaver,USA\n",
    "cast.csv": "film_id,person_id,role\nF1,P3,Ripley\nF2,P1,himself\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of three tables."""
    (tmp_path / "data").mkdir()
    for name, text in FILES.items():
        (tmp_path / "data" / name).write_text(text)
    return tmp_path / "data"


def columns(review: IngestReview, table: str) -> dict[str, tuple[str, str]]:
    """What the columns of a table become."""
    [found] = [one for one in review.tables() if one.name == table]
    return {column.name: (column.becomes, column.target) for column in found.columns}


def test_corrections_that_contradict_or_have_signs(folder: Path, tmp_path: Path) -> None:
    with reviewing(str(folder), [], tmp_path / "k.kb", IngestSettings(stores=["tables"])) as review:
        for what, column in (("key", "full_name"), ("name", "country")):
            review.correct(what, "people", "", column)
            with pytest.raises(BadInputError, match=rf"Column people.{column} cannot be left out"):
                review.correct("column", "people", column, "omit")
        review.correct("type", "films", "", "{head} {")
        review.build()
    with KnowledgeBase(tmp_path / "k.kb") as kb:
        assert kb.sql("SELECT DISTINCT type FROM nodes WHERE key LIKE 'F%'")["type"].to_list() == ["{head} {"]


def test_corrections_are_those_of_the_command(folder: Path, tmp_path: Path, here: Run) -> None:
    out = tmp_path / "k.kb"
    settings = IngestSettings(stores=["adjacency"])
    with reviewing(str(folder), [], out, settings) as review:
        assert columns(review, "films") == {
            "film_id": ("key", ""),
            "title": ("name", ""),
            "year": ("attribute", ""),
            "director": ("link", "people"),
            "genre": ("attribute", ""),
            "notes": ("attribute", ""),
        }
        assert set(review.edges()) == {("film", "director", "person"), ("film", "cast", "person")}
        [edges] = [table for table in review.tables() if table.is_edges]
        assert edges.becomes.startswith("edges: cast, from ")
        for what, table, column, value in (
            ("type", "people", "", "human"),
            ("name", "people", "", "country"),
            ("column", "films", "genre", "nodes"),
            ("column", "films", "notes", "text"),
            ("column", "films", "notes", "omit"),  # the last one counts
            ("column", "films", "director", "attribute"),
        ):
            review.correct(what, table, column, value)
        assert review.types() == {"film": 3, "human": 3, "genre": 2}
        assert set(review.edges()) == {("film", "genre", "genre"), ("film", "cast", "human")}
        assert columns(review, "films")["notes"] == ("omit", "")
        before = review.corrections
        for what, table, column, value in (
            ("key", "people", "", "nothing"),
            ("column", "films", "year", "link:nothing"),
            ("column", "films", "year", "nonsense"),
            ("type", "nothing", "", "x"),
        ):
            with pytest.raises(KbError):
                review.correct(what, table, column, value)
        assert review.corrections == before
        review.undo()
        assert columns(review, "films")["director"] == ("link", "people")
        again = infer([folder], "k", review.corrections)
        assert (again.toml, again.sql) == (review.inferred.toml, review.inferred.sql)
        stages: list[str] = []
        review.build(lambda event: stages.append(event.stage))
        command = shlex.split(review.command())
    assert {"load", "adjacency", "publish"} <= set(stages)
    with kbkit.open(out) as kb:
        assert {t.name: t.count for t in kb.schema.node_types} == {"film": 3, "human": 3, "genre": 2}
        assert kb.node("human#P1").name == "UK"
        assert [a.name for a in kb.schema.type("film").attributes] == ["year"]
        assert len(kb.answers('genre:"science fiction" -> film')) == 2
    recipe = (tmp_path / "k.recipe" / "load.sql").read_text()
    command[command.index(str(out))] = str(tmp_path / "again.kb")
    here(*command[1:], "--stores", "adjacency")
    assert (tmp_path / "again.recipe" / "load.sql").read_text() == recipe


def test_what_cannot_be_reviewed(folder: Path, tmp_path: Path) -> None:
    def refused(source: str, out: Path) -> str:
        with pytest.raises(KbError) as error, contextlib.ExitStack() as stack:
            stack.enter_context(reviewing(source, [], out, IngestSettings()))
        return str(error.value)

    assert "world is a recipe" in refused("world", tmp_path / "k.kb")
    assert "does not exist" in refused(str(folder / "nothing.csv"), tmp_path / "k.kb")
    kbkit.ingest(str(folder), out=tmp_path / "old.kb", stores=["adjacency"]).close()
    assert "is already a KB" in refused(str(folder), tmp_path / "old.kb")
