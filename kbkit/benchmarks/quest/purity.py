"""Expected precision and recall of a difference of incomplete sets (QUEST, appendix B)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import polars as pl

from kbkit.answers.answer_set import AnswerSet
from kbkit.errors import KbError


class Purity(NamedTuple):
    """Expected precision and recall of a difference."""

    precision: float
    recall: float


def purity(recall_a: float, recall_b: float, overlap: float) -> Purity:
    r"""Return the expected precision and recall of A' - B', where A' and B' are known parts of the sets A and B.

    ``recall_a`` = \|A'\| / \|A\|, ``recall_b`` = \|B'\| / \|B\|; ``overlap`` = \|A & B\| / \|A\|, of the true sets. The
    paper assumes that A' and B' contain no wrong nodes, and that their missing nodes are independent of each other and
    of the other set: \|A' & B\| = recall_a \|A & B\|, \|A' & B'\| = recall_a recall_b \|A & B\|. Then, with \|A\| = 1:

    * size of A' - B': \|A'\| - \|A' & B'\| = recall_a (1 - recall_b overlap);
    * its correct part: \|A' - B\| = \|A'\| - \|A' & B\| = recall_a (1 - overlap), as B' contains none of A - B;
    * all correct nodes: \|A - B\| = 1 - overlap.

    Therefore, recall = recall_a, and precision = (1 - overlap) / (1 - recall_b overlap). If A is a subset of B,
    precision is 0 and recall undefined (nan); if B is also complete, both are nan. Raises :class:`KbError` for a
    fraction outside 0 to 1, and for a recall of A of 0.
    """
    for name, value in (("recall of A", recall_a), ("recall of B", recall_b), ("overlap", overlap)):
        if not 0 <= value <= 1:
            raise KbError(f"Invalid {name}: {value:g}", "Use a fraction from 0 to 1")
    if recall_a == 0:
        raise KbError("Invalid recall of A: 0", "Nothing would be returned")
    returned = 1 - recall_b * overlap
    return Purity((1 - overlap) / returned if returned else float("nan"), recall_a if overlap < 1 else float("nan"))


def grid(recalls_a: Sequence[float], recalls_b: Sequence[float], overlaps: Sequence[float]) -> pl.DataFrame:
    """Return a row for each combination: recall_a, recall_b, overlap, precision, recall (null if undefined)."""
    rows = [(a, b, overlap, *purity(a, b, overlap)) for a, b, overlap in product(recalls_a, recalls_b, overlaps)]
    names = ("recall_a", "recall_b", "overlap", "precision", "recall")
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.Float64), orient="row").fill_nan(None)


def overlap_of(a: AnswerSet, b: AnswerSet, recall_b: float) -> tuple[float, float]:
    r"""Return the fraction of A that is in B: of the known sets, and as expected for the true sets (at most 1).

    The known sets have recall_a recall_b \|A & B\| of recall_a \|A\| in common, so the true fraction is the known one /
    recall_b. Raises :class:`KbError` if A is empty, or if the recall of B is not above 0 and at most 1.
    """
    if not 0 < recall_b <= 1:
        raise KbError(f"Invalid recall of B: {recall_b:g}", "Use a fraction above 0 and at most 1")
    if not len(a):
        raise KbError(f"{a.expression} has no answers, so there is no overlap")
    seen = len(a & b) / len(a)
    return seen, min(1.0, seen / recall_b)


def remarks(seen: float, recall_b: float) -> list[str]:
    """Return remarks on the result of :func:`overlap_of`."""
    if seen <= recall_b:
        return []
    return [
        f"{seen:.4g} of A is in B, which is more than a recall of B of {recall_b:g} allows; the overlap is set to 1"
    ]
