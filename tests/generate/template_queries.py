"""Write the templates of STaRK as query files, sql/stark/*.sql and sparql/stark/*.rq.

Run ``python -m tests.generate.template_queries`` after a change of the templates or of a compiler. The queries are
compiled for KBs with the published types and relations.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from kbkit import assets
from kbkit.answers.algebra import Plan
from kbkit.answers.resolve import resolve
from kbkit.answers.syntax import Slot
from kbkit.answers.templates import Template, shipped
from kbkit.answers.to_sparql import to_sparql
from kbkit.answers.to_sql import to_sql
from kbkit.ingestion.generate import SHAPES
from kbkit.schema import NodeType, Relation, Schema, Signature, iri_escape

TOPIC = "stark"


def files() -> Iterator[tuple[str, str, str]]:
    """Yield (sql or sparql, file name, text) for every template of STaRK."""
    for template in shipped():
        catalogue = template.id.split("/")[0]
        if catalogue not in SHAPES:
            continue
        schema = shape_schema(catalogue)
        plan = resolve(template.tree(), schema)
        name = template.id.replace("/", "_")
        yield "sql", f"{name}.sql", _header("--", template, plan) + to_sql(plan, schema, nodes_by_id=True) + "\n"
        yield "sparql", f"{name}.rq", _header("#", template, plan) + to_sparql(plan, schema, prefixes=False) + "\n"


def shape_schema(shape: str) -> Schema:
    """Return the schema of a generated KB, without counts."""
    base = "http://example.org/table/"
    known = SHAPES[shape]
    types = tuple(NodeType(t.name, 0, 0, 0, t.name, f"{base}type/{iri_escape(t.name)}") for t in known.types)
    pairs: dict[str, list[tuple[str, str]]] = {}
    for r in known.relations:
        both = [(r.head, r.tail), (r.tail, r.head)] if known.both_ways else [(r.head, r.tail)]
        pairs.setdefault(r.name, []).extend(both)
    relations = tuple(
        Relation(
            name,
            name,
            f"{base}rel/{iri_escape(name)}",
            0,
            0,
            tuple(Signature(*pair, 0) for pair in dict.fromkeys(found)),
        )
        for name, found in pairs.items()
    )
    return Schema(shape, base, types, relations, ())


def _header(sign: str, template: Template, plan: Plan) -> str:
    note = f"Printed as {template.printed} in {template.paper}." if template.printed else f"{template.paper}."
    lines = [template.question, *textwrap.wrap(f"{note} {template.note}".strip(), 115)]
    lines.append("Generated from the catalogue of templates by python -m tests.generate.template_queries.")
    for p in plan.parameters:
        assert isinstance(p.source, Slot)
        lines.append(f"${p.name} (node of {p.type}): <{p.source.name}>, by name or key")
    return "".join(f"{sign} {line}\n" for line in lines) + f"{sign}\n"


def main() -> None:
    """Write the files, and remove the files of deleted templates."""
    written = set()
    for kind, name, text in files():
        path = assets.folder(kind) / TOPIC / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
        written.add(path)
    for kind in ("sql", "sparql"):
        for path in (assets.folder(kind) / TOPIC).iterdir():
            if path not in written:
                path.unlink()


if __name__ == "__main__":
    main()
