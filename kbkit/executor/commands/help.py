"""The dot-commands help and quit."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import IO

from kbkit.assets import guidebook
from kbkit.display.render import has_styles
from kbkit.errors import UnknownNameError
from kbkit.executor.commands.registry import ALIASES, COMMANDS, command, find
from kbkit.executor.executor import Executor
from kbkit.executor.languages import COMMAND
from kbkit.executor.outcomes import Printout, Quit, StatementOutcome
from kbkit.executor.vocabulary import Argument

_LANGUAGES = """\
SQL       SELECT name FROM country WHERE area_km2 > 1000000;
SPARQL    SELECT ?c { country:FRA rel:borders ?c };
answers   country:"France" -> [borders] -> country
search    landlocked country in the high mountains
question  Which countries border Nepal?
command   .show France

The syntax decides the language; .mode fixes it. SQL and SPARQL end with ; or an
empty line, everything else with the line. _ is the last result: a table in SQL
(SELECT * FROM _), a set in expressions (_ -> [borders] -> country). A number
alone opens that link of a page or row of a result.

exit, quit, help, \\d, \\dt, \\q, \\? and !COMMAND work as in psql and sqlite3."""

SHORTCUTS = (
    ("Tab", "complete; again for the next candidate"),
    ("Enter", "run a complete statement, else start a new line"),
    ("Alt-Enter", "run the text as it is"),
    ("Up, Down", "previous and next statement"),
    ("Ctrl-R", "search the history"),
    ("Ctrl-X Ctrl-E", "edit in $VISUAL or $EDITOR"),
    ("Ctrl-C", "cancel the query; clear the line"),
    ("Ctrl-D", "leave"),
)
"""Keys and their actions."""


def topics() -> dict[str, str]:
    """Return the topics of ``.help`` (commands, shortcuts, guides), each with its first line."""
    commands = {name: entry.help for name, entry in COMMANDS.items()}
    return commands | {"shortcuts": "keys"} | {guide.name: guide.title for guide in guidebook.guides()}


@command("[TOPIC]", Argument.TOPIC)
def help_(executor: Executor, argument: str) -> StatementOutcome:
    """List the commands, or show help on a topic.

    A topic is a command, `shortcuts` or a guide: `.help .show` shows help on the command, `.help answers` the guide.
    """
    topic = argument.strip().removeprefix(".").lower()
    if not topic:
        commands = _columns((f".{c.name} {c.usage}".rstrip(), c.help) for c in COMMANDS.values())
        names = ", ".join(guide.name for guide in guidebook.guides())
        more = textwrap.fill(f".help shortcuts, and the guides: {names}", 80)
        return StatementOutcome(COMMAND, f"{_LANGUAGES}\n\n{commands}\n\n{more}")
    if topic == "shortcuts":
        return StatementOutcome(COMMAND, _columns(SHORTCUTS))
    if topic in COMMANDS or topic in ALIASES:
        entry = find(topic)
        usage = f".{entry.name} {entry.usage}".rstrip()
        detail = textwrap.fill(" ".join(entry.detail.split()), 80)
        return StatementOutcome(COMMAND, "\n\n".join(part for part in (usage, entry.help, detail) if part))
    if topic.partition("#")[0] not in {guide.name for guide in guidebook.guides()}:
        raise UnknownNameError("topic", argument, topics())
    text = guidebook.load(topic)
    return StatementOutcome(COMMAND, Printout(lambda stream, width: _print_guide(text, stream, width)))


def _columns(rows: Iterable[tuple[str, str]]) -> str:
    pairs = list(rows)
    wide = max(len(left) for left, _ in pairs)
    return "\n".join(f"{left:<{wide}}   {right}" for left, right in pairs)


def _print_guide(text: str, stream: IO[str], width: int) -> None:
    stream.write(guidebook.render(text, min(width, guidebook.WIDTH), colour=has_styles(stream)).rstrip() + "\n")


@command()
def quit_(executor: Executor, argument: str) -> StatementOutcome:
    """Leave the shell, as Ctrl-D does."""
    raise Quit
