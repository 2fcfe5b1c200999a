"""kbkit fetch: from a server on the loopback that does everything a server can do wrong."""

from __future__ import annotations

import errno
import hashlib
import http.server
import io
import json
import random
import re
import shlex
import socket
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kbkit
from kbkit.display.progress import Event
from kbkit.errors import BadInputError, KbError, UnknownNameError, without_passwords
from kbkit.ingestion import recipe as recipes
from kbkit.ingestion.fetch import Fetched, InterruptedFetchError, fetch
from tests.kbs import mentions
from tests.wording import Wording

DATA = random.Random(7).randbytes(200_000)
OTHER = random.Random(8).randbytes(200_000)
DATE = "Sat, 21 Nov 2026 10:00:00 GMT"


# -- a server that can be told to misbehave ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """What the server sends: ``cut`` bytes of ``body`` and then nothing, or all of it."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    cut: int | None = None
    stall: bool = False

    def with_headers(self, **headers: str | None) -> Answer:
        """Other headers; None takes one away. Underscores stand for hyphens."""
        changed = {name.replace("_", "-"): value for name, value in headers.items()}
        kept = {**self.headers, **changed}
        return replace(self, headers={name: value for name, value in kept.items() if value is not None})


Fault = Callable[[Answer], Answer]


@dataclass
class Site:
    """Files by their path; ``faults`` spoil the answers, one request after another."""

    address: str = ""
    files: dict[str, bytes] = field(default_factory=dict, repr=False)
    etag: str | None = '"v1"'
    modified: str | None = None
    faults: list[Fault] = field(default_factory=list)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    resume: threading.Event = field(default_factory=threading.Event)

    def answer(self, path: str, headers: Mapping[str, str]) -> Answer:
        """What a server that knows RFC 9110 says."""
        if path not in self.files:
            return Answer(404, {"Content-Length": "0"})
        body = self.files[path]
        sent = {"ETag": self.etag, "Last-Modified": self.modified}
        about = {name: value for name, value in sent.items() if value is not None}
        wanted = re.fullmatch(r"bytes=(\d+)-", headers.get("Range", ""))
        if not wanted or headers.get("If-Range", self.etag) not in (self.etag, self.modified):
            return Answer(200, {**about, "Content-Length": str(len(body))}, body)
        start = int(wanted[1])
        if start >= len(body):
            return Answer(416, {"Content-Range": f"bytes */{len(body)}", "Content-Length": "0"})
        extent = f"bytes {start}-{len(body) - 1}/{len(body)}"
        return Answer(206, {**about, "Content-Range": extent, "Content-Length": str(len(body) - start)}, body[start:])

    def ranges(self) -> list[tuple[str | None, str | None]]:
        """``Range`` and ``If-Range`` of every request."""
        return [(headers.get("Range"), headers.get("If-Range")) for _, headers in self.requests]


class Handler(http.server.BaseHTTPRequestHandler):
    site: Site

    def do_GET(self) -> None:
        site = self.site
        site.requests.append((self.path, dict(self.headers)))
        answer = site.answer(self.path, self.headers)
        if site.faults:
            answer = site.faults.pop(0)(answer)
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.body[: answer.cut])
        if answer.stall:
            self.wfile.flush()
            site.resume.wait(30)

    def log_message(self, *args: Any) -> None:
        pass


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *args: Any) -> None:
        pass  # a client that hangs up is no news


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    made = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


@pytest.fixture
def site(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    made = Handler.site = Site(f"http://127.0.0.1:{server.server_port}", {"/data.bin": DATA})
    yield made
    made.resume.set()


def cut(after: int) -> Fault:
    return lambda answer: replace(answer, cut=after)


def says(answer: Answer) -> Fault:
    return lambda _: answer


def status(code: int, **headers: str) -> Fault:
    return says(Answer(code, {"Content-Length": "0"}).with_headers(**headers))


def whole(answer: Answer) -> Answer:
    """As of a server that has not heard of ranges."""
    return Answer(200, {"ETag": '"v1"', "Content-Length": str(len(DATA))}, DATA)


def chunked(body: bytes, name: str = '"v1"') -> Answer:
    """A body of unknown length; the server speaks HTTP/1.0, where it ends with the connection."""
    return Answer(200, {"ETag": name}, body)


# -- recipes of one's own ---------------------------------------------------------------------------------------------

TOML = 'title = "t"\nget = "ask the publisher"\n[files.people]\nmatch = ["people.csv"]\n'
SQL = (
    "CREATE TABLE nodes AS SELECT id AS key FROM people;"
    "CREATE TABLE edges AS SELECT id AS head, 'r' AS relation, id AS tail FROM people;"
)


def write_recipe(folder: Path, *downloads: Mapping[str, object], toml: str = TOML) -> str:
    """A recipe with these downloads; its path, as a user gives it."""
    folder.mkdir(exist_ok=True)
    # A text of JSON is one of TOML too.
    tables = ["[[downloads]]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in table.items()) for table in downloads]
    (folder / "recipe.toml").write_text(toml + "\n".join(tables), encoding="utf-8")
    (folder / "load.sql").write_text(SQL)
    return str(folder)


Get = Callable[..., list[Fetched]]


@pytest.fixture
def get(site: Site, tmp_path: Path) -> Get:
    """Fetch ``data.bin``, of a recipe that says ``known`` of it; a failure gets ``tries`` - 1 more, at once."""

    def call(known: Mapping[str, object] | None = None, tries: int = 1, **more: Any) -> list[Fetched]:
        download = {"url": f"{site.address}/data.bin", **(known or {})}
        source = write_recipe(tmp_path / "mine", download)
        return fetch(source, tmp_path / "to", waits=(0,) * (tries - 1), **more)

    return call


def refused(call: Callable[[], object], kind: type[KbError] = KbError) -> str:
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


def left(folder: Path) -> dict[str, int]:
    """The files in a folder, with their sizes."""
    return {p.relative_to(folder).as_posix(): p.stat().st_size for p in sorted(folder.rglob("*")) if p.is_file()}


SHA = {"sha256": hashlib.sha256(DATA).hexdigest()}


# -- what goes well ---------------------------------------------------------------------------------------------------


@pytest.mark.core
def test_a_file_is_fetched_once(site: Site, get: Get, tmp_path: Path) -> None:
    events: list[Event] = []
    path = tmp_path / "to" / "data.bin"
    assert get({"bytes": len(DATA), **SHA}, listener=events.append) == [Fetched(path, len(DATA), new=True)]
    assert path.read_bytes() == DATA
    assert left(tmp_path / "to") == {"data.bin": len(DATA)}
    fetched = [event for event in events if event.stage == "data.bin"]
    assert fetched[0] == Event("data.bin", 0, len(DATA))
    assert fetched[-1] == Event("data.bin", len(DATA), len(DATA))
    assert [event.done for event in fetched] == sorted(event.done for event in fetched)
    assert events[-1] == Event("check data.bin", len(DATA), len(DATA))
    assert get({"bytes": len(DATA), **SHA}) == [Fetched(path, len(DATA), new=False)]
    path.with_name("data.bin.part.json").write_text("{}")  # of a call that was killed in its last moment
    assert get() == [Fetched(path, len(DATA), new=False)]
    assert left(tmp_path / "to") == {"data.bin": len(DATA)}
    assert len(site.requests) == 1


def test_the_request_says_who_asks_and_no_more(site: Site, get: Get, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KBKIT_API_KEY", "secret")
    get()
    _, headers = site.requests[0]
    assert headers.pop("Host") == site.address.removeprefix("http://")
    assert headers == {
        "User-Agent": f"kbkit/{kbkit.__version__}",
        "Accept": "*/*",
        "Accept-Encoding": "identity",
        "Connection": "close",
    }


def test_names_and_parts(site: Site, tmp_path: Path, wording: Wording) -> None:
    site.files = {"/a%20b.csv": b"one", "/x?v=2": b"two", "/about": b"three", "/empty": b""}
    source = write_recipe(
        tmp_path / "mine",
        {"url": f"{site.address}/a%20b.csv", "part": "prime"},
        {"url": f"{site.address}/x?v=2", "name": "mag/deep/x.csv", "part": "mag"},
        {"url": f"{site.address}/about"},
        {"url": f"{site.address}/empty", "part": "mag", "bytes": 0},
    )
    fetch(source, tmp_path / "prime", ["prime"])
    assert left(tmp_path / "prime") == {"a b.csv": 3, "about": 5}
    fetch(source, tmp_path / "mag", ["mag"])
    assert left(tmp_path / "mag") == {"about": 5, "empty": 0, "mag/deep/x.csv": 3}
    fetched = fetch(source, tmp_path / "all" / "of" / "it")
    assert [file.path.name for file in fetched] == ["a b.csv", "x.csv", "about", "empty"]
    before = len(site.requests)
    message = refused(lambda: fetch(source, tmp_path / "none", ["mga"]), UnknownNameError)
    wording(mentions(message, "'mga' | 'mag'"), replace={str(tmp_path): "DIR", site.address: "SITE"})
    assert len(site.requests) == before
    assert not (tmp_path / "none").exists()


def test_a_part_of_a_recipe_that_has_none(get: Get, wording: Wording) -> None:
    wording(mentions(refused(lambda: get(parts=["x"])), "'x'"))


def test_a_body_without_a_length(site: Site, get: Get, tmp_path: Path) -> None:
    site.faults = [says(chunked(DATA))]
    get()
    assert (tmp_path / "to" / "data.bin").read_bytes() == DATA


# -- what is there already --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({"bytes": 5}, "3 | 5"),
        (SHA, f"{hashlib.sha256(b'old').hexdigest()} | {SHA['sha256']}"),
    ],
)
def test_another_file_in_its_place_is_left_alone(
    site: Site, get: Get, tmp_path: Path, known: dict[str, object], expected: str, wording: Wording
) -> None:
    (tmp_path / "to").mkdir()
    path = tmp_path / "to" / "data.bin"
    path.write_bytes(b"old")
    wording(
        mentions(refused(lambda: get(known)), f"{path} | {expected}"),
        replace={str(tmp_path): "DIR", site.address: "SITE"},
    )
    assert path.read_bytes() == b"old"
    assert site.requests == []


def test_a_folder_in_its_place(get: Get, tmp_path: Path, wording: Wording) -> None:
    (tmp_path / "to" / "data.bin").mkdir(parents=True)
    path = tmp_path / "to" / "data.bin"
    wording(mentions(refused(get), f"{path}"), replace={str(tmp_path): "DIR"})


def test_a_file_in_place_of_the_folder(get: Get, tmp_path: Path, wording: Wording) -> None:
    (tmp_path / "to").write_text("x")
    wording(
        mentions(refused(get, BadInputError), f"{tmp_path / 'to'} | another folder"), replace={str(tmp_path): "DIR"}
    )


# -- cut and resumed --------------------------------------------------------------------------------------------------


def test_a_cut_connection_is_taken_up_where_it_broke(site: Site, get: Get, tmp_path: Path) -> None:
    site.faults = [cut(1000), cut(500)]
    get(SHA, tries=3)
    assert (tmp_path / "to" / "data.bin").read_bytes() == DATA
    assert site.ranges() == [(None, None), ("bytes=1000-", '"v1"'), ("bytes=1500-", '"v1"')]


def test_a_later_call_goes_on(site: Site, get: Get, tmp_path: Path, wording: Wording) -> None:
    site.faults = [cut(1000)]
    message = refused(get)
    wording(
        mentions(message, f"{site.address} | /data.bin | 1,000 | 200,000"),
        replace={str(tmp_path): "DIR", site.address: "SITE"},
    )
    assert left(tmp_path / "to").keys() == {"data.bin.part", "data.bin.part.json"}
    events: list[Event] = []
    get(listener=events.append)
    assert events[0] == Event("data.bin", 1000, 200_000)
    assert left(tmp_path / "to") == {"data.bin": 200_000}
    assert (tmp_path / "to" / "data.bin").read_bytes() == DATA
    assert site.ranges()[1] == ("bytes=1000-", '"v1"')


def test_tries_are_bounded_and_renewed_by_what_they_bring(
    site: Site, get: Get, tmp_path: Path, wording: Wording
) -> None:
    site.files["/data.bin"] = big = random.Random(9).randbytes(5 << 20)
    site.faults = [cut(3 << 19)] * 4  # each brings more than a megabyte
    get(tries=2)
    assert (tmp_path / "to" / "data.bin").read_bytes() == big
    site.requests.clear()
    (tmp_path / "to" / "data.bin").unlink()
    # From the start each time, and so nothing new after the first time.
    site.faults = [lambda a: replace(a.with_headers(ETag=None), cut=3 << 19)] * 9
    message = refused(lambda: get(tries=3))
    wording(mentions(message, "1,572,864 | 5,242,880"), replace={str(tmp_path): "DIR", site.address: "SITE"})
    assert len(site.requests) == 3


def test_a_server_that_ignores_ranges(site: Site, get: Get, tmp_path: Path) -> None:
    site.faults = [cut(1000), whole]
    get(tries=2)
    assert (tmp_path / "to" / "data.bin").read_bytes() == DATA
    assert site.ranges()[1] == ("bytes=1000-", '"v1"')


def test_a_file_that_changed_meanwhile(site: Site, get: Get, tmp_path: Path) -> None:
    site.faults = [cut(1000)]
    refused(get)
    site.files["/data.bin"], site.etag = OTHER[:5000], '"v2"'
    get()
    assert (tmp_path / "to" / "data.bin").read_bytes() == OTHER[:5000]


def test_a_file_that_changed_where_the_server_ignores_if_range(
    site: Site, get: Get, tmp_path: Path, wording: Wording
) -> None:
    site.faults = [cut(1000), lambda a: a.with_headers(ETag='"v2"')]
    wording(
        mentions(refused(lambda: get(tries=2)), f"{site.address}/data.bin"),
        replace={str(tmp_path): "DIR", site.address: "SITE"},
    )
    assert left(tmp_path / "to") == {}
    get()
    assert (tmp_path / "to" / "data.bin").read_bytes() == DATA


def test_the_date_serves_where_there_is_no_strong_tag(site: Site, get: Get, tmp_path: Path) -> None:
    site.etag, site.modified, site.faults = 'W/"v1"', DATE, [cut(1000)]
    get(tries=2)
    assert (tmp_path / "to" / "data.bin").read_bytes() == DATA
    assert site.ranges()[1] == ("bytes=1000-", DATE)


@pytest.mark.parametrize("etag", [None, 'W/"v1"', "v1", '"v\t1"', '"v1"\r\n X-Injected: 1', '"é"'])
def test_what_cannot_be_told_apart_starts_over(site: Site, get: Get, tmp_path: Path, etag: str | None) -> None:
    site.etag, site.faults = etag, [cut(1000)]
    get(tries=2)
    assert (tmp_path / "to" / "data.bin").read_bytes() == DATA
    assert site.ranges() == [(None, None), (None, None)]


@pytest.mark.parametrize(
    "state",
    [
        "", "[]", "{}", "nul", "[" * 100_000, b"\xff", "HERE\r\nX: y", "HERE\n\tX: y",
        '{"url": "http://example.org/", "validator": "\\"v1\\"", "bytes": null}',
    ],
)  # fmt: skip
def test_a_state_that_is_not_ours_starts_over(site: Site, get: Get, tmp_path: Path, state: str | bytes) -> None:
    site.faults = [cut(1000)]
    refused(get)
    if isinstance(state, str) and state.startswith("HERE"):
        state = json.dumps({"url": f"{site.address}/data.bin", "validator": '"v1"' + state[4:], "bytes": None})
    (tmp_path / "to" / "data.bin.part.json").write_bytes(state if isinstance(state, bytes) else state.encode())
    get()
    assert (tmp_path / "to" / "data.bin").read_bytes() == DATA
    assert site.ranges()[1] == (None, None)
    assert "X" not in site.requests[1][1]


@pytest.mark.parametrize(
    "extent",
    [
        None, "bytes 0-199999/200000", "bytes 1001-199999/200000", "bytes */200000", "bytes 1000-", "pages 1-2/3",
        "bytes " + "9" * 5000,
    ],
)  # fmt: skip
def test_a_wrong_range_starts_over(site: Site, get: Get, tmp_path: Path, extent: str | None) -> None:
    site.faults = [cut(1000), lambda a: a.with_headers(Content_Range=extent)]
    get(tries=3)
    assert (tmp_path / "to" / "data.bin").read_bytes() == DATA
    assert site.ranges() == [(None, None), ("bytes=1000-", '"v1"'), (None, None)]


def test_a_range_that_nobody_asked_for(site: Site, get: Get, tmp_path: Path) -> None:
    part = Answer(206, {"Content-Range": "bytes 0-9/200000", "Content-Length": "10"}, DATA[:10])
    site.faults = [says(part)]
    get(tries=2)
    assert (tmp_path / "to" / "data.bin").read_bytes() == DATA
    (tmp_path / "to" / "data.bin").unlink()
    site.faults = [says(part.with_headers(Content_Range="bytes 5-14/200000"))]
    get(tries=2)
    assert (tmp_path / "to" / "data.bin").read_bytes() == DATA


def test_a_range_in_pieces_and_of_unknown_whole(site: Site, get: Get, tmp_path: Path) -> None:
    piece = {"ETag": '"v1"', "Content-Range": "bytes 1000-2999/200000", "Content-Length": "2000"}
    rest = {"ETag": '"v1"', "Content-Range": "bytes 3000-199999/*", "Content-Length": "197000"}
    site.faults = [cut(1000), says(Answer(206, piece, DATA[1000:3000])), says(Answer(206, rest, DATA[3000:]))]
    get(tries=3)
    assert (tmp_path / "to" / "data.bin").read_bytes() == DATA


def test_416_where_all_has_come(site: Site, get: Get, tmp_path: Path) -> None:
    site.faults = [cut(1000)]
    refused(get)
    (tmp_path / "to" / "data.bin.part").write_bytes(DATA)
    get(SHA)
    assert site.ranges()[1:] == [("bytes=200000-", '"v1"')]
    assert left(tmp_path / "to") == {"data.bin": 200_000}


@pytest.mark.parametrize("extent", [None, "bytes */199999", "bytes */*", "nonsense"])
def test_416_where_something_else_has_come(site: Site, get: Get, tmp_path: Path, extent: str | None) -> None:
    site.faults = [cut(1000), lambda _: Answer(416).with_headers(Content_Range=extent)]
    get(tries=3)
    assert (tmp_path / "to" / "data.bin").read_bytes() == DATA
    assert site.ranges()[2] == (None, None)


def test_a_length_that_changes_without_the_tag(site: Site, get: Get, tmp_path: Path) -> None:
    gone = Answer(416, {"Content-Range": "bytes */1000"})
    site.faults = [cut(1000), says(gone), cut(2000), lambda a: a.with_headers(Content_Range="bytes 2000-199999/200001")]
    get(tries=5)
    assert (tmp_path / "to" / "data.bin").read_bytes() == DATA
    assert [asked for asked, _ in site.ranges()] == [None, "bytes=1000-", None, "bytes=2000-", None]


def test_a_part_longer_than_the_file(site: Site, get: Get, tmp_path: Path) -> None:
    site.faults = [cut(1000)]
    refused(get)
    (tmp_path / "to" / "data.bin.part").write_bytes(DATA + b"more")
    get(tries=2)
    assert (tmp_path / "to" / "data.bin").read_bytes() == DATA


def test_a_server_that_falls_silent(site: Site, get: Get, tmp_path: Path, wording: Wording) -> None:
    site.faults = [lambda a: replace(a, cut=1000, stall=True)]
    message = refused(lambda: get(timeout=0.2))
    wording(mentions(message, f"{site.address} | /data.bin"), replace={str(tmp_path): "DIR", site.address: "SITE"})
    assert left(tmp_path / "to")["data.bin.part"] == 1000


def test_ctrl_c_keeps_what_has_come(site: Site, get: Get, tmp_path: Path, wording: Wording) -> None:
    def interrupt(event: Event) -> None:
        if event.done:
            raise KeyboardInterrupt

    with pytest.raises(InterruptedFetchError) as caught:
        get(listener=interrupt)
    wording(str(caught.value))
    assert caught.value.exit_code == 130
    kept = left(tmp_path / "to")["data.bin.part"]
    assert kept > 0
    get()
    assert site.ranges()[1] == (f"bytes={kept}-", '"v1"')
    assert (tmp_path / "to" / "data.bin").read_bytes() == DATA


def test_a_full_disk_keeps_received_data(site: Site, get: Get, tmp_path: Path, wording: Wording) -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        message = refused(get)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    wording(mentions(message, "Disk full"))
    assert left(tmp_path / "to")["data.bin.part"] == 100_000
    get(SHA)
    assert site.ranges()[1] == ("bytes=100000-", '"v1"')


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [408, 429, 500, 503])
def test_a_passing_failure_is_tried_again(site: Site, get: Get, tmp_path: Path, code: int) -> None:
    site.faults = [status(code, Retry_After="0")]
    get(tries=2)
    assert (tmp_path / "to" / "data.bin").read_bytes() == DATA


def test_a_wait_is_announced_and_a_long_one_refused(site: Site, tmp_path: Path, wording: Wording) -> None:
    source = write_recipe(tmp_path / "mine", {"url": f"{site.address}/data.bin"})
    site.faults, told = [status(503, Retry_After="0")], []
    fetch(source, tmp_path / "to", waits=(0.01,), tell=told.append)
    assert told == ["data.bin: HTTP status 503 Service Unavailable; retrying in 0.01 s"]
    site.faults = [status(503, Retry_After="999999999")]
    message = refused(lambda: fetch(source, tmp_path / "again"))
    wording(mentions(message, f"{site.address} | 503 | wait 999,999,999 s"), replace={site.address: "SITE"})
    assert len(site.requests) == 3


def test_a_failure_that_does_not_pass(site: Site, get: Get, wording: Wording) -> None:
    site.faults = [status(500, Retry_After="soon")] * 3
    message = refused(lambda: get(tries=3))
    wording(mentions(message, f"{site.address} | /data.bin | 500"), replace={site.address: "SITE"})
    assert len(site.requests) == 3


@pytest.mark.parametrize(
    ("code", "said"),
    [(404, "404 Not Found"), (403, "403 Forbidden"), (410, "410 Gone"), (416, "416 Requested Range"), (304, "304 Not")],
)
def test_a_refusal_is_not_asked_again(
    site: Site, get: Get, tmp_path: Path, code: int, said: str, wording: Wording
) -> None:
    site.faults = [status(code)]
    message = refused(lambda: get(tries=5))
    wording(
        mentions(message, f"{site.address} | /data.bin | {said}"), replace={str(tmp_path): "DIR", site.address: "SITE"}
    )
    assert len(site.requests) == 1
    assert left(tmp_path / "to") == {}


def test_an_answer_that_is_no_file(site: Site, get: Get, wording: Wording) -> None:
    site.faults = [status(204)]
    wording(mentions(refused(get), f"{site.address} | /data.bin | 204"), replace={site.address: "SITE"})


def test_nobody_listens(site: Site, get: Get, wording: Wording) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/x"
        message = refused(lambda: get({"url": url}, tries=2))
    wording(mentions(message, f"{url} | {errno.ECONNREFUSED}"), replace={site.address: "SITE"})


def test_an_answer_that_is_no_http(tmp_path: Path, get: Get, wording: Wording) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            client, _ = listening.accept()
            with client:
                client.recv(10_000)
                client.sendall(b"SSH-2.0-OpenSSH\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        message = refused(lambda: get({"url": f"http://127.0.0.1:{listening.getsockname()[1]}/x"}))
        thread.join()
    wording(mentions(message, "2.0"), replace={str(tmp_path): "DIR"})


# -- redirects --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_redirects_are_followed(site: Site, get: Get, tmp_path: Path, code: int) -> None:
    site.files["/é here"] = site.files["/%E9%20here"] = DATA
    site.faults = [
        status(code, Location="next?to=here"),
        status(code, Location=f"{site.address}/data.bin#part"),
        status(code, Location="/é here"),
        cut(1000),
        status(code, Location="/data.bin"),
    ]
    get(SHA, tries=2)
    asked = [path for path, _ in site.requests]
    assert asked == ["/data.bin", "/next?to=here", "/data.bin", "/%E9%20here", "/data.bin", "/data.bin"]
    assert site.ranges()[4:] == [("bytes=1000-", '"v1"')] * 2
    assert left(tmp_path / "to") == {"data.bin": 200_000}


def test_a_redirect_loop(site: Site, get: Get, tmp_path: Path, wording: Wording) -> None:
    site.faults = [status(302, Location="/data.bin")] * 20
    message = refused(lambda: get(tries=5))
    wording(mentions(message, f"{site.address} | /data.bin | 10"), replace={str(tmp_path): "DIR", site.address: "SITE"})
    assert len(site.requests) == 11


@pytest.mark.parametrize(
    "target",
    [
        "file:///etc/passwd", "ftp://127.0.0.1/x", "data:,x", "javascript:x", "http://u:p@127.0.0.1/x",
        "http://[::1/x", "http://127.0.0.1:99999/x", "http://a..b/x",
    ],
)  # fmt: skip
def test_redirects_that_are_not_followed(site: Site, get: Get, tmp_path: Path, target: str, wording: Wording) -> None:
    site.faults = [status(302, Location=target)]
    message = refused(lambda: get(tries=3))
    wording(
        mentions(message, f"{site.address} | /data.bin | {without_passwords(target)!r}"),
        replace={str(tmp_path): "DIR", site.address: "SITE"},
    )
    assert left(tmp_path / "to") == {}


def test_a_secure_address_leads_to_no_insecure_one(wording: Wording) -> None:
    from kbkit.ingestion import fetch as module

    job: Any = type("Job", (), {"download": recipes.Download("https://a.org/x"), "by_hand": ""})
    assert module._redirected(job, "https://a.org/x", "/y") == "https://a.org/y"
    assert module._redirected(job, "http://a.org/x", "https://b.org/y") == "https://b.org/y"
    message = refused(lambda: module._redirected(job, "https://a.org/x", "http://a.org/y"))
    wording(mentions(message, "'http://a.org/y'"))


# -- wrong files ------------------------------------------------------------------------------------------------------


def test_a_wrong_digest_names_both_and_keeps_nothing(site: Site, get: Get, tmp_path: Path, wording: Wording) -> None:
    site.faults = [says(Answer(200, {"ETag": '"v1"', "Content-Length": str(len(OTHER))}, OTHER))]
    message = refused(lambda: get(SHA))
    wording(
        mentions(message, f"{site.address} | /data.bin | {hashlib.sha256(OTHER).hexdigest()} | {SHA['sha256']}"),
        replace={str(tmp_path): "DIR", site.address: "SITE"},
    )
    assert left(tmp_path / "to") == {}
    get({"sha256": SHA["sha256"].upper()})
    assert left(tmp_path / "to") == {"data.bin": 200_000}


def test_a_wrong_length_is_refused_before_it_is_fetched(site: Site, get: Get, tmp_path: Path, wording: Wording) -> None:
    message = refused(lambda: get({"bytes": 199_999}, tries=3))
    wording(
        mentions(message, f"{site.address} | /data.bin | 200,000 | 199,999"),
        replace={str(tmp_path): "DIR", site.address: "SITE"},
    )
    assert left(tmp_path / "to") == {}
    assert len(site.requests) == 1


@pytest.mark.parametrize(
    ("sent", "said"),
    [(200_001, "more than 200,000 bytes"), (199_999, "199,999 bytes | 200,000")],
)
def test_a_wrong_length_that_nobody_announced(
    site: Site, get: Get, tmp_path: Path, sent: int, said: str, wording: Wording
) -> None:
    site.faults = [says(chunked((DATA + b"x")[:sent]))]
    wording(
        mentions(refused(lambda: get({"bytes": 200_000})), f"{site.address} | /data.bin | {said}"),
        replace={str(tmp_path): "DIR", site.address: "SITE"},
    )
    assert left(tmp_path / "to") == {}


@pytest.mark.parametrize("length", ["-1", "many", "9" * 5000])
def test_a_length_that_is_none(site: Site, get: Get, tmp_path: Path, length: str) -> None:
    site.faults = [lambda a: a.with_headers(Content_Length=length)]
    get(SHA)
    assert left(tmp_path / "to") == {"data.bin": 200_000}


def test_a_length_that_the_disk_has_no_room_for(site: Site, get: Get, tmp_path: Path) -> None:
    site.faults = [lambda a: a.with_headers(Content_Length=str(10**17))]
    mentions(refused(get), f"{tmp_path / 'to' / 'data.bin'} | 100,000,000,000,000,000 bytes | free")
    assert left(tmp_path / "to") == {}


def test_a_compressed_answer_is_refused(site: Site, get: Get, tmp_path: Path, wording: Wording) -> None:
    site.faults = [lambda a: a.with_headers(Content_Encoding="gzip")]
    message = refused(get)
    wording(
        mentions(message, f"{site.address} | /data.bin | 'gzip'"), replace={str(tmp_path): "DIR", site.address: "SITE"}
    )
    assert left(tmp_path / "to") == {}


def test_a_compressed_file_is_kept_as_it_is(site: Site, get: Get, tmp_path: Path) -> None:
    site.faults = [lambda a: a.with_headers(Content_Encoding="x-gzip")]
    get({"name": "data.tsv.gz"})
    assert (tmp_path / "to" / "data.tsv.gz").read_bytes() == DATA


FAULTS: list[Fault] = [
    cut(0), cut(700), cut(150_000), whole, status(500), status(503), lambda a: a,
    status(302, Location="/data.bin"),
    lambda a: a.with_headers(ETag='"v2"'), lambda a: a.with_headers(ETag=None),
    lambda a: a.with_headers(Content_Range="bytes 5-199999/200000"),
    lambda a: replace(a.with_headers(Content_Range=None), status=206),
    lambda _: Answer(416, {"Content-Range": "bytes */700"}), lambda _: Answer(416),
]  # fmt: skip


@given(faults=st.lists(st.sampled_from(FAULTS), max_size=8), tries=st.integers(1, 5))
def test_whatever_happens_a_finished_file_is_right(
    site: Site, get: Get, tmp_path: Path, faults: list[Fault], tries: int
) -> None:
    """Without a digest to help, too; and once the server behaves, the file comes."""
    path = tmp_path / "to" / "data.bin"
    for name in (path.name, path.name + ".part", path.name + ".part.json"):
        path.with_name(name).unlink(missing_ok=True)
    site.faults, site.etag = list(faults), '"v1"'
    while site.faults:
        try:
            get(tries=tries)
        except KbError:
            assert not path.exists()
        else:
            break
    site.faults = []
    get(tries=2)
    assert path.read_bytes() == DATA
    assert left(tmp_path / "to") == {"data.bin": 200_000}


# -- where files go ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["data.bin.part", "data.bin.part.json"])
def test_an_unfinished_file_that_is_a_link(site: Site, get: Get, tmp_path: Path, name: str, wording: Wording) -> None:
    (tmp_path / "to").mkdir()
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "to" / name).symlink_to(tmp_path / "precious")
    message = refused(get)
    wording(mentions(message, f"{tmp_path / 'to' / name}"), replace={str(tmp_path): "DIR", site.address: "SITE"})
    assert (tmp_path / "precious").read_text() == "mine"


def test_a_link_that_leads_nowhere_is_replaced(get: Get, tmp_path: Path) -> None:
    (tmp_path / "to").mkdir()
    (tmp_path / "to" / "data.bin").symlink_to(tmp_path / "elsewhere")
    get()
    assert not (tmp_path / "elsewhere").exists()
    assert (tmp_path / "to" / "data.bin").read_bytes() == DATA


def test_a_folder_that_leads_out(site: Site, get: Get, tmp_path: Path, wording: Wording) -> None:
    (tmp_path / "to").mkdir()
    (tmp_path / "home").mkdir()
    (tmp_path / "to" / "sub").symlink_to(tmp_path / "home")
    message = refused(lambda: get({"name": "sub/deeper/keys"}))
    folder = tmp_path / "to" / "sub" / "deeper"
    wording(mentions(message, f"{folder} | {tmp_path / 'to'}"), replace={str(tmp_path): "DIR", site.address: "SITE"})
    assert left(tmp_path / "home") == {}
    assert site.requests == []


def test_the_folder_itself_may_be_a_link(get: Get, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "to").symlink_to(tmp_path / "disk")
    get({"name": "sub/data.bin"})
    assert left(tmp_path / "disk") == {"sub/data.bin": 200_000}


# -- [[downloads]] ----------------------------------------------------------------------------------------------------

URL = "https://example.org/x.csv"


def loaded(folder: Path, *downloads: Mapping[str, object]) -> tuple[recipes.Download, ...]:
    return recipes.load(write_recipe(folder, *downloads)).downloads


def test_downloads_of_a_recipe(tmp_path: Path) -> None:
    full = {"url": URL, "name": "a/b.csv", "part": "p", "bytes": 3, "sha256": "AB" * 32, "help": "h"}
    assert loaded(tmp_path / "mine", full, {"url": "http://example.org/deep/y%20z.csv?v=1#here"}) == (
        recipes.Download(URL, "a/b.csv", "p", 3, "ab" * 32, "h"),
        recipes.Download("http://example.org/deep/y%20z.csv?v=1#here", "y z.csv"),
    )
    assert loaded(tmp_path / "mine") == ()


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        ([{"name": "x"}], "'url' | downloads[0]"),
        ([{"url": URL}, {"urll": URL}], "'urll' | downloads[1] | 'url'"),
        ([{"url": 3}], "3 | downloads[0].url"),
        ([{"url": URL, "bytes": 1.5}], "1.5 | downloads[0].bytes"),
        ([{"url": URL, "bytes": True}], "True | downloads[0].bytes"),
        ([{"url": URL, "bytes": -1}], "-1 | downloads[0].bytes"),
        ([{"url": URL, "sha256": "abc"}], "'abc' | downloads[0].sha256 | 64"),
        ([{"url": "ftp://a/b"}], "'ftp://a/b' | downloads[0].url"),
        ([{"url": "file:///etc/passwd"}], "'file:///etc/passwd' | downloads[0].url"),
        ([{"url": "https://u:p@a/b"}], "'https://...@a/b' | downloads[0].url"),
        ([{"url": "https://a/b c"}], "'https://a/b c' | downloads[0].url"),
        ([{"url": "https://a/\r\nX: y"}], "'https://a/\\r\\nX: y' | downloads[0].url"),
        ([{"url": "https://a/é"}], "'https://a/é' | downloads[0].url"),
        ([{"url": "https://a:99999/x"}], "'https://a:99999/x' | downloads[0].url"),
        ([{"url": "https://a..b/x"}], "'https://a..b/x' | downloads[0].url"),
        (
            [{"url": "https://a.org/"}],
            "downloads[0].url",
        ),
        ([{"url": URL}, {"url": URL.upper()}], "downloads[0] | downloads[1] | 'X.CSV'"),
        (
            [{"url": URL}, {"url": URL, "name": "x.csv/y"}],
            "downloads[0]",
        ),
        (
            [{"url": URL, "name": "x.part"}],
            "'x.part' | downloads[0]",
        ),
    ],
)
def test_downloads_that_are_wrong(
    tmp_path: Path, tables: list[dict[str, object]], expected: str, wording: Wording
) -> None:
    message = refused(lambda: loaded(tmp_path / "mine", *tables), BadInputError)
    wording(mentions(message, f"{tmp_path / 'mine' / 'recipe.toml'} | {expected}"), replace={str(tmp_path): "DIR"})


@pytest.mark.parametrize("value", ["3", "{ url = 'https://a/b' }", "['https://a/b']"])
def test_downloads_that_are_no_tables(tmp_path: Path, value: str, wording: Wording) -> None:
    source = write_recipe(tmp_path / "mine", toml=f"downloads = {value}\n{TOML}")
    message = refused(lambda: recipes.load(source), BadInputError)
    wording(mentions(message, "recipe.toml | downloads"), replace={str(tmp_path): "DIR"})


@pytest.mark.parametrize(
    "name",
    [
        "..", "../x", "a/../../x", "/etc/passwd", "a//b", "a/", "./a", ".", "...", "a\\b", "..\\x", "C:x", "C:/x",
        "a:stream", "NUL", "a/con.txt", "x.", "x ", "a\nb", "a\x00b", "a\x1b[2J", "a\u202eb", "what?", "a*",
    ],
)  # fmt: skip
def test_names_that_are_unsafe(tmp_path: Path, name: str, wording: Wording) -> None:
    message = refused(lambda: loaded(tmp_path / "mine", {"url": URL, "name": name}))
    wording(mentions(message, f"{name!r} | downloads[0] | a/b.zip"), replace={str(tmp_path): "DIR"})


def test_a_name_in_the_address_is_checked_too(tmp_path: Path, wording: Wording) -> None:
    for path in ("%2e%2e", "..%2f..%2fx", "%2Fetc%2Fpasswd", "a%00b", "a%5Cb"):
        message = refused(lambda path=path: loaded(tmp_path / "mine", {"url": "https://a.org/" + path}))
        wording(mentions(message, f"{unquote(path)!r} | downloads[0]"), replace={str(tmp_path): "DIR"})


@given(st.lists(st.sampled_from([*"ab.:/\\ ~*\0\n", "..", "/.", "con", "é"]), min_size=1, max_size=6).map("".join))
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    try:
        (download,) = loaded(tmp_path / "mine", {"url": URL, "name": name})
    except BadInputError:
        return
    path = (tmp_path / "to").joinpath(*download.name.split("/"))
    assert path == tmp_path / "to" / name
    assert (tmp_path / "to") in path.resolve().parents


# -- the command ------------------------------------------------------------------------------------------------------


def zipped(name: str, text: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, text)
    return buffer.getvalue()


def test_the_command_fetches_and_says_what_is_next(
    here: Any, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    site.files["/club.zip"] = zipped("people.csv", "id\n1\n2\n")
    write_recipe(tmp_path / "club", {"url": f"{site.address}/club.zip"})
    done = here("fetch", "./club", cwd=tmp_path)  # the folder of that name is the recipe: the data stand beside it
    assert (done.returncode, done.stdout) == (0, "")
    command = "kbkit ingest ./club club.files/club.zip -o club.kb"
    wording(
        mentions(done.stderr, f"club.zip | 0.0 | {command}"),
        "cli",
        replace={str(tmp_path): "DIR", site.address: "SITE"},
    )
    assert sorted(p.name for p in (tmp_path / "club").iterdir()) == ["load.sql", "recipe.toml"]
    monkeypatch.chdir(tmp_path)
    _, _, source, path, _, out = shlex.split(command)
    with kbkit.ingest(source, path, out=out, stores=["tables"]) as kb:
        assert kb.schema.nodes == 2
    done = here("fetch", "./club", "-o", "club.files", cwd=tmp_path)
    wording(
        mentions(done.stderr, f"club.zip | 0.0 | {command}"),
        "cli",
        replace={str(tmp_path): "DIR", site.address: "SITE"},
    )
    assert len(site.requests) == 1


@pytest.mark.core
def test_the_command_lists_without_asking(here: Any, site: Site, tmp_path: Path) -> None:
    write_recipe(
        tmp_path / "mine",
        {"url": f"{site.address}/data.bin", "bytes": 200_000, "help": "all of it"},
        {"url": f"{site.address}/b.csv", "name": "sub/b.csv", "part": "b"},
    )
    done = here("fetch", tmp_path / "mine", "b", "-o", "here", "--list", "-f", "json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == [
        {
            "part": None, "file": str(Path("here", "data.bin")), "bytes": 200_000, "there": False,
            "url": f"{site.address}/data.bin", "help": "all of it",
        },
        {
            "part": "b", "file": str(Path("here", "sub", "b.csv")), "bytes": None, "there": False,
            "url": f"{site.address}/b.csv", "help": None,
        },
    ]  # fmt: skip
    assert site.requests == []
    assert not (tmp_path / "here").exists()


def test_the_command_fails_in_one_line(here: Any, site: Site, tmp_path: Path, wording: Wording) -> None:
    write_recipe(tmp_path / "mine", {"url": f"{site.address}/gone"})
    write_recipe(tmp_path / "none")
    for args, expected in (
        (("./mine",), f"{site.address}/gone | 404 | ask the publisher"),
        (("./none",), "none | ask the publisher"),
        (("imbd",), "'imbd' | 'imdb'"),
        (("./mine", "-f", "json"), "--list"),
    ):
        done = here("fetch", *args, "-o", "out", cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
        wording(mentions(done.stderr, expected), "cli", replace={site.address: "SITE"})


@pytest.mark.parametrize(
    ("recipe", "name", "local"),
    [
        *(
            ("stark", f"amazon/{name}", f"stark_qa/amazon/{name}")
            for name in ("stark_qa/stark_qa.csv", "stark_qa/stark_qa_human_generated_eval.csv", "split/test.index")
        ),
        ("wikidata", "spinach/dev.json", "spinach/dev.json"),
        ("wikidata", "qald_9_plus/train.json", "spinach/qald_9_plus_train.json"),
        ("wikidata", "qald_7/qald_7_outputs.json", "spinach/qald_7_outputs.json"),
    ],
)
def test_digests_of_questions_are_those_of_the_files(shared_data: Path, recipe: str, name: str, local: str) -> None:
    data = (shared_data / local).read_bytes()
    [download] = [one for one in recipes.load(recipe).downloads if one.name == name]
    assert (download.bytes, download.sha256) == (len(data), hashlib.sha256(data).hexdigest())
