"""Syntax errors of answer expressions: the position and the expected tokens, in one line."""

from __future__ import annotations

import re

import pytest

from kbkit.answers import ExpressionError, parse
from kbkit.answers.syntax import Combine, Nodes, Path
from tests.wording import Wording

POSITIONS = {
    "": "Column 1",
    " \n ": "Column 1",
    "# only a comment": "Column 17",
    # Cypher, SQL, SPARQL, prose
    "a -[r]-> b": "Column 4",
    "a-[r]->b": "Column 3",
    "(a)-[r]->(b)": "Column 5",
    "a <-[r]- b": "Column 5",
    "a -[r]- b": "Column 4",
    "a --> b": "Column 4",
    "a => b": "Column 3",
    "(p:Person)": "Column 4",
    "SELECT * FROM a": "Column 8",
    "?x a b": "Column 1",
    "a and b": "Column 3",
    "a, b": "Column 2",
    "a; b": "Column 2",
    "a /* c */": "Column 3",
    # paths
    "a <- b -> c": "Column 6",
    "a <- [r] <- b -> [s] -> c": "Column 13",
    "a -> b <- c -> d": "Column 11",
    "a -> b <- c <- d -> e": "Column 16",
    "a ->": "Column 5",
    "-> a": "Column 1",
    "<- a": "Column 1",
    "a -> -> b": "Column 6",
    "a -> [r]": "Column 6",
    "[r] -> a": "Column 1",
    "a -> [r] -> [s] -> b": "Column 13",
    "a -> [r] <- b": "Column 6",
    "[r]": "Column 1",
    "([r])": "Column 2",
    "a & [r]": "Column 5",
    "a - ([r] | b)": "Column 6",
    "a -> r* -> b": "Column 7",
    "a -> [r]* -> b": "Column 9",
    # relations
    "a -> [] -> b": "Column 7",
    "a -> [r|] -> b": "Column 9",
    "a -> [|r] -> b": "Column 7",
    "a -> [*] -> b": "Column 7",
    "a -> [!] -> b": "Column 8",
    "a -> [^!r] -> b": "Column 8",
    "a -> [^^r] -> b": "Column 8",
    "a -> [r**] -> b": "Column 9",
    "a -> [r|!s] -> b": "Column 9",
    "a -> [r": "Column 8",
    "a -> [r -> b": "Column 13",
    "a -> [`r] -> b": "Column 7",
    "a -> r] -> b": "Column 7",
    # sources
    '"x"': "Column 1",
    'a "x"': "Column 3",
    'a -> "x"': "Column 6",
    "a:x": "Column 3",
    "a:": "Column 3",
    'a:"x': "Column 3",
    "a:'x\"": "Column 3",
    'a:"x" & b:"y': "Column 11",
    "a:<x": "Column 3",
    "a:<>": "Column 3",
    "a:$x": "Column 3",
    "a:all(x)": "Column 7",
    'a:all("x"': "Column 10",
    'a:"x"#k': "Column 6",
    "a#": "Column 2",
    "`a": "Column 1",
    "``": "Column 1",
    "@": "Column 2",
    "@@x": "Column 2",
    # sets
    "a b": "Column 3",
    "a &": "Column 4",
    "& a": "Column 1",
    "a | | b": "Column 5",
    "a - - b": "Column 5",
    "()": "Column 2",
    "(a": "Column 3",
    "a)": "Column 2",
    "(a & (b | c)": "Column 13",
    # filters
    "a{": "Column 3",
    "a{x = 1,}": "Column 9",
    "a{x in 5}": "Column 8",
    "a{x = 1": "Column 8",
    "a{x}": "Column 4",
    "a{x 1}": "Column 5",
    "a{x == 1}": "Column 6",
    "a{x in [y]}": "Column 9",
    "a{x contains y}": "Column 14",
    "a{x = y z}": "Column 9",
    "a{x = 1 y = 2}": "Column 9",
    "a{x = 1; y = 2}": "Column 8",
    "a{x contains 5}": "Column 14",
    "a{x in []}": "Column 9",
    "a{missing}": "Column 10",
    "a{not x = 1}": "Column 7",
    "a{x = <s}": "Column 7",
    # several lines
    "a -> b ->\nc d": "Line 2, column 3",
    "a\n\n & & b": "Line 3, column 4",
    "# c\na <-\n b\n -> c": "Line 3, column 2",
    "a &\n[r]": "Line 2, column 1",
    # characters
    "a\0b": "Column 2",
    "a & \x07": "Column 5",
    "\ud800": "Column 1",
    "a ⇒ b": "Column 3",
    "a:“x”": "Column 3",
    "🤧": "Column 1",
}


def error_of(text: str) -> ExpressionError:
    """Return the error of an invalid expression, one line with a position."""
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    message = str(caught.value)
    assert len(message.splitlines()) == 1, message
    assert re.match(r"(Line \d+, c|C)olumn \d+: ", message)
    assert len(message) < 300
    return caught.value


@pytest.mark.core
@pytest.mark.parametrize("text", POSITIONS)
def test_errors_have_a_position_and_a_hint(text: str, wording: Wording) -> None:
    error = error_of(text)
    assert error.message.startswith(f"{POSITIONS[text]}: ")
    assert error.hint or "surrogate" in error.message
    wording(str(error))


DEEP = "# it's\n" + "(a & " * 3000 + "a" + ")" * 3000 + "\n# it's"


def test_deep_and_long() -> None:
    for opened in ("(" * 10_000, "(" * 10_000 + "a" + ")" * 10_000, "(a & " * 3000 + "a" + ")" * 3000):
        assert "100" in error_of(opened).message
    error_of("[" * 10_000)
    error_of("{" * 10_000)
    error_of("a" + "{x = 1}" * 10_000)
    error_of('a:"' + "x" * 100_000)
    error_of("`" + "x" * 100_000)
    chain = parse("|".join("a" * 5000))
    assert isinstance(chain, Combine)
    assert len(chain.parts) == 5000
    assert parse(str(chain)) == chain
    assert parse("x" * 100_000) == Nodes("x" * 100_000)
    assert parse(" -> ".join("a" * 150)) == Path((Nodes("a"),) * 150, ("->",) * 149)
    error_of(" -> ".join("a" * 5000))


ONE_LINE = {
    "nested-beside-a-quote": DEEP,
    "digits": f"a{{x = {'9' * 5000}}}",
    "line": 'a "x\ny"',
    "filtered-step": "([r]){x = 1}",
}


@pytest.mark.parametrize("text", ONE_LINE.values(), ids=ONE_LINE)
def test_errors_are_one_line(text: str) -> None:
    error_of(text)


def test_comments_are_not_nested() -> None:
    assert parse("a # " + ":(" * 101) == Nodes("a")
