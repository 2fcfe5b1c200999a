"""One typo in each of many questions at once: a deleted letter, two swapped neighbours, or a neighbour on the keyboard.

These are the three transformations of TextAttack (Morris et al. 2020) that the paper uses:
``WordSwapRandomCharacterDeletion``, ``WordSwapNeighboringCharacterSwap`` and ``WordSwapQWERTY``. The first letter of a
word is kept, and words of fewer than four letters only change in questions without longer ones.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from kbkit.benchmarks.evidence import padded_words
from kbkit.english.words import lemmas_of

Spans = list[tuple[NDArray[np.int64], NDArray[np.int64]]]
"""Starts and ends of texts, one pair of arrays for each text of a question."""
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_MIN_LETTERS = 4
_END = 0x0A
_ATTEMPTS = 8
"""Draws of a typo until it does not write the answer: *armenian dram* as *armenia dram*."""
OPERATIONS = ("deletion", "swap", "qwerty")


def neighbours() -> dict[str, str]:
    """Return the letters next to each letter on a QWERTY keyboard, in its row and the rows above and below."""
    places = {letter: (x + y / 2, y) for y, row in enumerate(_ROWS) for x, letter in enumerate(row)}
    return {
        letter: "".join(
            other
            for other, (x, y) in places.items()
            if other != letter and abs(x - places[letter][0]) <= 1 and abs(y - places[letter][1]) <= 1
        )
        for letter in places
    }


def _table() -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Return the neighbours of each letter a to z as an array, and their numbers."""
    near = neighbours()
    letters = "abcdefghijklmnopqrstuvwxyz"
    counts = np.array([len(near[letter]) for letter in letters])
    table = np.zeros((26, counts.max()), np.uint32)
    for row, letter in enumerate(letters):
        table[row, : counts[row]] = [ord(other) for other in near[letter]]
    return table, counts


def with_typos(questions: pl.Series, spans: Spans, rng: np.random.Generator) -> pl.Series:
    """Return lower-case questions with one typo each.

    ``spans`` are starts and ends (in characters, per question) of texts that must not change. A question without any
    letter to change is returned as it is.
    """
    if not len(questions):
        return questions
    text = "\n".join(questions.to_list()) + "\n"
    chars = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    ends = np.flatnonzero(chars == _END)
    starts = np.concatenate(([0], ends[:-1] + 1))
    row = np.repeat(np.arange(len(starts)), ends - starts + 1)
    position = np.arange(len(chars)) - starts[row]
    is_letter = (chars >= ord("a")) & (chars <= ord("z"))
    is_word = is_letter | (chars > 127)
    begins = is_word & ~np.concatenate(([False], is_word[:-1]))
    word = np.cumsum(begins)
    length = np.bincount(word[is_word], minlength=word[-1] + 1)[word]
    free = is_letter & ~begins & is_word
    for first, last in spans:
        free &= (position < first[row]) | (position >= last[row])
    longest = np.zeros(len(starts), np.int64)
    np.maximum.at(longest, row[free], length[free])
    free &= length >= np.minimum(longest, _MIN_LETTERS)[row]
    counts = np.bincount(row[free], minlength=len(starts))
    order = np.flatnonzero(free)
    offset = np.cumsum(counts) - counts
    draws = (rng.random(len(starts)) * np.maximum(counts, 1)).astype(np.int64)
    has = counts > 0
    at = order[np.minimum(offset + draws, max(len(order) - 1, 0))] if len(order) else np.zeros(len(starts), np.int64)
    return _edited(questions, chars, at, position, free, has, rng)


def with_safe_typos(
    right: pl.Series, spans: Spans, facts: pl.Series, words: pl.DataFrame, rng: np.random.Generator
) -> pl.Series:
    """Return questions with one typo each that writes neither an answer nor another English word, as *bell* for
    *belle*; one that always would is left as it is.

    ``facts`` has the number of the fact that each question asks for, ``words`` the answers of facts: fact, answer (as
    by :func:`padded_words`).
    """
    typed = with_typos(right, spans, rng)
    for attempt in range(_ATTEMPTS + 1):
        asked = pl.DataFrame({"q": typed, "fact": facts}).with_row_index("row").with_columns(padded_words("q"))
        is_said = pl.col("q").str.contains(pl.col("answer"), literal=True)
        says = asked.join(words, on="fact").filter(is_said)["row"]
        rows = pl.concat([says, _with_other_words(right, typed)]).unique().sort().to_numpy()
        if not len(rows):
            break
        own = [(start[rows], end[rows]) for start, end in spans]
        typed = typed.scatter(rows, right[rows] if attempt == _ATTEMPTS else with_typos(right[rows], own, rng))
    return typed


def _with_other_words(right: pl.Series, typed: pl.Series) -> pl.Series:
    """Return the rows of the typed questions in which the typo makes an English word."""
    pairs = pl.DataFrame({"right": right.str.split(" "), "typed": typed.str.split(" ")}).with_row_index("row")
    changed = pairs.explode("right", "typed").filter(pl.col("right") != pl.col("typed"))
    changed = changed.with_columns(pl.col("typed").str.extract(r"^\PL*(\pL+)"))
    known = [word for word in changed["typed"].unique().to_list() if word and lemmas_of(word)]
    return changed.filter(pl.col("typed").is_in(known))["row"]


def _edited(
    questions: pl.Series, chars: NDArray[np.uint32], at: NDArray[np.int64], position: NDArray[np.int64],
    free: NDArray[np.bool_], has: NDArray[np.bool_], rng: np.random.Generator,
) -> pl.Series:  # fmt: skip
    """Apply one operation at the chosen letter of each question."""
    operation = rng.integers(len(OPERATIONS), size=len(at))
    after = np.minimum(at + 1, len(chars) - 1)
    can_swap = free[after] & (chars[after] != chars[at])
    operation[(operation == 1) & ~can_swap] = 2
    table, counts = _table()
    letter = np.clip(chars[at].astype(np.int64) - ord("a"), 0, 25)
    near = table[letter, (rng.random(len(at)) * counts[letter]).astype(np.int64)]
    new = np.zeros((len(at), 2), np.uint32)
    new[:, 0] = np.where(operation == 1, chars[after], np.where(operation == 2, near, 0))
    new[:, 1] = np.where(operation == 1, chars[at], 0)
    written = pl.Series(new.copy().view("U2").ravel().astype(object), dtype=pl.String)
    size = np.where(operation == 1, 2, 1)
    frame = pl.DataFrame({"q": questions, "at": position[at], "after": position[at] + size, "new": written, "has": has})
    changed = pl.concat_str(
        pl.col("q").str.slice(0, pl.col("at")), pl.col("new"), pl.col("q").str.slice(pl.col("after"))
    )
    return frame.select(pl.when("has").then(changed).otherwise("q").alias("q"))["q"]
