"""Files of kbkit against the rules of QUEST's own code (github.com/google-research/language, language/quest).

The record classes and the rules of ``common/example_utils.py``, ``common/document_utils.py``, ``eval/run_eval.py`` and
``eval/analyze_retriever.py`` are written again here, from their documentation and behaviour, because that code needs
TensorFlow to read a file.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbkit.benchmarks.quest import evaluate, run_files
from kbkit.benchmarks.quest.dataset import Example, gold
from kbkit.benchmarks.quest.evaluate import KS, ScoredSystem
from kbkit.benchmarks.quest.make import make
from kbkit.benchmarks.quest.settings import QuestSettings
from kbkit.kb import KnowledgeBase
from kbkit.measures.files import read_run
from kbkit.measures.formats import json_kind
from kbkit.measures.frames import RUN
from tests.benchmarks.quest import data as quest_data
from tests.conftest import Run


@dataclass
class TheirMetadata:
    """``ExampleMetadata``: any other key is an error."""

    template: str | None = None
    domain: str | None = None
    fluency: list[bool] | None = None
    meaning: list[bool] | None = None
    naturalness: list[bool] | None = None
    relevance_ratings: dict[str, list[Any]] | None = None
    evidence_ratings: dict[str, list[str]] | None = None
    attributions: dict[str, list[dict[str, str]]] | None = None


@dataclass
class TheirExample:
    """``Example``."""

    query: str
    docs: list[str]
    original_query: str | None = None
    scores: list[float] | None = None
    metadata: Any = None


@dataclass
class TheirDocument:
    """``Document``."""

    title: str
    text: str


def their_examples(path: Path) -> list[TheirExample]:
    """``read_examples``."""
    examples = [TheirExample(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    for example in examples:
        example.metadata = TheirMetadata(**example.metadata)
    return examples


def their_averages(answers: list[TheirExample], predictions: list[TheirExample]) -> tuple[float, float, float]:
    """``run_eval``: mean precision, recall and F1. All are 0 for a query without a true positive."""
    by_query = {one.query: one for one in predictions}
    values = []
    for one in answers:
        predicted, right = set(by_query[one.query].docs), set(one.docs)
        found = len(predicted & right)
        precision, recall = (found / len(predicted), found / len(right)) if found else (0.0, 0.0)
        values.append((precision, recall, 2 * precision * recall / (precision + recall) if found else 0.0))
    precision, recall, f1 = (sum(column) / len(values) for column in zip(*values, strict=True))
    return precision, recall, f1


def their_recalls(answers: list[TheirExample], predictions: list[TheirExample], k: int) -> tuple[float, float]:
    """``analyze_retriever``: mean recall and MRecall of the first ``k`` documents."""
    by_query = {one.query: one for one in predictions}
    shares = [len(set(one.docs) & set(by_query[one.query].docs[:k])) / len(set(one.docs)) for one in answers]
    return sum(shares) / len(shares), sum(share == 1 for share in shares) / len(shares)


TITLES = [f"Film {number}" for number in range(8)]
title_lists = st.lists(st.sampled_from(TITLES), unique=True, max_size=8)


@given(
    st.lists(st.tuples(title_lists.filter(bool), title_lists), min_size=1, max_size=6),
    st.booleans(),
)
@pytest.mark.core
def test_predictions_score_as_in_their_scripts(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[list[str], list[str]]], ranked: bool
) -> None:
    """Random answers and predictions, empty ones too, written by kbkit: the same figures by their rules and by ours."""
    folder = tmp_path_factory.mktemp("runs")
    examples = [
        Example(str(i), f"query {i}", tuple(docs), "test", "<mark>q</mark>", "_", "films")
        for i, (docs, _) in enumerate(pairs)
    ]
    rows = [(str(i), title, -float(rank)) for i, (_, found) in enumerate(pairs) for rank, title in enumerate(found)]
    system = ScoredSystem("s", pl.DataFrame(rows, schema=RUN, orient="row"), ranked, k=1000 if ranked else 0)
    path = quest_data.write_system(system, examples, folder)
    answers = [TheirExample(one.text, list(one.docs), metadata=TheirMetadata("_")) for one in examples]
    theirs = their_examples(path)
    assert len(theirs) == len(examples)
    again = run_files.read_system(path, examples)
    assert (again.ranked, again.k) == (ranked, system.k)
    third = evaluate.average_scores([again], gold(examples))
    assert third.select("precision", "recall", "f1").row(0) == pytest.approx(their_averages(answers, theirs))
    if ranked:
        fourth = evaluate.recalls([again], gold(examples)).row(0, named=True)
        for k in KS:
            assert (fourth[f"recall@{k}"], fourth[f"mrecall@{k}"]) == pytest.approx(their_recalls(answers, theirs, k))


def test_repeated_texts_survive(tmp_path: Path) -> None:
    """Their scripts know a query by its text; beside the file, kbkit keeps the ids of queries with the same text."""
    examples = [Example(name, "twice", ("a",), "test") for name in ("1", "2")]
    rows = [("1", "a", -1.0), ("2", "b", -1.0), ("2", "a", -2.0)]
    system = ScoredSystem("s", pl.DataFrame(rows, schema=RUN, orient="row"), ranked=False)
    path = quest_data.write_system(system, examples, tmp_path)
    assert [one.docs for one in their_examples(path)] == [["a"], ["b", "a"]]
    assert run_files.read_system(path, examples).run.select("query", "node").rows() == [row[:2] for row in rows]


def test_datasets_load_in_their_classes(world: KnowledgeBase, tmp_path: Path) -> None:
    settings = QuestSettings(("country", "sea"), count=42, seed=3, scale=True, augmented=20)
    make(world, tmp_path / "made", settings)
    titles = {
        TheirDocument(**json.loads(line)).title
        for line in (tmp_path / "made" / "documents.jsonl").read_text(encoding="utf-8").splitlines()
    }
    parts = {
        name: their_examples(tmp_path / "made" / f"{name}.jsonl") for name in ("train", "val", "test", "augmented")
    }
    assert [len(parts[name]) for name in ("train", "val", "test", "augmented")] == [14, 4, 18, 20]
    for name, examples in parts.items():
        for one in examples:
            assert one.docs and set(one.docs) <= titles
            assert one.scores is None
            assert (one.original_query is None) == (one.metadata.template is None) == (name == "augmented")


def test_runs_of_the_command_load_and_score(here: Run, world_kb: Path, world: KnowledgeBase, tmp_path: Path) -> None:
    """The whole command: each file it writes has their keys, and eval prints their figures."""
    folder = quest_data.write(world, tmp_path / "countries", 6)
    for path in folder.glob("t*.jsonl"):
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        quest_data.lines(path, [{name: line[name] for name in asdict(TheirExample("", []))} for line in lines])
    options = ("-m", "bm25", "-k", 30, "--no-parsed", "--classifier", "none")
    assert here("quest", "run", world_kb, folder, "-o", tmp_path / "runs", *options).returncode == 0
    file = tmp_path / "runs" / "bm25.jsonl"
    printed = here("-q", "quest", "eval", folder, file, "--table", 3, "-f", "ndjson").stdout
    row = json.loads(printed)
    expected = their_averages(their_examples(folder / "test.jsonl"), their_examples(file))
    assert (row["precision"], row["recall"], row["f1"]) == pytest.approx(expected)
    fourth = json.loads(here("-q", "quest", "eval", folder, file, "--table", 4, "-f", "ndjson").stdout)
    wanted = their_recalls(their_examples(folder / "test.jsonl"), their_examples(file), 20)
    assert (fourth["recall@20"], fourth["mrecall@20"]) == pytest.approx(wanted)
    assert json_kind(file, file.read_bytes()) == "run"
    measured = here("-q", "measure", "sets", file, folder / "test.jsonl", "-f", "ndjson")
    assert measured.returncode == 0, measured.stderr
    assert read_run(file).height


def test_runs_named_by_text_are_measured_on_datasets_with_ids(
    here: Run, world_kb: Path, world: KnowledgeBase, tmp_path: Path
) -> None:
    make(world, tmp_path / "made", QuestSettings(("country",), count=14, seed=3, scale=True))
    options = ("-m", "bm25", "--no-parsed", "--classifier", "none")
    assert here("quest", "run", world_kb, tmp_path / "made", "-o", tmp_path / "runs", *options).returncode == 0
    test, run = tmp_path / "made" / "test.jsonl", tmp_path / "runs" / "bm25.jsonl"
    measured = here("-q", "measure", "sets", run, test, "-f", "ndjson")
    assert measured.returncode == 0, measured.stderr
    printed = here("-q", "quest", "eval", tmp_path / "made", run, "--table", 3, "-f", "ndjson")
    means = {name: json.loads(measured.stdout)[name] for name in ("recall", "f1")}
    assert means == pytest.approx({name: json.loads(printed.stdout)[name] for name in ("recall", "f1")})
