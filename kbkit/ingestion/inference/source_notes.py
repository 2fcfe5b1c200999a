"""Notes on parts of a source that are skipped, left out, read as missing, or not linked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from kbkit.ingestion import json_shapes, source_files
from kbkit.ingestion.inference import names
from kbkit.ingestion.inference.profile import ProfiledTable
from kbkit.ingestion.inference.roles import TablePlan
from kbkit.readers import workbooks

_SHARED = 0.7
"""Fraction of different values up to which a column may refer to something."""
_SHOWN = 5
"""Columns that a note lists."""


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
    """Yield a note on the rows that are left out because they hold totals of the others, or nothing."""
    for what in ("totals", "blank"):
        found = [f"{table.name} ({count})" for table in tables if (count := getattr(table, what))]
        if found:
            yield f"Left out {'rows of totals' if what == 'totals' else 'empty rows'}: {', '.join(found)}"


def unlinked(tables: Sequence[ProfiledTable], plan: TablePlan) -> Iterator[str]:
    """Yield a note on the columns whose values could be nodes, if nothing links the rows."""
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
    if found:
        yield f"No links found. Columns whose values could be nodes: {', '.join(found[:_SHOWN])}"
