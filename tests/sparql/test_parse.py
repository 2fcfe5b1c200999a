"""SPARQL's syntax tree: what is read, how it is printed, and what errors say. Oxigraph's own parser is the oracle."""

from __future__ import annotations

import json
from pathlib import Path

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbkit.assets import queries
from kbkit.errors import QuerySyntaxError
from kbkit.sparql import parse as parse_module
from kbkit.sparql.parse import parse
from kbkit.sparql.printing import to_text
from kbkit.sparql.rewrite import check_query
from kbkit.sparql.tree import Node, children, nodes, tokens
from kbkit.stores.sparql_text import bind
from tests.places import TESTS
from tests.wording import Wording

STORE = ox.Store()
PREFIXES = {"": "http://e/", "a": "http://a/", "wd": "http://w/", "wdt": "http://t/", "rdf": "http://r/"}
SNAPSHOTS = TESTS / "answers" / "snapshots"


def words(tree: Node) -> list[tuple[str, str]]:
    return [(token.type, str(token)) for token in tokens(tree)]


def round_trip(text: str) -> str:
    """Print and read again: the same words in the same tree, and the same text when printed once more."""
    tree = parse(text)
    printed = to_text(tree)
    again = parse(printed)
    assert words(again) == words(tree)
    assert again == tree
    assert to_text(again) == printed
    return printed


def oxigraph_takes(text: str) -> bool:
    try:
        STORE.query(text, prefixes=PREFIXES)
    except RuntimeError as error:
        assert "custom function" in str(error)
    except SyntaxError:
        return False
    return True


def we_take(text: str) -> bool:
    try:
        parse(text)
    except QuerySyntaxError:
        return False
    return True


BOTH_TAKE = """\
SELECT*{?s?p?o}
SELECT $s WHERE {$s a :C}
SELECT * {?s ?p -1,+2,-3.5e1,.5,1.e3,1.}
SELECT (1-1 AS ?x) (?x -1/2 AS ?y) (?x-1*2+3 AS ?z) (1+-2 AS ?w) {}
SELECT (- 5 AS ?x) (-?a AS ?y) (+?a AS ?z) (!!?a AS ?w) {}
SELECT * {FILTER(?a<?b &&?c>?d)}
SELECT * {FILTER(?a IN ()) FILTER(?a NOT IN (1,2)) FILTER(?a = 1 || ?b != 2 && ?c <= 3)}
SELECT (COUNT(*) AS ?x) (COUNT(DISTINCT *) AS ?y) (SUM(AVG(?n)) AS ?z) {?n ?p ?o}
SELECT (GROUP_CONCAT(DISTINCT ?a; SEPARATOR = ', ') AS ?u) (SAMPLE(?a) AS ?v) {?a ?p ?o}
SELECT (STRUUID() AS ?u) (BNODE() AS ?v) (BNODE('a') AS ?w) (NOW( ) AS ?x) (RAND() AS ?y) {}
SELECT (COALESCE() AS ?u) (CONCAT() AS ?v) (IF(1,2,3) AS ?w) (SUBSTR('a',1) AS ?x) (SUBSTR('a',1,2) AS ?y) {}
SELECT (REPLACE('a','b','c') AS ?u) (REPLACE('a','b','c','i') AS ?v) (REGEX('a','b','i') AS ?w) {}
SELECT (<http://f>(1) AS ?y) (a:f() AS ?z) (STRDT('1',a:b) AS ?t) (LANGMATCHES('a','*') AS ?l) {}
SELECT * {FILTER regex(?x,'a') FILTER <http://a>(?x) FILTER NOT EXISTS {} FILTER (! EXISTS {?a ?b ?c})}
SELECT * {?s !a:b|:c ?o . ?s !(a:b|^:c|a) ?o}
SELECT * {?s ^a:b* ?o . ?s (^a:b)* ?o . ?s (a:b/:c)+|a/^:c? ?o}
SELECT * {VALUES () {() ()}}
SELECT * {VALUES (?x ?y) {(1 UNDEF) (UNDEF 'a'@en)} VALUES ?z {true false a:b <http://c> "d"^^a:e}}
SELECT * {?s :p [] , [ ] , () , (1 2 (3)) ; ; :q [a:b ?c ; :d ?e] . [a:b ?c] . (1 ?x) :p ?y . (2)}
SELECT * {?a ?b ?c ; . }
SELECT * {?x ?y '''a'b''' , 'it\\'s' , "\\u00e9\\n" , '' , \"\"\"a"b\"\"\" , 'a'@en-GB , 'a' ^^ :b , 'a' @en}
SELECT * {?x ?y a:b.c , a:b\\,c , a:%41 , a:b- , a:1 , : , a: , <http://a/\\u0041> .}
PREFIX é: <http://a/> SELECT ?lég ?हिन्दी {?lég é:é ?हिन्दी}
BASE <http://a/> PREFIX : <b> BASE <c> SELECT * {:a : <>}
SELECT REDUCED ?x FROM <http://a> FROM NAMED <http://b> {}
SELECT (1 as ?x) {} GROUP BY (1 AS ?y) STR(1) a:f(1) HAVING (1) (2) ORDER BY ASC(1) (1) STR(1) DESC(2) a:f(1)
SELECT * {} LIMIT 5 OFFSET 4
SELECT * {} OFFSET 5 LIMIT 4
SELECT * WHERE {} VALUES ?x {1}
SELECT * {{SELECT * {} VALUES ?x {1}}}
SELECT * {{} UNION {} UNION {SELECT * {}}}
SELECT * {OPTIONAL {SELECT * {}} MINUS {?a ?b ?c} GRAPH ?g {} GRAPH <http://a> {} LATERAL {?a ?b ?c}}
SELECT * {SERVICE SILENT ?x {} SERVICE a:b {?a ?b ?c}}
SELECT * {BIND(1 AS ?x) BIND(?x AS ?y) . ?a ?b ?c FILTER(1) . ?d ?e ?f}
SELECT ?s { ?s ?p ?o } GROUP BY ?s ORDER BY COUNT(*) MAX(?o)
ASK {}
ASK FROM <http://a> WHERE {}
DESCRIBE <http://a> a:b
DESCRIBE * {?a ?b ?c}
DESCRIBE ?a {?a ?b ?c} LIMIT 2
CONSTRUCT {?a :b [ :c (?d) ], _:x} WHERE {?a ?b ?c} LIMIT 1
CONSTRUCT {} {}
CONSTRUCT WHERE {?a ?b ?c . ?d ?e ?f}
CONSTRUCT FROM <http://a> WHERE {?a ?b ?c}
SELECT (COUNT(?x) AS ?n) { ?x ?y _:b . _:b ?z 'no # comment' } # the end
select ?s where { ?s ?p ?o optional { ?o ?q ?r } filter exists { ?s a ?t } } order by desc(?s) limit 3
SELECT (TZ(NOW()) AS ?a) (ENCODE_FOR_URI('a') AS ?b) (isIRI(?x) AS ?c) (sameTerm(1,2) AS ?d) (ISNUMERIC(1) AS ?e) {}\
"""

NEITHER_TAKES = """\
SELECT * {?s A ?o}
SELECT ?x, ?y {}
SELECT COUNT(?x) {}
SELECT (COUNT(?x) ?y) {}
SELECT * {?a ?b ?c . . }
SELECT * {. }
SELECT * {FILTER(1) . . }
SELECT * {?s ^^a:b ?o}
SELECT * {?s a:b{2} ?o}
SELECT * {?s a:b** ?o}
SELECT * {FILTER(1=2=3)}
SELECT (- -?x AS ?y) {}
SELECT (GROUP_CONCAT(?a,', ') AS ?u) {}
SELECT (NOW(1) AS ?u) {}
SELECT (STR() AS ?u) {}
SELECT (STRLEN(1,2) AS ?u) {}
SELECT (COUNT() AS ?u) {}
SELECT (BOUND(1) AS ?u) {}
CONSTRUCT WHERE {?a ?b ?c FILTER(?a)}
CONSTRUCT {?a :b/:c ?c} {}
SELECT * {} LIMIT 1 LIMIT 2
SELECT * {} LIMIT -1
SELECT * {?x ?y 'a\\x' }
SELECT * {?x ?y "a }
SELECT * {?x ?y <http://a b> }
SELECT * {?x a:b.. ?y}
SELECT * {BIND(1 ?x)}
SELECT * {FILTER ?x}
SELECT * {VALUES ?x {?y}}
SELECT * {OPTIONAL ?a ?b ?c}
SELECT * {?a ?b}
SELECT * {?a ?b ?c
SELECT * ?a ?b ?c}
SELECT * {} GROUP BY
SELECT * {} WHERE {}
SELECT {}
INSERT DATA {:a :b :c}
{}\
"""


@pytest.mark.parametrize("text", [*BOTH_TAKE.splitlines(), "# a\nSELECT * # b\n{ ?a ?b '''c\n#d''' }"])
def test_accepts_what_oxigraph_accepts(text: str) -> None:
    assert oxigraph_takes(text)
    round_trip(text)


@pytest.mark.parametrize("text", [*NEITHER_TAKES.splitlines(), "SELECT * {?x ?y 'a\nb' }"])
def test_rejects_what_oxigraph_rejects(text: str) -> None:
    assert not oxigraph_takes(text)
    with pytest.raises(QuerySyntaxError) as error:
        parse(text)
    assert error.value.line >= 1
    assert error.value.column >= 1


@pytest.mark.parametrize("text", ["SELECT * {?s !() ?o}", "SELECT * {FILTER(TRUE)}", "SELECT (COALESCE (?a) AS ?b) {}"])
def test_accepts_standard_syntax_that_oxigraph_rejects(text: str) -> None:
    assert not oxigraph_takes(text)
    round_trip(text)


# -- printing ---------------------------------------------------------------------------------------------------------


@pytest.mark.core
def test_prints_one_pattern_per_line() -> None:
    text = (
        "PREFIX wd: <http://w/> select distinct ?x (count(*) as ?n) where{?x a wd:Q5;wdt:P31/wdt:P279* wd:C,wd:D ."
        "filter(?n>-1&&!bound(?y)||?z in(1,2))optional{?x wdt:P1 ?y}{?a ?b ?c}"
        "union{?d ?e [wdt:f 'g'@en;wdt:h \"1\"^^a:int]}"
        "values(?q ?r){(1 UNDEF)(2 3)}}group by ?x having(count(*)>1)order by desc(?n) limit 5 offset 6"
    )
    assert round_trip(text) == (
        "PREFIX wd: <http://w/>\n"
        "select distinct ?x (count(*) as ?n)\n"
        "where {\n"
        "  ?x a wd:Q5 ;\n"
        "      wdt:P31/wdt:P279* wd:C, wd:D .\n"
        "  filter(?n > -1 && !bound(?y) || ?z in (1, 2))\n"
        "  optional { ?x wdt:P1 ?y }\n"
        "  { ?a ?b ?c }\n"
        "  union { ?d ?e [ wdt:f 'g'@en ; wdt:h \"1\"^^a:int ] }\n"
        "  values (?q ?r) {\n"
        "    (1 UNDEF)\n"
        "    (2 3)\n"
        "  }\n"
        "}\n"
        "group by ?x\n"
        "having(count(*) > 1)\n"
        "order by desc(?n)\n"
        "limit 5 offset 6"
    )


def test_spaces_around_operators() -> None:
    printed = round_trip(
        "SELECT * {?s :p+ 5 . ?s :p +5 . ?s (a?|^:q)/!(:r|a) ?o FILTER(?a- 1<- ?b&&?c = -1- -2&&- 5<?d)}"
    )
    assert "?s :p+ 5 ." in printed
    assert "?s :p +5 ." in printed
    assert "?s (a?|^:q)/!(:r|a) ?o" in printed
    assert "FILTER(?a - 1 < -?b && ?c = -1 - -2 && - 5 < ?d)" in printed


def test_comments_are_dropped_and_strings_unchanged() -> None:
    assert round_trip("#defaultView:Map\nSELECT * { ?a ?b '#no' # yes\n}") == "SELECT *\n{\n  ?a ?b '#no'\n}"


def test_parses_with_and_include() -> None:
    tree = parse(
        "SELECT ?x WITH { SELECT ?x { ?x ?y ?z } } AS %a WITH { SELECT * { INCLUDE %a } } as %b { include %b . }"
    )
    assert [str(named.children[-1]) for named in nodes(tree, "named_subquery")] == ["%a", "%b"]
    assert [str(include.children[-1]) for include in nodes(tree, "include")] == ["%a", "%b"]
    round_trip(to_text(tree))


def test_variables_are_tokens_and_triples_are_trees() -> None:
    tree = parse("SELECT ?x { ?x :p ?y, ?z ; :q/:r 1 . ?y a :C }")
    subjects = [str(triple.children[0]) for triple in nodes(tree, "triples_same_subject_path")]
    assert subjects == ["?x", "?y"]
    (first, *_), (path, *_) = nodes(tree, "property_list_path_not_empty"), nodes(tree, "path_sequence")
    assert [len(objects.children) for objects in children(first, "object_list_path")] == [3, 1]
    assert [str(step) for step in path.children] == [":q", "/", ":r"]


# -- properties -------------------------------------------------------------------------------------------------------

names = st.sampled_from(["?x", "?y", "$z", "?_1"])
iris = st.sampled_from([":a", "a:b", "wd:Q5", "<http://x/y>", "rdf:type", "a:b.c", "a:"])
numbers = st.sampled_from(["0", "12", "-3", "+4", "1.5", "-.5", "1e3", "2.E-1"])
strings = st.sampled_from(["'a'", '"b c"', "'''d'e'''", '"""f"""', "''", "'#'", "'\\n\\u00e9'"])
literals = st.one_of(numbers, strings, st.builds("{}@en-GB".format, strings), st.builds("{}^^{}".format, strings, iris))
terms = st.one_of(names, iris, literals, st.sampled_from(["[]", "()", "true", "_:n"]))
paths = st.recursive(
    st.one_of(iris, st.just("a"), st.builds("!({}|^{})".format, iris, iris)),
    lambda inner: st.one_of(
        st.builds("({}/{})".format, inner, inner),
        st.builds("({}|{})".format, inner, inner),
        st.builds("(^{})".format, inner),
        st.builds("({}){}".format, inner, st.sampled_from("*+?")),
    ),
    max_leaves=4,
)
expressions = st.recursive(
    st.one_of(names, iris, literals, st.just("NOW()")),
    lambda inner: st.one_of(
        st.builds("{}{}{}".format, inner, st.sampled_from([" +", " -", " * ", "/ ", " - ", "+ "]), inner).map(
            "({})".format
        ),
        st.builds("({} {} {})".format, inner, st.sampled_from(["<", ">=", "=", "!=", "&&", "||"]), inner),
        st.builds("({} NOT IN ({}, {}))".format, inner, inner, inner),
        st.builds("STR({})".format, inner),
        st.builds("IF({},{},{})".format, inner, inner, inner),
        st.builds("!({})".format, inner),
        st.builds("-({})".format, inner),
    ),
    max_leaves=6,
)
triple = st.builds("{} {} {}".format, st.one_of(names, iris, st.just("[ :p ?o ; a :C ]")), paths, terms)
block = st.lists(triple, min_size=1, max_size=3).map(" . ".join)
groups = st.recursive(
    block,
    lambda inner: st.one_of(
        st.builds("{} . OPTIONAL {{ {} }}".format, inner, inner),
        st.builds("{{ {} }} UNION {{ {} }}".format, inner, inner),
        st.builds("{} FILTER({})".format, block, expressions),
        st.builds("{} MINUS {{ {} }}".format, block, inner),
        st.builds("FILTER NOT EXISTS {{ {} }}".format, inner),
        st.builds("{{ SELECT ?x {{ {} }} LIMIT 3 }}".format, inner),
        st.builds("VALUES (?x ?y) {{ ({} UNDEF) (UNDEF {}) }}".format, iris, literals),
        st.builds("GRAPH {} {{ {} }}".format, iris, inner),
    ),
    max_leaves=4,
)
generated = st.builds("SELECT {} WHERE {{ {} }} ORDER BY {}".format, st.sampled_from(["*", "?x ?y"]), groups, names)


@given(generated)
def test_generated_queries_keep_their_results(text: str) -> None:
    text = text.replace("_:n", "[]")  # a blank node's name must not stand in two patterns
    printed = round_trip(text)
    assert oxigraph_takes(text)
    assert oxigraph_takes(printed)
    assert rows(printed) == rows(text)


SMALL = ox.Store()
for line in (":a :a wd:Q5", ":a rdf:type :C", "wd:Q5 a:b 'a'", "wd:Q5 a:b.c 12", ":a a:b :a"):
    SMALL.update(f"INSERT DATA {{ {line} }}", prefixes=PREFIXES)


def rows(text: str) -> list[str]:
    return sorted(str(row) for row in SMALL.query(text.replace("NOW()", "3"), prefixes=PREFIXES))  # type: ignore[union-attr]


@given(generated, st.data())
def test_accepts_mutated_queries_that_oxigraph_accepts(text: str, data: st.DataObject) -> None:
    """Also after a word has gone, or stands twice."""
    whole = [str(token) for token in tokens(parse(text))]
    at = data.draw(st.integers(0, len(whole) - 1))
    changed = " ".join([*whole[:at], *data.draw(st.sampled_from([[], [whole[at]] * 2])), *whole[at + 1 :]])
    if oxigraph_takes(changed):
        assert we_take(changed)


def test_shipped_queries_and_compiled_answers(tiny: Path) -> None:
    value = {"integer": "10", "number": "1.5", "text": '"a"'}
    seen = 0
    for name in queries.shipped("sparql"):
        query = queries.load("sparql", name)
        terms_of = {p.name: value.get(p.type, "<http://x/y>") for p in query.parameters}
        round_trip(bind(query.text, terms_of))
        seen += 1
    for file in SNAPSHOTS.glob("*.txt"):
        text = file.read_text(encoding="utf-8").partition("# SPARQL\n")[2]
        if text:
            round_trip(text)
            seen += 1
    assert seen > 40
    del tiny


@pytest.mark.core
@pytest.mark.parametrize(("name", "count"), [("dev", 155), ("qald_9_plus_train", 371)])
def test_published_queries(name: str, count: int, shared_data: Path) -> None:
    records = json.loads((shared_data / "spinach" / f"{name}.json").read_text(encoding="utf-8"))
    assert len([round_trip(record["sparql"]) for record in records]) == count


# -- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("SELECT ?x {\n  ?x ?y }", ["line 2", "column 9", "'}'", "'('"]),
        (
            "SELECT ?x { ?x ?y ?z",
            ["line 1", "column 21", "','", "'.'"],
        ),
        (
            "",
            ["line 1", "column 1"],
        ),
        (
            "SELECT COUNT(?x) { ?x ?y ?z }",
            ["line 1", "column 8", "'COUNT'", "?name"],
        ),
        (
            "SELECT * { ?x ?y 'abc\n }",
            ["line 1", "column 18"],
        ),
        ("SELECT * {} LIMIT ten", ["line 1", "column 19", "'ten'"]),
        (
            "INSERT DATA { <a:b> <c:d> 1 }",
            ["line 1", "column 1"],
        ),
        ("SELECT * { ?x ?y '\ud800' }", ["line 1", "column 19"]),
        (
            "SELECT * {" + "{" * 100 + "}" * 101,
            ["line 1", "column 110", "100"],
        ),
    ],
)
def test_syntax_errors(text: str, facts: list[str], wording: Wording) -> None:
    with pytest.raises(QuerySyntaxError) as error:
        parse(text)
    message = str(error.value)
    assert [fact for fact in facts if fact not in message] == []
    wording(message)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("SELECT * {FILTER(?a<?b&&?c>?d)}", "column 20"),  # the longest token wins: an IRI
        ("SELECT * { ?a ?b ?c BIND(1 AS ?c) }", "column 31"),
        ("SELECT * { { ?a ?b ?c } UNION { ?a ?b ?d } BIND(1 AS ?d) }", "column 54"),
        ("SELECT (1 AS ?x) (2 AS ?x) {}", "column 24"),
        ("SELECT (1 AS ?x) { { SELECT ?x { ?x ?y ?z } } }", "column 14"),
        ("SELECT * { ?a ?b ?c } GROUP BY ?a", "column 1"),
        ("SELECT ?b { _:a ?b ?c OPTIONAL { _:a ?d ?e } }", "column 34"),
        ("SELECT ?b { _:a ?b ?c OPTIONAL { ?d ?e ?f } _:a ?g ?h }", "column 45"),
        ("SELECT * { ?a ?b '\\uD800' }", "column 18"),
    ],
)
def test_rules_beside_the_grammar(text: str, where: str, wording: Wording) -> None:
    with pytest.raises(QuerySyntaxError) as error:
        check_query(text, {})
    assert where in str(error.value)
    wording(str(error.value))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { _:a ?b ?c FILTER(?c < ?d) _:a ?e ?f }",  # a filter does not end the pattern
        "SELECT * { { ?a ?b ?c BIND(1 AS ?d) } UNION { ?a ?b ?d } }",
        "SELECT * { ?a ?b ?c { SELECT ?a { ?a ?d ?c BIND(1 AS ?e) } } BIND(2 AS ?e) }",
        "SELECT (?x + 1 AS ?y) { ?x ?z ?w MINUS { ?y ?z ?w } }",
        "SELECT * { ?a ?b '\\\\uD800' , '\\uE000' }",
    ],
)
def test_rules_beside_the_grammar_allow_the_rest(text: str) -> None:
    check_query(text, {})
    assert oxigraph_takes(text)


@pytest.mark.parametrize(("left", "right"), [("(", ")"), ("{", "}"), ("[", "]"), ("!", ""), ("{SELECT*{", "}}")])
def test_deep_nesting_is_an_error(left: str, right: str) -> None:
    text = "SELECT * { FILTER(" + left * 5_000 + "1" + right * 5_000 + ") }"
    with pytest.raises(QuerySyntaxError):
        parse(text)


@pytest.mark.system
def test_a_query_of_a_megabyte() -> None:
    text = "SELECT * { VALUES ?x { " + "wd:Q1234 " * 50_000 + "} ?x wdt:P31 ?y }"
    tree = parse(text)
    assert sum(1 for token in tokens(tree) if token == "wd:Q1234") == 50_000
    assert max(map(len, to_text(tree).splitlines())) < 120


def test_tables_of_the_parser_are_those_of_the_grammar() -> None:
    """After a change of the grammar, and for a new lark: ``python -m tests.generate.grammar --write``."""
    tables = parse_module.read_tables()
    assert tables is not None
    text = "SELECT ?a (COUNT(*) AS ?n) { ?a ?b [ ?c 1.5 ] OPTIONAL { ?a <p>/<q>* 'x'@en } } GROUP BY ?a"
    assert tables.parse(text) == parse_module.parse(text)
    assert tables.parse(text) == parse_module._built(parse_module._GRAMMAR.read_text(encoding="utf-8")).parse(text)
