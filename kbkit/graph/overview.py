"""The contents of a KB as plain data and frames."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from kbkit.directory.generations import tree_bytes
from kbkit.directory.manifest import Manifest
from kbkit.directory.workspace import Workspace
from kbkit.schema import Schema


def info(schema: Schema, manifest: Manifest, folder: Path) -> dict[str, Any]:
    """Return counts, average degree (2 edges / nodes), tokens, sizes, build times and versions as plain data."""
    stored = {"tables": "tables.duckdb"}
    sizes = {}
    for name in manifest.stores:
        path = folder / stored.get(name, name)
        sizes[name] = path.stat().st_size if path.is_file() else tree_bytes(path)
    return {
        "name": schema.name,
        "title": manifest.recipe["title"],
        "licence": manifest.recipe["licence"],
        "generation": manifest.generation,
        "created": manifest.created,
        "nodes": schema.nodes,
        "edges": schema.edges,
        "average_degree": round(2 * schema.edges / schema.nodes, 2),
        "texts": sum(f.texts for f in schema.text_fields),
        "tokens": sum(f.tokens for f in schema.text_fields),
        "types": types(schema).to_dicts(),
        "candidate_types": list(schema.candidate_types),
        "relations": relations(schema).to_dicts(),
        "text_fields": [vars(f) for f in schema.text_fields],
        "stores": [
            {"store": name, "bytes": sizes[name], "seconds": record.seconds, **record.settings}
            for name, record in manifest.stores.items()
        ],
        "sources": manifest.sources,
        "report": manifest.report,
        "versions": manifest.versions,
    }


def stark_row(schema: Schema) -> pl.DataFrame:
    """Return one row of the STaRK paper's Table 2: entity_types, relation_types, average_degree (2 relations /
    entities), entities, relations (symmetric ones count in both directions), tokens (of all texts, split at
    whitespace). Types without nodes are not counted.
    """
    row = {
        "entity_types": sum(t.members > 0 for t in schema.node_types),
        "relation_types": len(schema.relations),
        "average_degree": round(2 * schema.edges / schema.nodes, 1),
        "entities": schema.nodes,
        "relations": schema.edges,
        "tokens": sum(f.tokens for f in schema.text_fields),
    }
    return pl.DataFrame([row])


def sets(workspace: Workspace) -> pl.DataFrame:
    """Return the saved sets: set, type (``*`` for any), nodes, saved (time), generation, expression."""
    columns = ["set", "type", "nodes", "saved", "generation", "expression"]
    rows = [(s.name, s.type or "*", s.count, s.saved, s.generation, s.expression) for s in workspace.sets()]
    return pl.DataFrame(rows, schema=columns, orient="row")


def types(schema: Schema) -> pl.DataFrame:
    """Return node types: type, nodes, other_nodes (of another primary type), attributes, sql_name, description."""
    return pl.DataFrame(
        [
            {
                "type": t.name,
                "nodes": t.count,
                "other_nodes": t.others,
                "attributes": ", ".join(a.name for a in t.attributes),
                "sql_name": t.table,
                "description": t.description,
            }
            for t in schema.node_types
        ]
    )


def relations(schema: Schema) -> pl.DataFrame:
    """Return signatures: relation, head_type, tail_type, edges, symmetric, attributes, sql_name, label."""
    columns = ("relation", "head_type", "tail_type", "edges", "symmetric", "attributes", "sql_name", "label")
    return pl.DataFrame(
        [
            (
                r.name,
                s.head,
                s.tail,
                s.edges,
                r.symmetric,
                ", ".join(a.name for a in r.attributes),
                r.table,
                r.label,
            )
            for r in schema.relations
            for s in r.signatures
        ],
        schema=columns,
        orient="row",
    )
