"""Which language a statement is in, when it is whole, and how a script falls into statements."""

from __future__ import annotations

import re
import time
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbkit.executor.languages import (
    COMMAND,
    LANGUAGES,
    Statement,
    body,
    is_complete,
    recognize,
    split,
    without_end,
)
from kbkit.executor.lexers import masked, parameters, tokens
from tests.examples import some
from tests.places import ROOT

TYPES = ["country", "city", "sea", "river", "lake", "mountain", "year", "gene/protein", "language"]

SQL = r"""
SELECT 1
select 1;
 SELECT name FROM country
SeLeCt name
(SELECT 1) UNION (SELECT 2)
((select 1))
( (SELECT 1) )
SELECT * FROM country
SELECT * FROM nodes WHERE name = '?x'
SELECT *, name FROM country
SELECT * EXCLUDE (id) FROM country
SELECT DISTINCT name FROM country
SELECT DISTINCT ON (type) * FROM nodes
SELECT $name
SELECT $name AS a, name FROM country
SELECT count(*) AS n FROM country
SELECT(1)
SELECT 'a -> b'
SELECT {'a': 1}
SELECT [1, 2]
SELECT x -> 'a' FROM t
select
SELECT "a ?b" FROM t
SELECT name, (SELECT count(*) FROM city) AS n FROM country
SELECT (area_km2 / 2) AS half FROM country
SELECT (1) AS $a
SELECT * -- {\nFROM t
SELECT name FROM country WHERE name LIKE '%{%'
SELECT 1 -- ?x {
SELECT/* c */1
WITH a AS (SELECT 1) SELECT * FROM a
with recursive r(n) as (select 1) select * from r
WITH "my table" AS (SELECT 1) FROM "my table"
WITH x AS (FROM country) FROM x
WITH RECURSIVE r(id, steps) USING KEY (id) AS (SELECT 1, 2) FROM r
FROM country
from country;
FROM country SELECT name
FROM country WHERE area_km2 > 1
FROM country ORDER BY name
FROM country LIMIT 3
FROM country AS c WHERE c.id = 1
FROM country JOIN city USING (id)
FROM country NATURAL JOIN city
FROM country, city
FROM country USING SAMPLE 5
FROM country GROUP BY ALL
FROM (SELECT 1)
FROM range(10)
FROM read_csv('x.csv')
FROM 'file.csv'
FROM "gene/protein"
FROM _
FROM _ WHERE id > 3
FROM kb.main.country
VALUES (1, 2)
values(1)
TABLE country
table country;
DESCRIBE country
DESCRIBE SELECT 1
DESC country
SUMMARIZE country
SUMMARIZE SELECT * FROM country
SHOW TABLES
show all tables
PRAGMA table_info('country')
PRAGMA version
EXPLAIN SELECT 1
EXPLAIN ANALYZE SELECT 1
EXPLAIN FROM country
CALL pragma_version()
PIVOT country ON kind
UNPIVOT t ON a, b INTO NAME n VALUE v
SET threads = 2
SET threads TO 2
SET memory_limit='1GB'
RESET threads
CREATE TABLE t (a INT)
CREATE TEMP TABLE t AS SELECT 1
CREATE OR REPLACE VIEW v AS SELECT 1
CREATE MACRO f(x) AS x + 1
INSERT INTO t VALUES (1)
UPDATE t SET a = 1
DELETE FROM t
DROP TABLE t
DROP VIEW IF EXISTS v
ALTER TABLE t ADD COLUMN b INT
TRUNCATE t
COPY t TO 'x.csv'
COPY t (a, b) FROM 'x.csv'
COPY (SELECT 1) TO 'x.csv'
ATTACH 'x.db'
DETACH x
INSTALL spatial
LOAD spatial
IMPORT DATABASE 'x'
CHECKPOINT
BEGIN TRANSACTION
COMMIT;
USE main
-- comment\nSELECT 1
/* a -> b */ SELECT 1
# so written\nSELECT 1
-- country -> city
"""
SPARQL = r"""
SELECT ?x { ?x ?p ?o }
select ?x where { ?x ?p ?o }
SELECT?x{?x ?p ?o}
SELECT * { ?s ?p ?o }
SELECT *{?s ?p ?o}
SELECT * WHERE { ?s ?p ?o }
SELECT * FROM <http://x/g> { ?s ?p ?o }
SELECT * FROM NAMED <http://x/g> { ?s ?p ?o }
SELECT DISTINCT ?x { ?x ?p ?o }
SELECT DISTINCT(?x) { ?x ?p ?o }
SELECT REDUCED ?x { ?x ?p ?o }
SELECT DISTINCT * { ?x ?p ?o }
SELECT $x { $x ?p ?o }
SELECT (count(*) AS ?n) { ?s ?p ?o }
SELECT(count(*) as ?n){?s ?p ?o}
SELECT (COUNT(DISTINCT ?s) as ?n) WHERE { ?s ?p ?o }
SELECT ?x (count(*) AS ?n) { ?x ?p ?o } GROUP BY ?x
SELECT (1 AS ?x) {}
SELECT ?x FROM <http://x> WHERE { ?x ?p ?o }
SELECT ?x WHERE { ?x rdfs:label "from country" }
SELECT ?x\nWHERE\n{ ?x ?p "a;b" }
SELECT ?Größe { ?x ?p ?Größe }
SELECT ?item ?itemLabel WHERE { SERVICE wikibase:label { bd:serviceParam wikibase:language "en". } }
ASK { ?s ?p ?o }
ask{?s ?p ?o}
ASK WHERE { ?s ?p ?o }
ASK FROM <http://x> { ?s ?p ?o }
CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }
CONSTRUCT WHERE { ?s ?p ?o }
DESCRIBE <http://x>
DESCRIBE ?x { ?x ?p ?o }
DESCRIBE country:FRA
DESCRIBE :a
PREFIX a: <http://a> SELECT * { ?s ?p ?o }
prefix : <http://a>
PREFIX a:<x>PREFIX b:<y>ASK{}
BASE <http://a> SELECT ?x { ?x ?p <b> }
# a comment\nSELECT ?x { ?x ?p ?o }
-- a comment\nSELECT ?x { ?x ?p ?o }
#defaultView:Map\nSELECT ?x { ?x ?p ?o }
#defaultView:Map{"hide":"?x"}\nSELECT ?x WHERE { ?x wdt:P31 wd:Q5 }
#title: x\n#defaultView:BarChart\n\nPREFIX wd: <http://www.wikidata.org/entity/>\nSELECT * { ?s ?p ?o }
INSERT DATA { <a> <b> <c> }
DELETE WHERE { ?s ?p ?o }
CLEAR ALL
"""
ANSWERS = r"""
country
COUNTRY
country;
country\r
`country`
`a strange type`
(country)
( country )
(country &
country -
((country))
gene/protein
gene/protein#672
country -> city
country:"France" -> city
country:"France" -> city;
country:"France"
country : "France"
country#FRA
country#FRA # a comment
country:'France'
country:<country>
country:all("Georgia")
country{area_km2 > 3}
lake { area_km2 > 50000 }
country:"France"{area_km2 > 1}
country:"SELECT 1"
(country:"France" -> [borders] -> country) & country
country & country
country | city
sea | lake | river
country - (sea -> country)
@saved
@saved -> country
@a & @b
@`my set`
(@a)
_
_ & country
_ - country
_ -> [borders] -> country
_{area_km2 > 3}
* -> [borders] -> country
*:"France"
*{name = "x"}
`strange type`:"x"
country:"France" → city
city ← country:"France"
country <- [capital] <- city
# comment\ncountry:"France" -> city
-- comment\ncountry:"France" -> city
country -> [^borders*] -> country
from -> country
country -> [borders] ->
größe#1
"""
SEARCH = r"""
landlocked country in the high mountains
from France to Spain
from country to country
from Nile to Volga
show me the rivers
with a long coast
with all of them
describe the country
create a list of rivers
drop in the ocean
drop rivers
alter ego
copy cat
update on the river
insert coin
set in stone
use of rivers
load of water
values of society
explain why the Nile floods
call of the wild
begin again
commit to memory
base camp
ask the oracle
construct a dam
prefix code
delete all
attach files
detach the retina
truncate the list of rivers
import export
vacuum cleaner
summarize the Nile
order by size
limit 10
group by continent
union of states
not SELECT 1
'SELECT 1'
"SELECT ?x {}"
explain
from
with
values
show
France
Zoë
"Black Sea"
the "Black Sea" coast
.5
.5 million people
42
3.14
what women
which way
how to sail
when the wind blows
rivers & lakes
rivers - lakes
C++
a_b
a/b
*
city of light
country music
long river, short name
island (tropical)
日本の山
:)
?
-
100% organic
e-mail@example.com
50:50
lake: deep
river: Nile
time: 12:30
C# language
;
"""
ASK = r"""
how many km2 > 5?
what is the capital of France?
Which countries border Nepal
who wrote it ?
HOW MANY lakes are there
how many lakes
where is Paris?
Is the Nile longer than the Amazon?
mountains in Nepal?
show me the rivers?
select the best films?
"""
COMMANDS = r"""
exit
QUIT;
help
\d
\dt city
\?
\! ls
!ls -l
! ./run.sh
.show France
  .help
.q
.frobnicate
.
.. -> country
\n.mode sql
"""


def listed(table: str) -> list[str]:
    """The lines of a table, in which \\n and \\r are these characters."""
    return [line.replace("\\n", "\n").replace("\\r", "\r") for line in table.strip("\n").split("\n")]


RESEMBLES_SQL = r"""
SELEC name FROM country
SELECT name form country
select name from country
select distinct name
select the best films from country
FORM country SELECT name WHERE area > 3
FROM country were area_km2 > 3
INSERT country VALUES (1)
UPDATE country area = 3
DELETE country WHERE id = 3
CREATE tabel x (a INT)
CREATE country
DROP tabel x
delete from
MATCH (n) RETURN n
MATCH (n
OPTIONAL MATCH (n) WHERE n.x > 3 RETURN n
CREATE (n:Person)
MERGE (n {id: 1}) ON CREATE SET n.x = 1
UNWIND [1, 2] AS x RETURN x
"""
RESEMBLES_SPARQL = r"""
SELCT ?x WHERE { ?x a ?y }
WHERE { ?s ?p ?o }
prefx a: <http://a> SELECT * { ?s ?p ?o }
"""
RESEMBLES_AN_EXPRESSION = r"""
MATCH (n:Person {name: "Ann"})-[:KNOWS]->(m) RETURN m.name
match (a)-->(b) return b
updated maps = better maps
country[area_km2 < 5]
city in `the north`
"""
PLAIN_WORDS = r"""
selct name, key from country
slect * from country
select name form country
from country were area_km2 > 3
insrt into country values (1)
explan select 1
match (n) return n
NASA missions from Florida
The SELECT committee
select committee members
Select committee on energy
select works of French poets
select the best committee members from France
selected works from 1990
elected officials from Ohio (2010)
selection from among many, by nature
match point
match (2011 film)
Match (film)
matches (box of 50)
merge lanes (traffic)
create a playlist (jazz)
creator of worlds, from nothing
crate of apples
inserts and updates
updates from the field, 2010
deleted scenes from Alien
form of government
from form to function
where is Paris
where do rivers > lakes
unwind after work
call me maybe
values and beliefs
drop of water
alternate history
with love from Paris (2010)
explained: how glaciers form
FROM RUSSIA WITH LOVE
MATCH POINT
return of the king
"MATCH (n) RETURN n"
'SELEC name FROM country'
exit strategy
help me
quit smoking
"""
TABLES = {"sql": SQL, "sparql": SPARQL, "answers": ANSWERS, "search": SEARCH, "ask": ASK, COMMAND: COMMANDS}


@pytest.mark.parametrize(
    ("language", "text"), [(language, text) for language, table in TABLES.items() for text in listed(table)]
)
def test_the_syntax_decides_the_language(language: str, text: str) -> None:
    assert recognize(text, TYPES) == language


@pytest.mark.core
def test_keywords_in_capitals_are_no_search_and_plain_words_are_one() -> None:
    tables = {
        "sql": RESEMBLES_SQL,
        "sparql": RESEMBLES_SPARQL,
        "answers": RESEMBLES_AN_EXPRESSION,
        "search": PLAIN_WORDS,
    }
    wrong = [
        (text, found, language)
        for language, table in tables.items()
        for text in listed(table)
        if (found := recognize(text, TYPES)) != language
    ]
    assert wrong == []


def test_commands_without_a_dot_need_another_mode_than_search() -> None:
    assert [statement.language for statement in split("help\n.help", "search")] == ["search", "command"]
    assert [statement.language for statement in split("help\n.help", "sql")] == ["command", "command"]


def test_words_are_types_only_in_a_kb_that_has_them() -> None:
    assert [recognize(text) for text in ("country", "sea | lake", "_")] == ["search", "search", "answers"]
    assert recognize("sea level", ["sea level"]) == "answers"


@pytest.mark.parametrize("mark", ["\n", " ", "\t", "\r\n", "-- c\n", "/* c */", "/* c\n */\n", "# c\n"])
@pytest.mark.parametrize("text", ["SELECT 1", "ASK {}", 'country:"France"', "plain words"])
def test_comments_before_a_statement_do_not_change_its_language(mark: str, text: str) -> None:
    assert recognize(mark + text, TYPES) == recognize(text, TYPES)
    assert body(mark + text).strip() == text


# -- the texts of the project -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "ending"), [("sql", ".sql"), ("sparql", ".rq")])
def test_every_query_file_is_recognized(kind: str, ending: str) -> None:
    files = sorted((ROOT / kind).rglob(f"*{ending}"))
    assert len(files) > 50
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert recognize(text) == kind, file
        found = list(split(text))
        assert {statement.language for statement in found} == {kind}, file
        assert is_complete(text.rstrip().rstrip(";") + ";", kind, blank_ends=False), file


def _catalogue() -> list[str]:
    found = []
    for file in sorted((ROOT / "kbkit/assets/templates").glob("*.toml")):
        for entries in tomllib.loads(file.read_text(encoding="utf-8")).values():
            if isinstance(entries, list) and isinstance(entries[0], dict):
                found += [e["expression"] for e in entries if "{" not in e["expression"]]
    return found


def _cases() -> list[str]:
    found = []
    for file in sorted((ROOT / "tests/answers").glob("*.txt")):
        for line in file.read_text(encoding="utf-8").split("\n"):
            if line and not line.startswith("#") and not line.endswith("=> refused"):
                found.append(line.rsplit(" => ", 1)[0].split(" ;; ")[0])
    return found


def test_every_expression_of_the_catalogue_is_recognized() -> None:
    catalogue = _catalogue()
    assert len(catalogue) >= 50
    for text in catalogue:
        assert recognize(text) == "answers", text
        assert is_complete(text, "answers", blank_ends=False), text


def test_every_expression_of_the_cases_is_recognized() -> None:
    cases = _cases()
    assert len(cases) > 150
    types = set(re.findall(r"[\w/]+|`[^`]+`", " ".join(cases)))  # a bare word is a type's name in some graph
    for text in cases:
        assert recognize(text, types) == "answers", text


# -- when a statement is whole ----------------------------------------------------------------------------------------

WHOLE = [
    ("sql", "SELECT 1;"),
    ("sql", "SELECT 1 ;  \t"),
    ("sql", "SELECT 1\n"),
    ("sql", "SELECT 1\n\n"),
    ("sql", "SELECT 1;;"),
    ("sql", "SELECT ';';"),
    ("sql", "SELECT 'it''s';"),
    ("sql", "SELECT '''';"),
    ("sql", 'SELECT "a"";";'),
    ("sql", "SELECT $$a'b$$;"),
    ("sql", "SELECT $$;$$\n"),
    ("sql", "SELECT $tag$;$$'$tag$;"),
    ("sql", "SELECT 1; -- c"),
    ("sql", "SELECT 1 /* ; */;"),
    ("sql", "SELECT /* ' */ 1;"),
    ("sql", "SELECT '/*';"),
    ("sql", "SELECT '-- ';"),
    ("sql", "SELECT 1);"),
    ("sparql", "SELECT ?x { ?x ?p ?o };"),
    ("sparql", "SELECT ?x { ?x ?p ?o }\n"),
    ("sparql", "SELECT ?x { ?x a ?y; a ?z }\n"),
    ("sparql", "SELECT ?x { ?x a ?y } LIMIT 3;"),
    ("sparql", 'SELECT ?x { ?x ?p "}" }\n'),
    ("sparql", "SELECT ?x { ?x ?p '''a'}{'''}\n"),
    ("sparql", 'SELECT ?x { ?x ?p """a"b"""};'),
    ("sparql", "SELECT ?x { ?x ?p 'a\\'{' };"),
    ("sparql", "SELECT ?x { ?x ?p <a#b> }\n"),
    ("sparql", "SELECT ?x { FILTER(?x < 3 && ?y > 2) };"),
    ("sparql", "SELECT ?x { ?x ?p 'it };"),
    ("sparql", "PREFIX a: <b#c;d>\nSELECT * {?s ?p ?o}\n"),
    ("sparql", "DESCRIBE country:FRA;"),
    ("sparql", "DESCRIBE country:FRA\n"),
    ("answers", "country"),
    ("answers", "country;"),
    ("answers", "(country)"),
    ("answers", 'country:"Fra"'),
    ("answers", 'country:"a\\\\"'),
    ("answers", "`a b`"),
    ("answers", "country # ->"),
    ("answers", "country#a-"),
    ("answers", "country:<slot>"),
    ("search", "anything ("),
    ("command", '.show "x'),
    ("sql", ""),
    ("sql", "  \n"),
]
OPEN = [
    ("sql", "SELECT 1"),
    ("sql", "SELECT ';'"),
    ("sql", "SELECT 'it''s;"),
    ("sql", "SELECT '''"),
    ("sql", 'SELECT "a;'),
    ("sql", "SELECT 'a\n\n"),
    ("sql", "SELECT (1;"),
    ("sql", "SELECT (\n\n"),
    ("sql", "SELECT [1;"),
    ("sql", "SELECT {'a': 1;"),
    ("sql", "SELECT $$a;"),
    ("sql", "SELECT $tag$ ; $$ ;"),
    ("sql", "-- c;"),
    ("sql", "SELECT 1 -- ;"),
    ("sql", "SELECT /* ; "),
    ("sql", "SELECT /* ; */"),
    ("sparql", "SELECT ?x {"),
    ("sparql", "SELECT ?x {\n\n"),
    ("sparql", "SELECT ?x { ?x a ?y;"),
    ("sparql", "SELECT ?x { ?x ?p ?o }"),
    ("sparql", "SELECT ?x { # }\n"),
    ("sparql", 'SELECT ?x { ?x ?p "}" '),
    ("sparql", "SELECT ?x { ?x ?p '''a'}\n"),
    ("sparql", 'SELECT ?x { ?x ?p """a"};\n'),
    ("sparql", "PREFIX a: <b>\n"),
    ("sparql", "PREFIX a: <b>;"),
    ("sparql", "PREFIX describe: <b>\n"),
    ("sparql", "DESCRIBE country:FRA"),
    ("answers", "country ->"),
    ("answers", "country -> # c"),
    ("answers", "country <- "),
    ("answers", "a→"),
    ("answers", "country &"),
    ("answers", "country |"),
    ("answers", "country -"),
    ("answers", "country - "),
    ("answers", "(country"),
    ("answers", 'country:"Fra'),
    ("answers", 'country:"a\\"'),
    ("answers", "country:'O''"),
    ("answers", "`a b"),
    ("answers", "country -> ["),
    ("answers", "country -> [a|"),
    ("answers", "country{a > 1"),
    ("answers", "country{a > 1,"),
    ("answers", "country:"),
]


@pytest.mark.parametrize(("language", "text"), WHOLE)
def test_a_complete_statement_ends(language: str, text: str) -> None:
    assert is_complete(text, language, blank_ends=True)


@pytest.mark.parametrize(("language", "text"), OPEN)
def test_an_unfinished_statement_continues(language: str, text: str) -> None:
    assert not is_complete(text, language, blank_ends=True)


def test_an_empty_line_ends_a_statement_only_if_allowed() -> None:
    assert not is_complete("SELECT 1\n", "sql", blank_ends=False)
    assert is_complete("SELECT 1;\n", "sql", blank_ends=False)


@pytest.mark.parametrize(
    ("language", "text", "without"),
    [
        ("sql", "SELECT 1;", "SELECT 1"),
        ("sql", "SELECT 1 ; ;\n", "SELECT 1"),
        ("sql", "SELECT ';'", "SELECT ';'"),
        ("sql", "SELECT ';'; -- ;", "SELECT ';'"),
        ("sparql", "ASK {};", "ASK {}"),
        ("answers", 'country:"a;";', 'country:"a;"'),
        ("search", "so; it is;", "so; it is;"),
    ],
)
def test_the_final_semicolon_is_not_part_of_a_statement(language: str, text: str, without: str) -> None:
    assert without_end(text, language) == without


# -- scripts ----------------------------------------------------------------------------------------------------------

SCRIPTS: dict[str, list[tuple[str, str, int]]] = {
    "SELECT 1; SELECT 2;": [("SELECT 1;", "sql", 1), ("SELECT 2;", "sql", 1)],
    "SELECT 1;\nSELECT 2": [("SELECT 1;", "sql", 1), ("SELECT 2", "sql", 2)],
    "SELECT\n1;\nSELECT\n2;": [("SELECT\n1;", "sql", 1), ("SELECT\n2;", "sql", 3)],
    "SELECT 1\n\nFROM nodes;\ncountry -> city\nlandlocked country\n.show France\n": [
        ("SELECT 1\n\nFROM nodes;", "sql", 1),
        ("country -> city", "answers", 4),
        ("landlocked country", "search", 5),
        (".show France", "command", 6),
    ],
    "SELECT ?x { ?x a ?y }\n\nSELECT 1;": [("SELECT ?x { ?x a ?y }", "sparql", 1), ("SELECT 1;", "sql", 3)],
    "SELECT ?x {\n\n?x a ?y }\n\nASK {}\n\n": [("SELECT ?x {\n\n?x a ?y }", "sparql", 1), ("ASK {}", "sparql", 5)],
    "ASK { ?x a ?y; a ?z };SELECT 1": [("ASK { ?x a ?y; a ?z };", "sparql", 1), ("SELECT 1", "sql", 1)],
    "PREFIX a: <b;c>\n\nSELECT * {?s ?p ?o}\n\nfoo": [
        ("PREFIX a: <b;c>\n\nSELECT * {?s ?p ?o}", "sparql", 1),
        ("foo", "search", 5),
    ],
    "#defaultView:Map\nSELECT ?x { ?x a ?y }\n\n\nfoo": [("SELECT ?x { ?x a ?y }", "sparql", 2), ("foo", "search", 5)],
    "SELECT 1; .show France": [("SELECT 1;", "sql", 1), (".show France", "command", 1)],
    "SELECT 1; country -> city": [("SELECT 1;", "sql", 1), ("country -> city", "answers", 1)],
    "SELECT 'a\nb'; x y z": [("SELECT 'a\nb';", "sql", 1), ("x y z", "search", 2)],
    "SELECT 1; -- c\n.show x": [("SELECT 1;", "sql", 1), (".show x", "command", 2)],
    "SELECT 1 -- ;\n;foo": [("SELECT 1 -- ;\n;", "sql", 1), ("foo", "search", 2)],
    "SELECT ';' AS \";\"; SELECT $$;$$;": [("SELECT ';' AS \";\";", "sql", 1), ("SELECT $$;$$;", "sql", 1)],
    "-- c\n\n.show x": [(".show x", "command", 3)],
    "-- c\n.show x": [(".show x", "command", 2)],
    "# c\n\ncountry -> city": [("country -> city", "answers", 3)],
    "/* a\n b */\nSELECT 1;": [("SELECT 1;", "sql", 3)],
    "/* a\n b; */ SELECT 1;": [("/* a\n b; */ SELECT 1;", "sql", 1)],
    "country ->\ncity": [("country ->\ncity", "answers", 1)],
    "country ->\n\ncity": [("country ->\n\ncity", "answers", 1)],
    "country\n-> city\n  <- country\n& city\nsea": [
        ("country\n-> city\n  <- country\n& city", "answers", 1),
        ("sea", "answers", 5),
    ],
    "sea\n\n-> city": [("sea", "answers", 1), ("-> city", "answers", 3)],
    "(country\n-> city)\nSELECT 1;": [("(country\n-> city)", "answers", 1), ("SELECT 1;", "sql", 3)],
    "country\r\n(city ->\r\nsea)\r\nSELECT\r\n1;\r\n\r\n.show x\r\n": [
        ("country", "answers", 1),
        ("(city ->\r\nsea)", "answers", 2),
        ("SELECT\r\n1;", "sql", 4),
        (".show x", "command", 7),
    ],
    "ASK {}\r\n\r\nfoo": [("ASK {}", "sparql", 1), ("foo", "search", 3)],
    "\ufeffSELECT 1;\n\ufefffoo": [("SELECT 1;", "sql", 1), ("\ufefffoo", "search", 2)],
    "\tSELECT 1;\n\t.show x": [("SELECT 1;", "sql", 1), (".show x", "command", 2)],
    "a\x0cb\nfoo\x0bbar\u2028baz": [("a\x0cb", "search", 1), ("foo\x0bbar\u2028baz", "search", 2)],
    "SELECT 1;;;\n;\n ; ;\nfoo;": [("SELECT 1;", "sql", 1), ("foo;", "search", 4)],
    "SELECT (1\n.show x\n": [("SELECT (1\n.show x", "sql", 1)],
    "SELECT 'a\n\nfoo": [("SELECT 'a\n\nfoo", "sql", 1)],
    "SELECT 1;\n/* open\n": [("SELECT 1;", "sql", 1)],
    "": [],
    "\n \n;\n": [],
    "-- only\n# this": [],
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_is_split_into_statements(script: str) -> None:
    found = [(s.text, s.language, s.line) for s in split(script, types=TYPES)]
    assert found == SCRIPTS[script]


def test_a_mode_is_the_language_of_all_but_commands() -> None:
    found = [(s.text, s.language) for s in split("from a country\n where x;\n.show y\nfoo\n;", "sql")]
    assert found == [("from a country\n where x;", "sql"), (".show y", "command"), ("foo\n;", "sql")]
    assert [s.text for s in split("SELECT 1;\nSELECT 2;", "search")] == ["SELECT 1;", "SELECT 2;"]


def test_a_script_can_change_the_mode() -> None:
    modes = ["auto"]

    def language(text: str) -> str:
        return recognize(text) if text.startswith(".") or modes[0] == "auto" else modes[0]

    found = []
    for statement in split("SELECT 1;\n.mode search\nSELECT committee; of rivers\nfoo", language):
        found.append((statement.text, statement.language))
        if statement.language == COMMAND:
            modes[0] = "search"
    assert found == [
        ("SELECT 1;", "sql"),
        (".mode search", "command"),
        ("SELECT committee; of rivers", "search"),
        ("foo", "search"),
    ]


# -- tokens -----------------------------------------------------------------------------------------------------------


def test_kinds_of_tokens() -> None:
    def kinds(text: str, language: str) -> list[tuple[str, str]]:
        return [(token.kind, token.text) for token in tokens(text, language) if token.kind != "space"]

    assert kinds("$n 'it''s' $a$;$a$ \"x\" /* a", "sql") == [
        *(
            ("parameter", "$n"),
            ("string", "'it''s'"),
            ("string", "$a$;$a$"),
            ("quoted", '"x"'),
            ("open_comment", "/* a"),
        ),
    ]
    assert kinds('a#"b c" -> [x|`y]`] {z in [<s>]} [op', "answers") == [
        *(("word", "a"), ("key", '#"b c"'), ("arrow", "->"), ("step", "[x|`y]`]"), ("symbol", "{"), ("word", "z")),
        *(("word", "in"), ("symbol", "["), ("slot", "<s>"), ("symbol", "]"), ("symbol", "}"), ("open_step", "[op")),
    ]


def test_parameters_are_not_in_strings_and_comments() -> None:
    assert parameters("SELECT $n, '$s', $b + $n, $1, $$ $x $$ -- $c", "sql") == ["n", "b"]
    assert parameters("SELECT ?x { ?x ?p $v ; <a$b> '$s' } # $c", "sparql") == ["v"]
    assert parameters('a:<x> -> b:"<y>" <- c{z = <s/t>} -> d:<x>', "answers") == ["x", "s/t"]
    assert parameters("words $n <s>", "search") == []


# -- any text ---------------------------------------------------------------------------------------------------------

SIGNS = st.text(
    st.sampled_from(" \n\t\r;'\"`$#-/*()[]{}<>?:|&.@\\_,→aS1é\ufeff\x00") | st.characters(codec="utf-8"), max_size=60
)
POOL = st.sampled_from(
    [
        Statement("SELECT 1;", "sql"),
        Statement("SELECT ';',\n\n\"a;\" -- ;\nFROM country;", "sql"),
        Statement("FROM country;", "sql"),
        Statement("WITH a AS (SELECT $$;\n;$$) FROM a;", "sql"),
        Statement("ASK {};", "sparql"),
        Statement("PREFIX a: <b#;>\nSELECT ?x {\n ?x a ';' ; a a:b .\n\n };", "sparql"),
        Statement('country:"a;b" -> [borders]\n ->\ncity', "answers"),
        Statement("(country &\n _)", "answers"),
        Statement("country", "answers"),
        Statement("plain words; and more", "search"),
        Statement("42", "search"),
        Statement('.show "a b', "command"),
        Statement(".mode auto", "command"),
    ]
)


@given(SIGNS, st.sampled_from(LANGUAGES), st.booleans())
def test_any_text_can_be_recognized_and_split(text: str, language: str, blank_ends: bool) -> None:
    assert recognize(text, TYPES) in (*LANGUAGES, COMMAND)
    assert is_complete(text, language, blank_ends=blank_ends) in (True, False)
    assert "".join(token.text for token in tokens(text, language)) == text
    if language != "search":
        assert len(masked(text, language)) == len(text)
        assert masked(text, language).count("\n") == text.count("\n")
    assert text.startswith(without_end(text, language).rstrip())
    for mode in ("auto", language):
        lines = text.split("\n")
        for statement in split(text, mode, TYPES):
            assert statement.text.strip()
            assert statement.text.split("\n")[0].strip() in lines[statement.line - 1]


@given(st.lists(st.tuples(POOL, st.integers(0, 2)), max_size=8))
def test_splitting_restores_the_statements_of_a_script(chosen: list[tuple[Statement, int]]) -> None:
    script, expected = "", []
    for statement, blanks in chosen:
        expected.append(Statement(statement.text, statement.language, script.count("\n") + 1))
        script += statement.text + "\n" * (blanks + 1)
    assert list(split(script, types=TYPES)) == expected


REPEATED = r"""
a ' " ` ( { [ < -> -- /* */ # ; $ $a$ @a a:" \" \\ ""\" '' select SELECT( from (select a& prefix:a --\n #a\n /**/ a\n
;\n with( `a` ?x \n \r \ufeff
"""


@pytest.mark.system
@pytest.mark.parametrize("part", REPEATED.split())
@pytest.mark.parametrize("space", some(["", " "], 2))
def test_a_long_text_takes_linear_time(part: str, space: str) -> None:
    """Quadratic time would take many seconds of the processor's time."""
    start = time.process_time()
    sign = part.replace("\\n", "\n").replace("\\r", "\r").replace("\\ufeff", "\ufeff") + space
    text = sign * (5_000 // len(sign))
    assert recognize(text, TYPES) in (*LANGUAGES, COMMAND)
    for language in LANGUAGES:
        is_complete(text, language, blank_ends=True)
        without_end(text, language)
    assert all(statement.text for statement in split(text, types=TYPES))
    assert time.process_time() - start < 1.7
