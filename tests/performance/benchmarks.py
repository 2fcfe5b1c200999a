"""Datasets made without a model, as whole commands: STaRK's, QUEST's and SKA-Bench's."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.performance import data
from tests.performance.report import Figure
from tests.performance.small import SHARED
from tests.performance.timing import KBKIT, seconds, watched_command


def small(scale: float, engine: str) -> Iterator[Figure]:
    """200 STaRK queries and 200 SKA-Bench instances on the sample, 350 QUEST queries on imdb."""
    with tempfile.TemporaryDirectory() as folder:
        seconds([KBKIT, "demo", "-o", f"{folder}/w.kb"])
        yield _made("stark", f"{folder}/w.kb", f"{folder}/stark", 200, 10.0, "the sample")
        yield _made("ska", f"{folder}/w.kb", f"{folder}/ska", 50, 40.0, "the sample, for each of four forms")
        if not (SHARED / "imdb").is_dir():
            yield Figure("350 QUEST queries on imdb", note="no data")
            return
        seconds([KBKIT, "ingest", "imdb", str(SHARED / "imdb"), "-o", f"{folder}/i.kb"])
        yield _made("stark", f"{folder}/i.kb", f"{folder}/stark_i", 200, None, "imdb")
        # The paper's bounds on differences leave 12 queries of 4,919 films.
        films = ("--type", "movie", "--scale-constraints")
        yield _made("quest", f"{folder}/i.kb", f"{folder}/quest", 350, 20.0, "imdb", *films)


def mag(scale: float, engine: str) -> Iterator[Figure]:
    """2,000 STaRK queries on MAG's shape; the goal is for scale 0.1."""
    with tempfile.TemporaryDirectory() as folder:
        goal = 300.0 if scale <= 0.1 else None
        yield _made("stark", str(data.whole_kb(scale)), f"{folder}/out", 2_000, goal, "MAG's shape")


def _made(paper: str, kb: str, out: str, count: int, goal: float | None, where: str, *options: str) -> Figure:
    """One dataset; ``extra`` has what its report says."""
    taken, memory = watched_command([KBKIT, paper, "make", kb, "-n", str(count), "-o", out, *options])
    report = json.loads((Path(out) / "dataset.json").read_text("utf-8"))["report"]
    figures = {name: float(report[name]) for name in ("queries", "golds_verified") if report.get(name) is not None}
    return Figure(
        f"{count:,} {paper.upper()} queries, {where}", taken, "s", goal=goal, extra=figures, **memory.figures()
    )
