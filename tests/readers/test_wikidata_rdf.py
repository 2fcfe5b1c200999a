"""The RDF of entities in Wikidata's JSON, against lines written by hand from Wikibase's description of its format."""

from __future__ import annotations

import gzip
import json
import re
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbkit.errors import BadInputError
from kbkit.readers.wikidata import literals, units, wikimedia
from kbkit.readers.wikidata.convert import convert
from kbkit.schema import Wikibase
from tests.kbs import mentions
from tests.wording import Wording

GREGORIAN, JULIAN = "http://www.wikidata.org/entity/Q1985727", "http://www.wikidata.org/entity/Q1985786"


def value(prop: str, datatype: str, kind: str, content: Any) -> dict[str, Any]:
    return {"snaktype": "value", "property": prop, "datatype": datatype, "datavalue": {"value": content, "type": kind}}


def text(prop: str, datatype: str, content: str) -> dict[str, Any]:
    return value(prop, datatype, "string", content)


def item(prop: str, name: str) -> dict[str, Any]:
    return value(prop, "wikibase-item", "wikibase-entityid", {"entity-type": "item", "id": name})


def time(prop: str, written: str, precision: int = 11, calendar: str = GREGORIAN) -> dict[str, Any]:
    content = {
        "time": written, "timezone": 0, "before": 0, "after": 0, "precision": precision, "calendarmodel": calendar,
    }  # fmt: skip
    return value(prop, "time", "time", content)


def special(prop: str, kind: str, datatype: str = "wikibase-item") -> dict[str, Any]:
    return {"snaktype": kind, "property": prop, "datatype": datatype}


def statement(snak: dict[str, Any], code: str, rank: str = "normal", **more: Any) -> dict[str, Any]:
    return {"mainsnak": snak, "type": "statement", "id": code, "rank": rank, **more}


def entity(*statements: dict[str, Any], **more: Any) -> dict[str, Any]:
    claims: dict[str, list[dict[str, Any]]] = {}
    for one in statements:
        claims.setdefault(one["mainsnak"]["property"], []).append(one)
    return {"type": "item", "id": "Q42", "labels": {}, "claims": claims, "sitelinks": {}, **more}


def rdf(folder: Path, *entities: dict[str, Any], **options: str) -> set[str]:
    """The lines of a conversion, IRIs shortened by the query service's prefixes, hashes of our own as numbers."""
    path = folder / "dump.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in entities))
    made = convert([path], options, folder / "parts", lambda done, total: None)
    lines = "".join(gzip.decompress(part.read_bytes()).decode() for part in made.quads).splitlines()
    assert len(lines) == len(set(lines))
    for part in made.shared:
        lines += [f"{line}" for (line,) in duckdb.read_parquet(str(part)).fetchall()]
    store = ox.Store()
    store.bulk_load("\n".join(lines).encode(), format=ox.RdfFormat.N_TRIPLES)  # it is N-Triples
    assert len(store) == len(set(lines))
    return set(map(shortened, lines))


def first_quads(folder: Path) -> str:
    return gzip.decompress((folder / "parts" / "parts" / "000000" / "quads.nt.gz").read_bytes()).decode()


NAMESPACES = sorted(((iri, prefix) for prefix, iri in Wikibase.PREFIXES.items()), key=lambda pair: -len(pair[0]))
NAMESPACES.append((Wikibase.GENID, "genid"))


def shortened(line: str) -> str:
    def short(found: re.Match[str]) -> str:
        for iri, prefix in NAMESPACES:
            if found[1].startswith(iri) and "/" not in found[1][len(iri) :]:
                name = found[1][len(iri) :]
                return f"{prefix}:" + ("*" if prefix in ("wdv", "genid") else name)
        return found[0]

    return re.sub(r"<([^<>\"]*)>", short, line).removesuffix(" .")


WD, P1 = "wd:Q42", "wds:Q42-A"


@pytest.mark.parametrize(
    ("snak", "expected"),
    [
        (item("P1", "Q5"), "wd:Q5"),
        (value("P1", "wikibase-item", "wikibase-entityid", {"entity-type": "item", "numeric-id": 5}), "wd:Q5"),
        (value("P1", "wikibase-property", "wikibase-entityid", {"entity-type": "property", "id": "P31"}), "wd:P31"),
        (value("P1", "wikibase-sense", "wikibase-entityid", {"entity-type": "sense", "id": "L7-S1"}), "wd:L7-S1"),
        (value("P1", "entity-schema", "wikibase-entityid", {"entity-type": "entity-schema", "id": "E10"}), "wd:E10"),
        (text("P1", "string", 'a "b" \\ c\nd'), '"a \\"b\\" \\\\ c\\nd"'),
        (text("P1", "external-id", " 0-330-25864-8 "), '"0-330-25864-8"'),
        (text("P1", "url", "http://example.org/a b?c=<é>"), "<http://example.org/a%20b?c=%3Cé%3E>"),
        (
            text("P1", "commonsMedia", "Douglas adams.jpg"),
            "<http://commons.wikimedia.org/wiki/Special:FilePath/Douglas%20adams.jpg>",
        ),
        (
            text("P1", "geo-shape", "Data:New York.map"),
            "<http://commons.wikimedia.org/data/main/Data:New+York.map>",
        ),
        (text("P1", "tabular-data", "Data:A/b.tab"), "<http://commons.wikimedia.org/data/main/Data:A/b.tab>"),
        (text("P1", "math", "E=mc^2"), '"E=mc^2"^^<http://www.w3.org/1998/Math/MathML>'),
        (text("P1", "musical-notation", "\\relative c'"), '"\\\\relative c\'"'),
        (
            value("P1", "monolingualtext", "monolingualtext", {"text": "Hallo", "language": "de-at"}),
            '"Hallo"@de-at',
        ),
        (value("P1", "monolingualtext", "monolingualtext", {"text": "x", "language": "zh-classical"}), '"x"@lzh'),
    ],
)
def test_simple_values(tmp_path, snak: dict[str, Any], expected: str) -> None:
    assert rdf(tmp_path, entity(statement(snak, "Q42$A"))) == {
        f"{WD} p:P1 {P1}", f"{WD} wdt:P1 {expected}", f"{P1} ps:P1 {expected}",
        f"{P1} wikibase:rank wikibase:NormalRank",
        f"{P1} rdf:type wikibase:BestRank", f'{WD} wikibase:statements "1"^^xsd:integer',
        f'{WD} wikibase:sitelinks "0"^^xsd:integer',
        f'{WD} wikibase:identifiers "{int(snak["datatype"] == "external-id")}"^^xsd:integer',
    }  # fmt: skip


def nodes(lines: set[str], first: str) -> set[str]:
    return {line for line in lines if line.startswith(("wdv:", f"{P1} {first}"))}


def test_time_node(tmp_path) -> None:
    found = rdf(tmp_path, entity(statement(time("P1", "+1952-03-11T00:00:00Z"), "Q42$A")))
    assert f'{WD} wdt:P1 "1952-03-11T00:00:00Z"^^xsd:dateTime' in found
    assert nodes(found, "ps") == {
        f'{P1} ps:P1 "1952-03-11T00:00:00Z"^^xsd:dateTime', f"{P1} psv:P1 wdv:*", "wdv:* rdf:type wikibase:TimeValue",
        'wdv:* wikibase:timeValue "1952-03-11T00:00:00Z"^^xsd:dateTime',
        'wdv:* wikibase:timePrecision "11"^^xsd:integer', 'wdv:* wikibase:timeTimezone "0"^^xsd:integer',
        "wdv:* wikibase:timeCalendarModel wd:Q1985727",
    }  # fmt: skip


def test_quantity_nodes(tmp_path) -> None:
    content = {"amount": "+1.950", "unit": "http://www.wikidata.org/entity/Q174728", "upperBound": "+2",
               "lowerBound": "-0.5"}  # fmt: skip
    found = rdf(tmp_path, entity(statement(value("P1", "quantity", "quantity", content), "Q42$A")))
    assert f'{WD} wdt:P1 "+1.950"^^xsd:decimal' in found
    assert nodes(found, "p") == {
        f'{P1} ps:P1 "+1.950"^^xsd:decimal', f"{P1} psv:P1 wdv:*", f"{P1} psn:P1 wdv:*",
        "wdv:* rdf:type wikibase:QuantityValue",
        'wdv:* wikibase:quantityAmount "+1.950"^^xsd:decimal',
        'wdv:* wikibase:quantityUpperBound "+2"^^xsd:decimal',
        'wdv:* wikibase:quantityLowerBound "-0.5"^^xsd:decimal',
        "wdv:* wikibase:quantityUnit wd:Q174728",
        "wdv:* wikibase:quantityNormalized wdv:*",
        'wdv:* wikibase:quantityAmount "+0.0195"^^xsd:decimal',  # centimetres in metres
        'wdv:* wikibase:quantityUpperBound "+0.02"^^xsd:decimal',
        'wdv:* wikibase:quantityLowerBound "-0.005"^^xsd:decimal',
        "wdv:* wikibase:quantityUnit wd:Q11573",
    }  # fmt: skip


def test_quantity_without_unit_or_bounds(tmp_path) -> None:
    found = rdf(
        tmp_path, entity(statement(value("P1", "quantity", "quantity", {"amount": "-7", "unit": "1"}), "Q42$A"))
    )
    assert nodes(found, "p") == {
        f'{P1} ps:P1 "-7"^^xsd:decimal', f"{P1} psv:P1 wdv:*", "wdv:* rdf:type wikibase:QuantityValue",
        'wdv:* wikibase:quantityAmount "-7"^^xsd:decimal', "wdv:* wikibase:quantityUnit wd:Q199",
    }  # fmt: skip


def test_base_unit_is_its_own_normal_form(tmp_path) -> None:
    content = {"amount": "+3", "unit": "http://www.wikidata.org/entity/Q11573"}
    path = tmp_path / "lines"
    path.mkdir()
    rdf(path, entity(statement(value("P1", "quantity", "quantity", content), "Q42$A")))
    raw = first_quads(path)
    [full], [normal] = (re.findall(rf"/statement/{name}/P1> (\S+) \.", raw) for name in ("value", "value-normalized"))
    assert full == normal


def test_coordinates(tmp_path) -> None:
    earth = {"latitude": 52.516666666667, "longitude": 13, "altitude": None, "precision": 0.016666666666667,
             "globe": "http://www.wikidata.org/entity/Q2"}  # fmt: skip
    found = rdf(tmp_path, entity(statement(value("P1", "globe-coordinate", "globecoordinate", earth), "Q42$A")))
    point = '"Point(13 52.516666666667)"^^geo:wktLiteral'
    assert f"{WD} wdt:P1 {point}" in found
    assert nodes(found, "p") == {
        f"{P1} ps:P1 {point}", f"{P1} psv:P1 wdv:*", "wdv:* rdf:type wikibase:GlobecoordinateValue",
        'wdv:* wikibase:geoLatitude "52.516666666667"^^xsd:double', 'wdv:* wikibase:geoLongitude "13"^^xsd:double',
        'wdv:* wikibase:geoPrecision "0.016666666666667"^^xsd:double', "wdv:* wikibase:geoGlobe wd:Q2",
    }  # fmt: skip
    (tmp_path / "moon").mkdir()
    moon = {"latitude": 1e-05, "longitude": -23.5, "precision": None, "globe": "http://www.wikidata.org/entity/Q405"}
    found = rdf(tmp_path / "moon", entity(statement(value("P1", "globe-coordinate", "globecoordinate", moon), "Q42$A")))
    # the globe's IRI stands within the literal, and is shortened like all others
    assert f'{WD} wdt:P1 "wd:Q405 Point(-23.5 0.00001)"^^geo:wktLiteral' in found
    assert "wdv:* rdf:type wikibase:GeoAutoPrecision" in found
    assert "wdv:* wikibase:geoGlobe wd:Q405" in found


def test_ranks(tmp_path) -> None:
    found = rdf(
        tmp_path,
        entity(
            statement(item("P1", "Q1"), "Q42$A", "preferred"), statement(item("P1", "Q2"), "q42$b", "normal"),
            statement(item("P1", "Q3"), "Q42$C", "deprecated"), statement(item("P2", "Q4"), "Q42$D", "deprecated"),
        ),
    )  # fmt: skip
    assert {line for line in found if "rank" in line.lower()} == {
        "wds:Q42-A wikibase:rank wikibase:PreferredRank", "wds:q42-b wikibase:rank wikibase:NormalRank",
        "wds:Q42-C wikibase:rank wikibase:DeprecatedRank", "wds:Q42-D wikibase:rank wikibase:DeprecatedRank",
        "wds:Q42-A rdf:type wikibase:BestRank",
    }  # fmt: skip
    assert {line for line in found if " wdt:" in line} == {f"{WD} wdt:P1 wd:Q1"}
    assert len([line for line in found if " ps:" in line]) == 4


def test_special_values(tmp_path) -> None:
    some, none = statement(special("P1", "somevalue"), "Q42$A"), statement(special("P2", "novalue"), "Q42$B")
    some["qualifiers"] = {"P3": [special("P3", "novalue"), special("P3", "somevalue")], "P4": [item("P4", "Q1")]}
    some["qualifiers-order"] = ["P4", "P3"]
    old = statement(special("P5", "novalue"), "Q42$C", "deprecated")
    found = rdf(tmp_path, entity(some, none, old))
    assert {line for line in found if "genid" in line or "wdno" in line or "pq:" in line} == {
        f"{WD} wdt:P1 genid:*", f"{P1} ps:P1 genid:*", f"{P1} rdf:type wdno:P3", f"{P1} pq:P3 genid:*",
        f"{P1} pq:P4 wd:Q1", f"{WD} rdf:type wdno:P2", "wds:Q42-B rdf:type wdno:P2", "wds:Q42-C rdf:type wdno:P5",
    }  # fmt: skip
    raw = first_quads(tmp_path)
    codes = re.findall(r"/(\S+)/P\d> <\S+/genid/(\w+)> \.", raw)
    assert len({code for _, code in codes}) == 2  # one is the statement's and the entity's, one the qualifier's


def test_references(tmp_path) -> None:
    reference = {"hash": "9a24f7c0208b05d6be97077d855671d1dfdbc0dd", "snaks-order": ["P248", "P813"],
                 "snaks": {"P248": [item("P248", "Q36578")], "P813": [time("P813", "+2020-05-00T00:00:00Z", 10)],
                           "P854": [text("P854", "url", "http://a.org/")]}}  # fmt: skip
    one = statement(item("P1", "Q1"), "Q42$A", references=[reference])
    two = statement(item("P2", "Q1"), "Q42$B", references=[reference])
    found = rdf(tmp_path, entity(one, two))
    node = "wdref:9a24f7c0208b05d6be97077d855671d1dfdbc0dd"
    assert {line for line in found if "wdref" in line} == {
        f"{P1} prov:wasDerivedFrom {node}", f"wds:Q42-B prov:wasDerivedFrom {node}", f"{node} pr:P248 wd:Q36578",
        f'{node} pr:P813 "2020-05-01T00:00:00Z"^^xsd:dateTime', f"{node} prv:P813 wdv:*",
        f"{node} pr:P854 <http://a.org/>",
    }  # fmt: skip


def test_qualifier_nodes(tmp_path) -> None:
    one = statement(item("P1", "Q1"), "Q42$A")
    one["qualifiers"] = {
        "P2": [value("P2", "quantity", "quantity", {"amount": "+1", "unit": "http://www.wikidata.org/entity/Q11574"})],
        "P3": [time("P3", "+1999-00-00T00:00:00Z", 9)],
    }
    found = rdf(tmp_path, entity(one))
    assert {line for line in found if " pq" in line} == {
        f'{P1} pq:P2 "+1"^^xsd:decimal', f"{P1} pqv:P2 wdv:*", f"{P1} pqn:P2 wdv:*",
        f'{P1} pq:P3 "1999-01-01T00:00:00Z"^^xsd:dateTime', f"{P1} pqv:P3 wdv:*",
    }  # fmt: skip


TERMS = {
    "labels": {code: {"language": code, "value": f"name {code}"} for code in ("de", "en", "fr", "mul", "simple")},
    "descriptions": {"de": {"language": "de", "value": 'ein "Autor"'}, "fr": {"language": "fr", "value": "auteur"}},
    "aliases": {"en": [{"language": "en", "value": "DNA"}, {"language": "en", "value": "Adams"}], "ru": []},
}


def test_terms_and_page(tmp_path) -> None:
    found = rdf(tmp_path, entity(**TERMS, lastrevid=12, modified="2024-01-02T03:04:05Z"), language="en,de")
    assert found == {
        f'{WD} rdfs:label "name en"@en', f'{WD} rdfs:label "name de"@de', f'{WD} rdfs:label "name mul"@mul',
        f'{WD} schema:description "ein \\"Autor\\""@de', f'{WD} skos:altLabel "DNA"@en',
        f'{WD} skos:altLabel "Adams"@en',
        f'{WD} schema:version "12"^^xsd:integer', f'{WD} schema:dateModified "2024-01-02T03:04:05Z"^^xsd:dateTime',
        f'{WD} wikibase:statements "0"^^xsd:integer', f'{WD} wikibase:sitelinks "0"^^xsd:integer',
        f'{WD} wikibase:identifiers "0"^^xsd:integer',
    }  # fmt: skip


def test_all_languages(tmp_path) -> None:
    found = rdf(tmp_path, entity(**TERMS), language="all")
    assert {line.rsplit("@")[1] for line in found if "rdfs:label" in line} == {"de", "en", "fr", "mul", "en-simple"}


def test_sitelinks(tmp_path) -> None:
    links = {
        "enwiki": {"site": "enwiki", "title": "Douglas Adams (AT&T)", "badges": ["Q17437798"]},
        "zh_min_nanwikiquote": {"site": "zh_min_nanwikiquote", "title": "A/B: é", "badges": []},
        "commonswiki": {"site": "commonswiki", "title": "Category:X", "badges": []},
    }
    english, nan = (
        "<https://en.wikipedia.org/wiki/Douglas_Adams_(AT%26T)>",
        "<https://zh-min-nan.wikiquote.org/wiki/A/B:_%C3%A9>",
    )
    found = rdf(tmp_path, entity(sitelinks=links))
    assert {line for line in found if not line.startswith("wd:") and "commons" not in line} == {
        f"{english} rdf:type schema:Article", f"{english} schema:about {WD}", f'{english} schema:inLanguage "en"',
        f"{english} schema:isPartOf <https://en.wikipedia.org/>",
        f'{english} schema:name "Douglas Adams (AT&T)"@en', f"{english} wikibase:badge wd:Q17437798",
        '<https://en.wikipedia.org/> wikibase:wikiGroup "wikipedia"',
        f"{nan} rdf:type schema:Article", f"{nan} schema:about {WD}", f'{nan} schema:inLanguage "nan"',
        f"{nan} schema:isPartOf <https://zh-min-nan.wikiquote.org/>", f'{nan} schema:name "A/B: é"@nan',
        '<https://zh-min-nan.wikiquote.org/> wikibase:wikiGroup "wikiquote"',
    }  # fmt: skip
    assert '<https://commons.wikimedia.org/> wikibase:wikiGroup "commons"' in found
    (tmp_path / "without").mkdir()
    assert not [
        line for line in rdf(tmp_path / "without", entity(sitelinks=links), sitelinks="no") if "schema:" in line
    ]


def test_property(tmp_path) -> None:
    own = entity(statement(item("P31", "Q1"), "P212$A"), type="property", id="P212", datatype="external-id")
    found = rdf(tmp_path, {**own, "labels": {"en": {"language": "en", "value": "ISBN-13"}}})
    assert {line for line in found if line.startswith("wd:P212 ")} == {
        'wd:P212 rdfs:label "ISBN-13"@en', "wd:P212 rdf:type wikibase:Property",
        "wd:P212 wikibase:propertyType wikibase:ExternalId", "wd:P212 wikibase:directClaim wdt:P212",
        "wd:P212 wikibase:claim p:P212", "wd:P212 wikibase:statementProperty ps:P212",
        "wd:P212 wikibase:statementValue psv:P212", "wd:P212 wikibase:qualifier pq:P212",
        "wd:P212 wikibase:qualifierValue pqv:P212", "wd:P212 wikibase:reference pr:P212",
        "wd:P212 wikibase:referenceValue prv:P212", "wd:P212 wikibase:novalue wdno:P212",
        "wd:P212 wikibase:directClaimNormalized wdtn:P212", "wd:P212 wikibase:statementValueNormalized psn:P212",
        "wd:P212 wikibase:qualifierValueNormalized pqn:P212", "wd:P212 wikibase:referenceValueNormalized prn:P212",
        "wd:P212 p:P31 wds:P212-A", "wd:P212 wdt:P31 wd:Q1", 'wd:P212 wikibase:statements "1"^^xsd:integer',
        'wd:P212 wikibase:identifiers "0"^^xsd:integer',
    }  # fmt: skip


@pytest.mark.parametrize(
    ("datatype", "name"),
    [("wikibase-item", "WikibaseItem"), ("commonsMedia", "CommonsMedia"), ("monolingualtext", "Monolingualtext"),
     ("globe-coordinate", "GlobeCoordinate"), ("url", "Url"), ("musical-notation", "MusicalNotation")],
)  # fmt: skip
def test_property_types(tmp_path, datatype: str, name: str) -> None:
    found = rdf(tmp_path, entity(type="property", id="P9", datatype=datatype))
    assert f"wd:P9 wikibase:propertyType wikibase:{name}" in found


def test_addresses_of_identifiers(tmp_path) -> None:
    prop = entity(
        statement(text("P1921", "string", "http://id.org/$1/x"), "P214$A"), type="property", id="P214",
        datatype="external-id",
    )  # fmt: skip
    one = statement(text("P214", "external-id", "11 3:2/a"), "Q42$A")
    two = statement(text("P214", "external-id", "old"), "Q42$B", "deprecated")
    three = statement(item("P1", "Q1"), "Q42$C", qualifiers={"P214": [text("P214", "external-id", "7")]})
    other = statement(text("P215", "external-id", "1"), "Q42$D")
    found = rdf(tmp_path, prop, entity(one, two, three, other))
    assert {line for line in found if "id.org" in line and "P1921" not in line} == {
        f"{WD} wdtn:P214 <http://id.org/11+3:2/a/x>", f"{P1} psn:P214 <http://id.org/11+3:2/a/x>",
        "wds:Q42-B psn:P214 <http://id.org/old/x>", "wds:Q42-C pqn:P214 <http://id.org/7/x>",
    }  # fmt: skip


def test_lexeme(tmp_path) -> None:
    lexeme = {
        "type": "lexeme", "id": "L3", "lemmas": {"en": {"language": "en", "value": "desk"}}, "language": "Q1860",
        "lexicalCategory": "Q1084", "claims": [], "lastrevid": 5,
        "forms": [{"id": "L3-F1", "representations": {"en": {"language": "en", "value": "desks"}},
                   "grammaticalFeatures": ["Q146786"],
                   "claims": {"P1": [statement(text("P1", "string", "x"), "L3-F1$A")]}}],
        "senses": [{"id": "L3-S1", "glosses": {"en": {"language": "en", "value": "table"}}, "claims": []}],
    }  # fmt: skip
    assert {line for line in rdf(tmp_path, lexeme) if "xsd:integer" not in line} == {
        'wd:L3 wikibase:lemma "desk"@en', "wd:L3 dct:language wd:Q1860", "wd:L3 wikibase:lexicalCategory wd:Q1084",
        "wd:L3 rdf:type ontolex:LexicalEntry", "wd:L3 ontolex:lexicalForm wd:L3-F1", "wd:L3 ontolex:sense wd:L3-S1",
        "wd:L3-F1 rdf:type ontolex:Form", 'wd:L3-F1 ontolex:representation "desks"@en',
        "wd:L3-F1 wikibase:grammaticalFeature wd:Q146786", "wd:L3-F1 p:P1 wds:L3-F1-A", 'wd:L3-F1 wdt:P1 "x"',
        "wds:L3-F1-A wikibase:rank wikibase:NormalRank", "wds:L3-F1-A rdf:type wikibase:BestRank",
        'wds:L3-F1-A ps:P1 "x"', "wd:L3-S1 rdf:type ontolex:LexicalSense", 'wd:L3-S1 skos:definition "table"@en',
    }  # fmt: skip


def test_media_and_redirects(tmp_path) -> None:
    media = {"type": "mediainfo", "id": "M7", "labels": {"en": {"language": "en", "value": "a cat"}},
             "descriptions": [], "statements": {"P180": [statement(item("P180", "Q146"), "M7$A")]}}  # fmt: skip
    found = rdf(tmp_path, media, {"entity": "Q10", "redirect": "Q11"})
    assert {
        "wd:M7 rdf:type wikibase:Mediainfo", "wd:M7 wdt:P180 wd:Q146", 'wd:M7 rdfs:label "a cat"@en',
        "wd:Q10 owl:sameAs wd:Q11",
    } <= found  # fmt: skip


# -- times and numbers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "precision", "calendar", "expected"),
    [
        ("+1952-03-11T00:00:00Z", 11, "Q1985727", "1952-03-11T00:00:00Z"),
        ("+00000001952-03-11T00:00:00Z", 11, "Q1985727", "1952-03-11T00:00:00Z"),
        ("+1952-03-00T00:00:00Z", 10, "Q1985727", "1952-03-01T00:00:00Z"),
        ("+1952-03-11T00:00:00Z", 10, "Q1985727", "1952-03-01T00:00:00Z"),
        ("+1952-00-00T00:00:00Z", 9, "Q1985727", "1952-01-01T00:00:00Z"),
        ("+1950-07-04T00:00:00Z", 8, "Q1985727", "1950-01-01T00:00:00Z"),
        ("+0079-00-00T00:00:00Z", 9, "Q1985727", "0079-01-01T00:00:00Z"),
        # Before the common era: 44 BCE is -0043 in XSD 1.1, 1 BCE is 0000; rough dates keep their number
        ("-0044-03-15T00:00:00Z", 11, "Q1985727", "-0043-03-15T00:00:00Z"),
        ("-0001-01-01T00:00:00Z", 11, "Q1985727", "0000-01-01T00:00:00Z"),
        ("-0500-00-00T00:00:00Z", 7, "Q1985727", "-0500-01-01T00:00:00Z"),
        ("-13798000000-00-00T00:00:00Z", 3, "Q1985727", "-13798000000-01-01T00:00:00Z"),
        ("+12000-00-00T00:00:00Z", 9, "Q1985727", "12000-01-01T00:00:00Z"),
        ("+0000-00-00T00:00:00Z", 9, "Q1985727", None),
        # Days that do not exist become the last of the month
        ("+2014-02-31T00:00:00Z", 11, "Q1985727", "2014-02-28T00:00:00Z"),
        ("+2012-02-31T00:00:00Z", 11, "Q1985727", "2012-02-29T00:00:00Z"),
        ("+1900-02-29T00:00:00Z", 11, "Q1985727", "1900-02-28T00:00:00Z"),
        ("+2014-04-31T00:00:00Z", 11, "Q1985727", "2014-04-30T00:00:00Z"),
        # Julian: the October Revolution, the death of Caesar, and what is not known to the day
        ("+1917-10-25T00:00:00Z", 11, "Q1985786", "1917-11-07T00:00:00Z"),
        ("-0044-03-15T00:00:00Z", 11, "Q1985786", "-0043-03-13T00:00:00Z"),
        ("+1582-10-05T00:00:00Z", 11, "Q1985786", "1582-10-15T00:00:00Z"),
        ("+1500-02-29T00:00:00Z", 11, "Q1985786", "1500-03-10T00:00:00Z"),
        ("+1600-05-00T00:00:00Z", 10, "Q1985786", "1600-05-01T00:00:00Z"),
        ("-9999-03-15T00:00:00Z", 11, "Q1985786", "-9998-03-15T00:00:00Z"),
    ],
)  # fmt: skip
def test_times(written: str, precision: int, calendar: str, expected: str | None) -> None:
    assert literals.date_time(written, precision, calendar) == expected


@given(st.dates(date(100, 3, 1), date(9000, 1, 1)))
def test_julian_days_follow_each_other(day: date) -> None:
    """An oracle of its own: the Julian calendar counted day by day from a known pair of dates."""
    known, julian = date(1582, 10, 15), (1582, 10, 5)
    year, month, number = julian
    number += (day - known).days
    while number < 1 or number > _julian_month(year, month):
        if number < 1:
            year, month = (year, month - 1) if month > 1 else (year - 1, 12)
            number += _julian_month(year, month)
        else:
            number -= _julian_month(year, month)
            year, month = (year, month + 1) if month < 12 else (year + 1, 1)
    made = literals.date_time(f"+{year:04d}-{month:02d}-{number:02d}T00:00:00Z", 11, literals.JULIAN)
    assert made == f"{day.isoformat()}T00:00:00Z"


def _julian_month(year: int, month: int) -> int:
    return 29 if month == 2 and year % 4 == 0 else (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]


@given(st.dates(date(1, 1, 1)))
def test_gregorian_days_stay(day: date) -> None:
    assert literals.date_time(f"+{day.isoformat()}T00:00:00Z", 11, "Q1985727") == f"{day.isoformat()}T00:00:00Z"
    later = day + timedelta(0)
    assert literals.date_time(f"+{later.year:011d}-00-00T00:00:00Z", 9, "Q1985727") == f"{day.year:04d}-01-01T00:00:00Z"


@pytest.mark.parametrize("written", ["1952", "+1952-03-11", "+1952-3x-11T00:00:00Z", "", "+1952-03-11T25"])
def test_no_times(written: str, wording: Wording) -> None:
    with pytest.raises(ValueError) as caught:
        literals.date_time(written, 11, "Q1985727")
    wording(mentions(str(caught.value), repr(written)))


@pytest.mark.parametrize(
    ("amount", "unit", "expected"),
    [("+1", "Q828224", "+1000 Q11573"), ("-2.50", "Q41803", "-0.00250 Q11570"), ("+90", "Q7727", "+5400 Q11574"),
     ("+0", "Q7727", "+0 Q11574"), ("-0", "Q7727", "+0 Q11574"), ("+1.50", "Q11573", "+1.50 Q11573"),
     ("+123456789012345678901234567890.1", "Q828224", "+123456789012345678901234567890100.0 Q11573"),
     ("+10.5", "Q128822", "+5.401666666666666667 Q182429"), ("+180", "Q28390", "+3.141592653589793238 Q33680"),
     ("+1", "Q577", "+31536000 Q11574"), ("+1", "Q192274", "+0.000000000001 Q11573"), ("+1", "1", None),
     ("+1", "Q4917", None)],
)  # fmt: skip
def test_units(amount: str, unit: str, expected: str | None) -> None:
    """As PHP's bcmul multiplies: the digits of both numbers count, zeros too."""
    found = units.normalized([amount, None, None], unit)
    assert (None if found is None else f"{found[0][0]} {found[1]}") == expected


@pytest.mark.parametrize(
    ("amounts", "unit", "expected"),
    [("+100 +110 +90", "Q180154", "+28 +31 +25"),  # 27.78, uncertain by 2.78
     ("+1.76 +1.77 +1.75", "Q3710", "+0.536 +0.539 +0.533"), ("+5 +5 +5", "Q174728", "+0.05 +0.05 +0.05"),
     ("+150 +250 +50", "Q828224", "+200000 +300000 +0"),  # halves away from zero
     ("-150 -50 -250", "Q828224", "-200000 +0 -300000"),
     ("+3 +203 -197", "Q828224", "+0 +200000 -200000"),  # too few digits become 0
     ("+1 +1.5 +0.5", "Q11573", "+1 +1.5 +0.5")],
)  # fmt: skip
def test_normalized_bounds_are_rounded_to_their_uncertainty(amounts: str, unit: str, expected: str) -> None:
    found = units.normalized(amounts.split(), unit)
    assert found is not None
    assert " ".join(number or "" for number in found[0]) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [("enwiki", ("https://en.wikipedia.org/", "en", "wikipedia")),
     ("be_x_oldwiki", ("https://be-tarask.wikipedia.org/", "be-tarask", "wikipedia")),
     ("nowiktionary", ("https://no.wiktionary.org/", "nb", "wiktionary")),
     ("simplewiki", ("https://simple.wikipedia.org/", "en-simple", "wikipedia")),
     ("wikidatawiki", ("https://www.wikidata.org/", "en", "wikidata")),
     ("specieswiki", ("https://species.wikimedia.org/", "en", "species")), ("wiki", None), ("elsewhere", None),
     ("a.org/> <xwiki", None), ("-wiki", None)],
)  # fmt: skip
def test_sites(name: str, expected: tuple[str, str, str] | None) -> None:
    assert wikimedia.site(name) == expected


@given(st.text())
def test_any_text_is_a_literal(content: str) -> None:
    content = content.encode("utf-8", "replace").decode()
    line = f"<http://a.org/a> <http://a.org/b> {literals.text_literal(content)} .\n"
    [triple] = ox.parse(line, format=ox.RdfFormat.N_TRIPLES)
    assert triple.object == ox.Literal(content)


@given(
    st.text(max_size=30), st.sampled_from(["http://b.org/", "http://", "urn:", "HTTP://u@b.org:8", "http://b.org/?a#"])
)
def test_any_url_is_an_iri(content: str, start: str) -> None:
    written = literals.iri(start + content.encode("utf-8", "replace").decode())
    line = f"<http://a.org/a> <http://a.org/b> {written} .\n"
    assert len(list(ox.parse(line, format=ox.RdfFormat.N_TRIPLES))) == 1


@pytest.mark.parametrize(
    ("url", "expected"),
    [("http://a.org/x[1]#b#c", "<http://a.org/x%5B1%5D#b%23c>"), ("http://a.org/50%", "<http://a.org/50%25>"),
     ("http://a.org/%41", "<http://a.org/%41>"), ("http://[::1", "<http://%5B%3A:1>"), ("www.example.org", None),
     ("http://[2001:db8::1]:80/x", "<http://[2001:db8::1]:80/x>"),
     ("http://a.org/é", "<http://a.org/é>"), ("mailto:a@b.org", "<mailto:a@b.org>"), ("", None)],
)  # fmt: skip
def test_urls(url: str, expected: str | None) -> None:
    assert literals.iri(url) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [("en-GB", "en-gb"), ("zh_min_nan", "nan"), ("sr-ec", "sr-cyrl"), ("mis-x-Q36790", "mis-x-q36790"),
     ("mis-x-Q118976027", "mis"), ("12", "und"), ("de-formal", "de-x-formal"), ("en-a", "en")],
)  # fmt: skip
def test_language_tags(code: str, expected: str) -> None:
    assert literals.language_tag(code) == expected


@given(st.from_regex(r"[a-zA-Z0-9_-]{1,20}", fullmatch=True))
def test_any_code_is_a_tag(code: str) -> None:
    line = f'<http://a.org/a> <http://a.org/b> "x"@{literals.language_tag(code)} .\n'
    assert len(list(ox.parse(line, format=ox.RdfFormat.N_TRIPLES))) == 1


STATED = f"<{Wikibase.ENTITY}statement/Q42-A> <{Wikibase.PROP}statement/P1> <{Wikibase.ENTITY}Q5> ."
HAS = f"<{Wikibase.ENTITY}Q42> <{Wikibase.PROP}P1> <{Wikibase.ENTITY}statement/Q42-A> ."
OTHER = f"<{Wikibase.ENTITY}Q43> <{Wikibase.PREFIXES['wdt']}P2> <{Wikibase.ENTITY}Q5> ."


@pytest.mark.parametrize("order", [(STATED, HAS), (OTHER, STATED, HAS), (HAS, OTHER, STATED), (HAS,)])
def test_statements_that_are_not_after_their_entity_are_errors(tmp_path: Path, order: tuple[str, ...]) -> None:
    """They would be read as statements without values, and without qualifiers."""
    path = tmp_path / "dump.nt"
    path.write_text("\n".join(order) + "\n")
    with pytest.raises(BadInputError, match="is not after its entity"):
        convert([path], {}, tmp_path / "parts", lambda done, total: None)
    path.write_text("\n".join((HAS, STATED, OTHER)) + "\n")
    convert([path], {}, tmp_path / "right", lambda done, total: None)
