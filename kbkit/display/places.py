"""The place of a node on a map, from its attributes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

_LATITUDES = ("latitude", "lat")
_LONGITUDES = ("longitude", "lon", "lng", "long")
_POINT = re.compile(r"point\s*\(\s*(-?[0-9.]+)\s+(-?[0-9.]+)\s*\)", re.IGNORECASE)


class Coordinates(NamedTuple):
    """A place on the earth in degrees; south and west are negative."""

    latitude: float
    longitude: float

    def __str__(self) -> str:
        north, east = "NS"[self.latitude < 0], "EW"[self.longitude < 0]
        return f"{abs(self.latitude):.2f}° {north}, {abs(self.longitude):.2f}° {east}"


def coordinates(attributes: Mapping[str, Any]) -> Coordinates | None:
    """Return the place that attributes give: a latitude and a longitude, or a point in the notation of WKT; or None."""
    known = {name.lower(): value for name, value in attributes.items()}
    latitude = next((known[name] for name in _LATITUDES if name in known), None)
    longitude = next((known[name] for name in _LONGITUDES if name in known), None)
    found = _place(latitude, longitude)
    if found is None:
        for value in attributes.values():
            first = value[0] if isinstance(value, list) and value else value
            point = _POINT.search(first) if isinstance(first, str) else None
            found = found or (_place(point[2], point[1]) if point else None)
    return found


def _place(latitude: Any, longitude: Any) -> Coordinates | None:
    try:
        place = Coordinates(float(latitude), float(longitude))
    except (TypeError, ValueError):
        return None
    return place if -90 <= place.latitude <= 90 and -180 <= place.longitude <= 180 else None
