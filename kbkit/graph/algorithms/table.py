"""The algorithms as data: command line, Python and help derive from this table."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kbkit.errors import UnknownNameError
from kbkit.graph.algorithms import settings as s


@dataclass(frozen=True)
class Algorithm:
    """An algorithm: its name, a summary, the dataclass of its settings, and what it returns.

    ``function`` is ``module:name`` in this package; it is called with a network and the settings. The result is a value
    for each node, described by ``value`` (``edges`` instead: a table of edges). Numbers are sorted from the greatest
    (``ascending``: from the least). ``note`` is a second sentence of the help.
    """

    name: str
    function: str
    settings: type[s.View]
    summary: str
    value: str
    note: str = ""
    integer: bool = False
    ascending: bool = False

    @property
    def gives_edges(self) -> bool:
        """Whether the result is a table of edges."""
        return self.value == "edges"

    @property
    def attribute(self) -> str:
        """The default name of the attribute that values are saved as."""
        return self.name.replace("-", "_")

    @property
    def run(self) -> Callable[[Any, Any], Any]:
        """The function; its module is imported now."""
        module, _, name = self.function.partition(":")
        function: Callable[[Any, Any], Any] = getattr(
            importlib.import_module(f"kbkit.graph.algorithms.{module}"), name
        )
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
)


def algorithm(name: str) -> Algorithm:
    """Return the algorithm with a name; ``_`` stands for ``-``. Raises :class:`UnknownNameError`."""
    wanted = name.replace("_", "-")
    found = {one.name: one for one in ALGORITHMS}
    if wanted not in found:
        raise UnknownNameError("algorithm", name, list(found))
    return found[wanted]
