"""A model behind an endpoint: what is sent, and each way in which a server can fail."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from kbkit.errors import KbError, QueryTimeoutError
from kbkit.llm.cache import Cache
from kbkit.llm.calls import Calls
from kbkit.llm.client import Message, ModelRequest, Reply, Usage
from kbkit.llm.openai_compatible import OpenAIModel
from kbkit.llm.recording import Replay
from tests.llm_server import (
    Seen,
    Sent,
    Server,
    Step,
    completion,
    drips,
    drips_headers,
    hang,
    raw,
    reply,
    shape,
    status,
    truncated,
)
from tests.loops import each
from tests.wording import Wording

pytest.importorskip("openai")
KEY = "sk-very-secret-key"
ASK = ModelRequest((Message("system", "Be brief."), Message("user", '{"q": "é"}')))
SCHEMA = {"type": "object", "properties": {"score": {"type": "number"}}}
WITH_SCHEMA = ModelRequest(ASK.messages, SCHEMA)


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("KBKIT_API_KEY", KEY)


def failure(*script: Step, retries: int = 0, timeout: float = 20, request: ModelRequest = ASK) -> tuple[KbError, int]:
    """The error of a call, and how many requests it took; the key is never in it."""
    with Server(*script) as server, pytest.raises(KbError) as caught:
        OpenAIModel("m", server.url, retries=retries, timeout=timeout).complete(request)
    said = str(caught.value)
    assert KEY not in said
    assert "\n" not in said
    assert f"m at {server.url}" in said
    return caught.value, len(server.requests)


# -- what is sent -----------------------------------------------------------------------------------------------------


@pytest.mark.core
def test_a_call_as_the_server_sees_it() -> None:
    with Server(reply(" Hello, é. ", input=7, output=3)) as server:
        assert OpenAIModel("m", server.url).complete(ASK) == Reply(" Hello, é. ", Usage(7, 3))
    [seen] = server.requests
    assert seen.path == "/v1/chat/completions"
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert seen.body == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": '{"q": "é"}'}],
        "temperature": 0.0,
        "max_tokens": 1024,
    }


def test_samples_and_schemas_as_the_server_sees_them() -> None:
    request = ModelRequest(ASK.messages, SCHEMA, 0.7, 0.9, 50, 3)
    with Server(reply("{}")) as server:
        OpenAIModel("m", server.url).complete(request)
    [seen] = server.requests
    rest = {name: value for name, value in seen.body.items() if name not in ("model", "messages")}
    form = {"name": "answer", "schema": SCHEMA, "strict": False}
    assert rest == {
        "temperature": 0.7,
        "top_p": 0.9,
        "max_tokens": 50,
        "seed": 3,
        "response_format": {"type": "json_schema", "json_schema": form},
    }


def test_a_server_without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KBKIT_API_KEY")
    with Server(reply("yes")) as server:
        assert OpenAIModel("m", server.url).complete(ASK).text == "yes"
    assert server.requests[0].headers["authorization"] == "Bearer none"


@pytest.mark.parametrize("key", ["kéy", "two\nlines"])
def test_invalid_keys(monkeypatch: pytest.MonkeyPatch, key: str, wording: Wording) -> None:
    monkeypatch.setenv("KBKIT_API_KEY", key)
    with pytest.raises(KbError) as caught:
        OpenAIModel("m", "http://localhost/v1")
    assert key not in str(caught.value)
    wording(str(caught.value))


@pytest.mark.parametrize("url", ["ftp://x/v1", "http://", "http://a b/v1", "localhost:11434"])
def test_invalid_addresses(url: str, wording: Wording) -> None:
    with pytest.raises(KbError) as caught:
        OpenAIModel("m", url)
    message = str(caught.value)
    assert [fact for fact in ["11434"] if fact not in message] == []
    wording(message)


def test_the_library_is_imported_with_the_first_call() -> None:
    code = (
        "import sys, kbkit.llm.models as m; m.open_models(['x@http://localhost:1/v1']);"
        "print([n for n in ('openai', 'httpx2', 'httpx', 'jsonschema') if n in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_without_the_library(monkeypatch: pytest.MonkeyPatch, wording: Wording) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)  # as Python marks a module that cannot be imported
    with pytest.raises(KbError) as caught:
        OpenAIModel("m", "http://127.0.0.1:9/v1").complete(ASK)
    message = str(caught.value)
    assert [fact for fact in ["[openai]"] if fact not in message] == []
    wording(message)


# -- what comes back --------------------------------------------------------------------------------------------------


def _without_usage() -> dict[str, object]:
    return {name: value for name, value in completion("x").items() if name != "usage"}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (completion("x", finish="length"), Reply("x", Usage(10, 5), True)),
        (completion(None), Reply("", Usage(10, 5))),
        (completion(None, refusal="I would rather not."), Reply("I would rather not.", Usage(10, 5))),
        (completion("\ud800!"), Reply("?!", Usage(10, 5))),
        (_without_usage(), Reply("x")),
        ({**completion("x"), "usage": {"prompt_tokens": -1, "completion_tokens": "9"}}, Reply("x")),
        ({**completion("x"), "usage": [1]}, Reply("x")),
        ({"choices": [{"message": {"content": "x"}}]}, Reply("x")),
    ],
)
def test_replies(answer: object, expected: Reply) -> None:
    with Server(shape(answer)) as server:
        assert OpenAIModel("m", server.url).complete(ASK) == expected


@pytest.mark.parametrize("headers", [{}, {"content-type": "text/plain"}, {"content-type": "text/event-stream"}])
def test_the_content_type_does_not_matter(headers: dict[str, str]) -> None:
    with Server(raw(json.dumps(completion("x")).encode(), headers=headers)) as server:
        assert OpenAIModel("m", server.url).complete(ASK).text == "x"


def test_a_compressed_answer() -> None:
    body = gzip.compress(json.dumps(completion("x")).encode())
    with Server(raw(body, headers={"content-encoding": "gzip"})) as server:
        assert OpenAIModel("m", server.url).complete(ASK).text == "x"


# -- faults that pass -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [408, 409, 429, 500, 502, 503, 504])
def test_transient_errors_are_tried_again(code: int) -> None:
    with Server(status(code), status(code), reply("done")) as server:
        assert OpenAIModel("m", server.url, retries=2).complete(ASK).text == "done"
    assert len(server.requests) == 3


def test_a_truncated_answer_is_asked_for_again() -> None:
    with Server(truncated("half"), reply("whole")) as server:
        assert OpenAIModel("m", server.url, retries=1).complete(ASK).text == "whole"


def test_a_server_that_hangs_once() -> None:
    with Server(hang, reply("awake")) as server:
        assert OpenAIModel("m", server.url, retries=1, timeout=0.3).complete(ASK).text == "awake"


@pytest.mark.parametrize(
    ("said", "sent", "lost"),
    [
        ("'response_format' of type json_schema is not supported", WITH_SCHEMA, "response_format"),
        ("Unsupported value: 'temperature' does not support 0 with this model.", ASK, "temperature"),
        ("Unknown parameter: 'seed'", ModelRequest(ASK.messages, temperature=1.0), "seed"),
    ],
)
@pytest.mark.parametrize("code", [400, 422])
def test_a_parameter_that_the_server_does_not_know_is_left_out_from_then_on(
    code: int, said: str, sent: ModelRequest, lost: str
) -> None:
    with Server(status(code, said), otherwise=reply("x")) as server:
        model = OpenAIModel("m", server.url)
        assert model.complete(sent).text == model.complete(sent).text == "x"
    assert [lost in seen.body for seen in server.requests] == [True, False, False]


def test_models_that_call_the_limit_otherwise() -> None:
    said = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    with Server(status(400, said), reply("x")) as server:
        OpenAIModel("m", server.url).complete(ASK)
    names = [[name for name in seen.body if name.startswith("max")] for seen in server.requests]
    assert names == [["max_tokens"], ["max_completion_tokens"]]


# -- faults that stay -------------------------------------------------------------------------------------------------


def test_a_server_that_keeps_failing(wording: Wording) -> None:
    error, count = failure(*[status(429, "slow down")] * 3, retries=2)
    assert error.message.endswith("answered 429 Too Many Requests: slow down (3 attempts)")
    wording(error.hint)
    assert count == 3


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (401, "401 Unauthorized: no"),
        (403, "403 Forbidden: no"),
        (404, "404 Not Found: no"),
        (400, "400 Bad Request: no"),
    ],
)
def test_permanent_errors_are_not_retried(code: int, said: str, wording: Wording) -> None:
    error, count = failure(status(code), retries=3)
    assert error.message.endswith(f" answered {said}")
    assert count == 1
    wording(error.hint)


def test_an_invalid_parameter_is_not_omitted() -> None:
    error, count = failure(status(400, "temperature must be at most 1"))
    assert error.message.endswith("answered 400 Bad Request: temperature must be at most 1")
    assert count == 1


def test_a_server_that_repeats_the_key() -> None:
    error, _ = failure(status(401, f"wrong key {KEY}, try another"))
    assert error.message.endswith("answered 401 Unauthorized: wrong key ..., try another")


def test_a_page_in_the_place_of_an_error() -> None:
    error, _ = failure(lambda *_: Sent(500, b"<html>\n" + b"oops " * 1000, {"content-type": "text/html"}))
    assert " answered 500 Internal Server Error: <html> oops oops" in error.message
    assert len(error.message) < 300


def test_redirects_are_not_followed() -> None:
    with Server() as other:
        error, _ = failure(status(307, "elsewhere", location=f"{other.url}/chat/completions"))
    assert other.requests == []
    assert f"{other.url}/chat/completions" in error.hint


def test_a_server_that_hangs() -> None:
    error, count = failure(hang, timeout=0.2)
    assert isinstance(error, QueryTimeoutError)
    assert error.message.endswith("did not respond within 0.2 s")
    assert count == 1


@pytest.mark.parametrize("part", [drips, drips_headers])
def test_a_server_that_drips(part: Step) -> None:
    """No pause is long, but the whole answer is late."""
    error, count = failure(part, timeout=0.3, retries=3)
    assert isinstance(error, QueryTimeoutError)
    assert error.message.endswith("did not respond within 0.3 s")
    assert count == 1


def test_a_truncated_answer() -> None:
    error, _ = failure(truncated("half"))
    assert error.message.startswith("Cannot reach m at ")
    assert "running" in error.hint


def test_no_server(wording: Wording) -> None:
    with Server() as server:
        url = server.url
    with pytest.raises(KbError) as caught:
        OpenAIModel("m", url, retries=0).complete(ASK)
    wording(str(caught.value), replace={url: "URL"})


@pytest.mark.parametrize("body", [b"", b"{", b"<html>", b'{"choices": [', b"[" * 100_000, b"\xff\xfe"])
def test_answers_that_are_not_json(body: bytes) -> None:
    error, count = failure(raw(body))
    assert error.message.startswith("Invalid JSON in the answer of m at ")
    assert "/v1" in error.hint
    assert count == 1


@pytest.mark.parametrize(
    "content",
    [{}, [], None, "x", 1, {"choices": []}, {"choices": None}, {"choices": [None]}, {"choices": [{}]},
     {"choices": [{"message": {"content": 5}}]}, {"choices": {"0": 1}}],
)  # fmt: skip
def test_answers_without_choices(content: object) -> None:
    error, _ = failure(shape(content))
    assert error.message.startswith("No choices in the answer of m at ")


def test_an_error_in_the_place_of_choices() -> None:
    error, _ = failure(shape({"error": {"message": f"model not loaded, {KEY}"}}))
    assert error.message.endswith(': {"message": "model not loaded, ..."}')


@pytest.mark.parametrize("packed", [False, True])
def test_an_answer_without_end(packed: bool) -> None:
    body = json.dumps(completion("x" * (1 << 24))).encode()
    sent = raw(gzip.compress(body), headers={"content-encoding": "gzip"}) if packed else raw(body)
    error, count = failure(sent, retries=3)
    assert "16,777,216 bytes" in error.message
    assert count == 1


def test_a_redirect_that_repeats_the_key() -> None:
    error, _ = failure(status(302, Location=f"http://elsewhere/?k={KEY}"))
    assert "http://elsewhere/?k=..." in error.hint
    assert failure(status(304))[0].hint == ""


def test_a_reply_is_not_changed() -> None:
    """It may be code or data that happens to contain the key; only messages are masked."""
    with Server(reply(f"your key is {KEY}")) as server:
        assert OpenAIModel("m", server.url).complete(ASK).text == f"your key is {KEY}"


def test_a_short_key_is_part_of_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KBKIT_API_KEY", "key")
    with Server(status(401, "no key in the keyring"), reply("a key, keys")) as server:
        model = OpenAIModel("m", server.url, retries=0)
        with pytest.raises(KbError, match="no key in the keyring"):
            model.complete(ASK)
        assert model.complete(ASK).text == "a key, keys"


def test_only_whole_keys_are_masked() -> None:
    error, _ = failure(status(401, f"no {KEY}; try {KEY[:-1]}9"))
    assert error.message.endswith(f"no ...; try {KEY[:-1]}9")


def test_content_in_parts() -> None:
    parts = [{"type": "text", "text": "one "}, {"type": "image", "url": "x"}, {"type": "text", "text": "two"}]
    answer = completion("")
    answer["choices"][0]["message"]["content"] = parts
    with Server(shape(answer)) as server:
        assert OpenAIModel("m", server.url).complete(ASK).text == "one two"


def test_what_the_environment_says_of_an_account_goes_to_openai_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-private")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-private")
    with Server(reply("x")) as server:
        OpenAIModel("m", server.url).complete(ASK)
    [seen] = server.requests
    assert not any("private" in value for value in each(seen.headers.values()))


@pytest.mark.parametrize("url", ["http://h/v1?api-key=Q", "http://h/v1#x"])
def test_an_address_ends_with_its_path(url: str, wording: Wording) -> None:
    with pytest.raises(KbError) as caught:
        OpenAIModel("m", url)
    assert "Q" not in str(caught.value)
    message = caught.value.hint
    wording(message)


# -- messages longer than the context ---------------------------------------------------------------------------------

NO_ROOM_SAID = [  # llama.cpp, vLLM and OpenAI, Anthropic
    "request (9031 tokens) exceeds the available context size (8192 tokens), try increasing it",
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9031 tokens.",
    "prompt is too long: 9031 tokens > 8192 maximum",
]


@pytest.mark.parametrize("said", NO_ROOM_SAID)
def test_messages_that_exceed_the_context_are_an_invalid_answer(said: str, tmp_path: Path) -> None:
    """The others are answered, nothing is asked twice, and a replay takes the same path."""
    inputs = [{"query": "a", "candidate": text} for text in ("short", "long " * 9, "brief")]

    def server(_: Server, seen: Seen) -> Sent:
        step = status(400, said) if "long" in seen.inputs["candidate"] else reply('{"score": 0.5}')
        return step(_, seen)

    with Server(otherwise=server) as running:
        calls = Calls([OpenAIModel("m", running.url)], Cache(tmp_path / "a.sqlite"), budget=1000)
        answers = calls.ask("rerank", inputs)
        assert len(running.requests) == 3
    assert [answer.value for answer in answers] == [{"score": 0.5}, None, {"score": 0.5}]
    assert answers[1].problem == "the messages are longer than the context of the model"
    assert calls.account.unfit == 1
    recorded = list(calls.cache.rows())
    replay = Calls([Replay("m", Path("r"), recorded)], Cache(None))
    assert replay.ask("rerank", inputs) == answers


def test_seconds_of_an_attempt_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KBKIT_LLM_TIMEOUT", "0.2")
    with Server(hang) as server, pytest.raises(QueryTimeoutError, match=r"within 0\.2 s.*KBKIT_LLM_TIMEOUT"):
        OpenAIModel("m", server.url, retries=0).complete(ASK)
    for wrong in ("0", "soon", "-1", "1e9"):
        monkeypatch.setenv("KBKIT_LLM_TIMEOUT", wrong)
        with pytest.raises(KbError, match="Invalid KBKIT_LLM_TIMEOUT"):
            OpenAIModel("m", "http://127.0.0.1:1/v1")
