"""Label Studio's files: tasks with predictions (JSON), the labelling interface (XML), and exported annotations.

The choices of a question are part of each task's data, because they can differ: the sentences of a document, for
example. A choice is shown with its meaning and saved as what the task of kbkit calls it.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Sequence
from typing import Any
from xml.sax.saxutils import quoteattr

from kbkit.benchmarks.people.slots import AnnotatedItem, ShownItem, all_slots
from kbkit.errors import BadInputError

TASKS, CONFIG = "tasks.json", "config.xml"
_ITEM = "item"
"""Name of the shown text, which the answers are about."""


def task_files(items: Sequence[ShownItem], title: str) -> dict[str, str]:
    """Return the files of a task: judgements of the rater are predictions, which annotators see and can change."""
    names = list(all_slots(items))
    tasks = [_task(item, names) for item in items]
    return {TASKS: json.dumps(tasks, ensure_ascii=False, indent=1) + "\n", CONFIG: _config(items, title)}


def _task(item: ShownItem, names: Sequence[str]) -> dict[str, Any]:
    own = {slot.name: slot for slot in item.slots}
    data: dict[str, Any] = {"item": item.name, "title": item.title, "text": item.text}
    for name in names:
        slot = own.get(name)
        data[f"{name}_text"] = slot.text if slot else ""
        data[name] = [_choice(key, meaning) for key, meaning in slot.choices.items()] if slot else []
    results = [
        {
            "id": f"{_ITEM}_{name}",
            "from_name": name,
            "to_name": _ITEM,
            "type": "choices",
            "value": {"choices": list(chosen)},
        }
        for name, chosen in item.chosen.items()
        if chosen
    ]
    return {"data": data, **({"predictions": [{"model_version": item.who, "result": results}]} if results else {})}


def _choice(key: str, meaning: str) -> dict[str, str]:
    return {"value": key, "html": html.escape(f"{key}: {meaning}" if meaning else key)}


def _config(items: Sequence[ShownItem], title: str) -> str:
    lines = ["<View>", f"  <Header value={quoteattr(title)}/>", '  <Header value="$title" size="4"/>']
    lines.append(f'  <Text name="{_ITEM}" value="$text"/>')
    for name, slots in all_slots(items).items():
        kind = "multiple" if slots[0].several else "single"
        lines.append(f'  <Header value="${name}_text" size="5"/>')
        lines.append(f'  <Choices name="{name}" toName="{_ITEM}" choice="{kind}" value="${name}"/>')
    return "\n".join([*lines, "</View>", ""])


# -- exported annotations ---------------------------------------------------------------------------------------------


def annotated_items(tasks: Sequence[Any], where: str) -> Iterator[AnnotatedItem]:
    """Yield the annotations of an export (JSON), without cancelled ones. Raises :class:`BadInputError`."""
    for number, task in enumerate(tasks, 1):
        place = f"{where}, task {number}"
        data = task.get("data") if isinstance(task, dict) else None
        name = data.get("item") if isinstance(data, dict) else None
        if not isinstance(name, str):
            raise BadInputError(f"No data.item in {place}", "Annotate tasks that kbkit exported")
        annotations = task.get("annotations") or []
        if not isinstance(annotations, list) or not all(isinstance(annotation, dict) for annotation in annotations):
            raise BadInputError(f"Invalid annotations in {place}", "Export JSON, not JSON-MIN")
        for annotation in annotations:
            if not annotation.get("was_cancelled"):
                seconds = annotation.get("lead_time")
                took = float(seconds) if isinstance(seconds, int | float) and 0 <= seconds < 1e9 else 0.0
                yield AnnotatedItem(
                    name, _annotator(annotation.get("completed_by")), dict(_chosen(annotation, place)), took
                )


def _annotator(completed_by: Any) -> str:
    """Return who annotated: the address or, if the export has only that, the number."""
    if isinstance(completed_by, dict):
        completed_by = completed_by.get("email") or completed_by.get("id")
    return str(completed_by) if completed_by is not None else "unknown"


def _chosen(annotation: dict[str, Any], place: str) -> Iterator[tuple[str, list[str]]]:
    results = annotation.get("result") or []
    for entry in results if isinstance(results, list) else [None]:
        fields = entry if isinstance(entry, dict) else {}
        name, value = fields.get("from_name"), fields.get("value")
        choices = value.get("choices") if isinstance(value, dict) else None
        if not isinstance(choices, list) or not isinstance(name, str):
            raise BadInputError(f"Invalid result in {place}", "Use the labelling interface that kbkit exported")
        yield name, [str(choice) for choice in choices]
