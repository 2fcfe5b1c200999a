"""Readable names of categories: a plural noun phrase, from a relation's label or an attribute's name.

A label reads as ``head LABEL tail``. In a pattern, ``{name}`` is the node or value that the members of the category
share. A phrase is a head (``movies``) and a modifier (``directed by Jane Doe``) or a relative clause (``in which Jane
Doe acted``).
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
_PARTICIPLES = {
    **{"began": "begun", "bore": "borne", "drew": "drawn", "drove": "driven", "gave": "given", "grew": "grown"},
    **{"knew": "known", "sang": "sung", "spoke": "spoken", "took": "taken", "wrote": "written", "writes": "written"},
    **{"makes": "made", "sells": "sold", "builds": "built", "holds": "held", "leads": "led", "pays": "paid"},
    **{"speaks": "spoken", "wins": "won", "teaches": "taught", "finds": "found", "buys": "bought"},
}
PASSIVE_VERBS = (
    "based|born|built|composed|designed|developed|distributed|educated|employed|featured|filmed|found|founded|held"
    "|hosted|included|introduced|invented|located|made|named|performed|produced|published|recorded|released|set|shot"
    "|shown|situated|sold|sung|translated|used|written"
)
"""Participles that describe an inanimate head without an auxiliary: papers ``published in`` a venue."""
_PREPOSITIONS = "about along among at between by for from in into near of on over through to under with"
_PREPOSITION = re.compile(rf"(?:.* )?(?:{_PREPOSITIONS.replace(' ', '|')}|like)")
_PASSIVE = re.compile(
    r"\w+(?:ed|made|written|sung|built|held|found|known) by|(?:affiliated|associated|related|linked|connected|located"
    r"|based|assigned|attached|married|adjacent|close|similar|equal|next|relative) \w+|\w+ together with"
)
HAS = re.compile(r"ha(?:s|ve|d) (?:an? |the )?(?!as )(.+)")
EITHER = re.compile(r"has as (.+), or is it")
ALSO = re.compile(r"those who (\w+) it also (\w+)")
_IS_A = re.compile(rf"is (an? \w+(?: or an? \w+)*)( (?:{_PREPOSITIONS.replace(' ', '|')})(?: .*)?)")
_PLURAL = re.compile(r"(?!.*(?:series|species|news)$).*[^aius]s|.*[ei]as")
WHERE_AT_END = re.compile(rf"(.* (?:{_PREPOSITIONS.replace(' ', '|')}|as)) (?:the|its|an?) [^,]+")
_STRANDED = re.compile(rf"(.+?) ((?:{_PREPOSITIONS.replace(' ', '|')})(?: or (?:{_PREPOSITIONS.replace(' ', '|')}))?)")
_WITH_PARTICIPLE = re.compile(
    rf"(?:is|was) (\w+ed|{PASSIVE_VERBS}|linked|known)((?: together)? (?:{_PREPOSITIONS.replace(' ', '|')}|as))?"
)
GROUPS = {"category", "class", "family", "field", "genre", "language", "series", "style"}
"""Nouns that follow the name of a group: in the Comedy genre."""
MARKERS = {"hashtag", "keyword", "label", "subject heading", "tag", "term"}
"""Types of words that describe a node; as words, not as things, they are quoted."""
_KINDS = {"kind", "sort", "type"}
_ACRONYMS = {"doi", "eu", "gdp", "id", "isbn", "uk", "un", "url", "us"}


def plural(node_type: str) -> str:
    """Return the plural of a type's name.

    ``country`` gives countries, ``field_of_study`` fields of study, ``gene/protein`` genes or proteins.
    """
    name = spoken(node_type)
    if "/" in name:
        return " or ".join(plural(part) for part in name.split("/"))
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


def of_head(domain: str, label: str, other: str = "") -> str:
    """Return the pattern of heads that share a tail of type ``other``: ``movies about {name}``."""
    things, verb, noun = plural(domain), agreeing(label), spoken(other)
    also = ALSO.fullmatch(label)
    if also:
        return f"{things} such that those who {also[1]} them also {also[2]} {NAME}"
    if noun in MARKERS:
        return f'{things} with the {noun} "{NAME}"'
    if not verb:
        return f"{things} with the {label} {NAME}"
    return (
        f"{things} {_modifier(label, noun) or _participle(domain, label) or f'{_who(domain)} {verb}'} {NAME}".replace(
            f"{_AFTER} {NAME}", ""
        )
    )


_AFTER = "\x00"
"""Marks a modifier that contains the name already."""


def _modifier(label: str, noun: str) -> str:
    """Return the modifier for a label with ``be`` or ``have``, or "" for other labels."""
    has, finite_label = HAS.fullmatch(label), finite(label)
    if has and not WHERE_AT_END.fullmatch(label):
        if _PREPOSITION.fullmatch(label):
            return "" if label.endswith(" with") else f"with {label.partition(' ')[2]}"
        if has[1] == noun:
            return f"in the {NAME} {noun}{_AFTER}" if noun in GROUPS else f"with the {noun}"
        return f"with {NAME} as {article(has[1])} {has[1]}{_AFTER}"
    if finite_label in (f"is in the {noun}", f"comes in the {noun}"):
        return f"in the {NAME} {noun}{_AFTER}"
    if finite_label == "is about":
        return "about"
    found = _WITH_PARTICIPLE.fullmatch(finite_label)
    return f"{found[1]}{found[2] or ''}" if found else ""


def _participle(domain: str, label: str) -> str:
    """Return a label that is a participle, with a preposition, if it is passive for the domain."""
    first, _, rest = label.partition(" ")
    passive = first in PASSIVE_VERBS.split("|") and bool(rest) and rest in _PREPOSITIONS.split()
    return label if passive and (not are_people(domain) or first in ("born", "educated")) else ""


def is_passive(domain: str, label: str) -> bool:
    """Return whether a label is a participle with a preposition that describes nodes of a type."""
    return bool(_participle(domain, label))


def is_past(label: str) -> bool:
    """Return whether a verb is in the past tense."""
    return bool(_PAST.fullmatch(label))


def is_plural(words: str) -> bool:
    """Return whether the last word looks like a plural."""
    return bool(_PLURAL.fullmatch(words))


def ends_with_preposition(label: str) -> bool:
    """Return whether a label ends with a preposition: ``has a coast on``."""
    return bool(_PREPOSITION.fullmatch(label))


def without_place(label: str, clause: str) -> str:
    """Return the clause without a noun for its object at the end: ``is in the language`` gives is in."""
    ends = None if clause.endswith(label) and clause != label else WHERE_AT_END.fullmatch(clause)
    return ends[1] if ends else clause


def article(noun: str) -> str:
    """Return the indefinite article for a noun."""
    return "an" if noun[:1].lower() in "aeio" or noun.lower().startswith(("un", "ur")) else "a"


def of_tail(domain: str, label: str) -> str:
    """Return the pattern of tails that share a head: ``movies directed by {name}``, ``in which {name} acted``."""
    things = plural(domain)
    also = ALSO.fullmatch(label)
    if also:
        return f"{things} also {also[2]} by those who {also[1]} {NAME}"
    clause = finite(label)
    has = HAS.fullmatch(label)
    if not clause or (has and not _PREPOSITION.fullmatch(label) and not WHERE_AT_END.fullmatch(label)):
        noun = has[1] if has else label
        same = noun.casefold() == spoken(domain).casefold()
        return f"{things} of {NAME}" if same else f"{things} {_who(domain)} are {plural_noun(noun)} of {NAME}"
    by = passive(label)
    if by:
        return f"{things} {by} by {NAME}"
    if _participle(domain, label) or _participle("", label):
        clause = f"was {label}"
    clause = without_place(label, clause)
    found = _STRANDED.fullmatch(clause)
    if not found or found[1] in ("is", "was"):
        return f"{things} that {NAME} {clause}"
    return f"{things} {found[2]} {'whom' if are_people(domain) else 'which'} {NAME} {found[1]}"


def plural_noun(noun: str) -> str:
    """Return the plural of a noun with what follows it: ``head of state`` gives heads of state."""
    first, space, rest = noun.partition(" of ")
    *before, last = first.split(" ")
    return " ".join([*before, _plural(last)]) + space + rest


def passive(label: str) -> str:
    """Return the participle of a transitive verb of one word, or ""."""
    if " " in label:
        return ""
    if label in _PARTICIPLES:
        return _PARTICIPLES[label]
    if _PAST.fullmatch(label):
        return "" if label in ("became", "came", "fell", "stood", "went", "had") else label
    verb = _infinitive(label)
    if not verb or label in _AGREES:
        return ""
    return verb + "d" if verb.endswith("e") else re.sub(r"(?<=[^aeiou])y$", "i", verb) + "ed"


def of_either(domain: str, label: str) -> str:
    """Return the pattern of either end of a relation labelled ``has as target, or is it``; "" for other labels.

    Example: ``drugs linked to {name} as target``.
    """
    found = EITHER.fullmatch(label)
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
    things, words = plural(domain), attribute_words(attribute)
    if year and words.casefold() == "year":
        return f"{things} from {NAME}"
    if year and " " not in words and words.endswith("ed"):
        return f"{things} {words} in {NAME}"
    if words.casefold() in _KINDS and not several:
        return f'{things} of the {words} "{NAME}"'
    many = bool(_PLURAL.fullmatch(words))
    verb = ("include" if many else "includes") if several else ("are" if many else "is")
    return f"{things} whose {words} {verb} {NAME}"


def of_flag(domain: str, attribute: str, *, value: bool) -> str:
    """Return the phrase of nodes with a value of a Boolean attribute."""
    first, _, rest = attribute_words(attribute).partition(" ")
    things, who, no = plural(domain), _who(domain), "" if value else "not "
    if rest and first in ("is", "was"):
        return f"{things} {who} {_AGREES[first]} {no}{rest}"
    if rest and first == "has":
        return f"{things} {who} {'' if value else 'do not '}have {rest}"
    return f"{things} {no}marked as {attribute_words(attribute)}"


def flag_name(attribute: str, *, value: bool) -> str:
    """Return what :func:`of_flag` says of its nodes, after the verb."""
    words = attribute_words(attribute)
    first, _, rest = words.partition(" ")
    return ("" if value else "not ") + (rest if rest and first in ("is", "was", "has") else f"marked as {words}")


def attribute_words(attribute: str) -> str:
    """Return an attribute's name as words: ``un_status`` gives UN status."""
    return " ".join(word.upper() if word in _ACRONYMS else word for word in spoken(attribute).split())


def of_category(domain: str, category: str) -> str:
    """Return the pattern of members of a type whose name says that it is a category.

    The name alone suffices if the domain is pages.
    """
    if domain in ("document", "page", "article", "entity"):
        return NAME
    return f"{plural(domain)} in the {spoken(category)} {NAME}"
