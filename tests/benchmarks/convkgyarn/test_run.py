"""Systems on conversations: runs of a scripted model and of the baseline, Table 4, and paired differences."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from kbkit.benchmarks.convkgyarn import evaluate, paper
from kbkit.benchmarks.convkgyarn.baseline import completed
from kbkit.benchmarks.convkgyarn.conversations import SETTINGS, ConvEntity, Conversation, read_conversations
from kbkit.benchmarks.convkgyarn.run import chosen
from kbkit.errors import BadInputError, KbError
from kbkit.kb import KnowledgeBase
from tests.benchmarks.convkgyarn import data as conv_data
from tests.conftest import Run
from tests.llm_server import Seen, Server, by, status
from tests.wording import Wording


@pytest.fixture(scope="module")
def kb_path(world_kb: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the world KB, whose cache of calls may be written."""
    return shutil.copytree(world_kb, tmp_path_factory.mktemp("conv") / "world.kb")


@pytest.fixture(scope="module")
def dataset(world: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return conv_data.dataset(world, tmp_path_factory.mktemp("conv") / "c.jsonl", 4)


@pytest.fixture(scope="module")
def known(dataset: Path) -> list[Conversation]:
    return list(read_conversations(dataset))


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


class Scripted:
    """A model that knows the answers to all questions but the first of each conversation, for which it says NA.

    For questions with disfluencies it is wrong.
    """

    def __init__(self, conversations: list[Conversation]) -> None:
        self.gold = {turn.question: turn.answers[-1].text for one in conversations for turn in one.turns}

    def __call__(self, seen: Seen) -> str:
        inputs = seen.inputs
        if not inputs["history"]:
            return json.dumps({"answers": ["NA"]})
        if inputs["question"].startswith("Um"):
            return json.dumps({"answers": ["Atlantis"]})
        return json.dumps({"answers": ["nothing", self.gold[inputs["question"]]]})


# -- the baseline -----------------------------------------------------------------------------------------------------

RHINE, DANUBE = ConvEntity("river", "rhine", "Rhine"), ConvEntity("river", "danube", "Danube", ["Donau"])


def test_questions_are_completed_with_the_entity_that_was_named_last() -> None:
    pairs = [
        ("How long is the Rhine?", "How long is the Rhine?"),
        ("What does it flow into?", "What does Rhine flow into?"),
        ("And, uh, its length?", "And, uh, Rhine's length?"),
        ("which countries does that river flow through?", "which countries does Rhine flow through?"),
        ("length", "length Rhine"),
        ("And the Donau?", "length Danube"),
        ("How long is it", "How long is Danube"),
        ("what about the rhine?", "How long is Rhine"),
        ("the length of her", "the length of Rhine"),
        ("her length", "Rhine's length"),
        ("same for danube", "Danube's length"),
        ("that river's mouth", "Danube's mouth"),
    ]
    questions, expected = zip(*pairs, strict=True)
    assert completed(questions, [RHINE, DANUBE]) == list(expected)


@pytest.mark.core
def test_the_baseline_answers_offline(here: Run, kb_path: Path, dataset: Path, tmp_path: Path) -> None:
    out = tmp_path / "ask.jsonl"
    done = here("conv", "run", kb_path, dataset, "-o", out)
    assert done.returncode == 0, done.stderr
    assert "GPT4 (paper)" in done.stdout
    assert re.search(r"^ask: [\d.]+ s$", done.stderr, flags=re.MULTILINE)
    first, *rows = lines(out)
    assert first["settings"]["method"] == "ask"
    assert [row["id"] for row in rows] == [one.id for one in read_conversations(dataset)]
    scores = here("conv", "eval", dataset, out, "-f", "json")
    table = {tuple(row.values())[1:5]: row for row in json.loads(scores.stdout) if row["system"] == "ask"}
    assert list(table) == list(SETTINGS)
    plain, deixis = table["voice", False, False, False], table["voice", True, False, False]
    assert plain["general_turns"] == deixis["general_turns"] == plain["related_turns"] == 1
    assert table["text", False, False, True]["general_turns"] == 1  # typing errors are corrected
    again = out.read_bytes()
    assert here("conv", "run", kb_path, dataset, "-o", out, "--replace").returncode == 0
    assert out.read_bytes() == again


def test_the_baseline_sees_no_correct_answers(kb_path: Path, known: list[Conversation]) -> None:
    from dataclasses import replace

    import kbkit
    from kbkit.benchmarks.convkgyarn.baseline import ConvBaseline
    from kbkit.benchmarks.convkgyarn.conversations import TurnAnswer

    [one] = [one for one in known if one.id == "g1-voiced"]
    other = replace(
        one, turns=[replace(turn, answers=[TurnAnswer("?")], predicate="?", kind="text") for turn in one.turns]
    )
    with kbkit.open(kb_path) as kb:
        assert ConvBaseline(kb).answer([one]) == ConvBaseline(kb).answer([other])


# -- a model ----------------------------------------------------------------------------------------------------------


def test_a_model_gets_the_correct_history_and_its_run_is_replayed(
    here: Run, kb_path: Path, dataset: Path, known: list[Conversation], tmp_path: Path
) -> None:
    out, recording = tmp_path / "m.jsonl", tmp_path / "calls.jsonl"
    seen: list[dict[str, Any]] = []

    def answer(request: Seen) -> str:
        seen.append(request.inputs)
        return Scripted(known)(request)

    with Server(otherwise=by(answer)) as server:
        done = here("conv", "run", kb_path, dataset, "-o", out, "--llm", f"m@{server.url}", "--groups", 1)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^m: [\d.]+ s; \d+ calls of models, [\d,]+ \+ [\d,]+ tokens$", done.stderr, flags=re.MULTILINE)
    asked = chosen(dataset, 1)
    assert {one.group for one in asked} == {"g0", "g1"}
    [longest] = [s for s in seen if s["question"] == asked[0].turns[4].question]
    assert longest["history"] == [
        {"question": turn.question, "answers": [answer.text for answer in turn.answers]} for turn in asked[0].turns[:4]
    ]
    rows = {row["id"]: row for row in lines(out)[1:]}
    assert rows["g0-voice"]["turns"][0] == {}  # NA
    # Other tests of the KB may have run first: a recording is replayed with the first of its models.
    assert here("llm", "export", kb_path, recording, "--model", "m").returncode == 0
    replayed = tmp_path / "again.jsonl"
    done = here("conv", "run", kb_path, dataset, "-o", replayed, "--llm", f"replay:{recording}", "--groups", 1)
    assert done.returncode == 0, done.stderr
    assert lines(replayed)[1:] == lines(out)[1:]

    scores = here("conv", "eval", dataset, out, "--groups", 1, "-f", "json")
    table = {tuple(row.values())[1:5]: row for row in json.loads(scores.stdout) if row["system"] == "m"}
    voice = table["voice", False, False, False]
    assert (voice["general_turns"], voice["general_na"]) == (4 / 5, 1 / 5)
    assert (voice["related_turns"], voice["related_na"]) == (6 / 7, 1 / 7)
    assert table["voice", False, True, False]["general_turns"] == 0


def test_a_failed_run_is_replaced(
    here: Run, kb_path: Path, dataset: Path, known: list[Conversation], tmp_path: Path
) -> None:
    out = tmp_path / "r.jsonl"
    with Server(otherwise=status(400, "no such model")) as server:
        done = here("conv", "run", kb_path, dataset, "-o", out, "--llm", f"broken@{server.url}")
        assert done.returncode == 1
    with Server(otherwise=by(Scripted(known))) as server:
        command = ("conv", "run", kb_path, dataset, "-o", out, "--llm", f"whole@{server.url}")
        assert here(*command).returncode == 1  # another model than in the file
        assert here(*command, "--replace").returncode == 0
    assert len(lines(out)) == 1 + len(known)


def test_invalid_answers_of_a_model_score_zero_and_are_not_na(
    here: Run, kb_path: Path, dataset: Path, tmp_path: Path
) -> None:
    out = tmp_path / "bad.jsonl"
    with Server(otherwise=by(lambda _: "Paris, I think")) as server:
        done = here("conv", "run", kb_path, dataset, "-o", out, "--llm", f"chatty@{server.url}", "--groups", 1)
    assert done.returncode == 0, done.stderr
    assert "invalid answer of the model, scored 0" in done.stderr
    [run] = evaluate.read_runs([out])
    turns, _ = evaluate.per_turn(chosen(dataset, 1), [run])
    assert (turns["score"] == 0).all()
    assert not turns["na"].any()


# -- scores -----------------------------------------------------------------------------------------------------------


def predictions(path: Path, known: list[Conversation], right: Any) -> Path:
    """Write a run of another program: the answers of the turns for which ``right(conversation, number)``."""
    rows = [
        {
            "id": one.id,
            "turns": [{"answers": [turn.answers[0].text]} if right(one, n) else {} for n, turn in enumerate(one.turns)],
        }
        for one in known
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_differences_are_paired_by_group(here: Run, dataset: Path, known: list[Conversation], tmp_path: Path) -> None:
    best = predictions(tmp_path / "best.jsonl", known, lambda one, n: True)
    worse = predictions(tmp_path / "worse.jsonl", known, lambda one, n: n > 0 or not one.deixis)
    done = here("conv", "eval", dataset, best, worse, "--compare", "-f", "json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    deixis = [row for row in rows if row["compared"] == "deixis" and row["system"] == "worse"]
    assert len(deixis) == 8  # four configurations without, in both sets
    for row in deixis:
        assert "deixis" not in row["first"]
        assert row["groups"] == 2
        assert row["difference"] == pytest.approx(-1 / 5 if row["set"] == "general" else -1 / 7)
        assert row["low"] == pytest.approx(row["high"]) == row["difference"]
    others = [
        row for row in rows if row["system"] == "worse" and row["compared"] in ("typo", "disfluency", "interaction")
    ]
    assert {row["difference"] for row in others} == {0}
    systems = [row for row in rows if row["compared"] == "system"]
    assert {row["system"] for row in systems} == {"best / worse"}
    assert {row["first"] == row["second"] for row in systems} == {True}
    assert sum(row["difference"] < 0 for row in systems) == 8


def test_tables_and_breakdowns_are_those_of_polars(dataset: Path, known: list[Conversation], tmp_path: Path) -> None:
    [run] = evaluate.read_runs([predictions(tmp_path / "p.jsonl", known, lambda one, n: (n + len(one.id)) % 3 > 0)])
    turns, remarks = evaluate.per_turn(known, [run])
    assert not remarks
    chosen_part = (pl.col("interaction") == "text") & pl.col("deixis") & ~pl.col("typo")
    part = turns.filter((pl.col("set") == "related") & chosen_part)
    [row] = evaluate.table(turns, published=False).filter(chosen_part).to_dicts()
    each = part.group_by("conversation").agg(pl.col("score").mean())
    assert row["related_turns"] == pytest.approx(part["score"].mean())
    assert row["related_conversations"] == pytest.approx(each["score"].mean())
    assert row["related_na"] == pytest.approx(part["na"].mean())
    by_kind = evaluate.breakdown(turns, ["kind", "turn"])
    assert by_kind["count"].sum() == turns.height
    one = turns.filter((pl.col("kind") == "number") & (pl.col("turn") == 5))
    assert by_kind.filter(pl.col("kind") == "number")["turns"].to_list() == [one["score"].mean()]
    shown = evaluate.as_printed(evaluate.table(turns))
    assert shown.filter(pl.col("system") == "GPT4 (paper)")["turns"][0] == "0.301 / 0.391"


def test_the_papers_rows() -> None:
    """Cells of Tables 2 and 4 as printed, by their place in the paper."""
    last, tenth = ("text", True, False, True), ("voice", False, True, False)
    assert tuple(paper.effects("GPT4", "related", last).values()) == (0.290, 0.285, 0.396)  # row 16
    assert tuple(paper.effects("GPT4", "general", tenth).values()) == (0.320, 0.307, 0.329)  # row 10
    assert paper.ratings("general", ("text", False, False, True))["grammar"] == 2.18  # row 10
    assert paper.ratings("related", ("voice", True, False, False))["agreement"] == 69.3  # row 7
    rated = [paper.ratings(name, setting) for name in ("general", "related") for setting in SETTINGS]
    mean = sum(row["agreement"] for row in rated) / 16
    assert mean == pytest.approx(70.53, abs=0.01)  # section 5.1


# -- the judge --------------------------------------------------------------------------------------------------------


@pytest.mark.system
def test_a_model_judges_and_is_asked_turn_by_turn_if_its_list_is_too_short(
    here: Run, kb_path: Path, dataset: Path, known: list[Conversation], tmp_path: Path
) -> None:
    run = predictions(tmp_path / "j.jsonl", known, lambda one, n: n != 1)

    def rate(seen: Seen) -> str:
        turns = seen.inputs["turns"]
        if len(turns) == 7:
            return json.dumps({"ratings": [1]})
        return json.dumps({"ratings": [int(turn["candidates"][0] in turn["gold_answers"]) for turn in turns]})

    with Server(otherwise=by(rate)) as server:
        command = ("conv", "eval", dataset, run, "--llm", f"judge@{server.url}")
        refused = here(*command)
        assert refused.returncode == 1
        assert "--kb" in refused.stderr
        done = here(*command, "--kb", kb_path, "-f", "json")
    assert done.returncode == 0, done.stderr
    [row] = [row for row in json.loads(done.stdout) if tuple(row.values())[:5] == ("j", *SETTINGS[0])]
    assert (row["general_turns"], row["related_turns"]) == (pytest.approx(4 / 5), pytest.approx(6 / 7))
    with Server(otherwise=by(lambda _: json.dumps({"ratings": [2]}))) as server:
        done = here(
            "conv", "eval", dataset, run, "--llm", f"mad@{server.url}", "--kb", kb_path, "--groups", 1, "-f", "json"
        )
    assert "that the judge could not rate, left out" in done.stderr
    assert {row["general_turns"] for row in json.loads(done.stdout) if row["system"] == "j"} == {None}


# -- errors -----------------------------------------------------------------------------------------------------------


def test_errors_say_what_is_wrong(
    here: Run, kb_path: Path, dataset: Path, known: list[Conversation], tmp_path: Path, wording: Wording
) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"id": "g0-voice", "turns": [{"answers": "Paris"}]}\n', encoding="utf-8")
    short = tmp_path / "short.jsonl"
    short.write_text('{"id": "g0-voice", "turns": [{}]}\n', encoding="utf-8")
    other = tmp_path / "other.jsonl"
    other.write_text('{"id": "nobody", "turns": [{}]}\n', encoding="utf-8")
    empty = tmp_path / "empty.jsonl"
    empty.write_text("", encoding="utf-8")
    good = predictions(tmp_path / "good.jsonl", known, lambda one, n: True)
    commands = [
        *(("conv", "eval", dataset, path) for path in (broken, short, other, empty, tmp_path / "none.jsonl")),
        ("conv", "eval", dataset, good, "--by", "colour"),
        ("conv", "eval", dataset, good, "--by", "kind", "--per-query"),
        ("conv", "run", kb_path, dataset, "-o", dataset),
        ("conv", "run", kb_path, dataset, "-o", tmp_path / "no" / "run.jsonl"),
        ("conv", "run", kb_path, tmp_path, "-o", tmp_path / "run.jsonl"),
        ("conv", "run", kb_path, dataset, "-o", tmp_path / "run.jsonl", "--groups", "0"),
    ]
    for command in commands:
        done = here(*command)
        assert done.returncode == 1, command
        wording(done.stderr, "cli", {str(tmp_path): "DIR", str(dataset.parent): "DATA"})


def test_duplicate_conversations_are_refused(known: list[Conversation], tmp_path: Path) -> None:
    from kbkit.benchmarks.convkgyarn.conversations import write_conversations

    write_conversations(tmp_path / "c.jsonl", [known[0], known[0]])
    with pytest.raises(KbError, match="Duplicate conversation 'g0-voice'"):
        chosen(tmp_path / "c.jsonl", None)
    with pytest.raises(BadInputError, match="No predictions"):
        (tmp_path / "r.jsonl").write_text('{"settings": {}}\n')
        evaluate.read_runs([tmp_path / "r.jsonl"])


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_groups_and_ids_select_conversations_without_reading_the_others(
    known: list[Conversation], tmp_path: Path, suffix: str
) -> None:
    from kbkit.benchmarks.convkgyarn.conversations import write_conversations

    path = tmp_path / f"c{suffix}"
    write_conversations(path, known)
    assert chosen(path, None) == known
    assert chosen(path, 1) == [one for one in known if one.group in ("g0", "g1")]  # g1 and g3 have related entities
    assert chosen(path, 5) == known
    ids = {known[3].id, known[9].id, "nobody"}
    assert chosen(path, None, ids) == [known[3], known[9]]
    with pytest.raises(KbError, match="none of the conversations"):
        chosen(path, None, {"nobody"})


def test_a_line_that_does_not_fit_is_named(known: list[Conversation], dataset: Path, tmp_path: Path) -> None:
    text = dataset.read_text(encoding="utf-8").splitlines(keepends=True)
    path = tmp_path / "c.jsonl"
    path.write_text(
        "".join([*text[:2], text[2].replace('"kind":"entity"', '"kind":"thing"', 1), *text[3:]]), encoding="utf-8"
    )
    for groups in (None, 1):
        with pytest.raises(BadInputError, match=r"Unknown kind 'thing' in .*c.jsonl, line 3, turn 1"):
            chosen(path, groups)


@pytest.mark.system
def test_charts(here: Run, dataset: Path, known: list[Conversation], tmp_path: Path) -> None:
    run = predictions(tmp_path / "c.jsonl", known, lambda one, n: n > 1)
    done = here("conv", "eval", dataset, run, "--plot", tmp_path / "c.svg")
    assert done.returncode == 0, done.stderr
    drawn = (tmp_path / "c.svg").read_text(encoding="utf-8")
    assert "mean score of turns, general set" in drawn
    assert "voice, deixis and disfluencies" in drawn
