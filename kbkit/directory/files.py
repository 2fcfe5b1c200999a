"""Atomic writes: a file is written under a temporary name and then renamed; lines of JSON are appended one by one."""

from __future__ import annotations

import contextlib
import functools
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from kbkit.directory import systems, temporary
from kbkit.errors import system_error

_SUFFIX = ".new"
_BLOCK = 1 << 16

_PATH_LENGTH = 4_096

NAME_LENGTH = 255
"""Maximum bytes of a file name, on all systems."""


def is_path(text: str) -> bool:
    """Return whether a text can be a path: other texts make the functions of a :class:`Path` raise various errors."""
    names = text.encode("utf-8", "surrogatepass").split(b"/")
    return "\0" not in text and len(text) < _PATH_LENGTH and max(map(len, names)) <= NAME_LENGTH


def is_folder(text: str) -> bool:
    """Return whether a text is the path of a folder."""
    return is_path(text) and Path(text).is_dir()


def is_file(text: str) -> bool:
    """Return whether a text is the path of a file."""
    return is_path(text) and Path(text).is_file()


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to ``path``, and rename it to ``path`` when the block succeeds.

    The block creates a file or folder there, so that readers see the old version or the new one, never a part. If it
    fails, the temporary file is removed and ``path`` is unchanged. Parent folders are created, links are followed, and
    a pipe or a device is written directly. What killed processes left in the folder is deleted.
    Raises :class:`KbError` if a file cannot be written.
    """
    target = path.resolve() if path.is_symlink() else path
    if target.exists() and not (target.is_file() or target.is_dir()):  # a pipe or a device
        yield target
        return
    aside = target.with_name(temporary.unique_name(".", _SUFFIX))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _tidy(target.parent.resolve())
        yield aside
        if aside.is_dir() and target.is_dir():
            systems.swap(aside, target)
        else:
            systems.replace(aside, target)
    except OSError as error:
        raise system_error(error, f"Cannot write {path}") from None
    finally:
        with contextlib.suppress(OSError):
            systems.remove_tree(aside)


@functools.lru_cache(1024)  # once for each folder, because a process may write many files to it
def _tidy(folder: Path) -> None:
    with contextlib.suppress(OSError):
        remove_unfinished(folder)


def remove_unfinished(folder: Path) -> list[Path]:
    """Delete the temporary files that killed processes left in a folder; return their paths."""
    left = list(temporary.abandoned(folder, ".", _SUFFIX))
    for path in left:
        systems.remove_tree(path)
    return left


def write_files(files: Mapping[Path, str | bytes]) -> None:
    """Write files, text as UTF-8, and rename them in order once all are written.

    Raises :class:`KbError` if one cannot be written; then none of the files changes.
    """
    with contextlib.ExitStack() as stack:
        for path, content in reversed(list(files.items())):  # the stack renames the last one first
            temporary = stack.enter_context(replacing(path))
            temporary.write_bytes(content.encode() if isinstance(content, str) else content)


def parse_json(text: str | bytes) -> Any:
    """Parse JSON; unlike :func:`json.loads`, raise :class:`json.JSONDecodeError` for all that it cannot parse."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise json.JSONDecodeError("Nested too deeply", "", 0) from None
    except ValueError as error:  # a number of too many digits, or invalid UTF-8
        raise json.JSONDecodeError(str(error).partition(";")[0], "", 0) from error


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML; unlike :func:`tomllib.loads`, raise :class:`tomllib.TOMLDecodeError` for all that it cannot parse."""
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise tomllib.TOMLDecodeError("Nested too deeply") from None
    except ValueError as error:  # a number of too many digits
        raise tomllib.TOMLDecodeError(str(error).partition(";")[0]) from error


def append_json(path: Path, *values: Any) -> None:
    """Append lines of JSON to a file in one write, on disk before returning; an incomplete last line is removed."""
    added = "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values).encode()
    with path.open("ab+") as file:
        last = _unended_line(file)
        whole = whole_lines(last)
        if len(whole) < len(last):
            file.truncate(file.seek(0, os.SEEK_END) - len(last))
        file.write(whole[len(last) :] + added)
        file.flush()
        systems.sync(file.fileno())


def _unended_line(file: IO[bytes]) -> bytes:
    """Return what follows the last line break of a file."""
    start, last = file.seek(0, os.SEEK_END), b""
    while start and b"\n" not in last:
        length = min(start, _BLOCK)
        start = file.seek(start - length)
        last = file.read(length) + last
    return last[last.rfind(b"\n") + 1 :]


def whole_lines(text: bytes) -> bytes:
    """Return lines of JSON without a last one that a killed writer left incomplete."""
    cut = text.rfind(b"\n") + 1
    try:
        parse_json(text[cut:])
    except ValueError:
        return text[:cut]
    return text + b"\n"
