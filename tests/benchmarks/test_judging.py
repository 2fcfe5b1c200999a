"""Tasks of raters in a browser: the same items, answers and files as in the terminal."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.request import HTTPCookieProcessor, build_opener

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette import testclient

from kbkit.benchmarks.convkgyarn.conversations import read_conversations
from kbkit.benchmarks.convkgyarn.ratings import RATE, expected
from kbkit.benchmarks.convkgyarn.references import match, read_references
from kbkit.benchmarks.convkgyarn.tasks import Comparing, ConvRating
from kbkit.benchmarks.people.tasks import Answers, Marking, Passage, Task, TaskItem, TaskQuestion, validated
from kbkit.benchmarks.quest.annotate import RelevanceTask as Pairs
from kbkit.benchmarks.quest.dataset import QuestDataset
from kbkit.benchmarks.ska import instances
from kbkit.benchmarks.ska.annotate import UnitsTask as Units
from kbkit.benchmarks.ska.instances import KnowledgeUnit
from kbkit.benchmarks.ska.review import Reviewing
from kbkit.benchmarks.stark import ratings
from kbkit.benchmarks.stark.run import questions
from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase
from kbkit.web.explore.app import judging
from tests.benchmarks.convkgyarn import data as conv_data
from tests.benchmarks.convkgyarn.test_people import convquestions
from tests.benchmarks.quest import data as quest_data
from tests.benchmarks.ska.test_annotate import instance
from tests.conftest import SCRIPT, Run
from tests.explorer import HOST, TOKEN, Tab, serving

axe = pytest.importorskip("axe_playwright_python.sync_playwright")


@pytest.fixture(scope="module")
def made(world: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small datasets of all kinds."""
    folder = tmp_path_factory.mktemp("judged")
    conv_data.dataset(world, folder / "talk.jsonl", 2)
    convquestions(folder / "cq.json")
    quest_data.write(world, folder / "countries", 2)
    units = instance("1")
    fake = KnowledgeUnit("n9", "row", ["Fake", "1", "Nowhere"], [], 3, synthesized="swap")
    instances.write_instances(folder / "rivers", [units, instance("2", 1)])
    instances.write_instances(folder / "unsafe", [replace(units, noise=[*units.noise, fake])])
    (folder / "atlas" / "stark_qa").mkdir(parents=True)
    rows = "".join(f"{i},query {i} <b>of</b> the set,[1]\n" for i in range(4))
    (folder / "atlas" / "stark_qa" / "stark_qa.csv").write_text("id,query,answer_ids\n" + rows, encoding="utf-8")
    return folder


def stark(made: Path, path: Path) -> Task:
    return ratings.SampleRating(ratings.samples("atlas", questions(made / "atlas", ""), 2, 2, 0), path, "ann")


def conversations(made: Path, path: Path) -> Task:
    return ConvRating({one.id: one for one in list(read_conversations(made / "talk.jsonl"))[:2]}, path, "ann", {}, 0.7)


def pairs_of_conversations(made: Path, path: Path) -> Task:
    found = match(read_conversations(made / "talk.jsonl"), read_references(made / "cq.json"), 0)
    return Comparing({one.id: one for one in found}, path, "ann", {}, 0.7)


def units(made: Path, _: Path) -> Task:
    return Units(made / "rivers", "ann")


def unsafe(made: Path, _: Path) -> Task:
    return Reviewing(made / "unsafe", "ann")


def documents(made: Path, _: Path) -> Task:
    return Pairs(QuestDataset.open(made / "countries"), "ann", "test", 2)


Make = Callable[[Path, Path], Task]
TASKS: dict[str, tuple[Make, Answers]] = {
    "stark": (stark, Answers({"naturalness": "5", "diversity": "2", "practicality": "3"})),
    "conversations": (
        conversations,
        Answers({"fluency": "4", "relevance": "1", "diversity": "5", "grammar": "2"}),
    ),
    "pairs": (
        pairs_of_conversations,
        Answers({"fluency": "a", "relevance": "b", "diversity": "s", "grammar": "a"}),
    ),
    "units": (units, Answers(rows=[0, 2])),
    "unsafe": (unsafe, Answers(rows=[0])),
    "documents": (documents, Answers({"relevance": "0", "evidence": "n"})),
}


@pytest.mark.system
@pytest.mark.parametrize("name", TASKS)
def test_answers_by_keys_are_saved_and_shown_again(browser: Any, made: Path, tmp_path: Path, name: str) -> None:
    make, answers = TASKS[name]
    task = make(made, tmp_path / "r.jsonl")
    first = task.keys[0]
    with serving(judging(task, TOKEN)) as (url, _):
        tab = Tab(browser, url.geturl(), 700)
        page = tab.page
        for row in answers.rows:
            page.locator("table label").nth(row * len(page.locator("tr:nth-child(1) label").all())).click()
        for key in answers.choices.values():
            page.keyboard.press(key)
        assert axe.Axe().run(page).response["violations"] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 700
        page.keyboard.press("Enter")
        page.wait_for_url("**/items/2" if len(task.keys) > 1 else "**/")
        assert tab.wrong == []
        again = make(made, tmp_path / "r.jsonl")
        found = again.given(first)
        assert found is not None
        assert (found.choices.items() >= answers.choices.items(), found.rows) == (True, answers.rows)
        assert again.done(first)
        tab.go("/items/1")
        chosen = page.locator("input:checked").evaluate_all("all => all.map(({ name }) => name)")
        assert len(chosen) == len(answers.choices) + len(answers.rows)
        tab.context.close()


@pytest.mark.parametrize("name", TASKS)
def test_requests_that_no_page_sends(made: Path, tmp_path: Path, name: str) -> None:
    make, _ = TASKS[name]
    task = make(made, tmp_path / "r.jsonl")
    client = testclient.TestClient(judging(task, TOKEN), base_url=HOST, raise_server_exceptions=False)
    assert client.get("/items/1").status_code == 403
    client.get("/", params={"token": TOKEN})
    for path in ("/items/0", "/items/99999", "/items/-1", "/items/x", "/test/1", "/other/1", "/items/1/2"):
        assert client.get(path).status_code == 404, path
    rows = len(task.item(task.keys[0]).marking.passage.rows) if name in ("units", "unsafe") else 0
    bad = [{}, {"question1": "9"}, {"question1": "\udcff".encode("utf-8", "replace").decode()}, {"instead": "zz"}]
    before = task.given(task.keys[0])
    for form in bad if name != "unsafe" else bad[3:]:
        answer = client.post("/items/1", data=form)
        assert answer.status_code == 400, form
        assert 'role="alert"' in answer.text
    assert client.post("/items/1", content=b"\xff=%ff").status_code == 400
    assert client.post("/items/1", content="&".join(f"row{i}=on" for i in range(rows + 50, 3_000))).status_code == 400
    other = client.post("/items/1", data={"row1": "on"}, headers={"origin": "http://evil.example"})
    assert other.status_code == 403
    if name != "unsafe":
        assert task.given(task.keys[0]) == before


def test_the_entrance_test_in_a_browser(made: Path, tmp_path: Path) -> None:
    items = {one.id: one for one in list(read_conversations(made / "talk.jsonl"))[:3]}
    expert = ConvRating(items, tmp_path / "expert.jsonl", "expert", {}, 0)
    four = ("fluency", "relevance", "diversity", "grammar")
    for key in expert.keys[:2]:
        expert.save(key, Answers(dict.fromkeys(four, "5")))
    gold = expected(tmp_path / "expert.jsonl", RATE)
    for rater, given_, passed in (("ann", "4", True), ("bob", "1", False)):
        task = ConvRating(items, tmp_path / "r.jsonl", rater, gold, 0.7)
        client = testclient.TestClient(judging(task, TOKEN), base_url=HOST, raise_server_exceptions=False)
        client.get("/", params={"token": TOKEN})
        assert client.get("/items/1").status_code == 404
        form = {f"question{number}": given_ for number in range(1, 5)}
        assert client.post("/test/1", data=form, follow_redirects=False).headers["location"] == "/test/2"
        last = client.post("/test/2", data=form)
        assert last.status_code == (200 if passed else 400)
        assert (f"Entrance test {'' if passed else 'not '}passed: {100 if passed else 0} % of 8 values") in last.text
        assert client.get("/items/1").status_code == (200 if passed else 400)
    rows = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(row["who"], row["item"][0]) for row in rows] == [("ann", "rate test")] * 8 + [("bob", "rate test")] * 8


@pytest.mark.system
def test_the_terminal_continues_what_the_browser_began(here: Run, made: Path, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    command = ("stark", "rate", made / "atlas", "-o", path, "--rater", "ann", "--queries", 2, "--samples", 2)
    started = subprocess.Popen(
        [str(SCRIPT), *map(str, command), "--browser"], stdout=subprocess.PIPE, text=True, env={"PATH": ""}
    )
    with started:
        assert started.stdout
        title, _, url = started.stdout.readline().strip().partition(": ")
        assert title == "Rate queries of atlas"
        task = ratings.SampleRating(
            ratings.samples("atlas", questions(made / "atlas", ""), 2, 2, 0), tmp_path / "other.jsonl", "ann"
        )
        client = build_opener(HTTPCookieProcessor())
        page = client.open(url).read().decode()
        assert "&lt;b&gt;of&lt;/b&gt;" in page
        form = b"question1=5&question2=4&question3=3"
        client.open(url.split("?")[0] + "items/1", form).close()
        started.terminate()
    done = here(*command, stdin="1\n1\n1\n")
    assert done.stderr.startswith("1 of 2 samples done")
    assert done.stderr.endswith("3 judgements saved\n")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [row["mark"] for row in rows] == [5, 4, 3, 1, 1, 1]
    assert [tuple(row["item"]) for row in rows[::3]] == [task.name(key) for key in task.keys]


KEYS = st.text("ab12", max_size=2)


@given(st.dictionaries(st.sampled_from(["first", "second", "other"]), KEYS), st.lists(st.integers(-2, 4)), KEYS)
def test_only_valid_answers_pass(choices: dict[str, str], rows: list[int], instead: str) -> None:
    item = TaskItem(
        marking=Marking("rows", "rows", Passage([["x"], ["y"]]), ["x", "y"]),
        questions=[
            TaskQuestion("first", "", {"a": "", "1": ""}),
            TaskQuestion("second", "", {"b": ""}, unless=("first", "1")),
        ],
        instead=TaskQuestion("opt out", "", {"2": "opt out"}),
    )
    valid = instead == "2" or (
        not instead
        and set(rows) <= {0, 1}
        and bool(rows)
        and (choices.get("first") == "1" or (choices.get("first") == "a" and choices.get("second") == "b"))
    )
    if not valid:
        with pytest.raises(KbError):
            validated(item, Answers(choices, rows, instead))
        return
    found = validated(item, Answers(choices, rows, instead))
    assert found.instead == instead
    if not instead:
        assert found.rows == sorted(set(rows))
        assert set(found.choices) == ({"first"} if choices["first"] == "1" else {"first", "second"})
