"""Commands that write, killed at a system call that changes a file.

``strace`` sends SIGKILL before the n-th call of a kind in any thread, native code included; without it, nothing is
killed. A first run of each command, which is not killed, lists its calls and says what the command makes.
"""

from __future__ import annotations

import collections
import functools
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

import kbkit
from kbkit.errors import KbError
from tests import kbs
from tests.console import Done, here
from tests.fuzz import Bench, Broken

OLD, NEW = 2, 3
"""Versions of the source: that of the KB before a command, and that of the files which a build reads."""
CALLS = (
    "openat", "rename", "renameat", "renameat2", "unlink", "unlinkat", "mkdir", "mkdirat", "rmdir", "link", "linkat",
    "symlink", "symlinkat", "ftruncate", "truncate", "fallocate", "fsync", "fdatasync", "write", "writev", "pwrite64",
    "pwritev", "copy_file_range", "sendfile", "msync",
)  # fmt: skip
OURS = {"CURRENT", "build.lock", "generations", "workspace"}
FIRST, KEPT = "first.kb", "kept.kb"
CHANGED = ("small.kb", KEPT)
"""The KBs that are there before a command."""
KILLS = 3
happened: collections.Counter[str] = collections.Counter()
"""The number of kills, for those who run many cases."""

Moment = tuple[str, int]
"""A system call, and which one of that kind in its thread."""


@dataclass(frozen=True)
class Written:
    """What lies in a folder: the bytes of each file, by path."""

    files: Mapping[str, bytes]

    @classmethod
    def of(cls, folder: Path) -> Written:
        return cls(kbs.tree(folder))


@dataclass(frozen=True)
class Target:
    """A command, and what it may change."""

    argv: Sequence[str]
    """Words of the command line, run where ``small.kb``, ``world.kb``, ``source`` and ``out`` lie."""
    versions: Sequence[int] = (OLD,)
    """The versions that ``small.kb`` may have after the command was killed; the last one is that after it is done."""
    kb: str = "small.kb"
    """The KB that is changed. One of another name is not there before."""
    before: Sequence[str] = ()
    """A command to run before."""
    output: bool = False
    """Whether ``out`` is what it was, or what the command makes, at every moment."""
    exchange: bool = True
    """Whether the system can exchange two folders, as on most file systems."""
    resumes: bool = False
    """Whether the command makes a part of ``out`` at a time, and the next run the rest."""


UPDATE = ("update", "small.kb", "--nodes", "source/nodes.csv", "--texts", "source/texts.csv")
EXPORT = ("export", "small.kb", "-f", "csv", "-o", "out/csv", "--replace")
LINES = ("export", "small.kb", "-f", "kgtk", "-o", "out/lines.tsv", "--replace")
LIGHT, FULL = ",".join(kbs.LIGHT), ",".join(kbs.STORES)
TARGETS: dict[str, Target] = {
    "ingest --replace": Target(
        ("ingest", "table", "source", "-o", "small.kb", "--replace", "--stores", LIGHT), (OLD, NEW)
    ),
    "ingest": Target(("ingest", "table", "source", "-o", FIRST, "--stores", LIGHT), (NEW,), FIRST),
    "update": Target(UPDATE, (OLD, NEW)),
    "build": Target(("build", "small.kb", "text", "--analyzer", "simple")),
    "export a folder": Target(EXPORT, before=("export", "small.kb", "-f", "csv", "--flat", *EXPORT[4:]), output=True),
    "export a folder elsewhere": Target(
        EXPORT, before=("export", "small.kb", "-f", "csv", "--flat", *EXPORT[4:]), output=True, exchange=False
    ),
    "export a file": Target(LINES, before=("export", "small.kb", "-f", "kgtk", "-o", "out/lines.tsv"), output=True),
    "sync": Target(("ingest", "table", "source", "-o", KEPT, "--sync", "--stores", LIGHT), (OLD, NEW), KEPT),
    "gc": Target(("gc", "small.kb")),
    "answers --save": Target(("answers", "small.kb", "person", "--save", "people")),
    "sql -o": Target(("sql", "small.kb", "-c", "FROM nodes", "-o", "out/nodes.parquet"), output=True),
    "stark make": Target(("stark", "make", "world.kb", "-o", "out/stark", "-n", "3"), resumes=True),
    "ingest all stores": Target(("ingest", "table", "source", "-o", FIRST, "--stores", FULL), (NEW,), FIRST),
    "embeddings": Target(("build", "small.kb", "embeddings")),
    "quest make": Target(("quest", "make", "world.kb", "-o", "out/quest", "-n", "3"), resumes=True),
    "vectors": Target(("build", "small.kb", "vectors")),
    "demo": Target(("demo", "-o", "demo.kb"), kb="demo.kb"),
}
"""The cheap ones first, which is what a sample runs."""


# -- one case ---------------------------------------------------------------------------------------------------------


def case(bench: Bench, seed: int) -> Iterator[Broken]:
    """Kill one command three times in a row, look at what each left, run it again, and collect."""
    if not traced():
        return skip("kills need strace, which is missing or may not trace here")
    name = list(TARGETS)[seed % len(TARGETS)]
    target, known = TARGETS[name], known_calls(name, bench.world)
    draw = random.Random(seed)
    prepare(target, bench.folder, bench.world)
    before = Written.of(bench.folder / "out")
    what = f"kbkit {' '.join(target.argv)}, killed before"
    for _ in range(KILLS):
        kind = draw.choice(sorted({kind for kind, _ in known.moments}))
        moment = draw.choice([one for one in known.moments if one[0] == kind])
        happened["kills"] += kill(target, bench.folder, moment)
        what += f" {moment[0]} number {moment[1]},"
        yield from (Broken(what, found) for found in left_behind(target, bench.folder, before, known.made))
    yield from (Broken(what, found) for found in next_run(target, bench.folder, known.made))


def left_behind(target: Target, folder: Path, before: Written, made: Written) -> Iterator[str]:
    """What is broken right after the kill."""
    if (folder / target.kb / "CURRENT").exists():
        yield from kb_problems(folder / target.kb, target.versions)
    elif target.kb in CHANGED:
        yield "no generation is live"
    if not target.exchange:
        yield from _moved(folder / "out" / "csv")
    now = Written.of(folder / "out").files
    shown = {path: content for path, content in now.items() if not any(map(unfinished, path.split("/")))}
    if target.output and shown not in (before.files, made.files):
        yield f"the output is neither the former one nor the new one: {sorted(shown)}"


def _moved(export: Path) -> Iterator[str]:
    """Put an export back that was moved aside where folders cannot be exchanged, which the next one does, too."""
    former = list(export.parent.glob(f".{export.name}.*.former"))
    if not export.exists() and len(former) == 1:
        former[0].rename(export)
    elif not export.exists():
        yield f"no export is left but {former}"


def next_run(target: Target, folder: Path, made: Written) -> Iterator[str]:
    """What is broken after the command is run again, and after ``gc``."""
    if target.kb in CHANGED or not (folder / target.kb / "CURRENT").exists():
        done = run_here(target.argv, folder)
        if done.returncode and "already exists" not in done.stderr:
            yield f"the next run ended with {done.returncode}: {done.stderr.strip()}"
    collected = run_here(("gc", target.kb), folder)
    if collected.returncode:
        yield f"gc ended with {collected.returncode}: {collected.stderr.strip()}"
    yield from kb_problems(folder / target.kb, target.versions[-1:])
    yield from leftovers(folder / target.kb, folder)
    now = Written.of(folder / "out").files
    if (target.output or target.resumes) and now != made.files:
        differing = sorted(path for path in {*now, *made.files} if now.get(path) != made.files.get(path))
        yield f"the next run makes something else than one that is not killed: {differing}"


def kb_problems(path: Path, versions: Sequence[int]) -> Iterator[str]:
    """What is broken in a KB that answers from one of those versions."""
    try:
        with kbkit.open(path) as kb:
            stores = sorted(kb.manifest.stores)
            if kb.schema.name == "table" and kbs.said(kb) not in [
                kbs.expected(version, stores) for version in versions
            ]:
                yield f"the KB answers {kbs.said(kb)}"
            yield from (f"check: {name}: {problem}" for name, problem in kb.check() if problem)
    except KbError as error:
        yield f"the KB cannot be read: {error}"


def leftovers(kb: Path, folder: Path) -> Iterator[str]:
    """What lies where nothing should, after the command was run again and ``gc``."""
    live = (kb / "CURRENT").read_text().strip()
    yield from (f"{path.name} is left in the KB" for path in kb.iterdir() if path.name not in OURS)
    yield from (f"generation {name} is left" for name in kbs.generations(kb) if name != live)
    for place in (kb / "workspace", folder / "out", folder / "settings"):
        yield from (f"{path.relative_to(folder)} is left" for path in sorted(place.rglob("*")) if unfinished(path.name))
    yield from (f"{path.relative_to(folder)} is left" for path in sorted((folder / "tmp").rglob("*")))
    ours = {"out", "tmp", "settings", "source", "small.kb", "world.kb", kb.name}
    yield from (f"{path.name} is left beside the KB" for path in sorted(folder.iterdir()) if path.name not in ours)


def unfinished(name: str) -> bool:
    """Whether a file or folder has this name only until it is complete."""
    return name.startswith(".") or name.endswith((".new", ".building", ".removed"))


# -- commands ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Known:
    """What a command does that is not killed: the calls that change files, and what it makes."""

    moments: Sequence[Moment]
    made: Written


@functools.cache
def known_calls(name: str, world: Path) -> Known:
    """Run a command to its end, and list its calls."""
    target = TARGETS[name]
    with tempfile.TemporaryDirectory(prefix="kills-") as base:
        folder = Path(base) / "case"
        folder.mkdir()
        prepare(target, folder, world)
        log = Path(base) / "log"
        # Faster with --seccomp-bpf, under which strace sends no signals.
        trace = ("--seccomp-bpf", "-o", str(log), "-e", f"trace={','.join(CALLS)}")
        done = run_there(target, folder, *trace, *_refused(target))
        moments = changing(log.read_text(errors="replace"), folder)
        assert done.returncode == 0, done.stderr
        return Known(moments, Written.of(folder / "out"))


def changing(log: str, folder: Path) -> list[Moment]:
    """The calls of a log that change a file below a folder."""
    counts: collections.Counter[tuple[str, str]] = collections.Counter()
    found = []
    for line in log.splitlines():
        match = re.match(r"(\d+) +(\w+)\(", line)
        if not match:
            continue
        counts[match[1], match[2]] += 1
        writes = match[2] != "openat" or re.search("O_WRONLY|O_RDWR|O_CREAT", line)
        relative = match[2] in CALLS[1:] and not re.match(r"[^(]*\((\d+<(?!/)|\d+</dev/)", line)
        if writes and (str(folder) in line or relative):
            found.append((match[2], counts[match[1], match[2]]))
    return sorted(set(found))


@functools.cache
def traced() -> bool:
    """Whether strace can send a signal here."""
    if not shutil.which("strace"):
        return False
    probe = ["strace", "-f", "-qq", "-o", os.devnull, "-e", "trace=rename", "-e", "inject=rename:signal=KILL:when=1"]
    return subprocess.run([*probe, "true"], capture_output=True, check=False).returncode == 0


def prepare(target: Target, folder: Path, world: Path) -> None:
    """Fill the folder of a case: KBs, source, and what was written before."""
    for name in ("out", "tmp", "settings"):
        (folder / name).mkdir()
    shutil.copytree(small(), folder / "small.kb")
    if target.kb == KEPT:
        kbs.source(folder / "source", OLD)
        done = run_here(target.argv, folder)
        assert done.returncode == 0, done.stderr
    kbs.source(folder / "source", NEW)
    (folder / "world.kb").symlink_to(world)
    if target.before:
        done = run_here(target.before, folder)
        assert done.returncode == 0, done.stderr


@functools.cache
def small() -> Path:
    """A light KB of two generations, which is copied for each case."""
    kept = tempfile.TemporaryDirectory(prefix="kills-")
    folder = Path(kept.name)
    _kept.append(kept)
    for version in (1, OLD):
        kbs.build(folder / "source", folder / "small.kb", version, stores=kbs.LIGHT)
    return folder / "small.kb"


_kept: list[tempfile.TemporaryDirectory[str]] = []


def environment(folder: Path) -> dict[str, str]:
    return {"TMPDIR": str(folder / "tmp"), "KBKIT_SETTINGS": str(folder / "settings"), "PYTHONDONTWRITEBYTECODE": "1"}


def run_here(argv: Sequence[str], folder: Path) -> Done:
    """Run a command in this process."""
    return here(*argv, cwd=folder, env=environment(folder))


def run_there(target: Target, folder: Path, *trace: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own, under strace if there is something to trace."""
    strace = ["strace", "-f", "-y", "-qq", *trace] if trace else []
    return subprocess.run(
        [*strace, kbs.KBKIT, *target.argv],
        cwd=folder,
        env={**os.environ, **environment(folder)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def kill(target: Target, folder: Path, moment: Moment) -> bool:
    """Kill a command at a moment, and return whether it was; it may end before the moment comes."""
    kind, number = moment
    rule = f"inject={kind}:signal=KILL:when={number}"
    kinds = kind if target.exchange else f"{kind},renameat2"
    done = run_there(target, folder, "-o", os.devnull, "-e", f"trace={kinds}", *_refused(target), "-e", rule)
    return done.returncode == -signal.SIGKILL


def _refused(target: Target) -> tuple[str, ...]:
    """The arguments of strace for a system that cannot exchange folders, on which a rename calls ``rename``."""
    return () if target.exchange else ("-e", "inject=renameat2:error=EINVAL")


def skip(why: str) -> None:
    """Skip a test; a run of many cases only says why."""
    if "PYTEST_CURRENT_TEST" in os.environ:
        pytest.skip(why)
    print(why)
