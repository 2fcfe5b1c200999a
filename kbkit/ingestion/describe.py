"""Derive the schema of a KB from the staged tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kbkit.ingestion.recipe import Recipe, RelationSpec, TypeSpec
from kbkit.ingestion.staging import STAGED_COLUMNS
from kbkit.ingestion.staging_edges import relation_order
from kbkit.schema import Attribute, NodeType, Relation, Schema, Signature, TextField, iri_escape, is_prefix, quote
from kbkit.stores.table_build import staged_tables, table_names

if TYPE_CHECKING:
    import duckdb

    Connection = duckdb.DuckDBPyConnection


def describe(con: Connection, recipe: Recipe) -> Schema:
    """Return the schema of ``kb_nodes``, ``kb_node_types``, ``kb_edges`` and ``kb_texts``.

    Recipes may create further tables: ``type_iris(type, iri)`` and ``relation_iris(relation, iri)`` (by default IRIs
    are derived from the recipe's base), labels for display in ``relation_names(relation, label)`` and
    ``attribute_names(attribute, label)``, ``candidate_types(type)``, the answer types of the source's questions, and
    ``rdf_prefixes(prefix, iri)`` for SPARQL.
    """
    optional = _OptionalTables(con)
    types = _types(con, recipe, optional)
    relations = _relations(con, recipe, [t.table for t in types], optional)
    candidates = optional.column("candidate_types")
    return Schema(
        name=recipe.name,
        base=recipe.base,
        node_types=types,
        relations=relations,
        text_fields=_text_fields(con, recipe),
        rdf_source=bool(recipe.rdf_quads),
        name_weight=recipe.name_weight,
        candidate_types=tuple(t.name for t in types if t.name in candidates),
        roles=recipe.roles,
        key_base=recipe.key_base,
        dialect=recipe.dialect,
        extra_tables=recipe.extra_tables,
        types_apart=bool(recipe.rdf_quads),
        source_prefixes=tuple(pair for pair in optional.pairs("rdf_prefixes").items() if is_prefix(*pair)),
    )


def symmetric_relations(con: Connection) -> tuple[str, ...]:
    """Return the optional table ``symmetric_relations(relation)`` of a recipe."""
    return tuple(sorted(_OptionalTables(con).column("symmetric_relations")))


def _types(con: Connection, recipe: Recipe, optional: _OptionalTables) -> tuple[NodeType, ...]:
    rows = con.execute("""
        SELECT t.type, coalesce(n.first, 0), coalesce(n.nodes, 0), coalesce(o.others, 0)
        FROM (SELECT type, position FROM kb_type_order
              UNION ALL SELECT DISTINCT type, 2000000 FROM kb_node_types ANTI JOIN kb_type_order USING (type)) t
        LEFT JOIN (SELECT type, min(id) AS first, count(*) AS nodes FROM kb_nodes GROUP BY type) n USING (type)
        LEFT JOIN (SELECT type, count(*) AS others FROM kb_node_types GROUP BY type) o USING (type)
        ORDER BY t.position, t.type""").fetchall()
    attributes = _present_attributes(
        con,
        "kb_nodes",
        '(SELECT t.type AS "the owner", n.* FROM (SELECT id, type FROM kb_nodes UNION ALL FROM kb_node_types) t'
        " JOIN kb_nodes n USING (id))",
        optional,
    )
    tables = table_names(con, [row[0] for row in rows], (), "type_", recipe.extra_tables)
    iris = optional.pairs("type_iris")
    overlaps: dict[str, list[str]] = {}
    for other, primary in con.execute(
        "SELECT DISTINCT o.type, n.type FROM kb_node_types o JOIN kb_nodes n USING (id) ORDER BY ALL"
    ).fetchall():
        overlaps.setdefault(other, []).append(primary)
    return tuple(
        NodeType(
            name=name,
            first=first,
            count=count,
            others=others,
            table=table,
            iri=iris.get(name) or f"{recipe.base}type/{iri_escape(name)}",
            attributes=attributes.get(name, ()),
            description=recipe.types.get(name, TypeSpec()).description,
            article=recipe.types.get(name, TypeSpec()).article,
            name_label=recipe.types.get(name, TypeSpec()).name_label,
            key_label=recipe.types.get(name, TypeSpec()).key_label,
            overlaps=tuple(overlaps.get(name, ())),
        )
        for (name, first, count, others), table in zip(rows, tables, strict=True)
    )


def _relations(con: Connection, recipe: Recipe, taken: list[str], optional: _OptionalTables) -> tuple[Relation, ...]:
    signatures: dict[str, list[Signature]] = {}
    for name, head, tail, edges in con.execute(
        "FROM kb_signatures ORDER BY relation, edges DESC, head_type, tail_type"
    ).fetchall():
        signatures.setdefault(name, []).append(Signature(head, tail, edges))
    attributes = _present_attributes(con, "kb_edges", '(SELECT relation AS "the owner", * FROM kb_edges)', optional)
    names = relation_order(recipe, signatures)
    tables = table_names(con, names, taken, "rel_", recipe.extra_tables)
    iris = optional.pairs("relation_iris")
    labels = optional.pairs("relation_names")
    # Rows of kb_edges are distinct: several with one (head, tail) differ in attributes.
    pairs = dict(
        con.execute(
            "SELECT relation, count(*) FROM (SELECT DISTINCT relation, head, tail FROM kb_edges"
            " WHERE relation IN (SELECT unnest($names))) GROUP BY relation",
            {"names": list(attributes)},
        ).fetchall()
    )
    result = []
    for name, table in zip(names, tables, strict=True):
        spec = recipe.relations.get(name, RelationSpec())
        edges = sum(s.edges for s in signatures[name])
        result.append(
            Relation(
                name=name,
                table=table,
                iri=spec.iri or iris.get(name) or f"{recipe.base}rel/{iri_escape(name)}",
                edges=edges,
                pairs=pairs.get(name, edges),
                signatures=tuple(signatures[name]),
                symmetric=spec.symmetric,
                attributes=attributes.get(name, ()),
                label=spec.label or labels.get(name) or "",
                words=spec.words,
                phrases=spec.phrases,
            )
        )
    return tuple(result)


def _present_attributes(
    con: Connection, table: str, owned: str, optional: _OptionalTables
) -> dict[str, tuple[Attribute, ...]]:
    """Return for each owner (type or relation) the columns that are not NULL in all its rows."""
    rows = con.execute(f"DESCRIBE {table}").fetchall()
    columns = {row[0]: row[1] for row in rows if row[0] not in STAGED_COLUMNS[table]}
    if not columns:
        return {}
    counts = ", ".join(f"count({quote(name)})" for name in columns)
    labels, result = optional.pairs("attribute_names"), {}
    for owner, *filled in con.execute(f'SELECT "the owner", {counts} FROM {owned} GROUP BY ALL').fetchall():
        present = [item for item, count in zip(columns.items(), filled, strict=True) if count]
        attributes = tuple(Attribute(name, kind, labels.get(name, "")) for name, kind in present)
        if attributes:
            result[owner] = attributes
    return result


def _text_fields(con: Connection, recipe: Recipe) -> tuple[TextField, ...]:
    rows = con.execute(
        "SELECT field, count(*), sum(tokens)::BIGINT FROM kb_texts GROUP BY field ORDER BY field"
    ).fetchall()
    return tuple(TextField(name, recipe.texts.get(name, 1.0), texts, tokens) for name, texts, tokens in rows)


class _OptionalTables:
    """The further tables that a recipe may create, beyond nodes, edges and texts; empty if none."""

    def __init__(self, con: Connection) -> None:
        self._con = con
        self._present = staged_tables(con)  # asked once: a lookup takes longer than a small table

    def pairs(self, table: str) -> dict[str, str]:
        """Return the first two columns of a table."""
        return {row[0]: row[1] for row in self._rows(table)}

    def column(self, table: str) -> set[str]:
        """Return the first column of a table."""
        return {row[0] for row in self._rows(table)}

    def _rows(self, table: str) -> list[tuple[Any, ...]]:
        return self._con.execute(f"SELECT * FROM {table}").fetchall() if table in self._present else []
