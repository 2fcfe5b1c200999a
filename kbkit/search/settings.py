"""Settings of a search."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from kbkit.assets.arguments import check_range
from kbkit.errors import KbError, UnknownNameError
from kbkit.search.ranking import METHODS, RRF_K
from kbkit.search.system_kinds import KINDS, RETRIEVER, is_model, kind_of, parse_name
from kbkit.stores.arrays import Within
from kbkit.stores.text import Text

if TYPE_CHECKING:
    from kbkit.stores import Stores

AUTO = "auto"
"""The default of a single search: the best mode for the stores of the KB and for the query."""
LEARNED = "learned"
"""The mode of a ranking learned from examples, over the hits of :func:`base_mode`."""
MODES = tuple(kind.name for kind in KINDS if kind.role == RETRIEVER and not kind.opens and kind.name != LEARNED)
"""The search modes of the KB's own stores, without examples; a retriever with a model is a mode too, ``KIND:MODEL``."""
RETRIEVERS = ("bm25", "dense", "multivector")
"""The retrievers that mode ``hybrid`` can fuse."""
WEIGHTS: Mapping[str, Mapping[str, float]] = {
    "minmax": {"bm25": 1.0, "dense": 0.3},
    "rrf": {"bm25": 1.0, "dense": 1.0},
}
"""Default weights of the fused retrievers by method. The weight of ``dense`` is for the embedder that ships with kbkit,
which is weaker than full text: with 0.2 to 0.4, fusion is at least as good as both on all development sets.
"""
MAX_K = 1_000_000

Fields = str | Sequence[str] | Mapping[str, float | None]


class SearchOptions(TypedDict, total=False):
    """Options of a search, except mode, limit and filters.

    * ``fields``: fields for full text: a name, names, or ``{name: weight}`` (default: all, weighted by the recipe)
    * ``fusion``: ``minmax`` (scaled scores, the default) or ``rrf`` (reciprocal rank)
    * ``weights``: weight of each fused retriever (default: ``{"bm25": 1, "dense": 0.3}``; with ``rrf``, 1 each)
    * ``rrf_k``: constant of reciprocal rank fusion (default: 60)
    * ``depth``: minimum number of hits of each fused retriever (default: 100)
    * ``average``: in mode ``multivector``, the number of best chunks averaged to a document's score (default: 3; 1: the
      best one, 0: all)
    * ``chunk_depth``: in mode ``multivector``, the number of best hits of ``dense`` whose chunks are compared (default:
      0, all nodes; STaRK's code: 50)
    * ``quotes``: whether quoted words are required
    * ``rerank_depth``: minimum number of hits that are reranked (default: 20)
    * ``include_weak``: whether to return weak hits of a query none of whose words occurs in the KB (default: no)
    """

    fields: Fields
    fusion: str
    weights: Mapping[str, float]
    rrf_k: float
    depth: int
    average: int
    chunk_depth: int
    quotes: bool
    rerank_depth: int
    include_weak: bool


@dataclass(frozen=True)
class SearchSettings:
    """Validated mode and :class:`SearchOptions` of a search; ``fields`` and ``within`` are resolved."""

    mode: str = "hybrid"
    k: int = 20
    within: Within = None
    fields: Mapping[str, float] | None = None
    fusion: str = METHODS[0]
    weights: Mapping[str, float] | None = None
    rrf_k: float = RRF_K
    depth: int = 100
    average: int = 3
    chunk_depth: int = 0
    quotes: bool = True
    rerank_depth: int = 20
    include_weak: bool = False

    def __post_init__(self) -> None:
        if self.mode not in MODES and not is_model(self.mode):
            raise UnknownNameError("mode", self.mode, (AUTO, *known_modes()))
        if self.fusion not in METHODS:
            raise UnknownNameError("fusion", str(self.fusion), METHODS)
        for name, weight in self.leg_weights.items():
            if name not in RETRIEVERS:
                raise UnknownNameError("retriever", name, RETRIEVERS)
            if not 0 <= number(f"weight of {name}", weight) < float("inf"):
                raise KbError(f"Invalid weight of {name}: {weight:g}", "Use 0 or more")
        if not any(self.leg_weights.values()):
            raise KbError("All weights are 0", "Use a weight above 0 for at least one retriever, such as bm25=1")
        least = {"k": 1, "depth": 1, "average": 0, "chunk_depth": 0, "rerank_depth": 1, "rrf_k": 0}
        for name, minimum in least.items():
            check_range(name, number(name, getattr(self, name), integer=name != "rrf_k"), minimum, MAX_K)

    def changed(self, **values: Any) -> SearchSettings:
        """Return a copy with some values changed, which are not checked again: a query needs several copies."""
        copied = copy.copy(self)
        vars(copied).update(values)
        return copied

    @property
    def leg_weights(self) -> Mapping[str, float]:
        """The weight of each fused retriever: those given, or the defaults of the method."""
        return WEIGHTS[self.fusion] if self.weights is None else self.weights

    @property
    def retrievers(self) -> tuple[str, ...]:
        """The retrievers of the KB's own stores that the mode runs."""
        if self.mode in RETRIEVERS:
            return (self.mode,)
        if is_model(self.mode):
            return ()
        return tuple(name for name, weight in self.leg_weights.items() if weight)

    def uses(self, retriever: str) -> bool:
        """Return whether the mode runs a retriever."""
        return retriever in self.retrievers


def known_modes() -> tuple[str, ...]:
    """Return the modes, as a name of one begins: those of the KB's stores, and retrievers with a model."""
    return tuple(kind.form for kind in KINDS if kind.role == RETRIEVER)


def check_mode(name: str, kind: str = "mode") -> None:
    """Raise :class:`UnknownNameError` for an unknown mode, :class:`KbError` for invalid settings in its name."""
    if kind_of(name, RETRIEVER) is None:
        raise UnknownNameError(kind, name, known_modes())
    parse_name(name)


def needs(mode: str) -> tuple[str, ...]:
    """Return the stores that a mode needs."""
    kind = kind_of(mode, RETRIEVER)
    return () if kind is None else kind.needs


def missing_stores(stores: Stores, mode: str) -> list[str]:
    """Return the stores that a mode needs and that the KB does not have."""
    return [store for store in needs(mode) if not stores.has(store)]


def base_mode(stores: Stores) -> str:
    """Return the mode in which ``auto`` finds hits by their texts: the best for which the KB has the stores."""
    usable = (mode for mode in ("hybrid", "bm25", "dense") if not missing_stores(stores, mode))
    return next(usable, "hybrid")  # which says what to build


def number(name: str, value: object, *, integer: bool = False) -> float:
    """Return a value after checking that it is a number (an ``integer``); NaN is accepted, but fails any comparison."""
    kinds = (int, np.integer) if integer else (int, float, np.number)
    if not isinstance(value, kinds) or isinstance(value, bool):
        raise KbError(f"Invalid {name}: {value!r}", "Use an integer" if integer else "Use a number")
    return value  # type: ignore[return-value] # numpy's are numbers too


def field_weights(text: Text, fields: Fields) -> dict[str, float]:
    """Return the weights of index fields by name; fields without a weight have the recipe's."""
    known = text.fields
    requested = [fields] if isinstance(fields, str) else fields
    weights: dict[str, float] = {}
    for name, weight in (requested if isinstance(requested, Mapping) else dict.fromkeys(requested)).items():
        if name not in known:
            raise UnknownNameError("field", name, known)
        if weight is not None and not 0 < number(f"weight of field {name}", weight) < float("inf"):
            raise KbError(f"Invalid weight of field {name}: {weight:g}", "Use a number above 0")
        weights |= {part: text.weights[part] if weight is None else weight for part in known[name]}
    return weights
