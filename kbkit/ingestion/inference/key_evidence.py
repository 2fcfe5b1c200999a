"""What the values of other columns and tables say about the key of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kbkit.ingestion.inference import names
from kbkit.ingestion.inference.further_links import FurtherLinks
from kbkit.ingestion.inference.keys import is_unique
from kbkit.ingestion.inference.looks import ProfiledColumn
from kbkit.ingestion.inference.name_columns import name_columns
from kbkit.ingestion.inference.profile import ProfiledTable
from kbkit.ingestion.inference.table_link import TableLink
from kbkit.ingestion.inference.unkeyed_links import TELLING


class KeyEvidence(FurtherLinks):
    """Says which columns cannot be keys, or are better ones."""

    def has_names_of(self, table: ProfiledTable, other: ProfiledTable) -> bool:
        """Return whether the key is a text that is not named after the rows, and has the names of most rows of another
        table and no others: the employees of a matrix of skills. It says more about those.
        """
        [key] = self._keys[table.name]
        if table.columns[key].look != "text" or names.is_id(key) or names.is_own_name(key, table.type):
            return False
        named = [c for c in other.columns.values() if c.look == "text" and names.is_own_name(c.name, other.type)]
        for one in (column.name for column in named):
            missing, distinct = self._shared.missing(table, [key], other, [one])
            most = distinct >= max(TELLING, 0.5 * other.rows) and not missing
            if most and self._keys[other.name] not in ((), (one,)) and is_unique(self._con, other, [one]):
                return True
        return False

    def repeats_other(self, table: ProfiledTable) -> bool:
        """Return whether the key has the values that the column of its name has in the rows of another table, to whose
        key another column refers: each of several codes of a person, beside the person's offices.
        """
        [own] = self._keys[table.name]
        size = (table.rows, len(table.columns))
        for other in (one for one in self._tables.values() if (one.rows, len(one.columns)) > size):
            key = self._keys[other.name]
            known = len(key) == 1 and key != (own,) and key[0] in table.columns and own in other.columns
            if known and not self._shared.missing(table, [*key, own], other, [*key, own])[0]:
                return True
        return False

    def global_id(self, table: ProfiledTable) -> tuple[str, ...]:
        """Return the column of an identifier such as an email that no two rows share, unless a table with a key has
        all of them: then the rows say more about those.
        """
        for column in (c for c in table.columns.values() if c.look == "text" and names.is_global_id(c.name)):
            others = [
                (other, one.name)
                for other in self._tables.values()
                for one in other.columns.values()
                if other is not table and self._keys[other.name] and names.is_same_global_id(one.name, column.name)
            ]
            known = any(self._shared.missing(table, [column.name], other, [by])[0] == 0 for other, by in others)
            if not known and is_unique(self._con, table, [column.name]):
                return (column.name,)
        return ()

    def referred_code(self, table: ProfiledTable, links: Mapping[str, Sequence[TableLink]]) -> tuple[str, ...]:
        """Return the column of codes by which all links refer to a table whose key only numbers the rows, or is the
        name of them, which it becomes.
        """
        key = table.columns[self._keys[table.name][0]]
        by = {link.by for of in links.values() for link in of if link.target == table.name}
        [code] = by if len(by) == 1 else [()]
        if len(code) != 1 or code[0] == key.name or not (names.is_id(code[0]) or table.columns[code[0]].codes):
            return ()
        if table.columns[code[0]].look != "text" or not is_unique(self._con, table, code):
            return ()
        is_name = key.look == "text" and not names.is_id(key.name) and not key.codes
        if is_name and table.named is None and not name_columns(table, code, (), ()):
            table.named = (key.name,)
        return code if is_name or (key.look == "integer" and self._shared.are_consecutive(table, key)) else ()

    def is_referred(self, table: ProfiledTable, column: ProfiledColumn) -> bool:
        """Return whether columns are named after a column, alone or with something before its name, and have its
        values only.

        ``Super_ssn`` and ``Essn``: ``Ssn`` identifies the rows, though it is not named as an identifier. Of tables with
        columns of one name, it is that of the table whose rows it tells apart.
        """
        said = not names.is_generic(column.name) and not any(map(names.is_measure, names.words(column.name)[-1:]))
        for other in self._tables.values():
            for one in other.columns.values():
                same = said and one.name == column.name and other is not table and 2 * one.distinct < one.count
                if one.look == column.look and (same or names.with_key(one.name, column.name)):
                    missing, distinct = self._shared.missing(other, [one.name], table, [column.name])
                    if distinct > 1 and not missing:
                        return True
        return False
