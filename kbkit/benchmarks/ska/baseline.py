"""The baseline: no language model. BM25 over the units, and the question asked of a KB of these units only.

It knows the question, the header of the table, and the content of the units, sorted, with the types of the nodes of
triples and the nodes of passages. It knows neither the ids of the units nor their origin, queries, expressions or
answers.
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from kbkit.benchmarks.ska.instances import PASSAGE, ROW, TRIPLE, KnowledgeUnit
from kbkit.benchmarks.ska.run import BASELINE, Asked, UnitsPrediction
from kbkit.benchmarks.ska.small_kb import BareUnit, SmallKb, key_column, small_kb
from kbkit.english.question_words import FUNCTION_WORDS
from kbkit.errors import KbError
from kbkit.llm import threads
from kbkit.measures.lists import normalize
from kbkit.questions.ask import AskResult
from kbkit.questions.lexicon import stem
from kbkit.stores.folding import words

K1, B = 1.2, 0.75
TRUSTED = 0.2
"""Confidence from which the answers of a reading count."""
COVERED = 0.5
"""Fraction of the question's content words, by weight, that the best unit must have for an answer by lookup."""
_TITLES = 3
"""Number of titles that are tried in the place of words in quotation marks."""
MAX_VALUES = 50
"""More answers than this are no answer."""


_WORKERS = 2


class UnitsBaseline:
    """Answers from the units alone, without a model; two instances at a time."""

    name = BASELINE

    def __init__(self) -> None:
        self.settings: dict[str, Any] = {}

    def answer(self, asked: Sequence[Asked]) -> list[UnitsPrediction | None]:
        """See :class:`kbkit.benchmarks.ska.run.System`. Records with the same units have the same answer."""
        keys = [(instance.id, frozenset(record.units)) for record, instance in asked]
        once = {key: (instance, record.units) for key, (record, instance) in zip(keys, asked, strict=True)}

        def work(key: tuple[str, frozenset[str]]) -> UnitsPrediction:
            instance, units = once[key]
            return answer(instance.question, instance.header, facts(instance.chosen(units)), instance.title)

        predictions = dict(zip(once, threads.each(work, list(once), _WORKERS), strict=True))
        return [predictions[key] for key in keys]


def facts(units: Sequence[KnowledgeUnit]) -> list[BareUnit]:
    """Return units as the baseline may see them, in an order without information."""
    shown = []
    for unit in units:
        ends = [unit.content[0], unit.content[-1]]  # names, where a source names no nodes
        if unit.kind == TRIPLE:
            ends = [unit.source[0], unit.source[-1]] if len(unit.source) == 3 else ends
        elif unit.kind == PASSAGE:
            ends = unit.source[:1]
        shown.append(BareUnit(unit.kind, tuple(unit.content), () if unit.kind == ROW else tuple(ends)))
    return sorted(shown, key=lambda fact: (fact.kind, fact.content, fact.nodes))


def answer(question: str, header: Sequence[str], units: Sequence[BareUnit], title: str = "") -> UnitsPrediction:
    """Answer a question from units.

    A confident reading of the question counts. If there are passages, words in quotation marks must be in those of the
    answers; a question that names something by such words is asked again with its name. Otherwise the best unit by
    BM25 answers by rule, or none does.
    """
    phrases = _phrases(question, units)
    with small_kb(units, header, title) as small:
        if small is None:
            return UnitsPrediction([], reading="no units")
        prediction = _with_phrases(small, question, phrases, units) if phrases else _read(small, question)
    if prediction is not None:
        return prediction
    ranking = UnitRanking(question, units)
    if ranking.coverage < COVERED:
        return UnitsPrediction([], reading=f"rejected: the best unit has {ranking.coverage:.0%} of the words")
    looked_up = _from_row(question, header, units, ranking) if header else _from_triple(question, ranking)
    return UnitsPrediction(looked_up, reading="lookup")


# -- questions to the KB ----------------------------------------------------------------------------------------------

_QUOTED = re.compile(r"""(?<!\w)(?:'([^'\n]+)'|"([^"\n]+)"|[‘“]([^’”\n]+)[’”])(?!\w)""")


def _phrases(question: str, units: Sequence[BareUnit]) -> list[str]:
    """Return the texts in quotation marks that passages may have: none without passages, and no names of nodes."""
    if not any(unit.kind == PASSAGE for unit in units):
        return []
    names = {words(name) for unit in units if unit.kind != PASSAGE for name in unit.content}
    quoted = (next(filter(None, match.groups())) for match in _QUOTED.finditer(question))
    return [phrase for phrase in quoted if words(phrase) not in names]


def _replaced(question: str, phrases: Sequence[str], name: str = "") -> str:
    """Return the question with a name, or nothing, in the place of the phrases and their quotation marks."""

    def one(match: re.Match[str]) -> str:
        return name if next(filter(None, match.groups())) in phrases else match[0]

    return _QUOTED.sub(one, question)


def _read(small: SmallKb, question: str) -> UnitsPrediction | None:
    """Return the answers of a confident reading, which may be none; None without such a reading."""
    asked = _asked(small, question)
    if asked is None or asked.confidence < TRUSTED:
        return None
    values = _values(asked)
    return UnitsPrediction(values if len(values) <= MAX_VALUES else [], reading=f"ask: {asked.expression}")


def _asked(small: SmallKb, question: str) -> AskResult | None:
    try:
        return small.kb.ask(question)
    except KbError:
        return None


def _values(asked: AskResult) -> list[str]:
    """Return the values or the names of the answers, without duplicates."""
    value = asked.value
    if value is None:
        return list(dict.fromkeys(map(str, asked.nodes()["name"].to_list())))
    listed = value if isinstance(value, list | tuple | set) else [value]
    return list(dict.fromkeys(_text(one) for one in listed))


def _text(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _with_phrases(
    small: SmallKb, question: str, phrases: Sequence[str], units: Sequence[BareUnit]
) -> UnitsPrediction | None:
    """Return the answers to the question without its phrases that have them in their texts.

    If none of the answers has a text, the phrases are replaced by the titles of the passages that have them. Without
    such passages the question is rejected.
    """
    wanted = [words(phrase) for phrase in phrases]
    titles = [u.content[0] for u in units if u.kind == PASSAGE and _has(u.content[1:], wanted)]
    if not titles:
        return UnitsPrediction([], reading="rejected: no passage has the words in quotation marks")
    has_texts = False
    for expression, answers in _readings(small, _asked(small, _replaced(question, phrases))):
        nodes = list(answers.select("type", "key", "name").iter_rows())
        texts = [small.texts.get((type_, key), []) for type_, key, _ in nodes]
        has_texts = has_texts or any(texts)
        matching = [node[-1] for node, own in zip(nodes, texts, strict=True) if _has(own, wanted)]
        if matching:
            return UnitsPrediction(list(dict.fromkeys(matching)), reading=f"ask: {expression}, with the words in texts")
    # The answer can be a cell, while its row has the text.
    if has_texts and not any(unit.kind == ROW for unit in units):
        return UnitsPrediction([], reading="rejected: no answer has the words in quotation marks in its texts")
    results = [_read(small, _replaced(question, phrases, title)) for title in sorted(set(titles))[:_TITLES]]
    named = [result for result in results if result is not None and result.predicted]
    if not named:
        return None
    every = [value for result in named for value in result.predicted or ()]
    return UnitsPrediction(list(dict.fromkeys(every)), reading=f"{named[0].reading}, with titles")


def _readings(small: SmallKb, asked: AskResult | None) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield the expressions of a question, best first, that have nodes as answers, with these."""
    if asked is None or asked.answers is None:
        return
    if asked.value is None:
        yield asked.expression, asked.nodes()
    for expression in asked.alternatives["expression"].to_list():
        answers = small.kb.answers(expression)
        if answers.value is None:
            yield expression, answers.nodes()


def _has(texts: Sequence[str], wanted: Sequence[str]) -> bool:
    """Return whether the texts together have all phrases, as whole words."""
    folded = [f" {words(text)} " for text in texts]
    return all(any(f" {phrase} " in text for text in folded) for phrase in wanted)


# -- BM25 -------------------------------------------------------------------------------------------------------------


class UnitRanking:
    """The units ranked by BM25 for a question.

    ``best`` is the best unit (None if none shares a word), ``coverage`` the fraction of the question's content words,
    weighted by their rarity, that the unit has.
    """

    def __init__(self, question: str, units: Sequence[BareUnit]) -> None:
        self.terms = set(_terms(question))
        bags = [Counter(_terms(" ".join(unit.content))) for unit in units]
        mean = sum(bag.total() for bag in bags) / max(len(bags), 1) or 1.0
        frequency = Counter(term for bag in bags for term in bag.keys() & self.terms)
        self.weights = {
            term: math.log(1 + (len(bags) - frequency[term] + 0.5) / (frequency[term] + 0.5)) for term in self.terms
        }
        self.scores = [self._score(bag, mean) for bag in bags]
        top = max(range(len(bags)), key=self.scores.__getitem__, default=-1)
        has_one = top >= 0 and self.scores[top] > 0
        self.best = units[top] if has_one else None
        self.ranked = [units[at] for at in sorted(range(len(bags)), key=lambda at: -self.scores[at])]
        total = sum(self.weights.values())
        shared = sum(self.weights[term] for term in bags[top].keys() & self.terms) if has_one else 0.0
        self.coverage = shared / total if total else 0.0

    def _score(self, bag: Counter[str], mean: float) -> float:
        norm = K1 * (1 - B + B * bag.total() / mean)
        return sum(self.weights[term] * bag[term] * (K1 + 1) / (bag[term] + norm) for term in bag.keys() & self.terms)


@functools.lru_cache(1 << 16)
def _stem(word: str) -> str:
    return stem(word)


def _terms(text: str) -> list[str]:
    return [_stem(word) for word in words(text).split() if word not in FUNCTION_WORDS]


# -- lookup by rule ---------------------------------------------------------------------------------------------------


def _from_row(question: str, header: Sequence[str], units: Sequence[BareUnit], ranking: UnitRanking) -> list[str]:
    """Return the cell of the best row in the column that the question names, else in the column that names the rows.

    A column whose cell is in the question is a condition and not the answer. If the best unit is a passage, the row
    that has its title counts.
    """
    rows = [unit.content for unit in units if unit.kind == ROW]
    row = next((unit.content for unit in ranking.ranked if unit.kind == ROW), None)
    if ranking.best is not None and ranking.best.kind == PASSAGE:
        title = normalize(ranking.best.content[0])
        row = next((cells for cells in rows if title in map(normalize, cells)), row)
    if row is None:
        return []
    asked = set(_terms(question))
    named = [len(asked & set(_terms(name))) / max(len(_terms(name)), 1) for name in header]
    in_question = [bool(_terms(cell)) and set(_terms(cell)) <= asked for cell in row]
    open_ = [at for at in range(len(header)) if row[at] and not in_question[at]]
    if not open_:
        return []
    main = key_column(header, rows)
    return [row[max(open_, key=lambda at: (named[at], at == main, -at))]]


def _from_triple(question: str, ranking: UnitRanking) -> list[str]:
    """Return the other ends of the triples like the best one: those with the same relation and the same named end."""
    best = next((unit for unit in ranking.ranked if unit.kind == TRIPLE), None)
    if best is None:
        return []
    head, relation, tail = best.content
    asked = set(_terms(question))

    def share(name: str) -> float:
        terms = set(_terms(name))
        return len(terms & asked) / len(terms) if terms else 0.0

    given, other = (0, 2) if share(head) >= share(tail) else (2, 0)
    same = (
        unit.content[other]
        for unit in ranking.ranked
        if unit.kind == TRIPLE and unit.content[1] == relation and unit.content[given] == best.content[given]
    )
    names = list(dict.fromkeys(same))
    return names if len(names) <= MAX_VALUES else []
