"""One process builds, others read, and a second one that would build is told who does."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import kbkit
from kbkit.display.progress import Event
from kbkit.errors import LockedError
from kbkit.kb import KnowledgeBase
from tests import kbs
from tests.console import here
from tests.loops import each

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of two KBs, ``full`` and ``light``, to copy."""
    folder = tmp_path_factory.mktemp("built")
    kbs.build(folder / "source", folder / "full", 1)
    kbs.build(folder / "source", folder / "light", 1, stores=kbs.LIGHT)
    return folder


@pytest.fixture
def full(built: Path, tmp_path: Path) -> Path:
    """A KB with one generation, of version 1."""
    kbs.source(tmp_path / "source", 1)
    return shutil.copytree(built / "full", tmp_path / "small.kb")


@pytest.fixture
def kb(built: Path, tmp_path: Path) -> Path:
    """The same with fewer stores, for what does not depend on which there are."""
    kbs.source(tmp_path / "source", 1)
    return shutil.copytree(built / "light", tmp_path / "small.kb")


def build(folder: Path, out: Path, version: int) -> None:
    """Build the next generation of a light KB."""
    kbs.build(folder, out, version, stores=kbs.LIGHT)


def assert_whole(path: Path, version: int) -> None:
    """A light KB is whole."""
    kbs.assert_whole(path, version, stores=kbs.LIGHT)


@pytest.fixture
def holder(kb: Path, tmp_path: Path) -> Iterator[kbs.Builder]:
    """A process that builds version 2 and stands still with all but the swap done."""
    with kbs.Builder(kbs.LIGHT) as child:
        child.start(source=kbs.source(tmp_path / "two", 2), out=kb, act="hold", stage="publish", at=1)
        child.held()
        yield child


@pytest.mark.parametrize("what", ["ingest", "text", "vectors", "gc"])
def test_a_second_writer_is_refused_at_once(kb: Path, tmp_path: Path, holder: kbs.Builder, what: str) -> None:
    words = {
        "ingest": ("ingest", "table", tmp_path / "source", "-o", kb, "--replace"),
        "text": ("build", kb, "text", "--analyzer", "simple"),
        "vectors": ("build", kb, "vectors"),
        "gc": ("gc", kb),
    }[what]
    refused = here(*words)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith(f"kbkit: {kb} is being built by process {holder.pid} on ")
    assert " (kbkit ingest table, since " in refused.stderr
    assert refused.stderr.endswith(". Wait until it ends, or stop it.\n")
    assert len(refused.stderr.splitlines()) == 1
    assert kbs.generations(kb) == ["0001", "0002.building"]
    holder.release()
    assert holder.end() == (0, "")
    assert_whole(kb, 2)


def test_a_second_first_build_is_refused_too(tmp_path: Path) -> None:
    out = tmp_path / "small.kb"
    with kbs.Builder(kbs.LIGHT) as child:
        child.start(source=kbs.source(tmp_path / "source", 1), out=out, act="hold", stage="text", at=1)
        child.held()
        refused = here("ingest", "world", "-o", out)
        assert refused.returncode == 1
        assert f"is being built by process {child.pid} on " in refused.stderr
        child.release()
        assert child.end() == (0, "")
    assert_whole(out, 1)


def test_readers_go_on_while_somebody_builds(kb: Path, holder: kbs.Builder) -> None:
    with kbkit.open(kb) as before:
        assert_whole(kb, 1)
        assert kbs.said(before) == kbs.expected(1, kbs.LIGHT)
        holder.release()
        assert holder.end() == (0, "")
        assert kbs.said(before) == kbs.expected(1, kbs.LIGHT)
        assert_whole(kb, 2)


def test_the_lock_of_a_dead_process_is_ignored(kb: Path, tmp_path: Path, holder: kbs.Builder) -> None:
    assert (kb / "build.lock").read_text().startswith(f"process {holder.pid} ")
    holder.kill()
    build(tmp_path / "source", kb, 3)
    assert kbs.generations(kb) == ["0001", "0002"]
    assert_whole(kb, 3)


def test_a_reader_keeps_its_generation_through_builds_and_gc(kb: Path, tmp_path: Path) -> None:
    with kbkit.open(kb) as reader:  # opens its stores only after the builds
        build(tmp_path / "source", kb, 2)
        build(tmp_path / "source", kb, 3)
        assert here("gc", kb).stderr.startswith("Removed 0002 (")
        assert kbs.generations(kb) == ["0001", "0003"]
        assert kbs.said(reader) == kbs.expected(1, kbs.LIGHT)
        assert [problem for _, problem in reader.check() if problem] == []
    assert here("gc", kb).stderr.startswith("Removed 0001 (")
    assert kbs.generations(kb) == ["0003"]
    assert here("gc", kb).stderr == "Nothing to remove\n"
    assert_whole(kb, 3)


READER = """
import sys
import kbkit
kb = kbkit.open(sys.argv[1])
print("open", flush=True)
for line in sys.stdin:
    print(kb.sql("SELECT name FROM person WHERE key = 'a'").item(), flush=True)
"""


def test_a_reader_in_another_process_pins_too_until_it_dies(kb: Path, tmp_path: Path) -> None:
    reader = subprocess.Popen(
        [sys.executable, "-c", READER, str(kb)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert reader.stdout
    assert reader.stdin
    try:
        assert reader.stdout.readline() == "open\n"
        build(tmp_path / "source", kb, 2)
        build(tmp_path / "source", kb, 3)
        assert kbs.generations(kb) == ["0001", "0002", "0003"]
        reader.stdin.write("\n")
        reader.stdin.flush()
        assert reader.stdout.readline() == "Ada v1\n"
    finally:
        reader.kill()
        reader.communicate()
    assert here("gc", kb).stderr.startswith("Removed 0001, 0002 (")


# Opens the KB again and again, and says whatever is not one whole version.
CROWD = """
import sys
import kbkit
print("ready", flush=True)
seen = set()
while not (seen and max(seen) == 4):
    with kbkit.open(sys.argv[1]) as kb:
        text = kb.search("first programs", k=1, mode="bm25")["name"].item()
        table = kb.sql("SELECT name FROM person WHERE key = 'a'").item()
        hops = kb.neighbors("person#a", "lives_in")["name"].to_list()
        assert (text, hops) == (table, ["Cairo"]), (text, table, hops)
        seen.add(int(table.removeprefix("Ada v")))
print(sorted(seen))
"""


def test_several_readers_while_builds_publish(kb: Path, tmp_path: Path) -> None:
    readers = [
        subprocess.Popen(
            [sys.executable, "-c", CROWD, str(kb)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    try:
        for reader in each(readers):
            assert reader.stdout
            assert reader.stdout.readline() == "ready\n"
        for version in range(2, 5):
            build(tmp_path / "source", kb, version)
        for reader in readers:
            output, errors = reader.communicate(timeout=60)
            assert (reader.returncode, errors) == (0, "")
            assert output.endswith("4]\n")
    finally:
        for reader in readers:
            reader.kill()
    assert_whole(kb, 4)


def test_threads_share_one_open_kb(full: Path) -> None:
    results: list[object] = []
    together = threading.Barrier(4)

    def ask(opened: KnowledgeBase) -> None:
        together.wait()
        try:
            results.extend(kbs.said(opened) for _ in range(3))
        except Exception as error:  # noqa: BLE001 - whatever it is, the assertion below shows it
            results.append(error)

    with kbkit.open(full) as opened:
        threads = [threading.Thread(target=ask, args=(opened,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert results == [kbs.expected(1)] * 12


def test_tasks_of_asyncio_share_one_open_kb(full: Path) -> None:
    """Each call runs in a thread of the loop; a task that is cancelled leaves the KB as it was."""

    async def ask(opened: KnowledgeBase) -> list[object]:
        given_up = asyncio.create_task(asyncio.to_thread(opened.sql, "SELECT count(*) FROM range(100000000)"))
        await asyncio.sleep(0)  # it starts
        given_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await given_up
        return await asyncio.gather(*(asyncio.to_thread(kbs.said, opened) for _ in range(8)))

    with kbkit.open(full) as opened:
        assert asyncio.run(ask(opened)) == [kbs.expected(1)] * 8


def test_the_listener_is_called_one_at_a_time(tmp_path: Path) -> None:
    inside = threading.Lock()

    def listen(event: Event) -> None:
        assert inside.acquire(blocking=False), f"two at once at {event}"
        inside.release()

    kbkit.ingest("table", kbs.source(tmp_path / "source", 1), out=tmp_path / "small.kb", progress=listen).close()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_rebuild_locks_others_out_while_its_model_loads(full: Path, tmp_path: Path) -> None:
    """Which embedder to load is read from the live generation, so that none may be published between."""
    model = kbs.small_model(tmp_path / "model")
    config = (model / "config.json").read_bytes()
    (model / "config.json").unlink()
    os.mkfifo(model / "config.json")
    process = subprocess.Popen(
        [kbs.KBKIT, "build", str(full), "vectors", "--embedder", f"model2vec:{model}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        with (model / "config.json").open("wb") as pipe:  # opens when the other end does
            with pytest.raises(LockedError, match=f"process {process.pid} .*kbkit build vectors"):
                build(tmp_path / "source", full, 2)
            pipe.write(config)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0, said
    with kbkit.open(full) as opened:
        assert opened.sql("SELECT name FROM person WHERE key = 'a'").item() == "Ada v1"
        assert opened.manifest.stores["vectors"].settings["embedder"] == f"model2vec:{model.resolve()}"
