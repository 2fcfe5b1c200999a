"""Bad input, each as a whole command: one line that says what is wrong and where, and nothing left behind."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import kbkit
from tests.conftest import Run
from tests.kbs import mentions
from tests.wording import Wording

NODES = "key,type,name\na,x,Ann\nb,x,Bob\nc,y,Cid\n"
EDGES = "head,relation,tail\na,knows,b\nb,knows,c\n"

Files = dict[str, str | bytes]


def write(folder: Path, files: Files) -> None:
    """Write files; a name that ends in .gz compresses what is text."""
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        data = content.encode() if isinstance(content, str) else content
        (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") and isinstance(content, str) else data)


@pytest.fixture
def one_line(here: Run) -> Callable[..., str]:
    """Run a command that must be refused: exit code 1, nothing on standard output, one line on standard error.

    Returns that line without ``kbkit: ``.
    """

    def call(*args: object) -> str:
        done = here(*args)
        err = done.stderr
        assert done.returncode == 1, err
        assert done.stdout == ""
        assert len(err.splitlines()) == 1, err
        assert err.startswith("kbkit: ")
        assert "Traceback" not in err
        return err.removeprefix("kbkit: ").rstrip("\n")

    return call


@pytest.fixture
def refused(one_line: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Run ``kbkit *args --out my.kb`` beside a folder ``src`` of ``files``; the one line that refuses it.

    Nothing is left of the KB that was to be.
    """
    monkeypatch.chdir(tmp_path)

    def call(*args: str, files: Files | None = None) -> str:
        write(tmp_path / "src", files or {})
        message = one_line(*args, "-o", "my.kb")
        assert not (tmp_path / "my.kb").exists()
        return message

    return call


@pytest.mark.core
def test_a_refused_build_leaves_no_directory(here: Run, tmp_path: Path, wording: Wording) -> None:
    write(tmp_path / "src", {"nodes.csv": "key\na\na\n", "edges.csv": "head,relation,tail\n"})
    done = here("ingest", "table", "src", "-o", "my.kb", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout == ""
    wording(mentions(done.stderr, "'a' | --merge-duplicates"), "cli", replace={str(tmp_path): "DIR"})
    assert not (tmp_path / "my.kb").exists()


TABLE_READS = (
    "nodes: nodes.* or node.* or *nodes.* or *nodes*; edges: edges.* or edge.* or *edges.* or *edges*;"
    " texts (optional): texts.* or text.* or *texts.* or *texts*"
)


# -- files ------------------------------------------------------------------------------------------------------------


def test_a_path_that_does_not_exist(refused: Callable[..., str], wording: Wording) -> None:
    wording(mentions(refused("ingest", "table", "nowhere"), "nowhere"), "cli")
    wording(mentions(refused("ingest", "table", "--file", "nodes=nowhere.csv"), "nowhere.csv"), "cli")


def test_a_missing_file(refused: Callable[..., str], wording: Wording) -> None:
    message = refused("ingest", "table", "src", files={"nodes.csv": NODES})
    wording(mentions(message, f"'edges' | {TABLE_READS}"), "cli")


def test_an_empty_file(refused: Callable[..., str], wording: Wording) -> None:
    message = refused("ingest", "table", "src", files={"nodes.csv": NODES, "edges.csv": ""})
    wording(mentions(message, "src/edges.csv"), "cli")


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "jsonl", "jsonl.gz"])
def test_a_file_without_content(refused: Callable[..., str], ending: str) -> None:
    message = refused("ingest", "table", "src", files={f"nodes.{ending}": "\n", "edges.csv": EDGES})
    assert f"src/nodes.{ending}" in message


def test_files_that_hold_no_node(refused: Callable[..., str], wording: Wording) -> None:
    message = refused("ingest", "table", "src", files={"nodes.csv": "key,type\n", "edges.csv": "head,relation,tail\n"})
    wording(mentions(message, "No node | kbkit recipe list"), "cli")
    assert refused("ingest", "rdf", "src/a.nt", files={"a.nt": "# nothing\n"}) == message


def test_a_file_that_the_recipe_does_not_know(refused: Callable[..., str], wording: Wording) -> None:
    files: Files = {"nodes.csv": NODES, "edges.csv": EDGES, "more.csv": "x\n"}
    message = refused("ingest", "table", "src/nodes.csv", "src/edges.csv", "src/more.csv", files=files)
    wording(mentions(message, f"src/more.csv | {TABLE_READS}"), "cli")


def test_several_files_that_fit(refused: Callable[..., str], wording: Wording) -> None:
    files: Files = {"nodes.csv": NODES, "nodes.tsv": "key\n", "edges.csv": EDGES}
    message = refused("ingest", "table", "src", files=files)
    wording(mentions(message, "'nodes' | nodes.csv | nodes.tsv | --file nodes=PATH"), "cli")


def test_a_directory_where_a_file_is_wanted(refused: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "dir.csv").mkdir()
    message = refused(
        "ingest", "table", "src", "--file", "nodes=dir.csv", files={"nodes.csv": NODES, "edges.csv": EDGES}
    )
    assert "dir.csv" in message
    assert "directory" in message.lower()


def test_an_unknown_ending(refused: Callable[..., str], wording: Wording) -> None:
    message = refused("ingest", "table", "src", files={"nodes.xls": "?", "edges.csv": EDGES})
    endings = ".csv | .json | .jsonl | .parquet | .sqlite | .tsv | .xlsx"
    wording(mentions(message, f"{endings}"), "cli")


# -- columns ----------------------------------------------------------------------------------------------------------


def test_a_missing_column_is_named_with_those_that_are_there(refused: Callable[..., str], wording: Wording) -> None:
    files: Files = {"nodes.csv": NODES, "edges.csv": "begin,relation,finish\na,knows,b\n"}
    message = refused("ingest", "table", "src", files=files)
    wording(mentions(message, "src/edges.csv | 'head' | 'subject'"), "cli")
    wording(mentions(message, "--column"), "cli")


@pytest.mark.parametrize("ending", ["tsv", "jsonl", "parquet"])
def test_a_missing_column_in_other_formats(
    refused: Callable[..., str], ending: str, tmp_path: Path, wording: Wording
) -> None:
    files: Files = {"edges.csv": EDGES}
    if ending == "parquet":
        import polars as pl

        (tmp_path / "src").mkdir()
        pl.DataFrame({"code": ["a"], "name": ["Ann"]}).write_parquet(tmp_path / "src" / "nodes.parquet")
    else:
        files[f"nodes.{ending}"] = {"tsv": "code\tname\na\tAnn\n", "jsonl": '{"code": "a", "name": "Ann"}\n'}[ending]
    message = refused("ingest", "table", "src", files=files)
    wording(mentions(message, f"{ending} | 'key' | 'id'"), "cli", replace={str(tmp_path): "DIR"})
    wording(mentions(message, "--column"), "cli", replace={str(tmp_path): "DIR"})


def test_a_column_said_that_is_not_there(refused: Callable[..., str], wording: Wording) -> None:
    files: Files = {"nodes.csv": NODES, "edges.csv": EDGES}
    message = refused("ingest", "table", "src", "--column", "head=von", files=files)
    wording(mentions(message, "src/edges.csv | 'von' | --column head=NAME"), "cli")


def test_a_column_twice(refused: Callable[..., str], wording: Wording) -> None:
    message = refused("ingest", "table", "src", files={"nodes.csv": "key,Key\na,b\n", "edges.csv": EDGES})
    wording(mentions(message, "src/nodes.csv | line 1 | 'key'"), "cli")


# -- graphs that do not fit together ----------------------------------------------------------------------------------

DANGLING = EDGES + "z,knows,b\na,likes,y\n1,r,2\n3,r,a\n4,r,a\n5,r,a\n"


def test_edges_to_unknown_nodes_are_counted_and_the_first_five_shown(
    refused: Callable[..., str], wording: Wording
) -> None:
    message = refused("ingest", "table", "src", files={"nodes.csv": NODES, "edges.csv": DANGLING})
    wording(mentions(message, "6 | 'z' | 'b' | 'a' | 'y' | '1' | '2' | '3' | '4' | --skip-dangling"), "cli")


def test_dropped_edges_are_counted_in_the_singular_and_not_those_in_both_directions(here: Run, tmp_path: Path) -> None:
    """Given in both directions, an edge of a symmetric relation is no duplicate."""
    edges = "head,relation,tail\na,near,b\nb,near,a\na,r,b\na,r,b\n"
    write(tmp_path / "src", {"nodes.csv": "key\na\nb\n", "edges.csv": edges})
    done = here("ingest", "table", "src", "-o", "my.kb", "--stores", "adjacency", "--symmetric", "near", cwd=tmp_path)
    assert done.stderr.splitlines()[-2:] == [
        "  1 duplicate edge dropped",
        "  1 edge of symmetric relations given in both directions",
    ]


def test_a_folder_without_tables_names_the_formats_to_convert(refused: Callable[..., str]) -> None:
    message = refused("ingest", "src", files={"readme.md": "?", "club.ics": "BEGIN:VCALENDAR", "people.vcf": "?"})
    assert "No tables in src. Convert .ics, .vcf files to CSV or JSON" in message


def test_an_edited_recipe_of_another_folder(here: Run, tmp_path: Path) -> None:
    """The hint is a command that works, without ./ before ../"""
    write(tmp_path / "src", {"people.csv": "ssn,name\n1,Ann\n2,Bob\n"})
    (tmp_path / "here").mkdir()
    arguments = ("ingest", "../src/people.csv", "-o", "../my kb.kb", "--stores", "adjacency")
    assert here(*arguments, cwd=tmp_path / "here").returncode == 0
    recipe = tmp_path / "my kb.recipe" / "load.sql"
    recipe.write_text(recipe.read_text(encoding="utf-8") + "-- mine\n", encoding="utf-8")
    message = here(*arguments, "--replace", cwd=tmp_path / "here").stderr
    assert "Use kbkit ingest '../my kb.recipe' FILES to load with it" in message


def test_skip_dangling_leaves_edges_and_texts_out_and_says_how_many(here: Run, tmp_path: Path) -> None:
    texts = "key,text\na,words\nq,of nobody\nr,of nobody else\n"
    write(tmp_path / "src", {"nodes.csv": NODES, "edges.csv": DANGLING, "texts.csv": texts})
    done = here("ingest", "table", "src", "-o", "my.kb", "--stores", "text", "--skip-dangling", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    summary = done.stderr.splitlines()[-3:]
    assert summary[0].startswith("my.kb: 3 nodes of 2 types, 2 edges of 1 relation, 1 text; ")
    assert summary[1:] == ["  6 edges to unknown nodes skipped", "  2 texts of unknown nodes skipped"]
    with kbkit.open(tmp_path / "my.kb") as kb:
        assert (kb.schema.edges, [f.texts for f in kb.schema.text_fields]) == (2, [1])


def test_texts_of_unknown_nodes(refused: Callable[..., str], wording: Wording) -> None:
    texts = "key,text\na,words\n" + "".join(f"q{n},words\n" for n in range(7))
    message = refused("ingest", "table", "src", files={"nodes.csv": NODES, "edges.csv": EDGES, "texts.csv": texts})
    wording(mentions(message, "7 | 'q0' | 'q1' | 'q2' | 'q3' | 'q4' | --skip-dangling"), "cli")


TWICE = NODES + "".join(f"{key},x,again\n" for key in ("a", "b", "b"))


def test_the_same_key_twice(refused: Callable[..., str], wording: Wording) -> None:
    message = refused("ingest", "table", "src", files={"nodes.csv": TWICE, "edges.csv": EDGES})
    wording(mentions(message, "2 | 'a' | 'b' | --merge-duplicates"), "cli")
    many = "key,type\n" + "".join(f"k{n},x\n" for n in range(9)) * 2
    message = refused("ingest", "table", "src", files={"nodes.csv": many, "edges.csv": EDGES})
    wording(mentions(message, "9 | 'k0' | 'k1' | 'k2' | 'k3' | 'k4' | --merge-duplicates"), "cli")


def test_merge_duplicates_says_how_many_rows(here: Run, tmp_path: Path, wording: Wording) -> None:
    write(tmp_path / "src", {"nodes.csv": TWICE, "edges.csv": EDGES})
    done = here("ingest", "table", "src", "-o", "my.kb", "--stores", "text", "--merge-duplicates", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = "\n".join(done.stderr.splitlines()[-2:])
    wording(mentions(said, "3 | name"), "cli", replace={str(tmp_path): "DIR"})
    with kbkit.open(tmp_path / "my.kb") as kb:
        assert kb.sql("SELECT key, name FROM nodes ORDER BY id").rows() == [("a", "Ann"), ("b", "Bob"), ("c", "Cid")]


def test_a_key_of_several_types(refused: Callable[..., str], wording: Wording) -> None:
    nodes = NODES + "a,y,another\n"
    message = refused("ingest", "table", "src", files={"nodes.csv": nodes, "edges.csv": EDGES})
    wording(mentions(message, "'a' | 'head_type'"), "cli")
    edges = "head,relation,tail\nb,knows,a\n"
    message = refused("ingest", "table", "src", files={"nodes.csv": nodes, "edges.csv": edges})
    wording(mentions(message, "'a' | 'tail_type'"), "cli")


def test_an_edge_without_a_relation(refused: Callable[..., str], wording: Wording) -> None:
    files: Files = {"nodes.csv": NODES, "edges.csv": "head,relation,tail\na,knows,b\nb,,c\n"}
    wording(mentions(refused("ingest", "table", "src", files=files), "2"), "cli")


def test_a_node_without_a_key(refused: Callable[..., str], wording: Wording) -> None:
    files: Files = {"nodes.csv": NODES + ",x,nobody\n,x,no one\n", "edges.csv": EDGES}
    message = refused("ingest", "table", "src", files=files)
    wording(mentions(message, "2 | 4"), "cli")


# -- broken lines -----------------------------------------------------------------------------------------------------

LATIN = "key,type,name\na,x,Ann\nb,x,Björn\nc,y,Cid\n".encode("latin-1")


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("nodes.csv", LATIN, 3),
        ("nodes.csv.gz", gzip.compress(LATIN, mtime=0), 3),
        ("nodes.tsv", LATIN.replace(b",", b"\t"), 3),
        ("nodes.csv", b"key,n\xe4me\na,Ann\n", 1),
        ("nodes.csv", NODES.encode() + b"d,x,Dan\n" * 2_000 + b"e,x,Bj\xf6rn\n" + b"f,x,Fay\n" * 9_000, 2_005),
    ],
    ids=["csv", "csv.gz", "tsv", "header", "far down"],
)
def test_invalid_utf8_in_tables(
    refused: Callable[..., str], name: str, content: bytes, line: int, wording: Wording
) -> None:
    message = refused("ingest", "table", "src", files={name: content, "edges.csv": EDGES})
    wording(mentions(message, f"{name} | {line} | 8"), "cli")


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz"])
def test_invalid_utf8_in_json_lines(refused: Callable[..., str], ending: str, wording: Wording) -> None:
    content = b'{"key": "a"}\n{"key": "\xf6"}\n{"key": "c"}\n'
    content = gzip.compress(content) if ending.endswith("gz") else content
    message = refused("ingest", "table", "src", files={f"nodes.{ending}": content, "edges.csv": EDGES})
    wording(mentions(message, f"{ending} | line 2"), "cli")


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("nodes.csv", NODES + "d,x,Dan,4\n", "line 5 | 4 | 3"),
        ("nodes.csv", NODES + "d,x\n", "line 5 | 2 | 3"),
        ("nodes.csv.gz", NODES + "d,x\n", "line 5 | 2 | 3"),
        ("nodes.tsv", NODES.replace(",", "\t") + "d\tx\n", "line 5 | 2 | 3"),
        ("nodes.csv", NODES + 'd,x,"Dan\n', "line 5"),
        ("nodes.csv", NODES + 'd,x,"Dan"iel\ne,x,Eve\n', "line 5"),
    ],
    ids=["too many", "too few", "gz", "tsv", "open quote", "text after a quote"],
)
def test_broken_lines_of_tables(
    refused: Callable[..., str], name: str, content: str, expected: str, wording: Wording
) -> None:
    message = refused("ingest", "table", "src", files={name: content, "edges.csv": EDGES})
    wording(mentions(message, f"{name} | {expected}"), "cli")


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz"])
def test_broken_lines_of_json(refused: Callable[..., str], ending: str, wording: Wording) -> None:
    content = '{"key": "a"}\n{"key" "b"}\n{"key": "c"}\n'
    message = refused("ingest", "table", "src", files={f"nodes.{ending}": content, "edges.csv": EDGES})
    wording(mentions(message, f"{ending} | line 2"), "cli")


def test_broken_json_names_the_file_at_least(refused: Callable[..., str], wording: Wording) -> None:
    content = '{"key": "a"}\n{"key" "b"}\n{"key": "c"}\n'
    message = refused("ingest", "table", "src", files={"nodes.jsonl": content, "edges.csv": EDGES})
    wording(mentions(message, "src/nodes.jsonl"), "cli")


def test_broken_lines_of_triples(refused: Callable[..., str], wording: Wording) -> None:
    message = refused("ingest", "triples", "src", files={"train.tsv": "a\tr\tb\nb\tr\n"})
    wording(mentions(message, "src/train.tsv | line 2 | 3"), "cli")
    message = refused("ingest", "triples", "src", files={"train.tsv": b"a\tr\tb\nb\tr\t\xf6\n"})
    wording(mentions(message, "src/train.tsv | line 2 | 8"), "cli")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("nodes.csv.gz", b"this is not gzip"),
        ("nodes.csv.gz", gzip.compress(NODES.encode() * 9_000, mtime=0)[:200]),
        ("nodes.parquet", b"PAR1 and then nothing of the kind"),
    ],
    ids=["no gzip", "cut gzip", "parquet"],
)
def test_files_that_are_not_what_they_say(
    refused: Callable[..., str], name: str, content: bytes, wording: Wording
) -> None:
    message = refused("ingest", "table", "src", files={name: content, "edges.csv": EDGES})
    wording(mentions(message, f"{name}"), "cli")


def test_garbage_parquet_is_named(refused: Callable[..., str]) -> None:
    message = refused("ingest", "table", "src", files={"nodes.parquet": b"PAR1 nothing", "edges.csv": EDGES})
    assert "src/nodes.parquet" in message


NT = "<http://e.org/a> <http://e.org/p> <http://e.org/b> .\n"


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("a.nt", NT + "<http://e.org/a> <http://e.org/p> .\n", 2),
        ("a.nq", NT + NT + '<http://e.org/a> <http://e.org/p> "x .\n', 3),
        ("a.ttl", "@prefix : <http://e.org/> .\n:a :p :b .\n:a q:r :b .\n", 3),
        ("a.trig", "@prefix : <http://e.org/> .\n:g { :a :p :b .\n:a p }\n", 3),
        ("a.nt.gz", NT + "<http://e.org/a> <http://e.org/p> .\n", 2),
        ("a.jsonld", '{"@id": "http://e.org/a",\n "http://e.org/p": }\n', 2),
        ("a.nt", NT.encode() + b'<http://e.org/a> <http://e.org/p> "\xff" .\n', 2),
        ("a.ttl", b'@prefix : <http://e.org/> .\n:a :p "\xff" .\n', 2),
    ],
    ids=["nt", "nq", "ttl", "trig", "gz", "jsonld", "nt utf-8", "ttl utf-8"],
)
def test_broken_rdf_names_file_and_line(
    refused: Callable[..., str], name: str, content: str | bytes, line: int, wording: Wording
) -> None:
    message = refused("ingest", "rdf", "src", files={name: content})
    wording(mentions(message, f"{name}, line {line}"), "cli")
    assert "Python" not in message


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.rdf", "<rdf:RDF\n"), ("a.nt.gz", b"no gzip"), ("a.nt.gz", gzip.compress(NT.encode() * 999, mtime=0)[:60])],
    ids=["xml", "no gzip", "cut gzip"],
)
def test_broken_rdf_without_lines_names_the_file(refused: Callable[..., str], name: str, content: str | bytes) -> None:
    message = refused("ingest", "rdf", "src", files={name: content})
    assert f"src/{name}" in message
    assert "None" not in message


def test_rdf_of_an_unknown_ending_and_quoted_triples(refused: Callable[..., str], wording: Wording) -> None:
    message = refused("ingest", "rdf", "src/a.foo", files={"a.foo": NT})
    endings = ".json, .jsonld, .n3, .nq, .nt, .owl, .rdf, .trig, .ttl, .xml"
    wording(mentions(message, f"{endings}"), "cli")
    star = "@prefix : <http://e.org/> .\n:a :p << :b :q :c >> .\n"
    message = refused("ingest", "rdf", "src/a.ttl", files={"a.ttl": star})
    mentions(message, "src/a.ttl | <http://e.org/b> <http://e.org/q> <http://e.org/c> | RDF-star")


# -- unknown names ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (
            ("tabel", "src"),
            "'tabel' | 'table'",
        ),
        (("triples", "src", "--set", "lables=x"), "'lables' | 'labels'"),
        (("triples", "src", "--set", "labels=nam"), "'nam' | 'name'"),
        (("triples", "src", "--set", "labels"), "--set | 'labels'"),
        (("table", "src", "--column", "haed=x"), "'haed' | 'head'"),
        (
            ("table", "src", "--file", "node=src/nodes.csv"),
            "'node' | 'nodes'",
        ),
        (("table", "src", "--embedder", "statik"), "'statik' | 'static'"),
        (("table", "src", "--analyzer", "englisch"), "'englisch' | 'english'"),
    ],
)
def test_unknown_names_of_ingest(
    refused: Callable[..., str], args: tuple[str, ...], expected: str, wording: Wording
) -> None:
    files: Files = {"nodes.csv": NODES, "edges.csv": EDGES}
    wording(mentions(refused("ingest", *args, files=files), expected), "cli")


def test_unknown_names_of_other_commands(one_line: Callable[..., str], tiny_kb: Path, wording: Wording) -> None:
    kb = tiny_kb
    wording(mentions(one_line("build", kb, "vectores"), "'vectores' | 'vectors'"), "cli")
    wording(mentions(one_line("search", kb, "x", "--type", "drugs"), "'drugs' | 'drug'"), "cli")
    wording(mentions(one_line("show", kb, "p2", "-r", "take"), "'take' | 'takes'"), "cli")
    message = one_line("show", kb, "BRCA2")
    wording(mentions(message, "'BRCA2'"), "cli")
    assert "'BRCA1'" in message
    message = one_line("sql", kb, "-c", "SELECT 1", "-f", "jsn")
    wording(mentions(message, "'jsn'"), "cli")
    assert "'json'" in message
    message = one_line("search", kb, "x", "--mode", "hybird")
    wording(mentions(message, "'hybird' | 'hybrid'"), "cli")
    wording(mentions(one_line("recipe", "show", "imbd"), "'imbd'"), "cli")


def test_a_query_file_that_is_not_there(one_line: Callable[..., str], tiny_kb: Path) -> None:
    for command, name in (("sql", "graph/nowhere"), ("sparql", "graph/nowhere")):
        assert "nowhere" in one_line(command, tiny_kb, name)


# -- directories ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "args",
    [("info",), ("sql", "-c", "SELECT 1"), ("build", "text"), ("gc",)],
)
def test_a_directory_that_is_no_kb(
    one_line: Callable[..., str], tmp_path: Path, args: tuple[str, ...], wording: Wording
) -> None:
    command, *rest = args
    (tmp_path / "file").write_text("x")
    wording(
        mentions(one_line(command, tmp_path, *rest), f"{tmp_path} | CURRENT"), "cli", replace={str(tmp_path): "DIR"}
    )
    wording(
        mentions(one_line(command, tmp_path / "nowhere", *rest), f"{tmp_path / 'nowhere'}"),
        "cli",
        replace={str(tmp_path): "DIR"},
    )
    wording(
        mentions(one_line(command, tmp_path / "file", *rest), f"{tmp_path / 'file'}"),
        "cli",
        replace={str(tmp_path): "DIR"},
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


def test_a_kb_of_a_newer_version(one_line: Callable[..., str], tiny_kb: Path, tmp_path: Path, wording: Wording) -> None:
    copy = tmp_path / "new.kb"
    shutil.copytree(tiny_kb, copy)
    path = copy / "generations" / "0001" / "manifest.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**data, "format": data["format"] + 1, "novelty": {}}), encoding="utf-8")
    for args in (("info", copy), ("sql", copy, "-c", "SELECT 1"), ("build", copy, "text")):
        message = mentions(one_line(*args), f"{path.parent} | {data['format'] + 1} | {data['format']}")
        wording(message, "cli", replace={str(tmp_path): "DIR"})


@pytest.mark.parametrize("content", ["", "[]", "{}", "\udcff"])
def test_a_broken_manifest(
    one_line: Callable[..., str], tiny_kb: Path, tmp_path: Path, content: str, wording: Wording
) -> None:
    copy = tmp_path / "broken.kb"
    shutil.copytree(tiny_kb, copy)
    path = copy / "generations" / "0001" / "manifest.json"
    path.write_text(content, encoding="utf-8", errors="surrogateescape")
    message = one_line("info", copy)
    wording(mentions(message, f"{path}"), "cli", replace={str(tmp_path): "DIR"})


@pytest.mark.parametrize("content", ["", "0009\n", "../../elsewhere\n"])
def test_a_broken_current(one_line: Callable[..., str], tiny_kb: Path, tmp_path: Path, content: str) -> None:
    copy = tmp_path / "broken.kb"
    shutil.copytree(tiny_kb, copy)
    (copy / "CURRENT").write_text(content)
    assert str(copy) in one_line("info", copy)


def test_an_out_directory_that_holds_other_files(here: Run, tmp_path: Path, wording: Wording) -> None:
    write(tmp_path / "src", {"nodes.csv": NODES, "edges.csv": EDGES})
    out = tmp_path / "mine"
    write(out, {"thesis.tex": "years of work"})
    done = here("ingest", "table", "src", "-o", "mine", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    wording(mentions(done.stderr, "mine | thesis.tex"), "cli", replace={str(tmp_path): "DIR"})
    replace = here("ingest", "table", "src", "-o", "mine", "--replace", cwd=tmp_path)
    assert (replace.returncode, replace.stderr) == (done.returncode, done.stderr)
    assert [path.name for path in out.iterdir()] == ["thesis.tex"]
    done = here("ingest", "table", "src", "-o", "mine/thesis.tex", cwd=tmp_path)
    assert done.returncode == 1
    wording(mentions(done.stderr, "mine/thesis.tex"), "cli", replace={str(tmp_path): "DIR"})
    assert (out / "thesis.tex").read_text() == "years of work"


def test_an_empty_out_directory_will_do(here: Run, tmp_path: Path) -> None:
    write(tmp_path / "src", {"nodes.csv": NODES, "edges.csv": EDGES})
    (tmp_path / "my.kb").mkdir()
    done = here("ingest", "table", "src", "-o", "my.kb", "--stores", "text", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder; locks come and go with readers and builders."""
    files = (path for path in folder.rglob("*") if path.is_file() and "lock" not in path.name.lower())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files if path.name != "LOG"}


@pytest.mark.parametrize(
    ("args", "files", "expected"),
    [
        (
            ("ingest", "table", "src"),
            {"nodes.csv": NODES, "edges.csv": EDGES},
            "my.kb | --replace",
        ),
        (
            ("ingest", "table", "src", "--replace"),
            {"nodes.csv": TWICE, "edges.csv": EDGES},
            "2 | x 'a' | x 'b' | --merge-duplicates",
        ),
        (("ingest", "table", "src", "--replace"), {"nodes.csv": NODES, "edges.csv": ""}, "src/edges.csv | empty"),
        (
            ("ingest", "table", "src", "--replace", "--analyzer", "klingon"),
            {"nodes.csv": NODES, "edges.csv": EDGES},
            "klingon",
        ),
    ],
    ids=["no --replace", "duplicates", "empty file", "analyzer"],
)
def test_a_refused_build_leaves_the_kb_as_it_was(
    here: Run, tmp_path: Path, tiny_kb: Path, args: tuple[str, ...], files: Files, expected: str, wording: Wording
) -> None:
    out = tmp_path / "my.kb"
    shutil.copytree(tiny_kb, out)
    before = tree(out)
    write(tmp_path / "src", files)
    done = here(*args, "-o", "my.kb", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("kbkit: ")
    assert len(done.stderr.splitlines()) == 1
    wording(mentions(done.stderr, expected), "cli")
    assert tree(out) == before
    with kbkit.open(out) as kb:
        assert kb.sql("SELECT count(*) FROM nodes").item() == 12
        assert kb.search("insulin", k=1, mode="bm25")["key"].to_list() == ["g3"]
        assert [problem for _, problem in kb.check() if problem] == []


# -- recipes ----------------------------------------------------------------------------------------------------------

TOML = 'title = "t"\n[files.people]\nmatch = ["people.csv"]\n'
SQL = (
    "CREATE TABLE nodes AS SELECT id AS key FROM people;"
    "CREATE TABLE edges AS SELECT id AS head, 'r' AS relation, id AS tail FROM people;"
)


@pytest.mark.parametrize(
    ("toml", "sql", "expected"),
    [
        ("title = \n", SQL, "mine/recipe.toml | line 1 | 9"),
        (TOML + 'mach = ["x"]\n', SQL, "mine/recipe.toml | 'mach' | 'match'"),
        ('titel = "x"\n' + TOML, SQL, "mine/recipe.toml | 'titel' | 'title'"),
        ('licence = "x"\n[files.a]\nmatch = []\n', SQL, "mine/recipe.toml"),
        ('title = "x"\n', SQL, "mine/recipe.toml"),
        (TOML + "[relations.r]\nsymetric = true\n", SQL, "mine/recipe.toml | 'symetric'"),
        (TOML, "CREATE TABLE nodes AS SELEC 1", "mine/load.sql"),
        (TOML, "CREATE TABLE nodes AS SELECT nam AS key FROM people", "mine/load.sql"),
        (TOML, "CREATE TABLE nodes AS SELECT id AS key FROM peple", "mine/load.sql"),
        (TOML, "SELECT 1", "mine/load.sql | 'nodes'"),
        (TOML, SQL.replace("id AS key", "id"), "mine/load.sql | 'nodes' | 'key'"),
        (
            TOML,
            SQL.replace("'r' AS relation, ", ""),
            "mine/load.sql | 'edges' | 'relation'",
        ),
        (TOML, SQL + "SELECT * FROM read_csv('/etc/passwd');", "mine/load.sql"),
        (TOML, SQL + "COPY nodes TO 'stolen.csv';", "mine/load.sql"),
        (TOML + 'reader = "csv"\n', SQL, "'csv'"),
        (TOML + 'format = "cvs"\n', SQL, "'cvs' | files.people | 'csv'"),
        ('title = "t"\n[files.people]\n', SQL, "mine/recipe.toml"),
    ],
)
def test_a_recipe_that_is_wrong(
    refused: Callable[..., str], tmp_path: Path, toml: str, sql: str, expected: str, wording: Wording
) -> None:
    write(tmp_path / "mine", {"recipe.toml": toml, "load.sql": sql})
    message = refused("ingest", "./mine", "src", files={"people.csv": "id,name\n1,Ann\n"})
    wording(mentions(message, expected), "cli", replace={str(tmp_path): "DIR"})
    assert not (tmp_path / "stolen.csv").exists()


@pytest.mark.parametrize(
    "toml",
    [
        TOML + "required = 1\n",
        TOML + 'names = "x"\n',
        'title = "t"\nfiles = 3\n',
        TOML + "[types]\nx = 1\n",
        TOML + "[texts.bio]\nweight = 'big'\n",
        'title = "t"\n[files.people]\nmatch = "people.csv"\n',
    ],
)
def test_a_value_of_the_wrong_kind_in_a_recipe(
    refused: Callable[..., str], tmp_path: Path, toml: str, wording: Wording
) -> None:
    write(tmp_path / "mine", {"recipe.toml": toml, "load.sql": SQL})
    message = refused("ingest", "./mine", "src", files={"people.csv": "id,name\n1,Ann\n"})
    wording(mentions(message, "mine/recipe.toml"), "cli", replace={str(tmp_path): "DIR"})


def test_a_folder_that_is_no_recipe(refused: Callable[..., str], tmp_path: Path, wording: Wording) -> None:
    write(tmp_path / "mine", {"notes.txt": "x"})
    message = refused("ingest", "./mine")
    wording(mentions(message, "No rows in notes"), "cli", replace={str(tmp_path): "DIR"})
    write(tmp_path / "mine", {"recipe.toml": TOML})
    message = refused("ingest", "./mine", "src", files={"people.csv": "id\n1\n"})
    wording(mentions(message, "load.sql"), "cli", replace={str(tmp_path): "DIR"})
