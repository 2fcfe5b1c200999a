"""Queries that a user saved in a KB's workspace, a JSON file each."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from kbkit.directory import systems
from kbkit.directory.damage import check_plain
from kbkit.directory.files import write_files
from kbkit.directory.generations import now
from kbkit.errors import KbError, UnknownNameError, check_unicode

MAX_NAME_LENGTH = 100


@dataclass(frozen=True)
class SavedQuery:
    """A statement in ``sql``, ``sparql``, ``answers`` or ``search``, and when it was saved (UTC)."""

    name: str
    language: str
    statement: str
    saved: str


def check_name(name: str, what: str) -> None:
    """Raise :class:`KbError` unless the name can be typed and listed."""
    if not name.strip() or not name.isprintable() or len(name) > MAX_NAME_LENGTH:
        raise KbError(f"Invalid name of a {what}: {name[:40]!r}", f"Use 1 to {MAX_NAME_LENGTH} printable characters")
    check_unicode(name, f"the name of a {what}")


class SavedQueries:
    """The saved queries in a folder, which the first write creates."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def all(self) -> list[SavedQuery]:
        """Return all saved queries, ordered by name."""
        paths = self.folder.glob("*.json") if self.folder.is_dir() else ()
        found = (self._read(path) for path in paths)
        return sorted((query for query in found if query is not None), key=lambda query: query.name)

    def find(self, name: str) -> SavedQuery | None:
        """Return the query of this name; None if there is none."""
        return self._read(self._path(name))

    def save(self, name: str, language: str, statement: str) -> None:
        """Save a query, replacing one of the same name."""
        check_name(name, "query")
        check_unicode(statement, "the query")
        query = SavedQuery(name, language, statement, now())
        write_files({self._path(name): json.dumps(asdict(query), ensure_ascii=False, indent=1) + "\n"})

    def drop(self, name: str) -> None:
        """Delete a query, or raise :class:`UnknownNameError`."""
        try:
            systems.retry(self._path(name).unlink)
        except FileNotFoundError:
            raise UnknownNameError("saved query", name, [query.name for query in self.all()]) from None
        except OSError as error:
            raise KbError(f"Cannot delete {self._path(name)}: {error.strerror}") from None

    def _path(self, name: str) -> Path:
        return self.folder / f"{systems.file_name(name)}.json"

    @staticmethod
    def _read(path: Path) -> SavedQuery | None:
        check_plain(path)
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            query = SavedQuery(**data)
            if not all(isinstance(value, str) for value in data.values()):
                raise TypeError("a value is not text")
        except FileNotFoundError:  # also if it was deleted meanwhile
            return None
        except (OSError, ValueError, TypeError, RecursionError) as error:
            raise KbError(f"Invalid saved query {path}: {str(error).splitlines()[0]}", "Delete the file") from None
        return query
