"""Helpers for the datasets of all benchmarks: ``dataset.json``, splits, bins of counts, names of runs, write errors."""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import polars as pl

from kbkit.errors import BadInputError, KbError, reason
from kbkit.measures.records import content, load_json

SPLITS = ("train", "val", "test")
QUERIES = "queries.jsonl"
"""Everything that kbkit knows about each query of a dataset that it generated."""
ABOUT = "dataset.json"
"""The settings of the dataset and a report."""
Bin = tuple[int, int | None]
"""The first and the last number of a bin; None: no upper end."""


def assign(count: int, fractions: Mapping[str, float], rng: np.random.Generator) -> list[str]:
    """Assign ``count`` queries to splits at random. Sizes are rounded by largest remainder, so that they add up.

    Raises :class:`KbError` as :func:`check_fractions` does.
    """
    check_fractions(list(fractions.values()))
    exact = np.array(list(fractions.values()), np.float64) * count
    sizes = np.floor(exact + 1e-9).astype(int)
    for position in np.argsort(sizes - exact, kind="stable")[: count - sizes.sum()]:
        sizes[position] += 1
    return [str(split) for split in rng.permutation(np.repeat(np.array(list(fractions), object), sizes))]


def check_fractions(fractions: Sequence[float]) -> None:
    """Raise :class:`KbError` for fractions that are negative or do not add up to 1."""
    values = np.array(fractions, np.float64)
    if not np.isfinite(values).all() or (values < 0).any() or abs(values.sum() - 1) > 1e-9:
        shown = ", ".join(f"{fraction:g}" for fraction in fractions)
        raise KbError(f"Invalid split fractions: {shown}", "Use fractions that add up to 1, for example 0.6,0.2,0.2")


def bin_counts(values: Sequence[int], bins: Sequence[Bin]) -> list[tuple[str, int, float | None]]:
    """Count values by bin, empty bins included: label (``3-4``, ``21+``), count, fraction (None without values)."""
    counts: list[tuple[str, int, float | None]] = []
    for low, high in bins:
        count = sum(low <= value and (high is None or value <= high) for value in values)
        label = f"{low}+" if high is None else str(low) if low == high else f"{low}-{high}"
        counts.append((label, count, count / len(values) if values else None))
    return counts


def distribution(
    groups: Iterable[tuple[tuple[str, ...], Sequence[int]]], bins: Sequence[Bin], columns: Sequence[str]
) -> pl.DataFrame:
    """Return the values of each group by bin, as :func:`bin_counts` does.

    A group is a name of one or more parts, and its values. ``columns`` are those of the group, of the bin, and of the
    count; the fraction is the column ``share``.
    """
    rows = [(*group, *counted) for group, values in groups for counted in bin_counts(values, bins)]
    *texts, count = columns
    schema = {**dict.fromkeys(texts, pl.String), count: pl.Int64, "share": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def run_names(paths: Sequence[Path]) -> list[str]:
    """Return a name for each file: its stem, or its whole path if several files have the same stem."""
    stems = Counter(path.stem for path in paths)
    return [path.stem if stems[path.stem] == 1 else str(path) for path in paths]


def json_lines(records: Iterable[object]) -> str:
    """Return records as JSON lines."""
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def read_about(folder: Path) -> dict[str, Any]:
    """Return the ``dataset.json`` of a folder, empty if there is none or another program wrote it.

    Raises :class:`BadInputError` for a file that is not JSON.
    """
    path = folder / ABOUT
    about = load_json(content(path).decode(), str(path)) if path.is_file() else None
    return about if isinstance(about, dict) else {}


@contextlib.contextmanager
def read_fast(path: Path, strict: Callable[[], Iterable[object]]) -> Iterator[None]:
    """Turn an error of polars into that of the ``strict`` reader of a file, which is slower and words what is wrong."""
    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as error:
        check_strictly(strict)
        raise BadInputError(f"Cannot read {path}: {reason(error)}") from None


def check_strictly(strict: Callable[[], Iterable[object]]) -> None:
    """Read with the ``strict`` reader for its errors."""
    for _ in strict():
        pass


def line_blocks(file: BinaryIO, size: int) -> Iterator[bytes]:
    """Yield the lines of a file in blocks of at least ``size`` bytes, which fit in memory with what is read of them."""
    while block := file.read(size):
        yield block + file.readline()


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an :class:`OSError` into a :class:`KbError` that names the file."""
    try:
        yield
    except OSError as error:
        raise KbError(f"Cannot write {error.filename or path}: {error.strerror or error}") from None


def check_output_file(path: Path) -> None:
    """Raise :class:`KbError` for a file that cannot be written."""
    if not path.absolute().parent.is_dir():
        raise KbError(f"{path.absolute().parent} does not exist", "Create the folder first")
    if path.is_dir():
        raise KbError(f"{path} is a folder", "Use a file")
    writable = os.access(path, os.W_OK) if path.exists() else os.access(path.absolute().parent, os.W_OK | os.X_OK)
    if not writable:
        raise KbError(f"Cannot write {path}: Permission denied", "Use another file")
