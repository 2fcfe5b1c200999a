"""RDF dumps of Wikidata, truthy and full: small ones written by hand in Wikibase's form, and JSON dumps as RDF."""

from __future__ import annotations

import bz2
import gzip
import re
from pathlib import Path
from typing import Any

import pytest

from kbkit.errors import BadInputError
from kbkit.readers.converted import Converted
from kbkit.readers.wikidata import passes
from kbkit.readers.wikidata.convert import convert
from tests.kbs import mentions
from tests.readers.test_wikidata_convert import COLUMNS, GRAPH, MANY, ids, lines, linked, named, rows, run, write
from tests.readers.test_wikidata_rdf import JULIAN, item, shortened, special, statement, text, time, value
from tests.wording import Wording

PREFIXES = """@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix wikibase: <http://wikiba.se/ontology#> .
@prefix wdata: <https://www.wikidata.org/wiki/Special:EntityData/> .
@prefix schema: <http://schema.org/> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix prov: <http://www.w3.org/ns/prov#> .
@prefix geo: <http://www.opengis.net/ont/geosparql#> .
@prefix wd: <http://www.wikidata.org/entity/> .
@prefix wds: <http://www.wikidata.org/entity/statement/> .
@prefix wdv: <http://www.wikidata.org/value/> .
@prefix wdref: <http://www.wikidata.org/reference/> .
@prefix wdt: <http://www.wikidata.org/prop/direct/> .
@prefix p: <http://www.wikidata.org/prop/> .
@prefix ps: <http://www.wikidata.org/prop/statement/> .
@prefix psv: <http://www.wikidata.org/prop/statement/value/> .
@prefix pq: <http://www.wikidata.org/prop/qualifier/> .
@prefix pqv: <http://www.wikidata.org/prop/qualifier/value/> .
@prefix pr: <http://www.wikidata.org/prop/reference/> .
@prefix wdno: <http://www.wikidata.org/prop/novalue/> .

wikibase:Dump a schema:Dataset ;
\tschema:softwareVersion "1.0.0" .

"""
TURTLE = (
    PREFIXES
    + """wdata:Q42 a schema:Dataset ;
\tschema:about wd:Q42 ;
\tschema:version "7"^^xsd:integer ;
\tschema:softwareVersion "1.0.0" ;
\twikibase:statements "4"^^xsd:integer .

wd:Q42 a wikibase:Item .

<https://en.wikipedia.org/wiki/Douglas_Adams> a schema:Article ;
\tschema:about wd:Q42 ;
\tschema:inLanguage "en" ;
\tschema:isPartOf <https://en.wikipedia.org/> ;
\tschema:name "Douglas Adams"@en .

<https://en.wikipedia.org/> wikibase:wikiGroup "wikipedia" .

wd:Q42 rdfs:label "Douglas \\"Noël\\" Adams"@de ;
\tskos:prefLabel "Douglas Adams"@en ;
\tschema:name "Douglas Adams"@en ;
\trdfs:label "Douglas Adams"@en ;
\tschema:description "writer"@en ;
\tskos:altLabel "DNA"@en, "x"@fr ;
\twdt:P31 wd:Q5 ;
\twdt:P569 "1952-03-11T00:00:00Z"^^xsd:dateTime ;
\twdt:P20 _:4f ;
\ta wdno:P40 ;
\tp:P31 wds:q42-F078E5B3 ;
\tp:P569 wds:Q42-D8404CDA ;
\tp:P20 wds:Q42-A ;
\tp:P40 wds:Q42-B .

wds:q42-F078E5B3 a wikibase:Statement, wikibase:BestRank ;
\twikibase:rank wikibase:NormalRank ;
\tps:P31 wd:Q5 ;
\tpq:P580 "1952-01-01T00:00:00Z"^^xsd:dateTime ;
\tpqv:P580 wdv:aa ;
\ta wdno:P582 ;
\tprov:wasDerivedFrom wdref:cc .

wdref:cc a wikibase:Reference ;
\tpr:P248 wd:Q36578 .

wdv:aa a wikibase:TimeValue ;
\twikibase:timeValue "1952-01-01T00:00:00Z"^^xsd:dateTime ;
\twikibase:timePrecision "9"^^xsd:integer ;
\twikibase:timeTimezone "0"^^xsd:integer ;
\twikibase:timeCalendarModel wd:Q1985727 .

wds:Q42-D8404CDA a wikibase:Statement, wikibase:BestRank ;
\twikibase:rank wikibase:PreferredRank ;
\tps:P569 "1952-03-11T00:00:00Z"^^xsd:dateTime ;
\tpsv:P569 wdv:bb .

wds:Q42-A a wikibase:Statement, wikibase:BestRank ;
\twikibase:rank wikibase:NormalRank ;
\tps:P20 _:5a .

wds:Q42-B a wikibase:Statement, wikibase:BestRank ;
\twikibase:rank wikibase:NormalRank ;
\ta wdno:P40 .

wdata:P569 a schema:Dataset ;
\tschema:about wd:P569 .

wd:P569 a wikibase:Property ;
\trdfs:label "date of birth"@en ;
\twikibase:propertyType wikibase:Time ;
\twikibase:directClaim wdt:P569 .

p:P569 a owl:ObjectProperty .

wdno:P569 a owl:Class ;
\towl:complementOf _:0b .

_:0b a owl:Restriction ;
\towl:onProperty wdt:P569 ;
\towl:someValuesFrom owl:Thing .

wdv:bb a wikibase:TimeValue ;
\twikibase:timePrecision "11"^^xsd:integer ;
\twikibase:timeCalendarModel wd:Q1985727 .
"""
)


def test_full_dump_by_hand(tmp_path) -> None:
    (tmp_path / "d.ttl").write_text(TURTLE)
    made = run(tmp_path / "d.ttl", tmp_path / "parts", language="en,de")
    assert rows(made, "entities")[:2] == [("Q42", "item", None, False), ("P569", "property", "time", False)]
    assert ids(made, stubs=True) == ["Q5", "Q36578", "Q1985727", "P20", "P31", "P40", "P248", "P580", "P582"]
    assert rows(made, "terms") == [
        ("Q42", "label", "en", "Douglas Adams"), ("Q42", "label", "de", 'Douglas "Noël" Adams'),
        ("Q42", "description", "en", "writer"), ("Q42", "alias", "en", "DNA"), ("P569", "label", "en", "date of birth"),
    ]  # fmt: skip
    shown = "id, property, rank, best, snak, datatype, value, target, precision, calendar"
    assert rows(made, "statements", shown) == [
        ("q42$F078E5B3", "P31", "normal", True, "value", "wikibase-item", "Q5", "Q5", None, None),
        ("Q42$D8404CDA", "P569", "preferred", True, "value", "time", "1952-03-11T00:00:00Z", None, 11, "Q1985727"),
        ("Q42$A", "P20", "normal", True, "somevalue", None, None, None, None, None),
        ("Q42$B", "P40", "normal", True, "novalue", None, None, None, None, None),
    ]  # fmt: skip
    assert rows(made, "qualifiers", "statement, property, position, snak, value, precision") == [
        ("q42$F078E5B3", "P580", 0, "value", "1952-01-01T00:00:00Z", 9),
        ("q42$F078E5B3", "P582", 1, "novalue", None, None),
    ]  # fmt: skip
    assert rows(made, "sitelinks") == [
        ("Q42", "enwiki", "Douglas Adams", "https://en.wikipedia.org/wiki/Douglas_Adams")
    ]
    genid = "<http://www.wikidata.org/.well-known/genid/{}>"
    found = set(map(shortened, lines(made)))
    page = "<https://en.wikipedia.org/wiki/Douglas_Adams>"
    assert found == {
        'wd:Q42 schema:version "7"^^xsd:integer', 'wd:Q42 wikibase:statements "4"^^xsd:integer',
        f"{page} rdf:type schema:Article", f"{page} schema:about wd:Q42", f'{page} schema:inLanguage "en"',
        f"{page} schema:isPartOf <https://en.wikipedia.org/>", f'{page} schema:name "Douglas Adams"@en',
        '<https://en.wikipedia.org/> wikibase:wikiGroup "wikipedia"',
        'wd:Q42 rdfs:label "Douglas \\"Noël\\" Adams"@de', 'wd:Q42 rdfs:label "Douglas Adams"@en',
        'wd:Q42 schema:description "writer"@en', 'wd:Q42 skos:altLabel "DNA"@en', "wd:Q42 wdt:P31 wd:Q5",
        'wd:Q42 wdt:P569 "1952-03-11T00:00:00Z"^^xsd:dateTime', "wd:Q42 wdt:P20 genid:*", "wd:Q42 rdf:type wdno:P40",
        "wd:Q42 p:P31 wds:q42-F078E5B3", "wd:Q42 p:P569 wds:Q42-D8404CDA", "wd:Q42 p:P20 wds:Q42-A",
        "wd:Q42 p:P40 wds:Q42-B",
        "wds:q42-F078E5B3 rdf:type wikibase:BestRank", "wds:q42-F078E5B3 wikibase:rank wikibase:NormalRank",
        "wds:q42-F078E5B3 ps:P31 wd:Q5", 'wds:q42-F078E5B3 pq:P580 "1952-01-01T00:00:00Z"^^xsd:dateTime',
        "wds:q42-F078E5B3 pqv:P580 wdv:*", "wds:q42-F078E5B3 rdf:type wdno:P582",
        "wds:q42-F078E5B3 prov:wasDerivedFrom wdref:cc", "wdref:cc pr:P248 wd:Q36578",
        "wdv:* rdf:type wikibase:TimeValue", 'wdv:* wikibase:timeValue "1952-01-01T00:00:00Z"^^xsd:dateTime',
        'wdv:* wikibase:timePrecision "9"^^xsd:integer', 'wdv:* wikibase:timeTimezone "0"^^xsd:integer',
        "wdv:* wikibase:timeCalendarModel wd:Q1985727", 'wdv:* wikibase:timePrecision "11"^^xsd:integer',
        "wds:Q42-D8404CDA rdf:type wikibase:BestRank", "wds:Q42-D8404CDA wikibase:rank wikibase:PreferredRank",
        'wds:Q42-D8404CDA ps:P569 "1952-03-11T00:00:00Z"^^xsd:dateTime', "wds:Q42-D8404CDA psv:P569 wdv:*",
        "wds:Q42-A rdf:type wikibase:BestRank", "wds:Q42-A wikibase:rank wikibase:NormalRank",
        "wds:Q42-A ps:P20 genid:*",
        "wds:Q42-B rdf:type wikibase:BestRank", "wds:Q42-B wikibase:rank wikibase:NormalRank",
        "wds:Q42-B rdf:type wdno:P40",
        "wd:P569 rdf:type wikibase:Property", 'wd:P569 rdfs:label "date of birth"@en',
        "wd:P569 wikibase:propertyType wikibase:Time", "wd:P569 wikibase:directClaim wdt:P569",
    }  # fmt: skip
    assert [line for line in lines(made) if genid.format("4f") in line]  # a blank node keeps its label


TYPE, DATASET = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>", "<http://schema.org/Dataset>"
PAGE = "<https://www.wikidata.org/wiki/Special:EntityData/{}>"
ENTITY, WDT = "http://www.wikidata.org/entity/", "http://www.wikidata.org/prop/direct/"
BELGIUM = f"<{ENTITY}Q31>"
NT = f"""<http://wikiba.se/ontology#Dump> <http://creativecommons.org/ns#license> <http://example.org/> .
{PAGE.format("Q31")} {TYPE} {DATASET} .
{PAGE.format("Q31")} <http://schema.org/about> {BELGIUM} .
{BELGIUM} <http://www.w3.org/2000/01/rdf-schema#label> "Belgi\\u00EB"@nl .
{BELGIUM} <{WDT}P31> <{ENTITY}Q3624078> .
{BELGIUM} <{WDT}P1082> "+11431406"^^<http://www.w3.org/2001/XMLSchema#decimal> .
{BELGIUM} <{WDT}P625> "Point(4.668055555 50.641111111)"^^<http://www.opengis.net/ont/geosparql#wktLiteral> .
{BELGIUM} <{WDT}P41> <http://commons.wikimedia.org/wiki/Special:FilePath/Flag%20of%20Belgium.svg> .
{BELGIUM} <{WDT}P856> <http://www.belgium.be/a[b]> .
{BELGIUM} <{WDT}P1448> "K\\u00F6nig\\u2028reich"@de .
{BELGIUM} <{WDT}P20> _:genid1 .
{BELGIUM} {TYPE} <http://www.wikidata.org/prop/novalue/P40> .
"""


@pytest.mark.parametrize("pages", [True, False])
def test_truthy_dump_by_hand(tmp_path, pages: bool) -> None:
    content = NT if pages else "".join(line for line in NT.splitlines(keepends=True) if "Special:Entity" not in line)
    (tmp_path / "d.nt.bz2").write_bytes(bz2.compress(content.encode()))
    made = run(tmp_path / "d.nt.bz2", tmp_path / "parts", language="en,nl")
    shown = f"regexp_extract(id, '^Q31.P[0-9]+.'), property, rank, best, {COLUMNS}"

    def row(prop: str, kind: str | None, shown: str | None, snak: str = "value", **more: Any) -> tuple[Any, ...]:
        columns = dict.fromkeys(COLUMNS.split(", ")) | {"snak": snak, "datatype": kind, "value": shown} | more
        return (f"Q31${prop}$", prop, "normal", True, *columns.values())

    assert rows(made, "statements", shown) == [
        row("P31", "wikibase-item", "Q3624078", target="Q3624078"),
        row("P1082", "quantity", "11431406", amount=11431406.0),
        row("P625", "globe-coordinate", "Point(4.668055555 50.641111111)", latitude=50.641111111, longitude=4.668055555,
            globe="Q2"),
        row("P41", "commonsMedia", "Flag of Belgium.svg"), row("P856", "url", "http://www.belgium.be/a%5Bb%5D"),
        row("P1448", "monolingualtext", "König\u2028reich", language="de"), row("P20", None, None, "somevalue"),
        row("P40", None, None, "novalue"),
    ]  # fmt: skip
    assert len({name for (name,) in rows(made, "statements", "id")}) == 8
    assert rows(made, "terms") == [("Q31", "label", "nl", "België")]
    assert f"{BELGIUM} <{WDT}P856> <http://www.belgium.be/a%5Bb%5D> ." in lines(made)


# -- as a JSON dump ---------------------------------------------------------------------------------------------------

METRES = {"amount": "+1.5", "unit": f"{ENTITY}Q11573", "upperBound": "+2", "lowerBound": "+1"}
MOON = {"latitude": 1.5, "longitude": -2, "precision": 0.1, "globe": f"{ENTITY}Q405"}
VARIED = [
    named("Q1",
          statement(time("P2", "-0044-03-15T00:00:00Z", 11, JULIAN), "Q1$a", "preferred", qualifiers={
              "P3": [value("P3", "quantity", "quantity", METRES), special("P3", "novalue", "quantity")],
              "P4": [special("P4", "somevalue"), item("P4", "Q7")]}),
          statement(time("P2", "+1500-00-00T00:00:00Z", 9), "Q1$b", "deprecated"),
          statement(value("P5", "globe-coordinate", "globecoordinate", MOON), "Q1$c"),
          statement(text("P6", "url", "http://a.org/?b=c"), "Q1$d", references=[
              {"hash": "0a", "snaks": {"P2": [time("P2", "+2020-01-01T00:00:00Z")]}}]),
          statement(special("P2", "novalue", "time"), "Q1$e"), statement(special("P6", "somevalue", "url"), "Q1$f"),
          sitelinks={"frwiki": {"site": "frwiki", "title": "A b", "badges": []},
                     "commonswiki": {"site": "commonswiki", "title": "C", "badges": []},
                     "be_x_oldwiki": {"site": "be_x_oldwiki", "title": "D", "badges": []}}, lastrevid=3),
    named("P2", datatype="time"), named("P3", datatype="quantity"), named("P4"), named("P6", datatype="url"),
    named("P5", statement(item("P4", "Q1"), "P5$a"), datatype="globe-coordinate"),
    {"type": "lexeme", "id": "L9", "lemmas": {"en": {"value": "go"}}, "language": "Q1860", "lexicalCategory": "Q1",
     "claims": {}, "senses": [], "forms": [{"id": "L9-F1", "representations": {"en": {"value": "goes"}},
     "grammaticalFeatures": [], "claims": {"P4": [statement(item("P4", "Q1"), "L9-F1$a")]}}]},
]  # fmt: skip


def as_rdf(made: Converted, path: Path) -> Path:
    """A dump of what a conversion made: pages and types put in, values and references at the end."""
    own, out, current = [], [], ""
    for part in made.quads:
        own += gzip.decompress(part.read_bytes()).decode().splitlines()
    shared = sorted(set(lines(made)) - set(own))
    for line in own:
        found = re.match(r"<http://www\.wikidata\.org/entity/([QPL][0-9]+)[->]", line)
        if found and found[1] != current:
            current = found[1]
            out.append(f"{PAGE.format(current)} {TYPE} {DATASET} .")
            out.append(f"<{ENTITY}{current}> {TYPE} <http://wikiba.se/ontology#Item> .")
        out.append(line)
    path.write_bytes(gzip.compress("\n".join([*out, *shared, ""]).encode()))
    return path


def compare(one: Converted, other: Converted) -> None:
    for table in one.tables:
        assert sorted(map(repr, rows(one, table))) == sorted(map(repr, rows(other, table))), table
    assert set(lines(one)) == set(lines(other))


def test_rdf_says_what_json_does(tmp_path) -> None:
    made = run(write(tmp_path / "d.json", VARIED), tmp_path / "json")
    dump = as_rdf(made, tmp_path / "d.nt.gz")
    again = run(dump, tmp_path / "rdf")
    compare(made, again)
    for options in ({"ids": "P5", "hops": "1"}, {"ids": "L9"}):
        name = "-".join(options.values())
        chosen = [run(path, tmp_path / f"{name} {path.suffixes}", **options) for path in (tmp_path / "d.json", dump)]
        compare(*chosen)
    without = [
        run(path, tmp_path / f"no {path.suffixes}", triples="no", sitelinks="no")
        for path in (tmp_path / "d.json", dump)
    ]
    assert rows(without[1], "sitelinks") == []
    assert not without[1].quads
    assert sorted(rows(without[0], "statements")) == sorted(rows(without[1], "statements"))


@pytest.mark.parametrize(
    ("options", "expected"),
    [({"class": "Q5"}, "Q1 Q2 Q3"), ({"property": "P212=978"}, "Q8"), ({"property": "P106"}, "Q1 Q3 Q8"),
     ({"ids": "Q1,Q80", "hops": "1", "limit": "3"}, "Q5 Q1 Q80"),
     ({"limit": "3"}, "Q5 Q10 Q11")],
)  # fmt: skip
def test_choices_in_rdf(rdf_graph, tmp_path, options: dict[str, str], expected: str) -> None:
    made = run(rdf_graph, tmp_path / "parts", triples="no", **options)
    assert [name for name in ids(made) if name[0] == "Q"] == expected.split()


@pytest.fixture(scope="module")
def rdf_graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rdf")
    return as_rdf(run(write(folder / "d.json", GRAPH), folder / "parts"), folder / "d.nt.gz")


@pytest.mark.parametrize("form", ["nt", "nt without pages", "ttl"])
def test_pieces_end_between_entities(tmp_path, monkeypatch, form: str) -> None:
    monkeypatch.setattr(passes, "_MIN_PIECE", 25_000)
    monkeypatch.setattr(passes, "workers", lambda: 1)
    entities = [*MANY[:150], linked("P31"), linked("P50")]
    made = run(write(tmp_path / "d.json", entities), tmp_path / "json")
    dump = as_rdf(made, tmp_path / "d.nt.gz")
    text = gzip.decompress(dump.read_bytes()).decode()
    if form == "ttl":
        page = re.compile(r"^<https://www\.wikidata\.org/wiki/Special:EntityData/(\w+)> \S+ \S+ \.$", re.MULTILINE)
        text = PREFIXES + page.sub(r"\nwdata:\1 a schema:Dataset ;\n\tschema:about wd:\1 .", text)
        dump = tmp_path / "d.ttl"
        dump.write_text(text)
    elif "without" in form:
        dump.write_bytes(
            gzip.compress("".join(line for line in text.splitlines(keepends=True) if "Special:" not in line).encode())
        )
    again = run(dump, tmp_path / "rdf")
    assert len(again.quads) > 3
    compare(made, again)


# -- broken dumps -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("d.nt", NT + "<http://a.org/a> <http://a.org/b> \"c .\n", "line 13"),
        ("d.nt", NT.splitlines()[0][:-20], "line 1"),
        ("d.ttl", "wd:Q1 a wd:Q2 .\n", "d.ttl"),
        ("d.ttl", PREFIXES + "wdata:Q1 a schema:Dataset ;\n\tschema:about wd:Q1 .\nwd:Q1 nope:x 1 .\n",
         "line 29"),
        ("d.nt", "", "No entity"),
        ("d.nt", "<http://a.org/a> <http://a.org/b> <a:c> .\n", "No entity"),
    ],
)  # fmt: skip
def test_broken_rdf(tmp_path, name: str, content: str, message: str, wording: Wording) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(BadInputError) as error:
        run(path, tmp_path / "parts")
    wording(mentions(str(error.value), f"{path} | {message}"), replace={str(tmp_path): "DIR"})


@pytest.mark.parametrize("options", [{}, pytest.param({"property": "P31"}, marks=pytest.mark.system)], ids=str)
def test_bad_lines_of_ntriples_are_skipped_and_counted(options: dict[str, str], tmp_path, monkeypatch) -> None:
    """Also an entity with an invalid value, which is one bad line."""
    dump = as_rdf(run(write(tmp_path / "d.json", MANY[:40]), tmp_path / "json"), tmp_path / "d.nt.gz")
    good = gzip.decompress(dump.read_bytes()).decode().splitlines()
    odd = [
        f"{PAGE.format('Q5000')} {TYPE} {DATASET} .",
        f'<{ENTITY}Q5000> <http://www.wikidata.org/prop/direct/P7> "x"^^<http://www.w3.org/2001/XMLSchema#decimal> .',
    ]
    start = good.index(f"{PAGE.format('Q20')} {TYPE} {DATASET} .")
    mixed = tmp_path / "mixed.nt"
    mixed.write_text("\n".join(["garbage", *good[:start], *odd, *good[start:], '<http://a.org/a> "b" "c" .']) + "\n")
    expected = run(dump, tmp_path / "other", **options)
    monkeypatch.setattr(passes, "_MIN_PIECE", 2000)
    made = run(mixed, tmp_path / "parts", **options, skip_bad_lines="yes")
    compare(made, expected)
    assert (made.left_out["bad_lines"], made.first_bad_line.partition(":")[0]) == (
        3 - bool(options),
        "mixed.nt, line 1",
    )


def test_broken_later_in_turtle(tmp_path, monkeypatch, wording) -> None:
    """The prefixes that are put before each piece do not count as lines."""
    monkeypatch.setattr(passes, "_MIN_PIECE", 2000)
    blocks = [
        f"wdata:Q{n} a schema:Dataset ;\n\tschema:about wd:Q{n} .\n\nwd:Q{n} wdt:P31 wd:Q5 .\n\n" for n in range(1, 100)
    ]
    path = tmp_path / "d.ttl"
    path.write_text(PREFIXES + "".join(blocks) + "wd:Q1 wdt:P31 oops .\n")
    number = path.read_text().count("\n")
    with pytest.raises(BadInputError) as caught:
        run(path, tmp_path / "parts")
    wording(mentions(str(caught.value), f"d.ttl | {number}"), replace={str(tmp_path): "DIR"})


def test_kinds_do_not_mix(tmp_path, wording) -> None:
    (tmp_path / "d.nt").write_text(NT)
    other = write(tmp_path / "d.json", GRAPH)
    with pytest.raises(BadInputError) as caught:
        convert([tmp_path / "d.nt", other], {}, tmp_path / "parts", lambda done, total: None)
    wording(mentions(str(caught.value), "d.nt | d.json"), replace={str(tmp_path): "DIR"})
