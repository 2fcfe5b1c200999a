"""Files of results: all rows of a query, or all that match the filters."""

from __future__ import annotations

import os
import tempfile
import threading
from typing import IO, TYPE_CHECKING

from starlette.background import BackgroundTask
from starlette.responses import Response, StreamingResponse

from kbkit.display.render import chunks_of
from kbkit.errors import KbError
from kbkit.stores.sql_results import ResultBounds
from kbkit.stores.threads import run
from kbkit.web.explore.query_results import KeptResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from kbkit.web.explore.query_results import KeptResults, ResultState

FILES = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet", "json": "application/json"}
"""Formats with their media types."""
_FILE = ResultBounds(1_000_000, 256 * 10**6)
"""Maximum rows of a file, and their size in memory."""
_SLICE = 10_000
"""Rows that are written to a file at once."""
_CHUNK = 1 << 20


def rows(results: KeptResults, state: ResultState) -> pl.DataFrame:
    """Run the query of a state; return the rows that match its filters, in its order. Raises :class:`KbError`."""
    outcome, nodes = results.outcome(state.text, state.language, _FILE)
    frame = outcome.frame
    if frame is None:
        raise KbError("The statement has no rows to save")
    if frame.height > _FILE.rows:
        hint = f"Use LIMIT, or save it with kbkit {outcome.language} KB QUERY -o FILE"
        raise KbError(f"The result has more than {_FILE.rows:,} rows", hint)
    if state.filters or state.order >= 0:
        return frame[KeptResult(outcome, frame, nodes, is_cut=False).rows(state)]
    return frame


def sent(frame: pl.DataFrame, kind: str, headers: Mapping[str, str]) -> Response:
    """Return rows as a file in one of :data:`FILES`, which is sent in chunks."""
    file = _written(frame, kind)
    size = str(file.seek(0, os.SEEK_END))
    file.seek(0)
    chunks = iter(lambda: file.read(_CHUNK), b"")
    given = {**headers, "Content-Length": size}
    return StreamingResponse(chunks, media_type=FILES[kind], headers=given, background=BackgroundTask(file.close))


def _written(frame: pl.DataFrame, kind: str) -> IO[bytes]:
    """Return a temporary file with all rows, so that a slow reader holds no memory."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed when it is sent
    stopped = threading.Event()

    def write_slices() -> None:
        for chunk in chunks_of(frame, kind, _SLICE):
            if stopped.is_set():
                return
            file.write(chunk)

    run(write_slices, stopped.set)
    return file
