"""What staging promises, on random graphs: ids, edges, types, attributes, signatures, names in SQL.

Everything runs in a DuckDB of its own, without building a KB; an oracle in plain Python says what must come out.
"""

from __future__ import annotations

import datetime
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import kbkit
from kbkit.errors import BadInputError, Option
from kbkit.ingestion import staging
from kbkit.ingestion.describe import describe
from kbkit.ingestion.recipe import Recipe, RelationSpec, TypeSpec
from kbkit.ingestion.staging import StagingReport, has_words_sql, stage, tokens_sql
from kbkit.schema import Schema, quote
from kbkit.stores import adjacency, table_build, tables
from tests.examples import examples
from tests.kbs import mentions
from tests.loops import each
from tests.wording import Wording

FEW = examples(5)

# What DuckDB's trim takes off: the space separators of Unicode.
BLANKS = "".join(map(chr, (0x20, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000)))
# Everything that UTF-8 can write, but for NUL, which no text file holds.
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8)
TYPES = st.lists(TEXT.filter(lambda t: t.strip(BLANKS) != ""), min_size=1, max_size=4, unique=True)


def recipe(**more: Any) -> Recipe:
    return Recipe(
        **{"name": "t", "folder": Path("t"), "title": "t", "base": "http://example.org/t/", "infer": True, **more}
    )


class Staged:
    """The outcome of staging some rows: report, schema, and the tables it made."""

    def __init__(
        self,
        nodes: list[dict[str, Any]],
        edges: list[dict[str, Any]],
        texts: list[dict[str, Any]] | None = None,
        *,
        spec: Recipe | None = None,
        skip_dangling: bool = False,
        merge_duplicates: bool = False,
    ) -> None:
        spec = spec or recipe()
        self.con = duckdb.connect()
        _table(self.con, "nodes", nodes, ("type", "key", "name"))
        _table(self.con, "edges", edges, ("head_type", "head", "relation", "tail_type", "tail"))
        if texts is not None:
            _table(self.con, "texts", texts, ("type", "key", "field", "text"))
        self._folder = tempfile.TemporaryDirectory()  # of the sorted edges, which the tables read
        folder = Path(self._folder.name)
        skip, merge = skip_dangling, merge_duplicates
        self.report: StagingReport = stage(self.con, spec, folder, skip_dangling=skip, merge_duplicates=merge)
        self.schema: Schema = describe(self.con, spec)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return self.con.execute(query).fetchall()


def _table(con: duckdb.DuckDBPyConnection, name: str, rows: list[dict[str, Any]], fixed: tuple[str, ...]) -> None:
    names = list(dict.fromkeys([*fixed, *(key for row in rows for key in row)]))
    kinds = {"aliases": pa.list_(pa.string()), "types": pa.list_(pa.string())} if name == "nodes" else {}
    arrays = [
        pa.array(
            [row.get(n) for row in rows],
            kinds.get(n) or (pa.list_(pa.string()) if any(isinstance(r.get(n), list) for r in rows) else pa.string()),
        )
        for n in names
    ]
    con.register("given", pa.table(arrays, names=names))
    con.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
    con.unregister("given")


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Nodes of several types, keys unique within a type only, and edges between them, some of them twice."""
    types = draw(TYPES)
    pairs = draw(st.lists(st.tuples(st.sampled_from(types), TEXT), min_size=1, max_size=12, unique=True))
    nodes = [{"type": t, "key": k, "name": draw(st.none() | TEXT)} for t, k in pairs]
    for node in nodes:
        node["types"] = draw(st.none() | st.lists(st.sampled_from([*types, "another"]), max_size=3))
    ends = st.sampled_from(pairs)
    relations = draw(st.lists(TEXT, min_size=1, max_size=3, unique=True))
    attribute = st.sampled_from([None, "x", "y"])
    found = draw(st.lists(st.tuples(ends, st.sampled_from(relations), ends, attribute), max_size=25))
    columns = ("head_type", "head", "relation", "tail_type", "tail", *(("note",) if draw(st.booleans()) else ()))
    edges = [dict(zip(columns, (*h, r, *t, a), strict=False)) for h, r, t, a in found]
    return nodes, edges


def number(nodes: list[dict[str, Any]], first: tuple[str, ...] = ()) -> dict[tuple[str, str], int]:
    """The ids that the nodes must get: the recipe's types first, then by first appearance; in source order within."""
    seen = dict.fromkeys(node["type"] for node in nodes)
    order = [t for t in first if t in seen] + [t for t in seen if t not in first]
    ranked = sorted(nodes, key=lambda node: order.index(node["type"]))
    return {(node["type"], node["key"]): id_ for id_, node in enumerate(ranked)}


# -- ids, names, types ------------------------------------------------------------------------------------------------


@FEW
@given(graphs(), st.data())
def test_ids_are_dense_type_by_type_in_source_order(
    graph: tuple[list[dict[str, Any]], list[dict[str, Any]]], data: st.DataObject
) -> None:
    nodes, edges = graph
    present = list(dict.fromkeys(node["type"] for node in nodes))
    declared = tuple(data.draw(st.permutations([*present, "never seen"]))[: data.draw(st.integers(0, 3))])
    staged = Staged(nodes, edges, spec=recipe(types=dict.fromkeys(declared, TypeSpec())))
    ids = number(nodes, declared)
    found = staged.rows("SELECT id, type, key, name FROM kb_nodes ORDER BY id")
    assert [row[0] for row in found] == list(range(len(nodes)))
    assert {(kind, key): id_ for id_, kind, key, _ in found} == ids
    names = {(node["type"], node["key"]): (node["name"] or "").strip(BLANKS) or node["key"] for node in nodes}
    assert {(kind, key): name for _, kind, key, name in found} == names
    for node_type in staged.schema.node_types:
        of_type = [id_ for (kind, _), id_ in ids.items() if kind == node_type.name]
        assert len(of_type) == node_type.count
        assert not of_type or (min(of_type), max(of_type)) == (node_type.first, node_type.last)


@FEW
@given(graphs())
def test_other_types_are_kept_once_and_never_repeat_the_primary_one(
    graph: tuple[list[dict[str, Any]], list[dict[str, Any]]],
) -> None:
    nodes, edges = graph
    staged = Staged(nodes, edges)
    ids = number(nodes)
    expected = {
        (ids[node["type"], node["key"]], other)
        for node in nodes
        for other in node["types"] or []
        if other != node["type"]
    }
    found = staged.rows("SELECT id, type FROM kb_node_types")
    assert len(found) == len(set(found))
    assert set(found) == expected
    others = Counter(other for _, other in expected)
    assert {t.name: t.others for t in staged.schema.node_types if t.others} == dict(others)
    primary = {node["type"] for node in nodes}
    assert {t.name for t in staged.schema.node_types} == primary | set(others)
    assert len(staged.schema.node_types) == len(primary | set(others))


def test_nodes_without_a_type_are_entities() -> None:
    staged = Staged([{"type": None, "key": "a"}, {"type": "  ", "key": "b"}, {"type": "t", "key": "c"}], [])
    assert staged.rows("SELECT type, key FROM kb_nodes ORDER BY id") == [("entity", "a"), ("entity", "b"), ("t", "c")]


def test_aliases_keep_the_order_of_the_source() -> None:
    aliases = ["zebra", "apple", "mango", "kiwi", "fig", "zebra"]
    staged = Staged([{"type": "t", "key": "a", "aliases": aliases}], [])
    assert staged.rows("SELECT aliases FROM kb_nodes") == [(["zebra", "apple", "mango", "kiwi", "fig"],)]


# -- edges ------------------------------------------------------------------------------------------------------------


@FEW
@given(graphs(), st.booleans())
def test_every_edge_is_kept_once_and_duplicates_are_counted(
    graph: tuple[list[dict[str, Any]], list[dict[str, Any]]], symmetric: bool
) -> None:
    nodes, edges = graph
    mirrored = {edges[0]["relation"]} if symmetric and edges else set()
    spec = recipe(relations={name: RelationSpec(symmetric=True) for name in mirrored})
    staged = Staged(nodes, edges, spec=spec)
    ids = number(nodes)
    once, given = set(), set()
    for edge in edges:
        head, tail = ids[edge["head_type"], edge["head"]], ids[edge["tail_type"], edge["tail"]]
        given.add((head, edge["relation"], tail, edge.get("note")))
        if edge["relation"] in mirrored:
            head, tail = sorted((head, tail))
        once.add((head, edge["relation"], tail, edge.get("note")))
    back = {(tail, r, head, note) for head, r, tail, note in once if r in mirrored}
    columns = "head, relation, tail, note" if any("note" in edge for edge in edges) else "head, relation, tail, NULL"
    found = staged.rows(f"SELECT {columns} FROM kb_edges")
    assert Counter(found) == Counter(once | back)
    ordered = staged.rows("SELECT relation, head, tail FROM kb_sorted_edges")
    names = [relation.name for relation in staged.schema.relations]
    assert ordered == sorted(((r, h, t) for h, r, t, _ in found), key=lambda edge: (names.index(edge[0]), *edge[1:]))
    assert staged.report.duplicate_edges == len(edges) - len(given)
    assert staged.report.both_ways == len(given) - len(once)
    assert staged.report.dangling_edges == 0


def test_large_relations_are_read_on_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Relations are read in groups of a bounded number of edges."""
    nodes = [{"type": "t", "key": str(key)} for key in range(4)]
    pairs = [("b", 0, 1), ("a", 1, 0), ("c", 2, 3), ("b", 1, 2), ("a", 3, 1), ("b", 0, 1), ("d", 0, 0)]
    edges = [{"head": str(h), "relation": r, "tail": str(t)} for r, h, t in pairs]
    for limit in (1, 3, 5, 100):
        monkeypatch.setattr(adjacency, "_GROUP_EDGES", limit)
        assert Staged(nodes, edges).rows("SELECT relation, head, tail FROM kb_sorted_edges") == sorted({*pairs})


@FEW
@given(graphs())
def test_signatures_equal_a_brute_force_count(
    graph: tuple[list[dict[str, Any]], list[dict[str, Any]]],
) -> None:
    nodes, edges = graph
    staged = Staged(nodes, edges)
    distinct = {tuple(edge.values()) for edge in edges}
    expected = Counter((r, ht, tt) for ht, _, r, tt, *_ in distinct)
    found = {(r.name, s.head, s.tail): s.edges for r in staged.schema.relations for s in r.signatures}
    assert found == dict(expected)
    assert {r.name: r.edges for r in staged.schema.relations} == dict(Counter(edge[2] for edge in distinct))
    pairs = Counter(r for _, _, r, _, _ in {edge[:5] for edge in distinct})
    assert {r.name: r.pairs for r in staged.schema.relations} == dict(pairs)


def test_a_symmetric_relation_is_stored_both_ways_with_its_attributes_and_loops_once() -> None:
    nodes = [{"type": "t", "key": key} for key in "abc"]
    edges = [
        {"head": "b", "relation": "near", "tail": "a", "km": "3"},
        {"head": "a", "relation": "near", "tail": "b", "km": "3"},
        {"head": "a", "relation": "near", "tail": "b", "km": "4"},
        {"head": "c", "relation": "near", "tail": "c", "km": None},
    ]
    staged = Staged(nodes, edges, spec=recipe(relations={"near": RelationSpec(symmetric=True)}))
    assert sorted(staged.rows("SELECT head, tail, km FROM kb_edges"), key=str) == [
        (0, 1, 3),
        (0, 1, 4),
        (1, 0, 3),
        (1, 0, 4),
        (2, 2, None),
    ]
    assert (staged.report.duplicate_edges, staged.report.both_ways) == (0, 1)
    [near] = staged.schema.relations
    assert (near.symmetric, near.edges, near.pairs) == (True, 5, 3)


@FEW
@given(graphs(), st.lists(st.tuples(st.sampled_from(["head", "tail"]), TEXT), min_size=1, max_size=8))
def test_edges_to_unknown_nodes_are_refused_or_left_out_and_counted(
    graph: tuple[list[dict[str, Any]], list[dict[str, Any]]], broken: list[tuple[str, str]]
) -> None:
    nodes, edges = graph
    known = nodes[0]
    dangling = []
    notes = {"note": None} if any("note" in edge for edge in edges) else {}
    for end, key in broken:
        assume((known["type"], key) not in number(nodes))
        edge = {
            "head_type": known["type"],
            "head": known["key"],
            "relation": "r",
            "tail_type": known["type"],
            "tail": known["key"],
            **notes,
        }
        dangling.append({**edge, end: key})
    noun = "1 edge" if len(dangling) == 1 else f"{len(dangling)} edges"
    with pytest.raises(BadInputError) as refused:
        Staged(nodes, edges + dangling)
    mentions(refused.value.message, noun)
    assert Option("skip_dangling") in refused.value.hints
    staged, plain = Staged(nodes, edges + dangling, skip_dangling=True), Staged(nodes, edges)
    assert staged.report.dangling_edges == len(dangling)
    assert staged.report.duplicate_edges == plain.report.duplicate_edges
    query = "SELECT head, relation, tail FROM kb_edges ORDER BY ALL"
    assert staged.rows(query) == plain.rows(query)


# -- attributes -------------------------------------------------------------------------------------------------------

DATE, MOMENT = datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 12, 30)


NARROWEST: list[tuple[list[Any], str, list[Any]]] = [
    (["1", "-2", "0"], "BIGINT", [1, -2, 0]),
    (["1", None], "BIGINT", [1, None]),
    (["007", "1"], "VARCHAR", ["007", "1"]),
    (["00"], "VARCHAR", ["00"]),
    (["-01", "5"], "VARCHAR", ["-01", "5"]),
    (["01.5", "2"], "VARCHAR", ["01.5", "2"]),
    (["1e3", "2"], "DOUBLE", [1000.0, 2.0]),
    (["1.5", "-2"], "DOUBLE", [1.5, -2.0]),
    ([".5"], "DOUBLE", [0.5]),
    (["1", "one"], "VARCHAR", ["1", "one"]),
    (["1", ""], "VARCHAR", ["1", ""]),
    (["nan", "1"], "VARCHAR", ["nan", "1"]),
    (["inf"], "VARCHAR", ["inf"]),
    (["1_000"], "VARCHAR", ["1_000"]),
    ([" 1"], "VARCHAR", [" 1"]),
    (["."], "VARCHAR", ["."]),
    (["true", "False", "TRUE"], "BOOLEAN", [True, False, True]),
    (["true", "1"], "VARCHAR", ["true", "1"]),
    (["yes", "no"], "VARCHAR", ["yes", "no"]),
    (["2024-02-29", None], "DATE", [DATE, None]),
    (["2023-02-29"], "VARCHAR", ["2023-02-29"]),
    (["2024-2-9"], "VARCHAR", ["2024-2-9"]),
    (["2024-02-29", "2024"], "VARCHAR", ["2024-02-29", "2024"]),
    (["2024-02-29T12:30:00", "2024-02-29 12:30:00"], "TIMESTAMP", [MOMENT, MOMENT]),
    (["2024-02-29T12:30:00Z"], "TIMESTAMP", [MOMENT]),
    (["2024-02-29T25:30:00"], "VARCHAR", ["2024-02-29T25:30:00"]),
    (["123456789012345678"], "BIGINT", [123456789012345678]),
    ([["1", "2"], ["3"]], "BIGINT[]", [[1, 2], [3]]),
    ([["1", "x"], ["3"]], "VARCHAR[]", [["1", "x"], ["3"]]),
]


@pytest.mark.core
def test_an_attribute_gets_the_narrowest_type_of_all_its_values() -> None:
    size = max(len(source) for source, _, _ in NARROWEST)
    columns = {f"v{n}": [*source, *[None] * (size - len(source))] for n, (source, _, _) in enumerate(NARROWEST)}
    nodes = [{"type": "t", "key": str(row), **{name: column[row] for name, column in columns.items()}}
             for row in range(size)]  # fmt: skip
    staged = Staged(nodes, [])
    [node_type] = staged.schema.node_types
    kinds = {attribute.name: attribute.type for attribute in node_type.attributes}
    for name, (source, kind, values) in each(zip(columns, NARROWEST, strict=True)):
        found = [row[0] for row in staged.rows(f"SELECT {name} FROM kb_nodes ORDER BY id")]
        assert (kinds[name], found[: len(source)]) == (kind, values), source


@FEW
@given(st.lists(st.text("0123456789.-+eE", min_size=1, max_size=12), min_size=1, max_size=3))
def test_what_becomes_a_number_still_says_the_same(values: list[str]) -> None:
    staged = Staged([{"type": "t", "key": str(n), "v": value} for n, value in enumerate(values)], [])
    found = [row[0] for row in staged.rows("SELECT v FROM kb_nodes ORDER BY id")]
    if isinstance(found[0], str):
        assert found == values
    else:
        assert found == [type(found[0])(value) for value in values]


def test_long_numbers_keep_all_their_digits() -> None:
    long = "12345678901234567890"
    staged = Staged([{"type": "t", "key": "a", "v": long}, {"type": "t", "key": "b", "v": "1"}], [])
    assert [str(row[0]) for row in staged.rows("SELECT v FROM kb_nodes ORDER BY id")] == [long, "1"]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "2", "x"], None),
        (["1", "2.5", "3"], "DOUBLE"),
        ([None, None, "3"], "BIGINT"),
        ([None, None, None], None),
        (["true", "false", "1"], None),
        (["x", "1", "2"], None),
        (["2001-01-01", "2001-01-02 10:00"], None),
        ([["1"], ["2", "3"], None], "BIGINT[]"),
        ([["1"], ["2", "0.5"]], "DOUBLE[]"),
        ([None, [], ["x"]], None),
    ],
)
@pytest.mark.parametrize("first", [1, 2, 10_000])
def test_a_type_fits_all_values_whatever_the_first_rows_have(
    cells: list[Any], kind: str | None, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging, "_FIRST_ROWS", first)
    is_list = any(isinstance(cell, list) for cell in cells)
    column = pa.array(cells, pa.list_(pa.string()) if is_list else pa.string())
    with duckdb.connect() as con:
        con.register("seen", pa.table({"c": column, "d": pa.nulls(len(cells), pa.string())}))
        con.execute("CREATE TABLE t AS FROM seen")
        types = {"c": "VARCHAR[]" if is_list else "VARCHAR", "d": "VARCHAR"}
        assert staging.infer(con, "t", {"c": "c", "d": "d"}, types) == ({"c": kind} if kind else {})


def test_without_infer_texts_stay_texts() -> None:
    staged = Staged([{"type": "t", "key": "a", "v": "1"}], [], spec=recipe(infer=False))
    assert staged.rows("SELECT v FROM kb_nodes") == [("1",)]


def test_a_type_has_the_attributes_that_some_node_of_it_has_also_by_another_type() -> None:
    nodes = [
        {"type": "a", "key": "1", "x": "1"},
        {"type": "b", "key": "2", "y": "1", "types": ["c"]},
        {"type": "d", "key": "3"},
    ]
    staged = Staged(nodes, [])
    found = {t.name: [a.name for a in t.attributes] for t in staged.schema.node_types}
    assert found == {"a": ["x"], "b": ["y"], "d": [], "c": ["y"]}


RESERVED = ["id", "position", "n", "t", "e", "a b", 'q"q', "é"]
"""Names that kb_nodes and kb_edges, or the statements that make them, use themselves, and names that need quotes."""
INTERNAL = ["place", "rank", "rowid", "first", "nodes", "others", "owner"]


@pytest.mark.parametrize("names", [[*RESERVED, *INTERNAL, "head", "relation"], ["ID"]], ids=["all", "upper case"])
def test_any_column_can_be_an_attribute_of_nodes(names: list[str]) -> None:
    stored = [name + "_" if name.lower() in ("id", "position") else name for name in names]
    nodes = [{"type": "x", "key": "1", **{name: str(n) for n, name in enumerate(names)}}, {"type": "y", "key": "2"}]
    staged = Staged(nodes, [{"head": "1", "relation": "r", "tail": "2"}])
    assert {t.name: [a.name for a in t.attributes] for t in staged.schema.node_types} == {"x": stored, "y": []}
    columns = ", ".join(map(quote, stored))
    assert staged.rows(f"SELECT {columns} FROM kb_nodes ORDER BY id") == [
        tuple(range(len(names))), (None,) * len(names),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "names", [[*RESERVED, "year", "name", "key", "type", "aliases", "types"], ["ID"]], ids=["all", "upper case"]
)
def test_any_column_can_be_an_attribute_of_edges(names: list[str]) -> None:
    stored = [name + "_" if name.lower() in ("id", "position") else name for name in names]
    nodes = [{"type": "x", "key": "1", "year": "1990"}, {"type": "y", "key": "2"}]
    values = {name: str(n) for n, name in enumerate(names)}
    edges = [{"head": "1", "relation": "r", "tail": "2", **values}, {"head": "1", "relation": "s", "tail": "2"}]
    staged = Staged(nodes, edges)
    attributes = {r.name: [(a.name, a.type) for a in r.attributes] for r in staged.schema.relations}
    assert attributes == {"r": [(name, "BIGINT") for name in stored], "s": []}
    columns = ", ".join(map(quote, stored))
    assert staged.rows(f"SELECT {columns} FROM kb_edges WHERE relation = 'r'") == [tuple(range(len(names)))]


def test_a_renamed_attribute_does_not_hide_another() -> None:
    staged = Staged([{"type": "x", "key": "1", "id": "5", "id_": "6"}], [])
    [node_type] = staged.schema.node_types
    columns = ", ".join(quote(a.name) for a in node_type.attributes)
    assert sorted(staged.rows(f"SELECT {columns} FROM kb_nodes")[0]) == [5, 6]


# -- keys -------------------------------------------------------------------------------------------------------------


def test_keys_are_texts_with_their_zeros_and_spaces() -> None:
    keys = ["007", "7", "1e3", "1000", " a", "a", "a ", "A", "é", "e\u0301"]
    staged = Staged([{"type": "t", "key": key} for key in keys], [{"head": "007", "relation": "r", "tail": "7"}])
    assert [row[0] for row in staged.rows("SELECT key FROM kb_nodes ORDER BY id")] == keys
    assert staged.rows("SELECT head, tail FROM kb_edges") == [(0, 1)]


def test_the_same_key_twice_is_refused_or_merged(wording: Wording) -> None:
    nodes = [
        {"type": "t", "key": "a", "name": None, "aliases": ["x"], "v": None, "w": "1"},
        {"type": "t", "key": "b"},
        {"type": "t", "key": "a", "name": "second", "aliases": ["y", "x"], "v": "2", "w": "3"},
        {"type": "u", "key": "a", "name": "of another type"},
    ]
    with pytest.raises(BadInputError) as refused:
        Staged(nodes, [])
    wording(mentions(str(refused.value), "t 'a' | merge_duplicates"))
    staged = Staged(nodes, [], merge_duplicates=True)
    assert (staged.report.merged_nodes, staged.report.first_kept) == (1, "w")
    found = staged.rows("SELECT type, key, name, list_sort(aliases), v, w FROM kb_nodes ORDER BY id")
    assert found == [
        ("t", "a", "second", ["x", "y"], 2, 1),
        ("t", "b", "b", None, None, None),
        ("u", "a", "of another type", None, None, None),
    ]


def test_a_key_of_several_types_needs_the_type_beside_it(wording: Wording) -> None:
    nodes = [{"type": "t", "key": "a"}, {"type": "u", "key": "a"}, {"type": "u", "key": "b"}]
    with pytest.raises(BadInputError) as refused:
        Staged(nodes, [{"head": "a", "relation": "r", "tail": "b"}])
    wording(mentions(str(refused.value), "'a' | 'head_type'"))
    with pytest.raises(BadInputError) as refused:
        Staged(nodes, [], [{"key": "a", "text": "words"}])
    wording(mentions(str(refused.value), "'a' | 'type'"))
    staged = Staged(nodes, [{"head_type": "u", "head": "a", "relation": "r", "tail": "b"}])
    assert staged.rows("SELECT head, tail FROM kb_edges") == [(1, 2)]


# -- texts ------------------------------------------------------------------------------------------------------------


@FEW
@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from([None, "f", "g"]), st.none() | TEXT), max_size=20))
def test_texts_are_kept_once_in_source_order(given: list[tuple[int, str | None, str | None]]) -> None:
    nodes = [{"type": "t", "key": str(n)} for n in range(3)]
    staged = Staged(nodes, [], [{"key": str(n), "field": field, "text": text} for n, field, text in given])
    kept: dict[tuple[int, str], list[str]] = {}
    for node, field, text in given:
        if text is not None and text.strip(BLANKS):
            of_field = kept.setdefault((node, field or "text"), [])
            if text not in of_field:
                of_field.append(text)
    expected = [(node, field, place, text) for (node, field), list_ in kept.items() for place, text in enumerate(list_)]
    assert sorted(staged.rows("SELECT id, field, position, text FROM kb_texts")) == sorted(expected)
    counts = Counter(field for _, field, _, _ in expected)
    assert {f.name: f.texts for f in staged.schema.text_fields} == dict(counts)


# -- names in SQL -----------------------------------------------------------------------------------------------------


def _named(types: list[str], relations: list[str]) -> Schema:
    nodes = [{"type": name, "key": str(n), "v": "1"} for n, name in enumerate(types)]
    return Staged(nodes, [{"head": "0", "relation": name, "tail": "0"} for name in relations]).schema


def test_names_that_are_taken_or_reserved_get_a_prefix() -> None:
    schema = _named(
        ["Paper", "order", "nodes", "paper"], ["paper", "PAPER", "edges", "select", "Cites", "cites", "likes"]
    )
    assert [(t.name, t.table) for t in schema.node_types] == [
        ("Paper", "Paper"),
        ("order", "type_order"),
        ("nodes", "type_nodes"),
        ("paper", "type_paper"),
    ]
    assert {r.name: r.table for r in schema.relations} == {
        "Cites": "Cites",
        "PAPER": "rel_PAPER",
        "cites": "rel_cites",
        "edges": "rel_edges",
        "likes": "likes",
        "paper": "rel_paper_2",
        "select": "rel_select",
    }


ODD_TYPES = st.lists(
    st.sampled_from(["t", "T", "type_t", "rel_t", "order", "nodes", "gene/protein", 'a"b', "{x}", "%s"]) | TEXT,
    min_size=1,
    max_size=5,
    unique=True,
).filter(lambda names: all(name.strip(BLANKS) for name in names))
ODD_RELATIONS = st.lists(
    st.sampled_from(["t", "T", "rel_t", "REL_T", "order", "texts", "is a", "a;b", "'"]) | TEXT, max_size=5, unique=True
)


@FEW
@given(types=ODD_TYPES, relations=ODD_RELATIONS)
def test_every_type_and_relation_can_be_asked_by_its_name_in_sql(
    tmp_path_factory: pytest.TempPathFactory, types: list[str], relations: list[str]
) -> None:
    nodes = [{"type": name, "key": str(n), "v": None if n % 2 else "1"} for n, name in enumerate(types)]
    staged = Staged(nodes, [{"head": "0", "relation": name, "tail": "0"} for name in relations])
    folder = tmp_path_factory.mktemp("tables")
    table_build.build(staged.con, folder, staged.schema)
    store = tables.Tables(folder / tables.FILE)
    try:
        for node_type in staged.schema.node_types:
            assert store.rows(f"SELECT count(*) FROM {quote(node_type.table)}") == [(1,)]
        for relation in staged.schema.relations:
            assert store.rows(f"SELECT head, tail FROM {quote(relation.table)}") == [(0, 0)]
    finally:
        store.close()


def test_braces_in_names_of_types_and_relations_load(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("key,type,types\na,x,{q}|y\nb,y,\n")
    (tmp_path / "edges.csv").write_text("head,relation,tail\na,{r},b\n")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "kb", stores=["tables"]) as kb:
        assert [problem for _, problem in kb.check() if problem] == []


def test_texts_are_trimmed_only_if_need_be() -> None:
    """The tests for white space at the ends of a text say what trimming says."""
    parts = ["", " ", "\t", "\n", "\u00a0", "\u2003", "\u200b", "a", "é", "~", "!", "a b", "漢字", "\x00", "\x7f"]
    texts = [first + middle + last for first in parts for middle in ("", "x", "b  c") for last in parts]
    con = duckdb.connect()
    con.execute("CREATE TABLE texts AS SELECT unnest($texts) AS text UNION ALL SELECT NULL", {"texts": texts})
    trimmed = "strlen(trim(text)) - strlen(replace(trim(text), ' ', '')) + 1"
    different = con.execute(
        f"SELECT text FROM texts WHERE ({has_words_sql('text')}) IS DISTINCT FROM (trim(text) <> '')"
        f" OR ({tokens_sql('text')}) IS DISTINCT FROM ({trimmed})"
    ).fetchall()
    assert len(texts) > 600 and different == []
