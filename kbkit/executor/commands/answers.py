"""Dot-commands that answer questions, explain results and set search options: ask, why, explain, search."""

from __future__ import annotations

from typing import Any

from kbkit.errors import KbError
from kbkit.executor import languages
from kbkit.executor.commands.registry import command, parse_choice, parse_number, split_words
from kbkit.executor.executor import Executor
from kbkit.executor.languages import COMMAND
from kbkit.executor.outcomes import Last, StatementOutcome
from kbkit.executor.vocabulary import Argument


@command("QUESTION", Argument.QUESTION)
def ask(executor: Executor, argument: str) -> StatementOutcome:
    """Answer a question in plain English.

    The answer expression that it is read as becomes the last result: `.why` shows the proof of an answer. If the
    reading is not certain, the question is not answered; the number of one of the closest readings then answers with
    it, and is remembered. A line that has the form of a question needs no `.ask`.
    """
    if not argument.strip():
        raise KbError("No question given", "Example: .ask Which rivers flow through Peru?")
    return executor.asked(argument.strip())


@command("[N] [all]", Argument.NUMBER)
def why(executor: Executor, argument: str) -> StatementOutcome:
    """Explain why row N is an answer or a hit (default: 1).

    For an answer: the edges that prove it, the filters it passed and the sets it was checked against; with "all", the
    edges of all its proofs. For a search hit: the parts of its score.
    """
    last = executor.result()
    words = argument.split()
    show_all = words[-1:] == ["all"]
    number = parse_number(" ".join(words[: len(words) - show_all]) or "1", "row")
    if number > last.frame.height:
        raise KbError(f"Invalid row number {number:,}", f"The last result has {last.frame.height:,} rows")
    if last.answers is not None:
        return StatementOutcome(COMMAND, str(last.answers.proofs([last.frame["id"][number - 1]], all=show_all)[0]))
    if last.language == "search":
        return StatementOutcome(COMMAND, _scores(executor, last, number))
    raise KbError(
        "Rows of SQL and SPARQL have no proof", "Use an answer expression, e.g. country -> [borders] -> country"
    )


def _scores(executor: Executor, last: Last, number: int | None = None) -> str:
    """Return the parts of a hit's score (default: all hits'), and for relational search the linked entities."""
    from kbkit.display.pages import explained

    frame = executor.kb.search(last.statement, explain=True, **last.options)
    linked = executor.kb.linked(last.statement) if last.options.get("mode") == "relational" else None
    return "\n".join(explained(frame if number is None else frame[number - 1 : number], linked))


@command("[STATEMENT]", Argument.STATEMENT)
def explain(executor: Executor, argument: str) -> StatementOutcome:
    """Show how a statement is run (default: the last one).

    For SQL: the query plan. For SPARQL: the rewritten query. For an answer expression: the equivalent SQL and SPARQL.
    For a search: the parts of each hit's score.
    """
    text = argument or executor.result().statement
    language = executor.language(text) if argument else executor.result().language
    if language == "ask":
        text, language = _expression(executor, text), "answers"
    if language == COMMAND:
        raise KbError(f"{text.split()[0]} is a command, not a statement", "Enter .help for a list of commands")
    text = languages.without_end(text, language)
    executor.ran = text
    if language == "sql":
        executor.ran = f"EXPLAIN {text}"
        frame = executor.sql(executor.ran)
        return StatementOutcome(COMMAND, "\n".join(frame.to_series(frame.width - 1).to_list()))
    if language == "sparql":
        return StatementOutcome(COMMAND, str(executor.kb.rewrite(text)))
    if language == "answers":
        found = executor.answer_set(text)
        return StatementOutcome(COMMAND, f"{found.sql}\n\n{found.sparql}" if executor.kb.has("triples") else found.sql)
    if argument:
        executor.search(text)
    return StatementOutcome(COMMAND, _scores(executor, executor.result()))


def _expression(executor: Executor, question: str) -> str:
    """Return the expression that a question is read as."""
    result = executor.kb.ask(question)
    if result.answers is None:
        raise KbError(result.refusal, "Search for words of the question")
    return result.expression


@command("[OPTIONS] [WORDS]", Argument.STATEMENT)
def search(executor: Executor, argument: str) -> StatementOutcome:
    """Search with options, or set them for later searches.

    --mode bm25, dense, multivector, hybrid, relational or learned; --type TYPE; --within EXPR (`--within _`: the last
    result); -k N. Without words, the options apply to later searches; `.search` alone shows them.
    """
    options: dict[str, Any] = {}
    words = split_words(argument)
    while words and words[0].startswith("-"):
        option, value = words[0], words[1] if len(words) > 1 else ""
        name = _OPTIONS[parse_choice(option, "option", _OPTIONS)]
        if not value:
            raise KbError(f"{option} needs a value", f"Example: .search {option} {_EXAMPLES[name]} WORDS")
        options[name] = parse_number(value, "number of results") if name == "k" else value
        words = words[2:]
    if words:
        return executor.search(" ".join(words), **options)
    _validate(executor, options)
    executor.settings.search.update(options)
    current = ", ".join(f"{name} {value}" for name, value in executor.settings.search.items())
    return StatementOutcome(COMMAND, note=f"search options: {current}")


_OPTIONS = {
    **{"--mode": "mode", "-m": "mode", "--type": "type", "-t": "type", "--within": "within", "-w": "within"},
    **{"--k": "k", "-k": "k"},
}
_EXAMPLES = {"mode": "bm25", "type": "country", "within": "'_'", "k": "20"}


def _validate(executor: Executor, options: dict[str, Any]) -> None:
    """Raise the errors of later searches in advance."""
    from kbkit.search.settings import AUTO, LEARNED, MODES

    if "mode" in options:
        parse_choice(options["mode"], "mode", (AUTO, *MODES, LEARNED))
    if "type" in options:
        executor.kb.schema.type(options["type"])
    if "within" in options:
        executor.answer_set(options["within"])
