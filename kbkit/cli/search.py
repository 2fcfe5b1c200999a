"""Commands that search a KB: search, and run for a file of queries."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.models import Budget, Price, reranker
from kbkit.cli.options import Format, Kb, Output, on_screen, pairs
from kbkit.errors import KbError, UnknownNameError, plural

if TYPE_CHECKING:
    import polars as pl

    from kbkit.search.settings import Options

Mode = Annotated[str, typer.Option("--mode", "-m", help="bm25, dense, multivector, hybrid or relational.")]
Type = Annotated[str | None, typer.Option("--type", "-t", help="Only nodes of this type.")]
Within = Annotated[
    str | None, typer.Option("--within", "-w", metavar="EXPR", help="Only these answers: an expression, or @SET.")
]
Fields = Annotated[
    str | None, typer.Option("--fields", metavar="FIELD,...", help="Search these fields; name=2,plot gives weights.")
]
Fusion = Annotated[str, typer.Option(help="How legs are joined: rrf (reciprocal rank) or minmax (scaled scores).")]
Weight = Annotated[
    list[str] | None,
    typer.Option("--weight", metavar="LEG=N", help="What a leg weighs; legs that are not named are left out."),
]
Average = Annotated[
    int, typer.Option("--average", metavar="N", help="For multivector: the best chunks whose mean counts.")
]
Rerank = Annotated[
    str | None,
    typer.Option("--rerank", metavar="MODEL", help="Order the best anew: cross-encoder:MODEL, llm:MODEL@URL."),
]
RerankDepth = Annotated[int, typer.Option("--rerank-depth", help="How many are reranked, at least.")]
Embedder = Annotated[
    str | None, typer.Option("--embedder", help="The KB's embedder, at another address: openai:MODEL@URL.")
]
NAMES = ("key", "reference", "name")


def register(app: typer.Typer) -> None:
    """Add this file's commands to the program."""
    app.command()(search)
    app.command()(run)


def search(
    context: typer.Context,
    kb: Kb,
    query: Annotated[str, typer.Argument(help='Some words; "quoted" ones must occur.')],
    mode: Mode = "hybrid",
    k: Annotated[int, typer.Option("-k", help="How many.")] = 10,
    type: Type = None,
    within: Within = None,
    fields: Fields = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say why each is a hit.")] = False,
    fusion: Fusion = "rrf",
    weight: Weight = None,
    average: Average = 3,
    rerank: Rerank = None,
    rerank_depth: RerankDepth = 20,
    budget: Budget = None,
    price: Price = None,
    embedder: Embedder = None,
    format: Format = None,
    output: Output = None,
) -> None:
    """Search names and texts by words, by meaning, by both, or with the graph's relations too."""
    import polars as pl

    from kbkit.display.render import write
    from kbkit.graph.pages import explained
    from kbkit.kb import KnowledgeBase

    options = _options(fields, fusion, weight, average, rerank_depth)
    with KnowledgeBase(kb) as opened, reranker(context, opened, rerank, budget, price) as judge:
        frame = opened.search(query, k, mode, within, type, explain, rerank=judge, embedder=embedder, **options)
        linked = opened.linked(query) if explain and mode == "relational" else None
    if not on_screen(format, output):
        write(frame, format, output)
    elif explain:
        for line in explained(frame, linked):
            typer.echo(line)
        typer.echo(plural(frame.height, "hit"))
    else:
        # For the eye: what was found and where; other formats have all columns.
        reference = pl.format("{}#{}", "type", "key").alias("node")
        write(frame.select("rank", "name", reference, "score", "snippet"), format, output)


def run(
    context: typer.Context,
    kb: Kb,
    queries: Annotated[
        Path, typer.Argument(help="STaRK's csv or folder, QUEST's or other JSON lines, a tsv, or a line a query.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The run: .trec, .jsonl, ...")],
    mode: Mode = "hybrid",
    k: Annotated[int, typer.Option("-k", help="Hits for each query.")] = 100,
    type: Type = None,
    within: Within = None,
    split: Annotated[str, typer.Option(help="A split of the queries: train, val, test, ...")] = "",
    names: Annotated[str, typer.Option(help="What the run calls nodes: key, reference (type#key) or name.")] = "key",
    fields: Fields = None,
    fusion: Fusion = "rrf",
    weight: Weight = None,
    average: Average = 3,
    quotes: Annotated[bool, typer.Option("--quotes", help='What stands in "..." must occur.')] = False,
    rerank: Rerank = None,
    rerank_depth: RerankDepth = 20,
    budget: Budget = None,
    price: Price = None,
    embedder: Embedder = None,
    tag: Annotated[str | None, typer.Option(help="The run's tag; by default the mode.")] = None,
) -> None:
    """Search a file of queries, and write what was found as a run for `kbkit measure ranking`."""
    from kbkit.cli.progress import counting
    from kbkit.kb import KnowledgeBase
    from kbkit.measures.files import check_run, read_queries, write_run

    if names not in NAMES:
        raise UnknownNameError("kind of name", names, NAMES)
    options = _options(fields, fusion, weight, average, rerank_depth)
    options["quotes"] = quotes
    check_run(out, tag or mode)  # before the work is done
    wanted = read_queries(queries, split)
    started = time.perf_counter()
    hidden = context.obj.quiet or (rerank or "").startswith("llm:")  # whose calls have a bar of their own
    with (
        KnowledgeBase(kb) as opened,
        reranker(context, opened, rerank, budget, price) as judge,
        counting(hidden, "queries") as progress,
    ):
        found = opened.search_many(
            wanted, k, mode, within, type, rerank=judge, embedder=embedder, progress=progress, **options
        )
        named = _named(found, names)
    write_run(named, out, tag or mode)
    if not context.obj.quiet:
        seconds = time.perf_counter() - started
        typer.echo(
            f"{out}: {wanted.height:,} quer{'y' if wanted.height == 1 else 'ies'}, {found.height:,} hits;"
            f" {seconds:.1f} s, {1000 * seconds / wanted.height:.1f} ms a query",
            err=True,
        )


def _named(found: pl.DataFrame, names: str) -> pl.DataFrame:
    """A run's query, node and score; what names a node must name one only."""
    import polars as pl

    node = pl.format("{}#{}", "type", "key") if names == "reference" else pl.col(names)
    frame = found.select("query", node.alias("node"), "score", "id")
    several = frame.group_by("node").agg(pl.col("id").n_unique()).filter(pl.col("id") > 1).sort("node")
    for name, count in several.head(1).iter_rows():
        hint = "--names reference tells them apart, or --type leaves one kind"
        raise KbError(f"{count} of the nodes found have the {names} {name!r}", hint)
    return frame.drop("id")


def _options(fields: str | None, fusion: str, weight: list[str] | None, average: int, rerank_depth: int) -> Options:
    options: Options = {"fusion": fusion, "average": average, "rerank_depth": rerank_depth}
    if fields is not None:
        parts = [part.strip().rpartition("=") for part in fields.split(",") if part.strip()]
        options["fields"] = {
            (name if sign else rest): _number("--fields", rest) if sign else None for name, sign, rest in parts
        }
    if weight:
        options["weights"] = {leg: _number("--weight", n) for leg, n in pairs(weight, "--weight", "bm25=1").items()}
    return options


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise KbError(f"{option}: {text!r} is no number", "e.g. --fields name=2,plot or --weight bm25=1") from None
