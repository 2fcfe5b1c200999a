"""Commands that make and tidy KBs: demo, recipes, recipe, ingest, build, gc."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.options import Format, Kb, Output, pairs, split_options
from kbkit.errors import KbError

if TYPE_CHECKING:
    from kbkit.ingestion.build import Request
    from kbkit.stores.embedders import Prefixes

QueryPrefix = Annotated[
    str | None, typer.Option(help="What the embedder wants before a query; known for well-known models.")
]
DocumentPrefix = Annotated[str | None, typer.Option(help="What the embedder wants before a document.")]
ChunkWordsOption = typer.Option(help="Words of a chunk, for --mode multivector; 0 for no chunks.")
ChunkOverlapOption = typer.Option(help="Words that a chunk repeats of the one before; by default a quarter.")

SourcePaths = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[PATH]...", help="The source's files, or folders with them, and options of the recipe: --class Q5."
    ),
]
StoreNames = Annotated[
    str, typer.Option(metavar="NAMES", help="Which to build, separated by commas; the tables always are.")
]
RecipeOptions = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="An option of the recipe; --NAME VALUE is the same."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Estimate what would be made, and make nothing (wikidata).")]
StarkCompat = Annotated[
    bool, typer.Option("--stark-compat", help="For stark: its loader's merged, undirected graph; --set compat=yes.")
]
Columns = Annotated[
    list[str] | None, typer.Option(metavar="NAME=COLUMN", help="What a file calls a column: head=subject.")
]
NamedFiles = Annotated[
    list[str] | None, typer.Option(metavar="NAME=PATH", help="A file of the recipe by its name there.")
]
EmbedderName = Annotated[
    str, typer.Option(help="static, model2vec:FOLDER, sentence-transformers:MODEL or openai:MODEL@URL.")
]
WithRelations = Annotated[
    bool, typer.Option("--with-relations", help="Let searches find a node by the names of what it is joined to.")
]

recipe_app = typer.Typer(no_args_is_help=True, help="Your own recipes.")


def register(app: typer.Typer) -> None:
    """Add this file's commands to the program."""
    app.command()(demo)
    app.command()(recipes)
    app.add_typer(recipe_app, name="recipe")
    app.command(context_settings={"ignore_unknown_options": True})(ingest)  # a recipe has options of its own
    app.command()(generate)
    app.command()(build)
    app.command()(update)
    app.command()(gc)


def demo(
    context: typer.Context,
    out: Annotated[Path, typer.Option("--out", help="Where to build it.")] = Path("world.kb"),
) -> None:
    """Build the sample KB that ships with kbkit, and show what can be asked of it."""
    from kbkit.cli.progress import bars
    from kbkit.cli.tour import tour
    from kbkit.directory.generations import KbDirectory
    from kbkit.ingestion.build import Request
    from kbkit.ingestion.build import ingest as run
    from kbkit.kb import KnowledgeBase

    started = time.perf_counter()
    if KbDirectory(out).exists():
        with KnowledgeBase(out) as kb:
            known = kb.manifest.recipe["name"] == "world"
        if not known:
            raise KbError(f"{out} is another KB", "name a new directory with --out")
    with bars(context.obj.quiet) as listener:
        run(Request("world", replace=True), out, listener)
    _summary(context, out, started)
    tour(out)


def recipes(
    name: Annotated[str | None, typer.Argument(help="A recipe, or a recipe's folder, to read about.")] = None,
    format: Format = None,
    output: Output = None,
) -> None:
    """List the sources that kbkit can ingest, or all about one: files, options, licence, where to get it."""
    import polars as pl

    from kbkit.display.render import write
    from kbkit.ingestion import recipe

    if name is None:
        known = [recipe.load(n) for n in recipe.names()]
        write(
            pl.DataFrame(
                {
                    "recipe": [r.name for r in known],
                    "title": [r.title for r in known],
                    "licence": [r.licence for r in known],
                }
            ),
            format,
            output,
        )
        return
    chosen = recipe.load(name)
    rows = [
        ("title", chosen.title),
        ("description", " ".join(chosen.description.split())),
        ("licence", chosen.licence),
        ("get", chosen.get),
    ]
    rows += [
        (f"file {f.name}{' (optional)' if f.optional else ''}", f"{' or '.join(f.match)}: {f.help}".rstrip(": "))
        for f in chosen.files
    ]
    rows += [(f"--set {k}={o.default}", o.help) for k, o in chosen.options.items()]
    write(pl.DataFrame(rows, schema=["recipe", chosen.name], orient="row"), format, output)


@recipe_app.command("new")
def recipe_new(name: Annotated[Path, typer.Argument(help="The folder to write.")]) -> None:
    """Write a commented recipe to start from."""
    from kbkit.ingestion.recipe import write_skeleton

    write_skeleton(name)
    typer.echo(
        f"wrote {name / 'recipe.toml'} and {name / 'load.sql'}; use it with: kbkit ingest ./{name} FILES --out my.kb"
    )


def generate(
    shape: Annotated[str, typer.Argument(help="amazon, mag or prime.")],
    out: Annotated[Path, typer.Option("--out", help="The folder to write to.")] = ...,  # type: ignore[assignment]
    scale: Annotated[float, typer.Option("--scale", help="1 for the published size.")] = 0.001,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same files.")] = 0,
    texts: Annotated[bool, typer.Option(help="Whether to write texts.")] = True,
    context: typer.Context = None,  # type: ignore[assignment]
) -> None:
    """Write an invented graph in the shape of a STaRK KB, as the files that `kbkit ingest table` reads."""
    from kbkit.cli.progress import bars
    from kbkit.display.progress import Event
    from kbkit.ingestion.generate import generate as write

    with bars(quiet=context.obj.quiet) as listener:

        def progress(stage: str, done: int, total: int) -> None:
            if listener is not None:
                listener(Event(stage, done, total, stage))

        counts = write(shape, out, scale=scale, seed=seed, texts=texts, progress=progress)
    typer.echo(
        f"{out}: {counts['nodes']:,} nodes, {counts['edges']:,} edges, {counts['texts']:,} texts;"
        f" kbkit ingest table {out} --out {shape}.kb loads it"
    )


def ingest(
    context: typer.Context,
    source: Annotated[str, typer.Argument(help="A recipe (see kbkit recipes), or a recipe's folder.")],
    paths: SourcePaths = None,
    out: Annotated[Path | None, typer.Option("--out", help="The KB's directory.")] = None,
    stores: StoreNames = "tables,adjacency,triples,text,vectors",
    replace: Annotated[bool, typer.Option("--replace", help="Build the next generation of an existing KB.")] = False,
    set_: RecipeOptions = None,
    dry_run: DryRun = False,
    stark_compat: StarkCompat = False,
    column: Columns = None,
    file: NamedFiles = None,
    embedder: EmbedderName = "static",
    query_prefix: QueryPrefix = None,
    document_prefix: DocumentPrefix = None,
    chunk_words: Annotated[int, ChunkWordsOption] = 256,
    chunk_overlap: Annotated[int | None, ChunkOverlapOption] = None,
    analyzer: Annotated[str, typer.Option(help="The language of the texts, or simple.")] = "english",
    relations: WithRelations = False,
    skip_dangling: Annotated[
        bool, typer.Option("--skip-dangling", help="Leave out edges and texts of unknown nodes.")
    ] = False,
    merge_duplicates: Annotated[
        bool, typer.Option("--merge-duplicates", help="Make one node of a key that occurs twice.")
    ] = False,
) -> None:
    """Build a KB from the files of a source."""
    from kbkit.cli.progress import bars
    from kbkit.ingestion.build import Request
    from kbkit.ingestion.build import ingest as run
    from kbkit.stores.document_vectors import Settings as VectorSettings
    from kbkit.stores.text import Settings as TextSettings

    started = time.perf_counter()
    given, own = _recipe_options(context, source, paths or [])
    request = Request(
        source=source,
        paths=given,
        options=own | pairs([*(set_ or []), *(["compat=yes"] if stark_compat else [])], "--set"),
        columns=pairs(column or [], "--column"),
        named={name: Path(path) for name, path in pairs(file or [], "--file").items()},
        embedder=embedder,
        prefixes=_prefixes(query_prefix, document_prefix),
        text=TextSettings(analyzer, relations),
        vectors=VectorSettings(relations, chunk_words, chunk_overlap),
        stores=[name.strip() for name in stores.split(",") if name.strip()],
        replace=replace,
        skip_dangling=skip_dangling,
        merge_duplicates=merge_duplicates,
    )
    if dry_run:
        _estimate(request)
        return
    if out is None:
        raise KbError("--out is missing", "it names the KB's directory, e.g. --out my.kb")
    with bars(context.obj.quiet) as listener:
        run(request, out, listener)
    _summary(context, out, started)


def _recipe_options(context: typer.Context, source: str, arguments: list[str]) -> tuple[list[Path], dict[str, str]]:
    """The paths among the arguments, and the recipe's own options."""
    from kbkit.ingestion import recipe

    options = recipe.load(source).options
    paths, given = split_options(arguments, options, context)
    return [Path(path) for path in paths], given


def _estimate(request: Request) -> None:
    """Print what an ingest would make."""
    import polars as pl

    from kbkit.display.render import write
    from kbkit.ingestion.build import dry_run

    write(pl.DataFrame(dry_run(request), schema=["estimate", "figure"], orient="row"), None, None)


def build(
    context: typer.Context,
    kb: Kb,
    store: Annotated[str, typer.Argument(help="adjacency, triples, text or vectors.")],
    embedder: Annotated[
        str | None,
        typer.Option(help="For vectors: static, model2vec:FOLDER, sentence-transformers:MODEL, openai:MODEL@URL."),
    ] = None,
    query_prefix: QueryPrefix = None,
    document_prefix: DocumentPrefix = None,
    chunk_words: Annotated[int | None, ChunkWordsOption] = None,
    chunk_overlap: Annotated[int | None, ChunkOverlapOption] = None,
    analyzer: Annotated[str | None, typer.Option(help="For text: the language, or simple.")] = None,
    relations: Annotated[
        bool | None,
        typer.Option(
            "--with-relations/--without-relations",
            help="For text and vectors: let searches find a node by the names of what it is joined to.",
        ),
    ] = None,
) -> None:
    """Rebuild one store from the tables, without the source, as a new generation."""
    from kbkit.cli.progress import bars
    from kbkit.ingestion.build import Change, rebuild

    started = time.perf_counter()
    prefixes = _prefixes(query_prefix, document_prefix)
    change = Change(analyzer, relations, embedder, prefixes, chunk_words, chunk_overlap)
    with bars(context.obj.quiet) as listener:
        rebuild(kb, store, change, listener)
    _summary(context, kb, started)


def update(
    context: typer.Context,
    kb: Kb,
    nodes: Annotated[
        list[Path] | None, typer.Option(help="Nodes that are new, or have new values: key, type, name, attributes.")
    ] = None,
    edges: Annotated[list[Path] | None, typer.Option(help="New edges: head, relation, tail, attributes.")] = None,
    texts: Annotated[
        list[Path] | None, typer.Option(help="Texts, in place of those of the same node and field: key, field, text.")
    ] = None,
    delete: Annotated[
        list[Path] | None,
        typer.Option(
            help="What is to go: a node by key (and type), an edge by head, relation, tail, a text by key, field."
        ),
    ] = None,
    column: Columns = None,
    skip_dangling: Annotated[
        bool,
        typer.Option(
            "--skip-dangling", help="Leave out edges and texts of unknown nodes, and unknown things to delete."
        ),
    ] = False,
) -> None:
    """Change a KB without its source: add, change and delete, as a new generation."""
    from kbkit.cli.progress import bars
    from kbkit.ingestion.update import Delta
    from kbkit.ingestion.update import update as run

    started = time.perf_counter()
    delta = Delta(nodes or (), edges or (), texts or (), delete or (), pairs(column or [], "--column"), skip_dangling)
    with bars(context.obj.quiet) as listener:
        run(kb, delta, listener)
    _summary(context, kb, started)


def _prefixes(query: str | None, document: str | None) -> Prefixes | None:
    from kbkit.stores.embedders import Prefixes

    return None if query is None and document is None else Prefixes(query, document)


def gc(context: typer.Context, kb: Kb) -> None:
    """Remove generations that nobody reads any more, and what killed builds left."""
    from kbkit.directory.generations import KbDirectory

    removed = KbDirectory(kb).collect()
    if not context.obj.quiet:
        size = sum(size for _, size in removed)
        names = ", ".join(name for name, _ in removed)
        typer.echo(f"removed {names} ({size / 1e6:,.1f} MB)" if removed else "nothing to remove", err=True)


def _summary(context: typer.Context, out: Path, started: float) -> None:
    """One line on what was built, and one for each thing merged, dropped or skipped."""
    if context.obj.quiet:
        return
    from kbkit.directory.generations import tree_bytes
    from kbkit.kb import KnowledgeBase

    with KnowledgeBase(out) as kb:
        schema, report, size = kb.schema, kb.manifest.report, tree_bytes(kb.folder)
    typer.echo(
        f"{out}: {_some(schema.nodes, 'node')} of {_some(len(schema.node_types), 'type')},"
        f" {_some(schema.edges, 'edge')} of {_some(len(schema.relations), 'relation')},"
        f" {_some(sum(f.texts for f in schema.text_fields), 'text')};"
        f" {size / 1e6:,.1f} MB in {time.perf_counter() - started:.1f} s",
        err=True,
    )
    for key, what in (
        ("merged_nodes", "rows of keys that occur twice were merged"),
        ("duplicate_edges", "edges that say the same again were dropped"),
        ("dangling_edges", "edges to unknown nodes were left out"),
        ("dangling_texts", "texts of unknown nodes were left out"),
        ("repeated_entities", "entities that come again in the dump were left out"),
        ("unknown_ids", "of the ids are not in the dump"),
    ):
        if report.get(key):
            typer.echo(f"  {report[key]:,} {what}", err=True)


def _some(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
