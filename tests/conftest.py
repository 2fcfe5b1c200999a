"""Fixtures that many test files share: the console script, and KBs built once and only read."""

from __future__ import annotations

import gc
import os
import shutil
import ssl
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

import kbkit
from kbkit.graph.neighbourhoods import Neighbourhood
from kbkit.kb import KnowledgeBase
from tests import console, examples, places
from tests import wording as wordings
from tests.console import Done
from tests.hostile import build as build_hostile
from tests.once import Once, once
from tests.wording import wording

__all__ = ["once", "wording"]

examples.register_profiles()

# There is a worker for every core: more threads of polars and of NumPy only take turns. Both read this when they are
# first imported.
os.environ.setdefault("POLARS_MAX_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Before anything asks for a temporary folder; processes started by tests inherit both.
places.keep_bytecode()
MEMORY = places.use_memory()
PASSED = pytest.StashKey[bool]()

TESTS = Path(__file__).parent
SCRIPT = Path(sys.executable).with_name("kbkit")


Run = Callable[..., Done]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-wording", action="store_true", help="Write the snapshots of wording.")


def pytest_configure(config: pytest.Config) -> None:
    wordings.start(config)


@pytest.fixture(scope="session", autouse=True)
def settings_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep the settings of the person who runs the tests as they are."""
    folder = tmp_path_factory.mktemp("settings")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KBKIT_SETTINGS", str(folder))
        yield folder


@pytest.hookimpl(tryfirst=True)  # before the tests are chosen by their markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if {"browser", "shared_data", "spark_session"} & set(getattr(item, "fixturenames", ())):
            item.add_marker("system")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Import the tests without looking for garbage: half a million objects stay, and each look at them is slow."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(5_000, 20, 20)  # looking through all that the tests keep takes a sixteenth of their time
        gc.enable()


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    session.config.stash[PASSED] = exitstatus == pytest.ExitCode.OK
    gc.unfreeze()  # libraries report what is left at the end as leaks
    wordings.finish(session.config)


def pytest_unconfigure(config: pytest.Config) -> None:
    if MEMORY and config.stash.get(PASSED, False):  # what failed can be looked at until the next run
        shutil.rmtree(MEMORY, ignore_errors=True)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    wordings.gather(node.config, getattr(node, "workeroutput", {}))


@pytest.fixture(scope="session", autouse=True)
def no_certificates() -> Iterator[None]:
    """Load no certificates: every client of a model would, for 30 ms, and no test speaks TLS."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl.SSLContext, "load_verify_locations", lambda *_, **__: None)
        yield


@pytest.fixture
def browser() -> Iterator[Any]:
    """Chromium, driven by Playwright: one per test, because Playwright's event loop would disturb others' asyncio."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if not program:
        pytest.skip("no chromium is on the path")
    from playwright import sync_api  # it would delay all tests

    with sync_api.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()


@pytest.fixture(scope="session")
def run() -> Run:
    """Run the console script: ``run("sql", kb, "SELECT 1", stdin="", cwd=None, env={})``; arguments may be paths.

    Output is taken as UTF-8 bytes and decoded without changing line ends, so that a test sees what the script wrote.
    """

    def call(
        *args: object,
        stdin: str = "",
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
        timeout: float = 120,
    ) -> Done:
        done = subprocess.run(
            [str(SCRIPT), *map(str, args)],
            input=stdin.encode(),
            capture_output=True,
            cwd=cwd,
            env={**os.environ, "COLUMNS": "120", "NO_COLOR": "1", "PYTHONUTF8": "1", **(env or {})},
            timeout=timeout,
            check=False,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    return call


@pytest.fixture(scope="session")
def here() -> Run:
    """Run the program as ``run`` does, but in this process: for all that a process of its own adds nothing to."""
    return console.here


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of published data that lies beside a working copy of the project; few machines have it."""
    folder = TESTS.parents[1] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"the published data are not at {folder}")
    return folder


@pytest.fixture(scope="session")
def tiny() -> Path:
    """The folder of the tiny graph: nodes.csv, edges.csv, texts.csv, and tiny.ttl."""
    return TESTS / "tiny"


@pytest.fixture(scope="session")
def tiny_kb(tiny: Path, once: Once) -> Path:
    """The KB of the tiny graph, from its tables; read it only."""
    files = {"nodes": tiny / "nodes.csv", "edges": tiny / "edges.csv", "texts": tiny / "texts.csv"}
    return once("tiny/tiny.kb", lambda out: kbkit.ingest("table", out=out, files=files, name="table").close())


@pytest.fixture(scope="session")
def world_kb(once: Once) -> Path:
    """The KB of the sample that ships with kbkit; read it only."""
    return once("world/world.kb", lambda out: kbkit.ingest("world", out=out).close())


@pytest.fixture(scope="session")
def rdf_kb(tiny: Path, once: Once) -> Path:
    """The KB of the tiny graph, from its Turtle file; read it only."""
    return once("rdf/rdf.kb", lambda out: kbkit.ingest("rdf", tiny / "tiny.ttl", out=out, name="rdf").close())


@pytest.fixture(scope="session")
def wikidata_kb(once: Once) -> Path:
    """The KB of the Wikidata sample that ships with kbkit, in three languages; read it only."""
    options = {"language": "en,de,fr"}
    return once("wikidata/wikidata.kb", lambda out: kbkit.ingest("wikidata", out=out, options=options).close())


@pytest.fixture(scope="session")
def imdb_kb(shared_data: Path, once: Once) -> Path:
    """The KB of the published films of IMDb; read it only."""
    return once("imdb/imdb.kb", lambda out: kbkit.ingest("imdb", shared_data / "imdb", out=out).close())


@pytest.fixture(scope="session")
def world(world_kb: Path) -> Iterator[KnowledgeBase]:
    """The world KB, open for the whole session."""
    with kbkit.open(world_kb) as opened:
        yield opened


@pytest.fixture(scope="session")
def small(tiny_kb: Path) -> Iterator[KnowledgeBase]:
    """The tiny KB, open for the whole session."""
    with kbkit.open(tiny_kb) as opened:
        yield opened


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neighbourhood]:
    """The neighbourhood of the first of the hostile names."""
    with build_hostile(tmp_path_factory.mktemp("hostile")) as opened:
        yield opened.around("k0")
