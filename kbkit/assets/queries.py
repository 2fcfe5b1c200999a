"""Query files: a comment header with a title, a description and parameters, then plain SQL or SPARQL.

    -- Common neighbours of two nodes.
    -- Further lines of description.
    -- $a (node): first node
    -- $limit (integer, default 20): maximum number of rows

SPARQL files use ``#`` for comments. Parameter types are ``text``, ``integer``, ``number``, ``iri`` and ``node`` (a name
or key, passed to SQL as the id and to SPARQL as the IRI; ``node of TYPE`` for a node of that type).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kbkit import assets
from kbkit.directory.files import is_file
from kbkit.errors import BadInputError, Command, KbError, Option, UnknownNameError, reason, suggest

if TYPE_CHECKING:
    import polars as pl

ENDINGS = {"sql": ".sql", "sparql": ".rq"}
LANGUAGE_NAMES = {"sql": "SQL", "sparql": "SPARQL"}
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
"""Beginnings of queries, to distinguish a query, valid or not, from a name."""

_PARAMETER = re.compile(r"^\$(\w+) \((\w+(?: of [^,()]+)?)(?:, default (.*?))?\): (.*)$")


@dataclass(frozen=True)
class QueryParameter:
    """A parameter of a query file; without a ``default`` it is required."""

    name: str
    type: str
    default: str | None
    help: str


@dataclass(frozen=True)
class QueryFile:
    """A query file; ``name`` is ``topic/stem`` for a shipped query."""

    kind: str
    name: str
    title: str
    description: str
    parameters: tuple[QueryParameter, ...]
    text: str

    def typed_values(self, values: Mapping[str, str]) -> dict[str, tuple[str, str]]:
        """Return (type, value) of each parameter, with defaults; raise for unknown and missing parameters."""
        known = {p.name: p for p in self.parameters}
        for name in values:
            if name not in known:
                raise UnknownNameError("parameter", name, known, f"query {self.name}")
        missing = [p for p in self.parameters if p.default is None and p.name not in values]
        if missing:
            names = ", ".join(f"{p.name} ({p.help})" for p in missing)
            raise KbError(
                f"Missing {'parameter' if len(missing) == 1 else 'parameters'} of query {self.name}: {names}",
                *("Use ", Option("params", f"{missing[0].name}=VALUE"), " to set a parameter"),
            )
        return {name: (p.type, values.get(name, p.default or "")) for name, p in known.items()}


def parse(kind: str, name: str, text: str) -> QueryFile:
    """Parse the header of a query file."""
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
            parameters.append(QueryParameter(match[1], match[2], match[3], match[4]))
        else:
            prose.append(line)
    return QueryFile(kind, name, prose[0] if prose else name, " ".join(prose[1:]).strip(), tuple(parameters), text)


def shipped(kind: str) -> dict[str, Path]:
    """Return the paths of the shipped queries by ``topic/stem``."""
    return dict(_paths(assets.folder(kind), ENDINGS[kind]))


@functools.cache
def _paths(root: Path, ending: str) -> dict[str, Path]:
    """Return the files of a folder of the package, which stays as it is."""
    paths = sorted(root.glob(f"*/*{ending}"))
    return {path.relative_to(root).with_suffix("").as_posix(): path for path in paths}


def all_shipped() -> list[QueryFile]:
    """Return all shipped queries, SQL first."""
    return [load(kind, name) for kind in ENDINGS for name in shipped(kind)]


def listed() -> pl.DataFrame:
    """Return a frame of the shipped queries: language, query, answers (the title), parameters (with defaults)."""
    import polars as pl

    def signature(query: QueryFile) -> str:
        return ", ".join(p.name if p.default is None else f"{p.name}={p.default}" for p in query.parameters)

    rows = [(query.kind, query.name, query.title, signature(query)) for query in all_shipped()]
    return pl.DataFrame(rows, schema=["language", "query", "answers", "parameters"], orient="row")


def load(kind: str, reference: str) -> QueryFile:
    """Return the query of the file ``reference``, or the shipped query with that name.

    The topic of a shipped query is optional if the rest of its name is unique.
    """
    if kind not in ENDINGS:
        raise UnknownNameError("language", kind, ENDINGS)
    path = Path(reference)
    known = shipped(kind)
    if path.suffix in ENDINGS.values() and is_file(reference):
        if path.suffix != ENDINGS[kind]:
            other = "sparql" if kind == "sql" else "sql"
            raise BadInputError(f"{path} is not a {ENDINGS[kind]} file", "Run it with ", Command(other))
        return parse(kind, str(path), _read(path))
    hits = [name for name in known if reference in (name, name.split("/")[1])]
    if not hits:
        names = [*known, *(name.split("/")[1] for name in known)]
        raise UnknownNameError(f"{LANGUAGE_NAMES[kind]} query", reference, names)
    if len(hits) > 1:
        raise KbError(f"Ambiguous query {reference!r}", "Use one of " + ", ".join(hits))
    return parse(kind, hits[0], _read(known[hits[0]]))


def typed(kind: str, text: str) -> QueryFile:
    """Return the query whose text a user typed."""
    return QueryFile(kind, "the query", "", "", (), text)


def find(kind: str, argument: str) -> QueryFile:
    """Return the query that a user named: the file ``argument``, the shipped query of this name, or this text.

    A file of any suffix is read, but not one of the other language. Raises :class:`KbError` for anything else.
    """
    known = shipped(kind)
    if is_file(argument):
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
        *((hint,) if hint.startswith("Did") else ("To list the shipped queries: ", Command("query list"))),
    )


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"Cannot read {path}: {reason(error)}") from None
