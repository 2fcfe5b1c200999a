"""The prompt in a terminal (prompt_toolkit): keys, completion, colours and history."""

from __future__ import annotations

import contextlib
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession, search
from prompt_toolkit.application import Application, get_app, run_in_terminal
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, completion_is_selected, has_focus, is_searching
from prompt_toolkit.formatted_text import FormattedText, to_plain_text
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout.processors import ConditionalProcessor, TabsProcessor
from prompt_toolkit.output import create_output
from prompt_toolkit.utils import is_dumb_terminal

from kbkit.errors import KbError
from kbkit.executor import languages
from kbkit.executor.executor import Executor
from kbkit.executor.outcomes import Quit
from kbkit.shell import terminal
from kbkit.shell.errors import SPELLER
from kbkit.shell.highlight import LONGEST, STYLE, StatementLexer
from kbkit.shell.runner import Runner

if TYPE_CHECKING:
    from kbkit.executor.completion import Candidate
    from kbkit.executor.vocabulary import Vocabulary

HISTORY = "shell_history"
"""The history file in a KB's workspace."""

_MENU = 8
"""Lines of the completion menu."""
_LONGEST_SAVED = 100_000
"""Characters of a statement that history saves: suggestions search the history at every key."""
_ENDS = {
    "sql": "; or an empty line runs it",
    "sparql": "; or an empty line runs it",
    "answers": "Enter runs it",
    "search": "Enter searches",
    "ask": "Enter asks",
    languages.COMMAND: "Enter runs it",
}
_OPEN = "incomplete (open quote or bracket?); Alt-Enter runs it, Ctrl-C clears it"


class _History(FileHistory):
    """The history file; errors in reading or writing it are ignored."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self._path = path

    def load_history_strings(self) -> Iterable[str]:
        with contextlib.suppress(OSError):
            return list(super().load_history_strings()) if self._is_ours() else []
        return []

    def append_string(self, string: str) -> None:
        if len(string) <= _LONGEST_SAVED:
            super().append_string(string)

    def store_string(self, string: str) -> None:
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(exist_ok=True)  # the workspace, not a deleted KB
            if self._is_ours():
                super().store_string(string)

    def _is_ours(self) -> bool:
        """Return whether the path is a regular file or missing: a device may never end."""
        return self._path.is_file() or not self._path.exists()


class _Completer(Completer):
    """Candidates of the open KB."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._known: tuple[object, Vocabulary] | None = None

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """Return the candidates at the cursor."""
        text, at = document.text, document.cursor_position
        if len(text) > LONGEST:
            return
        language = self._executor.language(text)
        if not complete_event.completion_requested and _is_quiet(document, language):
            return
        with contextlib.suppress(Exception):  # an error in completion must not end the prompt
            for found in self._candidates(text, at, language):
                display = found.display or found.text
                yield Completion(found.text, found.start - at, display, found.meta)

    def prepare(self) -> None:
        """Import modules and open stores for the first keys and the first statement, in the background."""
        import duckdb  # noqa: F401
        import polars  # noqa: F401

        from kbkit.executor.completion import prepare

        with contextlib.suppress(Exception):  # the KB may be closed meanwhile
            prepare(self._vocabulary())

    def _candidates(self, text: str, at: int, language: str) -> list[Candidate]:
        from kbkit.executor.completion import complete

        return complete(text, at, self._vocabulary(), language)

    def _vocabulary(self) -> Vocabulary:
        from kbkit.executor.commands import words
        from kbkit.executor.vocabulary import Vocabulary

        if self._known is None or self._known[0] is not self._executor.kb:
            self._known = (self._executor.kb, Vocabulary.of(self._executor.kb, words(), self._executor.columns))
        return self._known[1]


def _is_quiet(document: Document, language: str) -> bool:
    """Return whether no menu should open by itself: in plain words, an empty line or a complete statement."""
    if language in languages.IN_WORDS and re.search(r"\s", document.text.lstrip()):
        return True
    if not document.current_line_before_cursor.strip():
        return True
    return document.text_before_cursor.rstrip().endswith(";") and languages.is_complete(
        document.text_before_cursor, language, blank_ends=False
    )


@Condition
def _menu_is_empty() -> bool:
    state = get_app().current_buffer.complete_state
    return state is not None and not state.completions


def _keys(runner: Runner, edit: Callable[[str], str]) -> KeyBindings:
    keys = KeyBindings()
    in_statement = has_focus(DEFAULT_BUFFER)  # not in the search line of Ctrl-R

    @keys.add("enter", filter=in_statement & ~completion_is_selected)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if _is_complete(buffer.document, runner):
            _accept(buffer)
        else:
            buffer.newline(copy_margin=False)

    @keys.add("enter", filter=in_statement & completion_is_selected)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.complete_state = None  # the candidate is in the line already

    @keys.add("enter", filter=is_searching)
    def _(event: KeyPressEvent) -> None:
        search.accept_search()
        event.current_buffer.cursor_position = len(event.current_buffer.text)  # so that Enter runs it

    # While candidates are looked up there is a menu without entries, which would swallow the arrow keys.
    @keys.add("up", filter=in_statement & _menu_is_empty)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.complete_state = None
        event.current_buffer.auto_up(count=event.arg)

    @keys.add("down", filter=in_statement & _menu_is_empty)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.complete_state = None
        event.current_buffer.auto_down(count=event.arg)

    @keys.add("escape", "enter", filter=in_statement)
    def _(event: KeyPressEvent) -> None:
        _accept(event.current_buffer)

    @keys.add("c-x", "c-e", filter=in_statement)
    async def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        buffer.text = await run_in_terminal(lambda: edit(buffer.text))
        buffer.cursor_position = len(buffer.text)

    return keys


def _is_complete(document: Document, runner: Runner) -> bool:
    """Return whether Enter runs the text: it is complete, and the cursor is in its last line."""
    within = document.text_after_cursor.strip() and "\n" in document.text.strip()
    return not within and runner.is_complete(document.text)


def _accept(buffer: Buffer) -> None:
    """Run the text without the empty lines at its end, which history should not contain."""
    buffer.document = Document(buffer.text.rstrip())
    buffer.validate_and_handle()


class _Session(PromptSession[str]):
    """A prompt that reserves space for the menu only if the terminal is tall enough."""

    @property
    def reserve_space_for_menu(self) -> int:
        """Lines below the text."""
        return max(0, min(_MENU, self.app.output.get_size().rows - 3))

    @reserve_space_for_menu.setter
    def reserve_space_for_menu(self, value: int) -> None:
        """Ignore the value: the terminal decides."""


class Repl:
    """The interactive shell."""

    def __init__(self, runner: Runner) -> None:
        self._runner, self._executor = runner, runner.executor
        self._session: PromptSession[str] = self._prompting()
        self._kb = self._executor.kb

    def run(self) -> None:
        """Prompt until the user leaves."""
        self._executor.history = self._past
        while True:
            try:
                self._runner.display.settle()  # in case Ctrl-C came when a statement had just ended
                text = self._ask()
            except KeyboardInterrupt:
                continue
            except EOFError:
                return
            try:
                self._run(text)
            except KeyboardInterrupt:
                self._runner.report(["Cancelled."])
            except Quit:
                return
            if self._executor.kb is not self._kb:  # another KB has another history
                self._kb, self._session = self._executor.kb, self._prompting()

    def _run(self, text: str) -> None:
        if text.strip():
            self._runner.typed(text)
        if self._runner.pending is not None:
            self._runner.pending = self._edited(self._runner.pending)

    def _past(self) -> list[str]:
        return self._session.history.get_strings()

    def _ask(self) -> str:
        default, self._runner.pending = self._runner.pending or "", None
        if not is_dumb_terminal():
            return self._session.prompt(self._message(), default=default)  # built once, not for every line and key
        text = terminal.ask(to_plain_text(self._message()), self._runner.is_complete, default)
        self._session.history.append_string(text)
        return text

    def _prompting(self) -> PromptSession[str]:
        executor = self._executor
        completer = _Completer(executor)

        def prepare(app: Application[str]) -> None:
            app.after_render.remove_handler(prepare)
            threading.Thread(target=completer.prepare, daemon=True).start()

        session = _Session(
            history=_History(executor.kb.workspace.folder / HISTORY),
            lexer=StatementLexer(executor.language),
            completer=completer,
            complete_while_typing=True,
            complete_in_thread=True,
            auto_suggest=AutoSuggestFromHistory(),
            key_bindings=_keys(self._runner, self._edited),
            multiline=True,
            prompt_continuation=_continuation,
            bottom_toolbar=self._toolbar,
            enable_suspend=True,
            input_processors=[ConditionalProcessor(TabsProcessor(char1=" ", char2=" "), Condition(self._has_tabs))],
            style=STYLE,
            output=None if sys.stdout.isatty() else create_output(always_prefer_tty=True),
        )
        session.app.after_render.add_handler(prepare)  # once the prompt is visible
        return session

    def _message(self) -> FormattedText:
        mode = self._executor.settings.mode
        fixed = [("class:mode", f" {mode}")] if mode != languages.AUTO else []
        return FormattedText([("class:prompt", name(self._executor)), *fixed, ("class:prompt", "> ")])

    def _has_tabs(self) -> bool:
        return "\t" in self._session.default_buffer.text

    def _toolbar(self) -> str:
        text = self._session.default_buffer.text
        if len(text) > LONGEST or not text.strip():
            return "" if text.strip() else " .help   Tab completes   Ctrl-R searches the history   Ctrl-D leaves"
        language = self._executor.language(text)
        if "\n" in text and not languages.is_complete(text + "\n", language, blank_ends=True):
            return f" {language}: {_OPEN}"
        return f" {language}: {_ENDS[language]}"

    def _edited(self, text: str) -> str:
        """Return a text as edited in the user's editor, or unchanged if that fails."""
        try:
            return terminal.edit(text)
        except KbError as error:
            self._runner.report([error.text_for(SPELLER)])
            return text


def name(executor: Executor) -> str:
    """Return the KB's name in the prompt: its directory without the suffix."""
    return executor.kb.directory.path.resolve().stem or executor.kb.schema.name


def _continuation(width: int, _number: int, _wrapped: int) -> str:
    return ("." * 3 + " ").rjust(width)[-width:] if width else ""
