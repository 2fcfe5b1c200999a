"""The SPARQL endpoint: through clients that are not ours, and against requests that no client should send."""

from __future__ import annotations

import contextlib
import csv
import html
import http.client
import io
import json
import random
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import kbkit
from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase
from tests.conftest import SCRIPT
from tests.wording import Wording

rdflib = pytest.importorskip("rdflib")
wrapper = pytest.importorskip("SPARQLWrapper")
testclient = pytest.importorskip("starlette.testclient")

from kbkit.web import server  # noqa: E402
from kbkit.web.app import application  # noqa: E402
from kbkit.web.negotiation import choose  # noqa: E402
from kbkit.web.rules import Guard, Rules  # noqa: E402
from kbkit.web.sparql import EndpointLimits  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:rdflib", "ignore::DeprecationWarning:SPARQLWrapper")

HOST = "http://127.0.0.1"
SELECT = "SELECT ?x ?n ?a { ?x a type:country ; rdfs:label ?n . OPTIONAL { ?x attr:area_km2 ?a } } ORDER BY ?x LIMIT 9"
GRAPH = "CONSTRUCT { ?x rdfs:label ?n } WHERE { ?x a type:country ; rdfs:label ?n }"
ENDLESS = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?o ?p FILTER(RAND() < 2) }"
"""Counts for hours, on Oxigraph: columns have no RAND."""
HUGE = "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i FILTER(RAND() < 2) }"
"""Returns more than any disk holds, without a pause, on Oxigraph."""
LONG = """SELECT (COUNT(?x) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?o ?p
  BIND(CONCAT(STR(?a), STR(?d), STR(?g), STR(?j), STR(?m)) AS ?x) FILTER(STRLEN(?x) < 3) }"""
"""Counts for hours, on columns."""


@pytest.fixture(scope="module")
def client(world: KnowledgeBase) -> Any:
    """A client in this process."""
    return testclient.TestClient(application(world), base_url=HOST, raise_server_exceptions=False)


@pytest.fixture(scope="module")
def served(world_kb: Path) -> Iterator[tuple[str, KnowledgeBase]]:
    with serving(world_kb, 20) as served:
        yield served


@contextlib.contextmanager
def serving(world_kb: Path, timeout: float | None) -> Iterator[tuple[str, KnowledgeBase]]:
    """A server of this process at a port: its address, and its KB."""
    with kbkit.open(world_kb) as kb, server.listen(0) as listening:
        running = server.server(application(kb, EndpointLimits(timeout)))
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
        thread.start()
        yield server.url(listening), kb
        running.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


def ask(served: tuple[str, KnowledgeBase], query: str, **fields: str) -> tuple[int, str]:
    """Post a query; return the status and the body."""
    data = urllib.parse.urlencode({"query": query, **fields}).encode()
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(served[0]).netloc, timeout=60)
    connection.request("POST", "/sparql", data, {"Content-Type": "application/x-www-form-urlencoded"})
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def wait_until(condition: Callable[[], bool], seconds: float = 20) -> bool:
    """Poll until the condition holds; False when it never does."""
    end, gate = time.monotonic() + seconds, threading.Event()
    while not condition():
        if time.monotonic() > end:
            return False
        gate.wait(0.02)
    return True


def expected(kb: KnowledgeBase, query: str) -> list[dict[str, str]]:
    """The rows of a query as text, without missing values."""
    rows = kb.sparql_terms(query).to_dicts()
    return [{name: term["value"] for name, term in row.items() if term is not None} for row in rows]


# -- clients that are not ours ----------------------------------------------------------------------------------------


@pytest.mark.core
@pytest.mark.parametrize(("method", "way"), [("GET", "urlencoded"), ("POST", "urlencoded"), ("POST", "postdirectly")])
def test_sparqlwrapper_gets_what_the_kb_returns(served, method: str, way: str) -> None:
    asked = wrapper.SPARQLWrapper(f"{served[0]}/sparql")
    asked.setMethod(method)
    asked.setRequestMethod(way)
    asked.setQuery(SELECT)
    rows = expected(served[1], SELECT)
    asked.setReturnFormat(wrapper.JSON)
    found = asked.query().convert()
    assert found["head"]["vars"] == ["x", "n", "a"]
    assert [{k: v["value"] for k, v in row.items()} for row in found["results"]["bindings"]] == rows
    asked.setReturnFormat(wrapper.XML)
    bindings = asked.query().convert().getElementsByTagName("result")
    assert [
        {b.getAttribute("name"): b.firstChild.firstChild.data for b in row.getElementsByTagName("binding")}
        for row in bindings
    ] == rows
    asked.setReturnFormat(wrapper.CSV)
    table = list(csv.DictReader(io.StringIO(asked.query().convert().decode())))
    assert [{k: v for k, v in row.items() if v} for row in table] == rows
    asked.setQuery("ASK { ?x a type:country }")
    asked.setReturnFormat(wrapper.JSON)
    assert asked.query().convert()["boolean"] is True


@pytest.mark.parametrize("form", ["TURTLE", "N3", "RDFXML", "JSONLD"])
@pytest.mark.parametrize("query", [GRAPH, "DESCRIBE country:FRA"])
@pytest.mark.parametrize("only", [True, False])
def test_sparqlwrapper_gets_graphs(served, form: str, query: str, only: bool) -> None:
    asked = wrapper.SPARQLWrapper(f"{served[0]}/sparql")
    asked.setOnlyConneg(only)
    asked.setQuery(query)
    asked.setReturnFormat(getattr(wrapper, form))
    got = asked.query().convert()
    graph = got if isinstance(got, rdflib.Graph) else rdflib.Graph().parse(data=got, format=form.lower())
    assert len(graph) == served[1].sparql(query).unique().height


def test_yasgui_from_a_page_of_this_machine(world: KnowledgeBase, client: Any) -> None:
    """Yasgui sends what a browser adds for a page of another origin; by default the answer is no."""
    body = {"query": SELECT}
    headers = {"Accept": "application/sparql-results+json,*/*;q=0.9", "Origin": "http://localhost:4000"}
    headers |= {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}
    asking = {**headers, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    assert client.post("/sparql", data=body, headers=headers).status_code == 403
    assert client.options("/sparql", headers=asking).status_code == 403
    rules = Rules.of(["localhost", "https://yasgui.triply.cc/"])
    allowed = testclient.TestClient(application(world, rules=rules), base_url=HOST)
    for origin in ("http://localhost:4000", "http://127.0.0.1", "https://yasgui.triply.cc"):
        preflight = allowed.options("/sparql", headers={**asking, "Origin": origin})
        assert (preflight.status_code, preflight.headers["access-control-allow-origin"]) == (204, origin)
        assert preflight.headers["access-control-allow-headers"] == "content-type"
        answer = allowed.post("/sparql", data=body, headers={**headers, "Origin": origin})
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, origin)
        assert len(answer.json()["results"]["bindings"]) == 9
    for origin in ("https://yasgui.triply.cc.evil.example", "http://localhost.evil.example", "null", "http://evil"):
        refused = allowed.post("/sparql", data=body, headers={**headers, "Origin": origin})
        assert refused.status_code == 403
        assert "access-control-allow-origin" not in refused.headers


def test_an_origin_must_be_one() -> None:
    for text in ("*", "null", "yasgui.triply.cc", "https://a.example/path", "file:///x"):
        with pytest.raises(KbError, match="Invalid origin"):
            Rules.of([text])


# -- the protocol -----------------------------------------------------------------------------------------------------

FORM = "application/x-www-form-urlencoded"
ASK = "query=ASK%7B%7D"


@pytest.mark.parametrize(
    ("method", "path", "headers", "body", "status"),
    [
        ("GET", f"?{ASK}", {}, b"", 200),
        ("POST", "", {"Content-Type": FORM}, ASK.encode(), 200),
        ("POST", "", {"Content-Type": FORM.upper() + "; charset=UTF-8"}, ASK.encode(), 200),
        ("POST", "?format=xml", {"Content-Type": FORM}, ASK.encode(), 200),
        ("POST", "", {"Content-Type": "application/sparql-query"}, b"ASK{}", 200),
        ("POST", "?default-graph-uri=http://a", {"Content-Type": "application/sparql-query"}, b"ASK{}", 200),
        ("OPTIONS", "", {}, b"", 204),
        ("HEAD", f"?{ASK}", {}, b"", 200),
        ("GET", "", {}, b"", 200),
        ("GET", "?query=ASK+%7B", {}, b"", 400),
        ("GET", "?query=", {}, b"", 400),
        ("GET", f"?{ASK}&{ASK}", {}, b"", 400),
        ("GET", f"?{ASK}&format=nonsense", {}, b"", 400),
        ("GET", f"?{ASK}&timeout=soon", {}, b"", 400),
        ("GET", f"?{ASK}&timeout=0", {}, b"", 400),
        ("GET", f"?{ASK}&default-graph-uri=not an iri", {}, b"", 400),
        ("GET", "?query=%zz", {}, b"", 400),
        ("GET", "?query=%ff", {}, b"", 400),
        ("GET", "?" + "&".join(["a=b"] * 2000), {}, b"", 400),
        ("GET", "?update=CLEAR+ALL", {}, b"", 403),
        ("GET", f"?{ASK}&update=CLEAR+ALL", {}, b"", 403),
        ("GET", "?query=CLEAR+ALL", {}, b"", 400),
        ("POST", "", {"Content-Type": "application/sparql-update"}, b"CLEAR ALL", 403),
        ("POST", "", {"Content-Type": FORM}, b"update=CLEAR+ALL", 403),
        ("POST", "", {"Content-Type": FORM}, b"", 400),
        ("POST", "", {"Content-Type": FORM}, b"query=%f", 400),
        ("POST", "", {"Content-Type": "application/sparql-query"}, b"ASK{} # \xff", 400),
        ("POST", "", {"Content-Type": "application/sparql-query; charset=latin-1"}, b"ASK{}", 415),
        ("POST", "", {"Content-Type": "text/plain"}, b"ASK{}", 415),
        ("POST", "", {}, b"ASK{}", 415),
        ("POST", "", {"Content-Type": FORM}, b"query=" + b"x" * (1 << 20), 413),
        ("PUT", "", {}, b"", 405),
        ("DELETE", "", {}, b"", 405),
        ("GET", f"?{ASK}", {"Accept": "image/png"}, b"", 406),
        ("GET", f"?{ASK}", {"Accept": "text/turtle"}, b"", 406),
        ("GET", "?query=DESCRIBE+country:FRA", {"Accept": "text/csv"}, b"", 406),
        ("GET", "", {"Accept": "image/png"}, b"", 406),
        ("GET", f"?{ASK}", {"Host": "evil.example"}, b"", 403),
        ("GET", f"?{ASK}", {"Host": "127.0.0.1.evil.example"}, b"", 403),
        ("GET", f"?{ASK}", {"Host": "127.0.0.1@evil.example"}, b"", 403),
        ("GET", f"?{ASK}", {"Host": "localhost:9"}, b"", 200),
        ("GET", f"?{ASK}", {"Origin": "http://evil.example"}, b"", 403),
        ("GET", f"?{ASK}", {"Origin": "http://localhost:1"}, b"", 403),
        ("GET", f"?{ASK}", {"Origin": "null"}, b"", 403),
        ("GET", f"?{ASK}", {"Origin": HOST}, b"", 200),
        ("GET", f"?{ASK}", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, b"", 403),
        ("GET", f"?{ASK}", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, b"", 200),
        ("GET", f"?{ASK}", {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}, b"", 200),
        pytest.param(
            "POST", "", {"Content-Type": "application/sparql-query"}, b"ASK { FILTER(1" + b"+1" * 50_000 + b") }", 503,
            marks=pytest.mark.system,
        ),
        ("GET", "?query=SELECT+*+%7B+SERVICE+<http://a.example/>+%7B+?s+?p+?o+%7D+%7D", {}, b"", 400),
    ],
)  # fmt: skip
def test_the_protocol(client: Any, wording: Wording, method: str, path: str, headers, body: bytes, status: int) -> None:
    answer = client.request(method, f"/sparql{path}", headers=headers, content=body or None)
    assert answer.status_code == status, answer.text
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    if status >= 400 and method != "HEAD":
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        assert answer.text.count("\n") == 1
        wording(answer.text, "python")


@pytest.mark.parametrize(
    ("accept", "name", "solutions", "graph"),
    [
        (None, None, "sparql-json", "turtle"),
        ("*/*", None, "sparql-json", "turtle"),
        ("text/csv", None, "sparql-csv", None),
        ("text/*", None, "sparql-xml", "turtle"),
        ("text/turtle;q=0.1, application/n-triples;q=0.9", None, None, "ntriples"),
        ("application/json", None, "sparql-json", "jsonld"),
        ("application/sparql-results+xml;q=0.5, */*;q=0.1", None, "sparql-xml", "turtle"),
        ("application/json;q=0, application/sparql-results+json;q=0, */*", None, "sparql-xml", "turtle"),
        ("text/html, application/xml;q=0.9, */*;q=0.8", None, "sparql-xml", "rdfxml"),
        ("nonsense, ;q=1, /", None, "sparql-json", "turtle"),
        ("text/csv", "json", "sparql-json", "jsonld"),
        ("text/csv", "turtle", "sparql-csv", "turtle"),
        ("image/png", "turtle", "sparql-json", "turtle"),
        (None, "application/sparql-results+xml", "sparql-xml", "turtle"),
        (None, "N-Triples", "sparql-json", "ntriples"),
    ],
)
def test_negotiation(accept: str | None, name: str | None, solutions: str | None, graph: str | None) -> None:
    choice = choose(accept, name)
    assert choice is not None
    chosen = choice.formats
    assert (chosen.solutions and chosen.solutions.name, chosen.graph and chosen.graph.name) == (solutions, graph)


def test_head_has_the_headers_of_get_and_the_end_of_the_query(client: Any, world: KnowledgeBase) -> None:
    answer = client.head("/sparql", params={"query": HUGE}, headers={"Accept": "text/csv"})
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert not world.triples.pool._busy


def test_the_description(client: Any, world: KnowledgeBase) -> None:
    sd = rdflib.Namespace("http://www.w3.org/ns/sparql-service-description#")
    forms = {"text/turtle": "turtle", "application/rdf+xml": "xml", "application/ld+json": "json-ld"}
    for media_type, form in forms.items():
        answer = client.get("/sparql", headers={"Accept": media_type})
        assert answer.headers["content-type"].split(";")[0] == media_type
        graph = rdflib.Graph().parse(data=answer.text, format=form)
        [service] = graph.subjects(rdflib.RDF.type, sd.Service)
        assert str(graph.value(service, sd.endpoint)) == f"{HOST}/sparql"
        assert len(list(graph.objects(service, sd.resultFormat))) == 8
    page = client.get("/", headers={"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"})
    assert page.headers["content-type"].startswith("text/html")
    [command] = re.findall("<pre>(.*)</pre>", page.text)
    assert "query=SELECT" in html.unescape(command)
    assert world.schema.name in page.text


def test_limits(world: KnowledgeBase) -> None:
    few = testclient.TestClient(application(world, EndpointLimits(timeout=60, rows=2)), base_url=HOST)
    answer = few.get("/sparql", params={"query": SELECT})
    assert (len(answer.json()["results"]["bindings"]), answer.headers["x-sparql-maxrows"]) == (2, "2")
    assert "x-sparql-warning" not in answer.headers
    warned = few.get("/sparql", params={"query": "SELECT ?x { ?x rel:bordres ?y }"}).headers["x-sparql-warning"]
    assert warned == "Unknown relation 'bordres' in rel:bordres. Did you mean 'borders'?"
    limited = testclient.TestClient(application(world, EndpointLimits(timeout=0.3, rows=2)), base_url=HOST)
    slow = limited.get("/sparql", params={"query": ENDLESS, "timeout": "50"})
    assert (slow.status_code, slow.text) == (
        504,
        "SPARQL query cancelled after 0.3 s. The limit of this server is 0.3 s.\n",
    )


def test_the_dataset_of_a_request(rdf_kb: Path, tmp_path: Path) -> None:
    """The graphs of a request replace those of the query."""
    data = tmp_path / "graphs.nq"
    data.write_text('<urn:a> <urn:p> "1" <urn:one> .\n<urn:a> <urn:p> "2" <urn:two> .\n<urn:a> <urn:p> "3" .\n')
    kbkit.ingest("rdf", data, out=tmp_path / "graphs.kb").close()
    with kbkit.open(tmp_path / "graphs.kb") as kb:
        asked = testclient.TestClient(application(kb), base_url=HOST)

        def values(**graphs: Any) -> list[str]:
            query = "SELECT ?v { { ?s <urn:p> ?v } UNION { GRAPH ?g { ?s <urn:p> ?v } } } ORDER BY ?v"
            rows = asked.get("/sparql", params={"query": query, "format": "csv", **graphs}).text.split()
            return rows[1:]

        everything = values()
        assert "3" in everything
        assert values(**{"default-graph-uri": "urn:one"}) == ["1"]
        assert values(**{"named-graph-uri": "urn:two"}) == ["2"]
        assert values(**{"default-graph-uri": ["urn:one", "urn:two"], "named-graph-uri": "urn:two"}) == ["1", "2", "2"]


def test_the_dialect(wikidata_kb: Path) -> None:
    query = 'SELECT ?x ?xLabel { ?x wdt:P31 wd:Q5 SERVICE wikibase:label { bd:serviceParam wikibase:language "en" } }'
    with kbkit.open(wikidata_kb) as kb:
        asked = testclient.TestClient(application(kb), base_url=HOST)
        answer = asked.post("/sparql", data={"query": query})
        found = answer.json()["results"]["bindings"]
        assert sorted(row["xLabel"]["value"] for row in found) == sorted(kb.sparql(query)["xLabel"])
        assert found[0]["xLabel"]["xml:lang"] == "en"


# -- a real socket ----------------------------------------------------------------------------------------------------


def test_only_the_loopback_is_served(served) -> None:
    with server.listen(0) as listening:
        assert listening.getsockname()[0] == "127.0.0.1"
        port = listening.getsockname()[1]
        with pytest.raises(KbError, match=f"Port {port} cannot be used"):
            server.listen(port)
    for port in (-1, 70000):
        with pytest.raises(KbError, match="Invalid port"):
            server.listen(port)


@pytest.mark.system
def test_many_at_once(served) -> None:
    """Two queries that run long do not hold up the others."""
    with ThreadPoolExecutor(18) as pool:
        slow = [pool.submit(ask, served, ENDLESS, timeout="2") for _ in range(2)]
        quick = [pool.submit(ask, served, f"SELECT ({n} AS ?n) {{}}", format="csv") for n in range(16)]
        assert [answer.result()[1].split() for answer in quick] == [["n", str(n)] for n in range(16)]
        assert {answer.result()[0] for answer in slow} == {504}


def test_a_client_with_many_requests_leaves_a_turn_to_others(served) -> None:
    address = urllib.parse.urlsplit(served[0])
    path = "/sparql?" + urllib.parse.urlencode({"query": ENDLESS})
    with contextlib.ExitStack() as flood:
        clients = [flood.enter_context(socket.create_connection((address.hostname, address.port))) for _ in range(8)]
        for client in clients:
            client.sendall(f"GET {path} HTTP/1.1\r\nHost: {address.netloc}\r\nUser-Agent: flood\r\n\r\n".encode())
        assert wait_until(lambda: len(served[1].triples.pool._busy) == 3)
        assert ask(served, "ASK {}")[0] == 200
        for client in clients:  # all still wait
            client.setblocking(False)
            with pytest.raises(BlockingIOError):
                client.recv(1)
    assert wait_until(lambda: not served[1].triples.pool._busy)


@pytest.mark.parametrize("query", [ENDLESS, HUGE])
def test_a_client_that_leaves_cancels_its_query(served, query: str) -> None:
    address = urllib.parse.urlsplit(served[0])
    pool = served[1].triples.pool
    with socket.create_connection((address.hostname, address.port)) as client:
        path = "/sparql?" + urllib.parse.urlencode({"query": query})
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: {address.netloc}\r\n\r\n".encode())
        assert wait_until(lambda: bool(pool._busy))
        [process] = pool._busy
    assert wait_until(lambda: process.poll() is not None)
    assert ask(served, "ASK {}")[0] == 200


def test_a_query_on_columns_has_a_time_limit(served) -> None:
    assert ask(served, LONG, timeout="1")[0] == 504
    assert ask(served, "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f }", format="csv")[0] == 200


def test_a_result_that_breaks_off_is_seen_to_be_incomplete(served) -> None:
    with pytest.raises(http.client.IncompleteRead):
        ask(served, HUGE, timeout="3")
    assert wait_until(lambda: not served[1].triples.pool._busy)


@pytest.mark.system
@pytest.mark.parametrize("timeout", [1, None])
def test_clients_that_do_not_read_are_cut(world_kb: Path, monkeypatch: pytest.MonkeyPatch, timeout: int | None) -> None:
    """They hold all turns no longer than the time limit, and without one, no longer than a client may stall."""
    monkeypatch.setattr(server, "STALLED", 0.5)
    data = urllib.parse.urlencode({"query": HUGE}).encode()
    head = f"POST /sparql HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {FORM}\r\nContent-Length: {len(data)}\r\n\r\n"
    with serving(world_kb, timeout) as served, contextlib.ExitStack() as clients:
        address = urllib.parse.urlsplit(served[0])
        stalled = []
        for _ in range(8):
            client = clients.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect((address.hostname, address.port))
            client.sendall(head.encode() + data)
            stalled.append(client)
        began = time.monotonic()
        assert ask(served, "ASK { ?a ?b ?c }")[0] == 200
        assert time.monotonic() - began < 10
        assert wait_until(lambda: not served[1].triples.pool._busy)
        for client in stalled:  # all that was sent is a part of the result
            client.settimeout(10)
            with contextlib.suppress(ConnectionResetError):
                while client.recv(1 << 16):
                    pass


def test_a_shortage_in_an_engine_is_named() -> None:
    from starlette.testclient import TestClient

    class PanicException(BaseException):
        pass

    async def panicking(*_: object) -> None:
        raise PanicException("failed to spawn thread: Resource temporarily unavailable")

    answer = TestClient(Guard(panicking, Rules()), base_url="http://127.0.0.1").get("/")
    assert answer.status_code == 503
    assert answer.text.startswith("Too many threads. Close other programs")


def test_200_malformed_requests(served) -> None:
    """Each is refused or answered, without an internal error, and the server goes on."""
    rng = random.Random(21)
    address = urllib.parse.urlsplit(served[0])
    statuses = set()
    for number in range(200):
        with socket.create_connection((address.hostname, address.port), timeout=30) as client:
            client.sendall(malformed(rng, address.netloc))
            client.shutdown(socket.SHUT_WR)
            received = b""
            while part := client.recv(1 << 16):
                received += part
        assert b"Traceback" not in received
        assert b"Internal" not in received
        statuses.add(received[9:12].decode() if received else "")
        assert not statuses & {"500", "503"}, (number, received[:500])
    assert "400" in statuses
    assert ask(served, "ASK {}")[0] == 200


def malformed(rng: random.Random, host: str) -> bytes:
    """A request in which one or two parts are wrong."""
    noise = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 60)))
    word = rng.choice(
        [noise, b"SELECT * {", b"%", b"%00", b"'" * 50, b"{" * 5000, b"\\u0000", b"((((", "é".encode(), b""]
    )
    path = (
        rng.choice([b"/sparql?query=", b"/sparql?", b"/", b"/../..", b"//", b"", b"/sparql?default-graph-uri="]) + word
    )
    method = rng.choice([b"GET", b"POST", b"HEAD", b"OPTIONS", b"PUT", b"get", b"QUERY", noise[:9]])
    kind = rng.choice([FORM.encode(), b"application/sparql-query", b"multipart/form-data", noise, b"", b";;;"])
    body = rng.choice([b"query=" + word, word, noise, b"", b"&" * 5000, b"query=%", b"timeout=1e9&query=ASK{}"])
    length = rng.choice([len(body), len(body), len(body) + 9, 0, -1, "x", "9" * 30])
    headers = [
        b"Host: " + rng.choice([host.encode(), host.encode(), host.encode(), b"", noise, b"a:b:c"]),
        b"Content-Type: " + kind,
        b"Content-Length: " + str(length).encode(),
        b"Accept: " + rng.choice([b"*/*", noise, b"a/b;q=9,,,;", b"text/csv;q=1.0000", b"," * 3000]),
        rng.choice([b"X: y", noise, b"Transfer-Encoding: chunked", b"Origin: " + noise, b"Expect: 100-continue"]),
    ]
    rng.shuffle(headers)
    version = rng.choice([b"HTTP/1.1", b"HTTP/1.1", b"HTTP/1.1", b"HTTP/1.0", b"HTTP/9", noise])
    head = b" ".join([method, path, version])
    return b"\r\n".join([head, *headers[: rng.randrange(1, 6)], b"Connection: close", b"", body])


@pytest.mark.system
@pytest.mark.core
def test_the_command(world_kb: Path) -> None:
    """It prints its address and a command to copy, and ends at once on Ctrl-C, even while a query runs."""
    command = [str(SCRIPT), "serve", str(world_kb), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline().strip()
        assert re.fullmatch(r"world: http://127\.0\.0\.1:\d+/sparql", line)
        url = line.partition(" ")[2]
        with urllib.request.urlopen(f"{url}?{urllib.parse.urlencode({'query': SELECT})}") as answer:
            assert len(json.load(answer)["results"]["bindings"]) == 9
        address = urllib.parse.urlsplit(url)
        with socket.create_connection((address.hostname, address.port)) as client:
            path = "/sparql?" + urllib.parse.urlencode({"query": ENDLESS})
            client.sendall(f"GET {path} HTTP/1.1\r\nHost: {address.netloc}\r\n\r\n".encode())
            began = time.monotonic()
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=20)
        assert (process.returncode, out) == (0, "")
        assert time.monotonic() - began < 10
    notes = err.splitlines()
    assert [note.split(" ")[0] for note in notes] == ["curl", "Press"]


@pytest.mark.parametrize(
    "args", [("--port", "70000"), ("--allow-origin", "*"), ("--timeout", "-1"), ("--dialect", "cypher")]
)
def test_errors_of_the_command(here, world_kb: Path, wording: Wording, args: tuple[str, ...]) -> None:
    done = here("serve", world_kb, *args)
    assert (done.returncode, done.stdout) == (1, "")
    wording(done.stderr, "cli")
