"""SQL queries that return the tables as N-Triples, and the quads of an RDF source.

Each query has one column ``lines``, whose concatenated values are N-Triples. Data thus goes from DuckDB to Oxigraph
without a Python loop over rows.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

from kbkit.directory.damage import STORE_OF_RECORD, damaged, describe
from kbkit.schema import KB_NAMESPACE, STANDARD_PREFIXES, Attribute, Relation, Schema, iri_escape, literal, quote

RDF, RDFS, XSD, SKOS = (STANDARD_PREFIXES[name] for name in ("rdf", "rdfs", "xsd", "skos"))
KB_TYPE = KB_NAMESPACE + "type"
KB_NAME = KB_NAMESPACE + "name"
KB_KEY = KB_NAMESPACE + "key"
TABLES_GRAPH = KB_NAMESPACE + "tables"
"""For RDF sources, the graph with what the tables add: ``kb:type``, ``kb:name``, and ``attr:`` for each attribute."""

VOCABULARY = {
    "rdf:type": "a type of the node, for generic RDF tools; or rdf:Statement, for an edge with attributes",
    "kb:type": "a type of the node, primary or secondary",
    "kb:key": "key of the node",
    "rdfs:label": "name of the node",
    "skos:altLabel": "an alias of the node",
    "attr:": "an attribute of a node or of an edge's statement; one triple per element of a list",
    "text:": "a text of the node, by field",
    "rel:": "an edge; parallel edges are one triple",
    "rdf:subject": "head of an edge with attributes, of its statement",
    "rdf:predicate": "relation of that edge",
    "rdf:object": "tail of that edge",
}
"""The predicates of a KB without an RDF source, for the schema reference; a trailing colon denotes a namespace."""

_NUMBER = '"number of the statement"'  # differs from all names of attributes

_SIGNED = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_DATATYPES = {
    **dict.fromkeys((*_SIGNED, *("U" + name for name in _SIGNED)), "integer"),
    **{"BOOLEAN": "boolean", "DATE": "date", "TIMESTAMP": "dateTime", "FLOAT": "double", "DOUBLE": "double"},
}


_EDGE = "row(relation, head, tail)"


def queries(schema: Schema) -> Iterator[str]:
    """Yield the queries that return the KB's default graph; each scans one table."""
    node = node_iri(schema, "n")
    if schema.rdf_source:  # the source's quads hold the rest
        if not schema.types_apart:
            yield from _types(node, rdf_type=False)
        return
    yield f"SELECT {node} || ' <{RDFS}label> ' || {_string('n.name')} || ' .\n' AS lines FROM nodes n"
    yield f"SELECT {node} || ' <{KB_KEY}> ' || {_string('n.key')} || ' .\n' AS lines FROM nodes n"
    yield (
        f"SELECT {node} || ' <{SKOS}altLabel> ' || {_string('n.alias')} || ' .\n' AS lines"
        " FROM (SELECT type, key, unnest(aliases) AS alias FROM nodes) n WHERE n.alias IS NOT NULL"
    )
    yield from _types(node, rdf_type=True)
    yield from _all_attributes(schema, node)
    predicate = f"' <{_escaped(schema.base)}text/' || url_encode(x.field) || '> '"
    line = f"{node} || {predicate} || {_string('x.text')} || ' .\n'"
    yield f"SELECT {line} AS lines FROM texts x JOIN nodes n USING (id)"
    yield from _edges(schema)


def table_queries(schema: Schema) -> Iterator[str]:
    """Yield the queries that return :data:`TABLES_GRAPH`, for RDF sources."""
    node = node_iri(schema, "n")
    if schema.types_apart:
        yield from _types(node, rdf_type=False)
    yield f"SELECT {node} || ' <{KB_NAME}> ' || {_string('n.name')} || ' .\n' AS lines FROM nodes n"
    yield from _all_attributes(schema, node)


def read_quads(path: Path, size: int = 1 << 20) -> Iterator[bytes]:
    """Yield the source's quads, from a gzipped file of N-Quads, in chunks of ``size`` bytes.

    Raises :class:`DamagedError`.
    """
    try:
        with gzip.open(path, "rb") as handle:
            while chunk := handle.read(size):
                yield chunk
    except (OSError, EOFError, zlib.error) as error:
        raise damaged(path, describe(error), STORE_OF_RECORD) from error


def datatype(kind: str) -> str | None:
    """Return the local name of the XML Schema datatype of a DuckDB type, None for plain strings."""
    return "decimal" if kind.startswith("DECIMAL") else _DATATYPES.get(kind)


def lexical(text: str, xsd: str) -> str:
    """Convert DuckDB's text of a value to XML Schema's lexical form, where 44 BC is the year -0043."""
    early = re.fullmatch(r"(\d+)(-.*) \(BC\)", text)
    if early:
        year = int(early[1]) - 1
        text = f"{'-' if year else ''}{year:04}{early[2]}"
    return text.replace(" ", "T") if xsd == "dateTime" else text.replace("inf", "INF") if xsd == "double" else text


def node_iri(schema: Schema, alias: str) -> str:
    """Return an SQL expression for the IRI, in angle brackets, of the node ``alias`` (a row of ``nodes``)."""
    if schema.rdf_source:
        return f"('<{_escaped(schema.key_base)}' || {alias}.key || '>')"
    return f"('<{_escaped(schema.base)}' || url_encode({alias}.type::VARCHAR) || '/' || url_encode({alias}.key) || '>')"


def _types(node: str, *, rdf_type: bool) -> Iterator[str]:
    predicates = [KB_TYPE, RDF + "type"] if rdf_type else [KB_TYPE]
    lines = " || ".join(f"{node} || ' <{p}> <' || n.iri || '> .\n'" for p in predicates)
    primary = "SELECT n.key, n.type, t.iri FROM nodes n JOIN types t ON t.type = n.type::VARCHAR"
    other = (
        "SELECT n.key, n.type, t.iri FROM node_types o JOIN nodes n USING (id) JOIN types t ON t.type = o.type::VARCHAR"
    )
    yield from (f"SELECT {lines} AS lines FROM ({source}) n" for source in (primary, other))


def _all_attributes(schema: Schema, node: str) -> Iterator[str]:
    for node_type in schema.node_types:
        if node_type.attributes and node_type.count:
            yield _attributes(schema, node_type.name, node_type.table, node_type.attributes, node)


def _attributes(schema: Schema, name: str, table: str, attributes: tuple[Attribute, ...], node: str) -> str:
    lines = ", ".join(_attribute_lines(schema, "n.iri", a, "a.") for a in attributes)
    return (  # concat: a chain of || is nested too deeply for hundreds of attributes
        f"SELECT concat({lines}) AS lines FROM {quote(table)} a JOIN (SELECT id, {node} AS iri FROM nodes n"
        f" WHERE type = {literal(name)}) n USING (id)"
    )


def _attribute_lines(schema: Schema, subject: str, attribute: Attribute, alias: str = "") -> str:
    """Return an SQL expression for the triples of one attribute: none for NULL, one per element of a list."""
    start = f"{subject} || ' <{_escaped(schema.base)}attr/{iri_escape(attribute.name)}> ' || "
    column = alias + quote(attribute.name)
    if not attribute.type.endswith("[]"):
        return f"coalesce({start}{_term(column, attribute.type)} || ' .\n', '')"
    line = f"{start}{_term('item', attribute.type.removesuffix('[]'))} || ' .\n'"
    each = f"list_transform(list_distinct({column}), lambda item: {line})"
    return f"coalesce(list_aggregate({each}, 'string_agg', ''), '')"


def _edges(schema: Schema) -> Iterator[str]:
    source = (
        f"(SELECT {node_iri(schema, 'h')} AS head, '<' || r.iri || '>' AS relation,"
        f" {node_iri(schema, 't')} AS tail{{more}} FROM {{edges}} e"
        " JOIN nodes h ON h.id = e.head JOIN nodes t ON t.id = e.tail"
        " JOIN (SELECT relation, min(iri) AS iri FROM relations GROUP BY relation ORDER BY relation) r"
        " ON r.relation = e.relation::VARCHAR)"
    )
    rich = [r for r in schema.relations if r.attributes]
    # Parallel edges follow one another; unlike DISTINCT, this keeps the order.
    edges = f"(SELECT head, relation, tail FROM edges QUALIFY lag({_EDGE}) OVER () IS DISTINCT FROM {_EDGE})"
    edges = edges if rich else "edges"
    lines = "head || ' ' || relation || ' ' || tail || ' .\n'"
    yield f"SELECT {lines} AS lines FROM {source.format(more='', edges=edges)}"
    for relation in rich:
        yield _statements(schema, relation, source)


def _statements(schema: Schema, relation: Relation, source: str) -> str:
    """Return the query that reifies edges with attributes as RDF statements, numbered in table order."""
    subject = f"'<{_escaped(schema.base)}statement/{iri_escape(relation.name)}/' || {_NUMBER} || '>'"
    parts = {"type": f"'<{RDF}Statement>'", "subject": "head", "predicate": "relation", "object": "tail"}
    lines = [f"{subject} || ' <{RDF}{predicate}> ' || {value} || ' .\n'" for predicate, value in parts.items()]
    lines += [_attribute_lines(schema, subject, a) for a in relation.attributes]
    columns = [quote(a.name) for a in relation.attributes]
    edges = (
        f"(SELECT head, relation, tail, {', '.join(columns)}, row_number() OVER () AS {_NUMBER} FROM edges"
        f" WHERE relation = {literal(relation.name)})"
    )
    more = "".join(f", e.{column}" for column in (_NUMBER, *columns))
    return f"SELECT concat({', '.join(lines)}) AS lines FROM {source.format(more=more, edges=edges)}"


def _term(value: str, kind: str) -> str:
    """Return an SQL expression for the RDF literal of a column of DuckDB type ``kind``; NULL remains NULL."""
    xsd = datatype(kind)
    if xsd is None:
        return _string(f"{value}::VARCHAR")
    text = f"{value}::VARCHAR"
    if xsd in ("date", "dateTime"):
        years = f"lpad((-year({value}))::VARCHAR, 4, '0')"
        early = f"if(year({value}) < 0, '-', '') || {years} || replace(substr({text}, 5), ' (BC)', '')"
        text = f"replace(if(year({value}) <= 0, {early}, {text}), ' ', 'T')"
    if xsd == "double":
        text = f"replace(replace({value}::VARCHAR, 'inf', 'INF'), 'nan', 'NaN')"
    return f"('\"' || {text} || '\"^^<{XSD}{xsd}>')"


def _string(value: str) -> str:
    """Return an SQL expression for the RDF string literal of a text column."""
    for old, new in ((r"'\'", r"'\\'"), ("'\"'", r"""'\"'"""), ("chr(10)", r"'\n'"), ("chr(13)", r"'\r'")):
        value = f"replace({value}, {old}, {new})"
    return f"('\"' || {value} || '\"')"


def _escaped(text: str) -> str:
    """Return text for use inside an SQL string literal."""
    return literal(text)[1:-1]
