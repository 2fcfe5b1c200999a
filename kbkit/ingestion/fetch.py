"""Download the files of a recipe from where they are published.

A file is downloaded to ``NAME.part``, with its version in ``NAME.part.json``, and renamed to ``NAME`` once it has the
size and digest that the recipe and the server state. An interrupted download is resumed with ``Range`` and ``If-Range``
(RFC 9110, sections 13.1.5 and 14). Servers are untrusted: they can redirect only to other web addresses, get no
credentials, and cannot fill the disk beyond the size they announced.

Own code on urllib, because pooch, urllib3, httpx and requests do not resume with ``If-Range``: they would replace the
opener and the table of retries, about 30 lines.
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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from kbkit.directory import systems
from kbkit.directory.files import parse_json
from kbkit.display.progress import Event, Listener
from kbkit.errors import DISTRIBUTION, BadInputError, Command, KbError, Option, UnknownNameError
from kbkit.ingestion import recipe as recipes
from kbkit.ingestion.recipe import Download, Recipe

WAITS = (1.0, 2.0, 4.0, 8.0)
"""Seconds before each retry; a retry that receives new data resets the list."""
TIMEOUT = 60.0
"""Seconds without data from the server before a connection is closed."""

_LONGEST_WAIT = 60
"""Seconds that a server may ask to wait before a retry (``Retry-After``)."""
_RESUME = "Run the same command again to resume"
_CHUNK, _MAX_REDIRECTS = 1 << 20, 10
_REDIRECTS, _TRANSIENT = (301, 302, 303, 307, 308), (408, 425, 429, 500, 502, 503, 504)
_COMPRESSED = (".gz", ".tgz", ".bz2", ".xz", ".zst", ".br", ".z")
_STRONG_TAG = re.compile(r'"[!#-~]{0,500}"')
_DATE = re.compile(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT")
_CONTENT_RANGE = re.compile(r"bytes (?:(\d{1,18})-\d{1,18}|\*)/(?:(\d{1,18})|\*)")


class InterruptedFetchError(KbError):
    """A download that the user interrupted; received data is kept."""

    exit_code = 130  # as a shell reports SIGINT


@dataclass(frozen=True)
class Fetched:
    """A downloaded file: its path, its size in bytes, and whether this call downloaded it."""

    path: Path
    bytes: int
    new: bool


class _TransientError(Exception):
    """An error that a retry may fix, after at least ``wait`` seconds."""

    def __init__(self, message: str, wait: float = 0) -> None:
        super().__init__(message)
        self.wait = wait


@dataclass(frozen=True)
class _Version:
    """The version of a partial file: its ``ETag`` or ``Last-Modified``, and its total length if known."""

    validator: str = ""
    bytes: int | None = None


@dataclass(frozen=True)
class _Job:
    """One file to download; ``by_hand`` is the hint if that fails."""

    download: Download
    path: Path
    by_hand: str
    timeout: float
    opener: urllib.request.OpenerDirector
    listener: Listener | None
    tell: Callable[[str], None] | None = None

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
    tell: Callable[[str], None] | None = None,
    waits: Sequence[float] = WAITS,
    timeout: float = TIMEOUT,
) -> list[Fetched]:
    """Download the files of the recipe ``source`` (a name or a folder) to the folder ``to``, in the recipe's order.

    ``parts`` selects files with these labels, and all without a label. An existing file with the right size and digest
    is kept; a wrong one is an error, as are a download with the wrong size or digest, an HTTP error, and a full disk
    (received data is kept then). ``listener`` is called with the bytes of each file, ``tell`` with a sentence before
    each wait; ``waits`` are the seconds before each retry after a connection error, or more if the server asks for
    more. A server that asks for more than a minute is an error.
    """
    recipe, opener = recipes.load(source), _opener()
    by_hand = f"Download it yourself: {recipe.get}" if recipe.get else "Check the URL in the recipe"
    jobs = [_Job(d, path, by_hand, timeout, opener, listener, tell) for d, path in plan(recipe, Path(to), parts)]
    with _one_line_errors():
        return [_fetch(job, Path(to), waits) for job in jobs]


def plan(recipe: Recipe, to: Path, parts: Sequence[str] = ()) -> list[tuple[Download, Path]]:
    """Return the downloads of :func:`fetch` and their paths, without contacting a server."""
    if not recipe.downloads:
        hint = (
            [f"Download the files yourself: {recipe.get}"]
            if recipe.get
            else ["Use ", Command(f"recipe show {recipe.name}"), " to see what it reads"]
        )
        raise KbError(f"Recipe {recipe.name} has no downloads", *hint)
    known = list(dict.fromkeys(download.part for download in recipe.downloads if download.part))
    for part in parts:
        if part not in known:
            raise UnknownNameError("part", part, known, f"recipe {recipe.name}")
    return [(d, to.joinpath(*d.name.split("/"))) for d in recipe.downloads if not (parts and d.part) or d.part in parts]


def _fetch(job: _Job, to: Path, waits: Sequence[float]) -> Fetched:
    """Download one file, unless it exists."""
    _make_folder(job.path.parent, to)
    if job.path.exists():
        problem = _problem(job, job.path)
        if problem:
            raise BadInputError(f"Existing file {job.path} {problem}", "Remove it to download it again")
        if not job.part.exists():
            job.state.unlink(missing_ok=True)
        return Fetched(job.path, job.path.stat().st_size, new=False)
    for path in (job.part, job.state):
        if path.is_symlink():
            raise BadInputError(f"{path} is a symbolic link", "Remove it: downloads do not follow links")
    _try(job, waits)
    problem = _problem(job, job.part)
    if problem:
        job.discard()  # else the next call would resume from it
        hint = "Try again; if the problem persists, a new version was published"
        raise BadInputError(f"The file from {job.download.url} {problem}", hint)
    systems.replace(job.part, job.path)
    job.state.unlink(missing_ok=True)
    return Fetched(job.path, job.path.stat().st_size, new=True)


def _make_folder(folder: Path, to: Path) -> None:
    """Create a folder in ``to``; symbolic links must not lead out of it."""
    to.mkdir(parents=True, exist_ok=True)
    if not folder.resolve().is_relative_to(to.resolve()):
        raise BadInputError(f"{folder} is a link out of {to}", "Remove the symbolic link, or choose another folder")
    folder.mkdir(parents=True, exist_ok=True)


def _problem(job: _Job, path: Path) -> str:
    """Return the problem with a complete file, or an empty string."""
    download = job.download
    if not path.is_file():
        return "is not a file"
    size = path.stat().st_size
    if download.bytes is not None and size != download.bytes:
        return f"has {size:,} bytes instead of {download.bytes:,}"
    if not download.sha256:
        return ""
    digest = hashlib.sha256()
    with path.open("rb") as handle:
        while chunk := handle.read(_CHUNK):
            digest.update(chunk)
            job.progress(f"check {download.name}", handle.tell(), size)
    if digest.hexdigest() != download.sha256:
        return f"has sha256 {digest.hexdigest()} instead of {download.sha256}"
    return ""


def _try(job: _Job, waits: Sequence[float]) -> None:
    """Complete ``NAME.part``, with as many retries as ``waits`` allows."""
    left, best = list(waits), _size(job.part)
    while True:
        try:
            _attempt(job)
        except _TransientError as error:
            if _size(job.part) >= best + _CHUNK:  # each retry receives new data, so this ends
                left, best = list(waits), _size(job.part)
            if not left:
                resumable = _size(job.part) and _read_state(job).validator
                hint = f"Received data is kept. {_RESUME}" if resumable else job.by_hand
                raise KbError(f"{job.download.url}: {error}", hint) from None
            seconds = max(left.pop(0), error.wait)
            if job.tell is not None and seconds:
                job.tell(f"{job.download.name}: {error}; retrying in {seconds:g} s")
            time.sleep(seconds)
        else:
            return


def _attempt(job: _Job) -> None:
    """Send one request for the missing bytes."""
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
    """Return the response after redirects; raise ``HTTPError`` for a status of 300 or higher."""
    url = job.download.url
    for _ in range(_MAX_REDIRECTS + 1):
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
    raise KbError(f"{job.download.url} redirects more than {_MAX_REDIRECTS} times", job.by_hand)


def _redirected(job: _Job, url: str, location: str) -> str:
    """Return the target of a redirect, which must be a web address, and https if the source is."""
    quoted = urllib.parse.quote(location, safe=string.punctuation, encoding="iso-8859-1")
    with contextlib.suppress(ValueError):
        target = urllib.parse.urljoin(url, quoted)
        if recipes.is_web_address(target) and (url.startswith("http:") or target.startswith("https:")):
            return target
    raise KbError(f"Unsafe redirect from {job.download.url} to {location[:200]!r}", job.by_hand)


def _refused(job: _Job, error: urllib.error.HTTPError) -> Exception:
    status = " ".join(f"HTTP status {error.code} {error.reason}".split())[:200]
    if error.code in _TRANSIENT:
        after = error.headers.get("Retry-After", "").strip()
        seconds = int(after) if re.fullmatch(r"[0-9]{1,12}", after) else 0
        if seconds <= _LONGEST_WAIT:
            return _TransientError(status, seconds)
        status += f"; the server asks to wait {seconds:,} s"
        return KbError(f"{job.download.url}: {status}", "Run the same command again later")
    return KbError(f"{job.download.url}: {status}", job.by_hand)


def _unreachable(job: _Job, error: Exception) -> Exception:
    """Return the error for a failed connection; unknown hosts and invalid certificates are not retried."""
    reason = getattr(error, "reason", error)
    if isinstance(reason, (socket.gaierror, ssl.SSLCertVerificationError)):
        return KbError(f"Cannot reach {job.download.url}: {reason}", "Check the network connection")
    return _TransientError(f"connection failed: {reason or type(reason).__name__}")


def _extent(job: _Job, answer: http.client.HTTPResponse, have: int, version: _Version) -> tuple[int, int | None]:
    """Return the byte at which the response starts, and the total bytes of the file if known."""
    if answer.status == 200:
        return 0, answer.length
    if answer.status != 206:
        raise KbError(f"{job.download.url}: unexpected HTTP status {answer.status}", job.by_hand)
    start, total = _content_range(answer.headers.get("Content-Range", ""))
    kind = "ETag" if version.validator.startswith('"') else "Last-Modified"
    same = answer.headers.get(kind, version.validator) == version.validator
    if start != have or not same or (total or version.bytes) != (version.bytes or total):
        job.discard()
        raise _TransientError("the server sent a different range than requested")
    if total is None and answer.length is not None:
        total = version.bytes or have + answer.length
    return have, total


def _range_refused(job: _Job, have: int, version: _Version, content_range: str) -> None:
    """Handle a response that nothing follows the partial file: it is complete, or of another version."""
    _, total = _content_range(content_range)
    if total != have or version.bytes not in (None, have):
        job.discard()
        raise _TransientError(f"the server has no data after byte {have:,}")


def _content_range(text: str) -> tuple[int | None, int | None]:
    """Return the first byte and the total length in a ``Content-Range``, each None if missing."""
    match = _CONTENT_RANGE.fullmatch(text.strip())
    first, total = match.groups() if match else (None, None)
    return None if first is None else int(first), None if total is None else int(total)


def _check_answer(job: _Job, answer: http.client.HTTPResponse, start: int, total: int | None) -> None:
    """Raise, before anything is written, for a wrong size or encoding, or a full disk."""
    download = job.download
    encoding = answer.headers.get("Content-Encoding", "identity").strip().lower()
    # Many servers set this for files that are themselves compressed; the bytes are then those of the file.
    if encoding not in ("", "identity") and not download.name.lower().endswith(_COMPRESSED):
        raise KbError(f"Unsupported content encoding {encoding[:40]!r} from {download.url}", job.by_hand)
    if None not in (total, download.bytes) and total != download.bytes:
        problem = f"{download.url} has {total:,} bytes instead of {download.bytes:,}"
        raise BadInputError(problem, "A new version was published, or this is a different file")
    free = shutil.disk_usage(job.path.parent).free
    if total is not None and total - start > free + (0 if start else _size(job.part)):
        message = f"Not enough disk space for {job.path}: {total - start:,} bytes needed, {free:,} free"
        raise KbError(message, "Free disk space")


def _receive(job: _Job, answer: http.client.HTTPResponse, handle: IO[bytes], total: int | None) -> None:
    """Write the body of the response; raise :class:`_TransientError` if it ends early."""
    name, limit = job.download.name, job.download.bytes
    job.progress(name, handle.tell(), total or limit or 0)
    while chunk := _read(answer):
        if limit is not None and handle.tell() + len(chunk) > limit:
            handle.close()
            job.discard()
            raise BadInputError(f"{job.download.url} sends more than {limit:,} bytes", "Check the size in the recipe")
        handle.write(chunk)
        job.progress(name, handle.tell(), total or limit or 0)
    if total is not None and handle.tell() < total:
        raise _TransientError(f"connection lost after {handle.tell():,} of {total:,} bytes")
    handle.flush()
    systems.sync(handle.fileno())


def _read(answer: http.client.HTTPResponse) -> bytes:
    try:
        return answer.read1(_CHUNK)  # returns partial data, so that nothing is lost
    except (OSError, http.client.HTTPException) as error:
        raise _TransientError(f"connection lost: {error}") from None


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _write_state(job: _Job, answer: http.client.HTTPResponse, total: int | None) -> None:
    """Record the version of the file, so that a later call does not resume with another one."""
    tag, date = answer.headers.get("ETag", ""), answer.headers.get("Last-Modified", "")
    validator = tag if _STRONG_TAG.fullmatch(tag) else date
    text = json.dumps({"url": job.download.url, "validator": validator, "bytes": total})
    job.state.write_text(text, encoding="utf-8", newline="\n")


def _read_state(job: _Job) -> _Version:
    """Return the recorded version of the partial file; empty for another URL or an invalid record."""
    try:
        state = parse_json(job.state.read_text(encoding="utf-8"))
        url, validator, total = state["url"], str(state["validator"]), state["bytes"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return _Version()
    valid = url == job.download.url and (total is None or isinstance(total, int))
    valid = valid and bool(_STRONG_TAG.fullmatch(validator) or _DATE.fullmatch(validator))
    return _Version(validator, total) if valid else _Version()


def _opener() -> urllib.request.OpenerDirector:
    """Return an opener for http and https only, with the system's proxies, without cookies and redirects."""
    opener = urllib.request.OpenerDirector()
    for name in ("ProxyHandler", "HTTPHandler", "HTTPSHandler", "HTTPDefaultErrorHandler", "HTTPErrorProcessor"):
        opener.add_handler(getattr(urllib.request, name)())
    return opener


@contextlib.contextmanager
def _one_line_errors() -> Iterator[None]:
    """Turn errors of the system into :class:`KbError`."""
    try:
        yield
    except KeyboardInterrupt:
        raise InterruptedFetchError("Download interrupted; received data is kept", _RESUME) from None
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise KbError("Disk full; received data is kept", f"Free disk space. {_RESUME}") from error
        raise BadInputError(
            f"Cannot write {error.filename}: {error.strerror}", "Choose another folder with ", Option("output")
        ) from error
