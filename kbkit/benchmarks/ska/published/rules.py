"""The annotation rules of SKA-Bench (section 3.2.2 of the paper) as checks of questions over tables.

1. Wrong answers are dropped: an answer must be in the data.
2. All answers must follow from the positive units.
3. No arithmetic over whole tables: counts, sums, averages, superlatives, comparisons.
4. No question or table that depends on the order of the rows.
5. In the forms with texts, both sources are needed.

The checks read words, so they are strict: a question that only looks like one of these is dropped too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kbkit.benchmarks.evidence import leaks
from kbkit.benchmarks.ska.published.words import WORDS, words

NO_ANSWER = "the data do not contain the answer"
ARITHMETIC = "arithmetic over the table"
ORDER = "the order of the rows matters"
LEAK = "the question names its answer"
ONE_SOURCE = "one source is enough"

_COUNTING = re.compile(r"\b(how (many|much|often|long|far|old|tall|big|large)|number of|amount of|count of|times)\b")
_MEASURED = frozenset(("how long", "how old", "how tall", "how much", "how far", "how big", "how large"))
_YES_NO = re.compile(r"(is|are|was|were|do|does|did|has|have|had|can|could|will|would) ")


def words_of_question(rest: Sequence[str], text: str, answer_header: Sequence[str] = ()) -> str:
    """Return whether the words that a question has beside the cells it names ask for arithmetic or for an order, or "".

    ``rest`` are lower-case and without the cells' words; ``text`` is the question. ``answer_header`` are the words of
    the column of the answer: "how many laps" is no count where the column is called Laps.
    """
    rest = [word for word in rest if word not in answer_header]
    if _YES_NO.match(text.casefold()):
        return ARITHMETIC
    counted = _COUNTING.search(text.casefold())
    if counted and counted[1] not in _MEASURED and not _counts_column(text, counted.end(), answer_header):
        return ARITHMETIC
    if any(word in WORDS.order for word in rest):
        return ORDER
    if any(word in WORDS.arithmetic for word in rest):
        return ARITHMETIC
    return ""


def _counts_column(text: str, end: int, header: Sequence[str]) -> bool:
    """Return whether what is counted is the name of a column: the next words are in the header, but for an ending."""
    after = re.findall(r"\w+", text.casefold()[end:])[:3]
    return any(word == other or word.rstrip("s") == other.rstrip("s") for word in after for other in header)


def leaked(question: str, answers: Sequence[str]) -> str:
    """Return why a question gives its answer away, or ""."""
    return LEAK if leaks(question, answers) else ""


def both_sources(question: str, answers: Sequence[str], cells: Sequence[str], texts: Sequence[str]) -> str:
    """Return why one source is enough to answer a question over a table and its passages, or "".

    The answer must be missing from one source, and the question must name something that only the other has.
    """
    in_cells = all(leaks(" | ".join(cells), [answer]) for answer in answers)
    in_texts = all(any(leaks(text, [answer]) for text in texts) for answer in answers)
    if in_cells and in_texts:
        return ONE_SOURCE
    shown = {word for text in (texts if in_cells else cells) for word in words(text)}
    return "" if shown & set(words(question)) else ONE_SOURCE
