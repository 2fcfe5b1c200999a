"""Checks of readers that hostile files try to stop: text that repeats, and files with some bytes changed."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from kbkit.errors import BadInputError

_MOST_SECONDS = 10
"""Limit on the processor time of a file that a linear reader takes less than a second for."""


def check_linear(read: Callable[[Path], object], path: Path, text: str, *, may_refuse: bool = True) -> None:
    """Check that a long text is read, or with ``may_refuse`` refused with the file's name, in time that grows with its
    length.
    """
    path.write_text(text, encoding="utf-8")
    before = time.process_time()
    try:
        read(path)
    except BadInputError as error:
        assert may_refuse
        assert str(path) in str(error)
    assert time.process_time() - before < _MOST_SECONDS


def changed(content: bytes, parts: Sequence[bytes], seed: int, count: int = 500) -> Iterator[bytes]:
    """Yield a file ``count`` times, each with up to seven places where bytes are replaced by one of ``parts``."""
    chosen = random.Random(seed)
    for _ in range(count):
        text = bytearray(content)
        for _ in range(chosen.randrange(1, 8)):
            at = chosen.randrange(len(text))
            text[at : at + chosen.randrange(4)] = chosen.choice(parts)
        yield bytes(text)
