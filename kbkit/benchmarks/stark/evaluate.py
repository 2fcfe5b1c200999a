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

from kbkit.benchmarks.dataset import check_seed, writing
from kbkit.benchmarks.stark.dataset import are_references
from kbkit.errors import BadInputError, Command, KbError, Option, UnknownNameError
from kbkit.measures import ranking, stark
from kbkit.measures.files import read_run, write_run
from kbkit.measures.frames import RUN, Gold
from kbkit.measures.records import content, load
from kbkit.questions.run import search
from kbkit.search.run import Search
from kbkit.search.settings import MODES

if TYPE_CHECKING:
    from kbkit.kb import KnowledgeBase

MEASURES = {"Hit@1": "hit@1", "Hit@5": "hit@5", "R@20": "recall@20", "MRR": "mrr"}
"""Table 6's columns."""
RESULTS = "results.json"
TIMED = 100
"""Number of questions whose searches are timed."""
_NEEDS = {
    "bm25": ("text",),
    "dense": ("vectors",),
    "multivector": ("vectors",),
    "hybrid": ("text", "vectors"),
    "relational": ("text", "vectors", "adjacency"),
}
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


@dataclass(frozen=True)
class Task:
    """Questions with their answers, and the nodes that are searched.

    ``references``: answers are ``type#key`` instead of keys. ``within``: ids of the searched nodes, all of the
    ``types``. ``answers``: number of answers of all questions; ``unknown``: how many of them are not searched.
    ``guessed``: the types were derived from the answers.
    """

    gold: Gold
    types: tuple[str, ...]
    within: np.ndarray[tuple[int], np.dtype[np.int32]]
    answers: int
    unknown: int
    guessed: bool = False
    references: bool = False

    @property
    def texts(self) -> list[str]:
        """The texts of the questions, in order."""
        return self.gold.queries["text"].to_list()

    def remarks(self) -> list[str]:
        """Return remarks on the scores."""
        kinds = " or ".join(self.types)
        one = len(self.types) == 1
        searched = f"type {kinds}, the type" if one else f"the types {', '.join(self.types)}, those"
        missing = f"{self.unknown:,} of {self.answers:,} answers are not a {kinds} of the KB and cannot be found"
        return [
            *([f"Searched {len(self.within):,} nodes of {searched} of the answers"] if self.guessed else []),
            *([missing] if self.unknown else []),
        ]


# -- questions --------------------------------------------------------------------------------------------------------


def questions(dataset: Path, split: str, fraction: float = 1.0, seed: int = 0) -> Gold:
    """Return the questions of a split, or a random ``fraction`` of them (at least one)."""
    if not 0 < fraction <= 1:
        raise KbError(f"Invalid sample: {fraction:g}", "Use a fraction above 0 and at most 1, for example 0.1")
    check_seed(seed)
    gold = stark.read(dataset, split)
    total = gold.queries.height
    if not total:
        raise BadInputError(f"No queries in {dataset}{f', split {split!r}' if split else ''}")
    if fraction == 1:
        return gold
    rows = np.random.default_rng(seed).choice(total, max(1, round(fraction * total)), replace=False)
    queries = gold.queries[np.sort(rows)]
    return Gold(gold.judgements.join(queries, on="query", how="semi"), queries)


def task(kb: KnowledgeBase, gold: Gold, types: Sequence[str] = ()) -> Task:
    """Return the task of finding nodes of ``types`` in ``kb``.

    The default types are the answer types of the source's own questions, or else those of the answers. Raises
    :class:`KbError` if no answer is such a node.
    """
    relevant = gold.relevant
    names = relevant["node"].unique()
    references = are_references(kb, names)
    name = "type || '#' || key" if references else "key"
    sql = f"SELECT id, {name} AS key, type::VARCHAR AS type FROM nodes WHERE {name} IN (SELECT unnest($names))"
    known = kb.tables.lookup(sql, {"names": names.to_list()})
    chosen = tuple(kb.schema.type(name).name for name in types or kb.schema.candidate_types) or _types(known)
    members = [kb.session.members(name) for name in chosen]
    within = np.unique(np.concatenate(members)) if members else np.empty(0, np.int32)
    found = known.filter(pl.Series(np.isin(known["id"].to_numpy(), within)))
    unknown = relevant.join(found, left_on="node", right_on="key", how="anti").height
    if relevant.height and unknown == relevant.height:
        kinds = f" {' or '.join(chosen)}" if chosen else " node"
        message = f"None of the {relevant.height:,} answers is the key of a{kinds} in {kb.directory.path}"
        raise KbError(message, "Use the KB that the dataset belongs to")
    guessed = not (types or kb.schema.candidate_types)
    return Task(gold, chosen, within, relevant.height, unknown, guessed, references)


def _types(known: pl.DataFrame) -> tuple[str, ...]:
    """Return few types that cover all keys, those with most keys first: nodes of two types may have the same key."""
    chosen = []
    while known.height:
        best = known.group_by("type").agg(pl.col("key").n_unique()).sort("key", "type", descending=[True, False])
        chosen.append(best["type"][0])
        known = known.join(known.filter(pl.col("type") == chosen[-1]), on="key", how="anti")
    return tuple(chosen)


def modes(kb: KnowledgeBase, wanted: Sequence[str] = ()) -> list[str]:
    """Return the search modes to run: ``wanted``, or all for which the KB has the stores."""
    for mode in wanted:
        if mode not in MODES:
            raise UnknownNameError("mode", mode, MODES)
    chosen = list(dict.fromkeys(wanted)) or [mode for mode in MODES if not _missing_stores(kb, mode)]
    if not chosen:
        raise KbError("The KB has neither full text nor vectors", "Run ", Command("build KB text"))
    return chosen


def left_out(kb: KnowledgeBase) -> list[str]:
    """Return a line for each mode that needs a store which the KB does not have."""
    return [
        f"Skipped {mode}: the KB has no {' and no '.join(_missing_stores(kb, mode))}"
        for mode in MODES
        if _missing_stores(kb, mode)
    ]


def _missing_stores(kb: KnowledgeBase, mode: str) -> list[str]:
    return [store for store in _NEEDS[mode] if not kb.has(store)]


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
        run = as_run(self.hits(mode, progress), references=self.task.references)
        return Result(mode, run, latency(self.search(mode), self.task.texts[: self.timed]))


def _cut(measure: str) -> int:
    return int(measure.partition("@")[2])


def as_run(found: pl.DataFrame, *, references: bool = False) -> pl.DataFrame:
    """Return hits as a run that names nodes by key, or with ``references`` by ``type#key``.

    Raises :class:`KbError` if a key stands for two hits of a question.
    """
    if references:
        return found.select(query="query", node=pl.format("{}#{}", "type", "key"), score="score").cast(RUN)
    duplicates = found.filter(pl.struct("query", "key").is_duplicated()).select("query", "key", "type")
    for query, key, _ in duplicates.head(1).iter_rows():
        kinds = " and ".join(duplicates.filter((pl.col("query") == query) & (pl.col("key") == key))["type"])
        raise KbError(
            f"Nodes of the types {kinds} have the same key {key!r}", "Use ", Option("type"), " to search one of them"
        )
    return found.select(query="query", node="key", score="score").cast(RUN)


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


def table(results: Sequence[Result], gold: Gold) -> pl.DataFrame:
    """Return Table 6 in percent and Table 8 in milliseconds.

    The columns are run, queries, Hit@1, Hit@5, R@20, MRR, ms_median and ms_mean.
    """
    return pl.DataFrame([_row(result, gold) for result in results], schema=_TABLE, orient="row")


def _row(result: Result, gold: Gold) -> dict[str, Any]:
    try:
        scores = ranking.measure(result.run, gold, MEASURES.values())
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
