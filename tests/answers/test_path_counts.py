"""Numbers of paths: against paths that are listed one by one, and where they exceed 64 bits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kbkit
from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase

N = 8
EDGES = {
    "r": [(0, 1), (1, 2), (2, 0), (0, 2), (3, 3), (4, 1), (1, 4), (5, 6), (2, 5), (0, 1)],
    "s": [(1, 0), (2, 2), (6, 3), (4, 5), (0, 1), (5, 1)],
}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """Eight nodes, half of each type, with an attribute ``x``; and a relation with many parallel ways."""
    nodes = pl.DataFrame({"key": [f"k{i}" for i in range(N)], "type": ["a"] * 4 + ["b"] * 4, "x": list(range(N))})
    edges = [(f"k{h}", name, f"k{t}") for name, pairs in EDGES.items() for h, t in pairs]
    edges += [(f"k{h}", "full", f"k{t}") for h in range(N) for t in range(N)]
    frame = pl.DataFrame(edges, ["head", "relation", "tail"], orient="row")
    out = tmp_path_factory.mktemp("paths") / "p.kb"
    with kbkit.from_frames(nodes, frame, out=out, stores=["adjacency"]) as kb:
        yield kb


STEPS = st.lists(
    st.tuples(st.sampled_from(["r", "^r", "s", "^s", "r|s", "full"]), st.sampled_from(["*", "a", "b"]),
              st.sampled_from(["", "{x < 5}", "{x != 2, x > 0}"])),
    min_size=1, max_size=4,
)  # fmt: skip


def allowed(node: int, node_type: str, test: str) -> bool:
    of_type = {"*": True, "a": node < 4, "b": node >= 4}[node_type]
    return of_type and {"": True, "{x < 5}": node < 5, "{x != 2, x > 0}": node not in (0, 2)}[test]


def followed(relation: str) -> set[tuple[str, int, int]]:
    """(relation, from, to) of the distinct pairs of a step."""
    if relation == "full":
        return {("full", h, t) for h in range(N) for t in range(N)}
    names = relation.removeprefix("^").split("|")
    return {(n, t, h) if relation[0] == "^" else (n, h, t) for n in names for h, t in EDGES[n]}


def listed(start: str, steps: list[tuple[str, str, str]]) -> list[tuple[int, ...]]:
    """All paths, one by one."""
    paths = [(node,) for node in range(N) if allowed(node, start, "")]
    for relation, node_type, test in steps:
        pairs = followed(relation)
        paths = [(*p, t) for p in paths for _, h, t in pairs if h == p[-1] and allowed(t, node_type, test)]
    return paths


@given(st.sampled_from(["a", "b", "*", "#k1"]), STEPS)
def test_chains_are_counted_as_listed(small: KnowledgeBase, start: str, steps: list[tuple[str, str, str]]) -> None:
    steps = [(r, t, "" if t == "*" else test) for r, t, test in steps]
    text = start if start != "#k1" else "a#k1"
    text += "".join(f" -> [{relation}] -> {node_type}{test}" for relation, node_type, test in steps)
    try:
        answers = small.answers(text)
    except KbError:
        return  # the types of a step never occur together
    paths = [p for p in listed("*" if start == "#k1" else start, steps) if start != "#k1" or p[0] == 1]
    assert answers.paths() == len(paths)
    for place, by in [(0, "start"), (-1, "end"), *((i, i) for i in range(len(steps) + 1))]:
        frame = answers.paths_by(by)
        expected = Counter(p[place] for p in paths)
        assert dict(zip(frame["id"], frame["paths"], strict=True)) == expected
        assert frame["paths"].to_list() == sorted(expected.values(), reverse=True)
        assert answers.paths_by(by, limit=2).equals(frame.head(2))


@pytest.mark.parametrize(
    ("expression", "by_hand"),
    [
        ("a -> [r] -> a <- [s] <- *", lambda: [(h, t, g) for h, t in meeting("r") for g, u in meeting("s") if u == t]),
        ("(a -> [r] -> a) | (* -> [s] -> a)", lambda: [*meeting("r"), *meeting("s")]),
        ("(a -> [r] -> a) - (b -> [s] -> a)", lambda: [p for p in meeting("r") if p[1] not in (1, 3)]),
        ("(a -> [r] -> a){x > 0}", lambda: [p for p in meeting("r") if p[1] > 0]),
    ],
)
def test_sets_of_paths(small: KnowledgeBase, expression: str, by_hand: object) -> None:
    paths = by_hand()  # type: ignore[operator]
    assert len(paths) > 0
    answers = small.answers(expression)
    assert answers.paths() == len(paths)
    ends = Counter(p[1] for p in paths)
    frame = answers.paths_by("end")
    assert dict(zip(frame["id"], frame["paths"], strict=True)) == ends


def meeting(relation: str) -> list[tuple[int, int]]:
    """Distinct pairs that end in an a; for ``r`` they start there too."""
    return sorted({(h, t) for h, t in EDGES[relation] if t < 4 and (relation == "s" or h < 4)})


def test_numbers_of_64_bits_and_more(small: KnowledgeBase) -> None:
    """8**20 is 2**60: the total of 21 steps exceeds 2**63, each node's count does not; then it does."""

    def chain(steps: int) -> str:
        return "*" + " -> [full] -> *" * steps

    assert small.answers(chain(20)).paths() == 8**21
    assert small.answers(chain(20)).paths_by("end")["paths"].to_list() == [8**20] * 8
    with pytest.raises(KbError, match=r"About 9.2e\+18 paths meet at one node: more than 2\*\*63"):
        small.answers(chain(21)).paths_by("end")
    with pytest.raises(KbError, match=r"paths of .r\*. cannot be counted"):
        small.answers("a -> [r*] -> a").paths()
    with pytest.raises(
        KbError, match=r"Invalid node of a path: 'middle'\. Use start, end, or a number of steps from 0 to 1"
    ):
        small.answers("a -> [r] -> a").paths_by("middle")
