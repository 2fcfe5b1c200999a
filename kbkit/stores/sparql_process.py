"""The processes that run SPARQL (``sparql_worker.py``), and their results as streams of bytes.

Oxigraph cannot cancel a query, so each query has a process to itself, which is killed at the time limit, on Ctrl-C and
when its reader stops early. Processes are reused.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from kbkit.directory import limits
from kbkit.directory.damage import damaged
from kbkit.errors import Command, Option, QueryError, QueryTimeoutError
from kbkit.stores.sparql_formats import ALL, GRAPH, SOLUTIONS, Format, Formats
from kbkit.stores.sparql_text import is_update, read_only
from kbkit.stores.threads import Expired, run

MOST = 4
"""Maximum number of processes of one KB."""


Graphs = tuple[Sequence[str] | None, Sequence[str] | None]
"""The IRIs of the default graphs and of the named graphs that replace the dataset of a query; None twice: they do not.
"""


class ResultColumn(NamedTuple):
    """A column of a result: a variable of the query, or the labels of its values."""

    name: str
    variable: str
    property: str = ""
    """IRI of ``rdfs:label`` or another property (empty: the values themselves)."""
    languages: str = ""
    """Codes, best first, separated by commas."""


class Pool:
    """Up to ``MOST`` processes that read one store; further queries wait for a free one."""

    def __init__(self, folder: Path, store: str) -> None:
        self.folder, self.store = folder, store
        # By path and with -P, so that the current folder is not searched for modules.
        script = Path(__file__).with_name("sparql_worker.py")
        self._command = [sys.executable, "-P", str(script), str(folder)]
        self._free = threading.Semaphore(MOST)
        self._guard = threading.Lock()
        self._idle: list[subprocess.Popen[bytes]] = []
        self._busy: set[subprocess.Popen[bytes]] = set()

    @property
    def processes(self) -> list[subprocess.Popen[bytes]]:
        """The processes, running a query or waiting for one."""
        with self._guard:
            return [*self._idle, *self._busy]

    def take(self) -> subprocess.Popen[bytes]:
        """Return a process for one query; :meth:`give` or :meth:`discard` must follow."""
        while not self._free.acquire(timeout=0.1):  # in short steps, so that Ctrl-C interrupts it
            pass
        with self._guard:
            try:
                worker = next(self._alive(), None) or subprocess.Popen(
                    self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
                )
            except BaseException:
                self._free.release()
                raise
            self._busy.add(worker)
        return worker

    def _alive(self) -> Iterator[subprocess.Popen[bytes]]:
        while self._idle:
            worker = self._idle.pop()
            if worker.poll() is None:
                yield worker
            else:
                _end(worker)

    def give(self, worker: subprocess.Popen[bytes]) -> None:
        """Return a process whose query is done."""
        with self._guard:
            if worker in self._busy:  # not after close
                self._busy.discard(worker)
                self._idle.append(worker)
        self._free.release()

    def discard(self, worker: subprocess.Popen[bytes]) -> None:
        """Kill a process in an unknown state."""
        with self._guard:
            self._busy.discard(worker)
        _end(worker)
        self._free.release()

    def leave(self) -> None:
        """Close a forked child's ends of the pipes, so that the processes end with the parent, to which they belong."""
        for worker in (*self._idle, *self._busy):
            for pipe in (worker.stdin, worker.stdout):
                if pipe is not None and not pipe.closed:
                    os.close(pipe.fileno())

    def close(self) -> None:
        """Kill all processes."""
        with self._guard:
            workers = [*self._idle, *self._busy]
            self._idle.clear()
            self._busy.clear()
        for worker in workers:
            _end(worker)


def _end(worker: subprocess.Popen[bytes]) -> None:
    worker.kill()
    worker.wait()
    for stream in (worker.stdin, worker.stdout):
        assert stream is not None
        with contextlib.suppress(OSError):  # the rest of a request cannot be sent
            stream.close()


_Frames = list[tuple[str, bytes]]


class _RejectedError(Exception):
    """The engine rejected the query, or found ``damage`` in its files."""

    def __init__(self, message: str, *, damage: bool) -> None:
        super().__init__(message)
        self.damage = damage


class WrongFormatError(QueryError):
    """The result has a kind (``select``, ``ask`` or ``triples``) for which no format was given."""


class Results(ABC):
    """The serialized result of a query, as chunks of bytes; closing it early cancels the query.

    ``kind`` is ``select``, ``ask`` or ``triples``, ``format`` the format of the chunks.
    """

    kind: str
    format: Format

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @abstractmethod
    def start(self) -> None:
        """Run the query up to its first bytes, after which ``kind`` and ``format`` are known.

        Raises :class:`QueryError`, :class:`QueryTimeoutError`, and :class:`WrongFormatError`.
        """

    def __iter__(self) -> Iterator[bytes]:
        """Yield the bytes in chunks."""
        while chunk := self.chunk():
            yield chunk

    @abstractmethod
    def chunk(self) -> bytes:
        """Return the next bytes; none at the end."""

    def read(self) -> bytes:
        """Return all bytes."""
        return b"".join(self)

    @abstractmethod
    def close(self) -> None:
        """Cancel the query if it still runs. Another thread may call this."""


class ProcessResults(Results):
    """The result of a query that a process runs."""

    def __init__(
        self,
        pool: Pool,
        request: Mapping[str, Any],
        formats: Formats,
        timeout: float | None,
        rejected: Callable[[str], None],
        spent: float = 0.0,
    ) -> None:
        """Start nothing yet. ``timeout`` limits the seconds spent waiting for the engine (None: no limit), of which
        ``spent`` have passed; ``rejected`` is called with the engine's message when it rejects the query, to raise a
        better error.
        """
        suffixes = {
            "solutions": formats.solutions.suffix if formats.solutions else "",
            "graph": formats.graph.suffix if formats.graph else "",
        }
        self._text, self._request = str(request["query"]), json.dumps({**request, **suffixes}).encode()
        self._pool, self._formats, self._rejected = pool, formats, rejected
        self._timeout, self._left = timeout, timeout if timeout is None else max(1e-3, timeout - spent)
        self._worker: subprocess.Popen[bytes] | None = None
        self._guard = threading.Lock()
        self._closed = False
        self._first = b""

    def start(self) -> None:
        """Send the query to a process; see :meth:`Results.start`."""
        with self._guard:
            if self._closed:
                raise QueryError("The query was cancelled")
            self._worker = self._pool.take()
        try:
            (self.kind, _), (_, self._first) = self._wait(self._begin)
        except BaseException:  # Ctrl-C too leaves the process in an unknown state
            self.close()
            raise
        try:
            self.format = format_of(self.kind, self._formats)
        except WrongFormatError:
            self.close()
            raise

    def _begin(self, worker: subprocess.Popen[bytes]) -> _Frames:
        """Send the request; return the frames with the kind of the result and with its first bytes."""
        assert worker.stdin is not None
        worker.stdin.write(len(self._request).to_bytes(8, "little") + self._request)
        worker.stdin.flush()
        return [_frame(worker), _frame(worker)]

    def chunk(self) -> bytes:
        """Return the next bytes; none at the end."""
        first, self._first = self._first, b""
        if first or self._worker is None:
            return first
        try:
            [(_, chunk)] = self._wait(lambda worker: [_frame(worker)])
        except BaseException:
            self.close()
            raise
        return chunk

    def close(self) -> None:
        """Kill the process if the query still runs."""
        with self._guard:
            self._closed = True
            worker, self._worker = self._worker, None
        if worker is not None:
            self._pool.discard(worker)

    def _done(self) -> None:
        with self._guard:
            worker, self._worker = self._worker, None
        if worker is not None:
            self._pool.give(worker)

    def _wait(self, work: Callable[[subprocess.Popen[bytes]], _Frames]) -> _Frames:
        """Return the frames that ``work`` receives, and count its time; after the last one, the process is free."""
        worker = self._worker
        if worker is None:
            raise QueryError("The query was cancelled")
        started = time.monotonic()
        try:
            frames = run(lambda: work(worker), worker.kill, self._left)
        except Expired:
            raise expired(self._timeout) from None
        except _RejectedError as error:
            self._done()
            if error.damage:
                raise damaged(self._pool.folder, str(error), self._pool.store) from None
            if is_update(self._text):
                raise read_only() from None
            self._rejected(str(error))
            raise QueryError(str(error)) from None
        except (EOFError, OSError, ValueError) as error:
            if self._closed:
                raise QueryError("The query was cancelled") from error
            limits.check_threads()  # without enough of them, the engine ends its process
            hint = ("It may be out of memory, the query too deep, or a file damaged: run ", Command("check KB"))
            raise QueryError("The SPARQL process ended unexpectedly", *hint) from error
        finally:
            if self._left is not None:
                self._left = max(1e-3, self._left - (time.monotonic() - started))
        if frames[-1][0] == "last":
            self._done()
        return frames


def _frame(worker: subprocess.Popen[bytes]) -> tuple[str, bytes]:
    """Receive a frame: its tag and its bytes. Raises ``EOFError`` if the process ends."""
    assert worker.stdout is not None
    head = worker.stdout.read(16)
    if len(head) < 16:
        raise EOFError
    length, tag = int.from_bytes(head[:8], "little"), head[8:].decode().strip()
    body = worker.stdout.read(length)
    if len(body) < length:
        raise EOFError
    if tag in ("error", "damaged"):
        raise _RejectedError(" ".join(body.decode().split()), damage=tag == "damaged")
    return tag, body


def expired(timeout: float | None) -> QueryTimeoutError:
    """Return the error of a query that was cancelled after ``timeout`` seconds."""
    return QueryTimeoutError(
        f"SPARQL query cancelled after {timeout:g} s", "Use ", Option("timeout"), " to raise the limit"
    )


def format_of(kind: str, formats: Formats) -> Format:
    """Return the format of a result of a kind. Raises :class:`WrongFormatError` if there is none."""
    known = formats.graph if kind == "triples" else formats.solutions
    if known is None:
        raise _wrong_format(kind, formats)
    return known


def _wrong_format(kind: str, formats: Formats) -> WrongFormatError:
    returned, holds = (
        ("triples", GRAPH) if kind == "triples" else ("rows" if kind == "select" else "a boolean", SOLUTIONS)
    )
    given = " or ".join(known.name for known in (formats.solutions, formats.graph) if known)
    better = ", ".join(known.name for known in ALL if known.holds == holds)
    problem = f"which {given} cannot hold" if given else "and no known format is accepted"
    return WrongFormatError(f"The query returns {returned}, {problem}", f"Use one of {better}")


def request(
    text: str, prefixes: Mapping[str, str], graphs: Graphs, columns: Sequence[ResultColumn] = ()
) -> dict[str, Any]:
    """Return the request of a query, and of the ``columns`` of a result in TSV (default: the query's)."""
    default, named = graphs
    return {
        "query": text,
        "prefixes": dict(prefixes),
        "default_graphs": None if default is None else list(default),
        "named_graphs": None if named is None else list(named),
        "columns": columns,
    }
