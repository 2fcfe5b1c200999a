"""Whether PageRank tells the nodes that questions are about from others better than the degree does.

``python -m tests.performance.priors``: for the answers of STaRK-Prime's subset, and for topics and answers of MetaQA's
development questions, the mean fraction of nodes of the same type that have a lower value (half of those with the same
one), with a 95% bootstrap interval of the difference. Names that several nodes of MetaQA share are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

import kbkit
from tests.performance.question_sets import METAQA, metaqa_kb, prime, prime_kb

QUESTIONS, RESAMPLES = 1500, 1000
VALUES = ("degree", "pagerank")


def places(path: Path, by: str) -> pl.DataFrame:
    """Return the column ``by`` of each node, if no other node has the same, and its place in its type by each value."""
    with kbkit.open(path) as kb:
        degree, rank = kb.graph.degree(), kb.graph.pagerank(direction="both")
    frame = degree.rename({"value": "degree"}).join(rank.select("id", pagerank="value"), on="id")
    place = [((pl.col(value).rank() - 0.5) / pl.len()).over("type") for value in VALUES]
    return frame.select(by, *place).filter(pl.col(by).is_unique())


def cases() -> Iterator[tuple[str, pl.DataFrame, list[list[str]]]]:
    """Yield the name of a set, the places of the nodes, and the nodes that each question is about."""
    yield (
        "STaRK-Prime subset, answers",
        places(prime_kb(), "key"),
        pl.concat(map(prime, ("train", "val")))["answers"].to_list(),
    )
    metaqa = places(metaqa_kb(typed=True), "name")
    for hops in (1, 2, 3):
        lines = (METAQA / f"{hops}hop_dev.txt").read_text(encoding="utf-8").splitlines()
        rows = [line.split("\t") for line in lines]
        yield f"MetaQA, {hops} hops, topics", metaqa, [re.findall(r"\[(.*?)\]", question) for question, _ in rows]
        yield f"MetaQA, {hops} hops, answers", metaqa, [answers.split("|") for _, answers in rows]


def main() -> None:
    for name, nodes, golds in cases():
        [by, *_] = nodes.columns
        about = pl.DataFrame({by: golds}).with_row_index("question").explode(by).join(nodes, on=by)
        means = about.group_by("question", maintain_order=True).agg(pl.mean(*VALUES)).drop("question")
        found = (means.sample(QUESTIONS, seed=0) if len(means) > QUESTIONS else means).to_numpy()
        drawn = np.random.default_rng(0).integers(0, len(found), (RESAMPLES, len(found)))
        low, high = np.percentile((found[:, 1] - found[:, 0])[drawn].mean(1), [2.5, 97.5])
        shown = " ".join(f"{value} {mean:.3f}" for value, mean in zip(VALUES, found.mean(0), strict=True))
        print(f"{name:<28} {len(found):>5} questions  {shown}  difference {low:+.3f} to {high:+.3f}")


if __name__ == "__main__":
    main()
