"""Gather the instances of a dataset: what all makers share, whatever they make instances of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from kbkit.benchmarks.left_out import LeftOutWords
from kbkit.benchmarks.pipeline import Progress
from kbkit.benchmarks.ska.instances import Instance

T = TypeVar("T")


@dataclass(frozen=True)
class Gathering:
    """The number of instances that are wanted (0: all), and the ``seed`` of what is drawn.

    No text of an instance has one of ``words``. ``left_out`` counts questions by the reason why they are not used.
    """

    count: int = 0
    seed: int = 0
    words: LeftOutWords = field(default_factory=LeftOutWords)
    left_out: Counter[str] = field(default_factory=Counter)
    progress: Progress = lambda *_: None

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
