"""Names and texts for :mod:`kbkit.ingestion.generate`, a column at a time, from ``generate_words.toml``."""

from __future__ import annotations

import math
import string
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Ints = NDArray[np.int64]

_TOPICS, _SENTENCES = 64, 256  # topics of texts, and sentences of each
_VOCABULARY, _OWN = 3_000, 150  # words of texts, and how many of them a topic prefers
_SPREAD = 0.5  # the standard deviation of the logarithm of a text's length


@cache
def _word_lists() -> dict[str, list[str]]:
    """Return the lists of ``generate_words.toml`` and derived ones; capitalized lists have capitalized names."""
    read = tomllib.loads(Path(__file__).with_name("generate_words.toml").read_text(encoding="utf-8"))
    lists = {name: [word.replace("_", " ") for word in words.split()] for name, words in read.items()}
    lists["syllable"] = [a + b for a in "bcdfglmnprstvxz" for b in "aeiou"]
    lists["letter"] = list(string.ascii_uppercase)
    lists["number"] = [str(number) for number in range(1, 41)]
    lists |= {name.capitalize(): [w[:1].upper() + w[1:] for w in words] for name, words in lists.items()}
    return lists


def compose(pattern: str, index: Ints, offset: int) -> Any:
    """Return the names with numbers ``index`` of a pattern: one word from each of its lists.

    Different numbers give different names: a step coprime with the number of combinations spreads the indexes over all
    of them, and the digits choose the words. When all combinations are used, a numeral is added. ``offset`` is the
    start.
    """
    lists = _word_lists()
    parts = [(literal, lists[name] if name else []) for literal, name, _, _ in string.Formatter().parse(pattern)]
    total = math.prod(len(words) for _, words in parts if words)
    step = int(total * 0.618) | 1
    while math.gcd(step, total) > 1:
        step += 2
    rest, pieces = (index % total * step + offset) % total, []
    for literal, words in parts:
        pieces += [pa.scalar(literal)] if literal else []
        if words:
            rest, digit = np.divmod(rest, len(words))
            pieces.append(pa.array(words).take(pa.array(digit)))
    names = pc.binary_join_element_wise(*pieces, "")
    again = index // total
    if not again.any():
        return names
    return pc.if_else(pa.array(again > 0), pc.binary_join_element_wise(names, strings(again + 1), " "), names)


class Prose:
    """Texts of sentences that are generated once: most sentences of a text are from its topic, the rest from any."""

    def __init__(self, random: np.random.Generator) -> None:
        lists = _word_lists()
        known = [*lists["adjective"], *lists["noun"], *lists["method"]]
        made = compose("{syllable}{syllable}{ending}", np.arange(_VOCABULARY - len(known)), 0).to_pylist()
        words = [
            *random.permutation(np.array(known)).tolist(),
            *made,
            *lists["function"],
        ]  # known words are frequent
        count = _TOPICS * _SENTENCES
        lengths = 2 * random.integers(3, 9, size=count) + 1
        offsets = np.append(0, np.cumsum(lengths))
        size = int(offsets[-1])
        topic = np.repeat(np.arange(count) // _SENTENCES, lengths)
        # Each topic prefers a range of the shuffled vocabulary; that of the first topic wraps around.
        preferred = random.permutation(_VOCABULARY)[topic * _VOCABULARY // _TOPICS - _zipf(random, size, _OWN)]
        chosen = np.where(random.random(size) < 0.5, preferred, _zipf(random, size, _VOCABULARY))
        second = (np.arange(size) - np.repeat(offsets[:-1], lengths)) % 2 == 1
        second &= random.random(size) < 0.8
        chosen = np.where(second, _VOCABULARY + _zipf(random, size, len(lists["function"])), chosen)
        sentences = pc.binary_join(_lists(offsets, pa.array(words).take(pa.array(chosen))), " ")
        self.sentences = pc.binary_join_element_wise(pc.utf8_capitalize(sentences), ".", "")
        self.mean = size / count

    def write(self, random: np.random.Generator, names: Any, words: int) -> Any:
        """Return a text for each name, which begins with the name; lengths are log-normal with the mean ``words``."""
        count = len(names)
        predicates = compose("{verb} {adjective} {noun}s.", random.integers(1 << 14, size=count), 0)
        openings = pc.binary_join_element_wise(names, predicates, " ")
        mean = (words - count_words(openings) / count) / self.mean
        exact = mean * random.lognormal(-(_SPREAD**2) / 2, _SPREAD, count)
        lengths = np.maximum(1, np.floor(exact + random.random(count))).astype(
            np.int64
        )  # randomized rounding preserves the mean
        offsets = np.append(0, np.cumsum(lengths))
        size = int(offsets[-1])
        chosen = np.repeat(random.integers(_TOPICS, size=count) * _SENTENCES, lengths)
        chosen += random.integers(_SENTENCES, size=size)
        strays = random.random(size) < 0.2
        chosen[strays] = random.integers(len(self.sentences), size=int(strays.sum()))
        bodies = pc.binary_join(_lists(offsets, self.sentences.take(pa.array(chosen))), " ")
        return pc.binary_join_element_wise(openings, bodies, " ")


def strings(numbers: Ints) -> Any:
    """Convert integers to strings."""
    return pc.cast(pa.array(numbers), pa.string())


def count_words(texts: Any) -> int:
    """Count the words of all texts, split at spaces like the tokens of a KB."""
    return len(texts) + int(pc.sum(pc.count_substring(texts, " ")).as_py())


def _zipf(random: np.random.Generator, size: int, count: int) -> Ints:
    """Draw ``size`` of the ranks 0 to ``count`` - 1 with weights of about 1 / (rank + 3)."""
    drawn = 3 * ((3 + count) / 3) ** random.random(size)
    return np.clip((drawn - 3).astype(np.int64), 0, count - 1)


def _lists(offsets: Ints, values: Any) -> Any:
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)
