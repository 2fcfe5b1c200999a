"""One time through the dump: pieces in order, through the pool, into parts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kbkit.readers.wikidata import parts, pool
from kbkit.readers.wikidata.formats import Admission, Format
from kbkit.readers.wikidata.worker import Job, Request, joined

_SMALLEST, _LARGEST = 8 << 20, 16 << 20
_LARGEST_SCANNED = 64 << 20
_PIECES = 4000
"""About so many pieces a dump is cut into, within the limits above (bytes, unpacked): a worker holds some thirty times
as much as it converts, and little of what it scans.
"""


@dataclass
class Made:
    """What a pass has made: the folders of its parts in the order of the dump, and sums of what is known of them."""

    folders: list[Path] = field(default_factory=list)
    entities: int = 0
    statements: int = 0
    triples: int = 0
    duplicates: int = 0
    properties: set[str] = field(default_factory=set)

    def add(self, folder: Path, info: dict[str, Any]) -> None:
        """Take in a part."""
        self.folders.append(folder)
        self.entities += info["entities"]
        self.statements += info.get("statements", 0)
        self.triples += info.get("triples", 0)
        self.properties.update(info.get("properties", ()))


class Pass:
    """Reads ``paths`` once. ``before`` and ``after`` are the bytes that other passes read, for the progress."""

    def __init__(
        self, paths: Sequence[Path], form: Format, folder: Path, job: Job, progress: Callable[[int, int], None],
        before: int = 0, after: int = 0,
    ) -> None:  # fmt: skip
        self._paths = paths
        self._form = form
        self._folder = folder
        self._job = job
        self._tell = progress
        self._bytes = sum(path.stat().st_size for path in paths)
        self._total = before + self._bytes + after
        self._done = self._before = before
        largest = _LARGEST_SCANNED if job.task == form.scan else _LARGEST
        self._size = min(max(math.ceil(self._bytes / _PIECES), _SMALLEST), largest)
        self._at: dict[int, int] = {}
        self._infos: dict[int, dict[str, Any]] = {}

    def run(self, chosen: Path | None = None, limit: int = 0) -> Made:
        """Make all parts that are not there yet, of the entities in the file ``chosen``, if there is one."""
        admission = self._form.admit(chosen, limit)
        requests = self._requests(admission)
        begun = list(itertools.islice(requests, 2))
        if len(begun) < 2 or pool.workers() == 1:
            pool.run_here(self._job, _chain(begun, requests), self._finished, self._look)
        else:
            workers = pool.Pool(self._job, pool.workers())
            workers.run(_chain(begun, requests), self._finished, self._look)
        self._done = self._before + self._bytes
        self._look()
        return self._made(admission)

    def _made(self, admission: Admission) -> Made:
        made = Made(duplicates=admission.duplicates)
        for number in sorted(self._infos):
            made.add(self._part(number), self._infos[number])
        return made

    def _part(self, number: int) -> Path:
        return self._folder / f"{number:06d}"

    def _requests(self, admission: Admission) -> Iterator[tuple[int, Request]]:
        """The pieces that are left to do, numbered, without what is not wanted."""
        self._folder.mkdir(parents=True, exist_ok=True)
        for number, (done, request) in enumerate(self._wanted(admission)):
            self._at[number] = done
            known = parts.info(self._part(number))
            if known is None:
                yield number, request.to(self._part(number))
            else:
                self._finished(number, known)

    def _wanted(self, admission: Admission) -> Iterator[tuple[int, Request]]:
        """What is wanted of the pieces, with the bytes read so far. Where that is a part of each, it is put together to
        pieces of about the same size: else a choice of a few would make as many parts as the whole dump.
        """
        before = self._before
        for path in self._paths:
            few: list[Request] = []
            for piece in self._form.pieces(path, self._size):
                request, done = admission.admit(piece), before + piece.done
                if request is not None and request.numbers:
                    few.append(request)
                whole = request is not None and not request.numbers
                end = whole or piece.last or admission.full
                if few and (end or sum(len(one.data) for one in few) >= self._size):
                    yield done, joined(few)
                    few = []
                if request is not None and whole:
                    yield done, request
                self._done = max(self._done, done) if not self._at else self._done
                self._look()
                if admission.full:
                    return
            before += path.stat().st_size

    def _finished(self, number: int, info: dict[str, Any]) -> None:
        self._infos[number] = info
        self._done = max(self._done, self._at.pop(number))

    def _look(self) -> None:
        self._tell(self._done, self._total)


def _chain(begun: list[tuple[int, Request]], rest: Iterator[tuple[int, Request]]) -> Iterator[tuple[int, Request]]:
    """The first requests, each let go when it is taken, and then the others."""
    while begun:
        yield begun.pop(0)
    yield from rest
