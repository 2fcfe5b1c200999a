"""ConvKGYarn with a model: selection and templates, checked, asked again, replayed; and the grammar's parts."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kbkit.benchmarks.convkgyarn.conversations import read_conversations
from kbkit.benchmarks.convkgyarn.disfluencies import TYPES, _inner, disfluent
from kbkit.benchmarks.convkgyarn.make import make
from kbkit.benchmarks.convkgyarn.predicates import Predicate
from kbkit.benchmarks.convkgyarn.settings import ConvSettings
from kbkit.benchmarks.convkgyarn.wording import _answers
from kbkit.english.frames import pool
from kbkit.english.questions import IT, THEY, Core, SubjectReference, resolved
from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase
from kbkit.llm import recording
from kbkit.llm.cache import Cache
from kbkit.llm.calls import Calls
from kbkit.llm.openai_compatible import OpenAIModel
from kbkit.llm.recording import Replay
from tests.llm_server import Seen, Server, by

SETTINGS = ConvSettings(min_turns=2, max_answers=20, count=20, types=("river", "country"), turns=4)


def written(inputs: dict[str, Any]) -> dict[str, Any]:
    """Return what a model that follows the prompts would answer."""
    if "predicates" in inputs:
        wanted = ("length", "area", "flows into", "is a member of", "since")
        return {"selected": [p["id"] for p in inputs["predicates"] if p.get("relationship", p["name"]) in wanted]}
    turns = []
    for turn in inputs["turns"]:
        about = f"{turn['predicate']} {turn.get('relationship_predicate', '')} {turn.get('given', '')}".strip()
        forms = {"original": turn["subject"], "deixis": "it"}
        rows = {form: [f"Word {n} on {about} of {subject}?" for n in "abc"] for form, subject in forms.items()}
        more = {f"{form}_disfluencies".replace("original_", ""): [f"Um, {t}" for t in rows[form]] for form in rows}
        turns.append({"turn": turn["turn"], "answer": turn["object"], **rows, **more})
    return {"turns": turns}


def is_voice(seen: Seen) -> bool:
    return "deixis_disfluencies" in json.dumps(seen.body)


def text_of(answer: dict[str, Any], seen: Seen) -> str:
    for turn in answer.get("turns", ()):
        if not is_voice(seen):
            turn.pop("disfluencies"), turn.pop("deixis_disfluencies")
            turn.update({form: [t.lower().rstrip("?") for t in turn[form]] for form in ("original", "deixis")})
    return json.dumps(answer)


def good(seen: Seen) -> str:
    return text_of(written(seen.inputs), seen)


def calls_of(server: Server, cache: Cache) -> Calls:
    return Calls([OpenAIModel("m", server.url)], cache)


def test_a_model_selects_and_writes_and_the_recording_replays(world: KnowledgeBase, tmp_path: Path) -> None:
    with Server(otherwise=by(good)) as server:
        cache = Cache(None)
        made = make(world, tmp_path / "out", SETTINGS, calls_of(server, cache))
        recording.write(cache.rows(), tmp_path / "calls.jsonl")
        inputs = [seen.inputs for seen in server.requests]
    assert all(len(i["predicates"]) <= 50 for i in inputs if "predicates" in i)
    assert max(len(i["turns"]) for i in inputs if "turns" in i) <= 5
    assert made.report["invalid"] == []
    turns = [turn for one in read_conversations(tmp_path / "out") for turn in one.turns]
    assert {turn.predicate for turn in turns} == {"length_km", "area_km2", "flows_into", "member_of"}
    assert {turn.qualifier for turn in turns} == {"", "since"}
    spoken = [
        turn.question
        for one in read_conversations(tmp_path / "out")
        if one.interaction == "voice"
        for turn in one.turns
    ]
    assert all(re.fullmatch(r"(Um, )?Word [abc] on .+ of .+\?", question) for question in spoken)
    assert {re.sub(".*:", "", turn.template) for turn in turns} >= {"voice.original.1", "text.deixis_typos.3"}
    replayed = Calls([Replay("m", tmp_path / "calls.jsonl")], Cache(None))
    make(world, tmp_path / "again", SETTINGS, replayed)
    path = "conversations.jsonl"
    assert (tmp_path / "again" / path).read_bytes() == (tmp_path / "out" / path).read_bytes()


def test_a_model_that_breaks_the_rules_is_asked_again_with_the_problem(world: KnowledgeBase, tmp_path: Path) -> None:
    def first_wrong(seen: Seen) -> str:
        inputs = seen.inputs
        answer = written(inputs)
        if "predicates" in inputs and not inputs["problem"]:
            return json.dumps({"selected": ["P0"]})
        if "turns" in inputs and not inputs["problem"]:
            answer["turns"][0]["original"][1] = "What is the length of [a]?"
        return text_of(answer, seen)

    with Server(otherwise=by(first_wrong)) as server:
        cache = Cache(None)
        made = make(world, tmp_path / "out", SETTINGS, calls_of(server, cache))
        problems = {seen.inputs["problem"] for seen in server.requests}
    assert made.report["invalid"] == []
    assert "'P0' is not one of the ids" in problems
    assert "turn 1, original 2: unknown placeholder [a]; the subject is [river]" in problems


def test_facts_whose_templates_stay_invalid_are_left_out(world: KnowledgeBase, tmp_path: Path) -> None:
    def without_subject(seen: Seen) -> str:
        answer = written(seen.inputs)
        if any(turn["subject"] == "[river]" for turn in seen.inputs.get("turns", ())):
            answer["turns"][0]["original"][2] = "word c on nothing"
        return text_of(answer, seen)

    with Server(otherwise=by(without_subject)) as server:
        cache = Cache(None)
        made = make(world, tmp_path / "out", SETTINGS, calls_of(server, cache))
        asked = len(server.requests)
        assert len(made.report["invalid"]) == 2  # length and mouth
        assert "[river] must occur once" in made.report["invalid"][0]
        assert {one.entity.type for one in read_conversations(tmp_path / "out")} == {"country"}
        make(world, tmp_path / "out", SETTINGS, calls_of(server, cache))
        assert len(server.requests) == asked  # the tables are complete
        only = ConvSettings(min_turns=2, max_answers=20, count=5, types=("river",))
        with pytest.raises(
            KbError,
            match=r"No templates: the model's templates are invalid: turn 1, original 3: \[river\] must occur once",
        ):
            make(world, tmp_path / "river", only, calls_of(server, cache))


# -- the grammar's parts ----------------------------------------------------------------------------------------------

X = SubjectReference.noun("[x]")


@pytest.mark.parametrize(
    ("core", "direct", "indirect", "of_they"),
    [
        ("how long; is", "how long is [x]", "how long [x] is", "how long [is/are] [they]"),
        ("what; does; flow into", "what does [x] flow into", "what [x] flows into", "what [does/do] [they] flow into"),
        ("when; did; die", "when did [x] die", "when [x] died", "when did [they] die"),
        ("who directed {S}", "who directed [x]", "who directed [x]", "who directed [them]"),
        ("what; is; {S's} length;", "what is [x]'s length", "what [x]'s length is", "what is [their] length"),
        ("since when; has; been a member of [object]", "since when has [x] been a member of [object]",
         "since when [x] has been a member of [object]", "since when [has/have] [they] been a member of [object]"),
        ("what; [does~did]; speak", "what [does~did] [x] speak", "what [x] [speaks~spoke]",
         "what [does/do~did] [they] speak"),
        ("who; did; [object]; play in {S}", "who did [object] play in [x]", "who [object] played in [x]",
         "who did [object] play in [them]"),
        ("which office; [has~did]; [held~hold]", "which office [has~did] [x] [held~hold]",
         "which office [x] [has~] held", "which office [has/have~did] [they] [held~hold]"),
    ],
)  # fmt: skip
def test_cores_read_directly_and_indirectly(core: str, direct: str, indirect: str, of_they: str) -> None:
    parsed = Core.parse(core)
    assert (parsed.direct(X), parsed.indirect(X), parsed.direct(THEY)) == (direct, indirect, of_they)


def test_alternatives_are_decided_in_order() -> None:
    text = "what [is/are~was/were] [they] [+both ]called"
    assert resolved(text, past=True, many=False, they=True) == "what were [they] called"
    assert resolved(text, past=False, many=True, they=False) == "what is [they] both called"
    indirect = Core.parse("what; does; lie in").indirect(THEY)
    assert resolved(indirect, past=False, many=False, they=True) == "what [they] lie in"
    assert Core.parse("what; does; lie in").indirect(IT) == "what it lies in"


@pytest.mark.parametrize("kind", TYPES)
def test_each_disfluency_keeps_the_question(kind: str) -> None:
    assert len(TYPES) == 10
    for question in (
        "Which [country+countries] does [river] flow through or along?",
        "Could you tell me what [town]'s [capital+capitals] [is+are]?",
        "When [was/were] [they] born?",
        "Who?",
    ):
        for seed in range(30):
            said = disfluent(question, kind, random.Random(seed))
            assert said != question
            assert re.findall(r"\[[^\]]*\]", said) == re.findall(r"\[[^\]]*\]", question), said
            assert said.endswith(question[-1])
            assert "  " not in said
            assert not re.search(r"\.\.\.,|,,|-,|\?.*\?", said), said
            # Its words remain, in order.
            remaining = iter(re.findall(r"[\w']+", said.lower()))
            assert all(word in remaining for word in re.findall(r"[\w']+", question.lower())), said


@pytest.mark.parametrize(
    ("more", "asked"),
    [
        ({}, "which [river+rivers]"),
        ({"most": 1}, "which river"),
        ({"targets": 2}, "what"),
        ({"people": True}, "who"),
    ],
)
def test_answers_are_asked_for_by_their_type(more: dict[str, Any], asked: str) -> None:
    flows = Predicate("", "country", "^flows_through", "flows", "backward", "entity", 9, 10, 2.0, 5, 9, 0.1, "complex")
    assert _answers(replace(flows, **{"target": "river", "targets": 1, **more})) == asked


def test_speakers_pause_before_the_subject_or_the_verb() -> None:
    for question, position in (
        ("When was Rome founded?", 2),
        ("Which teams have won it?", 2),
        ("Who wrote it?", 1),
    ):
        assert _inner(question.split(), random.Random(0)) == position, question


def test_there_are_twelve_frames_for_each_variant() -> None:
    for name in ("voice", "text", "related_voice", "related_text"):
        frames = pool("conversations", name)
        assert len(set(frames)) == len(frames) >= 12
        assert all(len(re.findall(r"\{(?:direct|indirect|key)\}", frame)) == 1 for frame in frames)
