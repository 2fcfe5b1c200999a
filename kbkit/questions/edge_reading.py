"""Readings with a condition on the edges of a step, or a superlative of what their attributes add up to."""

from __future__ import annotations

from dataclasses import replace

from kbkit.answers.syntax import (
    Aggregate,
    Combine,
    Comparison,
    Condition,
    Edge,
    Expression,
    Filter,
    Group,
    Nodes,
    Path,
    PathFunction,
    Step,
    Superlative,
    ValueColumn,
    set_of,
    subtrees,
)
from kbkit.errors import KbError
from kbkit.questions.chain_reading import ChainReading
from kbkit.questions.clause_reading import ClauseReading, WordMatch
from kbkit.questions.composed_reading import ComposedReading
from kbkit.questions.edge_words import EdgeWords
from kbkit.questions.elements import Elements
from kbkit.questions.expressions import step
from kbkit.questions.lexicon import label_words


def with_edges(elements: Elements, tree: Expression, said: EdgeWords) -> Expression | None:
    """Return an expression with the condition or superlative of edges; None if it fits nowhere or in several places."""
    if said.is_sum:
        return _summed(elements, tree, said)
    if isinstance(tree, Aggregate):
        if said.condition is None and tree.op != "values":
            return None  # the number of the players with the most prize money
        source = with_edges(elements, tree.source, said)
        return None if source is None else replace(tree, source=source)
    if any(isinstance(part, PathFunction) for part in subtrees(tree)):
        return None  # more than 2 employees who worked over 15 hours: of which edges is the number?
    return _best(elements, tree, said) if said.condition is None else _tested(elements, tree, said, said.condition)


def _tested(elements: Elements, tree: Expression, said: EdgeWords, condition: Condition) -> Expression | None:
    """Return an expression with a condition on the edges of the one step that it is about."""
    edge = Edge(said.relation.name, conditions=(condition,))
    places = _Places(elements, edge)
    changed = places.of(tree)
    if places.count or places.is_other:
        return changed if places.count == 1 and not places.is_other else None
    if condition.op == "missing":
        return None  # current members: not those with a coach at present
    return _reached(elements, tree, edge)


class _Places:
    """Puts an edge with conditions in the place of each step of its relation, and counts these."""

    def __init__(self, elements: Elements, edge: Edge) -> None:
        self._elements, self._edge = elements, edge
        self.count, self.is_other = 0, False

    @property
    def relation(self) -> str:
        """The relation."""
        return self._edge.relation

    def of(self, tree: Expression) -> Expression:
        """Return a tree with conditions on the steps of its paths."""
        if isinstance(tree, Filter):
            return Filter(self.of(tree.source), tree.conditions)
        if isinstance(tree, Combine):
            self.is_other |= tree.op == "-"  # is the condition one on what is excluded?
            return replace(tree, parts=tuple(map(self.of, tree.parts)))
        return self._path(tree) if isinstance(tree, Path) else tree

    def _path(self, path: Path) -> Path:
        elements: list[Expression | Step] = []
        arrows: list[str] = []
        for number, element in enumerate(path.elements):
            before = path.elements[number - 1] if number else None
            if isinstance(element, Step):
                elements.append(self._step(element))
            elif before is not None and not isinstance(before, Step) and self._is_followed(before, element):
                self.count += 1
                elements += [Step((self._edge,)), self.of(element)]
                arrows.append(path.arrows[number - 1])
            else:
                elements.append(self.of(element))
            if number:
                arrows.append(path.arrows[number - 1])
        return Path(tuple(elements), tuple(arrows))

    def _step(self, step: Step) -> Step:
        if all(edge.relation != self._edge.relation for edge in step.edges):
            return step
        self.count += 1
        self.is_other |= step.negated or len(step.edges) > 1 or bool(step.edges[0].closure)
        return Step((replace(self._edge, inverse=step.edges[0].inverse),))

    def _is_followed(self, before: Expression, after: Expression) -> bool:
        """Return whether the relation that is inferred between two sets is the one."""
        session = self._elements.session
        choices = session.schema.relations_between(session.resolved(before).type, session.resolved(after).type)
        return len(choices) == 1 and choices[0][0].name == self._edge.relation


def _reached(elements: Elements, tree: Expression, edge: Edge) -> Expression | None:
    """Return the nodes of a set that an edge with conditions leads to, whatever is at its other end."""
    relation = elements.session.schema.relation(edge.relation)
    mine = elements.session.resolved(tree).type
    others = {(s.tail if s.head == mine else s.head) for s in relation.signatures if mine in (s.head, s.tail)}
    if len(others) != 1 or mine in others or isinstance(tree, (Path, Combine)) or _is_named(tree):
        return None
    return Path((Nodes(others.pop()), Step((edge,)), tree), ("->", "->"))


def means_more(elements: Elements, tree: Expression, said: EdgeWords) -> bool:
    """Return whether an expression tests an attribute of other nodes whose name has more words than an edge's.

    The prize_fund of tournaments is hardly meant where the edges of players have a prize.
    """
    words = {*label_words(said.attribute.name)}
    named: set[str] = set()
    for part in subtrees(tree):
        if isinstance(part, Condition):
            named.add(part.attribute)
        elif isinstance(part, (Superlative, Comparison, ValueColumn)) and isinstance(part.measure, str):
            named.add(part.measure)
    kind = elements.session.resolved(set_of(tree)).type
    own = {a.name for t in elements.types if t.name == kind for a in t.attributes}
    return any(words < {*label_words(name)} for name in named - own)


def _is_named(tree: Expression) -> bool:
    return isinstance(tree, Nodes) and tree.selector is not None


def _best(elements: Elements, tree: Expression, said: EdgeWords) -> Expression | None:
    """Return the nodes of a set whose edges have the greatest (or least) sum, average or value."""
    kind = elements.session.resolved(tree).type
    if kind is None or _is_named(tree):
        return None
    places = _Places(elements, Edge(said.relation.name))
    places.of(tree)
    path = _path_back(places, tree) if places.count else _path_to(elements, kind, said)
    if path is None:
        return None
    measure = PathFunction(path, ("->",) * len(path), op=said.total, attribute=said.attribute.name)
    op, number = ("max", None) if said.number == 1 else ("top", said.number)
    op = op if said.sign > 0 else {"max": "min", "top": "bottom"}[op]
    return Filter(tree, (Superlative(op, measure, number=number),))


def _summed(elements: Elements, tree: Expression, said: EdgeWords) -> Expression | None:
    """Return what the edges of nodes add up to, of all of them or by an attribute: *total fines by district*."""
    groups: tuple[Group, ...] = ()
    if isinstance(tree, Aggregate):
        is_plain = tree.op == "values" and not tree.groups and not tree.order and len(tree.columns) == 1
        column = tree.columns[0].measure if is_plain else None
        if not said.is_grouped or not isinstance(column, str):
            return None
        tree, groups = tree.source, (Group(column),)
    elif said.is_grouped:
        groups = (Group("name"),)
    kind = elements.session.resolved(tree).type
    path = None if kind is None else _path_to(elements, kind, said)
    if path is None:
        return None
    measure = PathFunction(path, ("->",) * len(path), op="sum", attribute=said.attribute.name)
    if groups:  # of what has such edges
        tree = Filter(tree, (Comparison(PathFunction(path, ("->",) * len(path)), ">", 0),))
    return Aggregate("sum", tree, (ValueColumn(measure),), groups)


def _path_back(places: _Places, tree: Expression) -> tuple[Expression | Step, ...] | None:
    """Return the step back from the nodes of a set that one step of the relation leads to: the most hours on a project
    are hours on that project. None if the relation is followed elsewhere.
    """
    if places.count > 1 or places.is_other or not isinstance(tree, Path) or "<-" in tree.arrows:
        return None
    sets = [element for element in tree.elements if not isinstance(element, Step)]
    return (Step((Edge(places.relation),)), sets[0]) if len(sets) == 2 else None


def _path_to(elements: Elements, kind: str, said: EdgeWords) -> tuple[Expression | Step, ...] | None:
    """Return the shortest path from nodes of a type that ends with the relation; None if there are none or several."""
    types = {t.name: number for number, t in enumerate(elements.types)}
    schema = elements.session.schema
    found: list[tuple[int, tuple[Expression | Step, ...]]] = []
    for signature in schema.relation(said.relation.name).signatures:
        for near, far in ((signature.head, signature.tail), (signature.tail, signature.head)):
            if far in (kind, near):
                continue
            for hops in elements.paths(types[kind], types[near]):
                before: list[Expression | Step] = []
                for hop in (elements.all[at] for at in hops):
                    before += [step(elements, hop), Nodes(elements.types[hop.target].name)]
                found.append((len(hops), (*before, Step((Edge(said.relation.name),)), Nodes(far))))
    found.sort(key=lambda one: one[0])
    if not found or (len(found) > 1 and found[0][0] == found[1][0]):
        return None
    is_own = any(
        a.name.casefold() == said.attribute.name.casefold() for a in schema.type(_last(found[0][1])).attributes
    )
    return None if is_own else found[0][1]


def _last(path: tuple[Expression | Step, ...]) -> str:
    end = path[-1]
    assert isinstance(end, Nodes) and end.type is not None
    return end.type


def edge_reading(
    elements: Elements, best: ClauseReading | ChainReading, clauses: ClauseReading, said: EdgeWords, certainty: float
) -> ComposedReading | None:
    """Return the reading of a question from that of its other words (``best``, beside the one by clauses)."""
    if best.tree is None:
        return None
    try:
        tree = with_edges(elements, best.tree, said)
        if tree is not None:
            elements.session.resolved(tree)
    except KbError:
        return None
    if tree is None:
        return None
    parts = (elements, clauses.links, clauses.clauses, clauses.planner)
    match = WordMatch(said.words, f"{said.relation.name}.{said.attribute.name}", 1.0)
    return ComposedReading(*parts, tree, parts=(best,), said=(match,), certainty=certainty)
