"""Queries that people write (STaRK, section 2.6 and appendix C): an entity is drawn and shown, its query is kept.

The file is STaRK's: ``OUT/stark_qa/stark_qa_human_generated_eval.csv``, with the entity as the one answer, by its key,
or as ``type#key`` where types share keys; beside it ``OUT/human.jsonl`` tells of each query its entity and the seed.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbkit.benchmarks.leaks import leaks
from kbkit.benchmarks.stark.dataset import HUMAN_TABLE
from kbkit.benchmarks.stark.evaluate import are_references, check_seed
from kbkit.benchmarks.stark.layout import ambiguous
from kbkit.directory import files as whole_files
from kbkit.directory.systems import exclusive
from kbkit.errors import BadInputError, KbError
from kbkit.measures import stark
from kbkit.measures.records import content, records
from kbkit.schema import Relation

if TYPE_CHECKING:
    import polars as pl

    from kbkit.graph.nodes import Node
    from kbkit.kb import KnowledgeBase

RECORDS = "human.jsonl"
_EACH = 2
"""Neighbours of a relation, and relations of a neighbour, that paths go through."""
_COLUMNS = ("id", "query", "answer_ids")
_LOCK = ".human.lock"
_PATIENCE = 10.0
"""Seconds that a writer waits for another one: a query is saved in milliseconds."""


def draw(kb: KnowledgeBase, types: Sequence[str], seed: int, done: Sequence[str] = ()) -> Iterator[int]:
    """Nodes of the types that have a text, in random order, each once; not those that are ``done``, by ``type#key`` or
    by key.

    Without ``types``: those that the source's own questions ask for, else all. The same ``seed`` gives the same order.
    Raises :class:`KbError` if there is no such node, and for a ``seed`` below 0.
    """
    import numpy as np

    check_seed(seed)
    chosen = _chosen(kb, types)
    with_text = kb.tables.lookup("SELECT DISTINCT id FROM texts ORDER BY id")["id"].to_numpy()
    if chosen:
        members = np.concatenate([kb.session.members(name) for name in chosen])
        with_text = np.intersect1d(with_text, members)
    if not len(with_text):
        raise KbError(f"no {' or '.join(chosen) or 'node'} of the KB has a text", "--type names another type")
    skipped = set(done)
    for node in map(int, np.random.default_rng(seed).permutation(with_text)):
        if not skipped or skipped.isdisjoint(_names(kb.node(node))):
            yield node


def _chosen(kb: KnowledgeBase, types: Sequence[str]) -> list[str]:
    return [kb.schema.type(name).name for name in types or kb.schema.candidate_types]


def _names(node: Node) -> tuple[str, str]:
    return node.key, f"{node.type}#{node.key}"


def paths(kb: KnowledgeBase, node: Node, limit: int = 8) -> list[str]:
    """Some paths of two steps from a node, ``A -> [r] -> B <- [s] <- C``: through one neighbour of each relation in
    turn, so that few lines show many kinds.
    """
    sides = [(relation, side, _near(kb, node.id, relation, side)) for relation, side, _ in kb.degrees(node.id)]
    found = (
        f"{node.name} {_arrow(relation, side)} {near['name'][place]} {step}"
        for place in range(_EACH)
        for relation, side, near in sides
        if place < near.height
        for step in _onwards(kb, near["id"][place], node.id, relation)
    )
    return list(itertools.islice(found, limit))


def _onwards(kb: KnowledgeBase, between: int, start: int, came: Relation) -> Iterator[str]:
    """A step on from a neighbour, not back to ``start``: by other relations first."""
    ways = sorted(kb.degrees(between), key=lambda way: way[0].name == came.name)
    for relation, side, _ in ways[:_EACH]:
        near = _near(kb, between, relation, side)
        for end in near.filter(near["id"] != start)["name"].head(1):
            yield f"{_arrow(relation, side)} {end}"


def _near(kb: KnowledgeBase, node: int, relation: Relation, side: str) -> pl.DataFrame:
    """The first neighbours."""
    frame = kb.neighbors(node, relation.name, _EACH)
    return frame.filter(frame["direction"] == side).unique("id", maintain_order=True).head(_EACH)


def _arrow(relation: Relation, side: str) -> str:
    return f"-> [{relation.name}] ->" if side == "out" else f"<- [{relation.name}] <-"


# -- what was written -------------------------------------------------------------------------------------------------


def leak(query: str, node: Node) -> str:
    """The name of the node that a query gives away; nothing if it does not (appendix C, first note)."""
    return leaks(query, (node.name, *node.aliases))


def table(out: Path) -> Path:
    """The file that :func:`append` writes."""
    return out / "stark_qa" / f"{HUMAN_TABLE}.csv"


def check(out: Path) -> None:
    """Raise now what :func:`append` would raise of a folder that cannot be written."""
    place = table(out).parent
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir():
        raise KbError(f"{place} is a file", "--out names a folder")
    if not os.access(place, os.W_OK | os.X_OK):
        raise KbError(f"{place} cannot be written: Permission denied", "--out names another folder")


def answered(out: Path) -> list[str]:
    """The answers that are there already, by ``type#key`` where ``human.jsonl`` knows their type, else by key; none in
    a new folder.
    """
    path = table(out)
    if not path.is_file():
        return []
    judged = stark.read(path).judgements
    told = _entities(_told(out / RECORDS, set(judged["query"])))
    pairs = ((told.get(query, {}), name) for query, name in judged.select("query", "node").iter_rows())
    return [entity.get(name, name) for entity, name in pairs]


def references(kb: KnowledgeBase, types: Sequence[str], out: Path) -> bool:
    """Whether answers are to be called ``type#key``: where the file does so, or where types share keys, of those that
    are drawn and those of its answers. Raises :class:`BadInputError` if then some of its answers are of unknown types.
    """
    rows = _rows(table(out))
    told = _told(out / RECORDS, set(rows["id"]))
    known = {record["entity"]["type"] for record in told if _entities([record])}
    drawn = _chosen(kb, types) or [kind.name for kind in kb.schema.node_types]
    if _has_references(kb, table(out)):
        return True
    shared = ambiguous(kb, {*drawn, *known})
    if shared:
        _with_references(kb, rows, told, table(out))
    return shared


def append(kb: KnowledgeBase, out: Path, query: str, node: Node, seed: int, *, references: bool = False) -> str:
    """Add a query with its entity; returns its id, one above the largest that is there.

    With ``references``, or where the file has them, all answers are called ``type#key``. Both files are written aside
    and renamed; the csv, which counts, last. Columns of a file that is there stay. Others who write there wait.
    """
    import polars as pl

    with _held(out):
        rows = _rows(table(out))
        lines = _told(out / RECORDS, set(rows["id"]))
        references = references or _has_references(kb, table(out))
        if references:
            rows = _with_references(kb, rows, lines, table(out))
        taken = [int(name) for name in rows["id"] if name.isascii() and name.isdecimal() and len(name) < 18]
        number = str(max(taken, default=-1) + 1)
        key, reference = _names(node)
        answer = _answer(reference if references else key)
        row = pl.DataFrame({"id": [number], "query": [query], "answer_ids": [answer]})
        entity = {"type": node.type, "key": node.key, "name": node.name}
        lines.append({"id": number, "query": query, "entity": entity, "seed": seed})
        records = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        whole_files.write({out / RECORDS: records, table(out): pl.concat([rows, row], how="diagonal").write_csv()})
    return number


@contextlib.contextmanager
def _held(out: Path) -> Iterator[None]:
    """Let nobody else write to the folder meanwhile."""
    with contextlib.ExitStack() as held:
        try:
            out.mkdir(parents=True, exist_ok=True)
            said = (f"another process writes to {out}", "wait for it, or stop it")
            held.enter_context(exclusive(out / _LOCK, *said, _PATIENCE))
        except OSError as error:
            raise KbError(f"{error.filename or out} cannot be written: {error.strerror or error}") from None
        yield


def _has_references(kb: KnowledgeBase, path: Path) -> bool:
    return path.is_file() and are_references(kb, stark.read(path).judgements["node"])


def _with_references(
    kb: KnowledgeBase, rows: pl.DataFrame, told: Sequence[Mapping[str, Any]], path: Path
) -> pl.DataFrame:
    """The rows with ``type#key`` in the place of the keys of their entities. Raises for an answer that is neither."""
    import polars as pl

    entities = _entities(told)
    pairs = () if rows.is_empty() else stark.read(path).judgements.select("query", "node").iter_rows()
    names = [(query, name, entities.get(query, {}).get(name, name)) for query, name in pairs]
    if not names:
        return rows
    for query, name, called in names:
        if not are_references(kb, pl.Series([called])):
            raise BadInputError(
                f"{path}: query {query!r} has the answer {name!r}, and nodes of several types share keys",
                "call its answers type#key; or draw for another --out, or one --type",
            )
    lists = pl.DataFrame(names, schema=["id", "node", "called"], orient="row").group_by("id").agg("called")
    texts = {query: json.dumps(called, ensure_ascii=False) for query, called in lists.iter_rows()}
    return rows.with_columns(answer_ids=pl.col("id").replace_strict(texts, default=pl.col("answer_ids")))


def _entities(told: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """Of each query whose record says it: the key of its entity, and what it is called with its type."""
    found = {}
    for record in told:
        entity = record.get("entity")
        if isinstance(entity, dict) and isinstance(entity.get("type"), str) and isinstance(entity.get("key"), str):
            found[str(record["id"])] = {entity["key"]: f"{entity['type']}#{entity['key']}"}
    return found


def _rows(path: Path) -> pl.DataFrame:
    """The questions that are there, all columns as text."""
    import polars as pl

    if not path.is_file():
        return pl.DataFrame(schema=dict.fromkeys(_COLUMNS, pl.String))
    stark.read(path)  # refuses what is no such file, with the line
    return pl.read_csv(path, infer_schema=False)


def _told(path: Path, ids: set[str]) -> list[dict[str, Any]]:
    """The records of these queries; one without a query is what a killed writer left."""
    if not path.is_file():
        return []
    kept = [record.fields for record in records(path, content(path)) if str(record.fields.get("id")) in ids]
    return list({str(record["id"]): record for record in kept}.values())


def _answer(key: str) -> str:
    """A list of one key as STaRK writes it: a whole number where the key is one, else a text."""
    whole = key.isascii() and key.isdecimal() and (key == "0" or key[0] != "0")
    return f"[{key}]" if whole else json.dumps([key], ensure_ascii=False)
