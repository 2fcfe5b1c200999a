"""Options of embedders behind an endpoint: long texts, batches, retries, tokens, the cache."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kbkit
from kbkit.errors import KbError, UnknownNameError
from kbkit.stores import embedders as embed
from kbkit.stores.endpoint_embedder import EndpointEmbedder
from kbkit.stores.prefixes import NO_PREFIXES
from tests.examples import examples
from tests.stores.test_embed import Endpoint, answer, no_keys, serve, vectors

__all__ = ["no_keys", "serve"]  # fixtures

WORDS = ["river", "lake", "mountain", "city", "desert", "island", "forest", "valley", "coast", "border"]
"""Each is one token of the shipped tokenizer."""


def refusing(limit: int, status: int, message: str) -> Callable[[dict[str, Any]], Any]:
    """An endpoint that refuses texts of more words than ``limit``."""

    def reply(body: dict[str, Any]) -> Any:
        longest = max(len(text.split()) for text in body["input"])
        if longest <= limit:
            return answer(body)
        error = {"error": {"message": message.format(limit=limit, count=longest), "type": "e"}}
        return (status, json.dumps(error).encode(), {"retry-after-ms": "0"})

    return reply


REFUSALS = [
    (400, "This model's maximum context length is {limit} tokens, however you requested {count} tokens"),  # OpenAI
    (400, "request ({count} tokens) exceeds the available context size ({limit} tokens), try increasing it"),
    (500, "input ({count} tokens) is too large to process. increase the physical batch size (now: {limit})"),
    (413, "`inputs` must have less than {limit} tokens. Given: {count}"),  # text-embeddings-inference
]
"""What servers say; the second and the third line are llama.cpp's."""


@pytest.mark.parametrize(("status", "message"), REFUSALS)
def test_a_text_that_the_endpoint_refuses_is_shortened(
    serve: Callable[..., Endpoint], status: int, message: str
) -> None:
    endpoint = serve(refusing(20, status, message))
    long = " ".join(WORDS * 5)
    found = embed.load(f"openai:m@{endpoint.url}").embed(["lake", long, "river city"])
    accepted = [text for body in endpoint.bodies for text in body["input"] if len(text.split()) <= 20]
    [kept] = [text for text in accepted if len(text.split()) > 2]
    assert long.startswith(kept) and len(kept.split()) >= 6
    np.testing.assert_allclose(found, vectors(["lake", kept, "river city"]), atol=1e-5)
    assert len(endpoint.bodies) <= 12


def test_other_refusals_are_not_tried_again(serve: Callable[..., Endpoint]) -> None:
    endpoint = serve(lambda _: (400, b"unknown model", {}))
    with pytest.raises(KbError, match="unknown model"):
        embed.load(f"openai:m@{endpoint.url}").embed(["a b", "c"])
    assert len(endpoint.bodies) == 1
    endless = serve(lambda _: (400, b"maximum length 0 tokens", {}))
    with pytest.raises(KbError, match="maximum length 0"):
        embed.load(f"openai:m@{endless.url}").embed([" ".join(WORDS * 50)])
    assert len(endless.asked) < 12


@given(st.lists(st.integers(0, 45), min_size=1, max_size=5), st.integers(1, 20))
@examples(8)
def test_texts_in_parts_have_the_mean_of_their_parts(counts: list[int], length: int) -> None:
    """By an oracle that knows where words, each one token, begin."""
    texts = [" ".join((WORDS * 5)[:count]) for count in counts]
    endpoint = Endpoint()
    try:
        model = embed.load(f"openai:m?length={length}&long=mean@{endpoint.url}")
        found = model.embed(texts)
        first = embed.load(f"openai:m?length={length}@{endpoint.url}").embed(texts)
    finally:
        endpoint.close()
    for text, mean, cut in zip(texts, found, first, strict=True):
        words = text.split()
        parts = [words[n : n + length] for n in range(0, len(words), length)]
        expected = [len(part) * vectors([" ".join(part)])[0] * _norm(part) for part in parts]
        if not parts:
            np.testing.assert_array_equal(mean, 0)
            continue
        total = np.sum(expected, axis=0)
        np.testing.assert_allclose(mean, total / np.linalg.norm(total), atol=1e-4)
        np.testing.assert_allclose(cut, vectors([" ".join(parts[0])])[0], atol=1e-4)


def _norm(words: list[str]) -> float:
    """The length of the endpoint's vector, which is the sum of those of the words."""
    from tests.stores.test_embed import vector

    return float(np.linalg.norm(vector(" ".join(words))))


def test_batches_shrink_to_what_the_endpoint_takes(serve: Callable[..., Endpoint]) -> None:
    def reply(body: dict[str, Any]) -> Any:
        if len(body["input"]) > 8:
            return (422, b"batch size 64 > maximum allowed batch size 8", {})
        return answer(body)

    endpoint = serve(reply)
    texts = [f"name{n}" for n in range(80)]
    model = embed.load(f"openai:m@{endpoint.url}")
    np.testing.assert_allclose(model.embed(texts), vectors(texts), atol=1e-5)
    endpoint.inputs()
    model.embed(texts)
    assert [len(batch) for batch in endpoint.inputs()] == [8] * 10  # learned
    own = embed.load(f"openai:m?batch=5&workers=3@{endpoint.url}")
    np.testing.assert_allclose(own.embed(texts), vectors(texts), atol=1e-5)
    assert {len(batch) for batch in endpoint.inputs()} == {5}


def test_busy_servers_are_asked_again(serve: Callable[..., Endpoint], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kbkit.stores.endpoint.PAUSES", (600.0, 600.0))  # the server's pauses come first
    steps = [(429, b"slow down", {"Retry-After-Ms": "1"}), (503, b"loading", {"Retry-After": "0"})]
    endpoint = serve(lambda body: steps.pop(0) if steps else answer(body))
    np.testing.assert_allclose(embed.load(f"openai:m@{endpoint.url}").embed(["a"]), vectors(["a"]), atol=1e-5)
    assert len(endpoint.bodies) == 3
    unable = serve(lambda _: (501, b"This server does not support embeddings", {}))
    with pytest.raises(KbError, match="does not support"):
        embed.load(f"openai:m@{unable.url}").embed(["a"])
    assert len(unable.asked) == 1


def test_dimension_keeps_the_first_numbers(serve: Callable[..., Endpoint]) -> None:
    model = embed.load(f"openai:m?dimension=3@{serve().url}")
    rows = vectors(["a", "b c"])[:, :3]
    np.testing.assert_allclose(model.embed(["a", "b c"]), rows / np.linalg.norm(rows, axis=1, keepdims=True), atol=1e-5)
    assert model.dimension == 3


def test_cached_vectors_are_not_requested_again(serve: Callable[..., Endpoint], tmp_path: Path) -> None:
    failing: list[int] = []
    endpoint = serve(lambda body: (500, b"down", {}) if failing and len(endpoint.bodies) > 1 else answer(body))
    name = f"openai:m?batch=2&cache={tmp_path / 'c' / 'vectors.sqlite'}@{endpoint.url}"
    texts = ["a", "b", "c d", "a"]
    failing.append(1)
    with pytest.raises(KbError, match="500"):
        embed.load(name).embed(texts)
    failing.clear()
    endpoint.inputs()
    np.testing.assert_allclose(embed.load(name).embed(texts), vectors(texts), atol=1e-5)
    assert endpoint.inputs() == [["c d"]]  # those before the failure were kept
    assert np.array_equal(embed.load(name).embed(texts[2:]), embed.load(name).embed(texts)[2:])
    assert endpoint.bodies == []
    (tmp_path / "bad").write_bytes(b"no database" * 100)
    with pytest.raises(KbError, match="as a cache of vectors"):
        embed.load(f"openai:m?cache={tmp_path / 'bad'}@{endpoint.url}").embed(["a"])


def test_a_build_reports_tokens_and_their_cost(here, serve: Callable[..., Endpoint], tmp_path: Path) -> None:
    def reply(body: dict[str, Any]) -> Any:
        count = sum(len(text.split()) for text in body["input"])
        return {**answer(body), "usage": {"prompt_tokens": count, "total_tokens": count}}

    endpoint = serve(reply)
    (tmp_path / "nodes.csv").write_text("key,type,name\na,t,one two\nb,t,three\n", encoding="utf-8")
    (tmp_path / "edges.csv").write_text("head,relation,tail\na,r,b\n", encoding="utf-8")
    name = f"openai:m?price=1000&length=100@{endpoint.url}"
    done = here("ingest", "table", tmp_path, "-o", tmp_path / "kb", "--embedder", name)
    assert done.returncode == 0, done.stderr
    lasting = f"openai:m?length=100@{endpoint.url}"
    # one for the dimension
    assert f"  {lasting}: 4 tokens, 0.0040\n" in done.stderr + done.stdout
    with kbkit.open(tmp_path / "kb") as kb:
        assert kb.manifest.stores["vectors"].settings["embedder"] == lasting
        assert kb.search("three", k=1, mode="dense", embedder=name)["key"].to_list() == ["b"]
        assert [problem for _, problem in kb.check() if problem] == []


def test_names_of_one_model() -> None:
    url = "@http://127.0.0.1:1/v1"
    assert embed.same_model(f"openai:m?length=5&price=2{url}", "openai:m?batch=3&length=5@http://b/v1")
    assert not embed.same_model(f"openai:m?length=5{url}", f"openai:m?length=6{url}")
    assert not embed.same_model(f"openai:m?long=mean{url}", f"openai:m{url}")
    assert embed.load(f"openai:m?workers=2{url}").name == f"openai:m{url}"


@pytest.mark.parametrize("options", ["", "length=0", "long=half", "price=-1", "price=x", "revision=v1", "batch=a"])
def test_invalid_options_of_endpoints(options: str) -> None:
    with pytest.raises(KbError) as caught:
        embed.load(f"openai:m?{options}@http://127.0.0.1:1/v1")
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, UnknownNameError) or re.search(r"Invalid|No options", str(caught.value))


def test_ada_has_a_known_length() -> None:
    model = EndpointEmbedder("openai:text-embedding-ada-002@http://127.0.0.1:1/v1", NO_PREFIXES)
    assert [len(model._pieces([" ".join(["lake"] * count)])[0].text.split()) for count in (10, 9000)] == [10, 8191]
