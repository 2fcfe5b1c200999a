"""Phrases of sets: a head with a modifier, what denies it, and the forms that join several phrases.

A phrase such as *movies directed by Jane Doe* has a head and a rest, which is a modifier or a relative clause. What can
begin a rest is in ``frames/sets.toml``, which also explains the slots of a form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import NamedTuple

from kbkit.english import genres
from kbkit.english.frames import frame_file
from kbkit.english.words import inflections, lemmas_of, may_be_person, singular

_SLOT = re.compile(
    r"\{([A-C])(?:(:(?:mod|thing|with|date|clause|verb|noun|group|adjective|year|plain))|\.(rest|short|joint|apart|again|in|mod|bare|other|with|date|group|be|clause|which|that|verb|not|notbare|notwith|notbe|notclause|notverb|nothave))?\}"
)
_CLAUSE = re.compile(r"(?:that|who|whose|(?:[a-z]+ or )?[a-z]+ (?:which|whom)) ")
_NOT_AFTER_BE = re.compile(
    "(?:with|without|such) "
    "|(?!(?:affiliated|associated|based|linked|located|rated|related|used) )(?:also )?(?:[a-z]+(?:ed|wn|tten)"
    "|born|built|found|held|made|set|shot|sold|sung) "
)
"""Modifiers that would need another verb than are, or another tense."""
PEOPLE = "people"
"""The head of phrases with a rest that may follow a noun for people: *chemists who are citizens of France*."""
_IN, _THAT, _WITH = "in ", "that ", "with "
_NOT_HAVE = "do not have "
_FROM = "from "
_DATE = re.compile(r"from \d+")
_MIDDLE = re.compile(r"[a-z ]+ (?:which|whom) |with .* as an? ")
"""A rest with the name in its middle: in which Jane Doe acted."""
GENRE = re.compile(r"in the (.+) genre")
"""A rest whose name may precede the head: *Comedy movies*."""
_PEOPLE = re.compile(r".+(?:ian|wright|eur|smith|pher|nomer)s?")
_SUBJECT = re.compile(r"that (?!an? |the )[a-z]+ ")
"""A clause whose subject is the head."""
_VERB = re.compile(r"(that|who) ((?!an? |the )[a-z]+(?<!ed))(?= )")


class FormSlot(NamedTuple):
    """A slot of a form, as ``frames/sets.toml`` explains.

    ``kind``: "" for the letter's phrase, ``:mod`` and others for a phrase with such a rest, or the part of
    it.
    """

    letter: str
    kind: str

    @property
    def is_whole(self) -> bool:
        """Whether the slot is the whole phrase."""
        return self.kind.startswith(":") or not self.kind


@dataclass(frozen=True)
class WordedForm:
    """A wording: texts and slots in turn."""

    text: str
    pieces: tuple[str | FormSlot, ...]

    @staticmethod
    def of(text: str) -> WordedForm:
        """Parse a form."""
        pieces: list[str | FormSlot] = []
        done = 0
        for match in _SLOT.finditer(text):
            pieces += [text[done : match.start()]] * (match.start() > done)
            pieces.append(FormSlot(match[1], match[2] or match[3] or ""))
            done = match.end()
        return WordedForm(text, (*pieces, *([text[done:]] * (done < len(text)))))

    def render(self, phrases: Mapping[str, str]) -> str:
        """Return the words for the letters' phrases, or "" if a phrase lacks a part or the heads differ."""
        first, last, words = "", "", []
        for piece in self.pieces:
            if isinstance(piece, FormSlot):
                first, last = first or piece.letter, last or piece.letter
                words.append(_part(piece, phrases, first, last))
                last = piece.letter
            else:
                words.append(piece)
            if not words[-1]:
                return ""
        return "".join(words)

    @cached_property
    def literals(self) -> tuple[str, ...]:
        """The texts between the slots."""
        return tuple(piece for piece in self.pieces if isinstance(piece, str))

    @property
    def heads(self) -> int:
        """The number of whole phrases, so of heads."""
        return sum(isinstance(piece, FormSlot) and piece.is_whole for piece in self.pieces)

    def permuted(self, letters: Sequence[Sequence[str]]) -> Iterator[WordedForm]:
        """Yield the form with its letters in each of some orders."""
        for order in letters:
            names = dict(zip(sorted(order), order, strict=True))
            yield WordedForm.of(_SLOT.sub(lambda m, n=names: m[0].replace(m[1], n.get(m[1], m[1]), 1), self.text))  # type: ignore[misc] # names


@cache
def _openers() -> re.Pattern[str]:
    """Return the pattern of the space between a head and what can begin a rest."""
    data = frame_file("sets")["phrases"]
    openers = "|".join([*map(re.escape, data["openers"]), *data["patterns"]])
    return re.compile(rf"(?<=\S) (?=(?:{openers}) \S)")


def _denials() -> Mapping[str, str]:
    """Return beginnings of rests with those that deny them."""
    denials: Mapping[str, str] = frame_file("sets")["denials"]
    return denials


@lru_cache(1 << 14)
def divided(phrase: str) -> tuple[str, str]:
    """Split a phrase into head and rest (``movies``, ``that Jane Doe directed``); rest is "" without an opener."""
    head, *rest = _openers().split(phrase, maxsplit=1)
    return head, rest[0] if rest else ""


def kind_of(rest: str) -> str:
    """Return ``clause`` for a relative clause, ``mod`` for another modifier, "" without one."""
    if not rest:
        return ""
    return "clause" if _CLAUSE.match(rest) else "mod"


def denied(rest: str) -> str:
    """Return the negated rest of a phrase, or "" if the grammar has no negation for it."""
    denials = _denials()
    if any(rest.startswith(no) for no in denials.values()):
        return ""
    for yes, no in denials.items():
        if rest.startswith(yes):
            return no + rest.removeprefix(yes)
    whose = re.match(r"whose (.+?) (is|are) ", rest)
    if whose:
        return f"{whose[0]}not {rest[whose.end() :]}"
    verb = _VERB.match(rest)
    if verb:
        return "" if _is_past(verb[2]) else f"{verb[1]} do not {verb[2]}{rest[verb.end() :]}"
    return f"not {rest}" if kind_of(rest) == "mod" and not rest.startswith(("without ", "such ")) else ""


def _is_past(verb: str) -> bool:
    """Return whether a verb is surely in the past: *held*, but not *set*."""
    lemmas = lemmas_of(verb).get("VERB", ())
    return bool(lemmas) and all(verb != lemma and verb in inflections(lemma, "VBD") for lemma in lemmas)


def affirmed(rest: str) -> str:
    """Invert :func:`denied`; return "" for a rest that is not negated."""
    for yes, no in _denials().items():
        if rest.startswith(no):
            return yes + rest.removeprefix(no)
    if rest.startswith(_NOT_HAVE):
        return _WITH + rest.removeprefix(_NOT_HAVE)
    whose = re.match(r"(whose (?:.+?) (?:is|are) )not ", rest)
    if whose:
        return whose[1] + rest[whose.end() :]
    verb = re.match(r"(that|who) do not ", rest)
    if verb:
        return f"{verb[1]} {rest[verb.end() :]}"
    return rest.removeprefix("not ") if rest.startswith("not ") else ""


def _part(slot: FormSlot, phrases: Mapping[str, str], first: str, last: str) -> str:
    """Return the words of a slot; ``first`` and ``last`` are the letters of the first slot and of the one before."""
    phrase = phrases[slot.letter]
    if not slot.kind:
        return phrase
    (head, before), (own, rest) = divided(phrases[first]), divided(phrase)
    if slot.kind in (":plain", ":noun"):
        return phrase if not rest and (slot.kind == ":plain" or are_people(phrase)) else ""
    if not before and are_people(head):
        head = PEOPLE
    if own != head or not fits(slot, rest, before):
        return ""
    if slot.kind == ":year":
        return rest.removeprefix(_FROM)
    if slot.kind == ":adjective":
        return genres.adjective(group_of(phrase))
    if slot.kind == ":group":
        before = "" if slot.letter == last else group_of(phrases[last])
        return genres.works(group_of(phrase), own) if not before or _may_end(before, group_of(phrase)) else ""
    if slot.kind in ("group", "in"):
        return genres.works(group_of(phrase), own) if slot.kind == "group" else rest.removeprefix(_IN)
    if slot.is_whole:
        return phrase
    if slot.kind == "again":
        return _shortened(divided(phrases[last])[1], rest)
    if slot.kind in ("short", "joint", "apart"):
        is_unclear = slot.kind == "joint" and before.startswith(
            "in "
        )  # in the War genre and the Comedy genre: in both?
        short = "" if is_unclear else _shortened(before, rest)
        return f"by {short}" if slot.kind == "apart" and short and rest.endswith(f" by {short}") else short
    if slot.kind.startswith("not"):
        return _negated(slot, rest, (before, divided(phrases[last])[1]))
    return rest.removeprefix(_THAT) if slot.kind == "verb" else rest


def _negated(slot: FormSlot, rest: str, others: Sequence[str]) -> str:
    """Return the negated rest of a phrase for a slot; without *that* only if it shares no words with ``others``.

    *That use the euro but are not members of X*, but not: *that star Ann Lee but do not star Jo Lee*.
    """
    if slot.kind == "nothave":
        return _NOT_HAVE + rest.removeprefix(_WITH)
    if slot.kind != "notverb":
        return denied(rest)
    is_other_clause = others[-1].startswith(_THAT) and not any(_shortened(other, rest) for other in others)
    return denied(rest).removeprefix(_THAT) if is_other_clause else ""


_NAME = re.compile(r"(?:the )?[\"A-ZÀ-ÖØ-Þ\d]")


def _shortened(before: str, rest: str) -> str:
    """Return a rest without the words that it shares with the one before, or "" unless names follow in both."""
    words, others = rest.split(" "), before.split(" ")
    shared = 0
    if _MIDDLE.match(rest):
        return ""
    while shared < min(len(words), len(others)) - 1 and words[shared] == others[shared]:
        shared += 1
    shared = next((at for at in range(shared) if _NAME.match(words[at])), shared)  # not: and Turkic States
    while shared and words[shared - 1] == "the":
        shared -= 1
    short, long = " ".join(words[shared:]), " ".join(others[shared:])
    return short if shared and _NAME.match(short) and _NAME.match(long) else ""


@lru_cache(1 << 14)
def are_people(phrase: str) -> bool:
    """Return whether a noun phrase in the plural says what people do: *film directors*, *mathematicians*."""
    return may_be_person(singular(phrase)) or bool(_PEOPLE.fullmatch(phrase.rpartition(" ")[2]))


def group_of(phrase: str) -> str:
    """Return the name of the genre that a phrase ends with, or ""."""
    group = GENRE.fullmatch(divided(phrase)[1])
    return group[1] if group and not genres.stands_apart(group[1]) else ""


def _may_end(before: str, genre: str) -> bool:
    """Return whether works of two genres are called by the second: *action comedies*, *historical war movies*.

    Not *war crime movies*: two nouns before a third may mean something else.
    """
    if genres.noun(genre):
        return True
    words = genres.adjective(before)
    is_adjective = "-" in words or ("ADJ" in lemmas_of(words) and "NOUN" not in lemmas_of(words))
    return is_adjective and not genres.noun(before)


def heads_of(phrase: str) -> Iterator[tuple[str, str]]:
    """Yield the kinds of slots that are words before or for a head, with the words that stand for a phrase there."""
    head, rest = divided(phrase)
    if _DATE.fullmatch(rest):
        yield ":year", rest.removeprefix(_FROM)
    if group := group_of(phrase):
        yield ":adjective", genres.adjective(group)
        yield ":group", genres.works(group, head)


def in_group(words: str) -> str:
    """Return the rest that is written without its preposition in *in both the War genre and the Comedy genre*."""
    return _IN + words


def lengthened(before: str, short: str) -> list[str]:
    """Invert the shortening of a rest: return each rest that it can stand for."""
    words = before.split(" ")
    rests = [" ".join([*words[:shared], short]) for shared in range(1, len(words))]
    return [rest for rest in rests if _shortened(before, rest) == short]


def fits(slot: FormSlot, rest: str, before: str = "") -> bool:
    """Return whether the rest of a phrase is of the kind that a slot wants; ``before`` is that of the first phrase."""
    wanted = slot.kind.removeprefix(":").removeprefix("not")
    is_mod, has_with, is_date = kind_of(rest) == "mod", rest.startswith(_WITH), bool(_DATE.fullmatch(rest))
    is_bare, is_second = is_mod and not has_with and not GENRE.fullmatch(rest), not GENRE.fullmatch(before)
    genre = GENRE.fullmatch(rest)
    precedes = genre is not None and not genres.stands_apart(genre[1])
    kinds = {
        "be": is_mod and not _NOT_AFTER_BE.match(rest),
        "bare": is_bare,
        "other": is_bare and not is_date and not (is_second and rest.partition(" ")[0] == before.partition(" ")[0]),
        "thing": is_bare and not is_date,
        "plain": not rest,
        "with": has_with,
        "have": has_with,
        "date": is_date,
        "year": is_date,
        "adjective": precedes,
        "in": bool(GENRE.fullmatch(rest)),
        "group": precedes,
        "noun": not rest,
        "verb": bool(_SUBJECT.match(rest)),
        "that": bool(_SUBJECT.match(rest)),
        "which": kind_of(rest) == "clause" and not rest.startswith("whose "),
    }
    if wanted in kinds:
        return kinds[wanted]
    return wanted in ("", "rest", "short", "joint", "apart", "again", kind_of(rest))
