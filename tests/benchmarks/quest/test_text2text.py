"""QUEST's classifier end to end: a tiny T5 is trained on a dataset, its threshold is tuned, and it filters candidates.

It needs the extra ``train``.
"""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest

from kbkit.kb import KnowledgeBase
from kbkit.search.training import fit
from tests.benchmarks.quest import data as quest_data
from tests.conftest import Run
from tests.console import good

pytestmark = pytest.mark.system

FAST = ("--length", "32", "--rate", "2e-3", "--negatives", "2", "--positives", "2", "--epochs", "2")


def test_a_classifier_is_trained_tuned_and_run(world: KnowledgeBase, world_kb: Path, here: Run, tmp_path: Path) -> None:
    missing = [name for name in fit.PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}; they come with the extra train")
    dataset, model, out = quest_data.write(world, tmp_path / "countries", 6), tmp_path / "model", tmp_path / "runs"
    good(here("train", "text2text", world_kb, dataset, "-o", model, *FAST), None)
    options = ("-m", "bm25", "-k", 20, "--no-parsed", "--classifier", f"text2text:{model}", "-f", "ndjson")
    done = here("quest", "run", world_kb, dataset, "-o", out, *options)
    rows = [json.loads(line) for line in good(done, None).splitlines()]
    assert [row["system"] for row in rows if row["table"] == 3] == ["bm25", "bm25+text2text"]
    found = re.search(r"bm25\+text2text: threshold ([0-9.e-]+), the best average F1", done.stderr)
    assert found is not None
    # The accepted documents are candidates, and a threshold that fits no query but the best keeps some of them.
    ranked, kept = (
        [json.loads(line) for line in (out / f"{name}.jsonl").open()] for name in ("bm25", "bm25+text2text")
    )
    assert all(set(own["docs"]) <= set(one["docs"]) for one, own in zip(ranked, kept, strict=True))
    assert 0 < sum(len(own["docs"]) for own in kept) <= sum(len(one["docs"]) for one in ranked)
    assert 0 < float(found[1]) < 1
