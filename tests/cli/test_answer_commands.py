"""Commands on answer sets: answers, template, sets; and stark generate."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from kbkit.kb import KnowledgeBase
from tests.console import good, one_line, records, rows
from tests.wording import Wording

CAPITAL = "continent:'Oceania' -> country -> city"
BESIDE = "country:<c> -> [borders] -> country"
CONTINENT = "continent:<c> -> country"
OWN = """
[[template]]
id = "beside"
expression = 'country:<c> -> [borders] -> country'
answer = "country"
question = "What lies beside <c>?"
"""


@pytest.fixture(scope="module")
def own_kb(world_kb: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the world KB, to save sets in."""
    return Path(shutil.copytree(world_kb, tmp_path_factory.mktemp("own") / "w.kb"))


@pytest.fixture
def own_catalogue(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(OWN, encoding="utf-8")
    return path


# -- answers ----------------------------------------------------------------------------------------------------------


@pytest.mark.core
def test_formats(here: Any, world: KnowledgeBase, world_kb: Path, tmp_path: Path) -> None:
    nodes = world.answers(CAPITAL).nodes()
    assert records("answers", world_kb, CAPITAL) == nodes.to_dicts()
    assert json.loads(good(here("answers", world_kb, CAPITAL, "-f", "json"))) == nodes.to_dicts()
    assert pl.read_csv(good(here("answers", world_kb, CAPITAL, "-f", "csv")).encode()).rows() == nodes.rows()
    table = good(here("answers", world_kb, CAPITAL, "-f", "table"))
    assert all(name in table for name in nodes["name"])
    assert f"{nodes.height} rows" in table
    assert good(here("answers", world_kb, CAPITAL, "--count")) == f"{nodes.height}\n"
    path = tmp_path / "found.parquet"
    assert good(here("answers", world_kb, CAPITAL, "-o", path)) == ""
    assert pl.read_parquet(path).rows() == nodes.rows()
    assert records("answers", world_kb, "country{area_km2 < 0}") == []
    assert good(here("answers", world_kb, "country{area_km2 < 0}", "--count")) == "0\n"


def test_why(here: Any, world: KnowledgeBase, world_kb: Path) -> None:
    found = world.answers(CAPITAL)
    wanted = {node["key"]: found.why(node["id"]).lines() for node in found.nodes().to_dicts()}
    assert {row["key"]: row["why"] for row in records("answers", world_kb, CAPITAL, "--why")} == wanted
    data = json.loads(good(here("answers", world_kb, CAPITAL, "--why", "-f", "json")))
    assert {row["key"]: row["why"] for row in data} == wanted
    page = good(here("answers", world_kb, CAPITAL, "--why", "-f", "table"))
    assert "Suva  (city#suva)\n  " in page
    assert page.endswith(f"{len(found)} answers\n")
    assert records("answers", world_kb, "country{area_km2 < 0}", "--why") == []


@pytest.mark.parametrize("engine", ["walk", "sql", "sparql"])
def test_engines(here: Any, world: KnowledgeBase, world_kb: Path, engine: str) -> None:
    done = here("answers", world_kb, BESIDE, "-p", "c=france", "-e", engine, "-f", "ndjson")
    assert rows(done) == world.answers(BESIDE, c="France").nodes().to_dicts()


def test_compiled_queries_give_the_same_answers(here: Any, world: KnowledgeBase, world_kb: Path) -> None:
    expression = '(continent:<c> -> country){area_km2 > <a>} - (language:"French" -> country)'
    given = ("-p", "c=Africa", "-p", "a=100000")
    found = world.answers(expression, c="Africa", a=100000).nodes()
    sql = good(here("answers", world_kb, expression, *given, "--compile", "sql"))
    assert records("sql", world_kb, "-c", sql) == found.to_dicts()
    with duckdb.connect(str(world_kb / "generations" / "0001" / "tables.duckdb"), read_only=True) as plain:
        assert [row[0] for row in plain.sql(sql).fetchall()] == found["id"].to_list()
    sparql = good(here("answers", world_kb, expression, *given, "--compile", "sparql"))
    answers = records("sparql", world_kb, "-c", sparql)
    iris = {world.schema.node_iri(*row) for row in found.select("type", "key").iter_rows()}
    assert {row["answer"] for row in answers} == iris
    assert len(answers) == found.height > 10


def test_slots(here: Any, tiny_kb: Path) -> None:
    expression = "gene/protein:<gene/protein> -> [associated_with] -> disease"
    for value in ("BRCA1", "brca1", "#g1", "breast cancer 1"):
        assert [row["key"] for row in records("answers", tiny_kb, expression, "-p", f"gene/protein={value}")] == ["x2"]
    done = here("answers", tiny_kb, "*{code = <code>, name contains <a = b>}", "-p", "code=0042", "--param", "a = b=5")
    assert done.returncode == 1  # a slot's name has no =
    done = here("answers", tiny_kb, "*{name contains <what is it?>}", "-p", "what is it?=?s ?p ?o", "-f", "ndjson")
    assert [row["key"] for row in rows(done)] == ["x2"]
    done = here("answers", tiny_kb, "drug{note contains <n>}", "-p", "n=100% ", "-f", "ndjson")
    assert [row["key"] for row in rows(done)] == ["1"]


def test_saved_sets(here: Any, world: KnowledgeBase, own_kb: Path, wording: Wording) -> None:
    done = here("answers", own_kb, CAPITAL, "--save", "capitals", "--count")
    count = len(world.answers(CAPITAL))
    assert good(done, f"Saved {count} nodes as @capitals\n") == f"{count}\n"
    good(here("answers", own_kb, BESIDE, "-p", "c=Peru", "--save", "odd name/ü"), "Saved 5 nodes as @`odd name/ü`\n")
    listed = records("sets", "list", own_kb)
    assert [(row["set"], row["type"], row["nodes"]) for row in listed] == [
        ("capitals", "city", count), ("odd name/ü", "country", 5),
    ]  # fmt: skip
    assert listed[1]["expression"] == 'country:"Peru" -> [borders] -> country'
    assert listed[1]["generation"] == "0001"
    assert records("sets", "show", own_kb, "capitals") == world.answers(CAPITAL).nodes().to_dicts()
    peru = world.answers(BESIDE, c="Peru").nodes().to_dicts()
    for engine in ("walk", "sql", "sparql"):
        assert records("answers", own_kb, "@`odd name/ü`", "-e", engine) == peru
    assert good(here("answers", own_kb, "@capitals - (country:'Fiji' -> city)", "--count")) == f"{count - 1}\n"
    for language in ("sql", "sparql"):
        text = good(here("answers", own_kb, "@`odd name/ü`", "--compile", language))
        assert len(records(language, own_kb, "-c", text)) == 5
    assert good(here("sets", "drop", own_kb, "capitals", "odd name/ü")) == ""
    assert records("sets", "list", own_kb) == []
    for args in (
        ("answers", own_kb, "@capitals"),
        ("sets", "drop", own_kb, "capitals"),
        ("sets", "show", own_kb, "capitals"),
    ):
        message = one_line(here(*args))
        assert "capitals" in message
        wording(message, "cli")


def test_drop_all_or_none(here: Any, own_kb: Path) -> None:
    good(here("answers", own_kb, CAPITAL, "--save", "kept", "--count"), "Saved 15 nodes as @kept\n")
    one_line(here("sets", "drop", own_kb, "kept", "never"))
    assert [row["set"] for row in records("sets", "list", own_kb)] == ["kept"]


def test_own_templates(here: Any, world: KnowledgeBase, world_kb: Path, own_catalogue: Path) -> None:
    wanted = world.answers(BESIDE, c="Peru").nodes().to_dicts()
    for name in ("beside", "mine/beside"):
        done = here("answers", world_kb, "--template", name, "--from", own_catalogue, "-p", "c=Peru", "-f", "ndjson")
        assert rows(done) == wanted
    [row] = records("template", "sample", world_kb, "--template", "beside", "--from", own_catalogue, "-n", "1")
    assert row["question"] == f"What lies beside {row['c name']}?"
    first = records("template", "list", world_kb, "--from", own_catalogue)[0]
    assert (first["template"], first["fits"], first["problem"]) == ("mine/beside", True, "")


# -- templates --------------------------------------------------------------------------------------------------------


def test_templates(here: Any, world: KnowledgeBase, world_kb: Path) -> None:
    listed = records("template", "list")
    assert len(listed) == 57
    assert list(listed[0]) == ["template", "answer", "expression", "question"]
    assert records("template", "list", world_kb) == world.templates().to_dicts()
    fitting = records("template", "list", world_kb, "--part", CONTINENT)
    assert [row["template"].split("/")[0] for row in fitting if row["fits"]] == ["quest"] * 7
    assert "fits" in good(here("template", "list", world_kb, "-f", "table"))
    fields = {row["field"]: row["value"] for row in records("template", "show", "mag/same_author")}
    assert fields["expression"] == "paper:<paper> -> author -> paper"
    assert fields["exclude_start"] == "True"
    assert {row["field"]: row["value"] for row in records("template", "show", "same_author")} == fields


def test_suggestions(here: Any, world: KnowledgeBase, world_kb: Path, tmp_path: Path) -> None:
    wanted = world.suggest_templates(4)
    assert records("template", "suggest", world_kb, "-n", "4") == wanted.to_dicts()
    table = good(here("template", "suggest", world_kb, "-n", "4", "-f", "table"))
    assert wanted["expression"][0] in " ".join(table.split())
    path = tmp_path / "mine.toml"
    assert good(here("template", "suggest", world_kb, "-n", "4", "-o", path)) == ""
    again = records("template", "list", world_kb, "--from", path)[:4]
    assert [row["expression"] for row in again] == wanted["expression"].to_list()
    assert all(row["fits"] for row in again)
    drawn = records("template", "sample", world_kb, "--template", again[0]["template"], "--from", path, "-n", "2")
    assert len(drawn) == 2
    assert len(records("template", "suggest", world_kb)) == 20


# -- sample -----------------------------------------------------------------------------------------------------------


@pytest.mark.core
def test_sample(here: Any, world: KnowledgeBase, world_kb: Path) -> None:
    expression = "continent:<c> -> country <- language:<l>"
    assert records("template", "sample", world_kb, expression) == world.sample(expression).to_dicts()
    options = ("-n", "4", "--seed", "9", "--min-answers", "2", "--max-answers", "5", "--sampling", "popular")
    wanted = world.sample(expression, 4, 9, 2, 5, "popular")
    assert wanted.height == 4
    assert records("template", "sample", world_kb, expression, *options) == wanted.to_dicts()
    table = good(here("template", "sample", world_kb, expression, *options, "-f", "table"))
    assert wanted["expression"][0] in table
    assert "c name" not in table


def test_sample_of_parts(here: Any, world: KnowledgeBase, world_kb: Path) -> None:
    parts = ["organisation:<o> -> country", CONTINENT]
    limits = {"union_sides_from": 5, "union_overlap_under": 0.5}
    given = [f"--part={part}" for part in parts] + [f"--constraint={name}={value}" for name, value in limits.items()]
    done = here(
        "template",
        "sample",
        world_kb,
        "--template",
        "quest/union",
        *given,
        "-n",
        "3",
        "--max-answers",
        "30",
        "-f",
        "ndjson",
    )
    wanted = world.sample("quest/union", 3, max_answers=30, parts=parts, constraints=limits)
    assert wanted.height == 3
    assert rows(done) == wanted.to_dicts()


def test_fewer_groundings_than_the_limit(here: Any, world_kb: Path) -> None:
    done = here("template", "sample", world_kb, CONTINENT, "-n", "9", "--max-answers", "60", "-f", "ndjson")
    assert len(rows(done, "Only 6 groundings qualify\n")) == 6
    done = here("template", "sample", world_kb, CONTINENT, "--min-answers", "150", "--max-answers", "160", "-f", "csv")
    assert good(done, "Only 0 groundings qualify\n") == "c,c name,expression,question,answers\n"
    assert len(records("--quiet", "template", "sample", world_kb, CONTINENT, "-n", "6", "--max-answers", "60")) == 6


def test_numbers_with_an_exponent(here: Any, world_kb: Path) -> None:
    done = here(
        "template",
        "sample",
        world_kb,
        "--template",
        "quest/union",
        "--part",
        CONTINENT,
        "--constraint",
        "union_overlap_under=1e-1",
    )
    assert done.returncode == 0


# -- generate ---------------------------------------------------------------------------------------------------------


@pytest.mark.core
def test_generate(here: Any, tmp_path: Path, wording: Wording) -> None:
    out = tmp_path / "new" / "graph"
    done = here("--quiet", "stark", "generate", "mag", "-o", out, "--scale", "0.0002", "--seed", "3", "--no-texts")
    assert done.returncode == 0
    assert done.stderr == ""
    assert sorted(path.name for path in out.iterdir()) == ["edges.parquet", "nodes.parquet"]
    loud = here("stark", "generate", "mag", "-o", tmp_path / "other", "--scale", "0.0002", "--seed", "3")
    assert loud.returncode == 0
    assert f"kbkit ingest table {tmp_path / 'other'} -o mag.kb" in loud.stdout
    names = ("nodes.parquet", "edges.parquet")
    assert all(pl.read_parquet(out / name).equals(pl.read_parquet(tmp_path / "other" / name)) for name in names)
    good(here("--quiet", "ingest", "table", tmp_path / "other", "-o", tmp_path / "mag.kb", "--stores", "tables"))
    fitting = [row["template"] for row in records("template", "list", tmp_path / "mag.kb") if row["fits"]]
    assert [name.split("/")[0] for name in fitting] == ["mag"] * 7
    message = one_line(here("stark", "generate", "mag", "-o", out, "--scale", "0.0002"))
    assert f"{out}" in message
    assert "nodes.parquet" in message
    wording(message, "cli", replace={str(out): "OUT"})


@pytest.mark.parametrize(
    ("args", "fact"),
    [
        (("mags",), "'mag'"),
        (("mag", "--scale", "0"), "0.0"),
        (("mag", "--scale", "11"), "11.0"),
        (("mag", "--scale", "nan"), "nan"),
        (("mag", "--seed", "-1"), "-1"),
    ],
)
def test_errors_of_generate(here: Any, tmp_path: Path, args: tuple[str, ...], fact: str, wording: Wording) -> None:
    message = one_line(here("stark", "generate", *args, "-o", tmp_path / "g"))
    assert fact in message
    wording(message, "cli")
    assert not (tmp_path / "g").exists()


# -- errors -----------------------------------------------------------------------------------------------------------

SAMPLE = ("template", "sample", "KB")


@pytest.mark.parametrize(
    ("args", "fact"),
    [
        (("answers", "KB"), "expression"),
        (("answers", "KB", "country", "--template", "mag/author"), "expression"),
        (SAMPLE, "expression"),
        (("answers", "KB", "country", "-e", "duckdb"), "'duckdb'"),
        (("answers", "KB", "country", "--compile", "cypher"), "'cypher'"),
        (("answers", "KB", "country", "--compile", ""), "''"),
        (("answers", "KB", "country", "--timeout", "-1"), "-1"),
        (("answers", "KB", "--template", "mag/autor"), "'mag/author'"),
        (("answers", "KB", "--template", "mag/author", "-p", "author=X"), "'author'"),
        (("answers", "KB", "country", "-f", "xml"), "'xml'"),
        (("answers", "KB", "country", "-o", "x.xyz"), "x.xyz"),
        (("answers", "TMP", "country"), "TMP"),
        (("answers", "TMP/none", "country"), "TMP/none"),
        ((*SAMPLE[:2], "TMP", "country:<c>"), "TMP"),
        (("template", "list", "TMP"), "TMP"),
        (("sets", "list", "TMP"), "TMP"),
        (("answers", "KB", BESIDE), "<c>"),
        (("answers", "KB", BESIDE, "-p", "c=Peru", "-p", "d=x"), "'d'"),
        (("answers", "KB", BESIDE, "-p", "c"), "'c'"),
        (("answers", "KB", BESIDE, "-p", "=c"), "'=c'"),
        (("answers", "KB", BESIDE, "-p", "c=Peruu"), "'Peru'"),
        (("answers", "KB", BESIDE, "-p", "c=#peru"), "'peru'"),
        (("answers", "KB", "country ->"), "11"),
        (("answers", "KB", "country{area_km2 > <a>}", "-p", "a=big"), "'big'"),
        (("answers", "KB", "country -> city", "--save", " "), "' '"),
        (("answers", "KB", "--template", "x", "--from", "TMP/none.toml"), "none.toml"),
        (("template", "show", "mag/autor"), "'mag/autor'"),
        (("template", "list", "-f", "xml"), "'xml'"),
        ((*SAMPLE, CONTINENT, "-n", "0"), "0"),
        ((*SAMPLE, CONTINENT, "--seed", "-1"), "-1"),
        ((*SAMPLE, CONTINENT, "--min-answers", "9", "--max-answers", "3"), "9"),
        ((*SAMPLE, CONTINENT, "--sampling", "degree"), "'degree'"),
        ((*SAMPLE, "country{area_km2 > <a>}"), "<a>"),
        ((*SAMPLE, "--template", "quest/union"), "'category'"),
        ((*SAMPLE, "--template", "quest/union", "--part", "country"), "country"),
        ((*SAMPLE, CONTINENT, "--constraint", "sides=1"), "'sides'"),
        ((*SAMPLE, CONTINENT, "--constraint", "union_sides_from"), "'union_sides_from'"),
        ((*SAMPLE, CONTINENT, "--constraint", "union_sides_from=few"), "'few'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_errors(here: Any, world_kb: Path, tmp_path: Path, args: tuple[str, ...], fact: str, wording: Wording) -> None:
    message = one_line(here(*(str(world_kb) if a == "KB" else a.replace("TMP", str(tmp_path)) for a in args)))
    message = message.replace(str(tmp_path), "TMP").replace(str(world_kb), "KB")
    assert fact in message
    wording(message, "cli")


@pytest.mark.parametrize(
    "args",
    [
        (*SAMPLE, CONTINENT, "-n", "few"),
        ("stark", "generate", "mag"),
        ("sets", "drop", "KB"),
        ("answers",),
        ("template", "suggest"),
        ("template", "suggest", "KB", "-n", "0"),
        ("answers", "KB", "-t", "mag/author"),
        (*SAMPLE, "-t", "mag/author"),
    ],
)
def test_usage_errors(here: Any, world_kb: Path, args: tuple[str, ...], wording: Wording) -> None:
    done = here(*(world_kb if a == "KB" else a for a in args))
    assert (done.returncode, done.stdout) == (2, "")
    wording(done.stderr, "cli")
