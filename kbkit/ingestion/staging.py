"""Validate a recipe's tables and number the nodes, in SQL, in the staging database.

Input: ``nodes``, ``edges`` and ``texts`` with :data:`COLUMNS`, as ``load.sql`` creates them. Further columns of nodes
and edges are attributes.

Output: ``kb_nodes``, ``kb_node_types``, ``kb_texts``, and the edges (:mod:`kbkit.ingestion.staging_edges`). Ids start
from 0 and follow the order of types (as in the recipe, then by first appearance), and within a type the order of the
source.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbkit.errors import BadInputError, Command, Option
from kbkit.ingestion import staging_edges
from kbkit.ingestion.recipe import Recipe
from kbkit.ingestion.sources import SOURCE_FILE
from kbkit.schema import UNTYPED, literal, quote
from kbkit.stores.table_build import staged_tables

if TYPE_CHECKING:
    import duckdb

_TEXT, _LIST = "VARCHAR", "VARCHAR[]"
COLUMNS = {
    "nodes": {"type": _TEXT, "key": _TEXT, "name": _TEXT, "aliases": _LIST, "types": _LIST},
    "edges": dict.fromkeys(("head_type", "head", "relation", "tail_type", "tail"), _TEXT),
    "texts": {"type": _TEXT, "key": _TEXT, "field": _TEXT, "text": _TEXT},
}
"""The fixed columns of the tables that a recipe creates."""
REQUIRED = {"nodes": ("key",), "edges": ("head", "relation", "tail"), "texts": ("key", "text")}
"""The columns that must exist."""
STAGED_COLUMNS = {"kb_nodes": ("id", *COLUMNS["nodes"], SOURCE_FILE), "kb_edges": ("head", "relation", "tail")}
"""The fixed columns of staged nodes and edges; the others are attributes."""

# In order of preference: a text attribute gets the first type that fits all its values.
_INFERRED = {
    "BIGINT": r"regexp_full_match({c}, '-?(0|[1-9][0-9]{{0,17}})')",
    # Not if digits would be lost, as in long numbers that are really names.
    "DOUBLE": r"regexp_full_match({c}, '-?(0|[1-9][0-9]*)?(\.[0-9]*)?([eE][-+]?[0-9]+)?')"
    " AND length(ltrim(regexp_replace({c}, '[^0-9]', '', 'g'), '0')) <= 17"
    " AND coalesce(isfinite(TRY_CAST({c} AS DOUBLE)), false)"
    # An integer of 16 digits may lie between two doubles.
    " AND (NOT regexp_full_match({c}, '-?[0-9]{{16,}}') OR"
    " TRY_CAST(TRY_CAST({c} AS DOUBLE) AS HUGEINT) IS NOT DISTINCT FROM TRY_CAST({c} AS HUGEINT))",
    "BOOLEAN": "lower({c}) IN ('true', 'false')",
    "DATE": r"regexp_full_match({c}, '[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}') AND TRY_CAST({c} AS DATE) IS NOT NULL",
    "TIMESTAMP": r"regexp_full_match({c}, '[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[ T][0-9:.]+Z?')"
    " AND TRY_CAST({c} AS TIMESTAMP) IS NOT NULL",
}


def conditions(value: str) -> dict[str, str]:
    """Return for each narrower type of a text, in order of preference, the SQL condition that ``value`` fits it."""
    return {kind: test.format(c=value) for kind, test in _INFERRED.items()}


_DATES = ("DATE", "TIMESTAMP")
_FIRST_ROWS = 10_000
"""Rows on which all types are tested first."""
_OWN_COLUMNS = ("id", "position")
"""Columns of the tables; an attribute with such a name gets an underscore."""

_SKIP = ("Use ", Option("skip_dangling"), " to skip them")


@dataclass
class StagingReport:
    """Numbers of rows that staging merged, dropped or skipped.

    ``both_ways`` is the number of edges of symmetric relations that the source gives in both directions. ``first_kept``
    are the columns in which merged rows have several values, of which the first was kept.
    """

    merged_nodes: int = 0
    first_kept: str = ""
    duplicate_edges: int = 0
    both_ways: int = 0
    dangling_edges: int = 0
    dangling_texts: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return a dict for the manifest."""
        return {name: value for name, value in asdict(self).items() if value != ""}


def stage(
    con: duckdb.DuckDBPyConnection,
    recipe: Recipe,
    folder: Path,
    *,
    skip_dangling: bool,
    merge_duplicates: bool,
    step: Callable[[], None] = lambda: None,
) -> StagingReport:
    """Validate the recipe's tables and number the nodes; raise :class:`BadInputError` for invalid rows.

    ``folder`` is that of the staging database; ``step`` is called after nodes, after edges and after texts.
    """
    present = staged_tables(con)
    for name in ("nodes", "edges"):
        if name not in present:
            hint = ("Use ", Command("recipe new FOLDER"), " for an example")
            raise BadInputError(f"Missing table {name!r} in {recipe.folder / 'load.sql'}", *hint)
    report = StagingReport()
    report.merged_nodes, report.first_kept = _nodes(con, recipe, merge=merge_duplicates)
    step()
    report.dangling_edges, report.duplicate_edges, report.both_ways = _edges(con, recipe, folder, skip=skip_dangling)
    step()
    report.dangling_texts = _texts(con, recipe, present, skip=skip_dangling)
    step()
    return report


def _create_typed(con: duckdb.DuckDBPyConnection, table: str, target: str, recipe: Recipe) -> list[str]:
    """Create the view ``target`` of ``table`` with fixed columns cast and attributes typed; return the attributes."""
    fixed = COLUMNS[table]
    types = {row[0]: row[1] for row in con.execute(f"DESCRIBE {table}").fetchall()}
    by_name = {name.casefold(): name for name in types}
    for name in REQUIRED[table]:
        if name not in by_name:
            message = f"Missing column {name!r} of table {table!r} in {recipe.folder / 'load.sql'}"
            raise BadInputError(message, f"The columns are {', '.join(types)}")
    parts = [
        f"{quote(by_name[name])}::{kind} AS {name}" if name in by_name else f"NULL::{kind} AS {name}"
        for name, kind in fixed.items()
    ]
    if table == "nodes":
        parts.append(quote(SOURCE_FILE) if SOURCE_FILE in types else f"NULL::VARCHAR AS {quote(SOURCE_FILE)}")
    raw = [name for name in types if name.casefold() not in (*fixed, SOURCE_FILE)]
    values = {name: quote(name) for name in raw}
    if recipe.single_values:
        lists = [name for name in raw if types[name].endswith("[]")]
        for name in _single_valued(con, table, lists):
            values[name], types[name] = f"{quote(name)}[1]", types[name].removesuffix("[]")
    if recipe.infer or recipe.infer_dates:
        for name in (name for name in raw if types[name] == "HUGEINT"):  # JSON numbers of both signs
            wide = con.execute(f"SELECT count({quote(name)}) - count(TRY_CAST({quote(name)} AS BIGINT)) FROM {table}")
            if wide.fetchone() == (0,):
                values[name] = f"{quote(name)}::BIGINT"
        kept = frozenset(recipe.as_text)
        texts = {name: values[name] for name in raw if types[name] in ("VARCHAR", "VARCHAR[]") and name not in kept}
        kinds = tuple(_INFERRED) if recipe.infer else _DATES
        for name, kind in infer(con, table, texts, types, kinds).items():
            values[name] = f"{values[name]}::{kind}"
    attributes = []
    taken = {name.casefold() for name in (*fixed, *raw)}
    for name in raw:
        attribute = name
        while attribute.casefold() in _OWN_COLUMNS or (attribute != name and attribute.casefold() in taken):
            attribute += "_"
        parts.append(f"{values[name]} AS {quote(attribute)}")
        attributes.append(attribute)
    con.execute(f"CREATE VIEW {target} AS SELECT {', '.join(parts)} FROM {table}")
    return attributes


def _numbered(view: str) -> str:
    """Return the rows of a view with their ``position`` in the source, from 1."""
    return f"(SELECT *, row_number() OVER () AS position FROM {view})"


def own_name(name: str) -> str:
    """Return the name of an attribute in a KB, which avoids the columns of its tables."""
    return name + "_" if name.casefold() in _OWN_COLUMNS else name


def _single_valued(con: duckdb.DuckDBPyConnection, table: str, lists: list[str]) -> list[str]:
    """Return the list columns in which no list has more than one element."""
    if not lists:
        return []
    row = con.execute(f"SELECT {', '.join(f'max(len({quote(name)}))' for name in lists)} FROM {table}").fetchone()
    assert row is not None
    return [name for name, longest in zip(lists, row, strict=True) if (longest or 0) <= 1]


def infer(
    con: duckdb.DuckDBPyConnection,
    table: str,
    values: dict[str, str],
    types: dict[str, str],
    kinds: Sequence[str] = tuple(_INFERRED),
) -> dict[str, str]:
    """Return one of the narrower types ``kinds`` for each text column (or list of texts) of ``table`` whose values all
    fit one.

    ``values`` are SQL expressions by column, ``types`` their types in DuckDB. Types that
    the first rows do not fit are not tested on the others.
    """
    result: dict[str, str] = {}
    for suffix in ("", "[]"):
        columns = {name: value for name, value in values.items() if types[name] == f"VARCHAR{suffix}"}
        first_rows = f"(FROM {table} LIMIT {_FIRST_ROWS}) AS {table}"
        fitting = _fitting(con, first_rows, columns, suffix, list(kinds))
        if fitting and _is_short(con, table):
            result |= {name: found[0] + suffix for name, found in fitting.items() if found}
            continue
        open_kinds = {name: list(kinds) for name in columns} | fitting
        while by_kind := _first_kinds(open_kinds):
            for kind, names in by_kind.items():
                chosen = {name: columns[name] for name in names}
                whole = _fitting(con, table, chosen, suffix, [kind])
                for name in names:
                    if whole.get(name):
                        result[name] = kind + suffix
                    open_kinds[name] = open_kinds[name][1:] if whole.get(name) == [] else []
    return {name: result[name] for name in values if name in result}


def _is_short(con: duckdb.DuckDBPyConnection, table: str) -> bool:
    """Return whether the first rows are the whole table."""
    return con.execute(f"FROM {table} OFFSET {_FIRST_ROWS} LIMIT 1").fetchone() is None


def _first_kinds(open_kinds: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the names of columns by the first of the types that they may have."""
    by_kind: dict[str, list[str]] = {}
    for name, kinds in open_kinds.items():
        if kinds:
            by_kind.setdefault(kinds[0], []).append(name)
    return by_kind


def _fitting(
    con: duckdb.DuckDBPyConnection, table: str, columns: dict[str, str], suffix: str, kinds: list[str]
) -> dict[str, list[str]]:
    """Return, for each column with values, the types of ``kinds`` that all of its values fit."""
    if not columns:
        return {}
    tests = conditions("x" if suffix else "value")
    shape = "len(list_filter(value, lambda x: NOT ({}))) = 0" if suffix else "{}"
    counts = ", ".join(f"count(*) FILTER ({shape.format(tests[kind])})" for kind in kinds)
    listed = ", ".join(f"{value} AS {quote(name)}" for name, value in columns.items())
    # A row per value, because the time of a query grows with its expressions, several for each column.
    rows = f"UNPIVOT (SELECT {listed} FROM {table}) ON COLUMNS(*) INTO NAME name VALUE value"
    found = con.execute(f"SELECT name, count(*), {counts} FROM ({rows}) GROUP BY name").fetchall()
    return {name: [kind for kind, hit in zip(kinds, hits, strict=True) if hit == total] for name, total, *hits in found}


def _nodes(con: duckdb.DuckDBPyConnection, recipe: Recipe, *, merge: bool) -> tuple[int, str]:
    attributes = _create_typed(con, "nodes", "typed_nodes", recipe)
    con.execute(
        "CREATE TEMP TABLE raw_nodes AS SELECT * REPLACE"
        f" (CASE WHEN trim(type) <> '' THEN type ELSE {literal(UNTYPED)} END AS type) FROM {_numbered('typed_nodes')}"
    )
    keyless = con.execute("""
        SELECT count(*), min(position), arg_min(type, position), arg_min(coalesce(name, ''), position)
        FROM raw_nodes WHERE key IS NULL OR key = ''""").fetchone()
    if keyless and keyless[0]:
        count, row, kind, name = keyless
        first = f"{kind} {name!r}" if name else kind
        message = f"{_counted(count, 'node')} without a key, first in row {row:,} of nodes ({first})"
        raise BadInputError(message, "Every node needs a key: fill it in, or choose another column as the key")
    merged = _merge_nodes(con, attributes, merge=merge)
    ranks = ", ".join(f"({literal(name)}, {rank})" for rank, name in enumerate(recipe.types)) or "(NULL, 0)"
    con.execute(f"""
        CREATE TABLE kb_type_order AS
        SELECT type, row_number() OVER (ORDER BY coalesce(r.rank, 1000000), t.position) AS position
        FROM (SELECT type, min(position) AS position FROM raw_nodes GROUP BY type) t
        LEFT JOIN (VALUES {ranks}) r(type, rank) USING (type)""")
    columns = "".join(", n." + quote(name) for name in attributes)
    con.execute(f"""
        CREATE TABLE kb_nodes AS
        SELECT (row_number() OVER (ORDER BY o.position, n.position) - 1)::INTEGER AS id, n.type, n.key,
               coalesce(nullif(trim(n.name), ''), n.key) AS name,
               list_filter(n.aliases, lambda alias, i: alias <> '' AND list_position(n.aliases, alias) = i) AS aliases,
               n.types, n.{quote(SOURCE_FILE)}{columns}
        FROM raw_nodes n JOIN kb_type_order o USING (type)""")
    con.execute("""
        CREATE TABLE kb_node_types AS
        SELECT DISTINCT id, other AS type FROM (SELECT id, type, unnest(types) AS other FROM kb_nodes)
        WHERE other IS NOT NULL AND other <> '' AND other <> type""")
    con.execute("DROP TABLE raw_nodes")
    con.execute("CREATE TABLE shared_keys AS SELECT key FROM kb_nodes GROUP BY key HAVING count(*) > 1")
    if con.execute("SELECT count(*) FROM kb_nodes").fetchone() == (0,):
        raise BadInputError("No nodes in the source", "Use ", Command("recipe list"), " to see what a recipe reads")
    return merged


def _merge_nodes(con: duckdb.DuckDBPyConnection, attributes: list[str], *, merge: bool) -> tuple[int, str]:
    """Raise for duplicate keys, or merge their nodes: the first value of each column that is not NULL.

    Return the number of rows that are merged, and the columns in which they have several values.
    """
    twice = con.execute(
        "SELECT type, key, count(*) AS n FROM raw_nodes GROUP BY type, key HAVING n > 1 ORDER BY min(position)"
    ).fetchall()
    if not twice:
        return 0, ""
    if not merge:
        examples = ", ".join(f"{type_} {key!r}" for type_, key, _ in twice[:5]) + (", ..." if len(twice) > 5 else "")
        message = f"Duplicate key: {examples}" if len(twice) == 1 else f"{len(twice):,} duplicate keys: {examples}"
        raise BadInputError(message, "Use ", Option("merge_duplicates"), " to merge their nodes")
    names = ["name", *attributes]
    several = ", ".join(f"coalesce(bool_or(n{i} > 1), false)" for i in range(len(names)))
    counts = ", ".join(f"count(DISTINCT {quote(name)}) AS n{i}" for i, name in enumerate(names))
    groups = f"SELECT {counts} FROM raw_nodes GROUP BY type, key HAVING count(*) > 1"
    [differ] = con.execute(f"SELECT {several} FROM ({groups})").fetchall()
    columns = "".join(f", arg_min({quote(c)}, position) AS {quote(c)}" for c in [SOURCE_FILE, *names])
    lists = "".join(f", flatten(list({c}) FILTER ({c} IS NOT NULL)) AS {c}" for c in ("aliases", "types"))
    con.execute(f"""
        CREATE TEMP TABLE merged_nodes AS
        SELECT type, key, min(position) AS position{columns}{lists} FROM raw_nodes GROUP BY type, key""")
    con.execute("DROP TABLE raw_nodes")
    con.execute("ALTER TABLE merged_nodes RENAME TO raw_nodes")
    first_kept = ", ".join(name for name, is_different in zip(names, differ, strict=True) if is_different)
    return sum(count - 1 for _, _, count in twice), first_kept


def _edges(con: duckdb.DuckDBPyConnection, recipe: Recipe, folder: Path, *, skip: bool) -> tuple[int, int, int]:
    attributes = _create_typed(con, "edges", "raw_edges", recipe)
    for end in ("head", "tail"):
        _require_unambiguous(con, "raw_edges", end, f"{end}_type")
    known, nameless, dangling = staging_edges.resolve(con, attributes)
    if nameless:
        unnamed = f"{_numbered('raw_edges')} WHERE relation IS NULL OR relation = '' LIMIT 1"
        [(position,)] = con.execute(f"SELECT position FROM {unnamed}").fetchall()
        raise BadInputError(f"Edge without a relation in row {position:,} of edges", "Every edge needs a relation")
    if dangling and not skip:
        message = f"{_counted(dangling, 'edge')} to unknown nodes: {_dangling_edges(con)}"
        raise BadInputError(message, *_SKIP)
    return dangling, *staging_edges.sort(con, recipe, attributes, known, folder)


def _texts(con: duckdb.DuckDBPyConnection, recipe: Recipe, present: Container[str], *, skip: bool) -> int:
    if "texts" not in present:
        con.execute("CREATE TABLE kb_texts(id INTEGER, field VARCHAR, position BIGINT, text VARCHAR, tokens BIGINT)")
        return 0
    _create_typed(con, "texts", "typed_texts", recipe)
    con.execute(f"CREATE VIEW raw_texts AS SELECT * FROM {_numbered('typed_texts')} WHERE {has_words_sql('text')}")
    _require_unambiguous(con, "raw_texts", "key", "type")
    con.execute(f"""
        CREATE TEMP TABLE joined_texts AS
        SELECT n.id, coalesce(x.field, 'text') AS field, x.position, x.text, {tokens_sql("x.text")} AS tokens
        FROM raw_texts x
        LEFT JOIN kb_nodes n ON n.key = x.key AND (x.type IS NULL OR n.type = x.type)""")
    dangling = _count(con, "joined_texts WHERE id IS NULL")
    if dangling and not skip:
        keys = con.execute("""
            SELECT key FROM raw_texts x WHERE position IN (SELECT position FROM joined_texts WHERE id IS NULL)
            ORDER BY position LIMIT 5""").fetchall()
        examples = ", ".join(repr(key) for (key,) in keys)
        raise BadInputError(f"{_counted(dangling, 'text')} of unknown nodes: {examples}", *_SKIP)
    several = con.execute(
        "SELECT 1 FROM joined_texts WHERE id IS NOT NULL GROUP BY id, field HAVING count(*) > 1 LIMIT 1"
    )
    if not several.fetchone():  # ranking would sort the texts
        con.execute(
            "CREATE TEMP VIEW kb_texts AS SELECT id, field, 0::BIGINT AS position, text, tokens FROM joined_texts"
            " WHERE id IS NOT NULL"
        )
        return dangling
    con.execute("""
        CREATE TEMP TABLE kb_texts AS
        SELECT id, field, row_number() OVER (PARTITION BY id, field ORDER BY position) - 1 AS position, text, tokens
        FROM (SELECT id, field, min(position) AS position, text, any_value(tokens) AS tokens FROM joined_texts
              WHERE id IS NOT NULL GROUP BY id, field, text)""")
    return dangling


# Trimming reads a text letter by letter, which takes longer than all else that is done with it.


def has_words_sql(text: str) -> str:
    """Return the SQL for whether a text is more than white space."""
    return f"CASE WHEN regexp_matches({text}, '^[!-~]') THEN true ELSE trim({text}) <> '' END"


def tokens_sql(text: str) -> str:
    """Return the SQL for the number of spaces in a text, without those at its ends, and one more."""
    return (
        f"CASE WHEN regexp_matches({text}, '^[!-~]') AND regexp_matches({text}, '[!-~]$')"
        f" THEN strlen({text}) - strlen(replace({text}, ' ', '')) + 1"
        f" ELSE strlen(trim({text})) - strlen(replace(trim({text}), ' ', '')) + 1 END"
    )


def _require_unambiguous(con: duckdb.DuckDBPyConnection, table: str, key: str, type_: str) -> None:
    """Raise for keys that several types share and that have no type in the row."""
    if not _count(con, "shared_keys"):
        return
    rows = con.execute(f"""
        SELECT DISTINCT {key} FROM {table} WHERE {type_} IS NULL AND {key} IN (FROM shared_keys)
        ORDER BY {key} LIMIT 5""").fetchall()
    if rows:
        name = table.removeprefix("raw_")
        examples = ", ".join(repr(row[0]) for row in rows)
        raise BadInputError(f"Ambiguous {key} {examples} in {name}: several types have it", f"Add a column {type_!r}")


def _dangling_edges(con: duckdb.DuckDBPyConnection) -> str:
    """Describe the first five edges to unknown nodes."""

    def known(end: str) -> str:
        return (
            f"EXISTS (SELECT 1 FROM kb_nodes n WHERE n.key = e.{end}"
            f" AND (e.{end}_type IS NULL OR n.type = e.{end}_type))"
        )

    rows = con.execute(f"""
        SELECT head, relation, tail, {known("head")} AS head_known FROM {_numbered("raw_edges")} e
        WHERE NOT {known("head")} OR NOT {known("tail")} ORDER BY position LIMIT 5""").fetchall()
    return ", ".join(f"{h!r} [{r}] {t!r} (no {t if head_known else h!r})" for h, r, t, head_known in rows)


def _count(con: duckdb.DuckDBPyConnection, source: str) -> int:
    row = con.execute(f"SELECT count(*) FROM {source}").fetchone()
    assert row is not None
    return int(row[0])


def _counted(count: int, noun: str) -> str:
    return f"1 {noun}" if count == 1 else f"{count:,} {noun}s"
