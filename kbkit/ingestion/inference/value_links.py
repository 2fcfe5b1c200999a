"""Links that the values of a column show, whatever its name: the table whose keys, codes or names they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kbkit.ingestion.inference import chance, header_prior, names
from kbkit.ingestion.inference.forms import in_form
from kbkit.ingestion.inference.keys import never_repeats
from kbkit.ingestion.inference.looks import ProfiledColumn
from kbkit.ingestion.inference.profile import ProfiledTable
from kbkit.ingestion.inference.shared_values import PREVIEW
from kbkit.ingestion.inference.table_link import TableLink
from kbkit.ingestion.inference.unkeyed_links import UnkeyedLinks

SURE = 3.25
"""Score from which values are no coincidence."""
_APART = 1.5
"""Least difference from the score of the next best table."""
_PERSON = 1.5
"""What a role of persons adds for a table of persons, and takes from the score of others."""
_NAMED = 1.0
"""What is taken from the score of rows without names, such as those of orders: few other rows refer to them."""
_ITSELF = 2.0
"""What is taken from the score of the table itself, unless the name of the column says so."""
_LISTED, _PADDED = 1.5, 3.0
"""What lists add, and numbers with zeros before them: amounts are seldom written like that."""
_LENGTHS = 2
"""Factor up to which the mean lengths of texts and of those that they refer to differ."""


class ValueLinks(UnkeyedLinks):
    """Finds the columns whose values refer to a table by one score of their values and names."""

    def _by_values(self, table: ProfiledTable, column: ProfiledColumn) -> TableLink | None:
        """Return the link of a column to the table with the best score, if it is no coincidence and clearly the best.

        Of several tables with about the same score, the column is ``unclear`` if its name says that it refers to one.
        """
        prior = header_prior.prior(column)
        if prior == chance.NEVER or column.look not in ("integer", "text", "address", "list"):
            return None
        if prior < 0 and column.name in self._targets[table.name]:
            return None  # a code of its own rows, such as an email
        scored = [
            (score + prior + self._fit(table, column, other), link)
            for other in self._tables.values()
            if not other.beyond and (prior > 0 or other is not table)
            for by in self._identifying(table, column, other)
            for score, link in self._scored(table, column, other, by)
        ]
        scored = sorted((one for one in scored if one[0] >= SURE), key=lambda one: -one[0])
        others = [link.target for score, link in scored if scored[0][0] - score < _APART]
        if len(set(others)) > 1:
            if prior > 0:
                self.unclear[f"{table.name}.{column.name}"] = list(dict.fromkeys(others))
            return None
        return scored[0][1] if scored else None

    def _identifying(self, table: ProfiledTable, column: ProfiledColumn, other: ProfiledTable) -> Iterator[str]:
        """Yield the columns of a table by which others may refer to its rows: also texts with other names, if the name
        of the column says that it refers to something.
        """
        known = self._targets[other.name]
        yield from (by for by in known if other is not table or by != column.name)
        words = names.words(column.name)
        said = other is not table and header_prior.prior(column) > 0
        for by in self._unique_texts(other) if said else ():
            if by not in known and names.words(by) != words and not header_prior.is_relational(by):
                yield by

    def _unique_texts(self, table: ProfiledTable) -> Sequence[str]:
        """Return the columns of short texts that no two rows share."""
        if table.name not in self._texts:
            places = (table.spec.folder, table.spec.file)
            some = [c for c in table.columns.values() if c.look == "text" and not c.signs and c.name not in places]
            some = [c for c in some if 10 * c.distinct >= 9 * c.count > 0 and 2 * c.count > table.rows]
            self._texts[table.name] = [c.name for c in some if never_repeats(self._con, table, c)]
        return self._texts[table.name]

    def _may_be_other(self, table: ProfiledTable, column: ProfiledColumn) -> bool:
        """Return whether a column of rows that are no persons is named as a role that a person has in relation to
        another one: the mentor of a visit.
        """
        return header_prior.is_superior(column.name) and not self._is_of_persons(table)

    @staticmethod
    def _is_of_persons(table: ProfiledTable) -> bool:
        columns = [*table.columns]
        said = names.words(table.type)[-1:] in names.PERSONS or names.of_person(columns, table.type) is not None
        return said or any(names.is_same_global_id(name, "email") for name in columns)

    def _fit(self, table: ProfiledTable, column: ProfiledColumn, other: ProfiledTable) -> float:
        """Return what a table adds to the score of a column: persons to roles of persons, rows with names to others."""
        said = " ".join(names.subject(column.name)) in names.PARENTS and not self._may_be_other(table, column)
        itself = other is table and not said
        persons = self._is_of_persons(other)
        role = names.is_role_of_persons(column.name) or header_prior.is_person(column.name)
        named = persons or any(
            names.is_own_name(c.name, other.type) or c.name in self._keys[other.name]
            for c in other.columns.values()
            if c.look == "text"
        )
        return (_PERSON if persons else -_PERSON) * role - _NAMED * (not named) - _ITSELF * itself

    def _scored(
        self, table: ProfiledTable, column: ProfiledColumn, other: ProfiledTable, by: str
    ) -> Iterator[tuple[float, TableLink]]:
        """Yield the link of a column to one column of a table with the score of its values, as they are or in the form
        of the other table, if it is no coincidence.
        """
        if other is table and self._shared.are_equal(table, column, by):
            return  # a copy of its own code
        form = ""
        found = self._score(table, column, other, by)
        if found[0] == chance.NEVER and (form := self._form(table, column, other, by, names_too=False)):
            table.columns[column.name] = in_form(column, form)
            found = self._score(table, table.columns[column.name], other, by)
            table.columns[column.name] = column
        score, missing, distinct, absent = found
        if score == chance.NEVER:
            return
        listed = column.look == "list"
        score += _LISTED * listed + _PADDED * (bool(form) and other.columns[by].look == "integer")
        link = TableLink((column.name,), other.name, (by,), listed, missing, distinct, form=form, absent=absent)
        yield score, link

    def _score(
        self, table: ProfiledTable, column: ProfiledColumn, other: ProfiledTable, by: str
    ) -> tuple[float, int, int, tuple[str, ...]]:
        """Return the score of values, how many are missing, of how many, and those that stand for no reference."""
        target = other.columns[by]
        numeric = target.look == "integer"
        nothing: tuple[float, int, int, tuple[str, ...]] = (chance.NEVER, 0, 0, ())
        lengths = sorted((column.length, target.length))
        unlike = numeric != (column.look == "integer") or (not numeric and lengths[0] * _LENGTHS < lengths[1])
        if (unlike and column.look != "list") or not self._are_near(table, column, other, by):
            return nothing
        missing, distinct, absent = self._lacking(table, column, other, by)
        if numeric and distinct:
            own, keys = self._numbers(table, column.name, absent), self._numbers(other, by)
            return chance.of_numbers(own, keys, missing), missing, distinct, absent
        return chance.of_texts(column, target, missing, distinct, other.rows), missing, distinct, absent

    def _are_near(self, table: ProfiledTable, column: ProfiledColumn, other: ProfiledTable, by: str) -> bool:
        """Return whether values may be those of another table, as far as their ranges and the first of them tell."""
        if other.columns[by].look == "integer":
            own, keys = self._numbers(table, column.name), self._numbers(other, by)
            apart = own.low > keys.high or own.high < keys.low or own.distinct > 2 * keys.distinct
            if apart or not own.distinct:
                return False
        missing, distinct = self._shared.missing(table, [column.name], other, [by], PREVIEW)
        return distinct > 0 and 2 * missing <= distinct + 2

    def _numbers(self, table: ProfiledTable, name: str, without: Sequence[str] = ()) -> chance.NumberSpread:
        """Return what the whole numbers in a column are, without some of them."""
        column = table.columns[name]
        known = (table.name, name, column.value, column.element_form, *without)
        if known not in self._looks:
            self._looks[known] = self._shared.numbers(table, column, without)
        return self._looks[known]
