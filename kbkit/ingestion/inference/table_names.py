"""Names of tables: what files and sheets are called, without what says when, how or by whom they were made."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from kbkit.english.dictionary import dictionary
from kbkit.ingestion.inference.names import NODES, WRAPPINGS, singular, words

_LEADING = frozenset({"all", "by", "complete", "full", "my", "our", "the", "your"})
_LAST = frozenset({"catalog", "catalogue", "database", "db"})
_EXPORTED = re.compile(r"[ _-]+(?:[0-9a-f]{32}|(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{8,})(?:_all)?$")
"""The hash at the end of a file name, as Notion and others write it."""
_DAY = r"(?:19|20)\d\d(?:[-_.]?[01]\d(?:[-_.]?[0-3]\d)?)?"
_TIME = r"(?:[ T_.-]?[0-2]\d[-_.:]?[0-5]\d(?:[-_.:]?[0-5]\d)?)?"
_DECADE = r"(?:(?:1\d|20)\d0|\d0)'?s"
_MADE = r"(?:final|copy|latest|updated|cleaned|clean|raw|export|exported|backup)"
_DATED = re.compile(
    rf"(?<=[^\W_])(?: ?\(\d\)|[ _.-]+(?:v\d+|\d\d?|{_DAY}{_TIME}|{_DECADE}|{_MADE}|(?:grid|table)[ _]view))+$",
    re.IGNORECASE,
)
"""Words at the end of a file name that say when or how it was made: a year or a date, a version, a view."""
_CODED = re.compile(
    r"(?<![^\W_])(?:(?:[^\W\d_]+_)?[^\W\d_]*id_\d+|[^\W\d_]{2,}\d{3,}|\d{4,})(?![^\W_])_?", re.IGNORECASE
)
"""Words of a file name that are the number of something: of a course, an organism, a year."""
_GRID = re.compile(r"[^\W_]-Grid view$")
_WHOLE_DAY = re.compile(r"(?<=[^\W_])[ _.-]+(?:19|20)\d\d[-_.][01]\d[-_.][0-3]\d$")
_BRACKETS = re.compile(r"[ _-]*\([^()]*\)$")


def without_hash(name: str) -> str:
    """Return the name of a file without a hash at its end."""
    return _EXPORTED.sub("", name) or name


def without_title(names: Sequence[str]) -> list[str]:
    """Return names of tables without the title of a document of sheets before them: ``Budget - Expenses``."""
    titles = {name.partition(" - ")[0] for name in names}
    if len(names) < 2 or len(titles) > 1 or not all(" - " in name for name in names):
        return list(names)
    return [name.partition(" - ")[2] for name in names]


def without_views(names: Sequence[str]) -> list[str]:
    """Return names of tables without the name of a view after a hyphen, as Airtable writes them: ``Works-All works``.

    The view repeats the words of the table, or another file shows the pattern.
    """
    said = any(_GRID.search(name) for name in names)
    short = []
    for name in names:
        table, _, view = name.partition("-")
        again = {singular(word) for word in words(table)} <= {singular(word) for word in words(view)}
        is_view = bool(words(table)) and table == table.rstrip() and (said or (again and " " in view))
        short.append(table if is_view and view.strip() else name)
    counts = Counter(name.casefold() for name in short)
    return [one if counts[one.casefold()] == 1 else name for one, name in zip(short, names, strict=True)]


def without_dates(names: Sequence[str]) -> list[str]:
    """Return names of tables without dates, versions and views at their ends, unless these tell them apart."""
    return _without_codes(_without(_DATED, _without(_WHOLE_DAY, names)))


def _without_codes(names: Sequence[str]) -> list[str]:
    """Return names without the codes and numbers in them, unless these tell them apart or nothing else is left."""
    short = [_CODED.sub("", name).strip("_- .") for name in names]
    counts = Counter(name.casefold() for name in short)
    telling = [one if re.search(r"[^\W\d_]", one) else "" for one in short]
    return [one if one and counts[one.casefold()] == 1 else name for one, name in zip(telling, names, strict=True)]


def without_brackets(names: Sequence[str]) -> list[str]:
    """Return names of tables without brackets at their ends, unless these tell them apart.

    ``Contact`` for ``Contact (res.partner)``, ``Jira`` for ``Jira (2)``.
    """
    return _without(_BRACKETS, names)


def _without(ending: re.Pattern[str], names: Sequence[str]) -> list[str]:
    short = [ending.sub("", name) or name for name in names]
    counts = Counter(name.casefold() for name in short)
    return [one if counts[one.casefold()] == 1 else name for one, name in zip(short, names, strict=True)]


def tables(names: Sequence[str]) -> list[list[str]]:
    """Return the words of each table name, without those that all names share or that say nothing about the rows."""
    split = [list(words(name)) or ["table"] for name in names]
    for place in (0, -1):
        while len(split) > 2 and len({parts[place] for parts in split}) == 1:
            rest = [parts[1:] if place == 0 else parts[:-1] for parts in split]
            if not all(rest) or all(word.isdigit() for parts in rest for word in parts):
                break
            for parts in split:
                parts.pop(place)
    _drop_most_common(split)
    _drop_numbers(split)
    for parts in split:
        for place in (0, -1):
            if len(parts) > 1 and parts[place] in {*WRAPPINGS, *NODES, *(_LAST if place else ())}:
                parts.pop(place)
        while len(parts) > 1 and parts[0] in (*_LEADING, "of"):  # my data, list of countries
            parts.pop(0)
    return split


def _drop_numbers(tables: Sequence[list[str]]) -> None:
    """Drop the number of a version after a word that says nothing about the rows, unless it tells tables apart."""
    counts = Counter(tuple(parts[:-1]) for parts in tables)
    for parts in tables:
        numbered = len(parts) > 1 and parts[-1].isdigit() and parts[-2] in {*WRAPPINGS, *_LAST}
        if numbered and counts[tuple(parts[:-1])] == 1:
            parts.pop()


def _drop_most_common(tables: Sequence[list[str]]) -> None:
    """Drop the first word that most names of tables start with, unless it is an English word: the name of a source."""
    [(word, count)] = Counter(parts[0] for parts in tables).most_common(1) or [("", 0)]
    others = {tuple(parts) for parts in tables if parts[0] != word}
    rest = [tuple(parts[1:]) for parts in tables if parts[0] == word]
    if count < len(tables) and count > 2 and count >= _MOST_NAMES * len(tables) and all(rest):
        bare = all(one.isdigit() for parts in rest for one in parts)
        known = bare or word.isdigit() or dictionary().getLemma(word, "NOUN", lemmatize_oov=False)
        if not known and len(set(rest)) == len(rest) and not others & set(rest):
            for parts in tables:
                if parts[0] == word:
                    parts.pop(0)


_MOST_NAMES = 0.75
