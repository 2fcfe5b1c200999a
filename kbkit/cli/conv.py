"""Commands for ConvKGYarn: the group of commands."""

from __future__ import annotations

import typer

from kbkit.cli import conv_make, conv_people, conv_runs
from kbkit.cli.commands import group


def register(app: typer.Typer) -> None:
    """Add the commands of ConvKGYarn to the program."""
    conv = group("Make, run and score conversations (ConvKGYarn).")
    conv_make.register(conv)
    conv_runs.register(conv)
    conv_people.register(conv)
    app.add_typer(conv, name="conv")
