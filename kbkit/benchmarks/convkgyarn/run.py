"""Run a system on the turns of conversations, each with the correct history (ConvKGYarn, section 5.3).

The system is a language model, or :mod:`kbkit.benchmarks.convkgyarn.baseline` without one. A run is a file of JSON
lines: the settings, then one line per conversation with the answers to its turns.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbkit.assets.arguments import check_range
from kbkit.benchmarks.convkgyarn.baseline import METHOD, Baseline
from kbkit.benchmarks.convkgyarn.conversations import (
    Conversation,
    Turn,
    arrow_schema,
    dataset_file,
    from_record,
    read,
)
from kbkit.benchmarks.pipeline import Row, Table, busy, generation, models, origin
from kbkit.directory import systems
from kbkit.directory.generations import fingerprint
from kbkit.directory.systems import exclusive
from kbkit.errors import KbError, Option

if TYPE_CHECKING:
    import polars as pl

    from kbkit.kb import KnowledgeBase
    from kbkit.llm.calls import Calls

PROMPT = "conv_answer"
NA = "NA"
_BATCH = 20
"""Conversations that are answered together, and then saved."""


@dataclass(frozen=True)
class Prediction:
    """The answers to one turn, empty if the system declines (NA) or fails with an ``error``.

    ``reading`` is how the baseline read the question: an answer expression.
    """

    answers: list[str] = field(default_factory=list)
    error: str = ""
    reading: str = ""

    @property
    def is_na(self) -> bool:
        """Whether the system declined to answer."""
        return not self.answers and not self.error


@dataclass(frozen=True)
class Attempt(Row):
    """The predictions for the turns of a conversation."""

    turns: list[Prediction]


def chosen(path: Path, groups: int | None, ids: Container[str] | None = None) -> list[Conversation]:
    """Return the conversations of the first ``groups`` groups without and with a related entity (None: all).

    A group has the same facts in all configurations. ``ids`` are the only conversations to return (None: all); the
    others are skipped without being parsed. Raises :class:`KbError` for duplicate ids.
    """
    if groups is not None:
        check_range("number of groups", groups)
    file = dataset_file(path)
    found: dict[str, Conversation] = {}
    for one in read(path) if groups is None and ids is None else _selected(file, groups, ids):
        if one.id in found:
            raise KbError(f"Duplicate conversation {one.id!r} in {file}", "Each needs its own id")
        found[one.id] = one
    if not found and ids is not None:
        raise KbError(f"{file} has none of the conversations of the run", "Use the dataset that it was made with")
    if not found:
        raise KbError(f"No conversations in {file}")
    return list(found.values())


def _selected(file: Path, groups: int | None, ids: Container[str] | None) -> Iterator[Conversation]:
    """Yield the conversations of some groups or ids. Only these are parsed, which takes a millisecond each."""
    import polars as pl

    if not file.exists():
        raise KbError(f"{file} does not exist")
    rows = scan(file)
    try:
        names = rows.select("id", "group", related=pl.col("related").is_not_null()).collect()
        if ids is not None:
            names = names.filter(pl.Series([name in ids for name in names["id"]], dtype=pl.Boolean))
        if groups is not None:
            first = names.unique(["group", "related"], maintain_order=True).group_by("related", maintain_order=True)
            names = names.join(first.head(groups), on=["group", "related"], how="semi", maintain_order="left")
        records = rows.filter(pl.col("id").is_in(names["id"].implode())).collect().to_dicts()
    except pl.exceptions.PolarsError:  # a record that does not fit, which this names
        return (yield from (one for one in read(file) if ids is None or one.id in ids))
    unit = "conversation" if file.suffix == ".parquet" else "line"
    for record in records:
        number = record.pop("number")
        yield from_record(record, f"{file}, {unit} {number}")


def scan(file: Path) -> pl.LazyFrame:
    """Return the conversations of a file as a lazy frame, with their ``number`` from 1."""
    import polars as pl

    empty = pl.from_arrow(arrow_schema().empty_table())
    assert isinstance(empty, pl.DataFrame)
    frame = pl.scan_parquet(file) if file.suffix == ".parquet" else pl.scan_ndjson(file, schema=empty.schema)
    return frame.with_row_index("number", 1)


def run(
    kb: KnowledgeBase,
    dataset: Path,
    out: Path,
    calls: Calls | None = None,
    *,
    groups: int | None = None,
    replace: bool = False,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> None:
    """Answer the turns of the conversations in ``dataset`` and write them to ``out``.

    With ``calls``, the model answers from its own knowledge; without, the baseline answers from the KB. ``groups``
    limits the conversations, see :func:`chosen`. An interrupted run continues; with ``replace`` it starts over. Raises
    :class:`KbError` for a file of another run.
    """
    if not out.absolute().parent.is_dir():
        raise KbError(f"{out.absolute().parent} does not exist", "Create the folder first")
    if out.absolute() == dataset_file(dataset).absolute():
        raise KbError(f"{out} holds the conversations", "Use another file for ", Option("output"))
    conversations = chosen(dataset, groups)
    system = _model(calls) if calls is not None else _baseline(kb)
    with exclusive(out.with_name(f".{out.name}.lock"), *busy(out)):
        if replace:
            systems.remove(out)
        table = Table(out, Attempt, _settings(kb, dataset, calls, groups))
        table.fill(conversations, system, _BATCH, progress)


def _settings(kb: KnowledgeBase, dataset: Path, calls: Calls | None, groups: int | None) -> dict[str, Any]:
    """Return everything that the predictions depend on."""
    file = dataset_file(dataset)
    own = {"method": METHOD, **origin(kb), **generation(kb)} if calls is None else models(calls, [PROMPT])
    return {"dataset": file.name, "conversations": fingerprint(file)["sha256"], "groups": groups, **own}


def history(turns: Sequence[Turn]) -> Iterator[list[dict[str, Any]]]:
    """Yield, for each turn, the questions and correct answers before it."""
    known: list[dict[str, Any]] = []
    for turn in turns:
        yield list(known)
        known.append({"question": turn.question, "answers": [answer.text for answer in turn.answers]})


def _model(calls: Calls) -> Callable[[Sequence[Conversation]], list[Attempt]]:
    def answer(batch: Sequence[Conversation]) -> list[Attempt]:
        inputs = [
            {"history": before, "question": turn.question}
            for one in batch
            for turn, before in zip(one.turns, history(one.turns), strict=True)
        ]
        replies = iter(calls.ask(PROMPT, inputs))
        return [Attempt(one.id, [_prediction(next(replies)) for _ in one.turns]) for one in batch]

    return answer


def _prediction(reply: Any) -> Prediction:
    """Return the answers of a model; NA among them means that it declines."""
    if reply.problem:
        return Prediction(error=reply.problem)
    answers = [text.strip() for text in reply.value["answers"] if text.strip()]
    return Prediction([] if any(text.casefold() in ("na", "n/a") for text in answers) else answers)


def _baseline(kb: KnowledgeBase) -> Callable[[Sequence[Conversation]], list[Attempt]]:
    baseline = Baseline(kb)

    def answer(batch: Sequence[Conversation]) -> list[Attempt]:
        return [
            Attempt(one.id, [Prediction(found.answers, reading=found.reading) for found in baseline.answer(one)])
            for one in batch
        ]

    return answer
