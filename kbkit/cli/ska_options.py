"""Arguments and options that several commands for SKA-Bench share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[Path, typer.Argument(metavar="DATASET", help="Folder of the dataset, with instances.jsonl.")]
Form = Annotated[
    list[str] | None,
    typer.Option("--form", metavar="NAME", help="Form: kg, table, kg+text or table+text (default: all); repeatable."),
]
Testbeds = Annotated[
    Path | None,
    typer.Option("--testbeds", metavar="FOLDER", help="Folder of the testbeds (default: DATASET/testbeds)."),
]
Testbed = Annotated[
    list[str] | None,
    typer.Option(
        "--testbed", metavar="NAME", help="Testbed: noise, order, integration or rejection (default: all); repeatable."
    ),
]
Setting = Annotated[
    list[str] | None,
    typer.Option(
        "--setting", metavar="NAME", help="Setting of a testbed: 4k, prefix, 2, ... (default: all); repeatable."
    ),
]
Instances = Annotated[int, typer.Option("--limit", "-n", metavar="N", min=0, help="Number of instances (0: all).")]
