"""JSON files: every value that reaches load.sql is the one that Python's json reads, wherever it stands in the file."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kbkit
from kbkit.errors import BadInputError
from kbkit.ingestion.recipe import FileSpec
from kbkit.ingestion.sources import create_view
from kbkit.kb import KnowledgeBase
from tests.conftest import Run

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
LOOKS_LIKE = st.sampled_from([
    "2020-01-01", "2020-01-01T00:00:00Z", "10:00:00", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "007", "1e5", "true",
    '"quoted"', "null", "{}", "[1]",
])  # fmt: skip
SCALAR = st.one_of(TEXT, LOOKS_LIKE, st.booleans(), st.integers(-(2**80), 2**80), st.floats(-1e9, 1e9), st.none())
ROWS = st.lists(st.dictionaries(st.sampled_from(["key", "name", "n", "when"]), SCALAR, min_size=1), min_size=1)


def read(path: Path) -> list[dict[str, Any]]:
    """Return the rows that load.sql would see."""
    with duckdb.connect() as con:
        create_view(con, FileSpec("nodes", ("*",)), [path], {})
        table = con.sql("SELECT * FROM nodes").to_arrow_table()
    return [dict(row) for row in table.to_pylist()]


def same(seen: Any, written: Any) -> bool:
    """Return whether a value is the one written, or its text where the column mixes types."""
    if seen == written and isinstance(seen, bool) == isinstance(written, bool):
        return True
    if isinstance(written, bool):
        return seen == json.dumps(written)
    if isinstance(written, int | float) and not isinstance(seen, bool) and isinstance(seen, int | float | str):
        exact = int(seen) if isinstance(written, int) and isinstance(seen, str) else float(seen)
        return exact == written or (isinstance(written, float) and math.isclose(exact, written, rel_tol=1e-15))
    return False


@given(ROWS)
def test_values_are_those_of_an_independent_reader(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    path = tmp_path / "nodes.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for seen, written in zip(read(path), rows, strict=True):
        assert all(same(seen.get(name), value) for name, value in written.items()), (seen, written)


def test_types_are_decided_over_the_whole_file(tmp_path: Path) -> None:
    """The first 20,480 rows, which DuckDB looks at, say nothing about later ones."""
    rows: list[dict[str, Any]] = [
        {"key": str(n), "n": n, "name": f"Node {n}", "at": "2020-01-01"} for n in range(21_000)
    ]
    rows += [{"key": "a", "n": 22005.25, "name": 7, "at": "soon", "late": 1}]
    rows += [{"key": f"s{n}", f"sparse{n}": n} for n in range(150)]
    path = tmp_path / "nodes.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    found = {row["key"]: row for row in read(path)}
    assert found["a"]["n"] == 22005.25
    assert (found["a"]["name"], found["5"]["name"]) == ("7", "Node 5")
    assert (found["a"]["late"], found["s149"]["sparse149"]) == (1, 149)
    assert found["5"]["at"] == "2020-01-01"


def test_keys_of_json_stay_as_they_are_written(here: Run, tmp_path: Path) -> None:
    keys = ["A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "2020-01-01T00:00:00Z", "007"]
    (tmp_path / "nodes.json").write_text(json.dumps([{"key": key, "name": "x"} for key in keys]), encoding="utf-8")
    edges = [{"head": keys[0], "relation": "next", "tail": keys[1]}]
    (tmp_path / "edges.json").write_text(json.dumps(edges), encoding="utf-8")
    done = here("ingest", "table", tmp_path / "nodes.json", tmp_path / "edges.json", "-o", tmp_path / "x.kb")
    assert done.returncode == 0, done.stderr
    with KnowledgeBase(tmp_path / "x.kb") as kb:
        assert [key for (key,) in kb.tables.rows("SELECT key FROM nodes ORDER BY id")] == keys


@pytest.mark.parametrize(
    "nested", [{"a": {"date": "2020-01-01"}}, {"a": ["2020-01-01"]}, {"a": [{"TIME": "10:00:00"}]}]
)
def test_nested_strings_stay_text(tmp_path: Path, nested: dict[str, Any]) -> None:
    path = tmp_path / "nodes.jsonl"
    path.write_text(json.dumps(nested), encoding="utf-8")
    assert read(path) == [nested]


def test_a_row_is_bounded(tmp_path: Path) -> None:
    """A string of 150 MB took over 100 s. DuckDB reads up to 32 MB all the same, which is the size of its buffers."""
    path = tmp_path / "a.json"
    path.write_text(f'[{{"id": 1, "name": "{"x" * 35_000_000}"}}]', encoding="utf-8")
    with pytest.raises(BadInputError, match=r"JSON too long in .*a.json.* of an object is 10,000,000 bytes"):
        kbkit.ingest(str(path), out=tmp_path / "x.kb", stores=["tables"])


@pytest.mark.parametrize("apart", [False, True])
def test_columns_are_counted_before_they_are_typed(tmp_path: Path, apart: bool) -> None:
    """Typing takes time that grows with the square of their number, one a row or all in one."""
    columns = {f"c{number}": number for number in range(50_000)}
    rows = [{name: value} for name, value in columns.items()] if apart else [columns]
    path = tmp_path / "wide.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    begun = time.process_time()
    with pytest.raises(BadInputError, match=r"has 50,000 columns. The maximum is 5,000"):
        read(path)
    assert time.process_time() - begun < 5, "typing takes 15 s"
