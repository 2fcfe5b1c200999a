"""Instances from published questions: positive units by answer traces, by cells, by queries, or by shortest paths."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from kbkit.benchmarks.ska.gathering import Gathering
from kbkit.benchmarks.ska.graphs.make import NOISE_UNITS
from kbkit.benchmarks.ska.instances import ROW, TRIPLE, Instance, KnowledgeUnit, Provenance, numbered
from kbkit.benchmarks.ska.published import cells, hybrid, rules, shortest, stark
from kbkit.benchmarks.ska.published.cells import Grid
from kbkit.benchmarks.ska.published.files import (
    HYBRIDQA,
    ROG,
    STARK,
    TABLEBENCH,
    PublishedQuestion,
    read_published_questions,
)
from kbkit.benchmarks.ska.solve import Solver
from kbkit.benchmarks.ska.statements import check_instance
from kbkit.benchmarks.ska.tables import fit
from kbkit.benchmarks.ska.tables.data import Linked, TableData, holds_tables, stored
from kbkit.errors import KbError, QueryError
from kbkit.ingestion.data_tables import unique_names
from kbkit.kb import KnowledgeBase

UNKNOWN_TABLE = "the KB does not have the table"
UNPROVED = "the query does not prove the positive units"
NO_EVIDENCE = "the question has no table and no subgraph: it needs a model or people"
_TABLEBENCH_KINDS = frozenset(("", "FactChecking", "NumericalReasoning"))
NOT_LOOKED_UP = "the question asks for an analysis or a chart"

_UNKNOWN = frozenset((
    cells.NOTHING_NAMED, cells.AMBIGUOUS, cells.NO_COLUMN, cells.UNEXPLAINED, cells.DIFFERENT, hybrid.UNCLEAR,
))  # fmt: skip
"""Reasons for which the positive units of a question are unknown, while the question is fit."""


def make(
    kb: KnowledgeBase | None,
    path: Path,
    gathering: Gathering | None = None,
    *,
    drafts: bool = False,
    noise_units: int = NOISE_UNITS,
) -> list[Instance]:
    """Return instances from the question file ``path`` over the tables of ``kb``, in the order of the file.

    Of STaRK's questions, which take longest, the wanted number is used, in random order and with ``noise_units``; of
    others all are. Questions of RoG and TableBench bring their own data and need no KB. With ``drafts``, questions
    whose positive units are not known become instances without any, for a model
    (:mod:`kbkit.benchmarks.ska.published.positive`) or people. Raises :class:`KbError` if the KB has no tables that
    the questions could be about.
    """
    gathering = gathering or Gathering()
    questions = read_published_questions(path)
    if questions and questions[0].dataset == STARK:
        if kb is None:
            raise KbError(f"The questions of {path} need the KB that they are about")
        return stark.make(kb, questions, gathering, noise_units)
    tables = _tables(kb, path, questions)
    with Solver() as solver:
        maker = _Maker(tables, gathering.seed, drafts, solver, kb.directory.path.name if kb else "")
        return replace(gathering, count=0).gather(stark.STAGE, questions, maker.instance)


def _tables(kb: KnowledgeBase | None, path: Path, questions: Sequence[PublishedQuestion]) -> dict[str, Grid]:
    """Return the tables of a KB that questions are about, by id."""
    wanted = {question.table for question in questions if question.dataset not in (ROG, TABLEBENCH)}
    if not wanted:
        return {}
    if kb is None:
        raise KbError(f"The questions of {path} need a KB with their tables", "Ingest the tables, and use that KB")
    if not holds_tables(kb):
        message = f"{kb.directory.path} holds no tables"
        raise KbError(message, "Build it with a recipe for tables, such as wikitablequestions, hybridqa or csv")
    return {table.id: Grid(table) for table in stored(kb, wanted)}


class _Maker:
    """Makes instances of questions."""

    def __init__(self, tables: Mapping[str, Grid], seed: int, drafts: bool, solver: Solver, kb: str) -> None:
        self._tables, self._seed, self._drafts, self._solver, self._kb = tables, seed, drafts, solver, kb

    def instance(self, question: PublishedQuestion) -> Instance | str:
        """Return the instance of a question, or the reason why there is none."""
        if question.dataset == ROG:
            return self._graph(question)
        grid = self._find_table(question)
        if isinstance(grid, str):
            return grid
        table = grid.table
        if reason := fit.size(table.header, table.rows) or fit.order(table.header, table.rows):
            return reason
        if question.dataset == HYBRIDQA:
            return self._hybrid(question, grid)
        return self._queried(question, table) if question.sql else self._table(question, grid)

    def _find_table(self, question: PublishedQuestion) -> Grid | str:
        """Return the table of a question, or the reason why there is none."""
        if question.kind not in _TABLEBENCH_KINDS:
            return NOT_LOOKED_UP
        if question.header:
            return Grid(_given(question))
        if not question.table:
            return NO_EVIDENCE
        return self._tables.get(question.table) or UNKNOWN_TABLE

    # -- tables -------------------------------------------------------------------------------------------------------

    def _table(self, question: PublishedQuestion, grid: Grid) -> Instance | str:
        answers = question.answers
        traced = cells.find(question.text, answers, grid)
        if traced == rules.NO_ANSWER and len(answers) == 1 and ", " in answers[0]:  # TableBench joins several answers
            answers = answers[0].split(", ")
            traced = cells.find(question.text, answers, grid)
        if isinstance(traced, str):
            return self._draft(question, grid.table, answers, traced)
        aliases = {
            answer: [own] for answer, own in zip(traced.answers, question.answers, strict=False) if answer != own
        }
        provenance = Provenance(
            question.dataset, question.id, self._kb, grid.table.id, "cells", sql=traced.sql, topics=traced.topics,
            aliases=aliases if len(traced.answers) == len(question.answers) == 1 else {},
        )  # fmt: skip
        table = replace(grid.table, passages=[])  # the question is answered by the rows
        instance = self._of_table(question, table, traced.answers, provenance, rows=traced.rows)
        return UNPROVED if check_instance(instance, self._solver) else instance

    def _queried(self, question: PublishedQuestion, table: TableData) -> Instance | str:
        """Make an instance of a question with a query: a unit is positive if the query finds an answer in it alone."""
        provenance = Provenance(question.dataset, question.id, self._kb, table.id, "sql", sql=question.sql)
        answers = set(question.answers)
        everything = self._of_table(question, table, question.answers, provenance)
        texts = {(link.node, link.field): link.unit() for link in table.texts}
        rows = {unit.position: unit for unit in everything.noise if unit.kind == ROW}

        def answers_of(chosen: Iterable[int], without: tuple[str, str] | None = None) -> set[str]:
            units = [*(rows[row] for row in chosen), *(unit for key, unit in texts.items() if key != without)]
            return self._solver.answers(everything, units)

        try:
            positive = [row for row in sorted(rows) if answers_of([row]) & answers]
            linked = {(link.node, link.field) for link in table.passages if link.row in set(positive)}
            used = [
                link for link in table.texts
                if (link.node, link.field) in linked and answers_of(positive, (link.node, link.field)) != answers
            ]  # fmt: skip
        except QueryError as error:
            return f"the query of question {question.id} fails: {error.message}"
        if not used:
            table = replace(table, passages=[])  # a question that needs no passage is one over the table alone
        instance = self._of_table(question, table, question.answers, provenance, positive, used)
        return UNPROVED if not positive or check_instance(instance, self._solver) else instance

    def _hybrid(self, question: PublishedQuestion, grid: Grid) -> Instance | str:
        traced = hybrid.find(question.text, question.answers[0], grid, question.nodes)
        if isinstance(traced, str):
            return self._draft(question, grid.table, question.answers, traced)
        provenance = Provenance(question.dataset, question.id, self._kb, grid.table.id, "trace")
        return self._of_table(question, grid.table, question.answers, provenance, [traced.row], [traced.link])

    def _draft(
        self, question: PublishedQuestion, table: TableData, answers: Sequence[str], reason: str
    ) -> Instance | str:
        """Return an instance without positive units if the reason is that they are not known, else the reason."""
        if not self._drafts or reason not in _UNKNOWN:
            return reason
        return self._of_table(question, table, answers, Provenance(question.dataset, question.id, self._kb, table.id))

    def _of_table(
        self,
        question: PublishedQuestion,
        table: TableData,
        answers: Sequence[str],
        provenance: Provenance,
        rows: Sequence[int] = (),
        used: Sequence[Linked] = (),
    ) -> Instance:
        """Return the instance with some positive rows and passages; the table's other rows and passages are noise."""
        units = [KnowledgeUnit("", ROW, row, [table.id, str(n)], n) for n, row in enumerate(table.rows)]
        positive = [units[row] for row in rows] + [link.unit() for link in used]
        known, chosen = {(link.node, link.field) for link in used}, set(rows)
        noise = [unit for unit in units if unit.position not in chosen]
        noise += [link.unit() for link in table.texts if (link.node, link.field) not in known]
        form = "table+text" if table.passages or question.dataset == HYBRIDQA else "table"
        return self._instance(question, form, answers, positive, noise, provenance, table)

    # -- graphs -------------------------------------------------------------------------------------------------------

    def _graph(self, question: PublishedQuestion) -> Instance | str:
        positive = shortest.positive(question.graph, question.topics, question.answers)
        if isinstance(positive, str):
            return positive
        if reason := rules.leaked(question.text, question.answers):
            return reason
        provenance = Provenance(
            question.dataset,
            question.id,
            self._kb,
            evidence="paths",
            topics=[f"entity#{name}" for name in question.topics],
        )
        chosen = set(positive)
        noise = [_triple(triple) for triple in dict.fromkeys(question.graph) if triple not in chosen]
        answers = list(dict.fromkeys(question.answers))
        return self._instance(question, "kg", answers, [_triple(one) for one in positive], noise, provenance)

    # -- both ---------------------------------------------------------------------------------------------------------

    def _instance(
        self,
        question: PublishedQuestion,
        form: str,
        answers: Sequence[str],
        positive: Sequence[KnowledgeUnit],
        noise: Sequence[KnowledgeUnit],
        provenance: Provenance,
        table: TableData | None = None,
    ) -> Instance:
        name = f"{question.dataset}-{question.id}"
        order = np.random.default_rng((self._seed, zlib.crc32(name.encode()))).permutation(len(noise))
        return Instance(
            name, form, question.text, list(answers), numbered(positive, "p"), numbered([noise[i] for i in order], "n"),
            provenance, table.title if table else "", list(table.header) if table else [],
        )  # fmt: skip


def _given(question: PublishedQuestion) -> TableData:
    """Return the table that a question brings along, with unique names and cells in all rows."""
    width = len(question.header)
    rows = [[*row[:width], *[""] * (width - len(row))] for row in question.rows]
    return TableData(question.id, "", unique_names(question.header), rows, list(range(len(rows))))


def _triple(triple: tuple[str, str, str]) -> KnowledgeUnit:
    head, relation, tail = triple
    return KnowledgeUnit("", TRIPLE, list(triple), [f"entity#{head}", relation, f"entity#{tail}"])
