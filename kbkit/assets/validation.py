"""Validate documents (recipes, answers of language models) with JSON Schema, and explain the first problem."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from kbkit.errors import BadInputError, clipped, suggest

if TYPE_CHECKING:
    from jsonschema import ValidationError

_TYPES = {
    "string": "a string",
    "boolean": "true or false",
    "integer": "an integer",
    "number": "a number",
    "array": "a list",
    "object": "a table",
    "null": "null",
}


def validate(document: Any, schema: Mapping[str, Any], source: str) -> None:
    """Raise :class:`BadInputError` if ``document`` does not match ``schema``.

    The message names ``source``, the path in the document (``files.people.match``) and the problem; the hint names the
    closest valid key or value. The ``description`` of a subschema says which values are valid. References to other
    schemas are never fetched.
    """
    problem = find_problem(document, schema)
    if problem is not None:
        message, hint = problem
        raise BadInputError(f"{source}: {message}", *([hint] if hint else []))


def find_problem(document: Any, schema: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the (message, hint) of the most relevant problem, or None if ``document`` matches ``schema``."""
    from jsonschema.exceptions import best_match
    from jsonschema.validators import Draft202012Validator
    from referencing import Registry

    errors = list(Draft202012Validator(schema, registry=Registry()).iter_errors(document))
    # A misspelt key is often also a missing one: report the spelling.
    unknown = [error for error in errors if error.validator == "additionalProperties"]
    error = unknown[0] if unknown else best_match(errors)
    return None if error is None else _explain(error)


def _explain(error: ValidationError) -> tuple[str, str]:
    path = format_path(error.absolute_path)
    where = f" in {path}" if path else ""
    schema: Mapping[str, Any] = error.schema if isinstance(error.schema, Mapping) else {}
    instance: Any = error.instance
    rule: Any = error.validator_value
    if error.validator == "additionalProperties":
        known = list(schema.get("properties", {}))
        key = next(str(key) for key in instance if key not in known)
        return f"Unknown key {key!r}{where}", suggest(key, known)
    if error.validator == "required":
        key = next(key for key in rule if key not in instance)
        return f"Missing key {key!r}{where}", ""
    message = f"Invalid value {clipped(repr(instance), 80)}" + (f" for {path}" if path else "")
    if "description" in schema:
        return message, f"Use {schema['description']}"
    if error.validator == "type":
        kinds = [rule] if isinstance(rule, str) else rule
        return message, "Use " + " or ".join(_TYPES[kind] for kind in kinds)
    if error.validator == "enum" and isinstance(instance, str):
        return message, suggest(instance, map(str, rule))
    return f"{message}: {error.message}", ""


def format_path(parts: Iterable[str | int]) -> str:
    """Format a path in a document: ``downloads[0].url``."""
    text = ""
    for part in parts:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text
