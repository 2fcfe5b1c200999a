"""Makes templates from a schema: its one- and two-hop metapaths and the pairs that meet, ranked by how many groundings
have an answer set of useful size.

Counts are estimates: of a random choice of starts, all answers are counted, and the share is scaled up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from kbkit.answers.algebra import Move
from kbkit.answers.pairs import ids_of, neighbors, pack, unique
from kbkit.answers.session import Session
from kbkit.answers.syntax import Edge, Nodes, Path, Slot, Step
from kbkit.answers.wording import Clause, clause, noun, question

if TYPE_CHECKING:
    import polars as pl

    from kbkit.answers.pairs import Pairs

STARTS = 500
"""Starts looked at for each template."""
_MOST_HOPS, _MOST_PATHS = 80, 400
_BUSY = 2_000_000


@dataclass(frozen=True)
class _Way:
    """One hop between two primary types."""

    source: str
    move: Move
    target: str
    label: str
    edges: int
    symmetric: bool

    @property
    def step(self) -> Step:
        return Step((Edge(self.move.relation, inverse=self.source == self.target and not self.move.forward),))

    def clause(self, source: str) -> Clause:
        """What it says of the nodes that it reaches from ``source``."""
        return clause(self.label, source, of_head=self.symmetric or not self.move.forward)


def suggest(session: Session, limit: int, seed: int = 0, min_answers: int = 1, max_answers: int = 20) -> pl.DataFrame:
    """The ``limit`` best: template (an id), expression, answer, question (to be edited), groundings (an estimate of how
    many have ``min_answers`` to ``max_answers`` answers), best first.
    """
    import polars as pl

    rng = np.random.default_rng(seed)
    ways = sorted(_ways(session), key=lambda way: -way.edges)[:_MOST_HOPS]
    rows = []
    for kind, first, second in _candidates(ways):
        count = _estimate(session, rng, kind, first, second, (min_answers, max_answers))
        if count:
            rows.append((*_worded(kind, first, second), count))
    columns = {**dict.fromkeys(("template", "expression", "answer", "question"), pl.String), "groundings": pl.Int64}
    frame = pl.DataFrame(rows, schema=columns, orient="row").with_columns(_distinct_ids())
    return frame.sort("groundings", "expression", descending=[True, False]).head(limit)


def _distinct_ids() -> pl.Expr:
    """Ids with ``_2``, ``_3``... where names that differ in signs only give the same."""
    import polars as pl

    number = pl.int_range(pl.len()).over("template") + 1
    return pl.when(number > 1).then(pl.format("{}_{}", "template", number)).otherwise("template").alias("template")


def _ways(session: Session) -> Iterator[_Way]:
    """Every signature of every relation, in both directions; a symmetric one once."""
    for relation in session.schema.relations:
        for s in relation.signatures:
            label, both_ways = relation.label or relation.name.replace("_", " "), relation.symmetric
            yield _Way(s.head, Move(relation.name, True), s.tail, label, s.edges, both_ways)
            # Where the relation joins the types both ways, a step between them runs forward.
            both = any((o.head, o.tail) == (s.tail, s.head) for o in relation.signatures) and s.head != s.tail
            if not both and not (s.head == s.tail and relation.symmetric):
                yield _Way(s.tail, Move(relation.name, False), s.head, label, s.edges, both_ways)


def _candidates(ways: list[_Way]) -> Iterator[tuple[str, _Way, _Way | None]]:
    for way in ways:
        yield "hop", way, None
    paths = [(a, b) for a in ways for b in ways if a.target == b.source]
    meets = [(a, b) for a, b in combinations(ways, 2) if a.target == b.target]
    for kind, pairs in (("path", paths), ("meet", meets)):
        pairs.sort(key=lambda pair: -min(pair[0].edges, pair[1].edges))
        for a, b in pairs[:_MOST_PATHS]:
            yield kind, a, b


def _estimate(
    session: Session, rng: np.random.Generator, kind: str, first: _Way, second: _Way | None, bounds: tuple[int, int]
) -> int:
    """About how many groundings have a number of answers within ``bounds``."""
    starts = session.members(first.source)
    starts = starts[session.move(first.move.relation, first.move.forward).ranges(starts)[1] > 0]
    chosen = starts if len(starts) <= STARTS else rng.choice(starts, STARTS, replace=False)
    reached = _hop(session, pack(np.arange(len(chosen)), chosen), first)
    if kind == "hop" or second is None:
        sizes = np.bincount(reached >> 32, minlength=len(chosen))
    elif len(reached) > _BUSY:
        return 0  # sets of such a size are no answers
    elif kind == "path":
        sizes = np.bincount(_hop(session, reached, second) >> 32, minlength=len(chosen))
    else:
        back = neighbors(session.move(second.move.relation, not second.move.forward), reached)
        back = back[session.has_type(ids_of(back), second.source)]
        sizes = np.unique(back, return_counts=True)[1]
    good = int(((sizes >= bounds[0]) & (sizes <= bounds[1])).sum())
    return round(good * len(starts) / max(1, len(chosen)))


def _hop(session: Session, pairs: Pairs, way: _Way) -> Pairs:
    found = unique(neighbors(session.move(way.move.relation, way.move.forward), pairs))
    return found[session.has_type(ids_of(found), way.target)]


def _worded(kind: str, first: _Way, second: _Way | None) -> tuple[str, str, str, str]:
    """id, expression, answer type, question."""
    start = Nodes(first.source, Slot(first.source))
    if second is None or kind == "hop":
        path = Path((start, first.step, Nodes(first.target)), ("->", "->"))
        return _id(first), str(path), first.target, question(first.target, first.clause(f"<{first.source}>"))
    if kind == "path":
        elements = (start, first.step, Nodes(first.target), second.step, Nodes(second.target))
        between = noun(first.target, first.clause(f"<{first.source}>"))
        said = second.clause(between)
        asked = question(second.target, said)
        if not said.subject:  # two relative clauses, one in the other, are hard to read
            asked = f"Take {between}. {question(second.target, second.clause('it'))}"
        return _id(first, second), str(Path(elements, ("->",) * 4)), second.target, asked
    same = first.source == second.source
    slots = (f"{first.source} 1", f"{first.source} 2") if same else (first.source, second.source)
    left, right = Nodes(first.source, Slot(slots[0])), Nodes(second.source, Slot(slots[1]))
    path = Path((left, first.step, Nodes(first.target), second.step, right), ("->", "->", "<-", "<-"))
    asked = question(first.target, first.clause(f"<{slots[0]}>"), second.clause(f"<{slots[1]}>"))
    return f"{_id(first)}_and_{_id(second)}", str(path), first.target, asked


def _id(*ways: _Way) -> str:
    words = [ways[0].source]
    for way in ways:
        words += ["inverse"] * (way.step.edges[0].inverse) + [way.move.relation, way.target]
    return "_".join(re.sub(r"\W+", "_", word).strip("_") or "x" for word in words)
