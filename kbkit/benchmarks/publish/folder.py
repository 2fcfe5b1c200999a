"""Write a publication as a folder. The same publication gives the same bytes."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from kbkit.benchmarks.publish import card, croissant
from kbkit.benchmarks.publish.form import (
    CORPUS,
    QUERIES,
    Publication,
    PublishedTable,
    Retrieval,
    RowStream,
    WrittenTable,
    judgements,
    named_safely,
    retrieval_tables,
)
from kbkit.benchmarks.publish.settings import PublishSettings
from kbkit.directory.files import replacing
from kbkit.errors import PYTHON, KbError, Option, Speller

if TYPE_CHECKING:
    import pyarrow as pa

Progress = Callable[[str, int, int], None]
"""Called with (stage, done, total)."""
SUMS = "SHA256SUMS"
ORIGINAL = "original"
"""The folder with the files of the dataset."""
_ROWS = 20_000
"""Rows of a row group: the same on every machine, so that files are too."""
_BLOCK = 1 << 20


@dataclass(frozen=True)
class PublishedFolder:
    """A published folder: the number of its items by configuration, of its files, and their bytes."""

    folder: Path
    rows: Mapping[str, int]
    files: int
    bytes: int


def write_publication(
    publication: Publication,
    out: Path,
    settings: PublishSettings,
    licence: str = "",
    *,
    overwrite: bool = False,
    progress: Progress = lambda *_: None,
    speller: Speller = PYTHON,
) -> PublishedFolder:
    """Write the folder ``out``, all of it or nothing. ``licence`` is that of the KB, empty if unknown.

    Raises :class:`KbError` for a folder that has files, unless ``overwrite`` is set and it was published.
    """
    check_place(out, overwrite=overwrite)
    data = publication.retrieval
    if data is not None:
        data = named_safely(data)
        publication = replace(publication, retrieval=data, tables=[*retrieval_tables(data), *publication.tables])
    with replacing(out) as aside:
        aside.mkdir()
        total = len(publication.tables) + 1
        tables = []
        for done, table in enumerate(publication.tables):
            progress(table.name, done, total)
            tables.append(_write_table(table, aside / "data" / table.name))
        if not tables[0].rows:
            raise KbError("The dataset has no questions with answers", "Make it again with more queries")
        tables = [table for table in tables if table.rows]
        progress("metadata", total - 1, total)
        if data is not None:
            _write_retrieval(data, aside)
        _copy(publication.files, aside / ORIGINAL)
        sums = checksums(aside)
        _write(aside / "croissant.json", croissant.metadata(publication, tables, settings, licence, sums))
        _write(aside / "README.md", card.readme(publication, tables, settings, licence, sums, speller))
        sums |= checksums(aside, ("croissant.json", "README.md"))
        _write(aside / SUMS, "".join(f"{file_sum.sha256}  {name}\n" for name, file_sum in sorted(sums.items())))
        progress("metadata", total, total)
    rows = {table.name: sum(table.rows.values()) for table in tables}
    return PublishedFolder(out, rows, len(sums) + 1, sum(file_sum.bytes for file_sum in sums.values()))


def check_place(out: Path, *, overwrite: bool) -> None:
    """Raise :class:`KbError` if ``out`` is a file or a folder with files, other than a publication to overwrite."""
    if out.exists() and not out.is_dir():
        raise KbError(f"{out} is a file", "Use a new folder")
    held = sorted(path.name for path in out.iterdir()) if out.is_dir() else []
    if held and not {SUMS, "croissant.json", "README.md"} <= set(held):
        raise KbError(f"{out} contains other files ({held[0]})", "Use a new or empty folder")
    if held and not overwrite:
        raise KbError(f"{out} already contains a published dataset", "Use ", Option("replace"), " to overwrite it")


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _copy(files: Mapping[str, Path], folder: Path) -> None:
    for name, path in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)


def checksums(folder: Path, names: Iterable[str] = ()) -> dict[str, croissant.FileSum]:
    """Return size and checksum of some files of a folder (default: all), by their paths in it."""
    paths = [folder / name for name in names] or [path for path in folder.rglob("*") if path.is_file()]
    files = sorted((path.relative_to(folder).as_posix(), path) for path in paths)
    return {name: croissant.FileSum(path.stat().st_size, _sha256(path)) for name, path in files}


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


# -- tables -----------------------------------------------------------------------------------------------------------


def _write_table(table: PublishedTable, folder: Path) -> WrittenTable:
    """Write the splits of a table that have rows: ``datasets`` cannot read a file without any."""
    rows = {}
    for split, data in table.splits.items():
        stream = RowStream(data.schema, lambda own=data: iter([own])) if isinstance(data, pl.DataFrame) else data  # type: ignore[misc]
        path = folder / f"{split}.parquet"
        folder.mkdir(parents=True, exist_ok=True)
        rows[split] = _write_parquet(stream, path)
        if not rows[split]:
            path.unlink()
    schema = next((data.schema for data in table.splits.values()), pl.Schema())
    return WrittenTable(table.name, table.about, table.columns, schema, {name: n for name, n in rows.items() if n})


def _write_parquet(stream: RowStream, path: Path) -> int:
    """Write rows in groups of the same size, however they come; return their number."""
    import pyarrow.parquet as pq

    schema, rows = _plain(stream.schema), 0
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        left = pl.DataFrame(schema=stream.schema)
        for frame in stream.frames():
            left = pl.concat([left, frame]) if left.height else frame
            while left.height >= _ROWS:
                writer.write_table(left.head(_ROWS).to_arrow().cast(schema))
                rows, left = rows + _ROWS, left.slice(_ROWS)
        if left.height:
            writer.write_table(left.to_arrow().cast(schema))
    return rows + left.height


def _plain(schema: pl.Schema) -> pa.Schema:
    """Return Arrow's plain types, which all readers know; polars uses the types for large texts."""
    import pyarrow as pa

    texts = {pl.String(): pa.string(), pl.List(pl.String): pa.list_(pa.field("element", pa.string()))}
    return pa.schema(
        [
            pa.field(name, texts[kind] if kind in texts else pa.from_numpy_dtype(_NUMPY[kind]))
            for name, kind in schema.items()
        ]
    )


_NUMPY: Mapping[pl.DataType, str] = {pl.Int64(): "int64", pl.Float64(): "float64", pl.Boolean(): "bool"}


# -- files of retrieval programs --------------------------------------------------------------------------------------


def _write_retrieval(data: Retrieval, folder: Path) -> None:
    """Write BEIR's files and TREC's judgements."""
    documents = data.documents.select(_id="id", title="title", text="text")
    documents.write_ndjson(folder / f"{CORPUS}.jsonl")
    data.queries.rename({"id": "_id"}).write_ndjson(folder / f"{QUERIES}.jsonl")
    (folder / "qrels").mkdir()
    for split, frame in judgements(data).items():
        frame.write_csv(folder / "qrels" / f"{split}.tsv", separator="\t", quote_style="never")
        trec = frame.select("query-id", pl.lit(0).alias("iteration"), "corpus-id", "score")
        trec.write_csv(folder / "qrels" / f"{split}.txt", separator=" ", include_header=False, quote_style="never")
