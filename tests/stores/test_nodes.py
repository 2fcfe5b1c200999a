"""The node directory against a dictionary: lookups of any text, equal hashes, many namesakes, damaged files."""

from __future__ import annotations

import json
import shutil
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kbkit
from kbkit.errors import KbError
from kbkit.ingestion.build import rebuild
from kbkit.schema import NodeType, Schema
from kbkit.stores import node_build
from kbkit.stores.folding import caseless, words, words_of
from kbkit.stores.nodes import Nodes
from tests import kbs
from tests.examples import first_some

TYPES = ("city", "person", "person#x")


class Row(NamedTuple):
    """A node of an example: its secondary types are in ``others``."""

    type: str
    key: str
    name: str
    aliases: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


@dataclass
class Example:
    """A directory and the rows it was built from, by id."""

    nodes: Nodes
    rows: list[Row]

    def of_type(self, node_type: str | None, ids: Sequence[int]) -> list[int]:
        return [i for i in ids if node_type in (None, self.rows[i].type, *self.rows[i].others)]

    def named(self, node_type: str | None, text: str) -> list[int]:
        """Exact names, failing that caseless ones, failing that aliases."""
        ids = self.of_type(node_type, range(len(self.rows)))
        for matches in (
            lambda row: row.name == text,
            lambda row: same(row.name, text),
            lambda row: any(same(alias, text) for alias in row.aliases),
        ):
            if found := [i for i in ids if matches(self.rows[i])]:
                return found
        return []


def same(a: str, b: str) -> bool:
    """Whether two texts are a canonical caseless match (Unicode, section 3.13)."""

    def fold(text: str) -> str:
        return unicodedata.normalize("NFD", unicodedata.normalize("NFD", text).casefold())

    return fold(a) == fold(b)


def built(folder: Path, rows: Sequence[Row]) -> Example:
    """Build a directory as an ingest does, from tables in memory."""
    ordered = sorted(rows, key=lambda row: TYPES.index(row.type))
    con = duckdb.connect()
    con.execute(f"CREATE TYPE node_type AS ENUM ({', '.join(repr(name) for name in TYPES)})")
    con.execute("CREATE TABLE nodes(id INTEGER, type node_type, key VARCHAR, name VARCHAR, aliases VARCHAR[])")
    con.execute("CREATE TABLE node_types(id INTEGER, type node_type)")
    frame = pl.DataFrame(
        {
            "id": range(len(ordered)),
            "type": [row.type for row in ordered],
            "key": [row.key for row in ordered],
            "name": [row.name for row in ordered],
            "aliases": [list(row.aliases) or None for row in ordered],
        },
        schema_overrides={"id": pl.Int32, "aliases": pl.List(pl.String)},
    )
    con.register("rows", frame.to_arrow())
    con.execute("INSERT INTO nodes FROM rows")
    others = [(i, name) for i, row in enumerate(ordered) for name in row.others]
    if others:
        con.executemany("INSERT INTO node_types VALUES (?, ?)", others)
    types, first = [], 0
    for name in TYPES:
        count = sum(row.type == name for row in ordered)
        secondary = sum(name in row.others for row in ordered)
        overlaps = tuple({row.type for row in ordered if name in row.others})
        types.append(NodeType(name, first, count, secondary, name, "", overlaps=overlaps))
        first += count
    schema = Schema("example", "http://example.org/", tuple(types), (), ())
    counts = node_build.build(
        lambda sql: con.sql(sql).to_arrow_reader(7 if len(rows) < 100 else 50_000),
        folder,
        schema,
        lambda done, total: None,
    )
    assert counts == {"nodes": len(ordered), "aliases": sum(len(row.aliases) for row in ordered)}

    def no_scan() -> None:
        raise AssertionError("this lookup must not scan the tables")

    return Example(Nodes(folder, schema, no_scan), ordered)  # type: ignore[arg-type]


texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=6) | st.sampled_from(
    [
        "",
        "Straße",
        "STRASSE",
        "é",
        "e\u0301",
        "É",
        "İ",
        "ı",
        "ΑΣ",
        "ας",
        "ﬁn",
        "FIN",
        "ǅ",
        "की",
        "a b",
        "a-b",
        "A_B",
        "!",
        "...",
    ]
)


@st.composite
def examples(draw: st.DrawFn) -> list[Row]:
    rows = []
    for number in range(draw(st.integers(0, 25))):
        kind = draw(st.sampled_from(TYPES))
        others = draw(st.sets(st.sampled_from([name for name in TYPES if name != kind]), max_size=1))
        key = f"{draw(texts)}{number}" if draw(st.booleans()) else f"k{number}"
        rows.append(Row(kind, key, draw(texts), tuple(draw(st.lists(texts, max_size=2))), tuple(others)))
    return rows


@given(rows=examples(), asked=st.lists(texts, max_size=5), node_type=st.sampled_from([None, *TYPES]))
def test_lookups_are_those_of_a_dictionary(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row], asked: list[str], node_type: str | None
) -> None:
    made = built(tmp_path_factory.mktemp("nodes") / "nodes", rows)
    nodes, rows = made.nodes, made.rows
    everyone = made.of_type(node_type, range(len(rows)))
    assert nodes.members(node_type).tolist() == everyone
    names = [text for row in rows for text in (row.name, *row.aliases)]
    for text in [*asked, *names, *(name.upper() for name in names)]:
        found = [row.id for row in nodes.by_name(node_type, [text])[0]]
        assert found == made.named(node_type, text), text
        equal = [i for i in everyone if words(text) in map(words, (rows[i].name, *rows[i].aliases))]
        assert nodes.named(text, node_type).tolist() == equal
        starting = [i for i in everyone if any(starts(text, name) for name in (rows[i].name, *rows[i].aliases))]
        assert nodes.starting(text, node_type).tolist() == (starting if words(text) else [])
    for key in [*asked, *(row.key for row in rows)]:
        ids = [i for i in everyone if rows[i].key == key]
        primary = [i for i in ids if rows[i].type == node_type] or ids
        assert [row.id for row in nodes.by_key(node_type, [key])[0]] == primary
        assert nodes.unique_ids(node_type, [key]).tolist() == (primary if len(primary) == 1 else [-1])
        starting = sorted((i for i in everyone if rows[i].key.startswith(key)), key=lambda i: (rows[i].key, i))
        assert [row.id for row in nodes.keys_starting(key, node_type, 5)] == starting[:5]
    named = [made.named(node_type, text) for text in [*asked, *names]]
    single = [ids[0] if len(ids) == 1 else -1 for ids in named]
    assert nodes.unique_ids_by_name(node_type, [*asked, *names]).tolist() == single
    keys = [row.key for row in rows]
    each = [nodes.unique_ids(node_type, [key]).item() for key in keys]
    assert nodes.unique_ids(node_type, keys).tolist() == each
    frame = nodes.frame(np.arange(len(rows))[::-1])
    assert frame.rows() == [(i, row.key, row.type, row.name) for i, row in enumerate(rows)]
    for row, wanted in zip(nodes.with_aliases(range(len(rows))), rows, strict=True):
        assert (row.key, row.type, row.name, tuple(row.aliases)) == wanted[1:2] + wanted[:1] + wanted[2:4]
    iris = [made.nodes._schema.node_iri(row.type, row.key) for row in rows]
    assert nodes.by_iri([*iris, "http://elsewhere.org/x"]) == (
        pytest.approx(np.arange(len(rows))),
        ["http://elsewhere.org/x"],
    )


def starts(text: str, name: str) -> bool:
    """Whether a name starts with a text; a separator after the text ends its last word."""
    prefix, name = words(text), words(name)
    if words(text + "x") == prefix + " x":
        return name == prefix or name.startswith(prefix + " ")
    return name.startswith(prefix)


@given(st.lists(texts))
def test_folding(names: list[str]) -> None:
    assert words_of(pl.Series(names, dtype=pl.String)).to_list() == [words(name) for name in names]
    for name in names:
        assert caseless(caseless(name)) == caseless(name)
        assert words(caseless(name)) == words(name)
        for other in names:
            assert (caseless(name) == caseless(other)) == same(name, other)


def test_equal_hashes(tmp_path: Path) -> None:
    """The index holds CRC-32 values; these two words have the same one."""
    assert crc32(b"plumless") == crc32(b"buckeroo")
    rows = [
        Row("city", "plumless", "buckeroo"),
        Row("city", "buckeroo", "plumless"),
        Row("person", "x", "y", ("Plumless",)),
    ]
    nodes = built(tmp_path / "nodes", rows).nodes
    assert nodes.find("city#plumless") == 0
    assert nodes.find("city#buckeroo") == 1
    assert [row.id for row in nodes.by_name(None, ["plumless"])[0]] == [1]
    assert [row.id for row in nodes.by_name("person", ["plumless"])[0]] == [2]
    assert nodes.named("plumless").tolist() == [1, 2]
    assert nodes.unique_ids(None, ["buckeroo", "plumless", "plumbless"]).tolist() == [1, 0, -1]


@pytest.mark.system
def test_a_hundred_thousand_namesakes(tmp_path: Path) -> None:
    rows = [Row("person", str(number), "John Smith") for number in range(100_000)]
    nodes = built(tmp_path / "nodes", [*rows, Row("city", "c", "Smithville", ("john smith",))]).nodes
    assert len(nodes.by_name(None, ["john smith"])[0]) == 100_000
    assert len(nodes.starting("JOHN", None)) == 100_001
    assert [row.id for row in nodes.by_name("city", ["John Smith"])[0]] == [0]
    with pytest.raises(KbError, match="Ambiguous node 'John Smith'"):
        nodes.find("John Smith")
    assert nodes.find("person#99999") == 100_000


def test_size(tmp_path: Path) -> None:
    """32 bytes a node and 20 an alias in addition to the strings, and a header of 128 bytes for each array."""
    rows = [Row("person", f"key {number}", f"Name {number}", ("a",) * (number % 2)) for number in range(20_000)]
    built(tmp_path / "nodes", rows)
    sizes = [path.stat().st_size for path in (tmp_path / "nodes").glob("*.npy")]
    assert sum(sizes) <= 32 * 20_000 + 20 * 10_000 + 256 * len(sizes)


# -- damaged ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("damaged")
    files = {"nodes": folder / "nodes.csv", "edges": folder / "edges.csv"}
    nodes = [f"{'city' if i % 2 else 'person'},k{i},Name {i},Alias {i},{'' if i % 2 else 'city'}" for i in range(100)]
    files["nodes"].write_text("\n".join(["type,key,name,aliases,types", *nodes]), encoding="utf-8")
    files["edges"].write_text("head,relation,tail\nk0,r,k1\n", encoding="utf-8")
    kbkit.ingest("table", out=folder / "sound.kb", files=files, stores=[]).close()
    return folder / "sound.kb"


def test_check_compares_the_directory_with_the_tables(sound: Path) -> None:
    assert kbs.problems(sound) == []


@pytest.mark.parametrize(
    "name",
    [
        *("keys.utf8", "keys.npy", "names.utf8", "names.npy", "aliases.utf8", "aliases.npy", "alias_nodes.npy"),
        *("keys_hashes.npy", "keys_entries.npy", "names_hashes.npy", "names_entries.npy", "keys_order.npy"),
        *("names_order.npy", "secondary.npy", "secondary_offsets.npy"),
    ],
)
@pytest.mark.parametrize("damage", first_some(["truncated", "changed", "missing"], 3))
def test_damage_is_noticed(sound: Path, tmp_path: Path, name: str, damage: str) -> None:
    """By the checksum, and by the comparison with the tables, which needs no checksum."""
    shutil.copytree(sound, tmp_path / "kb")
    path = tmp_path / "kb" / "generations" / "0001" / "nodes" / name
    data = bytearray(path.read_bytes())
    if damage == "truncated":
        path.write_bytes(data[:-5])
    elif damage == "missing":
        path.unlink()
    else:
        data[-3] ^= 0x41
        path.write_bytes(data)
    found = dict(kbs.problems(tmp_path / "kb"))
    assert f"nodes/{name}" in found["files"]
    assert "nodes" in found


@pytest.mark.parametrize("value", first_some([-1, 3, 10**6, 2**31 - 1], 2))
@pytest.mark.parametrize(
    "name",
    [
        *("keys", "names", "aliases", "alias_nodes", "keys_entries", "names_entries", "keys_order", "names_order"),
        *("secondary", "secondary_offsets", "keys_hashes"),
    ],
)
def test_damaged_numbers_are_errors(sound: Path, tmp_path: Path, name: str, value: int) -> None:
    """Each number of a file in turn: lookups find a node that exists, nothing, or report the damage."""
    shutil.copytree(sound, tmp_path / "kb")
    path = tmp_path / "kb" / "generations" / "0001" / "nodes" / f"{name}.npy"
    values = np.load(path)
    values[: 1 if len(values) < 5 else len(values) // 2] = np.array(value).astype(values.dtype)
    np.save(path, values)
    with kbkit.open(tmp_path / "kb") as kb:
        calls = [
            *(lambda i=i: kb.find(f"k{i}") for i in (0, 1, 80)),
            *(lambda i=i: kb.find(f"Alias {i}") for i in (0, 1, 80)),
            lambda: kb.find("Name 1"),
            lambda: kb.stores.nodes.unique_ids("city", [f"k{i}" for i in range(100)]).tolist(),
            lambda: kb.stores.nodes.starting("name", "city").tolist(),
            lambda: kb.stores.nodes.starting("alias", None).tolist(),
            lambda: [row.id for row in kb.stores.nodes.keys_starting("k", None, 100)],
            lambda: kb.stores.nodes.members("city").tolist(),
            *(lambda n=n: list(kb.stores.nodes.frame(np.arange(n))["id"]) for n in (5, 100)),
        ]
        for call in calls:
            try:
                found = call()
            except KbError:
                continue
            assert all(-1 <= node < 100 for node in ([found] if isinstance(found, int) else found))
        assert any(what == "nodes" and problem for what, problem in kb.check()) or np.array_equal(
            values, np.load(sound / "generations" / "0001" / "nodes" / f"{name}.npy")
        )


def test_invalid_utf_8_is_an_error(sound: Path, tmp_path: Path) -> None:
    shutil.copytree(sound, tmp_path / "kb")
    path = tmp_path / "kb" / "generations" / "0001" / "nodes" / "names.utf8"
    path.write_bytes(b"\xff" * path.stat().st_size)
    with kbkit.open(tmp_path / "kb") as kb:
        for call in (lambda: kb.node(3), lambda: kb.stores.nodes.frame(np.arange(100))):
            with pytest.raises(KbError, match=r"names\.utf8 is damaged"):
                call()


def test_a_kb_without_the_directory_says_how_to_add_it(sound: Path, tmp_path: Path) -> None:
    shutil.copytree(sound, tmp_path / "kb")
    folder = tmp_path / "kb" / "generations" / "0001"
    shutil.rmtree(folder / "nodes")
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["stores"]["nodes"]
    manifest["files"] = {name: file for name, file in manifest["files"].items() if not name.startswith("nodes/")}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with kbkit.open(tmp_path / "kb") as kb:
        with pytest.raises(KbError) as error:
            kb.find("Name 1")
        assert "build KB nodes" in error.value.hint
        assert "build KB nodes" in dict(kb.check())["nodes"]
    rebuild(tmp_path / "kb", "nodes")
    with kbkit.open(tmp_path / "kb") as kb:
        assert kb.node("Name 1").key == "k1"
        assert kb.check() == [("files", ""), ("tables", ""), ("nodes", "")]
