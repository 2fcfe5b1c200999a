"""What a generation keeps of the folder that it was made from, to find out later what changed there.

sync/
  source.json         settings of the ingest; sizes, hashes and columns of the files
  recipe.toml         the recipe, unless it ships with kbkit
  load.sql
"""

from __future__ import annotations

import dataclasses
import glob
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbkit import assets
from kbkit.assets import operations
from kbkit.directory.damage import STORE_OF_RECORD, damaged, describe
from kbkit.directory.files import parse_json
from kbkit.directory.generations import fingerprint
from kbkit.directory.manifest import NamedFileRecord
from kbkit.directory.typed_json import from_json
from kbkit.errors import BadInputError, KbError, Option
from kbkit.ingestion import archives, source_files, sources
from kbkit.ingestion import recipe as recipes
from kbkit.ingestion.recipe import FileSpec, Recipe
from kbkit.ingestion.request import IngestRequest, IngestSettings
from kbkit.readers import stored
from kbkit.schema import quote

if TYPE_CHECKING:
    import duckdb

FOLDER = "sync"
"""The folder in a generation."""
_FILE, _RECIPE = "source.json", ("recipe.toml", "load.sql")
ADDABLE = ("skip_dangling", "merge_duplicates")
"""Settings that a later run may add."""
_OF_ONE_RUN = ("replace", "sync")
INFER_AGAIN = (Option("replace"), " to build the KB again from all files")


@dataclass(frozen=True)
class SyncRecord:
    """A folder as it was read: the recipe's name, whether it ships with kbkit or was inferred, the settings of the
    ingest by name, the files by their names in the folder, and the columns of each table of an inferred recipe.
    """

    recipe: str
    shipped: bool
    inferred: bool
    settings: dict[str, Any]
    files: list[NamedFileRecord]
    columns: dict[str, list[str]]

    @staticmethod
    def read(generation: Path) -> SyncRecord | None:
        """Return the record of a generation, None if it has none."""
        path = generation / FOLDER / _FILE
        if not path.is_file():
            return None
        try:
            data = parse_json(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise damaged(path, describe(error), STORE_OF_RECORD) from error
        record: SyncRecord = from_json(SyncRecord, data, str(path))
        return record

    def write(self, folder: Path, recipe: Recipe) -> None:
        """Write the record to the folder of a generation, with the recipe."""
        target = folder / FOLDER
        target.mkdir()
        text = json.dumps(dataclasses.asdict(self), indent=1, ensure_ascii=False)
        (target / _FILE).write_text(text + "\n", encoding="utf-8", newline="\n")
        for name in () if self.shipped else _RECIPE:
            (target / name).write_bytes((recipe.folder / name).read_bytes())

    def loaded(self, generation: Path) -> Recipe:
        """Return the recipe as it was."""
        if self.shipped:
            return recipes.load(self.recipe)
        return dataclasses.replace(recipes.load(str(generation / FOLDER)), name=self.recipe)

    def is_recipe(self, recipe: Recipe, generation: Path) -> bool:
        """Return whether a recipe is the one of the record."""
        if self.shipped or ships(recipe):
            return self.shipped and ships(recipe) and recipe.name == self.recipe
        return all((recipe.folder / n).read_bytes() == (generation / FOLDER / n).read_bytes() for n in _RECIPE)

    def request(self, source: str, paths: Sequence[Path], given: IngestSettings) -> IngestRequest:
        """Return the request of a later run, with the recorded settings.

        Raises :class:`KbError` for a setting that differs from the recorded one.
        """
        settings, defaults = flat_settings(given), flat_settings(IngestSettings())
        for name, value in settings.items():
            if name not in (*ADDABLE, *_OF_ONE_RUN) and value not in (defaults[name], self.settings.get(name)):
                option = next(f.about.name or f.name for f in operations.described(IngestSettings) if f.name == name)
                message = f"The setting {option.replace('_', ' ')} differs from the one that the KB was built with"
                raise KbError(message, "Leave it out, or use ", *INFER_AGAIN)
        values = {**defaults, **self.settings, **{name: settings[name] or self.settings.get(name) for name in ADDABLE}}
        values["files"] = {name: Path(path) for name, path in values["files"].items()}
        values |= {"sync": True, "replace": True}
        return operations.build(IngestRequest, values, source=source, paths=paths, inferred=self.inferred)


def flat_settings(settings: IngestSettings) -> dict[str, Any]:
    """Return settings by name, as JSON holds them."""
    parts = (vars(settings), vars(settings.corrections), vars(settings.identity))
    plain = {name: value for part in parts for name, value in part.items()}
    plain["files"] = {name: str(path.absolute()) for name, path in settings.files.items()}
    known = {field.name: plain[field.name] for field in operations.described(IngestSettings)}
    values: dict[str, Any] = json.loads(json.dumps(known))
    return values


def ships(recipe: Recipe) -> bool:
    """Return whether a recipe ships with kbkit."""
    return recipe.folder.parent == assets.folder("ingest")


def describe_files(paths: Sequence[Path], files: Mapping[str, Sequence[Path]]) -> list[NamedFileRecord]:
    """Return name, size and hash of the files of a source."""
    return [{"name": source_files.label(path, paths), **fingerprint(path)} for path in sorted(archives.sources(files))]


def is_unchanged(known: Sequence[NamedFileRecord], paths: Sequence[Path], files: Mapping[str, Sequence[Path]]) -> bool:
    """Return whether files are as recorded; only those of the same names and sizes are read."""
    sizes = {(source_files.label(path, paths), path.stat().st_size) for path in archives.sources(files)}
    if sizes != {(record["name"], record["bytes"]) for record in known}:
        return False
    return _by_name(describe_files(paths, files)) == _by_name(known)


def _by_name(records: Sequence[NamedFileRecord]) -> dict[str, str]:
    return {record["name"]: record["sha256"] for record in records}


def file_changes(before: Sequence[NamedFileRecord], now: Sequence[NamedFileRecord]) -> Iterator[str]:
    """Yield what happened to the files, one text for each kind of change."""
    old, new = _by_name(before), _by_name(now)
    for what, names in (
        ("new", new.keys() - old.keys()),
        ("changed", {name for name in new.keys() & old.keys() if new[name] != old[name]}),
        ("removed", old.keys() - new.keys()),
    ):
        if names:
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            yield f"{what}: {', '.join(sorted(names)[:_SHOWN])}{more}"


_SHOWN = 5


# -- files of an inferred recipe --------------------------------------------------------------------------------------


def with_new_files(recipe: Recipe, paths: Sequence[Path]) -> tuple[Recipe, list[str]]:
    """Return an inferred recipe that also reads new files which continue a known one, and a note on each.

    A file continues another if their names differ in digits and signs only (``sales_2024.csv``, ``sales_2025.csv``).
    Raises :class:`BadInputError` for other new files, new tables in a file, and missing files.
    """
    found = source_files.tables_in(paths, may_be_empty=True)
    found += _inside(recipe, paths)
    new = [path for path in found if not any(_fits(spec, path, paths) for spec in recipe.files)]
    more: dict[str, list[Path]] = {}
    notes = []
    for path in new:
        alike = [spec for spec in recipe.files if not spec.table and _stem(spec.match[0]) == _stem(path.name)]
        if not alike:
            hint = ("Remove the file, name it like one that it continues, or use ", *INFER_AGAIN)
            raise BadInputError(f"New file {path}, which the KB's recipe does not read", *hint)
        more.setdefault(alike[-1].name, []).append(path)
        notes.append(f"{path}: new, read like {_plain(alike[-1].match[0])}")
    specs = []
    for spec in recipe.files:
        own = [path for path in found if _fits(spec, path, paths)]
        if not own and spec.name not in more:
            hint = ("Restore it; to remove its rows, keep only its header. Or use ", *INFER_AGAIN)
            raise BadInputError(f"Missing file {_plain(spec.match[0])} of an earlier run", *hint)
        patterns = tuple(glob.escape(source_files.plain_name(path)) for path in more.get(spec.name, ()))
        many = spec.many or len(own) + len(patterns) > 1
        specs.append(dataclasses.replace(spec, match=(*spec.match, *patterns), many=many))
    _check_tables(recipe, found, paths)
    return dataclasses.replace(recipe, files=tuple(specs)), notes


def _inside(recipe: Recipe, paths: Sequence[Path]) -> list[Path]:
    """Return the files in folders inside of the given ones that the recipe reads."""
    patterns = [pattern for spec in recipe.files for pattern in spec.match if "/" in pattern.removeprefix("./")]
    folders = [path for path in paths if path.is_dir()] if patterns else []
    every = (path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file())
    return [path for path in every if source_files.matches(path, patterns, paths)]


def _fits(spec: FileSpec, path: Path, given: Sequence[Path]) -> bool:
    return source_files.matches(path, spec.match, given)


def _stem(name: str) -> str:
    """Return the letters of a file's name."""
    return re.sub(r"[\W\d_]+", "", _plain(source_files.plain_name(Path(name)))).casefold()


def _plain(pattern: str) -> str:
    """Return the name that a pattern matches."""
    return re.sub(r"\[(.)\]", r"\1", pattern.removeprefix("./"))


def _check_tables(recipe: Recipe, found: Sequence[Path], given: Sequence[Path]) -> None:
    """Raise :class:`BadInputError` for a table of a file with several tables that the recipe does not read."""
    for path in (path for path in found if path.is_file()):
        kind = source_files.format_of(path)
        known = {spec.table for spec in recipe.files if _fits(spec, path, given)}
        if kind not in stored.FORMATS or known == {""}:
            continue
        if new := [name for name in stored.tables(kind, path) if name not in known]:
            hint = ("Remove it, or use ", *INFER_AGAIN)
            raise BadInputError(f"New table {new[0]!r} in {path}, which the KB's recipe does not read", *hint)


# -- columns of an inferred recipe ------------------------------------------------------------------------------------


def table_columns(con: duckdb.DuckDBPyConnection, recipe: Recipe) -> dict[str, list[str]]:
    """Return the columns of the recipe's tables of files."""
    return {spec.name: _columns(con, spec.name) for spec in recipe.files}


def _columns(con: duckdb.DuckDBPyConnection, table: str) -> list[str]:
    names = [row[0] for row in con.execute(f"DESCRIBE {quote(table)}").fetchall()]
    return [name for name in names if name != sources.SOURCE_FILE]


def check_columns(
    con: duckdb.DuckDBPyConnection,
    recipe: Recipe,
    known: Mapping[str, Sequence[str]],
    local: Mapping[str, Sequence[Path]],
    labels: Mapping[Path, str],
) -> None:
    """Raise :class:`BadInputError` if the columns of a file are not those of the earlier run.

    A field that no object of a JSON file has is NULL.
    """
    for spec in recipe.files:
        files, expected = local[spec.name], known.get(spec.name, [])
        of_json = [path for path in files if (spec.format or source_files.format_of(path)) == "json"]
        present = _columns(con, spec.name)
        if of_json:
            if not con.execute(f"SELECT 1 FROM {quote(spec.name)} LIMIT 1").fetchall():
                present = []  # DuckDB makes up a column for an empty list
            _check_names(labels[of_json[0]], present, expected, missing=())
            if absent := [name for name in expected if name not in present]:
                _add_empty(con, spec.name, absent)
            continue
        for path in files:
            place = [name for name in (spec.folder, spec.file) if name]
            own = [*sources.columns_of(con, spec, path), *place] if len(files) > 1 else present
            _check_names(labels[path], own, expected, missing=expected)
        _check_read(con, recipe, spec, labels[files[0]])


def _check_names(file: str, present: Sequence[str], known: Sequence[str], missing: Sequence[str]) -> None:
    for name in missing:
        if name not in present:
            hint = (f"The columns are {', '.join(present)}. Restore it, or use ", *INFER_AGAIN)
            raise BadInputError(f"Missing column {name!r} in {file}", *hint)
    for name in present:
        if name not in known:
            hint = ("Remove it, or use ", *INFER_AGAIN)
            raise BadInputError(f"New column {name!r} in {file}, which the KB's recipe does not read", *hint)


def _add_empty(con: duckdb.DuckDBPyConnection, table: str, names: Sequence[str]) -> None:
    """Give the table of a file columns without values."""
    con.execute(f"ALTER VIEW {quote(table)} RENAME TO {quote(f'{table} as read')}")
    empty = "".join(f", NULL::VARCHAR AS {quote(name)}" for name in names)
    con.execute(f"CREATE VIEW {quote(table)} AS SELECT *{empty} FROM {quote(f'{table} as read')}")


def _check_read(con: duckdb.DuckDBPyConnection, recipe: Recipe, spec: FileSpec, file: str) -> None:
    """Raise :class:`BadInputError` for rows of a file that had none, so that the recipe leaves it out."""
    if re.search(rf"\b{re.escape(spec.name)}(_rows)?\b", recipe.sql):
        return
    if con.execute(f"SELECT 1 FROM {quote(spec.name)} LIMIT 1").fetchall():
        raise BadInputError(f"{file} had no rows, so the KB's recipe does not read it", "Use ", *INFER_AGAIN)
