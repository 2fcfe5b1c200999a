"""Statistics of a dataset: Table 1 of the paper, and the conversations by configuration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from kbkit.benchmarks.convkgyarn import conversations, entities, facts, paper
from kbkit.benchmarks.convkgyarn.conversations import PROPERTIES, in_words
from kbkit.benchmarks.convkgyarn.tables import read_table
from kbkit.benchmarks.convkgyarn.templates import TEMPLATES
from kbkit.benchmarks.dataset import ABOUT, read_about, read_fast
from kbkit.benchmarks.report import beside
from kbkit.errors import BadInputError, Command, KbError

COLUMNS = ("dataset", "entities", "facts", "types", "predicates", "questions_per_fact")


@dataclass(frozen=True)
class ConvStatistics:
    """The numbers of a dataset in the folder ``folder``; ``about`` is its ``dataset.json``."""

    folder: Path
    about: dict[str, Any]
    rows: list[tuple[str, int, int, int, int, float]]
    counts: Counter[tuple[str, int]]

    @staticmethod
    def of(folder: Path) -> ConvStatistics:
        """Read a dataset. Raises :class:`KbError` if files are missing."""
        if not (folder / ABOUT).is_file():
            raise KbError(f"{folder} has no {ABOUT}", "Run ", Command("conv make"), " to make a dataset")
        return ConvStatistics(folder, read_about(folder), list(_rows(folder)), _counts(folder))

    def table(self) -> pl.DataFrame:
        """Return Table 1, each set with the paper's figures: dataset, figures, and those of ``COLUMNS``."""
        counts = dict.fromkeys(COLUMNS[1:-1], pl.Int64)
        schema = {"dataset": pl.String, **counts, COLUMNS[-1]: pl.Float64}
        ours = pl.DataFrame(self.rows, schema=schema, orient="row")

        def printed(name: str) -> list[float]:
            figures = paper.statistics(name)
            return [*(int(figures[column]) for column in counts), figures[COLUMNS[-1]]]

        return beside(ours, ["dataset"], printed)

    def conversations(self) -> pl.DataFrame:
        """Return configuration, conversations, and mean turns."""
        totals: dict[str, list[int]] = {}
        for (name, turns), number in sorted(self.counts.items()):
            own = totals.setdefault(name, [0, 0])
            own[0] += number
            own[1] += turns * number
        rows = [(name, number, turns / number) for name, (number, turns) in totals.items()]
        return pl.DataFrame(rows, schema=["configuration", "conversations", "turns"], orient="row")

    def remarks(self) -> list[str]:
        """Return lines about the dataset's origin."""
        models = self.about.get("models") or []
        return [f"Templates: {', '.join(models) if models else 'by grammar, without a model'}"]


def _rows(folder: Path) -> Iterator[tuple[str, int, int, int, int, float]]:
    """Yield the rows of Table 1: of all entities, and of those with a related entity and their related ones."""
    stages = folder / "stages"
    sizes: Counter[tuple[str, str, str]] = Counter()
    further: Counter[tuple[str, str, str]] = Counter()
    for record in read_table(stages / f"{TEMPLATES.name}.jsonl"):
        key = record["type"], record["predicate"], record["asks"]
        (further if record.get("related") else sizes)[key] += 1
    known = pl.DataFrame(
        [(*key, number, number + further[key]) for key, number in sizes.items()],
        schema={"type": pl.String, "predicate": pl.String, "asks": pl.String, "own": pl.Int64, "all": pl.Int64},
        orient="row",
    )
    chosen = _frame(stages / "3_entities.jsonl", entities.COLUMNS, ["type", "key", "id", "related_to"])
    table = _frame(stages / "4_facts.jsonl", facts.COLUMNS, ["type", "key", "predicate", "asks"])
    table = table.join(known, on=["type", "predicate", "asks"], how="inner")
    pairs = chosen.filter(pl.col("related_to") != "")
    both = (
        pl.concat([chosen.filter(pl.col("id").is_in(pairs["related_to"].implode())), pairs])
        .select("type", "key")
        .unique()
    )
    main = chosen.filter(pl.col("related_to") == "").select("type", "key").unique()
    yield _row("general", table.join(main, on=["type", "key"], how="semi"), "own")
    if pairs.height:
        yield _row("related", table.join(both, on=["type", "key"], how="semi"), "all")


def _row(name: str, table: pl.DataFrame, column: str) -> tuple[str, int, int, int, int, float]:
    counts = table.select(
        entities=pl.struct("type", "key").n_unique(),
        types=pl.col("type").n_unique(),
        predicates=pl.col("predicate").n_unique(),
    )
    entity, types, predicates = counts.row(0)
    mean = table[column].mean()
    return name, entity, table.height, types, predicates, float(mean) if isinstance(mean, float) else 0.0


def _frame(path: Path, columns: dict[str, Any], wanted: list[str]) -> pl.DataFrame:
    with path.open("rb") as file:
        file.readline()
        try:
            return pl.read_ndjson(file, schema=columns).select(wanted)
        except pl.exceptions.PolarsError as error:
            raise BadInputError(f"Invalid JSON in {path}: {_line(error)}") from None


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


def _counts(folder: Path) -> Counter[tuple[str, int]]:
    """Count conversations by configuration and number of turns."""
    file = conversations.dataset_file(folder)
    counts: Counter[tuple[str, int]] = Counter()
    frame = pl.scan_parquet(file) if file.suffix == ".parquet" else pl.scan_ndjson(file)
    counted = frame.select(
        *PROPERTIES, related=pl.col("related").is_not_null(),
        turns=pl.col("turns").list.len(),
    ).group_by(pl.all()).len()  # fmt: skip
    with read_fast(file, lambda: conversations.read_conversations(file)):
        grouped = counted.collect()
    for *setting, related, turns, number in grouped.iter_rows():
        counts[f"{in_words(setting)}, {'related' if related else 'general'}", turns] += number
    return counts
