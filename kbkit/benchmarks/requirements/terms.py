"""The terms of a sentence that a query can ask for: common nouns, names, items of lists, and topics of titles.

Words alone decide, by a dictionary, articles and function words. What is not surely a noun is left out.
"""

from __future__ import annotations

import calendar
import itertools
import re
from collections.abc import Iterator, Sequence
from functools import cache

from kbkit.english.frames import frame_file
from kbkit.english.question_words import FUNCTION_WORDS
from kbkit.english.stems import words_of
from kbkit.english.words import PREPOSITIONS, is_common, is_nominal, lemmas_of, may_be_person, quoted, with_article
from kbkit.stores.text_query import STOP_WORDS

_MAX_NAME = 4
_PAIR = 2
_MIN_LETTERS = 4
_BREAK = re.compile(r"[()\[\]{}<>\"“”«»|`*=]+|[,;:.!?/]+(?:\s|$)|\s[-–—]+\s|\n")
_SEPARATOR = re.compile(r"[;,|\n]+|\s[-–—]+\s")
"""What separates the items of a list: no full stop, as in *u.s. soldier*."""
_MAX_ITEM = 5
"""Words of an item: more are a sentence."""
_PRONOUNS = frozenset(("he", "it", "she", "there", "these", "they", "this"))
_WORD = re.compile(r"[^\W_](?:[\w'’.-]*\w)?")
_LETTERS = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_PEOPLES = re.compile(r".+(?:ian|ean|ese|ish|ist)|Arab|Czech|Dutch|French|German|Greek|Mexican|Roman|Swiss|Thai|Turk")
"""Words for what belongs to a people or a country: *French* is no thing to mention."""
_DATES = frozenset((*calendar.day_name, *calendar.month_name))
_PARTICLES = words_of(
    """
    al da de del della der di do du el la le of van von
    """
)
"""Words inside names."""
_ADVERBS = frozenset(("away", "down", "off", "out", "over", "up"))
"""Words that make one noun with a verb before them."""
_LIGHT = frozenset(("cause", "do", "get", "give", "have", "keep", "make", "pay", "raise", "take"))
"""Verbs that make an idiom with a noun after them."""
_ONE, _THE = frozenset(("a", "an")), "the"
_OWNERS = frozenset(("the", "his", "her", "its", "their", "my", "our", "your", "each", "every"))
_POSSESSIVES = _OWNERS - {"the", "each", "every"}
_PARTICIPLES = ("ing", "ed")
_JOINTS = words_of("although beyond besides despite during however unlike upon versus via whereas while")
EMPTY = STOP_WORDS | _JOINTS | {"this", "that"} | FUNCTION_WORDS | PREPOSITIONS | _ONE | _OWNERS
"""Words that are no terms."""
_ABSTRACT = re.compile(r"(?:[st]ion|ment|[ae]nc[ey]|ity|ness|ship|hood|dom|ism|acy|ure)$")
"""Endings of nouns that mean no thing."""
_NUMERALS = words_of("one two three four five six seven eight nine ten eleven twelve twenty hundred thousand")
_LACKS_ARTICLE = re.compile(r"[^sui]s$")
"""Names in the plural have an article: *the Alps*."""
_MASS_ENDING = re.compile(r"(?:ness|ity|ism|[ae]nce|ology|ics|ship|hood|dom|ing)$")


@cache
def _listed(name: str) -> frozenset[str]:
    """Return a list of nouns of ``frames/topics.toml``, which explains it."""
    return words_of(frame_file("topics")[name])


def items(sentence: str) -> Iterator[tuple[int, int, str]]:
    """Yield the start and the end of each item of a list, and the item as a query says it."""
    position = 0
    for stop in [*(m.start() for m in _SEPARATOR.finditer(sentence)), len(sentence)]:
        words = [(m.start(), m.end()) for m in _WORD.finditer(sentence, position, stop)]
        position = stop
        if words and len(words) <= _MAX_ITEM and sentence[slice(*words[0])].casefold() not in _PRONOUNS:
            end = words[-1][1]
            end += sentence[words[-1][0] : end + 1].count(".") > 1 and sentence[end : end + 1] == "."  # washington d.c.
            text = sentence[words[0][0] : end]
            if sum(map(str.isalpha, text)) >= _MIN_LETTERS:
                yield words[0][0], end, quoted(text)


def topics(title: str) -> Iterator[tuple[int, int, str]]:
    """Yield the start and the end of the one or two words that end each run of content words in a title."""
    position = 0
    for stop in [*(m.start() for m in _BREAK.finditer(title)), len(title)]:
        run: list[tuple[int, int]] = []
        for start, end in [*((m.start(), m.end()) for m in _WORD.finditer(title, position, stop)), (stop, stop)]:
            if start < end and title[start:end].casefold() not in EMPTY:
                run.append((start, end))
                continue
            words = [title[slice(*one)] for one in run[-2:]]
            if words and _is_topic(words[-1]) and not _is_vague(words[-1].casefold()):
                first = 0 if len(words) == 2 and _is_modifier(words[0]) else len(words) - 1
                said = " ".join(word.lower() if is_common(word) else word for word in words[first:])
                yield run[-len(words) + first][0], run[-1][1], said
            run = []
        position = stop


def _is_topic(word: str) -> bool:
    return is_nominal(word) and sum(map(str.isalpha, word)) >= _MIN_LETTERS


def _is_modifier(word: str) -> bool:
    """Return whether a word of a title may modify the noun after it: a noun or an adjective that is not inflected."""
    lemmas = lemmas_of(word.casefold())
    return not lemmas or any(word.casefold() in lemmas.get(kind, ()) for kind in ("NOUN", "ADJ"))


def terms(sentence: str) -> Iterator[tuple[int, int, str]]:
    """Yield the start and the end of each name and each common noun of a sentence, and how a query says it."""
    position = 0
    for stop in [*(m.start() for m in _BREAK.finditer(sentence)), len(sentence)]:
        spans = [(m.start(), m.end()) for m in _WORD.finditer(sentence, position, stop)]
        words = [sentence[start:end] for start, end in spans]
        at = 0
        while at < len(words):
            last = _name_end(words, at, is_first=position == at == 0)
            if last > at:
                text = sentence[spans[at][0] : spans[last - 1][1]]
                described = at - 1 if at > 1 and is_adjective(words[at - 1]) else at  # the snowy Greater Caucasus
                article = f"{_THE} " if at and words[described - 1].casefold() == _THE else ""
                if article or not _LACKS_ARTICLE.search(text):
                    yield spans[at][0], spans[last - 1][1], article + text
                at = last
                continue
            first = _noun_start(words, at)
            said = _said(words, first, at) if first <= at else ""
            if said:
                yield spans[first][0], spans[at][1], said
            at += 1
        position = stop


def _name_end(words: Sequence[str], at: int, *, is_first: bool) -> int:
    """Return the end of the name that starts at a word, or the word itself if none does.

    The first word of a sentence has a capital without being a name.
    """
    end = at
    while end < len(words) and words[end][:1].isupper() and _LETTERS.fullmatch(words[end]):
        end += 1
    is_name = 0 < end - at <= _MAX_NAME and words[at].casefold() not in EMPTY
    if not is_name or (is_first and is_common(words[at])) or len(words[end - 1]) == 1:
        return at
    if end - at == 1 and words[at].isupper() and (not at or words[at - 1].casefold() != _THE):  # an NSAID, NSAIDs
        return at
    if end - at == 1 and (len(words[at]) < _MIN_LETTERS or is_common(words[at])):
        return at
    if end < len(words) and words[end] not in EMPTY:  # Andean peaks
        return at
    if words[end : end + 1] == ["and"] and _ends_list(words[end + 1 : end + 1 + _MAX_NAME]):
        return at  # the Byzantine and Ottoman Empires
    is_part = (end < len(words) and words[end] in _PARTICLES) or (
        at > 1 and words[at - 1].casefold() in _PARTICLES and words[at - 2][:1].isupper()
    )
    is_other = end - at == 1 and bool(_PEOPLES.fullmatch(words[at]) or words[at] in _DATES)
    return at if is_part or is_other else end


def _ends_list(words: Sequence[str]) -> bool:
    """Return whether words end with the plural that two names share: *Ottoman Empires*."""
    name = list(itertools.takewhile(lambda word: word[:1].isupper(), words))
    return len(name) > 1 and name[-1].endswith("s")


def _noun_start(words: Sequence[str], at: int) -> int:
    """Return where the noun that ends at a word starts, with a noun before it; after the word if it is no noun.

    A word that may be something else, such as *plays*, counts as a noun after an article.
    """
    none = at + 1
    after = words[at + 1] if at + 1 < len(words) else ""
    # A possessive without its apostrophe: the kingdoms only hope, the dukes charming son.
    may_lead = after in _ADVERBS and _may_be_verb(words[at])  # a cover up
    may_own = words[at].endswith("s") and ("ADJ" in lemmas_of(after) or after.endswith(_PARTICIPLES))
    if (
        not _is_noun(words[at])
        or may_own
        or may_lead
        or (after and _may_continue(after))
        or _is_modifier_of_next(words, at)
    ):
        return none
    kinds, before = set(lemmas_of(words[at])), words[at - 1] if at else ""
    is_compound = before in lemmas_of(before).get("NOUN", ()) and set(lemmas_of(before)) == {"NOUN"}
    if is_compound and may_be_person(before):
        return none  # his friend agent K
    first = at - 1 if is_compound and _is_noun(before) else at
    around = [word.casefold() for word in words[max(0, first - 2) : first]]
    is_alone = first == at and not _is_bare(words[at]) and _may_precede(before.lower() if at == 1 else before)
    if _is_owned(words, first) or _in_fixed_phrase(around, words[at]) or (first == at and not is_alone):
        return none
    if first == at and after == "of" and words[at + 2 : at + 3] and words[at + 2][:1].islower():
        return none  # the mouth of a river
    if kinds == {"NOUN"}:
        return first
    # Not: the same orchestra fall in love.
    is_marked = first == at and _has_article(around, _ONE | _OWNERS) and not words[at].endswith("s")  # a gangster tries
    return first if is_marked and kinds == {"NOUN", "VERB"} and not words[at].endswith("ing") else none


def _is_modifier_of_next(words: Sequence[str], at: int) -> bool:
    """Return whether a noun modifies a later one: *a heroin stuffed doll*, *a rock and ice face*."""
    following = [word.casefold() for word in words[at + 1 : at + 4]] + [""] * 3
    is_stuffed = following[0].endswith(_PARTICIPLES) and _may_be_verb(following[0]) and _may_be_noun(following[1])
    is_joined = following[0] in ("and", "or") and _may_be_noun(following[1]) and _may_be_noun(following[2])
    return is_stuffed or is_joined


def _may_be_verb(word: str) -> bool:
    return bool(lemmas_of(word).get("VERB"))


def _may_be_noun(word: str) -> bool:
    return bool(word) and word not in EMPTY and "NOUN" in lemmas_of(word) and not is_adjective(word)


def _in_fixed_phrase(before: Sequence[str], noun: str) -> bool:
    """Return whether a noun with an article is part of an idiom: *on a lark*, *at a loss*, *take a stand*."""
    if len(before) < _PAIR or before[-1] not in (*_ONE, _THE):
        return False
    if not _LIGHT.isdisjoint(lemmas_of(before[-2]).get("VERB", ())):
        return True  # take a stand
    return before[-2] in PREPOSITIONS and not _listed("fixed").isdisjoint((noun, *lemmas_of(noun).get("NOUN", ())))


def _is_owned(words: Sequence[str], first: int) -> bool:
    """Return whether a noun follows a possessive: *put their spin on it*, *claim his credit*."""
    owner = first - 1 - (first > 1 and is_adjective(words[first - 1]))
    return owner >= 0 and words[owner].casefold() in _POSSESSIVES


def _has_article(before: Sequence[str], articles: frozenset[str]) -> bool:
    """Return whether one of some articles is the last word, or the last but one with an adjective after it."""
    if not before:
        return False
    kinds = lemmas_of(before[-1])
    is_described = "ADJ" in kinds and "NOUN" not in kinds
    return before[-1] in articles or (before[0] in articles and is_described)


def _is_noun(word: str) -> bool:
    if len(word) < _MIN_LETTERS or not word.islower() or not word.isalpha() or word in EMPTY:
        return False
    return bool(lemmas_of(word).get("NOUN")) and not _is_vague(word)


def _is_vague(word: str) -> bool:
    return not _listed("vague").isdisjoint((word, *lemmas_of(word).get("NOUN", ())))


def _is_bare(word: str) -> bool:
    """Return whether a noun says too little without another noun before it: abstract ones, and general ones."""
    known = (word, *lemmas_of(word).get("NOUN", ()))
    if not _listed("told").isdisjoint(known):
        return False
    return not _listed("alone").isdisjoint(known) or any(map(_ABSTRACT.search, known))


def _may_precede(word: str) -> bool:
    """Return whether a word before a noun leaves it a noun of its own, not the end of a name: *the Marx brothers*."""
    if word[:1].isupper():
        return word.casefold() in EMPTY or bool(_PEOPLES.fullmatch(word))
    if word in EMPTY or word in _NUMERALS or word in _listed("plain"):
        return True
    lemmas = lemmas_of(word)
    if "VERB" in lemmas and word in lemmas.get("NOUN", ()):
        return False  # loan sharks: the noun may be longer
    if "-" in word or is_adjective(word) or (word.endswith(_PARTICIPLES) and "VERB" in lemmas_of(word)):
        return False  # a greasy spoon, modern-day gladiators, a haunted house
    return not word.isalpha() or is_common(word)


def is_adjective(word: str) -> bool:
    """Return whether a word is an adjective, and not a function word or a name."""
    return word.islower() and "ADJ" in lemmas_of(word) and word not in EMPTY


def stands_alone(before: str, after: str) -> bool:
    """Return whether a common noun between two words ("" for none) is no part of a name or a longer noun.

    *Reunion Island* mentions no reunion, *Marx Brothers* no brothers, a *college professor* no college, and a *greasy
    spoon* no spoon.
    """
    return not (after and _may_continue(after)) and _may_precede(before)


def _may_continue(word: str) -> bool:
    """Return whether a word may belong to the noun before it: a noun or a name; a hyphen joins them too."""
    if not word[:1].islower():
        return True
    lemmas = lemmas_of(word)
    return ("NOUN" in lemmas or not lemmas) and word.casefold() not in EMPTY


def _said(words: Sequence[str], first: int, last: int) -> str:
    """Return how a query says a noun: with *a*, in the plural, or bare if it is not counted; "" if unknown."""
    text, noun = " ".join(words[first : last + 1]), words[last]
    lemmas = lemmas_of(noun)["NOUN"]
    if noun not in lemmas or (noun.endswith("s") and not noun.endswith("ss") and len(lemmas) > 1):
        return text
    before = [word.casefold() for word in words[max(0, first - 2) : first]]
    is_mass = noun in _listed("mass") or bool(_MASS_ENDING.search(noun))
    # After *the* one word may be for the only thing of its kind: the countryside.
    owners = _OWNERS if last > first else _OWNERS - {_THE}
    if _has_article(before, _ONE) or (_has_article(before, owners) and not is_mass):
        return with_article(text)
    return text if is_mass and before[-1:] and before[-1] in PREPOSITIONS else ""
