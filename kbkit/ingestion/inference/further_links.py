"""Links that others of the same table give reason for, and those to one of several tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kbkit.ingestion.inference import names
from kbkit.ingestion.inference.dialect import KEYED_TEXT, TRIPLE
from kbkit.ingestion.inference.keys import KEY_LOOKS, is_unique
from kbkit.ingestion.inference.looks import ProfiledColumn
from kbkit.ingestion.inference.profile import ProfiledTable
from kbkit.ingestion.inference.table_link import TableLink
from kbkit.ingestion.inference.unkeyed_links import FEWEST_NUMBERS, TELLING
from kbkit.ingestion.inference.value_links import SURE, ValueLinks

_MOST_OTHERS = 0.8
"""Fraction of identifiers that may be of other nodes of a type than another table has."""
_WORD = 4
"""Mean length below which some equal texts are a coincidence: codes of two or three letters."""


class FurtherLinks(ValueLinks):
    """Finds the links of columns beside linked ones."""

    def _several(self, table: ProfiledTable, column: ProfiledColumn) -> list[TableLink]:
        """Return the links of a column of long identifiers to the tables that have some of them each."""
        given = (table.name, column.name) in self._given or column.name in self._keys[table.name]
        if given or column.look != "text":
            return []
        if column.length < TELLING:
            return self._with_all_keys(table, column)
        links = []
        for other in self._tables.values():
            key = self._keys[other.name]
            same = len(key) != 1 or (other is table and self._shared.are_equal(table, column, key[0]))
            if not same and other.columns[key[0]].look == "text" and not other.beyond:
                missing, distinct = self._shared.missing(table, [column.name], other, key)
                if distinct - missing > 1:
                    links.append(TableLink((column.name,), other.name, key, False, missing, distinct, partial=True))
        found = sum(link.distinct - link.missing for link in links)
        if names.is_id(column.name):
            return links if found * 2 >= max(column.distinct, 1) else []
        # Each value is in one table: a bike or a pair of shoes.
        return links if len(links) > 1 and found == links[0].distinct >= FEWEST_NUMBERS else []

    def _with_all_keys(self, table: ProfiledTable, column: ProfiledColumn) -> list[TableLink]:
        """Return the link of a column of codes to the only other table all of whose keys it has, many: the committees,
        beside which it has subcommittees that no table has by such a code.
        """
        links = []
        for other in self._tables.values():
            key = self._keys[other.name]
            alike = len(key) == 1 and other is not table and other.columns[key[0]].look == "text" and not other.beyond
            if alike and min(column.length, other.columns[key[0]].length) >= _WORD and other.rows >= TELLING:
                unused, _ = self._shared.missing(other, key, table, [column.name])
                missing, distinct = self._shared.missing(table, [column.name], other, key)
                if not unused and missing > 0:
                    links.append(TableLink((column.name,), other.name, key, False, missing, distinct, partial=True))
        return links if len(links) == 1 else []

    def _other_end(self, table: ProfiledTable, link: TableLink) -> list[TableLink]:
        """Return the link of the other end of triples, if a table holds texts about some of the nodes."""
        ends = [end for end in TRIPLE[::2] if end not in link.columns]
        if len(ends) != 1 or tuple(self._tables[link.target].columns) != KEYED_TEXT:
            return []
        missing, distinct = self._shared.missing(table, ends, self._tables[link.target], link.by)
        return [TableLink((ends[0],), link.target, link.by, missing=missing, distinct=distinct)]

    def _loose(self, table: ProfiledTable, link: TableLink) -> list[TableLink]:
        """Return the link to rows that no table has: the other column of two, if it is named as the table, or one that
        is named as an identifier of something else.
        """
        others = [c for c in table.columns.values() if c.name not in link.columns and c.look in KEY_LOOKS]
        named = any(names.plain(c.name) in names.NAMES for c in others)
        named = named or names.of_person([c.name for c in others], table.type) is not None
        if len(table.columns) > 2 and named:
            return []  # rows with names are things, not edges
        for column in (c for c in others if (table.name, c.name) not in self._given):
            kind = type_of(column.name)
            only = len(table.columns) == 2 and names.fit(column.name, table.type) == 3
            named = names.is_id(column.name) and not names.is_generic(column.name) and kind != table.type
            named = named and not names.is_measure(kind) and column.distinct > 1
            ordinal = column.look == "integer" and names.words(column.name)[-1] in names.ORDINALS
            named = named and not (ordinal and self._shared.are_consecutive(table, column))
            if only or (named and not is_unique(self._con, table, [column.name])):
                return [self._same_type(table, column, link) or TableLink((column.name,), "", (), loose=kind)]
        return []

    def _same_type(self, table: ProfiledTable, column: ProfiledColumn, link: TableLink) -> TableLink | None:
        """Return the link of the other end of edges to the table of the known one, whose keys it has as its rows would,
        never both the same: the mentor of a chef.
        """
        if len(link.by) != 1 or self._shared.have_equal(table, column, link.columns[0]):
            return None
        score, missing, distinct, absent = self._score(table, column, self._tables[link.target], link.by[0])
        if score < SURE or missing or absent or distinct < FEWEST_NUMBERS:
            return None
        return TableLink((column.name,), link.target, link.by, distinct=distinct)

    def of_same_nodes(self, table: ProfiledTable, links: Mapping[str, Sequence[TableLink]]) -> list[TableLink]:
        """Return the links of identifiers to the nodes that another table's column of the same name has, which no table
        describes: the votes for players, beside their schools.
        """
        loose = [
            (self._tables[name].columns[link.columns[0]], self._tables[name], link.loose)
            for name, some in links.items()
            for link in some
            if name != table.name and link.loose and not link.target and len(link.columns) == 1
        ]
        known = {column for link in links[table.name] for column in link.columns}
        found = []
        for column in (c for c in table.columns.values() if c.look in KEY_LOOKS and names.is_id(c.name)):
            given = (table.name, column.name) in self._given or self._keys[table.name] == (column.name,)
            if column.name in known or given or names.is_generic(column.name):
                continue
            for one, other, kind in loose:
                if names.words(one.name) != names.words(column.name) or one.look != column.look:
                    continue
                missing, distinct = self._shared.missing(table, [column.name], other, [one.name])
                if distinct - missing >= FEWEST_NUMBERS and missing <= _MOST_OTHERS * distinct:
                    found.append(TableLink((column.name,), "", (), loose=kind))
                    break
        return found

    def _siblings(self, table: ProfiledTable, links: Sequence[TableLink]) -> list[TableLink]:
        """Return the links of columns most of whose values are in the table that a similar column refers to."""
        result = []
        known = {column for link in links for column in link.columns}
        for column in table.columns.values():
            for link in links:
                other = self._tables[link.target]
                alike = table.columns[link.columns[0]].look == column.look == "text" and not link.lists
                given = (table.name, column.name) in self._given or column.name in self._keys[table.name]
                if column.name in known or not alike or given or other is table:
                    continue
                missing, distinct = self._shared.missing(table, [column.name], other, link.by)
                own = names.words(column.name)[:1] == names.words(table.type)[-1:]  # a team's other codes
                other_end = any(names.is_other_end(column.name, one) for one in link.columns)
                if column.length < _WORD and missing > (0 if own else distinct / 4) and not other_end:
                    continue  # the codes of continents, some of which are codes of countries
                if distinct - missing >= 3 and missing <= distinct / 2:
                    result.append(TableLink((column.name,), link.target, link.by, False, missing, distinct))
                    known.add(column.name)
        return result


def type_of(column: str) -> str:
    """Return the type of the nodes that are the values of a column, named like it."""
    return names.identifier("_".join(names.subject(column)))
