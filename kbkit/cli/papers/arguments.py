"""Arguments and options that several commands of the papers share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from kbkit.cli.options import argument, option


def modes_option(default: str) -> Any:
    """Return the option for search modes, of which ``default`` are run otherwise."""
    modes = "bm25, dense, multivector, hybrid, relational, learned, or a system such as biencoder:MODEL (see --systems)"
    return option("--mode -m MODE", f"Search mode: {modes}; default: {default}; repeatable.")


Hits = Annotated[int, option("-k N", "Number of results per query.")]
RunFile = Annotated[Path, option("--output -o FILE", "Output file for the run (JSON lines).")]
StarkDataset = Annotated[Path, argument("DATASET", "Folder with stark_qa/ and split/, or a csv file.")]
StarkSplit = Annotated[str, option("--split NAME", "Split of the dataset: test, val, ... or human_generated_eval.")]
QuestDataset = Annotated[Path, argument("DATASET", "Folder with train.jsonl, val.jsonl and test.jsonl.")]
QuestSplit = Annotated[str, option("--split NAME", "Split of the dataset: train, val or test.")]
SkaDataset = Annotated[Path, argument("DATASET", "Folder of the dataset, with instances.jsonl.")]
SkaInstances = Annotated[int, option("--limit -n N", "Number of instances (0: all).", min=0)]
Conversations = Annotated[
    Path, argument("DATASET", "Folder of conv make, or a file of conversations (.parquet, .jsonl).")
]
SpinachQuestions = Annotated[Path, argument("FILE", "JSON records with question, sparql or query; or QAWiki's RDF.")]
SpinachPaper = Annotated[
    str | None,
    option("--paper NAME", "Dataset of the paper to compare with, or none (default: detected)."),
]
