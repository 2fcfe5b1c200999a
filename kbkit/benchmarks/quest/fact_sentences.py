"""Facts of the KB as sentences, for documents whose own texts are too short to show why a node is an answer.

A fact joins all nodes or values that a node shares a family of categories with: ``It was directed by Ann Lee and Bo
Li.`` The patterns are those of the families.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from kbkit.benchmarks.quest.categories import Categories
from kbkit.benchmarks.quest.families import Family
from kbkit.benchmarks.quest.groups import CODE
from kbkit.benchmarks.short_names import short_names
from kbkit.english import facts
from kbkit.english.attributes import attribute_words, is_flag
from kbkit.english.names import named
from kbkit.english.readable import attribute_problem
from kbkit.english.words import YEARS, with_article
from kbkit.kb import KnowledgeBase
from kbkit.schema import Attribute, quote

FIELD = "facts"
"""The field of the passages of facts."""
_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "HUGEINT")
_SHOWN = (*_NUMBERS, "VARCHAR", "DOUBLE", "FLOAT", "DATE", "BOOLEAN", "VARCHAR[]")


def sentences(kb: KnowledgeBase, categories: Categories) -> pl.DataFrame:
    """Return the facts of the nodes of a domain: id, facts (list of sentences). Nodes without facts are left out."""
    parts = [_of_attributes(kb, categories.domain), _of_groups(kb, categories)]
    both = pl.concat([part for part in parts if part.height] or parts[:1])
    capital = pl.col("sentence").str.slice(0, 1).str.to_uppercase() + pl.col("sentence").str.slice(1)
    return both.with_columns(sentence=capital).group_by("id", maintain_order=True).agg(facts=pl.col("sentence"))


_SENTENCES = pl.Schema({"id": pl.Int64, "sentence": pl.String})


def _of_attributes(kb: KnowledgeBase, domain: str) -> pl.DataFrame:
    node_type = kb.schema.type(domain)
    shown = [
        attribute
        for attribute in node_type.attributes
        if attribute.type in _SHOWN and not attribute_problem(attribute_words(attribute).noun)
    ]
    if not shown:
        return pl.DataFrame(schema=_SENTENCES)
    columns = ", ".join(f"{_as_text(one)} AS {quote(f'c{number}')}" for number, one in enumerate(shown))
    frame = kb.tables.lookup(f"SELECT id, {columns} FROM {quote(node_type.table)} ORDER BY id")
    parts = []
    for number, attribute in enumerate(shown):
        known = frame.select(pl.col("id").cast(pl.Int64), names=pl.col(f"c{number}")).drop_nulls()
        if attribute.type == "BOOLEAN" or (is_flag(attribute) and known["names"].is_in(["0", "1"]).all()):
            yes, no = (pl.lit(facts.of_flag(domain, attribute, value=value)) for value in (True, False))
            holds = pl.col("names") if attribute.type == "BOOLEAN" else pl.col("names") == "1"
            sentence = pl.when(holds).then(yes).otherwise(no)
        else:
            fact = facts.of_attribute(domain, attribute, years=_are_years(known["names"]))
            sentence = _filled(fact.one, pl.col("names"))
        parts.append(known.select("id", sentence=sentence))
    return pl.concat(parts).cast(dict(_SENTENCES))  # type: ignore[arg-type] # names and types


def _are_years(texts: pl.Series) -> bool:
    years = texts.cast(pl.Int64, strict=False)
    return bool(years.is_between(*YEARS).fill_null(value=False).all()) and len(years) > 0


def _as_text(attribute: Attribute) -> str:
    """Return SQL for the text of a value; null for a missing or empty one."""
    column = quote(attribute.name)
    if attribute.type in _NUMBERS:
        grouped = f"coalesce(format('{{:,}}', TRY_CAST({column} AS BIGINT)), {column}::VARCHAR)"
        return grouped if attribute_words(attribute).unit else f"{column}::VARCHAR"
    if attribute.type in ("DOUBLE", "FLOAT"):
        return (
            f"CASE WHEN {column} = trunc({column}) AND abs({column}) < 1e15"
            f" THEN format('{{:,}}', TRY_CAST({column} AS BIGINT)) ELSE {column}::VARCHAR END"
        )
    if attribute.type == "BOOLEAN":
        return column
    if attribute.type == "VARCHAR[]":
        return f"nullif(array_to_string({column}, ', '), '')"
    return f"nullif(trim({column}::VARCHAR), '')"


def _filled(pattern: str, names: pl.Expr) -> pl.Expr:
    before, _, after = pattern.partition(facts.NAMES)
    return pl.lit(before) + names + pl.lit(after)


def _of_groups(kb: KnowledgeBase, categories: Categories) -> pl.DataFrame:
    """Return a sentence for each node and each family by nodes that has categories."""
    groups = categories.groups
    used = set(categories.by_family())
    if groups is None or not len(groups.values):
        return pl.DataFrame(schema=_SENTENCES)
    sizes = np.diff(groups.matrix.indptr)
    frame = pl.DataFrame(
        {
            "family": np.repeat(groups.families_of, sizes).astype(np.int32),
            "value": np.repeat(groups.values, sizes).astype(np.int64),
            "id": groups.matrix.indices.astype(np.int64),
        }
    )
    parts = [pl.DataFrame(schema=_SENTENCES)]
    names = _names(kb, groups.values)
    for number, family in enumerate(groups.families):
        fact = family.fact
        if fact is None or family.id not in used:
            continue
        own = frame.filter(pl.col("family") == number).join(names, on="value", maintain_order="left")
        own = _with_articles(own, family)
        listed = own.group_by("id", maintain_order=True).agg("name").sort("id")
        count = pl.col("name").list.len()
        joined = pl.col("name").list.head(count - 1).list.join(", ") + " and " + pl.col("name").list.last()
        sentence = (
            pl.when(count == 1)
            .then(_filled(fact.one, pl.col("name").list.first()))
            .otherwise(_filled(fact.many, joined))
        )
        parts.append(listed.select("id", sentence=sentence))
    return pl.concat(parts)


def _names(kb: KnowledgeBase, values: np.ndarray) -> pl.DataFrame:
    """Return value, name of nodes that have a readable name."""
    wanted = pl.DataFrame({"id": np.unique(values).astype(np.int32)})
    sql = (
        "SELECT n.id::BIGINT AS value, trim(n.name) AS name FROM nodes n JOIN kbkit_wanted w USING (id)"
        " WHERE trim(coalesce(n.name, '')) <> '' AND NOT (n.name = n.key AND regexp_full_match(n.name, $code))"
    )
    frame = kb.tables.lookup(sql, {"code": CODE.pattern}, {"kbkit_wanted": wanted})
    short = short_names(kb, wanted["id"].to_list())
    return frame.with_columns(
        pl.col("value").replace_strict(short, default=pl.col("name"), return_dtype=pl.String).alias("name")
    )


def _with_articles(frame: pl.DataFrame, family: Family) -> pl.DataFrame:
    distinct = frame["name"].unique().to_list() if family.other else []
    is_job = family.fact is not None and family.fact.one.endswith(f"worked as {facts.NAMES}.")
    changed: Mapping[str, str] = {
        name: shown
        for name in distinct
        if (shown := with_article(name) if is_job and name.islower() else named(name, family.other, family.article))
        != name
    }
    return frame.with_columns(pl.col("name").replace_strict(changed, default=pl.col("name"))) if changed else frame
