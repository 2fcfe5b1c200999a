"""Nodes that are only referred to, of which a table has no row: a question for names is not about them."""

from __future__ import annotations

from kbkit.answers.syntax import Condition, Expression, Filter, Nodes, replaced, subtrees
from kbkit.questions.elements import Elements
from kbkit.questions.question import Question
from kbkit.schema import NodeType, quote

_NAMES = ("name", "names")


def without_nameless(elements: Elements, tree: Expression, question: Question) -> Expression:
    """Return an expression without the nodes that have nothing but a key, if a question asks for names."""
    if not elements.typed or all(token.word not in _NAMES for token in question.tokens):
        return tree
    used = {part.type for part in subtrees(tree) if isinstance(part, Nodes) and part.selector is None}
    for kind in (one for one in elements.types if one.name in used):
        if attribute := _told_by(elements, kind):
            known = Condition(attribute, "missing", (), negated=True)
            tree = replaced(tree, Nodes(kind.name), Filter(Nodes(kind.name), (known,)))
    return tree


def _told_by(elements: Elements, kind: NodeType) -> str:
    """Return an attribute that exactly the nodes of a type lack which have only a key; empty if there are none."""
    if not kind.attributes:
        return ""
    bare = " AND ".join(["name = key", *(f"{quote(one.name)} IS NULL" for one in kind.attributes)])
    lacking = ", ".join(f"count(*) - count({quote(one.name)})" for one in kind.attributes)
    sql = f"SELECT count(*) FILTER ({bare}), count(*) FILTER (name <> key), {lacking} FROM {quote(kind.table)}"
    [(nameless, named, *missing)] = elements.session.stores.tables.rows(sql)
    found = (one.name for one, count in zip(kind.attributes, missing, strict=True) if count == nameless)
    return next(found, "") if 0 < nameless < named else ""
