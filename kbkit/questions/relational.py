"""Retrieval by words and relations: candidates that the graph joins to the nodes which the question names rise.

Each named node gives to what it reaches in one or two steps along the schema, less where a step leads to many, because
a common connection says little. What a candidate gets from all names is added to what its text scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, zip_longest

import numpy as np
from numpy.typing import NDArray

from kbkit.answers.session import Move, Session
from kbkit.questions.link import Linked, link
from kbkit.search.ranking import EMPTY, Ranked, Ranking, fuse, scaled
from kbkit.search.retrievers import Asked, legs
from kbkit.search.settings import Settings
from kbkit.stores.adjacency import Ids
from kbkit.stores.arrays import Within, distinct, is_within
from kbkit.stores.threads import parallel

CANDIDATES = 1_000
"""The best connected nodes whose text is scored too."""
WEIGHT = 3.0
"""What the connections weigh beside the text. This and the next three were chosen on questions about imdb that name
directors and actors, and on known items of imdb, wn18rr and world, which should not suffer."""
POWER = 2
DAMPING = 0.1
"""How fast a connection tells less as it becomes common."""
SECOND_STEP = 0.3
"""What a connection over two steps is worth of one."""
OTHER_TYPE = 0.5
"""What the score of a candidate is worth that is of none of the types which the question names."""
WIDEST = 100_000
"""Nodes that one step may lead to; a wider one tells nothing, and takes time."""
MOST_STEPS = 2_000
"""Second steps tried for one question, those from the fewest nodes first, and a tenth of the first ones tried: schemas
may have thousands of relations."""


@dataclass(frozen=True)
class Path:
    """What one named node reaches by one or two moves, or by none where the question is but its name.

    ``weights`` holds what each of the ``nodes`` (sorted) is told, from 0 to 1.
    """

    mention: int
    start: int
    moves: tuple[Move, ...]
    nodes: NDArray[np.int64]
    weights: NDArray[np.float64]


def relational(session: Session, asked: Asked, settings: Settings, texts: Sequence[Ranked]) -> list[Ranked]:
    """Rank each query by its text (the hybrid ranking ``texts``) and by what the graph joins to the nodes it names."""
    pairs = list(zip(asked.one_by_one(), texts, strict=True))
    return list(parallel(lambda pair: _ranked(session, pair[0], settings, pair[1]), pairs))


def _ranked(session: Session, asked: Asked, settings: Settings, text: Ranked) -> Ranked:
    linked = link(session, asked.queries[0].text)
    connected = connections(session, linked, settings.within)
    if not len(connected.ids):
        return Ranked(text.ranking, {**text.parts, "relational": EMPTY})
    best = connected.cut(max(CANDIDATES, settings.k))
    ids = distinct(np.concatenate([best.ids, *(part.ids for part in text.parts.values())]))
    found = legs(session.stores, asked, replace(settings, within=ids))
    parts = {name: leg(len(ids))[0] for name, leg in found.items()}
    weights = [settings.weights[name] for name in parts]
    # By scores, not ranks: texts that score alike must not be told apart by their ids.
    fused = fuse(list(parts.values()), weights, len(ids), "minmax")
    scores = np.nan_to_num(Ranking(fused.ids, scaled(fused.scores)).score_of(ids))
    scores += WEIGHT * np.nan_to_num(connected.score_of(ids)) ** POWER
    scores *= _asked_for(session, linked, ids)
    return Ranked(Ranking.of(ids, scores, settings.k), {**parts, "relational": connected})


def _asked_for(session: Session, linked: Linked, ids: NDArray[np.int64]) -> NDArray[np.float64]:
    """A factor for each node: 1 where it is of a type that the question names, or where it names none."""
    if not linked.types:
        return np.ones(len(ids))
    named = np.any([session.has_type(ids.astype(np.int32), name) for name in linked.types], axis=0)
    return np.where(named, 1.0, OTHER_TYPE)


def connections(session: Session, linked: Linked, within: Within) -> Ranking:
    """All nodes (of ``within``) that what the question names reaches, and how much of it does, from 0 to 1.

    Of each name the best path counts; names weigh what they tell.
    """
    ids, scores = [EMPTY.ids], [EMPTY.scores]
    found = paths(session, linked)
    for number in range(len(linked.mentions)):
        own = [path for path in found if path.mention == number]
        if own:
            nodes = np.concatenate([path.nodes for path in own])
            weights = np.concatenate([path.weights for path in own])
            order = np.lexsort((-weights, nodes))
            distinct, first = np.unique(nodes[order], return_index=True)
            ids.append(distinct)
            scores.append(linked.mentions[number].weight * weights[order][first])
    nodes, inverse = np.unique(np.concatenate(ids), return_inverse=True)
    totals = np.bincount(inverse, np.concatenate(scores), len(nodes)).astype(np.float64)
    totals /= sum(mention.weight for mention in linked.mentions) or 1
    kept = is_within(nodes, within)
    return Ranking.of(nodes[kept], totals[kept])


def paths(session: Session, linked: Linked) -> list[Path]:
    """Where the named nodes lead in one step, and from there in another; a question that is but a name asks for it."""
    named = [Path(0, n, (), np.array([n]), np.ones(1)) for n in linked.mentions[0].nodes] if linked.whole else []
    firsts = [path for path in (_first(session, linked, *step) for step in _first_steps(session, linked)) if path]
    near = sorted(firsts, key=lambda path: len(path.nodes))
    onwards = ((path, move) for path in near for move in _moves(session, path.nodes))
    seconds = [_second(session, path, move) for path, move in islice(onwards, MOST_STEPS)]
    return [*named, *firsts, *(path for path in seconds if path)]


def _first_steps(session: Session, linked: Linked) -> Iterator[tuple[int, int, Move]]:
    """Names, nodes and moves to begin with: the first node of each name, then the second of each, and so on."""
    senses = zip_longest(*(mention.nodes for mention in linked.mentions))
    nodes = ((number, node) for sense in senses for number, node in enumerate(sense) if node is not None)
    steps = ((n, node, move) for n, node in nodes for move in session.moves(session.schema.type_of(node).name))
    return islice(steps, 10 * MOST_STEPS)


def _first(session: Session, linked: Linked, number: int, node: int, move: Move) -> Path | None:
    near = session.move(*move).neighbors(node)
    if not 0 < len(near) <= WIDEST:
        return None
    told = _told(session, move, near, len(near)) / len(linked.mentions[number].nodes) ** 0.5
    return Path(number, node, (move,), near.astype(np.int64), told)


def _second(session: Session, first: Path, move: Move) -> Path | None:
    csr = session.move(*move)
    start, count = csr.ranges(first.nodes.astype(np.int32))
    if not 0 < int(count.sum()) <= WIDEST:
        return None
    reached = distinct(csr.expand(start, count))
    reached = reached[reached != first.start]
    if not len(reached):
        return None
    told = SECOND_STEP * first.weights.max() * _told(session, move, reached, len(reached))
    return Path(first.mention, first.start, (*first.moves, move), reached.astype(np.int64), told)


def _told(session: Session, move: Move, nodes: Ids, reached: int) -> NDArray[np.float64]:
    """What each of the nodes that a move leads to is told: less where it leads to many, and where many lead there."""
    relation, forward = move
    _, back = session.move(relation, not forward).ranges(nodes)
    told: NDArray[np.float64] = 1 / (1 + DAMPING * np.log2(reached * np.maximum(back, 1)))
    return told


def _moves(session: Session, nodes: NDArray[np.int64]) -> dict[Move, None]:
    """The moves that lead on from some nodes, by their primary types."""
    types = session.schema.node_types
    kinds = np.unique(np.searchsorted([t.last for t in types], nodes)).tolist()
    return dict.fromkeys(move for kind in kinds for move in session.moves(types[kind].name))
