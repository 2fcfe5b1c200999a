"""Generate a STaRK dataset (section 2.4 of the paper): four stages, each with its own table, then the files."""

from __future__ import annotations

from pathlib import Path

from kbkit.benchmarks.dataset import QUERIES
from kbkit.benchmarks.duplicates import Spread
from kbkit.benchmarks.evidence import Matcher
from kbkit.benchmarks.pipeline import Output, Pipeline, Progress
from kbkit.benchmarks.recorded import generation
from kbkit.benchmarks.requirements import relational
from kbkit.benchmarks.requirements.selection import mould
from kbkit.benchmarks.requirements.settings import NAME_TEXT, RequirementSettings, complete_settings
from kbkit.benchmarks.requirements.stages import StagesRun
from kbkit.benchmarks.requirements.suggested import SUGGEST
from kbkit.benchmarks.stark import dataset, numbers
from kbkit.benchmarks.stark.records import reasons, record, report_of
from kbkit.english.relations import unworded
from kbkit.errors import KbError, Option
from kbkit.kb import KnowledgeBase
from kbkit.llm.calls import Calls


def make(
    kb: KnowledgeBase,
    out: Path,
    settings: RequirementSettings,
    calls: Calls | None = None,
    progress: Progress = lambda *_: None,
    *,
    replace: bool = False,
) -> Output:
    """Generate a dataset in the folder ``out``, with the models of ``calls`` or without.

    Equal settings give equal bytes. An interrupted run continues; with ``replace`` it starts over. Raises
    :class:`KbError` if the KB has no texts, no template fits, or no query is left.
    """
    if not any(f.texts for f in kb.schema.text_fields) and not settings.text and settings.relations_only != 1:
        hint = ("Use ", Option("text", NAME_TEXT), " if names are texts, or ", Option("relations_only", "1"))
        raise KbError("This KB has no texts, so there are no textual properties", *hint)
    least = settings.least_candidates[0]
    chosen = relational.templates(kb, settings.templates, settings.seed, least, with_texts=calls is None)
    run = StagesRun(kb, complete_settings(settings, chosen), calls, Matcher(kb), {t.id: t for t in chosen})
    about = run.about(chosen)
    pipeline = Pipeline(out, {**about, **generation(kb)}, progress)
    with pipeline.started((dataset.TABLE, QUERIES), replace=replace):
        queries = run.stages(pipeline)
        complete = run.selected([query for query in queries if not query.dropped])
        report = report_of(queries, complete, settings.count, None if calls else run.target)
        if not calls:
            spread = Spread(settings.count, settings.alike)
            report["alike"] = {"moulds": len(set(map(mould, complete))), "most": spread.of_mould}
        if any(template.id.startswith(SUGGEST) for template in chosen):
            report["unworded"] = unworded(kb.schema)
        if not complete:
            raise pipeline.none_left(len(queries), reasons(queries, report))
        records = [record(number, query) for number, query in enumerate(complete)]
        fractions = settings.fractions or dataset.fractions_of([t.id for t in chosen])
        named = numbers.name_answers(kb, records)
        files = dataset.dataset_files(records, fractions, settings.seed, named["names"])
        return pipeline.finish(files, {**about, **named, "split": list(fractions)}, report, records)
