"""Commands that build KBs: ingest, build, update, export, gc."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.commands import add
from kbkit.cli.options import Kb, argument, note, option, split_options
from kbkit.cli.spelling import SPELLER
from kbkit.errors import KbError, Option, plural
from kbkit.ingestion.request import Delta, IngestRequest, IngestSettings, RebuildSettings

if TYPE_CHECKING:
    from kbkit.ingestion.inference import Inferred
    from kbkit.ingestion.sync import SyncResult

KbOutput = Annotated[Path, option("--output -o KB", "Directory of the new KB.")]
Source = Annotated[str, argument("SOURCE", "Recipe (see kbkit recipe list), or folder of a recipe.")]
SourceOrFile = Annotated[str, argument("SOURCE", "Recipe (see kbkit recipe list), folder of a recipe, or files.")]
SourcePaths = Annotated[
    list[str] | None,
    argument("PATH", "Files or folders, and options of the recipe (--class Q5)."),
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
    output: Annotated[Path | None, option("--output -o KB", "Directory of the new KB (required).")] = None,
    *,
    settings: IngestSettings,
    dry_run: Annotated[
        bool,
        option("--dry-run", "With --sync: only show what would change. With wikidata: estimate the result.", rare=True),
    ] = False,
    review: Annotated[
        bool,
        option("--review", "Correct the inferred recipe in a browser first."),
    ] = False,
    stark_compat: Annotated[
        bool,
        option("--stark-compat", "Build the merged, undirected graph of STaRK's loader: --set compat=yes.", rare=True),
    ] = False,
) -> None:
    """Build a KB from the files of a source.

    Without a recipe (kbkit ingest films.csv -o my.kb), one is inferred.
    """
    from kbkit.cli.progress import bars
    from kbkit.ingestion.build import ingest as run
    from kbkit.ingestion.inference.source import resolved
    from kbkit.ingestion.sync import is_started, sync

    started = time.perf_counter()
    files, own = _recipe_options(context, source, paths or [])
    if output is None and not dry_run:
        raise KbError("No directory for the KB", "Use ", Option("output", "my.kb"))
    options = own | dict(settings.options) | ({"compat": "yes"} if stark_compat else {})
    out = output or Path("my.kb")
    settings = replace(settings, options=options)
    if review:
        _review(context, source, files, out, settings)
        return
    if is_started(out, settings):
        with bars(context.obj.quiet) as listener:
            result = sync(source, files, out, settings, listener, dry_run=dry_run)
        _show_changes(context, out, result, started)
        return
    with resolved(source, files, out, settings.corrections, sync=settings.sync) as found:
        if found.inferred:
            show_inferred(context, found.inferred, found.folder)
        elif found.recipe != source:
            note(context, [f"Recognized the files of the recipe {found.recipe}"])
        request = IngestRequest(found.recipe, found.paths, found.inferred is not None, **vars(settings))
        if dry_run:
            _estimate(request)
            return
        with bars(context.obj.quiet) as listener:
            run(request, out, listener)
    summarize(context, out, started)
    if found.recipe == "graph":
        note(context, directions(out))
    if found.inferred:
        _name_sql_tables(context, out)


def _name_sql_tables(context: typer.Context, out: Path) -> None:
    """Print the tables of types and relations that have another name in SQL, where theirs is a word or taken."""
    from kbkit.kb import KnowledgeBase

    with KnowledgeBase(out) as kb:
        types, relations = kb.schema.node_types, kb.schema.relations
    found = [f"the type {one.name} is {one.table}" for one in types if one.table != one.name]
    found += [f"the relation {one.name} is {one.table}" for one in relations if one.table != one.name]
    more = f", and {len(found) - _SQL_NAMES} more (kbkit sql {out} 'SHOW TABLES')" if len(found) > _SQL_NAMES else ""
    if found:
        note(context, [f"In SQL, {', '.join(found[:_SQL_NAMES])}{more}"])


_SQL_NAMES = 3


def _show_changes(context: typer.Context, out: Path, result: SyncResult, started: float) -> None:
    """Print what a run of ``--sync`` found, and the KB that it built."""
    sys.stdout.write(f"{result.changes}\n")
    sys.stdout.flush()
    note(context, [*result.notes, *(f"Files {line}" for line in result.files)])
    if result.folder:
        summarize(context, out, started)


def _review(context: typer.Context, source: str, files: list[Path], out: Path, settings: IngestSettings) -> None:
    """Open the review of an inferred recipe in a browser; the server then explores the KB until Ctrl-C."""
    import contextlib

    from kbkit.cli.serve import open_pages
    from kbkit.ingestion.review import reviewing
    from kbkit.kb import KnowledgeBase
    from kbkit.web.explore import app

    with reviewing(source, files, out, settings) as review, contextlib.ExitStack() as stack:

        def opened(path: Path) -> KnowledgeBase:
            summarize(context, path, None)
            return stack.enter_context(KnowledgeBase(path))

        open_pages(context, f"Review of {out}", 0, lambda token, once: app.reviewing(review, token, opened, once))


def show_inferred(context: typer.Context, inferred: Inferred, folder: Path | None) -> None:
    """Print what a recipe makes of each table, what is unclear, and where it was written."""
    if context.obj.quiet:
        return
    from kbkit.display.render import write

    write(inferred.summary())
    unsure = (f"Unsure: {guess.message} ({SPELLER.option(guess.option)})" for guess in inferred.unsure)
    wrote = f"Wrote the recipe {folder}: correct it, or set --key, --link, --name-column, --text, --type"
    note(context, [*inferred.notes, *unsure, wrote])


def _recipe_options(context: typer.Context, source: str, arguments: list[str]) -> tuple[list[Path], dict[str, str]]:
    """Return the paths among the arguments, and the recipe's own options."""
    from kbkit.ingestion import recipe
    from kbkit.ingestion.inference.source import named

    name = named(source, [path for argument in arguments if (path := Path(argument)).exists()])
    known = recipe.load(name).options if name else {}
    switches = [name for name, option in known.items() if set(option.choices) == {"yes", "no"}]
    paths, options = split_options(arguments, known, context, switches)
    return [Path(path) for path in paths], options


def _estimate(request: IngestRequest) -> None:
    """Print an estimate of the result of an ingest."""
    import polars as pl

    from kbkit.display.render import write
    from kbkit.ingestion.build import dry_run

    write(pl.DataFrame(dry_run(request), schema=["estimate", "figure"], orient="row"), None, None)


def build(
    context: typer.Context,
    kb: Kb,
    store: Annotated[
        str,
        argument("STORE", "Store to rebuild: nodes, adjacency, triples, columns, text, vectors or embeddings."),
    ],
    change: RebuildSettings,
) -> None:
    """Build or rebuild one store, without the source.

    The result is a new generation of the KB. Options default to the values of the last build. The store embeddings
    (graph embeddings, for kbkit show --similar) is built only on request.
    """
    from kbkit.cli.progress import bars
    from kbkit.ingestion.build import rebuild

    started = time.perf_counter()
    with bars(context.obj.quiet) as listener:
        rebuild(kb, store, change, listener)
    summarize(context, kb, started)


def update(context: typer.Context, kb: Kb, delta: Delta) -> None:
    """Add, change and delete nodes, edges and texts.

    The result is a new generation of the KB. The source is not needed.
    """
    from kbkit.cli.progress import bars
    from kbkit.ingestion.update import update as run

    started = time.perf_counter()
    with bars(context.obj.quiet) as listener:
        run(kb, delta, listener)
    summarize(context, kb, started)


def summarize(context: typer.Context, path: Path, started: float | None) -> None:
    """Print one line about the KB, and one for each kind of row that was merged, dropped or skipped.

    Without ``started``, the time is left out.
    """
    if context.obj.quiet:
        return
    from kbkit.directory.generations import tree_bytes
    from kbkit.kb import KnowledgeBase

    with KnowledgeBase(path) as kb:
        schema, report, size = kb.schema, kb.manifest.report, tree_bytes(kb.folder)
        vectors = kb.manifest.stores["vectors"].settings if "vectors" in kb.manifest.stores else {}
    texts = sum(field.texts for field in schema.text_fields)
    took = "" if started is None else f" in {time.perf_counter() - started:.1f} s"
    lines = [
        f"{path}: {plural(schema.nodes, 'node')} of {plural(len(schema.node_types), 'type')},"
        f" {plural(schema.edges, 'edge')} of {plural(len(schema.relations), 'relation')},"
        f" {plural(texts, 'text')}; {size / 1e6:,.1f} MB{took}"
    ]
    if tokens := vectors.get("tokens"):
        cost = f", {vectors['cost']:,.4f}" if "cost" in vectors else ""
        lines.append(f"  {vectors['embedder']}: {tokens:,} tokens{cost}")
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
            lines.append(f"  {plural(int(report[key]), noun, plurals.get(noun, ''))} {happened}")
        if key == "merged_nodes" and report.get("first_kept"):
            lines.append(f"    of different values, the first was kept: {report['first_kept']}")
    if "first_bad_line" in report:
        lines.append(f"    the first: {report['first_bad_line']}")
    note(context, lines)


def directions(path: Path) -> list[str]:
    """Return the lines on the relations of a file of a graph whose edges have a direction, and those without one."""
    from kbkit.kb import KnowledgeBase

    with KnowledgeBase(path) as kb:
        known = {both: [r.name for r in kb.schema.relations if r.symmetric == both] for both in (False, True)}
    shown = {both: ", ".join(some[:_SHOWN]) + (", ..." if some[_SHOWN:] else "") for both, some in known.items()}
    lines = [f"Edges with a direction: {shown[False]} (without: --symmetric RELATION)"] if known[False] else []
    return lines + ([f"Edges without a direction: {shown[True]}"] if known[True] else [])


_SHOWN = 5
"""Relations that a line lists."""


# -- export, gc -------------------------------------------------------------------------------------------------------


def export(
    context: typer.Context,
    kb: Kb,
    format: Annotated[
        str,
        option("--format -f FORMAT", "Output format: parquet, csv, ntriples, kgtk, stark or pyg (NumPy arrays)."),
    ],
    output: Annotated[
        Path,
        option(
            "--output -o PATH",
            "Folder for parquet, csv, stark and pyg; file for ntriples (.nt, or .nq if the source is RDF) and kgtk"
            " (.tsv), compressed if it ends in .gz; - for standard output.",
        ),
    ],
    flat: Annotated[
        bool,
        option("--flat", "Write one file each of nodes, edges and texts, and a recipe that reads them."),
    ] = False,
    gzip: Annotated[bool, option("--gzip", "Compress CSV files.")] = False,
    replace: Annotated[bool, option("--replace", "Overwrite an existing export.")] = False,
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
