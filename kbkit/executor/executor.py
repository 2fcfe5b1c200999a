"""Runs statements on an open KB, without a terminal: the result of a statement is an :class:`StatementOutcome`."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbkit.answers.errors import ExpressionError
from kbkit.assets.parameters import convert
from kbkit.errors import Command, KbError, Option, Part, QueryError, plural, unpaired_surrogate
from kbkit.executor import asking, languages, result_nodes
from kbkit.executor.lexers import masked, parameters
from kbkit.executor.outcomes import Last, StatementOutcome
from kbkit.executor.prompt_settings import PromptSettings
from kbkit.executor.vocabulary import LAST, Columns
from kbkit.kb import KnowledgeBase
from kbkit.stores import sparql_formats

if TYPE_CHECKING:
    import polars as pl

    from kbkit.answers.answer_set import AnswerSet
    from kbkit.graph.pages import Page
    from kbkit.questions.ask import AskResult
    from kbkit.stores.sql_results import ResultBounds

_LAST = re.compile(r"(?<![\w@/.:#`\[])_(?![\w/:#`])")
_LAST_IN_SQL = re.compile(r"(?<![\w.\"'])_(?![\w\"'])")
_CYPHER = re.compile(r"(?i)(?:optional\s+)?match\b|(?:merge|create)\s*\(|unwind\b")
_NEIGHBORS = 20
"""Neighbours of each group that ``more`` shows."""
_NO_RESULT = "There is no last result"


@dataclass
class Executor:
    """An open KB with the settings, the last result and the visited pages of one prompt.

    ``links`` are the nodes that a number alone opens: the links of the last page, or the rows of the last result.
    ``values`` are the values of parameters and slots, as text. The terminal sets ``history``, which returns the
    previous statements, and ``system``, which runs a system command and returns its exit code; elsewhere both are None.
    ``page_rows`` returns the number of rows that the front end shows of a result; None is all.
    """

    kb: KnowledgeBase
    settings: PromptSettings = field(default_factory=PromptSettings)
    last: Last | None = None
    links: Sequence[str | int] = ()
    readings: int = 0
    """Number of readings that are offered of a question that was not answered; a number alone chooses one."""
    visited: list[str | int] = field(default_factory=list)
    history: Callable[[], Sequence[str]] | None = None
    system: Callable[[str], int] | None = None
    page_rows: Callable[[], int | None] = lambda: None
    values: dict[str, str] = field(default_factory=dict)
    bounds: ResultBounds | None = None
    """How much of a result of SQL or SPARQL is read; None: all."""
    ran: str = ""
    """The text last passed to an engine; positions in its errors refer to it."""
    _announced: str = ""
    _undecided: AskResult | None = None
    """The question of which readings are offered."""
    _page: Page | None = None
    """The page that was shown after the last result."""
    _rows: pl.DataFrame | None = None
    _shown: int = 0
    """The rows of the last result as a person sees them, and the number of those that were shown."""
    _connection: Any = None
    """The SQL connection: temporary tables and variables live as long as the KB is open."""

    @classmethod
    def open(cls, path: str | os.PathLike[str], settings: PromptSettings | None = None) -> Executor:
        """Open the KB in a directory."""
        return cls(KnowledgeBase(path), settings or PromptSettings())

    def reopen(self, path: Path) -> None:
        """Open another KB, or the newest generation of this one, and forget the last result."""
        kb = KnowledgeBase(path)
        self.close()
        self.kb, self.last, self.links, self.visited, self._announced, self._connection = kb, None, (), [], "", None
        self._rows = self._page = None
        self.readings = 0

    def close(self) -> None:
        """Close the KB."""
        if self._connection is not None:
            self._connection.close()
        self.kb.close()

    def news(self) -> str:
        """Return a remark if another generation was published since the KB was opened, once per generation."""
        try:
            live = self.kb.directory.current()
            remark = f"{self.kb.directory.path} was rebuilt (generation {live}); .open loads it"
        except KbError as error:
            live, remark = "gone", f"{error.message}; queries still use the open generation"
        if live in (self.kb.manifest.generation, self._announced):
            return ""
        self._announced = live
        return remark

    def language(self, statement: str) -> str:
        """Return the language of a statement: ``command``, that of ``.mode``, or the one its syntax suggests."""
        if languages.is_command(statement, words=self.settings.mode not in languages.IN_WORDS):
            return languages.COMMAND
        if self.settings.mode != languages.AUTO:
            return self.settings.mode
        return languages.recognize(statement, self.types)

    @property
    def types(self) -> list[str]:
        """The names of the KB's node types."""
        return [t.name for t in self.kb.schema.node_types]

    # -- statements ---------------------------------------------------------------------------------------------------

    def run(self, statement: str, language: str, values: Mapping[str, Any] | None = None) -> StatementOutcome:
        """Run a statement in a language; its result becomes the last result.

        ``values`` are those of its ``$names`` or ``<slots>`` (default: those set with ``.set``).
        """
        self.ran = statement
        if unpaired_surrogate(statement) is not None:  # stands for a byte that could not be decoded
            raise KbError("Invalid UTF-8 in the statement", "Convert it to UTF-8, for example with iconv")
        if languages.is_empty(statement):
            return StatementOutcome(language)
        values = self.bound(statement, language) if values is None else values
        trimmed = languages.without_end(statement, language).strip()
        text = self.ran = languages.body(trimmed)
        if language in ("sql", "sparql"):  # their errors count lines
            self.ran = "\n" * trimmed[: len(trimmed) - len(text)].count("\n") + text
        try:
            return self._run(text, language, values)
        except (ExpressionError, QueryError) as error:
            error.hints = (*error.hints, *self._hints(text, language, error))
            raise

    def _run(self, text: str, language: str, values: Mapping[str, Any]) -> StatementOutcome:
        """Run a statement without comments before it; ``self.ran`` has the same one with its lines."""
        if language == "sql":
            frame = self.sql(self.ran, values)
            return self.keep(Last("sql", text, frame)) if frame.width else StatementOutcome("sql")
        if language == "sparql":
            from kbkit.sparql.run import query  # imports the engines, which would delay the first prompt

            asked = query(self.kb.stores, self.ran, self.settings.timeout, params=values, bounds=self.bounds)
            kind = self.settings.kind(self.settings.file)
            if kind in sparql_formats.NAMES:
                with asked.results(sparql_formats.only(kind)) as results:
                    return StatementOutcome("sparql", results.read())
            kept = self.keep(Last("sparql", text, asked.frame()))
            return replace(kept, note="\n".join(f"warning: {message}" for message in asked.unknown_names()))
        if language == "ask":
            return self.asked(text, searches=self.settings.mode == languages.AUTO)
        return self.search(text) if language == "search" else self.answered(self.answer_set(text, values))

    def _hints(self, text: str, language: str, error: KbError) -> tuple[Part, ...]:
        """Return what to do instead if a statement was not parsed and its language was not chosen by the user."""
        parsed = error.message.startswith(("Binder Error", "Invalid Input Error"))
        if parsed or self.settings.mode != languages.AUTO:
            return ()
        end = {"": "", "?": " ", ".": " "}.get(error.hint[-1:], ". ")
        if _CYPHER.match(text):
            return f"{end}Cypher is not supported; write an answer expression instead, see ", Command("docs answers")
        if languages.may_be_words(text, language):
            return f"{end}To search for these words, put them in quotes or use ", Option("language", "search")
        return ()

    def bound(self, statement: str, language: str, given: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Return the values that are given or set for the parameters of a statement; numeric text becomes a number."""
        known = {**self.values, **(given or {})}
        values = {name: known[name] for name in parameters(statement, language) if name in known}
        if language == "answers":
            return dict(values)
        return {name: convert(self.kb, language, name, "", text) for name, text in values.items()}

    def sql(self, text: str, values: Mapping[str, Any] | None = None) -> pl.DataFrame:
        """Return the rows of an SQL statement, in which ``_`` is the last result unless a type has this name."""
        uses_last = LAST not in self.types and _LAST_IN_SQL.search(masked(text, "sql"))
        frames = {LAST: self.result().frame} if uses_last else {}
        if self._connection is None:
            self._connection = self.kb.tables.connect()
        return self.kb.tables.frame(text, values, self.settings.timeout, frames, self._connection, self.bounds)

    def answer_set(self, text: str, slots: Mapping[str, Any] | None = None) -> AnswerSet:
        """Return the set of an answer expression, in which ``_`` is the last result."""
        self.ran = self._with_last(text)
        return self.kb.answers(self.ran, timeout=self.settings.timeout, slots=slots)

    def answered(self, answers: AnswerSet) -> StatementOutcome:
        """Make an answer set the last result; of ``count(...)`` and so on, the outcome shows the value."""
        import polars as pl

        frame = answers.nodes()
        values = answers.value_table()
        note = "\n".join(f"warning: {message}" for message in answers.unknown_values())
        if values is not None:
            kept = self.keep(Last("answers", answers.expression, frame, answers), answers, values, values)
            return replace(kept, note=note)
        preview = frame.select(
            pl.int_range(1, pl.len() + 1).alias("n"), "name", pl.format("{}#{}", "type", "key").alias("node")
        )
        return replace(self.keep(Last("answers", answers.expression, frame, answers), answers, preview), note=note)

    def asked(self, text: str, *, searches: bool = False) -> StatementOutcome:
        """Answer a question: the expression it is read as becomes the last result.

        If it is not answered, a number chooses one of the closest readings; with ``searches``, which is for words that
        only have the form of a question, hits of a search come instead, and the readings are in the note.
        """
        self.ran = text
        if searches and (not self.kb.has("adjacency") or self.kb.stores.nodes.by_name(None, [text])[0]):
            return self.search(text)  # the name of a node
        from kbkit.questions.reply import CLOSEST  # with the stack of questions, which other languages do not need

        result = self.kb.ask(text)
        if result.is_sure and result.answers is not None:
            return self._read_as(result)
        offered = result.offered(CLOSEST)
        if searches:
            outcome = StatementOutcome("ask") if languages.has_signs(text) else self.search(text)
            return replace(outcome, note=asking.note(result, offered))
        self.readings, self.links, self._page = len(offered), (), None
        self._undecided = result
        return StatementOutcome("ask", asking.choices(result, offered))

    def choose(self, number: int) -> StatementOutcome:
        """Answer the last question with one of the readings that are offered, and remember the choice."""
        assert self._undecided is not None
        if not 1 <= number <= self.readings:  # the question has more, which were not shown
            raise KbError(f"Invalid reading number {number}", f"Readings are numbered from 1 to {self.readings}")
        return self._read_as(self.kb.choose(self._undecided, number))

    def _read_as(self, result: AskResult) -> StatementOutcome:
        assert result.answers is not None
        certainty = f"confidence {result.confidence:.2f}" if result.choice is None else result.certainty
        lines = [
            f"read as {result.expression} ({certainty})",
            *([result.unused_choice] if result.unused_choice else []),
        ]
        return replace(self.answered(result.answers), note="\n".join(lines))

    def search(self, text: str, **options: Any) -> StatementOutcome:
        """Search for words; ``options`` override those of the settings."""
        import polars as pl

        self.ran = text
        chosen = {**self.settings.search, **options}
        if isinstance(chosen.get("within"), str):
            chosen["within"] = self.answer_set(chosen["within"])
        frame = self.kb.search(text, **chosen)
        weak = ["weak"] if frame["weak"].any() else []
        node = pl.format("{}#{}", "type", "key").alias("node")
        preview = frame.select("rank", "name", node, "score", *weak, "snippet")
        return self.keep(Last("search", text, frame, options=chosen), frame, preview)

    def keep(
        self, last: Last, value: Any = None, preview: pl.DataFrame | None = None, frame: pl.DataFrame | None = None
    ) -> StatementOutcome:
        """Make a result the last result and return it as an outcome of the rows ``frame`` (default: the result's)."""
        self.last, self._page, self.readings = last, None, 0
        self.links = result_nodes.by_id(last.frame, self.kb.schema)
        frame = last.frame if frame is None else frame
        self._rows = frame if preview is None else preview
        self._shown = self.page_rows() or self._rows.height
        prefixes = self.kb.schema.prefixes() if last.language == "sparql" else {}
        return StatementOutcome(
            last.language, last.frame if value is None else value, frame, preview, prefixes=prefixes
        )

    def more(self, count: int | None = None) -> StatementOutcome:
        """Return the next rows of the last result: ``count`` rows, by default as many as are shown of a result.

        After a page, return the next ``count`` neighbours of each of its groups.
        """
        if self._page is not None:
            return self._following(self._page, count or _NEIGHBORS)
        self.result()
        assert self._rows is not None
        start, total = self._shown, self._rows.height
        if start >= total:
            return StatementOutcome(
                languages.COMMAND,
                note=f"All {plural(total, 'row')} were shown" if total != 1 else "The only row was shown",
            )
        part = self._rows[start : start + (count or self.page_rows() or total)]
        self._shown = start + part.height
        prefixes = self.kb.schema.prefixes() if self.result().language == "sparql" else {}
        return StatementOutcome(languages.COMMAND, part, part, prefixes=prefixes, start=start, total=total)

    def timed(self, run: Callable[[], StatementOutcome]) -> StatementOutcome:
        """Return an outcome with the time that it took."""
        started = time.perf_counter()
        outcome = run()
        return replace(outcome, seconds=time.perf_counter() - started)

    # -- the last result ----------------------------------------------------------------------------------------------

    def result(self) -> Last:
        """Return the last result; raise :class:`KbError` if there is none."""
        if self.last is None:
            raise KbError(_NO_RESULT, "Run a query or a search first")
        return self.last

    def columns(self) -> Columns:
        """Return names and types of the last result's columns; none if there is no result."""
        if self.last is None:
            return []
        return [(name, str(kind)) for name, kind in self.last.frame.schema.items()]

    def save(self, name: str) -> int:
        """Save the nodes of the last result as a set and return their number."""
        last = self.result()
        if last.answers is not None:
            last.answers.save(name)
            return len(last.answers)
        node_type, ids = self.members()
        members = self.kb.stores.nodes.frame(ids)
        self.kb.workspace.save(name, last.statement, node_type, self.kb.manifest.generation, members)
        return len(ids)

    def members(self) -> tuple[str | None, Any]:
        """Return the type of the last result's nodes (None: several) and their sorted ids.

        The nodes are the column ``id`` of an SQL result, and the first column of node IRIs of a SPARQL result.
        """
        import numpy as np

        last = self.result()
        if last.answers is not None:
            return last.answers.type, last.answers.ids
        ids = np.array(sorted(set(result_nodes.by_id(last.frame, self.kb.schema))), np.int32)
        if not len(ids) and last.frame.height:
            ids = result_nodes.by_iri(last.frame, self.kb.stores.nodes)
        schema = self.kb.schema
        types = {schema.type_of(node).name for node in ids[[0, -1]].tolist()} if len(ids) else set()
        return (types.pop() if len(types) == 1 else None), ids

    def _with_last(self, text: str) -> str:
        """Return an expression with ``_`` replaced by the last result's expression or a held set."""
        signs = masked(text, "answers", inside='"')
        if not _LAST.search(signs) or LAST in self.types:
            return text
        if self.last is not None and self.last.answers is not None:
            name = f"({self.last.answers.set_expression})"
        else:
            held = self.kb.session.session_sets
            held[f"{LAST}{len(held) + 1}"] = self.members()  # for good: later answers may refer to it
            name = f"@{LAST}{len(held)}"
        parts, end = [], 0
        for found in _LAST.finditer(signs):
            parts += [text[end : found.start()], name]
            end = found.end()
        return "".join([*parts, text[end:]])

    # -- pages --------------------------------------------------------------------------------------------------------

    def show(self, node: str | int) -> StatementOutcome:
        """Return a node's page; its links can then be opened by number."""
        page = self._page = self.kb.page(node)
        self.visited.append(page.data["id"])
        self.links, self.readings = page.links, 0
        return StatementOutcome(languages.COMMAND, page)

    def _following(self, shown: Page, count: int) -> StatementOutcome:
        from kbkit.graph.pages import following  # imports DuckDB, which would delay the first prompt

        page = following(self.kb.stores, shown, count)
        if not page.data["relations"]:
            return StatementOutcome(languages.COMMAND, note=f"all neighbours of {page.data['name']} were shown")
        self._page, self.links = page, page.links
        return StatementOutcome(languages.COMMAND, page)

    def follow(self, number: int) -> StatementOutcome:
        """Return the page of a numbered link or row."""
        if not 1 <= number <= len(self.links):
            raise KbError(f"Invalid link number {number}", f"Links are numbered from 1 to {len(self.links)}")
        return self.show(self.links[number - 1])

    def back(self) -> StatementOutcome:
        """Return the previous page."""
        if len(self.visited) < 2:
            raise KbError("There is no previous page", "Open a page with .show NODE")
        del self.visited[-1]
        return self.show(self.visited.pop())
