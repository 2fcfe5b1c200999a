"""Commands on what people judged: stark labels and ratings, quest agreement, ska agreement and revise, conv ratings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.options import DatasetOutput, Kb, Raters, Rendering, argument, note, option
from kbkit.cli.papers.arguments import QuestDataset, SkaDataset
from kbkit.cli.papers.factory import FiguresForm, PaperFigures, Shown, figures
from kbkit.errors import KbError, Option, UnknownNameError, plural

if TYPE_CHECKING:
    from kbkit.benchmarks.people.labels import Labels
    from kbkit.cli.tables import Titled

Agreement = Annotated[bool, option("--agreement", "Show only how annotators agree.")]


# -- STaRK -------------------------------------------------------------------------------------------------------------


def stark_labels(
    context: typer.Context,
    kb: Kb,
    agreement: Agreement = False,
    each: Annotated[bool, option("--each", "List the grades and notes of each annotator.")] = False,
    *,
    rendering: Rendering,
) -> None:
    """List the grades that people gave in the browser.

    The queries and grades of the Label screen of kbkit explore: 2 for an answer, 1 for an answer in part, 0 for none.
    The grade is a decision, or else the median of all annotators, rounded down. -o FILE.qrels writes TREC judgements,
    with nodes named as by kbkit run, for kbkit measure and other programs.
    """
    from kbkit.benchmarks.people.labels import Labels
    from kbkit.kb import KnowledgeBase
    from kbkit.measures.files import write_gold

    with KnowledgeBase(kb) as base:
        known = Labels(base)
        if agreement:
            rendering.write(known.agreement())
        elif each:
            rendering.write(known.table())
        elif rendering.output is not None and rendering.output.suffix == ".qrels" and rendering.format is None:
            write_gold(known.gold(), rendering.output)
        else:
            rendering.write(known.judgements())
        if not agreement and not each:
            note(context, _doubts(known))


def _doubts(known: Labels) -> list[str]:
    """Return what makes grades provisional or incomplete, as lines."""
    undecided, incomplete = known.undecided(), len(known.incomplete())
    lines = [f"{plural(undecided, 'disagreement')} not decided: the grade is the median, rounded down"]
    more = [f"{plural(incomplete, 'query', 'queries')} with answers that were not pooled"]
    return (lines if undecided else []) + (more if incomplete else [])


@figures(FiguresForm())
def stark_ratings(
    files: Annotated[list[Path], argument("FILE", "Ratings, as kbkit stark rate writes them.")],
    agreement: Agreement = False,
) -> PaperFigures:
    """Evaluate the ratings of people.

    Shows positive and non-negative rates in percent, as in Table 10 of the paper, and how pairs of raters agree.
    """
    import polars as pl

    from kbkit.benchmarks.stark import ratings as rating

    ratings = rating.read_ratings(files)
    rates, agreed = rating.rates(ratings), rating.agreement(ratings)
    rounded = agreed.with_columns(pl.col("agreement", "kappa").round(3))
    sections = [("Table 10: positive / non-negative ratings, in percent", rating.as_printed(rates))]
    if rounded.height:
        sections.append(("Agreement of raters", rounded))
    return PaperFigures(
        sections=[("", rounded)] if agreement else sections, records=lambda: agreed if agreement else rates
    )


# -- QUEST -------------------------------------------------------------------------------------------------------------


@figures(FiguresForm())
def quest_agreement(dataset: QuestDataset, raters: Raters = None) -> PaperFigures:
    """Show how well raters agree on relevance.

    Computes the fraction of pairs on which they agree, Fleiss' kappa for all and Cohen's kappa for each two.
    """
    from kbkit.benchmarks.quest import annotate as module
    from kbkit.benchmarks.quest.dataset import QuestDataset

    given = module.rater_files(QuestDataset.open(dataset)).all(raters or ())
    judged = {name: len({one.item for one in own if one.mark is not None}) for name, own in given.items()}
    lines = [f"{name}: {plural(count, 'judgement')}" for name, count in judged.items()]
    return PaperFigures(lines, records=lambda: module.agreement(given))


# -- SKA-Bench ---------------------------------------------------------------------------------------------------------


@figures(FiguresForm())
def ska_agreement(dataset: SkaDataset, raters: Raters = None) -> PaperFigures:
    """Show how well annotators agree.

    Computes the fraction of verdicts and of shown units on which they agree, Fleiss' kappa for all and Cohen's kappa
    for each two.
    """
    from kbkit.benchmarks.ska import annotate as module
    from kbkit.benchmarks.ska import instances

    loaded = instances.read_instances(dataset)
    given = module.annotations_of(module.annotator_files(dataset).all(raters or ()), loaded)
    times = module.expert_minutes(given, loaded).iter_rows()
    lines = [f"{form}: median {minutes:.1f} minutes of {count:,}" for form, count, minutes in times]
    return PaperFigures(lines, records=lambda: module.agreement(given, loaded))


def ska_revise(context: typer.Context, dataset: SkaDataset, output: DatasetOutput, raters: Raters = None) -> None:
    """Apply people's annotations and reviews.

    Writes a new dataset whose positive units are those that most annotators marked, without questions that most of them
    rejected and without rows that were reviewed as unsafe.
    """
    from kbkit.benchmarks.ska import annotate as annotations
    from kbkit.benchmarks.ska import instances, paper
    from kbkit.benchmarks.ska import review as reviews

    if output.resolve() == dataset.resolve():
        raise KbError(f"{output} is the dataset itself", "Choose another folder with ", Option("output"))
    loaded = instances.read_instances(dataset)
    given, marks = annotations.annotator_files(dataset).all(), reviews.reviewer_files(dataset).all()
    if unknown := set(raters or ()) - given.keys() - marks.keys():
        raise UnknownNameError("rater", min(unknown), sorted({*given, *marks}))
    if not given and not marks:
        raise KbError(f"No annotations or reviews in {dataset}", "Run kbkit ska annotate or kbkit ska review first")
    chosen = set(raters or {*given, *marks})
    given = {name: own for name, own in given.items() if name in chosen}
    verdicts = reviews.judged(loaded, (one for name in chosen for one in marks.get(name, ())))
    annotated = annotations.annotations_of(given, loaded)
    kept, left_out = annotations.apply(reviews.without_unsafe(loaded, verdicts), annotated)
    if not kept:
        raise KbError("All instances are left out by their annotations", "Use other ", Option("raters"))
    path = instances.write_instances(output, kept)
    lines = [f"{path}: {plural(len(kept), 'instance')}"]
    if verdicts:
        safe = sum(verdicts.values())
        share = f"{safe / len(verdicts):.1%} of {len(verdicts):,} reviewed"
        lines.append(f"Safe rows: {share} (the paper: {paper.safe_rows():g}%)")
    note(context, [*lines, *(f"{count} left out: {reason}" for reason, count in left_out.items())])


# -- ConvKGYarn --------------------------------------------------------------------------------------------------------


@figures(FiguresForm((2, 3), short={"interaction": "mode", "disfluency": "disfl.", "conversations": "n"}))
def conv_ratings(
    context: typer.Context,
    shown: Shown,
    files: Annotated[list[Path], argument("FILE", "Files of conv rate and conv compare.")],
) -> PaperFigures:
    """Evaluate judgements of people.

    Shows the means of the ratings (Table 2 of the paper, its figures in parentheses), the preferences (Table 3), and
    agreement: the percentage of values on which at least two of three raters agree.
    """
    from kbkit.benchmarks.convkgyarn import ratings as module

    judgements = module.read_rated(files)
    rated, preferred = module.rating_table(judgements), module.preference_table(judgements)
    note(context, module.remarks(judgements))
    if shown.table is None and not (rated.height or preferred.height):
        raise KbError("No judgements in the files", "Tests and items that raters opted out of do not count")
    means = module.as_printed(rated) if shown.on_screen else rated
    tables: list[Titled] = [
        (2, "mean ratings and agreement, the paper's in parentheses", means),
        (3, "percentage of judgements that prefer the dataset's conversation", shown.rounded(preferred, 1)),
    ]
    chosen = [one for one in tables if shown.table is not None or one[2].height]
    return PaperFigures(tables=chosen)
