"""A ranking learned from examples: weights of the features of hits, stored in the workspace of a KB.

Features name no nodes, so a model outlives the generation in which it was learned. It belongs to the schema, the
analyzer and the embedder, by which scores are comparable; a model of others is refused. Deleting the file undoes it.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from kbkit.answers.session import Session
from kbkit.directory import systems
from kbkit.directory.files import parse_json, write_files
from kbkit.errors import Command, KbError, Option
from kbkit.search.answer_types import TypeExamples
from kbkit.search.features import FEATURES, ExampleCounts, features
from kbkit.search.graph_hits import GRAPH
from kbkit.search.ranking import EMPTY, QueryResult, Ranking
from kbkit.search.settings import LEARNED
from kbkit.stores import Stores
from kbkit.stores.arrays import Within, is_in
from kbkit.stores.text_query import TextQuery

FILE, VERSION = "ranking.json", 3
_MAX_WORDS = 100_000


LEAST_GAIN = 0.02
"""Gain in mean reciprocal rank that shuffled examples may reach, too: many queries have answers of one type."""


@dataclass(frozen=True)
class LearnedRanking:
    """Weights by feature and the counts of the examples' words, with what they were learned from.

    ``schema`` is the fingerprint of the KB, ``generation`` the one of the examples. ``before`` and ``after`` are the
    mean reciprocal ranks of held-out queries without and with it, ``low`` and ``high`` the 90% interval of the
    difference, and ``penalty`` the L2 penalty that was chosen.
    """

    schema: str
    generation: str
    weights: Mapping[str, float]
    examples: ExampleCounts
    before: float = 0.0
    after: float = 0.0
    low: float = 0.0
    high: float = 0.0
    penalty: float = 0.0

    @property
    def is_better(self) -> bool:
        """Whether held-out queries are ranked better, beyond chance and beyond what most answers have in common."""
        return self.low > LEAST_GAIN

    def ranked(
        self, session: Session, query: TextQuery, result: QueryResult, k: int, within: Within = None
    ) -> QueryResult:
        """Return a result with its best hits, and nodes of ``within`` that the graph suggests, in a new order.

        Scores are probabilities, those of the other hits below.
        """
        components = {**result.components, GRAPH: EMPTY, LEARNED: EMPTY}
        if not len(result.ranking.ids):
            return result._replace(components=components)
        candidates = features(session, query, result, self.examples, within=within)
        odds = candidates.matrix @ np.array([self.weights.get(name, 0.0) for name in FEATURES])
        best = Ranking.of(candidates.ids, odds)
        shares = np.exp(best.scores - best.scores[0])
        best = best._replace(scores=shares / shares.sum())
        rest = result.ranking.ids[~is_in(result.ranking.ids, np.sort(best.ids))]
        below = best.scores[-1] * (1 - np.arange(1, len(rest) + 1) / (len(rest) + 1))
        ranking = Ranking(np.concatenate([best.ids, rest]), np.concatenate([best.scores, below]))
        components |= {GRAPH: candidates.of_graph, LEARNED: best}
        return result._replace(ranking=ranking.cut(k), components=components)


def fingerprint(stores: Stores) -> str:
    """Return a hash of what a model depends on: types, relations, text fields, analyzer and embedder."""
    schema = stores.schema
    relations = [(r.name, sorted((s.head, s.tail) for s in r.signatures)) for r in schema.relations]
    settings = {
        store: {name: stores.manifest.stores[store].settings.get(name) for name in names}
        for store, names in (("text", ("analyzer", "relations")), ("vectors", ("embedder", "dimension")))
        if stores.has(store)
    }
    parts = [
        sorted(t.name for t in schema.node_types),
        sorted(relations),
        sorted((f.name, f.weight) for f in schema.text_fields),
        settings,
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def learned(stores: Stores) -> LearnedRanking | None:
    """Return the learned ranking of a KB (None: none).

    Raises :class:`KbError` if its file is damaged, of another version, or of another schema.
    """
    path = stores.directory.path / "workspace" / FILE
    try:
        state = path.stat()
    except FileNotFoundError:
        return None
    kept = stores.shared(_Kept)
    stamp = state.st_mtime_ns, state.st_size, state.st_ino
    if kept.stamp != stamp or kept.ranking is None:
        kept.ranking = _read(stores, stores.workspace.folder / FILE)
        kept.stamp = stamp
    return kept.ranking


class _Kept:
    """The model that was read last, and the state of its file: reading it takes longer than a search."""

    def __init__(self, _: Stores) -> None:
        self.stamp: tuple[int, int, int] | None = None
        self.ranking: LearnedRanking | None = None


def _read(stores: Stores, path: Path) -> LearnedRanking:
    hint = ("Learn again, or use ", Option("forget"), " to delete it")
    try:
        ranking = _parsed(parse_json(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise KbError(f"Invalid file {path}: {reason:.200}", *hint) from None
    if ranking.schema != fingerprint(stores):
        raise KbError("The ranking was learned with another schema, analyzer or embedder", *hint)
    return ranking


class SessionRanking:
    """A ranking that mode ``learned`` uses while the stores are open, if the workspace has none."""

    def __init__(self, _: Stores) -> None:
        self.ranking: LearnedRanking | None = None


def required(stores: Stores) -> LearnedRanking:
    """Return the learned ranking of a KB, or the one of the session, or raise :class:`KbError` if there is none."""
    ranking = learned(stores) or stores.shared(SessionRanking).ranking
    if ranking is None:
        raise KbError("No ranking has been learned for this KB", "Run ", Command("search KB --learn FILE"))
    return ranking


def usable(stores: Stores) -> LearnedRanking | None:
    """Return the learned ranking for mode ``auto``; None if there is none, or none that fits the KB."""
    try:
        return learned(stores)
    except KbError:
        return None


def problem(stores: Stores) -> KbError | None:
    """Return why the learned ranking is not used, if there is one that does not fit the KB."""
    try:
        learned(stores)
    except KbError as error:
        return error
    return None


def write_ranking(stores: Stores, ranking: LearnedRanking) -> None:
    """Write the file of the workspace, atomically."""
    folder = stores.workspace.folder
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"version": VERSION, **asdict(ranking)}, ensure_ascii=False, indent=1) + "\n"
    write_files({folder / FILE: text.encode()})


def forget(stores: Stores) -> bool:
    """Delete the learned ranking; return whether there was one."""
    path = stores.workspace.folder / FILE
    had = path.exists()
    systems.remove_tree(path)
    return had


def _parsed(data: dict[str, Any]) -> LearnedRanking:
    """Return the model; raise :class:`ValueError`, :class:`TypeError` or :class:`KeyError` if it is something else."""
    if data["version"] != VERSION:
        raise ValueError(f"version {data['version']!r} instead of {VERSION}")
    examples = data["examples"]
    types = examples["types"]
    if len(examples["words"]) > _MAX_WORDS or len(types["words"]) > _MAX_WORDS:
        raise ValueError("too many words")
    counted = ExampleCounts(
        int(examples["queries"]),
        _numbers(examples["words"]),
        TypeExamples(_numbers(types["types"]), {str(word): _numbers(own) for word, own in types["words"].items()}),
    )
    if counted.queries < 1:
        raise ValueError("no examples")
    weights = _numbers(data["weights"], signed=True)
    if set(weights) != set(FEATURES):
        raise ValueError("other features")
    measured = _numbers({name: data[name] for name in ("before", "after", "low", "high", "penalty")}, signed=True)
    return LearnedRanking(str(data["schema"]), str(data["generation"]), weights, counted, **measured)


def _numbers(values: Mapping[str, Any], *, signed: bool = False) -> dict[str, float]:
    numbers = {str(name): float(value) for name, value in values.items()}
    if not all(math.isfinite(value) and abs(value) < 1e9 and (signed or value >= 0) for value in numbers.values()):
        raise ValueError("not a finite number in its range")
    return numbers


def rounded(ranking: LearnedRanking) -> LearnedRanking:
    """Return a model with weights of six digits, as it is written."""
    return replace(ranking, weights={name: float(f"{weight:.6g}") for name, weight in ranking.weights.items()})
