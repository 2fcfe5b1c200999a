"""Tables of stages with many rows: JSON lines as in :mod:`kbkit.benchmarks.pipeline`, read and written as frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl

from kbkit.benchmarks.dataset import line_blocks, writing
from kbkit.benchmarks.pipeline import Pipeline, Row, Stage
from kbkit.directory import systems
from kbkit.directory.files import parse_json
from kbkit.errors import BadInputError

_BLOCK = 8 << 20
"""Bytes of a table that are parsed at once."""
_WIDTH = 12
"""Width of the number of rows, which is known at the end."""
_RECOMPUTE = "Delete the file to recompute the stage"


class FrameTable:
    """A stage's table of columns; the first line has the settings and the number of rows."""

    def __init__(self, pipeline: Pipeline, name: str, columns: Mapping[str, Any]) -> None:
        stage: Stage[Row] = Stage(name, Row)
        self.label, self._table = stage.label, pipeline.table(stage)
        self.path, self.columns = self._table.path, dict(columns)

    def write(self, frames: Iterable[pl.DataFrame]) -> int:
        """Write frames one after another, all or none; return the number of rows."""
        aside = self.path.with_name(f".{self.path.name}.new")
        count = 0
        with writing(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with aside.open("wb") as file:
                file.write(self._table.head(0, _WIDTH).encode())
                for frame in frames:
                    frame.select(list(self.columns)).write_ndjson(file)
                    count += frame.height
                file.seek(0)
                file.write(self._table.head(count, _WIDTH).encode())
                file.flush()
                systems.sync(file.fileno())
            systems.replace(aside, self.path)
        return count

    def read(self) -> Iterator[pl.DataFrame]:
        """Yield the table in blocks of whole lines. Raises :class:`BadInputError` with the line that does not fit."""
        count = 0
        with self.path.open("rb") as file:
            expected = self._table.expected_rows(file.readline())
            line = 2
            for block in line_blocks(file, _BLOCK):
                frame = self._parsed(block, line)
                line, count = line + block.count(b"\n"), count + frame.height
                yield frame
        self._table.check_rows(count, expected)

    def _parsed(self, block: bytes, line: int) -> pl.DataFrame:
        try:
            frame = pl.read_ndjson(BytesIO(block), schema=self.columns)
        except (pl.exceptions.PolarsError, ValueError):
            frame = None
        if frame is None or frame.select(pl.any_horizontal(pl.all().is_null().any())).item():
            self._explain(block, line)
        assert frame is not None
        return frame

    def _explain(self, block: bytes, first: int) -> None:
        """Raise an error for the first line that does not fit."""
        for number, text in enumerate(block.splitlines(), first):
            where = f"{self.path}, line {number}"
            try:
                record = parse_json(text)
            except ValueError as error:
                raise BadInputError(f"Invalid JSON in {where}: {error}", _RECOMPUTE) from None
            if not isinstance(record, dict):
                raise BadInputError(f"Expected an object in {where}", _RECOMPUTE)
            for name in self.columns:
                if record.get(name) is None:
                    raise BadInputError(f"Missing field {name!r} in {where}", _RECOMPUTE)
            try:
                pl.read_ndjson(BytesIO(text), schema=self.columns)
            except (pl.exceptions.PolarsError, ValueError) as error:
                raise BadInputError(f"Invalid row in {where}: {error}", _RECOMPUTE) from None
        raise BadInputError(f"Invalid rows in {self.path}, lines {first} and after", _RECOMPUTE)


def read_table(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of any stage's table as JSON data."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise BadInputError(f"Cannot read {path}: {error.strerror or error}") from None
    for number, line in enumerate(lines[1:], 2):
        if line.strip():
            try:
                yield parse_json(line)
            except ValueError as error:
                raise BadInputError(f"Invalid JSON in {path}, line {number}: {error}") from None
