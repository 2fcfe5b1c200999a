"""Runs what is typed or read, statement by statement, and shows what it gives: what every front end shares."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from kbkit.directory import systems
from kbkit.display.render import clean
from kbkit.errors import KbError
from kbkit.executor import languages
from kbkit.executor.executor import Executor, Outcome, Quit
from kbkit.shell import failure
from kbkit.shell.display import Display
from kbkit.shell.failure import Where

_MOST_NESTED = 10
_DEFECT = 70


class Runner:
    """Runs statements one after another. ``pending`` is what is to be edited for the next prompt."""

    def __init__(self, executor: Executor, display: Display, *, debug: bool = False) -> None:
        self.executor, self.display = executor, display
        self.pending: str | None = None
        self._debug = debug

    def script(self, text: str, source: str = "") -> int:
        """Run the statements of a text until one fails; the exit code that this means."""
        return self._all(languages.split(text, self.executor.language), source, 0)

    def typed(self, text: str) -> int:
        """Run what was typed or pasted at a prompt, as a script is run."""
        return self._all(self.statements(text), "", 0)

    def is_whole(self, text: str) -> bool:
        """Whether what was typed can be run: its last statement is whole."""
        found = self.statements(text)
        if len(found) < 2:
            return languages.is_complete(text, self.executor.language(text), blank_ends=True)
        last = found[-1].text + "\n" * text.endswith("\n")
        return languages.is_complete(last, found[-1].language, blank_ends=True)

    def statements(self, text: str) -> list[languages.Statement]:
        """The statements of what was typed or pasted. Plain words are one search, also over several lines."""
        found = list(languages.split(text, self.executor.settings.mode, self.executor.types))
        searches = len(found) > 1 and all(statement.language == "search" for statement in found)
        return [languages.Statement(text, "search")] if searches else found

    def statement(self, text: str, language: str = "", where: Where | None = None, depth: int = 0) -> int:
        """Run one statement; what is wrong with it is told. 0 when all went well, else an exit code."""
        news = self.executor.news()
        if news:
            self.display.remark(news)
        try:
            with self.display.waiting():
                outcome = self.executor.run(text, language=language)
            self.display.show(outcome)
        except KbError as error:
            self.report(failure.lines(error, self.executor.ran, self.display.width, where))
            return error.exit_code
        except KeyboardInterrupt:
            self.report(["stopped"])
            return 130
        except (OSError, MemoryError) as error:
            if isinstance(error, OSError) and systems.is_closed_pipe(error):
                raise  # whoever read has seen enough
            self.report([f"{where or ''}{getattr(error, 'strerror', None) or error or type(error).__name__}"])
            return 1
        except Quit:
            raise
        except Exception as error:  # a defect of ours: the session goes on
            if self._debug:
                raise
            said = f"internal error: {type(error).__name__}: {' '.join(str(error).split())}"
            self.report([f"{where or ''}{said}; please report it; kbkit --debug shell ... shows where"])
            return _DEFECT
        return self._follow(outcome, depth)

    def _follow(self, outcome: Outcome, depth: int) -> int:
        if outcome.edit is not None:
            self.pending = outcome.edit
        if outcome.script and depth >= _MOST_NESTED:
            self.report([f"{outcome.source}: files read one another, {_MOST_NESTED} deep; is there a circle?"])
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
        """Print what is wrong, on standard error."""
        sys.stdout.flush()
        for line in lines:
            print(clean(line), file=sys.stderr)  # noqa: T201 - it is what a shell is for
        sys.stderr.flush()
