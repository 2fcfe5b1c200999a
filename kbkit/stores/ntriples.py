"""SQL that writes the tables as N-Triples, one statement per line; pure text.

The result of each query is one column ``lines`` whose strings, laid end to end, are N-Triples. So a graph goes from
DuckDB to Oxigraph without a row passing through Python.
"""

from __future__ import annotations

from collections.abc import Iterator

from kbkit.schema import KB_NAMESPACE, STANDARD_PREFIXES, Attribute, Schema, iri_escape

RDF, RDFS, XSD, SKOS = (STANDARD_PREFIXES[name] for name in ("rdf", "rdfs", "xsd", "skos"))
KB_TYPE = KB_NAMESPACE + "type"

_DATATYPES = {
    **dict.fromkeys(
        (
            "TINYINT",
            "SMALLINT",
            "INTEGER",
            "BIGINT",
            "HUGEINT",
            "UTINYINT",
            "USMALLINT",
            "UINTEGER",
            "UBIGINT",
            "UHUGEINT",
        ),
        "integer",
    ),
    "BOOLEAN": "boolean",
    "DATE": "date",
    "TIMESTAMP": "dateTime",
    "FLOAT": "double",
    "DOUBLE": "double",
}


def queries(schema: Schema) -> Iterator[str]:
    """All queries that together write the KB; each scans one table."""
    node = node_iri(schema, "n")
    if schema.rdf_source:  # the rest is in the source's own quads
        yield from _types(schema, node, rdf_type=False)
        return
    yield f"SELECT {node} || ' <{RDFS}label> ' || {_string('n.name')} || ' .\n' AS lines FROM nodes n"
    yield (
        f"SELECT {node} || ' <{SKOS}altLabel> ' || {_string('n.alias')} || ' .\n' AS lines"
        " FROM (SELECT type, key, unnest(aliases) AS alias FROM nodes) n WHERE n.alias IS NOT NULL"
    )
    yield from _types(schema, node, rdf_type=True)
    for node_type in schema.node_types:
        if node_type.attributes and node_type.count:
            yield _attributes(schema, node_type.name, node_type.table, node_type.attributes, node)
    yield (
        f"SELECT {node} || ' <{schema.base}text/' || url_encode(x.field) || '> ' || {_string('x.text')} || ' .\n'"
        " AS lines FROM texts x JOIN nodes n USING (id)"
    )
    yield from _edges(schema)


def node_iri(schema: Schema, alias: str) -> str:
    """An SQL expression for the IRI of the node ``alias`` (a row of ``nodes``), in angle brackets."""
    if schema.rdf_source:
        return f"('<' || {alias}.key || '>')"
    return f"('<{_plain(schema.base)}' || url_encode({alias}.type::VARCHAR) || '/' || url_encode({alias}.key) || '>')"


def _types(schema: Schema, node: str, *, rdf_type: bool) -> Iterator[str]:
    cases = "".join(f" WHEN {_literal(t.name)} THEN {_literal('<' + t.iri + '>')}" for t in schema.node_types)
    predicates = [KB_TYPE, RDF + "type"] if rdf_type else [KB_TYPE]
    for source in ("nodes", "(SELECT n.key, n.type, o.type AS other FROM node_types o JOIN nodes n USING (id))"):
        kind = "n.type" if source == "nodes" else "n.other"
        lines = " || ".join(f"{node} || ' <{p}> ' || iri || ' .\n'" for p in predicates)
        yield f"SELECT {lines} AS lines FROM (SELECT n.key, n.type, CASE {kind}{cases} END AS iri FROM {source} n) n"


def _attributes(schema: Schema, name: str, table: str, attributes: tuple[Attribute, ...], node: str) -> str:
    parts = []
    for attribute in attributes:
        predicate = f" <{_plain(schema.base)}attr/{iri_escape(attribute.name)}> "
        column = "a." + _identifier(attribute.name)
        if attribute.type.endswith("[]"):
            term = _term("item", attribute.type.removesuffix("[]"))
            line = f"n.iri || '{predicate}' || {term} || ' .\n'"
            parts.append(
                f"coalesce(list_aggregate(list_transform(list_distinct({column}), lambda item: {line}),"
                " 'string_agg', ''), '')"
            )
        else:
            parts.append(f"coalesce(n.iri || '{predicate}' || {_term(column, attribute.type)} || ' .\n', '')")
    return (
        f"SELECT {' || '.join(parts)} AS lines FROM {_identifier(table)} a JOIN (SELECT id, {node} AS iri FROM nodes n"
        f" WHERE type = {_literal(name)}) n USING (id)"
    )


def _edges(schema: Schema) -> Iterator[str]:
    cases = "".join(f" WHEN {_literal(r.name)} THEN {_literal('<' + r.iri + '>')}" for r in schema.relations)
    if not cases:
        return
    source = (
        f"(SELECT {node_iri(schema, 'h')} AS head, CASE e.relation{cases} END AS relation,"
        f" {node_iri(schema, 't')} AS tail{{more}} FROM {{edges}} e"
        " JOIN nodes h ON h.id = e.head JOIN nodes t ON t.id = e.tail)"
    )
    rich = [r for r in schema.relations if r.attributes]
    distinct = "(SELECT DISTINCT head, relation, tail FROM edges)" if rich else "edges"
    yield (
        "SELECT head || ' ' || relation || ' ' || tail || ' .\n' AS lines FROM "
        + source.format(more="", edges=distinct)
    )
    # An edge with attributes also is a statement node: RDF's own reification vocabulary, numbered in table order.
    for relation in rich:
        statement = f"'<{_plain(schema.base)}statement/{iri_escape(relation.name)}/' || number || '>'"
        lines = [
            f"{statement} || ' <{RDF}{p}> ' || {value} || ' .\n'"
            for p, value in (
                ("type", f"'<{RDF}Statement>'"),
                ("subject", "head"),
                ("predicate", "relation"),
                ("object", "tail"),
            )
        ]
        for a in relation.attributes:
            predicate = f" <{_plain(schema.base)}attr/{iri_escape(a.name)}> "
            lines.append(
                f"coalesce({statement} || '{predicate}' || {_term(_identifier(a.name), a.type)} || ' .\n', '')"
            )
        columns = "".join(", " + _identifier(a.name) for a in relation.attributes)
        numbered = (
            f"(SELECT head, relation, tail{columns}, row_number() OVER () AS number FROM edges"
            f" WHERE relation = {_literal(relation.name)})"
        )
        more = ", e.number" + "".join(", e." + _identifier(a.name) for a in relation.attributes)
        yield f"SELECT {' || '.join(lines)} AS lines FROM " + source.format(more=more, edges=numbered)


def _term(value: str, kind: str) -> str:
    """An SQL expression for the RDF literal of a column of DuckDB type ``kind``; NULL stays NULL."""
    datatype = "decimal" if kind.startswith("DECIMAL") else _DATATYPES.get(kind)
    if datatype is None:
        return _string(f"{value}::VARCHAR")
    text = f"{value}::VARCHAR"
    if datatype == "dateTime":
        text = f"strftime({value}, '%Y-%m-%dT%H:%M:%S')"
    if datatype == "double":
        text = f"replace(replace({value}::VARCHAR, 'inf', 'INF'), 'nan', 'NaN')"
    return f"('\"' || {text} || '\"^^<{XSD}{datatype}>')"


def _string(value: str) -> str:
    """An SQL expression for the RDF string literal of a text column."""
    for old, new in ((r"'\'", r"'\\'"), ("'\"'", r"""'\"'"""), ("chr(10)", r"'\n'"), ("chr(13)", r"'\r'")):
        value = f"replace({value}, {old}, {new})"
    return f"('\"' || {value} || '\"')"


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _plain(text: str) -> str:
    return text.replace("'", "''")


def _literal(text: str) -> str:
    return "'" + _plain(text) + "'"
