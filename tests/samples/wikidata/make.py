"""Write the sample of the recipe `wikidata`, entities.json: the same bytes each time."""

from __future__ import annotations

import json
from pathlib import Path

from .classes import CLASSES
from .people import PEOPLE
from .places import PLACES
from .properties import PROPERTIES
from .works import LEXEMES, WORKS

FILE = Path(__file__).parents[3] / "ingest" / "wikidata" / "sample" / "entities.json"


def text() -> str:
    """Give the file's text: an array with an entity on each line, items first."""
    made = [[make() for make in part] for part in (CLASSES + PEOPLE + PLACES + WORKS, LEXEMES, PROPERTIES)]
    entities = [entity for part in made for entity in sorted(part, key=lambda entity: int(entity["id"][1:]))]
    return "[\n" + ",\n".join(json.dumps(entity, separators=(",", ":")) for entity in entities) + "\n]\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
    print(f"{FILE}: {FILE.stat().st_size:,} bytes")
