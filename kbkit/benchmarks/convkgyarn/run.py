"""Run a system on the turns of conversations, each with the correct history (ConvKGYarn, section 5.3).

The system is a language model, or :mod:`kbkit.benchmarks.convkgyarn.baseline` without one. A run is a file of JSON
lines: the settings, then one line per conversation with the answers to its turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbkit.benchmarks.convkgyarn.baseline import METHOD, Baseline
from kbkit.benchmarks.convkgyarn.conversations import Conversation, Turn, dataset_file, read
from kbkit.benchmarks.dataset import check_at_least
from kbkit.benchmarks.pipeline import Row, Table, busy, generation, models, origin
from kbkit.directory import systems
from kbkit.directory.generations import fingerprint
from kbkit.directory.systems import exclusive
from kbkit.errors import KbError, Option

if TYPE_CHECKING:
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


def chosen(path: Path, groups: int | None) -> list[Conversation]:
    """Return the conversations of the first ``groups`` groups without and with a related entity (None: all).

    A group has the same facts in all configurations. Raises :class:`KbError` for duplicate ids.
    """
    if groups is not None:
        check_at_least("number of groups", groups)
    kept: dict[bool, set[str]] = {False: set(), True: set()}
    found: dict[str, Conversation] = {}
    for one in read(path):
        known = kept[one.related is not None]
        if groups is not None and one.group not in known and len(known) >= groups:
            continue
        known.add(one.group)
        if one.id in found:
            raise KbError(f"Duplicate conversation {one.id!r} in {dataset_file(path)}", "Each needs its own id")
        found[one.id] = one
    if not found:
        raise KbError(f"No conversations in {dataset_file(path)}")
    return list(found.values())


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
