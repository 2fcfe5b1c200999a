"""Other processes: forked, spawned or forkserver children use a KB that their parent has used; KBs and sets pickle."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kbkit
from kbkit.errors import NotAKbError
from kbkit.kb import KnowledgeBase
from tests import kbs
from tests.places import ROOT

pytestmark = pytest.mark.system

METHODS = multiprocessing.get_all_start_methods()
SECONDS = 60
needs_fork = pytest.mark.skipif("fork" not in METHODS, reason="this system does not fork")


def asked(kb: KnowledgeBase) -> dict[str, Any]:
    """What all stores say, in plain values."""
    return {
        **kbs.said(kb),
        "answers": kb.answers("person").nodes()["key"].to_list(),
        "answers in SQL": kb.answers("person", engine="sql").ids.tolist(),
        "node": kb.node("person#a").name,
        "page": kb.page("person#a").links,
        "types": kb.types()["type"].to_list(),
        "auto": kb.search("first programs", k=1)["name"].to_list(),
    }


def report(kb: KnowledgeBase, sender: Any) -> None:
    """Ask a KB in a child, twice, with closing it between."""
    first = asked(kb)
    kb.close()
    sender.send(first)
    sender.close()


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A KB with all stores, of version 1."""
    folder = tmp_path_factory.mktemp("forked")
    kbs.build(folder / "source", folder / "small.kb", 1)
    return folder / "small.kb"


# A program of its own for each test: pytest itself has used polars, after which no child of it may.
PROGRAM = """
import json, multiprocessing, os, sys
from concurrent.futures import ProcessPoolExecutor
import kbkit
from tests.directory.test_fork import asked, report

if __name__ == "__main__":
    kb = kbkit.open(sys.argv[1])
    before = asked(kb)
    {body}
    assert asked(kb) == before
    kb.close()
    print(json.dumps(before == found))
"""
PROCESS = """
    context = multiprocessing.get_context("METHOD")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=report, args=(kb, sender))
    child.start()
    assert receiver.poll(50), "the child hangs"
    found = receiver.recv()
    child.join(20)
    assert child.exitcode == 0
"""
POOL = """
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("METHOD")) as pool:
        found, again = pool.map(asked, [kb, kb])
    assert found == again
"""
FORK = """
    receiver, sender = os.pipe()
    child = os.fork()
    if not child:
        os.write(sender, json.dumps(asked(kb)).encode())
        sys.exit()  # with all that Python does at exit
    found = json.loads(os.read(receiver, 100_000))
    assert os.waitpid(child, 0)[1] == 0
"""


def program(path: Path, body: str) -> subprocess.CompletedProcess[str]:
    text = PROGRAM.replace("    {body}\n", body)
    script = path.parent / f"program{abs(hash(text))}.py"
    script.write_text(text, encoding="utf-8")
    return subprocess.run(
        [sys.executable, str(script), str(path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


@pytest.mark.parametrize("body", [PROCESS, POOL], ids=["process", "pool"])
@pytest.mark.parametrize("method", METHODS)
def test_a_child_uses_the_kb_that_its_parent_used(path: Path, method: str, body: str) -> None:
    done = program(path, body.replace("METHOD", method))
    assert (done.returncode, done.stdout) == (0, "true\n"), done.stderr


@needs_fork
def test_a_forked_child_leaves_the_parent_its_stores(path: Path) -> None:
    done = program(path, FORK)
    assert (done.returncode, done.stdout) == (0, "true\n"), done.stderr


POLARS = """
    import polars
    polars.DataFrame({"a": [2, 1]}).sort("a")
    receiver, sender = os.pipe()
    child = os.fork()
    if not child:
        try:
            kb.sql("SELECT 1")
        except kbkit.KbError as error:
            os.write(sender, str(error).encode())
        os._exit(0)
    os.close(sender)
    print(os.read(receiver, 10_000).decode())
    found = before
"""


@needs_fork
def test_a_child_without_threads_of_polars_is_refused_at_once(path: Path) -> None:
    done = program(path, POLARS)
    assert (done.returncode, done.stderr) == (0, "")
    kbs.mentions(done.stdout, 'polars do not survive | multiprocessing.get_context("spawn")')


@needs_fork
def test_the_end_of_a_child_neither_unlocks_nor_deletes(path: Path, tmp_path: Path) -> None:
    body = """
    from tests import kbs
    from pathlib import Path
    child = os.fork()
    if not child:
        kb.close()
        sys.exit()
    os.waitpid(child, 0)
    out, source = Path(sys.argv[1]), Path(sys.argv[1]).parent / "source"
    from tests.console import here
    for version in (2, 3):
        kbs.build(source, out, version, stores=kbs.LIGHT)
    assert here("gc", out).returncode == 0
    found = before
"""
    copy = Path(shutil.copytree(path.parent, tmp_path / "copy")) / "small.kb"
    done = program(copy, body)
    assert (done.returncode, done.stdout) == (0, "true\n"), done.stderr
    assert kbs.generations(copy) == ["0001", "0003"]


# -- pickles ----------------------------------------------------------------------------------------------------------


def test_a_kb_is_pickled_as_path_and_generation(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with kbkit.open(path) as kb:
        monkeypatch.chdir("/")
        with pickle.loads(pickle.dumps(kb)) as again:
            assert again.folder == kb.folder.absolute()
            assert asked(again) == asked(kb)


@pytest.mark.parametrize("engine", ["walk", "sql", "sparql"])
def test_a_set_is_pickled_as_its_expression(path: Path, engine: str) -> None:
    with kbkit.open(path) as kb:
        found = kb.answers("person:<who> -> [knows] -> person", engine=engine, who="Bob")
        sets = [pickle.loads(pickle.dumps(one)) for one in (found, found & kb.answers("person"))]
        assert [one.nodes()["key"].to_list() for one in sets] == [["a"], ["a"]]
        assert (sets[0].expression, sets[0].engine) == (found.expression, engine)


def test_a_pickle_of_a_generation_that_is_gone(path: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(path.parent, tmp_path / "copy")) / "small.kb"
    with kbkit.open(copy) as kb:
        saved = pickle.dumps(kb)
    for version in (2, 3):
        kbs.build(copy.parent / "source", copy, version, stores=kbs.LIGHT)
    with pytest.raises(NotAKbError, match="no generation 0001 any more"):
        pickle.loads(saved)
