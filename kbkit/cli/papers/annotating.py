"""Commands in which people write or judge: stark write and rate, quest annotate, ska annotate and review, conv rate
and compare.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.asking import QUIT, line
from kbkit.cli.options import DatasetOutput, Kb, Rater, Seed, Types, argument, note, option, pairs
from kbkit.cli.papers.arguments import Conversations, QuestDataset, SkaDataset, SkaInstances
from kbkit.cli.papers.factory import judged
from kbkit.errors import plural

if TYPE_CHECKING:
    from kbkit.benchmarks.people.tasks import Task
    from kbkit.graph.nodes import Node
    from kbkit.kb import KnowledgeBase

RatingsFile = Annotated[Path, option("--output -o FILE", "File of the judgements (JSON lines).")]
Entrance = Annotated[
    Path | None,
    option(
        "--entrance FILE",
        "Judgements of an expert: raters must pass a test on these items first, which are not asked again.",
    ),
]
Threshold = Annotated[float, option("--threshold FRACTION", "Fraction of the test that must agree with the expert.")]
References = Annotated[Path, argument("FILE", "File of ConvQuestions (JSON).")]

_NEIGHBORS = 5
"""Neighbours per relation on the page of an entity."""


# -- STaRK -------------------------------------------------------------------------------------------------------------


def stark_write(
    context: typer.Context,
    kb: Kb,
    output: DatasetOutput,
    types: Types = None,
    seed: Seed = 0,
    limit: Annotated[int | None, option("--limit -n N", "Maximum number of queries.", min=1)] = None,
    labels: Annotated[bool, option("--labels", "Add the queries that were labelled in kbkit explore instead.")] = False,
) -> None:
    """Write queries by hand.

    For each random entity shown, you write a query that does not contain its name (section 2.6 of the paper). An empty
    line skips the entity; q or end of input quits. Each query is saved immediately, to an existing or a new dataset.
    """
    from kbkit.benchmarks.stark import human
    from kbkit.kb import KnowledgeBase

    written = 0
    human.check_folder(output)
    with KnowledgeBase(kb) as base:
        names = human.naming(base, types or (), output)
        if labels:
            added = human.from_labels(base, output, seed, names=names)
            note(context, [f"{human.table(output)}: {plural(added, 'labelled query', 'labelled queries')} added"])
            return
        for drawn in human.draw(base, types or (), seed, human.answered(output)):
            node = _show(base, drawn)
            query = _query(node)
            if query is None:
                break
            if query:
                typer.echo(f"saved as query {human.append(base, output, query, node, seed, names=names)}\n")
                written += 1
            if written == limit:
                break
        else:
            typer.echo("No more entities")
    note(context, [f"{human.table(output)}: {plural(written, 'query', 'queries')} written"])


def _show(kb: KnowledgeBase, drawn: int) -> Node:
    """Print a node with shortened texts and some paths of two steps."""
    from kbkit.benchmarks.stark import human
    from kbkit.display.pages import print_lines
    from kbkit.display.render import clean, width_of

    node = kb.node(drawn)
    print_lines(kb.page(drawn, _NEIGHBORS).lines(width_of(sys.stdout)), sys.stdout)
    paths = human.paths(kb, node)
    if paths:
        typer.secho("\npaths", bold=True)
        for path in paths:
            typer.echo(clean(f"  {path}").replace("\n", " "))
    typer.echo("")
    return node


def _query(node: Node) -> str | None:
    """Read a query that does not contain the name of the node; empty to skip the entity, None to end."""
    from kbkit.benchmarks.stark.human import leak

    while text := line("query"):
        if text == QUIT:
            return None
        name = leak(text, node)
        if not name:
            return text
        typer.echo(f"The query contains the name {name}; rewrite it without the name (empty line: skip, q: end)")
    return text


@judged
def stark_rate(
    dataset: Annotated[Path, argument("DATASET", "Folder with stark_qa/, or a csv file.")],
    output: Annotated[Path, option("--output -o FILE", "File of the ratings (JSON lines).")],
    rater: Rater,
    split: Annotated[
        str,
        option("--split NAME", "Split of the dataset, or human_generated_eval (default: all)."),
    ] = "",
    queries: Annotated[int, option("--queries N", "Number of queries per sample.")] = 10,
    samples: Annotated[int, option("--samples N", "Number of samples.")] = 1,
    seed: Seed = 0,
) -> Task:
    """Rate samples of queries.

    For each random sample shown, you rate naturalness, diversity and practicality from 1 to 5 (section 2.5 of the
    paper). Each rating is saved immediately; q or end of input quits, and the same command continues.
    """
    from kbkit.benchmarks.stark import ratings as rating
    from kbkit.benchmarks.stark.dataset import HUMAN
    from kbkit.benchmarks.stark.run import questions

    name = dataset.resolve().name.removesuffix(".csv") + (" human" if split == HUMAN else "")
    drawn = rating.samples(name, questions(dataset, split), queries, samples, seed)
    return rating.SampleRating(drawn, output, rater)


# -- QUEST -------------------------------------------------------------------------------------------------------------


@judged
def quest_annotate(
    dataset: QuestDataset,
    rater: Rater,
    split: Annotated[str, option("--split NAME", "Split: train, val or test.")] = "test",
    limit: Annotated[int, option("--limit -n N", "Number of query and document pairs (0: all).")] = 0,
    seed: Seed = 0,
) -> Task:
    """Judge the answers of a dataset.

    Asks for the relevance and the evidence of each document. Answers are saved at once in annotations/NAME.jsonl; the
    next run continues there. All raters with the same --split, --limit and --seed judge the same pairs.
    """
    from kbkit.benchmarks.quest.annotate import RelevanceTask
    from kbkit.benchmarks.quest.dataset import QuestDataset

    return RelevanceTask(QuestDataset.open(dataset), rater, split, limit, seed)


# -- SKA-Bench ---------------------------------------------------------------------------------------------------------


@judged
def ska_annotate(
    dataset: SkaDataset,
    rater: Rater,
    limit: SkaInstances = 0,
    seed: Seed = 0,
) -> Task:
    """Mark the units that answers need.

    Shows a question, its answers and up to 30 units in random order (section 3.2.2 of the paper). Enter the numbers of
    the units that the answers need, or a letter for a question that breaks a rule. Answers are saved at once in
    annotations/NAME.jsonl; the next run continues there. All raters with the same --limit and --seed see the same
    instances.
    """
    from kbkit.benchmarks.ska.annotate import UnitsTask

    return UnitsTask(dataset, rater, limit, seed)


@judged
def ska_review(
    dataset: SkaDataset,
    rater: Rater,
    limit: SkaInstances = 20,
    rows: Annotated[int, option("--rows N", "Synthesized rows per instance.", min=1)] = 10,
    seed: Seed = 0,
) -> Task:
    """Judge synthesized rows.

    Shows a question, its answers, its positive units and rows that were synthesized as noise (section 3.2.3 of the
    paper). Enter the numbers of rows that are unsafe: with them, the answers would change. Verdicts are saved in
    review/NAME.jsonl after each instance; the next run continues there.
    """
    from kbkit.benchmarks.ska.review import Reviewing

    return Reviewing(dataset, rater, limit, rows, seed)


# -- ConvKGYarn --------------------------------------------------------------------------------------------------------


@judged
def conv_rate(
    dataset: Conversations,
    output: RatingsFile,
    rater: Rater,
    count: Annotated[int, option("--limit -n N", "Maximum number of conversations per configuration.")] = 5,
    entrance: Entrance = None,
    threshold: Threshold = 0.7,
    seed: Seed = 0,
) -> Task:
    """Rate conversations.

    For each conversation shown, you rate fluency, relevance, diversity and grammar from 1 (Poor) to 5 (Excellent), or
    opt out with o (appendix B.1 of the paper). Each conversation is saved when it is rated; q or end of input quits,
    and the same command continues. All raters with the same --limit and --seed rate the same conversations.
    """
    from kbkit.benchmarks.convkgyarn import conversations as files
    from kbkit.benchmarks.convkgyarn import ratings as module
    from kbkit.benchmarks.convkgyarn.tasks import ConvRating

    known = list(files.read_conversations(dataset))
    gold = module.expected(entrance, module.RATE) if entrance is not None else {}
    tested = {one.id: one for one in known if one.id in gold}
    drawn = module.sample((one for one in known if one.id not in gold), count, seed)
    return ConvRating(tested | {one.id: one for one in drawn}, output, rater, gold, threshold)


@judged
def conv_compare(
    dataset: Conversations,
    reference: References,
    output: RatingsFile,
    rater: Rater,
    count: Annotated[int, option("--limit -n N", "Maximum number of pairs.")] = 500,
    domain: Annotated[
        list[str] | None,
        option(
            "--domain NAME=VALUE",
            "Type of a domain (movies=movie): pair its references by type if no entity is the same; repeatable.",
        ),
    ] = None,
    deixis: Annotated[bool, option("--deixis/--no-deixis", "Use conversations with or without deixis.")] = True,
    entrance: Entrance = None,
    threshold: Threshold = 0.7,
    seed: Seed = 0,
) -> Task:
    """Compare conversations with those of ConvQuestions.

    For each pair about the same entity, with the same number of turns, you say which conversation is better in fluency,
    relevance, diversity and grammar: a, b, or s for the same; o opts out of the pair (appendix B.2 of the paper). Their
    order is random. Each pair is saved when it is judged; q or end of input quits, and the same command continues.
    """
    from kbkit.assets.arguments import check_range
    from kbkit.benchmarks.convkgyarn import conversations as files
    from kbkit.benchmarks.convkgyarn import ratings as module
    from kbkit.benchmarks.convkgyarn import references
    from kbkit.benchmarks.convkgyarn.tasks import Comparing

    gold = module.expected(entrance, module.COMPARE) if entrance is not None else {}
    types = pairs(domain, "domain", "movies=movie")
    check_range("number of pairs", count)
    drawn = references.match(
        files.read_conversations(dataset), references.read_references(reference), seed, types, deixis=deixis
    )
    tested = [one for one in drawn if one.id in gold]
    rest = [one for one in drawn if one.id not in gold][:count]
    return Comparing({one.id: one for one in [*tested, *rest]}, output, rater, gold, threshold)
