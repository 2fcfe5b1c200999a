"""Notes on parts of a source that are skipped, left out, read as missing, or not linked."""

from __future__ import annotations

import mimetypes
import os
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kbkit.errors import BadInputError
from kbkit.ingestion import archives, json_shapes, side_files, source_files
from kbkit.ingestion.inference import names, possible_links
from kbkit.ingestion.inference.attribute_names import apart, attribute
from kbkit.ingestion.inference.keys import reference
from kbkit.ingestion.inference.looks import ProfiledColumn
from kbkit.ingestion.inference.profile import ProfiledTable
from kbkit.ingestion.inference.roles import TablePlan
from kbkit.readers import workbooks
from kbkit.stores.sql_names import identifier

if TYPE_CHECKING:
    import duckdb

_SHARED = 0.7
"""Fraction of different values up to which a column may refer to something."""
_SHOWN = 5
"""Columns that a note lists."""
_NARROW = ("integer", "number", "date", "boolean")
_FILES = 3
"""Files that a note lists."""
_SUBFOLDER = "in a subfolder"
_UNDERSCORED = re.compile("_[^_]")


def skipped(given: Path, path: Path) -> Iterator[str]:
    """Yield a note for each part of a file that is not a table, if others are: sheets, members of JSON."""
    if source_files.format_of(given) == "excel":
        used = workbooks.tables(path)
        for name, look in workbooks.sheets(path).items():
            if name not in used:
                yield f"Skipped sheet {name!r} of {given}: {look.problem}"
            elif look.has_notes:
                yield f"Skipped notes beside the table of sheet {name!r} of {given}"
    if source_files.format_of(given) == "json" and (ignored := json_shapes.ignored(path)):
        yield f"Skipped {', '.join(ignored[:5])} of {given}: not a list of records"


def _shown(found: Sequence[str]) -> str:
    """Return the first of some columns, and how many more there are."""
    more = f" and {len(found) - _SHOWN} more columns" if len(found) > _SHOWN else ""
    return f"{', '.join(found[:_SHOWN])}{more}"


def missing(tables: Sequence[ProfiledTable]) -> Iterator[str]:
    """Yield a note on the columns with texts that are read as missing values."""
    columns = ((table.name, one) for table in tables for one in table.columns.values())
    if found := [f"{name}.{one.name} ({one.missing})" for name, one in columns if one.missing]:
        yield f"Read N/A and the like as missing: {_shown(found)}"


def worded(tables: Sequence[ProfiledTable]) -> Iterator[str]:
    """Yield a note on the columns of numbers in which some rows have words, which became another column."""
    pairs = ((table.name, name, own) for table in tables for name, own in table.worded.items())
    if found := [f"{table}.{name} ({own})" for table, name, own in pairs]:
        yield f"Words among numbers are attributes of their own: {_shown(found)}"


def spaced(tables: Sequence[ProfiledTable]) -> Iterator[str]:
    """Yield notes on the files with delimiters in fields without quotes, and with rows that lack fields."""
    if found := [table for table in tables if table.spec.spaced]:
        sign = found[0].spec.spaced
        yield f"Read {sign!r} before a blank as part of a field: {', '.join(table.name for table in found)}"
    if found := [table for table in tables if table.spec.short_rows]:
        yield f"Some rows lack the last fields, which are missing values: {', '.join(table.name for table in found)}"


def dates(tables: Sequence[ProfiledTable]) -> Iterator[str]:
    """Yield a note on the columns that look like dates and stay texts, with the reasons."""
    columns = ((table.name, one) for table in tables for one in table.columns.values())
    if found := [f"{name}.{one.name} ({one.problem})" for name, one in columns if one.problem and one.look != "prose"]:
        yield f"Dates that stay text (--date-column): {_shown(found)}"
    columns = ((table.name, one) for table in tables for one in table.columns.values())
    if found := [f"{name}.{one.name} ({one.lost})" for name, one in columns if one.lost]:
        yield f"Missing in columns of dates: {_shown(found)}"


def left_out(tables: Sequence[ProfiledTable]) -> Iterator[str]:
    """Yield a note on the rows that are left out because they are headers, hold totals of the others, or nothing; and
    on the columns that only number the rows, and on letters, currencies and percent signs beside numbers.
    """
    flags = [f"{t.name}.{one.name} ({one.flags})" for t in tables for one in t.columns.values() if one.flags]
    more = f" and {len(flags) - _SHOWN} more columns" if len(flags) > _SHOWN else ""
    if flags:
        yield f"Left out letters behind numbers, as in 12 p: {', '.join(flags[:_SHOWN])}{more}"
    if units := [f"{t.name}.{one.name}" for t in tables for one in t.columns.values() if one.has_unit]:
        yield f"Left out currencies and percent signs: {_shown(units)}"
    numbers = [f"{table.name}.{table.numbers}" for table in tables if table.numbers]
    more = f" and {len(numbers) - _SHOWN} more" if len(numbers) > _SHOWN else ""
    if numbers:
        yield f"Left out numbers of rows: {', '.join(numbers[:_SHOWN])}{more}"
    for table in (table for table in tables if table.headers):
        rows = "a row" if len(table.headers) == 1 else f"{len(table.headers)} rows"
        yield f"Left out {rows} below the header of {table.name}, with {' and '.join(map(repr, table.headers))}"
    if merged := [f"{table.name} ({table.merged})" for table in tables if table.merged]:
        yield f"Merged rows: {', '.join(merged)}"
    if below := [table.name for table in tables if table.spec.footer]:
        yield f"Left out the lines below the rows: {', '.join(below)}"
    for what in ("totals", "blank"):
        found = [f"{table.name} ({count})" for table in tables if (count := getattr(table, what))]
        if found:
            yield f"Left out {'rows of totals and notes' if what == 'totals' else 'empty rows'}: {', '.join(found)}"


def single(tables: Sequence[ProfiledTable]) -> Iterator[str]:
    """Yield a note on the files of one object that are one row: its members may be the records."""
    found = [
        table.name
        for table in tables
        if table.rows == 1 and not (table.spec.table or table.spec.many) and table.spec.match[0].endswith(".json")
    ]
    if found:
        yield f"Read one object as one row: {_shown(found)}. If its members are records, write a list of them"


def unlinked(con: duckdb.DuckDBPyConnection, tables: Sequence[ProfiledTable], plan: TablePlan) -> Iterator[str]:
    """Yield a note that nothing links the rows to others, with the columns whose values could be nodes."""
    links = [link for nodes in plan.nodes for _, link in nodes.links]
    if plan.edges or any(link.target for link in links):
        return
    parts = [(nodes.table, nodes.values, nodes.named) for nodes in plan.nodes]
    parts += [(one.table, [*one.values.values()], ()) for nodes in plan.nodes for one in nodes.details]
    found = [
        f"{table.name}.{name}"
        for table, values, named in parts
        for name in values
        if name not in named and _may_be_nodes(con, table, table.columns[name])
    ]
    columns = f"Columns whose values could be nodes (--node): {', '.join(found[:_SHOWN])}" if found else ""
    if links and found:
        yield columns
    elif not links and (found or len(tables) > 1):
        yield ". ".join(filter(None, ["No links found between rows: the KB has no edges", columns]))


def listed(columns: Sequence[str]) -> Iterator[str]:
    """Yield a note on the lists whose elements became nodes without being asked."""
    if columns:
        yield f"Made nodes of the names in lists (to keep a list: --link '{columns[0]}='): {_shown(columns)}"


def no_edges(plan: TablePlan, named: Collection[str]) -> Iterator[str]:
    """Yield a note on the tables that have a name of a relation from the user, but no edges."""
    if others := [name for name in named if name not in {edges.table.name for edges in plan.edges}]:
        yield f"No table of edges, so the relation is not used: {_shown(others)}"


def people(con: duckdb.DuckDBPyConnection, plan: TablePlan) -> Iterator[str]:
    """Yield a note on the columns of persons who are in several rows and are no nodes, if other links were found."""
    found = [
        f"{nodes.table.name}.{name}"
        for nodes in plan.nodes
        for name in nodes.values
        if names.is_role_of_persons(name) and _may_be_nodes(con, nodes.table, nodes.table.columns[name])
    ]
    if found and (plan.edges or any(nodes.links for nodes in plan.nodes)):
        yield f"Columns of people that could be nodes (--node): {_shown(found)}"


def strangers(plan: TablePlan) -> Iterator[str]:
    """Yield a note on the links with values that no row has, each of which becomes a node without attributes."""
    links = [(nodes.table, link) for nodes in plan.nodes for _, link in nodes.links]
    links += [(edges.table, link) for edges in plan.edges for link in (edges.head, edges.tail)]
    found = [
        f"{table.name}.{' + '.join(link.columns)} ({link.missing:,} of {link.distinct:,} values are not in"
        f" {link.target})"
        for table, link in links
        if link.target and link.missing and not link.partial
    ]
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    if found:
        yield f"Made nodes without attributes for what no row describes: {', '.join(found[:_SHOWN])}{more}"


def several_rows(con: duckdb.DuckDBPyConnection, plan: TablePlan) -> Iterator[str]:
    """Yield a note on the links by names and the like that several rows have: each value leads to all of them."""
    links = [(nodes.table, link) for nodes in plan.nodes for _, link in nodes.links]
    links += [(edges.table, link) for edges in plan.edges for link in (edges.head, edges.tail)]
    found = []
    for table, link in links:
        target = plan.of(link.target)
        if target is None or len(link.columns) != 1 or len(link.by) != 1 or link.by == target.key or link.form:
            continue
        if values := possible_links.repeated(con, table, link.columns[0], target.table, link.by[0]):
            found.append(f"{table.name}.{link.columns[0]} ({', '.join(map(repr, values))} in {link.target})")
    if found:
        yield f"Linked to each of several rows that have a value: {_shown(found)}"


def _may_be_nodes(con: duckdb.DuckDBPyConnection, table: ProfiledTable, column: ProfiledColumn) -> bool:
    """Return whether the texts of a column, or the elements of its lists, are in several rows each."""
    if column.look not in ("text", "list") or column.kind == "JSON" or names.is_own_name(column.name, ""):
        return False
    values = reference(table, [column.name])
    query = f"SELECT count(v), count(DISTINCT v) FROM (SELECT {values} AS v FROM {identifier(table.name)})"
    [(count, distinct)] = con.execute(query).fetchall()
    return bool(1 < distinct <= _SHARED * count)


def renamed(plan: TablePlan) -> Iterator[str]:
    """Yield a note on the columns whose attributes have another name, because theirs has another meaning."""
    others = apart(plan)
    found = [
        f"{nodes.table.name}.{name} is {own}"
        for nodes in plan.nodes
        for name in nodes.values
        if (own := attribute(name, nodes.table.type, others)) != name
    ]
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    if found:
        yield f"Attributes with another name than their column: {', '.join(found[:_SHOWN])}{more}"


def repeated(tables: Sequence[ProfiledTable]) -> Iterator[str]:
    """Yield a note on the columns whose name another one before them has."""
    pairs = ((table.name, name, others) for table in tables for name, others in table.apart.items())
    if found := [f"{table}.{name} is also {', '.join(others)}" for table, name, others in pairs]:
        yield f"Columns with the same name: {_shown(found)}"


def mixed(plan: TablePlan) -> Iterator[str]:
    """Yield a note on the numbers and dates that are texts, because another type has texts in the attribute."""
    looks: dict[str, dict[str, str]] = {}
    others = apart(plan)
    for nodes in plan.nodes:
        for name in (name for name in nodes.values if nodes.table.columns[name].count):
            own = attribute(name, nodes.table.type, others)
            looks.setdefault(own.casefold(), {})[f"{nodes.table.name}.{name}"] = nodes.table.columns[name].look
    found = []
    for by_column in looks.values():
        texts = [column for column, look in by_column.items() if look in ("text", "prose")]
        found += [f"{one} ({texts[0]} has texts)" for one, look in by_column.items() if texts and look in _NARROW]
    if found:
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        yield f"Read as text, like another attribute of the same name: {', '.join(found[:_SHOWN])}{more}"


# -- files ------------------------------------------------------------------------------------------------------------


def check_read(given: Sequence[Path], taken: Collection[Path]) -> None:
    """Raise :class:`BadInputError` if a file of data in the folders ``given`` is not ``taken`` and larger than all that
    are: the KB would be that of what lies beside it. A file that is there in another format, too, is not missed.
    """
    used = frozenset(archives.sources({"": [*taken]}))
    stems = {source_files.plain_name(path).partition(".")[0].casefold() for path in taken}
    read = sum(archives.size(path) for path in taken)
    for root in (path for path in given if path.is_dir()):
        for path in (path for path in _files(root, used) if path not in taken and path.is_file()):
            missed = source_files.suffix(path) in _DATA and path.stem.casefold() not in stems
            if missed and path.stat().st_size > read:
                message = f"{path}, the largest file, cannot be read: its format is {source_files.suffix(path)}"
                raise BadInputError(
                    message, "Convert it to CSV or JSON, or name the files to read instead of the folder"
                )


_DATA = frozenset(
    [".accdb", ".arrow", ".avro", ".dbf", ".dta", ".eml", ".feather", ".gpkg", ".h5", ".hdf5", ".ics",
     ".kmz", ".mat", ".mdb", ".mrc", ".msg", ".nc", ".npz", ".ods", ".orc", ".pickle", ".pkl", ".pst", ".rdata", ".rds",
     ".sas7bdat", ".sav", ".shp", ".vcf", ".xls", ".xlsb"]
)  # fmt: skip
"""Endings of files with data, which are not read."""


def unread(given: Sequence[Path], taken: Collection[Path]) -> Iterator[str]:
    """Yield a note on the files in the folders and archives ``given`` that are not ``taken``, by the reason.

    Files in subfolders have one note with the folders to add.
    """
    by_reason: dict[str, list[str]] = {}
    folders: dict[Path, None] = {}
    used = frozenset(archives.sources({"": [*taken]}))
    for root in (path for path in given if path.is_dir() or archives.is_archive(path)):
        for path in (path for path in _files(root, used) if path not in taken):
            reason = _reason(path, root)
            if reason == _SUBFOLDER:
                folders[path if path.is_dir() else path.parent] = None
            by_reason.setdefault(reason, []).append(path.relative_to(root).as_posix())
    for reason, files in by_reason.items():
        remedy = _to_add([*map(str, folders)]) if reason == _SUBFOLDER else ""
        yield f"Not read: {_some(files)} ({reason}{remedy})"


def _to_add(folders: Sequence[str]) -> str:
    return f"; to read {'it' if len(folders) == 1 else 'them'}, add {_some(folders)} to the command"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _FILES:,} more" if len(names) > _FILES else ""
    return f"{', '.join(names[:_FILES])}{more}"


def _files(root: Path, used: Collection[Path]) -> Iterator[Path]:
    """Yield the files in a folder at any depth, and the links to folders, which are not followed, except those in
    hidden folders and KBs; of archives that are ``used``, the members. A folder such as ``_data`` is not hidden.
    """
    if archives.is_archive(root):
        yield from archives.members(root) if root in used else ()
        return
    for folder, inside, files in os.walk(root):
        named = (
            name for name in inside if _UNDERSCORED.match(name) or not source_files.is_left_out(Path(folder, name))
        )
        inside[:] = sorted(named)
        found = [Path(folder, name) for name in (*sorted(files), *inside)]
        for path in (path for path in found if path.is_symlink() or not path.is_dir()):
            yield from archives.members(path) if path in used and archives.is_archive(path) else [path]


def _reason(path: Path, root: Path) -> str:
    kind = (mimetypes.guess_type(path.name)[0] or "").partition("/")[0]
    if side_files.is_of_system(path):
        return "file of the system or of an open program"
    if side_files.is_document(path):
        return "document, not a table"
    if kind in ("image", "audio", "video", "font"):
        return "media"
    known = source_files.suffix(path) in source_files.FORMATS or archives.is_archive(path)
    if not known and not path.is_dir():
        return f"format {source_files.suffix(path) or 'unknown'}; to read it, convert it to CSV or JSON"
    if os.path.lexists(path) and not (path.is_file() or path.is_dir()):
        return "not a file: a pipe, or a link to nothing"
    inside = _SUBFOLDER if path.exists() else "in a hidden folder of an archive; to read it, extract it"
    return "without tables" if path.parent == root and not path.is_dir() else inside
