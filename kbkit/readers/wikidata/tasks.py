"""The tasks of a worker: each reads a piece of a dump and writes a part; what they return lies in the part too."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kbkit.errors import BadInputError
from kbkit.readers.wikidata import entity as entities
from kbkit.readers.wikidata import parts
from kbkit.readers.wikidata.dump import AGAIN
from kbkit.readers.wikidata.entity import Entity, Languages, Rows
from kbkit.readers.wikidata.options import Options
from kbkit.readers.wikidata.wikibase_rdf import Writer
from kbkit.readers.wikidata.worker import Request, folder_of

ODD = (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError)
"""What a line raises that is JSON and no entity."""
_FIRST = 100  # characters of a line in an error


def convert_json(options: Options, request: Request) -> dict[str, Any]:
    """All entities of a piece -> tables, and N-Triples where they are wanted."""
    try:
        return _convert_json(options, request, clean=False)
    except UnicodeEncodeError:  # half of a surrogate pair in a text
        return _convert_json(options, request, clean=True)


def _convert_json(options: Options, request: Request, *, clean: bool) -> dict[str, Any]:
    languages, rows = Languages(options), Rows()
    writer = Writer(languages, links=options.sitelinks)
    for number, entity in read_json(request, clean=clean):
        try:
            if "redirect" in entity:
                writer.add_redirect(entity.get("entity") or entity["id"], entity["redirect"])
            elif "missing" not in entity:
                entities.add(entity, languages, rows, links=options.sitelinks)
                if options.triples:
                    writer.add(entity)
        except ODD as error:
            raise BadInputError(f"{request.where(number)}: {reason(entity, error)}", parts.REPORT) from None
    return write(request, options, rows, writer)


def write(request: Request, options: Options, rows: Rows, writer: Writer) -> dict[str, Any]:
    """Write a part; returns what is known of it."""
    schemas = {**parts.SCHEMAS, "mentions": parts.MENTIONS, **({"shared": parts.SHARED} if options.triples else {})}
    part = parts.Part(folder_of(request), schemas, quads=options.triples)
    own, shared = writer.take()
    columns = {table: list(zip(*getattr(rows, table), strict=True)) for table in parts.SCHEMAS}
    used, mentioned = _mentioned(columns, rows, writer)
    try:
        for table in parts.SCHEMAS:
            part.add_columns(table, columns[table])
        part.add_columns("mentions", [sorted(mentioned)])
        if options.triples:
            part.add_quads("".join(own).encode())
            part.add_columns("shared", [[line[:-1] for line in shared]])
        info = {
            "entities": len(rows.entities), "statements": len(rows.statements), "triples": len(own) + len(shared),
            "properties": sorted(used),
        }  # fmt: skip
        part.finish(info)
    finally:
        part.close()
    return parts.publish(folder_of(request))


def _mentioned(columns: Mapping[str, Sequence[Any]], rows: Rows, writer: Writer) -> tuple[set[str], set[str]]:
    """The properties, and all entities, that statements and what belongs to them name."""
    used, mentioned = set(writer.properties), writer.mentioned | rows.mentioned
    for table in ("statements", "qualifiers"):
        by_name = dict(zip(parts.SCHEMAS[table].names, columns[table], strict=False))
        used.update(by_name.get("property", ()))
        for name in ("target", "calendar", "unit", "globe"):
            mentioned.update(by_name.get(name, ()))
    return used, {name for name in mentioned | used if name and name[0] in "QPLM" and name[1:2].isdigit()}


def read_json(request: Request, *, clean: bool) -> Iterator[tuple[int, Entity]]:
    """The entities of a piece with the numbers of their lines; raises :class:`BadInputError`.

    ``clean`` puts a replacement character for what UTF-8 cannot hold.
    """
    for number, line in request.lines():
        try:
            text = line.decode()
            entity = _JSON.decode(text)
            if clean:
                halves = json.dumps(entity, ensure_ascii=False).encode("utf-16", "surrogatepass")
                entity = json.loads(halves.decode("utf-16", "replace"))
        except UnicodeDecodeError:
            raise BadInputError(f"{request.where(number)} is not valid UTF-8", AGAIN) from None
        except (ValueError, RecursionError) as error:
            start = _printable(line[:_FIRST].decode("utf-8", "replace"))
            why = "nested too deeply" if isinstance(error, RecursionError) else _place(error)
            raise BadInputError(f"{request.where(number)} is no whole entity ({why}): {start}", AGAIN) from None
        if not isinstance(entity, dict):
            raise BadInputError(f"{request.where(number)} is no entity: {_printable(text[:_FIRST])}", parts.REPORT)
        yield number, entity


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


_JSON = json.JSONDecoder(parse_constant=_no_constant)


def _place(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg}, character {error.pos + 1:,}"
    return str(error)


def _printable(text: str) -> str:
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def reason(entity: Entity, error: Exception) -> str:
    """What is wrong with an entity, in words."""
    name = _printable(str(entity.get("id", "without an id"))[:20])
    if isinstance(error, KeyError):
        return f"entity {name}: {str(error.args[0])[:50]!r} is missing, or not known"
    if isinstance(error, (TypeError, AttributeError, IndexError)):
        return f"entity {name} has another form than Wikidata's"
    return f"entity {name}: {' '.join(str(error).split())}"
