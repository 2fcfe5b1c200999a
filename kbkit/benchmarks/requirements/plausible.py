"""Filter templates by whether a person would ask them.

Left out are the structure of the KB, relations that most nodes have no value of, and chains of unrelated steps.

The rules were set by reading drafts for an atlas, films, papers and foreign databases. They hold for suggested
templates only: a user who names a template wants it.
"""

from __future__ import annotations

from collections.abc import Mapping

from kbkit.answers import syntax
from kbkit.answers.algebra import Difference, Hop, Intersection, Lookup, Operator, Plan
from kbkit.answers.operator_tree import operators
from kbkit.answers.parse import parse
from kbkit.answers.wording import noun_of, noun_phrase
from kbkit.benchmarks.fit_nodes import (
    COVERED_HEADS,
    below,
    coverage,
    describes,
    head_nouns,
    is_function,
    is_sparse,
    mixed_types,
)
from kbkit.benchmarks.incomplete import gapped, is_sample, truncated
from kbkit.benchmarks.predicates import unfit_expression
from kbkit.english.markers import is_marker
from kbkit.english.relations import Link
from kbkit.english.roles import is_untyped, tail_noun
from kbkit.english.types import THING, WORKS, are_people, type_noun
from kbkit.english.words import is_person
from kbkit.kb import KnowledgeBase
from kbkit.schema import Schema


def implausible(kb: KnowledgeBase, expression: str, *, with_texts: bool = False) -> str:
    """Return why a reader would not ask for the answers of an expression, or "".

    ``with_texts``: also for what texts say of them, which singles out one of the lakes of a country though the KB does
    not have all.
    """
    tree = parse(expression)
    if why := unfit_expression(kb, tree):
        return why
    plan = kb.session.resolved(tree, expression)
    root = plan.root
    heads = head_nouns(kb)
    if root.type and type_noun(root.type) == THING and not (heads and noun_phrase(plan, kb.schema, heads)):
        return f"{root.type} says nothing of its nodes"
    if root.type and is_sample(kb, root.type) and not (with_texts and has_few_steps(tree)):
        return f"the KB has only some nodes of type {root.type}"
    if mixed := mixed_types(kb).intersection(one.type or "" for one in operators(root) if isinstance(one, Hop)):
        return f"nodes of type {min(mixed)} are of several kinds"
    if name := _ambiguous(kb.schema, root):
        return f"relation {name} is worded as another one"
    tagged = f"{root.type} are asked for by a tag and by no person" if _is_tagged_alone(kb, root) else ""
    return tagged or _unknown(kb, root) or _implausible_chain(kb, plan)


def has_few_steps(tree: syntax.Expression) -> bool:
    """Return whether an expression has one step."""
    return sum(isinstance(part, syntax.Step) for part in syntax.subtrees(tree)) == 1


def _is_tagged_alone(kb: KnowledgeBase, root: Operator) -> bool:
    """Return whether works are asked for by a tag and something else than a person: *Danish films tagged 'earth'*."""
    joined = root.left if isinstance(root, Difference) else root
    parts = joined.parts if isinstance(joined, Intersection) else ()
    if type_noun(root.type or "").rpartition(" ")[2] not in WORKS:
        return False
    are_tags = [isinstance(part, Hop) and is_marker(part.source.type or "") for part in parts]
    return any(are_tags) and not any(_names_person(kb, part) for part in parts)


def _unknown(kb: KnowledgeBase, root: Operator) -> str:
    """Return why the values of a relation of an expression are not known well enough, or ""."""
    if name := _sparse(kb, root):
        return f"too few nodes have a value of relation {name}"
    if name := gapped(kb, root):
        return f"many nodes have no value of relation {name}"
    name = truncated(kb, root)
    return f"of relation {name} only the first few values are known" if name else ""


def _implausible_chain(kb: KnowledgeBase, plan: Plan) -> str:
    """Return why a reader would not ask for the end of a chain, or ""."""
    root = plan.root
    if _turns_back(kb, plan):
        return "a chain that turns back on one relation"
    return _of_other_kind(kb, root, _middle(root))


def _of_other_kind(kb: KnowledgeBase, root: Operator, middle: str) -> str:
    """Return why a reader would not go from the start or the middle of a chain to its end, or ""."""
    hops = _hops(root)
    if not hops or not middle or not root.type:
        return ""
    start, leads_back = hops[0].source.type or "", _leads_back(root)
    reasons = {
        # Rivers that flow into a river in Chile.
        f"{root.type} are asked for by way of others": middle == root.type and not is_untyped(middle),
        # Mountains in a country that uses the euro.
        f"{start} only describes {middle}": bool(start) and describes(kb, start, middle),
        f"{middle} only describes {root.type}": leads_back and describes(kb, middle, root.type),
        f"{root.type} only describes {middle}": describes(kb, root.type, middle),
        f"{root.type} are asked for by way of a thing of another type": leads_back and _is_detour(root),
        f"{root.type} and the named thing are related only through {middle}": _is_aside(root),
    }
    return next((why for why, holds in reasons.items() if holds), "")


def _ambiguous(schema: Schema, root: Operator) -> str:
    """Return a relation of an expression whose words also mean another relation of the same types, or ""."""
    for hop in (operator for operator in operators(root) if isinstance(operator, Hop)):
        subject, source = hop.type or "", hop.source.type or ""
        for move in hop.moves:
            ends = (source, subject) if move.forward else (subject, source)
            verb = Link(schema.relation(move.relation), subject, source, of_head=not move.forward).verb
            for other in schema.relations:
                is_like = other.name != move.relation and any((s.head, s.tail) == ends for s in other.signatures)
                if is_like and verb == Link(other, subject, source, of_head=not move.forward).verb:
                    return move.relation
    return ""


def _turns_back(kb: KnowledgeBase, plan: Plan) -> bool:
    """Return whether a chain follows a relation forward and back, and has no wording such as *in the same country*.

    *Cities that are the capital of a country that has the capital Pretoria*, not *in the same country as Pretoria*.
    """
    if not _leads_back(plan.root):
        return False
    hops, heads = _hops(plan.root), head_nouns(kb)
    if heads and hops and is_untyped(hops[0].type):  # by the director of X
        return not is_person(noun_of(hops[0], kb.schema, heads))
    words = noun_phrase(plan, kb.schema)
    return words is not None and words.is_nested


def _sparse(kb: KnowledgeBase, root: Operator) -> str:
    """Return a relation of an expression for which most nodes of the resulting type have no value, or ""."""
    heads = head_nouns(kb) or {}
    for hop in (operator for operator in operators(root) if isinstance(operator, Hop) and operator.type):
        assert hop.type is not None
        for move in hop.moves if is_untyped(hop.type) else ():
            if move.relation in heads and _of_few_heads(kb, move.relation, heads):
                return move.relation
        moves = [(move.relation, move.forward) for move in hop.moves]
        if is_sparse(hop.type, hop.source.type or "", coverage(kb, hop.type, moves)):
            return hop.moves[0].relation
    return ""


def _names_person(kb: KnowledgeBase, part: Operator) -> bool:
    """Return whether a step begins at a person: readers know what an actor did with a director."""
    if not isinstance(part, Hop) or not is_untyped(part.source.type):
        return isinstance(part, Hop) and are_people(part.source.type or "")
    return all(not move.forward and is_person(tail_noun(kb.schema.relation(move.relation))) for move in part.moves)


def _of_few_heads(kb: KnowledgeBase, relation: str, heads: Mapping[str, str]) -> bool:
    """Return whether too few of the nodes without a type that have a noun, such as films, have a relation."""
    like = [name for name, noun in heads.items() if noun == heads[relation]]
    members = kb.session.members(None)
    counts = {name: int((kb.session.move(name, True).ranges(members)[1] > 0).sum()) for name in like}
    return counts[relation] < COVERED_HEADS * max(counts.values())


def asks_for_own_parts(kb: KnowledgeBase, expression: str) -> bool:
    """Return whether an expression follows a relation to parts by one step: parts of parts are parts too."""
    root = kb.session.resolved(parse(expression), expression).root
    for hop in (operator for operator in operators(root) if isinstance(operator, Hop) and operator.type):
        for move in hop.moves:
            if not move.closure and below(kb, kb.schema.relation(move.relation), hop.type or "") is not None:
                return True
    return False


def is_plain_chain(kb: KnowledgeBase, expression: str) -> bool:
    """Return whether each of two steps from a named node leads to one node: *the continent of the country of X*."""
    hops = _hops(kb.session.resolved(parse(expression), expression).root)
    return (
        hops is not None
        and isinstance(hops[0].source, Lookup)
        and all(is_function(kb, hop.source.type, [(m.relation, m.forward) for m in hop.moves]) for hop in hops)
    )


def _is_aside(root: Operator) -> bool:
    """Return whether a chain joins a fact about a person with an unrelated one.

    *Continents that contain the country that Jane Doe is a citizen of*, *birthplaces of chemists*.
    """
    hops = _hops(root)
    if not hops:
        return False
    types = [one.type or "" for one in (hops[0].source, *hops)]
    people = [are_people(name) for name in types]
    if any(type_noun(name).rpartition(" ")[2] in WORKS for name in types):
        return False
    return sum(people[:2]) == 1 and not people[2]


def _is_detour(root: Operator) -> bool:
    """Return whether a chain that leads back starts at a thing of another type, not a work: *lakes in the same country
    as Mont Blanc*, of which a person would name the country.
    """
    hops = _hops(root)
    start = hops[0].source.type if hops else None
    return start is not None and start != root.type and type_noun(start).rpartition(" ")[2] not in WORKS


def _leads_back(root: Operator) -> bool:
    """Return whether a chain follows a relation forward and back: *in the same language as X*."""
    hops = _hops(root)
    if not hops:
        return False
    first, last = hops
    return [(m.relation, m.forward) for m in last.moves] == [(m.relation, not m.forward) for m in first.moves]


def _hops(root: Operator) -> tuple[Hop, Hop] | None:
    """Return the last two steps of an expression; None if it has no two steps in a row."""
    chain = root.left if isinstance(root, Difference) else root
    return (chain.source, chain) if isinstance(chain, Hop) and isinstance(chain.source, Hop) else None


def _middle(root: Operator) -> str:
    """Return the type of the nodes that a chain passes without a name, or ""."""
    hops = _hops(root)
    return hops[0].type or "" if hops else ""
