"""Estimate the size and duration of a conversion from the beginning of the dump."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kbkit.directory.temporary import TemporaryFolder
from kbkit.errors import BadInputError
from kbkit.readers.wikidata import admission, passes, selection
from kbkit.readers.wikidata import options as parsing
from kbkit.readers.wikidata.dumps import NO_DUMP
from kbkit.readers.wikidata.options import ConversionOptions
from kbkit.readers.wikidata.tasks import task

_SAMPLE = 20 << 20
"""Uncompressed bytes to read."""
_TRIPLES_PER_SECOND = 150_000
"""Approximate loading speed of Oxigraph."""
_BYTES_PER_TRIPLE = 120
"""Approximate size of a triple in Oxigraph."""


@dataclass
class DumpSample:
    """Counts in the beginning of a dump, seconds of one process to convert it, and bytes of the parts.

    ``fraction`` is the fraction of the dump; ``entities`` counts all entities, ``selected`` the selected ones.
    """

    fraction: float
    entities: int = 0
    selected: int = 0
    statements: int = 0
    triples: int = 0
    seconds: float = 0.0
    disk: int = 0


def estimate(paths: Sequence[Path], values: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return (name, figure) rows from the first 20 MB; raise :class:`BadInputError` as a conversion does."""
    options = parsing.parse(values)
    sample = _sample(paths, options)
    complete = sample.fraction >= 1
    factor = 1 / sample.fraction
    if options.limit and sample.selected:
        factor = min(factor, options.limit / sample.selected)
    about = "" if complete and factor == 1 else "about "

    def number(count: float) -> str:
        return f"{about}{_rounded(count, exact=not about):,}"

    rows = [
        ("entities in the dump", number(sample.entities / sample.fraction)),
        ("entities selected", number(sample.selected * factor)),
        ("statements", number(sample.statements * factor)),
    ]
    read = 1 / sample.fraction if options.selects else factor
    seconds = sample.seconds * read / passes.workers()
    if options.triples:
        rows.append(("triples", number(sample.triples * factor)))
        rows.append(("time to load the triples", _duration(sample.triples * factor / _TRIPLES_PER_SECOND)))
        rows.append(
            ("disk for the triples", f"about {max(sample.triples * factor * _BYTES_PER_TRIPLE / 1e6, 0.1):,.1f} MB")
        )
    rows.append((f"time to read and convert, {passes.workers()} processes", _duration(seconds)))
    rows.append(("disk for the converted tables", f"about {max(sample.disk * factor / 1e6, 0.1):,.1f} MB"))
    if not complete:
        rows.append(("estimated from", f"the first {_percent(sample.fraction)} of the dump"))
        if options.selects:
            rows.append(("", "the rest of the dump may have a larger or smaller share of selected entities"))
    return rows


def _sample(paths: Sequence[Path], options: ConversionOptions) -> DumpSample:
    dump = admission.format_of(paths)
    size = sum(path.stat().st_size for path in paths)
    piece = next(iter(dump.split(paths[0], _SAMPLE)))
    sample = DumpSample(min(max(piece.done, 1) / size, 1.0) if size and not (piece.last and len(paths) == 1) else 1.0)
    with TemporaryFolder() as folder:
        admitted = dump.admission(None, 0).admit(piece)
        if admitted is None:
            raise BadInputError(f"No entity in {paths[0]}", NO_DUMP)
        started = time.perf_counter()
        selected = None
        if options.selects:
            sample.entities = task(dump.scan)(options, admitted, folder / "scan")["entities"]
            selected = _select(folder, options)
            if selected is None:
                sample.seconds = time.perf_counter() - started
                return sample
        admitted = dump.admission(selected, options.limit).admit(piece)
        if admitted is not None:
            info = task(dump.convert)(options, admitted, folder / "part")
            sample.selected, sample.statements, sample.triples = (
                info[name] for name in ("entities", "statements", "triples")
            )
        sample.entities = max(sample.entities or dump.count(piece), sample.selected)  # forms and senses count too
        sample.seconds = time.perf_counter() - started
        sample.disk = sum(file.stat().st_size for file in (folder / "part").rglob("*"))
    return sample


def _select(folder: Path, options: ConversionOptions) -> Path | None:
    try:
        return selection.select(folder, [folder / "scan"], options)
    except BadInputError:  # none in the beginning of the dump
        return None


def _rounded(count: float, *, exact: bool) -> int:
    """Round to two digits unless the count is exact."""
    digits = len(str(int(count)))
    return int(count) if exact or digits <= 2 else int(round(count, 2 - digits))


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"about {max(round(seconds), 1)} s"
    return f"about {seconds / 60:.0f} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.2g} %" if fraction >= 0.0001 else "ten-thousandth or less"
