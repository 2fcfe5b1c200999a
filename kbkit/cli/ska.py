"""Commands for SKA-Bench; those for testbeds and runs are in ska_runs."""

from __future__ import annotations

import typer

from kbkit.cli import ska_runs
from kbkit.cli.commands import group


def register(app: typer.Typer) -> None:
    """Add the commands for SKA-Bench to the program."""
    ska = group("Make, run and score SKA-Bench datasets.")
    ska_runs.register(ska)
    app.add_typer(ska, name="ska")
