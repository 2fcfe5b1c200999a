"""A tree and a schema -> a plan: which types, relations and directions an expression means. Pure; looks up no node."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kbkit.answers import syntax
from kbkit.answers.algebra import (
    All,
    Constant,
    Difference,
    Filter,
    Hop,
    Lookup,
    Move,
    Operator,
    Parameter,
    Plan,
    Stored,
    Test,
    Union,
    conjunction,
)
from kbkit.answers.parse import ExpressionError
from kbkit.answers.syntax import Key, Name, Nodes, Path, Saved, Slot, Step
from kbkit.errors import UnknownNameError, suggest
from kbkit.schema import Relation, Schema

OWN_ATTRIBUTES = {"name": "VARCHAR", "key": "VARCHAR"}
"""Attributes that nodes of every type have."""


def resolve(
    tree: syntax.Expression, schema: Schema, saved: Mapping[str, str | None] | None = None, text: str = ""
) -> Plan:
    """What ``tree`` means in a KB of this schema.

    ``saved`` gives the type of each saved set, ``text`` the source of the tree, for the positions in errors. Raises
    :class:`ExpressionError` for unknown types, relations and attributes, and for steps that the schema does not allow.
    """
    return _Resolver(schema, saved or {}, text or str(tree)).plan(tree)


@dataclass
class _Resolver:
    schema: Schema
    saved: Mapping[str, str | None]
    text: str
    parameters: dict[str, Parameter] = field(default_factory=dict)

    def plan(self, tree: syntax.Expression) -> Plan:
        root = self.set(tree)
        return Plan(root, tuple(self.parameters.values()), self.text)

    def error(self, message: str, hint: str, at: int) -> ExpressionError:
        return ExpressionError(message, hint, text=self.text, at=at)

    # -- sets ---------------------------------------------------------------------------------------------------------

    def set(self, tree: syntax.Expression) -> Operator:
        match tree:
            case Nodes():
                return self.nodes(tree)
            case Saved():
                if tree.name not in self.saved:
                    raise self.error(f"there is no saved set @{tree.name}", suggest(tree.name, self.saved), tree.at)
                return Stored(self.saved[tree.name], tree.name)
            case syntax.Filter():
                return self.where(self.set(tree.source), tree.conditions)
            case Path():
                return self.path(tree)
            case _:
                return self.combine(tree)

    def nodes(self, nodes: Nodes) -> Operator:
        node_type = None if nodes.type is None else self.type(nodes.type, nodes.at)
        if nodes.pick is None:
            return All(node_type)
        return Lookup(node_type, self.parameter(nodes.pick, node_type, nodes.at, False, node_type or "node"))

    def type(self, name: str, at: int) -> str:
        try:
            return self.schema.type(name).name
        except UnknownNameError as error:
            raise self.error(error.message, error.hint, at) from None

    def combine(self, tree: syntax.Combine) -> Operator:
        parts = [self.set(part) for part in tree.parts]
        whole = parts[0].type
        for part, written in zip(parts[1:], tree.parts[1:], strict=True):
            if None not in (whole, part.type) and whole != part.type:
                raise self.error(
                    f"{tree.op} between {_a(whole)} set and {_a(part.type)} set",
                    "both sides need one type, or *",
                    written.at,
                )
            if tree.op == "&":
                whole = whole or part.type
            elif tree.op == "|":
                whole = whole and part.type
        if tree.op == "&":
            return conjunction(parts)
        if tree.op == "|":
            return Union(whole, tuple(dict.fromkeys(parts)))
        removed = parts[1] if len(parts) == 2 else Union(None, tuple(parts[1:]))
        return Difference(parts[0], removed)

    # -- attributes ---------------------------------------------------------------------------------------------------

    def where(self, source: Operator, conditions: Sequence[syntax.Condition]) -> Operator:
        return Filter(source, tuple(self.test(source.type, condition) for condition in conditions))

    def test(self, node_type: str | None, condition: syntax.Condition) -> Test:
        known = dict(OWN_ATTRIBUTES)
        if node_type is not None:
            known |= {a.name: a.type for a in self.schema.type(node_type).attributes}
        folded = {name.casefold(): name for name in known}
        name = condition.attribute if condition.attribute in known else folded.get(condition.attribute.casefold())
        if name is None:
            whose = f"{node_type} nodes" if node_type else "nodes of any type"
            raise self.error(
                f"{whose} have no attribute {condition.attribute!r}", suggest(condition.attribute, known), condition.at
            )
        element = known[name].removesuffix("[]")
        if condition.op == "contains" and element != "VARCHAR":
            raise self.error(f"{name} is {known[name]} and contains no text", "compare it with = < >", condition.at)
        values = tuple(self.parameter(v, element, condition.at, True, name) for v in condition.values)
        return Test(name, known[name], condition.op, values, condition.negated)

    def parameter(
        self, given: Slot | Name | Key | Constant, node_type: str | None, at: int, value: bool, base: str
    ) -> str:
        """The name of the parameter for ``given``; one slot used twice is one parameter."""
        if isinstance(given, Slot):
            for known in self.parameters.values():
                if known.given == given:
                    if (known.type, known.value) != (node_type, value):
                        raise self.error(
                            f"slot <{given.name}> stands for {_kind(known.type, known.value)} before and for"
                            f" {_kind(node_type, value)} here",
                            "use two slots",
                            at,
                        )
                    return known.name
            base = given.name
        clean = re.sub(r"\W+", "_", base, flags=re.ASCII).strip("_") or "value"
        stem = clean if not clean[0].isdecimal() else f"_{clean}"
        name, number = stem, 1
        while name in self.parameters:
            number += 1
            name = f"{stem}_{number}"
        self.parameters[name] = Parameter(name, node_type, given, value, at)
        return name

    # -- paths --------------------------------------------------------------------------------------------------------

    def path(self, path: Path) -> Operator:
        elements = self.bracketed(path)
        answer = path.arrows.index("<-") if "<-" in path.arrows else len(elements) - 1
        target = elements[answer]
        assert not isinstance(target, Step)
        arms = [arm for arm in (elements[: answer + 1], elements[answer:][::-1]) if len(arm) > 1]
        return self.restrict([self.arm(arm) for arm in arms], target)

    def bracketed(self, path: Path) -> list[syntax.Expression | Step]:
        """The elements, with middle steps that are relations and no types made into relations."""
        elements = list(path.elements)
        answer = path.arrows.index("<-") if "<-" in path.arrows else len(elements) - 1
        for i in range(1, len(elements) - 1):
            element = elements[i]
            if i == answer or not isinstance(element, Nodes) or element.type is None or element.pick is not None:
                continue
            alone = not isinstance(elements[i - 1], Step) and not isinstance(elements[i + 1], Step)
            if alone and self.is_relation(element.type):
                elements[i] = Step((syntax.Edge(element.type, at=element.at),), at=element.at)
        return elements

    def is_relation(self, name: str) -> bool:
        types = {t.name.casefold() for t in self.schema.node_types}
        return name.casefold() not in types and any(r.name.casefold() == name.casefold() for r in self.schema.relations)

    def arm(self, elements: Sequence[syntax.Expression | Step]) -> Operator:
        """Follow one arm from its start to the answer; the last element gives the type, its conditions come later."""
        first = elements[0]
        assert not isinstance(first, Step)
        reached = self.set(first)
        step: Step | None = None
        for i, element in enumerate(elements[1:], 1):
            if isinstance(element, Step):
                step = element
                continue
            target = self.target_type(element)
            reached = self.hop(reached, step, target, element.at)
            step = None
            if i < len(elements) - 1:
                reached = self.restrict([reached], element)
        return reached

    def target_type(self, element: syntax.Expression) -> str | None:
        if isinstance(element, Nodes):
            return None if element.type is None else self.type(element.type, element.at)
        saved_parameters = dict(self.parameters)
        found = self.set(element).type
        self.parameters = saved_parameters  # it is resolved again where it is used
        return found

    def restrict(self, reached: list[Operator], element: syntax.Expression) -> Operator:
        """What was reached by all arms and is in the set that ``element`` stands for."""
        if isinstance(element, syntax.Filter):
            return self.where(self.restrict(reached, element.source), element.conditions)
        if isinstance(element, Nodes) and element.pick is None:
            return conjunction(reached)
        return conjunction([*reached, self.set(element)])

    def hop(self, source: Operator, step: Step | None, target: str | None, at: int) -> Operator:
        if step is None:
            moves = [self.inferred(source.type, target, at)]
        else:
            moves = [self.move(edge, source.type, target) for edge in step.edges]
        check = target is not None and any(self.may_lack(move, source.type, target) for move in moves)
        hop = Hop(source, tuple(dict.fromkeys(moves)), target, check)
        return Difference(All(target), hop) if step is not None and step.negated else hop

    def inferred(self, source: str | None, target: str | None, at: int) -> Move:
        choices = self.choices(source, target)
        if len(choices) == 1:
            return choices[0]
        joined = f"{source or '*'} and {target or '*'}"
        if not choices:
            raise self.error(f"no relation joins {joined}", self.relations_of(source, target), at)
        names = " or ".join(f"[{syntax.Edge(m.relation)}]" for m in choices[:8])
        more = f", ... ({len(choices)} in all)" if len(choices) > 8 else ""
        raise self.error(f"several relations join {joined}", f"say which: {names}{more}", at)

    def choices(self, source: str | None, target: str | None) -> list[Move]:
        """The relations between two types, each in the direction that a step takes by itself."""
        directions = ((r, self.direction(r, source, target)) for r in self.schema.relations)
        return [Move(r.name, forward) for r, forward in directions if forward is not None]

    def direction(self, relation: Relation, source: str | None, target: str | None) -> bool | None:
        """True (forward), False (backward), or None where the relation does not join the types."""
        for forward, (head, tail) in ((True, (source, target)), (False, (target, source))):
            if any(self.has(s.head, head) and self.has(s.tail, tail) for s in relation.signatures):
                return forward
        return None

    def has(self, primary: str, wanted: str | None) -> bool:
        """Whether nodes of a primary type may have the type ``wanted``."""
        return wanted is None or primary == wanted or primary in self.schema.type(wanted).overlaps

    def move(self, edge: syntax.Edge, source: str | None, target: str | None) -> Move:
        try:
            relation = self.schema.relation(edge.relation)
        except UnknownNameError as error:
            fitting = [m.relation for m in self.choices(source, target)]
            close = suggest(edge.relation, fitting) if fitting else error.hint
            between = f" between {source or '*'} and {target or '*'}" if fitting else ""
            raise self.error(f"unknown relation {edge.relation!r}{between}", close, edge.at) from None
        if edge.closure and not any(s.head == s.tail for s in relation.signatures):
            raise self.error(
                f"[{edge}] repeats a relation that never leads from a type to itself", _signatures(relation), edge.at
            )
        forward = self.direction(relation, source, target)
        if edge.inverse:
            backward = any(self.has(s.head, target) and self.has(s.tail, source) for s in relation.signatures)
            forward = False if backward else None
        if forward is None:
            hint = f"{_signatures(relation)}; {self.relations_of(source, target)}"
            raise self.error(f"[{edge}] does not lead from {source or '*'} to {target or '*'}", hint, edge.at)
        return Move(relation.name, forward or relation.symmetric, edge.closure)

    def relations_of(self, source: str | None, target: str | None) -> str:
        """Says what a schema allows between two types, or from the first."""
        between = [f"[{m.relation}]" for m in self.choices(source, target)]
        if between:
            return f"{source or '*'} and {target or '*'} are joined by {', '.join(between[:8])}"
        beside = []
        for other in self.schema.node_types:
            beside += [f"[{m.relation}] {other.name}" for m in self.choices(source, other.name)]
        if not beside:
            return f"no relation has {source}"
        return f"{source} is joined by {', '.join(beside[:8])}{', ...' * (len(beside) > 8)}"

    def may_lack(self, move: Move, source: str | None, target: str) -> bool:
        """Whether a move may end in nodes that lack the type ``target``."""
        signatures = self.schema.relation(move.relation).signatures
        ends = [(s.head, s.tail) if move.forward else (s.tail, s.head) for s in signatures]
        if move.closure == "*" and source != target:
            return True
        return any(far != target for near, far in ends if move.closure or self.has(near, source))


def _a(node_type: str | None) -> str:
    name = node_type or "*"
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def _kind(node_type: str | None, value: bool) -> str:
    return f"a value ({node_type})" if value else f"{_a(node_type)} node"


def _signatures(relation: Relation) -> str:
    shown = ", ".join(f"{s.head} -> {s.tail}" for s in relation.signatures[:4])
    return f"{relation.name} joins {shown}{', ...' * (len(relation.signatures) > 4)}"
