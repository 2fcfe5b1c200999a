"""Rules for which categories a query combines: those that a reader would put together, and whose values are known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kbkit.answers import syntax
from kbkit.benchmarks.evidence import padded
from kbkit.benchmarks.fit_nodes import MISSING
from kbkit.benchmarks.quest.categories import Categories, KnownValues
from kbkit.benchmarks.quest.grammar import Shape
from kbkit.benchmarks.quest.groups import Category
from kbkit.english import genres
from kbkit.english.modifiers import GENRE, affirmed, are_people, divided
from kbkit.english.roles import is_untyped
from kbkit.english.stems import shares_stem
from kbkit.english.types import WORKS, type_noun

_COMMON, _OFTEN = 2, 3
"""Number of members that the parts of a union have in common, and the parts of one that names people."""
_TOGETHER, _MET = 0.25, 0.2
"""The same relative to the members of both: *member states of Mercosur or the Andean Community*, not *of OPEC or a
monetary union in Africa*."""
_ACQUAINTED = 0.3
"""Fraction of the people of one director, such as actors, that another director must have worked with, too."""
_MOST, _MANY, _MORE = 0.5, 0.2, 3
"""Fraction of the nodes so far that makes an exclusion plausible, and a smaller one that does if it is that many times
the fraction of all nodes: *vampire films that are not horror films*."""
_EXCLUDED = 2
"""Minimum number of nodes that an exclusion leaves out."""
_SOME = 0.15
"""Fraction of the members of each category that must be in the excluded one too, half as many times more than of all
nodes."""
_BROAD = 0.1
"""Probability that two things share their value, from which a family is general, as continents are."""
_BEGINNING = 5
"""Number of letters with which two related words begin."""
_ONE = 1.05
"""Mean number of values below which each thing has one, such as its year."""


def deniable(categories: Categories, rows: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the rows whose last category a question may deny.

    It may not if it is a label, if the values of its family are incomplete, if it is a genre or a person and the others
    are not, or a person of works: *made in Peru but not directed by Jane Doe* is not plausible. A job is denied of
    people with another job only: *citizens of Peru who are not film directors* is not plausible. Nor is anything denied
    of what has a label, if there are other rows: *tagged 'king' but no adventures* asks for two lists of words.
    """
    known = [categories.known.get(item.family) for item in categories.items]
    people = np.array([one is not None and one.of_people for one in known])
    fit = np.array([one is None or (one.are_whole and not one.are_open and not _are_vague(one)) for one in known])
    fit &= np.array([not affirmed(divided(item.phrase)[1]) for item in categories.items], bool)
    genre = are_genres(categories)
    jobs = np.array([not divided(item.phrase)[1] and are_people(item.phrase) for item in categories.items])
    last, others = rows[:, -1], rows[:, :-1]
    may_deny_people = people[others].any(axis=1) & (not _are_works(categories))  # sources lack some writers
    fit_here = fit[last] & (~people[last] | may_deny_people) & (~jobs[last] | jobs[others].any(axis=1))
    fit_here &= ~genre[last] | genre[others].any(axis=1)
    labels = np.array([one is not None and one.are_labels for one in known], bool)
    kept: NDArray[np.int32] = rows[fit_here]
    unlabelled: NDArray[np.int32] = kept[~labels[kept[:, :-1]].any(axis=1)]
    return unlabelled if len(unlabelled) else kept


def are_genres(categories: Categories) -> NDArray[np.bool_]:
    """Return which categories are of a genre."""
    return np.array([GENRE.fullmatch(divided(item.phrase)[1]) is not None for item in categories.items], bool)


def by_person_if_tagged(categories: Categories, rows: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the rows that ask for works by a label beside a person alone, who has few: *films from 2015 tagged
    'murder'* has many more answers to a reader.
    """
    if not _are_works(categories):
        return rows
    known = [categories.known.get(item.family) for item in categories.items]
    labels = np.array([one is not None and one.are_labels for one in known], bool)[rows].any(axis=1)
    people = np.array([one is not None and one.of_people for one in known], bool)[rows].any(axis=1)
    kept: NDArray[np.int32] = rows[~labels | people]
    return kept


def _are_works(categories: Categories) -> bool:
    return is_untyped(categories.domain) or type_noun(categories.domain).rpartition(" ")[2] in WORKS


def excludes_expected(
    categories: Categories, rows: NDArray[np.int32], before: NDArray[np.int64], left: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return the mask of rows whose last category is one that a person expects of the others.

    Of the nodes ``before`` the exclusion, of which some are ``left``, most must be in it, or many more than of all
    nodes, and so must be the members of one of the others; it must have to do with each of them, except those by year,
    country and the like. *Vampire films that are not horror films* is plausible, *princess films that are not crime
    films* is not.
    """
    matrix: Any = categories.sets.matrix
    sizes = np.diff(matrix.indptr)
    known = [categories.known.get(item.family) for item in categories.items]
    members = np.array([math.inf if one is None else one.nodes.sum() for one in known])
    is_general = are_general(categories)
    denied = rows[:, -1]
    every = sizes[denied] / members[denied]
    of_one, related = np.zeros(len(rows), bool), np.ones(len(rows), bool)
    for other in rows[:, :-1].T:
        share = _overlap(categories, other, denied)[0] / sizes[other]
        of_one |= _is_expected(share, every)
        related &= (share >= np.maximum(_SOME, _MORE / 2 * every)) | is_general[other]
    excluded = before - left  # one film alone that two people wrote is chance
    is_expected = _is_expected(excluded / np.maximum(1, before), every) & (excluded >= _EXCLUDED)
    return np.asarray(of_one & related & is_expected, bool)


def _is_expected(share: NDArray[np.float64], every: NDArray[np.float64]) -> NDArray[np.bool_]:
    return (share >= _MOST) | ((share >= _MANY) & (share >= _MORE * every))


def with_varied_families(categories: Categories, shape: Shape, rows: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the rows of three categories that are not all of one family, none of relations among the nodes, or all.

    Three memberships of unrelated bodies are a list, not a question, and so are a neighbour and two of them. One of
    what is asked must be the continent or the like if it is in any row, and two memberships beside something else must
    have many members in common.
    """
    alike = np.array([one is not None and one.are_alike for one in map(categories.known.get, _families(categories))])
    families = np.unique(_families(categories), return_inverse=True)[1]
    kept = preferred(rows, alike)
    varied: NDArray[np.int32] = kept[(families[kept] != families[kept[:, :1]]).any(axis=1)]
    is_general = are_general(categories)
    asked = varied[:, :-1] if "-" in ops(shape) else varied
    varied = varied[is_general[asked].any(axis=1)] if is_general[asked].any() else varied
    for one, other, third in ((0, 1, 2), (0, 2, 1), (1, 2, 0)):
        a, b = varied[:, one], varied[:, other]
        apart = (families[a] == families[b]) & ~is_general[varied[:, third]]
        varied = varied[~apart | (_overlap(categories, a, b)[1] >= _TOGETHER)]
    return varied if len(varied) else rows


def of_kindred(categories: Categories, shape: Shape, rows: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the rows whose categories of one family have many members in common, unless it is of genres or people.

    *Members of the OSCE and the Commonwealth* are two lists. What is denied beside two others is of the family of one
    of them: *countries in Oceania in the APEC that have no coast on the Strait of Malacca* have three topics. Returns
    all rows if none is left.
    """
    if ops(shape) <= {"|"}:
        return rows
    known = [categories.known.get(item.family) for item in categories.items]
    families = np.unique(_families(categories), return_inverse=True)[1]
    exempt = (
        are_genres(categories)
        | are_general(categories)
        | np.array([one is not None and one.of_people for one in known], bool)
    )
    fit = np.ones(len(rows), bool)
    for one, other in combinations(rows.T, 2):
        is_same = (families[one] == families[other]) & ~exempt[one]
        fit &= ~is_same | (_overlap(categories, one, other)[1] >= _TOGETHER)
    if "-" in ops(shape) and rows.shape[1] > 2:
        fit &= (families[rows[:, :-1]] == families[rows[:, -1:]]).any(axis=1) | exempt[rows[:, -1]]
    kept: NDArray[np.int32] = rows[fit]
    return kept if len(kept) else rows


def are_general(categories: Categories) -> NDArray[np.bool_]:
    """Return which categories are by year, grade, or a family with one value of each thing, which many share."""
    known = [categories.known.get(item.family) for item in categories.items]
    matrix: Any = categories.sets.matrix
    sizes = np.diff(matrix.indptr)
    families, of_family = np.unique(_families(categories), return_inverse=True)
    squares = np.bincount(of_family, weights=sizes.astype(float) ** 2, minlength=len(families))[of_family]
    members = np.array([math.inf if one is None else one.nodes.sum() for one in known])
    are_broad = squares / members**2 >= _BROAD
    are_one = np.array([one is not None and one.mean < _ONE for one in known], bool)
    are_vague = np.array([one is not None and (one.are_grades or one.are_years) for one in known], bool)
    return np.asarray((are_one & are_broad) | are_vague, bool)


def _families(categories: Categories) -> list[str]:
    return [item.family for item in categories.items]


def _are_vague(known: KnownValues) -> bool:
    """Return whether people do not ask for nodes without values of a family: labels, grades, years."""
    return known.are_labels or known.are_grades or known.are_years


def _overlap(
    categories: Categories, some: NDArray[np.int32], others: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return how many members pairs of categories have in common, and the fraction of the members of both."""
    matrix: Any = categories.sets.matrix
    sizes = np.diff(matrix.indptr)
    common = np.diff(matrix[some].multiply(matrix[others]).tocsr().indptr)
    return common, common / np.maximum(1, sizes[some] + sizes[others] - common)


def are_known(categories: Categories, denied: NDArray[np.int32], answers: Any) -> NDArray[np.bool_]:
    """Return the mask of rows whose answers all have a value of the denied family; the KB may lack the denied one."""
    are_known = np.ones(len(denied), bool)
    families = np.array([categories.items[number].family for number in denied.tolist()], object)
    for name in np.unique(families).tolist():
        if known := categories.known.get(name):
            rows = np.flatnonzero(families == name)
            are_known[rows] = answers[rows] @ (~known.nodes).astype(np.int32) == 0
    return are_known


def with_common_values(categories: Categories, rows: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the rows without several values of a family of which nodes mostly have fewer, or all if none is left.

    *Family fantasy adventure films* would miss most of them if a film has one or two genres in the KB.
    """
    names, families = np.unique([item.family for item in categories.items], return_inverse=True)
    known = [categories.known.get(name) for name in names.tolist()]
    mean = np.array([math.inf if one is None else one.mean for one in known])
    of_rows = families[rows]
    same = (of_rows[:, :, None] == of_rows[:, None, :]).sum(axis=2)
    kept: NDArray[np.int32] = rows[((same == 1) | (same <= mean[of_rows])).all(axis=1)]
    return kept if len(kept) else rows


def with_values(categories: Categories, rows: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the rows without missing values, or all rows if none is left.

    No category has a value of which a node may have more than the KB says, such as the main genre of a film.
    In a pair of categories, nearly all members of the smaller one must have a value of the other's family: *dramas by
    Jane Doe* would miss dramas if the KB has no genre for many of her films.
    """
    matrix: Any = categories.sets.matrix
    sizes = np.diff(matrix.indptr)
    kept = np.ones(len(rows), bool)
    names, families = np.unique([item.family for item in categories.items], return_inverse=True)
    for family, name in enumerate(names.tolist()):
        known = categories.known.get(name)
        if known is not None and not known.are_whole and not known.are_labels and not known.of_people:
            kept &= (families[rows] != family).all(axis=1)  # the source may list the first value only
        if known is None or known.are_optional:
            continue
        lacking = matrix @ (~known.nodes).astype(np.int32) > MISSING * sizes
        for one, other in permutations(range(rows.shape[1]), 2):
            some, others = rows[:, one], rows[:, other]
            kept &= ~((families[others] == family) & (sizes[some] <= sizes[others]) & lacking[some])
    with_values: NDArray[np.int32] = rows[kept]
    return with_values if len(with_values) else rows


def preferred(rows: NDArray[np.int32], avoided: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return the rows without an ``avoided`` category, or all rows if each has one."""
    good: NDArray[np.int32] = rows[~avoided[rows].any(axis=1)]
    return good if len(good) else rows


def are_sparse(categories: Categories) -> NDArray[np.bool_]:
    """Return which categories are of a sparse family: most people, for example, have no value for languages spoken."""
    known = [categories.known.get(item.family) for item in categories.items]
    return np.array([one is not None and one.are_sparse for one in known], bool)


def on_topic(categories: Categories, shape: Shape, rows: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the rows that do not begin with all works of a year, a country or a grade, or all rows.

    *Movies from 1984 that are not in the Horror genre* is a question without a purpose, and *movies from 1937* has too
    many answers for a complete list.
    """
    is_open = len(shape.letters) == 1 or "-" in ops(shape)
    if not is_open or not _are_works(categories):
        return rows
    known = [categories.known.get(item.family) for item in categories.items]
    are_general = np.array(
        [one is not None and (one.mean < _ONE or one.are_years) and not one.of_people for one in known], bool
    )
    kept: NDArray[np.int32] = rows[~are_general[rows[:, :-1] if len(shape.letters) > 1 else rows].all(axis=1)]
    return kept if len(kept) else rows


def are_kinds(categories: Categories) -> NDArray[np.bool_]:
    """Return which categories are nouns without a clause, such as *bays* or *chemists*: a reader knows more of them."""
    known = [item.family in categories.known for item in categories.items]
    return np.array(
        [has and not divided(item.phrase)[1] for has, item in zip(known, categories.items, strict=True)], bool
    )


def are_bare(categories: Categories) -> NDArray[np.bool_]:
    """Return which categories are nouns without a clause, such as *bays*, but not *chemists*."""
    return np.array([not divided(item.phrase)[1] and not are_people(item.phrase) for item in categories.items], bool)


def stand_apart(categories: Categories) -> NDArray[np.bool_]:
    """Return which categories are of a genre that cannot precede a noun, so that the other phrases come after it."""
    groups = [GENRE.fullmatch(divided(item.phrase)[1]) for item in categories.items]
    return np.array([group is not None and genres.stands_apart(group[1]) for group in groups], bool)


def of_one_family(categories: Categories, rows: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the rows whose categories are of one family, if there are any, each with many members of another.

    *With Ann Lee or Bo Li* is plausible for actors who met often, and *directed by* them if they worked with the same
    people, *made in France or in Peru* is not. Labels are
    dropped if there are other families (*tagged christmas or robots* has two unrelated parts), and so are relations
    among the nodes themselves: *neighbours of Peru or Chile* would be both or neither of the two.
    """
    families = np.unique([item.family for item in categories.items], return_inverse=True)[1]
    known = [categories.known.get(item.family) for item in categories.items]
    labels = np.array([one is not None and one.are_labels for one in known])
    alike = np.array([one is not None and one.are_alike for one in known])
    kept = rows[(families[rows] == families[rows[:, :1]]).all(axis=1)]
    for unfit in (labels, alike):
        kept = preferred(kept, unfit)
    kept = kept if len(kept) else rows
    related = np.zeros(len(kept), np.int64)
    of_people = np.array([one is not None and one.of_people for one in known])[kept[:, 0]]
    known_pairs = acquainted(categories).astype(np.int64) @ [len(families), 1]
    for one, other in combinations(range(kept.shape[1]), 2):
        common, share = _overlap(categories, kept[:, one], kept[:, other])
        pairs = np.sort(kept[:, [one, other]], axis=1).astype(np.int64) @ [len(families), 1]
        related += np.isin(pairs, known_pairs)
        related += (common >= np.where(of_people, _OFTEN, _COMMON)) & (share >= np.where(of_people, _MET, _TOGETHER))
    together: NDArray[np.int32] = kept[related >= kept.shape[1] - 1]
    return together


def acquainted(categories: Categories) -> NDArray[np.int32]:
    """Return the pairs of categories, by people of whom each thing has one, that people of another family join: films
    of two directors often have the same actors.
    """
    groups, found = categories.groups, [np.empty((0, 2), np.int32)]
    if groups is None:
        return found[0]
    of_people = [family.id for family in groups.families if categories.known[family.id].of_people]
    matrix: Any = categories.sets.matrix
    families = np.array(_families(categories), object)
    for family in (one for one in of_people if categories.known[one].mean < _ONE):
        others = [at for at, one in enumerate(groups.families) if one.id in of_people and one.id != family]
        joined: Any = groups.matrix[np.flatnonzero(np.isin(groups.families_of, others))].T.tocsr()
        own = np.flatnonzero(families == family).astype(np.int32)
        people: Any = (matrix[own] @ joined).sign()
        common = (people @ people.T).tocoo()
        counts = np.asarray(people.sum(axis=1)).ravel()
        fewest = np.minimum(counts[common.row], counts[common.col])
        fit = (common.data >= _OFTEN) & (common.data >= _ACQUAINTED * fewest) & (common.row < common.col)
        found.append(np.stack([own[common.row[fit]], own[common.col[fit]]], axis=1))
    return np.concatenate(found)


def without_repeats(categories: Categories, rows: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the rows whose categories share no name, as *in the War genre but not tagged war*, or *vietnam war*.

    Names of one family may have a word in common, but none may contain another, nor all its words, nor begin like it if
    each is one word: the nucleoplasm is part of the nucleus.
    """
    items = categories.items

    def is_same(a: Category, b: Category) -> bool:
        if a.family != b.family:
            return shares_stem(a.name, [b.name])
        one, other = (padded(name).split() for name in (a.name, b.name))
        if len(one) == len(other) == 1:
            return one[0][:_BEGINNING] == other[0][:_BEGINNING]
        return set(one) <= set(other) or set(other) <= set(one)

    def repeats(row: Sequence[int]) -> bool:
        return any(is_same(a, b) for a, b in combinations((items[number] for number in row), 2))

    kept: NDArray[np.int32] = rows[np.fromiter((not repeats(row) for row in rows.tolist()), bool, len(rows))]
    return kept


def ops(shape: Shape) -> set[str]:
    """Return the set operations of a shape."""
    return {part.op for part in syntax.subtrees(shape.tree) if isinstance(part, syntax.Combine)}
