"""Readability of labels, names and phrases: patterns of what an editor would strike."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from functools import lru_cache

from kbkit.english.categories import NAME
from kbkit.english.question_words import FUNCTION_WORDS
from kbkit.english.verbs import has_bare_object, verb_phrase
from kbkit.english.words import PREPOSITIONS, is_common, is_nominal, is_participle, is_plural, plural, spoken

_MACHINE_ID = re.compile(
    r"/?[a-z]/[0-9a-z_]+|[A-Za-z]{1,8}[_:]\d+|[A-Za-z]{1,8}-?\d{3,}|\d{5,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|[0-9a-f]{16,}|[a-z]+://\S+|urn:\S+|_:\S+"
)
_SYMBOLS = re.compile(r"[/\\_|<>{}\[\]=#@*^~\"]|\(|\)|\s&\s|\.\.\.|…")
_CODE = re.compile(r"[A-Z]{1,2}\d+|[A-Za-z]{1,8}[_:-]?\d{3,}")
_PATH = re.compile(r"/\S*|\w+(?:\.\w+)+")
_LABEL_SYMBOLS = re.compile(r"[\\|<>\[\]{}=#@*^~\":;!?$%]")
_OPEN_ID = re.compile(
    r"/[a-z]/[0-9a-z_]+|[QPL]\d+(?:-[FS]\d+)?|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{24,}|[a-z]+://\S+"
    r"|urn:\S+|_:\S+"
)
"""Identifiers that are never names: of Freebase, Wikidata, RDF."""
_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_PLACEHOLDERS = {
    "",
    "-",
    "?",
    "n.a",
    "n/a",
    "na",
    "nan",
    "nil",
    "none",
    "null",
    "other",
    "unassigned",
    "undefined",
    "unknown",
}
_NO_VALUES = frozenset(("not applicable", "not available", "not rated", "unrated"))
"""Names that say what a thing has not."""
NO_NAMES = tuple(sorted((_PLACEHOLDERS | _NO_VALUES) - {"", "other"}))
"""Names of nodes that stand for a missing one, in lower case."""
_SINGULAR_VERB = re.compile(r"\b(?:that|who) (?:is|was|has|does|goes)\b")
_VERB = re.compile(rf"\bthat ([a-z]+) ({'|'.join(sorted(PREPOSITIONS))})\b")
_HEADLESS = FUNCTION_WORDS | {"about", "although", "because", "under", "without"}
_PRONOUNS = frozenset(("he", "her", "him", "his", "it", "its", "me", "she", "them", "they", "us", "we"))
_WORDS = (
    PREPOSITIONS
    | FUNCTION_WORDS
    | frozenset(
        """
    allele allelic anime app biomass blog bluetooth broadband capita cryptocurrency ebook ecosystem email epigenetic
    esports exoplanet gameplay genome genomic homepage internet laptop manga metabolite metadata microbiome
    monoisotopic nanoparticle offline oncogene online paywall peptide per phenotypic playlist playtime podcast
    polarizability proteome runtime screenplay skincare smartphone startup subfamily subgenre subspecies taxon
    taxonomic timeline timezone touchdown transcriptome vegan videogame webcam webpage website wifi wildlife
    """.split()  # noqa: SIM905
    )
)
"""Words that the dictionary lacks."""
_DERIVED = re.compile(r"[a-z]{4,}(?:[iu]al|ical|ic|ous|ive|able|ible|ness|ity|ology|metry)")
"""Words by their ending."""
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)?")
_SHORT = 3
MACHINE_ID = "a machine id"
SYMBOLS = "a slash, underscore or another symbol"
PLACEHOLDER = "a placeholder for a missing value"
STOP_WORDS = "stop words only"
NUMBER = "a number only"
UNKNOWN_WORD = "an abbreviation or an unknown word"
REPEATED = "a repeated word"
AGREEMENT = "a verb that does not agree"
NO_HEAD = "no head noun"
PERCENTAGE = "a percentage without what it is of"
LISTED = "a list of words"
BARE_OBJECT = "a noun after its verb, where a name would follow"


def label_problem(label: str) -> str:
    """Return why a label of a relation, an attribute or a type cannot be worded, or "": a code, symbols, no letters.

    Underscores and slashes between words are read as *spoken* does, so they are no problem.
    """
    words = spoken(label)
    if _CODE.fullmatch(label.strip()) or "://" in label or _PATH.fullmatch(label.strip()):
        return MACHINE_ID
    if not any(letter.isalpha() for letter in words):
        return NUMBER
    return SYMBOLS if _LABEL_SYMBOLS.search(words) else ""


def attribute_problem(label: str) -> str:
    """Return why the label or the words of an attribute cannot be worded, or "": :func:`label_problem`, a word such as
    *vdw*, *c6* or *it* in *size it*, no noun at the end (*years as tallest*), or *capacity percentage*.

    Words with a capital, and those that stand alone, are taken for words of the field.
    """
    words = spoken(label).split(" ")
    is_odd = any(map(_is_abbreviation, words)) or (len(words) > 1 and not all(map(_is_known, words)))
    if problem := label_problem(label) or (UNKNOWN_WORD if is_odd or words[-1] in _PRONOUNS else ""):
        return problem
    if words[-1].casefold() == "percentage" and len(words) > 1:
        return PERCENTAGE
    has_preposition = any(word in PREPOSITIONS for word in words[1:-1])
    is_verb = len(words) > 1 and words[-1] in PREPOSITIONS and not is_participle(words[0])
    return NO_HEAD if is_verb or (has_preposition and not is_nominal(words[-1])) else ""


def _is_known(word: str) -> bool:
    parts = re.split("[-/&'’,]", word)
    return all(
        not part.islower() or part in _WORDS or is_common(part) or _ORDINAL.fullmatch(part) or _DERIVED.fullmatch(part)
        for part in parts
    )


def _is_abbreviation(word: str) -> bool:
    """Return whether a word is not English in lower case: with digits (*c6*), or short and unknown (*vdw*)."""
    has_digits = word.islower() and any(map(str.isdigit, word)) and not _ORDINAL.fullmatch(word)
    is_short = len(word) <= _SHORT or not re.search("[aeiouy]", word)
    return has_digits or (word.isascii() and word.isalpha() and is_short and not _is_known(word))


def relation_problem(label: str) -> str:
    """Return why a label of a relation cannot be worded as a verb phrase, or ""."""
    problem = label_problem(label) or (BARE_OBJECT if has_bare_object(label) else "")
    is_listed = "," in label and is_plural(spoken(label).partition(" ")[0])  # languages spoken, written or signed
    return problem or (LISTED if is_listed else "")


def name_problem(name: str, key: str) -> str:
    """Return why the name of a node cannot be part of a sentence, or "": it is a key, a function word, or a code.

    Names such as *MI-212* that are no keys are names.
    """
    text = name.strip()
    if not text or text.casefold().strip(". ") in _PLACEHOLDERS:
        return PLACEHOLDER
    if text.casefold() in _NO_VALUES:
        return PLACEHOLDER
    if text.islower() and (len(text) == 1 or text in FUNCTION_WORDS):
        return STOP_WORDS
    is_code = _OPEN_ID.fullmatch(text) or (text == key and _MACHINE_ID.fullmatch(text) and not text.isdigit())
    return MACHINE_ID if is_code else ""


def is_placeholder(text: str) -> bool:
    """Return whether a text stands for a missing value: *none*, *N/A*, *unknown*."""
    return text.strip().casefold().strip(". ") in _PLACEHOLDERS


def objection(phrase: str, name: str, pattern: str = NAME, *, numeric: bool = False) -> str:
    """Return what is wrong with a category's phrase, or "".

    ``name`` is the name of the shared node or value within it, ``pattern`` the phrase without the name. With
    ``numeric``, the name may be a number, because the pattern says which quantity it is.
    """
    words = [word.casefold() for word in _WORD.findall(name)]
    checks: tuple[tuple[str, Callable[[], bool]], ...] = (
        (MACHINE_ID, lambda: not numeric and bool(_MACHINE_ID.fullmatch(name))),
        (PLACEHOLDER, lambda: name.casefold().strip(". ") in _PLACEHOLDERS),
        (SYMBOLS, lambda: bool(_SYMBOLS.search(phrase.replace(f'"{name}"', name)))),
        (NUMBER, lambda: not numeric and not any(letter.isalpha() for letter in name)),
        (STOP_WORDS, lambda: not numeric and name == name.lower() and all(word in FUNCTION_WORDS for word in words)),
        (REPEATED, lambda: _repeats(phrase, words, pattern)),
        (AGREEMENT, lambda: _disagrees(pattern)),
        (NO_HEAD, lambda: _is_headless(phrase)),
    )
    return next((reason for reason, applies in checks if applies()), "")


@lru_cache(1_000)
def _disagrees(pattern: str) -> bool:
    if _SINGULAR_VERB.search(pattern):
        return True
    # `that published in` should be `that were published in`: read as a label, the words are a passive.
    phrases = [" ".join(words) for words in _VERB.findall(pattern)]
    verbs = {words: verb_phrase(words) for words in phrases}
    return any(verb is not None and verb.singular == f"is {words}" for words, verb in verbs.items())


def _is_headless(phrase: str) -> bool:
    first = _WORD.match(phrase)
    return not first or first[0].casefold() in _HEADLESS


@lru_cache(1_000)
def _around(pattern: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the words of a pattern, and its participles."""
    words = tuple(word.casefold() for word in _WORD.findall(pattern.replace(NAME, " ")))
    return words, frozenset(word for word in words[1:] if len(word) > 4 and word.endswith("ed"))


def _repeats(phrase: str, name: list[str], pattern: str) -> bool:
    """Return whether a word occurs twice in a row, or the name repeats the verb or the head: rated Not Rated."""
    words = [word.casefold() for word in _WORD.findall(phrase)]
    if any(one == other for one, other in itertools.pairwise(words)):
        return True
    around, verbs = _around(pattern)
    if len(name) == 1 and around[:1] and name[0][:2] == around[0][:2] and plural(name[0]) == around[0]:
        return True
    return any(word.endswith(verb) for word in name for verb in verbs)
