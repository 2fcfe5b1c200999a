"""Things that a table names in columns of its own, such as the people of issues: a table of their own.

- ``Assignee Id`` and ``Assignee``, ``from_id`` and ``from``: each identifier has one name, and is in several rows.
  Identifiers that several pairs of columns share are of things of one kind.
- ``director_name`` and ``director_born``: each person in a role has the same value in another column.
- a column whose values the user calls nodes, with the columns that depend on it.

Other columns named like the things that depend on them (``customer_email``) are theirs, too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kbkit.ingestion.inference import names
from kbkit.ingestion.inference.dependent import dependents
from kbkit.ingestion.inference.keys import never_repeats
from kbkit.ingestion.inference.looks import ProfiledColumn
from kbkit.ingestion.inference.profile import ProfiledTable, profile
from kbkit.ingestion.inference.shared_values import SharedValues
from kbkit.stores.sql_names import identifier

if TYPE_CHECKING:
    import duckdb

    Connection = duckdb.DuckDBPyConnection

_TELLING = 8
"""Mean length from which equal identifiers in several columns are of the same thing: shorter ones may be numbers."""
_REPEATED, _PAIR = 0.5, 2
_ALIKE = 0.3
_PERSON, _ID, _NAME = "person", "id", "name"
_IDS, _CODE = ("id", "key"), "code"
_NAMES = (_NAME, "title", "label")
"""Last words of columns with the names of things."""


@dataclass(frozen=True)
class _Thing:
    """Things in columns of a table: the column that identifies them, and others by the names of their attributes."""

    column: ProfiledColumn
    others: Mapping[str, ProfiledColumn]
    key: str = _ID

    @property
    def type(self) -> str:
        """The type of the things, named like the column."""
        return names.identifier("_".join(names.subject(self.column.name)))


def split(con: Connection, tables: Sequence[ProfiledTable]) -> list[ProfiledTable]:
    """Return the tables, with a table for the things that a table names by identifier and name.

    The columns with the names and attributes of things are left out of the first table; the columns of identifiers
    refer to the new one.
    """
    result = list(tables)
    types = {table.type for table in tables}
    shared = SharedValues(con)
    for table in tables:
        for group in _groups(con, table):
            kind = _kind(group)
            if any(_has_all(con, shared, table, group[0], other) for other in tables):
                continue
            if kind not in types and not any(names.fit(one.column.name, of) for one in group for of in types):
                types.add(kind)
                result.append(_table(con, table, group, kind, result))
    return result


def of_columns(
    con: Connection, tables: list[ProfiledTable], nodes: Collection[tuple[str, str]], kept: Collection[tuple[str, str]]
) -> set[tuple[str, str]]:
    """Add the tables of columns whose values the user calls ``nodes``, with the columns that depend on these.

    Columns that are ``kept`` stay where they are. Returns the columns without such a table.
    """
    left = set()
    by_name = {table.name: table for table in tables}
    made: dict[str, ProfiledTable] = {}
    for name, of in nodes:
        table, column = by_name[name], by_name[name].columns[of]
        kind = _Thing(column, {}).type
        known = {one for columns, *_ in table.declared_links for one in columns} | {*table.declared_key}
        others = [
            one
            for one in table.columns.values()
            if one.name not in known and (name, one.name) not in kept and not names.is_own_name(one.name, table.type)
        ]
        found = [by_name[target] for columns, target, _ in table.declared_links if columns == (of,) and target]
        if found and found[0].of:
            _extend(con, table, column, found[0], dependents(con, table, column, others))
            continue
        if column.look == "list" or (kind not in made and kind in {one.type for one in tables}):
            left.add((name, of))
        elif kind in made:
            table.declared_links = [*table.declared_links, ((of,), made[kind].name, made[kind].declared_key)]
        elif depend := dependents(con, table, column, others):
            thing = _Thing(column, {one.name: one for one in depend}, of)
            made[kind] = _table(con, table, [thing], kind, tables)
            tables.append(made[kind])
        else:
            left.add((name, of))
    return left


def _has_all(con: Connection, shared: SharedValues, table: ProfiledTable, thing: _Thing, other: ProfiledTable) -> bool:
    """Return whether a table has a row for each thing already, whose identifier is its key then."""
    column = thing.column
    alike = [one for one in other.columns.values() if one.look == column.look and one.count == other.rows]
    if other is table:
        parent = " ".join(names.subject(column.name)) in names.PARENTS or names.words(column.name)[:1] == ("parent",)
        alike = [one for one in alike if one is not column and (one.look == "text" or parent)]
    elif column.look != "text":
        alike = [one for one in alike if names.plain(one.name) == names.plain(column.name)]
    return any(
        not shared.missing(table, [column.name], other, [one.name])[0] and never_repeats(con, other, one)
        for one in alike
    )


def _groups(con: Connection, table: ProfiledTable) -> list[list[_Thing]]:
    """Return the things in columns of a table, grouped by their kind."""
    declared = {name for columns, *_ in table.declared_links for name in columns}
    free = [one for one in table.columns.values() if one.name not in (*declared, *table.declared_key)]
    found: list[tuple[_Thing, bool]] = []
    for column in free:
        of = names.words(column.name)[:-1]
        if of and names.words(column.name)[-1] in (*_IDS, _CODE) and column.look in ("text", "integer"):
            found += _identified(con, table, column, free)
    groups: list[list[_Thing]] = []
    for thing, repeated in sorted(found, key=lambda one: not one[1]):
        same = next((group for group in groups if _share(con, table, group[0], thing)), None)
        if same is not None:
            same.append(thing)
        elif repeated:
            groups.append([thing])
    taken = {one.name for thing, _ in found for one in (thing.column, *thing.others.values())}
    roles = (one for one in free if one.name not in taken and one.look == "text" and names.is_role_of_persons(one.name))
    return groups + [[thing] for column in roles for thing in _in_role(con, table, column, free)]


def _identified(
    con: Connection, table: ProfiledTable, column: ProfiledColumn, free: Sequence[ProfiledColumn]
) -> list[tuple[_Thing, bool]]:
    """Return the thing that a column identifies, and whether most are in several rows; none if nothing names it."""
    of = names.words(column.name)[:-1]
    by_words = {names.words(one.name): one for one in free}
    is_code = names.words(column.name)[-1] == _CODE
    named = (by_words[one] for word in _NAMES if (one := (*of, word)) in by_words)
    name = (None if is_code else by_words.get(of)) or next(named, None)
    of_name = {_NAME: name} if name and name.look == "text" else {}
    telling = column.length >= _TELLING or (column.look == "text" and name and names.words(name.name) != of)
    repeated = _are_pairs(con, table, column, name) if name and of_name and telling else None
    if repeated is False:
        return [(_Thing(column, of_name), False)]
    others = dependents(con, table, column, _named_after(of, [one for one in free if one not in (column, name)]))
    person = names.of_person([one.name for one in others], " ".join(of))
    if repeated is None:
        known = name is not None and names.words(name.name) != of and dependents(con, table, column, [name])
        if not (of_name and known) and not person:
            return []
        [(count, distinct)] = _counts(con, table, column)
        if distinct < _PAIR or distinct > _REPEATED * count:
            return []
    return [(_Thing(column, {**of_name, **_attributes(of, others)}), True)]


def _in_role(
    con: Connection, table: ProfiledTable, column: ProfiledColumn, free: Sequence[ProfiledColumn]
) -> list[_Thing]:
    """Return the persons whom a column names, if they have an attribute; none otherwise."""
    of = names.subject(column.name)
    others = _named_after(of, [one for one in free if one is not column and not names.is_own_name(one.name, "")])
    [(count, distinct)] = _counts(con, table, column) if others else [(0, 0)]
    if distinct < _PAIR or distinct > _REPEATED * count:
        return []
    depend = dependents(con, table, column, others)
    return [_Thing(column, _attributes(of, depend), _NAME)] if depend else []


def _named_after(of: Sequence[str], columns: Sequence[ProfiledColumn]) -> list[ProfiledColumn]:
    """Return the columns whose names start with the words of a thing, and go on."""
    words = ((one, names.words(one.name)) for one in columns)
    return [one for one, own in words if own[: len(of)] == (*of,) and len(own) > len(of)]


def _attributes(of: Sequence[str], columns: Sequence[ProfiledColumn]) -> dict[str, ProfiledColumn]:
    """Return columns by the names of attributes: their own, without the words of the thing unless ``id`` is left."""
    short = {one.name: "_".join(names.words(one.name)[len(of) :]) for one in columns}
    return {one.name if short[one.name] in (_ID, _NAME) else short[one.name]: one for one in columns}


def _counts(con: Connection, table: ProfiledTable, column: ProfiledColumn) -> list[tuple[int, int]]:
    query = f"SELECT count({column.value}), count(DISTINCT {column.value}) FROM {identifier(table.name)}"
    return con.execute(query).fetchall()


def _are_pairs(con: Connection, table: ProfiledTable, column: ProfiledColumn, name: ProfiledColumn) -> bool | None:
    """Return whether most identifiers are in several rows, None if some have several names."""
    values = f"{column.value} AS k, {name.value} AS v"
    [(count, distinct, pairs)] = con.execute(f"""
        SELECT count(k), count(DISTINCT k), count(DISTINCT (k, v)) FILTER (v IS NOT NULL)
        FROM (SELECT {values} FROM {identifier(table.name)}) WHERE k IS NOT NULL""").fetchall()
    return bool(distinct <= _REPEATED * count) if distinct > 1 and pairs <= distinct else None


def _share(con: Connection, table: ProfiledTable, one: _Thing, other: _Thing) -> bool:
    """Return whether two columns have some of the same identifiers: those that are numbers, with the same names."""
    numbers = one.column.look == "integer"
    if one.column.look != other.column.look or (numbers and not (one.others and other.others)):
        return False
    a, b = (
        f"(SELECT DISTINCT {thing.column.value} AS k{_named(thing) if numbers else ''} FROM {identifier(table.name)})"
        for thing in (one, other)
    )
    same = "count(*) FILTER (a.v = b.v)" if numbers else "count(*)"
    [(shared, every, few)] = con.execute(f"""
        SELECT {same}, count(*), least((SELECT count(k) FROM {a}), (SELECT count(k) FROM {b}))
        FROM {a} AS a JOIN {b} AS b USING (k)""").fetchall()
    return bool(shared >= _ALIKE * few and (not numbers or shared == every > _PAIR))


def _named(thing: _Thing) -> str:
    """Return the SQL of the name of a thing, or of its first attribute, as another column."""
    return f", {thing.others.get(_NAME, next(iter(thing.others.values()))).value} AS v"


def _kind(group: Sequence[_Thing]) -> str:
    """Return the type of things: person for several columns or an identifier in a role, else that of the column.

    Columns whose last word is the same, as in home team and away team, are of one kind.
    """
    subject = names.subject(group[0].column.name)
    if len(group) > 1 and len({names.subject(one.column.name)[-1] for one in group}) == 1 < len(subject):
        return names.identifier(subject[-1])
    is_role = " ".join(subject) in {*names.ROLES, *names.HEADS, *names.TAILS} and group[0].key == _ID
    return _PERSON if len(group) > 1 or is_role else group[0].type


def _table(
    con: Connection, table: ProfiledTable, group: Sequence[_Thing], kind: str, tables: Sequence[ProfiledTable]
) -> ProfiledTable:
    """Make the table of things; the columns of their attributes are left out of the first table."""
    source, key = f"({table.folded})" if table.folded else identifier(table.of or table.name), group[0].key
    own = _consistent(con, table, group)
    rows = "\nUNION ALL BY NAME ".join(
        "SELECT "
        + ", ".join(
            f"{column.value} AS {identifier(name)}"
            for name, column in {key: thing.column, **thing.others}.items()
            if name == key or name in own
        )
        + f" FROM {source}"
        for thing in group
    )
    values = "".join(f", any_value({identifier(name)}) AS {identifier(name)}" for name in own)
    query = f"SELECT {identifier(key)}{values}\nFROM ({rows})\n"
    query += f"WHERE {identifier(key)} IS NOT NULL GROUP BY {identifier(key)} ORDER BY {identifier(key)}"
    name, taken = f"{table.name}_{kind}", {one.name.casefold() for one in tables}
    while name.casefold() in taken:
        name += "_"
    things = ProfiledTable(name, table.spec, type=kind, words=[kind], folded=query)
    things.of, things.declared_key = table.of or table.name, (key,)
    things.named = None if key != _ID or _NAME not in own else (_NAME,)
    con.execute(f"CREATE OR REPLACE TABLE {identifier(things.name)} AS {query}")
    profile(con, things)
    table.has_things = True
    for thing in group:
        for name, column in thing.others.items():
            if name in own:
                table.columns.pop(column.name, None)
        table.declared_links = [*table.declared_links, ((thing.column.name,), things.name, (key,))]
    return things


def _extend(
    con: Connection,
    table: ProfiledTable,
    column: ProfiledColumn,
    things: ProfiledTable,
    depend: Sequence[ProfiledColumn],
) -> None:
    """Add columns that depend on a column to the things that it names, unless other columns name some of these."""
    new = [one for one in depend if one.name not in things.columns]
    if not new or sum(target == things.name for _, target, _ in table.declared_links) > 1:
        return
    source = f"({table.folded})" if table.folded else identifier(things.of)
    values = "".join(f", any_value({one.value}) AS {identifier(one.name)}" for one in new)
    [key] = things.declared_key
    rows = f"SELECT {column.value} AS {identifier(key)}{values} FROM {source} GROUP BY ALL"
    things.folded = f"FROM ({things.folded})\nJOIN ({rows}) USING ({identifier(key)}) ORDER BY {identifier(key)}"
    con.execute(f"CREATE OR REPLACE TABLE {identifier(things.name)} AS {things.folded}")
    things.columns = {}
    profile(con, things)
    for one in new:
        del table.columns[one.name]


def _consistent(con: Connection, table: ProfiledTable, group: Sequence[_Thing]) -> list[str]:
    """Return the attributes of things that do not differ between the columns in which these are."""
    every = list(dict.fromkeys(name for thing in group for name in thing.others))
    if len(group) == 1:
        return every
    return [name for name in every if name == _NAME or _is_consistent(con, table, group, name)]


def _is_consistent(con: Connection, table: ProfiledTable, group: Sequence[_Thing], name: str) -> bool:
    pairs = " UNION ALL ".join(
        f"SELECT {thing.column.value} AS k, {thing.others[name].value} AS v FROM {identifier(table.name)}"
        for thing in group
        if name in thing.others
    )
    query = f"SELECT count(DISTINCT k) = count(DISTINCT (k, v)) FROM ({pairs}) WHERE k IS NOT NULL AND v IS NOT NULL"
    return con.execute(query).fetchall() == [(True,)]
