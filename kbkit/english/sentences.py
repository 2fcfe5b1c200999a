"""Split English text into sentences."""

from __future__ import annotations

import re

_END = re.compile(r"(?<=[.!?])([\"')\]]*)\s+(?=[\"'(\[]*[A-Z0-9À-Þ])|(?<!\s)\s*\n\s*")
_ABBREVIATION = re.compile(
    r"(?:\b(?:[A-Z]|[Dd]r|[Mm]rs?|[Mm]s|[Ss]t|vs|etc|e\.g|i\.e|al|[Ff]ig|[Nn]o|ca|approx|Inc|Ltd|Jr|Sr))\.$"
)


def sentences(text: str) -> list[tuple[int, int]]:
    """Return the start and the end of each sentence. Sentences end at a period before a capital, and at line ends."""
    spans = []
    start = 0
    for match in _END.finditer(text):
        if "\n" not in match[0] and _ABBREVIATION.search(text, max(start, match.start() - 10), match.start()):
            continue
        spans.append((start, match.end(1) if match[1] else match.start()))
        start = match.end()
    spans.append((start, len(text)))
    trimmed = ((s + len(text[s:e]) - len(text[s:e].lstrip()), s + len(text[s:e].rstrip())) for s, e in spans)
    return [(s, e) for s, e in trimmed if e > s]
