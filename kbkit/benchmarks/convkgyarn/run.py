"""Run a system on the turns of conversations, each with the correct history (ConvKGYarn, section 5.3).

The system is a language model, or :mod:`kbkit.benchmarks.convkgyarn.baseline` without one. A run is a file of JSON
lines: the settings, then one line per conversation with the answers to its turns.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbkit.assets.arguments import check_range
from kbkit.benchmarks import run as runs
from kbkit.benchmarks.convkgyarn.baseline import ConvBaseline
from kbkit.benchmarks.convkgyarn.conversations import (
    Conversation,
    Turn,
    TurnPrediction,
    arrow_schema,
    dataset_file,
    from_record,
    read_conversations,
)
from kbkit.benchmarks.pipeline import Row
from kbkit.benchmarks.recorded import models
from kbkit.directory.generations import fingerprint
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
class ConvAnswers(Row):
    """The predictions for the turns of a conversation."""

    turns: list[TurnPrediction]


def chosen(path: Path, groups: int | None, ids: Container[str] | None = None) -> list[Conversation]:
    """Return the conversations of the first ``groups`` groups without and with a related entity (None: all).

    A group has the same facts in all configurations. ``ids`` are the only conversations to return (None: all); the
    others are skipped without being parsed. Raises :class:`KbError` for duplicate ids.
    """
    if groups is not None:
        check_range("number of groups", groups)
    file = dataset_file(path)
    conversations: dict[str, Conversation] = {}
    for conversation in read_conversations(path) if groups is None and ids is None else _selected(file, groups, ids):
        if conversation.id in conversations:
            raise KbError(f"Duplicate conversation {conversation.id!r} in {file}", "Each needs its own id")
        conversations[conversation.id] = conversation
    if not conversations and ids is not None:
        raise KbError(f"{file} has none of the conversations of the run", "Use the dataset that it was made with")
    if not conversations:
        raise KbError(f"No conversations in {file}")
    return list(conversations.values())


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
        return (
            yield from (
                conversation for conversation in read_conversations(file) if ids is None or conversation.id in ids
            )
        )
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
) -> runs.Run[ConvAnswers]:
    """Answer the turns of the conversations in ``dataset`` and write them to ``out``.

    With ``calls``, the model answers from its own knowledge; without, the baseline answers from the KB. ``groups``
    limits the conversations, see :func:`chosen`. See :func:`kbkit.benchmarks.run.run` for ``replace`` and errors.
    """
    file = dataset_file(dataset)
    if out.absolute() == file.absolute():
        raise KbError(f"{out} holds the conversations", "Use another file for ", Option("output"))
    runs.check_parent(out)
    conversations = chosen(dataset, groups)
    system = ConvModel(calls) if calls is not None else ConvBaseline(kb)
    settings = {"dataset": file.name, "conversations": fingerprint(file)["sha256"], "groups": groups}
    return runs.run(out, system, conversations, _FORM, settings, replace=replace, progress=progress)


_FORM: runs.RunForm[Conversation, Conversation, list[TurnPrediction], ConvAnswers] = runs.RunForm(
    ConvAnswers, lambda one: one, lambda one, turns: ConvAnswers(one.id, turns), _BATCH
)


def history(turns: Sequence[Turn]) -> Iterator[list[dict[str, Any]]]:
    """Yield, for each turn, the questions and correct answers before it."""
    known: list[dict[str, Any]] = []
    for turn in turns:
        yield list(known)
        known.append({"question": turn.question, "answers": [answer.text for answer in turn.answers]})


# -- systems ----------------------------------------------------------------------------------------------------------


class ConvModel:
    """A language model, which answers from its own knowledge and the correct history."""

    def __init__(self, calls: Calls) -> None:
        self._calls, self.name = calls, calls.models[0]
        self.settings: Mapping[str, Any] = models(calls, [PROMPT])

    def answer(self, conversations: Sequence[Conversation]) -> list[list[TurnPrediction]]:
        """Return the predictions for the turns of each conversation."""
        inputs = [
            {"history": before, "question": turn.question}
            for conversation in conversations
            for turn, before in zip(conversation.turns, history(conversation.turns), strict=True)
        ]
        replies = iter(self._calls.ask(PROMPT, inputs))
        return [[_prediction(next(replies)) for _ in conversation.turns] for conversation in conversations]


def _prediction(reply: Any) -> TurnPrediction:
    """Return the answers of a model; NA among them means that it declines."""
    if reply.problem:
        return TurnPrediction(error=reply.problem)
    answers = [text.strip() for text in reply.value["answers"] if text.strip()]
    return TurnPrediction([] if any(text.casefold() in ("na", "n/a") for text in answers) else answers)
