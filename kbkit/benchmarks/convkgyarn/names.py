"""How questions call entities: with their article in voice, in lower case in search queries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import polars as pl

from kbkit.english.names import article_of, spoken_name
from kbkit.english.types import type_noun
from kbkit.schema import Schema

_LONG = 4
"""Words of a name from which it is quoted or gets no possessive."""
_TELLING = 4
"""Letters of a word by which an alias is known to be one."""
_GENERIC = frozenset(
    (
        "the", "of", "and", "de", "la", "le", "el", "al", "mount", "lake", "river", "sea", "gulf", "bay", "strait",
        "saint", "san", "santa", "republic", "kingdom", "state", "states", "united", "democratic", "people", "peoples",
        "islamic", "federal", "north", "south", "east", "west", "northern", "southern", "eastern", "western", "great",
        "new", "old", "grand", "island", "islands", "university", "college", "organization", "organisation", "union",
        "for", "in", "on", "st", "mt", "upper", "lower", "central", "peak", "ocean", "language", "city",
    )
)  # fmt: skip
"""Words that do not identify an entity on their own."""
_COLUMNS = ("voice", "text", "is_long", "is_single")
_NO_ALIAS = (None, None, None, None)
_WORD = re.compile(r"[^\W_]+")


def called(frame: pl.DataFrame, schema: Schema, works: Mapping[str, str]) -> pl.DataFrame:
    """Add to entities (type, name, aliases, year) how they are called: works, whose nouns are given, with their year.

    Columns: voice, text, is_long (no possessive), is_single (one word identifies the entity, so that it must not have
    a typo); and the same with the prefix ``alias_`` for its alias (:func:`current_alias`), null without one.
    """
    aliases = [current_alias(name, other_names) for name, other_names in frame.select("name", "aliases").iter_rows()]
    frame = frame.with_columns(alias=pl.Series(aliases, dtype=pl.String))
    distinct = frame.select("type", "name", "year", "alias").unique(maintain_order=True)
    rows = [
        (
            *(kind, name, year, alias),
            *_dated(_forms(kind, name, schema), works.get(kind, ""), year),
            *(_forms(kind, alias, schema) if alias else _NO_ALIAS),
        )
        for kind, name, year, alias in distinct.iter_rows()
    ]
    names = ["type", "name", "year", "alias", *_COLUMNS, *(f"alias_{column}" for column in _COLUMNS)]
    types = {name: pl.Boolean if "is_" in name else pl.String for name in names}
    known = pl.DataFrame(rows, schema=types, orient="row")
    keys = ["type", "name", "year", "alias"]
    return frame.join(known, on=keys, how="left", nulls_equal=True, maintain_order="left").drop("alias")


def current_alias(name: str, aliases: Iterable[str]) -> str | None:
    """Return the first alias that is a part of the name with its telling words, *Einstein*; None if there is none.

    Other aliases may be names of another time (*Swaziland*), nicknames or foreign, or longer than the name, and nothing
    says when they hold. A part without *North* or the like may name another thing.
    """
    own = set(_WORD.findall(name.casefold()))
    telling = {word for word in own if len(word) >= _TELLING and word not in _GENERIC}
    for alias in aliases:
        words = set(_WORD.findall(alias.casefold()))
        if words < own and words & telling and not (own - words) & _GENERIC:
            return alias
    return None


def _forms(kind: str, name: str, schema: Schema) -> tuple[str, str, bool, bool]:
    """Return a name in voice and in text, whether it is long, and whether one word identifies it."""
    words = _WORD.findall(name.casefold())
    noun = type_noun(kind)
    said = said_in_voice(kind, name, schema)
    nouns = {*_GENERIC, *noun.split()}
    telling = [word for word in words if word not in nouns and len(word) > 1]
    is_owned = bool(kind) and said.startswith(f"the {noun} of ")  # a reservation with the name of a guest
    is_long = len(words) > _LONG or said.startswith('"') or "," in name or is_owned
    text = f"{name} {noun}" if is_owned else name
    return said, " ".join(text.lower().split()), is_long, len(telling) <= 1


def _dated(forms: tuple[str, str, bool, bool], noun: str, year: str) -> tuple[str, str, bool, bool]:
    """Return the forms of the name of a work with its year: *the 2009 movie Fame*."""
    said, text, _, is_single = forms
    return (f"the {year} {noun} {said}", f"{text} {year}", True, is_single) if year and noun else forms


def said_in_voice(kind: str, name: str, schema: Schema) -> str:
    """Return a name in the form that questions use: *the Rhine*, or a title in quotes."""
    return spoken_name(name, kind, article_of(schema.type(kind)) if kind else "")


def given(texts: pl.Series, kind: str, schema: Schema) -> pl.DataFrame:
    """Return how the objects of qualified facts are called in voice and text; ``kind`` is their type, or ""."""
    shown = [said_in_voice(kind, text, schema) if kind and text else text for text in texts]
    return pl.DataFrame({"given_voice": pl.Series(shown, dtype=pl.String), "given_text": texts.str.to_lowercase()})
