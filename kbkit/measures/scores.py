"""Means of scores, by groups of queries, and paired tests between the scores of two systems."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from kbkit.errors import KbError, UnknownNameError
from kbkit.measures.frames import MAX_K, count_queries

ALL = "all"
"""Label of the last row of a grouped summary."""

_CELLS = 2_000_000
"""Resampled values in memory: 16 MB each for the few copies that a resample needs."""
_Array = NDArray[np.float64]


# -- means ------------------------------------------------------------------------------------------------------------


def summary(scores: pl.DataFrame, queries: pl.DataFrame | None = None, by: Sequence[str] = ()) -> pl.DataFrame:
    """Return the mean of each measure over the queries where it is not null (null: none).

    One row per group, sorted: the ``by`` columns (of ``queries``), ``queries`` (their number), the means. The last row
    covers all queries; its ``by`` columns are ``all`` (null if they are not text). Without ``by``, only that row.
    Raises :class:`UnknownNameError` for a column missing in ``queries``.
    """
    measures = [name for name in scores.columns if name != "query"]
    frame = with_groups(scores, queries, by)
    return grouped(frame, by, [pl.len().cast(pl.Int64).alias("queries"), *(pl.col(m).mean() for m in measures)])


def with_groups(frame: pl.DataFrame, queries: pl.DataFrame | None, by: Sequence[str]) -> pl.DataFrame:
    """Add the columns ``by`` of ``queries`` to ``frame``, which has one or more rows per query."""
    if not by:
        return frame
    known = [] if queries is None else [name for name in queries.columns if name != "query"]
    for name in by:
        if name not in known or queries is None:
            raise UnknownNameError("column", name, known, where="the queries")
        if name in (*frame.columns, "queries"):
            raise KbError(f"Cannot group by {name!r}: the result has a column of that name", "Rename it in the source")
    assert queries is not None
    columns = list(dict.fromkeys(by))
    return frame.join(queries.select("query", *columns), on="query", how="left", maintain_order="left")


def grouped(frame: pl.DataFrame, by: Sequence[str], columns: Sequence[pl.Expr]) -> pl.DataFrame:
    """Return ``columns`` for each group, sorted, then for all rows."""
    names = list(dict.fromkeys(by))
    total = frame.select(columns)
    if not names:
        return total
    label = {name: pl.lit(ALL if frame.schema[name] == pl.String else None, frame.schema[name]) for name in names}
    groups = frame.group_by(names).agg(columns).sort(names, nulls_last=True)
    return pl.concat([groups, total.with_columns(**label).select(groups.columns)])


def undefined(scores: pl.DataFrame) -> list[str]:
    """Return a note for each set of queries without a value in some measures."""
    groups: dict[tuple[int, ...], list[str]] = {}
    for name in scores.columns:
        missing = scores[name].is_null().arg_true().to_list()
        if missing:
            groups.setdefault(tuple(missing), []).append(name)
    return [
        f"{', '.join(names)} undefined for {len(missing):,} of {scores.height:,} queries, which"
        f" {'its mean excludes' if len(names) == 1 else 'their means exclude'}"
        for missing, names in groups.items()
    ]


# -- paired tests -----------------------------------------------------------------------------------------------------


def compare(a: pl.DataFrame, b: pl.DataFrame, n: int = 10_000, seed: int = 0) -> pl.DataFrame:
    """Compare two systems' scores over the same queries; return a row per measure.

    Columns: measure; queries (where neither is null); mean_a, mean_b; difference (b - a); low and high, the 95 %
    interval of the difference (paired percentile bootstrap); p_randomization, two-sided, of the paired randomization
    test, which flips the signs of differences (all 2^queries combinations if at most ``n``, else ``n`` random ones);
    p_bootstrap, two-sided, of the bootstrap shifted to no difference (Efron and Tibshirani, An Introduction to the
    Bootstrap, section 16.4). Random p-values count the observed sample, (1 + extreme) / (1 + n). Tests of fewer than 2
    queries are null. ``seed`` makes the result reproducible. Raises :class:`KbError` if queries or measures differ.
    """
    if not 1 <= n <= MAX_K:
        raise KbError(f"Invalid number of resamples: {n}", f"Use a number from 1 to {MAX_K:,}")
    if a.columns != b.columns:
        raise KbError(f"Different measures: {', '.join(a.columns)} and {', '.join(b.columns)}")
    both = a.join(b, on="query", how="inner", suffix="\0b", maintain_order="left")
    if both.height != a.height or a.height != b.height:
        raise KbError("The two scores cover different queries", "Score both runs against the same gold answers")
    rows = []
    for name in a.columns[1:]:
        pairs = both.select(a=name, b=f"{name}\0b").drop_nulls()
        differences = (pairs["b"] - pairs["a"]).to_numpy()
        means = (pairs["a"].mean(), pairs["b"].mean(), float(differences.mean()) if pairs.height else None)
        rows.append((name, pairs.height, *means, *_tests(differences, n, seed)))
    columns = ["measure", "queries", "mean_a", "mean_b", "difference", "low", "high", "p_randomization", "p_bootstrap"]
    schema = dict.fromkeys(columns, pl.Float64) | {"measure": pl.String, "queries": pl.Int64}
    return pl.DataFrame(rows, schema={name: schema[name] for name in columns}, orient="row")


def compare_by(
    a: pl.DataFrame, b: pl.DataFrame, queries: pl.DataFrame, by: Sequence[str], n: int = 10_000, seed: int = 0
) -> pl.DataFrame:
    """Run :func:`compare` for each group of the columns ``by`` of ``queries``, sorted, then for all queries."""
    groups = with_groups(a.select("query"), queries, by)
    names = list(dict.fromkeys(by))
    parts = []
    for values, rows in groups.group_by(names) if names else ():
        first, second = (frame.join(rows, on="query", how="semi", maintain_order="left") for frame in (a, b))
        parts.append(_labelled(compare(first, second, n, seed), names, values, groups))
    label = [ALL if groups.schema[name] == pl.String else None for name in names]
    known = pl.concat(parts).sort(names, nulls_last=True, maintain_order=True) if parts else pl.DataFrame()
    return pl.concat([known, _labelled(compare(a, b, n, seed), names, label, groups)])


def _labelled(compared: pl.DataFrame, names: list[str], values: Sequence[object], groups: pl.DataFrame) -> pl.DataFrame:
    labels = [pl.lit(value, groups.schema[name]).alias(name) for name, value in zip(names, values, strict=True)]
    return compared.select(*labels, *compared.columns)


def side_by_side(a: pl.DataFrame, b: pl.DataFrame) -> pl.DataFrame:
    """Return both systems' scores of each query: query, then ``_a``, ``_b``, ``_difference`` (b - a) per measure."""
    both = a.join(b, on="query", how="inner", suffix="\0b", maintain_order="left")
    columns = []
    for name in a.columns[1:]:
        first, second = pl.col(name), pl.col(f"{name}\0b")
        columns += [first.alias(f"{name}_a"), second.alias(f"{name}_b"), (second - first).alias(f"{name}_difference")]
    return both.select("query", *columns)


def untested(compared: pl.DataFrame) -> list[str]:
    """Return a note for each measure with too few queries to test."""
    few = compared.filter(pl.col("queries") < 2).select("measure", "queries").unique(maintain_order=True).iter_rows()
    return [f"{name} is not tested: {count_queries(queries)} to compare, at least 2 needed" for name, queries in few]


def _tests(differences: _Array, n: int, seed: int) -> tuple[float | None, float | None, float | None, float | None]:
    """Return low, high, p_randomization, p_bootstrap."""
    if len(differences) < 2:
        return None, None, None, None
    low, high, p = _bootstrap(differences, n, seed)
    return low, high, _randomization(differences, n, seed), p


def _mean(values: _Array, axis: int = -1) -> _Array:
    return np.asarray(values.mean(axis=axis))


def _distance(values: _Array, axis: int = -1) -> _Array:
    return np.abs(_mean(values, axis))


def _batch(size: int) -> int:
    return max(1, _CELLS // size)


def _bootstrap(differences: _Array, n: int, seed: int) -> tuple[float, float, float]:
    """Return the 95 % interval of the mean, and the p-value of no difference."""
    from scipy import stats

    observed = float(differences.mean())
    if np.ptp(differences) == 0:  # every resample equals the sample
        return observed, observed, 1.0 if observed == 0 else 1 / (n + 1)
    resampled = stats.bootstrap(
        (differences,), _mean, n_resamples=n, batch=_batch(len(differences)), method="percentile", rng=seed
    )
    shifted = np.abs(resampled.bootstrap_distribution - observed)
    extreme = int((shifted >= abs(observed) * (1 - 1e-12)).sum())
    low, high = resampled.confidence_interval
    return float(low), float(high), (1 + extreme) / (1 + n)


def _randomization(differences: _Array, n: int, seed: int) -> float:
    from scipy import stats

    nonzero = differences[differences != 0]  # flipping the sign of 0 changes nothing
    if len(nonzero) < 2:  # one difference is equally far from 0 with either sign
        return 1.0
    batch = _batch(len(nonzero))
    if 2 ** len(nonzero) <= n:
        signs = {"permutation_type": "samples", "n_resamples": np.inf, "alternative": "greater", "batch": batch}
        return float(stats.permutation_test((nonzero,), _distance, **signs).pvalue)
    rng = np.random.default_rng(seed)

    def flipped(size: tuple[int, int]) -> _Array:
        # One random bit per sign: permutation_test would shuffle pairs, fifty times slower.
        width = -(-size[1] // 8)
        bits = np.unpackbits(np.frombuffer(rng.bytes(size[0] * width), np.uint8).reshape(size[0], width), axis=1)
        signed: _Array = np.where(bits[:, : size[1]] == 1, nonzero, -nonzero)
        return signed

    test = stats.monte_carlo_test(
        nonzero, flipped, _distance, vectorized=True, n_resamples=n, batch=batch, alternative="greater"
    )
    return float(test.pvalue)
