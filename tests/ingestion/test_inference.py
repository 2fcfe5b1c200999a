"""Recipes inferred from files: folders with the schema that a person expects of them, and nothing is lost."""

from __future__ import annotations

import ast
import contextlib
import csv
import datetime
import difflib
import gzip
import io
import json
import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from hypothesis import Phase, given
from hypothesis import strategies as st

import kbkit
from kbkit.errors import BadInputError, KbError
from kbkit.ingestion import json_records, sources
from kbkit.ingestion.inference import dialect, infer, looks, separators, table_fields
from kbkit.ingestion.inference import names as inference_names
from kbkit.kb import KnowledgeBase
from tests.console import here
from tests.examples import examples, first_some
from tests.once import Once
from tests.places import TESTS

CASES = sorted(path.parent for path in (TESTS / "ingestion" / "inferred").glob("*/expected.json"))

Build = Callable[[Path], KnowledgeBase]


def files_of(case: Path) -> list[Path]:
    """Return the data files of a case."""
    return sorted(path for path in case.iterdir() if path.name != "expected.json")


def build(files: Sequence[Path], folder: Path) -> KnowledgeBase:
    """Build a KB from files without a recipe."""
    first, *others = files
    return kbkit.ingest(str(first), *others, out=folder / "my.kb", stores=["tables"])


@pytest.fixture(scope="module")
def built(once: Once) -> Iterator[Build]:
    """Return the KB of a case, built once for all tests of it."""

    def make(folder: Path, case: Path) -> None:
        folder.mkdir()
        build(files_of(case), folder).close()

    known: dict[Path, KnowledgeBase | KbError] = {}

    def get(case: Path) -> KnowledgeBase:
        if case not in known:
            try:
                known[case] = kbkit.open(once(f"inferred/{case.name}", lambda out: make(out, case)) / "my.kb")
            except KbError as error:
                known[case] = error
        found = known[case]
        if isinstance(found, KbError):
            pytest.fail(f"{found.message}. {found.hint}", pytrace=False)
        return found

    yield get
    for kb in known.values():
        if isinstance(kb, KnowledgeBase):
            kb.close()


cases = pytest.mark.parametrize("case", first_some(CASES, 5), ids=lambda case: case.name)


# -- the expected schema ----------------------------------------------------------------------------------------------


def shape(kb: KnowledgeBase) -> dict[str, Any]:
    """Return types and relations of a KB as ``expected.json`` has them."""
    fields = kb.sql("SELECT DISTINCT type::VARCHAR AS type, field FROM texts JOIN nodes USING (id)").rows()
    types = {
        t.name: {
            "nodes": t.members,
            "attributes": sorted(a.name for a in t.attributes),
            "texts": sorted(field for type_, field in fields if type_ == t.name),
        }
        for t in kb.schema.node_types
        if t.members
    }
    relations = [
        [s.head, r.name, s.tail, s.edges, sorted(a.name for a in r.attributes)]
        for r in kb.schema.relations
        for s in r.signatures
    ]
    return {"types": types, "relations": sorted(relations)}


def completed(expected: Mapping[str, Any]) -> dict[str, Any]:
    """Return an expectation with empty lists for what it leaves out."""
    types = {
        name: {
            "nodes": spec["nodes"],
            "attributes": sorted(spec.get("attributes", [])),
            "texts": sorted(spec.get("texts", [])),
        }
        for name, spec in expected["types"].items()
    }
    relations = sorted([*r[:4], sorted(r[4] if len(r) > 4 else [])] for r in expected["relations"])
    return {"types": types, "relations": relations}


def lines(found: Mapping[str, Any]) -> list[str]:
    """Return one line for each type and relation."""
    types = [f"{name}: {json.dumps(spec, ensure_ascii=False)}" for name, spec in sorted(found["types"].items())]
    return types + [json.dumps(relation, ensure_ascii=False) for relation in found["relations"]]


def properties(kb: KnowledgeBase, reference: str) -> dict[str, Any]:
    """Return name, aliases, attributes and texts of a node, as JSON has them."""
    node = kb.node(reference)
    attributes = {
        name: value.isoformat() if isinstance(value, datetime.date) else value
        for name, value in node.attributes.items()
    }
    return {"name": node.name, "aliases": list(node.aliases), **attributes, **dict(node.texts)}


def differences(kb: KnowledgeBase, expected: Mapping[str, Any]) -> list[str]:
    """Return what a KB has (``+``) and lacks (``-``), and values of nodes that differ."""
    found, wanted = lines(shape(kb)), lines(completed(expected))
    differing = [line for line in difflib.ndiff(wanted, found) if line[0] in "+-"]
    for reference, values in expected.get("nodes", {}).items():
        try:
            has = properties(kb, reference)
        except KbError as error:
            differing.append(f"{reference}: {error.message}")
            continue
        differing += [
            f"{reference}: {name} is {has.get(name)!r}, not {value!r}"
            for name, value in values.items()
            if has.get(name) != value
        ]
    return differing


@cases
def test_a_folder_gets_the_schema_that_a_person_expects(case: Path, built: Build) -> None:
    expected = json.loads((case / "expected.json").read_text("utf-8"))
    if difference := differences(built(case), expected):
        pytest.fail(f"{expected['note']}\n" + "\n".join(difference), pytrace=False)


@pytest.mark.parametrize("case", first_some(CASES[::3], 4), ids=lambda case: case.name)
def test_the_written_recipe_makes_the_same_kb(case: Path, built: Build, tmp_path: Path) -> None:
    once = built(case)
    recipe = once.directory.path.with_suffix(".recipe")
    if not recipe.exists():
        assert once.manifest.recipe["name"] in ("table", "kgtk"), "neither inferred nor recognized"
        return
    with kbkit.ingest(str(recipe), *files_of(case), out=tmp_path / "again.kb", stores=["tables"]) as again:
        assert lines(shape(again)) == lines(shape(once))
        for table in ("nodes", "edges", "texts", *(f'"{t.table}"' for t in once.schema.node_types)):
            query = f"SELECT * FROM {table} ORDER BY ALL"
            assert again.sql(query).equals(once.sql(query)), table


# -- nothing is lost --------------------------------------------------------------------------------------------------

MISSING = {"", "-", "na", "n/a", "null", "none", "nan", "\\n"}


def encoded(path: Path) -> str:
    """Return the text of a file, whatever its encoding."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    encodings = ["utf-16"] if data[:2] in (b"\xff\xfe", b"\xfe\xff") else ["utf-8-sig", "cp1252"]
    for encoding in encodings:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise AssertionError(path)


def rows_of(path: Path) -> list[list[Any]]:
    """Return the rows of a file, by readers that kbkit does not use for it; every line without a header is a row."""
    kind = path.name.removesuffix(".gz").rpartition(".")[2]
    if kind == "parquet":
        return [list(row) for row in pl.read_parquet(path).rows()]
    text = encoded(path)
    if kind == "json":
        return [list(record.values()) for record in records_of(json.loads(text))]
    if kind == "geojson":
        features = json.loads(text)["features"]
        return [[one["id"], *one["properties"].values(), one["geometry"]["coordinates"]] for one in features]
    if kind == "jsonl":
        return [list(json.loads(line).values()) for line in text.splitlines()]
    text = text.partition("\n")[2] if text.startswith("sep=") else text  # as Excel writes it
    first = text.split("\n", 1)[0]
    delimiter = max(";\t|,", key=first.count)
    text = text.replace('\\"', '""')
    table: list[list[Any]] = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    if not table[0][0]:  # the index of a data frame
        table = [row[1:] for row in table]
    return table if any(cell[:1].isdigit() for cell in table[0]) else table[1:]


def records_of(data: Any) -> Iterator[dict[str, Any]]:
    """Yield the records of a JSON file: of a list, of the lists in an object, or of an object by key."""
    if isinstance(data, list):
        yield from data
        return
    lists = [value for value in data.values() if isinstance(value, list)]
    yield from (record for rows in lists for record in rows)
    if not lists:
        yield from ({"": key, **record} for key, record in data.items())


def atoms(value: Any) -> Iterator[str]:
    """Yield the values in a cell, without the forms that numbers, dates and lists have in files."""
    if value is None:
        return
    if isinstance(value, Mapping):
        for part in value.values():
            yield from atoms(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from atoms(part)
    elif isinstance(value, (bool, float, int)):
        yield from (
            [] if value != value else [number(str(value)) if not isinstance(value, bool) else str(value).lower()]
        )
    elif isinstance(value, datetime.datetime):
        at_midnight = value.time() == datetime.time()
        yield value.date().isoformat() if at_midnight else value.replace(tzinfo=None).isoformat(" ")
    elif isinstance(value, (datetime.date, datetime.time)):
        yield value.isoformat()
    else:
        yield from words(str(value).strip())


def words(text: str) -> Iterator[str]:
    """Yield the values in a text: the text itself, or the items of a list in JSON."""
    if text.lower() in MISSING:
        return
    if text[:1] in "[{":
        try:
            yield from atoms(json.loads(text))
            return
        except ValueError:
            pass
    if text.lower() in ("true", "false", "checked"):  # Airtable's boxes
        yield "true" if text == "checked" else text.lower()
        return
    if text.lower() in ("yes", "no"):
        yield "true" if text.lower() == "yes" else "false"
        return
    if re.fullmatch(r'"[^"]*,[^"]*"', text):  # Airtable's names with a comma
        text = text.strip('"')
    if re.fullmatch(r"[^()]+\(https?://[^ )]+\)", text):  # the name of a page of Notion
        text = text.partition(" (")[0]
    with contextlib.suppress(ValueError):
        yield datetime.datetime.strptime(text, "%B %d, %Y %I:%M %p").isoformat(" ")
        return
    for order in ("%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y-%m-%d", "%b %d %Y", "%B %d, %Y"):
        try:
            yield datetime.datetime.strptime(text, order).date().isoformat()
            return
        except ValueError:
            continue
    yield number(text)


def number(text: str) -> str:
    """Return a number in one form (``1,5``, ``1.50`` and ``01.5`` differ in print only), any other text as it is."""
    text = re.sub(r"^[$€] ?| ?[%€]$", "", text)
    plain = text
    if re.fullmatch(r"[+-]?\d{1,3}(\.\d{3})*,\d+", text):
        plain = text.replace(".", "").replace(",", ".")
    elif re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?", text):
        plain = text.replace(",", "")
    elif re.fullmatch(r"[+-]?\d+,\d+", text):
        plain = text.replace(",", ".")
    if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", plain) and not re.match(r"[+-]?0\d", plain):
        return f"{float(plain):.12g}" if len(plain) < 16 else plain
    return text


def held(kb: KnowledgeBase) -> list[tuple[str, set[str]]]:
    """Return what each node with its outgoing edges, and each edge, holds: all values as one text, and one by one."""
    nodes = kb.sql("SELECT id, type::VARCHAR AS type, key, name, aliases FROM nodes ORDER BY id").to_dicts()
    held: list[list[Any]] = [[*node.values()][1:] for node in nodes]
    for node, values in zip(nodes, held, strict=True):
        described = kb.node(node["id"])
        values += [*described.attributes.values(), *(text for _, text in described.texts)]
        values += [part for part in re.split(r"[^\w.-]+", node["key"]) if part]  # composite keys
    values_of = [list(values) for values in held]  # a link may be by another column than the key
    edges = kb.sql("SELECT * FROM edges").to_dicts()
    alone = []
    for edge in edges:
        head, tail = edge.pop("head"), edge.pop("tail")
        ends = [nodes[end][column] for end in (head, tail) for column in ("type", "key", "name")]
        alone.append([*ends, *edge.values()])
        held[head] += [nodes[tail]["key"], nodes[tail]["name"], *values_of[tail], *edge.values()]
    return [(as_text(values), set(atoms(values))) for values in [*held, *alone]]


def as_text(values: Iterable[Any]) -> str:
    """Return texts one after another, to look for a part in."""
    return "\n".join(str(value) for value in values if value is not None)


def kept(cell: Any, text: str, values: set[str]) -> bool:
    """Whether a cell is among the values, or is a list of them."""
    wanted = set(atoms(cell))
    if wanted <= values or (isinstance(cell, str) and cell.strip() in text):
        return True
    if not isinstance(cell, str) or "\n" in cell:
        return False
    if re.fullmatch(r"\d{1,3}(\.\d{3})+", cell) and cell.replace(".", "") in values:  # 12.500, beside 1,84
        return True
    if re.fullmatch(r"(19|20)\d{6}", cell) and f"{cell[:4]}-{cell[4:6]}-{cell[6:]}" in values:
        return True
    if re.fullmatch(r"\d{9,10}", cell):  # seconds since 1970
        return str(datetime.datetime.fromtimestamp(int(cell), datetime.UTC).replace(tzinfo=None)) in text
    if re.fullmatch(r"\[.*\]", cell):  # as Python prints lists
        return set(atoms(ast.literal_eval(cell))) <= values
    splits = (cell.split(sign) for sign in ";|," if sign in cell)  # also of a list of one, with a sign at its end
    return any({atom for part in parts if part.strip() for atom in atoms(part)} <= values for parts in splits)


def lost(kb: KnowledgeBase, rows: Iterable[Sequence[Any]]) -> list[Sequence[Any]]:
    """Return the rows of which not all cells are together at one node or edge."""
    places = held(kb)
    return [row for row in rows if not any(all(kept(cell, *place) for cell in row) for place in places)]


@cases
def test_no_cell_is_lost(case: Path, built: Build) -> None:
    """All cells of a row are found together: as key, name, alias, attribute and text of a node, or along its edges."""
    kb = built(case)
    missing = {path.name: rows for path in files_of(case) if (rows := lost(kb, rows_of(path)))}
    expected = json.loads((case / "expected.json").read_text("utf-8"))
    assert sum(map(len, missing.values())) == expected.get("left_out", 0), missing


# Letters, digits, and what delimits, quotes and separates; an odd capital keeps random words from being missing values
cell_texts = st.text("aàxZ09,;|\t\"' .-:/\n", min_size=0, max_size=12).map(lambda text: text and f"Q{text.strip()}")
fractions = st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: f"{x:.3f}".replace("-0.000", "0.000"))  # equal
numbers = st.integers(-1000, 10**7).map(str) | fractions
days = st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 1, 1)).map(str)


@st.composite
def folders(draw: st.DrawFn) -> dict[str, list[list[str]]]:
    """Draw owners, things that refer to them, and a link table; with missing values and odd texts."""
    form = draw(st.sampled_from(["{}", "k{}", "{:04}", "http://x.org/{}"]))
    first = draw(st.integers(0, 500))

    def column(count: int) -> list[str]:
        kind = draw(st.sampled_from([cell_texts, numbers, days, st.sampled_from(["red", "green", ""])]))
        return draw(st.lists(kind | st.just(""), min_size=count, max_size=count))

    def table(names: list[str], *columns: list[str]) -> list[list[str]]:
        return [names, *map(list, zip(*columns, strict=True))]

    owners = [form.format(first + i) for i in range(draw(st.integers(1, 6)))]
    things = [form.format(first + i) for i in range(draw(st.integers(1, 8)))]
    references = st.sampled_from(owners) | st.just("")
    owner_of = draw(st.lists(references, min_size=len(things), max_size=len(things)))
    links = draw(st.lists(st.tuples(st.sampled_from(owners), st.sampled_from(things)), min_size=1, max_size=8))
    return {
        "owners.csv": table(["id", "name", "note"], owners, column(len(owners)), column(len(owners))),
        "things.csv": table(
            ["id", "title", "owner_id", "x", "y"],
            things,
            column(len(things)),
            owner_of,
            column(len(things)),
            column(len(things)),
        ),
        "lends.csv": table(
            ["owner_id", "thing_id", "amount"], [a for a, _ in links], [b for _, b in links], column(len(links))
        ),
    }


# Shrinking would take minutes, because each example builds a KB
@pytest.mark.system
@examples(8, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(folders(), st.sampled_from(",;\t|"))
def test_random_tables_are_kept(tables: dict[str, list[list[str]]], delimiter: str) -> None:
    """Every cell of random tables with keys, references and missing values is kept, in the row that it belongs to."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "data").mkdir()
        for file, rows in tables.items():
            with (folder / "data" / file).open("w", encoding="utf-8", newline="") as handle:
                csv.writer(handle, delimiter=delimiter).writerows(rows)
        with build([folder / "data"], folder) as kb:
            missing = {file: gone for file, table in tables.items() if (gone := lost(kb, table[1:]))}
        assert not missing


# -- corrections ------------------------------------------------------------------------------------------------------

FILMS = "id,code,title,director,plot\n1,A,Solaris,Lem,Sea\n2,B,Stalker,Str,Zone\n3,C,Mirror,Lem,\n"
PEOPLE = "no,nick,city\n1,Lem,Krakow\n2,Str,Moscow\n3,Tar,Rome\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with films.csv and people.csv, whose columns say little."""
    (tmp_path / "films.csv").write_text(FILMS)
    (tmp_path / "people.csv").write_text(PEOPLE)
    return tmp_path


def ingest(folder: Path, *args: object) -> KnowledgeBase:
    """Build a KB of films.csv and people.csv by the command line."""
    done = here("ingest", "films.csv", "people.csv", "-o", "my.kb", "--stores", "tables", *args, cwd=folder)
    assert done.returncode == 0, done.stderr
    return kbkit.open(folder / "my.kb")


def test_wrong_guesses_are_corrected_by_options(folder: Path) -> None:
    options = ["--key", "films=code", "--key", "people=nick", "--link", "films.director=people"]
    with ingest(folder, *options, "--text", "films.plot", "--type", "people=human") as kb:
        assert shape(kb)["relations"] == [["film", "director", "human", 3, []]]
        assert shape(kb)["types"]["film"]["texts"] == ["plot"]
        assert kb.node("film#B").texts == [("plot", "Zone")]
        assert kb.node("human#Tar").attributes == {"no": 3, "city": "Rome"}
        assert not lost(kb, [line.split(",") for line in [*FILMS.splitlines()[1:], *PEOPLE.splitlines()[1:]]])


def test_python_corrects_guesses_as_options_do(folder: Path) -> None:
    with kbkit.ingest(
        str(folder / "films.csv"),
        folder / "people.csv",
        out=folder / "my.kb",
        stores=["tables"],
        keys={"films": ["code"], "people": ["nick"]},
        links={"films.director": "people"},
        texts=["films.plot"],
        types={"people": "human"},
    ) as kb:
        assert shape(kb)["relations"] == [["film", "director", "human", 3, []]]
        assert kb.node("film#B").texts == [("plot", "Zone")]
    with pytest.raises(kbkit.KbError, match="no guesses to correct"):
        kbkit.ingest("table", folder, out=folder / "x.kb", types={"people": "human"})


def test_a_guessed_link_can_be_taken_away(folder: Path) -> None:
    (folder / "people.csv").write_text("director,city\nLem,Krakow\nStr,Moscow\nTar,Rome\n")
    with ingest(folder) as kb:
        assert [relation.name for relation in kb.schema.relations] == ["director"]
    with ingest(folder, "--link", "films.director=", "--replace") as kb:
        assert not kb.schema.relations
        assert kb.node("film#1").attributes["director"] == "Lem"


def test_values_of_a_column_become_nodes(folder: Path) -> None:
    with ingest(folder, "--node", "films.director", "--node", "people.city") as kb:
        assert {name: one["nodes"] for name, one in shape(kb)["types"].items()} == {
            "film": 3, "person": 3, "director": 2, "city": 3
        }  # fmt: skip
        assert sorted(relation.name for relation in kb.schema.relations) == ["city", "director"]
        assert "director" not in kb.node("film#1").attributes


def test_a_key_can_have_two_columns_or_none(folder: Path) -> None:
    with ingest(folder, "--key", "films=code,title") as kb:
        keys = kb.sql("SELECT key FROM film ORDER BY id")["key"].to_list()
        titles = ["Solaris", "Stalker", "Mirror"]
        assert all(code in key and title in key for key, code, title in zip(keys, "ABC", titles, strict=True))
    with ingest(folder, "--key", "films=", "--replace") as kb:
        assert shape(kb)["types"]["film"]["nodes"] == 3
        assert {"code", "director", "plot"} <= {attribute.name for attribute in kb.schema.type("film").attributes}
        assert not kb.schema.relations


def test_a_correction_follows_a_first_look(folder: Path) -> None:
    """The second call replaces the recipe that the first one wrote."""
    with ingest(folder) as kb:
        assert not kb.schema.relations
    with ingest(folder, "--link", "films.director=people", "--key", "people=nick", "--replace") as kb:
        assert [relation.name for relation in kb.schema.relations] == ["director"]


def test_a_failed_build_does_not_stop_the_next(folder: Path) -> None:
    args = ("ingest", "films.csv", "people.csv", "-o", "my.kb", "--stores", "tables")
    done = here(*args, "--key", "films=director", cwd=folder)
    assert (done.returncode, "Duplicate key: film 'Lem'" in done.stderr) == (1, True)
    done = here(*args, cwd=folder)
    assert done.returncode == 0, done.stderr


def test_a_recipe_is_written_for_files_and_never_over_another(folder: Path) -> None:
    done = here("recipe", "new", "films", "films.csv", "people.csv", "--key", "films=code", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (folder / "films").iterdir()} == {"recipe.toml", "load.sql"}
    done = here("ingest", "./films", "films.csv", "people.csv", "-o", "my.kb", "--stores", "tables", cwd=folder)
    assert done.returncode == 0, done.stderr
    with kbkit.open(folder / "my.kb") as kb:
        assert kb.node("film#C").name == "Mirror"
    written = {path: path.read_bytes() for path in (folder / "films").iterdir()}
    done = here("recipe", "new", "films", "people.csv", cwd=folder)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert {path: path.read_bytes() for path in (folder / "films").iterdir()} == written


# -- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "facts"),
    [
        (["nix.csv"], ["nix.csv does not exist"]),
        (["films.csv", "nix.csv"], ["nix.csv does not exist"]),
        (["films.docx"], ["films.docx", ".csv, "]),
        (["empty"], ["No tables in empty"]),
        (["zero.csv"], ["zero.csv is empty"]),
        (["ids.csv"], ["Duplicate key", "'2'", "--merge-duplicates"]),
        (["ragged.csv"], ["ragged.csv, line 3", "2 columns instead of 3"]),
        (["films.csv", "--key", "film=code"], ["Unknown table 'film'", "'films'"]),
        (["films.csv", "--key", "films=cod"], ["Unknown column 'cod'", "films", "'code'"]),
        (["films.csv", "--key", "films=director"], ["Duplicate key: film 'Lem'"]),
        (["films.csv", "people.csv", "--link", "films.directr=people"], ["Unknown column 'directr'", "'director'"]),
        (["films.csv", "people.csv", "--link", "films.director=peple"], ["Unknown table 'peple'", "'people'"]),
        (["films.csv", "--text", "films.plt"], ["Unknown column 'plt'", "'plot'"]),
        (["films.csv", "--type", "fims=film"], ["Unknown table 'fims'", "'films'"]),
        (["films.csv", "--key", "films"], ["'films'", "people=ssn"]),
    ],
    ids=lambda value: " ".join(value) if value and value[0].endswith(("csv", "docx", "empty")) else "",
)
def test_bad_input_is_one_line_and_leaves_nothing(folder: Path, args: list[str], facts: list[str]) -> None:
    (folder / "films.docx").write_text(FILMS)
    (folder / "empty").mkdir()
    (folder / "zero.csv").write_text("")
    (folder / "ids.csv").write_text("id,name\n" + "".join(f"{i},p{i}\n" for i in range(1, 20)) + "2,other\n")
    (folder / "ragged.csv").write_text("id,latin,height\n1,Bellis,3\n2,Urtica\n")
    before = sorted(folder.rglob("*"))
    done = here("-q", "ingest", *args, "-o", "my.kb", "--stores", "tables", cwd=folder)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert [fact for fact in facts if fact not in done.stderr] == [], done.stderr
    assert sorted(folder.rglob("*")) == before


def test_an_edited_recipe_is_not_overwritten(folder: Path) -> None:
    with ingest(folder):
        pass
    (folder / "my.recipe" / "load.sql").open("a").write("-- mine\n")
    before = (folder / "my.recipe" / "load.sql").read_bytes()
    done = here("ingest", "films.csv", "-o", "my.kb", "--replace", "--stores", "tables", cwd=folder)
    assert (done.returncode, "my.recipe" in done.stderr) == (1, True)
    assert (folder / "my.recipe" / "load.sql").read_bytes() == before


def test_a_failed_ingest_restores_the_earlier_recipe(folder: Path) -> None:
    with ingest(folder):
        pass
    before = {path.name: path.read_bytes() for path in (folder / "my.recipe").iterdir()}
    done = here("ingest", "people.csv", "-o", "my.kb", "--stores", "tables", cwd=folder)
    assert (done.returncode, "my.kb is already a KB" in done.stderr) == (1, True)
    assert {path.name: path.read_bytes() for path in (folder / "my.recipe").iterdir()} == before


def test_many_columns_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MAX_COLUMNS", 3)
    for name, text in {"a.csv": "id,a,b,c\n1,2,3,4\n", "a.json": '[{"id": 1, "a": 2, "b": 3, "c": 4}]'}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        with pytest.raises(BadInputError, match=rf"{name} has 4 columns. The maximum is 3"):
            kbkit.ingest(str(tmp_path / name), out=tmp_path / "my.kb")


@pytest.mark.parametrize(
    "text", ['{"data": [{"id": 1, "x": "\\ud800"}]}', '[{"id": 1, "o": {"id": 2, "a": "\\udfff", "b": 1}}]']
)
def test_an_unpaired_surrogate_in_records_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    with pytest.raises(BadInputError, match=r"Invalid Unicode \(unpaired surrogate\) in .*a\.json"):
        kbkit.ingest(str(tmp_path / "a.json"), out=tmp_path / "my.kb", stores=["tables"])
    assert not (tmp_path / "my.kb").exists()


def test_an_object_inside_of_another_is_found_in_those_without_an_identifier_only(tmp_path: Path) -> None:
    """The place is the same, but an object with an identifier is taken as a whole; ``a`` is a table and a field."""
    owner = {"id": 7, "name": "Ann", "age": 30}
    rows = [{"id": 1, "a": {"o": owner, "v": 1}}, {"id": 2, "a": {"id": "u", "o": {"name": "Bob"}, "v": 2}}]
    (tmp_path / "a.json").write_text(json.dumps(rows), encoding="utf-8")
    with kbkit.ingest(str(tmp_path / "a.json"), out=tmp_path / "my.kb", stores=["tables"]) as kb:
        assert {("a", "1", "1"), ("a", "2", "2"), ("o", "7", "Ann")} <= set(
            kb.sql("SELECT type, key, name FROM nodes").rows()
        )
        assert kb.sql("SELECT a_v FROM a ORDER BY id")["a_v"].to_list() == [1, 2]


def test_fields_that_are_data_stay_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of objects in a record make no table each, and thousands of fields no column each."""
    monkeypatch.setattr(json_records, "_MOST_KINDS", 3)
    monkeypatch.setattr(table_fields, "_MOST_FIELDS", 3)
    rows = [
        {"id": n, "wide": dict.fromkeys("abcd", n), **{f"f{i}": {"id": i, "x": i, "y": n} for i in range(4)}}
        for n in range(2)
    ]
    (tmp_path / "a.json").write_text(json.dumps(rows), encoding="utf-8")
    with kbkit.ingest(str(tmp_path / "a.json"), out=tmp_path / "my.kb", stores=["tables"]) as kb:
        assert kb.schema.nodes == 2
        assert json.loads(kb.sql("SELECT wide FROM a ORDER BY id")["wide"][1]) == dict.fromkeys("abcd", 1)


def test_files_of_link_prediction_are_recognized(tmp_path: Path) -> None:
    rows = [f"e{i}\tr{i % 3}\te{(i * 7) % 20}" for i in range(20)]
    for split, part in (("train", rows[:12]), ("valid", rows[12:16]), ("test", rows[16:])):
        (tmp_path / f"{split}.txt").write_text("\n".join(part * 2) + "\n", encoding="utf-8")
    with build([tmp_path], tmp_path) as kb:
        assert (kb.schema.nodes, sorted(r.name for r in kb.schema.relations)) == (20, ["r0", "r1", "r2"])


def test_the_first_line_is_data_if_the_user_says_so(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("Anna,Berlin\nBob,Paris\nCy,Rome\n", encoding="utf-8")
    with kbkit.ingest(str(tmp_path / "p.csv"), out=tmp_path / "p.kb", no_header=True, stores=["tables"]) as kb:
        assert sorted(kb.sql("SELECT name FROM p")["name"]) == ["Berlin", "Paris", "Rome"]


@pytest.mark.parametrize("corrections", [{"types": {"credits": "credit"}}, {"keys": {"credits": ()}}])
def test_rows_of_a_link_table_are_nodes_if_the_user_says_so(tmp_path: Path, corrections: dict[str, Any]) -> None:
    case = TESTS / "ingestion" / "inferred" / "incomplete_links"
    with kbkit.ingest(*map(str, files_of(case)), out=tmp_path / "c.kb", stores=["tables"], **corrections) as kb:
        members = {t.name: t.members for t in kb.schema.node_types}
        assert members == {"artist": 2, "song": 3, next(name for name in members if name.startswith("credit")): 6}


def test_a_foreign_key_may_name_another_column_than_the_key(tmp_path: Path) -> None:
    con = sqlite3.connect(tmp_path / "films.sqlite")
    con.executescript("""
        CREATE TABLE people(no INTEGER PRIMARY KEY, nick TEXT UNIQUE, city TEXT);
        CREATE TABLE films(no INTEGER PRIMARY KEY, title TEXT, director TEXT REFERENCES people(nick));
        INSERT INTO people VALUES (7, 'Lem', 'Krakow'), (8, 'Str', 'Moscow'), (9, 'Tar', 'Rome');
        INSERT INTO films VALUES (1, 'Solaris', 'Lem'), (2, 'Stalker', 'Str'), (3, 'Mirror', 'Lem'), (4, 'Home', NULL);
    """)
    con.close()
    with kbkit.ingest(str(tmp_path / "films.sqlite"), out=tmp_path / "x.kb", stores=["tables"]) as kb:
        query = "SELECT h.key, t.key FROM director JOIN nodes h ON h.id = head JOIN nodes t ON t.id = tail"
        assert sorted(kb.sql(query).rows()) == [("1", "7"), ("2", "8"), ("3", "7")]
        assert kb.schema.type("person").members == 3
        labels = {t.name: (t.name_label, t.key_label) for t in kb.schema.node_types}
        assert labels == {"person": ("nick", "no"), "film": ("", "no")}  # a title is a name


@pytest.mark.parametrize(("omit", "keys"), [("note", ["7", "8", "9"]), ("code", ["a", "b", "c"])])
def test_a_declared_key_holds_unless_its_column_is_left_out(tmp_path: Path, omit: str, keys: list[str]) -> None:
    con = sqlite3.connect(tmp_path / "towns.sqlite")
    con.executescript("""
        CREATE TABLE towns(id TEXT, code INTEGER PRIMARY KEY, name TEXT, note TEXT);
        INSERT INTO towns VALUES ('a', 7, 'Ulm', 'x'), ('b', 8, 'Bern', 'y'), ('c', 9, 'Lyon', 'z');
    """)
    con.close()
    source = str(tmp_path / "towns.sqlite")
    with kbkit.ingest(source, out=tmp_path / "x.kb", stores=["tables"], omit=[f"towns.{omit}"]) as kb:
        assert kb.sql("SELECT key FROM nodes ORDER BY key")["key"].to_list() == keys


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("fk_birthCountry_id", ("birth", "country")),
        ("countryid", ("country",)),
        ("android", ("android",)),
        ("id_person_name", ("person",)),
        ("studio_ids", ("studio",)),
        ("id", ("id",)),
    ],
)
def test_words_of_a_column_say_what_it_refers_to(column: str, words: tuple[str, ...]) -> None:
    assert inference_names.subject(column) == words


@pytest.mark.parametrize(
    ("lines", "delimiter"),
    [
        (["1,2,3;x"] * 39 + ["1,2;x"], ","),  # one bad row does not make fewer fields better
        (["1,2,3;x"] * 5 + ["1,2;x"] * 5, ";"),
        (["1;2;3"] * 3, ";"),
        (["one column"] * 3, ","),
    ],
)
def test_the_delimiter_splits_most_rows_alike(lines: list[str], delimiter: str) -> None:
    assert dialect._delimiter("\n".join(lines)) == delimiter


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_commas_before_blanks_are_in_fields_if_each_row_has_its_columns_then(tmp_path: Path, end: str) -> None:
    lines = ["id,name,place", "1,Ann,Rua do Mar, 7", '2,"Lee, Bo",Ulm', "3,Cy,2, rue, Lyon", "4,Di,Bern"]
    (tmp_path / "people.csv").write_bytes(end.join(lines).encode())
    with kbkit.ingest(str(tmp_path / "people.csv"), out=tmp_path / "x.kb", stores=["tables"]) as kb:
        rows = kb.sql("SELECT name, place FROM person ORDER BY key").to_dicts()
    assert [tuple(row.values()) for row in rows] == [
        ("Ann", "Rua do Mar, 7"), ("Lee, Bo", "Ulm"), ("Cy", "2, rue, Lyon"), ("Di", "Bern")
    ]  # fmt: skip
    assert dialect.detect(tmp_path / "people.csv").spaced == ","
    (tmp_path / "people.csv").write_text("id,name\n1,Ann,Lee\n2,Bo, Ray\n", encoding="utf-8")
    with pytest.raises(BadInputError, match=r"3 columns instead of 2 in .*people.csv, line 2. Quote fields"):
        kbkit.ingest(str(tmp_path / "people.csv"), out=tmp_path / "y.kb", stores=["tables"])


@pytest.mark.parametrize(
    ("cell", "are_lists"),
    [("Ann (https://n.so/a)", False), ("Ann (https://n.so/a), Bo (https://n.so/b)", True)],
)
def test_several_names_with_addresses_are_a_list(cell: str, are_lists: bool) -> None:
    with duckdb.connect() as con:
        con.execute("CREATE TABLE people AS SELECT ? AS who", [cell])
        plain = looks.unwrapped(looks.TableField("who", "VARCHAR", "who"), {"values": 1, "addressed": 1})
        assert con.execute(f"SELECT {plain.value} FROM people").fetchone() == (re.sub(r" \(.*?\)", "", cell),)
        assert separators.are_addressed_lists(con, "people", plain) is are_lists


@pytest.mark.parametrize(
    ("column", "kind", "how_well"),
    [
        ("country", "country", 3),
        ("country_ids", "countries", 0),
        ("main_car_color", "car color", 2),
        ("birth_country", "country", 2),
        ("color", "car_color", 1.5),
        ("home_town", "birth_town", 1.5),
        ("town", "river", 0),
    ],
)
def test_columns_fit_types_by_their_names(column: str, kind: str, how_well: float) -> None:
    assert inference_names.fit(column, kind) == how_well


def test_damage_that_duckdb_passes_over_is_noticed_before_a_recipe_is_inferred(tmp_path: Path) -> None:
    data = bytearray(gzip.compress(b'{"id": 1, "name": "Ulm"}\n'))
    data[-8] ^= 1  # its checksum
    path = tmp_path / "towns.jsonl.gz"
    path.write_bytes(data)
    with pytest.raises(BadInputError, match=r"Corrupt gzip file .*towns\.jsonl\.gz"):
        infer([path], "towns")


def test_the_view_of_a_table_beside_the_table_is_not_read(tmp_path: Path) -> None:
    for end, rows in (("", ""), ("_all", "b\n")):
        (tmp_path / f"Tasks 7e6d5c4b3a2f1e0d9c8b7a6f5e4d3c2b{end}.csv").write_text(f"Name\na\n{rows}", encoding="utf-8")
    inferred = infer([tmp_path], "x")
    assert [(table.type, table.rows) for table in inferred.tables] == [("task", 2)]
    assert any("_all has its rows" in note for note in inferred.notes)


def test_sheets_with_the_same_columns_are_one_table_unless_they_are_about_the_same_rows(tmp_path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    for title, ids in (("May", range(1, 6)), ("June", range(6, 11)), ("Plan", range(1, 6)), ("Actual", range(1, 6))):
        sheet = book.create_sheet(title)
        same = title in ("Plan", "Actual")
        sheet.append(["Item no", "Cost", "Owner"] if same else ["Visit no", "Guest", "Paid"])
        for number in ids:
            sheet.append([number, 2.5 * number, "Ann"] if same else [number, f"Guest {number}", number + 1])
        sheet.append(["Total", None, None])
    book.remove(book.active)
    book.save(tmp_path / "Hotel visits.xlsx")
    inferred = infer([tmp_path / "Hotel visits.xlsx"], "x")
    assert {table.name: table.rows for table in inferred.tables} == {"Hotel_visits": 10, "Plan": 5, "Actual": 5}
    assert "Read 2 sheets as one table, Hotel_visits: May, June" in inferred.notes
    with kbkit.ingest(str(tmp_path / "Hotel visits.xlsx"), out=tmp_path / "x.kb", stores=["tables"]) as kb:
        rows = kb.sql("SELECT sheet, count(*) AS n FROM hotel_visit GROUP BY ALL ORDER BY ALL").to_dicts()
        assert rows == [{"sheet": "June", "n": 5}, {"sheet": "May", "n": 5}]


def test_words_that_say_why_there_is_no_number_become_another_attribute(tmp_path: Path) -> None:
    cells = [*map(str, range(1, 18)), "abs", "DNF", ""]
    rows = "".join(f"p{n},{cell},{n % 9}{'x' * (n % 2)}\n" for n, cell in enumerate(cells))
    (tmp_path / "marks.csv").write_text(f"Pupil,Mark,Room\n{rows}", encoding="utf-8")
    inferred = infer([tmp_path / "marks.csv"], "x")
    looks_of = {column.name: column.look for column in inferred.tables[0].columns.values()}
    assert looks_of == {"Pupil": "text", "Mark": "integer", "Room": "text", "Mark text": "text"}
    assert "Words among numbers are attributes of their own: marks.Mark (Mark text)" in inferred.notes


def test_titles_and_totals_of_a_sheet_of_excel_are_no_rows(tmp_path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    for row in (
        ["Loans of 2024"],
        [],
        ["Loan", "Book", "Fee"],
        [1, "Solaris", 0.5],
        [2, "Beloved", 2],
        ["Total", None, 2.5],
    ):
        book.active.append(row)
    book.save(tmp_path / "loans.xlsx")
    inferred = infer([tmp_path / "loans.xlsx"], "x")
    assert [(table.rows, list(table.columns)) for table in inferred.tables] == [(2, ["Loan", "Book", "Fee"])]
    assert "Left out rows of totals and notes: loans (1)" in inferred.notes


def test_folders_inside_are_named_as_not_read(tmp_path: Path) -> None:
    (tmp_path / "general").mkdir()
    rows = "id,nameFirst,nameLast,born,Company IDs\nq1,Ann,Lee,1990/2/3,c1\nq2,Bo,Ray,1991/12/13,c2\n"
    for path in (tmp_path / "people.csv", tmp_path / "general" / "others.csv"):
        path.write_text(rows, encoding="utf-8")
    (tmp_path / "companies.csv").write_text("Company ID,name\nc1,Ulm Mills\nc2,Bern Bank\n", encoding="utf-8")
    inferred = infer([tmp_path], "x")
    hint = f"in a subfolder; to read it, add {tmp_path / 'general'} to the command"
    assert f"Not read: general/others.csv ({hint})" in inferred.notes
    people = next(nodes for nodes in inferred.plan.nodes if nodes.table.name == "people")
    assert people.named == ("nameFirst", "nameLast")
    assert "%Y/%m/%d" in inferred.sql
    assert [relation for relation, _ in people.links] == ["company"]
