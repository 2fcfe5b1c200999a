"""A pipeline of resumable stages, each a table of typed rows that a person can read and edit.

The table of a stage is ``OUT/stages/NUMBER_NAME.jsonl``. Its first line records the settings of the run; each further
line is a row. Rows are appended as they are finished, so an interrupted run keeps its work, and the next run with the
same settings continues there. To recompute a row, delete its line. After editing a row, delete the lines with its id
from the tables of later stages.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import typing
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from kbkit.benchmarks.dataset import ABOUT, writing
from kbkit.directory import systems
from kbkit.directory.files import parse_json, replacing, write_files
from kbkit.directory.systems import exclusive
from kbkit.directory.typed_json import from_json, shortened, to_json
from kbkit.errors import BadInputError, KbError, Option
from kbkit.llm import threads

if TYPE_CHECKING:
    pass

Progress = Callable[[str, int, int], None]
"""Called with the name of a stage, the number of finished rows, and the total."""
_TABLES = "[0-9]_*.jsonl"
_RECOMPUTE = "Delete the file to recompute the stage"


class HasId(Protocol):
    """Anything with an ``id``."""

    @property
    def id(self) -> str: ...  # noqa: D102


@dataclass(frozen=True)
class Row:
    """A row of a stage. Later stages skip a row that was ``dropped`` for a reason."""

    id: str
    dropped: str = field(default="", kw_only=True)


T = TypeVar("T", bound=HasId)
R = TypeVar("R", bound=Row)


@dataclass(frozen=True)
class Stage(Generic[R]):
    """A stage: the ``name`` of its table (``2_textual``) and the type of its rows."""

    name: str
    row: type[R]

    @property
    def label(self) -> str:
        """The name without its number."""
        return self.name.split("_", 1)[1]


class Item:
    """A query on its way through the stages: ``item[RowType]`` is the row that a stage wrote about it."""

    def __init__(self, first: Row) -> None:
        self.id, self.dropped = first.id, first.dropped
        self._rows: dict[type[Row], Row] = {type(first): first}

    def __getitem__(self, kind: type[R]) -> R:
        return typing.cast("R", self._rows[kind])

    def get(self, kind: type[R]) -> R | None:
        """Return the row of a stage, or None if the item did not reach it."""
        return typing.cast("R | None", self._rows.get(kind))

    def add(self, row: Row) -> None:
        """Add the row of a further stage."""
        self.dropped = row.dropped
        self._rows[type(row)] = row


@dataclass(frozen=True)
class Output:
    """A new dataset: its folder, its ``records`` as in ``queries.jsonl``, and counts for a ``report``."""

    folder: Path
    records: list[dict[str, Any]]
    report: dict[str, Any]


# -- a run ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pipeline:
    """The stages of a run in the folder ``out``. ``settings`` hold everything that its rows depend on."""

    out: Path
    settings: Mapping[str, Any]
    progress: Progress = lambda *_: None

    def table(self, stage: Stage[R]) -> Table[R]:
        """Return the table of a stage."""
        return Table(self.out / "stages" / f"{stage.name}.jsonl", stage.row, self.settings)

    def rows(self, stage: Stage[R], make: Callable[[], list[R]]) -> list[R]:
        """Return the rows of a stage that makes all of them at once; ``make`` runs if there is no table yet."""
        self.progress(stage.label, 0, 1)
        table = self.table(stage)
        rows = table.read() if table.path.exists() else table.write(make())
        self.progress(stage.label, 1, 1)
        return rows

    def advance(
        self,
        stage: Stage[R],
        items: Sequence[Item],
        work: Callable[[Sequence[Item]], list[R]],
        batch: int = 200,
    ) -> None:
        """Add the row of a stage to each item that was not dropped; ``work`` computes a batch of rows, in order."""
        items = [item for item in items if not item.dropped]
        report = _reporter(self.progress, stage.label)
        for item, row in zip(items, self.table(stage).fill(items, work, batch, report), strict=True):
            item.add(row)

    @contextlib.contextmanager
    def started(
        self, outputs: Sequence[str], *, replace: bool = False, check: Callable[[], object] = lambda: None
    ) -> Iterator[None]:
        """Lock the folder for a run. With ``replace``, remove the tables of an earlier run after ``check`` passed.

        ``outputs`` are the files of a dataset: a folder that has one of them, but no tables, belongs to another
        program. Raises :class:`KbError` for such a folder unless ``replace`` is set, :class:`LockedError` during
        another run.
        """
        if not replace and not _has_tables(self.out) and any((self.out / name).exists() for name in outputs):
            hint = ("Use another ", Option("output"), ", or ", Option("replace"), " to overwrite it")
            raise KbError(f"{self.out} holds a dataset that kbkit did not generate", *hint)
        with locked(self.out):
            if replace:
                check()
                remove(self.out)
            yield

    def none_left(self, tried: int, reasons: str) -> KbError:
        """Return the error that none of the queries that were tried passed all stages."""
        return KbError(f"None of the {tried} queries remains: {reasons}", f"See {self.out / 'stages'}")

    def finish(
        self,
        files: Mapping[str, str],
        about: Mapping[str, Any],
        report: dict[str, Any],
        records: Sequence[dict[str, Any]] = (),
    ) -> Output:
        """Write the ``files`` of a dataset and ``dataset.json``, which records its settings ``about`` and the report.

        Old files are replaced at the end.
        """
        text = json.dumps({**about, "report": report}, ensure_ascii=False, indent=2) + "\n"
        write_files({self.out / name: content for name, content in {**files, ABOUT: text}.items()})
        return Output(self.out, list(records), report)


def dropped(reasons: Iterable[str]) -> dict[str, int]:
    """Count the reasons why rows were dropped, the most frequent first; "" is none."""
    return dict(Counter(filter(None, reasons)).most_common())


def listed(reasons: Mapping[str, int], most: int | None = None) -> str:
    """Return the first reasons why questions were dropped, with their numbers, for an error."""
    first = list(reasons.items())[:most]
    return "; ".join(f"{reason} ({count:,})" for reason, count in first) or "no question was drawn"


def _reporter(progress: Progress, label: str) -> Callable[[int, int], None]:
    return lambda done, total: progress(label, done, total)


@contextlib.contextmanager
def locked(out: Path) -> Iterator[None]:
    """Lock a dataset's folder, creating it; remove it again if it stays empty.

    Raises :class:`LockedError` while another run holds it. The system releases the lock of a process that dies.
    """
    folder = out / "stages"
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    with contextlib.ExitStack() as stack:
        stack.callback(_remove_empty, new)
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(exclusive(folder / "lock", *busy(out)))
        yield


def busy(out: Path) -> tuple[str, str]:
    """Return the message and the hint for a file or folder that another run writes to."""
    return f"Another run writes to {out}", "Wait for it to end"


def _remove_empty(folders: Sequence[Path]) -> None:
    """Remove empty folders, innermost first."""
    with contextlib.suppress(OSError):
        for path in folders:
            path.rmdir()


def _has_tables(out: Path) -> bool:
    return any((out / "stages").glob(_TABLES))


def remove(out: Path) -> None:
    """Remove the tables of a run, but no other files in their folder."""
    folder = out / "stages"
    try:
        for path in folder.glob(_TABLES):
            systems.remove(path)
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
    except OSError as error:
        raise KbError(f"Cannot remove {error.filename or folder}: {error.strerror or error}") from None


# -- tables -----------------------------------------------------------------------------------------------------------


class Table(Generic[R]):
    """A file of JSON lines: the settings of the run, then one row per finished item."""

    def __init__(self, path: Path, row: type[R], settings: Mapping[str, Any]) -> None:
        self.path, self._row = path, row
        self._settings = parse_json(_line(settings))

    def fill(
        self,
        items: Sequence[T],
        work: Callable[[Sequence[T]], list[R]],
        batch: int = 200,
        progress: Callable[[int, int], None] = lambda *_: None,
    ) -> list[R]:
        """Compute the rows of the items that have none, ``batch`` at a time; return all rows, in the items' order.

        Raises :class:`KbError` if the table was made with other settings.
        """
        with self._resumed(items) as (rows, left, append):
            for start in range(0, len(left), batch):
                progress(len(items) - len(left) + start, len(items))
                append(work(left[start : start + batch]))
        progress(len(items), len(items))
        return [rows[item.id] for item in items]

    def fill_concurrently(
        self,
        items: Sequence[T],
        work: Callable[[T], R],
        workers: int,
        progress: Callable[[int, int], None],
        retry: Callable[[R], bool] = lambda _: False,
    ) -> list[R]:
        """Compute the rows of the items that have none, or one to ``retry``, in ``workers`` threads.

        Rows are written in the order in which they are finished, and returned in the items' order.
        """
        with self._resumed(items, retry) as (rows, left, append):
            finished = len(items) - len(left)
            progress(finished, len(items))

            def report() -> None:
                nonlocal finished
                finished += 1
                progress(finished, len(items))

            threads.each(lambda item: append([work(item)]), left, min(workers, len(left)), report)
        return [rows[item.id] for item in items]

    def write(self, rows: list[R]) -> list[R]:
        """Write all rows at once, or none if that fails."""
        with replacing(self.path) as aside, aside.open("w", encoding="utf-8", newline="\n") as file:
            file.write(self.head(len(rows)))
            file.writelines(_line(to_json(row)) + "\n" for row in rows)
            file.flush()
            systems.sync(file.fileno())
        return rows

    def head(self, rows: int, width: int = 0) -> str:
        """Return the first line of a table that is written at once; ``width`` is that of the number of rows."""
        settings = _line(self._settings)
        return f'{{"settings": {settings}, "rows": {rows:>{width}}}}\n'

    def expected_rows(self, head: bytes) -> Any:
        """Return the number of rows in a first line. Raises :class:`KbError` if it was made with other settings."""
        return self._parsed(head)[0].get("rows")

    def read(self) -> list[R]:
        """Return the rows of a table that was written at once. Raises :class:`BadInputError` if rows are missing."""
        first, rows = self._parsed(self.path.read_bytes())
        self.check_rows(len(rows), first.get("rows"))
        return list(rows.values())

    def check_rows(self, count: int, expected: Any) -> None:
        """Raise :class:`BadInputError` unless a table has the number of rows in its first line."""
        if count != expected:
            hint = f'{_RECOMPUTE}, or set "rows" in its first line to {count}'
            raise BadInputError(f"{self.path} has {count} rows instead of {expected}", hint)

    @contextlib.contextmanager
    def _resumed(
        self, items: Sequence[T], retry: Callable[[R], bool] = lambda _: False
    ) -> Iterator[tuple[dict[str, R], list[T], Callable[[list[R]], None]]]:
        """Open the table to append: the rows that it has, the items without a row, and a function that appends rows."""
        with writing(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            rows = {name: row for name, row in self.resume().items() if not retry(row)}
            guard = threading.Lock()
            with self.path.open("a", encoding="utf-8", newline="\n") as file:

                def append(new: list[R]) -> None:
                    lines = [_line(to_json(row)) + "\n" for row in new]
                    with guard:
                        file.writelines(lines)
                        file.flush()
                        rows.update((row.id, row) for row in new)

                yield rows, [item for item in items if item.id not in rows], append
                systems.sync(file.fileno())

    def resume(self) -> dict[str, R]:
        """Return the rows by id; start a new table, and cut off a last line that a killed run left incomplete.

        Raises :class:`KbError` if the table was made with other settings.
        """
        text = self.path.read_bytes() if self.path.exists() else b""
        complete = text[: text.rfind(b"\n") + 1]
        if not complete:
            self.path.write_text(_line({"settings": self._settings}) + "\n", encoding="utf-8", newline="\n")
            return {}
        if len(complete) < len(text):
            os.truncate(self.path, len(complete))
        return self._parsed(complete)[1]

    def _parsed(self, text: bytes) -> tuple[dict[str, Any], dict[str, R]]:
        """Return the first line and the rows by id; of duplicate ids, the last row."""
        lines = [(number, line) for number, line in enumerate(text.split(b"\n"), 1) if line.strip()]
        try:
            first = parse_json(lines[0][1])
            made_with = first["settings"]
        except (ValueError, TypeError, KeyError, IndexError):
            raise BadInputError(
                f"{self.path} has no settings in its first line", "Delete the file to start over"
            ) from None
        if made_with != self._settings:
            hint = ("Use the same settings to continue, or ", Option("replace"), " to start over")
            raise KbError(f"{self.path} was made with other settings: {self._difference(made_with)}", *hint)
        rows = [self._row_of(line, f"{self.path}, line {number}") for number, line in lines[1:]]
        return first, {row.id: row for row in rows}

    def _row_of(self, line: bytes, where: str) -> R:
        try:
            record = parse_json(line)
        except json.JSONDecodeError as error:
            raise BadInputError(f"Invalid JSON in {where}: {error.msg}", "Delete the line to recompute it") from None
        row: R = from_json(self._row, record, where)
        return row

    def _difference(self, made_with: Any) -> str:
        """Return the first setting that differs, with both values."""
        old = made_with if isinstance(made_with, dict) else {}
        names = (name for name in {**old, **self._settings} if old.get(name) != self._settings.get(name))
        name = next(names, "")
        return f"{name} was {shortened(old.get(name))}, now {shortened(self._settings.get(name))}"


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
