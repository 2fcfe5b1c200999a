"""Relevance labels by people: what raters see, their judgements, the commands in a terminal's place."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from kbkit.benchmarks.people.judgements import Judgement, append_judgements, ratings
from kbkit.benchmarks.quest import annotate
from kbkit.benchmarks.quest.dataset import QuestDataset
from kbkit.errors import BadInputError
from kbkit.kb import KnowledgeBase
from tests.benchmarks.quest import data as quest_data
from tests.conftest import Run
from tests.once import Once


@pytest.fixture
def folder(world: KnowledgeBase, once: Once, tmp_path: Path) -> Path:
    made = once("annotate/countries", lambda out: quest_data.write(world, out, 4))
    return shutil.copytree(made, tmp_path / "countries")


def test_raters_see_the_same_pairs(folder: Path) -> None:
    dataset = QuestDataset.open(folder)
    first = list(annotate.pairs(dataset, "test", 7, seed=1))
    assert first == list(annotate.pairs(dataset, "test", 7, seed=1))
    assert first != list(annotate.pairs(dataset, "test", 7, seed=2))
    everything = list(annotate.pairs(dataset, "test"))
    assert {(p.example.id, p.title) for p in everything} == {
        (example.id, title) for example in dataset.read("test") for title in example.docs
    }
    assert all(p.title in p.example.docs and p.sentences and p.phrases for p in everything)


def test_judgements_are_saved_at_once_and_resumed(here: Run, folder: Path) -> None:
    command = ("quest", "annotate", folder, "--rater", "ann", "-n", 3)
    one = here(*command, stdin="3\nc\n1\n0\nq\n")
    assert one.returncode == 0, one.stderr
    path = folder / "annotations" / "ann.jsonl"
    saved = path.read_bytes()
    files = annotate.rater_files(QuestDataset.open(folder))
    done = ratings(files.of("ann"), "relevance")
    assert done
    two = here(*command, stdin="9\nx\n2\np\n1\n1\n1\n0\nn\n0\nn\n0\nn\n")
    assert two.returncode == 0, two.stderr
    assert "Enter 0 definitely not relevant, 1 likely not relevant" in two.stdout
    assert path.read_bytes().startswith(saved)
    judged = ratings(files.of("ann"), "relevance")
    wanted = {(pair.example.id, pair.title): pair for pair in annotate.pairs(QuestDataset.open(folder), "test", 3)}
    assert list(judged) == list(wanted)
    assert list(judged)[: len(done)] == list(done)
    marks = [one for one in files.of("ann") if one.question.startswith("sentence for")]
    assert len(marks) > 1
    for one in marks:
        pair = wanted[one.item]  # type: ignore[index]
        assert one.mark in (*pair.sentences, "")
        assert one.question in [f"sentence for {phrase!r}" for phrase in pair.phrases]
    third = here(*command, stdin="")
    assert "0 judgements saved" in third.stderr


@pytest.mark.parametrize(
    ("item", "question", "mark"),
    [
        (("1",), "relevance", 3),
        (("1", "Chad"), "relevance", 7),
        (("1", "Chad"), "evidence", "much"),
        (("1", "Chad"), "sentence for 'x'", 2),
        (("1", "Chad"), "length", 2),
    ],
)
def test_judgements_that_no_rater_can_give(folder: Path, item: tuple[str, ...], question: str, mark: int | str) -> None:
    files = annotate.rater_files(QuestDataset.open(folder))
    append_judgements(files.path("ann"), [Judgement("ann", item, question, mark)])
    with pytest.raises(BadInputError, match="line 1"):
        files.of("ann")


def test_agreement_command(here: Run, folder: Path) -> None:
    rated = {"ann": (3, 3, 0, 1), "bob": (3, 2, 1, 2), "cleo": (3, 3, 1, 0)}
    files = annotate.rater_files(QuestDataset.open(folder))
    for rater, own in rated.items():
        given = [Judgement(rater, (str(number), "Chad"), "relevance", rating) for number, rating in enumerate(own)]
        append_judgements(files.path(rater), given)
    done = here("quest", "agreement", folder, "-f", "ndjson")
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["scale"], row["raters"]) for row in rows[:4]] == [
        ("relevant or not", raters) for raters in ("all", "ann, bob", "ann, cleo", "bob, cleo")
    ]
    assert rows[0]["agreement"] == 0.75  # all but the last pair, as the paper counts
    # Of 12 ratings 7 are relevant; the pairs of raters agree on 1, 1, 1 and 1/3.
    expected = (7 / 12) ** 2 + (5 / 12) ** 2
    assert rows[0]["kappa"] == pytest.approx((10 / 12 - expected) / (1 - expected))
    assert rows[4]["agreement"] == 0.25
    assert done.stderr == "ann: 4 judgements\nbob: 4 judgements\ncleo: 4 judgements\n"
    assert here("quest", "agreement", folder, "--raters", "ann").returncode == 1
