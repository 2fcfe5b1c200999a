"""Learn a ranking from examples: queries with their relevant nodes.

A log-linear model over the hits of each query: training maximizes the probability of the relevant ones, with L-BFGS and
an L2 penalty that pulls towards the ranking of fusion. The penalty is chosen, and the model judged, by cross-validation
over queries; it is kept only if held-out queries are ranked better, beyond chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kbkit.answers.session import Session
from kbkit.errors import KbError, plural
from kbkit.questions.log_linear import fitted
from kbkit.search.answer_types import TypeExamples
from kbkit.search.features import DEPTH, FEATURES, ExampleCounts, features
from kbkit.search.hybrid import Search
from kbkit.search.learned import LearnedRanking, SessionRanking, fingerprint, learned, required, rounded, write_ranking
from kbkit.search.ranking import QueryResult
from kbkit.search.settings import LEARNED, base_mode
from kbkit.stores import Stores
from kbkit.stores.arrays import Within
from kbkit.stores.text_query import TextQuery

FOLDS, MIN_EXAMPLES, MAX_EXAMPLES = 5, 20, 20_000
PENALTIES = (0.3, 3.0, 30.0, 300.0)
"""L2 penalties that are tried, for features of standard deviation 1."""
RESAMPLES, INTERVAL = 10_000, (5.0, 95.0)
_FUSED = 6.0
"""Weight of the fused score from which training starts: with it, the order is that of fusion."""
_BATCH = 50

Floats = NDArray[np.float64]


class RankedPair(NamedTuple):
    """A query, the ids of its relevant nodes, and its id in the file that it comes from."""

    query: str
    relevant: frozenset[int]
    id: str = ""


@dataclass(frozen=True)
class RankedExample:
    """The features of a query's hits in the order of the search, and which are relevant."""

    matrix: Floats
    relevant: NDArray[np.bool_]

    def reciprocal(self, weights: Floats | None = None) -> float:
        """Return the reciprocal rank of the first relevant hit by weights, or in the order of the search (0: none)."""
        if not self.relevant.any():
            return 0.0
        order = slice(None) if weights is None else np.argsort(-(self.matrix @ weights), kind="stable")
        return 1.0 / (1 + int(np.argmax(self.relevant[order])))


def learn(
    stores: Stores,
    pairs: Iterable[RankedPair],
    progress: Callable[[int, int], None] | None = None,
    seed: int = 0,
    *,
    within: Within = None,
    keep: bool = True,
) -> LearnedRanking:
    """Learn a ranking of the nodes ``within``, and write it to the workspace if it is better and ``keep`` is true.

    ``progress`` is called with (done, total). The same pairs and ``seed`` give the same model. Raises :class:`KbError`
    for fewer than ``MIN_EXAMPLES`` pairs, or if search finds the relevant nodes of fewer.
    """
    known = [pair for pair in pairs if pair.relevant][:MAX_EXAMPLES]
    if len(known) < MIN_EXAMPLES:
        raise KbError(f"Too few examples: {plural(len(known), 'query', 'queries')}", f"Learning needs {MIN_EXAMPLES}")
    counted, examples = _examples(stores, known, progress, within)
    useful = sum(bool(example.relevant.any()) for example in examples)
    if useful < MIN_EXAMPLES:
        raise KbError(
            f"Only {useful} of {len(known)} queries have a relevant node among the {DEPTH} best hits or suggestions",
            f"Learning needs {MIN_EXAMPLES}",
        )
    folds = np.random.default_rng(seed).permutation(len(examples)) % FOLDS
    before = np.array([example.reciprocal() for example in examples])
    held_out = [_held_out(examples, folds, penalty) for penalty in PENALTIES]
    best = int(np.argmax([scores.mean() for scores in held_out]))
    low, high = _interval(held_out[best] - before, seed)
    weights = fit(examples, PENALTIES[best])
    ranking = rounded(
        LearnedRanking(
            fingerprint(stores),
            stores.manifest.generation,
            dict(zip(FEATURES, weights.tolist(), strict=True)),
            counted,
            float(before.mean()),
            float(held_out[best].mean()),
            low,
            high,
            PENALTIES[best],
        )
    )
    if keep and ranking.is_better:
        write_ranking(stores, ranking)
    return ranking


def learn_for_mode(
    stores: Stores,
    examples: Callable[[], Iterable[RankedPair]],
    within: Within = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[str]:
    """Learn the ranking of mode ``learned`` for as long as the stores are open; return a remark.

    If the workspace has a ranking, that is used. ``within`` are the nodes to rank. Raises :class:`KbError` if there are
    no ``examples``, or if too few have relevant nodes among the hits.
    """
    if learned(stores) is not None:
        return [f"{LEARNED}: the ranking of the workspace"]
    try:
        pairs = list(examples())
    except KbError:
        required(stores)  # which says how to learn a ranking
        raise
    found = learn(stores, pairs, progress, within=within, keep=False)
    stores.shared(SessionRanking).ranking = found
    measured = f"mean reciprocal rank of held-out queries: {found.before:.3f} before, {found.after:.3f} after"
    return [
        f"{LEARNED}: learned from {plural(found.examples.queries, 'training query', 'training queries')}; {measured}"
    ]


def _examples(
    stores: Stores, pairs: Sequence[RankedPair], progress: Callable[[int, int], None] | None, within: Within
) -> tuple[ExampleCounts, list[RankedExample]]:
    """Search all queries, and return what their words tell, and their hits with features."""
    session = Session.of(stores)
    search = Search.of(session, base_mode(stores), DEPTH, within, None, None, {"quotes": False})
    queries = [search.parse(pair.query) for pair in pairs]
    stems = [list(query.words or stores.text.words(query.text)) for query in queries]
    shares = [_shares(stores, pair.relevant) for pair in pairs]
    words: dict[str, float] = {}
    for query_stems in stems:
        for stem in set(query_stems):
            words[stem] = words.get(stem, 0.0) + 1
    counted = ExampleCounts(len(pairs), words, TypeExamples.of(list(zip(stems, shares, strict=True))))
    ranked: list[RankedExample] = []
    for start in range(0, len(pairs), _BATCH):
        end = start + _BATCH
        results = search.unnamed(queries[start:end])
        rows = zip(pairs[start:end], queries[start:end], results, shares[start:end], strict=True)
        ranked += [_example(session, *row, counted, search.settings.within) for row in rows]
        if progress:
            progress(min(end, len(pairs)), len(pairs))
    return counted, ranked


def _example(
    session: Session,
    pair: RankedPair,
    query: TextQuery,
    result: QueryResult,
    shares: Mapping[str, float],
    counted: ExampleCounts,
    within: Within,
) -> RankedExample:
    if not len(result.ranking.ids):
        return RankedExample(np.empty((0, len(FEATURES))), np.empty(0, bool))
    candidates = features(session, query, result, counted, shares, within)
    return RankedExample(candidates.matrix, np.isin(candidates.ids, list(pair.relevant)))


def _shares(stores: Stores, nodes: frozenset[int]) -> dict[str, float]:
    shares: dict[str, float] = {}
    for node in sorted(nodes):
        name = stores.schema.type_of(node).name
        shares[name] = shares.get(name, 0.0) + 1 / len(nodes)
    return shares


def _held_out(examples: Sequence[RankedExample], folds: NDArray[np.int64], penalty: float) -> Floats:
    """Return the reciprocal rank of each query by weights learned from the other folds."""
    scores = np.zeros(len(examples))
    for fold in range(FOLDS):
        weights = fit([examples[at] for at in np.flatnonzero(folds != fold).tolist()], penalty)
        for at in np.flatnonzero(folds == fold).tolist():
            scores[at] = examples[at].reciprocal(weights)
    return scores


def _interval(differences: Floats, seed: int) -> tuple[float, float]:
    """Return the 90% interval of the mean difference, by a paired bootstrap."""
    drawn = np.random.default_rng(seed)
    means = [differences[drawn.integers(0, len(differences), len(differences))].mean() for _ in range(RESAMPLES)]
    low, high = np.percentile(means, INTERVAL)
    return float(low), float(high)


def fit(examples: Sequence[RankedExample], penalty: float) -> Floats:
    """Return the weights of the features that make the relevant hits most probable."""
    start = np.zeros(len(FEATURES))
    start[FEATURES.index("fused")] = _FUSED
    useful = [example for example in examples if example.relevant.any()]
    if not useful:
        return start
    sizes = [len(example.relevant) for example in useful]
    matrix = np.concatenate([example.matrix for example in useful])
    scale = matrix.std(axis=0)
    scale[scale < 1e-9] = 1.0
    relevant = np.concatenate([example.relevant for example in useful])
    weights: Floats = fitted(matrix / scale, sizes, relevant, start * scale, np.full(len(start), penalty)) / scale
    return weights
