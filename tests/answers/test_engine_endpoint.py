"""Answers on SPARQL endpoints: all test cases through the protocol, on two servers; and servers that misbehave."""

from __future__ import annotations

import gzip
import json
import shutil
import socket
import subprocess
import sys
import threading
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

import kbkit
from kbkit.answers.engines.sparql_endpoint import Endpoint, ids_of_iris
from kbkit.errors import KbError, QueryError, QueryTimeoutError
from kbkit.export import export
from kbkit.kb import KnowledgeBase
from kbkit.stores import ntriples, triples
from tests.answers.test_cases import REFUSED, read
from tests.loopback import Loopback
from tests.wording import Wording

OXIGRAPH = shutil.which("oxigraph", path=str(Path(sys.executable).parent))


def dump(kb: KnowledgeBase, folder: Path) -> Path:
    """The triples of a KB that does not come from RDF, as a user exports them."""
    export(kb, "ntriples", folder / "kb.nt")
    return folder / "kb.nt"


class Server(Loopback):
    """HTTP on the loopback: ``reply`` makes (status, bytes, headers) of a request's form."""

    def __init__(self, reply: Any) -> None:
        make = reply if callable(reply) else lambda _: reply
        super().__init__(lambda asked: make(urllib.parse.parse_qs(asked.body.decode(), strict_parsing=True)))
        self.url = f"{self.base}/sparql"


def store_of(kb: KnowledgeBase, folder: Path) -> ox.Store:
    store = ox.Store()
    if not kb.schema.rdf_source:
        store.bulk_load(path=dump(kb, folder))
        return store
    with gzip.open(kb.folder / triples.QUADS) as quads:
        store.bulk_load(input=quads.read(), format=ox.RdfFormat.N_QUADS)
    tables = ox.NamedNode(ntriples.TABLES_GRAPH)
    for graph, queries in ((ox.DefaultGraph(), ntriples.queries), (tables, ntriples.table_queries)):
        for query in queries(kb.schema):
            for batch in kb.tables.batches(query):
                text = "".join(batch.column(0).to_pylist()).encode()
                store.bulk_load(input=text, format=ox.RdfFormat.N_TRIPLES, to_graph=graph)
    return store


@contextmanager
def endpoint_of(kb: KnowledgeBase, folder: Path) -> Iterator[Server]:
    """An endpoint that speaks the protocol over a fresh store, which knows no prefixes."""
    store = store_of(kb, folder)

    def reply(form: dict[str, list[str]]) -> tuple[int, bytes, dict[str, str]]:
        [query] = form["query"]
        body = store.query(query).serialize(format=ox.QueryResultsFormat.JSON)
        return 200, body, {"Content-Type": "application/sparql-results+json"}

    with Server(reply) as server:
        yield server


@pytest.fixture(autouse=True)
def direct(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def assert_same(kb: KnowledgeBase, engine: Endpoint, name: str) -> None:
    """Assert that the endpoint gives the answers in the file of cases."""
    nodes = kb.tables.lookup("SELECT type || '#' || key AS reference FROM nodes ORDER BY id")["reference"].to_list()
    nodes = [node.replace("http://example.org/tiny/", "") for node in nodes]  # as the cases of rdf.txt say it
    wrong, asked = [], 0
    for text, slots, expected in read(name):
        if expected == REFUSED:
            continue
        asked += 1
        answers = kb.answers(text, slots=slots)
        got = {nodes[i] for i in engine.ids(answers, kb.session, 30).tolist()}
        if got != expected:
            wrong.append((text, got, expected))
    assert wrong == []
    assert asked > 15


@pytest.mark.parametrize("name", ["tiny", "world"])
def test_all_cases(name: str, small: KnowledgeBase, world: KnowledgeBase, tmp_path: Path) -> None:
    kb = small if name == "tiny" else world
    with endpoint_of(kb, tmp_path) as server:
        assert_same(kb, Endpoint(server.url), f"{name}.txt")


@pytest.mark.system
@pytest.mark.skipif(OXIGRAPH is None, reason="the package oxigraph (a SPARQL server) is not installed")
def test_all_cases_on_an_oxigraph_server(world: KnowledgeBase, tmp_path: Path) -> None:
    location = str(tmp_path / "store")
    load = [str(OXIGRAPH), "load", "--location", location, "--file", str(dump(world, tmp_path))]
    subprocess.run(load, check=True, capture_output=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        bind = f"127.0.0.1:{free.getsockname()[1]}"
    command = [str(OXIGRAPH), "serve-read-only", "--location", location, "--bind", bind]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            assert any("Listening" in line for line in server.stderr)
            assert_same(world, Endpoint(f"http://{bind}/query"), "world.txt")
        finally:
            server.kill()


def test_all_cases_of_an_rdf_source(rdf_kb: Path, tmp_path: Path) -> None:
    with kbkit.open(rdf_kb) as kb, endpoint_of(kb, tmp_path) as server:
        assert_same(kb, Endpoint(server.url), "rdf.txt")
        assert ids_of_iris([], kb.session, "URL").tolist() == []


def test_saved_sets_are_sent_with_the_query(tiny_kb: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_kb, tmp_path / "tiny.kb")
    with kbkit.open(tmp_path / "tiny.kb") as kb:
        kb.answers('drug#1 | drug#"a/b c"').save("mine")
        with endpoint_of(kb, tmp_path) as server:
            assert Endpoint(server.url).ids(kb.answers("@mine - drug#1"), kb.session).tolist() == [
                kb.find("drug#a/b c")
            ]


# -- what is sent -----------------------------------------------------------------------------------------------------


def results(*values: dict[str, str]) -> tuple[int, bytes, dict[str, str]]:
    body = {"head": {"vars": ["answer"]}, "results": {"bindings": [{"answer": value} for value in values]}}
    return 200, json.dumps(body).encode(), {"Content-Type": "application/sparql-results+json"}


def test_no_key_is_sent(monkeypatch: pytest.MonkeyPatch, small: KnowledgeBase) -> None:
    monkeypatch.setenv("KBKIT_API_KEY", "sk-secret")
    with Server(results()) as server:
        assert Endpoint(server.url).ids(small.answers("drug"), small.session).tolist() == []
        Endpoint(server.url, "study/1.0 (me@example.org)").ids(small.answers("drug"), small.session)
    first, second = (asked.headers for asked in server.asked)
    assert "sk-secret" not in str(first)
    assert first["Accept"] == "application/sparql-results+json"
    assert first["User-Agent"].startswith("kbkit/")
    assert second["User-Agent"] == "study/1.0 (me@example.org)"


@pytest.mark.core
def test_duplicate_answers(small: KnowledgeBase) -> None:
    iri = {"type": "uri", "value": small.iri("drug#1")}
    with Server(results(iri, iri)) as server:
        assert Endpoint(server.url).ids(small.answers("drug"), small.session).tolist() == [small.find("drug#1")]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["http://example.org/x"], "1 answers, 1 of them not in this KB: http://example.org/x"),
        (["+drug/1", "+drug/nobody"], "2 answers, 1 of them not in this KB: +drug/nobody"),
        (["b0", "+drug/2%"], "2 answers, 2 of them not in this KB: b0, ..."),
        (["x" * 40 + "drug/1"], "1 answers, 1 of them not in this KB: " + "x" * 40 + "drug/1"),
    ],
)  # fmt: skip
def test_unknown_answers_are_counted(small: KnowledgeBase, values: list[str], said: str) -> None:
    base = small.schema.base
    given = results(*({"type": "uri", "value": v.replace("+", base)} for v in values))
    with Server(given) as server, pytest.raises(KbError) as error:
        Endpoint(server.url).ids(small.answers("drug"), small.session)
    assert error.value.message == f"{server.url} returned " + said.replace("+", base)
    assert "kbkit export KB -f ntriples" in error.value.hint


# -- servers that misbehave -------------------------------------------------------------------------------------------

HTML = b"<html>\n<body>no</body></html>"
WHOLE = results()[1]


JSON = {"Content-Type": "application/sparql-results+json"}
TWO = b'{"head": {"vars": ["a", "b"]}, "results": {"bindings": []}}'
ELSEWHERE = {"Location": "http://other.example/\x1b[31m"}


@pytest.mark.parametrize(
    ("reply", "fact"),
    [
        pytest.param((500, b"Timeout:\n late", {}), "500", id="500"),
        pytest.param((400, HTML, {}), "400", id="400"),
        pytest.param((401, b"", {}), "401", id="401"),
        pytest.param((302, b"", ELSEWHERE), "302", id="302"),
        pytest.param((200, HTML, {"Content-Type": "text/html; charset=utf-8"}), "text/html", id="html"),
        pytest.param((200, WHOLE[:-3], JSON), "incomplete", id="cut"),
        pytest.param((200, b"[" * 100_000, JSON), "incomplete", id="deep"),
        pytest.param((200, b"[1, 2]", JSON), "not SPARQL results", id="list"),
        pytest.param((200, b"null", JSON), "not SPARQL results", id="null"),
        pytest.param((200, b'{"boolean": true, "head": {}}', JSON), "not SPARQL results", id="ask"),
        pytest.param((200, TWO, JSON), "not SPARQL results", id="two variables"),
    ],
)  # fmt: skip
def test_invalid_responses(small: KnowledgeBase, reply: Any, fact: str, wording: Wording) -> None:
    with Server(reply) as server, pytest.raises(KbError) as error:
        Endpoint(server.url).ids(small.answers("drug"), small.session, 20)
    assert server.url in error.value.message
    assert fact in error.value.message
    assert "\n" not in str(error.value)
    wording(str(error.value), replace={server.url: "URL"})
    assert len(server.asked) == 1


def test_an_answer_that_ends_early(small: KnowledgeBase) -> None:
    reply = (200, WHOLE[:-3], {**JSON, "Content-Length": str(len(WHOLE))})
    with Server(reply) as server, pytest.raises(KbError) as error:
        Endpoint(server.url).ids(small.answers("drug"), small.session, 20)
    assert server.url in error.value.message
    assert "IncompleteRead(" in error.value.message


def test_no_server(small: KnowledgeBase) -> None:
    with socket.socket() as taken:  # bound, and not listening
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/"
        with pytest.raises(KbError, match="refused"):
            Endpoint(url).ids(small.answers("drug"), small.session, 20)


def test_an_endpoint_that_never_responds_times_out(small: KnowledgeBase) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        with pytest.raises(QueryTimeoutError, match=r"0\.2 s"):
            Endpoint(url).ids(small.answers("drug"), small.session, 0.2)


def test_an_endpoint_that_responds_slowly_times_out(small: KnowledgeBase) -> None:
    """The server sends a space every 20 ms."""
    stop = threading.Event()

    def drip(client: socket.socket) -> None:
        with client:
            client.recv(65536)
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n")
            try:
                while not stop.wait(0.02):
                    client.sendall(b" ")
            except OSError:
                pass

    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        thread = threading.Thread(target=lambda: drip(server.accept()[0]))
        thread.start()
        try:
            with pytest.raises(QueryTimeoutError, match=r"0\.3 s"):
                Endpoint(url).ids(small.answers("drug"), small.session, 0.3)
        finally:
            stop.set()
            thread.join()


@pytest.mark.parametrize("url", ["localhost:7878", "ftp://x/y", "file:///etc/passwd", "http://me:secret@x/"])
def test_invalid_addresses(url: str, wording: Wording) -> None:
    with pytest.raises(KbError) as error:
        Endpoint(url)
    assert "secret" not in str(error.value)
    wording(str(error.value))


def test_a_user_agent_is_one_plain_line() -> None:
    with pytest.raises(KbError, match="user agent"):
        Endpoint("http://x/", "a\r\nAuthorization: b")


def test_query_errors_are_of_their_kind(small: KnowledgeBase) -> None:
    with Server((200, HTML, {"Content-Type": "text/html"})) as server, pytest.raises(QueryError):
        Endpoint(server.url).ids(small.answers("drug"), small.session)
