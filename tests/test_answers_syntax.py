"""Text that is no answer expression: one line that says where, and what was expected there; no KB is needed."""

from __future__ import annotations

import re

import pytest

from kbkit.answers import ExpressionError, parse
from kbkit.answers.syntax import Combine, Nodes, Path

SETS = "the end"
WRONG: dict[str, tuple[str, str]] = {
    "": ("column 1", "empty"),
    " \n ": ("column 1", "empty"),
    "# only a comment": ("column 17", "ends too early"),
    # Cypher, SQL, SPARQL, prose
    "a -[r]-> b": ("column 4", "a -> [r] -> b"),
    "a-[r]->b": ("column 3", "a -> [r] -> b"),
    "(a)-[r]->(b)": ("column 5", "a -> [r] -> b"),
    "a <-[r]- b": ("column 5", "a -> [r] -> b"),
    "a -[r]- b": ("column 4", "-> [relation] ->"),
    "a --> b": ("column 4", "a type"),
    "a => b": ("column 3", "->"),
    "(p:Person)": ("column 4", "quotes"),
    "SELECT * FROM a": ("column 8", SETS),
    "?x a b": ("column 1", "a type"),
    "a and b": ("column 3", "&"),
    "a, b": ("column 2", SETS),
    "a; b": ("column 2", SETS),
    "a /* c */": ("column 3", SETS),
    # paths
    "a <- b -> c": ("column 6", "arrows meet at the answer"),
    "a <- [r] <- b -> [s] -> c": ("column 13", "arrows meet at the answer"),
    "a -> b <- c -> d": ("column 11", "&"),
    "a -> b <- c <- d -> e": ("column 16", "&"),
    "a ->": ("column 5", "a type"),
    "-> a": ("column 1", "a type"),
    "<- a": ("column 1", "a type"),
    "a -> -> b": ("column 6", "a type"),
    "a -> [r]": ("column 6", "a type"),
    "[r] -> a": ("column 1", "a type"),
    "a -> [r] -> [s] -> b": ("column 13", "a type stands between"),
    "a -> [r] <- b": ("column 6", "-> type <-"),
    "[r]": ("column 1", "type -> [relation] -> type"),
    "([r])": ("column 2", "type -> [relation] -> type"),
    "a & [r]": ("column 5", "type -> [relation] -> type"),
    "a - ([r] | b)": ("column 6", "type -> [relation] -> type"),
    "a -> r* -> b": ("column 7", SETS),
    "a -> [r]* -> b": ("column 9", "->"),
    # relations
    "a -> [] -> b": ("column 7", "a relation"),
    "a -> [r|] -> b": ("column 9", "a relation"),
    "a -> [|r] -> b": ("column 7", "a relation"),
    "a -> [*] -> b": ("column 7", "a relation"),
    "a -> [!] -> b": ("column 8", "a relation"),
    "a -> [^!r] -> b": ("column 8", "a relation"),
    "a -> [^^r] -> b": ("column 8", "a relation"),
    "a -> [r**] -> b": ("column 9", "]"),
    "a -> [r|!s] -> b": ("column 9", "a relation"),
    "a -> [r": ("column 8", "]"),
    "a -> [r -> b": ("column 13", "]"),
    "a -> [`r] -> b": ("column 7", "a relation"),
    "a -> r] -> b": ("column 7", "->"),
    # sources
    '"x"': ("column 1", "a name follows a type"),
    'a "x"': ("column 3", "a name follows a type"),
    'a -> "x"': ("column 6", "a type"),
    "a:x": ("column 3", "quotes"),
    "a:": ("column 3", "quotes"),
    'a:"x': ("column 3", "quotes"),
    "a:'x\"": ("column 3", "quotes"),
    "a:<x": ("column 3", "a <slot>"),
    "a:<>": ("column 3", "a <slot>"),
    "a:$x": ("column 3", "a <slot>"),
    "a:all(x)": ("column 7", "quotes"),
    'a:all("x"': ("column 10", ")"),
    'a:"x"#k': ("column 6", SETS),
    "a#": ("column 2", "->"),
    "`a": ("column 1", "a type"),
    "``": ("column 1", "a type"),
    "@": ("column 2", ""),
    "@@x": ("column 2", ""),
    # sets
    "a b": ("column 3", SETS),
    "a &": ("column 4", "a type"),
    "& a": ("column 1", "a type"),
    "a | | b": ("column 5", "a type"),
    "a - - b": ("column 5", "a type"),
    "()": ("column 2", "a type"),
    "(a": ("column 3", ")"),
    "a)": ("column 2", SETS),
    "(a & (b | c)": ("column 13", ")"),
    # filters
    "a{x = 1": ("column 8", "}"),
    "a{x}": ("column 4", "="),
    "a{x 1}": ("column 5", "="),
    "a{x == 1}": ("column 6", "a number"),
    "a{x = y}": ("column 7", "quotes"),
    "a{x = 1 y = 2}": ("column 9", ", or }"),
    "a{x = 1; y = 2}": ("column 8", ", or }"),
    "a{x contains 5}": ("column 14", "quotes"),
    "a{x in []}": ("column 9", "a number"),
    "a{missing}": ("column 10", "("),
    "a{not x = 1}": ("column 7", "missing"),
    "a{x = <s}": ("column 7", "a <slot>"),
    # several lines
    "a -> b ->\nc d": ("line 2, column 3", SETS),
    "a\n\n & & b": ("line 3, column 4", "a type"),
    "# c\na <-\n b\n -> c": ("line 3, column 2", "arrows meet"),
    # characters
    "a\0b": ("column 2", SETS),
    "a & \x07": ("column 5", "a type"),
    "\ud800": ("column 1", "valid Unicode"),
    "a ⇒ b": ("column 3", "->"),
    "a:“x”": ("column 3", "quotes"),
    "🤧": ("column 1", "a type"),
}


def refused(text: str) -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    message = str(caught.value)
    assert len(message.splitlines()) == 1, message
    assert re.match(r"(line \d+, )?column \d+: ", message)
    assert len(message) < 300
    return caught.value


@pytest.mark.parametrize("text", WRONG)
def test_errors(text: str) -> None:
    column, hint = WRONG[text]
    error = refused(text)
    assert error.message.startswith(f"{column}: ")
    assert hint in f"{error.message}; {error.hint}"
    assert error.hint or "ends too early" not in error.message


DEEP = "# it's\n" + "(a & " * 3000 + "a" + ")" * 3000 + "\n# it's"


def test_deep_and_long() -> None:
    for opened in ("(" * 10_000, "(" * 10_000 + "a" + ")" * 10_000, "(a & " * 3000 + "a" + ")" * 3000):
        assert "nested deeper" in refused(opened).message
    refused("[" * 10_000)
    refused("{" * 10_000)
    refused("a" + "{x = 1}" * 10_000)
    refused('a:"' + "x" * 100_000)
    refused("`" + "x" * 100_000)
    chain = parse("|".join("a" * 5000))
    assert isinstance(chain, Combine)
    assert len(chain.parts) == 5000
    assert parse(str(chain)) == chain
    assert parse("x" * 100_000) == Nodes("x" * 100_000)
    assert parse(" -> ".join("a" * 150)) == Path((Nodes("a"),) * 150, ("->",) * 149)
    refused(" -> ".join("a" * 5000))


ONE_LINE = {
    "nested-beside-a-quote": DEEP,
    "digits": f"a{{x = {'9' * 5000}}}",
    "line": 'a "x\ny"',
    "filtered-step": "([r]){x = 1}",
}


@pytest.mark.parametrize("text", ONE_LINE.values(), ids=ONE_LINE)
def test_refused_in_one_line(text: str) -> None:
    refused(text)


PLACES = {
    "a &\n[r]": ("line 2, column 1", "type -> [relation] -> type"),
    "a{": ("column 3", "an attribute"),
    "a{x = 1,}": ("column 9", "an attribute"),
    "@": ("column 2", "the name of a set"),
    "a{x in 5}": ("column 8", "(values) or [values]"),
    'a:"x" & b:"y': ("column 11", "at both ends"),
}


@pytest.mark.parametrize("text", PLACES)
def test_places_and_hints(text: str) -> None:
    error = refused(text)
    assert error.message.startswith(PLACES[text][0])
    assert re.search(re.escape(PLACES[text][1]) + r"(?!\w)", error.hint)


def test_comments_are_not_nested() -> None:
    assert parse("a # " + ":(" * 101) == Nodes("a")
