"""Stage 3: paraphrases of queries, by the forms of ``frames/sets.toml`` or by a model, and a parser of these forms."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from kbkit.benchmarks.pipeline import Row, Stage
from kbkit.benchmarks.quest.draft import DraftQuery
from kbkit.benchmarks.quest.grammar import Shape, grammar
from kbkit.english.modifiers import (
    PEOPLE,
    FormSlot,
    WordedForm,
    affirmed,
    are_people,
    divided,
    fits,
    heads_of,
    in_group,
    lengthened,
)

if TYPE_CHECKING:
    from kbkit.llm.calls import Calls

PROMPT = "quest_paraphrase"


@dataclass(frozen=True)
class Paraphrase(Row):
    """The wording of a query."""

    query: str = ""


PARAPHRASES = Stage("3_paraphrases", Paraphrase)


def by_grammar(shape: Shape, phrases: Sequence[str], parser: Parser, rng: random.Random) -> str:
    """Return a random form of the query that ``parser`` reads as the same expression, or "" if every form is ambiguous.

    ``parser`` must know the phrases.
    """
    letters = dict(zip(shape.letters, phrases, strict=True))
    parts = [parser.categories[phrase] for phrase in phrases]
    wanted = shape.expression([parts[i] for i in shape.ordered(parts)])
    leads = grammar().leads
    lead = rng.choice([*[""] * grammar().plain, *leads])
    for tier in shape.tiers:
        forms = list(tier)
        rng.shuffle(forms)
        for form in forms:
            words = form.render(letters)
            query = _sentence(lead, words, form) if words else ""
            if query and parser.parse(query) == wanted:
                return query
    return ""


def _sentence(lead: str, words: str, form: WordedForm) -> str:
    """Return a query with its lead and a capital."""
    text = f"{lead} {words}" if lead and form.text.startswith("{") else words
    return text[0].upper() + text[1:]


def by_model(calls: Calls, queries: Sequence[DraftQuery]) -> list[tuple[str, str]]:
    """Return a model's wording of each query, or "" and the problem with it."""
    answers = calls.ask(PROMPT, [{"query": query.original, "phrases": query.phrases} for query in queries])
    wordings = ["" if one.value is None else " ".join(str(one.value["query"]).split()) for one in answers]
    return [(words, "" if words else one.problem) for words, one in zip(wordings, answers, strict=True)]


# -- parser -----------------------------------------------------------------------------------------------------------


class Parser:
    """Parses queries over the same ``categories``, which map each known phrase to its expression.

    Phrases may contain words of the grammar ("war or peace"); readings with fewer phrases are preferred.
    """

    def __init__(self, categories: Mapping[str, str]) -> None:
        self.categories = categories
        self._first: dict[int, frozenset[str]] = {}
        self._named: dict[int, dict[tuple[str, str], list[str]]] = {}

    @cached_property
    def _folded(self) -> Mapping[str, str]:
        """The categories by case-folded phrase, without phrases that become ambiguous."""
        by_phrase: dict[str, str] = {}
        several = set()
        for phrase, expression in self.categories.items():
            folded = _spaced(phrase).casefold()
            if by_phrase.setdefault(folded, expression) != expression:
                several.add(folded)
        return {phrase: expression for phrase, expression in by_phrase.items() if phrase not in several}

    def _initials(self, known: Mapping[str, str]) -> frozenset[str]:
        """Return the first characters that a query over these phrases can have."""
        if id(known) not in self._first:
            forms = {form.text[0] for shape in grammar().shapes for form in shape.readable if form.text[0] != "{"}
            groups = {words[:1] for _, words in self._heads(known)}
            self._first[id(known)] = frozenset(forms | groups | {phrase[:1] for phrase in known})
        return self._first[id(known)]

    def _heads(self, known: Mapping[str, str]) -> Mapping[tuple[str, str], list[str]]:
        """Return the phrases by the kind of a slot that says them in words of its own, and these words."""
        if id(known) not in self._named:
            named: dict[tuple[str, str], list[str]] = {}
            for phrase in known:
                for kind, words in heads_of(phrase):
                    for text in {words, words.casefold(), words[:1].lower() + words[1:]}:
                        named.setdefault((kind, text), []).append(phrase)
            self._named[id(known)] = named
        return self._named[id(known)]

    def parse(self, query: str) -> str | None:
        """Return the expression of a query of the grammar; None if there is none, or more than one.

        Operands that commute are sorted. The query is read as written first, then ignoring case.
        """
        text = _spaced(query)
        lowered = text[:1].lower() + text[1:]
        for known, words in ((self.categories, text), (self.categories, lowered), (self._folded, text.casefold())):
            initials = self._initials(known)
            starts = (start for start in _without_leads(words) if start[:1] in initials)
            readings = {reading for start in starts for reading in _readings(start, known, self._heads(known))}
            if readings:
                fewest = min(len(parts) for _, parts in readings)
                best = {reading for reading in readings if len(reading[1]) == fewest}
                expressions = {grammar().shapes[shape].expression(parts) for shape, parts in best}
                return expressions.pop() if len(expressions) == 1 else None
        return None


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _without_leads(text: str) -> Iterator[str]:
    """Yield the text with and without its lead and its final punctuation."""
    bare = [text, *([text[:-1].rstrip()] if text.endswith(("?", ".", "!")) else [])]
    for words in bare:
        yield words
        yield from (words[len(lead) + 1 :] for lead in grammar().read_leads if words.startswith(lead + " "))


_Heads = Mapping[tuple[str, str], Sequence[str]]


def _readings(text: str, known: Mapping[str, str], heads: _Heads) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield every reading of a text: number of the shape, expressions of its letters."""
    for number, shape in enumerate(grammar().shapes):
        for form in shape.readable:
            if not all(piece in text for piece in form.literals):
                continue
            for letters in _matches(form, 0, text, {}, known, heads):
                yield number, _expressions(shape, letters, known)


def _expressions(shape: Shape, phrases: Mapping[str, str], known: Mapping[str, str]) -> tuple[str, ...]:
    parts = [known[phrases[letter]] for letter in shape.letters]
    return tuple(parts[i] for i in shape.ordered(parts))


def _matches(
    form: WordedForm, position: int, text: str, phrases: dict[str, str], known: Mapping[str, str], heads: _Heads
) -> Iterator[dict[str, str]]:
    """Yield the phrases of the letters, if the pieces of a form from ``position`` on match the whole text."""
    if position == len(form.pieces):
        if not text:
            yield phrases
        return
    piece = form.pieces[position]
    if isinstance(piece, str):
        if text.startswith(piece):
            yield from _matches(form, position + 1, text[len(piece) :], phrases, known, heads)
        return
    for end in _ends(form, position, text):
        for phrase in _phrases(piece, text[:end], phrases, heads):
            if phrase in known:
                yield from _matches(form, position + 1, text[end:], {**phrases, piece.letter: phrase}, known, heads)


def _ends(form: WordedForm, position: int, text: str) -> Iterator[int]:
    """Yield the possible ends of a slot: each occurrence of the text that follows it in the form."""
    if position + 1 == len(form.pieces):
        yield len(text)
        return
    following = form.pieces[position + 1]
    assert isinstance(following, str)
    end = text.find(following)
    while end >= 0:
        yield end
        end = text.find(following, end + 1)


def _phrases(slot: FormSlot, words: str, phrases: Mapping[str, str], heads: _Heads) -> Sequence[str]:
    """Return the complete phrases that the words of a slot can stand for."""
    if slot.kind in (":group", ":adjective", ":year"):
        return heads.get((slot.kind, words), ())
    if slot.kind == ":noun":
        return [words] if are_people(words) and not divided(words)[1] else []
    if slot.is_whole:
        return [words] if not slot.kind or fits(slot, divided(words)[1]) else []
    head, before = divided(next(iter(phrases.values())))
    head = PEOPLE if not before and are_people(head) else head
    if slot.kind == "group":
        return [phrase for phrase in heads.get((":group", words), ()) if divided(phrase)[0] == head]
    if slot.kind in ("again", "short", "joint", "apart"):
        words = words.removeprefix("by ") if slot.kind == "apart" else words
        last = divided([*phrases.values()][-1])[1] if slot.kind == "again" else before
        return [f"{head} {rest}" for rest in lengthened(last, words)] if words else []
    if slot.kind == "in":
        words = in_group(words)
    words = f"that {words}" if slot.kind in ("verb", "notverb") else words
    rest = affirmed(words) if slot.kind.startswith("not") else words
    return [f"{head} {rest}"] if rest and fits(slot, rest, before) else []
