"""Calls in which the engines deviate from SPARQL 1.1 or from the query service, rewritten: both engines are right."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from kbkit.schema import STANDARD_PREFIXES
from kbkit.sparql.rewrite import rewrite
from tests.sparql.engines import Dataset, UnsupportedQueryError, columns, oxigraph

DATA = Dataset(
    ox.parse("PREFIX : <http://e/> :a :p 1 ; :q 'x' . :b :p 2 . :c :p 3 ; :q 'y'@en .", format=ox.RdfFormat.TURTLE)
)
PREFIXES = "".join(f"PREFIX {name}: <{STANDARD_PREFIXES[name]}> " for name in ("xsd", "rdfs")) + "PREFIX : <http://e/> "
LEFT = "Not on columns"


def value(text: str, dialect: str, *, alone: bool = False) -> str:
    """Return the only value of a query, which both engines return; with ``alone``, Oxigraph only."""
    sent = rewrite(PREFIXES + text, dialect, prefixes={}).text
    [[found]] = oxigraph(DATA, sent).rows
    try:
        assert columns(DATA, sent).rows == ((found,),)
        assert not alone
    except UnsupportedQueryError:
        assert alone
    return "" if found is None else str(found.value) + ("" if not getattr(found, "language", "") else " with language")


@pytest.mark.parametrize(
    ("values", "joined"),
    [
        (":a :b", "http://e/a|http://e/b"),
        ("1 2.50 3e0 true", "1|2.5|3|true"),
        ("'2020-01-01'^^xsd:date", "2020-01-01"),
        ("'a'@en 'b'@en", "a|b"),
        ("'a' 'b'", "a|b"),
        ("'x'^^:t", "x"),
        ("", ""),
        ("1 UNDEF", ""),  # an error
    ],
)
@pytest.mark.parametrize("argument", ["?x", "STR(?x)", "IF(true, ?x, 1)"])
def test_group_concat_joins_texts(values: str, joined: str, argument: str) -> None:
    text = f"SELECT (GROUP_CONCAT({argument}; SEPARATOR='|') AS ?y) {{ VALUES ?x {{ {values} }} }}"
    assert value(text, "sparql") == joined


@pytest.mark.parametrize(
    ("arguments", "result"),
    [
        ('"darted", "^(.*?)d(.*)$", "$1c$2"', "carted"),
        ('"abc", "(b)", "x$12y"', "axb2yc"),
        ('"abc", "(b)", "[$1]"', "a[b]c"),
        ('"abc", "b", "$0$0"', "abbc"),
    ],
)
def test_references_of_replace(arguments: str, result: str) -> None:
    assert value(f"SELECT (REPLACE({arguments}) AS ?y) {{}}", "sparql") == result


@pytest.mark.parametrize(
    ("arguments", "result"),
    [
        (r'"abc", "b", "\\$1"', "a$1c"),
        (r'"abc", "b", "\\\\"', "a\\c"),
        ('"a.b.c", "a.b", "$1", "q"', "$1.c"),
    ],
)
def test_escapes_of_replace(arguments: str, result: str) -> None:
    assert value(f"SELECT (REPLACE({arguments}) AS ?y) {{}}", "sparql", alone=True) == result


@pytest.mark.parametrize(
    ("aggregate", "standard", "service"),
    [
        ("SUM(?n)", "", "4"),
        ("SUM(DISTINCT ?n)", "", "4"),
        ("AVG(?n)", "", "2"),
        ("MIN(?n)", "", "1"),
        ("MAX(?n)", "", "3"),
        ("GROUP_CONCAT(DISTINCT ?t; SEPARATOR=', ')", "", "x"),
        ("GROUP_CONCAT(?t; SEPARATOR='')", "", "x"),
        ("COUNT(?n)", "2", "2"),
        ("SUM(?none)", "", "0"),
        ("MIN(?none)", "", ""),
        ("GROUP_CONCAT(?none)", "", ""),
        ("MIN(?t)", "", "x"),
    ],
)
def test_rows_without_the_variable(aggregate: str, standard: str, service: str) -> None:
    text = f"""SELECT ({aggregate} AS ?y) {{
        VALUES ?s {{ :a :b :c }} OPTIONAL {{ ?s :p ?n FILTER(?n != 2) }} OPTIONAL {{ ?s :q ?t FILTER(LANG(?t) = '') }}
        OPTIONAL {{ ?s :r ?none }} }}"""
    assert value(text, "sparql") == standard
    assert value(text, "wikidata") == service


def test_variables_that_are_always_bound_are_left_alone() -> None:
    text = """SELECT (SUM(?n) AS ?a) (MAX(?label) AS ?b) (COUNT(?o) AS ?c) { ?s :p ?n OPTIONAL { ?s :q ?o }
        BIND(<urn:kbkit:inLanguage>(?s, rdfs:label, "en") AS ?label) }"""
    assert "COALESCE" not in rewrite(PREFIXES + text, "wikidata", prefixes={}).text


@pytest.mark.parametrize(
    ("call", "result"),
    [("ROUND(-0.4e0)", "-0"), ("ROUND(-0e0)", "-0"), ("ROUND(-2.5)", "-2"), ("SUBSTR('foobar', 0, 3)", "fo")],
)
def test_numbers(call: str, result: str) -> None:
    assert value(f"SELECT ({call} AS ?y) {{}}", "sparql") == result
