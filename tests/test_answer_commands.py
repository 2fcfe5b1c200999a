"""The commands about answers, as a user meets them: answers, templates, sample, sets, generate."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from kbkit.kb import KnowledgeBase

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
    """A copy of the world, for sets are saved in it."""
    return Path(shutil.copytree(world_kb, tmp_path_factory.mktemp("own") / "w.kb"))


@pytest.fixture
def own_catalogue(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(OWN, encoding="utf-8")
    return path


def good(done: Any, said: str = "") -> str:
    """What a command printed that went well; ``said`` is on standard error."""
    assert (done.returncode, done.stderr) == (0, said)
    return done.stdout


def rows(done: Any, said: str = "") -> list[dict[str, Any]]:
    return [json.loads(line) for line in good(done, said).splitlines()]


def one_line(done: Any) -> str:
    """The error of a command that failed as it should."""
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("kbkit: ")
    assert done.stderr.count("\n") == 1
    return done.stderr.removeprefix("kbkit: ").rstrip("\n")


# -- answers ----------------------------------------------------------------------------------------------------------


def test_formats(here: Any, world: KnowledgeBase, world_kb: Path, tmp_path: Path) -> None:
    nodes = world.answers(CAPITAL).nodes()
    assert rows(here("answers", world_kb, CAPITAL)) == nodes.to_dicts()
    assert json.loads(good(here("answers", world_kb, CAPITAL, "-f", "json"))) == nodes.to_dicts()
    assert pl.read_csv(good(here("answers", world_kb, CAPITAL, "-f", "csv")).encode()).rows() == nodes.rows()
    table = good(here("answers", world_kb, CAPITAL, "-f", "table"))
    assert all(name in table for name in nodes["name"])
    assert f"{nodes.height} rows" in table
    assert good(here("answers", world_kb, CAPITAL, "--count")) == f"{nodes.height}\n"
    path = tmp_path / "found.parquet"
    assert good(here("answers", world_kb, CAPITAL, "-o", path)) == ""
    assert pl.read_parquet(path).rows() == nodes.rows()
    assert rows(here("answers", world_kb, "country{area_km2 < 0}")) == []
    assert good(here("answers", world_kb, "country{area_km2 < 0}", "--count")) == "0\n"


def test_why(here: Any, world: KnowledgeBase, world_kb: Path) -> None:
    found = world.answers(CAPITAL)
    wanted = {node["key"]: found.why(node["id"]).lines() for node in found.nodes().to_dicts()}
    assert {row["key"]: row["why"] for row in rows(here("answers", world_kb, CAPITAL, "--why"))} == wanted
    data = json.loads(good(here("answers", world_kb, CAPITAL, "--why", "-f", "json")))
    assert {row["key"]: row["why"] for row in data} == wanted
    page = good(here("answers", world_kb, CAPITAL, "--why", "-f", "table"))
    assert "Suva  (city#suva)\n  " in page
    assert page.endswith(f"{len(found)} answers\n")
    assert rows(here("answers", world_kb, "country{area_km2 < 0}", "--why")) == []


@pytest.mark.parametrize("engine", ["walk", "sql", "sparql"])
def test_engines(here: Any, world: KnowledgeBase, world_kb: Path, engine: str) -> None:
    done = here("answers", world_kb, BESIDE, "-p", "c=france", "-e", engine)
    assert rows(done) == world.answers(BESIDE, c="France").nodes().to_dicts()


def test_what_is_printed_runs(here: Any, world: KnowledgeBase, world_kb: Path) -> None:
    expression = '(continent:<c> -> country){area_km2 > <a>} - (language:"French" -> country)'
    given = ("-p", "c=Africa", "-p", "a=100000")
    found = world.answers(expression, c="Africa", a=100000).nodes()
    sql = good(here("answers", world_kb, expression, *given, "--print", "sql"))
    assert rows(here("sql", world_kb, "-c", sql)) == found.to_dicts()
    with duckdb.connect(str(world_kb / "generations" / "0001" / "tables.duckdb"), read_only=True) as plain:
        assert [row[0] for row in plain.sql(sql).fetchall()] == found["id"].to_list()
    sparql = good(here("answers", world_kb, expression, *given, "--print", "sparql"))
    answers = rows(here("sparql", world_kb, "-c", sparql))
    iris = {world.schema.node_iri(*row) for row in found.select("type", "key").iter_rows()}
    assert {row["answer"] for row in answers} == iris
    assert len(answers) == found.height > 10


def test_slots(here: Any, tiny_kb: Path) -> None:
    expression = "gene/protein:<gene/protein> -> [associated_with] -> disease"
    for value in ("BRCA1", "brca1", "#g1", "breast cancer 1"):
        assert [row["key"] for row in rows(here("answers", tiny_kb, expression, "-p", f"gene/protein={value}"))] == [
            "x2"
        ]
    done = here("answers", tiny_kb, "*{code = <code>, name contains <a = b>}", "-p", "code=0042", "--param", "a = b=5")
    assert done.returncode == 1  # a slot's name has no =
    done = here("answers", tiny_kb, "*{name contains <what is it?>}", "-p", "what is it?=?s ?p ?o")
    assert [row["key"] for row in rows(done)] == ["x2"]
    done = here("answers", tiny_kb, "drug{note contains <n>}", "-p", "n=100% ")
    assert [row["key"] for row in rows(done)] == ["1"]


def test_saved_sets(here: Any, world: KnowledgeBase, own_kb: Path) -> None:
    done = here("answers", own_kb, CAPITAL, "--save", "capitals", "--count")
    count = len(world.answers(CAPITAL))
    assert good(done, f"saved {count} nodes as @capitals\n") == f"{count}\n"
    good(here("answers", own_kb, BESIDE, "-p", "c=Peru", "--save", "odd name/ü"), "saved 5 nodes as @`odd name/ü`\n")
    listed = rows(here("sets", "list", own_kb))
    assert [(row["set"], row["type"], row["nodes"]) for row in listed] == [
        ("capitals", "city", count), ("odd name/ü", "country", 5),
    ]  # fmt: skip
    assert listed[1]["expression"] == 'country:"Peru" -> [borders] -> country'
    assert listed[1]["generation"] == "0001"
    assert rows(here("sets", "show", own_kb, "capitals")) == world.answers(CAPITAL).nodes().to_dicts()
    peru = world.answers(BESIDE, c="Peru").nodes().to_dicts()
    for engine in ("walk", "sql", "sparql"):
        assert rows(here("answers", own_kb, "@`odd name/ü`", "-e", engine)) == peru
    assert good(here("answers", own_kb, "@capitals - (country:'Fiji' -> city)", "--count")) == f"{count - 1}\n"
    for language in ("sql", "sparql"):
        text = good(here("answers", own_kb, "@`odd name/ü`", "--print", language))
        assert len(rows(here(language, own_kb, "-c", text))) == 5
    assert good(here("sets", "drop", own_kb, "capitals", "odd name/ü")) == ""
    assert rows(here("sets", "list", own_kb)) == []
    assert one_line(here("answers", own_kb, "@capitals")) == "column 1: there is no saved set @capitals; there are none"
    assert "unknown saved set 'capitals'" in one_line(here("sets", "drop", own_kb, "capitals"))
    assert "no saved set @capitals" in one_line(here("sets", "show", own_kb, "capitals"))


def test_drop_all_or_none(here: Any, own_kb: Path) -> None:
    good(here("answers", own_kb, CAPITAL, "--save", "kept", "--count"), "saved 15 nodes as @kept\n")
    one_line(here("sets", "drop", own_kb, "kept", "never"))
    assert [row["set"] for row in rows(here("sets", "list", own_kb))] == ["kept"]


def test_templates_of_ones_own(here: Any, world: KnowledgeBase, world_kb: Path, own_catalogue: Path) -> None:
    wanted = world.answers(BESIDE, c="Peru").nodes().to_dicts()
    for name in ("beside", "mine/beside"):
        done = here("answers", world_kb, "-t", name, "--from", own_catalogue, "-p", "c=Peru")
        assert rows(done) == wanted
    [row] = rows(here("sample", world_kb, "-t", "beside", "--from", own_catalogue, "-n", "1"))
    assert row["question"] == f"What lies beside {row['c name']}?"
    first = rows(here("templates", world_kb, "--from", own_catalogue))[0]
    assert (first["template"], first["fits"], first["problem"]) == ("mine/beside", True, "")


# -- templates --------------------------------------------------------------------------------------------------------


def test_templates(here: Any, world: KnowledgeBase, world_kb: Path) -> None:
    listed = rows(here("templates"))
    assert len(listed) == 57
    assert list(listed[0]) == ["template", "answer", "expression", "question"]
    assert rows(here("templates", world_kb)) == world.templates().to_dicts()
    fitting = rows(here("templates", world_kb, "--part", CONTINENT))
    assert [row["template"].split("/")[0] for row in fitting if row["fits"]] == ["quest"] * 7
    assert "fits" in good(here("templates", world_kb, "-f", "table"))
    fields = {row["field"]: row["value"] for row in rows(here("templates", "-t", "mag/same_author"))}
    assert fields["expression"] == "paper:<paper> -> author -> paper"
    assert fields["exclude_start"] == "True"
    assert {row["field"]: row["value"] for row in rows(here("templates", "-t", "same_author"))} == fields


def test_suggestions(here: Any, world: KnowledgeBase, world_kb: Path, tmp_path: Path) -> None:
    wanted = world.suggest_templates(4)
    assert rows(here("templates", "suggest", world_kb, "-n", "4")) == wanted.to_dicts()
    table = good(here("templates", "suggest", world_kb, "-n", "4", "-f", "table"))
    assert wanted["expression"][0] in " ".join(table.split())
    path = tmp_path / "mine.toml"
    assert good(here("templates", "suggest", world_kb, "-n", "4", "-o", path)) == ""
    again = rows(here("templates", world_kb, "--from", path))[:4]
    assert [row["expression"] for row in again] == wanted["expression"].to_list()
    assert all(row["fits"] for row in again)
    drawn = rows(here("sample", world_kb, "-t", again[0]["template"], "--from", path, "-n", "2"))
    assert len(drawn) == 2
    assert len(rows(here("templates", "suggest", world_kb))) == 20


@pytest.mark.parametrize("number", ["0", "-3"])
def test_no_suggestions(here: Any, world_kb: Path, number: str) -> None:
    one_line(here("templates", "suggest", world_kb, "-n", number))


# -- sample -----------------------------------------------------------------------------------------------------------


def test_sample(here: Any, world: KnowledgeBase, world_kb: Path) -> None:
    expression = "continent:<c> -> country <- language:<l>"
    assert rows(here("sample", world_kb, expression)) == world.sample(expression).to_dicts()
    options = ("-n", "4", "--seed", "9", "--min", "2", "--max", "5", "--weight", "popular")
    wanted = world.sample(expression, 4, 9, 2, 5, "popular")
    assert wanted.height == 4
    assert rows(here("sample", world_kb, expression, *options)) == wanted.to_dicts()
    table = good(here("sample", world_kb, expression, *options, "-f", "table"))
    assert wanted["expression"][0] in table
    assert "c name" not in table


def test_sample_of_parts(here: Any, world: KnowledgeBase, world_kb: Path) -> None:
    parts = ["organisation:<o> -> country", CONTINENT]
    limits = {"union_sides_from": 5, "union_overlap_under": 0.5}
    given = [f"--part={part}" for part in parts] + [f"--constraint={name}={value}" for name, value in limits.items()]
    done = here("sample", world_kb, "-t", "quest/union", *given, "-n", "3", "--max", "30")
    wanted = world.sample("quest/union", 3, max_answers=30, parts=parts, constraints=limits)
    assert wanted.height == 3
    assert rows(done) == wanted.to_dicts()


def test_fewer_than_asked_for(here: Any, world_kb: Path) -> None:
    done = here("sample", world_kb, CONTINENT, "-n", "9", "--max", "60")
    assert len(rows(done, "only 6 groundings qualify\n")) == 6
    done = here("sample", world_kb, CONTINENT, "--min", "150", "--max", "160", "-f", "csv")
    assert good(done, "only 0 groundings qualify\n") == "c,c name,expression,question,answers\n"
    assert len(rows(here("--quiet", "sample", world_kb, CONTINENT, "-n", "6", "--max", "60"))) == 6


def test_numbers_with_an_exponent(here: Any, world_kb: Path) -> None:
    done = here(
        "sample", world_kb, "-t", "quest/union", "--part", CONTINENT, "--constraint", "union_overlap_under=1e-1"
    )
    assert done.returncode == 0


# -- generate ---------------------------------------------------------------------------------------------------------


def test_generate(run: Any, here: Any, tmp_path: Path) -> None:
    out = tmp_path / "new" / "graph"
    done = run("--quiet", "generate", "mag", "--out", out, "--scale", "0.0002", "--seed", "3", "--no-texts")
    assert done.returncode == 0
    assert done.stderr == ""
    assert sorted(path.name for path in out.iterdir()) == ["edges.parquet", "nodes.parquet"]
    loud = here("generate", "mag", "--out", tmp_path / "other", "--scale", "0.0002", "--seed", "3")
    assert loud.returncode == 0
    assert f"kbkit ingest table {tmp_path / 'other'} --out mag.kb" in loud.stdout
    names = ("nodes.parquet", "edges.parquet")
    assert all(pl.read_parquet(out / name).equals(pl.read_parquet(tmp_path / "other" / name)) for name in names)
    good(here("--quiet", "ingest", "table", tmp_path / "other", "--out", tmp_path / "mag.kb", "--stores", "tables"))
    fitting = [row["template"] for row in rows(here("templates", tmp_path / "mag.kb")) if row["fits"]]
    assert [name.split("/")[0] for name in fitting] == ["mag"] * 7
    said = one_line(here("generate", "mag", "--out", out, "--scale", "0.0002"))
    assert said == f"{out} holds nodes.parquet already; name another folder, or remove its files first"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("mags",), "unknown shape 'mags'; did you mean 'mag'?"),
        (("mag", "--scale", "0"), "the scale 0.0 is out of range; choose one above 0 and up to 10"),
        (("mag", "--scale", "-1"), "the scale -1.0 is out of range; choose one above 0 and up to 10"),
        (("mag", "--scale", "11"), "the scale 11.0 is out of range; choose one above 0 and up to 10"),
        (("mag", "--scale", "nan"), "the scale nan is out of range; choose one above 0 and up to 10"),
        (("mag", "--seed", "-1"), "the seed -1 is negative; choose 0 or more"),
    ],
)
def test_generate_refuses(here: Any, tmp_path: Path, args: tuple[str, ...], said: str) -> None:
    assert one_line(here("generate", *args, "--out", tmp_path / "g")) == said
    assert not (tmp_path / "g").exists()


# -- errors -----------------------------------------------------------------------------------------------------------

NEITHER = "give one expression, or a template with -t; kbkit templates lists them"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("answers", "KB"), NEITHER),
        (("answers", "KB", "country", "-t", "mag/author"), NEITHER),
        (("sample", "KB"), NEITHER),
        (("answers", "KB", "country", "-e", "duckdb"), "unknown engine 'duckdb'; there are sparql, sql, walk"),
        (("answers", "KB", "country", "--print", "cypher"), "unknown language 'cypher'; there are sparql, sql"),
        (("answers", "KB", "country", "--print", ""), "unknown language ''; there are sparql, sql"),
        (("answers", "KB", "-t", "mag/autor"), "unknown template 'mag/autor'; did you mean 'mag/author'"),
        (("answers", "KB", "-t", "mag/author", "-p", "author=X"), "unknown type 'author'"),
        (("answers", "KB", "country", "-f", "xml"), "unknown format 'xml'; there are csv, json, markdown"),
        (("answers", "KB", "country", "-o", "x.xyz"), "cannot tell the format of x.xyz"),
        (("answers", "TMP", "country"), "is not a KB"),
        (("answers", "TMP/none", "country"), "does not exist"),
        (("sample", "TMP", "country:<c>"), "is not a KB"),
        (("templates", "TMP"), "is not a KB"),
        (("sets", "list", "TMP"), "is not a KB"),
        (
            ("answers", "KB", BESIDE),
            "column 1: slot <c> has no value; -p 'c=...' gives it the name of country, or #key",
        ),
        (("answers", "KB", BESIDE, "-p", "c=Peru", "-p", "d=x"), "unknown slot 'd' in "),
        (("answers", "KB", BESIDE, "-p", "c"), "-p 'c' is not NAME=VALUE"),
        (("answers", "KB", BESIDE, "-p", "=c"), "-p '=c' is not NAME=VALUE"),
        (("answers", "KB", BESIDE, "-p", "c=Peruu"), "no country is called 'Peruu'; did you mean 'Peru'"),
        (("answers", "KB", BESIDE, "-p", "c=#peru"), "no country has the key 'peru'"),
        (("answers", "KB", "country ->"), "column 11: the expression ends too early"),
        (("answers", "KB", "country{area_km2 > <a>}", "-p", "a=big"), "'big' is no number"),
        (("answers", "KB", "country -> city", "--save", " "), "' ' is no name for a set"),
        (("answers", "KB", "-t", "x", "--from", "TMP/none.toml"), "none.toml cannot be read"),
        (("templates", "suggest"), "suggest templates for which KB?; kbkit templates suggest DIR"),
        (("templates", "sugest", "KB"), "'sugest' is nothing to do with templates"),
        (("templates", "-t", "mag/autor"), "unknown template 'mag/autor'"),
        (("templates", "-f", "xml"), "unknown format 'xml'"),
        (("sample", "KB", CONTINENT, "-n", "0"), "0 groundings; ask for 1 or more"),
        (("sample", "KB", CONTINENT, "--seed", "-1"), "the seed is -1; it is 0 or more"),
        (("sample", "KB", CONTINENT, "--min", "9", "--max", "3"), "answers from 9 to 3"),
        (("sample", "KB", CONTINENT, "--weight", "degree"), "unknown weight 'degree'; there are popular, uniform"),
        (("sample", "KB", "country{area_km2 > <a>}"), "slot <a> stands for a value, not a node"),
        (("sample", "KB", "-t", "quest/union"), "unknown type 'category'"),
        (("sample", "KB", "-t", "quest/union", "--part", "country"), "country has 0 slots"),
        (("sample", "KB", CONTINENT, "--constraint", "sides=1"), "unknown constraint 'sides'"),
        (("sample", "KB", CONTINENT, "--constraint", "union_sides_from"), "is not NAME=VALUE"),
        (("sample", "KB", CONTINENT, "--constraint", "union_sides_from=few"), "union_sides_from=few is no number"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_errors(here: Any, world_kb: Path, tmp_path: Path, args: tuple[str, ...], said: str) -> None:
    filled = [str(world_kb) if a == "KB" else a.replace("TMP", str(tmp_path)) for a in args]
    assert said in one_line(here(*filled))


@pytest.mark.parametrize(
    "args", [("sample", "KB", CONTINENT, "-n", "few"), ("generate", "mag"), ("sets", "drop", "KB"), ("answers",)]
)
def test_usage_errors(here: Any, world_kb: Path, args: tuple[str, ...]) -> None:
    done = here(*(world_kb if a == "KB" else a for a in args))
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
