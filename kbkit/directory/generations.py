"""The KB directory: generations, CURRENT, manifest, and who holds which of them.

    my.kb/
      CURRENT               name of the live generation, swapped by rename
      build.lock            who builds, while somebody does
      generations/0001/     never changes once CURRENT has named it
      workspace/            what a user adds

A build writes ``generations/0002.building``, which :meth:`KbDirectory.publish` renames to ``0002`` before it swaps
CURRENT. Readers hold a shared lock on the ``lock`` file of their generation, so that nobody removes it under them.
Both locks belong to the process: the system drops them when it dies.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from kbkit.directory import systems
from kbkit.directory.manifest import Manifest
from kbkit.errors import KbError, LockedError, NotAKbError

VOLATILE = {"LOCK", "LOG", "lock", ".tantivy-meta.lock", ".tantivy-writer.lock", "manifest.json"}
"""Files that an engine writes when it opens a store, and our own; they have no checksum."""

_BUILDING = ".building"
_PARTIAL = "partial"
_RETRIES = 50

Progress = Callable[[int, int], object]
"""Hears how much is done, and of how much."""


def _silent(done: int, total: int) -> None:
    """Tell nobody."""


class Pin:
    """A generation held open by a shared lock; ``close`` releases it."""

    def __init__(self, folder: Path, handle: IO[bytes]) -> None:
        self.folder = folder
        self._handle = handle

    def close(self) -> None:
        """Release the generation."""
        self._handle.close()


class KbDirectory:
    """One KB directory, existing or to be."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def current(self) -> str:
        """Name of the live generation; raises :class:`NotAKbError` where there is none."""
        try:
            name = (self.path / "CURRENT").read_text(encoding="ascii").strip()
        except FileNotFoundError:
            what = "is not a KB (it has no file CURRENT)" if self.path.exists() else "does not exist"
            raise NotAKbError(f"{self.path} {what}", "kbkit ingest makes one; kbkit demo makes a sample") from None
        except (OSError, UnicodeDecodeError) as error:
            raise NotAKbError(f"{self.path}: {error}", "name the directory that kbkit ingest wrote") from None
        if not name.isdecimal():
            raise NotAKbError(f"{self.path / 'CURRENT'} names no generation: {name!r}", "it holds a name such as 0001")
        return name

    def exists(self) -> bool:
        """Whether a live generation is here."""
        return (self.path / "CURRENT").is_file()

    def generation(self, name: str) -> Path:
        """Folder of the generation ``name``."""
        return self.path / "generations" / name

    @property
    def partial(self) -> Path:
        """Folder of what a build that was stopped had made of its source; who builds next goes on with it."""
        return self.path / _PARTIAL

    def generations(self) -> list[str]:
        """Names of the finished generations, oldest first."""
        folder = self.path / "generations"
        return sorted((p.name for p in folder.iterdir() if p.name.isdecimal()), key=int) if folder.is_dir() else []

    def pin(self) -> Pin:
        """Hold the live generation. Retries when a build swaps and removes it in between."""
        for _ in range(_RETRIES):
            folder = self.generation(self.current())
            try:
                handle = (folder / "lock").open("rb")
            except FileNotFoundError:
                if folder.name == self.current() and folder.exists():
                    raise NotAKbError(f"{folder / 'lock'} is missing", "put back an empty file of that name") from None
                if folder.name == self.current():
                    break
                continue
            if systems.lock(handle, shared=True) and (folder / "lock").exists():
                return Pin(folder, handle)
            handle.close()
        raise NotAKbError(f"{self.path}: CURRENT names a generation that is not there", "ingest the source again")

    @contextlib.contextmanager
    def building(self, command: str, *, replace: bool) -> Iterator[Path]:
        """Hold the build lock and yield an empty folder for the next generation.

        Refuses a KB that exists without ``replace``, and a folder that holds something else. Left-overs of killed
        builds are removed first. When the block raises, its folder goes, and so does all else that it made: a failed
        build leaves no trace.
        """
        made = self._make_directory()
        try:
            with self._build_lock(command):
                if self.exists() and not replace:
                    raise KbError(f"{self.path} is a KB already", "--replace builds its next generation")
                self._sweep()
                number = max(map(int, self.generations()), default=0) + 1
                folder = self.generation(f"{number:04d}{_BUILDING}")
                folder.mkdir(parents=True)
                (folder / "lock").touch()
                try:
                    yield folder
                finally:
                    systems.remove_tree(folder)  # what was published has another name
        finally:
            self._remove_traces(made)

    def publish(self, folder: Path, manifest: Manifest, progress: Progress = _silent) -> Path:
        """Make the built ``folder`` the live generation: checksums, fsync, rename, swap CURRENT; tidy older ones.

        ``progress`` hears of the bytes that were checked.
        """
        known = manifest.files
        manifest.generation = folder.name.removesuffix(_BUILDING)
        present = _files(folder)
        made = _fingerprints(folder, [name for name in present if not known.get(name)], progress)
        manifest.files = {name: known.get(name) or made[name] for name in present}
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
        self._collect(keep=2)
        return final

    def collect(self) -> list[tuple[str, int]]:
        """Remove all generations but the live one that no reader holds, and left-overs; (name, bytes) of each."""
        self.current()
        with self._build_lock("gc"):
            partial = [(_PARTIAL, _remove_measured(self.partial))] if self.partial.exists() else []
            return partial + self._sweep() + self._collect(keep=1)

    def _make_directory(self) -> list[Path]:
        """Make the directory, parents too; those that were not there, innermost first. Refuses a foreign folder."""
        ours = {"CURRENT", "CURRENT.new", "build.lock", "generations", "workspace", _PARTIAL}
        if self.path.exists() and not self.path.is_dir():
            raise NotAKbError(f"{self.path} is a file", "name a directory that does not exist yet")
        if self.path.exists() and not self.exists():
            foreign = sorted(p.name for p in self.path.iterdir() if p.name not in ours)
            if foreign:
                raise NotAKbError(f"{self.path} holds other files ({foreign[0]})", "name a new or empty directory")
        made = [path for path in (self.path, *self.path.parents) if not path.exists()]
        self.path.mkdir(parents=True, exist_ok=True)
        return made

    def _remove_traces(self, made: list[Path]) -> None:
        """After a build: where there is no KB, remove what building made, as far as it is empty."""
        if self.exists():
            return
        for folder in (self.path / "generations", *made):
            with contextlib.suppress(OSError):  # it is not empty, or was never made
                folder.rmdir()

    @contextlib.contextmanager
    def _build_lock(self, command: str) -> Iterator[None]:
        path = self.path / "build.lock"
        with path.open("a+", encoding="utf-8", newline="\n") as handle:
            if not systems.lock(handle, shared=False) or not systems.same_file(handle, path):
                handle.seek(0)
                holder = handle.read().strip() or "another process"
                raise LockedError(f"{self.path} is being built by {holder}", "wait for it, or stop it")
            handle.truncate(0)
            handle.write(f"process {os.getpid()} on {socket.gethostname()} ({command}, since {now()})")
            handle.flush()
            try:
                yield
            finally:
                handle.truncate(0)
                handle.flush()
                if not self.exists():  # a first build that failed leaves no trace
                    systems.drop_lock(handle, path)

    def _sweep(self) -> list[tuple[str, int]]:
        """Remove what killed builds left: unfinished folders, and generations newer than CURRENT."""
        folder = self.path / "generations"
        live = int(self.current()) if self.exists() else 0
        found = folder.iterdir() if folder.is_dir() else iter(())
        stale = [p for p in found if not p.name.isdecimal() or int(p.name) > live]
        return [(path.name, _remove_measured(path)) for path in sorted(stale)]

    def _collect(self, keep: int) -> list[tuple[str, int]]:
        return [(name, _remove_measured(old)) for name in self.generations()[:-keep] if (old := self._retire(name))]

    def _retire(self, name: str) -> Path | None:
        """Take a generation out of the way, and say where to; None where it is read, or is the live one."""
        folder, doomed = self.generation(name), self.generation(name + ".removed")
        free = systems.rename_unless_locked(folder, doomed, "lock", lambda: name != self.current())
        return doomed if free else None


def now() -> str:
    """The time of day, UTC, to the second, ISO 8601."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def fingerprint(path: Path) -> dict[str, Any]:
    """Size and sha256 of a file; raises :class:`KbError` when it cannot be read."""
    try:
        with path.open("rb") as handle:
            digest = hashlib.file_digest(handle, "sha256").hexdigest()
            return {"bytes": os.fstat(handle.fileno()).st_size, "sha256": digest}
    except OSError as error:
        raise KbError(f"{path} cannot be read: {error.strerror}") from error


def tree_bytes(folder: Path) -> int:
    """Bytes of all files below ``folder``; 0 where it does not exist."""
    return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file())


def link_tree(source: Path, target: Path) -> None:
    """Give ``target`` the files of ``source``: hard links, or copies where links fail."""
    if source.is_dir():
        shutil.copytree(source, target, copy_function=systems.link_or_copy)
    else:
        systems.link_or_copy(str(source), str(target))


def _remove_measured(path: Path) -> int:
    size = tree_bytes(path)
    systems.remove_tree(path)
    return size


def _files(folder: Path) -> list[str]:
    files = (p for p in folder.rglob("*") if p.is_file() and p.name not in VOLATILE)
    return sorted(p.relative_to(folder).as_posix() for p in files)


def _fingerprints(folder: Path, names: Sequence[str], progress: Progress) -> dict[str, dict[str, Any]]:
    """Size and sha256 of each file of a folder; ``progress`` hears of their bytes."""
    total, done, found = sum((folder / name).stat().st_size for name in names), 0, {}
    for name in names:
        progress(done, total)
        found[name] = fingerprint(folder / name)
        done += found[name]["bytes"]
    progress(total, total)
    return found


def check_files(folder: Path, manifest: Manifest, progress: Progress = _silent) -> list[str]:
    """What is wrong with the generation's files, one line each; empty when all checksums hold.

    ``progress`` hears of the bytes that were read, and of how many there are.
    """
    present = set(_files(folder))
    problems = [f"{name} is missing" for name in manifest.files if name not in present]
    problems += [f"{name} is not in the manifest" for name in sorted(present - set(manifest.files))]
    found = _fingerprints(folder, sorted(present & set(manifest.files)), progress)
    return problems + [f"{name} differs from its checksum" for name in found if found[name] != manifest.files[name]]
