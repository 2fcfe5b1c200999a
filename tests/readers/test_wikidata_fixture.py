"""The entities of tests/samples/wikidata: what the file holds, and what the converter makes of it.

The expected triples are written by hand from https://www.mediawiki.org/wiki/Wikibase/Indexing/RDF_Dump_Format and from
what Wikibase's own code does where that page is silent; blank nodes there stand for nodes whose IRI is a hash.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pyoxigraph as ox
import pytest

from kbkit.readers.wikidata.convert import convert
from kbkit.schema import Wikibase
from tests.loops import each
from tests.samples.wikidata import make

FOLDER = Path(make.__file__).parent
ENTITIES = [json.loads(line.removesuffix(",")) for line in make.FILE.read_text(encoding="utf-8").splitlines()[1:-1]]
IDS = {entity["id"] for entity in ENTITIES}
PARTS = {part["id"] for entity in ENTITIES for part in [*entity.get("forms", []), *entity.get("senses", [])]}
# Entities that a dump would hold and this one does not: presidents and relatives, Sumerian, a schema.
ABSENT = {"Q207", "Q22686", "Q2514", "Q118253", "Q468357", "Q920705", "E10"}
TWICE = {
    "wikibase-item", "wikibase-property", "wikibase-lexeme", "entity-schema", "time", "quantity", "globe-coordinate",
    "monolingualtext", "string", "external-id", "url", "commonsMedia", "geo-shape", "tabular-data", "math",
    "musical-notation",
}  # fmt: skip


def dictionaries(value: Any) -> Iterator[dict[str, Any]]:
    """All dictionaries in ``value``, at any depth."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from dictionaries(inner)


INNER = list(dictionaries(ENTITIES))
SNAKS = [inner for inner in INNER if "snaktype" in inner]
STATEMENTS = [inner for inner in INNER if "mainsnak" in inner]


# The file.


def test_the_file_is_what_make_writes() -> None:
    assert make.FILE.read_text(encoding="utf-8") == make.text()
    assert make.FILE.stat().st_size < 480_000


def test_the_file_is_an_array_with_an_entity_on_each_line() -> None:
    lines = make.FILE.read_text(encoding="utf-8").splitlines()
    assert (lines[0], lines[-1]) == ("[", "]")
    assert all(line.endswith("},") for line in lines[1:-2])
    assert lines[-2].endswith("}")
    assert [entity["id"] for entity in json.loads(make.FILE.read_bytes())] == [entity["id"] for entity in ENTITIES]
    assert len(IDS) == len(ENTITIES)
    assert {kind for kind, n in Counter(entity["type"] for entity in ENTITIES).items() if n > 1} == {
        "item", "property", "lexeme",
    }  # fmt: skip


def test_statements_have_ids_of_their_own() -> None:
    ids = [statement["id"] for statement in STATEMENTS]
    assert len(set(ids)) == len(ids) > 900
    for entity in ENTITIES:
        for statement in (one for listed in (entity["claims"] or {}).values() for one in listed):
            assert re.fullmatch(f"(?i:{entity['id']})\\$[0-9A-F-]{{36}}", statement["id"])


def test_every_property_used_is_an_entity_of_its_datatype() -> None:
    datatypes = {entity["id"]: entity["datatype"] for entity in ENTITIES if entity["type"] == "property"}
    assert {snak["property"] for snak in SNAKS} == set(datatypes)  # and none is there that nothing uses
    assert all(snak["datatype"] == datatypes[snak["property"]] for snak in SNAKS)


def test_links_lead_to_entities_of_the_file() -> None:
    entities = [snak["datavalue"]["value"] for snak in SNAKS if "entity-type" in str(snak.get("datavalue"))]
    linked = {value["id"] for value in entities if "id" in value}
    assert linked - IDS - PARTS <= ABSENT
    hubs = set(re.findall(r"wikidata.org/entity/(Q\d+)", json.dumps(SNAKS)))
    badges = {badge for inner in INNER for badge in inner.get("badges", []) if isinstance(badge, str)}
    assert hubs | badges <= IDS  # units, calendars, globes


def test_every_datatype_rank_and_kind_of_snak_occurs() -> None:
    datatypes = Counter(snak["datatype"] for snak in SNAKS if snak["snaktype"] == "value")
    assert {datatype for datatype, times in datatypes.items() if times >= 2} >= TWICE
    assert set(datatypes) == TWICE | {"wikibase-form", "wikibase-sense"}
    assert Counter(statement["rank"] for statement in STATEMENTS).keys() == {"preferred", "normal", "deprecated"}
    main = Counter(statement["mainsnak"]["snaktype"] for statement in STATEMENTS)
    inner = Counter(q["snaktype"] for one in STATEMENTS for qs in one.get("qualifiers", {}).values() for q in qs)
    assert main.keys() == inner.keys() == {"value", "novalue", "somevalue"}


def test_every_special_form_of_a_value_occurs() -> None:
    values = {kind: [] for kind in ("time", "quantity", "globecoordinate", "wikibase-entityid")}
    for data in (snak["datavalue"] for snak in SNAKS if "datavalue" in snak and snak["datavalue"]["type"] in values):
        values[data["type"]].append(data["value"])
    assert {value["precision"] for value in values["time"]} >= {3, 7, 8, 9, 10, 11}
    assert {value["calendarmodel"][-8:] for value in values["time"]} == {"Q1985727", "Q1985786"}
    assert any(value["time"].startswith("-") for value in values["time"])
    assert any(value["time"].startswith("+0000000") for value in values["time"])
    assert any(value["amount"].startswith("-") for value in values["quantity"])
    assert any("upperBound" in value for value in values["quantity"])
    assert any("." in value["amount"] for value in values["quantity"])
    assert any(value["unit"] == "1" for value in values["quantity"])
    assert {value["globe"].rpartition("/")[2] for value in values["globecoordinate"]} == {"Q2", "Q111", "Q405"}
    assert any(value["precision"] is None for value in values["globecoordinate"])
    assert any("id" not in value for value in values["wikibase-entityid"])
    assert any(len(one["references"][0]["snaks"]) > 1 for one in STATEMENTS if one.get("references"))


def test_terms_are_missing_here_and_there() -> None:
    labels = {entity["id"]: entity["labels"] for entity in ENTITIES if entity["type"] == "item"}
    assert labels["Q14623681"] == {}
    assert set(labels["Q14623683"]) == {"mul"}
    assert "fr" not in labels["Q123371"] and "en" in labels["Q123371"]
    assert next(entity for entity in ENTITIES if entity["id"] == "Q92741")["sitelinks"] == []  # as PHP writes it


# What the converter makes of it.


@pytest.fixture(scope="module")
def triples(tmp_path_factory: pytest.TempPathFactory) -> ox.Store:
    """What the converter says of the whole file in all languages, in memory."""
    folder = tmp_path_factory.mktemp("converted")
    options = {"language": "all", "triples": "yes", "sitelinks": "yes"}
    converted = convert([make.FILE], options, folder, lambda done, total: None)
    store = ox.Store()
    for path in converted.quads:
        store.load(gzip.decompress(Path(path).read_bytes()), ox.RdfFormat.N_TRIPLES)
    for path in converted.shared:
        lines = pyarrow.parquet.read_table(path)["line"].to_pylist()
        store.load("\n".join(line.rstrip("\n") for line in lines).encode(), ox.RdfFormat.N_TRIPLES)
    return store


def expected(name: str) -> list[ox.Triple]:
    text = (FOLDER / "expected" / f"{name}.ttl").read_bytes()
    return [ox.Triple(quad.subject, quad.predicate, quad.object) for quad in ox.parse(text, ox.RdfFormat.TURTLE)]


HASHED = {"value": Wikibase.PREFIXES["wdv"], "ref": Wikibase.PREFIXES["wdref"], "some": Wikibase.GENID}


def pattern(wanted: list[ox.Triple]) -> str:
    """A graph pattern with a variable for each blank node, bound to the namespace that its name says."""

    def term(node: Any) -> str:
        return f"?{node.value}" if isinstance(node, ox.BlankNode) else str(node)

    nodes = {node.value for triple in wanted for node in triple if isinstance(node, ox.BlankNode)}
    lines = [f"{term(triple.subject)} {triple.predicate} {term(triple.object)} ." for triple in wanted]
    for node in sorted(nodes):
        lines.append(f'FILTER(STRSTARTS(STR(?{node}), "{HASHED[node.rstrip("0123456789")]}"))')
    return "ASK { " + "\n".join(lines) + " }"


def bound(wanted: list[ox.Triple]) -> list[list[ox.Triple]]:
    """Triples that share blank nodes, together; a triple without any is alone."""
    groups: list[tuple[set[str], list[ox.Triple]]] = []
    for triple in wanted:
        nodes = {node.value for node in triple if isinstance(node, ox.BlankNode)}
        mine, others = (nodes, [triple]), []
        for group in groups:
            if group[0] & mine[0]:
                mine = (group[0] | mine[0], group[1] + mine[1])
            else:
                others.append(group)
        groups = [*others, mine]
    return [group for _, group in groups]


NAMES = sorted(path.stem for path in (FOLDER / "expected").glob("*.ttl"))


def test_expectations_are_about_statements_of_the_file() -> None:
    ids = {statement["id"].replace("$", "-") for statement in STATEMENTS}
    namespace = Wikibase.PREFIXES["wds"]
    named = {node.value for name in NAMES for triple in expected(name) for node in triple if hasattr(node, "value")}
    used = {value.removeprefix(namespace) for value in named if value.startswith(namespace)}
    assert used <= ids
    assert len(used) > 40


@pytest.mark.parametrize("name", NAMES)
def test_the_converter_says_what_is_expected(name: str, triples: ox.Store) -> None:
    missing = [group for group in bound(expected(name)) if not triples.query(pattern(group))]
    assert not missing, "\n\n".join("\n".join(map(str, group)) for group in missing)


def test_the_converter_says_no_more_of_a_statement(triples: ox.Store) -> None:
    """Statements whose rank is expected are expected in full, but for normalized values."""
    rank = ox.NamedNode(Wikibase.ONTOLOGY + "rank")
    files = [expected(name) for name in NAMES]
    ranked = [(wanted, {triple.subject for triple in wanted if triple.predicate == rank}) for wanted in files]
    for wanted, statement in each(((wanted, one) for wanted, some in ranked for one in some), 10):
        told = Counter(quad.predicate.value for quad in triples.quads_for_pattern(statement, None, None))
        hoped = Counter(triple.predicate.value for triple in wanted if triple.subject == statement)
        assert {p: n for p, n in told.items() if "normalized" not in p} == {
            p: n for p, n in hoped.items() if "normalized" not in p
        }


@pytest.mark.parametrize(
    "absent",
    [
        "wd:Q220 wdt:P571 ?any",  # deprecated, and nothing else
        "wd:Q513 wdt:P2044 ?any FILTER(?any < 8845)",  # a better one is there
        "wd:Q64 wdt:P1082 ?any FILTER(?any != 3755251)",
        "wd:Q7251 wdt:P26 ?any",  # none
        "wd:Q7251 ps:P26 ?any",
        "wd:Q220 p:P571/rdf:type wikibase:BestRank",
        "?any a wikibase:Statement",  # the query service leaves these types out
        "?any a wikibase:Reference",
        "wd:Q14623681 rdfs:label ?any",
        "?any ?says ?node FILTER(isBLANK(?node))",
        'wd:Q42 rdfs:label ?any FILTER(LANG(?any) = "")',
    ],
)
def test_the_converter_does_not_say(absent: str, triples: ox.Store) -> None:
    assert not triples.query("ASK { " + absent + " }", prefixes=Wikibase.PREFIXES)


# Queries over it.


def test_the_queries_name_entities_of_the_file() -> None:
    queries = json.loads((FOLDER / "queries.json").read_text(encoding="utf-8"))
    assert len({query["id"] for query in queries}) == len(queries) == 25
    for query in queries:
        assert query.keys() == {"id", "question", "sparql", "rows"}
        assert set(re.findall(r":([QP]\d+)\b", query["sparql"])) <= IDS
        assert len({len(row) for row in query["rows"]}) <= 1
        assert all(isinstance(value, str) for row in query["rows"] for value in row)
        assert "ORDER BY" in query["sparql"] or query["rows"] == sorted(query["rows"])
