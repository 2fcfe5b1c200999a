"""Updates: what a KB is after one is what an ingest of the changed source gives; bad deltas leave it as it was."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kbkit
from kbkit.errors import BadInputError, KbError
from kbkit.kb import KnowledgeBase
from tests.conftest import TESTS, Run
from tests.examples import examples
from tests.kbs import mentions
from tests.wording import Wording

TINY = TESTS / "tiny"
Row = Mapping[str, Any]


def write(path: Path, rows: Iterable[Row], columns: str) -> Path:
    with path.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.DictWriter(handle, columns.split(), restval="")
        writer.writeheader()
        writer.writerows(rows)
    return path


def said(kb: KnowledgeBase) -> dict[str, list[tuple[Any, ...]]]:
    """All that the tables say, with (type, key) in place of ids."""
    result = {}
    for t in kb.schema.node_types:
        columns = ", ".join(f'a."{a.name}"' for a in t.attributes)
        result[f"type {t.name}"] = kb.sql(
            "SELECT n.type::VARCHAR AS type, n.key, n.name, list_sort(n.aliases) AS aliases,"
            " (SELECT list_sort(list(o.type::VARCHAR)) FROM node_types o WHERE o.id = n.id) AS types"
            f'{", " if columns else ""}{columns} FROM nodes n JOIN "{t.table}" a USING (id)'
            " ORDER BY ALL"
        ).rows()
    for r in kb.schema.relations:
        columns = "".join(f', e."{a.name}"' for a in r.attributes)
        result[f"relation {r.name}"] = kb.sql(
            f'SELECT h.type::VARCHAR AS a, h.key AS b, t.type::VARCHAR AS c, t.key AS d{columns} FROM "{r.table}" e'
            " JOIN nodes h ON h.id = e.head JOIN nodes t ON t.id = e.tail ORDER BY ALL"
        ).rows()
    result["texts"] = kb.sql(
        "SELECT n.type::VARCHAR AS type, n.key, x.field, x.position, x.text FROM texts x JOIN nodes n USING (id)"
        " ORDER BY ALL"
    ).rows()
    return {what: rows for what, rows in result.items() if rows}


# -- random edits, beside an ingest of the edited source ---------------------------------------------------------------

KEYS, FIELDS, RELATIONS = "abcdef", ("text", "note"), ("likes", "knows", "near")
NODE = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["Ann", "Bo", "Cy", "Di"]),
        "size": st.integers(0, 9),
        "tags": st.sampled_from(["x", "x|y"]),
    }
)
NAMED = st.tuples(st.sampled_from(["one", "two"]), st.sampled_from(KEYS))
EDGE = st.tuples(NAMED, st.sampled_from(RELATIONS), NAMED)
TEXT = st.tuples(NAMED, st.sampled_from(FIELDS))
WORDS = st.lists(st.sampled_from(["red tide", "blue sky", "old oak"]), min_size=1, max_size=2, unique=True)
RECIPE = """title = "t"
[files.nodes]
match = ["nodes.csv"]
[files.edges]
match = ["edges.csv"]
[files.texts]
match = ["texts.csv"]
[relations.near]
symmetric = true
"""
SQL = """
CREATE TABLE node_rows AS SELECT * REPLACE (string_split(aliases, '|') AS aliases, size::BIGINT AS size,
  string_split(tags, '|') AS tags) FROM nodes;
DROP VIEW nodes; ALTER TABLE node_rows RENAME TO nodes;
"""


class Graph:
    """The model: what a source says, as Python's own dictionaries and sets."""

    def __init__(self, nodes: dict[Any, Row], edges: Iterable[Any], texts: dict[Any, list[str]]) -> None:
        self.nodes = dict(nodes)
        self.edges = {self.turned(edge) for edge in edges if edge[0] in nodes and edge[2] in nodes}
        self.texts = {place: words for place, words in texts.items() if place[0] in nodes}

    @staticmethod
    def turned(edge: Any) -> Any:
        head, relation, tail = edge
        return (min(head, tail), relation, max(head, tail)) if relation == "near" else edge

    def files(self, folder: Path) -> list[Path]:
        folder.mkdir()
        return [
            write(folder / "nodes.csv", map(node_row, self.nodes.items()), "type key name aliases size tags"),
            write(folder / "edges.csv", map(edge_row, sorted(self.edges)), "head_type head relation tail_type tail"),
            write(folder / "texts.csv", text_rows(self.texts), "type key field text"),
        ]


def node_row(item: Any) -> Row:
    (kind, key), values = item
    return {"type": kind, "key": key, **values}


def edge_row(edge: Any) -> Row:
    (head_type, head), relation, (tail_type, tail) = edge
    return {"head_type": head_type, "head": head, "relation": relation, "tail_type": tail_type, "tail": tail}


def text_rows(texts: Mapping[Any, list[str]]) -> list[Row]:
    return [
        {"type": kind, "key": key, "field": field, "text": text}
        for ((kind, key), field), words in texts.items()
        for text in words
    ]


@examples(2)
@given(data=st.data())
def test_an_update_is_an_ingest_of_the_edited_source(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    folder = tmp_path_factory.mktemp("edits")
    recipe = folder / "recipe"
    recipe.mkdir()
    (recipe / "recipe.toml").write_text(RECIPE)
    (recipe / "load.sql").write_text(SQL)
    graphs = st.tuples(
        st.dictionaries(NAMED, NODE, min_size=2), st.lists(EDGE, max_size=12), st.dictionaries(TEXT, WORDS, max_size=5)
    )
    before = Graph(*data.draw(graphs))
    stores = ["tables", "adjacency"]
    kbkit.ingest(str(recipe), *before.files(folder / "before"), out=folder / "kb", stores=stores).close()

    doomed = data.draw(st.sets(st.sampled_from(sorted(before.nodes)), max_size=len(before.nodes) - 1))
    cut = data.draw(st.sets(st.sampled_from(sorted(before.edges)))) if before.edges else set()
    silent = data.draw(st.sets(st.sampled_from(sorted(before.texts)))) if before.texts else set()
    added = data.draw(st.dictionaries(NAMED, NODE, max_size=4))
    after = Graph({place: node for place, node in before.nodes.items() if place not in doomed}, [], {})
    after.nodes |= added
    survivors = [edge for edge in before.edges - cut if not {edge[0], edge[2]} & doomed]
    joined = [edge for edge in data.draw(st.lists(EDGE, max_size=4)) if {edge[0], edge[2]} <= after.nodes.keys()]
    written = {p: w for p, w in data.draw(st.dictionaries(TEXT, WORDS, max_size=3)).items() if p[0] in after.nodes}
    kept = {p: w for p, w in before.texts.items() if p not in silent and p[0] not in doomed}
    after = Graph(after.nodes, [*survivors, *joined], {**kept, **written})

    gone = [{"type": kind, "key": key} for kind, key in sorted(doomed)]
    gone += [edge_row(edge) for edge in cut]
    gone += [{"type": kind, "key": key, "field": field} for (kind, key), field in silent]
    delta = {
        "nodes": write(folder / "n.csv", map(node_row, added.items()), "type key name aliases size tags"),
        "edges": write(folder / "e.csv", map(edge_row, joined), "head_type head relation tail_type tail"),
        "texts": write(folder / "t.csv", text_rows(written), "type key field text"),
        "delete": write(folder / "d.csv", gone, "type key field head_type head relation tail_type tail"),
    }
    with (
        kbkit.update(folder / "kb", **delta) as updated,
        kbkit.ingest(str(recipe), *after.files(folder / "after"), out=folder / "again", stores=stores) as again,
    ):
        assert said(updated) == said(again)
        assert [problem for _, problem in updated.check() if problem] == []
        for relation in updated.schema.relations:
            text = f"* -> [{relation.name}] -> *"
            found = [sorted(kb.answers(text).nodes()["key"].to_list()) for kb in (updated, again)]
            assert found[0] == found[1]
    shutil.rmtree(folder)


# -- one update of every store -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tiny_before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("update") / "tiny.kb"
    with kbkit.ingest("table", TINY, out=out) as kb:
        kb.answers("gene/protein").save("genes")
    return out


@pytest.fixture
def tiny_kb(tiny_before: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_before, tmp_path / "tiny.kb"))


@pytest.fixture(scope="module")
def light_before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same graph with the stores that cost little; copy it before an update that succeeds."""
    out = tmp_path_factory.mktemp("update") / "tiny.kb"
    kbkit.ingest("table", TINY, out=out, stores=["tables", "adjacency"]).close()
    return out


@pytest.fixture
def light_kb(light_before: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(light_before, tmp_path / "light.kb"))


def places(kb: KnowledgeBase) -> list[tuple[str, str]]:
    """(type, key) of every node, by id."""
    return kb.sql("SELECT type::VARCHAR AS type, key FROM nodes ORDER BY id").rows()


def test_every_store_follows_and_known_vectors_are_taken_over(tiny_kb: Path, tmp_path: Path) -> None:
    with kbkit.open(tiny_kb) as kb:
        vector_of = dict(zip(places(kb), np.array(kb.vectors.matrix), strict=True))
    nodes = [
        {"key": "g9", "type": "gene/protein", "name": "telomerase", "year": 1985},
        {"key": "g1", "type": "gene/protein", "year": 1991},
    ]
    with kbkit.update(
        tiny_kb,
        nodes=write(tmp_path / "n.csv", nodes, "key type name year"),
        edges=write(tmp_path / "e.csv", [{"head": "g9", "relation": "interacts", "tail": "g2"}], "head relation tail"),
        texts=write(
            tmp_path / "t.csv",
            [{"key": "g9", "field": "summary", "text": "Mends the ends of chromosomes."}],
            "key field text",
        ),
        delete=write(tmp_path / "d.csv", [{"key": "g3", "type": "gene/protein"}], "key type"),
    ) as kb:
        assert kb.manifest.generation == "0002"
        assert [problem for _, problem in kb.check() if problem] == []
        assert (kb.node("g1").name, kb.node("g1").attributes["year"]) == ("BRCA1", 1991)
        for engine in ("walk", "sql", "sparql"):
            found = kb.answers('gene/protein:"telomerase" -> [interacts] -> gene/protein', engine=engine)
            assert found.nodes()["key"].to_list() == ["g2"]
        assert kb.search("chromosomes", k=1, mode="bm25")["key"].to_list() == ["g9"]
        assert kb.search("telomerase mends chromosomes", k=1, mode="dense")["key"].to_list() == ["g9"]
        assert kb.answers("@genes").nodes()["key"].to_list() == ["g1", "g2"]  # by type and key; g3 has gone
        nodes = places(kb)
        counts = {"vectors": len(nodes), "chunks": 0, "taken_over": len(nodes) - 1}
        assert kb.manifest.stores["vectors"].counts == counts
        for place, row in zip(nodes, np.asarray(kb.vectors.matrix), strict=True):
            assert place == ("gene/protein", "g9") or np.array_equal(row, vector_of[place])
        assert [source.get("update", False) for source in kb.manifest.sources][-4:] == [True] * 4


def test_texts_alone_leave_the_adjacency_as_it_is(light_kb: Path, tmp_path: Path) -> None:
    texts = write(tmp_path / "t.csv", [{"key": "g1", "field": "summary", "text": "New words."}], "key field text")
    with kbkit.open(light_kb) as old, kbkit.update(light_kb, texts=texts) as kb:
        same = [(folder / "adjacency" / "targets.npy").stat().st_ino for folder in (old.folder, kb.folder)]
        assert same[0] == same[1]
        assert [problem for _, problem in kb.check() if problem] == []
        found = kb.sql("SELECT field, text FROM texts JOIN nodes USING (id) WHERE key = 'g1'").rows()
        assert ("summary", "New words.") in found
        assert len([field for field, _ in found if field == "summary"]) == 1


def test_chunks_of_known_documents_are_taken_over(tmp_path: Path) -> None:
    words = [" ".join(f"w{number}{at}" for at in range(40)) for number in range(3)]
    nodes = write(tmp_path / "nodes.csv", [{"key": key} for key in "abc"], "key")
    edges = write(tmp_path / "edges.csv", [{"head": "a", "relation": "r", "tail": "b"}], "head relation tail")
    rows = [{"key": key, "text": text} for key, text in zip("abc", words, strict=True)]
    texts = write(tmp_path / "texts.csv", rows, "key text")
    stores = ["vectors"]
    built = kbkit.ingest("table", nodes, edges, texts, out=tmp_path / "kb", chunk_words=16, stores=stores)
    new = write(tmp_path / "new.csv", [{"key": "b", "text": words[0] + " more"}], "key text")
    rows[1]["text"] = words[0] + " more"
    whole = write(tmp_path / "whole_texts.csv", rows, "key text")
    with (
        built,
        kbkit.update(tmp_path / "kb", texts=new) as kb,
        kbkit.ingest("table", nodes, edges, whole, out=tmp_path / "again", chunk_words=16, stores=stores) as again,
    ):
        assert kb.manifest.stores["vectors"].counts["taken_over"] == 2
        assert np.array_equal(kb.vectors.chunk_nodes, again.vectors.chunk_nodes)
        assert np.allclose(kb.vectors.chunks, again.vectors.chunks, atol=1e-6)
        assert np.allclose(kb.vectors.matrix, again.vectors.matrix, atol=1e-6)


def test_what_only_the_recipe_said_stays(tmp_path: Path) -> None:
    """IRIs of types and relations, labels, and the types that are asked for."""
    recipe = tmp_path / "said"
    recipe.mkdir()
    (recipe / "recipe.toml").write_text(
        'title = "t"\n[files.nodes]\nmatch = ["nodes.csv"]\n'
        '[relations.likes]\nlabel = "is fond of"\niri = "urn:x:likes"\n'
    )
    (recipe / "load.sql").write_text(
        "CREATE TABLE edges AS SELECT 'a' AS head, 'likes' AS relation, 'b' AS tail;\n"
        "CREATE TABLE type_iris AS SELECT 'one' AS type, 'urn:x:One' AS iri;\n"
        "CREATE TABLE candidate_types AS SELECT 'one' AS type;\n"
    )
    nodes = write(tmp_path / "nodes.csv", [{"type": "one", "key": "a"}, {"type": "two", "key": "b"}], "type key")
    before = kbkit.ingest(str(recipe), nodes, out=tmp_path / "kb", stores=["tables"])
    new = write(tmp_path / "new.csv", [{"type": "two", "key": "c"}], "type key")
    with before, kbkit.update(tmp_path / "kb", nodes=new) as kb:
        assert [(t.name, t.iri) for t in kb.schema.node_types] == [(t.name, t.iri) for t in before.schema.node_types]
        assert kb.schema.type("one").iri == "urn:x:One"
        assert kb.schema.candidate_types == ("one",)
        assert (kb.schema.relation("likes").iri, kb.schema.relation("likes").label) == ("urn:x:likes", "is fond of")


# -- bad deltas --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "columns", "rows", "message"),
    [
        (
            "delete",
            "key",
            [{"key": "zz"}],
            "'zz' | skip_dangling",
        ),
        (
            "delete",
            "head relation tail",
            [{"head": "g1", "relation": "interacts", "tail": "g1"}],
            "'g1 [interacts] g1' | skip_dangling",
        ),
        (
            "delete",
            "key field",
            [{"key": "g1", "field": "poem"}],
            "'g1 (poem)' | skip_dangling",
        ),
        (
            "nodes",
            "key type",
            [{"key": "n", "type": "drug"}] * 2,
            "'n'",
        ),
        (
            "edges",
            "head relation tail",
            [{"head": "g1", "relation": "interacts", "tail": "zz"}],
            "1 | 'g1' | 'zz' | skip_dangling",
        ),
        (
            "texts",
            "key text",
            [{"key": "zz", "text": "t"}],
            "1 | 'zz' | skip_dangling",
        ),
    ],
)
def test_a_bad_delta_changes_nothing(
    light_before: Path, tmp_path: Path, option: str, columns: str, rows: list[Row], message: str, wording: Wording
) -> None:
    path = write(tmp_path / "delta.csv", rows, columns)
    with pytest.raises(BadInputError) as caught:
        kbkit.update(light_before, **{option: path})
    wording(mentions(str(caught.value), message), replace={str(tmp_path): "DIR"})
    with kbkit.open(light_before) as kb:
        assert kb.manifest.generation == "0001"


def test_skip_dangling_leaves_out_unknown_rows(light_kb: Path, tmp_path: Path) -> None:
    gone = [{"key": "zz"}, {"head": "g1", "relation": "interacts", "tail": "g1"}, {"key": "g1", "field": "poem"}]
    with kbkit.open(light_kb) as before:
        expected = said(before)
    edges = [{"head": "g1", "relation": "interacts", "tail": "zz"}]
    with kbkit.update(
        light_kb,
        edges=write(tmp_path / "e.csv", edges, "head relation tail"),
        texts=write(tmp_path / "t.csv", [{"key": "zz", "text": "t"}], "key text"),
        delete=write(tmp_path / "d.csv", gone, "key field head relation tail"),
        skip_dangling=True,
    ) as kb:
        assert kb.manifest.generation == "0002"
        assert said(kb) == expected


def test_a_value_of_another_type_is_refused(light_before: Path, tmp_path: Path, wording: Wording) -> None:
    path = write(tmp_path / "n.csv", [{"key": "g1", "year": "soon"}], "key year")
    with pytest.raises(BadInputError) as caught:
        kbkit.update(light_before, nodes=path)
    wording(mentions(str(caught.value), "'soon'"), replace={str(tmp_path): "DIR"})


def test_a_kb_from_rdf_is_refused(tmp_path: Path, wording: Wording) -> None:
    kbkit.ingest("rdf", TINY / "tiny.ttl", out=tmp_path / "r.kb", stores=["tables"]).close()
    path = write(tmp_path / "n.csv", [{"key": "x"}], "key")
    with pytest.raises(KbError) as caught:
        kbkit.update(tmp_path / "r.kb", nodes=path)
    wording(mentions(str(caught.value), "RDF"), replace={str(tmp_path): "DIR"})


@pytest.mark.core
def test_the_command(here: Run, light_kb: Path, tmp_path: Path, wording: Wording) -> None:
    none = here("update", light_kb)
    wording(mentions(none.stderr, "--nodes | --edges | --texts | --delete"), "cli", replace={str(tmp_path): "DIR"})
    path = write(tmp_path / "n.csv", [{"id": "d9", "kind": "drug", "label": "Novum"}], "id kind label")
    done = here("update", light_kb, "--nodes", path, "--column", "key=id")
    assert done.returncode == 0, done.stderr
    assert here("answers", light_kb, 'drug:"Novum"', "-f", "csv").stdout.splitlines()[1].split(",")[2] == "d9"
    absent = here("update", light_kb, "--texts", tmp_path / "none.csv")
    wording(mentions(absent.stderr, f"{tmp_path / 'none.csv'}"), "cli", replace={str(tmp_path): "DIR"})
