"""Clients of Wikidata by others, unchanged but for the address, against the server of a KB."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.places import ROOT

pytest.importorskip("starlette")
pytest.importorskip("rdflib", reason="rdflib is not installed")
pytest.importorskip("SPARQLWrapper", reason="SPARQLWrapper is not installed")

from tests.web.test_serve import serving

pytestmark = [
    pytest.mark.system,
    pytest.mark.filterwarnings("ignore::DeprecationWarning:rdflib", "ignore::DeprecationWarning:SPARQLWrapper"),
]
FILMS = "SELECT ?x { ?x wdt:P31 wd:Q11424 } ORDER BY ?x LIMIT 2"
FOUND = ["http://www.wikidata.org/entity/Q103474", "http://www.wikidata.org/entity/Q104123"]
WD, WDT = "http://www.wikidata.org/entity/", "http://www.wikidata.org/prop/direct/"


@pytest.fixture(scope="module")
def address(wikidata_kb: Path) -> Iterator[str]:
    with serving(wikidata_kb, 20) as (url, _):
        yield url


@pytest.fixture(scope="module")
def source() -> dict[str, Any]:
    lines = (ROOT / "ingest" / "wikidata" / "sample" / "entities.json").read_text(encoding="utf-8").split("\n")
    entities = (json.loads(line.rstrip(",")) for line in lines if line.startswith("{"))
    return {one["id"]: one for one in entities if one["id"][0] in "QPL"}


def test_qwikidata(address: str, source: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    linked = pytest.importorskip("qwikidata.linked_data_interface", reason="qwikidata is not installed")
    from qwikidata import entity, sparql

    def get(key: str) -> Any:
        return linked.get_entity_dict_from_api(key, base_url=f"{address}/wiki/Special:EntityData")

    adams = entity.WikidataItem(get("Q42"))
    assert (adams.get_label(), adams.get_enwiki_title(), adams.get_label("de")) == ("Douglas Adams",) * 3
    schools = adams.get_truthy_claim_group("P69")
    assert {claim.mainsnak.datavalue.value["id"] for claim in schools} == {"Q691283", "Q4961791"}
    food = entity.WikidataLexeme(get("L4082"))
    assert food.get_lemma("en") == "food" and [form.form_id for form in food.get_forms()][2] == "L4082-F3"
    kinds = {"Q": entity.WikidataItem, "P": entity.WikidataProperty, "L": entity.WikidataLexeme}
    count = 0
    for key, one in source.items():
        groups = kinds[key[0]](get(key)).get_claim_groups()
        assert {name: len(group) for name, group in groups.items()} == {n: len(c) for n, c in one["claims"].items()}
        count += sum(len(str(claim.mainsnak)) > 0 for group in groups.values() for claim in group)
    assert count > 900
    with pytest.raises(linked.LdiResponseNotOk, match="lacks Q99999999"):
        get("Q99999999")
    results = sparql.return_sparql_query_results(FILMS, f"{address}/sparql")["results"]["bindings"]
    assert [row["x"]["value"] for row in results] == FOUND
    monkeypatch.setattr(sparql.return_sparql_query_results, "__defaults__", (f"{address}/sparql",))
    assert {"Q901", "Q169470"} <= set(sparql.get_subclasses_of_item("Q901"))


def test_wikibaseintegrator(address: str, source: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    library = pytest.importorskip("wikibaseintegrator", reason="wikibaseintegrator is not installed")
    from wikibaseintegrator import datatypes, wbi_helpers
    from wikibaseintegrator.wbi_config import config
    from wikibaseintegrator.wbi_exceptions import MissingEntityException
    from wikibaseintegrator.wbi_fastrun import FastRunContainer

    own = {"MEDIAWIKI_API_URL": f"{address}/w/api.php", "SPARQL_ENDPOINT_URL": f"{address}/sparql", "USER_AGENT": "t"}
    for name, value in own.items():
        monkeypatch.setitem(config, name, value)
    reader = library.WikibaseIntegrator()
    readers = {"Q": reader.item, "P": reader.property, "L": reader.lexeme}
    differences, count = [], 0
    for key, one in source.items():
        served = readers[key[0]].get(key).get_json()["claims"]
        expected = readers[key[0]].from_json({"pageid": 0, "ns": 0, "title": key, "modified": "", **one}).get_json()
        wanted = {claim["id"]: plain(claim) for claims in expected["claims"].values() for claim in claims}
        got = {claim["id"]: plain(claim) for claims in served.values() for claim in claims}
        assert got.keys() == wanted.keys()
        differences += [name for name in wanted if got[name] != wanted[name]]
        count += len(wanted)
    # Two coordinates without a precision, for which RDF has the usual one; one id and one year in an old notation.
    assert count > 900 and len(differences) <= 4
    food = reader.lexeme.get("L4082")
    assert (food.lemmas.get("en").value, food.language, food.lexical_category) == ("food", "Q1860", "Q1084")
    with pytest.raises(MissingEntityException):
        reader.item.get("Q99999999")
    assert wbi_helpers.search_entities("Douglas Ad")[0] == "Q42"
    assert wbi_helpers.search_entities("educated", search_type="property") == ["P69"]
    assert wbi_helpers.fulltext_search("science fiction", max_results=3)[0]["title"] == "Q42"
    instances = wbi_helpers.generate_entity_instances(["Q42", "P69"])
    assert [(key, one.type) for key, one in instances] == [("Q42", "item"), ("P69", "property")]
    results = wbi_helpers.execute_sparql_query(FILMS, max_retries=1)["results"]["bindings"]
    assert [row["x"]["value"] for row in results] == FOUND
    people = FastRunContainer(
        datatypes.basedatatype.BaseDataType, base_filter=[datatypes.Item(prop_nr="P31", value="Q5")]
    )
    assert people.get_items([datatypes.Item(prop_nr="P69", value="Q691283")]) == {"Q42"}
    assert people.get_language_data("Q42", "en", "aliases") >= {"DNA"}
    monkeypatch.setitem(config, "WIKIBASE_URL", address)
    assert "wd:Q42 wdt:P69" in wbi_helpers.download_entity_ttl("Q42").replace(";\n\t", "")


def plain(value: Any) -> Any:
    """Return a part of an entity without hashes."""
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items() if name != "hash"}
    return [plain(part) for part in value] if isinstance(value, list) else value


def test_sparqlwrapper(address: str) -> None:
    wrapper = pytest.importorskip("SPARQLWrapper")
    for method, way in ((wrapper.GET, wrapper.URLENCODED), (wrapper.POST, wrapper.POSTDIRECTLY)):
        for path in ("/sparql", "/bigdata/namespace/wdq/sparql"):
            asked = wrapper.SPARQLWrapper(address + path, agent="test", returnFormat=wrapper.JSON)
            asked.setMethod(method)
            asked.setRequestMethod(way)
            asked.setQuery(FILMS)
            assert [row["x"]["value"] for row in asked.queryAndConvert()["results"]["bindings"]] == FOUND
    bindings = wrapper.SPARQLWrapper2(f"{address}/sparql")
    bindings.setQuery(FILMS)
    assert [row["x"].value for row in bindings.query().bindings] == FOUND
    asked.setQuery("SELECT ?x { ?x wdt:P31")
    with pytest.raises(wrapper.SPARQLExceptions.QueryBadFormed, match="Unexpected end of the query"):
        asked.query()


def test_rdflib(address: str) -> None:
    import rdflib
    from rdflib.plugins.stores.sparqlstore import SPARQLStore

    graph = rdflib.Graph(store=SPARQLStore(f"{address}/sparql"))
    adams, educated = rdflib.URIRef(f"{WD}Q42"), rdflib.URIRef(f"{WDT}P69")
    schools = {rdflib.URIRef(f"{WD}Q691283"), rdflib.URIRef(f"{WD}Q4961791")}
    assert set(graph.objects(adams, educated)) == schools
    assert (adams, rdflib.URIRef(f"{WDT}P31"), rdflib.URIRef(f"{WD}Q5")) in graph
    assert {row[0] for row in graph.query("SELECT ?s { ?x wdt:P69 ?s }", initBindings={"x": adams})} == schools
    remote = f"SELECT ?s {{ SERVICE <{address}/sparql> {{ wd:Q42 wdt:P69 ?s }} }}"
    known = {"wd": rdflib.Namespace(WD), "wdt": rdflib.Namespace(WDT)}
    assert {row[0] for row in rdflib.Graph().query(remote, initNs=known)} == schools
    own = set(graph.triples((adams, None, None)))
    for name in ("entity/Q42", *(f"wiki/Special:EntityData/Q42.{form}" for form in ("ttl", "nt", "rdf", "jsonld"))):
        parsed = rdflib.Graph().parse(f"{address}/{name}")
        assert set(parsed.triples((adams, None, None))) == own
        statements = parsed.objects(adams, rdflib.URIRef("http://www.wikidata.org/prop/P69"))
        start = rdflib.URIRef("http://www.wikidata.org/prop/qualifier/P580")
        assert sorted(parsed.value(one, start).toPython().year for one in statements) == [1959, 1971]
        assert 200 < len(parsed) < 300
