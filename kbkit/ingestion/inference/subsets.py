"""Tables of some of the things that another table has, by the same codes: terms of a selection, of all terms."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kbkit.ingestion.inference.keys import reference
from kbkit.ingestion.inference.links import Guesses
from kbkit.ingestion.inference.profile import ProfiledTable
from kbkit.ingestion.inference.shared_values import SharedValues
from kbkit.ingestion.inference.table_link import TableLink
from kbkit.stores.sql_names import identifier

if TYPE_CHECKING:
    import duckdb

_FEWEST, _LONG = 20, 6
"""Codes of a table, and their mean number of characters, from which those that another table has are no coincidence."""
_NEARLY = 0.95


def settle(
    con: duckdb.DuckDBPyConnection,
    tables: Sequence[ProfiledTable],
    guesses: Guesses,
    given: Collection[tuple[str, str]],
) -> Guesses:
    """Return the guesses with links from the keys of such tables to the others. A column that refers to both refers to
    the one with more of its values, or else to the larger one. The user said what the columns ``given`` refer to.
    """
    shared = SharedValues(con)
    links = {name: [*found] for name, found in guesses.links.items()}
    for table in tables:
        key = guesses.keys[table.name]
        linked = {column for link in links[table.name] for column in link.columns}
        if len(key) != 1 or key[0] in linked or (table.name, key[0]) in given or not _are_codes(con, table, key[0]):
            continue
        found = []
        for other in tables:
            by = guesses.keys[other.name]
            if other.rows > table.rows and len(by) == 1 and other.columns[by[0]].look == "text" and not other.beyond:
                missing, distinct = shared.missing(table, key, other, by)
                if distinct - missing >= _NEARLY * distinct:
                    found.append(TableLink(key, other.name, by, False, missing, distinct))
        if len(found) == 1 and not any(link.target == table.name for link in links[found[0].target]):
            links[table.name].append(found[0])
            for name, own in links.items():
                links[name] = _without_parts(own, (found[0].target, table.name))
    return replace(guesses, links=links)


def _without_parts(links: Sequence[TableLink], pair: Sequence[str]) -> list[TableLink]:
    """Return the links with one in place of those of one column to both tables: the one that more values have a row of,
    or else the first, to the larger table.
    """
    ordered = sorted((link for link in links if link.target in pair), key=lambda link: pair.index(link.target))
    best: dict[tuple[str, ...], TableLink] = {}
    for link in ordered:
        known = best.setdefault(link.columns, link)
        best[link.columns] = link if link.missing < known.missing else known
    kept = [link for link in links if link.target not in pair or link is best[link.columns]]
    alone = [link for link in kept if link.target in pair and sum(one.columns == link.columns for one in ordered) > 1]
    return [replace(link, partial=False) if link in alone else link for link in kept]


def _are_codes(con: duckdb.DuckDBPyConnection, table: ProfiledTable, name: str) -> bool:
    column = table.columns[name]
    if column.look != "text" or column.length < _LONG or column.distinct < _FEWEST or table.beyond or table.of:
        return False
    query = f"SELECT avg(regexp_matches(v, '[0-9]')::INT) FROM (SELECT {reference(table, [name])} AS v"
    [(digits,)] = con.execute(f"{query} FROM {identifier(table.name)})").fetchall()
    return bool(digits >= _NEARLY)
