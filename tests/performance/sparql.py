"""SPARQL: twenty queries on MAG's shape, and a hundred drawn from the KB, by columns, Oxigraph, SQL and maplib."""

from __future__ import annotations

import json
import os
import queue
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

import kbkit
from kbkit.errors import KbError, QueryTimeoutError
from tests.performance import data
from tests.performance.report import Figure
from tests.performance.sparql_generated import generate
from tests.performance.sparql_queries import Query, queries

LIMIT = {"queries": 30.0, "generated": 60.0}
"""Seconds of a query, before it is cancelled."""
_RUNS, _ENOUGH = 5, 2.0
"""Runs of a query at most, and the seconds after which no further one begins."""
MAPLIB = "KBKIT_MAPLIB"
"""The environment variable with the interpreter of an environment that has maplib."""

Run = Callable[[Query, float], pl.DataFrame]


def prepare(scale: float, engine: str = "") -> None:
    """Make the KB, and for maplib its triples as a file."""
    data.ntriples(scale) if engine == "maplib" else data.kb(scale)


def twenty(scale: float, engine: str) -> Iterator[Figure]:
    """The twenty queries."""
    yield from _measured(scale, engine, "queries")


def hundred(scale: float, engine: str) -> Iterator[Figure]:
    """The generated queries."""
    yield from _measured(scale, engine, "generated")


def _measured(scale: float, engine: str, what: str) -> Iterator[Figure]:
    with kbkit.open(data.kb(scale)) as kb:
        asked = queries(kb) if what == "queries" else generate(kb)
        prefixes = "".join(f"PREFIX {name}: <{iri}>\n" for name, iri in kb.schema.prefixes().items())
        if engine == "maplib":
            figures = _maplib(scale, [(q.name, prefixes + q.sparql) for q in asked], LIMIT[what])
        else:
            run = {"kbkit": _columns, "oxigraph": _oxigraph, "SQL": _sql}[engine](kb)
            figures = (_figure(run, query, LIMIT[what]) for query in asked if engine != "SQL" or query.sql)
        found = []
        for figure in figures:
            found.append(figure)
            yield figure
    yield from _summary(
        [figure for figure in found if figure.what != "load"], {q.name for q in asked if q.sql}, LIMIT[what]
    )


def _columns(kb: Any) -> Run:
    from kbkit.sparql.columns import compile_query, run

    return lambda query, limit: _frame(run(kb.stores, compile_query(kb.stores, query.sparql), limit))


def _frame(table: Any) -> pl.DataFrame:
    found = pl.from_arrow(table)
    assert isinstance(found, pl.DataFrame)
    return found


def _oxigraph(kb: Any) -> Run:
    return lambda query, limit: kb.stores.triples.frame(query.sparql, timeout=limit)


def _sql(kb: Any) -> Run:
    return lambda query, limit: kb.sql(query.sql, timeout=limit)


def _figure(run: Run, query: Query, limit: float) -> Figure:
    """Return the median of up to five runs after a first one, which also counts if it is slow."""
    taken: list[float] = []
    begun = time.perf_counter()
    try:
        while len(taken) < _RUNS + 1 and (not taken or time.perf_counter() - begun < _ENOUGH):
            started = time.perf_counter()
            rows = run(query, limit)
            taken.append(1000 * (time.perf_counter() - started))
    except QueryTimeoutError:
        return Figure(query.name, 1000 * limit, least=True, note="cancelled")
    except KbError as error:
        return Figure(query.name, note=str(error).splitlines()[0][:100])
    warm = taken[1:] or taken
    return Figure(query.name, statistics.median(warm), p95=max(warm), answers=_answers(rows), extra={"first": taken[0]})


def _answers(rows: pl.DataFrame) -> int:
    """Return the number of rows, or the number in the first column of the only row."""
    if rows.height == 1 and rows.dtypes[0].is_numeric():
        return int(rows.item(0, 0) or 0)
    return rows.height


def _summary(found: Sequence[Figure], twins: set[str], limit: float) -> Iterator[Figure]:
    def median(what: str, some: list[Figure]) -> Iterator[Figure]:
        values = [figure.value for figure in some if figure.value is not None]
        failed = sum(figure.value is None for figure in some)
        if values:
            yield Figure(
                what,
                statistics.median(values),
                p95=max(values),
                extra={"queries": float(len(some)), "cancelled": float(sum(f.least for f in some))}
                | {"over 1 s": float(sum(value > 1000 for value in values)), "failed": float(failed)},
            )

    yield from median("median of all", list(found))
    if twins:
        yield from median("median of those with an SQL twin", [f for f in found if f.what in twins])


# -- maplib, in an environment of its own -----------------------------------------------------------------------------

_PROGRAM = """
import json, sys, time
started = time.perf_counter()
import maplib
model = maplib.Model()
model.read(sys.argv[1], format="ntriples")
print(json.dumps(["loaded", time.perf_counter() - started, 0, ""]), flush=True)
for line in sys.stdin:
    name, text = json.loads(line)
    taken, answers, note = [], 0, ""
    begun = time.perf_counter()
    try:
        while len(taken) < 6 and (not taken or time.perf_counter() - begun < 2):
            at = time.perf_counter()
            rows = model.query(text)
            taken.append(time.perf_counter() - at)
        answers = rows.height
        if rows.height == 1 and rows.dtypes[0].is_numeric():
            answers = int(rows.item(0, 0) or 0)
    except BaseException as error:
        note = f"{type(error).__name__}: {error}".splitlines()[0][:100]
    print(json.dumps([name, sorted(taken[1:] or taken)[len(taken[1:] or taken) // 2] if taken and not note else None,
                      answers, note]), flush=True)
"""


def _maplib(scale: float, asked: list[tuple[str, str]], limit: float) -> Iterator[Figure]:
    """Ask maplib in a process of its own, which is killed and started again after a query that is too slow."""
    interpreter = os.environ.get(MAPLIB, "")
    if not interpreter or not Path(interpreter).is_file():
        yield Figure("(not measured)", note=f"skipped: {MAPLIB} names no interpreter with maplib")
        return
    left = list(asked)
    while left:
        process = subprocess.Popen(
            [interpreter, "-c", _PROGRAM, str(data.ntriples(scale))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            answers = _Lines(process)
            loaded = answers.next(600.0)
            if loaded is None:
                yield Figure("load", note="failed")
                return
            if len(left) == len(asked):
                yield Figure("load", loaded[1], "s")
            while left:
                name, text = left.pop(0)
                assert process.stdin is not None
                process.stdin.write(json.dumps([name, text]) + "\n")
                process.stdin.flush()
                found = answers.next(limit)
                if found is None:
                    ended = process.poll() is not None
                    note = f"the process ended ({process.returncode})" if ended else "cancelled"
                    yield Figure(name, None if ended else 1000 * limit, least=not ended, note=note)
                    break
                _, seconds, number, note = found
                if seconds is None:
                    yield Figure(name, note=note)
                else:
                    yield Figure(name, 1000 * seconds, answers=number)
        finally:
            process.kill()
            process.wait()


class _Lines:
    """The lines of a process, with a limit on the time of each."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, args=(process.stdout,), daemon=True).start()

    def _read(self, stream: Any) -> None:
        for line in stream:
            self._lines.put(line)
        self._lines.put(None)

    def next(self, limit: float) -> Any:
        """Return the next line, None at the end or if it does not come in time."""
        try:
            line = self._lines.get(timeout=limit)
        except queue.Empty:
            return None
        return None if line is None else json.loads(line)
