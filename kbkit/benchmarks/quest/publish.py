"""A QUEST dataset as a publication: queries, documents, and the evidence of answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from kbkit.benchmarks.dataset import ABOUT, QUERIES, SPLITS, read_about
from kbkit.benchmarks.document_files import DOCUMENTS, NODES
from kbkit.benchmarks.publish.form import (
    Publication,
    PublishedTable,
    Retrieval,
    files_of,
    made_with,
    safe_ids,
)
from kbkit.benchmarks.quest.augment import FILE as AUGMENTED
from kbkit.benchmarks.quest.dataset import Example, QuestDataset
from kbkit.benchmarks.quest.settings import QuestSettings
from kbkit.errors import BadInputError, Command, KbError
from kbkit.measures.records import content, records

FILES = (*(f"{split}.jsonl" for split in SPLITS), DOCUMENTS, NODES, QUERIES, AUGMENTED, ABOUT)
_COLUMNS = {
    "type": "Type of the node, empty if unknown.",
    "key": "Key of the node in the knowledge graph, empty if unknown.",
    "template": "Template of the set operations.",
    "domain": "Domain of the answers.",
    "expression": "Expression of kbkit whose answers are the answers, empty if unknown.",
}
_EVIDENCE = {
    "query": "Id of the query.",
    "document": "Id of the document.",
    "rating": "Evidence that the document has for the answer: complete, partial or none; empty if not rated.",
    "phrase": "Part of the query; empty if nothing is attributed.",
    "text": "Span of the document that shows it.",
}
_LIMITS = (
    "Answers are complete for the knowledge graph that the dataset was made from, not for the world.",
    "Documents may state facts as generated sentences where the texts lack them; dataset.json lists the types.",
    "Queries made by a grammar have the wording of few templates.",
)


def publication(dataset: Path) -> Publication:
    """Describe a dataset. Raises :class:`KbError` without documents, and for an answer that is none of them."""
    opened = QuestDataset.open(dataset)
    lazy = opened.documents()
    if lazy is None:
        raise KbError(f"{dataset} has no {DOCUMENTS}", "Write it with ", Command("quest documents"))
    documents = opened.collect(lazy).with_columns(pl.col("text", "type", "key").fill_null(""))
    for (title,) in documents.filter(pl.col("title").is_null()).select("title").head(1).iter_rows():
        raise BadInputError(f"Missing title {title} in {dataset / DOCUMENTS}", "Each document needs a title")
    documents = documents.unique("title", keep="first", maintain_order=True)
    documents = documents.select(safe_ids(documents["title"].alias("id"), "d"), "title", "text", "type", "key")
    examples = opened.read_all()
    ids = _ids(examples, dataset)
    of = dict(zip(documents["title"], documents["id"], strict=True))
    queries = pl.DataFrame(
        [
            (
                example.id,
                example.text,
                example.split,
                example.template or "",
                example.domain or "",
                example.expression or "",
            )
            for example in examples
        ],
        schema=dict.fromkeys(("id", "text", "split", "template", "domain", "expression"), pl.String),
        orient="row",
    ).with_columns(ids.alias("id"))
    answers = [(at, title) for at, example in enumerate(examples) for title in example.docs]
    _check(answers, of, examples, dataset)
    judged = pl.DataFrame(
        {
            "query": pl.Series([ids[at] for at, _ in answers], dtype=pl.String),
            "document": pl.Series([of[title] for _, title in answers], dtype=pl.String),
        }
    ).with_columns(score=pl.lit(1, pl.Int64))
    about = read_about(dataset)
    return Publication(
        benchmark="QUEST",
        task="text-retrieval",
        summary="Queries with implicit set operations; answers are the documents that satisfy all their constraints.",
        paper="Malaviya et al., QUEST: A Retrieval Dataset of Entity-Seeking Queries with Implicit Set Operations,"
        " ACL 2023",
        questions=queries["text"],
        files=files_of(dataset, FILES),
        tables=[_evidence(examples, ids, of)],
        retrieval=Retrieval(documents, queries, judged, _COLUMNS),
        about=about,
        command="quest make",
        options=made_with(QuestSettings, _settings(about)),
        limits=_LIMITS,
    )


def _check(
    answers: Sequence[tuple[int, str]], of: Mapping[str, str], examples: Sequence[Example], dataset: Path
) -> None:
    for at, title in answers:
        if title not in of:
            message = f"{title!r:.60} answers the query {examples[at].text!r:.60}, but {dataset / DOCUMENTS} lacks it"
            raise KbError(message, "Write the documents again with ", Command("quest documents"))


def _ids(examples: Sequence[Example], dataset: Path) -> pl.Series:
    """Return the ids of the queries: those of ``queries.jsonl``, or else safe ones."""
    query_ids = pl.Series("id", [example.id for example in examples], dtype=pl.String)
    path = dataset / QUERIES
    if path.is_file():
        rows = [record.fields for record in records(path, content(path))]
        known = {(str(row.get("split")), str(row.get("query"))): str(row.get("id")) for row in rows}
        matched = [known.get((example.split, example.text)) for example in examples]
        if len(known) == len(rows) and None not in matched:
            query_ids = pl.Series("id", matched, dtype=pl.String)
    return safe_ids(query_ids, "q")


def _evidence(examples: Sequence[Example], ids: pl.Series, of: Mapping[str, str]) -> PublishedTable:
    """Return the evidence of answers: a row for each rating without a span, and for each span."""
    rows: dict[str, list[tuple[str, str, str, str, str]]] = {}
    for query, example in zip(ids, examples, strict=True):
        ratings, spans = example.evidence or {}, example.attributions or {}
        for title in example.docs:
            rating = next(iter(ratings.get(title, ())), "")
            pairs = [pair for given in spans.get(title, ()) for pair in given.items()]
            for phrase, text in pairs or ([("", "")] if rating else []):
                rows.setdefault(example.split, []).append((query, of[title], rating, str(phrase), str(text)))
    schema = dict.fromkeys(_EVIDENCE, pl.String)
    frames = {split: pl.DataFrame(own, schema=schema, orient="row") for split, own in rows.items()}
    return PublishedTable("evidence", "What in the documents shows the answers.", _EVIDENCE, frames)


def _settings(about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the recorded settings by the names of their fields."""
    bounds = QuestSettings().bounds() if about else None
    changed = {
        name: value for name, value in (about.get("constraints") or {}).items() if value != getattr(bounds, name, None)
    }
    return {**about, "constraints": changed} if about else {}
