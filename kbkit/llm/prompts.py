"""Prompts: Markdown files with TOML front matter between lines of ``+++``, which a user can replace by files of theirs.

The front matter says ``purpose`` (one line), ``inputs`` (a table: name -> what it is), ``output`` (a JSON schema;
without one the answer is plain text), and may say ``temperature``, ``top_p``, ``max_tokens``, and ``tools``: the input
that lists what a model may call where its server has calls of functions. The Markdown is the system message; the
inputs, as one JSON object, are the user's message, so that text of a KB is never part of the instructions.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kbkit import assets
from kbkit.errors import BadInputError, KbError, UnknownNameError, suggest
from kbkit.llm.client import Message, Request, Tool

_PARTS = re.compile(r"\+\+\+[ \t]*\n(.*?)^\+\+\+[ \t]*(?:\n|\Z)(.*)", re.DOTALL | re.MULTILINE)
_FIELDS = ("purpose", "inputs", "output", "temperature", "top_p", "max_tokens", "tools")
_MOST_BYTES = 1 << 20
_EXAMPLE = "kbkit llm prompts NAME prints one to start from"
_JSON_ONLY = "Answer with JSON only, with nothing before or after it, of this schema:"


@dataclass(frozen=True)
class Prompt:
    """A prompt: ``body`` is what the system message says, ``schema`` the JSON schema of answers (None: plain text).

    ``left_out`` are inputs of the shipped prompt that a user's own does not show to the model.
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
        """Tells versions of a prompt apart."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:12]

    def request(self, inputs: Mapping[str, Any], sample: int = 0) -> Request:
        """The call for these inputs. Raises :class:`KbError` for one that is missing, unknown or no JSON."""
        known = self.inputs.keys() | self.left_out
        for name in inputs.keys() - known:
            raise KbError(f"the prompt {self.name} has no input {name!r}", suggest(name, self.inputs))
        shown = {}
        for name in self.inputs:
            if name not in inputs:
                raise KbError(f"the prompt {self.name} lacks its input {name!r}", self.inputs[name])
            shown[name] = inputs[name]
        messages = (Message("system", self._system()), Message("user", self._data(shown)))
        listed = shown[self.tools] if self.tools else ()
        tools = tuple(Tool(tool["name"], tool["argument"], tool["does"]) for tool in listed)
        return Request(messages, self.schema, self.temperature, self.top_p, self.max_tokens, sample, tools)

    def _system(self) -> str:
        if self.schema is None:
            return self.body
        return f"{self.body}\n\n{_JSON_ONLY}\n{json.dumps(self.schema, ensure_ascii=False)}"

    def _data(self, inputs: Mapping[str, Any]) -> str:
        try:
            text = json.dumps(inputs, ensure_ascii=False, indent=1, allow_nan=False)
            text.encode()
        except (ValueError, TypeError, RecursionError) as error:
            raise KbError(f"an input of the prompt {self.name} is no JSON: {error}") from None
        return text


def shipped() -> list[Prompt]:
    """All prompts that ship with kbkit, by name."""
    return [_read(path.stem, path) for path in _files().values()]


def path(name: str) -> Path:
    """The file of a shipped prompt. Raises :class:`UnknownNameError`."""
    files = _files()
    if name not in files:
        raise UnknownNameError("prompt", name, files)
    return files[name]


def load(name: str, own: Path | None = None) -> Prompt:
    """The prompt ``name``, or a user's ``own`` file in its place.

    An own file declares the inputs of the shipped one, or some of them, and an output of the same properties. Raises
    :class:`UnknownNameError`, and :class:`BadInputError` with file and line.
    """
    standard = _read(name, path(name))
    if own is None:
        return standard
    prompt = _read(name, own)
    for unknown in prompt.inputs.keys() - standard.inputs.keys():
        raise BadInputError(f"{own}: the prompt {name} has no input {unknown!r}", suggest(unknown, standard.inputs))
    if _shape(prompt) != _shape(standard):
        hint = f"the shipped prompt asks for {_shape(standard)}"
        raise BadInputError(f"{own}: it asks for {_shape(prompt)}", hint)
    given = prompt.__dict__ | {"left_out": frozenset(standard.inputs.keys() - prompt.inputs.keys())}
    return Prompt(**given)


def _files() -> dict[str, Path]:
    return {path.stem: path for path in sorted(assets.prompts().glob("*.md"))}


def _shape(prompt: Prompt) -> str:
    """What an answer is, in words: the part of the schema that callers rely on."""
    return "plain text" if prompt.schema is None else _form(prompt.schema)


def _form(schema: Any) -> str:
    """A schema's types and properties, all the way down: ``{score: number}``; ``?`` after what may be missing."""
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
    found = _PARTS.fullmatch(text)
    if not found:
        raise BadInputError(f"{file}:1: a prompt starts with TOML between two lines of +++", _EXAMPLE)
    front, body = _front(found[1], file), found[2].strip()
    for field in front.keys() - set(_FIELDS):
        raise BadInputError(f"{file}: unknown field {field!r}", suggest(field, _FIELDS))
    if not body:
        raise BadInputError(f"{file}: there are no instructions below the front matter", _EXAMPLE)
    return Prompt(
        name,
        _purpose(front, file),
        _inputs(front, file),
        _schema(front, file),
        body,
        _number(front, "temperature", 0.0, 2.0, file) or 0.0,
        _number(front, "top_p", 0.0, 1.0, file),
        _most(front, file),
        _tools(front, file),
    )


def _text(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            content = stream.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise BadInputError(f"{file} is no prompt: it has more than {_MOST_BYTES:,} bytes")
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        raise BadInputError(f"{file} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise BadInputError(f"{file} is not UTF-8", "convert it, e.g. with iconv") from None


def _front(text: str, file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        said = str(error).partition(" (at ")[0]
        line = re.search(r"at line (\d+)", str(error))
        place = int(line[1]) + 1 if line else text.count("\n") + 1  # the line of +++ stands above it
        raise BadInputError(f"{file}:{place}: {said}", "the front matter is TOML") from None


def _purpose(front: Mapping[str, Any], file: Path) -> str:
    purpose = front.get("purpose")
    if not isinstance(purpose, str) or not purpose.strip() or "\n" in purpose:
        raise BadInputError(f"{file}: purpose is missing, or not one line of text", _EXAMPLE)
    return purpose


def _inputs(front: Mapping[str, Any], file: Path) -> dict[str, str]:
    inputs = front.get("inputs")
    if not isinstance(inputs, dict) or not inputs or not all(isinstance(what, str) for what in inputs.values()):
        raise BadInputError(f"{file}: inputs is no table of name = 'what it is'", _EXAMPLE)
    return inputs


def _schema(front: Mapping[str, Any], file: Path) -> Mapping[str, Any] | None:
    """The output's schema, which refers to nothing outside: checking an answer opens no address."""
    if "output" not in front:
        return None
    from jsonschema import SchemaError
    from jsonschema.validators import Draft202012Validator

    try:
        text = json.dumps(front["output"], allow_nan=False)
        Draft202012Validator.check_schema(front["output"])
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInputError(f"{file}: output is no JSON schema: {error}") from None
    except SchemaError as error:
        raise BadInputError(f"{file}: output is no JSON schema: {error.message}", f"at {error.json_path}") from None
    if re.search(r'"\$(?:ref|dynamicRef|schema|id)":', text):
        raise BadInputError(
            f"{file}: output refers to another schema", "write it out: $ref, $schema and $id are not read"
        )
    schema: dict[str, Any] = json.loads(text)
    return schema


def _number(front: Mapping[str, Any], field: str, low: float, high: float, file: Path) -> float | None:
    value = front.get(field)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise BadInputError(f"{file}: {field} is {value!r}", f"it is a number from {low:g} to {high:g}")
    return float(value)


def _most(front: Mapping[str, Any], file: Path) -> int:
    value = front.get("max_tokens", 1024)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 1_000_000:
        raise BadInputError(f"{file}: max_tokens is {value!r}", "it is a whole number from 1 to 1,000,000")
    return value


def _tools(front: Mapping[str, Any], file: Path) -> str:
    name = front.get("tools", "")
    if name and (not isinstance(name, str) or name not in _inputs(front, file)):
        raise BadInputError(f"{file}: tools is {name!r}", "it names one of the inputs")
    return str(name)
