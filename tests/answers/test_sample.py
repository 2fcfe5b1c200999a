"""``kb.sample`` and ``kb.suggest_templates`` against brute force: all groundings, counts, how often each comes."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import combinations, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import kbkit
from kbkit.answers import parse, syntax
from kbkit.answers import templates as catalogue
from kbkit.answers.sample import draw_sets
from kbkit.answers.sample_sets import AnswerSets, SampleRequest, matrix_of, splitmix64
from kbkit.answers.templates import Template
from kbkit.errors import KbError
from kbkit.ingestion.generate import generate
from kbkit.kb import KnowledgeBase
from tests.loops import each
from tests.wording import Wording

Set = frozenset[int]
ALL = 100_000  # groundings: more than there are


@pytest.fixture(scope="module")
def mag(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """A small KB in the shape of STaRK-MAG."""
    folder = tmp_path_factory.mktemp("mag")
    generate("mag", folder, scale=0.001, seed=7, texts=False)
    kbkit.ingest("table", folder, out=folder / "mag.kb", stores=["adjacency"]).close()
    with kbkit.open(folder / "mag.kb") as kb:
        yield kb


def sets_of(kb: KnowledgeBase, part: str) -> dict[str, Set]:
    """For every value (``#key``) of a part's only slot: its answers, empty ones too."""
    return _sets_of(kb, part)


@lru_cache(None)
def _sets_of(kb: KnowledgeBase, part: str) -> dict[str, Set]:
    nodes = [p for p in syntax.subtrees(parse(part)) if isinstance(p, syntax.Nodes)]
    [start] = {(p.type, p.selector.name) for p in nodes if isinstance(p.selector, syntax.Slot)}
    values = [f"#{key}" for key in kb.answers(syntax.identifier(start[0])).nodes()["key"]]
    return {value: frozenset(kb.answers(part, **{start[1]: value}).ids.tolist()) for value in values}


def drawn(frame: pl.DataFrame, *slots: str) -> dict[tuple[str, ...], int]:
    """Groundings and their counts; they are distinct."""
    found = {tuple(row[slot] for slot in slots): row["answers"] for row in frame.to_dicts()}
    assert len(found) == frame.height
    return found


# -- one draw ---------------------------------------------------------------------------------------------------------

SHAPES = [
    "language:<a> -> country",
    "continent:<a> -> country <- language:<b>",
    "continent:<a> -> country & language:<b> -> country & organisation:<c> -> country",
    "(organisation:<a> -> country) - (organisation:<b> -> country)",
    "(organisation:<a> -> country) | (language:<b> -> country)",
    "(country:<a> -> [borders] -> country -> [borders] -> country) - country:<a>",
    "((country:<a> -> [borders] -> country) & (language:<b> -> country)) - country:<a>",
    "(continent:'Europe' -> country) & (organisation:<a> -> country){area_km2 > 100000}",
    "((continent:<a> -> country) & (language:<b> -> country)) -> [borders] -> country",
    "(continent:<a> -> country){name contains 'a'} & (sea:<b> -> country)",
    "sea:<a> -> country <- sea:<b>",
]


@pytest.mark.parametrize("expression", SHAPES)
def test_draws(world: KnowledgeBase, expression: str) -> None:
    slots = syntax.slots(parse(expression))
    frame = world.sample(expression, 7, seed=3, min_answers=2, max_answers=9)
    assert frame.columns == [c for s in slots for c in (s, f"{s} name")] + ["expression", "question", "answers"]
    assert frame.schema["answers"] == pl.Int64
    assert 3 <= frame.height <= 7
    assert len(drawn(frame, *slots)) == frame.height
    for row in frame.to_dicts():
        answers = world.answers(expression, **{slot: row[slot] for slot in slots})
        assert row["answers"] == len(answers)
        assert 2 <= len(answers) <= 9
        assert world.answers(row["expression"]) == answers
        for part in syntax.subtrees(parse(expression)):
            if isinstance(part, syntax.Nodes) and isinstance(part.selector, syntax.Slot):
                assert world.node(f"{part.type}{row[part.selector.name]}").name == row[f"{part.selector.name} name"]
    again = world.sample(expression, 7, seed=3, min_answers=2, max_answers=9)
    assert again.equals(frame)
    others = [world.sample(expression, 7, seed=seed, min_answers=2, max_answers=9) for seed in (4, 5)]
    assert not all(other.equals(frame) for other in others)


def test_defaults(world: KnowledgeBase) -> None:
    frame = world.sample("country:<a> -> [borders] -> country")
    assert frame.height == 10
    assert frame.equals(world.sample("country:<a> -> [borders] -> country", 10, 0, 1, 20, "uniform"))
    template = Template("x/y", "country:<a> -> [borders] -> country", "country", "Beside <a>, not <A>?")
    row = world.sample(template, 1).to_dicts()[0]
    assert row["question"] == f"Beside {row['a name']}, not <A>?"


def test_a_reopened_kb_draws_the_same(world: KnowledgeBase, world_kb: Path) -> None:
    expression = "continent:<a> -> country <- language:<b>"
    with kbkit.open(world_kb) as kb:
        assert kb.sample(expression, 9, seed=5, weight="popular").equals(
            world.sample(expression, 9, seed=5, weight="popular")
        )


# -- all there are ----------------------------------------------------------------------------------------------------

Combine = Callable[..., Set | None]
CONTINENT, LANGUAGE, MEMBER, COAST = (
    "continent:<s> -> country", "language:<s> -> country", "organisation:<s> -> country", "sea:<s> -> country",
)  # fmt: skip
BESIDE = "country:<s> -> [borders] -> country"


def both(a: Set, b: Set, whole: Set) -> Set | None:
    """Sides of ``|`` and ``-`` have something in common."""
    return whole if a & b else None


EXHAUSTIVE: dict[str, tuple[list[str], Combine]] = {
    "continent:<a> -> country": ([CONTINENT], lambda a: a),
    "(continent:<a> -> country) - (language:'French' -> country)": (
        ["(continent:<s> -> country) - (language:'French' -> country)"], lambda a: a,
    ),
    "country:<a> -> [borders] -> country -> [borders] -> country - country:<a>": (
        ["(country:<s> -> [borders] -> country -> [borders] -> country) - country:<s>"], lambda a: a,
    ),
    "continent:<a> -> country <- language:<b>": ([CONTINENT, LANGUAGE], lambda a, b: a & b),
    "continent:<a> -> country & language:<b> -> country & sea:<c> -> country": (
        [CONTINENT, LANGUAGE, COAST], lambda a, b, c: a & b & c,
    ),
    "(continent:<a> -> country) - (language:<b> -> country)": (
        [CONTINENT, LANGUAGE], lambda a, b: both(a, b, a - b),
    ),
    "(continent:<a> -> country) | (language:<b> -> country)": (
        [CONTINENT, LANGUAGE], lambda a, b: both(a, b, a | b),
    ),
    "((continent:<a> -> country) | (language:<b> -> country)) & (sea:<c> -> country)": (
        [CONTINENT, LANGUAGE, COAST], lambda a, b, c: both(a, b, (a | b) & c),
    ),
    "(continent:<a> -> country) & (language:<b> -> country) - (sea:<c> -> country)": (
        [CONTINENT, LANGUAGE, COAST], lambda a, b, c: both(b, c, a & (b - c)),
    ),
    "((continent:<a> -> country) & (language:<b> -> country)) - (sea:<c> -> country)": (
        [CONTINENT, LANGUAGE, COAST], lambda a, b, c: both(a & b, c, (a & b) - c),
    ),
    "(continent:<a> -> country) & (language:<b> -> country){area_km2 > 100000} & country{name contains 'a'}": (
        ["(continent:<s> -> country){area_km2 > 100000}", "(language:<s> -> country){name contains 'a'}"],
        lambda a, b: a & b,
    ),
}  # fmt: skip
STARTS: dict[str, tuple[list[str], Callable[[Any], Combine]]] = {
    "((continent:<a> -> country) & (language:<b> -> country)) -> [borders] -> country": (
        [CONTINENT, LANGUAGE], lambda near: lambda a, b: near(a & b),
    ),
    "((continent:<a> -> country) - (language:<b> -> country)) -> [borders] -> country": (
        [CONTINENT, LANGUAGE], lambda near: lambda a, b: both(a, b, near(a - b)),
    ),
    "((continent:<a> -> country) & (language:<b> -> country)) -> [borders] -> country <- organisation:'NATO'": (
        [CONTINENT, LANGUAGE], lambda near: lambda a, b: near(a & b) & near.members,
    ),
    "((continent:<a> -> country) & (language:<b> -> country)){area_km2 > 100000}": (
        [CONTINENT, LANGUAGE], lambda near: lambda a, b: a & b & near.large,
    ),
}  # fmt: skip


class Near:
    """Further sets of the world KB that some cases need."""

    def __init__(self, kb: KnowledgeBase) -> None:
        by_key = sets_of(kb, BESIDE)
        self.beside = {kb.find(f"country{value}"): found for value, found in by_key.items()}
        self.members = frozenset(kb.answers("organisation:'NATO' -> country"))
        self.large = frozenset(kb.answers("country{area_km2 > 100000}"))

    def __call__(self, ids: Set) -> Set:
        return frozenset().union(*(self.beside[i] for i in ids))


def groundings(kb: KnowledgeBase, parts: list[str], whole: Combine) -> dict[tuple[str, ...], int]:
    """How many answers each combination of values has."""
    tables = [sets_of(kb, part) for part in parts]
    found = {}
    for values in product(*tables):
        answers = whole(*(table[value] for table, value in zip(tables, values, strict=True)))
        if answers is not None:
            found[values] = len(answers)
    return found


def between(counts: dict[Any, int], low: int, high: int) -> dict[Any, int]:
    return {values: count for values, count in counts.items() if low <= count <= high}


def expected(kb: KnowledgeBase, parts: list[str], whole: Combine, low: int, high: int) -> dict[tuple[str, ...], int]:
    return between(groundings(kb, parts, whole), low, high)


FREE = "((continent:<a> -> country) & (language:<b> -> country)) -> [borders] -> country <- organisation:'NATO'"


@pytest.mark.parametrize(
    "expression",
    [*EXHAUSTIVE, *STARTS],
)
def test_everything_is_drawn(world: KnowledgeBase, expression: str) -> None:
    if expression in EXHAUSTIVE:
        parts, whole = EXHAUSTIVE[expression]
    else:
        parts, make = STARTS[expression]
        whole = make(Near(world))
    counts = groundings(world, parts, whole)
    for low, high in ((1, 3), (4, 1000)):
        frame = world.sample(expression, ALL, min_answers=low, max_answers=high)
        wanted = between(counts, low, high)
        assert wanted or high < 100
        assert drawn(frame, *"abc"[: len(parts)]) == wanted
        fewer = world.sample(expression, 5, seed=1, min_answers=low, max_answers=high, weight="popular")
        assert fewer.height == min(5, len(wanted))
        assert drawn(fewer, *"abc"[: len(parts)]).items() <= wanted.items()


def brute(kb: KnowledgeBase, expression: str, low: int, high: int, types: dict[str, str]) -> dict[Any, int]:
    """All groundings of any expression, by ``kb.answers`` over all values of its slots."""
    return between(_brute(kb, expression, tuple(types.items())), low, high)


@lru_cache(None)
def _brute(kb: KnowledgeBase, expression: str, slots: tuple[tuple[str, str], ...]) -> dict[Any, int]:
    types = dict(slots)
    values = [[f"#{key}" for key in kb.answers(t).nodes()["key"]] for t in types.values()]
    rows = list(product(*values))
    many = kb.answers_many(expression, {slot: [row[i] for row in rows] for i, slot in enumerate(types)})
    counts = Counter(many["binding"].to_list())
    for i in range(0, len(rows), max(1, len(rows) // 50)):
        assert counts[i] == len(kb.answers(expression, **dict(zip(types, rows[i], strict=True))))
    return {row: counts[i] for i, row in enumerate(rows)}


def inner(expression: str, types: str, low: int, high: int) -> Any:
    return pytest.param(expression, dict(zip("abc", types.split(), strict=False)), low, high)


TWO = "((continent:<a> -> country) & (continent:<b> -> country))"
WITHOUT = "((continent:<a> -> country) & (country:<b> -> [borders*] -> country))"
INNER = [
    inner(f"({TWO} -> [borders] -> country) & (sea:<c> -> country)", "continent continent sea", 1, 1000),
    inner(f"({WITHOUT} - country:<b>) & (year:<c> -> country)",
          "continent country year", 2, 1000),
    inner(f"({WITHOUT} - country:<b>) & (year:<c> -> country)",
          "continent country year", 1, 1),
    inner("((continent:<a> -> country){area_km2 > 500000} & (continent:<b> -> country)){name contains 'a'}",
          "continent continent", 1, 1000),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "types", "low", "high"), INNER)
def test_nested_shapes_are_drawn_in_full(
    world: KnowledgeBase, expression: str, types: dict[str, str], low: int, high: int
) -> None:
    wanted = brute(world, expression, low, high, types)
    options = {"min_answers": low, "max_answers": high}
    assert wanted
    assert drawn(world.sample(expression, ALL, **options, distinct=False), *types) == wanted
    distinct = {nodes: count for nodes, count in wanted.items() if len(set(nodes)) == len(nodes)}
    assert drawn(world.sample(expression, ALL, **options), *types) == distinct


CRASHES = [
    "(continent:'Asia' -> country) & ((sea:<a> -> country) | (language:<b> -> country))",
    "(continent:'Asia' -> country) - ((sea:<a> -> country) & (language:<b> -> country))",
    "(continent:'Asia' -> country) - (sea:<a> -> country) - (language:<b> -> country)",
    "country - ((sea:<a> -> country) & (language:<b> -> country))",
    "((sea:<a> -> country) & (language:<b> -> country)) -> [!borders] -> country",
]


@pytest.mark.parametrize("expression", CRASHES)
def test_sides_without_slots(world: KnowledgeBase, expression: str) -> None:
    """They are drawn, or refused with an error for users."""
    try:
        frame = world.sample(expression, 5, max_answers=1000)
    except KbError:
        return
    for row in each(frame.to_dicts()):
        assert row["answers"] == len(world.answers(expression, a=row["a"], b=row["b"]))


@pytest.mark.parametrize(
    ("expression", "low", "high"),
    [
        ("country:<a> -> [borders*] -> country", 1, 1),
        ("country:<a> | (country:<a> -> [borders] -> country)", 1, 1),
        ("country:<a> -> [!borders] -> country", 197, 197),
        ("country:<a> -> [borders] -> country", 0, 0),
    ],
)
def test_nodes_without_edges_qualify(world: KnowledgeBase, expression: str, low: int, high: int) -> None:
    frame = world.sample(expression, ALL, min_answers=low, max_answers=high)
    wanted = brute(world, expression, low, high, {"a": "country"})
    assert len(wanted) > 30
    assert drawn(frame, "a") == wanted


def test_groundings_without_answers(world: KnowledgeBase) -> None:
    """Of one slot; of pairs nearly all have none, so that they are refused."""
    assert world.sample("country:<a> -> [borders] -> country", 5, min_answers=0, max_answers=0).height == 5
    with pytest.raises(KbError):
        world.sample("continent:<a> -> country <- language:<b>", 5, min_answers=0, max_answers=0)


def test_one_slot_used_twice(world: KnowledgeBase) -> None:
    expression = "(country:<a> -> language -> country) & (country:<a> -> [borders] -> country)"
    frame = world.sample(expression, ALL, min_answers=2, max_answers=3)
    assert drawn(frame, "a") == brute(world, expression, 2, 3, {"a": "country"})


def test_nothing_qualifies(world: KnowledgeBase) -> None:
    for expression in ("country:<a> -> [borders] -> country", "continent:<a> -> country <- language:<b>", "mag/x"):
        template = Template("quest/x", "{A} & {B}", "") if expression == "mag/x" else expression
        frame = world.sample(template, 5, min_answers=196, max_answers=196, parts=["continent:<a> -> country"])
        slots = syntax.slots(parse(expression)) if "<" in expression else ["A", "B"]
        columns = [c for s in slots for c in (s, f"{s} name")]
        text = dict.fromkeys([*columns, "expression", "question"], pl.String)
        assert (frame.height, dict(frame.schema)) == (0, {**text, "answers": pl.Int64})


@pytest.mark.parametrize("slots", [("question", "b"), ("answers", "b"), ("a", "a name"), ("expression", "b")])
def test_slots_named_like_columns(world: KnowledgeBase, slots: tuple[str, str]) -> None:
    expression = "continent:<{}> -> country <- language:<{}>".format(*slots)
    assert world.sample(expression, 2).height == 2


# -- chance -----------------------------------------------------------------------------------------------------------


def fits(counts: Counter[Any], chances: dict[Any, float]) -> bool:
    """Chi-square, five standard deviations wide."""
    total, whole = sum(counts.values()), sum(chances.values())
    wanted = {key: total * chance / whole for key, chance in chances.items()}
    assert counts.keys() <= wanted.keys()
    assert min(wanted.values()) > 4
    freedom = len(wanted) - 1
    found = sum((counts[key] - mean) ** 2 / mean for key, mean in wanted.items())
    return found < freedom + 5 * math.sqrt(2 * freedom)


def often(kb: KnowledgeBase, expression: str | Template, slots: str, seeds: int, **options: Any) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for seed in range(seeds):
        found.update(drawn(kb.sample(expression, seed=seed, **options), *slots).keys())
    return found


DEGREE = {
    "continent:<a> -> country": ([CONTINENT], 1, 100),
    "continent:<a> -> country <- organisation:<b>": ([CONTINENT, MEMBER], 25, 54),
    "(organisation:<a> -> country) - (continent:<b> -> country)": ([MEMBER, CONTINENT], 2, 3),
}


@pytest.mark.parametrize("expression", DEGREE)
def test_no_grounding_is_favoured(world: KnowledgeBase, expression: str) -> None:
    parts, low, high = DEGREE[expression]
    whole = {" <- ": lambda a, b: a & b, " - ": lambda a, b: both(a, b, a - b)}
    combine = next((f for sign, f in whole.items() if sign in expression), lambda a: a)
    wanted = expected(world, parts, combine, low, high)
    slots = "ab"[: len(parts)]
    assert 5 < len(wanted) < 100
    counts = often(world, expression, slots, 100, n=3, min_answers=low, max_answers=high)
    assert fits(counts, dict.fromkeys(wanted, 1.0))


@pytest.mark.parametrize("expression", DEGREE)
def test_popular_nodes_are_favoured(world: KnowledgeBase, expression: str) -> None:
    """The first one is drawn in proportion to the degrees of its slots' nodes."""
    parts, low, high = DEGREE[expression]
    whole = {" <- ": lambda a, b: a & b, " - ": lambda a, b: both(a, b, a - b)}
    combine = next((f for sign, f in whole.items() if sign in expression), lambda a: a)
    tables = [sets_of(world, part) for part in parts]
    wanted = expected(world, parts, combine, low, high)
    chances = {v: math.prod(len(t[k]) for t, k in zip(tables, v, strict=True)) for v in wanted}
    counts = often(world, expression, "ab"[: len(parts)], 200, n=1, weight="popular", min_answers=low, max_answers=high)
    few = {v for v, chance in chances.items() if 200 * chance / sum(chances.values()) <= 5}
    assert sum(counts[v] for v in few) <= 8 * len(few)
    kept = Counter({v: n for v, n in counts.items() if v not in few})
    assert fits(kept, {v: chance for v, chance in chances.items() if v not in few})


# -- errors -----------------------------------------------------------------------------------------------------------

SHARED = "(continent:<a> -> country <- language:<b>) & (country:<c> -> [borders] -> country <- language:<b>)"
CITIES = "country:<a> -> city"
ERRORS: list[tuple[str, dict[str, Any], str]] = [
    (CITIES, {"n": 0}, "0"),
    (CITIES, {"n": -3}, "-3"),
    (CITIES, {"seed": -1}, "-1"),
    (CITIES, {"min_answers": 3, "max_answers": 2}, "3 to 2"),
    (CITIES, {"min_answers": -1}, "-1 to 20"),
    (CITIES, {"max_answers": 0}, "1 to 0"),
    (CITIES, {"weight": "popularity"}, "'popularity'"),
    (CITIES, {"constraints": {"union_sides": 3}}, "'union_sides'"),
    ("country{area_km2 > <a>}", {}, "<a>"),
    ("country:<b>{area_km2 > <a>}", {}, "<a>"),
    ("country <- [borders] <- country", {}, "<slot>"),
    ("country:'France' -> city", {}, "template"),
    ("country:<a> -> moutain", {}, "'moutain'"),
    (SHARED, {}, "share a slot"),
    ("quest/union", {}, "'category'"),
    ("quest/union", {"parts": ["country -> city"]}, "0 slots"),
    ("quest/union", {"parts": ["country:<a>{area_km2 > <b>}"]}, "2 slots"),
    ("quest/union", {"parts": ["country:<a> ->"]}, "Column 15"),
    ("mag/autor", {}, "'mag/autor'"),
]


@pytest.mark.core
@pytest.mark.parametrize(("expression", "options", "fact"), ERRORS)
def test_errors(world: KnowledgeBase, expression: str, options: dict[str, Any], fact: str, wording: Wording) -> None:
    with pytest.raises(KbError) as caught:
        world.sample(expression, **options)
    assert fact in str(caught.value)
    assert "\n" not in str(caught.value)
    wording(str(caught.value))


# -- the set shapes of QUEST ------------------------------------------------------------------------------------------

OPEN = {
    "intersection_sides_over": 0, "difference_sides_over": 0, "difference_left_under": 10**6,
    "difference_right_under": 10**6, "difference_overlap_at_most": 1, "union_sides_from": 1, "union_overlap_under": 2,
}  # fmt: skip
DEFAULT = {
    "intersection_sides_over": 50, "difference_sides_over": 50, "difference_left_under": 200,
    "difference_right_under": 1000, "difference_overlap_at_most": 0.8, "union_sides_from": 3,
    "union_overlap_under": 1 / 3,
}  # fmt: skip
CURRENCY = "currency:<s> -> country"
ORG, FIELD, SCHOOL = "organisation:<o> -> country", "field_of_study:<f> -> paper", "institution:<i> -> author -> paper"


@lru_cache(None)
def masks(kb: KnowledgeBase, parts: tuple[str, ...]) -> dict[str, int]:
    """Every filled part, as an expression writes it, with its answers as bits."""
    found = {}
    for part in parts:
        [slot] = syntax.slots(parse(part))
        for value, ids in sets_of(kb, part).items():
            if ids:
                found[str(syntax.fill(parse(part), {slot: value}))] = sum(1 << i for i in ids)
    return found


def joined(op: str, a: int, b: int, rules: dict[str, float]) -> int:
    """What ``op`` makes of two sets, 0 where QUEST's rules forbid it."""
    left, right, common = a.bit_count(), b.bit_count(), (a & b).bit_count()
    if not common:
        return 0
    if op == "&":
        return a & b if min(left, right) > rules["intersection_sides_over"] else 0
    if op == "|":
        fine = min(left, right) >= rules["union_sides_from"]
        return a | b if fine and common < rules["union_overlap_under"] * (a | b).bit_count() else 0
    fine = min(left, right) > rules["difference_sides_over"]
    fine = fine and left < rules["difference_left_under"] and right < rules["difference_right_under"]
    return a & ~b if fine and common <= rules["difference_overlap_at_most"] * left else 0


def quest(
    table: dict[str, int], shape: str, rules: dict[str, float], low: int, high: int
) -> dict[tuple[str, ...], int]:
    """All groundings of a shape, every order of its parts for itself."""
    first, then = {"union": "| ", "intersection": "& ", "difference": "- ", "union_of_three": "||",
                   "intersection_of_three": "&&", "intersection_minus": "&-"}[shape]  # fmt: skip
    found = {(a, b): joined(first, table[a], table[b], rules) for a, b in permutations(table, 2)}
    if then != " ":
        pairs = {names: bits for names, bits in found.items() if bits}
        found = {
            (*names, c): joined(then, bits, table[c], rules)
            for names, bits in pairs.items()
            for c in table
            if c not in names
        }
    return {names: bits.bit_count() for names, bits in found.items() if low <= bits.bit_count() <= high and bits}


def unordered(shape: str, names: tuple[str, ...]) -> Any:
    """A grounding without regard to the order of sides that may be exchanged."""
    if shape == "difference":
        return names
    return (frozenset(names[:2]), names[2]) if shape == "intersection_minus" else frozenset(names)


def names_of(row: dict[str, Any]) -> tuple[str, ...]:
    """The parts of a drawn expression, in its order."""
    return tuple(re.findall(r"\(([^()]+)\)", row["expression"]))


def check_quest(
    kb: KnowledgeBase, shape: str, parts: list[str], rules: dict[str, float], low: int, high: int, **options: Any
) -> int:
    """All there are, each once, with a right count, and written in an order that meets the rules."""
    frame = kb.sample(f"quest/{shape}", ALL, max_answers=high, parts=parts, **options)
    wanted = quest(masks(kb, tuple(parts)), shape, rules, low, high)
    found = {names_of(row): row["answers"] for row in frame.to_dicts()}
    assert len(found) == frame.height
    assert found.items() <= wanted.items()
    once = [unordered(shape, names) for names in found]
    assert len(set(once)) == len(once)
    assert set(once) == {unordered(shape, names) for names in wanted}
    for row in frame.head(3).to_dicts():
        assert len(kb.answers(row["expression"])) == row["answers"]
        assert row["question"].count(row["A name"]) >= 1
        assert row["A"].startswith("#")
        assert "<" not in row["question"]
    return frame.height


@pytest.mark.parametrize("parts", [[FIELD], [FIELD, SCHOOL]])
@pytest.mark.parametrize("shape", ["union", "intersection", "difference"])
def test_default_rules(mag: KnowledgeBase, shape: str, parts: list[str]) -> None:
    assert check_quest(mag, shape, parts, DEFAULT, 2, 60) or shape != "intersection"
    check_quest(mag, shape, parts, DEFAULT, 20, 1000, min_answers=20)


@pytest.mark.parametrize(
    "shape",
    ["union_of_three", "intersection_minus", pytest.param("intersection_of_three", marks=pytest.mark.system)],
)
def test_default_rules_of_three(mag: KnowledgeBase, world: KnowledgeBase, shape: str) -> None:
    check_quest(mag, shape, [FIELD], DEFAULT, 2, 30)
    if shape == "intersection_minus":
        assert check_quest(world, shape, [ORG], DEFAULT, 2, 20)
    if shape != "intersection_of_three":
        assert check_quest(world, shape, [CONTINENT, CURRENCY], OPEN, 2, 100, constraints=OPEN)


RULES = {
    "union": [{"union_sides_from": 9}, {"union_overlap_under": 0.2}],
    "intersection": [{"intersection_sides_over": 20}],
    "difference": [
        {"difference_sides_over": 12},
        {"difference_left_under": 20},
        {"difference_right_under": 20},
        {"difference_overlap_at_most": 0.25},
    ],
    "intersection_minus": [{"intersection_sides_over": 20}, {"difference_left_under": 5}],
}


@pytest.mark.parametrize(("shape", "changed"), [(shape, rule) for shape, rules in RULES.items() for rule in rules])
def test_each_rule_alone(world: KnowledgeBase, shape: str, changed: dict[str, float]) -> None:
    rules = {**OPEN, **changed}
    some = check_quest(world, shape, [ORG], rules, 2, 12, constraints=rules)
    everything = quest(masks(world, (ORG,)), shape, OPEN, 2, 12)
    assert some < len({unordered(shape, names) for names in everything})


def test_single_parts(world: KnowledgeBase) -> None:
    frame = world.sample("quest/single", ALL, parts=[CONTINENT, ORG], max_answers=30)
    table = masks(world, (CONTINENT, ORG))
    wanted = {text: bits.bit_count() for text, bits in table.items() if 2 <= bits.bit_count() <= 30}
    assert dict(frame.select("expression", "answers").iter_rows()) == wanted
    assert frame.columns == ["A", "A name", "expression", "question", "answers"]


def test_enough_are_drawn_where_most_pairs_are_of_a_part_with_itself(world: KnowledgeBase) -> None:
    rules = {**OPEN}
    currency = ["currency:<c> -> country"]
    there = world.sample("quest/intersection", ALL, min_answers=1, parts=currency, constraints=rules).height
    assert there > 5
    for seed in range(20):
        frame = world.sample("quest/intersection", 1, seed=seed, min_answers=1, parts=currency, constraints=rules)
        assert frame.height == 1


def test_no_three_sets_are_favoured(world: KnowledgeBase) -> None:
    """Of a chain (A and C have nothing in common) fewer orders qualify than of three sets that all overlap."""
    every = quest(masks(world, (CONTINENT, COAST)), "union_of_three", OPEN, 2, 12)
    orders = Counter(frozenset(names) for names in every)
    assert set(orders.values()) == {4, 6}
    share = sum(n == 4 for n in orders.values()) / len(orders)
    chains = 0
    for seed in range(10):
        frame = world.sample(
            "quest/union_of_three", 200, seed, parts=[CONTINENT, COAST], max_answers=12, constraints=OPEN
        )
        chains += sum(orders[frozenset(names_of(row))] == 4 for row in frame.to_dicts())
    assert abs(chains / 2000 - share) < 0.05


@pytest.mark.parametrize("expression", ["{A} - {B} - {C}", "{A} - ({B} | {C})"])
def test_custom_shapes(world: KnowledgeBase, expression: str) -> None:
    template = Template("mine/x", expression, "country", parts=(ORG,))
    frame = world.sample(template, ALL, min_answers=3, max_answers=3, constraints=OPEN)
    table = masks(world, (ORG,))
    wanted = set()
    for a, b, c in permutations(table, 3):
        left = joined("-", table[a], table[b], OPEN)
        bits = joined("-", left, table[c], OPEN)
        if "|" in expression:
            bits = joined("-", table[a], joined("|", table[b], table[c], OPEN), OPEN)
        if bits.bit_count() == 3:
            wanted.add((a, frozenset((b, c))) if "|" in expression else (a, b, c))
    rows = [names_of(row) for row in frame.to_dicts()]
    found = {(a, frozenset((b, c))) if "|" in expression else (a, b, c) for a, b, c in rows}
    assert found <= wanted
    assert len(rows) == len(found) == len(wanted)


@pytest.mark.parametrize(
    "expression",
    ["({A} & {B}){area_km2 > 100000}", "{A} & country{area_km2 > 100000}", "{A} -> [borders] -> country", "{A} & {A}"],
)
def test_shapes_of_more_than_parts(world: KnowledgeBase, expression: str) -> None:
    """They are drawn, or refused with an error that makes sense."""
    template = Template("mine/x", expression, "country", parts=(CONTINENT,))
    try:
        frame = world.sample(template, 5, max_answers=100, constraints=OPEN)
    except KbError as error:
        assert "@" not in str(error)
        return
    for row in frame.to_dicts():
        assert len(world.answers(row["expression"])) == row["answers"]


def test_a_part_with_a_filter(world: KnowledgeBase) -> None:
    part = "continent:<c> -> country{area_km2 > 500000}"
    frame = world.sample("quest/single", 20, parts=[part], max_answers=100)
    assert dict(drawn(frame, "A")) == {(v,): len(ids) for v, ids in sets_of(world, part).items() if len(ids) >= 2}


# -- suggestions ------------------------------------------------------------------------------------------------------


@pytest.fixture(
    params=["small", pytest.param("world", marks=pytest.mark.system), pytest.param("mag", marks=pytest.mark.system)]
)
def any_kb(request: pytest.FixtureRequest) -> KnowledgeBase:
    return request.getfixturevalue(request.param)


def test_suggestions(any_kb: KnowledgeBase, tmp_path: Path) -> None:
    frame = any_kb.suggest_templates(25)
    assert frame.columns == ["template", "expression", "answer", "question", "groundings"]
    assert 10 < frame.height <= 25
    assert frame.equals(any_kb.suggest_templates(25))
    assert frame.head(5).equals(any_kb.suggest_templates(5))
    assert frame["groundings"].is_sorted(descending=True)
    assert frame["template"].n_unique() == frame["expression"].n_unique() == frame.height
    for row in frame.to_dicts():
        slots = syntax.slots(parse(row["expression"]))
        assert set(re.findall(r"<([^<>]+)>", row["question"])) == set(slots)
        template = Template("x/" + row["template"], row["expression"], row["answer"])
        assert catalogue.misfit(template, any_kb.schema) == ""
        starts = [p for p in syntax.subtrees(parse(row["expression"])) if isinstance(p, syntax.Nodes) and p.selector]
        types = {p.selector.name: syntax.identifier(p.type) for p in starts}
        sizes = [len(any_kb.answers(t)) for t in types.values()]
        if math.prod(sizes) < 50_000:
            true = len(quick(any_kb, row["expression"], types))
            near = 0 if sizes[0] <= 500 else 2 + 0.1 * true
            assert abs(true - row["groundings"]) <= near, row["expression"]
    path = tmp_path / "mine.toml"
    catalogue.write(frame, path, "Mine")
    again = catalogue.load(path)
    assert [t.expression for t in again] == frame["expression"].to_list()
    assert [t.id for t in again] == [f"mine/{name}" for name in frame["template"]]


def quick(kb: KnowledgeBase, expression: str, types: dict[str, str]) -> list[int]:
    rows = list(product(*(kb.answers(t).ids.tolist() for t in types.values())))
    many = kb.answers_many(expression, {slot: [row[i] for row in rows] for i, slot in enumerate(types)})
    return [n for n in Counter(many["binding"].to_list()).values() if n <= 20]


def test_suggestions_where_relations_go_both_ways(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("key,type\na,x\nb,y\nc,y\n", encoding="utf-8")
    (tmp_path / "edges.csv").write_text("head,relation,tail\na,r,b\nb,r,a\nc,r,a\n", encoding="utf-8")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "both.kb", stores=["adjacency"]) as kb:
        frame = kb.suggest_templates(100)
    assert frame["template"].n_unique() == frame.height
    assert frame["expression"].n_unique() == frame.height


def test_suggestions_have_their_own_ids(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("key,type\na,x\nb,y\n", encoding="utf-8")
    (tmp_path / "edges.csv").write_text("head,relation,tail\na,is part of,b\na,is-part-of,b\n", encoding="utf-8")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "names.kb", stores=["adjacency"]) as kb:
        assert kb.suggest_templates(100)["template"].is_unique().all()


@pytest.mark.parametrize("weight", ["uniform", "popular"])
def test_each_set_of_three_is_drawn_once(weight: str) -> None:
    """Also with popularities whose products depend on the order of the factors in the last bit."""
    rng = np.random.default_rng(5)
    members = [np.flatnonzero(rng.random(40) < 0.4).astype(np.int32) for _ in range(9)]
    sizes, rows = np.array([len(one) for one in members]), np.arange(9)
    sets = AnswerSets(
        ("x",), rows[:, None].astype(np.int32), np.zeros((9, 1), np.int32), 1 / (3 + 7 * rows), sizes,
        splitmix64(rows.astype(np.uint64)), matrix_of(sizes, np.concatenate(members), 40),
    )  # fmt: skip
    skeleton = syntax.Combine("&", tuple(syntax.SavedSet(letter) for letter in "abc"))
    found = draw_sets(sets, skeleton, SampleRequest(count=10_000, min_answers=1, max_answers=40, weight=weight))
    wanted = {
        three: len(set.intersection(*(set(members[i].tolist()) for i in three))) for three in combinations(range(9), 3)
    }
    drawn_rows = [tuple(sorted(row)) for row in found.values.tolist()]
    assert sorted(drawn_rows) == sorted(three for three, count in wanted.items() if count)
    assert found.answers.tolist() == [wanted[three] for three in drawn_rows]
