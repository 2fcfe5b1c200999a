"""Questions in plain English: the expressions they are read as have the answers that SQL gives; faulty questions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import kbkit
from kbkit.answers.answer_set import AnswerSet
from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase
from kbkit.questions.question import MAX_TOKENS, Question
from kbkit.questions.reader import QuestionReader
from tests.questions.table import TINY, WORLD, expected
from tests.wording import Wording


def answered(answers: AnswerSet) -> list[Any]:
    """Return the values or the names of the answers, sorted."""
    value = answers.value
    found = answers.nodes()["name"].to_list() if value is None else value if isinstance(value, list) else [value]
    return sorted(found, key=str)


def keys(kb: KnowledgeBase, question: str) -> set[str]:
    """Return the keys of the answers."""
    return set(kb.ask(question).nodes()["key"])


# -- the table --------------------------------------------------------------------------------------------------------

CASES = [
    *(pytest.param("world", *case, id=name, marks=pytest.mark.core) for name, case in WORLD.items()),
    *(pytest.param("small", *case, id=f"tiny: {name}", marks=pytest.mark.core) for name, case in TINY.items()),
]


@pytest.mark.parametrize(("name", "question", "sql"), CASES)
def test_answers_are_those_of_sql(request: pytest.FixtureRequest, name: str, question: str, sql: str) -> None:
    kb: KnowledgeBase = request.getfixturevalue(name)
    result = kb.ask(question)
    wanted = expected(kb, sql)
    assert wanted
    assert result.answers is not None
    assert answered(result.answers) == [pytest.approx(v) if isinstance(v, float) else v for v in wanted]
    assert 0 < result.confidence <= 1
    assert len(result.unexplained) <= 1
    for engine in ("walk", "sql", "sparql"):
        same = kb.answers(result.expression, engine=engine)
        assert same.ids.tolist() == result.answers.ids.tolist(), engine
        assert answered(same) == [pytest.approx(v) if isinstance(v, float) else v for v in wanted], engine


# -- the result -------------------------------------------------------------------------------------------------------


def test_the_result_of_a_question(world: KnowledgeBase) -> None:
    result = world.ask("Which rivers flow through both Germany and Austria?")
    assert result.question == "Which rivers flow through both Germany and Austria?"
    assert result.expression == (
        '(country:"Germany" -> [flows_through] -> river) & (country:"Austria" -> [flows_through] -> river)'
    )
    assert result.is_trusted
    assert result.confidence > 0.8
    assert result.unexplained == []
    assert result.value is None
    assert len(result) == result.nodes().height == len(result.answers or [])
    why = result.why("river:Danube")
    assert why is not None
    assert sorted(line.strip() for line in why.lines()) == [
        "Danube -> [flows_through] -> Austria",
        "Danube -> [flows_through] -> Germany",
    ]
    table = result.match_table()
    assert dict(table.schema) == {"words": pl.String, "meaning": pl.String, "similarity": pl.Float64}
    matched = {words: meaning for words, meaning, _ in table.rows()}
    assert matched["Germany"] == "country#DEU"
    assert matched["flow"] == "flows_through"
    assert table["similarity"].is_between(0, 1).all()


def test_alternatives_are_other_expressions_by_score(world: KnowledgeBase) -> None:
    result = world.ask("What is the longest river in Africa?", alternatives=3)
    others = result.alternatives
    assert others.columns == ["score", "probability", "answers", "expression"]
    assert others.height == 3
    assert result.expression not in others["expression"].to_list()
    assert others["score"].is_sorted(descending=True)
    for count, expression in others.select("answers", "expression").iter_rows():
        assert len(world.answers(expression)) == count
    again = world.ask("Which seas are part of the Mediterranean Sea?")  # which has two names
    found = [again.expression, *again.alternatives["expression"]]
    assert len(found) == len(set(found)) == 6
    assert world.ask("What is the longest river in Africa?", alternatives=0).alternatives.is_empty()


@pytest.mark.parametrize(
    ("unit", "area"),
    [
        ("square kilometres", 500_000),
        ("km²", 500_000),
        ("sq. km", 500_000),
        ("square miles", 1_294_994.06),
        ("hectares", 5_000),
    ],
)
def test_areas_are_read_in_their_units(world: KnowledgeBase, unit: str, area: float) -> None:
    found = world.ask(f"countries larger than 500,000 {unit}")
    assert found.is_sure
    wanted = world.sql("SELECT name FROM country WHERE area_km2 > $area ORDER BY id", area=area)
    assert found.nodes()["name"].to_list() == wanted["name"].to_list()


def test_means_are_of_numbers_only(world: KnowledgeBase) -> None:
    for question in ("Tell me who, sorry, I mean, what the symbol of the krone is.", "mean symbol of the krone"):
        result = world.ask(question)
        assert result.expression.startswith("values(")
        assert result.value == ["kr"]
    assert world.ask("mean length of the rivers in France").expression.startswith("avg(")


def test_a_question_is_read_once_and_the_same_way(world: KnowledgeBase) -> None:
    question = "Which currency is used in Japan?"
    reader = QuestionReader.of(world.stores)
    assert reader is QuestionReader.of(world.stores)
    assert reader.read(question) is reader.read(question)
    with kbkit.open(world.directory.path) as again:
        one, other = world.ask(question), again.ask(question)
        assert (one.expression, one.confidence) == (other.expression, other.confidence)


# -- questions without a reading --------------------------------------------------------------------------------------

HOSTILE = {
    "stop words": "what is the of and",
    "operators": "not how many most",
    "punctuation": "?! ... -- \\ ' \" ` ( ]",
    "Chinese": "哪些河流流经它?",
    "Arabic": "ما هي الأنهار؟",
    "Cyrillic": "Какие реки там?",
    "Thai": "แม่น้ำ",
    "emoji": "🤧🤧",
    "digits": "¹²³ ٣٤ 12 3.5",
    "unknown words": "zzqx zzqy",
    "one endless word": "zq" * 50_000,
    "SQL": "'; DROP TABLE zzqx; --",
    "percent": "% _ * $ {} <>",
    "controls": "\x00\x01\x1b[31m\x7f",
}


@pytest.mark.parametrize("question", HOSTILE.values(), ids=HOSTILE)
def test_a_question_that_is_not_read(world: KnowledgeBase, small: KnowledgeBase, question: str) -> None:
    for kb in (world, small):
        result = kb.ask(question)
        assert (result.expression, result.confidence, len(result)) == ("", 0.0, 0)
        assert (result.answers, result.value, result.reading) == (None, None, None)
        assert not result.is_trusted
        assert result.why(0) is None
        assert (result.nodes().height, result.alternatives.height, result.match_table().height) == (0, 0, 0)
        assert kb.linked(question).is_empty()


def test_faulty_questions_are_one_clear_error(world: KnowledgeBase, wording: Wording) -> None:
    for question in ("", " \t\n", "rivers of Peru \udcff"):
        with pytest.raises(KbError) as caught:
            world.ask(question)
        wording(str(caught.value))


def test_words_of_a_superlative() -> None:
    words = ("the most populous city of Peru", "the longest river", "cities of Peru")
    assert [Question.of(text).superlative_words for text in words] == [["most", "populous"], ["longest"], []]


def test_a_long_question_is_read_to_a_limit(world: KnowledgeBase) -> None:
    assert len(Question.of("so " * 10_000).tokens) == MAX_TOKENS
    assert world.ask("so " * (MAX_TOKENS - 4) + "rivers of Peru").answers is not None
    assert world.ask("so " * MAX_TOKENS + "rivers of Peru").answers is None
    result = world.ask("Which rivers flow through Peru? " * 2_000)
    assert "flows_through" in result.expression


@pytest.mark.parametrize(
    ("question", "count"),
    [
        ("Which rivers are longer than 99999999999999999999999999999999 km?", 0),
        ("Which rivers are shorter than 99999999999999999999999999999999 km?", 293),
        ("Which countries border more than 99999999999999999999999999999 countries?", 0),
        ("Which countries border exactly 2.5 countries?", 0),
    ],
)
def test_numbers_out_of_range(world: KnowledgeBase, question: str, count: int) -> None:
    result = world.ask(question)
    assert len(result) == count
    for engine in ("sql", "sparql"):
        assert len(world.answers(result.expression, engine=engine)) == count


def test_a_superlative_among_the_nodes_that_meet_a_condition(world: KnowledgeBase) -> None:
    result = world.ask("What is the longest river that is shorter than 1000 km?")
    sql = "SELECT name FROM river WHERE length_km = (SELECT max(length_km) FROM river WHERE length_km < 1000)"
    assert result.is_sure
    assert set(result.nodes()["name"]) == set(world.sql(sql)["name"])


def test_what_a_reading_ignores_is_not_trusted(world: KnowledgeBase) -> None:
    for question in (
        "Which countries does the Rhine not flow through?",
        "countries with twice as many lakes as Canada",
        "Which countries do pirates and unicorns of Nepal like?",
    ):
        assert not world.ask(question).is_trusted, question


# -- hostile names ----------------------------------------------------------------------------------------------------

NAMES = [
    *("not Heat", "`Peru`", "a -> b", '"quoted"', "O'Neil; DROP TABLE", "tab\there", "new\nline", "\x1b[31mred"),
    *("<script>", "a & b", "count(film)", "$x and {y}", "film#f1", "country", "directed", "person", "{max year}"),
]
OPERATORS = ["not", "how many", "most", "the", "longest", "or", "%", "", "and"]


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """Films of hostile names, each directed by a person of its own."""
    import csv

    folder = tmp_path_factory.mktemp("hostile")
    names = [*NAMES, *OPERATORS]
    with (folder / "nodes.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(
            [
                ("key", "type", "name"),
                *((f"f{i}", "film", name) for i, name in enumerate(names)),
                *((f"p{i}", "person", f"Ann{i}") for i in range(len(names))),
            ]
        )
    edges = "".join(f"p{i},directed,f{i}\n" for i in range(len(names)))
    (folder / "edges.csv").write_text("head,relation,tail\n" + edges, encoding="utf-8")
    with kbkit.ingest("table", folder, out=folder / "x.kb", stores=["adjacency", "text", "triples"]) as kb:
        yield kb


@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_names_are_names_whatever_they_look_like(films: KnowledgeBase, name: str) -> None:
    result = films.ask(f"Who directed {name}?")
    assert keys(films, f"Who directed {name}?") == {f"p{NAMES.index(name)}"}
    assert result.answers is not None
    for engine in ("sql", "sparql"):
        assert films.answers(result.expression, engine=engine).ids.tolist() == result.answers.ids.tolist()


@pytest.mark.parametrize("name", OPERATORS, ids=repr)
def test_names_that_are_operators_raise_nothing(films: KnowledgeBase, name: str) -> None:
    for question in (f"Who directed {name}?", f"Which films did Ann1 direct, {name}?", name or " x"):
        result = films.ask(question)
        assert 0 <= result.confidence <= 1
        result.match_table()
        assert result.alternatives.height <= 5


# -- KBs that lack something ------------------------------------------------------------------------------------------


def build(folder: Path, nodes: str, edges: str, stores: list[str]) -> KnowledgeBase:
    (folder / "nodes.csv").write_text(nodes, encoding="utf-8")
    (folder / "edges.csv").write_text("head,relation,tail\n" + edges, encoding="utf-8")
    return kbkit.ingest("table", folder, out=folder / "x.kb", stores=stores)


PEOPLE = "key,type,name\na,person,Ann\nb,person,Bob\nc,city,Cid\n"
LIVES = "a,knows,b\nb,lives in,c\n"


def test_without_relations_and_attributes_nothing_is_read(tmp_path: Path) -> None:
    with build(tmp_path, PEOPLE, "", ["adjacency", "text"]) as kb:
        for question in ("Who is Ann?", "which person is not in a city", "longest city"):
            assert kb.ask(question).expression == ""
        assert kb.linked("Who is Ann?")["key"].to_list() == ["a"]


def test_without_a_text_store_exact_names_are_read(tmp_path: Path) -> None:
    with build(tmp_path, PEOPLE, LIVES, ["adjacency"]) as kb:
        assert kb.ask("Where does Bob live?").expression == 'person:"Bob" -> [lives in] -> city'
        assert kb.linked("where is bob")["how"].to_list() == ["exact"]


def test_without_adjacency_questions_are_one_clear_error(tmp_path: Path, wording: Wording) -> None:
    with build(tmp_path, PEOPLE, LIVES, ["text"]) as kb:
        with pytest.raises(KbError) as caught:
            kb.ask("Where does Bob live?")
        wording(str(caught.value))
        assert kb.linked("Where does Bob live?")["key"].to_list() == ["b"]


def test_a_hundred_types_and_relations(tmp_path: Path) -> None:
    nodes = "key,type,name\n" + "".join(f"n{i},t{i % 100},Name{i}\n" for i in range(500))
    edges = "".join(f"n{i},r{i * 7 % 100},n{i * 13 % 500}\n" for i in range(500))
    with build(tmp_path, nodes, edges, ["adjacency", "text"]) as kb:
        assert kb.ask("Which t13 is the r7 of Name1?").expression == 't1:"Name1" -> [r7] -> t13'
        assert keys(kb, "Which t13 is the r7 of Name1?") == {"n13"}
        assert kb.ask("How many t55 are there?").value == 5


def test_a_name_of_a_thousand_nodes(tmp_path: Path) -> None:
    nodes = "key,type,name\nc,city,Cairo\nd,city,Delft\n" + "".join(f"n{i},person,John Smith\n" for i in range(1_000))
    edges = "".join(f"n{i},lives in,{'c' if i % 2 else 'd'}\n" for i in range(1_000))
    with build(tmp_path, nodes, edges, ["adjacency", "text"]) as kb:
        assert len(kb.ask("Who lives in Cairo?")) == 500
        assert len(kb.ask("Where does John Smith live?")) >= 1
        assert kb.linked("John Smith").height == 5


@pytest.mark.parametrize("number", ["9" * 400, "1e400", "\u00bd", "\u00b2", "1.2.3", "-5", "nan"])
def test_numbers_that_nobody_means(world: KnowledgeBase, number: str) -> None:
    found = world.ask(f"the {number} largest countries")
    assert found.answers is None or len(found.answers) <= world.schema.nodes


def test_a_number_that_no_count_can_reach_is_of_something_else(world: KnowledgeBase) -> None:
    """Inhabitants are not the years for which a population is known; more rivers than any country has are none."""
    assert not world.ask("countries with over 100 million inhabitants").is_sure
    result = world.ask("countries with more than 100 rivers")
    assert result.is_sure
    assert not len(result.answers)
