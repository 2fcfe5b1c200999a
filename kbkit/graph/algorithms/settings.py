"""The parameters of the algorithms: dataclasses, from which command line, Python and help derive.

Every algorithm has ``relations`` and ``within``; one whose result depends on the direction of edges has ``direction``,
and one that can use weights has ``weight``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

from kbkit.assets.operations import Seed, Setting

DIRECTIONS = ("out", "in", "both")

Expression = str | Iterable[int]
"""An answer expression, an answer set, or ids."""

Direction = Annotated[
    str,
    Setting(
        "Direction of edges: out (from head to tail), in (from tail to head) or both.",
        values="DIRECTION",
        choices=DIRECTIONS,
    ),
]


@dataclass(frozen=True)
class Subgraph:
    """The part of the graph that an algorithm works on."""

    relations: Annotated[
        Sequence[str],
        Setting("Relation to follow (default: all).", values="RELATION", name="relation", noun="relation"),
    ] = ()
    within: Annotated[
        Expression | None,
        Setting(
            "Only nodes of an answer expression, and the edges between them (default: all nodes of the types that the"
            " relations join).",
            values="EXPR",
        ),
    ] = None


@dataclass(frozen=True)
class Directed(Subgraph):
    """A subgraph whose edges have a direction."""

    direction: Direction = "out"


@dataclass(frozen=True)
class Undirected(Subgraph):
    """A subgraph whose edges have no direction by default."""

    direction: Direction = "both"


@dataclass(frozen=True)
class Weighted(Subgraph):
    """A subgraph whose edges may have weights."""

    weight: Annotated[
        str | None,
        Setting(
            "Attribute of the edges with their weights (default: every edge has weight 1).",
            values="ATTRIBUTE",
            name="edge_weight",
        ),
    ] = None


@dataclass(frozen=True)
class DirectedWeighted(Weighted, Directed):
    """A subgraph whose edges have a direction, and may have weights."""


@dataclass(frozen=True)
class UndirectedWeighted(Weighted, Undirected):
    """A subgraph whose edges have no direction by default, and may have weights."""


@dataclass(frozen=True)
class PageRank(DirectedWeighted):
    """PageRank."""

    seeds: Annotated[
        Expression | None,
        Setting(
            "Personalized PageRank: the nodes that the random walk starts from and returns to (default: all).",
            values="EXPR",
        ),
    ] = None
    damping: Annotated[
        float, Setting("Probability of following an edge instead of returning.", values="FRACTION", least=0, most=1)
    ] = 0.85
    tolerance: Annotated[
        float, Setting("Stop when the ranks change by less than this in total.", values="N", least=1e-14, most=1)
    ] = 1e-6
    iterations: Annotated[int, Setting("Maximum number of iterations.", values="N", least=1)] = 100


@dataclass(frozen=True)
class Communities(UndirectedWeighted):
    """Louvain and Leiden."""

    method: Annotated[str, Setting("Method: louvain or leiden.", values="METHOD", choices=("louvain", "leiden"))] = (
        "louvain"
    )
    resolution: Annotated[
        float, Setting("Resolution: higher values give more and smaller communities.", values="N", least=0)
    ] = 1.0
    seed: Seed = 0


@dataclass(frozen=True)
class Sampled(Undirected):
    """Centralities that are computed from some of the nodes."""

    samples: Annotated[
        int | None,
        Setting("Number of nodes to compute shortest paths from, drawn at random (default: all).", values="N", least=1),
    ] = None
    seed: Seed = 0


PairScore = Annotated[
    str,
    Setting(
        "Score of a pair: jaccard, adamic-adar or common (number of shared neighbours).",
        values="NAME",
        choices=("jaccard", "adamic-adar", "common"),
    ),
]


@dataclass(frozen=True)
class Similarity(Undirected):
    """Pairs of nodes that share neighbours."""

    score: PairScore = "jaccard"
    of: Annotated[str | int | None, Setting("Only pairs with this node (default: all pairs).", values="NODE")] = None
    pairs: Annotated[int, Setting("Maximum number of pairs.", values="N", least=1)] = 100


@dataclass(frozen=True)
class LinkPrediction(Similarity):
    """Pairs of nodes that share neighbours and are not linked."""

    score: PairScore = "adamic-adar"


@dataclass(frozen=True)
class SpanningTree(Weighted):
    """Spanning trees."""

    heaviest: Annotated[bool, Setting("Maximize the weights instead of minimizing them.")] = False


@dataclass(frozen=True)
class Cycles(Subgraph):
    """Cycles."""

    cycles: Annotated[int, Setting("Maximum number of cycles.", values="N", least=1)] = 10


@dataclass(frozen=True, kw_only=True)
class ShortestPaths(UndirectedWeighted):
    """Paths of the least weight between two nodes."""

    start: Annotated[str | int, Setting("Node to start from.", values="NODE")]
    end: Annotated[str | int, Setting("Node to end at.", values="NODE")]
    paths: Annotated[int, Setting("Maximum number of paths, the shortest first.", values="N", least=1)] = 1


@dataclass(frozen=True, kw_only=True)
class Distances(UndirectedWeighted):
    """Distances from a node."""

    start: Annotated[str | int, Setting("Node to start from.", values="NODE")]
