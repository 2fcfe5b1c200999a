"""Query files: a comment header with a title, a description and parameters, then plain SQL or SPARQL.

    -- Neighbours that two nodes share.
    -- Further lines describe it.
    -- $a (node): one node
    -- $limit (integer, default 20): rows at most

In SPARQL files the comment sign is ``#``. Parameter types: ``text``, ``integer``, ``number``, ``iri`` and ``node`` (a
name or key, handed to SQL as the id and to SPARQL as the IRI; ``node of TYPE`` for one of a type).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kbkit import assets
from kbkit.errors import BadInputError, Command, KbError, UnknownNameError, suggest

if TYPE_CHECKING:
    import polars as pl

ENDINGS = {"sql": ".sql", "sparql": ".rq"}
PARAMETER_TYPES = ("text", "integer", "number", "iri", "node")

_TITLES = {"sql": "SQL", "sparql": "SPARQL"}
_STARTS = {
    "sql": re.compile(
        r"(?:\s|--[^\n]*\n|/\*.*?\*/|\()*(?:select|with|from|values|table|pivot|unpivot|describe|desc|summarize|show|explain"
        r"|pragma|call|set|create|insert|update|delete|truncate|drop|alter|copy|attach|detach|install|load|use)[\s(*'\"]",
        re.I | re.S,
    ),
    "sparql": re.compile(
        r"(?:\s|#[^\n]*\n)*(?:prefix|base|select|ask|construct|describe|insert|delete|clear|drop|load|with)[\s(*{<?]",
        re.I | re.S,
    ),
}
"""How a query starts, for telling it from a name; a query that the engine rejects still is one."""

_PARAMETER = re.compile(r"^\$(\w+) \((\w+(?: of [^,()]+)?)(?:, default (.*?))?\): (.*)$")


@dataclass(frozen=True)
class Parameter:
    """A parameter of a query file; ``default`` is None when it must be given."""

    name: str
    type: str
    default: str | None
    help: str


@dataclass(frozen=True)
class Query:
    """A query file; ``name`` is ``topic/stem`` for a shipped one."""

    kind: str
    name: str
    title: str
    description: str
    parameters: tuple[Parameter, ...]
    text: str

    def values(self, given: Mapping[str, str]) -> dict[str, tuple[str, str]]:
        """(type, text) of every parameter, defaults filled in; refuses unknown and missing ones."""
        known = {p.name: p for p in self.parameters}
        for name in given:
            if name not in known:
                raise UnknownNameError("parameter", name, known, f"query {self.name}")
        missing = [p for p in self.parameters if p.default is None and p.name not in given]
        if missing:
            raise KbError(
                f"query {self.name} needs " + ", ".join(f"-p {p.name}=..." for p in missing),
                "; ".join(f"{p.name}: {p.help}" for p in missing),
            )
        return {name: (p.type, given.get(name, p.default or "")) for name, p in known.items()}


def parse(kind: str, name: str, text: str) -> Query:
    """Read the header of a query file."""
    sign = "--" if kind == "sql" else "#"
    header = []
    for line in text.splitlines():
        if not line.startswith(sign):
            break
        header.append(line.removeprefix(sign).strip())
    parameters, prose = [], []
    for line in header:
        match = _PARAMETER.match(line)
        if match:
            if match[2] not in PARAMETER_TYPES and not match[2].startswith("node of "):
                raise UnknownNameError("parameter type", match[2], PARAMETER_TYPES, name)
            parameters.append(Parameter(match[1], match[2], match[3], match[4]))
        else:
            prose.append(line)
    return Query(kind, name, prose[0] if prose else name, " ".join(prose[1:]).strip(), tuple(parameters), text)


def shipped(kind: str) -> dict[str, Path]:
    """The query files that ship with kbkit, by ``topic/stem``."""
    root = assets.folder(kind)
    paths = sorted(root.glob(f"*/*{ENDINGS[kind]}"))
    return {path.relative_to(root).with_suffix("").as_posix(): path for path in paths}


def all_shipped() -> list[Query]:
    """The queries that ship with kbkit, those in SQL first."""
    return [load(kind, name) for kind in ENDINGS for name in shipped(kind)]


def listed() -> pl.DataFrame:
    """The queries that ship with kbkit: language, query, answers, parameters (with their defaults)."""
    import polars as pl

    def signature(query: Query) -> str:
        return ", ".join(p.name if p.default is None else f"{p.name}={p.default}" for p in query.parameters)

    rows = [(query.kind, query.name, query.title, signature(query)) for query in all_shipped()]
    return pl.DataFrame(rows, schema=["language", "query", "answers", "parameters"], orient="row")


def load(kind: str, reference: str) -> Query:
    """The query in the file ``reference``, or the shipped one of that name (its topic may be left out when unique)."""
    path = Path(reference)
    known = shipped(kind)
    if path.suffix in ENDINGS.values() and path.is_file():
        if path.suffix != ENDINGS[kind]:
            raise BadInputError(
                f"{path} is no {ENDINGS[kind]} file", f"kbkit {'sparql' if kind == 'sql' else 'sql'} runs it"
            )
        return parse(kind, str(path), _read(path))
    hits = [name for name in known if reference in (name, name.split("/")[1])]
    if not hits:
        names = [*known, *(name.split("/")[1] for name in known)]
        raise UnknownNameError(f"{kind} query", reference, names)
    if len(hits) > 1:
        raise KbError(f"several queries are called {reference!r}", "name one of " + ", ".join(hits))
    return parse(kind, hits[0], _read(known[hits[0]]))


def typed(kind: str, text: str) -> Query:
    """Return the query whose text a user typed."""
    return Query(kind, "the query", "", "", (), text)


def find(kind: str, argument: str) -> Query:
    """Return the query that a user named: the file ``argument``, the shipped query of this name, or this text.

    A file of any suffix is read, but not one of the other language. Raises :class:`KbError` for anything else.
    """
    known = shipped(kind)
    if os.path.isfile(argument):  # noqa: PTH113 - unlike Path.is_file it accepts text of any length
        if Path(argument).suffix in ENDINGS.values():
            return load(kind, argument)
        return parse(kind, argument, _read(Path(argument)))
    if any(argument in (name, name.split("/")[1]) for name in known):
        return load(kind, argument)
    if _STARTS[kind].match(argument):
        return typed(kind, argument)
    shown = argument if len(argument) <= 60 else f"{argument[:60]}..."
    hint = suggest(argument, [*known, *(name.split("/")[1] for name in known)])
    raise KbError(
        f"{shown!r} is not a file, a shipped query or a query in {_TITLES[kind]}",
        *([hint] if hint.startswith("Did") else ["To list the shipped queries: ", Command("query list")]),
    )


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"{path} cannot be read: {error}") from None
