"""What is drawn while something runs: on a terminal, in a pipe, with --quiet; and that results stay as they are."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from rich.console import Console

from kbkit.cli import progress
from kbkit.cli.progress import bars, duration, rate
from kbkit.display.progress import Event
from kbkit.ingestion.generate import generate

SCRIPT = Path(sys.executable).with_name("kbkit")


def console() -> Console:
    """A terminal 100 columns wide that keeps what it gets."""
    return Console(file=io.StringIO(), force_terminal=True, width=100, legacy_windows=False)


def plain(text: str) -> str:
    """Without colours and movements of the cursor."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


def on_terminal(*arguments: object, cwd: Path | None = None) -> tuple[int, str, str]:
    """Run the program with standard error on a terminal and standard output in a pipe: code, output, what was drawn."""
    lead, follow = pty.openpty()
    env = {**os.environ, "COLUMNS": "100", "TERM": "xterm"}
    env.pop("NO_COLOR", None)
    command = [str(SCRIPT), *map(str, arguments)]
    drawn = bytearray()

    def read() -> None:
        try:
            while part := os.read(lead, 65536):
                drawn.extend(part)
        except OSError:  # Linux reports the end of a terminal as an error
            pass

    reader = threading.Thread(target=read)
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=follow, cwd=cwd, env=env
    ) as p:
        os.close(follow)
        reader.start()
        assert p.stdout is not None
        output = p.stdout.read().decode()
    reader.join()
    os.close(lead)
    return p.returncode, output, plain(drawn.decode())


# -- figures ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("speed", "unit", "expected"),
    [
        (0.349, "queries", "0.35 queries/s"), (2.54, "", "2.5/s"), (9.94, "", "9.9/s"), (9.96, "", "10/s"),
        (1_234.4, "nodes", "1,234 nodes/s"), (9_999.4, "", "9,999/s"), (9_999.6, "", "10.0k/s"),
        (345_678, "edges", "345.7k edges/s"), (999_949, "", "999.9k/s"), (999_951, "", "1.0M/s"),
        (12_345_678, "", "12.3M/s"), (123_456, "bytes", "0.1 MB/s"), (1_234_567_890, "bytes", "1,234.6 MB/s"),
        (0.996, "", "1.0/s"),
    ],
)  # fmt: skip
def test_rates(speed: float, unit: str, expected: str) -> None:
    assert rate(speed, unit) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, "0 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (200, "3 min 20 s"), (3_599, "59 min 59 s"),
        (3_600, "1 h 0 min"), (90_061, "25 h 1 min"),
    ],
)  # fmt: skip
def test_durations(seconds: float, expected: str) -> None:
    assert duration(seconds) == expected


class Clock:
    """A time that goes on when it is told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def figures_after(done: int, total: int, seconds: float, unit: str = "", stage: str = "x") -> str:
    """The figures of a bar at ``done`` of ``total`` after some seconds."""
    clock = Clock()
    drawn = progress._progress(sizes=False, console=console())
    drawn.get_time = clock
    task = drawn.add_task(stage, total=None, unit=unit)
    for part in range(1, 5):  # a rate is that of the last samples
        clock.now = seconds * part / 4
        drawn.update(task, completed=done * part // 4, total=total)
    return progress.figures(drawn.tasks[0])


def test_rate_elapsed_and_time_left() -> None:
    # 100 of 400 in 20 s: 5 a second, and 300 are left
    assert figures_after(100, 400, 20, "nodes") == "5.0 nodes/s, 20 s, 1 min 0 s left"


def test_what_is_done_has_none_left() -> None:
    assert figures_after(400, 400, 20, "nodes") == "20 nodes/s, 20 s"


def test_a_few_parts_have_no_rate() -> None:
    assert figures_after(4, 8, 20) == "20 s, 20 s left"


# -- bars -------------------------------------------------------------------------------------------------------------


def test_a_bar_a_stage() -> None:
    screen = console()
    with bars(quiet=False, console=screen) as listen:
        assert listen is not None
        listen(Event("load", 0, 0))
        listen(Event("adjacency", 50, 200))
        listen(Event("things", 3, 4, "things"))
    drawn = plain(screen.file.getvalue())
    lines = [line.split("━")[0].split() for line in drawn.splitlines() if "%" in line]
    assert {line[0] for line in lines if line} == {"load", "adjacency", "things"}
    assert "25%" in drawn
    assert "75%" in drawn
    assert screen.file.getvalue().rstrip().endswith("\x1b[?25h") or "\x1b[2K" in screen.file.getvalue()  # wiped away


def test_bytes_are_told_of_files() -> None:
    screen = console()
    with bars(quiet=False, sizes=True, console=screen) as listen:
        assert listen is not None
        listen(Event("dump.gz", 25_000_000, 50_000_000))
    assert "25.0/50.0 MB" in plain(screen.file.getvalue())


def test_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    with bars(quiet=True, console=console()) as quiet, bars(quiet=False) as piped:
        assert quiet is None
        assert piped is None
    assert capsys.readouterr() == ("", "")


def test_what_is_printed_meanwhile_is_not_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    out, screen = io.StringIO(), console()
    monkeypatch.setattr(sys, "stdout", out)
    with bars(quiet=False, console=screen) as listen:
        assert listen is not None
        listen(Event("load", 1, 2))
        print("a result")
    assert out.getvalue() == "a result\n"
    assert "a result" not in screen.file.getvalue()


# -- what cannot tell how far it is -----------------------------------------------------------------------------------


class Patient:
    """A :class:`progress.Waiting` that appears when it is told to, and not after a time."""

    def __init__(self) -> None:
        self.screen = console()
        self.waiting = progress.Waiting("sql", lambda: self.screen, patience=3600)

    def appear(self) -> None:
        timer = self.waiting._timer
        if timer is not None:
            timer.function = lambda: None  # it ends at once, and what it does is done here
            timer.cancel()
            self.waiting._timer = threading.current_thread()  # type: ignore[assignment]
            self.waiting._appear()
            self.waiting._timer = None

    @property
    def drawn(self) -> str:
        return plain(self.screen.file.getvalue())


def test_it_says_what_runs_and_for_how_long() -> None:
    patient = Patient()
    patient.waiting.arm()
    assert patient.drawn == ""
    patient.appear()
    patient.waiting.end()
    assert re.search(r"\S sql 0 s", patient.drawn)


def test_after_a_result_it_does_not_come_again() -> None:
    patient, out = Patient(), io.StringIO()
    patient.waiting.arm()
    patient.appear()
    assert progress.Watched(out, patient.waiting, again=False).write("1\n") == 2
    before = patient.drawn
    patient.waiting.arm()
    patient.appear()
    assert (out.getvalue(), patient.drawn) == ("1\n", before)


def test_after_a_remark_it_does() -> None:
    patient, err = Patient(), io.StringIO()
    patient.waiting.arm()
    print("a remark", file=progress.Watched(err, patient.waiting, again=True))  # type: ignore[call-overload]
    assert err.getvalue() == "a remark\n"
    patient.appear()
    assert "sql" in patient.drawn
    patient.waiting.end()


@pytest.mark.parametrize("name", ["buffer", "fileno", "read", "readline"])
def test_it_goes_before_a_stream_is_used_in_another_way(name: str) -> None:
    patient = Patient()
    patient.waiting.arm()
    getattr(progress.Watched(io.TextIOWrapper(io.BytesIO()), patient.waiting, again=True), name)
    patient.waiting.arm()
    patient.appear()
    assert patient.drawn == ""


def test_a_watched_stream_is_else_the_stream() -> None:
    stream = io.TextIOWrapper(io.BytesIO(b"1\n2\n"), encoding="latin-1")
    watched = progress.Watched(stream, Patient().waiting, again=True)
    assert watched.encoding == "latin-1"
    assert watched.isatty() is False
    assert list(watched) == ["1\n", "2\n"]


# -- whole commands ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graph")
    generate("prime", folder / "prime", scale=0.002)
    return folder


@pytest.mark.system
def test_a_build_shows_its_stages(tables: Path) -> None:
    stores = ("--stores", "tables,adjacency,triples")
    code, output, drawn = on_terminal("ingest", "table", tables / "prime", "-o", tables / "shown.kb", *stores)
    assert (code, output) == (0, "")
    for stage in ("load", "adjacency", "triples", "checksums", "publish"):
        assert re.search(rf"^\s*{stage} +━.*%", drawn, re.MULTILINE), stage
    quiet = on_terminal("-q", "ingest", "table", tables / "prime", "-o", tables / "quiet.kb", *stores)
    assert quiet == (0, "", "")


@pytest.mark.system
def test_a_long_query_is_said_to_run(world_kb: Path) -> None:
    endless = "SELECT sum(hash(i) % 7) AS n FROM range(10_000_000_000_000) t(i)"  # no statistics answer it
    code, output, drawn = on_terminal("sql", world_kb, "-c", endless, "--timeout", "1.5")
    assert (code, output) == (124, "")
    assert re.search(r"\S sql 1 s", drawn)
    assert re.search(r"kbkit: .*cancelled after 1.5 s", drawn.splitlines()[-1])
    code, output, drawn = on_terminal("-q", "sql", world_kb, "-c", endless, "--timeout", "1.5")
    assert re.fullmatch(r"kbkit: .*cancelled after 1.5 s.*\s*", drawn)


@pytest.mark.system
def test_check_shows_bytes(world_kb: Path) -> None:
    code, output, drawn = on_terminal("check", world_kb, "-f", "ndjson")
    assert code == 0
    assert all('"result":"ok"' in line for line in output.splitlines())
    assert re.search(r"files +━.*100%", drawn)
    assert re.search(r"stores +━", drawn)


@pytest.mark.system
def test_a_run_shows_queries(world_kb: Path, tmp_path: Path) -> None:
    from kbkit.measures.files import read_run

    queries = tmp_path / "q.txt"
    queries.write_text("".join(f"rivers and lakes number {n}\n" for n in range(450)))
    arguments = ("run", world_kb, queries, "--mode", "bm25", "-k", "5", "-o")
    code, _, drawn = on_terminal(*arguments, tmp_path / "shown.trec")
    assert code == 0
    assert re.search(r"queries +━.*100%.* queries/s", drawn)
    assert on_terminal("-q", *arguments, tmp_path / "quiet.trec") == (0, "", "")
    # in parts or all at once, the same is found
    assert read_run(tmp_path / "shown.trec").equals(read_run(tmp_path / "quiet.trec"))
    assert read_run(tmp_path / "shown.trec")["query"].n_unique() == 450


def test_progress_of_check_and_run_as_libraries_tell_it(world_kb: Path) -> None:
    import kbkit

    with kbkit.open(world_kb) as kb:
        size = sum(file["bytes"] for file in kb.manifest.files.values())
        told: list[tuple[str, int, int]] = []
        assert not any(problem for _, problem in kb.check(lambda *event: told.append(event)))
        assert told[0] == ("files", 0, size)
        assert ("files", size, size) in told
        assert told[-1] == ("stores", 6, 6)
        assert [done for stage, done, _ in told if stage == "stores"] == [0, 1, 2, 3, 4, 5, 6]
        counted: list[tuple[int, int]] = []
        texts = [f"river {n}" for n in range(401)]  # words of the KB: the spelling of others is corrected first
        found = kb.search_many(texts, 3, "dense", progress=lambda *event: counted.append(event))
        assert counted == [(0, 401), (200, 401), (400, 401), (401, 401)]
        assert found.equals(kb.search_many(texts, 3, "dense"))
