"""The numbers that name the answers of a dataset, as STaRK's loader needs them, and the nodes that they stand for.

The numbers are those of :mod:`kbkit.export.numbering`, so that they fit an exported SKB. They hold for the numbering of
one KB only, which ``dataset.json`` records, or ``human.jsonl`` for queries that people wrote. After the KB has changed,
an answer is found by the type and key that ``queries.jsonl`` and ``human.jsonl`` have of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from kbkit.benchmarks.dataset import ABOUT, QUERIES, read_about
from kbkit.benchmarks.stark.dataset import HUMAN, HUMAN_RECORDS, KEY, NUMBER
from kbkit.errors import BadInputError, KbError
from kbkit.export.numbering import numbering
from kbkit.measures.records import content, records
from kbkit.measures.stark import numbered_answers, numbered_nodes

if TYPE_CHECKING:
    from kbkit.kb import KnowledgeBase


@dataclass(frozen=True)
class Numbers:
    """The numbers of a dataset: the ``digest`` of the numbering, and the nodes that the files in ``folder`` describe.

    ``known`` has the columns node (the number as text), type and key. Without a digest only these are resolved.
    """

    folder: Path
    digest: str
    known: pl.DataFrame

    def fit(self, kb: KnowledgeBase) -> bool:
        """Return whether the KB has the numbering of the dataset."""
        return numbering(kb.tables).digest == self.digest

    def named(self, run: pl.DataFrame) -> pl.DataFrame:
        """Replace ``type#key`` in a run by the number of the answer, if it is known."""
        known = self.known.select(number="node", node=pl.format("{}#{}", "type", "key"))
        both = run.join(known, on="node", how="left", maintain_order="left")
        return both.with_columns(pl.coalesce("number", "node").alias("node")).select(run.columns)

    def check(self, kb: KnowledgeBase, names: pl.Series) -> None:
        """Raise :class:`KbError` if the KB has another numbering and an answer has no known type and key."""
        lost = names.filter(~names.is_in(self.known["node"].implode()))
        if len(lost) and not self.fit(kb):
            message = (
                f"Answer {lost.sort()[0]} of {self.folder} cannot be resolved: {kb.directory.path} numbers its nodes"
            )
            hint = f"Use the KB that the dataset was made from, or restore {QUERIES} or {HUMAN_RECORDS} of the dataset"
            raise KbError(f"{message} differently, and no file of the dataset has its type and key", hint)


def read_numbers(dataset: Path, split: str = "") -> Numbers | None:
    """Return the numbers of a dataset, a folder or its csv file, or None if it names its answers in another way."""
    folder = dataset if dataset.is_dir() else dataset.absolute().parent.parent
    if split == HUMAN or dataset.stem.endswith(HUMAN):
        return _of_people(folder)
    if not (folder / ABOUT).is_file():
        known = numbered_answers(folder / QUERIES)
        return Numbers(folder, "", known) if known.height else None
    try:
        about = read_about(folder)
    except (KbError, UnicodeDecodeError):  # a file of another program
        about = {}
    if about.get("names") != NUMBER:
        return None
    recorded = about.get("numbers")
    digest = recorded.get("digest") if isinstance(recorded, dict) else None
    if not isinstance(digest, str) or not digest:
        raise BadInputError(f"Missing numbers.digest in {folder / ABOUT}", "Restore the file of the dataset")
    return Numbers(folder, digest, numbered_answers(folder / QUERIES))


def _of_people(folder: Path) -> Numbers | None:
    """Return the numbers of the queries that people wrote; without a digest if they were written for several KBs."""
    path = folder / HUMAN_RECORDS
    if not path.is_file():
        return None
    fields = [record.fields for record in records(path, content(path))]
    digests = {record["numbers"] for record in fields if isinstance(record.get("numbers"), str)}
    if not digests:
        return None
    return Numbers(
        folder, digests.pop() if len(digests) == 1 else "", numbered_nodes((r.get("entity") for r in fields), path)
    )


def name_answers(kb: KnowledgeBase, new_records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Set ``number`` of all answers of new records; return what ``dataset.json`` should record."""
    numbered = numbering(kb.tables)
    if numbered.keys:
        return {"names": KEY}
    ids = of_nodes(kb, [answer for record in new_records for answer in record["answers"]])
    for record in new_records:
        record["answers"] = [{"number": ids[a["type"], a["key"]], **a} for a in record["answers"]]
    return {"names": NUMBER, "numbers": numbered.as_json()}


def of_nodes(kb: KnowledgeBase, nodes: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], int]:
    """Return the ids of nodes with ``type`` and ``key``, by these."""
    rows = [(node["type"], node["key"]) for node in nodes]
    frame = ids(kb, pl.DataFrame(rows, schema={"type": pl.String, "key": pl.String}, orient="row"))
    return {(kind, key): node for kind, key, node in frame.select("type", "key", "id").iter_rows()}


def ids(kb: KnowledgeBase, nodes: pl.DataFrame) -> pl.DataFrame:
    """Add the column ``id`` to nodes with ``type`` and ``key``, without those that the KB lacks."""
    sql = "SELECT w.*, n.id FROM kbkit_nodes w JOIN nodes n ON n.key = w.key AND n.type::VARCHAR = w.type"
    return kb.tables.lookup(sql, frames={"kbkit_nodes": nodes})
