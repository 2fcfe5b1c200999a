"""Text -> tree -> text of answer expressions, and the errors of text that is none; no KB is needed."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbkit.answers import ExpressionError, parse
from kbkit.answers.syntax import (
    Combine,
    Condition,
    Edge,
    Expression,
    Filter,
    Key,
    Name,
    Nodes,
    Path,
    SavedSet,
    Slot,
    Step,
)
from tests.examples import examples

QUICK = examples(40)
A, B, C, D = Nodes("a"), Nodes("b"), Nodes("c"), Nodes("d")


def path(*parts: Any) -> Path:
    """``path(A, "->", "[r]", "->", B)``: a text in brackets is a step of one relation."""
    elements = [Step((Edge(p[1:-1]),)) if isinstance(p, str) else p for p in parts[::2]]
    return Path(tuple(elements), tuple(parts[1::2]))


def step(*edges: Edge, negated: bool = False) -> Path:
    return Path((A, Step(edges, negated), B), ("->", "->"))


def where(*conditions: Condition) -> Filter:
    return Filter(A, conditions)


TREES: dict[str, Expression] = {
    # sources
    "a": A,
    "*": Nodes(None),
    '*:"x"': Nodes(None, Name("x")),
    "*#k": Nodes(None, Key("k")),
    "gene/protein": Nodes("gene/protein"),
    "2nd_type": Nodes("2nd_type"),
    "ключ": Nodes("ключ"),
    "型:<型>": Nodes("型", Slot("型")),
    "`a b`": Nodes("a b"),
    "`a``b`": Nodes("a`b"),
    "`a-b`#k": Nodes("a-b", Key("k")),
    'a:"x"': Nodes("a", Name("x")),
    "a:'x'": Nodes("a", Name("x")),
    'a : "x"': Nodes("a", Name("x")),
    'a:"it\'s"': Nodes("a", Name("it's")),
    "a:'say \"x\"'": Nodes("a", Name('say "x"')),
    r'a:"\"\\\n\t\r"': Nodes("a", Name('"\\\n\t\r')),
    'a:"\n"': Nodes("a", Name("\n")),
    'a:""': Nodes("a", Name("")),
    'a:all("x")': Nodes("a", Name("x", all=True)),
    'a:all( "x" )': Nodes("a", Name("x", all=True)),
    "a:<x>": Nodes("a", Slot("x")),
    "a:<gene/protein>": Nodes("a", Slot("gene/protein")),
    "a:<two words>": Nodes("a", Slot("two words")),
    "a:<x >": Nodes("a", Slot("x")),
    "@x": SavedSet("x"),
    "@`my set/1`": SavedSet("my set/1"),
    # keys
    "a#k": Nodes("a", Key("k")),
    "a#00123": Nodes("a", Key("00123")),
    "a#10.1000/x-y_z.1": Nodes("a", Key("10.1000/x-y_z.1")),
    "a#http://x.org/?q=1%20;b": Nodes("a", Key("http://x.org/?q=1%20;b")),
    r"a#x\y": Nodes("a", Key(r"x\y")),
    "a#ключ": Nodes("a", Key("ключ")),
    'a#"b c"': Nodes("a", Key("b c")),
    r'a#"\"#\\"': Nodes("a", Key('"#\\')),
    'a#""': Nodes("a", Key("")),
    "a#k->b": path(Nodes("a", Key("k")), "->", B),
    "a#k-1 - a": Combine("-", (Nodes("a", Key("k-1")), A)),
    # comments
    "a # c": A,
    "# c\na": A,
    "a\n# c -> (\n": A,
    "a -> # c\n b": path(A, "->", B),
    'a:"x # y"': Nodes("a", Name("x # y")),
    'a:" #y"': Nodes("a", Name(" #y")),
    "a & # one\n\t# two\nb": Combine("&", (A, B)),
    # paths
    "a->b": path(A, "->", B),
    "a → b ← c": path(A, "->", B, "<-", C),
    "a <- b <- c": path(A, "<-", B, "<-", C),
    "a -> b -> c <- d": path(A, "->", B, "->", C, "<-", D),
    "* -> *": path(Nodes(None), "->", Nodes(None)),
    "a\n  -> [r]\n  -> b": path(A, "->", "[r]", "->", B),
    "@x -> b": path(SavedSet("x"), "->", B),
    "(a -> b) -> c": path(path(A, "->", B), "->", C),
    "(a & b) -> c": path(Combine("&", (A, B)), "->", C),
    "a -> (b | c) -> d": path(A, "->", Combine("|", (B, C)), "->", D),
    "a -> b{x = 1} -> c": path(A, "->", Filter(B, (Condition("x", "=", (1,)),)), "->", C),
    # relations
    "a -> [r] -> b": step(Edge("r")),
    "a -> [ r ] -> b": step(Edge("r")),
    "a -> [^r] -> b": step(Edge("r", inverse=True)),
    "a -> [r*] -> b": step(Edge("r", closure="*")),
    "a -> [r+] -> b": step(Edge("r", closure="+")),
    "a -> [!r] -> b": step(Edge("r"), negated=True),
    "a -> [!^r+] -> b": step(Edge("r", True, "+"), negated=True),
    "a -> [! ^ r +] -> b": step(Edge("r", True, "+"), negated=True),
    "a -> [r|s] -> b": step(Edge("r"), Edge("s")),
    "a -> [!r | ^s*|t+] -> b": step(Edge("r"), Edge("s", True, "*"), Edge("t", closure="+"), negated=True),
    "a -> [phenotype absent] -> b": step(Edge("phenotype absent")),
    "a -> [parent-child] -> b": step(Edge("parent-child")),
    "a -> [on/off] -> b": step(Edge("on/off")),
    "a -> [2nd] -> b": step(Edge("2nd")),
    "a -> [связан с] -> b": step(Edge("связан с")),
    "a -> [it's (so), #1: 100%] -> b": step(Edge("it's (so), #1: 100%")),
    "a -> [`x|y]`] -> b": step(Edge("x|y]")),
    "a -> [^`a``b*`*] -> b": step(Edge("a`b*", True, "*")),
    # set operations
    "a & b": Combine("&", (A, B)),
    "a & b & c": Combine("&", (A, B, C)),
    "a - b - c": Combine("-", (A, B, C)),
    "a - (b - c)": Combine("-", (A, Combine("-", (B, C)))),
    "(a - b) - c": Combine("-", (Combine("-", (A, B)), C)),
    "a & (b & c)": Combine("&", (A, Combine("&", (B, C)))),
    "a | b & c - d": Combine("|", (A, Combine("&", (B, Combine("-", (C, D)))))),
    "a - b & c | d": Combine("|", (Combine("&", (Combine("-", (A, B)), C)), D)),
    "a & b - c": Combine("&", (A, Combine("-", (B, C)))),
    "(a | b) & c": Combine("&", (Combine("|", (A, B)), C)),
    "a -> b - c": Combine("-", (path(A, "->", B), C)),
    "a - b -> c": Combine("-", (A, path(B, "->", C))),
    "a-b": Combine("-", (A, B)),
    "((a))": A,
    # filters
    "a{x = 1}": where(Condition("x", "=", (1,))),
    "a{x=1,y!=2}": where(Condition("x", "=", (1,)), Condition("y", "!=", (2,))),
    "a{x < 1, x <= 2, x > 3}": where(Condition("x", "<", (1,)), Condition("x", "<=", (2,)), Condition("x", ">", (3,))),
    "a{x>=4}": where(Condition("x", ">=", (4,))),
    "a{x<-5}": where(Condition("x", "<", (-5,))),
    "a{x = -1.5e3}": where(Condition("x", "=", (-1500.0,))),
    "a{x = +5, y = .5}": where(Condition("x", "=", (5,)), Condition("y", "=", (0.5,))),
    "a{x = true, y = false}": where(Condition("x", "=", (True,)), Condition("y", "=", (False,))),
    "a{x = 'b'}": where(Condition("x", "=", ("b",))),
    "a{x < <s>}": where(Condition("x", "<", (Slot("s"),))),
    "a{x<=<s>}": where(Condition("x", "<=", (Slot("s"),))),
    'a{x contains "b"}': where(Condition("x", "contains", ("b",))),
    "a{x contains <s>}": where(Condition("x", "contains", (Slot("s"),))),
    "a{x in [1, <s>]}": where(Condition("x", "in", (1, Slot("s")))),
    'a{x in ("b", true)}': where(Condition("x", "in", ("b", True))),
    "a{missing(x), not missing(y)}": where(Condition("x", "missing"), Condition("y", "missing", negated=True)),
    "a{`x y` = 1, `в` = 2}": where(Condition("x y", "=", (1,)), Condition("в", "=", (2,))),
    "(a & b){x = 1}": Filter(Combine("&", (A, B)), (Condition("x", "=", (1,)),)),
    "@x{x = 1}": Filter(SavedSet("x"), (Condition("x", "=", (1,)),)),
    "a:<s>{x = <s>}": Filter(Nodes("a", Slot("s")), (Condition("x", "=", (Slot("s"),)),)),
    # words of the language as names
    "all:all('all')": Nodes("all", Name("all", all=True)),
    "in -> [not] -> missing": path(Nodes("in"), "->", "[not]", "->", Nodes("missing")),
    "a{missing(`missing`), not missing(`not`)}": where(
        Condition("missing", "missing"), Condition("not", "missing", negated=True)
    ),
    "a{in = true, contains in [1]}": where(Condition("in", "=", (True,)), Condition("contains", "in", (1,))),
}


@pytest.mark.parametrize("text", TREES)
def test_trees(text: str) -> None:
    tree = parse(text)
    assert tree == TREES[text]
    printed = str(tree)
    assert parse(printed) == tree
    assert str(parse(printed)) == printed


def test_a_sign_after_white_space_begins_a_comment() -> None:
    assert parse("a #key") == A
    assert parse("a #key\n-> b") == path(A, "->", B)


def test_what_a_tree_remembers_of_places() -> None:
    tree = parse("a ->\n [r|s] -> b{x = 1}")
    assert isinstance(tree, Path)
    steps, end = tree.elements[1:]
    assert isinstance(steps, Step)
    assert isinstance(end, Filter)
    assert (tree.at, steps.at, [e.at for e in steps.edges]) == (0, 6, [7, 9])
    assert (end.at, end.conditions[0].at) == (15, 17)


# -- as printed in STaRK (appendix A), and in section 5 of the design -------------------------------------------------

AMAZON = """(brand → product)
(product → product)
(color → product)
(category → product)
(color → product ← brand)"""

MAG = """(author → paper)
(paper → paper)
(field_of_study → paper)
(institution → author → paper)
(paper → author → paper)
(paper → author → paper ← field_of_study ← paper)
(institution → author → paper ← field_of_study)"""

PRIME = """(effect/phenotype → [phenotype absent] → disease ← [!indication] ← drug)
(drug → [contraindication] → disease ← [associated with] ← gene/protein)
(anatomy → [expression present] → gene/protein ← [expression absent] ← anatomy)
(anatomy → [expression absent] → gene/protein ← [expression present] ← anatomy)
(drug → [carrier] → gene/protein ← [carrier] ← drug)
(anatomy → [expression present] → gene/protein → [target] → drug)
(drug → [side effect] → effect/phenotype → [side effect] → drug)
(drug → [carrier] → gene/protein → [carrier] → drug)
(anatomy → [expression present] → gene/protein → enzyme → drug)
(cellular_component → [interacts with] → gene/protein → [carrier] → drug)
(molecular_function → [interacts with] → gene/protein → [target] → drug)
(effect/phenotype → [side effect] → drug → [synergistic interaction] → drug)
(disease → [indication] → drug → [contraindication] → disease)
(disease → [parent-child] → disease → [phenotype present] → effect/phenotype)
(gene/protein → [transporter] → drug → [side effect] → effect/phenotype)
(drug → [transporter] → gene/protein → [interacts with] → exposure)
(pathway → [interacts with] → gene/protein → [ppi] → gene/protein)
(drug → [synergistic interaction] → drug → [transporter] → gene/protein)
(biological_process → [interacts with] → gene/protein → [interacts with] → biological_process)
(effect/phenotype → [associated with] → gene/protein → [interacts with] → biological_process)
(drug → [transporter] → gene/protein → [expression present] → anatomy)
(drug → [target] → gene/protein → [interacts with] → cellular_component)
(biological_process → [interacts with] → gene/protein → [expression absent] → anatomy)
(effect/phenotype → [associated with] → gene/protein → [expression absent] → anatomy)
(drug → [indication] → disease → [indication] → drug) & (drug → [synergistic interaction] → drug)
(pathway → [interacts with] → gene/protein → [interacts with] → pathway) & (pathway → [parent-child] → pathway)
(gene/protein → [associated with] → disease → [associated with] → gene/protein) & (gene/protein → [ppi] → gene/protein)
(gene/protein → [associated with] → effect/phenotype → [associated with] → gene/protein) \
& (gene/protein → [ppi] → gene/protein)"""

PRINTED = [line for paper in (AMAZON, MAG, PRIME) for line in paper.splitlines()]


def test_all_metapaths_are_here() -> None:
    assert [len(paper.splitlines()) for paper in (AMAZON, MAG, PRIME)] == [4 + 1, 7, 28]


@pytest.mark.parametrize("text", PRINTED)
def test_metapaths_as_printed(text: str) -> None:
    tree = parse(text)
    plain = text.replace("→", "->").replace("←", "<-")
    assert str(tree) == (plain if " & " in plain else plain[1:-1])
    assert parse(text.replace("] →", "]\n →").replace("&", "\n&\n")) == tree


def test_two_metapaths() -> None:
    drug, disease = Nodes("drug"), Nodes("disease")
    absent, not_indicated = Step((Edge("phenotype absent"),)), Step((Edge("indication"),), negated=True)
    assert parse(PRIME.splitlines()[0]) == Path(
        (Nodes("effect/phenotype"), absent, disease, not_indicated, drug), ("->", "->", "<-", "<-")
    )
    anatomy, protein, enzyme = Nodes("anatomy"), Nodes("gene/protein"), Nodes("enzyme")
    enzymes = path(anatomy, "->", "[expression present]", "->", protein, "->", enzyme, "->", drug)
    assert parse(PRIME.splitlines()[8]) == enzymes


# -- random -----------------------------------------------------------------------------------------------------------

words = st.text(max_size=5)
names = st.one_of(
    st.sampled_from(["a", "b/c", "ключ", "x y", "a`b", "all", "in", "2"]), st.text(min_size=1, max_size=5)
)
slots = st.builds(Slot, st.sampled_from(["s", "gene/protein", "two words", "s2"]))
edges = st.builds(Edge, names, st.booleans(), st.sampled_from(["", "*", "+"]))
steps = st.builds(Step, st.lists(edges, min_size=1, max_size=3).map(tuple), st.booleans())
picks = st.one_of(st.none(), st.builds(Name, words, st.booleans()), st.builds(Key, words), slots)
numbers = st.one_of(st.integers(-(10**20), 10**20), st.floats(allow_nan=False, allow_infinity=False))
values = st.one_of(words, numbers, st.booleans(), slots)
attributes = names.filter(lambda n: n not in ("not", "missing"))  # those need backticks, see below


@st.composite
def conditions(draw: st.DrawFn) -> Condition:
    op = draw(st.sampled_from(["=", "!=", "<", "<=", ">", ">=", "in", "contains", "missing"]))
    name = draw(attributes)
    if op == "missing":
        return Condition(name, op, (), draw(st.booleans()))
    if op == "contains":
        return Condition(name, op, (draw(st.one_of(words, slots)),))
    return Condition(name, op, tuple(draw(st.lists(values, min_size=1, max_size=3 if op == "in" else 1))))


@st.composite
def paths(draw: st.DrawFn, inner: st.SearchStrategy[Expression]) -> Path:
    forward, back = draw(st.tuples(st.integers(0, 2), st.integers(0, 2)).filter(any))
    elements: list[Expression | Step] = [draw(inner)]
    arrows: list[str] = []
    for arrow in ["->"] * forward + ["<-"] * back:
        if draw(st.booleans()):
            elements.append(draw(steps))
            arrows.append(arrow)
        elements.append(draw(inner))
        arrows.append(arrow)
    return Path(tuple(elements), tuple(arrows))


def larger(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    parts = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        st.builds(Filter, inner, st.lists(conditions(), min_size=1, max_size=3).map(tuple)),
        paths(inner),
        st.builds(Combine, st.sampled_from("&|-"), parts),
    )


nodes = st.builds(Nodes, st.one_of(st.none(), names), picks)
trees = st.recursive(st.one_of(nodes, st.builds(SavedSet, names)), larger, max_leaves=8)


@QUICK
@given(trees)
def test_trees_print_and_parse(tree: Expression) -> None:
    assert parse(str(tree)) == tree


@pytest.mark.parametrize("text", ["a{`missing` = 1}", "a{`not` = 1}"])
def test_awkward_names_and_numbers_print(text: str) -> None:
    tree = parse(text)
    assert parse(str(tree)) == tree


def attempt(text: str) -> None:
    """Parses and prints, or is refused in one line with a place."""
    try:
        tree = parse(text)
    except ExpressionError as error:
        assert re.match(r"(Line \d+, c|C)olumn \d+: ", str(error))
    else:
        assert parse(str(tree)) == tree


@QUICK
@given(st.text(st.sampled_from("ab1 \n:#\"'`<>[](){}|&-!^*+=,@→←\\/.é\0") | st.characters(), max_size=40))
def test_garbage(text: str) -> None:
    attempt(text)


@QUICK
@given(st.sampled_from([*TREES, *PRINTED]), st.data())
def test_mutations(text: str, data: st.DataObject) -> None:
    other = data.draw(st.sampled_from([*TREES, "->", "[", "]", "#", '"', "{", "", "\n", " "]))
    start, end = sorted((data.draw(st.integers(0, len(text))), data.draw(st.integers(0, len(text)))))
    attempt(text[:start] + other + text[min(end, start + 3) :])
