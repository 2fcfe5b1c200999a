"""Readings of a question with a second one about its answers: *which mechanics work in Leeds, and what do they earn*.

Each is read by itself, the second with the noun for the answers in place of the pronoun.
"""

from __future__ import annotations

import re

from kbkit.answers.syntax import Aggregate, Expression, Group, Name, Nodes, Path, PathFunction, Step, ValueColumn
from kbkit.english.types import type_noun, type_plural
from kbkit.questions.composed_reading import FoundParts
from kbkit.questions.lexicon import label_words
from kbkit.questions.part_reading import PartReading
from kbkit.questions.reading_words import answer_type

_TWO = re.compile(
    r"^(?P<first>\s*(?:which|who|list|show|find|name|what (?:is|are|was|were))\b.+?),? and (?:also )?"
    r"(?P<second>(?:(?:in|at|on|from|for|to|by|of|with) )?(?:how|what|which|when|where|who)\b[^?]+)\?*\s*$",
    re.I,
)
_OF_ONE = re.compile(
    r"^(?P<first>\s*(?:(?:in|at|on|from|for|to|by|of|with) )?(?:when|where|how|what|which|who)\b.+?),? and "
    r"(?P<second>(?:(?:in|at|on|from|for|to|by|of|with) )?(?:how|what|which|when|where|who)\b[^?]+)\?*\s*$",
    re.I,
)
_PRONOUN = re.compile(r"\b(it|they|them|he|she|him|each(?: one| of them))\b|\b(its|their|his|her)\b", re.I)
_OF_EDGE = re.compile(
    r"^(?P<first>.+?),? and (?:(?P<role>as what|in (?:what|which) (?:role|position|capacity))"
    r"|when|since when|(?:in |since )?(?:what|which) year)\s*\?*\s*$",
    re.I,
)
_ROLES = frozenset("capacity function job position role title".split())  # noqa: SIM905
_TIMES = frozenset("date day from on since started starting when year".split())  # noqa: SIM905
_SEVERAL = ("they", "them", "their")


class SecondReading(PartReading):
    """Reads questions with a second one."""

    def read(self, text: str) -> FoundParts | None:
        """Return the table that both questions ask for; None if they cannot be read."""
        if (about_edges := _OF_EDGE.match(text)) is not None:
            return self._of_edge(about_edges["first"], is_role=about_edges["role"] is not None)
        if (named := _OF_ONE.match(text)) is not None and (both := self._of_one(named)) is not None:
            return both
        found = _TWO.match(text)
        if found is None or len(_PRONOUN.findall(found["second"])) != 1:
            return None
        first = self._sure(found["first"])
        if first is None or first.best is None or first.best.tree is None or isinstance(first.best.tree, Aggregate):
            return None
        kind = answer_type(first.best.tree)
        second = None if kind is None else self._sure(_PRONOUN.sub(lambda one: _named(one, kind), found["second"]))
        if kind is None or second is None or second.best is None or second.best.tree is None:
            return None
        tree = self._joined(first.best.tree, second.best.tree, kind)
        certainty = min(first.confidence, second.confidence)
        return None if tree is None else FoundParts(tree, (first.best, second.best), certainty)

    def _of_one(self, found: re.Match[str]) -> FoundParts | None:
        """Return the attributes of a named node that both questions ask for: *when was Heat made, and who wrote it*."""
        if len(_PRONOUN.findall(found["second"])) != 1:
            return None
        first = self._sure(found["first"])
        one = None if first is None or first.best is None else first.best.tree
        node = one.source if isinstance(one, Aggregate) and one.op == "values" else None
        if not isinstance(node, Nodes) or not isinstance(node.selector, Name):
            return None
        name = node.selector.text
        second = self._sure(_PRONOUN.sub(lambda match: f"{name}'s" if match[2] else name, found["second"]))
        two = None if second is None or second.best is None else second.best.tree
        if first is None or first.best is None or second is None or second.best is None:
            return None
        if not isinstance(one, Aggregate) or not isinstance(two, Aggregate) or two.source != node or two.op != "values":
            return None
        if one.groups or two.groups:
            return None
        tree = Aggregate("values", node, (*one.columns, *two.columns))
        return FoundParts(tree, (first.best, second.best), min(first.confidence, second.confidence))

    def _of_edge(self, text: str, *, is_role: bool) -> FoundParts | None:
        """Return names beside the role, or the only date or year, that the edges of the last step to them have."""
        first = self._sure(text)
        tree = None if first is None or first.best is None else first.best.tree
        step = tree.elements[-2] if isinstance(tree, Path) else None
        if first is None or first.best is None or tree is None or not isinstance(step, Step) or len(step.edges) != 1:
            return None
        relation, kind = self.elements.session.schema.relation(step.edges[0].relation), answer_type(tree)
        own = {one.name for node_type in self.elements.types if node_type.name == kind for one in node_type.attributes}
        said = _ROLES if is_role else _TIMES
        names = [one.name for one in relation.attributes if said & {*label_words(one.name)} and one.name not in own]
        if len(names) != 1:
            return None
        columns = (ValueColumn("name"), ValueColumn(names[0]))
        return FoundParts(Aggregate("values", tree, columns), (first.best,), first.confidence)

    def _joined(self, tree: Expression, asked: Expression, kind: str) -> Aggregate | None:
        """Return the names of nodes beside what is asked of all nodes of their type."""
        source = asked.source if isinstance(asked, Aggregate) else asked
        columns = asked.columns if isinstance(asked, Aggregate) else ()
        if isinstance(asked, Aggregate) and (asked.op not in ("values", "sum") or asked.groups or len(columns) != 1):
            return None
        if source == Nodes(kind) and columns and isinstance(columns[0].measure, str):
            return Aggregate("values", tree, (ValueColumn("name"), *columns))
        if not isinstance(source, Path) or source.elements[0] != Nodes(kind) or not self._is_single(source):
            return None
        attribute = columns[0].measure if columns else None
        path = PathFunction(source.elements[1:], source.arrows)
        if isinstance(attribute, PathFunction) or (isinstance(asked, Aggregate) and asked.op == "sum"):
            return None
        return Aggregate("values", tree, (), (Group("name"), Group(path, attribute=attribute)))

    def _is_single(self, path: Path) -> bool:
        """Return whether the steps of a path are those that lead from a node to one other at most."""
        nodes = [one for one in path.elements if isinstance(one, Nodes)]
        steps = [one for one in path.elements if isinstance(one, Step)]
        known = {one.name: number for number, one in enumerate(self.elements.types)}
        numbers = [known.get(node.type or "", -1) for node in nodes]
        ways = self.elements.paths(numbers[0], numbers[-1]) if len(nodes) == len(steps) + 1 else []
        is_one = bool(ways) and len(ways[0]) == len(steps) and len(ways) == 1
        return is_one and all(node.selector is None for node in nodes) and all(map(self.elements.is_single, ways[0]))


def _named(match: re.Match[str], kind: str) -> str:
    """Return the noun for a type in place of a pronoun."""
    noun = type_plural(kind) if match[0].casefold() in _SEVERAL else type_noun(kind)
    return f"the {noun}" + ("'s" if match[2] and not noun.endswith("s") else "'" if match[2] else "")
