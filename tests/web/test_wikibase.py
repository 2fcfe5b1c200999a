"""Wikidata's own addresses: entities as JSON, searches of entities, and the path of the query service."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kbkit
from kbkit.kb import KnowledgeBase
from tests.places import ROOT

testclient = pytest.importorskip("starlette.testclient")

from kbkit.web.app import application  # noqa: E402

HOST = "http://127.0.0.1"


@pytest.fixture(scope="module")
def client(wikidata_kb: Path) -> Iterator[Any]:
    with kbkit.open(wikidata_kb) as kb:
        yield testclient.TestClient(application(kb), base_url=HOST)


def got(client: Any, path: str, **fields: str) -> Any:
    answer = client.get(path, params=fields)
    assert answer.status_code == 200
    return answer.json()


def test_an_entity_with_its_statements(client: Any) -> None:
    found = got(client, "/wiki/Special:EntityData/Q42.json")["entities"]["Q42"]
    assert (found["type"], found["id"], found["labels"]["en"]["value"]) == ("item", "Q42", "Douglas Adams")
    assert {"language": "en", "value": "DNA"} in found["aliases"]["en"]
    [born] = found["claims"]["P569"]
    assert born["mainsnak"]["datavalue"]["value"]["time"] == "+1952-03-11T00:00:00Z"
    schools = {claim["mainsnak"]["datavalue"]["value"]["id"]: claim for claim in found["claims"]["P69"]}
    assert schools["Q691283"]["qualifiers"]["P580"][0]["datavalue"]["value"]["time"] == "+1971-00-00T00:00:00Z"
    assert schools["Q691283"]["qualifiers-order"][:2] == ["P580", "P582"]
    assert found["sitelinks"]["enwiki"]["title"] == "Douglas Adams"
    height = found["claims"]["P2048"][0]["mainsnak"]["datavalue"]["value"]
    assert height == {"amount": "+1.96", "unit": "http://www.wikidata.org/entity/Q11573"}


def test_statements_are_those_of_the_source(client: Any) -> None:
    """All of an entity's statements, with values, ranks, qualifiers and references, as in the dump."""
    lines = (ROOT / "ingest" / "wikidata" / "sample" / "entities.json").read_text(encoding="utf-8").split("\n")
    source = [json.loads(line.rstrip(",")) for line in lines if line.startswith("{")]
    keys = ["L4082", "P569", "P625", "Q1048", "Q2", "Q220", "Q183", "Q5", *(one["id"] for one in source[:30])]
    served = got(client, "/w/api.php", action="wbgetentities", ids="|".join(keys), format="json")["entities"]
    compared = 0
    for one in source:
        for name, claims in one["claims"].items() if one["id"] in served else ():
            found = {claim["id"]: plain(claim) for claim in served[one["id"]]["claims"][name]}
            assert found == {claim["id"]: plain(claim) for claim in claims}
            compared += len(claims)
    assert compared > 100


def plain(value: Any) -> Any:
    """Return a part of an entity without hashes, order of snaks, and the usual precision of a place, if it has none."""
    if isinstance(value, dict):
        if "globe" in value and value["precision"] is None:
            value = {**value, "precision": 1 / 3600}
        return {name: plain(part) for name, part in value.items() if name != "hash" and "-order" not in name}
    return [plain(part) for part in value] if isinstance(value, list) else value


def test_lexemes_with_forms_and_senses(client: Any) -> None:
    food = got(client, "/wiki/Special:EntityData/L4082.json")["entities"]["L4082"]
    assert food["lemmas"] == {"en": {"language": "en", "value": "food"}}
    assert (food["language"], food["lexicalCategory"], food["lastrevid"]) == ("Q1860", "Q1084", 2000004082)
    assert [form["grammaticalFeatures"] for form in food["forms"]] == [[], ["Q110786"], ["Q146786"]]
    assert food["forms"][0]["claims"]["P443"][0]["mainsnak"]["datavalue"]["value"] == "En-uk-food.ogg"
    assert food["senses"][0]["claims"]["P5137"][0]["mainsnak"]["datavalue"]["value"]["id"] == "Q2095"
    assert got(client, "/wiki/Special:EntityData/P5192.json")["entities"]["P5192"]["datatype"] == "wikibase-lexeme"


def test_entities_as_rdf(client: Any) -> None:
    """Statements of an entity are there, those of entities that it refers to are not."""
    turtle = client.get("/entity/Q42", headers={"Accept": "text/turtle"})
    assert turtle.headers["content-type"] == "text/turtle; charset=utf-8"
    triples = client.get("/wiki/Special:EntityData/Q42.nt").text.split("\n")
    assert 200 < len(triples) < 300
    subjects = {line.partition(" ")[0].rpartition("/")[0] for line in triples if line}
    assert {"<http://www.wikidata.org/value", "<http://www.wikidata.org/reference"} <= subjects
    entities = {line.partition(" ")[0] for line in triples if line.startswith("<http://www.wikidata.org/entity/Q")}
    assert entities == {"<http://www.wikidata.org/entity/Q42>"}
    food = client.get("/wiki/Special:EntityData/L4082.nt").text
    assert "En-uk-food.ogg" in food and "/L4082-F3> <http://wikiba.se/ontology#grammaticalFeature>" in food
    assert client.get("/entity/Q42").headers["content-type"] == "application/json"
    assert client.get("/entity/Q42.xyz").status_code == 400 and client.get("/entity/Q999999999.ttl").status_code == 404


def test_languages_parts_and_missing_entities(client: Any) -> None:
    fields = {"action": "wbgetentities", "ids": "P69|Q42|Q999999999", "languages": "de", "props": "labels"}
    found = got(client, "/w/api.php", **fields)["entities"]
    assert found["Q42"]["labels"].keys() == {"de"} and "claims" not in found["Q42"]
    assert found["Q999999999"] == {"id": "Q999999999", "missing": ""}
    assert client.get("/wiki/Special:EntityData/Q999999999.json").status_code == 404
    assert client.get("/wiki/Special:EntityData/zzz.json").status_code == 400
    titles = {"action": "wbgetentities", "sites": "enwiki", "titles": "Douglas_Adams|Nobody", "props": "labels"}
    assert list(got(client, "/w/api.php", **titles)["entities"]) == ["Q42", "-2"]
    searches: list[dict[str, str]] = [{"action": "wbsearchentities", "search": "a", "type": "form"}]
    for wrong in (
        *searches,
        {"action": "wbgetentities"},
        {"action": "wbeditentity"},
        {"action": "wbgetentities", "ids": "Q1x"},
        {"action": "query", "list": "search", "srsearch": "haswbstatement:P31=x y:z"},
    ):
        assert "error" in got(client, "/w/api.php", **wrong)


def test_searches_of_entities(client: Any) -> None:
    fields = {"action": "wbsearchentities", "language": "en", "format": "json"}
    found = got(client, "/w/api.php", search="Douglas Ad", limit="3", **fields)
    assert found["search"][0]["id"] == "Q42"
    assert found["search"][0]["match"] == {"type": "label", "text": "Douglas Adams"}
    alias = got(client, "/w/api.php", search="dna", limit="1", **fields)["search"][0]
    assert (alias["id"], alias["match"]["type"], alias["aliases"]) == ("Q42", "alias", ["DNA"])
    properties = got(client, "/w/api.php", search="educated at", type="property", **fields)["search"]
    assert properties[0]["id"] == "P69" and {hit["id"][0] for hit in properties} == {"P"}
    pages = [got(client, "/w/api.php", search="c", limit="2", **fields, **{"continue": at}) for at in ("0", "2")]
    ids = [hit["id"] for page in pages for hit in page["search"]]
    assert len(set(ids)) == 4 and pages[0]["search-continue"] == 2
    assert got(client, "/w/api.php", search=" ", **fields)["search"] == []
    whole = {"action": "query", "list": "search", "srsearch": "physicist haswbstatement:P31=Q5", "srlimit": "1"}
    first = got(client, "/w/api.php", **whole)
    later = got(client, "/w/api.php", **whole, sroffset="1")["query"]["search"]
    assert first["query"]["search"][0]["title"] != later[0]["title"] and first["continue"]["sroffset"] == 1
    properties = got(client, "/w/api.php", action="query", list="search", srsearch="educational", srnamespace="120")
    assert "Property:P69" in [page["title"] for page in properties["query"]["search"]]


def test_the_path_of_the_query_service(client: Any, world: KnowledgeBase) -> None:
    query = "SELECT ?x { ?x wdt:P31 wd:Q5 } ORDER BY ?x LIMIT 2"
    bodies = [
        client.get(path, params={"query": query}).content for path in ("/sparql", "/bigdata/namespace/wdq/sparql")
    ]
    assert bodies[0] == bodies[1] and len(json.loads(bodies[0])["results"]["bindings"]) == 2
    posted = client.post("/sparql", params={"query": query}, headers={"Content-Type": "multipart/form-data"})
    assert posted.content == bodies[0]
    failed = client.get("/sparql", params={"query": "SELECT ?x { ?x wdt:P31"})
    assert failed.status_code == 400 and "java.util.concurrent.ExecutionException: Unexpected end" in failed.text
    other = testclient.TestClient(application(world), base_url=HOST)
    assert {other.get(path).status_code for path in ("/w/api.php", "/wiki/Special:EntityData/Q42.json")} == {404}
