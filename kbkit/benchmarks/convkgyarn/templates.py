"""Stage 5: templates of questions per type and predicate, by grammar (section 2.6 of the paper).

Three variants of each of eight forms, 24 in all; 30 more for questions about a related entity. A template has the
placeholder of its subject (``[river]``, ``[river]'s``), in qualified facts ``[object]`` or ``[qualifier]``, pronouns of
people (``[they]``, ``[them]``, ``[their]``) and alternatives (see :mod:`kbkit.english.questions`).
"""

from __future__ import annotations

import dataclasses
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kbkit.benchmarks.convkgyarn import disfluencies
from kbkit.benchmarks.convkgyarn.predicates import Predicate
from kbkit.benchmarks.convkgyarn.wording import PredicateWording
from kbkit.benchmarks.pipeline import Row, Stage
from kbkit.english.frames import pool
from kbkit.english.modifiers import are_people
from kbkit.english.questions import IT, THEY, Core, SubjectReference
from kbkit.english.types import THING, type_noun
from kbkit.english.words import may_be_person, plural

VARIANTS = 3
VOICE = ("original", "deixis", "disfluencies", "deixis_disfluencies")
TEXT = ("original", "deixis", "typos", "deixis_typos")
FORMS = tuple([("voice", form) for form in VOICE] + [("text", form) for form in TEXT])
"""Interaction and form of the 24 questions about a fact."""
_OF_SUBJECT = re.compile(r"\bthe ((?:[^\[\]]|\[[^\[\]]*\])+?) of \{S\}")
_THERE = re.compile(
    r"(\b(?:have|has|lived?|lie|lies|lying|used|located|spoken|official|status)|\[object\]|[a-z]\]) in it\b"
)
_LONG_NOUN = 2
"""Words of a type's noun up to which *this NOUN* reads well."""


@dataclass(frozen=True)
class ConvTemplate(Row):
    """A template of a question.

    ``asks``: "" for the values of the predicate, else the qualifier that the fact is about; ``given``: what the
    question names of a qualified fact (``object`` or ``qualifier``). ``related``: for a related entity. ``variant``: 1
    to 3; variants of equal number differ only in their phenomena.
    """

    type: str
    predicate: str
    asks: str
    given: str
    interaction: str
    form: str
    variant: int
    text: str
    related: bool = False


TEMPLATES = Stage("5_templates", ConvTemplate)


def placeholder(type_name: str) -> str:
    """Return the placeholder of a type's entities: ``[river]``."""
    return f"[{type_noun(type_name).replace('/', ' or ')}]"


def base_id(predicate: Predicate, asks: str) -> str:
    """Return the part of a template's id that names its fact: ``country.member_of/since``."""
    return f"{predicate.id}/{asks}" if asks else predicate.id


def by_grammar(
    predicate: Predicate, asks: str, wording: PredicateWording, *, person: bool, related: bool, seed: int
) -> Iterator[ConvTemplate]:
    """Yield the 24 or 54 templates of a predicate, or of one of its qualifiers."""
    base = base_id(predicate, asks)
    rng = random.Random(f"{seed} {base}")  # noqa: S311
    maker = _Maker(predicate, wording, person=person, rng=rng)
    about = {"type": predicate.type, "predicate": predicate.predicate, "asks": asks, "given": wording.given}

    def row(interaction: str, form: str, number: int, text: str, *, is_related: bool = False) -> ConvTemplate:
        name = f"{base}:{'related.' if is_related else ''}{interaction}.{form}.{number}"
        return ConvTemplate(
            name, **about, interaction=interaction, form=form, variant=number, text=text, related=is_related
        )

    for is_related in (False, True) if related else (False,):
        texts = maker.voice(is_related=is_related) | maker.text(is_related=is_related)
        for (interaction, form), variants in texts.items():
            for number, text in enumerate(variants, 1):
                yield row(interaction, form, number, text, is_related=is_related)
    if related:
        for interaction in ("voice", "text"):
            frames = rng.sample(pool("conversations", f"follow_up_{interaction}"), VARIANTS)
            for number, frame in enumerate(frames, 1):
                yield row(interaction, "follow_up", number, frame.replace("{name}", maker.slot), is_related=True)


class _Maker:
    """Makes the texts of one predicate."""

    def __init__(self, predicate: Predicate, wording: PredicateWording, *, person: bool, rng: random.Random) -> None:
        self.slot = placeholder(predicate.type)
        self._wording, self._rng = wording, rng
        self._name = SubjectReference.noun(self.slot)
        noun = type_noun(predicate.type)
        is_table = person and not may_be_person(noun) and not are_people(plural(noun))
        self._noun = noun = "person" if is_table else noun  # not: this list
        short = len(noun.split()) <= _LONG_NOUN and noun != THING
        if person:
            self._deictic = (THEY, THEY, SubjectReference.noun(f"this {noun}") if short else THEY)
        else:
            self._deictic = (IT, SubjectReference.noun(f"this {noun}") if short else IT, IT)

    def voice(self, *, is_related: bool) -> dict[tuple[str, str], list[str]]:
        """Return the texts of the voice forms, three each; those of equal number have the same core and frame."""
        frames = self._frames("related_voice" if is_related else "voice", "{direct}?")
        cores = self._cores()
        kinds = self._rng.sample(list(disfluencies.TYPES), VARIANTS)
        texts: dict[tuple[str, str], list[str]] = {("voice", form): [] for form in VOICE}
        for frame, core, pointer, kind in zip(frames, cores, self._deictic, kinds, strict=True):
            deictic = self._other(pointer, core.direct(IT))
            original = _sentence(frame, core, self._name)
            pointing = _there(_sentence(frame, _for_pronoun(core, deictic), deictic))
            state = self._rng.getrandbits(32)
            for form, text in (("original", original), ("deixis", pointing)):
                said = disfluencies.disfluent(text, kind, random.Random(state), is_later=is_related)  # noqa: S311 # the same words in both
                texts["voice", form].append(text)
                texts["voice", "disfluencies" if form == "original" else "deixis_disfluencies"].append(said)
        return texts

    def text(self, *, is_related: bool) -> dict[tuple[str, str], list[str]]:
        """Return the texts of the text forms, three each; typos come later, when the name is known."""
        frames = self._frames("related_text" if is_related else "text", "{key}")
        keys = self._three(self._wording.keys)
        texts: dict[tuple[str, str], list[str]] = {("text", form): [] for form in TEXT}
        for frame, key, pointer in zip(frames, keys, self._deictic, strict=True):
            deictic = self._other(pointer, key)
            bare = SubjectReference(self.slot, self.slot, self.slot)
            original = frame.replace("{key}", bare.in_place(key)).lower()
            pointing = _there(frame.replace("{key}", _key_deixis(key, deictic)).lower())
            for form in TEXT:
                texts["text", form].append(pointing if "deixis" in form else original)
        return texts

    def _other(self, pointer: SubjectReference, text: str) -> SubjectReference:
        """Return a pronoun if the question has the type's noun already: *its mountain range*."""
        return self._deictic[0] if re.search(rf"\b{re.escape(self._noun)}\b", text) else pointer

    def _frames(self, name: str, first: str) -> list[str]:
        """Return three frames; the plain one comes first where there is one."""
        frames = pool("conversations", name)
        others = [frame for frame in frames if frame != first]
        chosen = self._rng.sample(others, VARIANTS)
        return [first, *chosen[1:]] if first in frames else chosen

    def _cores(self) -> list[Core]:
        """Return three cores, the first one without a possessive name, which long names would not bear."""
        cores = list(self._wording.cores)
        plain = [core for core in cores if not core.has_possessive()] or cores
        first = self._rng.choice(plain[:3])
        others = [core for core in cores if core != first]
        self._rng.shuffle(others)
        return [first, *(others + plain * 2)[: VARIANTS - 1]]

    def _three(self, keys: Sequence[str]) -> list[str]:
        shuffled = self._rng.sample(list(keys), len(keys))
        return (shuffled * VARIANTS)[:VARIANTS]


def _sentence(frame: str, core: Core, reference: SubjectReference) -> str:
    text = frame.replace("{direct}", core.direct(reference)).replace("{indirect}", core.indirect(reference))
    return _capital(text)


def _capital(text: str) -> str:
    """Return a text with a capital at its start, also inside alternatives."""
    if text.startswith("["):
        return (
            re.sub(r"(?:^\[|[+~/])[a-z]", lambda m: m[0].upper(), text.partition("]")[0]) + "]" + text.partition("]")[2]
        )
    return text[0].upper() + text[1:]


def _for_pronoun(core: Core, reference: SubjectReference) -> Core:
    """Return a core that reads well with a pronoun: *its length*, not *the length of it*."""
    if reference.possessive.endswith("'s"):
        return core
    return dataclasses.replace(
        core, subject=_OF_SUBJECT.sub(r"{S's} \1", core.subject), wh=_OF_SUBJECT.sub(r"{S's} \1", core.wh)
    )


def _key_deixis(key: str, reference: SubjectReference) -> str:
    """Return a search query with a deictic expression; after the words of a relation it is the subject."""
    if not reference.possessive.endswith("'s"):
        key = re.sub(r"^((?:(?! (?:on|in|by|for|to|that|with) |\[object\]).)+) of \{S\}", r"{S's} \1", key)
    subject = re.compile(r"\{S\}(?= [a-z\[])").search(key)
    if subject and not key.endswith("{S}"):
        text = reference.in_place(key, nominative=True)
        return re.sub(r"\[they\] (is|was|has|joined|became|\w+s)\b", _agree, text) if reference.is_they else text
    return reference.in_place(key)


def _agree(match: re.Match[str]) -> str:
    from kbkit.english.questions import both_numbers

    return f"[they] {both_numbers(match[1])}"


def _there(text: str) -> str:
    return _THERE.sub(lambda m: f"{m[1]} there", text)
