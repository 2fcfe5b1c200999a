"""Resolve a syntax tree with a schema to a plan: types, relations and directions. Looks up no nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kbkit.answers import syntax
from kbkit.answers.algebra import (
    AllNodes,
    Difference,
    Hop,
    Lookup,
    MeasureStep,
    Move,
    Operator,
    Plan,
    SavedNodes,
    Union,
)
from kbkit.answers.conjunctions import conjunction
from kbkit.answers.errors import not_whole
from kbkit.answers.last_steps import last_steps
from kbkit.answers.resolve_conditions import ConditionResolver, is_about_set
from kbkit.answers.syntax import Nodes, Path, Step
from kbkit.errors import UnknownNameError, suggest
from kbkit.schema import Relation, Schema


def resolve(
    tree: syntax.Expression, schema: Schema, saved: Mapping[str, str | None] | None = None, text: str = ""
) -> Plan:
    """Return the plan of ``tree`` for KBs of a schema.

    ``saved`` has the type of each saved set; ``text`` is the source of the tree, for positions in errors. Raises
    :class:`ExpressionError` for unknown types, relations and attributes, and for steps that the schema does not allow.
    """
    return _Resolver(schema, text or str(tree), saved or {}).plan(tree)


class _Resolver(ConditionResolver):
    def plan(self, tree: syntax.Expression) -> Plan:
        if not isinstance(tree, syntax.Aggregate):
            return Plan(self.set(tree), tuple(self.parameters.values()), self.text)
        root = self.set(tree.source)
        total = self.total(tree, root.type, last_steps(root))
        return Plan(root, tuple(self.parameters.values()), self.text, total)

    # -- sets ---------------------------------------------------------------------------------------------------------

    def set(self, tree: syntax.Expression) -> Operator:
        match tree:
            case Nodes():
                return self.nodes(tree)
            case syntax.SavedSet():
                if tree.name not in self.saved:
                    raise self.error(f"Unknown saved set @{tree.name}", tree.at, suggest(tree.name, self.saved))
                return SavedNodes(self.saved[tree.name], tree.name)
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
        node_type = self.set(element).type
        self.parameters = saved_parameters  # resolved again where it is used
        return node_type

    def restrict(self, reached: list[Operator], element: syntax.Expression) -> Operator:
        """Return the nodes that all arms reached and that are in the set of ``element``."""
        # Conditions can be tested on the nodes reached, but a superlative is about the whole set of the element.
        if isinstance(element, syntax.Filter) and not _has_superlative(element):
            return self.filter(self.restrict(reached, element.source), element.conditions)
        if isinstance(element, Nodes) and element.selector is None:
            return conjunction(reached)
        return conjunction([*reached, self.set(element)])

    def steps(self, node_type: str | None, path: syntax.PathFunction) -> tuple[MeasureStep, ...]:
        """Resolve a path from each node of a type."""
        elements = self.bracketed_relations([Nodes(node_type), *path.elements])[1:]
        near, step, steps = node_type, None, []
        for element in elements:
            if isinstance(element, Step):
                step = element
                continue
            target = self.target_type(element)
            moves = self.moves(near, step, target, element.at, reverse=path.arrows[0] == "<-")
            bare = isinstance(element, Nodes) and element.selector is None
            within = None if bare else self.set(element)
            if bare and target is not None and any(self.may_lack(move, near, target) for move in moves):
                within = AllNodes(target)
            steps.append(MeasureStep(moves, target, within))
            near, step = target, None
        return tuple(steps)

    def moves(
        self, source: str | None, step: Step | None, target: str | None, at: int, *, reverse: bool = False
    ) -> tuple[Move, ...]:
        """Return the moves of a step; with ``reverse``, from its target back to its source."""
        near, far = (target, source) if reverse else (source, target)
        if step is None:
            moves = [self.inferred(near, far, at)]
        else:
            moves = [move for edge in step.edges for move in self.conditioned(edge, self.move(edge, near, far))]
        if reverse:
            symmetric = {r.name for r in self.schema.relations if r.symmetric}
            moves = [replace(m, forward=m.relation in symmetric or not m.forward) for m in moves]
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

    def conditioned(self, edge: syntax.Edge, move: Move) -> list[Move]:
        """Return a move with each alternative of the conditions on its edges: a date in one of two years has two."""
        if not edge.conditions:
            return [move]
        if edge.closure:
            message = f"[{edge.relation}{edge.closure}] cannot have conditions: they hold for the edges of one step"
            raise self.error(message, edge.at, f"Write [{syntax.Edge(edge.relation)}{{...}}] for each step")
        relation = self.schema.relation(move.relation)
        tests = [self.edge_test(relation, test) for test in edge.conditions]
        return [replace(move, conditions=chosen) for chosen in self.together(tests, edge.at)]

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
    return any(is_about_set(test) for test in tree.conditions)


def _signatures(relation: Relation) -> str:
    signatures = ", ".join(f"{s.head} -> {s.tail}" for s in relation.signatures[:4])
    return f"{relation.name} joins {signatures}{', ...' * (len(relation.signatures) > 4)}"
