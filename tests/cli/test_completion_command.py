"""The command completion: scripts in real shells, and candidates."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.console import here, one_line
from tests.wording import Wording

BIN = str(Path(sys.executable).parent)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a folder with two KBs (one without the suffix), another folder, and names that need quotes."""
    for name in ("world.kb", "atlas", "words", "two words.kb", "$(touch hit).kb"):
        (tmp_path / name).mkdir()
    (tmp_path / "atlas" / "CURRENT").write_text("0001\n")
    (tmp_path / "worse.kb").write_text("a file")
    return tmp_path


def candidates(run: Run, line: str, cwd: Path | None = None) -> list[str]:
    """Return the candidates in bash for a line that ends at the cursor."""
    words = line.split(" ")
    env = {"_KBKIT_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = run(cwd=cwd, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def test_commands_and_options(run: Run) -> None:
    assert candidates(run, "kbkit inf") == ["info"]
    assert {"ingest", "sql", "stark", "sets", "completion"} < set(candidates(here, "kbkit "))
    assert candidates(here, "kbkit sets ") == ["list", "show", "drop"]
    assert candidates(here, "kbkit -q info --form") == ["--format"]
    assert candidates(here, "kbkit --") == ["--quiet", "--debug", "--version", "--help"]


@pytest.mark.system
def test_knowledge_bases(run: Run, place: Path) -> None:
    assert candidates(run, "kbkit info ", place) == ["atlas", "world.kb"]
    assert candidates(run, "kbkit info wor", place) == ["world.kb"]
    assert candidates(run, f"kbkit check {place}/", place) == [f"{place}/atlas", f"{place}/world.kb"]
    assert candidates(run, "kbkit stark run wo", place) == ["world.kb"]
    assert candidates(run, "kbkit template s") == ["show", "suggest", "sample"]
    assert candidates(run, "kbkit info none/", place) == []


@pytest.mark.system
@pytest.mark.parametrize(
    ("line", "some"),
    [
        ("kbkit ingest w", {"webqsp", "wikidata", "wikitablequestions", "world"}),
        ("kbkit fetch hetio", {"hetionet"}),
        ("kbkit sql my.kb stark/mag_a", {"stark/mag_author"}),
        ("kbkit sparql my.kb stark/mag_a", {"stark/mag_author"}),
        ("kbkit docs wikid", {"wikidata"}),
        ("kbkit answers my.kb --template mag/i", {"mag/institution", "mag/institution_and_field"}),
        ("kbkit stark make my.kb --template mag/i", {"mag/institution", "mag/institution_and_field"}),
        ("kbkit sql my.kb --format ndj", {"ndjson"}),
        ("kbkit export my.kb --format n", {"ntriples"}),
        ("kbkit search my.kb words --mode mul", {"multivector"}),
        ("kbkit build my.kb tr", {"triples"}),
        ("kbkit completion f", {"fish"}),
        ("kbkit recipe show hetio", {"hetionet"}),
        ("kbkit template show mag/i", {"mag/institution", "mag/institution_and_field"}),
    ],
)
def test_values(run: Run, line: str, some: set[str]) -> None:
    assert set(candidates(run, line)) == some


def test_candidates_belong_to_existing_parameters() -> None:
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
    assert set(completion._CANDIDATES) <= known


def test_candidates_match_the_code() -> None:
    from kbkit import export
    from kbkit.answers import templates as catalogue
    from kbkit.assets import queries
    from kbkit.cli import completion
    from kbkit.directory import manifest
    from kbkit.display import render
    from kbkit.executor import languages
    from kbkit.ingestion import recipe
    from kbkit.ingestion.generate import SHAPES
    from kbkit.search import settings

    def listed(name: str) -> list[str]:
        return list(completion._CANDIDATES[name](""))

    assert listed("format") == list(render.FORMATS)
    assert sorted(listed("mode")) == sorted([settings.AUTO, *settings.MODES, settings.LEARNED])
    assert listed("shell language") == [languages.AUTO, *languages.LANGUAGES]
    assert listed("export format") == list(export.FORMATS)
    assert sorted(listed("stores")) == sorted(manifest.ALL_STORES)
    assert listed("ingest source") == recipe.names()
    assert listed("generate shape") == list(SHAPES)
    assert sorted(listed("template")) == sorted(template.id for template in catalogue.shipped())
    assert listed("query show name") == [query.name for query in queries.all_shipped()]


# -- in shells --------------------------------------------------------------------------------------------------------


def in_shell(command: list[str], cwd: Path) -> str:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not here")
    env = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "HOME": str(cwd), "TERM": "dumb"}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.system
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


@pytest.mark.system
def test_in_zsh(place: Path) -> None:
    script = """
        autoload -Uz compinit; compinit -u
        _arguments() { print -r -- "$@" }
        eval "$(kbkit completion zsh)"
        words=(kbkit info wo); CURRENT=3; _kbkit_completion
    """
    assert in_shell(["zsh", "-f", "-c", script], place) == '*: :(("world.kb"))\n'
    assert not (place / "hit").exists()


@pytest.mark.system
def test_in_fish(place: Path) -> None:
    script = "kbkit completion fish | source; complete -C 'kbkit info wo'; complete -C 'kbkit docs wikid'"
    assert in_shell(["fish", "--no-config", "-c", script], place).split() == ["world.kb", "wikidata"]


# -- the command ------------------------------------------------------------------------------------------------------


@pytest.mark.core
def test_the_default_is_the_shell_of_the_user(wording: Wording) -> None:
    assert here("completion", env={"SHELL": "/usr/bin/zsh"}).stdout.startswith("#compdef kbkit\n")
    wording(one_line(here("completion", env={"SHELL": "/bin/csh"})), "cli")


def test_unknown_shells() -> None:
    assert "'csh'" in one_line(here("completion", "csh"))


def test_installed_where_the_shell_finds_it(tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text("alias ll='ls -l'")
    done = here("completion", "bash", "--install", env={"HOME": str(tmp_path)})
    script = tmp_path / ".bash_completions" / "kbkit.sh"
    assert done.stderr == f"Installed {script}; open a new terminal to use it\n"
    assert script.read_text().strip() == here("completion", "bash").stdout.strip()
    assert (tmp_path / ".bashrc").read_text().split("\n") == ["alias ll='ls -l'", f"source '{script}'", ""]
    here("completion", "bash", "--install", env={"HOME": str(tmp_path)})
    assert (tmp_path / ".bashrc").read_text().count(str(script)) == 1


def test_nothing_is_installed_for_powershell(tmp_path: Path) -> None:
    done = here("completion", "pwsh", "--install", env={"HOME": str(tmp_path)})
    assert "kbkit completion pwsh" in one_line(done)
    assert list(tmp_path.iterdir()) == []


def test_typers_own_options_are_off() -> None:
    assert "-completion" not in here("--help").stdout
    assert here("--show-completion").returncode == 2
