"""Run an algorithm by name; its values with the names of the nodes, and as an attribute of the KB."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING
from typing import TYPE_CHECKING, Any

import numpy as np

from kbkit.assets import operations
from kbkit.errors import BadInputError
from kbkit.graph.algorithms.network import Network
from kbkit.graph.algorithms.table import ALGORITHMS, Algorithm, algorithm
from kbkit.stores import Stores

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from kbkit.display.progress import Listener


def run(stores: Stores, chosen: Algorithm, settings: Any) -> pl.DataFrame:
    """Run an algorithm with its settings.

    Returns id, key, type, name, value of the nodes, sorted by value and id; or the table of edges that the algorithm
    describes.
    """
    import polars as pl

    operations.check_settings(settings)
    network = Network(stores, settings, chosen.direction)
    found = chosen.run(network, settings)
    if chosen.gives_edges:
        frame: pl.DataFrame = found
        return frame
    values = np.asarray(found)
    order = np.argsort(values if chosen.ascending else -values, kind="stable")
    kind = pl.Int64 if chosen.integer else pl.Float64
    return stores.nodes.rows_of(network.nodes[order]).with_columns(
        pl.Series("value", values[order], nan_to_null=True).cast(kind)
    )


def save(
    stores: Stores, chosen: Algorithm, frame: pl.DataFrame, name: str = "", listener: Listener | None = None
) -> Path:
    """Save the values of :func:`run` as an attribute of the nodes, in a new generation; return its folder."""
    if chosen.gives_edges:
        raise BadInputError(f"The result of {chosen.name} is a table of edges, which cannot be saved as an attribute")
    from kbkit.ingestion.attributes import save_attribute

    kind = "BIGINT" if chosen.integer else "DOUBLE"
    return save_attribute(
        stores, name or chosen.attribute, kind, frame.select("id", "value"), f"graph {chosen.name}", listener
    )


class GraphAlgorithms:
    """The algorithms as methods: ``kb.graph.pagerank(relations=["cites"])``.

    Each returns a Polars frame: id, key, type, name, value, or a table of edges. ``relations``, ``direction``,
    ``weight`` and ``within`` choose the part of the graph. ``save=True`` (or a name) also saves the values as an
    attribute, in a new generation of the KB: open the KB again to use it. ``help(kb.graph.pagerank)`` lists the
    arguments.
    """

    def __init__(self, stores: Stores) -> None:
        self._stores = stores

    def __dir__(self) -> list[str]:
        return [one.attribute for one in ALGORITHMS]

    def __getattr__(self, name: str) -> Callable[..., pl.DataFrame]:
        if name.startswith("_"):
            raise AttributeError(name)
        return _method(self._stores, algorithm(name))

    def __repr__(self) -> str:
        return f"<GraphAlgorithms: {', '.join(dir(self))}>"


def _method(stores: Stores, chosen: Algorithm) -> Callable[..., pl.DataFrame]:
    """Return an algorithm as a function of its settings."""
    fields = chosen.parameters
    names = [field.name for field in fields]

    def call(*, save: bool | str = False, **given: Any) -> pl.DataFrame:
        _check_names(chosen, given, names)
        frame = run(stores, chosen, operations.build(chosen.settings, given))
        if save:
            _save(stores, chosen, frame, "" if save is True else save)
        return frame

    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter(f.name, keyword, default=inspect.Parameter.empty if f.default is MISSING else f.default)
        for f in fields
    ]
    parameters.append(inspect.Parameter("save", keyword, default=False))
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__name__ = call.__qualname__ = chosen.attribute
    call.__doc__ = _described(chosen)
    return call


_save = save


def _check_names(chosen: Algorithm, given: Mapping[str, Any], names: list[str]) -> None:
    for name in given:
        if name not in names:
            raise TypeError(f"{chosen.attribute}() has no argument {name!r}; it has {', '.join([*names, 'save'])}")
    for field in chosen.parameters:
        if field.required and field.name not in given:
            raise TypeError(f"{chosen.attribute}() needs the argument {field.name!r}")


@functools.cache
def _described(chosen: Algorithm) -> str:
    lines = [f"{chosen.summary} {chosen.note}".strip(), "", f"Value: {chosen.value}.", ""]
    lines += [f"{f.name}: {f.about.help}" for f in chosen.parameters]
    lines += ["save: Save the values as an attribute (True, or its name) in a new generation."]
    return "\n".join(lines)
