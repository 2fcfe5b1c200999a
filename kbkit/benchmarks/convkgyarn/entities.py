"""Stage 3: the entities of the conversations, and their related entities (section 2.4 of the paper).

As in the paper, only the most similar entity is related, and only to popular entities of the types that the user names:
the largest inner product of graph embeddings, among the entities of the same type.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from kbkit.benchmarks.convkgyarn import values
from kbkit.benchmarks.convkgyarn.facts import Asked, Facts
from kbkit.benchmarks.convkgyarn.predicates import MEMBERSHIP
from kbkit.benchmarks.convkgyarn.settings import ConvSettings
from kbkit.benchmarks.incomplete import doubtful_nodes
from kbkit.benchmarks.requirements.work_years import WorkYears
from kbkit.errors import Command, KbError
from kbkit.kb import KnowledgeBase
from kbkit.schema import literal

COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "id": pl.String, "type": pl.String, "key": pl.String, "name": pl.String, "aliases": pl.List(pl.String),
    "pronoun": pl.String, "past": pl.Boolean, "related_to": pl.String, "year": pl.String,
}  # fmt: skip
"""``id``: type#key; ``pronoun``: he, she, they or it; ``past``: whether the present tense would be wrong;
``related_to``: the entity (type#key) to which it is related, or ""; ``year``: that of a work, whose title others
may have, or ""."""
_RESERVE, _MORE = 1.3, 200
"""Entities drawn for each one that is needed, and some more: some have too few facts, or the same as many others."""
_ENDED = "(?i)date of death|died|death|death date|date of dissolution|dissolved"
_GENDER = "(?i)sex or gender|gender|sex"
_UNNAMED = "[QPLE][0-9]+(-[FS][0-9]+)?"


def draw(kb: KnowledgeBase, asked: Sequence[Asked], people: frozenset[str], settings: ConvSettings) -> pl.DataFrame:
    """Return entities with enough predicates, in random order, as many of each type where there are enough.

    Columns: node (id in this generation) and ``COLUMNS``. Entities share neither name nor type with others, and are one
    thing each (:func:`doubtful_nodes`). Empty if no entity has enough.
    """
    candidates = _candidates(kb, asked, settings.min_turns)
    candidates = candidates.filter(~pl.col("node").is_in(sorted(doubtful_nodes(kb))))
    if candidates.is_empty():
        return described(kb, candidates, people)
    rng = np.random.default_rng([settings.seed, 3])
    candidates = candidates.with_columns(pl.Series("order", rng.permutation(candidates.height))).sort("order")
    # An entity of two types, such as screenwriter and film director, gets one conversation.
    candidates = candidates.unique("node", keep="first", maintain_order=True)
    sizes = dict(candidates.group_by("type", maintain_order=True).len().sort("type").iter_rows())
    wanted = _shares(sizes, int(settings.count * _RESERVE) + _MORE)
    rank = pl.int_range(pl.len()).over("type")
    chosen = candidates.filter(rank < pl.col("type").replace_strict(wanted, return_dtype=pl.Int64))
    chosen = chosen.with_columns(turn=pl.int_range(pl.len()).over("type")).sort("turn", "order")
    return described(kb, chosen.select("node", "type"), people)


def most_facts(kb: KnowledgeBase, asked: Sequence[Asked], below: int) -> int:
    """Return how many facts an entity has at most, fewer than ``below``."""
    return next((count for count in range(below - 1, 0, -1) if _candidates(kb, asked, count).height), 0)


def _shares(sizes: dict[str, int], wanted: int) -> dict[str, int]:
    """Return the number of entities per type: equal numbers, with a shortage of one type made up by the others."""
    shares: dict[str, int] = {}
    left = wanted
    for position, (name, size) in enumerate(sorted(sizes.items(), key=lambda item: (item[1], item[0]))):
        shares[name] = min(size, -(-left // (len(sizes) - position)))
        left -= shares[name]
    return shares


def _candidates(kb: KnowledgeBase, asked: Sequence[Asked], minimum: int) -> pl.DataFrame:
    """Return node and type of entities with a name of their own and facts of enough kinds."""
    if values.is_wikidata(kb):
        rows = [(one.predicate.type, one.predicate.predicate, number) for number, one in enumerate(asked)]
        frames = {"kbkit_asked": pl.DataFrame(rows, schema=["type", "property", "fact"], orient="row")}
        present = (
            f"SELECT DISTINCT v.entity AS node, a.type, a.fact FROM ({values.statements()}) v"
            f" JOIN ({MEMBERSHIP}) m ON m.id = v.entity"
            " JOIN kbkit_asked a ON a.property = v.property AND a.type = m.type"
        )
    else:
        reader, frames = Facts(kb, asked, 0), {}
        present = " UNION ALL ".join(
            f"SELECT DISTINCT v.entity AS node, {literal(one.predicate.type)} AS type, {number} AS fact"
            f" FROM ({reader.source(one.predicate)}) v"
            for number, one in enumerate(asked)
        )
    sql = f"""
    WITH present AS ({present}),
    enough AS (SELECT p.node, p.type FROM present p JOIN ({MEMBERSHIP}) m ON m.id = p.node AND m.type = p.type
               GROUP BY p.node, p.type HAVING count(*) >= {minimum}),
    alone AS (SELECT min(id) AS node FROM nodes GROUP BY type, lower(name) HAVING count(*) = 1)
    SELECT e.node, e.type FROM enough e JOIN alone USING (node) JOIN nodes n ON n.id = e.node
    WHERE regexp_matches(n.name, '\\pL') AND NOT regexp_full_match(n.name, '{_UNNAMED}') ORDER BY e.type, e.node
    """
    return kb.tables.lookup(sql, frames=frames)


def described(kb: KnowledgeBase, chosen: pl.DataFrame, people: frozenset[str]) -> pl.DataFrame:
    """Return entities (node, type) with names, aliases that no other node has, pronouns and tense."""
    sql = """
    WITH c AS (SELECT row_number() OVER () AS place, node, type FROM kbkit_chosen),
    own AS (SELECT DISTINCT n.id, unnest(n.aliases) AS alias FROM nodes n WHERE n.id IN (SELECT node FROM c)),
    -- said aloud without doubt: no other node has the name or alias
    shared AS (SELECT lower(alias) AS alias FROM (SELECT id, unnest(list_append(aliases, name)) AS alias FROM nodes)
               GROUP BY 1 HAVING count(DISTINCT id) > 1),
    good AS (SELECT id, list(alias ORDER BY alias) AS aliases FROM own
             WHERE length(alias) > 3 AND lower(alias) NOT IN (SELECT alias FROM shared)
               AND regexp_full_match(alias, '\\p{Lu}[\\pL ''’-]+') AND NOT regexp_full_match(alias, '[A-Z ]+')
             GROUP BY id)
    SELECT c.node, concat(n.type::VARCHAR, '#', n.key) AS id, c.type, n.key, n.name, coalesce(g.aliases, []) AS aliases
    FROM c JOIN nodes n ON n.id = c.node LEFT JOIN good g ON g.id = c.node ORDER BY c.place
    """
    frame = kb.tables.lookup(sql, frames={"kbkit_chosen": chosen})
    genders, ended = _people_facts(kb, frame.select("node"))
    pronoun = pl.when(pl.col("type").is_in(sorted(people))).then(
        pl.col("node").replace_strict(genders, default="they", return_dtype=pl.String)
    )
    return frame.with_columns(
        pronoun=pronoun.otherwise(pl.lit("it")),
        past=pl.col("node").is_in(sorted(ended)),
        related_to=pl.lit(""),
        aliases=pl.col("aliases").cast(pl.List(pl.String)),
        node=pl.col("node").cast(pl.Int64),
        year=_years(kb, frame),
    )


def _years(kb: KnowledgeBase, entities: pl.DataFrame) -> pl.Series:
    """Return the years of entities (node, type) that are works, "" of others."""
    years, known = WorkYears(kb), dict[int, str]()
    for (kind,), of_type in entities.group_by("type", maintain_order=True):
        if years.noun(str(kind)):
            known |= years.of_nodes(str(kind), of_type["node"].to_list())
    return entities["node"].replace_strict(known, default="", return_dtype=pl.String)


def _people_facts(kb: KnowledgeBase, nodes: pl.DataFrame) -> tuple[dict[int, str], set[int]]:
    """Return the pronouns of people whose gender is known, and the entities that are no more."""
    if values.is_wikidata(kb):
        rows = values.statements()
        genders = f"SELECT v.entity, t.name FROM ({rows}) v JOIN nodes t ON t.id = v.node WHERE v.property = 'P21'"
        ended = f"SELECT entity FROM ({rows}) WHERE property IN ('P570', 'P576')"
    else:
        import re

        gendered, over = [], []
        for source in values.sources(kb):
            if re.fullmatch(_GENDER, source.label) and source.origin in ("attribute", "forward"):
                gendered.append(
                    f"SELECT v.entity, coalesce(v.value, t.name) AS name FROM ({source.sql}) v"
                    " LEFT JOIN nodes t ON t.id = v.node"
                )
            elif re.fullmatch(_ENDED, source.label) and source.origin == "attribute":
                over.append(f"SELECT entity FROM ({source.sql})")
        none = "SELECT 0 AS entity, '' AS name WHERE false"
        genders, ended = " UNION ALL ".join(gendered) or none, " UNION ALL ".join(over) or none
    within = "entity IN (SELECT node FROM kbkit_nodes)"
    said = {"male": "he", "man": "he", "m": "he", "female": "she", "woman": "she", "f": "she"}
    named_genders = kb.tables.lookup(
        f"SELECT entity, lower(name) AS name FROM ({genders}) WHERE {within}", frames={"kbkit_nodes": nodes}
    )
    past = kb.tables.lookup(f"SELECT DISTINCT entity FROM ({ended}) WHERE {within}", frames={"kbkit_nodes": nodes})
    return (
        {node: said[name] for node, name in named_genders.iter_rows() if name in said},
        set(past["entity"].to_list()),
    )


def related(kb: KnowledgeBase, chosen: pl.DataFrame, people: frozenset[str], settings: ConvSettings) -> pl.DataFrame:
    """Return the related entities of popular ones of ``settings.related``, described, with ``related_to``."""
    if not kb.has("embeddings"):
        raise KbError("The KB has no graph embeddings", "Run ", Command("build KB embeddings"))
    candidates = kb.tables.lookup(
        f"""
        WITH ends AS (SELECT head AS id FROM edges UNION ALL SELECT tail FROM edges),
        degree AS (SELECT id, count(*) AS n FROM ends GROUP BY id)
        SELECT m.id AS node, m.type FROM ({MEMBERSHIP}) m JOIN degree d USING (id) JOIN nodes n USING (id)
        WHERE d.n >= {settings.min_degree} AND trim(n.name) <> '' AND NOT regexp_full_match(n.name, '{_UNNAMED}')
        ORDER BY node
        """
    )
    parts = []
    for name in settings.related:
        popular = candidates.filter(pl.col("type") == name)["node"].to_numpy()
        starts = chosen.filter((pl.col("type") == name) & pl.col("node").is_in(popular.tolist()))
        if not starts.height:
            continue
        nearest, _ = kb.stores.embeddings.nearest(starts["node"].to_numpy(), 1, popular.astype(np.int64))
        pairs = starts.select("id").with_columns(pl.Series("node", nearest[:, 0]), pl.lit(name).alias("type"))
        parts.append(pairs.filter(pl.col("node") >= 0))
    if not parts:
        return chosen.head(0)
    pairs = pl.concat(parts)
    frame = described(kb, pairs.select("node", "type"), people)
    return frame.with_columns(related_to=pairs["id"])
