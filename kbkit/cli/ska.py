"""Commands for SKA-Bench: the group of commands."""

from __future__ import annotations

import typer

from kbkit.cli import ska_make, ska_people, ska_runs
from kbkit.cli.commands import group


def register(app: typer.Typer) -> None:
    """Add the commands for SKA-Bench to the program."""
    ska = group("Make, run and score SKA-Bench datasets.")
    ska_make.register(ska)
    ska_runs.register(ska)
    ska_people.register(ska)
    app.add_typer(ska, name="ska")
