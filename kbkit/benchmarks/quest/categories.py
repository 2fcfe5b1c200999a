"""Categories of a KB: groups of nodes of one type, as noun phrases with expressions and sets of members."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kbkit.answers import syntax
from kbkit.answers.algebra import Hop
from kbkit.answers.parse import parse
from kbkit.answers.sample_sets import AnswerSets, matrix_of, splitmix64
from kbkit.benchmarks.doubted_facts import doubted_of, odd_nodes
from kbkit.benchmarks.evidence import padded_words
from kbkit.benchmarks.fit_nodes import (
    MISSING,
    are_whole,
    head_nouns,
    is_optional,
    is_sparse,
    nameless_types,
)
from kbkit.benchmarks.incomplete import (
    doubtful_nodes,
    few_listed,
    is_gapped,
    truncated,
    uncategorized,
)
from kbkit.benchmarks.left_out import REASON, LeftOutWords
from kbkit.benchmarks.quest.families import Family, families, family_of
from kbkit.english.attributes import attribute_words
from kbkit.english.categories import has_marks
from kbkit.english.markers import is_marker
from kbkit.english.readable import objection
from kbkit.english.relations import unworded
from kbkit.english.roles import TYPES_NEEDED, is_untyped
from kbkit.english.types import are_people, type_noun
from kbkit.english.verbs import GRADES
from kbkit.errors import KbError, Option
from kbkit.kb import KnowledgeBase

if TYPE_CHECKING:
    pass
from kbkit.benchmarks.quest.groups import TRIVIAL, Category, Groups, all_groups, by_file, by_nodes, by_values, stacked

_MAX_LENGTH = 100
TRUNCATED = "of which only the first few values are known"
"""Why no category is made from a relation."""


class NoCategoriesError(KbError):
    """No category of a type is usable."""


@dataclass(frozen=True)
class KnownValues:
    """The nodes that have a value of a family, and whether their values are complete (:func:`are_whole`).

    ``of_people``: the values are people; ``are_labels``: they are tags, keywords or the like; ``are_optional``: a node
    needs no value (:func:`is_optional`); ``are_sparse``: most nodes have no value (:func:`is_sparse`); ``mean``: the
    mean number of values of the nodes that have one; ``are_grades``: they are ratings or the like; ``are_years``:
    they are years; ``are_alike``: they are of the type of the nodes; ``are_open``: nothing says of what type they are,
    and nodes have several, so that a source of statements may lack some.
    """

    nodes: NDArray[np.bool_]
    are_whole: bool
    of_people: bool = False
    are_labels: bool = False
    are_optional: bool = False
    are_sparse: bool = False
    mean: float = math.inf
    are_grades: bool = False
    are_years: bool = False
    are_alike: bool = False
    are_open: bool = False

    @classmethod
    def of(cls, counts: NDArray[np.int64], family: Family, domain: str, members: int) -> KnownValues:
        """Return the known values; ``counts`` are the numbers of values of all nodes."""
        labels, people = bool(family.other) and is_marker(family.other), bool(family.other) and are_people(family.other)
        other = "" if is_untyped(domain) else family.other  # which nodes need a value is unknown
        optional = bool(other) and is_optional(domain, other)
        sparse = is_sparse(domain, other, float((counts > 0).sum()) / max(1, members))
        known = counts[counts > 0]
        mean = float(known.mean()) if len(known) else 0.0
        grades = bool(family.other) and type_noun(family.other).rpartition(" ")[2] in GRADES
        years, alike = _are_years(family), bool(other) and other == domain
        several = bool(other) and is_untyped(other) and bool((known > 1).mean() > MISSING) if len(known) else False
        return cls(counts > 0, are_whole(known), people, labels, optional, sparse, mean, grades, years, alike, several)


@dataclass
class Categories:
    """The categories of a type.

    ``sets.values[i]`` is the number ``i``. ``same[i]`` is equal for equal sets. ``left_out`` counts groups that are not
    categories, by reason; ``in_files`` counts all groups from files, by family; ``groups`` are those by node. ``known``
    are the values of the nodes of each family, except of those from files; ``doubtful`` nodes answer no query
    (:func:`doubtful_nodes`); ``odd`` nodes, by family, have a doubtful value; ``lacking`` nodes, by family, may be in
    any category of it (:func:`uncategorized`), so many of those in ``gapped`` that no category is whole; ``named`` has
    the node that each category names, or -1, and ``doubted`` the nodes that it may or may not have as members.
    """

    domain: str
    items: list[Category]
    sets: AnswerSets
    same: NDArray[np.int64]
    left_out: Counter[str] = field(default_factory=Counter)
    in_files: Counter[str] = field(default_factory=Counter)
    groups: Groups | None = None
    known: dict[str, KnownValues] = field(default_factory=dict)
    doubtful: frozenset[int] = frozenset()
    odd: dict[str, frozenset[int]] = field(default_factory=dict)
    lacking: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    gapped: frozenset[str] = frozenset()
    named: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    doubted: Any = None

    @property
    def gapped_relations(self) -> list[str]:
        """The relations of the families in ``gapped``."""
        return sorted({name for family in self.gapped for name in _relations(family)})

    def by_family(self) -> dict[str, int]:
        """Return the number of categories by family."""
        return dict(Counter(item.family for item in self.items))


def build(
    kb: KnowledgeBase,
    domain: str,
    given_families: Sequence[Family] | None = None,
    files: Sequence[Path] = (),
    words: LeftOutWords | None = None,
) -> Categories:
    """Return all categories of a type that have two members or more, and at most half of all nodes.

    They come from families (default: those of the schema) and from ``files``; none contains one of ``words``. Raises
    :class:`KbError` if there are none.
    """
    if domain in nameless_types(kb):
        message = f"Nodes of type {domain} have no names but numbers, so no question can ask for them"
        raise NoCategoriesError(
            message, "Give them names in the recipe (column 'name' of load.sql), or use other types"
        )
    left_out: Counter[str] = Counter()
    chosen = families(kb, domain) if given_families is None else given_families
    by_node = [f for f in chosen if f.attribute is None]
    for name, problem in unworded(kb.schema).items():
        if any(domain in (s.head, s.tail) for s in kb.schema.relation(name).signatures):
            left_out[f"of relation {name}, whose label has {problem}"] += kb.schema.relation(name).pairs
    groups = all_groups(kb, by_node, left_out)
    named: dict[str, int] = {}
    parts = [by_nodes(kb, groups, left_out, named)]
    parts += [by_values(kb, domain, f) for f in chosen if f.attribute is not None]
    parts += [by_file(kb, domain, path, left_out) for path in files]
    items = [item for part, _ in parts for item in part]
    matrix = stacked([sets for _, sets in parts], kb.schema.nodes)
    patterns = {family.id: family for family in chosen}
    keep = _usable(items, kb.schema.type(domain).members, left_out, patterns)
    cut = {family.id: name for family in by_node if family.other and (name := _truncated(kb, family))}
    if cut:
        left_out.update(f"of relation {cut[f]}, {TRUNCATED}" for at in keep if (f := items[at].family) in cut)
        keep = [at for at in keep if items[at].family not in cut]
    told = _named_alike(kb, [items[at].name for at in keep], matrix[np.array(keep, np.int64)]) if keep else set()
    left_out.update({"whose name most of its members have": len(told)} if told else {})
    keep = [at for position, at in enumerate(keep) if position not in told]
    if words is not None:
        fit = [at for at in keep if not words.found(items[at].phrase)]
        left_out[f"with {REASON}"] += len(keep) - len(fit)
        keep = fit
    if not keep:
        reasons = "; ".join(f"{count:,} {reason}" for reason, count in left_out.items() if count)
        hint: tuple[Any, ...] = (
            "Add ",
            Option("category", "'genre:<genre> -> movie'"),
            " or ",
            Option("category_file", "FILE"),
        )
        if is_untyped(domain) and not head_nouns(kb):
            hint = (TYPES_NEEDED,)
        if more := few_listed(kb):
            hint = (f"{more}. Or add ", *hint[1:]) if len(hint) > 1 else (more,)
        raise NoCategoriesError(f"Type {domain} has no categories" + (f": {reasons}" if reasons else ""), *hint)
    from_files = {family_of(path) for path in files}
    in_files = Counter(item.family for item in items if item.family in from_files and item.size > 1)
    found_here = _numbered(domain, [items[i] for i in keep], matrix[np.array(keep)], left_out, in_files)
    found_here.groups = groups
    found_here.doubtful = doubtful_nodes(kb)
    found_here.named = np.array([named.get(items[at].expression, -1) for at in keep], np.int64)
    found_here.doubted = _doubted(kb, found_here.items, found_here.named)
    found_here.odd = {family.id: nodes for family in by_node if (nodes := _odd(kb, family))}
    lacking = {family.id: _lacking(kb, domain, family) for family in by_node}
    found_here.lacking = {name: lacks for name, lacks in lacking.items() if len(lacks)}
    found_here.gapped = frozenset(name for name, lacks in lacking.items() if is_gapped(kb, domain, lacks))
    found_here.known = _known(kb, domain, chosen, groups, items, matrix)
    return found_here


def _named_alike(kb: KnowledgeBase, names: Sequence[str], matrix: Any) -> set[int]:
    """Return the positions of the categories whose name is in the names of most of their members, as a make's is.

    *Cars of the make Honda* are found by their names alone.
    """
    import polars as pl

    cells = matrix.tocoo()
    members = pl.DataFrame({"at": cells.row.astype(np.int64), "id": cells.col.astype(np.int64)})
    nodes = kb.tables.frame("SELECT id::BIGINT AS id, coalesce(name, '') AS member FROM nodes")
    known = pl.DataFrame({"category": names}, schema={"category": pl.String}).with_row_index("at")
    pairs = members.join(nodes, on="id").join(known.with_columns(pl.col("at").cast(pl.Int64)), on="at")
    pairs = pairs.with_columns(padded_words("member"), padded_words("category"))
    is_named = pl.col("member").str.contains(pl.col("category"), literal=True) & (pl.col("category") != "  ")
    return set(pairs.group_by("at").agg(is_named.mean().alias("share")).filter(pl.col("share") > 0.5)["at"])


def _relations(family: str) -> list[str]:
    return [part.relation for part in syntax.subtrees(parse(family)) if isinstance(part, syntax.Edge)]


def _truncated(kb: KnowledgeBase, family: Family) -> str:
    """Return a relation of a family by which no category is whole, or ""."""
    return truncated(kb, kb.session.resolved(parse(family.id), family.id).root)


def _odd(kb: KnowledgeBase, family: Family) -> frozenset[int]:
    return frozenset().union(*(odd_nodes(kb).get(name, frozenset()) for name in _relations(family.id)))


def _lacking(kb: KnowledgeBase, domain: str, family: Family) -> NDArray[np.int64]:
    root = kb.session.resolved(parse(family.id), family.id).root
    if not isinstance(root, Hop):
        return np.empty(0, np.int64)
    return uncategorized(kb, domain, [(move.relation, not move.forward) for move in root.moves])


def _doubted(kb: KnowledgeBase, items: Sequence[Category], named: NDArray[np.int64]) -> Any:
    """Return a matrix of the nodes that are doubtful members of each category."""
    relations = {item.family: _relations(item.family) for item, node in zip(items, named, strict=True) if node >= 0}
    nodes = [
        sorted(doubted_of(kb, relations[item.family], node)) if node >= 0 else []
        for item, node in zip(items, named.tolist(), strict=True)
    ]
    sizes = np.array([len(one) for one in nodes], np.int64)
    return matrix_of(sizes, np.array([node for one in nodes for node in one], np.int32), kb.schema.nodes)


def _known(
    kb: KnowledgeBase,
    domain: str,
    chosen: Sequence[Family],
    groups: Groups | None,
    items: Sequence[Category],
    matrix: Any,
) -> dict[str, KnownValues]:
    """Return the values of each family: of groups by node all, usable or not, and of attributes those of ``items``."""
    counts_of: dict[str, NDArray[np.int64]] = {}
    for family in chosen:
        if family.attribute is None:
            assert groups is not None
            rows = np.flatnonzero(groups.families_of == [f.id for f in groups.families].index(family.id))
            part = groups.matrix[rows]
        else:
            part = matrix[np.array([at for at, item in enumerate(items) if item.family == family.id], np.int64)]
        counts_of[family.id] = np.bincount(part.indices, minlength=kb.schema.nodes)
    members = kb.schema.type(domain).members
    if is_untyped(domain):  # nodes of all kinds
        members = max((int((counts > 0).sum()) for counts in counts_of.values()), default=members)
    return {family.id: KnownValues.of(counts_of[family.id], family, domain, members) for family in chosen}


def _usable(items: Sequence[Category], members: int, left_out: Counter[str], known: Mapping[str, Family]) -> list[int]:
    """Return the positions of the categories that queries can use."""
    folded = [" ".join(item.phrase.split()).casefold() for item in items]
    often = Counter(folded)
    keep = []
    for position, item in enumerate(items):
        reason = ""
        if not item.name:
            reason = "without a name"
        elif item.size < 2 or 2 * item.size > members:
            reason = TRIVIAL
        elif len(item.name) > _MAX_LENGTH or has_marks(item.phrase):
            reason = "with a name that is too long or contains marks"
        elif often[folded[position]] > 1:
            reason = "with a duplicate phrase"
        else:
            reason = _objection(item, known.get(item.family))
        if reason:
            left_out[reason] += 1
        else:
            keep.append(position)
    return keep


def _are_years(family: Family) -> bool:
    """Return whether a family is by year."""
    word = family.other or (attribute_words(family.attribute).noun if family.attribute else "")
    return type_noun(word).rpartition(" ")[2] == "year" if word else False


def _objection(item: Category, family: Family | None) -> str:
    """Return why a phrase does not read well, or ""."""
    if family is None:  # the user's own phrase
        problem = objection(item.phrase, item.phrase)
    else:
        number = _are_years(family) or (family.attribute is not None and family.attribute.type != "VARCHAR")
        problem = objection(item.phrase, item.name, family.pattern, numeric=number)
    return f"whose phrase has {problem}" if problem else ""


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
    numbered = AnswerSets(("",), numbers[:, None], kinds, weight, sizes, identity, sets)
    return Categories(domain, items, numbered, _equal_sets(sets.indptr, sets.indices), left_out, in_files)


def _equal_sets(offsets: NDArray[np.int32], nodes: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return a number for each row, equal for rows with the same nodes; sums of hashes identify sets."""
    sums = np.concatenate(([np.uint64(0)], np.cumsum(splitmix64(nodes.astype(np.uint64)), dtype=np.uint64)))
    numbers: NDArray[np.int64] = np.unique(sums[offsets[1:]] - sums[offsets[:-1]], return_inverse=True)[1]
    return numbers


# -- categories by node -----------------------------------------------------------------------------------------------


# -- categories by value ----------------------------------------------------------------------------------------------


# -- categories from files --------------------------------------------------------------------------------------------
