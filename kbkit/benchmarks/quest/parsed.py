"""Answers from the KB: parse the query into an expression and evaluate it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from kbkit.answers.parse import parse
from kbkit.benchmarks.quest.corpus import Corpus
from kbkit.benchmarks.quest.dataset import Example
from kbkit.benchmarks.quest.paraphrase import Parser
from kbkit.errors import KbError
from kbkit.kb import KnowledgeBase
from kbkit.stores.arrays import is_in

if TYPE_CHECKING:
    from kbkit.llm.calls import Calls

NAME = "kbkit-parsed"
PROMPT = "quest_parse"
PHRASES = 20
"""Number of category phrases that a model can choose from."""

_ALGEBRA = re.compile(r"[A-Z\s()&|-]+")


class ParsedQueries(NamedTuple):
    """Expressions by query id; ``by_model`` are the ids of those by a model, ``unread`` the ids without one."""

    expressions: dict[str, str]
    by_model: frozenset[str]
    unread: list[str]


def parse_queries(examples: Sequence[Example], phrases: Mapping[str, str], calls: Calls | None = None) -> ParsedQueries:
    """Parse queries by the grammar of kbkit's paraphrases, and the remaining ones by a model, if there is one.

    ``phrases`` are the known categories, from phrase to expression.
    """
    grammar = Parser(phrases)
    expressions = {example.id: grammar.parse(example.text) for example in examples}
    known = {query: expression for query, expression in expressions.items() if expression is not None}
    rest = [example for example in examples if example.id not in known]
    by_model = _ask(rest, phrases, calls) if calls is not None and rest and phrases else {}
    unread = [example.id for example in rest if example.id not in by_model]
    return ParsedQueries({**known, **by_model}, frozenset(by_model), unread)


def _ask(examples: Sequence[Example], phrases: Mapping[str, str], calls: Calls) -> dict[str, str]:
    options = closest([example.text for example in examples], list(phrases), PHRASES)
    inputs = [{"query": example.text, "phrases": near} for example, near in zip(examples, options, strict=True)]
    answers = calls.ask(PROMPT, inputs)
    read = {example.id: compose(answer.value, phrases) for example, answer in zip(examples, answers, strict=True)}
    return {query: expression for query, expression in read.items() if expression is not None}


def compose(answer: Any, phrases: Mapping[str, str]) -> str | None:
    """Return the expression of a model's answer, or None if it is invalid.

    Example: ``{"expression": "A - B", "categories": {"A": phrase, "B": phrase}}``. Only letters of known phrases, ``& |
    -`` and parentheses are valid.
    """
    if not isinstance(answer, dict) or not isinstance(answer.get("categories"), dict):
        return None
    text, named = answer.get("expression"), answer["categories"]
    if not isinstance(text, str) or not _ALGEBRA.fullmatch(text) or re.search("[A-Z]{2}", text):
        return None
    letters = set(re.findall("[A-Z]", text))
    if not letters or not all(isinstance(named.get(letter), str) and named[letter] in phrases for letter in letters):
        return None
    try:
        parse(re.sub("[A-Z]", "`a`", text))
    except KbError:  # invalid syntax
        return None
    return re.sub("[A-Z]", lambda match: f"({phrases[named[match[0]]]})", text)


def closest(queries: Sequence[str], phrases: Sequence[str], limit: int) -> list[list[str]]:
    """Return for each query the ``limit`` phrases that share the rarest words with it, best first.

    The score is the sum of log(1 + phrases / phrases with the word) over common words, divided by the square root of
    the phrase's own sum.
    """
    from scipy.sparse import csr_array

    split = [[_words(text) for text in texts] for texts in (phrases, queries)]
    number = {word: i for i, word in enumerate(dict.fromkeys(word for words in split[0] for word in words))}
    shape = max(1, len(number))

    def sparse(texts: list[list[str]]) -> Any:
        known = [[number[word] for word in words if word in number] for words in texts]
        starts = np.cumsum([0, *map(len, known)])
        columns = np.array([column for row in known for column in row], np.int64)
        return csr_array((np.ones(len(columns)), columns, starts), shape=(len(texts), shape))

    of_phrases, wanted = sparse(split[0]), sparse(split[1])
    weights = np.log1p(len(phrases) / np.maximum(1, of_phrases.sum(axis=0)))
    lengths = np.sqrt(np.maximum(of_phrases @ weights, 1e-12))
    nearest = []
    for start in range(0, len(queries), 500):  # a batch of dense scores
        scores = ((wanted[start : start + 500] * weights) @ of_phrases.T).toarray() / lengths
        order = np.argsort(-scores, axis=1, kind="stable")[:, :limit]
        nearest += [[phrases[i] for i in row] for row in order]
    return nearest


def _words(text: str) -> list[str]:
    """Return the distinct words; plurals are roughly reduced to singulars."""
    return list(dict.fromkeys(word.removesuffix("s") or word for word in re.findall(r"\w+", text.lower())))


def evaluate(kb: KnowledgeBase, corpus: Corpus, examples: Sequence[Example], reading: ParsedQueries) -> pl.DataFrame:
    """Return the answers of the expressions as a run: query, node (title), score.

    Raises :class:`KbError` that names the query of an invalid expression.
    """
    searched = {domain: corpus.within(domain) for domain in {example.domain for example in examples}}
    parts = [pl.DataFrame(schema={"query": pl.String, "id": pl.Int32, "score": pl.Float64})]
    for example in examples:
        if example.id not in reading.expressions:
            continue
        try:
            ids = kb.answers(reading.expressions[example.id]).ids
        except KbError as error:
            raise KbError(f"Query {example.id!r}: {error.message}", *error.hints) from None
        ids = ids[is_in(ids, searched[example.domain])]
        scores = -np.arange(1.0, len(ids) + 1)
        parts.append(pl.DataFrame({"query": [example.id] * len(ids), "id": ids, "score": scores}))
    return corpus.named(pl.concat(parts))
