"""Queries run on a KB, with their result in the form that row-major measures take."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kbkit.errors import KbError, QueryError, QuerySyntaxError, QueryTimeoutError
from kbkit.measures.rows import Result
from kbkit.sparql.parse import parse

if TYPE_CHECKING:
    import polars as pl

    from kbkit.kb import KnowledgeBase

TIMEOUT = 60.0
"""Seconds a query, as in the paper (section 4.1)."""
MOST = 10_000
"""Rows that are kept of a result."""
_REFUSED = re.compile(r"error at \d+:\d+|SERVICE is refused")
"""How messages begin of queries that are not run: what Oxigraph's parser says, and the check before it."""


@dataclass(frozen=True)
class Executed:
    """What became of a query: its ``result``, None with an ``error``.

    ``stage`` is how far it came: ``syntax`` (it is no SPARQL), ``rewrite`` (it asks for what is refused), ``engine``
    (the engine's parser refuses it), ``time`` (stopped at the limit), ``run`` (another error while it ran), ``rows``
    (it ran, and gave none) or ``done``. ``cut`` if there were more rows than asked for.
    """

    result: Result
    stage: str
    error: str = ""
    cut: bool = False
    notes: tuple[str, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether it was rewritten, and the engine's parser took it."""
        return self.stage not in ("syntax", "rewrite", "engine")

    @property
    def ran(self) -> bool:
        """Whether it ended within the limit."""
        return self.stage in ("rows", "done")

    @property
    def rows(self) -> int:
        """How many rows it gave; a boolean is one."""
        return len(self.result) if isinstance(self.result, list) else int(self.result is not None)


def execute(kb: KnowledgeBase, text: str, timeout: float | None = TIMEOUT, limit: int = MOST) -> Executed:
    """Run a query on a KB, rewritten as the KB's dialect has it, for at most ``timeout`` seconds (None: no limit) and
    ``limit`` rows. What is wrong with the query is told, not raised.
    """
    try:
        notes = tuple(kb.rewrite(text).notes)
    except KbError as error:
        return Executed(None, "rewrite" if _is_readable(text) else "syntax", _line(error))
    try:
        frame = kb.sparql(text, timeout, max_rows=limit + 1)
    except QueryTimeoutError as error:
        return Executed(None, "time", _line(error), notes=notes)
    except QuerySyntaxError as error:  # of the engine, in the words of our parser
        return Executed(None, "engine" if _is_readable(text) else "syntax", _line(error), notes=notes)
    except QueryError as error:
        return Executed(None, "engine" if _REFUSED.match(error.message) else "run", _line(error), notes=notes)
    found = rows_of(frame.head(limit))
    return Executed(found, "rows" if found == [] else "done", cut=frame.height > limit, notes=notes)


def _is_readable(text: str) -> bool:
    """Whether a query is SPARQL; what is refused may be."""
    try:
        parse(text)
    except QuerySyntaxError:
        return False
    return True


def _line(error: KbError) -> str:
    return " ".join(error.message.split())


def rows_of(frame: pl.DataFrame) -> Result:
    """A frame of :meth:`KnowledgeBase.sparql` as rows of cells; that of an ASK query is its boolean.

    Cells are the texts that the frame has, without datatype and language, so that results of one KB compare with each
    other only.
    """
    import polars as pl

    if frame.columns == ["ask"] and frame.schema["ask"] == pl.Boolean:
        return bool(frame.item())
    return [
        {name: {"type": "literal", "value": _text(value)} for name, value in row.items() if value is not None}
        for row in frame.iter_rows(named=True)
    ]


def plain(result: Result) -> Result:
    """A result with its cells as :func:`rows_of` has them: their text, without type, datatype and language."""
    if not isinstance(result, list):
        return result
    return [{name: {"type": "literal", "value": cell["value"]} for name, cell in row.items()} for row in result]


def _text(value: Any) -> str:
    """3.0 is 3, as a column of whole numbers has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
