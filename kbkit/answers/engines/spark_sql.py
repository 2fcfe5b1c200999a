"""DuckDB SQL as ``to_sql`` writes it -> Spark SQL, by sqlglot; pure text.

Spark knows WITH RECURSIVE, but only with UNION ALL, which never ends on a cycle. So each closure (``r*``, ``r+``) is a
pair of statements that the engine repeats until nothing new is found, and the rest of the text reads its result.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kbkit.errors import KbError
from kbkit.stores.ntriples import datatype, lexical

if TYPE_CHECKING:
    from sqlglot import exp

TYPES: Mapping[str, str] = {
    "BOOLEAN": "boolean",
    "TINYINT": "tinyint",
    "SMALLINT": "smallint",
    "INTEGER": "int",
    "BIGINT": "bigint",
    "UTINYINT": "smallint",
    "USMALLINT": "int",
    "UINTEGER": "bigint",
    "UBIGINT": "decimal(20,0)",
    "FLOAT": "float",
    "DOUBLE": "double",
    "DATE": "date",
    "TIMESTAMP": "timestamp_ntz",
    "VARCHAR": "string",
}
"""What Spark reads from Parquet that DuckDB wrote, by DuckDB's types; lists of these are arrays."""

_SAID_BY_SQLGLOT = {"REAL": "FLOAT", "INT": "INTEGER", "INT128": "HUGEINT", "UINT128": "UHUGEINT", "TEXT": "VARCHAR"}

_BARE = re.compile(
    r"""('(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*)|\b(?!lambda\b|true\b|false\b)([a-z_][a-z0-9_]*)\b(?!\()"""
)
"""Strings, quoted names and comments; or a bare name: keywords and types are upper case in compiled SQL."""


@dataclass(frozen=True)
class Closure:
    """A closure: ``start`` and ``step`` are queries with one column of ids.

    ``step`` reads ``frontier``, the ids that were new in the round before; ``name`` is what the result is called.
    """

    name: str
    start: str
    step: str

    @property
    def frontier(self) -> str:
        """The name under which ``step`` reads the ids that are new."""
        return _frontier(self.name)


@dataclass(frozen=True)
class SparkSql:
    """``text`` gives id, type, key, name of the answers, in no order, once the ``closures`` are there, each in turn.

    ``tables`` are the tables of the KB that they read.
    """

    text: str
    closures: tuple[Closure, ...]
    tables: frozenset[str]


def spark_type(sql_type: str) -> str | None:
    """Spark's name for a type of DuckDB; None where it has none."""
    if sql_type.endswith("[]"):
        element = spark_type(sql_type.removesuffix("[]"))
        return element and f"array<{element}>"
    return sql_type.lower() if sql_type.startswith("DECIMAL(") else TYPES.get(sql_type)


def to_spark(sql: str) -> SparkSql:
    """Translate SQL that :func:`kbkit.answers.to_sql.to_sql` wrote with its parameters."""
    import sqlglot

    # Quoted, because sqlglot takes some words for its own that DuckDB allows as names (map, values, range).
    names_quoted = _BARE.sub(lambda match: match[1] or f'"{match[2]}"', sql)
    tree = sqlglot.parse_one(names_quoted, read="duckdb").transform(_rewrite)
    tree.set("order", None)  # a sort of all answers over the cluster, for nothing
    steps = tree.args.pop("with_", None)
    named: dict[str, exp.Expression] = {step.alias: step.this for step in (steps.expressions if steps else ())}
    plain: dict[str, exp.Expression] = {}
    closures = []
    for name, body in named.items():
        if _reads(body, name):
            closures.append(_closure(name, body, plain))
        else:
            plain[name] = body
    read = frozenset().union(*(_tables(part) for part in (tree, *named.values()))) - set(named)
    return SparkSql(_with(plain, tree), tuple(closures), read)


def _closure(name: str, body: exp.Expression, before: Mapping[str, exp.Expression]) -> Closure:
    from sqlglot import exp

    step = body.expression.copy()
    for table in step.find_all(exp.Table):
        if table.name == name:
            table.set("this", exp.to_identifier(_frontier(name), quoted=True))
            table.set("alias", exp.TableAlias(this=exp.to_identifier(name, quoted=True)))
    return Closure(name, _with(before, body.this), _text(step))


def _frontier(name: str) -> str:
    return f"new in {name}"


def _rewrite(node: exp.Expression) -> exp.Expression:
    """What Spark says otherwise than sqlglot supposes."""
    from sqlglot import exp

    if isinstance(node, exp.RegexpLike) and isinstance(node.expression, exp.Anonymous):  # contains
        sought = node.expression.expressions[0].name.replace("\\E", "\\E\\\\E\\Q")
        return exp.RegexpLike(this=node.this, expression=exp.Literal.string(f"(?iu)\\Q{sought}\\E"))
    if isinstance(node, exp.Length) and isinstance(node.this, exp.ArrayFilter):
        return exp.ArraySize(this=node.this.transform(_rewrite))  # transform does not look into what is new
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal):
        return _constant(node.this.name, node.to.sql(dialect="duckdb"))
    return node


def _constant(text: str, kind: str) -> exp.Expression:
    from sqlglot import exp

    kind = _SAID_BY_SQLGLOT.get(kind, kind).replace(", ", ",")
    spark = spark_type(kind)
    if spark is None:
        raise KbError(f"Spark cannot compare values of type {kind}", "the engines walk and sql can")
    xsd = datatype(kind)
    said = lexical(text, xsd) if xsd in ("date", "dateTime") else text  # the year 44 BC as -0043
    return exp.cast(exp.Literal.string(said), spark, dialect="spark")


def _reads(body: exp.Expression, name: str) -> bool:
    return name in _tables(body)


def _tables(tree: exp.Expression) -> set[str]:
    from sqlglot import exp

    return {table.name for table in tree.find_all(exp.Table)}


def _with(steps: Mapping[str, exp.Expression], query: exp.Expression) -> str:
    """A query after those of the steps that it reads, directly or not."""
    needed: list[str] = []
    wanted = _tables(query)
    for name in reversed(list(steps)):
        if name in wanted:
            needed.insert(0, name)
            wanted |= _tables(steps[name])
    head = ",\n".join(f"{quoted(name)} AS (\n  {_text(steps[name])}\n)" for name in needed)
    return f"WITH {head}\n{_text(query)}" if needed else _text(query)


def quoted(name: str) -> str:
    """A name in Spark's quotation marks."""
    return "`" + name.replace("`", "``") + "`"


def _text(tree: exp.Expression) -> str:
    return str(tree.sql(dialect="spark", identify=True, comments=False))
