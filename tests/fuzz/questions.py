"""Questions in English that no person asks: to ``ask`` and ``ask_many``, plain, broken, long, and with hostile parts.

A question has an answer or one line of error, in time; asked again it has the same answer; and the expression that it
was read as gives that answer.
"""

from __future__ import annotations

import random
import resource
import time
from collections.abc import Iterator

from kbkit.answers.parse import parse
from kbkit.errors import KbError
from tests.fuzz import Bench, Broken
from tests.fuzz.calls import broken_by, opened
from tests.fuzz.commands import _CONTROL as CONTROL
from tests.fuzz.values import HangError, shown, text, watched

QUESTIONS = 25
"""Questions of a case."""
_SECONDS = 10
"""Time limit of a question."""
_MEMORY = 1 << 20
"""Growth of the peak memory, in KB, that a question may cause."""

_FORMS = (
    "Which {t} {v} {n}?", "What is the {a} of {n}?", "How many {t} are there?", "How many {t} does each {t} have?",
    "Which {t} has the most {t}?", "{t} with the greatest {a}", "{t} with {a} over {x}", "{t} whose {a} is not {x}",
    "Which {t} {v} both {n} and {n}?", "Which {t} {v} {n} but not {n}?", "Is {n} in {n}?", "average {a} of {t} by {t}",
    "{t} without {t}", "the {x} largest {t} of {n}", "{t} between {x} and {x}", "When was {n} born?", "Who {v} {n}?",
    "Which {t} share a {t} with {n}?", "{t} with more than {x} {t}", "What do {n} and {n} have in common?", "{n}",
    "most frequent {a} of {t}", "{t} named {n}", '{t} "{n}"', "percentage of {t} that {v} {n}", "Why is {n} {a}?",
    "Which {t} have no {a}?", "northernmost {t}", "{t} since {x}", "{t} sorted by {a} descending", "all {t} of {n}",
    "Which {t} {v} the {t} that {v} the {t} that {v} {n}?", "{t} or {t} of {n}", "every {t} except {n}",
    "{a}", "{v}?", "{t}",
)  # fmt: skip
_PARTS = {
    "t": ("countries", "cities", "rivers", "languages", "mountains", "country", "genes", "drugs", "things", "people"),
    "v": (
        "border",
        "borders",
        "flow through",
        "are in",
        "speak",
        "is the capital of",
        "have",
        "treats",
        "were born in",
    ),
    "n": ("France", "Spain", "Paris", "the Nile", "Germany", "insulin", "Africa", "Frnace", "FRA", "FRANCE", "g1"),
    "a": ("population", "area", "length", "elevation", "name", "area_km2", "capital", "year", "key", "type"),
    "x": (
        "3",
        "1000",
        "a million",
        "1e400",
        "-5",
        "0.5",
        "2020",
        "half",
        "NaN",
        "9" * 400,
        "three hundred and two",
        "½",
    ),
}
_JOINTS = (
    " and ",
    " or ",
    " but not ",
    ", ",
    " of the ",
    " that ",
    "? ",
    " than ",
    " not ",
    ' "',
    " (",
    "\n",
    "'s ",
    "-",
)


def _filled(rng: random.Random) -> str:
    """Return a question of a known form, with a hostile part now and then."""
    form = rng.choice(_FORMS)
    for name, values in _PARTS.items():
        while f"{{{name}}}" in form:
            part = text(rng)[:2_000] if rng.random() < 0.08 else rng.choice(values)
            form = form.replace(f"{{{name}}}", part.replace("{", "("), 1)
    return form


def question(rng: random.Random) -> str:
    """Return a question: of one form, of several, of words in any order, long, or hostile."""
    kind = rng.random()
    if kind < 0.5:
        return _filled(rng)
    if kind < 0.65:
        return rng.choice(_JOINTS).join(_filled(rng) for _ in range(rng.choice((2, 2, 3, 6))))
    words = [word for _ in range(rng.choice((1, 3, 8))) for word in _filled(rng).split()]
    if kind < 0.8:
        rng.shuffle(words)
        return " ".join(words[: rng.choice((4, 12, 40))])
    if kind < 0.88:
        return rng.choice((" ", " and ", ", ", " of ", " not ")).join(words * (10_000 // max(1, len(words)) + 1))
    if kind < 0.94:
        return text(rng)
    at, question = rng.randrange(20), _filled(rng)
    return (
        question[:at] + rng.choice(("\ud800", "\0", "\x1b[2J", "\u202e", "\u200d", "\t", "\u0301" * 50)) + question[at:]
    )


def case(bench: Bench, seed: int) -> Iterator[Broken]:
    """Ask questions, then the same ones at once."""
    rng = random.Random(seed)
    kb = opened(bench.world if rng.random() < 0.8 else bench.tiny)
    asked = [question(rng) for _ in range(QUESTIONS)]
    for asking in asked:
        peak, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
        try:
            with watched(_SECONDS):
                found = kb.ask(asking)
                printed = repr(found)
                again = kb.ask(asking)
            problems = list(_problems(kb, found, again, printed))
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            took = f" ({time.monotonic() - begun:.0f} s)" if isinstance(error, HangError) else ""
            problems = [broken_by(error, False) + took]
            if isinstance(error, KbError) and ("\n" in str(error).strip() or CONTROL.search(str(error))):
                problems = [f"the error is {shown(str(error), 300)}"]
        if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak > _MEMORY:
            problems.append("more than 1 GB more memory")
        yield from (Broken(f"kb.ask({shown(asking, 400)})", problem) for problem in problems if problem)
    few = [asking for asking in rng.sample(asked, 6) if len(asking) < 5_000]
    try:
        with watched():
            repr(kb.ask_many(few))
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        if problem := broken_by(error, False):
            yield Broken(f"kb.ask_many({shown(few, 2_000)})", problem)


def _problems(kb: object, found: object, again: object, printed: str) -> Iterator[str]:
    if CONTROL.search(printed):
        yield f"a control character: {shown(printed, 400)}"
    expression, confidence = found.expression, found.confidence  # type: ignore[attr-defined]
    if expression != again.expression or confidence != again.confidence:  # type: ignore[attr-defined]
        yield f"asked again: {again.expression!r} instead of {expression!r}"  # type: ignore[attr-defined]
    if not 0 <= confidence <= 1:
        yield f"a confidence of {confidence}"
    if expression:
        parse(str(expression))
        value = kb.answers(str(expression))  # type: ignore[attr-defined]
        if list(value.ids) != list(found.answers.ids):  # type: ignore[attr-defined]
            yield f"{expression!r} has other answers"
