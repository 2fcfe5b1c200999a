"""Dot-commands that help, and the one that leaves."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import IO

from kbkit.assets import guidebook
from kbkit.display.render import has_styles
from kbkit.errors import UnknownNameError
from kbkit.executor.commands.registry import COMMANDS, command, find
from kbkit.executor.executor import Executor, Outcome, Printout, Quit
from kbkit.executor.languages import COMMAND
from kbkit.executor.vocabulary import Argument

_LANGUAGES = """\
SQL       SELECT name FROM country WHERE area_km2 > 1000000;
SPARQL    SELECT ?c { country:FRA rel:borders ?c };
answers   country:"France" -> [borders] -> country
search    landlocked country in the high mountains
command   .show France

The syntax tells the language; .mode fixes it. SQL and SPARQL end with ; or an
empty line, all else with the line. _ is the last result: a table in SQL
(SELECT * FROM _), a set in expressions (_ -> [borders] -> country). A number
alone goes to that link of a page, or row of a result."""

SHORTCUTS = (
    ("Tab", "complete; again for the next"),
    ("Enter", "run a whole statement, else a new line"),
    ("Alt-Enter", "run what there is"),
    ("Up, Down", "statements before, whole"),
    ("Ctrl-R", "look for one as you type"),
    ("Ctrl-X Ctrl-E", "edit in $VISUAL or $EDITOR"),
    ("Ctrl-C", "stop the query; clear the line"),
    ("Ctrl-D", "leave"),
)
"""Keys and what they do."""


def topics() -> dict[str, str]:
    """What .help can tell of, each with its first line: commands, shortcuts, guides."""
    commands = {name: entry.help for name, entry in COMMANDS.items()}
    return commands | {"shortcuts": "keys"} | {guide.name: guide.title for guide in guidebook.guides()}


@command("[TOPIC]", Argument.TOPIC)
def help_(executor: Executor, argument: str) -> Outcome:
    """All commands; or help on one, on shortcuts, or a guide.

    `.help answers` shows the guide of that name, `.help .show` the command.
    """
    topic = argument.strip().removeprefix(".").lower()
    if not topic:
        commands = _columns((f".{c.name} {c.usage}".rstrip(), c.help) for c in COMMANDS.values())
        names = ", ".join(guide.name for guide in guidebook.guides())
        more = textwrap.fill(f".help shortcuts, and the guides: {names}", 80)
        return Outcome(COMMAND, f"{_LANGUAGES}\n\n{commands}\n\n{more}")
    if topic == "shortcuts":
        return Outcome(COMMAND, _columns(SHORTCUTS))
    if topic in COMMANDS:
        entry = find(topic)
        usage = f".{entry.name} {entry.usage}".rstrip()
        detail = textwrap.fill(" ".join(entry.detail.split()), 80)
        return Outcome(COMMAND, "\n\n".join(part for part in (usage, entry.help, detail) if part))
    if topic.partition("#")[0] not in {guide.name for guide in guidebook.guides()}:
        raise UnknownNameError("topic", argument, topics())
    text = guidebook.load(topic)
    return Outcome(COMMAND, Printout(lambda stream, width: _print_guide(text, stream, width)))


def _columns(rows: Iterable[tuple[str, str]]) -> str:
    pairs = list(rows)
    wide = max(len(left) for left, _ in pairs)
    return "\n".join(f"{left:<{wide}}   {right}" for left, right in pairs)


def _print_guide(text: str, stream: IO[str], width: int) -> None:
    stream.write(guidebook.render(text, min(width, guidebook.WIDTH), colour=has_styles(stream)).rstrip() + "\n")


@command()
def quit_(executor: Executor, argument: str) -> Outcome:
    """Leave; Ctrl-D does too."""
    raise Quit
