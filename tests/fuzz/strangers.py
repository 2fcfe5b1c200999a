"""Strangers' KBs and recipes, which try to read, write, run or reach what lies beyond them.

The commands on each print and write no content of other files, change nothing outside, and connect to nothing: a
listening port whose address is in all of them stays silent, and the files outside keep their times of access.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb

from kbkit.llm.cache import FILE as CACHE
from kbkit.questions.taught import FILE as TAUGHT
from kbkit.stores.tables import FILE
from tests.fuzz import Bench, Broken
from tests.fuzz.process import TERMINAL, run

SECRET = "SECRET-4711"
ESCAPES = ("\x1b[2J", "\x1b]0;title\x07", "\u202e", "\x9b31m", "\r")
_COMMANDS = 10
"""Commands of a case."""
COMMANDS = (
    ("info", "KB"),
    (TERMINAL, "info", "KB"),
    ("check", "KB"),
    ("sql", "KB", "SELECT * FROM nodes ORDER BY id LIMIT 5"),
    (TERMINAL, "sql", "KB", "SELECT * FROM nodes ORDER BY id LIMIT 5"),
    ("sql", "KB", "SELECT * FROM texts LIMIT 5"),
    ("sparql", "KB", "SELECT * { ?s ?p ?o } LIMIT 5"),
    ("search", "KB", "river"),
    ("search", "KB", "a place", "--mode", "hybrid", "--all"),
    (TERMINAL, "show", "KB", "#1"),
    ("answers", "KB", "*", "-f", "csv"),
    ("answers", "KB", "@kept"),
    ("sets", "list", "KB"),
    ("export", "KB", "-f", "csv", "-o", "OUT/csv"),
    ("export", "KB", "-f", "ntriples", "-o", "OUT/nt"),
    ("export", "KB", "-f", "parquet", "-o", "OUT/flat", "--flat"),
    ("answers", "KB", "*", "--save", "mine"),
    ("build", "KB", "text"),
    ("build", "KB", "vectors"),
    ("gc", "KB"),
    ("ingest", "table", "SOURCE", "-o", "KB", "--replace"),
)


def case(bench: Bench, seed: int) -> list[Broken]:
    """Plant something in a copy of a KB, or write a recipe, and run the commands on it."""
    rng = random.Random(seed)
    outside, out = bench.folder / "outside", bench.folder / "out"
    out.mkdir()
    _surroundings(outside)
    kb = bench.folder / "x.kb"
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        planter = Planter(rng, bench.folder, f"http://127.0.0.1:{server.getsockname()[1]}/{SECRET}x")
        if rng.random() < 0.3:
            planted = planter.recipe(bench.folder / "recipe")
            folder = bench.folder / "recipe"
            named = (
                folder if (folder / "people.csv").is_symlink() else folder / "people.csv"
            )  # a named link is followed
            paths = [named] if rng.random() < 0.5 else []
            lines: list[tuple[object, ...]] = [
                ("recipe", "show", bench.folder / "recipe"),
                ("ingest", bench.folder / "recipe", *paths, "-o", kb),
                ("ingest", bench.folder / "recipe", outside.parent / "source", "-o", bench.folder / "y.kb"),
            ]
        else:
            shutil.copytree(rng.choice((bench.world, bench.tiny)), kb)
            planted, lines = planter.kb(kb), []
        names = {"KB": str(kb), "SOURCE": str(bench.folder / "source")}
        chosen = sorted(rng.sample(range(len(COMMANDS)), _COMMANDS))
        lines += [tuple(names.get(word, word).replace("OUT", str(out)) for word in COMMANDS[n]) for n in chosen]
        before, read_before = _contents(outside), _read_times(outside)
        environment = {"HOME": str(outside), "OPENAI_API_KEY": SECRET, "KBKIT_SETTINGS": str(bench.folder / "settings")}
        results = run(lines, bench.folder / "printed", environment)
        connected = _connected(server)
    broken = [Broken(f"{planted}: {' '.join(r.line[:3])}", r.problem()) for r in results if r.problem()]
    broken += [Broken(f"{planted}: {' '.join(r.line)}", "shows a secret") for r in results if SECRET + "!" in str(r)]
    for result in results:
        if result.line[0] == TERMINAL and any(sign in result.stdout + result.stderr for sign in ESCAPES):
            broken.append(Broken(f"{planted}: {' '.join(result.line)}", "controls the terminal"))
    if connected:
        broken.append(Broken(planted, "something connected"))
    if _contents(outside) != before:
        broken.append(Broken(planted, "something outside changed"))
    if read := [path for path, time in _read_times(outside).items() if time != read_before.get(path)]:
        broken.append(Broken(planted, f"{read[0]} was read"))
    shutil.rmtree(bench.folder / "printed")
    for path in bench.folder.rglob("*"):
        if path.is_file() and not path.is_symlink() and outside not in path.parents and _holds(path):
            broken.append(Broken(planted, f"{path.relative_to(bench.folder)} holds a secret"))
    return broken


def _surroundings(outside: Path) -> None:
    """Write the user's files, with times of access in the past, which reading would change."""
    outside.mkdir()
    for name in ("secret.txt", ".bashrc", "secret.csv", "secret.parquet.txt"):
        (outside / name).write_text(f"key,name\n{SECRET}!,{SECRET}!\n", encoding="utf-8")
    (outside / "folder").mkdir()
    (outside / "folder" / "secret.json").write_text(json.dumps([{"key": SECRET + "!"}]), encoding="utf-8")
    for path in outside.rglob("*.*"):
        os.utime(path, (1_000_000_000, 1_500_000_000))
    source = outside.parent / "source"
    source.mkdir()
    (source / "nodes.csv").write_text("key,type,name\na,river,Ann\n", encoding="utf-8")
    (source / "edges.csv").write_text("head,relation,tail\na,knows,a\n", encoding="utf-8")
    (source / "people.csv").write_text("key,name\na,Ann\n", encoding="utf-8")


def _contents(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*")}


def _read_times(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_atime_ns for path in folder.rglob("*.*")}


def _holds(path: Path) -> bool:
    return f"{SECRET}!".encode() in path.read_bytes()


def _connected(server: socket.socket) -> bool:
    try:
        server.accept()[0].close()
    except BlockingIOError:
        return False
    return True


class Planter:
    """Chooses what a stranger plants; ``url`` is an address that nothing may reach."""

    def __init__(self, rng: random.Random, folder: Path, url: str) -> None:
        self._rng, self._folder, self._url = rng, folder, url
        self._secret = folder / "outside" / rng.choice(("secret.txt", "secret.csv", ".bashrc"))

    def kb(self, kb: Path) -> str:
        """Plant something in a KB and return what."""
        kinds: list[Callable[[Path], str]] = [self._manifest, self._manifest, self._tables, self._tables, self._link]
        kinds += [self._link, self._names, self._workspace, self._settings]
        return ", then ".join(self._rng.choice(kinds)(kb) for _ in range(self._rng.choice((1, 1, 2))))

    def _live(self, kb: Path) -> Path:
        return kb / "generations" / "0001"

    def _hostile(self) -> str:
        """Return a text that means something to a shell, an engine, a terminal or a file system."""
        secret, url = self._secret, self._url
        return self._rng.choice(
            (
                f"../../../outside/{secret.name}",
                str(secret),
                url,
                f"'; COPY (SELECT 1) TO '{secret}'; --",
                f"\"; ATTACH '{secret}' AS a; --",
                f"' UNION SELECT content FROM read_text('{secret}') --",
                f"(SELECT content FROM read_text('{secret}'))",
                f"> }} SERVICE <{url}> {{ ?a ?b ?c }} #",
                f"$(cat {secret} > {secret}.new)",
                f"`touch {secret}.new`",
                self._rng.choice(ESCAPES) + "evil",
                f"<img src='{url}'>",
                "__import__('os').system('true')",
                f"openai:m@{url}",
                f"sentence-transformers:{secret.parent}",
                f"cross-encoder:{secret.parent}",
                "a" * 100_000,
            )
        )

    def _manifest(self, kb: Path) -> str:
        """Replace a text of the manifest, in one place or in all."""
        path = self._live(kb) / "manifest.json"
        data = json.loads(path.read_text(encoding="utf-8"))
        places = [(owner, key) for owner, key in _texts(data)]
        owner, key = self._rng.choice(places)
        old, new = owner[key], self._hostile()
        everywhere = self._rng.random() < 0.5
        for other, name in places if everywhere else [(owner, key)]:
            if other[name] == old:
                other[name] = new
        if self._rng.random() < 0.2:
            data["files"][f"../../../outside/{self._secret.name}"] = {"bytes": 1, "sha256": "0"}
        path.write_text(json.dumps(data), encoding="utf-8")
        return f"the manifest's {old!r} is {new[:80]!r}{' everywhere' * everywhere}"

    def _settings(self, kb: Path) -> str:
        path = self._live(kb) / "manifest.json"
        data = json.loads(path.read_text(encoding="utf-8"))
        settings = data["stores"][self._rng.choice(("text", "vectors"))]["settings"]
        name = self._rng.choice(sorted(settings))
        settings[name] = new = self._rng.choice((self._hostile(), f"openai:m@{self._url}", 10**9, True))
        path.write_text(json.dumps(data), encoding="utf-8")
        return f"the setting {name} is {str(new)[:80]!r}"

    def _tables(self, kb: Path) -> str:
        """Replace a table by a view, or shadow a function, that reads elsewhere."""
        leak = self._rng.choice(
            (
                f"(SELECT content FROM read_text('{self._secret}'))",
                f"(SELECT min(key) FROM read_csv('{self._url}'))",
                f"(SELECT min(file) FROM glob('{self._secret.parent}/*'))",
                f"(SELECT name FROM '{self._secret.parent}/secret.csv')",
                "getenv('OPENAI_API_KEY')",
                "(SELECT min(value) FROM duckdb_settings())",
            )
        )
        statement = self._rng.choice(
            (
                "ALTER TABLE texts RENAME TO t0; CREATE VIEW texts AS SELECT * REPLACE ({leak} AS text) FROM t0",
                "ALTER TABLE nodes RENAME TO n0; CREATE VIEW nodes AS SELECT * REPLACE ({leak} AS name) FROM n0",
                "CREATE MACRO lower(x) AS {leak}; CREATE MACRO count_star() AS {leak}",
                "CREATE MACRO jaro_winkler_similarity(a, b) AS {leak}; CREATE MACRO list(x) AS {leak}",
                "CREATE VIEW answer_sets AS SELECT {leak} AS name; CREATE SCHEMA data",
                "CREATE TABLE table_columns(a INT); CREATE VIEW tables AS SELECT {leak} AS table_id",
                "UPDATE texts SET text = '{url}'",
            )
        ).format(leak=leak, url=self._url)
        path = self._live(kb) / FILE
        with duckdb.connect(str(path)) as con:
            try:
                con.execute(statement)
            except duckdb.Error as error:
                return f"refused by DuckDB: {error}"
        self._record(kb, FILE)
        return f"tables: {statement}"

    def _names(self, kb: Path) -> str:
        """Give nodes hostile names, keys and aliases."""
        new = self._hostile().replace("'", "''")
        column = self._rng.choice(("name", "key", "name"))
        with duckdb.connect(str(self._live(kb) / FILE)) as con:
            con.execute(f"UPDATE nodes SET {column} = '{new}' || id WHERE id < 3")
            con.execute(f"UPDATE texts SET text = '{new}' WHERE id < 3")
        self._record(kb, FILE)
        return f"{column}: {new[:80]!r}"

    def _record(self, kb: Path, name: str) -> None:
        """Write size and checksum of a changed file into the manifest, as a stranger can."""
        import hashlib

        path = self._live(kb) / "manifest.json"
        data = json.loads(path.read_text(encoding="utf-8"))
        content = (self._live(kb) / name).read_bytes()
        data["files"][name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        path.write_text(json.dumps(data), encoding="utf-8")

    def _link(self, kb: Path) -> str:
        """Replace a file or folder by a link, or add one where the program writes."""
        live = self._live(kb)
        present = [path for path in [*live.rglob("*"), kb / "CURRENT", kb / "build.lock"] if not path.is_symlink()]
        added = [
            kb / name for name in ("CURRENT.new", "build.lock", "partial", "workspace", "generations/0002.building")
        ]
        added += [kb / "workspace" / name for name in ("sets", "llm.sqlite", "sets/kept.parquet", "sets/mine.parquet")]
        added += [kb / "workspace" / "taught.json", kb / "generations" / "0000", live / "text" / ".tantivy-meta.lock"]
        path = self._rng.choice(added if self._rng.random() < 0.6 else present)
        targets = (self._secret, self._secret.parent, self._secret.parent / "new", self._secret.parent / "folder")
        target = self._rng.choice(targets)
        if not path.parent.is_symlink():
            path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        path.symlink_to(target)
        return f"{path.relative_to(kb)} is a link to {target.name}"

    def _workspace(self, kb: Path) -> str:
        """Plant files in the workspace."""
        folder = kb / "workspace"
        (folder / "sets").mkdir(parents=True, exist_ok=True)
        name = self._rng.choice((TAUGHT, CACHE, "sets/kept.parquet", "shell_history", "sets/x.new"))
        content = self._rng.choice((self._hostile(), json.dumps({"synonyms": {"borders": [self._hostile()]}}), "\0"))
        (folder / name).write_text(content, encoding="utf-8")
        return f"workspace/{name}: {content[:80]!r}"

    def recipe(self, folder: Path) -> str:
        """Write a recipe with something hostile in it, and return what."""
        folder.mkdir()
        (folder / "people.csv").write_text("key,name\na,Ann\n", encoding="utf-8")
        lines = {"title": '"t"', "licence": '"CC0-1.0"', "data": '"."'}
        sql = "CREATE TABLE nodes AS FROM people; CREATE TABLE edges(head TEXT, relation TEXT, tail TEXT);\n"
        match, planted = "people.csv", ""
        kind = self._rng.choice(("sql", "sql", "sql", "match", "field", "link", "name"))
        if kind == "sql":
            planted = self._rng.choice(
                (
                    "INSERT INTO nodes SELECT content, 'x' FROM read_text('{secret}')",
                    "INSERT INTO nodes SELECT * FROM read_csv('{url}')",
                    "INSERT INTO nodes SELECT file, 'x' FROM glob('{folder}/*')",
                    "COPY nodes TO '{secret}'",
                    "EXPORT DATABASE '{folder}/new'",
                    "ATTACH '{folder}/new.duckdb' AS a",
                    "INSTALL httpfs; LOAD httpfs",
                    "SET enable_external_access = true",
                    "SET allowed_directories = ['/']",
                    "SET temp_directory = '{folder}/new'",
                    "CREATE VIEW v AS FROM '{secret}'; INSERT INTO nodes SELECT key, name FROM v",
                    "PREPARE p AS COPY nodes TO '{secret}'; EXECUTE p",
                    "CALL pragma_import_database('{folder}')",
                    "INSERT INTO nodes SELECT getenv('OPENAI_API_KEY'), 'x'",
                    "CREATE SECRET s (TYPE s3, KEY_ID 'x')",
                    "IMPORT DATABASE '{folder}'",
                    "CREATE PERSISTENT SECRET s (TYPE http, BEARER_TOKEN 'x')",
                    "INSERT INTO nodes SELECT '{escape}', '{escape}'",
                )
            ).format(secret=self._secret, url=self._url, folder=self._secret.parent, escape=self._rng.choice(ESCAPES))
            sql += planted + ";\n"
        elif kind == "match":
            match = self._rng.choice(
                ("../outside/*.csv", str(self._secret), self._url, "../**/*.csv", "..", "**", "\0")
            )
            planted = f"match {match!r}"
        elif kind == "field":
            name = self._rng.choice(
                ("data", "base", "title", "licence", "extra_tables", "rdf_quads", "unknown", "dialect")
            )
            lines[name] = json.dumps(self._hostile())
            planted = f"{name} = {lines[name][:80]}"
        elif kind == "link":
            (folder / "people.csv").unlink()
            (folder / "people.csv").symlink_to(self._secret.parent / "secret.csv")
            planted = "people.csv is a link"
        else:
            (folder / "people.csv").write_text(f"key,name\na,{self._rng.choice(ESCAPES)}evil\n", encoding="utf-8")
            planted = "a name with an escape"
        text = "".join(f"{name} = {value}\n" for name, value in lines.items())
        (folder / "recipe.toml").write_text(f"{text}[files.people]\nmatch = {json.dumps([match])}\n", encoding="utf-8")
        (folder / "load.sql").write_text(sql, encoding="utf-8")
        return f"recipe: {planted}"


def _texts(data: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (container, key) of every text."""
    items = list(data.items()) if isinstance(data, dict) else list(enumerate(data)) if isinstance(data, list) else []
    for key, value in items:
        if isinstance(value, str):
            yield data, key
        yield from _texts(value)
