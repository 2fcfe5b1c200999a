"""Templates with their alternatives decided, as arrays from which questions are filled."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from kbkit.benchmarks.convkgyarn.templates import VARIANTS, ConvTemplate, placeholder
from kbkit.benchmarks.evidence import padded
from kbkit.english.questions import resolved

PRONOUNS = ("it", "they", "he", "she")
_FORMS = {
    "he": {"[they]": "he", "[them]": "him", "[their]": "his"},
    "she": {"[they]": "she", "[them]": "her", "[their]": "her"},
    "they": {"[they]": "they", "[them]": "them", "[their]": "their"},
    "it": {"[they]": "it", "[them]": "it", "[their]": "its"},
}
COLUMNS = ("voice.original", "voice.deixis", "voice.disfluencies", "voice.deixis_disfluencies", "text.original",
           "text.deixis", "text.typos", "text.deixis_typos", "voice.follow_up", "text.follow_up")  # fmt: skip
"""The forms of templates, by their number here."""
NONE, SUBJECT, POSSESSIVE, GIVEN = range(4)
"""Kinds of placeholders."""


@dataclass(frozen=True)
class Rendered:
    """All renderings: three pieces of text around up to two placeholders each.

    ``sets`` numbers (type, predicate, asks), ``said`` has all their words in lower case. ``index`` has the number of a
    rendering by set, related, form, variant, pronoun, past and many, or -1. ``plain``: whether a set's variant has no
    possessive name, so that long names fit.
    """

    sets: pl.DataFrame
    index: NDArray[np.int32]
    pieces: tuple[pl.Series, pl.Series, pl.Series]
    kinds: NDArray[np.int8]
    ids: pl.Series
    plain: NDArray[np.bool_]
    said: pl.DataFrame


def render(templates: Sequence[ConvTemplate]) -> Rendered:
    """Return the renderings of templates."""
    sets: dict[tuple[str, str, str], int] = {}
    for template in templates:
        sets.setdefault((template.type, template.predicate, template.asks), len(sets))
    index = np.full((len(sets), 2, len(COLUMNS), VARIANTS, len(PRONOUNS), 2, 2), -1, np.int32)
    plain = np.ones((len(sets), VARIANTS), bool)
    rows: list[tuple[str, str, str]] = []
    kinds: list[tuple[int, int]] = []
    names: list[str] = []
    said: list[list[str]] = [[] for _ in sets]
    for template in templates:
        number = sets[template.type, template.predicate, template.asks]
        place = (
            number,
            int(template.related),
            COLUMNS.index(f"{template.interaction}.{template.form}"),
            template.variant - 1,
        )
        if template.interaction == "voice" and f"{placeholder(template.type)}'s" in template.text:
            plain[number, template.variant - 1] = False
        known: dict[str, int] = {}
        for p, pronoun in enumerate(PRONOUNS):
            for past in (False, True):
                for many in (False, True):
                    text = rendering(template, pronoun, past=past, many=many)
                    if text not in known:
                        known[text] = len(rows)
                        pieces, kind = _divided(text, placeholder(template.type))
                        rows.append(pieces)
                        said[number].append("|".join(map(padded, pieces)))
                        kinds.append(kind)
                        names.append(template.id)
                    index[*place, p, int(past), int(many)] = known[text]
    plain[~plain.any(axis=1)] = True
    frame = pl.DataFrame(list(sets), schema=["type", "predicate", "asks"], orient="row").with_row_index("set")
    words = frame.drop("set").with_columns(said=pl.Series(map("|".join, said), dtype=pl.String))
    first, second, third = (pl.Series([row[i] for row in rows], dtype=pl.String) for i in range(3))
    return Rendered(
        frame,
        index,
        (first, second, third),
        np.array(kinds, np.int8).reshape(-1, 2),
        pl.Series(names, dtype=pl.String),
        plain,
        words,
    )


def rendering(template: ConvTemplate, pronoun: str, *, past: bool, many: bool) -> str:
    """Return a template's text for a pronoun, a tense and a number of answers; placeholders of names remain."""
    they = pronoun == "they" and "deixis" in template.form
    text = resolved(template.text, past=past, many=many, they=they)
    for mark, word in _FORMS[pronoun].items():
        text = text.replace(mark, word)
    return text if template.interaction == "text" else text[:1].upper() + text[1:]


def _divided(text: str, slot: str) -> tuple[tuple[str, str, str], tuple[int, int]]:
    """Return the pieces of a text around its placeholders, and their kinds."""
    matches = list(re.finditer(rf"{re.escape(slot)}('s)?|\[(?:object|qualifier)\]", text))[:2]
    pieces, done, kinds = [], 0, []
    for match in matches:
        pieces.append(text[done : match.start()])
        is_subject = match[0].startswith(slot)
        kinds.append(POSSESSIVE if is_subject and match[1] else SUBJECT if is_subject else GIVEN)
        done = match.end()
    pieces.append(text[done:])
    pieces += [""] * (3 - len(pieces))
    kinds += [NONE] * (2 - len(kinds))
    return (pieces[0], pieces[1], pieces[2]), (kinds[0], kinds[1])
