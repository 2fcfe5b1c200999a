"""Questions over tables: the statements hold for every instance, and answers are those of a computation without SQL."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kbkit.benchmarks.evidence import Matcher, leaks
from kbkit.benchmarks.ska.gathering import Gathering
from kbkit.benchmarks.ska.instances import PASSAGE, ROW, Instance, KnowledgeUnit, read_instances, write_instances
from kbkit.benchmarks.ska.solve import Solver
from kbkit.benchmarks.ska.statements import check_instance, redundant
from kbkit.benchmarks.ska.tables import make as table_questions
from kbkit.benchmarks.ska.tables.by_models import with_models
from kbkit.benchmarks.ska.tables.columns import number_in
from kbkit.benchmarks.ska.tables.data import Linked, TableData
from kbkit.benchmarks.ska.tables.drafts import Drafter, TableDraft
from kbkit.benchmarks.ska.tables.noise import safe
from kbkit.directory.typed_json import to_json
from kbkit.kb import KnowledgeBase
from kbkit.llm.cache import Cache
from kbkit.llm.calls import Calls
from kbkit.llm.openai_compatible import OpenAIModel
from tests.llm_server import Seen, Server, by
from tests.loops import each

HEADER = ["Player", "Club", "Position", "Goals", "Debut year", "Trained by", "Title"]
NAMES = ["Ann Roe", "Bob Poe", "Cid Moe", "Dan Loe", "Eve Koe", "Flo Joe", "Gus Hoe", "Hal Goe", "Ida Foe", "Jon Doe"]
CLUBS = ["Reds", "Blues", "Reds", "Greens", "Blues", "Reds", "Greens", "Reds", "Blues", "Reds"]


def players() -> TableData:
    """A table with a column called Position and passages with a column's name (title) as header."""
    trainers = ["Kim", "Lee", "Kim", "Lee", "Moss", "Kim", "Moss", "Lee", "Kim", "Nash"]
    places = ["keeper", "striker", "defender"]
    rows = [
        [name, club, places[i % 3], f"{i * i + 3:,}", str(1990 + 2 * i), trainer, f"T{i}"]
        for i, (name, club, trainer) in enumerate(zip(NAMES, CLUBS, trainers, strict=True))
    ]
    texts = ["grew up beside an iron bridge", "studied glass harps in Vienna", "survived a shipwreck off Malta",
             "founded a brass band with twins", "crossed the Gobi on foot", "sold pine tar from a barge",
             "painted stone mills for decades", "trained falcons near Cairo", "restored a lighthouse after a storm",
             "wrote ballads about salt lakes"]  # fmt: skip
    passages = [
        Linked(i, 0, f"person#{i}", "text", name, f"{name} {text}.")
        for i, (name, text) in enumerate(zip(NAMES, texts, strict=True))
    ]
    return TableData("p", "Players", HEADER, rows, list(range(10)), passages, text_noun="article")


@pytest.fixture(scope="module")
def drafter() -> Drafter:
    return Drafter(players())


@pytest.fixture(scope="module")
def by_rows(world: KnowledgeBase) -> list[Instance]:
    """Instances of the form table: over node types, and over players and lakes with many synthesized rows."""
    few = table_questions.from_tables([players(), lakes()], Gathering(24, 3), noise_rows=150)
    made = [*table_questions.make(world, Gathering(24, 3), text=False, noise_rows=60), *few]
    return [replace(one, id=str(number)) for number, one in enumerate(made)]


@pytest.fixture(scope="module")
def by_text(world: KnowledgeBase) -> list[Instance]:
    return table_questions.make(world, Gathering(24, 1), text=True, noise_rows=60, noise_passages=50)


def sound(instances: Sequence[Instance]) -> None:
    with Solver() as solver:
        for one in instances:
            assert check_instance(one, solver) == [], one.question
            assert redundant(one, solver) == [], one.question
            assert not leaks(one.question, one.answers)
    assert len({one.question for one in instances}) == len(instances)
    for one in instances:
        assert re.match(r"[A-Z'\"].*[.?]$", one.question), one.question
        assert "  " not in one.question
        assert len({unit.position for unit in one.units if unit.kind == ROW}) == sum(u.kind == ROW for u in one.units)


@pytest.mark.system
def test_the_statements_hold_for_questions_over_rows(by_rows: list[Instance]) -> None:
    sound(by_rows)
    sizes = {len(one.positive) for one in by_rows}
    assert sizes >= {1, 2, 3, 4, 5}
    assert max(sizes) >= 6
    assert np.mean([len(one.answers) for one in by_rows]) < 1.5
    kinds = Counter(one.provenance.question_id for one in by_rows)
    assert set(kinds) >= {"lookup", "compare", "sum", "count among", "same", "filter", "highest"}


@pytest.mark.system
def test_the_statements_hold_for_questions_over_rows_and_texts(by_text: list[Instance]) -> None:
    sound(by_text)
    for one in by_text:
        kinds = {unit.kind for unit in one.positive}
        assert kinds == {ROW, PASSAGE}
        told = " ".join(unit.content[1] for unit in one.positive if unit.kind == PASSAGE)
        assert not leaks(told, one.answers), one.question
        texts = [unit.content[1].lower() for unit in one.noise if unit.kind == PASSAGE]
        assert not any(all(phrase.lower() in text for phrase in one.provenance.phrases) for text in texts), one.question
    assert {one.provenance.question_id for one in by_text} == {"cell of a described row"}


@pytest.mark.system
def test_rows_keep_the_order_of_the_table_and_synthesized_ones_are_spread(by_rows: list[Instance]) -> None:
    for one in by_rows:
        rows = sorted((unit for unit in one.units if unit.kind == ROW), key=lambda unit: unit.position)
        places = [int(unit.source[1]) for unit in rows if not unit.synthesized]
        assert places == sorted(places)
        made = [unit for unit in rows if unit.synthesized]
        assert all(unit.synthesized == "rule" and unit.check for unit in made)
    # Rows that meet the conditions of other questions are left out.
    one = next(one for one in by_rows if one.title == "Players" and one.provenance.question_id == "lookup")
    made = [unit.position for unit in one.noise if unit.synthesized]
    assert len(made) > 120
    assert np.std(made) > 30
    assert min(made) < 10 < 130 < max(made)


@pytest.mark.system
def test_no_synthesized_row_meets_the_condition(by_rows: list[Instance]) -> None:
    with Solver() as solver:
        for one in each([one for one in by_rows if one.title == "Players"]):
            rows = [unit for unit in one.noise if unit.synthesized]
            bare = replace(one, noise=[u for u in one.noise if not u.synthesized])
            assert all(safe(bare, [unit.content for unit in rows], solver))


# -- answers, computed without SQL ------------------------------------------------------------------------------------


def drafts(drafter: Drafter, kind: str, counts: Sequence[int]) -> list[tuple[TableDraft, list[str]]]:
    """Return drafts of a kind with the answers that their query gives on the rows that they use."""
    found: dict[str, tuple[TableDraft, list[str]]] = {}
    rng = np.random.default_rng(5)
    with Solver() as solver:
        for number in range(120):
            draft = drafter.makers[kind](counts[number % len(counts)], rng)
            if draft is not None and draft.question not in found:
                found[draft.question] = draft, _answers(drafter.table, draft, solver)
    assert len(found) > 3
    return list(found.values())


def _answers(table: TableData, draft: TableDraft, solver: Solver) -> list[str]:
    units = [KnowledgeUnit(f"r{row}", ROW, table.rows[row], ["p", ""], row) for row in range(len(table.rows))]
    empty = Instance("x", "table", "", [], units, [], table_questions.Provenance("x", sql=draft.sql), "", table.header)
    return sorted(solver.answers(empty, units))


def cells(draft: TableDraft, name: str) -> list[str]:
    return [players().rows[row][HEADER.index(name)] for row in draft.rows]


def named(draft: TableDraft) -> set[str]:
    return {name for name in NAMES if name in draft.question}


def test_sums(drafter: Drafter) -> None:
    for draft, answers in drafts(drafter, "sum", (2, 3, 5)):
        assert "goals" in draft.question
        grouped = {row[0] for row in players().rows if not named(draft) and _meets(draft.question, row)}
        assert (named(draft) or grouped) == set(cells(draft, "Player"))
        assert answers == [f"{sum(number_in(cell) or 0 for cell in cells(draft, 'Goals')):.0f}"]


def test_comparisons() -> None:
    """Rows are compared by name if nothing says what they are, so that they cannot be named by what they share."""
    drafter = Drafter(players())
    drafter.noun = ""
    words: dict[str, tuple[str, Callable[..., int]]] = {
        "most goals": ("Goals", np.argmax), "more goals": ("Goals", np.argmax), "fewest goals": ("Goals", np.argmin),
        "fewer goals": ("Goals", np.argmin), "latest debut": ("Debut year", np.argmax),
        "later debut": ("Debut year", np.argmax), "earliest debut": ("Debut year", np.argmin),
        "earlier debut": ("Debut year", np.argmin),
    }  # fmt: skip
    asked = {
        "title": "Title",
        "club": "Club",
        "position": "Position",
        "trained": "Trained by",
        "goals": "Goals",
        "debut year": "Debut year",
    }
    for draft, answers in drafts(drafter, "compare", (2,)):
        assert "hichever of " in draft.question
        assert named(draft) == set(cells(draft, "Player"))
        [(phrase, (name, pick))] = [(text, found) for text, found in words.items() if text in draft.question]
        row = int(pick([number_in(cell) for cell in cells(draft, name)]))
        rest = draft.question.replace(phrase, "")
        [column] = [column for word, column in asked.items() if re.search(rf"\b{word}\b", rest) and column != name]
        assert answers == [cells(draft, column)[row]], draft.question


def test_filters(drafter: Drafter) -> None:
    table = players()
    for draft, answers in drafts(drafter, "filter", (1, 2, 3)):
        found = [row[0] for row in table.rows if _meets(draft.question, row)]
        assert answers == sorted(found), draft.question


def _meets(question: str, row: list[str]) -> bool:
    """Evaluate the conditions of a question as it is worded."""
    values = dict(zip(HEADER, row, strict=True))
    tests = []
    if found := re.search(r"(Reds|Blues|Greens)", question):
        tests.append(values["Club"] == found[1])
    if found := re.search(r"'(keeper|striker|defender)'", question):
        tests.append(values["Position"] == found[1])
    if found := re.search(r"trained by (\w+)", question):
        tests.append(values["Trained by"] == found[1])
    if found := re.search(r"at (least|most) ([\d,]+) goals", question):
        number, bound = number_in(values["Goals"]) or 0, number_in(found[2]) or 0
        tests.append(number >= bound if found[1] == "least" else number <= bound)
    assert tests, question
    return all(tests)


def test_counts_among_rows_that_share_something(drafter: Drafter) -> None:
    for draft, answers in drafts(drafter, "count among", (3, 4, 6)):
        meeting = [row for row, cells in enumerate(players().rows) if _meets(draft.question, cells)]
        assert set(meeting) < set(draft.rows)
        assert answers == [str(len(meeting))], draft.question


@pytest.mark.parametrize("kind", ["compare", "highest"])
def test_extremes_of_rows_that_share_something(kind: str) -> None:
    """The largest and smallest of groups are asked for by the condition, not as a list of names."""
    table = lakes()
    for draft, answers in drafts(Drafter(table), kind, (3,)):
        rows = [row for row, cells in enumerate(table.rows) if _is_said(draft.question, cells)]
        assert tuple(rows) == draft.rows
        assert not any(name in draft.question for name, *_ in table.rows)
        is_high = re.search(r"\b(largest|deepest|greatest)\b", draft.question) is not None
        by = 2 if re.search(r"largest|smallest (?:lake|area)", draft.question) else 3
        row = (max if is_high else min)(rows, key=lambda row: number_in(table.rows[row][by]) or 0)
        assert set(answers) & set(table.rows[row]), draft.question


def _is_said(question: str, lake: list[str]) -> bool:
    """Return whether a lake meets the conditions of a question as it is worded."""
    countries = [name for name in ("Italy", "Norway", "Chile") if name in question]
    bounds = re.findall(r"(area|depth) of at (least|most) ([\d,]+)", question)
    assert countries or bounds, question
    amounts = {"area": number_in(lake[2]) or 0, "depth": number_in(lake[3]) or 0}
    sides = [(amounts[noun] - (number_in(bound) or 0)) * (1 if side == "least" else -1) for noun, side, bound in bounds]
    return lake[1] in (countries or [lake[1]]) and min(sides, default=0) >= 0


def lakes() -> TableData:
    """A table whose measures have adjectives."""
    names = ("Garda", "Como", "Iseo", "Lugano", "Mjosa", "Tinn", "Femund", "Todos", "Ranco", "Rupanco")
    countries = ("Italy",) * 4 + ("Norway",) * 3 + ("Chile",) * 3
    rows = [
        [name, country, str(50 + 37 * i * i % 400), str(100 + 53 * i % 290), f"Basin {i % 9}"]
        for i, (name, country) in enumerate(zip(names, countries, strict=True))
    ]
    header = ["Name", "Country", "Area (km²)", "Depth (m)", "Basin"]
    return TableData("l", "Lakes", header, rows, list(range(len(rows))), [], "lake", "text", "lake")


def test_rows_that_share_a_value(drafter: Drafter) -> None:
    for draft, answers in drafts(drafter, "same", (2, 3, 4, 5)):
        [key] = named(draft)
        column = "Club" if "club" in draft.question else "Position"
        of_key = dict(zip(NAMES, (row[HEADER.index(column)] for row in players().rows), strict=True))
        assert answers == sorted(name for name, cell in of_key.items() if cell == of_key[key] and name != key)


# -- the same bytes ---------------------------------------------------------------------------------------------------

SCRIPT = """
import sys
from kbkit.directory.typed_json import to_json
from kbkit.benchmarks.ska.gathering import Gathering
from kbkit.benchmarks.ska.tables import make as table_questions
from kbkit.kb import KnowledgeBase
import json
with KnowledgeBase(sys.argv[1]) as kb:
    for text in (False, True):
        for one in table_questions.make(kb, Gathering(2, 3), text=text, noise_rows=60):
            print(json.dumps(to_json(one)))
"""


@pytest.mark.system
def test_the_same_seed_gives_the_same_bytes_in_another_process(world: KnowledgeBase, world_kb: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(world_kb)],
        env={**os.environ, "PYTHONHASHSEED": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    made = [
        one for text in (False, True) for one in table_questions.make(world, Gathering(2, 3), text=text, noise_rows=60)
    ]
    assert done.stdout.splitlines() == [json.dumps(to_json(one)) for one in made]
    assert len(made) == 4


@pytest.mark.system
def test_instances_can_be_written_and_read(by_rows: list[Instance], by_text: list[Instance], tmp_path: Path) -> None:
    few = [*by_rows[:4], *by_text[:4], *[one for one in by_rows if one.title == "Players"][:3]]
    unique = [replace(one, id=str(number)) for number, one in enumerate(few)]
    write_instances(tmp_path, unique)
    assert read_instances(tmp_path) == unique
    with Solver() as solver:
        assert all(check_instance(one, solver) == [] for one in read_instances(tmp_path))


def test_tables_without_passages_have_no_questions_with_text(world: KnowledgeBase) -> None:
    bare = replace(players(), passages=[])
    assert list(table_questions.from_tables([bare], Gathering(5, 1), Matcher(world))) == []


def test_tables_with_links_have_questions_with_text(world: KnowledgeBase) -> None:
    made = list(table_questions.from_tables([players()], Gathering(6, 1), Matcher(world), noise_rows=30))
    assert len(made) == 6
    sound(made)
    assert all("the player who " in one.question for one in made)


# -- rows from models -------------------------------------------------------------------------------------------------


def calls(*servers: Server, path: Path | None = None) -> Calls:
    models = [OpenAIModel(f"m{i}", server.url, retries=0) for i, server in enumerate(servers)]
    return Calls(models, Cache(path), workers=1)


def scripted(marker: str) -> Callable[[Seen], str]:
    """Answer the three prompts: rows with a marker, of which one is malformed, one known, and one to be rejected."""
    written = 0

    def answer(seen: Seen) -> str:
        nonlocal written
        inputs = seen.inputs
        if "conditions" in inputs:
            bad = [row["number"] for row in inputs["rows"] if row["cells"][0].startswith("Bad")]
            return json.dumps({"meet": bad})
        if "positive" in inputs:
            return json.dumps({"conditions": "The player is named in the question."})
        rows = []
        for _ in range(inputs["count"]):
            written += 1
            rows.append([f"{marker} {written}", "Reds", "keeper", "4", "1999", "Kim", "T"])
        if len(rows) > 1:
            rows[0] = rows[0][:3]
        rows[1:1] = [["Ann Roe", *rows[-1][1:]], [f"Bad {written}", *rows[-1][1:]]]
        return json.dumps({"rows": rows})

    return answer


@pytest.fixture(scope="module")
def lookups() -> list[Instance]:
    made = table_questions.from_tables([players()], Gathering(60, 2), noise_rows=80)
    found = [one for one in made if one.provenance.question_id == "lookup"]
    assert len(found) >= 3
    return found[:3]


def test_models_take_turns_and_rejected_rows_are_written_again(lookups: list[Instance], tmp_path: Path) -> None:
    with Server(otherwise=by(scripted("One"))) as first, Server(otherwise=by(scripted("Two"))) as second, Solver() as s:
        made = with_models(lookups, calls(first, second, path=tmp_path / "c.sqlite"), 30, s)
        checked = sum("rows" in seen.inputs and "conditions" in seen.inputs for seen in second.requests)
        assert checked >= 3
        assert not any("conditions" in seen.inputs for seen in first.requests)
    for before, after in zip(lookups, made, strict=True):
        units = [unit for unit in after.noise if unit.synthesized]
        of_models = [unit for unit in units if unit.synthesized != "rule"]
        assert len(of_models) == 30
        assert {unit.synthesized for unit in of_models} == {"m0", "m1"}
        assert all(unit.content[0].split()[0] in ("One", "Two") for unit in of_models)
        assert all(unit.check == "m1: does not meet: The player is named in the question." for unit in of_models)
        assert [unit.position for unit in after.noise] == [unit.position for unit in before.noise]
        with Solver() as solver:
            assert check_instance(after, solver) == []


def test_a_model_that_writes_nothing_useful_leaves_the_rows_by_rule(lookups: list[Instance]) -> None:
    def useless(seen: Seen) -> str:
        return json.dumps({"conditions": "x"} if "positive" in seen.inputs else {"rows": [["Ann Roe"], []]})

    with Server(otherwise=by(useless)) as server, Solver() as solver:
        assert with_models(lookups, calls(server), 10, solver, rounds=2) == lookups
        assert len(server.requests) <= 3 * len(lookups) * 2 + len(lookups)


def test_a_check_of_rows_that_do_not_exist_accepts_none(lookups: list[Instance]) -> None:
    write = scripted("One")

    def check(seen: Seen) -> str:
        if "rows" in seen.inputs and "conditions" in seen.inputs:
            return json.dumps({"meet": [len(seen.inputs["rows"])]})
        return write(seen)

    with Server(otherwise=by(check)) as server, Solver() as solver:
        assert with_models(lookups, calls(server), 5, solver, rounds=1) == lookups
        assert any("rows" in seen.inputs and "conditions" in seen.inputs for seen in server.requests)


def test_rows_without_conditions_are_not_asked_for(lookups: list[Instance]) -> None:
    with Server(otherwise=by(lambda _: "no JSON")) as server, Solver() as solver:
        assert with_models(lookups, calls(server), 10, solver) == lookups
        assert all("positive" in seen.inputs for seen in server.requests)


def test_rows_that_a_model_lets_pass_are_checked_by_the_query(lookups: list[Instance]) -> None:
    drawn = table_questions.from_tables([players()], Gathering(60, 2), noise_rows=80)
    one = next(one for one in drawn if one.provenance.question_id == "filter")

    def copies(seen: Seen) -> str:
        if "conditions" in seen.inputs:
            return json.dumps({"meet": []})
        if "positive" in seen.inputs:
            return json.dumps({"conditions": "x"})
        return json.dumps({"rows": [["Somebody New", *row[1:]] for row in seen.inputs["rows"][:5]]})

    with Server(otherwise=by(copies)) as server, Solver() as solver:
        [after] = with_models([one], calls(server), 5, solver)
        assert check_instance(after, solver) == []


# -- review -----------------------------------------------------------------------------------------------------------
