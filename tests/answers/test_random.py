"""Random expressions on random graphs: all engines agree with the oracle, and set laws hold."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbkit.answers import evaluate as evaluating
from kbkit.answers.parse import parse
from kbkit.errors import KbError
from tests.answers import oracle
from tests.answers.expressions import Writer
from tests.answers.graphs import Case, case
from tests.examples import examples

pytestmark = pytest.mark.system

ENGINES = ("walk", "sql", "sparql")
GRAPHS = 10
REFUSED = "refused"

choices = st.randoms(use_true_random=False)


def expected(made: Case, text: str, slots: dict[str, object]) -> frozenset[oracle.Ref] | str:
    try:
        return oracle.answers(made.graph, text, slots)
    except (oracle.RefusedError, KbError):
        return REFUSED


def found(made: Case, engine: str, text: str, slots: dict[str, object]) -> frozenset[oracle.Ref] | str:
    try:
        return made.answers(text, engine, **slots)
    except KbError as error:
        assert "Error:" not in str(error) and "error at" not in str(error), error  # the engine's, not ours
        return REFUSED


@pytest.mark.parametrize("seed", range(GRAPHS))
@examples(12)
@given(rng=choices)
def test_every_engine_agrees_with_the_oracle(seed: int, rng: random.Random) -> None:
    made = case(seed)
    writer = Writer(rng, made.graph)
    text = writer.expression(4)
    answers = expected(made, text, writer.slots)
    assert {e: found(made, e, text, writer.slots) for e in ENGINES} == dict.fromkeys(ENGINES, answers), text
    if answers != REFUSED:
        tree = parse(text)
        assert parse(str(tree)) == tree
        assert found(made, "walk", str(tree), writer.slots) == answers


@pytest.mark.parametrize("seed", range(GRAPHS))
@examples(20)
@given(rng=choices)
def test_expressions_that_violate_the_schema_are_rejected(seed: int, rng: random.Random) -> None:
    made = case(seed)
    writer = Writer(rng, made.graph, wrong=0.15)
    text = writer.expression(3)
    assert found(made, "walk", text, writer.slots) == expected(made, text, writer.slots), text


@examples(100)
@given(seed=st.integers(0, GRAPHS - 1), rng=choices)
def test_backward_evaluation_gives_the_same_answers(seed: int, rng: random.Random) -> None:
    """No set is small, so that the plans for large graphs are run."""
    made = case(seed)
    writer = Writer(rng, made.graph)
    text = writer.expression(4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluating, "SMALL", 0)
        assert found(made, "walk", text, writer.slots) == expected(made, text, writer.slots), text


LAWS = [
    ("({a}) - (({a}) - ({b}))", "({a}) & ({b})"),
    ("({a}) & ({b})", "({b}) & ({a})"),
    ("(({a}) | ({b})) - ({b})", "({a}) - ({b})"),
    ("({a}) | (({a}) & ({b}))", "({a})"),
    ("({a}) & (({b}) | ({c}))", "(({a}) & ({b})) | (({a}) & ({c}))"),
    ("({a}) - ({b}) - ({c})", "({a}) - (({b}) | ({c}))"),
    ("({a}) - (({b}) & ({c}))", "(({a}) - ({b})) | (({a}) - ({c}))"),
]


@examples(25)
@given(seed=st.integers(0, GRAPHS - 1), law=st.sampled_from(LAWS), rng=choices)
def test_set_laws(seed: int, law: tuple[str, str], rng: random.Random) -> None:
    made = case(seed)
    writer = Writer(rng, made.graph)
    wanted = rng.choice(writer.types)
    parts = {name: writer.of(wanted, 2) for name in "abc"}
    sides = [side.format(**parts) for side in law]
    slots = [{n: v for n, v in writer.slots.items() if f"<{n}>" in side} for side in sides]
    for engine in ENGINES:
        left, right = (found(made, engine, side, given) for side, given in zip(sides, slots, strict=True))
        assert REFUSED in (left, right) or left == right, (engine, sides)


@examples(15)
@given(seed=st.integers(0, GRAPHS - 1), engine=st.sampled_from(ENGINES), rng=choices)
def test_set_laws_in_python(seed: int, engine: str, rng: random.Random) -> None:
    made = case(seed)
    writer = Writer(rng, made.graph)
    wanted = rng.choice(writer.types)
    texts = [writer.of(wanted, 2) for _ in range(3)]
    try:
        a, b, c = (
            made.kb.answers(text, engine=engine, **{n: v for n, v in writer.slots.items() if f"<{n}>" in text})
            for text in texts
        )
        _ = a & b & c
    except KbError:
        return
    whole, others, third = set(a), set(b), set(c)
    assert set(a - b) == whole - others
    assert set(a & b) == set(b & a) == set(a - (a - b)) == whole & others
    assert set(a | b) == whole | others
    assert (a | b) - b == a - b
    assert (a | (a & b)) == a
    assert (a & (b | c)) == ((a & b) | (a & c))
    assert set(a - b - c) == whole - others - third
    assert len(a) == len(whole)
    assert all(node in a for node in whole)
