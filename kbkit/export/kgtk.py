"""KGTK: one edge file (``id``, ``node1``, ``label``, ``node2``) with the contents of the tables. Pure text.

Follows the file format specification, version 2.0 (https://kgtk.readthedocs.io): strings in double quotes with
backslash escapes, dates as ``^2020-01-31T00:00:00/11``, numbers, ``True`` and ``False`` unquoted.

A node's name is an edge ``label``, its aliases are edges ``alias``, its types are edges ``type``, its texts and
attributes are edges with the name of the field or attribute. Attributes of an edge are edges from its id.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kbkit.schema import Attribute, Relation, Schema, literal, quote
from kbkit.stores.tables import Tables

HEADER = b"id\tnode1\tlabel\tnode2\n"

_NUMBER = '"number of the edge"'  # not a valid name of an attribute
_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_NUMBERS = (*_INTEGERS, *("U" + name for name in _INTEGERS), "BIGNUM")
# Valid first characters of a symbol; others would start a number, a string or a date.
_PLAIN = r"[\pL_<:][^\x00-\x20\x7f\\|]*"
_ESCAPES = {
    "'\\'": "'\\\\'",
    "chr(0)": "'\\x00'",
    "chr(7)": "'\\a'",
    "chr(8)": "'\\b'",
    "chr(9)": "'\\t'",
    "chr(10)": "'\\n'",
    "chr(11)": "'\\v'",
    "chr(12)": "'\\f'",
    "chr(13)": "'\\r'",
    "'\"'": "'\\\"'",
    "''''": "'\\'''",
    "'|'": "'\\|'",
}


def queries(tables: Tables, schema: Schema) -> Iterator[str]:
    """Return queries with one column ``lines`` whose concatenated strings are the file without its header.

    Node ids are keys if all keys are distinct symbols, otherwise type and key, percent-encoded
    (``gene%2Fprotein/1017``).
    """
    plain = tables.rows(
        f"""SELECT count(*) = count(DISTINCT key) AND coalesce(bool_and(regexp_full_match(key, {literal(_PLAIN)})
            AND NOT starts_with(key, 'kb:') AND key NOT IN ('True', 'False')), true) FROM nodes"""
    )[0][0]

    def node(alias: str) -> str:
        return f"{alias}.key" if plain else f"{_type_symbol(alias + '.type')} || '/' || url_encode({alias}.key)"

    yield from _about_nodes(schema, node("n"))
    done = 0
    for relation in schema.relations:
        yield _edges(relation, done, node("h"), node("t"))
        done += relation.edges


def symbol(name: str) -> str:
    """Return a name as a symbol, with invalid characters percent-encoded."""
    return re.sub(
        r"[%|\\\x00-\x1f\x7f]|^[^\w<:]|^[0-9]|\s$", lambda m: f"%{ord(m[0]):02X}" if m[0] < "\x80" else m[0], name
    )


def _type_symbol(column: str) -> str:
    """Return SQL for a type as a symbol, percent-encoded as in IRIs, including a leading digit or sign."""
    encoded = f"url_encode({column}::VARCHAR)"
    for first, code in (("([0-9])", r"%3\1"), ("-", "%2D"), (r"\.", "%2E"), ("~", "%7E")):
        encoded = f"regexp_replace({encoded}, '^{first}', '{code}')"
    return encoded


def _about_nodes(schema: Schema, node: str) -> Iterator[str]:
    yield f"SELECT {_line(_id('l', 'n.id'), node, 'label', _string('n.name'))} AS lines FROM nodes n"
    aliases = "(SELECT id, type, key, unnest(aliases) AS alias, generate_subscripts(aliases, 1) AS place FROM nodes)"
    yield f"SELECT {_line(_id('a', 'n.id', 'n.place'), node, 'alias', _string('n.alias'))} AS lines FROM {aliases} n"
    types = (
        "(SELECT id, type, type AS kind, key FROM nodes UNION ALL"
        " SELECT n.id, n.type, o.type, n.key FROM node_types o JOIN nodes n USING (id))"
    )
    kind = _type_symbol("n.kind")
    yield f"SELECT {_line(_id('t', 'n.id', kind), node, 'type', kind)} AS lines FROM {types} n"
    for node_type in schema.node_types:
        if node_type.attributes and node_type.count:
            parts = [
                _values(_id(f"p{place}-", "n.id"), node, attribute, f"a.{quote(attribute.name)}")
                for place, attribute in enumerate(node_type.attributes)
            ]
            yield (
                f"SELECT concat({', '.join(parts)}) AS lines FROM {quote(node_type.table)} a JOIN nodes n USING (id)"
                f" WHERE n.id BETWEEN {node_type.first} AND {node_type.last}"
            )
    for place, field in enumerate(schema.text_fields):
        line = _line(_id(f"x{place}-", "n.id", "x.position"), node, symbol(field.name), _string("x.text"))
        yield f"SELECT {line} AS lines FROM texts x JOIN nodes n USING (id) WHERE x.field = {literal(field.name)}"


def _edges(relation: Relation, before: int, head: str, tail: str) -> str:
    """Return the edges of one relation, numbered from ``before``, each followed by its attributes."""
    edge = f"'kb:e' || e.{_NUMBER}"
    columns = "".join(", " + quote(a.name) for a in relation.attributes)
    rows = (
        f"(SELECT head, tail{columns}, {before} + row_number() OVER () AS {_NUMBER} FROM edges"
        f" WHERE relation = {literal(relation.name)})"
    )
    parts = [_line(edge, head, symbol(relation.name), tail)]
    parts += [
        _values(f"{edge} || '-{place}'", edge, attribute, f"e.{quote(attribute.name)}")
        for place, attribute in enumerate(relation.attributes)
    ]
    joins = "JOIN nodes h ON h.id = e.head JOIN nodes t ON t.id = e.tail"
    return f"SELECT concat({', '.join(parts)}) AS lines FROM {rows} e {joins}"


def _id(kind: str, *parts: str) -> str:
    """Return SQL for the id of an edge that describes a node."""
    return f"'kb:{kind}'" + " || '-'".join(f" || {part}" for part in parts)


def _line(edge: str, head: str, label: str, value: str) -> str:
    """Return SQL for one line; ``label`` is a symbol, the other arguments are SQL."""
    between = literal(f"\t{label}\t")
    return f"{edge} || '\t' || {head} || {between} || {value} || '\n'"


def _values(edge: str, head: str, attribute: Attribute, column: str) -> str:
    """Return SQL for the lines of an attribute: none for NULL, several for a list."""
    label, kind = symbol(attribute.name), attribute.type
    if not kind.endswith("[]"):
        return f"coalesce({_line(edge, head, label, _value(column, kind))}, '')"
    item = _line(f"{edge} || '-' || place", head, label, _value("item", kind.removesuffix("[]")))
    each = f"list_transform(list_distinct({column}), lambda item, place: {item})"
    return f"coalesce(list_aggregate({each}, 'string_agg', ''), '')"


def _value(column: str, kind: str) -> str:
    """Return SQL for a value; NULL stays NULL."""
    text = f"{column}::VARCHAR"
    if kind in _NUMBERS or kind.startswith("DECIMAL"):
        return text
    if kind in ("DOUBLE", "FLOAT"):
        return f"if(isfinite({column}), {text}, {_string(text)})"
    if kind == "BOOLEAN":
        return f"if({column}, 'True', if({column} IS NULL, NULL, 'False'))"
    if kind in ("DATE", "TIMESTAMP"):
        rest = "T00:00:00/11" if kind == "DATE" else "/14"
        moment = f"'^' || replace({text}, ' ', 'T') || '{rest}'"
        return f"if(coalesce(year({column}) BETWEEN 1 AND 9999, false), {moment}, {_string(text)})"
    return _string(text)


def _string(value: str) -> str:
    """Return SQL for a string literal."""
    for old, new in _ESCAPES.items():
        value = f"replace({value}, {old}, {new})"
    return f"('\"' || {value} || '\"')"
