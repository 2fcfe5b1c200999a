"""Answer expressions whose answers are known: every rule of the algebra, by brute force and on all three engines."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import kbkit
from kbkit.answers.parse import parse
from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase
from tests.answers import oracle
from tests.answers.graphs import build
from tests.places import TESTS

ENGINES = ("walk", "sql", "sparql")
REFUSED = "refused"


def read(name: str) -> Iterator[tuple[str, dict[str, str], set[str] | str]]:
    """Expression, slots and expected references of each case in a file."""
    text = (TESTS / "answers" / name).read_text(encoding="utf-8")
    for line in text.split("\n"):  # U+2028 ends no line here
        if line and not line.startswith("#"):
            left, right = line.rsplit(" => ", 1)
            expression, *slots = left.split(" ;; ")
            expected = REFUSED if right == REFUSED else set() if right == "nothing" else set(right.split(", "))
            yield expression, dict(slot.split("=", 1) for slot in slots), expected


def cases(name: str) -> list[object]:
    """Return the cases of a file as parameters of a test."""
    return [pytest.param(text, slots, expected, id=text) for text, slots, expected in read(name)]


def check(kb: KnowledgeBase, text: str, slots: dict[str, str], expected: set[str] | str) -> None:
    """Assert that the oracle and every engine give the expected answers, and that the text survives printing."""
    assert {engine: found(kb, engine, text, slots) for engine in ("oracle", *ENGINES)} == dict.fromkeys(
        ("oracle", *ENGINES), expected
    )
    if expected != REFUSED:
        prints_back(text)


def prints_back(text: str) -> None:
    """Assert that a parsed expression prints as an expression with the same tree."""
    tree = parse(text)
    assert parse(str(tree)) == tree
    assert str(parse(str(tree))) == str(tree)


def found(kb: KnowledgeBase, engine: str, text: str, slots: dict[str, str]) -> set[str] | str:
    """What an engine, or the oracle, answers: references, or that it refuses."""
    try:
        if engine == "oracle":
            return {f"{kind}#{key}" for kind, key in oracle.answers(plain(kb), text, slots)}
        return {f"{kind}#{key}" for _, kind, key, _ in kb.answers(text, engine=engine, **slots).nodes().iter_rows()}
    except (KbError, oracle.RefusedError) as error:
        assert "SPARQL" not in str(error) and "Error:" not in str(error), error  # the engine's, not ours
        return REFUSED


@cache
def plain(kb: KnowledgeBase) -> oracle.Graph:
    return oracle.from_kb(kb)


@pytest.fixture(scope="module")
def rdf(rdf_kb: Path) -> Iterator[KnowledgeBase]:
    with kbkit.open(rdf_kb) as kb:
        yield kb


@pytest.mark.parametrize(("text", "slots", "expected"), cases("tiny.txt"))
def test_tiny(small: KnowledgeBase, text: str, slots: dict[str, str], expected: set[str] | str) -> None:
    check(small, text, slots, expected)


@pytest.mark.core
@pytest.mark.parametrize(("text", "slots", "expected"), cases("world.txt"))
def test_world(world: KnowledgeBase, text: str, slots: dict[str, str], expected: set[str] | str) -> None:
    check(world, text, slots, expected)


@pytest.mark.parametrize(("text", "slots", "expected"), cases("rdf.txt"))
def test_rdf(rdf: KnowledgeBase, text: str, slots: dict[str, str], expected: set[str] | str) -> None:
    for engine in ("oracle", *ENGINES):
        got = found(rdf, engine, text, slots)
        got = got if isinstance(got, str) else {ref.replace("http://example.org/tiny/", "") for ref in got}
        assert got == expected, engine


@pytest.mark.parametrize(
    ("text", "slots"),
    [pytest.param(text, slots, id=text) for text, slots, _ in list(read("tiny.txt"))[::4]],
)
def test_the_rdf_form(rdf: KnowledgeBase, text: str, slots: dict[str, str]) -> None:
    """The types are called otherwise there (Gene), and keys are IRIs."""
    text = text.replace("gene/protein", "Gene").replace("is treated by", "is%20treated%20by")
    for kind, keys in {"Gene": "g1 g2 g3", "drug": "1 00123 g3", "disease": "x1 x2 ключ", "person": "1 p2 p3"}.items():
        place = {"Gene": "gene"}.get(kind, kind)
        for key in keys.split():
            iri = f"http://example.org/tiny/{'gene' if key == 'g3' else place}/{key}"
            text = text.replace(f'{kind}#"{key}"', f'{kind}#"{iri}"').replace(f"{kind}#{key}", f'{kind}#"{iri}"')
    text = text.replace('drug#"a/b c"', 'drug#"http://example.org/tiny/drug/a/b%20c"')
    expected = found(rdf, "oracle", text, slots)
    assert {engine: found(rdf, engine, text, slots) for engine in ENGINES} == dict.fromkeys(ENGINES, expected)


@pytest.fixture(scope="module")
def awkward() -> KnowledgeBase:
    """Names that SQL text also uses, a symmetric relation, lists, a secondary type."""
    rows: list[tuple[str, str, dict[str, object]]] = [
        ("reached", "a", {"missing": 1, "not": "x", "tags": ["x", "y"], "sizes": [1.5, float("nan")]}),
        ("reached", "b", {"tags": [], "sizes": [float("nan")]}),
        ("reached", "c", {"tags": [None]}),
        ("reached", "d", {"tags": ["z"]}),
        ("type", "reached", {}),
        ("type", "b", {}),
        ("rel", "near", {}),
        ("nodes", "1", {}),
        ("answer_members", "1", {}),
    ]
    others = {"b": frozenset({"type"})}
    nodes = [
        oracle.Node(kind, key, f"A {kind}", (), others.get(key, frozenset()) if kind == "reached" else frozenset(), a)
        for kind, key, a in rows
    ]
    a, b, c, d = (("reached", key) for key in "abcd")
    near = [(a, "near", b), (b, "near", c), (d, "near", d), (a, "near", ("type", "reached"))]
    rest = [(a, "reached", b), (b, "reached", c), (("nodes", "1"), "nodes", ("answer_members", "1"))]
    kinds = {"missing": "BIGINT", "not": "VARCHAR", "tags": "VARCHAR[]", "sizes": "DOUBLE[]"}
    return build(oracle.graph(nodes, [*near, *rest], kinds, {"near"}), "awkward").kb


@pytest.mark.parametrize(("text", "slots", "expected"), cases("awkward.txt"))
def test_awkward(awkward: KnowledgeBase, text: str, slots: dict[str, str], expected: set[str] | str) -> None:
    check(awkward, text, slots, expected)


def test_every_node_can_be_named_by_its_primary_type_and_key(awkward: KnowledgeBase) -> None:
    assert awkward.answers("type#b").nodes()["type"].to_list() == ["type"]


def test_names_of_operators_print_back() -> None:
    prints_back('a -> [`x -> y`|`<z`] -> `b``c`#"<x"')
