"""Relevance labels by people: kappa against published figures, files of raters, the commands in a terminal's place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbkit.benchmarks.quest import annotate
from kbkit.benchmarks.quest.dataset import Dataset
from kbkit.errors import BadInputError, KbError, UnknownNameError
from kbkit.kb import KnowledgeBase
from kbkit.measures import agreement
from tests.benchmarks.quest import data as quest_data
from tests.conftest import Run

# Fleiss (1971) as in Wikipedia's example: ten subjects, fourteen raters, five categories, kappa 0.210.
FLEISS = [
    (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
    (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
]  # fmt: skip


def test_fleiss_of_a_published_example() -> None:
    rated = [[category for category, n in enumerate(counts) for _ in range(n)] for counts in FLEISS]
    raters = [{item: ratings[rater] for item, ratings in enumerate(rated)} for rater in range(14)]
    items, unanimous, kappa = agreement.fleiss(raters)
    assert (items, unanimous, kappa) == (10, 0.1, pytest.approx(0.20993, abs=1e-5))


def test_cohen_of_a_published_example() -> None:
    """Fifty applications, two readers: 20 yes by both, 15 no by both, 5 and 10 between; kappa is 0.4."""
    pairs = [(1, 1)] * 20 + [(1, 0)] * 5 + [(0, 1)] * 10 + [(0, 0)] * 15
    first, second = ({i: pair[side] for i, pair in enumerate(pairs)} for side in (0, 1))
    assert agreement.cohen(first, second) == (50, 0.7, pytest.approx(0.4))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30))
def test_bounds_of_kappa(pairs: list[tuple[int, int]]) -> None:
    first, second = ({i: pair[side] for i, pair in enumerate(pairs)} for side in (0, 1))
    same = all(a == b for a, b in pairs)
    for _, share, kappa in (agreement.cohen(first, second), agreement.fleiss([first, second])):
        assert share == sum(a == b for a, b in pairs) / len(pairs)
        assert kappa is None or (-1 <= kappa <= 1 and (kappa == pytest.approx(1)) == same)


def test_degenerate_agreement() -> None:
    assert agreement.cohen({1: 0}, {2: 0}) == (0, None, None)
    assert agreement.fleiss([{1: 3, 2: 3}, {1: 3, 2: 3}]) == (2, 1.0, None)  # nothing else was ever said
    with pytest.raises(KbError, match="two raters"):
        agreement.fleiss([{1: 3}])


@pytest.fixture
def folder(world: KnowledgeBase, tmp_path: Path) -> Path:
    return quest_data.write(world, tmp_path / "countries", 4)


def test_raters_see_the_same_pairs(folder: Path) -> None:
    dataset = Dataset.open(folder)
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
    done = annotate.files(Dataset.open(folder)).of("ann")
    assert done
    two = here(*command, stdin="9\nx\n2\np\n1\n1\n1\n0\nn\n0\nn\n0\nn\n")
    assert two.returncode == 0, two.stderr
    assert "Enter 0 definitely not relevant, 1 likely not relevant" in two.stdout
    assert path.read_bytes().startswith(saved)
    judged = annotate.files(Dataset.open(folder)).of("ann")
    assert len(judged) == 3
    assert list(judged)[: len(done)] == list(done)
    wanted = [(pair.example.id, pair.title) for pair in annotate.pairs(Dataset.open(folder), "test", 3)]
    assert list(judged) == wanted
    texts = {pair.title: pair.sentences for pair in annotate.pairs(Dataset.open(folder), "test", 3)}
    assert all(mark in texts[one.title] for one in judged.values() for mark in one.attributions.values())
    third = here(*command, stdin="")
    assert "0 judgements saved" in third.stderr


def test_half_a_line_of_a_killed_session_is_skipped(folder: Path) -> None:
    path = annotate.files(Dataset.open(folder)).path("ann")
    annotate.files(Dataset.open(folder)).append("ann", annotate.Judgement("1", "Chad", 3, "complete"))
    with path.open("a", encoding="utf-8") as file:
        file.write('{"query": "1", "ti')
    assert len(annotate.files(Dataset.open(folder)).of("ann")) == 1
    annotate.files(Dataset.open(folder)).append("ann", annotate.Judgement("2", "Chad", 0, "none"))
    assert [one.query for one in annotate.files(Dataset.open(folder)).of("ann").values()] == ["1", "2"]
    path.write_text('{"query": "1", "title": "Chad", "rating": 7, "evidence": "complete"}\n', encoding="utf-8")
    with pytest.raises(BadInputError, match="line 1"):
        annotate.files(Dataset.open(folder)).of("ann")
    with pytest.raises(KbError, match="Invalid rater"):
        annotate.files(Dataset.open(folder)).path("../ann")
    with pytest.raises(UnknownNameError):
        annotate.files(Dataset.open(folder)).all(["bob"])


def test_agreement_command(here: Run, folder: Path) -> None:
    ratings = {"ann": (3, 3, 0, 1), "bob": (3, 2, 1, 2), "cleo": (3, 3, 1, 0)}
    for rater, own in ratings.items():
        for number, rating in enumerate(own):
            annotate.files(Dataset.open(folder)).append(
                rater, annotate.Judgement(str(number), "Chad", rating, "partial")
            )
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
    assert here("quest", "agreement", folder, "--raters", "ann").returncode == 1
