"""The algorithms as data: command line, Python and help derive from this table."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, cast

from kbkit.assets.operations import SettingField, described
from kbkit.errors import UnknownNameError
from kbkit.graph.algorithms import settings as s


@dataclass(frozen=True)
class Algorithm:
    """An algorithm: its name, a summary, the dataclass of its settings, and what it returns.

    ``function`` is ``module:name`` in this package; it is called with a network and the settings. The result is a value
    for each node, described by ``value`` (``edges``: a table of edges instead). Nodes are sorted by it, from the
    greatest (``ascending``: from the least). ``note`` is a second sentence of the help. ``direction`` is that of the
    edges, if it is no setting.
    """

    name: str
    function: str
    settings: type[s.Subgraph]
    summary: str
    value: str
    note: str = ""
    integer: bool = False
    ascending: bool = False
    direction: str = "both"

    @property
    def gives_edges(self) -> bool:
        """Whether the result is a table of edges."""
        return self.value == "edges"

    @property
    def attribute(self) -> str:
        """The default name of the attribute that values are saved as."""
        return self.name.replace("-", "_")

    @property
    def parameters(self) -> tuple[SettingField, ...]:
        """The described fields of the settings."""
        return described(cast(Hashable, self.settings))

    @property
    def run(self) -> Callable[[Any, Any], Any]:
        """The function; its module is imported now."""
        module, _, name = self.function.partition(":")
        function: Callable[[Any, Any], Any] = getattr(importlib.import_module(f"kbkit.graph.algorithms.{module}"), name)
        return function


ALGORITHMS: tuple[Algorithm, ...] = (
    Algorithm(
        "pagerank",
        "ranks:pagerank",
        s.PageRank,
        "Rank nodes by PageRank.",
        "probability that a random walk is at the node; all add up to 1",
        "--seeds EXPR gives personalized PageRank.",
    ),
    Algorithm(
        "degree",
        "ranks:degree",
        s.UndirectedWeighted,
        "Count the edges of nodes.",
        "number of edges, or the sum of their weights",
    ),
    Algorithm(
        "betweenness",
        "centrality:betweenness",
        s.Sampled,
        "Find nodes that shortest paths lead through.",
        "fraction of the shortest paths between two other nodes that lead through the node",
        "Takes a search of the graph for each node: use --samples for a large graph.",
    ),
    Algorithm(
        "closeness",
        "centrality:closeness",
        s.Sampled,
        "Find nodes that are near all others.",
        "fraction of the other nodes that the node reaches, divided by their mean distance",
        "Takes a search of the graph for each node: use --samples for a large graph.",
    ),
    Algorithm(
        "components",
        "components:components",
        s.Subgraph,
        "Find connected components.",
        "number of the component; 0 is the largest",
        "The direction of edges is ignored.",
        integer=True,
        ascending=True,
    ),
    Algorithm(
        "strong-components",
        "components:strong_components",
        s.Subgraph,
        "Find strongly connected components.",
        "number of the component; 0 is the largest",
        integer=True,
        ascending=True,
        direction="out",
    ),
    Algorithm(
        "k-core",
        "components:cores",
        s.Subgraph,
        "Find densely connected nodes.",
        "largest k such that the node is in a subgraph whose nodes have k neighbours or more",
        integer=True,
    ),
    Algorithm(
        "communities",
        "communities:communities",
        s.Communities,
        "Find communities (Louvain, Leiden).",
        "number of the community; 0 is the largest",
        "Needs scikit-network (extra graph).",
        integer=True,
        ascending=True,
    ),
    Algorithm(
        "triangles",
        "triangles:triangles",
        s.Subgraph,
        "Count the triangles of nodes.",
        "number of triangles that the node is a corner of",
        integer=True,
    ),
    Algorithm(
        "clustering",
        "triangles:clustering",
        s.Subgraph,
        "Measure how connected neighbours are.",
        "fraction of the pairs of the node's neighbours that are joined",
    ),
    Algorithm(
        "similarity",
        "pairs:similarity",
        s.Similarity,
        "Find nodes with similar neighbours.",
        "edges",
        "Lists pairs of nodes, the most similar first.",
    ),
    Algorithm(
        "link-prediction",
        "pairs:link_prediction",
        s.LinkPrediction,
        "Find pairs of nodes that may be linked.",
        "edges",
        "Lists pairs of nodes with shared neighbours and without an edge, the most similar first.",
    ),
    Algorithm(
        "shortest-paths",
        "routes:shortest_paths",
        s.ShortestPaths,
        "Find the shortest paths by weight.",
        "edges",
        "Lists the edges of one path or more (--paths), the shortest first; longer ones follow. To list all shortest"
        " paths without weights: kbkit path.",
    ),
    Algorithm(
        "distances",
        "routes:distances",
        s.Distances,
        "Measure the distances from a node.",
        "least weight of a path from the node; missing if there is none",
        ascending=True,
    ),
    Algorithm(
        "spanning-tree",
        "trees:spanning_tree",
        s.SpanningTree,
        "Find a minimum spanning tree.",
        "edges",
        "Lists its edges, the lightest first; a tree for each connected component.",
    ),
    Algorithm(
        "topological-order",
        "orders:topological_order",
        s.Directed,
        "Sort nodes so that edges lead forward.",
        "level: 0 without incoming edges, else one more than the highest level of a node before it",
        "A cycle is an error.",
        integer=True,
        ascending=True,
    ),
    Algorithm(
        "cycles",
        "orders:cycles",
        s.Cycles,
        "Find cycles.",
        "edges",
        "Lists their edges, the shortest cycle first; one cycle through each node, if there are enough.",
        direction="out",
    ),
)


def algorithm(name: str) -> Algorithm:
    """Return the algorithm with a name; ``_`` stands for ``-``. Raises :class:`UnknownNameError`."""
    wanted = name.replace("_", "-")
    found = {one.name: one for one in ALGORITHMS}
    if wanted not in found:
        raise UnknownNameError("algorithm", name, list(found))
    return found[wanted]
