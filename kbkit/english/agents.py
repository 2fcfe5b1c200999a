"""Nouns for who does what a verb says: *winner*, of *won*."""

from __future__ import annotations

from kbkit.english.words import lemmas_of

_OTHER_AGENTS = {
    "write": ("author",),
    "make": ("maker", "manufacturer", "creator"),
    "paint": ("artist",),
    "sing": ("artist",),
    "play": ("actor",),
}
"""Nouns for who does something that are not derived from the verb."""

_TAUGHT = ("student", "pupil", "trainee", "apprentice", "protege", "learner")
_PATIENTS = {
    **dict.fromkeys(("teach", "coach", "train", "tutor", "instruct"), _TAUGHT),
    "mentor": (*_TAUGHT, "mentee"),
    "supervise": ("student", "supervisee", "subordinate"),
    "advise": ("student", "advisee"),
    "manage": ("subordinate",),
    "parent": ("child", "children", "offspring", "kid"),
    "own": ("subsidiary",),
    "supply": ("customer", "client"),
    "depend": ("dependency",),
    "require": ("dependency", "prerequisite"),
    "cite": ("reference",),
}
"""Nouns for whom or what something is done to that are not derived from the verb."""
_DONE_TO: dict[str, tuple[str, ...]] = {}
for _verb, _nouns in _PATIENTS.items():
    for _noun in _nouns:
        _DONE_TO[_noun] = (*_DONE_TO.get(_noun, ()), _verb)


def done_to(noun: str) -> tuple[str, ...]:
    """Return the verbs of what is done to those that a noun in the singular means: *teach*, of a *student*."""
    return _DONE_TO.get(noun, ())


def agent_nouns(verb: str) -> set[str]:
    """Return the nouns for who does what a form of a verb says: *requester*, of *requested*, *author*, of *wrote*.

    Not all of them are English words.
    """
    bases = {verb, *lemmas_of(verb).get("VERB", ())}
    others = {noun for base in bases for noun in _OTHER_AGENTS.get(base, ())}
    endings = {f"{base}{end}" for base in bases for end in ("er", "or", "r", f"{base[-1:]}er", "ist")}
    return (
        endings
        | {f"{base.removesuffix('e')}{end}" for base in bases for end in ("er", "or")}
        | (bases - {verb})
        | others
    )
