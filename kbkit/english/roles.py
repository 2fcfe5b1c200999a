"""Nouns for nodes without a type, from the relations that surround them: what films were directed by are directors.

The end of a relation has the noun of its label (*genre*, *release year*), or of what its verb makes of it (*director*).
What a relation begins at has a noun only if that is sure: :data:`HEADS` names kinds of things by several relations,
all of which a KB must have.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from kbkit.english.categories import MARKERS
from kbkit.english.clauses import Clause
from kbkit.english.frames import frame_file
from kbkit.english.relations import Link
from kbkit.english.types import THING, type_noun
from kbkit.english.verbs import GRADES, of_noun
from kbkit.english.words import is_nominal, is_person, plural, singular, spoken
from kbkit.schema import Relation

TYPES_NEEDED = (
    "Give the nodes types in the recipe (column 'type' of load.sql), or phrases that name them, because 'thing' reads"
    " badly"
)
"""What to do about nodes without types for which no noun is known."""
_IN = frozenset(("actor",))
"""Roles that one has in a thing; others are of it."""


def is_untyped(node_type: str | None) -> bool:
    """Return whether a type says nothing of its nodes."""
    return node_type is None or type_noun(node_type) == THING


@lru_cache(1_000)
def tail_noun(relation: Relation) -> str:
    """Return what the tails of a relation are of its heads, *director* for ``directed_by``, or ""."""
    verb = Link(relation, "", None, of_head=True).verb
    roles: Mapping[str, str] = frame_file("relations")["roles"]
    if verb is not None and verb.singular in roles:
        return roles[verb.singular]
    label = spoken(relation.label or relation.name).casefold()
    first, _, rest = label.partition(" ")
    noun = rest if rest and first in ("has", "in") else label
    is_noun = is_nominal(noun.rpartition(" ")[2]) and of_noun(noun) and " of " not in noun
    return singular(noun) if is_noun and not relation.symmetric else ""


def is_label(noun: str) -> bool:
    """Return whether nodes with a noun are labels or grades of others, whose meaning no type explains."""
    last = noun.rpartition(" ")[2]
    return last in MARKERS or not GRADES.isdisjoint((last, plural(last)))


def is_asked(noun: str, heads: Mapping[str, str]) -> bool:
    """Return whether questions may ask for nodes with a noun: people, or what a relation begins at; not for years."""
    return is_person(noun) or noun in heads.values()


def role_clause(noun: str, thing: str) -> Clause:
    """Return *of X* for the directors of X, and *in X* for its actors."""
    text = f"{'in' if noun.rpartition(' ')[2] in _IN else 'of'} {thing}"
    return Clause(text, text, is_after=True)
