"""Answers on Spark: the translation of compiled SQL, and all test cases over Parquet exports, in one Spark process."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kbkit
from kbkit.answers.engines import spark as engine
from kbkit.answers.engines.spark import Spark
from kbkit.answers.engines.spark_sql import TYPES, spark_type, to_spark
from kbkit.answers.operator_tree import uses_edge_attributes
from kbkit.errors import KbError, QueryTimeoutError
from kbkit.kb import KnowledgeBase
from tests.answers.test_cases import REFUSED, awkward, read  # noqa: F401 - a fixture
from tests.wording import Wording

needs_sqlglot = pytest.mark.skipif(not importlib.util.find_spec("sqlglot"), reason="sqlglot is not installed")

FAST = {
    "spark.master": "local[2]",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC {engine.LOG_OPTION}",
    "spark.default.parallelism": "1",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.constraintPropagation.enabled": "false",
}
"""What makes hundreds of queries over a few rows quick; answers do not depend on it."""


@pytest.fixture(scope="module")
def spark_session() -> Iterator[None]:
    """One Spark process for all tests; engines find it."""
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    pytest.importorskip("sqlglot", reason="sqlglot is not installed")
    if not shutil.which("java"):
        pytest.skip("Java is not installed, and Spark runs on it")
    builder = sql.SparkSession.builder
    for name, value in FAST.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield
    session.stop()


def exported(kb: KnowledgeBase, folder: Path) -> str:
    from kbkit.export import export

    export(kb, "parquet", folder)
    return str(folder)


@pytest.fixture(scope="module")
def tiny_spark(spark_session: None, small: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spark]:
    with Spark(exported(small, tmp_path_factory.mktemp("spark") / "tiny")) as made:
        yield made


@pytest.fixture(scope="module")
def world_spark(spark_session: None, world: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spark]:
    with Spark(exported(world, tmp_path_factory.mktemp("spark") / "world")) as made:
        yield made


# -- all cases --------------------------------------------------------------------------------------------------------


def in_memory(spark: Spark, kb: KnowledgeBase) -> None:
    """Hold every view in memory in one partition, so that a case is a part of a single task."""
    spark._check_export(kb.schema)
    session = spark._spark
    for table in ["nodes", *(t.table for t in kb.schema.node_types), *(r.table for r in kb.schema.relations)]:
        spark._define(table, kb.schema)
        name = "`" + table.replace("`", "``") + "`"
        session.table(name).coalesce(1).cache().createOrReplaceTempView(name)


_COUNTED_CLOSURE = re.compile(r"count\([^()]*[+*]\]")
"""Cases that Spark refuses."""


def assert_same(spark: Spark, kb: KnowledgeBase, name: str, together: int = 40) -> None:
    """Assert that Spark gives the answers in the file of cases; cases without closures run in one statement."""
    in_memory(spark, kb)
    nodes = kb.tables.lookup("SELECT type || '#' || key AS reference FROM nodes ORDER BY id")["reference"].to_list()
    cases = [(text, slots, expected) for text, slots, expected in read(name) if expected != REFUSED]
    got: list[set[str]] = [set() for _ in cases]
    queries = []
    for number, (text, slots, right) in enumerate(cases):
        answers = kb.answers(text, slots=slots)
        refused = "attributes of edges" if uses_edge_attributes(answers.plan) else ""
        refused = "counts of repeated relations" if _COUNTED_CLOSURE.search(text) else refused
        compiled = to_spark(answers.sql)
        if refused:
            with pytest.raises(KbError, match=refused):
                spark.ids(answers, kb.session)
            got[number] = right
        elif compiled.closures:
            got[number] = {nodes[i] for i in spark.ids(answers, kb.session).tolist()}
        else:
            queries.append(f"SELECT {number} AS number, id FROM (\n{compiled.text}\n)")
    for start in range(0, len(queries), together):
        found = spark._spark.sql("\nUNION ALL ".join(queries[start : start + together])).toArrow()
        for number, i in zip(found["number"].to_pylist(), found["id"].to_pylist(), strict=True):
            got[number].add(nodes[i])
    wrong = [(text, mine, right) for (text, _, right), mine in zip(cases, got, strict=True) if mine != right]
    assert wrong == []
    assert len(cases) > 15


def test_all_cases_of_tiny(tiny_spark: Spark, small: KnowledgeBase) -> None:
    assert_same(tiny_spark, small, "tiny.txt")


def test_all_cases_of_world(world_spark: Spark, world: KnowledgeBase) -> None:
    assert_same(world_spark, world, "world.txt")


def test_all_cases_of_awkward_names(spark_session: None, awkward: KnowledgeBase, tmp_path: Path) -> None:  # noqa: F811
    with Spark(exported(awkward, tmp_path / "awkward")) as made:
        assert_same(made, awkward, "awkward.txt")


# -- the engine -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["hormone", "drug{note contains '%'}", "person -> [order] -> drug", "drug - drug"])
def test_ids_come_from_parquet(spark_session: None, tiny_spark: Spark, small: KnowledgeBase, text: str) -> None:
    """Without the views that hold all in memory."""
    answers = small.answers(text)
    with Spark(tiny_spark.parquet + "/") as fresh:
        found = fresh.ids(answers, small.session, 120)
    assert found.dtype == answers.ids.dtype
    assert found.tolist() == answers.ids.tolist()


def test_saved_sets_are_sent_with_the_query(tiny_spark: Spark, tiny_kb: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_kb, tmp_path / "tiny.kb")
    with kbkit.open(tmp_path / "tiny.kb") as kb:
        kb.answers('drug#1 | drug#"a/b c"').save("it's")
        kb.answers("drug - drug").save("none")
        answers = kb.answers("(@`it's` | @none) - drug#1")
        assert tiny_spark.ids(answers, kb.session).tolist() == [kb.find("drug#a/b c")]


def test_an_export_of_another_kb_is_rejected(tiny_spark: Spark, world: KnowledgeBase, wording: Wording) -> None:
    with Spark(tiny_spark.parquet) as made, pytest.raises(KbError) as error:
        made.ids(world.answers("country"), world.session)
    assert tiny_spark.parquet in error.value.message
    assert "export KB -f parquet" in error.value.hint
    wording(str(error.value), replace={tiny_spark.parquet: "DIR"})


def test_an_export_of_another_build_is_refused(spark_session: None, tiny: Path, tmp_path: Path) -> None:
    """As many nodes and edges, and one key is another."""
    shutil.copytree(tiny, tmp_path / "tiny")
    nodes = tmp_path / "tiny" / "nodes.csv"
    files = {name: tmp_path / "tiny" / f"{name}.csv" for name in ("nodes", "edges", "texts")}
    with kbkit.ingest("table", out=tmp_path / "a.kb", files=files) as kb:
        parquet = exported(kb, tmp_path / "parquet")
    text = nodes.read_text(encoding="utf-8")
    assert "p3" in text
    nodes.write_text(text.replace("p3", "p4"), encoding="utf-8")
    for path in (files["edges"], files["texts"]):
        path.write_text(path.read_text(encoding="utf-8").replace("p3", "p4"), encoding="utf-8")
    with kbkit.ingest("table", out=tmp_path / "b.kb", files=files) as kb, Spark(parquet) as made:
        assert made.ids(kb.answers("drug"), kb.session).tolist() == kb.answers("drug").ids.tolist()
        with pytest.raises(KbError, match="another build"):
            made.ids(kb.answers("person"), kb.session)


def test_other_folders_are_rejected(
    spark_session: None, small: KnowledgeBase, tmp_path: Path, wording: Wording
) -> None:
    with Spark(str(tmp_path)) as made, pytest.raises(KbError) as error:
        made.ids(small.answers("drug"), small.session)
    wording(str(error.value), replace={str(tmp_path): "DIR"})
    (tmp_path / "schema.json").write_text("[]", encoding="utf-8")
    with Spark(str(tmp_path)) as made, pytest.raises(KbError) as error:
        made.ids(small.answers("drug"), small.session)
    wording(str(error.value), replace={str(tmp_path): "DIR"})


def test_the_limit_holds_and_the_next_query_runs(tiny_spark: Spark, small: KnowledgeBase) -> None:
    answers = small.answers("person#1 -> [knows+] -> person")
    with pytest.raises(QueryTimeoutError, match="1e-06 s"):
        tiny_spark.ids(answers, small.session, 1e-6)
    assert tiny_spark.ids(answers, small.session, 120).tolist() == answers.ids.tolist()


def test_without_pyspark(monkeypatch: pytest.MonkeyPatch, small: KnowledgeBase) -> None:
    for module in ("pyspark", "pyspark.sql"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(KbError) as error:
        Spark("/nowhere").ids(small.answers("drug"), small.session)
    assert "'spark'" in error.value.message


def test_without_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(KbError, match=r"Java 17.*JAVA_HOME"):
        engine._check_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(KbError, match=re.escape(str(tmp_path))):
        engine._check_java()


def test_spark_connect_is_refused() -> None:
    with pytest.raises(KbError, match="Spark Connect"):
        Spark("/x", "sc://host")


# -- the text ---------------------------------------------------------------------------------------------------------


@needs_sqlglot
@pytest.mark.core
def test_a_closure_is_two_statements(world: KnowledgeBase) -> None:
    compiled = to_spark(world.answers("country#GBR -> [borders*] -> country").sql)
    [closure] = compiled.closures
    assert closure.name == "reached_1"
    assert closure.start == (
        "WITH `country_1` AS (\n  SELECT `id` FROM `country` WHERE `key` = 'GBR'\n)\nSELECT `id` FROM `country_1`"
    )
    assert closure.step == (
        "SELECT `tail` FROM `borders` JOIN `new in reached_1` AS `reached_1` ON `head` = `reached_1`.`id`"
    )
    assert compiled.text == (
        "WITH `country_2` AS (\n  SELECT DISTINCT `id` FROM `reached_1`\n)\n"
        "SELECT `id`, `type`, `key`, `name` FROM `nodes` WHERE `id` IN (SELECT `id` FROM `country_2`)"
    )
    assert compiled.tables == {"nodes", "country", "borders"}


@needs_sqlglot
@pytest.mark.parametrize(
    ("condition", "spark"),
    [
        ("a = 'it''s \\n'", r"`a` = 'it\'s \\n'"),
        ("regexp_matches(a, regexp_escape('x.\\E(y'), 'i')", r"`a` RLIKE '(?iu)\\Qx.\\E\\\\E\\Q(y\\E'"),
        ("a < '0044-03-15 (BC)'::DATE", "`a` < CAST('-0043-03-15' AS DATE)"),
        ("a < '2024-02-29 12:30:00'::TIMESTAMP", "`a` < CAST('2024-02-29T12:30:00' AS TIMESTAMP_NTZ)"),
        ("NOT isnan(a) AND a < 'inf'::DOUBLE", "NOT ISNAN(`a`) AND `a` < CAST('inf' AS DOUBLE)"),
        ("a = '7'::UTINYINT", "`a` = CAST('7' AS SMALLINT)"),
        ("a = '7'::UBIGINT", "`a` = CAST('7' AS DECIMAL(20, 0))"),
        ("a = '1.5'::DECIMAL(4,1)", "`a` = CAST('1.5' AS DECIMAL(4, 1))"),
        ("a = '1.5'::FLOAT", "`a` = CAST('1.5' AS FLOAT)"),
        ("a <> 'x'  -- a 'comment' */", "`a` <> 'x'"),
        (
            "coalesce(len(list_filter(a, lambda item: item = 'x')), 0) > 0",
            "COALESCE(SIZE(FILTER(`a`, `item` -> `item` = 'x')), 0) > 0",
        ),
        (
            "len(list_filter(a, lambda item: regexp_matches(item, regexp_escape('x'), 'i'))) > 0",
            r"SIZE(FILTER(`a`, `item` -> `item` RLIKE '(?iu)\\Qx\\E')) > 0",
        ),
        (
            "len(list_filter(a, lambda item: item > '0001-01-01 (BC)'::DATE)) > 0",
            "SIZE(FILTER(`a`, `item` -> `item` > CAST('0000-01-01' AS DATE))) > 0",
        ),
    ],
)
def test_conditions(condition: str, spark: str) -> None:
    assert to_spark(f"SELECT id FROM t WHERE {condition}\nORDER BY id").text == f"SELECT `id` FROM `t` WHERE {spark}"


@needs_sqlglot
@pytest.mark.parametrize("word", ["map", "values", "range", "insert", "object", "current_date", "struct", "if", "item"])
def test_words_that_sqlglot_takes_for_its_own(word: str) -> None:
    text = f"SELECT id FROM {word} WHERE {word} = 'x' AND {word} < '2020-01-01'::DATE"
    assert to_spark(text).text == (
        f"SELECT `id` FROM `{word}` WHERE `{word}` = 'x' AND `{word}` < CAST('2020-01-01' AS DATE)"
    )


@needs_sqlglot
@pytest.mark.parametrize("kind", sorted(TYPES))
def test_every_type_that_spark_has(kind: str) -> None:
    spark = TYPES[kind].upper().replace(",", ", ")
    assert to_spark(f"SELECT id FROM t WHERE a = '1'::{kind}").text.endswith(f" AS {spark})")


@needs_sqlglot
def test_a_type_that_spark_lacks() -> None:
    with pytest.raises(KbError, match=r"HUGEINT.*walk or sql"):
        to_spark("SELECT id FROM t WHERE a = '5'::HUGEINT")
    assert spark_type("HUGEINT[]") is None
    assert spark_type("DOUBLE[]") == "array<double>"
    assert spark_type("DECIMAL(9,2)") == "decimal(9,2)"


def test_nothing_heavy_is_imported_before_the_first_query(tmp_path: Path) -> None:
    code = (
        "import sys, kbkit.answers.engines.spark as s, kbkit.answers.engines.sparql_endpoint; s.Spark('/x');"
        "print([m for m in ('pyspark', 'sqlglot', 'polars', 'duckdb') if m in sys.modules])"
    )
    done: Any = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() in ("[]", "['duckdb']")
