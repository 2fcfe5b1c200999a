"""Infer a recipe from files: which hold nodes, which edges, and how they refer to each other.

``source_tables`` finds the tables, ``dialect`` how to read a text file, ``profile`` and ``looks`` what its columns look
like, ``links`` keys and references, ``roles`` what each table becomes, ``corrected_plan`` as the user corrects it,
``recipe_file`` and ``script`` write the recipe.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbkit.directory import limits
from kbkit.directory.files import write_files
from kbkit.directory.temporary import TemporaryFolder
from kbkit.errors import BadInputError, Command, UnknownNameError
from kbkit.ingestion import archives, gathered, source_files, sources
from kbkit.ingestion.generation import one_line_errors, staging_database
from kbkit.ingestion.inference import (
    alike_files,
    alike_sheets,
    corrected_plan,
    dates,
    declared_data,
    embedded,
    left_out_rows,
    lines,
    list_nodes,
    names,
    nouns,
    profile,
    recipe_file,
    repeats,
    script,
    source_notes,
    source_tables,
)
from kbkit.ingestion.inference.profile import ProfiledTable
from kbkit.ingestion.inference.roles import TablePlan
from kbkit.ingestion.inference.unsure import UnsureGuess, unsure
from kbkit.ingestion.recipe import as_source
from kbkit.ingestion.request import Corrections
from kbkit.ingestion.source_errors import explained, mixed_line_ends
from kbkit.readers import databases
from kbkit.schema import quote

if TYPE_CHECKING:
    import duckdb
    import polars as pl


@dataclass(frozen=True)
class Inferred:
    """An inferred recipe: the texts of its two files, what it makes of the tables, ``notes`` on what it skips, and the
    guesses that may be wrong.
    """

    toml: str
    sql: str
    tables: Sequence[ProfiledTable]
    plan: TablePlan
    notes: Sequence[str] = ()
    unsure: Sequence[UnsureGuess] = ()

    def write(self, folder: Path) -> None:
        """Write the recipe to a new folder, or over an inferred one that was not edited."""
        if folder.exists() and not _is_ours(folder):
            hint = ("Use ", Command(f"ingest {as_source(folder)} FILES"), " to load with it, or delete it")
            raise BadInputError(f"{folder} already exists, and was edited", *hint)
        folder.mkdir(parents=True, exist_ok=True)
        signed = f"{_SIGNED}{_digest(self.toml, self.sql)}\n{self.toml}"
        write_files({folder / "recipe.toml": signed, folder / "load.sql": self.sql})

    def summary(self) -> pl.DataFrame:
        """Return what each table becomes: columns ``table``, ``rows``, ``becomes``, ``key``, ``name``, ``columns``."""
        from kbkit.ingestion.inference.summary import summary

        return summary(self.tables, self.plan)


@dataclass(frozen=True)
class Examination:
    """Files that are read and profiled, from which recipes can be inferred with different corrections.

    ``con`` is a database with a table for each of ``tables``; ``notes`` are on what was skipped.
    """

    con: duckdb.DuckDBPyConnection
    tables: Sequence[ProfiledTable]
    notes: Sequence[str]

    def infer(self, name: str, corrections: Corrections | None = None, *, source_file: bool = False) -> Inferred:
        """Infer a recipe called ``name``; see :func:`infer`."""
        told = corrections or Corrections()
        used = copy.deepcopy(list(self.tables))  # corrections change them
        plan = corrected_plan.plan(self.con, used, told)
        kept = {".".join(corrected_plan.column_of(used, name)) for name in (*told.texts, *told.links)}
        listed = [] if told.nodes else list_nodes.find(self.con, plan, kept)
        if listed:
            used = copy.deepcopy(list(self.tables))
            plan = corrected_plan.plan(self.con, used, replace(told, nodes=listed))
        toml = recipe_file.recipe(plan, used, name, _title(plan), source_file=source_file)
        of_tables = (
            source_notes.missing(used),
            source_notes.worded(used),
            source_notes.spaced(used),
            source_notes.dates(used),
            source_notes.left_out(used),
            source_notes.single(used),
        )
        of_plan = (source_notes.unlinked(self.con, used, plan), source_notes.mixed(plan), source_notes.renamed(plan))
        found = (
            *of_tables,
            *of_plan,
            source_notes.strangers(plan),
            source_notes.several_rows(self.con, plan),
            source_notes.people(self.con, plan),
            source_notes.repeated(used),
            source_notes.listed(listed),
            source_notes.no_edges(plan, told.relation_names),
        )
        notes = [*self.notes, *chain.from_iterable(found)]
        guesses = unsure(self.con, used, plan, told)
        return Inferred(toml, script.load(plan, source_file=source_file), used, plan, notes, guesses)

    def sample(self, table: ProfiledTable, limit: int) -> list[dict[str, Any]]:
        """Return the first rows of a table, with the clean values of its columns."""
        columns = ", ".join(f"{column.value} AS {quote(name)}" for name, column in table.columns.items())
        cursor = self.con.execute(f"SELECT {columns} FROM {quote(table.name)} LIMIT {limit}")
        return [dict(zip(table.columns, row, strict=True)) for row in cursor.fetchall()]

    def filled(self, table: ProfiledTable) -> dict[str, tuple[int, int]]:
        """Return how many rows have a value in each column of a table, and how many values differ (about), without
        texts such as ``N/A``.
        """
        found = {name: (column.count, column.distinct) for name, column in table.columns.items()}
        if cleaned := [name for name, column in table.columns.items() if column.missing]:
            values = [table.columns[name].value for name in cleaned]
            counts = ", ".join(f"count({value}), approx_count_distinct({value})" for value in values)
            [row] = self.con.execute(f"SELECT {counts} FROM {quote(table.name)}").fetchall()
            pairs = zip(row[::2], row[1::2], strict=True)
            found |= {
                name: (count, min(count, distinct)) for name, (count, distinct) in zip(cleaned, pairs, strict=True)
            }
        return found


def infer(
    paths: Sequence[Path], name: str, corrections: Corrections | None = None, *, source_file: bool = False
) -> Inferred:
    """Infer a recipe called ``name`` for files and folders.

    With ``source_file``, nodes keep the file of their row. Raises :class:`BadInputError`, and
    :class:`kbkit.errors.UnknownNameError` for corrections of unknown tables and columns.
    """
    told = corrections or Corrections()
    with examined(paths, no_header=told.no_header, date_order=told.date_order) as found:
        return found.infer(name, corrections, source_file=source_file)


@contextlib.contextmanager
def examined(paths: Sequence[Path], *, no_header: bool = False, date_order: str = "") -> Iterator[Examination]:
    """Read and profile files and folders; see :class:`Corrections`. Raises :class:`BadInputError`."""
    limits.check_limits()
    if date_order not in ("", *dates.TWO_WAYS):
        raise UnknownNameError("date order", date_order, dates.TWO_WAYS)
    inside = gathered.resources(paths)
    others = [path for group in inside for path in group.files]
    with TemporaryFolder() as folder:
        declared = declared_data.find(paths, source_files.tables_in(paths, may_be_empty=True), folder)
    others += declared.tables
    inside += [group for path in paths for group in gathered.inside(path, others)]
    listed = source_files.tables_in(paths, may_be_empty=bool(inside or declared.tables))
    listed = list(dict.fromkeys([*(path for path in listed if path not in declared.files), *declared.tables]))
    views = source_tables.views([path for path in listed if path not in paths])
    known = {*paths, *views, *others}
    apart = [path for path in listed if path not in known and path.parent in paths]
    groups = [*inside, *gathered.numbered(apart)]
    taken = {path for group in groups for path in group.files}
    groups += alike_files.groups([path for path in apart if path not in taken])
    taken = {path for group in groups for path in (*group.files, *group.copies)}
    found = {"files": [path for path in listed if path not in views and path not in taken]}
    with TemporaryFolder() as folder, one_line_errors():
        local = archives.unpack(found, folder / "unpacked")
        try:
            every = zip(found["files"], local["files"], strict=True)
            files, skipped = source_tables.with_rows(every, paths, alone=not groups)
            together = {gathered.whole(group, folder / f"group-{n}"): group for n, group in enumerate(groups)}
            given_files = [*files, *((path, path) for path in together)]
            tables = source_tables.tables_of(given_files, together, paths, no_header=no_header, declared=declared)
            for table in tables:
                table.date_order = date_order
            notes = [*(f"Skipped {path}: {path.stem}_all has its rows" for path in views), *skipped]
            notes += [note for pair in files for note in source_notes.skipped(*pair)]
            source_notes.check_read(paths, {*listed, *taken})
            notes += source_notes.unread(paths, {*listed, *taken, *declared.files})
            with _examine(tables, folder) as con:
                of_given = source_tables.of_files(tables, dict(given_files))
                of_table = {table.name: given for given, table in of_given.items()}
                declared_data.check(con, list(tables), declared, of_table)
                notes += declared_data.notes(declared)
                whole, left_out = repeats.without_parts(con, tables, paths)
                joined = alike_sheets.join(con, whole)
                notes += [*left_out, *alike_sheets.notes(joined)]
                kept = embedded.split(con, repeats.absorb(con, lines.split(con, joined)))
                own = {t.name: tables[t][0] for t in kept if t in tables}
                nouns.rename(con, kept, {name: path.parent for name, path in own.items() if path in listed})
                nouns.rename_tables(con, kept)
                of_files = {table.spec.match: table.name for table in reversed(kept)}
                notes[:0] = [group.note(paths, of_files.get(group.match, group.name)) for group in groups]
                yield Examination(con, kept, notes)
        except BadInputError as error:
            raise BadInputError(archives.original(error.message, found, local), *error.hints) from error


@contextlib.contextmanager
def _examine(tables: Mapping[ProfiledTable, Sequence[Path]], folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Load the tables into a database in ``folder``, and profile them."""
    found = {table.name: paths for table, paths in tables.items()}
    with staging_database(folder, found, specs=[table.spec for table in tables]) as (con, local):
        files = [path for taken in local.values() for path in taken]
        with explained(folder / "load.sql", files, [path for path in files if databases.is_database(path)]):
            for table in tables:
                sources.create_view(con, replace(table.spec, name="file"), local[table.name], {})
                con.execute(f'CREATE TABLE {quote(table.name)} AS FROM "file"')
                if table.spec.skip and not con.execute(f"SELECT 1 FROM {quote(table.name)} LIMIT 1").fetchall():
                    for error in filter(None, map(mixed_line_ends, local[table.name])):
                        raise error  # DuckDB skips all lines then
                con.execute('DROP VIEW "file"')
                table.same_named = sources.repeated(table.spec, local[table.name][0])
                left_out_rows.drop_header_rows(con, table)
                if not table.columns:
                    profile.profile(con, table)
            for table in tables:
                _drop_row_numbers(con, table, [other for other in tables if other is not table])
                left_out_rows.drop_totals(con, table)
                left_out_rows.drop_duplicates(con, table)
                left_out_rows.fold(con, table)
        yield con


_SIGNED = "# kbkit may replace this recipe as long as it is unchanged: "


def _is_ours(folder: Path) -> bool:
    """Return whether a folder holds an inferred recipe, and nothing that a user changed or added."""
    if not folder.is_dir() or {path.name for path in folder.iterdir()} != {"recipe.toml", "load.sql"}:
        return False
    try:
        toml, sql = ((folder / name).read_text(encoding="utf-8") for name in ("recipe.toml", "load.sql"))
    except (OSError, UnicodeDecodeError):
        return False
    first, _, rest = toml.partition("\n")
    return first == _SIGNED + _digest(rest, sql)


def _digest(toml: str, sql: str) -> str:
    return hashlib.sha256(f"{toml}\0{sql}".encode()).hexdigest()[:16]


# -- rows and titles --------------------------------------------------------------------------------------------------

_ROW_NUMBERS = re.compile(r"column0|Unnamed: 0(\.\d+)?|X|row[_ .]?names?|index|__index_level_0__", re.IGNORECASE)
"""Names of columns without a header, as programs for statistics write the numbers of rows and read them again."""


def _drop_row_numbers(con: duckdb.DuckDBPyConnection, table: ProfiledTable, others: Sequence[ProfiledTable]) -> None:
    """Leave out a first column that numbers the rows from 0 or 1 and has no name, or one that says so, unless other
    tables have columns that may refer to it.
    """
    first = next(iter(table.columns.values()), None)
    unnamed = first is not None and first.name == "column0"
    if first is None or table.declared_key or len(table.columns) == 1:
        return
    if not _ROW_NUMBERS.fullmatch(first.name) and not _is_same_ordinal(table, first.name, others):
        return
    integers = {c.name for other in others for c in other.columns.values() if c.look == "integer"}
    referred = any(names.plain(one) in (*names.HEADS, *names.TAILS) for one in integers)
    referred = referred or any(names.words(one)[-1:] == ("index",) for one in integers if one != first.name)
    if first.look != "integer" or first.distinct < 0.8 * table.rows or (not unnamed and referred):
        return
    number = f"TRY_CAST({first.value} AS BIGINT)"
    numbered = f"SELECT {number} - row_number() OVER () AS less FROM {quote(table.name)}"
    query = f"SELECT min(less), max(less), count(*) = count(less) FROM ({numbered})"
    if con.execute(query).fetchall() in ([(-1, -1, True)], [(0, 0, True)]):
        table.numbers = first.name
        del table.columns[first.name]


def _is_same_ordinal(table: ProfiledTable, name: str, others: Sequence[ProfiledTable]) -> bool:
    """Return whether the first column of other tables has the same name, too, of words for places in a sequence, and
    none refers to such a column: *No*, unless there is a *Customer no*. Another column must relate the tables.
    """
    shared = [c for c in table.columns.values() if any(c.name in other.columns for other in others) and c.name != name]
    words = names.words(name)
    same = any(name in (next(iter(other.columns), ""), other.numbers) for other in others)
    ends = {names.words(one)[-1:] for other in others for one in other.columns if one != name}
    related = any(c.look in ("text", "integer") and not c.floats and c.distinct > 1 for c in shared)
    return same and related and set(words) <= {*names.ORDINALS, "row", "line", "record"} and words[-1:] not in ends


def _title(plan: TablePlan) -> str:
    """Return a title: the types, largest first, then those of columns."""
    ordered = sorted(plan.nodes, key=lambda nodes: -nodes.table.rows)
    links = [link for nodes in plan.nodes for _, link in nodes.links]
    links += [link for edges in plan.edges for link in (edges.head, edges.tail)]
    types = [*(nodes.table.type for nodes in ordered), *(link.loose for link in links if link.loose)]
    kinds = [kind.replace("_", " ") for kind in dict.fromkeys(types)] or ["nodes"]
    shown = kinds if len(kinds) <= 4 else [*kinds[:3], f"{len(kinds) - 3} more types"]
    text = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
    return text[:1].upper() + text[1:]
