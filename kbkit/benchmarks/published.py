"""Publish a dataset of any of the five benchmarks: see :mod:`kbkit.benchmarks.publish`."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kbkit.benchmarks.dataset import SPLITS
from kbkit.benchmarks.publish.folder import Progress, PublishedFolder, check_place, write_publication
from kbkit.benchmarks.publish.form import Publication
from kbkit.benchmarks.publish.settings import PublishSettings
from kbkit.errors import PYTHON, KbError, Speller

if TYPE_CHECKING:
    from kbkit.kb import KnowledgeBase

_Describe = Callable[[Path, "KnowledgeBase | None"], Publication]


def publish(
    dataset: str | os.PathLike[str],
    out: str | os.PathLike[str],
    kb: KnowledgeBase | None = None,
    settings: PublishSettings | None = None,
    *,
    overwrite: bool = False,
    progress: Progress = lambda *_: None,
    speller: Speller = PYTHON,
) -> PublishedFolder:
    """Write a dataset as a folder that other libraries load unchanged; return the folder and its counts.

    ``dataset`` is the folder of a STaRK, QUEST, SKA-Bench or ConvKGYarn dataset, or a file of questions with SPARQL.
    ``kb`` is the KB that it was made from: it has the documents of a STaRK dataset, and the licence of the data.
    ``overwrite`` replaces an earlier publication at ``out``. ``speller`` writes the options of the command that makes
    the dataset again. Raises :class:`KbError` for what is not a complete dataset, leaving nothing at ``out``.
    """
    path, folder = Path(dataset), Path(out)
    describe = _described(path)
    check_place(folder, overwrite=overwrite)
    chosen = settings or PublishSettings()
    chosen = chosen if chosen.name else replace(chosen, name=path.resolve().name.removesuffix(path.suffix))
    licence = str((kb.manifest.recipe or {}).get("licence", "")) if kb is not None else ""
    described = describe(path, kb)
    return write_publication(
        described, folder, chosen, licence, overwrite=overwrite, progress=progress, speller=speller
    )


def _described(path: Path) -> _Describe:
    """Return the function that describes the dataset at a path. Raises :class:`KbError` if it is none."""
    from kbkit.benchmarks.convkgyarn import publish as conv
    from kbkit.benchmarks.quest import publish as quest
    from kbkit.benchmarks.ska import publish as ska
    from kbkit.benchmarks.spinach import publish as spinach
    from kbkit.benchmarks.stark import publish as stark

    if not path.exists():
        raise KbError(f"{path} does not exist", "Name the folder of a dataset, or a file of questions with SPARQL")
    if path.is_file():
        return lambda one, _: spinach.publication(one)
    names = {file.name for file in path.iterdir()}
    known: dict[str, _Describe] = {
        "stark_qa": stark.publication,
        "instances.jsonl": lambda one, _: ska.publication(one),
        **dict.fromkeys(("conversations.jsonl", "conversations.parquet"), lambda one, _: conv.publication(one)),
        **{f"{split}.jsonl": lambda one, _: quest.publication(one) for split in SPLITS},
    }
    for name, describe in known.items():
        if name in names:
            return describe
    if "stages" in names:
        raise KbError(f"{path} is incomplete: the run that makes it was interrupted", "Run the same command again")
    raise KbError(
        f"{path} is not a dataset of kbkit",
        "It needs stark_qa/, instances.jsonl, conversations.jsonl or test.jsonl; for SPARQL questions, name the file",
    )
