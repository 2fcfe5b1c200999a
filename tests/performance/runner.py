"""Runs a job in fresh processes: what it needs on disk first, then the measurement; passes figures on as they come."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tests.performance.report import Figure

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Job:
    """What one engine does in one area.

    ``call`` and ``prepare`` are functions of this package, ``module:name``, that take the scale and the engine: the
    first yields figures, the others put on disk what it reads, in a process of their own. ``needs`` are packages,
    ``limit`` is the largest scale that the engine can hold. ``peak`` (what, goal) adds the process's memory.
    Without ``scaled`` the job is the same at all scales, and runs once.
    """

    engine: str
    call: str
    prepare: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    limit: float = float("inf")
    peak: tuple[str, float | None] | None = None
    scaled: bool = True


def run(job: Job, area: str, number: int, scale: float, timeout: float) -> Iterator[Figure]:
    """The figures of the job that is ``number`` in its area; what kept it from running is one as well, with a note."""

    def instead(note: str) -> Figure:
        return Figure("(not measured)", note=note, area=area, engine=job.engine, scale=scale if job.scaled else 0.0)

    missing = [package for package in job.needs if importlib.util.find_spec(package) is None]
    if missing:
        yield instead(f"skipped: pip install {' '.join(missing)}")
        return
    if scale > job.limit:
        yield instead(f"skipped: run up to scale {job.limit:g}, beyond which it takes too much time or memory")
        return
    for step in ("prepare", "run") if job.prepare else ("run",):
        problem = yield from _step(step, area, number, scale, timeout if step == "run" else None)
        if problem:
            yield instead(problem)
            return


def _step(step: str, area: str, number: int, scale: float, timeout: float | None) -> Iterator[Figure]:
    """Figures of one process; returns what went wrong, or nothing."""
    command = [sys.executable, "-m", "tests.performance.worker", step, area, str(number), str(scale)]
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=said, text=True, start_new_session=True
        )
        try:
            for line in _lines(process.stdout, timeout):
                yield Figure.from_json(line)
            code = process.wait()
        except TimeoutError:
            return f"stopped after {timeout:g} s"
        finally:
            _end(process)
        said.seek(0)
        last = (said.read().strip().splitlines() or [""])[-1]
    if code < 0:
        return f"ended by {signal.Signals(-code).name}"
    return f"failed in {step}: {last[:300]}" if code else ""


def _lines(stream: IO[str] | None, timeout: float | None) -> Iterator[str]:
    """Lines as they come; raises TimeoutError when ``timeout`` seconds have gone by since the first was asked for."""
    assert stream is not None
    arrived: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def read() -> None:
        for line in stream:
            arrived.put(line)
        arrived.put(None)

    threading.Thread(target=read, daemon=True).start()
    until = None if timeout is None else time.monotonic() + timeout
    while True:
        try:
            line = arrived.get(timeout=None if until is None else max(0.0, until - time.monotonic()))
        except queue.Empty:
            raise TimeoutError from None
        if line is None:
            return
        yield line


def _end(process: subprocess.Popen[str]) -> None:
    """Kill the process and those it started, whatever they do."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
