"""Runs typed or read text statement by statement and shows the results."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from kbkit.directory import systems
from kbkit.display.render import clean
from kbkit.errors import KbError, is_panic, shortage
from kbkit.executor import dispatch, languages
from kbkit.executor.executor import Executor
from kbkit.executor.outcomes import Quit, StatementOutcome
from kbkit.shell.display import Display
from kbkit.shell.errors import Where, error_lines
from kbkit.shell.terminal import run_command

_MAX_DEPTH = 10
_INTERNAL_ERROR = 70


class Runner:
    """Runs statements one after another. ``pending`` is text for the user to edit at the next prompt."""

    def __init__(self, executor: Executor, display: Display, *, debug: bool = False) -> None:
        self.executor, self.display = executor, display
        self.pending: str | None = None
        self._debug = debug
        executor.system, executor.page_rows = run_command, display.page_rows

    def script(self, text: str, source: str = "") -> int:
        """Run the statements of a text until one fails; return its exit code, else 0."""
        return self._all(languages.split(text, self.executor.language), source, 0)

    def typed(self, text: str) -> int:
        """Run text typed or pasted at a prompt, as a script."""
        return self._all(self.statements(text), "", 0)

    def is_complete(self, text: str) -> bool:
        """Return whether typed text can be run: its last statement is complete."""
        found = self.statements(text)
        if len(found) < 2:
            return languages.is_complete(text, self.executor.language(text), blank_ends=True)
        last = found[-1].text + "\n" * text.endswith("\n")
        return languages.is_complete(last, found[-1].language, blank_ends=True)

    def statements(self, text: str) -> list[languages.Statement]:
        """Return the statements of typed or pasted text. Several lines of plain words are one."""
        found = list(languages.split(text, self.executor.settings.mode, self.executor.types))
        searches = len(found) > 1 and all(statement.language in languages.IN_WORDS for statement in found)
        return [languages.Statement(text, self.executor.language(text))] if searches else found

    def statement(self, text: str, language: str = "", where: Where | None = None, depth: int = 0) -> int:
        """Run one statement and show its result or error; return its exit code."""
        news = self.executor.news()
        if news:
            self.display.remark(news)
        try:
            with self.display.waiting():
                outcome = dispatch.run(self.executor, text, language=language)
            self.display.show(outcome)
        except KbError as error:
            self.report(error_lines(error, self.executor.ran, self.display.width, where))
            return error.exit_code
        except KeyboardInterrupt:
            self.report(["Cancelled."])
            return 130
        except (OSError, MemoryError) as error:
            if isinstance(error, OSError) and systems.is_closed_pipe(error):
                raise  # the reader closed the pipe
            self.report([f"{where or ''}{getattr(error, 'strerror', None) or error or type(error).__name__}"])
            return 1
        except Quit:
            raise
        except BaseException as error:  # a bug in kbkit, or a shortage: the session continues
            if self._debug or not (isinstance(error, Exception) or is_panic(error)):
                raise
            if short := shortage(error):
                self.report(error_lines(short, self.executor.ran, self.display.width, where))
                return short.exit_code
            message = f"Internal error: {type(error).__name__}: {' '.join(str(error).split())}."
            self.report([f"{where or ''}{message} Please report it with the output of kbkit --debug shell."])
            return _INTERNAL_ERROR
        return self._follow(outcome, depth)

    def _follow(self, outcome: StatementOutcome, depth: int) -> int:
        if outcome.edit is not None:
            self.pending = outcome.edit
        if outcome.script and depth >= _MAX_DEPTH:
            self.report([f"{outcome.source}: .read is nested more than {_MAX_DEPTH} deep. Does a file read itself?"])
            return 1
        return self._all(outcome.script, outcome.source, depth + 1)

    def _all(self, statements: Iterable[languages.Statement], source: str, depth: int) -> int:
        for statement in statements:
            where = Where(source, statement.line) if source else None
            code = self.statement(statement.text, statement.language, where, depth)
            if code:
                return code
        return 0

    def report(self, lines: list[str]) -> None:
        """Print lines on standard error."""
        sys.stdout.flush()
        for line in lines:
            print(clean(line), file=sys.stderr)  # noqa: T201
        sys.stderr.flush()
