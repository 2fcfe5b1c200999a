"""Templates by a model (section 2.6 of the paper): five facts a call, checked by the rules, failures asked again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from kbkit.benchmarks.convkgyarn import rules
from kbkit.benchmarks.convkgyarn.facts import Asked
from kbkit.benchmarks.convkgyarn.select import ATTEMPTS
from kbkit.benchmarks.convkgyarn.templates import TEXT, VARIANTS, VOICE, ConvTemplate, base_id, placeholder
from kbkit.english.frames import pool

if TYPE_CHECKING:
    from kbkit.llm.calls import Calls

PROMPTS = ("conv_voice", "conv_text", "conv_voice_qualified", "conv_text_qualified")
FACTS = 5
"""Facts in one call, as in section 2.6 of the paper."""
_LETTERS = "abcde"
_CONNECTIVES = {"voice": ("And", "Now,", "OK, and"), "text": ("and", "also", "now")}
"""Words before the model's questions if they are about a related entity."""


@dataclass(frozen=True)
class _Batch:
    """Facts of one type for one call: of simple and complex predicates, or of qualified ones."""

    interaction: str
    asked: tuple[Asked, ...]

    @property
    def prompt(self) -> str:
        """The prompt's name."""
        return f"conv_{self.interaction}{'_qualified' if self.asked[0].qualifier else ''}"

    def inputs(self, problem: str) -> Mapping[str, Any]:
        """Return the prompt's inputs; ``problem`` is what was wrong with the last answer."""
        subject = placeholder(self.asked[0].predicate.type)
        turns = []
        for number, one in enumerate(self.asked):
            turn = {"turn": number + 1, "subject": subject, "predicate": one.predicate.described}
            if one.qualifier:
                about = one.given == "object"
                turn["relationship_predicate"] = one.qualifier.label if about else f"value at {one.qualifier.label}"
                turn["given"] = f"[{one.given}]"
            turns.append({**turn, "object": f"[{_LETTERS[number]}]"})
        return {"turns": turns, "problem": problem}


def by_model(calls: Calls, asked: Sequence[Asked], related: Sequence[str]) -> list[ConvTemplate]:
    """Return the templates of a model.

    A fact whose templates break the rules after ``ATTEMPTS`` calls has one row, dropped with the reason.
    """
    batches = [_Batch(kind, part) for part in _parts(asked) for kind in ("voice", "text")]
    done: dict[int, list[ConvTemplate]] = {}
    problems = dict.fromkeys(range(len(batches)), "")
    for attempt in range(ATTEMPTS):
        left = [number for number in range(len(batches)) if number not in done]
        for prompt in PROMPTS:
            own = [number for number in left if batches[number].prompt == prompt]
            answers = calls.ask(prompt, [batches[n].inputs(problems[n]) for n in own], sample=attempt)
            for number, answer in zip(own, answers, strict=True):
                rows, problems[number] = (
                    ([], answer.problem) if answer.problem else _read(batches[number], answer.value)
                )
                if not problems[number]:
                    done[number] = rows
    templates: list[ConvTemplate] = []
    for number in range(0, len(batches), 2):
        voice, text = done.get(number), done.get(number + 1)
        for position, one in enumerate(batches[number].asked):
            base = base_id(one.predicate, one.qualifier.name if one.qualifier else "")
            if voice is None or text is None:
                reason = f"the model's templates are invalid: {problems[number] or problems[number + 1]}"
                templates.append(_row(one, "voice", "original", 1, "", dropped=reason))
                continue
            rows = [row for row in (*voice, *text) if row.id.rpartition(":")[0] == base]
            templates += rows
            if one.predicate.type in related:
                templates += _related(rows, position)
    return templates


def _parts(asked: Sequence[Asked]) -> Iterator[tuple[Asked, ...]]:
    """Yield the facts of each type, simple and qualified ones apart, five at a time."""

    def kind(one: Asked) -> tuple[str, bool]:
        return one.predicate.type, one.qualifier is not None

    for _, group in groupby(sorted(asked, key=kind), key=kind):
        rows = list(group)
        yield from (tuple(rows[start : start + FACTS]) for start in range(0, len(rows), FACTS))


def _row(asked: Asked, interaction: str, form: str, variant: int, text: str, dropped: str = "") -> ConvTemplate:
    asks = asked.qualifier.name if asked.qualifier else ""
    name = f"{base_id(asked.predicate, asks)}:{interaction}.{form}.{variant}"
    p = asked.predicate
    given = asked.given if asked.qualifier else ""
    return ConvTemplate(name, p.type, p.predicate, asks, given, interaction, form, variant, text, dropped=dropped)


def _read(batch: _Batch, value: Mapping[str, Any]) -> tuple[list[ConvTemplate], str]:
    """Return the templates of an answer, and what is wrong with it or ""."""
    rows: list[ConvTemplate] = []
    turns = {turn["turn"]: turn for turn in value["turns"]}
    if set(turns) != set(range(1, len(batch.asked) + 1)) or len(turns) != len(value["turns"]):
        return [], f"there must be one entry for each of the {len(batch.asked)} turns"
    forms = VOICE if batch.interaction == "voice" else ("original", "deixis")
    for number, one in enumerate(batch.asked):
        turn = turns[number + 1]
        letter = f"[{_LETTERS[number]}]"
        if turn["answer"] != letter:
            return [], f"the answer of turn {number + 1} must be {letter}"
        for form in forms:
            for variant, text in enumerate(turn[form], 1):
                row = _row(one, batch.interaction, form, variant, " ".join(text.split()))
                if wrong := rules.problem(row, one.predicate.label):
                    return [], f"turn {number + 1}, {form} {variant}: {wrong}"
                rows.append(row)
                if batch.interaction == "text":  # typos are made when the name is known
                    typo = TEXT[2] if form == "original" else TEXT[3]
                    rows.append(_row(one, "text", typo, variant, row.text))
    return rows, ""


def _related(rows: Sequence[ConvTemplate], position: int) -> Iterator[ConvTemplate]:
    """Yield the 30 templates about a related entity: the model's, after a connective, and follow-ups."""
    for row in rows:
        word = _CONNECTIVES[row.interaction][(row.variant - 1) % VARIANTS]
        text = row.text if row.text[:1] in "[" or row.text.startswith("I ") else row.text[:1].lower() + row.text[1:]
        name = row.id.replace(":", ":related.", 1)
        yield replace(row, id=name, text=f"{word} {text}", related=True)
    for interaction in ("voice", "text"):
        frames = pool("conversations", f"follow_up_{interaction}")
        first = next(row for row in rows if row.interaction == interaction)
        for number in range(1, VARIANTS + 1):
            text = frames[(position + number) % len(frames)].replace("{name}", placeholder(first.type))
            name = f"{first.id.rpartition(':')[0]}:related.{interaction}.follow_up.{number}"
            yield replace(first, id=name, form="follow_up", variant=number, text=text, related=True)
