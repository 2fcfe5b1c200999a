"""The systems of the paper (sections 4.2 and 4.3), and queries that are read back and evaluated.

A retriever ranks candidates, and a classifier with a tuned threshold chooses among them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from kbkit.benchmarks import run as runs
from kbkit.benchmarks.document_files import DOCUMENTS
from kbkit.benchmarks.quest import classify, parsed
from kbkit.benchmarks.quest.bench import Part
from kbkit.benchmarks.quest.dataset import Example
from kbkit.benchmarks.quest.evaluate import ScoredSystem
from kbkit.benchmarks.quest.judges import PROMPT, Judge, judge, reads_texts
from kbkit.benchmarks.recorded import digest, kb_settings, models
from kbkit.benchmarks.retrieval import Ranked, frame_of, lists_of
from kbkit.directory.generations import fingerprint
from kbkit.search import model_folder
from kbkit.search.model_search import retriever_settings
from kbkit.search.system_kinds import RERANKER, parse_name

if TYPE_CHECKING:
    from kbkit.llm.calls import Calls

BATCH = 200
"""Number of queries that are answered together, and then saved."""


@dataclass(frozen=True)
class Predicted(Ranked):
    """The titles that a system returns for a query: a ranking, or a set.

    ``threshold``: of a classifier, None if it is infinite. ``expression``: what the query was read as, ``by_model`` or
    by the grammar.
    """

    threshold: float | None = None
    expression: str = ""
    by_model: bool = False


QuestSystem = runs.System[Example, Predicted]
FORM = runs.row_form(Predicted, batch=BATCH)


def run(
    part: Part,
    system: QuestSystem,
    folder: Path,
    *,
    replace: bool = False,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> runs.Run[Predicted]:
    """Run a system on the queries of a split, see :func:`kbkit.benchmarks.run.run`."""
    path = runs.predictions_file(folder, system.name)
    runs.make_folder(path.parent)
    return runs.run(path, system, part.examples, FORM, _settings(part), replace=replace, progress=progress)


def _settings(part: Part) -> dict[str, Any]:
    """Return everything about the data that predictions depend on."""
    dataset = part.bench.dataset
    asked = [(example.id, example.text, example.domain) for example in part.examples]
    return {
        "dataset": dataset.folder.name,
        "split": part.examples[0].split if part.examples else "",
        "queries": digest(asked),
        **_hashes(dataset.folder, DOCUMENTS),
        "searched": "KB" if part.bench.texts.index is None else "documents",
        **kb_settings(part.bench.kb),
    }


def _hashes(folder: Path, *names: str) -> dict[str, Any]:
    return {name: fingerprint(folder / name)["sha256"] for name in names if (folder / name).exists()}


def predictions(run: runs.Run[Predicted]) -> ScoredSystem:
    """Return a run as the tables of the paper take it."""
    threshold = None
    if "classifier" in run.settings:
        known = (row.threshold for row in run.rows.values() if row.threshold is not None)
        threshold = next(known, math.inf)
    return ScoredSystem(
        run.name, frame_of(run.rows.values()), bool(run.settings["ranked"]), threshold, run.settings.get("k", 0)
    )


class DomainRetriever:
    """A search mode, which ranks the documents of a query's domain."""

    def __init__(self, part: Part, mode: str) -> None:
        self._part, self.name = part, mode
        model = retriever_settings(part.bench.texts.of(mode).stores, mode).get("retriever")
        own = {} if model is None else {"model": model}
        self.settings: Mapping[str, Any] = {"retriever": mode, "ranked": True, "k": part.bench.k, **own}

    def answer(self, examples: Sequence[Example]) -> list[Predicted]:
        """Return the ranking of each query."""
        ranking = self._part.bench.searched.named(self._part.only(examples).ranking(self.name))
        return [Predicted(*row) for row in _rows(ranking, examples)]


def _rows(run: pl.DataFrame, examples: Sequence[Example]) -> list[tuple[str, list[str], list[float]]]:
    return [(name, *lists) for name, lists in lists_of(run, [example.id for example in examples]).items()]


class Classified:
    """The candidates of a retriever that a classifier accepts, by a threshold tuned on the validation split.

    It is trained when it first answers.
    """

    def __init__(self, part: Part, retriever: str, classifier: str, calls: Calls | None = None) -> None:
        self._part, self._retriever, self._classifier, self._calls = part, retriever, classifier, calls
        self.name = f"{retriever}+{classifier.partition(':')[0]}"

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything that the sets depend on; ``candidates`` is their number."""
        folder = self._part.bench.dataset.folder
        return {
            "retriever": self._retriever,
            "classifier": self._classifier,
            "ranked": False,
            "candidates": self._part.bench.k,
            **self._model(),
            **models(self._calls if self._classifier == "llm" else None, [PROMPT]),
            **_hashes(folder, "train.jsonl", "val.jsonl"),
        }

    def _model(self) -> dict[str, Any]:
        """Return the model of a reranker and its revision."""
        if not reads_texts(self._classifier):
            return {}
        system = parse_name(self._classifier, RERANKER)
        return {"model": model_folder.opened(system).settings(system)}

    def answer(self, examples: Sequence[Example]) -> list[Predicted]:
        """Return the candidates of each query whose score reaches the threshold."""
        part, bench = self._part.only(examples), self._part.bench
        threshold = self._threshold  # trains the classifier
        candidates = part.ranking(self._retriever)
        scored = candidates.with_columns(score=pl.Series(self._judge(part, candidates), dtype=pl.Float64))
        accepted = bench.searched.named(scored.filter(pl.col("score") >= threshold))
        recorded = threshold if math.isfinite(threshold) else None
        return [Predicted(*row, recorded) for row in _rows(accepted, examples)]

    @cached_property
    def _judge(self) -> Judge:
        return judge(self._part.bench, self._classifier, self._retriever, self._calls)

    @cached_property
    def _threshold(self) -> float:
        """The threshold with the best average F1 on the validation split."""
        validation = self._part.bench.part("val")
        candidates = validation.ranking(self._retriever)
        places = {example.id: position for position, example in enumerate(validation.examples)}
        counts = np.array([len(example.docs) for example in validation.examples], np.int64)
        queries = candidates["query"].replace_strict(places, return_dtype=pl.Int64).to_numpy()
        scores = self._judge(validation, candidates)
        return classify.tune(queries, scores, validation.labels(candidates), counts).value


class Parsed:
    """Queries parsed into expressions by the grammar, or else by a model, and evaluated on the KB."""

    name = parsed.NAME

    def __init__(self, part: Part, phrases: Mapping[str, str], calls: Calls | None = None) -> None:
        self._part, self._phrases, self._calls = part, phrases, calls
        self.settings: Mapping[str, Any] = {
            "ranked": False,
            "phrases": digest(phrases),
            **models(calls, [parsed.PROMPT]),
        }

    def answer(self, examples: Sequence[Example]) -> list[Predicted]:
        """Return the answers of each query's expression; a query without an expression has none."""
        reading = parsed.parse_queries(examples, self._phrases, self._calls)
        answers = parsed.evaluate(self._part.bench.kb, self._part.bench.corpus, examples, reading)
        return [
            Predicted(
                name,
                titles,
                scores,
                expression=reading.expressions.get(name, ""),
                by_model=name in reading.by_model,
            )
            for name, titles, scores in _rows(answers, examples)
        ]


def remarks(run: runs.Run[Predicted], *, with_model: bool) -> list[str]:
    """Return a line about the tuned threshold of a classifier, or about the queries that were parsed."""
    if run.name == parsed.NAME:
        known = [row for row in run.rows.values() if row.expression]
        by_model = f", {sum(row.by_model for row in known):,} of them by a model" if with_model else ""
        rest = "; the others have no answers" if len(known) < len(run.rows) else ""
        return [f"{run.name}: parsed {len(known):,} of {len(run.rows):,} queries{by_model}{rest}"]
    threshold = predictions(run).threshold
    if threshold is None:
        return []
    if math.isinf(threshold):
        return [f"{run.name}: no candidate of the validation split is an answer, so nothing is predicted"]
    return [f"{run.name}: threshold {threshold:.4g}, the best average F1 on the validation split"]
