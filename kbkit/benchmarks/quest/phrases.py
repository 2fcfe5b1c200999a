"""Readable names of categories: a plural noun phrase, from a relation's label or an attribute's name.

A label reads as ``head LABEL tail``. In a pattern, ``{name}`` is the node or value that the members of the category
share.
"""

from __future__ import annotations

import re

NAME = "{name}"

_IRREGULAR = {"person": "people", "child": "children", "man": "men", "woman": "women", "species": "species"}
_PEOPLE = {"person", "people", "human", "author"}
_AGREES = {"is": "are", "was": "were", "has": "have", "does": "do", "goes": "go"}
_AUXILIARY = {"are", "were", "have", "had", "do", "did", "can", "may", "will"}
_PAST = re.compile(
    "became|began|bore|bought|brought|built|came|drew|drove|fell|fought|found|gave|grew|had|held|knew|led|left|lost|made"
    "|met|paid|ran|sang|sold|spoke|stood|sung|taught|took|went|won|wrote|.*ed"
)
_PREPOSITIONS = "about along among at between by for from in into near of on over through to under with"
_PREPOSITION = re.compile(rf"(?:.* )?(?:{_PREPOSITIONS.replace(' ', '|')}|like)")
_PASSIVE = re.compile(
    r"\w+(?:ed|made|written|sung|built|held|found|known) by|(?:affiliated|associated|related|linked|connected|located"
    r"|based|assigned|attached|married|adjacent|close|similar|equal|next|relative) \w+|\w+ together with"
)
_HAS = re.compile(r"ha(?:s|ve|d) (?:an? |the )?(?!as )(.+)")
_EITHER = re.compile(r"has as (.+), or is it")
_IS_A = re.compile(rf"is (an? \w+(?: or an? \w+)*)( (?:{_PREPOSITIONS.replace(' ', '|')})(?: .*)?)")
_PLURAL = re.compile(r"(?!.*(?:series|species|news)$).*[^aius]s|.*[ei]as")
_WHERE_AT_END = re.compile(rf"(.* (?:{_PREPOSITIONS.replace(' ', '|')}|as)) (?:the|its|an?) [^,]+")


def plural(node_type: str) -> str:
    """Return the plural of a type's name.

    ``country`` gives countries, ``field_of_study`` fields of study, ``gene/protein`` genes/proteins.
    """
    name = spoken(node_type)
    if "/" in name:
        return "/".join(plural(part) for part in name.split("/"))
    first, of, rest = name.partition(" of ")
    *before, last = first.split(" ")
    return " ".join([*before, _plural(last)]) + of + rest


def _plural(word: str) -> str:
    if word.casefold() in _IRREGULAR:
        return _IRREGULAR[word.casefold()]
    if re.search(r"[^aeiou]y$", word):
        return word[:-1] + "ies"
    if re.search(r"(?<=\w)sis$", word):
        return word[:-2] + "es"
    return word + ("es" if re.search(r"(?:s|x|z|ch|sh)$", word) else "s")


def spoken(name: str) -> str:
    """Return a type's, relation's or attribute's name as words."""
    return " ".join(name.replace("_", " ").split()) or "thing"


def finite(label: str) -> str:
    """Return a label as a finite verb for one head, or "" if it is a noun.

    ``affiliated with`` gives is affiliated with, ``part of`` is a part of.
    """
    word = label.partition(" ")[0].casefold()
    if word in _AGREES or word in _AUXILIARY:
        return label
    if _PASSIVE.fullmatch(label.casefold()) or word in _PREPOSITIONS.split():
        return f"is {label}"
    if _PAST.fullmatch(word) or _infinitive(word):
        return label
    if _PREPOSITION.fullmatch(label.casefold()):
        return f"is {'an' if word[0] in 'aeiou' else 'a'} {label}"
    return ""


def agreeing(label: str) -> str:
    """Return a label as a verb for heads in the plural.

    ``flows into`` gives flow into, ``is a member of`` are members of; in ``is expressed in, or expresses`` both parts
    agree.
    """
    parts = [agreeing(part) for part in label.split(", or ")] if ", or " in label else []
    if parts and all(parts):
        return ", or ".join(parts)
    kind = _IS_A.fullmatch(finite(label))
    if kind:
        return "are " + re.sub(r"\ban? (\w+)", lambda noun: _plural(noun[1]), kind[1]) + kind[2]
    first, space, rest = finite(label).partition(" ")
    word = first.casefold()
    if word in _AGREES:
        return _AGREES[word] + space + rest
    if word in _AUXILIARY or _PAST.fullmatch(word):
        return first + space + rest
    return _infinitive(first) + space + rest


def _infinitive(verb: str) -> str:
    """Return a verb without the s of the third person, or "" for other words."""
    if re.search(r"(?:ss|sh|ch|x|zz)es$", verb):
        return verb[:-2]
    if re.search(r"\w\wies$", verb):
        return verb[:-3] + "y"
    return verb[:-1] if re.search(r"(?:\w[^\Wsui]|^\wie)s$", verb) else ""


def of_head(domain: str, label: str) -> str:
    """Return the pattern of heads that share a tail: ``movies that are about {name}``."""
    verb = agreeing(label)
    return f"{plural(domain)} {_who(domain)} {verb} {NAME}" if verb else f"{plural(domain)} with the {label} {NAME}"


def of_tail(domain: str, label: str) -> str:
    """Return the pattern of tails that share a head: ``movies that {name} directed``."""
    things = plural(domain)
    clause = finite(label)
    has = _HAS.fullmatch(label)
    if not clause or (has and not _PREPOSITION.fullmatch(label) and not _WHERE_AT_END.fullmatch(label)):
        return f"{things} {_who(domain)} are the {has[1] if has else label} of {NAME}"
    ends = None if clause.endswith(label) and clause != label else _WHERE_AT_END.fullmatch(clause)
    return f"{things} that {NAME} {ends[1] if ends else clause}"


def of_either(domain: str, label: str) -> str:
    """Return the pattern of either end of a relation labelled ``has as target, or is it``; "" for other labels.

    Example: ``drugs linked to {name} as target``.
    """
    found = _EITHER.fullmatch(label)
    return f"{plural(domain)} linked to {NAME} as {found[1]}" if found else ""


def are_people(node_type: str) -> bool:
    """Return whether a type's name means people."""
    return spoken(node_type).casefold() in _PEOPLE


def _who(domain: str) -> str:
    return "who" if are_people(domain) else "that"


def has_marks(text: str) -> bool:
    """Return whether a text contains the marks of phrases in QUEST's queries."""
    return "<mark>" in text or "</mark>" in text


def of_attribute(domain: str, attribute: str, *, year: bool, several: bool) -> str:
    """Return the pattern of nodes with one value of an attribute.

    ``year``: the values are years. ``several``: the attribute is a list.
    """
    things, words = plural(domain), spoken(attribute)
    if year and words.casefold() == "year":
        return f"{things} from {NAME}"
    if year and " " not in words and words.endswith("ed"):
        return f"{things} that were {words} in {NAME}"
    many = bool(_PLURAL.fullmatch(words))
    verb = ("include" if many else "includes") if several else ("are" if many else "is")
    return f"{things} whose {words} {verb} {NAME}"


def of_category(domain: str, category: str) -> str:
    """Return the pattern of members of a type whose name says that it is a category.

    The name alone suffices if the domain is pages.
    """
    if domain in ("document", "page", "article", "entity"):
        return NAME
    return f"{plural(domain)} in the {spoken(category)} {NAME}"
