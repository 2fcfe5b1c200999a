"""Commands that build KBs: ingest, build, update, export, gc."""

from __future__ import annotations

import time
from dataclasses import replace as changed
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.commands import add
from kbkit.cli.options import Kb, counted, note, pairs, split_options
from kbkit.errors import KbError, Option

if TYPE_CHECKING:
    from kbkit.ingestion.build import Request
    from kbkit.ingestion.inference import Corrections, Inferred
    from kbkit.stores.embedders import Prefixes

KbOutput = Annotated[Path, typer.Option("--output", "-o", metavar="KB", help="Directory of the new KB.")]
Source = Annotated[str, typer.Argument(metavar="SOURCE", help="Recipe (see kbkit recipe list), or folder of a recipe.")]
SourceOrFile = Annotated[
    str, typer.Argument(metavar="SOURCE", help="Recipe (see kbkit recipe list), folder of a recipe, or files.")
]
SourcePaths = Annotated[
    list[str] | None,
    typer.Argument(metavar="PATH", help="Files or folders of the source, and options of the recipe (--class Q5)."),
]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", metavar="NAME=COLUMN", help="Column name used in the files: head=subject; repeatable."),
]
Embedder = Annotated[
    str | None,
    typer.Option(
        "--embedder",
        metavar="EMBEDDER",
        help="Embedder: static, model2vec:FOLDER, sentence-transformers:MODEL or openai:MODEL@URL (default: static).",
    ),
]
QueryPrefix = Annotated[
    str | None,
    typer.Option(
        "--query-prefix", metavar="TEXT", help="Text prepended to each query (default: the model's known prefix)."
    ),
]
DocumentPrefix = Annotated[
    str | None,
    typer.Option(
        "--document-prefix", metavar="TEXT", help="Text prepended to each document (default: the model's known prefix)."
    ),
]
ChunkWords = Annotated[
    int | None,
    typer.Option("--chunk-words", metavar="N", help="Words per chunk, for multivector search (default: 256; 0: none)."),
]
ChunkOverlap = Annotated[
    int | None,
    typer.Option("--chunk-overlap", metavar="N", help="Words shared by consecutive chunks (default: a quarter)."),
]
Analyzer = Annotated[
    str | None,
    typer.Option("--analyzer", metavar="LANGUAGE", help="Language of the texts, or simple (default: english)."),
]
WithRelations = Annotated[
    bool | None,
    typer.Option("--with-relations/--without-relations", help="Include the names of neighbours when indexing a node."),
]
SkipDangling = Annotated[
    bool, typer.Option("--skip-dangling", help="Skip edges and texts of unknown nodes instead of failing.")
]
KeyOf = Annotated[
    list[str] | None,
    typer.Option(
        "--key",
        metavar="TABLE=COLUMN",
        help="Key of a table without a recipe: people=ssn, a=x,y (a=: none); repeatable.",
    ),
]
LinkOf = Annotated[
    list[str] | None,
    typer.Option(
        "--link",
        metavar="COLUMN=TABLE",
        help="Table that a column refers to: films.director=people (=: none); repeatable.",
    ),
]
TextOf = Annotated[
    list[str] | None,
    typer.Option("--text", metavar="FIELD", help="Column with texts to search: films.plot; repeatable."),
]
TypeOf = Annotated[
    list[str] | None,
    typer.Option("--type", "-t", metavar="TABLE=TYPE", help="Node type of a table's rows: people=person; repeatable."),
]
NoHeader = Annotated[
    bool, typer.Option("--no-header", help="Without a recipe: read the first line of delimited files as data.")
]


def register(app: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    add(app, ingest, context_settings={"ignore_unknown_options": True})  # a recipe has options of its own
    add(app, build)
    add(app, update)
    add(app, export)
    add(app, gc)


# -- ingest, build, update --------------------------------------------------------------------------------------------


def ingest(
    context: typer.Context,
    source: SourceOrFile,
    paths: SourcePaths = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="KB", help="Directory of the new KB (required).")
    ] = None,
    key: KeyOf = None,
    link: LinkOf = None,
    text: TextOf = None,
    type_: TypeOf = None,
    no_header: NoHeader = False,
    stores: Annotated[
        str,
        typer.Option(
            "--stores",
            metavar="NAMES",
            help="Stores to build, separated by commas; tables and nodes are always built.",
        ),
    ] = "tables,adjacency,triples,text,vectors",
    replace: Annotated[bool, typer.Option("--replace", help="Build the next generation of an existing KB.")] = False,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Option of the recipe; same as --NAME VALUE; repeatable."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Estimate the result without building it (wikidata only).")
    ] = False,
    stark_compat: Annotated[
        bool,
        typer.Option("--stark-compat", help="Build the merged, undirected graph of STaRK's loader: --set compat=yes."),
    ] = False,
    column: Columns = None,
    file: Annotated[
        list[str] | None,
        typer.Option("--file", metavar="NAME=FILE", help="Path of a file that the recipe declares; repeatable."),
    ] = None,
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="Name of the KB (default: that of the recipe or files).")
    ] = "",
    title: Annotated[
        str, typer.Option("--title", metavar="TEXT", help="Title of the KB (default: that of the recipe or files).")
    ] = "",
    licence: Annotated[
        str, typer.Option("--licence", metavar="TEXT", help="Licence of the data (default: the recipe's).")
    ] = "",
    base: Annotated[
        str, typer.Option("--base", metavar="URL", help="Base of IRIs (default: http://example.org/NAME/).")
    ] = "",
    symmetric: Annotated[
        list[str] | None,
        typer.Option("--symmetric", metavar="RELATION", help="Store edges in both directions; repeatable."),
    ] = None,
    embedder: Embedder = None,
    query_prefix: QueryPrefix = None,
    document_prefix: DocumentPrefix = None,
    chunk_words: ChunkWords = None,
    chunk_overlap: ChunkOverlap = None,
    analyzer: Analyzer = None,
    relations: WithRelations = None,
    skip_dangling: SkipDangling = False,
    merge_duplicates: Annotated[
        bool, typer.Option("--merge-duplicates", help="Merge nodes with the same key instead of failing.")
    ] = False,
) -> None:
    """Build a KB from the files of a source.

    Without a recipe (kbkit ingest people.csv films.csv -o my.kb), one is inferred and written next to the KB.
    """
    from kbkit.cli.progress import bars
    from kbkit.ingestion.build import Request
    from kbkit.ingestion.build import ingest as run
    from kbkit.ingestion.inference.source import resolved
    from kbkit.ingestion.recipe import Identity
    from kbkit.stores.text import TextSettings
    from kbkit.stores.vector_build import VectorSettings

    started = time.perf_counter()
    files, own = _recipe_options(context, source, paths or [])
    if output is None and not dry_run:
        raise KbError("No directory for the KB", "Use ", Option("output", "my.kb"))
    indexed = bool(relations)
    request = Request(
        source=source,
        paths=files,
        options=own | pairs(set_, "set", "language=en") | ({"compat": "yes"} if stark_compat else {}),
        columns=pairs(column, "column", "head=subject"),
        named={part: Path(path) for part, path in pairs(file, "file", "nodes=nodes.csv").items()},
        identity=Identity(name, title, licence, base, tuple(symmetric or ())),
        embedder=embedder or "static",
        prefixes=_prefixes(query_prefix, document_prefix),
        text=TextSettings(analyzer or "english", indexed),
        vectors=VectorSettings(indexed, 256 if chunk_words is None else chunk_words, chunk_overlap),
        stores=[name.strip() for name in stores.split(",") if name.strip()],
        replace=replace,
        skip_dangling=skip_dangling,
        merge_duplicates=merge_duplicates,
    )
    out = output or Path("my.kb")
    with resolved(source, files, out, corrections(key, link, text, type_, no_header)) as found:
        if found.inferred:
            show_inferred(context, found.inferred, found.folder)
        elif found.recipe != source:
            note(context, [f"Recognized the files of the recipe {found.recipe}"])
        request = changed(request, source=found.recipe, paths=found.paths)
        if dry_run:
            _estimate(request)
            return
        with bars(context.obj.quiet) as listener:
            run(request, out, listener)
    summarize(context, out, started)


def corrections(
    keys: list[str] | None,
    links: list[str] | None,
    texts: list[str] | None,
    types: list[str] | None,
    no_header: bool,
) -> Corrections:
    """Return the corrections of guesses that options give."""
    from kbkit.ingestion.inference import Corrections

    return Corrections(
        {table: [c for c in names.split(",") if c] for table, names in pairs(keys, "key", "people=ssn").items()},
        pairs(links, "link", "films.director=people"),
        texts or (),
        pairs(types, "type", "people=person"),
        no_header,
    )


def show_inferred(context: typer.Context, inferred: Inferred, folder: Path | None) -> None:
    """Print what a recipe makes of each table, what is unclear, and where it was written."""
    if context.obj.quiet:
        return
    from kbkit.display.render import write

    write(inferred.summary())
    unclear = (f"{column} may refer to {' or '.join(tables)}: say which with --link {column}={tables[0]}"
               for column, tables in inferred.plan.unclear.items())  # fmt: skip
    wrote = f"Wrote the recipe {folder}: edit it, or correct a guess with --key, --link, --text, --type"
    note(context, [*inferred.notes, *unclear, wrote])


def _recipe_options(context: typer.Context, source: str, arguments: list[str]) -> tuple[list[Path], dict[str, str]]:
    """Return the paths among the arguments, and the recipe's own options."""
    from kbkit.ingestion import recipe
    from kbkit.ingestion.inference.source import named

    name = named(source, [path for argument in arguments if (path := Path(argument)).exists()])
    known = recipe.load(name).options if name else {}
    switches = [name for name, option in known.items() if set(option.choices) == {"yes", "no"}]
    paths, options = split_options(arguments, known, context, switches)
    return [Path(path) for path in paths], options


def _estimate(request: Request) -> None:
    """Print an estimate of the result of an ingest."""
    import polars as pl

    from kbkit.display.render import write
    from kbkit.ingestion.build import dry_run

    write(pl.DataFrame(dry_run(request), schema=["estimate", "figure"], orient="row"), None, None)


def _prefixes(query: str | None, document: str | None) -> Prefixes | None:
    from kbkit.stores.embedders import Prefixes

    return None if query is None and document is None else Prefixes(query, document)


def build(
    context: typer.Context,
    kb: Kb,
    store: Annotated[
        str,
        typer.Argument(
            metavar="STORE", help="Store to rebuild: nodes, adjacency, triples, text, vectors or embeddings."
        ),
    ],
    embedder: Embedder = None,
    query_prefix: QueryPrefix = None,
    document_prefix: DocumentPrefix = None,
    chunk_words: ChunkWords = None,
    chunk_overlap: ChunkOverlap = None,
    analyzer: Analyzer = None,
    relations: WithRelations = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            metavar="METHOD",
            help="Method of graph embeddings: spectral or pykeen:MODEL (default: spectral).",
        ),
    ] = None,
    dimension: Annotated[
        int | None,
        typer.Option("--dimension", metavar="N", help="Dimension of graph embeddings (default: 64)."),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option("--epochs", metavar="N", help="Epochs of training with PyKEEN (default: 20).")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", help="Random seed, for reproducible output.")
    ] = None,
) -> None:
    """Build or rebuild one store, without the source.

    The result is a new generation of the KB. Options default to the values of the last build. The store embeddings
    (graph embeddings, for kbkit show --similar) is built only on request.
    """
    from kbkit.cli.progress import bars
    from kbkit.ingestion.build import Change, rebuild

    started = time.perf_counter()
    prefixes = _prefixes(query_prefix, document_prefix)
    change = Change(
        analyzer, relations, embedder, prefixes, chunk_words, chunk_overlap, method, dimension, seed, epochs
    )
    with bars(context.obj.quiet) as listener:
        rebuild(kb, store, change, listener)
    summarize(context, kb, started)


def update(
    context: typer.Context,
    kb: Kb,
    nodes: Annotated[
        list[Path] | None,
        typer.Option(
            "--nodes", metavar="FILE", help="Nodes to add or change: key, type, name, attributes; repeatable."
        ),
    ] = None,
    edges: Annotated[
        list[Path] | None,
        typer.Option("--edges", metavar="FILE", help="Edges to add: head, relation, tail, attributes; repeatable."),
    ] = None,
    texts: Annotated[
        list[Path] | None,
        typer.Option("--texts", metavar="FILE", help="Texts to add or replace: key, field, text; repeatable."),
    ] = None,
    delete: Annotated[
        list[Path] | None,
        typer.Option(
            "--delete",
            metavar="FILE",
            help="Nodes (key), edges (head, relation, tail) or texts (key, field) to delete; repeatable.",
        ),
    ] = None,
    entities: Annotated[
        list[Path] | None,
        typer.Option(
            "--entities",
            metavar="FILE",
            help="Entities of Wikidata to add or change, in JSON; --delete takes a file of ids then; repeatable.",
        ),
    ] = None,
    column: Columns = None,
    skip_dangling: SkipDangling = False,
) -> None:
    """Add, change and delete nodes, edges and texts.

    The result is a new generation of the KB. The source is not needed.
    """
    from kbkit.cli.progress import bars
    from kbkit.ingestion.update import Delta
    from kbkit.ingestion.update import update as run

    started = time.perf_counter()
    columns = pairs(column, "column", "head=subject")
    delta = Delta(nodes or (), edges or (), texts or (), delete or (), entities or (), columns, skip_dangling)
    with bars(context.obj.quiet) as listener:
        run(kb, delta, listener)
    summarize(context, kb, started)


def summarize(context: typer.Context, path: Path, started: float) -> None:
    """Print one line about the KB, and one for each kind of row that was merged, dropped or skipped."""
    if context.obj.quiet:
        return
    from kbkit.directory.generations import tree_bytes
    from kbkit.kb import KnowledgeBase

    with KnowledgeBase(path) as kb:
        schema, report, size = kb.schema, kb.manifest.report, tree_bytes(kb.folder)
    texts = sum(field.texts for field in schema.text_fields)
    lines = [
        f"{path}: {counted(schema.nodes, 'node')} of {counted(len(schema.node_types), 'type')},"
        f" {counted(schema.edges, 'edge')} of {counted(len(schema.relations), 'relation')},"
        f" {counted(texts, 'text')}; {size / 1e6:,.1f} MB in {time.perf_counter() - started:.1f} s"
    ]
    plurals = {"repeated entity": "repeated entities"}
    for key, noun, happened in (
        ("merged_nodes", "row", "with duplicate keys merged"),
        ("duplicate_edges", "duplicate edge", "dropped"),
        ("both_ways", "edge", "of symmetric relations given in both directions"),
        ("dangling_edges", "edge", "to unknown nodes skipped"),
        ("dangling_texts", "text", "of unknown nodes skipped"),
        ("repeated_entities", "repeated entity", "skipped"),
        ("unknown_ids", "id", "not found in the dump"),
        ("bad_lines", "bad line", "skipped"),
    ):
        if report.get(key):
            lines.append(f"  {counted(int(report[key]), noun, plurals.get(noun, ''))} {happened}")
    if "first_bad_line" in report:
        lines.append(f"    the first: {report['first_bad_line']}")
    note(context, lines)


# -- export, gc -------------------------------------------------------------------------------------------------------


def export(
    context: typer.Context,
    kb: Kb,
    format: Annotated[
        str,
        typer.Option(
            "--format",
            "-f",
            metavar="FORMAT",
            help="Output format: parquet, csv, ntriples, kgtk, stark or pyg (NumPy arrays).",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="PATH",
            help="Folder for parquet, csv, stark and pyg; file for ntriples (.nt, or .nq if the source is RDF) and kgtk"
            " (.tsv), compressed if it ends in .gz; - for standard output.",
        ),
    ],
    flat: Annotated[
        bool,
        typer.Option("--flat", help="Write one file each of nodes, edges and texts, and a recipe that reads them."),
    ] = False,
    gzip: Annotated[bool, typer.Option("--gzip", help="Compress CSV files.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite an existing export.")] = False,
) -> None:
    """Export a KB for other programs."""
    from kbkit.cli.progress import bars
    from kbkit.export import export as write
    from kbkit.kb import KnowledgeBase

    started = time.perf_counter()
    with KnowledgeBase(kb) as opened, bars(context.obj.quiet) as listener:
        done = write(opened.stores, format, output, flat=flat, gzip=gzip, replace=replace, progress=listener)
    if done.out == "-":
        return
    folder = output if len(output.parts) > 1 else f"./{output}"  # else ingest takes it for the name of a recipe
    again = f"; to build a KB from it: kbkit ingest {folder} -o again.kb" if flat else ""
    line = (
        f"{output}: {done.nodes:,} nodes, {done.edges:,} edges, {done.texts:,} texts;"
        f" {done.bytes / 1e6:,.1f} MB in {time.perf_counter() - started:.1f} s{again}"
    )
    note(context, [line])


def gc(context: typer.Context, kb: Kb) -> None:
    """Remove unused generations.

    Deletes generations that no process reads, and leftovers of interrupted builds.
    """
    from kbkit.directory.generations import KbDirectory

    removed = KbDirectory(kb).collect()
    size = sum(size for _, size in removed)
    names = ", ".join(name for name, _ in removed)
    note(context, [f"Removed {names} ({size / 1e6:,.1f} MB)" if removed else "Nothing to remove"])
