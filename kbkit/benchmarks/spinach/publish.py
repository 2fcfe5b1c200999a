"""A file of questions with SPARQL queries as a publication."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from kbkit.benchmarks.publish.form import Publication, PublishedTable
from kbkit.benchmarks.spinach import paper
from kbkit.benchmarks.spinach.files import read_questions

_COLUMNS = {
    "id": "Id.",
    "question": "Question.",
    "sparql": "SPARQL query whose results are the answers, empty if unknown.",
    "answers": "Results of the query as JSON: rows of SPARQL terms, true or false; empty if unknown.",
}
_LIMITS = (
    "Results depend on the version of the knowledge graph: compare answers over one version only.",
    "The queries are the authors' reading of the questions; another query can be right too.",
)


def publication(dataset: Path) -> Publication:
    """Describe a file of questions. Its split is the one in the file's name, or else ``test``."""
    questions = read_questions(dataset, sparql=False, question=True).questions
    rows = [
        (
            question.id,
            question.text,
            question.sparql,
            "" if question.answers is None else json.dumps(question.answers, ensure_ascii=False),
        )
        for question in questions
    ]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(_COLUMNS, pl.String), orient="row")
    split = paper.split(dataset) or "test"
    return Publication(
        benchmark="SPINACH",
        task="question-answering",
        summary="Questions with the SPARQL queries that answer them.",
        paper="Liu et al., SPINACH: SPARQL-Based Information Navigation for Challenging Real-World Questions,"
        " EMNLP Findings 2024",
        questions=frame["question"],
        files={dataset.name: dataset},
        tables=[PublishedTable("questions", "Questions with their queries.", _COLUMNS, {split: frame})],
        limits=_LIMITS,
    )
