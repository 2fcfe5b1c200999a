"""The commands of ``kbkit graph``: one for each algorithm of the table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kbkit.cli.commands import LazyGroup, add
from kbkit.cli.options import Kb, TableRendering, note, option
from kbkit.errors import plural

if TYPE_CHECKING:
    from kbkit.graph.algorithms.table import Algorithm

NUMBER = option("-k N", "Number of results (default: all).", min=1)


def register(app: typer.Typer) -> None:
    """Add the group to the program; its commands are made when one is used."""
    app.add_typer(LazyGroup("Run an algorithm on the graph, such as PageRank.", _add_all), name="graph")


def _add_all(app: typer.Typer) -> None:
    from kbkit.graph.algorithms.table import ALGORITHMS

    for one in ALGORITHMS:
        add(app, _command(one), one.name)


@dataclass(frozen=True)
class SavedValues:
    """The options that save values."""

    save: Annotated[
        str | None,
        option("--save NAME", "Save the values as the attribute NAME of the nodes."),
    ] = None


@dataclass(frozen=True)
class NothingSaved:
    """No options: tables of edges are not saved."""


def _command(algorithm: Algorithm) -> Any:
    """Return the command of an algorithm."""

    def command(
        context: typer.Context,
        kb: Kb,
        *,
        settings: Any,
        saved: Any,
        limit: Annotated[int | None, NUMBER] = None,
        rendering: TableRendering,
    ) -> None:
        run(context, kb, algorithm, settings, saved, limit, rendering)

    command.__annotations__ |= {
        "settings": algorithm.settings,
        "saved": NothingSaved if algorithm.gives_edges else SavedValues,
    }
    value = "" if algorithm.gives_edges else f"The value is the {algorithm.value}. "
    command.__doc__ = f"{algorithm.summary}\n\n{value}{algorithm.note}".strip()
    return command


def run(
    context: typer.Context,
    kb: Path,
    algorithm: Algorithm,
    settings: Any,
    saved: SavedValues | NothingSaved,
    limit: int | None,
    rendering: TableRendering,
) -> None:
    """Run an algorithm, and write or save its result."""
    from kbkit.cli.progress import bars
    from kbkit.graph.algorithms.run import run as run_algorithm
    from kbkit.graph.algorithms.run import save
    from kbkit.kb import KnowledgeBase

    rendering.check()
    with KnowledgeBase(kb) as opened:
        frame = run_algorithm(opened.stores, algorithm, settings)
        if isinstance(saved, SavedValues) and saved.save is not None:
            with bars(context.obj.quiet) as listener:
                save(opened.stores, algorithm, frame, saved.save, listener)
            note(context, [f"Saved the attribute {saved.save} of {plural(frame.height, 'node')}"])
        if algorithm.gives_edges and rendering.on_screen:
            frame = frame.drop("head", "tail", "head_type", "tail_type")
        rendering.write(frame if limit is None else frame.head(limit))
