"""What SQL may do to a KB, to files and to the network (nothing, without --allow-files), and its results."""

from __future__ import annotations

import contextlib
import itertools
import json
import shutil
import threading
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime
from datetime import time as clock
from decimal import Decimal
from pathlib import Path

import duckdb
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kbkit
from kbkit.errors import BadInputError, KbError, QueryError, QueryTimeoutError, ResultTooLargeError
from kbkit.kb import KnowledgeBase
from kbkit.stores.sql_results import ResultBounds, read_result, unique_names
from kbkit.stores.tables import Tables
from tests.examples import examples
from tests.loopback import Loopback
from tests.wording import Wording

CANARY = "the canary sings"


@pytest.fixture(scope="module")
def kb(tiny_kb: Path) -> Iterator[KnowledgeBase]:
    with kbkit.open(tiny_kb) as opened:
        yield opened


@pytest.fixture
def fresh(tiny_kb: Path) -> Iterator[KnowledgeBase]:
    """A KB of its own, for SQL that may leave traces in its session."""
    with kbkit.open(tiny_kb) as opened:
        yield opened


@pytest.fixture
def copy(tiny_kb: Path, tmp_path: Path) -> Path:
    """A KB that a test may damage."""
    return shutil.copytree(tiny_kb, tmp_path / "copy.kb")


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A folder with a file that must not be read; nothing may appear beside it."""
    folder = tmp_path / "secret"
    folder.mkdir()
    (folder / "canary.csv").write_text(f"a,b\n{CANARY},2\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def loopback() -> Iterator[Loopback]:
    """A server of this machine."""
    with Loopback(lambda _: (200, b"a,b\n1,2\n", {})) as server:
        yield server


# -- no file is read or written ---------------------------------------------------------------------------------------

READS = (
    "SELECT * FROM read_csv('{dir}/canary.csv')",
    "SELECT * FROM read_csv_auto('{dir}/*.csv')",
    "SELECT * FROM '{dir}/canary.csv'",
    'SELECT * FROM "{dir}/canary.csv"',
    "SELECT * FROM read_text('{dir}/canary.csv')",
    "SELECT * FROM read_blob('{dir}/canary.csv')",
    "SELECT * FROM read_json('{dir}/canary.csv')",
    "SELECT * FROM read_parquet('{dir}/canary.csv')",
    "SELECT * FROM parquet_metadata('{dir}/canary.csv')",
    "SELECT * FROM sniff_csv('{dir}/canary.csv')",
    "SELECT * FROM glob('{dir}/*')",
    "SELECT * FROM query('FROM read_text(''{dir}/canary.csv'')')",
    "SELECT * FROM query_table('{dir}/canary.csv')",
    "CREATE TEMP TABLE t(a VARCHAR, b VARCHAR); COPY t FROM '{dir}/canary.csv'; SELECT * FROM t",
    "PRAGMA import_database('{dir}')",
    "IMPORT DATABASE '{dir}'",
    "SELECT 1; SELECT * FROM read_text('{dir}/canary.csv')",
    "WITH t AS (FROM read_text('{dir}/canary.csv')) SELECT * FROM t",
    "SELECT (SELECT content FROM read_text('{dir}/canary.csv'))",
    "EXPLAIN ANALYZE SELECT * FROM read_text('{dir}/canary.csv')",
    "SELECT getenv('HOME')",
)

WRITES = (
    "COPY (SELECT 1) TO '{dir}/out.csv'",
    "COPY (SELECT 1) TO '{dir}/out.parquet' (FORMAT parquet)",
    "COPY nodes TO '{dir}/out' (FORMAT csv, PARTITION_BY (type))",
    "ATTACH '{dir}/other.db'",
    "ATTACH '{dir}/other.db' AS other; CREATE TABLE other.t(a INT)",
    "EXPORT DATABASE '{dir}/export'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "LOAD '{dir}/canary.csv'",
    "INSTALL spatial FROM community",
    "CREATE PERSISTENT SECRET s (TYPE http, BEARER_TOKEN 'x')",
    "SET temp_directory = '{dir}/spill'",
    "SET home_directory = '{dir}'",
    "SET log_query_path = '{dir}/log'",
    "PRAGMA profiling_output = '{dir}/profile.json'",
    "CALL enable_logging(storage = 'file', storage_path = '{dir}/log')",
    "SET enable_external_access = true",
    "SET GLOBAL enable_external_access = true",
    "RESET enable_external_access",
    "PRAGMA enable_external_access = true",
    "SET allowed_directories = ['{dir}']",
    "SET allowed_paths = ['{dir}/canary.csv']",
    "SET lock_configuration = false",
    "SET autoinstall_known_extensions = true",
    "SET memory_limit = '1GB'",
)


@pytest.mark.parametrize("text", READS + WRITES)
def test_sql_reads_and_writes_no_file(small: KnowledgeBase, secret: Path, text: str) -> None:
    with pytest.raises(QueryError) as caught:
        small.sql(text.format(dir=secret))
    assert CANARY not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert [path.name for path in secret.iterdir()] == ["canary.csv"]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM read_csv('{url}/x.csv')",
        "SELECT * FROM '{url}/x.csv'",
        "SELECT * FROM read_parquet('{url}/x.parquet')",
        "SELECT content FROM read_text('{url}/x')",
        "ATTACH '{url}/x.db' AS remote",
        "COPY (SELECT 1) TO '{url}/x.csv'",
        "INSTALL x FROM '{url}'",
    ],
)
def test_sql_calls_nobody(fresh: KnowledgeBase, loopback: Loopback, text: str) -> None:
    with pytest.raises(QueryError):
        fresh.sql(text.format(url=loopback.base))
    assert loopback.asked == []


def test_python_variables_are_no_tables(kb: KnowledgeBase) -> None:
    frame = pl.DataFrame({"a": [CANARY]})
    assert frame.height == 1
    for name in ("frame", "text", "params", "self", "relation"):
        with pytest.raises(QueryError, match=f"Table with name {name} does not exist"):
            kb.sql(f"SELECT * FROM {name}")


@pytest.mark.core
def test_the_refusal_names_the_option(here, tiny_kb: Path, secret: Path, wording: Wording) -> None:
    done = here("sql", tiny_kb, "-c", f"SELECT * FROM read_text('{secret}/canary.csv')")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "Permission Error" in done.stderr
    assert "--allow-files" in done.stderr
    wording(done.stderr, "cli", {str(secret): "SECRET"})


def test_allow_files_reads_and_writes(here, tiny_kb: Path, secret: Path) -> None:
    read = here("sql", tiny_kb, "--allow-files", "-c", f"SELECT a FROM read_csv('{secret}/canary.csv')", "-f", "ndjson")
    assert (read.returncode, read.stdout) == (0, json.dumps({"a": CANARY}, separators=(",", ":")) + "\n")
    target = secret / "out.csv"
    wrote = here("sql", tiny_kb, "--allow-files", "-c", f"COPY (SELECT count(*) AS n FROM nodes) TO '{target}'")
    assert wrote.returncode == 0, wrote.stderr
    assert target.read_text(encoding="utf-8") == "n\n12\n"
    refused = here("sql", tiny_kb, "--allow-files", "-c", "DELETE FROM nodes")
    assert refused.returncode == 1
    assert "read-only" in refused.stderr


# -- the KB is not changed --------------------------------------------------------------------------------------------


CHANGES = (
    "CREATE TABLE x(a INT)",
    "CREATE VIEW x AS SELECT 1",
    "CREATE MACRO x(a) AS a",
    "CREATE SCHEMA x",
    "INSERT INTO nodes SELECT * FROM nodes",
    "UPDATE nodes SET name = 'x'",
    "DELETE FROM kb.main.nodes",
    "TRUNCATE nodes",
    "DROP TABLE nodes",
    "DROP VIEW disease",
    "ALTER TABLE nodes ADD COLUMN x INT",
    "CREATE INDEX x ON nodes(id)",
    "BEGIN; DELETE FROM nodes; COMMIT",
    "SELECT 1; DELETE FROM nodes",
    "COMMENT ON TABLE nodes IS 'x'",
)


def test_the_kb_cannot_be_written(copy: Path) -> None:
    with kbkit.open(copy) as kb:
        for text in CHANGES:
            with pytest.raises(QueryError):
                kb.sql(text)
    with kbkit.open(copy) as kb:
        assert [problem for _, problem in kb.check() if problem] == []


OWN_FILES = (
    "USE memory; DETACH kb; ATTACH '{file}' AS w; CREATE TABLE w.evil(a INT)",
    "USE memory; DETACH kb; ATTACH '{file}' AS w; DROP TABLE w.texts",
    "COPY (SELECT 'x') TO '{file}.wal' (USE_TMP_FILE false)",
    "COPY (SELECT 'x') TO '{file}.wal'",
    "COPY (SELECT 'x') TO '{file}' (USE_TMP_FILE false)",
)


@pytest.mark.parametrize("text", OWN_FILES)
def test_the_kb_s_own_files_are_not_written_either(copy: Path, text: str) -> None:
    with kbkit.open(copy) as kb:
        file = kb.folder / "tables.duckdb"
        with pytest.raises(QueryError):
            kb.sql(text.format(file=file))
    with kbkit.open(copy) as kb:
        assert [problem for _, problem in kb.check() if problem] == []


def _own_answers(kb: KnowledgeBase) -> tuple[object, ...]:
    """What kbkit itself asks the tables for, and a user's plain count."""
    return (
        kb.sql("SELECT count(*) AS n FROM nodes")["n"].to_list(),
        kb.search("insulin sugar", k=2, mode="bm25")["name"].to_list(),
        kb.neighbors("gene/protein#g1")["name"].to_list(),
        kb.node("gene/protein#g1").name,
    )


@pytest.mark.parametrize(
    "text",
    [
        "BEGIN; SELECT error('x')",
        "USE memory",
        "USE memory; DETACH kb",
        "CREATE TEMP TABLE nodes AS SELECT 0 AS id, 'k' AS key, 'person' AS type, 'forged' AS name",
        "CREATE SCHEMA memory.kb; CREATE TABLE memory.kb.nodes AS SELECT 0 AS id, 'forged' AS name",
        "CREATE TABLE memory.main.nodes AS SELECT 0 AS id; ATTACH ':memory:' AS other",
        "CREATE MACRO memory.main.lower(x) AS 'forged'",
    ],
)
def test_one_query_does_not_change_the_next(fresh: KnowledgeBase, text: str) -> None:
    before = _own_answers(fresh)
    with contextlib.suppress(QueryError):
        fresh.sql(text)
    assert _own_answers(fresh) == before


def test_tables_of_a_session_are_its_own(fresh: KnowledgeBase) -> None:
    before = _own_answers(fresh)
    one, other = fresh.tables.connect(), fresh.tables.connect()
    fresh.tables.frame("CREATE SCHEMA memory.kb; CREATE TABLE memory.kb.nodes AS SELECT 7 AS id", on=one)
    assert fresh.tables.frame("FROM memory.kb.nodes", on=one).rows() == [(7,)]
    for connection in (other, None):
        with pytest.raises(QueryError):
            fresh.tables.frame("FROM memory.kb.nodes", on=connection)
    assert _own_answers(fresh) == before
    one.close()
    other.close()


def test_an_error_does_not_change_the_next_answer(kb: KnowledgeBase) -> None:
    before = _own_answers(kb)
    for text in ("SELEC 1", "SELECT error('x')", "SELECT nope FROM nodes", "SELECT 'x'::INT"):
        with pytest.raises(QueryError):
            kb.sql(text)
    assert _own_answers(kb) == before


# -- time limit -------------------------------------------------------------------------------------------------------

ENDLESS = "WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t) SELECT max(i) FROM t"


def test_timeout_stops_a_query_and_the_next_one_works(kb: KnowledgeBase) -> None:
    started = time.monotonic()
    with pytest.raises(QueryTimeoutError, match=r"0\.2 s.*timeout"):
        kb.sql(ENDLESS, timeout=0.2)
    assert time.monotonic() - started < 20
    assert kb.sql("SELECT 1 AS a", timeout=60)["a"].to_list() == [1]


def test_timeout_of_the_command(here, tiny_kb: Path, wording: Wording) -> None:
    done = here("sql", tiny_kb, "--timeout", "0.2", "-c", ENDLESS)
    assert (done.returncode, done.stdout) == (124, "")
    assert "0.2 s" in done.stderr
    wording(done.stderr, "cli")


def test_a_negative_timeout_is_refused(here, tiny_kb: Path) -> None:
    done = here("sql", tiny_kb, "--timeout", "-1", "-c", "SELECT 1")
    assert done.returncode == 1
    assert "timeout" in done.stderr
    assert "-1" in done.stderr


# -- parameters -------------------------------------------------------------------------------------------------------


@examples(20)
@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=50))
def test_text_parameters_come_back_equal(tiny_kb: Path, text: str) -> None:
    with _shared(tiny_kb) as kb:
        frame = kb.sql("SELECT $value AS value, $value || 'x' AS more, (SELECT count(*) FROM nodes) AS n", value=text)
    assert frame.to_dicts() == [{"value": text, "more": text + "x", "n": 12}]


@given(
    st.one_of(
        st.integers(-(2**63), 2**63 - 1),
        st.floats(allow_nan=False),
        st.booleans(),
        st.dates(date(1, 1, 1)),
        st.none(),
        st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1, max_size=4),
    )
)
def test_other_parameters_come_back_equal(tiny_kb: Path, value: object) -> None:
    with _shared(tiny_kb) as kb:
        assert kb.sql("SELECT $value AS value", value=value)["value"].to_list() == [value]


_OPEN: dict[Path, KnowledgeBase] = {}


class _shared:  # noqa: N801 - a context manager that hypothesis may enter hundreds of times
    """One open KB for all examples of a property."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> KnowledgeBase:
        if self._path not in _OPEN:
            _OPEN[self._path] = kbkit.open(self._path)
        return _OPEN[self._path]

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module", autouse=True)
def _close_shared() -> Iterator[None]:
    yield
    while _OPEN:
        _OPEN.popitem()[1].close()


def test_parameters_of_the_command_are_data(here, tiny_kb: Path) -> None:
    hostile = "'; DROP TABLE nodes; SELECT '"
    values = ("-p", f"v={hostile}", "-p", "n=7", "-p", "f=1.5")
    done = here("sql", tiny_kb, "-c", "SELECT $v AS v, $n AS n, $f AS f", *values, "-f", "ndjson")
    assert json.loads(done.stdout) == {"v": hostile, "n": 7, "f": 1.5}


def test_a_value_may_hold_an_equals_sign(here, tiny_kb: Path) -> None:
    done = here("sql", tiny_kb, "-c", "SELECT $v AS v", "-p", "v=a=b=", "-f", "ndjson")
    assert json.loads(done.stdout) == {"v": "a=b="}


def test_missing_and_surplus_parameters(kb: KnowledgeBase) -> None:
    with pytest.raises(QueryError, match="Values were not provided for the following parameters: x"):
        kb.sql("SELECT $x")
    with pytest.raises(QueryError, match="y"):
        kb.sql("SELECT $x", x=1, y=2)


def test_values_by_position(kb: KnowledgeBase, wording: Wording) -> None:
    assert kb.sql("SELECT ? AS a, ? AS b", [1, "?"]).rows() == [(1, "?")]
    assert kb.sql("SELECT $2 AS a, $1 AS b", (1, [2, 3]), timeout=60).rows() == [([2, 3], 1)]
    assert kb.sql("SELECT 1 AS a", []).rows() == [(1,)]
    for values in ([], [1], [1, 2, 3]):
        with pytest.raises(QueryError, match="parameter"):
            kb.sql("SELECT ? AS a, ? AS b", values)
    with pytest.raises(KbError) as error:
        kb.sql("SELECT ?", [1], x=1)
    wording(str(error.value), "python")
    for wrong in (60, "8000", {"x": 1}):
        with pytest.raises(
            BadInputError, match=r"Invalid values: .*\. Use a list for \?, or .*kb.sql\(text, k='a'\)\."
        ):
            kb.sql("SELECT 1", wrong)  # type: ignore[arg-type]
    with pytest.raises(QueryError) as located:
        kb.sql("SELECT ?,\n nope", [1])
    assert (located.value.line, located.value.column) == (2, 2)


def test_the_table_of_a_type_with_the_name_of_a_keyword_is_suggested(tmp_path: Path) -> None:
    nodes, edges = (
        pl.DataFrame({"key": ["a"], "type": ["order"]}),
        pl.DataFrame({"head": ["a"], "relation": ["select"], "tail": ["a"]}),
    )
    with kbkit.from_frames(nodes, edges, out=tmp_path / "x.kb", stores=["adjacency"]) as kb:
        for name, table in (("order", "type_order"), ("Order", "type_order"), ("select", "rel_select")):
            with pytest.raises(QueryError, match=rf"Did you mean '{table}'\?") as error:
                kb.sql(f'SELECT * FROM "{name}"')
            assert kb.sql(f"SELECT * FROM {table}").height == 1
            assert (error.value.line, error.value.column) == (1, 15)
        with pytest.raises(QueryError) as unknown:
            kb.sql('SELECT "order"(1)')
        assert "type_order" not in str(unknown.value)


# -- results ----------------------------------------------------------------------------------------------------------


def test_repeated_column_names_become_distinct(kb: KnowledgeBase) -> None:
    frame = kb.sql("SELECT 1 AS a, 2 AS a, 3 AS a, 4 AS a_1, 5 AS b")
    assert len(set(frame.columns)) == 5
    assert frame.row(0) == (1, 2, 3, 4, 5)


@given(st.lists(st.sampled_from(["a", "a_1", "a_1_1", "b"]), max_size=8))
def test_unique_names(names: list[str]) -> None:
    made = unique_names(names)
    assert len(set(made)) == len(made) == len(names)
    for index, name in enumerate(names):
        assert made[index] == name or made[index].startswith(name + "_")


def test_the_last_of_several_statements_answers(kb: KnowledgeBase) -> None:
    assert kb.sql("SELECT 1 AS a; SELECT 2 AS b").to_dict(as_series=False) == {"b": [2]}
    with pytest.raises(QueryError):
        kb.sql("SELECT 1; SELEC 2")


@pytest.mark.parametrize("text", ["", "  \n", "-- only a comment", ";"])
def test_no_statement_no_columns(kb: KnowledgeBase, text: str) -> None:
    assert kb.sql(text).shape == (0, 0)


def test_an_empty_result_keeps_its_columns(kb: KnowledgeBase) -> None:
    frame = kb.sql("SELECT id, type, name FROM nodes WHERE false")
    assert frame.shape == (0, 3)
    assert frame.schema == {"id": pl.Int32, "type": pl.String, "name": pl.String}


def test_enums_are_plain_strings(kb: KnowledgeBase) -> None:
    frame = kb.sql("SELECT DISTINCT type, 'a'::ENUM('b', 'a') AS e FROM nodes ORDER BY type::VARCHAR")
    assert frame.schema == {"type": pl.String, "e": pl.String}
    assert frame["type"].to_list() == ["disease", "drug", "gene/protein", "person"]


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_path_count_counts_the_rows_of_the_join(kb: KnowledgeBase, length: int) -> None:
    relations = [relation.table for relation in kb.schema.relations]
    total = 0
    for chain in itertools.product(relations, repeat=length) if length < 3 else [(r,) * length for r in relations]:
        join = f'FROM "{chain[0]}" e0' + "".join(
            f' JOIN "{table}" e{i} ON e{i}.head = e{i - 1}.tail' for i, table in enumerate(chain) if i
        )
        expected = kb.sql(f"SELECT count(*) AS n {join}").item()
        names = ", ".join(f"'{table}'" for table in chain)
        assert kb.sql(f"FROM path_count({names})").item() == expected, chain
        total += expected
    assert total


def test_path_count_takes_tables_of_the_query(kb: KnowledgeBase) -> None:
    """Duplicate rows count, as in a join."""
    tables = "WITH a(head, tail) AS (VALUES (1, 2), (1, 2), (1, 3)), b(head, tail) AS (VALUES (2, 9), (2, 8), (4, 3))"
    assert kb.sql(f"{tables} SELECT paths, (SELECT paths FROM path_count('b', 'a')) FROM path_count('a', 'b')").row(
        0
    ) == (4, 0)
    steps = "WITH step1(head, tail) AS (VALUES (1, 2), (2, 3), (2, 4))"  # no name of the macro's own
    assert kb.sql(f"{steps} FROM path_count('step1', 'step1')").item() == 2


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("SELEC 1", '"SELEC"'),
        ("SELECT * FROM nodez", "'nodes'"),
        ("SELECT 'x'::INT", "'x' to INT32"),
        ("SELECT error('a\nb')", "a b"),
    ],
)
def test_errors_are_one_line(here, tiny_kb: Path, text: str, fact: str, wording: Wording) -> None:
    done = here("sql", tiny_kb, "-c", text)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert fact in done.stderr
    wording(done.stderr, "cli")


# Expressions, what they are in Python, and their JSON.
VALUES = [
    ("1::TINYINT", 1, 1),
    ("18446744073709551615::UBIGINT", 2**64 - 1, 2**64 - 1),
    ("1.5::FLOAT", 1.5, 1.5),
    ("'inf'::DOUBLE", float("inf"), None),
    ("12345.678::DECIMAL(20, 5)", Decimal("12345.67800"), "12345.67800"),
    ("true", True, True),
    ("''", "", ""),
    ("'tab\tline\nquote\"''|pipe'", "tab\tline\nquote\"'|pipe", "tab\tline\nquote\"'|pipe"),
    ("DATE '2020-01-02'", date(2020, 1, 2), "2020-01-02"),
    ("TIME '12:30:00'", clock(12, 30), "12:30:00"),
    ("TIMESTAMP '2020-01-02 03:04:05'", datetime(2020, 1, 2, 3, 4, 5), None),
    ("TIMESTAMPTZ '2020-01-02 03:04:05+02'", datetime(2020, 1, 2, 1, 4, 5, tzinfo=UTC), None),
    ("'550e8400-e29b-41d4-a716-446655440000'::UUID", "550e8400-e29b-41d4-a716-446655440000", ...),
    ("[1, 2, NULL]", [1, 2, None], [1, 2, None]),
    ("[]", [], []),
    ("[[1], [2, 3]]", [[1], [2, 3]], ...),
    ("[1, 2]::INT[2]", [1, 2], [1, 2]),
    ("{'a': 1, 'b': [1, 2]}", {"a": 1, "b": [1, 2]}, {"a": 1, "b": [1, 2]}),
    ("MAP {'k': 1}", {"k": 1}, {"k": 1}),
    ("['a'::ENUM('a', 'b')]", ["a"], ["a"]),
    ("NULL", None, None),
    ("NULL::INTEGER[]", None, None),
    ("1267650600228229401496703205376::HUGEINT", 2**100, ...),
    ("'a'::BLOB", b"a", "YQ=="),
]
BROKEN = [
    ("INTERVAL '1 month 2 days'", "polars cannot import month_day_nano_interval"),
    ("[INTERVAL 1 DAY]", "a Rust panic, which is no Exception, ends as a traceback"),
    ("union_value(num := 2)", "polars cannot import unions"),
    ("['a'::BLOB]", "a Rust panic in JSON"),
    ("'infinity'::TIMESTAMP", "a Rust panic in every format"),
    ("'infinity'::DATE", "a Rust panic in every format"),
    ("'a'::BLOB", "polars writes no binary to CSV"),
    ("DATE '0044-03-15 (BC)'", "Python knows no such year: the table and markdown fail"),
]


@pytest.mark.parametrize(("expression", "value", "_"), VALUES)
def test_every_type_comes_back(kb: KnowledgeBase, expression: str, value: object, _: object) -> None:
    assert kb.sql(f"SELECT {expression} AS v")["v"].to_list() == [value]


TEXT_FORMATS = ("table", "json", "ndjson", "csv", "markdown")


@pytest.mark.parametrize(("expression", "value", "shown"), [v for v in VALUES if "BLOB" not in v[0]])
def test_every_type_renders_in_every_format(
    kb: KnowledgeBase, tmp_path: Path, expression: str, value: object, shown: object
) -> None:
    from kbkit.display.render import write

    frame = kb.sql(f"SELECT {expression} AS v, 'end' AS e")
    for kind in (*TEXT_FORMATS, "parquet"):
        path = tmp_path / kind
        write(frame, kind, path)
        assert path.stat().st_size
        if kind in ("json", "ndjson"):
            found = json.loads(path.read_text(encoding="utf-8"))
            row = found[0] if kind == "json" else found
            assert row["e"] == "end"
            if shown is not ...:
                assert row["v"] == shown or (shown is None and isinstance(row["v"], str))
        elif kind != "parquet":
            assert "end" in path.read_text(encoding="utf-8")
    assert pl.read_parquet(tmp_path / "parquet")["v"].to_list() == [value]


@pytest.mark.parametrize("expression", [expression for expression, _ in BROKEN])
def test_every_other_type_renders_in_every_format_too(here, tiny_kb: Path, tmp_path: Path, expression: str) -> None:
    query = tmp_path / "q.sql"
    query.write_text(f"-- All of one value.\nSELECT {expression} AS v, 'end' AS e\n", encoding="utf-8")
    for kind in TEXT_FORMATS:
        done = here("sql", tiny_kb, query, "-f", kind)
        assert (done.returncode, done.stderr) == (0, "")
        assert "end" in done.stdout


def test_an_unsigned_hugeint_keeps_its_value(kb: KnowledgeBase) -> None:
    assert kb.sql("SELECT 18446744073709551616::UHUGEINT AS v")["v"].to_list() == [str(2**64)]


def test_the_largest_unsigned_hugeint_keeps_its_value(kb: KnowledgeBase) -> None:
    assert kb.sql("SELECT 340282366920938463463374607431768211455::UHUGEINT AS v")["v"].cast(pl.String).to_list() == [
        str(2**128 - 1)
    ]


def test_a_bounded_result_computes_no_further_rows() -> None:
    """DuckDB computes 2,048 rows at once, which are gigabytes of large values."""
    values = "SELECT CASE WHEN i < 10 THEN i ELSE error('too many')::INTEGER END AS v, 1 AS v FROM range(5000) t(i)"
    with duckdb.connect() as con:
        table = read_result(con, values, {}, ResultBounds(10, 1000))
        assert table.column(0).to_pylist() == list(range(10))
        ordered = read_result(con, "SELECT i FROM range(5000) t(i) ORDER BY i DESC", {}, ResultBounds(3, 1000))
        assert ordered.column(0).to_pylist() == [4999, 4998, 4997]
        assert read_result(con, "EXPLAIN SELECT 1", {}, ResultBounds(3, 10_000)).num_rows > 0
        with pytest.raises(ResultTooLargeError):
            read_result(con, "SELECT repeat('x', 100) FROM range(200)", {}, ResultBounds(200, 10_000))


@pytest.mark.system
def test_a_kb_is_closed_while_others_read(world_kb: Path) -> None:
    """As when the explorer is left while it loads the rest: DuckDB does not wait for other threads that use it."""
    statement = f"SELECT {', '.join(map(str, range(200)))} FROM nodes LIMIT 1"
    for _ in range(30):
        kb, begun = kbkit.open(world_kb), threading.Event()
        tables = kb.stores.tables

        def read(tables: Tables = tables, begun: threading.Event = begun) -> None:
            with contextlib.suppress(duckdb.Error, KbError):
                while True:
                    tables.lookup(statement)
                    begun.set()

        reader = threading.Thread(target=read)
        reader.start()
        begun.wait()
        kb.close()
        reader.join()


@pytest.mark.parametrize(
    "text",
    [
        "SELECT d.river FROM flows_into d",
        "SELECT * FROM river r WHERE NOT EXISTS (SELECT 1 FROM flows_into d WHERE d.river = r.id)",
        'SELECT 1 FROM river AS r, flows_into AS "d" WHERE d.river = r.id',
        "SELECT (SELECT count(*) FROM flows_into AS d WHERE d.river = r.id)\nFROM river AS r",
    ],
)
def test_an_unknown_column_is_named_with_those_of_its_table(world: KnowledgeBase, text: str) -> None:
    with pytest.raises(QueryError) as caught:
        world.sql(text)
    assert str(caught.value) == (
        "Binder Error: The table flows_into (d) has no column 'river'. Its columns: head, tail."
    )
    assert text.splitlines()[caught.value.line - 1][caught.value.column - 1 :].startswith("d.river")
    with pytest.raises(QueryError, match="Did you mean 'name'"):
        world.sql("SELECT r.nme FROM river r")
    with pytest.raises(QueryError, match='"x" not found'):
        world.sql("SELECT x.name FROM river r")
