"""What every way of building a generation does: stage, take settings over, publish, and end in errors of one line."""

from __future__ import annotations

import contextlib
import errno
import functools
import importlib.metadata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kbkit.directory import systems
from kbkit.directory.generations import KbDirectory
from kbkit.directory.manifest import Manifest
from kbkit.display.progress import Progress
from kbkit.errors import DISTRIBUTION, BadInputError, InterruptedBuildError, KbError
from kbkit.ingestion import archives
from kbkit.ingestion.archives import Found
from kbkit.stores import table_build, tables, triples
from kbkit.stores.tables import first_line
from kbkit.stores.text import TextSettings
from kbkit.stores.vector_build import VectorSettings

if TYPE_CHECKING:
    import duckdb

_LIBRARIES = ("duckdb", "pyoxigraph", "tantivy", "lancedb", "numpy", "model2vec")


@contextlib.contextmanager
def staging(
    folder: Path, found: Mapping[str, Sequence[Path]], live: Path | None = None, parts: Path | None = None
) -> Iterator[tuple[duckdb.DuckDBPyConnection, Found]]:
    """A database in the building folder that can open the source's files and the KB's own, and no others; and these
    files, unpacked where they stand in archives. The tables in the folder ``live`` are among these, and all that a
    converter writes to the folder ``parts``.
    """
    unpacked = folder / "unpacked"
    local = archives.unpack(found, unpacked)
    con = table_build.connect_staging(folder / "staging.duckdb")
    try:
        given = (path for taken in local.values() for path in taken)
        table_build.allow_only(
            con, [folder, *([live] if live else [])], [folder / triples.QUADS, *given], [parts] if parts else []
        )
        yield con, local
    except BadInputError as error:
        raise BadInputError(archives.original(error.message, found, local), *error.hints) from error
    finally:
        con.close()
        systems.remove_tree(unpacked)
        for path in folder.glob("staging.duckdb*"):
            systems.remove_tree(path) if path.is_dir() else systems.remove(path)


def recorded_settings(manifest: Manifest) -> tuple[TextSettings, VectorSettings]:
    """How text and vectors were built; a store that was left out has the default settings."""
    text, vectors = manifest.stores.get("text"), manifest.stores.get("vectors")
    return (
        TextSettings.recorded(text.settings) if text else TextSettings(),
        VectorSettings.recorded(vectors.settings) if vectors else VectorSettings(),
    )


def publish(directory: KbDirectory, folder: Path, manifest: Manifest, progress: Progress) -> Path:
    """Make the folder the live generation; returns where it is then."""
    progress.report("publish")
    final = directory.publish(folder, manifest, lambda done, total: progress.report("checksums", done, total))
    progress.report("publish", 1, 1)
    return final


def versions() -> dict[str, str]:
    """The versions of kbkit and of what it builds with."""
    return {"kbkit": _version(DISTRIBUTION), **{name: _version(name) for name in _LIBRARIES}}


_version = functools.cache(importlib.metadata.version)


@contextlib.contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn what the system reports while building into errors that a user can read."""
    try:
        yield
    except KeyboardInterrupt:
        raise InterruptedBuildError("stopped", "nothing was changed") from None
    except KbError:
        raise
    except Exception as error:
        text = str(error)
        full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        if full or "No space left" in text or "File too large" in text or "Disk quota" in text:
            raise KbError("the disk is full; nothing was changed", "make room, or name another --out") from error
        if isinstance(error, (OSError, tables.Error)):
            raise BadInputError(f"the build failed: {first_line(error)}") from error
        raise
