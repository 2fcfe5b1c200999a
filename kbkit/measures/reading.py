"""Reads text and JSON; what cannot be read is a user's error that names the line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kbkit.errors import INVALID_UNICODE, INVALID_UNICODE_HINT, BadInputError


def content(path: Path) -> bytes:
    """A file's bytes without a byte order mark; raises :class:`BadInputError` if it is empty or not UTF-8."""
    text = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    try:
        text.decode()
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise BadInputError(f"{path}, line {line}: this is not UTF-8", "convert it, e.g. with iconv") from None
    if not text.strip():
        raise BadInputError(f"{path} is empty", "was it written to the end?")
    return text


def load(text: str, where: str) -> Any:
    """Parse JSON; raises :class:`BadInputError` that begins with ``where``."""
    try:
        value = json.loads(text)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}" if "\n" in text.strip() else f"column {error.colno}"
        raise BadInputError(f"{where}: this is not JSON ({error.msg}, {place})", "write one JSON value") from None
    except RecursionError:
        raise BadInputError(f"{where}: nested too deep", "records hold values and lists of values") from None
    except UnicodeEncodeError:
        raise BadInputError(f"{where}: {INVALID_UNICODE}", INVALID_UNICODE_HINT) from None
    except ValueError as error:
        raise BadInputError(f"{where}: {str(error).partition(':')[0]}", "write shorter numbers") from None
    return value
