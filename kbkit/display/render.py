"""Writes rows as table, json, ndjson, csv, markdown or parquet.

Text of a KB is data: control characters (such as terminal escapes) never reach a screen, and markup is not interpreted.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from kbkit.directory.files import replacing
from kbkit.errors import KbError, Option, UnknownNameError

if TYPE_CHECKING:
    import polars as pl

FORMATS = ("table", "json", "ndjson", "csv", "markdown", "parquet")
ENDINGS = {
    ".json": "json",
    ".jsonl": "ndjson",
    ".ndjson": "ndjson",
    ".csv": "csv",
    ".md": "markdown",
    ".parquet": "parquet",
    ".txt": "table",
}
"""Formats by the suffix of a file."""
TABLE_ROWS = 100
"""Maximum number of rows of a table on a terminal; other formats, pipes and files have all rows."""
FILE_WIDTH = 120
"""Width of tables that go to a pipe or file, unless ``COLUMNS`` is set."""
_TURNS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def write(
    frame: pl.DataFrame,
    kind: str | None = None,
    output: Path | None = None,
    *,
    cut: str = "",
    prefixes: Mapping[str, str] | None = None,
) -> None:
    """Write ``frame`` to a file or to standard output. Without ``kind``, the suffix of the file selects the format;
    standard output gets a table. ``cut`` and ``prefixes`` are those of :func:`print_table`.
    """
    kind = kind_of(kind, output)
    if output is None:
        write_text(frame, kind, sys.stdout, cut=cut, prefixes=prefixes)
        return
    check_output(output)
    with replacing(output) as aside:
        if kind == "parquet":
            content = io.BytesIO()  # polars reports a full disk in many ways
            frame.write_parquet(content)
            aside.write_bytes(content.getbuffer())
        else:
            with aside.open("w", encoding="utf-8", newline="") as stream:
                write_text(frame, kind, stream, prefixes=prefixes)


def check(kind: str | None, output: Path | None, more: Sequence[str] = ()) -> None:
    """Raise the errors of :func:`write` in advance; that of an unknown format lists ``more`` formats too."""
    kind_of(kind, output, more)
    check_output(output)


def check_output(output: Path | None) -> None:
    """Raise the errors of writing to a file in advance."""
    if output is not None and not output.parent.is_dir():
        raise KbError(f"{output.parent} does not exist", "Create the folder first")
    if output is not None and output.is_dir():
        raise KbError(f"{output} is a folder", "Use ", Option("output", "FILE"))


def write_bytes(chunks: Iterable[bytes], output: Path | None) -> None:
    """Write text in UTF-8 to a file, atomically, or to standard output; a terminal gets no control characters."""
    if output is not None:
        check_output(output)
        with replacing(output) as temporary, temporary.open("wb") as file:
            file.writelines(chunks)
    elif sys.stdout.isatty():
        text = b"".join(chunks).decode("utf-8", "replace").replace("\r\n", "\n")
        sys.stdout.write(clean(text) + "\n" * (not text.endswith("\n")))
    else:
        sys.stdout.flush()
        for chunk in chunks:
            sys.stdout.buffer.write(chunk)


def kind_of(kind: str | None, output: Path | None, more: Sequence[str] = ()) -> str:
    """Return the format: ``kind``, or that of the file's suffix, or table; an error lists ``more`` formats too."""
    kind = kind or _default(output, more)
    if kind not in FORMATS:
        raise UnknownNameError("format", kind, (*FORMATS, *more))
    if kind == "parquet" and output is None:
        raise KbError("Format parquet needs a file", "Use ", Option("output", "FILE"))
    return kind


def _default(output: Path | None, more: Sequence[str]) -> str:
    if output is None:
        return "table"
    if output.suffix not in ENDINGS:
        raise KbError(
            f"Unsupported file suffix {output.suffix!r}: {output}",
            "Use ",
            Option("format", "FORMAT"),
            f" with one of {', '.join((*FORMATS, *more))}",
        )
    return ENDINGS[output.suffix]


def write_text(
    frame: pl.DataFrame, kind: str, stream: IO[str], *, cut: str = "", prefixes: Mapping[str, str] | None = None
) -> None:
    """Write all rows as text; a table on a terminal has the first ``TABLE_ROWS``.

    Pipes and files get all characters of the data, a terminal none that control it.
    """
    if kind == "table":
        limit = TABLE_ROWS if stream.isatty() else frame.height
        print_table(frame, stream, limit=limit, cut=cut, prefixes=prefixes)
    else:
        text = _as_text(frame, kind)
        stream.write(clean(text) if stream.isatty() else text)


def _as_text(frame: pl.DataFrame, kind: str) -> str:
    if kind == "csv":
        return _flat(frame).write_csv()
    if kind == "markdown":
        return markdown(frame)
    lines = _jsonable(frame).write_ndjson()
    return lines if kind == "ndjson" else "[" + ",\n ".join(lines.rstrip("\n").split("\n")) + "]\n"


def chunks_of(frame: pl.DataFrame, kind: str, rows: int) -> Iterator[bytes]:
    """Yield the bytes of a file of a format (csv, json or parquet), those of text in slices of ``rows`` rows."""
    if kind == "parquet":
        content = io.BytesIO()
        frame.write_parquet(content)
        yield content.getvalue()
        return
    for first in range(0, max(frame.height, 1), rows):
        part = frame.slice(first, rows)
        if kind == "csv":
            yield _flat(part).write_csv(include_header=first == 0).encode()
        else:
            text = _as_text(part, kind).removesuffix("]\n")
            yield (text if first == 0 else ",\n " + text.removeprefix("[")).encode()
    if kind == "json":
        yield b"]\n"


def records(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Return the rows as records of JSON values, as in the format ndjson."""
    return [json.loads(line) for line in _as_text(frame, "ndjson").split("\n") if line]


def width_of(stream: IO[str]) -> int:
    """Return ``COLUMNS``, else the width of the terminal, else ``FILE_WIDTH``."""
    if not stream.isatty() and not os.environ.get("COLUMNS", "").isdecimal():
        return FILE_WIDTH
    from rich.console import Console

    return Console(file=stream).width


def has_styles(stream: IO[str]) -> bool:
    """Return whether ``stream`` is a terminal that supports styles, and styles are not turned off."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def heading(text: str, stream: IO[str]) -> str:
    """Return the text in bold if ``stream`` supports styles."""
    return f"\x1b[1m{text}\x1b[0m" if text and has_styles(stream) else text


def print_table(
    frame: pl.DataFrame,
    stream: IO[str],
    *,
    count: bool = True,
    width: int | None = None,
    limit: int = TABLE_ROWS,
    note: str = "",
    cut: str = "",
    prefixes: Mapping[str, str] | None = None,
) -> None:
    """Print a table: numbers aligned right, long text folded, at most ``limit`` rows, and the number of rows.

    ``note`` replaces the number of rows. If the columns do not fit, each row is printed as a list of its values.
    ``cut`` is what a user enters to see whole cells: with it, a terminal gets the first lines of each cell only.
    IRIs that start with a namespace of ``prefixes`` are printed as prefixed names.
    """
    from rich.console import Console
    from rich.text import Text

    from kbkit.display.iris import prefixed
    from kbkit.display.tables import TableLayout

    console = Console(file=stream, highlight=False, width=width or width_of(stream))
    part = prefixed(frame.head(limit), prefixes or {})
    rows = [[clean(cell(value)) for value in row] for row in part.iter_rows()]
    numeric = [dtype.is_numeric() for dtype in frame.dtypes]
    layout = TableLayout(console, list(map(clean, frame.columns)), rows, numeric, bool(cut) and stream.isatty())
    with console.capture() as printed:
        if frame.width:
            for line in layout.lines():
                console.print(line, soft_wrap=True)
        if count or frame.height > limit or layout.is_cut:
            whole = f"; {cut} shows whole cells" if layout.is_cut else ""
            console.print(Text((note or _row_count(frame.height, limit)) + whole, style="dim"))
    stream.write(printed.get())


def _row_count(rows: int, limit: int) -> str:
    if rows > limit:
        return f"{limit:,} of {rows:,} rows shown; other formats show all"
    return f"{rows:,} row{'' if rows == 1 else 's'}"


def markdown(frame: pl.DataFrame) -> str:
    """Return a GitHub table; pipes are escaped, line breaks become spaces."""

    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(_pipeless(clean(c)) for c in cells) + " |\n"

    rule = "| " + " | ".join("---:" if d.is_numeric() else "---" for d in frame.dtypes) + " |\n"
    return line(frame.columns) + rule + "".join(line(map(cell, row)) for row in frame.iter_rows())


def _pipeless(text: str) -> str:
    """Escape the pipes in a cell of a GitHub table, also after a backslash."""
    return text.replace("\n", " ").replace("\\|", "\\\\|").replace("|", "\\|")


def cell(value: Any) -> str:
    """Return a value as text: NULL is empty, integers are exact, other numbers have four significant digits."""
    if value is None:
        return ""
    if isinstance(value, float):
        return (
            f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.{4 if abs(value) < 1e4 else 8}g}"
        )
    if isinstance(value, list):
        return ", ".join(map(cell, value))
    if isinstance(value, dict):
        return to_json(value)
    return str(value)


def clean(text: str) -> str:
    """Remove control characters other than line break and tab, and characters that change the text direction."""
    return _TURNS.sub("", _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text))


def to_json(value: Any, indent: int | None = None) -> str:
    """Return a value as JSON, which has no NaN and no infinities: they are null. Other objects are text."""
    try:
        return json.dumps(value, ensure_ascii=False, default=str, indent=indent, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), ensure_ascii=False, default=str, indent=indent, allow_nan=False)


def write_json(value: Any, stream: IO[str], indent: int | None = None) -> None:
    """Write a value as JSON and a line end; a terminal gets no characters that control it."""
    text = to_json(value, indent) + "\n"
    stream.write(clean(text) if stream.isatty() else text)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _flat(frame: pl.DataFrame) -> pl.DataFrame:
    """Replace lists and structures by JSON text, for CSV."""
    import polars as pl

    def column(name: str) -> pl.Series:
        values = [v if v is None else to_json(v) for v in frame[name].to_list()]
        return pl.Series(name, values, dtype=pl.String)

    nested = [name for name, dtype in frame.schema.items() if dtype.is_nested()]
    return _jsonable(frame.with_columns(map(column, nested)))


def _jsonable(frame: pl.DataFrame) -> pl.DataFrame:
    """Replace types that JSON lacks: binary by base64, durations by integers."""
    import polars as pl

    return frame.with_columns(pl.col(pl.Binary).bin.encode("base64"), pl.col(pl.Duration).cast(pl.Int64))
