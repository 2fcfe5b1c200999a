"""Apply changed and deleted entities to the entities of a dump."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from kbkit.errors import BadInputError, Option
from kbkit.readers.wikidata import dumps
from kbkit.readers.wikidata.admission import id_of
from kbkit.readers.wikidata.options import read_ids

_SIZE = 8 << 20
_LEVEL = 1


def merge(kept: Path, changed: Sequence[Path], deleted: Sequence[Path], target: Path, *, skip: bool) -> None:
    """Write the entities of ``kept``, a gzipped file with one per line, to the file ``target``, with changes.

    ``changed`` are files as of a JSON dump, or from Special:EntityData; a later one of an entity replaces earlier ones.
    ``deleted`` are files of ids. Raises :class:`BadInputError` for invalid files, and for deleted ids that do not
    exist unless ``skip``.
    """
    news = dict(_changes(changed))
    gone = {name: path for path in deleted for name in read_ids(path)}
    unknown = dict(gone)
    with gzip.open(kept, "rb") as source, gzip.open(target, "wb", _LEVEL) as out:
        for line in source:
            name = _name(line)
            unknown.pop(name, None)
            new = news.pop(name, None)
            if new is not None:
                out.write(new + b"\n")
            elif name not in gone:
                out.write(line)
        out.writelines(line + b"\n" for line in news.values())
    unknown = {name: path for name, path in unknown.items() if name not in news}
    if unknown and not skip:
        name, path = next(iter(unknown.items()))
        hint = ("Use ", Option("skip_dangling"), " to skip such ids")
        raise BadInputError(f"Cannot delete unknown entity {name!r} of {path}", *hint)


def _changes(paths: Iterable[Path]) -> Iterator[tuple[str, bytes]]:
    """Yield the ids and lines of changed entities; entities that the API calls missing do not count."""
    for path in paths:
        if dumps.dump_format([path]) != "json":
            raise BadInputError(f"Unsupported file type: {path}", "Use entities in JSON: .json or .jsonl")
        for piece in dumps.json_pieces(path, _SIZE):
            for number, line in piece.lines():
                name = _name(line)
                if not name:
                    raise BadInputError(f"Not an entity in {piece.place(number)}", "Fetch the entities again")
                if b'"missing"' not in line or "missing" not in json.loads(line):
                    yield name, line


def _name(line: bytes) -> str:
    identifier = id_of(line)
    return "" if identifier is None else f"{identifier[0]}{identifier[1]}"
