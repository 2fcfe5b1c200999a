"""A KB of the Wikidata sample: types, relations, attributes, tables, search, and one meaning in all engines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import kbkit
from kbkit.directory.generations import KbDirectory
from kbkit.display.progress import Event
from kbkit.errors import InterruptedBuildError, KbError
from kbkit.kb import KnowledgeBase
from tests.conftest import Run
from tests.kbs import mentions
from tests.samples.wikidata import make
from tests.wording import Wording

SAMPLE = make.FILE
LIGHT = ("tables", "adjacency")


@pytest.fixture(scope="module")
def kb(wikidata_kb: Path) -> Iterator[KnowledgeBase]:
    with kbkit.open(wikidata_kb) as opened:
        yield opened


def keys(frame: pl.DataFrame) -> set[str]:
    return set(frame["key"])


def test_the_stores_agree(kb: KnowledgeBase) -> None:
    assert [problem for _, problem in kb.check() if problem] == []


def test_classes_and_occupations_are_types(kb: KnowledgeBase) -> None:
    adams = kb.node("Q42")
    assert (adams.type, adams.name) == ("human", "Douglas Adams")
    assert {"writer", "novelist"} <= set(adams.other_types)
    assert kb.schema.type("human").iri == "http://www.wikidata.org/entity/Q5"
    assert kb.node("P31").type == "property"
    humans = set(kb.sql("SELECT key FROM human")["key"])
    facts = json.loads(SAMPLE.read_text(encoding="utf-8"))
    expected = {
        e["id"]
        for e in facts
        for claim in e.get("claims", {}).get("P31", [])
        if claim["mainsnak"].get("datavalue", {}).get("value", {}).get("id") == "Q5" and claim["rank"] != "deprecated"
    }
    assert humans == expected
    assert len(humans) > 20


def test_properties_are_relations_and_attributes_with_labels(kb: KnowledgeBase) -> None:
    educated = kb.schema.relation("P69")
    assert (educated.label, educated.iri) == ("educated at", "http://www.wikidata.org/prop/direct/P69")
    attributes = {a.name: a for a in kb.schema.type("human").attributes}
    assert (attributes["P569"].label, attributes["P569"].type) == ("date of birth", "DATE")
    assert attributes["P2048"].type == "DOUBLE"
    assert str(kb.node("Q42").attributes["P569"]) == "1952-03-11"


@pytest.mark.parametrize(
    "expression",
    [
        'human:"Douglas Adams" -> [P69] -> *',
        "human{P569 < '1900-01-01'}",
        "* <- [P19] <- human",
        'human{key = "Q42"}',
        "(human -> [P27] -> sovereign_state) - (mountain -> [P17] -> sovereign_state)",
        "writer{P570 >= '1900-01-01'}",
        "film -> [!P57] -> human",
    ],
)
def test_answers_are_the_same_in_all_engines(kb: KnowledgeBase, expression: str) -> None:
    walked = kb.answers(expression).ids.tolist()
    assert walked
    assert kb.answers(expression, "sql").ids.tolist() == walked
    assert kb.answers(expression, "sparql").ids.tolist() == walked


def test_statements_hold_every_rank_and_edges_the_best(kb: KnowledgeBase) -> None:
    ranks = set(kb.sql("SELECT DISTINCT rank FROM statements")["rank"])
    assert ranks == {"preferred", "normal", "deprecated"}
    assert set(kb.sql("SELECT DISTINCT snak FROM statements")["snak"]) == {"value", "somevalue", "novalue"}
    best = kb.sql(
        "SELECT count(*) AS n FROM (SELECT DISTINCT subject, property, target FROM statements"
        " WHERE best AND target IS NOT NULL AND snak = 'value')"
    )["n"].item()
    assert best == kb.schema.edges
    truthy = kb.sparql(
        "SELECT (COUNT(*) AS ?n) { ?p wikibase:directClaim ?d . ?s ?d ?o FILTER(STRSTARTS(STR(?o), STR(wd:))) }"
    )
    assert truthy["n"].item() == best


def test_qualifiers_join_statements(kb: KnowledgeBase) -> None:
    rows = kb.sql(
        "SELECT q.value FROM statements s JOIN qualifiers q ON q.statement = s.id"
        " WHERE s.subject = 'Q42' AND s.property = 'P69' AND q.property = 'P582' ORDER BY q.value"
    )
    asked = kb.sparql("SELECT ?end { wd:Q42 p:P69/pq:P582 ?end } ORDER BY ?end")
    assert rows["value"].to_list() == asked["end"].to_list() != []


def test_references_are_those_of_sparql(kb: KnowledgeBase) -> None:
    rows = kb.sql(
        "SELECT DISTINCT subject, reference, property, target FROM reference_snaks"
        " WHERE target IS NOT NULL ORDER BY ALL"
    )
    asked = kb.sparql(
        "SELECT DISTINCT ?subject ?reference ?property ?target {"
        " ?subject ?p ?statement . ?statement prov:wasDerivedFrom ?reference ."
        " ?reference ?pr ?target . ?property wikibase:reference ?pr"
        " FILTER(STRSTARTS(STR(?target), STR(wd:))) } ORDER BY ?subject ?reference ?property ?target"
    )
    short = [tuple(value.rpartition("/")[2] for value in row) for row in asked.rows()]
    assert sorted(short) == rows.rows() != []
    titles = kb.sql(
        "SELECT DISTINCT r.value FROM statements s JOIN reference_snaks r ON r.statement = s.id"
        " WHERE s.subject = 'Q183' AND r.property = 'P1476' AND r.position = 1"
    )
    query = "SELECT DISTINCT ?title { wd:Q183 ?p ?s . ?s prov:wasDerivedFrom/pr:P1476 ?title }"
    assert kb.sparql(query)["title"].to_list() == titles["value"].to_list() != []


QUERIES = json.loads((Path(make.__file__).parent / "queries.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("query", QUERIES, ids=[query["id"] for query in QUERIES])
def test_queries_of_the_query_service_run_as_they_are(kb: KnowledgeBase, query: dict[str, Any]) -> None:
    """The rows were worked out by hand from the facts of the sample."""

    def text(value: object) -> str:
        return "" if value is None else f"{value:g}" if isinstance(value, float) and value < 1e6 else number(value)

    def number(value: object) -> str:
        return str(int(value)) if isinstance(value, float) else str(value)

    rows = [[text(value) for value in row] for row in kb.sparql(query["sparql"]).rows()]
    assert (rows if "ORDER BY" in query["sparql"] else sorted(rows)) == query["rows"]


def test_labels_aliases_and_descriptions_are_searched(kb: KnowledgeBase) -> None:
    assert kb.search("DNA", k=3, mode="bm25")["key"].to_list()[0] == "Q42"
    assert "Q42" in keys(kb.search("britischer Schriftsteller", k=5, mode="bm25", type="human"))


def test_entities_that_are_referred_to_are_nodes(kb: KnowledgeBase) -> None:
    known = set(kb.sql("SELECT key FROM nodes")["key"])
    targets = set(kb.sql("SELECT DISTINCT target FROM statements WHERE best AND target IS NOT NULL")["target"])
    assert targets <= known


def test_a_class_with_its_subclasses(tmp_path: Path) -> None:
    """Q6256 country has sovereign states below it in the sample."""
    options = {"class": "Q5", "references": "no"}
    with kbkit.ingest("wikidata", SAMPLE, out=tmp_path / "kb", options=options, stores=["tables"]) as kb:
        assert kb.sql("FROM reference_snaks").height == 0
        typed = kb.sql("SELECT DISTINCT type FROM nodes WHERE key IN (SELECT subject FROM statements)")
        assert set(typed["type"]) == {"human", "property"}
        assert kb.node("Q145").name == "United Kingdom"  # referred to: its terms come along
        assert kb.sql("SELECT count(*) AS n FROM statements WHERE subject = 'Q145'")["n"].item() == 0


def test_a_build_that_is_stopped_goes_on(tmp_path: Path, wording: Wording) -> None:
    def stop(event: Event) -> None:
        if (event.stage, event.done) == ("load", 1):
            raise KeyboardInterrupt

    out = tmp_path / "kb"
    with pytest.raises(InterruptedBuildError) as caught:
        kbkit.ingest("wikidata", SAMPLE, out=out, stores=["tables"], progress=stop)
    wording(str(caught.value))
    parts = sorted(KbDirectory(out).partial.rglob("*.parquet"))
    made = {path: path.stat().st_mtime_ns for path in parts}
    assert made
    after: dict[Path, int] = {}

    def look(event: Event) -> None:
        if (event.stage, event.done) == ("load", 1):
            after.update({path: path.stat().st_mtime_ns for path in parts})

    with kbkit.ingest("wikidata", SAMPLE, out=out, stores=["tables"], progress=look) as kb:
        assert kb.node("Q42").name == "Douglas Adams"
    assert after == made
    assert not KbDirectory(out).partial.exists()


def test_a_truncated_dump_leaves_nothing(tmp_path: Path, wording: Wording) -> None:
    broken = tmp_path / "dump.json"
    broken.write_bytes(SAMPLE.read_bytes()[:100_000])
    with pytest.raises(KbError) as caught:
        kbkit.ingest("wikidata", broken, out=tmp_path / "kb", stores=LIGHT)
    wording(mentions(str(caught.value), "dump.json"), replace={str(tmp_path): "DIR"})
    assert not (tmp_path / "kb").exists()


def test_options_of_a_recipe_are_flags(here: Run, tmp_path: Path, wording: Wording) -> None:
    chosen = ("--ids", "Q42,Q999999999", "--hops=1", "--stores", "tables")
    done = here("ingest", "wikidata", SAMPLE, *chosen, "-o", tmp_path / "kb")
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1].startswith("  1 ")  # an id that the dump does not have
    with kbkit.open(tmp_path / "kb") as kb:
        assert kb.sql("SELECT count(DISTINCT subject) AS n FROM statements")["n"].item() > 10
    done = here("ingest", "wikidata", SAMPLE, "--clas", "Q5", "-o", tmp_path / "other")
    mentions(done.stderr, "'--clas' | '--class'")
    done = here("ingest", "wikidata", SAMPLE, "--hops", "9", "-o", tmp_path / "other")
    wording(mentions(done.stderr, "'9' | 0 | 1 | 2 | 3"), "cli", replace={str(tmp_path): "DIR"})
    done = here("ingest", "world", "--dry-run")
    wording(mentions(done.stderr, "world | --dry-run"), "cli")


def test_bad_lines_are_skipped_on_request(here: Run, tmp_path: Path, wording: Wording) -> None:
    dump = tmp_path / "dump.jsonl"
    dump.write_text(f"{entity('Q1', 'one', P31='Q2')}\n{{\n{entity('Q2', 'two')}\nNaN\n", encoding="utf-8")
    command = ("ingest", "wikidata", dump, "--stores", "tables", "-o", tmp_path / "kb")
    wording(mentions(here(*command).stderr, "line 2 | --skip-bad-lines"), "cli", replace={str(tmp_path): "DIR"})
    done = here(*command, "--skip-bad-lines")
    assert done.returncode == 0, done.stderr
    wording("\n".join(done.stderr.splitlines()[-2:]), "cli")
    with kbkit.open(tmp_path / "kb") as kb:
        assert (kb.node("Q2").name, kb.manifest.report["bad_lines"]) == ("two", 2)
    switches = ("--triples", "no", "--external-ids", dump, "--skip-bad-lines=no")
    assert here("ingest", "wikidata", *switches, "-o", tmp_path / "other").returncode == 1


@pytest.mark.core
def test_a_dry_run_makes_nothing(here: Run, tmp_path: Path) -> None:
    done = here("ingest", "wikidata", SAMPLE, "--dry-run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "entities" in done.stdout
    assert list(tmp_path.iterdir()) == []


def entity(name: str, label: str = "", **statements: str) -> str:
    """A line of a dump: an entity with a label, and statements that lead to others."""
    claims = {
        prop: [
            {
                "id": f"{name}${prop}",
                "rank": "normal",
                "mainsnak": {
                    "snaktype": "value",
                    "property": prop,
                    "datatype": "wikibase-item",
                    "datavalue": {"type": "wikibase-entityid", "value": {"id": target}},
                },
            }
        ]
        for prop, target in statements.items()
    }
    kind = {"M": "mediainfo", "L": "lexeme"}.get(name[0], "item")
    labels = {"en": {"language": "en", "value": label}} if label else {}
    return json.dumps({"type": kind, "id": name, "labels": labels, "claims": claims})


def test_an_entity_keeps_its_kind_and_no_class_takes_the_name_of_one(tmp_path: Path) -> None:
    lines = [
        entity("M5", "picture"),
        entity("Q1", "one", P31="Q2", P6243="M5"),
        entity("Q2", "mediainfo"),
        entity("Q3", "three", P31="Q4"),
        entity("Q4", "Ж" * 240),
    ]
    dump = tmp_path / "dump.jsonl"
    dump.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with kbkit.ingest("wikidata", dump, out=tmp_path / "kb", stores=LIGHT) as kb:
        types = dict(kb.sql("SELECT key, type FROM nodes").rows())
        assert (types["M5"], types["Q1"], types["Q3"]) == ("mediainfo", "mediainfo_Q2", "Ж" * 50)
        kb.export("parquet", tmp_path / "out")  # a folder for each type: no name is too long


def test_media_files_of_commons(tmp_path: Path) -> None:
    """Entities as the API of Commons gives them, with titles; a dump has captions and statements alone."""
    depicts = json.loads(entity("M1", P180="Q1"))["claims"]
    for snak in depicts["P180"]:
        del snak["mainsnak"]["datatype"]  # Commons does not write it
    caption = {"en": {"language": "en", "value": "View of Trier"}, "de": {"language": "de", "value": "Ansicht"}}
    media = [
        {"pageid": 7, "title": "File:Trier 1572.jpg", "type": "mediainfo", "id": "M7", "labels": caption,
         "descriptions": [], "statements": depicts, "lastrevid": 3},
        {"title": "File:Tree.svg", "type": "mediainfo", "id": "M8", "labels": [], "statements": []},
        {"type": "mediainfo", "id": "M9", "labels": caption, "descriptions": {}, "statements": []},
    ]  # fmt: skip
    dump = tmp_path / "dump.jsonl"
    dump.write_text("\n".join(map(json.dumps, media)) + "\n", encoding="utf-8")
    with kbkit.ingest("wikidata", dump, out=tmp_path / "kb", stores=(*LIGHT, "triples")) as kb:
        named = {node.key: (node.type, node.name, list(node.aliases)) for node in map(kb.node, ("M7", "M8", "M9"))}
        assert named == {
            "M7": ("mediainfo", "View of Trier", ["Trier 1572.jpg"]),
            "M8": ("mediainfo", "Tree.svg", []),
            "M9": ("mediainfo", "View of Trier", []),
        }
        assert kb.answers("mediainfo#M7 -> [P180] -> *").nodes()["key"].to_list() == ["Q1"]
        asked = kb.sparql(
            "SELECT ?file ?page { ?file a schema:MediaObject ; wdt:P180 wd:Q1 ; schema:caption 'View of Trier'@en ."
            " ?page schema:about ?file ; schema:isPartOf <https://commons.wikimedia.org/> }"
        )
        page = "https://commons.wikimedia.org/wiki/File:Trier_1572.jpg"
        assert asked.rows() == [("http://www.wikidata.org/entity/M7", page)]
        assert [problem for _, problem in kb.check() if problem] == []
    selected = {"property": "P180", "triples": "no"}
    with kbkit.ingest("wikidata", dump, out=tmp_path / "other", options=selected, stores=LIGHT) as kb:
        assert set(kb.sql("SELECT key FROM nodes WHERE type = 'mediainfo'")["key"]) == {"M7"}


@pytest.mark.system
def test_an_export_keeps_statements(kb: KnowledgeBase, tmp_path: Path) -> None:
    kb.export("csv", tmp_path / "flat", flat=True)
    with kbkit.ingest(str(tmp_path / "flat"), out=tmp_path / "again", stores=("tables",)) as again:
        for table in ("statements", "qualifiers", "reference_snaks", "sitelinks"):
            count = f"SELECT count(*) AS n FROM {table}"
            assert again.sql(count)["n"].item() == kb.sql(count)["n"].item() > 0
        assert {a.name: a.label for a in again.schema.type("human").attributes}["P569"] == "date of birth"
    kb.export("parquet", tmp_path / "parts")
    assert pl.read_parquet(tmp_path / "parts" / "qualifiers" / "part-0.parquet").height > 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_types": "x"}, "'x'"),
        ({"hops": "1"}, "hops | class | property | ids"),
    ],
)
def test_options_are_read_before_the_dump(options: dict[str, str], said: str, tmp_path: Path, wording: Wording) -> None:
    with pytest.raises(KbError) as caught:
        kbkit.ingest("wikidata", SAMPLE, out=tmp_path / "kb", options=options, stores=LIGHT)
    wording(mentions(str(caught.value), said), replace={str(tmp_path): "DIR"})
    assert not (tmp_path / "kb").exists()
