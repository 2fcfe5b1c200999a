"""Dumps of Wikidata -> tables and N-Triples, in parts, by several processes, and again from where it was stopped.

Tables: ``entities``, ``terms``, ``statements``, ``qualifiers``, ``sitelinks`` (columns in ``parts.SCHEMAS``).

Without a choice of entities the dump is read once. With one it is read twice: first what is needed to choose, and the
names of all entities; then the chosen ones in full. Of the properties all that are used are taken in full. Other
entities that are named are stubs, with their terms where the dump has them. A mere limit stops reading after so many
entities: what was not seen until then is a stub without terms.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from kbkit.errors import BadInputError
from kbkit.readers.converted import Converted
from kbkit.readers.wikidata import finish, formats, options, parts, rdf_finish, selection, state
from kbkit.readers.wikidata.database import connect, files
from kbkit.readers.wikidata.estimate import estimate
from kbkit.readers.wikidata.formats import Format
from kbkit.readers.wikidata.options import Options
from kbkit.readers.wikidata.passes import Made, Pass
from kbkit.readers.wikidata.worker import Job, Request, task

__all__ = ["convert", "estimate"]

Progress = Callable[[int, int], None]
_PROPERTIES_AT_ONCE = 400


def convert(paths: Sequence[Path], given: Mapping[str, str], folder: Path, progress: Progress) -> Converted:
    """Convert dumps into parts in ``folder``, which stays when the call is stopped, and may be there from another one.

    ``progress`` is called with (bytes read, total) a few times a second; an exception from it ends the call. Raises
    :class:`BadInputError` with file and line for dumps that are broken, and for options that choose nothing.
    """
    chosen = options.parse(given)
    form = formats.of(paths)
    state.prepare(folder, paths, chosen)
    run = _subset if chosen.subset else _all
    return run(paths, form, chosen, folder, progress)


def _all(paths: Sequence[Path], form: Format, chosen: Options, folder: Path, progress: Progress) -> Converted:
    """Everything, or the first entities, in one pass."""
    whole = Pass(paths, form, folder / "parts", Job(form.convert, chosen.to_json()), progress)
    made = whole.run(limit=chosen.limit)
    _refuse_empty(made, paths)
    return finish.finish(folder, made, _laid(form, folder, made, chosen), chosen)


def _subset(paths: Sequence[Path], form: Format, chosen: Options, folder: Path, progress: Progress) -> Converted:
    """What the options choose, in two passes."""
    size = sum(path.stat().st_size for path in paths)
    scanned = Pass(paths, form, folder / "scan", Job(form.scan, chosen.to_json()), progress, after=size).run()
    _refuse_empty(scanned, paths)
    file = selection.select(folder, scanned.folders, chosen)
    progress(size, 2 * size)
    second = Pass(paths, form, folder / "parts", Job(form.convert, chosen.to_json()), progress, before=size)
    made = second.run(file)
    _add_properties(folder, made, form, scanned.folders, chosen)
    progress(2 * size, 2 * size)
    laid = _laid(form, folder, made, chosen)
    converted = finish.finish(folder, made, laid, chosen, scanned.folders)
    counts = {**converted.counts, "unknown_ids": selection.unknown(file, chosen)}
    return dataclasses.replace(converted, counts=counts)


def _laid(form: Format, folder: Path, made: Made, chosen: Options) -> finish.Laid:
    return finish.lay(made, chosen) if form.name == "json" else rdf_finish.lay(folder, made, chosen)


def _refuse_empty(made: Made, paths: Sequence[Path]) -> None:
    if not made.entities:
        raise BadInputError(f"{paths[0]} holds no entity", "is it a dump of Wikidata?")


def _add_properties(folder: Path, made: Made, form: Format, scanned: Sequence[Path], chosen: Options) -> None:
    """Take the properties that are used in full, and those that these use, until there are no more."""
    con = connect(folder)
    try:
        query = f"SELECT id FROM {files(made.folders, 'entities')} WHERE kind = 'property'"
        taken = {name for (name,) in con.execute(query).fetchall()} if made.folders else set()
        while wanted := sorted(made.properties - taken):
            taken.update(wanted)
            for start in range(0, len(wanted), _PROPERTIES_AT_ONCE):
                some = wanted[start : start + _PROPERTIES_AT_ONCE]
                raw = f"{files(scanned, 'raw')} WHERE list_contains(?, id)"
                lines = con.execute(f"SELECT id, first(line) FROM {raw} GROUP BY id ORDER BY id", [some]).fetchall()
                part = folder / "properties" / some[0]
                if lines:
                    data = "\n".join(line for _, line in lines).encode()
                    request = Request(str(part), "the properties", 1, "line", data)
                    made.add(part, parts.info(part) or task(form.convert)(chosen, request))
    finally:
        con.close()
