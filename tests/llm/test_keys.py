"""API keys and passwords that the user gives reach servers only: no file, message, trace or report has them."""

from __future__ import annotations

import os
import shutil
from itertools import count
from pathlib import Path

import pytest

from kbkit.stores import endpoint
from tests.conftest import Run
from tests.llm_server import Seen, Sent, Server, by, raw, shape, status

pytest.importorskip("openai")

KEY, PASSWORD = "sk-planted-0123456789abcdef", "planted-password-77"
QUESTION = "Which countries border Portugal?"


def repeating() -> Server:
    """A server that repeats the key in errors of all kinds, whole, twice, and as a part of longer words."""
    number = count()

    def respond(server: Server, seen: Seen) -> Sent:
        sent = seen.headers["authorization"]
        steps = [
            status(401, f"{sent} and {sent}x{sent}"),
            raw(f"<html>{sent}".encode()),
            status(302, Location=f"http://127.0.0.1:1/{sent[7:]}?k={sent[7:]}"),
            shape({"error": {"headers": seen.headers}}),
            status(404, sent + sent),
        ]
        return steps[next(number) % len(steps)](server, seen)

    return Server(otherwise=respond)


def holding(folder: Path) -> list[str]:
    """The files under a folder that hold the key or the password."""
    secrets = (KEY.encode(), PASSWORD.encode())
    files = (path for path in folder.rglob("*") if path.is_file())
    return [str(path) for path in files if any(secret in path.read_bytes() for secret in secrets)]


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {
        "KBKIT_API_KEY": KEY, "OPENAI_API_KEY": KEY, "OPENAI_ORG_ID": PASSWORD,
        "KBKIT_SETTINGS": str(tmp_path / "settings"), "TMPDIR": str(tmp_path), "HOME": str(tmp_path),
    }  # fmt: skip


def test_what_a_model_wrote_is_kept_without_the_key(
    here: Run, world_kb: Path, tmp_path: Path, env: dict[str, str]
) -> None:
    """In the cache, a recording, a trace, a dataset, a run and its settings."""
    kb, data = tmp_path / "w.kb", tmp_path / "stark"
    shutil.copytree(world_kb, kb)
    assert here("stark", "make", kb, "-o", data, "-n", "4", env=env).returncode == 0
    with Server(otherwise=by(lambda _: '{"score": 0.5}')) as server:
        llm = ("--llm", f"m@{server.url}")
        options = ("--split", "train", "-m", "bm25", "--rerank-mode", "bm25", "--rerank-depth", "2", "--latency", "0")
        ran = here("stark", "run", kb, data, *options, *llm, env=env)
        assert ran.returncode == 0, ran.stderr
        asked = here("ask", kb, QUESTION, *llm, "--max-actions", "1", "--trace", tmp_path / "trace.jsonl", env=env)
        assert all(seen.headers["authorization"] == f"Bearer {KEY}" for seen in server.requests)
        assert len(server.requests) > 4
    exported = here("llm", "export", kb, tmp_path / "calls.jsonl", env=env)
    assert exported.returncode == 0
    said = "".join(done.stdout + done.stderr for done in (ran, asked, exported))
    assert KEY not in said and PASSWORD not in said
    assert {"calls.jsonl", "trace.jsonl", "w.kb", "stark"} <= {path.name for path in tmp_path.iterdir()}
    assert holding(tmp_path) == []


@pytest.mark.parametrize("debug", [(), pytest.param(("--debug",), marks=pytest.mark.system)])
def test_errors_of_a_server_that_repeats_the_key(
    run: Run, here: Run, world_kb: Path, tmp_path: Path, env: dict[str, str], debug: tuple[str, ...]
) -> None:
    kb = tmp_path / "w.kb"
    shutil.copytree(world_kb, kb, copy_function=os.link)
    with repeating() as server:
        for number in range(5):
            trace = tmp_path / f"trace-{number}.jsonl"
            start = run if debug else here  # a traceback ends its process
            done = start(*debug, "ask", kb, QUESTION, "--llm", f"m@{server.url}", "--trace", trace, env=env)
            assert done.returncode and KEY not in done.stdout + done.stderr, done
            assert done.stderr.count("Traceback") <= len(debug)
    assert len(server.requests) >= 5
    assert holding(tmp_path) == []


@pytest.mark.system
@pytest.mark.parametrize(
    "words",
    [
        ("ask", "KB", QUESTION, "--llm", "m@SERVER"),
        ("build", "KB", "vectors", "--embedder", "openai:e@SERVER"),
    ],
)
def test_logs_and_tracebacks(
    run: Run, world_kb: Path, tmp_path: Path, env: dict[str, str], words: tuple[str, ...]
) -> None:
    """With the log of the library that sends the requests."""
    kb = tmp_path / "w.kb"
    shutil.copytree(world_kb, kb, copy_function=os.link)
    with repeating() as server:
        for _ in range(5):
            given = [str(kb) if word == "KB" else word.replace("SERVER", server.url) for word in words]
            done = run("--debug", *given, env={**env, "OPENAI_LOG": "debug"})
            assert done.returncode == 1, done
            assert KEY not in done.stdout + done.stderr, done
            assert PASSWORD not in done.stdout + done.stderr, done
    assert len(server.requests) >= 5
    assert holding(tmp_path) == []


@pytest.mark.parametrize(
    "words",
    [
        ("ask", "KB", QUESTION, "--llm", f"m@http://me:{PASSWORD}@127.0.0.1:1/v1"),
        ("ask", "KB", QUESTION, "--llm", f"m@http://me:{PASSWORD}@h:port/v1"),
        ("ask", "KB", QUESTION, "--llm", f"m@http://me:{PASSWORD}@[::1/v1"),
        ("ask", "KB", QUESTION, "--llm", f"m@ht!tp://me:{PASSWORD}@h/v1"),
        ("ask", "KB", QUESTION, "--llm", f"m@https://h/v1?key={PASSWORD}"),
        ("build", "KB", "vectors", "--embedder", f"openai:e@http://127.0.0.1:1/v1?key={PASSWORD}"),
        ("search", "KB", "river", "--embedder", f"openai:e@http://me:{PASSWORD}@127.0.0.1:1/v1"),
        ("answers", "KB", "country", "--engine", f"http://me:{PASSWORD}@127.0.0.1:1/sparql"),
        ("sets", "KB", f"http://me:{PASSWORD}@127.0.0.1:1/"),
        ("fetch", "RECIPE"),
    ],
)
def test_addresses_with_a_password(
    here: Run, world_kb: Path, tmp_path: Path, env: dict[str, str], words: tuple[str, ...]
) -> None:
    recipe = tmp_path / "recipe"
    recipe.mkdir()
    text = 'title = "t"\nget = "g"\n[files.a]\nmatch = ["a.csv"]\n[[downloads]]\nurl = "http://me:{}@h/a.csv"\n'
    (recipe / "recipe.toml").write_text(text.format(PASSWORD))
    (recipe / "load.sql").write_text("SELECT 1")
    done = here(*({"KB": world_kb, "RECIPE": recipe}.get(word, word) for word in words), env=env)
    assert done.returncode in (1, 2)
    assert PASSWORD not in done.stdout + done.stderr
    assert holding(tmp_path) == [str(recipe / "recipe.toml")]


def test_the_key_is_masked_in_every_form() -> None:
    key = 'a"quoted/key\\'
    assert endpoint.masked(f'{key}, x{key}x a%22quoted%2Fkey%5C a\\"quoted/key\\\\', key) == "..., x...x ... ..."
    assert endpoint.masked("the keyring", "key") == "the keyring"
