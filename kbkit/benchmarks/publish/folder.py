"""Write a publication as a folder. The same publication gives the same bytes."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from kbkit.benchmarks.publish import card, croissant
from kbkit.benchmarks.publish.form import (
    CORPUS,
    QRELS,
    QUERIES,
    Publication,
    PublishedTable,
    PublishSettings,
    Retrieval,
    named_safely,
    retrieval_tables,
)
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
class Published:
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
) -> Published:
    """Write the folder ``out``, all of it or nothing. ``licence`` is that of the KB, empty if unknown.

    Raises :class:`KbError` for a folder that has files, unless ``overwrite`` is set and it was published.
    """
    check_place(out, overwrite=overwrite)
    data = publication.retrieval
    if data is not None:
        data = named_safely(data)
        publication = replace(publication, retrieval=data, tables=[*retrieval_tables(data), *publication.tables])
    publication = replace(publication, tables=_with_rows(publication.tables))
    with replacing(out) as aside:
        aside.mkdir()
        done, total = 0, len(publication.tables) + bool(data) + bool(publication.files) + 2
        for table in publication.tables:
            progress(f"table {table.name}", done, total)
            _write_table(table, aside / "data" / table.name)
            done += 1
        if data is not None:
            progress("retrieval files", done, total)
            _write_retrieval(data, aside)
        for name, path in publication.files.items():
            target = aside / ORIGINAL / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        progress("metadata", total - 2, total)
        sums = _checksums(aside)
        _write(aside / "croissant.json", croissant.metadata(publication, settings, licence, sums))
        _write(aside / "README.md", card.readme(publication, settings, licence, sums, speller))
        sums = _checksums(aside)
        _write(aside / SUMS, "".join(f"{one.sha256}  {name}\n" for name, one in sums.items()))
        progress("metadata", total, total)
    rows = {table.name: table.rows for table in publication.tables}
    return Published(out, rows, len(sums) + 1, sum(one.bytes for one in sums.values()))


def check_place(out: Path, *, overwrite: bool) -> None:
    """Raise :class:`KbError` if ``out`` is a file or a folder with files, other than a publication to overwrite."""
    if out.exists() and not out.is_dir():
        raise KbError(f"{out} is a file", "Use a new folder")
    held = sorted(path.name for path in out.iterdir()) if out.is_dir() else []
    if held and not {SUMS, "croissant.json", "README.md"} <= set(held):
        raise KbError(f"{out} contains other files ({held[0]})", "Use a new or empty folder")
    if held and not overwrite:
        raise KbError(f"{out} already contains a published dataset", "Use ", Option("replace"), " to overwrite it")


def _with_rows(tables: Sequence[PublishedTable]) -> list[PublishedTable]:
    """Return the tables without empty splits, which ``datasets`` cannot read. Raises :class:`KbError` if none is left.

    A split without answers is left out of the judgements, as BEIR and ``mteb`` leave out such queries.
    """
    found = [replace(t, splits={name: frame for name, frame in t.splits.items() if frame.height}) for t in tables]
    known = [table for table in found if table.splits]
    if not known or known[0].name != tables[0].name:
        raise KbError("The dataset has no questions with answers", "Make it again with more queries")
    return known


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _checksums(folder: Path) -> dict[str, croissant.FileSum]:
    """Return size and checksum of each file, by its path in the folder."""
    paths = sorted((path.relative_to(folder).as_posix(), path) for path in folder.rglob("*") if path.is_file())
    return {name: croissant.FileSum(path.stat().st_size, _sha256(path)) for name, path in paths if name != SUMS}


def _sha256(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            found.update(block)
    return found.hexdigest()


# -- tables -----------------------------------------------------------------------------------------------------------


def _write_table(table: PublishedTable, folder: Path) -> None:
    import pyarrow.parquet as pq

    folder.mkdir(parents=True)
    for split, frame in table.splits.items():
        pq.write_table(_arrow(frame), folder / f"{split}.parquet", row_group_size=_ROWS, compression="zstd")


def _arrow(frame: pl.DataFrame) -> pa.Table:
    """Return a frame with Arrow's plain types, which all readers know; polars uses the types for large texts."""
    import pyarrow as pa

    plain = {pl.String(): pa.string(), pl.List(pl.String): pa.list_(pa.field("element", pa.string()))}
    schema = pa.schema(
        [
            pa.field(name, plain[kind] if kind in plain else pa.from_numpy_dtype(_NUMPY[kind]))
            for name, kind in frame.schema.items()
        ]
    )
    return frame.to_arrow().cast(schema)


_NUMPY: Mapping[pl.DataType, str] = {pl.Int64(): "int64", pl.Float64(): "float64", pl.Boolean(): "bool"}


# -- files of retrieval programs --------------------------------------------------------------------------------------


def _write_retrieval(data: Retrieval, folder: Path) -> None:
    """Write BEIR's files and TREC's judgements."""
    documents = data.documents.select(_id="id", title="title", text="text")
    documents.write_ndjson(folder / f"{CORPUS}.jsonl")
    data.queries.rename({"id": "_id"}).write_ndjson(folder / f"{QUERIES}.jsonl")
    (folder / "qrels").mkdir()
    [judged] = (table for table in retrieval_tables(data) if table.name == QRELS)
    for split, frame in judged.splits.items():
        if frame.is_empty():
            continue
        frame.write_csv(folder / "qrels" / f"{split}.tsv", separator="\t", quote_style="never")
        trec = frame.select("query-id", pl.lit(0).alias("iteration"), "corpus-id", "score")
        trec.write_csv(folder / "qrels" / f"{split}.txt", separator=" ", include_header=False, quote_style="never")
