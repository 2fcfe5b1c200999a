"""Clauses of noun phrases, and the jobs and roles that they give: *are physicists* for *worked as a physicist*."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kbkit.english.frames import frame_file
from kbkit.english.words import plural, with_article

if TYPE_CHECKING:
    pass

_ROLE = re.compile(r"\b(work(?:ed)?) as ['\"]([a-z][^'\"]*)['\"]")
JOB = re.compile(r"(?:work(?:s|ed) as|did not work as) an? ([a-z][^'\"]*)")
_WITH_JOB = re.compile(r"\b(a person|any person|people) who work(?:s|ed)? as an? ([a-z][^'\",]*)$")


@dataclass(frozen=True)
class Clause:
    """What a noun phrase says of its noun, for one thing and for several.

    ``reduced`` is a form without *that* (``directed by Ang Lee``), or "". ``is_subject``: the noun is the subject of
    the clause; otherwise its object (``that Ang Lee acted in``). ``others`` say the same in other words:
    ``that Ang Lee directed`` for ``that was directed by Ang Lee``. ``before``: the clause precedes the noun instead
    (``R-rated``), and ``singular`` and ``plural`` are "". ``is_after``: they follow the noun (``of Peru``). ``genre``:
    the genre that ``before`` is the adjective of. ``is_alike``: it names a thing of the same kind (``next to Chad``).
    """

    singular: str
    plural: str
    reduced: str = ""
    is_subject: bool = True
    others: tuple[Clause, ...] = ()
    before: str = ""
    is_after: bool = False
    genre: str = ""
    is_alike: bool = False

    @property
    def with_verb(self) -> Clause:
        """The clause in the words with a verb of its own: *directed by X*, not *by X*."""
        ways = [way for way in (self, *self.others) if not way.reduced.startswith("by ")]
        return replace(ways[0], others=tuple(ways[1:])) if ways else self

    @property
    def whole(self) -> Clause:
        """The clause without a short form, which the name before it would seem to have."""
        if self.is_subject or not self.reduced:
            return replace(self, reduced="")
        return replace(self, singular=f"is {self.reduced}", plural=f"are {self.reduced}", reduced="", is_subject=True)


def roles() -> Mapping[str, str]:
    """Return what to call a person of a type among those of a thing."""
    known: Mapping[str, str] = frame_file("relations")["roles"]
    return known


def with_role(clause: Clause, role: str, name: str, *, is_maker: bool) -> tuple[Clause, ...]:
    """Return further words for things that share a person who is the ``role`` of each, such as the director.

    ``is_maker``: things are *by* one in this role alone, so that *from the director of X* says which.
    """
    same = f"the same {role} as {name}"
    made = Clause(clause.singular, clause.plural, f"from the {role} of {name}")
    return (Clause(f"has {same}", f"have {same}", f"with {same}"), *([made] if is_maker else []))


def of_role(clause: Clause, shared: str, role: str, name: str) -> Clause:
    """Return a clause with *the director of X* for *the same person as X* and its other words.

    *Films by the director of X*, if there are such words, not *directed by the director of X*.
    """
    person = f"the {role} of {name}"
    if any(way.reduced == f"by {shared}" for way in clause.others):
        by = Clause(f"is by {person}", f"are by {person}", f"by {person}")
        return replace(by, others=with_role(by, role, name, is_maker=True))
    ways = tuple(
        replace(
            way,
            singular=way.singular.replace(shared, person),
            plural=way.plural.replace(shared, person),
            reduced=way.reduced.replace(shared, person),
            others=(),
        )
        for way in (clause, *clause.others)
    )
    return replace(clause, others=(*ways, *with_role(clause, role, name, is_maker=False)))


def in_role(text: str) -> str:
    """Return *worked as an actor* for *worked as 'actor'*, and *a poet* for *a person who worked as a poet*."""
    text = _ROLE.sub(lambda match: f"{match[1]} as {with_article(match[2])}", text)
    return _WITH_JOB.sub(_job, text)


def _job(match: re.Match[str]) -> str:
    first, _, _ = match[1].partition(" ")
    return plural(match[2]) if first == "people" else with_article(match[2]) if first == "a" else f"any {match[2]}"


def of_job(clause: Clause, is_also: bool) -> Clause:
    """Return *are physicists*, which suits the living and the dead, for *worked as a physicist*.

    ``is_also``: after another job.
    """
    job = JOB.fullmatch(clause.singular)
    if job is None:
        return clause
    word = "not " if job[0].startswith("did not") else "also " * is_also
    return Clause(f"is {word}{with_article(job[1])}", f"are {word}{plural(job[1])}")
