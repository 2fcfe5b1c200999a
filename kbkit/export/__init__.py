"""Export of a KB for other programs: Parquet, CSV, N-Triples or N-Quads, KGTK, STaRK's processed format, arrays.

Everything streams out of DuckDB, so memory does not grow with the graph. An export is written to a temporary path and
renamed when complete. It is a copy of the open generation, and is not updated with the KB.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from kbkit.directory import systems
from kbkit.directory.files import parse_json
from kbkit.directory.generations import tree_bytes
from kbkit.display.progress import Event, Listener
from kbkit.display.render import clean
from kbkit.errors import (
    BadInputError,
    KbError,
    Option,
    QueryError,
    UnknownNameError,
    is_disk_full,
    remedy,
    system_error,
)
from kbkit.export import folder, kgtk, lines, pyg, rebuild, stark
from kbkit.stores.tables import FILE, Error, Tables, first_line

if TYPE_CHECKING:
    from kbkit.stores import Stores

FORMATS = ("parquet", "csv", "ntriples", "kgtk", "stark", "pyg")
_FOLDERS = ("parquet", "csv", "stark", "pyg")

_ENDINGS = {"ntriples": ".nt", "kgtk": ".tsv"}
_OURS = {"nodes", "edges", "texts", "node_types", "schema.json", "recipe.toml", "load.sql", stark.FOLDER}


@dataclass(frozen=True)
class ExportResult:
    """The result of an export; ``bytes`` is 0 if it was written to standard output."""

    out: str
    nodes: int
    edges: int
    texts: int
    bytes: int


def export(
    stores: Stores,
    to: str,
    out: str | os.PathLike[str],
    *,
    flat: bool = False,
    gzip: bool = False,
    replace: bool = False,
    progress: Listener | None = None,
) -> ExportResult:
    """Write the KB to ``out``.

    That is a folder for ``parquet``, ``csv``, ``stark`` and ``pyg`` (NumPy arrays, :mod:`kbkit.export.pyg`), and for
    ``ntriples`` and ``kgtk`` a file (``.nt``, ``.nq`` for KBs from RDF, ``.tsv``; compressed with a further ``.gz``),
    or ``-`` for standard output.

    ``flat`` writes one file each for nodes, edges and texts instead of one per type and relation, and a recipe that
    rebuilds the KB. ``gzip`` compresses CSV. ``out`` must not exist or must be an empty folder; ``replace`` overwrites
    a file or an earlier export. Raises :class:`KbError`, leaving nothing at ``out``.
    """
    if to not in FORMATS:
        raise UnknownNameError("format", to, FORMATS)
    for option, is_set, choices in (("flat", flat, ("parquet", "csv")), ("gzip", gzip, ("csv",))):
        if is_set and to not in choices:
            raise KbError(f"Format {to} has no option '{option}'", f"Use it with {' or '.join(choices)}")
    if not Path(out).absolute().name:
        raise KbError(f"{out} contains other files", "Use a new or empty folder")
    # Nothing but the export and the KB: tables.duckdb may be a stranger's, with views that read other files.
    opened = Tables(stores.folder / FILE, files=[_aside_of(Path(out)) if to in _FOLDERS else stores.folder])
    try:
        with _one_line_errors():
            if to in _FOLDERS:
                size = _folder(stores, opened, Path(out), to, replace, flat, gzip, _teller(progress))
            else:
                size = _lines(stores, opened, str(out), to, replace, _teller(progress))
    finally:
        opened.close()
    texts = sum(field.texts for field in stores.schema.text_fields)
    return ExportResult(str(out), stores.schema.nodes, stores.schema.edges, texts, size)


def _teller(progress: Listener | None) -> folder.Progress:
    def tell(stage: str, done: int, total: int) -> None:
        if progress is not None:
            progress(Event(stage, done, total))

    return tell


# -- a folder ---------------------------------------------------------------------------------------------------------


def _folder(
    stores: Stores, opened: Tables, out: Path, to: str, replace: bool, flat: bool, gzip: bool, tell: folder.Progress
) -> int:
    _check_place(stores, out)
    if out.exists() and not out.is_dir():
        raise KbError(f"{out} is a file, but {to} needs a folder", "Use a new folder")
    if out.is_dir() and (held := sorted(path.name for path in out.iterdir())):
        foreign = [name for name in held if name.split(".")[0] not in _OURS and name not in _OURS]
        if foreign or not _is_export(out):
            raise KbError(f"{out} contains other files ({(foreign or held)[0]})", "Use a new or empty folder")
        if not replace:
            raise KbError(f"{out} already contains an export", "Use ", Option("replace"), " to overwrite it")
    with _aside(out) as place:
        place.mkdir()
        about: dict[str, object] = {"kbkit_export": 1, "format": to}
        if to == "stark":
            about["numbers"] = stark.write(opened, stores.schema, place, tell).as_json()
        elif to == "pyg":
            pyg.write(stores, opened, place, tell)
        else:
            about["layout"] = "flat" if flat else "partitioned"
            _tables(stores, opened, place, folder.FileForm.of(to, gzip=gzip), flat, tell)
        # Last, because a folder without it is not recognized as an export.
        text = json.dumps({**about, "schema": stores.schema.to_json()}, indent=1, ensure_ascii=False)
        (place / "schema.json").write_text(text + "\n", encoding="utf-8", newline="\n")
        return tree_bytes(place)


def _tables(
    stores: Stores, opened: Tables, place: Path, form: folder.FileForm, flat: bool, tell: folder.Progress
) -> None:
    with contextlib.closing(opened.connect()) as connection:
        writer = folder.Writer(opened, connection, form)
        if flat:
            folder.write_flat(writer, stores.schema, place, tell)
            rebuild.write_recipe(stores.schema, stores.manifest.recipe, place, form)
        else:
            folder.write_parts(writer, stores.schema, place, tell)


def _is_export(path: Path) -> bool:
    try:
        return "kbkit_export" in parse_json((path / "schema.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):
        return False


# -- lines ------------------------------------------------------------------------------------------------------------


def _lines(stores: Stores, opened: Tables, out: str, to: str, replace: bool, tell: folder.Progress) -> int:
    def write(handle: IO[bytes]) -> None:
        handle.write(kgtk.HEADER if to == "kgtk" else b"")
        queries = kgtk.queries(opened, stores.schema) if to == "kgtk" else lines.queries(stores.schema, stores.folder)
        lines.write(opened, list(queries), handle, lambda done, total: tell(to, done, total))

    if out == "-":
        write(cast("IO[bytes]", _PlainScreen()) if sys.stdout.isatty() else sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return 0
    path = Path(out)
    ending = ".nq" if to == "ntriples" and stores.schema.rdf_source else _ENDINGS[to]
    if not path.name.lower().endswith((ending, ending + ".gz")):
        why = "A KB from RDF is exported as N-Quads" if ending == ".nq" else f"{to} writes one file"
        raise BadInputError(f"{path} does not end in {ending} or {ending}.gz", why)
    _check_place(stores, path)
    if path.is_dir():
        raise KbError(f"{path} is a folder, but {to} needs a file", "Use a new file")
    if path.exists() and not replace:
        raise KbError(f"{path} already exists", "Use ", Option("replace"), " to overwrite it")
    with _aside(path) as place, lines.opened(place, compress=path.suffix.lower() == ".gz") as handle:
        write(handle)
    return path.stat().st_size


class _PlainScreen(io.RawIOBase):
    """A terminal, which gets no characters that control it."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def write(self, data: Any) -> int:
        """Write UTF-8."""
        return sys.stdout.write(clean(self._decoder.decode(bytes(data))))


# -- both -------------------------------------------------------------------------------------------------------------


def _check_place(stores: Stores, out: Path) -> None:
    if not out.absolute().parent.is_dir():
        raise KbError(f"{out.absolute().parent} does not exist", "Create the folder first")
    if stores.directory.path.resolve() in out.resolve().parents:
        raise KbError(f"{out} is inside the KB", "Use a path outside it")


@contextlib.contextmanager
def _aside(out: Path) -> Iterator[Path]:
    """Yield a temporary path next to ``out`` that is renamed to it when the block succeeds, and removed otherwise."""
    place = _aside_of(out)
    _remove_leftovers(out)
    try:
        yield place
        if out.is_dir():
            systems.swap(place, out)
        else:
            systems.replace(place, out)
    finally:
        systems.remove_tree(place)


def _aside_of(out: Path) -> Path:
    return out.absolute().with_name(f".{out.absolute().name}.{os.getpid()}.exporting")


def _remove_leftovers(out: Path) -> None:
    """Remove what killed exports to the same place left; bring back an earlier export that one of them had moved."""
    ours = re.compile(rf"\.{re.escape(out.absolute().name)}\.([0-9]+)\.exporting(\.former)?")
    for path in out.absolute().parent.iterdir():
        name = ours.fullmatch(path.name)
        if name and (int(name[1]) == os.getpid() or not systems.is_running(int(name[1]))):
            if name[2] and not out.exists():
                systems.rename(path, out)
            else:
                systems.remove_tree(path)


@contextlib.contextmanager
def _one_line_errors() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except (OSError, QueryError, Error) as error:
        if is_disk_full(error):
            raise KbError(
                "Disk full; nothing was written",
                "Free disk space, or choose another path for ",
                Option("output"),
            ) from error
        if isinstance(error, OSError):
            raise KbError(f"Export failed: {system_error(error).message}", remedy(error)) from error
        raise KbError(f"Export failed: {first_line(error)}") from error
