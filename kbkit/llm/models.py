"""Open models by name: ``MODEL@URL``, ``replay:FILE``, ``MODEL@replay:FILE``, ``none``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kbkit.errors import Command, KbError, UnknownNameError
from kbkit.llm import recording
from kbkit.llm.cache import Cache
from kbkit.llm.calls import Calls
from kbkit.llm.client import EXAMPLE, Model
from kbkit.llm.openai_compatible import OpenAIModel
from kbkit.llm.recording import Replay


def open_models(names: Sequence[str]) -> list[Model]:
    """Open models by name, in this order; ``none`` alone gives no model.

    ``replay:FILE`` opens all models of a recording, in order of first appearance; ``MODEL@replay:FILE`` opens one.
    """
    if list(names) == ["none"]:
        return []
    models = [model for name in names for model in _open(name)]
    seen: set[str] = set()
    for model in models:
        if model.name in seen:
            raise KbError(f"Duplicate model {model.name!r}", "Calls are cached by this name: use only one of them")
        seen.add(model.name)
    return models


def open_calls(models: Sequence[Model], cache: Path | None = None, **options: Any) -> Calls:
    """Return calls to models, cached in a file (None: in memory); ``options`` are those of :class:`Calls`.

    Recordings use no cache, so that they also replay on a read-only disk.
    """
    recorded = all(isinstance(model, Replay) for model in models)
    return Calls(models, Cache(None if recorded else cache), **options)


def _open(name: str) -> list[Model]:
    if name == "none":
        raise KbError("Model 'none' cannot be combined with other models", "Use it alone")
    if match := re.fullmatch(r"(?:(.+)@)?replay:(.+)", name, re.DOTALL):
        return _replay(match[1], Path(match[2]))
    if match := re.fullmatch(r"(.+)@(https?://.*)", name, re.DOTALL | re.IGNORECASE):
        return [OpenAIModel(match[1], match[2])]
    raise KbError(f"Invalid model {name!r}", f"Use a model such as {EXAMPLE}, replay:calls.jsonl or none")


def _replay(model: str | None, file: Path) -> list[Model]:
    calls = list(recording.read(file))
    names = list(dict.fromkeys(call.model for call in calls))
    if not names:
        raise KbError(f"No calls in {file}", "Create recordings with ", Command("llm export"))
    if model is not None and model not in names:
        raise UnknownNameError("model", model, names, str(file))
    return [Replay(name, file, calls) for name in ([model] if model else names)]
