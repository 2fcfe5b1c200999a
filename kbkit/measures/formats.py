"""Runs and answers in two formats: TREC's columns, and JSON records (``.jsonl``, ``.ndjson``, ``.json``)."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import polars as pl

from kbkit.errors import BadInputError, KbError
from kbkit.measures.frames import JUDGEMENTS, RUN, Gold, checked_judgements, checked_run, series
from kbkit.measures.records import JsonRecord, content, describe, records, unit

# -- TREC: runs `query Q0 document rank score tag`, judgements `query 0 document relevance` ---------------------------

_RUN_FIELDS = ("query", "", "node", "", "score", "")
_GOLD_FIELDS = ("query", "", "node", "relevance")
_ENCODED = "data:,"
"""The beginning of a name that is written as a data URL (RFC 2397), because it has white space or begins like one."""


def read_trec_run(path: Path, text: bytes) -> pl.DataFrame:
    """Read a run; its ranks and tags are ignored, as by trec_eval."""
    rows = _fields(path, text, _RUN_FIELDS, "query Q0 document rank score tag")
    numbers = rows.with_columns(pl.col("score").cast(pl.Float64, strict=False))
    _check_numbers(path, rows, numbers, "score", "a number")
    return checked_run(numbers, path, "line")


def read_trec_judgements(path: Path, text: bytes) -> pl.DataFrame:
    """Read judgements in file order."""
    rows = _fields(path, text, _GOLD_FIELDS, "query 0 document relevance")
    numbers = rows.with_columns(pl.col("relevance").cast(pl.Int64, strict=False))
    _check_numbers(path, rows, numbers, "relevance", "an integer")
    return checked_judgements(numbers, path, "line")


def trec_fields(text: bytes) -> int:
    """Return the number of fields of the first non-blank line."""
    return next((len(line.split()) for line in text.split(b"\n") if line.strip()), 0)


def _fields(path: Path, text: bytes, names: tuple[str, ...], layout: str) -> pl.DataFrame:
    """Return the named fields of each line, and its number as ``position``. Only ASCII white space separates fields."""
    blank, full = r"[ \t\r\x0b\x0c]", r"[^ \t\r\x0b\x0c]+"
    pattern = f"{blank}+".join(f"(?P<{name}>{full})" if name else full for name in names)
    lines = pl.read_csv(
        io.BytesIO(text), has_header=False, separator="\n", quote_char=None, schema={"line": pl.String}
    ).with_row_index("position", 1)
    columns = [name for name in names if name]
    rows = (
        lines.lazy()
        .filter(pl.col("line").str.contains(full))
        .select("line", "position", pl.col("line").str.extract_groups(f"^{blank}*{pattern}{blank}*$").struct.unnest())
        .collect(engine="streaming")
        .sort("position")
    )
    for line, position in rows.filter(pl.col("query").is_null()).select("line", "position").head(1).iter_rows():
        count = len(line.encode().split())
        raise BadInputError(
            f"{count} field{'' if count == 1 else 's'} instead of {len(names)} in {path}, line {position}",
            f"The format is: {layout}",
        )
    return rows.select(*columns, "position").with_columns(_renamed(rows, _decoded, rf"^{_ENCODED}"))


def _check_numbers(path: Path, rows: pl.DataFrame, numbers: pl.DataFrame, column: str, kind: str) -> None:
    """Raise for the first line whose ``column`` could not be converted."""
    for value, position in rows.filter(numbers[column].is_null()).select(column, "position").head(1).iter_rows():
        raise BadInputError(f"Invalid {column} {value!r} in {path}, line {position}", f"Use {kind}")


def write_trec_run(run: pl.DataFrame, path: Path, tag: str) -> None:
    """Write an ordered run; ranks count from 1, and scores keep all digits."""
    check_tag(tag)
    run = _encoded(run)
    rank = pl.int_range(1, pl.len() + 1).over("query")
    lines = run.select("query", q=pl.lit("Q0"), node="node", rank=rank, score="score", tag=pl.lit(tag))
    lines.write_csv(path, include_header=False, separator=" ", quote_style="never")


def check_tag(tag: str) -> None:
    """Raise :class:`KbError` unless a run's tag is one word."""
    if not tag or len(tag.split()) != 1:
        raise KbError(f"Invalid tag {tag!r}", "The tag of a TREC run is one word")


def write_trec_judgements(judgements: pl.DataFrame, path: Path) -> None:
    """Write judgements."""
    lines = _encoded(judgements).select("query", zero=pl.lit("0"), node="node", relevance="relevance")
    lines.write_csv(path, include_header=False, separator=" ", quote_style="never")


def _encoded(frame: pl.DataFrame) -> pl.DataFrame:
    """Return rows whose names of queries and nodes are one word each, of which :func:`_decoded` makes the names."""
    for column in ("query", "node"):
        if (frame[column] == "").any():
            raise KbError(f"An empty {column} '' cannot be written in TREC's format", "Use a file that ends in .jsonl")
    # Any white space of Unicode and of Python: other readers split there.
    return frame.with_columns(_renamed(frame, _data_url, rf"[\s\x1c-\x1f]|^{_ENCODED}"))


def _renamed(frame: pl.DataFrame, rename: Callable[[str], str], pattern: str) -> list[pl.Series]:
    """Return the columns of names, with other names where they match a pattern."""
    renamed = []
    for column in ("query", "node"):
        names = frame[column]
        odd = names.filter(names.str.contains(pattern)).unique()
        new = [rename(name) for name in odd]
        renamed.append(names.replace(odd, pl.Series(new, dtype=pl.String)) if new else names)
    return renamed


def _data_url(name: str) -> str:
    return _ENCODED + quote(name)


def _decoded(word: str) -> str:
    """Return the name of which a data URL was made; words that are not made so are names themselves."""
    name = unquote(word.removeprefix(_ENCODED))
    needed = name.startswith(_ENCODED) or any(map(str.isspace, name))
    return name if needed and _data_url(name) == word else word


# -- JSON: runs -------------------------------------------------------------------------------------------------------

_RANKED = ("results", "nodes", "docs", "answers", "answer_ids")
_ANSWERS = ("answers", "answer_ids", "docs", "relevant")
_KNOWN = {"id", "query", "text", "node", "score", "metadata", *_RANKED}


def read_json_run(path: Path, text: bytes) -> pl.DataFrame:
    """Read a run of records per query (``results`` of ``node`` and ``score``, or ``nodes``, best first) or per node."""
    queries: list[str] = []
    nodes: list[str] = []
    scores: list[float] = []
    positions: list[int] = []
    complete: dict[str, int] = {}
    for record in records(path, text):
        query = _query(record)
        if "node" in record.fields:
            names, values = [_name(record, record.fields["node"], "node")], [_score(record, record.fields)]
        else:
            _check_once(record, query, complete, path)
            names, values = _ranking(record)
        nodes += names
        scores += values
        queries += [query] * len(names)
        positions += [record.position] * len(names)
    rows = pl.DataFrame({"query": queries, "node": nodes, "score": scores}, schema=RUN)
    return checked_run(rows.with_columns(pl.Series("position", positions, dtype=pl.Int64)), path, unit(path))


def _check_once(record: JsonRecord, query: str, seen: dict[str, int], path: Path) -> None:
    first = seen.setdefault(query, record.position)
    if first != record.position:
        raise record.error(f"Duplicate query {query!r}", f"The first is in {unit(path)} {first}")


def _ranking(record: JsonRecord) -> tuple[list[str], list[float]]:
    key = next((key for key in _RANKED if key in record.fields), None)
    if key is None:
        hint = 'Write "results": [{"node": "12", "score": 0.5}], or "nodes": ["12"], best first'
        raise record.error("Missing results", hint)
    items = _list(record, key)
    if key == "results":
        if not all(isinstance(item, dict) and "node" in item for item in items):
            raise record.error("Missing node of a result", 'Write {"node": "12", "score": 0.5}')
        return [_name(record, item["node"], "node") for item in items], [_score(record, item) for item in items]
    return [_name(record, item, "node") for item in items], [-float(rank) for rank in range(1, len(items) + 1)]


def _score(record: JsonRecord, item: Mapping[str, Any]) -> float:
    score = item.get("score")
    if isinstance(score, bool) or not isinstance(score, int | float):
        problem = f"Invalid score {describe(score)}" if "score" in item else "Missing score"
        raise record.error(f"{problem} of node {item['node']!r}", 'List nodes without scores in "nodes", best first')
    try:
        return float(score)
    except OverflowError:
        raise record.error(f"Invalid score of node {item['node']!r}: too large", "Use a finite number") from None


def _list(record: JsonRecord, key: str) -> list[Any]:
    items = record.fields[key]
    if not isinstance(items, list):
        raise record.error(f"Invalid {key}: {describe(items)}", "Use a list")
    return items


def _name(record: JsonRecord, value: Any, kind: str) -> str:
    """Return the name of a query or node: a string, or an integer as text."""
    if isinstance(value, str) and value:
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise record.error(f"Invalid {kind} {describe(value)}", "Use a string or an integer")


def _query(record: JsonRecord) -> str:
    for key in ("id", "query"):
        if record.fields.get(key) is not None:
            return _name(record, record.fields[key], "query")
    raise record.error("Missing query", 'Name it in "query" or "id"')


# -- JSON: answers ----------------------------------------------------------------------------------------------------

DETAILS = "queries.jsonl"
"""File next to the splits of a QUEST dataset, with kbkit's additional fields of the queries."""
_SPLITS = ("train.jsonl", "val.jsonl", "test.jsonl")


def queries(path: Path, text: bytes) -> Iterator[JsonRecord]:
    """Yield the records of queries.

    Those of a QUEST split include the id, expression and categories of the same query in ``queries.jsonl`` next to it.
    """
    beside = path.with_name(DETAILS)
    if path.name not in _SPLITS or not beside.is_file():
        yield from records(path, text)
        return
    more: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for record in records(beside, content(beside)):
        if record.fields.get("split") == path.stem:
            more.setdefault(_words(record), []).append(record.fields)
    for record in records(path, text):
        same = more.get(_words(record))
        fields = {**same.pop(0), **record.fields} if same else record.fields
        yield JsonRecord(fields, record.where, record.position)


def _words(record: JsonRecord) -> tuple[str, str]:
    return str(record.fields.get("query")), str(record.fields.get("original_query"))


def read_json_gold(path: Path, text: bytes, *, answers: bool = True) -> Gold:
    """Read queries with their answers; with ``answers=False`` records may lack answers."""
    query_records = list(queries(path, text))
    if not query_records:
        raise BadInputError(f"No queries in {path}")
    names = [_query(record) for record in query_records]
    seen: dict[str, int] = {}
    for record, query in zip(query_records, names, strict=True):
        _check_once(record, query, seen, path)
    rows = [
        (query, node, relevance, record.position)
        for record, query in zip(query_records, names, strict=True)
        for node, relevance in (_answers(record) if answers else ())
    ]
    judged = pl.DataFrame(rows, schema={**JUDGEMENTS, "position": pl.Int64}, orient="row")
    return Gold(checked_judgements(judged, path, unit(path)), _queries(query_records, names))


def _answers(record: JsonRecord) -> Iterator[tuple[str, int]]:
    key = next((key for key in _ANSWERS if key in record.fields), None)
    if key is None:
        raise record.error("Missing answers", 'Write "answers": ["12", "15"], or [] for none')
    for item in _list(record, key) if record.fields[key] is not None else []:
        if isinstance(item, dict):
            relevance = item.get("relevance")
            if isinstance(relevance, bool) or not isinstance(relevance, int) or abs(relevance) >= 2**63:
                problem = f"Invalid relevance {describe(relevance)}"
                raise record.error(problem, 'Use an integer: {"node": "12", "relevance": 2}')
            yield _name(record, item.get("node"), "answer"), relevance
        else:
            yield _name(record, item, "answer"), 1


def _queries(query_records: list[JsonRecord], names: list[str]) -> pl.DataFrame:
    """Return a row per query: query, text, and the scalars of the records and of their ``metadata``."""
    rows = [_scalars(record.fields) for record in query_records]
    columns = dict.fromkeys(key for row in rows for key in row)
    frame = pl.DataFrame({"query": pl.Series(names, dtype=pl.String)})
    texts = [_text(record.fields) for record in query_records]
    return frame.with_columns(
        pl.Series("text", texts, dtype=pl.String),
        *(series(column, [row.get(column) for row in rows]) for column in columns),
    )


def _scalars(fields: Mapping[str, Any]) -> dict[str, Any]:
    more = fields.get("metadata")
    both = {**(more if isinstance(more, dict) else {}), **fields}
    return {k: v for k, v in both.items() if k not in _KNOWN and (v is None or isinstance(v, str | int | float))}


def _text(fields: Mapping[str, Any]) -> str | None:
    """Return ``text``, or ``query`` if it is not the id: in records with an ``id``, and in QUEST's, which have none."""
    if fields.get("text") is not None:
        return str(fields["text"])
    return str(fields["query"]) if fields.get("query") is not None and ("id" in fields or "docs" in fields) else None


# -- JSON: writing ----------------------------------------------------------------------------------------------------


def write_json_run(run: pl.DataFrame, path: Path) -> None:
    """Write a record per query: ``query``, and ``results`` (``node``, ``score``), best first."""
    _write(run.group_by("query", maintain_order=True).agg(results=pl.struct("node", "score")), path)


def write_json_gold(gold: Gold, path: Path) -> None:
    """Write a record per query: ``query``, ``text``, ``answers``, other columns.

    If any relevance is not 1, answers are written as ``{"node", "relevance"}``.
    """
    plain = gold.judgements.select((pl.col("relevance") == 1).all()).item()
    item = pl.col("node") if plain else pl.struct("node", "relevance")
    answers = gold.judgements.group_by("query", maintain_order=True).agg(answers=item)
    frame = gold.queries.join(answers, on="query", how="left", maintain_order="left")
    empty = pl.lit([], dtype=answers.schema["answers"])
    first = ["query", "text", "answers"]
    frame = frame.with_columns(pl.col("answers").fill_null(empty))
    _write(frame.select(*first, pl.exclude(first)), path)


def _write(frame: pl.DataFrame, path: Path) -> None:
    if path.suffix.lower() != ".json":
        frame.write_ndjson(path)
        return
    lines = frame.write_ndjson().rstrip("\n").split("\n") if frame.height else []
    path.write_text("[" + ",\n ".join(lines) + "]\n", encoding="utf-8", newline="\n")


def json_kind(path: Path, text: bytes) -> str:
    """Return ``run`` or ``gold`` by the first record (empty: unclear)."""
    record = next(records(path, text), None)
    keys = set(record.fields) if record else set()
    if record and "docs" in keys and isinstance(record.fields.get("scores"), list):  # QUEST's predictions have scores
        return "run"
    run, gold = keys & {"results", "nodes", "node"}, keys & {"answers", "answer_ids"}
    return "run" if run and not gold else "gold" if gold and not run else "gold" if "docs" in keys and not run else ""
