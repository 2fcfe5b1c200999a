"""The rows of the STaRK paper's tables of retrieval systems, below ours: Tables 6 to 8 (Wu et al., NeurIPS 2024)."""

from __future__ import annotations

import polars as pl

from kbkit.benchmarks.report import below, published
from kbkit.benchmarks.stark.dataset import HUMAN
from kbkit.errors import UnknownNameError

_TITLES = {"amazon": "Amazon", "mag": "MAG", "prime": "Prime"}
NAMES = tuple(_TITLES)
_MEASURES = ("Hit@1", "Hit@5", "R@20", "MRR")


def check_name(name: str | None) -> None:
    """Raise :class:`UnknownNameError` for a name that is not a dataset of the paper."""
    if name is not None and name not in NAMES:
        raise UnknownNameError("dataset of the paper", name, NAMES)


def remark(name: str, split: str, sample: float = 1.0) -> str:
    """Return which rows :func:`with_paper` adds."""
    table, part = _part(split, sample)
    which = {"human": "the human-generated queries", "sample": "a tenth of the test set", "full": "the whole test set"}
    return f"Rows of the paper: Table {table}, STaRK-{_TITLES[name]}, {which[part]}; ms_mean of Table 8"


def _part(split: str, sample: float) -> tuple[str, str]:
    return ("7", "human") if split == HUMAN else ("6", "sample" if sample < 1 else "full")


def with_paper(ours: pl.DataFrame, name: str, split: str, sample: float = 1.0) -> pl.DataFrame:
    """Return our rows (:func:`kbkit.benchmarks.stark.evaluate.table`), then those that the paper prints for a dataset.

    These are of Table 7 for human-generated queries, else of Table 6: of the full test set, or for a ``sample`` of a
    tenth. Mean latencies are Table 8's. The column ``figures`` says whose figures a row has.
    """
    table, part = _part(split, sample)
    latency = {row: cells["latency"] for (row, of), cells in published("stark").of("8").items() if of == name}
    rows = [
        {
            "run": system,
            **{measure: cells[measure] for measure in _MEASURES},
            "ms_mean": None if system not in latency else round(1000 * latency[system], 3),
        }
        for (system, of), cells in published("stark").of(table).items()
        if of == f"{name} {part}"
    ]
    theirs = pl.DataFrame(rows, schema={key: ours.schema[key] for key in ("run", *_MEASURES, "ms_mean")})
    return below(ours, theirs)
