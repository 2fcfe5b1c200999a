"""Drawings of a graph that a user saved in a KB's workspace."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kbkit.directory.generations import now
from kbkit.directory.saved_files import SavedFiles, check_texts
from kbkit.errors import KbError, check_unicode

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


class SavedViews(SavedFiles[SavedView]):
    """The saved views in a folder."""

    item, noun = SavedView, "view"

    def save(self, name: str, address: str, places: Mapping[str, Any]) -> None:
        """Save a view, replacing one of the same name. Raises :class:`KbError` for an invalid name or position."""
        check_unicode(address + "".join(places), "the view")
        if len(places) > MAX_PLACES or not all(map(_is_place, places.values())):
            raise KbError("Invalid positions of a view", f"Use up to {MAX_PLACES:,} lists of three numbers")
        self._write(SavedView(name, address, {node: list(place) for node, place in places.items()}, now()))

    def check(self, item: SavedView) -> None:
        """See :meth:`SavedFiles.check`."""
        check_texts(item.name, item.address, item.saved)
        if not all(map(_is_place, item.places.values())):
            raise TypeError("invalid positions")


def _is_place(place: object) -> bool:
    return (
        isinstance(place, list)
        and len(place) == 3
        and all(isinstance(number, int | float) and math.isfinite(number) for number in place)
    )
