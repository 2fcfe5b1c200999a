"""The settings of a run, and how their bounds are checked."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Annotated, Any

from kbkit.assets.operations import Seed, Setting, check_settings
from kbkit.benchmarks.duplicates import Alike
from kbkit.benchmarks.left_out import LeaveOut, left_out_words
from kbkit.errors import BadInputError, KbError, Option

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


_MIN_TURNS = 4


@dataclass(frozen=True)
class ConvSettings:
    """What a dataset depends on.

    * ``count``: number of groups; each has one conversation in every one of ``configurations``
    * ``types``: the entities' types (empty: all types with enough predicates)
    * ``turns``, ``min_turns``: number of turns, and how few an entity must allow
    * ``related``: types whose popular entities get a related entity; ``min_degree``: edges of a popular entity
    * ``max_answers``: facts with more answers are skipped
    * ``min_coverage``: fraction of a type's entities that must have a predicate
    * ``leave_out``: list of words (:mod:`kbkit.benchmarks.left_out`) that no text may contain
    * ``alike``: number of conversations that ask for the same predicates (:class:`Spread`)
    """

    count: Annotated[int, Setting("Number of conversations in each configuration.", least=1)] = 100
    seed: Seed = 0
    types: Annotated[tuple[str, ...], Setting("Type of the entities (default: all types).", values="TYPE")] = ()
    configurations: Annotated[
        tuple[str, ...],
        Setting(
            "voice or text, with -deixis, -disfluencies, -typos (default: all eight).",
            values="NAME",
            choices=tuple(CONFIGURATIONS),
            name="configuration",
            noun="configuration",
        ),
    ] = tuple(CONFIGURATIONS)
    turns: Annotated[int, Setting("Maximum number of turns.")] = 5
    min_turns: Annotated[int, Setting("Minimum number of turns, at most that of --turns.", least=1)] = _MIN_TURNS
    related: Annotated[
        tuple[str, ...], Setting("Type whose popular entities get a related entity.", values="TYPE")
    ] = ()
    min_degree: Annotated[int, Setting("Minimum number of edges of a popular entity.", least=0, rare=True)] = 10
    max_answers: Annotated[int, Setting("Maximum number of answers per query.", least=1)] = 6
    min_coverage: Annotated[
        float,
        Setting("Minimum fraction of a type that has a predicate.", values="FRACTION", least=0, most=1, rare=True),
    ] = 0.02
    leave_out: LeaveOut = ""
    alike: Alike | None = None

    def __post_init__(self) -> None:
        check_settings(self)
        left_out_words(self.leave_out)
        if 1 < self.turns < self.min_turns == _MIN_TURNS:
            object.__setattr__(self, "min_turns", self.turns)  # --turns 3 alone
        if self.turns < self.min_turns:
            raise BadInputError(
                f"Invalid turns: {self.turns}", f"Use {self.min_turns} or more, or a smaller ", Option("min_turns")
            )
        if not self.configurations or len(set(self.configurations)) < len(self.configurations):
            raise KbError("Configurations must be distinct", "Name each one once")

    def about(self) -> dict[str, Any]:
        """Return the settings as JSON data."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in dataclasses.asdict(self).items()}
