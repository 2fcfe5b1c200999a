"""The values of text attributes beside the node directory."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest

import kbkit
from kbkit.answers.attribute_values import ColumnValues
from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase
from kbkit.schema import Attribute, NodeType, Schema
from kbkit.stores import node_values
from kbkit.stores.node_values import ListedValues, text_attributes


def _in_tables(kb: KnowledgeBase) -> dict[tuple[str, str], list[str]]:
    values = {}
    for node_type, attribute in text_attributes(kb.schema):
        column = f'unnest("{attribute.name}")' if attribute.type.endswith("[]") else f'"{attribute.name}"'
        rows = kb.tables.rows(f'SELECT DISTINCT {column} AS v FROM "{node_type.table}"')
        values[node_type.name, attribute.name] = sorted(value for (value,) in rows if value is not None)
    return values


def _listed(kb: KnowledgeBase) -> dict[tuple[str, str], list[str]]:
    known = ColumnValues.of(kb.stores)
    return {(t.name, one.name): known.distinct(t, one) for t, one in text_attributes(kb.schema)}


def test_values_are_those_of_the_tables(tiny_kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with kbkit.open(tiny_kb) as kb:
        expected = _in_tables(kb)
        assert sum(map(len, expected.values())) > 5
        monkeypatch.setattr(kb.stores.tables, "lookup", None)  # no query
        assert _listed(kb) == expected
    monkeypatch.setattr(ListedValues, "exist", lambda _: False)  # an earlier version built the KB
    with kbkit.open(tiny_kb) as kb:
        assert {key: sorted(values) for key, values in _listed(kb).items()} == expected


def test_elements_of_lists_are_values(tmp_path: Path) -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE film (tags VARCHAR[])")
    con.execute("INSERT INTO film VALUES (['war', 'art']), (NULL), (['art', NULL, 'été']), ([])")
    film = NodeType("film", 0, 4, 0, "film", "", attributes=(Attribute("tags", "VARCHAR[]"),))
    schema = Schema("films", "http://example.org/", (film,), (), ())
    node_values.write(lambda sql: con.sql(sql).to_arrow_reader(2), tmp_path, schema)
    assert ListedValues(tmp_path, schema).of("film", "tags") == ["art", "war", "été"]


@pytest.mark.parametrize("sample", [0, 60_000], ids=["all rows", "a sample"])
def test_a_column_of_many_values_has_none(
    sample: int, tiny_kb: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with kbkit.open(tiny_kb) as kb:
        expected = _in_tables(kb)
        most = max(map(len, expected.values()))
        monkeypatch.setattr(node_values, "MAX_VALUES", most - 1)
        monkeypatch.setattr(node_values, "_SAMPLE", sample)
        node_values.write(kb.tables.batches, tmp_path, kb.schema)
        written = ListedValues(tmp_path, kb.schema)
        assert {key: written.of(*key) for key in expected} == {
            key: values if len(values) < most else [] for key, values in expected.items()
        }
        assert written.of("gene", "no attribute") is None
        written.close()


@pytest.mark.parametrize("name", ["values.utf8", "values_offsets.npy"])
def test_other_values_are_found(name: str, tiny_kb: Path, tmp_path: Path) -> None:
    damaged = shutil.copytree(tiny_kb, tmp_path / "kb")
    [file] = damaged.glob(f"generations/*/nodes/{name}")
    data = bytearray(file.read_bytes())
    data[-8] ^= 1
    file.write_bytes(bytes(data))
    with kbkit.open(damaged) as kb:
        if name.endswith("utf8"):
            assert "values of attributes" in dict(kb.check())["nodes"]
        else:
            with pytest.raises(KbError, match="damaged"):
                _ = kb.stores.nodes.values
