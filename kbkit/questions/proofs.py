"""Explain hits by the paths from the nodes that a question names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from kbkit.answers.session import Session
from kbkit.questions.link import Linked, Mention
from kbkit.questions.relational import Path, paths

if TYPE_CHECKING:
    from kbkit.stores.adjacency import Csr

Triple = tuple[int, str, int]


def explained(session: Session, linked: Linked, why: list[list[str]], frame: pl.DataFrame) -> pl.DataFrame:
    """Add the columns ``linked`` (the named nodes that reach the hit) and ``why`` (with the triples of the paths)."""
    ids = frame["id"].to_list()
    best = best_paths(session, linked, ids)
    proofs = [_proof(session, paths, node) for paths, node in zip(best, ids, strict=True)]
    starts = {path.start for paths in best for path in paths}
    names = _names(session, starts | {node for proof in proofs for head, _, tail in proof for node in (head, tail)})
    named = [[_named(linked.mentions[path.mention], names[path.start]) for path in paths] for paths in best]
    for reasons, proof in zip(why, proofs, strict=True):
        reasons += [f"{names[head][2]} -> [{relation}] -> {names[tail][2]}" for head, relation, tail in proof]
    return frame.with_columns(
        pl.Series("linked", named, dtype=pl.List(pl.String)), pl.Series("why", why, dtype=pl.List(pl.String))
    )


def _named(mention: Mention, node: tuple[str, str, str]) -> str:
    kind, key, name = node
    return f"{mention.text}: {name}  ({kind}#{key}, {mention.how})"


def best_paths(session: Session, linked: Linked, nodes: Sequence[int]) -> list[list[Path]]:
    """Return for each node the path of highest weight from each name in the question."""
    found = paths(session, linked)
    return [_best_paths(found, node) for node in nodes]


def _best_paths(found: Sequence[Path], node: int) -> list[Path]:
    best: dict[int, tuple[float, Path]] = {}
    for path in found:
        position = int(np.searchsorted(path.nodes, node))
        if position < len(path.nodes) and path.nodes[position] == node:
            weight = float(path.weights[position])
            if path.mention not in best or weight > best[path.mention][0]:
                best[path.mention] = (weight, path)
    return [best[mention][1] for mention in sorted(best)]


def _proof(session: Session, paths: Sequence[Path], node: int) -> list[Triple]:
    """Return the distinct triples of all paths to a node."""
    return list(dict.fromkeys(triple for path in paths for triple in _triples(session, path, node)))


def _triples(session: Session, path: Path, node: int) -> list[Triple]:
    """Return the edges of a path in their stored direction; a path of two steps goes through the first common node."""
    if not path.moves:
        return []
    (relation, forward), *rest = path.moves
    if not rest:
        return [_triple(path.start, relation, forward, node)]
    [(second, onwards)] = rest
    near: Csr = session.move(relation, forward)
    back: Csr = session.move(second, not onwards)
    between = int(np.intersect1d(near.neighbors(path.start), back.neighbors(node))[0])
    return [_triple(path.start, relation, forward, between), _triple(between, second, onwards, node)]


def _triple(before: int, relation: str, forward: bool, after: int) -> Triple:
    return (before, relation, after) if forward else (after, relation, before)


def _names(session: Session, ids: set[int]) -> dict[int, tuple[str, str, str]]:
    """Return the type, key and name of nodes by id."""
    return {node: (row.type, row.key, row.name) for node, row in session.stores.nodes.rows(list(ids)).items()}
