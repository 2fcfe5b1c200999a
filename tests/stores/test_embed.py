"""Embedders: a model behind an endpoint, folders of models, prefixes, and what the manifest records of them."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import random
import re
import shutil
import socket
import subprocess
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kbkit
from kbkit.cli.app import State, app
from kbkit.errors import KbError, UnknownNameError
from kbkit.ingestion.build import ingest, rebuild
from kbkit.ingestion.request import IngestRequest, RebuildSettings
from kbkit.stores import embedders as embed
from kbkit.stores import endpoint as requests
from kbkit.stores.embedders import Prefixes
from tests import kbs
from tests.conftest import SCRIPT
from tests.loopback import Asked, Loopback
from tests.wording import Wording

NODES = 130
DIMENSION = 8
KEY = "sk-a-key-that-nobody-may-see"
TASK = "Given a web search query, retrieve relevant passages that answer the query"
MISSING = importlib.util.find_spec("sentence_transformers") is None


def vector(text: str) -> list[float]:
    """The endpoint's model: the sum of a fixed vector for each word, of no particular length."""
    words = [np.random.default_rng(zlib.crc32(word.encode())).normal(size=DIMENSION) for word in text.split()]
    return [float(value) for value in np.sum(words, axis=0)] if words else [0.0] * DIMENSION


def vectors(texts: list[str]) -> np.ndarray:
    """What a KB should hold of these texts: rows of length 1."""
    rows = np.array([vector(text) for text in texts])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def answer(body: dict[str, Any]) -> dict[str, Any]:
    """A right answer to a request, its entries shuffled."""
    entries = [{"object": "embedding", "index": i, "embedding": vector(text)} for i, text in enumerate(body["input"])]
    random.Random(len(entries)).shuffle(entries)
    return {"object": "list", "data": entries, "model": body["model"]}


class Endpoint(Loopback):
    """A server on the loopback that remembers the ``bodies`` that it was asked.

    ``reply`` makes an answer of a body: (status, bytes, headers), or what is to be sent as JSON.
    """

    def __init__(self, reply: Callable[[dict[str, Any]], Any] = answer) -> None:
        self.bodies: list[dict[str, Any]] = []

        def made(asked: Asked) -> tuple[int, bytes, dict[str, str]]:
            self.bodies.append(json.loads(asked.body or b"{}"))
            content = reply(self.bodies[-1])
            return content if isinstance(content, tuple) else (200, json.dumps(content).encode(), {})

        super().__init__(made)
        self.url = f"{self.base}/v1"

    @property
    def keys(self) -> list[str | None]:
        """The header of the key in each request."""
        return [asked.headers.get("Authorization") for asked in self.asked]

    def inputs(self) -> list[list[str]]:
        """The texts of each request since the last call."""
        bodies, self.bodies = self.bodies, []
        return [body["input"] for body in bodies]


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KBKIT_API_KEY", "OPENAI_API_KEY", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(requests, "PAUSES", (0.0, 0.0))


@pytest.fixture
def serve() -> Iterator[Callable[..., Endpoint]]:
    """Start endpoints that end with the test."""
    with contextlib.ExitStack() as started:

        def start(reply: Callable[[dict[str, Any]], Any] = answer) -> Endpoint:
            endpoint = Endpoint(reply)
            started.callback(endpoint.close)
            return endpoint

        yield start


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    """The endpoint of the module's KB."""
    with Endpoint() as made:
        yield made


@pytest.fixture(scope="module")
def remote(endpoint: Endpoint, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A KB of 130 nodes whose vectors were made behind the endpoint, with a key; read it only."""
    folder = tmp_path_factory.mktemp("remote")
    lines = [f"n{i},thing,name{i} word{i % 7}" for i in range(NODES)]
    (folder / "nodes.csv").write_text("\n".join(["key,type,name", *lines]) + "\n", encoding="utf-8")
    (folder / "edges.csv").write_text("head,relation,tail\nn0,next,n1\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KBKIT_API_KEY", KEY)
        patch.setenv("NO_PROXY", "127.0.0.1")
        name = f"openai:e5-tiny@{endpoint.url}"
        kbkit.ingest("table", folder, out=folder / "remote.kb", embedder=name).close()
    return folder / "remote.kb"


@pytest.fixture
def copy(remote: Path, endpoint: Endpoint, tmp_path: Path) -> Path:
    """The same KB, to change; the endpoint has forgotten what it was asked."""
    endpoint.inputs()
    return shutil.copytree(remote, tmp_path / "copy.kb")


@pytest.fixture(scope="module")
def static_kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small KB with the shipped embedder; read it only."""
    folder = tmp_path_factory.mktemp("static")
    kbs.build(folder / "source", folder / "static.kb", 1)
    return folder / "static.kb"


def recorded(kb: Path) -> dict[str, Any]:
    """What the manifest says of the vectors."""
    with kbkit.open(kb) as opened:
        return opened.manifest.stores["vectors"].settings


def matrix(kb: Path) -> np.ndarray:
    with kbkit.open(kb) as opened:
        return np.array(opened.vectors.matrix)


def texts_of(kb: Path) -> list[str]:
    """The documents of nodes without texts and relations: their names, by id."""
    with kbkit.open(kb) as opened:
        return opened.sql("SELECT name FROM nodes ORDER BY id")["name"].to_list()


def one_line(error: pytest.ExceptionInfo[KbError]) -> str:
    """The message of an error, which is one line of a readable length and names no key."""
    said = str(error.value)
    assert "\n" not in said
    assert len(said) < 500
    assert KEY not in said
    return said


# -- an endpoint: build -----------------------------------------------------------------------------------------------


def test_vectors_of_an_endpoint_land_in_the_kb(remote: Path) -> None:
    names = texts_of(remote)
    assert len(names) == NODES
    np.testing.assert_allclose(matrix(remote), vectors([f"passage: {name}" for name in names]), atol=1e-5)
    with kbkit.open(remote) as opened:
        assert [problem for _, problem in opened.check() if problem] == []


def test_the_manifest_records_model_dimension_and_prefixes(remote: Path, endpoint: Endpoint) -> None:
    assert recorded(remote) == {
        "embedder": f"openai:e5-tiny@{endpoint.url}", "dimension": DIMENSION,
        "query_prefix": "query: ", "document_prefix": "passage: ",
        "relations": False, "chunk_words": 256, "chunk_overlap": 64, "chunk_characters": 0,
    }  # fmt: skip


def test_texts_go_in_batches_of_64(copy: Path, endpoint: Endpoint) -> None:
    rebuild(copy, "vectors")
    batches = endpoint.inputs()
    texts = [text for batch in batches for text in batch]
    assert [len(batch) for batch in batches] == [64, 64, 2]  # the dimension is recorded: nobody asks for it
    assert texts == [f"passage: {name}" for name in texts_of(copy)]


@pytest.mark.core
def test_what_a_request_says(serve: Callable[..., Endpoint], monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = serve()
    model = embed.load(f"openai:org/some-model@{endpoint.url}/")
    assert endpoint.bodies == []  # nothing is sent before there is a text
    assert model.embed(["a b", "", "c"]).shape == (3, DIMENSION)
    assert [asked.path for asked in endpoint.asked] == ["/v1/embeddings"]
    # An empty text is an error to most endpoints.
    assert endpoint.bodies == [{"model": "org/some-model", "input": ["a b", " ", "c"]}]
    assert model.dimension == DIMENSION
    assert endpoint.inputs()[1:] == [["dimension"]]
    assert model.dimension == DIMENSION
    assert model.embed([]).shape == (0, DIMENSION)
    assert endpoint.inputs() == []


def test_vectors_are_scaled_to_length_1(serve: Callable[..., Endpoint]) -> None:
    data = [{"index": 1, "embedding": [0, 0]}, {"index": 0, "embedding": [3, 4]}]
    model = embed.load(f"openai:m@{serve(lambda _: {'data': data}).url}")
    found = model.embed(["a", "b"])
    np.testing.assert_allclose(found, [[0.6, 0.8], [0, 0]], atol=1e-6)
    assert found.dtype == np.float32


# -- an endpoint: the key ---------------------------------------------------------------------------------------------


def test_the_key_is_in_the_header_and_in_no_file(remote: Path, endpoint: Endpoint) -> None:
    assert set(endpoint.keys[:4]) == {f"Bearer {KEY}"}  # the dimension, and three batches
    files = kbs.tree(remote)
    assert len(files) > 10
    assert [name for name, content in files.items() if KEY.encode() in content] == []


@pytest.mark.parametrize(
    ("variables", "header"),
    [
        ({}, None),
        ({"KBKIT_API_KEY": "a"}, "Bearer a"),
        ({"OPENAI_API_KEY": "b"}, "Bearer b"),
        ({"KBKIT_API_KEY": "a", "OPENAI_API_KEY": "b"}, "Bearer a"),
        ({"KBKIT_API_KEY": "", "OPENAI_API_KEY": "b"}, "Bearer b"),
    ],
)
def test_where_the_key_comes_from(
    serve: Callable[..., Endpoint], monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], header: str | None
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    endpoint = serve()
    embed.load(f"openai:m@{endpoint.url}").embed(["a"])
    assert endpoint.keys == [header]


def test_a_line_break_behind_the_key_is_no_part_of_it(
    serve: Callable[..., Endpoint], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KBKIT_API_KEY", f"{KEY}\r\n")
    endpoint = serve()
    embed.load(f"openai:m@{endpoint.url}").embed(["a"])
    assert endpoint.keys == [f"Bearer {KEY}"]


def test_the_key_goes_to_no_other_host(serve: Callable[..., Endpoint], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KBKIT_API_KEY", KEY)
    other = serve(lambda _: entries([1.0]))
    first = serve(lambda _: (302, b"", {"Location": f"{other.url}/elsewhere"}))
    with contextlib.suppress(KbError):
        embed.load(f"openai:m@{first.url}").embed(["a"])
    assert f"Bearer {KEY}" not in other.keys


# -- an endpoint: search ----------------------------------------------------------------------------------------------


def test_a_query_is_one_request_with_its_prefix(remote: Path, endpoint: Endpoint) -> None:
    endpoint.inputs()
    with kbkit.open(remote) as opened:
        for mode in ("dense", "hybrid", "multivector"):
            assert opened.search("name5 word5", k=3, mode=mode).height == 3
            assert endpoint.inputs() == [["query: name5 word5"]], mode
        opened.search("name5", mode="bm25")
        assert endpoint.inputs() == []
        found = opened.search_many({"a": "name7", "b": "name9 word3"}, k=1, mode="dense")
        assert endpoint.inputs() == [["query: name7", "query: name9 word3"]]
    cosines = vectors(["query: name7", "query: name9 word3"]) @ matrix(remote).T
    assert found["id"].to_list() == cosines.argmax(axis=1).tolist()
    np.testing.assert_allclose(found["score"], cosines.max(axis=1), atol=1e-5)


def test_a_question_that_names_a_node_is_one_request(remote: Path, endpoint: Endpoint) -> None:
    endpoint.inputs()
    with kbkit.open(remote) as opened:
        assert opened.search("name0 word0", k=3, mode="relational")["key"][0] == "n0"
    assert endpoint.inputs() == [["query: name0 word0"]]


def test_two_legs_of_vectors_are_one_request(remote: Path, endpoint: Endpoint) -> None:
    endpoint.inputs()
    with kbkit.open(remote) as opened:
        opened.search("name0 word0", k=3, weights={"dense": 1, "multivector": 1})
    assert endpoint.inputs() == [["query: name0 word0"]]


def test_a_search_from_the_command_line_is_one_request(here, remote: Path, endpoint: Endpoint) -> None:
    endpoint.inputs()
    done = here("search", remote, "name5 word5", "-m", "dense", "-k", "1", env={"KBKIT_API_KEY": KEY})
    assert (done.returncode, done.stderr) == (0, "")
    assert KEY not in done.stdout
    assert endpoint.inputs() == [["query: name5 word5"]]
    assert endpoint.keys[-1] == f"Bearer {KEY}"


def test_the_model_at_another_address_is_used(remote: Path, endpoint: Endpoint, serve: Callable[..., Endpoint]) -> None:
    moved = serve()
    endpoint.inputs()
    with kbkit.open(remote) as opened:
        hits = opened.search("name5", k=5, mode="dense", embedder=f"openai:e5-tiny@{moved.url}")
    with kbkit.open(remote) as opened:
        run = opened.search_many(["name5"], k=5, mode="dense", embedder=f"openai:e5-tiny@{moved.url}")
    assert endpoint.inputs() == []
    assert moved.inputs() == [["query: name5"]] * 2
    assert hits["id"].to_list() == run["id"].to_list()


@pytest.mark.system
def test_a_strangers_kb_sends_queries_nowhere(
    remote: Path, endpoint: Endpoint, tmp_path: Path, wording: Wording
) -> None:
    """Another user, who never named the address, gets a KB with it."""
    endpoint.inputs()
    asked = len(endpoint.bodies)
    settings = {"KBKIT_SETTINGS": str(tmp_path / "settings"), "KBKIT_API_KEY": KEY}
    script = [str(SCRIPT), "search", str(remote), "name5 word5", "-k", "1", "-f", "csv"]

    def run(*options: str) -> subprocess.CompletedProcess[str]:
        """Run a process of its own: this one has named the address."""
        env = {**os.environ, **settings}
        return subprocess.run([*script, *options], capture_output=True, text=True, env=env, check=False)

    for mode in ("dense", "hybrid", "relational"):
        refused = run("-m", mode)
        assert (refused.returncode, "would send queries to" in refused.stderr) == (1, True), mode
    wording(refused.stderr.replace(endpoint.url, "URL"))
    assert len(endpoint.bodies) == asked
    assert run("-m", "bm25").returncode == 0
    allowed = run("-m", "dense", "--embedder", f"openai:e5-tiny@{endpoint.url}")
    assert allowed.returncode == 0, allowed.stderr
    assert run("-m", "dense").stdout == allowed.stdout  # remembered
    assert (tmp_path / "settings" / "endpoints.txt").read_text(encoding="utf-8") == f"{endpoint.url}\n"


def test_the_recorded_address_may_be_named_again(
    remote: Path, endpoint: Endpoint, serve: Callable[..., Endpoint]
) -> None:
    moved = serve()
    with kbkit.open(remote) as opened:
        opened.search("name5", mode="dense", embedder=f"openai:e5-tiny@{moved.url}")
        endpoint.inputs()
        moved.inputs()
        opened.search("name6", mode="dense", embedder=f"openai:e5-tiny@{endpoint.url}")
    assert (endpoint.inputs(), moved.inputs()) == ([["query: name6"]], [])


def test_another_model_is_refused(remote: Path, endpoint: Endpoint) -> None:
    endpoint.inputs()
    with kbkit.open(remote) as opened:
        for name in (f"openai:e5-small@{endpoint.url}", "static", "model2vec:x", "sentence-transformers:e5-tiny"):
            with pytest.raises(KbError) as error:
                opened.search("name5", embedder=name)
            assert f"openai:e5-tiny@{endpoint.url}, not with {name}" in one_line(error)
            assert f"kbkit build KB vectors with embedder={name}" in error.value.hint
    assert endpoint.inputs() == []


def test_the_recorded_embedder_may_be_named(static_kb: Path) -> None:
    with kbkit.open(static_kb) as opened:
        plain = opened.search("first programs", mode="dense")
        assert opened.search("first programs", mode="dense", embedder="static").equals(plain)
        with pytest.raises(KbError, match=r"static, not with openai:m@"):
            opened.search("first programs", mode="dense", embedder="openai:m@http://127.0.0.1:9")


def test_an_endpoint_of_another_dimension_than_the_kb(remote: Path, serve: Callable[..., Endpoint]) -> None:
    other = serve(lambda body: {"data": [{"index": 0, "embedding": [1.0, 2.0, 3.0]} for _ in body["input"]]})
    with kbkit.open(remote) as opened, pytest.raises(KbError) as error:
        opened.search("name5", mode="dense", embedder=f"openai:e5-tiny@{other.url}")
    assert f"e5-tiny returned 3 dimensions instead of {DIMENSION}" in one_line(error)
    assert len(other.asked) == 1


# -- an endpoint: what goes wrong -------------------------------------------------------------------------------------


def entries(*rows: object) -> dict[str, Any]:
    return {"data": [{"index": i, "embedding": row} for i, row in enumerate(rows)]}


HTML = b"<html>\n<body>\r\n" + b"<p>Something is \x00 wrong \xff</p>\n" * 4_000 + b"</body></html>"


@pytest.mark.parametrize(
    ("response", "fact"),
    [
        pytest.param((500, HTML, {}), r"URL/embeddings returned 500 Internal Server Error: <html> <body>", id="500"),
        pytest.param((401, b"[who]", {}), r".* returned 401 Unauthorized: \[who\].*KBKIT_API_KEY", id="401"),
        pytest.param((400, f"key={KEY}&x".encode(), {}), r".* returned 400 Bad Request: key=\.\.\.&x\.$", id="400"),
        pytest.param((302, b"", {"Location": f"http://b/{KEY}"}), r".*redirects to http://b/\.\.\.;", id="302"),
        pytest.param((403, b"", {}), r".* returned 403 Forbidden.*KBKIT_API_KEY", id="403"),
        pytest.param((404, b"", {}), r"URL/embeddings returned 404 Not Found", id="404"),
        pytest.param((200, HTML, {}), r"URL/embeddings did not return JSON", id="html"),
        pytest.param((200, b"", {}), r".* did not return JSON", id="nothing"),
        pytest.param((0, b"", {}), r"Cannot reach URL/embeddings: ", id="hangs up"),
        pytest.param([], "URL did not return embeddings", id="a list"),
        pytest.param({"data": [{"embedding": [1.0]}] * 2}, "URL did not return embeddings", id="no index"),
        pytest.param({"data": [{"index": 0}] * 2}, "URL did not return embeddings", id="no embedding"),
        pytest.param({"data": [{"index": i, "embedding": [1]} for i in ("0", 1)]}, "URL did not return embeddings",
                     id="mixed"),
        pytest.param(entries([1.0], [1.0, 2.0]), "URL did not return embeddings", id="ragged"),
        pytest.param(entries("AAAA", "AAAA"), "URL did not return embeddings", id="base64"),
        pytest.param(entries([[1.0]], [[2.0]]), r"URL returned an array of shape \(2, 1, 1\)", id="deep"),
        pytest.param(entries(1.0, 2.0), r"URL returned an array of shape \(2,\)", id="flat"),
        pytest.param(entries([1.0]), r"URL returned an array of shape \(1, 1\)", id="too few"),
        pytest.param(entries([1.0], [1.0], [1.0]), r"URL returned an array of shape \(3, 1\)", id="too many"),
        pytest.param(entries(), r"URL returned an array of shape \(0,\)", id="none"),
        pytest.param(entries([1.0], [float("nan")]), r"URL returned numbers that are not finite", id="NaN"),
        pytest.param(entries([1.0], [None]), r"URL returned numbers that are not finite", id="null number"),
    ],
)  # fmt: skip
def test_invalid_responses(
    serve: Callable[..., Endpoint], monkeypatch: pytest.MonkeyPatch, response: Any, fact: str
) -> None:
    monkeypatch.setenv("KBKIT_API_KEY", KEY)
    endpoint = serve(lambda _: response)
    with pytest.raises(KbError) as error:
        embed.load(f"openai:m@{endpoint.url}").embed(["a", "b"])
    message = one_line(error)
    assert re.match(fact.replace("URL", endpoint.url), message), message


def test_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KBKIT_API_KEY", KEY)
    with pytest.raises(KbError) as error:
        embed.load(f"openai:m@{dead_url()}").embed(["a"])
    assert re.match(r"Cannot reach http://127.0.0.1:\d+/embeddings: .*refused", one_line(error))


def dead_url() -> str:
    """An address of this machine where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}"


@pytest.mark.parametrize(
    "rest",
    [
        "m@file:///etc/passwd", "m@ftp://localhost/v1", "m@http://", "m@https:///v1", "m@localhost:8080/v1", "m@", "m",
        "@http://localhost:8080/v1", "http://localhost:8080/v1",
    ],
)  # fmt: skip
def test_invalid_endpoints(rest: str, wording: Wording) -> None:
    with pytest.raises(KbError) as error:
        embed.load(f"openai:{rest}")
    assert repr(rest.rpartition("@")[2]) in one_line(error) or repr(f"openai:{rest}") in one_line(error)
    wording(str(error.value))


@pytest.mark.parametrize("place", ["localhost:80a/v1", "localhost:8080/v 1", "user:secret@localhost/v1"])
def test_an_address_that_http_refuses(place: str) -> None:
    with pytest.raises(KbError):
        embed.load(f"openai:m@http://{place}").embed(["a"])


@pytest.mark.parametrize("made", [(0, b"SSH-2.0-OpenSSH_9.6\r\n", {}), (200, b"{", {"Content-Length": "100"})])
def test_a_server_that_speaks_no_http(serve: Callable[..., Endpoint], made: Any) -> None:
    with pytest.raises(KbError):
        embed.load(f"openai:m@{serve(lambda _: made).url}").embed(["a"])


def test_an_answer_nested_without_end(serve: Callable[..., Endpoint]) -> None:
    with pytest.raises(KbError):
        embed.load(f"openai:m@{serve(lambda _: (200, b'[' * 200_000, {})).url}").embed(["a"])


def test_vectors_of_no_numbers(serve: Callable[..., Endpoint]) -> None:
    with pytest.raises(KbError):
        embed.load(f"openai:m@{serve(lambda _: entries([], [])).url}").embed(["a", "b"])


def test_a_model_whose_name_begins_with_an_at_sign(serve: Callable[..., Endpoint]) -> None:
    endpoint = serve()
    name = "openai:@cf/baai/bge-base-en-v1.5@" + endpoint.url
    embed.load(name).embed(["a"])
    assert endpoint.bodies[0]["model"] == "@cf/baai/bge-base-en-v1.5"
    assert not embed.same_model(name, "openai:@cf/baai/bge-m3@" + endpoint.url)


def test_a_build_without_its_endpoint_changes_nothing(here, copy: Path) -> None:
    before, gone = kbs.tree(copy), dead_url()
    done = here("-q", "build", copy, "vectors", "--embedder", f"openai:m@{gone}", env={"KBKIT_API_KEY": KEY})
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"kbkit: Cannot reach {gone}/embeddings: ")
    assert done.stderr.count("\n") == 1
    assert kbs.tree(copy) == before
    assert kbs.generations(copy) == ["0001"]


# Twice, because the order of the failing threads differs from run to run.
def test_an_ingest_without_its_endpoint_leaves_nothing(static_kb: Path, tmp_path: Path) -> None:
    request = IngestRequest("table", [static_kb.parent / "source"], embedder=f"openai:m@{dead_url()}")
    for _ in range(2):
        with pytest.raises(KbError, match="Cannot reach "):
            ingest(request, tmp_path / "new.kb")
        assert not (tmp_path / "new.kb").exists()


def test_an_endpoint_that_fails_in_the_middle_of_a_build(copy: Path, serve: Callable[..., Endpoint]) -> None:
    before = kbs.tree(copy)
    failing = serve(lambda body: (503, b"busy", {}) if len(failing.asked) > 2 else answer(body))
    with pytest.raises(KbError, match=r"/embeddings returned 503 Service Unavailable: busy"):
        rebuild(copy, "vectors", RebuildSettings(embedder=f"openai:e5-tiny@{failing.url}"))
    assert len(failing.asked) == 2 + 3  # the third batch is tried three times
    assert kbs.tree(copy) == before


def test_a_search_without_its_endpoint_is_one_line(here, remote: Path) -> None:
    gone = f"openai:e5-tiny@{dead_url()}"
    done = here("search", remote, "name5", "--embedder", gone)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.startswith(f"kbkit: Cannot reach {gone.partition('@')[2]}/embeddings: ")
    with kbkit.open(remote) as opened:
        assert opened.search("name5", k=1, mode="bm25", embedder=gone)["name"].to_list() == ["name5 word5"]


# -- prefixes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "query", "document"),
    [
        ("e5-tiny", "query: ", "passage: "),
        ("intfloat/multilingual-e5-large", "query: ", "passage: "),
        ("intfloat/E5-base-v2", "query: ", "passage: "),
        ("BAAI/bge-small-en-v1.5", "Represent this sentence for searching relevant passages: ", ""),
        ("bge-large-en", "Represent this sentence for searching relevant passages: ", ""),
        ("BAAI/bge-m3", "", ""),
        ("bge-base-zh-v1.5", "", ""),
        ("nomic-ai/nomic-embed-text-v1.5", "search_query: ", "search_document: "),
        ("multilingual-e5-large-instruct", f"Instruct: {TASK}\nQuery: ", ""),
        ("Qwen/Qwen3-Embedding-0.6B", f"Instruct: {TASK}\nQuery: ", ""),
        ("GritLM/GritLM-7B", "<|embed|>\n", "<|embed|>\n"),
        ("text-embedding-3-small", "", ""),
        ("all-MiniLM-L6-v2", "", ""),
        ("node5-large", "", ""),
    ],
)
def test_prefixes_of_well_known_families(model: str, query: str, document: str) -> None:
    assert embed.known_prefixes(model) == Prefixes(query, document)
    assert embed.load(f"openai:{model}@http://127.0.0.1:9").prefixes == Prefixes(query, document)


def test_given_prefixes_replace_those_of_the_family() -> None:
    name = "openai:e5-tiny@http://127.0.0.1:9"
    assert embed.load(name, Prefixes("q: ", "d: ")).prefixes == Prefixes("q: ", "d: ")
    assert embed.load(name, Prefixes("", "")).prefixes == Prefixes("", "")
    assert embed.load(name, Prefixes("q: ")).prefixes == Prefixes("q: ", "passage: ")


def test_prefixes_from_the_command_line_are_recorded_and_used(
    copy: Path, endpoint: Endpoint, serve: Callable[..., Endpoint]
) -> None:
    words = ["build", str(copy), "vectors", "--query-prefix", "Q> ", "--document-prefix", "D> "]
    app(words, obj=State(quiet=True), standalone_mode=False)
    assert endpoint.inputs()[0][0] == "D> name0 word0"
    settings = recorded(copy)
    assert (settings["query_prefix"], settings["document_prefix"]) == ("Q> ", "D> ")
    with kbkit.open(copy) as opened:
        opened.search("name5", mode="dense")
        moved = serve()
        opened.search("name6", mode="dense", embedder=f"openai:e5-tiny@{moved.url}")
    assert endpoint.inputs() == [["Q> name5"]]
    assert moved.inputs() == [["Q> name6"]]


def test_a_rebuild_keeps_prefixes_until_others_are_given(copy: Path, endpoint: Endpoint) -> None:
    rebuild(copy, "vectors", RebuildSettings(query_prefix="Q> ", document_prefix="D> "))
    rebuild(copy, "vectors", RebuildSettings(chunk_words=100))
    rebuild(copy, "text", RebuildSettings(analyzer="simple"))
    settings = recorded(copy)
    assert (settings["query_prefix"], settings["document_prefix"]) == ("Q> ", "D> ")
    np.testing.assert_allclose(matrix(copy), vectors([f"D> {name}" for name in texts_of(copy)]), atol=1e-5)
    rebuild(copy, "vectors", RebuildSettings(query_prefix="", document_prefix=""))
    settings = recorded(copy)
    assert (settings["query_prefix"], settings["document_prefix"]) == ("", "")
    np.testing.assert_allclose(matrix(copy), vectors(texts_of(copy)), atol=1e-5)


def test_prefixes_of_the_shipped_model(static_kb: Path, tmp_path: Path) -> None:
    request = IngestRequest("table", [static_kb.parent / "source"], query_prefix="bridges ", document_prefix="a city ")
    ingest(request, tmp_path / "a.kb")
    settings = recorded(tmp_path / "a.kb")
    assert (settings["query_prefix"], settings["document_prefix"]) == ("bridges ", "a city ")
    model = embed.load("static")
    with kbkit.open(tmp_path / "a.kb") as opened:
        row = np.asarray(opened.vectors.matrix)[opened.find("city#d")]
        np.testing.assert_allclose(row, model.embed(["a city Delft"])[0], atol=1e-6)
        [hit] = opened.search("programs", k=1, mode="dense").iter_rows(named=True)
        asked = model.embed(["bridges programs"])[0]
        assert hit["score"] == pytest.approx(float(np.asarray(opened.vectors.matrix)[hit["id"]] @ asked), abs=1e-5)


def test_one_prefix_given_leaves_the_other(copy: Path) -> None:
    app(["build", str(copy), "vectors", "--query-prefix", "X> "], obj=State(quiet=True), standalone_mode=False)
    settings = recorded(copy)
    assert (settings["query_prefix"], settings["document_prefix"]) == ("X> ", "passage: ")


def test_the_same_model_at_another_address_keeps_its_prefixes(copy: Path, serve: Callable[..., Endpoint]) -> None:
    rebuild(copy, "vectors", RebuildSettings(query_prefix="Q> ", document_prefix="D> "))
    rebuild(copy, "vectors", RebuildSettings(embedder=f"openai:e5-tiny@{serve().url}"))
    assert recorded(copy)["query_prefix"] == "Q> "


# -- folders of models ------------------------------------------------------------------------------------------------


@pytest.fixture
def model2vec_kb(static_kb: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A KB whose model was named by a path relative to where it lies: ``model``, in ``tmp_path``."""
    kbs.small_model(tmp_path / "model")
    shutil.copytree(static_kb, tmp_path / "a.kb")
    monkeypatch.chdir(tmp_path)
    rebuild(tmp_path / "a.kb", "vectors", RebuildSettings(embedder="model2vec:model"))
    return tmp_path / "a.kb"


def test_a_folder_is_recorded_as_a_whole_path(model2vec_kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert recorded(model2vec_kb)["embedder"] == f"model2vec:{model2vec_kb.parent / 'model'}"
    assert recorded(model2vec_kb)["dimension"] == 32
    monkeypatch.chdir("/")
    with kbkit.open(model2vec_kb) as opened:
        assert opened.search("first programs", k=1, mode="dense")["name"].to_list() == ["Ada v1"]


def test_names_that_differ_in_their_path_are_one_model(model2vec_kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = model2vec_kb.parent
    (folder / "link").symlink_to(folder / "model")
    shutil.copytree(folder / "model", folder / "other")
    with kbkit.open(model2vec_kb) as opened:
        for name in ("model", "./model", "a.kb/../model", "link", folder / "model", f"{folder}/model/"):
            hits = opened.search("first programs", k=1, mode="dense", embedder=f"model2vec:{name}")
            assert hits["name"].to_list() == ["Ada v1"], name
        with pytest.raises(KbError, match="not with model2vec:other"):
            opened.search("first programs", mode="dense", embedder="model2vec:other")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("static", "static", True),
        ("static", "openai:static@http://a", False),
        ("openai:m@http://a", "openai:m@https://b:1/v1", True),
        ("openai:m@http://a", "openai:m2@http://a", False),
        ("openai:m@http://a", "sentence-transformers:m", False),
        ("model2vec:a", "model2vec:b/../a", True),
        ("model2vec:a", "model2vec:b", False),
        ("model2vec:a", "sentence-transformers:a", False),
        ("sentence-transformers:a/b", "sentence-transformers:a/b", True),
        ("sentence-transformers:a/b", "sentence-transformers:a/c", False),
    ],
)
def test_whether_two_names_mean_one_model(one: str, other: str, same: bool) -> None:
    assert embed.same_model(one, other) is same
    assert embed.same_model(other, one) is same


@pytest.mark.parametrize(
    "name", ["", "Static", "static:x", "model2vec", "model2vec:", "openai:", "sentence-transformers:", "x:y"]
)
def test_an_embedder_of_no_kind(name: str) -> None:
    with pytest.raises(UnknownNameError) as error:
        embed.load(name)
    assert repr(name) in one_line(error)


@pytest.mark.skipif(not MISSING, reason="sentence-transformers is installed")
def test_a_library_that_is_missing_says_how_to_get_it(here, static_kb: Path, tmp_path: Path) -> None:
    source = static_kb.parent / "source"
    done = here("ingest", "table", source, "-o", tmp_path / "a.kb", "--embedder", "sentence-transformers:x/y")
    assert (done.returncode, done.stdout) == (1, "")
    assert "pip install" in done.stderr
    assert "[sentence-transformers]" in done.stderr
    assert not (tmp_path / "a.kb").exists()
    with kbkit.open(static_kb) as opened, pytest.raises(KbError) as error:
        opened.search("first", rerank="cross-encoder:x/y")
    assert "[sentence-transformers]" in one_line(error)


# -- models of sentence-transformers, where the library is installed --------------------------------------------------

DEAD_HUB = {"HTTPS_PROXY": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9", "HF_HUB_OFFLINE": ""}
"""Nobody listens at this port, so that a request to the hub fails at once. An empty switch is one that is off."""


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with random models of 32 dimensions: ``plain``, ``prompted`` (it brings prompts), ``cross``."""
    library = pytest.importorskip("sentence_transformers")
    import torch
    from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
    from tokenizers.models import WordPiece
    from transformers import BertConfig, BertForSequenceClassification, BertModel, PreTrainedTokenizerFast

    folder, letters = tmp_path_factory.mktemp("models"), "abcdefghijklmnopqrstuvwxyz0123456789"
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", ":", ">", "first", "programs", "bridges", "nile", "ada", "bob"]
    words += [*letters, *(f"##{letter}" for letter in letters)]
    pieces = Tokenizer(WordPiece({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    pieces.normalizer, pieces.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    pieces.post_processor = processors.TemplateProcessing(
        "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", [("[CLS]", 2), ("[SEP]", 3)]
    )
    marks = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=pieces, model_max_length=64, **marks)
    config = BertConfig(
        vocab_size=len(words), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=64, num_labels=1, initializer_range=0.5,
    )  # fmt: skip
    torch.manual_seed(1)
    for name, kind in (("bert", BertModel), ("pair", BertForSequenceClassification)):
        kind(config).save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
    bert = str(folder / "bert")
    library.SentenceTransformer(bert).save(str(folder / "plain"))
    prompts = {"query": "first: ", "passage": "nile: "}
    library.SentenceTransformer(bert, prompts=prompts, default_prompt_name="query").save(str(folder / "prompted"))
    library.CrossEncoder(str(folder / "pair")).save(str(folder / "cross"))
    return folder


@pytest.fixture(scope="module")
def transformed(models: Path, static_kb: Path) -> Path:
    """The small KB with the vectors of the model ``prompted``; read it only."""
    kb = shutil.copytree(static_kb, models / "transformed.kb")
    rebuild(kb, "vectors", RebuildSettings(embedder=f"sentence-transformers:{models / 'prompted'}"))
    return kb


def encoded(folder: Path, texts: list[str]) -> np.ndarray:
    """What the library itself makes of texts, at length 1."""
    from sentence_transformers import SentenceTransformer

    return np.array(SentenceTransformer(str(folder)).encode(texts, prompt="", normalize_embeddings=True))


def test_the_prompts_that_a_model_brings_are_its_prefixes(models: Path, transformed: Path) -> None:
    settings = recorded(transformed)
    assert settings["embedder"] == f"sentence-transformers:{models / 'prompted'}"
    assert (settings["dimension"], settings["query_prefix"], settings["document_prefix"]) == (32, "first: ", "nile: ")
    with kbkit.open(transformed) as opened:
        documents = [": ".join([n.name, *(text for _, text in n.texts)]) for n in map(opened.node, range(4))]
        rows = encoded(models / "prompted", [f"nile: {document}" for document in documents])
        np.testing.assert_allclose(opened.vectors.matrix, rows, atol=1e-5)
        hits = opened.search("ada", k=4, mode="dense").sort("id")
        asked = encoded(models / "prompted", ["first: ada"])[0]
        np.testing.assert_allclose(hits["score"], rows @ asked, atol=1e-5)
        assert [problem for _, problem in opened.check() if problem] == []


def test_prefixes_of_a_model_without_prompts(models: Path, tmp_path: Path) -> None:
    assert embed.load(f"sentence-transformers:{models / 'plain'}").prefixes == Prefixes("", "")
    given = embed.load(f"sentence-transformers:{models / 'prompted'}", Prefixes("", "bob "))
    assert given.prefixes == Prefixes("", "bob ")
    np.testing.assert_allclose(embed.documents(given, ["ada"]), encoded(models / "prompted", ["bob ada"]), atol=1e-5)
    shutil.copytree(models / "plain", tmp_path / "e5-random")
    family = embed.load(f"sentence-transformers:{tmp_path / 'e5-random'}")
    assert family.prefixes == Prefixes("query: ", "passage: ")


def test_pooling_and_instruction_of_a_model(models: Path) -> None:
    from sentence_transformers import SentenceTransformer

    library = SentenceTransformer(str(models / "prompted"))
    states = library.encode(["nile ada", "bob"], prompt="", output_value="token_embeddings")
    name = f"sentence-transformers:{models / 'prompted'}"
    for mode, pooled in (("cls", [s[0] for s in states]), ("max", [s.max(0).values for s in states])):
        rows = np.array([row.numpy() for row in pooled])
        found = embed.load(f"{name}?pooling={mode}").embed(["nile ada", "bob"])
        np.testing.assert_allclose(found, rows / np.linalg.norm(rows, axis=1, keepdims=True), atol=1e-5)
    told = embed.load(f"{name}?instruction=Find+rivers")
    assert told.prefixes == Prefixes("Instruct: Find rivers\nQuery: ", "")
    assert embed.load(f"{name}?instruction=a", Prefixes("q ", "d ")).prefixes == Prefixes("q ", "d ")


def test_a_cross_encoder_orders_hits_anew(models: Path, static_kb: Path) -> None:
    from sentence_transformers import CrossEncoder

    reader = CrossEncoder(str(models / "cross"))
    with kbkit.open(static_kb) as opened:
        hits = opened.search("first programs bridges", k=4, mode="dense", rerank=f"cross-encoder:{models / 'cross'}")
        documents = {
            0: "Ada v1. wrote the first programs v1. knows: Bob. lives in: Cairo. knows: Bob",
            1: "Bob. builds bridges. knows: Ada v1. knows: Ada v1",
            3: "Delft",
        }
        for node, document in documents.items():
            [score] = hits.filter(hits["id"] == node)["rerank"]
            assert score == pytest.approx(float(reader.predict([("first programs bridges", document)])[0]), abs=1e-5)
    assert hits["rerank"].to_list() == sorted(hits["rerank"], reverse=True)
    assert hits["score"].to_list() == hits["rerank"].to_list()


def test_models_on_disk_need_no_network(run, models: Path, static_kb: Path, tmp_path: Path) -> None:
    model, kb = f"sentence-transformers:{models / 'plain'}", tmp_path / "a.kb"
    source = static_kb.parent / "source"
    done = run("-q", "ingest", "table", source, "-o", kb, "--embedder", model, env=DEAD_HUB)
    assert (done.returncode, done.stdout) == (0, "")
    rerank = f"cross-encoder:{models / 'cross'}"
    done = run("search", kb, "first programs", "-k", "2", "--rerank", rerank, "-f", "ndjson", env=DEAD_HUB)
    assert done.returncode == 0
    assert [json.loads(line)["rank"] for line in done.stdout.splitlines()] == [1, 2]


def test_a_search_says_nothing_but_its_hits(run, transformed: Path) -> None:
    done = run("search", transformed, "first programs", "-m", "dense", env=DEAD_HUB)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture
def no_hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in DEAD_HUB.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("models", "no_hub")
def test_a_model_that_is_not_on_disk_is_one_line_at_search(transformed: Path, tmp_path: Path) -> None:
    kb = shutil.copytree(transformed, tmp_path / "a.kb")
    path = kb / "generations" / "0002" / "manifest.json"
    manifest = json.loads(path.read_text())
    for model in ("nobody/has-this-model", str(tmp_path / "nowhere")):
        manifest["stores"]["vectors"]["settings"]["embedder"] = f"sentence-transformers:{model}"
        path.write_text(json.dumps(manifest))
        with kbkit.open(kb) as opened:
            with pytest.raises(KbError) as error:
                opened.search("first", mode="dense")
            assert one_line(error).startswith(f"the embedder {model!r} is not on this disk: ")
            with pytest.raises(KbError) as error:
                opened.search("first", mode="bm25", rerank=f"cross-encoder:{model}")
            assert one_line(error).startswith(f"Cannot load the cross-encoder {model!r}: ")


@pytest.mark.usefixtures("models", "no_hub")
def test_a_folder_that_is_not_there_is_one_line_at_ingest(run, static_kb: Path, tmp_path: Path) -> None:
    source, name = static_kb.parent / "source", f"sentence-transformers:{tmp_path / 'nowhere'}"
    done = run("ingest", "table", source, "-o", tmp_path / "a.kb", "--embedder", name, env=DEAD_HUB)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert str(tmp_path / "nowhere") in done.stderr
    assert not (tmp_path / "a.kb").exists()


@pytest.mark.usefixtures("no_hub")
def test_a_build_tries_to_fetch_what_the_user_names(models: Path, tmp_path: Path) -> None:
    # A broken folder is not on disk either: the library is asked once more, and what it says is one line.
    broken = shutil.copytree(models / "plain", tmp_path / "broken")
    (broken / "model.safetensors").unlink()
    with pytest.raises(KbError) as error:
        embed.load(f"sentence-transformers:{broken}")
    assert one_line(error).startswith(f"the embedder {str(broken)!r} is not on this disk: ")


@pytest.mark.usefixtures("models", "no_hub")
def test_a_model_that_cannot_be_fetched_is_an_error_of_ours(tmp_path: Path) -> None:
    with pytest.raises(KbError):
        embed.load(f"sentence-transformers:{tmp_path / 'nowhere'}", download=True)


def test_a_folder_of_sentence_transformers_is_found_from_elsewhere(
    models: Path, static_kb: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = shutil.copytree(static_kb, tmp_path / "a.kb")
    monkeypatch.chdir(models)
    rebuild(kb, "vectors", RebuildSettings(embedder="sentence-transformers:plain"))
    assert recorded(kb)["embedder"] == f"sentence-transformers:{models / 'plain'}"


def test_many_questions_in_threads(transformed: Path) -> None:
    questions = {str(i): f"who knows {name} {i}" for i, name in enumerate(["Ada v1", "Bob", "Cairo"] * 20)}
    with kbkit.open(transformed) as opened:
        found = opened.search_many(questions, k=4, mode="relational")
        assert found["query"].n_unique() == 60
        alone = opened.search("who knows Bob 1", k=4, mode="relational")
    assert found.filter(found["query"] == "1")["id"].to_list() == alone["id"].to_list()
