"""Dot-commands about results, saved queries, files, history and the system."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from kbkit.errors import Command, KbError
from kbkit.executor import languages
from kbkit.executor.commands.registry import command, parse_number, parse_path, parse_word
from kbkit.executor.executor import Executor
from kbkit.executor.languages import COMMAND, GRAPH
from kbkit.executor.outcomes import StatementOutcome
from kbkit.executor.prompt_settings import Pipe
from kbkit.executor.vocabulary import LAST, Argument

_LARGEST_SCRIPT = 50_000_000
_HISTORY = 50
_HELD = re.compile(rf"@{LAST}\d+\b")
"""A result that only this session holds, in an expression."""


@command("NAME|FILE", Argument.FILE)
def save(executor: Executor, argument: str) -> StatementOutcome:
    """Save the last result as the set @NAME or to a file.

    The suffix of the file determines the format: .csv, .json, .ndjson, .md, .parquet or .txt. A set outlives the
    session and later generations of the KB; SQL can read it too (answer_sets, answer_members).
    """
    from kbkit.answers.syntax import SavedSet
    from kbkit.display.render import ENDINGS, check, write

    target = parse_word(argument, "name or file", ".save neighbours, or .save neighbours.csv")
    last = executor.result()
    path = parse_path(argument, "")
    if path.suffix in ENDINGS:
        check(None, path)
        write(last.frame, None, path)
        rows = last.frame.height
        return StatementOutcome(COMMAND, note=f"{path}: {rows:,} row{'' if rows == 1 else 's'}")
    if path.suffix or "/" in target:
        raise KbError(f"{target} is neither a set name nor a known file format", f"Formats: {', '.join(ENDINGS)}")
    count, saved = executor.save(target.removeprefix("@")), SavedSet(target.removeprefix("@"))
    return StatementOutcome(COMMAND, note=f"{saved}: {count:,} node{'' if count == 1 else 's'}")


@command("[N]", Argument.NUMBER)
def more(executor: Executor, argument: str) -> StatementOutcome:
    """Show the next rows of the last result.

    N is their number; the default is that of .rows. After a page it shows the next N neighbours of each group, by
    default 20.
    """
    return executor.more(parse_number(argument, "number of rows") if argument else None)


@command("NAME", Argument.QUERY)
def save_query(executor: Executor, argument: str) -> StatementOutcome:
    """Save the last statement as a query of this KB.

    `.query NAME` runs it, also in later sessions; its $parameters and <slots> can have other values then. A search is
    saved without its options. The queries are files in the folder workspace/queries of the KB.
    """
    name, last = parse_word(argument, "name", ".save-query long_rivers"), executor.result()
    if last.language == GRAPH:
        raise KbError("The last result is that of a graph algorithm, not of a query", "Save the result: .save NAME")
    if last.language == "answers" and _HELD.search(last.statement):
        raise KbError("The last expression depends on an earlier result", "Save that result first: .save NAME")
    executor.kb.workspace.queries.save(name, last.language, last.statement)
    return StatementOutcome(COMMAND, note=f"query {name}: {' '.join(last.statement.split())}")


@command("NAME", Argument.QUERY)
def drop_query(executor: Executor, argument: str) -> StatementOutcome:
    """Delete a saved query."""
    name = parse_word(argument, "name", ".drop-query long_rivers")
    executor.kb.workspace.queries.drop(name)
    return StatementOutcome(COMMAND, note=f"query {name} deleted")


@command("[FILE or |COMMAND]", Argument.FILE)
def output(executor: Executor, argument: str) -> StatementOutcome:
    """Send results to a file or command; alone, to the screen.

    The suffix of the file, or .format, determines the format. `.output |COMMAND` runs a command of the operating system
    for each result, which it reads on its standard input: `.output |less -S`.
    """
    if not argument:
        executor.settings.output = executor.settings.once = None
        return StatementOutcome(COMMAND, note="results go to the screen")
    target = _target(executor, argument, ".output results.csv")
    if isinstance(target, Path):
        try:
            target.write_text("", encoding="utf-8", newline="\n")
        except OSError as error:
            raise KbError(f"Cannot write {target}: {error.strerror}") from None
    executor.settings.output = target
    name = target if isinstance(target, Path) else f"|{target.command}"
    return StatementOutcome(COMMAND, note=f"results go to {name}; .output resets this")


@command("FILE or |COMMAND", Argument.FILE)
def once(executor: Executor, argument: str) -> StatementOutcome:
    """Send only the next result to a file or command.

    `.once countries.csv` replaces the file; `.once |sort | head` runs a command, which reads the result.
    """
    executor.settings.once = _target(executor, argument, ".once results.csv")
    return StatementOutcome(COMMAND)


def _target(executor: Executor, argument: str, example: str) -> Path | Pipe:
    """Return the file or the command that results go to; only the shell runs commands."""
    if argument.startswith("|"):
        _runner(executor)
        return Pipe(_some(argument[1:].strip(), ".output |less"))
    from kbkit.display.render import check_output

    path = parse_path(argument, example)
    executor.settings.kind(path)
    check_output(path)
    return path


def _runner(executor: Executor) -> Callable[[str], int]:
    """Return the function that runs a command of the operating system; only the shell has one."""
    if executor.system is None:
        raise KbError("System commands run only in the shell", "Run ", Command("shell KB"), " in a terminal")
    return executor.system


def _some(text: str, example: str) -> str:
    """Return the text of a command of the operating system, which is required."""
    if not text:
        raise KbError("Expected a command", f"Example: {example}")
    return text


@command("[KB]", Argument.KB)
def open_(executor: Executor, argument: str) -> StatementOutcome:
    """Open another KB, or reload this one.

    Reloading opens the newest generation. The last result is discarded; settings are kept.
    """
    directory = parse_path(argument, ".open my.kb") if argument else executor.kb.directory.path
    executor.reopen(directory)
    schema = executor.kb.schema
    return StatementOutcome(COMMAND, note=f"{directory}: {schema.nodes:,} nodes, {schema.edges:,} edges")


@command("FILE", Argument.FILE)
def read(executor: Executor, argument: str) -> StatementOutcome:
    """Run the statements of a file.

    It stops at the first error. A .sql file is read as SQL, a .rq file as one SPARQL query, and any other file as if it
    were typed here.
    """
    path = parse_path(argument, ".read queries.sql")
    try:
        if path.stat().st_size > _LARGEST_SCRIPT:
            raise KbError(
                f"{path} is larger than {_LARGEST_SCRIPT // 1_000_000} MB",
                "Use ",
                Command("sql KB FILE"),
                " or ",
                Command("sparql KB FILE"),
            )
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise KbError(f"Cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise KbError(f"Invalid UTF-8 in {path}", "Convert it to UTF-8, for example with iconv") from None
    if path.suffix in (".rq", ".sparql"):
        return StatementOutcome(COMMAND, script=(languages.Statement(text, "sparql"),), source=str(path))
    mode = "sql" if path.suffix == ".sql" else executor.language
    return StatementOutcome(COMMAND, script=languages.split(text, mode), source=str(path))


@command()
def edit(executor: Executor, argument: str) -> StatementOutcome:
    """Edit the last statement in your editor.

    The editor is $VISUAL or $EDITOR; the edited text appears at the prompt.
    """
    past = [text for text in _past(executor) if not text.lstrip().startswith((".e", "\\e"))]
    return StatementOutcome(COMMAND, edit=past[-1] if past else "")


@command("[WORDS]")
def history(executor: Executor, argument: str) -> StatementOutcome:
    """List the last statements; with WORDS, matching ones.

    Each KB has its own history, in its workspace. Ctrl-R searches it as you type.
    """
    past = [text for text in _past(executor) if argument.casefold() in text.casefold()]
    return StatementOutcome(COMMAND, "\n".join(past[-_HISTORY:]) if past else None)


def _past(executor: Executor) -> Sequence[str]:
    if executor.history is None:
        raise KbError("There is no history without a prompt", "Run ", Command("shell KB"), " in a terminal")
    return executor.history()


@command("COMMAND")
def system(executor: Executor, argument: str) -> StatementOutcome:
    """Run a command of the operating system.

    `!COMMAND` does the same. Ctrl-C stops the command, not the shell.
    """
    code = _runner(executor)(_some(argument, "!ls"))
    return StatementOutcome(COMMAND, note=f"exit code {code}" if code else "")
