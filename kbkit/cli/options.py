"""Arguments and options that several commands share, and how to parse their values."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kbkit.errors import KbError, Option, UnknownNameError, plural

if TYPE_CHECKING:
    import polars as pl

    from kbkit.display.charts import Chart
    from kbkit.graph.neighbourhoods import Neighbourhood
    from kbkit.graph.paths import Paths

RARE = "Rare options"
"""Panel of the options that ``--help`` leaves out where a command has many."""


def option(usage: str, text: str, *, rare: bool = False, **settings: Any) -> Any:
    """Declare an option by its line of help: names and metavar, as in ``--output -o FILE``, and text."""
    names = [word for word in usage.split() if word.startswith("-")]
    metavar = usage.removeprefix(" ".join(names)).strip() or None
    return typer.Option(*names, metavar=metavar, help=text, rich_help_panel=RARE if rare else None, **settings)


def argument(metavar: str, text: str, **settings: Any) -> Any:
    """Declare an argument."""
    return typer.Argument(metavar=metavar, help=text, **settings)


Kb = Annotated[Path, argument("KB", "Directory of the KB.")]
Node = Annotated[str, argument("NODE", "Name, key, type:name, type#key, or #ID.")]
Format = Annotated[
    str | None,
    option(
        "--format -f FORMAT",
        "Output format: table, json, ndjson, csv, markdown or parquet (default: by the suffix of -o, else table).",
    ),
]
Wrap = Annotated[bool, option("--wrap", "Show long cells of a table in full.")]
Output = Annotated[Path | None, option("--output -o FILE", "Output file (default: standard output).")]
DrawnOutput = Annotated[
    Path | None,
    option("--output -o FILE", "Output file: a drawing (.html, .svg, .png), a graph (.graphml, .dot) or a table."),
]
DatasetOutput = Annotated[Path, option("--output -o FOLDER", "Folder of the dataset.")]
Timeout = Annotated[float, option("--timeout SECONDS", "Seconds before a query is cancelled (0: no limit).")]
Dialect = Annotated[
    str | None,
    option("--dialect NAME", "SPARQL dialect: sparql, or wikidata for the Wikidata Query Service (default: the KB's)."),
]
Seed = Annotated[int, option("--seed N", "Random seed, for reproducible output.")]
MaxRows = Annotated[int, option("--limit -n N", "Maximum number of rows.")]
RowLimit = Annotated[int, option("--row-limit N", "Maximum number of rows per query.", min=1)]
Restart = Annotated[bool, option("--replace", "Discard an existing run and start over.")]
Params = Annotated[list[str] | None, option("--param -p NAME=VALUE", "Value of a parameter; repeatable.")]
Type = Annotated[str | None, option("--type -t TYPE", "Node type of the results.")]
Types = Annotated[list[str] | None, option("--type -t TYPE", "Node type of the results; repeatable.")]
Relations = Annotated[list[str] | None, option("--relation -r RELATION", "Relation to follow; repeatable.")]
PerQuery = Annotated[bool, option("--per-query", "Show the scores of each query instead of means.")]
Without = Annotated[
    list[str] | None,
    option("--without ACTION", "Disable search, entry or examples; repeatable.", rare=True),
]
Template = Annotated[str | None, option("--template ID", "Template to use (see kbkit template list).")]
Catalogues = Annotated[
    list[Path] | None,
    option("--from FILE", "Template catalogue of your own (TOML); repeatable.", rare=True),
]
Parts = Annotated[
    list[str] | None,
    option("--part EXPR", "Expression for a part ({A}) of a template; repeatable.", rare=True),
]
Constraints = Annotated[
    list[str] | None,
    option("--constraint NAME=VALUE", "Constraint on the operands of a set operation; repeatable.", rare=True),
]
Sampling = Annotated[str, option("--sampling HOW", "Sampling: uniform, or popular to prefer nodes of high degree.")]
Rater = Annotated[str, option("--rater NAME", "Name of the person who rates.")]
Raters = Annotated[list[str] | None, option("--raters NAME", "Rater to use (default: all); repeatable.")]
MaxAnswers = Annotated[int, option("--max-answers N", "Maximum number of answers per query.")]


def plot_file(path: Path | None) -> Path | None:
    """Check that a chart can be written to ``path``, before any work is done."""
    if path is not None:
        from kbkit.display import charts

        charts.check(path)
    return path


Plot = Annotated[
    Path | None,
    option("--plot FILE", "Draw charts to a .html, .svg or .png file.", callback=plot_file),
]


def list_systems(wanted: bool) -> None:
    """List the kinds of retrieval systems, and exit."""
    if wanted:
        from kbkit.display.render import write
        from kbkit.search.system_kinds import listed

        write(listed(), None, None)
        raise typer.Exit


Systems = Annotated[
    bool,
    option(
        "--systems",
        "List retrieval systems, installed or not, and exit.",
        rare=True,
        callback=list_systems,
        is_eager=True,
    ),
]


def picture_file(path: Path | None) -> Path | None:
    """Check that a graph can be drawn to ``path``, before any work is done."""
    if path is not None:
        from kbkit.display import drawing

        drawing.check(path)
    return path


Picture = Annotated[
    Path | None,
    option("--plot FILE", "Draw to a file too (.html, .svg, .png, .graphml, .dot).", callback=picture_file),
]


@dataclass(frozen=True)
class Rendering:
    """How a command shows its rows: their format, and the file that they go to."""

    format: Format = None
    output: Output = None

    @property
    def on_screen(self) -> bool:
        """Whether the result is a table or page on standard output."""
        return self.output is None and self.format in (None, "table")

    @property
    def cut(self) -> str:
        """The option that shows the whole cells of a table; empty if they are shown."""
        return ""

    def check(self, more: Sequence[str] = ()) -> None:
        """Raise the errors of :meth:`write` in advance; that of an unknown format lists ``more`` formats too."""
        from kbkit.display.render import check

        check(self.format, self.output, more)

    def write(self, frame: pl.DataFrame, prefixes: Mapping[str, str] | None = None) -> None:
        """Write rows; see :func:`kbkit.display.render.write`."""
        from kbkit.display.render import write

        write(frame, self.format, self.output, cut=self.cut, prefixes=prefixes)


@dataclass(frozen=True)
class TableRendering(Rendering):
    """Also whether a table has whole cells."""

    wrap: Wrap = False

    @property
    def cut(self) -> str:
        """See :class:`Rendering`."""
        return "" if self.wrap else "--wrap"


@dataclass(frozen=True)
class DrawnRendering(Rendering):
    """A graph, of which a file can also have a drawing."""

    output: DrawnOutput = None

    def is_drawing(self) -> bool:
        """Return whether ``-o`` names a drawing and not a table; check that either can be written."""
        from kbkit.display import drawing, render

        if self.output is None or self.format is not None or self.output.suffix in render.ENDINGS:
            self.check()
            return False
        drawing.check(self.output)
        return True


def write_drawing(context: typer.Context, found: Neighbourhood | Paths, path: Path | None) -> None:
    """Write a drawing and report it; do nothing without a path."""
    if path is not None:
        found.write(path)
        note(context, [f"{path}: {found.drawing().summary}"])


def draw(context: typer.Context, path: Path | None, charts: Callable[[], Sequence[Chart]]) -> None:
    """Draw ``charts()`` to ``path`` and report it; do nothing without a path."""
    if path is None:
        return
    from kbkit.display.charts import write

    drawn = charts()
    write(drawn, path)
    note(context, [f"{path}: {plural(len(drawn), 'chart')}"])


def note(context: typer.Context, lines: Iterable[str]) -> None:
    """Print lines on standard error, unless ``--quiet`` is given."""
    if context.obj.quiet:
        return
    from kbkit.display.render import clean

    for line in lines:
        typer.echo(clean(line), err=True)


def seconds(timeout: float) -> float | None:
    """Return the timeout in seconds, None for no limit."""
    if timeout < 0:
        raise KbError(f"Invalid timeout: {timeout:g}", "Use a number of seconds, or 0 for no limit")
    return timeout or None


def read_input() -> str:
    """Read standard input as UTF-8."""
    try:
        return sys.stdin.read()
    except UnicodeDecodeError:
        raise KbError("Invalid UTF-8 in standard input", "Convert it to UTF-8, for example with iconv") from None


def split_options(
    arguments: Iterable[str], known: Iterable[str], context: typer.Context, switches: Collection[str] = ()
) -> tuple[list[str], dict[str, str]]:
    """Split arguments into positional ones and ``--name value`` or ``--name=value`` of the options ``known``.

    ``--name`` of one of ``switches``, without a value, means ``--name yes``. After ``--`` all arguments are positional.
    Raises :class:`UnknownNameError` for an option that is neither in ``known`` nor an option of the command.
    """
    options: dict[str, str] = {}
    rest: list[str] = []
    words = deque(arguments)
    choices = [f"--{name.replace('_', '-')}" for name in known]
    while words:
        word = words.popleft()
        if word == "--":
            return [*rest, *words], options
        if not word.startswith("-") or word == "-":
            rest.append(word)
            continue
        name, sign, value = word.partition("=")
        if name not in choices:
            own = [option for parameter in context.command.params for option in parameter.opts if option[:2] == "--"]
            raise UnknownNameError("option", name, [*choices, *own], context.command_path)
        key = name[2:].replace("-", "_")
        if not sign and key in switches and (not words or words[0] not in ("yes", "no")):
            value = "yes"
        elif not sign and not words:
            raise KbError(f"Option {name} needs a value", f"Use {name} VALUE")
        elif not sign:
            value = words.popleft()
        options[key] = value
    return rest, options


def pairs(values: Iterable[str] | None, option: str, example: str = "limit=10") -> dict[str, str]:
    """Return ``name=value`` strings as a mapping; ``option`` is the name of the parameter that holds them."""
    result = {}
    for value in values or ():
        name, sign, rest = value.partition("=")
        if not sign or not name:
            raise KbError(f"Expected NAME=VALUE, found {value!r}", "For example ", Option(option, example))
        result[name] = rest
    return result


def numbers(values: Iterable[str] | None, option: str, example: str) -> dict[str, float]:
    """Return ``name=number`` strings as a mapping."""
    return {name: number(text, option, example) for name, text in pairs(values, option, example).items()}


def number(text: str, option: str, example: str) -> float:
    """Parse a finite number."""
    import math

    try:
        value = int(text) if text.lstrip("+-").isdecimal() else float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise KbError(f"Invalid number {text!r}", "For example ", Option(option, example))
    return value
