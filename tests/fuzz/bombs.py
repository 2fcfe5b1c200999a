"""Small files that ask for much: entities, nesting, columns, tables, rows and values without an end.

``kbkit ingest`` makes a KB of each, or refuses it in one line, in two minutes and 6 GB of address space.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import sqlite3
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import openpyxl

from tests import kbs
from tests.fuzz import Bench, Broken
from tests.fuzz.kills import environment
from tests.fuzz.shortages import said

SECONDS = 120
SPACE = 6 << 30
_RDF = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/"'


def _size(rng: random.Random, exponent: float) -> int:
    return int(10 ** rng.uniform(1, exponent))


def entities(folder: Path, rng: random.Random) -> None:
    """Entities made of entities, or long ones."""
    count, times = rng.randrange(1, 12), rng.randrange(1, 12)
    made = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * times}">' for i in range(1, count))
    hidden = rng.choice(("{}", "{}", "<!-- {} -->", "<?x {} ?>"))
    declared = hidden.format(f'<!ENTITY e0 "{"x" * _size(rng, 4)}">{made}')
    text = f"&e{count - 1};" * _size(rng, 4)
    body = f'<rdf:Description rdf:about="http://e/a"><e:n>{text}</e:n></rdf:Description>'
    (folder / "x.rdf").write_text(f"<!DOCTYPE rdf:RDF [{declared}]><rdf:RDF {_RDF}>{body}</rdf:RDF>")


def nesting(folder: Path, rng: random.Random) -> None:
    """Deep RDF and JSON."""
    depth = _size(rng, 5)
    around = {
        "x.rdf": (f"<rdf:RDF {_RDF}>", "<e:T><e:p>", "", "</e:p></e:T>", "</rdf:RDF>"),
        "x.ttl": ("<http://a> <http://b> ", "[ <http://b> ", "1", " ]", " ."),
        "x.trig": ("<http://g> { <http://a> <http://b> ", "( ", "1", " )", " . }"),
        "x.jsonld": ("", '{"http://b":', "1", "}", ""),
        "x.json": ('[{"id": 1, "a": ', '{"a":', "1", "}", "}]"),
    }
    name = rng.choice(sorted(around))
    start, opening, inner, closing, end = around[name]
    (folder / name).write_text(start + opening * depth + inner + closing * depth + end)


def columns(folder: Path, rng: random.Random) -> None:
    """A table with many columns."""
    names = ["id", *(f"c{i}" for i in range(_size(rng, 4.7)))]
    rows = [{name: (row * i) % 13 for i, name in enumerate(names)} | {"id": row} for row in range(rng.choice((1, 3)))]
    if rng.random() < 0.5:
        (folder / "x.json").write_text(json.dumps(rows))
        return
    lines = [",".join(names), *(",".join(map(str, row.values())) for row in rows)]
    (folder / "x.csv").write_text("\n".join(lines) + "\n")


def tables(folder: Path, rng: random.Random) -> None:
    """A database with many tables that look alike."""
    with sqlite3.connect(folder / "x.sqlite") as con:
        for number in range(_size(rng, 2.5)):
            con.execute(f"CREATE TABLE t{number}(id INTEGER PRIMARY KEY, name TEXT, other INTEGER, v REAL)")
            rows = [(i, f"name {number} {i}", i % 7, i / 3) for i in range(1, rng.choice((3, 20)))]
            con.executemany(f"INSERT INTO t{number} VALUES (?, ?, ?, ?)", rows)
    con.close()


def rows_of_one_number(folder: Path, rng: random.Random) -> None:
    """A workbook whose rows, up to 12 million, have the same number, or grow backwards."""
    number = rng.choice((b"2", b"1", b"3", b"1048577", b""))
    row = b'<row r="%s"><c r="A%s"><v>%%d</v></c></row>' % (number, number) if number else b"<row ht='%d'><c/></row>"
    workbook(folder, rng, "xl/worksheets/sheet1.xml", b"</sheetData>", row, _size(rng, 7.1))


def elements(folder: Path, rng: random.Random) -> None:
    """A workbook with many elements where openpyxl reads all of them at once."""
    part, end, element = rng.choice(
        (
            ("xl/worksheets/sheet1.xml", b"</row>", b'<c r="B1"><v>%d</v></c>'),
            ("xl/worksheets/sheet1.xml", b"</c>", b"<v>%d</v>"),
            ("xl/worksheets/sheet1.xml", b"</worksheet>", b"<x y='%d'/>"),
            ("xl/styles.xml", b"</cellXfs>", b'<xf fontId="%d"/>'),
            ("xl/workbook.xml", b"</workbook>", b'<definedName name="a%d">A1</definedName>'),
            ("xl/sharedStrings.xml", b"</sst>", b"<si><t>%d</t></si>"),
            ("xl/sharedStrings.xml", b"</si></sst>", b"<r><t>%d</t></r>"),
        )
    )
    workbook(folder, rng, part, end, element, _size(rng, 6.3))


_STRINGS = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"


def workbook(folder: Path, rng: random.Random, part: str, end: bytes, element: bytes, count: int) -> None:
    """Write a workbook with ``count`` times an element before the ``end`` of a part, each with a random number."""
    book = openpyxl.Workbook()
    book.active.append(["id", "name"])
    book.save(folder / "base.xlsx")
    with (
        zipfile.ZipFile(folder / "base.xlsx") as old,
        zipfile.ZipFile(folder / "x.xlsx", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as new,
    ):
        contents = {name: old.read(name) for name in old.namelist()}
        space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
        contents["xl/sharedStrings.xml"] = f'<sst xmlns="{space}"><si><t>id</t></si><si><t>name</t></si></sst>'.encode()
        if b"sharedStrings" not in contents["[Content_Types].xml"]:
            declared = f'<Override PartName="/xl/sharedStrings.xml" ContentType="{_STRINGS}"/></Types>'.encode()
            contents["[Content_Types].xml"] = contents["[Content_Types].xml"].replace(b"</Types>", declared)
        for name, content in contents.items():
            head, found, tail = content.partition(end) if name == part else (content, b"", b"")
            assert found or name != part
            with new.open(name, "w", force_zip64=True) as file:
                file.write(head)
                for start in range(0, count if found else 0, 10_000):
                    numbers = (rng.getrandbits(30) for _ in range(min(10_000, count - start)))
                    file.write(b"".join(element % number for number in numbers))
                file.write(found + tail)
    (folder / "base.xlsx").unlink()


def values(folder: Path, rng: random.Random) -> None:
    """One long value."""
    text = rng.choice(("x", "1", "a b ", "[", "é", "1,", ";")) * _size(rng, 7.5)
    kind = rng.choice(("csv", "csv.gz", "json", "json.gz", "sqlite", "nt.gz"))
    if kind == "sqlite":
        with sqlite3.connect(folder / "x.sqlite") as con:
            con.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT)")
            con.execute("INSERT INTO t VALUES (1, ?)", [text])
        con.close()
        return
    written = {
        "csv": f'id,name\n1,"{text}"\n',
        "json": json.dumps([{"id": 1, "name": text}]),
        "nt": f'<http://e/a> <http://e/p> "{text}" .\n',
    }[kind.removesuffix(".gz")]
    data = written.encode()
    (folder / f"x.{kind}").write_bytes(gzip.compress(data, 1) if kind.endswith("gz") else data)


BOMBS: tuple[Callable[[Path, random.Random], None], ...] = (
    entities, nesting, columns, tables, rows_of_one_number, values, elements,
)  # fmt: skip


def case(bench: Bench, seed: int) -> Iterator[Broken]:
    """Write a file and ingest it."""
    rng = random.Random(seed)
    source, out = bench.folder / "source", bench.folder / "x.kb"
    for folder in (source, bench.folder / "tmp", bench.folder / "settings"):
        folder.mkdir()
    bomb = BOMBS[seed % len(BOMBS)]
    bomb(source, rng)
    [path] = source.iterdir()
    what = f"{bomb.__name__} in {path.name} of {path.stat().st_size:,} bytes"
    limit = ("prlimit", f"--as={SPACE}") if os.name == "posix" else ()
    try:
        done = subprocess.run(
            [*limit, kbs.KBKIT, "-q", "ingest", str(path), "-o", str(out), "--stores", "tables"],
            env={**os.environ, **environment(bench.folder)},
            capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        yield Broken(what, f"no end after {SECONDS} s")
        return
    yield from (Broken(what, found) for found in said(done))
    if done.returncode and {found.name for found in bench.folder.iterdir()} != {"source", "tmp", "settings"}:
        yield Broken(what, f"left {sorted(found.name for found in bench.folder.iterdir())}")
