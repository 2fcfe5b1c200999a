"""How to search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

import numpy as np

from kbkit.errors import KbError, UnknownNameError
from kbkit.search.ranking import METHODS, RRF_K
from kbkit.stores.arrays import Within
from kbkit.stores.text import Text

MODES = ("bm25", "dense", "multivector", "hybrid", "relational")
LEGS = ("bm25", "dense", "multivector")
"""The retrievers that ``hybrid`` can join."""
MAX_K = 1_000_000

Fields = str | Sequence[str] | Mapping[str, float | None]


class Options(TypedDict, total=False):
    """What a search may be told beside the mode.

    * ``fields``: the fields for full text, as a name, names or as ``{name: weight}``
    * ``fusion``: ``rrf`` (reciprocal rank, with ``rrf_k``, by default 60) or ``minmax``; ``weights`` of the legs, by
      default ``{"bm25": 1, "dense": 1}``; ``depth`` that they are fused to, at least, by default 100
    * ``average``: the best chunks whose mean is a document's score in mode ``multivector``, by default 3
    * ``quotes``: whether what stands between quotation marks must occur
    * ``rerank_depth``: hits that are reranked, at least, by default 20
    """

    fields: Fields
    fusion: str
    weights: Mapping[str, float]
    rrf_k: float
    depth: int
    average: int
    quotes: bool
    rerank_depth: int


@dataclass(frozen=True)
class Settings:
    """A search's mode and :class:`Options`, checked, ``fields`` and ``within`` as the stores know them."""

    mode: str = "hybrid"
    k: int = 20
    within: Within = None
    fields: Mapping[str, float] | None = None
    fusion: str = "rrf"
    weights: Mapping[str, float] = field(default_factory=lambda: {"bm25": 1.0, "dense": 1.0})
    rrf_k: float = RRF_K
    depth: int = 100
    average: int = 3
    quotes: bool = True
    rerank_depth: int = 20

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise UnknownNameError("mode", self.mode, MODES)
        if self.fusion not in METHODS:
            raise UnknownNameError("fusion", self.fusion, METHODS)
        for leg, weight in self.weights.items():
            if leg not in LEGS:
                raise UnknownNameError("leg", leg, LEGS)
            if not 0 <= number(f"the weight of {leg}", weight) < float("inf"):
                raise KbError(f"the weight of {leg} is {weight:g}", "it is 0 or more")
        if not any(self.weights.values()):
            raise KbError("all weights are 0", "give one leg a weight, e.g. bm25=1")
        for name, least in (("k", 1), ("depth", 1), ("average", 1), ("rerank_depth", 1), ("rrf_k", 0)):
            value = number(name, getattr(self, name), whole=name != "rrf_k")
            if not least <= value <= MAX_K:
                raise KbError(f"{name} is {value}", f"it is from {least} to {MAX_K:,}")

    @property
    def legs(self) -> tuple[str, ...]:
        """The retrievers that the mode runs."""
        if self.mode in LEGS:
            return (self.mode,)
        return tuple(leg for leg, weight in self.weights.items() if weight)

    def uses(self, leg: str) -> bool:
        """Whether the mode runs a retriever."""
        return leg in self.legs


def number(what: str, value: object, *, whole: bool = False) -> float:
    """The value, if it is a number (a ``whole`` one); NaN is one, and passes no comparison."""
    kinds = (int, np.integer) if whole else (int, float, np.number)
    if not isinstance(value, kinds) or isinstance(value, bool):
        raise KbError(f"{what} is {value!r}", "it is a whole number" if whole else "it is a number")
    return value  # type: ignore[return-value] # numpy's are numbers too


def field_weights(text: Text, fields: Fields) -> dict[str, float]:
    """The fields that a user names, as the index knows them; without a weight they weigh what the recipe says."""
    known = text.fields
    named = [fields] if isinstance(fields, str) else fields
    result: dict[str, float] = {}
    for name, weight in (named if isinstance(named, Mapping) else dict.fromkeys(named)).items():
        if name not in known:
            raise UnknownNameError("field", name, known)
        if weight is not None and not 0 < number(f"the weight of field {name}", weight) < float("inf"):
            raise KbError(f"the weight of field {name} is {weight:g}", "it is above 0")
        result |= {each: text.weights[each] if weight is None else weight for each in known[name]}
    return result
