"""Commands for STaRK that need people: stark write, rate, ratings."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.asking import QUIT, line
from kbkit.cli.commands import add
from kbkit.cli.judging import InBrowser, judge
from kbkit.cli.options import DatasetOutput, Format, Kb, Output, Rater, Seed, Types, counted, note, on_screen

if TYPE_CHECKING:
    from kbkit.graph.nodes import Node
    from kbkit.kb import KnowledgeBase

Agreement = Annotated[bool, typer.Option("--agreement", help="Show only how annotators agree.")]

NEIGHBORS = 5
"""Neighbours per relation on the page of an entity."""


def register(stark: typer.Typer) -> None:
    """Add the commands of this file to those for STaRK."""
    add(stark, write)
    add(stark, labels)
    add(stark, rate)
    add(stark, ratings)


# -- write ------------------------------------------------------------------------------------------------------------


def write(
    context: typer.Context,
    kb: Kb,
    output: DatasetOutput,
    types: Types = None,
    seed: Seed = 0,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", metavar="N", min=1, help="Maximum number of queries.")
    ] = None,
    labels: Annotated[
        bool, typer.Option("--labels", help="Add the queries that were labelled in kbkit explore instead.")
    ] = False,
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
            note(context, [f"{human.table(output)}: {counted(added, 'labelled query', 'labelled queries')} added"])
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
    note(context, [f"{human.table(output)}: {counted(written, 'query', 'queries')} written"])


def _show(kb: KnowledgeBase, drawn: int) -> Node:
    """Print a node with shortened texts and some paths of two steps."""
    from kbkit.benchmarks.stark import human
    from kbkit.display.render import clean, width_of
    from kbkit.graph.pages import print_lines

    node = kb.node(drawn)
    print_lines(kb.page(drawn, NEIGHBORS).lines(width_of(sys.stdout)), sys.stdout)
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


# -- labels -----------------------------------------------------------------------------------------------------------


def labels(
    kb: Kb,
    agreement: Agreement = False,
    format: Format = None,
    output: Output = None,
) -> None:
    """List the grades that people gave in the browser.

    The queries and grades of the Label screen of kbkit explore: 2 for an answer, 1 for an answer in part, 0 for none.
    The grade is the lower median of all annotators. -o FILE.qrels writes TREC judgements of keys, for kbkit measure and
    other programs.
    """
    from kbkit.benchmarks.labels import Labels
    from kbkit.display.render import write as render
    from kbkit.kb import KnowledgeBase
    from kbkit.measures.files import write_gold

    with KnowledgeBase(kb) as base:
        known = Labels(base)
        if agreement:
            render(known.agreement(), format, output)
        elif output is not None and output.suffix == ".qrels" and format is None:
            write_gold(known.gold(), output)
        else:
            render(known.judgements(), format, output)


# -- rate -------------------------------------------------------------------------------------------------------------


def rate(
    context: typer.Context,
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="Folder with stark_qa/, or a csv file.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="File of the ratings (JSON lines).")],
    rater: Rater,
    split: Annotated[
        str,
        typer.Option("--split", metavar="NAME", help="Split of the dataset, or human_generated_eval (default: all)."),
    ] = "",
    queries: Annotated[int, typer.Option("--queries", metavar="N", help="Number of queries per sample.")] = 10,
    samples: Annotated[int, typer.Option("--samples", metavar="N", help="Number of samples.")] = 1,
    seed: Seed = 0,
    browser: InBrowser = False,
) -> None:
    """Rate samples of queries.

    For each random sample shown, you rate naturalness, diversity and practicality from 1 to 5 (section 2.5 of the
    paper). Each rating is saved immediately; q or end of input quits, and the same command continues.
    """
    from kbkit.benchmarks.stark import ratings as rating
    from kbkit.benchmarks.stark.dataset import HUMAN
    from kbkit.benchmarks.stark.evaluate import questions

    name = dataset.resolve().name.removesuffix(".csv") + (" human" if split == HUMAN else "")
    drawn = rating.samples(name, questions(dataset, split), queries, samples, seed)
    judge(context, rating.Rating(drawn, output, rater), browser)


def ratings(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Ratings, as kbkit stark rate writes them.")],
    agreement: Agreement = False,
    format: Format = None,
    output: Output = None,
) -> None:
    """Evaluate the ratings of people.

    Shows positive and non-negative rates in percent, as in Table 10 of the paper, and how pairs of raters agree.
    """
    import polars as pl

    from kbkit.benchmarks.stark import ratings as rating
    from kbkit.display.render import check, print_table
    from kbkit.display.render import write as render

    check(format, output)
    found = rating.read_ratings(files)
    rates, agreed = rating.rates(found), rating.agreement(found)
    if not on_screen(format, output):
        render(agreed if agreement else rates, format, output)
        return
    rounded = agreed.with_columns(pl.col("agreement", "kappa").round(3))
    if not agreement:
        typer.secho("Table 10: positive / non-negative ratings, in percent", bold=True)
        print_table(rating.as_printed(rates), sys.stdout, count=False)
    if agreement or rounded.height:
        typer.secho("" if agreement else "\nAgreement of raters", bold=True, nl=not agreement)
        print_table(rounded, sys.stdout, count=False)
