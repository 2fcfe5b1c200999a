"""Arguments and options that several commands of the papers share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer.models import OptionInfo


def modes_option(default: str) -> OptionInfo:
    """Return the option for search modes, of which ``default`` are run otherwise."""
    modes = "bm25, dense, multivector, hybrid, relational, learned, or a system such as biencoder:MODEL (see --systems)"
    help_ = f"Search mode: {modes}; default: {default}; repeatable."
    option: OptionInfo = typer.Option("--mode", "-m", metavar="MODE", help=help_)
    return option


Hits = Annotated[int, typer.Option("-k", metavar="N", help="Number of results per query.")]
RunFile = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Output file for the run (JSON lines).")]
StarkDataset = Annotated[
    Path, typer.Argument(metavar="DATASET", help="Folder with stark_qa/ and split/, or a csv file.")
]
StarkSplit = Annotated[
    str, typer.Option("--split", metavar="NAME", help="Split of the dataset: test, val, ... or human_generated_eval.")
]
QuestDataset = Annotated[
    Path, typer.Argument(metavar="DATASET", help="Folder with train.jsonl, val.jsonl and test.jsonl.")
]
QuestSplit = Annotated[str, typer.Option("--split", metavar="NAME", help="Split of the dataset: train, val or test.")]
SkaDataset = Annotated[Path, typer.Argument(metavar="DATASET", help="Folder of the dataset, with instances.jsonl.")]
SkaInstances = Annotated[int, typer.Option("--limit", "-n", metavar="N", min=0, help="Number of instances (0: all).")]
Conversations = Annotated[
    Path, typer.Argument(metavar="DATASET", help="Folder of conv make, or a file of conversations (.parquet, .jsonl).")
]
SpinachQuestions = Annotated[
    Path, typer.Argument(metavar="FILE", help="JSON records with question, sparql or query; or QAWiki's RDF.")
]
SpinachPaper = Annotated[
    str | None,
    typer.Option("--paper", metavar="NAME", help="Dataset of the paper to compare with, or none (default: detected)."),
]
