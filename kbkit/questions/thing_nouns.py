"""Nouns for a type that a part of its name or the names of its attributes say: *works*, of artworks; *towers*."""

from __future__ import annotations

from collections.abc import Sequence

from kbkit.english.question_words import (
    ADJECTIVES,
    COMPARATIVES,
    FUNCTION_WORDS,
    INTERROGATIVES,
    NEGATIONS,
    NUMBERS,
    SUPERLATIVES,
)
from kbkit.english.words import is_plural, lemmas_of, may_be_person, may_be_verb, singular
from kbkit.questions.elements import Elements
from kbkit.questions.label_option import LabelOption
from kbkit.questions.lexicon import label_words
from kbkit.questions.question import Question

_COMPOUND, _STANDING = 0.9, 0.5
"""Scores of a type whose name ends with the noun, and of one whose attributes begin with it."""
_LEAST_NOUN, _LEAST_PART, _LEAST_ATTRIBUTES = 4, 3, 2
"""Letters of a noun and of what is before it in a compound, and attributes that a noun begins, at least."""
_EACH = frozenset("all any both each either every".split())  # noqa: SIM905
_SUBJECTS = frozenset("who that it he she they we you i whom to".split())  # noqa: SIM905
"""Words before a verb, and hardly before a noun."""
_BEFORE = FUNCTION_WORDS | INTERROGATIVES | NEGATIONS | _EACH | {*SUPERLATIVES, *COMPARATIVES, *ADJECTIVES, *NUMBERS}
_NAMING = frozenset("name title id key code identifier number no nr".split())  # noqa: SIM905
"""Last words of attributes that tell which thing it is, so that the nodes only have it."""


def is_thing(question: Question, at: int) -> bool:
    """Return whether a word is a plural, or after *each* or a superlative, and no verb by the word before it."""
    word, before = question.tokens[at].word, question.tokens[at - 1].word if at else ""
    is_after_noun = before not in _BEFORE and "NOUN" in (lemmas_of(before) or ["NOUN"])
    is_verb = may_be_verb(word) and at > 0 and (is_after_noun or before in _SUBJECTS)
    return (is_plural(word) or before in _EACH or before in SUPERLATIVES) and not is_verb


def type_with(word: str, labels: Sequence[LabelOption]) -> tuple[LabelOption, ...]:
    """Return the type of several attributes that all begin with a noun: *towers*, with a tower_shape and height.

    None if the noun is for people or one of the attributes is a name, as nodes have such a thing.
    """
    one, names = singular(word), [label_words(option.attribute) for option in labels]
    is_first = all(name[0] == one and len(name) > 1 and name[-1] not in _NAMING for name in names if name)
    is_one = len({option.type for option in labels}) == 1 and len(names) >= _LEAST_ATTRIBUTES and all(names)
    if not is_one or not is_first or may_be_person(one) or "NOUN" not in lemmas_of(one):
        return ()
    return (LabelOption(labels[0].type, "", _STANDING),)


def compound_type(elements: Elements, word: str) -> tuple[LabelOption, ...]:
    """Return the only type whose name is a compound in one word that ends with a noun: *works*, of artworks."""
    one, found = singular(word), []
    if len(one) < _LEAST_NOUN or "NOUN" not in lemmas_of(one):
        return ()
    for number, node_type in enumerate(elements.types):
        name = singular(label_words(node_type.name)[-1])
        first = name.removesuffix(one)
        if first != name and len(first) >= _LEAST_PART and "NOUN" in lemmas_of(first):
            found.append(LabelOption(number, "", _COMPOUND))
    return tuple(found) if len(found) == 1 else ()
