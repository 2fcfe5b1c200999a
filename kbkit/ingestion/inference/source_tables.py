"""The tables in the files of a source, with their names, types, patterns and declared keys."""

from __future__ import annotations

import glob
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kbkit.errors import BadInputError
from kbkit.ingestion import gathered, json_shapes, source_files, sources
from kbkit.ingestion.gathered import FileGroup
from kbkit.ingestion.inference import declared_data, dialect, names, nouns, table_names
from kbkit.ingestion.inference.declared_data import DeclaredData, DeclaredTable
from kbkit.ingestion.inference.profile import ProfiledTable
from kbkit.ingestion.json_markers import LISTS
from kbkit.ingestion.json_objects import RecordTable
from kbkit.ingestion.recipe import FileSpec
from kbkit.readers import stored
from kbkit.readers.columns import unique

MAX_TABLES = 1000
_TAKEN = frozenset(
    [
        "nodes", "edges", "texts", "relation_names", "attribute_names", "type_iris", "relation_iris", "candidate_types",
        "typed_nodes", "raw_nodes", "merged_nodes", "shared_keys", "raw_edges", "resolved_edges", "one_way",
        "typed_texts", "raw_texts", "joined_texts", "file", "folded", "batches", "tables", "databases", "schemas",
        "variables",
    ]
)  # fmt: skip
"""Names of tables that the load itself makes, or that mean something else to ``DESCRIBE``."""


def of_files(tables: Mapping[ProfiledTable, Sequence[Path]], files: Mapping[Path, Path]) -> dict[Path, ProfiledTable]:
    """Return the tables by their files as given, where a file has one table only."""
    of = {paths[0]: table for table, paths in tables.items() if not table.spec.table}
    return {given: of[path] for given, path in files.items() if path in of}


def tables_of(
    files: Sequence[tuple[Path, Path]],
    together: Mapping[Path, FileGroup],
    roots: Sequence[Path],
    *,
    no_header: bool,
    declared: DeclaredData,
) -> dict[ProfiledTable, Sequence[Path]]:
    """Return the tables of files, given with where they are on disk, with their types and files.

    ``together`` are groups of files by one that stands for all of them; ``roots`` are the paths of the source.
    """
    found = [
        (name, replace(spec, match=(_pattern(given, roots),)), path)
        for given, path in files
        for name, spec in _specs(given, path, no_header=no_header, declared=declared.tables.get(given))
    ]
    found.sort(key=lambda one: "." in one[1].table and one[1].table.startswith("$"))  # objects inside of records
    if len(found) > MAX_TABLES:
        raise BadInputError(f"{len(found):,} tables are too many", f"The maximum is {MAX_TABLES:,}")
    given_files = {path: given for given, path in files if given not in together}
    apart = _apart(found, given_files, roots)
    given_names = table_names.without_views(table_names.without_brackets(apart))
    stems = [table_names.without_hash(name) for name in table_names.without_title(given_names)]
    plain = unique([names.identifier(stem) for stem in stems])
    taken = [f"{name}_file" if name.casefold() in _TAKEN or name.startswith("kb_") else name for name in plain]
    kinds = {path: source_files.format_of(given) for given, path in files}
    kinds = {path: kind for path, kind in kinds.items() if kind in stored.FORMATS}
    nested = {path: tables for given, path in files if (tables := _nested(given, path))}
    declared_keys = {path: stored.keys(kind, path) for path, kind in kinds.items()}
    by_name = {(path, spec.table): name for name, (_, spec, path) in zip(taken, found, strict=True)}
    result = {}
    whole = [not (spec.table.startswith("$") and "." in spec.table) for _, spec, _ in found]
    undated = table_names.without_dates(plain)
    parts_of = {
        own: iter(table_names.tables([*itertools.compress(undated, map(own.__eq__, whole))])) for own in (True, False)
    }
    split = [next(parts_of[own]) for own in whole]
    for name, parts, kind, (_, spec, path) in zip(taken, split, names.types(split), found, strict=True):
        group = together.get(path)
        own = replace(spec, match=group.match, many=True, folder=group.folder, file=group.file) if group else spec
        table = ProfiledTable(name, replace(own, name=name), type=kind, words=parts)
        if keys := declared_keys.get(path, {}).get(spec.table):
            table.declared_key, table.declared_texts = keys.primary, keys.texts
            table.declared_links = [
                (link.columns, by_name[path, link.other], link.other_columns) for link in keys.foreign
            ]
        if (record := nested.get(path, {}).get(spec.table)) is not None:
            table.declared_key = (record.key,) if record.key else ()
            table.named = (record.named,) if record.named else None
            table.declared_links = [
                ((column,), by_name[path, of] if by else "", (by,) if by else ())
                for column, (of, by) in record.links.items()
            ]
        result[table] = group.files if group else [path]
    declared_data.declare(of_files(result, dict(files)), dict(files), declared)
    return result


def _apart(found: Sequence[tuple[str, FileSpec, Path]], given: Mapping[Path, Path], roots: Sequence[Path]) -> list[str]:
    """Return the names of tables; those of files of one name in several folders with that of the folder."""
    above = [given[path].parent if path in given else None for *_, path in found]
    pairs = {(name.casefold(), folder) for (name, *_), folder in zip(found, above, strict=True)}
    counts = Counter(name for name, _ in pairs)
    folders = [folder if folder not in roots else None for folder in above]
    places = [
        folder.name if folder and counts[name.casefold()] > 1 else ""
        for folder, (name, *_) in zip(folders, found, strict=True)
    ]
    named = [
        (name, place) if place[:1].isdigit() else (place, name) for place, (name, *_) in zip(places, found, strict=True)
    ]
    return [" ".join(filter(None, parts)) for parts in named]


def _nested(given: Path, path: Path) -> dict[str, RecordTable]:
    """Return the tables of the records of a JSON file and of the objects inside of them; none if there are none."""
    if source_files.format_of(given) != "json":
        return {}
    lists = json_shapes.tables(path)
    only = next(iter(lists), "") if len(lists) == 1 else ""
    stem = Path(source_files.plain_name(given)).stem
    return json_shapes.nested(path, only if only.casefold() not in names.WRAPPINGS | LISTS else stem)


def _specs(
    given: Path, path: Path, *, no_header: bool, declared: DeclaredTable | None
) -> Iterator[tuple[str, FileSpec]]:
    """Yield the names and specifications of the tables in a file."""
    kind, stem = source_files.format_of(given), Path(source_files.plain_name(given)).stem
    spec = FileSpec(stem, ("",))
    if kind in stored.FORMATS:
        listed = stored.tables(kind, path)
        if not listed and kind == "sql":
            raise BadInputError(f"No rows in {given}", "Use a dump with INSERT or COPY, or leave the file out")
        for name in listed:
            of_graph = stem if name == "nodes" else f"{stem}_{name}"
            yield (
                of_graph if kind == "graph" else name if len(listed) > 1 or kind == "sql" else stem,
                replace(spec, table=name),
            )
    elif kind == "json" and (nested := _nested(given, path)):
        for name in nested:
            main, _, part = name.removeprefix("$").partition(".")
            yield part or main, replace(spec, table=name)
        whole = {name.removeprefix("$") for name in nested}
        others = json_shapes.tables(path)
        for name in (name for name in others if len(others) > 1 and name not in whole):
            yield name, replace(spec, table=name)
    elif kind == "json" and len(lists := json_shapes.tables(path)) > 1:
        for name in lists:
            yield name, replace(spec, table=name)
    elif kind == "json" and len(lists) == 1 and _says_something(only := next(iter(lists))):
        yield only, spec
    elif kind in sources.DELIMITERS:
        detected = dialect.detect(path, no_header=no_header)
        usual = sources.DELIMITERS[kind]
        own = replace(
            spec,
            delimiter="" if detected.delimiter == usual.delimiter else detected.delimiter,
            quote=None if detected.quote == usual.quote else detected.quote,
            escape=detected.escape,
            skip=detected.skip,
            spaced=detected.spaced,
            short_rows=detected.short_rows,
            footer=detected.footer,
            columns=detected.columns,
            encoding="" if detected.encoding == "utf-8" else detected.encoding,
        )
        yield stem, declared_data.specified(own, path, declared) if declared else own
    else:
        yield stem, spec


def with_rows(
    files: Iterable[tuple[Path, Path]], roots: Sequence[Path], *, alone: bool
) -> tuple[list[tuple[Path, Path]], list[str]]:
    """Return the files with rows, given with where they are on disk, and notes on the others, which are skipped unless
    they are among the ``roots``. Raises :class:`BadInputError` if all are, and there are no other ones (``alone``).
    """
    every = list(files)
    why = {given: "" if given in roots else why_no_rows(given, path) for given, path in every}
    if alone and every and all(why.values()):
        raise BadInputError(f"No list of records in {', '.join(map(str, [*why][:3]))}", "Use files with rows")
    return [pair for pair in every if not why[pair[0]]], [f"Skipped {one}: {said}" for one, said in why.items() if said]


def why_no_rows(given: Path, path: Path) -> str:
    """Return why a file beside tables is none, empty if it is one: XML and YAML without records, SQL without rows."""
    if source_files.format_of(given) == "sql":
        return "" if stored.tables("sql", path) else "no list of records"
    return json_shapes.why_no_records(path)


def _says_something(name: str) -> bool:
    """Return whether the name of a list says what its records are; ``3166-1`` and ``data`` do not."""
    return not {word for word in names.words(name) if not word.isdigit()} <= nouns.SAYS_NOTHING


def _pattern(given: Path, roots: Sequence[Path]) -> str:
    """Return the pattern of a file: its name, or its path in a subfolder of one of the paths of the source."""
    label = source_files.label(given, roots)
    inside = "/" in label and any(root.is_dir() and given.is_relative_to(root) for root in roots)
    return gathered.ANCHOR + glob.escape(label) if inside else glob.escape(source_files.plain_name(given))


def views(paths: Sequence[Path]) -> list[Path]:
    """Return the files that have some rows of another one, as Notion writes the view of a table beside the table."""
    exported = [path for path in paths if table_names.without_hash(path.stem) != path.stem]
    return [path for path in exported if path.with_stem(f"{path.stem}_all") in paths]
