"""The recipe next to a flat export, which rebuilds the KB, including metadata that the tables lack."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kbkit.export.columns import is_nested, is_text
from kbkit.export.folder import FileForm
from kbkit.schema import Attribute, Schema, iri_escape, literal, merged_attributes, quote

_LISTS = (Attribute("aliases", "VARCHAR[]"), Attribute("types", "VARCHAR[]"))


def write_recipe(schema: Schema, source: Mapping[str, Any], place: Path, form: FileForm) -> None:
    """Write ``recipe.toml`` and ``load.sql`` into the folder of a flat export; ``source`` is the manifest's recipe."""
    (place / "recipe.toml").write_text(_toml(schema, source, form), encoding="utf-8", newline="\n")
    (place / "load.sql").write_text(_sql(schema, form), encoding="utf-8", newline="\n")


def _toml(schema: Schema, source: Mapping[str, Any], form: FileForm) -> str:
    lines = ["# Written by kbkit export. Build the KB again with: kbkit ingest ./THIS_FOLDER --out new.kb"]
    lines += [f"name = {_text(schema.name)}", f"title = {_text(source.get('title') or schema.name)}"]
    lines += [f"licence = {_text(source.get('licence', ''))}", f"base = {_text(schema.base)}", 'data = "."']
    lines += [f"name_weight = {schema.name_weight}"]
    if schema.extra_tables:
        lines += [f"extra_tables = [{', '.join(map(_text, schema.extra_tables))}]"]
    for table in ("nodes", "edges", "texts", *schema.extra_tables):
        lines += ["", f"[files.{table}]", f"match = [{_text(table + form.ending.removesuffix('.gz'))}]"]
    for node_type in schema.node_types:
        if node_type.count:
            lines += ["", f"[types.{_text(node_type.name)}]", f"description = {_text(node_type.description)}"]
            given_words = {name: getattr(node_type, name) for name in ("article", "name_label", "key_label")}
            lines += [f"{name} = {_text(word)}" for name, word in given_words.items() if word]
    for relation in schema.relations:
        lines += ["", f"[relations.{_text(relation.name)}]", f"label = {_text(relation.label)}"]
        lines += [f"symmetric = {str(relation.symmetric).lower()}", f"iri = {_text(relation.iri)}"]
        lines += [f"words = [{', '.join(map(_text, relation.words))}]"]
        if relation.phrases:
            by_subject: dict[str, list[str]] = {}
            for subject, phrase in relation.phrases:
                by_subject.setdefault(subject, []).append(_text(phrase))
            phrases = ", ".join(f"{_text(subject)} = [{', '.join(texts)}]" for subject, texts in by_subject.items())
            lines.append(f"phrases = {{ {phrases} }}")
    for field in schema.text_fields:
        lines += ["", f"[texts.{_text(field.name)}]", f"weight = {field.weight}"]
    for role in schema.roles:
        lines += ["", f"[roles.{_text(role.name)}]", f"types = [{', '.join(map(_text, role.types))}]"]
        lines += [f"interests = {_text(role.interests)}", f"fields = [{', '.join(map(_text, role.fields))}]"]
        lines += ["products = true"] if role.products else []
    return "\n".join(lines) + "\n"


def _text(value: str) -> str:
    """Return a TOML string or key: JSON syntax except for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _sql(schema: Schema, form: FileForm) -> str:
    nodes = merged_attributes(t.attributes for t in schema.node_types)
    edges = merged_attributes(r.attributes for r in schema.relations)
    symmetric = ", ".join(literal(r.name) for r in schema.relations if r.symmetric)
    # Both directions are in the file; the build mirrors one.
    once = f"\nWHERE relation NOT IN ({symmetric}) OR (head_type, head) <= (tail_type, tail)" if symmetric else ""
    statements = [
        "-- The types that the file does not keep.",
        _retyped("nodes", [*_LISTS, *nodes], form),
        _retyped("edges", edges, form, once),
    ]
    labels = {a.name: a.label for a in (*nodes, *edges) if a.label}
    statements += _values("attribute_names(attribute, label)", list(labels.items()))
    iris = [(t.name, t.iri) for t in schema.node_types if t.iri != f"{schema.base}type/{iri_escape(t.name)}"]
    statements += _values("type_iris(type, iri)", iris)
    statements += _values("candidate_types(type)", [(name,) for name in schema.candidate_types])
    return "\n".join(statements) + "\n"


def _retyped(table: str, attributes: list[Attribute], form: FileForm, where: str = "") -> str:
    casts = []
    for attribute in attributes:
        column = quote(attribute.name)
        if form.ending == ".parquet":
            cast = f"{column}::{attribute.type}" if is_text(attribute.type) else ""
        else:
            text = f"{column}::JSON" if is_nested(attribute.type) else column
            cast = f"{text}::{attribute.type}" if attribute.type != "VARCHAR" else ""
        if cast:
            casts.append(f"{cast} AS {column}")
    replaced = f" REPLACE ({', '.join(casts)})" if casts else ""
    return (
        f"CREATE TABLE {table}_rows AS SELECT *{replaced} FROM {table}{where};\n"
        f"DROP VIEW {table};\nALTER TABLE {table}_rows RENAME TO {table};"
    )


def _values(table: str, rows: Sequence[tuple[str, ...]]) -> list[str]:
    if not rows:
        return []
    shown = ",\n  ".join(f"({', '.join(map(literal, row))})" for row in rows)
    name, columns = table.split("(")
    return [f"CREATE TABLE {name} AS SELECT * FROM (VALUES\n  {shown}) v({columns};"]
