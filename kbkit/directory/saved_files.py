"""What a user saves by name in a KB's workspace: a folder with a JSON file each."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from kbkit.directory import systems
from kbkit.directory.damage import check_plain
from kbkit.directory.files import write_files
from kbkit.errors import KbError, UnknownNameError, check_unicode

MAX_NAME_LENGTH = 100


class _Saved(Protocol):
    """A dataclass whose fields JSON can hold."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def name(self) -> str: ...


Item = TypeVar("Item", bound=_Saved)


def check_name(name: str, what: str) -> None:
    """Raise :class:`KbError` unless the name can be typed and listed."""
    if not name.strip() or not name.isprintable() or len(name) > MAX_NAME_LENGTH:
        raise KbError(f"Invalid name of a {what}: {name[:40]!r}", f"Use 1 to {MAX_NAME_LENGTH} printable characters")
    check_unicode(name, f"the name of a {what}")


class SavedFiles(Generic[Item]):
    """The items of a class in a folder, which the first write creates; ``noun`` names one in messages."""

    item: type[Item]
    noun: str

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def all(self) -> list[Item]:
        """Return all items, ordered by name."""
        paths = self.folder.glob("*.json") if self.folder.is_dir() else ()
        items = (self._read(path) for path in paths)
        return sorted((item for item in items if item is not None), key=lambda item: item.name)

    def find(self, name: str) -> Item | None:
        """Return the item of this name; None if there is none."""
        return self._read(self._path(name))

    def drop(self, name: str) -> None:
        """Delete an item, or raise :class:`UnknownNameError`."""
        try:
            systems.retry(self._path(name).unlink)
        except FileNotFoundError:
            raise UnknownNameError(f"saved {self.noun}", name, [item.name for item in self.all()]) from None
        except OSError as error:
            raise KbError(f"Cannot delete {self._path(name)}: {error.strerror}") from None

    def check(self, item: Item) -> None:
        """Raise ``TypeError`` unless the values of an item, as a file has them, are those of its class."""
        raise NotImplementedError

    def _write(self, item: Item) -> None:
        """Write an item, replacing one of the same name. Raises :class:`KbError` for an invalid name."""
        check_name(item.name, self.noun)
        write_files({self._path(item.name): json.dumps(asdict(item), ensure_ascii=False, indent=1) + "\n"})

    def _path(self, name: str) -> Path:
        check_unicode(name, f"the name of a {self.noun}")
        return self.folder / f"{systems.file_name(name)}.json"

    def _read(self, path: Path) -> Item | None:
        check_plain(path)
        try:
            item = self.item(**json.loads(path.read_text(encoding="utf-8")))
            self.check(item)
        except FileNotFoundError:  # also if it was deleted meanwhile
            return None
        except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
            message = f"Invalid saved {self.noun} {path}: {str(error).splitlines()[0]}"
            raise KbError(message, "Delete the file") from None
        return item


def check_texts(*values: object) -> None:
    """Raise ``TypeError`` unless all values are texts."""
    if not all(isinstance(value, str) for value in values):
        raise TypeError("a value is not text")
