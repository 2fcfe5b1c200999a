"""``kbkit ask`` without a language model: what it prints, its formats and its errors."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from kbkit.kb import KnowledgeBase
from tests.conftest import Run
from tests.console import good, one_line, records
from tests.wording import Wording

TARGETS = "Which drugs target p53?"
EXPRESSION = 'gene/protein:"TP53 \\"the guardian\\"" -> [targets] -> drug'


@pytest.mark.system
@pytest.mark.core
def test_a_question_as_a_process(run: Run, tiny_kb: Path) -> None:
    lines = good(run("ask", tiny_kb, TARGETS)).splitlines()
    assert lines[0] == EXPRESSION
    assert lines[1].startswith("confidence 0.")
    assert lines[2:] == [
        "",
        "5-FU / fluorouracil  (drug#1)",
        '  5-FU / fluorouracil -> [targets] -> TP53 "the guardian"',
        "1 answer",
    ]


def test_explain_and_alternatives(here: Run, world_kb: Path, world: KnowledgeBase) -> None:
    question = "Which rivers flow through both Germany and Austria?"
    plain = good(here("ask", world_kb, question))
    shown = good(here("ask", world_kb, question, "--explain", "--alternatives", 2))
    assert set(plain.splitlines()) < set(shown.splitlines())
    more = " ".join(shown.split())
    for word, meaning, _ in world.ask(question).match_table().rows():
        assert f"{word} {meaning} " in more
    others = [one.expression for one in world.ask(question).offered(3)][1:]
    assert others
    assert all(other in shown for other in others)


def test_a_question_that_names_nothing(here: Run, world_kb: Path) -> None:
    done = here("ask", world_kb, "why is the sky blue")
    assert done.returncode == 1
    example = "--llm llama3.2@http://localhost:11434/v1. KBKIT_LLM sets a default (kbkit docs llm).\n"
    assert done.stderr.endswith(f"or use a language model, for example {example}")


def test_values_and_counts(here: Run, world_kb: Path) -> None:
    shown = good(here("ask", world_kb, "How long is the Danube?")).splitlines()
    assert shown[0] == 'values(river:"Danube", length_km)'
    assert [line.strip() for line in shown[-2:]] == ["2850", "1 row"]
    assert good(here("ask", world_kb, "How many rivers are there?")).splitlines()[-1] == "293"
    assert records("ask", world_kb, "How long is the Danube?", notes=None) == [{"length_km": 2850}]
    assert records("ask", world_kb, "How many rivers are there?", notes=None) == [{"count": 293}]


def test_formats(here: Run, world_kb: Path, world: KnowledgeBase, tmp_path: Path) -> None:
    question = "Which rivers flow through Peru?"
    expected = world.ask(question).nodes()
    note = 'country:"Peru" -> [flows_through] -> river\n'
    assert json.loads(good(here("ask", world_kb, question, "-f", "json"), note)) == expected.to_dicts()
    assert good(here("-q", "ask", world_kb, question, "-f", "csv", "-o", tmp_path / "a.csv")) == ""
    with (tmp_path / "a.csv").open(encoding="utf-8") as file:
        assert [row["name"] for row in csv.DictReader(file)] == expected["name"].to_list()


def test_doubts_are_shown(here: Run, world_kb: Path) -> None:
    """Readings to choose from, and no answers: what cannot be read is said by name."""
    question = "Which lakes in Canada do pirates like?"
    done = here("ask", world_kb, question)
    assert done.stderr == (
        f"Answer with the first one, and remember it: kbkit ask {world_kb} '{question}' --pick 1\n"
        f"A language model may answer it: kbkit ask {world_kb} '{question}'"
        " --llm llama3.2@http://localhost:11434/v1 (see kbkit docs agent). KBKIT_LLM sets a default (kbkit docs llm).\n"
    )
    lines = good(done, None).splitlines()
    assert lines[0].startswith("Not answered: no meaning found for 'pirates'")
    assert lines[2:5] == ["Did you mean", "  1  lakes that lie in Canada", '     country:"Canada" -> [lies_in] -> lake']
    assert len(lines) == 9
    rows = here("ask", world_kb, question, "-f", "csv")
    assert rows.stdout.startswith("id,type,key,name\n")
    assert "Not answered: no meaning found for 'pirates'" in rows.stderr
    twice = good(here("ask", world_kb, "countries with twice as many lakes as Canada"), None)
    assert "'twice' is not read" in twice.splitlines()[0]
    none = good(here("ask", world_kb, "Which rivers flow through both Nepal and Iceland?")).splitlines()
    assert none[-1] == "Not in this KB: the expression has no answers"


def test_control_characters_are_not_printed(here: Run, tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("key,type,name\na,person,Ann\nf,film,\x1b[31mred\x07\n", encoding="utf-8")
    (tmp_path / "edges.csv").write_text("head,relation,tail\na,directed,f\n", encoding="utf-8")
    good(here("-q", "ingest", "table", tmp_path, "-o", tmp_path / "x.kb"), None)
    shown = good(here("ask", tmp_path / "x.kb", "Which film did Ann direct?", "--explain", "--alternatives", 3))
    assert "red" in shown
    assert not {"\x1b", "\x07"} & {*shown}


ERRORS = [
    ["what is of"],
    ["zzqx"],
    [""],
    [],
    ["x", "--llm", "auto"],
    ["x", "-f", "zz"],
    ["x", "--synonym", "targts=hits"],
    ["--synonym", "zz=hits"],
    ["--synonym", "targets=two words"],
    ["--learn", "none.jsonl"],
]


@pytest.mark.parametrize("arguments", ERRORS, ids=lambda arguments: " ".join(arguments) or "nothing")
def test_errors(here: Run, tiny_kb: Path, tmp_path: Path, arguments: list[str], wording: Wording) -> None:
    wording(one_line(here("ask", tiny_kb, *arguments, cwd=tmp_path)), "cli")
    assert not (tiny_kb / "workspace" / "questions.json").exists()


@pytest.fixture
def taught(tiny_kb: Path, tmp_path: Path) -> Path:
    return shutil.copytree(tiny_kb, tmp_path / "tiny.kb")


def test_a_synonym_is_used_until_it_is_forgotten(here: Run, taught: Path) -> None:
    question = "Who acquired C:\\temp\\new inhibitor?"
    before = here("ask", taught, question)
    done = here("ask", taught, "--synonym", "takes=acquired")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "takes: acquired\n")
    assert "-> [takes] -> person" in good(here("ask", taught, question)).splitlines()[0]
    assert here("ask", taught, "--forget").stderr == "Deleted synonyms, chosen readings and learned weights\n"
    assert here("ask", taught, question) == before
