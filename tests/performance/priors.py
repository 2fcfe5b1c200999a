"""Whether PageRank tells the nodes that questions are about from others better than the degree does.

``python -m tests.performance.priors``: for the answers of STaRK-Prime's subset, and for topics and answers of MetaQA's
development questions, the mean fraction of nodes of the same type that have a lower value (half of those with the same
one), with a 95% bootstrap interval of the difference. Names that several nodes of MetaQA share are left out.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence

import numpy as np
import scipy.sparse as sp

from tests.performance.question_sets import METAQA, PRIME

QUESTIONS, RESAMPLES, DAMPING = 1500, 1000, 0.85
Case = tuple[str, list[list[int]]]


def values(heads: Sequence[int], tails: Sequence[int], n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of neighbours and the PageRank of each node, in both directions."""
    pairs = np.r_[heads, tails], np.r_[tails, heads]
    matrix = sp.coo_matrix((np.ones(len(pairs[0])), pairs), (n, n)).tocsr()
    matrix.data[:] = 1
    degree = np.asarray(matrix.sum(1)).ravel()
    share = np.divide(1, degree, where=degree > 0, out=np.zeros(n))
    rank = np.full(n, 1 / n)
    for _ in range(100):
        before = rank
        rank = DAMPING * (matrix.T @ (before * share) + before[degree == 0].sum() / n) + (1 - DAMPING) / n
        if np.abs(rank - before).sum() < 1e-8:
            break
    return degree, rank


def below(value: np.ndarray, nodes: list[int], pool: np.ndarray) -> float:
    """Return the mean fraction of ``pool`` with a lower value than each of ``nodes``."""
    ordered, mine = np.sort(value[pool]), value[nodes]
    counts = np.searchsorted(ordered, mine, "left") + np.searchsorted(ordered, mine, "right")
    return float((counts / 2 / len(ordered)).mean())


def stark() -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, list[Case]]]:
    folder = PRIME
    lines = {n: (folder / n).read_text(encoding="utf-8").splitlines() for n in ("nodes.jsonl", "edges.tsv")}
    nodes = [json.loads(line) for line in lines["nodes.jsonl"]]
    number = {node["id"]: place for place, node in enumerate(nodes)}
    edges = [(int(line.split("\t")[0]), int(line.split("\t")[2])) for line in lines["edges.tsv"]]
    ends = np.array([(number[h], number[t]) for h, t in edges if h in number and t in number])
    questions = map(json.loads, (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines())
    golds = [[number[a] for a in question["answer_ids"] if a in number] for question in questions]
    cases = [("STaRK-Prime subset, answers", [gold for gold in golds if gold])]
    yield *values(ends[:, 0], ends[:, 1], len(nodes)), np.array([node["type"] for node in nodes]), cases


def metaqa() -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, list[Case]]]:
    folder = METAQA
    rows = [line.split("|") for line in (folder / "kb.txt").read_text(encoding="utf-8").splitlines()]
    ids: dict[tuple[str, str], int] = {}
    ends = np.array([
        (ids.setdefault(("film", film), len(ids)), ids.setdefault((relation, value), len(ids)))
        for film, relation, value in rows
    ])  # fmt: skip
    named: dict[str, list[int]] = {}
    for (_, name), node in ids.items():
        named.setdefault(name, []).append(node)
    single = {name: nodes[0] for name, nodes in named.items() if len(nodes) == 1}
    cases = []
    for hops in (1, 2, 3):
        topics, answers = [], []
        for line in (folder / f"{hops}hop_dev.txt").read_text(encoding="utf-8").splitlines():
            question, answer = line.split("\t")
            topic = re.search(r"\[(.*?)\]", question)
            topics.append([single[topic[1]]] if topic and topic[1] in single else [])
            answers.append([single[name] for name in answer.split("|") if name in single])
        drawn = random.Random(0)
        for what, golds in (("topics", topics), ("answers", answers)):
            kept = [gold for gold in golds if gold]
            cases.append((f"MetaQA, {hops} hops, {what}", drawn.sample(kept, QUESTIONS)))
    yield *values(ends[:, 0], ends[:, 1], len(ids)), np.array([kind for kind, _ in ids]), cases


def main() -> None:
    for degree, rank, types, cases in (*stark(), *metaqa()):
        pools = {kind: np.flatnonzero(types == kind) for kind in np.unique(types)}
        for what, golds in cases:
            same = [[node for node in gold if types[node] == types[gold[0]]] for gold in golds]
            found = np.array([[below(v, g, pools[types[g[0]]]) for v in (degree, rank)] for g in same])
            differences = found[:, 1] - found[:, 0]
            drawn = np.random.default_rng(0).integers(0, len(found), (RESAMPLES, len(found)))
            low, high = np.percentile(differences[drawn].mean(1), [2.5, 97.5])
            means = " ".join(
                f"{name} {mean:.3f}" for name, mean in zip(("degree", "PageRank"), found.mean(0), strict=True)
            )
            print(f"{what:<28} {len(found):>5} questions  {means}  difference {low:+.3f} to {high:+.3f}")


if __name__ == "__main__":
    main()
