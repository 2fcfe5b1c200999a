"""Commands that write, killed at moments spread evenly over their run time.

``kills`` chooses a system call; here the clock chooses, which also hits the work between two calls. Each command runs
in a fork of a process that has imported the program, so that the run time is that of the work.
"""

from __future__ import annotations

import collections
import functools
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.console import here
from tests.fuzz import Bench, Broken
from tests.fuzz.datasets import made
from tests.fuzz.kills import TARGETS, Target, Written, environment, left_behind, next_run, prepare
from tests.fuzz.process import server

KILLS = 5
"""Kills of a case, one after another, before the command is run to its end."""
happened: collections.Counter[str] = collections.Counter()
"""The number of kills, in all and in each part of the run time, for those who run many cases."""


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
    "labels": Saving(("graph", "pagerank", "mine.kb", "--save", "rank"), kb="mine.kb"),
}
ALL: dict[str, Target] = {**TARGETS, **SAVING}


def case(bench: Bench, seed: int) -> Iterator[Broken]:
    """Kill one command several times in a row, look at what each left, run it again, and collect."""
    name = list(ALL)[seed % len(ALL)]
    target, whole, rng = ALL[name], _whole(name, bench.world), random.Random(seed)
    _prepare(target, bench.folder, bench.world)
    before, said = Written.of(bench.folder / "out"), set[str]()
    what = f"kbkit {' '.join(target.argv)}, killed after"
    for number in range(KILLS):
        share = (number + rng.random()) / KILLS
        if _killed(target, bench.folder, share * whole.seconds):
            happened["kills"] += 1
            happened[f"in fifth {number + 1} of the run time"] += 1
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
        for line in lines:
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
    """A run that is not killed."""

    seconds: float
    made: Written


@functools.cache
def _whole(name: str, world: Path) -> Whole:
    target = ALL[name]
    with tempfile.TemporaryDirectory(prefix="moments-") as base:
        folder = Path(base) / "case"
        folder.mkdir()
        _prepare(target, folder, world)
        _start(target, folder).join()  # reads what the next runs find in the system's cache
        shutil.rmtree(folder)
        folder.mkdir()
        _prepare(target, folder, world)
        begun = time.monotonic()
        process = _start(target, folder)
        process.join()
        assert process.exitcode == 0, f"{name} ends with {process.exitcode}"
        return Whole(time.monotonic() - begun, Written.of(folder / "out"))


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


def _killed(target: Target, folder: Path, seconds: float) -> bool:
    """Kill a command after some seconds; return whether it was still running."""
    process = _start(target, folder)
    process.join(seconds)
    process.kill()
    process.join()
    return bool(process.exitcode == -signal.SIGKILL)


def _start(target: Target, folder: Path) -> Any:
    stdin = target.stdin if isinstance(target, Saving) else ""
    process = server().Process(target=_work, args=(target.argv, stdin, str(folder)))
    process.start()
    return process


def _work(argv: Sequence[str], stdin: str, folder: str) -> None:
    tempfile.tempdir = None  # of the process that was forked
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115, PTH123
    os.environ.update(environment(Path(folder)))
    os._exit(here(*argv, stdin=stdin, cwd=Path(folder)).returncode)
