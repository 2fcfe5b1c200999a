"""Commands on answer sets: answers; sets list, show, drop; template list, show, suggest, sample."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.commands import add, group
from kbkit.cli.engines import EngineOptions
from kbkit.cli.options import (
    Catalogues,
    Constraints,
    Kb,
    MaxAnswers,
    Params,
    Parts,
    Rendering,
    Sampling,
    Seed,
    TableRendering,
    Template,
    Timeout,
    argument,
    note,
    numbers,
    option,
    pairs,
    seconds,
)
from kbkit.errors import Command, KbError, Option, UnknownNameError, plural

if TYPE_CHECKING:
    import polars as pl

    from kbkit.answers.answer_set import AnswerSet
    from kbkit.answers.templates import Template as CatalogueTemplate

Expression = Annotated[str | None, argument("EXPR", "Answer expression (see kbkit docs answers).")]
SetName = Annotated[str, argument("NAME", "Name of a saved set.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    add(app, answers)
    template = group("List, show, suggest and sample templates.")
    add(template, list_templates, "list")
    add(template, show_template, "show")
    add(template, suggest)
    add(template, sample)
    app.add_typer(template, name="template")
    sets = group("List, show and drop saved answer sets.")
    add(sets, list_sets, "list")
    add(sets, show_set, "show")
    add(sets, drop_sets, "drop")
    app.add_typer(sets, name="sets")


# -- answers ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AnswersShown:
    """The options that say what is shown of the answers."""

    compile: Annotated[
        str | None,
        option("--compile LANGUAGE", "Print the expression compiled to sql or sparql, without running it."),
    ] = None
    why: Annotated[bool, option("--why", "Show a proof of each answer: the triples that lead to it.")] = False
    all: Annotated[
        bool, option("--all", "With --why: show all triples that lead to each answer, not one proof only.")
    ] = False
    save: Annotated[str | None, option("--save NAME", "Save the answers as @NAME.")] = None
    count: Annotated[bool, option("--count", "Print the number of answers only.")] = False
    count_paths: Annotated[bool, option("--count-paths", "Print the number of paths that lead to the answers.")] = False
    paths_by: Annotated[
        str | None,
        option("--paths-by NODE", "Count paths by start, end or the node after a number of steps (1)."),
    ] = None

    def check(self) -> None:
        """Raise the errors of the options."""
        if self.compile not in (None, "sql", "sparql"):
            raise UnknownNameError("language", self.compile or "", ("sql", "sparql"))
        if self.all and not self.why:
            raise KbError("--all is for proofs", "Use it with ", Option("why"))


def answers(
    context: typer.Context,
    kb: Kb,
    expression: Expression = None,
    template: Template = None,
    param: Params = None,
    *,
    engine: EngineOptions,
    shown: AnswersShown,
    timeout: Timeout = 60,
    own: Catalogues = None,
    rendering: TableRendering,
) -> None:
    """Find the nodes that an expression describes.

    Expressions follow relations and combine sets (see kbkit docs answers). -p SLOT=VALUE fills <SLOT> with a name or
    #key. exists(EXPR), count(EXPR), values(EXPR, ATTRIBUTE), sum(...), avg(...), min(...) and max(...) print a value.
    """
    from kbkit.answers.syntax import SavedSet
    from kbkit.display.render import clean
    from kbkit.kb import KnowledgeBase

    shown.check()
    wanted = _wanted(expression, template, own)
    limit = seconds(timeout)
    with engine.opened() as chosen, KnowledgeBase(kb) as opened:
        answer = opened.answers(wanted, chosen, limit, pairs(param, "slots", "author=Ann"))
        if shown.compile is not None:
            text = answer.sql if shown.compile == "sql" else answer.sparql
            if answer.plan.total is not None:
                text = (answer.value_sql if shown.compile == "sql" else answer.value_sparql) or ""
            typer.echo(clean(text) if sys.stdout.isatty() else text)
            return
        if shown.save is not None:
            answer.save(shown.save)
            note(context, [f"Saved {plural(len(answer), 'node')} as {SavedSet(shown.save)}"])
        if shown.count_paths:
            typer.echo(answer.paths())
        elif shown.paths_by is not None:
            by = int(shown.paths_by) if shown.paths_by.isdecimal() else shown.paths_by
            rendering.write(answer.paths_by(by))
        elif shown.count:
            typer.echo(len(answer))
        else:
            _write_answers(answer, shown, rendering)
        note(context, [f"warning: {message}" for message in answer.unknown_values()])


def _write_answers(answer: AnswerSet, shown: AnswersShown, rendering: Rendering) -> None:
    """Write the answers, their proofs, or the value of the set as a column named after the function."""
    from kbkit.display.render import TABLE_ROWS

    if shown.why and rendering.on_screen:
        print_proofs(answer, TABLE_ROWS, all=shown.all)
    elif shown.why:
        rendering.write(_proofs(answer, all=shown.all))
    elif (values := answer.value_table()) is None:
        rendering.write(answer.nodes())
    elif rendering.on_screen:
        print_value(answer, rendering.cut)
    else:
        rendering.write(values)


def print_value(answer: AnswerSet, cut: str = "") -> None:
    """Print a number by itself, and values as a table, cut as :func:`kbkit.display.render.print_table` does."""
    from kbkit.answers.totals import spoken
    from kbkit.display.render import print_table

    values = answer.value_table()
    if values is None or not isinstance(answer.value, list):
        typer.echo(spoken(answer.value))
    else:
        print_table(values, sys.stdout, cut=cut)


def _wanted(expression: str | None, template: str | None, own: list[Path] | None) -> str | CatalogueTemplate:
    """Return the expression, or the template of this id."""
    if (expression is None) == (template is None):
        problem = "No expression given" if expression is None else "Both an expression and a template given"
        raise KbError(
            problem,
            "Use one expression or ",
            Option("template", "ID"),
            "; to list templates: ",
            Command("template list"),
        )
    if template is None:
        return str(expression)
    from kbkit.answers.templates import find  # reads the catalogues

    return find(template, _own(own))


def _own(paths: list[Path] | None) -> list[CatalogueTemplate]:
    """Return the templates of the user's catalogues."""
    from kbkit.answers.templates import load

    return [template for path in paths or [] for template in load(path)]


def print_proofs(answer: AnswerSet, limit: int, *, all: bool = False) -> None:
    """Print the first answers, each with its proof, or with all its proofs."""
    from kbkit.answers.totals import spoken
    from kbkit.display.render import cell, clean

    nodes = answer.nodes()
    first = nodes.head(limit)
    proofs = answer.proofs(first["id"].to_list(), all=all)
    for why, kind, key in zip(proofs, first["type"], first["key"], strict=True):
        typer.echo(clean(f"{why.name}  ({kind}#{key})"))
        for line in why.lines():
            typer.echo(clean(f"  {line}"))
    if answer.plan.total is not None:
        value = answer.value
        shown_value = cell(value) if isinstance(value, (list, float)) else spoken(value)
        origin = f", {answer.value_origin}" if answer.value_origin else ""
        typer.echo(clean(f"{answer.expression} = {shown_value}{origin}"))
    shown = f"{limit:,} of " if nodes.height > limit else ""
    typer.echo(f"{shown}{plural(nodes.height, 'answer')}")


def _proofs(answer: AnswerSet, *, all: bool) -> pl.DataFrame:
    """Return the answers with their proofs as lists of lines."""
    import polars as pl

    nodes = answer.nodes()
    proofs = [why.lines() for why in answer.proofs(nodes["id"].to_list(), all=all)]
    return nodes.with_columns(pl.Series("why", proofs, dtype=pl.List(pl.String)))


# -- template ---------------------------------------------------------------------------------------------------------


def list_templates(
    kb: Annotated[Path | None, argument("KB", "KB to check the templates against (default: none).")] = None,
    own: Catalogues = None,
    part: Parts = None,
    *,
    rendering: Rendering,
) -> None:
    """List templates: expressions with slots.

    With a KB, the list shows which templates fit it.
    """
    from kbkit.answers import templates as catalogue
    from kbkit.kb import KnowledgeBase

    schema = None
    if kb is not None:
        with KnowledgeBase(kb) as opened:
            schema = opened.schema
    frame = catalogue.listed([*_own(own), *catalogue.shipped()], schema, part or [])
    short = frame.drop("question", "problem", strict=False)
    rendering.write(short if rendering.on_screen else frame)


def show_template(
    template: Annotated[str, argument("ID", "Id of a template.")],
    own: Catalogues = None,
    *,
    rendering: Rendering,
) -> None:
    """Show one template."""
    from kbkit.answers import templates as catalogue

    rendering.write(catalogue.details(catalogue.find(template, _own(own))))


def suggest(
    kb: Kb,
    limit: Annotated[int, option("--limit -n N", "Maximum number of templates.", min=1)] = 20,
    *,
    rendering: Rendering,
) -> None:
    """Suggest templates for a KB, from its schema.

    -o FILE.toml writes a catalogue.
    """
    from kbkit.answers import templates as catalogue
    from kbkit.kb import KnowledgeBase

    with KnowledgeBase(kb) as opened:
        frame = opened.suggest_templates(limit)
    if rendering.output is not None and rendering.output.suffix == ".toml":
        catalogue.write(frame, rendering.output, f"Templates for {kb.name}")
    else:
        rendering.write(frame.select("expression", "groundings") if rendering.on_screen else frame)


def sample(
    context: typer.Context,
    kb: Kb,
    expression: Expression = None,
    template: Template = None,
    limit: Annotated[int, option("--limit -n N", "Number of groundings to sample.")] = 10,
    seed: Seed = 0,
    min_answers: Annotated[
        int | None,
        option("--min-answers N", "Minimum number of answers per query (default: 1, or 2 for set operations)."),
    ] = None,
    max_answers: MaxAnswers = 20,
    sampling: Sampling = "uniform",
    part: Parts = None,
    constraint: Constraints = None,
    own: Catalogues = None,
    repeat_nodes: Annotated[
        bool, option("--repeat-nodes", "Allow several slots of a query to name the same node.")
    ] = False,
    *,
    rendering: Rendering,
) -> None:
    """Sample values for the slots of a template.

    The number of answers of each query is from --min-answers to --max-answers.
    """
    from kbkit.kb import KnowledgeBase

    wanted = _wanted(expression, template, own)
    with KnowledgeBase(kb) as opened:
        constraints = numbers(constraint, "constraint", "NAME=10")
        bounds = (min_answers, max_answers)
        frame = opened.sample(
            wanted, limit, seed, *bounds, sampling, part or [], constraints, distinct=not repeat_nodes
        )
    if frame.height < limit:
        note(context, [f"Only {plural(frame.height, 'grounding')} qualify"])
    rendering.write(frame.select("expression", "answers") if rendering.on_screen else frame)


# -- sets -------------------------------------------------------------------------------------------------------------


def list_sets(kb: Kb, rendering: Rendering) -> None:
    """List the saved sets of a KB."""
    from kbkit.kb import KnowledgeBase

    with KnowledgeBase(kb) as opened:
        frame = opened.sets()
    rendering.write(frame)


def show_set(kb: Kb, name: SetName, rendering: TableRendering) -> None:
    """List the nodes of a saved set.

    Nodes that are missing in the live generation are omitted.
    """
    from kbkit.answers.syntax import SavedSet
    from kbkit.kb import KnowledgeBase

    with KnowledgeBase(kb) as opened:
        rendering.write(opened.answers(str(SavedSet(name))).nodes())


def drop_sets(kb: Kb, names: Annotated[list[str], argument("NAME", "Names of saved sets.")]) -> None:
    """Delete saved sets."""
    from kbkit.kb import KnowledgeBase

    with KnowledgeBase(kb) as opened:
        for name in names:
            opened.workspace.members(name)  # raises before any set is dropped
        for name in names:
            opened.workspace.drop(name)
