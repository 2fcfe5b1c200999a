"""Verbs that mean the same: for what a question says, the verb that a KB has: *traverse*, for *flow through*."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from kbkit.english.words import inflections

_ALIKE = (
    ("border", "adjoin", "abut", "surround"),
    ("traverse", "cross over", "cross", *(f"{verb} through" for verb in ("flow", "run", "go", "pass", "cut"))),
)
"""Verbs of one meaning, the longer ones first."""
_FORMS = ("VB", "VBZ", "VBG", "VBD", "VBN")
_THROUGH = re.compile(r"\bthrough (which .+? (?:runs?|flows?|goes|go|pass(?:es)?|cuts?))\b(?! through)")
"""A preposition before its clause: *the states through which it runs* are those which it runs through."""
_ADJECTIVES = {"border": r"adjacent(?: to)?"}
"""Adjectives that mean the same as a verb in *-ing*."""


def with_known_verbs(text: str, is_known: Callable[[str], bool], is_name: Callable[[str, int], bool]) -> str:
    """Return a text with known verbs for others that mean the same.

    ``is_name`` tells whether the character at a position of a text belongs to a name.
    """
    text = _THROUGH.sub(r"\1 through", text)
    for verbs in _ALIKE:
        known = next((verb for verb in verbs if is_known(verb)), "")
        for other in verbs if known else ():
            if is_known(other):
                continue
            for pattern, form in _forms(other, known):
                parts, at = [], 0
                for found in pattern.finditer(text):
                    if not is_name(text, found.start()):
                        parts += [text[at : found.start()], form]
                        at = found.end()
                text = "".join((*parts, text[at:]))
    return text


@cache
def _forms(verb: str, known: str) -> list[tuple[re.Pattern[str], str]]:
    """Return what finds each form of a verb, with that form of the known one."""
    found = [(re.compile(rf"\b{_inflected(verb, form)}\b"), _inflected(known, form)) for form in _FORMS]
    adjective = _ADJECTIVES.get(known)
    return [*found, (re.compile(rf"\b{adjective}\b"), _inflected(known, "VBG"))] if adjective else found


def _inflected(verb: str, form: str) -> str:
    head, _, rest = verb.partition(" ")
    found = head if form == "VB" else next(iter(inflections(head, form)), head)
    return f"{found} {rest}" if rest else found
