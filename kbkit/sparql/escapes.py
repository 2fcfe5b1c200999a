"""The escapes of strings, IRIs and code."""

from __future__ import annotations

import re

_ESCAPES = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}


def unescape(text: str) -> str:
    """Resolve the escapes of a string or an IRI."""

    def character(match: re.Match[str]) -> str:
        if match[1]:
            return _ESCAPES.get(match[1], match[1])
        code = int(match[2] or match[3], 16)
        return chr(code) if code <= 0x10FFFF else "\ufffd"

    return re.sub(r"""\\(?:([tbnrf"'\\])|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8}))""", character, text)
