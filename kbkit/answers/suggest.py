"""Suggest templates for a schema: one- and two-hop metapaths and pairs of hops with a common target.

They are ranked by the number of groundings with a useful number of answers, estimated from a random sample of start
nodes. Relations that only editors or programs use (:mod:`kbkit.english.askable`) are left out. Questions are drafts in
English, from the labels of relations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from kbkit.answers import syntax
from kbkit.answers.pairs import ids_of, neighbors, pack, unique
from kbkit.answers.session import Session
from kbkit.answers.syntax import Edge, Expression, Nodes, Path, Slot, Step
from kbkit.answers.wording import noun_phrase
from kbkit.assets.arguments import check_range
from kbkit.english.askable import is_technical
from kbkit.english.types import type_plural
from kbkit.english.words import spoken
from kbkit.schema import Join

if TYPE_CHECKING:
    import polars as pl

    from kbkit.answers.pairs import Pairs

SAMPLE_SIZE = 500
"""Start nodes sampled for each template."""
_MAX_HOPS, _MAX_PAIRS = 80, 400
_MAX_REACHED = 2_000_000


def suggest(session: Session, limit: int, seed: int = 0, min_answers: int = 1, max_answers: int = 20) -> pl.DataFrame:
    """Return the ``limit`` best templates: template (id), expression, answer, question (a draft), groundings.

    ``groundings`` estimates how many have ``min_answers`` to ``max_answers`` answers; the rows with most are first.
    """
    import polars as pl

    check_range("limit", limit)
    check_range("seed", seed, 0)
    rng = np.random.default_rng(seed)
    hops = sorted(_hops(session), key=lambda hop: -hop.edges)[:_MAX_HOPS]
    rows, paths = [], {}
    for kind, first, second in _candidates(hops):
        count = _estimate(session, rng, kind, first, second, (min_answers, max_answers))
        if count:
            name, path, answer = _template(kind, first, second)
            paths[str(path)] = path
            rows.append((name, str(path), answer, count))
    columns = {**dict.fromkeys(("template", "expression", "answer"), pl.String), "groundings": pl.Int64}
    frame = pl.DataFrame(rows, schema=columns, orient="row").with_columns(_distinct_ids())
    best = frame.sort("groundings", "expression", descending=[True, False]).head(limit)
    # Wording takes longer than all else, so that only what is returned is worded.
    questions = [question(session, paths[row["expression"]], row["answer"]) for row in best.iter_rows(named=True)]
    return best.insert_column(3, pl.Series("question", questions, dtype=pl.String))


def _distinct_ids() -> pl.Expr:
    """Return ids with ``_2``, ``_3``... added to duplicates."""
    import polars as pl

    number = pl.int_range(pl.len()).over("template") + 1
    return pl.when(number > 1).then(pl.format("{}_{}", "template", number)).otherwise("template").alias("template")


def _hops(session: Session) -> Iterator[Join]:
    """Yield the joins that differ in meaning: those of symmetric relations once."""
    for relation in session.schema.relations:
        if is_technical(spoken(relation.label or relation.name), "entity"):
            continue
        pairs = {(s.head, s.tail) for s in relation.signatures}
        joins, count = relation.joins(), len(relation.signatures)
        for forward, backward in zip(joins[:count], joins[count:], strict=True):
            yield forward
            # If the relation joins the types both ways, a step between them runs forward.
            is_loop = backward.source == backward.target
            if not relation.symmetric if is_loop else (backward.source, backward.target) not in pairs:
                yield backward


def _candidates(hops: list[Join]) -> Iterator[tuple[str, Join, Join | None]]:
    for hop in hops:
        yield "hop", hop, None
    paths = [(a, b) for a in hops for b in hops if a.target == b.source]
    meets = [(a, b) for a, b in combinations(hops, 2) if a.target == b.target]
    for kind, pairs in (("path", paths), ("meet", meets)):
        pairs.sort(key=lambda pair: -min(pair[0].edges, pair[1].edges))
        for a, b in pairs[:_MAX_PAIRS]:
            yield kind, a, b


def _estimate(
    session: Session, rng: np.random.Generator, kind: str, first: Join, second: Join | None, bounds: tuple[int, int]
) -> int:
    """Estimate how many groundings have a number of answers within ``bounds``."""
    starts = session.members(first.source)
    starts = starts[session.move(first.relation.name, first.forward).ranges(starts)[1] > 0]
    sample = starts if len(starts) <= SAMPLE_SIZE else rng.choice(starts, SAMPLE_SIZE, replace=False)
    reached = _follow(session, pack(np.arange(len(sample)), sample), first)
    if kind == "hop" or second is None:
        sizes = np.bincount(reached >> 32, minlength=len(sample))
    elif len(reached) > _MAX_REACHED:
        return 0  # too many answers
    elif kind == "path":
        sizes = np.bincount(_follow(session, reached, second) >> 32, minlength=len(sample))
    else:
        back = neighbors(session.move(second.relation.name, not second.forward), reached)
        back = back[session.has_type(ids_of(back), second.source)]
        sizes = np.unique(back, return_counts=True)[1]
    in_bounds = int(((sizes >= bounds[0]) & (sizes <= bounds[1])).sum())
    return round(in_bounds * len(starts) / max(1, len(sample)))


def _follow(session: Session, pairs: Pairs, hop: Join) -> Pairs:
    reached = unique(neighbors(session.move(hop.relation.name, hop.forward), pairs))
    return reached[session.has_type(ids_of(reached), hop.target)]


# -- expressions and questions ----------------------------------------------------------------------------------------


def _template(kind: str, first: Join, second: Join | None) -> tuple[str, Path, str]:
    """Return id, expression and answer type."""
    start = Nodes(first.source, Slot(first.source))
    name, answer = _id(first), first.target
    if second is None or kind == "hop":
        path = Path((start, _step(first), Nodes(first.target)), ("->", "->"))
    elif kind == "path":
        elements = (start, _step(first), Nodes(first.target), _step(second), Nodes(second.target))
        path, name, answer = Path(elements, ("->",) * 4), _id(first, second), second.target
    else:
        same = first.source == second.source
        slots = (f"{first.source} 1", f"{first.source} 2") if same else (first.source, second.source)
        left, right = Nodes(first.source, Slot(slots[0])), Nodes(second.source, Slot(slots[1]))
        path = Path((left, _step(first), Nodes(first.target), _step(second), right), ("->", "->", "<-", "<-"))
        name = f"{_id(first)}_and_{_id(second)}"
    return name, path, answer


def question(session: Session, tree: Expression, answer: str) -> str:
    """Return a question for the answers of an expression, with ``<slot>`` for each slot."""
    phrase = noun_phrase(session.resolved(tree), session.schema)
    if phrase is None:  # its relations do not read well as verbs
        named = " and ".join(f"<{slot}>" for slot in syntax.slots(tree))
        steps = [edge.relation for part in syntax.subtrees(tree) if isinstance(part, Step) for edge in part.edges]
        return f"Which {type_plural(answer)} are linked to {named} by {', then '.join(map(spoken, steps))}?"
    predicate = phrase.predicate(is_plural=True)
    if predicate:
        return f"Which {phrase.head(is_plural=True)} {predicate}?"
    return f"What are the {phrase.text(is_plural=True, reduce=True)}?"


def _step(hop: Join) -> Step:
    return Step((Edge(hop.relation.name, inverse=hop.source == hop.target and not hop.forward),))


def _id(*hops: Join) -> str:
    words = [hops[0].source]
    for hop in hops:
        words += ["inverse"] * (_step(hop).edges[0].inverse) + [hop.relation.name, hop.target]
    return "_".join(re.sub(r"\W+", "_", word).strip("_") or "x" for word in words)
