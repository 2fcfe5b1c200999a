"""Misspelled words of a question: words that no dictionary has, one edit away from a word that the KB has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from string import ascii_lowercase

from kbkit.answers.attribute_values import ColumnValues
from kbkit.english.question_words import (
    COMPARATIVES,
    FUNCTION_WORDS,
    GREETINGS,
    MONEY,
    MONTHS,
    NEGATIONS,
    NOBODY,
    NUMBERS,
    PERSON_WORDS,
    PLAIN_WORDS,
    SCALES,
    SUPERLATIVES,
    TOTALS,
    is_negation,
)
from kbkit.english.thesaurus import related_words
from kbkit.english.words import PREPOSITIONS, lemmas_of
from kbkit.questions.lexicon import indexed_stem, label_words, stem
from kbkit.questions.mentions import Mention
from kbkit.questions.question import Question
from kbkit.stores import Stores
from kbkit.stores.folding import words
from kbkit.stores.node_values import text_attributes

_LEAST = 5
"""Letters of a word from which it may be misspelled: shorter ones are close to too many others."""
_MAX_WORDS = 50_000
"""Limit on the words of values that are known."""
_OPERATORS = frozenset((*SUPERLATIVES, *COMPARATIVES, *TOTALS, *MONTHS, "between", "without", "number", "which"))
_CLOSED = frozenset(
    (
        *(FUNCTION_WORDS | PLAIN_WORDS | GREETINGS | NEGATIONS | NOBODY | PERSON_WORDS | PREPOSITIONS | _OPERATORS),
        *(*MONEY, *NUMBERS, *SCALES, "eleven", "twelve", "thirteen", "fifteen", "twenty", "thirty", "fifty", "hundred"),
        *("whether", "while", "because", "although", "though", "during"),
        *("anything", "everything", "whatever", "whoever"),
        *("twice", "thrice", "himself", "herself", "itself", "themselves", "myself", "yours", "theirs", "neither"),
    )
)
"""Words that the dictionary lacks, as they have no inflections."""


class Spelling:
    """The words that a question about one KB may contain: those of labels, values and operators."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        schema = stores.schema
        labels = [relation.label or relation.name for relation in schema.relations]
        for node_type in schema.primary_types:
            labels += [node_type.name, *(a.label or a.name for a in node_type.attributes)]
        self._known = {form for label in labels for word in label_words(label) for form in _numbers(word)}
        self._known |= _OPERATORS | {"address", "addresses", "people"}
        self._known.update(islice(self._of_values(), _MAX_WORDS))

    @staticmethod
    def of(stores: Stores) -> Spelling:
        """Return the words of an open KB, the same object each time."""
        return stores.shared(Spelling)

    def _of_values(self) -> Iterator[str]:
        texts = (
            text
            for node_type, attribute in text_attributes(self._stores.schema)
            for text in ColumnValues.of(self._stores).distinct(node_type, attribute)
        )
        return (word for text in texts for word in words(text).split())

    def corrected(self, question: Question, mentions: Iterable[Mention]) -> dict[str, str]:
        """Return the right spelling of each misspelled word outside the names that a question mentions."""
        named = {at for mention in mentions for at in mention.tokens}
        found: dict[str, str] = {}
        for at, token in enumerate(question.tokens):
            word = token.word
            is_name = at > 0 and question.text[token.start].isupper() and not question.text.isupper()
            if at in named or is_name or len(word) < _LEAST - 1 or not (word.isalpha() and word.isascii()):
                continue
            if len(word) < _LEAST:
                is_unknown = self._is_unknown(word) and not is_negation(word, "t")
                close = {*_edited(word)} & _CLOSED if is_unknown else set()
                close = {"which"} if at == 0 and "which" in close else close  # wich customers
                found |= {word: min(close)} if len(close) == 1 else {}  # stil open
            elif self._is_unknown(word):
                close = {other for other in _edited(word) if other in self._known}
                if len({stem(other) for other in close}) == 1:
                    found[word] = min(close)
        return found

    def is_label(self, mention: Mention) -> bool:
        """Return whether what may be a misspelled name is one of the words of the KB: genre, which is no *genie*."""
        return mention.how == "fuzzy" and all(word in self._known for word in words(mention.text).split())

    def _is_unknown(self, word: str) -> bool:
        if word in self._known or word in _CLOSED:
            return False
        if not self._stores.has("text") or self._stores.text.frequency(indexed_stem(word)):
            return False
        return not lemmas_of(word) and not related_words(word).places


def _numbers(word: str) -> tuple[str, ...]:
    """Return a word with its plural."""
    return word, f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"


def _edited(word: str) -> Iterator[str]:
    """Yield the words at edit distance 1 with the same first letter: other, missing, further and swapped letters."""
    for at in range(1, len(word) + 1):
        before, after = word[:at], word[at:]
        yield before + after[1:]
        if len(after) > 1:
            yield before + after[1] + after[0] + after[2:]
        for letter in ascii_lowercase:
            yield before + letter + after
            yield before + letter + after[1:]
