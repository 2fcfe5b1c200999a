"""Pieces of a dump through several processes at once.

They are started as a command, not forked or spawned by ``multiprocessing``, so that a script without a guard around
its main part can convert too, and so that nothing but the one module is imported.
"""

from __future__ import annotations

import queue
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from kbkit.directory import systems
from kbkit.errors import BadInputError, KbError
from kbkit.readers.wikidata.options import Options
from kbkit.readers.wikidata.worker import Job, Request, receive, send, task

_STEP = 0.2  # seconds between two looks at whether the caller wants to stop
_MOST = 8
_START = "import sys; sys.path.append(sys.argv[1]); from kbkit.readers.wikidata.worker import main; main()"

Done = Callable[[int, dict[str, Any]], None]


def workers() -> int:
    """How many processes to start: one for each core that this one may use."""
    return min(systems.cores(), _MOST)


def run_here(job: Job, requests: Iterable[tuple[int, Request]], done: Done, look: Callable[[], None]) -> None:
    """Do the job in this process: what is small is done before another has started."""
    options, work = Options.from_json(job.options), task(job.task)
    for number, request in requests:
        look()
        done(number, work(options, request))
    look()


class Pool:
    """Processes that all do one job."""

    def __init__(self, job: Job, size: int) -> None:
        self._idle: queue.Queue[subprocess.Popen[bytes]] = queue.Queue()
        self._all: list[subprocess.Popen[bytes]] = []
        self._job = job
        self._size = size

    def run(self, requests: Iterable[tuple[int, Request]], done: Done, look: Callable[[], None]) -> None:
        """Do the job with all requests, some at a time; ``done`` hears the number and what became of it.

        ``look`` is called a few times a second, and what it raises ends everything, as any error does.
        """
        threads = ThreadPoolExecutor(self._size)
        waiting: dict[Future[dict[str, Any]], int] = {}
        try:
            self._start()
            for number, request in requests:
                while len(waiting) > self._size:  # one piece more than there are processes lies ready
                    self._collect(waiting, done, look)
                look()
                waiting[threads.submit(self._exchange, request)] = number
                del request  # else one piece more stays in memory
            while waiting:
                self._collect(waiting, done, look)
            look()
        except BaseException:
            self._kill()
            raise
        finally:
            for process in self._all:
                if process.stdin and process.poll() is None:
                    process.stdin.close()  # it ends
            threads.shutdown(wait=True, cancel_futures=True)
            for process in self._all:
                process.wait()
                if process.stdout:
                    process.stdout.close()

    def _start(self) -> None:
        root = str(Path(__file__).parents[3])  # of the package, wherever it was imported from
        job = self._job.to_json()
        for _ in range(self._size):
            # -P: nothing in the current folder can pose as a module.
            command = [sys.executable, "-P", "-c", _START, root]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self._all.append(process)
            assert process.stdin is not None
            process.stdin.write(len(job).to_bytes(8, "little") + job)
            self._idle.put(process)

    def _collect(self, waiting: dict[Future[dict[str, Any]], int], done: Done, look: Callable[[], None]) -> None:
        """Wait for something to be done, and hand it on."""
        finished = wait(waiting, timeout=_STEP, return_when=FIRST_COMPLETED).done
        # Of several errors the one that stands first in the dump counts.
        for future in sorted(finished, key=lambda future: waiting[future]):
            done(waiting.pop(future), future.result())
        look()

    def _exchange(self, request: Request) -> dict[str, Any]:
        process = self._idle.get()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            send(process.stdin, request)
            answer = receive(process.stdout)
        except (OSError, EOFError, ValueError):
            code = process.poll()
            raise KbError(
                f"a process that read {request.path} from {request.unit} {request.line:,} on has ended"
                + (f" (status {code})" if code else ""),
                "was there memory enough?",
            ) from None
        finally:
            self._idle.put(process)
        if "errno" in answer:
            raise OSError(answer["errno"], answer["error"])
        if "error" in answer:
            raise BadInputError(answer["error"], answer["hint"])
        found: dict[str, Any] = answer["info"]
        return found

    def _kill(self) -> None:
        for process in self._all:
            process.kill()
