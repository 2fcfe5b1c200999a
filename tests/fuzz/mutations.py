"""Damage to the bytes of a source file."""

from __future__ import annotations

import bz2
import gzip
import random
import re
from collections.abc import Callable

from tests.fuzz import stored

Mutation = Callable[[bytes, random.Random], bytes]


def _position(data: bytes, rng: random.Random) -> int:
    return rng.randrange(len(data) + 1)


def _insert(data: bytes, rng: random.Random, part: bytes) -> bytes:
    at = _position(data, rng)
    return data[:at] + part + data[at:]


def _lines(data: bytes, change: Callable[[list[bytes]], list[bytes]]) -> bytes:
    return b"".join(change(data.splitlines(keepends=True) or [b""]))


def flip(data: bytes, rng: random.Random) -> bytes:
    """Change some bytes."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 3, 20)) if data else 0):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def cut(data: bytes, rng: random.Random) -> bytes:
    """Drop the end, or a part."""
    at = _position(data, rng)
    return data[:at] if rng.random() < 0.6 else data[:at] + data[at + rng.choice((1, 10, 100)) :]


def drop_line(data: bytes, rng: random.Random) -> bytes:
    """Leave out a line."""
    return _lines(data, lambda lines: [line for i, line in enumerate(lines) if i != rng.randrange(len(lines))])


def double_line(data: bytes, rng: random.Random) -> bytes:
    """Write a line twice."""
    at = rng.randrange(data.count(b"\n") + 1)
    return _lines(data, lambda lines: [*lines[: at + 1], *lines[at:]])


def join_lines(data: bytes, rng: random.Random) -> bytes:
    """Remove a line end."""
    ends = [match.span() for match in re.finditer(rb"\r?\n", data)]
    start, end = rng.choice(ends) if ends else (0, 0)
    return data[:start] + data[end:]


def swap_lines(data: bytes, rng: random.Random) -> bytes:
    """Write the lines in another order, except the first."""
    return _lines(data, lambda lines: [lines[0], *rng.sample(lines[1:], len(lines) - 1)])


def line_ends(data: bytes, rng: random.Random) -> bytes:
    """Change all, or some, line ends."""
    kinds = rng.choice(((b"\r\n",), (b"\r",), (b"\n", b"\r\n"), (b"\n", b"\r"), (b"\n\n",), (b"\n", b"\n\r\n")))
    return re.sub(rb"\r?\n", lambda _: rng.choice(kinds), data)


def encoding(data: bytes, rng: random.Random) -> bytes:
    """Write another encoding, or a byte order mark."""
    name = rng.choice(("utf-8-sig", "utf-16", "utf-16-le", "latin-1", "utf-32", "utf-8-sig"))
    return data.decode("utf-8", "replace").encode(name, "replace")


def quotes(data: bytes, rng: random.Random) -> bytes:
    """Add or remove a quotation mark."""
    if rng.random() < 0.5 and b'"' in data:
        at = rng.choice([match.start() for match in re.finditer(b'"', data)])
        return data[:at] + data[at + 1 :]
    return _insert(data, rng, rng.choice((b'"', b"'", b'""', b'","', b'"\n', b"\\", b'\\"')))


def delimiters(data: bytes, rng: random.Random) -> bytes:
    """Change all delimiters, or add one."""
    if rng.random() < 0.3:
        return data.replace(b",", rng.choice((b";", b"\t", b"|", b", ")))
    return _insert(data, rng, rng.choice((b",", b"\t", b";", b"|", b"\n", b"\r")))


def control(data: bytes, rng: random.Random) -> bytes:
    """Add characters that programs seldom expect."""
    parts = (b"\0", b"\x1b[2J", b"\xff", b"\xed\xa0\x80", "\u202e".encode(), "\u2028".encode(), b"\x0b", b"\x85", b" ")
    return _insert(data, rng, rng.choice(parts))


def huge(data: bytes, rng: random.Random) -> bytes:
    """Add a long field."""
    return _insert(data, rng, rng.choice((b"x" * 300_000, b"9" * 5_000, b"[" * 20_000, b"," * 3_000, b"-" * 70_000)))


def numbers(data: bytes, rng: random.Random) -> bytes:
    """Replace a number."""
    found = [match.span() for match in re.finditer(rb"\d+", data)]
    start, end = rng.choice(found) if found else (0, 0)
    other = (b"NaN", b"1e999", b"-0", b"007", b"1.5", b"9" * 30, b"9" * 5_000, b"Infinity", b"true", b"null", b'"1"')
    return data[:start] + rng.choice(other) + data[end:]


def json_values(data: bytes, rng: random.Random) -> bytes:
    """Replace a value of JSON, or repeat a key."""
    found = [match.span() for match in re.finditer(rb'"[^"\\]*"(?=\s*[,}\]])', data)]
    start, end = rng.choice(found) if found else (0, 0)
    other = (
        b"NaN",
        b"null",
        b"{}",
        b'["a", 1]',
        b"[" * 3_000 + b"]" * 3_000,
        b'"\\ud800"',
        b'"\\u0000"',
        b"1",
        b"true",
    )
    more = (b'"x", "key": "twice"', b'"x", "name": "twice"', b'"x",', b"'x'", b"22005.25", b'{"a": {"a": 1}}')
    return data[:start] + rng.choice((*other, *more)) + data[end:]


def packed(data: bytes, rng: random.Random) -> bytes:
    """Compress what the name does not say, or what it says twice."""
    return rng.choice((gzip.compress, bz2.compress))(data)


MUTATIONS: tuple[Mutation, ...] = (
    flip, cut, drop_line, double_line, join_lines, swap_lines, line_ends, encoding, quotes, delimiters, control, huge,
    numbers, json_values, packed,
)  # fmt: skip


def part(data: bytes, rng: random.Random) -> bytes:
    """Damage a part of an archive."""
    return stored.packed_part(data, rng, mutated)


OWN: dict[str, tuple[Mutation, ...]] = {
    "sqlite": (stored.sqlite_sql, stored.sqlite_sql, stored.sqlite_page),
    "duckdb": (stored.duckdb_sql, stored.duckdb_block, stored.duckdb_block),
    "parquet": (stored.parquet_column,),
    "pt": (part,),
    "xlsx": (part,),
}
"""Damage that needs the parts of a format."""


def mutated(data: bytes, rng: random.Random, name: str) -> tuple[bytes, str]:
    """Return the damaged content of a file and what was done; a compressed file is damaged inside or outside."""
    inside = rng.random() < 0.7
    if name.endswith(".gz") and inside:
        changed, what = mutated(gzip.decompress(data), rng, name.removesuffix(".gz"))
        return gzip.compress(changed, mtime=0), what
    own = OWN.get(name.rpartition(".")[2])
    chosen = rng.choices(own if own and inside else MUTATIONS, k=rng.choice((1, 1, 2)))
    for change in chosen:
        data = change(data, rng)
    return data, " and ".join(change.__name__ for change in chosen)
