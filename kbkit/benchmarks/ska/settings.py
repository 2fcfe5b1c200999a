"""The settings of a generated SKA-Bench dataset."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from kbkit.assets.operations import Seed, Setting, check_settings
from kbkit.benchmarks.duplicates import Alike
from kbkit.benchmarks.left_out import LeaveOut, left_out_words
from kbkit.errors import BadInputError

FORMS = ("kg", "table", "kg+text", "table+text")
"""The forms of structured knowledge, in the order of the paper's tables."""
TOKENS = 24_000
"""Tokens that the noise of an instance should fill: the paper's largest testbed."""

Forms = Annotated[
    tuple[str, ...],
    Setting(
        "Form: kg, table, kg+text or table+text (default: all).",
        values="NAME",
        choices=FORMS,
        name="form",
        noun="form",
    ),
]


@dataclass(frozen=True)
class SkaSettings:
    """Settings of a dataset.

    ``count`` is the number of instances of each of the ``forms`` (empty: all that the KBs allow), ``tokens`` what the
    noise of an instance should fill. ``questions`` are files of published questions, or folders of ``stark make`` and
    ``quest make``, used instead of new questions. With models, ``model_rows`` of the synthesized rows of each table are
    theirs. ``leave_out`` names a list of words (:mod:`kbkit.benchmarks.left_out`). ``alike``: as in
    :class:`kbkit.benchmarks.duplicates.Spread`, of each form.
    """

    count: Annotated[int, Setting("Number of instances of each form.", least=1, noun="number of instances")] = 50
    seed: Seed = 0
    forms: Forms = ()
    tokens: Annotated[
        int, Setting("Tokens that the noise of an instance should fill.", least=1_000, noun="number of tokens")
    ] = TOKENS
    questions: Annotated[
        tuple[Path, ...],
        Setting("Published questions, or a folder of stark or quest make.", values="PATH"),
    ] = ()
    model_rows: Annotated[
        int, Setting("Synthesized rows per table that models write.", least=0, noun="number of rows", rare=True)
    ] = 40
    leave_out: LeaveOut = ""
    alike: Alike | None = None

    def __post_init__(self) -> None:
        check_settings(self)
        left_out_words(self.leave_out)
        for path in self.questions:
            if not path.exists():
                raise BadInputError(f"{path} does not exist")

    def units(self, number: int) -> int:
        """Return the number of units of noise, given that for the paper's largest testbed."""
        return max(1, number * self.tokens // TOKENS)
