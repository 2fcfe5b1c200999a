"""Generations: what a rebuild shares and changes, and what ``check`` notices."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import kbkit
from kbkit import assets
from kbkit.directory.generations import check_files
from kbkit.directory.manifest import Manifest
from tests import kbs
from tests.console import here
from tests.examples import first_some
from tests.loops import each
from tests.places import ROOT
from tests.wording import Wording

STORES = {
    "tables": "tables.duckdb",
    "nodes": "nodes",
    "adjacency": "adjacency",
    "triples": "triples",
    "text": "text",
    "vectors": "vectors",
}


@pytest.fixture(scope="session")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A KB of one generation, to copy."""
    folder = tmp_path_factory.mktemp("first")
    kbs.build(folder / "source", folder / "small.kb", 1)
    return folder / "small.kb"


@pytest.fixture
def kb(first: Path, tmp_path: Path) -> Path:
    """A KB of one generation, of version 1, to change."""
    shutil.copytree(first, tmp_path / "small.kb")
    return tmp_path / "small.kb"


def files(folder: Path, store: str) -> dict[str, os.stat_result]:
    """The files of a store that have a checksum."""
    path = folder / STORES[store]
    found = [path] if path.is_file() else [p for p in path.rglob("*") if p.is_file()]
    listed = json.loads((folder / "manifest.json").read_text())["files"]
    return {p.relative_to(folder).as_posix(): p.stat() for p in found if p.relative_to(folder).as_posix() in listed}


def assert_shared(kb: Path, rebuilt: str) -> None:
    """All stores but one are the same files in both generations."""
    old, new = (kb / "generations" / name for name in ("0001", "0002"))
    for store in STORES:
        before, after = files(old, store), files(new, store)
        assert before
        assert after
        same = {name for name in before.keys() & after.keys() if os.path.samestat(before[name], after[name])}
        assert same == (set() if store == rebuilt else set(before)), store
        if store != rebuilt:
            assert set(before) == set(after)


def rebuild(kb: Path, *words: object) -> None:
    done = here("build", kb, *words)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert done.stderr.startswith(f"{kb}: 4 nodes of 2 types, 3 edges of 2 relations, 3 texts; ")


# -- generations ------------------------------------------------------------------------------------------------------


def test_a_build_swaps_current_and_keeps_the_one_before(kb: Path, tmp_path: Path) -> None:
    kbs.build(tmp_path / "source", kb, 2)
    assert (kb / "CURRENT").read_text() == "0002\n"
    assert kbs.generations(kb) == ["0001", "0002"]
    kbs.build(tmp_path / "source", kb, 3)
    assert kbs.generations(kb) == ["0002", "0003"]
    kbs.assert_whole(kb, 3)
    (kb / "CURRENT").write_text("0002\n")  # a user goes back
    kbs.assert_whole(kb, 2)


def test_without_replace_a_kb_is_refused(kb: Path, tmp_path: Path, wording: Wording) -> None:
    refused = here("ingest", "table", kbs.source(tmp_path / "source", 2), "--output", kb)
    assert refused.returncode == 1
    assert "--replace" in refused.stderr
    wording(refused.stderr, "cli", {str(kb): "KB"})
    kbs.assert_whole(kb, 1)


def test_files_of_others_in_the_directory_are_left_alone(kb: Path) -> None:
    """A desktop puts files into each folder that it shows."""
    names = (".DS_Store", "Thumbs.db", "notes")
    kept = [kb / folder / name for folder in ("generations", "workspace") for name in names]
    strays = [*kept, kb / "generations" / "0001" / ".DS_Store"]
    for path in strays:
        path.parent.mkdir(exist_ok=True)
        path.write_text("x", encoding="utf-8")
    (kb / "partial").write_text("x", encoding="utf-8")
    (kb / "generations" / "0007.building").mkdir()
    assert found(kb) == dict.fromkeys(found(kb), "")
    rebuild(kb, "text")
    done = here("gc", kb)
    assert done.returncode == 0, done.stderr
    assert all(path.exists() for path in kept)
    assert sorted(path.name for path in (kb / "generations").iterdir()) == sorted(["0002", *names])
    assert not (kb / "partial").exists()
    assert found(kb) == dict.fromkeys(found(kb), "")


@pytest.mark.parametrize("store", ["adjacency", "triples", "text", "vectors"])
def test_a_rebuilt_store_answers_as_before(kb: Path, store: str) -> None:
    rebuild(kb, store)
    assert (kb / "CURRENT").read_text() == "0002\n"
    assert_shared(kb, store)
    kbs.assert_whole(kb, 1)


def test_a_rebuild_survives_that_its_origin_is_removed(kb: Path) -> None:
    rebuild(kb, "text")
    assert here("gc", kb).stderr.startswith("Removed 0001 (")
    kbs.assert_whole(kb, 1)


def test_the_rdf_store_is_rebuilt_from_its_quads(rdf_kb: Path, tmp_path: Path) -> None:
    kb = tmp_path / "rdf.kb"
    shutil.copytree(rdf_kb, kb)
    query = "SELECT ?s ?p ?o { ?s ?p ?o } ORDER BY ?s ?p ?o"
    with kbkit.open(kb) as opened:
        before = opened.sparql(query).rows()
    done = here("build", kb, "triples")
    assert done.returncode == 0, done.stderr
    with kbkit.open(kb) as opened:
        assert opened.sparql(query).rows() == before
        assert [problem for _, problem in opened.check() if problem] == []


def test_another_analyzer_changes_what_matches(kb: Path) -> None:
    def hits() -> list[str]:
        with kbkit.open(kb) as opened:
            return opened.search("programming", mode="bm25")["key"].to_list()

    assert hits() == ["a"]  # stemmed, it matches "programs"
    rebuild(kb, "text", "--analyzer", "simple")
    assert hits() == []
    assert_shared(kb, "text")
    assert kbs.problems(kb) == []
    rebuild(kb, "vectors")  # and the analyzer stays what it was
    assert hits() == []
    rebuild(kb, "text")
    assert hits() == []


def test_another_embedder_is_the_one_that_queries_use(kb: Path, tmp_path: Path) -> None:
    model = kbs.small_model(tmp_path / "model")
    rebuild(kb, "vectors", "--embedder", f"model2vec:{model}")
    assert_shared(kb, "vectors")
    with kbkit.open(kb) as opened:
        assert opened.vectors.matrix.shape == (4, 32)
        assert opened.manifest.stores["vectors"].settings == {
            "embedder": f"model2vec:{model}", "dimension": 32, "query_prefix": "", "document_prefix": "",
            "relations": False, "chunk_words": 256, "chunk_overlap": 64, "chunk_characters": 0,
        }  # fmt: skip
    kbs.assert_whole(kb, 1)
    rebuild(kb, "text")
    rebuild(kb, "vectors")  # the recorded embedder again
    with kbkit.open(kb) as opened:
        assert opened.vectors.matrix.shape == (4, 32)
    rebuild(kb, "vectors", "--embedder", "static")
    with kbkit.open(kb) as opened:
        assert opened.vectors.matrix.shape == (4, 192)
    kbs.assert_whole(kb, 1)


def test_an_embedder_given_by_a_relative_path_is_found_from_elsewhere(kb: Path, tmp_path: Path) -> None:
    kbs.small_model(tmp_path / "model")
    done = here("build", kb, "vectors", "--embedder", "model2vec:model", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = here("search", kb, "first programs", "-m", "dense", "-k", "1", cwd=tmp_path.parent)
    assert (found.returncode, found.stderr) == (0, "")


def test_an_embedder_of_another_size_is_refused(kb: Path, tmp_path: Path) -> None:
    model = kbs.small_model(tmp_path / "model")
    rebuild(kb, "vectors", "--embedder", f"model2vec:{model}")
    with kbkit.open(kb) as opened:
        shipped = assets.model("static-minilm-192-int8")
        shutil.rmtree(model)
        shutil.copytree(shipped, model)
        with pytest.raises(kbkit.KbError, match=r"192 dimensions.* 32.*kbkit build KB vectors"):
            opened.search("first programs", mode="dense")
        assert opened.search("first programs", mode="bm25").height == 1


def test_an_embedder_that_is_gone_is_one_line(kb: Path, tmp_path: Path) -> None:
    model = kbs.small_model(tmp_path / "model")
    rebuild(kb, "vectors", "--embedder", f"model2vec:{model}")
    shutil.rmtree(model)
    failed = here("search", kb, "first programs")
    assert failed.returncode == 1
    assert str(model) in failed.stderr
    assert len(failed.stderr.splitlines()) == 1
    assert here("search", kb, "first programs", "-m", "bm25").returncode == 0


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        (("tables",), "tables"),
        (("vector",), "'vector' 'vectors'"),
        (("text", "--embedder", "static"), "--embedder vectors text"),
        (("vectors", "--analyzer", "simple"), "--analyzer text vectors"),
        (("text", "--chunk-words", "9"), "--chunk-words vectors text"),
        (("text", "--query-prefix", "q: "), "--query-prefix vectors text"),
        (("triples", "--with-relations"), "--with-relations text vectors triples"),
        (("text", "--analyzer", "klingon"), "'klingon'"),
        (("vectors", "--embedder", "model2vec:nowhere"), "model2vec nowhere"),
        (("vectors", "--embedder", "statik"), "'statik'"),
    ],
)
def test_an_invalid_rebuild(kb: Path, words: tuple[str, ...], facts: str) -> None:
    before = kbs.tree(kb)
    failed = here("build", kb, *words)
    assert failed.returncode == 1
    assert [fact for fact in facts.split() if fact not in failed.stderr] == []
    assert len(failed.stderr.splitlines()) == 1
    assert kbs.tree(kb) == before
    assert kbs.generations(kb) == ["0001"]


# -- check ------------------------------------------------------------------------------------------------------------


def found(kb: Path) -> dict[str, str]:
    """Problems that the command prints; it must fail when there are some."""
    done = here("check", kb, "-f", "json")
    rows = json.loads(done.stdout)
    assert [row["what"] for row in rows] == ["files", *STORES]
    wrong = {row["what"]: row["problem"] for row in rows if row["result"] != "ok"}
    assert done.returncode == bool(wrong)
    assert done.stderr == ""
    return wrong


def test_check_of_a_whole_kb(kb: Path) -> None:
    assert found(kb) == {}


def test_reading_changes_nothing_that_check_knows(kb: Path) -> None:
    kbs.answers(kb)
    assert here("sparql", kb, "-c", "ASK {}").returncode == 0
    assert found(kb) == {}


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 0x40
    path.write_bytes(data)


@pytest.mark.parametrize("store", first_some(list(STORES), 3))
def test_check_notices_a_flipped_byte(kb: Path, store: str) -> None:
    folder = kb / "generations" / "0001"
    manifest = Manifest.read(folder)
    sizes = {name: stat.st_size for name, stat in files(folder, store).items() if stat.st_size}
    for name, size in each(sizes.items()):
        flip(folder / name, size // 2)
        assert check_files(folder, manifest) == [f"{name} differs from its checksum"]
        last = name
        flip(folder / name, size // 2)
    assert check_files(folder, manifest) == []
    flip(folder / last, sizes[last] // 2)
    assert f"{last} differs from its checksum" in found(kb)["files"]


@pytest.mark.parametrize("store", first_some(list(STORES), 3))
def test_check_notices_a_missing_store(kb: Path, store: str) -> None:
    folder = kb / "generations" / "0001"
    path = folder / STORES[store]
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    wrong = found(kb)
    assert " is missing" in wrong["files"]
    assert wrong[store]


@pytest.mark.parametrize("store", first_some(list(STORES), 3))
def test_check_notices_a_missing_file(kb: Path, store: str) -> None:
    folder = kb / "generations" / "0001"
    name = max(files(folder, store).items(), key=lambda item: item[1].st_size)[0]
    (folder / name).unlink()
    assert found(kb)["files"] == f"{name} is missing"


@pytest.mark.parametrize("change", first_some(["cut", "emptied", "zeros", "a folder", "a link"], 3))
def test_check_lists_every_store_when_none_can_be_opened(kb: Path, tmp_path: Path, change: str) -> None:
    folder = kb / "generations" / "0001"
    for store in STORES:
        name, stat = max(files(folder, store).items(), key=lambda item: item[1].st_size)
        path = folder / name
        content = path.read_bytes()
        path.unlink()
        if change == "a folder":
            path.mkdir()
        elif change == "a link":
            (tmp_path / f"{store}.moved").write_bytes(content)
            path.symlink_to(tmp_path / f"{store}.moved")
        else:
            path.write_bytes({"cut": content[: stat.st_size // 2], "zeros": bytes(stat.st_size)}.get(change, b""))
    done = here("check", kb, "-f", "ndjson")
    assert (done.returncode, done.stderr) == (1, "")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["what"] for row in rows] == ["files", *STORES]
    assert {row["result"] for row in rows} == {"wrong"}
    for command in (
        ("sql", kb, "SELECT 1 FROM nodes"),
        ("search", kb, "node"),
        ("show", kb, "#1"),
        ("answers", kb, "*"),
    ):
        failed = here(*command)
        assert (failed.returncode, failed.stdout, failed.stderr.count("\n")) == (1, "", 1), (command, failed)
        assert "is a link" in failed.stderr if change == "a link" else "is damaged" in failed.stderr


@pytest.mark.parametrize("name", first_some(["stray", "text/stray", "triples/000099.sst", "adjacency/deep/stray"], 2))
def test_check_notices_a_stray_file(kb: Path, name: str) -> None:
    path = kb / "generations" / "0001" / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"")
    assert found(kb)["files"] == f"{name} is not in the manifest"


@pytest.mark.parametrize(
    ("where", "store"),
    [
        (("schema", "node_types", 0, "count"), "tables"),
        (("schema", "relations", 0, "edges"), "tables"),
        (("schema", "relations", 0, "pairs"), "triples"),
        (("stores", "vectors", "settings", "dimension"), "vectors"),
    ],
)
def test_check_notices_a_manifest_with_other_counts(kb: Path, where: tuple[str | int, ...], store: str) -> None:
    change_manifest(kb, where, lambda number: number + 1)
    assert found(kb).get(store)


@pytest.mark.parametrize(
    "where",
    [
        ("stores", "tables", "counts", "nodes"),
        ("stores", "text", "counts", "documents"),
        ("stores", "vectors", "counts", "vectors"),
        ("stores", "adjacency", "counts", "pairs"),
        ("stores", "triples", "counts", "triples"),
        ("schema", "text_fields", 0, "texts"),
        ("schema", "relations", 0, "signatures", 0, "edges"),
    ],
)
def test_check_notices_other_numbers_in_the_manifest(kb: Path, where: tuple[str | int, ...]) -> None:
    change_manifest(kb, where, lambda number: number + 1)
    assert found(kb)


def change_manifest(kb: Path, where: tuple[str | int, ...], change: Callable[[int], int]) -> None:
    path = kb / "generations" / "0001" / "manifest.json"
    data = json.loads(path.read_text())
    part = data
    for name in where[:-1]:
        part = part[name]
    part[where[-1]] = change(part[where[-1]])
    path.write_text(json.dumps(data))


@pytest.mark.parametrize("text", ["", "0009\n", "generations\n", "../..\n"])
def test_check_of_a_changed_current(kb: Path, text: str, wording: Wording) -> None:
    (kb / "CURRENT").write_text(text)
    failed = here("check", kb)
    assert (failed.returncode, failed.stdout) == (1, "")
    wording(failed.stderr, "cli", {str(kb): "KB"})


def test_check_notices_a_renamed_generation(kb: Path) -> None:
    (kb / "generations" / "0001").rename(kb / "generations" / "0005")
    (kb / "CURRENT").write_text("0005\n")
    assert found(kb)


def test_a_moved_kb_is_whole(kb: Path, tmp_path: Path) -> None:
    kb.rename(tmp_path / "elsewhere, with spaces and 'quotes'.kb")
    kbs.assert_whole(tmp_path / "elsewhere, with spaces and 'quotes'.kb", 1)


# -- read-only media --------------------------------------------------------------------------------------------------

READ_ONLY = """
mount --bind "$KB" "$MOUNT"
mount -o remount,bind,ro "$MOUNT"
if touch "$MOUNT/x" 2> /dev/null; then echo writable; fi
cd "$ROOT"
"$PYTHON" -c "$PROGRAM"
"""
# One process for all commands: most of what each costs is its imports.
PROGRAM = """
import json, os
from tests.console import here

from tests.wording import Wording

from kbkit import assets
for words in json.loads(os.environ["COMMANDS"]):
    done = here(*words)
    print(json.dumps([done.returncode, done.stdout, done.stderr]))
"""


def on_read_only_media(kb: Path, mount: Path, commands: list[tuple[str, ...]]) -> list[tuple[int, str, str]]:
    """What each command leaves: exit code, standard output, standard error; MOUNT in it is where the KB lies."""
    mount.mkdir()
    words = json.dumps([[word.replace("MOUNT", str(mount)) for word in command] for command in commands])
    done = kbs.in_namespace(READ_ONLY, KB=kb, MOUNT=mount, ROOT=ROOT, PROGRAM=PROGRAM, COMMANDS=words)
    assert (done.returncode, done.stderr) == (0, "")
    assert "writable" not in done.stdout
    left = [tuple(json.loads(line)) for line in done.stdout.splitlines()]
    assert len(left) == len(commands)
    return left


READING = {
    ("sql", "MOUNT", "-c", "SELECT name FROM person WHERE key = 'a'", "-f", "ndjson"): '{"name":"Ada v1"}\n',
    ("sparql", "MOUNT", "-c", "SELECT ?name { person:a rdfs:label ?name }", "-f", "ndjson"): '{"name":"Ada v1"}\n',
    ("search", "MOUNT", "first programs", "-k", "1", "-m", "bm25", "-f", "ndjson"): '"name":"Ada v1"',
    ("search", "MOUNT", "first programs", "-k", "1", "-m", "dense", "-f", "ndjson"): '"name":"Ada v1"',
    ("search", "MOUNT", "first programs", "-k", "1", "-f", "ndjson"): '"name":"Ada v1"',
    ("show", "MOUNT", "person#a", "-f", "json"): '"name": "Ada v1"',
    ("info", "MOUNT", "-f", "json"): '"nodes": 4,',
    ("check", "MOUNT", "-f", "ndjson"): '{"what":"vectors","result":"ok","problem":""}\n',
}


@pytest.mark.system
def test_reading_works_on_read_only_media(kb: Path, tmp_path: Path) -> None:
    left = on_read_only_media(kb, tmp_path / "mount", list(READING))
    for (words, answer), (code, output, errors) in zip(READING.items(), left, strict=True):
        assert (code, errors) == (0, ""), words
        assert answer in output, words


@pytest.mark.system
def test_writing_to_read_only_media_is_one_line(kb: Path, tmp_path: Path) -> None:
    writing = [("gc", "MOUNT"), ("build", "MOUNT", "text"), ("ingest", "world", "--replace", "-o", "MOUNT")]
    for code, _, errors in on_read_only_media(kb, tmp_path / "mount", writing):
        assert code == 1
        assert errors.startswith("kbkit: ")
        assert "Read-only file system" in errors
        assert len(errors.splitlines()) == 1
