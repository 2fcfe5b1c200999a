"""Commands that make testbeds of SKA-Bench datasets and run systems: ska testbed, prompt, run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.models import Prompts
from kbkit.cli.options import Seed, argument, note, option
from kbkit.cli.papers.arguments import SkaDataset
from kbkit.cli.papers.factory import FiguresForm, PaperFigures, PaperSession, figures, systems_run
from kbkit.cli.papers.ska_scores import TABLES, scores
from kbkit.errors import KbError, Option, plural
from kbkit.llm.client import missing_model

if TYPE_CHECKING:
    from kbkit.benchmarks.ska.run import System
    from kbkit.benchmarks.ska.testbeds import Report, TestbedRecord
    from kbkit.llm.calls import Calls

Form = Annotated[
    list[str] | None,
    option("--form NAME", "Form: kg, table, kg+text or table+text (default: all); repeatable."),
]
Testbeds = Annotated[
    Path | None,
    option("--testbeds FOLDER", "Folder of the testbeds (default: DATASET/testbeds)."),
]
Testbed = Annotated[
    list[str] | None,
    option("--testbed NAME", "Testbed: noise, order, integration or rejection (default: all); repeatable."),
]
Setting = Annotated[
    list[str] | None,
    option("--setting NAME", "Setting of a testbed: 4k, prefix, 2, ... (default: all); repeatable."),
]
_LISTED = 3


# -- testbeds and prompts ---------------------------------------------------------------------------------------------


@figures(FiguresForm(options=("format",)))
def testbed(
    context: typer.Context,
    dataset: SkaDataset,
    folder: Annotated[
        Path | None,
        option("--output -o FOLDER", "Output folder (default: DATASET/testbeds)."),
    ] = None,
    size: Annotated[
        list[str] | None,
        option("--size NAME", "Further size of noise robustness: 64k or 128k; repeatable."),
    ] = None,
    seed: Seed = 42,
) -> PaperFigures:
    """Make the testbeds of a dataset.

    Writes one file per testbed and setting, and shows the sizes of the knowledge bases (Table 2 of the paper).
    """
    from kbkit.benchmarks.ska import run as running
    from kbkit.benchmarks.ska import testbeds
    from kbkit.benchmarks.ska.instances import scan
    from kbkit.benchmarks.ska.stats import report_sizes
    from kbkit.cli.progress import counting

    digest = running.digest(dataset)
    with counting(context.obj.quiet, "testbeds") as progress:
        made, report = testbeds.make(scan(dataset), digest, further=size or (), seed=seed, progress=progress)
    target = folder or dataset / running.FOLDER
    files = testbeds.write_testbeds(target, made, report)
    lines = [*_testbed_lines(report), f"{target}: {plural(len(made), 'record')} in {plural(len(files), 'file')}"]
    return PaperFigures(lines, records=lambda: report_sizes(report))


def _testbed_lines(report: Report) -> Iterator[str]:
    yield f"Tokens counted by {report.tokenizer}"
    for reason, names in report.left_out.items():
        listed = ", ".join(names[:_LISTED]) + ", ..." * (len(names) > _LISTED)
        yield f"Left out: {plural(len(names), 'instance')} ({listed}): {reason}"
    for form, size, count, *_, short in report.sizes:
        if short:
            yield f"Noise ends before {size}: {short:,} of {count:,} instances of {form}"


def prompt(
    context: typer.Context,
    dataset: SkaDataset,
    instance: Annotated[str | None, argument("ID", "Id of an instance (default: the first).")] = None,
    testbeds: Testbeds = None,
    testbed: Testbed = None,
    setting: Setting = None,
    form: Form = None,
    prompts: Prompts = None,
    output: Annotated[
        Path | None,
        option("--output -o FILE", "File for the messages of all records (JSON lines), for other programs."),
    ] = None,
) -> None:
    """Show the input of a model for an instance.

    With -o, writes the input of all records of the chosen testbeds, in the form of chat messages.
    """
    from kbkit.directory.files import replacing

    records, report = _records(dataset, testbeds, testbed, setting, form)
    if instance is not None:
        records = [record for record in records if record.instance == instance]
        if not records:
            raise KbError(f"No record of instance {instance!r}", "Choose another instance or testbed")
    own = _own_prompts(prompts)
    if output is None:
        [(_, messages)] = _messages(dataset, records[:1], report, own)
        typer.echo("\n\n".join(f"--- {role} ---\n{text}" for role, text in messages))
        return
    with replacing(output) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for record, messages in _messages(dataset, records, report, own):
            parts = [{"role": role, "content": text} for role, text in messages]
            file.write(json.dumps({"id": record.id, "messages": parts}, ensure_ascii=False) + "\n")
    note(context, [f"{output}: {plural(len(records), 'record')}"])


def _own_prompts(values: Sequence[str] | None) -> dict[str, Path]:
    from kbkit.cli.options import pairs

    return {name: Path(file) for name, file in pairs(values, "prompt", "ska_answer=mine.md").items()}


def _messages(
    dataset: Path, records: Sequence[TestbedRecord], report: Report, own: dict[str, Path]
) -> Iterator[tuple[TestbedRecord, list[tuple[str, str]]]]:
    """Yield the messages of each record: role and text."""
    from kbkit.benchmarks.ska import prompts, rendering
    from kbkit.benchmarks.ska import run as running
    from kbkit.llm.prompts import load

    running.check_testbeds(dataset, report)
    forms = {name: load(name, own.get(name)) for name in prompts.PROMPTS}
    instances = running.Instances(dataset)
    for record in records:
        instance = instances.get(record.instance)
        values = rendering.inputs(instance, instance.chosen(record.units))
        request = forms[prompts.name_of(record.testbed)].request(values)
        yield record, [(message.role, message.content) for message in request.messages]


def _records(
    dataset: Path,
    folder: Path | None,
    testbed: Sequence[str] | None,
    setting: Sequence[str] | None,
    form: Sequence[str] | None,
) -> tuple[list[TestbedRecord], Report]:
    from kbkit.benchmarks.ska import run as running
    from kbkit.benchmarks.ska import testbeds

    running.digest(dataset)
    return testbeds.read_testbeds(folder or dataset / running.FOLDER, testbed or (), setting or (), form or ())


# -- run --------------------------------------------------------------------------------------------------------------


@systems_run(FiguresForm(TABLES, ("format",), one_table=False), kb=False, no_models=("oracle", "baseline"))
def run(
    session: PaperSession,
    dataset: SkaDataset,
    output: Annotated[
        Path | None,
        option("--output -o FOLDER", "Output folder, with one file per system (default: DATASET/runs)."),
    ] = None,
    oracle: Annotated[
        bool, option("--oracle", "Run the queries of the instances on their units, which checks the data.")
    ] = False,
    baseline: Annotated[
        bool, option("--baseline", "Answer without a model: BM25, and questions to a KB of the units.")
    ] = False,
    testbeds: Testbeds = None,
    testbed: Testbed = None,
    setting: Setting = None,
    form: Form = None,
    limit: Annotated[int | None, option("--limit -n N", "Maximum number of instances per form.", min=1)] = None,
) -> None:
    """Run models, the oracle or the baseline on testbeds.

    An interrupted run is resumed. The calls of models are kept in the folder of the dataset (see kbkit llm export). The
    scores are shown at the end, as by ska eval.
    """
    from kbkit.benchmarks.ska import evaluate as scoring
    from kbkit.benchmarks.ska import run as running

    records, report = _records(dataset, testbeds, testbed, setting, form)
    chosen = _limited(records, limit)
    folder = output or dataset / running.FOLDER_OF_RUNS
    paths: list[Path] = []
    session.figures = lambda: scores(scoring.read_all(paths), session.shown.table)
    options = {"replace": session.replace}
    with ExitStack() as stack:
        for system in _systems(stack, session.calls, oracle=oracle, baseline=baseline):
            with session.progress(system.name) as progress:
                done = running.run(dataset, chosen, report, system, folder, **options, progress=progress)
            paths.append(done.path)
            session.finished(done.name, done.summary)


def _systems(stack: ExitStack, calls: Calls | None, *, oracle: bool, baseline: bool) -> Iterator[System]:
    """Yield the systems to run."""
    from kbkit.benchmarks.ska import run as running

    if calls is None and not oracle and not baseline:
        raise KbError(
            "No system given",
            "Use ",
            Option("oracle"),
            ", ",
            Option("baseline"),
            " or a language model: ",
            *missing_model().hints[1:],
        )
    if oracle:
        from kbkit.benchmarks.ska.solve import Solver

        yield running.Oracle(stack.enter_context(Solver()))
    if baseline:
        from kbkit.benchmarks.ska.baseline import UnitsBaseline

        yield UnitsBaseline()
    for name in calls.models if calls else ():
        yield running.PromptedModel(calls, name)  # type: ignore[arg-type]


def _limited(records: Sequence[TestbedRecord], limit: int | None) -> Sequence[TestbedRecord]:
    """Return the records of the first instances of each form."""
    if limit is None:
        return records
    names: dict[str, dict[str, None]] = {}
    for record in records:
        names.setdefault(record.form, {})[record.instance] = None
    chosen = {name for of_form in names.values() for name in list(of_form)[:limit]}
    return [record for record in records if record.instance in chosen]
