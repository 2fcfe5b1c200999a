"""``%kb``: statements of the shell in a notebook, on one open KB; what they give are objects."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class, needs_local_scope, no_var_expand

from kbkit.display.render import clean
from kbkit.errors import KbError

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from kbkit.executor.executor import Executor, Outcome
    from kbkit.executor.languages import Statement
    from kbkit.kb import KnowledgeBase

_QUESTION = re.compile(r"(\s*(?:[\w\s,.]+=\s*)?)%kb[ \t]+(.*\?)\s*$")
_INTO = re.compile(r"\s*([^\W\d]\w*)\s*<<[ \t]*(.*)", re.DOTALL)
_WIDTH = 100
"""Of what commands print: a notebook tells no width."""
_MOST_SCRIPTS = 20
"""How deep ``.read`` may go: a file that reads itself never ends."""


@magics_class
class KbMagics(Magics):
    """The magic, and the KB that it has open."""

    executor: Executor | None = None

    @no_var_expand  # else IPython would paste values of variables into the text
    @needs_local_scope
    @line_cell_magic
    def kb(self, line: str, cell: str | None = None, local_ns: dict[str, Any] | None = None) -> Any:
        """Ask a KB: SQL, SPARQL, an answer expression, words to search for, or a dot-command.

        %kb open world.kb             open a KB; %kb close closes it, %kb alone gives the KnowledgeBase
        df = %kb SELECT ...           a polars frame; $name is the Python variable of that name
        %kb country:<c> -> river      an answer set; <c> is the Python variable c
        %kb landlocked and high       search results
        %kb .show Nepal               a page; .help lists the commands
        df << SELECT ...              put the result into df, also after %%kb, where statements may be many lines
        """
        assert self.shell is not None
        names = {**self.shell.user_ns, **(local_ns or {})}
        text = line if cell is None else f"{line}\n{cell}"
        into = _INTO.match(text)
        if into is not None:
            text = into[2]
        try:
            value = self._run(text, names)
        except KbError as error:
            raise UsageError(" ".join(clean(str(error)).split())) from None
        if into is None:
            return value
        self.shell.user_ns[into[1]] = value
        return None

    def close(self) -> None:
        """Close the KB, if one is open."""
        if self.executor is not None:
            self.executor.close()
            self.executor = None

    def _run(self, text: str, names: dict[str, Any]) -> Any:
        path = _path(text)
        if path is not None:
            return self._open(path)
        if text.strip() == "close":
            return self.close()
        executor = self._opened()
        if not text.strip():
            return executor.kb
        if news := executor.news():
            _remark(news)
        return self._each(_statements(text, executor), names)

    def _open(self, path: Path) -> KnowledgeBase:
        from kbkit.executor.executor import Executor

        opened = Executor.open(path)  # first, so that a wrong path leaves the old one open
        self.close()
        self.executor = opened
        return opened.kb

    def _opened(self) -> Executor:
        if self.executor is None:
            raise KbError("no KB is open", "%kb open DIR opens one")
        return self.executor

    def _each(self, statements: Iterable[Statement], names: dict[str, Any], depth: int = 0) -> Any:
        """Run statements; the value of the last is handed back, those before are shown."""
        from kbkit.executor.executor import Quit

        if depth > _MOST_SCRIPTS:
            raise KbError(f"{_MOST_SCRIPTS} files read one another", "does one read itself?")
        value = None
        for statement in statements:
            if value is not None:
                _show(value)
            try:
                outcome = self._one(statement, names)
            except Quit:
                return self.close()
            value = _value(outcome)
            if outcome.script:
                value = self._each(outcome.script, names, depth + 1)
        return value

    def _one(self, statement: Statement, names: dict[str, Any]) -> Outcome:
        from kbkit.notebook.variables import values

        executor = self._opened()
        given = values(executor.kb, statement.text, statement.language, names)
        return executor.run(statement.text, given, statement.language)


def _statements(text: str, executor: Executor) -> Iterator[Statement]:
    """The statements of a cell: as in a script, but expressions and words to search for go on to the next empty line or
    dot-command.
    """
    from kbkit.executor import languages

    mode, types, rest = executor.settings.mode, executor.types, ""
    for block in re.split(r"\n(?=[ \t]*(?:\n|\.[a-z]))", text):
        rest += block + "\n"
        language = executor.language(rest)
        if language == "search" or (language == "answers" and _is_expression(rest)):
            yield languages.Statement(rest.strip(), language)
        elif language != "sql" or languages.is_complete(rest.rstrip(), language, blank_ends=False):
            yield from languages.split(rest, mode, types)
        else:
            continue
        rest = ""
    yield from languages.split(rest, mode, types)


def _is_expression(text: str) -> bool:
    from kbkit.answers.parse import parse

    try:
        parse(text)
    except KbError:
        return False
    return True


def _path(text: str) -> Path | None:
    """The KB that ``open DIR``, or a folder alone that is one, asks for."""
    words = text.strip()
    asked = words.removeprefix("open ")
    path = Path(asked.strip().strip("'\"")).expanduser()
    try:
        if asked != words and (" " not in asked.strip() or path.is_dir()):
            return path
        return path if (path / "CURRENT").is_file() else None
    except (OSError, ValueError):  # too long for a path, or no text for one
        return None


def _value(outcome: Outcome) -> Any:
    """What a notebook has of an outcome: text is printed, remarks go to standard error."""
    from kbkit.executor.executor import Printout

    if outcome.note:
        _remark(outcome.note)
    value = outcome.edit if outcome.value is None else outcome.value
    if isinstance(value, tuple):  # sections with titles
        for title, part in value:
            _show(title)
            _show(part)
        return None
    return _show(value) if isinstance(value, str | Printout) else value


def _show(value: Any) -> None:
    """Show a value in the middle of a cell; text is printed."""
    from IPython.display import display

    from kbkit.executor.executor import Printout

    if isinstance(value, Printout):
        value.print(sys.stdout, _WIDTH)
    elif not isinstance(value, str):
        display(value)  # type: ignore[no-untyped-call]
    elif value:
        print(clean(value))  # noqa: T201


def _remark(text: str) -> None:
    print(clean(text), file=sys.stderr)  # noqa: T201


def questions(lines: list[str]) -> list[str]:
    """Lines of a cell in which ``%kb who borders France?`` is no call for IPython's help, as a ``?`` at the end is."""
    if lines and lines[0].startswith("%%"):
        return lines
    found = [_QUESTION.match(line) for line in lines]
    return [
        f"{ask[1]}get_ipython().run_line_magic('kb', {ask[2]!r})\n" if ask else line
        for ask, line in zip(found, lines, strict=True)
    ]


def load(shell: InteractiveShell) -> None:
    """Register the magic; what ``%load_ext kbkit`` does."""
    shell.register_magics(KbMagics(shell))
    if questions not in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.append(questions)


def unload(shell: InteractiveShell) -> None:
    """Close the KB and take the magic away; what ``%unload_ext kbkit`` does."""
    magics = shell.magics_manager.registry.get("KbMagics")
    if isinstance(magics, KbMagics):
        magics.close()
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("kb", None)
    if questions in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.remove(questions)
