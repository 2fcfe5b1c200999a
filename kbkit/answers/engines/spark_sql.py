"""Translate the SQL of ``to_sql`` to Spark SQL with sqlglot.

Spark supports WITH RECURSIVE only with UNION ALL, which does not terminate on a cycle. Therefore, each closure (``r*``,
``r+``) is a pair of statements that the engine repeats until nothing new is found; the rest of the query reads its
result.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kbkit.answers.written import in_backticks
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
"""Spark types by DuckDB type, as Spark reads Parquet files of DuckDB; lists are arrays."""

_SQLGLOT_NAMES = {"REAL": "FLOAT", "INT": "INTEGER", "INT128": "HUGEINT", "UINT128": "UHUGEINT", "TEXT": "VARCHAR"}

_BARE = re.compile(
    r"""('(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*)|\b(?!lambda\b|true\b|false\b)([a-z_][a-z0-9_]*)\b(?!\()"""
)
"""Strings, quoted names and comments, or a bare name; keywords and types are upper case in compiled SQL."""


@dataclass(frozen=True)
class Closure:
    """A closure; ``start`` and ``step`` are queries with one column of ids.

    ``step`` reads ``frontier``, the new ids of the previous round; ``name`` is the name of the result.
    """

    name: str
    start: str
    step: str

    @property
    def frontier(self) -> str:
        """Name of the table of new ids."""
        return _frontier(self.name)


@dataclass(frozen=True)
class SparkSql:
    """``text`` returns id, type, key, name of the answers, unordered, after the ``closures`` are computed in turn.

    ``tables`` are the tables of the KB that the query reads.
    """

    text: str
    closures: tuple[Closure, ...]
    tables: frozenset[str]


def spark_type(sql_type: str) -> str | None:
    """Return the Spark type for a DuckDB type; None if there is none."""
    if sql_type.endswith("[]"):
        element = spark_type(sql_type.removesuffix("[]"))
        return element and f"array<{element}>"
    return sql_type.lower() if sql_type.startswith("DECIMAL(") else TYPES.get(sql_type)


def to_spark(sql: str) -> SparkSql:
    """Translate SQL from :func:`kbkit.answers.to_sql.to_sql` without parameters."""
    import sqlglot

    # Quoted, because sqlglot reserves some words that DuckDB allows as names (map, values, range).
    names_quoted = _BARE.sub(lambda match: match[1] or f'"{match[2]}"', sql)
    tree = sqlglot.parse_one(names_quoted, read="duckdb").transform(_rewrite)
    tree.set("order", None)  # sorting on the cluster is not needed
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
    """Rewrite expressions that sqlglot does not translate correctly for Spark."""
    from sqlglot import exp

    if isinstance(node, exp.RegexpLike) and isinstance(node.expression, exp.Anonymous):  # contains
        sought = node.expression.expressions[0].name.replace("\\E", "\\E\\\\E\\Q")
        return exp.RegexpLike(this=node.this, expression=exp.Literal.string(f"(?iu)\\Q{sought}\\E"))
    if isinstance(node, (exp.Year, exp.DateDiff)):
        raise KbError("Spark does not support functions of dates", "Use the engine walk or sql")
    if isinstance(node, exp.Length) and isinstance(node.this, exp.ArrayFilter):
        return exp.ArraySize(this=node.this.transform(_rewrite))  # transform skips new expressions
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal):
        return _constant(node.this.name, node.to.sql(dialect="duckdb"))
    return node


def _constant(text: str, kind: str) -> exp.Expression:
    from sqlglot import exp

    kind = _SQLGLOT_NAMES.get(kind, kind).replace(", ", ",")
    spark = spark_type(kind)
    if spark is None:
        raise KbError(f"Spark does not support comparisons with type {kind}", "Use the engine walk or sql")
    xsd = datatype(kind)
    value = lexical(text, xsd) if xsd in ("date", "dateTime") else text  # the year 44 BC as -0043
    return exp.cast(exp.Literal.string(value), spark, dialect="spark")


def _reads(body: exp.Expression, name: str) -> bool:
    return name in _tables(body)


def _tables(tree: exp.Expression) -> set[str]:
    from sqlglot import exp

    return {table.name for table in tree.find_all(exp.Table)}


def _with(steps: Mapping[str, exp.Expression], query: exp.Expression) -> str:
    """Return a query preceded by the steps that it reads, directly or indirectly."""
    needed: list[str] = []
    wanted = _tables(query)
    for name in reversed(list(steps)):
        if name in wanted:
            needed.insert(0, name)
            wanted |= _tables(steps[name])
    head = ",\n".join(f"{in_backticks(name)} AS (\n  {_text(steps[name])}\n)" for name in needed)
    return f"WITH {head}\n{_text(query)}" if needed else _text(query)


def _text(tree: exp.Expression) -> str:
    return str(tree.sql(dialect="spark", identify=True, comments=False))
