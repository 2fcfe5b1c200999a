"""What the papers' commands have in common: run, make, eval, stats and annotate.

A paper writes a function of what it alone has. A decorator of this file makes it a command: it adds the options that
all papers share, opens KBs and models, resumes, reports costs, and shows figures beside those of the paper.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kbkit.cli.judging import Elsewhere, InBrowser, judge
from kbkit.cli.models import NO_MODELS, ModelOptions, is_default, stages
from kbkit.cli.options import Format, Kb, Output, PerQuery, Plot, Rendering, Restart, draw, note
from kbkit.cli.tables import Table, check_table, print_sections, write_tables

if TYPE_CHECKING:
    import polars as pl

    from kbkit.benchmarks.costs import CostSummary
    from kbkit.benchmarks.document_index import DocumentIndex
    from kbkit.benchmarks.people.tasks import Task
    from kbkit.cli.tables import Titled
    from kbkit.display.charts import Chart
    from kbkit.kb import KnowledgeBase
    from kbkit.llm.calls import Calls
    from kbkit.search.learn import RankedPair
    from kbkit.stores.arrays import Within

Command = Callable[..., None]
Values = dict[str, Any]
Options = Mapping[str, tuple[Any, Any]]
"""Parameters of a command: their annotations and defaults."""
REQUIRED = inspect.Parameter.empty
TRAIN = "train"
"""Split that mode ``learned`` learns from."""


def _command(
    function: Callable[..., Any], first: Options, last: Options, work: Callable[[typer.Context, Values], None]
) -> Command:
    """Return a command that calls ``work`` with the context and the values of its options.

    Its options are ``first``, those of ``function`` except what the factory fills in, and ``last``.
    """
    function.__annotations__.pop("return", None)  # its module may be imported for type checkers only
    keyword = inspect.Parameter.KEYWORD_ONLY
    own = inspect.signature(function, eval_str=True).parameters.values()
    options = [
        *(inspect.Parameter(name, keyword, annotation=kind, default=value) for name, (kind, value) in first.items()),
        *(parameter.replace(kind=keyword) for parameter in own if not _is_filled_in(parameter, {*first, *last})),
        *(inspect.Parameter(name, keyword, annotation=kind, default=value) for name, (kind, value) in last.items()),
    ]
    context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)

    def command(context: typer.Context, **values: Any) -> None:
        work(context, values)

    command.__signature__ = inspect.Signature([context, *options])  # type: ignore[attr-defined]
    command.__doc__, command.__name__, command.__module__ = function.__doc__, function.__name__, function.__module__
    return command


def _is_filled_in(parameter: inspect.Parameter, known: Collection[str]) -> bool:
    return parameter.name in known or parameter.annotation in (PaperSession, Shown, typer.Context)


def _given(function: Callable[..., Any], **available: object) -> Values:
    """Return the values that the factory fills in, as far as the function has parameters for them."""
    return {name: value for name, value in available.items() if name in inspect.signature(function).parameters}


# -- figures ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shown(Rendering):
    """How figures are shown: the values of the options that all papers share."""

    table: int | None = None
    per_query: bool = False
    plot: Path | None = None

    def rounded(self, frame: pl.DataFrame, digits: int) -> pl.DataFrame:
        """Return a table with its fractions rounded on a screen, unchanged in a file."""
        import polars.selectors as cs

        return frame.with_columns(cs.float().round(digits)) if self.on_screen else frame


SHOWN: Options = {
    "table": (Table, None),
    "per_query": (PerQuery, False),
    "plot": (Plot, None),
    "format": (Format, None),
    "output": (Output, None),
}
"""The options of :class:`Shown`, in the order of the help."""


@dataclass(frozen=True)
class PaperFigures:
    """The figures of a dataset or of runs, and remarks on them. Iterables and functions are used if they are shown.

    * ``tables``: numbered tables of the paper, of which a file holds one
    * ``sections``: titles and tables for a screen, and ``records`` all of them as one table for a file
    * ``per_query``: the scores of each query
    """

    remarks: Iterable[str] = ()
    tables: Iterable[Titled] = ()
    sections: Iterable[tuple[str, pl.DataFrame]] | None = None
    records: Callable[[], pl.DataFrame] | None = None
    per_query: Callable[[], pl.DataFrame] | None = None
    charts: Callable[[], Sequence[Chart]] | None = None
    exit_code: int = 0
    """The exit code of the command, after they are shown."""


@dataclass(frozen=True)
class FiguresForm:
    """Which options a command has that shows figures, and how its tables are printed.

    ``numbers`` are those of the paper's tables; ``options`` the names of further options of :data:`SHOWN`.
    ``one_table``: a file can only hold one of the tables, which --table chooses. See :func:`write_tables` for ``short``
    and ``by_system``.
    """

    numbers: Sequence[int] = ()
    options: Collection[str] = ("format", "output")
    one_table: bool = True
    short: Mapping[str, str] = field(default_factory=dict)
    by_system: Collection[int] = ()

    def added(self) -> Options:
        """Return the options."""
        names = {*self.options, *(("table",) if self.numbers else ())}
        return {name: option for name, option in SHOWN.items() if name in names}

    def taken(self, values: Values) -> Shown:
        """Take the values of the options out of ``values``. Raises the errors of showing, in advance."""
        shown = Shown(**{name: values.pop(name) for name in self.added()})
        if self.numbers:
            one_table = self.one_table and not shown.per_query
            check_table(shown.table, self.numbers, shown, per_query=shown.per_query, one=one_table)
        else:
            shown.check()
        return shown

    def show(self, context: typer.Context, figures: PaperFigures, shown: Shown) -> None:
        """Show figures as the options say."""
        note(context, figures.remarks)
        if figures.charts is not None:
            draw(context, shown.plot, figures.charts)
        if shown.per_query and figures.per_query is not None:
            shown.write(figures.per_query())
        elif figures.sections is not None and (shown.on_screen or figures.records is None):
            print_sections(figures.sections)
        elif figures.records is not None:
            shown.write(figures.records())
        else:
            titled, form = list(figures.tables), {"short": self.short, "by_system": self.by_system}
            write_tables(titled, shown.table, shown, **form)  # type: ignore[arg-type]


def figures(form: FiguresForm) -> Callable[[Callable[..., PaperFigures]], Command]:
    """Make a command of a function that computes figures: eval, stats and the like."""

    def decorate(function: Callable[..., PaperFigures]) -> Command:
        def work(context: typer.Context, values: Values) -> None:
            shown = form.taken(values)
            found = function(**values, **_given(function, context=context, shown=shown))
            form.show(context, found, shown)
            if found.exit_code:
                raise typer.Exit(found.exit_code)

        return _command(function, {}, form.added(), work)

    return decorate


@contextlib.contextmanager
def opened_if_given(kb: Path | None) -> Iterator[KnowledgeBase | None]:
    """Open the KB of ``--kb``, if that is given."""
    from kbkit.kb import KnowledgeBase

    if kb is None:
        yield None
        return
    with KnowledgeBase(kb) as base:
        yield base


# -- runs and datasets ------------------------------------------------------------------------------------------------


@dataclass
class PaperSession:
    """What a command works with that runs systems or makes a dataset."""

    context: typer.Context
    kbs: Sequence[KnowledgeBase]
    calls: Calls | None
    replace: bool
    shown: Shown
    figures: Callable[[], PaperFigures] | None = None
    """The figures of the finished runs; they are shown at the end, even if the budget of the models is spent."""
    count: int = 0
    """Number of finished runs."""
    opened: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    """What is closed at the end of the command."""

    @property
    def kb(self) -> KnowledgeBase:
        """The only KB."""
        [kb] = self.kbs
        return kb

    @property
    def quiet(self) -> bool:
        """Whether ``--quiet`` is given."""
        return bool(self.context.obj.quiet)

    def note(self, lines: Iterable[str]) -> None:
        """Print lines on standard error, unless ``--quiet`` is given."""
        note(self.context, lines)

    def finished(self, name: str, costs: CostSummary | None) -> None:
        """Print what a finished run cost."""
        self.count += 1
        self.note(costs.lines(name) if costs is not None else ())

    def document_index(self, dataset: Path, folder: Path | None, modes: Sequence[str]) -> DocumentIndex | None:
        """Open the index of a dataset's documents until the end of the command; None if it has no documents."""
        from kbkit.benchmarks.document_index import document_index
        from kbkit.cli.progress import bars

        with bars(self.context.obj.quiet) as listener:
            index = self.opened.enter_context(document_index(dataset, folder, self.kb, modes, listener))
        if index is not None:
            self.note([f"Searched the {index.documents.height:,} documents of {dataset}"])
        return index

    def learn(
        self, modes: Sequence[str], split: str, examples: Callable[[], Iterable[RankedPair]], within: Within
    ) -> None:
        """Learn the ranking of mode ``learned``, if it is run, from the training queries, unless the workspace has one.

        ``split`` is run, and ``examples`` reads those of :data:`TRAIN`; see :func:`kbkit.search.learn.learn_for_mode`.
        """
        from kbkit.search.learn import learn_for_mode
        from kbkit.search.learned import required
        from kbkit.search.settings import LEARNED

        if LEARNED not in modes:
            return
        if split == TRAIN:
            required(self.kb.stores)
        with self.progress(f"learn {LEARNED}", "queries") as progress:
            self.note(learn_for_mode(self.kb.stores, examples, within, progress))

    @contextlib.contextmanager
    def progress(self, name: str, unit: str = "") -> Iterator[Callable[[int, int], None]]:
        """Draw a bar for the items of a run; models draw none for the calls of each item."""
        from kbkit.cli.progress import bars
        from kbkit.display.progress import Event

        with contextlib.ExitStack() as stack:
            if self.calls is None:
                listen = stack.enter_context(bars(self.context.obj.quiet))
            else:
                listen, self.calls.listen = self.calls.listen, None
                stack.callback(setattr, self.calls, "listen", listen)
            yield lambda done, total: listen(Event(name, done, total, unit)) if listen else None

    @contextlib.contextmanager
    def stages(self) -> Iterator[Callable[[str, int, int], None]]:
        """Draw a bar for each stage, next to those of model calls."""
        with stages(self.context, self.calls) as step:
            yield step


def systems_run(
    form: FiguresForm, *, kb: bool = True, no_models: Collection[str] = ()
) -> Callable[[Callable[..., None]], Command]:
    """Make a command of a function that runs systems on a dataset: its ``session`` shows the figures at the end.

    Without a ``kb``, the calls of models are recorded in the folder ``dataset``. If one of the switches ``no_models``
    is given, the models of the environment are not used.
    """

    def decorate(function: Callable[..., None]) -> Command:
        def work(context: typer.Context, values: Values) -> None:
            shown, models = form.taken(values), values.pop("models")
            if any(values[name] for name in no_models) and is_default(context):
                models = NO_MODELS
            with _session(context, values, shown) as session:
                try:
                    with models.opened(context, session.kbs[0] if kb else values["dataset"]) as session.calls:
                        function(session=session, **values, **_given(function, models=models))
                finally:
                    if session.figures is not None and session.count:
                        form.show(context, session.figures(), shown)

        return _command(function, {"kb": (Kb, REQUIRED)} if kb else {}, {**_RESUMED, **form.added()}, work)

    return decorate


def maker(*, many: Any = None) -> Callable[[Callable[..., Iterable[str]]], Command]:
    """Make a command of a function that makes a dataset and returns lines about it.

    It has one KB, or with the argument ``many`` several.
    """

    def decorate(function: Callable[..., Iterable[str]]) -> Command:
        def work(context: typer.Context, values: Values) -> None:
            from kbkit.display.render import clean

            models = values.pop("models")
            with _session(context, values, Shown()) as session:
                with models.opened(context, session.kbs[0]) as session.calls:
                    lines = function(session=session, **values)
                for line in () if context.obj.quiet else lines:
                    typer.echo(clean(line))

        return _command(function, {"kb": (many or Kb, REQUIRED)}, _RESUMED, work)

    return decorate


_RESUMED: Options = {"replace": (Restart, False), "models": (ModelOptions, NO_MODELS)}


@contextlib.contextmanager
def _session(context: typer.Context, values: Values, shown: Shown) -> Iterator[PaperSession]:
    """Open the KBs that the options name: one, several, or none if the command has no KB."""
    from kbkit.kb import KnowledgeBase

    given = values.pop("kb", [])
    with contextlib.ExitStack() as stack:
        kbs = [stack.enter_context(KnowledgeBase(path)) for path in ([given] if isinstance(given, Path) else given)]
        session = PaperSession(context, kbs, None, values.pop("replace"), shown)
        with session.opened:
            yield session


# -- people -----------------------------------------------------------------------------------------------------------


def judged(function: Callable[..., Task]) -> Command:
    """Make a command of a function that returns the task of a person.

    The person judges in the terminal, in a browser, or in another program that takes the task and gives answers back.
    """

    def work(context: typer.Context, values: Values) -> None:
        browser, elsewhere = values.pop("browser"), values.pop("elsewhere")
        task = function(**values)
        if not elsewhere.used(context, task):
            judge(context, task, browser)

    return _command(function, {}, {"browser": (InBrowser, False), "elsewhere": (Elsewhere, REQUIRED)}, work)
