"""Convert Wikidata dumps to tables and N-Triples, in parts, with several processes, resuming an interrupted run.

Tables: ``entities``, ``terms``, ``statements``, ``qualifiers``, ``references``, ``reference_snaks``, ``sitelinks``
(columns in ``parts.SCHEMAS``).

Without a selection of entities the dump is read once. With one it is read twice: the first pass reads what the
selection needs and the names of all entities, the second converts the selected ones. All properties that they use are
converted too. Other entities that are mentioned become stubs, with their terms if the dump has them. A limit without a
selection stops reading after that many entities; entities that were not read until then are stubs without terms.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from kbkit.errors import BadInputError
from kbkit.readers.converted import Converted
from kbkit.readers.wikidata import admission, finishing, options, parts, selection, tasks
from kbkit.readers.wikidata.admission import DumpFormat
from kbkit.readers.wikidata.dumps import NO_DUMP, Piece
from kbkit.readers.wikidata.estimate import estimate
from kbkit.readers.wikidata.merging import merge
from kbkit.readers.wikidata.options import ConversionOptions
from kbkit.readers.wikidata.passes import Pass, PassResult

__all__ = ["convert", "estimate", "merge"]

Progress = Callable[[int, int], None]
_PROPERTIES_PER_PART = 400


def convert(paths: Sequence[Path], values: Mapping[str, str], folder: Path, progress: Progress) -> Converted:
    """Convert dumps to parts in ``folder``; complete parts of an earlier, interrupted call are reused.

    ``values`` are the recipe's options. ``progress`` is called with (bytes read, total) several times a second; an
    exception that it raises ends the call. Raises :class:`BadInputError` with file and line for malformed dumps, and
    for options that select nothing.
    """
    chosen = options.parse(values)
    dump = admission.format_of(paths)
    parts.prepare(folder, paths, chosen)
    run = _convert_selected if chosen.selects else _convert_all
    return run(paths, dump, chosen, folder, progress)


def _convert_all(
    paths: Sequence[Path], dump: DumpFormat, chosen: ConversionOptions, folder: Path, progress: Progress
) -> Converted:
    """Convert everything, or the first entities, in one pass."""
    result = Pass(paths, dump, folder / "parts", dump.convert, chosen, progress).run(limit=chosen.limit)
    _require_entities(result, paths)
    return finishing.finish(folder, result, _layout(dump, folder, result, chosen), chosen)


def _convert_selected(
    paths: Sequence[Path], dump: DumpFormat, chosen: ConversionOptions, folder: Path, progress: Progress
) -> Converted:
    """Convert the selected entities in two passes."""
    size = sum(path.stat().st_size for path in paths)
    scanned = Pass(paths, dump, folder / "scan", dump.scan, chosen, progress, after=size).run()
    _require_entities(scanned, paths)
    file = selection.select(folder, scanned.folders, chosen)
    progress(size, 2 * size)
    result = Pass(paths, dump, folder / "parts", dump.convert, chosen, progress, before=size).run(file)
    _add_properties(folder, result, dump, scanned.folders, chosen)
    result.skipped.merge(scanned.skipped)
    progress(2 * size, 2 * size)
    converted = finishing.finish(folder, result, _layout(dump, folder, result, chosen), chosen, scanned.folders)
    counts = {**converted.counts, "unknown_ids": selection.count_unknown(file, chosen)}
    return dataclasses.replace(converted, counts=counts)


def _layout(dump: DumpFormat, folder: Path, result: PassResult, chosen: ConversionOptions) -> finishing.ConversionFiles:
    return (
        finishing.json_layout(result, chosen) if dump.name == "json" else finishing.rdf_layout(folder, result, chosen)
    )


def _require_entities(result: PassResult, paths: Sequence[Path]) -> None:
    if not result.entities:
        raise BadInputError(f"No entity in {paths[0]}", NO_DUMP)


def _add_properties(
    folder: Path, result: PassResult, dump: DumpFormat, scanned: Sequence[Path], chosen: ConversionOptions
) -> None:
    """Convert all properties in use, including those used by other properties."""
    con = parts.connect(folder)
    try:
        query = f"SELECT id FROM {parts.table_of(result.folders, 'entities')} WHERE kind = 'property'"
        taken = {name for (name,) in con.execute(query).fetchall()} if result.folders else set()
        while wanted := sorted(result.properties - taken):
            taken.update(wanted)
            for start in range(0, len(wanted), _PROPERTIES_PER_PART):
                batch = wanted[start : start + _PROPERTIES_PER_PART]
                raw = f"{parts.table_of(scanned, 'raw')} WHERE list_contains(?, id)"
                lines = con.execute(f"SELECT id, first(line) FROM {raw} GROUP BY id ORDER BY id", [batch]).fetchall()
                part = folder / "properties" / batch[0]
                if lines:
                    piece = Piece(Path("the properties"), 1, "\n".join(line for _, line in lines).encode())
                    result.add(part, parts.info(part) or tasks.task(dump.convert)(chosen, piece, part))
    finally:
        con.close()
