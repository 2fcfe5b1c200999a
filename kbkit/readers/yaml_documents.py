"""Read the documents of YAML files as the values of JSON.

The files are untrusted: tags of programs are refused, and aliases may not make a document much larger than its text.
"""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import Any

from kbkit.errors import BadInputError, reason
from kbkit.readers.columns import text

MAX_BYTES = 16 << 20
"""Maximum bytes of a file, decompressed: PyYAML takes some seconds for a megabyte."""
_MOST_VALUES = 5_000_000
_DEEPEST = 100


def read(path: Path) -> list[Any]:
    """Return the documents of a file. Raises :class:`BadInputError` for invalid and large files."""
    import yaml

    try:
        with gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            hint = f"The maximum of YAML is {MAX_BYTES:,} bytes. Convert it to JSON"
            raise BadInputError(f"{path} is too large", hint)
        documents = list(yaml.load_all(content, getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or type(error).__name__
        where = f"{path}, line {mark.line + 1}" if mark else str(path)
        raise BadInputError(f"Invalid YAML: {problem} in {where}", "Correct it, or convert it to JSON") from None
    except (OSError, EOFError, zlib.error) as error:
        raise BadInputError(f"Cannot read {path}: {reason(error)}") from None
    budget = [_MOST_VALUES]
    return [_plain(one, path, budget) for one in documents]


def _plain(value: Any, path: Path, budget: list[int], depth: int = 0) -> Any:
    """Return a value of JSON: keys, dates and binary data are text."""
    budget[0] -= 1
    if budget[0] < 0 or depth > _DEEPEST:
        raise BadInputError(f"{path} is too large", "Its aliases repeat too much. Convert it to JSON")
    if isinstance(value, dict):
        return {text(name): _plain(one, path, budget, depth + 1) for name, one in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(one, path, budget, depth + 1) for one in value]
    return value if value is None or isinstance(value, bool | int | float | str) else text(value)
