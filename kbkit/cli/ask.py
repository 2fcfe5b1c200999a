"""Commands for questions and agents: ask, mcp."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.commands import add
from kbkit.cli.models import Budget, Llm, Price, Prompts, opened
from kbkit.cli.options import Format, Kb, MaxRows, Output, Timeout, Without, counted, note, on_screen, seconds
from kbkit.errors import KbError, Option

if TYPE_CHECKING:
    from kbkit.agent.agent import Answer, Turn
    from kbkit.agent.state import State
    from kbkit.agent.trace import Trace

MaxActions = Annotated[
    int,
    typer.Option(
        "--max-actions", metavar="N", help="Maximum number of actions (twice that, counting rolled-back ones)."
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    add(app, ask)
    add(app, mcp)


def ask(
    context: typer.Context,
    kb: Kb,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="Question in plain words.")],
    llm: Llm = None,
    trace: Annotated[
        Path | None, typer.Option("--trace", metavar="FILE", help="File for all steps (JSON lines).")
    ] = None,
    continue_: Annotated[
        Path | None, typer.Option("--continue", metavar="FILE", help="Continue the conversation of this trace.")
    ] = None,
    without: Without = None,
    actions: MaxActions = 15,
    limit: MaxRows = 10_000,
    timeout: Timeout = 60,
    budget: Budget = None,
    price: Price = None,
    prompt: Prompts = None,
    format: Format = None,
    output: Output = None,
) -> None:
    """Answer a question with a language model.

    The model explores the KB and writes a SPARQL query; the rows of this query are the answer.
    """
    from kbkit.agent.agent import Agent, Settings
    from kbkit.display.render import check
    from kbkit.kb import KnowledgeBase

    if not llm or list(llm) == ["none"]:
        raise KbError("No language model given", "Use ", Option("llm", "MODEL@URL"))
    check(format, output)
    settings = Settings(
        actions=actions,
        total=2 * actions,
        without=tuple(dict.fromkeys(without or ())),
        timeout=seconds(timeout),
        limit=limit,
    )
    history, before = _conversation(continue_, trace)
    with KnowledgeBase(kb) as known, opened(context, known, llm, budget, price, prompt) as calls:
        assert calls is not None
        calls.listen = None  # one call after another: the steps show the progress
        agent = Agent(known.stores, calls, settings)
        with _recorded(trace, question, history, before) as record:
            show = not context.obj.quiet and sys.stderr.isatty()

            def listen(state: State) -> None:
                if record is not None:
                    record.step(state)
                if show:
                    _print_step(state)

            answer = agent.ask(question, history, listen)
            if record is not None:
                record.answer(answer)
        _write(context, answer, format, output)


def _conversation(path: Path | None, trace: Path | None) -> tuple[list[Turn], str]:
    """Return the turns of the trace ``path``, and its text if the new trace continues the same file."""
    from kbkit.agent import trace as files

    if path is None:
        return [], ""
    history, text = files.read(path)
    same = trace is not None and trace.resolve() == path.resolve()
    return history, text if same else ""


@contextlib.contextmanager
def _recorded(path: Path | None, question: str, history: list[Turn], before: str) -> Iterator[Trace | None]:
    """Open the trace's file, if there is one; an error that ends the work is its last record."""
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
    """Print the last step on standard error."""
    from kbkit.agent.names import line
    from kbkit.display.render import clean

    step = state.trace[-1]
    typer.echo("", err=True)
    if step.thought:
        typer.echo(f"{step.number}. {line(step.thought, 2_000)}", err=True)
    action = f"{step.action}({clean(step.argument).strip()})" if step.action else "(no action)"
    typer.secho("   " + action.replace("\n", "\n   "), err=True, bold=True)
    typer.secho(f"   {line(step.folded or step.observation)}", err=True, dim=True)


def _write(context: typer.Context, answer: Answer, format: str | None, output: Path | None) -> None:
    """Print the query (on standard error, unless a table follows) and its rows."""
    from kbkit.display.render import clean, write

    if answer.sparql and on_screen(format, output):
        typer.echo(clean(answer.sparql.strip()) + "\n")
    elif answer.sparql:
        note(context, [answer.sparql.strip()])
    if answer.outcome == "nothing":
        raise KbError(
            f"No query returned rows after {counted(answer.actions, 'action')}",
            "Use ",
            Option("trace", "FILE"),
            " to see the steps, or ",
            Option("max_actions"),
            " to allow more",
        )
    write(answer.rows, format, output)
    if answer.cut:
        note(context, [f"Only the first {counted(answer.rows.height, 'row')} are shown (see --limit)"])


def mcp(kb: Kb, limit: MaxRows = 1_000, timeout: Timeout = 60) -> None:
    """Serve a KB to agents as MCP tools.

    The tools (Model Context Protocol) are read-only; the server uses standard input and output.
    """
    from kbkit.kb import KnowledgeBase
    from kbkit.mcp.server import Limits, serve

    limits = Limits(limit, seconds(timeout))
    with KnowledgeBase(kb) as known:
        serve(known, limits)
