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
from kbkit.llm.calls import Answer, Calls
from kbkit.llm.client import Message, Reply, Request, Usage
from kbkit.llm.models import open_calls, open_models
from kbkit.llm.openai_compatible import OpenAIModel
from kbkit.llm.recording import Recorded
from kbkit.llm.recording import Replay
from tests.llm_server import Server, reply

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
REQUESTS = st.builds(
    Request,
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
    request = Request((Message("system", "Be brief."), Message("user", text)))
    return Recorded(request.key(model), model, request, Reply(answer, Usage(3, 1)))


def write(folder: Path, *calls: Recorded) -> Path:
    file = folder / "calls.jsonl"
    assert recording.write(calls, file) == len(calls)
    return file


# -- the cache --------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(REQUESTS, REPLIES), max_size=6))
def test_the_cache_gives_back_what_it_was_given(pairs: list[tuple[Request, Reply]]) -> None:
    cache, first = Cache(None), {}
    for request, answer in pairs:
        first.setdefault(request.key("m"), Recorded(request.key("m"), "m", request, answer))
        cache.put(request.key("m"), "m", request, answer)
    assert list(cache.rows()) == list(first.values())
    assert cache.find([*first, "other"]) == {key: kept.reply for key, kept in first.items()}
    assert cache.get("other") is None


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
from kbkit.llm.client import Message, Reply, Request
sys.stdin.readline()
cache = Cache(Path(sys.argv[1]))
for number in range(60):
    for name in ("both", sys.argv[2]):
        request = Request((Message("user", f"{name} {number}"),))
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
    assert asked == sorted(f"{name} {number}" for name in ("both", "x", "y", "z") for number in range(60))


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
    ("spoil", "said"),
    [
        (
            lambda file: file.write_bytes(b"no database at all" * 100),
            "{} is damaged: file is not a database; move it away",
        ),
        (_other_table, "{} is damaged: no such column: key; move it away; what it holds is asked for, and paid, again"),
        (_later, "{} was written by a later kbkit (format 9); upgrade kbkit"),
        (
            Path.mkdir,
            "{} cannot be used: unable to open database file; the cache of model calls needs a disk to write to",
        ),
    ],
)
def test_files_that_are_no_caches(tmp_path: Path, spoil: Callable[[Path], Any], said: str) -> None:
    file = tmp_path / "llm.sqlite"
    spoil(file)
    with pytest.raises(KbError) as caught:
        Cache(file).get("x")
    assert str(caught.value).startswith(said.format(file))


def test_a_place_that_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(KbError) as caught:
        Cache(tmp_path / "file" / "llm.sqlite")
    assert str(caught.value).startswith(f"{tmp_path / 'file' / 'llm.sqlite'} cannot be written: ")


# -- recordings -------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(REQUESTS, REPLIES), max_size=4))
def test_a_recording_reads_back_as_it_was_written(tmp_path_factory: Any, pairs: list[tuple[Request, Reply]]) -> None:
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
    ("line", "said"),
    [
        ("{", "is no recorded call"),
        ("[]", "is no recorded call"),
        ("[" * 100_000, "is no recorded call"),
        ("{}", "has no 'key'"),
        (_changed(reply={}), "has no 'cut'"),
        (_changed(reply={"cut": False}), "has no 'text'"),
        (_changed(reply_text=None), "is no recorded call"),
        (_changed(reply_text="\ud800"), "is no recorded call"),
        (_changed(reply_input=-1), "is no recorded call"),
        (_changed(reply_input=1 << 70), "is no recorded call"),
        (_changed(reply_cut=0), "is no recorded call"),
        (_changed(request_messages=[["tool", "x"]]), "is no recorded call"),
        (_changed(request_messages=[["user"]]), "is no recorded call"),
        (_changed(request_schema=[]), "is no recorded call"),
        (_changed(request_temperature="0"), "is no recorded call"),
        (_changed(request_sample=1), ": the key is not that of the call beside it; was the line edited?"),
        (_changed(model="n"), ": the key is not that of the call beside it; was the line edited?"),
    ],
)
def test_lines_that_are_no_calls(tmp_path: Path, line: str, said: str) -> None:
    file = tmp_path / "calls.jsonl"
    file.write_text(f"{recording.line(call('first'))}\n{line}\n", encoding="utf-8")
    with pytest.raises(BadInputError) as caught:
        Replay("m", file)
    assert str(caught.value).startswith(f"{file}:3{said if said[0] == ':' else ' ' + said}")


def test_files_that_are_no_recordings(tmp_path: Path) -> None:
    with pytest.raises(KbError, match=r"missing.jsonl cannot be read: No such file or directory$"):
        open_models([f"replay:{tmp_path / 'missing.jsonl'}"])
    with pytest.raises(KbError, match=r"empty.jsonl holds no calls; kbkit llm export writes such files$"):
        (tmp_path / "empty.jsonl").touch()
        open_models([f"replay:{tmp_path / 'empty.jsonl'}"])
    with pytest.raises(KbError, match=r"cannot be written: "):
        recording.write([call("a")], tmp_path / "missing" / "calls.jsonl")


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


def asked(run: Calls, *names: str) -> list[Answer]:
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
    assert run.account.lines() == ["m: 5 calls (5 from the recording), 0 + 0 tokens; 1 answer did not fit its schema"]
    assert not (tmp_path / "none").exists()  # a recording needs no cache, and no disk to write to

    again = Cache(None)
    again.add(recording.read(file))
    recording.write(again.rows(), tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == file.read_bytes()


def test_a_call_that_the_recording_lacks(tmp_path: Path) -> None:
    file = write(tmp_path, call("a"))
    with pytest.raises(KbError) as caught:
        asked(Calls([Replay("m", file)], Cache(None)), "x" * 2000)
    message = caught.value.message
    assert message.startswith(f'{file} lacks a call of m: {{ "query": "storm", "candidate": "xxx')
    assert message.endswith("xxx...")
    assert len(message) < 700 + len(str(file))
    assert caught.value.hint == "record the run anew, with the same prompts and parameters: kbkit llm export"


def test_the_cache_does_not_stand_in_for_a_recording(tmp_path: Path) -> None:
    """A run that replays here replays anywhere."""
    file = write(tmp_path, call("a"))
    request = Calls([Replay("m", file)], Cache(None)).prompt("rerank").request({"query": "storm", "candidate": "a"})
    cache = Cache(None)
    cache.put(request.key("m"), "m", request, Reply('{"score": 1}'))
    with pytest.raises(KbError, match="lacks a call of m"):
        asked(Calls([Replay("m", file)], cache), "a")


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
    ("names", "said"),
    [
        (
            ["gpt-4o-mini"],
            "'gpt-4o-mini' is no model; e.g. llama3.2@http://localhost:11434/v1, replay:calls.jsonl or none",
        ),
        (["http://localhost/v1"], "'http://localhost/v1' is no model; e.g. "),
        (["m@localhost:11434"], "'m@localhost:11434' is no model; e.g. "),
        (["none", "none"], "'none' stands beside other models; give it alone"),
        (
            ["m@http://a/v1", "m@http://b/v1"],
            "two models are called 'm'; calls are kept by that name: give one of them",
        ),
        (["m@http://"], "'http://' is no address of an endpoint; e.g. llama3.2@http://localhost:11434/v1"),
        (
            ["m@http://me:pw@host/v1"],
            "an address with a name and password in it would be kept in the KB; set KBKIT_API_KEY",
        ),
    ],
)
def test_names_that_are_none(names: list[str], said: str) -> None:
    with pytest.raises(KbError) as caught:
        open_models(names)
    assert str(caught.value).startswith(said)


def test_a_model_that_the_recording_lacks(tmp_path: Path) -> None:
    file = write(tmp_path, call("a", "gpt"))
    with pytest.raises(UnknownNameError) as caught:
        open_models([f"gtp@replay:{file}"])
    assert str(caught.value) == f"unknown model 'gtp' in {file}; did you mean 'gpt'?"


def test_of_two_replies_to_one_call_the_first_counts(tmp_path: Path) -> None:
    """In a replay as in an import."""
    request = Request((Message("user", "q"),))
    calls = [Recorded(request.key("m"), "m", request, Reply(text)) for text in ("first", "second")]
    recording.write(calls, tmp_path / "calls.jsonl")
    assert Replay("m", tmp_path / "calls.jsonl").complete(request).text == "first"
    cache = Cache(None)
    assert cache.add(recording.read(tmp_path / "calls.jsonl")) == (1, 1)
    assert cache.get(request.key("m")) == Reply("first")


@pytest.mark.parametrize("usage", [1 << 40, 1 << 53])
def test_numbers_of_tokens_that_cannot_be(tmp_path: Path, usage: int) -> None:
    request = Request((Message("user", "q"),))
    recording.write([Recorded(request.key("m"), "m", request, Reply("x", Usage(usage, 1)))], tmp_path / "c.jsonl")
    with pytest.raises(BadInputError, match="is no recorded call"):
        list(recording.read(tmp_path / "c.jsonl"))


def test_half_characters_in_a_schema(tmp_path: Path) -> None:
    request = Request((Message("user", "q"),), {"a": "\ud800"})
    reply = {"text": "x", "input": 1, "output": 1, "cut": False}
    line = {"key": request.key("m"), "model": "m", "request": request.content(), "reply": reply}
    (tmp_path / "c.jsonl").write_text(json.dumps(line) + "\n")
    with pytest.raises(BadInputError, match="is no recorded call"):
        list(recording.read(tmp_path / "c.jsonl"))


def test_a_folder_is_no_recording_and_a_link_stays_one(tmp_path: Path) -> None:
    with pytest.raises(KbError, match="is a folder; name a file"):
        recording.write([], tmp_path)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "real").write_text("old")
    recording.write([], tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == ""
