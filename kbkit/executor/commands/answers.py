"""Dot-commands about how an answer comes to be: why, explain, search."""

from __future__ import annotations

from typing import Any

from kbkit.errors import KbError
from kbkit.executor import languages
from kbkit.executor.commands import arguments
from kbkit.executor.commands.registry import command
from kbkit.executor.executor import Executor, Last, Outcome
from kbkit.executor.languages import COMMAND
from kbkit.executor.vocabulary import Argument


@command("[N]", Argument.NUMBER)
def why(executor: Executor, argument: str) -> Outcome:
    """Why row N (by default 1) is an answer, or a hit.

    The edges that prove an answer, what was filtered by, and what it was not found in; of a hit what its score is
    made of.
    """
    last = executor.result()
    number = arguments.number(argument or "1", "row")
    if number > last.frame.height:
        raise KbError(f"the last result has {last.frame.height:,} rows, and no row {number:,}")
    if last.answers is not None:
        return Outcome(COMMAND, str(last.answers.proofs([last.frame["id"][number - 1]])[0]))
    if last.language == "search":
        return Outcome(COMMAND, _scores(executor, last, number))
    raise KbError(
        "rows of SQL and SPARQL have no proof", "an answer expression's have: country -> [borders] -> country"
    )


def _scores(executor: Executor, last: Last, number: int | None = None) -> str:
    """What a hit's score (all hits') is made of; in mode relational also what the words name, and how it is joined."""
    from kbkit.graph.pages import explained

    frame = executor.kb.search(last.statement, explain=True, **last.options)
    linked = executor.kb.linked(last.statement) if last.options.get("mode") == "relational" else None
    return "\n".join(explained(frame if number is None else frame[number - 1 : number], linked))


@command("[STATEMENT]", Argument.STATEMENT)
def explain(executor: Executor, argument: str) -> Outcome:
    """How a statement (by default the last) is run.

    Of SQL its plan, of SPARQL the query as the engine gets it, of an expression the SQL and SPARQL that it means. Of a
    search it shows what each hit's score is made of.
    """
    text = argument or executor.result().statement
    language = executor.language(text) if argument else executor.result().language
    if language == COMMAND:
        raise KbError(f"{text.split()[0]} is a dot-command", ".help tells what it does")
    text = languages.without_end(text, language)
    executor.ran = text
    if language == "sql":
        executor.ran = f"EXPLAIN {text}"
        frame = executor.rows(executor.ran)
        return Outcome(COMMAND, "\n".join(frame.to_series(frame.width - 1).to_list()))
    if language == "sparql":
        return Outcome(COMMAND, str(executor.kb.rewrite(text)))
    if language == "answers":
        found = executor.answer_set(text)
        return Outcome(COMMAND, f"{found.sql}\n\n{found.sparql}" if executor.kb.has("triples") else found.sql)
    if argument:
        executor.search(text)
    return Outcome(COMMAND, _scores(executor, executor.result()))


@command("[OPTIONS] [WORDS]", Argument.STATEMENT)
def search(executor: Executor, argument: str) -> Outcome:
    """Search with options, or set them for plain words.

    --mode bm25, dense, multivector, hybrid or relational; --type TYPE; --within EXPR (`--within _` is the last result);
    -k N. Without words the options hold from now on; `.search` alone says which do.
    """
    options: dict[str, Any] = {}
    words = arguments.words(argument)
    while words and words[0].startswith("-"):
        option, value = words[0], words[1] if len(words) > 1 else ""
        name = _OPTIONS[arguments.choice(option, "option", _OPTIONS)]
        if not value:
            raise KbError(f"{option} has no value", f"e.g. .search {option} {_EXAMPLES[name]} WORDS")
        options[name] = arguments.number(value, "number of hits") if name == "k" else value
        words = words[2:]
    if words:
        return executor.search(" ".join(words), **options)
    _check(executor, options)
    executor.settings.search.update(options)
    said = ", ".join(f"{name} {value}" for name, value in executor.settings.search.items())
    return Outcome(COMMAND, note=f"searches take {said}")


_OPTIONS = {"--mode": "mode", "-m": "mode", "--type": "type", "-t": "type", "--within": "within", "-w": "within"} | {
    "--k": "k",
    "-k": "k",
}
_EXAMPLES = {"mode": "bm25", "type": "country", "within": "'_'", "k": "20"}


def _check(executor: Executor, options: dict[str, Any]) -> None:
    """Refuse now what every search to come would be refused for."""
    from kbkit.search.settings import MODES

    if "mode" in options:
        arguments.choice(options["mode"], "mode", MODES)
    if "type" in options:
        executor.kb.schema.type(options["type"])
    if "within" in options:
        executor.answer_set(options["within"])
