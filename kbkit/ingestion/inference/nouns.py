"""Types of tables whose names say how a file was made, not what is in it: ``data``, ``dump``, ``library_export``.

:data:`NOUNS` lists where a better noun is looked for; the user can choose another type.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kbkit.ingestion.inference import names
from kbkit.ingestion.inference.profile import ProfiledTable
from kbkit.ingestion.json_markers import LISTS
from kbkit.stores.sql_names import identifier

if TYPE_CHECKING:
    import duckdb

    from kbkit.ingestion.inference.table_link import TableLink

_MADE = frozenset(["backup", "download", "dump", "export", "exported", "extract", "output", "report"])
"""Words that say how a file was made."""
_PLUMBING = names.WRAPPINGS | _MADE | {"db", "file", "meta", "record", "response", "result", "sheet", "t"}
_WHOLES = frozenset(
    ["archive", "catalog", "catalogue", "collection", "database", "directory", "inventory", "library", "register",
     "registry", "roster"]
)  # fmt: skip
"""Words that say what a file is: of its rows, in the plural only."""
SAYS_NOTHING = _PLUMBING | LISTS | {"all", "main", "page", "part"}
"""Words of the names of lists in JSON; as names of files, ``elements`` and ``items`` may say something."""
_KINDS = frozenset(
    ["type", "object", "kind", "model", "entity", "entity type", "record type", "resource type", "doctype"]
)
_KIND = re.compile(r"[A-Za-z][A-Za-z_ .-]{1,29}")


def rename(con: duckdb.DuckDBPyConnection, tables: Sequence[ProfiledTable], folders: Mapping[str, Path]) -> None:
    """Give tables a type that says more than their names, if there is one; ``folders`` are those of their files."""
    for table in (table for table in tables if table.rows and not table.beyond):
        words = {names.singular(word) for word in table.words if not word.isdigit()}
        if words <= _PLUMBING:
            rules = NOUNS
        elif not table.spec.table and {*table.words} <= _PLUMBING | _WHOLES:
            rules = NOUNS[:-1]
        elif _is_called_as_value(table):
            rules = (_of_key,)
        elif _MADE & set(names.words(table.name)):
            rules = (_only_object, _of_key)
        elif words <= SAYS_NOTHING or set(table.words) <= SAYS_NOTHING:
            rules = NOUNS[:1]
        else:
            continue
        taken = {one.type for one in tables if one is not table}
        found = (noun(con, table, folders.get(table.name)) for noun in rules)
        kinds = (names.types([names.words(noun)])[0] for noun in found if noun)
        table.type = next((kind for kind in kinds if kind not in taken), table.type)


def of_references(
    tables: Sequence[ProfiledTable], links: Mapping[str, Sequence[TableLink]], told: Collection[str]
) -> None:
    """Give tables of *nodes* the type that the identifiers which refer to them are named after (``person_id``), if it
    is one only. The types of the tables ``told`` are the user's.
    """
    for table in (one for one in tables if one.type in names.NODES and one.name not in told):
        found = {
            names.types([names.subject(link.columns[0])])[0]
            for of in links.values()
            for link in of
            if link.target == table.name and names.is_id(link.columns[0]) and not names.is_generic(link.columns[0])
        }
        ends = {names.singular(word) for word in (*names.HEADS, *names.TAILS)}
        nouns = found - ends - names.NODES
        if len(nouns) == 1 and not nouns & {one.type for one in tables}:
            table.type = nouns.pop()


def rename_tables(con: duckdb.DuckDBPyConnection, tables: Sequence[ProfiledTable]) -> None:
    """Give tables the name of what they hold, if theirs is a number after that of a table that is not there any more
    (``user_2``), or that of many files together, which says nothing (``records``). Of two tables of one name, that of
    objects inside of records is named after these, too: the ingredients of recipes.
    """
    for table in tables:
        bare = _NUMBER.sub("", table.name) if "." in table.spec.table else table.name
        new = table.type if bare == TOGETHER else bare
        taken = {one.name.casefold() for one in tables if one is not table}
        if new.casefold() in taken and not table.beyond and (owner := _owner(table, tables)):
            new = f"{owner.name}_{new}"
            words = [*names.words(owner.type), *names.words(bare)]
            if (kind := names.types([words])[0]) not in {one.type for one in tables}:
                table.type, table.words = kind, words
        taken |= {table.name.casefold(), *(column.casefold() for column in table.columns)}
        read = table.folded or any(one.of == table.name for one in tables)  # by a query that has the name
        if new == table.name or new.casefold() in taken or read:
            continue
        con.execute(f"DROP TABLE IF EXISTS {identifier(new)}")  # of copies
        con.execute(f"ALTER TABLE {identifier(table.name)} RENAME TO {identifier(new)}")
        for one in tables:
            one.declared_links = [
                (columns, new if target == table.name else target, by) for columns, target, by in one.declared_links
            ]
            one.beyond = (new, one.beyond[1]) if one.beyond and one.beyond[0] == table.name else one.beyond
        table.name, table.spec = new, replace(table.spec, name=new)


def _owner(table: ProfiledTable, tables: Sequence[ProfiledTable]) -> ProfiledTable | None:
    """Return the table of the records that the objects of a table are in."""
    of = [target for _, target, by in table.declared_links if target and by]
    return next((one for one in tables if of and one.name == of[0]), None)


_NUMBER = re.compile(r"_\d+$")
TOGETHER = "records"
"""The name of a table of files whose folders and names say nothing about it."""


def _only_kind(con: duckdb.DuckDBPyConnection, table: ProfiledTable, _: Path | None) -> str:
    """Return the only value of a column with the kinds of the rows."""
    for column in table.columns.values():
        if names.plain(column.name) in _KINDS and column.look == "text" and column.count == table.rows:
            query = f"SELECT DISTINCT {column.value} FROM {identifier(table.name)} LIMIT 2"
            values = [value for (value,) in con.execute(query).fetchall()]
            if len(values) == 1 and values[0] and _KIND.fullmatch(values[0]):
                return str(values[0])
    return ""


def _only_object(con: duckdb.DuckDBPyConnection, table: ProfiledTable, folder: Path | None) -> str:
    """Return the only kind of the rows, if the column is not one of types, which may be those of goods."""
    named = any(names.plain(column) in _TYPES for column in table.columns)
    return "" if named else _only_kind(con, table, folder)


_TYPES = ("type", "kind")


def _of_key(_: duckdb.DuckDBPyConnection, table: ProfiledTable, __: Path | None) -> str:
    """Return what the first column that is named as an identifier identifies, if it does: ``book`` of ``Book Id``."""
    for column in table.columns.values():
        subject = " ".join(names.subject(column.name))
        full = column.count == table.rows and column.distinct >= _NEARLY * table.rows
        if names.is_id(column.name) and full and not names.is_generic(subject):
            return subject
    return ""


_NEARLY = 0.9


def _of_name(_: duckdb.DuckDBPyConnection, table: ProfiledTable, __: Path | None) -> str:
    """Return what the only column called a name of something names, if it tells the rows apart: ``Product Name``."""
    found = [(names.words(one.name), one) for one in table.columns.values() if one.look == "text"]
    named = [(words[:-1], one) for words, one in found if len(words) > 1 and words[-1] in ("name", "title")]
    if len(named) != 1 or {*named[0][0]} & _ADJECTIVES or not names.is_noun(named[0][0][-1]):
        return ""
    [(words, column)] = named
    return " ".join(words) if column.count == table.rows and column.distinct >= _NEARLY * table.rows else ""


_ADJECTIVES = frozenset(
    ["common", "display", "family", "file", "first", "full", "given", "last", "long", "middle", "official", "other",
     "real", "scientific", "screen", "second", "short", "user"]
)  # fmt: skip
"""Words before *name* that do not say what has the name."""


def _of_kinds(_: duckdb.DuckDBPyConnection, table: ProfiledTable, __: Path | None) -> str:
    """Return the noun in the name of the only column of kinds: ``Item Type``."""
    found = [(names.words(one.name), one) for one in table.columns.values() if one.look == "text"]
    kinds = [words[:-1] for words, one in found if words[-1:] == ("type",) and words[1:] and one.count == table.rows]
    said = len(kinds) == 1 and not {*kinds[0]} & (_PLUMBING | _WHOLES) and names.is_noun(kinds[0][-1])
    return " ".join(kinds[0]) if said else ""


def _is_called_as_value(table: ProfiledTable) -> bool:
    """Return whether a table is called after a column of texts or values of what another column identifies: the
    *descriptions* of diseases.
    """
    own = next((c for c in table.columns.values() if names.plain(c.name) == " ".join(table.words)), None)
    first = next(iter(table.columns))
    return own is not None and own.name != first and names.is_id(first) and own.look not in ("text", "list", "address")


def _of_folder(_: duckdb.DuckDBPyConnection, table: ProfiledTable, folder: Path | None) -> str:
    """Return the name of the folder of a file with one table."""
    if table.spec.table:
        return ""
    words = names.words(folder.name) if folder else ()
    return " ".join(words) if words and not set(words) <= SAYS_NOTHING and not any(map(str.isdigit, words)) else ""


NOUNS: tuple[Callable[[duckdb.DuckDBPyConnection, ProfiledTable, Path | None], str], ...] = (
    _only_kind, _of_key, _of_name, _of_kinds, _of_folder,
)  # fmt: skip
"""Where a noun is looked for, best first; the first ones also if the name may say something."""
