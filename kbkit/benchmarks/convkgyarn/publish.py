"""Conversations as a publication: a table of conversations, and one of their turns."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from kbkit.benchmarks.convkgyarn.conversations import CONVERSATIONS, dataset_file, read_conversations
from kbkit.benchmarks.convkgyarn.settings import ConvSettings
from kbkit.benchmarks.dataset import ABOUT, check_strictly, read_about, read_fast
from kbkit.benchmarks.publish.form import Publication, PublishedTable, files_of, made_with
from kbkit.errors import BadInputError

FILES = (f"{CONVERSATIONS}.jsonl", f"{CONVERSATIONS}.parquet", ABOUT)
_TEXTS = pl.List(pl.String)
_TEXT = ("question", "kind", "predicate", "label", "template", "form", "unit", "qualifier", "subject")
_ENTITY = pl.Struct({"type": pl.String, "key": pl.String, "name": pl.String, "aliases": _TEXTS})
_ANSWER = pl.Struct({"text": pl.String, "aliases": _TEXTS, "node": pl.String, "value": pl.String})
_TURN = pl.Struct({**dict.fromkeys(_TEXT, pl.String), "answers": pl.List(_ANSWER), "given": _TEXTS})
_SCHEMA = pl.Schema(
    {
        "id": pl.String(),
        "group": pl.String(),
        "entity": _ENTITY,
        "related": _ENTITY,
        "interaction": pl.String(),
        **dict.fromkeys(("deixis", "disfluency", "typo"), pl.Boolean()),
        "turns": pl.List(_TURN),
    }
)
_CONVERSATIONS = {
    "id": "Id of the conversation.",
    "group": "Conversations of a group are about the same facts and differ only in the configuration.",
    "entity": "Entity (type#key).",
    "entity_name": "Name of the entity.",
    "related": "Second entity (type#key), empty if there is none.",
    "related_name": "Name of the second entity.",
    "interaction": "voice or text.",
    "deixis": "Whether later questions refer to the entity by a pronoun.",
    "disfluency": "Whether questions have hesitations.",
    "typo": "Whether questions have typing errors.",
    "turns": "Number of turns.",
}
_TURNS = {
    "conversation": "Id of the conversation.",
    "turn": "Number of the turn, from 1.",
    "question": "Question.",
    "answers": "All answers, as a person would say them.",
    "nodes": "The answers as type#key, empty texts for values.",
    "values": "The answers as plain dates or numbers, empty texts for others.",
    "kind": "Kind of the answers: entity, date, number or text.",
    "unit": "Unit of numbers, empty if unknown.",
    "predicate": "Relation or attribute.",
    "label": "The predicate in words.",
    "qualifier": "Attribute of the relation that is asked for, empty if none.",
    "given": "Objects of the predicate that the question names.",
    "subject": "entity or related: which of the two the question is about.",
    "form": "Form of the question.",
    "template": "Id of the question's template.",
}
_LIMITS = (
    "Answers are complete for the knowledge graph that the dataset was made from, not for the world.",
    "Conversations made by a grammar follow few templates; typing errors and hesitations are simulated.",
)


def publication(dataset: Path) -> Publication:
    """Describe a dataset. Raises :class:`BadInputError` for an invalid conversation."""
    path = dataset_file(dataset)
    conversations = _read(path)
    about = read_about(dataset)
    turns = _turns(conversations)
    return Publication(
        benchmark="ConvKGYarn",
        task="question-answering",
        summary="Conversations about facts of a knowledge graph, each turn a question with all of its answers.",
        paper="Pradeep et al., ConvKGYarn: Spinning Configurable and Scalable Conversational Knowledge Graph QA"
        " Datasets with Large Language Models, EMNLP Industry 2024",
        questions=turns["question"],
        files=files_of(dataset, FILES) if dataset.is_dir() else {path.name: path},
        tables=[
            PublishedTable("conversations", "Conversations.", _CONVERSATIONS, {"test": _conversations(conversations)}),
            PublishedTable("turns", "Turns of the conversations, in order.", _TURNS, {"test": turns}),
        ],
        about=about,
        command="conv make",
        options=made_with(ConvSettings, about),
        limits=_LIMITS,
    )


def _read(path: Path) -> pl.DataFrame:
    """Read conversations as a frame."""
    with read_fast(path, lambda: read_conversations(path)):
        if path.suffix == ".parquet":
            frame = pl.read_parquet(path, columns=_SCHEMA.names())
        else:
            frame = pl.read_ndjson(path, schema=_SCHEMA)
    needed = [name for name in _SCHEMA.names() if name != "related"]
    null = frame.select(pl.any_horizontal(pl.col(name).is_null().any() for name in needed)).item()
    if frame.is_empty() or null or not frame["id"].is_unique().all():
        check_strictly(lambda: read_conversations(path))
        raise BadInputError(f"No conversations, or duplicate ids, in {path}", "Each conversation needs its own id")
    return frame


def _conversations(conversations: pl.DataFrame) -> pl.DataFrame:
    def reference(name: str) -> pl.Expr:
        fields = (pl.col(name).struct.field(one) for one in ("type", "key"))
        return pl.format("{}#{}", *fields).fill_null("")

    return conversations.select(
        "id",
        "group",
        entity=reference("entity"),
        entity_name=pl.col("entity").struct.field("name"),
        related=reference("related"),
        related_name=pl.col("related").struct.field("name").fill_null(""),
        interaction="interaction",
        deixis="deixis",
        disfluency="disfluency",
        typo="typo",
        turns=pl.col("turns").list.len().cast(pl.Int64),
    )


def _turns(conversations: pl.DataFrame) -> pl.DataFrame:
    long = conversations.select(conversation="id", own="turns").explode("own").drop_nulls("own")
    long = long.with_columns(turn=pl.int_range(1, pl.len() + 1).over("conversation")).unnest("own")
    of = pl.element().struct
    parts = {"nodes": "node", "values": "value"}
    return long.with_columns(
        pl.col(_TEXT).fill_null(""),
        pl.col("given").fill_null([]),
        *(pl.col("answers").list.eval(of.field(field).fill_null("")).alias(name) for name, field in parts.items()),
        answers=pl.col("answers").list.eval(of.field("text")),
    ).select(list(_TURNS))
