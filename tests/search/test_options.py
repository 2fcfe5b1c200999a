"""What a build may be told of search: chunks, and documents that hold their relations; and what check makes of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kbkit
from kbkit.cli.app import State, app
from kbkit.errors import KbError, NotAKbError, UnknownNameError
from kbkit.ingestion import recipe
from kbkit.ingestion.build import changed_settings, rebuild
from kbkit.ingestion.request import RebuildSettings
from kbkit.kb import KnowledgeBase
from kbkit.stores import embedders as embed
from kbkit.stores.documents import MAX_NEIGHBOURS, documents_sql, relations_sql
from kbkit.stores.vector_build import VectorSettings, chunked
from tests import kbs
from tests.wording import Wording

WORDS = 100
"""Words of the long text; its node's document has two more, the name's."""


def write(folder: Path, **tables: str) -> Path:
    """Write the tables of a source; a column ``|`` apart, so that values may hold commas."""
    folder.mkdir()
    for name, rows in tables.items():
        lines = [",".join(f'"{cell}"' for cell in line.split("|")) for line in rows.strip().splitlines()]
        (folder / f"{name}.csv").write_text("\n".join(line.strip() for line in lines) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three films and their people: one with a long text, one joined to 30 people."""
    people = "\n".join(f"p{i:02}|person|Person{i:02} Extra" for i in range(30))
    acted = "\n".join(f"p{i:02}|acted_in|m3" for i in reversed(range(30)))
    return write(
        tmp_path_factory.mktemp("source") / "films",
        nodes=f"key|type|name\nm1|film|Red River\nm2|film|Blue Moon\nm3|film|Great Crowd\nl|film|Lone Wolf\n{people}",
        edges=f"head|relation|tail\np00|acted_in|m1\np01|acted_in|m1\np00|is director of|m1\nm1|sequel|m2\n{acted}",
        texts=f"key|text\nm1|{' '.join(f'word{i}' for i in range(WORDS))}\nm2|a short text\nl|nobody knows it",
    )


RELATIONS = """
[relations.sequel]
symmetric = true
label = "story of"
[relations.acted_in]
label = "plays in"
"""


@pytest.fixture(scope="module")
def plain(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The KB of the films, one relation symmetric, two with labels, built as is usual; read it only."""
    folder = tmp_path_factory.mktemp("plain")
    shutil.copytree(recipe.load("table").folder, folder / "recipe")
    with (folder / "recipe" / "recipe.toml").open("a", encoding="utf-8") as file:
        file.write(RELATIONS)
    kbkit.ingest(str(folder / "recipe"), source, out=folder / "films.kb").close()
    return folder / "films.kb"


@pytest.fixture(scope="module")
def joined(plain: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, whose text and vectors hold relations (one generation each); read it only."""
    out = shutil.copytree(plain, tmp_path_factory.mktemp("joined") / "films.kb")
    rebuild(out, "text", RebuildSettings(relations=True))
    rebuild(out, "vectors", RebuildSettings(relations=True))
    return out


@pytest.fixture
def kb(plain: Path, tmp_path: Path) -> Path:
    """A copy to change."""
    return shutil.copytree(plain, tmp_path / "films.kb")


def command(*words: object) -> None:
    """Run a command in this process; errors are raised."""
    app([*map(str, words)], obj=State(quiet=True), standalone_mode=False)


def settings(path: Path, store: str) -> dict[str, Any]:
    with kbkit.open(path) as opened:
        return opened.manifest.stores[store].settings


def chunks(path: Path) -> tuple[np.ndarray, list[str]]:
    """The vectors of a KB's chunks, and the keys of their nodes."""
    with kbkit.open(path) as opened:
        owners = np.load(opened.folder / "vectors" / "chunk_nodes.npy")
        assert owners.dtype == np.int32
        assert len(owners) == len(opened.vectors.chunks) == opened.manifest.stores["vectors"].counts["chunks"]
        return np.array(opened.vectors.chunks), [opened.node(int(node)).key for node in owners]


def documents(kb: KnowledgeBase) -> dict[str, str]:
    """What is embedded of each node, by its key."""
    rows = kb.tables.rows(documents_sql(kb.schema, 0, kb.schema.nodes, relations=True))
    return {kb.node(node).key: document for node, document in rows}


# -- chunks -----------------------------------------------------------------------------------------------------------


@pytest.mark.core
def test_a_long_document_is_embedded_in_chunks(kb: Path) -> None:
    assert chunks(kb)[1] == []  # 102 words are fewer than 256
    rebuild(kb, "vectors", RebuildSettings(chunk_words=40, chunk_overlap=15))
    words = ["Red", "River:", *(f"word{i}" for i in range(WORDS))]
    parts = [" ".join(words[start : start + 40]) for start in (0, 25, 50, 75)]
    assert [len(part.split()) for part in parts] == [40, 40, 40, 27]
    rows, owners = chunks(kb)
    assert owners == ["m1"] * 4
    np.testing.assert_allclose(rows, embed.load("static").embed(parts), atol=1e-6)
    assert kbs.problems(kb) == []


@pytest.mark.parametrize(
    ("change", "recorded", "starts"),
    [
        (RebuildSettings(chunk_words=40), (40, 10), [0, 30, 60, 90]),
        (RebuildSettings(chunk_words=102), (102, 25), [0]),
        (RebuildSettings(chunk_words=101), (101, 25), [0, 76]),
        (RebuildSettings(chunk_words=101, chunk_overlap=100), (101, 100), [0, 1]),
        (RebuildSettings(chunk_words=60, chunk_overlap=0), (60, 0), [0, 60]),
        (RebuildSettings(chunk_words=51, chunk_overlap=0), (51, 0), [0, 51]),
        (RebuildSettings(chunk_words=1), (1, 0), list(range(102))),
        (RebuildSettings(chunk_overlap=100), (256, 100), [0]),
    ],
)
def test_where_chunks_begin(change: RebuildSettings, recorded: tuple[int, int], starts: list[int]) -> None:
    made = changed_settings(change, VectorSettings())
    assert (made.chunk_words, made.chunk_overlap) == recorded
    words = [f"word{i}" for i in range(102)]
    assert chunked("  ".join(words), made) == [" ".join(words[at : at + recorded[0]]) for at in starts]


def test_no_chunks(kb: Path) -> None:
    rebuild(kb, "vectors", RebuildSettings(chunk_words=20))
    assert chunks(kb)[1] == ["m1"] * 7
    rebuild(kb, "vectors", RebuildSettings(chunk_words=0))
    found = settings(kb, "vectors")
    assert (found["chunk_words"], found["chunk_overlap"]) == (0, 0)
    assert chunks(kb)[0].shape == (0, 192)
    with kbkit.open(kb) as opened:
        hits = opened.search("red river", mode="multivector")
        assert hits["key"].to_list() == opened.search("red river", mode="dense")["key"].to_list()


def test_a_rebuild_keeps_the_chunks(kb: Path) -> None:
    rebuild(kb, "vectors", RebuildSettings(chunk_words=40, chunk_overlap=5))
    before = chunks(kb)
    rebuild(kb, "text")
    rebuild(kb, "vectors", RebuildSettings(relations=False))
    assert settings(kb, "vectors")["chunk_overlap"] == 5
    after = chunks(kb)
    np.testing.assert_array_equal(before[0], after[0])
    rebuild(kb, "vectors", RebuildSettings(chunk_words=40))  # words given anew take their quarter
    assert settings(kb, "vectors")["chunk_overlap"] == 10


def test_chunks_from_the_command_line(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "a.kb"
    command("ingest", "table", source, "-o", out, "--chunk-words", "40", "--with-relations")
    found = settings(out, "vectors")
    assert (found["chunk_words"], found["chunk_overlap"], found["relations"]) == (40, 10, True)
    assert settings(out, "text") == {"analyzer": "english", "relations": True}
    assert chunks(out)[1].count("m1") == 4  # 102 words and 10 of relations
    command("build", out, "vectors", "--chunk-words", "20", "--chunk-overlap", "0", "--without-relations")
    found = settings(out, "vectors")
    assert (found["chunk_words"], found["chunk_overlap"], found["relations"]) == (20, 0, False)
    assert chunks(out)[1] == ["m1"] * 6


@pytest.mark.parametrize(("words", "overlap"), [(10, 10), (1, 1), (10, -2), (-1, 0), (-5, -7)])
def test_invalid_chunks(kb: Path, words: int, overlap: int, wording: Wording) -> None:
    before = kbs.tree(kb)
    with pytest.raises(KbError) as caught:
        rebuild(kb, "vectors", RebuildSettings(chunk_words=words, chunk_overlap=overlap))
    message = str(caught.value)
    wording(message)
    assert kbs.tree(kb) == before
    assert kbs.generations(kb) == ["0001"]
    with pytest.raises(KbError) as caught:
        VectorSettings(False, words, overlap)
    message = str(caught.value)
    wording(message)


def test_an_overlap_beyond_the_recorded_chunks(kb: Path, wording: Wording) -> None:
    with pytest.raises(KbError) as caught:
        rebuild(kb, "vectors", RebuildSettings(chunk_overlap=256))
    message = str(caught.value)
    assert [fact for fact in ["256"] if fact not in message] == []
    wording(message)
    assert kbs.generations(kb) == ["0001"]


def test_an_overlap_of_minus_one_is_refused(kb: Path) -> None:
    with pytest.raises(KbError, match="overlap"):
        command("build", kb, "vectors", "--chunk-words", "40", "--chunk-overlap", "-1")


# -- relations in documents -------------------------------------------------------------------------------------------


def oracle(kb: KnowledgeBase) -> dict[int, list[str]]:
    """The lines of relations of every node, from its edges one by one."""
    names = dict(kb.sql("SELECT id, name FROM nodes").iter_rows())
    edges = set(kb.sql("SELECT head, relation::VARCHAR, tail FROM edges").iter_rows())
    result: dict[int, list[str]] = {}
    for node in names:
        lines = []
        for side in ("out", "in"):
            for relation in sorted(kb.schema.relations, key=lambda r: r.name):
                if side == "in" and relation.symmetric:
                    continue
                ends = [(h, t) if side == "out" else (t, h) for h, r, t in edges if r == relation.name]
                others = sorted({other for here, other in ends if here == node})[:MAX_NEIGHBOURS]
                if others:
                    label = relation.label or relation.name.replace("_", " ")
                    lines.append(f"{label}: {', '.join(names[other] for other in others)}")
        if lines:
            result[node] = lines
    return result


def lines(kb: KnowledgeBase, which: str) -> dict[int, list[str]]:
    return dict(kb.tables.rows(relations_sql(kb.schema, which)))


@pytest.mark.parametrize("name", ["tiny_kb", "plain"])
def test_the_lines_of_relations(request: pytest.FixtureRequest, name: str) -> None:
    with kbkit.open(request.getfixturevalue(name)) as opened:
        expected, last = oracle(opened), opened.schema.nodes - 1
        # The order of relations is that of the tables, which need not be the alphabet's.
        found = lines(opened, f"BETWEEN 0 AND {last}")
        assert {node: sorted(rows) for node, rows in found.items()} == {k: sorted(v) for k, v in expected.items()}
        assert 0 < len(expected) < opened.schema.nodes  # some have none
        assert lines(opened, "BETWEEN 3 AND 5") == {k: v for k, v in found.items() if 3 <= k <= 5}
        assert lines(opened, f"IN (0, {last})") == {k: v for k, v in found.items() if k in (0, last)}


def test_relations_of_the_tiny_graph(small: KnowledgeBase) -> None:
    found = documents(small)
    # Parallel edges once; a relation that is not symmetric in each direction, underscores as spaces.
    assert found["p2"].endswith(
        "A beekeeper who drinks tonic. knows: Zoë Müller. order: O'Brien's tonic; DROP TABLE nodes; --."
        " takes: C:\\temp\\new inhibitor. knows: Zoë Müller"
    )
    assert found["p3"] == "Nobody, Known"  # neither edges nor texts
    assert found["x1"].endswith("is treated by: insulin. associated with: insulin, C:\\temp\\new inhibitor")


def test_documents_hold_names_labels_and_both_directions(joined: Path) -> None:
    with kbkit.open(joined) as opened:
        found = documents(opened)
    assert found["m1"].endswith(
        f" word{WORDS - 1} story of: Blue Moon."
        " plays in: Person00 Extra, Person01 Extra. is director of: Person00 Extra"
    )
    assert found["m2"] == "Blue Moon: a short text story of: Red River"  # symmetric: once
    assert found["p00"] == "Person00 Extra plays in: Red River, Great Crowd. is director of: Red River"
    assert found["l"] == "Lone Wolf: nobody knows it"
    crowd = ", ".join(f"Person{i:02} Extra" for i in range(25))
    assert found["m3"] == f"Great Crowd plays in: {crowd}"  # the first 25 by id


def test_a_node_is_found_by_the_names_of_its_neighbours(plain: Path, joined: Path, wording: Wording) -> None:
    with kbkit.open(plain) as opened:
        assert opened.search("Person01", mode="bm25")["key"].to_list() == ["p01"]
        with pytest.raises(UnknownNameError) as caught:
            opened.search("Person01", mode="bm25", fields=["relations"])
        message = str(caught.value)
        assert [fact for fact in ["'relations'"] if fact not in message] == []
        wording(message)
    with kbkit.open(joined) as opened:
        assert set(opened.search("Person01", mode="bm25")["key"]) == {"p01", "m1", "m3"}
        assert set(opened.search("Person01", mode="bm25", fields=["relations"])["key"]) == {"m1", "m3"}
        assert opened.search('"Person29"', mode="bm25", fields=["relations"])["key"].to_list() == []  # the 30th
        assert opened.search("Person01", mode="bm25", fields=["name"])["key"].to_list() == ["p01"]
        assert opened.search("director", mode="bm25", fields=["relations"], k=9)["key"].to_list() == ["p00", "m1"]
        # A quotation is within one line, and so within one relation.
        assert opened.search('"extra is"', mode="bm25", fields=["relations"])["key"].to_list() == []
        assert set(opened.search('"Red River"', mode="bm25", fields={"relations": 2.0})["key"]) == {"m2", "p00", "p01"}


def test_vectors_hold_the_relations(plain: Path, joined: Path) -> None:
    with kbkit.open(plain) as before, kbkit.open(joined) as after:
        names = documents(after)
        keys = list(names)
        rows = embed.load("static").embed([names[key] for key in keys])
        ids = [after.find(f"{'person' if key[0] == 'p' else 'film'}#{key}") for key in keys]
        np.testing.assert_allclose(np.asarray(after.vectors.matrix)[ids], rows, atol=1e-6)
        same = np.isclose(before.vectors.matrix, after.vectors.matrix, atol=1e-6).all(axis=1)
        assert np.flatnonzero(same).tolist() == [after.find("film#l")]  # which has no relations


def test_relations_change_the_store_that_is_named(kb: Path, wording: Wording) -> None:
    rebuild(kb, "text", RebuildSettings(relations=True))
    assert (settings(kb, "text")["relations"], settings(kb, "vectors")["relations"]) == (True, False)
    rebuild(kb, "vectors")
    assert (settings(kb, "text")["relations"], settings(kb, "vectors")["relations"]) == (True, False)
    rebuild(kb, "text", RebuildSettings(analyzer="simple"))  # and they stay
    assert settings(kb, "text") == {"analyzer": "simple", "relations": True}
    with kbkit.open(kb) as opened:
        assert opened.search("Person01", mode="bm25", fields=["relations"]).height == 2
    rebuild(kb, "text", RebuildSettings(relations=False))
    assert settings(kb, "text") == {"analyzer": "simple", "relations": False}
    with kbkit.open(kb) as opened, pytest.raises(UnknownNameError) as caught:
        opened.search("Person01", mode="bm25", fields=["relations"])
    message = str(caught.value)
    assert [fact for fact in ["'relations'"] if fact not in message] == []
    wording(message)
    assert kbs.problems(kb) == []


def test_relations_from_the_command_line(here, kb: Path, wording: Wording) -> None:
    with pytest.raises(UnknownNameError) as caught:
        command("search", kb, "Person01", "-m", "bm25", "--fields", "relations")
    message = str(caught.value)
    assert [fact for fact in ["'relations'"] if fact not in message] == []
    wording(message)
    command("build", kb, "text", "--with-relations")
    done = here("search", kb, "Person01", "-m", "bm25", "--fields", "relations", "-f", "json")
    assert {row["key"] for row in json.loads(done.stdout)} == {"m1", "m3"}
    assert settings(kb, "vectors")["relations"] is False
    command("build", kb, "text", "--without-relations")
    assert settings(kb, "text")["relations"] is False


def test_a_kb_without_any_relation(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    for name, text in {"nodes": "key,type,name\na,t,Apple\n", "edges": "head,relation,tail\n"}.items():
        (tmp_path / "s" / f"{name}.csv").write_text(text, encoding="utf-8")
    with kbkit.ingest("table", tmp_path / "s", out=tmp_path / "a.kb", relations=True) as opened:
        assert opened.schema.relations == ()
        assert lines(opened, "BETWEEN 0 AND 9") == {}
        assert documents(opened) == {"a": "Apple"}
        assert opened.search("apple", mode="bm25", fields=["name"])["key"].to_list() == ["a"]
        assert opened.search("apple", mode="bm25", fields=["relations"])["key"].to_list() == []
        assert opened.search("apple", mode="hybrid")["key"].to_list() == ["a"]


QUOTED = """it's "called" 100% {x} $y"""


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """Types, relations and fields whose names could break a statement, and fields named as the index's own."""
    folder = tmp_path_factory.mktemp("odd")
    name = QUOTED.replace('"', '""')
    tables = {
        "nodes": f'key,type,name\na,"{name}",Apple\nb,"it\'s",Birch\n',
        "edges": f'head,relation,tail\na,"{name}",b\nb,"o\'; DROP TABLE nodes; --",a\na,name,b\n',
        "texts": (
            f'key,field,text\na,name,alpha\na,relations,beta\nb,"{name}",gamma\nb,Name,delta\nb,text_name,epsilon\n'
        ),
    }
    for table, text in tables.items():
        (folder / f"{table}.csv").write_text(text, encoding="utf-8")
    with kbkit.ingest("table", folder, out=folder / "odd.kb", relations=True) as opened:
        yield opened


def test_names_with_quotes(odd: KnowledgeBase) -> None:
    found = {node: sorted(rows) for node, rows in lines(odd, "BETWEEN 0 AND 9").items()}
    assert found == {node: sorted(rows) for node, rows in oracle(odd).items()}
    assert f"{QUOTED}: Birch" in documents(odd)["a"]
    assert "o'; DROP TABLE nodes; --: Apple" in documents(odd)["b"]
    assert odd.search("birch", mode="bm25", fields=["relations"])["key"].to_list() == ["a"]
    assert odd.search("gamma", mode="bm25", fields=[QUOTED])["key"].to_list() == ["b"]
    assert [problem for _, problem in odd.check() if problem] == []


def test_fields_named_as_those_of_the_index(odd: KnowledgeBase) -> None:
    def found(word: str, field: str) -> list[str]:
        return odd.search(word, mode="bm25", fields=[field])["key"].to_list()

    assert found("alpha", "name") == ["a"]
    assert found("apple", "name") == ["a"]
    assert found("beta", "relations") == ["a"]
    assert found("apple", "relations") == ["b"]
    assert found("delta", "Name") == ["b"]
    assert found("delta", "name") == []
    assert found("epsilon", "text_name") == ["b"]
    assert found("epsilon", "name") == []


# -- older formats, damage --------------------------------------------------------------------------------------------


def change_manifest(path: Path, change: Any) -> None:
    file = path / "generations" / "0001" / "manifest.json"
    data = json.loads(file.read_text())
    change(data)
    file.write_text(json.dumps(data))


def as_of_format_1(data: dict[str, Any]) -> None:
    """What the manifest of format 1 was: without what searches may be told today."""
    data["format"] = 1
    data["stores"]["text"]["settings"] = {"analyzer": "english"}
    data["stores"]["vectors"]["settings"] = {"embedder": "static", "dimension": 192}
    del data["stores"]["vectors"]["counts"]["chunks"]
    del data["schema"]["name_weight"]


def test_a_kb_of_an_older_format_is_refused(kb: Path, wording: Wording) -> None:
    change_manifest(kb, as_of_format_1)
    with pytest.raises(NotAKbError) as error:
        kbkit.open(kb)
    message = str(error.value)
    assert [fact for fact in ["1", "4"] if fact not in message] == []
    wording(message, replace={str(kb): "KB"})
    with pytest.raises(NotAKbError) as caught:
        rebuild(kb, "text")
    message = str(caught.value)
    assert [fact for fact in ["1", "4"] if fact not in message] == []
    wording(message, replace={str(kb): "KB"})
    assert kbs.generations(kb) == ["0001"]


def test_a_newer_format_is_refused(kb: Path, wording: Wording) -> None:
    change_manifest(kb, lambda data: data.update(format=5))
    with pytest.raises(NotAKbError) as caught:
        kbkit.open(kb)
    message = str(caught.value)
    assert [fact for fact in ["5", "4"] if fact not in message] == []
    wording(message, replace={str(kb): "KB"})


@pytest.fixture(scope="module")
def in_chunks(plain: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A KB with chunks in its first generation, to copy."""
    out = shutil.copytree(plain, tmp_path_factory.mktemp("chunked") / "films.kb")
    rebuild(out, "vectors", RebuildSettings(chunk_words=20))
    return out


@pytest.mark.parametrize(
    ("name", "damage"),
    [("chunks.npy", "cut"), ("chunks.npy", "longer"), ("chunk_nodes.npy", "flipped"), ("chunk_nodes.npy", "missing")],
)
def test_check_notices_damaged_chunks(
    in_chunks: Path, tmp_path: Path, name: str, damage: str, wording: Wording
) -> None:
    kb = shutil.copytree(in_chunks, tmp_path / "a.kb")
    path = kb / "generations" / "0002" / "vectors" / name
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    made = {"flipped": content, "cut": content[:-4], "longer": content + b"\0", "missing": None}[damage]
    path.unlink()  # generations share their files
    if made is not None:
        path.write_bytes(made)
    found = dict(kbs.problems(kb))
    assert f"vectors/{name}" in found["files"]
    assert "vectors" in found
    with kbkit.open(kb) as opened, pytest.raises(KbError) as caught:
        opened.search("river", mode="multivector")
    wording(str(caught.value), replace={str(tmp_path): "DIR"})


def test_check_notices_another_number_of_chunks(kb: Path) -> None:
    change_manifest(kb, lambda data: data["stores"]["vectors"]["counts"].update(chunks=7))
    assert kbs.problems(kb) != []


def test_an_empty_file_of_vectors_is_one_line(in_chunks: Path, tmp_path: Path, wording: Wording) -> None:
    kb = shutil.copytree(in_chunks, tmp_path / "a.kb")
    path = kb / "generations" / "0002" / "vectors" / "chunks.npy"
    path.unlink()
    path.write_bytes(b"")
    assert "vectors" in dict(kbs.problems(kb))
    with kbkit.open(kb) as opened, pytest.raises(KbError) as caught:
        opened.search("river", mode="multivector")
    message = str(caught.value)
    wording(message, replace={str(tmp_path): "DIR"})
