"""Commands by which a model explores a KB: ask, mcp."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.models import Budget, Llm, Price, PromptFiles, opened
from kbkit.cli.options import Format, Kb, Output, Timeout, on_screen
from kbkit.errors import KbError, plural

if TYPE_CHECKING:
    from kbkit.agent.agent import Answer, Turn
    from kbkit.agent.state import State
    from kbkit.agent.trace import Trace

MaxRows = Annotated[int, typer.Option("--max-rows", metavar="N", help="Rows that are taken of a query, at most.")]


def register(app: typer.Typer) -> None:
    """Add this file's commands to the program."""
    app.command()(ask)
    app.command()(mcp)


def ask(
    context: typer.Context,
    kb: Kb,
    question: Annotated[str, typer.Argument(help="What is to be answered, in plain words.")],
    llm: Llm = None,
    trace: Annotated[
        Path | None, typer.Option("--trace", metavar="FILE", help="Keep all steps, as JSON lines.")
    ] = None,
    go_on: Annotated[
        Path | None, typer.Option("--continue", metavar="FILE", help="Go on from the conversation of this trace.")
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option("--without", metavar="ACTION", help="Not search, entry or examples; repeat it.")
    ] = None,
    actions: Annotated[int, typer.Option(help="Actions at most; twice as many with those taken back.")] = 15,
    max_rows: MaxRows = 10_000,
    timeout: Timeout = 60,
    budget: Budget = None,
    price: Price = None,
    prompt: PromptFiles = None,
    format: Format = None,
    output: Output = None,
) -> None:
    """Answer a question with SPARQL: a model explores the KB, and its last query's rows are the answer."""
    from kbkit.agent.agent import Agent, Settings
    from kbkit.display.render import check
    from kbkit.kb import KnowledgeBase

    if not llm or list(llm) == ["none"]:
        raise KbError("no language model is named", "--llm MODEL@URL names one")
    check(format, output)
    settings = Settings(
        actions=actions,
        total=2 * actions,
        without=tuple(dict.fromkeys(without or ())),
        timeout=_seconds(timeout),
        limit=max_rows,
    )
    history, before = _conversation(go_on, trace)
    with KnowledgeBase(kb) as known, opened(context, known, llm, budget, price, prompt) as calls:
        assert calls is not None
        calls.listen = None  # one call after another: the steps say how far it is
        agent = Agent(known.stores, calls, settings)
        with _kept(trace, question, history, before) as kept:
            show = not context.obj.quiet and sys.stderr.isatty()

            def listen(state: State) -> None:
                if kept is not None:
                    kept.step(state)
                if show:
                    _print_step(state)

            answer = agent.ask(question, history, listen)
            if kept is not None:
                kept.answer(answer)
        _write(answer, format, output, quiet=context.obj.quiet)


def _seconds(timeout: float) -> float | None:
    if timeout < 0:
        raise KbError(f"--timeout {timeout:g} is negative", "give seconds, or 0 for never")
    return timeout or None


def _conversation(go_on: Path | None, trace: Path | None) -> tuple[list[Turn], str]:
    """The turns before, and what stays in the trace's file: all of it, where that is the file that is continued."""
    from kbkit.agent import trace as files

    if go_on is None:
        return [], ""
    history, text = files.read(go_on)
    same = trace is not None and trace.resolve() == go_on.resolve()
    return history, text if same else ""


@contextlib.contextmanager
def _kept(path: Path | None, question: str, history: list[Turn], before: str) -> Iterator[Trace | None]:
    """The trace's file, if one is wanted; what ends the work early is its last record."""
    from kbkit.agent.state import State
    from kbkit.agent.trace import Trace

    if path is None:
        yield None
        return
    trace = Trace(path, question, history, before)
    trace.step(State())
    try:
        yield trace
    except KbError as error:
        trace.error(str(error))
        raise
    except KeyboardInterrupt:
        trace.error("stopped")
        raise


def _print_step(state: State) -> None:
    """The step that was just taken, on standard error."""
    from kbkit.agent.names import line
    from kbkit.display.render import clean

    step = state.trace[-1]
    typer.echo("", err=True)
    if step.thought:
        typer.echo(f"{step.number}. {line(step.thought, 2_000)}", err=True)
    said = f"{step.action}({clean(step.argument).strip()})" if step.action else "(no action)"
    typer.secho("   " + said.replace("\n", "\n   "), err=True, bold=True)
    typer.secho(f"   {line(step.folded or step.observation)}", err=True, dim=True)


def _write(answer: Answer, format: str | None, output: Path | None, *, quiet: bool) -> None:
    """The query (beside the rows where a person reads, else on standard error), and its rows."""
    from kbkit.display.render import clean, write

    on_page = on_screen(format, output)
    if answer.sparql and (on_page or not quiet):
        typer.echo(clean(answer.sparql.strip()) + "\n" * on_page, err=not on_page)
    if answer.outcome == "nothing":
        steps = plural(answer.actions, "action")
        raise KbError(f"no query gave rows in {steps}", "--trace FILE keeps what was tried; --actions allows more")
    write(answer.rows, format, output)
    if answer.cut and not quiet:
        typer.echo(f"these are the first {answer.rows.height:,} rows; --max-rows allows more", err=True)


def mcp(
    kb: Kb,
    max_rows: MaxRows = 1_000,
    timeout: Timeout = 60,
) -> None:
    """Serve a KB to agents over standard input and output (Model Context Protocol): read-only tools."""
    from kbkit.kb import KnowledgeBase
    from kbkit.mcp.server import Limits, serve

    limits = Limits(max_rows, _seconds(timeout))
    with KnowledgeBase(kb) as known:
        serve(known, limits)
