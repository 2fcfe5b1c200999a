"""A span of the words of a question, and what it may mean."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from kbkit.english.words import YEARS
from kbkit.questions.label_option import LabelOption
from kbkit.questions.lexicon import label_words
from kbkit.questions.link_words import is_participle
from kbkit.questions.values import AttributeValue


@dataclass(frozen=True)
class QuestionLink:
    """A span of tokens and what it may mean: labels, values and nodes, or a ``number``."""

    first: int
    last: int
    text: str
    labels: tuple[LabelOption, ...] = ()
    values: tuple[AttributeValue, ...] = ()
    nodes: tuple[int, ...] = ()
    number: str = ""
    unit: str = ""
    """The unit of the number, as the question has it."""
    is_quoted: bool = False
    is_partial: bool = False
    """Whether the words are a part of the value only."""
    node_types: frozenset[int] = frozenset()
    """The types of the nodes."""
    role: tuple[int, ...] = ()
    """The hops to the nodes of the type that are meant, if a noun names them by a relation: directors, of people."""

    @property
    def is_value(self) -> bool:
        """Whether it is a value or a node rather than a label."""
        return bool(self.values or self.nodes or self.is_quoted) and not self.labels

    @property
    def value_types(self) -> frozenset[int]:
        """The types whose attributes have the value."""
        return frozenset(value.type for value in self.values)

    @property
    def is_whole_type(self) -> bool:
        """Whether it is the whole name of a type, which expresses no relation."""
        return bool(self.labels) and not self.labels[0].attribute and self.labels[0].score >= 1 and not self.role

    @property
    def is_verb(self) -> bool:
        """Whether it is a participle that only derives from a label or is a part of one: *opened*, of opening_year."""
        if not self.labels or " " in self.text or not is_participle(self.text):
            return False
        best = self.labels[0]
        return best.score < 1 or self.text.casefold() not in label_words(best.attribute or self.text)

    @property
    def may_be_date(self) -> bool:
        """Whether it is a date, or a number that may be a year."""
        return "-" in self.number or (bool(self.number) and YEARS[0] <= Decimal(self.number) <= YEARS[1])

    def types(self) -> list[LabelOption]:
        """Return the options that are types, the best first."""
        return [option for option in self.labels if not option.attribute]

    def attributes(self) -> list[LabelOption]:
        """Return the options that are attributes, the best first."""
        return [option for option in self.labels if option.attribute]
