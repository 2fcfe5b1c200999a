"""Groups of nodes that may be categories: those that share a node, those with one value, and those of files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kbkit.answers import syntax
from kbkit.answers.parse import parse
from kbkit.answers.sample import first_slot
from kbkit.answers.sample_plans import PlanSampler, SlotSets
from kbkit.answers.sample_sets import SampleRequest, matrix_of
from kbkit.benchmarks.fit_nodes import (
    left_out_markers,
    wholes,
)
from kbkit.benchmarks.quest.category_files import category_pairs
from kbkit.benchmarks.quest.families import Family, family_of
from kbkit.benchmarks.short_names import short_names
from kbkit.english.attributes import is_flag
from kbkit.english.categories import flag_name, of_flag
from kbkit.english.markers import is_marker
from kbkit.english.thesaurus import more_general
from kbkit.kb import KnowledgeBase
from kbkit.schema import quote

if TYPE_CHECKING:
    import polars as pl

_MAX_LISTED = 2_000
"""Maximum number of members of a category from a file, as its expression lists them."""
_GENERAL = "of a general term whose special ones are not counted"
_PARTIAL = "of a whole whose parts are not counted"
TRIVIAL = "of one node, or of more than half of all"
CODE = re.compile(r"[a-z]+://\S+|urn:\S+|[A-Za-z]{1,8}[_:\-]?\d+|\d{5,}")
"""A key that is not a readable name."""


@dataclass(frozen=True)
class Category:
    """A group of nodes.

    ``phrase`` is the plural name of its members, ``name`` the name of the node or value they share, ``family`` the
    pattern that it comes from, ``size`` the number of members, ``cues`` the words that say in a text what the name has
    to do with a member (:attr:`kbkit.benchmarks.quest.families.Family.cues`).
    """

    phrase: str
    expression: str
    family: str
    name: str
    size: int
    cues: str = ""


@dataclass(frozen=True)
class Groups:
    """All groups by node, usable or not: row i of ``matrix`` has the members that share the node ``values[i]``.

    ``families_of[i]`` is the position in ``families``.
    """

    families: Sequence[Family]
    families_of: NDArray[np.int32]
    values: NDArray[np.int32]
    matrix: Any


def stacked(parts: Sequence[Any], width: int) -> Any:
    """Return matrices with ``width`` columns below each other."""
    import scipy.sparse as sp

    stacked = sp.vstack([sp.csr_array((0, width), dtype=np.int32), *parts], format="csr")
    stacked.sort_indices()
    return stacked


def all_groups(kb: KnowledgeBase, node_families: Sequence[Family], left_out: Counter[str]) -> Groups | None:
    """Return the set of each node that can fill the slot of a family, for all families in one sweep."""
    if not node_families:
        return None
    plans = [kb.session.resolved(parse(family.id), family.id) for family in node_families]
    sampler = PlanSampler(SampleRequest(1), np.random.default_rng(0), kb.session, plans[0])
    sets = SlotSets(sampler, "", [(plan, plan.root, first_slot(plan)) for plan in plans]).sets
    rows = np.lexsort((sets.values[:, 0], sets.kinds[:, 0]))
    if sets.truncated:
        left_out["beyond 20,000,000 memberships"] += 1
    assert sets.matrix is not None
    return Groups(node_families, sets.kinds[rows, 0], sets.values[rows, 0], sets.matrix[rows])


def by_nodes(
    kb: KnowledgeBase, groups: Groups | None, left_out: Counter[str], named: dict[str, int]
) -> tuple[list[Category], Any]:
    """Return the groups of two or more nodes as categories, and add the nodes that they name to ``named``."""
    if groups is None:
        return [], stacked([], kb.schema.nodes)
    sizes = np.diff(groups.matrix.indptr)
    rows = np.flatnonzero(sizes > 1)
    left_out[TRIVIAL] += len(sizes) - len(rows)
    names = _names(kb, groups.values[rows])
    untelling = left_out_markers(kb)
    above = [frozenset() if _follows(family) else wholes(kb, family.other) for family in groups.families]
    told = [row for row in rows.tolist() if int(groups.values[row]) not in untelling]
    left_out.update(untelling[int(node)] for node in groups.values[rows].tolist() if node in untelling)
    partial = {row for row in told if int(groups.values[row]) in above[groups.families_of[row]]}
    left_out.update({_PARTIAL: len(partial)} if partial else {})
    general = _general(groups, sizes, _names(kb, groups.values))
    left_out.update({_GENERAL: len(general.intersection(told))} if general else {})
    told = [row for row in told if row not in partial and row not in general]
    rows = np.array(told, np.int64)
    items = []
    for row in told:
        family, (key, name) = groups.families[groups.families_of[row]], names[int(groups.values[row])]
        expression = family.expression(f"#{key}")
        named[expression] = int(groups.values[row])
        items.append(Category(family.phrase(name), expression, family.id, name, int(sizes[row]), family.cues))
    return items, groups.matrix[rows]


def _general(groups: Groups, sizes: NDArray[np.int32], names: Mapping[int, tuple[str, str]]) -> set[int]:
    """Return the groups named by a term that is more general than that of a group with other members.

    *Writers* would leave out the novelists of whom the KB says no more.
    """
    left_out: set[int] = set()
    for number, family in enumerate(groups.families):
        if family.other and is_marker(family.other):
            continue
        rows = np.flatnonzero((groups.families_of == number) & (sizes > 0)).tolist()
        named = {name: row for row in rows if (name := names[int(groups.values[row])][1]) and name.islower()}
        for name, row in named.items():
            for wider in more_general(name) & named.keys():
                above = named[wider]
                common = groups.matrix[[row]].multiply(groups.matrix[[above]]).nnz
                if common < sizes[row]:
                    left_out.add(above)
    return left_out


def _follows(family: Family) -> bool:
    """Return whether the members of a family's categories include those of parts or special kinds."""
    return any(isinstance(part, syntax.Edge) and part.closure for part in syntax.subtrees(parse(family.id)))


def _names(kb: KnowledgeBase, ids: NDArray[np.int32]) -> dict[int, tuple[str, str]]:
    """Return key and name of nodes; the name is "" if it is only the key."""
    import polars as pl

    rows = kb.tables.lookup(
        "SELECT id, key, name FROM nodes WHERE id IN (SELECT id FROM kbkit_wanted)",
        frames={"kbkit_wanted": pl.DataFrame({"id": np.unique(ids)})},
    )
    short = short_names(kb, rows["id"].to_list())
    return {node: (key, short.get(node) or _readable(key, name)) for node, key, name in rows.iter_rows()}


def _readable(key: str, name: str | None) -> str:
    words = " ".join((name or "").split())
    return "" if name == key and CODE.fullmatch(words) else words


def by_values(kb: KnowledgeBase, domain: str, family: Family) -> tuple[list[Category], Any]:
    """Return the groups of an attribute's values."""
    assert family.attribute is not None
    column = quote(family.attribute.name)
    values = f"unnest({column})" if family.attribute.type.endswith("[]") else column
    frame = kb.tables.lookup(
        f"SELECT DISTINCT v, id FROM (SELECT {values} AS v, id FROM {quote(kb.schema.type(domain).table)})"
        " WHERE v IS NOT NULL ORDER BY v, id"
    )
    items = []
    sizes = []
    for value, size in _runs(frame, "v"):
        name = " ".join(str(value).split())
        phrase = family.phrase(name)
        if isinstance(value, bool) or is_flag(family.attribute):
            label = family.attribute.label or family.attribute.name
            phrase = of_flag(domain, label, value=bool(value))
            name = flag_name(label, value=bool(value))
        items.append(Category(phrase, family.expression(value), family.id, name, size, family.cues))
        sizes.append(size)
    return items, matrix_of(np.array(sizes, np.int64), frame["id"].to_numpy().astype(np.int32), kb.schema.nodes)


def _runs(frame: pl.DataFrame, column: str) -> list[tuple[str | int | bool, int]]:
    """Return each value of a sorted column and its count."""
    import polars as pl

    return frame.group_by(column, maintain_order=True).agg(pl.len()).rows()


def by_file(kb: KnowledgeBase, domain: str, path: Path, left_out: Counter[str]) -> tuple[list[Category], Any]:
    """Return the categories of a file of (category, key or name), and count nodes that the KB does not have."""
    import polars as pl

    pairs = pl.DataFrame(category_pairs(path), schema={"category": pl.String, "node": pl.String}, orient="row").unique()
    frame = kb.tables.lookup(
        f"""WITH t AS (SELECT id, key, name FROM {quote(kb.schema.type(domain).table)}),
        named AS (SELECT name, any_value(id) AS id FROM t GROUP BY name HAVING count(*) = 1)
        SELECT DISTINCT p.category, coalesce(t.id, named.id) AS id, n.key
        FROM kbkit_pairs p LEFT JOIN t ON t.key = p.node LEFT JOIN named ON named.name = p.node
        LEFT JOIN nodes n ON n.id = coalesce(t.id, named.id) ORDER BY ALL""",
        frames={"kbkit_pairs": pairs},
    )
    known = frame.drop_nulls("id")
    left_out[f"rows of {path.name} that name no node"] += pairs.height - known.height
    grouped = known.group_by("category", maintain_order=True).agg("id", "key")
    small = grouped.filter(pl.col("id").list.len() <= _MAX_LISTED)
    left_out[f"of more than {_MAX_LISTED:,} nodes, from a file"] += grouped.height - small.height
    grouped = small
    items = []
    for phrase, ids, keys in grouped.iter_rows():
        expression = str(syntax.Filter(syntax.Nodes(domain), (syntax.Condition("key", "in", tuple(keys)),)))
        items.append(Category(phrase, expression, family_of(path), phrase, len(ids)))
    sizes = np.array([item.size for item in items], np.int64)
    nodes_of = grouped["id"].explode().to_numpy().astype(np.int32)
    return items, matrix_of(sizes, nodes_of, kb.schema.nodes)
