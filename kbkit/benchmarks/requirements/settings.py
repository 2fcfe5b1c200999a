"""The settings of a generated STaRK dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kbkit.answers.sample_sets import WEIGHTS
from kbkit.answers.templates import Template
from kbkit.assets.arguments import check_range
from kbkit.benchmarks.dataset import check_fractions
from kbkit.benchmarks.requirements.answer_counts import LIKE, Target
from kbkit.errors import KbError, UnknownNameError
from kbkit.schema import Role

NAME_TEXT = "name"
"""The value of ``text`` for KBs whose nodes have no text but their name."""
_MAX_PROPERTIES = 20
_CANDIDATES = 50
_CANDIDATES_PER_ANSWER = 3


@dataclass(frozen=True)
class StarkSettings:
    """Settings of a generated dataset.

    ``templates``: as in :func:`relational.templates`. ``roles``: replace those of the KB. ``max_properties``: each
    query has 1 to that many. ``max_candidates`` and ``min_candidates``: number of nodes that satisfy the relations
    alone. ``target``: the numbers of answers to aim at, without a model (None: those of the catalogue's dataset, or of
    STaRK-MAG). ``max_answers`` and ``max_candidates`` (None): as the target needs them, at least 20 and 50.
    ``relations_only``: fraction of queries without properties (None: only where no properties leave about as many
    answers as wanted). ``text``: ``name`` if the names of the nodes are their
    texts. ``fractions``: of train, val and test (empty: the paper's).
    """

    count: int
    seed: int = 0
    templates: tuple[str, ...] = ()
    roles: tuple[Role, ...] = ()
    max_properties: int = 2
    max_candidates: int | None = None
    min_candidates: int = 2
    max_answers: int | None = None
    weight: str = "uniform"
    target: Target | None = None
    relations_only: float | None = None
    text: str = ""
    fractions: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        check_range("number of queries", self.count)
        check_range("number of properties", self.max_properties)
        check_range("minimum number of candidates", self.min_candidates)
        check_range("seed", self.seed, 0)
        if self.max_answers is not None:
            check_range("maximum number of answers", self.max_answers)
        if self.max_properties > _MAX_PROPERTIES:
            raise KbError(f"Invalid number of properties: {self.max_properties}", f"The maximum is {_MAX_PROPERTIES}")
        if self.weight not in WEIGHTS:
            raise UnknownNameError("weight", self.weight, WEIGHTS)
        if self.max_candidates is not None and self.max_candidates < self.min_candidates:
            message = f"Invalid number of candidates: {self.min_candidates} to {self.max_candidates}"
            raise KbError(message, "Use a maximum that is not below the minimum")
        if self.relations_only is not None and not 0 <= self.relations_only <= 1:
            raise KbError(f"Invalid fraction of queries without properties: {self.relations_only:g}", "Use 0 to 1")
        if self.text not in ("", NAME_TEXT):
            raise UnknownNameError("text", self.text, (NAME_TEXT,))
        if self.fractions:
            check_fractions(self.fractions)


def complete_settings(settings: StarkSettings, chosen: Sequence[Template]) -> StarkSettings:
    """Return the settings with a target, and with the maximum numbers that it needs."""
    catalogues = {template.id.split("/")[0] for template in chosen}
    target = settings.target or (LIKE.get(catalogues.pop(), LIKE["mag"]) if len(catalogues) == 1 else LIKE["mag"])
    most = settings.max_answers or target.max_answers
    candidates = settings.max_candidates or max(_CANDIDATES, _CANDIDATES_PER_ANSWER * most, settings.min_candidates)
    return replace(settings, target=target, max_answers=most, max_candidates=candidates)
