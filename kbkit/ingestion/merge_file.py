"""Read decisions on pairs of nodes: a frame, or a file of one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbkit.errors import BadInputError, reason
from kbkit.ingestion.merging import PairDecision

if TYPE_CHECKING:
    import polars as pl

_NEEDED = ("type", "key", "other_key", "decision")


def read_decisions(path: Path) -> list[PairDecision]:
    """Return the decisions of a file with the columns ``type``, ``key``, ``other_key`` and ``decision``.

    Raises :class:`BadInputError` for another file.
    """
    import polars as pl

    def delimited(sign: str) -> pl.DataFrame:
        return pl.read_csv(path, infer_schema=False, separator=sign)

    readers = {
        ".csv": lambda: delimited(","),
        ".tsv": lambda: delimited("\t"),
        ".parquet": lambda: pl.read_parquet(path),
        ".json": lambda: pl.read_json(path),
        **dict.fromkeys((".jsonl", ".ndjson"), lambda: pl.read_ndjson(path)),
    }
    if path.suffix.lower() not in readers:
        raise BadInputError(f"Unsupported file type: {path}", f"Use one of {', '.join(readers)}")
    try:
        frame = readers[path.suffix.lower()]()
    except (OSError, pl.exceptions.PolarsError) as error:
        text = reason(error) if isinstance(error, OSError) else str(error).splitlines()[0]
        raise BadInputError(f"Cannot read {path}: {text}") from None
    return decided(frame, str(path))


def decided(frame: Any, where: str) -> list[PairDecision]:
    """Return the decisions of a frame; rows without one are left out. Raises :class:`BadInputError` for another frame.

    ``where`` names the frame in messages.
    """
    import polars as pl

    frame = frame if isinstance(frame, pl.DataFrame) else pl.DataFrame(frame)
    for name in (name for name in _NEEDED if name not in frame.columns):
        raise BadInputError(f"Missing column {name!r} in {where}", f"Use the columns {', '.join(_NEEDED)}")
    rows = frame.select(pl.col(name).cast(pl.String).fill_null("").str.strip_chars() for name in _NEEDED)
    rows = rows.with_row_index("row", 1).filter(pl.col("decision") != "")
    return [
        PairDecision(kind, key, other, decision.lower(), f"row {row} of {where}")
        for row, kind, key, other, decision in rows.iter_rows()
    ]
