"""What the README shows is what happens, and the command reference is what the commands say."""

from __future__ import annotations

import doctest
import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.console import here, read_all
from tests.places import ROOT

GUIDES = ROOT / "kbkit" / "assets" / "guides"
README = (ROOT / "README.md").read_text(encoding="utf-8")
GENERATED = ("commands", "schema")
PROSE = ("architecture",)
"""Guides without examples."""
PYTHON = ("notebook", "explore")
MODELS = {"embedders": 0, "training": 1}
"""Guides whose examples need models that no package brings, with the number of the others."""
"""Guides whose only examples are in Python."""
PAGES = {"README": README} | {
    path.stem: path.read_text(encoding="utf-8")
    for path in sorted(GUIDES.glob("*.md"))
    if path.stem not in (*GENERATED, *PROSE)
}


def blocks(language: str, page: str = README) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def steps(page: str = README) -> list[tuple[str, str]]:
    """Every `$ command` of a page with the output printed below it."""
    result = []
    for block in blocks("console", page):
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = step.partition("\n")
            result.append((command, output.strip("\n")))
    return result


def terminal(command: str, folder: Path) -> str:
    """What a person sees who types the command into a terminal 100 columns wide, without colours and progress bars."""
    lead, follow = pty.openpty()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "100", "TERM": "xterm", "NO_COLOR": "1"}
    streams = {"stdin": subprocess.DEVNULL, "stdout": follow, "stderr": subprocess.PIPE}
    process = subprocess.Popen(["sh", "-c", command], cwd=folder, env=environment, **streams)
    os.close(follow)
    printed = read_all(lead)
    _, remarks = process.communicate()
    return plain(printed + remarks.decode())


def is_session(command: str) -> bool:
    """Whether a command is answered by what is typed at the shell's prompt."""
    return command.startswith("kbkit shell ") and not re.search(" -c | < |[|]", command)


def session(command: str, shown: str, folder: Path) -> str:
    """What a person sees who types into the shell, on a plain terminal, what the page shows at its prompts."""
    import pexpect

    prompt = re.match(r"\S+> ", shown)[0]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    size = {"COLUMNS": "100", "LINES": "1000"}
    environment = {**os.environ, **size, "PATH": path, "TERM": "dumb", "NO_COLOR": "1", "PYTHONUTF8": "1"}
    program, *arguments = shlex.split(command)
    shell = pexpect.spawn(program, arguments, cwd=str(folder), env=environment, encoding="utf-8")
    shell.delaybeforesend = None
    printed = ""
    rest = "... ".rjust(len(prompt))
    for asked, typed in re.findall(rf"^({re.escape(prompt)}|{re.escape(rest)})(.*)", shown, flags=re.MULTILINE):
        shell.expect_exact(asked, timeout=60)
        printed += shell.before + asked
        shell.send(typed + "\n")
    shell.expect(pexpect.EOF, timeout=60)
    return plain((printed + shell.before).replace("\r", ""))


def plain(text: str) -> str:
    """The text without what makes a terminal show it bold or dim."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).strip("\n")


def alone(command: str) -> list[str]:
    """The arguments of a single `kbkit` command; none where a shell has more to do than to split them."""
    words = shlex.shlex(command.replace("\\\n", " "), posix=True, punctuation_chars=True)
    words.whitespace_split = True
    program, *arguments = words
    shell = any(word.strip(words.punctuation_chars) == "" for word in arguments if word)
    return [] if program != "kbkit" or shell else arguments


def piped(command: str) -> tuple[list[str], str]:
    """The arguments of a `kbkit` command that writes to a pipe or a file, and what a shell does with its output.

    No arguments where the command does something else. Programs beside `kbkit` are still run by a shell.
    """
    words = shlex.shlex(command.replace("\\\n", " "), posix=True, punctuation_chars=True)
    words.whitespace_split = True
    program, *rest = words
    at = next((place for place, word in enumerate(rest) if set(word) <= set(words.punctuation_chars)), len(rest))
    sign, *after = rest[at:] or [""]
    if program != "kbkit" or sign not in ("|", ">") or any(set(word) <= set("();<>&") for word in after):
        return [], ""
    reader = " ".join(word if word == "|" else shlex.quote(word) for word in after)
    return rest[:at], reader if sign == "|" else f"cat > {reader}"


def printed_by(command: str, folder: Path) -> str:
    """What :func:`terminal` gives, without a process for a command that stands alone or begins a pipe."""
    if not (arguments := alone(command)):
        arguments, reader = piped(command)
        if not arguments:
            return terminal(command, folder)
        done = here(*arguments, cwd=folder, env={"COLUMNS": "100", "TERM": "xterm"})
        read = subprocess.run(
            ["sh", "-c", reader], input=done.stdout.encode(), stdout=subprocess.PIPE, cwd=folder, check=False
        )
        return plain(read.stdout.decode() + done.stderr)
    done = here(*arguments, cwd=folder, env={"COLUMNS": "100", "TERM": "xterm"}, terminal=True)
    return plain(done.stdout + done.stderr)


def write_shown_files(page: str, folder: Path) -> None:
    """Write the files that a page shows with ``cat``."""
    for command, output in steps(page):
        if command.startswith("cat "):
            path = folder / command.removeprefix("cat ")
            path.parent.mkdir(exist_ok=True)
            path.write_text(output + "\n", encoding="utf-8")


@pytest.fixture(
    params=[pytest.param(name, marks=[] if name == "README" else pytest.mark.system) for name in PAGES],
    scope="module",
)
def page(request: pytest.FixtureRequest) -> str:
    return PAGES[request.param]


@pytest.fixture(scope="module")
def folder(page: str, world_kb: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the page's reader is: after `kbkit demo`, which the README shows, with the files that it shows."""
    place = tmp_path_factory.mktemp("reader")
    write_shown_files(page, place)
    if page == README:
        assert "More" in printed_by("kbkit demo", place)
    else:
        shutil.copytree(world_kb, place / "world.kb")
    return place


@pytest.mark.system
def test_a_page_says_what_is_printed(page: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checker = doctest.OutputChecker()
    shown = [step for step in steps(page) if not step[0].startswith("cat ")]
    few = {"README": 7, "agent": 4, **dict.fromkeys(PYTHON, 0), **MODELS}
    fewest = {PAGES[name]: number for name, number in few.items()}
    assert len(shown) >= fewest.get(page, 8)
    for number, (command, expected) in enumerate(shown):
        if is_session(command):
            printed = session(command, expected, folder)
        else:
            typed = page == README and number == 0  # one is enough: how a command starts is the same for all
            printed = (terminal if typed else printed_by)(command, folder)
        same = checker.check_output(expected + "\n", printed + "\n", doctest.ELLIPSIS)
        assert same, f"$ {command}\n{printed}\n--- the page says\n{expected}"
    if page != README:  # whose Python has a test of its own
        check_python(page, folder, monkeypatch)


@pytest.mark.parametrize("page", ["README"], indirect=True)
def test_python_of_the_readme(page: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_python(page, folder, monkeypatch)


def check_python(page: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check the Python examples of a page, which use what its commands have made."""
    monkeypatch.chdir(folder)
    text = "\n".join(blocks("pycon", page))
    test = doctest.DocTestParser().get_doctest(text, {}, "page", None, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    results = runner.run(test)
    without = page in {PAGES[name] for name in MODELS}
    assert results.attempted == 0 if without else results.attempted >= 5
    assert results.failed == 0


def test_readme_opens_with_two_commands() -> None:
    first = [block.strip() for block in blocks("console")][:2]
    assert first == ["python -m pip install . && kbkit demo", "python -m pip install '.[test]' && python -m pytest"]


def test_readme_links_lead_somewhere() -> None:
    links = re.findall(r"\]\((?!http)([^)#]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
