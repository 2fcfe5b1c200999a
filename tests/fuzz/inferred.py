"""Nested records and sheets as people and hostile people write them, ingested without a recipe.

``kbkit ingest`` makes a KB, or refuses in one line. A KB passes its check, its recipe makes the same KB again, and
every example that the explorer shows for it runs.
"""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import openpyxl

import kbkit
from kbkit.errors import KbError
from kbkit.executor.examples import examples
from tests.fuzz import Bench, Broken
from tests.fuzz.commands import broken_by
from tests.fuzz.values import shown

FILES = 4
"""Files of a case."""
_NAMES = (
    "id", "_id", "@id", "key", "code", "name", "title", "label", "login", "user", "owner", "labels", "parent",
    "items", "fields", "attributes", "properties", "_source", "aliases", "born", "died", "start", "end", "father",
    "type", "head", "tail", "relation", "text", "nodes", "edges", "group", "list", "section", "part", "entry", "ID",
    "Name", "id_", "$x", "a.b", "", " ", "\0", "a\nb", "\x1b[2J", "\u202e", "\ud800", "'", "\"", "é", "x" * 300,
    "select", "rowid",
)  # fmt: skip
_SCALARS: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 7, 2**63, 2**70, 10**400, float("nan"), float("inf"), "", " ", "x", "Ann", "A, B", "a;b",
    "2020-01-02", "0000-00-00", "12:30", "\ud800", "\0", "\x1b[2J", "\u202e", "x" * 5_000, "NULL", "#N/A", "http://a/b",
    "Paris is the capital. It lies on the Seine, and has many bridges over it.",
)  # fmt: skip
_FEW = ("u1", "u2", "u3", 1, 2, "1", "")
"""Identifiers, so that objects refer to one another."""


def _scalar(rng: random.Random) -> Any:
    return rng.choice(_SCALARS) if rng.random() < 0.4 else rng.choice((rng.randrange(50), f"name {rng.randrange(20)}"))


def _object(rng: random.Random, fields: list[str], depth: int) -> dict[str, Any]:
    """Return an object with most of the fields, and those of its kind inside."""
    found: dict[str, Any] = {}
    for name in fields:
        kind = random.Random(repr((name, depth))).random()  # the same in all rows
        if rng.random() < 0.1:
            continue
        inner = [*rng.sample(_NAMES[:8], 2), *random.Random(repr(name)).sample(_NAMES, 3)]
        if name in ("id", "_id", "key", "code") and rng.random() < 0.95:
            found[name] = rng.choice(_FEW) if depth else rng.randrange(10_000)
        elif kind < 0.25 and depth < 5:
            found[name] = _object(rng, inner, depth + 1)
        elif kind < 0.5 and depth < 4:
            found[name] = [_object(rng, inner, depth + 1) for _ in range(rng.randrange(4))]
        elif kind < 0.6:
            found[name] = [_scalar(rng) for _ in range(rng.randrange(4))]
        else:
            found[name] = _scalar(rng)
        if rng.random() < 0.03:
            found[name] = rng.choice(({}, [], [[]], [{}], [None], {"id": 1}, [{"id": "u1"}], _scalar(rng)))
    return found


def _many(rng: random.Random) -> list[dict[str, Any]]:
    """Return records with much inside: fields, kinds of objects, elements or levels."""
    size = int(10 ** rng.uniform(2, 4.7))
    entity = lambda i: {"id": f"u{i % 7}", "name": f"n{i % 7}", f"x{i % 3}": i % 7}  # noqa: E731
    level: dict[str, Any] = {"a": 1}
    for _ in range(min(size, 900)):
        level = {rng.choice(("a", "id", "fields")): level}
    return rng.choice((
        [{"id": n, "o": {f"f{i}": i for i in range(size)}} for n in range(2)],
        [{"id": n, "o": {f"f{i}": {"v": i} for i in range(size)}} for n in range(2)],
        [{"id": n, **{f"f{i}": entity(i) for i in range(size)}} for n in range(2)],
        [{"id": n, **{f"f{i}": {"id": f"{i}", f"y{i}": 1, f"z{i}": n} for i in range(size)}} for n in range(2)],
        [{"id": n, **{f"f{i}": [{"name": f"m{i}"}, {"name": "k", "v": 1}] for i in range(size)}} for n in range(2)],
        [{"id": n, "items": [{"name": f"i{i}", "v": i} for i in range(size)]} for n in range(3)],
        [{"id": n, "level": level} for n in range(3)],
        [{"id": n, f"only{n}": {"id": n, "v": n, "w": n}} for n in range(size)],
    ))  # fmt: skip


def records(folder: Path, rng: random.Random) -> None:
    """JSON of nested records, in one of the shapes that are read."""
    fields = rng.sample(_NAMES, rng.randrange(2, 9))
    rows = [_object(rng, fields, 0) for _ in range(rng.choice((1, 2, 5, 30)))] if rng.random() < 0.8 else _many(rng)
    other = [_object(rng, fields, 0) for _ in range(3)]
    shape = rng.randrange(7)
    if shape == 1:
        (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        return
    name = rng.choice(_NAMES)
    whole: Any = (
        rows, rows, {name: rows}, {"data": rows, "more": other, "count": 3},
        {f"{n}": row for n, row in enumerate(rows)},
        {"type": "FeatureCollection", "features": [{"properties": row, "id": n} for n, row in enumerate(rows)]},
        {"A": rows, rng.choice(_NAMES): other},
    )[shape]  # fmt: skip
    data = json.dumps(whole, indent=rng.choice((None, 1))).encode()
    packed = rng.random() < 0.1
    (folder / f"rows.json{'.gz' * packed}").write_bytes(gzip.compress(data) if packed else data)


def _sheet(rng: random.Random) -> list[list[Any]]:
    """Return the cells of a sheet: titles, a header, rows, totals, notes, and blanks anywhere."""
    width = rng.choice((1, 2, 3, 6))
    names = [rng.choice((*_NAMES[:40], "2019", "2020", None, "Amount (EUR)", "Date")) for _ in range(width)]
    cell = lambda: rng.choice((  # noqa: E731
        rng.randrange(99), f"name {rng.randrange(9)}", None, 1.5, "x", "Total", "#REF!", "=A1+1", True, "2020-01-02",
        datetime.datetime(2020, 1, 2), datetime.date(1899, 12, 30), datetime.time(1, 2), "a\nb", "\u202ex",
    ))  # fmt: skip
    titles = rng.choice(([], [["Report 2024"]], [["Report"], [None], ["by Ann. Do not edit."]], [["T"]] * 12))
    body = [[cell() for _ in range(width)] for _ in range(rng.choice((0, 1, 5, 40)))]
    ends = rng.choice(([], [["Total", *[7] * (width - 1)]], [[None] * width, ["Notes: all of it is made up."]]))
    rows = [*titles, names, *body, *ends]
    for _ in range(rng.choice((0, 0, 1, 3))):
        rows.insert(rng.randrange(len(rows) + 1), rng.choice(([], [None] * width, names, [None, "x"], ["a"] * 9)))
    return [[None if isinstance(value, str) and _is_refused(value) else value for value in row] for row in rows]


def workbook(folder: Path, rng: random.Random) -> None:
    """A workbook with titles, merged cells, hidden parts, and names of sheets that nobody expects."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for number in range(rng.choice((1, 1, 2, 4))):
        title = rng.choice(("Sheet1", "People", "a'b", 'x"y', "sheet1 ", "$x", "é" * 30, "nodes", "edges", "-", "1"))
        sheet = book.create_sheet(title)
        for row in _sheet(rng):
            sheet.append(row)
        for _ in range(rng.choice((0, 1, 3))):
            top, left = rng.randrange(1, 9), rng.randrange(1, 5)
            sheet.merge_cells(start_row=top, start_column=left, end_row=top + rng.randrange(4), end_column=left + 2)
        if number and rng.random() < 0.3:
            sheet.sheet_state = rng.choice(("hidden", "veryHidden"))
    book.save(folder / "book.xlsx")


def _is_refused(value: str) -> bool:
    """Whether openpyxl writes no such text."""
    return bool(openpyxl.cell.cell.ILLEGAL_CHARACTERS_RE.search(value)) or "\ud800" in value


def folder_of_sheets(folder: Path, rng: random.Random) -> None:
    """CSV files as programs name their exports, with titles."""
    digits = "5a4b3c2d1e0f9a8b7c6d5e4f3a2b1c0d"
    names = (
        "People", f"People {digits}", f"People {digits}_all", "Clients-Grid view", "Clients-All", "a.b", "$x", "-x",
        "Budget 2024 - Costs", "people", "nodes", "edges", "texts", "x" * 200, "a\nb", "Sheet (1)", "README",
    )  # fmt: skip
    for name in rng.sample(names, rng.choice((1, 2, 4))):
        text = io.StringIO()
        writer = csv.writer(text, delimiter=rng.choice(",,,;\t|"))
        rows = [["" if value is None else value for value in row] for row in _sheet(rng)]
        writer.writerows(rows)
        data = text.getvalue().encode(rng.choice(("utf-8", "utf-8-sig", "utf-16")), "replace")
        (folder / f"{name}.{rng.choice(('csv', 'csv', 'tsv'))}").write_bytes(data)
    if rng.random() < 0.2:
        (folder / "more").mkdir()
        (folder / "more" / "more.csv").write_text("id\n1\n")


KINDS: tuple[Callable[[Path, random.Random], None], ...] = (records, records, workbook, folder_of_sheets)


def case(bench: Bench, seed: int) -> Iterator[Broken]:
    """Ingest ``FILES`` sources."""
    rng = random.Random(seed)
    for number in range(FILES):
        folder, source = bench.folder / str(number), bench.folder / f"source{number}"
        folder.mkdir()
        source.mkdir()
        write = rng.choice(KINDS)
        write(source, rng)
        files = sorted(path for path in source.rglob("*") if path.is_file())
        what = ", ".join(f"{path.name}: {shown(path.read_bytes(), 1_500)}" for path in files)
        given = str(files[0] if len(files) == 1 else source)
        line = ["ingest", given, "-o", "x.kb", "--stores", "tables,adjacency"]
        for problem in broken_by(line, "", folder, {"HOME": str(bench.folder)}, terminal=False):
            yield Broken(f"{write.__name__}: {what}", problem)
        if (folder / "x.kb").exists():
            yield from (Broken(f"{write.__name__}: {what}", problem) for problem in _problems(folder, given))
        shutil.rmtree(folder)


def _problems(folder: Path, source: str) -> Iterator[str]:
    """Yield what is wrong with a KB that was made."""
    with kbkit.open(folder / "x.kb") as kb:
        yield from (f"check: {name}: {problem}" for name, problem in kb.check() if problem)
        for one in examples(kb):
            try:
                {"sql": kb.sql, "answers": lambda text: kb.answers(text).value, "ask": kb.ask}.get(
                    one.language, lambda text: kb.search(text, k=3)
                )(one.statement)
            except KbError as error:
                if one.language != "search":  # there is no full text
                    yield f"the example {shown(one)} is refused: {shown(str(error), 300)}"
        known = kb.sql("SELECT type, key, name FROM nodes ORDER BY ALL").rows()
        edges = kb.sql("SELECT count(*) FROM edges").item()
    again = ["ingest", "x.recipe", source, "-o", "y.kb", "--stores", "tables,adjacency"]
    for problem in broken_by(again, "", folder, {"HOME": str(folder)}, terminal=False):
        yield f"its recipe: {problem}"
    if not (folder / "y.kb").exists():
        yield "its recipe makes no KB"
        return
    with kbkit.open(folder / "y.kb") as kb:
        if kb.sql("SELECT type, key, name FROM nodes ORDER BY ALL").rows() != known:
            yield "its recipe makes other nodes"
        if kb.sql("SELECT count(*) FROM edges").item() != edges:
            yield "its recipe makes other edges"
