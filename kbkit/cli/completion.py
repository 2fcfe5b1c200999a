"""The command completion, and the completion of arguments and options in bash, zsh, fish and PowerShell.

The scripts come from Typer. They run ``kbkit`` with the variable :data:`VARIABLE` set; :func:`prepare` adds values of
parameters to the commands and options that Typer completes. A shell without candidates completes file names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from kbkit.cli.commands import add, branch
from kbkit.cli.options import argument, option
from kbkit.errors import Command, KbError, UnknownNameError

VARIABLE = "_KBKIT_COMPLETE"
SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")
_INSTALLED = SHELLS[:3]
"""Shells with ``--install``: for PowerShell, Typer would allow all scripts to run."""
_PLAIN = re.compile(r"[\w./~@%+,:=-]+")
"""Names that need no quotes: the scripts pass candidates to the shell unquoted."""


def register(app: typer.Typer) -> None:
    """Add the command of this file to the program."""
    add(app, completion)


def completion(
    shell: Annotated[
        str | None,
        argument("SHELL", "Shell: bash, zsh, fish, powershell or pwsh (default: from $SHELL)."),
    ] = None,
    install: Annotated[bool, option("--install", "Install the script for the current user (bash, zsh, fish).")] = False,
) -> None:
    """Print or install completion for your shell.

    In bash: eval "$(kbkit completion bash)". It completes commands, options, KBs, recipes, queries, guides, templates
    and formats.
    """
    from typer import completion as of_typer

    name = shell or Path(os.environ.get("SHELL", "")).name
    if name not in SHELLS:
        if shell is None:
            raise KbError("No shell given", f"Use one of {', '.join(SHELLS)}")
        raise UnknownNameError("shell", name, SHELLS)
    if not install:
        script = of_typer.get_completion_script  # type: ignore[attr-defined]
        typer.echo(script(prog_name="kbkit", complete_var=VARIABLE, shell=name))
        return
    if name not in _INSTALLED:
        raise KbError(
            f"Option --install does not support {name}",
            "Add the output of this command to its profile: ",
            Command(f"completion {name}"),
        )
    _, path = of_typer.install(name, "kbkit", VARIABLE)  # type: ignore[attr-defined]
    typer.echo(f"Installed {path}; open a new terminal to use it", err=True)


# -- candidates ------------------------------------------------------------------------------------------------------


def _knowledge_bases(typed: str) -> Iterator[str]:
    """Yield the KBs in the folder of the typed path: folders with a file CURRENT, or named *.kb."""
    folder = Path(typed).expanduser() if typed.endswith("/") else Path(typed).expanduser().parent
    stem = typed[: typed.rfind("/") + 1]
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.is_dir() and (path.suffix == ".kb" or (path / "CURRENT").is_file()):
            yield f"{stem}{path.name}"


def _recipes(_: str) -> Iterable[str]:
    from kbkit.assets import folder

    return sorted(path.parent.name for path in folder("ingest").glob("*/recipe.toml"))


def _queries(*kinds: str) -> Callable[[str], Iterable[str]]:
    def candidates(_: str) -> Iterable[str]:
        from kbkit.assets.queries import shipped

        return [name for kind in kinds for name in shipped(kind)]

    return candidates


def _guides(_: str) -> Iterable[str]:
    from kbkit.assets import guides

    return sorted(path.stem for path in guides().glob("*.md"))


def _templates(_: str) -> Iterable[str]:
    """Yield ids of templates without parsing their expressions, which would be too slow here."""
    from kbkit import assets
    from kbkit.directory.files import parse_toml

    for path in sorted(assets.templates().glob("*.toml")):
        for row in parse_toml(path.read_text(encoding="utf-8")).get("template", ()):
            yield f"{path.stem}/{row['id']}"


def _values(*names: str) -> Callable[[str], Iterable[str]]:
    return lambda _: names


_SEARCHES = _values("auto", "bm25", "dense", "multivector", "hybrid", "relational", "learned")
_STORES = ("nodes", "adjacency", "triples", "columns", "text", "vectors", "embeddings")
_CANDIDATES: dict[str, Callable[[str], Iterable[str]]] = {
    "kb": _knowledge_bases,
    "false_positives": _knowledge_bases,
    "format": _values("table", "json", "ndjson", "csv", "markdown", "parquet"),
    "template": _templates,
    "mode": _SEARCHES,
    "rerank_mode": _SEARCHES,
    "fusion": _values("rrf", "minmax"),
    "sampling": _values("uniform", "popular"),
    "names": _values("key", "reference", "name"),
    "engine": _values("walk", "sql", "sparql", "spark"),
    "compile": _values("sql", "sparql"),
    "dialect": _values("sparql", "wikidata"),
    "ingest source": _recipes,
    "fetch source": _recipes,
    "show recipe": _recipes,
    "sql query": _queries("sql"),
    "sparql query": _queries("sparql"),
    "query show name": _queries("sql", "sparql"),
    "docs guide": _guides,
    "build store": _values(*_STORES),
    "stores": _values("tables", *_STORES),
    "export format": _values("parquet", "csv", "ntriples", "kgtk", "stark", "pyg"),
    "generate shape": _values("amazon", "mag", "prime"),
    "shell language": _values("auto", "sql", "sparql", "answers", "search", "ask"),
    "convert kind": _values("run", "gold"),
    "completion shell": _values(*SHELLS),
}
"""Candidates for a parameter, by its name or by command and name; the most specific entry counts."""


# -- requests of a shell ----------------------------------------------------------------------------------------------


def wanted() -> bool:
    """Return whether a shell requests candidates."""
    return VARIABLE in os.environ


def prepare(app: typer.Typer) -> Any:
    """Return the program with candidates for its parameters; only the branch of the typed command, if there is one."""
    line = os.environ.get("COMP_WORDS", os.environ.get("_TYPER_COMPLETE_ARGS", ""))
    words = re.split(r"\s", line)  # bash gives them a line each
    part = branch(app, words[1:-1])
    from typer._completion_classes import completion_init

    completion_init()
    program = typer.main.get_command(part)
    _add_candidates(program, ())
    return program


def _add_candidates(command: Any, path: Sequence[str]) -> None:
    for parameter in command.params:
        names = [" ".join([*path[start:], parameter.name]) for start in range(len(path) + 1)]
        if found := next((_CANDIDATES[name] for name in names if name in _CANDIDATES), None):
            parameter._custom_shell_complete = _starting(found)
    for name, child in getattr(command, "commands", {}).items():
        _add_candidates(child, (*path, name))


def _starting(candidates: Callable[[str], Iterable[str]]) -> Callable[[Any, Any, str], list[str]]:
    """Return a completion function: candidates that start with the typed text and need no quotes."""
    return lambda _context, _parameter, typed: [
        name for name in candidates(typed) if name.startswith(typed) and _PLAIN.fullmatch(name)
    ]
