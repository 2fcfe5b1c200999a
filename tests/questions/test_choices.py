"""Readings that a person chooses for questions: offered in words, run, remembered, listed and forgotten."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import kbkit
from kbkit.directory import systems
from kbkit.errors import KbError, LockedError
from kbkit.kb import KnowledgeBase
from kbkit.questions import taught as taught_file
from kbkit.questions import teaching
from kbkit.questions.choices import question_key
from kbkit.questions.reply import reply
from kbkit.questions.taught import FILE, Taught
from tests.conftest import Run
from tests.console import good, one_line

QUESTION = "Which things were zorped by Ann?"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A KB of people, what they painted and stole, and where it hangs."""
    folder = tmp_path_factory.mktemp("choices")
    nodes = "a,person,Ann\nb,person,Bob\nv,vase,Blue\nw,vase,Red\nx,vase,Tall\nh,hall,Hall\n"
    (folder / "nodes.csv").write_text(f"key,type,name\n{nodes}", encoding="utf-8")
    edges = "a,painted,v\na,stole,w\na,stole,x\nb,painted,x\nv,hangs_in,h\n"
    (folder / "edges.csv").write_text(f"head,relation,tail\n{edges}", encoding="utf-8")
    kbkit.ingest("table", folder, out=folder / "x.kb", stores=["adjacency", "text"]).close()
    return folder / "x.kb"


@pytest.fixture
def kb(path: Path) -> Iterator[KnowledgeBase]:
    """The KB, without choices."""
    (path / "workspace" / FILE).unlink(missing_ok=True)
    with kbkit.open(path) as opened:
        yield opened
    (path / "workspace" / FILE).unlink(missing_ok=True)


def test_a_chosen_reading_answers_the_question_from_then_on(kb: KnowledgeBase, path: Path) -> None:
    refused = kb.ask(QUESTION)
    offered = refused.offered(5)
    assert not refused.is_sure
    assert len({one.answers for one in offered[:2]}) == 2
    number, stolen = next((n, one) for n, one in enumerate(offered, 1) if "stole" in one.expression)
    assert (stolen.answers, "Ann" in stolen.phrase) == (2, True)
    chosen = kb.choose(refused, number)
    assert (chosen.expression, chosen.confidence, chosen.refusal) == (stolen.expression, 1.0, "")
    assert chosen.certainty.startswith("as you chose on 20")
    with kbkit.open(path) as again:
        for variant in (QUESTION, "which Things were zorped, by ANN", f"  “{QUESTION}”!"):
            result = again.ask(variant)
            assert set(result.nodes()["name"]) == {"Red", "Tall"}
            assert reply(result).is_chosen
        assert not again.ask("Which things were zorped by Bob?").is_sure
        other = again.ask(QUESTION).offered(5)
        assert [one.expression for one in other] == [one.expression for one in offered]  # numbers keep their meaning
    assert kb.choose(chosen, offered[0].expression).expression == offered[0].expression
    assert kb.choices()["expression"].to_list() == [offered[0].expression]
    assert (kb.forget_choice(QUESTION), kb.forget_choice(QUESTION)) == (True, False)
    assert not kb.ask(QUESTION).is_sure
    for wrong in (0, 99, "person", "person -> [gone] -> vase"):
        with pytest.raises(KbError):
            kb.choose(refused, wrong)
    assert kb.choices().is_empty()


def test_a_choice_that_the_schema_has_lost_is_not_used_and_said(kb: KnowledgeBase, path: Path, here: Run) -> None:
    (path / "workspace").mkdir(exist_ok=True)
    row = {"question": QUESTION, "expression": 'person:"Ann" -> [sold] -> vase', "when": "2025-01-02T03:04:05Z"}
    (path / "workspace" / FILE).write_text(json.dumps({"choices": [row]}), encoding="utf-8")
    with kbkit.open(path) as again:
        result = again.ask(QUESTION)
        assert (result.choice, result.is_sure) == (None, False)
        assert (
            result.unused_choice
            == "Reading chosen on 2025-01-02 not used: Unknown relation 'sold' between person and vase"
        )
        assert again.choices()["problem"].to_list() == [result.unused_choice]
    assert result.unused_choice in here("ask", path, QUESTION).stderr


def test_the_command_offers_picks_lists_and_forgets(kb: KnowledgeBase, path: Path, here: Run, tmp_path: Path) -> None:
    shown = good(here("ask", path, QUESTION), None)
    first = kb.ask(QUESTION).offered(1)[0]
    assert f"Did you mean\n  1  {first.text}\n     {first.expression}\n" in shown
    picked = good(here("-q", "ask", path, QUESTION, "--pick", 1))
    assert picked.startswith(f"{first.expression}\nas you chose on 20")
    [listed] = json.loads(good(here("-q", "ask", path, "--choices", "-f", "json")))
    assert (listed["question"], listed["expression"], listed["problem"]) == (QUESTION, first.expression, None)
    good(here("-q", "ask", path, "--choices", "-o", tmp_path / "chosen.ndjson"))
    assert "Too few examples: 1 pair" in one_line(here("-q", "ask", path, "--learn", tmp_path / "chosen.ndjson"))
    assert "Invalid reading number 77" in one_line(here("-q", "ask", path, QUESTION, "--pick", 77))
    assert "Forgot the reading" in here("ask", path, QUESTION.upper(), "--forget").stderr
    assert "No reading was chosen" in here("ask", path, QUESTION, "--forget").stderr
    assert good(here("ask", path, QUESTION), None) == shown
    kb.choose(kb.ask(QUESTION), 1)
    teaching.forget(kb.stores)
    assert (kb.ask(QUESTION).choice, kb.choices().height) == (None, 0)


KEEPER = """
import sys
import kbkit
from kbkit.questions.choices import keep_choice
from kbkit.questions.teaching import add_synonym
with kbkit.open(sys.argv[1]) as kb:
    print("open", flush=True)
    sys.stdin.readline()
    for number in range(20):
        keep_choice(kb.stores, f"question {number} of {sys.argv[2]}", "vase")
        add_synonym(kb.stores, "stole", f"word{number}of{sys.argv[2]}")
"""


@pytest.mark.system
def test_processes_that_choose_at_once_lose_nothing(kb: KnowledgeBase, path: Path) -> None:
    command = [sys.executable, "-c", KEEPER, str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    keepers = [subprocess.Popen([*command, name], **pipes) for name in "abc"]  # type: ignore[call-overload]
    assert [keeper.stdout.readline() for keeper in keepers] == ["open\n"] * 3
    for keeper in keepers:
        keeper.stdin.write("\n")
        keeper.stdin.flush()
    assert [keeper.communicate()[0] for keeper in keepers] == [""] * 3
    assert [keeper.returncode for keeper in keepers] == [0] * 3
    taught = Taught.of(kb.stores)
    assert {one.question for one in taught.choices} == {f"question {n} of {name}" for n in range(20) for name in "abc"}
    assert len(taught.synonyms["stole"]) == 60
    assert [found.name for found in (path / "workspace").iterdir()] == [FILE]  # no lock is left


def test_a_choice_waits_for_another_and_says_so(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taught_file, "_PATIENCE", 0.0)
    kb.choose(kb.ask(QUESTION), 1)
    with systems.exclusive(kb.stores.workspace.folder / taught_file._LOCK, "", ""):
        for change in (
            lambda: kb.choose(kb.ask(QUESTION), 2),
            lambda: kb.forget_choice(QUESTION),
            lambda: teaching.add_synonym(kb.stores, "stole", "took"),
        ):
            with pytest.raises(LockedError, match=r"Another process changes .*questions\.json.*Wait for it to end"):
                change()
    assert kb.choices().height == 1
    assert kb.forget_choice(QUESTION)


@pytest.mark.system
def test_a_terminal_asks_for_the_number(kb: KnowledgeBase, path: Path) -> None:
    from tests.terminal import ENTER, Terminal

    first = kb.ask(QUESTION).offered(1)[0]
    with Terminal("kbkit", "ask", path, QUESTION) as terminal:
        terminal.wait("Number of the reading")
        terminal.send(f"1{ENTER}")
        terminal.wait("as you chose on")
    with kbkit.open(path) as again:
        assert again.ask(QUESTION).expression == first.expression


@pytest.mark.parametrize(
    ("text", "other", "same"),
    [
        ("Who is Ann?", "who is ann", True),
        ("Ann’s vases.", "ann's vases", True),
        ("films, books", "films books", True),
        ("uses of C++", "uses of C", False),
        ("longer than 3.5", "longer than 35", False),
        ("warmer than -5", "warmer than 5", False),
    ],
)
def test_questions_are_the_same_without_case_and_punctuation(text: str, other: str, same: bool) -> None:
    assert (question_key(text) == question_key(other)) == same
