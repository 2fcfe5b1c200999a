"""Values that no engine accepts: refused in one line where they enter, by the API, by recipes and by source files."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kbkit
from kbkit.assets.arguments import check_range
from kbkit.display.render import to_json
from kbkit.errors import BadInputError, KbError
from kbkit.ingestion.source_errors import MAX_LINE, explained
from kbkit.kb import KnowledgeBase
from tests.conftest import Run
from tests.console import one_line

NODES = "key,type,name\na,x,Ann\nb,x,Bob\n"
EDGES = "head,relation,tail\na,knows,b\n"

# -- the API ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda kb: kb.find("\ud800"), "Invalid Unicode (unpaired surrogate) in reference: '\\ud800'"),
        (lambda kb: kb.sql("SELECT $x", x=["\ud800"]), "Invalid Unicode (unpaired surrogate) in x"),
        (lambda kb: kb.paths("France", "Spain", limit=2**70), "Invalid limit: 1180591620717411303424"),
        (lambda kb: kb.paths("France", "Spain", limit=-1), "Invalid limit: -1. Use 1 or more"),
        (lambda kb: kb.around("France", hops=2**63 - 1), "Use 1 to"),
        (lambda kb: kb.suggest_templates(seed=-1), "Invalid seed: -1. Use 0 or more"),
        (lambda kb: kb.search("x", k=None), "Invalid k: None. Use an integer"),
        (lambda kb: kb.search("x", colour=1), "Unknown option 'colour'"),
        (lambda kb: kb.search("x", rerank={}), "Invalid rerank: {}"),
        (lambda kb: kb.ask(b"x"), "Invalid question: b'x'. Use text"),
        (lambda kb: kb.neighbors("France", ["borders"]), "Invalid relation: ['borders']. Use text"),
        (lambda kb: kb.paths("France", "Spain", relations=[3]), "Invalid relations: 3. Use text"),
        (lambda kb: kb.run("counts"), "Invalid query: 'counts'"),
        (lambda kb: kb.answers(3), "Invalid template: 3"),
        (lambda kb: kb.answers("country").proofs([2**40]), "Unknown node id 1099511627776"),
        (lambda kb: kb.answers("country").derivations([-1]), "Unknown node id -1"),
        (lambda kb: kb.sparql("ASK { ?s ?p $x }", x=[1]), "A parameter is a list"),
        (lambda kb: kb.sql("UPDATE EXTENSIONS"), "UPDATE EXTENSIONS is not allowed"),
        (lambda kb: kb.export("csv", "a\0b"), "Invalid out: 'a\\x00b'"),
        (lambda kb: kb.export("csv", "x" * 300), "names up to 255 bytes"),
        (lambda _: kbkit.open(3), "Invalid path: 3. Use text or a path"),
        (lambda _: kbkit.ingest("table", out="x", columns=[]), "Invalid columns: []. Use a mapping"),
        (lambda _: kbkit.ingest("(" * 10_000, out="x"), "names up to 255 bytes"),
        (lambda _: kbkit.update("x", edges=[3]), "Invalid edges: 3"),
    ],
)
def test_the_api_names_the_argument(world: KnowledgeBase, call: Callable[[Any], object], said: str) -> None:
    with pytest.raises(KbError) as caught:
        call(world)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_values_that_cannot_be_shown(world: KnowledgeBase) -> None:
    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]
    for value in (deep, 10**5_000):
        with pytest.raises(BadInputError, match="that is too long to show"):
            world.ask(value)  # type: ignore[arg-type]


def test_a_range_excludes_nan() -> None:
    check_range("x", 1.5, 1, 2)
    with pytest.raises(BadInputError, match="Use 1 to 2"):
        check_range("x", math.nan, 1, 2)


def test_long_messages_are_cut() -> None:
    text = str(KbError("a" * 5_000 + "end", "hint"))
    assert len(text) < 1_600
    assert "end" in text
    assert text.endswith("hint.")


@pytest.mark.parametrize("brackets", ["({})", "{{}}", "!{}", "[ <p> {}]"])
def test_deep_sparql_is_refused_before_the_engine(world: KnowledgeBase, brackets: str) -> None:
    before, _, after = brackets.partition("{}")
    query = "SELECT * { ?s ?p ?o FILTER(" + before * 5_000 + "true" + after * 5_000 + ") }"
    with pytest.raises(KbError, match=r"More than 100 nested brackets \(line 1"):
        world.sparql(query.replace("FILTER", "") if "<p>" in brackets or before == "{" else query)


# -- JSON output ------------------------------------------------------------------------------------------------------


def test_json_has_no_nan(here: Run, world_kb: Path) -> None:
    query = "SELECT 'nan'::DOUBLE AS a, ['inf'::DOUBLE] AS b, {'x': '-inf'::DOUBLE} AS c"
    done = here("sql", world_kb, query, "-f", "json")
    assert json.loads(done.stdout, parse_constant=pytest.fail) == [{"a": None, "b": [None], "c": {"x": None}}]
    assert "null" in here("sql", world_kb, query, "-f", "csv").stdout
    assert to_json({"a": [math.nan, (math.inf, 1)]}) == '{"a": [null, [null, 1]]}'


# -- recipes and sources ----------------------------------------------------------------------------------------------


@pytest.fixture
def refused(here: Run, tmp_path: Path) -> Callable[..., str]:
    """Build from files with a recipe, and return the line that refuses them; nothing is left."""

    def call(files: dict[str, str | bytes], recipe: str = "table", *options: str) -> str:
        (tmp_path / "src").mkdir()
        for name, content in files.items():
            (tmp_path / "src" / name).write_bytes(content.encode() if isinstance(content, str) else content)
        message = one_line(here("ingest", recipe, "src", "-o", "my.kb", *options, cwd=tmp_path))
        assert not (tmp_path / "my.kb").exists()
        return message

    return call


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("nodes.csv", NODES + "c,y,Cid\rd,y,Dan\n", "Mixed line ends in src/nodes.csv, line 4. Convert them"),
        (
            "nodes.csv.gz",
            gzip.compress(NODES.encode(), mtime=0)[:-8] + bytes(8),
            "Corrupt gzip file src/nodes.csv.gz: CRC check",
        ),
        (
            "nodes.csv.gz",
            gzip.compress(NODES.encode(), mtime=0) + b"junk",
            "Corrupt gzip file src/nodes.csv.gz: Not a gzipped",
        ),
        ("nodes.json", f'[{{"key": {"[" * 5_000 + "]" * 5_000}}}]', "JSON nested too deeply in src/nodes.json"),
        ("nodes.jsonl", '{"key": "a"}\n{"key": "b", "n": 1, "n": 2}\n', "Duplicate key in src/nodes.jsonl, line 2"),
        ("nodes.jsonl", '{"key": "a"}\n{"key": "\\ud800"}\n', "Invalid JSON in src/nodes.jsonl, line 2"),
    ],
)
def test_a_damaged_table(refused: Callable[..., str], name: str, content: str | bytes, said: str) -> None:
    assert said in refused({name: content, "edges.csv": EDGES})


def test_a_term_of_rdf_that_is_too_long(refused: Callable[..., str]) -> None:
    line = f'<http://e/a> <http://e/p> "{"x" * (17 << 20)}" .\n'
    assert refused({"a.nt": line}, "rdf") == "A term is too long in src/a.nt. The limit is 16 MiB."


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("name", ["nodes.csv", "nodes.csv.gz"])
def test_a_long_last_line_is_not_dropped(tmp_path: Path, name: str, end: str) -> None:
    """DuckDB drops one of hundreds of megabytes without an error."""
    data = (NODES + "c,x," + "y" * (MAX_LINE + (2 << 20)) + end).encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(data, 1) if name.endswith(".gz") else data)
    with (
        pytest.raises(BadInputError, match=r"Line longer than 10,000,000 bytes in .*nodes\.csv"),
        explained(Path("x"), [path]),
    ):
        pass


@pytest.mark.parametrize("value", ["-1", "1180591620717411303424", "x", "1.5", ""])
def test_integer_options_of_recipes(refused: Callable[..., str], value: str) -> None:
    message = refused({"a.tsv": "id\tnode1\tlabel\tnode2\ne\ta\tr\tb\n"}, "kgtk", "--set", f"most_types={value}")
    assert message == f"Invalid value {value!r} of option most_types. Use an integer from 0 to 999,999,999."


TOML = b'title = "t"\n[files.people]\nmatch = ["a.csv"]\n'


@pytest.mark.parametrize(
    ("toml", "sql", "said"),
    [
        (b"x = " + b"[" * 5_000, b"", "recipe.toml: Nested too deeply"),
        (b"x = " + b"9" * 5_000, b"", "recipe.toml: "),
        (TOML, b"SELECT 1;\n-- \xf6", "Invalid UTF-8 in r/load.sql, line 2"),
        (TOML, b"UPDATE EXTENSIONS;", "is not allowed: a recipe can only read its files"),
    ],
)
def test_a_hostile_recipe(refused: Callable[..., str], tmp_path: Path, toml: bytes, sql: bytes, said: str) -> None:
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "recipe.toml").write_bytes(toml)
    (tmp_path / "r" / "load.sql").write_bytes(sql)
    assert said in refused({"a.csv": "x\n1\n"}, "./r")


def test_numbers_are_keys_as_they_are_written(tmp_path: Path) -> None:
    """A column of keys is of numbers with and without a fraction."""
    nodes = [{"key": 1, "name": 2, "n": 1}, {"key": 2.5, "name": 0.5, "n": 1.5}]
    (tmp_path / "nodes.json").write_text(json.dumps(nodes), encoding="utf-8")
    (tmp_path / "edges.json").write_text('[{"head": 1, "relation": "r", "tail": 2.5}]', encoding="utf-8")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "my.kb", stores=["tables"]) as kb:
        assert kb.sql("SELECT key, name FROM nodes ORDER BY key").rows() == [("1", "2"), ("2.5", "0.5")]
        assert kb.sql("SELECT n FROM entity ORDER BY n").to_series().to_list() == [1.0, 1.5]
