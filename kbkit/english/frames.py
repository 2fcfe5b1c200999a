"""The sentences and word lists of ``frames/``: one loader, one validator.

A file has lists of sentences by name in its table ``frames``, or tables of its own. Its table ``slots`` says what fills
each slot (``{things}``) of its sentences; a slot may have a form after a colon, a dot or an apostrophe (``{A:mod}``,
``{B.rest}``, ``{S's}``).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

FOLDER = Path(__file__).with_name("frames")
_SLOT = re.compile(r"\{(\w+)(?:[:.'][a-z]+)?\}")
_BRACKETS = ("{", "}"), ("[", "]")


@cache
def frame_file(name: str) -> Mapping[str, Any]:
    """Return the content of ``frames/NAME.toml`` without its table ``slots``; raise ``ValueError`` if it is invalid."""
    data = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    if faults := problems(data):
        raise ValueError(f"{name}.toml: {'; '.join(faults)}")
    data.pop("slots", None)
    return MappingProxyType(data)


def pool(name: str, frame: str) -> list[str]:
    """Return the sentences of one name in the table ``frames`` of a file."""
    sentences: list[str] = frame_file(name)["frames"][frame]
    return sentences


def problems(data: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with the content of a file of frames."""
    slots = data.get("slots", {})
    texts = list(_texts({key: value for key, value in data.items() if key != "slots"}, ""))
    used = {slot for _, text in texts for slot in _SLOT.findall(text)}
    faults = [f"nothing uses the slot {{{slot}}}" for slot in slots if slot not in used]
    faults += [f"{where}: {problem}" for where, text in texts for problem in _problems_of(text, slots)]
    return faults


def _problems_of(text: str, slots: Mapping[str, str]) -> Iterator[str]:
    if not text.strip() and text:
        yield "empty text"
    for opening, closing in _BRACKETS:
        if text.count(opening) != text.count(closing):
            yield f"unpaired bracket in {text!r}"
    for slot in _SLOT.findall(text):
        if slot not in slots:
            yield f"unknown slot {{{slot}}} in {text!r}"
    if "{" in _SLOT.sub("", text) and slots:
        yield f"invalid slot in {text!r}"


def _texts(value: object, where: str) -> Iterator[tuple[str, str]]:
    """Yield all texts with their places: ``roles.student.things[2]``."""
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _texts(inner, f"{where}.{key}" if where else key)
    elif isinstance(value, list):
        if not value:
            yield where, " "
        for number, inner in enumerate(value):
            yield from _texts(inner, f"{where}[{number}]")
