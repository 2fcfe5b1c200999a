"""Instances over tables, from SQL templates: the forms *table* and *table+text* (section 3.2 of the paper).

Positive units are the rows (and passages) that the query of a question reads. Noise are the other rows of the table,
synthesized rows, and for *table+text* the other passages.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import polars as pl

from kbkit.benchmarks.duplicates import mould_of
from kbkit.benchmarks.evidence import Matcher, leaks, padded
from kbkit.benchmarks.left_out import REASON
from kbkit.benchmarks.ska.gathering import ENOUGH, Gathering
from kbkit.benchmarks.ska.instances import ROW, Instance, KnowledgeUnit, Provenance, without_words
from kbkit.benchmarks.ska.solve import Solver
from kbkit.benchmarks.ska.statements import check_instance
from kbkit.benchmarks.ska.tables import sources, wording
from kbkit.benchmarks.ska.tables.columns import CATEGORY, KEY, NAME
from kbkit.benchmarks.ska.tables.data import TableData
from kbkit.benchmarks.ska.tables.drafts import Drafter, TableDraft
from kbkit.benchmarks.ska.tables.noise import RULE, SAFE
from kbkit.benchmarks.ska.tables.synthesize import synthesize
from kbkit.benchmarks.ska.tables.texts import TextDrafter
from kbkit.english.stems import shares_stem
from kbkit.kb import KnowledgeBase
from kbkit.stores.scratch import Scratch

NOISE_ROWS = 1_200
"""Rows of noise, enough for 24k tokens."""
_INVENTED_UP_TO = 200
"""Rows of a table up to which rows are synthesized, enough for the testbeds of 4k tokens: a reader who knows the things
of a table tells invented ones from them, so that larger tables have real rows alone."""
NOISE_PASSAGES = 700
"""Passages of noise (the paper has 662 on average)."""


_ROWS = {1: 0.2, 2: 0.2, 3: 0.18, 4: 0.13, 5: 0.13, 6: 0.07, 7: 0.05, 8: 0.04}
"""Fractions of questions by number of positive rows: 3.4 on average, as in the paper's Table 1."""
_KINDS: dict[str, tuple[float, int, int]] = {
    "lookup": (1.0, 1, 1),
    "filter": (0.5, 1, 6),
    "compare": (1.0, 2, 8),
    "highest": (0.8, 2, 8),
    "sum": (1.0, 2, 5),
    "same": (0.35, 2, 5),
    "count among": (0.6, 3, 8),
}
"""Kinds of questions: weight, and numbers of positive rows."""
_OF_ALL_ROWS = frozenset(("filter", "same"))
"""Kinds of questions whose answers depend on all rows that there are."""
_TOLD = frozenset(("compare", "filter"))
"""Kinds of questions whose answer may be named like what they name: the largest country with the Australian dollar."""
_FILTER = "filter"
_LOOKUP, _SIMPLE, _AGAIN = "lookup", 0.15, 8
"""The kind that asks for a cell of a named row, which many people know without the table; its largest share of the
questions of a table; and attempts at another kind."""
_KIND_TRIES = 6
_SUPERLATIVES = frozenset(("compare", "highest"))
"""Kinds of questions that ask for the most or the least."""
_TRIES = 40
"""Attempts at one question, per table."""
_ENOUGH_TRIES = 400
"""Attempts that give a question of a mould of which there are enough."""


class Extended:
    """A table with its synthesized rows, spread at random among the original ones.

    ``order`` has, for each position, the number of an original row, or -1 - the number of a synthesized one.
    """

    def __init__(self, table: TableData, rows: Sequence[list[str]], seed: int) -> None:
        self.table, self.synthesized = table, rows
        total = len(table.rows) + len(rows)
        rng = np.random.default_rng((seed, total))
        at = np.sort(rng.choice(total, len(rows), replace=False)) if rows else np.empty(0, np.int64)
        self.order = np.full(total, 0)
        free = np.ones(total, bool)
        free[at] = False
        self.order[free] = np.arange(len(table.rows))
        self.order[at] = -1 - np.arange(len(rows))
        self.position = {int(row): place for place, row in enumerate(self.order.tolist())}

    def cells(self, row: int) -> list[str]:
        """Return the cells of an original row, or of a synthesized one by its negative number."""
        return self.table.rows[row] if row >= 0 else self.synthesized[-1 - row]

    @cached_property
    def frame(self) -> pl.DataFrame:
        """All rows with their cells, and ``kbkit_row``, the number in ``order``."""
        columns = list(zip(*(self.cells(row) for row in self.order.tolist()), strict=True))
        data = {name: pl.Series(cells, dtype=pl.String) for name, cells in zip(self.table.header, columns, strict=True)}
        return pl.DataFrame({**data, "kbkit_row": pl.Series(self.order, dtype=pl.Int64)})

    def meeting(self, condition: str, scratch: Scratch) -> set[int]:
        """Return the rows for which a condition in SQL holds."""
        sql = f"SELECT kbkit_row FROM table_rows WHERE {condition}"
        return {row for (row,) in scratch.rows(sql, {"table_rows": self.frame})}


def make(
    kb: KnowledgeBase,
    gathering: Gathering,
    *,
    text: bool,
    noise_rows: int = NOISE_ROWS,
    noise_passages: int = NOISE_PASSAGES,
    tables: Sequence[TableData] | None = None,
) -> list[Instance]:
    """Return instances over the tables of a KB, or the same ``tables`` already read; equal arguments, equal bytes.

    ``text`` makes instances of the form *table+text*.
    """
    tables = list(sources.tables(kb, gathering.left_out)) if tables is None else tables
    matcher = Matcher(kb) if text else None
    instances = []
    for instance in from_tables(tables, gathering, matcher, kb.schema.name, noise_rows, noise_passages):
        instances.append(instance)
        gathering.progress("instances", len(instances), gathering.count)
    return instances


def from_tables(
    tables: Sequence[TableData],
    gathering: Gathering,
    matcher: Matcher | None = None,
    source: str = "",
    noise_rows: int = NOISE_ROWS,
    noise_passages: int = NOISE_PASSAGES,
) -> Iterator[Instance]:
    """Yield instances over tables in turn; with a ``matcher`` of the form *table+text*, else of the form *table*."""
    names, count = _names_of(tables), gathering.count
    makers = [
        _Maker(table, gathering, matcher, source, (noise_rows, noise_passages), names)
        for table in tables
        if matcher is None or (table.passages and not table.is_part)
    ]
    done, waiting = 0, list(makers)
    with Solver() as solver, Scratch() as scratch:
        while waiting and done < count:
            for maker in list(waiting):
                instance = maker.next(done, solver, scratch)
                if instance is None:
                    waiting.remove(maker)
                    continue
                done += 1
                yield instance
                if done == count:
                    return
    if matcher is not None and makers and count and not done:
        gathering.left_out["no passage describes one row of a table alone"] += 1


def _names_of(tables: Sequence[TableData]) -> frozenset[str]:
    """Return the names in all tables."""
    named = [column.counts for table in tables for column in table.columns if column.kind in (KEY, NAME, CATEGORY)]
    return frozenset(name for counts in named for name in counts)


class _Maker:
    """Makes the instances of one table."""

    def __init__(
        self,
        table: TableData,
        gathering: Gathering,
        matcher: Matcher | None,
        source: str,
        noise: tuple[int, int],
        names: frozenset[str],
    ) -> None:
        self._table, self._gathering, self._source, self._names = table, gathering, source, names
        self._seed = seed = gathering.seed
        self._noise_rows, self._noise_passages = noise
        self._form = "table+text" if matcher else "table"
        self._rng = np.random.default_rng((seed, *table.id.encode()))
        drafter = Drafter(table)
        self._draft: Callable[[], TableDraft | None]
        if matcher:
            by_text = TextDrafter(drafter, matcher)
            self._draft = lambda: by_text.draft(self._rng)
        else:
            self._draft = lambda: self._by_rows(drafter)
        self._asked: set[Hashable] = set()
        self._made = self._lookups = 0

    @cached_property
    def extended(self) -> Extended:
        """The table with its synthesized rows: somewhat more than are needed, because some are left out."""
        missing = min(self._noise_rows, _INVENTED_UP_TO) - len(self._table.rows)
        wanted = int(missing * 1.02) + 10 if missing > 0 else 0
        rows = synthesize(self._table.header, self._table.rows, wanted, self._seed, self._names)
        return Extended(self._table, rows, self._seed)

    def _by_rows(self, drafter: Drafter) -> TableDraft | None:
        is_lookup = self._lookups < _SIMPLE * self._made
        draft = drafter.makers[_LOOKUP](1, self._rng) if is_lookup and self._rng.random() < _SIMPLE else None
        for _ in range(_AGAIN):
            draft = draft or self._of_kinds(drafter)
        return draft

    def _of_kinds(self, drafter: Drafter) -> TableDraft | None:
        counts, weights = list(_ROWS), np.array(list(_ROWS.values()))
        count = counts[int(self._rng.choice(len(counts), p=weights / weights.sum()))]
        kinds = [name for name, (_, low, high) in _KINDS.items() if low <= count <= high]
        kinds = [name for name in kinds if self._table.is_whole or name not in _OF_ALL_ROWS]
        kinds = [name for name in kinds if name != _LOOKUP]
        if not kinds:
            return None
        weight = np.array([_KINDS[name][0] for name in kinds])
        order = self._rng.choice(len(kinds), len(kinds), replace=False, p=weight / weight.sum())
        for kind in order.tolist():
            for _ in range(_KIND_TRIES):
                draft = drafter.makers[kinds[kind]](count, self._rng)
                if draft is not None:
                    return draft
        return None

    def next(self, number: int, solver: Solver, scratch: Scratch) -> Instance | None:
        """Return another instance; None if there seems to be none."""
        tries = enough = 0
        while tries < _TRIES and enough < _ENOUGH_TRIES:
            tries += 1
            draft = self._draft()
            # One question of a table is for a single amount: others would differ in the amount alone.
            meaning = draft and (draft.kind if draft.kind == _FILTER and not draft.topics else draft.meaning)
            if draft is None or meaning in self._asked:
                continue
            names = [name.casefold() for name in (*draft.topics, *draft.phrases)]
            outcome = self._gathering.unlike(
                (self._table.id, _mould(draft)),
                names,
                lambda draft=draft: self._instance(draft, number, solver, scratch),  # type: ignore[misc]
                on_text=False,
            )
            if outcome == ENOUGH:
                enough, tries = enough + 1, tries - 1
                continue
            self._asked.add(meaning)
            if not isinstance(outcome, str):
                self._made += 1
                self._lookups += draft.kind == _LOOKUP
                return outcome
            self._gathering.left_out[outcome] += 1
        if enough:
            self._gathering.left_out[ENOUGH] += enough
        return None

    def _instance(self, draft: TableDraft, number: int, solver: Solver, scratch: Scratch) -> Instance | str:
        """Return the instance of a draft, or the reason why there is none."""
        meeting = self.extended.meeting(draft.uses, scratch)
        if {row for row in meeting if row >= 0} != set(draft.rows):
            return "the query uses other rows than those intended"
        used = set(draft.passages)
        positive = [self._row(row, "p", i) for i, row in enumerate(draft.rows)]
        positive += [self._passage(p, "p", len(draft.rows) + i) for i, p in enumerate(draft.passages)]
        instance = Instance(
            "-".join(filter(None, (self._source, self._form, str(number)))),
            self._form,
            draft.question,
            [],
            positive,
            self._noise(draft, meeting, used),
            Provenance(
                self._source,
                draft.kind,
                self._source,
                self._table.id,
                "sql",
                sql=draft.sql,
                topics=list(draft.topics),
                phrases=list(draft.phrases),
            ),
            self._table.title,
            self._table.header,
        )
        answers = sorted(solver.answers(instance, instance.positive))
        instance = replace(instance, answers=answers)
        if not answers or any(answer.strip().casefold() in wording.EMPTY for answer in answers):
            return "no answer"
        told = [draft.question] * bool(draft.phrases) + list(draft.topics) * (draft.kind in _TOLD)
        if leaks(draft.question, answers) or any(shares_stem(answer, told) for answer in answers):
            return "the question names its answer"
        kept = without_words(instance, self._gathering.words)
        if kept is None:
            return REASON
        failed = check_instance(kept, solver)
        return failed[0] if failed else kept

    def _row(self, row: int, letter: str, number: int) -> KnowledgeUnit:
        position = self.extended.position[row]
        if row >= 0:
            source = [self._table.id, str(self._table.places[row])]
            return KnowledgeUnit(f"{letter}{number}", ROW, self._table.rows[row], source, position)
        return KnowledgeUnit(
            f"{letter}{number}", ROW, self.extended.cells(row), [self._table.id, ""], position, RULE, SAFE
        )

    def _passage(self, passage: int, letter: str, number: int) -> KnowledgeUnit:
        return self._table.texts[passage].unit(f"{letter}{number}")

    def _has_phrase(self, row: int, draft: TableDraft) -> bool:
        """Return whether a row contains a phrase of the question, which only passages should contain."""
        text = padded(" ".join(self.extended.cells(row)))
        return any(padded(phrase) in text for phrase in draft.phrases)

    def _noise(self, draft: TableDraft, meeting: set[int], used: set[int]) -> list[KnowledgeUnit]:
        """Return the noise in random order: all original rows or a sample, synthesized rows, and passages."""
        rng = np.random.default_rng((self._seed, *draft.question.encode()))
        original = [row for row in range(len(self._table.rows)) if row not in meeting]
        if len(original) > self._noise_rows:
            original = _some(original, draft.near, self._noise_rows, rng)
        free = [-1 - i for i in range(len(self.extended.synthesized)) if -1 - i not in meeting]
        rows = [*original, *free[: max(0, min(self._noise_rows, _INVENTED_UP_TO) - len(original))]]
        if draft.phrases:
            rows = [row for row in rows if not self._has_phrase(row, draft)]
        units = [(True, row) for row in rows]
        if self._form != "table":
            others = [p for p in range(len(self._table.texts)) if p not in used]
            if len(others) > self._noise_passages:
                others = _some(others, draft.near_passages, self._noise_passages, rng)
            units += [(False, p) for p in others]
        order: Iterable[int] = rng.permutation(len(units)).tolist()
        return [
            self._row(units[i][1], "n", n) if units[i][0] else self._passage(units[i][1], "n", n)
            for n, i in enumerate(order)
        ]


def _mould(draft: TableDraft) -> str:
    """Return what questions have in common that differ in what they name alone: the query without its values.

    The longest film of a director, and how long the shortest one is, are of one mould.
    """
    is_most = draft.kind in _SUPERLATIVES
    return (
        "most " + mould_of(draft.uses, is_sql=True) if is_most else f"{draft.kind} {mould_of(draft.sql, is_sql=True)}"
    )


def _some(numbers: Sequence[int], first: Sequence[int], count: int, rng: np.random.Generator) -> list[int]:
    """Return ``count`` of some numbers: those of ``first``, and others at random."""
    near = [*first][: count // 2]
    others = sorted(set(numbers) - set(near))
    chosen: list[int] = rng.choice(others, count - len(near), replace=False).tolist()
    return [*near, *chosen]
