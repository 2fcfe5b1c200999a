"""What a folder declares about its tables is used, unless its rows contradict it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from kbkit.errors import BadInputError
from kbkit.ingestion.inference import infer, recognize
from kbkit.ingestion.json_markers import bindings, named_values
from kbkit.readers.sql_tables import created_tables
from tests.ingestion.test_exports import Files, Nodes, check_export, written

# Nothing in the names of these columns says what they refer to.
SPOTS = "nr,label\n1,Meadow\n2,Forest\n3,Lake\n"
CATCHES = "which,at,kilos\na,1,2.5\nb,1,3.5\nc,3,1.0\nd,2,4.5\n"
KINDS = "a;Perch\nb;Pike\nc;Eel\nd;Carp\n"
PACKAGE: Files = {
    "datapackage.json": {
        "resources": [
            {"name": "spots", "path": "data/spots.csv", "schema": {"primaryKey": "nr"}},
            {
                "name": "kinds",
                "path": "data/kinds.csv",
                "dialect": {"delimiter": ";", "header": False},
                "schema": {"fields": [{"name": "code"}, {"name": "title"}], "primaryKey": ["code"]},
            },
            {
                "name": "catches",
                "path": ["data/catches.csv"],
                "schema": {
                    "foreignKeys": [
                        {"fields": "at", "reference": {"resource": "spots", "fields": "nr"}},
                        {"fields": ["which"], "reference": {"resource": "kinds", "fields": ["code"]}},
                    ]
                },
            },
            {"name": "far", "path": "../far.csv", "schema": {"primaryKey": "x"}},
        ]
    },
    "data/spots.csv": SPOTS,
    "data/kinds.csv": KINDS,
    "data/catches.csv": CATCHES,
}
WEB: Files = {
    "csv-metadata.json": {
        "@context": ["http://www.w3.org/ns/csvw", {"@language": "en"}],
        "tables": [
            {
                "url": "spots.csv",
                "tableSchema": {"columns": [{"name": "n"}, {"name": "l"}], "primaryKey": "n"},
            },
            {
                "url": "catches.csv",
                "tableSchema": {
                    "columns": [{"name": "w"}, {"name": "a"}, {"name": "k"}],
                    "primaryKey": "w",
                    "foreignKeys": [
                        {"columnReference": "a", "reference": {"resource": "spots.csv", "columnReference": "n"}}
                    ],
                },
            },
        ],
    },
    "spots.csv": SPOTS,
    "catches.csv": CATCHES,
}  # fmt: skip
DDL = """-- CREATE TABLE old (nr INT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS public."Spots" (nr integer NOT NULL, label varchar(20) DEFAULT 'a, (b', CHECK (nr > 0));
CREATE TABLE `catches` (
    which text PRIMARY KEY, at int REFERENCES spots, kilos numeric(5,2), UNIQUE (which, at)
);
ALTER TABLE ONLY public."Spots" ADD CONSTRAINT spots_key PRIMARY KEY (nr);
"""
ARCHIVE: Files = {
    "meta.xml": """<archive xmlns="http://rs.tdwg.org/dwc/text/" metadata="eml.xml">
<core fieldsTerminatedBy="\\t" fieldsEnclosedBy="" rowType="http://rs.tdwg.org/dwc/terms/Taxon">
<files><location>taxon.txt</location></files><id index="0"/>
<field index="1" term="http://rs.tdwg.org/dwc/terms/scientificName"/>
<field index="2" term="http://rs.tdwg.org/dwc/terms/taxonRank"/></core>
<extension fieldsTerminatedBy="\\t" fieldsEnclosedBy="" rowType="http://rs.gbif.org/terms/1.0/VernacularName">
<files><location>vernacular.txt</location></files><coreid index="0"/>
<field index="1" term="http://rs.tdwg.org/dwc/terms/vernacularName"/></extension></archive>""",
    "eml.xml": "<eml><dataset><title>Fish</title></dataset></eml>",
    "taxon.txt": "t1\tPerca fluviatilis\tspecies\nt2\tEsox lucius\tspecies\nt3\tEsox\tgenus\n",
    "vernacular.txt": "t1\tPerch\nt1\tBass\nt2\tPike\nt3\tPikes\n",
}
MAP: Files = {
    "interpreter.json": {
        "version": 0.6,
        "generator": "Overpass API",
        "elements": [
            {"type": "node", "id": 1, "lat": 52.5, "lon": 13.4, "tags": {"name": "Gate", "addr:postcode": "01067"}},
            {"type": "node", "id": 2, "lat": 52.6, "lon": 13.5},
            {"type": "way", "id": 1, "nodes": [1, 2], "tags": {"name": "Ring", "type": "road"}},
            {"type": "relation", "id": 7, "members": [{"type": "way", "ref": 1, "role": "outer"}]},
        ],
    }
}  # fmt: skip
TERMS = """format-version: 1.2

[Term]
id: X:1
name: cell
def: "A \\"unit\\" of life." [X:curator]
is_a: X:2 {source="a"} ! thing
relationship: part_of X:3 ! body
synonym: "cellula" EXACT []

[Term]
id: X:2
name: thing
is_obsolete: true

[Term]
id: X:3
name: body
is_a: X:2

[Typedef]
id: part_of
name: part of
"""
ANNOTATIONS = "!gaf-version: 2.2\n!generated-by: X\n" + "".join(
    f"DB\tP{n}\tG{n}\tenables\tX:{1 + n % 3}\tPMID:1{n}\tIDA\t\tF\tgene {n}\t\tprotein\ttaxon:9606\t20240102\tX\t\t\n"
    for n in (1, 1, 2, 3, 4, 4)
)
ROWS: Files = {
    "countries.json": {
        "head": {"vars": ["country", "label", "population"]},
        "results": {
            "bindings": [
                {
                    "country": {"type": "uri", "value": f"http://x.example/Q{n}"},
                    "label": {"type": "literal", "value": f"Land {n}", "xml:lang": "en"},
                    "population": {"type": "literal", "value": f"{n}00", "datatype": "http://x#integer"},
                }
                for n in range(1, 4)
            ]
        },
    }
}


@pytest.mark.parametrize(
    ("files", "types", "relations", "nodes"),
    [
        pytest.param(
            PACKAGE,
            {"spot": 3, "kind": 4},
            {"kind catches spot 4"},
            {"spot#1": {"name": "Meadow"}, "kind#a": {"name": "Perch"}},
            id="data package",
        ),
        pytest.param(WEB, {"spot": 3, "catch": 4}, {"catch at spot 4"}, {"catch#a": {"kilos": 2.5}}, id="web"),
        pytest.param(
            {"schema.sql": DDL, "spots.csv": SPOTS, "catches.csv": CATCHES},
            {"spot": 3, "catch": 4},
            {"catch at spot 4"},
            {"spot#2": {"name": "Forest"}},
            id="sql",
        ),
        pytest.param(
            ARCHIVE,
            {"taxon": 3, "vernacular": 4},
            {"vernacular core taxon 4"},
            {"taxon#t2": {"name": "Esox lucius", "taxonRank": "species"}},
            id="archive",
        ),
        pytest.param(
            MAP,
            {"node": 2, "way": 1, "relation": 1},
            {"way node node 2", "relation outer way 1"},
            {"node#1": {"name": "Gate", "addr:postcode": "01067"}, "way#1": {"name": "Ring"}},
            id="map",
        ),
        pytest.param(
            {"slim.obo": TERMS, "x.gaf": ANNOTATIONS},
            {"term": 3, "db_object": 4},
            {"term is term 2", "term part_of term 1", "db_object x term 4"},
            {"term#X:1": {"name": "cell", "def": 'A "unit" of life.'}},
            id="ontology",
        ),
        pytest.param(ROWS, {"country": 3}, set(), {"Land 2": {"population": 200}}, id="rows of SPARQL"),
    ],
)
def test_declarations_and_formats_decide(
    files: Files, types: Mapping[str, int], relations: set[str], nodes: Nodes, tmp_path: Path
) -> None:
    check_export(tmp_path, files, types, relations, nodes)


def test_an_archive_declares_the_same(tmp_path: Path) -> None:
    shutil.make_archive(str(tmp_path / "fish"), "zip", written(tmp_path / "in", ARCHIVE))
    found = infer([tmp_path / "fish.zip"], "x")
    assert "Read what meta.xml declares: keys, links and columns" in found.notes
    assert {nodes.table.name: nodes.key for nodes in found.plan.nodes}["taxon"] == ("id",)


def test_what_the_rows_contradict_is_not_used_and_told(tmp_path: Path) -> None:
    ddl = "CREATE TABLE spots (nr int PRIMARY KEY); CREATE TABLE catches (gone int REFERENCES spots (nr));"
    files: Files = {"schema.sql": ddl, "spots.csv": f"{SPOTS}3,Pond\n", "catches.csv": CATCHES}
    found = infer([written(tmp_path, files)], "x")
    assert "Not as declared in schema.sql: nr does not identify the rows of spots" in found.notes
    assert "Not as declared in schema.sql: catches has no link by gone to spots" in found.notes
    assert not any(nodes.links for nodes in found.plan.nodes)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("datapackage.json", '{"resources": [{"name": 1, "path": 2, "schema": [3]}, 4, {"path": "x"}]}'),
        (
            "datapackage.json",
            '{"resources": [{"name": [1], "path": "spots.csv", "schema": {"primaryKey": [2], "foreignKeys": [{"fields":'
            ' "nr", "reference": {"resource": {"a": 1}}}]}}]}',
        ),
        ("datapackage.json", "[1"),
        ("csv-metadata.json", '{"@context": "http://www.w3.org/ns/csvw", "tables": [{"url": 5}, {"tableSchema": 6}]}'),
        (
            "csv-metadata.json",
            '{"@context": "http://www.w3.org/ns/csvw", "url": "spots.csv", "tableSchema": {"@id": [1], "foreignKeys":'
            ' {"columnReference": "nr", "reference": {"schemaReference": {"a": 1}}}}}',
        ),
        ("meta.xml", '<archive><core><id index="x"/><files/></core></archive>'),
        ("schema.sql", "CREATE TABLE spots (nr int PRIMARY KEY, ((("),
    ],
)
def test_broken_declarations_leave_the_tables_as_they_are(name: str, content: str, tmp_path: Path) -> None:
    folder = written(tmp_path, {"spots.csv": SPOTS, name: content})
    try:
        assert "spots" in {nodes.table.name for nodes in infer([folder], "x").plan.nodes}
    except BadInputError as error:  # of a file that is read as a table then
        assert name in error.message


def test_keys_of_sql_in_several_dialects() -> None:
    found = created_tables(f"{DDL}CREATE TABLE [dbo].[line] ([a] int, [b] int, PRIMARY KEY CLUSTERED ([a], [b]));")
    assert {name: table.primary for name, table in found.items()} == {
        "spots": ("nr",),
        "catches": ("which",),
        "line": ("a", "b"),
    }
    assert found["catches"].foreign == ((("at",), "spots", ()),)


def test_only_codes_of_one_form_name_texts() -> None:
    codes = {"AF": "Africa", "AN": "Antarctica", "AS": "Asia", "EU": "Europe", "NA": "North America"}
    assert named_values(codes)[0] == {"key": "AF", "name": "Africa"}
    assert named_values(dict.fromkeys(("name", "city", "size", "kind", "note"), "x")) == []
    assert bindings({"head": {"vars": ["x"]}, "results": {"bindings": [{"x": 1}]}}) == []


def test_nodes_of_neo4j_have_labels(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"type": "node", "id": "0", "labels": ["A"], "properties": {}}', encoding="utf-8")
    assert recognize.recognize([path]) == "neo4j"
    path.write_text('{"elements": 1, "x": [{"type": "node", "id": 0, "lat": 1}]}', encoding="utf-8")
    assert recognize.recognize([path]) != "neo4j"
