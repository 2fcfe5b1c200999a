"""Read files of categories given by the user: pairs of a category and a node."""

from __future__ import annotations

from pathlib import Path

from kbkit.directory.files import parse_json
from kbkit.errors import BadInputError

FILE_HINT = "Each line is category<TAB>key or name"


def category_pairs(path: Path) -> list[tuple[str, str]]:
    """Read (category, node) per line: tab-separated, or JSON with ``category`` and ``title`` (or ``key``)."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"Cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    read = _json_pair if path.suffix.lower() in (".jsonl", ".ndjson") else _tab_pair
    rows = [read(line, f"{path}, line {position}") for position, line in enumerate(lines, 1) if line.strip()]
    pairs = [(" ".join(category.split()), node.strip()) for category, node in rows]
    if not pairs:
        raise BadInputError(f"No categories in {path}", FILE_HINT)
    return pairs


def _tab_pair(line: str, where: str) -> tuple[str, str]:
    category, _, node = line.rstrip("\r").partition("\t")
    if not category.strip() or not node.strip() or "\t" in node:
        raise BadInputError(f"No category and key separated by a tab in {where}", FILE_HINT)
    return category, node


def _json_pair(line: str, where: str) -> tuple[str, str]:
    try:
        row = parse_json(line)
    except (ValueError, RecursionError):
        raise BadInputError(f"Invalid JSON in {where}") from None
    values = (row.get("category"), row.get("key", row.get("title"))) if isinstance(row, dict) else (None, None)
    if not all(isinstance(value, str) and value.strip() for value in values):
        hint = 'Example: {"category": "French films", "title": "Alien"}'
        raise BadInputError(f"Missing category or title in {where}", hint)
    return str(values[0]), str(values[1])
