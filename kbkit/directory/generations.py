"""The KB directory: generations, their publication, and locks.

    my.kb/
      CURRENT               name of the live generation, replaced by rename
      build.lock            lock file of a running build
      generations/0001/     never changes after it is published
      workspace/            user data

A build writes ``generations/0002.building``, which :meth:`KbDirectory.publish` renames to ``0002`` before it replaces
CURRENT. Readers hold a shared lock on the ``lock`` file of their generation, so that it is not deleted while in use.
The operating system releases both locks when their process ends.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

from kbkit.directory import forks, limits, systems, temporary
from kbkit.directory.damage import check_plain
from kbkit.directory.files import remove_unfinished
from kbkit.directory.manifest import FileRecord, Manifest, SourceRecord
from kbkit.errors import Command, KbError, LockedError, NotAKbError, Option, reason, shortage, system_error

VOLATILE = {"LOCK", "LOG", "lock", ".tantivy-meta.lock", ".tantivy-writer.lock", "manifest.json"}
"""Lock files, the manifest, and files that engines write when they open a store; they have no checksums."""

_BUILDING = ".building"
_PARTIAL = "partial"
_PARTS = ("CURRENT", "CURRENT.new", "build.lock", "generations", "workspace", _PARTIAL)
_LEFT = re.compile(r"([0-9]+)(\.building|\.removed)?")
"""Names of generations, and of folders that interrupted builds and deletions leave."""
_FOREIGN = frozenset((".DS_Store", "Thumbs.db", "desktop.ini"))
"""Files that the desktops of macOS and Windows put into any folder."""
_RETRIES = 50

Progress = Callable[[int, int], object]
"""Called with the amount done and the total."""


def _no_progress(done: int, total: int) -> None:
    """Ignore progress."""


class Pin:
    """A generation protected by a shared lock until ``close``."""

    def __init__(self, folder: Path, handle: IO[bytes]) -> None:
        self.folder = folder
        self._handle = handle

    def close(self) -> None:
        """Release the generation."""
        self._handle.close()


_UNSUPPORTED = re.compile(r"[\x00-\x1f\x7f]" if systems.WINDOWS else r"[\x00-\x1f\x7f\\]")
"""LanceDB rejects control characters in paths, and DuckDB takes backslashes for separators."""


class KbDirectory:
    """A KB directory, which may not exist yet."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        limits.check_limits()
        self.path = Path(path)
        if found := _UNSUPPORTED.search(str(self.path.absolute())):
            raise NotAKbError(f"Unsupported character {found[0]!r} in the path {str(self.path)!r}", "Rename the folder")

    def current(self) -> str:
        """Return the name of the live generation, or raise :class:`NotAKbError`."""
        check_plain(self.path / "CURRENT")
        try:
            name = (self.path / "CURRENT").read_text(encoding="ascii").strip()
        except (FileNotFoundError, NotADirectoryError):
            what = "does not exist"
            if self.path.exists():
                what = f"is not a KB: it {'has no file CURRENT' if self.path.is_dir() else 'is a file'}"
            raise NotAKbError(
                f"{self.path} {what}",
                "Run ",
                Command("ingest"),
                " to build a KB, or ",
                Command("demo"),
                " for a sample",
            ) from None
        except (OSError, UnicodeDecodeError) as error:
            other = NotAKbError(
                f"{self.path} is not a KB: {reason(error)}", "Use a directory built by ", Command("ingest")
            )
            raise shortage(error) or other from None
        if not name.isdecimal():
            raise NotAKbError(
                f"Invalid generation {name!r} in {self.path / 'CURRENT'}", "The file must contain a name such as 0001"
            )
        return name

    def check_plain(self, generation: Path | None = None) -> None:
        """Raise :class:`NotAKbError` if a part of the directory, or of a generation, is a link or no regular file."""
        check_plain(*(self.path / name for name in _PARTS))
        if generation is not None:
            check_plain(generation, *(generation / name for name in ("lock", "manifest.json")))

    def exists(self) -> bool:
        """Return whether the directory has a live generation."""
        return (self.path / "CURRENT").is_file()

    def generation(self, name: str) -> Path:
        """Return the folder of the generation ``name``."""
        return self.path / "generations" / name

    @property
    def partial(self) -> Path:
        """Folder with the intermediate results of an interrupted build, which the next build resumes."""
        return self.path / _PARTIAL

    def generations(self) -> list[str]:
        """Return the names of the published generations, oldest first."""
        folder = self.path / "generations"
        names = (p.name for p in folder.iterdir() if p.name.isdecimal() and p.is_dir()) if folder.is_dir() else ()
        return sorted(names, key=int)

    def pin(self, generation: str = "") -> Pin:
        """Lock a generation for reading, by default the live one. Retries if a build replaces and deletes it."""
        for _ in range(_RETRIES):
            folder = self.generation(generation or self.current())
            self.check_plain(folder)
            try:
                handle = (folder / "lock").open("rb")
            except FileNotFoundError:
                if generation and not folder.exists():
                    raise NotAKbError(
                        f"{self.path} has no generation {generation} any more",
                        "Keep the KB open in the process that pickled it, or pickle it again",
                    ) from None
                if folder.name == self.current() and folder.exists():
                    raise NotAKbError(f"{folder / 'lock'} is missing", "Create an empty file of that name") from None
                if folder.name == self.current():
                    break
                continue
            except OSError as error:
                other = NotAKbError(f"Cannot read {folder / 'lock'}: {reason(error)}", "Ingest the source again")
                raise shortage(error) or other from None
            if systems.lock(handle, shared=True) and (folder / "lock").exists():
                return Pin(folder, handle)
            handle.close()
        raise NotAKbError(f"The live generation of {self.path} is missing", "Ingest the source again")

    @contextlib.contextmanager
    def building(self, command: str, *, replace: bool) -> Iterator[Path]:
        """Hold the build lock and yield an empty folder for the next generation.

        Raises :class:`KbError` if the KB exists, unless ``replace`` is set, or if the folder contains other files.
        Leftovers of interrupted builds are deleted first. If the block fails, everything it created is deleted.
        """
        forks.check()
        created = self._create_directory()
        try:
            with self._build_lock(command):
                if self.exists() and not replace:
                    raise KbError(
                        f"{self.path} already exists", "Use ", Option("replace"), " to build its next generation"
                    )
                self._delete_leftovers()
                number = max(map(int, self.generations()), default=0) + 1
                folder = self.generation(f"{number:04d}{_BUILDING}")
                folder.mkdir(parents=True)
                (folder / "lock").touch()
                try:
                    yield folder
                finally:
                    systems.remove_tree(folder)  # a published folder has another name
        finally:
            self._delete_empty(created)

    def publish(self, folder: Path, manifest: Manifest, progress: Progress = _no_progress) -> Path:
        """Publish the built ``folder`` as the live generation, and delete all but the last two generations.

        Computes checksums, syncs, renames the folder and replaces CURRENT. ``progress`` reports the bytes hashed.
        """
        known = manifest.files
        manifest.generation = folder.name.removesuffix(_BUILDING)
        present = _files(folder)
        new = _fingerprints(folder, [name for name in present if not known.get(name)], progress)
        # A file that was missing before is still missing.
        manifest.files = {**known, **{name: known.get(name) or new[name] for name in present}}
        manifest.write(folder)
        systems.sync_tree(folder)
        final = folder.with_name(manifest.generation)
        systems.rename(folder, final)
        systems.sync_path(final.parent)
        swap = self.path / "CURRENT.new"
        swap.write_text(manifest.generation + "\n", encoding="ascii", newline="\n")
        systems.sync_path(swap)
        systems.replace(swap, self.path / "CURRENT")
        systems.sync_path(self.path)
        self._delete_generations(keep=2)
        return final

    def collect(self) -> list[tuple[str, int]]:
        """Delete unused generations and leftovers of interrupted builds; return the (name, bytes) of each."""
        self.current()
        with self._build_lock("gc"):
            self._delete_temporary()
            partial = [(_PARTIAL, _remove_measured(self.partial))] if self.partial.exists() else []
            return partial + self._delete_leftovers() + self._delete_generations(keep=1)

    def _create_directory(self) -> list[Path]:
        """Create the directory, and return the folders created, innermost first. Raises for a folder of other files."""
        if self.path.exists() and not self.path.is_dir():
            raise NotAKbError(f"{self.path} is a file", "Use a new or empty directory")
        if self.path.exists() and not self.exists():
            foreign = sorted(p.name for p in self.path.iterdir() if p.name not in _FOREIGN.union(_PARTS))
            if foreign:
                raise NotAKbError(f"{self.path} contains other files ({foreign[0]})", "Use a new or empty directory")
        created = [path for path in (self.path, *self.path.parents) if not path.exists()]
        self.path.mkdir(parents=True, exist_ok=True)
        return created

    def _delete_empty(self, created: list[Path]) -> None:
        """Delete the empty folders that a failed first build created."""
        if self.exists():
            return
        for folder in (self.path / "generations", *created):
            with contextlib.suppress(OSError):  # not empty, or never created
                folder.rmdir()

    @contextlib.contextmanager
    def _build_lock(self, command: str) -> Iterator[None]:
        self.check_plain()
        path = self.path / "build.lock"
        with path.open("a+b", buffering=0) as handle:  # else what a full disk rejects is written again on closing
            if not systems.lock(handle, shared=False) or not systems.same_file(handle, path):
                handle.seek(0)
                holder = handle.read().decode("utf-8", "replace").strip() or "another process"
                raise LockedError(f"{self.path} is being built by {holder}", "Wait until it ends, or stop it")
            try:
                handle.truncate(0)
                handle.write(f"process {os.getpid()} on {socket.gethostname()} ({command}, since {now()})".encode())
                yield
            finally:
                handle.truncate(0)
                if not self.exists():  # a failed first build leaves no files
                    systems.drop_lock(handle, path)

    def _delete_leftovers(self) -> list[tuple[str, int]]:
        """Delete unfinished folders and generations newer than CURRENT, which interrupted builds leave."""
        folder = self.path / "generations"
        live = int(self.current()) if self.exists() else 0
        found = ((p, _LEFT.fullmatch(p.name)) for p in folder.iterdir()) if folder.is_dir() else ()
        stale = [p for p, name in found if name and p.is_dir() and (name[2] or int(name[1]) > live)]
        return [(path.name, _remove_measured(path)) for path in sorted(stale)]

    def _delete_temporary(self) -> None:
        """Delete temporary files of killed processes: of the user's data, and of queries that spilled."""
        workspace = self.path / "workspace"
        for folder in (workspace, *(path for path in workspace.rglob("*") if path.is_dir())):
            remove_unfinished(folder)
        temporary.remove_abandoned()

    def _delete_generations(self, keep: int) -> list[tuple[str, int]]:
        return [(name, _remove_measured(old)) for name in self.generations()[:-keep] if (old := self._retire(name))]

    def _retire(self, name: str) -> Path | None:
        """Rename a generation for deletion and return its new path; None if it is in use or the live one."""
        folder, retired = self.generation(name), self.generation(name + ".removed")
        free = systems.rename_unless_locked(folder, retired, "lock", lambda: name != self.current())
        return retired if free else None


def now() -> str:
    """Return the current time in UTC, to the second, in ISO 8601."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def fingerprint(path: Path) -> FileRecord:
    """Return size and SHA-256 of a file; raise :class:`KbError` if it cannot be read."""
    try:
        with path.open("rb") as handle:
            digest = hashlib.file_digest(handle, "sha256").hexdigest()
            return {"bytes": os.fstat(handle.fileno()).st_size, "sha256": digest}
    except OSError as error:
        raise system_error(error, f"Cannot read {path}") from error


def source_record(path: Path, *, update: bool = False) -> SourceRecord:
    """Return the manifest's record of a source file, or of a file of an update."""
    found = fingerprint(path)
    record: SourceRecord = {"name": path.name, "bytes": found["bytes"], "sha256": found["sha256"]}
    return {**record, "update": True} if update else record


def tree_bytes(folder: Path) -> int:
    """Return the bytes of all files below ``folder``, 0 if it does not exist."""
    return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())


def link_tree(source: Path, target: Path) -> None:
    """Create ``target`` with the files of ``source``, as hard links if possible, else as copies."""
    if source.is_dir():
        shutil.copytree(source, target, copy_function=systems.link_or_copy)
    else:
        systems.link_or_copy(str(source), str(target))


def _remove_measured(path: Path) -> int:
    size = tree_bytes(path)
    systems.remove_tree(path)
    return size


def _files(folder: Path) -> list[str]:
    """Return the files of a generation that have checksums, by path; links are files."""
    files = (p for p in folder.rglob("*") if (p.is_symlink() or p.is_file()) and p.name not in VOLATILE | _FOREIGN)
    return sorted(p.relative_to(folder).as_posix() for p in files)


def _fingerprints(folder: Path, names: Sequence[str], progress: Progress) -> dict[str, FileRecord]:
    """Return size and SHA-256 of files of a folder; ``progress`` reports bytes."""
    total, done, found = sum((folder / name).stat().st_size for name in names), 0, {}
    for name in names:
        progress(done, total)
        found[name] = fingerprint(folder / name)
        done += found[name]["bytes"]
    progress(total, total)
    return found


def check_files(folder: Path, manifest: Manifest, progress: Progress = _no_progress) -> list[str]:
    """Return the problems of a generation's files, one line each; empty if all checksums match.

    ``progress`` reports the bytes read.
    """
    present = set(_files(folder))
    links = sorted(name for name in present if (folder / name).is_symlink())
    problems = [f"{name} is a link" for name in links]
    problems += [f"{name} is missing" for name in manifest.files if name not in present]
    problems += [f"{name} is not in the manifest" for name in sorted(present - set(manifest.files))]
    known = sorted((present & set(manifest.files)).difference(links))
    total, done = sum((folder / name).stat().st_size for name in known), 0
    for name in known:
        progress(done, total)
        done += (folder / name).stat().st_size
        try:
            if fingerprint(folder / name) != manifest.files[name]:
                problems.append(f"{name} differs from its checksum")
        except KbError as error:
            problems.append(error.message)
    progress(total, total)
    return problems
