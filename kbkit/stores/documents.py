"""SQL that assembles the documents of nodes, which are searched and embedded, for a range of ids at a time."""

from __future__ import annotations

from kbkit.schema import Relation, Schema, literal

_MAX_NODES, _MAX_TOKENS = 100_000, 10_000_000
"""Maximum number of nodes, and of words in their texts (roughly), in memory at once."""

MAX_NEIGHBOURS = 25
"""Maximum number of neighbours named in a document per relation and direction, first by id, as in STaRK."""


def step(schema: Schema) -> int:
    """Return the number of nodes per batch, fewer if texts are long."""
    tokens = sum(f.tokens for f in schema.text_fields)
    with_text = max((f.texts for f in schema.text_fields), default=0)
    return max(1_000, min(_MAX_NODES, _MAX_TOKENS * with_text // max(1, tokens)) if with_text else _MAX_NODES)


def documents_sql(schema: Schema, first: int, last: int, *, relations: bool) -> str:
    """Return a query of ``id`` and ``document`` (name, texts, optionally relations) for the nodes of a range."""
    return selected_sql(schema, f"BETWEEN {first} AND {last}", relations=relations)


def selected_sql(schema: Schema, condition: str, *, relations: bool) -> str:
    """Return the query of :func:`documents_sql` for the ids that meet a condition, such as ``BETWEEN 0 AND 9``."""
    joined = f" LEFT JOIN ({relations_sql(schema, condition)}) r USING (id)" if relations else ""
    shown = " || coalesce(' ' || list_aggregate(r.relations, 'string_agg', '. '), '')" if relations else ""
    return (
        f"SELECT n.id, n.name || coalesce(': ' || x.text, ''){shown} AS document FROM nodes n"
        " LEFT JOIN (SELECT id, string_agg(text, ' ' ORDER BY field, position) AS text FROM texts"
        f" WHERE id {condition} GROUP BY id) x USING (id){joined}"
        f" WHERE id {condition} ORDER BY n.id"
    )


def relations_sql(schema: Schema, condition: str) -> str:
    """Return a query of ``id`` and ``relations``, a list of ``label: name, name, ...`` per relation and direction.

    ``condition`` selects the ids (``BETWEEN 0 AND 9``).
    """
    sides = [
        f"SELECT DISTINCT {here} AS id, relation, '{side}' AS side, {there} AS other FROM edges"
        f" WHERE {here} {condition}{more}"
        for side, here, there, more in (
            ("out", "head", "tail", ""),
            ("in", "tail", "head", _among([r for r in schema.relations if not r.symmetric])),
        )
    ]
    labels = " ".join(f"WHEN {literal(r.name)} THEN {literal(_label(r))}" for r in schema.relations)
    label = f"CASE relation {labels} END" if labels else "relation"
    return (
        "SELECT id, list(line ORDER BY side DESC, relation) AS relations FROM"
        f" (SELECT id, side, relation, {label} || ': ' || string_agg(name, ', ' ORDER BY other) AS line FROM"
        " (SELECT e.*, n.name FROM"
        " (SELECT *, row_number() OVER (PARTITION BY id, relation, side ORDER BY other) AS number"
        f" FROM ({' UNION ALL '.join(sides)})) e JOIN nodes n ON n.id = e.other WHERE number <= {MAX_NEIGHBOURS})"
        " GROUP BY id, side, relation) GROUP BY id"
    )


def _among(relations: list[Relation]) -> str:
    names = ", ".join(literal(r.name) for r in relations)
    return f" AND relation IN ({names})" if names else " AND false"


def _label(relation: Relation) -> str:
    return relation.label or relation.name.replace("_", " ")
