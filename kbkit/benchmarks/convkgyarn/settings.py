"""The settings of a run, and how their bounds are checked."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from kbkit.assets.arguments import check_range
from kbkit.errors import KbError, UnknownNameError

CONFIGURATIONS = {
    "voice": ("voice", False, False, False),
    "voice-deixis": ("voice", True, False, False),
    "voice-disfluencies": ("voice", False, True, False),
    "voice-deixis-disfluencies": ("voice", True, True, False),
    "text": ("text", False, False, False),
    "text-deixis": ("text", True, False, False),
    "text-typos": ("text", False, False, True),
    "text-deixis-typos": ("text", True, False, True),
}
"""Interaction, deixis, disfluencies, typos of each configuration."""


@dataclass(frozen=True)
class ConvSettings:
    """What a dataset depends on.

    * ``count``: number of groups; each has one conversation in every one of ``configurations``
    * ``types``: the entities' types (empty: all types with enough predicates)
    * ``turns``, ``min_turns``: number of turns, and how few an entity must allow
    * ``related``: types whose popular entities get a related entity; ``min_degree``: edges of a popular entity
    * ``max_answers``: facts with more answers are skipped
    * ``min_coverage``: fraction of a type's entities that must have a predicate
    """

    count: int = 100
    seed: int = 0
    types: tuple[str, ...] = ()
    configurations: tuple[str, ...] = tuple(CONFIGURATIONS)
    turns: int = 5
    min_turns: int = 2
    related: tuple[str, ...] = ()
    min_degree: int = 10
    max_answers: int = 20
    min_coverage: float = 0.02

    def check(self) -> None:
        """Raise :class:`KbError` for invalid values."""
        check_range("seed", self.seed, 0)
        for name in ("count", "min_turns", "max_answers"):
            check_range(name, getattr(self, name))
        check_range("turns", self.turns, self.min_turns)
        check_range("min_degree", self.min_degree, 0)
        for name in self.configurations:
            if name not in CONFIGURATIONS:
                raise UnknownNameError("configuration", name, CONFIGURATIONS)
        if not self.configurations or len(set(self.configurations)) < len(self.configurations):
            raise KbError("Configurations must be distinct", "Name each one once")
        if not 0 <= self.min_coverage <= 1:
            raise KbError(f"Invalid min_coverage: {self.min_coverage:g}", "Use a fraction from 0 to 1")

    def about(self) -> dict[str, Any]:
        """Return the settings as JSON data."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in dataclasses.asdict(self).items()}
