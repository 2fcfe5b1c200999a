"""English: words, and phrases of types, relations, attributes and sets; the sentences of generated questions.

Whatever turns a name of a schema into words is here. Pages, explanations, questions and all benchmarks use it.
"""

from __future__ import annotations

from kbkit.english.names import is_uncapitalized, named
from kbkit.english.verbs import VerbPhrase, of_noun, verb_phrase
from kbkit.english.words import (
    PREPOSITIONS,
    YEARS,
    inflections,
    is_common,
    is_nominal,
    is_participle,
    is_person,
    is_plural,
    is_verbal,
    lemmas_of,
    listed,
    may_be_person,
    plural,
    quoted,
    singular,
    spoken,
    with_article,
)

__all__ = [
    "PREPOSITIONS", "YEARS", "VerbPhrase", "inflections", "is_common", "is_nominal", "is_participle", "is_person",
    "is_plural", "is_uncapitalized", "is_verbal", "lemmas_of", "listed", "may_be_person", "named", "of_noun", "plural",
    "quoted", "singular", "spoken", "verb_phrase", "with_article",
]  # fmt: skip
