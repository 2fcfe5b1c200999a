"""Published questions as instances of SKA-Bench: readers, rules, positive units by cells, traces, paths, a model."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kbkit
from kbkit.benchmarks.ska.gathering import Gathering
from kbkit.benchmarks.ska.instances import (
    Instance,
    KnowledgeUnit,
    Provenance,
    numbered,
    read_instances,
    write_instances,
)
from kbkit.benchmarks.ska.published import cells, hybrid, positive, rules, shortest
from kbkit.benchmarks.ska.published import files as published_files
from kbkit.benchmarks.ska.published import make as published
from kbkit.benchmarks.ska.published.cells import FoundRows, Grid
from kbkit.benchmarks.ska.solve import Solver
from kbkit.benchmarks.ska.statements import check_instance
from kbkit.benchmarks.ska.tables import fit
from kbkit.benchmarks.ska.tables.data import Linked, TableData
from kbkit.errors import BadInputError, KbError
from kbkit.kb import KnowledgeBase
from kbkit.llm.cache import Cache
from kbkit.llm.calls import Calls
from tests.readers.test_data_tables import SAMPLES
from tests.readers.test_data_tables import published as published_kb

published_tables = published_kb
QUESTIONS = "wikitablequestions/data/training.tsv"


@pytest.fixture(scope="module")
def ferries(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    out = tmp_path_factory.mktemp("ferries") / "ferries.kb"
    with kbkit.ingest("hybridqa", SAMPLES / "hybridqa", out=out, stores=["tables"]) as kb:
        yield kb


# -- readers ----------------------------------------------------------------------------------------------------------


def test_published_questions(shared_data: Path) -> None:
    found = published_files.read_published_questions(shared_data / QUESTIONS)
    assert len(found) == 1_149
    assert (found[0].id, found[0].text, found[0].table, found[0].answers) == (
        "nt-10", "how many times did an italian cyclist win a round?", "csv/204-csv/253.csv", ["6"],
    )  # fmt: skip
    assert (found[-1].id, found[-1].table, found[-1].answers) == ("nt-14149", "csv/204-csv/183.csv", ["0"])
    lists = next(question for question in found if question.id == "nt-2127")
    assert lists.answers == ["1947", "1948", "1949", "1950", "1951"]


def test_escapes_in_questions(tmp_path: Path) -> None:
    path = tmp_path / "q.tsv"
    path.write_text("id\tutterance\tcontext\ttargetValue\nq\ta\\nb\tt\tx\\py|\\\\|z\n", encoding="utf-8")
    [question] = published_files.read_published_questions(path)
    assert (question.text, question.answers) == ("a\nb", ["x|y", "\\", "z"])


def test_samples_of_all_formats() -> None:
    benches = published_files.read_published_questions(SAMPLES / "tablebench" / "TableBench.jsonl")
    assert [question.id for question in benches] == ["tb1", "tb2", "tb3", "tb4", "tb5"], "once for each question"
    assert benches[0].rows[2] == ["mill field", "Ash", "1933", "60", "russet", ""]
    traced = published_files.read_published_questions(SAMPLES / "hybridqa" / "dev.traced.json")
    assert traced[0].nodes == [(0, 0, "/wiki/Aster_(ferry)")]
    assert traced[1].nodes == [(2, 4, ""), (3, 4, "")]
    paths = published_files.read_published_questions(SAMPLES / "rog" / "test.jsonl")
    assert (paths[0].topics, paths[0].answers, len(paths[0].graph)) == (["Orland"], ["Orlish", "Tammic"], 7)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("q.tsv", "id\tquestion\n", "Unknown columns in .*q.tsv, line 1"),
        ("q.tsv", "id\tutterance\tcontext\ttargetValue\na\tb\n", "2 columns instead of 4 in .*q.tsv, line 2"),
        ("q.csv", "id,query\n1,x\n", "Unknown columns"),
        ("q.csv", "id,query,answer_ids\n1,x,[1\n", "Invalid answer_ids in .*line 2"),
        ("q.jsonl", '{"question": "?"}\n', "Unknown format of questions in .*line 1"),
        ("q.jsonl", '{"question": "?", "table_id": "t"}\n', "No field 'answer-text'"),
        ("q.jsonl", '{"question": "?", "answer": "a", "table": {}}\n', "Invalid field 'table'"),
        ("q.jsonl", '{"question": "?", "graph": [["a", "b"]], "answer": [], "q_entity": []}\n', "Invalid triple"),
        ("q.jsonl", '{"question": "?", "answers": "a", "table": "t"}\n', "Missing field 'answers'"),
        ("q.jsonl", '{"question": "?", "table_id": "t", "answer-text": "a", "answer-node": [[1]]}\n', "answer-node"),
        ("q.json", "", "is empty"),
    ],
)
def test_bad_question_files(name: str, text: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(BadInputError, match=problem):
        published_files.read_published_questions(tmp_path / name)


# -- rules ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "header", "reason"),
    [
        ("how many games are there", "", rules.ARITHMETIC),
        ("how many laps does he have", "laps led", ""),
        ("how long did she take", "time", ""),
        ("which nation has the most medals", "nation", rules.ARITHMETIC),
        ("what is the total of conservatives", "total", ""),
        ("what comes after the third stage", "stage", rules.ORDER),
        ("who is listed first", "rider", rules.ORDER),
        ("did they win", "", rules.ARITHMETIC),
        ("what team is he from", "team", ""),
    ],
)
def test_words_that_exclude_a_question(question: str, header: str, reason: str) -> None:
    assert rules.words_of_question(question.split(), question, header.split()) == reason


def test_tables_that_are_too_small_or_ordered() -> None:
    rows = [[str(n), "x", "y", "z", "u", "v"] for n in range(8)]
    header = list("abcdef")
    assert (fit.size(header, rows), fit.order(header, rows)) == ("", "")
    assert fit.size(header[:5], rows) == fit.size(header, rows[:7]) == fit.SMALL
    assert fit.order(["Streak", *header[1:]], rows) == fit.ORDERED
    assert fit.order(header, [*rows[:7], ["8", "″", "y", "z", "u", "v"]]) == fit.DITTO
    merged = [["" if n % 2 else row[0], *row[1:]] for n, row in enumerate(rows)]
    assert fit.order(header, merged) == fit.DITTO


def test_both_sources_are_needed() -> None:
    row, passage = ["Aster", "Dellby", "4"], ["Aster (ferry)", "It was named after Ida Molin."]
    assert rules.both_sources("Who gave the ferry with berth 4 its name?", ["Ida Molin"], row, passage) == ""
    assert rules.both_sources("What is it named after?", ["Ida Molin"], row, passage) == rules.ONE_SOURCE
    assert rules.both_sources("Which port has Aster?", ["Dellby"], row, ["Aster", "In Dellby."]) == rules.ONE_SOURCE


# -- positive rows by cells -------------------------------------------------------------------------------------------

HEADER = ["Ferry", "Water", "Year", "Passengers", "Home port", "Berth"]
ROWS = [
    ["Aster", "Lake Orn", "1931", "1,120", "Dellby", "4"], ["Birk", "Lake Orn", "1948", "80", "Dellby", "2"],
    ["Cygnet", "Lake Tamm", "1952", "64", "Holm", "7"], ["Dunlin", "Lake Tamm", "1960", "150", "Holm", "3"],
    ["Eider", "River Sull", "1931", "45", "Ravik", "1"], ["Fulmar", "River Sull", "1974", "200", "Ravik", "6"],
    ["Garnet", "Lake Orn", "1980", "220", "Sandby", "5"], ["Total", "", "", "1,879", "", ""],
]  # fmt: skip
GRID = Grid(TableData("ferries", "Ferries of Orland", HEADER, ROWS, list(range(len(ROWS)))))


@pytest.mark.parametrize(
    ("question", "answers", "found"),
    [
        ("What is the home port of the Eider?", ["Ravik"], [4]),
        ("how many passengers does the aster take?", ["1120"], [0]),
        ("Which ferries are on Lake Orn?", ["aster", "Birk", "Garnet"], [0, 1, 6]),
        ("Which ferry of Ravik is from 1931?", ["Eider"], [4]),
        ("Which water is the ferry with home port Holm on?", ["Lake Tamm"], [2, 3]),
        ("how many ferries are on the River Sull?", ["2"], [4, 5]),
        ("how many home ports are on Lake Orn?", ["3"], rules.ARITHMETIC),
        ("how many different waters are Lake Orn?", ["3"], rules.ARITHMETIC),
        ("what is the total number of passengers of the Birk?", ["80"], [1]),
        ("Which ferries are on Lake Orn?", ["Aster", "Birk"], cells.DIFFERENT),
        ("Which ferry has the most passengers?", ["Aster"], rules.ARITHMETIC),
        ("Which ferry is listed after the Birk?", ["Cygnet"], rules.ORDER),
        ("what is the home port of the Ibis?", ["Ravik"], cells.NOTHING_NAMED),
        ("Is the port of the Eider Ravik?", ["Ravik"], rules.LEAK),
        ("what is the draught of the Eider?", ["Oslo"], rules.NO_ANSWER),
        ("what is the total number of passengers?", ["1,879"], rules.ARITHMETIC),
    ],
)
def test_positive_rows_by_cells(question: str, answers: list[str], found: list[int] | str) -> None:
    result = cells.find(question, answers, GRID)
    assert (result.rows if isinstance(result, FoundRows) else result) == found


@given(st.randoms(use_true_random=False), st.sampled_from(HEADER), st.sampled_from(HEADER[1:]), st.integers(0, 6))
def test_found_rows_are_proved(random: object, named: str, asked: str, place: int) -> None:
    """Whatever the order of the rows: the query of a reading gives the answers on its rows, and nothing on the rest."""
    rows = list(ROWS)
    random.shuffle(rows)  # type: ignore[attr-defined]
    grid = Grid(TableData("ferries", "", HEADER, rows, list(range(len(rows)))))
    value = ROWS[place][HEADER.index(named)]
    answers = sorted({row[HEADER.index(asked)] for row in rows if row[HEADER.index(named)] == value})
    found = cells.find(f"What is the {asked} where the {named} is {value}?", answers, grid)
    if isinstance(found, str):
        assert named == asked or found
        return
    units = [KnowledgeUnit(str(n), "row", row, position=n) for n, row in enumerate(rows)]
    chosen = [unit for unit in units if unit.position in found.rows]
    rest = [unit for unit in units if unit.position not in found.rows]
    about = Provenance("x", sql=found.sql)
    instance = Instance("x", "table", "?", found.answers, numbered(chosen, "p"), numbered(rest, "n"), about, "", HEADER)
    with Solver() as solver:
        assert check_instance(instance, solver) == []


def test_instances_of_wikitablequestions(published_tables: KnowledgeBase, shared_data: Path, tmp_path: Path) -> None:
    reasons: Counter[str] = Counter()
    path = shared_data / QUESTIONS
    made = published.make(published_tables, path, Gathering(left_out=reasons))
    assert len(made) == 79
    assert len(made) + reasons.total() == 1_149
    assert reasons.most_common(2) == [(rules.ARITHMETIC, 638), (rules.ORDER, 249)]
    with Solver() as solver:
        assert [check_instance(instance, solver) for instance in made] == [[]] * len(made)
    assert {len(instance.units) for instance in made if instance.provenance.table == "csv/204-csv/253.csv"} <= {26}
    # The same seed gives the same bytes, another seed another order of the noise.
    first = write_instances(tmp_path, made).read_bytes()
    assert read_instances(tmp_path) == made
    assert write_instances(tmp_path, published.make(published_tables, path)).read_bytes() == first
    other = published.make(published_tables, path, Gathering(seed=1))
    assert [one.positive for one in other] == [one.positive for one in made]
    assert [one.noise for one in other] != [one.noise for one in made]


def test_a_cell_is_named_in_any_column_but_that_of_the_link() -> None:
    link = Linked(1, 0, "ferry#birk", "text", "Birk", "Built by Olsen.")
    place = [published_files.AnswerNode(1, 0, "birk")]

    def found(*columns: dict[int, frozenset[int]]) -> set[hybrid.Traced]:
        named = [cells.Named(0, 1, rows, frozenset()) for rows in columns]
        return hybrid._by_cell("Olsen", place, named, [link])

    here, elsewhere = frozenset({1}), frozenset({4})
    assert found({2: here, 3: elsewhere}) == found({2: here}, {3: here}) == {(1, link)}
    assert found({0: here, 3: elsewhere}) == found({2: here}, {3: elsewhere}) == found() == set()


def test_instances_of_tablebench() -> None:
    reasons: Counter[str] = Counter()
    made = published.make(None, SAMPLES / "tablebench" / "TableBench.jsonl", Gathering(left_out=reasons))
    assert [(one.id, one.answers, [unit.content[0] for unit in one.positive]) for one in made] == [
        ("tablebench-tb1", ["costard"], ["long acre"]),
        ("tablebench-tb4", ["north slope", "south slope", "dry well"], ["north slope", "south slope", "dry well"]),
    ]
    assert reasons == {rules.ARITHMETIC: 1, published.NOT_LOOKED_UP: 1, fit.SMALL: 1}


# -- traces and paths -------------------------------------------------------------------------------------------------


def test_instances_of_hybridqa(ferries: KnowledgeBase) -> None:
    reasons: Counter[str] = Counter()
    made = published.make(ferries, SAMPLES / "hybridqa" / "dev.traced.json", Gathering(left_out=reasons))
    assert [(one.id, [unit.content[0] for unit in one.positive]) for one in made] == [
        ("hybridqa-f1", ["Aster", "Aster (ferry)"]),
        ("hybridqa-f2", ["Cygnet", "Cygnet (ferry)"]),
        ("hybridqa-f3", ["Heron", "Heron (ferry)"]),
        ("hybridqa-f5", ["Dunlin", "Dunlin (ferry)"]),
    ]
    assert {(one.form, len(one.noise)) for one in made} == {("table+text", 14)}
    assert reasons == {rules.ARITHMETIC: 1, hybrid.UNCLEAR: 1}
    drafts = published.make(ferries, SAMPLES / "hybridqa" / "dev.traced.json", drafts=True)
    assert [one.id for one in drafts if not one.positive] == ["hybridqa-f6"]


def test_instances_of_subgraphs() -> None:
    reasons: Counter[str] = Counter()
    made = published.make(None, SAMPLES / "rog" / "test.jsonl", Gathering(left_out=reasons))
    assert [(one.form, [unit.content for unit in one.positive]) for one in made] == [
        ("kg", [
            ["Orland", "location.country.languages_spoken", "Orlish"],
            ["Orland", "location.country.languages_spoken", "Tammic"],
            ["Orland", "location.country.official_language", "Orlish"],
        ]),
        ("kg", [
            ["Heron", "visual_art.artwork.artist", "m.0h1"], ["m.0h1", "visual_art.credit.artist", "Una Frey"],
            ["Una Frey", "people.person.place_of_birth", "Holm"],
            ["Holm", "location.location.people_born_here", "Una Frey"],
        ]),
    ]  # fmt: skip
    assert reasons == {shortest.NO_TOPIC: 1}


@given(st.lists(st.tuples(st.integers(0, 7), st.sampled_from("rs"), st.integers(0, 7)), max_size=25))
def test_shortest_paths_are_those_of_networkx(edges: list[tuple[int, str, int]]) -> None:
    graph = [(str(head), relation, str(tail)) for head, relation, tail in edges]
    found = shortest.positive(graph, ["0"], ["1"])
    reference = nx.Graph([(head, tail) for head, _, tail in graph])
    near = "0" in reference and "1" in reference and nx.has_path(reference, "0", "1")
    if not near or nx.shortest_path_length(reference, "0", "1") > shortest.MAX_HOPS:
        assert isinstance(found, str)
        return
    steps = {
        frozenset(pair) for path in nx.all_shortest_paths(reference, "0", "1") for pair in itertools.pairwise(path)
    }
    assert set(found) == {triple for triple in graph if frozenset((triple[0], triple[2])) in steps}


# -- questions of one's own -------------------------------------------------------------------------------------------


def test_own_questions(ferries: KnowledgeBase, tmp_path: Path) -> None:
    table = "Ferries_of_Orland_0"
    lines = [
        {"id": "a", "question": "Which ferries of Ravik are there?", "answers": ["Eider", "Fulmar"], "table": table,
         "sql": "SELECT Ferry FROM table_rows WHERE \"Home port\" = 'Ravik'"},
        {"id": "b", "question": "Which ferry was a library?", "answers": ["Cygnet"], "table": table,
         "sql": "SELECT t.Ferry FROM table_rows t JOIN passages p ON p.title = t.Ferry || ' (ferry)'"
                " WHERE p.text LIKE '%floating library%'"},
        {"id": "c", "question": "Which ferry is the largest?", "answers": ["Heron"], "table": table,
         "sql": "SELECT Ferry FROM table_rows ORDER BY Passengers::INT DESC LIMIT 1"},
        {"id": "d", "question": "What is it?", "answers": ["x"], "table": "missing"},
        {"id": "e", "question": "What is it?", "answers": ["x"], "topics": ["page#x"]},
    ]  # fmt: skip
    path = tmp_path / "own.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    reasons: Counter[str] = Counter()
    made = published.make(ferries, path, Gathering(left_out=reasons))
    assert [(one.id, [unit.content[0] for unit in one.positive]) for one in made] == [
        ("own-a", ["Eider", "Fulmar"]),
        ("own-b", ["Cygnet", "Cygnet (ferry)"]),
    ]
    assert reasons == {published.UNPROVED: 1, published.UNKNOWN_TABLE: 1, published.NO_EVIDENCE: 1}


def test_questions_need_a_kb_with_tables(world: KnowledgeBase) -> None:
    path = SAMPLES / "hybridqa" / "dev.traced.json"
    with pytest.raises(KbError, match="need a KB"):
        published.make(None, path)
    with pytest.raises(KbError, match="holds no tables"):
        published.make(world, path)


# -- a model ----------------------------------------------------------------------------------------------------------


def test_a_model_chooses_until_the_units_suffice(ferries: KnowledgeBase) -> None:
    """The server knows which row has the answer, and takes two attempts for one of the questions."""
    pytest.importorskip("openai")
    from kbkit.llm.openai_compatible import OpenAIModel
    from tests.llm_server import Seen, Server, by

    attempts: Counter[str] = Counter()

    def answer(seen: Seen) -> str:
        given_ = seen.inputs
        texts = ["|".join(unit) for unit in given_["units"]]
        if "tried" not in given_:
            both = {"row" if "Eider|River" in text else "text" for text in texts if "Eider" in text}
            return json.dumps({"derivable": ["none", "some", "all"][len(both)]})
        attempts[given_["question"]] += 1
        wanted = [n for n, text in enumerate(texts, 1) if "Eider" in text]
        return json.dumps({"units": wanted[: attempts[given_["question"]]]})

    drafts = published.make(ferries, SAMPLES / "hybridqa" / "dev.traced.json", drafts=True)
    drafts = [one for one in drafts if not one.positive]
    with Server(otherwise=by(answer)) as server:
        calls = Calls([OpenAIModel("m", server.url, retries=0)], Cache(None), workers=1)
        made, rounds = positive.annotate(calls, drafts)
    assert [(one.number, one.none, one.some, one.all) for one in rounds] == [(1, 1, 0, 0), (2, 0, 1, 0), (3, 0, 0, 1)]
    [instance] = made
    assert {unit.content[0] for unit in instance.positive} == {"Eider", "Eider (ferry)"}
    assert instance.provenance.evidence == "model"
    assert len(instance.units) == len(drafts[0].units)
    assert len({unit.id for unit in instance.units}) == len(instance.units)
