"""DuckDB over the parts of a conversion."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb

from kbkit.directory import systems

_MEMORY = "1GB"


def connect(folder: Path) -> duckdb.DuckDBPyConnection:
    """A database without a file, that spills into the folder and fetches no extension."""
    return duckdb.connect(
        config={
            "memory_limit": _MEMORY, "temp_directory": str(folder / "spill"),
            "autoinstall_known_extensions": "false", "autoload_known_extensions": "false",
        }
    )  # fmt: skip


def literal(text: object) -> str:
    """An SQL string literal."""
    return "'" + str(text).replace("'", "''") + "'"


def files(folders: Sequence[Path], table: str) -> str:
    """What DuckDB reads as one table: that of each part, in order."""
    return parquet([folder / f"{table}.parquet" for folder in folders])


def parquet(paths: Sequence[Path]) -> str:
    """What DuckDB reads as one table: these files, in order."""
    return f"read_parquet([{', '.join(map(literal, paths))}])"


def copy(con: duckdb.DuckDBPyConnection, query: str, target: Path) -> None:
    """Write a query's rows to a Parquet file, whole or not at all."""
    new = target.with_name(target.name + ".new")
    con.execute(f"COPY ({query}) TO {literal(new)} (FORMAT parquet, COMPRESSION zstd)")
    systems.replace(new, target)


def write_lines(con: duckdb.DuckDBPyConnection, query: str, target: Path) -> None:
    """Write a query's one text column to a gzipped file, a line each, without quoting; whole or not at all."""
    new = target.with_name(target.name + ".new")
    con.execute(
        f"COPY ({query}) TO {literal(new)} (FORMAT csv, HEADER false, QUOTE '', ESCAPE '', DELIMITER '\x01',"
        " COMPRESSION gzip)"
    )
    systems.replace(new, target)
