"""The columns of RDF sources: the quads that they hold are those of the triplestore of the same KB."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyoxigraph as ox
import pytest

import kbkit
from kbkit.directory.manifest import Manifest
from kbkit.errors import DamagedError, KbError
from kbkit.ingestion.build import rebuild
from kbkit.kb import KnowledgeBase
from kbkit.stores import columns, columns_build
from tests.conftest import Run
from tests.wording import Wording

XSD = "http://www.w3.org/2001/XMLSchema#"
VALUES = {
    "integer": ["01", "+1", "-0", "0", "99999999999999999999", "abc", " 1 ", "1.0", ""],
    "decimal": ["1.50", "1", "+1.", "-.5", "1e3", "123456789012345678901234567890", "0.0000000000000000001", "-0.0"],
    "double": ["1e2", "INF", "-INF", "+INF", "NaN", "1.0", "0.1", "1E400", "x", "-0"],
    "float": ["1e2", "0.1", "INF", "16777217", "NaN"],
    "boolean": ["1", "0", "true", "TRUE", "yes"],
    "dateTime": [
        "2020-01-01T00:00:00.000Z", "2020-01-01T24:00:00", "2020-01-01T00:00:00+00:00", "2020-1-1",
        "-0043-01-01T00:00:00Z", "2020-02-30T00:00:00Z", "13798000000-01-01T00:00:00Z",
    ],
    "dateTimeStamp": ["2020-01-01T00:00:00+00:00", "2020-01-01T00:00:00"],
    "date": ["2020-01-01Z", "2020-01-01+00:00", "2020-01-01", "-0001-01-01", "0000-01-01"],
    "time": ["00:00:00.0", "24:00:00", "12:30:00-14:00"],
    "gYear": ["2020", "2020Z", "2020+00:00"],
    "gYearMonth": ["2020-01+00:00"],
    "gMonth": ["--01+00:00", "--13"],
    "gDay": ["---01+00:00"],
    "gMonthDay": ["--01-01+00:00"],
    "duration": ["P1Y", "P12M", "PT60S", "-P0D"],
    "dayTimeDuration": ["PT24H", "P1D", "P1M"],
    "yearMonthDuration": ["P12M", "P1D"],
    **{kind: ["007", "-5", "1000", "z"] for kind in ("int", "long", "short", "byte", "unsignedInt", "unsignedByte")},
    **{kind: ["01", "-01", "0"] for kind in ("nonNegativeInteger", "positiveInteger", "negativeInteger")},
    **{kind: ["", " a ", 'say \\"a\\"'] for kind in ("string", "normalizedString", "token", "anyURI", "Name")},
    "hexBinary": ["0a", "0A"],
    "base64Binary": ["YQ=="],
    "unknown": ["1", "01"],
}  # fmt: skip
TEXTS = [
    '""', '"a"', '"a"@en', '"a"@EN', '"a"@en-GB-x-private', '"a"@ar--rtl', '"@en"', '" "', '"a "@de', '"^^"', '"<a>"',
    r'"\""', r'"\\"', r'"\\\\n"', r'"\\\n"', r'"\\u0041"', r'"\u0041\U0001F600"', r'"\u0000\u0001\u007F\t\b\n\r\f\'"',
    r'"\" <http://e.org/g> ."', r'"\" _:b"@en', r'"ends in a \\"@en', r'"_:b1 ."', '"one <http://e.org/x>"@en',
    '"chat"^^<http://e.org/t>', '"CHAT"^^<http://e.org/T\\u00E9>',
    '"POINT( 1 2)"^^<http://www.opengis.net/ont/geosparql#wktLiteral>',
    '"<b>"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#HTML>', '"  \u0085 \u2028 \ufeff é e\u0301 \U0001f600 \uffff"',
    '"\t raw tab \x01 \x7f"', f'"1^^<{XSD}integer>"', rf'"\"^^<{XSD}integer>"',
    rf'"1\"^^<{XSD}integer"^^<{XSD}integer>',
]  # fmt: skip
IRIS = [
    "<http://e.org/a>", "<http://e.org/\\u00E9>", "<http://e.org/é>", "<urn:x>", "<http://e.org/a%20b>",
    "<http://e.org/a'b>", "<http://e.org/\U0001f600?q=1&a#f>", "_:b1", "_:b2", "<http://e.org/>",
]  # fmt: skip


def hostile() -> bytes:
    """N-Quads with every kind of term, in the default graph and in named ones."""
    objects = [*IRIS, *TEXTS, *(f'"{v}"^^<{XSD}{kind}>' for kind, values in VALUES.items() for v in values)]
    lines = []
    for number, value in enumerate(objects):
        subject, graph = IRIS[number % len(IRIS)], IRIS[number % 3]
        lines += [f"<http://e.org/s{number}> <http://e.org/p> {value} .", f"{subject} <http://e.org/q> {value} ."]
        lines += [
            f"<http://e.org/all> <http://e.org/p> {value} {graph} .",
            f"{subject} <http://e.org/r> {value} _:b1 .",
        ]
    return "".join(f"{line}\n" for line in lines).encode()


Quad = tuple[str, str, str, str]


def stored(kb: KnowledgeBase) -> Counter[Quad]:
    """Return the quads of the triplestore in the internal text of the columns, as the documentation has it."""

    def text(term: Any) -> str:
        match term:
            case ox.DefaultGraph():
                return ""
            case ox.NamedNode():
                return f"<{term.value}"
            case ox.BlankNode():
                return f"_{term.value}"
        if term.language:
            tag = f"@{term.language}{f'--{term.direction}' if term.direction else ''}"
        else:
            tag = "" if term.datatype.value == f"{XSD}string" else f"^{term.datatype.value}"
        return f'"{tag}"{term.value}'

    store = ox.Store.read_only(str(kb.folder / "triples"))
    return Counter(
        tuple(text(term) for term in (q.subject, q.predicate, q.object, q.graph_name))  # type: ignore[misc]
        for q in store
    )


def decoded(kb: KnowledgeBase, table: str = "quads") -> Counter[Quad]:
    """Return the quads of the columns."""
    assert kb.stores.columns.counts()["quads"]
    joins = " ".join(f"JOIN columns.terms {name} ON {name}.id = q.{name}" for name in "spog")
    return Counter(kb.tables.rows(f"SELECT s.term, p.term, o.term, g.term FROM columns.{table} q {joins}"))


def ingested(folder: Path, data: bytes, stores: Sequence[str] = ("triples", "columns"), name: str = "a.nq") -> Path:
    """Ingest RDF and return the KB."""
    (folder / name).write_bytes(data)
    kbkit.ingest("rdf", folder / name, out=folder / "a.kb", stores=stores).close()
    return folder / "a.kb"


def assert_same(kb: KnowledgeBase) -> Counter[Quad]:
    """The columns hold the quads of the triplestore, in both orders; returns them."""
    expected = stored(kb)
    for table in ("quads", "quads_by_object"):
        found = decoded(kb, table)
        assert found - expected == expected - found == Counter()
    return expected


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A KB of :func:`hostile` RDF; read it only."""
    return ingested(tmp_path_factory.mktemp("columns"), hostile())


@pytest.fixture
def copied(built: Path, tmp_path: Path) -> Path:
    """The same, for a test that changes it."""
    return Path(shutil.copytree(built, tmp_path / "copy.kb"))


def test_hostile_rdf_has_the_quads_of_the_triplestore(built: Path) -> None:
    with kbkit.open(built) as kb:
        expected = assert_same(kb)
        assert len(expected) > 1500
        assert kb.check() == [(what, "") for what in ("files", "tables", "nodes", "triples", "columns")]
        graphs = {graph for _, _, _, graph in expected}
        assert {"", "<http://e.org/a", "<urn:kbkit:tables"} < graphs


def test_literals_that_become_equal_are_one_term(built: Path) -> None:
    """Oxigraph stores 007 of xsd:int as the integer 7; invalid literals stay as written."""
    with kbkit.open(built) as kb:
        terms = {term for (term,) in kb.tables.rows("SELECT term FROM columns.terms WHERE term LIKE '\"^%'")}
        records = kb.manifest.stores
    assert {f'"^{XSD}integer"7', f'"^{XSD}int"z', f'"^{XSD}double"100', f'"^{XSD}boolean"true'} < terms
    assert terms.isdisjoint({f'"^{XSD}integer"007', f'"^{XSD}int"007', f'"^{XSD}double"1e2', f'"^{XSD}boolean"1'})
    assert records["triples"].counts["written"] > records["triples"].counts["triples"]


def test_a_term_is_found_by_its_text(built: Path) -> None:
    with kbkit.open(built) as kb:
        terms = dict(kb.tables.rows("SELECT term, id FROM columns.terms"))
        assert terms[""] == 0
        assert {term: kb.stores.columns.find(term) for term in terms} == terms
        for missing in ("<http://e.org/missing", '"', "a", "_", "\U0001ffff", '""a\\'):
            assert kb.stores.columns.find(missing) is None


@pytest.mark.parametrize(("chunk", "literals"), [(64, 7), (1, 1_000_000)])
def test_chunks_of_any_size_give_the_same_columns(
    copied: Path, monkeypatch: pytest.MonkeyPatch, chunk: int, literals: int
) -> None:
    """Lines and terms may span chunks."""
    monkeypatch.setattr(columns_build, "_CHUNK", chunk)
    monkeypatch.setattr(columns_build, "_LITERALS", literals)
    monkeypatch.setattr(columns_build, "LANDMARK", 5)
    monkeypatch.setattr(columns, "LANDMARK", 5)
    rebuild(copied, "columns")
    with kbkit.open(copied) as kb:
        assert_same(kb)
        assert kb.stores.columns.find("<http://e.org/all") is not None
        assert len(kb.tables.rows("FROM columns.landmarks")) > 50


def test_columns_do_not_need_the_triplestore(tmp_path: Path, here: Run) -> None:
    path = ingested(tmp_path, hostile(), ["columns"])
    with kbkit.open(path) as kb:
        assert not kb.has("triples")
        alone = decoded(kb)
        assert [what for what, _ in kb.check()] == ["files", "tables", "nodes", "columns"]
    done = here("build", path, "triples")
    assert done.returncode == 0, done.stderr
    with kbkit.open(path) as kb:
        assert alone == stored(kb)
        assert [problem for _, problem in kb.check()] == [""] * 5
        assert "columns" in [row["store"] for row in kb.info()["stores"]]


def test_statistics_count_values_by_predicate_and_graph(built: Path) -> None:
    with kbkit.open(built) as kb:
        found = kb.tables.rows(
            "SELECT p.term, g.term, quads, subjects, objects FROM columns.predicates x"
            " JOIN columns.terms p ON p.id = x.p JOIN columns.terms g ON g.id = x.g"
        )
        quads = stored(kb)
    expected = {}
    for p, g in {(p, g) for _, p, _, g in quads}:
        here = [(s, o) for s, other, o, graph in quads if (other, graph) == (p, g)]
        expected[p, g] = (len(here), len({s for s, _ in here}), len({o for _, o in here}))
    assert {(p, g): tuple(numbers) for p, g, *numbers in found} == expected


def test_a_wikidata_kb_has_columns(wikidata_kb: Path) -> None:
    with kbkit.open(wikidata_kb) as kb:
        assert len(assert_same(kb)) == kb.manifest.stores["columns"].counts["quads"]


def test_other_sources_have_no_columns(tiny_kb: Path, tmp_path: Path, here: Run, wording: Wording) -> None:
    """Their tables hold everything: what asks for the store succeeds, and rebuilding it says why not."""
    with kbkit.open(tiny_kb) as kb:
        assert not kb.has("columns")
        assert kb.stores.columns_file is None
    (tmp_path / "nodes.csv").write_text("key,type,name\na,person,Ada\n", encoding="utf-8")
    (tmp_path / "edges.csv").write_text("head,relation,tail\na,knows,a\n", encoding="utf-8")
    out = tmp_path / "t.kb"
    kbkit.ingest("table", tmp_path, out=out, stores=["columns"]).close()
    with kbkit.open(out) as kb:
        assert set(kb.manifest.stores) == {"tables", "nodes"}
    done = here("build", out, "columns")
    assert done.returncode == 1
    wording(done.stderr)


@pytest.mark.parametrize("store", ["columns", "triples"])
def test_damaged_quads_are_one_line_and_change_nothing(copied: Path, store: str) -> None:
    with kbkit.open(copied) as kb:
        source = kb.folder / "source" / "quads.nq.gz"
    before = sorted(path.name for path in (copied / "generations").iterdir())
    data = source.read_bytes()
    source.write_bytes(data[: len(data) // 2])
    with pytest.raises(DamagedError, match=r"quads\.nq\.gz is damaged: Compressed file ended"):
        rebuild(copied, store)
    assert sorted(path.name for path in (copied / "generations").iterdir()) == before


def test_stores_that_disagree_are_not_published(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        columns_build,
        "_canonicalize",
        lambda con: con.execute("CREATE TEMP TABLE canonical(raw VARCHAR, canonical VARCHAR)"),
    )
    with pytest.raises(KbError, match="Inconsistent stores: columns has"):
        rebuild(copied, "columns")


def altered(path: Path, statement: str) -> None:
    """Change the columns of a KB, with a manifest that fits."""
    with kbkit.open(path) as kb:
        folder, manifest = kb.folder, kb.manifest
    file = folder / columns.FILE
    con = duckdb.connect(str(file))
    con.execute(statement)
    con.close()
    manifest.files[columns.FILE]["bytes"] = file.stat().st_size
    manifest.write(folder)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("DELETE FROM quads WHERE rowid = 3", "quads: "),
        ("UPDATE quads SET o = 1_000_000 WHERE rowid = 3", "not in terms"),
        ("UPDATE quads SET s = 0 WHERE rowid = 3", "not in terms"),
        ("UPDATE quads_by_object SET g = 1 WHERE rowid = 3", "quads_by_object differs"),
        ("UPDATE terms SET term = 'zz' WHERE id = 5", "not in order"),
        ("UPDATE landmarks SET term = 'zz' WHERE id = 0", "landmarks"),
        ("UPDATE predicates SET objects = objects + 1", "predicates differ"),
    ],
)
def test_check_finds_what_is_wrong(copied: Path, statement: str, said: str) -> None:
    altered(copied, statement)
    with kbkit.open(copied) as kb:
        problems = dict(kb.check())
    assert said in problems.pop("columns")
    assert "columns.duckdb" in problems.pop("files")
    assert set(problems.values()) == {""}


@pytest.mark.parametrize(("size", "listed"), [(0, True), (100, False), (5000, True)])
def test_tables_work_although_the_columns_are_damaged(copied: Path, size: int, listed: bool) -> None:
    """The damage is found by its size, or by DuckDB if the manifest lists the size."""
    with kbkit.open(copied) as kb:
        folder = kb.folder
    file = folder / columns.FILE
    file.write_bytes(file.read_bytes()[:size] + b"x" * (not size))
    if listed:
        manifest = Manifest.read(folder)
        manifest.files[columns.FILE]["bytes"] = file.stat().st_size
        manifest.write(folder)
    with kbkit.open(copied) as kb:
        assert kb.sql("SELECT count(*) AS n FROM nodes")["n"][0] > 100
        with pytest.raises(DamagedError, match=r"columns\.duckdb is damaged") as caught:
            kb.stores.columns.counts()
        assert "build KB columns" in caught.value.hint
        assert "columns.duckdb is damaged" in dict(kb.check())["columns"]
    rebuild(copied, "columns")
    with kbkit.open(copied) as kb:
        assert [problem for _, problem in kb.check()] == [""] * 5


def test_sql_sees_the_columns_and_cannot_write_them(built: Path) -> None:
    with kbkit.open(built) as kb:
        assert kb.sql("SELECT term FROM columns.terms WHERE id = 0")["term"].to_list() == [""]
        for statement in ("DELETE FROM columns.terms", "DROP TABLE columns.terms", "DETACH columns"):
            with pytest.raises(KbError):
                kb.sql(statement)
        assert kb.stores.columns.counts()["terms"] > 100
