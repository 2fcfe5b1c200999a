"""The generated references are up to date and complete."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import networkx as nx
import pytest

import kbkit
from kbkit import assets
from kbkit.errors import UnknownNameError
from tests.generate import reference, rooms
from tests.generate import schema as schema_reference
from tests.loops import each

HOW = "run python -m tests.generate.reference --write"


@pytest.fixture(scope="module")
def schema() -> str:
    return schema_reference.render()


def section(text: str, title: str) -> str:
    """Return the text between a heading and the next."""
    _, _, rest = text.partition(f"\n#{title}\n")
    return rest.partition("\n#")[0]


def keys(text: str) -> list[str]:
    """Return the first column of a table."""
    return [line.split("|")[1].strip(" `") for line in text.splitlines() if line.startswith("| `")]


@pytest.mark.core
def test_references_are_up_to_date(schema: str) -> None:
    assert (assets.guides() / "schema.md").read_text(encoding="utf-8") == schema, HOW
    assert (assets.guides() / "commands.md").read_text(encoding="utf-8") == reference.render(), HOW


def hints(picture: str) -> list[str]:
    """Return what the picture of the rooms says of each room: what it imports."""
    return re.findall(r"<title>(\w+ imports .*)</title>", picture)


@pytest.mark.core
def test_picture_of_the_rooms_is_up_to_date() -> None:
    drawn = hints((assets.guides() / rooms.NAME).read_text(encoding="utf-8"))
    assert len(drawn) > 20
    assert drawn == hints(rooms.render()), "run python -m tests.generate.rooms --write"


def test_every_room_of_the_package_is_drawn() -> None:
    package = Path(kbkit.__file__).parent
    found = {p.stem for p in package.glob("*.py")} | {p.parent.name for p in package.glob("*/__init__.py")}
    assert set(rooms.rooms()) == found - {"__init__", "__main__"}


def test_picture_leaves_out_imports_that_follow_from_others() -> None:
    graph = nx.DiGraph([("cli", "kb"), ("kb", "stores"), ("stores", "errors"), ("cli", "errors"), ("web", "errors")])
    picture = rooms.draw(graph, ["cli", "web", "kb", "stores", "errors"])
    assert hints(picture)[0] == "cli imports kb, errors"
    assert picture.count('class="head"') == 4
    ElementTree.fromstring(picture)


def test_picture_is_printed_or_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(rooms, "render", lambda: "<svg/>\n")
    monkeypatch.setattr("kbkit.assets.guides", lambda: tmp_path)
    rooms.main([])
    assert capsys.readouterr().out == "<svg/>\n"
    rooms.main(["--write"])
    assert (tmp_path / rooms.NAME).read_text(encoding="utf-8") == "<svg/>\n"


@pytest.mark.parametrize("table", ["nodes", "node_types", "edges", "texts", "types", "relations"])
def test_every_column_of_a_table(schema: str, world: kbkit.KnowledgeBase, table: str) -> None:
    found = world.sql(f"SELECT * FROM {table} LIMIT 0").columns
    assert keys(section(schema, f"## {table}")) == found


def test_every_key_of_a_manifest(schema: str, world: kbkit.KnowledgeBase) -> None:
    import json

    data = json.loads((world.folder / "manifest.json").read_text(encoding="utf-8"))
    assert set(keys(section(schema, "# manifest.json"))) == set(data)
    assert set(keys(section(schema, "## `schema`"))) == set(data["schema"])
    assert set(keys(section(schema, "## `schema.relations`"))) == set(data["schema"]["relations"][0])
    assert set(keys(section(schema, "## `stores.NAME`"))) == set(data["stores"]["text"])


def test_every_predicate_of_a_kb(schema: str, world: kbkit.KnowledgeBase) -> None:
    """Each predicate of the sample is in the reference, or has a prefix that is."""
    known = keys(section(schema, "# RDF"))
    prefixes = world.schema.prefixes()
    names = (name.partition(":") for name in known)
    prefixed = tuple(prefixes[prefix] + local for prefix, sign, local in names if sign)
    found = world.sparql("SELECT DISTINCT ?p { ?s ?p ?o }")["p"].to_list()
    assert [iri for iri in each(found) if not iri.startswith(prefixed)] == []


def test_every_key_that_a_shipped_recipe_has(schema: str) -> None:
    import tomllib

    recipes = [tomllib.loads(p.read_text(encoding="utf-8")) for p in assets.folder("ingest").glob("*/recipe.toml")]
    assert len(recipes) > 5
    plain = {key for recipe in recipes for key, value in recipe.items() if not isinstance(value, dict | list)}
    assert plain <= set(keys(section(schema, "# recipe.toml")))
    for name in ("files", "options", "relations", "texts", "types", "roles"):
        used = {key for recipe in recipes for table in recipe.get(name, {}).values() for key in table}
        assert used <= set(keys(section(schema, f"## `[{name}.NAME]`"))), name


def test_every_dot_command() -> None:
    from kbkit.executor.commands import COMMANDS

    text = reference.render().partition("## In the shell")[2]
    for command in COMMANDS.values():
        assert f"```text\n.{command.name} {command.usage}".rstrip() in text
        assert command.help in text


def test_it_prints_one_and_writes_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = {"commands": lambda: "the commands\n", "schema": lambda: "the schema\n"}
    monkeypatch.setattr(reference, "REFERENCES", made)
    monkeypatch.setattr("kbkit.assets.guides", lambda: tmp_path)
    reference.main([])
    reference.main(["schema"])
    assert capsys.readouterr().out == "the commands\nthe schema\n"
    reference.main(["--write"])
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {
        "commands.md": b"the commands\n",
        "schema.md": b"the schema\n",
    }
    with pytest.raises(UnknownNameError):
        reference.main(["other"])
