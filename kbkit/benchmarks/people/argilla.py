"""Argilla's files: a dataset as ``Dataset.to_disk`` writes it, and its records with responses.

Labels of a question are the same for all records in Argilla; where the choices of a task differ by item, they are
numbers whose meaning the text of the record says.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from kbkit.benchmarks.people.slots import AnnotatedItem, AnnotationSlot, ShownItem, all_slots
from kbkit.errors import BadInputError

RECORDS = "records.json"
SETTINGS, DATASET = ".argilla/settings.json", ".argilla/dataset.json"
NONE = "none of these"
"""A further label where there would be only one: Argilla needs two."""
_FEW = 3
"""Labels from which Argilla can hide some."""
_SERVER = ("id", "inserted_at", "updated_at", "dataset_id")
"""What a server sets."""


def dataset_files(items: Sequence[ShownItem], title: str) -> dict[str, str]:
    """Return the files of a dataset: judgements of the rater are suggestions."""
    known = all_slots(items)
    required = next((name for name, same_name in known.items() if _is_always_asked(same_name, items)), "")
    settings = {
        "guidelines": title,
        "questions": [_question(name, same_name, required=name == required) for name, same_name in known.items()],
        "fields": [_field("title", required=False), _field("text", required=True)],
        "vectors": [],
        "metadata": [],
        "allow_extra_metadata": True,
        "distribution": {"strategy": "overlap", "min_submitted": 1},
        "mapping": None,
    }
    dataset = {
        **dict.fromkeys(("id", "inserted_at", "updated_at", "distribution", "workspace_id", "last_activity_at")),
        "name": title,
        "status": "draft",
        "guidelines": title,
        "allow_extra_metadata": True,
    }
    records = [_record(item, known) for item in items]
    return {name: json.dumps(value, ensure_ascii=False, indent=1) + "\n"
            for name, value in ((RECORDS, records), (SETTINGS, settings), (DATASET, dataset))}  # fmt: skip


def _is_always_asked(slots: Sequence[AnnotationSlot], items: Sequence[ShownItem]) -> bool:
    return len(slots) == len(items) and not any(slot.optional or slot.name in ("instead", "rows") for slot in slots)


def _differ(slots: Sequence[AnnotationSlot]) -> bool:
    return any(slot.choices != slots[0].choices for slot in slots)


def _question(name: str, slots: Sequence[AnnotationSlot], *, required: bool) -> dict[str, Any]:
    labels: dict[str, str] = {}
    for slot in slots:
        for key, meaning in slot.choices.items():
            labels.setdefault(key, f"{key}: {meaning}" if meaning and not _differ(slots) else key)
    if len(labels) == 1:
        labels[NONE] = NONE
    kind = "multi_label_selection" if slots[0].several else "label_selection"
    options = [{"value": key, "text": text[:500]} for key, text in labels.items()]
    texts = {slot.text for slot in slots}
    return {
        **dict.fromkeys(_SERVER),
        "name": name,
        "title": (texts.pop() if len(texts) == 1 else f"{name}: see the text")[:500],
        "description": None,
        "required": required,
        "type": kind,
        "settings": {
            "type": kind,
            "options": options,
            "visible_options": len(options) if len(options) >= _FEW else None,
            **({"options_order": "natural"} if slots[0].several else {}),
        },
    }


def _field(name: str, *, required: bool) -> dict[str, Any]:
    return {
        **dict.fromkeys(_SERVER),
        "name": name,
        "title": name,
        "required": required,
        "description": None,
        "type": "text",
        "settings": {"type": "text", "use_markdown": False},
    }


def _record(item: ShownItem, known: dict[str, list[AnnotationSlot]]) -> dict[str, Any]:
    differing = [
        slot for slot in item.slots if _differ(known[slot.name]) or len({s.text for s in known[slot.name]}) > 1
    ]
    further = [line for slot in differing for line in _spelled(slot)]
    several = {slot.name for slot in item.slots if slot.several}
    return {
        "id": item.name,
        "fields": {"title": item.title, "text": "\n".join([item.text, *further])},
        "metadata": {},
        "suggestions": {
            name: {"value": list(chosen) if name in several else chosen[0], "score": None, "agent": item.who}
            for name, chosen in item.chosen.items()
            if chosen
        },
        "responses": {},
        "vectors": {},
    }


def _spelled(slot: AnnotationSlot) -> Iterator[str]:
    yield f"\n{slot.name}: {slot.text}"
    for key, meaning in slot.choices.items():
        yield f"  {key}: {meaning}" if meaning else f"  {key}"


# -- records with responses -------------------------------------------------------------------------------------------


def annotated_items(records: Sequence[Any], where: str) -> Iterator[AnnotatedItem]:
    """Yield the responses of each person to each record. Raises :class:`BadInputError`."""
    for number, record in enumerate(records, 1):
        place = f"{where}, record {number}"
        name, responses = (record.get("id"), record.get("responses")) if isinstance(record, dict) else (None, None)
        if not isinstance(name, str) or not isinstance(responses, dict | None):
            raise BadInputError(f"Invalid record in {place}", "Export the dataset with Dataset.to_disk")
        chosen: dict[str, dict[str, list[str]]] = {}
        for question, answers in (responses or {}).items():
            for one in answers if isinstance(answers, list) else [answers]:
                if not isinstance(one, dict):
                    raise BadInputError(f"Invalid response to {question} in {place}", "Export it with Dataset.to_disk")
                value = one.get("value")
                values = [str(part) for part in (value if isinstance(value, list) else [value]) if part is not None]
                if values != [NONE]:
                    chosen.setdefault(str(one.get("user_id")), {})[question] = values
        for person, own in chosen.items():
            yield AnnotatedItem(name, person, own)
