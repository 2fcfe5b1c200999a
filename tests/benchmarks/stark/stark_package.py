"""Ask STaRK's own package: a script for a Python that has it, because it needs other versions of libraries than kbkit.

It reads a request as JSON from standard input and writes the reply as JSON: see ``REQUESTS``.
"""

from __future__ import annotations

import contextlib
import json
import sys
from typing import Any

with contextlib.redirect_stdout(sys.stderr):  # the package prints while it is imported, and while it loads
    import torch
    from stark_qa import load_skb
    from stark_qa.evaluator import Evaluator
    from stark_qa.retrieval import STaRKDataset
    from stark_qa.skb.knowledge_base import SKB
    from stark_qa.skb.prime import PrimeSKB
    from stark_qa.tools.io import load_files


class Local(STaRKDataset):  # type: ignore[misc]
    """The loader of questions without its download."""

    def _download(self) -> None: ...


def graph(processed: str) -> dict[str, Any]:
    """Return what the class SKB has of a graph."""
    skb = SKB(**load_files(processed), indirected=False)
    return {
        "nodes": [[n, skb.get_node_type_by_id(n), skb[n].id, skb[n].name] for n in range(len(skb))],
        "edges": [*skb.edge_index.tolist(), [skb.edge_type_dict[number] for number in skb.edge_types.tolist()]],
        "candidates": skb.candidate_ids,
        "neighbors": {name: skb.get_neighbor_nodes(0, name) for name in skb.rel_type_lst()},
    }


def documents(root: str, types: list[str]) -> dict[str, Any]:
    """Return the documents of the candidates, by a subclass of that for Prime."""
    skb = type("Own", (PrimeSKB,), {"candidate_types": types})(root=root, indirected=False)
    return {str(n): skb.get_doc_info(n, add_rel=True) for n in skb.candidate_ids}


def published(root: str, name: str) -> list[str]:
    """Return the documents of all candidates of a graph, by ``load_skb``."""
    skb = load_skb(name, root=root)
    return [skb.get_doc_info(n) for n in skb.candidate_ids]


def questions(folder: str, name: str, human: bool) -> dict[str, Any]:
    """Return the rows of a dataset, with the answers of each as a tensor, and its splits."""
    loaded = Local(name, folder, human_generated_eval=human)
    rows = [loaded[position] for position in range(len(loaded))]
    splits = loaded.get_idx_split()
    return {
        "rows": [[query, int(number), torch.LongTensor(answers).tolist()] for query, number, answers, _ in rows],
        "splits": {split: positions.tolist() for split, positions in splits.items()},
    }


def scores(cases: list[dict[str, Any]]) -> list[dict[str, float]]:
    """Return the scores of each case: ``candidates``, ``results`` (node, score) and ``answers``."""
    return [
        Evaluator(case["candidates"])(
            dict(case["results"]),
            torch.LongTensor(case["answers"]),
            ["hit@1", "hit@5", "recall@20", "mrr"],
        )
        for case in cases
    ]


REQUESTS = {"graph": graph, "documents": documents, "published": published, "questions": questions, "scores": scores}

if __name__ == "__main__":
    asked = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        reply = REQUESTS[asked.pop("request")](**asked)
    json.dump(reply, sys.stdout)
