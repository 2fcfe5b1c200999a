"""Gather the instances of a dataset: what all makers share, whatever they make instances of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from kbkit.benchmarks.duplicates import Spread
from kbkit.benchmarks.left_out import LeftOutWords
from kbkit.benchmarks.pipeline import Progress
from kbkit.benchmarks.ska.instances import Instance

T = TypeVar("T")
ENOUGH = "others differ in what they name alone"
"""Why a question is left out: there are enough of its mould, or about the same thing."""


@dataclass(frozen=True)
class Gathering:
    """The number of instances that are wanted (0: all), and the ``seed`` of what is drawn.

    No text of an instance has one of ``words``. ``left_out`` counts questions by the reason why they are not used.
    ``spread`` bounds how many differ in what they name alone.
    """

    count: int = 0
    seed: int = 0
    words: LeftOutWords = field(default_factory=LeftOutWords)
    left_out: Counter[str] = field(default_factory=Counter)
    progress: Progress = lambda *_: None
    spread: Spread | None = None

    def unlike(
        self, mould: Hashable, names: Collection[Hashable], outcome: Callable[[], Instance | str], *, on_text: bool
    ) -> Instance | str:
        """Return the outcome of a question, or that there are enough of its ``mould`` or about some ``names``."""
        if self.spread is None:
            return outcome()
        if not self.spread.fits(mould, names, on_text=on_text):
            return ENOUGH
        one = outcome()
        if isinstance(one, Instance):
            self.spread.add(mould, names, on_text=on_text)
        return one

    def gather(self, stage: str, candidates: Sequence[T], outcome: Callable[[T], Instance | str]) -> list[Instance]:
        """Return the instances of the first candidates that give one; ``outcome`` returns it, or why there is none."""
        total = self.count or len(candidates)
        instances: list[Instance] = []
        for number, candidate in enumerate(candidates):
            if self.count and len(instances) == self.count:
                break
            self.progress(stage, len(instances) if self.count else number, total)
            one = outcome(candidate)
            if isinstance(one, str):
                self.left_out[one] += 1
            else:
                instances.append(one)
        self.progress(stage, total, total)
        return instances
