"""Commands in a process of their own, which an engine may end, and what they print beside Python's streams.

The process is forked from a server that has imported the engines, so that a case takes as long as its commands.
"""

from __future__ import annotations

import contextlib
import functools
import json
import multiprocessing
import os
import pkgutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import pytest

import kbkit

SECONDS = 30.0
"""Time limit of a command."""

KBKIT = Path(kbkit.__file__).parent
PYTHON = "python"
"""First word of a line that opens the KB in Python: ``python METHOD KB ARGUMENT...``."""

READER = "reader"
"""First word of a line that reads files: ``reader READER FOLDER``, see :func:`tests.fuzz.readers.read`."""

TERMINAL = "terminal"
"""First word of a command whose standard output claims to be a terminal."""

_ENGINES = ("duckdb", "tantivy", "lancedb", "polars", "pyarrow.parquet", "pytest", "tests.console", "kbkit.cli.app")


@dataclass(frozen=True)
class Ended:
    """How a command ended. ``code`` is None if its process ended with it, or did not end."""

    line: Sequence[str]
    code: int | None
    stdout: str = ""
    stderr: str = ""
    beside: str = ""
    """What was written to standard error beside Python, such as the message of a panic."""
    raised: str = ""
    """An exception that left the entry point or, from Python, that is not one of kbkit's."""

    def problem(self) -> str:
        """Return what is wrong with the end of any command, empty if nothing is."""
        if self.code is None:
            return f"the process ended, or took over {SECONDS:.0f} s: {self.stderr}{self.beside}"
        if self.raised or self.code not in (0, 1):
            return f"exit code {self.code}: {self.raised}{self.stderr}"
        text = self.stderr + self.beside
        if self.code == 1 and (len(text.splitlines()) > 1 or "Traceback" in text or "Internal error" in text):
            return f"more than one line: {text}"
        return f"printed beside the result: {self.beside}" if self.beside else ""


def run(lines: Sequence[Sequence[object]], folder: Path, environment: Mapping[str, str] | None = None) -> list[Ended]:
    """Run commands one after another; ``folder`` is for what they print. Those after a dead process are not run."""
    folder.mkdir()
    given = [[str(word) for word in line] for line in lines]
    process = server().Process(target=_work, args=(given, str(folder), {**os.environ, **(environment or {})}))
    process.start()
    results, begun = folder / "results", time.monotonic()
    limit = SECONDS * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))  # more on a machine that does other work
    known = 0
    while process.is_alive():
        process.join(0.02 if known else 0.1)
        size = results.stat().st_size if results.exists() else 0
        if size > known:
            known, begun = size, time.monotonic()
        elif time.monotonic() - begun > limit:
            process.kill()
            process.join()
    ended = [Ended(**json.loads(line)) for line in results.read_text(encoding="utf-8").splitlines()] if known else []
    if len(ended) < len(given):
        beside = (folder / "stderr").read_text(encoding="utf-8", errors="replace")
        ended.append(Ended(given[len(ended)], None, stderr=f"exit code {process.exitcode} ", beside=beside))
    return ended


@functools.cache
def server() -> ForkServerContext:
    rooms = (
        "agent",
        "answers",
        "directory",
        "display",
        "graph",
        "ingestion",
        "ingestion/inference",
        "questions",
        "readers",
        "search",
        "sparql",
        "stores",
    )
    modules = [f"kbkit.{room}.{module.name}" for room in rooms for module in pkgutil.iter_modules([str(KBKIT / room)])]
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*_ENGINES, *(name for name in modules if "worker" not in name)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONWARNINGS", "ignore:lancedb fork support")  # nothing runs in the server when it forks
        forkserver.ensure_running()
    return context


def _work(lines: Sequence[Sequence[str]], folder: str, environment: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    for stream, name in ((1, "stdout"), (2, "stderr")):
        with open(f"{folder}/{name}", "wb", buffering=0) as file:  # noqa: PTH123
            os.dup2(file.fileno(), stream)
    sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115, PTH123
    position = 0
    with open(f"{folder}/results", "w", encoding="utf-8") as results:  # noqa: PTH123
        for line in lines:
            done = {PYTHON: _python, READER: _reader}.get(line[0], _command)(line)
            beside = Path(folder, "stderr").read_bytes()[position:]
            position += len(beside)
            results.write(json.dumps({**asdict(done), "beside": beside.decode(errors="replace")}) + "\n")
            results.flush()
    os._exit(0)


def _command(line: Sequence[str]) -> Ended:
    from tests.console import here

    terminal = line[0] == TERMINAL
    try:
        done = here(*line[terminal:], terminal=terminal)
    except BaseException as error:  # noqa: BLE001 - the exceptions of engines derive from anything
        return Ended(line, 70, raised=f"{type(error).__name__}: {error}")
    return Ended(line, done.returncode, done.stdout, done.stderr)


def _reader(line: Sequence[str]) -> Ended:
    from kbkit.errors import KbError
    from tests.fuzz.readers import read

    try:
        read(line[1], Path(line[2]))
    except KbError as error:
        return Ended(line, 1, stderr=str(error))
    except BaseException as error:  # noqa: BLE001 - the exceptions of engines derive from anything
        return Ended(line, 70, raised=f"{type(error).__name__}: {error}")
    return Ended(line, 0)


def _history(workspace: Path) -> Any:
    from kbkit.directory.query_history import QueryHistory

    return QueryHistory(workspace).all()


def _python(line: Sequence[str]) -> Ended:
    from kbkit.errors import KbError

    _, method, path, *arguments = line
    calls: dict[str, Callable[[Any], str]] = {
        "neighbors": lambda kb: str(kb.neighbors(*arguments).rows()),
        "node": lambda kb: str(kb.node(*arguments)),
        "sets": lambda kb: str(kb.sets().drop("saved").rows()),
        "linked": lambda kb: str(kb.linked(*arguments).rows()),
        "saved": lambda kb: str((kb.workspace.queries.all(), kb.workspace.views.all(), _history(kb.workspace.folder))),
    }
    try:
        with contextlib.redirect_stdout(None), kbkit.open(path) as kb:
            return Ended(line, 0, calls[method](kb))
    except KbError as error:
        return Ended(line, 1, stderr=str(error))
    except BaseException as error:  # noqa: BLE001 - the exceptions of engines derive from anything
        return Ended(line, 70, raised=f"{type(error).__name__}: {error}")
