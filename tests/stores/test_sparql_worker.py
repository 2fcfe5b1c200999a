"""SPARQL through the worker: refusals, the time limit, and a process that leaves nothing behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import kbkit
from kbkit.errors import QueryError, QueryTimeoutError
from kbkit.kb import KnowledgeBase
from tests.loopback import Loopback
from tests.wording import Wording

# Joins without a common variable: far beyond any test's patience.
ENDLESS = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?o ?p . ?q ?r ?s }"
SEARCHING = "ASK { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?o ?p FILTER(STR(?c) = CONCAT(STR(?a), STR(?m))) }"
STREAMING = "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?o ?p . ?q ?r ?s }"


@pytest.fixture(scope="module")
def kb(tiny_kb: Path) -> Iterator[KnowledgeBase]:
    with kbkit.open(tiny_kb) as opened:
        yield opened


@pytest.fixture
def loopback() -> Iterator[Loopback]:
    """A server of this machine."""
    with Loopback(lambda _: (404, b"", {})) as server:
        yield server


def worker(kb: KnowledgeBase) -> int:
    """The process id of the KB's worker, which a query has started."""
    [process] = kb.triples.pool.processes
    return process.pid


def wait_until(condition: Callable[[], bool], seconds: float = 20) -> bool:
    """Poll until the condition holds; False when it never does."""
    end = time.monotonic() + seconds
    gate = threading.Event()
    while not condition():
        if time.monotonic() > end:
            return False
        gate.wait(0.02)
    return True


def alive(pid: int) -> bool:
    """Whether a process runs: zombies, which wait for their parent, do not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return stat.rsplit(")", 1)[1].split()[0] not in "ZX"


linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked at through /proc")

# -- nothing goes out -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * {{ SERVICE <{url}> {{ ?s ?p ?o }} }}",
        "SELECT * {{ service silent <{url}> {{}} }}",
        "SELECT * {{ VALUES ?e {{ <{url}> }} FILTER EXISTS {{ SERVICE ?e {{}} }} }}",
        "PREFIX ex: <{url}> SELECT * {{ OPTIONAL {{ SERVICE ex:x {{}} }} }}",
        "LOAD <{url}>",
        "SELECT * FROM NAMED <{url}> {{ GRAPH ?g {{ ?s ?p ?o }} }}",
        "SELECT * {{ GRAPH <{url}> {{ ?s ?p ?o }} }}",
        "DESCRIBE <{url}>",
    ],
)
def test_no_query_calls_anybody(kb: KnowledgeBase, loopback: Loopback, text: str) -> None:
    silent = "silent" in text  # which has one empty solution, without columns here
    refused = not silent and ("SERVICE" in text or "LOAD" in text)
    try:
        frame = kb.sparql(text.format(url=f"{loopback.base}/"))
    except QueryError:
        assert refused
    else:
        assert not refused
        assert frame.height == 0
    assert loopback.asked == []


@pytest.mark.parametrize("value", ["} SERVICE <URL> {} #", "<URL>", '" . SERVICE <URL> {} #', "<URL> { } #>"])
def test_no_parameter_calls_anybody(kb: KnowledgeBase, loopback: Loopback, value: str) -> None:
    try:
        assert kb.sparql("SELECT ?v { BIND($v AS ?v2) }", v=value.replace("URL", f"{loopback.base}/")).height <= 1
    except QueryError as error:
        assert "Invalid IRI" in error.message
    assert loopback.asked == []


@pytest.mark.core
def test_service_by_the_command(here, tiny_kb: Path, wording: Wording) -> None:
    done = here("sparql", tiny_kb, "-c", "ASK { SERVICE <http://127.0.0.1:9/> {} }")
    assert (done.returncode, done.stdout) == (1, "")
    assert "SERVICE <http://127.0.0.1:9/>" in done.stderr
    assert "line 1, column 7" in done.stderr
    wording(done.stderr, "cli")


# -- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "INSERT DATA { <urn:a> <urn:b> 1 }",
        "DELETE WHERE { ?s ?p ?o }",
        "CLEAR ALL",
        "DROP ALL",
        "LOAD <file:///etc/hostname>",
        "CREATE GRAPH <urn:g>",
    ],
)
def test_updates_are_refused_and_change_nothing(kb: KnowledgeBase, text: str) -> None:
    count = "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"
    before = kb.sparql(count)["n"].to_list()
    with pytest.raises(QueryError):
        kb.sparql(text)
    assert kb.sparql(count)["n"].to_list() == before


def test_an_update_is_called_by_its_name(kb: KnowledgeBase) -> None:
    with pytest.raises(QueryError, match=r"(?i)update|read-only|insert|change"):
        kb.sparql("INSERT DATA { <urn:a> <urn:b> 1 }")


@pytest.mark.parametrize("text", ["", "SELECT", "SELECT * { ?s ?p }", "ASK { nope:x ?p ?o }", "SELECT * {\n?x\n"])
def test_syntax_errors_are_one_line(here, tiny_kb: Path, text: str) -> None:
    done = here("sparql", tiny_kb, "-c", text)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.search(r"\(line \d, column \d+\)", done.stderr)
    assert done.stderr.count("\n") == 1


@pytest.mark.system
def test_a_query_that_kills_its_process_is_one_error(kb: KnowledgeBase) -> None:
    with pytest.raises(QueryError, match="SPARQL process ended"):
        kb.sparql("ASK { FILTER(1" + " + 1" * 50_000 + ") }")
    assert kb.sparql("ASK {}")["ask"].to_list() == [True]


# -- the worker -------------------------------------------------------------------------------------------------------


@pytest.mark.core
def test_the_worker_is_warm_and_closed_with_the_kb(tiny_kb: Path) -> None:
    with kbkit.open(tiny_kb) as kb:
        kb.sparql("ASK {}", engine="oxigraph")
        first = worker(kb)
        kb.sparql("SELECT * { ?s ?p ?o } LIMIT 1", engine="oxigraph")
        with pytest.raises(QueryError):
            kb.sparql("SELECT")
        assert worker(kb) == first
        [process] = kb.triples.pool.processes
    assert process.poll() is not None


@linux
def test_the_worker_is_a_program_of_its_own(kb: KnowledgeBase) -> None:
    kb.sparql("ASK {}", engine="oxigraph")
    command = Path(f"/proc/{worker(kb)}/cmdline").read_bytes().split(b"\0")
    assert any(b"sparql_worker" in word for word in command)
    assert Path(f"/proc/{worker(kb)}/stat").read_text().rsplit(")", 1)[1].split()[1] == str(os.getpid())


@pytest.mark.parametrize("text", [STREAMING, SEARCHING])
def test_timeout_kills_the_worker_and_the_next_query_has_a_new_one(tiny_kb: Path, text: str) -> None:
    with kbkit.open(tiny_kb) as kb:
        kb.sparql("ASK {}", engine="oxigraph")
        first = worker(kb)
        started = time.monotonic()
        with pytest.raises(QueryTimeoutError, match=r"0\.3 s.*timeout"):
            kb.sparql(text, timeout=0.3, engine="oxigraph")
        assert time.monotonic() - started < 20
        assert kb.sparql("ASK {}", timeout=60, engine="oxigraph")["ask"].to_list() == [True]
        assert worker(kb) != first
        assert not Path(f"/proc/{first}").exists()


@pytest.mark.system
def test_timeout_of_the_command(run, tiny_kb: Path, wording: Wording) -> None:
    done = run("sparql", tiny_kb, "--timeout", "0.3", "-c", ENDLESS)
    assert (done.returncode, done.stdout) == (124, "")
    assert "0.3 s" in done.stderr
    wording(done.stderr, "cli")


def test_a_worker_that_was_killed_is_replaced(kb: KnowledgeBase) -> None:
    kb.sparql("ASK {}", engine="oxigraph")
    [process] = kb.triples.pool.processes
    process.kill()
    process.wait()
    assert kb.sparql("ASK {}", engine="oxigraph")["ask"].to_list() == [True]
    assert worker(kb) != process.pid


ORPHAN = """
import sys, threading, time
import kbkit
kb = kbkit.open(sys.argv[1])
kb.sparql("ASK {}", engine="oxigraph")
threading.Thread(target=lambda: kb.sparql(sys.argv[2], timeout=None, engine="oxigraph"), daemon=True).start()
print(kb.triples.pool.processes[0].pid, flush=True)
threading.Event().wait()
"""


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


@pytest.mark.system
@linux
@pytest.mark.parametrize("text", [ENDLESS])
def test_the_worker_dies_with_its_parent_in_the_middle_of_a_query(tiny_kb: Path, text: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ORPHAN, str(tiny_kb), text], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        idle = _ticks(pid)
        busy = wait_until(lambda: _ticks(pid) > idle + 10)  # a tenth of a second of work: the query runs
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    assert busy
    gone = wait_until(lambda: not alive(pid))
    if not gone:
        os.kill(pid, signal.SIGKILL)
    assert gone, "the worker outlived its parent"


@linux
def test_two_kbs_have_two_workers(tiny_kb: Path) -> None:
    with kbkit.open(tiny_kb) as one, kbkit.open(tiny_kb) as other:
        one.sparql("ASK {}", engine="oxigraph")
        other.sparql("ASK {}", engine="oxigraph")
        assert worker(one) != worker(other)
        [process] = other.triples.pool.processes
        other.close()
        assert process.poll() is not None
        assert one.sparql("ASK {}", engine="oxigraph")["ask"].to_list() == [True]


def test_threads_share_a_worker(kb: KnowledgeBase) -> None:
    answers: dict[int, object] = {}

    def ask(number: int) -> None:
        answers[number] = kb.sparql("SELECT ?m { BIND($n AS ?m) }", n=number)["m"].to_list()

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: [number] for number in range(8)}


@pytest.mark.system
def test_the_working_directory_is_no_source_of_code(run, tiny_kb: Path, tmp_path: Path) -> None:
    (tmp_path / "queue.py").write_text("from pathlib import Path\nPath('ran').touch()\nraise SystemExit\n")
    done = run("sparql", tiny_kb, "-c", "ASK {}", cwd=tmp_path)
    assert not (tmp_path / "ran").exists()
    assert (done.returncode, done.stdout.split()[-3:]) == (0, ["True", "1", "row"])


@pytest.mark.system
def test_a_query_of_a_megabyte(kb: KnowledgeBase) -> None:
    texts = " ".join(f'"{n:0100}"' for n in range(10_000))
    frame = kb.sparql(f"SELECT (COUNT(?n) AS ?count) {{ VALUES ?n {{ {texts} }} }}")
    assert frame["count"].to_list() == [10_000]


def test_rdf_sources_answer_over_all_graphs(rdf_kb: Path) -> None:
    with kbkit.open(rdf_kb) as kb:
        frame = kb.sparql("SELECT ?l { ?g rdfs:label ?l FILTER(LANG(?l) = 'ru') } ORDER BY ?l")
        assert frame["l"].to_list() == ["Инсулин", "грипп"]


def test_from_is_obeyed(kb: KnowledgeBase, rdf_kb: Path) -> None:
    query = "SELECT * FROM <urn:no-such-graph> { ?s ?p ?o }"
    assert kb.sparql(query).height == 0
    with kbkit.open(rdf_kb) as rdf:
        assert rdf.sparql(query).height == 0
