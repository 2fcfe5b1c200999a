"""Explain what is wrong with a source file, and find the damage that DuckDB passes over."""

from __future__ import annotations

import contextlib
import gzip
import json
import re
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, TYPE_CHECKING

from kbkit.directory.files import parse_json
from kbkit.errors import BadInputError, is_disk_full, shortage
from kbkit.stores.tables import Error, RaisedError, first_line

if TYPE_CHECKING:
    import pyarrow as pa

MAX_LINE = 10_000_000
"""Maximum bytes of a line of CSV or TSV."""
MAX_OBJECT = MAX_LINE
"""Maximum bytes of a JSON object, which is a row; a file may have an object of ``16 * MAX_LINE`` around its rows."""
_CHUNK = 1 << 20
_PROBLEMS = (
    ("bytes exceeded while reading", "JSON too long", f"The maximum of an object is {MAX_OBJECT:,} bytes"),
    ("recursion depth", "JSON nested too deeply", ""),
    ("duplicate key", "Duplicate key", ""),
    ("JSON", "Invalid JSON", "Write one object per line, or one array"),
    ("unterminated quote", "Unterminated quote", "Double the quotes inside a quoted field"),
    ("quote should be followed", "Text after a closing quote", "Double the quotes inside a quoted field"),
    (
        "Maximum line size",
        "Line too long",
        f"The maximum is {MAX_LINE:,} bytes; a quote in an earlier line may be unterminated",
    ),
    ("struct_pack", "Field without a name", "Name all fields of its structs"),
    ("type TUPLE", "Field without a name", "Name all fields of its structs"),
)
"""Phrases of DuckDB's errors, the problems in our words, and the remedies."""


@contextlib.contextmanager
def explained(script: Path, sources: Sequence[Path], unverified: Collection[Path] = ()) -> Iterator[None]:
    """Explain the errors of the block, which reads the sources with the SQL of ``script``; see :func:`source_error`.

    Sources are also verified, except ``unverified`` ones, whose readers do that.
    """
    try:
        with _verified([path for path in sources if path not in unverified]):
            yield
    except (Error, UnicodeDecodeError) as error:  # of a message that quotes bytes
        if is_disk_full(error) or shortage(error):
            raise
        raise source_error(error, script, sources) from error


@contextlib.contextmanager
def _verified(paths: Iterable[Path]) -> Iterator[None]:
    """Look for damage that DuckDB passes over, while the block reads the files.

    It ignores the checksums of gzip, and drops a last line that is much longer than its buffers. Raises
    :class:`BadInputError` after the block.
    """
    stopped = threading.Event()
    with ThreadPoolExecutor(2) as pool:
        try:
            results = [pool.submit(_damage, path, stopped) for path in paths]
            yield
            problem = next(filter(None, (one.result() for one in results)), "")
        finally:
            stopped.set()
    if problem:
        raise BadInputError(problem)


def _damage(path: Path, stopped: threading.Event) -> str:
    name = path.name.lower().removesuffix(".gz")
    if path.suffix.lower() == ".gz":
        return damaged_gzip(path, stopped) or ""
    if name.endswith((".csv", ".tsv", ".tab", ".txt")) and _unended(path) > MAX_LINE:
        return _too_long(path)
    return ""


def _too_long(path: Path) -> str:
    return f"Line longer than {MAX_LINE:,} bytes in {path}"


def _unended(path: Path) -> int:
    """Return the number of bytes after the last line end of a file, except one at its very end, up to the maximum."""
    with path.open("rb") as handle:
        size = handle.seek(0, 2)
        handle.seek(max(0, size - MAX_LINE - 2))
        return len(re.split(rb"[\r\n]", handle.read().rstrip(b"\r\n"))[-1])


def damaged_gzip(path: Path, stopped: threading.Event | None = None) -> str:
    """Return what is wrong with a compressed file, empty if nothing is or it is not compressed."""
    if path.suffix.lower() != ".gz":
        return ""
    is_table = path.name.lower().endswith((".csv.gz", ".tsv.gz", ".tab.gz", ".txt.gz"))
    length = 0
    try:
        with gzip.open(path, "rb") as handle:
            while (chunk := handle.read(_CHUNK)) and not (stopped and stopped.is_set()):
                stripped = chunk.rstrip(b"\r\n")
                end = max(stripped.rfind(b"\n"), stripped.rfind(b"\r"))
                length = len(chunk) - end - 1 if end >= 0 else length + len(chunk)
                if is_table and length > MAX_LINE + _CHUNK:
                    return _too_long(path)
    except (OSError, EOFError, zlib.error) as error:
        return f"Corrupt gzip file {path}: {error}"
    return ""


def source_error(error: Exception, script: Path, sources: Sequence[Path]) -> BadInputError:
    """Explain an error of DuckDB: a problem with a source file, with its line, or with the SQL in ``script``."""
    text = str(error)
    path = next((path for path in sources if str(path) in text), None) or _unreadable(sources, text)
    if path is None:
        raised = isinstance(error, RaisedError)  # by error() in the recipe
        reason = first_line(error)
        return BadInputError(reason.removeprefix("Invalid Input Error: ") if raised else f"{script}: {reason}")
    if problem := damaged_gzip(path):
        return BadInputError(problem)
    if "not utf-8" in text or "invalid unicode" in text.lower() or "Invalid UTF-8" in text:
        return invalid_utf8(path)
    return _in_line(path, text) or BadInputError(f"Cannot read {_place(path, text)}: {first_line(error)}")


def _in_line(path: Path, text: str) -> BadInputError | None:
    """Return the error for a problem that DuckDB describes, with the line."""
    columns = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", text)
    if columns:
        expected, found = int(columns[1]), int(columns[2])
        message = f"{found} column{'s' * (found != 1)} instead of {expected} in {_place(path, text)}"
        few = "Add what is missing, or remove lines that are no rows"
        return BadInputError(message, "Quote fields that contain the delimiter" if found > expected else few)
    if "invalid state" in text and (mixed := mixed_line_ends(path)):
        return mixed
    for phrase, problem, hint in _PROBLEMS:
        if phrase in text:
            where = _bad_line(path, _parse_strictly) if "JSON" in text else _place(path, text)
            return BadInputError(f"{problem} in {where}", *([hint] if hint else []))
    return None


def _place(path: Path, text: str) -> str:
    line = re.search(r"CSV Error on Line: (\d+)", text)
    return f"{path}, line {line[1]}" if line else str(path)


def invalid_utf8(path: Path) -> BadInputError:
    """Return the error for a file that is not UTF-8, with the line."""
    where = _bad_line(path, bytes.decode)
    return BadInputError(f"Invalid UTF-8 in {where}", "Convert it to UTF-8, for example with iconv")


def _unreadable(sources: Iterable[Path], text: str) -> Path | None:
    """Return the first compressed or Parquet file that cannot be read to its end; DuckDB does not always name it."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    for path in sources:
        if damaged_gzip(path):
            return path
        if path.suffix.lower() in (".parquet", ".pq"):
            try:
                with ParquetFile(path) as file:
                    if any(map(_is_nameless, file.schema_arrow)):  # which DuckDB cannot read
                        return path
                    for _ in file.iter_batches():
                        pass
            except (OSError, pa.ArrowException):
                return path
    packed = [path for path in sources if path.suffix.lower() == ".gz"]
    return packed[0] if "GZIP" in text and len(packed) == 1 else None


def _is_nameless(field: pa.Field) -> bool:
    """Return whether a field, or one inside of it, has an empty name."""
    kind = field.type
    return not field.name or any(_is_nameless(kind.field(number)) for number in range(kind.num_fields))


def _opened(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")  # type: ignore[return-value]


def mixed_line_ends(path: Path) -> BadInputError | None:
    """Return the error for a file, with the first line that does not end as the first one does; None without one."""
    first = b""
    with _opened(path) as handle:
        for number, line in enumerate(handle, 1):
            end = b"\r\n" if line.endswith(b"\r\n") else b"\r" if b"\r" in line else b"\n"
            first = first or end
            if end != first:
                problem = f"Mixed line ends in {path}, line {number}"
                return BadInputError(problem, "Convert them to one kind, for example with dos2unix")
    return None


def _parse_strictly(line: bytes) -> None:
    """Parse JSON; raise ``ValueError`` for duplicate keys and unpaired surrogates too."""

    def unique(pairs: list[tuple[str, object]]) -> None:
        for name, count in Counter(name for name, _ in pairs).items():
            if count > 1:
                raise ValueError(name)

    json.dumps(parse_json(line), ensure_ascii=False).encode()
    json.loads(line, object_pairs_hook=unique)


def _bad_line(path: Path, parse: Callable[[bytes], object]) -> str:
    """Return the file and the first line that ``parse`` rejects; DuckDB's own count depends on how it splits files."""
    try:
        with _opened(path) as handle:
            for number, line in enumerate(handle, 1):
                try:
                    if line.strip():
                        parse(line)
                except ValueError:
                    return f"{path}, line {number}"
    except (OSError, EOFError, zlib.error):
        pass
    return str(path)
