"""Data frames as sources: they become the Parquet files of the recipe ``table``."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbkit.errors import BadInputError, KbError
from kbkit.ingestion import recipe as recipes
from kbkit.ingestion.recipe import FileSpec

if TYPE_CHECKING:
    import polars as pl

_KEYS = ("key", "head", "tail")
_FRAMES = "Use a polars, pandas or Arrow table, or a mapping to such tables"


def write_frames(folder: Path, nodes: Any, edges: Any = None, texts: Any = None) -> dict[str, Path]:
    """Write the files of the recipe ``table`` and return them by name; see :func:`kbkit.from_frames`."""
    import polars as pl

    specs = {spec.name: spec for spec in recipes.load("table").files}
    tables = {
        "nodes": _joined(nodes, specs["nodes"], lambda key: {"type": _name(key, "nodes")}),
        "edges": _joined(edges, specs["edges"], _signature),
        "texts": _joined(texts, specs["texts"], lambda key: {"field": _name(key, "texts")}),
    }
    if tables["edges"] is None:
        tables["edges"] = pl.DataFrame(schema=dict.fromkeys(("head", "relation", "tail"), pl.String))
    files = {}
    for name, table in tables.items():
        if table is not None:
            files[name] = folder / f"{name}.parquet"
            table.write_parquet(files[name])
    return files


@contextlib.contextmanager
def named(files: Mapping[str, Path]) -> Iterator[None]:
    """Name the tables in the errors of the block, not the temporary files of :func:`write_frames`."""
    try:
        yield
    except BadInputError as error:
        message = error.message
        for name, path in files.items():
            message = message.replace(str(path), name)
        if message == error.message:
            raise
        raise BadInputError(message, *error.hints) from None


def _joined(given: Any, spec: FileSpec, constants: Callable[[Any], dict[str, str]]) -> pl.DataFrame | None:
    """Return one table of a table, or of a mapping; the keys of a mapping become columns of its tables."""
    import polars as pl

    if given is None:
        return None
    if not isinstance(given, Mapping):
        return _prepared(given, spec, {}, spec.name)
    tables = [_prepared(table, spec, constants(key), f"{spec.name}[{key!r}]") for key, table in given.items()]
    if not tables:
        return None
    try:
        return pl.concat(tables, how="diagonal_relaxed")
    except pl.exceptions.PolarsError as error:
        message = f"Columns of {spec.name} have incompatible types: {str(error).splitlines()[0]}"
        raise BadInputError(message, "Rename one of them") from None


def _prepared(given: Any, spec: FileSpec, constants: Mapping[str, str], what: str) -> pl.DataFrame:
    """Return a table with the recipe's names for its columns, and constant columns."""
    import polars as pl

    table = _polars(given, what)
    if objects := [name for name, kind in table.schema.items() if kind == pl.Object]:
        hint = "Convert them to text, numbers, dates or lists"
        raise BadInputError(f"Unsupported values in column {objects[0]!r} of {what}", hint)
    # A column of the name of a constant, such as `type`, is an attribute here.
    table = table.rename(mapping={name: f"{name}_" for name in constants if name in table.columns})
    for name, others in spec.names.items():
        if name not in table.columns and name not in constants and (name in _KEYS or not constants):
            other = next((other for other in others if other in table.columns), None)
            table = table.rename({other: name}) if other else table
    keys = [pl.col(name) for name in _KEYS if name in table.columns]
    for name in (name for name in _KEYS if name in table.columns and table.schema[name].is_nested()):
        raise BadInputError(f"Unsupported values in column {name!r} of {what}", "Use text or numbers")
    whole = [key.name for key in (table[column.meta.output_name()] for column in keys) if _is_whole(key)]
    return table.with_columns(
        pl.col(whole).cast(pl.Int64),
        pl.selectors.categorical().cast(pl.String),
        pl.selectors.duration().dt.total_seconds(fractional=True),
        **{name: pl.lit(value) for name, value in constants.items()},
    ).with_columns(column.cast(pl.String) for column in keys)


def _is_whole(keys: pl.Series) -> bool:
    """Return whether numbers are integers that became floats, as pandas makes them where one is missing."""
    return keys.dtype.is_float() and bool((keys.drop_nulls() % 1 == 0).all())


def _polars(given: Any, what: str) -> pl.DataFrame:
    import polars as pl

    if isinstance(given, pl.LazyFrame):
        given = given.collect()
    if isinstance(given, pl.DataFrame):
        return given
    try:
        if type(given).__module__.partition(".")[0] == "pandas":
            names = [name for name in given.index.names if name is not None]
            return pl.from_pandas(given, include_index=bool(names))
        if hasattr(given, "__arrow_c_stream__"):
            return pl.DataFrame(given)
    except (pl.exceptions.PolarsError, TypeError, ValueError, ImportError) as error:
        raise BadInputError(f"Cannot read {what}: {str(error).splitlines()[0]}", _FRAMES) from None
    raise KbError(f"Invalid {what}: {type(given).__name__}", _FRAMES)


def _name(key: Any, what: str) -> str:
    if not isinstance(key, str) or not key:
        raise KbError(f"Invalid key of {what}: {key!r}", "Use a name")
    return key


def _signature(key: Any) -> dict[str, str]:
    """Return the constant columns of the edges of ``relation`` or ``(head_type, relation, tail_type)``."""
    if isinstance(key, tuple):
        if len(key) != 3:
            raise KbError(f"Invalid key of edges: {key!r}", "Use a relation, or (head_type, relation, tail_type)")
        head_type, relation, tail_type = (_name(part, "edges") for part in key)
        return {"head_type": head_type, "relation": relation, "tail_type": tail_type}
    return {"relation": _name(key, "edges")}
