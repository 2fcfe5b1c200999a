"""Compiled SQL and SPARQL: snapshots (``UPDATE_SNAPSHOTS=1 pytest -n 0 tests/answers/test_compile.py`` rewrites them),
and that the texts run by themselves, in engines that know nothing of kbkit."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyoxigraph
import pytest

import kbkit
from kbkit.answers import parse
from kbkit.answers.algebra import Plan
from kbkit.answers.resolve import resolve
from kbkit.answers.to_sparql import to_sparql
from kbkit.answers.to_sql import to_sql
from kbkit.kb import KnowledgeBase
from tests.places import TESTS

SNAPSHOTS = TESTS / "answers" / "snapshots"
BEGIN = 'country:"France" -> [borders] -> country'

# name: (KB, expression); together they use every operator
EXPRESSIONS = {
    "all": ("world", "continent"),
    "any-type": ("world", '*:"Paris"'),
    "name": ("world", 'country:"France"'),
    "key": ("world", "country#FRA"),
    "one-hop": ("world", BEGIN),
    "backwards": ("world", 'city:"Paris" -> country -> [speaks] -> language'),
    "all-hop": ("world", "mountain -> country"),
    "inverse": ("world", 'sea:"Mediterranean Sea" -> [^part_of] -> sea'),
    "meet": ("world", 'continent:"Europe" -> country <- [speaks] <- language:"German"'),
    "filters": ("world", 'mountain{height_m >= 8000, range contains "hima", name != "K2"} -> country'),
    "in-missing": ("world", 'country{un_status in ["observer", "none"], not missing(area_km2)}'),
    "filter-in-path": ("world", f"{BEGIN}{{area_km2 > 300000}} -> [capital] -> city{{latitude < 45.5}}"),
    "star": ("world", 'river:"Inn" -> [flows_into*] -> river'),
    "plus": ("world", 'river:"Inn" -> [flows_into+] -> sea'),
    "either": ("world", 'country:"Austria" -> [borders|borders+] -> country{area_km2 < 1000}'),
    "not": ("world", 'continent:"Europe" -> country <- [!coast_on] <- sea'),
    "sets": ("world", '(continent:"Asia" -> country) & (country{area_km2 < 5000} | country#CHN) - country:"Qatar"'),
    "two-without": ("world", 'country{area_km2 > 7000000} - country:"Canada" - (language:"English" -> country)'),
    "start-of-sets": ("world", f'(({BEGIN}) & (continent:"Europe" -> country)) -> [capital] -> city'),
    "top": ("world", '(continent:"Europe" -> country){top 3 area_km2, bottom 2 count(<- river)}'),
    "compared": (
        "world",
        'country{area_km2 > values(country:"India", area_km2)}{count(<- river) > avg(country, count(<- river))}',
    ),
    "compared-lists": ("world", "country{name = values(city, name)} | country{area_km2 != values(country, area_km2)}"),
    "two-attributes": (
        "small",
        "drug{weight < year, code != key} | drug{updated > first_seen} | (person -> [order{source = source}] -> drug)",
    ),
    "dates": (
        "small",
        "gene/protein{days(first_seen, updated) > year, max year(first_seen)}"
        ' | gene/protein{month(updated) = "2023-12"}',
    ),
    "negated": ("world", 'country{not (un_status = "member"), name not in ["Kosovo"], name not contains "x"}'),
    "years": ("small", 'drug{first_seen = "1921-07"} | drug{first_seen != 1921} | drug{updated >= 2024}'),
    "through-any": ("world", 'river:"Danube" -> [flows_through] -> * -> [capital] -> city'),
    "tiny-all-of-a-name": ("small", 'person:all("Zoë Müller") -> [order|takes] -> drug'),
    "tiny-other-types": ("small", "hormone & (* <- [is treated by] <- disease)"),
    "tiny-kinds": (
        "small",
        'drug{approved = false} | drug{weight < 6.5, first_seen > "1900-01-01"} | drug{updated > "2024-01-01"}',
    ),
    "tiny-quotes": ("small", "drug:\"O'Brien's tonic; DROP TABLE nodes; --\" -> [^`order`] -> person"),
    "tiny-brackets": ("small", 'disease{code = "{$x}"} -> [`is treated by`] -> drug{note contains "%"}'),
    "tiny-loop": ("small", "gene/protein -> [interacts] -> gene/protein -> [^interacts+] -> gene/protein"),
    "tiny-edges": (
        "small",
        "person -> [order{quantity > 1, since = 2021}|takes] -> drug <- [`is treated by`{missing(since)}] <- disease"
        " | (drug{count(<- [order{quantity in [1, 2]}] <- person) > 0} <- [!order{source contains 'x'}] <- person)",
    ),
    "superlative": ("world", "country{area_km2 > 1000, max area_km2} -> [capital] -> city"),
    "superlative-of-a-path": ("world", '(continent:"Europe" -> country){min name}'),
    "superlative-without": ("world", "country - country{max area_km2}"),
    "count": ("world", "country{count(<- river{length_km > 1000}) >= 3}"),
    "measures": (
        "world",
        "continent{max avg(<- country, area_km2)} | continent{count(<- country) > max(<- country <- river, length_km)}",
    ),
    "measures-of-a-date": ("small", "person{max(-> [order] -> drug, first_seen) >= 1962}"),
    "count-hops": ("world", "continent{max count(<- country <- river)}"),
    "count-three-hops": ("world", "continent{count(<- country <- [borders] <- country <- language) > 20}"),
    "count-closure": ("world", 'country{count(-> [borders+] -> country{count(<- sea) > 3}) > 1} & country:"France"'),
    "total": ("world", "avg(mountain{height_m > 8000}, height_m)"),
    "tiny-superlatives": (
        "small",
        "drug{max approved} | drug{min updated} | drug{max count(<- [order|takes] <- person)}",
    ),
    "rdf-superlative": ("rdf", "Drug{max key, min year}"),
    "rdf-path": ("rdf", "Disease -> [is%20treated%20by] -> Drug{approved = true}"),
    "rdf-sets": ("rdf", "Drug{year > 1900} - Drug#http://example.org/tiny/drug/1"),
}
# name: (KB, expression, nodes by reference or constants for its slots)
TEMPLATES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "slot-path": ("world", "country:<country> -> [borders] -> country -> city", {"country": "country#FRA"}),
    "slot-twice": (
        "world",
        "(country:<c> -> [borders] -> country -> [borders] -> country) - country:<c> - (country:<c> -> country)",
        {"c": "country#PRT"},
    ),
    "slot-meet": (
        "world",
        "continent:<where> -> country <- [speaks] <- language:<a tongue>",
        {"where": "continent#europe", "a tongue": "language#deu"},
    ),
    "slot-filter": (
        "world",
        "country:<c> <- [lies_in] <- mountain{height_m > <above>, name contains <words>}",
        {"c": "country#NPL", "above": 8000, "words": "a"},
    ),
    "slot-edges": (
        "small",
        "drug <- [order{quantity = <n>, source = <s>}] <- person:<p>",
        {"n": 3, "s": "pharmacy", "p": "person#1"},
    ),
    "slot-count": (
        "world",
        "country{count(<- river) > <n>, count(-> language:<l>) = <k>, max area_km2}",
        {"n": 5, "l": "language#deu", "k": 1},
    ),
    "slot-closure": ("world", "river:<gene/protein> -> [flows_into+] -> sea", {"gene/protein": "river#inn"}),
    "slot-not": ("small", "person:<p> -> [!takes] -> drug", {"p": "person#1"}),
    "slot-kinds": (
        "small",
        "person{first_seen < <d>, weight > <w>, year = <y>} | person:<p>",
        {"d": "1960-01-01", "w": 1.5, "y": 1958, "p": "person#p3"},
    ),
}


@pytest.fixture(scope="module")
def rdf(rdf_kb: Path) -> Iterator[KnowledgeBase]:
    with kbkit.open(rdf_kb) as kb:
        yield kb


@pytest.fixture
def kb_named(request: pytest.FixtureRequest) -> Callable[[str], KnowledgeBase]:
    return request.getfixturevalue


def plan_of(kb: KnowledgeBase, text: str) -> Plan:
    return resolve(parse(text), kb.schema, text=text)


def check_snapshot(name: str, text: str, sql: str, sparql: str) -> None:
    path = SNAPSHOTS / f"{name}.txt"
    shown = f"{text}\n\n-- SQL\n{sql}\n\n# SPARQL\n{sparql}\n"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(shown.encode())
    assert path.read_bytes().decode() == shown, "UPDATE_SNAPSHOTS=1 rewrites the snapshots"


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_snapshots(name: str, kb_named: Callable[[str], KnowledgeBase]) -> None:
    which, text = EXPRESSIONS[name]
    found = kb_named(which).answers(text)
    check_snapshot(name, text, found.sql, found.sparql)
    assert len(found)


@pytest.mark.parametrize("name", TEMPLATES)
def test_template_snapshots(name: str, kb_named: Callable[[str], KnowledgeBase]) -> None:
    which, text, _ = TEMPLATES[name]
    kb = kb_named(which)
    plan = plan_of(kb, text)
    check_snapshot(name, text, to_sql(plan, kb.schema), to_sparql(plan, kb.schema))


def test_no_snapshot_is_left_over() -> None:
    assert {path.stem for path in SNAPSHOTS.iterdir()} == {*EXPRESSIONS, *TEMPLATES}


# -- the texts alone ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def plain_sql() -> Iterator[Callable[..., list[int]]]:
    """Run SQL in DuckDB alone, read-only on the KB's file: ids."""
    opened: dict[Path, duckdb.DuckDBPyConnection] = {}

    def call(kb: KnowledgeBase, sql: str, params: dict[str, Any] | None = None) -> list[int]:
        path = kb.directory.path / "generations" / "0001" / "tables.duckdb"
        if path not in opened:
            opened[path] = duckdb.connect(str(path), read_only=True)
        cursor = opened[path].cursor().execute(sql, params or {})
        assert [column[0] for column in cursor.description] == ["id", "type", "key", "name"]
        return [row[0] for row in cursor.fetchall()]

    yield call
    for connection in opened.values():
        connection.close()


@pytest.fixture(scope="module")
def plain_sparql(tmp_path_factory: pytest.TempPathFactory) -> Callable[[KnowledgeBase, str], list[str]]:
    """Run SPARQL in Oxigraph alone, on a copy of the KB's triples: IRIs."""
    opened: dict[Path, pyoxigraph.Store] = {}

    def call(kb: KnowledgeBase, sparql: str) -> list[str]:
        path = kb.directory.path / "generations" / "0001" / "triples"
        if path not in opened:
            copy = tmp_path_factory.mktemp("triples") / "copy"
            shutil.copytree(path, copy, ignore=shutil.ignore_patterns("LOCK"))
            opened[path] = pyoxigraph.Store.read_only(str(copy))
        solutions = opened[path].query(sparql)
        assert isinstance(solutions, pyoxigraph.QuerySolutions)
        assert [v.value for v in solutions.variables] == ["answer"]
        return sorted(solution["answer"].value for solution in solutions)

    return call


def iris(kb: KnowledgeBase, ids: list[int]) -> list[str]:
    return sorted(kb.iri(node) for node in ids)


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_texts_run_alone(
    name: str,
    kb_named: Callable[[str], KnowledgeBase],
    plain_sql: Callable[..., list[int]],
    plain_sparql: Callable[[KnowledgeBase, str], list[str]],
) -> None:
    which, text = EXPRESSIONS[name]
    kb = kb_named(which)
    found = kb.answers(text)
    assert plain_sql(kb, found.sql) == found.ids.tolist()
    assert plain_sparql(kb, found.sparql) == iris(kb, found.ids.tolist())
    bare = "\n".join(line for line in found.sql.splitlines() if not line.startswith("--"))
    assert plain_sql(kb, bare) == found.ids.tolist()


@pytest.mark.parametrize("name", TEMPLATES)
def test_templates_run_with_parameters(
    name: str, kb_named: Callable[[str], KnowledgeBase], plain_sql: Callable[..., list[int]]
) -> None:
    which, text, values = TEMPLATES[name]
    kb = kb_named(which)
    plan = plan_of(kb, text)
    slots = {s: "#" + v.split("#")[1] if "#" in str(v) else v for s, v in values.items()}
    expected = kb.answers(text, **slots).ids.tolist()
    assert expected
    names = {p.source.name: p.name for p in plan.parameters}  # type: ignore[union-attr]
    assert set(names) == set(values) == set(plan.slots)
    keys = {names[s]: v.split("#")[1] if "#" in str(v) else v for s, v in values.items()}
    assert plain_sql(kb, to_sql(plan, kb.schema), keys) == expected
    assert kb.sql(to_sql(plan, kb.schema), **keys)["id"].to_list() == expected
    ids = {names[s]: kb.find(v) if "#" in str(v) else v for s, v in values.items()}
    assert plain_sql(kb, to_sql(plan, kb.schema, nodes_by_id=True), ids) == expected
    if name != "slot-kinds":  # a date is no literal that kb.sparql can write
        terms = {names[s]: f"<{kb.iri(v)}>" if "#" in str(v) else v for s, v in values.items()}
        assert sorted(kb.sparql(to_sparql(plan, kb.schema), **terms)["answer"]) == iris(kb, expected)


@pytest.mark.parametrize("slot", ["answer", "country_1"])
def test_slots_called_as_variables_are(world: KnowledgeBase, slot: str) -> None:
    plan = plan_of(world, f"country:<{slot}> -> [borders] -> country -> [capital] -> city")
    variables = set(re.findall(r"\?(\w+)", to_sparql(plan, world.schema)))
    assert plan.parameters[0].name not in variables


def test_comments_end_where_the_expression_does(
    world: KnowledgeBase, plain_sql: Callable[..., list[int]], plain_sparql: Callable[[KnowledgeBase, str], list[str]]
) -> None:
    """Line ends of every kind in an expression stay inside the comment that shows it."""
    for end in ("\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"):
        found = world.answers(f"country{end}-> continent{end}{{name != 'x{end}}} DROP TABLE nodes; --'}}")
        assert len(found) == 6
        assert plain_sql(world, found.sql) == found.ids.tolist()
        assert plain_sparql(world, found.sparql) == iris(world, found.ids.tolist())


def test_compiling_is_deterministic(world: KnowledgeBase) -> None:
    for which, text in EXPRESSIONS.values():
        if which == "world":
            first, second = world.answers(text), world.answers(str(parse(text)))
            assert first.sql.splitlines()[1:] == second.sql.splitlines()[1:]
            assert first.sparql.splitlines()[1:] == second.sparql.splitlines()[1:]
