"""Verb phrases in both numbers, negated and inverted, from the labels of relations.

A label reads as ``head LABEL tail``: ``flows into``, ``is affiliated with``, ``directed``. Nouns (``genre``) read as
``has {} as a genre``, and participles and prepositions (``part of``, ``in country``) get the verb *be*.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from kbkit.english.words import (
    PREPOSITIONS,
    inflections,
    is_nominal,
    is_participle,
    is_plural,
    lemmas_of,
    plural,
    singular,
    spoken,
    with_article,
)

_SINGULAR = {"are": "is", "were": "was", "have": "has", "do": "does"}
_PLURAL = {"is": "are", "was": "were", "has": "have", "does": "do"}
_MODAL = frozenset(("can", "could", "may", "might", "must", "shall", "should", "will", "would", "had", "did"))
# Participles that describe a state if a preposition follows: what is located in a place has not located anything.
_STATES = frozenset(
    (
        "adjacent", "affiliated", "assigned", "associated", "attached", "awarded", "based", "bought", "born",
        "caused", "classified", "composed", "connected", "contained", "correlated", "dated", "dedicated", "derived",
        "described", "encoded", "employed", "expressed", "filmed", "found", "founded", "grounded", "held", "housed",
        "included", "indicated", "interested", "involved", "known", "linked", "listed", "located", "made",
        "manufactured", "married", "mentioned", "named", "nominated", "observed", "owned", "performed", "positioned",
        "printed", "produced", "published", "rated", "recorded", "regulated", "related", "released", "represented",
        "set", "shared", "shown", "situated", "sold", "spoken", "tagged", "used", "viewed", "written",
    )
)  # fmt: skip
# Acts that are over: *was directed by*, but *is affected by*.
_ACTS = frozenset(
    (
        "build", "compose", "construct", "create", "design", "develop", "direct", "discover", "edit", "establish",
        "found", "illustrate", "invent", "launch", "make", "paint", "produce", "publish", "record", "release", "shoot",
        "translate", "write",
    )
)  # fmt: skip
_WITH_NOUN = re.compile(rf"(?:ha[sd]|comes in|is (?:\w+ )?(?:{'|'.join(sorted(PREPOSITIONS))})) the .+")
_NOT_BARE = frozenset(("a", "an", "the", "as", "so", "no", "not", "been", "many", "some", "any", "its", "their"))
_PREDICATE_NOUN = re.compile(rf"(?:an?|the) (.+?)((?: (?:{'|'.join(sorted(PREPOSITIONS))})\b.*)?)")
_PLACES = frozenset(("city", "continent", "country", "county", "district", "province", "region", "state"))
GRADES = frozenset(("grade", "level", "rank", "rating", "score", "status", "votes"))
"""Nouns of values that are words, not things: *the rating 'good'*."""
_MEMBER = re.compile(r"(?:member|part|instance|kind) of ")  # which end is the member is not clear


@dataclass(frozen=True)
class VerbPhrase:
    """A verb phrase: ``is affiliated with``, ``directed``; the object is at ``{}``, or else at the end."""

    singular: str

    @property
    def plural(self) -> str:
        """The phrase for a plural subject: ``are affiliated with``."""
        return _of_plural(self.singular)

    @property
    def takes_name(self) -> bool:
        """Whether the object only reads well as a name: *has the genre War*, not *has the genre a genre*."""
        if "{}" in self.singular and not self.singular.endswith("{}"):
            return True
        return bool(_WITH_NOUN.fullmatch(self.singular)) and (self.singular.rpartition(" ")[2] not in PREPOSITIONS)

    def negated(self, *, is_plural: bool) -> str:
        """Return the negated phrase: ``does not cite``, ``are not members of``."""
        phrase = self.plural if is_plural else self.singular
        first, space, rest = phrase.partition(" ")
        if first in ("is", "was", "are", "were"):
            return f"{first} not{space}{rest}"
        if first in _MODAL - {"had"}:
            return f"{'cannot' if first == 'can' else first + ' not'}{space}{rest}"
        one = self.singular.partition(" ")[0]
        now = [lemma for lemma in lemmas_of(one).get("VERB", ()) if one in inflections(lemma, "VBZ")]  # lays, not: lay
        verbs = now or lemmas_of(first).get("VERB", (first,))
        lemma = {"has": "have", "had": "have", "does": "do"}.get(first, verbs[0])
        is_past = first == "had" or (first != lemma and first not in inflections(lemma, "VBZ") and first != "has")
        return f"{'did' if is_past else 'do' if is_plural else 'does'} not {lemma}{space}{rest}"

    @property
    def reduced(self) -> str:
        """The phrase as a modifier without *that*: ``directed by``, ``about``; "" if it has no such form."""
        first, _, rest = self.singular.partition(" ")
        if self.singular in ("lies in", "is located in"):
            return "in"
        if self.singular.startswith("has {} as "):
            return f"with {self.singular.removeprefix('has ')}"
        noun = re.match(r"(?:an?|the|part|not|home)\b", rest)
        first_word, *others = rest.split(" ")[:2]
        if others == ["or"] and not is_participle(first_word):  # languages of the Bantu family official or national in
            return ""
        return rest if first in ("is", "was") and rest and not noun else ""

    @property
    def participle(self) -> str:
        """The phrase as a modifier with a present participle: ``bordering``; "" if it has none."""
        first, space, rest = self.singular.partition(" ")
        if first in _PLURAL or first in _MODAL or "{}" in self.singular:
            return ""
        lemma = next((one for one in lemmas_of(first).get("VERB", ()) if first in inflections(one, "VBZ")), "")
        return next((form + space + rest for form in inflections(lemma, "VBG")), "") if lemma else ""

    def inverse(self) -> VerbPhrase | None:
        """Return the phrase with the object as the subject: ``is cited by``; None if there is none that reads well."""
        as_noun = re.fullmatch(r"has {} as (an? .+)", self.singular)
        if as_noun:
            return VerbPhrase(f"is {as_noun[1]} of")
        if "{}" in self.singular:
            return None
        first, _, rest = self.singular.partition(" ")
        by = re.fullmatch(r"(?:is|was) (\w+) by", self.singular)
        if by and is_participle(by[1]):
            return VerbPhrase(_active(by[1], is_past=first == "was"))
        has = re.fullmatch(r"ha(?:s|d) (an?|the) (.+)", self.singular)
        if has and has[2].rpartition(" ")[2] not in PREPOSITIONS:
            return VerbPhrase(f"is {has[1]} {has[2]} of")
        if rest or first in _PLURAL or first in _MODAL:
            return None
        for lemma in lemmas_of(first).get("VERB", ()):
            participle = next(iter(inflections(lemma, "VBN")), "")
            if participle:
                return VerbPhrase(f"{'is' if first in inflections(lemma, 'VBZ') else 'was'} {participle} by")
        return None


@lru_cache(10_000)
def _of_plural(singular: str) -> str:
    """Return a verb phrase for a plural subject."""
    first, space, rest = singular.partition(" ")
    noun = _PREDICATE_NOUN.fullmatch(rest) if first in ("is", "was") else None
    if noun:  # `is a member or an observer of`: are members or observers of
        parts = [part.rpartition(" ") for part in re.split(r" or an? ", noun[1])]
        rest = " or ".join(before + space + plural(last) for before, space, last in parts) + noun[2]
    return _plural_verb(first) + space + rest


def _plural_verb(verb: str) -> str:
    if verb in _PLURAL:
        return _PLURAL[verb]
    prefix, hyphen, form = verb.rpartition("-")
    lemmas = (lemma for lemma in lemmas_of(form).get("VERB", ()) if form in inflections(lemma, "VBZ"))
    return prefix + hyphen + next(lemmas, form)


@lru_cache(10_000)
def verb_phrase(label: str) -> VerbPhrase | None:
    """Return the verb phrase of a label, with the head of the relation as its subject; None if none reads well."""
    words = spoken(label).split(" ")
    first, rest = words[0].casefold(), words[1:]
    joined = " ".join([first, *rest])
    if joined in ("isa", "is a", "is an"):
        return VerbPhrase("is a kind of")
    if first in _SINGULAR:
        return VerbPhrase(" ".join([_SINGULAR[first], *rest]))
    if first == "has" and rest and _is_bare(rest):  # has tags, has imdb rating
        return VerbPhrase(f"has {{}} as {with_article(singular(' '.join(rest)))}")
    if first in _PLURAL or first in _MODAL:
        return VerbPhrase(joined)
    if first in PREPOSITIONS and len(rest) == 1 and rest[0] not in PREPOSITIONS and first not in ("as", "of"):
        return VerbPhrase(f"is {first}" if rest[0] in _PLACES else f"is {first} the {rest[0]}")  # in state, in language
    if first in PREPOSITIONS:
        return VerbPhrase(f"is {joined}")
    finite = _finite(first, rest)
    return VerbPhrase(finite) if finite else None


def of_noun(label: str) -> bool:
    """Return whether a label is a noun: ``genre``, ``side effect``."""
    verb = verb_phrase(label)
    return verb is not None and verb.singular == f"has {{}} as {with_article(spoken(label).casefold())}"


def _finite(first: str, rest: list[str]) -> str:
    """Return a label that starts with a verb, an adjective or a noun with a verb in the third person, or ""."""
    joined = " ".join([first, *rest])
    lemmas = lemmas_of(first.rpartition("-")[2])
    has_preposition = bool(rest) and rest[0] in PREPOSITIONS
    for lemma in lemmas.get("VERB", ()):
        verb = _with_prefix(first, joined, rest, lemma, is_noun="NOUN" in lemmas)
        if verb:
            return verb
    if has_preposition and rest[0] != "of" and "ADJ" in lemmas:
        return f"is {joined}"
    if set(lemmas) == {"ADV"} and rest:
        inner = _finite(rest[0], rest[1:])
        if inner.startswith("is "):
            return f"is {joined}"
        if first == "also":
            return ""
    if first == "part" and rest[-1:] == ["of"]:
        return f"is {joined}"
    if rest and rest[-1] in PREPOSITIONS:
        return f"is {with_article(joined)}" if is_nominal([first, *rest][-2]) else ""
    is_noun = is_nominal(joined.rpartition(" ")[2]) and not _MEMBER.match(joined)
    return f"has {{}} as {with_article(joined)}" if is_noun else ""


def _with_prefix(first: str, joined: str, rest: list[str], lemma: str, *, is_noun: bool) -> str:
    """Return a label that starts with a form of a verb in the third person, or "" if it is rather a noun."""
    prefix, hyphen, form = first.rpartition("-")
    has_preposition = bool(rest) and rest[0] in PREPOSITIONS
    if rest == ["by"] and lemma in _ACTS and form in inflections(lemma, "VBN"):
        return f"was {joined}"
    is_state = bool(rest) and (rest[0] in ("by", "together") or (has_preposition and form in _STATES))
    if is_state and form in inflections(lemma, "VBN") and form != lemma:
        return f"{'was' if form == 'born' else 'is'} {joined}"
    if (form in inflections(lemma, "VBD") and form != lemma) or form in inflections(lemma, "VBZ"):
        return joined
    if form == lemma and (not is_noun or (has_preposition and rest[0] not in ("of", "in", "for"))):
        return " ".join([prefix + hyphen + next(iter(inflections(lemma, "VBZ")), form), *rest])
    return ""


def _active(participle: str, *, is_past: bool) -> str:
    """Return the active verb of a passive: *directed* for *was directed by*, *affects* for *is affected by*."""
    lemmas = lemmas_of(participle).get("VERB", ())
    lemma = next((lemma for lemma in lemmas if participle in inflections(lemma, "VBN")), participle)
    return next(iter(inflections(lemma, "VBD" if is_past else "VBZ")), participle)


def _is_bare(words: list[str]) -> bool:
    """Return whether words are a noun phrase without an article: *genre*, *imdb rating*."""
    return (
        words[0] not in _NOT_BARE
        and not any(word in PREPOSITIONS for word in words)
        and is_nominal(words[-1])
        and not (len(words) > 1 and is_participle(words[0]))
    )


@lru_cache(10_000)
def has_bare_object(label: str) -> bool:
    """Return whether a label is a verb and a noun without an article: *starred actors*, where a name would follow."""
    words = spoken(label).split(" ")
    verb = verb_phrase(label)
    if len(words) < 2 or verb is None or "{}" in verb.singular:
        return False
    if verb.singular.partition(" ")[0] in {*_PLURAL, *_SINGULAR, *_MODAL}:
        return False
    between = any(word in PREPOSITIONS or word in _NOT_BARE for word in words[1:])
    kinds = set(lemmas_of(words[-1].casefold()))
    return not between and (is_plural(words[-1]) or kinds in ({"NOUN"}, {"NOUN", "VERB"}))
