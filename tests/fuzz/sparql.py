"""Random SPARQL queries over random graphs: columns return what Oxigraph returns."""

from __future__ import annotations

import contextlib
import functools
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyoxigraph as ox

from kbkit.errors import KbError
from tests.fuzz import Bench, Broken
from tests.fuzz.sparql_compare import Ask, NotComparableError, compare
from tests.fuzz.sparql_faults import corrected
from tests.fuzz.sparql_graphs import graph, vocabulary
from tests.fuzz.sparql_queries import Queries
from tests.fuzz.sparql_shrink import shrink
from tests.sparql.engines import Dataset, UnsupportedQueryError, columns, oxigraph
from tests.sparql.solutions import Answer

QUERIES = 20
"""Queries of a case, over one graph."""

happened: Counter[str] = Counter()
"""Queries so far: same, different, unsupported, not comparable, refused by Oxigraph or wrong there, without rows."""
reasons: Counter[str] = Counter()
"""Why columns did not accept queries."""


def problem(data: Dataset, text: str) -> str:
    """Return what is wrong with columns' answer, empty if nothing is or if they do not support the query."""
    oracle = functools.partial(oxigraph, data)

    def engine(_: str) -> Answer:
        return columns(data, text)

    try:
        wanted = oracle(text)
    except (SyntaxError, ValueError, RuntimeError):
        happened["refused by Oxigraph"] += 1
        return ""
    if not wanted.rows:
        happened["without rows"] += 1
    try:
        found = compare(text, oracle, engine)
        if found and not _differs_from_standard(data, text, engine):
            happened["wrong in Oxigraph"] += 1
            return ""
    except UnsupportedQueryError as error:
        happened["unsupported"] += 1
        reasons[error.message.partition(": ")[2].partition(" (line")[0]] += 1
        return ""
    except NotComparableError:
        happened["not comparable"] += 1
        return ""
    except KbError as error:
        found = f"{type(error).__name__}: {error}"
    except Exception as error:  # noqa: BLE001 - an error of DuckDB, or of the compiler
        found = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    happened["different" if found else "same"] += 1
    return found


def _differs_from_standard(data: Dataset, text: str, engine: Ask) -> bool:
    """Return whether an answer that differs from Oxigraph's is wrong, as far as the known faults of Oxigraph go."""
    right, other = corrected(data, text)
    return (right is data and other == text) or bool(compare(other, functools.partial(oxigraph, right), engine))


def case(bench: Bench | None, seed: int) -> Iterator[Broken]:
    """Ask ``QUERIES`` queries of one random graph."""
    rng = random.Random(seed)
    quads = graph(rng)
    data = Dataset(quads)
    queries = Queries(rng, vocabulary(quads))
    for _ in range(QUERIES):
        text = worthwhile(queries, data)
        if problem(data, text):
            yield smallest(quads, text)


def worthwhile(queries: Queries, data: Dataset) -> str:
    """Draw a query; one without rows proves little, and most of them are drawn again."""
    for _ in range(4):
        text = queries.query()
        with contextlib.suppress(SyntaxError, ValueError, RuntimeError):
            if oxigraph(data, text).rows or queries.rng.random() < 0.2:
                break
    return text


def smallest(quads: Sequence[ox.Quad], text: str) -> Broken:
    """Return a failing case, made small, as data and query."""

    @functools.lru_cache(maxsize=8)
    def dataset(some: tuple[Any, ...]) -> Dataset:
        return Dataset(some)

    return _smallest(lambda some: dataset(tuple(some)), quads, text)


def smallest_query(data: Dataset, text: str) -> Broken:
    """Return a failing query, made small, on data that stay."""
    return _smallest(lambda _: data, (), text)


def _smallest(dataset: Callable[[Sequence[Any]], Dataset], quads: Sequence[Any], text: str) -> Broken:
    before = happened.copy(), reasons.copy()
    kind = _kind(problem(dataset(quads), text))
    quads, text = shrink(quads, text, lambda some, other: _kind(problem(dataset(some), other)) == kind)
    found = problem(dataset(quads), text)
    for counter, kept in zip((happened, reasons), before, strict=True):  # shrinking asks many more queries
        counter.clear()
        counter.update(kept)
    wanted = oxigraph(dataset(quads), text).show()
    return Broken("\n".join([*(f"{quad} ." for quad in quads), text]), f"{found}\nOxigraph:\n{wanted}")


def _kind(found: str) -> str:
    """Return the kind of a problem, so that a smaller case is not one of another kind."""
    head = found.partition(": ")[0]
    return head if head.endswith(("Error", "Exception")) else ("differs" if found else "")
