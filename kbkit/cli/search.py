"""Commands that search a KB: search, and run for a file of queries."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.commands import add
from kbkit.cli.models import Budget, Price, reranker
from kbkit.cli.options import Kb, Systems, TableRendering, Type, argument, note, number, numbers, option
from kbkit.errors import Command, KbError, Option, UnknownNameError, plural

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    import polars as pl

    from kbkit.kb import KnowledgeBase
    from kbkit.search.rerank import Reranker
    from kbkit.search.settings import SearchOptions

Mode = Annotated[
    str,
    option(
        "--mode -m MODE",
        "Search mode: auto, bm25, dense, multivector, hybrid, relational, learned, or a system such as "
        "biencoder:MODEL (see kbkit run --systems).",
    ),
]
K = Annotated[int, option("-k N", "Number of results per query.")]
Within = Annotated[
    str | None,
    option("--within -w EXPR", "Search only these nodes: an answer expression, or @SET."),
]
NAMES = ("auto", "key", "reference", "name", "number")


@dataclass(frozen=True)
class RankingOptions:
    """How hits are scored, fused and reranked: the options that ``search`` and ``run`` share."""

    fields: Annotated[
        str | None,
        option("--fields FIELDS", "Fields to search, separated by commas; name=2,plot sets weights."),
    ] = None
    fusion: Annotated[
        str,
        option("--fusion METHOD", "Score fusion: minmax (scaled scores) or rrf (ranks).", rare=True),
    ] = "minmax"
    weight: Annotated[
        list[str] | None,
        option("--weight LEG=N", "Weight of a retriever; unnamed retrievers are not used; repeatable.", rare=True),
    ] = None
    average: Annotated[
        int,
        option("--average N", "Number of best chunks to average, for multivector search (0: all).", rare=True),
    ] = 3
    rerank: Annotated[
        str | None,
        option(
            "--rerank MODEL",
            "Rerank the best results: cross-encoder:MODEL, text2text:MODEL or llm:MODEL@URL (llm: $KBKIT_LLM).",
        ),
    ] = None
    rerank_depth: Annotated[
        int,
        option("--rerank-depth N", "Minimum number of results to rerank.", rare=True),
    ] = 20
    budget: Budget = None
    price: Price = None
    embedder: Annotated[
        str | None,
        option("--embedder EMBEDDER", "Embedder of the KB at another address: openai:MODEL@URL.", rare=True),
    ] = None

    def settings(self) -> SearchOptions:
        """Return the options as :func:`KnowledgeBase.search` takes them."""
        options: SearchOptions = {
            "fusion": self.fusion,
            "average": self.average,
            "rerank_depth": self.rerank_depth,
        }
        if self.fields is not None:
            parts = [part.strip().rpartition("=") for part in self.fields.split(",") if part.strip()]
            options["fields"] = {
                (name if sign else rest): number(rest, "fields", "name=2,plot") if sign else None
                for name, sign, rest in parts
            }
        if self.weight:
            options["weights"] = numbers(self.weight, "weights", "bm25=1")
        return options

    def reranker(self, context: typer.Context, kb: KnowledgeBase) -> AbstractContextManager[str | Reranker | None]:
        """Open the reranker; see :func:`kbkit.cli.models.reranker`."""
        return reranker(context, kb, self.rerank, self.budget, self.price)


@dataclass(frozen=True)
class RankingLessons:
    """What a ranking is learned from."""

    learn: Annotated[
        Path | None,
        option(
            "--learn FILE",
            "Learn a ranking from queries with relevant nodes (JSON lines, STaRK, QUEST, TREC), then exit.",
        ),
    ] = None
    queries: Annotated[
        Path | None,
        option("--learn-queries FILE", "With --learn: the queries of TREC judgements.", rare=True),
    ] = None
    split: Annotated[
        str,
        option("--split NAME", "With --learn: the split to learn from.", rare=True),
    ] = ""
    forget: Annotated[bool, option("--forget", "Delete the learned ranking, then exit.", rare=True)] = False

    def teach(self, context: typer.Context, kb: Path) -> bool:
        """Learn a ranking, or delete the learned one; return whether that was asked for."""
        from kbkit.cli.progress import counting
        from kbkit.kb import KnowledgeBase

        if self.learn is None and not self.forget:
            return False
        with KnowledgeBase(kb) as opened:
            if self.forget:
                had = opened.forget_ranking()
                note(context, ["Deleted the learned ranking" if had else "No ranking has been learned"])
            if self.learn is None:
                return True
            with counting(context.obj.quiet, "queries") as progress:
                found = opened.learn_ranking(self.learn, self.queries, self.split, progress=progress)
        difference = f"{found.after - found.before:+.3f}, 90% interval {found.low:+.3f} to {found.high:+.3f}"
        typer.echo(f"mean reciprocal rank of held-out queries: {found.before:.3f} before, {found.after:.3f} after")
        typer.echo(f"difference of {plural(found.examples.queries, 'query', 'queries')}: {difference}")
        typer.echo("kept; undo with --forget" if found.is_better else "discarded, because it is hardly better")
        return True


def register(app: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    add(app, search)
    add(app, run)


def search(
    context: typer.Context,
    kb: Kb,
    query: Annotated[str | None, argument("QUERY", 'Words to search for; "quoted" phrases must occur.')] = None,
    mode: Mode = "auto",
    k: K = 10,
    type: Type = None,
    within: Within = None,
    explain: Annotated[bool, option("--explain", "Explain the score of each result.")] = False,
    all: Annotated[bool, option("--all", "Return weak results too if no word of the query occurs in the KB.")] = False,
    *,
    ranking: RankingOptions,
    lessons: RankingLessons,
    rendering: TableRendering,
) -> None:
    """Search names and texts.

    Searches by words (bm25), by meaning (dense, multivector), by both (hybrid), also by relations (relational), or with
    a ranking learned from examples (learned).
    """
    from kbkit.display.pages import explained
    from kbkit.kb import KnowledgeBase
    from kbkit.search.learned import problem as learned_problem
    from kbkit.search.settings import AUTO

    if lessons.teach(context, kb):
        return
    if query is None:
        raise KbError("No query given", "Example: ", Command("search KB 'rivers of Africa'"))
    options = ranking.settings()
    options["include_weak"] = all
    with KnowledgeBase(kb) as opened, ranking.reranker(context, opened) as judge:
        frame = opened.search(query, k, mode, within, type, explain, rerank=judge, embedder=ranking.embedder, **options)
        linked = opened.linked(query) if explain and "linked" in frame.columns else None
        options["include_weak"] = True
        weak = not frame.height and not all and opened.search(query, 1, mode, within, type, **options).height
        unused = learned_problem(opened.stores) if mode == AUTO else None
    if explain and rendering.on_screen:
        for line in explained(frame, linked):
            typer.echo(line)
        typer.echo(plural(frame.height, "result"))
    else:
        rendering.write(_columns(frame) if rendering.on_screen else frame)
    if weak:
        note(context, ["No word of the query occurs in the KB. Use --all to list the most similar nodes."])
    if unused is not None:
        note(context, [f"The learned ranking is not used: {unused.message}. --forget deletes it."])


def _columns(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the most important columns of hits, for a table; other formats have all."""
    import polars as pl

    mark = ["weak"] if frame["weak"].any() else []
    return frame.select("rank", "name", pl.format("{}#{}", "type", "key").alias("node"), "score", *mark, "snippet")


def run(
    context: typer.Context,
    kb: Kb,
    queries: Annotated[
        Path,
        argument("QUERIES", "File of queries: STaRK's csv or folder, JSON lines, tsv, or one query per line."),
    ],
    output: Annotated[Path, option("--output -o FILE", "Output file: .trec, .jsonl, ...")],
    mode: Mode = "hybrid",
    k: K = 100,
    type: Type = None,
    within: Within = None,
    split: Annotated[str, option("--split NAME", "Split of the dataset: train, val, test, ...")] = "",
    names: Annotated[
        str,
        option(
            "--names KIND",
            "Node names in the run: auto (key, or type#key for a key of several types), key, reference (type#key),"
            " name or number (STaRK).",
        ),
    ] = "auto",
    quotes: Annotated[bool, option("--quotes", 'Require phrases in "quotes" to occur.', rare=True)] = False,
    tag: Annotated[
        str | None,
        option("--tag NAME", "Name of the system in a TREC run (default: the mode).", rare=True),
    ] = None,
    systems: Systems = False,  # noqa: ARG001 - exits by itself
    *,
    ranking: RankingOptions,
) -> None:
    """Search a file of queries and write a run.

    kbkit measure ranking scores the run.
    """
    from kbkit.cli.progress import counting
    from kbkit.export.numbering import numbering
    from kbkit.kb import KnowledgeBase
    from kbkit.measures.files import check_run, read_queries, write_run
    from kbkit.search.model_search import prepare
    from kbkit.search.query_types import types_of

    if names not in NAMES:
        raise UnknownNameError("kind of name", names, NAMES)
    options = ranking.settings()
    options["quotes"] = quotes
    check_run(output, tag or mode)  # before the work is done
    wanted = read_queries(queries, split)
    started = time.perf_counter()
    hidden = context.obj.quiet or (ranking.rerank or "").startswith("llm:")  # model calls have a bar of their own
    with (
        KnowledgeBase(kb) as opened,
        ranking.reranker(context, opened) as judge,
        counting(hidden, "queries") as progress,
    ):
        note(context, prepare(opened.stores, mode, progress))
        own = [] if type else types_of(wanted, opened.schema)
        found = opened.search_many(
            wanted, k, mode, within, type, rerank=judge, embedder=ranking.embedder, progress=progress, **options
        )
        if names == "number":
            names = "key" if numbering(opened.tables).keys else "id"
        if names == "auto":
            named = found.select("query", opened.stores.nodes.shortest_references(found), "score")
        else:
            named = _named(found, names)
    write_run(named, output, tag or mode)
    notes = [f"{output}: {_counts(wanted.height, found.height, time.perf_counter() - started)}"]
    if typed_queries := sum(kind is not None for kind in own):
        notes.append(f"{plural(typed_queries, 'query', 'queries')} restricted to the type in the field type")
    if names == "auto" and (typed := found["id"].filter(named["node"] != found["key"]).n_unique()):
        whole = f"{plural(typed, 'node')} written as type#key, because other nodes have the key"
        notes.append(f"{whole}; --names key writes keys alone")
    note(context, notes)


def _counts(queries: int, results: int, seconds: float) -> str:
    each = 1000 * seconds / queries
    what = f"{plural(queries, 'query', 'queries')}, {plural(results, 'result')}"
    return f"{what}; {seconds:.1f} s, {each:.1f} ms per query"


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
