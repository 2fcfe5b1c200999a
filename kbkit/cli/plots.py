"""The option ``--plot``, the same for every command that draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.errors import plural

if TYPE_CHECKING:
    from kbkit.display.charts import Chart


def _checked(path: Path | None) -> Path | None:
    """Refuse, before any work, a file that cannot be written when it is done."""
    if path is not None:
        from kbkit.display import charts

        charts.check(path)
    return path


Plot = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", callback=_checked, help="Draw the figures: .html, .svg or .png."),
]


def draw(context: typer.Context, path: Path | None, charts: Callable[[], Sequence[Chart]]) -> None:
    """Draw ``charts()`` to ``path``, and say so; nothing where none was asked for."""
    if path is None:
        return
    from kbkit.display.charts import write
    from kbkit.display.render import clean

    drawn = charts()
    write(drawn, path)
    if not context.obj.quiet:
        typer.echo(clean(f"{path}: {plural(len(drawn), 'chart')} drawn"), err=True)
