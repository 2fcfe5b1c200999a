"""Small KBs that say which version of their source they were built from, and builds in processes of their own.

Run as a program it is such a process: it says ``ready`` when its imports are done, reads jobs (JSON) and builds.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import kbkit
from kbkit.display.progress import Event
from kbkit.kb import KnowledgeBase

STORES = ("tables", "nodes", "adjacency", "triples", "text", "vectors")
KBKIT = str(Path(sys.executable).with_name("kbkit"))
LAST = Event("publish", 1, 1)
"""The event after CURRENT was swapped."""


def source(folder: Path, version: int) -> Path:
    """Write a graph of four nodes whose answers name ``version``; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "nodes.csv").write_text(
        f"key,type,name\na,person,Ada v{version}\nb,person,Bob\nc,city,Cairo\nd,city,Delft\n", encoding="utf-8"
    )
    (folder / "edges.csv").write_text("head,relation,tail\na,knows,b\nb,knows,a\na,lives_in,c\n", encoding="utf-8")
    (folder / "texts.csv").write_text(
        f"key,text\na,wrote the first programs v{version}\nb,builds bridges\nc,lies on the Nile\n", encoding="utf-8"
    )
    return folder


LIGHT = ("tables", "adjacency", "text")
"""The stores that cost little to build, for tests that are not about the others."""


def build(folder: Path, out: Path, version: int, **options: Any) -> list[Event]:
    """Build (or replace) the KB ``out`` from that version of the source, here; returns the progress events.

    ``stores`` are those to build, by default all.
    """
    events: list[Event] = []
    kbkit.ingest("table", source(folder, version), out=out, replace=True, progress=events.append, **options).close()
    return events


def answers(path: Path) -> dict[str, list[str]]:
    """What every engine that the KB has says of the node ``a``."""
    with kbkit.open(path) as kb:
        return said(kb)


def said(kb: KnowledgeBase) -> dict[str, list[str]]:
    """:func:`answers` of an open KB."""
    found = {
        "sql": kb.sql("SELECT name FROM person WHERE key = 'a'")["name"].to_list(),
        "hops": kb.neighbors("person#a", "lives_in")["name"].to_list(),
    }
    if kb.has("triples"):
        found["sparql"] = kb.sparql("SELECT ?name { person:a rdfs:label ?name }")["name"].to_list()
    for mode in ("bm25", "dense", "hybrid") if kb.has("vectors") else ("bm25",):
        found[mode] = kb.search("first programs", k=1, mode=mode)["name"].to_list()
    return found


def expected(version: int, stores: Sequence[str] = STORES) -> dict[str, list[str]]:
    """What :func:`answers` gives for a KB of that version with those stores."""
    name = [f"Ada v{version}"]
    engines = ["sql", "bm25"]
    engines += ["sparql"] if "triples" in stores else []
    engines += ["dense", "hybrid"] if "vectors" in stores else []
    return {"hops": ["Cairo"], **dict.fromkeys(engines, name)}


def problems(path: Path) -> list[tuple[str, str]]:
    """What ``check`` finds wrong."""
    with kbkit.open(path) as kb:
        return [(what, problem) for what, problem in kb.check() if problem]


def assert_whole(path: Path, version: int, what: str = "", stores: Sequence[str] = STORES) -> None:
    """The KB has those stores, answers from ``version`` and passes its check."""
    with kbkit.open(path) as kb:
        assert set(kb.manifest.stores) == {*stores, "tables", "nodes"}, what
        assert said(kb) == expected(version, stores), what
        assert [(name, problem) for name, problem in kb.check() if problem] == [], what


def generations(path: Path) -> list[str]:
    """All that lies in ``generations``."""
    return sorted(p.name for p in (path / "generations").iterdir())


def tree(path: Path) -> dict[str, bytes]:
    """Every file below ``path`` with its bytes, but for locks."""
    return {
        p.relative_to(path).as_posix(): p.read_bytes()
        for p in sorted(path.rglob("*"))
        if p.is_file() and p.name not in ("build.lock", "lock")
    }


def small_model(folder: Path) -> Path:
    """Save an embedder of 32 dimensions that knows the words of :func:`source`."""
    import numpy as np
    from model2vec import StaticModel
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    words = ["[UNK]", "wrote", "the", "first", "programs", "builds", "bridges", "lies", "on", "nile", "ada", "bob"]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    vectors = np.random.default_rng(1).normal(size=(len(words), 32)).astype(np.float32)
    StaticModel(vectors, tokenizer, normalize=True).save_pretrained(folder)
    return folder


def command(*words: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run ``kbkit`` to its end, without bytecode, which Python leaves cut off under a limit of the size of files."""
    env = {**(options.pop("env", None) or os.environ), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [KBKIT, *map(str, words)], capture_output=True, text=True, timeout=120, check=False, env=env, **options
    )


def in_namespace(script: str, **values: object) -> subprocess.CompletedProcess[str]:
    """Run a shell script that may mount: in mounts of its own, which end with it. Skips where the system forbids it."""
    if not shutil.which("unshare"):
        pytest.skip("there is no unshare(1) to mount with")
    probe = subprocess.run(
        ["unshare", "-rm", "sh", "-c", "mount -t tmpfs none /mnt"], capture_output=True, text=True, check=False
    )
    if probe.returncode:
        pytest.skip(f"this system lets nobody mount: {probe.stderr.strip()}")
    return subprocess.run(
        ["unshare", "-rm", "sh", "-eu", "-c", script],
        env={**os.environ, "KBKIT": KBKIT, "PYTHON": sys.executable, **{k: str(v) for k, v in values.items()}},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


class Builder:
    """A process that imports all it needs for those ``stores``, then builds them when told."""

    def __init__(self, stores: Sequence[str] = STORES) -> None:
        self._stores, self._ready = list(stores), False
        self._process = subprocess.Popen(
            [sys.executable, __file__, *self._stores],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Builder:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    @property
    def pid(self) -> int:
        return self._process.pid

    def start(self, **job: Any) -> None:
        """Begin; see :func:`_run` for what a job says."""
        assert self._process.stdin
        self._ready = self._ready or self._line() == "ready"
        assert self._ready
        self._write(json.dumps({"stores": self._stores, **job}, default=str))

    def stopped(self, **job: Any) -> tuple[int, str]:
        """What a command line (``argv``) ends with: exit code and standard error. The process waits for the next."""
        self.start(**job)
        code, errors = json.loads(self._line())
        return code, errors

    def held(self) -> None:
        """Wait until the build stands still at its event."""
        line = self._line()
        assert line == "held", line + self._process.stderr.read()  # type: ignore[union-attr]

    def release(self) -> None:
        """Let a held build go on."""
        self._write("go on")

    def end(self) -> tuple[int, str]:
        """Wait for the end: exit code (negative: the signal) and standard error."""
        _, errors = self._process.communicate(timeout=60)
        return self._process.returncode, errors

    def kill(self) -> None:
        """End it as a power cut would."""
        self._process.kill()
        self._process.wait()

    def interrupt(self) -> None:
        """Ctrl-C."""
        self._process.send_signal(signal.SIGINT)

    def _line(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline().strip()

    def _write(self, line: str) -> None:
        assert self._process.stdin
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()


def _run(job: dict[str, Any]) -> None:
    """Build as the job says.

    ``source``, ``out``: from where to where. ``at``: the number of the event at which ``act`` is done (kill, interrupt
    or hold); with ``stage``, of that stage's events. With ``calls`` (names of Python's audit events, such as os.rename)
    the events are such calls, before they happen, from the beginning of ``stage``. ``argv`` runs that command line
    instead.
    """
    counter = itertools.count(1)
    act: Callable[[], None] = {"kill": _die, "interrupt": _interrupt, "hold": _hold}[job["act"]]

    def reach() -> None:
        if next(counter) == job["at"]:
            act()

    begun: set[str] = set()

    def listen(event: Event) -> None:
        begun.add(event.stage)
        if "calls" not in job and job.get("stage", event.stage) == event.stage:
            reach()

    if "calls" in job:

        def hook(name: str, args: tuple[Any, ...]) -> None:
            if name in job["calls"] and job.get("stage", "load") in begun:
                reach()

        sys.addaudithook(hook)
    if "argv" in job:
        _command_line(job["argv"], listen)
    else:
        options = {"replace": True, "stores": job["stores"], "progress": listen}
        kbkit.ingest("table", job["source"], out=job["out"], **options).close()


def _command_line(argv: Sequence[str], listener: Callable[[Event], None]) -> None:
    """``kbkit`` itself, whose progress goes to ``listener`` instead of a terminal."""
    from kbkit.cli import app, progress

    progress.bars = lambda _: contextlib.nullcontext(listener)  # type: ignore[assignment]
    sys.argv = ["kbkit", *argv]
    app.main()


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def _hold() -> None:
    print("held", flush=True)
    sys.stdin.readline()


_LIBRARIES = {
    "tables": ["duckdb"],
    "nodes": ["polars"],
    "adjacency": [],
    "triples": ["pyoxigraph"],
    "text": ["tantivy"],
    "vectors": ["lancedb", "model2vec"],
}


def _ended(job: dict[str, Any]) -> tuple[object, str]:
    """Exit code and standard error of the job's command line."""
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        try:
            _run(job)
        except SystemExit as left:
            return left.code, errors.getvalue()
    raise AssertionError("a command line ends by itself")


def _main() -> None:
    for store in sys.argv[1:]:
        for library in _LIBRARIES[store]:
            importlib.import_module(library)
    print("ready", flush=True)
    for line in iter(sys.stdin.readline, ""):
        job = json.loads(line)
        if "argv" in job:
            print(json.dumps(_ended(job)), flush=True)
        else:
            _run(job)


if __name__ == "__main__":
    _main()


def mentions(text: str, facts: str) -> str:
    """Assert that a message has all facts, separated by `` | ``: names, numbers, files, lines. Return the message."""
    for fact in filter(None, facts.split(" | ")):
        assert fact in text, f"{fact!r} is not in: {text}"
    return text
