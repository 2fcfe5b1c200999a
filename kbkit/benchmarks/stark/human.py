"""Queries that people write (STaRK, section 2.6 and appendix C) about randomly drawn entities.

The file is STaRK's: ``OUT/stark_qa/stark_qa_human_generated_eval.csv``. The only answer is the entity, by its number
(:mod:`kbkit.benchmarks.stark.numbers`). A file with keys, or with ``type#key`` if types share keys, is continued in
that way. ``OUT/human.jsonl`` records the entity and the seed of each query.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbkit.assets.arguments import check_range
from kbkit.benchmarks.dataset import json_lines
from kbkit.benchmarks.evidence import leaks
from kbkit.benchmarks.people.judgements import one_writer
from kbkit.benchmarks.stark import numbers
from kbkit.benchmarks.stark.dataset import (
    HUMAN,
    HUMAN_RECORDS,
    HUMAN_TABLE,
    KEY,
    NUMBER,
    REFERENCE,
    are_references,
    share_keys,
)
from kbkit.directory.files import write_files
from kbkit.errors import BadInputError, KbError, Option
from kbkit.export.numbering import numbering
from kbkit.measures import stark
from kbkit.measures.records import content, records
from kbkit.schema import Relation

if TYPE_CHECKING:
    import polars as pl

    from kbkit.graph.nodes import Node
    from kbkit.kb import KnowledgeBase

RECORDS = HUMAN_RECORDS
_WIDTH = 2
"""Number of neighbours per relation, and of relations per neighbour, that paths go through."""
_COLUMNS = ("id", "query", "answer_ids")


def draw(kb: KnowledgeBase, types: Sequence[str], seed: int, done: Sequence[str] = ()) -> Iterator[int]:
    """Yield nodes of the types that have a text, in random order, skipping those that are ``done`` (type#key or key).

    The default types are the answer types of the source's own questions, or else all types. Equal seeds give equal
    orders. Raises :class:`KbError` if there is no such node, and for a negative ``seed``.
    """
    import numpy as np

    check_range("seed", seed, 0)
    chosen = _chosen(kb, types)
    with_text = kb.tables.lookup("SELECT DISTINCT id FROM texts ORDER BY id")["id"].to_numpy()
    if chosen:
        members = np.concatenate([kb.session.members(name) for name in chosen])
        with_text = np.intersect1d(with_text, members)
    if not len(with_text):
        raise KbError(f"No {' or '.join(chosen) or 'node'} of the KB has a text", "Use another ", Option("type"))
    skipped = set(done)
    for node in map(int, np.random.default_rng(seed).permutation(with_text)):
        if not skipped or skipped.isdisjoint(_names(kb.node(node))):
            yield node


def _chosen(kb: KnowledgeBase, types: Sequence[str]) -> list[str]:
    return [kb.schema.type(name).name for name in types or kb.schema.candidate_types]


def _names(node: Node) -> tuple[str, str]:
    return node.key, f"{node.type}#{node.key}"


def paths(kb: KnowledgeBase, node: Node, limit: int = 8) -> list[str]:
    """Return some paths of two steps from a node, ``A -> [r] -> B <- [s] <- C``.

    They alternate between the relations of the node, so that few lines show many kinds.
    """
    sides = [(relation, side, _near(kb, node.id, relation, side)) for relation, side, _ in kb.degrees(node.id)]
    texts = (
        f"{node.name} {_arrow(relation, side)} {near['name'][position]} {step}"
        for position in range(_WIDTH)
        for relation, side, near in sides
        if position < near.height
        for step in _second_steps(kb, near["id"][position], node.id, relation)
    )
    return list(itertools.islice(texts, limit))


def _second_steps(kb: KnowledgeBase, between: int, start: int, previous: Relation) -> Iterator[str]:
    """Yield a step from a neighbour to a node other than ``start``, other relations first."""
    ways = sorted(kb.degrees(between), key=lambda way: way[0].name == previous.name)
    for relation, side, _ in ways[:_WIDTH]:
        near = _near(kb, between, relation, side)
        for end in near.filter(near["id"] != start)["name"].head(1):
            yield f"{_arrow(relation, side)} {end}"


def _near(kb: KnowledgeBase, node: int, relation: Relation, side: str) -> pl.DataFrame:
    """Return the first neighbours."""
    frame = kb.neighbors(node, relation.name, _WIDTH)
    return frame.filter(frame["direction"] == side).unique("id", maintain_order=True).head(_WIDTH)


def _arrow(relation: Relation, side: str) -> str:
    return f"-> [{relation.name}] ->" if side == "out" else f"<- [{relation.name}] <-"


# -- files ------------------------------------------------------------------------------------------------------------


def leak(query: str, node: Node) -> str:
    """Return the name of the node that a query contains, or "" (appendix C, first note)."""
    return leaks(query, (node.name, *node.aliases))


def table(out: Path) -> Path:
    """Return the file that :func:`append` writes."""
    return out / "stark_qa" / f"{HUMAN_TABLE}.csv"


def check_folder(out: Path) -> None:
    """Raise :class:`KbError` if :func:`append` could not write to the folder."""
    folder = table(out).parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.is_dir():
        raise KbError(f"{folder} is a file", "Use a folder for ", Option("output"))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise KbError(f"Cannot write {folder}: Permission denied", "Use another folder for ", Option("output"))


def answered(out: Path) -> list[str]:
    """Return the answers so far, by ``type#key`` if ``human.jsonl`` records their types, else by key."""
    path = table(out)
    if not path.is_file():
        return []
    judged = stark.read_stark_gold(path).judgements
    entities = _entities(_records(out / RECORDS, set(judged["query"])))
    pairs = ((entities.get(query, {}), name) for query, name in judged.select("query", "node").iter_rows())
    return [entity.get(name, name) for entity, name in pairs]


def naming(kb: KnowledgeBase, types: Sequence[str], out: Path) -> str:
    """Return how to name answers: as the file does, or in a new one by number, or by key if keys are the numbers.

    A file of an earlier version has keys; it gets references if types of drawn or old answers share keys. Raises
    :class:`BadInputError` if the type of an old answer is needed but unknown, and :class:`KbError` if the file's
    numbers are those of another KB.
    """
    rows = _rows(table(out))
    saved = _records(out / RECORDS, set(rows["id"]))
    current = _file_naming(kb, rows, out)
    if current != KEY or rows.is_empty():
        return current
    known = {name.partition("#")[0] for own in _entities(saved).values() for name in own.values()}
    drawn = _chosen(kb, types) or [kind.name for kind in kb.schema.node_types]
    if not share_keys(kb, {*drawn, *known}):
        return KEY
    _with_references(kb, rows, saved, table(out))
    return REFERENCE


def _file_naming(kb: KnowledgeBase, rows: pl.DataFrame, out: Path) -> str:
    """Return how the file names answers, or how a new one should."""
    numbered = numbering(kb.tables)
    if rows.is_empty():
        return KEY if numbered.keys else NUMBER
    written = numbers.read_numbers(out, HUMAN)
    if written is None:
        return REFERENCE if are_references(kb, stark.read_stark_gold(table(out)).judgements["node"]) else KEY
    if written.digest != numbered.digest:
        message = f"{table(out)} has the numbers of another KB, or of {kb.directory.path} before its nodes changed"
        raise KbError(message, "Use another ", Option("output"))
    return NUMBER


def append(
    kb: KnowledgeBase, out: Path, query: str, answers: Node | Sequence[Node], seed: int, *, names: str = KEY
) -> str:
    """Add a query and its entity, or several answers; return the id of the query, one above the largest.

    With the ``names`` reference, answers that are keys become ``type#key``; otherwise the entity is named as in the
    file. Other columns of the file are kept. The files are replaced at the end, the csv last. Concurrent writers wait
    for each other.
    """
    import polars as pl

    with one_writer(out / RECORDS):
        rows = _rows(table(out))
        lines = _records(out / RECORDS, set(rows["id"]))
        naming = _file_naming(kb, rows, out)
        if naming == KEY and names == REFERENCE:
            naming = REFERENCE
        if naming == REFERENCE:
            rows = _with_references(kb, rows, lines, table(out))
        taken = [int(name) for name in rows["id"] if name.isascii() and name.isdecimal() and len(name) < 18]
        number = str(max(taken, default=-1) + 1)
        nodes = answers if isinstance(answers, Sequence) else [answers]
        listed = [{NUMBER: str(node.id), KEY: node.key, REFERENCE: _names(node)[1]}[naming] for node in nodes]
        row = pl.DataFrame({"id": [number], "query": [query], "answer_ids": [_answers(listed)]})
        entities: list[dict[str, Any]] = [{"type": node.type, "key": node.key, "name": node.name} for node in nodes]
        line: dict[str, Any] = {"id": number, "query": query, "entity": entities[0], "seed": seed}
        if len(nodes) > 1:
            line["further"] = entities[1:]
        if naming == NUMBER:
            line["numbers"] = numbering(kb.tables).digest
            for entity, node in zip(entities, nodes, strict=True):
                entity["number"] = node.id
        lines.append(line)
        write_files({out / RECORDS: json_lines(lines), table(out): pl.concat([rows, row], how="diagonal").write_csv()})
    return number


def _with_references(
    kb: KnowledgeBase, rows: pl.DataFrame, saved: Sequence[Mapping[str, Any]], path: Path
) -> pl.DataFrame:
    """Replace the keys of entities by ``type#key``; raise :class:`BadInputError` for any other answer."""
    import polars as pl

    entities = _entities(saved)
    pairs = () if rows.is_empty() else stark.read_stark_gold(path).judgements.select("query", "node").iter_rows()
    names = [(query, name, entities.get(query, {}).get(name, name)) for query, name in pairs]
    if not names:
        return rows
    for query, name, reference in names:
        if not are_references(kb, pl.Series([reference])):
            message = f"Ambiguous answer {name!r} of query {query!r} in {path}: nodes of several types share keys"
            hint = ("Write its answers as type#key, or use another ", Option("output"), " or one ", Option("type"))
            raise BadInputError(message, *hint)
    lists = pl.DataFrame(names, schema=["id", "node", "reference"], orient="row").group_by("id").agg("reference")
    texts = {query: json.dumps(references, ensure_ascii=False) for query, references in lists.iter_rows()}
    return rows.with_columns(answer_ids=pl.col("id").replace_strict(texts, default=pl.col("answer_ids")))


def _entities(saved: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """Return by query, for each answer in its record: the entity's number, or its key, and its ``type#key``."""
    by_query: dict[str, dict[str, str]] = {}
    for record in saved:
        further = record.get("further")
        for entity in (record.get("entity"), *(further if isinstance(further, list) else ())):
            if isinstance(entity, dict) and isinstance(entity.get("type"), str) and isinstance(entity.get("key"), str):
                name = str(entity.get("number", entity["key"]))
                by_query.setdefault(str(record["id"]), {})[name] = f"{entity['type']}#{entity['key']}"
    return by_query


def _rows(path: Path) -> pl.DataFrame:
    """Return the questions of the file, all columns as text."""
    import polars as pl

    if not path.is_file():
        return pl.DataFrame(schema=dict.fromkeys(_COLUMNS, pl.String))
    stark.read_stark_gold(path)  # raises for an invalid file, with the line
    return pl.read_csv(path, infer_schema=False)


def _records(path: Path, ids: set[str]) -> list[dict[str, Any]]:
    """Return the records of these queries; a killed writer may have left a record without a query."""
    if not path.is_file():
        return []
    kept = [record.fields for record in records(path, content(path)) if str(record.fields.get("id")) in ids]
    return list({str(record["id"]): record for record in kept}.values())


def _answers(names: Sequence[str]) -> str:
    """Return names as STaRK writes them: a list of numbers, or of texts if one is none."""
    are_numbers = all(name.isascii() and name.isdecimal() and (name == "0" or name[0] != "0") for name in names)
    return f"[{', '.join(names)}]" if are_numbers else json.dumps(names, ensure_ascii=False)


def from_labels(kb: KnowledgeBase, out: Path, seed: int, *, names: str = KEY) -> int:
    """Add the labelled queries of the KB's workspace that the file does not have; return their number.

    Their answers are the nodes with the grade 2 in :meth:`kbkit.benchmarks.people.labels.Labels.judgements`.
    """
    from kbkit.benchmarks.people.labels import ANSWER, Labels

    judged = Labels(kb).judgements()
    known = set(_rows(table(out))["query"])
    added = 0
    for (_, text), group in judged.filter(judged["grade"] == ANSWER).group_by("query", "text", maintain_order=True):
        if text not in known:
            answers = [kb.node(f"{kind}#{key}") for kind, key in group.select("type", "key").iter_rows()]
            append(kb, out, str(text), answers, seed, names=names)
            added += 1
    return added
