"""Settings of queries on relations, texts and attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from kbkit.assets.operations import Sampling, Seed, Setting, check_settings
from kbkit.benchmarks.duplicates import Alike
from kbkit.benchmarks.left_out import LeaveOut, left_out_words
from kbkit.errors import KbError, Option, UnknownNameError
from kbkit.schema import Role

if TYPE_CHECKING:
    from kbkit.answers.templates import Template
    from kbkit.benchmarks.requirements.answer_counts import Target

NAME_TEXT = "name"
"""The value of ``text`` for KBs whose nodes have no text but their name."""
MIN_CANDIDATES, FEWEST_CANDIDATES = 5, 2
"""Nodes that match the relations at least: from few candidates a requirement on texts chooses nearly nothing."""
_CANDIDATES = 50
_CANDIDATES_PER_ANSWER = 3


@dataclass(frozen=True)
class RequirementSettings:
    """Settings of generated queries.

    ``templates``: as in :func:`relational.templates`. ``roles``: replace those of the KB. ``max_properties``: each
    query has 1 to that many. ``max_candidates`` and ``min_candidates``: number of nodes that satisfy the relations
    alone. ``like``, or ``several`` and ``mean_answers``: the numbers of answers to aim at, without a model (None: those
    of the catalogue's dataset, or of STaRK-MAG). ``max_answers`` and ``max_candidates`` (None): as the target needs
    them, at least 20 and 50. ``relations_only``: fraction of queries without properties (None: only where no properties
    leave about as many answers as wanted). ``text``: ``name`` if the names of the nodes are their texts. ``fractions``:
    of train, val and test (empty: the paper's). ``leave_out``: a list of words (:mod:`kbkit.benchmarks.left_out`) that
    no query contains. ``alike``: as in :class:`kbkit.benchmarks.duplicates.Spread`.
    """

    count: Annotated[int, Setting("Number of queries to generate.", least=1, noun="number of queries")] = 100
    seed: Seed = 0
    templates: Annotated[
        tuple[str, ...], Setting("Template id, catalogue (mag), TOML file or suggest.", values="ID")
    ] = ()
    roles: tuple[Role, ...] = ()
    max_properties: Annotated[
        int,
        Setting(
            "Maximum number of requirements per query.",
            least=1,
            most=20,
            name="properties",
            noun="number of properties",
        ),
    ] = 2
    max_candidates: (
        Annotated[
            int,
            Setting(
                "Maximum number of nodes that match the relations (default: 3 times the answers, at least 50).",
                rare=True,
            ),
        ]
        | None
    ) = None
    min_candidates: (
        Annotated[
            int,
            Setting(
                "Minimum number of nodes that match the relations (default: 5, or 2 where too few have as many).",
                least=1,
                noun="minimum number of candidates",
                rare=True,
            ),
        ]
        | None
    ) = None
    max_answers: (
        Annotated[
            int,
            Setting(
                "Maximum number of answers per query (default: 20, or as the target needs).",
                least=1,
                noun="maximum number of answers",
            ),
        ]
        | None
    ) = None
    like: (
        Annotated[
            str,
            Setting(
                "Numbers of answers as in amazon, mag or prime (default: mag, or the catalogue's).",
                values="NAME",
                choices=("amazon", "mag", "prime"),
                noun="dataset",
            ),
        ]
        | None
    ) = None
    several: (
        Annotated[
            float,
            Setting("Fraction of queries with several answers, for a given mean number.", values="FRACTION", rare=True),
        ]
        | None
    ) = None
    mean_answers: (
        Annotated[float, Setting("Mean number of answers, for a given fraction with several.", rare=True)] | None
    ) = None
    relations_only: (
        Annotated[
            float,
            Setting(
                "Fraction of queries without textual requirements (default: as few as the target needs).",
                values="FRACTION",
                least=0,
                most=1,
                noun="fraction of queries without properties",
                rare=True,
            ),
        ]
        | None
    ) = None
    text: Annotated[str, Setting("With the value name, names of nodes are their texts.", values="FIELD", rare=True)] = (
        ""
    )
    leave_out: LeaveOut = ""
    alike: Alike | None = None
    weight: Sampling = "uniform"
    fractions: Annotated[
        tuple[float, ...],
        Setting(
            "Fractions of train, val and test (default: those of the paper).",
            values="A,B,C",
            name="splits",
            joined=True,
            example="0.6,0.2,0.2",
            rare=True,
        ),
    ] = ()

    def __post_init__(self) -> None:
        check_settings(self)
        left_out_words(self.leave_out)
        if self.like and (self.several is not None or self.mean_answers is not None):
            either = ("Use ", Option("like"), ", or ", Option("several"), " with ", Option("mean_answers"))
            raise KbError("Conflicting targets", *either)
        if (self.several is None) != (self.mean_answers is None):
            both = ("Use ", Option("several"), " and ", Option("mean_answers"), " together")
            raise KbError("Incomplete target", *both)
        if self.max_candidates is not None and self.max_candidates < (self.min_candidates or FEWEST_CANDIDATES):
            message = (
                f"Invalid number of candidates: {self.min_candidates or FEWEST_CANDIDATES} to {self.max_candidates}"
            )
            raise KbError(message, "Use a maximum that is not below the minimum")
        if self.text not in ("", NAME_TEXT):
            raise UnknownNameError("text", self.text, (NAME_TEXT,))
        if self.fractions:
            from kbkit.benchmarks.dataset import check_fractions

            if len(self.fractions) != 3:
                shown = ",".join(f"{fraction:g}" for fraction in self.fractions)
                raise KbError(f"Expected three split fractions, found {shown}", "Use train, val, test: 0.6,0.2,0.2")
            check_fractions(self.fractions)
        _ = self.target

    @property
    def least_candidates(self) -> tuple[int, int]:
        """The minimum number of candidates, and the one for KBs that have too few groundings with as many."""
        if self.min_candidates is not None:
            return self.min_candidates, self.min_candidates
        most = self.max_candidates or MIN_CANDIDATES
        return min(MIN_CANDIDATES, most), min(FEWEST_CANDIDATES, most)

    @property
    def target(self) -> Target | None:
        """The numbers of answers to aim at, if they are given."""
        from kbkit.benchmarks.requirements.answer_counts import Target, target_of

        if self.several is not None and self.mean_answers is not None:
            return Target(self.several, self.mean_answers)
        return target_of(self.like) if self.like else None


def complete_settings(settings: RequirementSettings, chosen: Sequence[Template]) -> RequirementSettings:
    """Return the settings with a target, and with the maximum numbers that it needs."""
    catalogues = {template.id.split("/")[0] for template in chosen}
    from kbkit.benchmarks.requirements.answer_counts import published_targets, target_of

    named = catalogues.pop() if len(catalogues) == 1 else ""
    target = settings.target or target_of(named if named in published_targets() else "mag")
    most = settings.max_answers or target.max_answers
    candidates = settings.max_candidates or max(
        _CANDIDATES, _CANDIDATES_PER_ANSWER * most, settings.min_candidates or 0
    )
    return replace(
        settings,
        like=None,
        several=target.several,
        mean_answers=target.mean,
        max_answers=most,
        max_candidates=candidates,
    )
