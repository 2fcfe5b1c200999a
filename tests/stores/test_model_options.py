"""Embedders from packages, and options in the names of embedders."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kbkit.errors import KbError, MissingExtraError, UnknownNameError
from kbkit.stores import embedders, minilm, model_options


def test_options_follow_the_name() -> None:
    model, options = model_options.split(
        "org/m?revision=v1&dtype=float16&device=cpu&dimension=64&trust_remote_code=true"
    )
    assert model == "org/m"
    assert model_options.arguments(options) == {
        "revision": "v1",
        "device": "cpu",
        "truncate_dim": 64,
        "model_kwargs": {"torch_dtype": "float16"},
        "trust_remote_code": True,
    }
    assert model_options.split("org/m") == ("org/m", {})
    assert "trust_remote_code" not in model_options.arguments({"trust_remote_code": "false"})


@pytest.mark.parametrize("options", ["", "x=1", "dtype=int3", "dimension=0", "dimension=²", "length=-1", "device="])
def test_invalid_options_are_refused(options: str) -> None:
    with pytest.raises(KbError) as caught:
        model_options.split(f"org/m?{options}")
    assert "\n" not in str(caught.value)


def test_the_code_of_a_strangers_model_does_not_run() -> None:
    record = embedders.ModelRecord("sentence-transformers:m?trust_remote_code=true", 8, None, None)
    with pytest.raises(KbError, match="would run code"):
        embedders.recorded(record)


def test_minilm_without_its_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    minilm._session.cache_clear()
    with pytest.raises(MissingExtraError, match="minilm"):
        embedders.load("minilm")
    with pytest.raises(UnknownNameError):
        embedders.load("minilm:x")


@pytest.fixture
def model() -> Any:
    pytest.importorskip("onnxruntime")
    pytest.importorskip(minilm.PACKAGE)
    minilm._session.cache_clear()
    return embedders.load("minilm")


def test_minilm_puts_similar_sentences_together(model: Any) -> None:
    texts = ["A man is eating food.", "A man is eating a piece of bread.", "The girl is carrying a baby.", ""]
    vectors = model.embed(texts)
    assert vectors.shape == (4, 384) and np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    # The model card of the original gives 0.75 and -0.1 for such sentences.
    assert vectors[0] @ vectors[1] > 0.7 > 0.2 > vectors[0] @ vectors[2]
    assert np.allclose(model.embed(texts[:1])[0], vectors[0], atol=0.02)
    assert model.embed([]).shape == (0, 384)


def test_minilm_refuses_another_file(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    minilm._session.cache_clear()
    monkeypatch.setattr(minilm, "SHA256", "0" * 64)
    with pytest.raises(KbError, match="not the model"):
        embedders.load("minilm")
