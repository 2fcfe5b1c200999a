"""Instances from published questions: positive units by answer traces, by cells, by queries, or by shortest paths."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kbkit.benchmarks.ska.instances import PASSAGE, ROW, TRIPLE, Instance, Provenance, Unit, numbered
from kbkit.benchmarks.ska.published import cells, hybrid, rules, shortest
from kbkit.benchmarks.ska.published.cells import Grid
from kbkit.benchmarks.ska.published.files import HYBRIDQA, ROG, TABLEBENCH, Question, read
from kbkit.benchmarks.ska.solve import Solver
from kbkit.benchmarks.ska.statements import check
from kbkit.errors import KbError
from kbkit.ingestion.data_tables import unique_names
from kbkit.kb import KnowledgeBase

UNKNOWN_TABLE = "the KB does not have the table"
UNPROVED = "the query does not prove the positive units"
NO_EVIDENCE = "the question has no table and no subgraph: it needs a model or people"
_TABLEBENCH_KINDS = frozenset(("", "FactChecking", "NumericalReasoning"))
NOT_LOOKED_UP = "the question asks for an analysis or a chart"

_UNKNOWN = frozenset((
    cells.NOTHING_NAMED, cells.AMBIGUOUS, cells.NO_COLUMN, cells.UNEXPLAINED, cells.DIFFERENT, hybrid.NOT_TOLD,
))  # fmt: skip
"""Reasons for which the positive units of a question are unknown, while the question is fit."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class PublishedSettings:
    """Settings: the ``seed`` of the order of noise, the most ``count`` instances (0: all), the most noise units.

    With ``counts``, questions for the number of rows that the question's cells select are used. With ``drafts``,
    questions whose positive units are not known become instances without any, for a model
    (:mod:`kbkit.benchmarks.ska.published.positive`) or people.
    """

    seed: int = 0
    count: int = 0
    noise_units: int = 0
    counts: bool = True
    drafts: bool = False


def make(
    kb: KnowledgeBase | None,
    path: Path,
    settings: PublishedSettings | None = None,
    progress: Progress = lambda *_: None,
    left_out: Counter[str] | None = None,
) -> list[Instance]:
    """Return instances from the question file ``path`` over the tables of ``kb``, in the order of the file.

    Questions of RoG and TableBench bring their own data and need no KB. ``left_out`` counts the reasons for which
    questions were left out. Raises :class:`KbError` if the KB has no tables that the questions could be about.
    """
    settings = settings or PublishedSettings()
    reasons: Counter[str] = Counter() if left_out is None else left_out
    questions = read(path)
    tables = Tables(kb) if kb else None
    if tables is None and any(question.dataset not in (ROG, TABLEBENCH) for question in questions):
        raise KbError(f"The questions of {path} need a KB with their tables", "Ingest the tables, and use that KB")
    found: list[Instance] = []
    with Solver() as solver:
        maker = _Maker(tables, settings, solver, kb.directory.path.name if kb else "")
        for number, question in enumerate(questions):
            progress("published questions", number, len(questions))
            made = maker.instance(question)
            if isinstance(made, str):
                reasons[made] += 1
            else:
                found.append(made)
                if len(found) == settings.count:
                    break
    progress("published questions", len(questions), len(questions))
    return found


class Tables:
    """The tables of a KB by id, with the passages of their cells; read once.

    Raises :class:`KbError` if the KB holds no tables.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        if "table_rows" not in kb.schema.extra_tables:
            message = f"{kb.directory.path} holds no tables"
            raise KbError(message, "Build it with a recipe for tables, such as wikitablequestions, hybridqa or csv")
        self._kb = kb
        self._heads = {
            name: (title, list(header))
            for name, title, header in kb.tables.rows("SELECT table_id, title, header FROM tables")
        }
        self._known: dict[str, tuple[Grid, list[hybrid.Link]]] = {}

    def get(self, name: str) -> tuple[Grid, list[hybrid.Link]] | None:
        """Return a table and its passages."""
        if name not in self._heads:
            return None
        if name not in self._known:
            title, header = self._heads[name]
            rows = self._kb.tables.rows(
                "SELECT cells FROM table_rows WHERE table_id = $name ORDER BY position", {"name": name}
            )
            links = self._kb.tables.rows(
                "SELECT position, column_number, node, field, title, text FROM passages WHERE table_id = $name"
                " ORDER BY position, column_number, node, field",
                {"name": name},
            )
            found = [hybrid.Link(*link) for link in links]
            self._known[name] = Grid(name, title, header, [row for (row,) in rows]), found
        return self._known[name]


class _Maker:
    """Makes instances of questions."""

    def __init__(self, tables: Tables | None, settings: PublishedSettings, solver: Solver, kb: str) -> None:
        self._tables, self._settings, self._solver, self._kb = tables, settings, solver, kb

    def instance(self, question: Question) -> Instance | str:
        """Return the instance of a question, or the reason why there is none."""
        if question.dataset == ROG:
            return self._graph(question)
        found = self._find_table(question)
        if isinstance(found, str):
            return found
        grid, links = found
        if reason := rules.size(grid.header, grid.rows) or rules.order_of_table(grid.rows):
            return reason
        if question.dataset == HYBRIDQA:
            return self._hybrid(question, grid, links)
        return self._queried(question, grid, links) if question.sql else self._table(question, grid)

    def _find_table(self, question: Question) -> tuple[Grid, list[hybrid.Link]] | str:
        """Return the table of a question with its passages, or the reason why there is none."""
        if question.kind not in _TABLEBENCH_KINDS:
            return NOT_LOOKED_UP
        if question.header:
            return _given(question), []
        if not question.table or not self._tables:
            return NO_EVIDENCE
        return self._tables.get(question.table) or UNKNOWN_TABLE

    # -- tables -------------------------------------------------------------------------------------------------------

    def _table(self, question: Question, grid: Grid) -> Instance | str:
        answers = question.answers
        found = cells.find(question.text, answers, grid, counts=self._settings.counts)
        if found == rules.NO_ANSWER and len(answers) == 1 and ", " in answers[0]:  # TableBench joins several answers
            answers = answers[0].split(", ")
            found = cells.find(question.text, answers, grid, counts=self._settings.counts)
        if isinstance(found, str):
            return self._draft(question, grid, answers, [], found)
        aliases = {answer: [own] for answer, own in zip(found.answers, question.answers, strict=False) if answer != own}
        provenance = Provenance(
            question.dataset, question.id, self._kb, grid.id, "cells", sql=found.sql, topics=found.topics,
            aliases=aliases if len(found.answers) == len(question.answers) == 1 else {},
        )  # fmt: skip
        instance = self._with_rows(question, grid, found.answers, found.rows, [], [], provenance)
        return UNPROVED if check(instance, self._solver) else instance

    def _queried(self, question: Question, grid: Grid, links: Sequence[hybrid.Link]) -> Instance | str:
        """Make an instance of a question with a query: a unit is positive if the query finds an answer in it alone."""
        provenance = Provenance(question.dataset, question.id, self._kb, grid.id, "sql", sql=question.sql)
        everything = self._with_rows(question, grid, question.answers, [], [], links, provenance)
        texts = [unit for unit in everything.noise if unit.kind == PASSAGE]
        positive = {
            unit.position
            for unit in everything.noise
            if unit.kind == ROW and self._solver.answers(everything, [unit, *texts]) & set(question.answers)
        }
        used = [
            link for link, unit in zip(_once(links), (_passage(link) for link in _once(links)), strict=True)
            if link.row in positive and not self._same_without(everything, unit, positive, texts)
        ]  # fmt: skip
        offered = links if used else []  # a question that needs no passage is one over the table alone
        instance = self._with_rows(question, grid, question.answers, sorted(positive), used, offered, provenance)
        return UNPROVED if not positive or check(instance, self._solver) else instance

    def _same_without(self, everything: Instance, unit: Unit, positive: set[int], texts: Sequence[Unit]) -> bool:
        """Return whether the positive rows give the same answers without a passage."""
        rows = [one for one in everything.noise if one.kind == ROW and one.position in positive]
        rest = [one for one in texts if one.source != unit.source]
        return self._solver.answers(everything, [*rows, *rest]) == set(everything.answers)

    def _hybrid(self, question: Question, grid: Grid, links: Sequence[hybrid.Link]) -> Instance | str:
        found = hybrid.find(question.text, question.answers[0], grid, links, question.nodes)
        if isinstance(found, str):
            return self._draft(question, grid, question.answers, links, found)
        provenance = Provenance(question.dataset, question.id, self._kb, grid.id, "trace")
        return self._with_rows(question, grid, question.answers, [found.row], [found.link], links, provenance)

    def _draft(
        self, question: Question, grid: Grid, answers: Sequence[str], links: Sequence[hybrid.Link], reason: str
    ) -> Instance | str:
        """Return an instance without positive units if the reason is that they are not known, else the reason."""
        if not self._settings.drafts or reason not in _UNKNOWN:
            return reason
        provenance = Provenance(question.dataset, question.id, self._kb, grid.id)
        return self._with_rows(question, grid, answers, [], [], links, provenance)

    def _with_rows(
        self,
        question: Question,
        grid: Grid,
        answers: Sequence[str],
        rows: Sequence[int],
        used: Sequence[hybrid.Link],
        links: Iterable[hybrid.Link],
        provenance: Provenance,
    ) -> Instance:
        """Return the instance with the positive rows and passages; the other rows and passages are noise."""
        units = [Unit("", ROW, list(cells), [grid.id, str(n)], n) for n, cells in enumerate(grid.rows)]
        positive = [units[row] for row in rows] + [_passage(link) for link in used]
        known = {(link.node, link.field) for link in used}
        noise = [unit for unit in units if unit.position not in set(rows)]
        noise += [_passage(link) for link in _once(links) if (link.node, link.field) not in known]
        form = (
            "table+text" if used or question.dataset == HYBRIDQA or any(u.kind == PASSAGE for u in noise) else "table"
        )
        return self._instance(question, form, answers, positive, noise, provenance, grid)

    # -- graphs -------------------------------------------------------------------------------------------------------

    def _graph(self, question: Question) -> Instance | str:
        positive, reason = shortest.positive(question.graph, question.topics, question.answers)
        if reason:
            return reason
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
        question: Question,
        form: str,
        answers: Sequence[str],
        positive: Sequence[Unit],
        noise: Sequence[Unit],
        provenance: Provenance,
        grid: Grid | None = None,
    ) -> Instance:
        name = f"{question.dataset}-{question.id}"
        order = np.random.default_rng((self._settings.seed, zlib.crc32(name.encode()))).permutation(len(noise))
        kept = order[: self._settings.noise_units] if self._settings.noise_units else order
        return Instance(
            name, form, question.text, list(answers), numbered(positive, "p"), numbered([noise[i] for i in kept], "n"),
            provenance, grid.title if grid else "", list(grid.header) if grid else [],
        )  # fmt: skip


def _given(question: Question) -> Grid:
    """Return the table that a question brings along, with unique names and cells in all rows."""
    width = len(question.header)
    rows = [[*row[:width], *[""] * (width - len(row))] for row in question.rows]
    return Grid(question.id, "", unique_names(question.header), rows)


def _once(links: Iterable[hybrid.Link]) -> list[hybrid.Link]:
    """Return the passages without those that another cell links to as well."""
    found = {(link.node, link.field): link for link in reversed(list(links))}
    return list(reversed(list(found.values())))


def _passage(link: hybrid.Link) -> Unit:
    return Unit("", PASSAGE, [link.title, link.text], [link.node, link.field, "0"])


def _triple(triple: tuple[str, str, str]) -> Unit:
    head, relation, tail = triple
    return Unit("", TRIPLE, list(triple), [f"entity#{head}", relation, f"entity#{tail}"])
