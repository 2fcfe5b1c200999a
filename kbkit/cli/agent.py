"""The agent of the commands ``ask`` and ``spinach run``: its options, its steps on the screen, and its trace."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from kbkit.cli.options import MaxRows, Timeout, Without, option, seconds
from kbkit.errors import KbError

if TYPE_CHECKING:
    from kbkit.agent.agent import AgentAnswer, AgentSettings, EarlierQuestion
    from kbkit.agent.state import AgentState
    from kbkit.agent.trace import Trace
    from kbkit.kb import KnowledgeBase
    from kbkit.llm.account import Account
    from kbkit.llm.calls import Calls


@dataclass(frozen=True)
class AgentOptions:
    """How an agent explores: the options that ``ask`` and ``spinach run`` share."""

    without: Without = None
    actions: Annotated[
        int,
        option("--max-actions N", "Maximum number of actions (twice that, counting rolled-back ones).", rare=True),
    ] = 15
    full_history: Annotated[
        bool,
        option(
            "--full-history",
            "Show all observations to the model in full (default: the last 6, older ones folded).",
            rare=True,
        ),
    ] = False
    timeout: Timeout = 60

    def settings(self, limit: int, total: int | None = None, *, sentence: bool = False) -> AgentSettings:
        """Return the settings of the agent; ``total`` is twice the number of actions by default."""
        from kbkit.agent.agent import AgentSettings

        return AgentSettings(
            self.actions,
            total or 2 * self.actions,
            tuple(dict.fromkeys(self.without or ())),
            timeout=seconds(self.timeout),
            limit=limit,
            fold=0 if self.full_history else AgentSettings.fold,
            sentence=sentence,
        )


@dataclass(frozen=True)
class AskAgentOptions(AgentOptions):
    """How an agent explores for ``ask``, and what it answers."""

    sentence: Annotated[
        bool,
        option("--sentence/--no-sentence", "With --llm, also answer in a sentence.", rare=True),
    ] = True
    limit: MaxRows = 10_000


class Recording(NamedTuple):
    """The file of a trace, and the text that it begins with."""

    path: Path | None
    before: str


def explored(
    context: typer.Context,
    known: KnowledgeBase,
    calls: Calls,
    settings: AgentSettings,
    question: str,
    history: list[EarlierQuestion],
    recording: Recording,
) -> AgentAnswer:
    """Answer a question with a language model, showing and recording its steps."""
    from kbkit.agent.agent import Agent

    calls.listen = None  # one call after another: the steps show the progress
    agent = Agent(known.stores, calls, settings)
    limits = asdict(settings)
    with _recorded(recording.path, question, history, recording.before, limits, calls.account) as record:
        show = not context.obj.quiet and sys.stderr.isatty()

        def listen(state: AgentState) -> None:
            if record is not None:
                record.step(state)
            if show:
                _print_step(state)

        answer = agent.ask(question, history, listen)
        if record is not None:
            record.answer(answer)
    return answer


def conversation(path: Path | None, trace: Path | None) -> tuple[list[EarlierQuestion], str]:
    """Return the turns of the trace ``path``, and its text if the new trace continues the same file."""
    from kbkit.agent import trace as files

    if path is None:
        return [], ""
    history, text = files.read(path)
    same = trace is not None and trace.resolve() == path.resolve()
    return history, text if same else ""


@contextlib.contextmanager
def _recorded(
    path: Path | None,
    question: str,
    history: list[EarlierQuestion],
    before: str,
    limits: Mapping[str, Any] | None = None,
    account: Account | None = None,
) -> Iterator[Trace | None]:
    """Open the trace's file, if there is one; an error that ends the work is its last record."""
    from kbkit.agent.state import AgentState
    from kbkit.agent.trace import Trace

    if path is None:
        yield None
        return
    trace = Trace(path, question, history, before, limits, account)
    trace.step(AgentState())
    try:
        yield trace
    except KbError as error:
        trace.error(str(error))
        raise
    except KeyboardInterrupt:
        trace.error("stopped")
        raise


def _print_step(state: AgentState) -> None:
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
