"""Texts of nodes as benchmarks read them: passages by field, their sentences, and files of documents."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import polars as pl

from kbkit.benchmarks.dataset import writing
from kbkit.directory import systems
from kbkit.errors import KbError, UnknownNameError
from kbkit.kb import KnowledgeBase

_BATCH = 100_000
"""Documents whose texts are held in memory at once when they are written."""


class TextPassage(NamedTuple):
    """A text of a node. Further texts of a ``field`` are numbered: ``review#2``, ``review#3``."""

    field: str
    text: str


class Span(NamedTuple):
    """A part of a passage: characters ``start`` to ``end`` of the text of ``field``."""

    field: str
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Document:
    """A node with its texts, sorted by field."""

    id: int
    type: str
    key: str
    name: str
    passages: tuple[TextPassage, ...]
    aliases: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The name and the aliases."""
        return (self.name, *self.aliases)

    @property
    def text(self) -> str:
        """All texts, one per line."""
        return "\n".join(passage.text for passage in self.passages)

    @cached_property
    def sentences(self) -> list[Span]:
        """The sentences of all passages."""
        return [
            Span(passage.field, start, end, passage.text[start:end])
            for passage in self.passages
            for start, end in sentences(passage.text)
        ]


_DOCUMENTS = """
SELECT n.id, n.type::VARCHAR AS type, n.key, n.name, coalesce(n.aliases, []) AS aliases,
       coalesce(list({'field': t.field::VARCHAR, 'text': t.text} ORDER BY t.field, t.position)
                FILTER (t.text IS NOT NULL), []) AS texts
FROM nodes n LEFT JOIN texts t ON t.id = n.id
WHERE n.id IN (SELECT id FROM kbkit_wanted)
GROUP BY ALL
"""


def read_documents(kb: KnowledgeBase, ids: Iterable[int], without: Collection[str] = ()) -> dict[int, Document]:
    """Return the documents of nodes by id, leaving out the text fields ``without``."""
    wanted = pl.DataFrame({"id": pl.Series(sorted(set(ids)), dtype=pl.Int32)})
    rows = kb.tables.lookup(_DOCUMENTS, frames={"kbkit_wanted": wanted})
    return {
        node: Document(node, kind, key, name or key, _passages(texts, without), tuple(aliases))
        for node, kind, key, name, aliases, texts in rows.sort("id").iter_rows()
    }


def types_with_text(kb: KnowledgeBase) -> set[str]:
    """Return the primary types of the nodes that have a text."""
    return set(kb.tables.lookup("SELECT DISTINCT n.type::VARCHAR FROM texts t JOIN nodes n USING (id)").to_series())


def _passages(texts: list[dict[str, str]], without: Collection[str]) -> tuple[TextPassage, ...]:
    seen: dict[str, int] = {}
    passages = []
    for text in texts:
        field = text["field"]
        if field not in without:
            seen[field] = seen.get(field, 0) + 1
            passages.append(TextPassage(field if seen[field] == 1 else f"{field}#{seen[field]}", text["text"]))
    return tuple(passages)


# -- sentences --------------------------------------------------------------------------------------------------------

_END = re.compile(r"(?<=[.!?])([\"')\]]*)\s+(?=[\"'(\[]*[A-Z0-9À-Þ])|(?<!\s)\s*\n\s*")
_ABBREVIATION = re.compile(
    r"(?:\b(?:[A-Z]|[Dd]r|[Mm]rs?|[Mm]s|[Ss]t|vs|etc|e\.g|i\.e|al|[Ff]ig|[Nn]o|ca|approx|Inc|Ltd|Jr|Sr))\.$"
)


def sentences(text: str) -> list[tuple[int, int]]:
    """Return the start and the end of each sentence. Sentences end at a period before a capital, and at line ends."""
    spans = []
    start = 0
    for match in _END.finditer(text):
        if "\n" not in match[0] and _ABBREVIATION.search(text, max(start, match.start() - 10), match.start()):
            continue
        spans.append((start, match.end(1) if match[1] else match.start()))
        start = match.end()
    spans.append((start, len(text)))
    trimmed = ((s + len(text[s:e]) - len(text[s:e].lstrip()), s + len(text[s:e].rstrip())) for s, e in spans)
    return [(s, e) for s, e in trimmed if e > s]


# -- files of documents -----------------------------------------------------------------------------------------------

_TITLES = """
WITH t AS (SELECT id, type::VARCHAR AS type, key, coalesce(nullif(trim(name), ''), key) AS name FROM nodes
           WHERE id IN (SELECT id FROM kbkit_wanted))
SELECT id, type, key, name,
       CASE WHEN count(*) OVER (PARTITION BY name) = 1 THEN name ELSE name || ' (' || key || ')' END AS title
FROM t ORDER BY id"""

_HAS_TEXT = """
SELECT 1 FROM texts WHERE id IN (SELECT id FROM kbkit_wanted) AND NOT list_contains($without::VARCHAR[], field::VARCHAR)
LIMIT 1"""

_TEXTS = """
SELECT w.title, w.type, w.key,
       coalesce(string_agg(t.text, chr(10) ORDER BY t.field::VARCHAR, t.position)
                FILTER (NOT list_contains($without::VARCHAR[], t.field::VARCHAR)), '') AS text
FROM kbkit_wanted w LEFT JOIN texts t USING (id) GROUP BY ALL ORDER BY any_value(w.position)"""


def titles(kb: KnowledgeBase, types: Sequence[str]) -> pl.DataFrame:
    """Return the nodes of some types, sorted by id: id, type, key, name, title.

    A title is unique. It is the name; or name and key, if several nodes or titles have that name.
    """
    frame = kb.tables.lookup(_TITLES, frames={"kbkit_wanted": _members(kb, types)})
    return frame.with_columns(
        pl.when(pl.col("title").is_duplicated())
        .then(pl.format("{} ({} {})", "name", "type", "key"))
        .otherwise("title")
        .alias("title")
    )


def _members(kb: KnowledgeBase, types: Sequence[str]) -> pl.DataFrame:
    """Return the ids of the nodes that have any of the types."""
    return pl.concat([pl.DataFrame({"id": kb.session.members(name)}) for name in types]).unique()


def check_types(kb: KnowledgeBase, types: Sequence[str], without: Sequence[str], *, texts: bool = True) -> None:
    """Raise :class:`KbError` for unknown types and text fields, and with ``texts`` for types without any text."""
    for name in types:
        kb.schema.type(name)
    fields = [field.name for field in kb.schema.text_fields]
    for name in without:
        if name not in fields:
            raise UnknownNameError("text field", name, fields)
    for name in types if texts else ():
        if not kb.tables.lookup(_HAS_TEXT, {"without": list(without)}, {"kbkit_wanted": _members(kb, [name])}).height:
            known = sorted(types_with_text(kb) - (set() if without else {name}))
            hint = f"Types with texts: {', '.join(known)}" if known else "The KB has no texts"
            raise KbError(f"Nodes of type {name} have no texts{' in other fields' * bool(without)}", hint)


def write_documents(
    kb: KnowledgeBase,
    frame: pl.DataFrame,
    path: Path,
    without: Sequence[str] = (),
    further: pl.DataFrame | None = None,
) -> int:
    """Write the documents of :func:`titles` as JSON lines (title, text); return the number of documents without text.

    ``further`` (id, further) holds text that follows the KB's texts of a node.
    ``documents.nodes.jsonl`` in the same folder has their nodes (title, type, key).
    """
    aside = path.with_name(f".{path.name}.new")
    nodes = path.with_name(f"{path.stem}.nodes.jsonl")
    empty = 0
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with aside.open("w", encoding="utf-8", newline="\n") as file:
            for start in range(0, frame.height, _BATCH):
                wanted = frame.slice(start, _BATCH)
                texts = document_texts(kb, wanted, without)
                if further is not None:
                    texts = _extended(texts, wanted, further)
                empty += texts.filter(pl.col("text") == "").height
                file.write(texts.select("title", "text").write_ndjson())
        frame.select("title", "type", "key").write_ndjson(nodes)
        systems.replace(aside, path)
    return empty


def document_texts(kb: KnowledgeBase, frame: pl.DataFrame, without: Sequence[str] = ()) -> pl.DataFrame:
    """Return the documents of :func:`titles` in the same order: title, type, key, text (the KB's texts of a node)."""
    wanted = {"kbkit_wanted": frame.with_row_index("position")}
    return kb.tables.lookup(_TEXTS, {"without": list(without)}, wanted)


def _extended(texts: pl.DataFrame, wanted: pl.DataFrame, further: pl.DataFrame) -> pl.DataFrame:
    ids = wanted.select("title", pl.col("id").cast(pl.Int64)).join(further, on="id", how="left")
    both = pl.concat_str(pl.when(pl.col("text") != "").then("text"), "further", separator="\n", ignore_nulls=True)
    return texts.join(ids, on="title", how="left", maintain_order="left").with_columns(text=both)
