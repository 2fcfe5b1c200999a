"""Files of runs, as QUEST's own scripts write and read them: a record of ``Example`` for each query.

The record has QUEST's keys and no others (``common/example_utils.py``). A ranking has ``scores``, as its BM25 retriever
writes them; a predicted set has none, as its classifier writes it (``xattn/filter_predictions.py``). The run that a
file was written from, in the folder ``predictions`` beside it, knows the threshold of a classifier, the depth of a
ranking, and the ids of queries with equal texts. Nodes are titles, which contain spaces, so the files are JSON lines
and not TREC's.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from kbkit.benchmarks.dataset import run_names
from kbkit.benchmarks.quest.corpus import Corpus
from kbkit.benchmarks.quest.dataset import Example
from kbkit.benchmarks.quest.evaluate import ScoredSystem
from kbkit.benchmarks.quest.run import Predicted, predictions
from kbkit.benchmarks.retrieval import lists_of
from kbkit.benchmarks.run import predictions_file, read_runs
from kbkit.directory.files import write_files
from kbkit.errors import BadInputError, Command
from kbkit.measures import files, records
from kbkit.measures.frames import RUN, by_id, ordered
from kbkit.measures.records import content

_LISTS = ("nodes", "docs", "answers", "answer_ids")


def export(system: ScoredSystem, examples: Sequence[Example], folder: str | os.PathLike[str]) -> Path:
    """Write a system to ``folder/NAME.jsonl``: a record for each query, even without results.

    ``query`` (the text), ``docs`` (titles, best first), ``original_query``, ``scores`` (null for predicted sets) and
    ``metadata``.
    """
    lists = lists_of(ordered(system.run), [example.id for example in examples])
    lines = []
    for example in examples:
        nodes, scores = lists[example.id]
        record = {
            "query": example.text,
            "docs": nodes,
            "original_query": example.original or None,
            "scores": scores if system.ranked else None,
            "metadata": {"template": example.template, "domain": example.domain},
        }
        lines.append(json.dumps(record, ensure_ascii=False) + "\n")
    path = Path(folder) / f"{system.name}.jsonl"
    write_files({path: "".join(lines)})
    return path


def read_system(
    path: str | os.PathLike[str], examples: Sequence[Example], corpus: Corpus | None = None
) -> ScoredSystem:
    """Read a system from a file of :func:`export` or of another program, named by the file.

    Records with a plain list of nodes (``docs``, ``nodes``, ...) without scores are predicted sets, all others
    rankings. A query is named by its id, or by its text if that is unambiguous; with a ``corpus``, a node can also be
    ``type#key`` or its key instead of its title. Raises :class:`BadInputError` that names the line.
    """
    path = Path(path)
    if not path.exists():
        raise BadInputError(f"{path} does not exist", "Run ", Command("quest run"), " to write runs")
    about, ids = _beside(path)
    if ids and len({example.text for example in examples}) < len(examples):
        run = _in_order(path, ids)
    else:
        named = pl.DataFrame([(e.id, e.text) for e in examples], schema=["query", "text"], orient="row")
        run = by_id(files.read_run(path), named)
    ranked, threshold, k = _header(path, about)
    return ScoredSystem(path.stem, run if corpus is None else by_title(run, corpus), ranked, threshold, k)


def _beside(path: Path) -> tuple[dict[str, Any], list[str]]:
    """Return the depth and the threshold of the run that a file was written from, and its queries, if it is there."""
    source = predictions_file(path.parent, path.stem)
    if not source.is_file():
        return {}, []
    [run] = read_runs([source], Predicted, "quest run")
    rows = predictions(run)
    return {"k": rows.k, "threshold": rows.threshold}, list(run.rows)


def _in_order(path: Path, ids: Sequence[Any]) -> pl.DataFrame:
    """Return the run of a file whose records are those of the queries ``ids``, in order."""
    lines = list(records.records(path, content(path)))
    if len(lines) != len(ids):
        source = predictions_file(path.parent, path.stem)
        raise BadInputError(f"{path} has {len(lines)} records, but {source} {len(ids)}", f"Delete {source}")
    rows = [
        (str(name), str(node), -float(rank))
        for name, line in zip(ids, lines, strict=True)
        for rank, node in enumerate(line.fields.get("docs") or ())
    ]
    return pl.DataFrame(rows, schema=RUN, orient="row")


def read_all(paths: Sequence[Path], examples: Sequence[Example], corpus: Corpus | None = None) -> list[ScoredSystem]:
    """Read several systems; if files have the same stem, their systems are named by paths."""
    systems = (read_system(path, examples, corpus) for path in paths)
    return [replace(system, name=name) for name, system in zip(run_names(paths), systems, strict=True)]


def _header(path: Path, about: Mapping[str, Any]) -> tuple[bool, float | None, int]:
    """Return whether a file is a ranking, by its first record, and the threshold and the k of a system."""
    if path.suffix.lower() not in records.ENDINGS:
        return True, None, 0
    first = next(records.records(path, content(path)), None)
    data = {**(first.fields if first else {}), **about}
    threshold, k = data.get("threshold"), data.get("k")
    has_scores = isinstance(data.get("scores"), list)
    ranked = "node" in data or "results" in data or has_scores or not any(name in data for name in _LISTS)
    known = float(threshold) if isinstance(threshold, int | float) and math.isfinite(threshold) else None
    return ranked, known, k if isinstance(k, int) and not isinstance(k, bool) else 0


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
