"""Runs one statement at a time on an open KB. It knows of no terminal: what a statement gave is an :class:`Outcome`."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from kbkit.assets.parameters import convert
from kbkit.errors import KbError, check_unicode
from kbkit.executor import languages
from kbkit.executor.parameters import named
from kbkit.executor.settings import Settings
from kbkit.executor.vocabulary import LAST, Columns
from kbkit.kb import KnowledgeBase
from kbkit.questions.run import sparql

if TYPE_CHECKING:
    import polars as pl

    from kbkit.answers.answer_set import AnswerSet
    from kbkit.graph.pages import Page

_LAST = re.compile(r"(?<![\w@/.:#`\[])_(?![\w/:#`])")
_LAST_IN_SQL = re.compile(r"(?<![\w.\"'])_(?![\w\"'])")


@dataclass(frozen=True)
class Outcome:
    """What a statement gave.

    ``value`` is a polars frame, an :class:`AnswerSet`, a :class:`Page`, text, a :class:`Printout`, several of these
    with titles, or None. ``frame`` holds the rows where it has any, ``shown`` the columns that a person sees of them.
    ``note`` is a remark beside it. ``script`` are statements to run next, from the file ``source``; ``edit`` is text
    to be edited for the next prompt.
    """

    language: str
    value: Any = None
    frame: pl.DataFrame | None = None
    shown: pl.DataFrame | None = None
    note: str = ""
    seconds: float = 0.0
    script: Iterable[languages.Statement] = ()
    source: str = ""
    edit: str | None = None


@dataclass(frozen=True)
class Last:
    """The last result: its statement, its rows, and the answer set that they are."""

    language: str
    statement: str
    frame: pl.DataFrame
    answers: AnswerSet | None = None
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Printout:
    """Something that prints itself: to a stream, in a width."""

    print: Callable[[IO[str], int], None]


class Quit(Exception):  # noqa: N818 - no error
    """The user wants to leave."""


@dataclass
class Executor:
    """An open KB, the settings, the last result, and the pages that were looked at.

    ``links`` are the nodes that a number alone leads to: those of the last page, or of the last result's rows.
    ``values`` are those of parameters and slots, as text; ``history`` gives the statements before this one, where there
    is a prompt.
    """

    kb: KnowledgeBase
    settings: Settings = field(default_factory=Settings)
    last: Last | None = None
    links: Sequence[str | int] = ()
    visited: list[str | int] = field(default_factory=list)
    history: Callable[[], Sequence[str]] | None = None
    values: dict[str, str] = field(default_factory=dict)
    ran: str = ""
    """The text that was handed to an engine last: places in its errors are places in this."""
    _told: str = ""
    _connection: Any = None
    """SQL's: temporary tables and variables last as long as the KB is open."""

    @classmethod
    def open(cls, path: str | os.PathLike[str], settings: Settings | None = None) -> Executor:
        """An executor on the KB in a directory."""
        return cls(KnowledgeBase(path), settings or Settings())

    def reopen(self, path: Path) -> None:
        """Take another KB, or the same one's newest generation; the last result goes."""
        kb = KnowledgeBase(path)
        self.close()
        self.kb, self.last, self.links, self.visited, self._told, self._connection = kb, None, (), [], "", None

    def close(self) -> None:
        """Close the KB."""
        if self._connection is not None:
            self._connection.close()
        self.kb.close()

    def news(self) -> str:
        """A remark when another generation was published since the KB was opened; once for each."""
        try:
            live = self.kb.directory.current()
        except KbError as error:
            live, said = "gone", f"{error.message}; what is open still answers"
        else:
            said = f"{self.kb.directory.path} was built anew (generation {live}); .open shows it"
        if live in (self.kb.manifest.generation, self._told):
            return ""
        self._told = live
        return said

    def language(self, statement: str) -> str:
        """The language that a statement is run in."""
        if languages.is_command(statement):
            return languages.COMMAND
        if self.settings.mode != languages.AUTO:
            return self.settings.mode
        return languages.recognize(statement, self.types)

    @property
    def types(self) -> list[str]:
        """The names of the KB's node types."""
        return [t.name for t in self.kb.schema.node_types]

    # -- run ----------------------------------------------------------------------------------------------------------

    def run(self, statement: str, values: Mapping[str, Any] | None = None, language: str = "") -> Outcome:
        """Run one statement, in the language that it is in where none is given.

        ``values`` are those of its ``$names`` or ``<slots>``. Raises :class:`KbError`, and :class:`Quit`.
        """
        statement = statement.strip()
        started = time.perf_counter()
        self.ran = statement
        check_unicode(statement, "the statement")
        if statement.isdecimal() and self.links:
            return self._timed(self.follow(int(statement)), started)
        language = language or self.language(statement)
        if languages.is_nothing(statement):
            return Outcome(language)
        if language == languages.COMMAND:
            from kbkit.executor.commands import run

            return self._timed(run(self, statement), started)
        given = self.given(statement, language) if values is None else values
        return self._timed(self.ask(statement, language, given), started)

    def given(self, statement: str, language: str) -> dict[str, Any]:
        """The values that were set of the parameters that a statement names; what looks like a number is one."""
        names = [name for name in named(statement, language) if name in self.values]
        if language == "answers":
            return {name: self.values[name] for name in names}
        return {name: convert(self.kb, language, name, "", self.values[name]) for name in names}

    @staticmethod
    def _timed(outcome: Outcome, started: float) -> Outcome:
        return replace(outcome, seconds=time.perf_counter() - started)

    def ask(self, statement: str, language: str, values: Mapping[str, Any]) -> Outcome:
        """Run a statement in a language; what it gives is the last result from now on."""
        whole = languages.without_end(statement, language).strip()
        text = self.ran = languages.body(whole)
        if language in ("sql", "sparql"):  # whose errors count lines
            self.ran = "\n" * whole[: len(whole) - len(text)].count("\n") + text
        if language == "sql":
            return self._sql(text, values)
        if language == "sparql":
            frame = sparql(self.kb.stores, self.ran, self.settings.timeout, params=values)
            return self.kept(Last("sparql", text, frame))
        return self.search(text) if language == "search" else self.answered(self.answer_set(text, values))

    def _sql(self, text: str, values: Mapping[str, Any]) -> Outcome:
        frame = self.rows(self.ran, values)
        if not frame.width:
            return Outcome("sql")
        return self.kept(Last("sql", text, frame))

    def rows(self, text: str, values: Mapping[str, Any] | None = None) -> pl.DataFrame:
        """The rows of a statement in SQL, in which ``_`` is the last result, unless a type is called so."""
        named = LAST not in self.types and _LAST_IN_SQL.search(languages.masked(text, "sql"))
        if named and self.last is None:
            raise KbError("there is no last result yet, which _ stands for", "ask something first")
        frames = {LAST: self.last.frame} if named and self.last is not None else {}
        if self._connection is None:
            self._connection = self.kb.tables.connect()
        return self.kb.tables.frame(text, values, self.settings.timeout, frames, self._connection)

    def answer_set(self, text: str, slots: Mapping[str, Any] | None = None) -> AnswerSet:
        """The set that an expression stands for, in which ``_`` is the last result."""
        self.ran = self._with_last(text)
        return self.kb.answers(self.ran, timeout=self.settings.timeout, slots=slots)

    def answered(self, found: AnswerSet) -> Outcome:
        """An answer set as the last result."""
        import polars as pl

        frame = found.nodes()
        shown = frame.select(
            pl.int_range(1, pl.len() + 1).alias("n"), "name", pl.format("{}#{}", "type", "key").alias("node")
        )
        return self.kept(Last("answers", found.expression, frame, found), found, shown)

    def search(self, text: str, **options: Any) -> Outcome:
        """Search by words; ``options`` go before those of the settings."""
        import polars as pl

        self.ran = text
        chosen = {**self.settings.search, **options}
        if isinstance(chosen.get("within"), str):
            chosen["within"] = self.answer_set(chosen["within"])
        frame = self.kb.search(text, **chosen)
        shown = frame.select("rank", "name", pl.format("{}#{}", "type", "key").alias("node"), "score", "snippet")
        return self.kept(Last("search", text, frame, options=chosen), frame, shown)

    def kept(self, last: Last, value: Any = None, shown: pl.DataFrame | None = None) -> Outcome:
        """What a statement gave as the last result."""
        self.last = last
        self.links = self._nodes_of(last.frame)
        return Outcome(last.language, last.frame if value is None else value, last.frame, shown)

    def _nodes_of(self, frame: pl.DataFrame) -> list[int]:
        """The node of each row, by its id; nothing where the rows are no nodes."""
        if "id" not in frame.columns or not frame["id"].dtype.is_integer() or frame["id"].null_count():
            return []
        ids = frame["id"].to_list()
        return ids if all(0 <= node < self.kb.schema.nodes for node in ids) else []

    # -- the last result ----------------------------------------------------------------------------------------------

    def _with_last(self, text: str) -> str:
        """An expression in which ``_`` is put in words, or held as a set."""
        signs = languages.masked(text, "answers", inside='"')
        if not _LAST.search(signs) or LAST in self.types:
            return text
        if self.last is not None and self.last.answers is not None:
            name = f"({self.last.answers.expression})"
        else:
            held = self.kb.session.session_sets
            held[f"{LAST}{len(held) + 1}"] = self.members()  # for good: later answers may be made of it
            name = f"@{LAST}{len(held)}"
        parts, end = [], 0
        for found in _LAST.finditer(signs):
            parts += [text[end : found.start()], name]
            end = found.end()
        return "".join([*parts, text[end:]])

    def columns(self) -> Columns:
        """Names and types of the last result's columns; none where there is no result."""
        if self.last is None:
            return []
        return [(name, str(kind)) for name, kind in self.last.frame.schema.items()]

    def save(self, name: str) -> int:
        """Keep the nodes of the last result as a set; how many they are."""
        last = self.result()
        if last.answers is not None:
            last.answers.save(name)
            return len(last.answers)
        node_type, ids = self.members()
        members = self.kb.stores.nodes.frame(ids)
        self.kb.workspace.save(name, last.statement, node_type, self.kb.manifest.generation, members)
        return len(ids)

    def members(self) -> tuple[str | None, Any]:
        """The nodes of the last result: their type, None for several, and their sorted ids.

        Rows of SQL have them in a column ``id``, rows of SPARQL in the first column that holds nodes' IRIs.
        """
        import numpy as np

        last = self.result()
        if last.answers is not None:
            return last.answers.type, last.answers.ids
        ids = np.array(sorted(set(self._nodes_of(last.frame))), np.int32)
        if not len(ids) and last.frame.height:
            ids = self._by_iri(last.frame)
        schema = self.kb.schema
        kinds = {schema.type_of(node).name for node in ids[[0, -1]].tolist()} if len(ids) else set()
        return (kinds.pop() if len(kinds) == 1 else None), ids

    def _by_iri(self, frame: pl.DataFrame) -> Any:
        import polars as pl

        for column in frame.select(pl.col(pl.String)).iter_columns():
            iris = column.drop_nulls().unique().to_list()
            found, missing = self.kb.stores.nodes.by_iri(iris)
            if len(found) and not missing:
                return found
        raise KbError(
            "the rows of the last result are no nodes", "select a column id (SQL), or a variable of nodes (SPARQL)"
        )

    def result(self) -> Last:
        """The last result; raises :class:`KbError` where there is none."""
        if self.last is None:
            raise KbError("there is no last result yet", "ask something first")
        return self.last

    # -- pages --------------------------------------------------------------------------------------------------------

    def show(self, node: str | int) -> Outcome:
        """A node's page; its links are numbered from now on."""
        page: Page = self.kb.page(node)
        self.visited.append(page.data["id"])
        self.links = page.links
        return Outcome(languages.COMMAND, page)

    def follow(self, number: int) -> Outcome:
        """Go where the link of a number leads."""
        if not 1 <= number <= len(self.links):
            raise KbError(f"there is no link {number}", f"they run from 1 to {len(self.links)}")
        return self.show(self.links[number - 1])

    def back(self) -> Outcome:
        """The page that was looked at before."""
        if len(self.visited) < 2:
            raise KbError("there is no page to go back to", ".show NODE shows one")
        del self.visited[-1]
        return self.show(self.visited.pop())
