"""The distinct values of text attributes: read once for each open KB and column, for questions and for suggestions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbkit.answers.algebra import AttributeCondition, AttributeFilter, Plan
from kbkit.answers.bind import Bindings, Constant
from kbkit.answers.operator_tree import plan_operators
from kbkit.answers.session import Session
from kbkit.answers.syntax import identifier, quoted
from kbkit.errors import suggest
from kbkit.stores import Stores
from kbkit.stores.node_values import MAX_VALUES, values_sql

if TYPE_CHECKING:
    from kbkit.schema import Attribute, NodeType

_LONGEST = 80
"""Letters of a value that is suggested."""


class ColumnValues:
    """The distinct values of text attributes by type and attribute, read at the first access."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self._known: dict[tuple[str, str], list[str]] = {}

    @staticmethod
    def of(stores: Stores) -> ColumnValues:
        """Return the values of an open KB, the same object each time."""
        return stores.shared(ColumnValues)

    def distinct(self, node_type: NodeType, attribute: Attribute) -> list[str]:
        """Return the distinct values of a text attribute; none if there are more than ``MAX_VALUES``."""
        key = (node_type.name, attribute.name)
        if key not in self._known:
            listed = self._stores.nodes.values
            values = listed.of(*key) if listed is not None else None
            if values is None:  # an earlier version built the KB, or it has too many columns
                values = self._stores.tables.lookup(values_sql(node_type, attribute))["value"].to_list()
            self._known[key] = values if len(values) <= MAX_VALUES else []
        return self._known[key]


def unknown_values(plan: Plan, session: Session, bound: Bindings) -> list[str]:
    """Return a message about each text that an attribute is compared with and that no node has, with close values.

    Only ``=``, ``!=`` and ``in`` are considered, and columns with at most ``MAX_VALUES`` distinct values.
    """
    messages: dict[str, None] = {}
    for part in plan_operators(plan):
        if isinstance(part, AttributeFilter) and part.type is not None:
            for condition in part.conditions:
                if condition.op in ("=", "!=", "in"):  # a misspelled exclusion excludes nothing
                    messages |= dict.fromkeys(_messages(session, part.type, condition, bound))
    return list(messages)


def _messages(session: Session, type_name: str, condition: AttributeCondition, bound: Bindings) -> list[str]:
    constants = (bound[name] for name in condition.parameters)
    texts = [constant.text for constant in constants if isinstance(constant, Constant)]
    hints = {text: _hint(session, type_name, condition.attribute, text) for text in texts}
    return [
        f"No {type_name} has {identifier(condition.attribute)} {quoted(text)}{'. ' if hint else ''}{hint}"
        for text, hint in hints.items()
        if hint is not None
    ]


def _hint(session: Session, type_name: str, name: str, text: str) -> str | None:
    """Return the values close to one that no node has; None if a node has it, or if it is not known whether one has."""
    node_type = session.schema.type(type_name)
    if name == "name":
        nodes = session.stores.nodes
        if any(row.name == text for row in nodes.by_name(type_name, [text])[0]):
            return None
        close = dict.fromkeys(row.name for row in nodes.closest(text, type_name))
        return suggest(text, close, noun="values") if close else ""
    attribute = next((a for a in node_type.attributes if a.name == name), None)
    if attribute is None or not attribute.type.startswith("VARCHAR"):
        return None
    known = ColumnValues.of(session.stores).distinct(node_type, attribute)
    if not known or text in known:
        return None
    return suggest(text, [value for value in known if len(value) <= _LONGEST], noun="values")
