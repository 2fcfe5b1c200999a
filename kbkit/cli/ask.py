"""The command ask: questions in English, with a model or without."""

from __future__ import annotations

import re
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
from kbkit.cli.options import Kb, TableRendering, argument, note, option, pairs
from kbkit.errors import Command, KbError, Option, plural
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
        option(
            "--learn FILE", "Learn from questions with answers or expressions (JSON lines, CSV), then exit.", rare=True
        ),
    ] = None
    synonym: Annotated[
        list[str] | None,
        option("--synonym NAME=WORD", "Add a word for a relation or attribute, then exit.", rare=True),
    ] = None
    forget: Annotated[
        bool,
        option(
            "--forget",
            "Forget the reading chosen for QUESTION; without QUESTION, all that was taught; then exit.",
            rare=True,
        ),
    ] = False
    choices: Annotated[bool, option("--choices", "List the readings that were chosen, then exit.", rare=True)] = False

    def teach(self, context: typer.Context, kb: Path, question: str | None) -> bool:
        """Change what was taught about the questions of a KB, or list it; return whether that was asked for."""
        from kbkit.cli.progress import counting
        from kbkit.kb import KnowledgeBase
        from kbkit.questions import teaching

        if not (self.learn or self.synonym or self.forget or self.choices):
            return False
        synonyms = pairs(self.synonym, "synonym", "directed=helmed")
        with KnowledgeBase(kb) as known:
            if self.forget and question is not None:
                was_chosen = known.forget_choice(question)
                note(context, ["Forgot the reading chosen for the question" if was_chosen else "No reading was chosen"])
            elif self.forget:
                teaching.forget(known.stores)
                note(context, ["Deleted synonyms, chosen readings and learned weights"])
            for name, word in synonyms.items():
                note(context, [f"{teaching.add_synonym(known.stores, name, word)}: {word}"])
            if self.learn is not None:
                with counting(context.obj.quiet, "learn") as progress:
                    learned, kept = teaching.learn_from(known.stores, self.learn, progress)
                _print_learned(learned, is_kept=kept)
            if self.choices:
                from kbkit.display.render import write

                write(known.choices(), context.params["format"], context.params["output"])
        return True


def register(app: typer.Typer) -> None:
    """Add the commands of this file to the program."""
    add(app, ask)


def ask(
    context: typer.Context,
    kb: Kb,
    question: Annotated[str | None, argument("QUESTION", "Question in plain English.")] = None,
    explain: Annotated[bool, option("--explain", "Explain what each word was matched to.")] = False,
    alternatives: Annotated[int, option("--alternatives N", "Number of other expressions to show.")] = 0,
    pick: Annotated[
        int | None,
        option("--pick N", "Number of the reading to answer with, and to remember."),
    ] = None,
    llm: Llm = None,
    trace: Annotated[Path | None, option("--trace FILE", "File for all steps (JSON lines).")] = None,
    continue_: Annotated[Path | None, option("--continue FILE", "Continue the conversation of this trace.")] = None,
    budget: Budget = None,
    price: Price = None,
    prompt: Prompts = None,
    *,
    agent: AskAgentOptions,
    lessons: QuestionLessons,
    rendering: TableRendering,
) -> None:
    """Answer a question in plain English.

    Without a language model, the question is read as an answer expression, which is shown with a proof of each answer.
    If the reading is not certain, the closest ones are offered: the number of one answers with it, and is remembered.
    With --llm, a model explores the KB and writes a SPARQL query; --llm auto --llm MODEL@URL asks the model only if
    the confidence is below 0.5.
    """
    from kbkit.kb import KnowledgeBase

    if lessons.teach(context, kb, question):
        return
    if question is None:
        raise KbError("No question given", "Example: ", Command('ask KB "Which rivers flow through Peru?"'))
    rendering.check()
    models = _models(llm, traced=bool(trace or continue_))
    with KnowledgeBase(kb) as known:
        if not models or "auto" in (llm or ()) or pick is not None:
            result = known.ask(question)
            if pick is not None:
                result = known.choose(result, pick)
            if not models or result.is_sure:
                _write_result(context, result, explain, alternatives, rendering)
                if rendering.on_screen and (number := _picked(result)):
                    typer.echo("")
                    _write_result(context, known.choose(result, number), explain, 0, rendering)
                return
        history, before = conversation(continue_, trace)
        with opened(context, known, models, budget, price, prompt) as calls:
            assert calls is not None
            settings = agent.settings(agent.limit, sentence=agent.sentence)
            answer = explored(context, known, calls, settings, question, history, Recording(trace, before))
        prefixes = known.schema.prefixes()
    _write(context, answer, rendering, prefixes)


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
    topics = plural(learned.topics, "topic")
    typer.echo(f"95% interval of the latter: {learned.low:.3f} to {learned.high:.3f} ({topics}, none in two folds)")
    discarded = "discarded, because it does not improve the held-out questions"
    typer.echo("kept; undo with --forget" if is_kept else discarded)


def _is_dialogue() -> bool:
    """Return whether a person can be asked: input and output are a terminal."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _picked(result: AskResult) -> int | None:
    """Ask for the number of a reading, if any is offered to a person; None for no number."""
    if result.is_sure or not _is_dialogue() or not result.offered(1):
        return None
    answer: str = typer.prompt("Number of the reading (Enter: none)", default="", show_default=False, err=True)
    return int(answer) if re.fullmatch(r"\s*\d{1,9}\s*", answer) else None


def _write_result(
    context: typer.Context,
    result: AskResult,
    explain: bool,
    alternatives: int,
    rendering: TableRendering,
) -> None:
    """Print the expression, its confidence, and the answers with proofs."""
    from kbkit.cli.answers import print_proofs, print_value
    from kbkit.display.render import clean, print_table
    from kbkit.questions.reply import CLOSEST, MAX_PROOFS

    answers = result.answers
    if result.unused_choice:
        note(context, [result.unused_choice])
    if answers is None:
        raise KbError(
            result.without_reading[:1].upper() + result.without_reading[1:],
            "Search by words: ",
            Command(f"search KB {result.question!r}"),
            "; or use a language model, for example ",
            Option("llm", EXAMPLE),
            f". {VARIABLE} sets a default (",
            Command("docs llm"),
            ")",
        )
    if not rendering.on_screen:
        values = answers.value_table()
        note(context, [result.expression, *([result.certainty] if result.choice else [])])
        if not result.is_sure:
            note(context, [result.refusal])
        rendering.write(answers.nodes() if values is None else values)
        return
    if not result.is_sure:
        _write_doubts(context, result, explain, max(alternatives, CLOSEST))
        return
    typer.echo(clean(result.expression))
    typer.echo(f"{result.certainty if result.choice else f'confidence {result.confidence:.2f}'}\n")
    if explain:
        print_table(result.match_table(), sys.stdout, count=False)
        typer.echo("")
    if answers.value_origin and answers.value is not None:
        typer.echo(answers.value_text)
    elif answers.value is not None and len(answers):
        print_value(answers, rendering.cut)
    elif len(answers):
        print_proofs(answers, MAX_PROOFS)
    else:
        typer.echo("Not in this KB: the expression has no answers")
    if alternatives:
        typer.echo("")
        _print_readings(result, alternatives + 1, "Other readings")


def _write_doubts(context: typer.Context, result: AskResult, explain: bool, alternatives: int) -> None:
    """Print why the question is not answered, and the closest readings to choose from."""
    from kbkit.display.render import clean, print_table

    typer.echo(f"{clean(result.refusal)}\n")
    if explain:
        print_table(result.match_table(), sys.stdout, count=False)
        typer.echo("")
    words = ["kbkit", "ask", str(context.params["kb"]), result.question]
    if _print_readings(result, alternatives, "Did you mean") and not _is_dialogue():
        note(context, [f"Answer with the first one, and remember it: {shlex.join(words)} --pick 1"])
    words += ["--llm", EXAMPLE]
    default = f"{VARIABLE} sets a default (kbkit docs llm)."
    note(context, [f"A language model may answer it: {shlex.join(words)} (see kbkit docs agent). {default}"])


def _print_readings(result: AskResult, limit: int, heading: str) -> bool:
    """Print the readings to choose from with their numbers, but the one that is used; return whether there are any."""
    from kbkit.display.render import clean

    used = result.expression if result.is_sure else ""
    offered = [(n, one) for n, one in enumerate(result.offered(limit), 1) if one.expression != used]
    if offered:
        typer.echo(heading)
    for number, one in offered:
        lines = list(dict.fromkeys((one.text, one.expression)))
        typer.echo("\n     ".join([f"{number:3}  {clean(lines[0])}", *map(clean, lines[1:])]))
    return bool(offered)


def _write(context: typer.Context, answer: AgentAnswer, rendering: TableRendering, prefixes: Mapping[str, str]) -> None:
    """Print the query (on standard error, unless a table follows) and its rows."""
    from kbkit.display.render import clean

    if answer.sentence and rendering.on_screen:
        typer.echo(clean(answer.sentence) + "\n")
    elif answer.sentence:
        note(context, [answer.sentence])
    if answer.sparql and rendering.on_screen:
        typer.echo(clean(answer.sparql.strip()) + "\n")
    elif answer.sparql:
        note(context, [answer.sparql.strip()])
    if answer.outcome == "nothing":
        raise KbError(
            f"No query returned rows after {plural(answer.actions, 'action')}",
            "Use ",
            Option("trace", "FILE"),
            " to see the steps, or ",
            Option("max_actions"),
            " to allow more",
        )
    rendering.write(answer.rows, prefixes)
    if answer.cut:
        note(context, [f"Only the first {plural(answer.rows.height, 'row')} are shown (see --limit)"])
