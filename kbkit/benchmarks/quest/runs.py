"""Files of runs, as QUEST's own scripts write and read them: a record of ``Example`` for each query.

The record has QUEST's keys and no others (``common/example_utils.py``). A ranking has ``scores``, as its BM25 retriever
writes them; a predicted set has none, as its classifier writes it (``xattn/filter_predictions.py``). The threshold of a
classifier and the depth of a ranking are in ``systems.json`` beside the runs, together with the ids of queries if two
have the same text. Nodes are titles, which contain spaces, so the files are JSON lines and not TREC's.
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
from kbkit.benchmarks.quest.tables import System
from kbkit.directory.files import write_files
from kbkit.errors import BadInputError, Command
from kbkit.measures import files, records
from kbkit.measures.frames import RUN, by_id, ordered
from kbkit.measures.records import content, load

_LISTS = ("nodes", "docs", "answers", "answer_ids")
SYSTEMS = "systems.json"


def write(system: System, examples: Sequence[Example], folder: str | os.PathLike[str]) -> Path:
    """Write a system to ``folder/NAME.jsonl``: a record for each query, even without results.

    ``query`` (the text), ``docs`` (titles, best first), ``original_query``, ``scores`` (null for predicted sets) and
    ``metadata``. ``folder/systems.json`` gets the threshold and the depth.
    """
    lists = ordered(system.run).group_by("query").agg("node", "score")
    found = {query: (nodes, scores) for query, nodes, scores in lists.iter_rows()}
    lines = []
    for example in examples:
        nodes, scores = found.get(example.id, ([], []))
        record = {
            "query": example.text,
            "docs": nodes,
            "original_query": example.original or None,
            "scores": scores if system.ranked else None,
            "metadata": {"template": example.template, "domain": example.domain},
        }
        lines.append(json.dumps(record, ensure_ascii=False) + "\n")
    path = Path(folder) / f"{system.name}.jsonl"
    beside = path.with_name(SYSTEMS)
    known = {**_systems(beside), system.name: _details(system, examples)}
    write_files({path: "".join(lines), beside: json.dumps(known, ensure_ascii=False, indent=1) + "\n"})
    return path


def _details(system: System, examples: Sequence[Example]) -> dict[str, Any]:
    own: dict[str, Any] = {}
    if system.threshold is not None and math.isfinite(system.threshold):
        own["threshold"] = system.threshold
    if system.ranked:
        own["k"] = system.k
    if len({example.text for example in examples}) < len(examples):
        own["ids"] = [example.id for example in examples]
    return own


def _systems(path: Path) -> Mapping[str, Any]:
    """Return what ``systems.json`` says of each system; empty if there is none."""
    found = load(content(path).decode(), str(path)) if path.is_file() else {}
    if not isinstance(found, dict) or not all(isinstance(one, dict) for one in found.values()):
        raise BadInputError(
            f"{path} is not a JSON object of systems", "Delete it; depths and thresholds are then unknown"
        )
    return found


def read(path: str | os.PathLike[str], examples: Sequence[Example], corpus: Corpus | None = None) -> System:
    """Read a system from a file of :func:`write` or of another program, named by the file.

    Records with a plain list of nodes (``docs``, ``nodes``, ...) without scores are predicted sets, all others
    rankings. A query is named by its id, or by its text if that is unambiguous; with a ``corpus``, a node can also be
    ``type#key`` or its key instead of its title. Raises :class:`BadInputError` that names the line.
    """
    path = Path(path)
    if not path.exists():
        raise BadInputError(f"{path} does not exist", "Run ", Command("quest run"), " to write runs")
    about = _systems(path.with_name(SYSTEMS)).get(path.stem, {})
    ids = about.get("ids")
    if isinstance(ids, list):
        run = _in_order(path, ids)
    else:
        named = pl.DataFrame([(e.id, e.text) for e in examples], schema=["query", "text"], orient="row")
        run = by_id(files.read_run(path), named)
    ranked, threshold, k = _header(path, about)
    return System(path.stem, run if corpus is None else by_title(run, corpus), ranked, threshold, k)


def _in_order(path: Path, ids: Sequence[Any]) -> pl.DataFrame:
    """Return the run of a file whose records are those of the queries ``ids``, in order."""
    lines = list(records.records(path, content(path)))
    if len(lines) != len(ids):
        message = f"{path} has {len(lines)} records, but {SYSTEMS} lists {len(ids)} queries for it"
        raise BadInputError(message, f"Remove its entry from {SYSTEMS}")
    rows = [
        (str(name), str(node), -float(rank))
        for name, line in zip(ids, lines, strict=True)
        for rank, node in enumerate(line.fields.get("docs") or ())
    ]
    return pl.DataFrame(rows, schema=RUN, orient="row")


def read_all(paths: Sequence[Path], examples: Sequence[Example], corpus: Corpus | None = None) -> list[System]:
    """Read several systems; if files have the same stem, their systems are named by paths."""
    systems = (read(path, examples, corpus) for path in paths)
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
    known = float(threshold) if isinstance(threshold, int | float) else None
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
