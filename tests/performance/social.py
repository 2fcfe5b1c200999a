"""The nine queries of prrao87/graph-benchmark, on a graph drawn as its scripts draw it, and the load of that graph.

100,000 persons at scale 1.0: each follows about ten others, and one in 200 has 0.5% to 5% of all as followers, 2.4
million edges together; one to four of 41 interests; a city of more than a million. Cities, states and countries have
invented names in the numbers of its data (7,117, 273 and 3), because its list of cities may not be copied.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tests.performance import data
from tests.performance.ingest import scratch
from tests.performance.report import Figure
from tests.performance.timing import KBKIT, disk_mb, times

PERSONS, CITIES, STATES, INTERESTS, LARGE = 100_000, 7_117, 273, 41, 45
COUNTRIES = ("United States", "United Kingdom", "Canada")
RELATIONS = {
    "follows": ("person", "person"), "lives_in": ("person", "city"), "has_interest": ("person", "interest"),
    "city_in": ("city", "state"), "state_in": ("state", "country"),
}  # fmt: skip
QUERIES = tuple(f"q{number}" for number in range(1, 10))
RUNS, BUDGET = 30, 10.0
LOAD = "load of the social graph"


def folder(scale: float) -> Path:
    return data.folder() / f"social-{scale}"


def prepare(scale: float, engine: str = "") -> None:
    """Draw the graph, and compute the answers with Polars, which takes no part."""
    data.made(folder(scale), lambda path: _draw(scale, path))


def _draw(scale: float, path: Path) -> None:
    path.mkdir()
    drawn = np.random.default_rng(0)
    n = round(PERSONS * scale)
    person = np.arange(1, n + 1)
    age = drawn.integers(24, 56, n)
    persons = pl.DataFrame({
        "key": person, "type": "person", "name": [f"Person {i}" for i in person], "age": age,
        "gender": drawn.choice(["male", "female"], n), "is_married": drawn.random(n) < 0.5,
    })  # fmt: skip
    state_of = drawn.integers(1, STATES + 1, CITIES)
    country_of = np.concatenate([[1, 2, 3], drawn.integers(1, 4, STATES - 3)])
    names = {
        "city": ["London", *(f"City {i}" for i in range(2, CITIES + 1))],
        "state": [f"State {i}" for i in range(1, STATES + 1)],
        "country": [*COUNTRIES],
        "interest": ["Photography", "Tennis", "Fine Dining", *(f"Interest {i}" for i in range(4, INTERESTS + 1))],
    }
    state_of[0] = 2
    places = [
        pl.DataFrame({"key": np.arange(1, len(named) + 1), "type": kind, "name": named})
        for kind, named in names.items()
    ]
    pl.concat([persons, *places], how="diagonal").write_parquet(path / "nodes.parquet")
    pairs = np.column_stack([drawn.integers(1, n + 1, 10 * n), drawn.integers(1, n + 1, 10 * n)])
    stars = drawn.choice(person, max(1, n * 5 // 1000), replace=False)
    sizes = drawn.integers(max(1, n * 5 // 1000), n * 5 // 100, len(stars))
    fans = [
        np.column_stack([drawn.choice(person, k, replace=False), np.full(k, s)])
        for s, k in zip(stars, sizes, strict=True)
    ]
    follows = np.unique(np.concatenate([pairs, *fans]), axis=0)
    follows = follows[follows[:, 0] != follows[:, 1]]
    likes = [
        (p, i)
        for p, k in zip(person, drawn.integers(1, 5, n), strict=True)
        for i in drawn.permutation(INTERESTS)[:k] + 1
    ]
    lists = {
        "follows": follows,
        "lives_in": np.column_stack([person, drawn.integers(1, LARGE + 1, n)]),
        "has_interest": np.array(likes),
        "city_in": np.column_stack([np.arange(1, CITIES + 1), state_of]),
        "state_in": np.column_stack([np.arange(1, STATES + 1), country_of]),
    }
    frames = {
        name: pl.DataFrame({"head": pairs[:, 0], "tail": pairs[:, 1]}, {"head": pl.Int64, "tail": pl.Int64})
        for name, pairs in lists.items()
    }
    for name, frame in frames.items():
        frame.write_parquet(path / f"{name}.parquet")
    kinds = {n: {"head_type": pl.lit(h), "relation": pl.lit(n), "tail_type": pl.lit(t)}
             for n, (h, t) in RELATIONS.items()}  # fmt: skip
    pl.concat([frame.with_columns(**kinds[name]) for name, frame in frames.items()]).write_parquet(
        path / "edges.parquet"
    )
    (path / "answers.json").write_text(json.dumps(_answers(persons, frames, names)), encoding="utf-8", newline="\n")


def _answers(p: pl.DataFrame, e: dict[str, pl.DataFrame], names: dict[str, list[str]]) -> dict[str, Any]:
    """The answers, as sorted rows where a query breaks ties at will only the numbers."""
    name = {kind: dict(enumerate(listed, 1)) for kind, listed in names.items()}
    followers = e["follows"].group_by("tail").len().sort(["len", "tail"], descending=[True, False])
    home = dict(e["lives_in"].rows())
    state, country = dict(e["city_in"].rows()), dict(e["state_in"].rows())
    people = p.with_columns(
        city=pl.col("key").replace_strict(home), state=pl.col("key").replace_strict(home).replace_strict(state)
    ).with_columns(country=pl.col("state").replace_strict(country))
    fans = {i: e["has_interest"].filter(tail=i)["head"] for i in (1, 2, 3)}
    us = people.filter(country=1).group_by("city").agg(pl.col("age").mean()).sort("age").head(5)["age"]
    aged = people.filter(pl.col("age").is_between(30, 40))["country"].value_counts(sort=True)
    dining = people.filter(pl.col("key").is_in(fans[3].implode()), gender="male", city=1, country=2)
    tennis = people.filter(pl.col("key").is_in(fans[2].implode()), gender="female")["city"].value_counts(sort=True)
    photo = people.filter(pl.col("key").is_in(fans[1].implode()), pl.col("age").is_between(23, 30), country=1)
    age = p.select("key", "age")
    tails = e["follows"].join(age, left_on="tail", right_on="key")
    onward = tails.filter(pl.col("age") > 25).group_by("head").len("on")
    inward = tails.filter(pl.col("age") < 50).group_by("tail").len("in")
    out = e["follows"].group_by("head").len("on")
    both = e["follows"].group_by("tail").len("in").join(out, left_on="tail", right_on="head")
    filtered = inward.join(onward, left_on="tail", right_on="head")
    return {
        "q1": followers["len"].head(3).to_list(),
        "q2": [followers["len"][0], name["city"][home[followers["tail"][0]]]],
        "q3": [round(value, 6) for value in us.to_list()],
        "q4": aged["count"].to_list(),
        "q5": [dining.height],
        "q6": tennis["count"].head(5).to_list(),
        "q7": [photo["state"].value_counts(sort=True)["count"][0]],
        "q8": [int((both["in"].cast(pl.Int64) * both["on"]).sum())],
        "q9": [int((filtered["in"].cast(pl.Int64) * filtered["on"]).sum())],
    }


# -- engines ----------------------------------------------------------------------------------------------------------

SQL = {
    "q1": "SELECT p.key, p.name, n FROM (SELECT tail, count(*) AS n FROM follows GROUP BY tail ORDER BY n DESC LIMIT 3)"
    " JOIN person p ON p.id = tail ORDER BY n DESC",
    "q2": "SELECT n, c.name FROM (SELECT tail, count(*) AS n FROM follows GROUP BY tail ORDER BY n DESC LIMIT 1) f"
    " JOIN lives_in l ON l.head = f.tail JOIN city c ON c.id = l.tail",
    "q3": "SELECT c.name, avg(p.age) AS a FROM country co JOIN state_in si ON si.tail = co.id"
    " JOIN city_in ci ON ci.tail = si.head JOIN lives_in l ON l.tail = ci.head JOIN person p ON p.id = l.head"
    " JOIN city c ON c.id = l.tail WHERE co.name = 'United States' GROUP BY c.id, c.name ORDER BY a LIMIT 5",
    "q4": "SELECT co.name, count(*) AS n FROM person p JOIN lives_in l ON l.head = p.id JOIN city_in ci"
    " ON ci.head = l.tail JOIN state_in si ON si.head = ci.tail JOIN country co ON co.id = si.tail"
    " WHERE p.age BETWEEN 30 AND 40 GROUP BY co.name ORDER BY n DESC LIMIT 3",
    "q5": "SELECT count(*) FROM person p JOIN has_interest h ON h.head = p.id JOIN interest i ON i.id = h.tail"
    " JOIN lives_in l ON l.head = p.id JOIN city c ON c.id = l.tail WHERE lower(i.name) = 'fine dining'"
    " AND p.gender = 'male' AND c.name = 'London'",
    "q6": "SELECT n, c.name FROM (SELECT l.tail, count(*) AS n FROM person p JOIN has_interest h ON h.head = p.id"
    " JOIN interest i ON i.id = h.tail JOIN lives_in l ON l.head = p.id WHERE lower(i.name) = 'tennis'"
    " AND p.gender = 'female' GROUP BY l.tail ORDER BY n DESC LIMIT 5) JOIN city c ON c.id = tail ORDER BY n DESC",
    "q7": "SELECT n, s.name FROM (SELECT ci.tail, count(*) AS n FROM person p JOIN has_interest h ON h.head = p.id"
    " JOIN interest i ON i.id = h.tail JOIN lives_in l ON l.head = p.id JOIN city_in ci ON ci.head = l.tail"
    " JOIN state_in si ON si.head = ci.tail JOIN country co ON co.id = si.tail WHERE lower(i.name) = 'photography'"
    " AND p.age BETWEEN 23 AND 30 AND co.name = 'United States' GROUP BY ci.tail ORDER BY n DESC LIMIT 1)"
    " JOIN state s ON s.id = tail",
    "q8": "SELECT count(*) FROM follows a JOIN follows b ON a.tail = b.head",
    "q9": "SELECT count(*) FROM follows a JOIN person p ON p.id = a.tail JOIN follows b ON a.tail = b.head"
    " JOIN person q ON q.id = b.tail WHERE p.age < 50 AND q.age > 25",
}
"""The queries in SQL; the names of tables are those of a KB."""
PATH_COUNTS = {
    "q8": "FROM path_count('follows', 'follows')",
    "q9": "WITH a AS (SELECT f.* FROM follows f JOIN person p ON p.id = f.tail WHERE p.age < 50),"
    " b AS (SELECT f.* FROM follows f JOIN person p ON p.id = f.tail WHERE p.age > 25) FROM path_count('a', 'b')",
}
"""The two numbers of paths in the SQL of a KB, computed from counts."""

_LIKES = "MATCH (p:person)-[:has_interest]->(i:interest) WHERE lower(i.name) ="
CYPHER = {
    "q1": "MATCH (f:person)-[:follows]->(p:person) RETURN p.id, p.name, count(f.id) AS n ORDER BY n DESC LIMIT 3",
    "q2": "MATCH (f:person)-[:follows]->(p:person) WITH p, count(f.id) AS n ORDER BY n DESC LIMIT 1"
    " MATCH (p)-[:lives_in]->(c:city) RETURN n, c.name",
    "q3": "MATCH (p:person)-[:lives_in]->(c:city)-[:city_in]->(:state)-[:state_in]->(co:country)"
    " WHERE co.name = 'United States' RETURN c.name, avg(p.age) AS a ORDER BY a LIMIT 5",
    "q4": "MATCH (p:person)-[:lives_in]->(:city)-[:city_in]->(:state)-[:state_in]->(co:country)"
    " WHERE p.age >= 30 AND p.age <= 40 RETURN co.name, count(co) AS n ORDER BY n DESC LIMIT 3",
    "q5": f"{_LIKES} 'fine dining' AND p.gender = 'male' WITH p, i MATCH (p)-[:lives_in]->(c:city)"
    " WHERE c.name = 'London' RETURN count(p)",
    "q6": f"{_LIKES} 'tennis' AND p.gender = 'female' WITH p, i MATCH (p)-[:lives_in]->(c:city)"
    " RETURN count(p.id) AS n, c.name ORDER BY n DESC LIMIT 5",
    "q7": "MATCH (p:person)-[:lives_in]->(:city)-[:city_in]->(s:state)-[:state_in]->(co:country) WHERE p.age >= 23"
    " AND p.age <= 30 AND co.name = 'United States' WITH p, s MATCH (p)-[:has_interest]->(i:interest)"
    " WHERE lower(i.name) = 'photography' RETURN count(p.id) AS n, s.name ORDER BY n DESC LIMIT 1",
    "q8": "MATCH (a:person)-[:follows]->(b:person)-[:follows]->(c:person) RETURN count(*)",
    "q9": "MATCH (a:person)-[:follows]->(b:person)-[:follows]->(c:person) WHERE b.age < 50 AND c.age > 25"
    " RETURN count(*)",
}
_US = 'country:"United States" -> state -> city'
EXPRESSIONS: dict[str, Callable[[Any], list[Any]]] = {
    "q1": lambda kb: kb.answers(FOLLOWED).paths_by("end", 3).select("key", "name", "paths").rows(),
    "q2": lambda kb: _home(kb, *kb.answers(FOLLOWED).paths_by("end", 1).select("key", "paths").rows()[0]),
    "q5": lambda kb: [
        (len(kb.answers('(interest:"fine dining" -> person) & (city:"London" -> person) & person{gender = "male"}')),)
    ],
    "q6": lambda kb: (
        kb.answers('interest:"tennis" -> person{gender = "female"} -> city')
        .paths_by("end", 5)
        .select("paths", "name")
        .rows()
    ),
    "q4": lambda kb: (
        kb.answers("person{age >= 30, age <= 40} -> city -> state -> country")
        .paths_by("end", 3)
        .select("name", "paths")
        .rows()
    ),
    "q7": lambda kb: (
        kb.answers(f'interest:"photography" -> person{{age >= 23, age <= 30}} -> ({_US}) -> state')
        .paths_by("end", 1)
        .select("paths", "name")
        .rows()
    ),
    "q8": lambda kb: [(kb.answers(f"{FOLLOWED} -> [follows] -> person").paths(),)],
    "q9": lambda kb: [
        (kb.answers("person -> [follows] -> person{age < 50} -> [follows] -> person{age > 25}").paths(),)
    ],
}
FOLLOWED = "person -> [follows] -> person"
_NUMBERS = {"q1": 2, "q3": 1, "q4": 1, "q6": 0, "q7": 0}
"""The column that is compared, where names may tie."""


def _home(kb: Any, key: str, followers: int) -> list[Any]:
    """The city of a person."""
    return [(followers, kb.answers("person:<p> -> city", p=f"#{key}").nodes()["name"].item())]


def _plain(name: str, rows: list[Any]) -> list[Any]:
    column = _NUMBERS.get(name)
    if column is None:
        return list(rows[0])
    return [round(row[column], 6) if name == "q3" else row[column] for row in rows]


def _figures(scale: float, run: Callable[[str], list[Any]]) -> Iterator[Figure]:
    answers = json.loads((folder(scale) / "answers.json").read_text(encoding="utf-8"))
    for name in QUERIES:
        found = _plain(name, run(name))
        if found != answers[name]:
            yield Figure(name, note=f"wrong answer: {found} instead of {answers[name]}"[:150])
            continue
        median, high, runs = times(lambda _, n=name: run(n), [None] * RUNS, BUDGET)
        yield Figure(name, median, p95=high, note=f"{runs} runs" if runs < RUNS else "")


def kbkit(scale: float, engine: str) -> Iterator[Figure]:
    """Whole calls: numbers of paths of expressions for all queries but the third, which is SQL; first the load.

    Attribute filters stay in memory after their first call, as everywhere in kbkit; nothing else is kept.
    """
    import kbkit as package

    with scratch() as place:
        command = [KBKIT, "ingest", "table", str(folder(scale)), "-o", str(place / "social.kb")]
        started = time.perf_counter()
        subprocess.run([*command, "--stores", "tables,adjacency"], check=True, capture_output=True)
        taken = time.perf_counter() - started
        yield Figure(LOAD, taken, "s", disk_mb=disk_mb(place), note="whole command", goal=4.0 if scale <= 1 else None)
        with package.open(place / "social.kb") as kb:

            def run(name: str) -> list[Any]:
                return EXPRESSIONS[name](kb) if name in EXPRESSIONS else kb.sql(SQL[name]).rows()

            yield from _figures(scale, run)
            answers = json.loads((folder(scale) / "answers.json").read_text(encoding="utf-8"))
            for name, text in PATH_COUNTS.items():
                what = f"{name} in SQL"
                if [kb.sql(text).item()] != answers[name]:
                    yield Figure(what, note="wrong answer")
                    continue
                median, high, _ = times(lambda _, t=text: kb.sql(t), [None] * RUNS, BUDGET)
                yield Figure(what, median, p95=high, note="path_count")


def duckdb(scale: float, engine: str) -> Iterator[Figure]:
    """Tables with integer ids, loaded by CREATE TABLE AS."""
    import duckdb as package

    with scratch() as place:
        started = time.perf_counter()
        con = package.connect(str(place / "social.duckdb"), config={"threads": 2})
        nodes = f"'{folder(scale)}/nodes.parquet'"
        for kind in ("person", "city", "state", "country", "interest"):
            con.execute(f"CREATE TABLE {kind} AS SELECT key AS id, * EXCLUDE type FROM {nodes} WHERE type = '{kind}'")
        for name in RELATIONS:
            con.execute(f"CREATE TABLE {name} AS FROM '{folder(scale)}/{name}.parquet'")
        con.execute("CHECKPOINT")
        yield Figure(LOAD, time.perf_counter() - started, "s", disk_mb=disk_mb(place))
        yield from _figures(scale, lambda name: con.execute(SQL[name]).fetchall())
        con.close()


def ladybug(scale: float, engine: str) -> Iterator[Figure]:
    """A node table for each type, a relation table for each relation, loaded by COPY from the same Parquet files."""
    import ladybug as package

    with scratch() as place:
        started = time.perf_counter()
        database = package.Database(str(place / "social.lbug"), buffer_pool_size=4 << 30)
        con = package.Connection(database, num_threads=2)
        nodes = f"LOAD FROM '{folder(scale)}/nodes.parquet' WHERE type ="
        con.execute(
            "CREATE NODE TABLE person(id INT64, name STRING, age INT64, gender STRING, is_married BOOLEAN,"
            " PRIMARY KEY(id))"
        )
        con.execute(f"COPY person FROM ({nodes} 'person' RETURN key, name, age, gender, is_married)")
        for kind in ("city", "state", "country", "interest"):
            con.execute(f"CREATE NODE TABLE {kind}(id INT64, name STRING, PRIMARY KEY(id))")
            con.execute(f"COPY {kind} FROM ({nodes} '{kind}' RETURN key, name)")
        for name, (head, tail) in RELATIONS.items():
            con.execute(f"CREATE REL TABLE {name}(FROM {head} TO {tail})")
            con.execute(f"COPY {name} FROM '{folder(scale)}/{name}.parquet'")
        con.execute("CHECKPOINT")
        yield Figure(LOAD, time.perf_counter() - started, "s", disk_mb=disk_mb(place))
        yield from _figures(scale, lambda name: con.execute(CYPHER[name]).get_all())
        con.close()
        database.close()
