"""A STaRK dataset as a publication: the documents are those of the KB, because the dataset has none."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from kbkit.benchmarks.dataset import ABOUT, QUERIES, read_about
from kbkit.benchmarks.document_files import document_texts
from kbkit.benchmarks.publish.form import Publication, Retrieval, files_of, made_with, without_answers
from kbkit.benchmarks.requirements.settings import RequirementSettings
from kbkit.benchmarks.stark.dataset import HUMAN, HUMAN_RECORDS, StarkDataset, read_datasets
from kbkit.benchmarks.stark.numbers import read_numbers
from kbkit.benchmarks.stark.task import StarkTask, task
from kbkit.errors import KbError, Option
from kbkit.measures.frames import Gold

if TYPE_CHECKING:
    from kbkit.kb import KnowledgeBase

FILES = ("stark_qa/*.csv", "split/*.index", QUERIES, HUMAN_RECORDS, ABOUT)
_SUGGEST = "suggest/"
_NO_SPLIT = "all"
_COLUMNS = {"type": "Type of the node.", "key": "Key of the node in the knowledge graph."}
_LIMITS = (
    "Answers are complete for the knowledge graph that the dataset was made from, not for the world.",
    "The documents are the candidates' own texts, without their relations: a query also needs the graph.",
    "Queries made by rules have few frames; compare vocabulary and variety with kbkit stark stats.",
)


def publication(dataset: Path, kb: KnowledgeBase | None) -> Publication:
    """Describe a dataset. Raises :class:`KbError` without a ``kb``, whose nodes are the documents."""
    if kb is None:
        raise KbError("A STaRK dataset has no documents", "Name the KB whose nodes are its answers with ", Option("kb"))
    tasks = [(one, task(kb, one.gold, (), _numbers(dataset, one))) for one in read_datasets(dataset)]
    several = len(tasks) > 1
    queries, judgements, lost = [], [], 0
    documents: dict[str, pl.DataFrame] = {}
    for one, searched in tasks:
        known = _documents(kb, searched)
        documents |= {searched.names + str(searched.types): known}
        renamed = _renamed(one.gold, f"{HUMAN}-" if several and one.human else "")
        queries.append(_queries(renamed, one))
        kept = renamed.relevant.join(known, left_on="node", right_on="id", how="semi", maintain_order="left")
        lost += renamed.relevant.height - kept.height
        judgements.append(kept.select("query", document="node", score="relevance"))
    folder = dataset if dataset.is_dir() else dataset.absolute().parent.parent
    about = read_about(folder)
    asked = pl.concat(queries)
    return Publication(
        benchmark="STaRK",
        task="text-retrieval",
        summary="Queries that combine relations of a knowledge graph with texts of its nodes; answers are nodes.",
        paper="Wu et al., STaRK: Benchmarking LLM Retrieval on Textual and Relational Knowledge Bases, NeurIPS 2024",
        questions=asked["text"],
        files=files_of(folder, FILES),
        retrieval=Retrieval(
            pl.concat(documents.values()).unique("id", keep="first", maintain_order=True),
            asked,
            pl.concat(judgements),
            _COLUMNS,
        ),
        about=about,
        command="stark make",
        options=made_with(RequirementSettings, _settings(about)),
        limits=[*_LIMITS, *without_answers(lost, "no candidates")],
    )


def _numbers(dataset: Path, one: StarkDataset) -> Any:
    return read_numbers(dataset, HUMAN if one.human else "")


def _renamed(gold: Gold, prefix: str) -> Gold:
    """Return the gold with a prefix of the queries' ids: both tables of a dataset count from 0."""
    name = pl.concat_str(pl.lit(prefix), "query").alias("query")
    return Gold(gold.judgements.with_columns(name), gold.queries.with_columns(name))


def _queries(gold: Gold, dataset: StarkDataset) -> pl.DataFrame:
    """Return id, text and split of the queries; those of no split, and of a table without splits, are in ``all``."""
    split = pl.lit(HUMAN) if dataset.human else pl.col("split") if "split" in gold.queries.columns else pl.lit(None)
    return gold.queries.select(id="query", text="text", split=split.cast(pl.String).fill_null(_NO_SPLIT))


def _documents(kb: KnowledgeBase, searched: StarkTask) -> pl.DataFrame:
    """Return the candidates with their texts: id (as the answers name them), title, text, type, key."""
    wanted = pl.DataFrame({"id": searched.within}, schema={"id": pl.Int32})
    sql = (
        "SELECT n.id, n.key, n.type::VARCHAR AS type, coalesce(nullif(trim(n.name), ''), n.key) AS title"
        " FROM nodes n SEMI JOIN kbkit_within w USING (id) ORDER BY id"
    )
    nodes = kb.tables.lookup(sql, frames={"kbkit_within": wanted})
    texts = document_texts(kb, nodes)
    return pl.DataFrame({"id": searched.named(nodes), **texts.select("title", "text", "type", "key").to_dict()})


def _settings(about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the recorded settings by the names of their fields."""
    if not about:
        return {}
    target, templates = about.get("target") or {}, [template["id"] for template in about.get("templates", ())]
    few, many = about.get("candidates") or (None, None)
    return {
        "count": about.get("report", {}).get("wanted", about.get("queries")),
        "seed": about.get("seed"),
        "templates": ["suggest"] if all(template.startswith(_SUGGEST) for template in templates) else templates,
        "max_properties": about.get("properties"),
        "min_candidates": few,
        "max_candidates": many,
        "max_answers": about.get("answers"),
        "several": target.get("several"),
        "mean_answers": target.get("mean"),
        "relations_only": about.get("relations_only"),
        "text": about.get("text"),
        "leave_out": about.get("leave_out"),
        "weight": about.get("weight"),
        "fractions": about.get("split"),
    }
