"""Whole commands with a real model's replies: SmolLM2-135M behind llama.cpp's server, replayed without network.

So small a model answers little that is right. The replies show what real servers send: scores that the schema forbids,
text that is cut, actions without a query. ``smollm2.jsonl`` is from ``kbkit llm export``; a changed prompt, KB or
parameter needs another recording, made by running the commands below with ``--llm MODEL@URL``.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from kbkit.llm.recording import read
from tests.conftest import Run

RECORDING = Path(__file__).with_name("smollm2.jsonl")
LLM = f"replay:{RECORDING}"
CONVERSATION, CONVERSATIONS = (Path(__file__).with_name(f"{name}.jsonl") for name in ("conversation", "conversations"))
"""A conversation of two turns, and the calls of ``conv make``, ``conv run`` and ``conv eval``."""
ANDORRA = [
    {"id": "1", "question": "Which countries border Andorra?", "sparql": "SELECT ?c { country:AND rel:borders ?c }"}
]
STARK = {
    "Take all rivers that flow through or along a country that Tupungato lies in. Which of them have a description that"
    " talks about Plata?": ["parana", "uruguay-river"],
    "Take all countries that have a land border with Slovakia and are members of the United Nations. Which of them have"
    " a description that refers to Bohemia and Moravia?": ["CZE"],
}
"""Queries with the keys of their answers."""


@pytest.fixture
def kb(world_kb: Path, tmp_path: Path) -> Path:
    """A copy without a cache of calls."""
    copy = shutil.copytree(world_kb, tmp_path / "world.kb")
    shutil.rmtree(copy / "workspace", ignore_errors=True)
    return copy


def test_hits_are_reranked(here: Run, kb: Path) -> None:
    query = "volcano with a crater lake"
    done = here("search", kb, query, "-k", "3", "--rerank", f"llm:{LLM}", "--rerank-depth", "4", "-f", "csv")
    assert done.returncode == 0, done.stderr
    names = [line.split(",")[4] for line in done.stdout.splitlines()[1:]]
    assert names == ["Crater Lake", "Lake Taupo", "Mount Rinjani"]
    assert "smollm2-135m: 4 calls (4 from the recording), 0 + 0 tokens" in done.stderr


def test_the_agent_finds_no_query(here: Run, kb: Path, tmp_path: Path) -> None:
    options = ("--max-actions", "3", "--trace", tmp_path / "trace.jsonl")
    done = here("ask", kb, "Which countries border Portugal?", "--llm", LLM, *options)
    assert (done.returncode, done.stdout) == (1, "")
    assert "No query returned rows after 3 actions" in done.stderr
    assert "3 calls (3 from the recording)" in done.stderr
    assert len((tmp_path / "trace.jsonl").read_text(encoding="utf-8").splitlines()) >= 3


@pytest.mark.parametrize(
    ("option", "calls", "failure"),
    [
        ("--one-shot", "1 call (1 from the recording)", "Unexpected 'kvc_country' (line 1, column 15)"),
        ("--direct", "2 calls (2 from the recording), 0 + 0 tokens; 1 invalid answer", "the answer was truncated"),
        ("", "3 calls (3 from the recording)", "no query"),
    ],
)
def test_questions_of_spinach(here: Run, kb: Path, tmp_path: Path, option: str, calls: str, failure: str) -> None:
    (tmp_path / "q.json").write_text(json.dumps(ANDORRA), encoding="utf-8")
    more = [option] if option else ["--max-actions", "3"]
    done = here("spinach", "run", kb, tmp_path / "q.json", "-o", tmp_path / "run.jsonl", "--llm", LLM, *more)
    assert done.returncode == 0, done.stderr
    assert calls in done.stderr and failure in done.stderr
    assert "scored 0: 1 question" in done.stderr


def test_queries_of_stark_are_drafted(here: Run, kb: Path, tmp_path: Path) -> None:
    """The properties are cut, so that no query remains, and the reasons are counted."""
    models = ("--llm", f"smollm2-135m@{LLM}", "--llm", f"gemma3-270m@{LLM}")
    done = here("stark", "make", kb, "-o", tmp_path / "stark", "-n", "2", *models)
    assert (done.returncode, done.stdout) == (1, "")
    assert "15 calls (15 from the recording), 0 + 0 tokens; 6 invalid answers" in done.stderr
    assert "gemma3-270m: 2 calls (2 from the recording)" in done.stderr
    assert "no properties: the answer was truncated at 1,024 tokens (5)" in done.stderr


def test_hits_of_stark_are_reranked(here: Run, kb: Path, tmp_path: Path) -> None:
    rows = [
        {"id": number, "query": query, "answer_ids": json.dumps(keys)}
        for number, (query, keys) in enumerate(STARK.items())
    ]
    (tmp_path / "stark" / "stark_qa").mkdir(parents=True)
    (tmp_path / "stark" / "split").mkdir()
    pl.DataFrame(rows).write_csv(tmp_path / "stark" / "stark_qa" / "stark_qa.csv")
    (tmp_path / "stark" / "split" / "train.index").write_text("0\n1\n", encoding="utf-8")
    options = ("--split", "train", "-m", "bm25", "--rerank-mode", "bm25", "--rerank-depth", "2", "--latency", "0")
    done = here("stark", "run", kb, tmp_path / "stark", *options, "--llm", f"smollm2-135m@{LLM}", "-f", "csv")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[2].startswith("bm25 + smollm2-135m,2,50.0,")
    assert "4 calls (4 from the recording)" in done.stderr


def test_a_conversation_is_answered_and_judged(here: Run, kb: Path, tmp_path: Path) -> None:
    out = tmp_path / "run.jsonl"
    done = here("conv", "run", kb, CONVERSATION, "-o", out, "--llm", f"replay:{CONVERSATIONS}")
    assert done.returncode == 0, done.stderr
    assert "smollm2-135m: 2 calls (2 from the recording), 0 + 0 tokens" in done.stderr
    _, answers = (json.loads(line) for line in out.read_text(encoding="utf-8").splitlines())
    assert [turn["answers"] for turn in answers["turns"]] == [
        ["The answer to the question"],
        ["The United States", "Mexico", "El Salvador"],
    ]
    # The judge rates without end, up to the number that a reply may have; nothing is taken from such a reply.
    done = here("conv", "eval", CONVERSATION, out, "--kb", kb, "--llm", f"replay:{CONVERSATIONS}")
    assert done.returncode == 0, done.stderr
    assert "3 calls (3 from the recording)" in done.stderr
    assert "2 turns that the judge could not rate, left out" in done.stderr


def test_predicates_that_do_not_exist_are_not_asked_for(here: Run, kb: Path, tmp_path: Path) -> None:
    """The model makes up predicates, is asked again, and makes them up again."""
    options = ("-n", "1", "--turns", "2", "-t", "lake", "--configuration", "text")
    done = here("conv", "make", kb, "-o", tmp_path / "conv", *options, "--llm", f"replay:{CONVERSATIONS}")
    assert (done.returncode, done.stdout) == (1, "")
    assert "3 calls (3 from the recording)" in done.stderr and "No predicate is asked for" in done.stderr


def test_the_recording_is_small_and_of_one_server() -> None:
    assert RECORDING.stat().st_size < 200_000
    assert {call.model for call in read(RECORDING)} == {"smollm2-135m", "gemma3-270m"}
