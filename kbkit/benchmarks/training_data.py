"""The questions of a dataset to train a system on: a STaRK or QUEST dataset, or a file of questions with splits.

If the dataset has documents of its own (``documents.jsonl``), these are the texts; else the texts are the KB's.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from kbkit.benchmarks.document_index import DocumentIndex, document_index
from kbkit.benchmarks.quest.corpus import Corpus
from kbkit.benchmarks.quest.dataset import QuestDataset
from kbkit.benchmarks.stark import numbers, task
from kbkit.display.progress import Listener
from kbkit.errors import BadInputError, KbError
from kbkit.kb import KnowledgeBase
from kbkit.measures import ranking, stark
from kbkit.measures.files import read_gold
from kbkit.measures.frames import JUDGEMENTS, RUN, Gold
from kbkit.measures.ranked_pairs import pairs
from kbkit.search.ranking import Ranking
from kbkit.search.training.questions import QuestionSplits, TrainingQuestion
from kbkit.stores.arrays import Within, is_within

TRAIN, VALIDATION = "train", "val"
MEASURES = ("mrr", "hit@1", "hit@5", "recall@20")
"""What validation measures: STaRK's measures. The first says which epoch is best."""
_MODES = ("bm25",)


class _Answered:
    """Questions with the ids of their answers, and how many answers are unknown and questions are left without."""

    def __init__(self, texts: Mapping[str, str], rows: Sequence[tuple[str, int | None]]) -> None:
        answers: dict[str, set[int]] = {name: set() for name in texts}
        self.unknown = 0
        for query, node in rows:
            if node is None:
                self.unknown += 1
            else:
                answers[query].add(node)
        self.questions = [
            TrainingQuestion(name, texts[name], tuple(sorted(ids))) for name, ids in answers.items() if ids
        ]
        self.dropped = len(answers) - len(self.questions)


@contextlib.contextmanager
def opened(
    kb: KnowledgeBase,
    dataset: Path,
    splits: tuple[str, str] = (TRAIN, VALIDATION),
    types: Sequence[str] = (),
    listener: Listener | None = None,
) -> Iterator[QuestionSplits]:
    """Read the questions of the splits for training and validation; their texts can be read during the block.

    ``types`` are the node types of the answers (default: those of the dataset). Raises :class:`UnknownNameError` for a
    missing split, and :class:`KbError` if the dataset has no splits, or if no answer is in the KB.
    """
    if splits[0] == splits[1]:
        raise KbError(f"The split {splits[0]} cannot be both trained on and validated with", "Use another split")
    with contextlib.ExitStack() as stack:
        index = None
        if dataset.is_dir():
            index = stack.enter_context(document_index(dataset, None, kb, _MODES, listener))
        read = _quest if _is_quest(dataset) else _stark if _is_stark(dataset) else _file
        yield read(kb, dataset, splits, types, index)


def _is_quest(dataset: Path) -> bool:
    return dataset.is_dir() and any((dataset / f"{split}.jsonl").is_file() for split in (TRAIN, VALIDATION, "test"))


def _is_stark(dataset: Path) -> bool:
    return dataset.is_dir() or dataset.suffix.lower() == ".csv"


def _splits(
    index: DocumentIndex | None, kb: KnowledgeBase, parts: Sequence[_Answered], within: Within
) -> QuestionSplits:
    train, validation = parts
    stores = kb.stores if index is None else index.kb.stores
    unknown, dropped = (train.unknown + validation.unknown), (train.dropped + validation.dropped)
    return QuestionSplits(stores, train.questions, validation.questions, within, score, unknown, dropped)


def _stark(
    kb: KnowledgeBase, dataset: Path, splits: tuple[str, str], types: Sequence[str], index: DocumentIndex | None
) -> QuestionSplits:
    parts, within = [], np.empty(0, np.int64)
    nodes = None
    for split in splits:
        gold = stark.read_stark_gold(dataset, split)
        searched = task.task(kb, gold, types, numbers.read_numbers(dataset, split))
        rows = task.answer_nodes(kb, searched).select("query", "id")
        ids = searched.within.astype(np.int64)
        if index is not None:
            nodes = index.nodes(kb, searched.types)
            rows = rows.join(nodes.select("id", "document"), on="id", how="left", maintain_order="left")
            rows = rows.select("query", id="document")
            ids = np.sort(nodes["document"].to_numpy().astype(np.int64))
        parts.append(_Answered(dict(gold.queries.select("query", "text").iter_rows()), rows.rows()))
        within = np.union1d(within, ids)
    return _splits(index, kb, parts, within)


def _quest(
    kb: KnowledgeBase, dataset: Path, splits: tuple[str, str], types: Sequence[str], index: DocumentIndex | None
) -> QuestionSplits:
    if types:
        raise KbError("The domains of a QUEST dataset say which types are searched", "Omit the types")
    opened = QuestDataset.open(dataset)
    examples = [opened.read(split) for split in splits]
    both = [example for part in examples for example in part]
    corpus = Corpus.of(kb, opened, both) if index is None else Corpus.of_index(index, both)
    ids = dict(corpus.nodes.select("title", "id").iter_rows())
    parts = [
        _Answered({e.id: e.text for e in part}, [(e.id, ids.get(title)) for e in part for title in e.docs])
        for part in examples
    ]
    return _splits(index, kb, parts, corpus.within(None))


def _file(
    kb: KnowledgeBase, dataset: Path, splits: tuple[str, str], types: Sequence[str], _: DocumentIndex | None
) -> QuestionSplits:
    if not dataset.exists():
        raise BadInputError(f"{dataset} does not exist", "Use a STaRK or QUEST dataset, or a file of questions")
    chosen = [kb.schema.type(name).name for name in types] or list(kb.schema.candidate_types)
    members = [kb.session.members(name).astype(np.int64) for name in chosen]
    within = np.unique(np.concatenate(members)) if members else None
    parts = []
    questions = read_gold(dataset)
    if "split" not in questions.queries.columns:
        hint = f'Add "split" to each record: "{splits[0]}" or "{splits[1]}"'
        raise BadInputError(f"The questions of {dataset} have no splits", hint)
    for split in splits:
        gold = questions.only(split, dataset)
        ranked = pairs(kb.stores, gold, gold.queries)
        texts = {pair.id: pair.query for pair in ranked.pairs}
        known = [
            (pair.id, node if is_within(np.array([node]), within)[0] else None)
            for pair in ranked.pairs
            for node in sorted(pair.relevant)
        ]
        part = _Answered(texts, known)
        part.unknown += ranked.unknown
        parts.append(part)
    return _splits(None, kb, parts, within)


def score(questions: Sequence[TrainingQuestion], rankings: Sequence[Ranking]) -> dict[str, float]:
    """Return the means of :data:`MEASURES` over questions with distinct ids."""
    lists = [
        (question.id, ranked.ids.astype(np.int64).astype(str).tolist(), [-float(at) for at in range(len(ranked.ids))])
        for question, ranked in zip(questions, rankings, strict=True)
        if len(ranked.ids)
    ]
    schema = {"query": pl.String, "node": pl.List(pl.String), "score": pl.List(pl.Float64)}
    run = pl.DataFrame(lists, schema=schema, orient="row").explode("node", "score").cast(RUN)  # type: ignore[arg-type]
    judged = [(question.id, str(node), 1) for question in questions for node in question.answers]
    queries = pl.DataFrame(
        {"query": [question.id for question in questions], "text": [question.text for question in questions]}
    )
    gold = Gold(pl.DataFrame(judged, schema=JUDGEMENTS, orient="row"), queries)
    scores = ranking.measure(run, gold, MEASURES)
    return {name: float(scores[name].mean() or 0.0) for name in MEASURES}  # type: ignore[arg-type] # numbers
