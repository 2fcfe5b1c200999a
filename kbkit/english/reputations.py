"""What a text says its subject is known for, one thing at a time: *tower houses*, *coffee from Mocha*, *carpets*."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from kbkit.english.frames import frame_file
from kbkit.english.question_words import FUNCTION_WORDS
from kbkit.english.sentences import sentences
from kbkit.english.stems import words_of
from kbkit.english.words import inflections, is_nominal, is_plural, lemmas_of

KNOWN = re.compile(
    r"(?<!not )(?<!once )(?<!little )(?<!less )(?<!formerly )\b(?:famous|famed|known|noted|renowned) for"
    r" (?P<list>[^.;:()]+)"
)
_BETWEEN = re.compile(r",? and |, ")
_OWN = re.compile(r"(?P<word>its|his|her|their|the) (?=[a-z])")
_ITEM = re.compile(r"(?:[Aa]n? |[Tt]he )?[^\W\d_][\w'’-]*(?: [^\W\d_][\w'’-]*){0,3}")
_INSIDE = frozenset(("from", "in", "of", "on"))
"""Prepositions inside an item: *coffee from Mocha*."""
_ENDS = re.compile(
    r" (?:across|after|against|along|among|around|at|before|between|by|during|for|including|like|near|over|since"
    r"|such as|that|through|to|until|when|where|which|while|who|whose|with|without) "
)
"""What follows a thing and belongs to it or to the sentence."""

_SUBJECT = re.compile(r"(?P<noun>[^\W\d_]+) (?:are|has been|have been|is|was|were) (?:\w+ )?$")
_INNER = re.compile(
    r"\b(?:across|along|among|by|from|in|into|near|of|on|through|to|with) (?:an?|its|the) (?:[a-z]+ )*?"
    r"(?P<noun>[a-z]+) $"
)
"""A noun within the sentence that a participle describes: in *a valley known for sugar cane*."""
_PRONOUNS = frozenset(("and", "country", "he", "it", "she", "that", "they", "which", "who"))
_HARMS = frozenset(("conflict", "death", "disaster", "genocide", "past", "poverty", "unrest", "violence", "war"))
"""What no one asks for."""


def reputations(text: str, names: Collection[str] = ()) -> Iterator[tuple[int, int]]:
    """Yield where a text names the things that its subject, with some ``names``, is known for."""
    for start, end in sentences(text):
        for known in KNOWN.finditer(text[start:end]):
            before = start + known.start()
            subject = _SUBJECT.search(text, start, before) or _INNER.search(text, start, before)
            if (
                subject
                and subject["noun"].casefold() not in _PRONOUNS
                and not any(name.endswith(subject["noun"]) for name in names)
            ):
                continue  # its capital is known for
            first = start + known.start("list")
            listed, *cut = _ENDS.split(known["list"], maxsplit=1)
            stops = [(one.start(), one.end()) for one in _BETWEEN.finditer(listed)]
            for begin, stop in zip(
                [0, *(end for _, end in stops)], [*(at for at, _ in stops), len(listed)], strict=True
            ):
                item = listed[begin:stop]
                if begin and _is_predicate(item):
                    break
                shift = _determiner(item)
                is_cut = bool(cut) and stop == len(listed) and item.startswith(("a ", "an ", "the "))  # the delta of
                if not is_cut and _is_thing(item[shift:]) and (not shift or _is_bare(item[shift:])):
                    yield first + begin + shift, first + stop


def head_of(item: str) -> str:
    """Return the noun of a thing: *coffee* of *coffee from Mocha*."""
    words = item.split()
    at = next((at for at, word in enumerate(words) if at and word in _INSIDE), len(words))
    return words[at - 1]


def names_thing(item: str) -> bool:
    """Return whether a thing has a name of its own: *Lake Bled*, *coffee from Mocha*, but not *Roman ruins*, nor the
    *Nobel Prizes*, which are several.
    """
    words = item.split()
    head = head_of(item)
    after = words[words.index(head) :]
    return any(word[:1].isupper() for word in after[1:]) or (head[:1].isupper() and not is_plural(head))


def is_general(item: str) -> bool:
    """Return whether a thing is one common noun, such as *castles*: others are known for it, too."""
    return len(item.split()) == 1 and not names_thing(item)


def _determiner(item: str) -> int:
    """Return the length of the possessive or article that a thing is named without: *its vineyards*."""
    own = _OWN.match(item)
    return len(own[0]) if own and (own["word"] != "the" or is_plural(head_of(item))) else 0


def _is_bare(item: str) -> bool:
    """Return whether a noun needs no article: *vineyards*, *coffee*."""
    head = head_of(item)
    return is_plural(head) or head in words_of(frame_file("topics")["mass"])


def _is_predicate(item: str) -> bool:
    """Return whether the sentence goes on with another verb: *known for tea, and exports copper*."""
    first, _, rest = item.partition(" ")
    is_verb = any(first in inflections(lemma, "VBZ") for lemma in lemmas_of(first).get("VERB", ()))
    return is_verb and bool(rest)


def _is_thing(item: str) -> bool:
    bare = item.split()
    bare = bare[1:] if bare and bare[0].casefold() in ("a", "an", "the") else bare
    if not _ITEM.fullmatch(item) or not bare:
        return False
    head = head_of(" ".join(bare))
    inner, rest = bare[: bare.index(head) + 1], bare[bare.index(head) + 1 :]
    known = {head, *lemmas_of(head).get("NOUN", ())}
    listed = {name: words_of(frame_file("topics")[name]) for name in ("alone", "general", "plain", "themes", "vague")}
    listed["vague"] |= _HARMS
    if FUNCTION_WORDS.intersection(map(str.casefold, inner)) or len(rest) == 1 or not is_nominal(head):
        return False
    if not known.isdisjoint(listed["vague"] | listed["themes"]) or bare[0].casefold() in listed["plain"]:
        return False
    if len(inner) > 1 and bare[0].endswith("ing") and "NOUN" not in lemmas_of(bare[0]):
        return False  # known for having no traffic lights
    return len(inner) > 1 or head[:1].isupper() or known.isdisjoint(listed["alone"] | listed["general"])
