"""QUEST datasets as they are read and described: Tables 1 and 2 on a hand-made dataset and on the published form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kbkit.benchmarks.quest import stats
from kbkit.benchmarks.quest.dataset import QuestDataset, gold
from kbkit.errors import KbError
from tests.benchmarks.quest.data import lines
from tests.conftest import Run
from tests.places import TESTS
from tests.wording import Wording

SAMPLE = TESTS / "samples" / "quest"


def record(
    query: str, docs: list[str], template: str | None = "_", domain: str = "films", **more: Any
) -> dict[str, Any]:
    metadata = {"template": template, "domain": domain, **more.pop("metadata", {})}
    return {"query": query, "docs": docs, "original_query": "", "scores": None, "metadata": metadata, **more}


TRAIN = [
    record("films of Ann Lee", ["One", "Two", "Three"], id="a"),
    record("long or short films", ["One", "Four"], "_ or _", id="b"),
    record("sad films", ["One", "One"], id="c"),
]
TEST = [
    record(
        "books on moths that are not on bats",
        ["Moths", "Owls"],
        "_ that are not _",
        "books",
        id="d",
        metadata={
            "evidence_ratings": {"Moths": ["Complete", "partial"], "Owls": ["none"], "Elsewhere": ["complete"]},
            # The same words twice are marked once; "Owls" has nothing marked.
            "attributions": {
                "Moths": [{"moths": "all about moths", "bats": "no bat here at all"}, {"moths": "all about moths"}],
                "Owls": [{"moths": ""}],
            },
        },
    ),
    record("a synthetic query", ["Owls"], None, "books", id="e"),
]
DOCUMENTS = [
    {"title": "One", "text": "three words here", "type": "films", "key": "1"},
    {"title": "Two", "text": "", "type": "films", "key": "2"},
    {"title": "Moths", "text": "a b c d", "type": "books", "key": "3"},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines(tmp_path / "train.jsonl", TRAIN)
    lines(tmp_path / "test.jsonl", TEST)
    lines(tmp_path / "documents.jsonl", DOCUMENTS)
    return tmp_path


def test_queries_by_template_and_domain(folder: Path) -> None:
    found = stats.templates(QuestDataset.open(folder).read_all())
    assert found.rows() == [
        ("_", "films", 2, "sad films"),
        ("_ or _", "films", 1, "long or short films"),
        ("_ that are not _", "books", 1, "books on moths that are not on bats"),
        (None, "books", 1, "a synthetic query"),
        ("all", "all", 5, None),
    ]
    assert stats.templates(QuestDataset.open(folder).read_all("test"))["queries"].to_list() == [1, 1, 2]


def test_lengths_answers_and_evidence_by_domain(folder: Path) -> None:
    dataset = QuestDataset.open(folder)
    rows = {row.pop("domain"): row for row in stats.domains(dataset, dataset.read_all()).to_dicts()}
    assert list(rows) == ["books", "films", "all"]
    assert rows["films"] == {
        "queries": 3,
        "documents": 2,
        "query_words": (4 + 4 + 2) / 3,
        "doc_words": 1.5,
        "answers": (3 + 2 + 1) / 3,  # a title twice is one answer
        "complete": None,
        "partial": None,
        "attributed": None,
        "longest": None,
    }
    assert rows["books"] == {
        "queries": 2,
        "documents": 1,
        "query_words": (8 + 3) / 2,
        "doc_words": 4.0,
        "answers": 1.5,
        "complete": pytest.approx(1 / 3),  # of three ratings of answers; Elsewhere is none
        "partial": pytest.approx(1 / 3),
        "attributed": 3 + 5,
        "longest": 5,
    }
    assert (rows["all"]["queries"], rows["all"]["documents"], rows["all"]["doc_words"]) == (
        5,
        3,
        pytest.approx(7 / 3),
    )
    assert (rows["all"]["complete"], rows["all"]["longest"]) == (pytest.approx(1 / 3), 5)


def test_published_documents_have_no_domain() -> None:
    dataset = QuestDataset.open(SAMPLE)
    examples = dataset.read_all()
    assert [(e.id, e.split, e.domain, e.expression) for e in examples] == [
        ("Science fiction films of the sixties", "train", "films", None),
        ("films from Leeds or about moths", "train", "films", None),
        ("novels with moths", "val", "books", None),
        ("plants of the coast", "test", "plants", None),
    ]
    rows = {row["domain"]: row for row in stats.domains(dataset, examples).to_dicts()}
    assert {name: (row["queries"], row["documents"]) for name, row in rows.items()} == {
        "books": (1, None),
        "films": (2, None),
        "plants": (1, None),
        "all": (4, 5),
    }
    assert (rows["films"]["complete"], rows["films"]["attributed"]) == (1.0, 1.0)
    assert stats.remarks(dataset, examples) == [
        "documents.jsonl has no types, so documents are counted for all domains together"
    ]


def test_remarks_name_what_is_missing(folder: Path) -> None:
    (folder / "documents.jsonl").unlink()
    dataset = QuestDataset.open(folder)
    assert stats.remarks(dataset, dataset.read_all()) == [
        f"{folder} has no documents.jsonl, so documents are not counted",
        "Queries without a template: 1; the paper adds such queries for training (section 3.5)",
        f"{folder} has no val.jsonl",
    ]


def test_repeated_texts_are_numbered(tmp_path: Path) -> None:
    lines(tmp_path / "train.jsonl", [record("sad films", ["One"]), record("sad films", ["Two"])])
    examples = QuestDataset.open(tmp_path).read("train")
    assert [example.id for example in examples] == ["sad films", "sad films (2)"]
    assert gold(examples).judgements.rows() == [("sad films", "One", 1), ("sad films (2)", "Two", 1)]


def test_phrases_of_the_stages_come_before_those_of_queries(tmp_path: Path) -> None:
    lines(
        tmp_path / "test.jsonl",
        [record("q", [], categories=[{"phrase": "x", "expression": "b"}, {"phrase": "y", "expression": "c"}])],
    )
    (tmp_path / "stages").mkdir()
    lines(tmp_path / "stages" / "1_categories.jsonl", [{"settings": {}}, {"id": "1", "phrase": "x", "expression": "a"}])
    assert QuestDataset.open(tmp_path).phrases() == {"x": "a", "y": "c"}


# -- bad input --------------------------------------------------------------------------------------------------------


def test_no_dataset(tmp_path: Path) -> None:
    with pytest.raises(KbError, match=f"{tmp_path}/none"):
        QuestDataset.open(tmp_path / "none")
    with pytest.raises(KbError, match=r"train\.jsonl, val\.jsonl, test\.jsonl"):
        QuestDataset.open(tmp_path)


def test_missing_split(folder: Path) -> None:
    with pytest.raises(KbError, match=f"'val' in {folder}"):
        QuestDataset.open(folder).read("val")
    with pytest.raises(KbError, match="'dev'"):
        QuestDataset.open(folder).read("dev")


@pytest.mark.parametrize(
    "line",
    [
        "[]",
        "{",
        '{"docs": []}',
        '{"query": " ", "docs": []}',
        '{"query": "q"}',
        '{"query": "q", "docs": [1]}',
        '{"query": "q", "docs": [], "metadata": 3}',
        '{"query": "q", "docs": [], "metadata": {"template": 3}}',
        '{"query": "q", "docs": [], "expression": []}',
        '{"query": "q", "docs": [], "categories": [{"phrase": "x"}]}',
        '{"query": "q", "docs": [], "metadata": {"attributions": {"T": "x"}}}',
        '{"query": "q", "docs": [], "id": "a"}',
    ],
)
def test_invalid_records(folder: Path, line: str, wording: Wording) -> None:
    path = folder / "test.jsonl"
    path.write_text(json.dumps(TRAIN[0]) + "\n" + line + "\n", encoding="utf-8")
    with pytest.raises(KbError) as error:
        QuestDataset.open(folder).read("test")
    assert str(f"{path}") in str(error.value)
    wording(str(error.value))


@pytest.mark.parametrize(
    "text",
    [
        '{"title": "a", "text": "b"}\n{"title": "x"',
        '{"title": "a", "text": "b"}\n\n[1]\n',
    ],
)
def test_invalid_documents(folder: Path, text: str, wording: Wording) -> None:
    (folder / "documents.jsonl").write_text(text, encoding="utf-8")
    dataset = QuestDataset.open(folder)
    with pytest.raises(KbError) as caught:
        stats.domains(dataset, dataset.read_all())
    wording(str(caught.value))


def test_ids_are_distinct(tmp_path: Path) -> None:
    texts = ["a", "a", "a (2)", "a", "a (2)", "b"]
    lines(tmp_path / "test.jsonl", [record(text, ["One"]) for text in texts])
    examples = QuestDataset.open(tmp_path).read("test")
    assert [example.id for example in examples] == ["a", "a (3)", "a (2)", "a (4)", "a (2) (2)", "b"]
    assert [example.text for example in examples] == texts


def test_an_empty_file(folder: Path) -> None:
    (folder / "test.jsonl").write_text("\n", encoding="utf-8")
    with pytest.raises(KbError, match=r"test\.jsonl is empty"):
        QuestDataset.open(folder).read("test")


def test_a_split_without_queries_is_skipped(folder: Path) -> None:
    """A small dataset of quest make has a file of 0 bytes for it."""
    before = QuestDataset.open(folder)
    (folder / "val.jsonl").write_bytes(b"")
    opened = QuestDataset.open(folder)
    assert opened.splits == before.splits
    assert opened.read_all() == before.read_all()
    assert any("has no val.jsonl" in remark for remark in stats.remarks(opened, opened.read_all()))


# -- the command ------------------------------------------------------------------------------------------------------


@pytest.mark.core
def test_command_prints_one_table_or_both(here: Run, folder: Path) -> None:
    done = here("-q", "quest", "stats", folder, "--table", 1, "-f", "csv")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1] == "_,films,2,sad films"
    both = here("quest", "stats", folder, "-f", "ndjson")
    records = [json.loads(line) for line in both.stdout.splitlines()]
    assert [one["table"] for one in records] == [1] * 5 + [2] * 3
    assert "has no val.jsonl" in both.stderr
    printed = here("-q", "quest", "stats", folder).stdout
    assert printed.startswith("Table 1: queries by template and domain\n\ntemplate")
    assert "\n\nTable 2: by domain\n" in printed


def test_command_errors(here: Run, folder: Path, tmp_path: Path, wording: Wording) -> None:
    for arguments in (
        ("-o", tmp_path / "x.csv"),
        ("-f", "csv"),
        ("--table", 3),
    ):
        done = here("-q", "quest", "stats", folder, *arguments)
        assert (done.returncode, done.stdout) == (1, "")
        wording(done.stderr, "cli")
