"""Commands that make datasets: stark make and generate, quest make and documents, ska make, conv make.

Their options are derived from the settings of each paper's ``make``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kbkit.benchmarks.convkgyarn.settings import ConvSettings
from kbkit.benchmarks.quest.settings import DocumentSettings, QuestSettings
from kbkit.benchmarks.requirements.settings import RequirementSettings
from kbkit.benchmarks.ska.settings import SkaSettings
from kbkit.cli.options import DatasetOutput, Kb, Seed, argument, note, option
from kbkit.cli.papers.factory import PaperSession, maker
from kbkit.english.relations import left_out
from kbkit.errors import plural

if TYPE_CHECKING:
    import polars as pl

    from kbkit.benchmarks.pipeline import Output as NewDataset

_CLOSE = 0.1
"""Relative distance from the target up to which it counts as reached."""
_LISTED = 8
"""Reasons for which SKA-Bench left out questions, as many as are printed."""


# -- STaRK ------------------------------------------------------------------------------------------------------------


@maker()
def make_stark(
    session: PaperSession,
    output: DatasetOutput,
    settings: RequirementSettings,
    roles: Annotated[Path | None, option("--roles FILE", "Roles of the users (default: those of the recipe).")] = None,
) -> Iterable[str]:
    """Make a dataset with verified answers.

    Each query combines relations and textual properties. Without --llm, rules do all steps. With it, the first model
    extracts properties and writes queries, the second rephrases them, and all models verify the answers. An
    interrupted run is resumed.
    """
    from kbkit.benchmarks.stark.make import make
    from kbkit.ingestion.recipe import load_roles

    chosen = replace(settings, roles=load_roles(roles)) if roles else settings
    with session.stages() as step:
        return _stark_lines(make(session.kb, output, chosen, session.calls, step, replace=session.replace))


def _stark_lines(made: NewDataset) -> Sequence[str]:
    """Return lines that describe a new dataset."""
    report: dict[str, Any] = made.report
    lines = [
        f"{made.folder}: {plural(report['queries'], 'query', 'queries')} of {report['drawn']:,} drawn,"
        f" {report['candidates']:g} candidates each"
    ]
    if report["queries"] < report["wanted"]:
        lines.append(_fewer(report, "queries", "Add templates"))
    lines += _target_lines(report)
    lines.append(
        f"Requirements: {plural(report['phrases'], 'phrase')} of texts, {plural(report['conditions'], 'attribute')};"
        f" {plural(report['relations_only'], 'query', 'queries')} for relations alone"
    )
    if 2 * report["repeating_phrases"] > report["phrases"] > 0:
        lines.append(
            f"{report['repeating_phrases']:,} phrases are names of neighbours: these texts repeat a relation, so that"
            " graph search alone can answer their queries"
        )
    lines += left_out(report.get("unworded", {}))
    if report["golds_verified"] is not None:
        lines.append(f"Gold answers accepted: {report['golds_verified']:.1%}")
    lines += [f"Dropped: {count:,}, {reason}" for reason, count in report["dropped"].items()]
    if report["unusable_judgements"]:
        lines.append(f"Invalid judgements of models, counted as no: {report['unusable_judgements']:,}")
    return lines


def _fewer(report: Mapping[str, Any], things: str, more: str) -> str:
    """Return a line for a dataset with fewer items than wanted: how many moulds there are, and how to get more."""
    alike = report.get("alike")
    if not alike:
        return f"Fewer than {report['wanted']:,} {things}: {more[0].lower()}{more[1:]}"
    kinds = f"{plural(alike['moulds'], 'kind')} found, of each {alike['most']:,} at most"
    return f"Fewer than {report['wanted']:,} {things}: {kinds}. {more}, or raise --max-alike"


def _target_lines(report: dict[str, Any]) -> list[str]:
    """Return lines about the numbers of answers, and what kept them from the target."""
    target, several, mean = report["target"], report["several"], report["answers"]
    if not target:
        return [f"Several answers: {several:.1%}, mean {mean:.2f}"]
    lines = [
        f"Several answers: {several:.1%} (target {target['several']:.0%}), mean {mean:.2f} (target {target['mean']:g})"
    ]
    if abs(mean / target["mean"] - 1) > _CLOSE or abs(several - target["several"]) > _CLOSE * target["several"]:
        lines.append(
            f"The KB bounds the answers: of {report['drawn_for_many']:,} queries drawn for 3 or more,"
            f" {report['reached_of_many']:,} have as many as wanted"
        )
    return lines


def generate_stark(
    context: typer.Context,
    shape: Annotated[str, argument("SHAPE", "Shape of the graph: amazon, mag or prime.")],
    output: Annotated[Path, option("--output -o FOLDER", "Output folder.")],
    scale: Annotated[float, option("--scale FACTOR", "Size of the graph, relative to the published one.")] = 0.001,
    seed: Seed = 0,
    no_texts: Annotated[bool, option("--no-texts", "Do not generate texts.")] = False,
) -> None:
    """Generate a random graph in the shape of a STaRK KB.

    The files are input for kbkit ingest table.
    """
    from kbkit.cli.progress import bars
    from kbkit.display.progress import Event
    from kbkit.ingestion.generate import generate

    with bars(quiet=context.obj.quiet) as listener:

        def progress(stage: str, done: int, total: int) -> None:
            if listener is not None:
                listener(Event(stage, done, total, stage))

        counts = generate(shape, output, scale=scale, seed=seed, texts=not no_texts, progress=progress)
    typer.echo(
        f"{output}: {counts['nodes']:,} nodes, {counts['edges']:,} edges, {counts['texts']:,} texts;"
        f" to build a KB: kbkit ingest table {output} -o {shape}.kb"
    )


# -- QUEST ------------------------------------------------------------------------------------------------------------


@maker()
def make_quest(
    session: PaperSession,
    output: DatasetOutput,
    settings: QuestSettings,
    phrases: Annotated[
        Path | None,
        option("--phrases FILE", 'Phrases of categories (TOML): "FAMILY" = "movies by {name}".', rare=True),
    ] = None,
    no_evidence: Annotated[
        bool,
        option("--no-evidence", "Skip the search for evidence, for domains without texts.", rare=True),
    ] = False,
) -> Iterable[str]:
    """Make a dataset of queries with set operations.

    It has answers, evidence and documents, as in QUEST. --type selects the domains (default: the types with texts).
    Without --llm, a grammar writes the queries, answers are labelled by matching, and there are no votes. An
    interrupted run is resumed from its tables in FOLDER/stages.
    """
    from kbkit.benchmarks.quest.families import read_patterns
    from kbkit.benchmarks.quest.make import make

    settings = replace(settings, patterns=read_patterns(phrases)) if phrases else settings
    chosen = replace(settings, require="none", texts=False) if no_evidence else settings
    with session.stages() as step:
        made = make(session.kb, output, chosen, session.calls, step, replace=session.replace)
    if not session.quiet:
        _print_quest_tables(made)
    return _quest_lines(made, chosen)


def quest_documents(
    context: typer.Context,
    kb: Kb,
    output: Annotated[Path, option("--output -o FILE", "Output file, e.g. documents.jsonl.")],
    settings: DocumentSettings,
) -> None:
    """Write the documents of a domain.

    Each document has the title and texts of a node, and facts if the texts lack evidence. --type selects the domains
    (default: the types with texts).
    """
    from kbkit.benchmarks.quest.make import write_documents
    from kbkit.kb import KnowledgeBase

    with KnowledgeBase(kb) as base:
        frame, silent = write_documents(base, QuestSettings(**vars(settings)), output)
    note(context, [f"{output}: {frame.height:,} documents, {silent:,} of them without text"])


def _print_quest_tables(made: NewDataset) -> None:
    """Print the categories and the templates of a new dataset."""
    import polars as pl

    from kbkit.display.render import print_table

    report = made.report
    for title, frame in (("categories", pl.DataFrame(report["families"])), ("templates", _shapes(report["shapes"]))):
        typer.secho(f"{title}\n", bold=True, nl=False)
        print_table(frame, sys.stdout, count=False)


def _shapes(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    import polars as pl

    listed = [{**row, "possible": f"{row['possible']:,}{'+' if row['more'] else ''}"} for row in rows]
    return pl.DataFrame(listed).select("domain", "template", "asked", "possible", "made")


def _quest_lines(made: NewDataset, settings: QuestSettings) -> Iterable[str]:
    report = made.report
    limits = asdict(settings.bounds())
    yield f"constraints: {settings.min_answers} to {settings.max_answers} answers, {_assignments(limits)}"
    for row in report["shapes"]:
        scaled = {name: value for name, value in row["constraints"].items() if value != limits[name]}
        own = {name: value for name, value in scaled.items() if _applies(name, row["template"])}
        if own:
            yield f"constraints scaled down for {row['domain']}, {row['template']!r}: {_assignments(own)}"
    for row in report["shapes"]:
        if row["made"] < row["asked"]:
            why = ": the others were dropped or ask almost the same" if row["possible"] >= row["asked"] else ""
            yield f"only {row['made']:,} of {row['asked']:,} for {row['domain']}, {row['template']!r}{why}"
    yield from _label_lines(report)
    for name in ("train", "val", "test"):
        if not report["splits"].get(name):
            yield f"{name}.jsonl is empty: make more queries (--limit)"
    documents = report["documents"]
    if report["augmented"]:
        yield f"augmented.jsonl: {report['augmented']:,} additional queries for training"
    if report["queries"] < report["wanted"]:
        yield _fewer(report, "queries", "Add --type, --category or --category-file")
    splits = ", ".join(f"{report['splits'].get(name, 0):,} {name}" for name in ("train", "val", "test"))
    yield (
        f"{made.folder}: {report['queries']:,} queries ({splits}), {report['answers']:,} answers,"
        f" {documents['count']:,} documents ({documents['without text']:,} without text)"
    )


def _label_lines(report: Mapping[str, Any]) -> Iterable[str]:
    """Yield lines about dropped queries and the evidence of answers."""
    from kbkit.benchmarks.report import published

    expected = published("quest").value("", "answers", "all", "without evidence") / 100
    if report["dropped"]:
        yield "queries dropped: " + ", ".join(f"{count:,} because {why}" for why, count in report["dropped"].items())
    if report["answers removed"]:
        yield "answers removed: " + ", ".join(f"{n:,} {why}" for why, n in report["answers removed"].items())
    lost = report["answers removed"].get("evidence: none", 0)
    if lost > expected * (lost + report["answers"]):
        yield (
            f"answers without evidence in their documents, removed: {lost / (lost + report['answers']):.0%}; --facts"
            " always adds what the KB knows, --require-evidence none keeps them"
        )
    with_facts = report["documents"]["with facts"]
    if with_facts:
        yield f"documents with attributes and relations as sentences: {', '.join(with_facts)}"
    if report["evidence"]:
        counts = report["evidence"]
        spans = ", ".join(f"{n:,} {name}" for name, n in report["evidence spans"].items())
        yield (
            "evidence of the answers: " + ", ".join(f"{n:,} {name}" for name, n in counts.items()) + f"; spans: {spans}"
        )
        share = counts["none"] / sum(counts.values())
        if share > expected:
            yield f"answers without evidence in their documents: {share:.0%}; in the paper about {expected:.0%}"
    if report["quotes that are not in the document"]:
        yield f"quotes of models skipped, not found in the document: {report['quotes that are not in the document']:,}"


def _assignments(constraints: Mapping[str, float]) -> str:
    return ", ".join(f"{name}={value:.4g}" for name, value in constraints.items())


def _applies(constraint: str, template: str) -> bool:
    """Return whether a constraint applies to an operation of a template."""
    word = {"intersection": "also", "difference": "not", "union": "or"}[constraint.split("_", maxsplit=1)[0]]
    return word in template.split()


# -- SKA-Bench --------------------------------------------------------------------------------------------------------


_KBS = Annotated[list[Path], argument("KB", "Directory of a KB; several share the instances.")]


@maker(many=_KBS)
def make_ska(session: PaperSession, output: DatasetOutput, settings: SkaSettings) -> Iterable[str]:
    """Make questions with the units that answer them.

    Each instance has a question, its answers, the triples, rows and passages that the answers need, and noise. Without
    --questions, they are made from the graph and the tables of the KBs; without --llm by rule. Every instance that was
    made from a query is checked on its units alone. An interrupted run is resumed from its tables in FOLDER/stages.
    """
    from kbkit.benchmarks.ska.make import make

    with session.stages() as step:
        session.note(_ska_lines(make(session.kbs, output, settings, session.calls, step, replace=session.replace)))
    return ()


def _ska_lines(made: NewDataset) -> Sequence[str]:
    """Return lines that describe a new dataset."""
    from kbkit.benchmarks.ska.gathering import ENOUGH

    report: dict[str, Any] = made.report
    counts = ", ".join(f"{count:,} {form}" for form, count in report["instances"].items())
    lines = [f"{made.folder}: {plural(sum(report['instances'].values()), 'instance')} ({counts})"]
    reasons: dict[str, int] = {}
    for of_form in report["left_out"].values():
        for reason, count in of_form.items():
            reasons[reason] = reasons.get(reason, 0) + count
    most = sorted(reasons.items(), key=lambda pair: -pair[1])
    lines += [f"No {form}: {reason}" for form, reason in report.get("missing", {}).items()]
    lines += [
        f"Fewer than {report['wanted']:,} {form}: {ENOUGH} (--max-alike allows more)"
        for form, of_form in report["left_out"].items()
        if ENOUGH in of_form and report["instances"].get(form, 0) < report["wanted"]
    ]
    lines += [f"Left out: {count:,}, {reason}" for reason, count in most[:_LISTED]]
    return [*lines, f"{plural(len(most) - _LISTED, 'further reason')} in dataset.json"] if most[_LISTED:] else lines


# -- ConvKGYarn -------------------------------------------------------------------------------------------------------


@maker()
def make_conv(
    session: PaperSession,
    output: DatasetOutput,
    settings: ConvSettings,
    output_format: Annotated[
        str, option("--output-format NAME", "Format of the conversations: jsonl or parquet.")
    ] = "jsonl",
) -> Iterable[str]:
    """Make conversations about the facts of a KB.

    Conversations with the same facts are made in each configuration. Without --llm, rules select the predicates and a
    grammar writes the questions. An interrupted run is resumed from its tables in FOLDER/stages.
    """
    from kbkit.benchmarks.convkgyarn.make import make

    again = session.replace
    with session.stages() as step:
        made = make(session.kb, output, settings, session.calls, step, format=output_format, replace=again)
    return _conv_lines(made)


def _conv_lines(made: NewDataset) -> Iterator[str]:
    """Yield lines about a new dataset."""
    report: dict[str, Any] = made.report
    yield (
        f"{made.folder}: {plural(report['conversations'], 'conversation')},"
        f" {plural(report['groups'], 'group')} with the same facts"
        + (f" and {report['related']:,} with a related entity" if report["related"] else "")
    )
    if report["groups"] < report["wanted"]:
        yield _fewer(report, "groups", "Name more types, or lower --min-turns")
    if report["untyped"]:
        yield f"Questions without a typo, as none of their words could have one: {report['untyped']:,}"
    yield from (f"No templates of {line}" for line in report["invalid"])
    for reason, count in report["dropped"].items():
        yield f"Predicates not asked for: {count:,}, {reason}"
