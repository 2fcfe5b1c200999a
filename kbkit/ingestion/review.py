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
from kbkit.ingestion.inference import Examination, Inferred, examined
from kbkit.ingestion.inference.profile import ProfiledTable
from kbkit.ingestion.inference.source import is_files, resolved
from kbkit.ingestion.inference.summary import summary
from kbkit.ingestion.inference.table_link import TableLink
from kbkit.ingestion.inference.unsure import UnsureGuess
from kbkit.ingestion.request import Corrections, IngestRequest, IngestSettings

_SAMPLES = 3
ATTRIBUTE, TEXT, NODES, OMIT, LINK, KEY, NAME, OTHER = (
    "attribute", "text", "nodes", "omit", "link", "key", "name", "other"
)  # fmt: skip
"""What a column becomes; ``OTHER`` are aliases, types and relations."""


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
    """A column: what its values look like, some of them, what it becomes, and the table that it refers to."""

    name: str
    look: str
    missing: int
    distinct: int
    samples: Sequence[str]
    becomes: str
    target: str = ""


@dataclass(frozen=True)
class ReviewedTable:
    """A table: what it becomes in words, its node type if its rows are nodes, their key and the columns of names, and
    whether its rows are edges.
    """

    name: str
    rows: int
    becomes: str
    type: str
    key: Sequence[str]
    named: Sequence[str]
    is_edges: bool
    columns: Sequence[ReviewedColumn]


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
        """Apply a correction and infer again. ``what`` is ``type``, ``key``, ``name`` or ``column``.

        Of a table, ``value`` is its type, or the column of its key or names (empty: none); of a column, what it
        becomes, for a link ``link:TABLE``. ``merge``: rows with the same key are merged if ``value`` is not empty.
        Raises :class:`KbError`; then nothing changes.
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
            return list(_tables(self.examination, self.inferred))

    def guesses(self) -> list[GuessChoice]:
        """Return the guesses that may be wrong, except the columns that may refer to several tables."""
        with self._lock:
            unclear, is_merged = self.inferred.plan.unclear, self.settings.merge_duplicates
            found = [one for one in map(_choice, self.inferred.unsure) if f"{one.table}.{one.column}" not in unclear]
            return [one for one in found if not (is_merged and one.what == MERGE)]

    def edges(self) -> list[tuple[str, str, str]]:
        """Return the relations between types: (head type, relation, tail type)."""
        plan = self.inferred.plan

        def kind(link: TableLink) -> str:
            nodes = plan.of(link.target)
            return nodes.table.type if nodes else link.loose

        links = [(nodes.table.type, relation, kind(link)) for nodes in plan.nodes for relation, link in nodes.links]
        return links + [(kind(edges.head), edges.relation, kind(edges.tail)) for edges in plan.edges]

    def types(self) -> dict[str, int]:
        """Return the types with their numbers of rows, or of different values in columns without a table.

        The number is 0 if the values are lists, whose elements are nodes.
        """
        plan = self.inferred.plan
        found = {nodes.table.type: nodes.table.rows for nodes in plan.nodes}
        links = [(nodes.table, link) for nodes in plan.nodes for _, link in nodes.links]
        links += [(edges.table, link) for edges in plan.edges for link in (edges.head, edges.tail)]
        for table, link in links:
            if link.loose:
                distinct = 0 if link.lists else max(table.columns[name].distinct for name in link.columns)
                found[link.loose] = max(found.get(link.loose, 0), distinct)
        return found

    def command(self) -> str:
        """Return the command that builds the same KB without a review."""
        words = ["kbkit", "ingest", *map(str, self.files), "-o", str(self.out), *_options(self.corrections)]
        return shlex.join([*words, *(["--merge-duplicates"] if self.settings.merge_duplicates else [])])

    def build(self, listener: Listener | None = None) -> Path:
        """Write the recipe next to the KB and build the KB; return the folder of the generation."""
        with self._lock:
            corrections, inferred = self.corrections, self.inferred
        first, *rest = self.files
        with resolved(str(first), rest, self.out, corrections, inferred, sync=self.settings.sync) as found:
            settings = {**vars(self.settings), "corrections": corrections}
            return ingest(IngestRequest(found.recipe, found.paths, True, **settings), self.out, listener)


@contextlib.contextmanager
def reviewing(source: str, paths: Sequence[Path], out: Path, settings: IngestSettings) -> Iterator[IngestReview]:
    """Read and profile the files of a source, and yield its review. Raises :class:`KbError`."""
    if not is_files(source):
        raise KbError(f"{source} is a recipe: there is nothing to infer and to review", "Name files without a recipe")
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
    of = f"{table}.{column}"
    fresh = replace(
        now,
        links={name: target for name, target in now.links.items() if name != of},
        texts=[name for name in now.texts if name != of],
        nodes=[name for name in now.nodes if name != of],
        omit=[name for name in now.omit if name != of],
    )
    choice, _, target = value.partition(":")
    if choice == LINK:
        return replace(fresh, links={**fresh.links, of: target})
    if choice == ATTRIBUTE:
        return replace(fresh, links={**fresh.links, of: ""})
    lists: dict[str, Sequence[str]] = {TEXT: fresh.texts, NODES: fresh.nodes, OMIT: fresh.omit}
    if choice not in lists:
        raise KbError(f"A column cannot become {value!r}", f"Choose {', '.join([ATTRIBUTE, *lists])} or {LINK}:TABLE")
    named = {TEXT: "texts", NODES: "nodes", OMIT: "omit"}[choice]
    changes: dict[str, Any] = {named: [*lists[choice], of]}
    return replace(fresh, **changes)


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
    for option, given in (("--link", told.links), ("--type", told.types), ("--name-column", told.named)):
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


def _tables(examination: Examination, inferred: Inferred) -> Iterator[ReviewedTable]:
    rows_of = summary(inferred.tables, inferred.plan).iter_rows(named=True)
    are_edges = {edges.table.name for edges in inferred.plan.edges}
    described = {
        row["table"]: f"{row['becomes']}, {row['links']}" if row["table"] in are_edges else row["becomes"]
        for row in rows_of
    }
    for table in examination.tables:
        nodes = inferred.plan.of(table.name)
        rows = examination.sample(table, _SAMPLES)
        roles = _roles(inferred, table)
        used = next(one for one in inferred.tables if one.name == table.name)
        yield ReviewedTable(
            table.name,
            table.rows,
            described[table.name],
            nodes.table.type if nodes and not nodes.by else "",
            nodes.key if nodes else (),
            nodes.named if nodes else (),
            table.name in are_edges,
            [
                ReviewedColumn(
                    name,
                    column.look,
                    table.rows - column.count,
                    column.distinct,
                    [str(row[name]) for row in rows if row[name] is not None],
                    *(roles.get(name, (ATTRIBUTE, "")) if name in used.columns else (OMIT, "")),
                )
                for name, column in table.columns.items()
            ],
        )


def _roles(inferred: Inferred, table: ProfiledTable) -> dict[str, tuple[str, str]]:
    """Return what the columns of a table become, as far as they are no attributes, with the tables of links."""
    plan, roles = inferred.plan, dict[str, tuple[str, str]]()
    links: list[TableLink] = []
    if nodes := plan.of(table.name):
        roles |= dict.fromkeys(nodes.key, (KEY, "")) | dict.fromkeys(nodes.named, (NAME, ""))
        roles |= dict.fromkeys(nodes.texts, (TEXT, "")) | dict.fromkeys([*nodes.aliases, nodes.by], (OTHER, ""))
        links = [link for _, link in nodes.links]
    for edges in (edges for edges in plan.edges if edges.table.name == table.name):
        links += [edges.head, edges.tail]
        roles[edges.by] = (OTHER, "")
    for detail in (detail for nodes in plan.nodes for detail in nodes.details if detail.table.name == table.name):
        links.append(detail.link)
        roles |= dict.fromkeys(detail.texts.values(), (TEXT, ""))
    for link in links:
        roles |= dict.fromkeys(link.columns, (LINK, link.target) if link.target else (NODES, ""))
    return roles
