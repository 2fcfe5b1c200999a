"""Zip archives as sources: their members are listed like files, and extracted if a recipe reads them.

A member has the path ``ARCHIVE.zip/its/name`` until :func:`unpack` extracts it to the build folder. Archives are
untrusted: only requested members are written, under the last parts of their name to a folder of our own, and never more
bytes than they declare or the disk has space for.
"""

from __future__ import annotations

import contextlib
import functools
import shutil
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from kbkit.errors import BadInputError, reason

_SPARE_BYTES = 1 << 30
"""Disk space to leave free."""
_MAX_MEMBERS = 100_000
_KEPT_PARENTS = 2
"""Folders kept above an extracted member, for recipes that read ids from them."""
_DOWNLOAD_AGAIN = "Download the archive again"

Found = dict[str, list[Path]]


def is_archive(path: Path) -> bool:
    """Return whether a path is a zip archive, judged by its name."""
    return path.suffix.lower() == ".zip" and path.is_file()


def members(archive: Path) -> list[Path]:
    """List the files in an archive as ``archive/its/name``; raise :class:`BadInputError` for an invalid archive."""
    with _open(archive) as opened:
        infos = opened.infolist()
        if len(infos) > _MAX_MEMBERS:
            raise BadInputError(f"Too many files in {archive}: {len(infos):,}", f"The maximum is {_MAX_MEMBERS:,}")
        names = [PurePosixPath(info.filename) for info in infos if not info.is_dir()]
    for name in names:
        if name.is_absolute() or ".." in name.parts or "\0" in str(name):
            raise BadInputError(
                f"Unsafe file name {str(name)!r} in {archive}", "Names must be relative paths inside the archive"
            )
    return [archive.joinpath(*name.parts) for name in names]


def size(path: Path) -> int:
    """Return the size of a file in bytes, or the size that a member of an archive declares."""
    archive = _archive_of(path)
    return path.stat().st_size if archive is None else _infos(archive)[path].file_size


def sources(found: Mapping[str, Sequence[Path]]) -> list[Path]:
    """Return the source files, with archives in place of their members."""
    return list(dict.fromkeys(_archive_of(path) or path for paths in found.values() for path in paths))


def unpack(found: Mapping[str, Sequence[Path]], folder: Path) -> Found:
    """Extract the members among ``found`` below ``folder``; return all paths, other files unchanged."""
    with contextlib.ExitStack() as stack:
        opened: dict[Path, zipfile.ZipFile] = {}
        done: dict[Path, Path] = {}  # several tables may be in one file

        def extracted(path: Path, target: Path) -> Path:
            archive = _archive_of(path)
            if archive is None or path in done:
                return done.get(path, path)
            if archive not in opened:
                opened[archive] = stack.enter_context(_open(archive))
            kept = path.relative_to(archive).parts[-_KEPT_PARENTS - 1 : -1]
            done[path] = _extract(opened[archive], _infos(archive)[path], path, target.joinpath(*kept))
            return done[path]

        return {name: [extracted(p, folder / f"{name}-{i}") for i, p in enumerate(ps)] for name, ps in found.items()}


def original(text: str, found: Mapping[str, Sequence[Path]], unpacked: Mapping[str, Sequence[Path]]) -> str:
    """Replace paths in the build folder by the original ones."""
    for name, paths in found.items():
        for known, ours in zip(paths, unpacked[name], strict=True):
            text = text.replace(str(ours), str(known))
    return text


def _extract(opened: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path, folder: Path) -> Path:
    folder.mkdir(parents=True)
    if info.file_size > shutil.disk_usage(folder).free - _SPARE_BYTES:
        raise BadInputError(f"Not enough disk space to extract {path} ({info.file_size:,} bytes)", "Free disk space")
    try:
        with opened.open(info) as source, (folder / path.name).open("wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
        raise BadInputError(f"Cannot extract {path}: {error}", _DOWNLOAD_AGAIN) from None
    size = (folder / path.name).stat().st_size
    if size != info.file_size:
        raise BadInputError(f"Cannot extract {path}: {size:,} bytes instead of {info.file_size:,}", _DOWNLOAD_AGAIN)
    return folder / path.name


def _archive_of(path: Path) -> Path | None:
    """Return the archive that contains a path, if any."""
    return next((parent for parent in path.parents if is_archive(parent)), None)


def _infos(archive: Path) -> dict[Path, zipfile.ZipInfo]:
    """Return the members of an archive by their paths."""
    status = archive.stat()
    return _read_infos(archive, status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=8)
def _read_infos(archive: Path, *_: int) -> dict[Path, zipfile.ZipInfo]:
    with _open(archive) as opened:
        return {archive.joinpath(*PurePosixPath(one.filename).parts): one for one in reversed(opened.infolist())}


def _open(archive: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(archive)
    except (zipfile.BadZipFile, OSError, ValueError, EOFError, NotImplementedError) as error:
        raise BadInputError(f"Cannot read {archive}: {reason(error)}", _DOWNLOAD_AGAIN) from None
