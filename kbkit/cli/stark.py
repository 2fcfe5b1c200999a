"""Commands for STaRK: stark make, generate; further ones are in stark_runs and stark_people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from kbkit.cli import stark_people, stark_runs
from kbkit.cli.commands import add, group
from kbkit.cli.papers import making

if TYPE_CHECKING:
    pass


_CLOSE = 0.1
"""Relative distance from the target up to which it counts as reached."""


def register(app: typer.Typer) -> None:
    """Add the commands for STaRK to the program."""
    stark = group("Make, run and score STaRK datasets.")
    add(stark, making.make_stark, "make")
    stark_runs.register(stark)
    stark_people.register(stark)
    add(stark, making.generate_stark, "generate")
    app.add_typer(stark, name="stark")


# -- make -------------------------------------------------------------------------------------------------------------


# -- generate ---------------------------------------------------------------------------------------------------------
