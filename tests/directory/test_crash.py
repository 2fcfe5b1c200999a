"""Builds that are killed, interrupted or run out of room: the KB is as it was, and the next build works."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import kbkit
from kbkit.display.progress import Event
from tests import kbs
from tests.console import here
from tests.examples import thorough

pytestmark = pytest.mark.system

THOROUGH = thorough()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of two KBs, ``full`` and ``light``, to copy."""
    folder = tmp_path_factory.mktemp("built")
    for version in (1, 2):
        kbs.build(folder / "source", folder / "full", version)
        kbs.build(folder / "source", folder / "light", version, stores=kbs.LIGHT)
    return folder


@pytest.fixture
def kb(built: Path, tmp_path: Path) -> Path:
    """A KB with two generations; the live one is of version 2."""
    return shutil.copytree(built / "full", tmp_path / "small.kb")


@pytest.fixture
def light(built: Path, tmp_path: Path) -> Path:
    """The same with fewer stores, for what does not depend on which there are."""
    return shutil.copytree(built / "light", tmp_path / "small.kb")


def assert_whole(path: Path, version: int) -> None:
    """A light KB is whole."""
    kbs.assert_whole(path, version, stores=kbs.LIGHT)


# -- killed -----------------------------------------------------------------------------------------------------------


# A process that builds vectors spends two seconds on imports alone: most rounds do without.
@pytest.mark.parametrize(
    ("stores", "rounds"),
    [(kbs.STORES, 16 if THOROUGH else 1), (kbs.STORES[:-1], 16 if THOROUGH else 2)],
    ids=["all", "without-vectors"],
)
def test_killed_builds_leave_the_old_generation(tmp_path: Path, stores: Sequence[str], rounds: int) -> None:
    out, folder = tmp_path / "small.kb", tmp_path / "source"
    events = kbs.build(folder, out, 0, stores=stores)
    assert events[-1] == kbs.LAST
    choose = random.Random(20)
    children = _warm(rounds, stores)
    for version in range(1, rounds + 1):
        at = choose.randint(1, len(events) - 1)
        child = next(children)
        child.start(source=kbs.source(folder, version), out=out, act="kill", at=at)
        assert child.end()[0] == -signal.SIGKILL
        what = f"killed at event {at}, {events[at - 1]}"
        kbs.assert_whole(out, version - 1, what, stores)
        kbs.build(folder, out, version, stores=stores)
        assert kbs.answers(out) == kbs.expected(version, stores), what
        assert len(kbs.generations(out)) == 2, what
    kbs.assert_whole(out, rounds, stores=stores)


def _warm(count: int, stores: Sequence[str]) -> Iterator[kbs.Builder]:
    """Builders, of which the next one imports while the last one is looked at."""
    following = kbs.Builder(stores)
    for number in range(count):
        child, following = following, kbs.Builder(stores) if number < count - 1 else following
        with child:
            yield child


@pytest.mark.parametrize(("stage", "at"), [("load", 1), ("vectors", 2), ("publish", 1)])
def test_a_killed_first_build_does_not_stop_the_next(tmp_path: Path, stage: str, at: int) -> None:
    out, folder = tmp_path / "small.kb", kbs.source(tmp_path / "source", 1)
    with kbs.Builder(kbs.STORES if stage == "vectors" else kbs.LIGHT) as child:
        child.start(source=folder, out=out, act="kill", stage=stage, at=at)
        assert child.end()[0] == -signal.SIGKILL
    assert not (out / "CURRENT").exists()
    done = here("ingest", "table", folder, "-o", out)
    assert (done.returncode, done.stdout) == (0, "")
    assert kbs.generations(out) == ["0001"]
    kbs.assert_whole(out, 1)


def test_killed_after_the_swap_the_new_generation_is_live(light: Path, tmp_path: Path) -> None:
    with kbs.Builder(kbs.LIGHT) as child:
        child.start(source=kbs.source(tmp_path / "source", 3), out=light, act="kill", stage="publish", at=2)
        assert child.end()[0] == -signal.SIGKILL
    assert_whole(light, 3)


# Before the n-th of its renames: the folder to its final name, CURRENT, and the oldest generation out of the way.
@pytest.mark.parametrize(("at", "version"), [(1, 2), (2, 2), (3, 3)])
def test_killed_before_a_rename(light: Path, tmp_path: Path, at: int, version: int) -> None:
    with kbs.Builder(kbs.LIGHT) as child:
        folder = kbs.source(tmp_path / "source", 3)
        child.start(source=folder, out=light, act="kill", calls=["os.rename"], stage="publish", at=at)
        assert child.end()[0] == -signal.SIGKILL
    assert_whole(light, version)
    kbs.build(tmp_path / "source", light, 4, stores=kbs.LIGHT)
    assert_whole(light, 4)
    assert kbs.generations(light) == (["0002", "0003"] if version == 2 else ["0003", "0004"])
    assert not (light / "CURRENT.new").exists()


@pytest.mark.parametrize("at", [1, 2, 9])
def test_killed_while_it_removes_an_old_generation(light: Path, tmp_path: Path, at: int) -> None:
    with kbs.Builder(kbs.LIGHT) as child:
        folder = kbs.source(tmp_path / "source", 3)
        child.start(source=folder, out=light, act="kill", calls=["os.remove", "os.rmdir"], stage="publish", at=at)
        assert child.end()[0] == -signal.SIGKILL
    assert "0001.removed" in kbs.generations(light)
    assert_whole(light, 3)
    removed = here("gc", light)
    assert removed.returncode == 0
    assert removed.stderr.startswith("Removed 0001.removed, 0002 (")
    assert kbs.generations(light) == ["0003"]
    assert_whole(light, 3)


def test_a_complete_generation_that_current_does_not_name(light: Path, tmp_path: Path) -> None:
    (light / "CURRENT").write_text("0001\n")  # as when the power goes between the rename and the swap
    assert_whole(light, 1)
    kbs.build(tmp_path / "source", light, 3, stores=kbs.LIGHT)
    assert kbs.generations(light) == ["0001", "0002"]
    assert_whole(light, 3)


# -- interrupted ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def child() -> Iterator[kbs.Builder]:
    """A process that is interrupted again and again: a build that was stopped leaves nothing in the way of the next."""
    with kbs.Builder() as process:
        yield process


@pytest.mark.parametrize(
    ("stage", "at"),
    [("load", 1), ("load", 2), ("load", 3), ("triples", 1), ("text", 2), ("vectors", 2), ("publish", 1)],
)
def test_ctrl_c_stops_a_build(child: kbs.Builder, light: Path, tmp_path: Path, stage: str, at: int) -> None:
    before = kbs.tree(light)
    stores = sorted({*kbs.LIGHT, stage} & {*kbs.STORES})
    argv = ["ingest", "table", str(kbs.source(tmp_path / "source", 3)), "-o", str(light), "--replace"]
    stopped = child.stopped(argv=[*argv, "--stores", ",".join(stores)], act="interrupt", stage=stage, at=at)
    assert stopped[0] == 130
    assert "Nothing was changed" in stopped[1]
    assert kbs.tree(light) == before
    assert kbs.generations(light) == ["0001", "0002"]
    assert_whole(light, 2)


@pytest.mark.parametrize("stage", ["load", "triples", "publish"])
def test_ctrl_c_in_a_first_build_leaves_nothing(child: kbs.Builder, tmp_path: Path, stage: str) -> None:
    out = tmp_path / "small.kb"
    stores = sorted({*kbs.LIGHT, stage} & {*kbs.STORES})
    argv = ["ingest", "table", str(kbs.source(tmp_path / "source", 1)), "-o", str(out)]
    stopped = child.stopped(argv=[*argv, "--stores", ",".join(stores)], act="interrupt", stage=stage, at=1)
    assert stopped[0] == 130
    assert "Nothing was changed" in stopped[1]
    assert not out.exists()


def test_a_first_build_stopped_after_the_swap_is_whole_or_gone(tmp_path: Path) -> None:
    out = tmp_path / "small.kb"

    def listen(event: Event) -> None:
        if event == kbs.LAST:
            raise KeyboardInterrupt

    with pytest.raises(kbkit.KbError, match="interrupted"):
        kbkit.ingest("table", kbs.source(tmp_path / "source", 1), out=out, progress=listen, stores=kbs.LIGHT)
    if (out / "CURRENT").exists():
        assert_whole(out, 1)
    kbs.build(tmp_path / "source", out, 2, stores=kbs.LIGHT)
    assert_whole(out, 2)


def test_an_exception_of_the_listener_is_raised_and_changes_nothing(kb: Path, tmp_path: Path) -> None:
    class EnoughError(Exception):
        pass

    def listen(event: Event) -> None:
        if event.stage == "vectors":
            raise EnoughError

    with pytest.raises(EnoughError):
        kbkit.ingest("table", kbs.source(tmp_path / "source", 3), out=kb, replace=True, progress=listen)
    assert kbs.generations(kb) == ["0001", "0002"]
    kbs.assert_whole(kb, 2)


SLOW_SQL = "SELECT count(*) AS n FROM range(10000000) a, range(10000000) b WHERE a.range * b.range % 7 = 3"
SLOW_SPARQL = (
    "SELECT (COUNT(*) AS ?n) { " + " ".join(f"?a{i} ?b{i} ?c{i} ." for i in range(9)) + " FILTER(RAND() < 2) }"
)
"""Runs on Oxigraph, because columns have no RAND."""
SLOW_COLUMNS = SLOW_SPARQL.replace("RAND() < 2", "STRLEN(CONCAT(STR(?a1), STR(?a2), STR(?c3), STR(?c4))) < 3")


@pytest.mark.parametrize(
    ("language", "text", "store"),
    [
        pytest.param("sql", SLOW_SQL, "tables.duckdb", id="sql"),
        pytest.param("sparql", SLOW_SPARQL, "triples", id="sparql"),
        pytest.param("sparql", SLOW_COLUMNS, "tables.duckdb", id="columns"),
    ],
)
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds out through /proc what a process is doing")
def test_ctrl_c_stops_a_query(kb: Path, language: str, text: str, store: str) -> None:
    process = subprocess.Popen(
        [kbs.KBKIT, language, str(kb), "-c", text, "--timeout", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        group = _busy(process, kb / "generations" / "0002" / store)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
        output, errors = process.communicate(timeout=5)
    finally:
        _end(process)
    assert output == ""
    assert "Traceback" not in errors
    assert len(errors.splitlines()) <= 1, errors
    assert process.returncode == 130, errors
    assert [pid for pid in group if _alive(pid)] == []


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds out through /proc what a process is doing")
def test_ctrl_c_stops_a_slow_load(light: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "slow"
    assert here("recipe", "new", recipe).returncode == 0
    (recipe / "load.sql").write_text(f"CREATE TABLE nodes AS SELECT n::VARCHAR AS key FROM ({SLOW_SQL});")
    files = [tmp_path / name for name in ("people.csv", "friends.csv")]
    for path in files:
        path.write_text("id,name\n1,x\n")
    process = subprocess.Popen(
        [kbs.KBKIT, "ingest", str(recipe), *map(str, files), "-o", str(light), "--replace", "--stores", "text"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        _busy(process, light / "generations" / "0003.building" / "staging.duckdb")
        os.killpg(process.pid, signal.SIGINT)
        output, errors = process.communicate(timeout=10)
    finally:
        _end(process)
    assert (process.returncode, output, errors) == (130, "", "kbkit: Build interrupted. Nothing was changed.\n")
    assert_whole(light, 2)


def _busy(process: subprocess.Popen[str], wanted: Path) -> list[int]:
    """Wait until a process of the session has ``wanted`` open and has computed for a while. Returns all processes."""
    first: dict[int, int] = {}
    while process.poll() is None:
        everyone = [int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit()]
        group = [pid for pid in everyone if _session(pid) == process.pid]
        for pid in group:
            if any(name.startswith(str(wanted)) for name in _open_files(pid)):
                first.setdefault(pid, _ticks(pid))
            if pid in first and _ticks(pid) > first[pid] + 20:
                return group
    raise AssertionError(f"the query ended: {process.communicate()}")


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _session(pid: int) -> int:
    fields = _stat(pid)
    return int(fields[3]) if fields else 0


def _ticks(pid: int) -> int:
    fields = _stat(pid)
    return int(fields[11]) + int(fields[12]) if fields else 0


def _alive(pid: int) -> bool:
    fields = _stat(pid)
    return bool(fields) and fields[0] != "Z"


def _open_files(pid: int) -> list[str]:
    try:
        return [str(p.readlink()) for p in Path(f"/proc/{pid}/fd").iterdir()]
    except OSError:
        return []


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


# -- no room ----------------------------------------------------------------------------------------------------------

FULL = "kbkit: Disk full. Nothing was changed. Free disk space, or choose another --output.\n"


# No file may grow beyond the limit, which fails as a full disk does: when the staging database is made, when the tables
# are closed.
@pytest.mark.parametrize("limit", [1_000, 500_000])
def test_no_room_for_a_file(light: Path, tmp_path: Path, limit: int) -> None:
    before = kbs.tree(light)
    done = kbs.command(
        *("ingest", "table", kbs.source(tmp_path / "source", 3), "-o", light, "--replace", "--stores", "text"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, "", FULL)
    assert kbs.tree(light) == before
    assert_whole(light, 2)


def test_no_room_for_a_first_build(tmp_path: Path) -> None:
    done = kbs.command(
        *("ingest", "table", kbs.source(tmp_path / "source", 1), "-o", tmp_path / "small.kb", "--stores", "text"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000)),
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, "", FULL)
    assert not (tmp_path / "small.kb").exists()


# A small disk of its own, filled up but for some bytes: for the lock, the staging database, the tables.
# Pages mapped into memory fail only here.
FILL = """
mount -t tmpfs -o size=64m none "$DISK"
cp -r "$KB" "$DISK/small.kb"
"$PYTHON" -c '
import os, sys
space = os.statvfs(sys.argv[1])
with open(sys.argv[1] + "/filler", "wb") as f:
    os.posix_fallocate(f.fileno(), 0, space.f_bavail * space.f_bsize - int(sys.argv[2]))
' "$DISK" "$FREE"
code=0
"$KBKIT" ingest table "$SOURCE" -o "$DISK/small.kb" --replace --stores text || code=$?
echo "exit $code"
rm "$DISK/filler"
cp -r "$DISK/small.kb" "$LEFT"
"""


@pytest.mark.parametrize("free", [0, 8_192, 600_000])
def test_a_full_disk(light: Path, tmp_path: Path, free: int) -> None:
    disk, left = tmp_path / "disk", tmp_path / "left.kb"
    disk.mkdir()
    folder = kbs.source(tmp_path / "source", 3)
    done = kbs.in_namespace(FILL, DISK=disk, KB=light, FREE=free, SOURCE=folder, LEFT=left)
    assert (done.stdout, done.stderr) == ("exit 1\n", FULL)
    assert kbs.generations(left) == ["0001", "0002"]
    assert_whole(left, 2)


def test_a_full_disk_in_an_update(light: Path, tmp_path: Path) -> None:
    disk, left = tmp_path / "disk", tmp_path / "left.kb"
    disk.mkdir()
    folder = kbs.source(tmp_path / "source", 3)
    command = 'update "$DISK/small.kb" --nodes "$SOURCE/nodes.csv"'
    script = FILL.replace('ingest table "$SOURCE" -o "$DISK/small.kb" --replace --stores text', command)
    done = kbs.in_namespace(script, DISK=disk, KB=light, FREE=300_000, SOURCE=folder, LEFT=left)
    assert (done.stdout, done.stderr) == ("exit 1\n", FULL)
    assert_whole(left, 2)


# Only the vectors need room here: the other stores are links.
FILL_REBUILD = """
mount -t tmpfs -o size=64m none "$DISK"
cp -r "$KB" "$DISK/world.kb"
"$PYTHON" -c '
import os, sys
space = os.statvfs(sys.argv[1])
with open(sys.argv[1] + "/filler", "wb") as f:
    os.posix_fallocate(f.fileno(), 0, space.f_bavail * space.f_bsize - int(sys.argv[2]))
' "$DISK" "$FREE"
code=0
"$KBKIT" build "$DISK/world.kb" vectors || code=$?
echo "exit $code"
rm "$DISK/filler"
cp -r "$DISK/world.kb" "$LEFT"
"""


def test_a_full_disk_in_the_vectors(world_kb: Path, tmp_path: Path) -> None:
    disk, left = tmp_path / "disk", tmp_path / "left.kb"
    disk.mkdir()
    done = kbs.in_namespace(FILL_REBUILD, DISK=disk, KB=world_kb, FREE=600_000, LEFT=left)
    assert (done.stdout, done.stderr) == ("exit 1\n", FULL)
    assert kbs.generations(left) == ["0001"]
    assert kbs.problems(left) == []
