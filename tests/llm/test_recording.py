"""What is kept of calls: the cache file, recordings, and models that replay them."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbkit.errors import BadInputError, KbError, UnknownNameError
from kbkit.llm import recording
from kbkit.llm.cache import Cache
from kbkit.llm.calls import Calls, ModelAnswer
from kbkit.llm.client import Message, ModelRequest, Reply, Usage
from kbkit.llm.models import open_calls, open_models
from kbkit.llm.openai_compatible import OpenAIModel
from kbkit.llm.recording import Recorded, Replay
from tests.llm_server import Server, reply
from tests.wording import Wording

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
REQUESTS = st.builds(
    ModelRequest,
    st.lists(st.builds(Message, st.sampled_from(["system", "user", "assistant"]), TEXT), max_size=3).map(tuple),
    st.none() | st.dictionaries(TEXT, st.integers() | TEXT, max_size=3),
    st.floats(0, 2),
    st.none() | st.floats(0, 1),
    st.integers(1, 9999),
    st.integers(0, 99),
)
TOKENS = st.integers(0, (1 << 40) - 1)
REPLIES = st.builds(Reply, TEXT, st.builds(Usage, TOKENS, TOKENS), st.booleans())


def call(text: str, model: str = "m", answer: str = "yes") -> Recorded:
    request = ModelRequest((Message("system", "Be brief."), Message("user", text)))
    return Recorded(request.key(model), model, request, Reply(answer, Usage(3, 1)))


def write(folder: Path, *calls: Recorded) -> Path:
    file = folder / "calls.jsonl"
    assert recording.write(calls, file) == len(calls)
    return file


# -- the cache --------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(REQUESTS, REPLIES), max_size=6))
def test_cache_round_trip(pairs: list[tuple[ModelRequest, Reply]]) -> None:
    cache, first = Cache(None), {}
    for request, answer in pairs:
        first.setdefault(request.key("m"), Recorded(request.key("m"), "m", request, answer))
        cache.put(request.key("m"), "m", request, answer)
    assert list(cache.rows()) == list(first.values())
    assert cache.find([*first, "other"]) == {key: kept.reply for key, kept in first.items()}
    assert cache.get("other") is None


@pytest.mark.core
def test_a_cache_is_there_for_the_next_process(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "llm.sqlite"
    cache = Cache(file)
    assert cache.add([call("a"), call("b", "n")]) == (2, 0)
    assert cache.add([call("b", "n", "no"), call("c")]) == (1, 1)  # the first reply stays
    cache.close()
    again = Cache(file)
    assert [(c.model, c.reply.text, c.request.asked()) for c in again.rows()] == [
        ("m", "yes", "a"),
        ("n", "yes", "b"),
        ("m", "yes", "c"),
    ]
    assert [c.model for c in again.rows("n")] == ["n"]
    assert again.summary() == [("m", 2, 6, 2), ("n", 1, 3, 1)]


def test_many_rows_come_in_order(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "c")
    cache.add(call(str(number)) for number in range(2500))
    assert [c.request.asked() for c in cache.rows()] == [str(number) for number in range(2500)]
    keys = [call(str(number)).key for number in range(2500)]
    assert list(cache.find(keys)) != []
    assert len(cache.find(keys)) == 2500


WRITER = """
import sys
from pathlib import Path
from kbkit.llm.cache import Cache
from kbkit.llm.client import Message, ModelRequest, Reply
sys.stdin.readline()
cache = Cache(Path(sys.argv[1]))
for number in range(30):
    for name in ("both", sys.argv[2]):
        request = ModelRequest((Message("user", f"{name} {number}"),))
        cache.put(request.key("m"), "m", request, Reply(name))
"""


def test_processes_that_write_at_once(tmp_path: Path) -> None:
    """None has made the file yet when all begin."""
    command = [sys.executable, "-c", WRITER, str(tmp_path / "c")]
    started = [subprocess.Popen([*command, name], stdin=subprocess.PIPE, stderr=subprocess.PIPE) for name in "xyz"]
    for process in started:
        assert process.stdin
        process.stdin.write(b"\n")
        process.stdin.flush()
    said = [process.communicate(timeout=60)[1] for process in started]
    assert said == [b""] * 3
    asked = sorted(c.request.asked() for c in Cache(tmp_path / "c").rows())
    assert asked == sorted(f"{name} {number}" for name in ("both", "x", "y", "z") for number in range(30))


def test_a_write_that_is_interrupted_leaves_the_cache_usable() -> None:
    cache = Cache(None)

    def interrupted() -> Any:
        yield call("a")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.add(interrupted())
    with pytest.raises(KeyboardInterrupt), cache._use() as connection:
        connection.execute("BEGIN IMMEDIATE")
        raise KeyboardInterrupt
    assert cache.add([call("b")]) == (1, 0)
    assert [c.request.asked() for c in cache.rows()] == ["b"]


def _other_table(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE calls (x)")


def _later(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA user_version = 9")


@pytest.mark.parametrize(
    ("spoil", "facts"),
    [
        (
            lambda file: file.write_bytes(b"no database at all" * 100),
            [],
        ),
        (_other_table, []),
        (_later, ["9"]),
        (
            Path.mkdir,
            [],
        ),
    ],
)
def test_files_that_are_not_caches(
    tmp_path: Path, spoil: Callable[[Path], Any], facts: list[str], wording: Wording
) -> None:
    file = tmp_path / "llm.sqlite"
    spoil(file)
    with pytest.raises(KbError) as caught:
        Cache(file).get("x")
    message = str(caught.value)
    assert [fact for fact in facts if fact not in message] == []
    wording(message, replace={str(tmp_path): "DIR"})


def test_a_place_that_is_no_folder(tmp_path: Path, wording: Wording) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(KbError) as caught:
        Cache(tmp_path / "file" / "llm.sqlite")
    message = str(caught.value)
    wording(message, replace={str(tmp_path): "DIR"})


# -- recordings -------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(REQUESTS, REPLIES), max_size=4))
def test_a_recording_reads_back_as_it_was_written(
    tmp_path_factory: Any, pairs: list[tuple[ModelRequest, Reply]]
) -> None:
    folder = tmp_path_factory.mktemp("r")
    calls = [Recorded(request.key("m"), "m", request, answer) for request, answer in pairs]
    file = write(folder, *calls)
    assert list(recording.read(file)) == calls
    assert list(folder.iterdir()) == [file]


def _changed(**changes: Any) -> str:
    found = json.loads(recording.line(call("a")))
    for path, value in changes.items():
        first, _, second = path.partition("_")
        if second:
            found[first][second] = value
        else:
            found[first] = value
    return json.dumps(found)


@pytest.mark.parametrize(
    ("line", "facts"),
    [
        ("{", []),
        ("[]", []),
        ("[" * 100_000, []),
        ("{}", ["'key'"]),
        (_changed(reply={}), ["'cut'"]),
        (_changed(reply={"cut": False}), ["'text'"]),
        (_changed(reply_text=None), []),
        (_changed(reply_text="\ud800"), []),
        (_changed(reply_input=-1), []),
        (_changed(reply_input=1 << 70), []),
        (_changed(reply_cut=0), []),
        (_changed(request_messages=[["tool", "x"]]), []),
        (_changed(request_messages=[["user"]]), []),
        (_changed(request_schema=[]), []),
        (_changed(request_temperature="0"), []),
        (_changed(request_sample=1), []),
        (_changed(model="n"), []),
    ],
)
def test_lines_that_are_no_calls(tmp_path: Path, line: str, facts: list[str], wording: Wording) -> None:
    file = tmp_path / "calls.jsonl"
    file.write_text(f"{recording.line(call('first'))}\n{line}\n", encoding="utf-8")
    with pytest.raises(BadInputError) as caught:
        Replay("m", file)
    message = str(caught.value)
    assert [fact for fact in facts if fact not in message] == []
    wording(message, replace={str(tmp_path): "DIR"})


def test_files_that_are_no_recordings(tmp_path: Path, wording: Wording) -> None:
    with pytest.raises(KbError) as caught:
        open_models([f"replay:{tmp_path / 'missing.jsonl'}"])
    message = str(caught.value)
    assert [fact for fact in ["missing.jsonl"] if fact not in message] == []
    wording(message, replace={str(tmp_path): "DIR"})
    with pytest.raises(KbError) as caught:
        (tmp_path / "empty.jsonl").touch()
        open_models([f"replay:{tmp_path / 'empty.jsonl'}"])
    message = str(caught.value)
    assert [fact for fact in ["empty.jsonl"] if fact not in message] == []
    wording(message, replace={str(tmp_path): "DIR"})
    with pytest.raises(KbError) as caught:
        recording.write([call("a")], tmp_path / "empty.jsonl" / "calls.jsonl")
    message = str(caught.value)
    wording(message, replace={str(tmp_path): "DIR"})


def test_the_folder_of_a_recording_is_created(tmp_path: Path) -> None:
    file = tmp_path / "missing" / "calls.jsonl"
    assert recording.write([call("a")], file) == 1
    assert [c.request.asked() for c in recording.read(file)] == ["a"]


def test_a_write_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    file = write(tmp_path, call("a"))
    before = file.read_bytes()

    def fails() -> Any:
        yield call("b")
        raise KbError("damaged")

    with pytest.raises(KbError, match="damaged"):
        recording.write(fails(), file)
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


# -- replay -----------------------------------------------------------------------------------------------------------


def asked(run: Calls, *names: str) -> list[ModelAnswer]:
    return run.ask("rerank", [{"query": "storm", "candidate": name} for name in names])


def test_a_run_replays_with_no_server(tmp_path: Path) -> None:
    pytest.importorskip("openai")
    good, bad = reply('{"score": 0.25}'), reply("no idea")
    with Server(good, bad, good, bad, bad) as server:
        live = Calls([OpenAIModel("m", server.url)], Cache(tmp_path / "c"), workers=1)
        answers = asked(live, "a", "b", "c")
    assert [answer.value for answer in answers] == [{"score": 0.25}, {"score": 0.25}, None]
    file = write(tmp_path, *live.cache.rows())

    run = open_calls(open_models([f"replay:{file}"]), tmp_path / "none" / "llm.sqlite", budget=0)
    assert asked(run, "c", "a", "b") == [answers[2], *answers[:2]]
    assert run.account.lines() == ["m: 5 calls (5 from the recording), 0 + 0 tokens; 1 invalid answer"]
    assert not (tmp_path / "none").exists()  # a recording needs no cache, and no disk to write to

    again = Cache(None)
    again.add(recording.read(file))
    recording.write(again.rows(), tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == file.read_bytes()


def test_a_call_missing_in_the_recording(tmp_path: Path, wording: Wording) -> None:
    file = write(tmp_path, call("a"))
    with pytest.raises(KbError) as caught:
        asked(Calls([Replay("m", file)], Cache(None)), "x" * 2000)
    message = caught.value.message
    assert f"of m in {file} for: " + '{ "query": "storm", "candidate": "xxx' in message
    assert message.endswith("xxx...")
    assert len(message) < 700 + len(str(file))
    message = caught.value.hint
    wording(message, replace={str(tmp_path): "DIR"})


def test_the_cache_does_not_stand_in_for_a_recording(tmp_path: Path, wording: Wording) -> None:
    """A run that replays here replays anywhere."""
    file = write(tmp_path, call("a"))
    request = Calls([Replay("m", file)], Cache(None)).prompt("rerank").request({"query": "storm", "candidate": "a"})
    cache = Cache(None)
    cache.put(request.key("m"), "m", request, Reply('{"score": 1}'))
    with pytest.raises(KbError) as caught:
        asked(Calls([Replay("m", file)], cache), "a")
    message = str(caught.value)
    wording(message, replace={str(tmp_path): "DIR"})


# -- models by name ---------------------------------------------------------------------------------------------------


def test_models_by_name(tmp_path: Path) -> None:
    file = write(tmp_path, call("a", "n"), call("b", "m"), call("c", "n"))
    assert [model.name for model in open_models([f"replay:{file}"])] == ["n", "m"]
    assert [model.name for model in open_models([f"m@replay:{file}"])] == ["m"]
    found = open_models(["@cf/meta/llama@https://example.org/v1", "qwen3:4b@http://localhost:11434/v1"])
    assert [str(model) for model in found] == [
        "@cf/meta/llama at https://example.org/v1",
        "qwen3:4b at http://localhost:11434/v1",
    ]
    assert open_models(["none"]) == open_models([]) == []


@pytest.mark.parametrize(
    ("names", "facts"),
    [
        (
            ["gpt-4o-mini"],
            ["'gpt-4o-mini'", "11434", "replay:calls"],
        ),
        (["http://localhost/v1"], ["'http://localhost/v1'"]),
        (["m@localhost:11434"], ["'m@localhost:11434'"]),
        (["none", "none"], ["'none'"]),
        (
            ["m@http://a/v1", "m@http://b/v1"],
            ["'m'"],
        ),
        (["m@http://"], ["'http://'", "11434"]),
        (
            ["m@http://me:pw@host/v1"],
            ["KBKIT_API_KEY"],
        ),
    ],
)
def test_names_that_are_none(names: list[str], facts: list[str], wording: Wording) -> None:
    with pytest.raises(KbError) as caught:
        open_models(names)
    message = str(caught.value)
    assert [fact for fact in facts if fact not in message] == []
    wording(message)


def test_a_model_that_the_recording_lacks(tmp_path: Path, wording: Wording) -> None:
    file = write(tmp_path, call("a", "gpt"))
    with pytest.raises(UnknownNameError) as caught:
        open_models([f"gtp@replay:{file}"])
    message = str(caught.value)
    assert [fact for fact in ["'gtp'", "'gpt'"] if fact not in message] == []
    wording(message, replace={str(tmp_path): "DIR"})


def test_of_two_replies_to_one_call_the_first_counts(tmp_path: Path) -> None:
    """In a replay as in an import."""
    request = ModelRequest((Message("user", "q"),))
    calls = [Recorded(request.key("m"), "m", request, Reply(text)) for text in ("first", "second")]
    recording.write(calls, tmp_path / "calls.jsonl")
    assert Replay("m", tmp_path / "calls.jsonl").complete(request).text == "first"
    cache = Cache(None)
    assert cache.add(recording.read(tmp_path / "calls.jsonl")) == (1, 1)
    assert cache.get(request.key("m")) == Reply("first")


@pytest.mark.parametrize("usage", [1 << 40, 1 << 53])
def test_numbers_of_tokens_that_cannot_be(tmp_path: Path, usage: int, wording: Wording) -> None:
    request = ModelRequest((Message("user", "q"),))
    recording.write([Recorded(request.key("m"), "m", request, Reply("x", Usage(usage, 1)))], tmp_path / "c.jsonl")
    with pytest.raises(BadInputError) as caught:
        list(recording.read(tmp_path / "c.jsonl"))
    message = str(caught.value)
    wording(message, replace={str(tmp_path): "DIR"})


def test_half_characters_in_a_schema(tmp_path: Path, wording: Wording) -> None:
    request = ModelRequest((Message("user", "q"),), {"a": "\ud800"})
    reply = {"text": "x", "input": 1, "output": 1, "cut": False}
    line = {"key": request.key("m"), "model": "m", "request": request.content(), "reply": reply}
    (tmp_path / "c.jsonl").write_text(json.dumps(line) + "\n")
    with pytest.raises(BadInputError) as caught:
        list(recording.read(tmp_path / "c.jsonl"))
    message = str(caught.value)
    wording(message, replace={str(tmp_path): "DIR"})


def test_a_folder_is_no_recording_and_a_link_stays_one(tmp_path: Path, wording: Wording) -> None:
    with pytest.raises(KbError) as caught:
        recording.write([], tmp_path)
    message = str(caught.value)
    wording(message, replace={str(tmp_path): "DIR"})
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "real").write_text("old")
    recording.write([], tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == ""
