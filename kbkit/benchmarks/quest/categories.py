"""Categories of a KB: what groups the nodes of one type, as noun phrases with their expressions and sets of members."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kbkit.answers import syntax
from kbkit.answers.parse import parse
from kbkit.answers.sample import first_slot
from kbkit.answers.sample_plans import PlanSampler, SlotSets
from kbkit.answers.sample_sets import AnswerSets, Request, matrix_of, splitmix64
from kbkit.benchmarks.quest.families import Family, families, family_of
from kbkit.benchmarks.quest.phrases import has_marks
from kbkit.errors import BadInputError, KbError
from kbkit.kb import KnowledgeBase
from kbkit.stores.tables import quote

if TYPE_CHECKING:
    import polars as pl

_MOST_LETTERS = 100
_MOST_LISTED = 2_000
"""Members of a category from a file: its expression names each of them."""
_TRIVIAL = "of one node, or of more than half of all"
_CODE = re.compile(r"[a-z]+://\S+|urn:\S+|[A-Za-z]{1,8}[_:\-]?\d+|\d{5,}")
"""A name that is its node's key and looks like this says nothing to a reader."""


@dataclass(frozen=True)
class Category:
    """What groups entities: ``phrase`` names them in the plural, ``name`` is what they share, ``family`` the pattern it
    came from, ``size`` how many they are.
    """

    phrase: str
    expression: str
    family: str
    name: str
    size: int


@dataclass
class Categories:
    """The categories of a type. ``sets.values[i]`` is the number ``i``; ``same[i]`` is one number for equal sets;
    ``left_out`` counts, by reason, what groups entities and became no category; ``in_files``, by family, what
    files group, be it a category or not.
    """

    domain: str
    items: list[Category]
    sets: AnswerSets
    same: NDArray[np.int64]
    left_out: Counter[str] = field(default_factory=Counter)
    in_files: Counter[str] = field(default_factory=Counter)

    def by_family(self) -> dict[str, int]:
        """How many categories each family has."""
        return dict(Counter(item.family for item in self.items))


def build(
    kb: KnowledgeBase, domain: str, found: Sequence[Family] | None = None, files: Sequence[Path] = ()
) -> Categories:
    """All categories of a type that have from two members to half of all nodes: of families, by default those of the
    schema, and of ``files``. Raises :class:`KbError` where there are none, and says why.
    """
    left_out: Counter[str] = Counter()
    chosen = families(kb, domain) if found is None else found
    parts = [_by_nodes(kb, [f for f in chosen if f.attribute is None], left_out)]
    parts += [_by_values(kb, domain, f) for f in chosen if f.attribute is not None]
    parts += [_by_file(kb, domain, path, left_out) for path in files]
    items = [item for part, _ in parts for item in part]
    matrix = _stacked([sets for _, sets in parts], kb.schema.nodes)
    keep = _usable(items, kb.schema.type(domain).members, left_out)
    if not keep:
        why = "; ".join(f"{count:,} {reason}" for reason, count in left_out.items() if count)
        raise KbError(
            f"nothing groups the nodes of type {domain} into categories" + (f": {why}" if why else ""),
            "name what does: --category 'genre:<genre> -> movie', or --category-file FILE",
        )
    given = {family_of(path) for path in files}
    in_files = Counter(item.family for item in items if item.family in given and item.size > 1)
    return _numbered(domain, [items[i] for i in keep], matrix[np.array(keep)], left_out, in_files)


def _usable(items: Sequence[Category], members: int, left_out: Counter[str]) -> list[int]:
    """The places of the categories that queries can be made of."""
    folded = [" ".join(item.phrase.split()).casefold() for item in items]
    often = Counter(folded)
    keep = []
    for place, item in enumerate(items):
        reason = ""
        if not item.name:
            reason = "without a name"
        elif item.size < 2 or 2 * item.size > members:
            reason = _TRIVIAL
        elif len(item.name) > _MOST_LETTERS or has_marks(item.phrase):
            reason = "with a name that is too long, or holds marks"
        elif often[folded[place]] > 1:
            reason = "with a phrase that another has too"
        if reason:
            left_out[reason] += 1
        else:
            keep.append(place)
    return keep


def _numbered(
    domain: str, items: list[Category], matrix: Any, left_out: Counter[str], in_files: Counter[str]
) -> Categories:
    import scipy.sparse as sp

    sets = sp.csr_array(matrix)
    numbers = np.arange(len(items), dtype=np.int32)
    per_family = Counter(item.family for item in items)
    weight = np.array([1 / per_family[item.family] for item in items])
    sizes = np.diff(sets.indptr).astype(np.int64)
    identity = splitmix64(numbers.astype(np.uint64))
    kinds = np.zeros((len(items), 1), np.int32)
    given = AnswerSets(("",), numbers[:, None], kinds, weight, sizes, identity, sets)
    return Categories(domain, items, given, _equal_sets(sets.indptr, sets.indices), left_out, in_files)


def _equal_sets(offsets: NDArray[np.int32], nodes: NDArray[np.int32]) -> NDArray[np.int64]:
    """A number for each row, one for rows of the same nodes: sums of well-mixed bits tell sets apart."""
    sums = np.concatenate(([np.uint64(0)], np.cumsum(splitmix64(nodes.astype(np.uint64)), dtype=np.uint64)))
    numbers: NDArray[np.int64] = np.unique(sums[offsets[1:]] - sums[offsets[:-1]], return_inverse=True)[1]
    return numbers


def _stacked(parts: Sequence[Any], width: int) -> Any:
    import scipy.sparse as sp

    stacked = sp.vstack([sp.csr_array((0, width), dtype=np.int32), *parts], format="csr")
    stacked.sort_indices()
    return stacked


# -- categories that nodes stand for ----------------------------------------------------------------------------------


def _by_nodes(kb: KnowledgeBase, found: Sequence[Family], left_out: Counter[str]) -> tuple[list[Category], Any]:
    """One sweep over all families: the set of each node that may be in the slot."""
    if not found:
        return [], _stacked([], kb.schema.nodes)
    plans = [kb.session.resolved(parse(family.id), family.id) for family in found]
    sampler = PlanSampler(Request(1), np.random.default_rng(0), kb.session, plans[0])
    sets = SlotSets(sampler, "", [(plan, plan.root, first_slot(plan)) for plan in plans]).sets
    rows = np.flatnonzero(sets.answers > 1)
    rows = rows[np.lexsort((sets.values[rows, 0], sets.kinds[rows, 0]))]
    left_out[_TRIVIAL] += len(sets.answers) - len(rows)
    if sets.truncated:
        left_out["beyond 20,000,000 memberships"] += 1
    names = _names(kb, sets.values[rows, 0])
    items = []
    for row in rows.tolist():
        family, (key, name) = found[sets.kinds[row, 0]], names[int(sets.values[row, 0])]
        expression = family.expression(f"#{key}")
        items.append(Category(family.phrase(name), expression, family.id, name, int(sets.answers[row])))
    assert sets.matrix is not None
    return items, sets.matrix[rows]


def _names(kb: KnowledgeBase, ids: NDArray[np.int32]) -> dict[int, tuple[str, str]]:
    """Key and name of nodes; the name is empty where they have none but their key."""
    found = kb.stores.nodes.frame(np.unique(ids))
    return {node: (key, _readable(key, name)) for node, key, _, name in found.iter_rows()}


def _readable(key: str, name: str | None) -> str:
    words = " ".join((name or "").split())
    return "" if name == key and _CODE.fullmatch(words) else words


# -- categories that values stand for ---------------------------------------------------------------------------------


def _by_values(kb: KnowledgeBase, domain: str, family: Family) -> tuple[list[Category], Any]:
    """The groups of one attribute's values."""
    assert family.attribute is not None
    column = quote(family.attribute.name)
    value = f"unnest({column})" if family.attribute.type.endswith("[]") else column
    frame = kb.tables.lookup(
        f"SELECT DISTINCT v, id FROM (SELECT {value} AS v, id FROM {quote(kb.schema.type(domain).table)})"
        " WHERE v IS NOT NULL ORDER BY v, id"
    )
    items = []
    sizes = []
    for given, size in _runs(frame, "v"):
        name = " ".join(str(given).lower().split() if isinstance(given, bool) else str(given).split())
        items.append(Category(family.phrase(name), family.expression(given), family.id, name, size))
        sizes.append(size)
    return items, matrix_of(np.array(sizes, np.int64), frame["id"].to_numpy().astype(np.int32), kb.schema.nodes)


def _runs(frame: pl.DataFrame, column: str) -> list[tuple[str | int | bool, int]]:
    """Each value of a sorted column, and how often it stands there."""
    import polars as pl

    return frame.group_by(column, maintain_order=True).agg(pl.len()).rows()


# -- categories from files --------------------------------------------------------------------------------------------


def _by_file(kb: KnowledgeBase, domain: str, path: Path, left_out: Counter[str]) -> tuple[list[Category], Any]:
    """The categories of a file of (category, key or name); nodes that the KB does not have are counted."""
    import polars as pl

    pairs = pl.DataFrame(_pairs(path), schema={"category": pl.String, "node": pl.String}, orient="row").unique()
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
    small = grouped.filter(pl.col("id").list.len() <= _MOST_LISTED)
    left_out[f"of more than {_MOST_LISTED:,} nodes, from a file"] += grouped.height - small.height
    grouped = small
    items = []
    for phrase, ids, keys in grouped.iter_rows():
        expression = str(syntax.Filter(syntax.Nodes(domain), (syntax.Condition("key", "in", tuple(keys)),)))
        items.append(Category(phrase, expression, family_of(path), phrase, len(ids)))
    sizes = np.array([item.size for item in items], np.int64)
    nodes_of = grouped["id"].explode().to_numpy().astype(np.int32)
    return items, matrix_of(sizes, nodes_of, kb.schema.nodes)


def _pairs(path: Path) -> list[tuple[str, str]]:
    """(category, node) of each line: two columns with a tab between them, or JSON with ``category`` and ``title`` (or
    ``key``).
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"{path} cannot be read: {error}") from None
    read = _json_pair if path.suffix.lower() in (".jsonl", ".ndjson") else _tab_pair
    rows = [read(line, f"{path}, line {place}") for place, line in enumerate(lines, 1) if line.strip()]
    found = [(" ".join(category.split()), node.strip()) for category, node in rows]
    if not found:
        raise BadInputError(f"{path} holds no category", "a line is: category<TAB>key or name")
    return found


def _tab_pair(line: str, where: str) -> tuple[str, str]:
    category, _, node = line.rstrip("\r").partition("\t")
    if not category.strip() or not node.strip() or "\t" in node:
        raise BadInputError(f"{where}: no category and key with a tab between them", "category<TAB>key or name")
    return category, node


def _json_pair(line: str, where: str) -> tuple[str, str]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        raise BadInputError(f"{where} is no JSON") from None
    values = (row.get("category"), row.get("key", row.get("title"))) if isinstance(row, dict) else (None, None)
    if not all(isinstance(value, str) and value.strip() for value in values):
        raise BadInputError(f"{where}: no category and title", 'e.g. {"category": "French films", "title": "Alien"}')
    return str(values[0]), str(values[1])
