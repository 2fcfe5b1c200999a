"""Sources that a converter reads: from their files to parts on disk, and from the parts to tables and quads.

The parts lie in the KB's folder ``partial`` until a generation is published, so that a build that was stopped goes on
where it was.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kbkit.display.progress import Progress
from kbkit.errors import KbError
from kbkit.ingestion.recipe import Recipe
from kbkit.readers import converter
from kbkit.schema import literal, quote
from kbkit.stores.table_build import write_lines

if TYPE_CHECKING:
    import duckdb

    from kbkit.readers.converted import Converted


def convert(
    recipe: Recipe, found: Mapping[str, Sequence[Path]], options: Mapping[str, str], folder: Path, progress: Progress
) -> Converted | None:
    """What the recipe's converter makes of its file, in ``folder``; None for a recipe without one."""
    spec = recipe.converted
    if spec is None:
        return None
    folder.mkdir(exist_ok=True)
    progress.report("read")
    return converter(spec.converter).convert(
        found[spec.name], options, folder, lambda done, total: progress.report("read", done, total)
    )


def estimate(
    recipe: Recipe, found: Mapping[str, Sequence[Path]], options: Mapping[str, str]
) -> Sequence[tuple[str, str]]:
    """(what, figure) for what an ingest would make; raises :class:`KbError` for recipes that cannot tell."""
    spec = recipe.converted
    if spec is None:
        raise KbError(f"recipe {recipe.name} has no estimate", "leave out --dry-run: ingest reads its files at once")
    return converter(spec.converter).estimate(found[spec.name], options)


def create_views(con: duckdb.DuckDBPyConnection, recipe: Recipe, converted: Converted) -> None:
    """Show the parts of each table as one, ``FILE_TABLE`` (``dump_entities``)."""
    assert recipe.converted is not None
    for name, parts in converted.tables.items():
        listed = ", ".join(literal(str(part)) for part in parts)
        con.execute(f"CREATE VIEW {quote(f'{recipe.converted.name}_{name}')} AS FROM read_parquet([{listed}])")


def keep_quads(con: duckdb.DuckDBPyConnection, converted: Converted, path: Path) -> None:
    """Lay the parts of quads end to end in one gzipped file; behind them, once each, what several entities say."""
    path.parent.mkdir()
    if converted.shared:
        listed = ", ".join(literal(str(part)) for part in converted.shared)
        write_lines(con, f"SELECT DISTINCT line FROM read_parquet([{listed}])", path)
    with path.open("ab") as target:
        for part in converted.quads:
            with part.open("rb") as source:
                shutil.copyfileobj(source, target, 1 << 20)
