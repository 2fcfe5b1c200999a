"""The shipped model, word by word: the same vectors as the library's, whatever is embedded beside them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbkit import assets
from kbkit.stores import embedders as embed

WORDS = ["river", "don't", "Straße,", "naïve", "日本語", "a\tb", "x-1.5", ""]
TEXTS = st.lists(
    st.one_of(
        st.text(max_size=40),
        st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join),
    ),
    max_size=5,
)


@pytest.fixture(scope="module")
def shipped() -> embed.StaticEmbedder:
    model = embed.load()
    assert isinstance(model, embed.StaticEmbedder)
    return model


@pytest.fixture(scope="module")
def library() -> embed.StaticEmbedder:
    """The same model by its folder, which goes through the library's own way."""
    model = embed.load(f"model2vec:{assets.model(embed.STATIC)}")
    assert isinstance(model, embed.StaticEmbedder)
    return model


@given(texts=TEXTS)
def test_vectors_are_those_of_the_library(
    shipped: embed.StaticEmbedder, library: embed.StaticEmbedder, texts: list[str]
) -> None:
    found = shipped.embed(texts)
    assert found.shape == (len(texts), shipped.dimension)
    if texts:
        assert np.allclose(found, library.embed(texts), atol=1e-5)


def test_a_text_has_one_vector_whatever_stands_beside_it(shipped: embed.StaticEmbedder) -> None:
    text = "the long river flows past seven old towns into the sea"
    alone = shipped.embed([text])[0]
    others = [f"word{number} river {number} towns" for number in range(500)]
    assert np.array_equal(shipped.embed([*others, text, *others])[500], alone)


def test_the_whole_of_a_long_text_counts(shipped: embed.StaticEmbedder, library: embed.StaticEmbedder) -> None:
    long = " ".join(["salt"] * 2000 + ["mountain"] * 2000)
    both = shipped.embed(["salt", "mountain"])
    expected = embed.unit(library._model.encode(["salt mountain"]))[0]
    assert np.allclose(shipped.embed([long])[0], expected, atol=1e-4)
    assert shipped.embed([long])[0] @ both[1] > 0.5


def test_a_long_word_is_not_truncated(shipped: embed.StaticEmbedder) -> None:
    """A text without spaces is one word; the tokenizer's own limit is 512 pieces."""
    first, second = "山川草木" * 150, "魚鳥花月" * 150
    both = shipped._words._rows([first, second, first + second])
    vectors = shipped._words._vectors[both]
    assert np.allclose(vectors[0] + vectors[1], vectors[2], rtol=1e-3, atol=1e-3)


def test_words_are_forgotten_when_they_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed, "_MAX_CACHE", 5_000)
    words = embed.CachedWords(embed.WordPieces(assets.model(embed.STATIC)))
    before = words.embed(["deep lake"])
    for number in range(40):
        words.embed([f"w{number}a w{number}b"])
    assert len(words._positions) < 40
    assert np.array_equal(words.embed(["deep lake"]), before)
    assert words.embed([]).shape == (0, before.shape[1])
