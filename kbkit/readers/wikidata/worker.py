"""What is done with a piece of a dump, in this process or in one that ends with its parent.

Such a process reads requests on standard input: a length (8 bytes, little-endian), a JSON header of that length, and
as many bytes as its ``bytes`` says. It answers each with a length and JSON: ``info`` of the part, or ``error`` and
``hint``. The first request is a :class:`Job`, and has no answer.
"""

from __future__ import annotations

import array
import dataclasses
import gc
import importlib
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from kbkit.errors import BadInputError
from kbkit.readers.wikidata.options import Options


@dataclass(frozen=True)
class Job:
    """What is to be made of every piece: ``task`` is a name in ``_TASKS``."""

    task: str
    options: str

    def to_json(self) -> bytes:
        """All of it as text."""
        return json.dumps(asdict(self)).encode()


@dataclass(frozen=True)
class Request:
    """A piece of the file ``path``, to be written to ``folder``.

    ``numbers`` are the numbers of its lines where they do not follow each other from ``line``. ``chosen`` names a file
    with the ids to take, where the lines do not say which entity they are about.
    """

    folder: str
    path: str
    line: int
    unit: str
    data: bytes
    numbers: bytes = b""
    chosen: str = ""

    def to(self, folder: Path) -> Request:
        """The same piece, to be written to ``folder``."""
        return dataclasses.replace(self, folder=str(folder))

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """The lines that hold something, with their numbers."""
        numbers = array.array("q", self.numbers)
        for place, line in enumerate(self.data.split(b"\n")):
            if stripped := line.lstrip(b" \t\r,[\xef\xbb\xbf").rstrip(b" \t\r,]"):
                yield (numbers[place] if numbers else self.line + place), stripped

    def where(self, number: int) -> str:
        """How an error names a line."""
        return f"{self.path}, {self.unit} {number:,}"


_TASKS = {"convert_json": "tasks", "scan_json": "scan", "convert_rdf": "rdf_tasks", "scan_rdf": "rdf_tasks"}


def joined(requests: Sequence[Request]) -> Request:
    """One request of several that have numbers for their lines, of the same file."""
    first = requests[0]
    if len(requests) == 1:
        return first
    data = b"\n".join(request.data for request in requests)
    return dataclasses.replace(first, data=data, numbers=b"".join(request.numbers for request in requests))


Task = Callable[[Options, Request], dict[str, Any]]


def task(name: str) -> Task:
    """The function of this name."""
    found: Task = getattr(importlib.import_module(f"kbkit.readers.wikidata.{_TASKS[name]}"), name)
    return found


def main() -> None:
    """Answer requests until standard input closes."""
    gc.disable()  # a piece makes millions of tuples, and nothing that refers to itself
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    source = sys.stdin.buffer
    job = Job(**json.loads(_frame(source) or os._exit(0)))
    options, run = Options.from_json(job.options), task(job.task)
    while head := _frame(source):
        header = json.loads(head)
        data = _exactly(source, header.pop("bytes"))
        numbers = _exactly(source, header.pop("numbers"))
        try:
            answer = {"info": run(options, Request(data=data, numbers=numbers, **header))}
        except BadInputError as error:
            answer = {"error": error.message, "hint": error.hint}  # type: ignore[dict-item]
        except OSError as error:
            answer = {"errno": error.errno, "error": error.strerror or str(error)}  # type: ignore[dict-item]
        body = json.dumps(answer).encode()
        try:
            out.write(len(body).to_bytes(8, "little") + body)
            out.flush()
        except BrokenPipeError:  # the parent is gone
            os._exit(0)


def send(target: IO[bytes], request: Request) -> None:
    """Write a request."""
    header = {name: getattr(request, name) for name in ("folder", "path", "line", "unit", "chosen")}
    head = json.dumps({**header, "bytes": len(request.data), "numbers": len(request.numbers)}).encode()
    target.write(len(head).to_bytes(8, "little") + head)
    target.write(request.data)
    target.write(request.numbers)
    target.flush()


def receive(source: IO[bytes]) -> dict[str, Any]:
    """Read the answer; raises :class:`EOFError` when the process is gone."""
    size = source.read(8)
    body = source.read(int.from_bytes(size, "little")) if len(size) == 8 else b""
    if not body:
        raise EOFError
    answer: dict[str, Any] = json.loads(body)
    return answer


def _frame(source: IO[bytes]) -> bytes:
    size = source.read(8)
    return _exactly(source, int.from_bytes(size, "little")) if len(size) == 8 else b""


def _exactly(source: IO[bytes], size: int) -> bytes:
    data = source.read(size)
    if len(data) < size:  # the parent is gone
        os._exit(0)
    return data


def folder_of(request: Request) -> Path:
    """Where the part goes."""
    return Path(request.folder)
