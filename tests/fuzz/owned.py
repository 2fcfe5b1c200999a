"""What a user keeps beside a KB, and the record of a synced folder, damaged: saved sets, queries and views, synonyms, a
learned ranking, calls of models, the history, ``sync/``.

Every command ends with exit code 0 or 1, within 30 seconds, with at most one line of error. No checksum covers what a
user changes, so that a value that was changed for another of its kind is not noticed.
"""

from __future__ import annotations

import functools
import random
import shutil
import tempfile
from pathlib import Path

from kbkit.directory.query_history import QueryHistory
from kbkit.directory.workspace import Workspace
from kbkit.llm.cache import Cache
from kbkit.llm.client import Message, ModelRequest, Reply
from tests import console, kbs
from tests.fuzz import Bench, Broken
from tests.fuzz.damage import contents, damage
from tests.fuzz.moments import FOUND
from tests.fuzz.process import PYTHON, run

_COMMANDS: tuple[tuple[str, ...], ...] = (
    ("info", "KB"),
    ("check", "KB", "-f", "csv"),
    ("sets", "list", "KB"),
    ("sets", "show", "KB", "kept"),
    ("answers", "KB", "@kept"),
    ("search", "KB", "mountains of Peru", "--mode", "learned"),
    ("search", "KB", "mountains of Peru", "--within", "@kept"),
    ("ask", "KB", "Which countries touches France?"),
    ("shell", "KB", "-c", ".queries"),
    ("llm", "calls", "KB"),
    ("llm", "export", "KB", "calls.jsonl"),
    (PYTHON, "saved", "KB"),
    ("answers", "KB", "country", "--save", "kept"),
    ("ask", "KB", "--synonym", "borders=meets"),
    ("ask", "KB", "--forget"),
    ("search", "KB", "--forget"),
    ("sets", "drop", "KB", "kept"),
    ("gc", "KB"),
)
_SYNCED = (
    ("info", "KB"),
    ("check", "KB", "-f", "csv"),
    ("sql", "KB", "SELECT count(*) FROM nodes"),
    ("ingest", "table", "SOURCE", "-o", "KB", "--sync", "--stores", ",".join(kbs.LIGHT)),
    ("check", "KB", "-f", "csv"),
    ("gc", "KB"),
)


def case(bench: Bench, seed: int) -> list[Broken]:
    """Damage what belongs to the user in a copy of a KB, and run the commands that read it."""
    rng = random.Random(seed)
    synced = rng.random() < 0.25
    original = _synced() if synced else _owned(bench.world)
    kb, outside = bench.folder / "x.kb", bench.folder / "outside"
    shutil.copytree(original / "x.kb", kb)
    outside.mkdir()
    (outside / "secret.txt").write_text("SECRET", encoding="utf-8")
    if synced:
        shutil.copytree(original / "source", bench.folder / "source")
    [place] = kb.glob("generations/*/sync") if synced else [kb / "workspace"]
    what = ", then ".join(damage(rng, place, outside) for _ in range(rng.choice((1, 1, 1, 2))))
    before = contents(bench.folder, kb)
    words = {"KB": str(kb), "SOURCE": str(bench.folder / "source"), "calls.jsonl": str(kb / "calls.jsonl")}
    lines = [[words.get(word, word) for word in line] for line in (_SYNCED if synced else _COMMANDS)]
    results = run(lines, bench.folder / "printed")
    broken = [Broken(f"{what}: {' '.join(r.line[:3])}", r.problem()) for r in results if r.problem()]
    broken += [Broken(f"{what}: {' '.join(r.line[:3])}", "a secret is shown") for r in results if "SECRET" in str(r)]
    shutil.rmtree(bench.folder / "printed")
    if contents(bench.folder, kb) != before:
        broken.append(Broken(what, "something outside the KB changed"))
    return broken


@functools.cache
def _owned(world: Path) -> Path:
    """Return a folder with a KB that has something of every kind in its workspace."""
    folder = _kept()
    kb = folder / "x.kb"
    shutil.copytree(world, kb)
    shutil.rmtree(kb / "workspace", ignore_errors=True)
    (folder / "found.jsonl").write_text(FOUND, encoding="utf-8")
    for line in (
        ("answers", kb, "country", "--save", "kept"),
        ("search", kb, "--learn", folder / "found.jsonl"),
        ("ask", kb, "--synonym", "borders=touches"),
        ("shell", kb, "-c", "country"),
    ):
        done = console.here(*line, cwd=folder)
        assert done.returncode == 0, done.stderr
    workspace = Workspace(kb / "workspace")
    workspace.queries.save("mine", "sql", "SELECT 1")
    workspace.views.save("mine", "node=country%23FRA", {"country#FRA": [1.0, 2.0, 0.0]})
    QueryHistory(workspace.folder).add("sql", "SELECT 1")
    cache = Cache(workspace.folder / "llm.sqlite")
    cache.put("key", "m@http://127.0.0.1:1/v1", ModelRequest((Message("user", "a question"),)), Reply("a reply"))
    cache.close()
    return folder


@functools.cache
def _synced() -> Path:
    """Return a folder with a KB that is kept in step with its source."""
    folder = _kept()
    kbs.source(folder / "source", 1)
    stores = ",".join(kbs.LIGHT)
    done = console.here("ingest", "table", "source", "-o", "x.kb", "--sync", "--stores", stores, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def _kept() -> Path:
    _folders.append(tempfile.TemporaryDirectory(prefix="owned-"))
    return Path(_folders[-1].name)


_folders: list[tempfile.TemporaryDirectory[str]] = []
