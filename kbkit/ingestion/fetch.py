"""Gets the files of a recipe from the addresses where they are published.

A file arrives as ``NAME.part``, with ``NAME.part.json`` saying which version of it this is, and becomes ``NAME`` once
it has the size and the digest that the recipe and the server say. A later call goes on where one was stopped, with
``Range`` and ``If-Range`` (RFC 9110, sections 13.1.5 and 14). Nothing a server says is trusted: it can lead only to
other web addresses, gets no credentials, and fills no more of the disk than it announced.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import http.client
import importlib.metadata
import json
import os
import re
import shutil
import socket
import ssl
import string
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from kbkit.directory import systems
from kbkit.display.progress import Event, Listener
from kbkit.errors import DISTRIBUTION, BadInputError, KbError, UnknownNameError
from kbkit.ingestion import recipe as recipes
from kbkit.ingestion.recipe import Download, Recipe

WAITS = (1.0, 2.0, 4.0, 8.0)
"""Seconds before each further try; a try that brings something new allows as many again."""
TIMEOUT = 60.0
"""Seconds that a server may be silent."""

_GOES_ON = "the same command goes on from there"
_CHUNK, _MOST_REDIRECTS = 1 << 20, 10
_REDIRECTS, _PASSING = (301, 302, 303, 307, 308), (408, 425, 429, 500, 502, 503, 504)
_COMPRESSED = (".gz", ".tgz", ".bz2", ".xz", ".zst", ".br", ".z")
_STRONG_TAG = re.compile(r'"[!#-~]{0,500}"')
_DATE = re.compile(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT")
_CONTENT_RANGE = re.compile(r"bytes (?:(\d{1,18})-\d{1,18}|\*)/(?:(\d{1,18})|\*)")


class InterruptedFetchError(KbError):
    """A fetch that the user stopped; what has come is kept."""

    exit_code = 130  # as a shell reports SIGINT


@dataclass(frozen=True)
class Fetched:
    """A file that is there: where, its bytes, and whether this call brought it."""

    path: Path
    bytes: int
    new: bool


class _PassingError(Exception):
    """What another try may mend, after ``wait`` seconds at least."""

    def __init__(self, message: str, wait: float = 0) -> None:
        super().__init__(message)
        self.wait = wait


@dataclass(frozen=True)
class _Version:
    """Which version of a file has come in part: its ``ETag`` or ``Last-Modified``, and its whole length if known."""

    validator: str = ""
    bytes: int | None = None


@dataclass(frozen=True)
class _Job:
    """One file to get; ``by_hand`` is the hint where that fails."""

    download: Download
    path: Path
    by_hand: str
    timeout: float
    opener: urllib.request.OpenerDirector
    listener: Listener | None

    @property
    def part(self) -> Path:
        return self.path.with_name(self.path.name + ".part")

    @property
    def state(self) -> Path:
        return self.path.with_name(self.path.name + ".part.json")

    def progress(self, stage: str, done: int, total: int) -> None:
        if self.listener is not None:
            self.listener(Event(stage, done, total))

    def discard(self) -> None:
        self.part.unlink(missing_ok=True)
        self.state.unlink(missing_ok=True)


def fetch(
    source: str,
    to: str | os.PathLike[str],
    parts: Sequence[str] = (),
    listener: Listener | None = None,
    *,
    waits: Sequence[float] = WAITS,
    timeout: float = TIMEOUT,
) -> list[Fetched]:
    """Get the files of the recipe ``source`` (a name or a folder) into the folder ``to``; in the recipe's order.

    ``parts`` takes only files of these labels, and those that have none. A file that is there and right is left as it
    is; one that is there and wrong is an error, as are a wrong size or digest, an address that refuses, and a full disk
    (what has come is kept then). ``listener`` hears of the bytes of each file; ``waits`` are the seconds before each
    further try where the connection fails.
    """
    recipe, opener = recipes.load(source), _opener()
    by_hand = f"get it by hand: {recipe.get}" if recipe.get else "is the address in the recipe still right?"
    jobs = [_Job(d, path, by_hand, timeout, opener, listener) for d, path in plan(recipe, Path(to), parts)]
    with _one_line_errors():
        return [_fetch(job, Path(to), waits) for job in jobs]


def plan(recipe: Recipe, to: Path, parts: Sequence[str] = ()) -> list[tuple[Download, Path]]:
    """What :func:`fetch` would get, and where it would go; asks no server."""
    if not recipe.downloads:
        by_hand = f"get the files by hand: {recipe.get}" if recipe.get else "kbkit recipes NAME tells what it reads"
        raise KbError(f"recipe {recipe.name} names no address to fetch from", by_hand)
    known = list(dict.fromkeys(download.part for download in recipe.downloads if download.part))
    for part in parts:
        if part not in known:
            raise UnknownNameError("part", part, known, f"recipe {recipe.name}")
    return [(d, to.joinpath(*d.name.split("/"))) for d in recipe.downloads if not (parts and d.part) or d.part in parts]


def _fetch(job: _Job, to: Path, waits: Sequence[float]) -> Fetched:
    """Get one file, unless it is there."""
    _make_folder(job.path.parent, to)
    if job.path.exists():
        problem = _problem(job, job.path)
        if problem:
            raise BadInputError(f"{job.path} is there, but it {problem}", "remove it, and it is fetched anew")
        if not job.part.exists():
            job.state.unlink(missing_ok=True)
        return Fetched(job.path, job.path.stat().st_size, new=False)
    for path in (job.part, job.state):
        if path.is_symlink():
            raise BadInputError(f"{path} is a symbolic link", "remove it; what it leads to is not written to")
    _try(job, waits)
    problem = _problem(job, job.part)
    if problem:
        job.discard()  # else it would be taken for the beginning of the right one
        hint = "fetch again; if it stays so, it was published anew"
        raise BadInputError(f"what {job.download.url} sent {problem}", hint)
    systems.replace(job.part, job.path)
    job.state.unlink(missing_ok=True)
    return Fetched(job.path, job.path.stat().st_size, new=True)


def _make_folder(folder: Path, to: Path) -> None:
    """Make a folder in ``to``; links may lead to ``to``, but none out of it."""
    to.mkdir(parents=True, exist_ok=True)
    if not folder.resolve().is_relative_to(to.resolve()):
        raise BadInputError(f"{folder} leads out of {to}", "remove the symbolic link, or name another folder")
    folder.mkdir(parents=True, exist_ok=True)


def _problem(job: _Job, path: Path) -> str:
    """What is wrong with a finished file; nothing, as far as the recipe knows, is an empty text."""
    download = job.download
    if not path.is_file():
        return "is no file"
    size = path.stat().st_size
    if download.bytes is not None and size != download.bytes:
        return f"has {size:,} bytes, where the recipe says {download.bytes:,}"
    if not download.sha256:
        return ""
    digest = hashlib.sha256()
    with path.open("rb") as handle:
        while chunk := handle.read(_CHUNK):
            digest.update(chunk)
            job.progress(f"check {download.name}", handle.tell(), size)
    if digest.hexdigest() != download.sha256:
        return f"has the sha256 {digest.hexdigest()}, where the recipe says {download.sha256}"
    return ""


def _try(job: _Job, waits: Sequence[float]) -> None:
    """Bring ``NAME.part`` to its whole length, in as many tries as ``waits`` allows."""
    left, best = list(waits), _size(job.part)
    while True:
        try:
            _attempt(job)
        except _PassingError as error:
            if _size(job.part) >= best + _CHUNK:  # never twice for the same bytes: the end is certain
                left, best = list(waits), _size(job.part)
            if not left:
                kept = f"what has come is kept: {_GOES_ON}" if _size(job.part) and _read_state(job).validator else ""
                raise KbError(f"{job.download.url}: {error}", kept or job.by_hand) from None
            time.sleep(max(left.pop(0), error.wait))
        else:
            return


def _attempt(job: _Job) -> None:
    """Ask once, for what is missing."""
    version = _read_state(job)
    have = _size(job.part) if version.validator else 0
    agent = "kbkit/" + importlib.metadata.version(DISTRIBUTION)
    headers = {"User-Agent": agent, "Accept": "*/*", "Accept-Encoding": "identity"}
    if have:
        headers |= {"Range": f"bytes={have}-", "If-Range": version.validator}
    try:
        answer = _open(job, headers)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416 and have:
            _range_refused(job, have, version, error.headers.get("Content-Range", ""))
            return
        raise _refused(job, error) from None
    with contextlib.closing(answer):
        start, total = _extent(job, answer, have, version)
        _check_answer(job, answer, start, total)
        with job.part.open("r+b" if start else "wb") as handle:
            handle.seek(start)
            if not start:
                _write_state(job, answer, total)
            _receive(job, answer, handle, total)


def _open(job: _Job, headers: dict[str, str]) -> http.client.HTTPResponse:
    """The answer, after redirects; raises ``HTTPError`` for a status from 300 on."""
    url = job.download.url
    for _ in range(_MOST_REDIRECTS + 1):
        request = urllib.request.Request(url, headers=headers)  # noqa: S310 - is_web_address
        try:
            answer: http.client.HTTPResponse = job.opener.open(request, timeout=job.timeout)
        except urllib.error.HTTPError as error:
            location = error.headers.get("Location", "")
            if error.code not in _REDIRECTS or not location:
                raise
            error.close()
            url = _redirected(job, url, location)
        except (OSError, ValueError, http.client.HTTPException) as error:  # ValueError: of a proxy's address
            raise _unreachable(job, error) from None
        else:
            return answer
    raise KbError(f"{job.download.url} redirects more than {_MOST_REDIRECTS} times", job.by_hand)


def _redirected(job: _Job, url: str, location: str) -> str:
    """Where a redirect leads: to a web address, and from https only to https."""
    quoted = urllib.parse.quote(location, safe=string.punctuation, encoding="iso-8859-1")
    with contextlib.suppress(ValueError):
        target = urllib.parse.urljoin(url, quoted)
        if recipes.is_web_address(target) and (url.startswith("http:") or target.startswith("https:")):
            return target
    raise KbError(f"{job.download.url} redirects to {location[:200]!r}, which is not followed", job.by_hand)


def _refused(job: _Job, error: urllib.error.HTTPError) -> Exception:
    said = " ".join(f"answered {error.code} {error.reason}".split())[:200]
    if error.code in _PASSING:
        after = error.headers.get("Retry-After", "")
        return _PassingError(said, min(float(after), TIMEOUT) if re.fullmatch(r"\d{1,9}", after) else 0)
    return KbError(f"{job.download.url} {said}", job.by_hand)


def _unreachable(job: _Job, error: Exception) -> Exception:
    """A connection that fails; a name that is unknown, or a certificate that is wrong, stays so."""
    reason = getattr(error, "reason", error)
    if isinstance(reason, (socket.gaierror, ssl.SSLCertVerificationError)):
        return KbError(f"{job.download.url} cannot be reached: {reason}", "is the network up?")
    return _PassingError(f"the connection failed: {reason or type(reason).__name__}")


def _extent(job: _Job, answer: http.client.HTTPResponse, have: int, version: _Version) -> tuple[int, int | None]:
    """At which byte of the file the answer starts, and the bytes of the whole file where they are told."""
    if answer.status == 200:
        return 0, answer.length
    if answer.status != 206:
        raise KbError(f"{job.download.url} answered {answer.status}, and no file", job.by_hand)
    start, total = _content_range(answer.headers.get("Content-Range", ""))
    kind = "ETag" if version.validator.startswith('"') else "Last-Modified"
    same = answer.headers.get(kind, version.validator) == version.validator
    if start != have or not same or (total or version.bytes) != (version.bytes or total):
        job.discard()
        raise _PassingError("the server sent another range than it was asked for")
    if total is None and answer.length is not None:
        total = version.bytes or have + answer.length
    return have, total


def _range_refused(job: _Job, have: int, version: _Version, content_range: str) -> None:
    """There is nothing after what has come: it is whole, or it is the beginning of something else."""
    _, total = _content_range(content_range)
    if total != have or version.bytes not in (None, have):
        job.discard()
        raise _PassingError(f"the server has nothing after byte {have:,}")


def _content_range(text: str) -> tuple[int | None, int | None]:
    """The first byte and the whole length that a ``Content-Range`` names; None for what it does not."""
    found = _CONTENT_RANGE.fullmatch(text.strip())
    first, whole = found.groups() if found else (None, None)
    return None if first is None else int(first), None if whole is None else int(whole)


def _check_answer(job: _Job, answer: http.client.HTTPResponse, start: int, total: int | None) -> None:
    """Refuse, before a byte is written, what cannot be right or has no room."""
    download = job.download
    encoding = answer.headers.get("Content-Encoding", "identity").strip().lower()
    # Many servers label a file that is itself compressed so; its bytes are then the file's.
    if encoding not in ("", "identity") and not download.name.lower().endswith(_COMPRESSED):
        raise KbError(f"{download.url} sends the file in the encoding {encoding[:40]!r}", job.by_hand)
    if None not in (total, download.bytes) and total != download.bytes:
        problem = f"{download.url} has {total:,} bytes, where the recipe says {download.bytes:,}"
        raise BadInputError(problem, "it was published anew, or this is not the file")
    free = shutil.disk_usage(job.path.parent).free
    if total is not None and total - start > free + (0 if start else _size(job.part)):
        raise KbError(f"{job.path} needs {total - start:,} bytes more, and the disk has {free:,}", "make room")


def _receive(job: _Job, answer: http.client.HTTPResponse, handle: IO[bytes], total: int | None) -> None:
    """Write the body of the answer; raises :class:`_PassingError` where it ends before it should."""
    name, limit = job.download.name, job.download.bytes
    job.progress(name, handle.tell(), total or limit or 0)
    while chunk := _read(answer):
        if limit is not None and handle.tell() + len(chunk) > limit:
            handle.close()
            job.discard()
            raise BadInputError(f"{job.download.url} sends more than the {limit:,} bytes that the recipe says")
        handle.write(chunk)
        job.progress(name, handle.tell(), total or limit or 0)
    if total is not None and handle.tell() < total:
        raise _PassingError(f"the connection was cut after {handle.tell():,} of {total:,} bytes")
    handle.flush()
    systems.sync(handle.fileno())


def _read(answer: http.client.HTTPResponse) -> bytes:
    try:
        return answer.read1(_CHUNK)  # what has come: a cut loses none of it
    except (OSError, http.client.HTTPException) as error:
        raise _PassingError(f"the connection was cut: {error}") from None


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _write_state(job: _Job, answer: http.client.HTTPResponse, total: int | None) -> None:
    """Note which version of the file this is, so that a later try takes no other for its rest."""
    tag, date = answer.headers.get("ETag", ""), answer.headers.get("Last-Modified", "")
    validator = tag if _STRONG_TAG.fullmatch(tag) else date
    text = json.dumps({"url": job.download.url, "validator": validator, "bytes": total})
    job.state.write_text(text, encoding="utf-8", newline="\n")


def _read_state(job: _Job) -> _Version:
    """What was noted of what has come; nothing where it is of another address, or not as we write it."""
    try:
        state = json.loads(job.state.read_text(encoding="utf-8"))
        url, validator, total = state["url"], str(state["validator"]), state["bytes"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return _Version()
    fine = url == job.download.url and (total is None or isinstance(total, int))
    fine = fine and bool(_STRONG_TAG.fullmatch(validator) or _DATE.fullmatch(validator))
    return _Version(validator, total) if fine else _Version()


def _opener() -> urllib.request.OpenerDirector:
    """Speaks http and https, and nothing else; heeds the system's proxies; keeps no cookies, follows no redirect."""
    opener = urllib.request.OpenerDirector()
    for name in ("ProxyHandler", "HTTPHandler", "HTTPSHandler", "HTTPDefaultErrorHandler", "HTTPErrorProcessor"):
        opener.add_handler(getattr(urllib.request, name)())
    return opener


@contextlib.contextmanager
def _one_line_errors() -> Iterator[None]:
    """Turn what the system reports into errors that a user can read."""
    try:
        yield
    except KeyboardInterrupt:
        raise InterruptedFetchError("stopped; what has come is kept", _GOES_ON) from None
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise KbError("the disk is full; what has come is kept", f"make room, and {_GOES_ON}") from error
        raise BadInputError(f"{error.filename}: {error.strerror}", "name another folder with --to") from error
