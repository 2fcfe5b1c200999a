"""Superlatives, counts, and the values of whole expressions, beyond the shared cases."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kbkit
from kbkit.answers import counting
from kbkit.answers.parse import parse
from kbkit.answers.syntax import Aggregate, Comparison, Nodes, PathFunction, Step, Superlative
from kbkit.answers.wording import noun_phrase
from kbkit.errors import KbError
from kbkit.executor.executor import Executor
from kbkit.kb import KnowledgeBase
from tests.answers import oracle
from tests.answers.expressions import Writer
from tests.answers.graphs import Case, case
from tests.answers.test_cases import prints_back
from tests.console import good
from tests.examples import examples, some


@pytest.mark.parametrize(
    "text",
    [
        "state{max population}",
        "state{area > 5, min `a b`, count(<- [r|^s+] <- river{year > 2000}) >= 3}",
        "state{max count(-> (a | b) -> [r] -> @c)}{count(-> a#1) != <n>}",
        "count(a{max max} -> [r] -> b)",
        "values((a & b) -> c, `x y`)",
        "sum(a - b, count)",
        "avg(a, min)",
        "count -> values -> sum{count > 3, max in ['x'], min contains 'y', max = 1, max count}",
        "max{missing(max), not missing(count), max in}",
        "a{top 3 b, bottom <n> count(-> c), not (b = 1, not (max b)), b not in [1, 2], b not contains 'x'}",
        "a{avg(<- [r] <- b#1.2, `x y`) > 1.5, count(-> b) != count(-> c), max(-> b, c) = 'x', d < min(-> e, f)}",
        "a{max max(-> b, c), min min(<- b, max), top 3 sum(-> b, c) per -> d.e, count(-> b, c) > <n>}",
        "values(a, min(-> b, c), avg(-> b, c) order by sum(-> b, c) desc)",
        'a{b >= values(c:"d" -> e, f), count(-> g) != count(h), b < max(i{b > avg(j, k)}, b)}',
        "avg(a, b by c, -> [r] -> d{e > 1} order by avg desc, c limit 3)",
        "values(a, b, count(-> c), `by` order by count(<- [r] <- d) desc, b)",
        "avg(a, b by c, -> [r] -> d.e having avg > 2.5, e != 3 order by avg)",
        "a{max b per c, top 3 count(-> d) per -> [r] -> e.`x y`, min per per <- (f#1.2).g}",
        "exists(a)",
        "count(by by by)",
        "max(top{top > 3, bottom < 3}, limit by order order by max)",
    ],
)
def test_text_of_a_tree(text: str) -> None:
    prints_back(text)


def test_trees() -> None:
    tree = parse("count(state{max area, count(<- [r] <- river) > 2})")
    assert isinstance(tree, Aggregate)
    assert (tree.op, tree.columns) == ("count", ())
    superlative, test = tree.source.conditions  # type: ignore[union-attr]
    assert superlative == Superlative("max", "area")
    assert isinstance(test, Comparison)
    assert isinstance(test.measure, PathFunction)
    assert (test.op, test.value, test.measure.arrows) == (">", 2, ("<-", "<-"))
    assert [type(element) for element in test.measure.elements] == [Step, Nodes]
    assert parse("a{min count(-> b)}").conditions[0].measure == PathFunction((Nodes("b"),), ("->",))  # type: ignore[union-attr]


VALUES = {
    "count(country)": 197,
    "count(country - country)": 0,
    'values(country:"Portugal" -> [borders] -> country, name)': ["Spain"],
    "values(mountain{height_m > 8000}, range)": ["Himalayas", "Karakoram"],
    "sum(mountain{height_m > 8600}, height_m)": 8849 + 8611,
    "avg(mountain{height_m > 8600}, height_m)": (8849 + 8611) / 2,
    "sum(country - country, area_km2)": 0.0,
    "avg(country - country, area_km2)": None,
    "values(country - country, area_km2)": [],
    "country": None,
    'exists(country:"France" -> [borders] -> country)': True,
    "exists(country - country)": False,
    "count(country, un_status)": 3,
    "count(country - country, un_status)": 0,
    "min(mountain{height_m > 8600}, height_m)": 8611,
    "max(country, name)": "Zimbabwe",
    "max(country - country, name)": None,
    "max(country, count(-> [borders] -> country))": 14,
    "sum(country{max area_km2}, count(<- river))": 39,
    "count(country by un_status)": [("member", 193), ("none", 2), ("observer", 2)],
    "count(country by un_status order by count, un_status desc)": [("observer", 2), ("none", 2), ("member", 193)],
    "count(country by un_status order by count limit 1)": [("none", 2), ("observer", 2)],
    "count(country by -> continent order by count desc limit 2)": [
        ("continent#africa", "Africa", 54),
        ("continent#asia", "Asia", 51),
    ],
    "count(country by -> continent.name having count > 40 order by count desc)": [
        ("Africa", 54),
        ("Asia", 51),
        ("Europe", 47),
    ],
    "values(country{top 1 area_km2 per -> continent.name, area_km2 > 9000000}, name, area_km2)": [
        ("country#CAN", "Canada", 9984670.0),
        ("country#RUS", "Russia", 17098246.0),
    ],
    "max(mountain, height_m by range order by max desc limit 2)": [("Himalayas", 8849), ("Karakoram", 8611)],
    "min, max(mountain{height_m > 8600}, height_m)": [(8611, 8849)],
    "max, min(country, area_km2, name)": [(17098246.0, "Afghanistan")],
    "sum, avg(country - country, area_km2)": [(0, None)],
    "min, max(mountain, height_m by range order by max desc limit 2)": [
        ("Himalayas", 5881, 8849),
        ("Karakoram", 7788, 8611),
    ],
    'values(country{name in ["Chad", "Mali"]} by name, -> continent)': [
        ("Chad", "continent#africa", "Africa"),
        ("Mali", "continent#africa", "Africa"),
    ],
    "values(country{top 2 area_km2}, name, count(<- river) order by area_km2 desc)": [
        ("country#RUS", "Russia", 39),
        ("country#CAN", "Canada", 18),
    ],
    "values(continent{count(<- country) < 20}, max(<- country, name), max(<- country <- river, length_km))": [
        ("continent#antarctica", None, None),
        ("continent#oceania", "Vanuatu", 2508),
        ("continent#south-america", "Venezuela", 6400),
    ],
    "values(country{bottom 2 area_km2}, name order by name desc)": [
        ("country#VAT", "Vatican City"),
        ("country#MCO", "Monaco"),
    ],
}


@pytest.mark.parametrize("text", VALUES)
def test_values(world: KnowledgeBase, text: str) -> None:
    for engine in ("walk", "sql", "sparql"):
        found = world.answers(text, engine).value
        assert found == VALUES[text]
        assert type(found) is type(VALUES[text])


@pytest.mark.parametrize("seed", some(range(10), 3))
@examples(12)
@given(rng=st.randoms(use_true_random=False))
def test_values_agree_with_the_oracle(seed: int, rng: random.Random) -> None:
    made = case(seed)
    writer = Writer(rng, made.graph)
    text = writer.total(writer.type())
    check_agreement(made, text, writer.slots)


def check_agreement(made: Case, text: str, slots: Mapping[str, Any]) -> None:
    """Check that all engines give the value that the oracle has, or refuse what it refuses."""
    slots = {name: value for name, value in slots.items() if f"<{name}>" in text}
    try:
        expected = oracle.value(made.graph, text, slots)
    except (oracle.RefusedError, KbError):
        with pytest.raises(KbError):
            made.kb.answers(text, **slots)
        return
    except OverflowError:
        return
    tree = parse(text)
    assert parse(str(tree)) == tree
    for engine in ("walk", "sql", "sparql"):
        found = made.kb.answers(text, engine, **slots).value
        assert same(found, expected), (engine, text, found, expected)


def same(found: Any, expected: Any) -> bool:
    """Whether two values are equal, and numbers with fractions nearly so."""
    if isinstance(expected, (list, tuple)):
        alike = isinstance(found, (list, tuple)) and len(found) == len(expected)
        return alike and all(map(same, found, expected))
    if isinstance(expected, float) and isinstance(found, float):
        return found == pytest.approx(expected)
    return type(found) is type(expected) and bool(found == expected)


def test_the_set_of_a_value(world: KnowledgeBase) -> None:
    near = world.answers('country:"France" -> [borders] -> country')
    count = world.answers('count(country:"France" -> [borders] -> country)')
    assert count == near
    assert count.value == len(near) == 11
    assert count.sql.split("\n", 1)[1] == near.sql.split("\n", 1)[1]
    assert str(count.why("Spain")) == str(near.why("Spain"))
    assert (count & near).value is None
    assert (count - near).expression == f"({near.expression}) - ({near.expression})"
    assert near.value_table() is None
    assert count.value_table().rows() == [(11,)]  # type: ignore[union-attr]
    assert "11" in count._repr_html_()
    assert world.answers(count.expression).value == 11


def test_a_saved_value_is_a_set(small: KnowledgeBase) -> None:
    with kbkit.open(small.directory.path) as kb:
        kb.answers("count(drug{max year})").save("newest drugs")
        try:
            assert kb.answers("count(@`newest drugs`)").value == 1
            assert kb.answers("@`newest drugs`{max year}") == kb.answers("drug{max year}")
            assert kb.answers("person{count(-> [takes] -> @`newest drugs`) > 0}").nodes()["key"].to_list() == ["p2"]
        finally:
            kb.workspace.drop("newest drugs")


MANY = [
    ("(continent:<c> -> country){max area_km2}", {"c": ["Europe", "Asia", "Antarctica", "Europe"]}),
    ("(continent:<c> -> country){min name} -> [capital] -> city", {"c": ["Europe", "Asia"]}),
    ("(continent:<c> -> country){max count(-> [borders] -> country)}", {"c": ["Africa", "Asia", "Oceania"]}),
    ("(continent:<c> -> country){count(<- river) >= <n>}", {"c": ["Europe", "Asia", "Asia"], "n": [3, 4, 1]}),
    ("country{count(<- river) >= <n>, max area_km2}", {"n": [0, 3, 50]}),
    ("country{count(<- river{length_km > <n>}) >= 1}", {"n": [0, 3000, 5000]}),
    ("country{max count(<- river{length_km > <n>})}", {"n": [0, 3000, 5000]}),
    ("country{count(-> language:<l>) = 1, max area_km2}", {"l": ["French", "German", "French"]}),
    ("country{count(-> [borders] -> country -> language:<l>) = 1}", {"l": ["French", "German"]}),
    ("(continent:<c> -> country) - country{count(<- river) > 2}", {"c": ["Europe", "Asia"]}),
    ("country{max area_km2} & (continent:<c> -> country)", {"c": ["Europe", "Asia"]}),
    ("(continent:<c> -> country){top <n> area_km2}", {"c": ["Europe", "Asia", "Asia"], "n": [1, 2, 3]}),
    ("(continent:<c> -> country){bottom 2 name}", {"c": ["Europe", "Asia"]}),
    ("(continent:<c> -> country){top <n> count(<- river)}", {"c": ["Europe", "Asia", "Africa"], "n": [1, 2, 60]}),
    ("country{top <n> count(<- river)}", {"n": [1, 5]}),
    ("country{area_km2 > values(country:<c>, area_km2)}", {"c": ["Canada", "Brazil", "France"]}),
    ("country{area_km2 > avg(continent:<c> -> country, area_km2)}", {"c": ["Europe", "Asia", "Oceania"]}),
    ("(continent:<c> -> country){area_km2 > avg(country, area_km2)}", {"c": ["Europe", "Asia", "Oceania"]}),
    ("country{count(<- river) > count(country:<c> <- river)}", {"c": ["France", "Russia", "Monaco"]}),
    ("country{name = values(continent:<c> -> country -> [capital] -> city, name)}", {"c": ["Europe", "Asia"]}),
    ("country{area_km2 != values(continent:<c> -> country, area_km2)} & country:<d>", {"c": ["Asia"], "d": ["Chad"]}),
    ("country{count(<- river) <= max(continent:<c> -> country, count(<- river))}", {"c": ["Europe", "Oceania"]}),
    ("country{max(<- river, length_km) > <n>}", {"n": [1000, 6000]}),
    (
        "(continent:<c> -> country){avg(-> [borders] -> country, area_km2) > <n>}",
        {"c": ["Asia", "Asia"], "n": [1e6, 3e6]},
    ),
    ("(continent:<c> -> country){max sum(<- river, length_km)}", {"c": ["Europe", "Africa", "Europe"]}),
    ("(continent:<c> -> country){top <n> min(<- river, length_km)}", {"c": ["Europe", "Asia"], "n": [1, 3]}),
    ("country{min(-> language:<l>, name) = 'French'}", {"l": ["French", "German"]}),
    ("country{count(-> [borders] -> country) > count(<- river{length_km > <n>})}", {"n": [0, 4000]}),
    ("country{area_km2 > sum(-> [borders] -> country{area_km2 > <n>}, area_km2)}", {"n": [0, 1_000_000]}),
    ("country{sum(<- river, length_km) > avg(continent:<c> -> country, sum(<- river, length_km))}", {"c": ["Europe"]}),
    ("(continent:<c> -> country){not (area_km2 > <a>)}", {"c": ["Europe", "Asia"], "a": [1000, 2000]}),
    (
        "(continent:<c> -> country){max area_km2, area_km2 > <a>}",
        {"c": ["Europe", "Asia"], "a": [10_000_000, 10_000_000]},
    ),
]


@pytest.mark.parametrize(("text", "bindings"), MANY, ids=[text for text, _ in MANY])
def test_batches(world: KnowledgeBase, text: str, bindings: dict[str, list[object]]) -> None:
    found = world.answers_many(text, bindings)
    rows = [dict(zip(bindings, row, strict=True)) for row in zip(*bindings.values(), strict=True)]
    expected = [(i, node) for i, row in enumerate(rows) for node in world.answers(text, **row).ids.tolist()]  # type: ignore[arg-type]
    assert found.rows() == expected
    assert found.height


@pytest.mark.parametrize("edges", [1, 40])
def test_counts_in_blocks(world: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, edges: int) -> None:
    texts = [
        "country{max count(-> [borders] -> country -> language)}",
        "country{count(-> [borders+] -> country) > 100}",
        "*{count(-> [speaks|borders] -> *) > 12}",
    ]
    expected = [world.answers(text, "sql") for text in texts]
    monkeypatch.setattr(counting, "_EDGES", edges)
    monkeypatch.setattr(counting, "_CLOSURE_NODES", edges)
    assert [world.answers(text) for text in texts] == expected


WHY = [
    ("country{top 3 area_km2}", "Canada", ["area_km2 = 9984670, among the 3 greatest of 197 nodes"]),
    ("country{bottom 2 count(<- river)}", "country#MCO", ["count(<- river) = 0, among the 2 least of 197 nodes"]),
    (
        'country{area_km2 > values(country:"Canada", area_km2)}',
        "Russia",
        ['area_km2 = 17098246 > 9984670 = values(country:"Canada", area_km2)'],
    ),
    (
        "country{count(<- river) >= max(country, count(<- river))}",
        "Russia",
        ["count(<- river) = 39 >= 39 = max(country, count(<- river))"],
    ),
    ("country{name = values(city, name)}", "country#MCO", ["name = Monaco, one of values(city, name)"]),
    ('country{not (un_status = "member")}', "Kosovo", ["not in country{un_status = member}"]),
    ("exists(mountain{max height_m})", "Mount Everest", ["height_m = 8849, the greatest of 322 nodes"]),
    ("country - country{top 3 area_km2}", "France", ["not in country{top 3 area_km2}"]),
    ("mountain{max height_m}", "Mount Everest", ["height_m = 8849, the greatest of 322 nodes"]),
    ("country{min area_km2}", "country#VAT", ["area_km2 = 0.49, the least of 197 nodes"]),
    (
        '(country:"Portugal" -> [borders] -> country){max area_km2}',
        "Spain",
        ["Portugal -> [borders] -> Spain", "area_km2 = 505990, the greatest of 1 node"],
    ),
    (
        "country{max count(-> [borders] -> country)}",
        "China",
        ["count(-> [borders] -> country) = 14, the greatest of 197 nodes"],
    ),
    ("country{count(<- river) > 30}", "Russia", ["count(<- river) = 39"]),
    ("country{avg(<- river, length_km) > 4000}", "Benin", ["avg(<- river, length_km) = 4180 from 1 node"]),
    (
        "country{max sum(<- river, length_km)}",
        "Russia",
        ["sum(<- river, length_km) = 71294 from 39 nodes, the greatest of 139 nodes"],
    ),
    (
        "country{count(<- river) > count(-> [borders] -> country)}",
        "Russia",
        ["count(<- river) = 39 > 14 = count(-> [borders] -> country)"],
    ),
    (
        "country{area_km2 > sum(-> [borders] -> country, area_km2)}",
        "Canada",
        ["area_km2 = 9984670 > 9876468 = sum(-> [borders] -> country, area_km2) from 2 nodes"],
    ),
    (
        "country - country{max(<- river, length_km) > 100}",
        "country#MCO",
        ["not in country{max(<- river, length_km) > 100}"],
    ),
    (
        "country{count(<- river) > 30, max name}",
        "Russia",
        ["count(<- river) = 39", "name = Russia, the greatest of 1 node"],
    ),
    (
        "country{max area_km2 per -> continent}",
        "Australia",
        ["area_km2 = 7692024, the greatest per -> continent"],
    ),
    ("country - country{max area_km2}", "France", ["not in country{max area_km2}"]),
    ("country - country{count(<- river) > 30}", "France", ["not in country{count(<- river) > 30}"]),
    ("avg(mountain{max height_m}, height_m)", "Mount Everest", ["height_m = 8849, the greatest of 322 nodes"]),
]


@pytest.mark.parametrize(("text", "node", "lines"), WHY, ids=[text for text, _, _ in WHY])
def test_why(world: KnowledgeBase, text: str, node: str, lines: list[str]) -> None:
    assert world.answers(text).why(node).lines() == lines


WORDS = {
    "country{max(<- river, length_km) > 4000}": "countries that have rivers whose greatest length is more than 4000 km",
    'continent:"Europe" -> country{count(<- river) >= 1}': "countries that lie in Europe and have at least 1 river",
    "country{max avg(<- mountain, height_m)}": "countries that have mountains with the highest average height",
    "country{min count(<- river)}": "countries that have the fewest rivers",
    "country{count(<- river) > count(<- mountain)}": "countries that have more rivers than mountains",
    "country{count(-> [borders] -> country) > 3}": None,
    "country{count(<- river{length_km > 1000}) > 3}": None,
    "(continent -> country){max count(<- river)}": None,
}


@pytest.mark.parametrize("text", WORDS)
def test_in_words(world: KnowledgeBase, text: str) -> None:
    phrase = noun_phrase(world.answers(text).plan, world.schema)
    assert (phrase and phrase.text(is_plural=True)) == WORDS[text]


def test_the_command(here: Any, world_kb: Path) -> None:
    def run(*words: str) -> str:
        return good(here("answers", world_kb, *words))

    assert run("count(country)") == "197\n"
    assert json.loads(run("count(country)", "-f", "json")) == [{"count": 197}]
    assert run("avg(country - country, area_km2)") == "no value\n"
    assert json.loads(run("avg(country - country, area_km2)", "-f", "json")) == [{"avg": None}]
    ranges = "values(mountain{height_m > 8000}, range)"
    assert "Karakoram" in run(ranges)
    assert run(ranges, "-f", "csv") == "range\nHimalayas\nKarakoram\n"
    assert run("count(country)", "--count") == "197\n"
    assert run("exists(country)") == "true\n"
    assert json.loads(run("exists(country - country)", "-f", "json")) == [{"exists": False}]
    table = "count(country by -> continent order by count desc limit 1)"
    assert run(table, "-f", "csv") == "node,name,count\ncontinent#africa,Africa,54\n"
    assert "Africa" in run(table)
    assert run(table, "--compile", "sql").endswith("ORDER BY count(*) DESC NULLS LAST, g1.id\n")
    assert "GROUP BY ?continent_1" in run(table, "--compile", "sparql")
    assert run("count(mountain{max height_m})", "--why").splitlines()[1:] == [
        "  height_m = 8849, the greatest of 322 nodes",
        "count(mountain{max height_m}) = 1",
        "1 answer",
    ]


def test_the_prompt(world: KnowledgeBase) -> None:
    executor = Executor(world)
    outcome = executor.answered(executor.answer_set("count(country{max area_km2})"))
    assert outcome.preview is not None
    assert outcome.preview.equals(pl.DataFrame({"count": [1]}))
    assert executor.answer_set("_ -> city").nodes()["name"].to_list() == ["Moscow"]


def test_samples(world: KnowledgeBase) -> None:
    text = "(continent:<c> -> country){max area_km2}"
    found = world.sample(text, 3, max_answers=1)
    assert found.height == 3
    with pytest.raises(KbError, match="is a value"):
        world.sample("country{count(<- river) > <n>}", 3)


def test_a_graph_with_these_names(tmp_path: Path) -> None:
    """Types, relations and attributes called max, min, count, values, sum and avg."""
    (tmp_path / "nodes.csv").write_text(
        "key,type,count,max,min,name\n1,count,3,5,a,x\n2,count,1,9,b,y\n3,max,7,2,c,z\n", encoding="utf-8"
    )
    (tmp_path / "edges.csv").write_text("head,relation,tail\n1,sum,3\n2,sum,3\n1,values,2\n", encoding="utf-8")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "t.kb", stores=["adjacency", "triples"]) as kb:
        for text, keys in {
            "count": ["1", "2"],
            "count{count > 2}": ["1"],
            "count{max count}": ["1"],
            "count{max `max`}": ["2"],
            "count{min min, max = 5}": ["1"],
            "count{max max}": ["2"],
            "count{max in [5], min contains 'A'}": ["1"],
            "max{max count(<- count)}": ["3"],
            "count -> sum -> max": ["3"],
            "count{count(-> sum -> max) = 1}": ["1", "2"],
            "count(count)": ["1", "2"],
            "values(count, count)": ["1", "2"],
        }.items():
            for engine in ("walk", "sql", "sparql"):
                assert kb.answers(text, engine).nodes()["key"].to_list() == keys, (text, engine)
        assert kb.answers("values(count, count)").value == [1, 3]
        assert kb.answers("sum(count, max)").value == 14


def test_dates_before_christ_are_text(wikidata_kb: Path) -> None:
    with kbkit.open(wikidata_kb) as kb:
        [(key, died)] = kb.tables.rows("SELECT key, P570::VARCHAR FROM human WHERE P570 < DATE '0001-01-01' LIMIT 1")
        assert kb.answers(f"values(human#{key}, P570)").value == [died]
        assert died.endswith("(BC)")
        later = kb.answers("values(human{P570 > '1900-01-01'}, P570)").value
        assert later == sorted(later)
        assert {type(day).__name__ for day in later} == {"date"}
