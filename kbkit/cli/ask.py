"""The command ask: questions in English, with a model or without."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kbkit.cli.agent import AskAgentOptions, Recording, conversation, explored
from kbkit.cli.commands import add
from kbkit.cli.models import Budget, Llm, Price, Prompts, default_models, opened
from kbkit.cli.options import (
    RARE,
    Format,
    Kb,
    Output,
    Wrap,
    counted,
    cut,
    note,
    on_screen,
    pairs,
)
from kbkit.errors import Command, KbError, Option
from kbkit.llm.client import EXAMPLE, VARIABLE, missing_model

if TYPE_CHECKING:
    from kbkit.agent.agent import AgentAnswer
    from kbkit.questions.ask import AskResult
    from kbkit.questions.taught import Learned


@dataclass(frozen=True)
class QuestionLessons:
    """What is taught about the questions of a KB."""

    learn: Annotated[
        Path | None,
        typer.Option(
            "--learn",
            metavar="FILE",
            help="Learn from questions with answers or expressions (JSON lines, CSV), then exit.",
            rich_help_panel=RARE,
        ),
    ] = None
    synonym: Annotated[
        list[str] | None,
        typer.Option(
            "--synonym",
            metavar="NAME=WORD",
            help="Add a word for a relation or attribute, then exit.",
            rich_help_panel=RARE,
        ),
    ] = None
    forget: Annotated[
        bool, typer.Option("--forget", help="Delete synonyms and what was learned, then exit.", rich_help_panel=RARE)
    ] = False

    def teach(self, context: typer.Context, kb: Path) -> bool:
        """Change what was taught about the questions of a KB; return whether that was asked for."""
        from kbkit.cli.progress import counting
        from kbkit.kb import KnowledgeBase
        from kbkit.questions import teaching

        if not (self.learn or self.synonym or self.forget):
            return False
        synonyms = pairs(self.synonym, "synonym", "directed=helmed")
        with KnowledgeBase(kb) as known:
            if self.forget:
                teaching.forget(known.stores)
                note(context, ["Deleted synonyms and learned weights"])
            for name, word in synonyms.items():
                note(context, [f"{teaching.add_synonym(known.stores, name, word)}: {word}"])
            if self.learn is not None:
                with counting(context.obj.quiet, "learn") as progress:
                    learned, kept = teaching.learn_from(known.stores, self.learn, progress)
                _print_learned(learned, is_kept=kept)
        return True


def register(app: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    add(app, ask)


def ask(
    context: typer.Context,
    kb: Kb,
    question: Annotated[str | None, typer.Argument(metavar="QUESTION", help="Question in plain English.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Explain what each word was matched to.")] = False,
    alternatives: Annotated[
        int, typer.Option("--alternatives", metavar="N", help="Number of other expressions to show.")
    ] = 0,
    llm: Llm = None,
    trace: Annotated[
        Path | None, typer.Option("--trace", metavar="FILE", help="File for all steps (JSON lines).")
    ] = None,
    continue_: Annotated[
        Path | None, typer.Option("--continue", metavar="FILE", help="Continue the conversation of this trace.")
    ] = None,
    budget: Budget = None,
    price: Price = None,
    prompt: Prompts = None,
    *,
    agent: AskAgentOptions,
    lessons: QuestionLessons,
    wrap: Wrap = False,
    format: Format = None,
    output: Output = None,
) -> None:
    """Answer a question in plain English.

    Without a language model, the question is read as an answer expression, which is shown with a proof of each answer.
    With --llm, a model explores the KB and writes a SPARQL query; --llm auto --llm MODEL@URL asks the model only if
    the confidence is below 0.5.
    """
    from kbkit.display.render import check
    from kbkit.kb import KnowledgeBase

    if lessons.teach(context, kb):
        return
    if question is None:
        raise KbError("No question given", "Example: ", Command('ask KB "Which rivers flow through Peru?"'))
    check(format, output)
    models = _models(llm, traced=bool(trace or continue_))
    with KnowledgeBase(kb) as known:
        if not models or "auto" in (llm or ()):
            result = known.ask(question)
            if not models or result.is_sure:
                _write_result(context, result, explain, alternatives, format, output, cut(wrap))
                return
        history, before = conversation(continue_, trace)
        with opened(context, known, models, budget, price, prompt) as calls:
            assert calls is not None
            settings = agent.settings(agent.limit, sentence=agent.sentence)
            answer = explored(context, known, calls, settings, question, history, Recording(trace, before))
        prefixes = known.schema.prefixes()
    _write(context, answer, format, output, cut(wrap), prefixes)


def _models(llm: Sequence[str] | None, *, traced: bool) -> list[str]:
    """Return the models that ``--llm`` names, ``none`` and ``auto`` aside; a trace is of a model's work."""
    models = [name for name in llm or () if name not in ("none", "auto")]
    if llm == ["auto"]:
        models = default_models()
    if not models and "auto" in (llm or ()):
        raise missing_model("Option --llm auto needs a language model")
    if not models and traced:
        raise missing_model("A trace needs a language model")
    return models


def _print_learned(learned: Learned, *, is_kept: bool) -> None:
    typer.echo(
        f"held-out questions with exactly the right answers: {learned.before:.3f} before, {learned.after:.3f} after"
    )
    topics = counted(learned.topics, "topic")
    typer.echo(f"95% interval of the latter: {learned.low:.3f} to {learned.high:.3f} ({topics}, none in two folds)")
    discarded = "discarded, because it does not improve the held-out questions"
    typer.echo("kept; undo with --forget" if is_kept else discarded)


def _write_result(
    context: typer.Context,
    result: AskResult,
    explain: bool,
    alternatives: int,
    format: str | None,
    output: Path | None,
    cut: str,
) -> None:
    """Print the expression, its confidence, and the answers with proofs."""
    from kbkit.cli.answers import print_proofs, print_value
    from kbkit.display.render import clean, print_table, write
    from kbkit.questions.reply import CLOSEST, MAX_PROOFS

    answers = result.answers
    if answers is None:
        raise KbError(
            "The question names nothing in this KB",
            "Search by words: ",
            Command(f"search KB {result.question!r}"),
            "; or use a language model, for example ",
            Option("llm", EXAMPLE),
            f". {VARIABLE} sets a default (",
            Command("docs llm"),
            ")",
        )
    if not on_screen(format, output):
        values = answers.value_table()
        note(context, [result.expression])
        if not result.is_sure:
            note(context, [result.refusal])
        write(answers.nodes() if values is None else values, format, output)
        return
    if not result.is_sure:
        _write_doubts(context, result, explain, max(alternatives, CLOSEST))
        return
    typer.echo(clean(result.expression))
    typer.echo(f"confidence {result.confidence:.2f}\n")
    if explain:
        print_table(result.match_table(), sys.stdout, count=False)
        typer.echo("")
    if answers.value is not None and len(answers):
        print_value(answers, cut)
    elif len(answers):
        print_proofs(answers, MAX_PROOFS)
    else:
        typer.echo("Not in this KB: the expression has no answers")
    if alternatives:
        typer.echo("")
        print_table(result.alternatives.head(alternatives), sys.stdout, count=False)


def _write_doubts(context: typer.Context, result: AskResult, explain: bool, alternatives: int) -> None:
    """Print why the question is not answered, and the closest readings to choose from."""
    from kbkit.display.render import clean, print_table

    typer.echo(f"{clean(result.refusal)}\n")
    if explain:
        print_table(result.match_table(), sys.stdout, count=False)
        typer.echo("")
    typer.echo("Did you mean")
    closest = result.closest(alternatives)
    for expression in closest:
        typer.echo(f"  {clean(expression)}")
    kb = shlex.quote(str(context.params["kb"]))
    words = ["kbkit", "ask", str(context.params["kb"]), result.question, "--llm", EXAMPLE]
    default = f"{VARIABLE} sets a default (kbkit docs llm)."
    note(context, [f"Answers of a reading: kbkit answers {kb} {shlex.quote(closest[0])}"])
    note(context, [f"A language model may answer it: {shlex.join(words)} (see kbkit docs agent). {default}"])


def _write(
    context: typer.Context,
    answer: AgentAnswer,
    format: str | None,
    output: Path | None,
    cut: str,
    prefixes: Mapping[str, str],
) -> None:
    """Print the query (on standard error, unless a table follows) and its rows."""
    from kbkit.display.render import clean, write

    if answer.sentence and on_screen(format, output):
        typer.echo(clean(answer.sentence) + "\n")
    elif answer.sentence:
        note(context, [answer.sentence])
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
    write(answer.rows, format, output, cut=cut, prefixes=prefixes)
    if answer.cut:
        note(context, [f"Only the first {counted(answer.rows.height, 'row')} are shown (see --limit)"])
