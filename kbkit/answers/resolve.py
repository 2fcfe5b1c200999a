"""Resolve a syntax tree with a schema to a plan: types, relations and directions. Looks up no nodes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kbkit.answers import syntax
from kbkit.answers.algebra import (
    AllNodes,
    AttributeMeasure,
    Condition,
    Count,
    CountFilter,
    CountStep,
    Difference,
    Filter,
    Hop,
    Lookup,
    Move,
    Operator,
    Parameter,
    Plan,
    SavedSet,
    Scalar,
    Superlative,
    Total,
    Union,
    conjunction,
)
from kbkit.answers.errors import ExpressionError, not_whole
from kbkit.answers.syntax import Key, Name, Nodes, Path, Slot, Step
from kbkit.errors import Part, UnknownNameError, suggest
from kbkit.schema import Relation, Schema

OWN_ATTRIBUTES = {"name": "VARCHAR", "key": "VARCHAR"}
"""Attributes of all node types."""

_NUMERIC = re.compile(r"(?:(?:U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?)|DOUBLE|FLOAT|DECIMAL[^\[]*)$")


def is_number(sql_type: str) -> bool:
    """Return whether a DuckDB type is one of numbers, which have a sum and an average."""
    return bool(_NUMERIC.match(sql_type))


def resolve(
    tree: syntax.Expression, schema: Schema, saved: Mapping[str, str | None] | None = None, text: str = ""
) -> Plan:
    """Return the plan of ``tree`` for KBs of a schema.

    ``saved`` has the type of each saved set; ``text`` is the source of the tree, for positions in errors. Raises
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
        if not isinstance(tree, syntax.Aggregate):
            return Plan(self.set(tree), tuple(self.parameters.values()), self.text)
        root = self.set(tree.source)
        return Plan(root, tuple(self.parameters.values()), self.text, self.total(tree, root.type))

    def error(self, message: str, at: int, *hints: Part) -> ExpressionError:
        return ExpressionError(message, *hints, text=self.text, at=at)

    # -- sets ---------------------------------------------------------------------------------------------------------

    def set(self, tree: syntax.Expression) -> Operator:
        match tree:
            case Nodes():
                return self.nodes(tree)
            case syntax.SavedSet():
                if tree.name not in self.saved:
                    raise self.error(f"Unknown saved set @{tree.name}", tree.at, suggest(tree.name, self.saved))
                return SavedSet(self.saved[tree.name], tree.name)
            case syntax.Filter():
                return self.filter(self.set(tree.source), tree.conditions)
            case Path():
                return self.path(tree)
            case syntax.Combine():
                return self.combine(tree)
            case syntax.Aggregate():
                raise not_whole(tree.op, self.text, tree.at)

    def nodes(self, nodes: Nodes) -> Operator:
        node_type = None if nodes.type is None else self.type(nodes.type, nodes.at)
        if nodes.selector is None:
            return AllNodes(node_type)
        return Lookup(node_type, self.parameter(nodes.selector, node_type, nodes.at, False, node_type or "node"))

    def type(self, name: str, at: int) -> str:
        try:
            return self.schema.type(name).name
        except UnknownNameError as error:
            raise self.error(error.message, at, *error.hints) from None

    def combine(self, tree: syntax.Combine) -> Operator:
        parts = [self.set(part) for part in tree.parts]
        node_type = parts[0].type
        for part, subtree in zip(parts[1:], tree.parts[1:], strict=True):
            if None not in (node_type, part.type) and node_type != part.type:
                message = f"{tree.op} combines sets of different types, {node_type} and {part.type}"
                raise self.error(message, subtree.at, "Both sides need the same type, or *")
            if tree.op == "&":
                node_type = node_type or part.type
            elif tree.op == "|":
                node_type = node_type and part.type
        if tree.op == "&":
            return conjunction(parts)
        if tree.op == "|":
            return Union(node_type, tuple(dict.fromkeys(parts)))
        removed = parts[1] if len(parts) == 2 else Union(None, tuple(parts[1:]))
        return Difference(parts[0], removed)

    # -- attributes ---------------------------------------------------------------------------------------------------

    def filter(self, source: Operator, tests: Sequence[syntax.Test]) -> Operator:
        """Apply tests from left to right; neighbouring conditions on attributes are one filter."""
        conditions: list[Condition] = []
        for test in tests:
            if isinstance(test, syntax.Condition):
                conditions.append(self.condition(source.type, test))
                continue
            source = Filter(source, tuple(conditions)) if conditions else source
            conditions = []
            if isinstance(test, syntax.Superlative):
                source = Superlative(source, self.measure(source.type, test), test.op == "max")
            else:
                count = self.count(source.type, test.count)
                number = self.parameter(test.value, "BIGINT", test.at, True, "count")
                source = CountFilter(source, count, test.op, number)
        return Filter(source, tuple(conditions)) if conditions else source

    def measure(self, node_type: str | None, superlative: syntax.Superlative) -> AttributeMeasure | Count:
        if isinstance(superlative.measure, syntax.Count):
            return self.count(node_type, superlative.measure)
        return AttributeMeasure(*self.attribute(node_type, superlative.measure, superlative.at))

    def total(self, tree: syntax.Aggregate, node_type: str | None) -> Total:
        if tree.attribute is None:
            return Total(tree.op)
        name, sql_type = self.attribute(node_type, tree.attribute, tree.attribute_at)
        if tree.op != "values" and not is_number(sql_type):
            message = f"{tree.op} needs an attribute with numbers, but {name} is {sql_type}"
            raise self.error(message, tree.attribute_at, f"values(..., {syntax.identifier(name)}) lists its values")
        return Total(tree.op, name, sql_type)

    def attribute(self, node_type: str | None, written: str, at: int) -> tuple[str, str]:
        """Return the name and DuckDB type of an attribute."""
        known = dict(OWN_ATTRIBUTES)
        if node_type is not None:
            known |= {a.name: a.type for a in self.schema.type(node_type).attributes}
        folded = {name.casefold(): name for name in known}
        name = written if written in known else folded.get(written.casefold())
        if name is None:
            where = f" of {node_type} nodes" if node_type else " of nodes of any type"
            raise self.error(f"Unknown attribute {written!r}{where}", at, suggest(written, known))
        return name, known[name]

    def condition(self, node_type: str | None, condition: syntax.Condition) -> Condition:
        name, sql_type = self.attribute(node_type, condition.attribute, condition.at)
        element = sql_type.removesuffix("[]")
        if condition.op == "contains" and element != "VARCHAR":
            raise self.error(f"contains needs a text, but {name} is {sql_type}", condition.at, "Use = < or >")
        values = tuple(self.parameter(v, element, condition.at, True, name) for v in condition.values)
        return Condition(name, sql_type, condition.op, values, condition.negated)

    def parameter(
        self, source: Slot | Name | Key | Scalar, node_type: str | None, at: int, is_value: bool, base: str
    ) -> str:
        """Return the name of the parameter for ``source``; a slot used twice is one parameter."""
        if isinstance(source, Slot):
            for known in self.parameters.values():
                if known.source == source:
                    if (known.type, known.is_value) != (node_type, is_value):
                        message = (
                            f"Slot <{source.name}> is used as {_kind(known.type, known.is_value)} and as"
                            f" {_kind(node_type, is_value)}"
                        )
                        raise self.error(message, at, "Use two slots")
                    return known.name
            base = source.name
        clean = re.sub(r"\W+", "_", base, flags=re.ASCII).strip("_") or "value"
        stem = clean if not clean[0].isdecimal() else f"_{clean}"
        name, number = stem, 1
        while name in self.parameters:
            number += 1
            name = f"{stem}_{number}"
        self.parameters[name] = Parameter(name, node_type, source, is_value, at)
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
        """Return the elements; a bare name between two sets becomes a step if it is a relation and not a type."""
        answer = path.arrows.index("<-") if "<-" in path.arrows else len(path.elements) - 1
        return self.bracketed_relations(list(path.elements), answer)

    def bracketed_relations(
        self, elements: list[syntax.Expression | Step], answer: int = -1
    ) -> list[syntax.Expression | Step]:
        for i in range(1, len(elements) - 1):
            element = elements[i]
            if i == answer or not isinstance(element, Nodes) or element.type is None or element.selector is not None:
                continue
            alone = not isinstance(elements[i - 1], Step) and not isinstance(elements[i + 1], Step)
            if alone and self.is_relation(element.type):
                elements[i] = Step((syntax.Edge(element.type, at=element.at),), at=element.at)
        return elements

    def is_relation(self, name: str) -> bool:
        types = {t.name.casefold() for t in self.schema.node_types}
        return name.casefold() not in types and any(r.name.casefold() == name.casefold() for r in self.schema.relations)

    def arm(self, elements: Sequence[syntax.Expression | Step]) -> Operator:
        """Follow one arm from its start to the answer; of the last element only the type is used."""
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
        self.parameters = saved_parameters  # resolved again where it is used
        return found

    def restrict(self, reached: list[Operator], element: syntax.Expression) -> Operator:
        """Return the nodes that all arms reached and that are in the set of ``element``."""
        # Conditions can be tested on the nodes reached, but a superlative is about the whole set of the element.
        if isinstance(element, syntax.Filter) and not _has_superlative(element):
            return self.filter(self.restrict(reached, element.source), element.conditions)
        if isinstance(element, Nodes) and element.selector is None:
            return conjunction(reached)
        return conjunction([*reached, self.set(element)])

    def count(self, node_type: str | None, count: syntax.Count) -> Count:
        """Resolve the path of a count from nodes of a type."""
        elements = self.bracketed_relations([Nodes(node_type), *count.elements])[1:]
        near, step, steps = node_type, None, []
        for element in elements:
            if isinstance(element, Step):
                step = element
                continue
            target = self.target_type(element)
            moves = self.moves(near, step, target, element.at, reverse=count.arrows[0] == "<-")
            bare = isinstance(element, Nodes) and element.selector is None
            within = None if bare else self.set(element)
            if bare and target is not None and any(self.may_lack(move, near, target) for move in moves):
                within = AllNodes(target)
            steps.append(CountStep(moves, target, within))
            near, step = target, None
        return Count(tuple(steps), str(count))

    def moves(
        self, source: str | None, step: Step | None, target: str | None, at: int, *, reverse: bool = False
    ) -> tuple[Move, ...]:
        """Return the moves of a step; with ``reverse``, from its target back to its source."""
        near, far = (target, source) if reverse else (source, target)
        moves = [self.inferred(near, far, at)] if step is None else [self.move(e, near, far) for e in step.edges]
        if reverse:
            symmetric = {r.name for r in self.schema.relations if r.symmetric}
            moves = [Move(m.relation, m.relation in symmetric or not m.forward, m.closure) for m in moves]
        return tuple(dict.fromkeys(moves))

    def hop(self, source: Operator, step: Step | None, target: str | None, at: int) -> Operator:
        moves = self.moves(source.type, step, target, at)
        check = target is not None and any(self.may_lack(move, source.type, target) for move in moves)
        hop = Hop(source, moves, target, check)
        return Difference(AllNodes(target), hop) if step is not None and step.negated else hop

    def inferred(self, source: str | None, target: str | None, at: int) -> Move:
        """Return the move of the only relation between two types."""
        choices = self.schema.relations_between(source, target)
        if len(choices) == 1:
            [(relation, forward)] = choices
            return Move(relation.name, forward)
        types = f"{source or '*'} and {target or '*'}"
        if not choices:
            raise self.error(f"No relation joins {types}", at, self.relations_hint(source, target))
        names = " or ".join(f"[{syntax.Edge(relation.name)}]" for relation, _ in choices[:8])
        more = f", ... ({len(choices)} in all)" if len(choices) > 8 else ""
        raise self.error(f"Several relations join {types}", at, f"Choose one: {names}{more}")

    def move(self, edge: syntax.Edge, source: str | None, target: str | None) -> Move:
        """Return the move of a relation in brackets."""
        try:
            relation = self.schema.relation(edge.relation)
        except UnknownNameError as error:
            choices = [relation.name for relation, _ in self.schema.relations_between(source, target)]
            hint = suggest(edge.relation, choices) if choices else error.hint
            where = f" between {source or '*'} and {target or '*'}" if choices else ""
            raise self.error(f"Unknown relation {edge.relation!r}{where}", edge.at, hint) from None
        if edge.closure and not any(s.head == s.tail for s in relation.signatures):
            message = f"[{edge}] cannot be repeated: the relation joins no type to itself"
            raise self.error(message, edge.at, _signatures(relation))
        forward = self.schema.direction(relation, source, target)
        if edge.inverse:
            forward = False if self.schema.allows(relation, source, target, forward=False) else None
        if forward is None:
            hint = f"{_signatures(relation)}. {self.relations_hint(source, target)}"
            raise self.error(f"[{edge}] does not lead from {source or '*'} to {target or '*'}", edge.at, hint)
        return Move(relation.name, forward or relation.symmetric, edge.closure)

    def relations_hint(self, source: str | None, target: str | None) -> str:
        """Return a hint with the relations between two types or, if there are none, of the first."""
        between = [f"[{relation.name}]" for relation, _ in self.schema.relations_between(source, target)]
        if between:
            return f"Relations between {source or '*'} and {target or '*'}: {', '.join(between[:8])}"
        others = [
            f"[{relation.name}] {other.name}"
            for other in self.schema.node_types
            for relation, _ in self.schema.relations_between(source, other.name)
        ]
        if not others:
            return f"{source} has no relations"
        return f"Relations of {source}: {', '.join(others[:8])}{', ...' * (len(others) > 8)}"

    def may_lack(self, move: Move, source: str | None, target: str) -> bool:
        """Return whether a move may end in nodes without the type ``target``."""
        if move.closure == "*" and source != target:
            return True
        joins = (join for join in self.schema.relation(move.relation).joins() if join.forward == move.forward)
        return any(j.target != target for j in joins if move.closure or self.schema.may_have(j.source, source))


def _has_superlative(tree: syntax.Filter) -> bool:
    return any(isinstance(test, syntax.Superlative) for test in tree.conditions)


def _kind(node_type: str | None, is_value: bool) -> str:
    return f"a value ({node_type})" if is_value else f"a node ({node_type or '*'})"


def _signatures(relation: Relation) -> str:
    signatures = ", ".join(f"{s.head} -> {s.tail}" for s in relation.signatures[:4])
    return f"{relation.name} joins {signatures}{', ...' * (len(relation.signatures) > 4)}"
