"""Units as text: the input of models for an instance (Figures 15 to 22 of the paper).

Units are JSON strings in the user's message, so that no text of a unit, whatever its line breaks and quotes, is taken
for a part of the instructions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kbkit.benchmarks.ska.instances import PASSAGE, ROW, TRIPLE, Instance, KnowledgeUnit


def inputs(instance: Instance, units: Sequence[KnowledgeUnit]) -> dict[str, Any]:
    """Return the inputs of a prompt: the units as lines, in their order, and the question."""
    lines = {kind: [line(unit) for unit in units if unit.kind == kind] for kind in (TRIPLE, ROW, PASSAGE)}
    knowledge: dict[str, Any] = {}
    if instance.header:
        title = {"title": instance.title} if instance.title else {}
        knowledge["table"] = {**title, "header": cells(instance.header), "rows": lines[ROW]}
    else:
        knowledge["triples"] = lines[TRIPLE]
    if "text" in instance.form:
        knowledge["texts"] = lines[PASSAGE]
    return {"knowledge": knowledge, "question": instance.question}


def line(unit: KnowledgeUnit) -> str:
    """Return a unit as text: ``(head, relation, tail)``, ``[cell|cell]`` or ``title: text``."""
    if unit.kind == ROW:
        return cells(unit.content)
    return f"({', '.join(unit.content)})" if unit.kind == TRIPLE else ": ".join(filter(None, unit.content))


def cells(row: Sequence[str]) -> str:
    """Return a row as text; a ``|`` in a cell gets a backslash."""
    return f"[{'|'.join(cell.replace('|', chr(92) + '|') for cell in row)}]"
