"""Notes on parts of a source that are skipped, left out, read as missing, or not linked."""

from __future__ import annotations

import mimetypes
import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from kbkit.ingestion import json_shapes, side_files, source_files
from kbkit.ingestion.inference import names
from kbkit.ingestion.inference.profile import ProfiledTable
from kbkit.ingestion.inference.roles import TablePlan
from kbkit.readers import workbooks

_SHARED = 0.7
"""Fraction of different values up to which a column may refer to something."""
_SHOWN = 5
"""Columns that a note lists."""
_NARROW = ("integer", "number", "date", "boolean")
_FILES = 3
"""Files that a note lists."""


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


def missing(tables: Sequence[ProfiledTable]) -> Iterator[str]:
    """Yield a note on the columns with texts that are read as missing values."""
    found = [
        f"{table.name}.{one.name} ({one.missing})" for table in tables for one in table.columns.values() if one.missing
    ]
    more = f" and {len(found) - _SHOWN} more columns" if len(found) > _SHOWN else ""
    if found:
        yield f"Read N/A and the like as missing: {', '.join(found[:_SHOWN])}{more}"


def totals(tables: Sequence[ProfiledTable]) -> Iterator[str]:
    """Yield a note on the rows that are left out because they hold totals of the others, notes or nothing."""
    for what in ("totals", "blank"):
        found = [f"{table.name} ({count})" for table in tables if (count := getattr(table, what))]
        if found:
            yield f"Left out {'rows of totals and notes' if what == 'totals' else 'empty rows'}: {', '.join(found)}"


def unlinked(tables: Sequence[ProfiledTable], plan: TablePlan) -> Iterator[str]:
    """Yield a note that nothing links the rows, with the columns whose values could be nodes."""
    if plan.edges or any(nodes.links for nodes in plan.nodes):
        return
    found = [
        f"{table.name}.{one.name}"
        for table in tables
        for one in table.columns.values()
        if one.look in ("text", "list")
        and 1 < one.distinct <= _SHARED * one.count
        and not names.is_own_name(one.name, "")
    ]
    more = f". Columns whose values could be nodes (--node): {', '.join(found[:_SHOWN])}" if found else ""
    if found or len(tables) > 1:
        yield f"No links found between rows: the KB has no edges{more}"


def mixed(plan: TablePlan) -> Iterator[str]:
    """Yield a note on the numbers and dates that are texts, because another type has texts in the attribute."""
    looks: dict[str, dict[str, str]] = {}
    for nodes in plan.nodes:
        for name in (name for name in nodes.values if nodes.table.columns[name].count):
            looks.setdefault(name.casefold(), {})[f"{nodes.table.name}.{name}"] = nodes.table.columns[name].look
    found = []
    for by_column in looks.values():
        texts = [column for column, look in by_column.items() if look in ("text", "prose")]
        found += [f"{one} ({texts[0]} has texts)" for one, look in by_column.items() if texts and look in _NARROW]
    if found:
        yield f"Attributes of one name have one type; text: {', '.join(found[:_SHOWN])}"


# -- files ------------------------------------------------------------------------------------------------------------


def unread(given: Sequence[Path], taken: Collection[Path]) -> Iterator[str]:
    """Yield a note on the files in the folders ``given`` that are not among those ``taken``, by the reason."""
    by_reason: dict[str, list[str]] = {}
    for root in (path for path in given if path.is_dir()):
        for path in _files(root):
            if path not in taken:
                reason = _reason(path, root)
                by_reason.setdefault(reason, []).append(path.relative_to(root).as_posix())
    for reason, files in by_reason.items():
        more = f" and {len(files) - _FILES:,} more" if len(files) > _FILES else ""
        yield f"Not read: {', '.join(files[:_FILES])}{more} ({reason})"


def _files(root: Path) -> Iterator[Path]:
    """Yield the files in a folder at any depth, except those of hidden folders and of KBs."""
    for folder, inside, files in os.walk(root):
        inside[:] = sorted(name for name in inside if not source_files.is_left_out(name))
        yield from (Path(folder, name) for name in sorted(files))


def _reason(path: Path, root: Path) -> str:
    kind = (mimetypes.guess_type(path.name)[0] or "").partition("/")[0]
    if side_files.is_of_system(path):
        return "file of the system or of an open program"
    if side_files.is_document(path):
        return "document, no table"
    if kind in ("image", "audio", "video", "font"):
        return "media"
    if source_files.suffix(path) not in source_files.FORMATS:
        return f"format {source_files.suffix(path) or 'unknown'}; to read it, convert it to CSV or JSON"
    return f"in a subfolder; to read it, add {path.parent} to the command" if path.parent != root else "no table"
