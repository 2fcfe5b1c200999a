"""Readings of shares: the percentage of nodes that are among others, also for each group."""

from __future__ import annotations

from kbkit.answers.answer_set import AnswerSet
from kbkit.answers.syntax import Aggregate, Comparison, Condition, Expression, Filter, Group, Nodes, OtherAttribute
from kbkit.questions.chain_reading import ChainReading
from kbkit.questions.clause_reading import ClauseReading
from kbkit.questions.composed_reading import FoundParts
from kbkit.questions.part_reading import PartReading
from kbkit.questions.read import Read
from kbkit.questions.share_words import AskedShare, ShareParts, share_parts

_MAX_SPLITS = 7
"""Limit on the ways to split a question: the parts of each are read."""


class ShareReading(PartReading):
    """Reads shares."""

    def read(self, asked: AskedShare) -> FoundParts | None:
        """Return the share that is asked for; None if it cannot be read."""
        for number, split in enumerate(share_parts(asked.rest)):
            found = self._split(asked, split) if number < _MAX_SPLITS else None
            if found is not None:
                return found
        return None

    def _split(self, asked: AskedShare, split: ShareParts) -> FoundParts | None:
        """Return the share of a question that is split in a way; None if a part of it cannot be read."""
        whole = self._set(split.whole) if split.whole else self._all(split.parts[0])
        if whole is None:
            return None
        tree, parts, certainty = whole[0], [whole[1]], whole[2]
        groups: tuple[Group, ...] = ()
        if asked.group:
            counted = split.whole or split.parts[0]
            grouped = self._groups(f"number of {counted} {asked.group}", tree if split.whole else None)
            if grouped is None:
                return None
            groups, certainty = grouped[0], min(certainty, grouped[2])
            parts.append(grouped[1])
        for text in split.parts:
            part = self._set(text)
            if part is not None and self._fits(part[0], tree):
                op = "percentage" if asked.in_percent else "fraction"
                share = Aggregate(op, tree, groups=groups, part=part[0])
                return FoundParts(share, (*parts, part[1]), min(certainty, part[2]))
        return None

    def _fits(self, part: Expression, whole: Expression) -> bool:
        """Return whether nodes of a set are some of the type of another one."""
        session = self.elements.session
        kind = session.resolved(part).type
        is_part = str(part) != str(whole) and kind is not None and kind == session.resolved(whole).type
        everyone = _with_missing(whole)  # members have a size over 40: not of those who have a size
        return is_part and not any(self._lacks(everyone, name) for name in _deciding(part))

    def _lacks(self, whole: Expression, attribute: str) -> bool:
        """Return whether some nodes have no value of an attribute: whether these count is not said."""
        lacking = Filter(whole, (Condition(attribute, "missing"),))
        return bool(AnswerSet(self.elements.session, Aggregate("exists", lacking)).value)

    def _set(self, text: str) -> tuple[Expression, ClauseReading | ChainReading, float] | None:
        """Return the nodes that a text stands for; None if it cannot be read, or asks for something else."""
        read = self._sure(text)
        if read is None or read.best is None or read.best.tree is None or _is_name(read):
            return None
        tree = read.best.tree
        if isinstance(tree, Aggregate):
            is_list = tree.op == "values" and not tree.groups and not tree.order and tree.limit is None
            tree = tree.source
            if not is_list:
                return None
        return tree, read.best, read.confidence

    def _all(self, text: str) -> tuple[Expression, ClauseReading | ChainReading, float] | None:
        """Return all nodes of the type of a text; None if it does not say which of them count."""
        part = self._set(text)
        if part is None or not isinstance(part[0], Filter):
            return None
        return Nodes(self.elements.session.resolved(part[0]).type), part[1], part[2]

    def _groups(
        self, text: str, whole: Expression | None
    ) -> tuple[tuple[Group, ...], ClauseReading | ChainReading, float] | None:
        """Return the groups of a question for the number of some nodes for each of them."""
        read = self._sure(text)
        best = None if read is None else read.best
        if read is None or best is None or not isinstance(best.tree, Aggregate):
            return None
        is_count = best.tree.op == "count" and best.tree.groups and not best.tree.columns
        if not is_count or (whole is not None and str(best.tree.source) != str(whole)):
            return None
        return best.tree.groups, best, read.confidence


def _with_missing(tree: Expression) -> Expression:
    """Return a set without its conditions that an attribute is known."""
    if not isinstance(tree, Filter):
        return tree
    rest = tuple(test for test in tree.conditions if not (isinstance(test, Condition) and test.op == "missing"))
    return Filter(tree.source, rest) if rest else _with_missing(tree.source)


def _is_name(read: Read) -> bool:
    """Return whether a text is a name and nothing else."""
    named = {at for mention in read.mentions if mention.how == "exact" for at in mention.tokens}
    return bool(named) and not read.question.content(named)


def _deciding(tree: Expression) -> set[str]:
    """Return the attributes of nodes themselves that decide whether they are in a set."""
    names: set[str] = set()
    while isinstance(tree, Filter):
        for test in tree.conditions:
            if isinstance(test, Condition) and test.op != "missing":
                names.add(test.attribute)
            elif isinstance(test, Comparison) and isinstance(test.measure, str):
                names.add(test.measure)
                names |= {test.value.name} if isinstance(test.value, OtherAttribute) else set()
        tree = tree.source
    return names
