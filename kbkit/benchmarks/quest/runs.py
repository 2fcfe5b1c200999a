"""Files of runs: rankings (nodes with scores), and predicted sets in the format of QUEST's predictions.

Nodes are titles, which contain spaces, so the files are JSON lines and not TREC's.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from kbkit.benchmarks.dataset import run_names
from kbkit.benchmarks.quest.corpus import Corpus
from kbkit.benchmarks.quest.dataset import Example
from kbkit.benchmarks.quest.tables import System
from kbkit.errors import BadInputError, Command
from kbkit.measures import files, records
from kbkit.measures.frames import RUN, ordered
from kbkit.measures.records import content

_LISTS = ("nodes", "docs", "answers", "answer_ids")


def write(system: System, examples: Sequence[Example], folder: str | os.PathLike[str]) -> Path:
    """Write a system to ``folder/NAME.jsonl``: a record for each query, even without results.

    A ranking: ``query``, ``k``, ``results`` (``node``, ``score``). Predicted sets: ``id`` (if the dataset has ids),
    ``query`` (its text), ``docs``, ``scores``, ``threshold``.
    """
    lists = ordered(system.run).group_by("query").agg("node", "score")
    found = {query: (nodes, scores) for query, nodes, scores in lists.iter_rows()}
    path = Path(folder) / f"{system.name}.jsonl"
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for example in examples:
            nodes, scores = found.get(example.id, ([], []))
            record = _ranking(system, example, nodes, scores) if system.ranked else _set(system, example, nodes, scores)
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
    return path


def _ranking(system: System, example: Example, nodes: list[str], scores: list[float]) -> dict[str, Any]:
    results = [{"node": node, "score": score} for node, score in zip(nodes, scores, strict=True)]
    return {"query": example.id, "k": system.k, "results": results}


def _set(system: System, example: Example, nodes: list[str], scores: list[float]) -> dict[str, Any]:
    own = {} if example.id == example.text else {"id": example.id}
    cut = {} if system.threshold is None or system.threshold == float("inf") else {"threshold": system.threshold}
    return {**own, "query": example.text, "docs": nodes, "scores": scores, **cut}


def read(path: str | os.PathLike[str], examples: Sequence[Example], corpus: Corpus | None = None) -> System:
    """Read a system from a file of :func:`write` or of another program, named by the file.

    Records with a plain list of nodes (``docs``, ``nodes``, ...) are predicted sets, all others rankings. A query is
    named by its id, or by its text if that is unambiguous; with a ``corpus``, a node can also be ``type#key`` or its
    key instead of its title. Raises :class:`BadInputError` that names the line.
    """
    path = Path(path)
    if not path.exists():
        raise BadInputError(f"{path} does not exist", "Run ", Command("quest run"), " to write runs")
    run = files.read_run(path)
    ranked, threshold, k = _header(path)
    run = _by_id(run, examples)
    return System(path.stem, run if corpus is None else by_title(run, corpus), ranked, threshold, k)


def read_all(paths: Sequence[Path], examples: Sequence[Example], corpus: Corpus | None = None) -> list[System]:
    """Read several systems; if files have the same stem, their systems are named by paths."""
    systems = (read(path, examples, corpus) for path in paths)
    return [replace(system, name=name) for name, system in zip(run_names(paths), systems, strict=True)]


def _header(path: Path) -> tuple[bool, float | None, int]:
    """Return whether a file is a ranking, and the threshold and the k of its first record."""
    if path.suffix.lower() not in records.ENDINGS:
        return True, None, 0
    first = next(records.records(path, content(path)), None)
    data = first.fields if first else {}
    threshold, k = data.get("threshold"), data.get("k")
    ranked = "node" in data or "results" in data or not any(name in data for name in _LISTS)
    known = float(threshold) if isinstance(threshold, int | float) else None
    return ranked, known, k if isinstance(k, int) and not isinstance(k, bool) else 0


def _by_id(run: pl.DataFrame, examples: Sequence[Example]) -> pl.DataFrame:
    """Return the run with ids instead of texts."""
    queries = pl.DataFrame([(e.id, e.text) for e in examples], schema=["name", "text"], orient="row")
    clear = queries.filter(pl.col("text").is_unique() & ~pl.col("text").is_in(queries["name"].to_list()))
    return (
        run.join(clear, left_on="query", right_on="text", how="left", maintain_order="left")
        .with_columns(query=pl.coalesce("name", "query"))
        .select(RUN.names())
    )


def by_title(run: pl.DataFrame, corpus: Corpus) -> pl.DataFrame:
    """Return the run with titles instead of ``type#key`` and keys; other names are unchanged."""
    nodes = corpus.nodes.select("title", "key", reference=pl.format("{}#{}", "type", "key"))
    keyed = nodes.filter(pl.col("key").is_unique()).select(pl.col("key").alias("node"), "title")
    names = pl.concat([keyed, nodes.select(pl.col("reference").alias("node"), "title")])
    names = names.join(nodes, left_on="node", right_on="title", how="anti").unique("node", keep="last")
    return (
        run.join(names, on="node", how="left", maintain_order="left")
        .with_columns(node=pl.coalesce("title", "node"))
        .select(RUN.names())
    )
