"""Commands with too little memory, too few open files or threads, no room on the disk, or a KB that cannot be written.

Each ends with exit code 0, or with 1 and one line that names no damage, and then changes nothing.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kbkit.directory.limits import THREADS
from tests import kbs
from tests.fuzz import Bench, Broken
from tests.fuzz.kills import (
    FIRST,
    TARGETS,
    Target,
    Written,
    environment,
    kb_problems,
    prepare,
    skip,
    traced,
    unfinished,
)

READS = {
    "sql": Target(("sql", "world.kb", "SELECT count(*) FROM nodes")),
    "search": Target(("search", "world.kb", "long rivers", "--mode", "hybrid")),
    "sparql": Target(("sparql", "world.kb", "SELECT * { ?s ?p ?o } LIMIT 1")),
    "answers": Target(("answers", "world.kb", "country -> river")),
    "check": Target(("check", "world.kb")),
    "infer": Target(("ingest", "source/nodes.csv", "-o", FIRST, "--stores", "tables"), (), FIRST),
}
COMMANDS = {**TARGETS, **READS}
_NO_ROOM = "pwrite64,ftruncate,fallocate,copy_file_range,mkdir"


@dataclass(frozen=True)
class Shortage:
    """A shortage, and the words before a command that cause it."""

    what: str
    before: Sequence[str]
    sudden: bool = False
    """Whether it comes after the check before a command: then engines may say something before our one line."""


def _memory(rng: random.Random) -> Shortage:
    size = rng.randrange(400_000_000, 4_000_000_000)
    return Shortage(f"{size:,} bytes of address space", ("prlimit", f"--as={size}"))


def _files(rng: random.Random) -> Shortage:
    number = rng.choice((rng.randrange(10, 128), rng.randrange(128, 256)))
    return Shortage(f"{number} open files", ("prlimit", f"--nofile={number}"))


def _disk(rng: random.Random) -> Shortage:
    size = int(10 ** rng.uniform(0, 6.5))
    return Shortage(f"files of {size:,} bytes", ("prlimit", f"--fsize={size}"))


def failing(calls: str, error: str, number: int, *, sudden: bool = False) -> Shortage:
    rule = f"inject={calls}:error={error}:when={number}+"
    trace = ("strace", "-f", "-qq", "--seccomp-bpf", "-o", os.devnull, "-e", f"trace={calls}", "-e", rule)
    return Shortage(f"{error} from call {number} of {calls}", trace, sudden)


def _threads(rng: random.Random) -> Shortage:
    if rng.random() < 0.3:
        return failing("clone,clone3", "EAGAIN", rng.randrange(1, THREADS))
    return failing("clone,clone3", "EAGAIN", THREADS + rng.randrange(1, 60), sudden=True)


def _processes(rng: random.Random) -> Shortage:
    """Limit the threads of a user of its own, because the limit is that of all processes of a user, and not of root."""
    number = str(rng.randrange(60_000, 65_000))
    kept = "-all,+dac_override,+dac_read_search"
    user = ("setpriv", f"--reuid={number}", f"--regid={number}", "--clear-groups", "--securebits=+no_setuid_fixup")
    if os.getuid() or not shutil.which("setpriv"):
        return _threads(rng)
    limit = rng.randrange(2, 80)
    return Shortage(
        f"{limit} threads", (*user, f"--inh-caps={kept}", f"--ambient-caps={kept}", "prlimit", f"--nproc={limit}")
    )


def _room(rng: random.Random) -> Shortage:
    return failing(_NO_ROOM, "ENOSPC", int(10 ** rng.uniform(0, 2.5)))


def _read_only(rng: random.Random) -> Shortage:
    script = 'mount --bind "$PWD" "$PWD" && mount -o remount,ro,bind "$PWD" && cd "$PWD" && exec "$@"'
    return Shortage("a read-only file system", ("unshare", "-m", "sh", "-c", script, "sh"))


KINDS: tuple[Callable[[random.Random], Shortage], ...] = (
    _memory, _files, _disk, _threads, _room, _read_only, _processes,
)  # fmt: skip


def case(bench: Bench, seed: int) -> Iterator[Broken]:
    """Run a command under a shortage, and look at what it says and leaves."""
    if not traced():
        return skip("shortages need strace, which is missing or may not trace here")
    rng = random.Random(seed)
    name = rng.choice(sorted(COMMANDS))
    target, shortage = COMMANDS[name], KINDS[seed % len(KINDS)](rng)
    prepare(target, bench.folder, bench.world)
    before = Written.of(bench.folder / "out")
    done = subprocess.run(
        [*shortage.before, kbs.KBKIT, "-q", *target.argv],
        cwd=bench.folder, env={**os.environ, **environment(bench.folder)},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    what = f"kbkit {' '.join(target.argv)}, with {shortage.what}"
    yield from (Broken(what, found) for found in said(done, sudden=shortage.sudden))
    failed = done.returncode != 0
    yield from (Broken(what, found) for found in left(target, bench.folder, before, failed=failed))


def said(done: subprocess.CompletedProcess[str], *, sudden: bool = False) -> Iterator[str]:
    """What is wrong with the end of a command; ``sudden`` shortages let an engine say something before our line."""
    last = (done.stderr.splitlines() or [""])[-1]
    if done.returncode not in (0, 1):
        yield f"exit code {done.returncode}: {done.stderr[-1500:]}"
    elif sudden and done.returncode == 1 and "hreads" not in last:
        yield f"names no shortage: {done.stderr[-1500:]}"
    elif not sudden and done.returncode == 1 and done.stderr.count("\n") != 1:
        yield f"{done.stderr.count(chr(10))} lines: {done.stderr[:1500]}"
    elif "damaged" in done.stderr or "wrong" in done.stdout:
        yield f"names damage: {done.stderr}{done.stdout}"


def left(target: Target, folder: Path, before: Written, *, failed: bool) -> Iterator[str]:
    """What is wrong with the files after a command."""
    kb = folder / target.kb
    if (kb / "CURRENT").exists():
        yield from kb_problems(kb, target.versions[:1] if failed and target.kb != FIRST else target.versions)
    elif kb.exists() and failed:
        yield f"left {sorted(path.name for path in kb.iterdir())}"
    if failed and target.output and Written.of(folder / "out") != before:
        yield "the output changed"
    written = [path for place in ("out", "tmp") for path in (folder / place).rglob("*")]
    hidden = [path for path in written if unfinished(path.name)]
    hidden += [path for path in folder.glob("*.kb/**/*") if path.suffix in (".building", ".new", ".removed")]
    hidden += folder.glob("*.recipe") if failed else ()
    yield from (f"{path.relative_to(folder)} is left" for path in hidden)
