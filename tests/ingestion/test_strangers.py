"""A recipe or a KB from a stranger: it reads, writes and runs nothing beyond its own folder and the named files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from kbkit.directory.generations import KbDirectory
from kbkit.kb import KnowledgeBase
from kbkit.stores.tables import FILE
from tests.conftest import Run
from tests.examples import first_some

RECIPE = 'title = "t"\nlicence = "CC0-1.0"\n[files.people]\nmatch = ["people.csv"]\n'
SQL = "CREATE TABLE nodes AS SELECT key, name FROM people; CREATE TABLE edges(head TEXT, relation TEXT, tail TEXT);\n"
PEOPLE = "key,name\na,Ann\n"


@pytest.fixture
def ingest(here: Run, tmp_path: Path) -> Callable[..., str]:
    """Run a recipe on ``people.csv`` and return what it is refused with; the file stays as it was."""

    def run(recipe: str = RECIPE, sql: str = SQL, *paths: str) -> str:
        folder = tmp_path / "recipe"
        folder.mkdir(exist_ok=True)
        (folder / "recipe.toml").write_text(recipe, encoding="utf-8")
        (folder / "load.sql").write_text(sql, encoding="utf-8")
        people = tmp_path / "people.csv"
        people.write_text(PEOPLE, encoding="utf-8")
        done = here("ingest", folder, *(paths or [str(people)]), "-o", tmp_path / "x.kb")
        assert people.read_text(encoding="utf-8") == PEOPLE
        assert (done.returncode == 0) == (tmp_path / "x.kb").exists()
        assert len(done.stderr.splitlines()) == 1
        return done.stderr

    return run


@pytest.mark.parametrize(
    "statement",
    [
        "COPY (SELECT 'x') TO '{people}'",
        "COPY nodes TO '{people}'",
        "PREPARE p AS COPY (SELECT 'x') TO '{people}'; EXECUTE p",
        "EXPLAIN ANALYZE COPY (SELECT 'x') TO '{people}'",
        "EXPORT DATABASE '{people}'",
        "ATTACH '{people}' AS a",
        "CALL pragma_version()",
        "PRAGMA version",
        "LOAD httpfs",
    ],
)
def test_the_sql_of_a_recipe_only_reads(ingest: Callable[..., str], tmp_path: Path, statement: str) -> None:
    message = ingest(RECIPE, SQL + statement.format(people=tmp_path / "people.csv") + ";")
    assert "is not allowed: a recipe can only read its files" in message


def test_the_sql_of_a_recipe_reads_only_what_was_named(ingest: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    message = ingest(RECIPE, SQL + f"INSERT INTO nodes SELECT content, 'x' FROM read_text('{tmp_path}/secret.txt');")
    assert "load.sql" in message
    assert "file system operations are disabled" in message


@pytest.mark.parametrize("data", ["/etc", "..", "../..", "a/../.."])
def test_the_data_of_a_recipe_lie_in_its_folder(ingest: Callable[..., str], data: str) -> None:
    message = ingest(f'data = "{data}"\n' + RECIPE)
    assert f"data is outside the recipe: '{data}'" in message


def test_a_link_out_of_the_recipe_is_outside(ingest: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "recipe").mkdir()
    (tmp_path / "recipe" / "link").symlink_to("/etc")
    assert "data is outside the recipe: 'link'" in ingest('data = "link"\n' + RECIPE)


def test_a_file_of_a_recipe_is_no_link_out_of_it(here: Run, tmp_path: Path) -> None:
    folder = tmp_path / "recipe"
    folder.mkdir()
    (folder / "recipe.toml").write_text(f'data = "."\n{RECIPE}', encoding="utf-8")
    (folder / "load.sql").write_text(SQL, encoding="utf-8")
    (tmp_path / "mine.csv").write_text(PEOPLE, encoding="utf-8")
    (folder / "people.csv").symlink_to(tmp_path / "mine.csv")
    for paths in ((), (folder,)):
        done = here("ingest", folder, *paths, "-o", tmp_path / "x.kb")
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert "people.csv is a link out of the recipe" in done.stderr
    assert here("ingest", folder, folder / "people.csv", "-o", tmp_path / "x.kb").returncode == 0  # the user named it


@pytest.mark.parametrize("kind", ["store", "workspace", "set"])
def test_a_kb_is_not_read_through_links(here: Run, world: KnowledgeBase, tmp_path: Path, kind: str) -> None:
    """A link in a stranger's KB leads to the user's files, and the manifest has their sizes."""
    kb = shutil.copytree(world.directory.path, tmp_path / "s.kb")
    names = KbDirectory(kb).generation(KbDirectory(kb).current()) / "nodes" / "names.utf8"
    (kb / "workspace" / "sets").mkdir(parents=True, exist_ok=True)
    path = {"store": names, "workspace": kb / "workspace", "set": kb / "workspace" / "sets" / "mine.parquet"}[kind]
    (tmp_path / "outside").mkdir()
    target = tmp_path / "outside" if kind == "workspace" else tmp_path / "outside" / "file"
    if kind != "workspace":
        target.write_bytes(path.read_bytes() if path.exists() else b"mine")
    before = target.read_bytes() if target.is_file() else b""
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    path.symlink_to(target)
    done = here("answers", kb, "continent", "--save", "mine")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert f"{path.name} is a link" in done.stderr
    assert before == (target.read_bytes() if target.is_file() else b"")
    assert len(list((tmp_path / "outside").iterdir())) == (kind != "workspace")


@pytest.mark.parametrize("name", ["../outside", "/outside", "a/b", "", ".", "a b", "..\\\\x"])
def test_names_of_further_tables_are_names(ingest: Callable[..., str], name: str) -> None:
    message = ingest(f'extra_tables = ["{name}"]\n' + RECIPE)
    assert "extra_tables" in message
    assert "a name of letters, digits and _" in message


def test_an_export_stays_in_its_folder(here: Run, world: KnowledgeBase, tmp_path: Path) -> None:
    """The manifest of a stranger's KB names a table outside."""
    kb = tmp_path / "s.kb"
    shutil.copytree(world.directory.path, kb)
    live = KbDirectory(kb).generation(KbDirectory(kb).current())
    manifest = json.loads((live / "manifest.json").read_text(encoding="utf-8"))
    manifest["schema"]["extra_tables"] = ["../outside"]
    (live / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    done = here("export", kb, "-f", "csv", "-o", tmp_path / "out")
    assert done.returncode == 1
    assert "invalid name of a table: '../outside'" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s.kb"]


@pytest.mark.parametrize("to", ["csv", "parquet", "ntriples", "kgtk", "stark"])
def test_a_planted_view_reads_no_file(here: Run, world: KnowledgeBase, tmp_path: Path, to: str) -> None:
    """The tables of a stranger's KB are views of the user's files."""
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    kb = tmp_path / "s.kb"
    shutil.copytree(world.directory.path, kb)
    live = KbDirectory(kb).generation(KbDirectory(kb).current())
    with duckdb.connect(str(live / FILE)) as con:
        con.execute("ALTER TABLE texts RENAME TO own; ALTER TABLE nodes RENAME TO own_nodes")
        leak = f"(SELECT content FROM read_text('{tmp_path / 'secret.txt'}'))"
        con.execute(f"CREATE VIEW texts AS SELECT * REPLACE ({leak} AS text) FROM own")
        con.execute(f"CREATE VIEW nodes AS SELECT * REPLACE ({leak} AS name) FROM own_nodes")
    out = tmp_path / {"ntriples": "out.nt", "kgtk": "out.tsv"}.get(to, "out")
    done = here("export", kb, "-f", to, "-o", out)
    assert done.returncode == 1, to
    assert "file system operations are disabled" in done.stderr
    assert not out.exists()


CLEAR = "\x1b[2J\u202eevil"


@pytest.mark.parametrize("form", first_some(["table", "csv", "json", "ndjson", "markdown"], 3))
def test_no_text_of_a_kb_controls_the_terminal(here: Run, tmp_path: Path, form: str) -> None:
    (tmp_path / "nodes.csv").write_text(f"key,name\na,{CLEAR}\n", encoding="utf-8")
    (tmp_path / "edges.csv").write_text("head,relation,tail\na,knows,a\n", encoding="utf-8")
    done = here("ingest", "table", tmp_path, "-o", tmp_path / "x.kb", "--stores", "tables,triples")
    assert done.returncode == 0, done.stderr
    query = ("sql", tmp_path / "x.kb", "SELECT name FROM nodes", "-f", form)
    shown = here(*query, terminal=True).stdout
    assert "evil" in shown
    assert not any(sign in shown for sign in ("\x1b[2J", "\u202e"))
    assert ("\u202e" in here(*query).stdout) == (form in ("csv", "json", "ndjson"))  # other programs get the data
    named = f'entity:"{CLEAR}"'
    for name, *rest in (("answers", named, "--compile", "sql"), ("export", "-f", "ntriples", "-o", "-")):
        printed = here(name, tmp_path / "x.kb", *rest, terminal=True)
        assert printed.returncode == 0, printed.stderr
        assert "evil" in printed.stdout
        assert not any(sign in printed.stdout for sign in ("\x1b[2J", "\u202e")), name
