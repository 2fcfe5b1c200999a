"""Words of DuckDB's SQL: reserved words, keywords by clause, common functions."""

from __future__ import annotations

import re

from kbkit.stores.sql_names import RESERVED

START = ("SELECT", "FROM", "WITH", "DESCRIBE", "SUMMARIZE", "EXPLAIN", "SHOW TABLES", "PIVOT", "UNPIVOT", "VALUES")

_ENDS = ("ORDER BY", "LIMIT", "UNION", "UNION ALL", "EXCEPT", "INTERSECT")
_JOINS = ("JOIN", "LEFT JOIN", "CROSS JOIN", "SEMI JOIN", "ANTI JOIN", "FULL JOIN", "RIGHT JOIN")
_TESTS = ("AND", "OR", "IN (", "NOT IN (", "LIKE", "ILIKE", "BETWEEN", "IS NULL", "IS NOT NULL")

AFTER = {
    "select": ("FROM", "AS", "OVER (", "FILTER (WHERE", *_TESTS, "WHEN", "THEN", "ELSE", "END"),
    "from": ("WHERE", *_JOINS, "GROUP BY", *_ENDS, "AS", "SELECT", "USING SAMPLE"),
    "join": ("ON", "USING (", "AS", *_JOINS, "WHERE"),
    "using": ("WHERE", *_JOINS, "GROUP BY", *_ENDS),
    "on": (*_TESTS, "WHERE", *_JOINS, "GROUP BY", *_ENDS),
    "where": (*_TESTS, "GROUP BY", *_ENDS, "WHEN", "THEN", "ELSE", "END"),
    "group": ("HAVING", "QUALIFY", *_ENDS),
    "having": (*_TESTS, "QUALIFY", *_ENDS),
    "qualify": (*_TESTS, *_ENDS),
    "order": ("ASC", "DESC", "NULLS LAST", "NULLS FIRST", "LIMIT"),
    "limit": ("OFFSET",),
    "with": ("AS (", "AS MATERIALIZED ("),
    "explain": ("SELECT", "FROM"),
    "describe": (),
    "": ("FROM", "WHERE", "SELECT"),
}
"""Keywords after a complete value or table, by clause."""

BEFORE = {
    "select": ("DISTINCT", "CASE WHEN", "NOT", "NULL", "TRUE", "FALSE"),
    "where": ("NOT", "EXISTS (", "CASE WHEN", "TRUE", "FALSE"),
    "on": ("NOT",),
    "having": ("NOT",),
    "qualify": ("NOT",),
    "group": ("ALL",),
    "order": ("ALL",),
    "with": ("RECURSIVE",),
}
"""Keywords in the position of a value, by clause."""

PAIRS = {
    "group": ("BY", "BY ALL"),
    "order": ("BY", "BY ALL"),
    "left": ("JOIN", "OUTER JOIN", "SEMI JOIN", "ANTI JOIN"),
    **dict.fromkeys(("right", "full"), ("JOIN", "OUTER JOIN")),
    **dict.fromkeys(("inner", "outer", "cross", "semi", "anti", "natural", "asof", "positional"), ("JOIN",)),
    "is": ("NULL", "NOT NULL", "DISTINCT FROM"),
    "union": ("ALL", "BY NAME", "SELECT", "FROM"),
    **dict.fromkeys(("except", "intersect"), ("SELECT", "FROM")),
    "nulls": ("LAST", "FIRST"),
    "show": ("TABLES",),
    "partition": ("BY",),
    "filter": ("(WHERE",),
}
"""Keywords after the first word of a pair."""

FUNCTIONS = {
    **dict.fromkeys(("count", "sum", "avg", "min", "max", "median", "mode", "any_value"), "aggregate"),
    **dict.fromkeys(("list", "string_agg", "arg_max", "arg_min", "stddev", "quantile_cont", "histogram"), "aggregate"),
    **dict.fromkeys(("approx_count_distinct", "count_if", "bool_and", "bool_or", "corr", "first", "last"), "aggregate"),
    **dict.fromkeys(("lower", "upper", "trim", "length", "substring", "replace", "concat", "concat_ws"), "text"),
    **dict.fromkeys(("contains", "starts_with", "ends_with", "split_part", "string_split", "strip_accents"), "text"),
    **dict.fromkeys(("regexp_matches", "regexp_extract", "regexp_replace", "levenshtein"), "text"),
    **dict.fromkeys(("jaro_winkler_similarity", "format", "printf", "reverse", "repeat"), "text"),
    **dict.fromkeys(
        ("abs", "round", "floor", "ceil", "sqrt", "ln", "log", "exp", "power", "greatest", "least"), "number"
    ),
    **dict.fromkeys(("coalesce", "nullif", "ifnull", "cast", "try_cast", "typeof", "hash", "random"), "value"),
    **dict.fromkeys(("unnest", "len", "list_contains", "list_filter", "list_transform", "list_sort"), "list"),
    **dict.fromkeys(("list_distinct", "list_aggregate", "array_to_string", "flatten", "struct_pack"), "list"),
    **dict.fromkeys(("year", "month", "date_trunc", "date_diff", "strftime", "strptime", "today"), "date"),
    **dict.fromkeys(("row_number", "rank", "dense_rank", "lag", "lead", "ntile", "first_value"), "window"),
}
"""Common functions and their kind."""

TYPES = ("VARCHAR", "BIGINT", "INTEGER", "DOUBLE", "DECIMAL(", "BOOLEAN", "DATE", "TIMESTAMP", "JSON")
"""Types to cast to."""

TABLE_FUNCTIONS = ("unnest", "range", "generate_series")


def cased(keyword: str, typed: str, before: str) -> str:
    """Return a keyword in the case of the typed word, or of the keywords before it."""
    letters = (
        typed if typed.strip('"') else " ".join(re.findall(r"(?i)\b(?:select|from|where|join|order by|with)\b", before))
    )
    return keyword.lower() if letters and letters == letters.lower() else keyword


KEYWORDS = (
    RESERVED
    | {
        word.casefold()
        for phrases in (START, *AFTER.values(), *BEFORE.values(), *PAIRS.values(), TYPES)
        for phrase in phrases
        for word in re.findall(r"\w+", phrase)
    }
    | frozenset(("alter", "copy", "delete", "drop", "insert", "update", "replace", "set", "view", "temp"))
)
"""Words to highlight."""
