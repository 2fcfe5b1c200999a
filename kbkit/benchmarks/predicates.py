"""Which types, relations and attributes of a KB are fit to be asked about: one filter for all benchmarks.

The words decide (:mod:`kbkit.english.askable`): identifiers, media, positions on a map, the structure of the KB, and
the notes of its editors are left out, such as Wikidata's property examples.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from kbkit.answers.algebra import AttributeFilter, Hop, Move, Operator
from kbkit.answers.operator_tree import operators
from kbkit.answers.parse import parse
from kbkit.answers.syntax import Expression
from kbkit.answers.templates import Template
from kbkit.english.askable import (
    A_NAME,
    MONEY,
    RATER,
    UNIT,
    is_technical,
    lacks_currency,
    lacks_rater,
    lacks_unit,
    unfit_as_condition,
)
from kbkit.english.attributes import attribute_words
from kbkit.english.readable import UNKNOWN_WORD, attribute_problem
from kbkit.english.relations import NO_VERB, Link, mismatch, objection
from kbkit.english.types import type_noun
from kbkit.english.words import spoken
from kbkit.kb import KnowledgeBase
from kbkit.schema import Attribute, NodeType, Relation, Schema

_NUMERIC = re.compile(r"U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|DOUBLE|FLOAT|REAL|DECIMAL.*")
CONSTANT = 0.95
"""Fraction of equal values from which an attribute is nearly constant: its other values are often errors."""
OWN_TYPES = frozenset(("property", "lexeme", "form", "sense", "unit_of_measurement"))
"""Types of Wikidata's own parts."""


def unfit_type(node_type: NodeType) -> str:
    """Return why no question is about nodes of a type, or ""."""
    return "a part of the KB itself" if node_type.name in OWN_TYPES else ""


def technical(predicate: Relation | Attribute) -> bool:
    """Return whether a relation or attribute is nothing to read: an identifier, a file, a position, a note of editors,
    or an attribute of unknown words.

    Such predicates are no part of the noise either, and no columns of tables.
    """
    if isinstance(predicate, Relation):
        return is_technical(_words(predicate), "entity")
    return is_technical(_words(predicate), "text") or attribute_problem(_words(predicate)) == UNKNOWN_WORD


def unfit_relation(relation: Relation) -> str:
    """Return why no question mentions a relation, or ""."""
    return unfit_as_condition(_words(relation), "entity")


def unfit_attribute(attribute: Attribute) -> str:
    """Return why no question mentions an attribute, or ""."""
    noun, unit, _ = attribute_words(attribute)
    if _NUMERIC.fullmatch(attribute.type):
        if lacks_currency(noun, unit.words if unit else ""):
            return MONEY
        if lacks_unit(noun, unit.words if unit else ""):
            return UNIT
        if lacks_rater(noun):
            return RATER
    return unfit_as_condition(noun, "text")


def unfit_expression(kb: KnowledgeBase, expression: str | Expression, *, is_worded: bool = False) -> str:
    """Return why no question is made from an expression, which may have slots, or "".

    Its relations (inferred ones too), the attributes of its conditions, and the types of its nodes are checked.
    ``is_worded``: it has a phrase of its own, so that the labels of relations do not matter.
    """
    tree = parse(expression) if isinstance(expression, str) else expression
    plan = kb.session.resolved(tree, str(expression))
    return next(filter(None, (_problem(one, kb.schema, is_worded=is_worded) for one in operators(plan.root))), "")


def fit_templates(kb: KnowledgeBase, templates: Iterable[Template]) -> list[Template]:
    """Return the templates that questions can be made from."""
    return [
        template for template in templates if not unfit_expression(kb, template.tree(), is_worded=bool(template.phrase))
    ]


def unfit_predicates(schema: Schema) -> dict[str, str]:
    """Return the relations of a schema that no question mentions, with the reason."""
    reasons = {relation.name: unfit_relation(relation) for relation in schema.relations}
    return {name: reason for name, reason in reasons.items() if reason}


def _words(predicate: Relation | Attribute) -> str:
    if isinstance(predicate, Relation):
        return spoken(predicate.label or predicate.name)
    return attribute_words(predicate).noun


def _unfit_step(schema: Schema, hop: Hop, move: Move, *, is_worded: bool) -> str:
    """Return why no question follows a relation in one direction, or ""."""
    relation = schema.relation(move.relation)
    link = Link(relation, hop.type or "", hop.source.type, of_head=not move.forward)
    has_no_verb = link.is_record and not (link.of_head and not objection(schema, link))
    why = NO_VERB * has_no_verb or mismatch(link)
    return unfit_relation(relation) or (f"a relation whose label has {why}" if why and not is_worded else "")


def _problem(operator: Operator, schema: Schema, *, is_worded: bool) -> str:
    if operator.type and (reason := unfit_type(schema.type(operator.type))):
        return f"{operator.type} is {reason}"
    if isinstance(operator, Hop):
        names = {move.relation: _unfit_step(schema, operator, move, is_worded=is_worded) for move in operator.moves}
    elif isinstance(operator, AttributeFilter):
        known = {a.name: a for kind in schema.node_types for a in kind.attributes}
        tested = [name for condition in operator.conditions for name in condition.attributes]
        names = {name: unfit_attribute(known[name]) for name in tested if name in known}
        if operator.type:  # the Maker of a car maker is its name
            last = type_noun(operator.type).rpartition(" ")[2]
            names |= {name: A_NAME for name in names if _words(known[name]).casefold() == last}
    else:
        return ""
    return next((f"{name} is {reason}" for name, reason in names.items() if reason), "")
