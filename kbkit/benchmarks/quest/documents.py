"""The documents that systems see: titles and texts of a type's nodes, without relations, so without category labels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kbkit.benchmarks.documents import Document, read, types_with_text
from kbkit.directory import systems
from kbkit.errors import KbError, UnknownNameError
from kbkit.kb import KnowledgeBase

if TYPE_CHECKING:
    import polars as pl

_BATCH = 100_000
"""Documents whose texts are held in memory at once."""

_TITLES = """
WITH t AS (SELECT id, type::VARCHAR AS type, key, coalesce(nullif(trim(name), ''), key) AS name FROM nodes
           WHERE id IN (SELECT id FROM kbkit_wanted))
SELECT id, type, key, name,
       CASE WHEN count(*) OVER (PARTITION BY name) = 1 THEN name ELSE name || ' (' || key || ')' END AS title
FROM t ORDER BY id"""

_ANY = """
SELECT 1 FROM texts WHERE id IN (SELECT id FROM kbkit_wanted) AND NOT list_contains($without::VARCHAR[], field::VARCHAR)
LIMIT 1"""

_TEXTS = """
SELECT w.title, w.type, w.key,
       coalesce(string_agg(t.text, chr(10) ORDER BY t.field::VARCHAR, t.position)
                FILTER (NOT list_contains($without::VARCHAR[], t.field::VARCHAR)), '') AS text
FROM kbkit_wanted w LEFT JOIN texts t USING (id) GROUP BY ALL ORDER BY any_value(w.place)"""


def titles(kb: KnowledgeBase, types: Sequence[str]) -> pl.DataFrame:
    """The nodes of some types, by id: id, type, key, name, title. A title is the name, or where several have it (or
    the title of another) the name and the key, and is unique.
    """
    import polars as pl

    frame = kb.tables.lookup(_TITLES, frames={"kbkit_wanted": _members(kb, types)})
    return frame.with_columns(
        pl.when(pl.col("title").is_duplicated())
        .then(pl.format("{} ({} {})", "name", "type", "key"))
        .otherwise("title")
        .alias("title")
    )


def _members(kb: KnowledgeBase, types: Sequence[str]) -> pl.DataFrame:
    """The ids of the nodes that have any of some types."""
    import polars as pl

    return pl.concat([pl.DataFrame({"id": kb.session.members(name)}) for name in types]).unique()


def check(kb: KnowledgeBase, types: Sequence[str], without: Sequence[str], *, texts: bool = True) -> None:
    """Refuse types and fields that the KB does not have, and with ``texts`` types without texts in other fields."""
    for name in types:
        kb.schema.type(name)
    fields = [field.name for field in kb.schema.text_fields]
    for name in without:
        if name not in fields:
            raise UnknownNameError("text field", name, fields)
    for name in types if texts else ():
        if not kb.tables.lookup(_ANY, {"without": list(without)}, {"kbkit_wanted": _members(kb, [name])}).height:
            known = sorted(types_with_text(kb) - ({name} if not without else set()))
            there = f"there are texts of {', '.join(known)}" if known else "this KB has no texts"
            left = " left" * bool(without)
            raise KbError(f"the nodes of type {name} have no texts{left} to find them by", there)


def passages(kb: KnowledgeBase, ids: Iterable[int], without: Sequence[str]) -> dict[int, Document]:
    """The documents of nodes by id, without some fields."""
    left_out = set(without)
    return {
        node: replace(document, passages=tuple(p for p in document.passages if _field(p.field) not in left_out))
        for node, document in read(kb, ids).items()
    }


def _field(name: str) -> str:
    """A passage's field without the number of a further text."""
    return re.sub(r"#\d+$", "", name)


def write(kb: KnowledgeBase, frame: pl.DataFrame, path: Path, without: Sequence[str] = ()) -> int:
    """Write the documents of :func:`titles`, a line each: title, text (one of its texts a line), and beside them which
    nodes they are (``documents.nodes.jsonl``: title, type, key). Returns how many have no text.
    """
    import polars as pl

    aside = path.with_name(f".{path.name}.new")
    nodes = path.with_name(f"{path.stem}.nodes.jsonl")
    silent = 0
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with aside.open("w", encoding="utf-8", newline="\n") as file:
            for start in range(0, frame.height, _BATCH):
                wanted = frame.slice(start, _BATCH).with_row_index("place")
                found = kb.tables.lookup(_TEXTS, {"without": list(without)}, {"kbkit_wanted": wanted})
                silent += found.filter(pl.col("text") == "").height
                file.write(found.select("title", "text").write_ndjson())
        frame.select("title", "type", "key").write_ndjson(nodes)
        systems.replace(aside, path)
    except OSError as error:
        raise KbError(f"{path} cannot be written: {error.strerror or error}") from None
    return silent
