"""Candidates of duplicate nodes: nodes of one type with similar names, with the evidence for and against each pair.

DuckDB compares the names. Names are compared only if they share a key: their words without one, all letters without
one, or initials, so that a misspelt word, a swapped pair of letters and a middle name leave a key in common. Keys that
many names have say nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kbkit.assets.arguments import check_range, invalid
from kbkit.graph.nodes import degrees_of_all
from kbkit.schema import literal, quote
from kbkit.stores import Stores

if TYPE_CHECKING:
    import polars as pl

THRESHOLD = 0.85
"""Default least score of a candidate."""
COLUMNS = (
    "score", "type", "key", "name", "other_key", "other_name", "name_score", "neighbors", "same", "differ",
    "id", "other_id", "decision",
)  # fmt: skip
"""The columns of candidates."""

_ARTICLES = ("the", "and")
_LEGAL_FORMS = (
    "inc", "incorporated", "corp", "corporation", "ltd", "limited", "llc", "plc", "gmbh", "ag", "sa",
    "spa", "srl", "bv", "nv", "oy", "ab", "kg", "co", "company",
)  # fmt: skip
"""Words that two proper names of one thing need not share. In a common noun they say something: *toy company*."""
_NUMBERS = r"\d+|\b(?:ii|iii|iv|vi|vii|viii|ix|xi|xii|xiii)\b"
_LARGEST_BLOCK = 50
_LONGEST_NAME = 200
_INITIAL, _ACRONYM, _SUBSET, _LEAST_PART = 0.92, 0.8, 0.9, 0.4
_SPACED, _FORM, _TURNED = 0.99, 0.95, 0.86
"""Scores of names that differ in spaces, in articles and legal forms, and in the order of words, which may be what they
say: *man slaps a woman*.
"""
_ONE_ALIAS, _BOTH_ALIASES = 0.95, 0.8
"""Highest scores of names of which one or both are aliases: *CFA franc* is short for two currencies."""
_RARE_VALUE, _FEW = 200, 3
"""An equal value is evidence if at most one of so many nodes has it, or few nodes."""
_DIFFER = 0.15
"""What a pair loses of which all attributes differ."""
_VALUE = 60
"""Characters of a value that are shown."""
_COMMON = 3
"""Number of nodes with a word from which it is no misspelling."""


def duplicates(
    stores: Stores, node_type: str | None = None, k: int | None = None, threshold: float = THRESHOLD
) -> pl.DataFrame:
    """See :meth:`kbkit.kb.KnowledgeBase.duplicates`."""
    import polars as pl

    check_range("number of results", 1 if k is None else k)
    if not 0.5 <= threshold <= 1:
        raise invalid("threshold", threshold, "Use a number from 0.5 to 1")
    kind = stores.schema.type(node_type).name if node_type else None
    degree = stores.shared(degrees_of_all)
    pairs = _first_with_most(stores.tables.lookup(_pairs_sql(kind, 2 * threshold - 1)), degree)
    found = pairs.join(_neighbors(stores, pairs), on=["a", "b"], how="left")
    found = found.join(_attributes(stores, pairs), on=["a", "b"], how="left").with_columns(
        pl.col("neighbors", "equal", "rare", "unequal").fill_null(0), pl.col("same", "differ").fill_null("")
    )
    fewer = np.minimum(degree[found["a"].to_numpy()], degree[found["b"].to_numpy()])
    most = (pl.col("neighbors") > 1) & (2 * pl.col("neighbors") >= pl.Series(fewer))
    supported = most | ((pl.col("rare") >= 2) & (pl.col("unequal") == 0))
    more = pl.when(supported).then((1 - pl.col("name_score")) / 2).otherwise(0)
    mostly = (pl.col("unequal") > 0) & (pl.col("unequal") >= pl.col("equal"))
    less = pl.when(mostly).then(_DIFFER * pl.col("unequal") / (pl.col("unequal") + pl.col("equal"))).otherwise(0)
    found = found.with_columns((pl.col("name_score") + more - less).clip(0, 1).round(3).alias("score"))
    found = found.filter(pl.col("score") >= threshold).sort(
        ["score", "neighbors", "a", "b"], descending=[True, True, False, False]
    )
    return _named(stores, found.head(k) if k is not None else found)


def _first_with_most(pairs: pl.DataFrame, degree: np.ndarray) -> pl.DataFrame:
    """Return pairs whose first node is that with more neighbours; the evidence is listed in this order."""
    import polars as pl

    a, b = pairs["a"].to_numpy(), pairs["b"].to_numpy()
    swapped = degree[b] > degree[a]
    ordered = {"a": np.where(swapped, b, a).astype(np.int32), "b": np.where(swapped, a, b).astype(np.int32)}
    return pairs.with_columns(pl.Series(name, ids) for name, ids in ordered.items())


def _named(stores: Stores, found: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs with keys and names."""
    import polars as pl

    one, other = (stores.nodes.rows_of(found[end].to_numpy()) for end in ("a", "b"))
    return found.with_columns(
        *(one[name] for name in ("id", "type", "key", "name")),
        *(other[name].alias(f"other_{name}") for name in ("id", "key", "name")),
        pl.col("name_score").round(3),
        pl.lit(None, pl.String).alias("decision"),
    ).select(COLUMNS)


# -- names ------------------------------------------------------------------------------------------------------------


def _pairs_sql(kind: str | None, least: float) -> str:
    """Return the query for pairs of nodes ``a`` < ``b`` with the ``name_score`` of their most similar names."""
    where = f"WHERE type = {literal(kind)}" if kind else ""
    articles, forms = (", ".join(map(literal, words)) for words in (_ARTICLES, _LEGAL_FORMS))
    return f"""
        WITH spelled AS MATERIALIZED (
          SELECT id, type, row_number() OVER () AS r, is_alias, left(name, {_LONGEST_NAME}) AS name
          FROM (SELECT id, type::VARCHAR AS type, name, false AS is_alias FROM nodes {where}
                UNION SELECT id, type::VARCHAR, unnest(aliases), true FROM nodes {where})),
        plain AS (
          SELECT r, id, type, is_alias, name <> lower(name) AS is_proper,
                 trim(regexp_replace(regexp_replace(replace(replace(regexp_replace(
            lower(strip_accents(name)), '^([^,]{{2,40}}), ([^,]{{1,20}})$', '\\2 \\1'), '&', ' and '), '''', ''),
            '(\\b\\w)\\.(?:\\s*(\\b\\w)\\.)?(?:\\s*(\\b\\w)\\.)?(?:\\s*(\\b\\w)\\.)?', '\\1\\2\\3\\4 ', 'g'),
            '[^\\p{{L}}\\p{{M}}\\p{{N}}]+', ' ', 'g')) AS plain
          FROM spelled),
        words AS (
          SELECT *, list_filter(string_split(plain, ' '), lambda w:
            w NOT IN ({articles}) AND (NOT is_proper OR w NOT IN ({forms}))) AS kept FROM plain
          WHERE plain <> ''),
        terms AS (
          SELECT r, id, type, is_alias, is_proper, plain,
                 CASE WHEN len(kept) > 0 THEN kept ELSE string_split(plain, ' ') END AS tokens
          FROM words),
        used AS MATERIALIZED (SELECT r, id, type, unnest(list_distinct(tokens)) AS word FROM terms),
        common AS (SELECT type, word FROM used GROUP BY type, word HAVING count(DISTINCT id) >= {_COMMON}),
        rare AS (SELECT r, list(word) AS rare FROM used ANTI JOIN common USING (type, word) GROUP BY r),
        names AS MATERIALIZED (
          SELECT terms.*, coalesce(rare.rare, []) AS rare, list_sort(tokens) AS sorted,
                 array_to_string(list_sort(tokens), ' ') AS phrase,
                 array_to_string(tokens, '') AS letters,
                 array_to_string(list_transform(tokens, lambda w: w[1]), '') AS initials,
                 list_sort(regexp_extract_all(plain, {literal(_NUMBERS)})) AS numbers
          FROM terms LEFT JOIN rare USING (r)),
        keys AS MATERIALIZED (
          SELECT DISTINCT r, type, key FROM (
            SELECT r, type, 'w ' || phrase AS key FROM names
            UNION ALL SELECT r, type, 'w ' || array_to_string(list_filter(sorted, lambda w, i: i <> place), ' ')
            FROM (SELECT *, unnest(range(1, len(sorted) + 1)) AS place FROM names WHERE len(sorted) BETWEEN 2 AND 6)
            UNION ALL SELECT r, type, 'l ' || letters FROM names
            UNION ALL SELECT r, type, 'l ' || left(letters, place - 1) || substr(letters, place + 1)
            FROM (SELECT *, unnest(range(1, length(letters) + 1)) AS place FROM names
                  WHERE length(letters) BETWEEN 5 AND 40)
            UNION ALL SELECT r, type, 'l ' || initials FROM names WHERE len(tokens) >= 3)
          WHERE length(key) > 4),
        blocks AS MATERIALIZED (
          SELECT r, type, key FROM keys JOIN (SELECT type, key FROM keys GROUP BY type, key
                                              HAVING count(*) BETWEEN 2 AND {_LARGEST_BLOCK}) USING (type, key)),
        close AS MATERIALIZED (
          SELECT DISTINCT x.r AS r, y.r AS s FROM blocks x JOIN blocks y USING (type, key) WHERE x.r < y.r),
        compared AS MATERIALIZED (
          SELECT x, y, list_filter(x.tokens, lambda w: NOT list_contains(y.tokens, w)) AS mine,
                 list_filter(y.tokens, lambda w: NOT list_contains(x.tokens, w)) AS others
          FROM close JOIN names x USING (r) JOIN names y ON y.r = close.s
          WHERE x.id <> y.id AND x.numbers = y.numbers)
        SELECT least(x.id, y.id) AS a, greatest(x.id, y.id) AS b, max(least({_SCORE},
            CASE x.is_alias::INTEGER + y.is_alias::INTEGER
              WHEN 2 THEN {_BOTH_ALIASES} WHEN 1 THEN {_ONE_ALIAS} ELSE 1 END))::DOUBLE AS name_score
        FROM compared GROUP BY ALL HAVING name_score >= {least} ORDER BY ALL"""


def _similarity(x: str, y: str) -> str:
    """Return the fraction of letters that need no edit; swapped neighbours are one edit."""
    return f"(1 - damerau_levenshtein({x}, {y}) / greatest(length({x}), length({y}), 1)::DOUBLE)"


_SIMILAR = f"greatest({_similarity('x.letters', 'y.letters')}, {_similarity('x.phrase', 'y.phrase')})"
_PART = _similarity("array_to_string(mine, '')", "array_to_string(others, '')")
_SCORE = f"""CASE
  WHEN x.plain = y.plain THEN 1.0
  WHEN replace(x.plain, ' ', '') = replace(y.plain, ' ', '') THEN {_SPACED}
  WHEN x.letters = y.letters THEN {_FORM}
  WHEN x.phrase = y.phrase THEN {_TURNED}
  WHEN len(mine) = 1 AND len(others) = 1 AND length(mine[1]) = 1 AND length(others[1]) = 1 THEN 0.0
  WHEN x.is_proper AND y.is_proper AND len(mine) = 1 AND len(others) = 1
       AND least(length(mine[1]), length(others[1])) = 1
       AND mine[1][1] = others[1][1] AND x.tokens[-1] = y.tokens[-1] THEN {_INITIAL}
  WHEN len(mine) + len(others) = 1 AND length(coalesce(mine[1], others[1])) = 1 AND x.tokens[-1] = y.tokens[-1]
       AND x.tokens[1] = y.tokens[1] THEN {_INITIAL}
  WHEN x.initials = y.letters OR y.initials = x.letters THEN {_ACRONYM}
  WHEN len(mine) = 0 OR len(others) = 0 THEN {_SUBSET} * {_SIMILAR}
  WHEN NOT list_has_any(x.rare, mine) AND NOT list_has_any(y.rare, others) THEN 0.0
  WHEN {_PART} < {_LEAST_PART} THEN 0.0
  WHEN mine[1][1] <> others[1][1] AND length(mine[1]) = length(others[1])
       AND mine[1][1:2] <> reverse(others[1][1:2]) THEN 0.0
  ELSE least((1 + {_PART}) / 2, {_SIMILAR}) END"""
"""Names that differ in one letter that stands alone (``Hepatitis A``, ``Hepatitis B``) are different, and so are most
that differ in words which several other names have: ``osteoclast`` is no misspelt ``osteoblast``. The first letter of a
word is hardly ever another one by mistake: ``Northern`` is not ``Southern``.
"""


# -- evidence ---------------------------------------------------------------------------------------------------------


def _neighbors(stores: Stores, pairs: pl.DataFrame) -> pl.DataFrame:
    """Return how many neighbours, by one relation and direction, the nodes of each pair share; only those with some."""
    return stores.tables.lookup(
        """
        WITH ids AS MATERIALIZED (SELECT a AS id FROM kbkit_pairs UNION SELECT b FROM kbkit_pairs),
        ends AS MATERIALIZED (
          SELECT head AS id, relation, tail AS other, true AS is_out FROM edges WHERE head IN (FROM ids)
          UNION SELECT tail, relation, head, false FROM edges WHERE tail IN (FROM ids))
        SELECT p.a, p.b, count(DISTINCT x.other) AS neighbors FROM kbkit_pairs p
        JOIN ends x ON x.id = p.a
        JOIN ends y ON y.id = p.b AND y.other = x.other AND y.relation = x.relation AND y.is_out = x.is_out
        GROUP BY ALL""",
        frames={"kbkit_pairs": pairs},
    )


def _attributes(stores: Stores, pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the attributes in which the nodes of each pair agree and differ, with their values, as texts with
    semicolons; and how many agree, how many of these in a value that few nodes have, and how many differ.
    """
    import polars as pl

    counts = dict.fromkeys(("equal", "rare", "unequal"), pl.Int64)
    texts = dict.fromkeys(("same", "differ"), pl.String)
    parts = [pl.DataFrame(schema={"a": pl.Int32, "b": pl.Int32, **texts, **counts})]
    for kind in (kind for kind in stores.schema.primary_types if kind.attributes):
        own = pairs.filter(pl.col("a").is_between(kind.first, kind.last))
        if own.is_empty():
            continue
        table, few = quote(kind.table), max(_FEW, kind.count // _RARE_VALUE)
        ends = f"FROM kbkit_pairs p JOIN {table} x ON x.id = p.a JOIN {table} y ON y.id = p.b"
        same, differ, held, equal, rare, unequal = [], [], [], [], [], []
        for number, one in enumerate(kind.attributes):
            x, y, n = f"x.{quote(one.name)}", f"y.{quote(one.name)}", f"n{number}"
            said = f"{literal(one.name + ': ')} || left({x}::VARCHAR, {_VALUE})"
            same.append(f"CASE WHEN {x} = {y} THEN {said} END")
            differ.append(f"CASE WHEN {x} <> {y} THEN {said} || ' / ' || left({y}::VARCHAR, {_VALUE}) END")
            held.append(
                f"{n} AS (SELECT {quote(one.name)} AS v FROM {table} WHERE {quote(one.name)} IN"
                f" (SELECT {x} {ends} WHERE {x} = {y}) GROUP BY v HAVING count(*) <= {few})"
            )
            equal.append(f"coalesce({x} = {y}, false)::INTEGER")
            rare.append(f"coalesce({x} = {y} AND {x} IN (SELECT v FROM {n}), false)::INTEGER")
            unequal.append(f"coalesce({x} <> {y}, false)::INTEGER")
        sql = (
            f"WITH {', '.join(held)} SELECT p.a, p.b, concat_ws('; ', {', '.join(same)}) AS same,"
            f" concat_ws('; ', {', '.join(differ)}) AS differ, {' + '.join(equal)} AS equal,"
            f" {' + '.join(rare)} AS rare, {' + '.join(unequal)} AS unequal {ends}"
        )
        parts.append(
            stores.tables.lookup(sql, frames={"kbkit_pairs": own}).with_columns(
                pl.col(name).cast(pl.Int64) for name in counts
            )
        )
    return pl.concat(parts, how="vertical_relaxed")
