"""Random graphs with awkward names, from fixed seeds: as plain data for the oracle and as a KB, each built once."""

from __future__ import annotations

import atexit
import datetime as dt
import json
import random
import shutil
import tempfile
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

import kbkit
from kbkit.kb import KnowledgeBase
from tests.answers import oracle

TYPES = [
    "drug",
    "gene/protein",
    "order",
    "my type",
    'say "x"',
    "it's",
    "group",
    "Table",
    "naïve",
    "effect/phenotype",
    "тип",
    "select",
    "all",
    "drug_1",
    "C++",
    "50%",
    "in",
    "50%25",
    "rdf",
    "text",
    "my-type",
]
RELATIONS = [
    "cites",
    "order",
    "is treated by",
    "phenotype absent",
    "group",
    "x/y",
    "50%",
    "рел",
    "it's",
    'say "so"',
    "a-b",
    "all",
    "select",
    "has #1",
    "drug",
    "1st",
    "a.b",
    "Cites",
    "$x",
    "x -> y",
    "tick`s",
]
NAMES = [
    "Ann",
    "ann",
    "Bob's; DROP TABLE nodes; --",
    'say "x"',
    "C:\\temp\\n",
    "} . ?s ?p ?o # <x>",
    "Zoë Müller",
    "flu 🤧",
    "$1 {0} %s",
    "a|b & c - d",
    "糖尿病",
    "`tick`",
    "two\nlines",
    "# no comment",
    "-> x <-",
    "tab\there",
    "100%",
    "*",
    "<slot>",
    "grün",
    "GRÜN",
    "кот",
    "a.*b(c)[d]",
    "q?x=1&y=2",
    "a  b",
]
KEYS = [
    "1",
    "007",
    "a/b c",
    "O'Brien",
    'x"y',
    "#1",
    "ключ",
    "🤧",
    "a->b",
    "{x}",
    "50%",
    "?q",
    "$k",
    "a\\b",
    "<i>",
    "a|b",
    "%41",
    "e\u0301",
    "é",
    "~-._",
    "!*()'",
    "+",
    ":",
    "`",
    "new\nline",
    "A",
    "a",
]
TAGS = ["x", "X y", "it's", "100%", "", "grün", "a.b", "\\d", "new\nline", "🤧"]
KINDS = {
    "BIGINT": ["year", "order", "item", "count"],
    "DOUBLE": ["weight", "x y", "Select"],
    "VARCHAR": ["note", "group", "a'b"],
    "DATE": ["born", "date"],
    "BOOLEAN": ["flag", "true"],
    "TIMESTAMP": ["seen"],
    "VARCHAR[]": ["tags", "values"],
    "BIGINT[]": ["numbers"],
    "DOUBLE[]": ["sizes"],
}
VALUES = {
    "BIGINT": [-40, 0, 1, 2, 1990, 2**53 + 1],
    "DOUBLE": [0.1, -2.5, 0.0, 1e300, 3.0, 1e-7, float("nan")],
    "VARCHAR": [*TAGS, *NAMES[:12]],
    "DATE": [dt.date(1990, 1, 1), dt.date(2024, 2, 29), dt.date(800, 12, 25)],
    "BOOLEAN": [True, False],
    "TIMESTAMP": [
        dt.datetime(2024, 2, 29, 12, 30),
        dt.datetime(2023, 12, 31, 23, 59, 59, 250000),
        dt.datetime(2001, 1, 1),
    ],
}
POLARS = {
    "BIGINT": pl.Int64,
    "DOUBLE": pl.Float64,
    "VARCHAR": pl.String,
    "DATE": pl.Date,
    "BOOLEAN": pl.Boolean,
    "TIMESTAMP": pl.Datetime("us"),
}
LOAD = "".join(f"CREATE TABLE {name} AS SELECT * FROM {name[0]};\n" for name in ("nodes", "edges", "texts"))


@dataclass(frozen=True)
class Case:
    """A graph twice."""

    graph: oracle.Graph
    kb: KnowledgeBase
    refs: tuple[oracle.Ref, ...]
    """The node of each id."""

    def answers(self, text: str, engine: str = "walk", **slots: object) -> frozenset[oracle.Ref]:
        return frozenset(self.refs[i] for i in self.kb.answers(text, engine=engine, **slots))


@cache
def folder() -> Path:
    """A folder that goes when the process ends."""
    path = Path(tempfile.mkdtemp(prefix="kbkit-answers-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


@cache
def case(seed: int) -> Case:
    """The graph of that seed, built at first use; it has two saved sets, ``@some`` and ``@no one``."""
    made = draw(random.Random(seed))
    built = build(made, f"g{seed}")
    first = min(made.nodes)[0]
    keys = [key for _, key in made.nodes]
    some = [ref for ref in sorted(made.nodes) if ref[0] == first and keys.count(ref[1]) == 1]
    text = " | ".join(f"{tick(t)}#{json.dumps(k, ensure_ascii=False)}" for t, k in some[:3])
    if some:
        built.kb.answers(text).save("some")
    built.kb.answers(f"{tick(first)} - ({tick(first)} | {tick(first)})").save("no one")
    saved = {"no one": oracle.Typed(first, frozenset())}
    saved |= {"some": oracle.Typed(first, frozenset(some[:3]))} if some else {}
    return replace(built, graph=replace(built.graph, saved=saved))


def tick(name: str) -> str:
    """A name in backticks."""
    return "`" + name.replace("`", "``") + "`"


def draw(rng: random.Random) -> oracle.Graph:
    """Two to five types, two to six relations, five to thirty nodes."""
    types = rng.sample(TYPES, rng.randint(2, 5))
    relations = rng.sample(RELATIONS, rng.randint(2, 6))
    kinds = {rng.choice(names): kind for kind, names in KINDS.items() if rng.random() < 0.8}
    nodes: dict[oracle.Ref, oracle.Node] = {}
    for _ in range(rng.randint(5, 30)):
        node_type, key = rng.choice(types), rng.choice(KEYS)
        others = {t for t in [*types, "other type"] if t != node_type and rng.random() < 0.1}
        aliases = tuple(rng.sample(NAMES, rng.randint(0, 2)))
        attributes = {name: value(rng, kind) for name, kind in kinds.items() if rng.random() < 0.6}
        name = rng.choice(NAMES) if rng.random() < 0.9 else key
        nodes[node_type, key] = oracle.Node(node_type, key, name, aliases, frozenset(others), attributes)
    by_type = {t: [ref for ref in nodes if ref[0] == t] for t in types}
    present = [t for t in types if by_type[t]]
    edges = set()
    symmetric = set()
    for relation in relations:
        same = rng.random() < 0.4
        for _ in range(rng.randint(1, 3)):
            head = rng.choice(present)
            tail = head if same else rng.choice(present)
            for _ in range(rng.randint(1, 8)):
                edges.add((rng.choice(by_type[head]), relation, rng.choice(by_type[tail])))
        if rng.random() < 0.2:
            symmetric.add(relation)
    rows, edge_kinds = attributes_of_edges(rng, sorted(edges))
    return oracle.graph(nodes.values(), sorted(edges), kinds, symmetric, rows, edge_kinds)


def attributes_of_edges(
    rng: random.Random, edges: list[oracle.Triple]
) -> tuple[dict[oracle.Triple, tuple[dict[str, object], ...]], dict[str, dict[str, str]]]:
    """Attributes of the edges of some relations, of which some are parallel, and their DuckDB types by relation."""
    kinds = {rng.choice(names): kind for kind, names in KINDS.items() if rng.random() < 0.5}
    rows: dict[oracle.Triple, tuple[dict[str, object], ...]] = {}
    with_some = {relation for _, relation, _ in edges if rng.random() < 0.6}
    for edge in edges:
        if edge[1] in with_some and kinds:
            mine = [
                {name: value(rng, kind) for name, kind in kinds.items() if rng.random() < 0.7}
                for _ in range(rng.choice([1, 1, 2]))
            ]
            rows[edge] = tuple(mine)
    edge_kinds: dict[str, dict[str, str]] = {}
    for (_, relation, _), several in rows.items():
        present = {name: kinds[name] for row in several for name in row}
        edge_kinds.setdefault(relation, {}).update(present)
    return rows, {relation: mine for relation, mine in edge_kinds.items() if mine}


def value(rng: random.Random, kind: str) -> object:
    """A value of a DuckDB type; lists may be empty and hold NULL."""
    if kind.endswith("[]"):
        items = [rng.choice(VALUES[kind.removesuffix("[]")]) for _ in range(rng.randint(0, 3))]
        return [None if rng.random() < 0.1 else item for item in items]
    return rng.choice(VALUES[kind])


def build(made: oracle.Graph, name: str) -> Case:
    """The KB of a graph, through a recipe of its own that reads Parquet."""
    home = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=folder()))
    nodes = list(made.nodes.values())
    frame = pl.DataFrame(
        {
            "key": [n.key for n in nodes],
            "type": [n.type for n in nodes],
            "name": [n.name for n in nodes],
            "aliases": pl.Series([list(n.aliases) for n in nodes], dtype=pl.List(pl.String)),
            "types": pl.Series([sorted(n.types) for n in nodes], dtype=pl.List(pl.String)),
        }
    )
    for attribute, kind in made.kinds.items():
        cells = [n.attributes.get(attribute) for n in nodes]
        frame = frame.with_columns(pl.Series(attribute, cells, dtype=polars_type(kind)))
    frame.write_parquet(home / "n.parquet")
    rows = [
        ((*head, relation, *tail), row)
        for head, relation, tail in sorted(made.edges)
        for row in made.rows.get((head, relation, tail), ({},))
    ]
    columns = dict.fromkeys(["head_type", "head", "relation", "tail_type", "tail"], pl.String)
    edges = pl.DataFrame([ends for ends, _ in rows], schema=columns, orient="row")
    for attribute, kind in {name: kind for kinds in made.edge_kinds.values() for name, kind in kinds.items()}.items():
        cells = [row.get(attribute) for _, row in rows]
        edges = edges.with_columns(pl.Series(attribute, cells, dtype=polars_type(kind)))
    edges.write_parquet(home / "e.parquet")
    pl.DataFrame({"key": [], "text": []}, schema={"key": pl.String, "text": pl.String}).write_parquet(
        home / "t.parquet"
    )
    files = "".join(f'[files.{f}]\nmatch = ["{f}.parquet"]\nhelp = "-"\n' for f in "net")
    relations = "".join(f"[relations.{json.dumps(r)}]\nsymmetric = true\n" for r in sorted(made.symmetric))
    head = 'title = "random"\ndescription = "-"\nlicence = "none"\nget = "-"\n'
    (home / "recipe").mkdir()
    (home / "recipe" / "recipe.toml").write_text(head + files + relations, encoding="utf-8")
    (home / "recipe" / "load.sql").write_text(LOAD, encoding="utf-8")
    kb = kbkit.ingest(str(home / "recipe"), home, out=home / "out.kb", stores=["adjacency", "triples"])
    atexit.register(kb.close)
    refs = tuple(kb.sql("SELECT type::VARCHAR, key FROM nodes ORDER BY id").iter_rows())
    return Case(replace(made, order={ref: number for number, ref in enumerate(refs)}), kb, refs)


def polars_type(kind: str) -> Any:
    """The Polars type of a DuckDB type."""
    plain = POLARS[kind.removesuffix("[]")]
    return pl.List(plain) if kind.endswith("[]") else plain
