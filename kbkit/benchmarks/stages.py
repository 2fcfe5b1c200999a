"""The tables of a run's stages, each of which takes up where it stopped.

A table is ``OUT/stages/NAME.jsonl``: a first line with the settings of the run, then a row for each thing done, in the
order of the work. Rows are appended as they are done, so that what an interrupted run did is kept.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kbkit.directory import systems
from kbkit.directory.systems import exclusive
from kbkit.errors import BadInputError, KbError

Row = dict[str, Any]
Work = Callable[[list[Row]], list[Row]]
"""Takes rows with an ``id`` and gives a row with the same ``id`` for each, in order."""
_OTHER = "give another --out, or the settings of then to go on; --replace begins anew"


class Stage:
    """One stage's table. ``settings`` are all that its rows depend on."""

    def __init__(self, out: Path, name: str, settings: Mapping[str, Any]) -> None:
        self.path = out / "stages" / f"{name}.jsonl"
        self._settings = json.loads(_line(dict(settings)))

    def run(
        self, todo: Sequence[Row], work: Work, step: int = 200, progress: Callable[[int, int], None] | None = None
    ) -> list[Row]:
        """Do what is not done yet, ``step`` rows at a time; returns all rows, in the order of ``todo``.

        Raises :class:`KbError` if the table is there and was made with other settings.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            done = {row["id"]: row for row in self._kept()}
            left = [row for row in todo if row["id"] not in done]
            with self.path.open("a", encoding="utf-8", newline="\n") as file:
                for start in range(0, len(left), step):
                    if progress:
                        progress(len(todo) - len(left) + start, len(todo))
                    rows = work(left[start : start + step])
                    file.writelines(_line(row) + "\n" for row in rows)
                    file.flush()
                    done.update((row["id"], row) for row in rows)
                systems.sync(file.fileno())
        except OSError as error:
            raise KbError(f"{self.path} cannot be written: {error.strerror or error}") from None
        if progress:
            progress(len(todo), len(todo))
        return [done[row["id"]] for row in todo]

    def once(self, make: Callable[[], list[Row]]) -> list[Row]:
        """The rows of the table, or where it is not there those that ``make`` gives, all at once."""
        if self.path.exists():
            return self._kept(whole=True)
        rows = make()
        aside = self.path.with_name(f".{self.path.name}.new")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with aside.open("w", encoding="utf-8", newline="\n") as file:
                file.writelines(_line(row) + "\n" for row in [{"settings": self._settings, "rows": len(rows)}, *rows])
                file.flush()
                systems.sync(file.fileno())
            systems.replace(aside, self.path)
        except OSError as error:
            raise KbError(f"{self.path} cannot be written: {error.strerror or error}") from None
        return rows

    def _kept(self, *, whole: bool = False) -> list[Row]:
        """The rows that are there, without a last line that a killed run left half; begins the table if it is new.

        A table that was written ``whole`` says how many rows it has.
        """
        text = self.path.read_bytes() if self.path.exists() else b""
        lines = text[: text.rfind(b"\n") + 1]
        if not lines and not whole:
            self.path.write_text(_line({"settings": self._settings}) + "\n", encoding="utf-8", newline="\n")
            return []
        if len(lines) < len(text) and not whole:
            os.truncate(self.path, len(lines))
        try:
            first, *rows = [json.loads(line) for line in lines.decode().split("\n")[:-1]]
            made_with = first["settings"]
            unique: dict[str, Row] = {row["id"]: row for row in rows}  # of two runs at once, either did the same
            complete = not whole or first.get("rows") == len(unique)
        except (ValueError, TypeError, KeyError, RecursionError):
            raise BadInputError(f"{self.path} is no table of a stage", "remove it, and it is made anew") from None
        if made_with != self._settings:
            raise KbError(f"{self.path} was made with other settings: {self._differs(made_with)}", _OTHER)
        if not complete:
            raise BadInputError(f"{self.path} has lost some of its rows", "remove it, and it is made anew")
        return list(unique.values())

    def _differs(self, made_with: Any) -> str:
        """The first setting that is not as it was."""
        old = made_with if isinstance(made_with, dict) else {}
        for name in {**old, **self._settings}:
            if old.get(name) != self._settings.get(name):
                return f"{name} was {_short(old.get(name))} and is {_short(self._settings.get(name))}"
        return "they differ"


def remove(out: Path) -> None:
    """Remove the tables of a run's stages, and nothing else that may lie in their folder."""
    folder = out / "stages"
    try:
        for path in folder.glob("[0-9]_*.jsonl"):
            systems.remove(path)
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
    except OSError as error:
        raise KbError(f"{error.filename or folder} cannot be removed: {error.strerror or error}") from None


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def _line(row: Row) -> str:
    return json.dumps(row, ensure_ascii=False, separators=(", ", ": "))


def has_tables(out: Path) -> bool:
    """Whether a run has written to a folder."""
    return any((out / "stages").glob("[0-9]_*.jsonl"))


def refuse_foreign(out: Path, files: Iterable[str]) -> None:
    """Raise :class:`KbError` where a folder has one of a dataset's ``files``, and no tables of a run that made it."""
    if not has_tables(out) and any((out / name).exists() for name in files):
        raise KbError(f"{out} holds a dataset that was not made here", "give another --out, or --replace")


@contextlib.contextmanager
def locked(out: Path) -> Iterator[None]:
    """Keep other runs out of a dataset's folder, which is made; one that stays empty goes again.

    Raises :class:`LockedError` while another run holds it. The lock is the process's: the system drops it when it dies.
    """
    folder = out / "stages"
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    with contextlib.ExitStack() as held:
        held.callback(_remove_empty, new)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            held.enter_context(
                exclusive(folder / "lock", f"another run writes to {out}", "wait for it, or give another --out")
            )
        except OSError as error:
            raise KbError(f"{error.filename or folder} cannot be written: {error.strerror or error}") from None
        yield


def _remove_empty(folders: Sequence[Path]) -> None:
    """Remove folders, the innermost first, as far as they are empty."""
    with contextlib.suppress(OSError):
        for path in folders:
            path.rmdir()
