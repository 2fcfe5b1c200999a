"""Read a dump once: pieces in order, through a pool of worker processes, into parts."""

from __future__ import annotations

import contextlib
import gc
import itertools
import math
import multiprocessing
import os
import signal
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kbkit.directory import systems
from kbkit.errors import KbError
from kbkit.readers.wikidata import parts, tasks
from kbkit.readers.wikidata.admission import Admission, DumpFormat
from kbkit.readers.wikidata.bad_lines import SkippedLines
from kbkit.readers.wikidata.dumps import Piece, joined
from kbkit.readers.wikidata.options import ConversionOptions

_MIN_PIECE, _MAX_PIECE = 8 << 20, 16 << 20
_MAX_SCANNED_PIECE = 64 << 20
_PIECES = 4000
"""Target number of pieces, within the limits above (uncompressed bytes).

A worker holds about thirty times the bytes that it converts, but little of what it scans.
"""
_POLL = 0.2  # seconds between two calls of ``progress``, which may stop the pass
_MAX_WORKERS = 8


@dataclass
class PassResult:
    """The parts of a pass in the order of the dump, and totals over them."""

    folders: list[Path] = field(default_factory=list)
    entities: int = 0
    statements: int = 0
    triples: int = 0
    duplicates: int = 0
    properties: set[str] = field(default_factory=set)
    skipped: SkippedLines = field(default_factory=SkippedLines)

    def add(self, folder: Path, info: dict[str, Any]) -> None:
        """Add a part."""
        self.folders.append(folder)
        self.entities += info["entities"]
        self.statements += info.get("statements", 0)
        self.triples += info.get("triples", 0)
        self.properties.update(info.get("properties", ()))
        self.skipped.add(info)


class Pass:
    """Runs a task for the pieces of ``paths``. ``before`` and ``after`` are bytes that other passes read."""

    def __init__(
        self, paths: Sequence[Path], dump: DumpFormat, folder: Path, task: str, options: ConversionOptions,
        progress: Callable[[int, int], None], before: int = 0, after: int = 0,
    ) -> None:  # fmt: skip
        self._paths = paths
        self._format = dump
        self._folder = folder
        self._task = task
        self._options = options
        self._progress = progress
        self._bytes = sum(path.stat().st_size for path in paths)
        self._total = before + self._bytes + after
        self._done = self._before = before
        largest = _MAX_SCANNED_PIECE if task == dump.scan else _MAX_PIECE
        self._size = min(max(math.ceil(self._bytes / _PIECES), _MIN_PIECE), largest)
        self._pending: dict[int, int] = {}
        self._infos: dict[int, dict[str, Any]] = {}

    def run(self, selected: Path | None = None, limit: int = 0) -> PassResult:
        """Write all parts that do not exist yet, optionally only of the entities in the file ``selected``."""
        admission = self._format.admission(selected, limit)
        pieces = self._missing(admission)
        first = list(itertools.islice(pieces, 2))
        if len(first) < 2 or workers() == 1:
            work = tasks.task(self._task)
            for number, piece in _consume(first, pieces):
                self._report()
                self._finish(number, work(self._options, piece, self._part(number)))
        else:
            self._run_in_pool(_consume(first, pieces))
        self._done = self._before + self._bytes
        self._report()
        result = PassResult(duplicates=admission.duplicates, skipped=SkippedLines(self._paths))
        for number in sorted(self._infos):
            result.add(self._part(number), self._infos[number])
        return result

    def _run_in_pool(self, pieces: Iterable[tuple[int, Piece]]) -> None:
        size = workers()
        executor = ProcessPoolExecutor(size, multiprocessing.get_context("spawn"), _start_worker)
        waiting: dict[Future[dict[str, Any]], tuple[int, str]] = {}
        try:
            for number, piece in pieces:
                while len(waiting) > size:  # one piece more than workers is ready
                    self._collect(waiting)
                self._report()
                waiting[self._submit(executor, number, piece)] = number, piece.place(piece.line)
                del piece  # else one more piece stays in memory
            while waiting:
                self._collect(waiting)
            self._report()
        except BaseException:
            for process in list(executor._processes.values()):
                process.kill()
            raise
        finally:
            executor.shutdown(wait=True, cancel_futures=True)

    def _submit(self, executor: ProcessPoolExecutor, number: int, piece: Piece) -> Future[dict[str, Any]]:
        try:
            with _without_main_module():
                return executor.submit(_run_task, self._task, self._options, piece, self._part(number))
        except (BrokenProcessPool, OSError, ValueError):  # the latter of handles that a pool closes when it breaks
            if not executor._broken:
                raise
            raise _worker_ended(piece.place(piece.line)) from None

    def _collect(self, waiting: dict[Future[dict[str, Any]], tuple[int, str]]) -> None:
        """Wait for results, at most ``_POLL`` seconds; if several tasks failed, raise the first error in the dump."""
        finished = wait(waiting, timeout=_POLL, return_when=FIRST_COMPLETED).done
        for future in sorted(finished, key=lambda future: waiting[future]):
            number, place = waiting.pop(future)
            try:
                self._finish(number, future.result())
            except BrokenProcessPool:
                raise _worker_ended(place) from None
        self._report()

    def _part(self, number: int) -> Path:
        return self._folder / f"{number:06d}"

    def _missing(self, admission: Admission) -> Iterator[tuple[int, Piece]]:
        """Yield the filtered pieces without a part, numbered."""
        self._folder.mkdir(parents=True, exist_ok=True)
        for number, (done, piece) in enumerate(self._admitted(admission)):
            self._pending[number] = done
            known = parts.info(self._part(number))
            if known is None:
                yield number, piece
            else:
                self._finish(number, known)

    def _admitted(self, admission: Admission) -> Iterator[tuple[int, Piece]]:
        """Yield the filtered pieces and the bytes read up to each.

        Pieces that lost lines are joined to pieces of the usual size, so that a small selection makes few parts.
        """
        before = self._before
        for path in self._paths:
            filtered: list[Piece] = []
            for piece in self._format.split(path, self._size):
                admitted, done = admission.admit(piece), before + piece.done
                if admitted is not None and admitted.numbers:
                    filtered.append(admitted)
                complete = admitted is not None and not admitted.numbers
                end = complete or piece.last or admission.full
                if filtered and (end or sum(len(one.data) for one in filtered) >= self._size):
                    yield done, joined(filtered)
                    filtered = []
                if admitted is not None and complete:
                    yield done, admitted
                self._done = max(self._done, done) if not self._pending else self._done
                self._report()
                if admission.full:
                    return
            before += path.stat().st_size

    def _finish(self, number: int, info: dict[str, Any]) -> None:
        self._infos[number] = info
        self._done = max(self._done, self._pending.pop(number))

    def _report(self) -> None:
        self._progress(self._done, self._total)


def _consume(first: list[tuple[int, Piece]], rest: Iterator[tuple[int, Piece]]) -> Iterator[tuple[int, Piece]]:
    """Yield the first pieces, dropping the references to them, then the rest."""
    while first:
        yield first.pop(0)
    yield from rest


# -- workers ----------------------------------------------------------------------------------------------------------


def workers() -> int:
    """Return the number of worker processes: one per core that this process may use, up to a maximum."""
    return min(systems.cores(), _MAX_WORKERS)


def _worker_ended(place: str) -> KbError:
    message = f"A worker process ended unexpectedly while reading from {place}"
    return KbError(message, "It may have run out of memory")


def _start_worker() -> None:
    gc.disable()  # a piece makes millions of tuples without cycles
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole process group; the parent decides
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    """End this worker when its parent was killed: the queue of the executor does not notice that."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _run_task(name: str, options: ConversionOptions, piece: Piece, folder: Path) -> dict[str, Any]:
    return tasks.task(name)(options, piece, folder)


@contextlib.contextmanager
def _without_main_module() -> Iterator[None]:
    """Hide the main module while a worker starts, so that a script without a ``__main__`` guard is not run again."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
