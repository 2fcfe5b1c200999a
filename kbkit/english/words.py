"""Words: plurals, articles, quotes, and what the dictionary says of a word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from kbkit.english.dictionary import dictionary

PREPOSITIONS = frozenset(
    (
        "about", "above", "across", "after", "against", "along", "among", "around", "as", "at", "before", "behind",
        "below", "between", "by", "for", "from", "in", "inside", "into", "like", "near", "of", "off", "on", "onto",
        "out", "over", "past", "since", "through", "throughout", "to", "toward", "towards", "under", "until", "upon",
        "with", "within", "without",
    )
)  # fmt: skip
YEARS = (1000, 2100)
"""Numbers that may be years."""
_PEOPLE = frozenset(
    (
        "actor", "actress", "adult", "artist", "author", "character", "child", "citizen", "composer", "contributor",
        "creator", "customer", "developer", "director", "doctor", "driver", "editor", "employee", "father", "founder",
        "governor", "human", "inventor", "kid", "leader", "member", "mother", "musician", "owner", "parent", "patient",
        "people", "person", "candidate", "captain", "delegate", "graduate", "guest", "laureate", "mayor", "nurse",
        "participant", "player", "politician", "producer", "president", "professor", "staff", "winner",
         "researcher", "reviewer", "scientist", "singer", "speaker", "student",
        "astronaut", "athlete", "champion", "chef", "king", "pilot", "queen", "referee", "soldier", "umpire",
        "teacher", "user", "voter", "woman", "man", "worker", "writer", "keeper", "maintainer", "trainer", "coach",
        "conductor", "dancer", "engineer", "instructor", "judge", "lecturer", "manager", "painter", "poet",
    )
)  # fmt: skip
_AGENT = re.compile(r".{2,}(?:er|or|ist|ant|ee|man|woman)")
_THINGS = frozenset(
    """
    order number paper river center tower chapter letter flower theater quarter semester poster printer computer door
        floor color motor sensor restaurant plant layer folder filter trailer newsletter weather corridor sector factor
        error monitor processor list fee committee coffee tree degree grant variant transfer offer water counter
        register server container chamber dinner cover parameter meter diameter perimeter vector elevator calculator
        indicator harbor marker header voucher answer disaster power summer winter cluster slider charter shelter career
        beer tier pier barrier carrier supper wallpaper newspaper cylinder ladder border reminder year gender timer
        warrant anchor mirror tumor leather matter indicant cloister honor honour anger danger hunger temper
    """.split()  # noqa: SIM905
)
"""Nouns that end like those for people, but mean things."""
_VOWEL_SOUND = re.compile(
    r"[aio]|e(?!u)|u(?!ni(?![nm])|k|s[aeiu]|t[eio]|r[aeio]|bi|fo\b)|hon(?:est|ou?r)|hour|heir|(?:8|11|18)(?!\d)",
    re.IGNORECASE,
)
_ONE = re.compile(r"one(?:\b|-)|once\b", re.IGNORECASE)  # begins with the sound of w
_INITIALS = re.compile(r"[AEFHILMNORSX](?:[A-Z]{1,2}\b|-)")  # an FBI agent
_ADJECTIVE = re.compile(r".{3,}(?:al|ic|ous|ive|able|ible|ary|ful|less)")
_CAMEL = re.compile(r"[A-Z]?[a-z]+(?:[A-Z][a-z]*)+")
_CAPITAL = re.compile(r"[A-Z]")
_TITLED = re.compile(r"[A-Za-z][a-z]*(?:_[A-Za-z][a-z]*)*_[A-Z][a-z]+|[A-Z][a-z]+(?:_[A-Za-z][a-z]*)+")
_IRREGULAR = {"person": "people", "series": "series", "species": "species", "news": "news"}


@lru_cache(10_000)
def spoken(name: str) -> str:
    """Return a name of a type, relation or attribute as words: ``gene/protein`` is *gene or protein*."""
    if _CAMEL.fullmatch(name):  # placeOfBirth
        name = _CAPITAL.sub(lambda match: f" {match[0].lower()}", name)
    if _TITLED.fullmatch(name) and all(map(is_common, name.split("_"))):  # Total_Attendance, institution_Type
        name = name.lower()
    return " ".join(re.sub(r"(?<=\w)/(?=\w)", " or ", name.replace("_", " ")).split()) or "node"


def with_article(noun: str) -> str:
    """Return a noun phrase with *a* or *an*."""
    is_letters = re.match(r"[A-Z]{2,3}\b|[A-Z]-", noun)
    is_vowel = _INITIALS.match(noun) if is_letters else _VOWEL_SOUND.match(noun) and not _ONE.match(noun)
    return f"{'an' if is_vowel else 'a'} {noun}"


def quoted(text: str) -> str:
    """Return a text in single quotes, or in double ones if it has an apostrophe."""
    return f'"{text}"' if "'" in text else f"'{text}'"


def with_name(text: str, slot: str, name: str) -> str:
    """Return a text with a name for its slot, without a noun that ends the name already: *the Carbon group*."""
    if not name:
        return text
    last = name.rpartition(" ")[2]
    if " " in name and last.islower():
        text = re.sub(rf"{re.escape(slot)} {re.escape(last)}\b", slot, text)
    return text.replace(slot, name)


def listed(parts: Sequence[str]) -> str:
    """Return *a*, *a and b*, or *a, b, and c*."""
    return " and ".join(parts) if len(parts) < 3 else f"{', '.join(parts[:-1])}, and {parts[-1]}"


def may_be_person(noun: str) -> bool:
    """Return whether a noun means people, or ends as nouns for people do (*supplier*, *guitarist*), or both."""
    last = noun.rpartition(" ")[2].casefold()
    return is_person(last) or (last not in _THINGS and bool(_AGENT.fullmatch(last)))


def is_person(noun: str) -> bool:
    """Return whether a noun means people, so that *who* refers to it."""
    return noun.rpartition(" ")[2].casefold() in _PEOPLE


@lru_cache(10_000)
def plural(noun: str) -> str:
    """Return the plural of a noun phrase: *fields of study*, *genes or proteins*."""
    *others, final = noun.split(" or ")
    if others and any(" " in part for part in others) >= (" " in final):
        return " or ".join(plural(part) for part in (*others, final))
    if others:  # official or national languages
        return " or ".join([*others, plural(final)])
    if noun in _IRREGULAR:
        return _IRREGULAR[noun]
    head, of, rest = noun.partition(" of ")
    before, space, last = head.rpartition(" ")
    return before + space + _plural_noun(last) + of + rest


def _plural_noun(word: str) -> str:
    plurals = [form for form in inflections(word, "NNS") if form != word]
    if plurals:
        return plurals[0]
    if re.search(r"[^aeiou]y$", word):
        return word[:-1] + "ies"
    return word + ("es" if re.search(r"(?:s|x|z|ch|sh)$", word) else "s")


def singular(noun: str) -> str:
    """Return the singular of a plural noun phrase: *country*, *field of study*."""
    head, of, rest = noun.partition(" of ")
    before, space, last = head.rpartition(" ")
    lemma = next(iter(lemmas_of(last).get("NOUN", ())), last)
    if lemma == last and last.endswith("s") and not last.endswith("ss"):  # a word that is not in the dictionary
        lemma = last[:-3] + "y" if last.endswith("ies") else last[:-1]
    return before + space + lemma + of + rest


def is_plural(noun: str) -> bool:
    """Return whether the last word of a noun phrase is a plural: *keywords*, *reviews*."""
    last = noun.rpartition(" ")[2].casefold()
    return any(last != lemma for lemma in lemmas_of(last).get("NOUN", ())) and last.endswith("s")


@lru_cache(50_000)
def lemmas_of(word: str) -> dict[str, tuple[str, ...]]:
    """Return the lemmas of a word by part of speech: VERB, NOUN, ADJ, ADV."""
    lemmas: dict[str, tuple[str, ...]] = dictionary().getAllLemmas(word)
    return lemmas


@lru_cache(50_000)
def inflections(lemma: str, tag: str) -> tuple[str, ...]:
    """Return the forms of a lemma for a tag of the Penn Treebank: VBZ, VBD, VBN, NNS."""
    forms: tuple[str, ...] = dictionary().getInflection(lemma, tag, inflect_oov=False)
    return forms


def is_nominal(word: str) -> bool:
    """Return whether a word may end a noun phrase: a noun, a name, or a number."""
    kinds = lemmas_of(word.casefold())
    if word[:1].isupper() or word[:1].isdigit() or "NOUN" in kinds:
        return True
    return not kinds and not _ADJECTIVE.fullmatch(word)


def is_verbal(word: str) -> bool:
    """Return whether a word is an inflected verb or an adverb, and nothing else."""
    kinds = set(lemmas_of(word.casefold()))
    return bool(kinds) and word[:1].islower() and kinds <= {"VERB", "ADV", "AUX"}


def is_common(word: str) -> bool:
    """Return whether a word is in the dictionary, in lower case."""
    return bool(lemmas_of(word.casefold()))


def is_participle(word: str) -> bool:
    """Return whether a word is the past participle of a verb: *founded*, *born*."""
    verbs = lemmas_of(word.casefold()).get("VERB", ())
    return any(word.casefold() in inflections(lemma, "VBN") and word.casefold() != lemma for lemma in verbs)


def may_be_verb(word: str) -> bool:
    """Return whether a word may be a form of a verb: *flows*, *made*, *border*, but not *open*."""
    kinds = lemmas_of(word.casefold())
    return is_participle(word) or ("VERB" in kinds and "ADJ" not in kinds) or is_verbal(word)
