"""Random command lines: all commands, with all options that they declare, valid and hostile values, and any input.

A command ends in time with a known exit code, in one line of error at most, with no sign that controls the terminal,
and leaves no file behind if it fails.
"""

from __future__ import annotations

import functools
import itertools
import json
import random
import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from tests import console
from tests.fuzz import Bench, Broken
from tests.fuzz.values import HangError, shown, text, watched

COMMANDS = 25
"""Command lines of a case."""
_CODES = {0, 1, 2, 124, 130}
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_STYLE = re.compile(r"\x1b\[[0-9;]*m")
_SKIPPED = {"fetch", "completion", "serve", "explore", "mcp"}
"""Commands that connect out, that write into the settings of shells, or that serve until Ctrl-C."""
_SLOW = {"demo", "ingest", "build", "update", "stark generate", "conv make", "export", "stark write"}
"""Commands that take seconds, which are run seldom."""

_VALUES: dict[str, tuple[str, ...]] = {
    "NODE": ("France", "country#FRA", "city:Paris", "#3", "FRA", "g1", "#99999", "Frnace"),
    "EXPR": (
        'country:"France" -> [borders] -> country',
        "country",
        "@saved",
        "count(country)",
        "country{area_km2 > 1000}",
        "country -> city",
    ),
    "QUERY": (
        "SELECT 1",
        "SELECT * FROM nodes LIMIT 3",
        "SELECT 'nan'::DOUBLE AS n, chr(27) || '[2J' AS s",
        "SELECT ?s ?p { ?s ?p ?o } LIMIT 2",
        "ASK { ?s ?p ?o }",
        "FROM path_count('borders', 'borders')",
        "FROM path_count('/etc/passwd')",
        "rivers of Africa",
        "counts",
        "-",
        "schema/counts",
    ),
    "QUESTION": (
        "What is the capital of France?",
        "Which countries border Spain?",
        "the 3 largest countries without cities",
        "average area of countries by continent",
        "rivers " * 10_000,
    ),
    "N": ("1", "3", "10", "100"),
    "SECONDS": ("5", "0", "0.5"),
    "FRACTION": ("0.5", "0", "1"),
    "FORMAT": ("table", "json", "ndjson", "csv", "markdown", "parquet", "xml"),
    "FILE": ("out.csv", "out.json", "out.parquet", "out.html", "rows.csv", "run.tsv", "nowhere/out.csv", "queries.txt"),
    "PATH": ("rows.csv", "graph", "nowhere", "."),
    "FOLDER": ("out", "graph", "nowhere/x"),
    "DATASET": ("graph", "rows.csv", "nowhere", "dataset"),
    "RUN": ("run.tsv", "rows.csv", "run.json"),
    "GOLD": ("gold.tsv", "rows.csv", "gold.json"),
    "QUERIES": ("queries.txt", "rows.csv"),
    "IN": ("run.tsv",),
    "OUT": ("out.json", "out.tsv"),
    "SOURCE": ("table", "csv", "rdf", "triples", "kgtk", "wikidata", "./graph", "nowhere"),
    "STORE": ("text", "triples", "adjacency", "vectors", "embeddings", "nodes"),
    "TYPE": ("country", "city", "nothing"),
    "RELATION": ("borders", "capital", "nothing"),
    "NAME": ("saved", "counts", "rater", "english", "uniform", "ask"),
    "MODE": ("bm25", "dense", "hybrid", "auto", "relational", "best"),
    "NAME=VALUE": ("limit=3", "name=x", "a=", "=b", "header=none", "most_types=-1"),
    "NAME=FILE": ("nodes=rows.csv", "edges=rows.csv", "a=nowhere"),
    "NAME=COLUMN": ("key=id", "head=subject"),
    "IN,OUT": ("1,2", "0,0"),
    "GUIDE": ("start", "search", "nothing"),
    "SHAPE": ("amazon", "mag", "prime"),
    "MODEL": ("none:such", ""),
    "EMBEDDER": ("static", "none:such"),
    "HOW": ("uniform", "popular", "best"),
    "KIND": ("simple", "x"),
    "LANGUAGE": ("sql", "sparql", "answers", "english"),
    "METHOD": ("rrf", "minmax", "holm", "x"),
    "FIELD": ("name", "text"),
    "ID": ("1", "author/papers", "x"),
}
_STDIN = ("", "SELECT 1", "x\n" * 50, "country\n.quit\n", "\0", "{", '{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')

_FILES = {
    "rows.csv": "id,query,answers,name\n1,capital of France,\"['Paris']\",Ann\n2,x,[3],\x1b[2J\u202eevil\n",
    "run.tsv": "1\tQ0\ta\t1\t0.5\tx\n1\tQ0\tb\t2\t0.4\tx\n",
    "gold.tsv": "1\t0\ta\t1\n",
    "run.json": '{"1": {"a": 0.5, "b": NaN}}',
    "gold.json": '{"1": ["a"]}',
    "queries.txt": "capital of France\nrivers\n",
    "deep.json": "[" * 20_000,
    "long.json": '{"id": ' + "9" * 5_000 + "}",
    "latin.csv": b"id,name\n1,Bj\xf6rn\n",
    "graph/nodes.csv": "key,type,name\na,x,Ann\nb,x,\x1b[2J\n",
    "graph/edges.csv": "head,relation,tail\na,knows,b\n",
}


@functools.cache
def leaves() -> dict[str, Any]:
    """Return the commands by their words."""
    from kbkit.cli.app import app

    def walk(command: Any, words: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
        for name, child in getattr(command, "commands", {}).items():
            yield from walk(child, (*words, name))
        if not hasattr(command, "commands"):
            yield " ".join(words), command

    return {name: command for name, command in walk(typer.main.get_command(app), ()) if name not in _SKIPPED}


def line(rng: random.Random, kb: Path, hostile: float) -> list[str]:
    """Return a command line."""
    names = sorted(leaves())
    name = rng.choice(names)
    if name in _SLOW and rng.random() < 0.8:
        name = rng.choice([other for other in names if other not in _SLOW])
    words: list[str] = name.split()
    for parameter in leaves()[name].params:
        is_argument = parameter.param_type_name == "argument"
        if is_argument and (parameter.required or rng.random() < 0.7):
            given = rng.choice((1, 1, 2)) if parameter.nargs != 1 else 1
            words += [value(rng, str(parameter.metavar or parameter.name), kb, hostile) for _ in range(given)]
        elif (
            not is_argument and rng.random() < (0.9 if parameter.required else 0.12) and "--help" not in parameter.opts
        ):
            words.append(rng.choice([*parameter.opts, *parameter.secondary_opts]))
            if not parameter.is_flag:
                words.append(value(rng, str(parameter.metavar), kb, hostile))
    if name.endswith(" make") and "-n" not in words:
        words += ["-n", "3"]  # the default takes minutes
    if rng.random() < 0.05:
        words.insert(rng.randrange(len(words) + 1), text(rng)[:500])
    return words


def value(rng: random.Random, metavar: str, kb: Path, hostile: float) -> str:
    """Return a value for an argument or option."""
    if rng.random() >= hostile:
        return str(kb) if metavar == "KB" else rng.choice(_VALUES.get(metavar, ("x", "1", "name")))
    if metavar in ("N", "SECONDS", "FRACTION", "FACTOR"):
        return rng.choice(("-1", "0", "1", str(2**31), str(2**63), str(2**70), "1e400", "nan", "-inf", "x", "1.5", ""))
    kind = rng.random()
    if kind < 0.3:
        return rng.choice((*_FILES, ".", "/nowhere/x", str(kb)))
    return text(rng)[:20_000].replace("\0", "")


def tree(folder: Path) -> dict[str, int]:
    """Return the files below a folder with their sizes."""
    return {p.relative_to(folder).as_posix(): p.stat().st_size for p in folder.rglob("*") if p.is_file()}


def write_files(folder: Path) -> None:
    for name, content in _FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def case(bench: Bench, seed: int) -> Iterator[Broken]:
    """Run ``COMMANDS`` command lines on a copy of one of the KBs."""
    rng = random.Random(seed)
    kb = Path(shutil.copytree(bench.world if rng.random() < 0.7 else bench.tiny, bench.folder / "my.kb"))
    home = bench.folder / "home"
    home.mkdir()
    env = {"HOME": str(home), "HF_HUB_OFFLINE": "1", "COLUMNS": rng.choice(("120", "40", "80")), "EDITOR": "true"}
    for number in range(COMMANDS):
        folder = bench.folder / f"work{number}"
        write_files(folder)
        words = line(rng, kb, rng.choice((0.05, 0.2, 0.6)))
        stdin, terminal = rng.choice((*_STDIN, text(rng))), rng.random() < 0.6
        for problem in broken_by(words, stdin, folder, env, terminal=terminal):
            where = f" (stdin {shown(stdin)}, terminal {terminal})"
            yield Broken(" ".join(shown(word.replace(str(bench.folder), "DIR")) for word in words) + where, problem)
        shutil.rmtree(folder, ignore_errors=True)
        if not (kb / "CURRENT").exists():
            return  # gone with --replace


def broken_by(words: list[str], stdin: str, folder: Path, env: dict[str, str], *, terminal: bool) -> Iterator[str]:
    """Run a command line and yield the promises that it breaks."""
    before, threads = tree(folder), threading.active_count()
    try:
        with watched():
            given = stdin.encode("utf-8", "replace").decode()
            done = console.here(*words, stdin=given, cwd=folder, env=env, terminal=terminal)
    except HangError:
        yield "no end after the limit of time"
        return
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        yield f"{type(error).__name__}: {shown(str(error), 300)}"
        return
    end = shown(done.stderr[-300:], 400)
    if done.returncode not in _CODES:
        yield f"exit code {done.returncode}: {end}"
    if "Traceback" in done.stderr or "Internal error" in done.stderr:
        yield f"traceback: {end}"
    errors = [line for line in done.stderr.splitlines() if line.startswith("kbkit: ")]
    if len(errors) > 1 or (done.returncode == 1 and not errors and not _reports(words)):
        yield f"{len(errors)} lines of errors: {end}"
    printed = _STYLE.sub("", (done.stdout if terminal else "") + done.stderr)
    if found := _CONTROL.search(printed):
        yield f"a control character: {shown(printed[max(0, found.start() - 60) : found.end() + 20])}"
    left = {name for name, size in tree(folder).items() if before.get(name) != size}
    if done.returncode not in (0, 130) and left and not _reports(words):
        yield f"left {', '.join(sorted(left))}: {end}"
    hidden = [name for name in left if name.endswith((".new", ".part", ".tmp"))]
    if hidden:
        yield f"left {', '.join(hidden)}"
    if done.returncode == 0 and _wants_json(words) and not terminal:
        yield from _invalid_json(done.stdout)
    if threading.active_count() > threads + 8:
        yield f"{threading.active_count() - threads} more threads"


def _reports(words: list[str]) -> bool:
    """Return whether a command reports what it found with exit code 1."""
    return words[:1] in (["check"], ["shell"]) or words[:2] in (
        ["ska", "check"],
        ["spinach", "check"],
        ["measure", "sets"],
    )


def _wants_json(words: list[str]) -> bool:
    pairs = list(itertools.pairwise(words))
    return words[0] in ("sql", "sparql", "search", "path") and ("-f", "json") in pairs and "-o" not in words


def _invalid_json(printed: str) -> Iterator[str]:
    def refuse(name: str) -> None:
        raise ValueError(f"{name} is not JSON")

    try:
        json.loads(printed or "null", parse_constant=refuse)
    except ValueError as error:
        yield f"invalid JSON: {error}: {shown(printed)}"
