"""Run answers on Apache Spark with the Parquet export of a KB, for graphs or results too large for one machine.

The export is written by ``kbkit export KB -f parquet`` and lies anywhere that Spark can read: ``nodes/type=T/``,
``edges/relation=R/``, ``node_types`` and ``schema.json``. The tables of a query become temporary views. Spark returns
ids and keys, which must match the open KB.
"""

from __future__ import annotations

import contextlib
import functools
import json
import logging
import os
import shutil
import threading
import urllib.parse
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kbkit.answers import algebra
from kbkit.answers.algebra import AttributeFilter, Extreme, SavedNodes
from kbkit.answers.engines.spark_sql import Closure, spark_type, to_spark
from kbkit.answers.operator_tree import operators, paths_of, uses_edge_attributes
from kbkit.answers.written import in_backticks
from kbkit.directory.typed_json import from_json
from kbkit.errors import (
    BadInputError,
    Command,
    KbError,
    MissingExtraError,
    Option,
    QueryError,
    QueryTimeoutError,
)
from kbkit.schema import Attribute, NodeType, Relation, Schema
from kbkit.stores.threads import Expired, run

if TYPE_CHECKING:
    import pyarrow as pa

    from kbkit.answers.algebra import Plan
    from kbkit.answers.engines import CompiledSet
    from kbkit.answers.session import Session
    from kbkit.stores.adjacency import Ids

LOG_OPTION = f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties').as_uri()}"
"""Java option with which Spark logs errors only."""

_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.extraJavaOptions": LOG_OPTION,
}
_LOOPBACK = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
_SESSION = {
    "spark.sql.variable.substitute": "false",  # ${...} in a literal is text
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "false",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
}
_ROUNDS = 16
"""Rounds of a closure after which its partitions are merged."""


class Spark:
    """An engine for ``kb.answers``. Starts Spark for the first query; runs one query at a time.

    ``parquet`` is the folder of the export (``/data/x``, ``hdfs://...``, ``s3a://...``). ``master`` is Spark's
    (``local[*]``, ``spark://HOST:7077``, ``yarn``); an existing Spark session of the process takes precedence.
    ``settings`` are Spark's (``{"spark.executor.memory": "16g"}``).
    """

    name = "spark"

    def __init__(self, parquet: str, master: str = "local[*]", settings: Mapping[str, str] | None = None) -> None:
        if master.startswith("sc://"):
            raise KbError(
                "Unsupported master: Spark Connect (sc://)", "Use the master of the cluster: spark://HOST:7077"
            )
        self.parquet, self.master = parquet.rstrip("/") or "/", master
        self._settings = dict(settings or {})
        self._guard = threading.Lock()
        self._views: set[str] = set()
        self._owner: Any = None

    def __enter__(self) -> Spark:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop Spark, if this engine started it."""
        self.__dict__.pop("_spark", None)
        self.__dict__.pop("_export", None)
        self._views.clear()
        if self._owner is not None:
            self._owner.stop()
            self._owner = None

    def ids(self, answers: CompiledSet, session: Session, timeout: float | None = None) -> Ids:
        """See :class:`kbkit.answers.engines.Engine`.

        Raises :class:`KbError` if Spark or the export is missing or the export belongs to another build,
        :class:`QueryError` for a query that Spark rejects, :class:`QueryTimeoutError` at the time limit.
        """
        _check_types(answers.plan)
        with self._guard, _errors(self.parquet):
            spark = self._spark
            self._check_export(session.schema)
            saved = {op.name for op in operators(answers.plan.root) if isinstance(op, SavedNodes)}
            members = {name: session.saved_ids(name) for name in saved}
            tag = f"kbkit-{id(self)}"
            work = functools.partial(self._run, answers.sql, session.schema, members, tag)
            try:
                table = run(work, lambda: spark.interruptTag(tag), timeout)
            except Expired:
                message = f"Spark query cancelled after {timeout:g} s"
                raise QueryTimeoutError(message, "Raise ", Option("timeout")) from None
        return self._known(table, session)

    # -- running ------------------------------------------------------------------------------------------------------

    def _run(self, sql: str, schema: Schema, members: Mapping[str, Ids], tag: str) -> pa.Table:
        compiled = to_spark(sql)
        spark = self._spark
        spark.addTag(tag)  # of this thread
        for table in sorted(compiled.tables):
            self._define(table, schema)
        if members:
            self._define_sets(members)
        for closure in compiled.closures:
            self._close_over(closure)
        return spark.sql(f"SELECT id, key FROM (\n{compiled.text}\n)").toArrow()

    def _close_over(self, closure: Closure) -> None:
        """Follow a relation until nothing new is reached; each round is checkpointed, so that it is computed once."""
        spark = self._spark
        reached = new = spark.sql(closure.start).toDF("id").distinct().localCheckpoint()
        partitions = max(1, new.rdd.getNumPartitions())
        for number in range(1, 1 << 31):
            new.createOrReplaceTempView(in_backticks(closure.frontier))
            new = spark.sql(closure.step).toDF("id").distinct().join(reached, "id", "left_anti").localCheckpoint()
            if new.isEmpty():
                break
            reached = reached.union(new)
            if number % _ROUNDS == 0:
                reached = reached.coalesce(partitions).localCheckpoint()
        reached.createOrReplaceTempView(in_backticks(closure.name))

    def _known(self, table: pa.Table, session: Session) -> Ids:
        """Return the sorted ids; raise an error if the KB has other keys for them."""
        import polars as pl

        frame = pl.DataFrame(pl.from_arrow(table)).sort("id")
        ids = frame["id"].to_numpy().astype(np.int32)
        if session.stores.nodes.frame(ids)["key"].to_list() != frame["key"].to_list():
            raise self._stale()
        return ids

    # -- the export as views ------------------------------------------------------------------------------------------

    @cached_property
    def _export(self) -> tuple[Schema, dict[str, dict[str, str]]]:
        """The schema of the export, and its folders by part (nodes, edges) and unescaped name."""
        text = self._spark.read.text(f"{self.parquet}/schema.json", wholetext=True).first()[0]
        try:
            data = json.loads(text)
            schema: Schema = from_json(Schema, data.get("schema", data), "the schema")
        except (ValueError, AttributeError, BadInputError):
            raise KbError(f"Invalid schema of an export: {self.parquet}/schema.json", *_HINT) from None
        return schema, {part: self._folders(part) for part in ("nodes", "edges")}

    def _folders(self, part: str) -> dict[str, str]:
        gateway = self._spark.sparkContext
        path = gateway._jvm.org.apache.hadoop.fs.Path(f"{self.parquet}/{part}")
        system = path.getFileSystem(gateway._jsc.hadoopConfiguration())
        if not system.exists(path):
            return {}
        names = [status.getPath().getName() for status in system.listStatus(path)]
        return {urllib.parse.unquote(n.partition("=")[2]): f"{self.parquet}/{part}/{n}" for n in names if "=" in n}

    def _check_export(self, schema: Schema) -> None:
        """Raise an error for an export of another build: ids belong to one generation."""
        exported, _ = self._export
        if [(t.name, t.first, t.count) for t in exported.node_types] != [
            (t.name, t.first, t.count) for t in schema.node_types
        ]:
            raise self._stale()

    def _stale(self) -> KbError:
        return KbError(f"{self.parquet} is an export of another KB or another build", *_HINT)

    def _define(self, table: str, schema: Schema) -> None:
        """Create the view of a table, unless it exists."""
        if table in self._views or table == "answer_members":
            return
        types = {t.table: t for t in schema.node_types}
        relations = {r.table: r for r in schema.relations}
        if table == "nodes":
            frame = self._all_nodes(schema)
        elif table in types:
            frame = self._nodes_of(types[table])
        else:
            frame = self._edges_of(relations[table])
        frame.createOrReplaceTempView(in_backticks(table))
        self._views.add(table)

    def _all_nodes(self, schema: Schema) -> Any:
        """Return ``nodes(id, type, key, name)``; types are computed from ids."""
        from pyspark.sql import functions as f

        kind: Any = None
        for t in schema.node_types:
            if t.count:
                kind = (f if kind is None else kind).when(f.col("id") <= t.last, f.lit(t.name))
        frame = self._read(list(self._export[1]["nodes"].values()), ())
        return frame.select("id", (f.lit(None) if kind is None else kind).alias("type"), "key", "name")

    def _nodes_of(self, node_type: NodeType) -> Any:
        """Return the nodes of a type, primary or secondary."""
        folders = self._export[1]["nodes"]
        own = self._read([folders[node_type.name]] if node_type.name in folders else [], node_type.attributes)
        if not node_type.others:
            return own
        from pyspark.sql import functions as f

        others = self._read([folders[name] for name in node_type.overlaps if name in folders], node_type.attributes)
        types = self._spark.read.schema("id bigint, type string").parquet(f"{self.parquet}/node_types*")
        return own.unionByName(others.join(types.where(f.col("type") == f.lit(node_type.name)), "id", "left_semi"))

    def _edges_of(self, relation: Relation) -> Any:
        exported = {r.name: r.edges for r in self._export[0].relations}
        if exported.get(relation.name) != relation.edges:
            raise self._stale()
        folders = self._export[1]["edges"]
        paths = [folders[relation.name]] if relation.name in folders else []
        return self._frame(paths, [("head", "bigint"), ("tail", "bigint")])

    def _read(self, paths: list[str], attributes: tuple[Attribute, ...]) -> Any:
        columns = [("id", "bigint"), ("key", "string"), ("name", "string")]
        columns += [(a.name, kind) for a in attributes if (kind := spark_type(a.type))]
        return self._frame(paths, columns)

    def _frame(self, paths: list[str], columns: list[tuple[str, str]]) -> Any:
        """Return columns of Parquet files, NULL if missing; with an explicit schema, so that no file is opened yet."""
        from pyspark.sql import types

        schema = types.StructType([types.StructField(name, types.DataType.fromDDL(kind)) for name, kind in columns])
        return self._spark.read.schema(schema).parquet(*paths) if paths else self._spark.createDataFrame([], schema)

    def _define_sets(self, members: Mapping[str, Ids]) -> None:
        """Create ``answer_members`` with the saved sets of a query."""
        from pyspark.sql import functions as f

        spark = self._spark
        nodes = spark.table("nodes").select("id", "type", "key")
        parts = [
            nodes.join(spark.createDataFrame([(int(i),) for i in ids], "id bigint"), "id", "left_semi").select(
                f.lit(name).alias("answer_set"), "type", "key"
            )
            for name, ids in members.items()
        ]
        combined = parts[0]
        for part in parts[1:]:
            combined = combined.union(part)
        combined.createOrReplaceTempView("answer_members")

    # -- the session --------------------------------------------------------------------------------------------------

    @cached_property
    def _spark(self) -> Any:
        """A Spark session with its own views and settings."""
        try:
            import sqlglot  # noqa: F401 - translates the query
            from pyspark.sql import SparkSession
        except ImportError:
            raise MissingExtraError("The engine spark", "spark") from None
        there = SparkSession.getActiveSession()
        if there is None:
            _check_java()
            builder = SparkSession.builder.master(self.master).appName("kbkit")
            local = self.master == "local" or self.master.startswith("local[")
            for name, value in {**_SETTINGS, **(_LOOPBACK if local else {}), **self._settings}.items():
                builder = builder.config(name, value)
            there = self._owner = builder.getOrCreate()
        logging.getLogger("SQLQueryContextLogger").disabled = True  # errors are reported once, in one line
        spark = there.newSession()
        for name, value in {**_SESSION, **_session_settings(self._settings)}.items():
            spark.conf.set(name, value)
        return spark


_HINT = ("Write it again: ", Command("export KB -f parquet -o PATH"))


def _session_settings(settings: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in settings.items() if name.startswith("spark.sql.")}


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if not (shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")):
        raise KbError(
            f"Spark needs Java 17 or later; not found in {home}" if home else "Spark needs Java 17 or later; not found",
            "Install it, or set JAVA_HOME to its folder",
        )


def _check_types(plan: Plan) -> None:
    if uses_edge_attributes(plan):
        raise KbError("Spark does not support attributes of edges", "Use the engine walk or sql")
    for operator in operators(plan.root):
        tested: list[algebra.AttributeCondition | algebra.AttributeMeasure] = (
            list(operator.conditions) if isinstance(operator, AttributeFilter) else []
        )
        tested += [test.other for test in tested if isinstance(test, algebra.AttributeCondition) and test.other]
        if isinstance(operator, Extreme) and isinstance(operator.measure, algebra.AttributeMeasure):
            tested.append(operator.measure)
        for test in tested:
            if spark_type(test.sql_type) is None:
                name = test.attribute if isinstance(test, algebra.AttributeCondition) else test.name
                raise KbError(
                    f"Spark does not support conditions on {name} of type {test.sql_type}", "Use the engine walk or sql"
                )
        if any(move.closure for path in paths_of(operator) for step in path.steps for move in step.moves):
            raise KbError("Spark does not support counts of repeated relations", "Use the engine walk or sql")


@contextlib.contextmanager
def _errors(parquet: str) -> Iterator[None]:
    """Raise the errors of Spark as :class:`KbError`, in one line."""
    try:
        yield
    except KbError:
        raise
    except Exception as error:
        raised = type(error).__module__.split(".")[0]
        if raised not in ("pyspark", "py4j"):
            raise
        text = " ".join(str(error).split("\n", 1)[0].split())
        if "PATH_NOT_FOUND" in text:
            raise KbError(f"Not a Parquet export of a KB: {parquet}", *_HINT) from None
        raise QueryError(f"Spark: {text[:300]}") from None
