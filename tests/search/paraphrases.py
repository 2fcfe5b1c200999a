"""A KB and questions that share one word with their answers: full text finds nine nodes, training tells which.

A node is a pair of concepts in the words of texts; its question names one of them in a word of questions.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import kbkit

TEXT_WORDS = ["amber", "brook", "cedar", "dune", "ember", "fjord", "grove", "heath", "inlet", "jetty"]
QUESTION_WORDS = ["resin", "stream", "timber", "sand", "spark", "coast", "orchard", "moor", "cove", "pier"]
PAIRS = list(itertools.combinations(range(len(TEXT_WORDS)), 2))


def folder(place: Path) -> Path:
    """Write the KB and the questions to a folder, and return it."""
    build(place)
    questions(place)
    return place


def build(folder: Path) -> Path:
    """Build the KB; node ``pN`` is the N-th pair, and is linked to the next."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"p{number}" for number in range(len(PAIRS))]
    rows = [f"{name},place,{name}" for name in names]
    (folder / "nodes.csv").write_text("key,type,name\n" + "\n".join(rows) + "\n", encoding="utf-8", newline="\n")
    texts = [f"{name},{TEXT_WORDS[a]} and {TEXT_WORDS[b]}" for name, (a, b) in zip(names, PAIRS, strict=True)]
    (folder / "texts.csv").write_text("key,text\n" + "\n".join(texts) + "\n", encoding="utf-8", newline="\n")
    edges = [f"{a},next,{b}" for a, b in itertools.pairwise(names)]
    (folder / "edges.csv").write_text("head,relation,tail\n" + "\n".join(edges) + "\n", encoding="utf-8", newline="\n")
    stores = ("tables", "nodes", "text", "adjacency")
    kbkit.ingest("table", folder, out=folder / "places.kb", stores=stores).close()
    return folder / "places.kb"


def questions(folder: Path, every: int = 4) -> Path:
    """Write the questions to a file; one of ``every`` is for validation, the others are for training."""
    lines = [
        {
            "id": f"q{number}",
            "query": f"Where is {QUESTION_WORDS[a]} beside {TEXT_WORDS[b]}?",
            "relevant": [f"p{number}"],
            "split": "val" if number % every == 0 else "train",
        }
        for number, (a, b) in enumerate(PAIRS)
    ]
    path = folder / "questions.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8", newline="\n")
    return path
