"""The recipe for PrimeKG's published files: a sample in their format with its counts pinned, and broken downloads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import kbkit
from kbkit.errors import BadInputError, UnknownNameError
from kbkit.kb import KnowledgeBase
from tests.kbs import mentions
from tests.samples import primekg as sample
from tests.wording import Wording

FEW = ("tables",)
"""The stores that most tests can do with."""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample.write(tmp_path_factory.mktemp("primekg"))


@pytest.fixture(scope="module")
def kb(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    with kbkit.ingest(
        "primekg", source, out=tmp_path_factory.mktemp("kb") / "primekg.kb", stores=["adjacency"]
    ) as opened:
        yield opened


def refusal(folder: Path, **options: object) -> str:
    """What the ingest of a folder is refused with, and that it leaves no KB."""
    out = folder / "out.kb"
    with pytest.raises(BadInputError) as caught:
        kbkit.ingest("primekg", folder, out=out, **options)  # type: ignore[arg-type]
    assert not out.exists()
    return str(caught.value)


def test_counts(kb: KnowledgeBase) -> None:
    assert [(what, problem) for what, problem in kb.check() if problem] == []
    assert [(t.name, t.count) for t in kb.schema.node_types] == [
        ("disease", 2), ("gene/protein", 2), ("molecular_function", 1), ("drug", 2), ("pathway", 2), ("anatomy", 1),
        ("effect/phenotype", 1), ("biological_process", 1), ("cellular_component", 1), ("exposure", 1),
    ]  # fmt: skip
    assert [(r.name, r.edges) for r in kb.schema.relations] == [
        ("associated with", 4), ("carrier", 4), ("contraindication", 2), ("enzyme", 2), ("expression absent", 2),
        ("expression present", 2), ("indication", 2), ("interacts with", 10), ("linked to", 2), ("off-label use", 2),
        ("parent-child", 4), ("phenotype absent", 2), ("phenotype present", 2), ("ppi", 2), ("side effect", 2),
        ("synergistic interaction", 2), ("target", 2), ("transporter", 2),
    ]  # fmt: skip
    assert kb.schema.edges == 2 * len(sample.EDGES)
    assert kb.schema.candidate_types == ()


def test_first_and_last_node(kb: KnowledgeBase) -> None:
    first, last = kb.node(0), kb.node(kb.schema.nodes - 1)
    assert (first.reference, first.name, first.aliases) == ("disease#4", "marsh fever", ["fen fever"])
    assert first.attributes == {"source_id": "77001_77002", "source": "MONDO_grouped"}
    assert (last.reference, last.name) == ("exposure#12", "Peat smoke")
    # PrimeKG's own identifier is that of a gene too.
    assert last.attributes == {"source_id": "9001", "source": "CTD"}
    assert kb.node("gene/protein#0").attributes == {"source_id": "9001", "source": "NCBI"}
    assert kb.node("pathway#11").name == 'The "peat" pathway'


def test_texts_are_the_distinct_cells_of_a_node(kb: KnowledgeBase) -> None:
    assert kb.node("disease#4").texts == [
        ("mayo_symptoms", "A blue tongue, among others."),
        ("mondo_definition", "A fever of marshes."),
        ("mondo_definition", "A fever of fens."),
        ("umls_description", "Fever in low country."),
    ]
    assert kb.node("drug#2").texts == [
        ("description", "Velorin calms the marsh."),
        ("group", "Velorin is approved."),
        ("group", "Velorin is experimental."),
        ("state", "Velorin is a solid."),
    ]
    assert kb.node("drug#3").texts == [
        ("clogp", "The log p value is 1.2."),
        ("description", 'Known as "the hydrate".\n\nIt dissolves.'),
    ]
    assert kb.sql("SELECT count(*) FROM texts").item() == 10


def test_every_edge_is_there_both_ways_as_on_disk(kb: KnowledgeBase) -> None:
    found = kb.sql("""SELECT h.key, relation, t.key AS key2 FROM edges
                      JOIN nodes h ON h.id = head JOIN nodes t ON t.id = tail""").rows()
    written = [(str(x), display, str(y)) for _, display, x, y in sample.EDGES]
    assert sorted(found) == sorted([*written, *((y, display, x) for x, display, y in written)])


def test_the_templates_of_the_paper_resolve_and_answer(kb: KnowledgeBase) -> None:
    fitting = kb.templates().filter("fits")["template"].to_list()
    assert len(fitting) == 28
    assert all(name.startswith("prime/") for name in fitting)
    answers = kb.answers("drug:<d1> -> [carrier] -> gene/protein <- [carrier] <- drug:<d2>", d1="#2", d2="#3")
    assert answers.nodes()["key"].to_list() == ["0"]


def test_fine_relations_and_no_features(tmp_path: Path) -> None:
    folder = sample.write(tmp_path, features=False)
    with kbkit.ingest("primekg", folder, out=tmp_path / "fine.kb", options={"relation": "fine"}, stores=FEW) as fine:
        assert {r.name for r in fine.schema.relations} == {relation for relation, *_ in sample.EDGES}
        # One drug is both carried by and aimed at one gene: two edges that only the attribute tells apart.
        relation = fine.schema.relation("drug_protein")
        assert (relation.edges, relation.pairs, [a.name for a in relation.attributes]) == (10, 8, ["display"])
        assert fine.schema.text_fields == ()
        assert fine.node("disease#4").aliases == []


def test_an_unknown_choice(source: Path, tmp_path: Path, wording: Wording) -> None:
    with pytest.raises(UnknownNameError) as caught:
        kbkit.ingest("primekg", source, out=tmp_path / "my.kb", options={"relation": "coarse"})
    wording(mentions(str(caught.value), "'coarse'"), replace={str(tmp_path): "DIR"})


def test_features_as_dataverse_converts_them(tmp_path: Path) -> None:
    sample.write(tmp_path, features=False)
    (tmp_path / "drug_features.tab").write_text('node_index\tstate\tgroup\n2\t"Velorin is\ta solid."\t\n3\t\tA drug.\n')
    with kbkit.ingest("primekg", tmp_path, out=tmp_path / "my.kb", stores=FEW) as kb:
        assert kb.node("drug#2").texts == [("state", "Velorin is\ta solid.")]
        assert kb.node("drug#3").texts == [("group", "A drug.")]


# -- broken downloads -------------------------------------------------------------------------------------------------


def cut(folder: Path, drop: int) -> Path:
    """The sample without the last ``drop`` bytes of kg.csv."""
    sample.write(folder)
    path = folder / "kg.csv"
    path.write_bytes(path.read_bytes()[:-drop])
    return path


def test_a_line_cut_between_fields(tmp_path: Path, wording: Wording) -> None:
    path = cut(tmp_path, len(",1,9002,gene/protein,ABX2,NCBI,7,55001,anatomy,left gill,UBERON\n") - 2)
    line = 2 * len(sample.EDGES) + 1
    wording(mentions(refusal(tmp_path), f"{path} | {line} | 3 | 12"), replace={str(tmp_path): "DIR"})


def test_a_line_cut_inside_its_last_field(tmp_path: Path, wording: Wording) -> None:
    cut(tmp_path, len("RON\n"))
    wording(mentions(refusal(tmp_path), "kg.csv | 7 | 2 | 55001"), replace={str(tmp_path): "DIR"})


@pytest.mark.parametrize(("index", "shown"), [("12.0", "'12.0'"), ("", "of nothing"), ("-1", "'-1'"), ("x", "'x'")])
def test_an_index_that_is_no_integer(tmp_path: Path, index: str, shown: str, wording: Wording) -> None:
    sample.write(tmp_path, features=False)
    rows = sample.kg_rows()
    rows[3][7] = index
    sample.write_rows(tmp_path / "kg.csv", sample.COLUMNS, rows)
    wording(mentions(refusal(tmp_path), f"kg.csv | line 5 | {shown}"), replace={str(tmp_path): "DIR"})


def test_another_table(tmp_path: Path, wording: Wording) -> None:
    (tmp_path / "kg.csv").write_text("head,relation,tail\na,b,c\n")
    wording(
        mentions(refusal(tmp_path), f"{tmp_path / 'kg.csv'} | 'display_relation' | columns="),
        replace={str(tmp_path): "DIR"},
    )


def test_features_of_unknown_nodes(tmp_path: Path, wording: Wording) -> None:
    sample.write(tmp_path)
    rows = [[77, "Of nothing", *[""] * 16], [2, "Of velorin", *[""] * 16]]
    sample.write_rows(tmp_path / "drug_features.csv", sample.DRUG_COLUMNS, rows)
    wording(mentions(refusal(tmp_path), "1 | '77' | skip_dangling"), replace={str(tmp_path): "DIR"})
    with kbkit.ingest("primekg", tmp_path, out=tmp_path / "my.kb", skip_dangling=True, stores=FEW) as kb:
        assert kb.node("drug#2").texts == [("description", "Of velorin")]
