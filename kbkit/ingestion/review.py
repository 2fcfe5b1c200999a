"""Review of an inferred recipe by a person: what each table and column becomes, corrections, and the build.

A front end shows :meth:`IngestReview.tables`, calls :meth:`IngestReview.correct`, and at the end
:meth:`IngestReview.build`.
"""

from __future__ import annotations

import contextlib
import shlex
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kbkit.directory.generations import KbDirectory
from kbkit.display.progress import Listener
from kbkit.errors import BadInputError, KbError, Option
from kbkit.ingestion.build import ingest
from kbkit.ingestion.inference import Examination, Inferred, examined, script
from kbkit.ingestion.inference.profile import ProfiledTable
from kbkit.ingestion.inference.roles import TablePlan
from kbkit.ingestion.inference.source import is_files, only_files, resolved
from kbkit.ingestion.inference.summary import summary
from kbkit.ingestion.inference.table_link import TableLink
from kbkit.ingestion.inference.unsure import UnsureGuess
from kbkit.ingestion.recipe import as_files
from kbkit.ingestion.request import Corrections, IngestRequest, IngestSettings

_SAMPLES, _READ = 3, 30
"""Values of a column that are shown, and rows that are read for them."""
ATTRIBUTE, TEXT, NODES, OMIT, LINK, DATE, KEY, NAME, OTHER = (
    "attribute", "text", "nodes", "omit", "link", "date", "key", "name", "other"
)  # fmt: skip
"""What a column becomes; ``DATE`` is that of a column of several forms of dates, ``OTHER`` are aliases, types and
relations.
"""


MERGE = "merge"
"""The correction that merges rows with the same key; it is taken back by itself."""


@dataclass(frozen=True)
class GuessChoice:
    """A guess that may be wrong, with the correction that a front end offers; without one, ``what`` is empty."""

    message: str
    what: str = ""
    table: str = ""
    column: str = ""
    value: str = ""


@dataclass(frozen=True)
class ReviewedColumn:
    """A column: what its values look like, some of them, what it becomes, and the table that it refers to or the kind
    of dates that it holds. ``is_dated``: the values look like dates in several forms. ``type`` is that of values that
    are nodes of their own.
    """

    name: str
    look: str
    missing: int
    distinct: int
    samples: Sequence[str]
    becomes: str
    target: str = ""
    is_dated: bool = False
    type: str = ""


@dataclass(frozen=True)
class ReviewedTable:
    """A table: what it becomes in words, its node type if its rows are nodes, their key and the columns of names, and
    whether its rows are edges, with their relation (empty: a column has it) and the types at their ends.
    """

    name: str
    rows: int
    becomes: str
    type: str
    key: Sequence[str]
    named: Sequence[str]
    is_edges: bool
    columns: Sequence[ReviewedColumn]
    relation: str = ""
    ends: Sequence[str] = ()


@dataclass
class IngestReview:
    """A source under review. ``inferred`` is the recipe with the ``corrections``, ``former`` are earlier corrections.

    Its methods may be called by several threads.
    """

    files: Sequence[Path]
    out: Path
    settings: IngestSettings
    examination: Examination
    corrections: Corrections
    inferred: Inferred
    former: list[Corrections] = field(default_factory=list)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def correct(self, what: str, table: str, column: str, value: str) -> None:
        """Apply a correction and infer again. ``what`` is ``type``, ``key``, ``name``, ``relation``, ``turn`` or
        ``column``.

        Of a table, ``value`` is its type (of ``table.column``: that of the values, which are nodes), the column of
        its key or names (empty: none), or its relation, whose edges ``turn`` turns around; of a column, what it
        becomes, for a link ``link:TABLE``, for dates ``date:dmy``, ``date:mdy`` or ``date:year``. ``merge``: rows
        with the same key are merged if ``value`` is not empty. Raises :class:`KbError`; then nothing changes.
        """
        with self._lock:
            if what == MERGE:
                self.settings = replace(self.settings, merge_duplicates=value != "")
                return
            self._set(corrected(self.corrections, what, table, column, value))

    def undo(self) -> None:
        """Take the last correction back."""
        with self._lock:
            if self.former:
                before = self.former.pop()
                self._set(before)
                self.former.pop()

    def _set(self, corrections: Corrections) -> None:
        self.inferred = self.examination.infer(self.out.stem, corrections, source_file=self.settings.sync)
        self.former.append(self.corrections)
        self.corrections = corrections

    def tables(self) -> list[ReviewedTable]:
        """Return what each table becomes."""
        with self._lock:
            return list(_tables(self.examination, self.inferred, self.corrections))

    def guesses(self) -> list[GuessChoice]:
        """Return the guesses that may be wrong, except the columns that may refer to several tables."""
        with self._lock:
            unclear, is_merged = self.inferred.plan.unclear, self.settings.merge_duplicates
            found = [one for one in map(_choice, self.inferred.unsure) if f"{one.table}.{one.column}" not in unclear]
            return [one for one in found if not (is_merged and one.what == MERGE)]

    def edges(self) -> list[tuple[str, str, str]]:
        """Return the relations between types: (head type, relation, tail type)."""
        plan = self.inferred.plan
        links = [(n.table.type, relation, _kind(plan, link)) for n in plan.nodes for relation, link in n.links]
        return links + [(_kind(plan, edges.head), edges.relation, _kind(plan, edges.tail)) for edges in plan.edges]

    def types(self) -> dict[str, int]:
        """Return the types with the numbers of their nodes, rows with the same key counted once."""
        with self._lock:
            return dict(self.examination.con.execute(script.counts(self.inferred.plan)).fetchall())

    def command(self) -> str:
        """Return the command that builds the same KB without a review."""
        words = [
            "kbkit",
            "ingest",
            as_files(self.files[0]),
            *map(str, self.files[1:]),
            "-o",
            str(self.out),
            *_options(self.corrections),
        ]
        return shlex.join([*words, *(["--merge-duplicates"] if self.settings.merge_duplicates else [])])

    def build(self, listener: Listener | None = None) -> Path:
        """Write the recipe next to the KB and build the KB; return the folder of the generation."""
        with self._lock:
            corrections, inferred = self.corrections, self.inferred
        first, *rest = self.files
        with resolved(as_files(first), rest, self.out, corrections, inferred, sync=self.settings.sync) as found:
            settings = {**vars(self.settings), "corrections": corrections}
            return ingest(IngestRequest(found.recipe, found.paths, True, **settings), self.out, listener)


@contextlib.contextmanager
def reviewing(source: str, paths: Sequence[Path], out: Path, settings: IngestSettings) -> Iterator[IngestReview]:
    """Read and profile the files of a source, and yield its review. Raises :class:`KbError`."""
    if not is_files(source):
        raise KbError(f"{source} is a recipe: there is nothing to infer and to review", only_files(source))
    files = [Path(source), *paths]
    for path in (path for path in files if not path.exists()):
        raise BadInputError(f"{path} does not exist")
    if KbDirectory(out).exists() and not settings.replace:
        hint = ("Use ", Option("replace"), " to build its next generation, or choose another ", Option("out"))
        raise KbError(f"{out} is already a KB", *hint)
    told = settings.corrections
    with examined(files, no_header=told.no_header, date_order=told.date_order) as found:
        yield IngestReview(
            files,
            out,
            settings,
            found,
            settings.corrections,
            found.infer(out.stem, settings.corrections, source_file=settings.sync),
        )


def corrected(now: Corrections, what: str, table: str, column: str, value: str) -> Corrections:
    """Return corrections with another one; see :meth:`IngestReview.correct`."""
    if what == "type":
        return replace(now, types=_with(now.types, table, value.strip()))
    if what == "key":
        return replace(now, keys={**now.keys, table: (value,) if value else ()})
    if what == "name":
        return replace(now, named={**now.named, table: value})
    if what in ("relation", "turn"):
        before = now.relation_names.get(table, "")
        sign = "^" if before.startswith("^") != (what == "turn") else ""
        relation = before.removeprefix("^") if what == "turn" else value.strip().removeprefix("^")
        return replace(now, relation_names=_with(now.relation_names, table, sign + relation))
    return _of_column(now, f"{table}.{column}", value)


def _of_column(now: Corrections, of: str, value: str) -> Corrections:
    """Return corrections with what the column ``of`` becomes, instead of what it became before."""
    fresh = replace(
        now,
        links={name: target for name, target in now.links.items() if name != of},
        dates={name: kind for name, kind in now.dates.items() if name != of},
        types={name: kind for name, kind in now.types.items() if name != of},
        texts=[name for name in now.texts if name != of],
        nodes=[name for name in now.nodes if name != of],
        omit=[name for name in now.omit if name != of],
    )
    choice, _, target = value.partition(":")
    changes: dict[str, dict[str, Any]] = {
        LINK: {"links": {**fresh.links, of: target}},
        ATTRIBUTE: {"links": {**fresh.links, of: ""}},
        DATE: {"dates": {**fresh.dates, of: target}},
        TEXT: {"texts": [*fresh.texts, of]},
        NODES: {"nodes": [*fresh.nodes, of]},
        OMIT: {"omit": [*fresh.omit, of]},
    }
    if choice not in changes:
        choices = f"{ATTRIBUTE}, {TEXT}, {NODES}, {OMIT}, {DATE}:KIND or {LINK}:TABLE"
        raise KbError(f"A column cannot become {value!r}", f"Choose {choices}")
    return replace(fresh, **changes[choice])


def _choice(guess: UnsureGuess) -> GuessChoice:
    """Return a guess with the correction that its option is."""
    of, _, value = guess.option.value.partition("=")
    if guess.option.name == "links":
        table, _, column = of.partition(".")
        return GuessChoice(guess.message, "column", table, column, f"{LINK}:{value}")
    if guess.option.name == "merge_duplicates":
        return GuessChoice(guess.message, MERGE, value="yes")
    what = {"keys": "key", "name_column": "name"}.get(guess.option.name, "")
    return GuessChoice(guess.message, what, of if what else "", "", value)


def _with(known: Mapping[str, str], name: str, value: str) -> dict[str, str]:
    return {**{key: one for key, one in known.items() if key != name}, **({name: value} if value else {})}


def _options(told: Corrections) -> Iterator[str]:
    """Yield the options of the command line for corrections."""
    for table, key in told.keys.items():
        yield from ("--key", f"{table}={','.join(key)}")
    for option, given in (
        ("--link", told.links),
        ("--type", told.types),
        ("--name-column", told.named),
        ("--date-column", told.dates),
        ("--relation-name", told.relation_names),
    ):
        for name, value in given.items():
            yield from (option, f"{name}={value}")
    for option, listed in (("--text", told.texts), ("--node", told.nodes), ("--omit", told.omit)):
        for name in listed:
            yield from (option, name)
    if told.date_order:
        yield from ("--date-order", told.date_order)
    if told.no_header:
        yield "--no-header"


# -- tables -----------------------------------------------------------------------------------------------------------


def _tables(examination: Examination, inferred: Inferred, told: Corrections) -> Iterator[ReviewedTable]:
    rows_of = summary(inferred.tables, inferred.plan).iter_rows(named=True)
    edges_of = {edges.table.name: edges for edges in inferred.plan.edges}
    described = {
        row["table"]: f"{row['becomes']}, {row['links']}" if row["table"] in edges_of else row["becomes"]
        for row in rows_of
    }
    for table in examination.tables:
        nodes, edges = inferred.plan.of(table.name), edges_of.get(table.name)
        used = next(one for one in inferred.tables if one.name == table.name)
        yield ReviewedTable(
            table.name,
            table.rows,
            described[table.name],
            nodes.table.type if nodes and not nodes.by else "",
            nodes.key if nodes else (),
            nodes.named if nodes else (),
            edges is not None,
            list(_columns(examination, inferred, table, used, told)),
            edges.relation if edges and not edges.by else "",
            [_kind(inferred.plan, end) for end in (edges.head, edges.tail)] if edges else (),
        )


def _columns(
    examination: Examination, inferred: Inferred, table: ProfiledTable, used: ProfiledTable, told: Corrections
) -> Iterator[ReviewedColumn]:
    """Yield the columns of a table, as they are ``used`` with the corrections."""
    kinds = {name: told.dates.get(f"{table.name}.{name}", "") for name in table.columns}
    columns = {name: used.columns.get(name, own) if kinds[name] else own for name, own in table.columns.items()}
    shown = replace(table, columns=columns)
    rows = examination.sample(shown, _READ)
    counts = examination.filled(shown)
    roles = _roles(inferred, table)
    types = {link.columns[0]: link.loose for link in _links_of(inferred.plan, table) if link.loose}
    for name, column in columns.items():
        role = (DATE, kinds[name]) if kinds[name] else roles.get(name, (ATTRIBUTE, ""))
        yield ReviewedColumn(
            name,
            column.look,
            table.rows - counts[name][0],
            counts[name][1],
            list(dict.fromkeys(str(row[name]) for row in rows if row[name] is not None))[:_SAMPLES],
            *(role if name in used.columns else (OMIT, "")),
            is_dated=bool(table.columns[name].problem or kinds[name]),
            type=types.get(name, ""),
        )


def _kind(plan: TablePlan, link: TableLink) -> str:
    """Return the type that a link leads to."""
    nodes = plan.of(link.target)
    return nodes.table.type if nodes else link.loose


def _roles(inferred: Inferred, table: ProfiledTable) -> dict[str, tuple[str, str]]:
    """Return what the columns of a table become, as far as they are no attributes, with the tables of links."""
    plan, roles = inferred.plan, dict[str, tuple[str, str]]()
    if nodes := plan.of(table.name):
        roles |= dict.fromkeys(nodes.key, (KEY, "")) | dict.fromkeys(nodes.named, (NAME, ""))
        roles |= dict.fromkeys(nodes.texts, (TEXT, "")) | dict.fromkeys([*nodes.aliases, nodes.by], (OTHER, ""))
    roles |= {edges.by: (OTHER, "") for edges in plan.edges if edges.table.name == table.name}
    for detail in (detail for nodes in plan.nodes for detail in nodes.details if detail.table.name == table.name):
        roles |= dict.fromkeys(detail.texts.values(), (TEXT, ""))
    for link in _links_of(plan, table):
        roles |= dict.fromkeys(link.columns, (LINK, link.target) if link.target else (NODES, ""))
    return roles


def _links_of(plan: TablePlan, table: ProfiledTable) -> list[TableLink]:
    """Return the links of a table's columns."""
    nodes = plan.of(table.name)
    links = [link for _, link in nodes.links] if nodes else []
    links += [end for edges in plan.edges if edges.table.name == table.name for end in (edges.head, edges.tail)]
    details = (detail for nodes in plan.nodes for detail in nodes.details)
    return links + [detail.link for detail in details if detail.table.name == table.name]
