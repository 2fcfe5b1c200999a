"""Commands that write, killed at moments spread evenly over their run time.

``kills`` chooses a system call; here the clock chooses, which also hits the work between two calls. The clock is that
of the processor, because other programs do not slow it down; while a command waits for the disk, its files do not
change. Each command runs in a fork of a process that has imported all it needs, so that the time is that of the work.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import importlib
import itertools
import json
import multiprocessing
import os
import random
import shutil
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from tests.console import here
from tests.fuzz import Bench, Broken
from tests.fuzz.datasets import made
from tests.fuzz.kills import TARGETS, Target, Written, environment, left_behind, next_run, prepare
from tests.fuzz.process import server

KILLS = 5
"""Kills of a case, one after another, before the command is run to its end."""
RUNS = 3
"""Runs of a command to its end, whose median time counts."""
happened: collections.Counter[str] = collections.Counter()
"""The number of kills, for those who run many cases."""
hits: dict[str, list[float]] = {}
"""For each command, the fractions of its run time at which it was killed."""
earliest = 0.0
"""The fraction of the run time before which nothing is killed."""


def summary() -> str:
    """Return where the kills of many cases hit, a line for each command."""
    lines = [f"{'kills in each fifth of the run time':36}{'1':>6}{'2':>6}{'3':>6}{'4':>6}{'5':>6}{'all':>7}"]
    for name, fractions in [*hits.items(), ("all", [*itertools.chain(*hits.values())])]:
        counts = collections.Counter(min(4, max(0, int(5 * fraction))) for fraction in fractions)
        fifths = "".join(f"{counts[number]:6}" for number in range(5))
        lines.append(f"{name:36}{fifths}{counts.total():7}")
    lines += [f"{name}: {' '.join(f'{fraction:.2f}' for fraction in sorted(found))}" for name, found in hits.items()]
    return "\n".join(lines)


@dataclass(frozen=True)
class Saving(Target):
    """A command that saves what a person or a model said."""

    stdin: str = ""
    saved: str = ""
    """The file or folder of what is saved, as JSON lines that are only added to."""


PAIRS = (
    ("Which countries border France?", 'country:"France" -> [borders] -> country'),
    ("Which countries border Spain?", 'country:"Spain" -> [borders] -> country'),
    ("Which rivers flow through Germany?", 'country:"Germany" -> [flows_through] -> river'),
    ("What is the capital of Japan?", 'country:"Japan" -> [capital] -> city'),
)
_COUNTRIES = {
    "FRA": "France", "DEU": "Germany", "ESP": "Spain", "ITA": "Italy", "JPN": "Japan", "CHN": "China", "BRA": "Brazil",
    "PER": "Peru", "CHL": "Chile", "ARG": "Argentina", "EGY": "Egypt", "KEN": "Kenya", "IND": "India", "NPL": "Nepal",
    "CAN": "Canada", "MEX": "Mexico", "CUB": "Cuba", "POL": "Poland", "SWE": "Sweden", "NOR": "Norway",
    "FIN": "Finland", "GRC": "Greece", "TUR": "Turkey", "IRN": "Iran",
}  # fmt: skip
FOUND = "".join(
    json.dumps({"query": f"mountains of {name}", "relevant": [key]}) + "\n" for key, name in _COUNTRIES.items()
)
"""Queries with a relevant node, to learn a ranking from."""
SAVING: dict[str, Saving] = {
    "rate": Saving(
        ("stark", "rate", "out/stark", "-o", "out/r.jsonl", "--rater", "x"), stdin="1\n" * 40, saved="r.jsonl"
    ),
    "annotate": Saving(("ska", "annotate", "out/ska", "--rater", "x"), stdin="2\n" * 60, saved="ska"),
    "judge": Saving(("quest", "annotate", "out/quest", "--rater", "x"), stdin="y\nc\n" * 30, saved="quest"),
    "conv rate": Saving(
        ("conv", "rate", "out/conv", "-o", "out/r.jsonl", "--rater", "x"), stdin="3\n" * 60, saved="r.jsonl"
    ),
    "learn questions": Saving(("ask", "mine.kb", "--learn", "source/pairs.jsonl"), kb="mine.kb"),
    "learn a ranking": Saving(("search", "mine.kb", "--learn", "source/found.jsonl"), kb="mine.kb"),
    "synonym": Saving(("ask", "mine.kb", "--synonym", "borders=touches"), kb="mine.kb"),
    "choose": Saving(("ask", "mine.kb", "zorped of France", "--pick", "1"), kb="mine.kb"),
    "labels": Saving(("graph", "pagerank", "mine.kb", "--save", "rank"), kb="mine.kb"),
}
ALL: dict[str, Target] = {name: one for name, one in TARGETS.items() if one.exchange} | SAVING


def case(bench: Bench, seed: int) -> Iterator[Broken]:
    """Kill one command several times in a row, look at what each left, run it again, and collect."""
    name = list(ALL)[seed % len(ALL)]
    target, whole, rng = ALL[name], _whole(name, bench.world), random.Random(seed)
    _prepare(target, bench.folder, bench.world)
    before, said = Written.of(bench.folder / "out"), set[str]()
    what = f"kbkit {' '.join(target.argv)}, killed after"
    for number in range(KILLS):
        share = earliest + (1 - earliest) * (number + rng.random()) / KILLS
        ended = _run(target, bench.folder, share * whole.seconds)
        if ended.killed:
            happened["kills"] += 1
            hits.setdefault(name, []).append((ended.seconds - whole.around) / whole.seconds)
        elif ended.code not in (0, 1):
            yield Broken(what, f"the command ended with {ended.code}")
        what += f" {share:.2f}"
        yield from (Broken(what, found) for found in left_behind(target, bench.folder, before, whole.made))
        if isinstance(target, Saving):
            yield from (Broken(what, found) for found in _lost(target, bench.folder, said))
    if isinstance(target, Saving):
        done = here(*target.argv, stdin=target.stdin, cwd=bench.folder, env=environment(bench.folder))
        if done.returncode:
            yield Broken(what, f"the next run ended with {done.returncode}: {done.stderr.strip()}")
        yield from (Broken(what, found) for found in _lost(target, bench.folder, said, ended=True))
    yield from (Broken(what, found) for found in next_run(target, bench.folder, whole.made))


def _lost(target: Saving, folder: Path, said: set[str], *, ended: bool = False) -> Iterator[str]:
    """What is no longer saved, or not readable; ``said`` becomes what is saved now."""
    place = folder / "out" / target.saved
    paths = [place] if place.is_file() else sorted(place.rglob("*.jsonl"))
    now: set[str] = set()
    for path in paths if target.saved else ():
        text = path.read_text(encoding="utf-8")
        *lines, rest = text.split("\n")
        now.update(lines)
        if rest and ended:
            yield f"{path.name} ends within a line"
        for line in set(lines) - said:
            try:
                json.loads(line)
            except ValueError:
                yield f"{path.name} has the line {line!r}"
    if gone := said - now:
        yield f"{len(gone)} saved lines are gone, such as {min(gone)}"
    said.clear()
    said.update(now)


# -- processes --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Whole:
    """A command that is not killed: its seconds of the processor, those of its process around it, what it makes."""

    seconds: float
    around: float
    made: Written


@dataclass(frozen=True)
class Job:
    """A command to run, and the seconds of the processor after which it is killed (0: never)."""

    argv: Sequence[str]
    stdin: str
    folder: Path
    seconds: float


@dataclass(frozen=True)
class Ran:
    """How a command ended: its exit code, the seconds of its process and its own, the modules that it imported."""

    code: int
    seconds: float
    own: float = 0
    modules: Sequence[str] = ()

    @property
    def killed(self) -> bool:
        return self.code == -signal.SIGPROF


@functools.cache
def _whole(name: str, world: Path) -> Whole:
    target, runs = ALL[name], []
    with tempfile.TemporaryDirectory(prefix="moments-") as base:
        folder = Path(base) / "case"
        for _ in range(1 + RUNS):  # the first one says what to import
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            _prepare(target, folder, world)
            ended = _run(target, folder)
            assert ended.code == 0, f"{name} ends with {ended.code}"
            runs.append(ended)
        own, all_ = (statistics.median(times) for times in zip(*((r.own, r.seconds) for r in runs[1:]), strict=True))
        return Whole(own, all_ - own, Written.of(folder / "out"))


def _prepare(target: Target, folder: Path, world: Path) -> None:
    prepare(target, folder, world)
    if not isinstance(target, Saving):
        return
    for name in ("stark", "ska", "quest", "conv"):
        if f"out/{name}" in target.argv:
            ignored = shutil.ignore_patterns("judgements*", "annotations*")
            shutil.copytree(made(world) / name, folder / "out" / name, ignore=ignored)
    lines = [json.dumps({"question": question, "expression": found}) + "\n" for question, found in PAIRS * 3]
    (folder / "source" / "pairs.jsonl").write_text("".join(lines), encoding="utf-8")
    (folder / "source" / "found.jsonl").write_text(FOUND, encoding="utf-8")
    if target.kb == "mine.kb":
        shutil.copytree(world, folder / target.kb)


def _run(target: Target, folder: Path, seconds: float = 0) -> Ran:
    """Run a command in a process of its own, and kill it after some seconds of the processor."""
    jobs = _forker()
    jobs.send(Job(target.argv, target.stdin if isinstance(target, Saving) else "", folder, seconds))
    ran: Ran = jobs.recv()
    return ran


@functools.cache
def _forker() -> Connection:
    ours, theirs = multiprocessing.Pipe()
    server().Process(target=_fork_for_each, args=(theirs,), daemon=True).start()
    theirs.close()
    return ours


def _fork_for_each(jobs: Connection) -> None:
    """Run each job in a fork of this process, which runs nothing itself: the threads of engines survive no fork."""
    from kbkit.cli.app import app
    from tests.console import _built

    _built(app)
    tempfile.tempdir = None  # of the process that was forked
    with contextlib.suppress(EOFError):  # the tests have ended
        while True:
            job: Job = jobs.recv()
            said, saying = os.pipe()
            process = os.fork()
            if not process:
                os._exit(_work(job, saying))
            os.close(saying)
            with open(said, encoding="utf-8") as lines:  # noqa: PTH123
                own = json.loads(lines.read() or "{}")
            _, status, used = os.wait4(process, 0)
            jobs.send(ran := Ran(os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, **own))
            for name in ran.modules:  # for the next ones
                with contextlib.suppress(ImportError):
                    importlib.import_module(name)


def _work(job: Job, ended: int) -> int:
    """Run a job, write its seconds and the names of the modules that it imported, and return the exit code."""
    silent, known = os.open(os.devnull, os.O_RDWR), set(sys.modules)
    for stream in (0, 1, 2):
        os.dup2(silent, stream)
    os.environ.update(environment(job.folder))
    begun = time.process_time()
    # The system ends the process as with SIGKILL, which a timer cannot send: Python handles neither.
    signal.setitimer(signal.ITIMER_PROF, job.seconds)
    code = here(*job.argv, stdin=job.stdin, cwd=job.folder).returncode
    signal.setitimer(signal.ITIMER_PROF, 0)
    own = {"own": time.process_time() - begun, "modules": sorted(set(sys.modules) - known)}
    os.write(ended, json.dumps(own).encode())
    return code
