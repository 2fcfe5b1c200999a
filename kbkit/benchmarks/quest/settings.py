"""The settings of a generated QUEST dataset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from kbkit.assets.operations import Seed, Setting, check_settings
from kbkit.benchmarks.duplicates import Alike
from kbkit.benchmarks.left_out import LeaveOut, left_out_words
from kbkit.errors import KbError

if TYPE_CHECKING:
    from kbkit.answers.sample_sets import Constraints

EVIDENCE = ("none", "partial", "complete")
FACTS = ("auto", "always", "never")
"""When documents have facts; ``auto``: if their texts do not show the categories of their nodes."""

Domains = Annotated[tuple[str, ...], Setting("Node type of the results.", values="TYPE")]
Without = Annotated[
    tuple[str, ...], Setting("Text field to leave out of documents.", values="FIELD", name="exclude_field")
]
Facts = Annotated[
    str,
    Setting(
        "Add attributes and relations to documents as sentences: always, never, or auto if texts lack evidence.",
        values="HOW",
        choices=FACTS,
        noun="use of facts",
    ),
]


@dataclass(frozen=True)
class DocumentSettings:
    """Which documents are written: those of the types ``domains`` (empty: the types with texts)."""

    domains: Domains = ()
    facts: Facts = "auto"
    without: Without = ()

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True)
class QuestSettings:
    """Settings of a generated dataset: ``count`` queries for the types ``domains`` (empty: the types with texts).

    ``categories``, ``files`` and ``patterns``: as in :func:`kbkit.benchmarks.quest.categories.build`. ``constraints``:
    changes to :class:`kbkit.answers.sample_sets.Constraints`. ``scale``: halve bounds on sizes if a shape has too few
    queries, and take further queries of the shape from other domains. ``require``: the evidence that an answer's
    document must show; in the paper about 99% of the answers have complete or partial evidence (section 3.4).
    ``texts``: False for domains without texts, whose answers get no labels. ``augmented``: number of additional
    training queries (section 3.5). ``leave_out``: a list of words (:mod:`kbkit.benchmarks.left_out`) that no category
    contains. ``alike``: as in :class:`kbkit.benchmarks.duplicates.Spread`.
    """

    domains: Domains = ()
    count: Annotated[
        int,
        Setting("Number of queries to generate, over all domains and templates.", least=1, noun="number of queries"),
    ] = 350
    seed: Seed = 0
    min_answers: Annotated[
        int, Setting("Minimum number of answers per query.", least=1, noun="minimum number of answers")
    ] = 2
    max_answers: Annotated[int, Setting("Maximum number of answers per query.")] = 20
    categories: Annotated[
        tuple[str, ...], Setting("Additional categories: an expression with one <slot>.", values="EXPR")
    ] = ()
    files: Annotated[
        tuple[Path, ...],
        Setting(
            "Additional categories: category<TAB>key, or JSON lines.", values="FILE", name="category_file", rare=True
        ),
    ] = ()
    patterns: Mapping[str, str] = field(default_factory=dict)
    constraints: Annotated[
        Mapping[str, float],
        Setting(
            "Constraint on the operands of a set operation.",
            values="NAME=VALUE",
            name="constraint",
            example="NAME=10",
            rare=True,
        ),
    ] = field(default_factory=dict)
    scale: Annotated[
        bool,
        Setting("Halve size limits for templates that yield too few queries.", name="scale_constraints", rare=True),
    ] = True
    require: Annotated[
        str,
        Setting(
            "Evidence required for an answer: none, partial or complete.",
            values="HOW",
            choices=EVIDENCE,
            name="require_evidence",
            noun="evidence",
        ),
    ] = "partial"
    texts: bool = True
    without: Without = ()
    facts: Facts = "auto"
    leave_out: LeaveOut = ""
    alike: Alike | None = None
    augmented: Annotated[
        int,
        Setting(
            "Number of additional training queries, in augmented.jsonl.",
            least=0,
            noun="number of additional training queries",
            rare=True,
        ),
    ] = 0

    def __post_init__(self) -> None:
        check_settings(self)
        left_out_words(self.leave_out)
        if len(set(self.domains)) < len(self.domains):
            raise KbError("Duplicate domain", "List each type once")
        if not self.texts and self.require != "none":
            raise KbError("Evidence is required but texts are disabled", "Remove one of the two options")
        if self.max_answers < self.min_answers:
            message = f"Invalid range of answers: {self.min_answers} to {self.max_answers}"
            raise KbError(message, "Use a minimum of 0 or more, and a maximum that is not smaller")
        self.bounds()

    def bounds(self) -> Constraints:
        """Return the constraints on the sets of a query. Raises :class:`UnknownNameError` for unknown names."""
        from kbkit.answers.sample_sets import Constraints

        return Constraints.of(dict(self.constraints))

    def about(self) -> dict[str, Any]:
        """Return the settings as JSON data."""
        words = left_out_words(self.leave_out).about
        plain = {
            **asdict(self),
            "leave_out": words,
            "files": [path.name for path in self.files],
            "constraints": asdict(self.bounds()),
        }
        return plain | {name: list(plain[name]) for name in ("domains", "categories", "without")}
