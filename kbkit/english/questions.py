"""Questions without their subject, and how they read directly and after *Can you tell me*.

A core is written as the entries of ``frames/predicates.toml`` are. Its texts contain alternatives in brackets:
``[a~b]`` for a subject that is not, or is, past; ``[a+b]`` for one answer or several; ``[a/b]`` for a singular pronoun
or *they*. The order of precedence is ``~``, ``+``, ``/``: ``[is/are~was/were]``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from kbkit.english.verbs import VerbPhrase
from kbkit.english.words import inflections, lemmas_of

SUBJECT, POSSESSIVE = "{S}", "{S's}"
_BRACKETS = re.compile(r"\[([^\[\]]*[~+/][^\[\]]*)\]")
_DO = ("do", "does", "did")
_HELPERS = frozenset(("is", "are", "was", "were", "has", "have", "had"))


@dataclass(frozen=True)
class SubjectReference:
    """How a question refers to its subject.

    ``is_they``: a pronoun that may be *they*, so that verbs need both numbers.
    """

    nominative: str
    objective: str
    possessive: str
    is_they: bool = False

    @staticmethod
    def noun(text: str) -> SubjectReference:
        """Return the reference by a name or noun phrase."""
        return SubjectReference(text, text, f"{text}'s")

    def in_place(self, text: str, nominative: bool = False) -> str:
        """Return a text with the reference in place of its marks."""
        own = self.nominative if nominative else self.objective
        return text.replace(POSSESSIVE, self.possessive).replace(SUBJECT, own)


THEY = SubjectReference("[they]", "[them]", "[their]", is_they=True)
IT = SubjectReference("it", "it", "its")


@dataclass(frozen=True)
class Core:
    """A question: ``wh`` (*how long*), auxiliary, subject, rest; without ``aux`` the subject is the answer."""

    wh: str
    aux: str = ""
    subject: str = ""
    rest: str = ""

    @staticmethod
    def parse(text: str) -> Core:
        """Parse the notation of ``frames/predicates.toml``."""
        parts = [part.strip() for part in text.split(";")]
        if len(parts) == 1:
            return Core(parts[0])
        wh, aux, *others = parts
        if others and ("{S" in others[0] or len(others) > 1):
            return Core(wh, aux, others[0], others[1] if len(others) > 1 else "")
        return Core(wh, aux, SUBJECT, others[0] if others else "")

    def direct(self, reference: SubjectReference) -> str:
        """Return *how long is the Rhine*."""
        return self._worded(self.aux, self.rest, reference, is_direct=True)

    def indirect(self, reference: SubjectReference) -> str:
        """Return *how long the Rhine is*, as it follows *Can you tell me*."""
        if not self.aux:
            return self.direct(reference)
        return self._worded(*finite(self.aux, self.rest), reference, is_direct=False)

    def _worded(self, aux: str, rest: str, reference: SubjectReference, *, is_direct: bool) -> str:
        is_subject = self.subject == SUBJECT
        subject = reference.in_place(self.subject, nominative=is_subject)
        if reference.is_they and is_subject:
            aux = both_numbers(aux)
            rest = rest if is_direct or aux else both_numbers(rest)
        rest, wh = reference.in_place(rest), reference.in_place(self.wh)
        parts = (wh, aux, subject, rest) if is_direct else (wh, subject, aux, rest)
        return " ".join(" ".join(parts).split())

    def has_possessive(self) -> bool:
        """Return whether the subject is in the possessive somewhere."""
        return any(POSSESSIVE in part for part in (self.wh, self.subject, self.rest))


def finite(aux: str, rest: str) -> tuple[str, str]:
    """Return the auxiliary and the rest of a statement: *does*, *flow into* become "", *flows into*."""
    if set(_words(aux)) <= _HELPERS:
        return aux, rest
    forms = [_finite(resolved(aux, past=past), resolved(rest, past=past)) for past in (False, True)]
    if forms[0] == forms[1]:
        return "", forms[0]
    first, second = forms
    while first.split() and second.split() and first.split()[-1] == second.split()[-1]:
        first, second = first.rpartition(" ")[0], second.rpartition(" ")[0]
    common = forms[0][len(first) :]
    return "", f"[{first}~{second}]{common}"


def _finite(aux: str, rest: str) -> str:
    verb, space, others = rest.partition(" ")
    if aux == "did":
        return _form(verb, "VBD") + space + others
    if aux in _DO:
        return _form(verb, "VBZ") + space + others
    return f"{aux} {rest}"


def _form(verb: str, tag: str) -> str:
    if verb in ("have", "do"):
        return {"VBZ": {"have": "has", "do": "does"}, "VBD": {"have": "had", "do": "did"}}[tag][verb]
    return next(iter(inflections(verb, tag)), verb)


def base_form(verb: str) -> str:
    """Return the infinitive of a finite verb: *flows*, *flowed* become *flow*."""
    if verb in ("has", "had"):
        return "have"
    return next(iter(lemmas_of(verb).get("VERB", ())), verb)


def is_past_form(verb: str) -> bool:
    """Return whether a finite verb is in the past: *directed*, *was*, *had*."""
    if verb in ("was", "were", "had", "did"):
        return True
    lemma = base_form(verb)
    return verb != lemma and verb in inflections(lemma, "VBD") and verb not in inflections(lemma, "VBZ")


@lru_cache(10_000)
def both_numbers(text: str) -> str:
    """Return a text whose first verb agrees with *he* or *they*: ``was born`` becomes ``[was/were] born``."""

    def agreed(verb: str) -> str:
        several = VerbPhrase(verb).plural if verb else verb
        return verb if several == verb else f"{verb}/{several}"

    if text.startswith("["):
        inner, _, after = text[1:].partition("]")
        tenses = ["+".join(_first(part, agreed) for part in tense.split("+")) for tense in inner.split("~")]
        return f"[{'~'.join(tenses)}]{after}"
    first, space, rest = text.partition(" ")
    new = agreed(first)
    return f"[{new}]{space}{rest}" if "/" in new else text


def _first(text: str, agreed: Callable[[str], str]) -> str:
    """Return an alternative with its first word in both numbers, the rest repeated."""
    first, space, rest = text.partition(" ")
    forms = agreed(first).split("/")
    return "/".join(form + space + rest for form in forms)


def resolved(text: str, *, past: bool | None = None, many: bool | None = None, they: bool | None = None) -> str:
    """Return a text with alternatives decided; None leaves them open."""

    def choose(match: re.Match[str]) -> str:
        options = match[1]
        for mark, wanted in (("~", past), ("+", many), ("/", they)):
            if mark in options:
                if wanted is None:
                    return f"[{options}]"
                first, _, second = options.partition(mark)
                options = second if wanted else first
        return options

    return " ".join(_BRACKETS.sub(choose, text).split())


def _words(text: str) -> list[str]:
    return [word for word in re.split(r"[\[\]~+/ ]+", text) if word]
