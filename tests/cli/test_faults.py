"""Faults of the system around a command: no room, limits, closed streams, paths that cannot be used."""

from __future__ import annotations

import os
import resource
import subprocess
from pathlib import Path

import pytest

from kbkit.directory.limits import THREADS
from tests import kbs
from tests.console import here
from tests.fuzz.kills import traced
from tests.fuzz.shortages import failing

SELECT = "SELECT name, repeat(name, 200) AS long FROM nodes"


@pytest.mark.system
@pytest.mark.parametrize("output", ["x.csv", "x.json", "x.parquet"])
def test_output_beyond_a_limit_is_not_left(tiny_kb: Path, tmp_path: Path, output: str) -> None:
    before = tmp_path / output
    before.write_text("before")
    done = kbs.command(
        *("sql", tiny_kb, "-c", SELECT, "-o", output),
        cwd=tmp_path,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64)),
    )
    expected = f"kbkit: Cannot write {output}: File too large. Free disk space, or choose another place.\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", expected)
    assert [path.name for path in tmp_path.iterdir()] == [output]
    assert before.read_text() == "before"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_device_is_written_in_place(tiny_kb: Path, form: str) -> None:
    done = here("sql", tiny_kb, "-c", SELECT, "-f", form, "-o", "/dev/full")
    assert done.returncode == 1
    assert done.stderr == "kbkit: No space left on device. Free disk space, or choose another place.\n"
    assert Path("/dev/full").is_char_device()


@pytest.mark.system
@pytest.mark.parametrize("closed", ["<&-", "2>&-", "<&- 2>&-", ">&-", "<&- >&- 2>&-"])
def test_closed_streams(tiny_kb: Path, tmp_path: Path, closed: str) -> None:
    query = '"$1" sql "$2" -c "SELECT 1 AS one"'
    script = f'{query} {closed}; echo " $?"; {query} -o one.csv {closed}'
    done = subprocess.run(
        ["sh", "-c", script, "sh", kbs.KBKIT, str(tiny_kb)],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False, env={**os.environ, "NO_COLOR": "1"},
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert "Internal" not in done.stderr
    assert done.stdout.endswith(" 1\n" if ">&-" in closed.replace("2>&-", "") else " 0\n")
    assert done.returncode == 0
    assert (tmp_path / "one.csv").read_text() == "one\n1\n"


@pytest.mark.parametrize(
    ("output", "reason"),
    [("n" * 300 + ".csv", "File name too long"), ("loop/x.csv", "does not exist"), ("file/x.csv", "does not exist")],
)
def test_paths_that_cannot_be_used(tiny_kb: Path, tmp_path: Path, output: str, reason: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").write_text("")
    done = here("sql", tiny_kb, "-c", SELECT, "-o", output, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    kbs.mentions(done.stderr, reason)
    assert "Errno" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_sql_needs_no_temporary_folder(tiny_kb: Path, tmp_path: Path) -> None:
    done = here("sql", tiny_kb, "-c", "SELECT 1 AS one", env={"TMPDIR": str(tmp_path)})
    assert done.returncode == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.system
@pytest.mark.parametrize("form", ["csv", "json", "table"])
def test_a_reader_that_has_gone(tiny_kb: Path, form: str) -> None:
    command = ("sql", str(tiny_kb), "SELECT range AS n, repeat('x', 200) AS long FROM range(50_000)", "-f", form)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}  # loses the rest
    with subprocess.Popen(
        [kbs.KBKIT, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, env=environment
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.read(10)
        process.stdout.close()
        said = process.stderr.read()
    assert (process.returncode, said) == (141, b"")


@pytest.mark.system
@pytest.mark.parametrize(
    ("command", "query", "after"), [("answers", "gene -> disease", 0), ("sparql", "SELECT * { ?s ?p ?o } LIMIT 1", 8)]
)
def test_threads_that_are_gone_after_the_check(tiny_kb: Path, command: str, query: str, after: int) -> None:
    if not traced():
        pytest.skip("needs strace, which is missing or may not trace here")
    shortage = failing("clone,clone3", "EAGAIN", THREADS + after, sudden=True)
    done = subprocess.run(
        [*shortage.before, kbs.KBKIT, command, str(tiny_kb), query],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "2"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1].startswith(f"kbkit: Cannot start {THREADS} threads. Close other programs")
