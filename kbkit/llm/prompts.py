"""Prompts, and the answers to them.

A prompt is a Markdown file with TOML front matter between lines of ``+++``, which users can replace by their own. The
front matter has ``purpose`` (one line), ``inputs`` (a table from name to description), ``output`` (a JSON schema;
default: plain text), and optionally ``temperature``, ``top_p``, ``max_tokens``, and ``tools``, the input that lists
functions for servers with function calling. The Markdown is the system message. The inputs, as one JSON object, are the
user message, so that text of a KB is never part of the instructions.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from kbkit import assets
from kbkit.directory.files import parse_toml
from kbkit.errors import BadInputError, Command, KbError, UnknownNameError
from kbkit.llm.client import NO_ROOM, Message, ModelRequest, ModelTool, Reply

_PARTS = re.compile(r"\+\+\+[ \t]*\n(.*?)^\+\+\+[ \t]*(?:\n|\Z)(.*)", re.DOTALL | re.MULTILINE)
_FIELDS = ("purpose", "inputs", "output", "temperature", "top_p", "max_tokens", "tools")
_MAX_BYTES = 1 << 20
_EXAMPLE = ("Start from a shipped prompt: ", Command("llm prompts NAME"))
_JSON_ONLY = "Answer with JSON only, with nothing before or after it, of this schema:"


@dataclass(frozen=True)
class Prompt:
    """A prompt: ``body`` is the system message, ``schema`` the JSON schema of answers (None: plain text).

    ``left_out`` are inputs of the shipped prompt that a user's own prompt omits.
    """

    name: str
    purpose: str
    inputs: Mapping[str, str]
    schema: Mapping[str, Any] | None
    body: str
    temperature: float = 0.0
    top_p: float | None = None
    max_tokens: int = 1024
    tools: str = ""
    left_out: frozenset[str] = frozenset()

    @property
    def digest(self) -> str:
        """A hash that identifies this version of the prompt."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:12]

    def request(self, inputs: Mapping[str, Any], sample: int = 0) -> ModelRequest:
        """Return the call for these inputs. Raises :class:`KbError` for missing, unknown or non-JSON inputs."""
        known = self.inputs.keys() | self.left_out
        for name in inputs.keys() - known:
            raise UnknownNameError("input", name, self.inputs, f"the prompt {self.name}")
        values = {}
        for name in self.inputs:
            if name not in inputs:
                raise KbError(f"Missing input {name!r} of the prompt {self.name}", f"It is: {self.inputs[name]}")
            values[name] = inputs[name]
        messages = (Message("system", self._system()), Message("user", self._data(values)))
        listed = values[self.tools] if self.tools else ()
        tools = tuple(ModelTool(tool["name"], tool["argument"], tool["does"]) for tool in listed)
        return ModelRequest(messages, self.schema, self.temperature, self.top_p, self.max_tokens, sample, tools)

    def _system(self) -> str:
        if self.schema is None:
            return self.body
        return f"{self.body}\n\n{_JSON_ONLY}\n{json.dumps(self.schema, ensure_ascii=False)}"

    def _data(self, inputs: Mapping[str, Any]) -> str:
        try:
            text = json.dumps(inputs, ensure_ascii=False, indent=1, allow_nan=False)
            text.encode()
        except (ValueError, TypeError, RecursionError) as error:
            raise KbError(f"Cannot write an input of the prompt {self.name} as JSON: {error}") from None
        return text


def shipped() -> list[Prompt]:
    """Return all shipped prompts, sorted by name."""
    return [_read(path.stem, path) for path in _files().values()]


def path(name: str) -> Path:
    """Return the file of a shipped prompt. Raises :class:`UnknownNameError`."""
    files = _files()
    if name not in files:
        raise UnknownNameError("prompt", name, files)
    return files[name]


def load(name: str, own: Path | None = None) -> Prompt:
    """Load a prompt, or the user's ``own`` file that replaces it.

    The inputs of the user's file must be a subset of those of the shipped prompt, and its output must have the same
    properties.
    Raises :class:`UnknownNameError`, and :class:`BadInputError` with file and line.
    """
    standard = _read(name, path(name))
    if own is None:
        return standard
    prompt = _read(name, own)
    for unknown in prompt.inputs.keys() - standard.inputs.keys():
        raise UnknownNameError("input", unknown, standard.inputs, str(own))
    if _shape(prompt) != _shape(standard):
        hint = f"The output of the shipped prompt is {_shape(standard)}"
        raise BadInputError(f"Incompatible output in {own}: {_shape(prompt)}", hint)
    return replace(prompt, left_out=frozenset(standard.inputs.keys() - prompt.inputs.keys()))


def _files() -> dict[str, Path]:
    return {path.stem: path for path in sorted(assets.prompts().glob("*.md"))}


def _shape(prompt: Prompt) -> str:
    """Describe the output: the part of the schema that callers rely on."""
    return "plain text" if prompt.schema is None else _form(prompt.schema)


def _form(schema: Any) -> str:
    """Describe the types and properties of a schema: ``{score: number}``; optional ones end in ``?``."""
    if not isinstance(schema, Mapping):
        return "anything"
    if "properties" in schema:
        required = schema.get("required", ())
        parts = sorted(schema["properties"].items())
        inner = ", ".join(f"{name}{'' if name in required else '?'}: {_form(part)}" for name, part in parts)
        return f"{{{inner}}}"
    if "items" in schema:
        return f"[{_form(schema['items'])}]"
    return str(schema.get("type", "anything"))


def _read(name: str, file: Path) -> Prompt:
    text = _text(file)
    match = _PARTS.fullmatch(text)
    if not match:
        raise BadInputError(f"No front matter between lines of +++ in {file}, line 1", *_EXAMPLE)
    front, body = _front(match[1], file), match[2].strip()
    for field in front.keys() - set(_FIELDS):
        raise UnknownNameError("field", field, _FIELDS, str(file))
    if not body:
        raise BadInputError(f"No instructions after the front matter in {file}", *_EXAMPLE)
    return Prompt(
        name,
        _purpose(front, file),
        _inputs(front, file),
        _schema(front, file),
        body,
        _number(front, "temperature", 0.0, 2.0, file) or 0.0,
        _number(front, "top_p", 0.0, 1.0, file),
        _max_tokens(front, file),
        _tools(front, file),
    )


def _text(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            content = stream.read(_MAX_BYTES + 1)
        if len(content) > _MAX_BYTES:
            raise BadInputError(f"{file} has more than {_MAX_BYTES:,} bytes", *_EXAMPLE)
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        raise BadInputError(f"Cannot read {file}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise BadInputError(f"Invalid UTF-8 in {file}", "Convert it to UTF-8, for example with iconv") from None


def _front(text: str, file: Path) -> dict[str, Any]:
    try:
        return parse_toml(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        problem = str(error).partition(" (at ")[0]
        match = re.search(r"at line (\d+)", str(error))
        line = int(match[1]) + 1 if match else text.count("\n") + 1  # after the first line, +++
        raise BadInputError(f"Invalid TOML in {file}, line {line}: {problem}") from None


def _purpose(front: Mapping[str, Any], file: Path) -> str:
    purpose = front.get("purpose")
    if not isinstance(purpose, str) or not purpose.strip() or "\n" in purpose:
        raise BadInputError(f"Missing or invalid purpose in {file}", "Write one line of text")
    return purpose


def _inputs(front: Mapping[str, Any], file: Path) -> dict[str, str]:
    inputs = front.get("inputs")
    if not isinstance(inputs, dict) or not inputs or not all(isinstance(text, str) for text in inputs.values()):
        raise BadInputError(f"Missing or invalid inputs in {file}", "Write a table of name = 'description'")
    return inputs


def _schema(front: Mapping[str, Any], file: Path) -> Mapping[str, Any] | None:
    """Return the schema of the output. References are rejected, so that validation opens no address."""
    if "output" not in front:
        return None
    from jsonschema import SchemaError
    from jsonschema.validators import Draft202012Validator

    try:
        text = json.dumps(front["output"], allow_nan=False)
        Draft202012Validator.check_schema(front["output"])
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInputError(f"Invalid JSON schema output in {file}: {error}") from None
    except SchemaError as error:
        message = f"Invalid JSON schema output in {file}: {error.message} (at {error.json_path})"
        raise BadInputError(message) from None
    if re.search(r'"\$(?:ref|dynamicRef|schema|id)":', text):
        hint = "Inline it: $ref, $schema and $id are not supported"
        raise BadInputError(f"Reference to another schema in the output of {file}", hint)
    schema: dict[str, Any] = json.loads(text)
    return schema


def _number(front: Mapping[str, Any], field: str, low: float, high: float, file: Path) -> float | None:
    value = front.get(field)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise BadInputError(f"Invalid {field} {value!r} in {file}", f"Use a number from {low:g} to {high:g}")
    return float(value)


def _max_tokens(front: Mapping[str, Any], file: Path) -> int:
    value = front.get("max_tokens", 1024)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 1_000_000:
        raise BadInputError(f"Invalid max_tokens {value!r} in {file}", "Use an integer from 1 to 1,000,000")
    return value


def _tools(front: Mapping[str, Any], file: Path) -> str:
    name = front.get("tools", "")
    if name and (not isinstance(name, str) or name not in _inputs(front, file)):
        raise BadInputError(f"Invalid tools {name!r} in {file}", "Name one of the inputs")
    return str(name)


# -- answers ----------------------------------------------------------------------------------------------------------

_FENCE = re.compile(r"```[\w-]*[ \t]*\n(.*)```", re.DOTALL)
_THOUGHTS = ("<think>", "</think>")
_MAX_SHOWN = 200


class ModelAnswer(NamedTuple):
    """The answer of a model: parsed JSON, or text; ``value`` is None if there is a ``problem``."""

    value: Any
    problem: str = ""


def parse_reply(reply: Reply, schema: Mapping[str, Any] | None, max_tokens: int) -> ModelAnswer:
    """Parse a reply as text or as JSON of the schema. Invalid answers are reported, never repaired.

    Leading thoughts (``<think>``) and a code fence around JSON are removed. JSON is strict: no NaN or infinity, no
    duplicate name in an object, no unpaired surrogate.
    """
    text = reply.text.strip()
    if text.startswith(_THOUGHTS[0]) and _THOUGHTS[1] in text:
        text = text.partition(_THOUGHTS[1])[2].strip()
    if reply.cut:
        full = "the messages are longer than the context of the model"
        return ModelAnswer(None, full if reply == NO_ROOM else f"the answer was truncated at {max_tokens:,} tokens")
    if not text:
        return ModelAnswer(None, "the answer is empty")
    if schema is None:
        return ModelAnswer(text)
    fenced = _FENCE.fullmatch(text)
    try:
        value = _json(fenced[1] if fenced else text)
        problem = _violation(value, schema)
    except RecursionError:
        return ModelAnswer(None, "the answer is nested too deeply")
    except (ValueError, ArithmeticError) as error:
        return ModelAnswer(None, f"the answer is not valid JSON: {_short(str(error))}")
    return ModelAnswer(None, problem) if problem else ModelAnswer(value)


def complaint(reply: Reply, problem: str, schema: Mapping[str, Any] | None) -> tuple[Message, Message]:
    """Return the messages that request another answer: the invalid one, and its problem."""
    form = "with nothing but JSON of the schema above" if schema is not None else "shorter, and in full"
    text = f"That does not fit: {json.dumps(problem, ensure_ascii=False)}. Answer the same request again, {form}."
    return Message("assistant", reply.text or "(no answer)"), Message("user", text)


def _json(text: str) -> Any:
    value = json.loads(text, parse_constant=_reject, parse_float=_finite, object_pairs_hook=_distinct)
    json.dumps(value, ensure_ascii=False).encode()
    return value


def _reject(word: str) -> Any:
    raise ValueError(f"{word} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is too large")
    return value


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        [(name, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"duplicate name {name!r} in an object")
    return mapping


def _violation(value: Any, schema: Mapping[str, Any]) -> str:
    """Return how a value violates the schema (empty: it does not)."""
    from jsonschema.exceptions import best_match
    from jsonschema.validators import Draft202012Validator
    from referencing import Registry

    error = best_match(Draft202012Validator(schema, registry=Registry()).iter_errors(value))
    return "" if error is None else f"{_short(error.message)} (at {error.json_path})"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_SHOWN else f"{line[: _MAX_SHOWN // 2]} ... {line[-_MAX_SHOWN // 2 :]}"
