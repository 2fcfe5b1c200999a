"""Questions in plain English, read without a language model: hit@1, hit@10, exact sets, how many are answered (sure)
rightly and wrongly, and milliseconds a question.

Figures are of questions that nothing was tuned on: the other halves of MetaQA's development questions and of GeoQuery,
and STaRK-Prime's validation questions. ``learned`` is after 99 question-answer pairs of the tuning half.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from kbkit.kb import KnowledgeBase
from tests.performance import data, question_sets
from tests.performance.question_sets import Asked
from tests.performance.report import Figure
from tests.performance.timing import times

QUESTIONS, PAIRS = 1_000, 33
"""Questions of each set, and pairs of each number of hops that are learned from."""


def kbkit(scale: float, engine: str) -> Iterator[Figure]:
    """MetaQA, with and without types and examples; GeoQuery; Prime's subset, relational beside hybrid."""
    import kbkit as package

    if not question_sets.METAQA.is_dir():
        yield Figure("questions", note="no data")
        return
    for name, typed in (("MetaQA", True), ("MetaQA without types", False)):
        path = question_sets.metaqa_kb(typed=typed)
        for learned in (False, True):
            with package.open(path) as kb:
                _taught(kb, learned)
            with package.open(path) as kb:
                for hops in (1, 2, 3):
                    what = f"{name}, {hops} hop{'s' * (hops > 1)}{', learned' * learned}"
                    yield _asked(kb, what, question_sets.metaqa(False, hops)[:QUESTIONS])
                _taught(kb, False)
    with package.open(question_sets.geoquery_kb()) as kb:
        asked = question_sets.geoquery(False)
        yield _asked(kb, "GeoQuery, all", asked)
        yield _asked(kb, "GeoQuery, plain paths", [one for one in asked if one.is_path])
    with package.open(question_sets.prime_kb()) as kb:
        for mode in ("hybrid", "relational"):
            yield _searched(kb, f"STaRK-Prime's subset, {mode}", question_sets.prime("val"), mode)


def mag(scale: float, engine: str) -> Iterator[Figure]:
    """Time of questions that name one or two nodes, on MAG's shape."""
    import kbkit as package

    drawn = random.Random(7)
    with package.open(data.graph_kb(scale)) as kb:
        types = {t.name: t for t in kb.stores.schema.primary_types}

        def name(kind: str) -> str:
            return kb.stores.nodes.name(drawn.randint(types[kind].first, types[kind].last))

        texts = []
        for _ in range(50):
            texts += [
                f"Which papers did {name('author')} write?",
                f"authors affiliated with {name('institution')}",
                f"papers about {name('field_of_study')} by authors of {name('institution')}",
                f"Which authors wrote the papers that {name('paper')} cites?",
            ]
        start = time.perf_counter()
        kb.ask(texts[0])
        first = 1000 * (time.perf_counter() - start)
        median, high, _ = times(lambda text: kb.ask(text).nodes(), texts[1:])
        yield Figure("the first question of a process", first)
        yield Figure("a question", median, p95=high, goal=20.0)


def _taught(kb: KnowledgeBase, learned: bool) -> None:
    """Let a KB learn from pairs of each number of hops, or forget."""
    from kbkit.questions import teaching
    from kbkit.questions.learn import TrainingPair, learn

    teaching.forget(kb.stores)
    if learned:
        asked = [one for hops in (1, 2, 3) for one in question_sets.metaqa(True, hops)[:PAIRS]]
        learn(kb.stores, [TrainingPair(one.question, one.answers) for one in asked])


def _asked(kb: KnowledgeBase, what: str, asked: Sequence[Asked]) -> Figure:
    first = ten = exact = sure = wrong = 0
    kb.ask(asked[0].question)

    def ask(one: Asked) -> None:
        nonlocal first, ten, exact, sure, wrong
        found = _answers(kb, one.question)
        exact += {*found} == one.answers
        is_sure = kb.ask(one.question).is_sure
        sure += is_sure and {*found} == one.answers
        wrong += is_sure and {*found} != one.answers
        # A value is right if all values are.
        first += bool(found[:1]) and found[0] in one.answers
        ten += bool({*found[:10]} & one.answers)

    median, high, _ = times(ask, asked, budget=600)
    count = len(asked)
    measured = {"exact": exact / count, "hit@1": first / count, "hit@10": ten / count}
    measured |= {"right and sure": sure / count, "wrong and sure": wrong / count}
    return Figure(what, median, p95=high, answers=count, extra={n: round(v, 3) for n, v in measured.items()})


def _answers(kb: KnowledgeBase, question: str) -> list[str]:
    """The answers in the order of ``kb.ask``: names, or values as text."""
    result = kb.ask(question)
    value: Any = result.value
    if value is not None:
        found = value if isinstance(value, list) else [value]
        found = [one[1] if isinstance(one, tuple) else one for one in found]  # the names of groups
        return [question_sets.as_text(one) for one in found]
    return [question_sets.as_text(name) for name in result.nodes()["name"].to_list()] if len(result) else []


def _searched(kb: KnowledgeBase, what: str, queries: pl.DataFrame, mode: str) -> Figure:
    def search(row: tuple[str, list[str]]) -> list[str]:
        found: list[str] = kb.search(row[0], 10, mode, quotes=False)["key"].to_list()
        return found

    rows = list(queries.select("text", "answers").iter_rows())
    found = [search(row) for row in rows]
    median, high, _ = times(search, rows)
    first = sum(keys[:1] and keys[0] in answers for keys, (_, answers) in zip(found, rows, strict=True))
    ten = sum(bool({*keys} & {*answers}) for keys, (_, answers) in zip(found, rows, strict=True))
    measured = {"hit@1": first / len(rows), "hit@10": ten / len(rows)}
    return Figure(what, median, p95=high, answers=len(rows), extra={n: round(v, 3) for n, v in measured.items()})
