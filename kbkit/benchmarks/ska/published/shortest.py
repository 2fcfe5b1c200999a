"""Positive triples of a question with a subgraph: all shortest paths from the entities it names to its answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

MAX_HOPS = 4
"""Hops of the subgraphs (section 3.2.1 of the paper)."""
NO_TOPIC = "the subgraph does not contain an entity that the question names"
NO_PATH = f"an answer is not reached within {MAX_HOPS} hops"
TOO_MANY = "more than {} triples are on the shortest paths"
_MOST = 40
"""Greatest number of positive triples."""
Triple = tuple[str, str, str]


def positive(graph: Sequence[Triple], topics: Sequence[str], answers: Sequence[str]) -> list[Triple] | str:
    """Return the triples of all shortest paths of up to 4 hops, in the order of ``graph``, or why there are none.

    Triples are followed in both directions. From each topic all nearest answers are reached; every answer must be
    reached from at least one topic, every topic in the graph must reach an answer, and at most 40 triples are
    positive.
    """
    triples = list(dict.fromkeys(graph))
    around: dict[str, list[int]] = defaultdict(list)
    for number, (head, _, tail) in enumerate(triples):
        around[head].append(number)
        around[tail].append(number)
    known = [topic for topic in dict.fromkeys(topics) if topic in around]
    wanted = set(answers) - set(topics)
    if not known:
        return NO_TOPIC
    chosen: set[int] = set()
    reached: set[str] = set()
    for topic in known:
        distances = _distances(triples, around, topic)
        for answer in wanted & distances.keys():
            reached.add(answer)
            chosen |= _back(triples, around, distances, answer)
    if not wanted or reached != wanted:
        return NO_PATH
    if len(chosen) > _MOST:
        return TOO_MANY.format(_MOST)
    return [triples[number] for number in sorted(chosen)]


def _distances(triples: Sequence[Triple], around: dict[str, list[int]], start: str) -> dict[str, int]:
    """Return the distance of each entity within 4 hops of ``start``."""
    distances = {start: 0}
    ring: Iterable[str] = [start]
    for distance in range(1, MAX_HOPS + 1):
        following = []
        for entity in ring:
            for number in around[entity]:
                head, _, tail = triples[number]
                other = tail if head == entity else head
                if other not in distances:
                    distances[other] = distance
                    following.append(other)
        ring = following
    return distances


def _back(triples: Sequence[Triple], around: dict[str, list[int]], distances: dict[str, int], end: str) -> set[int]:
    """Return the triples on the shortest paths to ``end``."""
    chosen: set[int] = set()
    seen = {end}
    ring = [end]
    while ring:
        entity = ring.pop()
        for number in around[entity]:
            head, _, tail = triples[number]
            other = tail if head == entity else head
            if distances.get(other, MAX_HOPS + 1) == distances[entity] - 1:
                chosen.add(number)
                if other not in seen:
                    seen.add(other)
                    ring.append(other)
    return chosen
