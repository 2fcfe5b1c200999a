"""The prompts of the testbeds, and the answers in the replies of models."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from kbkit.benchmarks.ska.testbeds import REJECTION
from kbkit.directory.files import parse_json
from kbkit.measures.lists import refuses

ANSWER, REJECT = PROMPTS = ("ska_answer", "ska_reject")


def name_of(testbed: str) -> str:
    """Return the name of the prompt of a testbed."""
    return REJECT if testbed == REJECTION else ANSWER


# -- replies ----------------------------------------------------------------------------------------------------------

_KEYS = ("answer", "answers", "Answer", "Answers")
_MAX_BRACES, _MAX_REPLY = 400, 100_000
_LOOSE = re.compile(
    r"""["'“]?answers?["'”]?\s*[:=]\s*(?P<list>\[[^\]\n]*\]?|"[^"\n]*"|'[^'\n]*'|[^}\n]+)""", re.IGNORECASE
)
_ITEM = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^,]+))\s*(?:,|$)""")
_LEAD = re.compile(
    r"^(?:[-*>#\s]|\d+[.)]\s)*(?:\*\*)?(?:the |final |my )*answers?(?: is| are)?\s*(?:\*\*)?\s*[:=]\s*", re.IGNORECASE
)
_MARKS = " \t*`_>#"


def answers(reply: str) -> list[str]:
    """Return the answers in the reply of a model, as lenient as a person: an empty list for none.

    The last JSON object with an ``answer`` counts; else the last such pair that is not valid JSON (single quotes,
    missing brackets), a JSON list on the last line, a refusal, or the text of the last line.
    """
    text = reply.strip()[-_MAX_REPLY:]
    if not text:
        return []
    for value in _objects(text):
        return _flat(value)
    if loose := list(_LOOSE.finditer(text)):
        return _split(loose[-1]["list"])
    lines = [stripped for stripped in (line.strip(_MARKS) for line in text.splitlines()) if stripped]
    last = lines[-1] if lines else text
    if last.startswith("["):
        return _split(last)
    if refuses([text]):
        return [text]
    return [_LEAD.sub("", last).strip(_MARKS)]


def verdict(reply: str) -> list[str]:
    """Return the answers in a reply to whether a question can be answered; ``true`` and ``false`` are yes and no."""
    said = {"true": "yes", "false": "no"}
    names = [said.get(answer.casefold(), answer) for answer in answers(reply)]
    first = re.match(r"(yes|no)\b", names[0], re.IGNORECASE) if len(names) == 1 else None
    return [first[1].lower()] if first else names


def _objects(text: str) -> Iterator[Any]:
    """Yield the answers of JSON objects in a text, the last first."""
    decoder = json.JSONDecoder()
    starts = [match.start() for match in re.finditer(r"\{", text)]
    for start in reversed(starts[-_MAX_BRACES:]):
        try:
            value, _ = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        for key in _KEYS:
            if isinstance(value, dict) and key in value:
                yield value[key]


def _flat(value: Any) -> list[str]:
    """Return answers from any JSON: numbers as text, lists in lists and lists in strings, objects by their texts."""
    if value is None:
        return []
    if isinstance(value, bool):
        return ["true" if value else "false"]
    if isinstance(value, dict):
        named = [value[key] for key in ("name", "answer", "value", "text") if key in value]
        return _flat(named[0] if named else list(value.values()))
    if isinstance(value, list):
        return [one for element in value for one in _flat(element)]
    if isinstance(value, str):
        inner = value.strip()
        return _split(inner) if inner[:1] == "[" and inner[-1:] == "]" else [inner] if inner else []
    return [repr(value)]


def _split(text: str) -> list[str]:
    """Return the elements of a list that may be JSON, Python, or words between commas; other text is one element."""
    text = text.strip()
    try:
        value = parse_json(text)
        return _flat(value) if not isinstance(value, str) else [value]
    except (ValueError, RecursionError):
        pass
    if not text.startswith("["):
        return [element] if (element := text.strip(" \t\"'}.`*")) else []
    items = _ITEM.finditer(text.removeprefix("[").removesuffix("]"))
    elements = ((one[1] or one[2] or one[3] or "").strip(" \t\"'}]`*") for one in items)
    return [one for one in elements if one]
