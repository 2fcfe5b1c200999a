"""Commands about language models, and the options of commands that use them."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

import kbkit
from kbkit.cli import models
from kbkit.errors import KbError
from kbkit.llm import prompts, recording
from kbkit.llm.cache import FILE, Cache
from kbkit.llm.calls import BudgetError, Calls
from kbkit.llm.client import Message, ModelRequest, Reply, Usage
from kbkit.llm.recording import Recorded
from tests.console import Done
from tests.llm_server import Server, reply
from tests.wording import Wording

Here = Callable[..., Done]


def call(text: str, model: str = "m", answer: str = "yes") -> Recorded:
    request = ModelRequest((Message("system", "Be brief."), Message("user", text)))
    return Recorded(request.key(model), model, request, Reply(answer, Usage(3, 1)))


@pytest.fixture
def kb(tiny_kb: Path, tmp_path: Path) -> Path:
    """A KB of its own, without calls."""
    return Path(shutil.copytree(tiny_kb, tmp_path / "my.kb"))


@pytest.fixture
def kept(kb: Path) -> Path:
    """One that keeps three calls."""
    with contextlib.closing(Cache(kb / "workspace" / FILE)) as cache:
        cache.add([call("a"), call("é\n", "n"), call("c")])
    return kb


# -- kbkit llm --------------------------------------------------------------------------------------------------------


@pytest.mark.core
def test_calls(here: Here, kept: Path) -> None:
    done = here("llm", "calls", kept, "-f", "csv")
    assert (done.returncode, done.stdout) == (0, "model,calls,input,output\nm,2,6,2\nn,1,3,1\n")


@pytest.mark.core
def test_export_and_import(here: Here, kept: Path, tiny_kb: Path, tmp_path: Path, wording: Wording) -> None:
    file = tmp_path / "calls.jsonl"
    done = here("llm", "export", kept, file)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", f"{file}: 3 calls\n")
    assert [c.request.asked() for c in recording.read(file)] == ["a", "é\n", "c"]

    other = shutil.copytree(tiny_kb, tmp_path / "other.kb")
    message = here("llm", "import", other, file).stderr
    assert [fact for fact in ["3", "0"] if fact not in message] == []
    wording(message, "cli", replace={str(tmp_path): "DIR"})
    message = here("llm", "import", other, file).stderr
    assert [fact for fact in ["0", "3"] if fact not in message] == []
    wording(message, "cli", replace={str(tmp_path): "DIR"})
    again = tmp_path / "again.jsonl"
    assert here("-q", "llm", "export", other, again).stderr == ""
    assert again.read_bytes() == file.read_bytes()

    message = here("llm", "export", kept, file, "--model", "n").stderr
    assert [fact for fact in ["1"] if fact not in message] == []
    wording(message, "cli", replace={str(tmp_path): "DIR"})
    assert [c.model for c in recording.read(file)] == ["n"]


def test_importing_an_invalid_file_changes_nothing(here: Here, kb: Path, tmp_path: Path, wording: Wording) -> None:
    file = tmp_path / "calls.jsonl"
    file.write_text(recording.line(call("a")) + "{}\n", encoding="utf-8")
    done = here("llm", "import", kb, file)
    assert done.returncode == 1
    assert [fact for fact in ["'key'", "line 2"] if fact not in done.stderr] == []
    wording(done.stderr, "cli", replace={str(tmp_path): "DIR"})
    assert not (kb / "workspace" / FILE).exists()


@pytest.mark.parametrize("command", ["calls", "export"])
def test_a_kb_without_calls(here: Here, kb: Path, tmp_path: Path, command: str, wording: Wording) -> None:
    done = here("llm", command, kb, *([tmp_path / "x"] if command == "export" else []))
    assert done.returncode == 1
    wording(done.stderr, "cli", replace={str(kb): "KB"})
    assert not (kb / "workspace" / FILE).exists()


def test_an_unknown_model(here: Here, kept: Path, tmp_path: Path, wording: Wording) -> None:
    done = here("llm", "export", kept, tmp_path / "x", "--model", "gpt")
    assert done.returncode == 1
    assert [fact for fact in ["'gpt'", "m, n"] if fact not in done.stderr] == []
    wording(done.stderr, "cli")


@pytest.mark.core
def test_prompts(here: Here, wording: Wording) -> None:
    listed = here("llm", "prompts").stdout.splitlines()
    assert [line.split()[0] for line in listed] == [prompt.name for prompt in prompts.shipped()]
    rerank = next(line for line in listed if line.startswith("rerank"))
    assert rerank.split(maxsplit=1) == ["rerank", prompts.load("rerank").purpose]
    assert here("llm", "prompts", "rerank").stdout == prompts.path("rerank").read_text(encoding="utf-8")
    message = here("llm", "prompts", "rerunk").stderr
    assert [fact for fact in ["'rerunk'", "'rerank'"] if fact not in message] == []
    wording(message, "cli")


def test_a_search_that_replays(here: Here, kb: Path, tmp_path: Path, wording: Wording) -> None:
    pytest.importorskip("openai")
    file = tmp_path / "calls.jsonl"
    with Server(otherwise=reply('{"score": 0.75}')) as server:
        live = here("search", kb, "gene", "-k", "2", "--rerank", f"llm:m@{server.url}", "-f", "json")
    assert live.returncode == 0
    message = live.stderr
    wording(message, "cli", replace={str(tmp_path): "DIR"})
    assert {row["rerank"] for row in json.loads(live.stdout)} == {0.75}
    assert here("llm", "export", kb, file).returncode == 0
    (kb / "workspace" / FILE).unlink()
    replayed = here("search", kb, "gene", "-k", "2", "--rerank", f"llm:replay:{file}", "-f", "json")
    assert (replayed.returncode, replayed.stdout) == (0, live.stdout)
    message = replayed.stderr
    assert [fact for fact in ["0"] if fact not in message] == []
    wording(message, "cli", replace={str(tmp_path): "DIR"})
    missing = here("search", kb, "disease", "--rerank", f"llm:replay:{file}")
    assert missing.returncode == 1
    message = missing.stderr
    assert [fact for fact in ['"query"', '"disease"', '"candidate"', '"name"'] if fact not in message] == []
    wording(message, "cli", replace={str(tmp_path): "DIR"})


def test_a_search_with_a_budget(here: Here, kb: Path, tmp_path: Path, wording: Wording) -> None:
    pytest.importorskip("openai")
    queries = tmp_path / "queries.txt"
    queries.write_text("gene\ndisease\n", encoding="utf-8")
    with Server(otherwise=reply('{"score": 0.75}', input=100, output=100)) as server:
        asked = ["--rerank", f"llm:m@{server.url}", "--price", "1,1", "--budget", "0.0002"]
        done = here("-q", "run", kb, queries, "-o", tmp_path / "x.trec", *asked)
    assert done.returncode == 1
    message = done.stderr
    assert "0.0002" in message
    used = re.search(r"[\d.]+ used by \d+ calls?", message)  # calls in progress are finished
    assert used
    wording(message, "cli", replace={str(tmp_path): "DIR", used[0]: "0.0016 used by 8 calls"})
    done = here("search", kb, "gene", "--budget", "5")
    message = done.stderr
    wording(message, "cli", replace={str(tmp_path): "DIR"})


# -- options of commands that take models -----------------------------------------------------------------------------


def opened(kb: Path, work: Callable[[Calls | None], Any], quiet: bool = False, **options: Any) -> Any:
    """What ``work`` returns, with the calls that the options open."""
    context: Any = type("Context", (), {"obj": type("State", (), {"quiet": quiet})})
    with kbkit.open(kb) as this, models.opened(context, this, **options) as calls:
        return work(calls)


def ask(calls: Calls | None) -> list[Any]:
    assert calls is not None
    return calls.ask("rerank", [{"query": "q", "candidate": name} for name in "abc"])


@pytest.mark.parametrize("names", [None, [], ["none"]])
def test_no_model(kb: Path, names: list[str] | None, wording: Wording) -> None:
    assert opened(kb, lambda calls: calls, llm=names) is None
    with pytest.raises(KbError) as caught:
        opened(kb, lambda calls: calls, llm=names, budget=5)
    message = str(caught.value)
    wording(message)


def test_the_environment_names_a_default_model(here: Here, kb: Path, tmp_path: Path) -> None:
    pytest.importorskip("openai")
    queries = tmp_path / "queries.txt"
    queries.write_text("gene\n", encoding="utf-8")
    with Server(otherwise=reply('{"score": 0.75}')) as server:
        env = {"KBKIT_LLM": f"m@{server.url}"}
        done = here("search", kb, "gene", "--rerank", "llm", "-f", "csv", env=env)
        assert (done.returncode, done.stderr.split()[0]) == (0, "m:"), done
        asked = len(server.requests)
        assert asked
        here("run", kb, queries, "-o", tmp_path / "x.trec", "--rerank", "llm", env=env)
        here("ask", kb, "Which gene is it?", env=env)
        assert len(server.requests) > asked
        asked = len(server.requests)
        assert "m:" not in here("ask", kb, "Which gene is it?", "--llm", "none", env=env).stderr
        assert len(server.requests) == asked
    done = here("search", kb, "gene", "--rerank", "llm")
    assert (done.returncode, done.stdout) == (1, "")
    assert "--rerank llm:llama3.2@http://localhost:11434/v1" in done.stderr
    assert "KBKIT_LLM" in done.stderr
    assert "kbkit docs llm" in done.stderr


def test_every_command_with_a_model_takes_the_default() -> None:
    from kbkit.cli.app import app

    found = []
    groups = [("", typer.main.get_command(app))]
    while groups:
        path, command = groups.pop()
        groups += [(f"{path} {name}", child) for name, child in getattr(command, "commands", {}).items()]
        found += [(path, param.envvar) for param in command.params if "--llm" in param.opts]
    assert len(found) > 8
    assert {variable for _, variable in found} == {"KBKIT_LLM"}


def test_the_account_is_printed_at_the_end(kb: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("openai")
    with Server(otherwise=reply('{"score": 1}', input=1000, output=0)) as server:
        name = [f"m@{server.url}"]
        with pytest.raises(BudgetError):
            opened(kb, ask, llm=name, budget=0.001, price=["1,2"], workers=1)
        assert capsys.readouterr().err == "m: 1 call, 1,000 + 0 tokens, 0.0010\n"  # after an error too
        opened(kb, ask, llm=name)
        assert capsys.readouterr().err == "m: 3 calls (1 from the cache), 2,000 + 0 tokens\n"
        opened(kb, ask, llm=name, quiet=True)
        assert capsys.readouterr().err == ""
        opened(kb, lambda calls: calls, llm=name)
        assert capsys.readouterr().err == ""
    assert Cache(kb / "workspace" / FILE).summary() == [("m", 3, 3000, 0)]


def test_an_own_prompt_is_what_the_model_sees(kb: Path, tmp_path: Path) -> None:
    pytest.importorskip("openai")
    text = prompts.path("rerank").read_text(encoding="utf-8")
    (tmp_path / "mine.md").write_text(text.replace("You judge", "Thou judgest"), encoding="utf-8")
    with Server(otherwise=reply('{"score": 1}')) as server:
        opened(kb, ask, llm=[f"m@{server.url}"], prompt=[f"rerank={tmp_path / 'mine.md'}"])
    assert server.requests[0].body["messages"][0]["content"].startswith("Thou judgest")


def test_prices() -> None:
    assert models.prices(None, ["m"]) == {}
    assert models.prices(["1,2"], ["m", "n"]) == {"m": (1.0, 2.0), "n": (1.0, 2.0)}
    assert models.prices(["1,2", "a=b=0.15,0.6"], ["m", "a=b"]) == {"m": (1.0, 2.0), "a=b": (0.15, 0.6)}


@pytest.mark.parametrize("price", ["1", "1,2,3", "m=", "one,two", "m=1;2", ""])
def test_invalid_prices(price: str, wording: Wording) -> None:
    with pytest.raises(KbError) as caught:
        models.prices([price], ["m"])
    message = str(caught.value)
    wording(message)
