"""The magic ``%kb``: statements of the shell in a notebook, on one open KB; results are objects."""

from __future__ import annotations

import datetime
import decimal
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class, needs_local_scope, no_var_expand

from kbkit.display.render import clean
from kbkit.errors import KbError

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from kbkit.executor.executor import Executor
    from kbkit.executor.languages import Statement
    from kbkit.executor.outcomes import StatementOutcome
    from kbkit.kb import KnowledgeBase

_QUESTION = re.compile(r"(\s*(?:[\w\s,.]+=\s*)?)%kb[ \t]+(.*\?)\s*$")
_INTO = re.compile(r"\s*([^\W\d]\w*)\s*<<[ \t]*(.*)", re.DOTALL)
_WIDTH = 100
"""Width of printed output: a notebook has none."""
_MAX_DEPTH = 20
"""Nesting limit of ``.read``: a file that reads itself would never end."""
_VALUES = (str, int, float, bool, datetime.date, datetime.time, datetime.timedelta, decimal.Decimal, bytes)


@magics_class
class KbMagics(Magics):
    """The magic and its open KB."""

    executor: Executor | None = None

    @no_var_expand  # else IPython would insert values of variables into the text
    @needs_local_scope
    @line_cell_magic
    def kb(self, line: str, cell: str | None = None, local_ns: dict[str, Any] | None = None) -> Any:
        """Query a KB: SQL, SPARQL, an answer expression, words to search for, or a dot-command.

        %kb open world.kb             open a KB; %kb close closes it, %kb alone returns the KnowledgeBase
        df = %kb SELECT ...           a polars frame; $name is the Python variable of that name
        %kb country:<c> -> river      an answer set; <c> is the Python variable c
        %kb landlocked and high       search results
        %kb Which countries border Nepal?   the answer set of a question
        %kb .show Nepal               a page; .help lists the commands
        df << SELECT ...              assign the result to df, also after %%kb, where statements can span lines
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
            raise KbError("No KB is open", "Open one with %kb open KB")
        return self.executor

    def _each(self, statements: Iterable[Statement], names: dict[str, Any], depth: int = 0) -> Any:
        """Run statements, show the values of all but the last, and return the value of the last."""
        from kbkit.executor.outcomes import Quit

        if depth > _MAX_DEPTH:
            raise KbError(f".read is nested more than {_MAX_DEPTH} deep", "Does a file read itself?")
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

    def _one(self, statement: Statement, names: dict[str, Any]) -> StatementOutcome:
        from kbkit.executor import dispatch

        executor = self._opened()
        values = _variables(executor.kb, statement.text, statement.language, names)
        return dispatch.run(executor, statement.text, values, statement.language)


def _variables(kb: KnowledgeBase, statement: str, language: str, names: Mapping[str, Any]) -> dict[str, Any]:
    """Look up the parameters of a statement in the notebook's variables; values keep their types.

    A :class:`Node` becomes its id in SQL, its IRI in SPARQL, and its key in an expression. Raises :class:`KbError` for
    values of other types, and for missing variables; in SPARQL a missing one is a variable of the query.
    """
    from kbkit.executor.lexers import parameters

    used = parameters(statement, language)
    for name in used:
        if name not in names and language != "sparql":
            sign = f"<{name}>" if language == "answers" else f"${name}"
            raise KbError(f"Undefined Python variable {name!r} for {sign}", f"Assign it first: {name} = ...")
    return {name: _parameter(kb, name, names[name], language) for name in used if name in names}


def _parameter(kb: KnowledgeBase, name: str, value: Any, language: str) -> Any:
    from kbkit.graph.nodes import Node

    if isinstance(value, Node):
        if language == "sparql":
            return f"<{kb.schema.node_iri(value.type, value.key)}>"
        return value.id if language == "sql" else f"#{value.key}"
    convert = getattr(value, "to_list", None) or getattr(value, "tolist", None)
    if convert is not None:  # a Series, or an array or number of NumPy
        value = convert()
    if isinstance(value, list | tuple) and language == "sql":
        return [_parameter(kb, name, item, language) for item in value]
    if value is None or isinstance(value, _VALUES):
        return value
    types = "a number, a string, a date, a node" + (" or a list of these" if language == "sql" else "")
    raise KbError(f"The variable {name!r} is a {type(value).__name__}, which is not a query value", f"Use {types}")


def _statements(text: str, executor: Executor) -> Iterator[Statement]:
    """Split a cell into statements.

    As in a script, but expressions and searches extend to the next empty line or dot-command.
    """
    from kbkit.executor import languages

    mode, types, rest = executor.settings.mode, executor.types, ""
    for block in re.split(r"\n(?=[ \t]*(?:\n|\.[a-z]))", text):
        rest += block + "\n"
        language = executor.language(rest)
        if language in languages.IN_WORDS or (language == "answers" and _is_expression(rest)):
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
    """Return the KB to open: that of ``open KB``, or the text itself if it is the path of a KB."""
    words = text.strip()
    target = words.removeprefix("open ")
    path = Path(target.strip().strip("'\"")).expanduser()
    try:
        if target != words and (" " not in target.strip() or path.is_dir()):
            return path
        return path if (path / "CURRENT").is_file() else None
    except (OSError, ValueError):  # too long or invalid as a path
        return None


def _value(outcome: StatementOutcome) -> Any:
    """Return the value of an outcome; print text, and remarks on standard error."""
    from kbkit.executor.outcomes import Printout

    if outcome.note:
        _remark(outcome.note)
    value = outcome.edit if outcome.value is None else outcome.value
    if isinstance(value, Printout) and value.of is not None:
        value = value.of
    value = _rows(value)
    if isinstance(value, tuple):  # sections with titles
        for title, part in value:
            _show(title)
            _show(part)
        return None
    return _show(value) if isinstance(value, str | Printout) else value


def _rows(value: Any) -> Any:
    """Return a plain frame as one that is rendered with prose left-aligned; other values as they are."""
    import polars as pl

    from kbkit.display.frames import DataFrame

    return DataFrame(value) if type(value) is pl.DataFrame else value


def _show(value: Any) -> None:
    """Display a value; print text."""
    from IPython.display import display

    from kbkit.executor.outcomes import Printout

    value = _rows(value)
    if isinstance(value, Printout):
        value.print(sys.stdout, _WIDTH)
    elif not isinstance(value, str):
        display(value)  # type: ignore[no-untyped-call]
    elif value:
        print(clean(value))  # noqa: T201


def _remark(text: str) -> None:
    print(clean(text), file=sys.stderr)  # noqa: T201


def questions(lines: list[str]) -> list[str]:
    """Protect lines like ``%kb who borders France?``, whose final ``?`` would call IPython's help."""
    if lines and lines[0].startswith("%%"):
        return lines
    found = [_QUESTION.match(line) for line in lines]
    return [
        f"{match[1]}get_ipython().run_line_magic('kb', {match[2]!r})\n" if match else line
        for match, line in zip(found, lines, strict=True)
    ]


def load(shell: InteractiveShell) -> None:
    """Register the magic (``%load_ext kbkit``)."""
    shell.register_magics(KbMagics(shell))
    if questions not in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.append(questions)


def unload(shell: InteractiveShell) -> None:
    """Close the KB and remove the magic (``%unload_ext kbkit``)."""
    magics = shell.magics_manager.registry.get("KbMagics")
    if isinstance(magics, KbMagics):
        magics.close()
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("kb", None)
    if questions in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.remove(questions)
