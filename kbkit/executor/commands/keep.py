"""Dot-commands that keep and fetch: save, output, open, read, edit, history."""

from __future__ import annotations

from collections.abc import Sequence

from kbkit.errors import KbError, plural
from kbkit.executor import languages
from kbkit.executor.commands import arguments
from kbkit.executor.commands.registry import command
from kbkit.executor.executor import Executor, Outcome
from kbkit.executor.languages import COMMAND
from kbkit.executor.vocabulary import Argument

_LONGEST_SCRIPT = 50_000_000
_HISTORY = 50


@command("NAME|FILE", Argument.FILE)
def save(executor: Executor, argument: str) -> Outcome:
    """Keep the last result, as the set @NAME or in a file.

    The file's ending says how: .csv, .json, .ndjson, .md, .parquet or .txt. A set outlives the session, and the
    KB's next generation; SQL sees it too (answer_sets, answer_members).
    """
    from kbkit.answers.syntax import SavedSet
    from kbkit.display.render import ENDINGS, check, write

    target = arguments.one(argument, "name or file", ".save neighbours, or .save neighbours.csv")
    last = executor.result()
    path = arguments.path(argument, "")
    if path.suffix in ENDINGS:
        check(None, path)
        write(last.frame, None, path)
        return Outcome(COMMAND, note=f"{path}: {plural(last.frame.height, 'row')}")
    if path.suffix or "/" in target:
        endings = ", ".join(ENDINGS)
        raise KbError(f"{target} is no set's name, and its ending tells no format", f"files end in {endings}")
    count, saved = executor.save(target.removeprefix("@")), SavedSet(target.removeprefix("@"))
    return Outcome(COMMAND, note=f"{count:,} {'node is' if count == 1 else 'nodes are'} {saved}")


@command("[FILE]", Argument.FILE)
def output(executor: Executor, argument: str) -> Outcome:
    """Send results to a file; without one, to the screen.

    The file's ending or .format says how.
    """
    if not argument:
        executor.settings.output = None
        return Outcome(COMMAND, note="results come to the screen")
    from kbkit.display.render import ENDINGS, check

    path = arguments.path(argument, ".output results.csv")
    check(ENDINGS.get(path.suffix) or executor.settings.format, path)
    try:
        path.write_text("", encoding="utf-8", newline="\n")
    except OSError as error:
        raise KbError(f"{path} cannot be written: {error.strerror}") from None
    executor.settings.output = path
    return Outcome(COMMAND, note=f"results go to {path}; .output brings them back")


@command("[DIR]", Argument.KB)
def open_(executor: Executor, argument: str) -> Outcome:
    """Open another KB, or this one anew.

    A KB that was built anew shows its newest generation. The last result goes; settings stay.
    """
    directory = arguments.path(argument, ".open my.kb") if argument else executor.kb.directory.path
    executor.reopen(directory)
    schema = executor.kb.schema
    return Outcome(COMMAND, note=f"{directory}: {schema.nodes:,} nodes, {schema.edges:,} edges")


@command("FILE", Argument.FILE)
def read(executor: Executor, argument: str) -> Outcome:
    """Run the statements of a file.

    It ends at the first that fails. In a file .sql all is SQL, a file .rq is one SPARQL query, and any other is
    read as what is typed here.
    """
    path = arguments.path(argument, ".read queries.sql")
    try:
        if path.stat().st_size > _LONGEST_SCRIPT:
            raise KbError(f"{path} has more than {_LONGEST_SCRIPT // 1_000_000} MB", "kbkit sql and sparql take files")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise KbError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise KbError(f"{path} is not UTF-8", "convert it, e.g. with iconv") from None
    if path.suffix in (".rq", ".sparql"):
        return Outcome(COMMAND, script=(languages.Statement(text, "sparql"),), source=str(path))
    mode = "sql" if path.suffix == ".sql" else executor.language
    return Outcome(COMMAND, script=languages.split(text, mode), source=str(path))


@command()
def edit(executor: Executor, argument: str) -> Outcome:
    """Change the last statement in your editor.

    $VISUAL or $EDITOR names it; what it leaves comes to the prompt.
    """
    past = [text for text in _past(executor) if not text.lstrip().startswith(".e")]
    return Outcome(COMMAND, edit=past[-1] if past else "")


@command("[WORDS]")
def history(executor: Executor, argument: str) -> Outcome:
    """The last statements; with words, those that hold them.

    Each KB has its own, kept in its workspace. Ctrl-R looks for one as you type.
    """
    past = [text for text in _past(executor) if argument.casefold() in text.casefold()]
    return Outcome(COMMAND, "\n".join(past[-_HISTORY:]) if past else None)


def _past(executor: Executor) -> Sequence[str]:
    if executor.history is None:
        raise KbError("there is no prompt here, and no history", "kbkit shell DIR in a terminal has both")
    return executor.history()
