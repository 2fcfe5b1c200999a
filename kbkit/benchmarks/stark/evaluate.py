"""Runs every retriever of kbkit on a STaRK dataset and scores runs: Tables 6 to 8 of the paper, section 3.1."""

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

from kbkit.errors import BadInputError, KbError, UnknownNameError
from kbkit.measures import ranking, stark
from kbkit.measures.files import read_run, write_run
from kbkit.measures.frames import RUN, Gold
from kbkit.measures.records import content, load
from kbkit.search.run import Search
from kbkit.search.settings import MODES

if TYPE_CHECKING:
    from kbkit.kb import KnowledgeBase

MEASURES = {"Hit@1": "hit@1", "Hit@5": "hit@5", "R@20": "recall@20", "MRR": "mrr"}
"""Table 6's columns."""
RESULTS = "results.json"
TIMED = 100
"""Questions whose searches are timed."""
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
    """Milliseconds for a query, of searches one after the other."""

    median: float
    mean: float

    @staticmethod
    def of(seconds: Sequence[float]) -> Latency | None:
        """None where nothing was timed."""
        taken = 1000 * np.asarray(seconds)
        return Latency(float(np.median(taken)), float(np.mean(taken))) if len(taken) else None


@dataclass(frozen=True)
class Result:
    """A run (query, node, score) of a system; ``latency`` None where it is not known."""

    name: str
    run: pl.DataFrame
    latency: Latency | None = None


@dataclass(frozen=True)
class Task:
    """Questions with their answers, as keys (``type#key`` with ``references``), and the nodes that may be found:
    ``within``, of the ``types``.

    ``answers`` counts the answers of all questions, ``unknown`` those of them that are no such node; ``guessed`` when
    neither the user nor the KB's source said which types are asked for.
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
        """The questions' words, in order."""
        return self.gold.queries["text"].to_list()

    def remarks(self) -> list[str]:
        """What a reader of the scores should know."""
        kinds = " or ".join(self.types)
        missing = f"{self.unknown:,} of {self.answers:,} answers are no {kinds} of the KB: they cannot be found"
        return [
            *([f"searched: {len(self.within):,} nodes of type {kinds}, those of the answers"] if self.guessed else []),
            *([missing] if self.unknown else []),
        ]


# -- what is asked ----------------------------------------------------------------------------------------------------


def questions(dataset: Path, split: str, share: float = 1.0, seed: int = 0) -> Gold:
    """The questions of a split; of ``share`` below 1 a random part, the same for the same ``seed`` (at least one)."""
    if not 0 < share <= 1:
        raise KbError(f"the sample is {share:g} of the queries", "it is above 0 and at most 1, e.g. 0.1")
    check_seed(seed)
    gold = stark.read(dataset, split)
    total = gold.queries.height
    if not total:
        raise BadInputError(f"{dataset} has no queries{f' in split {split!r}' if split else ''}")
    if share == 1:
        return gold
    rows = np.random.default_rng(seed).choice(total, max(1, round(share * total)), replace=False)
    queries = gold.queries[np.sort(rows)]
    return Gold(gold.judgements.join(queries, on="query", how="semi"), queries)


def check_seed(seed: int) -> None:
    """Raise :class:`KbError` for a seed that NumPy does not take."""
    if seed < 0:
        raise KbError(f"the seed is {seed}", "it is 0 or more")


def are_references(kb: KnowledgeBase, names: pl.Series) -> bool:
    """Whether all names, and there are some, are ``type#key``: so a dataset names nodes of types that share keys."""
    before = names.str.extract("^(.+?)#").is_in([t.name for t in kb.schema.node_types])
    return bool(len(names) and before.fill_null(False).all())


def task(kb: KnowledgeBase, gold: Gold, types: Sequence[str] = ()) -> Task:
    """What is to be found in ``kb``: nodes of ``types``, by default those that the source's own questions ask for, or,
    where it does not say, those of the answers. Raises :class:`KbError` if no answer is one.
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
        raise KbError(
            f"none of the {relevant.height:,} answers is the key of a{kinds} of {kb.directory.path}",
            "do they belong together?",
        )
    guessed = not (types or kb.schema.candidate_types)
    return Task(gold, chosen, within, relevant.height, unknown, guessed, references)


def _types(known: pl.DataFrame) -> tuple[str, ...]:
    """As few types as hold all the keys, those with most of them first: a key of one type may be a key of another."""
    chosen = []
    while known.height:
        best = known.group_by("type").agg(pl.col("key").n_unique()).sort("key", "type", descending=[True, False])
        chosen.append(best["type"][0])
        known = known.join(known.filter(pl.col("type") == chosen[-1]), on="key", how="anti")
    return tuple(chosen)


def modes(kb: KnowledgeBase, wanted: Sequence[str] = ()) -> list[str]:
    """The modes of search to run: ``wanted``, or all for which the KB has the stores."""
    for mode in wanted:
        if mode not in MODES:
            raise UnknownNameError("mode", mode, MODES)
    chosen = list(dict.fromkeys(wanted)) or [mode for mode in MODES if not _lacks(kb, mode)]
    if not chosen:
        raise KbError("the KB has neither full text nor vectors", "kbkit build DIR text makes one")
    return chosen


def left_out(kb: KnowledgeBase) -> list[str]:
    """The modes that the KB lacks stores for, a line each."""
    return [f"left out {mode}: the KB has no {' and no '.join(_lacks(kb, mode))}" for mode in MODES if _lacks(kb, mode)]


def _lacks(kb: KnowledgeBase, mode: str) -> list[str]:
    return [store for store in _NEEDS[mode] if not kb.has(store)]


# -- runs -------------------------------------------------------------------------------------------------------------


class Runner:
    """Runs the questions of a task, mode by mode; each mode's hits are kept."""

    def __init__(self, kb: KnowledgeBase, task: Task, k: int = 100, timed: int = TIMED) -> None:
        self.session, self.task, self.k, self.timed = kb.session, task, k, timed
        self._hits: dict[str, pl.DataFrame] = {}

    def remarks(self) -> list[str]:
        """What a reader of the scores should know: of the task, and of measures that look beyond the hits."""
        beyond = [name for name in MEASURES if "@" in name and self.k < min(_cut(name), len(self.task.within))]
        cut = ", ".join(f"{name} is {name.partition('@')[0]}@{self.k}" for name in beyond)
        return [*self.task.remarks(), *([f"rankings end at {self.k}: {cut}"] if beyond and self.k > 0 else [])]

    def search(self, mode: str) -> Search:
        """A search of the task's nodes, checked and ready."""
        return Search.of(self.session, mode, self.k, self.task.within, None, None, {"quotes": False})

    def hits(self, mode: str, progress: Callable[[int, int], None] | None = None) -> pl.DataFrame:
        """The hits of all questions: query, rank, id, key, type, name, score; ``progress`` hears how many are done."""
        if mode not in self._hits:
            self._hits[mode] = self.search(mode).many(self.task.gold.queries.select("query", "text"), progress)
        return self._hits[mode]

    def result(self, mode: str, progress: Callable[[int, int], None] | None = None) -> Result:
        """The mode's run, and its latency over the first ``timed`` questions; ``progress`` gets (done, total)."""
        run = as_run(self.hits(mode, progress), references=self.task.references)
        return Result(mode, run, latency(self.search(mode), self.task.texts[: self.timed]))


def _cut(measure: str) -> int:
    return int(measure.partition("@")[2])


def as_run(found: pl.DataFrame, *, references: bool = False) -> pl.DataFrame:
    """Hits with their keys as names, or with ``references`` type#key. Raises :class:`KbError` where a key names two of
    the nodes of a question.
    """
    if references:
        return found.select(query="query", node=pl.format("{}#{}", "type", "key"), score="score").cast(RUN)
    twice = found.filter(pl.struct("query", "key").is_duplicated()).select("query", "key", "type")
    for query, key, _ in twice.head(1).iter_rows():
        kinds = " and ".join(twice.filter((pl.col("query") == query) & (pl.col("key") == key))["type"])
        raise KbError(f"nodes of the types {kinds} have the key {key!r}", "--type leaves one kind of them")
    return found.select(query="query", node="key", score="score").cast(RUN)


def latency(searching: Search, texts: Sequence[str]) -> Latency | None:
    """The time that single searches take, one after the other; warmed up once."""
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
    """Table 6, and Table 8 in milliseconds: run, queries, Hit@1, Hit@5, R@20 and MRR in percent, ms_median, ms_mean."""
    return pl.DataFrame([_row(result, gold) for result in results], schema=_TABLE, orient="row")


def _row(result: Result, gold: Gold) -> dict[str, Any]:
    try:
        scores = ranking.measure(result.run, gold, MEASURES.values())
    except KbError as error:
        raise KbError(f"{result.name}: {error.message}", *error.hints) from None
    means = {shown: scores[name].mean() for shown, name in MEASURES.items()}
    return {
        "run": result.name,
        "queries": scores.height,
        **{name: None if mean is None else round(100 * mean, 2) for name, mean in means.items()},  # type: ignore[operator, arg-type]
        "ms_median": result.latency and round(result.latency.median, 3),
        "ms_mean": result.latency and round(result.latency.mean, 3),
    }


# -- files ------------------------------------------------------------------------------------------------------------


def check(folder: Path, names: Sequence[str] = ()) -> None:
    """Raise now what :func:`write` would raise of ``folder`` when the work is done, and if two of the runs that are to
    be written, by their ``names``, would share a file.
    """
    for name, count in Counter(map(_stem, names)).items():
        if count > 1:
            raise KbError(f"two runs would be written to {folder / name}", "name each mode and model once")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise KbError(f"{folder} cannot be made: {error.strerror or error}", "--out names a folder") from None


def write(result: Result, folder: Path, about: Mapping[str, Any]) -> Path:
    """Write a run to ``folder``, as TREC's where names allow, else as JSON lines; ``results.json`` tells ``about`` it
    and how long it took, beside what it told of other runs that are there.
    """
    path = folder / _file_name(result)
    latency = result.latency._asdict() if result.latency else {}
    told = {"file": path.name, "run": result.name, **latency, **about}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_run(result.run, path, re.sub(r"\s+", "", result.name))
        others = [record for record in _told(folder) if _is_of_another(record, path)]
        text = json.dumps([*others, told], indent=1, ensure_ascii=False) + "\n"
        (folder / RESULTS).write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise KbError(f"{error.filename or folder} cannot be written: {error.strerror or error}") from None
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
    """A run that :func:`write` or any other system wrote, called by its path. A file of no bytes is a run without hits
    if ``results.json`` tells of it, else it was not written to the end.
    """
    if path.is_file() and not path.stat().st_size and any(_records_of(path)):
        return Result(str(path), pl.DataFrame(schema=RUN), known_latency(path))
    return Result(str(path), read_run(path), known_latency(path))


def known_latency(run: Path) -> Latency | None:
    """What ``results.json`` beside a run says; None where it says nothing, or nothing that can be read."""
    for record in _records_of(run):
        times = [record.get(name) for name in Latency._fields]
        with contextlib.suppress(OverflowError):
            if all(isinstance(t, int | float) and not isinstance(t, bool) and math.isfinite(t) for t in times):
                return Latency(*map(float, times))  # type: ignore[arg-type]
    return None


def _records_of(run: Path) -> Iterable[dict[str, Any]]:
    return (record for record in _told(run.parent) if record.get("file") == run.name)


def _told(folder: Path) -> list[dict[str, Any]]:
    """The records of ``results.json``; none where it is missing, or somebody else's."""
    path = folder / RESULTS
    try:
        told = load(content(path).decode(), str(path))
    except (KbError, OSError):
        return []
    return [record for record in told if isinstance(record, dict)] if isinstance(told, list) else []
