"""Damaged KBs: files that are cut, emptied, swapped, overwritten, replaced or removed, and JSON with other values.

Every command ends with exit code 0 or 1, within 30 seconds, with at most one line of error. A query whose rows differ
from those of the undamaged KB is broken unless ``kbkit check`` reports the damage. Nothing outside the KB changes.
"""

from __future__ import annotations

import functools
import json
import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from kbkit.directory.workspace import Workspace
from tests.fuzz import Bench, Broken
from tests.fuzz.process import PYTHON, run

QUERIES: dict[str, tuple[tuple[str, ...], ...]] = {
    "world": (
        ("sql", "KB", "SELECT type, count(*) AS n FROM nodes GROUP BY type ORDER BY type", "-f", "csv"),
        ("sql", "KB", "SELECT * FROM texts ORDER BY id LIMIT 20", "-f", "csv"),
        ("sparql", "KB", "SELECT ?p (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?p ORDER BY ?p", "-f", "csv"),
        ("search", "KB", "long rivers of Europe", "--mode", "bm25", "-f", "csv"),
        ("search", "KB", "mountains of snow", "--mode", "hybrid", "-f", "csv"),
        ("show", "KB", "country#FRA", "-f", "json"),
        ("answers", "KB", '(continent:"Europe" -> country) & (country:"France" -> [borders] -> country)', "-f", "csv"),
        ("answers", "KB", "country -> river", "-f", "csv"),
        ("answers", "KB", "@kept", "-f", "csv"),
        (PYTHON, "neighbors", "KB", "country#FRA"),
        (PYTHON, "node", "KB", "river:Rhine"),
        (PYTHON, "linked", "KB", "Which rivers flow through Germany?"),
    ),
    "tiny": (
        ("sql", "KB", "SELECT * FROM edges ORDER BY ALL", "-f", "csv"),
        ("sparql", "KB", "SELECT ?s ?p ?o { ?s ?p ?o } ORDER BY ?s ?p ?o", "-f", "csv"),
        ("search", "KB", "gene of a disease", "--mode", "bm25", "-f", "csv"),
        ("search", "KB", "a medicine", "--mode", "hybrid", "-f", "csv"),
        ("show", "KB", "#1", "-f", "json"),
        ("answers", "KB", "drug -> [associated_with] -> disease", "-f", "csv"),
        ("answers", "KB", "*", "-f", "csv"),
        (PYTHON, "neighbors", "KB", "drug#1"),
        (PYTHON, "sets", "KB"),
    ),
}
"""Commands whose result depends on the KB alone."""

FIRST = (("info", "KB", "-f", "json"), ("check", "KB", "-f", "csv"))
LAST = (("gc", "KB"), ("build", "KB", "text"), ("check", "KB", "-f", "csv"), ("gc", "KB"))


def case(bench: Bench, seed: int) -> list[Broken]:
    """Damage a copy of a KB and run the commands on it."""
    rng = random.Random(seed)
    name = rng.choice(sorted(QUERIES))
    kb, outside = bench.folder / "kb", bench.folder / "outside"
    shutil.copytree(getattr(bench, name), kb)
    Workspace(kb / "workspace").save("kept", "*", None, "0001", _members())
    outside.mkdir()
    (outside / "secret.txt").write_text("SECRET", encoding="utf-8")
    changes = [damage(rng, kb, outside) for _ in range(rng.choice((1, 1, 1, 1, 2, 3)))]
    before = contents(bench.folder, kb)
    lines = [[str(kb) if word == "KB" else word for word in line] for line in (*FIRST, *QUERIES[name], *LAST)]
    results = run(lines, bench.folder / "printed")
    input_ = f"{name}: " + ", then ".join(changes)
    broken = [Broken(f"{input_}: {' '.join(r.line[:3])}", r.problem()) for r in results if r.problem()]
    broken += [Broken(f"{input_}: {' '.join(r.line[:3])}", "a secret is shown") for r in results if "SECRET" in str(r)]
    noticed = results[1].code == 1
    for result, known in zip(results[len(FIRST) :], _undamaged(getattr(bench, name), name), strict=False):
        own = PYTHON in result.line and "sets" in result.line and "workspace" in input_  # which no checksum covers
        if result.code == 0 and not (noticed or own) and result.stdout != known:
            broken.append(Broken(f"{input_}: {' '.join(result.line)}", "another result, and check reports nothing"))
    if results[1].code == 1 and "problem" not in results[1].stdout and "kbkit:" not in results[1].stderr:
        broken.append(Broken(f"{input_}: check", f"prints nothing: {results[1]}"))
    shutil.rmtree(bench.folder / "printed")
    if contents(bench.folder, kb) != before:
        broken.append(Broken(input_, "something outside the KB changed"))
    return broken


@functools.cache
def _members() -> Any:
    import polars as pl

    return pl.DataFrame({"type": ["country", "drug"], "key": ["FRA", "1"]})


@functools.cache
def _undamaged(kb: Path, name: str) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "kb")
        shutil.copytree(kb, copy)
        Workspace(copy / "workspace").save("kept", "*", None, "0001", _members())
        lines = [[str(copy) if word == "KB" else word for word in line] for line in QUERIES[name]]
        results = run(lines, Path(folder, "printed"))
    assert all(result.code == 0 for result in results), [result for result in results if result.code]
    return [result.stdout for result in results]


def contents(folder: Path, without: Path) -> dict[str, bytes]:
    """Return all files of a folder except those of the KB."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_relative_to(without))
    return {str(path): path.read_bytes() for path in files}


# -- damage -----------------------------------------------------------------------------------------------------------


def damage(rng: random.Random, kb: Path, outside: Path) -> str:
    """Damage a file or folder of a KB and return what was done."""
    paths = sorted(path for path in kb.rglob("*") if path.is_file() and not path.is_symlink())
    if rng.random() < 0.3:
        live = max((kb / "generations").glob("*/manifest.json"), default=None)
        if live is not None and live.is_file():
            return f"{live.relative_to(kb)}: {_json(rng, live)}"
    if not paths:
        return "nothing left"
    folders = sorted({path.parent.name for path in paths})
    folder = rng.choice(folders)  # else most damage would hit the stores with the most files
    path = rng.choice([path for path in paths if path.parent.name == folder])
    if rng.random() < 0.08:
        path = path.parent if path.parent != kb else path
    kinds: list[Callable[[random.Random, Path], str]] = [_cut, _empty, _flip, _flip, _fill, _lengthen, _remove, _folder]
    if path.suffix == ".json":
        kinds += [_json] * 4
    if path.is_dir():
        kinds = [_remove, _flat]
    if rng.random() < 0.1:
        return f"{path.relative_to(kb)}: {_link(rng, path, outside)}"
    if rng.random() < 0.1:
        return f"{path.relative_to(kb)}: {_swap(path, rng.choice(paths), kb)}"
    return f"{path.relative_to(kb)}: {rng.choice(kinds)(rng, path)}"


def _cut(rng: random.Random, path: Path) -> str:
    size = path.stat().st_size
    left = rng.choice((size // 2, max(0, size - 1), min(size, 128), rng.randint(0, size)))
    os.truncate(path, left)
    return f"cut to {left} bytes"


def _empty(_: random.Random, path: Path) -> str:
    path.write_bytes(b"")
    return "emptied"


def _flip(rng: random.Random, path: Path) -> str:
    content = bytearray(path.read_bytes())
    positions = [rng.randrange(len(content)) for _ in range(rng.choice((1, 3, 50)) if content else 0)]
    if rng.random() < 0.3:  # where the engines have their headers and footers
        positions = [p % 200 if rng.random() < 0.5 else -1 - p % min(200, len(content)) for p in positions]
    for position in positions:
        content[position % len(content)] ^= rng.randint(1, 255)
    path.write_bytes(content)
    return f"{len(positions)} bytes flipped"


def _fill(rng: random.Random, path: Path) -> str:
    size = path.stat().st_size
    fillings: dict[str, bytes] = {
        "zeros": bytes(size),
        "random bytes": rng.randbytes(size),
        "text": (b"all work and no play " * (size // 20 + 1))[:size],
        "ones": b"\xff" * size,
        "zeros in the second half": path.read_bytes()[: size // 2] + bytes(size - size // 2),
        "SQL": b"SELECT 1;",
        "NULs": b"\0\0\0",
    }
    what = rng.choice(sorted(fillings))
    path.write_bytes(fillings[what])
    return f"overwritten with {what}"


def _lengthen(rng: random.Random, path: Path) -> str:
    with path.open("ab") as file:
        file.write(rng.randbytes(rng.choice((1, 128, 5_000))))
    return "lengthened"


def _remove(_: random.Random, path: Path) -> str:
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    return "removed"


def _folder(_: random.Random, path: Path) -> str:
    path.unlink()
    path.mkdir()
    return "replaced by a folder"


def _flat(_: random.Random, path: Path) -> str:
    shutil.rmtree(path)
    path.write_text("a file", encoding="utf-8")
    return "replaced by a file"


def _link(rng: random.Random, path: Path, outside: Path) -> str:
    target = rng.choice((outside / "secret.txt", outside, outside / "missing", path))
    _remove(rng, path)
    path.symlink_to(target)
    return f"replaced by a link to {target.name}"


def _swap(path: Path, other: Path, kb: Path) -> str:
    if path.is_dir() or path == other:
        return "unchanged"
    one, two = path.read_bytes(), other.read_bytes()
    path.write_bytes(two)
    other.write_bytes(one)
    return f"swapped with {other.relative_to(kb)}"


def _json(rng: random.Random, path: Path) -> str:
    """Replace a value of a JSON file by one of another type, add or remove a field, or nest it."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        return _fill(rng, path)
    places = list(_places(data))
    if not places:
        return _empty(rng, path)
    owner, key, where = rng.choice(places)
    depth = rng.choice((50, 900, 5_000, 100_000))
    numbers = (0, -1, 1, 2**31, 2**63, 10**30, 10**400, 0.5, -0.0, 1e300, float("nan"), float("inf"), True, False)
    texts = ("", "x", "\ud800", "\0", "../outside", "\x1b[2J")
    value = rng.choice((*numbers, *texts, None, [], {}, [None], [[]], {"a": None}, ["x", 1]))
    kind = rng.choice(("replaced", "replaced", "replaced", "removed", "added", "nested", "repeated"))
    if kind == "removed":
        del owner[key]
    elif kind == "added":
        owner.insert(0, value) if isinstance(owner, list) else owner.update({"unknown": value})
    elif kind == "repeated" and isinstance(owner, list):
        owner.append(owner[key])
    else:
        owner[key] = value if kind == "replaced" else "NESTED"
    text = json.dumps(data).replace('"NESTED"', "[" * depth + "]" * depth)
    path.write_text(text, encoding="utf-8")
    return f"{where} {kind} ({json.dumps(value)[:40]}, {depth})"


def _places(data: Any, where: str = "") -> Iterator[tuple[Any, Any, str]]:
    """Yield the (container, key, path) of every value."""
    items: Iterator[tuple[Any, Any]] = iter(())
    if isinstance(data, dict):
        items = iter(data.items())
    elif isinstance(data, list):
        items = enumerate(data)
    for key, value in items:
        yield data, key, f"{where}/{key}"
        yield from _places(value, f"{where}/{key}")
