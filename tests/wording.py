"""Snapshots of wording: what a front end says lives in one file, so that rewording touches one place.

A test checks facts (the type of an error, names, numbers, places) itself, and hands the whole text to the fixture
``wording``, which compares it with ``tests/snapshots/wording/<front end>.json``. ``pytest --update-wording`` writes
these files.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent / "snapshots" / "wording"
FRONT_ENDS = ("python", "cli", "shell")

Wording = Callable[..., None]
_KEY = "kbkit_wording"
_PORT = re.compile(r"127\.0\.0\.1:\d+")
_INSTALLED_FROM = re.compile(r"(?<=pip install ')[^'\[]+(?=\[)")
"""The checkout or the distribution, as kbkit was installed."""


@functools.cache  # half a thousand tests read them
def read(front_end: str) -> dict[str, str]:
    """The texts of a front end by test and number."""
    path = FOLDER / f"{front_end}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


class Recorder:
    """Compares the texts of one test, or keeps them."""

    def __init__(self, test: str, base: Path, kept: dict[str, dict[str, str]] | None) -> None:
        self._test, self._kept, self._count = test, kept, 0
        self._folder = re.compile(re.escape(str(base)) + r"(/popen-gw\d+)?/[\w.-]+")

    def __call__(self, text: str, front_end: str = "python", replace: dict[str, str] | None = None) -> None:
        """Check a text; ``replace`` maps what differs from run to run, beside temporary folders and ports, to words."""
        assert front_end in FRONT_ENDS
        self._count += 1
        key = f"{self._test} {self._count}"
        for changing, fixed in (replace or {}).items():
            text = text.replace(changing, fixed)
        text = _PORT.sub("127.0.0.1:PORT", self._folder.sub("DIR", text))
        text = _INSTALLED_FROM.sub("kbkit-kg", text)
        if self._kept is not None:
            self._kept.setdefault(front_end, {})[key] = text
            return
        known = read(front_end)
        assert key in known, f"no text is kept for {key}; run pytest --update-wording and read the difference"
        assert text == known[key], "if the new wording is better, run pytest --update-wording"


def start(config: pytest.Config) -> None:
    """Collect texts where ``--update-wording`` is given."""
    if config.getoption("--update-wording"):
        setattr(config, _KEY, {})


def finish(config: pytest.Config) -> None:
    """Write what was collected; a worker hands it to the process that started it."""
    kept: dict[str, dict[str, str]] | None = getattr(config, _KEY, None)
    if kept is None:
        return
    output: dict[str, Any] | None = getattr(config, "workeroutput", None)
    if output is not None:
        output[_KEY] = kept
        return
    for front_end, texts in kept.items():
        FOLDER.mkdir(parents=True, exist_ok=True)
        merged = dict(sorted({**read(front_end), **texts}.items()))
        text = json.dumps(merged, indent=1, ensure_ascii=False)
        (FOLDER / f"{front_end}.json").write_text(text + "\n", encoding="utf-8")


def gather(config: pytest.Config, output: dict[str, Any]) -> None:
    """Take what a worker collected."""
    kept = getattr(config, _KEY, None)
    if kept is not None:
        for front_end, texts in output.get(_KEY, {}).items():
            kept.setdefault(front_end, {}).update(texts)


@pytest.fixture
def wording(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Wording:
    """Compare a text with its snapshot: ``wording(str(error.value))``, ``wording(done.stderr, "cli")``."""
    test = request.node.nodeid.removeprefix("tests/")
    base = tmp_path_factory.getbasetemp()
    root = base.parent if base.name.startswith("popen-") else base
    return Recorder(test, root, getattr(request.config, _KEY, None))
