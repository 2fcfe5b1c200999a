"""Commands that decide which nodes are answers: answers, templates, sample, sets."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.options import Format, Kb, Output, Timeout, on_screen, pairs
from kbkit.errors import KbError, plural

if TYPE_CHECKING:
    import polars as pl

    from kbkit.answers.answer_set import AnswerSet
    from kbkit.answers.catalogue import Template
    from kbkit.answers.engines import Engine

Values = Annotated[
    list[str] | None, typer.Option("-p", "--param", metavar="SLOT=VALUE", help="What a <slot> is: a name, or #key.")
]
Chosen = Annotated[
    str | None, typer.Option("--template", "-t", metavar="ID", help="A template in the place of an expression.")
]
Own = Annotated[list[Path] | None, typer.Option("--from", metavar="FILE", help="A catalogue of your own, TOML.")]
Parts = Annotated[
    list[str] | None, typer.Option("--part", metavar="EXPR", help="What a part ({A}) of a template may be; repeat it.")
]
Text = Annotated[str | None, typer.Argument(metavar="[EXPR]", help="An answer expression.")]

sets_app = typer.Typer(help="Answer sets saved in a KB's workspace.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add this file's commands to the program."""
    app.command()(answers)
    app.command()(templates)
    app.command()(sample)
    sets_app.command("list")(sets_list)
    sets_app.command("show")(sets_show)
    sets_app.command("drop")(sets_drop)
    app.add_typer(sets_app, name="sets")


def answers(
    kb: Kb,
    expression: Text = None,
    template: Chosen = None,
    param: Values = None,
    engine: Annotated[
        str, typer.Option("--engine", "-e", help="walk, sql, sparql or spark; all give the same.")
    ] = "walk",
    parquet: Annotated[
        str | None, typer.Option("--parquet", metavar="PATH", help="The Parquet export that --engine spark reads.")
    ] = None,
    spark_master: Annotated[str, typer.Option("--spark-master", metavar="URL", help="Where Spark runs.")] = "local[*]",
    endpoint: Annotated[
        str | None, typer.Option("--endpoint", metavar="URL", help="Ask a SPARQL endpoint that holds the KB's triples.")
    ] = None,
    print_: Annotated[
        str | None, typer.Option("--print", help="Print the compiled sql or sparql; run nothing.")
    ] = None,
    why: Annotated[bool, typer.Option("--why", help="Show the triples that make each an answer.")] = False,
    save: Annotated[str | None, typer.Option("--save", metavar="NAME", help="Keep the set as @NAME.")] = None,
    count: Annotated[bool, typer.Option("--count", help="Print only how many there are.")] = False,
    timeout: Timeout = 60,
    own: Own = None,
    format: Format = None,
    output: Output = None,
) -> None:
    """Which nodes are the answer, and why: follows relations, joins sets. `kbkit docs answers` has the notation."""
    from kbkit.answers.syntax import Saved
    from kbkit.display.render import write
    from kbkit.errors import UnknownNameError
    from kbkit.kb import KnowledgeBase

    if print_ not in (None, "sql", "sparql"):
        raise UnknownNameError("language", print_ or "", ("sql", "sparql"))
    wanted = _wanted(expression, template, own)
    with contextlib.ExitStack() as stack:
        chosen = stack.enter_context(_engine(engine, parquet, spark_master, endpoint))
        opened = stack.enter_context(KnowledgeBase(kb))
        found = opened.answers(wanted, chosen, timeout or None, pairs(param or [], "-p"))
        if print_ is not None:
            typer.echo(found.sql if print_ == "sql" else found.sparql)
            return
        if save is not None:
            found.save(save)
            typer.echo(f"saved {len(found):,} nodes as {Saved(save)}", err=True)
        if count:
            typer.echo(len(found))
        elif why and on_screen(format, output):
            _print_proofs(found)
        else:
            write(_proofs(found) if why else found.nodes(), format, output)


@contextlib.contextmanager
def _engine(name: str, parquet: str | None, master: str, url: str | None) -> Iterator[str | Engine]:
    """The engine that the options name."""
    if url is not None:
        if name != "walk" or parquet is not None:
            raise KbError(f"--endpoint {url} is an engine of its own", "leave --engine and --parquet out")
        from kbkit.answers.engines.sparql_endpoint import Endpoint

        yield Endpoint(url)
    elif name == "spark":
        if parquet is None:
            hint = "--parquet PATH names it; kbkit export DIR --to parquet writes it"
            raise KbError("--engine spark reads a Parquet export", hint)
        from kbkit.answers.engines.spark import Spark

        with Spark(parquet, master) as spark:
            yield spark
    elif parquet is not None:
        raise KbError("--parquet goes with --engine spark")
    else:
        yield name


def _wanted(expression: str | None, template: str | None, own: list[Path] | None) -> str | Template:
    from kbkit.answers.catalogue import find

    if (expression is None) == (template is None):
        raise KbError("give one expression, or a template with -t", "kbkit templates lists them")
    if expression is not None:
        return expression
    return find(str(template), _own(own))


def _own(paths: list[Path] | None) -> list[Template]:
    """The templates of the user's catalogues."""
    from kbkit.answers.catalogue import load

    return [template for path in paths or [] for template in load(path)]


def _print_proofs(found: AnswerSet) -> None:
    """Each answer with its proof, as an indented page."""
    from kbkit.display.render import TABLE_ROWS, clean

    nodes = found.nodes()
    first = nodes.head(TABLE_ROWS)
    proofs = found.proofs(first["id"].to_list())
    for why, kind, key in zip(proofs, first["type"], first["key"], strict=True):
        typer.echo(clean(f"{why.name}  ({kind}#{key})"))
        for line in why.lines():
            typer.echo(clean(f"  {line}"))
    shown = f"{min(nodes.height, TABLE_ROWS):,} of " if nodes.height > TABLE_ROWS else ""
    typer.echo(shown + plural(nodes.height, "answer"))


def _proofs(found: AnswerSet) -> pl.DataFrame:
    """Answers with their proofs as lists of lines."""
    import polars as pl

    nodes = found.nodes()
    proofs = [why.lines() for why in found.proofs(nodes["id"].to_list())]
    return nodes.with_columns(pl.Series("why", proofs, dtype=pl.List(pl.String)))


def templates(
    what: Annotated[
        str | None, typer.Argument(metavar="[suggest]", help="suggest: make templates from the schema.")
    ] = None,
    kb: Annotated[Path | None, typer.Argument(metavar="[DIR]", help="Say which fit this KB.")] = None,
    template: Annotated[
        str | None, typer.Option("--template", "-t", metavar="ID", help="All about one template.")
    ] = None,
    own: Own = None,
    part: Parts = None,
    limit: Annotated[int, typer.Option("-n", help="Templates to suggest.")] = 20,
    format: Format = None,
    output: Output = None,
) -> None:
    """List templates (expressions with slots); with a KB, say which fit; `templates suggest DIR` makes some for it."""
    from kbkit.answers import catalogue
    from kbkit.display.render import write
    from kbkit.kb import KnowledgeBase

    if what == "suggest":
        if kb is None:
            raise KbError("suggest templates for which KB?", "kbkit templates suggest DIR")
        if limit < 1:
            raise KbError(f"{limit} templates", "ask for 1 or more")
        with KnowledgeBase(kb) as opened:
            frame = opened.suggest_templates(limit)
        if output is not None and output.suffix == ".toml":
            catalogue.write(frame, output, f"Templates for {kb.name}")
        else:
            write(frame.select("expression", "groundings") if on_screen(format, output) else frame, format, output)
        return
    if kb is not None:
        raise KbError(
            f"{what!r} is nothing to do with templates", "kbkit templates [DIR], or kbkit templates suggest DIR"
        )
    mine = _own(own)
    if template is not None:
        write(catalogue.details(catalogue.find(template, mine)), format, output)
        return
    schema = None
    if what is not None:
        with KnowledgeBase(what) as opened:
            schema = opened.schema
    frame = catalogue.listed([*mine, *catalogue.shipped()], schema, part or [])
    short = frame.drop("question", "problem", strict=False)
    write(short if on_screen(format, output) else frame, format, output)


def sample(
    kb: Kb,
    expression: Text = None,
    template: Chosen = None,
    number: Annotated[int, typer.Option("-n", help="Groundings to draw.")] = 10,
    seed: Annotated[int, typer.Option("--seed", help="The same seed draws the same.")] = 0,
    least: Annotated[
        int | None, typer.Option("--min", help="Answers at least; by default 1, for QUEST's shapes 2.")
    ] = None,
    limit: Annotated[int, typer.Option("--max", help="Answers at most.")] = 20,
    weight: Annotated[
        str, typer.Option("--weight", help="uniform, or popular: towards nodes of high degree.")
    ] = "uniform",
    part: Parts = None,
    constraint: Annotated[
        list[str] | None, typer.Option("--constraint", metavar="NAME=VALUE", help="A constraint of QUEST's shapes.")
    ] = None,
    own: Own = None,
    format: Format = None,
    output: Output = None,
) -> None:
    """Draw groundings of a template: values for its slots whose answers are neither too few nor too many."""
    from kbkit.display.render import write
    from kbkit.kb import KnowledgeBase

    wanted = _wanted(expression, template, own)
    with KnowledgeBase(kb) as opened:
        constraints = {name: _number(name, value) for name, value in pairs(constraint or [], "--constraint").items()}
        frame = opened.sample(wanted, number, seed, least, limit, weight, part or [], constraints)
    if frame.height < number:
        typer.echo(f"only {frame.height:,} groundings qualify", err=True)
    write(frame.select("expression", "answers") if on_screen(format, output) else frame, format, output)


def _number(name: str, value: str) -> float:
    try:
        return int(value) if value.lstrip("+-").isdecimal() else float(value)
    except ValueError:
        raise KbError(f"--constraint {name}={value} is no number", f"e.g. --constraint {name}=10") from None


def sets_list(kb: Kb, format: Format = None, output: Output = None) -> None:
    """List the saved sets: name, type, how many, when, in which generation, and the expression."""
    from kbkit.display.render import write
    from kbkit.kb import KnowledgeBase

    with KnowledgeBase(kb) as opened:
        frame = opened.sets()
    write(frame, format, output)


def sets_show(
    kb: Kb,
    name: Annotated[str, typer.Argument(help="A saved set.")],
    format: Format = None,
    output: Output = None,
) -> None:
    """The members of a saved set that the live generation has."""
    from kbkit.answers.syntax import Saved
    from kbkit.display.render import write
    from kbkit.kb import KnowledgeBase

    with KnowledgeBase(kb) as opened:
        write(opened.answers(str(Saved(name))).nodes(), format, output)


def sets_drop(kb: Kb, names: Annotated[list[str], typer.Argument(help="Saved sets.")]) -> None:
    """Remove saved sets."""
    from kbkit.kb import KnowledgeBase

    with KnowledgeBase(kb) as opened:
        for name in names:
            opened.workspace.members(name)  # all of them are there, or none is dropped
        for name in names:
            opened.workspace.drop(name)
