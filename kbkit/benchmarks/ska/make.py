"""Make SKA-Bench instances from KBs (section 3.2 of the paper), one table of rows for each form of knowledge.

Instances come from the graph, from tables, or from published questions; each has been checked when it arrives here. An
interrupted run continues with the first form that it had not finished.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from kbkit.benchmarks.dataset import ABOUT, QUERIES
from kbkit.benchmarks.duplicates import Spread
from kbkit.benchmarks.fit_nodes import nameless_types
from kbkit.benchmarks.incomplete import few_listed
from kbkit.benchmarks.left_out import REASON, LeftOutWords, left_out_words
from kbkit.benchmarks.pipeline import Output, Pipeline, Progress, Row, Stage, listed, remove
from kbkit.benchmarks.recorded import generation, models, origin
from kbkit.benchmarks.ska import instances
from kbkit.benchmarks.ska.gathering import Gathering
from kbkit.benchmarks.ska.graphs import make as graph_maker
from kbkit.benchmarks.ska.instances import Instance, without_words
from kbkit.benchmarks.ska.published import make as published
from kbkit.benchmarks.ska.published import positive
from kbkit.benchmarks.ska.settings import FORMS, SkaSettings
from kbkit.benchmarks.ska.solve import Solver
from kbkit.benchmarks.ska.tables import by_models, noise, sources
from kbkit.benchmarks.ska.tables import make as table_maker
from kbkit.benchmarks.ska.tables.data import TableData, holds_tables
from kbkit.directory.generations import fingerprint
from kbkit.english.relations import REMEDY, unworded
from kbkit.errors import BadInputError, Command, KbError, Option
from kbkit.kb import KnowledgeBase
from kbkit.llm.calls import Calls

PROMPTS = (*by_models.PROMPTS, positive.CHECK, positive.CHOOSE)
_GRAPH_FORMS = {"kg": False, "kg+text": True}
"""The forms of graphs, and whether they have texts; those of tables are the others."""


@dataclass(frozen=True)
class Made(Row):
    """An instance, or, ``dropped`` for a reason, the ``count`` of questions that were left out for it."""

    instance: Instance | None = None
    count: int = 1


STAGES = {form: Stage(f"{number}_{form.replace('+', '_')}", Made) for number, form in enumerate(FORMS, 1)}
"""The table of each form."""


def make(
    kbs: Sequence[KnowledgeBase],
    out: Path,
    settings: SkaSettings,
    calls: Calls | None = None,
    progress: Progress = lambda *_: None,
    *,
    replace: bool = False,
) -> Output:
    """Make a dataset in the folder ``out`` from one or several KBs, with the models of ``calls`` or without.

    The instances of each form are shared between the KBs. Equal settings give equal bytes. An interrupted run
    continues; with ``replace`` it starts over. Raises :class:`KbError` if a form that ``settings`` name has no
    instance, or no form has any.
    """
    run = _Run(kbs, settings, calls, progress)
    pipeline = Pipeline(out, run.about(), progress)
    with pipeline.started((instances.FILE, ABOUT), replace=replace):
        all_instances: list[Instance] = []
        left_out: dict[str, dict[str, int]] = {}
        for form in settings.forms or FORMS:
            rows = pipeline.rows(STAGES[form], lambda form=form: run.rows(form))  # type: ignore[misc]
            reasons = {row.dropped: row.count for row in rows if row.dropped}
            of_form = [row.instance for row in rows if row.instance is not None]
            if form in settings.forms and not of_form:
                raise KbError(f"No instance of the form {form}: {listed(reasons, 5)}", *_HINT)
            left_out[form] = reasons
            all_instances += of_form
        if not all_instances:
            remove(out)  # there is nothing to edit or to resume
            first = next((reason for reasons in left_out.values() for reason in reasons), "no question was drawn")
            raise KbError(f"No instance: {first}", *_remedy(kbs))
        counts = Counter(instance.form for instance in all_instances)
        missing = {form: _missing(form, reasons) for form, reasons in left_out.items() if not counts[form]}
        report = {"wanted": settings.count, "instances": dict(counts), "left_out": left_out, "missing": missing}
        instances.write_instances(out, all_instances)
        return pipeline.finish({}, run.about(), report)


def _missing(form: str, reasons: Mapping[str, int]) -> str:
    """Return why a KB gives no instance of a form, and what would help."""
    first = next(iter(reasons), "no question was drawn")
    is_unworded = first.startswith("relation ")
    return f"{first}. {REMEDY if is_unworded else _REMEDIES[form]}"


def _remedy(kbs: Sequence[KnowledgeBase]) -> tuple[Any, ...]:
    """Return what to do about KBs that give no instance of any form."""
    nameless = sorted(name for kb in kbs for name in nameless_types(kb))
    hints = [f"Give nodes of type {nameless[0]} names in the recipe (column 'name' of load.sql)"] if nameless else []
    hints += [REMEDY] if any(unworded(kb.schema) for kb in kbs) else []
    hints += [more for more in map(few_listed, kbs) if more][:1]
    return (". ".join(hints),) if hints else _HINT


_REMEDIES = {
    "kg": "More relations between nodes with names would help",
    "kg+text": "Texts in sentences that say the same of several things would help",
    "table": "Give a node type more attributes, or more relations with one value for each node",
    "table+text": "Texts in sentences that describe the rows of a table, or lists of keywords, would help",
}
_HINT = ("Use another KB, or ", Option("form"), " for other forms")


@dataclass
class _Run:
    """The inputs of all stages."""

    kbs: Sequence[KnowledgeBase]
    settings: SkaSettings
    calls: Calls | None
    progress: Progress

    def about(self) -> dict[str, Any]:
        """Return everything that the rows depend on."""
        s = self.settings
        return {
            "kbs": [{**origin(kb), **generation(kb)} for kb in self.kbs],
            "count": s.count,
            "seed": s.seed,
            "tokens": s.tokens,
            "alike": s.alike,
            "questions": [{"name": path.name, **fingerprint(_file_of(path))} for path in s.questions],
            "model_rows": s.model_rows if self.calls else 0,
            "leave_out": self.words.about,
            **models(self.calls, PROMPTS),
        }

    @cached_property
    def words(self) -> LeftOutWords:
        """The words that no text may contain."""
        return left_out_words(self.settings.leave_out)

    @cached_property
    def sources(self) -> list[_KbQuestions]:
        """The questions of each KB."""
        return [_KbQuestions(self, kb) for kb in self.kbs]

    def gathering(self, count: int, left_out: Counter[str], spread: Spread | None = None) -> Gathering:
        """Return what a maker needs for up to ``count`` instances."""
        return Gathering(count, self.settings.seed, self.words, left_out, self.progress, spread)

    @cached_property
    def spreads(self) -> dict[str, Spread]:
        """What the new instances of each form have in common."""
        return {form: Spread(self.settings.count, self.settings.alike) for form in FORMS}

    def rows(self, form: str) -> list[Made]:
        """Return the rows of a form: its instances, and the reasons for which questions were left out."""
        reasons: Counter[str] = Counter()
        gathered: list[Instance] = []
        for number, source in enumerate(self.sources):
            share = len(gathered) + -(-(self.settings.count - len(gathered)) // (len(self.kbs) - number))
            for instances_of in (source.published, source.new):
                known = reasons.total()
                try:
                    gathered += instances_of(form, share - len(gathered), reasons) if len(gathered) < share else []
                except BadInputError:
                    raise  # of a file of questions, not of the KB
                except KbError as error:
                    reasons.update([error.message] if reasons.total() == known else [])
        if form not in _GRAPH_FORMS and self.calls:
            with Solver() as solver:
                gathered = by_models.with_models(gathered, self.calls, self.settings.model_rows, solver)
        rows = [Made(instance.id, instance=instance) for instance in _distinct(gathered)]
        left_out = sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))
        return rows + [Made(f"left out {n}", count=c, dropped=reason) for n, (reason, c) in enumerate(left_out, 1)]


@dataclass
class _KbQuestions:
    """The questions of a KB; what several forms use is read once, with the reasons why others were left out."""

    run: _Run
    kb: KnowledgeBase

    @cached_property
    def _tables(self) -> tuple[list[TableData], Counter[str]]:
        reasons: Counter[str] = Counter()
        return list(sources.tables(self.kb, reasons)), reasons

    @property
    def _files(self) -> list[Path]:
        return [path for path in self.run.settings.questions if path.is_file()]

    @cached_property
    def _of_files(self) -> tuple[list[Instance], Counter[str]]:
        """The instances of all forms that question files give."""
        settings, calls, words = self.run.settings, self.run.calls, self.run.words
        gathering = self.run.gathering(settings.count, Counter())
        reasons, noise = gathering.left_out, settings.units(graph_maker.NOISE_UNITS)
        all_instances = [
            instance
            for path in self._files
            for instance in published.make(self.kb, path, gathering, drafts=calls is not None, noise_units=noise)
        ]
        if calls:
            all_instances, rounds = positive.annotate(calls, all_instances)
            reasons["the positive units do not derive all answers, according to the model"] += (
                rounds[-1].none + rounds[-1].some + rounds[-1].invalid
            )
        checked = [without_words(instance, words) for instance in all_instances]
        kept = [instance for instance in checked if instance is not None]
        reasons[REASON] += len(all_instances) - len(kept)
        return kept, +reasons

    def new(self, form: str, wanted: int, reasons: Counter[str]) -> list[Instance]:
        """Return instances of the questions of datasets, or of new questions if no questions are given."""
        settings, gathering = self.run.settings, self.run.gathering(wanted, reasons, self.run.spreads[form])
        datasets = tuple(path for path in settings.questions if path.is_dir())
        if not self._is_made(form, datasets):
            return []
        if form in _GRAPH_FORMS:
            if not datasets and not settings.forms and holds_tables(self.kb):
                return []  # its nodes are rows and pages of tables
            return graph_maker.make(
                self.kb,
                gathering,
                text=_GRAPH_FORMS[form],
                noise_units=settings.units(graph_maker.NOISE_UNITS),
                files=datasets,
            )
        tables, left_out = self._tables
        reasons.update(left_out)
        return table_maker.make(
            self.kb,
            gathering,
            text=form == "table+text",
            noise_rows=settings.units(table_maker.NOISE_ROWS),
            noise_passages=settings.units(table_maker.NOISE_PASSAGES),
            tables=tables,
        )

    def _is_made(self, form: str, datasets: Sequence[Path]) -> bool:
        """Return whether questions are made for a form: without given ones, or for a form that those do not have.

        Only forms that the settings name are added to given questions, so that a table form and a text form, or
        published questions of one form and new ones of another, work in one command.
        """
        settings = self.run.settings
        if not settings.questions or (datasets and form in _GRAPH_FORMS):
            return True
        known_forms = {instance.form for instance in self._of_files[0]} if self._files else set()
        return form in settings.forms and form not in known_forms

    def published(self, form: str, wanted: int, reasons: Counter[str]) -> list[Instance]:
        """Return instances of published questions, with synthesized rows where they are about tables."""
        if not self._files:
            return []
        all_instances, left_out = self._of_files
        forms = self.run.settings.forms or FORMS
        known = {instance.form for instance in all_instances}
        if form == next((one for one in forms if one in known), forms[0]):
            reasons.update(left_out)  # once, not for each form
        chosen = [instance for instance in all_instances if instance.form == form][:wanted]
        if form in _GRAPH_FORMS:
            return chosen
        rows, seed = self.run.settings.units(table_maker.NOISE_ROWS), self.run.settings.seed
        with Solver() as solver:
            return self.run.gathering(0, reasons).gather(
                f"noise of {form}", chosen, lambda one: noise.extended(one, rows, seed, solver)
            )


def _file_of(questions: Path) -> Path:
    """Return a file of questions, or that of a dataset. Raises :class:`BadInputError` for another folder."""
    if not questions.is_dir():
        return questions
    if not (questions / QUERIES).is_file():
        hint = ("Use a folder of ", Command("stark make"), " or ", Command("quest make"))
        raise BadInputError(f"{questions} has no {QUERIES}", *hint)
    return questions / QUERIES


def _distinct(gathered: Sequence[Instance]) -> list[Instance]:
    """Return the instances with a number added to ids that occur several times: two KBs can have one name."""
    seen: Counter[str] = Counter()
    distinct = []
    for instance in gathered:
        seen[instance.id] += 1
        distinct.append(
            instance if seen[instance.id] == 1 else replace(instance, id=f"{instance.id}-{seen[instance.id]}")
        )
    return distinct
