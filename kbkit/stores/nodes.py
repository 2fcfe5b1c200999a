"""Node lookup by key, name and alias, in the tables."""

from __future__ import annotations

from collections.abc import Sequence

from kbkit.errors import KbError, UnknownNameError
from kbkit.schema import Schema
from kbkit.stores.tables import Tables, closest_names

NODES_SQL = "SELECT id, key, type, name FROM nodes WHERE id IN (SELECT unnest($ids))"
"""The nodes of ``$ids``."""

DOCUMENTS_SQL = """
SELECT n.id, key, type, name, x.field::VARCHAR, x.position, x.text FROM nodes n LEFT JOIN texts x USING (id)
WHERE n.id IN (SELECT unnest($ids))"""
"""The nodes of ``$ids``, a row for each of their texts."""

_STEPS = (
    "key = $text",
    "name = $text",
    "lower(name) = lower($text)",
    "len(list_filter(aliases, lambda alias: lower(alias) = lower($text))) > 0",
)


def typed(text: str) -> str | int:
    """A reference as a person types it: ``#17`` is the node of that id, anything else what :func:`find` takes."""
    return int(text[1:]) if text[:1] == "#" and text[1:].isdecimal() else text


class Nodes:
    """Look nodes up by key, name and alias."""

    def __init__(self, tables: Tables, schema: Schema) -> None:
        self._tables, self._schema = tables, schema

    def find(self, reference: str | int) -> int:
        """Return the id of a node: an id, ``type#key``, ``type:name``, a key, a name or an alias, tried in that order.

        Names match exactly first, then case-insensitively. Raises :class:`UnknownNameError` with the closest names, and
        :class:`KbError` if several nodes match.
        """
        return _find(self._tables, self._schema, reference)


def _find(tables: Tables, schema: Schema, reference: str | int) -> int:
    if isinstance(reference, int):
        if not 0 <= reference < schema.nodes:
            raise KbError(f"there is no node {reference}", f"ids run from 0 to {schema.nodes - 1}")
        return reference
    for type_name, text, steps in _readings(schema, reference):
        where = " AND type = $type" if type_name else ""
        for step in steps:
            params = {"text": text, **({"type": type_name} if type_name else {})}
            rows = tables.rows(f"SELECT id, type, key FROM nodes WHERE {step}{where} ORDER BY id LIMIT 6", params)
            if len(rows) == 1:
                return int(rows[0][0])
            if rows:
                shown = ", ".join(f"{kind}#{key}" for _, kind, key in rows[:5])
                raise KbError(f"several nodes are called {text!r}", f"name one of {shown}{', ...' * (len(rows) > 5)}")
    kind, text, _ = _readings(schema, reference)[0]
    close = closest_names(tables, text, kind)
    hint = f"did you mean {' or '.join(map(repr, close))}?" if close else "kbkit search finds nodes by words"
    raise UnknownNameError("node", text, close, f"type {kind}" if kind else "", hint)


def _readings(schema: Schema, reference: str) -> list[tuple[str, str, Sequence[str]]]:
    """(type, text, how to look) in the order to try: ``type#key``, ``type:name``, then the whole as a key or name.

    A type's name may hold the signs itself, so the longest that fits is tried first.
    """
    result: list[tuple[str, str, Sequence[str]]] = []
    for name in sorted((t.name for t in schema.node_types), key=len, reverse=True):
        for sign, steps in (("#", _STEPS[:1]), (":", _STEPS)):
            if reference.startswith(name + sign):
                result.append((name, reference[len(name) + 1 :], steps))
    return [*result, ("", reference, _STEPS)]
