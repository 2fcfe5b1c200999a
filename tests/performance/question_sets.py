"""Questions that others wrote, with answers, and the KBs they are asked of: MetaQA, GeoQuery, STaRK-Prime's subset.

Half of the development questions of MetaQA and GeoQuery, drawn with a fixed seed, is for tuning; figures are reported
for the other half. MetaQA's KB is made twice: with the types that its relations imply, and without types.
"""

from __future__ import annotations

import json
import math
import random
import re
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from tests.performance import data
from tests.performance.small import SHARED

METAQA, GEOQUERY, PRIME = SHARED / "metaqa", SHARED / "geoquery", SHARED / "stark_prime_subset"
_TAILS = {
    "directed_by": "person",
    "written_by": "person",
    "starred_actors": "person",
    "release_year": "year",
    "in_language": "language",
    "has_genre": "genre",
    "has_tags": "tag",
    "has_imdb_rating": "rating",
    "has_imdb_votes": "rating",
}
_OPERATORS = re.compile(r"MAX|MIN|COUNT|SUM|AVG|NOT|ORDER|ALL|[<>]")


class Asked(NamedTuple):
    """A question and its answers: names of nodes, or values as text. ``is_path`` if it needs relations only."""

    question: str
    answers: frozenset[str]
    is_path: bool = True


def _half(rows: Sequence[Any], tuning: bool) -> list[Any]:
    """Return the half of the rows that is for tuning, or the other."""
    order = list(range(len(rows)))
    random.Random(0).shuffle(order)
    middle = len(order) // 2
    return [rows[n] for n in (order[:middle] if tuning else order[middle:])]


def made_kb(
    name: str, nodes: Iterable[dict[str, Any]], edges: Iterable[dict[str, Any]], texts: Iterable[Any] = ()
) -> Path:
    """Return the KB of a set, made from tables if need be."""
    import kbkit

    def make(path: Path) -> None:
        folder = path.with_suffix(".tables")
        folder.mkdir(exist_ok=True)
        pl.DataFrame(list(nodes), infer_schema_length=None).write_parquet(folder / "nodes.parquet")
        rows = list(edges)
        none = dict.fromkeys(("head_type", "head", "relation", "tail_type", "tail"), pl.String)
        frame = pl.DataFrame(rows, infer_schema_length=None) if rows else pl.DataFrame(schema=none)
        frame.unique(maintain_order=True).write_parquet(folder / "edges.parquet")
        documents = list(texts)
        if documents:
            columns = ["type", "key", "text"]
            pl.DataFrame(documents, schema=columns, orient="row").write_parquet(folder / "texts.parquet")
        kbkit.ingest("table", folder, out=path).close()

    return data.made(data.folder() / f"{name}.kb", make)


def metaqa(tuning: bool, hops: int) -> list[Asked]:
    """Return development questions of 1, 2 or 3 hops, without the brackets around the topic."""
    lines = (METAQA / f"{hops}hop_dev.txt").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    return [Asked(re.sub(r"[\[\]]", "", q), frozenset(map(as_text, a.split("|")))) for q, a in _half(rows, tuning)]


def metaqa_kb(*, typed: bool) -> Path:
    """Return MetaQA's KB, with or without types."""
    triples = [line.split("|") for line in (METAQA / "kb.txt").read_text(encoding="utf-8").splitlines()]
    if not typed:
        names = sorted({name for head, _, tail in triples for name in (head, tail)})
        edges = [{"head": h, "relation": r, "tail": t} for h, r, t in triples]
        return made_kb("metaqa-untyped", [{"key": name, "name": name} for name in names], edges)
    films = {("film", head) for head, _, _ in triples}
    nodes = sorted(films | {(_TAILS[r], tail) for _, r, tail in triples})
    plots = (line.split("\t", 1) for line in (METAQA / "plots.tsv").read_text(encoding="utf-8").splitlines())
    return made_kb(
        "metaqa",
        [{"type": kind, "key": name, "name": name} for kind, name in nodes],
        [{"head_type": "film", "head": h, "relation": r, "tail_type": _TAILS[r], "tail": t} for h, r, t in triples],
        [("film", film, plot) for film, plot in plots if ("film", film) in films],
    )


def geoquery(tuning: bool) -> list[Asked]:
    """Return questions with the answers of their SQL; those whose SQL does not run are left out."""
    with sqlite3.connect(GEOQUERY / "geography-db.added-in-2020.sqlite") as database:
        rows = []
        for entry in json.loads((GEOQUERY / "geography.json").read_text(encoding="utf-8")):
            for sentence in entry["sentences"]:
                question, query = sentence["text"], entry["sql"][0]
                for name, value in sentence["variables"].items():
                    question, query = question.replace(name, value), query.replace(name, value)
                try:
                    found = database.execute(query).fetchall()
                except sqlite3.Error:
                    continue
                answers = frozenset(as_text(row[0]) for row in found if row and row[0] is not None)
                rows.append(Asked(question, answers, not _OPERATORS.search(query.replace("DISTINCT", ""))))
    return _half(rows, tuning)


def as_text(value: Any) -> str:
    """Return a value as it is compared: numbers without needless zeros, and without regard to their type."""
    try:
        number = float(value)
    except ValueError:
        return str(value)
    return f"{number:.10g}" if math.isfinite(number) else str(value)


def geoquery_kb() -> Path:
    """Return GeoQuery's tables as a graph: a type per table, a relation per foreign key."""
    nodes: dict[tuple[str, str], dict[str, Any]] = {}
    edges: list[dict[str, Any]] = []

    def node(kind: str, key: str, name: str, **attributes: Any) -> tuple[str, str]:
        known = nodes.setdefault((kind, key), {"type": kind, "key": key, "name": name})
        known.update({name: value for name, value in attributes.items() if value is not None})
        return kind, key

    def edge(head: tuple[str, str], relation: str, tail: tuple[str, str]) -> None:
        edges.append(
            {"head_type": head[0], "head": head[1], "relation": relation, "tail_type": tail[0], "tail": tail[1]}
        )

    with sqlite3.connect(GEOQUERY / "geography-db.added-in-2020.sqlite") as database:
        rows = database.execute
        country = node("country", "usa", "usa", aliases="united states|us|america|united states of america|u.s.")
        for name, people, area, density in rows("SELECT state_name, population, area, density FROM state"):
            edge(node("state", name, name, population=people, area=area, density=density), "in_country", country)
        for name, people, state in rows("SELECT city_name, population, state_name FROM city"):
            edge(node("city", f"{name}, {state}", name, population=people), "in_state", ("state", state))
        for state, name in rows("SELECT state_name, capital FROM state"):
            capital = node("city", f"{name}, {state}", name)
            edge(("state", state), "capital", capital)
            edge(capital, "in_state", ("state", state))
        for state, other in rows("SELECT state_name, border FROM border_info"):
            edge(("state", state), "borders", ("state", other))
        for state, high, metres, low, lowest in rows(
            "SELECT state_name, highest_point, highest_elevation, lowest_point, lowest_elevation FROM highlow"
        ):
            edge(("state", state), "highest_point", node("place", high, high, elevation=int(metres)))
            edge(("state", state), "lowest_point", node("place", low, low, elevation=int(lowest)))
        for name, length, state in rows("SELECT river_name, length, traverse FROM river"):
            edge(node("river", name, name, length=length), "traverses", ("state", state))
        for name, metres, state in rows("SELECT mountain_name, mountain_altitude, state_name FROM mountain"):
            edge(node("mountain", name, name, altitude=metres), "in_state", ("state", state))
        for name, area, state in rows("SELECT lake_name, area, state_name FROM lake"):
            edge(node("lake", name, name, area=area), "in_state", ("state", state))
    return made_kb("geoquery", nodes.values(), [e for e in edges if (e["tail_type"], e["tail"]) in nodes])


def prime(split: str) -> pl.DataFrame:
    """Return questions of STaRK-Prime's subset: query, text, answers (keys)."""
    lines = (PRIME / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["split"] == split]
    return pl.DataFrame(
        [(str(row["id"]), row["query"], [str(node) for node in row["answer_ids"]]) for row in rows],
        schema=["query", "text", "answers"],
        orient="row",
    )


def prime_kb() -> Path:
    """Return the subset's nodes with their texts, and its edges."""
    rows = [json.loads(line) for line in (PRIME / "nodes.jsonl").read_text(encoding="utf-8").splitlines()]
    kinds = {str(row["id"]): row["type"] for row in rows}
    lines = (PRIME / "edges.tsv").read_text(encoding="utf-8").splitlines()
    triples = [line.split("\t") for line in lines]
    return made_kb(
        "prime",
        [{"type": row["type"], "key": str(row["id"]), "name": row["name"]} for row in rows],
        [{"head_type": kinds[h], "head": h, "relation": r, "tail_type": kinds[t], "tail": t} for h, r, t in triples],
        [(row["type"], str(row["id"]), row["text"]) for row in rows],
    )
