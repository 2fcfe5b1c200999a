"""`kbkit completion`: the scripts in real shells, and what is offered where."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.console import here

BIN = str(Path(sys.executable).parent)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with two KBs (one without the usual ending), another folder, and a name that no shell takes as it is."""
    for name in ("world.kb", "atlas", "words", "two words.kb", "$(touch hit).kb"):
        (tmp_path / name).mkdir()
    (tmp_path / "atlas" / "CURRENT").write_text("0001\n")
    (tmp_path / "worse.kb").write_text("a file")
    return tmp_path


def offered(run: Run, line: str, cwd: Path | None = None) -> list[str]:
    """What bash would show for a line that ends at the cursor."""
    words = line.split(" ")
    env = {"_KBKIT_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = run(cwd=cwd, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def test_commands_and_options(run: Run) -> None:
    assert offered(run, "kbkit inf") == ["info"]
    assert {"ingest", "sql", "stark", "sets", "completion"} < set(offered(run, "kbkit "))
    assert offered(run, "kbkit sets ") == ["list", "show", "drop"]
    assert offered(run, "kbkit -q info --form") == ["--format"]
    assert offered(run, "kbkit --") == ["--debug", "--quiet", "--version", "--help"]


def test_knowledge_bases(run: Run, place: Path) -> None:
    assert offered(run, "kbkit info ", place) == ["atlas", "world.kb"]
    assert offered(run, "kbkit info wor", place) == ["world.kb"]
    assert offered(run, f"kbkit check {place}/", place) == [f"{place}/atlas", f"{place}/world.kb"]
    assert offered(run, "kbkit stark run wo", place) == ["world.kb"]
    assert offered(run, "kbkit templates s", place) == ["suggest"]
    assert offered(run, "kbkit info none/", place) == []


@pytest.mark.parametrize(
    ("line", "some"),
    [
        ("kbkit ingest w", {"wikidata", "world"}),
        ("kbkit fetch hetio", {"hetionet"}),
        ("kbkit sql my.kb stark/mag_a", {"stark/mag_author"}),
        ("kbkit sparql my.kb stark/mag_a", {"stark/mag_author"}),
        ("kbkit docs wikid", {"wikidata"}),
        ("kbkit answers my.kb -t mag/i", {"mag/institution", "mag/institution_and_field"}),
        ("kbkit stark make my.kb --templates mag/i", {"mag/institution", "mag/institution_and_field"}),
        ("kbkit sql my.kb --format ndj", {"ndjson"}),
        ("kbkit export my.kb --to n", {"ntriples"}),
        ("kbkit search my.kb words --mode mul", {"multivector"}),
        ("kbkit build my.kb tr", {"triples"}),
        ("kbkit completion f", {"fish"}),
    ],
)
def test_values(run: Run, line: str, some: set[str]) -> None:
    assert set(offered(run, line)) == some


def test_every_offer_is_for_a_parameter_that_there_is() -> None:
    import typer

    from kbkit.cli import completion
    from kbkit.cli.app import app

    known: set[str] = set()

    def walk(command: object, path: tuple[str, ...]) -> None:
        for parameter in getattr(command, "params", ()):
            known.update(" ".join([*path[start:], parameter.name]) for start in range(len(path) + 1))
        for name, child in getattr(command, "commands", {}).items():
            walk(child, (*path, name))

    walk(typer.main.get_command(app), ())
    assert set(completion._OFFERS) <= known


def test_offers_are_what_the_code_knows() -> None:
    from kbkit import export
    from kbkit.answers import templates as catalogue
    from kbkit.assets import queries
    from kbkit.cli import completion
    from kbkit.directory import generations as layout
    from kbkit.display import render
    from kbkit.executor import languages
    from kbkit.ingestion import recipe
    from kbkit.ingestion.generate import SHAPES
    from kbkit.search import settings

    def offer(name: str) -> list[str]:
        return list(completion._OFFERS[name](""))

    assert offer("format") == list(render.FORMATS)
    assert offer("mode") == list(settings.MODES)
    assert offer("shell mode") == [languages.AUTO, *languages.LANGUAGES]
    assert offer("export to") == list(export.FORMATS)
    assert sorted(offer("stores")) == sorted(layout.STORES)
    assert offer("ingest source") == recipe.names()
    assert offer("generate shape") == list(SHAPES)
    assert sorted(offer("template")) == sorted(template.id for template in catalogue.shipped())
    assert offer("queries name") == [query.name for query in queries.all_shipped()]


# -- in shells --------------------------------------------------------------------------------------------------------


def in_shell(command: list[str], cwd: Path) -> str:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not here")
    env = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "HOME": str(cwd), "TERM": "dumb"}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_in_bash(place: Path) -> None:
    script = """
        eval "$(kbkit completion bash)"
        complete -p kbkit
        COMP_WORDS=(kbkit info wo); COMP_CWORD=2; _kbkit_completion kbkit; printf '%s\\n' "${COMPREPLY[@]}"
        COMP_WORDS=(kbkit info ''); COMP_CWORD=2; _kbkit_completion kbkit; printf '%s\\n' "${COMPREPLY[@]}"
    """
    lines = in_shell(["bash", "--norc", "-c", script], place).splitlines()
    assert lines == ["complete -o default -F _kbkit_completion kbkit", "world.kb", "atlas", "world.kb"]
    assert not (place / "hit").exists()


def test_in_zsh(place: Path) -> None:
    script = """
        autoload -Uz compinit; compinit -u
        _arguments() { print -r -- "$@" }
        eval "$(kbkit completion zsh)"
        words=(kbkit info wo); CURRENT=3; _kbkit_completion
    """
    assert in_shell(["zsh", "-f", "-c", script], place) == '*: :(("world.kb"))\n'
    assert not (place / "hit").exists()


def test_in_fish(place: Path) -> None:
    script = "kbkit completion fish | source; complete -C 'kbkit info wo'; complete -C 'kbkit docs wikid'"
    assert in_shell(["fish", "--no-config", "-c", script], place).split() == ["world.kb", "wikidata"]


# -- the command ------------------------------------------------------------------------------------------------------


def test_the_shell_is_that_of_the_user() -> None:
    assert here("completion", env={"SHELL": "/usr/bin/zsh"}).stdout.startswith("#compdef kbkit\n")
    done = here("completion", env={"SHELL": "/bin/csh"})
    assert (done.returncode, done.stderr) == (1, "kbkit: which shell?; one of bash, zsh, fish, powershell, pwsh\n")


def test_unknown_shells() -> None:
    done = here("completion", "csh")
    assert (done.returncode, done.stdout) == (1, "")
    assert "unknown shell 'csh'" in done.stderr


def test_installed_where_the_shell_finds_it(tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text("alias ll='ls -l'")
    done = here("completion", "bash", "--install", env={"HOME": str(tmp_path)})
    script = tmp_path / ".bash_completions" / "kbkit.sh"
    assert done.stderr == f"bash: completion is in {script}; it works in the next terminal\n"
    assert script.read_text().strip() == here("completion", "bash").stdout.strip()
    assert (tmp_path / ".bashrc").read_text().split("\n") == ["alias ll='ls -l'", f"source '{script}'", ""]
    here("completion", "bash", "--install", env={"HOME": str(tmp_path)})
    assert (tmp_path / ".bashrc").read_text().count(str(script)) == 1


def test_nothing_is_installed_for_powershell(tmp_path: Path) -> None:
    done = here("completion", "pwsh", "--install", env={"HOME": str(tmp_path)})
    assert done.returncode == 1
    assert "add the output of kbkit completion pwsh to its profile" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_typers_own_options_are_gone() -> None:
    assert "completion" not in here("--help").stdout.replace("  completion ", "")
    assert here("--show-completion").returncode == 2
