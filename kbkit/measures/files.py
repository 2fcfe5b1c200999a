"""Read and write runs, answers and queries; the ending of a file, and its contents, determine the format.

============================  ========================================================================================
``.trec`` ``.run`` ``.txt``   TREC run: ``query Q0 document rank score tag``; the rank is ignored
``.qrels`` ``.tsv`` ``.txt``  TREC judgements: ``query 0 document relevance``
``.jsonl`` ``.ndjson``        JSON lines; ``.json``: a JSON list (:mod:`kbkit.measures.formats`)
``.csv``, or a folder         STaRK's questions (:mod:`kbkit.measures.stark`); a ``.csv`` can also be a run for STaRK's
                              leaderboard (:mod:`kbkit.measures.submission`)
``.tsv`` ``.txt``             queries: ``id<TAB>text``; or a text per line, with the line number as id
============================  ========================================================================================

In TREC's columns, a name with white space is written as a data URL (RFC 2397): ``data:,New%20York``; reading undoes it.
For the order of results, see :func:`kbkit.measures.frames.ordered`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from kbkit.assets.arguments import as_path
from kbkit.errors import BadInputError, KbError
from kbkit.measures import formats, stark, submission
from kbkit.measures.frames import Gold, by_id, count_queries, of_split, ordered
from kbkit.measures.records import ENDINGS as JSON_ENDINGS
from kbkit.measures.records import content, read_bindings

__all__ = [
    "Gold",
    "check_run",
    "kind",
    "read_bindings",
    "read_gold",
    "read_queries",
    "read_run",
    "write_gold",
    "write_run",
]

RUN_ENDINGS = (".trec", ".run", ".txt")
SUBMISSION = ".csv"
GOLD_ENDINGS = (".qrels", ".tsv", ".txt")
_Path = str | os.PathLike[str]


def read_run(path: _Path, gold: Gold | None = None) -> pl.DataFrame:
    """Read a run: query, node, score, in rank order. Raises :class:`BadInputError` that names the line.

    With ``gold``, queries may be named by their texts, as in QUEST's predictions.
    """
    path = as_path("path", path)
    if path.suffix.lower() == SUBMISSION:
        return submission.read_submission(path)
    is_json = _ending(path, RUN_ENDINGS, "run", SUBMISSION) in JSON_ENDINGS
    run = (formats.read_json_run if is_json else formats.read_trec_run)(path, content(path))
    return run if gold is None else by_id(run, gold.queries)


def run_files(paths: Iterable[Path]) -> list[Path]:
    """Return the files of runs that are named: a folder stands for the runs in it, in the order of their names."""
    found = []
    for path in paths:
        inside = [path]
        if path.is_dir():
            known = {*RUN_ENDINGS, *JSON_ENDINGS, SUBMISSION}
            inside = sorted(file for file in path.iterdir() if file.is_file() and file.suffix.lower() in known)
            if not inside:
                raise KbError(f"No runs in the folder {path}", f"Files of runs end in {', '.join(sorted(known))}")
        found += inside
    return found


def read_gold(path: _Path, split: str = "") -> Gold:
    """Read the answers of queries (of one ``split``).

    Raises :class:`BadInputError` that names the line, and :class:`UnknownNameError` for an unknown split.
    """
    path = as_path("path", path)
    if path.is_dir() or path.suffix.lower() == ".csv":
        return stark.read_stark_gold(path, split)
    if _ending(path, GOLD_ENDINGS, "answers", *_STARK) in JSON_ENDINGS:
        return formats.read_json_gold(path, content(path)).only(split, path)
    judgements = formats.read_trec_judgements(path, content(path))
    queries = judgements.select("query", text=pl.lit(None, pl.String)).unique("query", maintain_order=True)
    return Gold(judgements, queries).only(split, path)


def read_queries(path: _Path, split: str = "") -> pl.DataFrame:
    """Read queries: query, text, other columns of the source. Answers are not required."""
    path = as_path("path", path)
    if path.is_dir() or path.suffix.lower() == ".csv":
        return stark.read_stark_gold(path, split, answers=False).queries
    ending = _ending(path, (".tsv", ".txt"), "queries", *_STARK)
    if ending in JSON_ENDINGS:
        queries = formats.read_json_gold(path, content(path), answers=False).queries
        # In a record without text, the words are the id.
        return of_split(queries.with_columns(pl.coalesce("text", "query").alias("text")), split, path)
    lines = [line.removesuffix("\r") for line in content(path).decode().split("\n")]
    rows = _lines(lines) if ending == ".txt" else _pairs(path, lines)
    return of_split(pl.DataFrame(rows, schema={"query": pl.String, "text": pl.String}, orient="row"), split, path)


def _lines(lines: list[str]) -> list[tuple[str, str]]:
    return [(str(number), line.strip()) for number, line in enumerate(lines, 1) if line.strip()]


def _pairs(path: Path, lines: list[str]) -> list[tuple[str, str]]:
    texts: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        query, tab, text = line.partition("\t")
        if not tab or not query.strip():
            raise BadInputError(f"No id and text separated by a tab in {path}, line {number}", "Write id<TAB>text")
        if query.strip() in texts:
            raise BadInputError(f"Duplicate query {query.strip()!r} in {path}, line {number}")
        texts[query.strip()] = text.strip()
    return list(texts.items())


def write_run(run: pl.DataFrame, path: _Path, tag: str = "kbkit") -> None:
    """Write a run in rank order, in TREC's format (``tag`` names the system), as JSON, or for STaRK's leaderboard.

    The ending selects the format.
    """
    path = as_path("path", path)
    if path.suffix.lower() == SUBMISSION:
        submission.write_submission(ordered(run), path)
    elif _ending(path, RUN_ENDINGS, "run", SUBMISSION) in JSON_ENDINGS:
        formats.write_json_run(ordered(run), path)
    else:
        formats.write_trec_run(ordered(run), path, tag)


def check_run(path: _Path, tag: str = "kbkit") -> None:
    """Check ``path`` and ``tag`` before a long run, as :func:`write_run` would."""
    path = as_path("path", path)
    ending = path.suffix.lower()
    if ending != SUBMISSION and _ending(path, RUN_ENDINGS, "run", SUBMISSION) not in JSON_ENDINGS:
        formats.check_tag(tag)
    if not path.parent.is_dir():
        raise KbError(f"{path.parent} does not exist", "Create the folder first")


def write_gold(gold: Gold, path: _Path) -> list[str]:
    """Write answers; return a note for each part that the format cannot store.

    TREC judgements have no texts, other columns, or queries without judgements. JSON stores everything.
    """
    path = as_path("path", path)
    if _ending(path, GOLD_ENDINGS, "answers") in JSON_ENDINGS:
        formats.write_json_gold(gold, path)
        return []
    formats.write_trec_judgements(gold.judgements, path)
    lost = [name for name in gold.queries.columns[1:] if gold.queries[name].count()]
    silent = gold.queries.join(gold.judgements, on="query", how="anti").height
    return [
        *([f"{path} omits {', '.join(lost)}, which TREC's format cannot store"] if lost else []),
        *(
            [f"{path} omits {count_queries(silent)} without judgements, which TREC's format cannot store"]
            if silent
            else []
        ),
    ]


def kind(path: _Path) -> str:
    """Return ``run`` or ``gold``, the contents of a file (empty: unclear)."""
    path = as_path("path", path)
    ending = path.suffix.lower()
    if path.is_dir() or ending == ".qrels":
        return "gold"
    if ending == SUBMISSION:
        return "run" if submission.is_one(path) else "gold"
    if ending in JSON_ENDINGS:
        return formats.json_kind(path, content(path))
    if ending in (".trec", ".run"):
        return "run"
    return {6: "run", 4: "gold"}.get(formats.trec_fields(content(path)), "")


_STARK = (".csv", "a STaRK folder")


def _ending(path: Path, endings: tuple[str, ...], kind: str, *more: str) -> str:
    known = (*endings, *JSON_ENDINGS)
    if path.suffix.lower() not in known:
        raise KbError(f"Unsupported {kind} format {path.suffix!r}: {path}", f"Use {', '.join((*known, *more))}")
    return path.suffix.lower()
