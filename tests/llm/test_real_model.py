"""Whole commands with a real model's replies, replayed without network.

The models are SmolLM2-135M and, where named, Gemma 3 270M, behind llama.cpp's server.

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
from kbkit.agent.agent import Agent, AgentSettings
from kbkit.llm.cache import Cache
from kbkit.llm.calls import Calls
from kbkit.llm.client import ModelRequest, Reply, Usage
from kbkit.llm.recording import Replay, read
from tests.conftest import Run
from tests.places import TESTS

RECORDING = Path(__file__).with_name("smollm2.jsonl")
LLM = f"replay:{RECORDING}"
CONVERSATION, CONVERSATIONS = (Path(__file__).with_name(f"{name}.jsonl") for name in ("conversation", "conversations"))
"""A conversation of two turns, and the calls of ``conv make``, ``conv run`` and ``conv eval``."""
MAKING = Path(__file__).with_name("making.jsonl")
"""The calls for templates of ``conv make``, of ``quest make`` and of ``ska make``."""
STEPS = Path(__file__).with_name("steps.jsonl")
"""The calls of the steps that the others lack: see the tests below that replay it."""
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
    assert "6 calls (6 from the recording)" in done.stderr
    assert len((tmp_path / "trace.jsonl").read_text(encoding="utf-8").splitlines()) >= 3


@pytest.mark.parametrize(
    ("option", "calls", "failure"),
    [
        ("--one-shot", "1 call (1 from the recording)", "Unexpected 'kv_country' (line 1, column 15)"),
        ("--direct", "2 calls (2 from the recording), 0 + 0 tokens; 1 invalid answer", "the answer was truncated"),
        ("", "4 calls (4 from the recording)", "no query"),
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
    """The properties are cut or do not hold, so that no query remains, and the reasons are counted."""
    models = ("--llm", f"smollm2-135m@{LLM}", "--llm", f"gemma3-270m@{LLM}")
    done = here("stark", "make", kb, "-o", tmp_path / "stark", "-n", "1", *models)
    assert (done.returncode, done.stdout) == (1, "")
    assert "28 calls (28 from the recording), 0 + 0 tokens; 12 invalid answers" in done.stderr
    assert "13 calls (13 from the recording), 0 + 0 tokens; 4 invalid answers" in done.stderr
    truncated = "the answer was truncated at 1,024 tokens"
    reasons = f"no properties: {truncated} (4); the gold answer does not pass (1); no query: a name is missing (1)"
    assert reasons in done.stderr


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
    options = ("-n", "1", "--turns", "2", "--min-turns", "2", "-t", "lake", "--configuration", "text")
    done = here("conv", "make", kb, "-o", tmp_path / "conv", *options, "--llm", f"replay:{CONVERSATIONS}")
    assert (done.returncode, done.stdout) == (1, "")
    assert "3 calls (3 from the recording)" in done.stderr and "No predicate is asked for" in done.stderr


def narrowed(folder: Path, name: str, *changes: tuple[str, str], task: str = "") -> tuple[str, str]:
    """Return the option that replaces a prompt by one with other limits, and with other words if ``task`` is given."""
    text = (assets.prompts() / f"{name}.md").read_text(encoding="utf-8")
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    if task:
        text = f"+++{text.split('+++')[1]}+++\n{task}\n"
    (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return "--prompt", f"{name}={folder / name}.md"


def test_templates_that_break_the_rules_are_not_used(here: Run, kb: Path, tmp_path: Path) -> None:
    """The model selects predicates that exist, and writes templates of one turn of three, then without end."""
    options = ("-n", "1", "--turns", "2", "--min-turns", "2", "-t", "mountain", "--configuration", "text")
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


def test_rows_of_a_model_are_noise_beside_those_by_rule(here: Run, lakes: Path, tmp_path: Path) -> None:
    """The model states conditions, writes rows, and confirms none of them; rows by rule take their place."""
    rows, cells = (f'properties.rows{part}]\ntype = "array"' for part in ("", ".items"))
    six = (("max_tokens = 4096", "max_tokens = 512"), (rows, f"{rows}\nminItems = 2\nmaxItems = 2"))
    meet = 'properties.meet]\ntype = "array"'
    prompts = (
        *narrowed(tmp_path, "ska_rows", *six, (cells, f"{cells}\nminItems = 6\nmaxItems = 6")),
        *narrowed(tmp_path, "ska_conditions", ("minLength = 1", "minLength = 1\nmaxLength = 200")),
        *narrowed(tmp_path, "ska_check", (meet, f"{meet}\nmaxItems = 20")),
    )
    options = ("--form", "table", "-n", "1", "--tokens", "1000", "--model-rows", "2", "--seed", "2")
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


LAKES_TEMPLATE = """title = "Lakes"
[[template]]
id = "lakes"
expression = 'country:<country> -> lake'
answer = "lake"
question = "Which lakes lie in <country>?"
"""


def listed(name: str, limits: str) -> tuple[str, str]:
    """Return the change that limits a list."""
    return f'properties.{name}]\ntype = "array"', f'properties.{name}]\ntype = "array"\n{limits}'


def text_of(name: str, most: int) -> tuple[str, str]:
    """Return the change that limits a text of a list's objects."""
    text = f'items.properties.{name}]\ntype = "string"'
    return text, f"{text}\nmaxLength = {most}"


@pytest.fixture
def drafts(tmp_path: Path) -> tuple[str | Path, ...]:
    """Options of ``stark make`` for lakes of countries, with prompts that a model of this size can follow."""
    (tmp_path / "lakes.toml").write_text(LAKES_TEMPLATE, encoding="utf-8")
    brief = ("minLength = 1", "minLength = 1\nmaxLength = 200")
    user = "The user message is a JSON object. Copy the text of `"
    fuse = f"{user}question` into `query`, then add the words of `properties`."
    again = f"{user}query` into `query`, word by word."
    offer = f"{user}question` into `query`, then add the words of the first requirement. `used` is the list [1]."
    few, texts = "minItems = 1\nmaxItems = 2", (text_of("text", 60), text_of("source", 20))
    return (
        *("-n", "1", "--template", tmp_path / "lakes.toml", "--min-candidates", "2", "--max-candidates", "5"),
        *("--properties", "1", "--llm", f"gemma3-270m@replay:{STEPS}"),
        *narrowed(tmp_path, "stark_properties", ("minItems = 1", few), *texts),
        *narrowed(tmp_path, "stark_fuse", brief, task=fuse),
        *narrowed(tmp_path, "stark_rephrase", brief, task=again),
        *narrowed(tmp_path, "stark_verify", listed("checks", few), text_of("quote", 60)),
        *narrowed(
            tmp_path,
            "stark_product_properties",
            ("minLength = 1", "minLength = 1\nmaxLength = 60"),
            listed("statements", "minItems = 1\nmaxItems = 4"),
            *texts,
        ),
        *narrowed(tmp_path, "stark_product_fuse", brief, listed("used", "minItems = 1\nmaxItems = 4"), task=offer),
    )


def test_answers_of_stark_are_verified(here: Run, kb: Path, tmp_path: Path, drafts: tuple[str | Path, ...]) -> None:
    """Gemma 3 270M judges a property more than there are, and lets no gold answer pass."""
    done = here("stark", "make", kb, "-o", tmp_path / "stark", *drafts)
    assert (done.returncode, done.stdout) == (1, "")
    assert "gemma3-270m: 16 calls (16 from the recording), 0 + 0 tokens" in done.stderr
    assert "no properties without the answer's name (4); the gold answer does not pass (2)" in done.stderr
    assert "6 judgements could not be used, e.g. it judged properties [1, 2] of 1" in done.stderr


def test_products_of_stark_are_drafted_and_verified(
    here: Run, kb: Path, tmp_path: Path, drafts: tuple[str | Path, ...]
) -> None:
    """Gemma 3 270M states requirements, writes queries from them, and judges categories and requirements."""
    (tmp_path / "roles.toml").write_text("[roles.customer]\nproducts = true\n", encoding="utf-8")
    done = here("stark", "make", kb, "-o", tmp_path / "stark", *drafts, "--roles", tmp_path / "roles.toml")
    assert (done.returncode, done.stdout) == (1, "")
    assert "gemma3-270m: 32 calls (32 from the recording), 0 + 0 tokens" in done.stderr
    assert (
        "None of the 6 queries remains: the gold answer does not pass (5); no query: a name is missing" in done.stderr
    )


def test_candidates_of_quest_are_classified(here: Run, tmp_path: Path) -> None:
    """Gemma 3 270M gives a relevance of 10^15, is asked again, and repeats it: that candidate has none."""
    kb, dataset = tmp_path / "q.kb", shutil.copytree(TESTS / "samples" / "quest", tmp_path / "questds")
    assert here("ingest", "quest", dataset, "-o", kb).returncode == 0
    options = ("-m", "bm25", "-k", "2", "--classifier", "llm", "--llm", f"gemma3-270m@replay:{STEPS}")
    done = here("quest", "run", kb, dataset, "-o", tmp_path / "runs", *options, "--table", "3", "-f", "csv")
    assert done.returncode == 0, done.stderr
    assert "gemma3-270m: 4 calls (4 from the recording), 0 + 0 tokens; 1 invalid answer" in done.stderr
    assert done.stdout.splitlines()[2].startswith("bm25+llm,1.0,1,0,1.0,0.5,")


def test_queries_of_quest_are_parsed(here: Run, kb: Path, tmp_path: Path) -> None:
    """The model lists categories without end, so that the query has no expression."""
    dataset = tmp_path / "quest"
    options = ("-t", "lake", "-n", "3", "--min-answers", "2", "--max-answers", "4", "--seed", "2")
    assert here("quest", "make", kb, "-o", dataset, *options).returncode == 0
    for name in ("test", "queries"):
        text = (dataset / f"{name}.jsonl").read_text(encoding="utf-8")
        old = '"query": "Show lakes in Uganda"'
        assert text.count(old) == 1
        new = text.replace(old, '"query": "Where in Uganda could one swim in a lake?"')
        (dataset / f"{name}.jsonl").write_text(new, encoding="utf-8")
    prompt = narrowed(tmp_path, "quest_parse", ("max_tokens = 256", "max_tokens = 96"))
    options = ("-m", "bm25", "-k", "2", "--classifier", "none", *prompt, "--llm", f"smollm2-135m@replay:{STEPS}")
    done = here("quest", "run", kb, dataset, "-o", tmp_path / "runs", *options)
    assert done.returncode == 0, done.stderr
    assert "parsed 1 of 2 queries, 0 of them by a model; the others have no answers" in done.stderr
    assert "2 calls (2 from the recording), 0 + 0 tokens; 1 invalid answer" in done.stderr


def test_questions_of_ska_are_answered_and_rejected(here: Run, tmp_path: Path) -> None:
    """The model finds no end of its answers, nor when it is to say yes or no. The dataset is the recorded one."""
    dataset = shutil.copytree(Path(__file__).with_name("lakes"), tmp_path / "ska")
    assert here("ska", "testbed", dataset).returncode == 0
    short = [
        narrowed(tmp_path, name, ("max_tokens = 2048", "max_tokens = 192")) for name in ("ska_answer", "ska_reject")
    ]
    settings = ("--testbed", "noise", "--testbed", "rejection", "--setting", "1k", "--setting", "noise only")
    llm = ("--llm", f"smollm2-135m@replay:{STEPS}")
    done = here("ska", "run", dataset, *settings, *short[0], *short[1], *llm, "--table", "3", "-f", "csv")
    assert done.returncode == 0, done.stderr
    assert "4 calls (4 from the recording), 0 + 0 tokens; 2 invalid answers" in done.stderr
    assert "2 of 2 records scored 0: the answer was truncated at 192 tokens" in done.stderr
    assert done.stdout.splitlines()[1].startswith("smollm2-135m,here,,,,,0.0,")


def test_templates_of_qualified_facts(here: Run, kb: Path, tmp_path: Path) -> None:
    """The model copies the examples of the prompts, and is asked again, with what is wrong."""
    chosen = ("uniqueItems = true", "uniqueItems = true\nminItems = 1\nmaxItems = 1")
    only = ('selected.items]\ntype = "string"', 'selected.items]\ntype = "string"\nenum = ["member_of/since"]')
    names = ("conv_voice_qualified", "conv_text_qualified", "conv_voice", "conv_text")
    short = [narrowed(tmp_path, name, ("max_tokens = 4096", "max_tokens = 320")) for name in names]
    prompts = [*narrowed(tmp_path, "conv_predicates", chosen, only), *(part for option in short for part in option)]
    turns = ("--turns", "2", "--min-turns", "2", "--max-answers", "20")
    options = ("-n", "1", *turns, "-t", "country", "--configuration", "text")
    done = here(
        "conv", "make", kb, "-o", tmp_path / "conv", *options, *prompts, "--llm", f"smollm2-135m@replay:{STEPS}"
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "19 calls (19 from the recording), 0 + 0 tokens; 4 invalid answers" in done.stderr
    assert "the model's templates are invalid: the answer of turn 1 must be [a]" in done.stderr


class Guided:
    """A model whose actions are given, and whose other replies are those of a recording."""

    name = "smollm2-135m"

    def __init__(self, *actions: str) -> None:
        self._left, self._recorded = list(actions), Replay(self.name, STEPS)

    def complete(self, request: ModelRequest) -> Reply:
        if request.tools:
            return Reply(f"Thought: Look.\nAction: {self._left.pop(0)}", Usage(0, 0))
        return self._recorded.complete(request)


def test_an_entry_is_shortened_and_rows_are_told(kb: Path, tmp_path: Path) -> None:
    """The model keeps properties that do not exist, so all are kept, and repeats what it was given: no sentence."""
    narrowed(tmp_path, "explore_prune", ("max_tokens = 1024", "max_tokens = 256"), listed("keep", "maxItems = 5"))
    narrowed(tmp_path, "explore_sentence", ("max_tokens = 512", "max_tokens = 96"))
    files = {name: tmp_path / f"{name}.md" for name in ("explore_prune", "explore_sentence")}
    model = Guided('entry("country:PRT")', 'sparql("""SELECT ?x { country:PRT rel:borders ?x }""")', "stop()")
    cache = Cache(None)
    with kbkit.open(kb) as opened:
        agent = Agent(opened.stores, Calls([model], cache, prompts=files), AgentSettings(prune=500, sentence=True))
        answer = agent.ask("Which countries border Portugal?")
    replies = [call.reply.text for call in cache.rows() if "Thought:" not in call.reply.text]
    assert len(replies) == 2
    assert json.loads(replies[0]) == {"keep": ["country", "country_name"]}
    assert json.loads(replies[1])["count"] == "1 row"
    assert (answer.outcome, answer.rows.rows(), answer.sentence) == (
        "stopped",
        [("http://example.org/world/country/ESP",)],
        "",
    )
    assert "borders" in str(answer.trace[0].observation)


def test_the_recording_is_small_and_of_one_server() -> None:
    assert RECORDING.stat().st_size < 460_000
    assert {call.model for call in read(RECORDING)} == {"smollm2-135m", "gemma3-270m"}
    assert MAKING.stat().st_size < 200_000
    assert {call.model for call in read(MAKING)} == {"smollm2-135m"}
    assert STEPS.stat().st_size < 250_000
    assert {call.model for call in read(STEPS)} == {"smollm2-135m", "gemma3-270m"}


def test_every_prompt_was_answered() -> None:
    """One only in the words of a test: the model does not follow the shipped ones so far that the next step runs."""
    asked = {call.request.messages[0][1] for file in (RECORDING, CONVERSATIONS, MAKING, STEPS) for call in read(file)}
    texts = {
        path.stem: path.read_text(encoding="utf-8").split("+++")[2].strip() for path in assets.prompts().glob("*.md")
    }
    answered = {name for name, text in texts.items() if any(system.startswith(text) for system in asked)}
    assert len(texts) > 30
    assert set(texts) - answered == {"stark_product_fuse"}
