"""What is asked of groundings that are drawn: how many, how many answers each, what the sides of operations meet."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from kbkit.errors import KbError, UnknownNameError

WEIGHTS = ("uniform", "popular")


@dataclass(frozen=True)
class Constraints:
    """What the sides of a set operation must meet (QUEST, section 3.2 and appendix B), at every operation of a
    template. The paper's bound on the right side of a difference is illegible; 1000 is ours.
    """

    intersection_sides_over: int = 50
    difference_sides_over: int = 50
    difference_left_under: int = 200
    difference_right_under: int = 1000
    difference_overlap_at_most: float = 0.8
    union_sides_from: int = 3
    union_overlap_under: float = 1 / 3

    def allow(self, op: str, left: Any, right: Any, common: Any) -> Any:
        """A mask of the pairs of sets that ``op`` may join: sizes of both sides, and of what they have in common."""
        if op == "&":
            return (left > self.intersection_sides_over) & (right > self.intersection_sides_over)
        if op == "|":
            union = left + right - common
            sides = (left >= self.union_sides_from) & (right >= self.union_sides_from)
            return sides & (common < self.union_overlap_under * union)
        sides = (left > self.difference_sides_over) & (right > self.difference_sides_over)
        sides &= (left < self.difference_left_under) & (right < self.difference_right_under)
        return sides & (common <= self.difference_overlap_at_most * left)

    @staticmethod
    def of(options: dict[str, float]) -> Constraints:
        """The defaults with some changed; raises :class:`UnknownNameError`."""
        known = [f.name for f in fields(Constraints)]
        for name in options:
            if name not in known:
                raise UnknownNameError("constraint", name, known)
        return Constraints(**options)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Request:
    """How many groundings of which kind."""

    count: int
    seed: int = 0
    min_answers: int = 1
    max_answers: int = 20
    weight: str = "uniform"
    constraints: Constraints | None = None

    def __post_init__(self) -> None:
        if self.weight not in WEIGHTS:
            raise UnknownNameError("weight", self.weight, WEIGHTS)
        if self.count < 1:
            raise KbError(f"{self.count} groundings", "ask for 1 or more")
        if self.seed < 0:
            raise KbError(f"the seed is {self.seed}", "it is 0 or more")
        if not 0 <= self.min_answers <= self.max_answers:
            raise KbError(
                f"answers from {self.min_answers} to {self.max_answers}", "the least is 0 or more, the most no less"
            )
