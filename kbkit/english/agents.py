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
