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


def test_dates_in_several_forms_and_edges_are_corrected(tmp_path: Path, here: Run) -> None:
    days = ["1954-04-26", "25/08/1950", "20 March 1972", "1979", "12/16/1967", "03/04/1958", "1961-10-10 20:15"]
    rows = "".join(f"F{n},Film {n},{day},{'A;B' if n else 'B;C'}\n" for n, day in enumerate(days))
    (tmp_path / "films.csv").write_text("film_id,title,released,genres\n" + rows)
    votes = "film_id,user,stars\nF0,ann,5\nF0,bob,4\nF2,ann,\nF9,bob,unknown\n"
    (tmp_path / "votes.csv").write_text(votes)
    files = [tmp_path / "films.csv", tmp_path / "votes.csv"]
    out = tmp_path / "k.kb"
    settings = IngestSettings(stores=["adjacency"])
    with reviewing(str(files[0]), files[1:], out, settings) as review:
        [films, found] = review.tables()
        assert [column.name for column in films.columns if column.is_dated] == ["released"]
        assert found.columns[-1].missing == 2
        for what, table, column, value in (
            ("column", "votes", "user", "nodes"),
            ("column", "films", "genres", "nodes"),
            ("relation", "votes", "", "rates"),
            ("turn", "votes", "", ""),
        ):
            review.correct(what, table, column, value)
        assert ("user", "rates", "film") in review.edges()
        assert review.types() == {"film": 8, "genre": 3, "user": 2}  # F9 has no row
        review.correct("turn", "votes", "", "")
        assert ("film", "rates", "user") in review.edges()
        review.undo()
        readings = {
            "year": [1954, 1950, 1972, 1979, 1967, 1958, 1961],
            "mdy": ["1954-04-26", "1950-08-25", "1972-03-20", None, "1967-12-16", "1958-03-04", "1961-10-10 20:15:00"],
            "dmy": ["1954-04-26", "1950-08-25", "1972-03-20", None, "1967-12-16", "1958-04-03", "1961-10-10 20:15:00"],
        }
        for kind, values in readings.items():
            review.correct("column", "films", "released", f"date:{kind}")
            column = review.inferred.tables[0].columns["released"].value
            rows_of = review.examination.con.execute(f"SELECT {column} FROM films").fetchall()
            assert [str(value).removesuffix(" 00:00:00") for (value,) in rows_of] == list(map(str, values))
        assert any("1 of 7 values have no day, such as '1979'" in note for note in review.inferred.notes)
        review.build()
        with KnowledgeBase(out) as kb:
            assert {t.name: t.count for t in kb.schema.node_types} == review.types()
            assert kb.sql("SELECT key FROM film ORDER BY released LIMIT 1")["key"].to_list() == ["F1"]
            assert len(kb.answers("user#ann -> [rates] -> film")) == 2
        command = shlex.split(review.command())
        with pytest.raises(KbError):
            review.correct("column", "films", "released", "date:nonsense")
        review.correct("type", "votes", "", "vote")  # a name of a relation that its table has no longer
        assert any("votes" in note and "relation" in note for note in review.inferred.notes)
    command[command.index(str(out))] = str(tmp_path / "again.kb")
    here(*command[1:], "--stores", "adjacency")
    again, first = (tmp_path / f"{name}.recipe" / "load.sql" for name in ("again", "k"))
    assert again.read_text() == first.read_text()


def test_columns_share_a_type_and_links_to_several_rows_are_noted(tmp_path: Path) -> None:
    files = {
        "venues.csv": "venue_id,name,city\nV1,Old Chapel,Leipzig\nV2,Cellar Club,Hamburg\nV3,Lake Stage,Konstanz\n",
        "players.csv": "name,kind,home\nLeo Stein,pianist,Leipzig\nMia Cole,singer,Hamburg\nLeo Stein,pianist,Berlin\n",
        "concerts.csv": "id,title,player,sold\nC1,A,Leo Stein,n/a\nC2,B,Mia Cole,5\nC3,C,Mia Cole,7\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    paths = [tmp_path / name for name in files]
    settings = IngestSettings(stores=["adjacency"])
    with reviewing(str(paths[0]), paths[1:], tmp_path / "k.kb", settings) as review:
        for table, column, value in (
            ("venues", "city", "nodes"), ("players", "home", "nodes"), ("concerts", "player", "link:players")
        ):  # fmt: skip
            review.correct("column", table, column, value)
        with pytest.raises(KbError, match="The rows of venues have the type venue"):
            review.correct("type", "players.home", "", "venue")
        review.correct("type", "players.home", "", "city")
        assert {("player", "home", "city"), ("venue", "city", "city")} < set(review.edges())
        [sold] = [one for table in review.tables() for one in table.columns if one.name == "sold"]
        assert (sold.missing, sold.distinct) == (1, 2)
        note = "Linked to each of several rows that have a value: concerts.player ('Leo Stein' in players)"
        assert note in review.inferred.notes
        review.build()
        assert "--type players.home=city" in review.command()
        review.correct("column", "players", "home", "attribute")
        assert "players.home" not in review.corrections.types
    with KnowledgeBase(tmp_path / "k.kb") as kb:
        assert len(kb.answers('city:"Leipzig"')) == 1
        assert {t.name: t.count for t in kb.schema.node_types} == {"venue": 3, "player": 3, "concert": 3, "city": 4}


def test_a_folder_that_is_called_like_a_recipe(folder: Path, monkeypatch: pytest.MonkeyPatch, here: Run) -> None:
    monkeypatch.chdir(folder.parent)
    folder.rename("csv")
    with pytest.raises(KbError, match="csv is a recipe") as refused, contextlib.ExitStack() as stack:
        stack.enter_context(reviewing("csv", [], Path("k.kb"), IngestSettings()))
    assert "Name the files only: ./csv" in str(refused.value)
    with reviewing("./csv", [], Path("k.kb"), IngestSettings(stores=["adjacency"])) as review:
        review.correct("type", "people", "", "human")
        review.build()
        command = shlex.split(review.command())
    assert kbkit.open("k.kb").schema.type("human").count == 3
    command[command.index("k.kb")] = "again.kb"
    here(*command[1:], "--stores", "adjacency")


def test_what_cannot_be_reviewed(folder: Path, tmp_path: Path) -> None:
    def refused(source: str, out: Path) -> str:
        with pytest.raises(KbError) as error, contextlib.ExitStack() as stack:
            stack.enter_context(reviewing(source, [], out, IngestSettings()))
        return str(error.value)

    assert "world is a recipe" in refused("world", tmp_path / "k.kb")
    assert "does not exist" in refused(str(folder / "nothing.csv"), tmp_path / "k.kb")
    kbkit.ingest(str(folder), out=tmp_path / "old.kb", stores=["adjacency"]).close()
    assert "is already a KB" in refused(str(folder), tmp_path / "old.kb")
