"""Nouns for who does what a verb says: *winner*, of *won*."""

from __future__ import annotations

from collections.abc import Sequence

from kbkit.english.words import lemmas_of, singular

_OTHER_AGENTS = {
    "write": ("author",),
    "make": ("maker", "manufacturer", "creator"),
    "paint": ("artist",),
    "sing": ("artist",),
    "play": ("actor",),
}
"""Nouns for who does something that are not derived from the verb."""
_WORKS = {**dict.fromkeys(("script", "screenplay", "scenario", "story"), "write"), "role": "act"}
"""Verbs for how what a noun means is made."""
_MEANT = {**_WORKS, "author": "write", "appear": "act"}
"""Verbs that words mean which are not derived from them."""

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


BOSSES = frozenset("boss bosses supervisor superior manager mgr supervisors superiors managers".split())  # noqa: SIM905
"""Nouns for whom somebody reports to, of which a KB has one."""


CLIENTS = frozenset(
    """
    customer client buyer guest patron visitor passenger tenant renter borrower subscriber shopper hirer lessee cust
    owner patient pupil student
    """.split()  # noqa: SIM905
)
"""Nouns for those to whom a business sells what it does."""
OF_CLIENTS = frozenset("hire rent borrow buy order book pay purchase reserve lease owe return".split())  # noqa: SIM905
"""Verbs of what clients do."""
OF_STAFF = frozenset("repair fix mend serve treat teach sell make clean prepare handle".split())  # noqa: SIM905
"""Verbs of what is done for clients."""


def done_to(noun: str) -> tuple[str, ...]:
    """Return the verbs of what is done to those that a noun in the singular means: *teach*, of a *student*."""
    return _DONE_TO.get(noun, ())


def meant_verb(word: str) -> str:
    """Return the verb that a word means without being derived from it, *write*, of *author*; empty if there is none."""
    bases = (base for part in ("NOUN", "VERB") for base in lemmas_of(word).get(part, ()))
    return next((_MEANT[base] for base in (word, *bases) if base in _MEANT), "")


def objects_of_verbs(words: Sequence[str]) -> set[int]:
    """Return the positions of nouns for what a verb among the words makes: of *script*, in *wrote the script*."""
    verbs = {base for word in words for base in lemmas_of(word).get("VERB", ())}
    return {at for at, word in enumerate(words) if _WORKS.get(singular(word)) in verbs}


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
