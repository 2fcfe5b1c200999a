"""Commands that search a KB: search, and run for a file of queries."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.commands import add
from kbkit.cli.models import Budget, Price, reranker
from kbkit.cli.options import (
    RARE,
    Format,
    Kb,
    Output,
    Systems,
    Type,
    Wrap,
    counted,
    cut,
    note,
    number,
    numbers,
    on_screen,
)
from kbkit.errors import Command, KbError, Option, UnknownNameError

if TYPE_CHECKING:
    import polars as pl

    from kbkit.search.settings import SearchOptions

Mode = Annotated[
    str,
    typer.Option(
        "--mode",
        "-m",
        metavar="MODE",
        help="Search mode: auto, bm25, dense, multivector, hybrid, relational, learned, or a system (biencoder:MODEL).",
    ),
]
K = Annotated[int, typer.Option("-k", metavar="N", help="Number of results per query.")]
Within = Annotated[
    str | None,
    typer.Option("--within", "-w", metavar="EXPR", help="Search only these nodes: an answer expression, or @SET."),
]
Fields = Annotated[
    str | None,
    typer.Option("--fields", metavar="FIELDS", help="Fields to search, separated by commas; name=2,plot sets weights."),
]
Fusion = Annotated[
    str,
    typer.Option(
        "--fusion", metavar="METHOD", help="Score fusion: minmax (scaled scores) or rrf (ranks).", rich_help_panel=RARE
    ),
]
Weight = Annotated[
    list[str] | None,
    typer.Option(
        "--weight",
        metavar="LEG=N",
        help="Weight of a retriever; unnamed retrievers are not used; repeatable.",
        rich_help_panel=RARE,
    ),
]
Average = Annotated[
    int,
    typer.Option(
        "--average",
        metavar="N",
        help="Number of best chunks to average, for multivector search (0: all).",
        rich_help_panel=RARE,
    ),
]
Rerank = Annotated[
    str | None,
    typer.Option(
        "--rerank",
        metavar="MODEL",
        help="Rerank the best results: cross-encoder:MODEL or llm:MODEL@URL (llm: $KBKIT_LLM).",
    ),
]
RerankDepth = Annotated[
    int, typer.Option("--rerank-depth", metavar="N", help="Minimum number of results to rerank.", rich_help_panel=RARE)
]
Embedder = Annotated[
    str | None,
    typer.Option(
        "--embedder",
        metavar="EMBEDDER",
        help="Embedder of the KB at another address: openai:MODEL@URL.",
        rich_help_panel=RARE,
    ),
]
NAMES = ("key", "reference", "name", "number")


def register(app: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    add(app, search)
    add(app, run)


def search(
    context: typer.Context,
    kb: Kb,
    query: Annotated[
        str | None, typer.Argument(metavar="QUERY", help='Words to search for; "quoted" phrases must occur.')
    ] = None,
    mode: Mode = "auto",
    k: K = 10,
    type: Type = None,
    within: Within = None,
    fields: Fields = None,
    explain: Annotated[bool, typer.Option("--explain", help="Explain the score of each result.")] = False,
    all: Annotated[
        bool, typer.Option("--all", help="Return weak results too if no word of the query occurs in the KB.")
    ] = False,
    fusion: Fusion = "minmax",
    weight: Weight = None,
    average: Average = 3,
    rerank: Rerank = None,
    rerank_depth: RerankDepth = 20,
    budget: Budget = None,
    price: Price = None,
    embedder: Embedder = None,
    learn: Annotated[
        Path | None,
        typer.Option(
            "--learn",
            metavar="FILE",
            help="Learn a ranking from queries with relevant nodes (JSON lines, STaRK, QUEST, TREC), then exit.",
        ),
    ] = None,
    queries: Annotated[
        Path | None,
        typer.Option(
            "--learn-queries",
            metavar="FILE",
            help="With --learn: the queries of TREC judgements.",
            rich_help_panel=RARE,
        ),
    ] = None,
    split: Annotated[
        str,
        typer.Option("--split", metavar="NAME", help="With --learn: the split to learn from.", rich_help_panel=RARE),
    ] = "",
    forget: Annotated[
        bool, typer.Option("--forget", help="Delete the learned ranking, then exit.", rich_help_panel=RARE)
    ] = False,
    wrap: Wrap = False,
    format: Format = None,
    output: Output = None,
) -> None:
    """Search names and texts.

    Searches by words (bm25), by meaning (dense, multivector), by both (hybrid), also by relations (relational), or with
    a ranking learned from examples (learned).
    """
    import polars as pl

    from kbkit.display.render import write
    from kbkit.kb import KnowledgeBase
    from kbkit.search.learned import problem as learned_problem
    from kbkit.search.settings import AUTO

    if learn is not None or forget:
        _teach(context, kb, learn, queries, split, forget=forget)
        return
    if query is None:
        raise KbError("No query given", "Example: ", Command("search KB 'rivers of Africa'"))
    options = _options(fields, fusion, weight, average, rerank_depth)
    options["include_weak"] = all
    with KnowledgeBase(kb) as opened, reranker(context, opened, rerank, budget, price) as judge:
        frame = opened.search(query, k, mode, within, type, explain, rerank=judge, embedder=embedder, **options)
        linked = opened.linked(query) if explain and "linked" in frame.columns else None
        options["include_weak"] = True
        weak = not frame.height and not all and opened.search(query, 1, mode, within, type, **options).height
        unused = learned_problem(opened.stores) if mode == AUTO else None
    if not on_screen(format, output):
        write(frame, format, output)
    elif explain:
        from kbkit.display.pages import explained

        for line in explained(frame, linked):
            typer.echo(line)
        typer.echo(counted(frame.height, "result"))
    else:
        # A table has the most important columns, other formats have all.
        reference = pl.format("{}#{}", "type", "key").alias("node")
        mark = ["weak"] if frame["weak"].any() else []
        shown = frame.select("rank", "name", reference, "score", *mark, "snippet")
        write(shown, format, output, cut=cut(wrap))
    if weak:
        note(context, ["No word of the query occurs in the KB. Use --all to list the most similar nodes."])
    if unused is not None:
        note(context, [f"The learned ranking is not used: {unused.message}. --forget deletes it."])


def _teach(
    context: typer.Context, kb: Path, examples: Path | None, queries: Path | None, split: str, *, forget: bool
) -> None:
    """Learn a ranking from examples, or delete the learned one."""
    from kbkit.cli.progress import counting
    from kbkit.kb import KnowledgeBase

    with KnowledgeBase(kb) as opened:
        if forget:
            had = opened.forget_ranking()
            note(context, ["Deleted the learned ranking" if had else "No ranking has been learned"])
        if examples is None:
            return
        with counting(context.obj.quiet, "queries") as progress:
            found = opened.learn_ranking(examples, queries, split, progress=progress)
    difference = f"{found.after - found.before:+.3f}, 90% interval {found.low:+.3f} to {found.high:+.3f}"
    typer.echo(f"mean reciprocal rank of held-out queries: {found.before:.3f} before, {found.after:.3f} after")
    typer.echo(f"difference of {counted(found.examples.queries, 'query', 'queries')}: {difference}")
    typer.echo("kept; undo with --forget" if found.is_better else "discarded, because it is not better beyond chance")


def run(
    context: typer.Context,
    kb: Kb,
    queries: Annotated[
        Path,
        typer.Argument(
            metavar="QUERIES", help="File of queries: STaRK's csv or folder, JSON lines, tsv, or one query per line."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Output file: .trec, .jsonl, ...")],
    mode: Mode = "hybrid",
    k: K = 100,
    type: Type = None,
    within: Within = None,
    split: Annotated[
        str, typer.Option("--split", metavar="NAME", help="Split of the dataset: train, val, test, ...")
    ] = "",
    names: Annotated[
        str,
        typer.Option(
            "--names", metavar="KIND", help="Node names in the run: key, reference (type#key), name or number (STaRK)."
        ),
    ] = "key",
    fields: Fields = None,
    fusion: Fusion = "minmax",
    weight: Weight = None,
    average: Average = 3,
    quotes: Annotated[
        bool, typer.Option("--quotes", help='Require phrases in "quotes" to occur.', rich_help_panel=RARE)
    ] = False,
    rerank: Rerank = None,
    rerank_depth: RerankDepth = 20,
    budget: Budget = None,
    price: Price = None,
    embedder: Embedder = None,
    tag: Annotated[
        str | None,
        typer.Option(
            "--tag", metavar="NAME", help="Name of the system in a TREC run (default: the mode).", rich_help_panel=RARE
        ),
    ] = None,
    systems: Systems = False,  # noqa: ARG001 - exits by itself
) -> None:
    """Search a file of queries and write a run.

    kbkit measure ranking scores the run.
    """
    from kbkit.cli.progress import counting
    from kbkit.export.numbering import numbering
    from kbkit.kb import KnowledgeBase
    from kbkit.measures.files import check_run, read_queries, write_run
    from kbkit.search.model_search import prepare

    if names not in NAMES:
        raise UnknownNameError("kind of name", names, NAMES)
    options = _options(fields, fusion, weight, average, rerank_depth)
    options["quotes"] = quotes
    check_run(output, tag or mode)  # before the work is done
    wanted = read_queries(queries, split)
    started = time.perf_counter()
    hidden = context.obj.quiet or (rerank or "").startswith("llm:")  # model calls have a bar of their own
    with (
        KnowledgeBase(kb) as opened,
        reranker(context, opened, rerank, budget, price) as judge,
        counting(hidden, "queries") as progress,
    ):
        note(context, prepare(opened.stores, mode, progress))
        found = opened.search_many(
            wanted, k, mode, within, type, rerank=judge, embedder=embedder, progress=progress, **options
        )
        if names == "number":
            names = "key" if numbering(opened.tables).keys else "id"
        named = _named(found, names)
    write_run(named, output, tag or mode)
    seconds = time.perf_counter() - started
    note(
        context,
        [
            f"{output}: {counted(wanted.height, 'query', 'queries')}, {counted(found.height, 'result')};"
            f" {seconds:.1f} s, {1000 * seconds / wanted.height:.1f} ms per query"
        ],
    )


def _named(found: pl.DataFrame, names: str) -> pl.DataFrame:
    """Return query, node and score of a run; raise :class:`KbError` if two nodes have the same name."""
    import polars as pl

    node = pl.format("{}#{}", "type", "key") if names == "reference" else pl.col(names)
    frame = found.select("query", node.cast(pl.String).alias("node"), "score", "id")
    several = frame.group_by("node").agg(pl.col("id").n_unique()).filter(pl.col("id") > 1).sort("node")
    for name, count in several.head(1).iter_rows():
        raise KbError(
            f"{count} of the nodes found have the {names} {name!r}",
            "Use ",
            Option("names", "reference"),
            " to tell them apart, or ",
            Option("type", "TYPE"),
        )
    return frame.drop("id")


def _options(
    fields: str | None, fusion: str, weight: list[str] | None, average: int, rerank_depth: int
) -> SearchOptions:
    options: SearchOptions = {"fusion": fusion, "average": average, "rerank_depth": rerank_depth}
    if fields is not None:
        parts = [part.strip().rpartition("=") for part in fields.split(",") if part.strip()]
        options["fields"] = {
            (name if sign else rest): number(rest, "fields", "name=2,plot") if sign else None
            for name, sign, rest in parts
        }
    if weight:
        options["weights"] = numbers(weight, "weights", "bm25=1")
    return options
