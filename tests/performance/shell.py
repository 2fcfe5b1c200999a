"""The shell and what a person looks at: the first prompt, completion, names by prefix, pages, paths, neighbourhoods."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from tests.performance import data
from tests.performance.report import Figure
from tests.performance.timing import KBKIT, times

STATEMENTS = {
    "answers": ("author -> [", "author -> [writes] -> pa", "paper{", "paper -> author -> [", "(author -> paper) & "),
    "SQL": ("SELECT ", "SELECT p. FROM paper p", "SELECT * FROM pa", "FROM paper WHERE ", "FROM writes w JOIN "),
    "SPARQL": ("SELECT ?x { ?x ", "SELECT ?x { ?x rel:wri", "SELECT ?x { ?x a ", "PREF", "SELECT ?x { ?x rel:writes ?"),
}
LETTERS = (1, 2, 3, 5, 10)
STARTS, PAIRS = 10, 20


def kbkit(scale: float, engine: str) -> Iterator[Figure]:
    """A KB with tables, adjacency and text; the file system's cache is warm."""
    import kbkit as package

    path = data.text_kb(scale)
    first = sorted(_first_prompt(path) for _ in range(12))
    yield Figure("first prompt", first[len(first) // 2], p95=first[-1], goal=400.0)
    with package.open(path) as kb:
        yield from _completion(kb)
        yield from _names(kb)
        rng = np.random.default_rng(0)
        nodes = rng.integers(0, kb.schema.nodes, 2 * PAIRS).tolist()
        yield _figure("a node's page", kb.page, nodes)
        pairs = list(zip(nodes[::2], nodes[1::2], strict=True))
        yield _figure("paths between two nodes", lambda pair: kb.paths(*pair), pairs, goal=500.0)
        yield _figure("around a node", kb.around, nodes)


def _first_prompt(path: Path) -> float:
    """Milliseconds from the start of the command until the prompt stands on a terminal."""
    import pexpect

    started = time.perf_counter()
    shell = pexpect.spawn(KBKIT, ["shell", str(path)], env={**os.environ, "TERM": "xterm"}, dimensions=(30, 100))
    shell.expect_exact(path.resolve().stem.encode(), timeout=30)
    taken = 1000 * (time.perf_counter() - started)
    shell.close(force=True)
    return taken


def _completion(kb: object) -> Iterator[Figure]:
    from kbkit.executor.completion import complete, prepare
    from kbkit.executor.vocabulary import Vocabulary

    vocabulary = Vocabulary.of(kb)  # type: ignore[arg-type]
    prepare(vocabulary)
    for language, statements in STATEMENTS.items():

        def run(text: str, language: str = language.lower()) -> object:
            return complete(text, len(text), vocabulary, language)

        yield _figure(f"completion, {language}", run, statements * 20, goal=30.0)


def _names(kb: object) -> Iterator[Figure]:
    """Names of nodes as they are typed in quotes: of real names the first letters."""
    from kbkit.executor.completion import complete
    from kbkit.executor.vocabulary import Vocabulary

    vocabulary = Vocabulary.of(kb)  # type: ignore[arg-type]
    rows = kb.sql("SELECT name FROM nodes USING SAMPLE reservoir(200 ROWS) REPEATABLE (1)")  # type: ignore[attr-defined]

    def look_up(text: str) -> object:
        return complete(text, len(text), vocabulary, "answers")

    for letters in LETTERS:
        typed = [f'*:"{name[:letters]}' for name in rows["name"].to_list()[: 10 * STARTS] if '"' not in name]
        yield _figure(f"names by their first {letters}", look_up, typed, goal=50.0)


def _figure(what: str, action: object, arguments: Sequence[object], goal: float | None = None) -> Figure:
    found = times(action, arguments)  # type: ignore[arg-type]
    return Figure(what, found.median, p95=found.p95, goal=goal)
