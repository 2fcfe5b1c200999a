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


def test_a_refused_build_leaves_no_directory(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "src", {"nodes.csv": "key\na\na\n", "edges.csv": "head,relation,tail\n"})
    done = run("ingest", "table", "src", "-o", "my.kb", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == "kbkit: 1 key more than once: entity 'a'; --merge-duplicates makes one node of each\n"
    assert not (tmp_path / "my.kb").exists()


TABLE_READS = (
    "it reads nodes: nodes.* or node.* or *nodes.* or *nodes*; edges: edges.* or edge.* or *edges.* or *edges*;"
    " texts (optional): texts.* or text.* or *texts.* or *texts*; --file NAME=PATH names one"
)


# -- files ------------------------------------------------------------------------------------------------------------


def test_a_path_that_does_not_exist(refused: Callable[..., str]) -> None:
    assert refused("ingest", "table", "nowhere") == "nowhere does not exist"
    assert refused("ingest", "table", "--file", "nodes=nowhere.csv") == "nowhere.csv does not exist"


def test_a_missing_file(refused: Callable[..., str]) -> None:
    message = refused("ingest", "table", "src", files={"nodes.csv": NODES})
    assert message == f"found no file for 'edges' of recipe table; {TABLE_READS}"


def test_an_empty_file(refused: Callable[..., str]) -> None:
    message = refused("ingest", "table", "src", files={"nodes.csv": NODES, "edges.csv": ""})
    assert message == "src/edges.csv is empty"


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "jsonl", "jsonl.gz"])
def test_a_file_without_content(refused: Callable[..., str], ending: str) -> None:
    message = refused("ingest", "table", "src", files={f"nodes.{ending}": "\n", "edges.csv": EDGES})
    assert message.startswith(f"src/nodes.{ending}")


def test_files_that_hold_no_node(refused: Callable[..., str]) -> None:
    message = refused("ingest", "table", "src", files={"nodes.csv": "key,type\n", "edges.csv": "head,relation,tail\n"})
    assert message == "the source holds no node; see kbkit recipes for what it should hold"
    message = refused("ingest", "rdf", "src/a.nt", files={"a.nt": "# nothing\n"})
    assert message == "the source holds no node; see kbkit recipes for what it should hold"


def test_a_file_that_the_recipe_does_not_know(refused: Callable[..., str]) -> None:
    files: Files = {"nodes.csv": NODES, "edges.csv": EDGES, "more.csv": "x\n"}
    message = refused("ingest", "table", "src/nodes.csv", "src/edges.csv", "src/more.csv", files=files)
    assert message == f"recipe table does not know what to do with src/more.csv; {TABLE_READS}"


def test_several_files_that_fit(refused: Callable[..., str]) -> None:
    files: Files = {"nodes.csv": NODES, "nodes.tsv": "key\n", "edges.csv": EDGES}
    message = refused("ingest", "table", "src", files=files)
    assert message == "several files could be 'nodes': nodes.csv, nodes.tsv; choose one with --file nodes=PATH"


def test_a_directory_where_a_file_is_wanted(refused: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "dir.csv").mkdir()
    message = refused(
        "ingest", "table", "src", "--file", "nodes=dir.csv", files={"nodes.csv": NODES, "edges.csv": EDGES}
    )
    assert message.startswith("dir.csv")
    assert "directory" in message.lower()


def test_an_unknown_ending(refused: Callable[..., str]) -> None:
    message = refused("ingest", "table", "src", files={"nodes.xls": "?", "edges.csv": EDGES})
    endings = ".csv, .json, .jsonl, .ndjson, .parquet, .pq, .tab, .tsv, .txt"
    assert message == f"src/nodes.xls has an unknown ending; use one of {endings}"


# -- columns ----------------------------------------------------------------------------------------------------------


def test_a_missing_column_is_named_with_those_that_are_there(refused: Callable[..., str]) -> None:
    files: Files = {"nodes.csv": NODES, "edges.csv": "begin,relation,finish\na,knows,b\n"}
    message = refused("ingest", "table", "src", files=files)
    assert message.startswith("src/edges.csv has no column 'head' or 'subject' or ")
    assert message.endswith("; it has begin, relation, finish; --column head=NAME says which")


@pytest.mark.parametrize("ending", ["tsv", "jsonl", "parquet"])
def test_a_missing_column_in_other_formats(refused: Callable[..., str], ending: str, tmp_path: Path) -> None:
    files: Files = {"edges.csv": EDGES}
    if ending == "parquet":
        import polars as pl

        (tmp_path / "src").mkdir()
        pl.DataFrame({"code": ["a"], "name": ["Ann"]}).write_parquet(tmp_path / "src" / "nodes.parquet")
    else:
        files[f"nodes.{ending}"] = {"tsv": "code\tname\na\tAnn\n", "jsonl": '{"code": "a", "name": "Ann"}\n'}[ending]
    message = refused("ingest", "table", "src", files=files)
    assert message.startswith(f"src/nodes.{ending} has no column 'key' or 'id' or ")
    assert message.endswith("; it has code, name; --column key=NAME says which")


def test_a_column_said_that_is_not_there(refused: Callable[..., str]) -> None:
    files: Files = {"nodes.csv": NODES, "edges.csv": EDGES}
    message = refused("ingest", "table", "src", "--column", "head=von", files=files)
    assert message == (
        "src/edges.csv has no column 'von' for 'head'; it has head, relation, tail; --column head=NAME says which"
    )


def test_a_column_twice(refused: Callable[..., str]) -> None:
    message = refused("ingest", "table", "src", files={"nodes.csv": "key,Key\na,b\n", "edges.csv": EDGES})
    assert message == "src/nodes.csv, line 1 names the column 'key' twice; the first line names the columns"


# -- graphs that do not fit together ----------------------------------------------------------------------------------

DANGLING = EDGES + "z,knows,b\na,likes,y\n1,r,2\n3,r,a\n4,r,a\n5,r,a\n"


def test_edges_to_unknown_nodes_are_counted_and_the_first_five_shown(refused: Callable[..., str]) -> None:
    message = refused("ingest", "table", "src", files={"nodes.csv": NODES, "edges.csv": DANGLING})
    assert message == (
        "6 edges to an unknown node: 'z' [knows] 'b' (no 'z'), 'a' [likes] 'y' (no 'y'), '1' [r] '2' (no '1'),"
        " '3' [r] 'a' (no '3'), '4' [r] 'a' (no '4'); --skip-dangling leaves them out"
    )


def test_skip_dangling_leaves_edges_and_texts_out_and_says_how_many(here: Run, tmp_path: Path) -> None:
    texts = "key,text\na,words\nq,of nobody\nr,of nobody else\n"
    write(tmp_path / "src", {"nodes.csv": NODES, "edges.csv": DANGLING, "texts.csv": texts})
    done = here("ingest", "table", "src", "-o", "my.kb", "--stores", "text", "--skip-dangling", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    summary = done.stderr.splitlines()[-3:]
    assert summary[0].startswith("my.kb: 3 nodes of 2 types, 2 edges of 1 relation, 1 text; ")
    assert summary[1:] == ["  6 edges to unknown nodes were left out", "  2 texts of unknown nodes were left out"]
    with kbkit.open(tmp_path / "my.kb") as kb:
        assert (kb.schema.edges, [f.texts for f in kb.schema.text_fields]) == (2, [1])


def test_texts_of_unknown_nodes(refused: Callable[..., str]) -> None:
    texts = "key,text\na,words\n" + "".join(f"q{n},words\n" for n in range(7))
    message = refused("ingest", "table", "src", files={"nodes.csv": NODES, "edges.csv": EDGES, "texts.csv": texts})
    assert message == ("7 texts of an unknown node: 'q0', 'q1', 'q2', 'q3', 'q4'; --skip-dangling leaves them out")


TWICE = NODES + "".join(f"{key},x,again\n" for key in ("a", "b", "b"))


def test_the_same_key_twice(refused: Callable[..., str]) -> None:
    message = refused("ingest", "table", "src", files={"nodes.csv": TWICE, "edges.csv": EDGES})
    assert message == "2 keys more than once: x 'a', x 'b'; --merge-duplicates makes one node of each"
    many = "key,type\n" + "".join(f"k{n},x\n" for n in range(9)) * 2
    message = refused("ingest", "table", "src", files={"nodes.csv": many, "edges.csv": EDGES})
    assert message == (
        "9 keys more than once: x 'k0', x 'k1', x 'k2', x 'k3', x 'k4'; --merge-duplicates makes one node of each"
    )


def test_merge_duplicates_says_how_many_rows(here: Run, tmp_path: Path) -> None:
    write(tmp_path / "src", {"nodes.csv": TWICE, "edges.csv": EDGES})
    done = here("ingest", "table", "src", "-o", "my.kb", "--stores", "text", "--merge-duplicates", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == "  3 rows of keys that occur twice were merged"
    with kbkit.open(tmp_path / "my.kb") as kb:
        assert kb.sql("SELECT key, name FROM nodes ORDER BY id").rows() == [("a", "Ann"), ("b", "Bob"), ("c", "Cid")]


def test_a_key_of_several_types(refused: Callable[..., str]) -> None:
    nodes = NODES + "a,y,another\n"
    message = refused("ingest", "table", "src", files={"nodes.csv": nodes, "edges.csv": EDGES})
    assert message == "nodes of several types share the head 'a' in edges; give edges a column 'head_type'"
    edges = "head,relation,tail\nb,knows,a\n"
    message = refused("ingest", "table", "src", files={"nodes.csv": nodes, "edges.csv": edges})
    assert message == "nodes of several types share the tail 'a' in edges; give edges a column 'tail_type'"


def test_an_edge_without_a_relation(refused: Callable[..., str]) -> None:
    files: Files = {"nodes.csv": NODES, "edges.csv": "head,relation,tail\na,knows,b\nb,,c\n"}
    assert refused("ingest", "table", "src", files=files) == "edge number 2 has no relation; every edge needs one"


def test_a_node_without_a_key(refused: Callable[..., str]) -> None:
    files: Files = {"nodes.csv": NODES + ",x,nobody\n,x,no one\n", "edges.csv": EDGES}
    message = refused("ingest", "table", "src", files=files)
    assert message == "2 nodes without a key, the first is number 4; every node needs a key"


# -- broken lines -----------------------------------------------------------------------------------------------------

LATIN = "key,type,name\na,x,Ann\nb,x,Björn\nc,y,Cid\n".encode("latin-1")


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("nodes.csv", LATIN, 3),
        ("nodes.csv.gz", gzip.compress(LATIN), 3),
        ("nodes.tsv", LATIN.replace(b",", b"\t"), 3),
        ("nodes.csv", b"key,n\xe4me\na,Ann\n", 1),
        ("nodes.csv", NODES.encode() + b"d,x,Dan\n" * 2_000 + b"e,x,Bj\xf6rn\n" + b"f,x,Fay\n" * 9_000, 2_005),
    ],
    ids=["csv", "csv.gz", "tsv", "header", "far down"],
)
def test_invalid_utf8_in_tables(refused: Callable[..., str], name: str, content: bytes, line: int) -> None:
    message = refused("ingest", "table", "src", files={name: content, "edges.csv": EDGES})
    assert message == f"src/{name}, line {line} is not valid UTF-8; convert it, e.g. with iconv"


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz"])
def test_invalid_utf8_in_json_lines(refused: Callable[..., str], ending: str) -> None:
    content = b'{"key": "a"}\n{"key": "\xf6"}\n{"key": "c"}\n'
    content = gzip.compress(content) if ending.endswith("gz") else content
    message = refused("ingest", "table", "src", files={f"nodes.{ending}": content, "edges.csv": EDGES})
    assert message.startswith(f"src/nodes.{ending}, line 2 is not valid ")


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("nodes.csv", NODES + "d,x,Dan,4\n", "line 5 has 4 columns, not 3; quote fields that hold the delimiter"),
        ("nodes.csv", NODES + "d,x\n", "line 5 has 2 columns, not 3; quote fields that hold the delimiter"),
        ("nodes.csv.gz", NODES + "d,x\n", "line 5 has 2 columns, not 3; quote fields that hold the delimiter"),
        ("nodes.tsv", NODES.replace(",", "\t") + "d\tx\n", "line 5 has 2 columns, not 3"),
        ("nodes.csv", NODES + 'd,x,"Dan\n', "line 5 has a quote that is never closed"),
        ("nodes.csv", NODES + 'd,x,"Dan"iel\ne,x,Eve\n', "line 5 has "),
    ],
    ids=["too many", "too few", "gz", "tsv", "open quote", "text after a quote"],
)
def test_broken_lines_of_tables(refused: Callable[..., str], name: str, content: str, expected: str) -> None:
    message = refused("ingest", "table", "src", files={name: content, "edges.csv": EDGES})
    assert message.startswith(f"src/{name}, {expected}")


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz"])
def test_broken_lines_of_json(refused: Callable[..., str], ending: str) -> None:
    content = '{"key": "a"}\n{"key" "b"}\n{"key": "c"}\n'
    message = refused("ingest", "table", "src", files={f"nodes.{ending}": content, "edges.csv": EDGES})
    assert message == f"src/nodes.{ending}, line 2 is not valid JSON; write one object per line, or one array"


def test_broken_json_names_the_file_at_least(refused: Callable[..., str]) -> None:
    content = '{"key": "a"}\n{"key" "b"}\n{"key": "c"}\n'
    message = refused("ingest", "table", "src", files={"nodes.jsonl": content, "edges.csv": EDGES})
    assert message.startswith("src/nodes.jsonl, line ")
    assert message.endswith(" is not valid JSON; write one object per line, or one array")


def test_broken_lines_of_triples(refused: Callable[..., str]) -> None:
    message = refused("ingest", "triples", "src", files={"train.tsv": "a\tr\tb\nb\tr\n"})
    assert message.startswith("src/train.tsv, line 2 has 2 columns, not 3")
    message = refused("ingest", "triples", "src", files={"train.tsv": b"a\tr\tb\nb\tr\t\xf6\n"})
    assert message == "src/train.tsv, line 2 is not valid UTF-8; convert it, e.g. with iconv"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("nodes.csv.gz", b"this is not gzip"),
        ("nodes.csv.gz", gzip.compress(NODES.encode() * 9_000)[:200]),
        ("nodes.parquet", b"PAR1 and then nothing of the kind"),
    ],
    ids=["no gzip", "cut gzip", "parquet"],
)
def test_files_that_are_not_what_they_say(refused: Callable[..., str], name: str, content: bytes) -> None:
    message = refused("ingest", "table", "src", files={name: content, "edges.csv": EDGES})
    assert message.startswith(f"src/{name} ")


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
    refused: Callable[..., str], name: str, content: str | bytes, line: int
) -> None:
    message = refused("ingest", "rdf", "src", files={name: content})
    assert message.startswith(f"src/{name}, line {line}: ")
    assert message.endswith("; mend or remove that line")
    assert "Python" not in message


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.rdf", "<rdf:RDF\n"), ("a.nt.gz", b"no gzip"), ("a.nt.gz", gzip.compress(NT.encode() * 999)[:60])],
    ids=["xml", "no gzip", "cut gzip"],
)
def test_broken_rdf_without_lines_names_the_file(refused: Callable[..., str], name: str, content: str | bytes) -> None:
    message = refused("ingest", "rdf", "src", files={name: content})
    assert message.startswith(f"src/{name}")
    assert "None" not in message


def test_rdf_of_an_unknown_ending_and_quoted_triples(refused: Callable[..., str]) -> None:
    message = refused("ingest", "rdf", "src/a.foo", files={"a.foo": NT})
    endings = ".json, .jsonld, .n3, .nq, .nt, .owl, .rdf, .trig, .ttl, .xml"
    assert message == f"src/a.foo has no ending of an RDF syntax; use one of {endings}"
    star = "@prefix : <http://e.org/> .\n:a :p << :b :q :c >> .\n"
    message = refused("ingest", "rdf", "src/a.ttl", files={"a.ttl": star})
    assert message.startswith("src/a.ttl holds a statement that kbkit does not store: ")
    assert message.endswith("; quoted triples (RDF-star) are not supported")


# -- unknown names ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (
            ("tabel", "src"),
            "unknown recipe 'tabel' in kbkit, nor is there a folder of that name; did you mean 'table'?",
        ),
        (("triples", "src", "--set", "lables=x"), "unknown option 'lables' in recipe triples; did you mean 'labels'?"),
        (("triples", "src", "--set", "labels=nam"), "unknown value of option labels 'nam'; did you mean 'name'?"),
        (("triples", "src", "--set", "labels"), "--set 'labels' is not NAME=VALUE; e.g. --set limit=10"),
        (("table", "src", "--column", "haed=x"), "unknown column 'haed' in recipe table; did you mean 'head'?"),
        (
            ("table", "src", "--file", "node=src/nodes.csv"),
            "unknown file 'node' in recipe table; did you mean 'nodes'?",
        ),
        (("table", "src", "--embedder", "statik"), "unknown embedder 'statik'; did you mean 'static'?"),
        (("table", "src", "--analyzer", "englisch"), "unknown analyzer 'englisch'; did you mean 'english'?"),
    ],
)
def test_unknown_names_of_ingest(refused: Callable[..., str], args: tuple[str, ...], expected: str) -> None:
    files: Files = {"nodes.csv": NODES, "edges.csv": EDGES}
    assert refused("ingest", *args, files=files) == expected


def test_unknown_names_of_other_commands(one_line: Callable[..., str], tiny_kb: Path) -> None:
    kb = tiny_kb
    assert one_line("build", kb, "vectores") == "unknown store 'vectores'; did you mean 'vectors'?"
    assert one_line("search", kb, "x", "--type", "drugs") == "unknown type 'drugs'; did you mean 'drug'?"
    assert one_line("show", kb, "p2", "-r", "take") == "unknown relation 'take'; did you mean 'takes'?"
    message = one_line("show", kb, "BRCA2")
    assert message.startswith("unknown node 'BRCA2'")
    assert "'BRCA1'" in message
    message = one_line("sql", kb, "-c", "SELECT 1", "-f", "jsn")
    assert message.startswith("unknown format 'jsn'")
    assert "'json'" in message
    message = one_line("search", kb, "x", "--mode", "hybird")
    assert message == "unknown mode 'hybird'; did you mean 'hybrid'?"
    assert one_line("recipe", "show", "imbd").startswith("unknown recipe 'imbd'")


def test_a_query_file_that_is_not_there(one_line: Callable[..., str], tiny_kb: Path) -> None:
    for command, name in (("sql", "graph/nowhere"), ("sparql", "graph/nowhere")):
        assert "nowhere" in one_line(command, tiny_kb, name)


# -- directories ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "args",
    [("info",), ("check",), ("show", "a"), ("sql", "-c", "SELECT 1"), ("search", "x"), ("build", "text"), ("gc",)],
)
def test_a_directory_that_is_no_kb(one_line: Callable[..., str], tmp_path: Path, args: tuple[str, ...]) -> None:
    hint = "kbkit ingest makes one; kbkit demo makes a sample"
    command, *rest = args
    (tmp_path / "file").write_text("x")
    expected = f"{tmp_path} is not a KB (it has no file CURRENT); {hint}"
    assert one_line(command, tmp_path, *rest) == expected
    assert one_line(command, tmp_path / "nowhere", *rest) == f"{tmp_path / 'nowhere'} does not exist; {hint}"
    assert one_line(command, tmp_path / "file", *rest).startswith(f"{tmp_path / 'file'}")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


def test_a_kb_of_a_newer_version(one_line: Callable[..., str], tiny_kb: Path, tmp_path: Path) -> None:
    copy = tmp_path / "new.kb"
    shutil.copytree(tiny_kb, copy)
    path = copy / "generations" / "0001" / "manifest.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**data, "format": data["format"] + 1, "novelty": {}}), encoding="utf-8")
    expected = (
        f"{path.parent} has format {data['format'] + 1}, and this kbkit reads {data['format']};"
        " upgrade kbkit, or ingest the source again"
    )
    for args in (("info", copy), ("sql", copy, "-c", "SELECT 1"), ("build", copy, "text")):
        assert one_line(*args) == expected


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", "\udcff"])
def test_a_broken_manifest(one_line: Callable[..., str], tiny_kb: Path, tmp_path: Path, content: str) -> None:
    copy = tmp_path / "broken.kb"
    shutil.copytree(tiny_kb, copy)
    path = copy / "generations" / "0001" / "manifest.json"
    path.write_text(content, encoding="utf-8", errors="surrogateescape")
    message = one_line("info", copy)
    assert message.startswith(f"{path} cannot be read: ")
    assert message.endswith("; restore it, or ingest the source again")


@pytest.mark.parametrize("content", ["", "0009\n", "../../elsewhere\n"])
def test_a_broken_current(one_line: Callable[..., str], tiny_kb: Path, tmp_path: Path, content: str) -> None:
    copy = tmp_path / "broken.kb"
    shutil.copytree(tiny_kb, copy)
    (copy / "CURRENT").write_text(content)
    assert one_line("info", copy).startswith(f"{copy}")


def test_an_out_directory_that_holds_other_files(here: Run, tmp_path: Path) -> None:
    write(tmp_path / "src", {"nodes.csv": NODES, "edges.csv": EDGES})
    out = tmp_path / "mine"
    write(out, {"thesis.tex": "years of work"})
    done = here("ingest", "table", "src", "-o", "mine", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "kbkit: mine holds other files (thesis.tex); name a new or empty directory\n"
    replace = here("ingest", "table", "src", "-o", "mine", "--replace", cwd=tmp_path)
    assert (replace.returncode, replace.stderr) == (done.returncode, done.stderr)
    assert [path.name for path in out.iterdir()] == ["thesis.tex"]
    done = here("ingest", "table", "src", "-o", "mine/thesis.tex", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr == "kbkit: mine/thesis.tex is a file; name a directory that does not exist yet\n"
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
            "my.kb is a KB already; --replace builds its next generation; or name another --out",
        ),
        (
            ("ingest", "table", "src", "--replace"),
            {"nodes.csv": TWICE, "edges.csv": EDGES},
            "2 keys more than once: x 'a', x 'b'; --merge-duplicates makes one node of each",
        ),
        (("ingest", "table", "src", "--replace"), {"nodes.csv": NODES, "edges.csv": ""}, "src/edges.csv is empty"),
        (
            ("ingest", "table", "src", "--replace", "--analyzer", "klingon"),
            {"nodes.csv": NODES, "edges.csv": EDGES},
            None,
        ),
    ],
    ids=["no --replace", "duplicates", "empty file", "analyzer"],
)
def test_a_refused_build_leaves_the_kb_as_it_was(
    here: Run, tmp_path: Path, tiny_kb: Path, args: tuple[str, ...], files: Files, expected: str | None
) -> None:
    out = tmp_path / "my.kb"
    shutil.copytree(tiny_kb, out)
    before = tree(out)
    write(tmp_path / "src", files)
    done = here(*args, "-o", "my.kb", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("kbkit: ")
    assert len(done.stderr.splitlines()) == 1
    assert expected is None or done.stderr == f"kbkit: {expected}\n"
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
        ("title = \n", SQL, "mine/recipe.toml: Invalid value (at line 1, column 9)"),
        (TOML + 'mach = ["x"]\n', SQL, "mine/recipe.toml: unknown key 'mach' in [files.people]; did you mean 'match'?"),
        ('titel = "x"\n' + TOML, SQL, "mine/recipe.toml: unknown key 'titel'; did you mean 'title'?"),
        ('licence = "x"\n[files.a]\nmatch = []\n', SQL, "mine/recipe.toml: it has no title"),
        ('title = "x"\n', SQL, "mine/recipe.toml: it declares no [files.NAME]"),
        (TOML + "[relations.r]\nsymetric = true\n", SQL, "mine/recipe.toml: unknown key 'symetric' in [relations.r]; "),
        (TOML, "CREATE TABLE nodes AS SELEC 1", "mine/load.sql: Parser Error: "),
        (TOML, "CREATE TABLE nodes AS SELECT nam AS key FROM people", "mine/load.sql: Binder Error: "),
        (TOML, "CREATE TABLE nodes AS SELECT id AS key FROM peple", "mine/load.sql: Catalog Error: "),
        (TOML, "SELECT 1", "mine/load.sql makes no table 'nodes'; see kbkit recipe new"),
        (TOML, SQL.replace("id AS key", "id"), "mine/load.sql: table 'nodes' has no column 'key'; it has id"),
        (
            TOML,
            SQL.replace("'r' AS relation, ", ""),
            "mine/load.sql: table 'edges' has no column 'relation'; it has head, tail",
        ),
        (TOML, SQL + "SELECT * FROM read_csv('/etc/passwd');", "mine/load.sql: Permission Error: "),
        (TOML, SQL + "COPY nodes TO 'stolen.csv';", "mine/load.sql: Permission Error: "),
        (TOML + 'reader = "csv"\n', SQL, "unknown reader 'csv'; "),
        (TOML + 'format = "cvs"\n', SQL, "unknown format 'cvs' of file 'people'; "),
        ('title = "t"\n[files.people]\n', SQL, "mine/recipe.toml: "),
    ],
)
def test_a_recipe_that_is_wrong(
    refused: Callable[..., str], tmp_path: Path, toml: str, sql: str, expected: str
) -> None:
    write(tmp_path / "mine", {"recipe.toml": toml, "load.sql": sql})
    message = refused("ingest", "./mine", "src", files={"people.csv": "id,name\n1,Ann\n"})
    assert message.startswith(expected)
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
def test_a_value_of_the_wrong_kind_in_a_recipe(refused: Callable[..., str], tmp_path: Path, toml: str) -> None:
    write(tmp_path / "mine", {"recipe.toml": toml, "load.sql": SQL})
    message = refused("ingest", "./mine", "src", files={"people.csv": "id,name\n1,Ann\n"})
    assert message.startswith("mine/recipe.toml: ")


def test_a_folder_that_is_no_recipe(refused: Callable[..., str], tmp_path: Path) -> None:
    write(tmp_path / "mine", {"notes.txt": "x"})
    message = refused("ingest", "./mine", "src", files={"people.csv": "id\n1\n"})
    assert message == "mine is no recipe: it has no recipe.toml; kbkit recipe new writes a skeleton"
    write(tmp_path / "mine", {"recipe.toml": TOML})
    message = refused("ingest", "./mine", "src")
    assert message == "mine is no recipe: it has no load.sql; kbkit recipe new writes a skeleton"
