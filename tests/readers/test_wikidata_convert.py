"""Dumps of Wikidata into tables: their forms, choices of entities, broken dumps, and builds that were stopped."""

from __future__ import annotations

import bz2
import gzip
import json
import re
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbkit.errors import BadInputError, KbError
from kbkit.readers.converted import Converted
from kbkit.readers.wikidata import passes
from kbkit.readers.wikidata.convert import convert, estimate
from kbkit.readers.wikidata.selection import IdSet
from tests.kbs import mentions
from tests.readers.test_wikidata_rdf import JULIAN, entity, item, special, statement, text, time, value
from tests.wording import Wording


def named(name: str, *statements: dict[str, Any], **more: Any) -> dict[str, Any]:
    labels = {"en": {"language": "en", "value": f"name of {name}"}}
    own = {"type": "property", "datatype": "wikibase-item"} if name[0] == "P" else {}
    return entity(*statements, **{"id": name, "labels": labels, **own, **more})


def linked(name: str, **targets: str) -> dict[str, Any]:
    """An entity with statements P31="Q5 Q6", each of normal rank."""
    made = [
        statement(item(prop, target), f"{name}${prop}-{target}")
        for prop, ends in targets.items()
        for target in ends.split()
    ]
    return named(name, *made)


def write(path: Path, entities: list[dict[str, Any]], form: str = "array") -> Path:
    lines = [json.dumps(one) for one in entities]
    content = {"array": "[\n" + ",\n".join(lines) + "\n]\n", "lines": "\n".join(lines) + "\n"}.get(form, form)
    data = content.encode()
    if path.suffix == ".gz":
        data = gzip.compress(data)
    elif path.suffix == ".bz2":  # two streams, as parallel packers write
        data = bz2.compress(data[: len(data) // 2]) + bz2.compress(data[len(data) // 2 :])
    path.write_bytes(data)
    return path


def run(path: Path | list[Path], folder: Path, **options: str) -> Converted:
    return convert(path if isinstance(path, list) else [path], options, folder, lambda done, total: None)


def rows(made: Converted, table: str, columns: str = "*") -> list[tuple[Any, ...]]:
    return duckdb.sql(f"SELECT {columns} FROM read_parquet({[str(p) for p in made.tables[table]]})").fetchall()


def ids(made: Converted, *, stubs: bool = False) -> list[str]:
    return [name for name, stub in rows(made, "entities", "id, stub") if stub == stubs]


def lines(made: Converted) -> list[str]:
    own = "".join(gzip.decompress(part.read_bytes()).decode() for part in made.quads).splitlines()
    shared = [line for part in made.shared for (line,) in duckdb.read_parquet(str(part)).fetchall()]
    return sorted(own) + sorted(set(shared))


# -- forms ------------------------------------------------------------------------------------------------------------

TWO = [linked("Q1", P31="Q5"), linked("Q2", P31="Q5 Q6")]


@pytest.mark.parametrize(
    ("name", "form"),
    [("d.json", "array"), ("d.json.gz", "array"), ("d.json.bz2", "array"), ("d.jsonl", "lines"),
     ("d.jsonl.gz", "lines"), ("d.json", "lines"),
     ("d.json", "\ufeff[\r\n" + json.dumps(TWO[0]) + ",\r\n" + json.dumps(TWO[1]) + "\r\n]"),
     ("d.json", json.dumps({"entities": {"Q1": TWO[0], "Q2": TWO[1]}, "success": 1})),
     ("d.json", json.dumps({"entities": {"Q1": TWO[0], "Q2": TWO[1], "Q9": {"id": "Q9", "missing": ""}}}, indent=1)),
     ("d.json", json.dumps(TWO)), ("d.json", json.dumps(TWO, indent=2)), ("d.json.gz", json.dumps(TWO, indent=2)),
     ("d.json", "[" + json.dumps(TWO[0]) + ",\n" + json.dumps(TWO[1]) + "]")],
)  # fmt: skip
def test_every_form_of_dump(tmp_path, name: str, form: str) -> None:
    made = run(write(tmp_path / name, TWO, form), tmp_path / "parts", triples="no")
    assert ids(made) == ["Q1", "Q2"]
    assert ids(made, stubs=True) == ["Q5", "Q6", "P31"]
    assert rows(made, "statements", "id, target, best") == [
        ("Q1$P31-Q5", "Q5", True), ("Q2$P31-Q5", "Q5", True), ("Q2$P31-Q6", "Q6", True),
    ]  # fmt: skip


@pytest.mark.system
def test_several_files(tmp_path) -> None:
    paths = [write(tmp_path / f"{place}.json", [one]) for place, one in enumerate(TWO)]
    assert ids(run(paths, tmp_path / "parts")) == ["Q1", "Q2"]


def test_one_entity(tmp_path) -> None:
    assert ids(run(write(tmp_path / "d.json", [], json.dumps(TWO[0], indent=1)), tmp_path / "parts")) == ["Q1"]


def test_the_first_of_an_entity_counts(tmp_path) -> None:
    again = [*TWO, linked("Q1", P31="Q7"), linked("Q3", P31="Q5"), linked("Q2")]
    made = run(write(tmp_path / "d.json", again), tmp_path / "parts")
    assert ids(made) == ["Q1", "Q2", "Q3"]
    assert made.counts["duplicates"] == 2
    assert "Q7" not in ids(made, stubs=True)
    # The id may stand at the end of a line too
    late = [dict(reversed(one.items())) for one in again]
    assert ids(run(write(tmp_path / "e.json", late), tmp_path / "late")) == ["Q1", "Q2", "Q3"]


# -- values -----------------------------------------------------------------------------------------------------------

COLUMNS = (
    "snak, datatype, value, target, precision, calendar, amount, lower, upper, unit, latitude, longitude, globe,"
    " language"
)
WD = "http://www.wikidata.org/entity/"


SHOWN: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (item("P1", "Q5"), {"datatype": "wikibase-item", "value": "Q5", "target": "Q5"}),
    (time("P1", "-0044-03-15T00:00:00Z", 11, JULIAN),
     {"datatype": "time", "value": "-0043-03-13T00:00:00Z", "precision": 11, "calendar": "Q1985786"}),
    (time("P1", "+0000-00-00T00:00:00Z", 9),
     {"datatype": "time", "value": "+0000-00-00T00:00:00Z", "precision": 9, "calendar": "Q1985727"}),
    (value("P1", "quantity", "quantity", {"amount": "+12.50", "unit": WD + "Q11573", "upperBound": "+13",
                                          "lowerBound": "+12"}),
     {"datatype": "quantity", "value": "12.50", "amount": 12.5, "lower": 12.0, "upper": 13.0, "unit": "Q11573"}),
    (value("P1", "quantity", "quantity", {"amount": "-3", "unit": "1"}),
     {"datatype": "quantity", "value": "-3", "amount": -3.0, "unit": "1"}),
    (value("P1", "globe-coordinate", "globecoordinate", {"latitude": -1.5, "longitude": 2, "precision": None,
                                                         "globe": WD + "Q405"}),
     {"datatype": "globe-coordinate", "value": "Point(2 -1.5)", "latitude": -1.5, "longitude": 2.0,
      "globe": "Q405"}),
    (value("P1", "monolingualtext", "monolingualtext", {"text": "Hallo", "language": "de"}),
     {"datatype": "monolingualtext", "value": "Hallo", "language": "de"}),
    (text("P1", "commonsMedia", "A b.jpg"), {"datatype": "commonsMedia", "value": "A b.jpg"}),
    (special("P1", "somevalue"), {"snak": "somevalue", "datatype": "wikibase-item"}),
    (special("P1", "novalue", "time"), {"snak": "novalue", "datatype": "time"}),
    ({"snaktype": "value", "property": "P1",
      "datavalue": {"type": "wikibase-entityid", "value": {"entity-type": "item", "numeric-id": 5}}},
     {"datatype": "wikibase-item", "value": "Q5", "target": "Q5"}),  # as in 2014
    ({"snaktype": "value", "property": "P1",
      "datavalue": {"type": "globecoordinate", "value": {"latitude": 1, "longitude": 2}}},
     {"datatype": "globe-coordinate", "value": "Point(2 1)", "latitude": 1.0, "longitude": 2.0, "globe": "Q2"}),
]  # fmt: skip


def test_columns_of_values(tmp_path) -> None:
    statements = [
        statement(snak, f"Q42${n}", qualifiers={"P2": [{**snak, "property": "P2"}]})
        for n, (snak, _) in enumerate(SHOWN)
    ]
    made = run(write(tmp_path / "d.json", [entity(*statements)]), tmp_path / "parts", triples="no")
    columns = [dict.fromkeys(COLUMNS.split(", ")) | {"snak": "value"} | expected for _, expected in SHOWN]
    assert rows(made, "statements") == [
        (f"Q42${n}", "Q42", "P1", "normal", True, *whole.values()) for n, whole in enumerate(columns)
    ]
    assert rows(made, "qualifiers") == [
        (f"Q42${n}", "Q42", "P2", 0, *whole.values()) for n, whole in enumerate(columns)
    ]
    assert not made.quads
    assert not made.shared


def test_ranks_and_order_of_qualifiers(tmp_path) -> None:
    first = statement(item("P1", "Q1"), "Q42$A", "deprecated", qualifiers={
        "P2": [item("P2", "Q3"), special("P2", "novalue")], "P3": [item("P3", "Q4")]},
        **{"qualifiers-order": ["P3", "P2"]})  # fmt: skip
    dump = write(tmp_path / "d.json", [entity(first, statement(item("P1", "Q2"), "Q42$B", "preferred"),
                                              statement(item("P1", "Q2"), "Q42$C"))])  # fmt: skip
    made = run(dump, tmp_path / "parts")
    assert rows(made, "statements", "id, rank, best") == [
        ("Q42$A", "deprecated", False), ("Q42$B", "preferred", True), ("Q42$C", "normal", False)]  # fmt: skip
    assert rows(made, "qualifiers", "statement, property, position, snak, value") == [
        ("Q42$A", "P3", 0, "value", "Q4"), ("Q42$A", "P2", 1, "value", "Q3"),
        ("Q42$A", "P2", 2, "novalue", None)]  # fmt: skip


def test_entities_terms_and_sitelinks(tmp_path) -> None:
    old = {"id": "Q7", "labels": [], "descriptions": [], "aliases": {"de": {"3": {"language": "de", "value": "x"}}}}
    lexeme = {"type": "lexeme", "id": "L1", "lemmas": {"en": {"language": "en", "value": "go"}}, "forms": [
        {"id": "L1-F1", "representations": {"en": {"language": "en", "value": "goes"}}, "claims": []}], "senses": [
        {"id": "L1-S1", "glosses": {"de": {"language": "de", "value": "gehen"}}, "claims": {}}]}  # fmt: skip
    labels = {code: {"language": code, "value": f"in {code}"} for code in ("fr", "en", "mul", "de")}
    full = entity(labels=labels, sitelinks={"enwiki": {"site": "enwiki", "title": "A b", "badges": []},
                                            "newwiki9": {"site": "newwiki9", "title": "C"}})  # fmt: skip
    dump = write(tmp_path / "d.json", [old, lexeme, full, named("P5", datatype="time")])
    made = run(dump, tmp_path / "parts", language="de,en")
    assert rows(made, "entities") == [
        ("Q7", "item", None, False), ("L1", "lexeme", None, False), ("L1-F1", "form", None, False),
        ("L1-S1", "sense", None, False), ("Q42", "item", None, False), ("P5", "property", "time", False),
    ]  # fmt: skip
    assert rows(made, "terms") == [
        ("Q7", "alias", "de", "x"), ("L1", "label", "en", "go"), ("L1-F1", "label", "en", "goes"),
        ("L1-S1", "description", "de", "gehen"), ("Q42", "label", "de", "in de"), ("Q42", "label", "en", "in en"),
        ("Q42", "label", "mul", "in mul"), ("P5", "label", "en", "name of P5"),
    ]  # fmt: skip
    assert rows(made, "sitelinks") == [
        ("Q42", "enwiki", "A b", "https://en.wikipedia.org/wiki/A_b"), ("Q42", "newwiki9", "C", None)]  # fmt: skip
    assert rows(run(dump, tmp_path / "none", sitelinks="no"), "sitelinks") == []


def test_half_of_a_surrogate_pair(tmp_path) -> None:
    line = json.dumps(linked("Q1")).replace("name of", "\\ud83d name \\ud83d\\ude00 of")
    for place, options in enumerate(({}, {"ids": "Q1"})):
        made = run(write(tmp_path / "d.jsonl", [], line), tmp_path / str(place), **options)
        assert rows(made, "terms", "value") == [("\ufffd name \U0001f600 of Q1",)]


# -- choices ----------------------------------------------------------------------------------------------------------

GRAPH = [
    linked("Q5"), linked("Q10", P279="Q5"), linked("Q11", P279="Q10 Q5"), linked("Q50", P279="Q11"),
    linked("Q1", P31="Q5", P106="Q80", P27="Q90"), linked("Q2", P31="Q11"), linked("Q3", P31="Q50", P106="Q81"),
    linked("Q4", P31="Q99"), linked("Q80", P31="Q98"), linked("Q90", P36="Q91"), linked("Q91", P36="Q92"),
    linked("Q92", P36="Q1"),
    named("Q6", statement(item("P31", "Q5"), "Q6$a", "deprecated"),
          statement(item("P106", "Q80"), "Q6$b", "deprecated")),
    named("Q7", statement(item("P31", "Q5"), "Q7$a"), statement(item("P31", "Q99"), "Q7$b", "preferred")),
    named("Q8", statement(text("P212", "string", "978"), "Q8$a"), statement(special("P106", "somevalue"), "Q8$b")),
    named("Q9", statement(special("P106", "novalue"), "Q9$a")),
    *(named(name, datatype="wikibase-item") for name in ("P31", "P279", "P106", "P27", "P36", "P248")),
    named("P212", statement(item("P1855", "Q8"), "P212$a", qualifiers={"P212": [text("P212", "string", "978")]}),
          datatype="string"),
    named("P1855", statement(item("P31", "Q70"), "P1855$a")),
]  # fmt: skip


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("dump") / "graph.json", GRAPH)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"class": "Q5"}, "Q1 Q2 Q3"),  # Q5 > Q10 > Q11 > Q50; not by rank: Q6, Q7
        ({"class": "q11"}, "Q2 Q3"),
        ({"class": "Q50,Q98"}, "Q3 Q80"),
        ({"property": "P106"}, "Q1 Q3 Q8"),
        ({"property": "P106=Q80, P36=Q92"}, "Q1 Q91"),
        ({"property": "P212=978"}, "Q8"),
        ({"ids": "Q4, P31,q4"}, "Q4 P31"),
        ({"class": "Q5", "property": "P106"}, "Q1 Q3"),
        ({"class": "Q5", "ids": "Q1,Q2,Q4"}, "Q1 Q2"),
        ({"ids": "Q90", "hops": "3"}, "Q1 Q90 Q91 Q92"),
        ({"ids": "Q1", "hops": "1"}, "Q5 Q1 Q80 Q90"),
        ({"ids": "Q1,Q80", "hops": "1", "limit": "3"}, "Q5 Q1 Q80"),
        ({"class": "Q5", "limit": "2"}, "Q1 Q2"),
        ({"limit": "13"}, "Q5 Q10 Q11 Q50 Q1 Q2 Q3 Q4 Q80 Q90 Q91 Q92 Q6"),
    ],
)  # fmt: skip
def test_choices(graph, tmp_path, options: dict[str, str], expected: str) -> None:
    made = run(graph, tmp_path / "parts", triples="no", **options)
    asked = options.get("ids", "")
    assert [name for name in ids(made) if name[0] == "Q" or name in asked] == expected.split()


def test_what_belongs_to_a_choice(graph, tmp_path) -> None:
    made = run(graph, tmp_path / "parts", ids="Q8")
    # In full: Q8, its properties, and the properties that these use. P248 and P31 of others are not used.
    assert sorted(rows(made, "entities")) == [
        ("P106", "property", "wikibase-item", False), ("P1855", "property", "wikibase-item", False),
        ("P212", "property", "string", False), ("P31", "property", "wikibase-item", False),
        ("Q70", "item", None, True), ("Q8", "item", None, False),
    ]  # fmt: skip
    assert {name for (name,) in rows(made, "terms", "id")} == {"P106", "P1855", "P212", "P31", "Q8"}
    assert ("P212$a", "Q8") in rows(made, "statements", "id, target")
    assert ("P212$a", "P212", "978") in rows(made, "qualifiers", "statement, property, value")


def test_stubs_have_their_names(graph, tmp_path) -> None:
    made = run(graph, tmp_path / "parts", ids="Q1")
    assert ids(made, stubs=True) == ["Q5", "Q80", "Q90"]
    assert ("Q80", "label", "en", "name of Q80") in rows(made, "terms")
    assert {line for line in lines(made) if line.startswith("<http://www.wikidata.org/entity/Q80>")} == {
        '<http://www.wikidata.org/entity/Q80> <http://www.w3.org/2000/01/rdf-schema#label> "name of Q80"@en .'
    }
    assert not [line for line in lines(run(graph, tmp_path / "all")) if "name of Q81" in line]


def test_terms_of_stubs(tmp_path) -> None:
    far = entity(id="Q2", labels={code: {"value": 'a "b"\\\n\u0007 ' + code} for code in ("mul", "de", "en", "fr")},
                 descriptions={"en": {"value": "c"}}, aliases={"en": [{"value": "d"}]})  # fmt: skip
    made = run(write(tmp_path / "d.json", [far, linked("Q1", P1="Q2")]), tmp_path / "parts", ids="Q1", language="en,de")
    assert [row[1:3] for row in rows(made, "terms") if row[0] == "Q2"] == [
        ("label", "en"), ("label", "de"), ("label", "mul"), ("description", "en"), ("alias", "en")]  # fmt: skip
    stub = [line for line in lines(made) if "entity/Q2> <" in line and "prop/" not in line]
    assert [line.split("> ", 2)[2] for line in stub] == ['"c"@en .'] + [
        f'"a \\"b\\"\\\\\\n  {code}"@{code} .' for code in ("de", "en", "mul")]  # fmt: skip


@pytest.mark.core
def test_references_lead_to_stubs(tmp_path) -> None:
    reference = {"hash": "abc", "snaks": {"P248": [item("P248", "Q3")]}}
    one = named("Q1", statement(item("P1", "Q2"), "Q1$a", references=[reference]))
    made = run(write(tmp_path / "d.json", [one, linked("Q3"), named("P248")]), tmp_path / "parts", ids="Q1")
    assert sorted(ids(made)) == ["P248", "Q1"]
    assert ids(made, stubs=True) == ["Q2", "Q3", "P1"]


def test_a_file_of_ids(graph, tmp_path) -> None:
    listed = tmp_path / "ids.txt"
    listed.write_text("Q4 a remark\n\n# none\nhttp://www.wikidata.org/entity/Q9\nwd:Q12345,\n")
    made = run(graph, tmp_path / "parts", ids=str(listed))
    assert [name for name in ids(made) if name[0] == "Q"] == ["Q4", "Q9"]
    assert made.counts["unknown_ids"] == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"class": "human"}, "'HUMAN' | Q5 | Q515"),
        ({"class": "P31"}, "'P31' | Q5 | Q515"),
        ({"property": "Q5"}, "'Q5' | P106 | Q82594"),
        ({"hops": "4"}, "'4' | 0 | 3"),
        ({"limit": "many"}, "'many' | 0 | 1,099,511,627,776"),
        ({"language": "en,?"}, "'?'"),
        ({"ids": "no such file"}, "'no such file' | Q42 | Q5"),
        ({"class": "Q777"}, "Q777"),
        ({"class": "Q5", "property": "P36=Q1"}, "Q5 | P36 | Q1"),
        ({"ids": "Q123,Q124"}, "Q123 | Q124"),
    ],
)  # fmt: skip
def test_bad_options(graph, tmp_path, options: dict[str, str], message: str, wording: Wording) -> None:
    with pytest.raises(BadInputError) as error:
        run(graph, tmp_path / "parts", **options)
    wording(mentions(str(error.value), message), replace={str(tmp_path): "DIR"})


def test_bad_files_of_ids(graph, tmp_path, wording) -> None:
    for content, facts in (("Q1\nhuman\n", "line 2 | 'human' | Q42"), ("\n", "Q42")):
        (tmp_path / "ids").write_text(content)
        with pytest.raises(BadInputError) as error:
            run(graph, tmp_path / "parts", ids=str(tmp_path / "ids"))
        wording(mentions(str(error.value), f"{tmp_path / 'ids'} | {facts}"), replace={str(tmp_path): "DIR"})


def test_id_sets() -> None:
    names = [("Q", 1), ("Q", 8), ("P", 8), ("Q", 140_000_000), ("L", 10**15)]
    made = IdSet()
    for name in names:
        made.add(name)
    assert all(name in made for name in names)
    assert not any(name in made for name in [("Q", 2), ("P", 1), ("L", 8), ("L", 10**15 + 1), ("Q", 140_000_001)])


# -- broken dumps -----------------------------------------------------------------------------------------------------

LINES = [json.dumps(one) for one in TWO]


def broken(line: str) -> str:
    return "\n".join([*LINES, line, ""])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("d.json", "[\n" + ",\n".join(LINES) + ',\n{"type":"item","id":"Q3","lab',
         "line 4"),
        ("d.jsonl", broken('{"type":"item","id":"Q3","lab'), "line 3 | 26 | Q3"),
        ("d.json", "[\n" + ",\n".join(LINES) + ",\n", "line 3"),
        ("d.jsonl", broken("[1, 2]x"), "line 3 | 2 | 1"),
        ("d.jsonl", broken("17"), "line 3 | 17"),
        ("d.jsonl", broken('{"a": NaN}'), "line 3"),
        ("d.jsonl", broken('{"a": ' + "[" * 100_000), "line 3 | nested"),
        ("d.jsonl", broken('{"type": "item"}'), "line 3 | 'id'"),
        ("d.jsonl", broken('{"id": "Q01"}'), "line 3 | Q01 | 'Q01'"),
        ("d.jsonl", broken('{"id": "Q3", "claims": {"P31": {"mainsnak": 1}}}'),
         "line 3 | Q3"),
        ("d.jsonl", broken('{"id": "Q3", "claims": {"x> <y": []}}'),
         "line 3 | Q3 | 'x> <y'"),
        ("d.jsonl", broken('{"id": "Q3", "labels": {"en": {"value": 7}}}'),
         "line 3 | Q3 | '7'"),
        ("d.jsonl", "", "No entity"),
        ("d.json", "[\n]\n", "No entity"),
        ("d.json", '{"entities": {"Q1": {"id"', "line 1 | ':'"),
        ("d.json", '{"error": {"code": "no-such-entity"}}', "d.json"),
        ("d.csv", "", ".jsonl | .ttl"),
    ],
)  # fmt: skip
def test_broken_dumps(tmp_path, name: str, content: str, message: str, wording: Wording) -> None:
    path = tmp_path / name
    path.write_text(content)
    chosen = {"ids": "Q1"} if len(content) % 2 and "x> <y" not in content else {}  # the first of two passes sees it too
    with pytest.raises(BadInputError) as error:
        run(path, tmp_path / "parts", **chosen)
    wording(mentions(str(error.value), f"{path} | {message}"), replace={str(tmp_path): "DIR"})


SNAKS = {
    "amount": value("P1", "quantity", "quantity", {"amount": "12,5", "unit": "1"}),
    "time": value("P1", "time", "time", {"time": "yesterday", "precision": 11, "calendarmodel": "Q1"}),
    "precision": value(
        "P1", "time", "time", {"time": "+2000-01-01T00:00:00Z", "precision": 2**40, "calendarmodel": "Q1"}
    ),
    "latitude": value("P1", "globe-coordinate", "globecoordinate", {"latitude": "1", "longitude": 2}),
    "entity": item("P1", "Q5> <x"),
    "kind": {"snaktype": "maybe", "property": "P1"},
}


@pytest.mark.parametrize(
    ("snak", "message"),
    [("amount", "'12,5'"), ("time", "'yesterday'"),
     ("precision", "'1099511627776'"), ("latitude", "'1'"),
     ("entity", "'Q5> <x'"), ("kind", "'maybe'")],
)  # fmt: skip
def test_broken_values(tmp_path, snak: str, message: str, wording: Wording) -> None:
    path = write(tmp_path / "d.jsonl", [TWO[0], entity(statement(SNAKS[snak], "Q42$A"))], "lines")
    with pytest.raises(BadInputError) as error:
        run(path, tmp_path / "parts")
    wording(mentions(str(error.value), f"{path} | line 2 | Q42 | {message}"), replace={str(tmp_path): "DIR"})


ODD = [
    None, True, -1, 10**30, 1.5, "", "x> <y", "\ud800",
    '\0\n"\\', [], {}, [1], {"a": 1}, "Q1", "P31", "+2000-01-01T00:00:00Z",
]  # fmt: skip


def places(content: Any) -> list[tuple[Any, Any]]:
    """(container, key) of everything within."""
    keys = content if isinstance(content, dict) else range(len(content)) if isinstance(content, list) else ()
    return [(content, key) for key in keys] + [place for key in keys for place in places(content[key])]


@given(st.randoms(use_true_random=False))
def test_whatever_stands_in_an_entity(drawn: Random) -> None:
    """Anything put anywhere is refused in one line, or comes out as RDF that can be loaded."""
    whole = json.loads(json.dumps(drawn.choice(RICH)))
    for _ in range(drawn.choice((1, 1, 3))):
        container, key = drawn.choice(places(whole))
        if isinstance(container, dict) and drawn.random() < 0.3:
            container[str(drawn.choice(ODD))] = container.pop(key)
        else:
            container[key] = drawn.choice(ODD)
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "d.jsonl", [whole, named("Q77")], "lines")
        try:
            made = run(path, Path(folder) / "parts", language="all")
        except BadInputError as error:
            assert str(path) in error.message
            assert "\n" not in error.message
            made = run(path, Path(folder) / "parts", language="all", skip_bad_lines="yes")
            assert (ids(made), made.counts["bad_lines"]) == (["Q77"], 1)
        else:
            ox.Store().bulk_load("\n".join(lines(made)).encode(), format=ox.RdfFormat.N_TRIPLES)


RICH = [
    named("Q1",
          statement(time("P2", "-0044-03-15T00:00:00Z", 11, JULIAN), "Q1$a", "preferred", qualifiers={
              "P3": [value("P3", "quantity", "quantity", {"amount": "+1", "unit": WD + "Q11573"})]},
              references=[{"hash": "a", "snaks": {"P4": [text("P4", "url", "http://a.org")]}, "snaks-order": ["P4"]}]),
          statement(value("P5", "globe-coordinate", "globecoordinate", {"latitude": 1, "longitude": 2}), "Q1$b"),
          statement(value("P6", "monolingualtext", "monolingualtext", {"text": "x", "language": "de"}), "Q1$c"),
          statement(special("P7", "somevalue"), "Q1$d"),
          sitelinks={"enwiki": {"site": "enwiki", "title": "A", "badges": ["Q2"]}}, lastrevid=1, modified="2020",
          aliases={"en": [{"language": "en", "value": "a"}]}),
    named("P1", datatype="external-id"),
    {"type": "lexeme", "id": "L1", "lemmas": {"en": {"value": "go"}}, "language": "Q1", "lexicalCategory": "Q2",
     "claims": {}, "senses": [{"id": "L1-S1", "glosses": {"en": {"value": "x"}}, "claims": []}],
     "forms": [{"id": "L1-F1", "representations": {"en": {"value": "goes"}}, "grammaticalFeatures": ["Q3"]}]},
]  # fmt: skip


BAD = [
    "garbage",
    '{"type":"item","id":"Q3","lab',
    "17",
    '{"id": "Q4", "labels": {"en": {"value": 7}}}',
    '{"id": "Q2", "claims": {"P31": [{"mainsnak": 1}]}}',
    json.dumps(named("Q5000", statement(item("P31", "Q6"), "Q5000$A"), statement(SNAKS["amount"], "Q5000$B"))),
]


@pytest.mark.parametrize(
    "options",
    [{}, *(pytest.param(some, marks=pytest.mark.system) for some in ({"property": "P31"}, {"triples": "no"}))],
    ids=str,
)
def test_bad_lines_are_skipped_and_counted(options: dict[str, str], tmp_path, monkeypatch, wording: Wording) -> None:
    """The rest is converted as without them, in one pass or two, over several pieces and files."""
    good = [json.dumps(one) for one in MANY[10:60]]
    mixed = [line for n, one in enumerate(good) for line in ([BAD[n // 7], one] if n % 7 == 0 and n < 42 else [one])]
    clean, dump, other = (tmp_path / name for name in ("clean.jsonl", "d.jsonl", "e.jsonl"))
    clean.write_text("\n".join(good))
    dump.write_text("\n".join(mixed[:30]))
    other.write_text("\n".join(mixed[30:]))
    compared = run(clean, tmp_path / "other", **options)
    monkeypatch.setattr(passes, "_MIN_PIECE", 4000)
    made = run([dump, other], tmp_path / "parts", **options, skip_bad_lines="yes")
    for table in made.tables:
        assert rows(made, table) == rows(compared, table), table
    assert lines(made) == lines(compared)
    assert made.left_out["bad_lines"] == len(BAD)
    wording(mentions(made.left_out["first_bad_line"], "d.jsonl | line 1"))
    assert str(tmp_path) not in made.first_bad_line
    assert compared.left_out == {}


def test_a_reference_of_a_bad_line_is_read_from_a_later_one(tmp_path) -> None:
    shared = [{"hash": "0a", "snaks": {"P4": [text("P4", "url", "http://a.org")]}}]
    bad = named("Q1", statement(item("P1", "Q5"), "Q1$A", references=shared), statement(SNAKS["time"], "Q1$B"))
    good = named("Q2", statement(item("P1", "Q5"), "Q2$A", references=shared))
    made = run(write(tmp_path / "d.json", [bad, good]), tmp_path / "parts", skip_bad_lines="yes")
    assert lines(made) == lines(run(write(tmp_path / "e.json", [good]), tmp_path / "other"))
    assert any("/reference/0a>" in line and "http://a.org" in line for line in lines(made))


def test_truncated_archives(tmp_path, wording) -> None:
    for ending in ("gz", "bz2"):
        path = write(tmp_path / f"d.json.{ending}", [linked(f"Q{n}", P31="Q5") for n in range(1, 500)])
        path.write_bytes(path.read_bytes()[:-200])
        with pytest.raises(BadInputError) as caught:
            run(path, tmp_path / ending)
        wording(mentions(str(caught.value), f"d.json | {ending} | line 1"), replace={str(tmp_path): "DIR"})


def test_missing_file(tmp_path, wording) -> None:
    with pytest.raises(BadInputError) as caught:
        run(tmp_path / "d.json", tmp_path / "parts")
    wording(mentions(str(caught.value), f"{tmp_path / 'd.json'} | No such file"), replace={str(tmp_path): "DIR"})


# -- several processes, and builds that were stopped ------------------------------------------------------------------

MANY = [linked(f"Q{number}", P31=f"Q{number % 7 + 1}", P50=f"Q{number + 1}") for number in range(1, 1201)]
SMALL = 40_000
"""Bytes of a piece, so that the dump has more than ten."""
CONVERT = (
    f"from kbkit.readers.wikidata import passes; passes._MIN_PIECE = {SMALL}\n"
    + """
import json, os, signal, sys
from pathlib import Path
from kbkit.readers.wikidata.convert import convert, estimate
path, folder, most, options = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), json.loads(sys.argv[4])
def tell(done, total):
    found = [part for part in folder.glob("*/*/info.json") if ".new" not in str(part)]  # others rename them meanwhile
    if most and len(found) >= most:
        os.kill(os.getpid(), signal.SIGKILL)
made = convert([path], options, folder, tell)
print(json.dumps(made.counts))
"""
)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    again = [*MANY[:800], MANY[3], *MANY[800:]]  # one twice, in different pieces
    return write(tmp_path_factory.mktemp("dump") / "many.json.gz", again)


@pytest.mark.system
def test_several_pieces_and_processes(many, tmp_path, monkeypatch) -> None:
    whole = run(many, tmp_path / "whole")
    monkeypatch.setattr(passes, "_MIN_PIECE", SMALL)
    told: list[tuple[int, int]] = []
    made = convert([many], {}, tmp_path / "parts", lambda done, total: told.append((done, total)))
    assert len(made.quads) > 10
    assert made.counts == whole.counts
    assert made.counts["duplicates"] == 1
    for table in made.tables:
        assert rows(made, table) == rows(whole, table)
    assert lines(made) == lines(whole)
    assert told == sorted(told)
    assert told[-1] == (many.stat().st_size,) * 2


def command(path: Path, folder: Path, limit: int, **options: str) -> subprocess.CompletedProcess[str]:
    """Convert in a process of its own, which has no guard, and kills itself when so many parts are whole."""
    arguments = [str(path), str(folder), str(limit), json.dumps(options)]
    return subprocess.run([sys.executable, "-c", CONVERT, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.system
def test_a_killed_build_goes_on(many, tmp_path, monkeypatch) -> None:
    options = {"class": "Q3", "hops": "1"}
    done = command(many, tmp_path / "parts", 5, **options)
    assert done.returncode == -signal.SIGKILL, done.stderr
    before = {part: part.stat().st_mtime_ns for part in _whole(tmp_path / "parts")}
    assert len(before) >= 5
    done = command(many, tmp_path / "parts", 0, **options)
    assert done.returncode == 0, done.stderr
    assert {part: part.stat().st_mtime_ns for part in before} == before
    assert not list((tmp_path / "parts").rglob("*.new"))
    # As a build that was not stopped, in one process
    monkeypatch.setattr(passes, "_MIN_PIECE", SMALL)
    monkeypatch.setattr(passes, "workers", lambda: 1)
    assert json.loads(done.stdout) == run(many, tmp_path / "other", **options).counts
    ours, others = (sorted(_whole(tmp_path / name)) for name in ("parts", "other"))
    assert [part.relative_to(tmp_path / "parts") for part in ours] == [
        part.relative_to(tmp_path / "other") for part in others
    ]
    for one, other in zip(ours, others, strict=True):
        assert one.read_bytes() == other.read_bytes()


def _whole(folder: Path) -> list[Path]:
    return [
        path
        for path in folder.rglob("*")
        if path.is_file() and ".new" not in str(path) and "made_from" not in path.name
    ]


def test_other_files_or_options_begin_anew(tmp_path) -> None:
    path = write(tmp_path / "d.json", TWO)
    run(path, tmp_path / "parts")
    first = (tmp_path / "parts" / "parts" / "000000" / "entities.parquet").stat().st_mtime_ns
    (tmp_path / "parts" / "left over").write_text("")
    run(path, tmp_path / "parts")
    assert (tmp_path / "parts" / "parts" / "000000" / "entities.parquet").stat().st_mtime_ns == first
    assert rows(run(path, tmp_path / "parts", language="de"), "terms") == []
    assert not (tmp_path / "parts" / "left over").exists()
    write(path, TWO[:1])
    assert ids(run(path, tmp_path / "parts", language="de")) == ["Q1"]


@pytest.mark.system
def test_errors_of_other_processes(tmp_path, monkeypatch, wording) -> None:
    monkeypatch.setattr(passes, "_MIN_PIECE", SMALL)
    path = write(
        tmp_path / "d.jsonl", [], "\n".join(json.dumps(one) for one in [*MANY[:600], {"id": "x"}, *MANY[600:]])
    )
    with pytest.raises(BadInputError) as error:
        run(path, tmp_path / "parts")
    wording(mentions(str(error.value), f"{path} | line 601 | 'x'"), replace={str(tmp_path): "DIR"})


class StopError(Exception):
    pass


@pytest.fixture
def executors(monkeypatch: pytest.MonkeyPatch) -> list[ProcessPoolExecutor]:
    """Collect the executors of worker processes."""
    monkeypatch.setattr(passes, "_MIN_PIECE", SMALL)
    started: list[ProcessPoolExecutor] = []

    def start(*args: Any) -> ProcessPoolExecutor:
        started.append(ProcessPoolExecutor(*args))
        return started[-1]

    monkeypatch.setattr(passes, "ProcessPoolExecutor", start)
    return started


@pytest.mark.system
def test_an_exception_of_progress_ends_the_workers(many, tmp_path, executors) -> None:
    processes: dict[int, Any] = {}

    def progress(done: int, total: int) -> None:
        for executor in executors:
            processes.update(executor._processes or {})
        if done > total / 4:
            raise StopError

    with pytest.raises(StopError):
        convert([many], {}, tmp_path / "parts", progress)
    assert len(processes) == passes.workers()
    assert not any(process.is_alive() for process in processes.values())


@pytest.mark.system
def test_a_killed_worker(many, tmp_path, executors, wording) -> None:
    def progress(done: int, total: int) -> None:
        for executor in executors:
            for process in list((executor._processes or {}).values()):
                process.kill()

    with pytest.raises(KbError) as error:
        convert([many], {}, tmp_path / "parts", progress)
    message = mentions(str(error.value), f"{many}, line ")
    wording(re.sub("line [0-9,]+", "line N", message), replace={str(many): "DUMP"})


@pytest.mark.system
def test_a_script_without_a_main_guard(many, tmp_path) -> None:
    script = tmp_path / "script.py"
    script.write_text(CONVERT + "\nprint('end')\n")
    arguments = [str(many), str(tmp_path / "parts"), "0", "{}"]
    done = subprocess.run([sys.executable, str(script), *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("end") == 1


@pytest.mark.system
def test_workers_end_with_a_killed_parent(many, tmp_path) -> None:
    done = command(many, tmp_path / "parts", 5)
    assert done.returncode == -signal.SIGKILL
    # The workers inherit the pipes of their parent, so that the end of the output is their end too.


def test_parts_of_a_choice_are_few(many, tmp_path, monkeypatch, wording) -> None:
    """What is wanted of each piece is put together, and errors still name the line in the dump."""
    monkeypatch.setattr(passes, "_MIN_PIECE", SMALL)
    monkeypatch.setattr(passes, "workers", lambda: 1)
    wanted = ",".join(f"Q{number}" for number in range(7, 1200, 100))
    made = run(many, tmp_path / "parts", ids=wanted)
    assert ids(made) == wanted.split(",")
    assert len(list((tmp_path / "parts" / "scan").glob("*"))) > 10
    assert len(list((tmp_path / "parts" / "parts").glob("*"))) == 1
    odd = named("Q9001", statement(SNAKS["amount"], "Q9001$A"))
    path = write(tmp_path / "d.jsonl", [*MANY[:500], odd, *MANY[500:]], "lines")
    with pytest.raises(BadInputError) as caught:
        run(path, tmp_path / "odd", ids="Q1,Q2,Q9001,Q1100")
    wording(mentions(str(caught.value), "d.jsonl | line 501 | Q9001 | '12,5'"), replace={str(tmp_path): "DIR"})


# -- estimates --------------------------------------------------------------------------------------------------------


def test_estimate_of_a_whole_dump(graph) -> None:
    rows = dict(estimate([graph], {"class": "Q5"}))
    assert (rows["entities in the dump"], rows["entities selected"], rows["statements"]) == ("24", "3", "6")
    assert set(rows) == {
        "entities in the dump",
        "entities selected",
        "statements",
        "triples",
        "disk for the triples",
        "time to load the triples",
        f"time to read and convert, {passes.workers()} processes",
        "disk for the converted tables",
    }
    assert dict(estimate([graph], {"limit": "5", "triples": "no"}))["entities selected"] == "5"
    assert dict(estimate([graph], {"class": "Q12345"}))["entities selected"] == "0"


def test_estimate_from_the_beginning(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("kbkit.readers.wikidata.estimate._SAMPLE", 120_000)
    path = write(tmp_path / "d.json", MANY)
    rows = dict(estimate([path], {"class": "Q3"}))
    read = int(rows["entities in the dump"].removeprefix("about ").replace(",", ""))
    chosen = int(rows["entities selected"].removeprefix("about ").replace(",", ""))
    assert 1120 < read < 1280
    assert 0.1 < chosen / read < 0.2  # of seven classes one
    assert re.fullmatch(r"the first [0-9]+ % of the dump", rows["estimated from"])
    assert rows[""] == "the rest of the dump may have a larger or smaller share of selected entities"


def test_estimates_of_what_is_wrong(tmp_path, graph, wording) -> None:
    with pytest.raises(BadInputError) as caught:
        estimate([write(tmp_path / "d.json", [])], {})
    wording(mentions(str(caught.value), f"No entity | {tmp_path / 'd.json'}"), replace={str(tmp_path): "DIR"})
    with pytest.raises(BadInputError) as caught:
        estimate([graph], {"class": "human"})
    wording(mentions(str(caught.value), "'HUMAN' | Q5"), replace={str(tmp_path): "DIR"})
