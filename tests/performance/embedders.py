"""Embedders of texts side by side: the shipped one, those of packages, and a model of sentence-transformers.

For STaRK-Prime's subset and Cranfield, each embedder's vectors are built in a copy of the KB. ``build`` is the command
``kbkit build KB vectors`` for Prime's 2,991 texts with their chunks, ``search MB`` the peak of memory of ``kbkit
search`` in mode ``hybrid``, with all mapped files. The milliseconds are those of embedding one query, the median of 100
with the model in memory. CPU times are without waiting threads if ``OMP_NUM_THREADS`` is 1. Figures of modes ``dense``
and ``hybrid`` are of all queries; those of ``hybrid`` once with the default weight of ``dense`` (0.3), and once with
weight 1, for embedders as strong as full text. ``KBKIT_EMBEDDERS`` adds names, separated by spaces; those whose
packages are missing are skipped.
"""

from __future__ import annotations

import importlib.util
import os
import resource
import shutil
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.performance import data
from tests.performance.report import Figure
from tests.performance.retrieval import SETS, scored
from tests.performance.timing import KBKIT, disk_mb, times, watched_command

NAMES, TIMED = ("Prime's subset", "Cranfield"), 100
PACKAGED = "all_minilm_l6_v2"
"""A package with the weights of all-MiniLM-L6-v2 as sentence-transformers reads them."""
MODES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("dense", {}),
    ("hybrid", {}),
    ("hybrid", {"weights": {"bm25": 1.0, "dense": 1.0}}),
)
MEASURES = ("hit@1", "mrr", "ndcg@10")


def kbkit(scale: float, engine: str) -> Iterator[Figure]:
    """A row for each embedder and set."""
    for name in ("static", "minilm", *_packaged(), *os.environ.get("KBKIT_EMBEDDERS", "").split()):
        for known in NAMES:
            yield from _measured(name, known)


def _measured(name: str, known: str) -> Iterator[Figure]:
    import kbkit as package

    label = name if ":" not in name else f"{name.partition(':')[0]}:{Path(name).name}"
    source, asked = SETS[known]()
    path = data.folder() / "embedders.kb"
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(source, path)
    texts = asked.queries["text"].to_list()[:TIMED]
    used = _children()
    try:
        taken, build = watched_command([KBKIT, "build", str(path), "vectors", "--embedder", name])
    except RuntimeError as error:
        yield Figure(f"{label}, {known}", note=str(error))
        return
    extra = {"build s": taken, "build CPU s": _children() - used, "build MB": build.resident}
    _, search = watched_command([KBKIT, "search", str(path), texts[0], "--mode", "hybrid"])
    extra["search MB"] = search.resident
    with package.open(path) as kb:
        kb.search(texts[0], mode="dense")
        embedder = kb.stores.embedder
        used = time.process_time()
        median, high, runs = times(lambda text: embedder.embed([text]), texts)
        extra["query CPU ms"] = 1000 * (time.process_time() - used) / (runs + 1)
        for mode, options in MODES:
            own = scored(kb.search_many(asked.queries, k=100, mode=mode, quotes=False, **options), asked)
            what = f"{mode}, equal weights" if options else mode
            extra |= {f"{what} {measure}": float(own[measure].mean() or 0.0) for measure in MEASURES}
        generation = path / "generations" / kb.manifest.generation
        extra |= {"dimension": embedder.dimension, "text store MB": disk_mb(generation / "text")}
        rows = {measure: round(value, 4) for measure, value in extra.items()}
        vectors = disk_mb(generation / "vectors")
        yield Figure(f"{label}, {known}", median, p95=high, disk_mb=vectors, answers=own.height, extra=rows)
    shutil.rmtree(path, ignore_errors=True)


def _children() -> float:
    """Return the CPU seconds of all commands so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _packaged() -> list[str]:
    """Return the name of MiniLM in 32 bits, unpacked beside the KBs, if its package is installed."""
    found = importlib.util.find_spec(PACKAGED)
    if found is None or found.origin is None or importlib.util.find_spec("sentence_transformers") is None:
        return []

    def unpack(folder: Path) -> None:
        with zipfile.ZipFile(Path(str(found.origin)).with_name("model.zip")) as archive:
            archive.extractall(folder)

    return [f"sentence-transformers:{data.made(data.folder() / 'all-MiniLM-L6-v2', unpack)}"]


if __name__ == "__main__":
    for figure in kbkit(0, "kbkit"):
        print(figure.what, figure.value, figure.extra, figure.note, flush=True)
