"""Judgements of people: who judged which item, on which question, with which mark.

A file has a JSON line for each judgement, ``{"who": "ann", "item": ["q7", "Chad"], "question": "relevance", "mark": 3,
"when": "2026-11-24T12:00:00Z"}``. Lines are only appended, so that a killed session loses at most its last line. Of
several judgements of one person on one item and question, the last one counts; the mark null withdraws the others.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias, TypedDict

from kbkit.benchmarks.dataset import writing
from kbkit.benchmarks.pipeline import busy
from kbkit.directory.files import append_json
from kbkit.directory.generations import now
from kbkit.directory.systems import exclusive
from kbkit.directory.typed_json import from_json, to_json
from kbkit.errors import BadInputError, KbError, UnknownNameError, check_unicode
from kbkit.measures.records import content, records

ANNOTATIONS = "annotations"
"""The folder of a dataset that holds the judgements of its raters."""
_FILE_NAME = re.compile(r"[\w.-]{1,64}")
_PATIENCE = 10.0
"""Seconds to wait for another writer; a judgement is saved within milliseconds."""

Mark: TypeAlias = str | int | bool | None
Problem: TypeAlias = Callable[["Judgement"], str]
"""Returns what is wrong with a judgement, or ""."""


@dataclass(frozen=True)
class Judgement:
    """A ``mark`` that a person, ``who``, gave to an item, which has a name of one or more parts.

    ``when`` is the time in UTC, set when the judgement is saved; ``seconds`` is how long the person took for the item.
    ``about`` has properties of the item that tables need.
    """

    who: str
    item: tuple[str, ...]
    question: str
    mark: Mark
    note: str = ""
    when: str = ""
    seconds: float = 0.0
    about: dict[str, Mark] = field(default_factory=dict)


class GivenParts(TypedDict, total=False):
    """The parts of a judgement that a person gave; the others stay as they were."""

    mark: Mark
    note: str


# -- files ------------------------------------------------------------------------------------------------------------


def append_judgements(path: Path, judgements: Sequence[Judgement]) -> None:
    """Add judgements to a file, all in one write, on disk before returning. Concurrent writers wait for each other.

    Raises :class:`KbError` if the file cannot be written, and for texts that are not valid Unicode.
    """
    if not judgements:
        return
    for judgement in judgements:
        for noun, text in (
            ("name", judgement.who),
            ("item", " ".join(judgement.item)),
            ("note", judgement.note),
            ("mark", judgement.mark),
        ):
            check_unicode(str(text), f"the {noun}")
    time = now()
    with one_writer(path):
        append_json(path, *(to_json(replace(judgement, when=judgement.when or time)) for judgement in judgements))


def amend_judgement(path: Path, known: Judgement | None, blank: Judgement, given: GivenParts) -> None:
    """Add to a file what ``given`` makes of a known judgement, or else of a ``blank`` one, unless nothing changes.

    A note does not change the mark, and a mark does not change the note. Raises as :func:`append_judgements`.
    """
    before = known or blank
    after = replace(before, who=blank.who, when="", **given)
    if known is None or replace(after, when=before.when) != before:
        append_judgements(path, [after])


def read_judgements(paths: Iterable[Path], problem: Problem = lambda _: "") -> list[Judgement]:
    """Return the judgements of files that count, also withdrawn ones, in the order of the first on the same question.

    An incomplete last line, which a killed process left, is skipped. Raises :class:`BadInputError` for any other line
    that is not a judgement or has a ``problem``, and for an empty file.
    """
    judgements: dict[tuple[str, tuple[str, ...], str], Judgement] = {}
    for path in paths:
        for record in records(path, content(path, whole=True)):
            where = f"{path}, line {record.position}"
            one: Judgement = from_json(Judgement, record.fields, where)
            wrong = _incomplete(one) or problem(one)
            if wrong:
                raise BadInputError(f"Invalid judgement in {where}: {wrong}")
            judgements[one.who, one.item, one.question] = one
    return list(judgements.values())


def _incomplete(judgement: Judgement) -> str:
    return next((f"no {name}" for name in ("who", "item", "question") if not getattr(judgement, name)), "")


def known_judgements(path: Path, problem: Problem = lambda _: "") -> list[Judgement]:
    """Return the judgements of a file as :func:`read_judgements` does; none if it is missing or empty."""
    return read_judgements([path], problem) if path.is_file() and path.stat().st_size else []


@contextlib.contextmanager
def one_writer(path: Path) -> Iterator[None]:
    """Let one process at a time write a file, whose folder is created. Raises :class:`LockedError` after ten seconds.

    An :class:`OSError` becomes a :class:`KbError` that names the file.
    """
    with contextlib.ExitStack() as stack:
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(exclusive(_lock_file(path), *busy(path), _PATIENCE))
        with writing(path):
            yield


def remove_leftover_lock(path: Path) -> None:
    """Delete the lock file that a killed writer left: a session in which nothing is left to judge writes nothing."""
    with contextlib.suppress(KbError, OSError):
        if _lock_file(path).exists():
            with one_writer(path):
                pass


def _lock_file(path: Path) -> Path:
    return path.with_name(f".{path.name}.lock")


def check_rater(name: str) -> None:
    """Raise :class:`KbError` for an empty name."""
    if not name.strip():
        raise KbError("Empty name of the rater", "Use a name that is the same in each session")


@dataclass(frozen=True)
class RaterFolder:
    """A folder with a file of judgements for each person, ``NAME.jsonl``; ``problem`` finds invalid ones."""

    folder: Path
    problem: Problem = lambda _: ""

    def path(self, who: str) -> Path:
        """Return the file of a person. Raises :class:`KbError` for a name that is not one word."""
        if not _FILE_NAME.fullmatch(who) or who.startswith("."):
            raise KbError(f"Invalid rater {who!r}", "Use letters, digits, '-', '_' and '.'")
        return self.folder / f"{who}.jsonl"

    def of(self, who: str) -> list[Judgement]:
        """Return a person's judgements; none without a file. Raises :class:`BadInputError` for an invalid line."""
        return known_judgements(self.path(who), lambda judgement: _foreign(judgement, who) or self.problem(judgement))

    def all(self, names: Sequence[str] = ()) -> dict[str, list[Judgement]]:
        """Return the judgements of some people, or of all. Raises :class:`UnknownNameError` for an unknown name."""
        known = [path.stem for path in sorted(self.folder.glob("*.jsonl"))]
        for name in names:
            if name not in known:
                raise UnknownNameError("rater", name, known)
        return {name: self.of(name) for name in names or known}


def _foreign(judgement: Judgement, who: str) -> str:
    return "" if judgement.who == who else f"it is {judgement.who}'s, but the file is {who}'s"


# -- marks ------------------------------------------------------------------------------------------------------------


def outside(scales: Mapping[str, Sequence[Mark]], judgement: Judgement) -> str:
    """Return what is wrong if ``scales`` lacks the judgement's question, or the question's scale its mark, or ""."""
    if judgement.question not in scales:
        return f"question {judgement.question!r:.40} is not {', '.join(scales)}"
    scale = scales[judgement.question]
    if judgement.mark is None or any(type(judgement.mark) is type(mark) and judgement.mark == mark for mark in scale):
        return ""
    return f"{judgement.question} {judgement.mark!r:.40} is not {', '.join(map(str, scale))}"


def ratings(judgements: Iterable[Judgement], question: str) -> dict[tuple[str, ...], Mark]:
    """Return the marks of one person's answers to a question by item, without withdrawn ones."""
    return {
        judgement.item: judgement.mark
        for judgement in judgements
        if judgement.question == question and judgement.mark is not None
    }
