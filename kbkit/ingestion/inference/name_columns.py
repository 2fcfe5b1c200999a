"""Which columns name the rows of a table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from kbkit.ingestion.inference import names
from kbkit.ingestion.inference.looks import ProfiledColumn
from kbkit.ingestion.inference.profile import ProfiledTable


def name_columns(
    table: ProfiledTable, key: Sequence[str], linked: Collection[str], texts: Collection[str]
) -> tuple[str, ...]:
    """Return the columns of the nodes' names by the first of :data:`NAME_RULES` that finds some.

    There are none if the key is the best one.
    """
    if table.named is not None:
        return table.named
    free = [
        column
        for column in table.columns.values()
        if column.look in ("text", "prose")
        and column.kind != "JSON"
        and not column.are_uuids
        and _tells_apart(column, table)
        and column.name not in {*linked, *texts, *table.names_of_others}
    ]
    found = next((columns for rule in NAME_RULES if (columns := rule(table, key, free)) is not None), ())
    return found or _referring_name(table, key, linked)


def _tells_apart(column: ProfiledColumn, table: ProfiledTable) -> bool:
    """Return whether a column may name rows: some have a value, which is not one of a few that most rows lack, such as
    the titles of officers.
    """
    few = 2 * column.count < table.rows and _REPEATED * column.distinct <= column.count
    return _SPARSE * column.count >= table.rows and not few


def _referring_name(table: ProfiledTable, key: Sequence[str], linked: Collection[str]) -> tuple[str, ...]:
    """Return the column with the names of other rows, if it tells the rows of the table apart, too, and nothing better
    names them: the major of a row about majors, beside its code; the *baker_full* of bakers without a key.
    """
    if any(table.columns[name].look == "text" for name in key):
        return ()
    texts = [c for c in table.columns.values() if c.look == "text" and c.count == table.rows > 1]
    referred = {" ".join(names.subject(name)) for name in linked if names.is_id(name)}
    other = [c.name for c in texts if c.name in table.names_of_others or names.plain(c.name) in referred]
    other = [name for name in other if table.columns[name].distinct == table.rows]
    kind = names.words(table.type)[-1:]
    own = [c.name for c in texts if c.name in linked and {*kind} & {*names.words(c.name)} and not key]
    own = [name for name in own if _MOSTLY * table.rows <= table.columns[name].distinct]
    return tuple((other or own)[:1]) if len(other or own) == 1 else ()


def _first_and_last_name(
    table: ProfiledTable, _: Sequence[str], free: Sequence[ProfiledColumn]
) -> tuple[str, ...] | None:
    return names.of_person([column.name for column in free], table.type)


def _called_name(table: ProfiledTable, key: Sequence[str], free: Sequence[ProfiledColumn]) -> tuple[str, ...] | None:
    """Return the column called ``name``, ``title`` and so on, or as the table itself."""
    plain = {names.plain(column.name).removesuffix(" 1"): column.name for column in reversed(free)}
    own = [c for c in free if c.look == "text" and names.is_own_name(c.name, table.type)]
    accepted = (*names.NAMES, *(names.plain(column.name) for column in own))
    column = next((plain[name] for name in accepted if name in plain), None)
    if column is None:
        return None
    if names.is_file(column):  # a file of an activity that has a name, too
        named = [c.name for c in free if c.look == "text" and _is_name_of_row(c)]
        column = next(iter([one.name for one in own if one.name in named] or named), column)
    return () if tuple(key) == (column,) else (column,)


def _real_name(table: ProfiledTable, key: Sequence[str], free: Sequence[ProfiledColumn]) -> tuple[str, ...] | None:
    """Return the column called ``real_name``, beside which ``name`` is a login."""
    found = [c for c in free if names.plain(c.name) == "real name" and c.count == table.rows and c.name not in key]
    return (found[0].name,) if found else None


def _english_name(table: ProfiledTable, key: Sequence[str], free: Sequence[ProfiledColumn]) -> tuple[str, ...] | None:
    """Return the column with the English ones of names in several languages."""
    found = [c for c in free if names.is_english_name(c.name) and 2 * c.count >= table.rows and c.name not in key]
    return (found[0].name,) if found else None


def _short_summary(table: ProfiledTable, key: Sequence[str], free: Sequence[ProfiledColumn]) -> tuple[str, ...] | None:
    """Return the column of summaries in one line, which are titles where a longer text follows."""
    others = [c for c in table.columns.values() if c.look == "prose" and names.words(c.name)[-1:] not in _SUMMARIES]
    for column in free:
        short = 0 < column.length < _LINE and (not others or any(column.length < one.length for one in others))
        if short and names.words(column.name)[-1:] in _SUMMARIES and column.name not in key:
            return (column.name,)
    return None


def _first_without_header(
    table: ProfiledTable, key: Sequence[str], free: Sequence[ProfiledColumn]
) -> tuple[str, ...] | None:
    """Return the first text of a file without a line of names, where no name says anything."""
    if not table.spec.columns:
        return None
    return next(((c.name,) for c in free if c.name not in key and c.look == "text" and c.distinct > 1), ())


def _beside_key(_: ProfiledTable, key: Sequence[str], free: Sequence[ProfiledColumn]) -> tuple[str, ...] | None:
    """Return the column that has the word ``name`` where the key has one of an identifier: ``franchName``."""
    if len(key) != 1 or not names.is_id(key[0]) or names.is_generic(key[0]):
        return None
    before = names.words(key[0])[:-1]
    named = {(*before, word) for word in ("name", "title", "label")} if before else set()
    return next(((c.name,) for c in free if names.words(c.name) in named), None)


def _is_name_of_row(column: ProfiledColumn) -> bool:
    words = names.words(column.name)
    return (
        words[-1:] in (("name",), ("title",), ("codename",), ("hostname",))
        and not names.OTHERS & set(words[-2:-1])
        and not names.is_file(column.name)
    )


def _ending_in_name(table: ProfiledTable, key: Sequence[str], free: Sequence[ProfiledColumn]) -> tuple[str, ...] | None:
    """Return a column that ends in ``name`` or ``title`` and has few repetitions."""
    for column in sorted(free, key=lambda column: "short" in names.words(column.name)):
        mostly = 2 * column.count >= table.rows and 10 * column.distinct >= 9 * column.count
        if _is_name_of_row(column) and mostly and column.name not in key:
            return (column.name,)
    return None


def _whole_name(_: ProfiledTable, key: Sequence[str], free: Sequence[ProfiledColumn]) -> tuple[str, ...] | None:
    """Return the column called the official name, the full title and the like, which may be that of several rows."""
    whole = [c.name for c in free if c.distinct > 1 and names.words(c.name) in _WHOLE and c.name not in key]
    return next(((name,) for name in whole), None)


def _called_as_rows(table: ProfiledTable, key: Sequence[str], free: Sequence[ProfiledColumn]) -> tuple[str, ...] | None:
    """Return the column called as the last word of the type, if few rows share a value: the ``Zone`` of taxi zones."""
    kind = names.words(table.type)[-1:]
    own = [c for c in free if names.words(c.name) == kind and c.name not in key and c.count == table.rows]
    return next(((c.name,) for c in own if c.look == "text" and _MOSTLY * table.rows <= c.distinct), None)


def _distinct_after_key(
    table: ProfiledTable, key: Sequence[str], free: Sequence[ProfiledColumn]
) -> tuple[str, ...] | None:
    """Return the second column, after the key, if no two rows have the same text in it."""
    if tuple(key) != (next(iter(table.columns)),) or "name" in names.words(key[0]):
        return None
    named_code = names.is_id(key[0]) or names.is_global_id(key[0]) or table.columns[key[0]].codes
    if table.columns[key[0]].look == "text" and not named_code:
        return None  # a word, which is a name itself
    for column in list(table.columns.values())[1:2]:
        is_text = column in free and column.look == "text" and column.distinct == table.rows
        if is_text and names.words(column.name)[-1] not in names.OTHERS:
            return (column.name,)
    return None


def _short_description(
    table: ProfiledTable, key: Sequence[str], free: Sequence[ProfiledColumn]
) -> tuple[str, ...] | None:
    """Return the column of short descriptions, as lists of goods have them beside a number, if it is the only one."""
    found = [c for c in free if names.words(c.name)[-1:] in _DESCRIPTIONS and c.name not in key]
    if len(found) != 1 or len(key) != 1 or not names.is_id(key[0]):
        return None
    [column] = found
    short = 0 < column.length < _SHORT and _MOSTLY * table.rows <= column.count
    return (column.name,) if short and 4 * column.distinct >= column.count else None


_NameRule = Callable[[ProfiledTable, Sequence[str], Sequence[ProfiledColumn]], "tuple[str, ...] | None"]
NAME_RULES: tuple[_NameRule, ...] = (
    _first_and_last_name,
    _real_name,
    _english_name,
    _called_name,
    _short_summary,
    _first_without_header,
    _beside_key,
    _ending_in_name,
    _whole_name,
    _called_as_rows,
    _distinct_after_key,
    _short_description,
)
"""Where the names of nodes are looked for: functions of a table, its key, and the texts that are free to be names."""
_WHOLE = {(which, word) for word in ("name", "title") for which in (
    "full", "official", "long", "complete", "preferred", "proper", "legal", "original", "main", "short")}  # fmt: skip
"""Words of columns with one of the names of the row itself, best first."""
_SPARSE = 20
"""Rows of which at least one has a value in a column of names."""
_REPEATED = 5
"""Rows with the same value on average from which a column with few values names no rows."""
_MOSTLY = 0.9
"""Fraction of the rows that a column of names tells apart, at least."""
_SHORT = 40
"""Mean number of characters up to which descriptions are names."""
_DESCRIPTIONS = {(word,) for word in ("description", "designation", "beschreibung", "descripción", "descrizione")}
_LINE = 80
"""Mean number of characters up to which summaries are titles."""
_SUMMARIES = {("summary",), ("subject",), ("headline",)}
