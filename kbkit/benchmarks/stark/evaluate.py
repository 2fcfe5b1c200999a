"""Run the search modes of kbkit on a STaRK dataset and score runs: Tables 6 to 8 of the paper (section 3.1)."""

from __future__ import annotations

import contextlib
import json
import math
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from kbkit.assets.arguments import check_range
from kbkit.benchmarks.dataset import writing
from kbkit.benchmarks.stark.official import official, remarks
from kbkit.benchmarks.stark.task import Task, task
from kbkit.errors import BadInputError, Command, KbError, UnknownNameError
from kbkit.measures import ranking, stark
from kbkit.measures.files import read_run, write_run
from kbkit.measures.frames import RUN, Gold
from kbkit.measures.records import content, load
from kbkit.search.hybrid import Search
from kbkit.search.run import search
from kbkit.search.settings import MODES, missing_stores

if TYPE_CHECKING:
    from kbkit.kb import KnowledgeBase

__all__ = ["Latency", "Result", "Runner", "Task", "questions", "read", "remarks", "table", "task", "write"]

MEASURES = {"Hit@1": "hit@1", "Hit@5": "hit@5", "R@20": "recall@20", "MRR": "mrr"}
"""Table 6's columns."""
RESULTS = "results.json"
TIMED = 100
"""Number of questions whose searches are timed."""
_TABLE = pl.Schema(
    {
        "run": pl.String,
        "queries": pl.Int64,
        **dict.fromkeys(MEASURES, pl.Float64),
        "ms_median": pl.Float64,
        "ms_mean": pl.Float64,
    }
)


class Latency(NamedTuple):
    """Milliseconds per query, for searches one after the other."""

    median: float
    mean: float

    @staticmethod
    def of(seconds: Sequence[float]) -> Latency | None:
        """Return the latency from ``seconds`` per query, or None without any."""
        taken = 1000 * np.asarray(seconds)
        return Latency(float(np.median(taken)), float(np.mean(taken))) if len(taken) else None


@dataclass(frozen=True)
class Result:
    """A run (query, node, score) of a system and its ``latency``, if known."""

    name: str
    run: pl.DataFrame
    latency: Latency | None = None


# -- questions --------------------------------------------------------------------------------------------------------


def questions(dataset: Path, split: str, fraction: float = 1.0, seed: int = 0) -> Gold:
    """Return the questions of a split, or a random ``fraction`` of them (at least one)."""
    if not 0 < fraction <= 1:
        raise KbError(f"Invalid sample: {fraction:g}", "Use a fraction above 0 and at most 1, for example 0.1")
    check_range("seed", seed, 0)
    gold = stark.read(dataset, split)
    total = gold.queries.height
    if not total:
        raise BadInputError(f"No queries in {dataset}{f', split {split!r}' if split else ''}")
    if fraction == 1:
        return gold
    rows = np.random.default_rng(seed).choice(total, max(1, round(fraction * total)), replace=False)
    queries = gold.queries[np.sort(rows)]
    return Gold(gold.judgements.join(queries, on="query", how="semi"), queries)


def modes(kb: KnowledgeBase, wanted: Sequence[str] = ()) -> list[str]:
    """Return the search modes to run: ``wanted``, or all for which the KB has the stores."""
    for mode in wanted:
        if mode not in MODES:
            raise UnknownNameError("mode", mode, MODES)
    chosen = list(dict.fromkeys(wanted)) or [mode for mode in MODES if not missing_stores(kb.stores, mode)]
    if not chosen:
        raise KbError("The KB has neither full text nor vectors", "Run ", Command("build KB text"))
    return chosen


def left_out(kb: KnowledgeBase) -> list[str]:
    """Return a line for each mode that needs a store which the KB does not have."""
    return [
        f"Skipped {mode}: the KB has no {' and no '.join(missing_stores(kb.stores, mode))}"
        for mode in MODES
        if missing_stores(kb.stores, mode)
    ]


# -- runs -------------------------------------------------------------------------------------------------------------


class Runner:
    """Searches the questions of a task and keeps the hits of each mode."""

    def __init__(self, kb: KnowledgeBase, task: Task, k: int = 100, timed: int = TIMED) -> None:
        self.session, self.task, self.k, self.timed = kb.session, task, k, timed
        self._hits: dict[str, pl.DataFrame] = {}

    def remarks(self) -> list[str]:
        """Return remarks on the scores: of the task, and about measures that need more hits."""
        beyond = [name for name in MEASURES if "@" in name and self.k < min(_cut(name), len(self.task.within))]
        cut = ", ".join(f"{name} is {name.partition('@')[0]}@{self.k}" for name in beyond)
        return [*self.task.remarks(), *([f"Rankings end at {self.k}: {cut}"] if beyond and self.k > 0 else [])]

    def search(self, mode: str) -> Search:
        """Return a search of the task's nodes."""
        return search(self.session.stores, mode, self.k, self.task.within, options={"quotes": False})

    def hits(self, mode: str, progress: Callable[[int, int], None] | None = None) -> pl.DataFrame:
        """Return the hits of all questions: query, rank, id, key, type, name, score."""
        if mode not in self._hits:
            self._hits[mode] = self.search(mode).many(self.task.gold.queries.select("query", "text"), progress)
        return self._hits[mode]

    def result(self, mode: str, progress: Callable[[int, int], None] | None = None) -> Result:
        """Return the run of a mode, and its latency over the first ``timed`` questions."""
        run = self.task.run(self.hits(mode, progress))
        return Result(mode, run, latency(self.search(mode), self.task.texts[: self.timed]))


def _cut(measure: str) -> int:
    return int(measure.partition("@")[2])


def latency(searching: Search, texts: Sequence[str]) -> Latency | None:
    """Measure the time of single searches, after a first one to warm up."""
    if not texts:
        return None
    searching.one(texts[0], explain=False)
    return Latency.of([_seconds(searching, text) for text in texts])


def _seconds(searching: Search, text: str) -> float:
    started = time.perf_counter()
    searching.one(text, explain=False)
    return time.perf_counter() - started


# -- scores -----------------------------------------------------------------------------------------------------------


def table(results: Sequence[Result], gold: Gold, candidates: pl.Series | None = None) -> pl.DataFrame:
    """Return Table 6 in percent and Table 8 in milliseconds.

    The columns are run, queries, Hit@1, Hit@5, R@20, MRR, ms_median and ms_mean. With the names of all ``candidates``,
    only these count, as in STaRK's evaluator (:mod:`kbkit.benchmarks.stark.official`); without, all answers do.
    """
    return pl.DataFrame([_row(result, gold, candidates) for result in results], schema=_TABLE, orient="row")


def _row(result: Result, gold: Gold, candidates: pl.Series | None) -> dict[str, Any]:
    try:
        ranking.check_overlap(result.run, gold)
        if candidates is None:
            scores = ranking.measure(result.run, gold, MEASURES.values())
        else:
            scores = official(result.run, gold, candidates, MEASURES.values())
    except KbError as error:
        raise KbError(f"{result.name}: {error.message}", *error.hints) from None
    means = {label: scores[name].mean() for label, name in MEASURES.items()}
    return {
        "run": result.name,
        "queries": scores.height,
        **{name: None if mean is None else round(100 * mean, 2) for name, mean in means.items()},  # type: ignore[operator, arg-type]
        "ms_median": result.latency and round(result.latency.median, 3),
        "ms_mean": result.latency and round(result.latency.mean, 3),
    }


# -- files ------------------------------------------------------------------------------------------------------------


def check_folder(folder: Path, names: Sequence[str] = ()) -> None:
    """Raise :class:`KbError` if :func:`write` could not write to ``folder``, or if two runs had the same file."""
    for name, count in Counter(map(_stem, names)).items():
        if count > 1:
            raise KbError(f"Two runs have the same file {folder / name}", "List each mode and model once")
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)


def write(result: Result, folder: Path, about: Mapping[str, Any]) -> Path:
    """Write a run to ``folder``, in TREC's format if the names allow it, else as JSON lines.

    ``results.json`` records its latency and the settings ``about``, and those of other runs.
    """
    path = folder / _file_name(result)
    latency = result.latency._asdict() if result.latency else {}
    record = {"file": path.name, "run": result.name, **latency, **about}
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        write_run(result.run, path, re.sub(r"\s+", "", result.name))
        others = [other for other in _records(folder) if _is_of_another(other, path)]
        text = json.dumps([*others, record], indent=1, ensure_ascii=False) + "\n"
        (folder / RESULTS).write_text(text, encoding="utf-8", newline="\n")
    return path


def _is_of_another(record: Mapping[str, Any], path: Path) -> bool:
    name = record.get("file")
    return isinstance(name, str) and name not in ("", path.name) and path.with_name(Path(name).name).is_file()


def _file_name(result: Result) -> str:
    spaced = any(result.run[name].str.contains(r"\s").any() for name in ("query", "node"))
    return _stem(result.name) + (".jsonl" if spaced else ".trec")


def _stem(name: str) -> str:
    return re.sub(r"[^\w.+-]+", "-", name.replace(" ", ""))


def read(path: Path) -> Result:
    """Read a run of :func:`write` or of any other system, named by its path.

    An empty file is a run without hits if ``results.json`` lists it; otherwise it is invalid.
    """
    if path.is_file() and not path.stat().st_size and any(_records_of(path)):
        return Result(str(path), pl.DataFrame(schema=RUN), known_latency(path))
    return Result(str(path), read_run(path), known_latency(path))


def known_latency(run: Path) -> Latency | None:
    """Return the latency that ``results.json`` in its folder records, or None."""
    for record in _records_of(run):
        times = [record.get(name) for name in Latency._fields]
        with contextlib.suppress(OverflowError):
            if all(isinstance(t, int | float) and not isinstance(t, bool) and math.isfinite(t) for t in times):
                return Latency(*map(float, times))  # type: ignore[arg-type]
    return None


def _records_of(run: Path) -> Iterable[dict[str, Any]]:
    return (record for record in _records(run.parent) if record.get("file") == run.name)


def _records(folder: Path) -> list[dict[str, Any]]:
    """Return the records of ``results.json``, or none if it is missing or invalid."""
    path = folder / RESULTS
    try:
        found = load(content(path).decode(), str(path))
    except (KbError, OSError):
        return []
    return [record for record in found if isinstance(record, dict)] if isinstance(found, list) else []
