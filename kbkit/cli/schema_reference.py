"""What every KB holds, in Markdown: tables, RDF vocabulary, adjacency, and the keys of its files.

Types of columns and examples are those of the sample that ships with kbkit, as the engines describe them; what they
mean stands in the code beside what it describes.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kbkit.kb import KnowledgeBase

TYPE, RELATION = "city", "capital"
"""Of the sample, those that stand for all types and relations."""
HEAD = ("column", "type", "what it is")
_STORES = ("tables", "adjacency", "triples")


def render() -> str:
    """The reference; builds the sample in a temporary folder, in about a second."""
    import kbkit

    with tempfile.TemporaryDirectory(prefix="kbkit-") as folder:
        out = Path(folder) / "world.kb"
        with kbkit.ingest("world", out=out, stores=_STORES) as kb:
            parts = [*_directory(), *_tables(kb), *_rdf(kb), *_adjacency(kb), *_manifest(), *_recipe()]
    return "\n\n".join(parts) + "\n"


def _directory() -> Iterator[str]:

    yield "# Schema reference"
    yield (
        "What every KB holds. Made by `python -m kbkit.cli.reference --write`; do not edit. Types and examples are"
        " those of the sample (`kbkit demo`)."
    )
    from kbkit.directory import generations

    yield "## The directory"
    yield from _prose(generations.__doc__)


# -- tables -----------------------------------------------------------------------------------------------------------


def _tables(kb: KnowledgeBase) -> Iterator[str]:
    from kbkit.directory import workspace
    from kbkit.stores import table_build, tables

    yield "## Tables"
    yield from _prose(tables.__doc__)
    examples = {
        "TYPE": (TYPE, f"a node type, here `{TYPE}`; the nodes that have it, as their primary type or besides"),
        "RELATION": (RELATION, f"a relation, here `{RELATION}`"),
    }
    for name, meanings in table_build.COLUMNS.items():
        table, title = examples.get(name, (name, ""))
        yield f"### {name}" + (f": {title}" if title else "")
        yield _columns(kb, table, meanings)
    yield "### Saved sets: `workspace/sets/*.parquet`, a file and a row each"
    kinds = kb.workspace.frame().schema
    yield _table(HEAD, [(f"`{name}`", str(kind), workspace.COLUMNS[name]) for name, kind in kinds.items()])


def _columns(kb: KnowledgeBase, table: str, meanings: Mapping[str, str]) -> str:
    """A table's columns as DuckDB describes it; raises :class:`KeyError` for one whose meaning nobody wrote down."""
    rows = kb.sql(f'DESCRIBE "{table}"').select("column_name", "column_type").iter_rows()
    described = [(name, kind, meanings[name if name in meanings else "*"]) for name, kind in rows]
    return _table(
        HEAD,
        [(f"`{name}`", re.sub(r"ENUM\(.*\)", "ENUM", kind, flags=re.DOTALL), what) for name, kind, what in described],
    )


# -- RDF --------------------------------------------------------------------------------------------------------------


def _rdf(kb: KnowledgeBase) -> Iterator[str]:
    from kbkit.stores import ntriples

    yield "## RDF"
    yield (
        "A node's IRI is the recipe's `base`, its primary type and its key, each percent-encoded. Prefixes that SPARQL"
        " supplies:"
    )
    prefixes = kb.schema.prefixes()
    kinds = {t.name for t in kb.schema.node_types} - {TYPE}
    yield _table(("prefix", "IRI"), [(f"`{name}:`", f"`{iri}`") for name, iri in prefixes.items() if name not in kinds])
    yield _table(
        ("predicate", "what it says", "for example"),
        [(f"`{name}`", what, f"`{_example(kb, name, prefixes)}`") for name, what in ntriples.VOCABULARY.items()],
    )
    yield (
        "A KB that came from RDF has the source's own statements instead, each in its graph and, if that has a name, in"
        " the default graph too; blank nodes are IRIs numbered by first appearance. Beside them it has `kb:type` in the"
        f" default graph, and in the graph `<{ntriples.TABLES_GRAPH}>` a `kb:name` and the `attr:` that the tables made"
        " of the source. There a node's IRI is the recipe's `key_base` and its key."
    )


def _example(kb: KnowledgeBase, name: str, prefixes: Mapping[str, str]) -> str:
    """The first triple, in the order of IRIs, with this predicate, or one of this prefix."""
    prefix, _, local = name.partition(":")
    iri = prefixes[prefix] + local
    test = f"?p = <{iri}>" if local else f"STRSTARTS(STR(?p), '{iri}')"
    found = kb.sparql(f"SELECT ?s ?p ?o {{ ?s ?p ?o FILTER({test}) }} ORDER BY ?p ?s ?o LIMIT 1")
    [(subject, predicate, value)] = found.iter_rows()
    shown = value if isinstance(value, float | int) else _short(value, prefixes) or f'"{_cut(str(value))}"'
    return f"{_short(subject, prefixes)} {_short(predicate, prefixes)} {shown}"


def _short(iri: str, prefixes: Mapping[str, str]) -> str:
    """An IRI with the longest prefix that fits; whole where none does, and nothing for a text."""
    fitting = sorted((base, name) for name, base in prefixes.items() if str(iri).startswith(base))
    if fitting:
        base, name = fitting[-1]
        return f"{name}:{iri[len(base) :]}"
    return f"<{iri}>" if re.match(r"(https?|urn):\S+$", str(iri)) else ""


def _cut(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


# -- files ------------------------------------------------------------------------------------------------------------


def _adjacency(kb: KnowledgeBase) -> Iterator[str]:
    import numpy as np

    from kbkit.stores import adjacency

    yield "## Adjacency"
    yield from _prose(adjacency.__doc__)
    index = np.load(kb.folder / adjacency.FOLDER / "index.npy")
    yield "A record of `index.npy`: " + ", ".join(f"`{name}` {index.dtype[name]}" for name in index.dtype.names) + "."


def _manifest() -> Iterator[str]:
    from kbkit import schema
    from kbkit.directory import manifest

    yield "## manifest.json"
    classes: dict[str, type] = {
        "": manifest.Manifest,
        "stores.NAME": manifest.StoreRecord,
        "schema": schema.Schema,
        "schema.node_types": schema.NodeType,
        "schema.relations": schema.Relation,
        "schema.relations.signatures": schema.Signature,
        "attributes, of node types and relations": schema.Attribute,
        "schema.text_fields": schema.TextField,
        "schema.roles": schema.Role,
    }
    for title, kind in classes.items():
        yield from _dataclass(title, kind)


def _recipe() -> Iterator[str]:
    from kbkit import schema
    from kbkit.ingestion import recipe

    yield "## recipe.toml"
    yield "[Your own data](data.md) shows how to write one."
    known: dict[str, tuple[type, tuple[str, ...]]] = {
        "[files.NAME]": (recipe.FileSpec, ("name",)),
        "[[downloads]]": (recipe.Download, ()),
        "[options.NAME]": (recipe.Option, ()),
        "[types.NAME]": (recipe.TypeSpec, ()),
        "[relations.NAME]": (recipe.RelationSpec, ()),
        "[texts.NAME]": (recipe.TextSpec, ()),
        "[roles.NAME]": (schema.Role, ("name",)),
    }
    tables = {"files", "downloads", "options", "types", "relations", "texts", "roles"}
    yield from _dataclass("", recipe.Recipe, lambda field: field.name not in {*tables, "folder"})
    for title, (kind, without) in known.items():
        yield from _dataclass(title, kind, lambda field, out=without: field.name not in out)  # type: ignore[misc]


def _dataclass(title: str, kind: type, wanted: Callable[[Field[Any]], bool] = lambda _: True) -> Iterator[str]:
    """A class that is read from a file: its docstring, and its fields with types and defaults."""
    if title:
        yield f"### `{title}`"
    if kind.__doc__ and not kind.__doc__.startswith(f"{kind.__name__}("):  # which the decorator made
        yield from _prose(kind.__doc__)
    meanings = _field_docstrings(kind)
    rows = [
        (f"`{field.name}`", _kind(str(field.type)), _default(field), meanings.get(field.name, ""))
        for field in fields(kind)
        if wanted(field)
    ]
    width = 4 if meanings else 3
    yield _table(("key", "type", "default", "what it is")[:width], [row[:width] for row in rows])


_KINDS = {"str": "text", "bool": "true or false", "int": "whole number", "float": "number"}


def _kind(annotation: str) -> str:
    """A field's type as a file has it."""
    plain = annotation.removesuffix(" | None")
    if match := re.fullmatch(r"(?:tuple|list)\[(.+?)(?:, \.\.\.)?\]", plain):
        inner = _kind(match[1])
        return f"list of {inner}s" if inner in ("text", "table") else "list of tables"
    return _KINDS.get(plain, "table")


def _default(field: Field[Any]) -> str:
    """What stands for a field that a file leaves out; nothing for what must be there, or is empty then."""
    if field.default is MISSING and field.default_factory is MISSING:
        return "needed"
    return f"`{json.dumps(field.default)}`" if isinstance(field.default, bool | int | float) else ""


def _field_docstrings(kind: type) -> dict[str, str]:
    """The strings that stand below the fields of a class."""
    [tree] = ast.parse(inspect.cleandoc("\n" + inspect.getsource(kind))).body
    assert isinstance(tree, ast.ClassDef)
    found = {}
    for field, after in zip(tree.body, tree.body[1:], strict=False):
        match field, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = _markdown(" ".join(text.split()))
    return found


# -- Markdown ---------------------------------------------------------------------------------------------------------


def _prose(text: str | None) -> Iterator[str]:
    """A docstring's paragraphs, with indented blocks as code."""
    for part in re.split(r"\n\s*\n", inspect.cleandoc(text or "")):
        yield f"```text\n{textwrap.dedent(part)}\n```" if part.startswith("    ") else _markdown(part)


def _markdown(text: str) -> str:
    """Inline markup of docstrings as Markdown has it."""
    text = re.sub(r":[a-z]+:`[~.]*([^`]+)`", r"`\1`", text)
    return text.replace("``", "`")


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    sys.stdout.write(render())
