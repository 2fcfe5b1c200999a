"""A plan's parameters -> nodes and constants: names are looked up once, before anything runs or is compiled."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from kbkit.answers.algebra import Parameter, Plan
from kbkit.answers.parse import ExpressionError
from kbkit.answers.syntax import Key, Name, Slot, Value, picked, quoted
from kbkit.errors import INVALID_UNICODE, INVALID_UNICODE_HINT, KbError, UnknownNameError, unpaired_surrogate
from kbkit.schema import Schema, literal
from kbkit.stores.tables import Error, Tables, closest_nodes, first_line

if TYPE_CHECKING:
    from kbkit.answers.session import Session


class Node(NamedTuple):
    """A node as a parameter holds it; ``type`` is its primary type."""

    id: int
    type: str
    key: str
    name: str

    @property
    def reference(self) -> str:
        """``type#key``."""
        return f"{self.type}#{self.key}"


@dataclass(frozen=True)
class Constant:
    """A value cast to ``sql_type``, as DuckDB writes it."""

    text: str
    sql_type: str


Bindings: TypeAlias = Mapping[str, tuple[Node, ...] | Constant]
"""What each parameter of a plan stands for."""


def bind(plan: Plan, session: Session, slots: Mapping[str, Value]) -> dict[str, tuple[Node, ...] | Constant]:
    """Look up every parameter of ``plan``; ``slots`` gives the slots' values.

    Raises :class:`ExpressionError` for unknown and ambiguous names, for values that do not fit their attribute, and for
    slots without a value; :class:`UnknownNameError` for a value of no slot.
    """
    check_slots(plan, slots)
    found: dict[str, tuple[Node, ...] | Constant] = {}
    for parameter in plan.parameters:
        given = slots[parameter.given.name] if isinstance(parameter.given, Slot) else parameter.given
        if parameter.value:
            found[parameter.name] = constant(plan, parameter, session.stores.tables, given)
        else:
            pick = given if isinstance(given, (Name, Key)) else pick_of(plan, parameter, given)
            found[parameter.name] = named(plan, parameter, session, pick)
    return found


def check_slots(plan: Plan, given: Mapping[str, object] | Sequence[str]) -> None:
    """Refuse slots that the plan does not have, and those that it has and nobody filled."""
    for name in given:
        if name not in plan.slots:
            raise UnknownNameError("slot", name, plan.slots, where=" ".join(plan.text.split()))
    for parameter in plan.parameters:
        if isinstance(parameter.given, Slot) and _lacks(given, parameter.given.name):
            what = "a value" if parameter.value else f"the name of {parameter.type or 'a node'}, or #key"
            raise ExpressionError(
                f"slot <{parameter.given.name}> has no value",
                f"-p '{parameter.given.name}=...' gives it {what}",
                text=plan.text,
                at=parameter.at,
            )


def _lacks(given: Mapping[str, object] | Sequence[str], name: str) -> bool:
    return name not in given or (isinstance(given, Mapping) and given[name] is None)


def pick_of(plan: Plan, parameter: Parameter, given: object) -> Name | Key:
    """The name or key that a slot's value means; refuses what is no text."""
    if not isinstance(given, (str, int)) or isinstance(given, bool):
        raise ExpressionError(f"{given!r} names no node", "give a name, or '#key'", text=plan.text, at=parameter.at)
    pick = picked(given)
    assert not isinstance(pick, Slot)
    if unpaired_surrogate(pick.text) is not None:
        raise ExpressionError(
            f"{INVALID_UNICODE}: {pick.text!r}", INVALID_UNICODE_HINT, text=plan.text, at=parameter.at
        )
    return pick


def named(plan: Plan, parameter: Parameter, session: Session, pick: Name | Key) -> tuple[Node, ...]:
    """The nodes that a name or key stands for: one, or with ``all`` any number of that name."""
    nodes = session.found(parameter.type, pick)
    if len(nodes) == 1 or (nodes and isinstance(pick, Name) and pick.all):
        return nodes
    raise unclear(pick, nodes, parameter, session.stores.tables, plan.text)


def unclear(
    pick: Name | Key, nodes: Sequence[Node], parameter: Parameter, tables: Tables, text: str
) -> ExpressionError:
    """Nothing, or several nodes, have that name."""
    kind = parameter.type or "node"
    if nodes:
        shown = ", ".join(node.reference for node in nodes[:5]) + ", ..." * (len(nodes) > 5)
        every = f", or all of them with :all({quoted(pick.text)})" if isinstance(pick, Name) else ""
        message, hint = f"several nodes of type {kind} are called {pick.text!r}", f"name one of {shown}{every}"
        return ExpressionError(message, hint, text=text, at=parameter.at)
    if isinstance(pick, Key):
        message, hint = f"no {kind} has the key {pick.text!r}", "kbkit search finds nodes by words"
        return ExpressionError(message, hint, text=text, at=parameter.at)
    close = [f"{name!r} ({reference})" for name, reference in closest_nodes(tables, pick.text, parameter.type or "")]
    hint = f"did you mean {' or '.join(close)}?" if close else "kbkit search finds nodes by words"
    return ExpressionError(f"no {kind} is called {pick.text!r}", hint, text=text, at=parameter.at)


def find(tables: Tables, schema: Schema, node_type: str | None, picks: Sequence[Name | Key]) -> list[list[Node]]:
    """The nodes of a type that each pick may mean, in the order of ids.

    A name is tried as written, then without regard to case, then as an alias; each in one statement for all picks.
    """
    found: list[list[Node]] = [[] for _ in picks]
    for step, match in enumerate(_MATCHES):
        places = [i for i, p in enumerate(picks) if not found[i] and isinstance(p, Key) == (step == 0)]
        if not places:
            continue
        rows = tables.rows(
            f"""SELECT DISTINCT g.place, n.id, n.type::VARCHAR, n.key, n.name
            FROM (SELECT unnest($places) AS place, unnest($texts) AS text) g JOIN {match}
            WHERE {_of_type(schema, node_type)} ORDER BY g.place, n.id""",
            {"places": places, "texts": [picks[i].text for i in places]},
        )
        for place, *node in rows:
            found[place].append(Node(*node))
    # A key is unique among the nodes whose primary type it is; one that has the type besides stands back.
    for i, nodes in enumerate(found):
        own = [node for node in nodes if node.type == node_type]
        if isinstance(picks[i], Key) and own:
            found[i] = own
    return found


_MATCHES = (
    "nodes n ON n.key = g.text",
    "nodes n ON n.name = g.text",
    "nodes n ON lower(n.name) = lower(g.text)",
    "(SELECT *, unnest(aliases) AS alias FROM nodes WHERE len(aliases) > 0) n ON lower(n.alias) = lower(g.text)",
)


def _of_type(schema: Schema, node_type: str | None) -> str:
    if node_type is None:
        return "true"
    known = schema.type(node_type)
    inside = f"n.id BETWEEN {known.first} AND {known.last}"
    if not known.others:
        return inside
    return f"({inside} OR n.id IN (SELECT id FROM node_types WHERE type = {literal(node_type)}))"


def constant(plan: Plan, parameter: Parameter, tables: Tables, given: object) -> Constant:
    """A value cast to the type of the attribute that it is compared with; refuses one that does not fit exactly."""
    kind = parameter.type or "VARCHAR"
    if isinstance(given, datetime.date):
        given = str(given)
    if not isinstance(given, (str, int, float, bool)):
        raise ExpressionError(f"{given!r} is no value", "give a text or a number", text=plan.text, at=parameter.at)
    text = str(given).lower() if isinstance(given, bool) else str(given)
    if kind == "VARCHAR":
        return Constant(text, kind)
    cast = f"TRY_CAST($text AS {kind})"
    exact = f"TRY_CAST($text AS DOUBLE) = {cast}::DOUBLE" if kind in _WHOLE else "true"  # 1.5 would become 2
    try:
        [(value, fits)] = tables.rows(f"SELECT {cast}::VARCHAR, {exact}", {"text": text})
    except Error as error:
        raise KbError(f"a value of type {kind} cannot be compared: {first_line(error)}") from error
    other = not isinstance(given, str) and isinstance(given, bool) != (kind == "BOOLEAN")
    if value in (None, "nan") or not fits or other:
        raise ExpressionError(f"{text!r} is no {_SAID.get(kind, kind)}", "", text=plan.text, at=parameter.at)
    return Constant(value, kind)


_WHOLE = {f"{sign}{size}" for sign in ("", "U") for size in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")}
_SAID = {
    **dict.fromkeys(_WHOLE, "whole number"),
    "DOUBLE": "number",
    "FLOAT": "number",
    "BOOLEAN": "true or false",
    "DATE": "date (2001-12-31)",
    "TIMESTAMP": "time (2001-12-31 23:59:59)",
}
