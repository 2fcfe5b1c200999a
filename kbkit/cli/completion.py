"""The command completion, and what a shell's tab key offers beside commands and options.

The scripts are Typer's; they run ``kbkit`` with the variable :data:`VARIABLE` set, and :func:`prepare` sees to what
follows. Where nothing is offered the shell completes file names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from kbkit.errors import KbError, UnknownNameError

VARIABLE = "_KBKIT_COMPLETE"
SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")
_INSTALLED = SHELLS[:3]
"""Typer would let PowerShell run any script."""
_PLAIN = re.compile(r"[\w./~@%+,:=-]+")
"""Names that a shell takes as they are: scripts hand on what is offered without quoting it."""


def register(app: typer.Typer) -> None:
    """Add this file's command to the program."""
    app.command()(completion)


def completion(
    shell: Annotated[
        str | None, typer.Argument(help="bash, zsh, fish, powershell or pwsh; by default that of $SHELL.")
    ] = None,
    install: Annotated[
        bool, typer.Option("--install", help="Write it where the shell finds it (bash, zsh, fish).")
    ] = False,
) -> None:
    """Print the script that makes the tab key complete kbkit's commands: eval "$(kbkit completion bash)".

    It completes options, KBs, recipes, queries, guides, templates and formats.
    """
    from typer import completion as of_typer

    name = shell or Path(os.environ.get("SHELL", "")).name
    if name not in SHELLS:
        if shell is None:
            raise KbError("which shell?", f"one of {', '.join(SHELLS)}")
        raise UnknownNameError("shell", name, SHELLS)
    if not install:
        script = of_typer.get_completion_script  # type: ignore[attr-defined]
        typer.echo(script(prog_name="kbkit", complete_var=VARIABLE, shell=name))
        return
    if name not in _INSTALLED:
        raise KbError(f"nothing is installed for {name}", f"add the output of kbkit completion {name} to its profile")
    _, path = of_typer.install(name, "kbkit", VARIABLE)  # type: ignore[attr-defined]
    typer.echo(f"{name}: completion is in {path}; it works in the next terminal", err=True)


# -- what is offered --------------------------------------------------------------------------------------------------


def _knowledge_bases(typed: str) -> Iterator[str]:
    """Folders that hold a file CURRENT or are called so, where the path that is typed leads to."""
    folder = Path(typed).expanduser() if typed.endswith("/") else Path(typed).expanduser().parent
    stem = typed[: typed.rfind("/") + 1]
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.is_dir() and (path.suffix == ".kb" or (path / "CURRENT").is_file()):
            yield f"{stem}{path.name}"


def _recipes(_: str) -> Iterable[str]:
    from kbkit.assets import folder

    return sorted(path.parent.name for path in folder("ingest").glob("*/recipe.toml"))


def _queries(*kinds: str) -> Callable[[str], Iterable[str]]:
    def offered(_: str) -> Iterable[str]:
        from kbkit.assets.queries import shipped

        return [name for kind in kinds for name in shipped(kind)]

    return offered


def _guides(_: str) -> Iterable[str]:
    from kbkit.assets import guides

    return sorted(path.stem for path in guides().glob("*.md"))


def _templates(_: str) -> Iterable[str]:
    """Their ids, without reading what they say: a catalogue's grammar takes longer than a key press."""
    import tomllib

    from kbkit import assets

    for path in sorted(assets.templates().glob("*.toml")):
        for row in tomllib.loads(path.read_text(encoding="utf-8")).get("template", ()):
            yield f"{path.stem}/{row['id']}"


def _those(*names: str) -> Callable[[str], Iterable[str]]:
    return lambda _: names


_SEARCHES = _those("bm25", "dense", "multivector", "hybrid", "relational")
_STORES = ("adjacency", "triples", "text", "vectors")
_OFFERS: dict[str, Callable[[str], Iterable[str]]] = {
    "kb": _knowledge_bases,
    "false_positives": _knowledge_bases,
    "format": _those("table", "json", "ndjson", "csv", "markdown", "parquet"),
    "template": _templates,
    "mode": _SEARCHES,
    "rerank_mode": _SEARCHES,
    "retriever": _SEARCHES,
    "fusion": _those("rrf", "minmax"),
    "weight": _those("uniform", "popular"),
    "search weight": _those(),
    "run weight": _those(),
    "names": _those("key", "reference", "name"),
    "engine": _those("walk", "sql", "sparql", "spark"),
    "answers print_": _those("sql", "sparql"),
    "dialect": _those("sparql", "wikidata"),
    "ingest source": _recipes,
    "fetch source": _recipes,
    "recipes name": _recipes,
    "templates what": lambda typed: ["suggest", *_knowledge_bases(typed)],
    "sql query": _queries("sql"),
    "sparql query": _queries("sparql"),
    "queries name": _queries("sql", "sparql"),
    "docs guide": _guides,
    "stark make templates": _templates,
    "build store": _those(*_STORES),
    "stores": _those("tables", *_STORES),
    "export to": _those("parquet", "csv", "ntriples", "kgtk"),
    "generate shape": _those("amazon", "mag", "prime"),
    "shell mode": _those("auto", "sql", "sparql", "answers", "search"),
    "convert kind": _those("run", "gold"),
    "completion shell": _those(*SHELLS),
}
"""What may stand for a parameter: by its name, or for one command by the command's name and its own."""


# -- how it is asked for ----------------------------------------------------------------------------------------------


def wanted() -> bool:
    """Whether a shell asks what may come next."""
    return VARIABLE in os.environ


def prepare(app: typer.Typer) -> Any:
    """The tree of commands, with what is offered for their parameters; only the branch that was typed, if it was."""
    line = os.environ.get("COMP_WORDS", os.environ.get("_TYPER_COMPLETE_ARGS", ""))
    words = re.split(r"\s", line)  # bash gives them a line each
    typed = next((word for word in words[1:-1] if word and not word.startswith("-")), "")
    _prune(app, typed)
    from typer._completion_classes import completion_init

    completion_init()
    program = typer.main.get_command(app)
    _offer(program, ())
    return program


def _prune(app: typer.Typer, name: str) -> None:
    """Leave one command or group, or of all of them the names: the whole tree takes long to build."""
    for command in app.registered_commands:
        command.name = command.name or getattr(command.callback, "__name__", "")
    commands = [command for command in app.registered_commands if command.name == name]
    groups = [group for group in app.registered_groups if group.name == name]
    if commands or groups:
        app.registered_commands, app.registered_groups = commands, groups
    elif not name:
        for command in app.registered_commands:
            command.callback = _nothing
        for group in app.registered_groups:
            if group.typer_instance is not None:
                group.typer_instance.registered_commands = []


def _nothing() -> None:
    """A command without parameters."""


def _offer(command: Any, path: Sequence[str]) -> None:
    for parameter in command.params:
        names = [" ".join([*path[start:], parameter.name]) for start in range(len(path) + 1)]
        if found := next((_OFFERS[name] for name in names if name in _OFFERS), None):
            parameter._custom_shell_complete = _beginning(found)
    for name, child in getattr(command, "commands", {}).items():
        _offer(child, (*path, name))


def _beginning(offered: Callable[[str], Iterable[str]]) -> Callable[[Any, Any, str], list[str]]:
    """As click asks: those that go on from what was typed, where a shell takes them as they are."""
    return lambda _context, _parameter, typed: [
        name for name in offered(typed) if name.startswith(typed) and _PLAIN.fullmatch(name)
    ]
