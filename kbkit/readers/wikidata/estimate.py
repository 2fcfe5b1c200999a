"""What a conversion would make, from the beginning of the dump."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kbkit.errors import BadInputError
from kbkit.readers.wikidata import options as settings
from kbkit.readers.wikidata import pool, selection
from kbkit.readers.wikidata.formats import of
from kbkit.readers.wikidata.options import Options
from kbkit.readers.wikidata.worker import task

_SAMPLE = 20 << 20
"""Bytes that are read, unpacked."""
_TRIPLES_A_SECOND = 150_000
"""What Oxigraph loads, about."""
_TRIPLE = 120
"""Bytes that a triple takes in it."""


@dataclass
class Sample:
    """What the beginning of a dump held and took: counts, seconds of one process, and bytes of parts.

    ``share`` is how much of the whole dump it is; ``all`` counts its entities, chosen or not.
    """

    share: float
    all: int = 0
    chosen: int = 0
    statements: int = 0
    triples: int = 0
    seconds: float = 0.0
    disk: int = 0


def estimate(paths: Sequence[Path], given: Mapping[str, str]) -> list[tuple[str, str]]:
    """(what, figure) rows, from the first 20 MB; raises :class:`BadInputError` as a conversion does."""
    options = settings.parse(given)
    sample = _sample(paths, options)
    whole = sample.share >= 1
    grown = 1 / sample.share
    if options.limit and sample.chosen:
        grown = min(grown, options.limit / sample.chosen)
    about = "" if whole and grown == 1 else "about "

    def number(count: float) -> str:
        return f"{about}{_rounded(count, exact=not about):,}"

    rows = [
        ("entities in the dump", number(sample.all / sample.share)),
        ("entities chosen", number(sample.chosen * grown)),
        ("statements", number(sample.statements * grown)),
    ]
    read = 1 / sample.share if options.subset else grown
    seconds = sample.seconds * read / pool.workers()
    if options.triples:
        rows.append(("triples", number(sample.triples * grown)))
        rows.append(("time to load the triples", _duration(sample.triples * grown / _TRIPLES_A_SECOND)))
        rows.append(("disk for the triples", f"about {max(sample.triples * grown * _TRIPLE / 1e6, 0.1):,.1f} MB"))
    rows.append((f"time to read and convert, {pool.workers()} processes", _duration(seconds)))
    rows.append(("disk for what is converted", f"about {max(sample.disk * grown / 1e6, 0.1):,.1f} MB"))
    if not whole:
        rows.append(("estimated from", f"the first {_percent(sample.share)} of the dump"))
        if options.subset:
            rows.append(("", "what is chosen may be more or less frequent further on"))
    return rows


def _sample(paths: Sequence[Path], options: Options) -> Sample:
    form = of(paths)
    size = sum(path.stat().st_size for path in paths)
    piece = next(iter(form.pieces(paths[0], _SAMPLE)))
    sample = Sample(min(max(piece.done, 1) / size, 1.0) if size and not (piece.last and len(paths) == 1) else 1.0)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        request = form.admit(None, 0).admit(piece)
        if request is None:
            raise BadInputError(f"{paths[0]} holds no entity", "is it a dump of Wikidata?")
        started = time.perf_counter()
        chosen = None
        if options.subset:
            scanned = task(form.scan)(options, request.to(folder / "scan"))
            sample.all = scanned["entities"]
            chosen = _chosen(folder, options)
            if chosen is None:
                sample.seconds = time.perf_counter() - started
                return sample
        request = form.admit(chosen, options.limit).admit(piece)
        if request is not None:
            info = task(form.convert)(options, request.to(folder / "part"))
            sample.chosen, sample.statements, sample.triples = (
                info[name] for name in ("entities", "statements", "triples")
            )
        sample.all = max(sample.all or form.count(piece), sample.chosen)  # forms and senses count too
        sample.seconds = time.perf_counter() - started
        sample.disk = sum(file.stat().st_size for file in (folder / "part").rglob("*"))
    return sample


def _chosen(folder: Path, options: Options) -> Path | None:
    try:
        return selection.select(folder, [folder / "scan"], options)
    except BadInputError:  # none so early in the dump
        return None


def _rounded(count: float, *, exact: bool) -> int:
    """Two digits, as no more are known."""
    digits = len(str(int(count)))
    return int(count) if exact or digits <= 2 else int(round(count, 2 - digits))


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"about {max(round(seconds), 1)} s"
    return f"about {seconds / 60:.0f} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share >= 0.0001 else "ten-thousandth or less"
