"""Make SKA-Bench instances from KBs (section 3.2 of the paper), one table of rows for each form of knowledge.

Instances come from the graph, from tables, or from published questions; each has been checked when it arrives here. An
interrupted run continues with the first form that it had not finished.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from kbkit.answers.templates import Template
from kbkit.benchmarks.dataset import ABOUT, QUERIES
from kbkit.benchmarks.left_out import REASON, LeftOutWords, left_out_words
from kbkit.benchmarks.pipeline import Output, Pipeline, Progress, Row, Stage, generation, listed, models, origin, remove
from kbkit.benchmarks.ska import instances
from kbkit.benchmarks.ska.gathering import Gathering
from kbkit.benchmarks.ska.graphs import make as graph_maker
from kbkit.benchmarks.ska.graphs import questions as graph_questions
from kbkit.benchmarks.ska.instances import Instance, without_words
from kbkit.benchmarks.ska.published import make as published
from kbkit.benchmarks.ska.published import positive
from kbkit.benchmarks.ska.settings import FORMS, SkaSettings
from kbkit.benchmarks.ska.solve import Solver
from kbkit.benchmarks.ska.tables import by_models, noise, sources
from kbkit.benchmarks.ska.tables import make as table_maker
from kbkit.benchmarks.ska.tables.data import TableData, holds_tables
from kbkit.directory.generations import fingerprint
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
            raise KbError(f"No instance: {first}", *_HINT)
        counts = Counter(instance.form for instance in all_instances)
        report = {"wanted": settings.count, "instances": dict(counts), "left_out": left_out}
        instances.write_instances(out, all_instances)
        return pipeline.finish({}, run.about(), report)


_HINT = ("Use another KB, or ", Option("form"), " for other forms")


@dataclass
class _Run:
    """The inputs of all stages."""

    kbs: Sequence[KnowledgeBase]
    settings: SkaSettings
    calls: Calls | None
    progress: Progress
    _of_kb: dict[Path, tuple[list[Instance], Counter[str]]] = field(default_factory=dict)
    """What the files of questions give for a KB, and why others were left out."""
    _templates: dict[Path, list[Template]] = field(default_factory=dict)
    _tables: dict[Path, tuple[list[TableData], Counter[str]]] = field(default_factory=dict)
    """Caches by KB, shared by two forms: the templates, and the tables with the reasons for omissions."""

    def about(self) -> dict[str, Any]:
        """Return everything that the rows depend on."""
        s = self.settings
        return {
            "kbs": [{**origin(kb), **generation(kb)} for kb in self.kbs],
            "count": s.count,
            "seed": s.seed,
            "tokens": s.tokens,
            "questions": [{"name": path.name, **fingerprint(_file_of(path))} for path in s.questions],
            "model_rows": s.model_rows if self.calls else 0,
            "leave_out": self.words.about,
            **models(self.calls, PROMPTS),
        }

    @cached_property
    def words(self) -> LeftOutWords:
        """The words that no text may contain."""
        return left_out_words(self.settings.leave_out)

    def rows(self, form: str) -> list[Made]:
        """Return the rows of a form: its instances, and the reasons for which questions were left out."""
        reasons: Counter[str] = Counter()
        gathered: list[Instance] = []
        for number, kb in enumerate(self.kbs):
            share = len(gathered) + -(-(self.settings.count - len(gathered)) // (len(self.kbs) - number))
            for source in (self._published, self._new):
                known = reasons.total()
                try:
                    gathered += source(kb, form, share - len(gathered), reasons) if len(gathered) < share else []
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

    def _gathering(self, count: int, reasons: Counter[str]) -> Gathering:
        return Gathering(count, self.settings.seed, self.words, reasons, self.progress)

    def _new(self, kb: KnowledgeBase, form: str, wanted: int, reasons: Counter[str]) -> list[Instance]:
        """Return instances of the questions of datasets, or of new questions if no questions are given."""
        datasets = tuple(path for path in self.settings.questions if path.is_dir())
        if not self._is_made(kb, form, datasets):
            return []
        if form not in _GRAPH_FORMS:
            datasets = ()
        units, gathering = self.settings.units, self._gathering(wanted, reasons)
        if form in _GRAPH_FORMS:
            if not datasets and not self.settings.forms and holds_tables(kb):
                return []  # its nodes are rows and pages of tables
            return graph_maker.make(
                kb,
                gathering,
                text=_GRAPH_FORMS[form],
                noise_units=units(graph_maker.NOISE_UNITS),
                files=datasets,
                templates=lambda: self._templates_of(kb),
            )
        tables, left_out = self._tables_of(kb)
        reasons.update(left_out)
        return table_maker.make(
            kb,
            gathering,
            text=form == "table+text",
            noise_rows=units(table_maker.NOISE_ROWS),
            noise_passages=units(table_maker.NOISE_PASSAGES),
            tables=tables,
        )

    def _templates_of(self, kb: KnowledgeBase) -> list[Template]:
        if kb.directory.path not in self._templates:
            self._templates[kb.directory.path] = graph_questions.templates(kb, self.settings.seed)
        return self._templates[kb.directory.path]

    def _tables_of(self, kb: KnowledgeBase) -> tuple[list[TableData], Counter[str]]:
        if kb.directory.path not in self._tables:
            reasons: Counter[str] = Counter()
            self._tables[kb.directory.path] = list(sources.tables(kb, reasons)), reasons
        return self._tables[kb.directory.path]

    def _is_made(self, kb: KnowledgeBase, form: str, datasets: Sequence[Path]) -> bool:
        """Return whether questions are made for a form: without given ones, or for a form that those do not have.

        Only forms that the settings name are added to given questions, so that a table form and a text form, or
        published questions of one form and new ones of another, work in one command.
        """
        if not self.settings.questions or (datasets and form in _GRAPH_FORMS):
            return True
        files = [path for path in self.settings.questions if path.is_file()]
        known_forms = {instance.form for instance in self._of_files(kb, files)[0]} if files else set()
        return form in self.settings.forms and form not in known_forms

    def _published(self, kb: KnowledgeBase, form: str, wanted: int, reasons: Counter[str]) -> list[Instance]:
        """Return instances of published questions, with synthesized rows where they are about tables."""
        files = [path for path in self.settings.questions if path.is_file()]
        if not files:
            return []
        all_instances, left_out = self._of_files(kb, files)
        forms = self.settings.forms or FORMS
        known = {instance.form for instance in all_instances}
        if form == next((one for one in forms if one in known), forms[0]):
            reasons.update(left_out)  # once, not for each form
        chosen = [instance for instance in all_instances if instance.form == form][:wanted]
        if form in _GRAPH_FORMS:
            return chosen
        rows = self.settings.units(table_maker.NOISE_ROWS)
        with Solver() as solver:
            extended = []
            for number, one in enumerate(chosen):
                self.progress(f"noise of {form}", number, len(chosen))
                extended.append(noise.extended(one, rows, self.settings.seed, solver))
        self.progress(f"noise of {form}", len(chosen), len(chosen))
        return extended

    def _of_files(self, kb: KnowledgeBase, files: Sequence[Path]) -> tuple[list[Instance], Counter[str]]:
        """Return the instances of all forms that question files give, and why others were left out; made once."""
        if kb.directory.path not in self._of_kb:
            reasons: Counter[str] = Counter()
            gathering, drafts = self._gathering(self.settings.count, reasons), self.calls is not None
            noise = self.settings.units(graph_maker.NOISE_UNITS)
            all_instances = [
                instance
                for path in files
                for instance in published.make(kb, path, gathering, drafts=drafts, noise_units=noise)
            ]
            if self.calls:
                all_instances, rounds = positive.annotate(self.calls, all_instances)
                reasons["the positive units do not derive all answers, according to the model"] += (
                    rounds[-1].none + rounds[-1].some + rounds[-1].invalid
                )
            kept = [
                instance
                for instance in (without_words(instance, self.words) for instance in all_instances)
                if instance is not None
            ]
            reasons[REASON] += len(all_instances) - len(kept)
            self._of_kb[kb.directory.path] = kept, +reasons
        return self._of_kb[kb.directory.path]


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
