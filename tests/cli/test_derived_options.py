"""Options derived from dataclasses: types, switches, repeated and joined values, and rare ones."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

import kbkit
from kbkit.assets.operations import Setting, described
from kbkit.cli.commands import add
from kbkit.cli.options import RARE
from kbkit.errors import KbError
from kbkit.ingestion.request import Delta, IngestRequest
from tests.cli.test_cli import ALL
from tests.console import good


@dataclass(frozen=True)
class Poll:
    count: Annotated[int, Setting("Number of questions.", least=1)] = 3
    weight: Annotated[str, Setting("Sampling.", choices=("uniform", "popular"))] = "uniform"
    closed: Annotated[bool, Setting("Close it.")] = False
    counted: Annotated[bool, Setting("Count votes.")] = True
    with_names: Annotated[bool, Setting("Ask for names.")] | None = None
    share: Annotated[float, Setting("Fraction (default: all).", "FRACTION")] | None = None
    types: Annotated[Sequence[str], Setting("Type.", "TYPE")] = ()
    fractions: Annotated[Sequence[float], Setting("Parts.", "A,B,C", name="splits", joined=True, example="1,2")] = ()
    files: Annotated[Mapping[str, Path], Setting("File.", "NAME=FILE", example="a=b")] = field(default_factory=dict)
    keys: Annotated[Mapping[str, Sequence[str]], Setting("Key.", "TABLE=COLUMN")] = field(default_factory=dict)
    hidden: int = 7


@dataclass(frozen=True)
class Shown:
    wide: Annotated[bool, typer.Option("--wide", help="Wide.")] = False


seen: list[Any] = []


def poll(name: Annotated[str, typer.Argument(help="Name.")], settings: Poll, shown: Shown, last: int = 0) -> None:
    """Take a poll."""
    seen.append((name, settings, shown, last))


@pytest.fixture(scope="module")
def app() -> typer.Typer:
    made = typer.Typer(rich_markup_mode=None)
    add(made, poll)
    return made


def taken(app: typer.Typer, *args: str) -> Any:
    done = CliRunner().invoke(app, ["x", *args], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return seen.pop()


def test_defaults_are_those_of_the_dataclass(app: typer.Typer) -> None:
    assert taken(app) == ("x", Poll(), Shown(), 0)


@pytest.mark.parametrize(
    ("args", "changes"),
    [
        (["--limit", "5"], {"count": 5}),
        (["-n", "5"], {"count": 5}),
        (["--sampling", "popular"], {"weight": "popular"}),
        (["--closed"], {"closed": True}),
        (["--no-counted"], {"counted": False}),
        (["--with-names"], {"with_names": True}),
        (["--without-names"], {"with_names": False}),
        (["--share", "0.5"], {"share": 0.5}),
        (["-t", "a", "--type", "b"], {"types": ("a", "b")}),
        (["--splits", "0.5, 0.5"], {"fractions": (0.5, 0.5)}),
        (["--file", "a=b/c"], {"files": {"a": Path("b/c")}}),
        (["--key", "a=x,y", "--key", "b="], {"keys": {"a": ("x", "y"), "b": ()}}),
    ],
)
def test_every_kind_of_option(app: typer.Typer, args: list[str], changes: dict[str, Any]) -> None:
    assert taken(app, *args)[1] == Poll(**changes)


def test_dataclasses_of_options(app: typer.Typer) -> None:
    assert taken(app, "--wide", "--last", "2")[2:] == (Shown(wide=True), 2)


@pytest.mark.parametrize(("args", "hint"), [(["--file", "a"], "--file a=b"), (["--splits", "1,x"], "--splits 1,2")])
def test_invalid_values_name_the_option(app: typer.Typer, args: list[str], hint: str) -> None:
    from kbkit.cli.spelling import SPELLER

    with pytest.raises(KbError) as caught:
        CliRunner().invoke(app, ["x", *args], catch_exceptions=False)
    assert hint in caught.value.hint_for(SPELLER)


def test_help_of_derived_options(app: typer.Typer) -> None:
    text = CliRunner().invoke(app, ["--help"]).output
    assert "-n, --limit N" in text
    assert "Number of questions.  [default: 3]" in text
    assert "Type; repeatable." in text
    assert "Fraction (default: all).\n" in text
    assert "--hidden" not in text


# -- rare options -----------------------------------------------------------------------------------------------------

WITH_RARE = {path: command for path, command in ALL.items() if any(p.name == "help_all" for p in command.params)}


def test_help_of_ingest_fits_one_screen(here) -> None:
    lines = good(here("ingest", "--help")).splitlines()
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("path", WITH_RARE, ids=" ".join)
def test_rare_options_are_counted_and_listed_on_request(here, path: tuple[str, ...]) -> None:
    rare = [p for p in WITH_RARE[path].params if p.rich_help_panel == RARE]
    short, whole = good(here(*path, "--help")), good(here(*path, "--help-all"))
    assert rare
    assert short.splitlines()[-1] == f"--help-all lists {len(rare)} more option{'s' * (len(rare) > 1)}."
    for option in rare:
        assert option.opts[-1] in whole
        assert f" {option.opts[-1]} " not in short.replace("\n", " ")
    assert "--help-all" not in whole


def test_commands_list_at_most_fifteen_options() -> None:
    """Those with more leave out the rare ones."""
    for path, command in ALL.items():
        if not hasattr(command, "commands"):
            listed = [p for p in command.params if p.param_type_name == "option" and p.name != "help_all"]
            assert len([p for p in listed if path not in WITH_RARE or p.rich_help_panel != RARE]) <= 15, path


# -- one description --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("function", "kind"), [(kbkit.ingest, IngestRequest), (kbkit.update, Delta)])
def test_python_takes_the_described_settings(function: Any, kind: type) -> None:
    """The signature, which tools read, has the names and the defaults of the description; None stands for empty."""
    parameters = inspect.signature(function).parameters
    own = {"source", "paths", "path", "out", "progress"}
    assert {field.name for field in described(kind)} == set(parameters) - own
    for field_ in described(kind):
        assert parameters[field_.name].default in (field_.default, None if not field_.default else field_.default)
