"""Tables whose rows are edges: which ones they are, and which column holds what.

:data:`NODES_INSTEAD` lists the reasons why the rows of a table with two ends are nodes after all: to change what counts
as a table of edges, change that list.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from kbkit.ingestion.inference import names
from kbkit.ingestion.inference.keys import reference
from kbkit.ingestion.inference.looks import ProfiledColumn
from kbkit.ingestion.inference.profile import ProfiledTable
from kbkit.ingestion.inference.table_link import TableLink
from kbkit.stores.sql_names import identifier

if TYPE_CHECKING:
    import duckdb

_PREVIEW = 1000
"""Edges that are looked up in the other direction before all are."""
_MOST_INCOMPLETE = 0.2
"""Maximum fraction of the rows of a link table that lack an end; with more, its rows are nodes."""
_FEW = 1
"""Maximum number of attributes of a link table that has a key of its own; with more, its rows are nodes."""
_EVENT = 3
"""Attributes of its own from which a row that joins two types is an event, and a node."""
_FEWEST_EVENTS = 20
"""Rows from which the values of a column show that rows are events."""
_NAMING = 0.5
"""Least fraction of the rows whose texts differ in a column that says what each of them is."""
_MOST_RELATIONS = 100
"""Different texts in the column between two ends up to which they are relations."""
_KIND_NAMES = ("type", "label", "kind")
"""Columns that name the relation if the table is clearly a list of edges."""
_NUMBERED_END = re.compile(r"([^\W\d_]{2,}?)[_ ]?(?:[12]|[AB]|_[ab])")
_MOST_OF_PAIRS = 8
"""Columns up to which a table with two columns of the same thing may be a list of edges."""
_DIRECTIONS = {"directed", "undirected", "mutual"}


@dataclass
class EdgeTable:
    """A table whose rows are edges, except those ``incomplete`` ones that lack an end, which are left out.

    ``by`` is the column with the relation, if there is one.
    """

    table: ProfiledTable
    relation: str
    head: TableLink
    tail: TableLink
    values: list[str]
    by: str = ""
    symmetric: bool = False
    incomplete: int = 0


@dataclass(frozen=True)
class _Candidate:
    """A table with two ends.

    ``ids`` are columns of its key that are no ends, ``values`` the columns that are neither; ``texts`` are columns that
    the user named as prose. ``bare``: the ends refer to no table, and were found by their names only.
    """

    con: duckdb.DuckDBPyConnection
    table: ProfiledTable
    head: TableLink
    tail: TableLink
    key: Sequence[str]
    ids: Sequence[str]
    values: Sequence[str]
    texts: Collection[str]
    bare: bool

    @cached_property
    def incomplete(self) -> int:
        """The number of rows that lack an end."""
        columns = [self.table.columns[name] for end in (self.head, self.tail) for name in end.columns]
        missing = " OR ".join(f"{column.value} IS NULL" for column in columns)
        sql = f"SELECT count(*) FROM {identifier(self.table.name)} WHERE {missing}"
        [(count,)] = self.con.execute(sql).fetchall()
        return int(count)


def edges_of(
    con: duckdb.DuckDBPyConnection,
    table: ProfiledTable,
    links: Sequence[TableLink],
    key: Sequence[str],
    texts: Collection[str],
    types: Mapping[str, str],
) -> EdgeTable | None:
    """Return the edges of a table with two links and no content of its own, or of a list of edges."""
    ends = _ends(table, links)
    if ends is None:
        return None
    head, tail = ends
    linked = {column for link in ends for column in link.columns}
    ids = [name for name in key if name not in linked and names.is_id(name)]
    values = [name for name in table.columns if name not in linked and name not in ids]
    candidate = _Candidate(con, table, head, tail, key, ids, values, texts, bare=not links)
    if any(reason(candidate) for reason in NODES_INSTEAD):
        return None
    by = _relation_column(candidate)
    return EdgeTable(
        table,
        _relation_name(candidate, types),
        head,
        tail,
        [*ids, *(name for name in values if name != by)],
        by,
        not by and _is_symmetric(candidate),
        candidate.incomplete,
    )


# -- ends -------------------------------------------------------------------------------------------------------------


def _ends(table: ProfiledTable, links: Sequence[TableLink]) -> tuple[TableLink, TableLink] | None:
    """Return the links to head and tail: the two of the table, or two columns named as the ends of an edge."""
    if not links and (columns := _columns_of_ends(table)):
        links = [TableLink((column,), "", (), loose="node") for column in columns]
    elif not links and (pair := _numbered_ends(table)):
        links = [TableLink((column,), "", (), loose=pair[2]) for column in pair[:2]]
    if len(links) != 2 or any(link.lists or link.partial or link.target == table.name for link in links):
        return None
    first, second = links
    turned = names.plain(second.columns[0]) in names.HEADS and names.plain(first.columns[0]) in names.TAILS
    return (second, first) if turned else (first, second)


def _columns_of_ends(table: ProfiledTable) -> tuple[str, str] | None:
    """Return the columns named as head and tail (``source``), or else as their identifiers (``source_id``)."""
    plain = {names.plain(name): name for name in table.columns}
    ids = {subject: name for name in table.columns if names.is_id(name) and (subject := names.subject(name)[0])}

    def column(accepted: Sequence[str]) -> str:
        return next((known[name] for known in (plain, ids) for name in accepted if name in known), "")

    head, tail = column(names.HEADS), column(names.TAILS)
    return (head, tail) if head and tail else None


def _numbered_ends(table: ProfiledTable) -> tuple[str, str, str] | None:
    """Return two columns of the same thing (``protein1``, ``protein2``) with its type, if all others are numbers.

    Each value must be in several rows: a second address is in one.
    """
    columns = list(table.columns.values())
    for one, other in itertools.pairwise(columns):
        stems = [_NUMBERED_END.fullmatch(column.name) for column in (one, other)]
        first, second = stems
        if first is None or second is None or first[1] != second[1] or len(columns) > _MOST_OF_PAIRS:
            continue
        alike = one.look == other.look and one.look in ("text", "integer") and one.count == other.count == table.rows
        rest = [column for column in columns if column not in (one, other)]
        repeated = 2 * one.distinct <= table.rows and one.distinct > 1
        if alike and repeated and all(column.look in ("number", "integer", "boolean", "date") for column in rest):
            return one.name, other.name, names.types([names.words(first[1])])[0]
    return None


# -- reasons why the rows are nodes -----------------------------------------------------------------------------------


def _has_several_ids(candidate: _Candidate) -> bool:
    return len(candidate.ids) > 1


def _has_names_or_prose(candidate: _Candidate) -> bool:
    """Return whether the rows have names or texts, which edges do not have; those of Gephi may have labels."""
    if _says_directions(candidate):
        return False
    columns = [candidate.table.columns[name] for name in candidate.values]
    person = names.of_person([column.name for column in columns if column.look == "text"], candidate.table.type)
    return bool(person) or any(column.look == "prose" or _is_name(column) for column in columns)


def _says_directions(candidate: _Candidate) -> bool:
    """Return whether a column says which rows are directed edges, as in exports of Gephi."""
    ends = (
        names.plain(candidate.head.columns[0]) in names.HEADS and names.plain(candidate.tail.columns[0]) in names.TAILS
    )
    kinds = (candidate.table.columns[name] for name in candidate.values if names.plain(name) in _KIND_NAMES)
    return ends and any(one.look == "text" and one.count and _are_directions(candidate, one) for one in kinds)


def _has_named_texts(candidate: _Candidate) -> bool:
    """Return whether the user said that the table has prose."""
    return bool(candidate.texts)


def _has_foreign_id(candidate: _Candidate) -> bool:
    """Return whether the key names another thing than the table: its rows stand for that thing."""
    ids, table = candidate.ids, candidate.table
    return bool(ids) and not candidate.bare and not names.is_own_id(ids[0], table.type)


def _has_own_key(candidate: _Candidate) -> bool:
    """Return whether a text is the key of the rows, which names them."""
    key = tuple(candidate.key)
    linked = {*candidate.head.columns, *candidate.tail.columns}
    alone = len(key) == 1 and key[0] not in linked
    return alone and candidate.table.columns[key[0]].look == "text" and "name" in names.words(key[0])


def _has_code(candidate: _Candidate) -> bool:
    """Return whether the rows have a code of their own and say something: flights between airports, by their number."""
    ids, columns = candidate.ids, candidate.table.columns
    is_code = bool(ids) and columns[ids[0]].look == "text" and columns[ids[0]].distinct == candidate.table.rows
    return is_code and not candidate.bare and bool(candidate.values)


def _is_described(candidate: _Candidate) -> bool:
    """Return whether a table with a key describes things that join two types (an order of a person for a product)."""
    many = len(candidate.values) > _FEW and candidate.head.target != candidate.tail.target
    return bool(candidate.ids) and not candidate.bare and many


def _names_its_ends(candidate: _Candidate) -> bool:
    """Return whether a table with a key names things of two types that no other table has: it is about its rows."""
    return candidate.table.has_things and bool(candidate.ids) and candidate.head.target != candidate.tail.target


def _is_an_event(candidate: _Candidate) -> bool:
    """Return whether rows without a key say more of themselves than of their ends, or are told apart by a text."""
    same = candidate.head.target == candidate.tail.target
    if candidate.bare or candidate.ids or same or candidate.table.rows < _FEWEST_EVENTS:
        return False
    if candidate.key and any({*candidate.key} <= {*end.columns} for end in (candidate.head, candidate.tail)):
        return True  # one row of each thing at that end
    known = [candidate.table.columns[name] for name in candidate.values]
    names_rows = any(one.look == "text" and _NAMING * candidate.table.rows <= one.distinct for one in known)
    return names_rows or sum(one.distinct > 1 for one in known) >= _EVENT


def _is_in_a_folder(candidate: _Candidate) -> bool:
    """Return whether one end is the folder of the file: records of something, such as messages of a channel."""
    columns = (*candidate.head.columns, *candidate.tail.columns)
    return candidate.table.spec.folder in columns and len(candidate.values) > _FEW


def _often_lacks_an_end(candidate: _Candidate) -> bool:
    return candidate.incomplete > _MOST_INCOMPLETE * candidate.table.rows


NODES_INSTEAD: tuple[Callable[[_Candidate], bool], ...] = (
    _has_several_ids,
    _has_names_or_prose,
    _has_named_texts,
    _has_foreign_id,
    _has_own_key,
    _has_code,
    _is_described,
    _names_its_ends,
    _is_an_event,
    _is_in_a_folder,
    _often_lacks_an_end,
)
"""Reasons why the rows of a table with two ends are nodes."""


def _is_name(column: ProfiledColumn) -> bool:
    return names.plain(column.name) in names.NAMES and column.look == "text"


# -- the relation -----------------------------------------------------------------------------------------------------


def _relation_column(candidate: _Candidate) -> str:
    """Return the column with the relation of each edge, or an empty string."""
    is_list = candidate.bare or names.plain(candidate.head.columns[0]) in names.HEADS
    by = _first_named(candidate.values, names.RELATIONS)
    if not by and is_list:
        by = _first_named(candidate.values, _KIND_NAMES) or _between_ends(candidate)
    if not by:
        return ""
    column = candidate.table.columns[by]
    is_full = column.look in ("text", "integer") and column.count == candidate.table.rows
    return by if is_full and not _are_directions(candidate, column) else ""


def _between_ends(candidate: _Candidate) -> str:
    """Return the only column between those of head and tail, if it is a text with few different values."""
    order = [*candidate.table.columns]
    first, last = (order.index(end.columns[0]) for end in (candidate.head, candidate.tail))
    between = order[first + 1 : last]
    column = candidate.table.columns[between[0]] if len(between) == 1 and between[0] in candidate.values else None
    fits = column and column.look == "text" and 2 * column.distinct < column.count and column.distinct < _MOST_RELATIONS
    return between[0] if fits else ""


def _first_named(columns: Sequence[str], accepted: Collection[str]) -> str:
    return next((name for name in columns if names.plain(name) in accepted), "")


def _are_directions(candidate: _Candidate, column: ProfiledColumn) -> bool:
    """Return whether a column says which edges are directed, as in exports of Gephi, not which relation they have."""
    if column.distinct > 2:
        return False
    sql = f"SELECT DISTINCT lower({column.value}) FROM {identifier(candidate.table.name)}"
    rows = candidate.con.execute(sql).fetchall()
    return {value for (value,) in rows} <= _DIRECTIONS


def _relation_name(candidate: _Candidate, types: Mapping[str, str]) -> str:
    """Return the relation of a table's edges: the table's name, without words that say that it is a list of edges."""
    table, ends = candidate.table, (candidate.head, candidate.tail)
    words = [word for word in table.words if word not in ("edges", "edge", "links", "link")] or ["link"]
    if names.types([words]) == [types.get(candidate.head.target)]:
        return "link"  # edges of people in people_edges.csv
    if table.type in [end.loose for end in ends]:
        return table.type  # hobbies.csv with people and their hobbies
    return names.identifier("_".join(words))


def _is_symmetric(candidate: _Candidate) -> bool:
    """Return whether both ends have one type, and every edge exists in both directions, with the same attributes."""
    head, tail, table = candidate.head, candidate.tail, candidate.table
    if (head.target, head.loose) != (tail.target, tail.loose):
        return False
    a, b = reference(table, head.columns), reference(table, tail.columns)
    own = [identifier(name) for name in candidate.values]
    columns = "".join(f", {name} AS v{number}" for number, name in enumerate(own))
    same = "".join(f" AND p.v{number} IS NOT DISTINCT FROM q.v{number}" for number in range(len(own)))
    pairs = f"SELECT {a} AS a, {b} AS b{columns} FROM {identifier(table.name)} WHERE {a} <> {b}"
    for some in (f"({pairs} LIMIT {_PREVIEW})", f"({pairs})"):
        [(count, alone)] = candidate.con.execute(
            f"SELECT count(*), count(*) FILTER (q.a IS NULL) FROM {some} p"
            f" LEFT JOIN (SELECT DISTINCT * FROM ({pairs})) q ON p.a = q.b AND p.b = q.a{same}"
        ).fetchall()
        if not count or alone:
            return False
    return True
