"""Links to columns that are no keys: of a parent, of a long code, or of the only column of their name."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kbkit.ingestion.inference import forms, name_evidence, names
from kbkit.ingestion.inference.chance import NumberSpread
from kbkit.ingestion.inference.keys import KEY_LOOKS, never_repeats
from kbkit.ingestion.inference.looks import ProfiledColumn
from kbkit.ingestion.inference.profile import ProfiledTable
from kbkit.ingestion.inference.shared_values import PREVIEW, SharedValues
from kbkit.ingestion.inference.table_link import TableLink
from kbkit.schema import literal

if TYPE_CHECKING:
    import duckdb

TELLING = 8
"""Mean length from which equal texts are no coincidence, such as those of UUIDs."""
FEWEST_NUMBERS = 3
"""Different numbers from which a column without a telling name may refer to a table."""
_SAME = 3
"""See :func:`names.fit`."""
_HIGH = 1000
"""NumberSpread above which those of rows are no coincidence, unless another table has them, too."""
_TIMES = ("year", "month", "day", "date", "time", "week", "quarter")
"""Last words of columns that say when something was."""


class UnkeyedLinks:
    """Finds the columns that refer to a column of a table which is not its key."""

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        tables: Sequence[ProfiledTable],
        keys: Mapping[str, tuple[str, ...]],
        given: Mapping[tuple[str, str], str],
        nodes: Collection[tuple[str, str]],
    ) -> None:
        self._con, self._keys, self._given, self._nodes = con, keys, given, nodes
        self._tables = {table.name: table for table in tables}
        self._targets: dict[str, list[str]] = {}
        self._shared = SharedValues(con)
        self._codes: dict[str, list[str]] = {}
        self._forms: dict[tuple[str, str], str] = {}
        self._texts: dict[str, Sequence[str]] = {}
        self._looks: dict[tuple[str, ...], NumberSpread] = {}
        self._none: dict[tuple[str, str], Mapping[str, int]] = {}
        self._differs: dict[tuple[str, str, str], bool] = {}
        self._ranges: dict[tuple[str, str], tuple[int, int]] = {}
        self.unclear: dict[str, Sequence[str]] = {}

    def _lacking(
        self, table: ProfiledTable, column: ProfiledColumn, other: ProfiledTable, by: str
    ) -> tuple[int, int, tuple[str, ...]]:
        """Return how many different values of a column another table lacks, of how many, without those such as 0 that
        stand for no reference, and these.
        """
        missing, distinct = self._shared.missing(table, [column.name], other, [by])
        if not missing or self._keys[table.name] == (column.name,):
            return missing, distinct, ()
        if (table.name, column.name) not in self._none:
            self._none[table.name, column.name] = self._shared.absent(table, column)
        found = tuple(self._none[table.name, column.name])
        # One number beside 0 is a flag: is_committee_member.
        fewest = len(found) + (2 if column.look == "integer" else 1)
        if not found or len(found) > missing or distinct < fewest or self._shared.has_any(other, by, found):
            return missing, distinct, ()
        return missing - len(found), distinct - len(found), found

    def _without(
        self, table: ProfiledTable, column: ProfiledColumn, absent: Sequence[str], form: str
    ) -> ProfiledColumn:
        """Return a column, in a form, without values that stand for no reference."""
        value = column.value if column.kind == "VARCHAR" else f"{column.value}::VARCHAR"
        kept = f"CASE WHEN {value} NOT IN ({', '.join(map(literal, absent))}) THEN {value} END"
        rows = sum(self._none[table.name, column.name].values())
        known = replace(column, value=kept, kind="VARCHAR", count=column.count - rows, missing=column.missing + rows)
        return forms.in_form(known, form)

    def _to_parent(self, table: ProfiledTable, column: ProfiledColumn) -> TableLink | None:
        """Return the link of a column such as ``Parent id`` to the rows of its table by another column than the key,
        which is named like it (``Issue id``), never repeats, and has all of its values.
        """
        said = names.of_parent(column.name)
        own = self._keys[table.name] == (column.name,) or (table.name, column.name) in self._given
        if not said or own or column.look not in KEY_LOOKS:
            return None
        ends = [c for c in table.columns.values() if c is not column and names.words(c.name)[-len(said) :] == said]
        same = [c for c in ends if names.words(c.name) == said] or ends
        for by in (c for c in same if c.look == column.look and not names.of_parent(c.name)):
            missing, distinct = self._shared.missing(table, [column.name], table, [by.name])
            if distinct and not missing and never_repeats(self._con, table, by):
                return TableLink((column.name,), table.name, (by.name,), False, missing, distinct)
        return None

    def _is_own_range(self, table: ProfiledTable, by: str) -> bool:
        """Return whether identifiers are high numbers among which no other table has any."""
        low, high = self._range(table, by)
        keys = [(one, self._keys[one.name]) for one in self._tables.values() if one is not table]
        others = [
            self._range(one, key[0]) for one, key in keys if len(key) == 1 and one.columns[key[0]].look == "integer"
        ]
        return low > max(_HIGH, table.rows) and all(high < start or end < low for start, end in others)

    def _range(self, table: ProfiledTable, by: str) -> tuple[int, int]:
        if (table.name, by) not in self._ranges:
            self._ranges[table.name, by] = self._shared.range_of(table, by)
        return self._ranges[table.name, by]

    def _form(
        self, table: ProfiledTable, column: ProfiledColumn, other: ProfiledTable, by: str, *, names_too: bool = True
    ) -> str:
        """Return the SQL expression of a column's values as another table writes them, empty if they do not differ;
        ``names_too``: also that of few names with other capitals.
        """
        if (other.name, by) not in self._forms:
            self._forms[other.name, by] = forms.of_all(self._con, other, by)
        form = self._forms[other.name, by]
        if form and not forms.is_turned(column, other.columns[by]):
            known = (table.name, column.name, form)
            if known not in self._differs:
                self._differs[known] = forms.differs(self._con, table, column, form)
            alike = column.look in (other.columns[by].look, "list") and not column.floats
            return form if alike and self._differs[known] else ""
        return forms.differing(self._con, table, column, other, by, names_too=names_too)

    def _to_code(self, table: ProfiledTable, column: ProfiledColumn, *, own: bool) -> TableLink | None:
        """Return the link of a column to the only other table that has all of its values in a column of addresses or
        long texts that never repeat, whatever their names: ``issue_url`` of comments, ``url`` of issues.

        In the same table, the column must be named after the other one: ``thread_ts``, ``ts``. ``own``: the column is
        the key or the name of its rows, which is no link.
        """
        if own or column.look not in ("text", "address") or column.length < TELLING:
            return None
        alone = never_repeats(self._con, table, column)
        order = {name: position for position, name in enumerate(self._tables)}
        found: list[tuple[float, TableLink]] = []
        for other in self._tables.values():
            for by in [] if other.beyond else self._telling(other):
                evidence = name_evidence.find(table, column, other, (by,), ())
                after = names.with_key(column.name, by)
                fewer = (table.rows, order[other.name]) < (other.rows, order[table.name])
                unsaid = alone and (evidence < names.LAST_WORD or not fewer)
                own_code = names.is_same_global_id(column.name, by) and self._is_own_code(table, column, other)
                if (other is table and (by == column.name or not after)) or unsaid or own_code:
                    continue  # of two tables with the same texts once each, nothing says which one refers to the other
                preview = self._shared.missing(table, [column.name], other, [by], PREVIEW)
                if preview[0] or not preview[1]:
                    continue
                missing, distinct = self._shared.missing(table, [column.name], other, [by])
                if distinct >= FEWEST_NUMBERS and not missing:
                    link = TableLink((column.name,), other.name, (by,), False, missing, distinct)
                    equal = other is table and self._shared.are_equal(table, column, by)
                    found += [] if equal else [(evidence + (self._keys[other.name] == (by,)), link)]
        best = max((evidence for evidence, _ in found), default=0)
        top = [link for evidence, link in found if evidence == best]
        if len({link.target for link in top}) > 1:
            self.unclear[f"{table.name}.{column.name}"] = list(dict.fromkeys(link.target for link in top))
            return None
        return top[0] if top else None

    def _to_same_name(self, table: ProfiledTable, column: ProfiledColumn) -> TableLink | None:
        """Return the link of a column that repeats to the only table in which a column of its name never does, or is
        named as the identifier of its rows: the points of a shape.

        That must have all of its values: the classroom of students, and of their teacher.
        """
        words = names.words(column.name)
        if self._keys[table.name] == (column.name,) or not words or words[-1] in (*names.NAMES, *_TIMES):
            return None
        if column.look not in KEY_LOOKS or never_repeats(self._con, table, column):
            return None
        found = []
        for other in self._tables.values():
            by = next((c for c in other.columns.values() if names.words(c.name) == words), None)
            if other is table or other.beyond or by is None or by.look != column.look:
                continue
            if names.fit(by.name, other.type) == _SAME or never_repeats(self._con, other, by):
                missing, distinct = self._shared.missing(table, [column.name], other, [by.name])
                if distinct >= TELLING and not missing:
                    found.append(TableLink((column.name,), other.name, (by.name,), False, missing, distinct))
        return found[0] if len(found) == 1 else None

    def _is_own_code(self, table: ProfiledTable, column: ProfiledColumn, other: ProfiledTable) -> bool:
        """Return whether a code such as an email identifies rows of this table that those of another one refer to."""
        own, key = self._keys[table.name], self._keys[other.name]
        is_base = len(own) == 1 and (not key or (len(key) == 1 and self._is_base(table, other)))
        return column.name in self._targets[table.name] and is_base

    def _is_telling(self, table: ProfiledTable, by: str) -> bool:
        """Return whether the key of a table is a long code, so that few other texts are no reason for a coincidence."""
        column = table.columns[by]
        return column.look == "text" and column.length >= TELLING and self._keys[table.name] == (by,)

    def _telling(self, table: ProfiledTable) -> list[str]:
        """Return the columns of long codes that never repeat, whatever their names: identifiers of another source."""
        if table.name not in self._codes:
            looks = [c for c in table.columns.values() if c.look == "address" or (c.look == "text" and not c.signs)]
            places = (table.spec.folder, table.spec.file)
            looks = [c for c in looks if c.name not in places and not names.is_role_of_persons(c.name)]
            codes = [c for c in looks if c.length >= TELLING]
            self._codes[table.name] = [c.name for c in codes if never_repeats(self._con, table, c)]
        return self._codes[table.name]

    def _of_base(self, links: list[TableLink]) -> list[TableLink]:
        """Return the link to the table with the things themselves, if the others are about these: all of their values
        are its keys.
        """
        keyed = [link for link in links if link.by == self._keys[link.target]] if len(links) > 1 else []
        bases = [link for link in keyed if all(self._are_of(one, link) for one in links)]
        tables = [self._tables[link.target] for link in bases]
        best = [t for t in tables if all(t is o or self._is_base(t, o) for o in tables)]
        return [link for link in bases if self._tables[link.target] in best] if len(best) == 1 else links

    def _are_of(self, link: TableLink, base: TableLink) -> bool:
        """Return whether all values by which a link refers to rows are those of another link's target."""
        return not self._shared.missing(self._tables[link.target], link.by, self._tables[base.target], base.by)[0]

    def _is_base(self, table: ProfiledTable, other: ProfiledTable) -> bool:
        """Return whether another table with the same key only adds details to the rows of a table."""

        def rank(one: ProfiledTable) -> tuple[bool, bool, int, int, int]:
            [key] = self._keys[one.name]
            named = any(names.plain(name) in names.NAMES for name in one.columns)
            telling, order = sum(c.distinct > 1 for c in one.columns.values()), -[*self._tables].index(one.name)
            return names.fit(key, one.type) == 3, named, one.rows, telling, order

        return rank(table) > rank(other)
