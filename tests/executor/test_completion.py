"""Completion: what is offered at a place of a statement, and what is not. ``¦`` is the cursor."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kbkit
from kbkit.answers.parse import parse
from kbkit.answers.resolve import resolve
from kbkit.answers.syntax import Key, Name, Nodes
from kbkit.answers.syntax import Path as PathTree
from kbkit.errors import KbError
from kbkit.executor.completion import LIMIT, Candidate, complete, prepare, sql_words
from kbkit.executor.completion.commands import files
from kbkit.executor.completion.ranking import CompletionItem, layered, one_line, ranked, starting
from kbkit.executor.languages import LANGUAGES
from kbkit.executor.vocabulary import Argument, CommandWords, NamedNode, Vocabulary, VocabularyEntry
from kbkit.kb import KnowledgeBase
from kbkit.schema import Attribute, NodeType, Relation, Schema, Signature, quote
from kbkit.stores.sql_names import RESERVED, identifier
from tests.examples import examples
from tests.loops import each

COMMANDS = {
    words.name: words
    for words in (
        CommandWords("show", (Argument.NODE,), "a node's page"),
        CommandWords("schema", (Argument.TYPE_OR_RELATION,), "types and relations"),
        CommandWords("save", (Argument.FILE,), "keep the last result"),
        CommandWords("open", (Argument.KB,), "another KB"),
        CommandWords("mode", (Argument.LANGUAGE,), "the language"),
        CommandWords("format", (Argument.FORMAT,), "the format"),
        CommandWords("timing", (Argument.SWITCH,), "seconds"),
        CommandWords("rows", (Argument.NUMBER,), "rows at most"),
        CommandWords("queries", (Argument.QUERY,), "query files"),
        CommandWords("templates", (Argument.TEMPLATE,), "templates"),
        CommandWords("sets", (Argument.SET,), "saved sets"),
        CommandWords("help", (Argument.TOPIC,), "help"),
        CommandWords("about", (Argument.COMMAND,), "a command"),
        CommandWords("explain", (Argument.STATEMENT,), "how it runs"),
        CommandWords("members", (Argument.EXPRESSION,), "members"),
        CommandWords("join", (Argument.RELATION,), "a relation"),
        CommandWords("path", (Argument.SWITCH, Argument.NODE), "two arguments"),
        CommandWords("quit", (), "leave"),
    )
}


@pytest.fixture(scope="module")
def words(world: KnowledgeBase) -> Vocabulary:
    """The world, with sets, commands and a last result that it does not have."""
    known = Vocabulary.of(world, COMMANDS, lambda: [("id", "Int64"), ("rank", "Int64")])
    sets = [
        VocabularyEntry("big ones", "3 country", "country"),
        VocabularyEntry("seas", "2 sea", "sea"),
        VocabularyEntry("gone", "1", "no such type"),
    ]
    return Vocabulary(
        known.schema, COMMANDS, known.names, known.keys, lambda: sets, known.queries, known.templates, known.topics,
        known.last_columns, known.extra_columns, known.values,
    )  # fmt: skip


def offered(row: str, vocabulary: Vocabulary, language: str) -> list[Candidate]:
    at = row.index("¦")
    return complete(row.replace("¦", "", 1), at, vocabulary, language)


def check(row: str, expected: list[str], absent: list[str], vocabulary: Vocabulary, language: str) -> None:
    """``expected`` are offered in this order, and ``absent`` are not."""
    found = offered(row, vocabulary, language)
    texts = [c.text for c in found]
    assert [text for text in texts if text in expected] == expected, texts
    assert not set(texts) & set(absent), texts
    assert len(texts) == len(set(texts)) <= LIMIT
    if not expected and not absent:
        assert texts == []
    for c in found:
        assert 0 <= c.start <= row.index("¦")
        assert (c.display or c.text).isprintable() and c.meta.isprintable()


def accepted(row: str, text: str, vocabulary: Vocabulary, language: str) -> str:
    """The statement after a candidate was taken."""
    at = row.index("¦")
    [chosen] = [c for c in offered(row, vocabulary, language) if c.text == text]
    return row[: chosen.start] + text + row[at + 1 :]


# -- answer expressions -----------------------------------------------------------------------------------------------

ANSWERS: list[tuple[str, list[str], list[str]]] = [
    # types where a set starts: those of most nodes first
    ("¦", ["mountain", "river", "country", "year"], ["borders", "-> "]),
    ("co¦", ["country", "continent"], ["mountain"]),
    ("CO¦", ["country", "continent"], []),
    ("(¦", ["mountain", "country"], []),
    ("country & ¦", ["mountain", "country"], []),
    ("(country -> river) & (¦", ["mountain", "country"], []),
    ("(river -> country) - ri¦", ["river"], ["country"]),
    ("ntry¦", ["country"], []),  # letters one after another
    ("zz¦", [], []),
    # after an arrow, what some relation reaches
    ("country -> ¦", ["organisation", "country", "river", "[member_of]", "[borders]"], ["mountain_", "rivers"]),
    ("city -> ¦", ["country", "[capital]"], ["river", "sea", "city", "[borders]"]),
    ("city → ¦", ["country"], ["river", "city"]),
    ("year -> c¦", ["country"], ["city", "continent"]),
    ("country <- ¦", ["organisation", "river"], []),
    ('country:"France" -> river <- ¦', ["country", "sea", "river", "lake"], ["mountain", "city"]),
    ("river -> [flows_into] -> ¦", ["sea", "river", "lake"], ["country", "[flows_through]"]),
    ("river -> [flows_into] -> s¦", ["sea"], ["river"]),
    ("lake -> [flows_into] -> ¦", ["river"], ["lake", "sea", "country"]),
    ("river -> [^flows_into] -> ¦", ["river"], ["sea", "lake"]),  # what flows into a river
    ("river <- [^flows_into] <- ¦", ["sea", "river", "lake"], ["country"]),  # whose inverse leads to rivers
    ("country -> [!borders] -> ¦", ["country"], ["city", "river"]),
    ("country -> [borders*] -> ¦", ["country"], ["city", "river"]),
    ("country -> [capital|speaks] -> ¦", ["language", "city"], ["country", "river"]),
    ("country -> [`capital`] -> ¦", ["city"], ["language"]),
    ("country -> [no such relation] -> ¦", [], []),
    ("country -> borders -> ¦", ["country"], ["city"]),  # a relation without brackets
    ("* -> ¦", ["mountain", "country", "[member_of]"], []),
    ("* -> [capital] -> ¦", ["city", "country"], ["river"]),
    ("(city -> country) -> ¦", ["organisation", "river"], ["capital"]),
    ("((city) -> country) -> ci¦", ["city"], ["river"]),
    ("(city -> country <- river) -> ¦", ["organisation"], []),
    ('(country:"A" & country) -> la¦', ["language", "lake"], []),
    ("country{area_km2 > 5, name = \"x -> [\"} -> ¦", ["organisation", "city"], []),
    ('country:"a \\" -> (" -> ci¦', ["city"], ["river"]),
    ("# city -> \ncountry -> ¦", ["organisation"], []),
    ("@seas -> ¦", ["country", "river", "sea"], ["city", "mountain"]),
    ("@`big ones` -> ci¦", ["city"], ["river"]),
    ("@gone -> ci¦", ["city"], []),  # a set of a type that there is no more: anything may follow
    ("country#FRA -> ci¦", ["city"], ["river"]),
    # relations in brackets that fit
    ("country -> [¦", ["member_of", "borders", "capital"], ["part_of", "flows_into", "^borders"]),
    ("country -> [¦] -> city", ["capital"], ["borders", "speaks"]),
    ("country -> [¦] -> country", ["borders"], ["capital", "^borders"]),  # it is symmetric
    ("city -> [¦", ["capital"], ["borders", "^capital"]),  # a plain relation runs the way that there is
    ("sea -> [¦] -> sea", ["part_of", "^part_of"], ["flows_into"]),
    ("sea -> [^¦] -> sea", ["part_of"], ["^part_of", "flows_into"]),
    ("sea -> [!¦", ["coast_on", "flows_into", "part_of", "^part_of"], ["^flows_into", "borders"]),
    ("sea -> [part_of|¦] -> sea", ["part_of"], ["coast_on"]),
    ("river -> [^fl¦", ["flows_into"], ["flows_through"]),
    ("river -> [into¦", ["flows_into", "^flows_into"], ["flows_through"]),
    ("river <- [^¦", ["flows_through", "flows_into"], ["lies_in"]),
    ("country -> [`bor¦", ["borders"], ["capital"]),
    ("country <- [¦] <- river", ["flows_through"], ["flows_into", "borders"]),
    ("* -> [cap¦", ["capital"], ["borders"]),
    ("* -> [¦] -> city", ["capital"], ["borders"]),
    ("country -> [borders ¦", ["]", "| "], ["borders"]),
    ("country -> [has the cap¦", ["capital"], ["borders"]),  # by the label
    # what goes on after a set
    ("country ¦", ["-> ", "<- ", "& ", "| ", "- ", "{"], [") "]),
    ('country:"France" ¦', ["-> ", "<- ", "& "], []),
    ('(country:"France" ¦', ["-> ", "& ", ") "], []),
    ("(country)¦", [" -> ", " & "], [" ) "]),
    ("country -> [borders] ¦", ["-> "], ["<- ", "& "]),
    ("country <- [borders] ¦", ["<- "], ["-> ", "& "]),
    ("river -> country <- city ¦", ["<- ", "& "], ["-> "]),
    ("country{name = \"x\"} ¦", ["-> ", "& "], []),
    ('country:"France"¦', [], []),
    ("country xyz¦", [], []),
    # attributes and operators
    ("country{¦", ["area_km2", "key", "name", "official_name", "missing("], ["family", "height_m"]),
    ("country -> mountain{he¦", ["height_m"], ["area_km2"]),
    ("(city -> country){off¦", ["official_name"], ["height_m"]),
    ("country{name = \"x\", a¦", ["area_km2"], ["family"]),
    ("country{missing(¦", ["area_km2"], ["height_m"]),
    ("*{¦", ["key", "name"], ["area_km2"]),
    ("country{area_km2 ¦", ["= ", "!= ", "< ", "<= ", "> ", ">= ", "in ["], ["contains "]),
    ("country{area_km2 in¦", ["in ["], ["= "]),
    ("country{name ¦", ["= ", "contains "], []),
    ("country{name con¦", ["contains "], ["= "]),
    ("country{area_km2 > ¦", ["population"], ["area_km2", "name"]),
    ("country{name = \"x\" ¦", ["} ", ", "], []),
    ("country{area_km2 in [1, 2] ¦", ["} ", ", "], []),
    ("country{area_km2 in [1, ¦", [], []),
    ("country{missing(area_km2) ¦", ["} ", ", "], []),
    ("country{¦", ["count(-> ", "max ", "min "], ["sum("]),
    ("country{ma¦", ["max "], ["min "]),
    ("country{cou¦", ["count(-> "], []),
    ("country{area_km2 > 1, mi¦", ["min ", "missing("], []),
    ("country{max ¦", ["area_km2", "name", "count(-> "], ["= ", "missing("]),
    ("country{max ar¦", ["area_km2"], ["name"]),
    ("country{max area_km2 ¦", ["} ", ", "], ["= "]),
    ("country{max area_km2, ¦", ["area_km2", "missing("], []),
    ("country{count(¦", [" -> ", " <- "], [" & "]),
    ("country{count(-> ¦", ["city", "[borders]"], ["mountain{"]),
    ("country{count(<- riv¦", ["river"], ["city"]),
    ("country{count(<- [bord¦", ["borders"], ["capital"]),
    ("country{count(<- river{¦", ["length_km"], ["area_km2"]),
    ("country{count(<- river{length_km > 5}¦", [" <- ", " ) "], []),
    ("country{count(<- river) ¦", ["= ", "> ", ">= "], ["contains ", "in ["]),
    ("country{count(<- river) > 3, ¦", ["area_km2"], ["length_km"]),
    ("country{max count(<- river) ¦", ["} ", ", "], ["= "]),
    ("country{max count(<- river)} -> [¦", ["borders", "capital"], []),
    ("country{av¦", ["avg(-> "], ["sum(-> "]),
    ("country{max s¦", ["sum(-> "], ["avg(-> "]),
    ("country{avg(<- riv¦", ["river"], ["city"]),
    ("country{avg(<- river, ¦", ["length_km", "name"], ["area_km2", "count(-> "]),
    ("country{avg(<- river, len¦", ["length_km"], ["name"]),
    ("country{avg(<- river, length_km ¦", [") "], ["by ", ", "]),
    ("country{avg(<- river, length_km) ¦", ["= ", "> "], ["contains "]),
    ("country{avg(<- river, length_km) > 3, ¦", ["area_km2"], ["length_km"]),
    ("country{max avg(<- river, length_km) ¦", ["} ", ", ", "per "], ["= "]),
    ("country{count(<- river) > ma¦", ["max(", "max(-> "], ["min("]),
    ("country{count(<- river) > max(-> ¦", ["city", "[borders]"], ["mountain{"]),
    ("country{count(<- river) > max(<- mountain, ¦", ["height_m"], ["area_km2"]),
    ("country{count(<- river) > max(<- mountain, height_m) ¦", ["} ", ", "], []),
    ("country{count(<- river) > max(country, ¦", ["area_km2"], ["length_km"]),
    ("values(country, avg(<- river, ¦", ["length_km"], ["area_km2"]),
    ("values(country, avg(<- river, length_km), ¦", ["area_km2"], ["length_km"]),
    ("¦", ["country", "count(", "values(", "sum(", "avg("], ["max "]),
    ("val¦", ["values("], []),
    ("country & cou¦", ["country"], ["count("]),
    ("count(cou¦", ["country"], ["count("]),
    ("values(country, ¦", ["area_km2", "name", "count(-> "], ["missing("]),
    ("¦", ["exists(", "min(", "max("], ["top "]),
    ("values(country, name, ar¦", ["area_km2"], ["name"]),
    ("values(country, name, count(¦", [" -> ", " <- "], [", "]),
    ("values(country, count(<- riv¦", ["river"], ["city"]),
    ("values(country, count(<- river), ¦", ["area_km2"], ["length_km"]),
    ("values(country, name ¦", ["by ", "order by ", ") "], ["area_km2"]),
    ("values(country, name order by ¦", ["area_km2", "count(-> "], ["length_km"]),
    ("count(country by ¦", ["area_km2", "name"], ["missing("]),
    ("count(country by -> ¦", ["continent", "[borders]"], ["sum("]),
    ("count(country by -> [bor¦", ["borders"], ["capital"]),
    ("avg(country -> city, latitude by ¦", ["latitude"], ["area_km2"]),
    ("country{¦", ["bottom 3 ", "not (", "top 3 "], []),
    ("country{top 3 ¦", ["area_km2", "name", "count(-> "], ["= "]),
    ("country{top 3 area_km2 ¦", ["} ", ", ", "per "], ["= "]),
    ("country{max area_km2 per ¦", ["area_km2", "un_status"], ["= "]),
    ("country{max area_km2 per -> ¦", ["continent", "[borders]"], ["un_status"]),
    ("country{max area_km2 per -> continent ¦", ["} ", ", "], [") "]),
    ("country{max area_km2 per -> city.¦", ["latitude"], ["area_km2"]),
    ("country{max area_km2 per -> continent, ¦", ["area_km2", "missing("], ["latitude"]),
    ("country{max area_km2 per un_status} -> ¦", ["continent"], ["un_status"]),
    ("avg(country, area_km2 by -> city.¦", ["latitude"], ["area_km2"]),
    ("avg(country, area_km2 by -> city.latitude, ¦", ["area_km2"], ["latitude"]),
    ("count(country by un_status ¦", ["having ", "order by ", ") "], ["= "]),
    ("country{not (¦", ["area_km2", "missing("], ["= "]),
    ("country{not (area_km2 ¦", ["= ", "> "], ["} "]),
    ("country{area_km2 > a¦", ["avg("], ["exists(", "area_km2"]),
    ("city{latitude > ¦", ["longitude"], ["latitude", "name"]),
    ("city{latitude > lo¦", ["longitude"], ["avg("]),
    ("city{latitude > `lo¦", ["longitude"], []),
    ("city{latitude > longitude ¦", ["} ", ", "], ["= "]),
    ("city{latitude in [¦", [], ["longitude"]),
    ("country{name = ¦", ["key", "official_name"], ["area_km2", "name"]),
    ("country{name contains ¦", [], ["official_name"]),
    ("country{count(<- river) > ¦", ["area_km2"], ["name", "length_km"]),
    ("country{area_km2 > avg(¦", ["country"], ["area_km2"]),
    ("country{area_km2 > avg(mountain, ¦", ["height_m"], ["area_km2"]),
    ("country{area_km2 > values(country:\"Spain\" -> [¦", ["borders"], []),
    ("country{area_km2 > avg(country, area_km2) ¦", ["} ", ", "], ["= "]),
    ("country{area_km2 > avg(country, area_km2), ¦", ["area_km2", "missing("], ["height_m"]),
    ("country{un_status = \"mem¦", ['"member"'], ['"none"']),
    ("country{un_status = mem¦", ['"member"'], ['"none"']),
    ("country{name = \"Fra¦", ['"France"'], ['"Germany"']),
    ("country{key = \"FR¦", ['"FRA"'], ['"DEU"']),
    ("country{un_status in [\"member\", \"¦", ['"none"'], []),
    ("sum(country -> city, po¦", [], ["area_km2"]),
    ("avg(mountain{height_m > 3}, he¦", ["height_m"], ["area_km2"]),
    # nodes
    ('country:"Fra¦', ['"France"'], ['"Germany"']),
    ('country:"fra¦"', ['"France'], ['"France"']),  # it is closed already
    ("@`big¦`", ["`big ones"], ["`big ones`"]),
    ("country -> [`bor¦`] -> country", ["`borders"], ["borders"]),
    ("country:<p¦", [], []),
    ("country:<p> ¦", ["-> ", "& "], []),
    ("country:'Fra¦", ['"France"'], []),
    ("country:Fra¦", ['"France"'], []),
    ('country:"UK¦', ['"United Kingdom"'], []),
    ('country:"united k¦', ['"United Kingdom"'], ['"United States"']),
    ('country:"ivory¦', ["\"Côte d'Ivoire\""], []),
    ('city:"Mexico¦', ['"Mexico City"'], []),
    ('*:"Fran¦', ['"France"'], []),
    ('city:all("San¦', ['"San José"', '"San Salvador"'], []),
    ('(city:all("x") -> country:"Fra¦', ['"France"'], []),
    ('year:"¦', ['"2020"', '"2000"'], []),
    ("country#F¦", ["#FIN", "#FJI", "#FRA"], ["#DEU"]),
    ('country#"F¦', ["#FIN"], ["#DEU"]),
    ("country#¦", ["#AFG"], []),
    ("country #¦", [], []),  # a comment
    ('city:"no such city¦', [], []),
    # saved sets
    ("@¦", ["`big ones`", "gone", "seas"], ["country"]),
    ("@se¦", ["seas"], ["gone"]),
    ("@`big¦", ["`big ones`"], ["seas"]),
    ("country & @s¦", ["seas"], []),
]  # fmt: skip


@pytest.mark.parametrize(("row", "expected", "absent"), ANSWERS, ids=[row[0] for row in ANSWERS])
def test_answers(words: Vocabulary, row: str, expected: list[str], absent: list[str]) -> None:
    check(row, expected, absent, words, "answers")


@pytest.mark.parametrize(
    ("row", "expected", "absent"),
    [
        ("person -> [order{¦", ["quantity", "since", "source", "missing("], ["weight", "max ", "count(-> "]),
        ("person -> [order{quantity ¦", ["= ", "> "], ["contains "]),
        ("person -> [order{quantity > 2, so¦", ["source"], ["since"]),
        ("person -> [order{quantity in [1, 2] ¦", ["} ", ", "], []),
        ("person -> [takes|order{source = 'a}]'}] -> ¦", ["drug"], ["person"]),
        ("person{count(-> [order{¦", ["quantity"], ["name"]),
        ("person -> [order ¦", ["]", "{"], []),
        ("person -> [takes ¦", ["]"], ["{"]),
        ("disease -> [`is treated by`{¦", ["since"], ["quantity"]),
    ],
)
def test_attributes_of_edges(small: KnowledgeBase, row: str, expected: list[str], absent: list[str]) -> None:
    check(row, expected, absent, Vocabulary.of(small), "answers")


def test_candidates_have_descriptions(words: Vocabulary) -> None:
    found = {c.text: c for c in offered("country -> ¦", words, "answers")}
    assert found["city"].meta == "by capital"
    assert found["[capital]"].meta == "has the capital; country -> city"
    assert found["[capital]"].display == "capital"
    assert offered("mountain¦", words, "answers")[0].meta == "type, 322 nodes"
    assert offered("country{area¦", words, "answers")[0].meta == "DOUBLE"
    assert offered('country:"Fran¦', words, "answers")[0].meta == "country#FRA"
    assert offered('country:"UK¦', words, "answers")[0].meta == "country#GBR (UK)"


# -- SQL --------------------------------------------------------------------------------------------------------------

SQL: list[tuple[str, list[str], list[str]]] = [
    ("¦", ["SELECT", "FROM", "WITH", "DESCRIBE"], ["WHERE", "country"]),
    ("sel¦", ["select"], ["FROM"]),
    ("SEL¦", ["SELECT"], ["FROM"]),
    ("SELECT 1; ¦", ["SELECT", "FROM"], ["WHERE"]),
    # tables
    ("FROM ¦", ["_", "mountain", "country", "member_of", "nodes"], ["WHERE", "name", "JOIN"]),
    ("FROM bor¦", ["borders"], ["country"]),
    ("SELECT * FROM country, ci¦", ["city"], ["country"]),
    ("SELECT * FROM country JOIN ¦", ["mountain", "borders"], ["ON", "name"]),
    ("SELECT * FROM country c LEFT JOIN ca¦", ["capital"], ["country"]),
    ("DESCRIBE mou¦", ["mountain"], []),
    ("SUMMARIZE mou¦", ["mountain"], []),
    ("EXPLAIN SELECT * FROM mou¦", ["mountain"], []),
    ("FROM ans¦", ["answer_members", "answer_sets"], []),
    ("WITH big AS (SELECT 1 AS x) SELECT * FROM b¦", ["big", "borders"], []),
    ("SELECT * FROM (SELECT * FROM mou¦", ["mountain"], []),
    ('FROM "cou¦', ['"country"'], ["country"]),
    # columns of the tables that the statement names, wherever it does
    ("SELECT ¦ FROM country", ["*", "id", "key", "name", "official_name", "DISTINCT"][1:], ["height_m", "head"]),
    ("SELECT area¦ FROM country", ["area_km2"], ["length_km"]),
    ("SELECT name, of¦\nFROM country", ["official_name"], ["height_m"]),
    ("SELECT c.¦ FROM country c", ["area_km2", "name"], ["count(", "head", "c.area_km2"]),
    ("SELECT c.of¦ FROM country AS c", ["official_name"], ["area_km2"]),
    ("SELECT country.of¦ FROM country", ["official_name"], []),
    ("SELECT C.of¦ FROM COUNTRY C", ["official_name"], []),
    ('SELECT "c".of¦ FROM country "c"', ["official_name"], []),
    ("SELECT c.\"of¦ FROM country c", ['"official_name"'], ["official_name"]),
    ("FROM country c JOIN borders b ON b.¦", ["head", "tail"], ["name", "id"]),
    ("FROM country c JOIN borders b ON ¦", ["c.id", "c.name", "b.head", "b.tail"], ["head", "height_m"]),
    ("FROM country c JOIN city t USING (¦", ["c.id"], ["head"]),
    ("SELECT na¦ FROM country c JOIN city t ON true", ["c.name", "t.name"], ["name"]),
    ("SELECT * FROM country WHERE ¦", ["name", "area_km2", "NOT", "lower("], ["height_m", "WHERE"]),
    ("SELECT * FROM country WHERE area_km2 > 5 AND of¦", ["official_name"], []),
    ("SELECT * FROM country WHERE (na¦", ["name"], []),
    ("SELECT count(¦ FROM country", ["name", "*"], ["height_m"]),
    ("SELECT lower(na¦) FROM country", ["name"], []),
    ("SELECT * FROM mountain GROUP BY ra¦", ["range"], []),
    ("SELECT * FROM mountain ORDER BY he¦", ["height_m"], ["area_km2"]),
    ("SELECT * FROM mountain ORDER BY height_m DESC, na¦", ["name"], []),
    ("SELECT * FROM _ WHERE ra¦", ["rank"], ["range"]),
    ("SELECT * FROM edges WHERE ¦", ["head", "relation", "tail", "role", "since"], ["name"]),
    ("WITH b AS (SELECT name, area_km2 AS big FROM country) SELECT ¦ FROM b", ["name", "big"], ["area_km2"]),
    ("SELECT x.¦ FROM (SELECT name AS a, key FROM country) x", ["a", "key"], ["name"]),
    ("SELECT (SELECT max(height_m) FROM mountain WHERE na¦) FROM country c", ["mountain.name", "c.name"], []),
    ("SELECT * FROM country WHERE id IN (SELECT he¦ FROM borders)", ["head"], ["height_m"]),
    ("SELECT 1 FROM mountain; SELECT na¦ FROM country", ["name"], ["height_m"]),
    ("SELECT nothing.¦ FROM country", [], []),
    # functions and keywords
    ("SELECT coun¦ FROM country", ["count(", "count_if("], []),
    ("SELECT lev¦", ["levenshtein("], []),
    ("FROM country ¦", ["WHERE", "JOIN", "LEFT JOIN", "GROUP BY", "ORDER BY", "LIMIT"], ["name", "country"]),
    ("from country ¦", ["where", "join", "limit"], ["WHERE"]),
    ("FROM country w¦", ["where"], ["WHERE", "JOIN"]),
    ("FROM country c JOIN city t ¦", ["ON", "USING ("], ["name"]),
    ("FROM country LEFT ¦", ["JOIN", "OUTER JOIN"], ["WHERE"]),
    ("SELECT name ¦", ["FROM", "AS"], ["SELECT"]),
    ("SELECT * ¦", ["FROM"], ["name"]),
    ("SELECT name FROM country WHERE name ¦", ["AND", "IN (", "LIKE", "IS NULL"], ["name"]),
    ("SELECT name FROM country WHERE name IS ¦", ["NULL", "NOT NULL"], ["name"]),
    ("FROM country GROUP ¦", ["BY", "BY ALL"], ["name"]),
    ("FROM country ORDER BY name ¦", ["ASC", "DESC", "LIMIT"], ["name"]),
    ("FROM country ORDER BY name DESC ¦", ["LIMIT"], ["name"]),
    ("FROM country LIMIT 5 ¦", ["OFFSET"], ["name"]),
    ("SELECT * FROM country WHERE id IN (¦", ["name", "SELECT"], []),
    ("SELECT * FROM (¦", ["SELECT", "FROM"], ["name"]),
    ("SELECT * FROM a UNION ALL ¦", ["SELECT", "FROM"], ["WHERE"]),
    ("WITH a AS (SELECT 1) ¦", ["SELECT", "FROM"], ["WHERE", "AS ("]),
    ("WITH a ¦", ["AS ("], ["SELECT"]),
    ("SELECT rank() OVER (¦", ["PARTITION BY", "ORDER BY"], ["name"]),
    ("SELECT rank() OVER (PARTITION ¦", ["BY"], ["name"]),
    ("SELECT name::¦ FROM country", ["VARCHAR", "BIGINT"], ["name"]),
    ("EXPLAIN ¦", ["SELECT", "FROM", "ANALYZE"], ["name"]),
    ("SELECT count(*) AS total FROM country ORDER BY tot¦", ["total"], ["name"]),
    ("WITH b AS (FROM country SELECT name AS a) SELECT ¦ FROM b", ["a"], ["name"]),
    # names in strings
    ("SELECT * FROM country WHERE name = 'Fra¦", ["'France'"], ["'Germany'"]),
    ("SELECT * FROM country c WHERE c.name = 'fra¦", ["'France'"], []),
    ("SELECT * FROM country c JOIN city t ON true WHERE t.name = 'Par¦", ["'Paris'"], ["'Paraguay'"]),
    ("SELECT * FROM country WHERE name IN ('France', 'Ger¦", ["'Germany'"], []),
    ("SELECT * FROM nodes WHERE name = 'Fra¦", ["'France'"], []),
    ("SELECT * FROM country WHERE name = 'ivory¦", ["'Côte d''Ivoire'"], []),
    ("SELECT * FROM nodes WHERE type = 'c¦", ["'city'", "'country'"], ["'sea'"]),
    ("SELECT * FROM edges WHERE relation = 'bor¦", ["'borders'"], ["'capital'"]),
    ("SELECT * FROM country WHERE name = 'fra¦' AND id > 5", ["'France"], ["'France'"]),
    ("SELECT \"of¦\" FROM country", ['"official_name'], ['"official_name"']),
    ("SELECT * FROM country WHERE official_name = 'Fra¦", [], []),
    ("SELECT 'Fra¦", [], []),
    ("SELECT * -- FROM ¦", [], []),
    ("SELECT /* FROM ¦", [], []),
    ("SELECT * FROM country WHERE area_km2 > 12¦", [], []),
    ("SELECT $na¦", [], []),
    ("FROM country -- nothing\n ¦", ["WHERE"], []),
]  # fmt: skip


@pytest.mark.core
@pytest.mark.parametrize(("row", "expected", "absent"), SQL, ids=[row[0] for row in SQL])
def test_sql(words: Vocabulary, row: str, expected: list[str], absent: list[str]) -> None:
    check(row, expected, absent, words, "sql")


def test_columns_come_with_their_types(words: Vocabulary) -> None:
    assert offered("SELECT area¦ FROM country c", words, "sql")[0].meta == "DOUBLE of c"
    assert offered("SELECT c.area¦ FROM country c", words, "sql")[0].meta == "DOUBLE"
    assert offered("FROM mount¦", words, "sql")[0].meta == "type, 322 nodes"


# -- SPARQL -----------------------------------------------------------------------------------------------------------

SPARQL: list[tuple[str, list[str], list[str]]] = [
    ("¦", ["SELECT", "PREFIX", "ASK"], ["WHERE"]),
    ("sel¦", ["select"], []),
    ("SELECT ¦", ["DISTINCT", "*", "WHERE {"], ["SELECT"]),
    ("SELECT ¦ { ?c rel:borders ?n }", ["?c", "?n", "DISTINCT"], []),
    ("SELECT DISTINCT ¦ { ?c rel:borders ?n }", ["?c", "?n"], []),
    ("ASK ¦", ["WHERE {", "{"], []),
    ("SELECT * WHERE { ¦", ["country:", "OPTIONAL {", "FILTER("], ["rel:borders", "SELECT ("]),
    ("SELECT * WHERE { cou¦", ["country:"], ["city:"]),
    ("SELECT * WHERE { opt¦", ["optional {"], []),
    ("SELECT * WHERE { ?c ¦", ["rel:member_of", "rel:borders", "rel:capital"], ["type:country", "?c ", "OPTIONAL {"]),
    ("SELECT * WHERE { ?c bor¦", ["rel:borders"], ["rel:capital"]),
    ("SELECT * WHERE { ?c area¦", ["attr:area_km2"], ["rel:borders"]),
    ("SELECT * WHERE { ?c rel:¦", ["rel:member_of", "rel:borders"], ["attr:area_km2", "type:country"]),
    ("SELECT * WHERE { ?c rel:of¦", ["rel:member_of", "rel:part_of"], ["rel:borders"]),
    ("SELECT * WHERE { ?c attr:¦", ["attr:area_km2", "attr:height_m"], ["rel:borders"]),
    ("SELECT * WHERE { ?c rel:borders ?n ; ¦", ["rel:borders", "attr:area_km2"], ["country:"][1:]),
    ("SELECT * WHERE { ?c rel:borders ?n . ?n cap¦", ["rel:capital"], ["rel:borders"]),
    ("SELECT * WHERE { ?c rel:borders/¦", ["rel:borders", "rel:capital"], []),
    ("SELECT * WHERE { ?c ^cap¦", ["rel:capital"], ["rel:borders"]),
    ("SELECT * WHERE { ?c (rel:borders|cap¦", ["rel:capital"], ["rel:borders"]),
    ("SELECT * WHERE { ?c (rel:borders|rel:capital)+ ¦", ["?c"], ["rel:capital"]),
    ("SELECT * WHERE { ?c a ¦", ["type:mountain", "type:country", "?c"], ["rel:borders"]),
    ("SELECT * WHERE { ?c rdf:type cou¦", ["type:country"], ["type:city"]),
    ("SELECT * WHERE { ?c kb:type type:c¦", ["type:city", "type:country"], ["type:sea"]),
    ("SELECT * WHERE { ?c kb:¦", ["kb:key", "kb:type"], ["rel:borders"]),
    ("SELECT * WHERE { ?c rdfs:la¦", ["rdfs:label"], ["rdfs:comment"]),
    ("SELECT * WHERE { ?c rel:capital ¦", ["city:", "?c", "country:"], ["rel:borders"]),  # where it leads, first
    ("SELECT * WHERE { ?c rel:borders country:F¦", ["country:FIN", "country:FRA"], ["country:DEU"]),
    ("SELECT * WHERE { ?c rel:borders country:Fran¦", ["country:FRA"], ["country:DEU"]),
    ("SELECT * WHERE { ?c rel:borders country:United_K¦", ["country:GBR"], []),
    ("SELECT * WHERE { ?c rel:borders ?n ¦", [". ", "; ", ", "], ["rel:borders"]),
    ("SELECT * WHERE { ?c rel:borders ?¦", ["?c"], []),
    ("SELECT ?first WHERE { ?fi¦", ["?first"], []),
    ("SELECT * WHERE { ?c rel:borders ?n FILTER(¦", ["?c", "?n", "CONTAINS("], ["rel:borders"]),
    ("SELECT * WHERE { ?c rel:borders ?n FILTER(str¦", ["strstarts("], []),
    ("SELECT * WHERE { ?c rel:borders ?n FILTER(?n != ?c) ¦", ["country:", "OPTIONAL {"], ["rel:borders"]),
    ("SELECT * WHERE { ?c rel:borders ?n FILTER ¦", ["NOT EXISTS {", "EXISTS {", "("], ["rel:borders"]),
    ("SELECT * WHERE { OPTIONAL { ?c ¦", ["rel:borders"], []),
    ("SELECT * WHERE { ?c rel:capital [ ¦", ["rel:borders"], []),
    ("SELECT * WHERE { VALUES ?c { cou¦", ["country:"], ["rel:borders"]),
    ("SELECT * WHERE { ?c rel:borders ?n } ¦", ["ORDER BY", "LIMIT"], ["rel:borders", "SELECT"]),
    ("SELECT * WHERE { ?c rel:borders ?n } ORDER ¦", ["BY"], ["LIMIT"]),
    ("SELECT * WHERE { ?c rel:borders ?n } ORDER BY ¦", ["?c", "?n", "DESC("], ["rel:borders"]),
    ("SELECT * WHERE { ?c rel:borders ?n } GROUP BY ?c ¦", ["ORDER BY", "LIMIT"], ["rel:borders", "DESC("]),
    ("SELECT * { ?c rel:borders ?n } LIMIT ¦", [], []),
    ("DESCRIBE cou¦", ["country:"], ["SELECT"]),
    ("PREFIX r: <http://example.org/world/rel/> SELECT * { ?c r:bor¦", ["r:borders"], ["rel:borders"]),
    ("PREFIX r: <http://example.org/world/rel/> SELECT * { ?c bor¦", ["r:borders"], ["rel:borders"]),
    ("PREFIX : <http://example.org/world/rel/> SELECT * { ?c :bor¦", [":borders"], ["rel:borders"]),
    ("PREFIX rel: <http://elsewhere/> SELECT * { ?c rel:bor¦", [], []),
    ("PREFIX mine: <http://x/> SELECT * { mi¦", ["mine:"], []),
    ("SELECT * WHERE { ?c nosuch:¦", [], []),
    ('SELECT * WHERE { ?c rdfs:label "Fra¦', [], []),
    ("SELECT * WHERE { ?c <http://¦", [], []),
    ("SELECT * # ?c ¦", [], []),
    ("SELECT * { ?s rdfs:label 'a'@e¦", [], []),
    ("SELECT * { SERVICE¦", ['SERVICE kb:search { ?item kb:matches "" }', "SERVICE"], []),
]  # fmt: skip


@pytest.mark.parametrize(("row", "expected", "absent"), SPARQL, ids=[row[0] for row in SPARQL])
def test_sparql(words: Vocabulary, row: str, expected: list[str], absent: list[str]) -> None:
    check(row, expected, absent, words, "sparql")


WIKIDATA: list[tuple[str, str, list[str], list[str]]] = [
    ("sparql", "SELECT * { ?s wdt:date¦", ["wdt:P569", "wdt:P570"], ["wdt:P19"]),
    ("sparql", "SELECT * { ?s wdt:P56¦", ["wdt:P569"], ["wdt:P19"]),
    ("sparql", "SELECT * { ?s p:P69/ps:educ¦", ["ps:P69"], ["wdt:P69"]),
    ("sparql", "SELECT * { ?s birth¦", ["wdt:P569", "wdt:P19"], ["wdt:P31"]),
    ("sparql", "SELECT * { wd:Doug¦", ["wd:Q42"], []),
    ("sparql", "SELECT * { wd:Douglas_Ad¦", ["wd:Q42"], []),
    ("sparql", "SELECT * { wd:Q42¦", ["wd:Q42"], []),
    ("sparql", "SELECT * { ?s wdt:P31 hum¦", ["wd:Q5"], []),
    ("sparql", "SELECT * { ser¦", ['SERVICE wikibase:label { bd:serviceParam wikibase:language "en". }'], []),
    ("answers", "human -> [birth¦", ["P19"], ["P69"]),
    ("answers", "human{date¦", ["P569"], []),
    ("answers", "physicist -> [¦] -> sovereign_state", ["P27"], ["P569"]),  # people have their other types too
    ("answers", "sovereign_state <- ¦", ["human", "physicist"], []),
    ("sql", "SELECT * FROM statements WHERE sub¦", ["subject"], []),
    ("sql", "SELECT P56¦ FROM human", ["P569"], []),
]


def test_wikidata(wikidata_kb: Path) -> None:
    with kbkit.open(wikidata_kb) as kb:
        known = Vocabulary.of(kb)
        for language, row, expected, absent in WIKIDATA:
            found = [c.text for c in offered(row, known, language)]
            assert set(expected) <= set(found), (row, found)
            assert not set(absent) & set(found), (row, found)
        assert offered("SELECT * { ?s wdt:date¦", known, "sparql")[0].meta == "date of birth"
        [item] = offered("SELECT * { wd:Doug¦", known, "sparql")
        assert item.display == "wd:Q42 Douglas Adams"


def test_rdf(rdf_kb: Path) -> None:
    """The names are the source's own: IRIs, or what the query's prefixes make of them."""
    with kbkit.open(rdf_kb) as kb:
        known = Vocabulary.of(kb)
        declared = "PREFIX ex: <http://example.org/tiny/> "
        types = [c.text for c in offered(declared + "SELECT * { ?s a ¦", known, "sparql")]
        assert types[:2] == ["ex:Drug", "ex:Disease"]
        for row in ("ASK { ?s ¦", declared + "ASK { ?s ¦", declared + "ASK { ?s ex:¦"):
            found = [c.text for c in offered(row, known, "sparql")]
            whole = "ex:takes" if "ex" in row else "<http://example.org/tiny/takes>"
            assert whole in found
            for text in found:
                if re.match("<|ex:[a-z]", text):
                    assert kb.sparql(f"{declared} SELECT ?o {{ ?s {text} ?o }} LIMIT 1").height == 1, text
        row = "PREFIX p: <http://example.org/tiny/person/> ASK { p:Zo¦"
        assert {c.text for c in offered(row, known, "sparql")} == {"p:1", "p:p2"}


# -- search and commands ----------------------------------------------------------------------------------------------

OTHERS: list[tuple[str, str, list[str], list[str]]] = [
    ("search", "Nep¦", ["Nepal", "Nepali"], []),
    ("search", "rivers of united k¦", ["United Kingdom"], ["Kingston"]),
    ("search", "rivers in franc¦", ["France"], []),
    ("search", "rivers in sao tome¦", ["São Tomé"], []),
    ("search", "n¦", [], ["Nepal"]),
    ("search", "¦", [], []),
    ("search", "rivers ¦", [], ["country"]),
    ("search", "coun¦", ["country"], []),
    ("search", "sel¦", ["select"], []),
    ("search", "FROM mount¦", ["mountain"], []),
    ("search", '"Nep¦', ["Nepal"], []),
    ("command", ".¦", [".show ", ".quit"], []),
    ("command", ".sh¦", [".show "], [".schema "]),
    ("command", "  .sh¦", [".show "], []),
    ("command", ".s¦how", [".show ", ".schema "], [".quit"]),
    ("command", ".quit ¦", [], []),
    ("command", ".nosuch ¦", [], []),
    ("command", ".show Nep¦", ["Nepal"], []),
    ("command", ".show united k¦", ["United Kingdom"], []),
    ("command", '.show "united k¦', ["United Kingdom"], []),
    ("command", ".show country:Nep¦", ["country:Nepal"], ["country:Nepali"]),
    ("command", ".show country#F¦", ["country#FIN", "country#FRA"], []),
    ("command", ".show 2000¦", ["year#2000"], ["2000"]),  # a number leads elsewhere
    ("command", ".show ¦", [], []),
    ("command", ".schema bor¦", ["borders"], ["country"]),
    ("command", ".schema ¦", ["mountain", "country", "member_of"], []),
    ("command", ".join cap¦", ["capital"], ["country"]),
    ("command", ".join coun¦", [], ["country"]),
    ("command", ".mode s¦", ["sql", "sparql", "search"], ["answers"]),
    ("command", ".mode ¦", ["auto", "sql", "sparql", "answers", "search"], []),
    ("command", ".mode sql ¦", [], []),
    ("command", ".format j¦", ["json"], ["csv"]),
    ("command", ".timing ¦", ["on", "off"], []),
    ("command", ".rows 1¦", [], []),
    ("command", ".queries world/la¦", ["world/landlocked"], []),
    ("command", ".queries landl¦", ["world/landlocked"], ["world/islands"]),
    ("command", ".sets ¦", ["big ones", "gone", "seas"], []),
    ("command", ".sets @se¦", ["seas"], ["gone"]),
    ("command", ".help ans¦", ["answers"], ["show"]),
    ("command", ".help sh¦", ["show"], ["quit"]),
    ("command", ".help .sh¦", ["show"], ["answers"]),
    ("command", ".about .q¦", ["quit"], ["show"]),
    ("command", ".explain country -> ci¦", ["city"], ["river"]),
    ("command", ".explain SELECT na¦ FROM country", ["name"], []),
    ("command", ".explain FROM mou¦", ["mountain"], []),
    ("command", ".explain ASK { ?s bor¦", ["rel:borders"], []),
    ("command", ".explain cou¦", ["country"], []),
    ("command", ".members country -> [¦", ["borders"], ["part_of"]),
    ("command", ".path on Nep¦", ["Nepal"], []),
    ("command", ".path o¦", ["on", "off"], []),
    ("sql", ".sh¦", [".show "], []),
]


@pytest.mark.parametrize(("language", "row", "expected", "absent"), OTHERS, ids=[" ".join(row[:2]) for row in OTHERS])
def test_search_and_commands(
    words: Vocabulary, language: str, row: str, expected: list[str], absent: list[str]
) -> None:
    check(row, expected, absent, words, language)


def test_every_kind_of_argument_has_candidates(words: Vocabulary, tmp_path: Path) -> None:
    """But for those of which there is no list."""
    (tmp_path / "x.kb").mkdir()
    typed = {
        **{Argument.NODE: "Nep", Argument.EXPRESSION: "cou", Argument.STATEMENT: "cou", Argument.TOPIC: "an"},
        **{Argument.QUESTION: "Is Nep"},
        **{Argument.FILE: f"{tmp_path}/", Argument.KB: f"{tmp_path}/", Argument.TEMPLATE: ""},
    }
    for kind in each(Argument):
        command = {"x": CommandWords("x", (kind,), "")}
        known = Vocabulary(words.schema, command, *(getattr(words, n) for n in ("names", "keys", "sets", "queries")))
        known = Vocabulary(**{**vars_of(known), "templates": words.templates, "topics": words.topics})
        found = offered(f".x {typed.get(kind, '')}¦", known, "command")
        assert bool(found) == (kind not in (Argument.NONE, Argument.NUMBER)), kind


def vars_of(vocabulary: Vocabulary) -> dict[str, Any]:
    names = ("schema", "commands", "names", "keys", "sets", "queries", "templates", "topics")
    return {name: getattr(vocabulary, name) for name in names}


def test_text_that_is_not_a_statement(words: Vocabulary) -> None:
    for language in (*LANGUAGES, "command", "no such language", ""):
        for text, at in (("", 0), ("", 5), ("abc", -3), ("abc", 99)):
            for c in complete(text, at, words, language):
                assert 0 <= c.start <= len(text)
    assert complete("abc", 3, words, "no such language") == []
    prepare(words)


# -- files ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("plain.sql", "Plain.csv", "two words.sql", "it's.sql", ".hidden", 'quo"te', "back\\slash", "$HOME"):
        (tmp_path / name).write_text("")
    (tmp_path / "a folder").mkdir()
    (tmp_path / "a folder" / "in it.rq").write_text("")
    (tmp_path / "my.kb").mkdir()
    (tmp_path / "my.kb" / "CURRENT").write_text("0001")
    (tmp_path / "old.kb").mkdir()
    return tmp_path


def test_files_by_hand(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(folder))
    assert [c.text for c in files("pl", 0)] == ["plain.sql", "Plain.csv"]
    assert [c.text for c in files("two", 0)] == ["'two words.sql'"]
    assert [c.text for c in files("two\\ w", 0)] == ["'two words.sql'"]
    assert [c.text for c in files('"two w', 0)] == ['"two words.sql"']
    assert [c.text for c in files(".h", 0)] == [".hidden"]
    assert ".hidden" not in [c.text for c in files("", 0)]
    assert [c.text for c in files("a", 0)] == ["'a folder/"]  # open, so that what is in it may follow
    assert [c.text for c in files("'a folder/", 0)] == ["'a folder/in it.rq'"]
    assert [c.text for c in files("~/pl", 3)] == ["~/plain.sql", "~/Plain.csv"]
    assert [(c.text, c.start, c.meta) for c in files("", 3, kb=True)] == [
        ("my.kb", 3, "KB"),
        ("old.kb/", 3, "folder"),
        ("'a folder/", 3, "folder"),
    ]
    for strange in ("no/such/", "\x00", "~nosuchuser/", "'", '"', "plain.sql/x", "x" * 5000):
        assert all(c.start == 0 for c in files(strange, 0))
    assert files("~nosuchuser/", 0) == files("no/such/", 0) == []


def test_an_accepted_file_name_is_one_word(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    names = sorted(p.name for p in folder.iterdir() if p.is_file() and not p.name.startswith("."))
    for mark in ("", "'", '"'):
        found = [c.text for c in files(mark, 0) if not c.meta]
        assert sorted(shlex.split(" ".join(found))) == names
        assert [shlex.split(text) for text in found] == [[shlex.split(text)[0]] for text in found]


# -- every candidate is right -----------------------------------------------------------------------------------------


def test_the_columns_are_those_of_the_tables(words: Vocabulary, world: KnowledgeBase) -> None:
    for table, _ in each(words.tables()):
        if table != "_":
            described = world.sql(f'DESCRIBE "{table}"').select("column_name", "column_type").rows()
            expected = [(name, "VARCHAR" if "ENUM" in kind else kind) for name, kind in described]
            assert list(words.columns(table)) == expected, table


def test_tables_and_columns_run(words: Vocabulary, world: KnowledgeBase) -> None:
    for c in each(offered("FROM ¦", words, "sql")):
        if c.text != "_" and not c.text.endswith("("):
            assert world.sql(f"FROM {c.text} LIMIT 1").height <= 1
    for c in offered("SELECT ¦ FROM mountain m", words, "sql"):
        if c.meta.endswith(" of m"):
            world.sql(f"SELECT {c.text} FROM mountain m LIMIT 1")


def test_relations_attributes_and_types_are_in_the_triples(words: Vocabulary, world: KnowledgeBase) -> None:
    for prefix in ("rel", "attr"):
        found = offered(f"ASK {{ ?s {prefix}:¦", words, "sparql")
        assert found
        for c in found:
            assert world.sparql(f"SELECT ?o {{ ?s {c.text} ?o }} LIMIT 1").height == 1, c.text
    for c in offered("ASK { ?s a type:¦", words, "sparql"):
        assert world.sparql(f"SELECT ?s {{ ?s a {c.text} }} LIMIT 1").height == 1, c.text
    for c in offered("ASK { ?s a country:F¦", words, "sparql"):
        assert world.sparql(f"SELECT ?l {{ {c.text} rdfs:label ?l }}").height == 1, c.text


def test_words_of_duckdb() -> None:
    with duckdb.connect() as con:
        keywords = [word for (word,) in con.execute("SELECT keyword_name FROM duckdb_keywords()").fetchall()]
        assert set(keywords) > RESERVED
        for word in keywords:
            con.execute(f"SELECT {identifier(word)} FROM (SELECT 1 AS {quote(word)})")
            con.execute(f"WITH {quote(word)} AS (SELECT 1) FROM {identifier(word)}")
        functions = {name for (name,) in con.execute("SELECT function_name FROM duckdb_functions()").fetchall()}
        assert set(sql_words.FUNCTIONS) - functions - {"coalesce", "cast", "try_cast", "ifnull", "nullif"} == set()
        for name in ("coalesce(1, 2)", "cast(1 AS VARCHAR)", "try_cast(1 AS VARCHAR)", "ifnull(1, 2)", "nullif(1, 2)"):
            con.execute(f"SELECT {name}")
        for name in ("plain", "Größe", "two words", 'quo"te', "order", "Left", "1st", "", "a.b", "_x"):
            if name:
                con.execute(f"SELECT {identifier(name)} FROM (SELECT 1 AS {quote(name)})")
    assert identifier("area_km2") == "area_km2"


# -- any text ---------------------------------------------------------------------------------------------------------

_PIECES = st.sampled_from(
    [
        *("country city river borders capital flows_into area_km2 name in missing not all a".split()),  # noqa: SIM905
        *("SELECT FROM WHERE JOIN ON ORDER BY WITH AS rel: country:F wd: ?x 12 2.5e".split()),  # noqa: SIM905
        *("-> <- → ← [ ] ( ) { } : # @ ! ^ * + | & - , . ; ? $ \" ' ` < > = <= != /* */ -- #".split()),  # noqa: SIM905
        *(".show .schema .save .explain \"France\" 'x' <slot>".split()),  # noqa: SIM905
        *("\\", "\ud800", "\x00", "é", "人", "\u202e", "\n", "\t"),
    ]
)
_LISTS = st.lists(_PIECES, max_size=14)
_TEXT = st.one_of(st.text(max_size=60), _LISTS.map(" ".join), _LISTS.map("".join))


def light(words: Vocabulary) -> Vocabulary:
    """The same schema; names from a list, not from the stores: this is about the text."""
    nodes = [NamedNode("France", "country", "FRA"), NamedNode('a "b"', "city", "x y"), NamedNode("a\nb", "sea", "1")]

    def names(typed: str, node_type: str | None, limit: int) -> list[NamedNode]:
        return [n for n in nodes if node_type in (None, n.type) and n.name.startswith(typed)][:limit]

    return Vocabulary(words.schema, COMMANDS, names, names, words.sets)


@examples(30)
@given(text=_TEXT, where=st.floats(0, 1), language=st.sampled_from([*LANGUAGES, "command"]))
def test_any_text(words: Vocabulary, text: str, where: float, language: str) -> None:
    at = round(where * len(text))
    if "~" in text or "/" in text:
        return  # files of this machine
    schema, found = words.schema, complete(text, at, light(words), language)
    assert len(found) <= LIMIT
    for c in found:
        assert 0 <= c.start <= at
        assert c.text
        assert one_line(c.display or c.text)
        assert not re.search(r"[\x00-\x1f\x7f-\x9f]", c.display or c.text) and c.meta.isprintable()
    if language == "answers":
        types, relations = {t.name for t in schema.node_types}, {r.name for r in schema.relations}
        for c in found:
            if c.meta.startswith(("type, ", "by ")):
                assert c.text.strip("`") in types  # a backtick that is closed already is not repeated
            if c.text.startswith("[") and c.text.endswith("]"):
                assert c.text[1:-1] in relations


def test_a_very_long_text(words: Vocabulary) -> None:
    for language in (*LANGUAGES, "command"):
        long = ("x" * 1_000_000, "country -> [" * 100_000, "(" * 300_000, "'\"" * 300_000, " " * 500_000 + "SELECT ")
        for text in long:
            for c in complete(text, len(text), words, language):
                assert len(text) - 20_000 <= c.start <= len(text)
    text = " " * 500_000 + "SELECT na FROM country"
    at = text.index("na") + 2
    assert Candidate("name", at - 2, meta="VARCHAR of country") in complete(text, at, words, "sql")
    assert complete(". " + "x" * 100_000, 50_000, words, "answers") == []


# -- an expression that holds stays one -------------------------------------------------------------------------------


@st.composite
def expressions(draw: st.DrawFn, schema: Schema) -> list[str]:
    """The tokens of an expression that resolves: a path, maybe with a name and another set joined to it."""
    here = draw(st.sampled_from([t.name for t in schema.node_types]))
    tokens = [here]
    for _ in range(draw(st.integers(0, 4))):
        around = [(r, s, f) for r in schema.relations for s in r.signatures for f in (True, False)]
        ways = [(r, s.tail if f else s.head, f) for r, s, f in around if (s.head if f else s.tail) == here]
        if not ways:
            break
        relation, there, forward = draw(st.sampled_from(ways))
        loop = any(s.head == s.tail == here == there for s in relation.signatures)
        step = [relation.name] if forward or not loop else ["^", relation.name]
        tokens += [" -> ", "[", *step, "]", " -> ", there]
        here = there
    if draw(st.booleans()):
        tokens = ["(", *tokens, ")", draw(st.sampled_from([" & ", " | ", " - "])), here]
    return tokens


@examples(30)
@given(data=st.data())
def test_candidates_are_complete_and_valid(words: Vocabulary, data: st.DataObject) -> None:
    schema = words.schema
    tokens = data.draw(expressions(schema))
    resolve(parse("".join(tokens)), schema)  # the expression is right
    places = [i for i, token in enumerate(tokens) if re.fullmatch(r"\w+", token)]
    i = data.draw(st.sampled_from(places))
    letters = data.draw(st.integers(0, len(tokens[i])))
    before, rest = "".join(tokens[:i]), "".join(tokens[i + 1 :])
    typed = before + tokens[i][:letters]
    found = complete(typed + rest, len(typed), words, "answers")
    assert tokens[i] in [c.text for c in found], (typed, rest)
    for c in found:
        whole = typed[: c.start] + c.text
        if c.text.endswith("("):  # count(, values( and so on need an end
            continue
        if not c.text.startswith("["):  # a step needs its other end
            parse(whole + rest)
        edge = tokens[i - 1] in ("[", "^") if i else False
        if edge and not c.text.startswith("^"):
            resolve(parse(whole + rest), schema)  # with what stands right of it, too
        elif not edge and not rest and not c.text.startswith("["):
            try:
                resolve(parse(whole), schema)
            except KbError as error:  # the relation has to be said, or the sets of & | - are of two types
                assert "Several relations" in str(error) or "different types" in str(error), whole


# -- hostile names ----------------------------------------------------------------------------------------------------

HOSTILE = [
    'a "b"', "c'd", "e\nf", "g\th\r", "\x1b[31mred", "**bold**", "`tick`", "back\\slash", "x" * 5_000, "--", "/*", "#",
    "->", "<slot>", "{", "]", "ü\u0308", "\u202eright to left", "; DROP TABLE nodes", "  spaces  ", "12", "$x", "a;b",
    "${HOME}", "é",
]  # fmt: skip


def hostile_schema() -> Schema:
    types = tuple(
        NodeType(name, i * 10, 10, 0, name, f"http://x/type/{i}", (Attribute(name, "VARCHAR", name),), name)
        for i, name in enumerate(HOSTILE)
    )
    relations = tuple(
        Relation(f"r {name}", f"r {name}", f"http://x/rel/{i}", 5, 5, (Signature(name, HOSTILE[i - 1], 5),), label=name)
        for i, name in enumerate(HOSTILE)
    )
    return Schema("hostile", "http://x/", types, relations, ())


@pytest.fixture(scope="module")
def hostile() -> Vocabulary:
    nodes = [NamedNode(name, HOSTILE[0], f"k {name}", name) for name in HOSTILE]
    nodes += [NamedNode("twice", HOSTILE[0], "1"), NamedNode("twice", HOSTILE[0], "#2 \n")]

    def names(typed: str, node_type: str | None, limit: int) -> list[NamedNode]:
        return [n for n in nodes if n.name.startswith(typed)]

    words = [VocabularyEntry(name, name, name) for name in HOSTILE]
    lists: Callable[[], list[VocabularyEntry]] = lambda: words  # noqa: E731
    columns = [(name, name) for name in HOSTILE]
    return Vocabulary(
        hostile_schema(), COMMANDS, names, names, lists, lists, lists, lists, lambda: columns, lambda _: columns
    )  # fmt: skip


def rows_of_hostile() -> Iterator[tuple[str, str]]:
    for row in ("¦", "(¦", "@¦", "* -> [¦", '*:"¦', *(f'`a "b"`{rest}¦' for rest in (" -> ", " -> [", "{", ':"', "#"))):
        yield "answers", row
    for row in ("FROM ¦", "SELECT ¦ FROM _", "SELECT _.¦ FROM _", "SELECT * FROM nodes WHERE name = '¦", 'FROM "¦'):
        yield "sql", row
    for row in ("SELECT * { ¦", "SELECT * { ?s ¦", "SELECT * { ?s a ¦", "SELECT * { ?s rel:¦", "SELECT * { ?s type:¦"):
        yield "sparql", row
    yield "search", "tw¦"
    for row in (".show ¦", ".show tw¦", ".schema ¦", ".sets ¦", ".queries ¦", ".help ¦"):
        yield "command", row


def test_hostile_names_never_reach_the_menu(hostile: Vocabulary) -> None:
    for c in each((c for language, row in rows_of_hostile() for c in offered(row, hostile, language)), 100):
        for text in (c.display or c.text, c.meta):
            assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e]", text)
        assert len(c.display or c.text) <= 100 and len(c.meta) <= 100


def test_hostile_names_are_quoted_correctly(hostile: Vocabulary) -> None:
    def tree(row: str, c: Candidate) -> Any:
        return parse(row.replace("¦", "")[: c.start] + c.text)

    types = {tree("¦", c).type for c in offered("¦", hostile, "answers") if not c.text.endswith("(")}
    assert types == set(HOSTILE)
    row = '`a "b"`:"¦'
    picks = [tree(row, c) for c in offered(row, hostile, "answers")]
    assert all(isinstance(pick, Nodes) and pick.type == 'a "b"' for pick in picks)
    assert {p.selector.text for p in picks if isinstance(p.selector, Name) and not p.selector.all} == set(HOSTILE)
    assert {p.selector.text for p in picks if isinstance(p.selector, Key)} == {"1", "#2 \n"}
    assert [p.selector.text for p in picks if isinstance(p.selector, Name) and p.selector.all] == ["twice"]
    for c in offered('`a "b"` -> [¦] -> *', hostile, "answers"):
        path = parse('`a "b"` -> [' + c.text + "] -> *")
        assert isinstance(path, PathTree)
        assert path.elements[1].edges[0].relation in {f"r {name}" for name in HOSTILE}  # type: ignore[union-attr]
    for c in offered('`a "b"`{¦', hostile, "answers"):
        if not c.text.endswith(("(", " ")):  # missing(, max and so on
            parse(f'`a "b"`{{{c.text} = 1}}')
    for c in offered("@¦", hostile, "answers"):
        assert parse("@" + c.text).name in HOSTILE  # type: ignore[union-attr]


def test_hostile_names_in_sql(hostile: Vocabulary) -> None:
    with duckdb.connect() as con:
        for c in each(offered("SELECT * FROM nodes WHERE name = '¦", hostile, "sql")):
            [(value,)] = con.execute(f"SELECT {c.text}").fetchall()
            assert value in [*HOSTILE, "twice"]
        for c in offered("SELECT _.¦ FROM _", hostile, "sql"):
            con.execute(f"SELECT _.{c.text} FROM (SELECT 1 AS {c.text}) _")


# -- ranking ----------------------------------------------------------------------------------------------------------


def texts(found: list[Candidate]) -> list[str]:
    return [c.text for c in found]


def test_ranking_by_hand() -> None:
    uses = {"birthPlace": 1, "place": 1, "Place_of_death": 9, "places": 7, "has_place": 5, "workplace": 50}
    items = [CompletionItem(name, weight=count) for name, count in uses.items()]
    items += [CompletionItem("p1", label="place of burial", weight=2), CompletionItem("pxlxaxcxe", weight=99)]
    assert texts(ranked("place", items, 0)) == [
        "places", "place",  # so written, by use
        "Place_of_death",  # in another case
        "has_place", "p1", "birthPlace",  # a word inside, or of the label
        "pxlxaxcxe", "workplace",  # the letters, one after another
    ]  # fmt: skip
    assert texts(ranked("", items, 0))[:2] == ["pxlxaxcxe", "workplace"]
    assert "workplace" not in texts(ranked("pl", items, 0))  # two letters are too few to stand apart
    assert texts(starting("PLACE", items, 0)) == ["place", "Place_of_death", "places"]
    assert texts(layered("pla", 0, [CompletionItem("x_pla")], [CompletionItem("pla_y")])) == ["pla_y", "x_pla"]
    assert texts(
        layered("pla", 0, [CompletionItem("pla1")], exact=[[CompletionItem("x_pla"), CompletionItem("pla0")]])
    ) == ["pla1", "pla0"]
    assert len(ranked("", [CompletionItem(str(i)) for i in range(500)], 0)) == LIMIT


def test_menu_text_is_one_line() -> None:
    assert one_line("a\nb\tc\x1b[0m\u202e d") == "a b c [0m d"
    assert len(one_line("x" * 10_000)) == 80
    assert one_line("\x00\n") == ""


def test_ways_agree_with_resolution(words: Vocabulary) -> None:
    """The types that are offered after ``A ->`` are just those that some relation joins to A."""
    names = [t.name for t in words.schema.node_types]
    for source in each(names):
        found = {c.text for c in offered(f"{source} -> ¦", words, "answers")} & set(names)
        joined = set()
        for target in names:
            try:
                resolve(parse(f"{source} -> {target}"), words.schema)
                joined.add(target)
            except KbError as error:
                if "several relations" in str(error):
                    joined.add(target)
        assert found == joined, source


def test_thousands_of_relations() -> None:
    """No more than a menu holds, the most used first, and only what is there."""
    types = tuple(NodeType(f"type_{i}", i, 1, 0, f"type_{i}", f"http://x/type/{i}") for i in range(300))
    relations = tuple(
        Relation(f"r_{i}", f"r_{i}", f"http://x/rel/r_{i}", i, i, (Signature("type_0", f"type_{i % 300}", i),))
        for i in range(5_000)
    )
    known = Vocabulary(Schema("many", "http://x/", types, relations, ()))
    limit = [f"r_{i}" for i in range(4_999, 4_949, -1)]
    assert [c.text for c in offered("type_0 -> [¦", known, "answers")] == limit
    assert [c.text for c in offered("type_0 -> [¦] -> type_0", known, "answers")][:3] == ["r_4800", "^r_4800", "r_4500"]
    assert [c.text for c in offered("* -> [¦", known, "answers")] == limit
    assert [c.text for c in offered("ASK { ?s rel:¦", known, "sparql")] == [f"rel:{name}" for name in limit]
    assert [c.text for c in offered("type_0 -> [¦] -> type_7", known, "answers")][:2] == ["r_4807", "r_4507"]
    assert offered("type_7 -> ¦", known, "answers")[0].text == "type_0"
    assert [c.text for c in offered("FROM r_12¦", known, "sql")][:2] == ["r_1299", "r_1298"]
    assert [c.text for c in offered(".join 4321¦", known, "command")] == []
    prepare(known)


def test_a_lookup_that_finds_nothing(words: Vocabulary) -> None:
    """A vocabulary of a schema alone: no names, no commands, no last result."""
    bare = Vocabulary(words.schema)
    for language, rows in (("answers", ANSWERS), ("sql", SQL), ("sparql", SPARQL)):
        for row, *_ in rows:
            for c in offered(row, bare, language):
                assert c.text
    assert "_" not in [c.text for c in offered("FROM ¦", bare, "sql")]
    assert offered(".sh¦", bare, "command") == []
    assert bare.columns("no such table") == ()
    assert bare.columns("_") == ()
    assert bare.type("COUNTRY") == "country"
    assert bare.relation("no such") is None
    assert bare.schema.joins_between(None, None) == []
    assert bare.schema.joins_between("no such type", None) == []
