"""The performance suite: ``python -m tests.performance [AREA]... [--scale 0.01,0.1,1.0] [--json FILE]``.

Data and databases are kept in ``$KBKIT_BENCH``. Every engine runs in a process of its own, after what it reads has been
put on disk by another, and its answers have been compared.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import datetime
import importlib.metadata
import os
import platform
import sys
from collections.abc import Sequence
from typing import IO

from rich.console import Console

from tests.performance.areas import AREAS, GOALS, GROWTH, LONG
from tests.performance.report import Figure, show, table, write
from tests.performance.runner import run

PACKAGES = (
    "kbkit", "numpy", "duckdb", "pyoxigraph", "tantivy", "lancedb", "ladybug", "networkx", "rustworkx", "rdflib",
    "torch", "bm25s", "numba", "rank_bm25", "psutil",
)  # fmt: skip


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.performance", description=__doc__.splitlines()[0])
    names = (*AREAS, "growth")
    parser.add_argument("areas", nargs="*", metavar="AREA", help=f"{', '.join(names)}; by default the short ones")
    parser.add_argument("--scale", help="scales of the data, comma between them; by default 0.01", metavar="S,...")
    parser.add_argument("--engine", action="append", metavar="NAME", help="run only these engines, e.g. duckdb")
    parser.add_argument("--timeout", type=float, default=1800.0, help="seconds for one engine in one area", metavar="S")
    parser.add_argument("--json", help="write figures and goals there, a line each", metavar="FILE")
    read = parser.parse_args(given)
    for name in read.areas:
        if name not in names:
            parser.error(f"no area {name!r}: there are {', '.join(names)}")
    grown = "growth" in read.areas
    read.areas = [area for area in read.areas if area != "growth"] + [a for a in GROWTH if grown]
    read.areas = list(dict.fromkeys(read.areas)) or [area for area in AREAS if area not in LONG]
    try:
        read.scale = [float(s) for s in (read.scale or ("0.01,0.1,1.0" if grown else "0.01")).split(",")]
    except ValueError:
        parser.error(f"--scale {read.scale}: numbers with commas between them, such as 0.01,0.1")
    if not all(0 < scale <= 10 for scale in read.scale):
        parser.error("--scale: a scale is above 0 and at most 10")
    return read


def measured(
    area: str, scale: float, chosen: argparse.Namespace, console: Console, file: IO[str] | None
) -> list[Figure]:
    """The figures of all engines of an area, at one scale; each is written to ``file`` as it comes."""
    found = []
    for number, job in enumerate(AREAS[area]):
        if (chosen.engine and job.engine not in chosen.engine) or (not job.scaled and scale != chosen.scale[0]):
            continue
        console.print(f"[dim]{area}, scale {scale:g}: {job.engine} ({job.call}) ...", highlight=False)
        for figure in run(job, area, number, scale, chosen.timeout):
            found.append(figure)
            if file:
                write(file, "figure", {**dataclasses.asdict(figure), "verdict": figure.verdict})
    return found


def machine() -> dict[str, object]:
    """What the figures hang on beside the code."""
    versions = {}
    for package in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[package] = importlib.metadata.version(package)
    return {
        "taken": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": versions,
    }


def main(given: Sequence[str] | None = None) -> None:
    chosen = arguments(given)
    console, progress = Console(width=None if sys.stdout.isatty() else 160), Console(stderr=True)
    figures: list[Figure] = []
    with contextlib.ExitStack() as stack:
        file: IO[str] | None = stack.enter_context(open(chosen.json, "w")) if chosen.json else None  # noqa: PTH123
        if file:
            write(file, "run", machine())
        for scale in chosen.scale:
            for area in chosen.areas:
                found = measured(area, scale, chosen, progress, file)
                figures += found
                if found:
                    console.print(table(found), "")
        for one in show(figures, GOALS, console):
            if file:
                write(file, "goal", dataclasses.asdict(one))


if __name__ == "__main__":
    main()
