"""Tables 1, 6 and 7 of SPINACH: by hand on small queries, against queries made of known parts, on published files."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbkit.benchmarks.spinach import files, paper, stats
from kbkit.benchmarks.spinach.features import features, pattern, pids
from kbkit.errors import BadInputError, KbError
from kbkit.sparql.parse import parse
from tests.conftest import Done
from tests.wording import Wording

Here = Callable[..., Done]
DIRECT = "http://www.wikidata.org/prop/direct/"
ENTITY = "http://www.wikidata.org/entity/"


def counted(query: str) -> dict[str, int]:
    return dataclasses.asdict(features(parse(query)))


def only(query: str, *names: str) -> tuple[int, ...]:
    found = counted(query)
    return tuple(found[name] for name in names)


# -- Table 1, by hand -------------------------------------------------------------------------------------------------


def test_the_simplest_query() -> None:
    assert counted("SELECT ?x WHERE { ?x wdt:P31 wd:Q5 }") == {
        "clauses": 2,  # SELECT, one triple
        "projections": 1,
        "relations": 1,
        "subjects": 1,
        "predicates": 1,
        "objects": 1,
        "literals": 0,
    }


def test_the_queries_that_the_authors_show() -> None:
    # Their notebook's second example: the label service is no part of it, LIMIT is no clause of the definition.
    query = """
    SELECT ?item ?itemLabel ?image WHERE {
      ?item wdt:P31 wd:Q5 .
      ?item wdt:P18 ?image .
      VALUES ?item {wd:Q2104}
      FILTER(CONTAINS(?image, "1958"))
      SERVICE wikibase:label { bd:serviceParam wikibase:language "en,de,fr". }
    }
    LIMIT 1000
    """
    assert counted(query) == {
        "clauses": 5,  # SELECT, 2 triples, VALUES, FILTER
        "projections": 2,
        "relations": 2,
        "subjects": 1,
        "predicates": 2,
        "objects": 3,  # Q5, ?image, Q2104
        "literals": 1,
    }


@pytest.mark.parametrize(
    ("pattern", "clauses"),
    [
        ("", 1),
        ("?a wdt:P1 ?b, ?c ; wdt:P2 ?d", 4),
        ("?a wdt:P1 [ wdt:P2 ?b ; wdt:P3 [] ]", 4),
        ("[ wdt:P1 ?a ] wdt:P2 ?b", 3),
        ("[ wdt:P1 ?a ]", 2),
        ("?a wdt:P1/wdt:P2*/^wdt:P3 ?b", 2),
        ("OPTIONAL { ?a wdt:P1 ?b }", 3),
        ("OPTIONAL { ?a wdt:P1 ?b OPTIONAL { ?b wdt:P2 ?c } }", 5),
        ("MINUS { ?a wdt:P1 ?b }", 3),
        ("FILTER(?a > 1) FILTER(?a < 3)", 3),
        ("FILTER NOT EXISTS { ?a wdt:P1 ?b FILTER(?b > 1) }", 4),
        ("VALUES (?a ?b) { (1 2) (3 4) }", 2),
        ("{ ?a wdt:P1 ?b } UNION { ?a wdt:P2 ?b }", 3),
        ("BIND(1 AS ?a)", 1),
        ("{ SELECT ?a { ?a wdt:P1 ?b } GROUP BY ?a HAVING(COUNT(?b) > 1) ORDER BY ?a LIMIT 3 }", 6),
        ("?a wdt:P1 ?b . hint:Prior hint:rangeSafe true .", 2),
        ("SERVICE wikibase:label { bd:serviceParam wikibase:language 'en' . ?a rdfs:label ?b }", 1),
        ("SERVICE wikibase:around { ?a wdt:P625 ?b . bd:serviceParam wikibase:radius '5' }", 2),
    ],
)
@pytest.mark.core
def test_clauses(pattern: str, clauses: int) -> None:
    assert only(f"SELECT ?a WHERE {{ {pattern} }}", "clauses") == (clauses,)


def test_clauses_of_named_subqueries() -> None:
    query = """
    SELECT ?a WITH { SELECT ?a WHERE { ?a wdt:P1 ?b } } AS %one WHERE { INCLUDE %one ?a wdt:P2 ?c } VALUES ?c { 1 }
    """
    assert only(query, "clauses", "relations") == (6, 2)  # two SELECT, two triples, INCLUDE, VALUES


@pytest.mark.parametrize(
    ("query", "projections"),
    [
        ("SELECT DISTINCT ?a ?b { ?a ?p ?b }", 2),
        ("SELECT ?a ?aLabel ?aDescription ?aAltLabel { ?a ?p ?b }", 1),
        ("SELECT (COUNT(?a) AS ?n) (?b AS ?c) { ?a ?p ?b }", 2),
        ("SELECT ?a { { SELECT ?b ?c { ?b ?p ?c } } }", 1),
        ("SELECT * { ?a wdt:P1 ?b OPTIONAL { ?a wdt:P2 ?c } MINUS { ?a wdt:P3 ?d } FILTER EXISTS { ?a ?x ?e } }", 3),
        ("SELECT * { { SELECT (?a AS ?b) { ?a wdt:P1 ?x } } BIND(1 AS ?c) VALUES ?d { 1 } }", 3),
        ("ASK { ?a wdt:P1 ?b }", 1),
        ("CONSTRUCT { ?a wdt:P1 ?b } WHERE { ?a wdt:P2 ?b }", 0),
        ("DESCRIBE wd:Q1", 0),
    ],
)
def test_projections(query: str, projections: int) -> None:
    assert only(query, "projections") == (projections,)


def test_blank_node_lists() -> None:
    assert only("CONSTRUCT { ?a wdt:P1 ?b } WHERE { ?a wdt:P2 ?b }", "clauses", "relations") == (2, 1)


@pytest.mark.parametrize(
    ("pattern", "subjects", "objects"),
    [
        ("?a wdt:P1 ?b . ?a wdt:P2 ?b . ?b wdt:P1 ?a", 2, 2),
        ("?a wdt:P1 $a", 1, 1),
        ("wd:Q1 wdt:P1 ?a . <http://www.wikidata.org/entity/Q1> wdt:P2 wd:Q1", 1, 2),
        ("_:x wdt:P1 [] . [] wdt:P2 ?a . [ wdt:P3 ?b ] wdt:P4 _:y", 0, 2),
        ("?a wdt:P1 'text', 1, true, wd:Q1", 1, 1),
        ("VALUES ?a { wd:Q1 wd:Q2 } ?a wdt:P1 wd:Q2 . VALUES (?b ?c) { (wd:Q3 'x') (UNDEF wd:Q1) }", 1, 3),
    ],
)
def test_subjects_and_objects(pattern: str, subjects: int, objects: int) -> None:
    assert only(f"SELECT ?a {{ {pattern} }}", "subjects", "objects") == (subjects, objects)


@pytest.mark.parametrize(
    ("pattern", "predicates"),
    [
        ("?a wdt:P39 ?b ; p:P39 [ ps:P39 ?c ; pq:P580 ?d ]", 2),
        ("?a wdt:P31/wdt:P279* ?b . ?a (wdt:P1|^wdt:P2)+ ?c . ?a !(wdt:P3|wdt:P1) ?d", 5),
        ("?a rdfs:label ?b ; a ?c ; ?p ?d", 0),
        (f"?a <{DIRECT}P31> ?b ; wdt:P31 ?c", 1),
        ("wd:P40 wikibase:directClaim ?p . ?a ?p wd:P22", 0),
    ],
)
def test_predicates(pattern: str, predicates: int) -> None:
    assert only(f"SELECT ?a {{ {pattern} }}", "predicates") == (predicates,)


def test_declared_prefixes() -> None:
    query = f"PREFIX t: <{DIRECT}> PREFIX wdt: <http://example.org/> SELECT ?a {{ ?a t:P1 ?b ; wdt:P2 ?c }}"
    assert only(query, "predicates", "relations") == (1, 2)


@pytest.mark.parametrize(
    ("query", "literals"),
    [
        ("SELECT ?a { ?a wdt:P1 'x' ; wdt:P2 \"x\" ; wdt:P3 '''x'''@en ; wdt:P4 1 }", 2),
        ("SELECT ?a { ?a wdt:P1 ?b FILTER(?b = 1 || ?b > 1.5 && LANG(?b) = 'en') }", 3),
        ("SELECT ?a { VALUES ?b { 'x' 7 wd:Q1 } FILTER(?b != 7) }", 2),
        ("SELECT (COUNT(?a) + 5 AS ?n) { ?a wdt:P1 ?b BIND(3 AS ?c) } ORDER BY (?a + 4) LIMIT 9", 0),
        ("SELECT ?a { FILTER EXISTS { ?a wdt:P1 -2 } }", 1),
        ("SELECT ?a { ?a wdt:P1 true . ?a wdt:P2 [ wdt:P3 'inside' ] }", 1),
    ],
)
def test_literals(query: str, literals: int) -> None:
    assert only(query, "literals") == (literals,)


# -- Table 1, against queries made of known parts ---------------------------------------------------------------------

VARIABLES, ITEMS, PIDS = [f"?v{i}" for i in range(4)], [f"wd:Q{i}" for i in range(4)], [f"P{i}" for i in range(5)]
Triple = tuple[str, str, str]
terms = st.sampled_from(VARIABLES + ITEMS)
triples = st.tuples(terms, st.sampled_from(PIDS), st.one_of(terms, st.sampled_from(["'s'", "'t'@en", "3", "4.5"])))
groups = st.lists(triples, min_size=1, max_size=4)


def written(found: list[Triple], short: list[bool]) -> str:
    """Triples as text; where ``short`` says so and the subject repeats, with a semicolon, and IRIs in full."""
    parts: list[str] = []
    for place, (subject, pid, thing) in enumerate(found):
        brief = short[place % len(short)]
        iri = f"<{DIRECT}{pid}>" if brief else f"wdt:{pid}"
        if brief and thing.startswith("wd:"):
            thing = f"<{ENTITY}{thing[3:]}>"  # noqa: PLW2901
        if brief and parts and found[place - 1][0] == subject:
            parts[-1] += f" ; {iri} {thing}"
        else:
            parts.append(f"{subject} {iri} {thing}")
    return " .\n".join(parts)


@given(
    groups,
    st.lists(groups, max_size=2),
    st.lists(groups, max_size=2),
    st.lists(st.sampled_from([*ITEMS, "'s'", "3", "'u'"]), max_size=3),
    st.lists(st.sampled_from(["3", "8", "'s'", "'w'"]), max_size=3),
    st.lists(st.booleans(), min_size=1, max_size=4),
)
def test_features_of_queries_made_of_known_parts(
    main: list[Triple],
    optional: list[list[Triple]],
    minus: list[list[Triple]],
    values: list[str],
    filtered: list[str],
    short: list[bool],
) -> None:
    parts = [written(main, short), *(f"OPTIONAL {{ {written(g, short)} }}" for g in optional)]
    parts += [f"MINUS {{ {written(g, short)} }}" for g in minus]
    parts += [f"VALUES ?v0 {{ {' '.join(values)} }}"] * bool(values) + [f"FILTER(?v1 != {c})" for c in filtered]
    every = [*main, *(t for g in (*optional, *minus) for t in g)]
    entities = {t[2] for t in every if t[2][0] in "?w"} | {v for v in values if v[0] == "w"}
    constants = {t[2] for t in every if t[2][0] not in "?w"} | {v for v in values if v[0] != "w"} | set(filtered)
    assert counted("SELECT ?v0 ?v1 WHERE {\n" + " .\n".join(parts[:1]) + "\n" + "\n".join(parts[1:]) + "}") == {
        "clauses": 1 + len(every) + len(optional) + len(minus) + bool(values) + len(filtered),
        "projections": 2,
        "relations": len(every),
        "subjects": len({t[0] for t in every}),
        "predicates": len({t[1] for t in every}),
        "objects": len(entities),
        "literals": len({c.removesuffix("@en") for c in constants}),
    }


# -- Tables 6 and 7 ---------------------------------------------------------------------------------------------------

FORM = "SELECT ?a WHERE { ?a wdt:P31 wd:Q5 . FILTER(?a > 3 && ?b = 'x') } LIMIT 5"


@pytest.mark.parametrize(
    "same",
    [
        'select ?zz where { ?zz wdt:P1 wd:Q77 . filter(?q > -12.5 && ?b = """long""") } limit 7',
        "# title\nSELECT ?a WHERE{?a wdt:P31 wd:Q5 .FILTER(?a>3&&?b='x')}LIMIT 5 # end",
        f"PREFIX wd: <{ENTITY}> SELECT $a WHERE {{ $a <{DIRECT}P9> wd:Q5 . FILTER($a > 3 && $b = 'x') }} LIMIT 5",
        f"PREFIX e: <{ENTITY}>\nSELECT ?a WHERE {{ ?b wdt:P1 e:Q5 . FILTER(?a > 3 && ?b = 'x') }} LIMIT 1",
    ],
)
def test_queries_of_one_form(same: str) -> None:
    assert pattern(parse(same)) == pattern(parse(FORM))


@pytest.mark.parametrize(
    "other",
    [
        FORM.replace("wdt:P31", "p:P31"),
        FORM.replace("wd:Q5", "wd:P5"),
        FORM.replace("wd:Q5", "?b"),
        FORM.replace("'x'", "'x'@en"),
        FORM.replace("&&", "||"),
        FORM.replace("LIMIT 5", ""),
        FORM.replace("SELECT", "SELECT DISTINCT"),
        FORM.replace("wdt:P31", "wdt:P31/wdt:P279*"),
    ],
)
def test_queries_of_other_forms(other: str) -> None:
    assert pattern(parse(other)) != pattern(parse(FORM))


def test_a_form_as_text() -> None:
    assert pattern(parse(FORM)) == 'SELECT ? WHERE { ? wdt:P wd:Q . FILTER ( ? > 0 && ? = "" ) } LIMIT 0'
    deep = "SELECT ?a { ?a p:P1/psv:P1 ?b ; a <http://example.org/P1> ; x:y ?c }"
    assert pattern(parse(deep)) == "SELECT ? { ? p:P / psv:P ? ; a <http://example.org/P1> ; <x:y> ? }"


def test_properties_in_all_positions() -> None:
    query = "SELECT ?a { VALUES ?p { wdt:P1 wd:P2 } ?a p:P3/ps:P3 ?b . ?a ?p wd:Q4 FILTER(?b != wd:P5) } "
    assert pids(parse(query)) == {"P1", "P2", "P3", "P5"}


# -- tables -----------------------------------------------------------------------------------------------------------


def write(path: Path, records: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(records), encoding="utf-8")
    return path


SMALL = [
    {"id": "a", "question": "?", "sparql": "SELECT ?x { ?x wdt:P31 wd:Q5 }"},
    {"id": "b", "question": "??", "sparql": "SELECT ?x ?y { ?x wdt:P31 wd:Q6 ; wdt:P1 ?y }"},
    {"id": "c", "question": "???", "sparql": "SELECT ?x { ?x wdt:P2 wd:Q7 }"},
    {"id": "d", "question": "????", "sparql": "SELECT ?x { ?x wdt:P2 }"},
]


def test_tables(tmp_path: Path) -> None:
    described = stats.describe([files.read_questions(write(tmp_path / "mine.json", SMALL))])
    means = (7 / 3, 4 / 3, 4 / 3, 1, 4 / 3, 4 / 3, 0)
    assert stats.sizes(described).rows() == [("mine", "here", 3, *map(pytest.approx, means))]
    assert stats.forms(described).rows() == [("mine", "here", 3, 2, pytest.approx(2 / 3))]
    assert stats.properties(described).rows() == [("mine", "here", 3, 3)]
    assert stats.per_query(described)["query"].to_list() == ["a", "b", "c"]
    first, second = stats.remarks(described)
    assert first == "mine: 1 of 4 queries are invalid and left out:"
    assert second.startswith(f"mine: {tmp_path / 'mine.json'}, record 4 (d): ")
    assert "line 1, column 23" in second.lower()


def test_figures_of_the_paper(tmp_path: Path) -> None:
    path = write(tmp_path / "spinach_dataset" / "dev.json", SMALL)
    sizes = stats.sizes(stats.describe([files.read_questions(path)]))
    assert sizes["figures"].to_list() == ["here", "paper", "difference"]
    assert sizes.row(1) == ("SPINACH", "paper", 320, 8.89, 2.50, 4.03, 1.76, 3.55, 4.53, 0.46)
    assert sizes["clauses"][2] == pytest.approx(7 / 3 - 8.89, abs=1e-4)
    assert stats.sizes(stats.describe([files.read_questions(path)], "none")).height == 1
    assert stats.sizes(stats.describe([files.read_questions(path)], "qald-10"))["dataset"][1] == "QALD-10"
    with pytest.raises(KbError, match=r"'qald' in the paper.*'QALD-"):
        stats.describe([files.read_questions(path)], "qald")


@pytest.mark.parametrize(
    ("path", "name", "split"),
    [
        ("spinach_dataset/test.json", "SPINACH", "test"),
        ("datasets/qald_9_plus/en/test.json", "QALD-9 Plus", "test"),
        ("spinach/datasets/qald_10/en/test.json", "QALD-10", "test"),
        ("spinach/qald_7_outputs.json", "QALD-7", ""),
        ("spinach/mine.json", None, ""),
        ("spinach/a/b/c/dev.json", None, "dev"),
        ("x/wikiwebquestions-dev.jsonl", "WikiWebQuestions", "dev"),
    ],
)
def test_dataset_by_file_name(path: str, name: str | None, split: str) -> None:
    found = paper.named(Path("/d") / path)
    assert (found and found.name, paper.split(Path(path))) == (name, split)


def test_spread_and_charts(tmp_path: Path) -> None:
    described = stats.describe([files.read_questions(write(tmp_path / "mine.json", SMALL))])
    assert stats.spread(described).rows()[:2] == [("mine", "1-3", 3, 1.0), ("mine", "4-6", 0, 0.0)]
    assert [chart.title for chart in stats.charts(described)] == [
        "Table 1: sizes of queries",
        "Queries by number of clauses",
    ]


# -- the published files ----------------------------------------------------------------------------------------------


def test_published_files(shared_data: Path) -> None:
    dev, qald = stats.describe(
        [files.read_questions(shared_data / "spinach" / name) for name in ("dev.json", "qald_9_plus_train.json")]
    )
    assert (dev.unread, qald.unread) == ((), ())
    rows = stats.sizes([dev, qald]).filter(figures="here").rows()
    # The paper: 8.89, 2.50, 4.03, 1.76, 3.55, 4.53, 0.46 of dev and test, counted by regular expressions, which on dev
    # alone give 9.09, -, 4.18, 1.75, 3.63, 4.80, 0.48.
    assert [round(value, 2) for value in rows[0][3:]] == [8.21, 2.50, 4.64, 1.80, 3.73, 4.80, 0.46]
    # The paper: 3.14, 1, 1.77, 1.26, 1.70, 1.78, 0.05.
    assert [round(value, 2) for value in rows[1][3:]] == [3.17, 1.00, 1.90, 1.27, 1.76, 1.85, 0.05]
    assert stats.forms([dev, qald]).filter(figures="here").rows() == [
        ("dev", "here", 155, 155, 1.0),
        ("qald_9_plus_train", "here", 371, 155, pytest.approx(155 / 371)),
    ]
    assert stats.properties([dev, qald]).filter(figures="here")["unique_properties"].to_list() == [176, 128]


# -- files ------------------------------------------------------------------------------------------------------------


def test_forms_of_files(tmp_path: Path) -> None:
    flat = write(tmp_path / "flat.json", [{"id": 7, "question": " who? ", "query": "ASK {}"}])
    [one] = files.read_questions(flat).questions
    assert (one.id, one.text, one.sparql, one.answers, one.where) == ("7", "who?", "ASK {}", None, f"{flat}, record 1")
    lines = tmp_path / "lines.jsonl"
    lines.write_text('{"sparql": "ASK {}"}\n\n{"question": "b", "sparql": "ASK {?s ?p ?o}"}\n', encoding="utf-8")
    found = [(question.id, question.where) for question in files.read_questions(lines).questions]
    assert found == [("1", f"{lines}, line 1"), ("b", f"{lines}, line 3")]


def test_qald_s_own_form(tmp_path: Path) -> None:
    uri = {"type": "uri", "value": "http://www.wikidata.org/entity/Q1"}
    path = write(
        tmp_path / "qald.json",
        {
            "dataset": {"id": "qald-9-plus"},
            "questions": [
                {
                    "id": "1",
                    "question": [{"language": "de", "string": "Wer?"}, {"language": "en", "string": "Who?"}],
                    "query": {"sparql": "SELECT ?x { ?x ?y ?z }"},
                    "answers": [{"head": {"vars": ["x"]}, "results": {"bindings": [{"x": uri}]}}],
                },
                {
                    "id": "2",
                    "question": [{"language": "de", "string": "Ja?"}],
                    "query": {"sparql": "ASK {}"},
                    "answers": [{"head": {}, "boolean": True}],
                },
            ],
        },
    )
    first, second = files.read_questions(path).questions
    assert (first.text, first.answers) == ("Who?", [{"x": uri}])
    assert (second.text, second.sparql, second.answers) == ("Ja?", "ASK {}", True)


@pytest.mark.parametrize(
    "records",
    [
        [{"id": "1", "question": "?"}],
        [{"sparql": "ASK {}"}, {"sparql": ""}],
        [{"sparql": None}],
        [{"query": {"sql": "x"}}],
        [{"sparql": 3}],
        [{"id": 1.5, "sparql": "ASK {}"}],
        [{"question": ["a"], "sparql": "ASK {}"}],
        [{"question": 1, "sparql": "ASK {}"}],
        [{"id": 1, "sparql": "a"}, {"id": "1", "sparql": "b"}],
        [{"sparql": "ASK {}", "answers": 3}],
        {"questions": []},
        {"questions": ["x"]},
        ["x"],
    ],
)
def test_invalid_files(tmp_path: Path, records: Any, wording: Wording) -> None:
    path = write(tmp_path / "bad.json", records)
    with pytest.raises(BadInputError) as raised:
        files.read_questions(path)
    assert str(path) in str(raised.value)
    wording(str(raised.value), replace={str(tmp_path): "DIR"})


def test_required_questions(tmp_path: Path) -> None:
    path = write(tmp_path / "q.json", [{"id": "1", "question": "?"}])
    assert files.read_questions(path, sparql=False, question=True).questions[0].sparql == ""
    path = write(tmp_path / "q.json", [{"id": "1", "sparql": "ASK {}"}])
    with pytest.raises(BadInputError, match=r"Missing question in .*record 1"):
        files.read_questions(path, question=True)


# -- commands ---------------------------------------------------------------------------------------------------------


@pytest.mark.core
def test_stats_for_programs_and_people(here: Here, tmp_path: Path) -> None:
    write(tmp_path / "mine.json", SMALL)
    done = here("spinach", "stats", "mine.json", "-f", "ndjson", cwd=tmp_path)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["table"], row["queries"]) for row in rows] == [(1, 3), (6, 3), (7, 3)]
    assert done.stderr.splitlines()[0] == "mine: 1 of 4 queries are invalid and left out:"
    done = here("-q", "spinach", "stats", "mine.json", "--table", "6", "-f", "csv", cwd=tmp_path)
    assert (done.stdout, done.stderr) == (
        "dataset,figures,queries,unique_patterns,share\nmine,here,3,2,0.6666666666666666\n",
        "",
    )
    done = here("-q", "spinach", "stats", "mine.json", "--per-query", "-f", "csv", cwd=tmp_path)
    assert [line.split(",")[1] for line in done.stdout.splitlines()] == ["query", "a", "b", "c"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--table", "2"],
        ["-f", "csv"],
        ["--table", "1", "--per-query"],
        ["--plot", "x.gif"],
    ],
)
def test_command_errors(here: Here, tmp_path: Path, arguments: list[str], wording: Wording) -> None:
    write(tmp_path / "mine.json", SMALL)
    done = here("spinach", "stats", "mine.json", *arguments, cwd=tmp_path)
    assert done.returncode == 1
    wording(done.stderr, "cli", replace={str(tmp_path): "DIR"})


@pytest.mark.system
def test_a_chart(here: Here, tmp_path: Path) -> None:
    pytest.importorskip("altair")
    write(tmp_path / "dev.json", SMALL)
    done = here("-q", "spinach", "stats", "dev.json", "--paper", "spinach", "--plot", "x.svg", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "SPINACH (paper)" in (tmp_path / "x.svg").read_text(encoding="utf-8")
