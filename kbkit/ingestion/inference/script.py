"""The recipe of a plan: ``recipe.toml`` and ``load.sql``, to be read and edited by people."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence

from kbkit.english.relations import RECORDED, is_bare_noun
from kbkit.ingestion.inference import names
from kbkit.ingestion.inference.attribute_names import Apart, apart, attribute
from kbkit.ingestion.inference.edges import EdgeTable
from kbkit.ingestion.inference.keys import reference
from kbkit.ingestion.inference.looks import ProfiledColumn
from kbkit.ingestion.inference.profile import ProfiledTable
from kbkit.ingestion.inference.roles import DetailTable, NodeTable, TablePlan
from kbkit.ingestion.inference.table_link import TableLink
from kbkit.ingestion.sources import SOURCE_FILE
from kbkit.schema import literal
from kbkit.stores.sql_names import identifier

_SCALAR, _LIST, _TEXT = "scalar", "list", "text"


def recipe(
    plan: TablePlan, tables: Sequence[ProfiledTable], name: str, title: str, *, source_file: bool = False
) -> str:
    """Return the text of ``recipe.toml``."""
    lines = [
        "# Written by kbkit from the files below. Edit it, and load.sql, as you like.",
        f"name = {_toml(name)}",
        f"title = {_toml(title)}",
        'licence = "your own"',
        "infer = true            # numbers, dates and booleans get their types",
        *([f"as_text = {_toml(codes)}  # codes that would lose digits as numbers"] if (codes := _codes(plan)) else []),
        *(['source_file = true      # tables have the column "file of the row"'] if source_file else []),
    ]
    for spec in (spec for table in tables if not table.of for spec in table.parts or [table.spec]):
        lines += ["", f"[files.{_bare(spec.name)}]", f"match = {_toml(list(spec.match))}"]
        if spec.many:
            lines.append("many = true  # files of one shape")
        for key in ("table", "folder", "file", "encoding", "delimiter", "escape", "spaced"):
            if value := getattr(spec, key):
                lines.append(f"{key} = {_toml(value)}")
        lines += [f"{key} = {_toml(value)}  # {said}" for key, said in _SAID.items() if (value := getattr(spec, key))]
        if spec.quote is not None:
            lines.append(f"quote = {_toml(spec.quote)}")
        if spec.columns:
            lines.append(f"columns = {_toml(list(spec.columns))}  # the file has no header line")
    loose = [link.loose for edges in plan.edges for link in (edges.head, edges.tail) if link.loose]
    types = [nodes.table.type for nodes in plan.nodes if not nodes.by] + loose
    labels = {nodes.table.type: _labels(nodes) for nodes in plan.nodes}
    for kind in dict.fromkeys(types):
        lines += ["", f"[types.{_bare(kind)}]", *labels.get(kind, ())]
    for edges in plan.edges:
        if edges.symmetric:
            lines += [
                "",
                f"[relations.{_bare(edges.relation)}]",
                "symmetric = true  # every edge is there in both directions",
            ]
        elif not edges.by and is_bare_noun(edges.relation):
            lines += [
                "",
                f'[relations.{_bare(edges.relation)}]  # say what it means: {{ head = "shows", tail = "is shown by" }}',
                f"phrases = {{ head = {_toml(RECORDED[True])}, tail = {_toml(RECORDED[False])} }}",
            ]
    return "\n".join(lines) + "\n"


_SAID = {
    "skip": "lines before the header",
    "short_rows": "rows may lack their last fields",
    "footer": "lines of one field at the end are left out",
}
"""Keys of files with what they mean."""


def _codes(plan: TablePlan) -> list[str]:
    """Return the attributes that are texts although they look like numbers."""
    own = apart(plan)
    found = [attribute(c, n.table.type, own) for n in plan.nodes for c in n.values if n.table.columns[c].is_code]
    for one in plan.edges:
        codes = (name for name in one.values if one.table.columns[name].is_code)
        found += [attribute(name, one.relation, of_edges=True) for name in codes]
    return list(dict.fromkeys(found))


def _labels(nodes: NodeTable) -> list[str]:
    """Return the lines that say what the file calls the names and keys, if questions need it."""
    name = nodes.named[0] if len(nodes.named) == 1 else ""
    key = nodes.key[0] if len(nodes.key) == 1 else ""
    lines = [f"name_label = {_toml(name)}"] if name and names.plain(name) not in names.NAMES else []
    if key and not names.is_own_id(key, nodes.table.type):
        lines.append(f"key_label = {_toml(key)}")
    return lines


def load(plan: TablePlan, *, source_file: bool = False) -> str:
    """Return the text of ``load.sql``; with ``source_file``, the nodes have the file of their row."""
    return _Script(plan, source_file).text()


class _Script:
    """Writes the SQL of a plan."""

    def __init__(self, plan: TablePlan, source_file: bool) -> None:
        self._plan = plan
        self._file_column = [identifier(SOURCE_FILE)] if source_file else []
        self._apart = apart(plan)
        self._shapes = _shapes(plan, self._apart)
        self._made = {
            nodes.table.name: nodes.table
            for nodes in plan.nodes
            if not nodes.key or _joined(nodes) or nodes.table.folded
        }
        others = [edges.table for edges in plan.edges] + [one.table for nodes in plan.nodes for one in nodes.details]
        self._made |= {table.name: table for table in others if table.folded}

    def text(self) -> str:
        nodes = [self._nodes(one) for one in self._plan.nodes] + self._strangers()
        edges = [self._link(one, *link) for one in self._plan.nodes for link in one.links]
        edges += [self._edges(one) for one in self._plan.edges]
        texts = [text for one in self._plan.nodes for text in self._texts(one)]
        parts = [self._rows(table) for table in self._made.values()]
        parts += [_union("nodes", nodes)]
        parts += [
            _union("edges", edges) if edges else "CREATE TABLE edges(head VARCHAR, relation VARCHAR, tail VARCHAR);"
        ]
        parts += [_union("texts", texts)] if texts else []
        return "\n\n".join(parts) + "\n"

    def _rows(self, table: ProfiledTable) -> str:
        """Return the statement that makes the table of the rows of a file, numbered."""
        name = identifier(f"{table.name}_rows")
        number = 'SELECT *, row_number() OVER () AS "row number"'
        source = f"({table.folded.strip()})" if table.folded else identifier(table.name)
        if table.folded and self._file_column:  # the rows of several files may have become one
            [file] = self._file_column
            only = f"CASE WHEN min({file}) = max({file}) THEN min({file}) END"
            read = table.parts[0].name if table.parts else table.of or table.name
            number += f",\n       (SELECT {only} FROM {identifier(read)}) AS {file}"
        return f"CREATE TABLE {name} AS\n{number}\nFROM {source};"

    def _source(self, nodes: NodeTable) -> str:
        if nodes.table.beyond is None:
            return self._file(nodes.table)
        other, by = nodes.table.beyond
        table = next(one.table for one in self._plan.nodes if one.table.name == other)
        known = [f"SELECT {reference(table, [by])} FROM {self._file(table)}"]
        for one in itertools.takewhile(lambda one: one is not nodes, self._beyond(other)):
            known.append(f"SELECT {_key(one)} FROM {self._file(one.table)}")
        return f"(FROM {self._file(nodes.table)} WHERE {_key(nodes)} NOT IN ({' UNION '.join(known)}))"

    def _beyond(self, table: str) -> Iterator[NodeTable]:
        """Yield the tables with further rows of a table's type."""
        return (one for one in self._plan.nodes if one.table.beyond and one.table.beyond[0] == table)

    def _file(self, table: ProfiledTable) -> str:
        return identifier(f"{table.name}_rows" if table.name in self._made else table.name)

    # -- nodes

    def _nodes(self, nodes: NodeTable) -> str:
        table, kind = nodes.table, nodes.table.type
        columns = [f"{_type(nodes)} AS type", f"{_key(nodes)} AS key"]
        if nodes.named:
            columns.append(_as(_name(nodes), "name"))
        columns += self._aliases(nodes)
        for name in nodes.values:
            own = attribute(name, kind, self._apart)
            value = _value(table.columns[name], self._shape("nodes", own))
            twice = own != name and own.casefold() in {other.casefold() for other in nodes.values}
            columns.append(_as(value, f"{own}_" if twice else own))  # id and message_id of messages
        details = _joined(nodes)
        for number, detail in enumerate(details):
            others = [attribute(name, kind, self._apart) for name in detail.values if not detail.is_alias]
            columns += [_as(identifier(f"d{number} {name}"), name) for name in others]
        columns += self._file_column
        text = f"SELECT {_wrapped(columns)}\nFROM {self._source(nodes)}"
        if not details:
            return text
        lines = [self._join(nodes, detail, f"d{number}") for number, detail in enumerate(details)]
        return "\n".join([f"({text}", *lines, 'ORDER BY "row number")'])

    def _aliases(self, nodes: NodeTable) -> list[str]:
        """Return the column of other names, of the table itself and of others."""
        lists = []
        for name in nodes.aliases:
            column = nodes.table.columns[name]
            lists.append(column.elements if column.look == "list" else f"[{_text(column)}]")
        lists += [f'"d{number} aliases"' for number, detail in enumerate(_joined(nodes)) if detail.is_alias]
        together = lists[0] if len(lists) == 1 else f"list_concat({', '.join(lists)})"
        return [f"{together} AS aliases"] if lists else []

    def _join(self, nodes: NodeTable, detail: DetailTable, alias: str) -> str:
        """Return the join with a table of further values; ``alias`` names the value that refers to a node."""
        kind, parts = nodes.table.type, [f"{reference(detail.table, detail.link.columns)} AS {alias}"]
        for name, column in detail.values.items():
            own, value = (
                "aliases" if detail.is_alias else attribute(name, kind, self._apart),
                detail.table.columns[column],
            )
            values = _value(value, self._shape("nodes", own)) if detail.single else f"list({_text(value)})"
            parts.append(f"{values} AS {identifier(f'{alias} {own}')}")
        group = "" if detail.single else " GROUP BY ALL"
        rows = f"SELECT {', '.join(parts)} FROM {self._file(detail.table)}{group}"
        return f"LEFT JOIN ({rows}) ON {alias} = {reference(nodes.table, detail.link.by)}"

    def _strangers(self) -> list[str]:
        """Return the nodes that no table has: values of links that refer to no row."""
        parts: dict[str, list[str]] = {}
        for table, link in self._links():
            nodes = self._plan.of(link.target)
            if (link.missing and not link.partial) or nodes is None:
                columns = ", ".join([f"{reference(table, link.columns)} AS key", *self._file_column])
                rows = f"SELECT {columns} FROM {self._file(table)}"
                unknown = "IS NOT NULL" if nodes is None else f"NOT IN (SELECT k FROM ({self._lookup(link)}))"
                for one in self._beyond(link.target):
                    unknown += f" AND key NOT IN (SELECT {_key(one)} FROM {self._file(one.table)})"
                kind = link.loose if nodes is None else nodes.table.type
                parts.setdefault(kind, []).append(f"SELECT * FROM ({rows}) WHERE key {unknown}")
        first = "".join(f", min({file}) AS {file}" for file in self._file_column)
        return [
            f"(SELECT {literal(kind)} AS type, key{first}\nFROM ("
            + "\nUNION ALL ".join(queries)
            + ")\nGROUP BY key ORDER BY key)"
            for kind, queries in parts.items()
        ]

    def _links(self) -> Iterator[tuple[ProfiledTable, TableLink]]:
        for nodes in self._plan.nodes:
            yield from ((nodes.table, link) for _, link in nodes.links)
        for edges in self._plan.edges:
            yield from ((edges.table, link) for link in (edges.head, edges.tail))

    # -- edges and texts

    def _lookup(self, link: TableLink) -> str:
        """Return the query for the keys (``key``) of the rows that a value (``k``) refers to."""
        nodes = self._plan.of(link.target)
        assert nodes is not None
        by = reference(nodes.table, link.by, link.joint)
        return f"SELECT {by} AS k, {_key(nodes)} AS key FROM {self._source(nodes)} WHERE {by} IS NOT NULL"

    def _direct(self, link: TableLink) -> bool:
        """Return whether all values are the keys of the nodes that they refer to."""
        nodes = self._plan.of(link.target)
        return not link.partial and (nodes is None or nodes.key == link.by)

    def _kind(self, link: TableLink) -> str:
        """Return the type that a link leads to, NULL if each node has its own."""
        nodes = self._plan.of(link.target)
        return "NULL" if nodes is not None and nodes.by else literal(link.loose if nodes is None else nodes.table.type)

    def _link(self, nodes: NodeTable, relation: str, link: TableLink) -> str:
        kind = "NULL" if nodes.by else literal(nodes.table.type)
        ends = f"head, {literal(relation)} AS relation"
        head, tail = _key(nodes), reference(nodes.table, link.columns)
        if self._direct(link) and not link.lists:
            where = " AND ".join(f"{nodes.table.columns[name].value} IS NOT NULL" for name in link.columns)
            where += f" AND {tail} <> {head}" if link.without_self else ""
            columns = [f"{kind} AS head_type, {head} AS {ends}", f"{self._kind(link)} AS tail_type, {tail} AS tail"]
            return f"SELECT {', '.join(columns)}\nFROM {self._source(nodes)} WHERE {where}"
        rows = f"(SELECT {head} AS head, {tail} AS k FROM {self._source(nodes)})"
        if self._direct(link):
            columns = [f"{kind} AS head_type, head AS {ends}", f"{self._kind(link)} AS tail_type, k AS tail"]
            return f"SELECT {', '.join(columns)}\nFROM {rows}"
        columns = [f"{kind} AS head_type, head AS {ends}", f"{self._kind(link)} AS tail_type, coalesce(key, k) AS tail"]
        join = f"{'' if link.partial else 'LEFT '}JOIN ({self._lookup(link)}) USING (k) WHERE k IS NOT NULL"
        return f"SELECT {', '.join(columns)}\nFROM {rows} {join}"

    def _edges(self, edges: EdgeTable) -> str:
        table = edges.table
        joins: list[str] = []
        columns: list[str] = []
        for end, link in (("head", edges.head), ("tail", edges.tail)):
            value = reference(table, link.columns)
            if not self._direct(link):
                rows = f'SELECT k AS "{end} k", key AS "{end} key" FROM ({self._lookup(link)})'
                joins.append(f'LEFT JOIN ({rows}) ON "{end} k" = {value}')
                value = f'coalesce("{end} key", {value})'
            columns.append(f"{self._kind(link)} AS {end}_type, {value} AS {end}")
        relation = _text(table.columns[edges.by]) if edges.by else literal(edges.relation)
        columns.insert(1, f"{relation} AS relation")
        for name in edges.values:
            own = attribute(name, edges.relation, of_edges=True)
            columns.append(_as(_value(table.columns[name], self._shape("edges", own)), own))
        lines = [f"SELECT {_wrapped(columns)}", f"FROM {self._file(table)}", *joins]
        if edges.incomplete:
            ends = dict.fromkeys((*edges.head.columns, *edges.tail.columns))
            lines.append("WHERE " + " AND ".join(f"{table.columns[name].value} IS NOT NULL" for name in ends))
        return "\n".join(lines)

    def _texts(self, nodes: NodeTable) -> list[str]:
        kind = f"{'NULL' if nodes.by else literal(nodes.table.type)} AS type"
        result = []
        for name in nodes.texts:
            column = nodes.table.columns[name]
            result.append(
                f"SELECT {kind}, {_key(nodes)} AS key, {literal(name)} AS field, {_text(column)} AS text\n"
                f"FROM {self._source(nodes)} WHERE {column.value} IS NOT NULL"
            )
        for detail in nodes.details:
            for field, name in detail.texts.items():
                column, own = detail.table.columns[name], reference(detail.table, detail.link.columns)
                rows = f"(SELECT {own} AS k, {_text(column)} AS text FROM {self._file(detail.table)})"
                result.append(
                    f"SELECT {kind}, key, {literal(field)} AS field, text\n"
                    f"FROM {rows} JOIN ({self._lookup(detail.link)}) USING (k) WHERE text IS NOT NULL"
                )
        return result

    def _shape(self, of: str, name: str) -> str:
        return self._shapes.get(f"{of}.{name.casefold()}", _SCALAR)


def _joined(nodes: NodeTable) -> list[DetailTable]:
    """Return the tables with further attributes or other names of nodes."""
    return [detail for detail in nodes.details if detail.values]


def _union(table: str, parts: Sequence[str]) -> str:
    return f"CREATE TABLE {table} AS\n" + "\nUNION ALL BY NAME\n".join(parts) + ";"


# -- columns ----------------------------------------------------------------------------------------------------------


def _kinds(plan: TablePlan, others: Apart) -> Iterable[tuple[str, str]]:
    """Yield the attributes of all nodes and edges, as ``nodes.NAME`` and ``edges.NAME``, with the type of a column."""
    for nodes in plan.nodes:
        kind = nodes.table.type
        for name in nodes.values:
            yield f"nodes.{attribute(name, kind, others).casefold()}", _kind(nodes.table.columns[name])
        for detail in _joined(nodes):
            for name, column in detail.values.items():
                shape = _kind(detail.table.columns[column]) if detail.single else _LIST
                yield f"nodes.{attribute(name, kind, others).casefold()}", shape
    for edges in plan.edges:
        for name in edges.values:
            own = attribute(name, edges.relation, of_edges=True)
            yield f"edges.{own.casefold()}", _kind(edges.table.columns[name])


def _shapes(plan: TablePlan, others: Apart) -> dict[str, str]:
    """Return for each attribute what its columns in all tables can be together: lists, texts, or what they are."""
    found: dict[str, set[str]] = {}
    for name, kind in _kinds(plan, others):
        found.setdefault(name, set()).add(kind)
    return {name: _LIST if _LIST in kinds else _SCALAR if len(kinds) == 1 else _TEXT for name, kinds in found.items()}


def _kind(column: ProfiledColumn) -> str:
    return _LIST if column.look == "list" else column.kind


def _value(column: ProfiledColumn, shape: str) -> str:
    if column.look == "list":
        return column.elements
    if shape == _LIST:
        return f"CASE WHEN {column.value} IS NOT NULL THEN [{_text(column)}] END"
    return _text(column) if shape == _TEXT else column.value


def _text(column: ProfiledColumn) -> str:
    return column.value if column.kind == "VARCHAR" else f"{column.value}::VARCHAR"


def _key(nodes: NodeTable) -> str:
    return reference(nodes.table, nodes.key) if nodes.key else '"row number"::VARCHAR'


def _type(nodes: NodeTable) -> str:
    return _text(nodes.table.columns[nodes.by]) if nodes.by else literal(nodes.table.type)


def _name(nodes: NodeTable) -> str:
    values = [_text(nodes.table.columns[name]) for name in nodes.named]
    return values[0] if len(values) == 1 else f"concat_ws(' ', {', '.join(values)})"


def _as(value: str, name: str) -> str:
    return value if value == identifier(name) else f"{value} AS {identifier(name)}"


def _wrapped(columns: Sequence[str]) -> str:
    """Return columns, in lines of up to 110 characters."""
    lines, line = [], ""
    for column in columns:
        if line and len(line) + len(column) > 110:
            lines.append(line)
            line = ""
        line += column + ", "
    return "\n       ".join([*(one.rstrip() for one in lines), line.removesuffix(", ")])


def _toml(value: str | Sequence[str]) -> str:
    """Return a string or a list of strings in TOML, whose strings are those of JSON but for the character DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _bare(name: str) -> str:
    """Return a key in TOML."""
    return name if name.isascii() and name.replace("_", "").replace("-", "").isalnum() else _toml(name)
