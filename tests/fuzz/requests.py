"""Random requests to ``serve``, ``explore`` and ``mcp``: any query, address, header and body, valid and hostile.

Each is answered or refused in time, without an internal error, without a character that controls a terminal, and within
the bounds of a page; answers that say that they are JSON are JSON.
"""

from __future__ import annotations

import functools
import json
import random
import re
import time
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import kbkit
from tests.fuzz import Bench, Broken
from tests.fuzz.values import HangError, shown, text, watched

REQUESTS = 20
"""Requests of a case to each server."""
_SECONDS = 3.0
"""Time limit of a query; an answer takes a few seconds more at most."""
_LONGEST = 60_000
"""Characters of an address that the client sends."""
_LARGEST = 300 * 10**6
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069]")
_TOKEN = "token"

_QUERIES = (
    "ASK {}",
    "SELECT * { ?a ?b ?c } LIMIT 3",
    "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }",
    "SELECT * { ?a ?b ?c . ?d ?e ?f FILTER(RAND() < 2) }",
    "SELECT (GROUP_CONCAT(?c) AS ?x) { ?a ?b ?c }",
    "SELECT (GROUP_CONCAT(?c) AS ?x) { ?a ?b ?c . ?d ?e ?f }",
    "CONSTRUCT { ?a ?b ?c . ?d ?e ?f } { ?a ?b ?c . ?d ?e ?f }",
    "DESCRIBE ?x { ?x ?y ?z }",
    "SELECT * { ?a (<urn:p>|!<urn:p>)* ?b }",
    "SELECT * { SERVICE <http://127.0.0.1:9/> { ?a ?b ?c } }",
    "SELECT * FROM <http://127.0.0.1:9/> { ?a ?b ?c }",
    'SELECT * { SERVICE kb:search { ?x kb:matches "river" } }',
    'SELECT * { ?a ?b ?c FILTER(REGEX(STR(?c), "(a+)+$")) }',
    'SELECT (REPLACE("aaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "(a+)+$", "b") AS ?x) {}',
    "CLEAR ALL",
    "SELECT * FROM nodes",
    "SELECT * FROM nodes a, nodes b, nodes c",
    "SELECT repeat('x', 100000000) AS x",
    "SELECT repeat('x', 1000000) FROM range(300)",
    "SELECT * FROM range(10000000000)",
    "SELECT list(range) FROM range(1000000000)",
    "SELECT * FROM '/etc/passwd'",
    "FROM path_count('/etc/passwd', 'borders')",
    "FROM path_count('edges', 'edges', 'edges', 'edges')",
    "SELECT content FROM read_text('/etc/passwd')",
    "COPY nodes TO '/tmp/x.csv'",
    "ATTACH '/tmp/x.db' AS x",
    "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT sum(n) FROM t",
    "SELECT 1; SELECT 2; DROP TABLE nodes",
    "PRAGMA database_list",
    "SET memory_limit = '1TB'",
    "country",
    "*",
    'country:"France" -> [borders] -> country',
    "(*) - (*) | (*)",
    "city -> [capital*] -> *",
    "count(country)",
    "values(country, area_km2)",
    "rivers of Africa",
    "What is the capital of France?",
    ".shell ls",
    "!ls",
)
_NODES = ("France", "country#FRA", "city:Paris", "#3", "#99999", "..", "%2e%2e", "*", "country")
_NUMBERS = ("0", "1", "-1", "3", "1e9", "99999999999999999999", "nan", "x", "")
_FIELDS: dict[str, tuple[str, ...]] = {
    "q": _QUERIES,
    "language": ("", "sql", "sparql", "answers", "search", "ask", "x"),
    "of": ("findings", "nodes", "duplicates", "x"),
    "format": ("csv", "json", "parquet", "graphml", "svg", "png", "x"),
    "node": _NODES, "ref": _NODES, "from": _NODES, "to": _NODES, "open": _NODES, "within": _NODES,
    "relation": ("borders", "capital", "x"), "type": ("country", "x"), "direction": ("out", "in", "x"),
    "mode": ("bm25", "dense", "hybrid", "auto", "relational", "x"),
    "at": _NUMBERS, "k": _NUMBERS, "more": _NUMBERS, "offset": _NUMBERS, "steps": _NUMBERS, "limit": _NUMBERS,
}  # fmt: skip
_PATHS = (
    "/", "/query", "/query/run", "/query/run", "/query/file", "/query/file", "/query/why", "/query/complete", "/search",
    "/search/reading", "/node", "/node/country/FRA", "/group", "/graph", "/graph/data", "/graph/file", "/paths",
    "/complete", "/label", "/label/draw", "/label/file", "/label/save", "/check", "/check/file", "/paths/file",
    "/types.css", "/static/graph.js", "/static/../app.py", "/nothing",
)  # fmt: skip
_TOOLS = ("schema", "search", "entry", "show", "examples", "sql", "sparql", "answers", "ask", "nothing")
_HEADERS = (
    ("Accept", ("*/*", "text/csv", "application/json", "text/turtle", "image/png", ",;q=,", "text/*;q=2")),
    ("Origin", ("http://evil.example", "null", "http://127.0.0.1:7890", "")),
    ("HX-Request", ("true",)),
    ("Sec-Fetch-Site", ("cross-site", "same-origin", "x")),
    ("Content-Type", ("application/x-www-form-urlencoded", "application/sparql-query", "text/plain", "multipart/x")),
    ("Range", ("bytes=0-1",)),
    ("HX-Current-URL", ("http://[", "x", "http://127.0.0.1/query?q=%ff")),
)


@functools.cache
def clients(world: Path) -> dict[str, Any]:
    """Return a client in this process for each server, opened once for all cases."""
    from starlette import testclient

    from kbkit.mcp import server as mcp
    from kbkit.web import app, sparql
    from kbkit.web.explore.app import application as explorer
    from kbkit.web.explore.site import PageLimits
    from kbkit.web.rules import Guard, Rules

    kb = kbkit.open(world)
    known = {
        "serve": app.application(kb, sparql.EndpointLimits(_SECONDS, 10_000)),
        "explore": explorer(kb, _TOKEN, PageLimits(timeout=_SECONDS)),
        "mcp": Guard(mcp.application(kb, mcp.ToolLimits(1_000, _SECONDS)), Rules()),
    }
    opened = {
        name: testclient.TestClient(one, base_url="http://127.0.0.1:7890", raise_server_exceptions=False)
        for name, one in known.items()
    }
    for client in opened.values():
        client.__enter__()  # its end is that of the process
    opened["explore"].get("/", params={"token": _TOKEN})
    return opened


def case(bench: Bench, seed: int) -> Iterator[Broken]:
    """Send requests to each server."""
    rng = random.Random(seed)
    for name, client in clients(bench.world).items():
        for _ in range(REQUESTS):
            request = _MAKERS[name](rng)
            about = f"{name}: {request['method']} {shown(request['url'], 400)} {shown(request['headers'])}"
            for problem in _broken_by(client, request):
                yield Broken(f"{about} {shown(request['content'], 400)}", problem)


def _broken_by(client: Any, request: dict[str, Any]) -> Iterator[str]:
    begun = time.monotonic()
    try:
        with watched():
            answer = client.request(**request, follow_redirects=False)
    except HangError:
        yield "no end after the limit of time"
        return
    except Exception as error:  # noqa: BLE001
        yield f"{type(error).__name__}: {shown(str(error), 300)}"
        return
    body, kind = answer.content, answer.headers.get("content-type", "")
    if answer.status_code >= 500 and answer.status_code not in (503, 504):
        yield f"status {answer.status_code}: {shown(body[:300])}"
    start = body[:1_000_000].decode("utf-8", "replace")
    if re.search(r"Traceback \(|Internal [Ee]rror|internal error", start):
        yield f"an internal error: {shown(start, 600)}"
    if len(body) > _LARGEST:
        yield f"{len(body):,} bytes"
    if kind.startswith(("text/html", "text/plain")) and (found := _CONTROL.search(start)):
        yield f"a control character: {shown(start[max(0, found.start() - 60) : found.end() + 20])}"
    if "json" in kind and body:
        try:
            json.loads(body, parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            yield f"invalid JSON: {error}: {shown(body[:300])}"
    if time.monotonic() - begun > _SECONDS + 20:
        yield f"{time.monotonic() - begun:.0f} s"


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _headers(rng: random.Random) -> dict[str, str]:
    chosen = [pair for pair in _HEADERS if rng.random() < 0.15]
    return {name: rng.choice(values) for name, values in chosen}


def _word(rng: random.Random, values: tuple[str, ...]) -> str:
    return text(rng) if rng.random() < 0.25 else rng.choice(values)


def _encoded(fields: list[tuple[str, str]]) -> str:
    return "&".join(f"{name}={urllib.parse.quote(value.encode('utf-8', 'surrogatepass'))}" for name, value in fields)


def _to_serve(rng: random.Random) -> dict[str, Any]:
    fields = [("query", _word(rng, _QUERIES))] * rng.choice((0, 1, 1, 1, 1, 1, 2))
    for name, values in (
        ("format", ("json", "xml", "csv", "tsv", "turtle", "jsonld", "x")),
        ("timeout", ("1", "500ms", "0", "-1", "1e9", "nan", "x")),
        ("default-graph-uri", ("urn:g", "x y", "")),
        ("named-graph-uri", ("urn:g", "<")),
        ("update", ("CLEAR ALL",)),
    ):
        if rng.random() < 0.15:
            fields.append((name, _word(rng, values)))
    rng.shuffle(fields)
    sent, headers = _encoded(fields), _headers(rng)
    method = rng.choice(("GET", "GET", "POST", "POST", "HEAD", "OPTIONS", "PUT"))
    if method == "POST":
        headers.setdefault("Content-Type", "application/x-www-form-urlencoded")
        return {"method": method, "url": "/sparql", "headers": headers, "content": sent.encode()}
    return {"method": method, "url": f"/sparql?{sent}"[:_LONGEST], "headers": headers, "content": None}


def _to_explore(rng: random.Random) -> dict[str, Any]:
    path = rng.choice(_PATHS)
    names = rng.sample(sorted(_FIELDS), rng.choice((0, 1, 2, 3, 4)))
    names += ["q", "format"] if path.startswith("/query") else ["node"] if path.startswith("/graph") else []
    fields = [(name, _word(rng, _FIELDS[name])[:20_000]) for name in names]
    if rng.random() < 0.1:
        path += "/" + urllib.parse.quote(text(rng)[:300].encode("utf-8", "surrogatepass"))
    headers, method = _headers(rng), rng.choice(("GET",) * 8 + ("POST", "HEAD"))
    content = _encoded(fields).encode() if method == "POST" else None
    return {"method": method, "url": f"{path}?{_encoded(fields)}"[:_LONGEST], "headers": headers, "content": content}


def _to_mcp(rng: random.Random) -> dict[str, Any]:
    name = rng.choice(_TOOLS)
    argument = {"search": "text", "entry": "id", "show": "id", "examples": "property", "answers": "expression"}
    value: Any = _word(rng, _NODES if name in ("entry", "show", "examples", "search") else _QUERIES)
    if rng.random() < 0.1:
        value = rng.choice((None, 3, [], {}, True, [[["x"]]] * 3))
    key = argument.get(name, "question" if name == "ask" else "query")
    arguments: Any = {} if name == "schema" else {key: value}
    if rng.random() < 0.3:
        arguments["limit"] = rng.choice((0, 1, 5, -1, 10**30, "x", 2.5, None))
    if rng.random() < 0.05:
        arguments = rng.choice(([], "x", None, {"a": arguments}))
    message: Any = {
        "jsonrpc": "2.0",
        "id": rng.choice((1, 1, 1, "x", None, -1, 1.5)),
        "method": rng.choice(("tools/call",) * 9 + ("tools/list", "resources/read", "ping", "nothing")),
        "params": {"name": name, "arguments": arguments},
    }
    content = json.dumps(message).encode()
    if rng.random() < 0.1:
        content = rng.choice(
            (content[:-9], b"[" * 20_000, b"", b"\xff", b"[" + content + b"]", content * 2, b"1" * 9_999)
        )
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if rng.random() < 0.1:
        headers |= _headers(rng)
    return {"method": "POST", "url": "/mcp", "headers": headers, "content": content}


_MAKERS: dict[str, Callable[[random.Random], dict[str, Any]]] = {
    "serve": _to_serve,
    "explore": _to_explore,
    "mcp": _to_mcp,
}
