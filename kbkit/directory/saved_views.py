"""Drawings of a graph that a user saved in a KB's workspace, a JSON file each."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kbkit.directory import systems
from kbkit.directory.damage import check_plain
from kbkit.directory.files import write_files
from kbkit.directory.generations import now
from kbkit.directory.saved_queries import check_name
from kbkit.errors import KbError, UnknownNameError, check_unicode

MAX_PLACES = 2_000
"""Maximum number of positions in a view."""


@dataclass(frozen=True)
class SavedView:
    """A drawing: its ``address`` (the parameters of the page), the positions of nodes, and when it was saved (UTC).

    ``places`` maps a node (``type#key``) to its horizontal and vertical position in pixels, and 1 if it is pinned.
    """

    name: str
    address: str
    places: dict[str, list[float]]
    saved: str


class SavedViews:
    """The saved views in a folder, which the first write creates."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def all(self) -> list[SavedView]:
        """Return all saved views, ordered by name."""
        paths = self.folder.glob("*.json") if self.folder.is_dir() else ()
        found = (self._read(path) for path in paths)
        return sorted((view for view in found if view is not None), key=lambda view: view.name)

    def find(self, name: str) -> SavedView | None:
        """Return the view of this name; None if there is none."""
        return self._read(self._path(name))

    def save(self, name: str, address: str, places: Mapping[str, Any]) -> None:
        """Save a view, replacing one of the same name. Raises :class:`KbError` for an invalid name or position."""
        check_name(name, "view")
        check_unicode(address + "".join(places), "the view")
        if len(places) > MAX_PLACES or not all(map(_is_place, places.values())):
            raise KbError("Invalid positions of a view", f"Use up to {MAX_PLACES:,} lists of three numbers")
        view = SavedView(name, address, {node: list(place) for node, place in places.items()}, now())
        write_files({self._path(name): json.dumps(asdict(view), ensure_ascii=False, indent=1) + "\n"})

    def drop(self, name: str) -> None:
        """Delete a view, or raise :class:`UnknownNameError`."""
        try:
            systems.retry(self._path(name).unlink)
        except FileNotFoundError:
            raise UnknownNameError("saved view", name, [view.name for view in self.all()]) from None
        except OSError as error:
            raise KbError(f"Cannot delete {self._path(name)}: {error.strerror}") from None

    def _path(self, name: str) -> Path:
        check_unicode(name, "the name of a view")
        return self.folder / f"{systems.file_name(name)}.json"

    @staticmethod
    def _read(path: Path) -> SavedView | None:
        check_plain(path)
        try:
            view = SavedView(**json.loads(path.read_text(encoding="utf-8")))
            if not all(isinstance(text, str) for text in (view.name, view.address, view.saved)):
                raise TypeError("a value is not text")
            if not all(map(_is_place, view.places.values())):
                raise TypeError("invalid positions")
        except FileNotFoundError:  # also if it was deleted meanwhile
            return None
        except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
            raise KbError(f"Invalid saved view {path}: {str(error).splitlines()[0]}", "Delete the file") from None
        return view


def _is_place(place: object) -> bool:
    return (
        isinstance(place, list)
        and len(place) == 3
        and all(isinstance(number, int | float) and math.isfinite(number) for number in place)
    )
