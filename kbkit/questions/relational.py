"""Retrieval by text and relations: candidates connected to the nodes that the question names rank higher.

Each named node adds weight to the nodes it reaches in one or two steps along the schema. The weight decreases with the
number of nodes a step reaches, because a common connection says little. The sum over all names is added to the score
of the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, zip_longest

import numpy as np
from numpy.typing import NDArray

from kbkit.answers.session import Move, Session
from kbkit.directory import systems
from kbkit.llm.threads import each
from kbkit.questions.link import Linked, link
from kbkit.search.ranking import EMPTY, QueryResult, Ranking, fuse, scaled
from kbkit.search.retrievers import QueryBatch, build
from kbkit.search.settings import Settings
from kbkit.stores.adjacency import Ids
from kbkit.stores.arrays import Within, distinct, is_within

CANDIDATES = 1_000
"""Number of best connected nodes whose text is scored."""
WEIGHT = 3.0
"""Weight of the connections relative to the text. This and the following constants were chosen on questions about imdb
that name directors and actors, and on known items of imdb, wn18rr and world, which should not get worse."""
POWER = 2
DAMPING = 0.1
"""How fast the weight of a connection decreases with its frequency."""
SECOND_STEP = 0.3
"""Weight of a connection over two steps, relative to one."""
OTHER_TYPE = 0.5
"""Factor on the score of candidates that have none of the types named in the question."""
MAX_REACHED = 100_000
"""Limit on the nodes that a step reaches; wider steps say nothing and are slow."""
MAX_STEPS = 2_000
"""Limit on the second steps of a question, tried from the fewest nodes first, and a tenth of the limit on first steps:
schemas can have thousands of relations."""


@dataclass(frozen=True)
class Path:
    """The sorted ``nodes`` that a named node reaches, with ``weights`` from 0 to 1.

    A path has one or two moves, or none if the question is just a name.
    """

    mention: int
    start: int
    moves: tuple[Move, ...]
    nodes: NDArray[np.int64]
    weights: NDArray[np.float64]


def relational(
    session: Session, batch: QueryBatch, settings: Settings, texts: Sequence[QueryResult]
) -> list[QueryResult]:
    """Rank each query by text (the hybrid rankings ``texts``) and by connections to the nodes it names."""
    pairs = list(zip(batch.split(), texts, strict=True))
    return each(lambda pair: _ranked(session, pair[0], settings, pair[1]), pairs, systems.cores())


def _ranked(session: Session, batch: QueryBatch, settings: Settings, text: QueryResult) -> QueryResult:
    linked = link(session, batch.queries[0].text)
    connected = connections(session, linked, settings.within)
    if not len(connected.ids):
        return QueryResult(text.ranking, {**text.components, "relational": EMPTY})
    best = connected.cut(max(CANDIDATES, settings.k))
    ids = distinct(np.concatenate([best.ids, *(part.ids for part in text.components.values())]))
    retrievers = build(session.stores, batch, replace(settings, within=ids))
    components = {name: retrieve(len(ids))[0] for name, retrieve in retrievers.items()}
    weights = [settings.weights[name] for name in components]
    # By scores, not ranks: texts with equal scores must not be ordered by id.
    fused = fuse(list(components.values()), weights, len(ids), "minmax")
    scores = np.nan_to_num(Ranking(fused.ids, scaled(fused.scores)).score_of(ids))
    scores += WEIGHT * np.nan_to_num(connected.score_of(ids)) ** POWER
    scores *= _type_factor(session, linked, ids)
    return QueryResult(Ranking.of(ids, scores, settings.k), {**components, "relational": connected})


def _type_factor(session: Session, linked: Linked, ids: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return 1 for nodes of a type named in the question (or if it names none), else ``OTHER_TYPE``."""
    if not linked.types:
        return np.ones(len(ids))
    named = np.any([session.has_type(ids.astype(np.int32), name) for name in linked.types], axis=0)
    return np.where(named, 1.0, OTHER_TYPE)


def connections(session: Session, linked: Linked, within: Within) -> Ranking:
    """Rank the nodes (of ``within``) reached from the names in the question, by the fraction of their weight (0 to 1).

    For each name, the path of highest weight counts.
    """
    ids, scores = [EMPTY.ids], [EMPTY.scores]
    found = paths(session, linked)
    for number in range(len(linked.mentions)):
        mine = [path for path in found if path.mention == number]
        if mine:
            nodes = np.concatenate([path.nodes for path in mine])
            weights = np.concatenate([path.weights for path in mine])
            order = np.lexsort((-weights, nodes))
            distinct, first = np.unique(nodes[order], return_index=True)
            ids.append(distinct)
            scores.append(linked.mentions[number].weight * weights[order][first])
    nodes, inverse = np.unique(np.concatenate(ids), return_inverse=True)
    totals = np.bincount(inverse, np.concatenate(scores), len(nodes)).astype(np.float64)
    totals /= sum(mention.weight for mention in linked.mentions) or 1
    selected = is_within(nodes, within)
    return Ranking.of(nodes[selected], totals[selected])


def paths(session: Session, linked: Linked) -> list[Path]:
    """Return the paths of one and two steps from the named nodes; if the question is just a name, also of none."""
    starts = [Path(0, n, (), np.array([n]), np.ones(1)) for n in linked.mentions[0].nodes] if linked.is_name else []
    firsts = [path for path in (_first(session, linked, *step) for step in _first_steps(session, linked)) if path]
    near = sorted(firsts, key=lambda path: len(path.nodes))
    onwards = ((path, move) for path in near for move in _moves(session, path.nodes))
    seconds = [_second(session, path, move) for path, move in islice(onwards, MAX_STEPS)]
    return [*starts, *firsts, *(path for path in seconds if path)]


def _first_steps(session: Session, linked: Linked) -> Iterator[tuple[int, int, Move]]:
    """Yield (mention, node, move) of first steps: for the first node of each name, then the second, and so on."""
    senses = zip_longest(*(mention.nodes for mention in linked.mentions))
    nodes = ((number, node) for sense in senses for number, node in enumerate(sense) if node is not None)
    steps = ((n, node, move) for n, node in nodes for move in session.moves(session.schema.type_of(node).name))
    return islice(steps, 10 * MAX_STEPS)


def _first(session: Session, linked: Linked, number: int, node: int, move: Move) -> Path | None:
    near = session.move(*move).neighbors(node)
    if not 0 < len(near) <= MAX_REACHED:
        return None
    weights = _weights(session, move, near, len(near)) / len(linked.mentions[number].nodes) ** 0.5
    return Path(number, node, (move,), near.astype(np.int64), weights)


def _second(session: Session, first: Path, move: Move) -> Path | None:
    csr = session.move(*move)
    start, count = csr.ranges(first.nodes.astype(np.int32))
    if not 0 < int(count.sum()) <= MAX_REACHED:
        return None
    reached = distinct(csr.expand(start, count))
    reached = reached[reached != first.start]
    if not len(reached):
        return None
    weights = SECOND_STEP * first.weights.max() * _weights(session, move, reached, len(reached))
    return Path(first.mention, first.start, (*first.moves, move), reached.astype(np.int64), weights)


def _weights(session: Session, move: Move, nodes: Ids, reached: int) -> NDArray[np.float64]:
    """Return the weights of the nodes that a move reaches: lower if it reaches many, or many moves reach a node."""
    relation, forward = move
    _, back = session.move(relation, not forward).ranges(nodes)
    weights: NDArray[np.float64] = 1 / (1 + DAMPING * np.log2(reached * np.maximum(back, 1)))
    return weights


def _moves(session: Session, nodes: NDArray[np.int64]) -> dict[Move, None]:
    """Return the moves from nodes of these primary types."""
    types = session.schema.node_types
    kinds = np.unique(np.searchsorted([t.last for t in types], nodes)).tolist()
    return dict.fromkeys(move for kind in kinds for move in session.moves(types[kind].name))
