"""Links: which columns refer to rows of another table."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from kbkit.ingestion.inference import header_prior, listed, name_evidence, names, people, repeats
from kbkit.ingestion.inference.dialect import TRIPLE
from kbkit.ingestion.inference.forms import in_form
from kbkit.ingestion.inference.further_links import type_of
from kbkit.ingestion.inference.key_evidence import KeyEvidence
from kbkit.ingestion.inference.keys import (
    KEY_LOOKS,
    alike,
    best_key,
    is_unique,
    named_pairs,
    pair_in_parent,
    pair_in_place,
    pair_with_link,
    referable_columns,
    shared_pair,
)
from kbkit.ingestion.inference.looks import ProfiledColumn
from kbkit.ingestion.inference.profile import ProfiledTable
from kbkit.ingestion.inference.shared_values import PREVIEW
from kbkit.ingestion.inference.table_link import TableLink
from kbkit.ingestion.inference.unkeyed_links import FEWEST_NUMBERS, TELLING

if TYPE_CHECKING:
    import duckdb

    Connection = duckdb.DuckDBPyConnection

_FITTING = 0.5
"""Fraction of the values that must exist in the other table, if the column's name says that it refers to it."""
_MOST = 0.8
"""Fraction of the values that must exist in the other table, if only the last word of its type is in the name."""
_SOME = 0.1
"""The same fraction for addresses, which are equal only if they are of the same thing."""
_MANY, _STRANGERS = 50, 0.1
"""Different pairs of values from which the columns of a key may refer to it, and the fraction that may be missing."""
_NEARLY = 0.95
"""Fraction of different values from which each row has another one."""
_OWN = 7
"""Number of the first :data:`names.NAMES` that never name another thing; a later one is a user's login."""
_PAIR = 2


@dataclass(frozen=True)
class Guesses:
    """The keys and links of all tables, and columns that may refer to several tables (``table.column``: tables)."""

    keys: Mapping[str, tuple[str, ...]]
    links: Mapping[str, Sequence[TableLink]]
    unclear: Mapping[str, Sequence[str]]


def find(
    con: Connection,
    tables: Sequence[ProfiledTable],
    keys: Mapping[str, tuple[str, ...]],
    links: Mapping[tuple[str, str], str],
    nodes: Collection[tuple[str, str]] = (),
) -> Guesses:
    """Find the keys and links of tables.

    The user gives ``keys``, the columns of a table's key (none: it has no key); ``links``, the table that a column
    refers to (empty: none); and ``nodes``, columns whose values are nodes that no table has.
    """
    chosen = {table.name: keys.get(table.name, table.declared_key) or () for table in tables}
    free = [table for table in tables if table.name not in keys and not table.declared_key]
    finder = _Finder(con, tables, chosen, {**links, **dict.fromkeys(nodes, "")}, nodes)
    for sure in (True, False):  # then a column that refers to a sure key is no key
        for table in (table for table in free if not chosen[table.name]):
            is_told, refers = partial(finder.is_told, table), partial(finder.refers, table)
            referred = partial(finder.is_referred, table)
            chosen[table.name] = best_key(con, table, tables, is_told, refers, referred, sure=sure)
    for table in (table for table in free if not chosen[table.name]):
        of_place = pair_in_parent(con, table) or pair_in_place(con, table)
        chosen[table.name] = of_place or finder.global_id(table) or shared_pair(con, table, tables)
    for table in (table for table in free if len(chosen[table.name]) == 1):
        others = [other for other in tables if other is not table]
        about = any(repeats.is_copy(con, table, one, chosen) or finder.has_names_of(table, one) for one in others)
        if about or finder.repeats_other(table):
            chosen[table.name] = ()
    finder.find_targets()
    links_of = {table.name: [*finder.links(table), *finder.inside(table)] for table in tables}
    for name, of_people in finder.people(links_of).items():
        order = [*next(table.columns for table in tables if table.name == name)]
        links_of[name] = sorted([*links_of[name], *of_people], key=lambda link: order.index(link.columns[0]))
    for table in (table for table in free if len(chosen[table.name]) == 1):
        chosen[table.name] = finder.referred_code(table, links_of) or chosen[table.name]
    for table in tables:
        links_of[table.name] += finder.of_same_nodes(table, links_of)
    links_of = repeats.without_mirrors(con, {table.name: table for table in tables}, links_of, chosen)
    for table in tables:
        own = [repeats.without_roots(con, table, link, chosen[table.name]) for link in links_of[table.name]]
        links_of[table.name] = own
        linked = {column for link in own for column in link.columns}
        if not chosen[table.name] and table.name not in keys and not table.of and len(links_of[table.name]) < 2:
            chosen[table.name] = pair_with_link(con, table, linked)
    return Guesses(chosen, links_of, finder.unclear)


class _Finder(KeyEvidence):
    """Finds the columns that refer to other tables."""

    def find_targets(self) -> None:
        """Find the columns that other tables can refer to, once all keys are known."""
        for name, table in self._tables.items():
            self._targets[name] = [] if table.beyond else referable_columns(self._con, table, self._keys[name])

    def people(self, links: Mapping[str, Sequence[TableLink]]) -> Mapping[str, list[TableLink]]:
        """Return the links of columns of people; see :func:`people.links`."""
        return people.links([*self._tables.values()], links, self._shared)

    def is_told(self, table: ProfiledTable, column: ProfiledColumn) -> bool:
        """Return whether the user said that a column refers to a table."""
        return bool(self._given.get((table.name, column.name)))

    def refers(self, table: ProfiledTable, column: ProfiledColumn) -> bool:
        """Return whether all values of a column are keys of another table."""
        others = (other for other in self._tables.values() if other is not table)
        keys = ((other, self._keys[other.name]) for other in others)
        return any(len(key) == 1 and self._try(table, column, other, key[0], 1) is not None for other, key in keys)

    def links(self, table: ProfiledTable) -> list[TableLink]:
        """Return the links of a table, in the order of its columns."""
        found = list(self._declared(table)) + list(self._composite(table))
        known = {column for link in found for column in link.columns}
        for column in list(table.columns.values()):
            if column.name not in known:
                whole = listed.with_whole_names(self._con, table, column, self._names())
                table.columns[column.name] = whole
                link = self._to_parent(table, whole) or self._link(table, whole)
                found += [link] if link else self._several(table, whole)
        found += self._by_name_and_more(table, found)
        known = {column for link in found for column in link.columns}
        found += self._siblings(table, [link for link in found if len(link.columns) == 1 and link.target])
        if not known and not self._keys[table.name]:
            found += self._unnamed(table)
        objects = [columns for columns, *_ in table.declared_links]
        found = repeats.without_repeated(self._con, table, found, self._tables, self._keys, objects)
        if len(found) == 1 and found[0].target and tuple(table.columns) == TRIPLE:
            found += self._other_end(table, found[0])
        if len(found) == 1 and not self._keys[table.name] and not found[0].lists:
            found += self._loose(table, found[0])
        found = [self._to_known_type(table, link) for link in found]
        for link in found:
            self.unclear.pop(f"{table.name}.{link.columns[0]}", None)
        order = {name: position for position, name in enumerate(table.columns)}
        return sorted(found, key=lambda link: order[link.columns[0]])

    def _to_known_type(self, table: ProfiledTable, link: TableLink) -> TableLink:
        """Return the link to a table for one to new nodes of its type: their keys would be those of its rows."""
        other = next((one for one in self._tables.values() if link.loose and one.type == link.loose), None)
        key = () if other is None else self._keys[other.name]
        if other is None or len(key) != 1 or len(link.columns) != 1 or (other is table and key == link.columns):
            return link
        missing, distinct = self._shared.missing(table, link.columns, other, key)
        if missing == distinct:
            return link  # named otherwise, and none of its rows
        return TableLink(link.columns, other.name, tuple(key), link.lists, missing, distinct)

    def _declared(self, table: ProfiledTable) -> Iterator[TableLink]:
        for columns, target, named in table.declared_links:
            lists = any(table.columns[name].look == "list" for name in columns if name in table.columns)
            if not target and set(columns) <= set(table.columns):
                yield TableLink(columns, "", (), lists, loose=type_of(columns[0]))
            other = self._tables.get(target)
            by = named or self._keys.get(target, ())
            known = other is not None and set(by) <= set(other.columns) and set(columns) <= set(table.columns)
            if other is not None and known and by and len(by) == len(columns):
                if any((table.name, column) in self._given for column in columns):
                    continue
                missing, distinct = self._shared.missing(table, columns, other, by)
                yield TableLink(columns, target, by, lists, missing, distinct)

    def _composite(self, table: ProfiledTable) -> Iterator[TableLink]:
        """Yield links by several columns, which have the names of another table's key, or are named alike."""
        declared = {target for _, target, _ in table.declared_links}
        for other in self._tables.values():
            key = self._keys[other.name]
            given = any((table.name, column) in self._given for column in key)
            if given or (key == self._keys[table.name] and self._rank(table) > self._rank(other)):
                continue  # of two tables with the same key, the one with fewer rows refers to the other
            if len(key) == 1 or not key or other is table or other.name in declared:
                continue
            same = set(key) <= set(table.columns)
            for columns in [key] if same else alike(table, other, key):
                missing, distinct = self._shared.missing(table, columns, other, key)
                few = same and distinct and not missing
                if few or (distinct >= _MANY and missing <= _STRANGERS * distinct):
                    yield TableLink(columns, other.name, key, False, missing, distinct)

    def _rank(self, table: ProfiledTable) -> tuple[int, int, int]:
        return table.rows, len(table.columns), -[*self._tables].index(table.name)

    def _by_name_and_more(self, table: ProfiledTable, links: Sequence[TableLink]) -> list[TableLink]:
        """Return the link by a name and another column, which have the same names in the other table and identify its
        rows together: the title and the year of a film. Each pair of values must be there.
        """
        if any((table.name, name) in self._given for name in table.columns) or (links and not self._keys[table.name]):
            return []
        found = []
        for other in self._tables.values():
            key = self._keys[other.name]
            if other is table or len(key) != 1 or other.beyond or other.name in {link.target for link in links}:
                continue
            if any(link.target == table.name for link in self._declared(other)):
                continue
            for pair in named_pairs(self._con, other, [name for name in table.columns if name not in key]):
                fewer = table.rows < other.rows or not is_unique(self._con, table, pair)
                missing, distinct = self._shared.missing(table, pair, other, pair)
                if fewer and distinct >= FEWEST_NUMBERS and not missing:
                    found.append(TableLink(pair, other.name, pair, distinct=distinct))
                    break
        return found if len(found) == 1 else []

    def inside(self, table: ProfiledTable) -> list[TableLink]:
        """Return the links to other rows with the same first part of the key, such as replies in the same chat."""
        key = self._keys[table.name]
        linked = {name for columns, *_ in table.declared_links for name in columns}
        if len(key) != _PAIR or key[0] not in linked:
            return []
        found = []
        for column in table.columns.values():
            alike = names.is_id(column.name) and column.look == table.columns[key[1]].look
            if column.name in (*key, *linked) or not alike or (table.name, column.name) in self._given:
                continue
            missing, distinct = self._shared.missing(table, [key[0], column.name], table, key)
            if distinct >= FEWEST_NUMBERS and 5 * missing <= distinct:
                found.append(TableLink((key[0], column.name), table.name, key, False, missing, distinct, partial=True))
        return found

    def _link(self, table: ProfiledTable, column: ProfiledColumn) -> TableLink | None:
        """Return the link of a column to the table that fits best: by its name first, then by its values."""
        if (table.name, column.name) in self._given:
            return self._as_told(table, column)
        same_key = any(self._keys[other.name] == (column.name,) for other in self._tables.values())
        plural = names.is_plural(column.name) and not (names.is_id(column.name) or same_key)
        plural = plural and not header_prior.is_verbal(column.name)
        counts = names.is_count(column.name) or (column.look == "integer" and plural)
        if counts or (column.look not in (*KEY_LOOKS, "list", "boolean") and not column.floats):
            return None if counts else self._listed(table, column)  # Home_games: how many
        own = self._keys[table.name] == (column.name,)
        is_name = not own and (self._keys[table.name] or table.of) and names.plain(column.name) in names.NAMES[:_OWN]
        found = (self._to(table, column, other, own=own, is_name=bool(is_name)) for other in self._tables.values())
        ranked = [one for one in found if one is not None]
        best = max((evidence for evidence, _ in ranked), default=0.0)
        itself = {link.target for evidence, link in ranked if evidence == best} == {table.name}
        unsaid = best <= 1 or (itself and self._may_be_other(table, column))
        if unsaid and not own and not is_name and (link := self._by_values(table, column)):
            return self._linked(table, column, link)
        if not ranked or (best == 1 and column.look == "integer" and header_prior.is_relational(column.name)):
            to_code = self._to_code(table, column, own=own or bool(is_name))
            return to_code or self._to_same_name(table, column) or self._listed(table, column)
        top = self._of_base([link for evidence, link in ranked if evidence == best])
        near = [link for link in top if self._tables[link.target].spec.match == table.spec.match]
        top = near if len(near) == 1 else top  # of the same file
        if len(top) > 1 and best < 2:
            self.unclear[f"{table.name}.{column.name}"] = [link.target for link in top]
            return None
        return self._linked(table, column, top[0])

    def _linked(self, table: ProfiledTable, column: ProfiledColumn, link: TableLink) -> TableLink:
        """Return the link, and put its values in the place of the column's: in its form, without those for nothing."""
        table.columns[column.name] = in_form(column, link.form)
        if link.absent:
            table.columns[column.name] = self._without(table, column, link.absent, link.form)
        return link

    def _to(
        self, table: ProfiledTable, column: ProfiledColumn, other: ProfiledTable, *, own: bool, is_name: bool
    ) -> tuple[float, TableLink] | None:
        """Return the link of a column to one table, with the evidence. ``own``: it is the key, ``is_name``: it is
        named as the name of the rows.
        """
        types = [one.type for one in self._tables.values() if one is not table]
        of_table = name_evidence.find(table, column, other, self._keys[other.name], types)
        if not of_table and column.name in (table.spec.folder, table.spec.file) and column.look == "text":
            of_table = 1  # the folder of a channel's messages: few values, but no coincidence
        for by in self._targets[other.name]:
            same_id = names.is_same_global_id(column.name, by)
            evidence = max(of_table, 2.0) if same_id else of_table
            if (other is table and (by == column.name or own)) or ((own or is_name) and evidence < 2):
                continue  # an office called as the place that it is at
            is_code = other.columns[by].codes or names.is_id(by) or by in self._keys[other.name]
            own_name = not is_code and names.plain(by) not in names.NAMES
            unsaid = own_name and not evidence and not self._has_all_names(table, column, other, by)
            if (same_id and self._is_own_code(table, column, other)) or unsaid:
                continue
            if own and self._keys[other.name] == (by,) and self._is_base(table, other):
                continue  # of accounts and savings with the same key, one refers to the other
            if own and any(one == (by,) and named == table.name for one, named, _ in other.declared_links):
                continue  # accounts have no link to the savings whose key refers to them
            link = self._try(table, column, other, by, evidence)
            if (link is None or link.missing) and evidence and (form := self._form(table, column, other, by)):
                table.columns[column.name] = in_form(column, form)
                found = self._try(table, table.columns[column.name], other, by, evidence)
                table.columns[column.name] = column
                if found and (link is None or found.missing < link.missing):
                    link = replace(found, form=form)
            own_rows = own or (link is not None and link.form and column.distinct >= _NEARLY * column.count)
            is_same = link is not None and link.by == (column.name,) and not link.form
            if link and own_rows and not is_same and link.missing > _STRANGERS * link.distinct:
                continue  # codes of its own rows: some are codes of other things by chance
            if link and other is table and self._shared.are_equal(table, column, by):
                continue  # the code of a country beside its key: no link to itself
            if link:
                return evidence, link
        return None

    def _has_all_names(self, table: ProfiledTable, column: ProfiledColumn, other: ProfiledTable, by: str) -> bool:
        """Return whether lists of texts have elements of one column only, many: ``featuring`` has names of artists."""
        if column.look != "list" or other is table or other.columns[by].look != "text":
            return False
        missing, distinct = self._shared.missing(table, [column.name], other, [by])
        return distinct >= TELLING and not missing

    def _names(self) -> list[tuple[ProfiledTable, str]]:
        """Return the columns that lists may name rows by, also of names that few rows share."""
        found = [(other, by) for other in self._tables.values() for by in self._targets[other.name]]
        named = ((other, c) for other in self._tables.values() for c in other.columns.values() if not other.beyond)
        named = ((o, c) for o, c in named if names.is_own_name(c.name, o.type) and _MOST * o.rows <= c.distinct)
        return [*found, *((o, c.name) for o, c in named if c.look == "text" and (o, c.name) not in found)]

    def _listed(self, table: ProfiledTable, column: ProfiledColumn) -> TableLink | None:
        """Return the link of a text that is a list of names or keys of another table."""
        targets = self._names()
        if column.name in self._keys[table.name]:
            return None
        by_full_name = listed.full_name_link(self._con, table, column, self._tables.values(), self._shared)
        bracketed = by_full_name or listed.bracketed(self._con, table, column, targets, self._shared)
        found = bracketed or listed.link(self._con, table, column, targets, self._shared)
        return found or listed.by_names(self._con, table, column, targets, self._shared)

    def _as_told(self, table: ProfiledTable, column: ProfiledColumn) -> TableLink | None:
        target = self._given[table.name, column.name]
        if (table.name, column.name) in self._nodes:
            return TableLink((column.name,), "", (), column.look == "list", loose=type_of(column.name))
        if not target:
            return None
        other = self._tables[target]
        counts = [
            (*self._shared.missing(table, [column.name], other, [by]), by)
            for by in self._targets[target] or [*other.columns][:1]
        ]
        missing, distinct, by = min(counts)
        return TableLink((column.name,), target, (by,), column.look == "list", missing, distinct)

    def _try(
        self, table: ProfiledTable, column: ProfiledColumn, other: ProfiledTable, by: str, evidence: float
    ) -> TableLink | None:
        """Return the link if enough values exist in the other table, and are no coincidence."""
        numeric = column.look == "integer" or column.floats
        if column.look == "list":
            numeric = other.columns[by].look == "integer"
        # Codes of which some have digits only, such as 0010 beside 0011A, are texts.
        as_text = numeric and column.kind == other.columns[by].kind == "VARCHAR" and other.columns[by].look == "text"
        if (numeric != (other.columns[by].look == "integer") and not as_text) or (numeric and not evidence):
            return None  # small numbers are in every sequence of ids
        columns, bys = [column.name], [by]
        some = self._shared.missing(table, columns, other, bys, PREVIEW)
        same = evidence > _PAIR and column.name == by and self._is_telling(other, by)  # codes of aircraft
        least = _SOME if same or (other.columns[by].look == "address" and evidence) else 0.5
        if not some[1] or some[0] > (1 - least) * some[1]:
            return None
        missing, distinct, absent = self._lacking(table, column, other, by)
        share = 1 - missing / max(distinct, 1)
        least = _SOME if same or other.columns[by].look == "address" else _MOST
        most = evidence in (names.LAST_WORD, name_evidence.PERSON) or self._is_telling(other, by)
        most = most and share >= least and distinct - (missing if same else 0) >= TELLING
        few = as_text and (missing or column.floats or distinct < _PAIR)
        if few or (missing and (share < _FITTING or evidence < 2) and not most):
            return None
        length = other.columns[by].length if column.look == "list" else column.length
        if not distinct or (not evidence and distinct < 3 and length < TELLING):
            return None
        if numeric and evidence == 1 and not name_evidence.is_role(column):
            few = distinct < (TELLING if column.look == "list" and other is table else FEWEST_NUMBERS)  # codes of kinds
            near = other is not table and not self._is_own_range(other, by)
            dense = few or (near and self._shared.are_dense(table, column, other, by))
            if dense or self._shared.are_consecutive(table, column):
                return None  # ids of a table that is not here
        return TableLink((column.name,), other.name, (by,), column.look == "list", missing, distinct, absent=absent)

    def _unnamed(self, table: ProfiledTable) -> list[TableLink]:
        """Return the links of a table whose first two columns hold keys of the same table, whatever their names."""
        first = [c for c in table.columns.values() if c.look in KEY_LOOKS][:2]
        if len(first) < 2 or any(c.look == "prose" for c in table.columns.values()):
            return []
        if any((table.name, column.name) in self._given for column in first):
            return []
        for other in self._tables.values():
            known = self._targets[other.name]
            for by in [*known, *(name for name in self._telling(other) if name not in known)]:
                links = [self._try(table, column, other, by, 1) for column in first]
                if other is not table and all(links):
                    return [link for link in links if link]
        return []
