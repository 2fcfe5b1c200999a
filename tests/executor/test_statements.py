"""What the shell's executor gives for statements in four languages, and what it makes of the last result."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import kbkit
from kbkit.errors import KbError, QueryError
from kbkit.executor.dispatch import run
from kbkit.executor.executor import Executor
from kbkit.executor.outcomes import StatementOutcome
from kbkit.executor.prompt_settings import PromptSettings
from kbkit.graph.pages import Page
from kbkit.kb import KnowledgeBase
from kbkit.shell.errors import error_lines
from tests.loops import each
from tests.wording import Wording

FRANCE = 'country:"France" -> [borders] -> country'
NEIGHBOURS = ["Andorra", "Belgium", "Brazil", "Switzerland", "Germany", "Spain"]
NEIGHBOURS += ["Italy", "Luxembourg", "Monaco", "Suriname", "Netherlands"]


@pytest.fixture(scope="module")
def opened(world_kb: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """A copy of the world, since sets are saved in it."""
    copy = tmp_path_factory.mktemp("statements") / "world.kb"
    shutil.copytree(world_kb, copy)
    with kbkit.open(copy) as kb:
        yield kb


@pytest.fixture
def shell(opened: KnowledgeBase) -> Executor:
    return Executor(opened)


def names(outcome: StatementOutcome, column: str = "name") -> list[str]:
    assert outcome.frame is not None
    return sorted(outcome.frame[column].to_list())


# -- four languages ---------------------------------------------------------------------------------------------------


def test_sql_returns_the_result_of_the_kb(shell: Executor, opened: KnowledgeBase) -> None:
    text = "SELECT key, name FROM country WHERE area_km2 > 5e6 ORDER BY key"
    outcome = run(shell, f"  {text} ;\n")
    assert outcome.language == "sql"
    assert outcome.frame is not None
    assert outcome.frame.equals(opened.sql(text))
    assert outcome.seconds > 0
    assert outcome.preview is None


def test_a_question_gives_answers_and_its_expression_is_the_last_result(shell: Executor) -> None:
    outcome = run(shell, "Which countries border France?")
    assert (outcome.language, names(outcome)) == ("answers", sorted(NEIGHBOURS))
    assert outcome.note.startswith(f"read as {FRANCE} (confidence 0.")
    assert "-> [borders] ->" in run(shell, ".why 1").value
    assert run(shell, "1").value.data["name"] == NEIGHBOURS[0]
    assert len(run(shell, "_ & country").value) == len(NEIGHBOURS)
    counted = run(shell, ".ask How many lakes are in Canada?")
    assert counted.frame is not None
    assert counted.frame.rows() == [(16,)]


def test_a_question_that_is_not_read_is_searched_for_and_says_so(shell: Executor, wording: Wording) -> None:
    outcome = run(shell, "Which countries like cheese?")
    assert outcome.language == "search"
    assert outcome.frame is not None
    wording(outcome.note, "shell")


def test_a_chosen_question_that_is_not_read_offers_its_closest_readings(shell: Executor, wording: Wording) -> None:
    refused = run(shell, ".ask countries with twice as many lakes as Canada")
    assert refused.frame is None
    assert shell.last is None
    wording(refused.value, "shell")
    assert shell.readings == 3
    for number in (0, 4):
        with pytest.raises(KbError, match="Readings are numbered from 1 to 3"):
            shell.choose(number)
    chosen = run(shell, "3")
    assert chosen.value.expression == shell.last.answers.expression  # type: ignore[union-attr]
    assert shell.readings == 0
    assert "as you chose on" in chosen.note
    assert run(shell, "countries with twice as many lakes as Canada?").note == chosen.note
    assert shell.kb.forget_choice("countries with twice as many lakes as Canada")
    with pytest.raises(KbError, match="No question given"):
        run(shell, ".ask")
    shell.settings.mode = "ask"
    assert names(run(shell, "mountains in Nepal and China"))[-1] == "Mount Everest"
    assert "names nothing" in run(shell, "xyzzy foo").value


def test_the_name_of_a_node_is_no_question(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("key,type,name\na,film,What Dreams May Come\nb,film,Alien\n")
    (tmp_path / "edges.csv").write_text("head,relation,tail\na,follows,b\n")
    with kbkit.ingest("table", tmp_path, out=tmp_path / "films.kb") as kb:
        assert run(Executor(kb), "What Dreams May Come").language == "search"


def test_sparql_returns_the_result_of_the_kb(shell: Executor, opened: KnowledgeBase) -> None:
    text = "SELECT ?c { country:FRA rel:borders ?c } ORDER BY ?c"
    outcome = run(shell, f"{text};")
    assert outcome.language == "sparql"
    assert outcome.frame is not None
    assert outcome.frame.equals(opened.sparql(text))
    assert outcome.frame.height == 11


def test_an_expression_returns_its_answers(shell: Executor) -> None:
    outcome = run(shell, f"{FRANCE};")
    assert outcome.language == "answers"
    assert names(outcome) == sorted(NEIGHBOURS)
    assert outcome.preview is not None
    assert outcome.preview.columns == ["n", "name", "node"]
    assert outcome.preview.rows()[0] == (1, "Andorra", "country#AND")


def test_words_are_a_search(shell: Executor, opened: KnowledgeBase) -> None:
    outcome = run(shell, "flat-topped mountain above Cape Town")
    assert outcome.language == "search"
    assert outcome.frame is not None
    assert outcome.frame.height == 10
    assert outcome.frame["name"][0] == "Table Mountain"
    assert outcome.preview is not None
    assert outcome.preview.columns == ["rank", "name", "node", "score", "snippet"]
    assert outcome.frame["id"].to_list() == opened.search("flat-topped mountain above Cape Town", k=10)["id"].to_list()


@pytest.mark.parametrize(
    "text",
    [
        "-- note\nSELECT name FROM country WHERE key = 'FRA'",
        "# note\nSELECT name FROM country WHERE key = 'FRA'",
        "# note\nSELECT ?name { country:FRA rdfs:label ?name }",
        "-- note\nSELECT ?name { country:FRA rdfs:label ?name }",
        '# note\ncountry:"France"',
        '-- note\ncountry:"France"',
        '/* note\n*/ country:"France"',
    ],
)
def test_any_comment_can_precede_a_statement(shell: Executor, text: str) -> None:
    assert names(run(shell, text)) == ["France"]


@pytest.mark.parametrize("text", ["", ";", " ; ;", "-- only", "/* only */", "# only"])
def test_empty_statements_have_no_result(shell: Executor, text: str) -> None:
    run(shell, "SELECT 1 AS a")
    outcome = run(shell, text)
    assert outcome.value is None
    assert outcome.frame is None
    assert shell.columns() == [("a", "Int32")]


def test_a_mode_overrides_the_syntax(opened: KnowledgeBase) -> None:
    shell = Executor(opened, PromptSettings(mode="search"))
    assert run(shell, "SELECT 1;").language == "search"
    assert run(shell, ".mode auto").note == "mode auto"
    assert run(shell, "SELECT 1;").language == "sql"


def test_values_of_parameters_and_slots(shell: Executor) -> None:
    assert names(run(shell, "SELECT name FROM country WHERE key = $key", {"key": "FRA"})) == ["France"]
    assert names(run(shell, "SELECT ?name { $c rdfs:label ?name }", {"c": f"<{shell.kb.iri('country#FRA')}>"})) == [
        "France"
    ]
    assert names(run(shell, "country:<c> -> [capital] -> city", {"c": "France"})) == ["Paris"]
    assert names(run(shell, "country:<c> -> [capital] -> city", {"c": "#FRA"})) == ["Paris"]
    with pytest.raises(QueryError, match="x"):
        run(shell, "SELECT $x AS a")
    with pytest.raises(KbError, match="<c>"):
        run(shell, "country:<c> -> [capital] -> city")


def test_a_query_times_out(opened: KnowledgeBase) -> None:
    shell = Executor(opened, PromptSettings(timeout=0.05))
    with pytest.raises(KbError, match=r"0\.05 s") as stopped:
        run(shell, "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range % 7 = b.range % 11;")
    assert stopped.value.exit_code == 124


# -- the last result in SQL -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "count"),
    [
        (FRANCE, 11),
        ("SELECT id, name FROM country LIMIT 3", 3),
        ("SELECT ?c ?d { country:FRA rel:borders ?c . ?c rel:borders ?d } LIMIT 7", 7),
        ("deep lake", 10),
        ("SELECT name FROM country WHERE false", 0),
        ("country{area_km2 > 1e9}", 0),
    ],
)
def test_the_last_result_is_a_table_of_sql(shell: Executor, before: str, count: int) -> None:
    first = run(shell, before)
    again = run(shell, "SELECT * FROM _")
    assert first.frame is not None
    assert again.frame is not None
    assert again.frame.columns == first.frame.columns
    assert again.frame.rows() == first.frame.rows()
    assert again.frame.height == count
    assert run(shell, "SELECT count(*) AS n FROM _ AS a").frame["n"].to_list() == [count]  # type: ignore[index]
    assert run(shell, "FROM _").frame["n"].to_list() == [count]  # type: ignore[index]


def test_the_last_result_takes_parameters_too(shell: Executor) -> None:
    run(shell, FRANCE)
    assert names(run(shell, "SELECT name FROM _ WHERE key = $key", {"key": "BEL"})) == ["Belgium"]


def test_quoted_underscores_are_not_the_last_result(shell: Executor) -> None:
    assert names(run(shell, "SELECT '_' AS name")) == ["_"]
    shell.last = None
    assert names(run(shell, "SELECT $$_$$ AS name -- FROM _")) == ["_"]
    shell.last = None
    assert names(run(shell, "SELECT name FROM country WHERE name LIKE 'Fr_nce'")) == ["France"]
    shell.last = None
    with pytest.raises(QueryError, match="Table with name _ does not exist"):
        run(shell, 'SELECT * FROM "_"')


def test_a_column_can_be_named_like_the_last_result(shell: Executor) -> None:
    run(shell, 'SELECT 5 AS "_", 6 AS _x, 7 AS x_')
    assert shell.columns() == [("_", "Int32"), ("_x", "Int32"), ("x_", "Int32")]
    assert names(run(shell, 'SELECT "_"::VARCHAR AS name FROM _')) == ["5"]


def test_without_a_last_result(shell: Executor, wording: Wording) -> None:
    assert shell.columns() == []
    for text in ("SELECT * FROM _", "FROM _ WHERE id = 1"):
        with pytest.raises(KbError) as error:
            run(shell, text)
        wording(str(error.value))
    for text in ("_", "_ -> [borders] -> country", ".save x", ".why", ".explain"):
        with pytest.raises(KbError) as error:
            run(shell, text)
        assert "last result" in str(error.value)


def test_a_failure_keeps_the_last_result(shell: Executor) -> None:
    run(shell, FRANCE)
    for text in ("SELECT foo FROM country", "SELECT ?x { ?x foo:bar ?y }", "country -> nope", ".save", ".frobnicate"):
        with pytest.raises(KbError):
            run(shell, text)
    assert names(run(shell, "_")) == sorted(NEIGHBOURS)


# -- the last result in expressions -----------------------------------------------------------------------------------


@pytest.mark.core
@pytest.mark.parametrize(
    "before",
    [
        'country:"France"',
        "SELECT id FROM country WHERE key = 'FRA'",
        "SELECT id::BIGINT AS id, 'x' AS name FROM country WHERE key = 'FRA' UNION ALL FROM (SELECT 58, 'y')",
        'SELECT ?c { ?c rdfs:label "France" ; a country: }',
        "SELECT ?name ?c { VALUES ?c { country:FRA } ?c rdfs:label ?name }",
        '.search -k 1 --type country "France" wine cheese Revolution of 1789',
    ],
)
def test_the_last_result_is_a_set(shell: Executor, before: str) -> None:
    if "a country:" in before:
        before = before.replace(" ; a country:", "")
    run(shell, before)
    assert names(run(shell, "_ -> [borders] -> country")) == sorted(NEIGHBOURS)
    assert names(run(shell, "_ & country{area_km2 > 1e6}")) == ["Brazil"]
    assert names(run(shell, "country:all('Brazil') - _")) == []


def test_chains_of_last_results_are_expanded(shell: Executor) -> None:
    run(shell, 'country:"Nepal"')
    run(shell, "_ -> [borders] -> country")
    found = run(shell, "(_ -> [capital] -> city) | (_ -> [capital] -> city)")
    assert names(found) == ["Beijing", "New Delhi"]
    assert shell.last is not None
    assert "_" not in shell.last.statement.replace("area_km2", "")
    assert shell.ran.count('country:"Nepal"') == 2
    proof = run(shell, ".why 1").value
    assert proof.startswith("Beijing\n")
    assert "Nepal" in proof


def test_a_set_of_rows_survives_later_results(shell: Executor) -> None:
    run(shell, "SELECT id FROM country WHERE key IN ('NPL', 'BTN')")
    run(shell, "_ -> [borders] -> country")
    run(shell, "SELECT id FROM country WHERE key = 'FRA'")
    run(shell, "_ -> [capital] -> city")
    assert names(run(shell, "_")) == ["Paris"]
    run(shell, "SELECT id FROM country WHERE key IN ('NPL', 'BTN')")
    first = run(shell, "_ -> [borders] -> country")
    assert names(first) == ["China", "India"]
    run(shell, "SELECT 1 AS id")
    run(shell, "_ -> [capital] -> city")
    assert sorted(first.value.nodes()["name"]) == ["China", "India"]


@pytest.mark.parametrize(
    "before",
    [
        "SELECT 1 AS a",
        "SELECT name FROM country",
        "SELECT -1 AS id",
        "SELECT 1000000 AS id",
        "SELECT NULL::INT AS id",
        "SELECT 'FRA' AS id",
        "SELECT 1.5 AS id",
        "SELECT ?n { country:FRA rdfs:label ?n }",
        "ASK {}",
    ],
)
def test_rows_that_are_not_nodes_are_not_a_set(shell: Executor, before: str) -> None:
    run(shell, before)
    with pytest.raises(KbError) as error:
        run(shell, "_ -> [borders] -> country")
    assert "not nodes" in str(error.value)


@pytest.mark.parametrize("before", ["SELECT id FROM country WHERE false", "SELECT ?c { ?c rel:borders ?c }"])
def test_no_rows_are_the_empty_set(shell: Executor, before: str) -> None:
    run(shell, before)
    assert names(run(shell, "_")) == []


def test_names_with_underscores_are_not_the_last_result(shell: Executor) -> None:
    run(shell, 'country:"Nepal"')
    for text in ('country:"_"', "`_`", "country -> [_] -> city", "@_", "country#_"):
        with pytest.raises(KbError):
            run(shell, text)
        assert "Nepal" not in shell.ran
    assert names(run(shell, '_{name = "_"}')) == []
    assert shell.ran == '(country:"Nepal"){name = "_"}'


def test_more_after_the_last_row(shell: Executor) -> None:
    run(shell, "SELECT name FROM country LIMIT 3")
    assert run(shell, ".more").note == "All 3 rows were shown"
    run(shell, "SELECT 1")
    assert run(shell, ".more").note == "The only row was shown"


def test_a_type_can_be_named_like_the_last_result(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("key,type,name\na,_,Anna\nb,_,Bert\nc,city,Cairo\n", encoding="utf-8")
    (tmp_path / "edges.csv").write_text("head,relation,tail\na,knows,b\nb,lives_in,c\n", encoding="utf-8")
    out = tmp_path / "odd.kb"
    with kbkit.ingest("table", tmp_path, out=out, stores=("tables", "adjacency")) as kb:
        shell = Executor(kb)
        assert names(run(shell, "SELECT name FROM city")) == ["Cairo"]
        assert names(run(shell, "_")) == ["Anna", "Bert"]
        assert names(run(shell, '_:"Anna" -> [knows] -> _')) == ["Bert"]
        table = shell.kb.types().filter(shell.kb.types()["type"] == "_")["sql_name"][0]
        assert names(run(shell, f'SELECT name FROM "{table}"')) == ["Anna", "Bert"]
        shell.last = None
        assert names(run(shell, f"SELECT name FROM {table}")) == ["Anna", "Bert"]


# -- sets that are saved ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (FRANCE, NEIGHBOURS),
        ("SELECT id FROM country WHERE key IN ('FRA', 'NPL')", ["France", "Nepal"]),
        ("SELECT id FROM nodes WHERE key IN ('FRA', 'paris')", ["France", "Paris"]),
        ("SELECT ?c { country:NPL rel:borders ?c }", ["China", "India"]),
        (".search -k 1 flat-topped mountain above Cape Town", ["Table Mountain"]),
        ("SELECT id FROM country WHERE false", []),
    ],
)
def test_all_engines_read_a_saved_set(shell: Executor, before: str, expected: list[str]) -> None:
    run(shell, before)
    count = len(expected)
    assert run(shell, ".save kept").note == f"@kept: {count} node{'' if count == 1 else 's'}"
    assert names(run(shell, "@kept")) == sorted(expected)
    rows = "SELECT n.name FROM answer_members m JOIN nodes n USING (id) WHERE answer_set = 'kept'"
    assert names(run(shell, rows)) == sorted(expected)
    for engine in ("walk", "sql", "sparql"):
        found = shell.kb.answers("@kept", engine=engine)
        assert sorted(found.nodes()["name"]) == sorted(expected), engine
    if expected in (NEIGHBOURS, ["France", "Nepal"]):
        capitals = run(shell, "@kept -> [capital] -> city").frame
        for engine in ("sql", "sparql"):
            again = shell.kb.answers("@kept -> [capital] -> city", engine=engine).nodes()
            assert capitals is not None
            assert again.rows() == capitals.rows()


def test_saving_replaces_a_set(shell: Executor) -> None:
    run(shell, 'country:"Nepal"')
    run(shell, ".save @kept")
    run(shell, 'country:"Bhutan"')
    assert names(run(shell, "@kept")) == ["Nepal"]
    run(shell, ".save kept")
    assert names(run(shell, "@kept")) == ["Nepal"]  # it was the last result
    run(shell, 'country:"Bhutan"')
    run(shell, ".save kept")
    assert names(run(shell, "@kept")) == ["Bhutan"]


# -- pages and links --------------------------------------------------------------------------------------------------


def shown(outcome: StatementOutcome) -> str:
    assert isinstance(outcome.value, Page)
    return str(outcome.value.data["reference"])


def test_numbers_follow_links_and_back_returns(shell: Executor) -> None:
    page = run(shell, ".show France").value
    assert page.data["reference"] == "country#FRA"
    links = list(page.links)
    assert shown(run(shell, "2")) == links[1] == "country#BEL"
    onwards = list(shell.links)
    assert shown(run(shell, " 1 ")) == onwards[0]
    assert shown(run(shell, ".back")) == "country#BEL"
    assert list(shell.links) == onwards
    assert shown(run(shell, ".back")) == "country#FRA"
    with pytest.raises(KbError) as error:
        run(shell, ".back")
    assert "previous page" in str(error.value)
    assert shown(run(shell, "2")) == "country#BEL"


def test_numbers_open_rows_of_a_result(shell: Executor) -> None:
    result = run(shell, "SELECT name, id FROM country ORDER BY name DESC LIMIT 3")
    assert names(result) == ["Yemen", "Zambia", "Zimbabwe"]
    assert shown(run(shell, "3")) == "country#YEM"
    run(shell, FRANCE)
    assert shown(run(shell, ".show")) == "country#AND"
    run(shell, "flat-topped mountain above Cape Town")
    assert shown(run(shell, "1")) == "mountain#table-mountain"


@pytest.mark.parametrize("number", ["0", "12"])
def test_an_invalid_link_number_names_the_valid_ones(shell: Executor, number: str) -> None:
    run(shell, FRANCE)
    with pytest.raises(KbError) as error:
        run(shell, number)
    assert str(error.value).startswith(f"Invalid link number {number}. ")
    assert "1 to 11" in str(error.value)


def test_a_number_without_links_is_a_search(shell: Executor) -> None:
    assert run(shell, "1789").language == "search"
    run(shell, "SELECT 1 AS one")
    assert run(shell, "1789").language == "search"
    shell.last, shell.links = None, ()
    with pytest.raises(KbError) as error:
        run(shell, ".show")
    assert ".show NODE" in str(error.value)


# -- the place of an error --------------------------------------------------------------------------------------------


def told(shell: Executor, text: str, width: int = 80) -> list[str]:
    with pytest.raises(KbError) as error:
        run(shell, text)
    return error_lines(error.value, shell.ran, width)


@pytest.mark.parametrize(
    ("text", "line", "under"),
    [
        ("SELECT name,\n  foo\nFROM country;", "  foo", "foo"),
        ("SELECT name FROM country WHERE bar = 1", "SELECT name FROM country WHERE bar = 1", "bar"),
        ("SELECT\n'a;\nb', foo FROM country", "b', foo FROM country", "foo"),
        ("SELECT name FRM country", "SELECT name FRM country", "country"),
        ("SELECT\tname,\tfoo FROM country", "SELECT name, foo FROM country", "foo"),
        ("SELECT 'né', foo FROM country", "SELECT 'né', foo FROM country", "foo"),
        ("SELECT name\r\n, foo\r\nFROM country", ", foo", "foo"),
        ("SELECT 'abc", "SELECT 'abc", "'abc"),
        ("SELECT (1", "SELECT (1", "1"),
        ("SELECT ?x {\n ?x foo:bar ?y }", " ?x foo:bar ?y }", "foo:bar"),
        ("SELECT ?x {\n ?x ? ?y }", " ?x ? ?y }", "? ?y"),
        ('SELECT ?x { ?x ?p "abc }', 'SELECT ?x { ?x ?p "abc }', '"abc'),
        ("SELECT ?x { ?x ?p ?o", "SELECT ?x { ?x ?p ?o", ""),
        ("SELECT ?x WHERE { ?x rel:nope:x ?o . ; }", "SELECT ?x WHERE { ?x rel:nope:x ?o . ; }", ";"),
        ('country:"France" ->\n  [borders] -> foo', "  [borders] -> foo", "foo"),
        ('country:"Frnce" -> city', 'country:"Frnce" -> city', "country"),
        ('country:"France" -> [nope] -> city', 'country:"France" -> [nope] -> city', "nope]"),
        ("country{area > 3}", "country{area > 3}", "area"),
        ('country:"abc', 'country:"abc', '"abc'),
        ("(country", "(country", ""),
    ],
)
def test_the_caret_points_to_the_position(shell: Executor, text: str, line: str, under: str) -> None:
    above, caret, message = told(shell, text)
    assert above == f"  {line}"
    assert caret.strip() == "^"
    assert above[caret.index("^") :].startswith(under)
    assert message
    assert "\n" not in message


@pytest.mark.parametrize("wide", ["日本", "🤧", "e\u0301", "한국어 "])
@pytest.mark.parametrize(
    "text", ["SELECT '{}' AS a, foo FROM country", 'country:"{}" -> [foo] -> city', 'SELECT ?x {{ ?x "{}" foo }}']
)
def test_the_caret_is_right_after_wide_characters(shell: Executor, wide: str, text: str) -> None:
    from rich.cells import cell_len

    above, caret, _ = told(shell, text.format(wide))
    assert above == f"  {text.format(wide)}"
    at = above.index('"' if "?x" in text else "foo]" if "->" in text else "foo")
    assert caret.index("^") == cell_len(above[:at])


@pytest.mark.parametrize("letter", ["x", "日", "e\u0301"])
@pytest.mark.parametrize(("before", "after"), [(500, 500), (500, 0), (0, 500), (30, 500), (500, 30), (20000, 20000)])
def test_a_long_line_is_cut_around_the_position(shell: Executor, letter: str, before: int, after: int) -> None:
    from rich.cells import cell_len

    text = f"SELECT '{letter * before}' AS a, foo, '{letter * after}' AS b FROM country"
    for width in (40, 80):
        above, caret, _ = told(shell, text, width)
        assert cell_len(above) <= width
        at = next(i for i in range(len(above)) if cell_len(above[:i]) == caret.index("^") and above[i] == "f")
        assert above[at:].startswith("foo")
        part = above[2:]
        assert text.startswith(part.removesuffix("...")) != part.startswith("...")
        assert text.endswith(part.removeprefix("...")) != part.endswith("...")
        assert part.removeprefix("...").removesuffix("...") in text
        if cell_len(text) > width:
            assert cell_len(above) > width - 2


def test_control_characters_of_a_statement_do_not_reach_the_screen(shell: Executor) -> None:
    for text in (
        "SELECT \x1b[31m, foo",
        'country:"\x1b[2J"',
        ".show \x1b]0;x\x07",
        "SELECT ?x { ?x \x00 ?y }",
        "SELECT 'a\x00",
    ):
        lines = told(shell, text)
        assert not any(ord(letter) < 32 or letter == "\x7f" for line in each(lines) for letter in line), lines


def test_type_names_ignore_case(shell: Executor) -> None:
    assert shell.language("COUNTRY") == "answers"
    assert run(shell, "Sea & SEA").frame is not None
