"""The seven templates of STaRK-MAG: one grounding at a time, and 10,000 at once, by each engine."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import Any

import polars as pl

from tests.performance import data
from tests.performance.engines import engine_class
from tests.performance.metapaths import NAMES
from tests.performance.report import Figure
from tests.performance.timing import disk_mb, times

STARTS = 300
BUDGET = 5.0
"""Seconds that one template may take; a slow engine makes fewer calls."""


def opened(scale: float, engine: str) -> tuple[Any, Figure]:
    """The engine, and how long it took to open or, where all is in memory, to load."""
    started = time.perf_counter()
    chosen = engine_class(engine)
    found = chosen(scale)
    taken = 1000 * (time.perf_counter() - started)
    path = getattr(chosen, "path", None)
    note = "loads all into memory" if path is None else ""
    return found, Figure("open", taken, disk_mb=disk_mb(path(scale)) if path else None, note=note)


def starts(scale: float, name: str) -> list[dict[str, int]]:
    return data.groundings(scale, name).drop("answers").head(STARTS).to_dicts()


def wrong(engine: Any, scale: float, name: str) -> str:
    """What is wrong with the answers to the first groundings; nothing, it is hoped. A slow engine shows fewer."""
    rows = data.groundings(scale, name).head(data.CHECKED)
    until = time.perf_counter() + BUDGET
    for row, answers in zip(rows.drop("answers").to_dicts(), rows["answers"].to_list(), strict=True):
        found = sorted(engine.ids(name, row))
        if found != answers or engine.count(name, row) != len(answers):
            return f"wrong answers for {row}: {len(found)} where there are {len(answers)}"
        if time.perf_counter() > until:
            break
    return ""


def one_start(scale: float, engine: str) -> Iterator[Figure]:
    """Median and 95th percentile of one grounding."""
    peer, figure = opened(scale, engine)
    yield figure
    for name in NAMES:
        try:
            problem = wrong(peer, scale, name)
            if problem:
                yield Figure(name, note=problem)
                continue
            rows = starts(scale, name)
            median, high, runs = times(lambda row, name=name: peer.count(name, row), rows, BUDGET)
        except RuntimeError as error:
            yield Figure(name, note=str(error).splitlines()[0][:100])
            continue
        sizes = data.groundings(scale, name)["answers"].list.len().head(data.CHECKED).to_list()
        extra = {"answers each": statistics.median(sizes)} if engine == "kbkit" else {}
        note = f"{runs} runs" if runs < len(rows) else ""
        yield Figure(name, median, p95=high, goal=1.0 if engine == "kbkit" else None, extra=extra, note=note)
    peer.close()


def kbkit(scale: float, engine: str) -> Iterator[Figure]:
    """The walk, and what parsing and planning cost."""
    yield from one_start(scale, engine)
    yield from planning(scale)


def planning(scale: float) -> Iterator[Figure]:
    import kbkit
    from kbkit.answers.parse import parse
    from kbkit.answers.templates import find

    with kbkit.open(data.kb(scale)) as kb:
        text = str(find("mag/institution_and_field").tree())
        kb.session.resolved(parse(text), text)
        known = times(lambda t: kb.session.resolved(parse(t), t), [text] * 1000)
        yield Figure("parse and plan, known text", known.median, p95=known.p95, goal=0.5)
        parse.cache_clear()
        kb.session.clear_plans()
        new = times(lambda t: kb.session.resolved(parse(t), t), [text + " " * i for i in range(200)])
        yield Figure("parse and plan, new text", new.median, p95=new.p95)


def as_called(scale: float, engine: str) -> Iterator[Figure]:
    """``kb.answers(...)`` as users call it, names to be resolved: walked, in SQL and in SPARQL."""
    import kbkit
    from kbkit.answers.templates import find

    way, goal = {"kbkit answers": ("walk", None), "kbkit sql": ("sql", 150.0), "kbkit sparql": ("sparql", None)}[engine]
    with kbkit.open(data.kb(scale)) as kb:
        for name in NAMES:
            template = find(f"mag/{name}")
            rows = data.groundings(scale, name).head(data.CHECKED)
            keys = [{s: f"#{kb.node(i).key}" for s, i in row.items()} for row in rows.drop("answers").to_dicts()]
            found = [kb.answers(template, engine=way, **key).ids.tolist() for key in keys[:3]]
            if found != rows["answers"].to_list()[:3]:
                yield Figure(name, note="wrong answers")
                continue
            calls = keys * (5 if way == "walk" else 1)
            median, high, _ = times(lambda key, t=template: kb.answers(t, engine=way, **key).ids, calls, BUDGET)
            yield Figure(name, median, p95=high, goal=goal)


# -- many at once ------------------------------------------------------------------------------------------------------


def groundings(scale: float, engine: str) -> Iterator[Figure]:
    """10,000 groundings: in one statement, or one after the other where an engine has none that ends."""
    peer, _ = opened(scale, engine)
    for name in NAMES:
        table = data.many(scale, name)
        goal = 2.0 if engine == "kbkit" else None
        if not hasattr(peer, "many"):
            yield one_by_one(peer, name, table.to_dicts())
            continue
        yield at_once(peer, name, table, goal)
    peer.close()


def at_once(peer: Any, name: str, table: pl.DataFrame, goal: float | None) -> Figure:
    """One statement for all groundings, after one for a hundred."""
    started = time.perf_counter()
    try:
        peer.many(name, table.head(100))
        started = time.perf_counter()
        found = peer.many(name, table)
    except RuntimeError as error:
        taken = time.perf_counter() - started
        return Figure(name, taken, "s", goal=goal, least=True, note=str(error).splitlines()[0][:80])
    return Figure(name, time.perf_counter() - started, "s", goal=goal, answers=found)


def one_by_one(peer: Any, name: str, rows: list[dict[str, int]]) -> Figure:
    """All groundings in turn, for some seconds; the rest is taken to go on like that."""
    started = time.perf_counter()
    found = done = 0
    for row in rows:
        found += peer.count(name, row)
        done += 1
        if time.perf_counter() - started > BUDGET:
            break
    taken = (time.perf_counter() - started) * len(rows) / done
    if done < len(rows):
        return Figure(name, taken, "s", note=f"one by one; from the first {done:,} of {len(rows):,}")
    return Figure(name, taken, "s", answers=found, note="one by one")


def kbkit_groundings(scale: float, engine: str) -> Iterator[Figure]:
    """10,000 at once, and sampling 1,000 with 1 to 20 answers."""
    import kbkit

    yield from groundings(scale, engine)
    with kbkit.open(data.kb(scale)) as kb:
        for name in NAMES:
            started = time.perf_counter()
            drawn = kb.sample(f"mag/{name}", 1000, seed=1).height
            taken = time.perf_counter() - started
            yield Figure(f"sampling {name}", taken, "s", goal=10.0, extra={"drawn": drawn})


def answers_many(scale: float, engine: str) -> Iterator[Figure]:
    """``kb.answers_many(...)`` as users call it, which lays out every answer."""
    import kbkit

    with kbkit.open(data.kb(scale)) as kb:
        for name in NAMES:
            table = data.many(scale, name)
            started = time.perf_counter()
            found = kb.answers_many(f"mag/{name}", table)
            yield Figure(name, time.perf_counter() - started, "s", answers=found.height)
