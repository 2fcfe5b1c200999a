"""The recipes `kgx` and `hetionet`, in the published formats, on invented content."""

from __future__ import annotations

import gzip
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kbkit
from kbkit.errors import BadInputError
from kbkit.kb import KnowledgeBase
from tests.conftest import Run
from tests.ingestion.test_recipes import assert_sound, content
from tests.kbs import mentions
from tests.places import TESTS
from tests.wording import Wording

SAMPLES = TESTS / "samples"


def refused(recipe: str, *paths: Path, out: Path) -> tuple[str, str]:
    """Message and hint of a refused ingest."""
    with pytest.raises(BadInputError) as caught:
        kbkit.ingest(recipe, *paths, out=out)
    return caught.value.message, caught.value.hint


def tables_of(recipe: str, *paths: Path, out: Path, **options: Any) -> KnowledgeBase:
    """A KB without the other stores, which the KBs of the fixtures have."""
    return kbkit.ingest(recipe, *paths, out=out, stores=["tables"], **options)


def edges(kb: KnowledgeBase) -> list[tuple[Any, ...]]:
    """All edges by the keys of their ends, sorted."""
    return kb.sql(
        "SELECT h.key, e.relation, t.key FROM edges e JOIN nodes h ON h.id = e.head JOIN nodes t ON t.id = e.tail"
        " ORDER BY ALL"
    ).rows()


# -- hetionet ---------------------------------------------------------------------------------------------------------

HETIONET_NODES = [
    ("Gene", "Gene::101", "ABC1"),
    ("Gene", "Gene::102", "XYZ2"),
    ("Compound", "Compound::DB9", "Madeupine"),
    ("Disease", "Disease::DOID:7", "sample fever"),
    ("Biological Process", "Biological Process::GO:0000001", "sample folding"),
]
HETIONET_EDGES = [
    ("Compound::DB9", "binds", "Gene::102"),
    ("Compound::DB9", "treats", "Disease::DOID:7"),
    ("Gene::101", "interacts", "Gene::102"),
    ("Gene::101", "participates", "Biological Process::GO:0000001"),
    ("Gene::102", "interacts", "Gene::101"),
    ("Gene::102", "regulates", "Gene::101"),
]


@pytest.fixture(scope="module")
def hetionet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    with kbkit.ingest(
        "hetionet", SAMPLES / "hetionet", out=tmp_path_factory.mktemp("hetionet") / "kb", stores=["adjacency"]
    ) as kb:
        yield kb


def test_hetionet_from_tables(hetionet: KnowledgeBase) -> None:
    assert_sound(hetionet)
    assert hetionet.sql("SELECT type, key, name FROM nodes ORDER BY id").rows() == HETIONET_NODES
    assert edges(hetionet) == HETIONET_EDGES
    assert [r.name for r in hetionet.schema.relations if r.symmetric] == ["interacts"]
    assert hetionet.node("Gene::101").attributes == {"identifier": "101"}
    assert hetionet.node("Disease::DOID:7").attributes == {"identifier": "DOID:7"}
    assert hetionet.schema.text_fields == ()
    met = hetionet.answers('Compound:"Madeupine" -> [binds] -> Gene -> [interacts] -> Gene')
    assert met.nodes()["name"].to_list() == ["ABC1"]


def test_hetionet_from_json_says_the_same_with_properties(tmp_path: Path) -> None:
    with tables_of("hetionet", SAMPLES / "hetionet_json", out=tmp_path / "kb") as kb:
        assert_sound(kb)
        assert kb.sql("SELECT type, key, name FROM nodes ORDER BY id").rows() == HETIONET_NODES
        assert edges(kb) == HETIONET_EDGES
        first, last = kb.node(0), kb.node(4)
        assert first.attributes == {"identifier": "101", "source": "Sample", "chromosome": "17"}
        assert first.texts == [("description", "a made-up gene one")]
        assert last.attributes == {"identifier": "GO:0000001", "license": "CC BY 4.0"}
        assert kb.sql("SELECT z_score, unbiased FROM regulates").rows() == [(-4.156, True)]
        assert kb.sql('SELECT "affinity_nM", unbiased FROM binds').rows() == [(12, False)]
        assert kb.sql("SELECT sources FROM interacts ORDER BY head").rows() == [(["A", "B"],), (["A", "B"],)]


def test_hetionet_gzipped_and_zipped_with_its_descriptions_beside(hetionet: KnowledgeBase, tmp_path: Path) -> None:
    nodes, sif = (SAMPLES / "hetionet" / f"hetionet-sample-{name}" for name in ("nodes.tsv", "edges.sif"))
    (tmp_path / "hetionet-v1.0-edges.sif.gz").write_bytes(gzip.compress(sif.read_bytes()))
    with zipfile.ZipFile(tmp_path / "nodes.zip", "w") as archive:
        archive.write(nodes, "hetnet/tsv/hetionet-v1.0-nodes.tsv")
    given = [tmp_path / "nodes.zip", tmp_path / "hetionet-v1.0-edges.sif.gz"]
    with tables_of("hetionet", *given, out=tmp_path / "kb") as kb:
        assert content(kb) == content(hetionet)


def test_other_hetnets_name_their_metaedges_and_mirror_undirected_ones(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "nodes.tsv").write_text("id\tname\tkind\nTown::1\tA\tTown\nTown::2\tB\tTown\nRiver::1\tC\tRiver\n")
    (source / "edges.tsv").write_text(
        "source\tmetaedge\ttarget\nTown::1\tTnT\tTown::2\nTown::2\tTs>T\tTown::1\n"
        "Town::1\tTlR\tRiver::1\nTown::2\tTxR\tRiver::1\n"
    )
    (source / "metaedges.tsv").write_text(
        "metaedge\tabbreviation\tedges\nTown - neighbours - Town\tTnT\t1\nTown > supplies > Town\tTs>T\t1\n"
        "Town - lies on - River\tTlR\t1\n"
    )
    with tables_of("hetionet", source, out=tmp_path / "kb") as kb:
        assert_sound(kb)
        assert edges(kb) == [
            ("Town::1", "lies on", "River::1"),
            ("Town::1", "neighbours", "Town::2"),
            ("Town::2", "TxR", "River::1"),  # no name is known
            ("Town::2", "neighbours", "Town::1"),
            ("Town::2", "supplies", "Town::1"),
        ]


def test_hetionet_bad_input(tmp_path: Path, wording: Wording) -> None:
    nodes, sif = tmp_path / "x-nodes.tsv", tmp_path / "x-edges.sif"
    nodes.write_text("identifier\tname\tkind\nGene::1\tA\tGene\n")
    sif.write_text("source\tmetaedge\ttarget\nGene::1\tGiG\tGene::2\n")
    message, hint = refused("hetionet", nodes, sif, out=tmp_path / "kb")
    mentions(message, f"{nodes} | 'id'")
    mentions(hint, 'identifier, name, kind | columns={"id": "NAME"}')
    nodes.write_text("id\tname\tkind\nGene::1\tA\tGene\n")
    message, hint = refused("hetionet", nodes, sif, out=tmp_path / "kb")
    mentions(message, "1 edge | 'Gene::1' [interacts] 'Gene::2' (no 'Gene::2')")
    mentions(hint, "skip_dangling")
    with tables_of("hetionet", nodes, sif, out=tmp_path / "skipped", skip_dangling=True) as kb:
        assert (kb.schema.nodes, kb.schema.edges, kb.manifest.report["dangling_edges"]) == (1, 0, 1)
    sif.write_text("source\tmetaedge\ttarget\nGene::1\tGiG\n")
    message, _ = refused("hetionet", nodes, sif, out=tmp_path / "kb")
    wording(mentions(message, f"{sif} | line 2 | 2 | 3"), replace={str(tmp_path): "DIR"})
    graph = tmp_path / "hetionet-v1.0.json"
    graph.write_text('{"nodes": [],\n "edges": [}')
    message, _ = refused("hetionet", graph, out=tmp_path / "kb")
    mentions(message, f"JSON | {graph}")


# -- kgx --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kgx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    with kbkit.ingest("kgx", SAMPLES / "kgx", out=tmp_path_factory.mktemp("kgx") / "kb", stores=["adjacency"]) as kb:
        yield kb


def assert_kgx(kb: KnowledgeBase) -> None:
    assert_sound(kb)
    assert kb.sql("SELECT type, key, name, aliases FROM nodes ORDER BY id").rows() == [
        ("Gene", "EX:1", "ABC1", ["Alpha one", "A-1"]),
        ("Disease", "EX:2", "sample fever", None),
        ("SmallMolecule", "EX:3", 'Madeupine "forte"', None),
        ("entity", "EX:4", "untyped thing", None),
    ]
    assert kb.node("EX:1").other_types == ["BiologicalEntity", "NamedThing"]
    assert kb.node("EX:1").attributes == {
        "source_type": "SO:0000704",
        "xref": ["OTHER:7", "OTHER:8"],
        "provided_by": "infores:sample",
    }
    assert kb.node("EX:3").other_types == ["ChemicalEntity"]
    assert kb.sql("SELECT key, field, text FROM texts JOIN nodes USING (id) ORDER BY id").rows() == [
        ("EX:1", "description", "A gene made up for a test."),
        ("EX:3", "description", "Binds to nothing."),
    ]
    assert edges(kb) == [
        ("EX:1", "contributes_to", "EX:2"),
        ("EX:3", "made_up", "EX:4"),
        ("EX:3", "treats", "EX:2"),
    ]
    assert kb.sql(
        "SELECT id_, relation_term, category, publications, primary_knowledge_source, score FROM contributes_to"
    ).rows() == [
        ("uuid:1", "RO:0003304", "GeneToDiseaseAssociation", ["PMID:1", "PMID:2"], "infores:sample", 0.5),
    ]
    assert kb.sql("SELECT score FROM made_up").rows() == [(1.0,)]
    assert {r.name: r.iri for r in kb.schema.relations} == {
        "contributes_to": "https://w3id.org/biolink/vocab/contributes_to",
        "treats": "https://w3id.org/biolink/vocab/treats",
        "made_up": f"{kb.schema.base}rel/made_up",
    }
    assert kb.schema.type("Gene").iri == "https://w3id.org/biolink/vocab/Gene"


def test_kgx_tables(kgx: KnowledgeBase) -> None:
    assert_kgx(kgx)


def test_kgx_json(tmp_path: Path) -> None:
    with tables_of("kgx", SAMPLES / "kgx_json", out=tmp_path / "kb") as kb:
        assert_kgx(kb)


def test_kgx_json_lines_gzipped(tmp_path: Path) -> None:
    graph = json.loads((SAMPLES / "kgx_json" / "sample.json").read_text())
    source = tmp_path / "source"
    source.mkdir()
    for name, rows in graph.items():
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (source / f"sample_{name}.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    with tables_of("kgx", source, out=tmp_path / "kb") as kb:
        assert_kgx(kb)


def test_the_user_may_say_which_category_is_the_primary_type(tmp_path: Path) -> None:
    (tmp_path / "a_nodes.tsv").write_text(
        "id\tcategory\n1\tbiolink:Thing|biolink:Gene\n2\tbiolink:Protein|biolink:Thing\n"
        "3\tbiolink:Gene|biolink:Protein\n"
        "4\tbiolink:Gene\n"
    )
    (tmp_path / "a_edges.tsv").write_text("subject\tpredicate\tobject\n1\tbiolink:x\t2\n")
    for primary, types in {
        "first": ["Thing", "Protein", "Gene", "Gene"],
        "last": ["Gene", "Thing", "Protein", "Gene"],
        "rarest": ["Thing", "Protein", "Protein", "Gene"],  # Gene has 3 nodes, Protein and Thing 2: then by name
    }.items():
        out = tmp_path / f"{primary}.kb"
        with tables_of("kgx", tmp_path, out=out, options={"primary": primary}) as kb:
            assert kb.sql("SELECT type FROM nodes ORDER BY key")["type"].to_list() == types, primary


def test_kgx_bad_input(here: Run, tmp_path: Path) -> None:
    nodes, links = tmp_path / "a_nodes.tsv", tmp_path / "a_edges.tsv"
    nodes.write_text("id\tcategory\n1\tbiolink:Gene\n")
    links.write_text("subject\tpredicate\n1\tbiolink:x\n")
    message, hint = refused("kgx", nodes, links, out=tmp_path / "kb")
    mentions(message, f"{links} | 'object'")
    mentions(hint, 'subject, predicate | columns={"object": "NAME"}')
    links.write_text("subject\tpredicate\tobject\n1\tbiolink:x\t2\n")
    message, hint = refused("kgx", nodes, links, out=tmp_path / "kb")
    mentions(message, "1 edge | '1' [x] '2' (no '2')")
    mentions(hint, "skip_dangling")
    links.write_text("subject\tpredicate\tobject\n1\tbiolink:x\t1\n1\tbiolink:x\t1\textra\n")
    done = here("ingest", "kgx", nodes, links, "-o", tmp_path / "kb")
    assert done.returncode == 1
    mentions(done.stderr.splitlines()[-1], f"{links}, line 3 | 4 | 3")
    message, hint = refused("kgx", SAMPLES / "quest", out=tmp_path / "kb")
    mentions(message, "No node")
    mentions(hint, "kbkit recipe list")
