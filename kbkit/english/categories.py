"""Readable names of categories: a plural noun phrase, from a relation's label or an attribute's name.

A label reads as ``head LABEL tail``. In a pattern, ``{name}`` is the node or value that the members of the category
share. A phrase is a head (``movies``) and a modifier (``directed by Jane Doe``) or a relative clause (``in which Jane
Doe acted``). Verbs, plurals and articles come from :mod:`kbkit.english`.
"""

from __future__ import annotations

import re

from kbkit import english
from kbkit.english.attributes import located, words_of_name
from kbkit.english.frames import frame_file
from kbkit.english.modifiers import divided
from kbkit.english.types import are_people, type_noun, type_plural, who_or_that
from kbkit.english.verbs import GRADES
from kbkit.english.words import spoken

NAME = "{name}"

_PREPOSITIONS = "|".join(sorted(english.PREPOSITIONS))
_ENDS_WITH_PREPOSITION = re.compile(rf"(?:.* )?(?:{_PREPOSITIONS})")
HAS = re.compile(r"ha(?:s|ve|d) (?:an? |the )?(?!as |\{)(.+)")
HAS_AS = re.compile(r"ha(?:s|ve) \{\} as (?:an?|the) (.+)")
EITHER = re.compile(r"has as (.+), or is it")
ALSO = re.compile(r"those who (\w+) it also (\w+)")
_WHERE_AT_END = re.compile(rf"(.* (?:{_PREPOSITIONS})) (?:the|its|an?) [^,]+")
_STRANDED = re.compile(rf"(.+?) ((?:{_PREPOSITIONS})(?: or (?:{_PREPOSITIONS}))?)")
GROUPS = {"category", "class", "family", "field", "genre", "group", "language", "series", "style"}
"""Nouns that follow the name of a group: in the Comedy genre."""
MARKERS = {"hashtag", "keyword", "label", "subject heading", "tag", "term"}
"""Types of words that describe a node; as words, not as things, they are quoted."""
_LAST = frozenset(("for",))
"""Prepositions that stay with their verb: *animals that Ann Lee cares for*."""
_NOUNS = frozenset(("bay", "canal", "park", "sound"))
"""Nouns that are rarely adjectives."""
FAMILIES = {"family", "genus", "order"}
"""Nouns that follow the name of a group of which something is: of the Turkic family."""
KINDS = {"kind", "sort", "type"}
_AUXILIARIES = frozenset(("is", "was", "has"))


def finite(label: str) -> str:
    """Return a label as a finite verb for one head, or "" if it is a noun: ``part of`` gives is part of."""
    verb = english.verb_phrase(label)
    return "" if verb is None or english.of_noun(label) else verb.singular


def agreeing(label: str) -> str:
    """Return a label as a verb for heads in the plural, or "" if it is a noun.

    ``flows into`` gives flow into; in ``is expressed in, or expresses`` both parts agree.
    """
    parts = [agreeing(part) for part in label.split(", or ")] if ", or " in label else []
    if parts and all(parts):
        return ", or ".join(parts)
    verb = english.verb_phrase(label)
    return "" if verb is None or english.of_noun(label) else verb.plural


def of_head(domain: str, label: str, other: str = "") -> str:
    """Return the pattern of heads that share a tail of type ``other``: ``movies about {name}``.

    In a label, the name is at ``{}`` or at the end.
    """
    things, noun = type_plural(domain), type_noun(other) if other else ""
    also, has_as = ALSO.fullmatch(label), HAS_AS.fullmatch(label)
    if also:
        return f"{things} such that those who {also[1]} them also {also[2]} {NAME}"
    if noun in MARKERS:
        return f'{things} with the {noun} "{NAME}"'
    if has_as:
        return f"{things} with {NAME} as {english.with_article(has_as[1])}"
    if label.startswith("{} "):  # countries that Ann Lee is a citizen of
        return f"{things} that {NAME} {label.removeprefix('{} ')}"
    verb = agreeing(label)
    if not verb and label.casefold() == noun and noun in GROUPS:
        return f"{things} in the {NAME} {noun}"
    if not verb:
        return f"{things} with the {label} {NAME}"
    own = spoken(type_noun(domain))
    short = _without_verb(finite(label)) if re.fullmatch(rf"is an? .*\b{re.escape(own)} of", finite(label)) else ""
    modifier = _modifier(things, label, noun) or short or f"{who_or_that(domain)} {verb}"
    if NAME in modifier:
        return f"{things} {modifier}"
    return f"{things} {modifier.replace('{}', NAME)}" if "{}" in modifier else f"{things} {modifier} {NAME}"


def _without_verb(phrase: str) -> str:
    """Return the wording without a verb of a verb phrase in ``frames/relations.toml``, which a name ends, or ""."""
    known: list[str] = frame_file("relations")["wordings"].get(phrase, [])
    return next((text.removeprefix("~") for text in known if text[:1] == "~" and "{}" not in text), "")


def _modifier(things: str, label: str, noun: str) -> str:
    """Return the modifier for a label with ``be`` or ``have``, with the name within it or not; "" for other labels."""
    has, clause = HAS.fullmatch(label), finite(label)
    if has and not _WHERE_AT_END.fullmatch(label):
        if ends_with_preposition(label):
            return "" if label.endswith(" with") else f"with {label.partition(' ')[2]}"
        if has[1] == noun:
            return f"in the {NAME} {noun}" if noun in GROUPS else f"with the {noun}"
        if has[1].rpartition(" ")[2] in GRADES:
            return f'with the {has[1]} "{NAME}"'
        return f"with {NAME} as {english.with_article(has[1])}"
    if noun and re.fullmatch(
        rf"(?:is in|comes in{'|belongs to' if noun in GROUPS else ''}) the {re.escape(noun)}", clause
    ):
        return f"in the {NAME} {noun}"
    if noun and clause == f"is the {noun} of":
        return ""
    verb = english.verb_phrase(label)
    reduced = verb.reduced if verb and ", or " not in label else ""
    return reduced if reduced and divided(f"{things} {reduced} {NAME}")[0] == things else ""


def of_tail(domain: str, label: str, other: str = "") -> str:
    """Return the pattern of tails that share a head: ``movies directed by {name}``, ``in which {name} acted``."""
    things = type_plural(domain)
    also = ALSO.fullmatch(label)
    if also:
        return f"{things} also {also[2]} by those who {also[1]} {NAME}"
    clause = finite(label)
    noun = noun_of(label)
    if noun:
        same = noun.casefold() == type_noun(domain).casefold()
        return f"{things} of {NAME}" if same else f"{things} {who_or_that(domain)} are {english.plural(noun)} of {NAME}"
    if not clause:
        return f"{things} {who_or_that(domain)} are linked to {NAME}"
    by, verb = passive(label), active(label)
    if by:
        return f"{things} {by.partition(' ')[2]} {NAME}"
    if verb:
        return f"{things} {who_or_that(domain)} {verb.plural} {NAME}"
    if short := _without_verb(f"^{clause}: {type_noun(other)}" if other else "") or _without_verb(
        f"^{clause}"
    ):  # crossed or bordered by the Danube
        return f"{things} {short} {NAME}"
    clause = without_place(label, clause)
    match = _STRANDED.fullmatch(clause)
    if not match or match[1] in ("is", "was") or match[2] in _LAST:
        return f"{things} that {NAME} {clause}"
    return f"{things} {match[2]} {'whom' if are_people(domain) else 'which'} {NAME} {match[1]}"


def noun_of(label: str) -> str:
    """Return the noun of a label that is one or says who has it: ``has the capital`` gives capital; else ""."""
    has = HAS.fullmatch(label)
    if has and not ends_with_preposition(label) and not _WHERE_AT_END.fullmatch(label):
        return has[1]
    return spoken(label) if english.of_noun(label) else ""


def passive(label: str) -> str:
    """Return the passive of a transitive verb of one word, ``was directed by``, or ""."""
    verb = english.verb_phrase(label)
    inverse = verb.inverse() if verb and " " not in spoken(label) and not english.of_noun(label) else None
    return inverse.singular if inverse else ""


def active(label: str) -> english.VerbPhrase | None:
    """Return the active verb of a passive label: *directed* for ``directed by``; None for other labels."""
    verb = english.verb_phrase(label)
    is_passive = verb is not None and re.fullmatch(r"(?:is|was) \w+ by", verb.singular)
    return verb.inverse() if verb and is_passive else None


def ends_with_preposition(label: str) -> bool:
    """Return whether a label ends with a preposition: ``has a coast on``."""
    return bool(_ENDS_WITH_PREPOSITION.fullmatch(label))


def without_place(label: str, clause: str) -> str:
    """Return the clause without a noun for its object at the end: ``is in the language`` gives is in."""
    ends = None if clause.endswith(label) and clause != label else _WHERE_AT_END.fullmatch(clause)
    return ends[1] if ends else clause


def of_either(domain: str, label: str) -> str:
    """Return the pattern of either end of a relation labelled ``has as target, or is it``; "" for other labels.

    Example: ``drugs linked to {name} as target``.
    """
    match = EITHER.fullmatch(label)
    return f"{type_plural(domain)} linked to {NAME} as {match[1]}" if match else ""


def has_marks(text: str) -> bool:
    """Return whether a text contains the marks of phrases in QUEST's queries."""
    return "<mark>" in text or "</mark>" in text


def of_attribute(domain: str, attribute: str, *, year: bool, several: bool) -> str:
    """Return the pattern of nodes with one value of an attribute.

    ``year``: the values are years. ``several``: the attribute is a list.
    """
    things, words = type_plural(domain), words_of_name(attribute).noun
    if year and words.casefold() == "year":
        return f"{things} from {NAME}"
    if year and english.is_participle(words):
        return f"{things} {words} in {NAME}"
    if words.casefold() in KINDS and not several:
        return f'{things} of the {words} "{NAME}"'
    if words.casefold() in FAMILIES and not several:
        return f"{things} of the {NAME} {words}"
    if (be := located(words)) and not several:
        return f"{things} whose {words} {be} in {NAME}"
    many = english.is_plural(words)
    verb = ("include" if many else "includes") if several else ("are" if many else "is")
    return f"{things} whose {words} {verb} {NAME}"


def kind_noun(attribute: str, value: str) -> str:
    """Return the noun for things with a value of an attribute, if the attribute says of which kind they are.

    A strait is a sea of the kind *strait*; "" for other attributes, and for values that are no nouns.
    """
    words = value.split()
    is_noun = value.islower() and all(map(str.isalpha, words)) and "NOUN" in english.lemmas_of(words[-1])
    is_adjective = is_noun and "ADJ" in english.lemmas_of(words[-1]) and value not in _NOUNS
    is_kind = words_of_name(attribute).noun.casefold() in KINDS
    return value if is_kind and is_noun and not is_adjective and not english.is_plural(value) else ""


def of_flag(domain: str, attribute: str, *, value: bool) -> str:
    """Return the phrase of nodes with a value of a Boolean attribute."""
    verb = english.VerbPhrase(flag_verb(attribute))
    return f"{type_plural(domain)} {who_or_that(domain)} {verb.plural if value else verb.negated(is_plural=True)}"


def flag_name(attribute: str, *, value: bool) -> str:
    """Return what :func:`of_flag` says of its nodes, after the verb *be* or *have*."""
    verb = english.VerbPhrase(flag_verb(attribute))
    first, _, rest = verb.singular.partition(" ")
    if first in _AUXILIARIES:
        return rest if value else f"not {rest}"
    return verb.singular if value else verb.negated(is_plural=False)


def flag_verb(attribute: str) -> str:
    """Return the verb phrase that a Boolean attribute says: *is radioactive*, *lays eggs*, or *is marked as* a noun."""
    words = words_of_name(attribute).noun
    first, _, rest = words.partition(" ")
    last = words.rpartition(" ")[2]
    if rest and first in _AUXILIARIES:
        return words
    if english.is_participle(last) or (not rest and "ADJ" in english.lemmas_of(last)):
        return f"is {words}"
    is_finite = any(first in english.inflections(lemma, "VBZ") for lemma in english.lemmas_of(first).get("VERB", ()))
    return words if rest and is_finite else f"is marked as {words}"


def of_category(domain: str, category: str) -> str:
    """Return the pattern of members of a type whose name says that it is a category.

    The name alone suffices if the domain is pages.
    """
    if domain in ("document", "page", "article", "entity"):
        return NAME
    return f"{type_plural(domain)} in the {type_noun(category)} {NAME}"
