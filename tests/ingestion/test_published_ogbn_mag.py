"""The recipe for ogbn-mag's published files: a sample in their format, numbered as STaRK does and as MAG does."""

from __future__ import annotations

import datetime
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import kbkit
from kbkit.errors import BadInputError
from kbkit.kb import KnowledgeBase
from tests.kbs import mentions
from tests.samples import ogbn_mag as sample
from tests.wording import Wording

FEW = ("tables",)
"""The stores that most tests can do with."""

Edge = tuple[str, str, str]


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder = sample.write(tmp_path_factory.mktemp("mag"))
    with kbkit.ingest("ogbn_mag", folder, out=tmp_path_factory.mktemp("kb") / "mag.kb", stores=["adjacency"]) as opened:
        yield opened


def edges(kb: KnowledgeBase) -> list[Edge]:
    rows = kb.sql("""SELECT h.key, relation, t.key AS key2 FROM edges
                     JOIN nodes h ON h.id = head JOIN nodes t ON t.id = tail""").rows()
    return sorted(rows)


def stark_numbers() -> dict[tuple[str, int], int]:
    """STaRK's numbers of (type, OGB's number), by its own steps in plain Python: what hangs on the papers that have
    texts, sorted by OGB's numbers, but papers by MAG's.
    """
    known = [key for key, _, _ in sample.TEXTS]
    papers = [sample.PAPERS.index(mag) for mag in sorted(known)]
    authors = sorted({a for a, p in sample.WRITES if p in papers})
    institutions = sorted({i for a, i in sample.AFFILIATED if a in authors})
    fields = sorted({f for p, f in sample.HAS_TOPIC if p in papers})
    numbers: dict[tuple[str, int], int] = {}
    for type_, remaining in (
        ("author", authors),
        ("institution", institutions),
        ("field_of_study", fields),
        ("paper", papers),
    ):
        for entity in remaining:
            numbers[type_, entity] = len(numbers)
    return numbers


def linked(keys: dict[tuple[str, int], str]) -> list[Edge]:
    """The sample's edges between the nodes that have keys."""
    ends = [
        ("author", "affiliated_with", "institution", sample.AFFILIATED),
        ("paper", "cites", "paper", sample.CITES),
        ("paper", "has_topic", "field_of_study", sample.HAS_TOPIC),
        ("author", "writes", "paper", sample.WRITES),
    ]
    return sorted(
        (keys[head, h], relation, keys[tail, t])
        for head, relation, tail, pairs in ends
        for h, t in pairs
        if (head, h) in keys and (tail, t) in keys
    )


def test_counts(kb: KnowledgeBase) -> None:
    assert [(what, problem) for what, problem in kb.check() if problem] == []
    assert [(t.name, t.count) for t in kb.schema.node_types] == [
        ("author", 3), ("institution", 2), ("field_of_study", 2), ("paper", 3),
    ]  # fmt: skip
    assert [(r.name, r.edges) for r in kb.schema.relations] == [
        ("affiliated_with", 3), ("writes", 4), ("cites", 3), ("has_topic", 4),
    ]  # fmt: skip
    assert kb.schema.candidate_types == ("paper",)


def test_keys_are_starks_numbers(kb: KnowledgeBase) -> None:
    numbers = stark_numbers()
    lists = {"author": sample.AUTHORS, "institution": sample.INSTITUTIONS, "field_of_study": sample.FIELDS}
    lists["paper"] = sample.PAPERS
    found = kb.sql("""SELECT type, key, mag_id FROM (
        SELECT 'author' AS type, key, mag_id FROM author UNION ALL SELECT 'institution', key, mag_id FROM institution
        UNION ALL SELECT 'field_of_study', key, mag_id FROM field_of_study
        UNION ALL SELECT 'paper', key, mag_id FROM paper) ORDER BY key::INT""").rows()
    assert found == [(type_, str(number), lists[type_][entity]) for (type_, entity), number in numbers.items()]
    # So that a node's id, its key and STaRK's number are one.
    assert kb.sql("SELECT count(*) FROM nodes WHERE id::VARCHAR <> key").item() == 0
    assert edges(kb) == linked({node: str(number) for node, number in numbers.items()})


def test_first_and_last_node(kb: KnowledgeBase) -> None:
    first, moss, last = kb.node(0), kb.node(7), kb.node(9)
    assert (first.reference, first.name) == ("author#0", "Ada Marsh")
    assert first.attributes == {"mag_id": 2500, "paper_count": 12, "citation_count": 340}
    assert (last.reference, last.name) == ("paper#9", "Bogs and fens, compared")
    assert last.texts == [("abstract", "We compare them.")]
    assert last.attributes["conference"] == "WetCon"
    assert "journal" not in last.attributes
    assert (moss.name, moss.texts) == ("Moss at night", [("abstract", 'It says "glow", and\nmeans it.')])
    assert moss.attributes == {
        "mag_id": 9100, "year": 2012, "date": datetime.date(2011, 4, 5), "citation_count": 17, "reference_count": 1,
        "document_type": "Journal", "doi": "10.1/moss", "venue": "J. Moss", "journal": "Moss Letters",
    }  # fmt: skip
    assert kb.node("paper#8").attributes == {"mag_id": 9200}  # its year is -1 in the file
    assert kb.node("paper#8").texts == []
    assert kb.node("field_of_study#5").attributes["level"] == 0
    assert kb.sql("SELECT count(*) FROM texts").item() == 2


def test_the_templates_of_the_paper_resolve_and_answer(kb: KnowledgeBase) -> None:
    fitting = kb.templates().filter("fits")["template"].to_list()
    assert len(fitting) == 7
    assert all(name.startswith("mag/") for name in fitting)
    answers = kb.answers('institution:"Moor College" -> author -> paper <- field_of_study:"Ecology"')
    assert sorted(answers.nodes()["key"].to_list()) == ["7", "9"]


def test_all_of_it_with_the_identifiers_of_mag(tmp_path: Path) -> None:
    folder = sample.write(tmp_path, texts=False, tables=False)
    # The two files of ogbn-papers100M instead: nothing escapes a quote there, and there are papers of no concern.
    titles = [(9100, '"Moss" at night'), (9200, '"On ""peat"""'), (123, "Not ours")]
    sample.write_rows(folder / "idx_title.tsv", titles, "\t")
    sample.write_rows(folder / "idx_abs.tsv", [(9300, "We compare them."), (123, "Not ours")], "\t")
    with kbkit.ingest("ogbn_mag", folder, out=tmp_path / "my.kb", options={"keys": "mag"}, stores=FEW) as kb:
        assert [(t.name, t.count) for t in kb.schema.node_types] == [
            ("author", 4), ("institution", 2), ("field_of_study", 3), ("paper", 4),
        ]  # fmt: skip
        lists = (("author", sample.AUTHORS), ("institution", sample.INSTITUTIONS), ("field_of_study", sample.FIELDS))
        keys = {(type_, i): str(mag) for type_, ids in (*lists, ("paper", sample.PAPERS)) for i, mag in enumerate(ids)}
        assert edges(kb) == linked(keys)
        assert kb.sql("SELECT key FROM nodes ORDER BY id")["key"].to_list() == list(keys.values())
        assert kb.sql("SELECT key, name, year FROM paper ORDER BY id").rows() == [
            ("9300", "9300", 2015), ("9100", '"Moss" at night', 2012), ("9200", 'On "peat"', None),
            ("9400", "9400", 2018),
        ]  # fmt: skip
        assert kb.node("paper#9300").texts == [("abstract", "We compare them.")]


def test_archives_and_an_edge_to_nowhere(tmp_path: Path, wording: Wording) -> None:
    folder = sample.write(tmp_path / "in", tables=False)
    path = folder / "mag/raw/relations/author___writes___paper/edge.csv.gz"
    sample.write_rows(path, [*sample.WRITES, (0, 77)], ",")
    with zipfile.ZipFile(tmp_path / "mag.zip", "w") as archive:
        for file in sorted((folder / "mag").rglob("*.gz")):
            archive.write(file, file.relative_to(folder))
    given = (tmp_path / "mag.zip", folder / "idx_title_abs.tsv")
    with pytest.raises(BadInputError) as caught:
        kbkit.ingest("ogbn_mag", *given, out=tmp_path / "my.kb")
    wording(mentions(str(caught.value), "1 | '0' | 'paper 77' | skip_dangling"), replace={str(tmp_path): "DIR"})
    with kbkit.ingest("ogbn_mag", *given, out=tmp_path / "my.kb", skip_dangling=True, stores=FEW) as kb:
        assert kb.schema.relation("writes").edges == 4


def test_starks_numbers_need_texts(tmp_path: Path, wording: Wording) -> None:
    sample.write(tmp_path, texts=False, tables=False)
    with pytest.raises(BadInputError) as caught:
        kbkit.ingest("ogbn_mag", tmp_path, out=tmp_path / "my.kb")
    wording(mentions(str(caught.value), "idx_title_abs.tsv | keys=mag"), replace={str(tmp_path): "DIR"})


def test_a_truncated_file(tmp_path: Path, wording: Wording) -> None:
    sample.write(tmp_path, tables=False)
    path = tmp_path / "mag/raw/relations/paper___cites___paper/edge.csv.gz"
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(BadInputError) as caught:
        kbkit.ingest("ogbn_mag", tmp_path, out=tmp_path / "my.kb")
    wording(mentions(str(caught.value), f"{path}"), replace={str(tmp_path): "DIR"})


def test_an_edge_file_of_three_columns(tmp_path: Path, wording: Wording) -> None:
    sample.write(tmp_path, tables=False)
    path = tmp_path / "mag/raw/relations/paper___cites___paper/edge.csv.gz"
    sample.write_rows(path, [(0, 1), (0, 1, 2)], ",")
    with pytest.raises(BadInputError) as caught:
        kbkit.ingest("ogbn_mag", tmp_path, out=tmp_path / "my.kb")
    wording(mentions(str(caught.value), f"{path} | line 2 | 3 | 2"), replace={str(tmp_path): "DIR"})


def test_a_missing_file(tmp_path: Path, wording: Wording) -> None:
    sample.write(tmp_path, tables=False)
    (tmp_path / "mag/mapping/author_entidx2name.csv.gz").unlink()
    with pytest.raises(BadInputError) as caught:
        kbkit.ingest("ogbn_mag", tmp_path, out=tmp_path / "my.kb")
    wording(mentions(str(caught.value), "'author_ids'"), replace={str(tmp_path): "DIR"})
