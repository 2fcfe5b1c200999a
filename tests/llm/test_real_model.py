"""Whole commands with a real model's replies: SmolLM2-135M behind llama.cpp's server, replayed without network.

So small a model answers little that is right. The replies show what real servers send: scores that the schema forbids,
text that is cut, actions without a query. ``smollm2.jsonl`` is from ``kbkit llm export``; a changed prompt, KB or
parameter needs another recording, made by running the commands below with ``--llm MODEL@URL``. Some prompts are
narrowed, as a user of so small a model would: it does not end its lists by itself.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

import kbkit
from kbkit import assets
from kbkit.llm.recording import read
from tests.conftest import Run

RECORDING = Path(__file__).with_name("smollm2.jsonl")
LLM = f"replay:{RECORDING}"
CONVERSATION, CONVERSATIONS = (Path(__file__).with_name(f"{name}.jsonl") for name in ("conversation", "conversations"))
"""A conversation of two turns, and the calls of ``conv make``, ``conv run`` and ``conv eval``."""
MAKING = Path(__file__).with_name("making.jsonl")
"""The calls for templates of ``conv make``, of ``quest make`` and of ``ska make``."""
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
    done = here("stark", "make", kb, "-o", tmp_path / "stark", "-n", "1", *models)
    assert (done.returncode, done.stdout) == (1, "")
    assert "12 calls (12 from the recording), 0 + 0 tokens; 5 invalid answers" in done.stderr
    assert "no properties: the answer was truncated at 1,024 tokens (5); no query: a name is missing (1)" in done.stderr


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


def narrowed(folder: Path, name: str, *changes: tuple[str, str]) -> tuple[str, str]:
    """Return the option that replaces a prompt by one with other limits."""
    text = (assets.prompts() / f"{name}.md").read_text(encoding="utf-8")
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return "--prompt", f"{name}={folder / name}.md"


def test_templates_that_break_the_rules_are_not_used(here: Run, kb: Path, tmp_path: Path) -> None:
    """The model selects predicates that exist, and writes templates of one turn of three, then without end."""
    options = ("-n", "1", "--turns", "2", "-t", "mountain", "--configuration", "text")
    short = [
        narrowed(tmp_path, f"conv_{kind}", ("max_tokens = 4096", "max_tokens = 512")) for kind in ("voice", "text")
    ]
    llm = ("--llm", f"replay:{MAKING}")
    done = here("conv", "make", kb, "-o", tmp_path / "conv", *options, *short[0], *short[1], *llm)
    assert (done.returncode, done.stdout) == (1, "")
    assert "10 calls (10 from the recording), 0 + 0 tokens; 3 invalid answers" in done.stderr
    assert "No templates: the model's templates are invalid: the answer was truncated at 512 tokens" in done.stderr


def test_answers_of_quest_are_labelled(here: Run, kb: Path, tmp_path: Path) -> None:
    """The model votes a query down, accepts the next one, and quotes documents with a space for the end of a line."""
    listed = 'properties.attributions]\ntype = "array"'
    changes = (("max_tokens = 1024", "max_tokens = 256"), (listed, f"{listed}\nmaxItems = 2"))
    prompt = narrowed(tmp_path, "quest_relevance_label", *changes)
    options = ("-t", "lake", "-n", "1", "--min-answers", "2", "--max-answers", "2", "--seed", "2")
    done = here("quest", "make", kb, "-o", tmp_path / "quest", *options, *prompt, "--llm", f"replay:{MAKING}")
    assert done.returncode == 0, done.stderr
    assert "smollm2-135m: 10 calls (10 from the recording), 0 + 0 tokens" in done.stderr
    assert "queries dropped: 1 because it was voted down for fluency" in done.stdout
    [made] = (json.loads(line) for line in (tmp_path / "quest" / "test.jsonl").read_text(encoding="utf-8").splitlines())
    assert (made["query"], made["docs"]) == ("lakes in Japan", ["Lake Biwa", "Lake Tazawa"])
    assert made["metadata"]["relevance_ratings"] == {"Lake Biwa": [3], "Lake Tazawa": [3]}
    [quoted] = made["metadata"]["attributions"]["Lake Biwa"]
    assert quoted["lakes in Japan"].startswith("The largest lake of Japan, near Kyoto")
    assert quoted["lakes in Japan"].endswith("\nIt lies in Japan.")
    assert "quotes of models skipped, not found in the document: 2" in done.stdout  # of phrases that are names of lakes


LAKES = """Lake,Country,Area,Depth,Outflow,Origin
Baikal,Russia,31722,1642,Angara,rift
Ladoga,Russia,17700,230,Neva,glacier
Onega,Russia,9720,127,Svir,glacier
Balaton,Hungary,592,12,Sio,rift
Geneva,Switzerland,580,310,Rhone,glacier
Constance,Germany,536,251,Rhine,glacier
Garda,Italy,370,346,Mincio,glacier
Como,Italy,146,425,Adda,glacier
Ohrid,Albania,358,288,Drin,rift
Mjosa,Norway,365,453,Vorma,glacier
"""
ROME = {"id": "1", "question": "Which lakes lie in the land of Rome?", "answers": ["Garda", "Como"], "table": "lakes"}


@pytest.fixture
def lakes(tmp_path: Path) -> Path:
    """A KB of a table."""
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "lakes.csv").write_text(LAKES, encoding="utf-8")
    kbkit.ingest("csv", tmp_path / "tables", out=tmp_path / "lakes.kb").close()
    return tmp_path / "lakes.kb"


def test_rows_that_a_model_does_not_confirm_are_made_by_rule(here: Run, lakes: Path, tmp_path: Path) -> None:
    """The model states conditions, writes rows, and confirms numbers of rows that do not exist."""
    rows, cells = (f'properties.rows{part}]\ntype = "array"' for part in ("", ".items"))
    six = (("max_tokens = 4096", "max_tokens = 512"), (rows, f"{rows}\nminItems = 2\nmaxItems = 2"))
    meet = 'properties.meet]\ntype = "array"'
    prompts = (
        *narrowed(tmp_path, "ska_rows", *six, (cells, f"{cells}\nminItems = 6\nmaxItems = 6")),
        *narrowed(tmp_path, "ska_conditions", ("minLength = 1", "minLength = 1\nmaxLength = 200")),
        *narrowed(tmp_path, "ska_check", (meet, f"{meet}\nmaxItems = 20")),
    )
    options = ("--form", "table", "-n", "1", "--tokens", "1000", "--model-rows", "2")
    done = here("ska", "make", lakes, "-o", tmp_path / "ska", *options, *prompts, "--llm", f"replay:{MAKING}")
    assert done.returncode == 0, done.stderr
    assert "7 calls (7 from the recording), 0 + 0 tokens" in done.stderr
    [made] = (json.loads(x) for x in (tmp_path / "ska" / "instances.jsonl").read_text(encoding="utf-8").splitlines())
    assert {unit["synthesized"] for unit in made["noise"] if unit.get("synthesized")} == {"rule"}


def test_positive_units_that_a_model_does_not_confirm(here: Run, lakes: Path, tmp_path: Path) -> None:
    """The model chooses the first three rows, finds that they give some of the answers, and chooses them again."""
    units = 'properties.units]\ntype = "array"'
    prompt = narrowed(tmp_path, "ska_positive_units", (units, f"{units}\nmaxItems = 3"))
    (tmp_path / "q.jsonl").write_text(json.dumps(ROME), encoding="utf-8")
    options = ("--questions", tmp_path / "q.jsonl", "-n", "1", "--tokens", "1000")
    done = here("ska", "make", lakes, "-o", tmp_path / "ska", *options, *prompt, "--llm", f"replay:{MAKING}")
    assert (done.returncode, done.stdout) == (1, "")
    assert "4 calls (4 from the recording), 0 + 0 tokens" in done.stderr
    assert "the positive units do not derive all answers, according to the model" in done.stderr


def test_the_recording_is_small_and_of_one_server() -> None:
    assert RECORDING.stat().st_size < 200_000
    assert {call.model for call in read(RECORDING)} == {"smollm2-135m", "gemma3-270m"}
    assert MAKING.stat().st_size < 200_000
    assert {call.model for call in read(MAKING)} == {"smollm2-135m"}
