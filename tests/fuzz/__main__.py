"""``python -m tests.fuzz [AREA]... [--minutes N] [--seed N] [--count N]``: attack kbkit with generated input."""

from __future__ import annotations

import argparse
import importlib
import itertools
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import kbkit
from tests.fuzz import Bench, Broken, Case

AREAS: dict[str, int] = {
    "damage": 2,
    "owned": 2,
    "strangers": 2,
    "kills": 1,
    "moments": 1,
    "shortages": 3,
    "bombs": 2,
    "calls": 5,
    "questions": 2,
    "choices": 2,
    "commands": 3,
    "requests": 2,
    "datasets": 2,
    "readers": 2,
    "sources": 4,
    "inferred": 3,
    "reviews": 2,
    "sparql": 3,
}
"""The modules of cases, each with the number of cases that ``tests/kb/test_fuzz.py`` runs."""
TINY = Path(__file__).parents[1] / "tiny"


def case_of(area: str) -> Case:
    case: Case = importlib.import_module(f"tests.fuzz.{area}").case
    return case


def attack(area: str, seed: int, world: Path, tiny: Path, folder: Path) -> list[Broken]:
    """Run the case of a seed in a folder of its own. An exception that leaves the case is a broken promise, too."""
    folder.mkdir()
    try:
        return list(case_of(area)(Bench(world, tiny, folder), seed))
    except Exception as error:  # noqa: BLE001
        return [Broken(f"{area}, seed {seed}", f"{type(error).__name__}: {error}")]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def seeds(start: int | None, count: int | None, seconds: float) -> Iterator[int]:
    """Yield seeds until the count or the time is reached."""
    end = time.monotonic() + seconds
    for number in itertools.count(start or 0):
        if number - (start or 0) == (count or sys.maxsize) or (count is None and time.monotonic() > end):
            return
        yield number


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("areas", nargs="*", metavar="AREA", help=f"{', '.join(AREAS)} (default: all)")
    parser.add_argument("--minutes", type=float, default=5.0, help="time of each area (default 5)")
    parser.add_argument("--seed", type=int, help="run this one case, or with --count this and the next ones")
    parser.add_argument("--count", type=int, help="number of cases instead of a time")
    parser.add_argument("--after", type=float, default=0.0, help="moments: kill after this fraction of the run time")
    given = parser.parse_args()
    if unknown := [area for area in given.areas if area not in AREAS]:
        parser.error(f"unknown area {unknown[0]!r}: choose from {', '.join(AREAS)}")
    count = given.count or (1 if given.seed is not None else None)
    failures = 0
    with tempfile.TemporaryDirectory(prefix="kbkit-fuzz-") as name:
        base = Path(name)
        os.environ["KBKIT_SETTINGS"] = str(base / "settings")
        kbkit.ingest("world", out=base / "world.kb").close()
        files = {part: TINY / f"{part}.csv" for part in ("nodes", "edges", "texts")}
        kbkit.ingest("table", out=base / "tiny.kb", files=files).close()
        for area in given.areas or AREAS:
            begun, cases, broken = time.monotonic(), 0, 0
            module = importlib.import_module(f"tests.fuzz.{area}")
            if hasattr(module, "earliest"):
                module.earliest = given.after
            for seed in seeds(given.seed, count, given.minutes * 60):
                cases += 1
                for one in attack(area, seed, base / "world.kb", base / "tiny.kb", base / f"{area}-{seed}"):
                    broken += 1
                    print(f"{area}, seed {seed}: {one.input}\n  {one.found}", flush=True)
            counted = getattr(module, "happened", {})
            what = "".join(f", {count:,} {name}" for name, count in counted.items())
            took = f"{time.monotonic() - begun:.0f} s"
            print(f"{area}: {cases} cases{what} in {took}, {broken} broken promises", flush=True)
            if summary := getattr(module, "summary", None):
                print(summary(), flush=True)
            failures += broken
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
