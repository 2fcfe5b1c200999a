"""The recipe `quest`: documents and categories, in the published formats, on invented content."""

from __future__ import annotations

import gzip
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import kbkit
from kbkit.answers import templates as catalogue
from kbkit.errors import BadInputError
from kbkit.kb import KnowledgeBase
from tests.conftest import Run
from tests.ingestion.test_recipes import assert_sound, content
from tests.kbs import mentions
from tests.places import TESTS
from tests.wording import Wording

SAMPLE = TESTS / "samples" / "quest"


@pytest.fixture(scope="module")
def quest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    with kbkit.ingest("quest", SAMPLE, out=tmp_path_factory.mktemp("quest") / "kb", stores=["adjacency"]) as kb:
        yield kb


def members(kb: KnowledgeBase) -> set[tuple[str, str]]:
    """Each document and its category."""
    return set(
        kb.sql(
            "SELECT d.key, c.key FROM in_category e JOIN nodes d ON d.id = e.head JOIN nodes c ON c.id = e.tail"
        ).rows()
    )


def test_documents_and_categories(quest: KnowledgeBase) -> None:
    assert_sound(quest)
    assert [(t.name, t.count) for t in quest.schema.node_types] == [("document", 7), ("category", 7)]
    assert quest.schema.candidate_types == ("document",)
    assert [(r.name, r.edges, [(s.head, s.tail) for s in r.signatures]) for r in quest.schema.relations] == [
        ("in_category", 8, [("document", "category")]),
        ("subcategory", 2, [("category", "category")]),
    ]
    # Documents in the order of their file, then the titles that have none; categories by name.
    assert quest.sql("SELECT key, domain FROM document ORDER BY id").rows() == [
        ("The Tin Comet", "films"),
        ("Moth Season", "books"),
        ("Saltmarsh Fern", "plants"),
        ("1984 in Moths", "films"),
        ("Grey Plover Lane", None),
        ("Lost Reel", "films"),
        ("Sea Kettle", "plants"),
    ]
    assert quest.sql("SELECT key, domain FROM category ORDER BY id").rows() == [
        ("1960s science fiction films", "films"),
        ("Coastal plants", "plants"),
        ("Films about moths", None),
        ("Films shot in Leeds", None),
        ("Lighthouse novels", None),
        ("Novels about moths", "books"),
        ("Works about moths", None),
    ]
    assert quest.node("Saltmarsh Fern").texts == [
        ("text", 'The saltmarsh fern grows on tidal flats of "the far coast".')
    ]
    assert [(f.name, f.texts) for f in quest.schema.text_fields] == [("text", 5)]


def test_members_come_from_atomic_queries_and_from_tables(quest: KnowledgeBase) -> None:
    assert members(quest) == {
        ("The Tin Comet", "1960s science fiction films"),  # a query
        ("1984 in Moths", "1960s science fiction films"),
        ("Saltmarsh Fern", "Coastal plants"),
        ("Sea Kettle", "Coastal plants"),
        ("Moth Season", "Novels about moths"),  # a query and the table
        ("Moth Season", "Lighthouse novels"),  # a list in the table
        ("The Tin Comet", "Films shot in Leeds"),  # the table: the query with `or` says nothing of one category
        ("1984 in Moths", "Films about moths"),
    }


def test_every_shipped_template_of_quest_resolves(quest: KnowledgeBase) -> None:
    templates = [t for t in catalogue.shipped() if t.id.startswith("quest/")]
    assert len(templates) == 7
    assert {t.id: catalogue.misfit(t, quest.schema) for t in templates} == {t.id: "" for t in templates}


def test_set_operations_over_categories(quest: KnowledgeBase) -> None:
    def answers(expression: str) -> set[str]:
        return set(quest.answers(expression).nodes()["name"])

    moths, leeds = 'category:"Films about moths" -> document', 'category:"Films shot in Leeds" -> document'
    sixties = 'category:"1960s science fiction films" -> document'
    assert answers(f"{moths} | {leeds}") == {"1984 in Moths", "The Tin Comet"}
    assert answers(f"({sixties}) - ({leeds})") == {"1984 in Moths"}
    below = 'category:"Works about moths" -> [subcategory*] -> category -> document'
    assert answers(below) == {"1984 in Moths", "Moth Season"}


def test_titles_without_a_document_may_be_skipped(tmp_path: Path) -> None:
    with kbkit.ingest("quest", SAMPLE, out=tmp_path / "kb", stores=["tables"], options={"missing": "skip"}) as kb:
        assert_sound(kb)
        assert kb.sql("SELECT key FROM document ORDER BY id")["key"].to_list() == [
            "The Tin Comet",
            "Moth Season",
            "Saltmarsh Fern",
            "1984 in Moths",
            "Grey Plover Lane",
        ]
        assert len(members(kb)) == 7
        assert ("Sea Kettle", "Coastal plants") not in members(kb)


def test_the_published_zip_and_gzipped_queries_give_the_same_kb(quest: KnowledgeBase, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "documents.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(SAMPLE / "documents.jsonl", "documents.jsonl")
    given = [tmp_path / "documents.zip"]
    for path in SAMPLE.iterdir():
        if path.name != "documents.jsonl":
            given.append(tmp_path / f"{path.name}.gz")
            given[-1].write_bytes(gzip.compress(path.read_bytes()))
    with kbkit.ingest("quest", *given, out=tmp_path / "kb", stores=["tables"]) as kb:
        assert content(kb) == content(quest)


def test_documents_alone_and_categories_as_json_lists(tmp_path: Path) -> None:
    shutil.copy(SAMPLE / "documents.jsonl", tmp_path)
    (tmp_path / "categories.jsonl").write_text(
        '{"title": "The Tin Comet", "categories": ["A", "B"]}\n{"title": "Moth Season", "categories": []}\n'
    )
    with kbkit.ingest("quest", tmp_path, out=tmp_path / "kb", stores=["tables"]) as kb:
        assert members(kb) == {("The Tin Comet", "A"), ("The Tin Comet", "B")}
        assert kb.schema.type("document").attributes == ()
    with kbkit.ingest("quest", tmp_path / "documents.jsonl", out=tmp_path / "alone", stores=["tables"]) as kb:
        assert [(t.name, t.count) for t in kb.schema.node_types] == [("document", 5)]
        assert kb.schema.edges == 0


def test_ratings_of_titles_that_differ_in_case_alone_are_no_trouble(tmp_path: Path, wording: Wording) -> None:
    shutil.copy(SAMPLE / "documents.jsonl", tmp_path)
    ratings = '{"template": "_", "domain": "films", "relevance_ratings": {"Foo": ["x"], "foo": ["y"]}}'
    line = f'{{"query": "q", "docs": ["foo", "Foo"], "original_query": "<mark>A</mark>", "metadata": {ratings}}}'
    (tmp_path / "train.jsonl").write_text(line + "\n\n")
    with kbkit.ingest("quest", tmp_path, out=tmp_path / "kb", stores=["tables"]) as kb:
        assert members(kb) == {("Foo", "A"), ("foo", "A")}
    for bad, what in (('{"docs": [}', "is not valid JSON"), ('{"docs": "Foo"}', "has no list of docs")):
        (tmp_path / "train.jsonl").write_text(f"{line}\n{bad}\n")
        with pytest.raises(BadInputError) as caught:
            kbkit.ingest("quest", tmp_path, out=tmp_path / "bad")
        wording(mentions(caught.value.message, f"train.jsonl | line 2 | {what}"), replace={str(tmp_path): "DIR"})


def test_bad_files_are_named(here: Run, tmp_path: Path, wording: Wording) -> None:
    bad = tmp_path / "documents.jsonl"
    bad.write_text('{"title": "A", "text": "a"}\n{"title": "B", "text": \n')
    done = here("ingest", "quest", bad, "-o", tmp_path / "kb")
    assert done.returncode == 1
    wording(mentions(done.stderr.splitlines()[-1], f"{bad}, line 2"), "cli", replace={str(tmp_path): "DIR"})
    bad.write_text('{"name": "A", "text": "a"}\n')
    with pytest.raises(BadInputError) as caught:
        kbkit.ingest("quest", bad, out=tmp_path / "kb")
    mentions(caught.value.message, f"{bad} | 'title'")
    mentions(caught.value.hint, 'name, text | columns={"title": "NAME"}')
    bad.write_text('{"title": "A", "text": "a"}\n{"title": "A", "text": "b"}\n')
    with pytest.raises(BadInputError) as caught:
        kbkit.ingest("quest", bad, out=tmp_path / "kb")
    mentions(str(caught.value), "document 'A' | merge_duplicates")
    with kbkit.ingest("quest", bad, out=tmp_path / "kb", stores=["tables"], merge_duplicates=True) as kb:
        assert kb.node("A").texts == [("text", "a"), ("text", "b")]
    with pytest.raises(BadInputError) as caught:
        kbkit.ingest("quest", SAMPLE / "train.jsonl", out=tmp_path / "other")
    wording(mentions(caught.value.message, "'documents'"), replace={str(tmp_path): "DIR"})


def test_the_folder_alone(tmp_path: Path) -> None:
    for name in ("documents.jsonl", "train.jsonl"):
        shutil.copy(SAMPLE / name, tmp_path)
    (tmp_path / "val.jsonl").touch()
    with kbkit.ingest(str(tmp_path), out=tmp_path / "kb", stores=["adjacency"]) as kb:
        assert kb.schema.candidate_types == ("document",)


def test_a_dataset_without_nodes(tmp_path: Path) -> None:
    (tmp_path / "dataset.json").write_text('{"made_by": "kbkit 0.1.0"}', encoding="utf-8", newline="\n")
    (tmp_path / "queries.jsonl").write_text('{"id": 1}\n', encoding="utf-8", newline="\n")
    with pytest.raises(BadInputError, match="is a dataset of questions"):
        kbkit.ingest(str(tmp_path), out=tmp_path / "kb")
